#!/usr/bin/env perl
# Many turns begin at once: a worker prepares fewer than it has connections, the others wait their turn, and are refused in time, with
# nothing left behind, when those in front do not get on.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use POSIX ();
use Tavern::Stack;
use Test::More;

# A database server of its own: an open transaction holds back the events of all others.
my $s = Tavern::Stack->new(own_pg => 1, workers => 1, conf => { db_connections => 4, turn_wait => '3s', db_lock_timeout => '20s', worker_threads_max => 80 });

sub session { return $s->post('/sessions', { title => 'T', model_name => 'm?n=3&i=1' })->{json}{data}{id} }
sub turn { my ($id) = @_; return $s->post("/sessions/$id/respond", { message => 'Hi.' }) }

# Turns of these sessions, each in a process of its own; how many ended well, when it is asked.
sub at_once {
	my @pids = map { my $id = $_; my $pid = fork // die $!; POSIX::_exit(turn($id)->{status} == 200 ? 0 : 1) if !$pid; $pid } @_;

	return sub { return scalar grep { waitpid($_, 0); $? == 0 } @pids };
}

# All of a burst are served.
is at_once(map { session() } 1 .. 12)->(), 12, 'twelve at once, two places: all are said';

# Two that cannot get on hold both places: their sessions are locked by somebody.
my @held = (session(), session());
my $late = session();
my $lock = $s->psql_open;
$lock->("BEGIN; SELECT FROM tavern.branch b JOIN tavern.session s ON s.account_no = b.account_no AND s.no = b.session_no WHERE s.id IN ('$held[0]', '$held[1]') FOR UPDATE OF b;");
my $front = at_once(@held);
$s->wait_for('two turns wait for their branches',
	sub { $s->sql(q{SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'}) == 2 });
is $s->stream('POST', "/sessions/$late/respond/stream", { message => 'Hi.' })->status, 503, 'the third is refused: no stream';
my $plain = turn($late);
is $plain->{status}, 503, 'and plainly: 503';
is $plain->{json}{error}{code}, 'server_busy', 'with its code';
ok $plain->{headers}{'retry-after'} > 0, 'and when to come again';
is $s->sql(q{SELECT count(*) FROM tavern.floor f JOIN tavern.session s ON s.account_no = f.account_no AND s.no = f.session_no WHERE s.id = :'id'}, id => $late), 0, 'nothing of it was recorded';
$lock->('ROLLBACK;');
$lock->(undef);
is $front->(), 2, 'those in front get on';
is turn($late)->{status}, 200, 'and so do those that come again';
is_deeply [$s->invariants], [], 'invariants';
$s->finish;
done_testing;
