#!/usr/bin/env perl
# Every route of /openapi.json as its owner's neighbour, as nobody, with a wrong key, and as a plain user where an
# administrator is asked for. What belongs to another account does not exist.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP;
use Tavern::Stack;
use Test::More;

my $s = Tavern::Stack->new(conf => { auth_mode => 'api_key', account_mode => 'multi', api_keys => 'key-alice:alice,key-bob:bob,key-admin' });
my %as = map { $_ => { headers => { 'x-api-key' => "key-$_" } } } qw(alice bob admin);

is $s->post('/accounts', { id => $_, name => $_ }, %{ $as{admin} })->{status}, 201, "account $_" for qw(alice bob);

# ---- things of alice ----

sub made { my ($path, $body, $method) = @_; my $r = $s->request($method // 'POST', $path, $body, %{ $as{alice} }); ok $r->{status} =~ /^20[012]$/, "alice: $path" or diag $r->{raw}; return $r->{json}{data} }
my $preset = made('/import/preset', { name => 'P', data => { prompts => [ { identifier => 'main', role => 'system', content => 'x', system_prompt => JSON::PP::true } ], prompt_order => [ { character_id => 100001, order => [ { identifier => 'main', enabled => JSON::PP::true } ] } ] } })->{id};
my $book = made('/import/worldbook', { name => 'W', data => { entries => { 0 => { uid => 0, key => ['a'], content => 'b' } } } })->{id};
my $regex = made('/import/regex', { name => 'R', data => [ { scriptName => 's', findRegex => '/a/', replaceString => 'b', placement => [1] } ] })->{id};
my $character = made('/import/character', { payload => { spec => 'chara_card_v2', spec_version => '2.0', data => { name => 'C', first_mes => 'Hi.' } } });
my $user = made('/users', { snapshot => { name => 'U' } })->{id};
my $session = made('/sessions', { title => 'S', character_id => $character->{character_id} })->{id};
my ($floor) = map { $_->{id} } @{ $s->get("/floors?session_id=$session", %{ $as{alice} })->{json}{data} };
my ($page) = map { $_->{id} } @{ $s->get("/pages?floor_id=$floor", %{ $as{alice} })->{json}{data} };
my ($message) = map { $_->{id} } @{ $s->get("/messages?page_id=$page", %{ $as{alice} })->{json}{data} };
made("/floors/$floor/branch", { branch_id => 'alt' });
my $variable = made('/variables', { scope => 'chat', scope_id => $session, key => 'k', value => 1 }, 'PUT')->{id};

my $transfer = made("/export/chat/$session/jobs", { format => 'thchat' })->{job_id};

# What an {id} means, by the beginning of the path.
my @ids = (
	[ qr{^/presets/|^/export/preset/} => $preset ], [ qr{^/worldbooks/|^/export/worldbook/} => $book ], [ qr{^/regex-profiles/|^/export/regex/} => $regex ],
	[ qr{^/characters/|^/export/character/} => $character->{character_id} ], [ qr{^/users/} => $user ], [ qr{^/sessions/} => $session ],
	[ qr{^/floors/} => $floor ], [ qr{^/pages/} => $page ], [ qr{^/messages/} => $message ], [ qr{^/variables/} => $variable ],
	[ qr{^/accounts/} => 'alice' ], [ qr{^/export/chat/} => $session ], [ qr{^/chat-transfer-jobs/} => $transfer ], [ qr{^/branches/} => 'alt' ],
);
my %inner = (versionId => $character->{character_version_id}, identifier => 'main', key_id => 'none', branchId => 'main');

# Bodies that pass validation, so that the answer is about the thing and not about the body.
my %body = (
	'PUT /presets/{id}' => { name => 'x', editor => { entries => [], order_contexts => [], top_level => {}, default_character_id => 100001 } },
	'PUT /worldbooks/{id}' => { name => 'x', data => { entries => {} } }, 'PUT /regex-profiles/{id}' => { name => 'x', data => [] },
	'POST /characters/{id}/versions' => { snapshot => { name => 'x' } }, 'PATCH /users/{id}' => { status => 'disabled' }, 'PATCH /sessions/{id}' => { title => 'x' },
	'POST /messages/{id}/edit-and-regenerate' => { content => 'x' }, 'POST /messages/{id}/edit-and-regenerate/stream' => { content => 'x' },
	'POST /sessions/{id}/respond' => { message => 'x' }, 'POST /sessions/{id}/respond/stream' => { message => 'x' },
	'POST /sessions/{id}/respond/dry-run' => { message => 'x' }, 'PATCH /floors/{id}' => { parent_floor_id => 'x' }, 'PATCH /pages/{id}' => { page_no => 1 },
	'PATCH /messages/{id}' => { is_hidden => JSON::PP::true }, 'POST /presets/{preset_id}/entries' => { identifier => 'n' },
	'POST /presets/{preset_id}/entries/batch/delete' => { identifiers => ['main'] },
	'PATCH /presets/{preset_id}/entries/batch/update' => { identifiers => ['main'], fields => { content => 'x' } },
	'PUT /presets/{preset_id}/entries/reorder' => { identifiers => ['main'] }, 'PATCH /presets/{preset_id}/entries/{identifier}' => { content => 'x' },
	'POST /worldbooks/{worldbook_id}/entries' => { content => 'x', keys => ['k'] }, 'POST /worldbooks/{worldbook_id}/entries/batch/delete' => { ids => ['0'] },
	'PUT /worldbooks/{worldbook_id}/entries/batch/reorder' => { items => [ { id => '0', order => 1 } ] },
	'PATCH /worldbooks/{worldbook_id}/entries/batch/update' => { ids => ['0'], fields => { content => 'x' } },
	'PATCH /worldbooks/{worldbook_id}/entries/{id}' => { content => 'x' },
	'PATCH /presets/{id}/nodes' => { nodes => [ { identifier => 'main', enabled => JSON::PP::true } ] }, 'POST /worldbooks/{id}/simulate' => { text => 'x' },
	'PATCH /sessions/{id}/prompt-runtime/mode' => { prompt_mode => 'native' }, 'POST /sessions/{id}/prompt-runtime/preview' => { text => 'x' },
	'POST /sessions/{id}/prompt-runtime/inspect' => { message => 'x' },
	'POST /sessions/{id}/prompt-runtime/compare' => { left => { floor_id => $floor }, right => { floor_id => $floor } },
);

my %query = ('GET /pages/{id}/compare' => 'with=x', 'GET /sessions/{id}/branches/diff' => 'target_branch_id=alt');

my $doc = $s->get('/openapi.json')->{json};
my $count = 0;
for my $path (sort keys %{ $doc->{paths} }) {
	for my $method (sort map { uc } grep { $_ ne 'parameters' } keys %{ $doc->{paths}{$path} }) {
		my $op = "$method $path";
		my $public = $path =~ m{^/(health|version|metrics|docs|openapi)};
		my ($id) = map { $_->[1] } grep { $path =~ $_->[0] } @ids;
		my $admin = $path =~ m{^/accounts};
		my $first = 1;
		(my $url = $path) =~ s/\{(\w+)\}/my $n = $1; my $v = $first && $n !~ m{^(versionId|identifier|key_id|branchId)$} ? $id : $inner{$n} \/\/ '0'; $first = 0; $v \/\/ 'none'/ge;
		$url .= "?$query{$op}" if $query{$op};
		my $body = $body{$op} // ($method eq 'GET' || $method eq 'DELETE' ? undef : {});
		$count++;
		next if $public;

		my $r = $s->request($method, $url, $body);
		is $r->{status}, 401, "$op: nobody gets 401";
		is $r->{json}{error}{code}, 'auth_required', "$op: in the envelope";
		is $s->request($method, $url, $body, headers => { 'x-api-key' => 'wrong' })->{status}, 403, "$op: a wrong key gets 403";
		if ($admin) {
			$r = $s->request($method, $url, $body, %{ $as{bob} });
			is $r->{status}, 403, "$op: a plain user gets 403";
			is $r->{json}{error}{code}, 'account_forbidden', "$op: with its code";
			next;
		}
		next unless $path =~ /\{/ && defined $id && $path !~ m{^/sessions/batch|/batch/};
		$r = $s->request($method, $url, $body, %{ $as{bob} });
		if ($path =~ m{/(respond|regenerate|retry|edit-and-regenerate)/stream$}) { like $r->{raw}, qr/event: error.*_?not_found/s, "$op: the neighbour's stream says not found" }
		else { is $r->{status}, 404, "$op: the neighbour gets 404" or diag $r->{raw} }
	}
}
ok $count > 60, "$count operations were walked";

# ---- lists, batches, references ----

for my $list (qw(/presets /worldbooks /regex-profiles /characters /users /sessions /floors /pages /messages /variables /chat-transfer-jobs)) {
	is_deeply $s->get($list, %{ $as{bob} })->{json}{data}, [], "$list: the neighbour sees nothing";
}
my $r = $s->post('/sessions/batch/delete', { ids => [$session] }, %{ $as{bob} });
is $r->{json}{data}{results}[0]{action}, 'not_found', 'batch delete does not reach over';
is $s->post('/sessions', { character_id => $character->{character_id} }, %{ $as{bob} })->{status}, 404, 'a session cannot bind a neighbour\'s character';
is $s->post('/sessions', { preset_id => $preset }, %{ $as{bob} })->{status}, 404, 'nor a neighbour\'s preset';
is $s->put('/variables', { scope => 'chat', scope_id => $session, key => 'k', value => 2 }, %{ $as{bob} })->{status}, 404, 'nor write a neighbour\'s variable';
is $s->get("/sessions/$session", %{ $as{alice} })->{status}, 200, 'everything of alice is still there';
is $s->get("/variables/$variable", %{ $as{alice} })->{json}{data}{value}, 1, 'and unchanged';

# ---- disabled and deleted accounts ----

is $s->patch('/accounts/bob', { status => 'disabled' }, %{ $as{admin} })->{status}, 200, 'bob is disabled';
is $s->get('/sessions', %{ $as{bob} })->{status}, 403, 'a disabled account is refused';
is $s->del('/accounts/bob', %{ $as{admin} })->{status}, 200, 'bob is deleted';
$r = $s->get('/sessions', %{ $as{bob} });
is $r->{status}, 401, 'a key of a missing account gets 401';
is $r->{json}{error}{code}, 'auth_account_not_found', 'with its code';
is $s->get('/sessions', headers => { authorization => 'Bearer key-alice' })->{status}, 200, 'a key works as a bearer token';

done_testing;
