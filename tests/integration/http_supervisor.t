# What a supervisor sees: sockets that it passes, states that it is told, the watchdog.
use strict;
use warnings;

use File::Temp qw(tempdir);
use IO::Select;
use IO::Socket::UNIX;
use POSIX ();
use Socket;
use Test::More;
use Time::HiRes qw(sleep time);

my $tools = $ENV{TAVERN_TOOLS} or die "TAVERN_TOOLS: run the tests through tests/prove\n";
my $dir = tempdir('super-XXXXXX', DIR => $ENV{TAVERN_RUN} // '/tmp', CLEANUP => 1);
my $notify = IO::Socket::UNIX->new(Type => SOCK_DGRAM, Local => "$dir/notify") or die "notify: $!";
my @listen = map { IO::Socket::UNIX->new(Type => SOCK_STREAM, Local => "$dir/s$_", Listen => 100) or die "listen: $!" } 0 .. 2;
my (%said, @kept, $pid, $status, $began);

# Everything that is said until PATTERN is, or SECONDS are over.
sub told {
	my ($pattern, $seconds) = @_;
	my $until = time + $seconds;

	while ((my $left = $until - time) > 0) {
		next unless IO::Select->new($notify)->can_read($left);
		$notify->recv(my $text, 4096);
		$said{ (split /\n/, $text)[0] }++;
		return $text if $text =~ $pattern;
	}
	return '';
}

$pid = fork // die "fork: $!";
if ($pid == 0) {
	POSIX::dup2(fileno $listen[$_], 3 + $_) for 0 .. $#listen;
	for my $fd (3 .. 5) {
		open my $keep, '>&=', $fd;
		fcntl $keep, 2, 0;    # F_SETFD: survives the exec
		push @kept, $keep;
	}
	%ENV = (LISTEN_PID => $$, LISTEN_FDS => 3, NOTIFY_SOCKET => "$dir/notify", WATCHDOG_USEC => 200000, WATCHDOG_PID => $$);
	open STDERR, '>', "$dir/log";
	exec "$tools/httpdemo", '-o', "listen_dir=$dir", '-o', 'workers=1' or POSIX::_exit(127);
}

like told(qr/^READY=1/, 20), qr/^READY=1/, 'ready when the first worker serves';
ok told(qr/^WATCHDOG=1/, 5), 'alive, again and again';
ok told(qr/^WATCHDOG=1/, 5), 'and again';
open my $children, '<', "/proc/$pid/task/$pid/children";
is scalar(split ' ', <$children> // ''), 3, 'one worker for each socket that was passed';
kill 'HUP', $pid;
like told(qr/^RELOADING=1/, 5), qr/^RELOADING=1\nMONOTONIC_USEC=\d+$/, 'reloading';
like told(qr/^READY=1/, 20), qr/^READY=1/, 'and ready again';
kill 'TERM', $pid;
$began = time;
ok told(qr/^STOPPING=1/, 5), 'stopping';
alarm 30;    # whatever hangs
is waitpid($pid, 0), $pid, 'it ends';
$status = $?;
cmp_ok time - $began, '<', 4, 'soon, although the generation before was still draining';
is $status, 0, 'well';
ok -S "$dir/s0", 'what it did not make it does not remove';
open my $log, '<', "$dir/log";
unlike join('', <$log>), qr/Sanitizer|worker\.died/, 'nobody died';

done_testing;
