# Requests through nginx: what is answered, what is refused and in which order.
use strict;
use warnings;

use IO::Socket::INET;
use JSON::PP;
use Tavern::Demo;
use Test::More;
use Time::HiRes qw(sleep time);

my $s = Tavern::Demo->new(conf => { cors_origins => 'http://one.example, http://two.example' });

sub error_is {
	my ($answer, $status, $code, $name) = @_;

	is "$answer->{status} " . ($answer->{json}{error}{code} // 'no code'), "$status $code", $name;
	like $answer->{headers}{'content-type'}, qr{^application/json}, "$name: in the envelope";
}

# A raw request: the whole answer as text.
sub raw {
	my ($text, $body) = @_;
	my $c = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $s->port) or die "connect: $!";

	print {$c} "$text\r\nHost: x\r\nConnection: close\r\n\r\n", $body // '';
	local $/;
	return <$c> // '';
}

subtest 'answers' => sub {
	my $r = $s->get('/ping');

	is $r->{status}, 200, 'status';
	is_deeply $r->{json}, { data => { pong => JSON::PP::true } }, 'data in the envelope';
	is $r->{headers}{vary}, 'Origin', 'vary';
	like $r->{headers}{'x-request-id'}, qr/^[-0-9A-Z_a-z]{21}$/, 'a request id of ours';
	is $s->get('/ping', headers => { 'x-request-id' => 'abc-1.2_3' })->{headers}{'x-request-id'}, 'abc-1.2_3', 'a sane one of the client';
	isnt $s->get('/ping', headers => { 'x-request-id' => 'a b' })->{headers}{'x-request-id'}, 'a b', 'no other';
	isnt $s->get('/ping', headers => { 'x-request-id' => 'x' x 65 })->{headers}{'x-request-id'}, 'x' x 65, 'no long one';
	$r = $s->post('/echo', { text => "漢 \x{1F375} \"\\", times => 3 });
	is $r->{status}, 201, 'status of the row';
	is_deeply $r->{json}{data}, { text => "漢 \x{1F375} \"\\", times => 3 }, 'text comes back whole';
	is $s->post('/echo', { text => 'x' })->{json}{data}{times}, 1, 'default filled in';
	$r = $s->post('/items/a%2Fb%20c/touch');
	is $r->{status} . ':' . ($r->{raw} // ''), '204:', 'no content';
	is $s->get('/items/a%2Fb%20c')->{json}{data}{id}, 'a/b c', 'parameter decoded';
	$r = $s->request('HEAD', '/ping');
	is "$r->{status} $r->{headers}{'content-length'} '" . ($r->{raw} // '') . "'", q{200 22 ''}, 'HEAD is GET without the body';
	$r = $s->get('/big?bytes=5000000');
	is length $r->{raw}, 5000000, 'five megabytes';
	is substr($r->{raw}, 4999990), substr('abcdefghijklmnopqrstuvwxyz' x 3, 4999990 % 26, 10), 'to the last byte';
	is $r->{headers}{'content-disposition'}, q{attachment; filename="big __.bin"; filename*=UTF-8''big%20%C3%A9.bin}, 'file name';
};

subtest 'bodies' => sub {
	my $body = join '', map { chr($_ % 256) } 1 .. 20000;
	my $sum = 0;
	my $r;

	$body x= 500;    # ten million bytes
	$r = $s->post('/bytes', $body, type => 'application/octet-stream');
	is $r->{json}{data}{bytes}, length $body, 'ten megabytes arrive';
	$sum = ($sum * 31 + ord) % 2**32 for split //, substr $body, 0, 200000;
	is $s->post('/bytes', substr($body, 0, 200000), type => 'x/y')->{json}{data}{sum}, $sum, 'byte for byte';
	$r = raw('POST /bytes HTTP/1.1' . "\r\nContent-Type: a/b\r\nTransfer-Encoding: chunked", "5\r\nhello\r\n3\r\nabc\r\n0\r\n\r\n");
	like $r, qr/"bytes":8,/, 'chunked upload';
	is $s->post('/bytes', '', type => 'a/b')->{json}{data}{bytes}, 0, 'no bytes at all';
	is $s->post('/items/x/touch', 'not wanted', type => 'text/plain')->{status}, 204, 'a body nobody asked for is dropped';
	error_is $s->post('/bytes', 'x' x (33 << 20), type => 'a/b'), 413, 'payload_too_large', 'larger than the row allows';
	error_is $s->post('/echo', '{"text":"' . 'x' x (2 << 20) . '"}'), 413, 'payload_too_large', 'larger than a plain body may be';
	is $s->get('/ping')->{status}, 200, 'and the connection is still good';
};

subtest 'refusals' => sub {
	my $r;

	error_is $s->get('/nope'), 404, 'not_found', 'unknown route';
	error_is $s->get('/'), 404, 'not_found', 'root';
	$r = $s->del('/echo');
	error_is $r, 405, 'method_not_allowed', 'known route, other method';
	is $r->{headers}{allow}, 'POST, OPTIONS', 'Allow';
	error_is $s->request('BREW', '/ping'), 405, 'method_not_allowed', 'method of another protocol';
	error_is $s->get('/items/%FF'), 400, 'invalid_path', 'parameter is no UTF-8';
	error_is $s->get('/items/' . 'x' x 129), 400, 'invalid_path', 'id too long';
	error_is $s->get('/slow?ms=%zz'), 400, 'invalid_query', 'bad escape in the query';
	error_is $s->post('/echo', '{"text": '), 400, 'invalid_json', 'malformed JSON';
	error_is $s->post('/echo', "{\"text\": \"\xFF\"}"), 400, 'invalid_json', 'bad UTF-8';
	error_is $s->post('/echo', ''), 400, 'invalid_json', 'empty JSON';
	error_is $s->post('/echo', '{"text":"x"}', type => 'text/plain'), 415, 'unsupported_media_type', 'other type';
	error_is $s->post('/echo', '[1]'), 400, 'validation_error', 'no object';
	is $s->post('/echo', '{"text":"x"}', type => 'Application/JSON; charset=utf-8')->{status}, 201, 'type in other letters';
	is $s->post('/echo', '{"text":"x"}', type => 'application/merge-patch+json')->{status}, 201, 'a +json type';
	$r = $s->post('/echo', { times => 0 });
	error_is $r, 400, 'validation_error', 'members that do not fit';
	is_deeply [ sort map { $_->{code} } @{ $r->{json}{error}{details} } ], [ 'minimum', 'required' ], 'all of them are named';
	$r = $s->get('/slow?ms=-1');
	is_deeply $r->{json}{error}{details}[0]{path}, '/ms', 'query too';
	is $s->get('/slow?ms=1&unknown=2')->{status}, 200, 'unknown query parameters do not matter';
	$r = $s->post('/echo', { text => 'x', what => 1, ever => { a => 1 } });
	is $r->{status}, 201, 'nor do unknown members';
	is join(', ', sort split /, /, $r->{headers}{'x-tavern-ignored-fields'}), '/ever, /what', 'but they are listed';
	error_is $s->get('/silent'), 500, 'internal_error', 'a handler without an answer';
};

subtest 'kinds of failure' => sub {
	my %status = (1 => 400, 2 => 401, 3 => 403, 4 => 404, 5 => 405, 6 => 409, 7 => 410, 8 => 413, 9 => 415, 10 => 429, 11 => 499,
		12 => 500, 13 => 502, 14 => 503, 15 => 504);

	for my $kind (sort { $a <=> $b } keys %status) {
		my $r = $s->get("/refuse?kind=$kind");

		is $r->{status}, $status{$kind}, "kind $kind";
		is_deeply $r->{json}{error}, { code => 'demo_refused', message => 'refused as asked', details => { why => 'demo' } }, 'envelope';
		is defined $r->{headers}{'retry-after'}, $kind == 10 || $kind == 14, 'Retry-After where it helps';
	}
};

subtest 'who may' => sub {
	my %k = (headers => { 'x-api-key' => 'k' });
	my %unknown = (headers => { 'x-api-key' => 'unknown' });

	error_is $s->post('/private/echo', 'garbage'), 401, 'auth_required', 'nobody learns nothing of his body';
	error_is $s->post('/private/echo', 'x' x (2 << 20)), 401, 'auth_required', 'nor of its size';
	error_is $s->post('/private/echo', { text => 'x' }, headers => { 'x-api-key' => 'z' }), 403, 'auth_invalid_credentials', 'wrong key';
	error_is $s->post('/private/echo', 'garbage', %unknown), 401, 'auth_account_not_found', 'the account is looked at before the fault is told';
	error_is $s->post('/private/echo', 'garbage', %k), 400, 'invalid_json', 'those who may are told';
	is $s->post('/private/echo', { text => 'x' }, %k)->{status}, 200, 'and served';
	error_is $s->get('/private/x'), 405, 'method_not_allowed', 'what routes there are is no secret';
};

subtest 'CORS' => sub {
	my $r = $s->get('/ping', headers => { origin => 'http://two.example' });

	is $r->{headers}{'access-control-allow-origin'}, 'http://two.example', 'a listed origin';
	ok !defined $s->get('/ping', headers => { origin => 'http://three.example' })->{headers}{'access-control-allow-origin'}, 'no other';
	$r = $s->request('OPTIONS', '/echo', undef, headers => { origin => 'http://one.example', 'access-control-request-method' => 'POST',
		'access-control-request-headers' => 'content-type,x-api-key' });
	is $r->{status}, 204, 'preflight';
	is $r->{headers}{'access-control-allow-methods'}, 'POST, OPTIONS', 'methods';
	is $r->{headers}{'access-control-allow-headers'}, 'content-type,x-api-key', 'headers';
	is $s->request('OPTIONS', '/ping')->{headers}{allow}, 'GET, HEAD, OPTIONS', 'plain OPTIONS';
	is $s->request('OPTIONS', '/nope')->{status}, 404, 'of nothing';
};

subtest 'connections' => sub {
	my ($n, $t0) = (0, time);
	my @c;

	$n += $s->get('/ping')->{status} == 200 for 1 .. 300;
	is $n, 300, 'one after another';
	cmp_ok $s->total('connections'), '<=', 10, 'over few kept connections';
	# As many at once as there are connections; each would wait two seconds.
	for (1 .. 64) {
		my $c = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $s->port) or die "connect: $!";
		print {$c} "GET /slow?ms=2000 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
		push @c, $c;
	}
	sleep 0.1;
	$t0 = time;
	is $s->get('/ping')->{status}, 200, 'a short request among 64 long ones';
	cmp_ok time - $t0, '<', 1.8, 'does not wait for them';
	$n = grep { local $/; (<$_> // '') =~ /"deserted":false/ } @c;
	is $n, 64, '64 at once';
};

done_testing;
