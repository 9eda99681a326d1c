#!/usr/bin/env perl
# What the operator sets: faults of the configuration, and the three ways of proving who calls.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use Digest::SHA qw(hmac_sha256 hmac_sha512);
use IO::Socket::UNIX;
use JSON::PP;
use MIME::Base64 qw(encode_base64);
use Tavern::Stack;
use Test::More;

my $json = JSON::PP->new->utf8->canonical;
my $s = Tavern::Stack->new(mock => 0, workers => 1);

sub refused {
	my ($label, $r, $status, $code) = @_;

	is $r->{status}, $status, "$label: $status" or diag $r->{raw};
	is $r->{json}{error}{code}, $code, "$label: $code";
}

sub restart {
	my (%conf) = @_;

	is $s->stop_tavernd, 0, 'the workers end well';
	$s->configure(%conf);
	$s->start;
}

# ---- tavernd -t ----

my ($status, $out) = $s->tavernd('-t');
is $status, 0, '-t: the configuration is fine' or diag $out;
my $conf = "$s->{dir}/tavernd.conf";
open my $in, '<', $conf or die "$conf: $!";
my $good = do { local $/; <$in> };
close $in;
sub write_conf { my ($text) = @_; open my $o, '>', $conf or die "$conf: $!"; print {$o} $text; close $o }

write_conf($good . <<'END');
no_such_setting = 1
auth_mode = maybe
reply_tokens = many
db_connections = 0
run_lease = 5 parsecs
asset_cache_bytes = 12q
db_prepare = perhaps
just some words
jwt_secret_file = /nonexistent/secret
END
($status, $out) = $s->tavernd('-t');
isnt $status, 0, '-t: faults are an error';
my $lines = () = $good =~ /\n/g;
my $n = $lines;
for my $fault (qr/unknown setting "no_such_setting"/, qr/auth_mode: "maybe" is none of .*api_key/, qr/reply_tokens: "many" is not a whole number/,
	qr/db_connections: 0 is not in the range 1 to 200/, qr/run_lease: "5 parsecs" is not a time/, qr/asset_cache_bytes: "12q" is not a size/,
	qr/db_prepare: "perhaps" is not true or false/, qr/expected `key = value`/, qr/jwt_secret\w*: .*cannot be read/) {
	$n++;
	like $out, qr/tavernd\.conf:$n: $fault/, "-t: line $n is named with its fault";
}
write_conf($good);
($status, $out) = $s->tavernd('-t', '-o', 'auth_mode=never', '-o', 'nonsense');
like $out, qr/auth_mode: "never" is none of/, '-t: the command line is checked too';
like $out, qr/expected key=value, got "nonsense"/, '-t: all of it';
{
	local $ENV{TAVERND_REPLY_TOKENS} = 'x';
	($status, $out) = $s->tavernd('-t');
	like $out, qr/TAVERND_REPLY_TOKENS: reply_tokens: "x" is not a whole number/, '-t: and the environment';
}
for my $case ([ 'auth_mode=api_key', qr/api_keys/ ], [ 'auth_mode=jwt', qr/jwt_secret/ ]) {
	($status, $out) = $s->tavernd('-t', '-o', $case->[0]);
	isnt $status, 0, "-t: $case->[0] without a key";
	like $out, $case->[1], "-t: $case->[0]: says what is missing";
}
($status, $out) = $s->tavernd('-t', '-o', 'auth_mode=jwt', '-o', 'jwt_secret=short');
isnt $status, 0, '-t: a secret that is too short';
unlike $out, qr/short"|=short|: short/, '-t: secrets are not printed';
is $s->get('/health')->{status}, 200, 'meanwhile the server runs';

# ---- auth_mode off: only for this machine ----

# A request as a web server would pass it on, with addresses of our choice.
sub passed_on {
	my (%more) = @_;
	my %param = (REQUEST_METHOD => 'GET', REQUEST_URI => '/sessions', QUERY_STRING => '', %more);
	my $sock = IO::Socket::UNIX->new(Peer => "$s->{dir}/run/w0.sock", Timeout => 10) or die "w0.sock: $!";
	my $record = sub { my ($type, $body) = @_; return pack('CCnnCC', 1, $type, 1, length $body, 0, 0) . $body };
	my $params = join '', map { pack('NN', length($_) | 0x80000000, length($param{$_}) | 0x80000000) . $_ . $param{$_} } sort keys %param;
	my ($all, $body) = ('', '');

	print {$sock} $record->(1, pack('nCx5', 1, 0)) . $record->(4, $params) . $record->(4, '') . $record->(5, '');
	$sock->flush;
	while (sysread $sock, my $piece, 65536) { $all .= $piece }
	while (length $all >= 8) {
		my (undef, $type, undef, $n, $pad) = unpack 'CCnnC', $all;
		$body .= substr $all, 8, $n if $type == 6;
		$all = substr $all, 8 + $n + $pad;
	}
	my ($head, $text) = split /\r\n\r\n/, $body, 2;
	return { status => ($head =~ /^Status: (\d+)/)[0], raw => $text, json => scalar eval { $json->decode($text) } };
}

is $s->get('/sessions')->{status}, 200, 'off: loopback is served';
for my $case ([ '127.0.0.1', '127.0.0.1' ], [ '127.9.9.9', '127.0.0.1' ], [ '::1', '::1' ], [ '::ffff:127.0.0.1', '127.0.0.1' ], [ 'unix:', '' ]) {
	is passed_on(REMOTE_ADDR => $case->[0], SERVER_ADDR => $case->[1])->{status}, 200, "off: $case->[0] is this machine";
}
for my $case ([ '203.0.113.5', '203.0.113.1' ], [ '10.0.0.7', '10.0.0.1' ], [ '203.0.113.5', '127.0.0.1' ], [ '127.0.0.1', '203.0.113.1' ], [ '::ffff:10.0.0.7', '127.0.0.1' ],
	[ '2001:db8::1', '::1' ], [ 'nonsense', '127.0.0.1' ]) {
	my $label = "off: from $case->[0] to $case->[1]";
	my %addr = (REMOTE_ADDR => $case->[0], SERVER_ADDR => $case->[1]);
	refused($label, passed_on(%addr), 403, 'auth_off_remote');
	is passed_on(%addr, REQUEST_URI => '/health')->{status}, 200, "$label: what is public is served";
	is passed_on(%addr, HTTP_X_FORWARDED_FOR => '127.0.0.1', HTTP_X_REAL_IP => '127.0.0.1')->{status}, 403, "$label: headers do not help";
}
restart(auth_off_allow_remote => 'true');
is passed_on(REMOTE_ADDR => '203.0.113.5', SERVER_ADDR => '203.0.113.1')->{status}, 200, 'off, remote allowed by name: served';

# ---- keys made on the machine ----

restart(auth_off_allow_remote => undef, auth_mode => 'api_key', account_mode => 'multi', api_key_pepper => 'p' x 40);
refused('api_key: nothing sent', $s->get('/sessions'), 401, 'auth_required');
($status, $out) = $s->tavernctl('account', 'create', 'alice', '--name', 'Alice');
is $status, 0, 'tavernctl account create' or diag $out;
my %key;
for my $account ('alice', 'default-admin') {
	($status, $out) = $s->tavernctl('account', 'key', 'create', $account, '--name', 'test');
	is $status, 0, "$account: tavernctl account key create" or diag $out;
	($key{$account}) = $out =~ /^(tvk_\S+)$/m;
	ok $key{$account}, "$account: the key is shown";
}
sub as { my ($account) = @_; return headers => { 'x-api-key' => $key{$account} } }
my $r = $s->post('/sessions', { title => 'of alice' }, as('alice'));
is $r->{status}, 201, 'the key works' or diag $r->{raw};
is $s->get('/sessions', headers => { authorization => "Bearer $key{alice}" })->{json}{meta}{total}, 1, 'also as a bearer token';
is $s->get('/sessions', as('default-admin'))->{json}{meta}{total}, 0, 'each key in its account';
is $s->get('/accounts', as('default-admin'))->{status}, 200, 'the default account may administer';
refused('an ordinary account', $s->get('/accounts', as('alice')), 403, 'account_forbidden');
refused('a wrong key', $s->get('/sessions', headers => { 'x-api-key' => 'tvk_wrong' }), 403, 'auth_invalid_credentials');
(my $other = $key{alice}) =~ s/(.)$/$1 eq 'a' ? 'b' : 'a'/e;
refused('a key with another last letter', $s->get('/sessions', headers => { 'x-api-key' => $other }), 403, 'auth_invalid_credentials');
is scalar $s->sql('SELECT count(*) FROM tavern.api_key k WHERE k::text LIKE :\'like\'', like => "%" . substr($key{alice}, -20) . "%"), 0, 'the database does not hold the key';
($status, $out) = $s->tavernctl('account', 'key', 'list', 'alice');
my ($key_id) = $out =~ /^(\S+)\t/m;
ok $key_id, 'the key is listed';
($status, $out) = $s->tavernctl('account', 'key', 'revoke', 'alice', $key_id);
is $status, 0, 'tavernctl account key revoke' or diag $out;
refused('a revoked key', $s->get('/sessions', as('alice')), 403, 'auth_invalid_credentials');
is $s->get('/sessions', as('default-admin'))->{status}, 200, 'other keys go on';
($status, $out) = $s->tavernctl('account', 'key', 'create', 'nobody');
isnt $status, 0, 'no key for an account that does not exist';
($status, $out) = $s->tavernctl('account', 'key', 'create', 'alice');
($key{alice}) = $out =~ /^(tvk_\S+)$/m;
is $s->get('/sessions', as('alice'))->{json}{meta}{total}, 1, 'a new key finds what the old one made';
($status, $out) = $s->tavernctl('account', 'disable', 'alice');
refused('a disabled account', $s->get('/sessions', as('alice')), 403, 'account_disabled');
$s->tavernctl('account', 'enable', 'alice');
is $s->get('/sessions', as('alice'))->{status}, 200, 'enabled again';
unlike $s->log('tavernd'), qr/\Q$key{alice}\E|\Q$key{'default-admin'}\E/, 'no key reaches the log';

# ---- tokens ----

my $secret = 'a secret of at least thirty-two bytes';
sub b64 { my ($bytes) = @_; my $t = encode_base64($bytes, ''); $t =~ tr{+/}{-_}; $t =~ s/=+$//; return $t }
sub token {
	my ($claims, %o) = @_;
	my $text = b64($json->encode($o{header} // { alg => 'HS256', typ => 'JWT' })) . '.' . b64($json->encode($claims));

	return $text . '.' . ($o{unsigned} ? '' : b64(($o{sign} // \&hmac_sha256)->($text, $o{secret} // $secret)));
}
sub bearer { return $s->get('/sessions', headers => { authorization => "Bearer $_[0]" }) }

restart(auth_mode => 'jwt', api_key_pepper => undef, jwt_secret => $secret, jwt_issuer => 'https://issuer.test', jwt_audience => 'tavern');
my %claims = (account_id => 'alice', iss => 'https://issuer.test', aud => 'tavern', exp => time + 600);
refused('jwt: nothing sent', $s->get('/sessions'), 401, 'auth_required');
is bearer(token({%claims}))->{json}{meta}{total}, 1, 'jwt: a token opens its account';
is bearer(token({%claims}))->{status}, 200, 'jwt: again';
is bearer(token({ %claims, aud => [ 'other', 'tavern' ], nbf => time - 60, iat => time }))->{status}, 200, 'jwt: one audience of several';
is bearer(token({ %claims, exp => time - 10 }))->{status}, 200, 'jwt: within the leeway';
my $valid = token({%claims});
my ($head, $payload, $sig) = split /\./, $valid;
for my $case (
	[ 'expired',          token({ %claims, exp => time - 3600 }) ],
	[ 'without exp',      token({ map { $_ => $claims{$_} } qw(account_id iss aud) }) ],
	[ 'not valid yet',    token({ %claims, nbf => time + 3600 }) ],
	[ 'another issuer',   token({ %claims, iss => 'https://evil.test' }) ],
	[ 'another audience', token({ %claims, aud => 'other' }) ],
	[ 'another secret',   token({%claims}, secret => 'x' x 40) ],
	[ 'alg none',         token({%claims}, header => { alg => 'none' }, unsigned => 1) ],
	[ 'another alg',      token({%claims}, header => { alg => 'HS512' }, sign => \&hmac_sha512) ],
	[ 'RS256 with our secret', token({%claims}, header => { alg => 'RS256' }) ],
	[ 'signature cut',    "$head.$payload." . substr($sig, 0, -4) ],
	[ 'other claims',     "$head." . b64($json->encode({ %claims, account_id => 'default-admin' })) . ".$sig" ],
	[ 'no token',         'nonsense' ],
	[ 'two parts',        "$head.$payload" ],
	[ 'too long',         'a' x 9000 ],
) {
	refused("jwt: $case->[0]", bearer($case->[1]), 403, 'auth_invalid_token');
}
refused('jwt: an account that does not exist', bearer(token({ %claims, account_id => 'nobody' })), 401, 'auth_account_not_found');
is $s->get('/accounts', headers => { authorization => 'Bearer ' . token({ %claims, account_id => 'default-admin' }) })->{status}, 200, 'jwt: the role stands in the account\'s row';
refused('jwt: a role in the token', $s->get('/accounts', headers => { authorization => 'Bearer ' . token({ %claims, role => 'admin' }) }), 403, 'account_forbidden');
refused('jwt: an API key', $s->get('/sessions', as('alice')), 401, 'auth_required');
$s->tavernctl('account', 'disable', 'alice');
refused('jwt: a disabled account', bearer($valid), 403, 'account_disabled');
unlike $s->log('tavernd'), qr/\Q$sig\E|\Q$secret\E/, 'no token reaches the log';

restart(account_mode => 'single');
is bearer(token({ map { $_ => $claims{$_} } qw(iss aud exp) }))->{status}, 200, 'jwt, single account: no claim is needed';

done_testing;
