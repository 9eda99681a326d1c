# The life of master and workers: crashes, reloads under load, faulty configurations, stops.
use strict;
use warnings;

use HTTP::Tiny;
use IO::Select;
use POSIX ();
use Tavern::Demo;
use Test::More;
use Time::HiRes qw(sleep time);

my $s = Tavern::Demo->new(conf => { drain_timeout => '30s' });

# N processes that ask without a pause, every second time by POST, over connections that nginx keeps. Returns a code that
# ends them and gives (answered, failed, descriptions of failures).
sub load {
	my ($n) = @_;
	my @pipes;

	for my $i (1 .. $n) {
		pipe my $r, my $w;
		pipe my $stop_r, my $stop_w;
		my $pid = fork // die "fork: $!";
		if ($pid == 0) {
			close $_->[1] for @pipes;
			close $stop_w;
			my $http = HTTP::Tiny->new(timeout => 20);
			my ($ok, %bad) = (0);
			my $select = IO::Select->new($stop_r);

			until ($select->can_read(0)) {
				my $a = $ok % 2 ? $http->get($s->url('/ping'))
					: $http->post($s->url('/echo'), { headers => { 'content-type' => 'application/json' }, content => '{"text":"x"}' });
				if ($a->{success}) { $ok++ } else { $bad{"$a->{status} " . (substr $a->{content}, 0, 80) =~ s/\s+/ /gr}++ }
			}
			print {$w} join("\t", $ok, %bad), "\n";
			close $w;
			POSIX::_exit(0);
		}
		close $w;
		close $stop_r;
		push @pipes, [ $r, $stop_w, $pid ];
	}
	return sub {
		my ($ok, $failed, @bad) = (0, 0);

		close $_->[1] for @pipes;
		for my $p (@pipes) {
			chomp(my $line = readline($p->[0]) // "0\tdied\t1");
			my ($n, %b) = split /\t/, $line;
			$ok += $n;
			$failed += $_ for values %b;
			push @bad, keys %b;
			waitpid $p->[2], 0;
		}
		return ($ok, $failed, join('; ', @bad));
	};
}

subtest 'kill -9 in mid-stream' => sub {
	my @e = map { $s->stream('GET', '/stream?chunks=60&ms=20') } 1 .. 6;
	my ($victim) = $s->workers;
	my ($whole, $torn) = (0, 0);
	my $t0;

	$_->next for @e;
	$s->kill_worker('KILL', $victim);
	$t0 = time;
	is $s->get('/ping')->{status}, 200, 'others are served at once';
	for my $e (@e) {
		my @all = $e->rest;
		if (@all && $all[-1]{event} eq 'done') { $whole++ } else { $torn++ }
	}
	is $whole + $torn, 6, 'every stream ends';
	is $whole, 3, 'those of the other worker go on to their end';
	ok $s->wait_for('a new worker', sub { my @w = $s->workers; @w == 2 && !grep { $_ == $victim } @w }, 5), 'the dead one is replaced';
	$s->wait_for('both', sub { keys %{ $s->stats } == 2 }, 5);
	is scalar(grep { $s->get('/ping')->{status} == 200 } 1 .. 50), 50, 'and serves';
};

subtest 'a request that ends its worker' => sub {
	my %before = map { $_ => 1 } $s->workers;
	my $r = $s->post('/crash');

	cmp_ok $r->{status}, '>=', 500, 'is answered by the web server';
	$s->wait_for('a new worker', sub { my @w = $s->workers; @w == 2 && grep { !$before{$_} } @w }, 8);
	is scalar(grep { $before{$_} } $s->workers), 1, 'and is not tried on the next one';
};

subtest 'reload under load' => sub {
	my @e = map { $s->stream('GET', '/stream?chunks=250&ms=20') } 1 .. 8;    # five seconds
	my $end = load(6);
	my (%old, $ok, $failed, $what);

	$_->next for @e;
	sleep 0.5;
	for my $round (1 .. 3) {
		%old = map { $_ => 1 } $s->workers;
		$s->reload;
		ok $s->wait_for('the next generation', sub { keys(%{ $s->stats }) && !grep { $old{$_} } keys %{ $s->stats } }, 10), "reload $round";
		sleep 0.7;
	}
	is scalar(grep { my @all = $_->rest; @all && $all[-1]{event} eq 'done' && $_->complete } @e), 8, 'every open stream goes on to its end';
	sleep 5 - 2;    # until the oldest generation has gone
	($ok, $failed, $what) = $end->();
	cmp_ok $ok, '>', 500, "answered: $ok";
	is $failed, 0, 'failed: none' or diag $what;
	ok $s->wait_for('the old ones to go', sub { $s->workers == 2 }, 15), 'the old generations have ended';
	is scalar(() = $s->log('tavernd') =~ /worker\.killed/g), 0, 'by themselves';
};

subtest 'a faulty configuration' => sub {
	my @before = sort { $a <=> $b } $s->workers;
	my ($status, $out);

	$s->configure(workers => 2, worker_threads_max => 'many', nonsense => 1);
	($status, $out) = $s->tavernd('-t');
	is $status, 2, 'the check finds it';
	like $out, qr/worker_threads_max.*many/, 'says what';
	like $out, qr/nonsense/, 'and everything at once';
	$s->reload;
	ok $s->wait_for('the refusal', sub { $s->log('tavernd') =~ /master\.reload.*faulty/ }, 5), 'the reload is refused';
	is_deeply [ sort { $a <=> $b } $s->workers ], \@before, 'the old workers stay';
	is $s->get('/ping')->{status}, 200, 'and serve';
	$s->configure(worker_threads_max => undef, nonsense => undef);
	($status, $out) = $s->tavernd('-t');
	is $status, 0, 'a good one passes' or diag $out;
};

subtest 'one master for a directory' => sub {
	my ($status, $out) = $s->tavernd;

	is $status, 1, 'a second one refuses';
	like $out, qr/another tavernd/, 'and says why';
	is $s->get('/ping')->{status}, 200, 'the first is not disturbed';
};

subtest 'stop' => sub {
	my $e = $s->stream('GET', '/stream?chunks=50&ms=20');
	my ($status, @all);

	$e->next;
	kill 'TERM', $s->master;
	@all = $e->rest;
	is $all[-1]{event}, 'done', 'a running stream comes to its end';
	$status = $s->stop_tavernd(10);
	is $status, 0, 'then everything ends well';
	ok !-e $s->dir . '/run/w0.sock', 'without leaving sockets';
	like $s->get('/ping')->{status}, qr/^50[23]$/, 'the web server says that nobody is there';
};

subtest 'stop with a bound' => sub {
	my ($e, @all, $t0);

	$s->configure(drain_timeout => '500ms');
	$s->start;
	$e = $s->stream('GET', '/stream?chunks=100000&ms=20');
	$e->next;
	$t0 = time;
	kill 'TERM', $s->master;
	@all = $e->rest;
	is $all[-1]{event}, 'done', 'the application is told to cancel after drain_timeout';
	cmp_ok time - $t0, '<', 4, 'soon';
	is $s->stop_tavernd(10), 0, 'and everything ends well';
};

done_testing;
