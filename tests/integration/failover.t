#!/usr/bin/env perl
# The primary is lost and its replica promoted: two clusters on one host, synchronous replication, workers that know both. Turns in
# flight end cleanly, the service comes back without help, and nothing that a client was told of is missing.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use POSIX ();
use Tavern::Stack;
use Test::More;
use Time::HiRes qw(sleep time);

my $s = Tavern::Stack->new(own_pg => 1, start => 0, pg_settings => ['port=5432']);
my ($replica, $run) = $s->replica(5433);

# Every setting names both; libpq takes the one that can be written to.
my $both = "host=$run,$run port=5432,5433 dbname=tavern target_session_attrs=read-write";
$s->configure(database => "$both user=tavern_app", database_sys => "$both user=tavern_sys");
$s->sql("ALTER SYSTEM SET synchronous_standby_names = 'replica'");
$s->sql('ALTER SYSTEM SET synchronous_commit = remote_apply');
$s->sql('SELECT pg_reload_conf()');
$s->start;
ok $s->wait_for('the replica', sub { $s->sql("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == 1 }, 30), 'the replica follows';

sub session { my (%more) = @_; return $s->post('/sessions', { title => 'T', %more })->{json}{data}{id} }

# ---- turns without a pause by some clients; each remembers what it was told ----

my ($clients, @pipes) = (4);
my $until = "$s->{dir}/go-on";
{ open my $fh, '>', $until or die; }
for my $n (1 .. $clients) {
	my $id = session(model_name => 'm?n=10&i=10');
	pipe my $r, my $w or die;
	my $pid = fork // die "fork: $!";
	if ($pid == 0) {
		my $i = 0;
		while (-e $until) {
			my $text = "turn $n-" . ++$i . '.';
			my $a = $s->post("/sessions/$id/respond", { message => $text });
			syswrite $w, join("\t", $a->{status}, $text, $a->{json}{data}{floor_id} // $a->{json}{error}{code} // '-', time) . "\n";
			sleep 0.05 if $a->{status} != 200;
		}
		POSIX::_exit(0);
	}
	close $w;
	push @pipes, { pid => $pid, fh => $r, id => $id };
}
my @long = map { session(model_name => 'm?n=200&i=20') } 1 .. 3;
my @streams = map { $s->stream('POST', "/sessions/$_/respond/stream", { message => 'Long.' }) } @long;
$_->next for @streams;
sleep 2;

# ---- the primary goes, the replica takes over ----

my $lost = time;
$s->kill_postgres;
ok $s->wait_for('/health to notice', sub { $s->get('/health')->{status} == 503 }, 10), 'the primary is lost: /health says so';
sleep 0.5;
$s->promote;
ok $s->wait_for('/health', sub { $s->get('/health')->{status} == 200 }, 20), 'the replica is promoted: the service recovers by itself';
diag sprintf 'back after %.1f s', time - $lost;
for my $i (0 .. $#streams) {
	my $last = ($streams[$i]->rest)[-1];
	like $last->{event} // 'cut', qr/^(?:done|error)$/, 'a stream in flight is told how it ended';
	ok $streams[$i]->complete, 'and ends properly';
}
sleep 2;
unlink $until;

# ---- nothing is lost ----

my ($told, $after, %refused) = (0, 0);
for my $c (@pipes) {
	my $fh = $c->{fh};
	my @lines = map { chomp; [split /\t/] } <$fh>;
	waitpid $c->{pid}, 0;
	my %there = map { $_->[0] => $_->[1] } $s->sql(q{SELECT f.id, m.content FROM tavern.floor f JOIN tavern.page p ON p.floor_no = f.no AND p.kind = 'input'
		JOIN tavern.message m ON m.page_no = p.no JOIN tavern.session s ON s.no = f.session_no WHERE s.id = :'id' AND f.state = 'committed'}, id => $c->{id});
	my @missing = grep { $_->[0] == 200 && ($there{ $_->[2] } // '') ne $_->[1] } @lines;
	is_deeply \@missing, [], 'every turn that was acknowledged is there';
	my %text;
	$text{$_}++ for values %there;
	is_deeply [grep { $text{$_} > 1 } keys %text], [], 'none is there twice';
	$told += grep { $_->[0] == 200 } @lines;
	$after += grep { $_->[0] == 200 && $_->[3] > $lost + 1 } @lines;
	$refused{"$_->[0] $_->[2]"}++ for grep { $_->[0] != 200 } @lines;
}
cmp_ok $told, '>', 20, 'turns were acknowledged';
cmp_ok $after, '>', 10, 'and some after the change';
is_deeply [grep { !/^(?:503 database_unavailable|409 generation_conflict|429 .*)$/ } keys %refused], [], 'the others got an answer that says: try again' or diag join "\n", explain(\%refused), grep { /internal_error/ } split /\n/, $s->log('tavernd');
diag join ', ', map { "$refused{$_} x $_" } sort keys %refused;
ok $s->wait_for('the sweeper', sub { $s->sql("SELECT count(*) FROM tavern.run WHERE state = 'running'") == 0 }, 40), 'nothing is stuck';
is_deeply [$s->invariants], [], 'nothing is half';

done_testing;
