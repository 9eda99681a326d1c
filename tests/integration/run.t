# ./run: brings the stack up, also from a directory with a very long path; starts again quickly; a second start on the
# same data is refused; Ctrl-C ends everything it started, and so does its own sudden death.
use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use IO::Socket::INET;
use POSIX qw(:sys_wait_h);
use Test::More;
use Time::HiRes qw(sleep time);

my $top = abs_path(dirname(__FILE__) . '/../..');
my $base = tempdir('tavern-run-XXXXXX', DIR => '/tmp', CLEANUP => 1);
my $deep = "$base/" . join '/', map { $_ x 30 } qw(a b c d e);
my $port = free_port();
my $build = $ENV{TAVERN_BUILD} // die "run the tests through tests/prove\n";

chmod 0755, $base;

sub free_port {
	my $socket = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => 0, Listen => 1) or die $!;

	return $socket->sockport;
}

# Starts ./run; returns its pid and the file of its output.
sub start {
	my ($data, @more) = @_;
	my $out = File::Temp->new;
	my $pid = fork // die $!;

	if ($pid == 0) {
		open STDIN, '<', '/dev/null';
		open STDOUT, '>', $out->filename;
		open STDERR, '>&', \*STDOUT;
		setpgrp;
		$SIG{INT} = 'DEFAULT';
		exec 'bash', "$top/run", '--build', $build, '--port', $port, '--data', $data, '--workers', 2, @more;
	}
	return ($pid, $out);
}

sub text_of { my ($file) = @_; open my $fh, '<', $file->filename or die $!; local $/; return <$fh> // '' }

# Waits until the output matches; returns the seconds it took, or undef.
sub waits_for {
	my ($pid, $out, $what, $seconds) = @_;
	my $began = time;

	while (time - $began < $seconds) {
		return time - $began if text_of($out) =~ $what;
		return if waitpid($pid, WNOHANG) != 0;
		sleep 0.02;
	}
	return;
}

sub ends {
	my ($pid, $seconds) = @_;
	my $until = time + $seconds;

	while (time < $until) {
		return $? if waitpid($pid, WNOHANG) == $pid;
		sleep 0.02;
	}
	return;
}

# Processes whose command line names the directory.
sub left {
	my ($dir) = @_;
	my @left;

	for my $file (glob '/proc/[0-9]*/cmdline') {
		my $line = do { open my $fh, '<', $file or next; local $/; <$fh> // '' };
		push @left, $line if index($line, $dir) >= 0 && index($line, 'bash') < 0;
	}
	return @left;
}

my ($pid, $out) = start($deep);
ok(defined waits_for($pid, $out, qr/Ctrl-C/, 240), 'starts in a directory of ' . length($deep) . ' characters') or diag text_of($out);
like(text_of($out), qr{http://127\.0\.0\.1:$port}, 'prints the address');
like(text_of($out), qr/echo.*TAVERND_LLM_PROVIDER/s, 'says which model answers and how to set another');
my ($curl) = text_of($out) =~ /^\s+(curl .*)$/m;
like(scalar `$curl`, qr/^\{"data":/, 'the curl line it prints works');
ok(scalar left($deep), 'its processes name the directory');
SKIP: {
	skip 'not root', 1 if $> != 0;
	is(scalar(grep { (stat "/proc/$_")[4] == 0 } children($pid)), 0, 'nothing of it runs as root');
}

my ($second, $refused) = start($deep, '--port', free_port());
is(ends($second, 60) >> 8, 1, 'a second start on the same data is refused');
like(text_of($refused), qr/another .*--data/, 'with a way out');

kill 'INT', $pid;
is(ends($pid, 60), 130 << 8, 'Ctrl-C ends it');
is_deeply([left($deep)], [], 'and all it started');

($pid, $out) = start($deep);
my $took = waits_for($pid, $out, qr/Ctrl-C/, 120);
ok(defined $took, 'starts again') or diag text_of($out);
diag sprintf 'second start: %.2f s', $took // -1;
kill 'KILL', $pid;
ends($pid, 10);
my $until = time + 15;
sleep 0.1 while left($deep) && time < $until;
is_deeply([left($deep)], [], 'its sudden death ends all it started');

sub children {
	my ($of) = @_;

	open my $fh, '<', "/proc/$of/task/$of/children" or return;
	return split ' ', <$fh> // '';
}

done_testing;
