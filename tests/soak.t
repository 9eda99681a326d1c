#!/usr/bin/env perl
# Everything at once, for some minutes: clients that talk, leave, come back with their key or resume, make replies again, edit, fork,
# search, export, write variables and delete, while workers, tavern-jobd and tavern-eventd are killed and reloaded and PostgreSQL is
# restarted and killed; a listener comes back with the last id it has heard. Each client remembers what it was told. At the end every
# acknowledged turn is there and was heard, none twice, no job is left, and the invariants hold.
#
#   make soak [SOAK_MINUTES=3] [SOAK_SEED=N] [SOAK_CLIENTS=6]
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use JSON::PP;
use POSIX ();
use Tavern::Stack;
use Test::More;
use Time::HiRes qw(sleep time);

my $minutes = $ENV{SOAK_MINUTES} || 3;
my $seed = $ENV{SOAK_SEED} || int(time) % 1_000_000;
my $clients = $ENV{SOAK_CLIENTS} || 6;
my $json = JSON::PP->new->utf8->canonical;
my $s = Tavern::Stack->new(own_pg => 1, jobd => 1, eventd => 1, conf => { account_streams_max => 0 });
my $end = time + 60 * $minutes;

diag "SOAK_SEED=$seed SOAK_MINUTES=$minutes SOAK_CLIENTS=$clients";

# ---- a client ----

my @models = ('m', 'm', 'm', 'm?n=20&i=20', 'm?n=60&i=20', 'm?n=40&i=10&utf8=1&split=1', 'm?err=500', 'm?n=30&cut=10');

sub pick { return $_[int rand @_] }

# Sends until an answer comes that is no "try again": with a key, so that it happens once.
sub keyed {
	my ($c, $path, $body) = @_;
	my $key = "k$c->{n}-" . ++$c->{keys};

	for (1 .. 40) {
		my $r = $s->post($path, $body, headers => { 'idempotency-key' => $key });
		return $r unless $r->{status} >= 500 || $r->{status} == 429 || $r->{status} == 408;
		sleep 0.25;
	}
	return;
}

sub told {
	my ($c, $session, $branch, $text, $floor) = @_;

	$session->{told}{$floor} = { text => $text, branch => $branch };
	$c->{count}{told}++;
}

my %does = (
	respond => sub {
		my ($c, $session, $branch, $text) = @_;
		my $r = $s->post("/sessions/$session->{id}/respond", { message => $text, branch_id => $branch });
		told($c, $session, $branch, $text, $r->{json}{data}{floor_id}) if $r->{status} == 200;
	},
	with_key => sub {
		my ($c, $session, $branch, $text) = @_;
		my $r = keyed($c, "/sessions/$session->{id}/respond", { message => $text, branch_id => $branch }) or return;
		told($c, $session, $branch, $text, $r->{json}{data}{floor_id}) if $r->{status} == 200;
	},
	stream => sub {
		my ($c, $session, $branch, $text) = @_;
		my $t = eval { $s->stream('POST', "/sessions/$session->{id}/respond/stream", { message => $text, branch_id => $branch }) } or return;
		my $leave = rand() < 0.3 ? int rand 10 : undef;
		while (my $e = eval { $t->next(20) }) {
			if ($e->{event} eq 'done') { told($c, $session, $branch, $text, $e->{json}{floor_id}); last }
			last if $e->{event} eq 'error' || (defined $leave && $leave-- <= 0);
		}
		$t->close;
	},
	two_writers => sub {
		my ($c, $session, $branch, $text) = @_;
		my $t = eval { $s->stream('POST', "/sessions/$session->{id}/respond/stream", { message => "$text a", branch_id => $branch }) } or return;
		my $r = $s->post("/sessions/$session->{id}/respond", { message => "$text b", branch_id => $branch });
		told($c, $session, $branch, "$text b", $r->{json}{data}{floor_id}) if $r->{status} == 200;
		my ($done) = grep { $_->{event} eq 'done' } eval { $t->rest };
		told($c, $session, $branch, "$text a", $done->{json}{floor_id}) if $done;
	},
	again => sub {    # of a head that no other branch shows: its floor stays
		my ($c, $session) = @_;
		return if @{ $session->{branches} } > 1;
		if (rand() < 0.5) { keyed($c, "/sessions/$session->{id}/regenerate", {}); return }
		my ($head) = reverse sort keys %{ $session->{told} } or return;
		keyed($c, "/floors/$head/retry", {});
	},
	edit => sub {
		my ($c, $session, $branch, $text) = @_;
		my @floors = keys %{ $session->{told} } or return;
		my $page = $s->get('/pages?page_kind=input&floor_id=' . pick(@floors))->{json}{data}[0]{id} or return;
		my ($message) = map { $_->{id} } @{ $s->get("/messages?page_id=$page")->{json}{data} // [] } or return;
		my $r = keyed($c, "/messages/$message/edit-and-regenerate", { content => $text }) or return;
		return if $r->{status} != 200;
		push @{ $session->{branches} }, $r->{json}{data}{branch_id};
		told($c, $session, $r->{json}{data}{branch_id}, $text, $r->{json}{data}{floor_id});
	},
	resume => sub {
		my ($c, $session, $branch, $text) = @_;
		my $t = eval { $s->stream('POST', "/sessions/$session->{id}/respond/stream", { message => $text, branch_id => $branch, on_disconnect => 'continue' }) } or return;
		my ($floor, $last);
		for (1 .. 4) {
			my $e = eval { $t->next(10) } or last;
			$floor = $e->{json}{floor_id} if $e->{event} eq 'start';
			$last = $e->{id} // $last;
		}
		$t->close;
		return unless $floor;
		for (1 .. 10) {
			$t = eval { $s->stream('GET', "/floors/$floor/stream", undef, headers => { 'last-event-id' => $last }) };
			return if $t && ($t->status // 0) == 204;
			while ($t && ($t->status // 0) == 200 && (my $e = eval { $t->next(20) })) {
				$last = $e->{id} // $last;
				return if $e->{event} eq 'error';
				if ($e->{event} eq 'done') { told($c, $session, $branch, $text, $e->{json}{floor_id}); return }
			}
			sleep 0.25;
		}
	},
	activate => sub {
		my ($c, $session) = @_;
		return if @{ $session->{branches} } > 1;
		my ($head) = reverse sort keys %{ $session->{told} } or return;
		my @pages = grep { $_->{page_kind} ne 'input' } @{ $s->get("/pages?floor_id=$head")->{json}{data} // [] } or return;
		$s->patch('/pages/' . pick(@pages)->{id} . '/activate', {});
	},
	search => sub {
		my ($c, $session) = @_;
		my $r = $s->get("/messages?session_id=$session->{id}&q=said");
		$c->{odd}{"search $r->{status}"}++ unless $r->{status} == 200 || $r->{status} >= 500 || $r->{status} == 429 || $r->{status} == 404;
	},
	export => sub {
		my ($c, $session) = @_;
		my $format = pick(qw(thchat st_jsonl));
		$s->post("/export/chat/$session->{id}/jobs", { format => $format });
		$s->get("/export/chat/$session->{id}?format=$format");
	},
	fork => sub {
		my ($c, $session) = @_;
		my @floors = keys %{ $session->{told} } or return;
		my $id = "b$c->{n}-" . ++$c->{branches};
		my $r = $s->post('/floors/' . pick(@floors) . '/branch', { branch_id => $id });
		push @{ $session->{branches} }, $id if $r->{status} == 201;
	},
	drop_branch => sub {
		my ($c, $session) = @_;
		my @some = grep { $_ ne 'main' } @{ $session->{branches} } or return;
		my $id = pick(@some);
		my $r = $s->del("/branches/$id?session_id=$session->{id}");
		# Not known whether it went: what was said there is no longer expected.
		return if $r->{status} == 409;
		$session->{branches} = [grep { $_ ne $id } @{ $session->{branches} }];
		delete $session->{told}{$_} for grep { $session->{told}{$_}{branch} eq $id } keys %{ $session->{told} };
	},
	variable => sub {
		my ($c, $session, $branch) = @_;
		$s->put('/variables', { scope => 'branch', session_id => $session->{id}, branch_id => $branch, key => pick(qw(a b c)), value => int rand 1000 });
		$s->put('/variables', { scope => 'global', scope_id => 'global', key => pick(qw(a b c)), value => int rand 1000 });
	},
	look => sub {
		my ($c, $session) = @_;
		$s->get($_) for "/sessions/$session->{id}/timeline", "/sessions/$session->{id}/active-run", '/sessions', "/sessions/$session->{id}/branches";
	},
	another => sub {
		my ($c, $session) = @_;
		return if @{ $c->{sessions} } >= 6;
		my $r = $s->post('/sessions', { title => "client $c->{n}" });
		push @{ $c->{sessions} }, { id => $r->{json}{data}{id}, branches => ['main'], told => {} } if $r->{status} == 201;
	},
	drop => sub {
		my ($c, $session) = @_;
		return if @{ $c->{sessions} } < 3 || rand() < 0.8;
		$s->del("/sessions/$session->{id}");
		$c->{sessions} = [grep { $_ != $session } @{ $c->{sessions} }];
	},
);
my @often = ((qw(respond with_key stream)) x 6, qw(two_writers fork drop_branch variable variable look another drop again again edit resume resume activate search export));

sub client {
	my ($n) = @_;
	my %c = (n => $n, keys => 0, branches => 0, count => {}, sessions => []);

	srand $seed * 100 + $n;
	while (time < $end) {
		my $what = @{ $c{sessions} } ? pick(@often) : 'another';
		my $session = @{ $c{sessions} } ? pick(@{ $c{sessions} }) : undef;
		$s->patch("/sessions/$session->{id}", { model_name => pick(@models) }) if $session && rand() < 0.2;
		$c{count}{$what}++;
		$does{$what}->(\%c, $session, $session && pick(@{ $session->{branches} }), "said $n-" . ++$c{said} . '.');
		sleep rand 0.05;
	}
	return \%c;
}

# ---- who listens ----

my $stop = "$s->{dir}/stop";
sub listener {
	my (%committed, %ids, @twice, $last);
	my %heard = (gaps => 0, comes_back => 0);

	open my $ready, '>', "$s->{dir}/ready" or die "ready: $!";
	while (1) {
		my $t = eval { $s->stream('GET', '/events?scope=account', undef, headers => { $last ? ('last-event-id' => $last) : () }) };
		my $quiet = 0;
		while ($t && ($t->status // 0) == 200 && $t->{socket}) {
			my $e = eval { $t->next(1) };
			if (!$e) {
				last if -e $stop && ++$quiet > 3;
				next;
			}
			$quiet = 0;
			$heard{gaps}++ if $e->{event} eq 'gap';
			next unless defined $e->{id};
			push @twice, "$e->{id} $e->{event}" if $ids{ $e->{id} }++;
			$last = $e->{id};
			$committed{ $e->{json}{data}{floor}{id} }++ if $e->{event} eq 'floor.committed';
		}
		last if -e $stop && $quiet > 3;
		$heard{comes_back}++;
		sleep 0.1;
	}
	return { %heard, committed => \%committed, twice => \@twice };
}
my $ears = fork // die "fork: $!";
if ($ears == 0) {
	my $heard = eval { listener() } // { error => "$@" };
	open my $fh, '>', "$s->{dir}/heard.json" or POSIX::_exit(1);
	print {$fh} $json->encode($heard);
	close $fh;
	POSIX::_exit(0);
}
$s->wait_for('the listener', sub { -e "$s->{dir}/ready" });
sleep 1;
{    # it has an id to come back with before anything is killed
	my $id = $s->post('/sessions', { title => 'first' })->{json}{data}{id};
	$s->post("/sessions/$id/respond", { message => 'The first.' });
	sleep 0.5;
}

my @clients;
for my $n (1 .. $clients) {
	my $file = "$s->{dir}/client$n.json";
	my $pid = fork // die "fork: $!";
	if ($pid == 0) {
		my $c = eval { client($n) } // { error => "$@" };
		open my $fh, '>', $file or POSIX::_exit(1);
		print {$fh} $json->encode($c);
		close $fh;
		POSIX::_exit(0);
	}
	push @clients, { pid => $pid, file => $file, n => $n };
}

# ---- what happens to them ----

my %happened;
srand $seed;
my %chaos = (
	'worker killed' => sub { $s->kill_worker('KILL', pick($s->workers)) },
	'jobd killed' => sub { $s->stop_jobd('KILL'); sleep rand 1; $s->start_jobd },
	'eventd killed' => sub { $s->stop_eventd('KILL'); sleep rand 1; $s->start_eventd },
	'reloaded' => sub { $s->reload },
	'PostgreSQL restarted' => sub { $s->kill_postgres('INT'); $s->start_postgres },
	'PostgreSQL killed' => sub { $s->kill_postgres('KILL'); sleep rand 2; $s->start_postgres },
	'model server restarted' => sub { $s->kill_mock; $s->start_mock },
);
my @chaos = (('worker killed') x 4, ('jobd killed') x 2, ('eventd killed') x 2, ('reloaded') x 2, 'PostgreSQL restarted', 'PostgreSQL killed', 'model server restarted');
while (time < $end - 5) {
	sleep 1 + rand 4;
	my $what = pick(@chaos);
	$chaos{$what}->();
	$happened{$what}++;
}
ok $s->wait_for('/health', sub { $s->get('/health')->{status} == 200 }, 60), 'the service is there at the end';

# ---- afterwards ----

waitpid $_->{pid}, 0 for @clients;
ok $s->wait_for('the sweeper', sub { $s->sql("SELECT count(*) FROM tavern.run WHERE state = 'running'") == 0 }, 60), 'nothing is stuck';

$s->sql("UPDATE tavern.job SET lease_until = 0 WHERE state = 'running' AND lease_until < tavern.now_ms() + 55000");    # a minute later
ok $s->wait_for('the jobs', sub { $s->sql("SELECT count(*) FROM tavern.job WHERE state IN ('queued', 'running')") == 0 }, 90), 'no job is left';
{ open my $fh, '>', $stop or die "stop: $!" }
waitpid $ears, 0;
my $heard = do { open my $fh, '<', "$s->{dir}/heard.json" or die "heard.json: $!"; local $/; $json->decode(<$fh>) };
is $heard->{error}, undef, 'the listener came to its end';

my (%count, %odd, @unheard);
my (@missing, @twice);
my %there = map { $_->[0] => $_->[1] } $s->sql(q{SELECT f.id, m.content FROM tavern.floor f JOIN tavern.page p ON p.floor_no = f.no AND p.kind = 'input'
	JOIN tavern.message m ON m.page_no = p.no WHERE f.state = 'committed'});
my %texts;    # a floor that was copied, because another branch shows it, is no second turn
$texts{ $_->[0] }++ for $s->sql(q{SELECT m.content FROM tavern.run r JOIN tavern.page p ON p.floor_no = r.floor_no AND p.kind = 'input' JOIN tavern.message m ON m.page_no = p.no
	WHERE r.state = 'completed' AND r.type IN ('respond', 'edit_and_regenerate')});
@twice = grep { $texts{$_} > 1 } sort keys %texts;
for my $client (@clients) {
	open my $fh, '<', $client->{file} or do { fail "client $client->{n} came to its end"; next };
	my $c = $json->decode(do { local $/; <$fh> });
	is $c->{error}, undef, "client $client->{n} came to its end";
	$count{$_} += $c->{count}{$_} for keys %{ $c->{count} };
	$odd{$_} += $c->{odd}{$_} for keys %{ $c->{odd} // {} };
	for my $session (@{ $c->{sessions} // [] }) {
		push @unheard, grep { !$heard->{committed}{$_} } sort keys %{ $session->{told} };
		push @missing, map { "$session->{id} $_ $session->{told}{$_}{text}" } grep { ($there{$_} // '') ne $session->{told}{$_}{text} } sort keys %{ $session->{told} };
	}
}
is_deeply \@missing, [], 'every acknowledged turn is there';
is_deeply \@twice, [], 'none is there twice';
is_deeply \@unheard, [], 'every one of them was heard';
is_deeply $heard->{twice}, [], 'no event was heard twice';
is $heard->{gaps}, 0, 'and no gap';
is_deeply \%odd, {}, 'no answer that nobody expects';
is_deeply [$s->invariants], [], 'the invariants hold';
cmp_ok $count{told} // 0, '>', 10, 'turns were acknowledged';
diag 'happened: ' . join ', ', map { "$happened{$_} x $_" } sort keys %happened;
diag "the listener came back $heard->{comes_back} times";
diag 'done: ' . join ', ', map { "$count{$_} x $_" } sort keys %count;

done_testing;
