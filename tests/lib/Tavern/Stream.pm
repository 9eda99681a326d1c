# Tavern::Stream: a server-sent event stream, read while it comes. new() sends the request; next() gives one event
# { event, id, data, json, at } (at: seconds of Time::HiRes) or undef at the end or when the time is up; close() leaves early.
# plain => 1: json is left out, for megabytes.
package Tavern::Stream;

use strict;
use warnings;

use Carp qw(croak);
use IO::Select;
use IO::Socket::INET;
use JSON::PP;
use Time::HiRes qw(time);

my $json = JSON::PP->new->utf8->allow_nonref;

sub new {
	my ($class, %option) = @_;
	my $body = $option{body} // '';
	my %headers = (host => "127.0.0.1:$option{port}", accept => 'text/event-stream', %{ $option{headers} });
	my $self = bless { raw => '', text => '', events => [], comments => 0, began => time, plain => $option{plain} }, $class;

	$headers{'content-type'} //= 'application/json' if length $body;
	$headers{'content-length'} = length $body if length $body || $option{method} ne 'GET';
	$self->{socket} = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $option{port}) or croak "connect: $!";
	$self->{socket}->autoflush(1);
	$self->{socket}->print("$option{method} $option{path} HTTP/1.1\r\n",
		(map { "$_: $headers{$_}\r\n" } sort keys %headers), "\r\n", $body);
	$self->_head($option{timeout} // 60);
	return $self;
}

sub status { $_[0]{status} }
sub header { $_[0]{headers}{ lc $_[1] } }
sub comments { $_[0]{comments} }       # heartbeats so far
sub complete { $_[0]{complete} }       # the answer came to its proper end
sub first_byte { $_[0]{first} && $_[0]{first} - $_[0]{began} }

# The whole of what has come so far of an answer that is no event stream, decoded.
sub json {
	my ($self) = @_;

	1 while $self->_fill(10);
	return eval { $json->decode($self->{text}) };
}

sub next {
	my ($self, $timeout) = @_;
	my $until = time + ($timeout // 30);

	until (@{ $self->{events} }) {
		my $left = $until - time;
		return if $left <= 0 || !$self->_fill($left);
		$self->_events;
	}
	return shift @{ $self->{events} };
}

# All events to the end; stops early after one that CODE accepts, if given.
sub rest {
	my ($self, $code) = @_;
	my @all;

	while (my $event = $self->next) {
		push @all, $event;
		last if $code && $code->($event);
	}
	return @all;
}

sub close {
	my ($self) = @_;

	$self->{socket}->close if $self->{socket};
	delete $self->{socket};
}

sub _read {
	my ($self, $timeout) = @_;
	my $n;

	return 0 unless $self->{socket} && IO::Select->new($self->{socket})->can_read($timeout);
	$n = sysread $self->{socket}, $self->{raw}, 65536, length $self->{raw};
	if (!$n) {
		$self->{complete} = 1 if $self->{until_close} && defined $n;
		$self->close;
		return 0;
	}
	$self->{first} //= time if $self->{status};
	return 1;
}

sub _head {
	my ($self, $timeout) = @_;

	while ($self->{raw} !~ /\r\n\r\n/) {
		$self->_read($timeout) or return;
	}
	$self->{raw} =~ s/\A(.*?)\r\n\r\n//s;
	my ($line, @lines) = split /\r\n/, $1;
	($self->{status}) = $line =~ m{^HTTP/1\.1 (\d+)};
	$self->{headers} = { map { /^([^:]+):\s*(.*)$/ ? (lc $1, $2) : () } @lines };
	$self->{chunked} = ($self->{headers}{'transfer-encoding'} // '') eq 'chunked';
	$self->{until_close} = !$self->{chunked} && !defined $self->{headers}{'content-length'};
	$self->{first} //= time if length $self->{raw};
	$self->_body;
	$self->_events if ($self->{headers}{'content-type'} // '') =~ m{^text/event-stream};    # all of it may have come at once
}

# Moves what has come from raw to text, without the framing of chunks.
sub _body {
	my ($self) = @_;

	if (!$self->{chunked}) {
		$self->{got} += length $self->{raw};
		$self->{text} .= $self->{raw};
		$self->{raw} = '';
		if (!$self->{until_close} && $self->{got} >= $self->{headers}{'content-length'}) {
			$self->{complete} = 1;
			$self->close;
		}
		return;
	}
	while ($self->{raw} =~ /\A([0-9a-fA-F]+)[^\r\n]*\r\n/) {
		my ($size, $head) = (hex $1, $+[0]);
		last if length($self->{raw}) < $head + $size + 2;
		$self->{text} .= substr $self->{raw}, $head, $size;
		substr $self->{raw}, 0, $head + $size + 2, '';
		if ($size == 0) {
			$self->{complete} = 1;
			$self->close;
			return;
		}
	}
}

sub _fill {
	my ($self, $timeout) = @_;

	$self->_read($timeout) or return 0;
	$self->_body;
	return 1;
}

sub _events {
	my ($self) = @_;

	while ($self->{text} =~ s/\A(.*?)\n\n//s) {
		my %event = (event => 'message', at => time);
		my @data;

		for my $line (split /\n/, $1) {
			if ($line =~ /^:/) {
				$self->{comments}++;
			} elsif ($line =~ /^(event|id): ?(.*)$/) {
				$event{$1} = $2;
			} elsif ($line =~ /^data: ?(.*)$/) {
				push @data, $1;
			}
		}
		next unless @data;
		$event{data} = join "\n", @data;
		$event{json} = eval { $json->decode($event{data}) } unless $self->{plain};
		push @{ $self->{events} }, \%event;
	}
}

1;
