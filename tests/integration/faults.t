# What must survive: a worker killed in mid-stream, the database killed, the model server killed, refusing or silent. Each time the
# client gets a clear answer, no floor stays in between, and the session goes on by itself.
use strict;
use warnings;

use Test::More;
use Time::HiRes qw(sleep time);
use Tavern::Stack;

my $s = Tavern::Stack->new(own_pg => 1, conf => { llm_model => 'mock-1?n=100&i=50' });
my $session = $s->post('/sessions', { title => 'faults' })->{json}{data}{id};

sub session { return $s->post('/sessions', { title => 'faults' })->{json}{data}{id} }

# A stream that has begun to say something.
sub begun {
	my ($id) = @_;
	my $stream = $s->stream(POST => "/sessions/$id/respond/stream", { message => 'Tell me more.' });

	is($stream->status, 200, 'the stream begins');
	$stream->rest(sub { $_[0]{event} eq 'chunk' });
	return $stream;
}

sub floor_state { scalar $s->sql(q{SELECT f.state FROM tavern.floor f ORDER BY f.no DESC LIMIT 1}) }
sub generating { scalar $s->sql(q{SELECT count(*) FROM tavern.run WHERE state NOT IN ('done', 'failed', 'cancelled', 'committed')}) }

# The session answers again, with a quick model.
sub goes_on {
	my ($id, $what) = @_;
	my $r;

	$s->configure(llm_model => 'mock-1?n=3&i=1');
	$s->reload;
	$s->wait_for('the session to go on', sub {
		$r = $s->post("/sessions/$id/respond", { message => 'And now?' });
		$r->{status} == 200;
	}, 40);
	is($r->{status}, 200, $what) or diag $r->{raw};
	$s->configure(llm_model => 'mock-1?n=100&i=50');
	$s->reload;
	sleep 0.5;
}

subtest 'a worker is killed in mid-stream' => sub {
	my $id = session();
	my $stream = begun($id);

	kill 'KILL', $s->workers;
	$stream->rest;
	ok(!$stream->complete || !grep({ $_->{event} eq 'done' } $stream->rest), 'the stream does not pretend to be done');
	ok($s->wait_for('a new worker', sub { $s->get('/health')->{status} == 200 }, 5), 'others take over');
	ok($s->wait_for('the sweeper', sub { floor_state() eq 'failed' }, 40), 'the floor is failed, not in between');
	goes_on($id, 'the session goes on');
};

subtest 'the database is killed' => sub {
	my $id = session();
	my $stream = begun($id);
	my ($r, $took);

	$s->kill_postgres;
	sleep 1.1;
	$r = $s->get('/health');
	is($r->{status}, 503, 'health says so');
	ok($r->{headers}{'retry-after'}, 'and when to come again');
	$took = time;
	$r = $s->get('/sessions');
	$took = time - $took;
	is($r->{status}, 503, 'a request is refused');
	like($r->{json}{error}{code} // '', qr/^database_/, 'with the cause');
	ok($took < 10, sprintf('soon (%.1f s)', $took));
	$stream->close;
	$s->start_postgres;
	ok($s->wait_for('recovery', sub { $s->get('/health')->{status} == 200 }, 10), 'it recovers by itself');
	is($s->get('/sessions')->{status}, 200, 'requests too');
	ok($s->wait_for('the sweeper', sub { generating() == 0 }, 60), 'no run stays in between');
	goes_on($id, 'the session goes on');
};

subtest 'the model server is killed' => sub {
	my $id = session();
	my $stream = begun($id);
	my ($last, $r);

	$s->kill_mock;
	($last) = reverse $stream->rest;
	is($last->{event}, 'error', 'the stream ends with an error');
	like($last->{json}{code} // '', qr/upstream|generation/, 'that names the cause');
	is(floor_state(), 'failed', 'the floor is failed');
	$r = $s->post("/sessions/$id/respond", { message => 'Still there?' });
	is($r->{status}, 502, 'no model server: 502');
	is($r->{json}{error}{code}, 'upstream_error', 'in the envelope');
	$s->start_mock;
	goes_on($id, 'the session goes on');
};

subtest 'the client leaves' => sub {
	my $id = session();
	my $aborted = $s->mock_stats->{aborted};
	my $stream = begun($id);

	$stream->close;
	ok($s->wait_for('the end of the transfer', sub { $s->mock_stats->{aborted} > $aborted }, 2), 'the model is told to stop');
	ok($s->wait_for('the floor', sub { floor_state() eq 'failed' }, 5), 'the floor is failed');
	goes_on($id, 'the session goes on');
};

subtest 'refusals and silence of the model' => sub {
	my %cases = (
		'err=500' => [502, 'upstream_error'],
		'err=401' => [502, 'upstream_error'],
		'err=429' => [502, 'upstream_error'],
		'f=5000&n=1' => [504, undef],
	);

	for my $case (sort keys %cases) {
		my ($status, $code) = @{ $cases{$case} };
		my ($id, $r) = (session());

		$s->configure(llm_model => "mock-1?$case", llm_first_byte_timeout => '1s');
		$s->reload;
		sleep 1;
		$r = $s->post("/sessions/$id/respond", { message => 'x' });
		is($r->{status}, $status, "$case: status") or diag $r->{raw};
		is($r->{json}{error}{code}, $code, "$case: code") if $code;
		is(floor_state(), 'failed', "$case: the floor is failed");
	}
};

done_testing;
