#!/usr/bin/env perl
# Bad input and bad model servers, one after another, each beside a turn of another session on the same worker: whose pieces come on time and
# whose turn commits, whatever the neighbour does.
use strict;
use warnings;
use utf8;
use FindBin;
use lib "$FindBin::Bin/../lib";
use IO::Socket::INET;
use JSON::PP;
use POSIX ();
use Socket ();
use Tavern::Stack;
use Test::More;
use Time::HiRes qw(clock_gettime sleep time CLOCK_MONOTONIC);

my $json = JSON::PP->new->utf8;
my $s = Tavern::Stack->new(workers => 1, conf => { llm_first_byte_timeout => '1s', llm_idle_timeout => '1s', llm_max_retries => 0 });

sub session { my ($model) = @_; return $s->post('/sessions', { title => 'T', model_name => "m?$model" })->{json}{data}{id} }
sub begin { my ($id, %more) = @_; return $s->stream('POST', "/sessions/$id/respond/stream", { message => 'Hi.', %more }) }
sub said { return join '', map { $_->{json}{chunk} } grep { $_->{event} eq 'chunk' } @_ }
sub floor { my ($id) = @_; return ($s->get("/floors?session_id=$id&sort_by=floor_no&sort_order=desc")->{json}{data} // [])->[0] // {} }
sub kept { my ($floor) = @_; utf8::decode(my $text = $s->sql("SELECT m.content FROM tavern.message m JOIN tavern.page p ON p.no = m.page_no JOIN tavern.floor f ON f.no = p.floor_no WHERE f.id = :'f' AND p.kind = 'output' ORDER BY m.no DESC LIMIT 1", f => $floor) // ''); return $text }

# ---- the neighbour: a stream that another process reads; the model writes into each piece when it was sent ----

sub neighbour {
	my $id = session('n=25&i=20&b=60');
	pipe my $read, my $write or die $!;
	my $pid = fork // die $!;
	if (!$pid) {
		my ($late, $text, $last) = (0, '', '');
		my $stream = begin($id);
		while (my $e = $stream->next(20)) {
			syswrite $write, "begun\n" if !$text && $e->{event} eq 'chunk';
			my $now = clock_gettime(CLOCK_MONOTONIC);
			$last = $e->{event};
			next if $last ne 'chunk';
			$text .= $e->{json}{chunk};
			while ($e->{json}{chunk} =~ /\[t=(\d+)\]/g) { my $took = $now - $1 / 1e9; $late = $took if $took > $late }
		}
		my $pieces = () = $text =~ /\[t=\d+\]/g;
		syswrite $write, $json->encode({ late => $late, last => $last, pieces => $pieces, id => $id }) . "\n";
		POSIX::_exit(0);
	}
	close $write;
	my $begun = <$read>;
	return sub { my $line = <$read>; waitpid $pid, 0; return eval { $json->decode($line) } // {} };
}

# beside(NAME => CODE): the code's tests while the neighbour listens; then the neighbour's.
sub beside {
	my ($name, $code) = @_;

	subtest $name => sub {
		my $ends = neighbour();
		$code->();
		my $n = $ends->();
		cmp_ok $n->{late} // 99, '<', 0.8, 'the neighbour\'s pieces are on time';
		is $n->{pieces}, 25, 'all of them';
		is $n->{last}, 'done', 'to the end';
		is floor($n->{id})->{state}, 'committed', 'its turn is committed';
	};
}

# ---- model servers (B21, B22) ----

my $cjk = "\x{4f60}\x{597d}\x{1f600}caf\x{e9} " x 12 . '.';
my $cut = do { my $bytes = $cjk; utf8::encode($bytes); $bytes =~ s/([^A-Za-z])/sprintf '%%%02X', ord $1/ger };
my @models = (
	# name, model, last event, its message, what is kept: a pattern, how long, or undef = nothing
	['stalls before the first word', 'stall=0', 'error', qr/did not/, undef],
	['stalls in the middle', 'n=20&i=5&stall=10', 'error', qr/stopped sending/, qr/^(?:\[t=\d+\][ ab]+){10}$/],
	['floods within the limit', 'n=3000&i=0&b=1000', 'done', undef, [3_000_000, 3_100_000]],
	['floods beyond it', 'n=8000&i=0&b=1000', 'error', qr/larger|too/, [1_000_000, 4_194_304]],
	['ends in half a character', 'n=5&i=5&half=1', 'done', undef, qr/^(?:\[t=\d+\][ ab]+){5}\x{fffd}?$/],
	['splits characters over pieces', "n=61&i=2&halves=1&text=$cut", 'done', undef, qr/^\Q$cjk\E$/],
	['splits characters over packets', 'n=20&i=2&utf8=1&split=1', 'done', undef, qr/^(?:\[t=\d+\]\x{4f60}+){20}$/],
	['answers 200 with an error', 'fail=0', 'error', qr/quota exceeded/, undef],
	['fails after some text', 'n=20&i=5&fail=10', 'error', qr/quota exceeded/, qr/^(?:\[t=\d+\][ ab]+){10}$/],
	['closes in the middle', 'n=20&i=5&cut=10', 'error', qr/\w/, qr/^(?:\[t=\d+\][ ab]+){10}$/],
	['sends a head and nothing else', 'mute=1', 'error', qr/\w/, undef],
	['sends only [DONE]', 'mute=2', 'error', qr/\w/, undef],
	['sends nothing at all', 'mute=3', 'error', qr/\w/, undef],
	['is silent', 'f=10000', 'error', qr/did not/, undef],
	['sends something else than JSON', 'n=20&i=5&junk=10', 'error', qr/\w/, qr/^(?:\[t=\d+\][ ab]+){10}$/],
);
for my $case (@models) {
	my ($name, $model, $last, $why, $kept) = @$case;

	beside "a model that $name" => sub {
		my $id = session($model);
		my $started = $s->mock_stats->{started};
		my @events = begin($id)->rest;
		my $end = $events[-1] // {};
		is $end->{event}, $last, "it ends with $last" or diag explain $end;
		is $end->{json}{code}, 'upstream_error', 'by its code' if $last eq 'error';
		like $end->{json}{message}, $why, 'and why' if $last eq 'error';
		my $floor = floor($id);
		is $floor->{state}, $last eq 'done' ? 'committed' : 'failed', 'the floor';
		my $text = kept($floor->{id});
		if (ref $kept eq 'ARRAY') { ok length $text >= $kept->[0] && length $text <= $kept->[1], 'what was said is kept' or diag length $text }
		elsif ($kept) { ok $text =~ $kept, 'what was said is kept' or diag length $text, ' ', substr $text, 0, 200 }
		else { is $text, '', 'nothing is kept, for nothing was said' }
		ok said(@events) eq $text, 'readers have seen the same';
		# On connections that were used before, no answer at all may mean that they were closed meanwhile: libcurl takes the next one.
		cmp_ok $s->mock_stats->{started} - $started, '<=', $model eq 'mute=3' ? 6 : 1, 'the model is asked once';
		is $s->get("/sessions/$id/active-run")->{json}{data}{active_run}{busy}, JSON::PP::false, 'nothing hangs';
		$s->patch("/sessions/$id", { model_name => 'm' });
		is $s->post("/sessions/$id/respond", { message => 'On.' })->{status}, 200, 'the session goes on';
	};
}

# ---- clients ----

sub connection { my ($small) = @_; my $c = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $s->port) or die $!; setsockopt $c, Socket::SOL_SOCKET(), Socket::SO_RCVBUF(), 4096 if $small; return $c }
sub head { my ($path, $length) = @_; return "POST $path HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: $length\r\n\r\n" }
sub state_is { my ($id, $state, $seconds) = @_; return $s->wait_for("the floor of $id", sub { (floor($id)->{state} // '') eq $state }, $seconds // 10) }

beside 'a reader that never reads' => sub {
	my $id = session('n=1500&i=0&b=2000');
	my $body = $json->encode({ message => 'Hi.', on_disconnect => 'continue' });
	my $c = connection(1);

	syswrite $c, head("/sessions/$id/respond/stream", length $body) . $body;
	ok state_is($id, 'committed'), 'its turn is committed';
	cmp_ok length kept(floor($id)->{id}), '>=', 3_000_000, 'whole';
	close $c;
};

beside 'a client that sends the body one byte at a time' => sub {
	my $id = session('n=2&i=1');
	my $body = $json->encode({ message => 'Slowly.' });
	my $c = connection();

	syswrite $c, head("/sessions/$id/respond", length $body);
	for my $byte (split //, $body) { syswrite $c, $byte; sleep 0.02 }
	my $answer = do { local $/; <$c> };
	like $answer, qr{^HTTP/1\.1 200 .*"floor_id"}s, 'it is answered';
	is floor($id)->{state}, 'committed', 'its turn is committed';
};

beside 'a client that says more than it sends, and leaves' => sub {
	my $id = session('n=2&i=1');
	my $c = connection();

	syswrite $c, head("/sessions/$id/respond", 1000) . '{"message":"Hal';
	sleep 0.2;
	close $c;
	is floor($id)->{id}, undef, 'nothing was begun';
	is $s->post("/sessions/$id/respond", { message => 'Whole.' })->{status}, 200, 'the session is free';
};

beside 'a client that sends bytes that are no text' => sub {
	my $id = session('n=2&i=1');

	for my $body ("{\"message\":\"\xff\xfe\"}", '{"message":"\ud800 \u0000"}', '{"message":"x"', '[' x 100_000, '{"message":' . '9' x 100_000 . '}') {
		my $r = $s->post("/sessions/$id/respond", $body, type => 'application/json');
		cmp_ok $r->{status}, '<', 500, 'is answered: ' . substr($body, 0, 20) =~ s/[^ -~]/?/gr;
	}
	is $s->post("/sessions/$id/respond", { message => 'Text.' })->{status}, 200, 'the session goes on';
};

# together(CODE…): what each returned, asked for at the same time by processes of their own.
sub together {
	my @readers = map {
		my $code = $_;
		pipe my $read, my $write or die $!;
		my $pid = fork // die $!;
		if (!$pid) { syswrite $write, $json->encode([$code->()]); POSIX::_exit(0) }
		close $write;
		[$read, $pid];
	} @_;
	return map { my ($read, $pid) = @$_; local $/; my $text = <$read>; waitpid $pid, 0; $json->decode($text) } @readers;
}
sub brief { my ($r) = @_; return ($r->{status}, $r->{json}{error}{code}, $r->{json}{error}{details}) }
sub statuses { return join ' ', sort map { $_->[0] } @_ }

beside 'writers on one branch' => sub {
	my $id = session('n=50&i=20');
	my $slowly = JSON::PP::true;
	my $started = $s->mock_stats->{started};
	my @r = together(map { my $n = $_; sub { brief($s->post("/sessions/$id/respond", { message => "I am $n.", generation_params => { stream => $slowly } })) } } 1 .. 6);

	is statuses(@r), '200 409 409 409 409 409', 'one of six wins';
	is_deeply [grep { $_->[0] == 409 && $_->[1] ne 'generation_conflict' } @r], [], 'the others are told why';
	is $s->mock_stats->{started}, $started + 1, 'the model is asked once';
	is scalar @{ $s->get("/floors?session_id=$id")->{json}{data} }, 1, 'one floor';
	@r = together(map { sub { brief($s->post("/sessions/$id/regenerate", { generation_params => { stream => $slowly } })) } } 1 .. 3);
	is statuses(@r), '200 409 409', 'the same for another page of it';
};

# ---- stale revisions: several that have read the same; who comes second is told what is there now ----

my $preset = $s->post('/import/preset', { data => { prompts => [{ identifier => 'main', content => 'Be kind.', system_prompt => JSON::PP::true }] } })->{json}{data}{id};
my $book = $s->post('/import/worldbook', { data => { entries => { 0 => { uid => 0, key => ['a'], content => 'b' } } } })->{json}{data}{id};
my $persona = $s->post('/users', { snapshot => { name => 'Ivy' } })->{json}{data};
my $card = $s->post('/import/character', { payload => { name => 'Ann', description => 'Tall.' } })->{json}{data}{character_id};
my $chat = session('n=1');
$s->put('/variables', { scope => 'chat', scope_id => $chat, key => 'k', value => 0 });
sub version { return $s->get($_[0])->{json}{data}{ $_[1] } }
my @stale = (
	['a variable', sub { $s->get("/variables?session_id=$chat&key=k")->{json}{data}[0]{revision} },
		sub { my ($at, $n) = @_; $s->put('/variables', { scope => 'chat', scope_id => $chat, key => 'k', value => $n, expected_revision => $at }) }],
	['an entry of a preset', sub { version("/presets/$preset", 'version') }, sub { my ($at, $n) = @_; $s->patch("/presets/$preset/entries/main", { content => "c$n", expected_version => $at }) }],
	['an entry of a book', sub { version("/worldbooks/$book", 'version') }, sub { my ($at, $n) = @_; $s->patch("/worldbooks/$book/entries/0", { content => "c$n", expected_version => $at }) }],
	['a persona', sub { version("/users/$persona->{id}", 'revision') }, sub { my ($at, $n) = @_; $s->patch("/users/$persona->{id}", { snapshot => { name => "Ivy $n" }, expected_revision => $at }) }],
	['a character', sub { version("/characters/$card", 'revision') }, sub { my ($at, $n) = @_; $s->post("/characters/$card/versions", { snapshot => { name => "Ann $n" }, expected_revision => $at }) }],
);
beside 'stale revisions' => sub {
	for my $case (@stale) {
		my ($name, $read, $write) = @$case;
		my $at = $read->();
		my @r = together(map { my $n = $_; sub { brief($write->($at, $n)) } } 1 .. 3);
		my $won = grep { $_->[0] < 300 } @r;

		is $won, 1, "$name: one of three wins" or diag explain \@r;
		is_deeply [map { $_->[0] } grep { $_->[0] >= 300 } @r], [409, 409], "$name: 409 for the others";
		is scalar(grep { $_->[0] == 409 && $json->encode($_->[2] // {}) =~ /"(?:current_)?(?:revision|version)":\d/ } @r), 2, "$name: with what is there now" or diag explain \@r;
	}
};

is_deeply [$s->invariants], [], 'invariants hold';
done_testing;
