#!/usr/bin/env perl
# What goes wrong around a turn: the model, the client, the worker, the database. Afterwards the floor is committed whole
# or failed and the branch can go on; nothing is ever stuck.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP;
use Tavern::Stack;
use Test::More;
use Time::HiRes qw(sleep time);

my $s = Tavern::Stack->new(own_pg => 1, conf => { account_streams_max => 3, run_lease => '3s', llm_first_byte_timeout => '2s', llm_idle_timeout => '2s' });

sub session { my (%more) = @_; return $s->post('/sessions', { title => 'T', %more })->{json}{data}{id} }
sub turn { my ($id, %more) = @_; return $s->post("/sessions/$id/respond", { message => 'Hi.', %more }) }
sub floors { my ($id) = @_; return @{ $s->get("/floors?session_id=$id&sort_by=floor_no&sort_order=asc")->{json}{data} } }
sub model { my ($id, $model) = @_; $s->patch("/sessions/$id", { model_name => $model }) }
sub settled { my ($id) = @_; return !$s->get("/sessions/$id/active-run")->{json}{data}{active_run}{busy} }

sub one { scalar $s->sql(@_) }

# ---- the model server ----

for my $case (['err=500', 502, 'upstream_error', 500], ['err=429', 502, 'upstream_error', 429], ['err=401', 502, 'upstream_error', 401]) {
	my ($model, $status, $code, $upstream) = @$case;
	my $id = session(model_name => "m?$model");
	my $r = turn($id);
	is $r->{status}, $status, "$model: $status" or diag $r->{raw};
	is $r->{json}{error}{code}, $code, "$model: $code";
	is $r->{json}{error}{details}{status}, $upstream, "$model: the provider's status in details";
	is((floors($id))[0]{state}, 'failed', "$model: floor failed");
	model($id, 'm');
	is turn($id)->{status}, 200, "$model: the branch goes on";
	my $sent = join ' ', map { $_->{content} } @{ $s->mock_last->{messages} };
	is scalar(() = $sent =~ /Hi\./g), 1, "$model: the failed message is not history";
}
{
	my $id = session(model_name => 'm?f=10000');
	my $r = turn($id, generation_params => { stream => JSON::PP::true });
	is $r->{status}, 504, 'silent model: 504';
	is((floors($id))[0]{state}, 'failed', 'silent model: floor failed');
}
{
	my $id = session(model_name => 'm?n=50&cut=10');
	my @events = $s->stream('POST', "/sessions/$id/respond/stream", { message => 'Hi.' })->rest;
	is $events[-1]{event}, 'error', 'stream cut by the model: error event';
	is((floors($id))[0]{state}, 'failed', 'stream cut by the model: floor failed');
	my $text = one("SELECT content FROM tavern.message m JOIN tavern.page p ON p.no = m.page_no WHERE p.state = 'failed' ORDER BY m.no DESC LIMIT 1");
	ok length $text > 20, 'stream cut by the model: what was said is kept';
}
{
	my $id = session();
	$s->kill_mock;
	my $r = turn($id);
	is $r->{status}, 502, 'model server gone: 502' or diag $r->{raw};
	$s->start_mock;
	is turn($id)->{status}, 200, 'model server back: the branch goes on';
}

# ---- the client ----

{
	my $id = session(model_name => 'm?n=500&i=20');
	my $stream = $s->stream('POST', "/sessions/$id/respond/stream", { message => 'Hi.' });
	$stream->next until (grep { $_->{event} eq 'chunk' } $stream->next // { event => 'chunk' });
	$stream->close;
	$s->wait_for('it', sub { settled($id) }, 5);
	is((floors($id))[0]{state}, 'failed', 'client leaves: floor failed');
	is $s->get("/floors/" . (floors($id))[0]{id} . '/run')->{json}{data}{run}{status}, 'cancelled', 'client leaves: run cancelled';
	$s->wait_for('it', sub { $s->mock_stats->{active} == 0 }, 5);
	is $s->mock_stats->{active}, 0, 'client leaves: the model call is over';
}

# ---- two writers, and the account's limit ----

{
	my $id = session(model_name => 'm?n=100&i=20');
	my $stream = $s->stream('POST', "/sessions/$id/respond/stream", { message => 'Hi.' });
	$stream->next;
	is turn($id)->{status}, 409, 'busy branch: 409';
	my @events = $s->stream('POST', "/sessions/$id/respond/stream", { message => 'Hi.' })->rest;
	is $events[0]{event}, 'error', 'busy branch, stream: one error event';
	is $events[0]{json}{code}, 'generation_conflict', 'busy branch, stream: its code';
	my @others = map { my $o = session(model_name => 'm?n=100&i=20'); my $t = $s->stream('POST', "/sessions/$o/respond/stream", { message => 'Hi.' }); $t->next; $t } 1 .. 2;
	my $r = turn(session());
	is $r->{status}, 429, 'fourth turn of the account: 429' or diag $r->{raw};
	ok $r->{headers}{'retry-after'}, '429: Retry-After';
	$_->close for $stream, @others;
	$s->wait_for('it', sub { one("SELECT count(*) FROM tavern.run WHERE state = 'running'") == 0 }, 10);
}

# ---- a worker ----

{
	my $id = session(model_name => 'm?n=500&i=20');
	my $stream = $s->stream('POST', "/sessions/$id/respond/stream", { message => 'Hi.' });
	my $chunks = 0;
	while (my $e = $stream->next(10)) { last if $e->{event} eq 'chunk' && ++$chunks > 80 }
	my %before = map { $_ => 1 } $s->workers;
	kill 'KILL', $_ for keys %before;
	ok $s->wait_for('it', sub { my @w = grep { !$before{$_} } $s->workers; @w == keys %before && $s->get('/health')->{status} == 200 }, 15), 'workers killed: new ones serve';
	ok $s->wait_for('it', sub { settled($id) }, 15), 'worker killed: its run is swept';
	my ($floor) = floors($id);
	is $floor->{state}, 'failed', 'worker killed: floor failed';
	is $s->get("/floors/$floor->{id}/run")->{json}{data}{run}{error}{code}, 'worker_lost', 'worker killed: the run says why';
	ok length one("SELECT content FROM tavern.message m JOIN tavern.page p ON p.no = m.page_no WHERE p.state = 'failed' ORDER BY m.no DESC LIMIT 1") > 20,
		'worker killed: what was said is kept';
	model($id, 'm');
	is turn($id)->{status}, 200, 'worker killed: the branch goes on';
}

# ---- the database ----

{
	my $id = session();
	turn($id);
	# B37: what every route that reads says while there is a database, and then without it
	my %named = (sessions => $id, floors => (floors($id))[0]{id});
	my $routes = $s->get('/openapi.json')->{json}{paths};
	my %said = map { $_ => $s->get($_)->{raw} } map { s#/(\w+)/\K\{[^}]*\}#$named{$1} // 'x'#re } grep { $routes->{$_}{get} && !m#/stream$|^/(?:metrics|openapi)# } sort keys %$routes;
	model($id, 'm?n=60&i=20');
	my $stream = $s->stream('POST', "/sessions/$id/respond/stream", { message => 'Hi.' });
	$stream->next for 1 .. 5;
	$s->kill_postgres;
	my @rest = $stream->rest;
	is $rest[-1]{event}, 'error', 'database killed in mid-stream: error event';
	ok $s->wait_for('it', sub { $s->get('/health')->{status} == 503 }, 5), 'database killed: /health says so';
	my $r = $s->get('/sessions');
	is $r->{status}, 503, 'database killed: 503';
	ok $r->{headers}{'retry-after'}, 'database killed: Retry-After';
	is_deeply [grep { my $now = $s->get($_); $now->{status} < 500 && $now->{raw} ne $said{$_} } sort keys %said], [], 'B37: no route takes a failure for an empty answer';
	cmp_ok scalar(keys %said), '>', 60, 'B37: of all that read';
	$s->start_postgres;
	ok $s->wait_for('it', sub { $s->get('/health')->{status} == 200 }, 15), 'database back: /health recovers by itself';
	ok $s->wait_for('it', sub { settled($id) }, 15), 'database back: the run is swept';
	is((floors($id))[-1]{state}, 'failed', 'database back: floor failed');
	model($id, 'm');
	is turn($id)->{status}, 200, 'database back: the branch goes on';
}

# ---- a reload under turns ----

{
	my @ids = map { session(model_name => 'm?n=40&i=20') } 1 .. 3;
	my @streams = map { $s->stream('POST', "/sessions/$_/respond/stream", { message => 'Hi.' }) } @ids;
	$_->next for @streams;
	$s->reload;
	is((($_->rest)[-1] // {})->{event}, 'done', 'reload: a running stream ends well') for @streams;
	is((floors($_))[0]{state}, 'committed', 'reload: floor committed') for @ids;
}

# ---- invariants ----

is_deeply [$s->invariants], [], 'nothing is half';

done_testing;
