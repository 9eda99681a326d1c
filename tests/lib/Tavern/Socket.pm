# Tavern::Socket: a WebSocket, by hand: sends what it is told to, lawful or not. next() gives one frame { op, text, code, json }
# or undef when the time is up or the connection has ended (`ended`).
package Tavern::Socket;

use strict;
use warnings;

use Carp qw(croak);
use IO::Select;
use IO::Socket::INET;
use JSON::PP;
use Time::HiRes qw(time);

my $json = JSON::PP->new->utf8->allow_nonref;

# new(port => N, path => '/ws', headers => {…}): status is 101, or what the answer says.
sub new {
	my ($class, %option) = @_;
	my %headers = (host => "127.0.0.1:$option{port}", upgrade => 'websocket', connection => 'Upgrade', 'sec-websocket-version' => 13,
		'sec-websocket-key' => 'dGhlIHNhbXBsZSBub25jZQ==', %{ $option{headers} // {} });
	my $self = bless { raw => '' }, $class;

	$self->{socket} = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $option{port}) or croak "connect: $!";
	$self->{socket}->autoflush(1);
	$self->{socket}->print("GET $option{path} HTTP/1.1\r\n", (map { "$_: $headers{$_}\r\n" } sort keys %headers), "\r\n");
	1 while $self->{raw} !~ /\r\n\r\n/ && $self->_fill(10);
	$self->{raw} =~ s/\A(.*?)\r\n\r\n//s or return $self;
	$self->{head} = $1;
	($self->{status}) = $self->{head} =~ m{^HTTP/1\.1 (\d+)};
	return $self;
}

sub status { $_[0]{status} }
sub head { $_[0]{head} }
sub ended { $_[0]{ended} }
sub close { close delete $_[0]{socket} if $_[0]{socket} }

sub send_bytes { my ($self, $bytes) = @_; return $self->{socket}->syswrite($bytes) }

# A frame of a client: FIRST is the first byte, such as 0x81.
sub send_frame {
	my ($self, $first, $payload) = @_;
	my $mask = "\x01\x02\x03\xC8";
	my $n = length $payload;
	my $length = $n < 126 ? pack('C', 0x80 | $n) : $n < 65536 ? pack('Cn', 0xFE, $n) : pack('CQ>', 0xFF, $n);

	return $self->send_bytes(pack('C', $first) . $length . $mask . ($payload ^ substr($mask x ($n / 4 + 1), 0, $n)));
}

sub next {
	my ($self, $timeout) = @_;
	my $until = time + ($timeout // 10);

	while (1) {
		my $frame = $self->_frame;
		return $frame if $frame;
		my $left = $until - time;
		return if $left <= 0 || !$self->_fill($left);
	}
}

# The next event, pings aside.
sub event {
	my ($self, $timeout) = @_;

	while (my $frame = $self->next($timeout)) {
		return $frame->{json} if $frame->{op} == 1;
		return if $frame->{op} == 8;
	}
	return;
}

sub _frame {
	my ($self) = @_;
	my ($first, $n) = unpack 'CC', $self->{raw};
	my $head = 2;

	return unless defined $n;
	if ($n == 126) { ($n, $head) = (unpack('x2 n', $self->{raw}), 4) }
	elsif ($n == 127) { ($n, $head) = (unpack('x2 Q>', $self->{raw}), 10) }
	return if !defined $n || length $self->{raw} < $head + $n;
	my %frame = (op => $first & 15, text => substr($self->{raw}, $head, $n));
	substr $self->{raw}, 0, $head + $n, '';
	$frame{code} = unpack 'n', $frame{text} if $frame{op} == 8;
	$frame{json} = eval { $json->decode($frame{text}) } if $frame{op} == 1 && !$self->{plain};
	return \%frame;
}

sub _fill {
	my ($self, $timeout) = @_;

	return 0 unless $self->{socket} && IO::Select->new($self->{socket})->can_read($timeout);
	return 1 if sysread $self->{socket}, $self->{raw}, 65536, length $self->{raw};
	$self->{ended} = 1;
	return 0;
}

1;
