#!/usr/bin/env perl
# kill -9 at every stage of a turn: of the worker that has it, and of PostgreSQL. Afterwards its floor is committed whole or
# failed, its branch goes on, and turns of the other worker have not noticed. The product has no hooks for that: a stage is made to
# last by what it waits for: the model, a lock, a trigger that sleeps in the statement or in COMMIT, a standby that never answers.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use POSIX ();
use Tavern::Stack;
use Test::More;
use Time::HiRes qw(sleep time);

my $s = Tavern::Stack->new(own_pg => 1, conf => { db_lock_timeout => '20s' });
my @door = map { $s->door($_) } 0, 1;

sub one { scalar $s->sql(@_) }
sub session { my (%more) = @_; my $r = $s->post("/sessions", { title => "T", %more }); return $r->{json}{data}{id} // BAIL_OUT("no session: $r->{raw}") }
sub floors { my ($id) = @_; return @{ $s->get("/floors?session_id=$id&sort_by=floor_no&sort_order=asc")->{json}{data} } }
sub say_at { my ($slot, $id) = @_; return $s->stream('POST', "/sessions/$id/respond/stream", { message => 'Hi.' }, port => $door[$slot]) }

# ---- what makes a stage last ----

$s->sql(<<'EOT');
CREATE TABLE public.hold (stage text, session_id text);
CREATE FUNCTION public.hold() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
	sid text;
	what text := TG_ARGV[0];
BEGIN
	IF TG_TABLE_NAME = 'run' THEN
		sid := (SELECT id FROM tavern.session WHERE no = NEW.session_no AND account_no = NEW.account_no);
		what := what || ' open';
	ELSE
		sid := NEW.session_id;
		what := what || CASE NEW.name WHEN 'floor.committed' THEN ' commit' ELSE ' fail' END;
	END IF;
	WHILE EXISTS (SELECT FROM public.hold h WHERE h.stage = what AND h.session_id = sid) LOOP
		PERFORM pg_sleep(0.01);
	END LOOP;
	RETURN NEW;
END $$;
CREATE TRIGGER hold BEFORE INSERT ON tavern.run FOR EACH ROW EXECUTE FUNCTION public.hold('in');
CREATE TRIGGER hold BEFORE INSERT ON tavern.event FOR EACH ROW EXECUTE FUNCTION public.hold('in');
CREATE CONSTRAINT TRIGGER hold_end AFTER INSERT ON tavern.run DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.hold('end of');
CREATE CONSTRAINT TRIGGER hold_end AFTER INSERT ON tavern.event DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.hold('end of');
EOT
$s->sql('ALTER FUNCTION public.hold() SET search_path = public');

my $locker;

sub hold { my ($stage) = @_; return sub { my ($x) = @_; $s->sql(q{INSERT INTO public.hold VALUES (:'stage', :'id')}, stage => $stage, id => $x->{id}) } }
sub held { my ($what) = @_; return sub { one("SELECT count(*) FROM pg_stat_activity WHERE usename LIKE 'tavern%' AND wait_event = '$what'") } }
sub released { $s->sql('SET synchronous_commit = local; DELETE FROM public.hold') }

sub lock_table {
	$locker = fork // die "fork: $!";
	if ($locker == 0) {
		eval { $s->sql('BEGIN; LOCK TABLE tavern.active_preset; SELECT pg_sleep(60)') };
		POSIX::_exit(0);
	}
	$s->wait_for('the lock', held_by());
}
sub held_by { sub { one("SELECT count(*) FROM pg_locks WHERE relation = 'tavern.active_preset'::regclass AND mode = 'AccessExclusiveLock' AND granted") } }
sub unlock_table {
	eval { $s->sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%LOCK TABLE tavern.active_preset%' AND pid <> pg_backend_pid()") };
	waitpid $locker, 0 if $locker;
	undef $locker;
}

# Who commits now has written it down, and waits for a standby that is not there: nobody else sees it, and nobody is told.
sub wait_for_standby {
	my ($x) = @_;

	$s->wait_for('the end of the commit', held('PgSleep'), 10);
	$s->sql(q{ALTER SYSTEM SET synchronous_standby_names = 'nobody'});
	$s->sql('SELECT pg_reload_conf()');
	$s->wait_for('the setting', sub { one('SHOW synchronous_standby_names') eq 'nobody' });
	released();
}
sub no_standby {
	$s->sql('ALTER SYSTEM RESET synchronous_standby_names');
	$s->sql('SELECT pg_reload_conf()');
}

sub heard { my ($n) = @_; return sub { my ($x) = @_; while ($x->{chunks} < $n) { my $e = $x->{stream}->next(10) or return 0; $x->{chunks}++ if $e->{event} eq 'chunk' } 1 } }

# A reply that is there when PostgreSQL goes is committed when it is back.
# name, the model, before the turn, while it runs: true when it has come to the stage, after the kill; the floor afterwards
# when the worker was killed, when PostgreSQL was.
my @stages = (
	[ 'reading what the turn needs', 'm', \&lock_table, held('relation'), \&unlock_table, 'none', 'none' ],
	[ 'in the transaction that opens it', 'm', hold('in open'), held('PgSleep'), \&released, 'none failed', 'none' ],
	[ 'in the COMMIT of that', 'm', hold('end of open'), held('PgSleep'), \&released, 'none failed', 'none' ],
	[ 'the model was asked', 'm?f=20000', undef, sub { $s->mock_stats->{started} > $_[0]{asked} }, undef, 'failed', 'failed' ],
	[ 'the first piece of the reply', 'm?n=50&stall=1', undef, heard(1), undef, 'failed', 'failed' ],
	[ 'in the middle of the reply', 'm?n=400&i=15', undef, heard(100), undef, 'failed', 'committed' ],
	[ 'the last piece of the reply', 'm?n=5&i=60&stall=5', undef, heard(5), undef, 'failed', 'failed' ],
	[ 'in the transaction that commits it', 'm', hold('in commit'), held('PgSleep'), \&released, 'committed', 'committed' ],
	[ 'in the COMMIT of that', 'm', hold('end of commit'), held('PgSleep'), \&released, 'committed', 'committed' ],
	[ 'committed, not answered', 'm', hold('end of commit'), sub { wait_for_standby(@_); $s->wait_for('the standby', held('SyncRep'), 10) }, \&no_standby, 'committed', 'committed' ],
	[ 'in the transaction that fails it', 'm?err=500', hold('in fail'), held('PgSleep'), \&released, 'failed', 'failed' ],
	[ 'in the COMMIT of that', 'm?err=500', hold('end of fail'), held('PgSleep'), \&released, 'failed', 'failed' ],
);

sub well { $s->wait_for('both workers', sub { $s->worker_of(0) && $s->worker_of(1) && $s->get('/health')->{status} == 200 }, 30) }

# ---- each stage ----

my @killed;

sub play {
	my ($victim, $n, $name, $model, $before, $there, $after, @want) = @{ $_[0] };
	my $slot = $n % 2;
	my $dead;
	my %x = (id => session(model_name => $model), asked => 0, chunks => 0, name => "$victim killed: $name", want => $want[$victim eq 'worker' ? 0 : 1]);
	my %y = (id => session(model_name => 'm?n=40&i=15'), asked => 0, chunks => 0);

	$y{stream} = say_at(1 - $slot, $y{id});
	ok heard(1)->(\%y), "$x{name}: another session talks";
	$x{asked} = $s->mock_stats->{started};
	$before->(\%x) if $before;
	$x{pid} = fork // die "fork: $!" if !$x{stream} && $before;
	if ($before && $x{pid} == 0) {    # nothing is answered while it is held: somebody else waits for it
		eval { say_at($slot, $x{id})->rest };
		POSIX::_exit(0);
	}
	$x{stream} = say_at($slot, $x{id}) unless $before;
	ok $s->wait_for($x{name}, sub { $there->(\%x) }, 15), "$x{name}: there";
	if ($victim eq 'worker') {
		$dead = $s->worker_of($slot);
		kill 'KILL', $dead;
		$s->wait_for('another worker', sub { my $w = $s->worker_of($slot); $w && $w != $dead }, 30);
		$after->() if $after;
		my @rest = $y{stream}->rest;
		is $rest[-1]{event}, 'done', "$x{name}: the other session has not noticed";
	} else {
		$s->kill_postgres;
		$s->start_postgres;
		unlock_table() if $locker;
		released();
		no_standby() if $after && $after == \&no_standby;
		my @rest = $y{stream}->rest;
		like $rest[-1]{event} // 'cut', qr/^(?:done|error)$/, "$x{name}: the other session is told how it ended";
		$y{want} = $rest[-1]{event} eq 'done' ? 'committed' : 'failed committed';
	}
	$y{want} //= 'committed';
	waitpid $x{pid}, 0 if $x{pid};
	if ($x{stream}) {
		$x{end} = ($victim eq 'worker' ? 'cut' : ($x{name} =~ /middle/ ? (($x{stream}->rest)[-1] // {})->{event} : ''));
		$x{stream}->close;
	}
	$y{name} = "$x{name}: the other session";
	push @killed, \%x, \%y;
	well();
}

for my $victim (qw(worker postgres)) {
	my $n = 0;
	play([ $victim, $n++, @$_ ]) for @stages;
}

# ---- afterwards ----

ok $s->wait_for('the sweeper', sub { one("SELECT count(*) FROM tavern.run WHERE state = 'running'") == 0 }, 60), 'nothing is stuck';
for my $x (@killed) {
	my @floors = floors($x->{id});
	my $state = @floors ? $floors[0]{state} : 'none';
	cmp_ok scalar @floors, '<=', 1, "$x->{name}: no second floor";
	like $state, qr/^(?:@{[ join '|', split ' ', $x->{want} ]})$/, "$x->{name}: $x->{want}"
		or diag map { "$_\n" } grep { /\Q$floors[0]{id}\E|<error>|turn\.|unavailable/ } split /\n/, $s->log('tavernd');
	if ($state eq 'failed') {
		my $run = $s->get("/floors/$floors[0]{id}/run")->{json}{data}{run};
		like $run->{status}, qr/^(?:failed|cancelled)$/, "$x->{name}: the run says so";
		ok $run->{error}{code}, "$x->{name}: and why";
	}
	$s->patch("/sessions/$x->{id}", { model_name => 'm' });
	is $s->post("/sessions/$x->{id}/respond", { message => 'Well?' })->{status}, 200, "$x->{name}: the branch goes on";
	my $sent = join ' ', map { $_->{content} } @{ $s->mock_last->{messages} };
	is scalar(() = $sent =~ /Hi\./g), $state eq 'committed' ? 1 : 0, "$x->{name}: what failed is not history";
}
is_deeply [$s->invariants], [], 'nothing is half';

done_testing;
