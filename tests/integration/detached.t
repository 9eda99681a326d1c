#!/usr/bin/env perl
# Turns that do not belong to the connection that asked for them (B23): who leaves, who comes back, from which worker, and how
# they are stopped.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use IO::Socket::INET;
use JSON::PP;
use Socket ();
use Tavern::Stack;
use Test::More;
use Time::HiRes qw(sleep time);

my $s = Tavern::Stack->new(workers => 2, conf => { run_lease => '3s', stream_linger => '1s' });

sub session { my (%more) = @_; return $s->post('/sessions', { title => 'T', %more })->{json}{data}{id} }
sub begin { my ($id, %more) = @_; return $s->stream('POST', "/sessions/$id/respond/stream", { message => 'Hi.', on_disconnect => 'continue', %more }) }
sub resume { my ($floor, $after) = @_; return $s->stream('GET', "/floors/$floor/stream", undef, headers => { $after ? ('last-event-id' => $after) : () }) }
sub state { my ($floor) = @_; return $s->get("/floors/$floor")->{json}{data}{state} }
sub run_of { my ($floor) = @_; return $s->get("/floors/$floor/run")->{json}{data}{run} }
sub same { my ($got, $want, $name) = @_; local $Test::Builder::Level = $Test::Builder::Level + 1; return ok($got eq $want, $name) || diag(length($got) . ' bytes instead of ' . length $want) }
sub text { return join '', map { $_->{json}{chunk} } grep { $_->{event} eq 'chunk' } @_ }
sub names { return join ' ', map { $_->{event} } grep { $_->{event} !~ /^(chunk|run)$/ } @_ }
sub chunks { my ($stream, $n, @got) = @_; while (my $e = $stream->next(10)) { push @got, $e; last if $e->{event} eq 'chunk' && --$n <= 0 } return @got }
sub owner { my ($floor) = @_; return scalar $s->sql("SELECT r.worker FROM tavern.run r JOIN tavern.floor f ON f.no = r.floor_no WHERE f.id = :'f' ORDER BY r.no DESC LIMIT 1", f => $floor) }
sub owner_pid { my ($floor) = @_; my $w = owner($floor); my @pid = $s->log('tavernd') =~ /worker=\Q$w\E pid=(\d+)/g; return $pid[-1] }
sub committed { my ($floor) = @_; return $s->wait_for("floor $floor", sub { state($floor) eq 'committed' }, 10) }
sub said { my ($floor) = @_; return $s->get("/floors/$floor/result")->{json}{data}{generated_text} }
sub elsewhere { my ($floor) = @_; $s->sql("UPDATE tavern.run SET worker = 'another/1-0' WHERE floor_no = (SELECT no FROM tavern.floor WHERE id = :'f')", f => $floor) }

subtest 'a reader leaves and comes back, twice at once' => sub {
	my $id = session(model_name => 'm?n=60&i=20');
	my $started = $s->mock_stats->{started};
	my $first = begin($id);
	my @seen = chunks($first, 5);
	my $floor = $seen[0]{json}{floor_id};
	my $last = $seen[-1]{id};

	$first->close;
	like $last, qr/^\Q$floor\E:/, 'an id names its floor';
	sleep 0.4;
	# Several connections, so that both workers are asked.
	my @back = map { resume($floor, $last) } 1 .. 4;
	my @got = map { [$_->rest] } @back;
	ok $_->complete, 'a proper end' for @back;
	is names(@$_), 'done', 'the rest of the events, nothing twice' for @got;
	my $whole = said($floor);
	same text(@seen, @$_), $whole, 'no gap and no repeat' for @got;
	is $got[0][-1]{json}{generated_text}, $whole, 'done repeats the reply';
	is_deeply [map { $_->{json} } @{ $got[1] }], [map { $_->{json} } @{ $got[0] }], 'both read the same' if @{ $got[0] } == @{ $got[1] };
	is $s->mock_stats->{started}, $started + 1, 'one model call';
	is state($floor), 'committed', 'the floor is committed';
	same text(resume($floor)->rest), $whole, 'a late reader gets all of it';
	is names(resume($floor)->rest), 'start done', 'with start and done';
	sleep 1.2;    # the stream is gone now
	is names(resume($floor)->rest), 'start done', 'also when the stream is gone';
	same text(resume($floor)->rest), $whole, 'all of the text';
	same text(@seen, resume($floor, $last)->rest), $whole, 'or the rest of it';
	is resume($floor, $got[0][-1]{id})->status, 204, 'who has seen the end is told that there is no more';
	my @other = resume($floor, 'XXXXXXXXXXXXXXXXXXXXX:abcd.3.10.0')->rest;
	same text(@other), $whole, "another floor's id: from the beginning";
	my ($plain) = $last =~ /\.(\d+\.\d+\.\d+)$/;
	same text(@seen, resume($floor, $plain)->rest), $whole, 'a bare position is understood';
	same text(@seen, $s->stream('GET', "/floors/$floor/stream?last_event_id=" . ($last =~ s/:/%3A/r))->rest), $whole, 'in the query, too';
};

subtest 'the default is to abort' => sub {
	my $id = session(model_name => 'm?n=500&i=20');
	my $first = begin($id, on_disconnect => 'abort');
	my ($start) = chunks($first, 2);
	my $floor = $start->{json}{floor_id};
	my $second = resume($floor);
	chunks($second, 1);
	$first->close;
	sleep 0.3;
	is state($floor), 'generating', 'as long as somebody reads, it goes on';
	$second->close;
	ok $s->wait_for('the end', sub { state($floor) eq 'failed' }, 5), 'the last one to leave ends it';
	is run_of($floor)->{status}, 'cancelled', 'as cancelled';
	my @late = resume($floor)->rest;
	is $late[-1]{event}, 'error', 'a late reader gets the error';
	is $late[-1]{json}{code}, 'generation_cancelled', 'its code';
	cmp_ok length text(@late), '>', 10, 'and what was said';
	is resume($floor, $late[-1]{id})->status, 204, 'once';
};

subtest 'who says so' => sub {
	my $of = sub { my (%o) = @_; my $id = session(model_name => 'm?n=5&i=1', $o{session} ? (settings => { on_disconnect => $o{session} }) : ());
		my $r = $s->post("/sessions/$id/respond", { message => 'Hi.', $o{request} ? (on_disconnect => $o{request}) : () }, headers => { $o{key} ? ('idempotency-key' => "who-$o{key}") : () });
		return scalar $s->sql("SELECT r.on_disconnect FROM tavern.run r JOIN tavern.floor f ON f.no = r.floor_no WHERE f.id = :'f'", f => $r->{json}{data}{floor_id}) };

	is $of->(), 'abort', 'nobody: abort';
	is $of->(key => 1), 'continue', 'a key: continue';
	is $of->(request => 'abort', key => 2), 'abort', 'the request before the key';
	is $of->(session => 'continue'), 'continue', 'the session';
	is $of->(session => 'continue', request => 'abort'), 'abort', 'the request before the session';
	is $of->(session => 'abort', key => 3), 'abort', 'the session before the key';
	is $s->post('/sessions/' . session() . '/respond', { message => 'Hi.', on_disconnect => 'maybe' })->{status}, 400, 'another word: 400';
};

subtest 'a plain request that leaves' => sub {
	my $id = session(model_name => 'm?n=30&i=20');
	my $c = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $s->port);
	my $body = '{"message":"Hi.","on_disconnect":"continue"}';
	print {$c} "POST /sessions/$id/respond HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: " . length($body) . "\r\n\r\n$body";
	my $active = $s->wait_for('the turn', sub { $s->get("/sessions/$id/active-run")->{json}{data}{active_run}{latest_floor_id} }, 5);
	close $c;
	my @events = resume($active)->rest;
	is $events[-1]{event}, 'done', 'can be read as a stream';
	same text(@events), said($active), 'whole';
};

subtest 'cancel' => sub {
	my %took;
	for my $try (1 .. 6) {    # some of them reach the worker that does not have the run
		my $id = session(model_name => 'm?n=1000&i=10');
		my $reader = begin($id);
		my @seen = chunks($reader, 5);
		my $floor = $seen[0]{json}{floor_id};
		my $began = time;
		my $r = $try % 2 ? $s->post("/floors/$floor/cancel") : $s->post("/sessions/$id/cancel", { branch_id => 'main' });
		my $done = time - $began;

		is $r->{status}, 200, 'cancelled' or diag $r->{raw};
		my $data = $try % 2 ? $r->{json}{data} : $r->{json}{data}{cancelled}[0];
		is $data->{floor_id}, $floor, 'the floor';
		ok $data->{cancelled}, 'the word';
		cmp_ok $done, '<', 0.2, 'within 200 ms';
		is $s->mock_stats->{active}, 0, 'the model call is over';
		is state($floor), 'failed', 'the floor has failed';
		push @seen, $reader->rest;
		is $seen[-1]{event}, 'error', 'the reader is told';
		is $seen[-1]{json}{code}, 'generation_cancelled', 'why';
		my $kept = $s->sql("SELECT m.content FROM tavern.message m JOIN tavern.page p ON p.no = m.page_no JOIN tavern.floor f ON f.no = p.floor_no WHERE f.id = :'f' AND p.state = 'failed'", f => $floor);
		is $kept, text(@seen), 'what was said is kept';
		is $s->post("/floors/$floor/cancel")->{status}, 409, 'a second time: 409';
		is $s->post("/sessions/$id/cancel")->{json}{error}{code}, 'generation_not_running', 'its code';
	}
	is $s->post('/floors/nothing/cancel')->{status}, 404, 'no such floor';
	is $s->post('/sessions/nothing/cancel')->{status}, 404, 'no such session';
	is $s->get('/floors/nothing/stream')->{status}, 404, 'no such stream';
};

subtest 'the owner is on another host' => sub {
	my $id = session(model_name => 'm?n=150&i=20');
	my $first = begin($id);
	my @seen = chunks($first, 60);
	my $floor = $seen[0]{json}{floor_id};

	$first->close;
	elsewhere($floor);
	my $began = time;
	my @r = (resume($floor, $seen[-1]{id}), resume($floor, $seen[-1]{id}), resume($floor));
	my $early = $r[2]->next(5);
	is $early->{event}, 'start', 'a reader from the start gets start';
	my $e = (chunks($r[2], 1))[-1];
	cmp_ok time - $began, '<', 1, 'and what is persisted, at once';
	my @rest = map { [$_->rest] } @r[0, 1];
	ok committed($floor), 'the floor is committed';
	same text(@seen, @$_), said($floor), 'no gap and no repeat' for @rest;
	is $_->[-1]{event}, 'done', 'to the end' for @rest;
	same text($e, $r[2]->rest), said($floor), 'the whole for the other';

	my $two = begin(session(model_name => 'm?n=2000&i=10'));
	my ($start) = chunks($two, 20);
	my $gone = $start->{json}{floor_id};
	elsewhere($gone);
	sleep 1.1;    # something is persisted
	my $r = $s->post("/floors/$gone/cancel");
	is $r->{status}, 200, 'cancelled' or diag $r->{raw};
	is state($gone), 'failed', 'at once';
	ok $s->wait_for('the model call', sub { $s->mock_stats->{active} == 0 }, 3), 'and within a second the model call, too';
	is(($two->rest)[-1]{event}, 'error', 'its reader is told');
	cmp_ok length $s->sql("SELECT m.content FROM tavern.message m JOIN tavern.page p ON p.no = m.page_no JOIN tavern.floor f ON f.no = p.floor_no WHERE f.id = :'f' AND p.state = 'failed'", f => $gone), '>', 10, 'the persisted text is kept';
};

subtest 'the owner dies' => sub {
	my $id = session(model_name => 'm?n=1000&i=10');
	my $first = begin($id);
	my @seen = chunks($first, 150);
	my $floor = $seen[0]{json}{floor_id};
	my $there = resume($floor);    # reads when it happens

	chunks($there, 1);
	ok kill('KILL', owner_pid($floor)), 'the worker is killed';
	1 while $first->next(5);
	my $back = resume($floor, $seen[-1]{id});
	is $back->status, 200, 'another worker answers';
	my @rest = $back->rest;
	is $rest[-1]{event}, 'error', 'the sweeper ends it';
	is $rest[-1]{json}{code}, 'worker_lost', 'and says why';
	is state($floor), 'failed', 'the floor has failed';
	my $kept = $s->sql("SELECT m.content FROM tavern.message m JOIN tavern.page p ON p.no = m.page_no JOIN tavern.floor f ON f.no = p.floor_no WHERE f.id = :'f' AND p.state = 'failed'", f => $floor);
	ok text(resume($floor)->rest) eq $kept, 'what it had persisted is kept';
	my $both = text(@seen, @rest);
	ok index($both, $kept) == 0 || index($kept, $both) == 0, 'nothing was said twice';
};

subtest 'a reload under a detached turn' => sub {
	my $id = session(model_name => 'm?n=150&i=20');
	my $first = begin($id);
	my @seen = chunks($first, 5);
	my $floor = $seen[0]{json}{floor_id};

	$first->close;
	my %old = map { $_ => 1 } $s->workers;
	$s->reload;
	ok $s->wait_for('new workers', sub { grep({ !$old{$_} } $s->workers) == 2 && $s->get('/health')->{status} == 200 }, 10), 'a new generation serves';
	sleep 0.3;
	my @rest = resume($floor, $seen[-1]{id})->rest;
	is $rest[-1]{event}, 'done', 'the old one still has the turn, and readers get it';
	same text(@seen, @rest), said($floor), 'no gap and no repeat';
};

subtest 'a reader that never reads' => sub {
	my $id = session(model_name => 'm?n=400&i=2&b=2000');
	my $first = begin($id);
	my @seen = chunks($first, 2);
	my $floor = $seen[0]{json}{floor_id};
	my @stuck = map {
		my $c = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $s->port);
		setsockopt $c, Socket::SOL_SOCKET(), Socket::SO_RCVBUF(), 4096;
		print {$c} "GET /floors/$floor/stream HTTP/1.1\r\nHost: x\r\n\r\n";
		$c;
	} 1 .. 3;
	my @rest = $first->rest;
	is $rest[-1]{event}, 'done', 'does not hold up the turn';
	same text(@seen, @rest), said($floor), 'nor another reader';
	same text(resume($floor)->rest), said($floor), 'a late one neither';
	close $_ for @stuck;
};

subtest 'a page that says nothing, and a floor that was never generated' => sub {
	my $id = session(model_name => 'm?n=20&i=50&f=1500');
	my $first = begin($id);
	my $floor = $first->next->{json}{floor_id};
	elsewhere($floor);
	my @events = resume($floor)->rest;
	is names(@events), 'start done', 'before the first word';
	same text(@events), said($floor), 'all of it';
};

is scalar $s->sql("SELECT count(*) FROM tavern.run_text t JOIN tavern.run r ON r.no = t.run_no WHERE r.state <> 'running'"), 0, 'no text of ended runs is left';

done_testing;
