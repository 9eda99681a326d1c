#!/usr/bin/env perl
# kill -9 of the worker that has a turn, at every stage of turns of every kind (Tavern/Kill.pm): whole or failed, once for a key, and a
# session of another worker has not noticed.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use Tavern::Kill qw(@stages);
use Tavern::Stack;
use Test::More;
use Time::HiRes ();

# The worker of slot 0 lives; the others die in turn, so that none is waited for.
my $s = Tavern::Stack->new(workers => 4, own_pg => 1, mock_args => ['-n', 3, '-i', 1], conf => { run_lease => '3s', db_lock_timeout => '30s', db_connections => 14 });
my @door = map { $s->door($_) } 0 .. 3;
my $k = Tavern::Kill->new($s, $door[0]);
my $id = $s->post('/sessions', { title => 'T', model_name => 'long?n=20000&i=20' })->{json}{data}{id};
my $other = $s->stream('POST', "/sessions/$id/respond/stream", { message => 'Hi.' }, port => $door[0]);
my ($dead, $n) = (0, 0);

for my $stage (@stages) {
	my $slot = 1 + $n++ % 3;
	my $pid = $s->wait_for("worker $slot", sub { my $w = $s->worker_of($slot); $w && $w != $dead && $w }, 20);

	$k->play($stage, $door[$slot], 0, sub { kill 'KILL', $dead = $pid });
}
$k->afterwards;

my ($pieces, $newest, $now) = (0, 0, Time::HiRes::clock_gettime(Time::HiRes::CLOCK_MONOTONIC()));
while ($newest < $now && (my $e = $other->next(2))) {
	while (($e->{json}{chunk} // '') =~ /\[t=(\d+)\]/g) { $pieces++; $newest = $1 / 1e9 }
}
cmp_ok $pieces, '>', 200, 'the other session has not noticed';
cmp_ok $newest, '>=', $now, 'its reply goes on';

done_testing;
