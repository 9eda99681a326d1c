#!/usr/bin/env perl
# What bad input gets: a clear error in the envelope, the server as it was, nothing stored.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use IO::Socket::INET;
use JSON::PP;
use Tavern::Stack;
use Test::More;

my $s = Tavern::Stack->new(mock => 0);
my ($yes, $no) = (JSON::PP::true, JSON::PP::false);

sub one { scalar $s->sql(@_) }

# The number of rows of everything that clients make.
sub rows { return join " ", map { @$_ } $s->sql(join " UNION ALL ", map { "SELECT count(*) FROM tavern.$_" } qw(session branch floor page message variable var_change asset asset_version document run)) }

# One refusal: status, code, envelope, request id; then the server still answers.
sub refused {
	my ($label, $r, $status, $code) = @_;

	is $r->{status}, $status, "$label: $status" or diag $r->{raw};
	my $e = ref $r->{json} eq 'HASH' ? $r->{json}{error} : undef;
	is $e->{code}, $code, "$label: $code" or diag $r->{raw};
	ok length($e->{message} // ''), "$label: with a message";
	is $s->get('/version')->{status}, 200, "$label: the server answers";
	return $e;
}

# A request as it stands, byte for byte.
sub raw {
	my ($bytes) = @_;
	my $sock = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $s->port, Timeout => 20) or die "connect: $!";
	my $all = '';

	print {$sock} $bytes;
	$sock->flush;
	while (sysread $sock, my $piece, 65536) { $all .= $piece }
	my ($head, $body) = split /\r\n\r\n/, $all, 2;
	my ($status) = ($head // '') =~ m{^HTTP/1\.1 (\d+)};
	my %headers = ($head // '') =~ /^([^:\s]+):[ ]*([^\r\n]*)/mg;
	%headers = map { (lc $_ => $headers{$_}) } keys %headers;
	return { status => $status, headers => \%headers, raw => $body, json => scalar eval { decode_json($body) } };
}

sub http { my ($line, $headers, $body) = @_; return raw("$line HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n" . join('', map { "$_\r\n" } @$headers) . "\r\n" . ($body // '')) }

my $session = $s->post('/sessions', { title => 'S' })->{json}{data}{id};
ok $session, 'a session';
my $rows = rows();
sub unchanged { my ($what) = @_; is rows(), $rows, "$what: nothing was stored" }

# ---- bodies that are no JSON ----

for my $case (
	[ 'cut off',                '{"title":"a"',                       1, 13 ],
	[ 'unknown word',           '{"title":nope}',                     1, 10 ],
	[ 'second line',            "{\"title\":\"a\",\n  \"status\" 1}", 2, 12 ],
	[ 'bytes behind it',        '{"title":"a"} x',                    1, 15 ],
	[ 'single quotes',          "{'title':1}",                        1, 2 ],
	[ 'comma at the end',       '{"title":"a",}',                     1, 14 ],
	[ 'NaN',                    '{"metadata":NaN}',                   1, 13 ],
	[ 'raw control character',  "{\"title\":\"a\tb\"}",               1, 12 ],
	[ 'bad escape',             '{"title":"\\x"}',                    1, 12 ],
	[ 'blanks only',            '   ',                                1, 4 ],
) {
	my ($label, $body, $line, $column) = @$case;
	my $e = refused("malformed, $label", $s->post('/sessions', $body), 400, 'invalid_json');
	like $e->{message}, qr/line $line\D+$column\b/, "malformed, $label: says where";
}
refused('empty body', http('POST /sessions', [ 'Content-Type: application/json', 'Content-Length: 0' ]), 400, 'invalid_json');
refused('broken UTF-8', $s->post('/sessions', "{\"title\":\"a\xff\"}"), 400, 'invalid_json');
refused('overlong UTF-8', $s->post('/sessions', "{\"title\":\"\xc0\xaf\"}"), 400, 'invalid_json');
refused('surrogate in UTF-8', $s->post('/sessions', "{\"title\":\"\xed\xa0\x80\"}"), 400, 'invalid_json');
refused('NUL in a key', $s->post('/sessions', '{"ti\\u0000tle":"a"}'), 400, 'invalid_json');
refused('raw NUL', $s->post('/sessions', "{\"title\":\"a\0\"}"), 400, 'invalid_json');
refused('129 levels', $s->post('/sessions', '{"metadata":' . '[' x 128 . ']' x 128 . '}'), 400, 'invalid_json');
refused('a million levels', $s->post('/sessions', '{"metadata":' . '[' x 1_000_000), 400, 'invalid_json');
for my $body ('[]', '"text"', '7', 'null') {
	my $e = refused("not an object: $body", $s->post('/sessions', $body), 400, 'validation_error');
	is $e->{details}[0]{message}, 'must be object', "not an object: $body: says so";
}
unchanged('malformed bodies');

# ---- types ----

for my $type ('text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'application/jsonx', 'application/xml') {
	refused("type $type", $s->post('/sessions', '{"title":"a"}', type => $type), 415, 'unsupported_media_type');
}
refused('no type', http('POST /sessions', ['Content-Length: 13'], '{"title":"a"}'), 415, 'unsupported_media_type');
unchanged('wrong types');

# ---- sizes, both sides of each limit ----

my $mib = 1 << 20;
sub padded { my ($text, $size) = @_; return $text . ' ' x ($size - length $text) }
refused('1 MiB and a byte', $s->post('/sessions', padded('{"title":"big"}', $mib + 1)), 413, 'payload_too_large');
refused('2 MiB', $s->patch("/sessions/$session", padded('{"title":"big"}', 2 * $mib)), 413, 'payload_too_large');
refused('imports: 64 MiB and a byte', $s->post('/import/preset', padded('{"name":"big","data":{}}', 64 * $mib + 1)), 413, 'payload_too_large');
refused('imports: 66 MiB, refused before they come', http('POST /import/preset', [ 'Content-Type: application/json', 'Content-Length: ' . 66 * $mib ]), 413, 'payload_too_large');
refused('a long address', http('GET /sessions?keyword=' . 'a' x 9000, []), 400, 'invalid_query');
refused('a long path', http('GET /sessions/' . 'a' x 3000, []), 400, 'invalid_path');
refused('an address above the buffers', http('GET /sessions?keyword=' . 'a' x 20000, []), 431, 'header_too_large');
refused('long headers', http('GET /sessions', [ 'X-Long: ' . 'a' x 20000 ]), 431, 'header_too_large');
unchanged('too large');
is $s->patch("/sessions/$session", padded('{"title":"fits"}', $mib))->{status}, 200, 'exactly 1 MiB fits';
is $s->get("/sessions/$session")->{json}{data}{title}, 'fits', 'and is stored';
my $preset = { prompts => [ { identifier => 'main', role => 'system', content => 'x', system_prompt => $yes } ] };
my $r = $s->post('/import/preset', padded(encode_json({ name => 'fits', data => $preset }), 64 * $mib));
is $r->{status}, 201, 'imports: exactly 64 MiB fits' or diag substr $r->{raw}, 0, 500;
$rows = rows();

# ---- what does not exist ----

refused("$_ /variables/nosuchid", $s->request($_ => '/variables/nosuchid'), 404, 'variable_not_found') for qw(GET DELETE);
for my $case (
	(map { [ GET => $_ ], [ DELETE => $_ ] } map { "/$_/nosuchid" } qw(users characters presets worldbooks regex-profiles sessions floors pages messages)),
	[ PATCH => '/users/nosuchid', { status => 'disabled' } ],
	[ PATCH => '/sessions/nosuchid', { title => 'x' } ],
	[ PATCH => '/floors/nosuchid', { parent_floor_id => 'x' } ],
	[ PATCH => '/pages/nosuchid', { page_no => 1 } ],
	[ PATCH => '/pages/nosuchid/activate' ],
	[ PATCH => '/messages/nosuchid', { is_hidden => $yes } ],
	[ PUT   => '/worldbooks/nosuchid', { name => 'x', data => { entries => {} } } ],
	[ PUT   => '/regex-profiles/nosuchid', { name => 'x', data => [] } ],
	[ POST  => '/characters/nosuchid/versions', { snapshot => { name => 'x' } } ],
	[ GET   => '/characters/nosuchid/versions' ],
	[ GET   => '/presets/nosuchid/entries/x' ],
	[ POST  => '/worldbooks/nosuchid/entries', { content => 'x', keys => ['k'] } ],
	[ GET   => '/export/preset/nosuchid' ],
	[ GET   => '/export/worldbook/nosuchid' ],
	[ GET   => '/export/regex/nosuchid' ],
	[ GET   => '/export/character/nosuchid' ],
	[ GET   => '/floors/nosuchid/run' ],
	[ GET   => '/floors/nosuchid/result' ],
	[ POST  => '/floors/nosuchid/branch', {} ],
	[ GET   => '/pages/nosuchid/variables/staged' ],
	[ GET   => '/pages/nosuchid/variables/promotions' ],
	[ GET   => '/sessions/nosuchid/timeline' ],
	[ GET   => '/sessions/nosuchid/active-run' ],
	[ POST  => '/sessions/nosuchid/respond', { message => 'x' } ],
	[ POST  => '/sessions/nosuchid/respond/dry-run', { message => 'x' } ],
	[ POST  => '/sessions/nosuchid/character/sync', {} ],
	[ POST  => '/floors', { session_id => 'nosuchid', branch_id => 'main', floor_no => 0 } ],
	[ POST  => '/pages', { floor_id => 'nosuchid', page_kind => 'input', page_no => 0 } ],
	[ POST  => '/messages', { page_id => 'nosuchid', seq => 0, role => 'user', content => 'x' } ],
	[ PUT   => '/variables', { scope => 'chat', scope_id => 'nosuchid', key => 'k', value => 1 } ],
	[ PUT   => '/variables', { scope => 'floor', scope_id => 'nosuchid', key => 'k', value => 1 } ],
	[ PUT   => '/variables', { scope => 'page', scope_id => 'nosuchid', key => 'k', value => 1 } ],
	[ PUT   => '/variables', { scope => 'branch', session_id => $session, branch_id => 'nosuch', key => 'k', value => 1 } ],
	[ GET   => '/variables/resolve?session_id=nosuchid' ],
	[ POST  => '/sessions', { character_id => 'nosuchid' } ],
	[ POST  => '/sessions', { user_id => 'nosuchid' } ],
	[ POST  => '/sessions', { preset_id => 'nosuchid' } ],
	[ POST  => '/sessions', { worldbook_profile_id => 'nosuchid' } ],
	[ POST  => '/sessions', { regex_profile_id => 'nosuchid' } ],
) {
	my ($method, $path, $body) = @$case;
	refused("$method $path", $s->request($method, $path, $body), 404, 'not_found');
}
refused('branch of a session', $s->post("/sessions/$session/respond", { message => 'x', branch_id => 'nosuch' }), 404, 'branch_not_found');
for my $path ('/', '/nope', '/sessions/', "/sessions/$session/nope", '/sessions/a/b/c/d/e/f/g/h/i/j', '//sessions', '/Sessions') {
	refused("GET $path", http("GET $path", []), 404, 'not_found');
}
unchanged('what does not exist');

# ---- methods ----

for my $case ([ DELETE => '/sessions', 'GET, POST, HEAD, OPTIONS' ], [ PUT => "/sessions/$session", 'GET, PATCH, DELETE, HEAD, OPTIONS' ],
	[ GET => "/sessions/$session/respond", 'POST, OPTIONS' ], [ POST => '/health', 'GET, HEAD, OPTIONS' ], [ TRACE => '/sessions', undef ]) {
	my ($method, $path, $allow) = @$case;
	my $r = http("$method $path", []);
	if (!defined $allow) { is $r->{status}, 405, "$method: 405"; next }
	refused("$method $path", $r, 405, 'method_not_allowed');
	is_deeply [ sort split /, /, $r->{headers}{allow} // '' ], [ sort split /, /, $allow ], "$method $path: Allow";
}
$r = http('HEAD /sessions', []);
is $r->{status}, 200, 'HEAD: 200';
is $r->{raw}, '', 'HEAD: no body';
is $r->{headers}{'content-type'}, 'application/json; charset=utf-8', 'HEAD: the headers of GET';
is http('HEAD /sessions/nosuchid', [])->{status}, 404, 'HEAD of nothing: 404';
$r = http('OPTIONS /sessions', []);
is $r->{status}, 204, 'OPTIONS: 204';
like $r->{headers}{allow}, qr/\bGET\b.*\bPOST\b/, 'OPTIONS: Allow';
is http('OPTIONS /nope', [])->{status}, 404, 'OPTIONS of nothing: 404';

# ---- members ----

my $e = refused('several bad members', $s->post('/sessions', { title => '', status => 'gone', deep_binding => 'yes', prompt_mode => 7, character_snapshot => [] }), 400, 'validation_error');
is_deeply [ sort map { $_->{path} } @{ $e->{details} } ], [ qw(/character_snapshot /deep_binding /prompt_mode /status /title) ], 'all of them are listed';
is scalar(grep { !length $_->{message} || !length $_->{code} } @{ $e->{details} }), 0, 'each with message and code';
$e = refused('title of 201 characters', $s->post('/sessions', { title => "\x{e9}" x 201 }), 400, 'validation_error');
is $e->{details}[0]{code}, 'maxLength', 'by its limit';
$e = refused('missing members', $s->post('/messages', {}), 400, 'validation_error');
is_deeply [ sort map { $_->{message} =~ /'(\w+)'/ } @{ $e->{details} } ], [ qw(content page_id role seq) ], 'all of them are listed';
$e = refused('200 faults', $s->put('/variables/batch', { items => [ map { { scope => 'x', key => '' } } 1 .. 100 ] }), 400, 'validation_error');
is scalar @{ $e->{details} }, 50, 'fifty of them are listed';
is $e->{details}[0]{path}, '/items/0/scope', 'with the place in the list';
refused('101 items', $s->put('/variables/batch', { items => [ map { { scope => 'global', scope_id => 'global', key => "k$_", value => 1 } } 1 .. 101 ] }), 400, 'validation_error');
refused('no items', $s->put('/variables/batch', { items => [] }), 400, 'validation_error');
refused('numbers out of range', $s->post('/floors', { session_id => $session, branch_id => 'main', floor_no => -1 }), 400, 'validation_error');
refused('numbers beyond 32 bits', $s->post('/floors', { session_id => $session, branch_id => 'main', floor_no => 1e15 }), 400, 'validation_error');
refused('a fraction for an integer', $s->post('/floors', '{"session_id":"x","branch_id":"main","floor_no":1.5}'), 400, 'validation_error');
refused('key of 1025 characters', $s->put('/variables', { scope => 'global', scope_id => 'global', key => 'k' x 1025, value => 1 }), 400, 'validation_error');
$e = refused('key of 1025 bytes', $s->put('/variables', { scope => 'global', scope_id => 'global', key => "\x{e9}" x 513, value => 1 }), 400, 'validation_error');
is $e->{details}[0]{path}, '/key', 'with its path';
refused('empty patch of a session', $s->patch("/sessions/$session", { status => 'gone' }), 400, 'validation_error');
unchanged('bad members');

# ---- queries ----

for my $q ('limit=0', 'limit=201', 'limit=-1', 'limit=ten', 'limit=1.5', 'limit=99999999999999999999', 'offset=-1', 'offset=99999999999999999999', 'sort_by=color', 'sort_order=up',
	'status=gone') {
	my $e = refused("?$q", $s->get("/sessions?$q"), 400, 'validation_error');
	my ($name) = $q =~ /^(\w+)/;
	is $e->{details}[0]{path}, "/$name", "?$q: the parameter is named";
}
$e = refused('several bad parameters', $s->get('/sessions?limit=0&offset=-1&sort_order=up'), 400, 'validation_error');
is scalar @{ $e->{details} }, 3, 'all of them are listed';
refused('bad escape in the query', $s->get('/sessions?keyword=%zz'), 400, 'invalid_query');
refused('bad UTF-8 in the query', $s->get('/sessions?keyword=%ff'), 400, 'invalid_query');
for my $path (qw(/sessions /floors /pages /messages /variables /users /characters)) {
	my $r = $s->get("$path?offset=4503599627370495&limit=200");
	is $r->{status}, 200, "$path: the greatest offset" or diag $r->{raw};
	is_deeply $r->{json}{data}, [], "$path: has nothing";
	is $r->{json}{meta}{has_more}, $no, "$path: and no more";
}
refused('an offset beyond it', $s->get('/sessions?offset=9223372036854775807'), 400, 'validation_error');
is $s->get('/sessions?nope=1')->{status}, 200, 'unknown parameters are ignored';
is $s->get('/sessions?keyword=%25_%5C')->{json}{meta}{total}, 0, 'signs of patterns are text';

# ---- ids ----

for my $id ('a', 'a' x 128, '%41', '%E2%82%AC', 'a%20b', 'a%2Fb', "%27%3B--", '-', '.a', '%22%5C') {
	refused("id $id", $s->get("/sessions/$id"), 404, 'not_found');
}
for my $id ('a' x 129, '%ff', '%zz', '%4') {
	my $r = http("GET /sessions/$id", []);
	is $r->{status}, 400, "id $id: 400" or diag $r->{raw};
	ok $r->{json}{error}{code}, "id $id: in the envelope" or diag $r->{raw};
}
is http('GET /sessions/%00', [])->{status}, 400, 'id NUL: 400';
refused('the address of an answer of nginx', http('GET /.tavernd/bad_request', []), 404, 'not_found');
my $escaped = join '', map { sprintf '%%%02X', ord } split //, $session;
is $s->get("/sessions/$escaped")->{json}{data}{id}, $session, 'an escaped id is the same id';
for my $id ('', 'a' x 129) {
	refused('batch id of ' . length($id), $s->post('/sessions/batch/delete', { ids => [$id] }), 400, 'validation_error');
}
is $s->post('/sessions/batch/delete', { ids => [ 'a{b},"c\\' ] })->{json}{data}{results}[0]{action}, 'not_found', 'signs of array texts are text in a batch';
is $s->patch('/sessions/batch/status', { ids => [ 'a{b},"c\\', 'NULL', ' ' ], status => 'archived' })->{json}{data}{meta}{not_found}, 3, 'and where they are written as one';
unchanged('ids');

# ---- the documented rules for NUL and halves of pairs ----

$r = $s->post('/sessions', '{"title":"a\\u0000b\\ud800c","metadata":{"k":"\\u0000","n":1e3}}');
is $r->{status}, 201, 'NUL in a value, half a pair: taken';
is $r->{json}{data}{title}, "ab\x{fffd}c", 'NUL is left out, the half is U+FFFD';
is $r->{json}{data}{metadata}{k}, '', 'also deeper';
is $s->get("/sessions/$r->{json}{data}{id}")->{json}{data}{title}, "ab\x{fffd}c", 'and so it is stored';
$r = $s->post('/sessions', '{"metadata":' . '[' x 127 . ']' x 127 . '}');
is $r->{status}, 201, '128 levels are taken' or diag $r->{raw};
is $s->get("/sessions/$r->{json}{data}{id}")->{status}, 200, 'and read again';

# ---- unknown members ----

$r = $s->post('/sessions', { title => 'u', colour => 'red', zeta => 1 });
is $r->{status}, 201, 'unknown members do no harm';
is_deeply [ sort split /, /, $r->{headers}{'x-tavern-ignored-fields'} // '' ], [ '/colour', '/zeta' ], 'and are listed';
$r = $s->put('/variables', { scope => 'chat', scope_id => $session, key => 'k', value => { any => 1 }, extra => 1 });
is $r->{headers}{'x-tavern-ignored-fields'}, '/extra', 'members of values are not meant';
$r = $s->post('/sessions', encode_json({ "a\r\nSet-Cookie: x" => 1, 'x' x 500 => 1 }));
is $r->{status}, 201, 'hostile names';
ok !$r->{headers}{'set-cookie'}, 'do not reach the headers';
ok length $r->{headers}{'x-tavern-ignored-fields'} < 1100, 'and are cut';
is $s->post('/sessions', { title => 'n' })->{headers}{'x-tavern-ignored-fields'}, undef, 'no header without unknown members';

# ---- headers ----

for my $path ('/sessions', '/nope', '/health') {
	ok length $s->get($path)->{headers}{'x-request-id'}, "$path: has a request id";
}
is $s->get('/sessions', headers => { 'x-request-id' => 'my-1.Id_2' })->{headers}{'x-request-id'}, 'my-1.Id_2', 'a client may name its request';
for my $bad ('a b', 'x' x 65, "\x{e9}", 'a"b') {
	isnt $s->get('/sessions', headers => { 'x-request-id' => $bad })->{headers}{'x-request-id'}, $bad, 'but not with any text';
}
my $origin = { origin => 'http://localhost:5173' };
$r = $s->get('/sessions', headers => $origin);
is $r->{headers}{'access-control-allow-origin'}, $origin->{origin}, 'CORS: an allowed origin';
like $r->{headers}{vary}, qr/Origin/i, 'CORS: Vary';
is $s->get('/nope', headers => $origin)->{headers}{'access-control-allow-origin'}, $origin->{origin}, 'CORS: errors can be read too';
is $s->get('/sessions', headers => { origin => 'https://evil.example' })->{headers}{'access-control-allow-origin'}, undef, 'CORS: another origin gets nothing';
$r = $s->request('OPTIONS', '/sessions', undef, headers => { %$origin, 'access-control-request-method' => 'POST', 'access-control-request-headers' => 'content-type, x-api-key' });
is $r->{status}, 204, 'preflight: 204';
like $r->{headers}{'access-control-allow-methods'}, qr/\bPOST\b/, 'preflight: methods';
is $r->{headers}{'access-control-allow-headers'}, 'content-type, x-api-key', 'preflight: headers';
is $r->{headers}{'access-control-allow-origin'}, $origin->{origin}, 'preflight: origin';

is $s->get('/health')->{status}, 200, 'after all that the server is well';
done_testing;
