#!/usr/bin/env perl
# Accounts and their API keys through the API, by an administrator.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP;
use Tavern::Stack;
use Test::More;

my $s = Tavern::Stack->new(mock => 0, conf => { auth_mode => 'api_key', account_mode => 'multi', api_key_pepper => 'a pepper for tests only, 32 characters',
	admin_api_keys => undef, api_keys => 'root-key-of-this-test:default-admin' });
my %root = (headers => { 'x-api-key' => 'root-key-of-this-test' });
my $true = JSON::PP::true;

sub key { return (headers => { 'x-api-key' => $_[0] }) }

is $s->get('/accounts')->{status}, 401, 'nobody';
is $s->get('/accounts', key('wrong'))->{status}, 403, 'a wrong key';

# ---- accounts ----

my $list = $s->get('/accounts', %root)->{json}{data};
is_deeply [map { $_->{id} } @$list], ['default-admin'], 'the default account';
is $list->[0]{is_default}, $true, 'and it says so';
my $r = $s->post('/accounts', { id => 'anna', name => 'Anna' }, %root);
is $r->{status}, 201, 'create' or diag $r->{raw};
is_deeply [@{ $r->{json}{data} }{qw(id name role status)}], [qw(anna Anna user active)], 'create: defaults';
is $s->post('/accounts', { id => 'anna', name => 'Again' }, %root)->{status}, 409, 'create: no double';
is $s->post('/accounts', { id => 'a b', name => '' }, %root)->{status}, 400, 'create: validated';
$r = $s->post('/accounts', { name => 'Bert', role => 'admin' }, %root);
my $bert = $r->{json}{data}{id};
like $bert, qr/^[A-Za-z0-9_-]{21}$/, 'create: an id is made';
is $s->get("/accounts/$bert", %root)->{json}{data}{role}, 'admin', 'read';
is $s->get('/accounts/nope', %root)->{json}{error}{code}, 'account_not_found', 'read: unknown';

# ---- keys ----

$r = $s->post('/accounts/anna/api-keys', { name => 'laptop' }, %root);
is $r->{status}, 201, 'key' or diag $r->{raw};
my $key = $r->{json}{data};
like $key->{key}, qr/^tvk_/, 'key: shown';
is index($key->{key}, $key->{prefix}) >= 0, 1, 'key: its prefix is part of it';
is $key->{expires_at}, undef, 'key: without an end';
is $r->{headers}{'cache-control'}, 'no-store', 'key: not to be kept';
is $s->get('/sessions', key($key->{key}))->{status}, 200, 'key: opens the account';
is $s->get('/accounts', key($key->{key}))->{json}{error}{code}, 'account_forbidden', 'key: of a user opens nothing for admins';
is $s->post('/accounts/anna/api-keys', {}, key($key->{key}))->{status}, 403, 'key: a user makes none';
$r = $s->get('/accounts/anna/api-keys', %root);
is_deeply [map { $_->{id} } @{ $r->{json}{data} }], [$key->{id}], 'keys: listed';
unlike $r->{raw}, qr/\Q$key->{key}\E/, 'keys: never again in full';
is scalar $s->sql(q{SELECT count(*) FROM tavern.api_key WHERE hash LIKE '%' || :'key' || '%' OR prefix = :'key'}, key => $key->{key}), 0, 'keys: not in the database';
is $s->post('/accounts/nope/api-keys', { name => 'x' }, %root)->{json}{error}{code}, 'account_not_found', 'keys: of an unknown account';
is $s->get('/accounts/nope/api-keys', %root)->{status}, 404, 'keys: of an unknown account, listed';
is $s->post('/accounts/anna/api-keys', { expires_at => 5 }, %root)->{json}{error}{details}[0]{path}, '/expires_at', 'keys: not in the past';
$r = $s->post('/accounts/anna/api-keys', undef, %root);
is $r->{status}, 201, 'key: without a body' or diag $r->{raw};
my $short = $s->post('/accounts/anna/api-keys', { name => 'short', expires_at => int(time * 1000) + 1500 }, %root)->{json}{data}{key};
is $s->get('/sessions', key($short))->{status}, 200, 'key with an end: valid';
ok $s->wait_for('the key to end', sub { $s->get('/sessions', key($short))->{status} == 403 }), 'key with an end: ends';

is $s->del("/accounts/$bert/api-keys/$key->{id}", %root)->{status}, 404, 'revoke: only of that account';
$r = $s->del("/accounts/anna/api-keys/$key->{id}", %root);
is_deeply $r->{json}{data}, { id => $key->{id}, deleted => $true }, 'revoke' or diag $r->{raw};
is $s->get('/sessions', key($key->{key}))->{json}{error}{code}, 'auth_invalid_credentials', 'revoked: opens nothing';
ok $s->get('/accounts/anna/api-keys', %root)->{json}{data}[0]{revoked_at} > 0, 'revoked: says when';

# ---- what belongs to whom ----

my $anna = $s->post('/accounts/anna/api-keys', { name => 'a' }, %root)->{json}{data}{key};
my $admin = $s->post("/accounts/$bert/api-keys", { name => 'b' }, %root)->{json}{data}{key};
is $s->get('/accounts', key($admin))->{status}, 200, 'another administrator';
my $preset = $s->post('/import/preset', { data => { temperature => 1, prompts => [{ identifier => 'main', content => 'x' }] } }, key($anna))->{json}{data}{id};
my $book = $s->post('/import/worldbook', { data => { entries => { 0 => { uid => 0, key => [], content => 'x' } } } }, key($anna))->{json}{data}{id};
my $card = { spec => 'chara_card_v2', spec_version => '2.0', data => { name => 'Maren', first_mes => 'Hello.' } };
is $s->post('/import/character', { payload => $card, create_session => $true }, key($anna))->{status}, 201, 'own: a character with a session';
for my $path ("/presets/$preset", "/presets/$preset/editor", "/presets/$preset/entries", "/presets/$preset/entries/main", "/export/preset/$preset",
	"/worldbooks/$book", "/worldbooks/$book/entries", "/worldbooks/$book/entries/0", "/export/worldbook/$book") {
	is $s->get($path, key($anna))->{status}, 200, "own: $path";
	is $s->get($path, key($admin))->{status}, 404, "foreign: $path";
	is $s->get($path)->{status}, 401, "nobody: $path";
}
is $s->patch("/presets/$preset/entries/main", { content => 'y' }, key($admin))->{status}, 404, 'foreign: patch';
is $s->del("/worldbooks/$book/entries/0", key($admin))->{status}, 404, 'foreign: delete';
is_deeply $s->get('/presets', key($admin))->{json}{data}, [], 'foreign: list';

# ---- disabling, deleting ----

$r = $s->patch('/accounts/anna', { status => 'disabled', name => 'Anne' }, %root);
is_deeply [@{ $r->{json}{data} }{qw(name status)}], [qw(Anne disabled)], 'disable';
is $s->get('/sessions', key($anna))->{json}{error}{code}, 'account_disabled', 'disabled: keys open nothing';
$s->patch('/accounts/anna', { status => 'active' }, %root);
is $s->get('/sessions', key($anna))->{status}, 200, 'enabled again';
is $s->patch('/accounts/anna', { role => 'king' }, %root)->{status}, 400, 'patch: validated';
is $s->del('/accounts/default-admin', %root)->{json}{error}{code}, 'account_default', 'the default account stays';
is $s->patch("/accounts/$bert", { role => 'user' }, %root)->{status}, 200, 'one administrator less';
is $s->patch('/accounts/default-admin', { role => 'user' }, %root)->{json}{error}{code}, 'account_last_admin', 'the last one stays';
$r = $s->del('/accounts/anna', %root);
is_deeply $r->{json}{data}, { id => 'anna', deleted => $true }, 'delete' or diag $r->{raw};
is $s->get('/sessions', key($anna))->{status}, 403, 'deleted: keys open nothing';
for my $table (qw(asset asset_version document session floor message api_key)) {
	is scalar $s->sql("SELECT count(*) FROM tavern.$table t JOIN tavern.account a ON a.no = t.account_no WHERE NOT a.is_default AND a.id <> '$bert'"), 0,
		"deleted: $table";
	is scalar $s->sql("SELECT count(*) FROM tavern.$table WHERE account_no NOT IN (SELECT no FROM tavern.account)"), 0, "deleted: nothing of it in $table";
}

done_testing;
