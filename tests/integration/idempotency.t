#!/usr/bin/env perl
# A turn that was asked for twice happens once: Idempotency-Key on turn routes.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use HTTP::Tiny;
use IO::Socket::INET;
use JSON::PP;
use Tavern::Stack;
use Test::More;
use Time::HiRes qw(sleep time);

my $s = Tavern::Stack->new(workers => 2, conf => { run_lease => '3s', stream_linger => '1s', llm_first_byte_timeout => '1s' });
my $keys = 0;

sub session { my (%more) = @_; return $s->post('/sessions', { title => 'T', %more })->{json}{data}{id} }
sub key { return 'key ' . ++$keys }
sub turn { my ($id, $key, %more) = @_; return $s->post("/sessions/$id/respond", { message => 'Hi.', %more }, headers => { 'idempotency-key' => $key }) }
sub begin { my ($id, $key, %more) = @_; return $s->stream('POST', "/sessions/$id/respond/stream", { message => 'Hi.', %more }, headers => { 'idempotency-key' => $key }) }
sub started { $s->mock_stats->{started} }
sub text { return join '', map { $_->{json}{chunk} } grep { $_->{event} eq 'chunk' } @_ }
sub names { return join ' ', map { $_->{event} } grep { $_->{event} !~ /^(chunk|run)$/ } @_ }
sub floors { my ($id) = @_; return @{ $s->get("/floors?session_id=$id")->{json}{data} } }
sub model { my ($id, $model) = @_; $s->patch("/sessions/$id", { model_name => $model }) }

# N requests at once, each in a process of its own: their answers.
sub at_once {
	my ($n, $code) = @_;
	my @pipe;

	for my $i (1 .. $n) {
		my $pid = open(my $fh, '-|') // die "fork: $!";
		if (!$pid) {
			delete $s->{http};    # its connection is the parent's
			my $r = $code->($i);
			print JSON::PP->new->utf8->canonical->encode({ status => $r->{status}, replayed => $r->{headers}{'idempotent-replayed'}, json => $r->{json} });
			close STDOUT;
			require POSIX;
			POSIX::_exit(0);
		}
		push @pipe, $fh;
	}
	return map { my $fh = $_; local $/; decode_json(<$fh>) } @pipe;
}

subtest 'a repeat gets the first answer' => sub {
	my ($id, $key, $before) = (session(), key(), started());
	my $r = turn($id, $key, debug_options => { include_prompt_snapshot => JSON::PP::true, include_runtime_trace => JSON::PP::true });
	is $r->{status}, 200, 'first';
	is $r->{headers}{'idempotent-replayed'}, undef, 'is no repeat';
	ok $r->{json}{data}{runtime_trace}, 'with debugging parts';
	for (1 .. 3) {
		my $again = turn($id, $key, debug_options => { include_runtime_trace => JSON::PP::true, include_prompt_snapshot => JSON::PP::true });
		is $again->{raw}, $r->{raw}, 'the same bytes';
		is $again->{headers}{'idempotent-replayed'}, 'true', 'marked';
	}
	is started(), $before + 1, 'one model call';
	is scalar(floors($id)), 1, 'one floor';
	my $spelled = $s->post("/sessions/$id/respond", qq({ "debug_options":{"include_prompt_snapshot":true,"include_runtime_trace" : true},\n"message":"\\u0048i."}),
		headers => { 'idempotency-key' => $key });
	is $spelled->{raw}, $r->{raw}, 'however the body is spelled';
	is turn($id, key())->{json}{data}{floor_no}, 1, 'another key: another turn';
	is turn($id, $key, debug_options => { include_prompt_snapshot => JSON::PP::true, include_runtime_trace => JSON::PP::true })->{raw}, $r->{raw}, 'the story went on: still the same';
};

subtest 'another request under the same key' => sub {
	my ($id, $other, $key) = (session(), session(), key());

	is turn($id, $key)->{status}, 200, 'first';
	for my $r (turn($id, $key, message => 'Other.'), turn($other, $key)) {
		is $r->{status}, 409, 'refused';
		is $r->{json}{error}{code}, 'idempotency_key_reused', 'its code';
	}
	my $r = begin($id, $key, message => 'Stream.');
	is +($r->rest)[-1]{event}, 'done', 'another route: another key';
	$r = begin($id, $key, message => 'Other stream.');
	is $r->status, 409, 'a stream route says it as a status';
	is $r->json->{error}{code}, 'idempotency_key_reused', 'its code';
	is scalar(floors($other)), 0, 'nothing came of it';
};

subtest 'what a key may be' => sub {
	my $id = session();

	is turn($id, $_)->{status}, 400, 'refused: ' . length for '', "x\ty", 'k' x 256;
	my $c = $s->stream('POST', "/sessions/$id/respond", { message => 'Hi.' }, headers => { 'idempotency-key' => "\xC3\xA4" });
	is $c->status, 400, 'refused: no ASCII';
	is turn($id, $_)->{status}, 200, 'taken' for 'k' x 255, '~', q("quoted, 'as' \\ it is");
	is turn($id, 'k' x 256)->{json}{error}{code}, 'invalid_idempotency_key', 'its code';
};

subtest 'at once' => sub {
	for my $n (2, 8) {
		my ($id, $key, $before) = (session(model_name => 'm?n=20&i=20'), key(), started());
		my @r = at_once($n, sub { turn($id, $key) });

		is scalar(grep { $_->{status} == 200 } @r), $n, "$n at once: all are answered" or diag explain \@r;
		is scalar(grep { $_->{replayed} } @r), $n - 1, 'one of them was first';
		my %body = map { JSON::PP->new->canonical->encode($_->{json}) => 1 } @r;
		is scalar(keys %body), 1, 'with the same answer';
		is started(), $before + 1, 'one model call';
		is scalar(floors($id)), 1, 'one floor';
	}
};

subtest 'a repeat joins the running turn' => sub {
	my ($id, $key, $before) = (session(model_name => 'm?n=100&i=20'), key(), started());
	my $first = begin($id, $key);
	my @seen = map { $first->next } 1 .. 8;

	$first->close;    # continue is the default with a key
	my @again = map { begin($id, $key) } 1 .. 3;
	is $_->header('idempotent-replayed'), 'true', 'marked' for @again;
	my @all = map { [$_->rest] } @again;
	is names(@$_), 'start done', 'from the beginning' for @all;
	my $from = $s->stream('POST', "/sessions/$id/respond/stream", { message => 'Hi.' }, headers => { 'idempotency-key' => $key, 'last-event-id' => $seen[-1]{id} });
	my @rest = $from->rest;
	is text(@seen, @rest), text(@{ $all[0] }), 'or behind the last event';
	is started(), $before + 1, 'one model call';
	sleep 1.2;
	@rest = begin($id, $key)->rest;
	is names(@rest), 'start done', 'when it has ended, and its stream is gone';
	is text(@rest), text(@{ $all[0] }), 'the same text';
	is_deeply $rest[-1]{json}, $all[0][-1]{json}, 'the same end';
};

subtest 'the caller is cut off and asks again' => sub {
	my ($id, $key, $before) = (session(model_name => 'm?n=30&i=20'), key(), started());
	my $c = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $s->port);
	print {$c} "POST /sessions/$id/respond HTTP/1.1\r\nHost: x\r\nIdempotency-Key: $key\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n", '{"message":"Hi."}';
	$s->wait_for('the turn', sub { started() > $before }, 5);
	close $c;
	my $r = turn($id, $key);
	is $r->{status}, 200, 'and gets the answer' or diag $r->{raw};
	is $r->{headers}{'idempotent-replayed'}, 'true', 'of the first call';
	is started(), $before + 1, 'one model call';
	is scalar(floors($id)), 1, 'one floor';
};

subtest 'the turn fails' => sub {
	my ($id, $key, $before) = (session(model_name => 'm?f=10000'), key(), started());
	my @r = at_once(3, sub { turn($id, $key, generation_params => { stream => JSON::PP::true }) });
	is $_->{status}, 504, 'all of them are told' for @r;
	is $_->{json}{error}{code}, 'upstream_error', 'the same' for @r;
	is started() - $before, 1, 'of one model call';
	model($id, 'm?n=5&i=1');
	my $r = turn($id, $key, generation_params => { stream => JSON::PP::true });
	is $r->{status}, 200, 'a repeat after that runs again' or diag $r->{raw};
	is $r->{headers}{'idempotent-replayed'}, undef, 'and is no repeat';
	is scalar(floors($id)), 1, 'on the same floor';
	is((floors($id))[0]{state}, 'committed', 'which is committed now');
	is scalar(() = join(' ', map { $_->{content} } @{ $s->mock_last->{messages} }) =~ /Hi\./g), 1, 'and asks once';
	is_deeply [sort keys %{ $r->{json}{data} }], [qw(branch_id final_state floor_id floor_no generated_text summaries total_usage)], 'with the answer of its route';
	is turn($id, $key, generation_params => { stream => JSON::PP::true })->{raw}, $r->{raw}, 'from now on it has an answer';

	my $key2 = key();
	model($id, 'm?n=500&i=20');
	my $stream = begin($id, $key2);
	my $floor = $stream->next->{json}{floor_id};
	is $s->post("/floors/$floor/cancel")->{status}, 200, 'cancelled';
	model($id, 'm?n=5&i=1');
	my @events = begin($id, $key2)->rest;
	is $events[-1]{event}, 'done', 'a repeat runs again';
	my @again = at_once(4, sub { my ($i) = @_; return { status => 200, headers => {}, json => { names => names(begin($id, $key2)->rest) } } });
	is $_->{json}{names}, 'start done', 'once' for @again;
};

subtest 'the worker dies' => sub {
	my ($id, $key, $before) = (session(model_name => 'm?n=1000&i=10'), key(), started());
	my $stream = begin($id, $key);
	$stream->next for 1 .. 20;
	my ($worker) = $s->sql("SELECT r.worker FROM tavern.idempotency k JOIN tavern.run r ON r.no = k.run_no WHERE k.key = :'key'", key => $key);
	my @pid = $s->log('tavernd') =~ /worker=\Q$worker->[0]\E pid=(\d+)/g;
	my $joined = begin($id, $key);
	is $joined->next->{event}, 'start', 'another reader';
	kill 'KILL', $pid[-1];
	is names($joined->rest), '', 'its readers are cut off';
	model($id, 'm?n=5&i=1');
	my @events = begin($id, $key)->rest;
	is $events[-1]{json}{code}, 'worker_lost', 'a repeat waits for the sweeper' or diag explain $events[-1];
	@events = begin($id, $key)->rest;
	is $events[-1]{event}, 'done', 'the next one runs again';
	is started(), $before + 2, 'the dead one and this one: no other model call';
};

subtest 'another host has it' => sub {
	my ($id, $key, $before) = (session(model_name => 'm?n=60&i=20'), key(), started());
	my $stream = begin($id, $key);
	$stream->next for 1 .. 10;
	$s->sql("UPDATE tavern.run SET worker = 'another/1-0' WHERE no = (SELECT run_no FROM tavern.idempotency WHERE key = :'key')", key => $key);
	my $r = $s->stream('POST', "/sessions/$id/respond/stream", { message => 'Hi.' }, headers => { 'idempotency-key' => $key });
	my @all = $r->rest;
	is names(@all), 'start done', 'a stream is read to its end';
	is text(@all), $all[-1]{json}{generated_text}, 'whole';
	is started(), $before + 1, 'one model call';
};

subtest 'an edit that failed is made in the branch that it began' => sub {
	for my $branch ('mine', undef) {
		my ($id, $key) = (session(), key());
		my $floor = turn($id, key())->{json}{data}{floor_id};
		my ($said) = map { @{ $_->{messages} } } grep { $_->{page_kind} eq 'input' } map { @{ $_->{pages} } } @{ $s->get("/sessions/$id/timeline")->{json}{data}{floors} };
		my $edit = sub { my (%more) = @_; return $s->post("/messages/$said->{id}/edit-and-regenerate", { content => 'Said anew.', $branch ? (branch_id => $branch) : (), %more }, headers => { 'idempotency-key' => $key }) };

		model($id, 'm?err=500');
		is $edit->()->{status}, 502, 'it fails';
		model($id, 'm');
		my $before = started();
		my $r = $edit->();
		is $r->{status}, 200, 'the same again' or diag $r->{raw};
		is $r->{json}{data}{branch_id}, $branch, 'in the branch that it names' if $branch;
		is scalar @{ $s->get("/sessions/$id/branches")->{json}{data} }, 2, 'no third branch';
		is scalar(grep { $_->{state} ne 'committed' } floors($id)), 0, 'on the floor that had failed';
		is_deeply [ map { $_->{content} } grep { $_->{role} eq 'user' } @{ $s->mock_last->{messages} } ], ['Said anew.'], 'which is said once';
		is $edit->()->{headers}{'idempotent-replayed'}, 'true', 'and a third time is a repeat';
		is started(), $before + 1, 'one model call';
		is $edit->(content => 'x')->{json}{error}{code}, 'idempotency_key_reused', 'another request is none';
	}
};

subtest 'age' => sub {
	my ($id, $key) = (session(), key());
	my $r = turn($id, $key);

	$s->sql("UPDATE tavern.idempotency SET created_at = created_at - 25 * 3600000 WHERE key = :'key'", key => $key);
	is turn($id, $key, message => 'New.')->{status}, 200, 'after a day a key is free';
	is scalar(floors($id)), 2, 'for another turn';
	$s->sql("UPDATE tavern.idempotency SET created_at = created_at - 25 * 3600000 WHERE key = :'key'", key => $key);
	ok $s->wait_for('the sweeper', sub { $s->sql("SELECT count(*) FROM tavern.idempotency WHERE key = :'key'", key => $key) == 0 }, 10), 'and its row goes';
};

is scalar $s->sql("SELECT count(*) FROM tavern.idempotency k JOIN tavern.run r ON r.no = k.run_no WHERE (k.answer IS NULL) = (r.state = 'completed')"), 0,
	'answers are there for what has completed, and nothing else';
is scalar $s->sql('SELECT count(*) - count(DISTINCT run_no) FROM tavern.idempotency'), 0, 'a run for each key';

done_testing;
