# What nginx answers itself: the page /docs, refusals in the API's envelope, and nothing beyond loopback.
use strict;
use warnings;

use Test::More;
use IO::Socket::INET;
use Tavern::Stack;

my $s = Tavern::Stack->new;

sub raw {
	my ($text) = @_;
	my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $s->port, Timeout => 10) or die $!;

	$socket->print($text);
	local $/;
	return scalar <$socket>;
}

subtest 'the page /docs' => sub {
	my $r = $s->get('/docs');

	is($r->{status}, 301, '/docs leads on');
	is($r->{headers}{location}, '/docs/', 'by a path, which is right behind any proxy');
	$r = $s->get('/docs/');
	is($r->{status}, 200, 'the page is there');
	like($r->{raw}, qr{href="/openapi\.json"}, 'and useful without scripts');
	like($r->{headers}{'content-security-policy'}, qr/default-src 'self'/, 'loads nothing from elsewhere');
	is($s->get('/docs/docs.js')->{status}, 200, 'its script');
	$r = $s->get('/docs/none');
	is($r->{status}, 404, 'an unknown page');
	is($r->{json}{error}{code}, 'not_found', 'in the envelope');
	is($s->get('/docs/..%2f..%2fetc/passwd')->{status} >= 400, 1, 'no way out of the directory');
};

subtest 'refusals of nginx wear the envelope' => sub {
	my $r;

	like(raw("POST /import/preset HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 70000000\r\nConnection: close\r\n\r\n"),
		qr/^HTTP\S+ 413 .*"code":"payload_too_large"/s, 'a body above every limit, before it is sent');
	$r = $s->get('/health', headers => { 'x-long' => 'x' x 20000 });
	is($r->{status}, 431, 'a header above every limit');
	is($r->{json}{error}{code}, 'header_too_large', 'code');
	like(raw("GET /health HTTP/1.1\r\n\r\n"), qr/"code":"bad_request"/, 'no host');
};

subtest 'no worker' => sub {
	my $r;

	kill 'KILL', $s->master, $s->workers;
	$s->wait_for('the end of the workers', sub { !$s->alive('tavernd') });
	$r = $s->get('/health');
	is($r->{status}, 503, '503 instead of 502');
	is($r->{json}{error}{code}, 'service_unavailable', 'in the envelope');
	ok($r->{headers}{'retry-after'}, 'says when to come again');
	delete $s->{pid}{tavernd};
	unlink glob($s->dir . '/run/*.sock');
	$s->start;
	is($s->get('/health')->{status}, 200, 'and is well again with the workers');
};

subtest 'only loopback' => sub {
	open my $fh, '-|', 'ss', '-Hltn' or plan skip_all => 'no ss';
	my @ours = grep { /:@{[ $s->port ]}\b/ } <$fh>;

	ok(@ours, 'listens');
	unlike($_, qr/(?:0\.0\.0\.0|\*|\[::\]):@{[ $s->port ]}/, 'on loopback') for @ours;
};

done_testing;
