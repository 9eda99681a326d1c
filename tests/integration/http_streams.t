# Event streams through nginx: form, resuming, leaving clients, slow clients, caps.
use strict;
use warnings;

use Encode ();
use IO::Socket::INET;
use Socket ();
use Tavern::Demo;
use Test::More;
use Time::HiRes qw(sleep time);

my $s = Tavern::Demo->new(workers => 1, conf => { worker_threads_max => 24, worker_threads_reserved => 4, worker_streams_max => 100 });
my $idle = $s->stream('GET', '/stream?chunks=1&ms=60000');    # for the last test
my $began = time;

# Seconds until the worker has noticed N deserted requests in all.
sub noticed {
	my ($n, $left) = @_;

	$s->wait_for("deserted request $n", sub { $s->get('/stats')->{json}{data}{deserted} >= $n }, 5) or return 99;
	return $s->get('/stats')->{json}{data}{deserted_at} / 1000 - $left;
}

subtest 'form' => sub {
	my $e = $s->stream('GET', '/stream?chunks=3&ms=5&size=30');
	my @all = $e->rest;
	my ($text, @ids) = '';

	is $e->status, 200, 'status';
	is $e->header('content-type'), 'text/event-stream; charset=utf-8', 'type';
	is $e->header('cache-control'), 'no-cache, no-transform', 'not cached, not changed';
	like $e->header('x-request-id'), qr/^[-\w]{21}$/, 'request id';
	is_deeply [ map { $_->{event} } @all ], [qw(start reasoning chunk chunk chunk done)], 'events in order';
	is $all[1]{json}{chunk}, 'thinking', 'reasoning apart';
	$text .= $_->{json}{chunk} for grep { $_->{event} eq 'chunk' } @all;
	like $text, qr/^(?:\[t=\d+\]\x{6F22}+){3}$/, 'whole characters only';
	@ids = map { [ split /\./, $_->{id} ] } @all;
	is_deeply $ids[0], [ 1, 0, 0 ], 'first id';
	is $ids[-1][0], 2, 'last id counts the events';
	is $ids[-1][1], do { use bytes; length(my $b = Encode::encode_utf8($text)) }, 'and the bytes of the text';
	ok $e->complete, 'proper end';
	is_deeply $all[-1]{json}, { final_state => 'committed' }, 'the last event';
};

subtest 'resume' => sub {
	my $e = $s->stream('GET', '/stream?chunks=20&ms=10&run=7&keep=true');
	my @first = map { $e->next } 1 .. 6;
	my $last = $first[-1]{id};
	my (@rest, @whole, @late);
	my $text = sub { join '', map { $_->{json}{chunk} } grep { $_->{event} eq 'chunk' } @_ };

	$e->close;
	@rest = $s->stream('GET', '/resume?run=7', undef, headers => { 'last-event-id' => $last })->rest;
	@late = $s->stream('GET', '/resume?run=7')->rest;    # it has ended, and lingers
	is $text->(@first) . $text->(@rest), $text->(@late), 'nothing is missed, nothing comes twice';
	is $rest[-1]{event}, 'done', 'to the end';
	is_deeply [ map { $_->{event} } grep { $_->{event} !~ /chunk/ } @late ], [qw(start reasoning done)], 'a late reader gets all of it';
	is scalar($s->stream('GET', '/resume?run=7', undef, headers => { 'last-event-id' => '9.999999.99999' })->rest), 0, 'a forged id gets the end';
	@whole = $s->stream('GET', '/resume?run=7', undef, headers => { 'last-event-id' => 'nonsense' })->rest;
	is $whole[0]{event}, 'start', 'nonsense is no id';
	@rest = $s->stream('GET', '/resume?run=8')->rest;
	is_deeply [ map { $_->{event}, $_->{json}{code} } @rest ], [ 'error', 'not_found' ], 'a refusal on a stream route is one event';
};

subtest 'many readers' => sub {
	my $e = $s->stream('GET', '/stream?chunks=30&ms=10&run=9&keep=true');
	my @r = map { $s->stream('GET', '/resume?run=9') } 1 .. 10;
	my @texts = map { join '', map { $_->{json}{chunk} // " $_->{event} " } $_->rest } @r;

	is scalar(grep { $_ eq $texts[0] } @texts), 10, 'ten of them read the same';
	like $texts[0], qr/ done $/, 'to the end';
};

subtest 'leaving' => sub {
	my $before = $s->get('/stats')->{json}{data}{deserted};
	my $e = $s->stream('GET', '/stream?chunks=1000&ms=20');
	my ($left, $c);

	$e->next for 1 .. 5;
	$left = time;
	$e->close;
	cmp_ok noticed($before + 1, $left), '<', 0.1, 'a stream notices within 100 ms';
	$e = $s->stream('GET', '/stream?chunks=1&ms=60000');
	$e->next;
	$left = time;
	$e->close;
	cmp_ok noticed($before + 2, $left), '<', 0.1, 'also when nothing is said';
	$c = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $s->port);
	print {$c} "GET /slow?ms=20000 HTTP/1.1\r\nHost: x\r\n\r\n";
	sleep 0.2;
	$left = time;
	close $c;
	cmp_ok noticed($before + 3, $left), '<', 0.1, 'a plain request too';
	$s->wait_for('the threads to be free', sub { $s->get('/stats')->{json}{data}{longs} <= 1 }, 3);
	is $s->get('/stats')->{json}{data}{longs}, 1, 'nothing but the idle stream is left';
};

subtest 'a slow client' => sub {
	my $c = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $s->port);
	my ($n, $t0, $rss, $part) = (0, time);
	my ($pid) = $s->workers;
	my $size = sub { open my $f, '<', "/proc/$pid/status"; join('', <$f>) =~ /VmRSS:\s+(\d+)/; $1 };

	setsockopt $c, Socket::SOL_SOCKET(), Socket::SO_RCVBUF(), 65536;
	print {$c} "GET /stream?chunks=1000&ms=1&size=3000 HTTP/1.1\r\nHost: x\r\n\r\n";
	sysread $c, $part, 100;
	$rss = $size->();
	my @all = $s->stream('GET', '/stream?chunks=50&ms=10')->rest;
	is $all[-1]{event}, 'done', 'does not hold up another';
	cmp_ok time - $t0, '<', 2, 'in any way';
	sleep 0.8;
	cmp_ok $size->() - $rss, '<', 8000, 'nor does what it has not read pile up';    # the text itself is three megabytes
	while (my $got = sysread $c, $part, 65536) {
		$n += $got;
		last if $part =~ /event: done/;
	}
	cmp_ok $n, '>', 3_000_000, 'it gets everything in the end';
};

subtest 'caps' => sub {
	my @e = map { $s->stream('GET', '/stream?chunks=1000&ms=50') } 1 .. 19;    # 24 threads, 4 reserved, 1 taken
	my $r;

	$_->next for @e;
	$r = $s->stream('GET', '/stream?chunks=1');
	is $r->status, 503, 'one more is refused';
	is $r->json->{error}{code}, 'overloaded', 'by name';
	ok $r->header('retry-after'), 'with Retry-After';
	is $s->get('/slow?ms=1')->{status}, 503, 'so is a long plain request';
	is $s->get('/ping')->{status}, 200, 'short ones are served';
	cmp_ok $s->get('/stats')->{json}{data}{refused}, '>=', 2, 'and counted';
	$_->close for @e;
	$s->wait_for('places', sub { $s->get('/stats')->{json}{data}{longs} == 1 }, 5);
	is $s->get('/slow?ms=1')->{status}, 200, 'places are given back';
};

subtest 'a quiet stream' => sub {
	my $wait = 16.5 - (time - $began);

	$idle->next for 1 .. 3;
	$idle->next($wait) if $wait > 0;
	is $idle->comments, 1, 'says a comment every 15 s';
	$idle->close;
};

done_testing;
