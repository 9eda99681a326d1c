# Tavern::Stack: a private stack for one test file: PostgreSQL (a database of the cluster that tests/prove started, or a
# cluster of its own), workers, nginx and the mock model server, in a temporary directory and on loopback ports that no
# other test has. Whatever it started is stopped at the end, by pid; a worker that ends with a fault or a sanitizer's
# report fails the file. Perl's core modules only. See tests/README.md.
package Tavern::Stack;

use strict;
use warnings;

use Carp qw(croak);
use Cwd qw(abs_path);
use Errno qw(EINTR);
use Fcntl qw(:flock);
use File::Basename qw(dirname);
use File::Path qw(remove_tree);
use File::Temp qw(tempdir);
use HTTP::Tiny;
use IO::Socket::INET;
use JSON::PP;
use POSIX qw(:sys_wait_h);
use Socket qw(IPPROTO_TCP TCP_NODELAY);
use Tavern::Stream;
use Time::HiRes qw(sleep time);

my $top = abs_path(dirname(__FILE__) . '/../../..');
my $stack = "$top/scripts/stack.sh";
my $json = JSON::PP->new->utf8->canonical->allow_nonref;
my @ports = (18000 .. 19999);
my @stacks;
my $main = $$;

$ENV{LC_ALL} = 'C.UTF-8';
$ENV{TZ} = 'UTC';
$ENV{no_proxy} = $ENV{NO_PROXY} = '127.0.0.1,localhost';

# HTTP::Tiny writes head and body apart: without this the body of each request waits 40 ms for the acknowledgement of its head.
{
	my $connect = \&HTTP::Tiny::Handle::connect;
	no warnings 'redefine';
	*HTTP::Tiny::Handle::connect = sub {
		my $handle = $connect->(@_);
		setsockopt $handle->{fh}, IPPROTO_TCP, TCP_NODELAY, 1;
		return $handle;
	};
}

# new(OPTION => VALUE…) starts everything and returns when /health answers 200. Options:
#   workers  worker processes (2)
#   conf     { key => value } of tavernd.conf; undef takes a key out
#   own_pg   a PostgreSQL of its own, for tests that end it (0); pg_settings [NAME=VALUE…] of it
#   mock     the mock model server, and the settings that lead to it (1)
#   mock_args  [ARG…] of mockllm; the default replies at once: -n 5 -i 1
#   jobd     the runner of jobs, too (0)
#   eventd   the teller of events, too (0)
#   start    0 = only prepare; start() later
sub new {
	my ($class, %option) = @_;
	my $self = bless {
		workers => 2, mock => 1, start => 1, own_pg => 0, pg_settings => [], conf => {}, mock_args => ['-n', 5, '-i', 1], %option,
		pid => {}, lock => [],
	}, $class;

	$self->{app} = $ENV{TAVERN_APP} // croak 'TAVERN_APP: run the tests through tests/prove';
	$self->{tools} = $ENV{TAVERN_TOOLS} // croak 'TAVERN_TOOLS: run the tests through tests/prove';
	$self->{dir} = tempdir('tavern-XXXXXX', DIR => $ENV{TAVERN_RUN} // '/tmp');
	push @stacks, $self;
	_run('bash', $stack, 'dirs', $self->{dir});
	$self->{port} = $self->free_port;
	$self->_database;
	$self->_mock if $self->{mock};
	$self->configure;
	$self->start if $self->{start};
	return $self;
}

sub url { "http://127.0.0.1:$_[0]{port}" . ($_[1] // '') }
sub port { $_[0]{port} }
sub dir { $_[0]{dir} }
sub mock_url { "http://127.0.0.1:$_[0]{mock_port}" . ($_[1] // '') }

# --- life ---

sub start {
	my ($self) = @_;

	$self->start_postgres if $self->{own_pg} && !$self->{pid}{postgres};
	$self->_spawn('tavernd', 'bash', $stack, 'tavernd', $self->{dir}, $self->{app});
	$self->start_jobd if $self->{jobd};
	$self->start_eventd if $self->{eventd};
	$self->_spawn('nginx', 'bash', $stack, 'nginx', $self->{dir}) unless $self->{pid}{nginx};
	$self->wait_for('the stack to answer', sub { $self->alive('tavernd') && $self->get('/health')->{status} == 200 }, $self->{start_seconds} // 20)
		or croak "the stack does not start:\n" . $self->log('tavernd') . $self->log('nginx');
	return $self;
}

# Ends the workers in order and returns the master's exit status (wait status as in $?).
sub stop_tavernd { $_[0]->_end('tavernd', 'TERM', $_[1] // 30) }

# The teller of events; it answers once its socket is there.
sub start_eventd {
	my ($self) = @_;

	$self->_spawn('eventd', 'bash', $stack, 'eventd', $self->{dir}, $self->{app});
	return $self->wait_for('eventd', sub { $self->get('/events?session_id=none')->{status} != 503 }, 20);
}

sub stop_eventd { my ($self, $signal) = @_; return $self->_end('eventd', $signal // 'TERM', 30) }

# The runner of jobs; new(jobd => 1) starts it with the stack. Several may run: NAME tells them apart.
sub start_jobd { my ($self, $name) = @_; $self->_spawn($name // 'jobd', 'bash', $stack, 'jobd', $self->{dir}, $self->{app}) }

# TERM ends it in order, KILL is a crash.
sub stop_jobd { my ($self, $signal, $name) = @_; return $self->_end($name // 'jobd', $signal // 'TERM', 30) }

sub stop_nginx { $_[0]->_end('nginx', 'TERM', 10) }

# door(SLOT): the port of a web server that leads to one worker only, for requests and streams with port => PORT.
sub door {
	my ($self, $slot) = @_;

	return $self->{door}{$slot} //= do {
		my ($port, $text) = ($self->free_port, _slurp("$self->{dir}/nginx.conf"));
		$text =~ s/^\t\tserver unix:\S+\/w(?!$slot\.)\d+\.sock.*\n//mg;
		$text =~ s/(listen 127\.0\.0\.1:)\d+/$1$port/;
		$text =~ s/nginx\.pid/door$slot.pid/;
		open my $fh, '>', "$self->{dir}/door$slot.conf" or croak "door$slot.conf: $!";
		print {$fh} $text;
		close $fh;
		$self->_spawn("door$slot", 'bash', $stack, 'nginx', $self->{dir}, "door$slot.conf");
		$self->wait_for("door $slot", sub { IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port) }) or croak "door $slot does not open";
		$port;
	};
}

sub start_postgres {
	my ($self) = @_;
	my $pid;

	my $begin = sub {
		$self->_spawn('postgres', 'bash', $stack, 'postgres', $self->{dir}, 'fsync=off', @{ $self->{pg_settings} });
		$pid = $self->{pid}{postgres};
	};
	$begin->();
	$self->wait_for('PostgreSQL', sub {
		$begin->() if waitpid($pid, WNOHANG) == $pid;    # what was killed may still have processes: it refuses, and is begun again
		return _slurp("$self->{dir}/pg/postmaster.pid") =~ /\A$pid\n.*^ready *$/ms;
	}, 60)
		or croak "PostgreSQL does not start:\n" . $self->log('postgres');
}

# KILL is a crash: it recovers at the next start_postgres.
sub kill_postgres {
	my ($self, $signal) = @_;

	croak 'the cluster is shared: new(own_pg => 1)' unless $self->{own_pg};
	return $self->_end('postgres', $signal // 'KILL', 30);
}

# replica(PORT): a streaming replica of our cluster in the same directory of sockets, which follows; returns its directory
# and that of the sockets. promote() makes it the primary that sql and the harness talk to.
sub replica {
	my ($self, $port) = @_;
	my ($dir, $run) = ("$self->{dir}/replica", abs_path("$self->{dir}/run"));

	open my $hba, '>>', "$self->{dir}/pg/pg_hba.conf" or croak "pg_hba.conf: $!";
	print {$hba} "local replication all trust\n";
	close $hba;
	$self->sql('SELECT pg_reload_conf()');
	_run('bash', $stack, 'replica', $self->{dir}, $dir, $port);
	$self->{replica} = { dir => $dir, port => $port };
	$self->_spawn('replica', 'bash', $stack, 'postgres', $dir, 'fsync=off', "port=$port", "unix_socket_directories=$run");
	return ($dir, $run);
}

sub promote {
	my ($self) = @_;

	$self->{pid}{postgres} = delete $self->{pid}{replica};
	$self->{pg_port} = $self->{replica}{port};
	$self->sql('SELECT pg_promote()');
	$self->sql('ALTER SYSTEM RESET ALL');
	$self->sql('SELECT pg_reload_conf()');
}

sub kill_mock { $_[0]->_end('mock', $_[1] // 'KILL', 10) }

sub start_mock { $_[0]->_mock }

# The worker processes that the master has now, old generations that still drain included.
sub workers {
	my ($self) = @_;
	my $pid = $self->{pid}{tavernd} or return;

	open my $fh, '<', "/proc/$pid/task/$pid/children" or return;
	return split ' ', (<$fh> // '');
}

sub master { $_[0]{pid}{tavernd} }

# The process that serves a slot's socket since the last start or reload, or undef while there is none.
sub worker_of {
	my ($self, $slot) = @_;
	my @pids = $self->log('tavernd') =~ m{ worker\.started [^\n]*worker=\S+-$slot pid=(\d+)}g;

	return @pids && kill(0, $pids[-1]) ? $pids[-1] : undef;
}

sub kill_worker {
	my ($self, $signal, $pid) = @_;

	($pid) = $self->workers unless $pid;
	return kill($signal // 'KILL', $pid);
}

sub reload { kill 'HUP', $_[0]{pid}{tavernd} }

# Changes settings (undef takes one out); the daemon sees them at its next start or reload.
sub configure {
	my ($self, %change) = @_;
	my %conf = %{ $self->{conf} };
	my @conf;

	@conf{ keys %change } = values %change;
	$self->{conf} = \%conf;
	if ($self->{mock}) {
		my %model = (llm_provider => 'openai-compatible', llm_base_url => $self->mock_url('/v1'),
			llm_model => 'mock-1', llm_api_key => 'sk-mock', allow_private_base_url => 'true', llm_max_retries => 0);
		%conf = (%model, %conf);
	}
	@conf = map { "$_ = $conf{$_}" } grep { defined $conf{$_} } sort keys %conf;
	_run('bash', $stack, 'conf', $self->{dir}, $self->{pg_dir}, $self->{database}, $self->{workers}, @conf);
	_run('bash', $stack, 'nginx_conf', $self->{dir}, $self->{port}, $self->{workers}, $self->{app});
	return $self;
}

# tavernctl(ARG…): (exit status, output of both streams).
sub tavernctl { my $self = shift; return _output('bash', $stack, 'tavernctl', $self->{dir}, $self->{app}, @_) }

# tavernd(ARG…), such as -t: (exit status, output).
sub tavernd { my $self = shift; return _output("$self->{app}/sbin/tavernd", @_, '-c', "$self->{dir}/tavernd.conf") }

sub alive {
	my ($self, $name) = @_;
	my $pid = $self->{pid}{$name} or return 0;

	return waitpid($pid, WNOHANG) == 0;
}

sub log {
	my ($self, $name) = @_;

	return _slurp("$self->{dir}/log/$name.log");
}

sub _slurp {
	my ($file) = @_;

	open my $fh, '<', $file or return '';
	local $/;
	return <$fh> // '';
}

# Tries until CODE is true or SECONDS are over; returns what it returned.
sub wait_for {
	my ($self, $what, $code, $seconds) = @_;
	my $until = time + ($seconds // 10);

	while (1) {
		my $value = $code->();
		return $value if $value;
		if (time > $until) {
			warn "waited in vain for $what\n";
			return;
		}
		sleep 0.02;
	}
}

# --- HTTP ---

# Each returns { status, headers, raw, json }; json is undef when the answer is no JSON. A body is a structure to send as
# JSON, or a text to send as it is. Options: headers => {…}, type => content type of a text, port => of another door.
sub get { my ($self, $path, %o) = @_; return $self->request('GET', $path, undef, %o) }
sub del { my ($self, $path, %o) = @_; return $self->request('DELETE', $path, undef, %o) }
sub post { my ($self, $path, $body, %o) = @_; return $self->request('POST', $path, $body, %o) }
sub put { my ($self, $path, $body, %o) = @_; return $self->request('PUT', $path, $body, %o) }
sub patch { my ($self, $path, $body, %o) = @_; return $self->request('PATCH', $path, $body, %o) }

sub request {
	my ($self, $method, $path, $body, %option) = @_;
	my %headers = (%{ $self->{headers} // {} }, %{ $option{headers} // {} });
	my ($answer, $value);

	$self->{http} //= HTTP::Tiny->new(timeout => 60, max_redirect => 0);
	if (defined $body) {
		$headers{'content-type'} //= $option{type} // 'application/json';
		$body = $json->encode($body) if ref $body;
	}
	$answer = $self->{http}->request($method, $option{port} ? "http://127.0.0.1:$option{port}$path" : $self->url($path), { headers => \%headers, defined $body ? (content => $body) : () });
	$value = eval { $json->decode($answer->{content}) } if ($answer->{headers}{'content-type'} // '') =~ m{^application/json};
	return { status => $answer->{status}, headers => $answer->{headers}, raw => $answer->{content}, json => $value };
}

# A streamed answer while it comes: see Tavern::Stream.
sub stream {
	my ($self, $method, $path, $body, %option) = @_;
	my %headers = (%{ $self->{headers} // {} }, %{ $option{headers} // {} });

	$body = $json->encode($body) if ref $body;
	return Tavern::Stream->new(port => $option{port} // $self->{port}, method => $method, path => $path, body => $body, headers => \%headers, plain => $option{plain});
}

# What the mock model server saw: { active, started, completed, aborted, chunks, last_body_bytes }.
sub mock_stats { $json->decode(HTTP::Tiny->new(timeout => 10)->get($_[0]->mock_url('/stats'))->{content}) }

# How often each model was asked, by its name before '?': { NAME => [calls, pieces sent] }.
sub mock_calls { $json->decode(HTTP::Tiny->new(timeout => 10)->get($_[0]->mock_url('/calls'))->{content}) }

# The last request that reached it, decoded.
sub mock_last_head { HTTP::Tiny->new(timeout => 10)->get($_[0]->mock_url('/last-head'))->{content} }
sub mock_last { $json->decode(HTTP::Tiny->new(timeout => 10)->get($_[0]->mock_url('/last'))->{content}) }

# --- database ---

# sql(TEXT, NAME => VALUE…) as the superuser; :'NAME' in the text is the quoted value. The rows as array references; in
# scalar context the first field of the first row.
sub sql {
	my ($self, $text, %value) = @_;
	my $bin = $self->_pg_bin;
	my @set = map { ('-v', "$_=$value{$_}") } sort keys %value;
	my ($status, $out) = _output_of($text, "$bin/psql", '-X', '-q', '-A', '-t', '-F', "\x1f", '-v', 'ON_ERROR_STOP=1',
		@set, '-h', $self->{pg_socket}, '-p', $self->{pg_port} // 5432, '-U', 'postgres', '-d', $self->{database}, '-f', '-');
	my @rows;

	croak "sql: $out" if $status != 0;
	@rows = map { [split /\x1f/, $_, -1] } split /\n/, $out;
	return wantarray ? @rows : @rows ? $rows[0][0] : undef;
}

# The rows of tests/lib/invariants.sql, one text for each violation; none is good. Runs of a worker that was killed may still
# wait for the sweeper: their leases may be over for GRACE milliseconds (10000).
sub invariants {
	my ($self, $grace) = @_;
	my $text = _slurp("$top/tests/lib/invariants.sql") or croak 'tests/lib/invariants.sql is not there';

	return map { join ': ', @$_[0, 2] } $self->sql($text, grace => $grace // 10_000);
}

# A session of psql that stays open: the code it gives takes statements, and undef to end it.
sub psql_open {
	my ($self) = @_;
	my $bin = $self->_pg_bin;

	open my $to, '|-', "$bin/psql", '-X', '-q', '-o', '/dev/null', '-h', $self->{pg_socket}, '-U', 'postgres', '-d', $self->{database} or croak "psql: $!";
	$to->autoflush(1);
	return sub {
		my ($text) = @_;

		return close $to unless defined $text;
		print {$to} "$text\n";
		sleep 0.3;
	};
}

# --- inside ---

sub _database {
	my ($self) = @_;

	if (defined $ENV{TAVERN_PG} && !$self->{own_pg}) {
		$self->{pg_dir} = $ENV{TAVERN_PG};
		$self->{pg_socket} = abs_path("$self->{pg_dir}/run");
		$self->{database} = 'postgres';
		my $name = "t_$$" . '_' . scalar @stacks;
		$self->sql(q{CREATE DATABASE :"name" TEMPLATE tavern}, name => $name);
		$self->{database} = $name;
		return;
	}
	$self->{own_pg} = 1;
	$self->{pg_dir} = $self->{dir};
	$self->{pg_socket} = abs_path("$self->{dir}/run");
	$self->{database} = 'tavern';
	if (defined $ENV{TAVERN_PG_TEMPLATE}) {
		_run('cp', '-a', $ENV{TAVERN_PG_TEMPLATE}, "$self->{dir}/pg");
		return $self->start_postgres;
	}
	_run('bash', $stack, 'initdb', $self->{dir}, '--no-sync');
	$self->start_postgres;
	_run('bash', $stack, 'database', $self->{dir}, 'tavern');
	_run('bash', $stack, 'conf', $self->{dir}, $self->{pg_dir}, $self->{database}, $self->{workers});
	my ($status, $out) = $self->tavernctl('migrate');
	croak "the migration failed: $out" if $status != 0;
}

sub _mock {
	my ($self) = @_;

	$self->{mock_port} //= $self->free_port;
	$self->_spawn('mock', 'setpriv', '--pdeathsig', 'KILL', "$self->{tools}/mockllm", '-l', "127.0.0.1:$self->{mock_port}",
		@{ $self->{mock_args} });
	$self->wait_for('the mock model', sub { IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $self->{mock_port}) })
		or croak 'the mock model server does not start';
}

# free_port(): a loopback port. The lock keeps other tests away while this object lives, the bind shows that nobody else has it.
sub free_port {
	my ($self) = @_;

	while (defined(my $port = shift @ports)) {
		open my $lock, '>>', "/tmp/tavernd-port-$port.lock" or next;
		flock $lock, LOCK_EX | LOCK_NB or next;
		IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $port, Listen => 1, ReuseAddr => 1) or next;
		push @{ $self->{lock} }, $lock;
		return $port;
	}
	croak 'no free port';
}

sub _pg_bin {
	my ($self) = @_;
	our $bin;

	unless ($bin) {
		(undef, $bin) = _output('bash', $stack, 'pg_bin');
		chomp $bin;
	}
	return $bin;
}

sub _spawn {
	my ($self, $name, @command) = @_;
	my $pid = fork // die "fork: $!";

	if ($pid == 0) {
		open STDIN, '<', '/dev/null';
		open STDOUT, '>>', "$self->{dir}/log/$name.log" or POSIX::_exit(126);
		open STDERR, '>&', \*STDOUT;
		{ no warnings 'exec'; exec { $command[0] } @command; }
		POSIX::_exit(127);
	}
	$self->{pid}{$name} = $pid;
}

# Signals a process, waits for its end, kills it after SECONDS. Returns the wait status.
sub _end {
	my ($self, $name, $signal, $seconds) = @_;
	my $pid = delete $self->{pid}{$name} or return;
	my $until = time + $seconds;

	kill $signal, $pid;
	while (waitpid($pid, WNOHANG) == 0) {
		if (time > $until) {
			warn "$name does not end: killed\n";
			kill 'KILL', $pid;
			waitpid $pid, 0;
			last;
		}
		sleep 0.01;
	}
	return $?;
}

sub _run {
	my ($status, $out) = _output(@_);

	croak "@_[1 .. $#_]: $out" if $status != 0;
	return $out;
}

sub _output { return _output_of('', @_) }

# Runs a command with a text as its input: (exit status, output of both streams).
sub _output_of {
	my ($input, @command) = @_;
	my $in = File::Temp->new;
	my ($out, $pid);

	print {$in} $input;
	$in->flush;
	seek $in, 0, 0;
	$pid = open my $fh, '-|';
	defined $pid or die "fork: $!";
	if ($pid == 0) {
		open STDIN, '<&', $in;
		open STDERR, '>&', \*STDOUT;
		{ no warnings 'exec'; exec { $command[0] } @command; }
		POSIX::_exit(127);
	}
	{ local $/; $out = <$fh> // ''; }
	close $fh;
	return ($? >> 8 || $? & 127, $out);
}

# Stops everything; true when the workers ended well and no sanitizer said anything.
sub finish {
	my ($self) = @_;
	my ($status, $log, $good);

	return 1 if $self->{finished}++;
	$self->stop_nginx;
	$self->_end($_, 'TERM', 30) for grep { /^(?:jobd|eventd)/ } keys %{ $self->{pid} };
	$status = $self->stop_tavernd;
	$self->_end('mock', 'KILL', 10);
	$self->_end($_, 'INT', 30) for qw(replica postgres);
	$log = $self->log('tavernd') . $self->log('jobd') . $self->log('eventd');
	$good = !$status && $log !~ /ERROR: \w+Sanitizer|WARNING: \w+Sanitizer|runtime error:/;
	if (!$good) {
		warn 'tavernd ended with ' . ($status >> 8 ? 'status ' . ($status >> 8) : 'signal ' . ($status & 127)) . "\n" if $status;
		warn "last lines of its log:\n" . join('', (split /^/, $log)[-40 .. -1]) if $log =~ /\n(?:.*\n){40}/;
		warn $log unless $log =~ /\n(?:.*\n){40}/;
	}
	if ($good && !$ENV{TAVERN_KEEP}) {
		my $run = readlink "$self->{dir}/run";
		remove_tree($run) if $run;
		remove_tree($self->{dir});
	} else {
		warn "kept: $self->{dir}\n";
	}
	return $good;
}

END {
	if ($$ == $main) {
		my $status = $?;

		for my $s (reverse @stacks) {
			$s->finish or $status ||= 1;
		}
		$? = $status;
	}
}

1;
