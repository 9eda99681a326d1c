#!/usr/bin/env perl
# Variables: five scopes, what a view of a session resolves to, batches, limits, values kept byte for byte, and what macros
# of a turn write.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP;
use Tavern::Stack;
use Test::More;

my $s = Tavern::Stack->new;
my ($yes, $no) = (JSON::PP::true, JSON::PP::false);

sub one { scalar $s->sql(@_) }
sub put { return $s->put('/variables', ref $_[0] ? $_[0] : {@_}) }
sub session { return $s->post('/sessions', { title => 'T', @_ })->{json}{data}{id} }
sub resolve { my ($q) = @_; return $s->get("/variables/resolve?$q")->{json}{data} }
sub nearest { my ($q) = @_; return { map { $_->{key} => $_->{value} } @{ resolve($q)->{resolved} } } }

# ---- five scopes ----

my $id = session();
my $floor = $s->post('/floors', { session_id => $id, branch_id => 'main', floor_no => 0 })->{json}{data}{id};
my $page = $s->post('/pages', { floor_id => $floor, page_kind => 'output', page_no => 0 })->{json}{data}{id};
ok $floor && $page, 'a draft floor with a page';
my %where = (
	global => { scope_id => 'global' },
	chat   => { scope_id => $id },
	branch => { session_id => $id, branch_id => 'main' },
	floor  => { scope_id => $floor },
	page   => { scope_id => $page },
);
my %scope_id = (global => 'global', chat => $id, branch => "branch:$id:main", floor => $floor, page => $page);
my %var;
for my $scope (qw(global chat branch floor page)) {
	my $r = put(scope => $scope, %{ $where{$scope} }, key => 'k', value => "from $scope");
	is $r->{status}, 201, "$scope: created" or diag $r->{raw};
	my $v = $r->{json}{data};
	is $v->{scope_id}, $scope_id{$scope}, "$scope: scope_id";
	is_deeply $v->{scope_ref}, $scope eq 'branch' ? { session_id => $id, branch_id => 'main' } : undef, "$scope: scope_ref only of branches";
	$var{$scope} = $v->{id};
	my $again = put(scope => $scope, %{ $where{$scope} }, key => 'k', value => "still $scope");
	is $again->{status}, 200, "$scope: replaced";
	is $again->{json}{data}{id}, $v->{id}, "$scope: the same variable";
	is_deeply $s->get("/variables/$v->{id}")->{json}{data}, $again->{json}{data}, "$scope: read as it was answered";
	is_deeply [ map { $_->{id} } @{ $s->get("/variables?scope=$scope")->{json}{data} } ], [ $v->{id} ], "$scope: listed";
	is_deeply [ map { $_->{id} } @{ $s->get("/variables?scope_id=$scope_id{$scope}")->{json}{data} } ], [ $v->{id} ], "$scope: found by its scope";
}
is put(scope => 'branch', scope_id => "branch:$id:main", key => 'k', value => 'x')->{json}{data}{id}, $var{branch}, 'branch: its scope_id names it too';
is put(scope => 'chat', session_id => $id, key => 'k', value => 'still chat')->{json}{data}{id}, $var{chat}, 'chat: its session names it too';
put(scope => 'branch', %{ $where{branch} }, key => 'k', value => 'still branch');
is $s->get("/variables?session_id=$id")->{json}{meta}{total}, 4, 'a session has four';
is $s->get("/variables?branch_id=main")->{json}{meta}{total}, 1, 'a branch one';
is $s->get("/variables?key=k&sort_by=key&sort_order=asc")->{json}{meta}{total}, 5, 'a key five';
for my $bad ({ scope => 'global', key => 'x', value => 1 }, { scope => 'chat', key => 'x', value => 1 }, { scope => 'branch', branch_id => 'main', key => 'x', value => 1 },
	{ scope => 'branch', scope_id => 'nonsense', key => 'x', value => 1 }, { scope => 'page', key => 'x', value => 1 }) {
	my $r = put($bad);
	is $r->{status}, 400, "$bad->{scope}: without its scope_id 400";
	is $r->{json}{error}{code}, 'validation_error', "$bad->{scope}: code";
	like $r->{json}{error}{details}[0]{message}, qr/scope_id|session_id/, "$bad->{scope}: says what is missing";
}
is put(scope => 'global', scope_id => 'global', key => 'x')->{status}, 400, 'without a value: 400';

# ---- resolve ----

my %view = (
	"session_id=$id" => 'chat',
	"session_id=$id&branch_id=main" => 'branch',
	"session_id=$id&branch_id=main&floor_id=$floor" => 'floor',
	"session_id=$id&branch_id=main&floor_id=$floor&page_id=$page" => 'page',
);
for my $q (sort keys %view) {
	my ($r) = @{ resolve($q)->{resolved} };
	is $r->{value}, "still $view{$q}", "resolve: $view{$q} is nearest";
	is $r->{source_scope}, $view{$q}, "resolve: $view{$q} is the source";
	is $r->{source_scope_id}, $scope_id{ $view{$q} }, "resolve: $view{$q} by its id";
}
put(scope => 'global', scope_id => 'global', key => 'b', value => 1);
put(scope => 'chat', scope_id => $id, key => 'a', value => 2);
my $all = resolve("session_id=$id&branch_id=main&floor_id=$floor&page_id=$page&include_layers=true");
is_deeply [ map { $_->{key} } @{ $all->{resolved} } ], [qw(a b k)], 'resolve: each key once, in order';
is_deeply [ sort keys %{ $all->{layers} } ], [qw(branch chat floor global page)], 'resolve: five layers';
is_deeply [ map { $_->{key} } @{ $all->{layers}{chat}{items} } ], [qw(a k)], 'resolve: a layer has its own';
is_deeply $all->{layers}{branch}{scope_ref}, { session_id => $id, branch_id => 'main' }, 'resolve: the branch by its parts';
is $all->{context}{page_id}, $page, 'resolve: the context';
is $all->{context}{global_scope_id}, 'global', 'resolve: the global scope';
is resolve("session_id=$id")->{layers}, undef, 'resolve: layers only on request';
is_deeply [ sort keys %{ resolve("session_id=$id&include_layers=true")->{layers} } ], [qw(chat global)], 'resolve: only the layers of the view';
my $other = session();
is_deeply nearest("session_id=$other&floor_id=$floor&page_id=$page"), { b => 1, k => 'still global' }, 'resolve: another session sees only what is global';
is $s->get('/variables/resolve')->{status}, 400, 'resolve: a session is required';

# ---- delete ----

is $s->del("/variables/$var{page}")->{json}{data}{deleted}, $yes, 'a variable is deleted';
is $s->get("/variables/$var{page}")->{json}{error}{code}, 'variable_not_found', 'and gone';
is nearest("session_id=$id&branch_id=main&floor_id=$floor&page_id=$page")->{k}, 'still floor', 'what lay below it shows';
is $s->del("/variables/$var{page}")->{status}, 404, 'deleting it again: 404';

# ---- batches: all or none ----

my $r = $s->put('/variables/batch', { items => [ { scope => 'chat', scope_id => $id, key => 'n1', value => 1 },
	{ scope => 'global', scope_id => 'global', key => 'b', value => [1] }, { scope => 'chat', scope_id => $id, key => 'n1', value => 2 } ] });
is $r->{status}, 200, 'batch: 200';
is_deeply [ map { $_->{action} } @{ $r->{json}{data}{results} } ], [qw(created updated updated)], 'batch: actions in order';
is_deeply $r->{json}{data}{meta}, { total => 3, created => 1, updated => 2 }, 'batch: meta';
is nearest("session_id=$id")->{n1}, 2, 'batch: the last of a key stays';
$r = $s->put('/variables/batch', { items => [ { scope => 'chat', scope_id => $id, key => 'n2', value => 1 }, { scope => 'chat', scope_id => 'nosuch', key => 'n3', value => 1 } ] });
is $r->{status}, 404, 'batch: one unknown scope refuses it';
is nearest("session_id=$id")->{n2}, undef, 'batch: and nothing of it is stored';
$r = $s->put('/variables/batch', { items => [ { scope => 'global', key => 'a', value => 1 }, { scope => 'page', key => 'b', value => 1 } ] });
is_deeply [ map { $_->{path} } @{ $r->{json}{error}{details} } ], [qw(/items/0/scope_id /items/1/scope_id)], 'batch: every fault is listed';

# ---- values byte for byte ----

for my $value ('1e3', '1E+03', '12345678901234567890123', '-0', '-0.0', '1.0', '0.10000000000000000001', '{"a":1,"a":2}', '{ "b" : 1 , "a" : [ ] }', 'null', 'true', '""',
	'"\\u0041\\/\\n"', '"\\ud83d\\ude00"', "\"\xe2\x82\xac\"", '[1,  2]', '{"":{"":{}}}') {
	my $r = $s->put('/variables', qq({"scope":"chat","scope_id":"$id","key":"raw","value": $value }));
	my $shown = $value =~ /[^ -~]/ ? 'text' : $value;
	ok $r->{status} == 200 || $r->{status} == 201, "$shown: stored" or diag $r->{raw};
	my $vid = $r->{json}{data}{id};
	like $r->{raw}, qr/"value":\Q$value\E,"updated_at"/, "$shown: in the answer";
	like $s->get("/variables/$vid")->{raw}, qr/"value":\s?\Q$value\E,/, "$shown: read";
	like $s->get('/variables?key=raw')->{raw}, qr/"value":\s?\Q$value\E,/, "$shown: listed";
	like $s->get("/variables/resolve?session_id=$id")->{raw}, qr/"value":\Q$value\E,/, "$shown: resolved";
	$s->put('/variables/batch', qq({"items":[{"scope":"chat","scope_id":"$id","key":"raw","value":0},{"value":$value,"scope":"chat","scope_id":"$id","key":"raw"}]}));
	is one('SELECT value FROM tavern.variable WHERE id = :\'id\'', id => $vid) // '', $value, "$shown: by a batch";
}
$r = $s->put('/variables', qq({"scope":"chat","scope_id":"$id","key":"raw","value":1,"value":2e0}));
like $r->{raw}, qr/"value":2e0,/, 'of a member twice the last counts';

# ---- limits ----

my $full = session();
for my $from (map { $_ * 100 } 0 .. 9) {
	my $r = $s->put('/variables/batch', { items => [ map { { scope => 'chat', scope_id => $full, key => "v$_", value => $_ } } $from .. $from + 99 ] });
	is $r->{status}, 200, "limit: variables $from to " . ($from + 99) or diag $r->{raw};
}
$r = put(scope => 'chat', scope_id => $full, key => 'one too many', value => 1);
is $r->{status}, 400, 'limit: the 1001st is refused';
is $r->{json}{error}{code}, 'too_many_variables', 'limit: code';
is $r->{json}{error}{details}{path}, '/key', 'limit: the field';
is $s->put('/variables/batch', { items => [ map { { scope => 'chat', scope_id => $full, key => $_, value => 1 } } 'v1', 'over' ] })->{json}{error}{details}{path},
	'/items/1/key', 'limit: the field, in a batch';
is put(scope => 'chat', scope_id => $full, key => 'v999', value => 'new')->{status}, 200, 'limit: the 1000th can still be written';
is put(scope => 'branch', session_id => $full, branch_id => 'main', key => 'x', value => 1)->{status}, 201, 'limit: it is per scope';

my $big = session();
my $half = 512 * 1024;
sub text { my ($bytes) = @_; return 'x' x ($bytes - 2) }       # a JSON text of so many bytes
is put(scope => 'chat', scope_id => $big, key => 'a', value => text($half))->{status}, 201, 'size: the first half';
is put(scope => 'chat', scope_id => $big, key => 'b', value => text($half))->{status}, 201, 'size: the second half fits exactly';
$r = put(scope => 'chat', scope_id => $big, key => 'c', value => 1);
is $r->{status}, 400, 'size: a byte more is refused';
is $r->{json}{error}{code}, 'variables_too_big', 'size: code';
is $r->{json}{error}{details}{path}, '/value', 'size: the field';
is put(scope => 'chat', scope_id => $big, key => 'b', value => text($half + 1))->{status}, 400, 'size: nor may a value grow';
is put(scope => 'chat', scope_id => $big, key => 'b', value => text($half))->{status}, 200, 'size: a value of the same size replaces';
is put(scope => 'global', scope_id => 'global', key => 'k' x 1024, value => 1)->{status}, 201, 'key of 1024 bytes';

# ---- macros of a turn write ----

sub preset {
	my ($name, $text) = @_;
	return $s->post('/import/preset', { name => $name, data => {
		prompts => [ { identifier => 'main', role => 'system', content => $text, system_prompt => $yes }, { identifier => 'chatHistory', marker => $yes, system_prompt => $yes } ],
		prompt_order => [ { character_id => 100001, order => [ map { { identifier => $_, enabled => $yes } } qw(main chatHistory) ] } ] } })->{json}{data}{id};
}
sub respond { my ($sid, %more) = @_; return $s->post("/sessions/$sid/respond", { message => 'Hi.', %more }) }
sub sent { return join "\n", map { $_->{content} } @{ $s->mock_last->{messages} } }

my $macros = preset('M', 'Before: [{{getvar::mood}}|{{getvar::n}}|{{getglobalvar::seen}}].{{setvar::mood::glad}}{{addvar::n::1}}{{setglobalvar::seen::yes}} After: [{{getvar::mood}}|{{getvar::n}}].');
my $m = session(preset_id => $macros);
put(scope => 'branch', session_id => $m, branch_id => 'main', key => 'mood', value => 'sad');
is $s->post("/sessions/$m/respond/dry-run", { message => 'Hi.' })->{status}, 200, 'macros: dry run';
is nearest("session_id=$m&branch_id=main")->{mood}, 'sad', 'macros: a dry run writes nothing';
$s->patch("/sessions/$m", { model_name => 'm?err=500' });
is respond($m)->{status}, 502, 'macros: a turn fails';
is nearest("session_id=$m&branch_id=main")->{mood}, 'sad', 'macros: a failed turn writes nothing';
is one("SELECT count(*) FROM tavern.var_change WHERE source = 'macro'"), 0, 'macros: and logs nothing';
is_deeply [ map { $_->{key} } grep { $_->{key} eq 'seen' } @{ $s->get('/variables?scope=global')->{json}{data} } ], [], 'macros: nor global ones';
$s->patch("/sessions/$m", { model_name => 'm' });
$r = respond($m);
is $r->{status}, 200, 'macros: a turn' or diag $r->{raw};
like sent(), qr/Before: \[sad\|\|\]\. After: \[glad\|1\]\./, 'macros: seen in the same prompt';
my $now = nearest("session_id=$m&branch_id=main");
is $now->{mood}, 'glad', 'macros: committed';
is $now->{n}, 1, 'macros: also what was added';
is $now->{seen}, 'yes', 'macros: also global ones';
my %source = map { $_->{key} => $_->{source_scope} } @{ resolve("session_id=$m&branch_id=main")->{resolved} };
is_deeply [ @source{qw(mood n seen)} ], [qw(branch branch global)], 'macros: local ones to the branch, global ones to the account';
is_deeply [ map { "@$_" } $s->sql("SELECT key, scope, source FROM tavern.var_change WHERE source = 'macro' ORDER BY no") ],
	[ 'mood branch macro', 'n branch macro', 'seen global macro' ], 'macros: logged in order, with their source';
is one("SELECT count(*) FROM tavern.var_change WHERE source = 'macro' AND (page_no IS NULL OR segment_no IS NULL OR floor_seq IS NULL)"), 0, 'macros: with their place';
respond($m);
like sent(), qr/Before: \[glad\|1\|yes\]\. After: \[glad\|2\]\./, 'macros: the next prompt reads them';
is nearest("session_id=$m&branch_id=main")->{n}, 2, 'macros: and counts on';
my ($last) = @{ $s->get("/floors?session_id=$m&sort_by=floor_no")->{json}{data} };
my ($out) = grep { $_->{page_kind} eq 'output' } @{ $s->get("/pages?floor_id=$last->{id}")->{json}{data} };
$r = $s->get("/pages/$out->{id}/variables/promotions");
is_deeply [ map { "$_->{key} $_->{to_scope} $_->{source_kind}" } @{ $r->{json}{data}{items} } ], [ 'mood branch macro', 'n branch macro', 'seen global macro' ], 'macros: shown with the page';
is_deeply $s->get("/pages/$out->{id}/variables/staged")->{json}{data}{items}, [], 'macros: nothing of the page alone';

# Another page of the last floor: what the old one wrote goes, what the new one wrote comes.
my ($floor_no, $account) = split /\|/, one("SELECT floor_no || '|' || account_no FROM tavern.page WHERE id = :'id'", id => $out->{id});
$s->sql("WITH p AS (INSERT INTO tavern.page (account_no, id, floor_no, kind, page_seq, created_at, updated_at) VALUES ($account, 'other-page', $floor_no, 'output', 2, 1, 1) RETURNING no) "
	. "INSERT INTO tavern.var_change (account_no, id, session_no, segment_no, floor_seq, page_no, active, scope, scope_no, key, new_value, source, created_at) "
	. "SELECT c.account_no, 'other-' || x.key, c.session_no, c.segment_no, c.floor_seq, p.no, false, 'branch', c.scope_no, x.key, x.value, 'macro', 1 FROM p, "
	. "(SELECT DISTINCT account_no, session_no, segment_no, floor_seq, scope_no FROM tavern.var_change WHERE page_no = (SELECT no FROM tavern.page WHERE id = :'out') AND scope = 'branch') c, "
	. "(VALUES ('mood', '\"calm\"'), ('new', '\"of the other\"')) x (key, value)", out => $out->{id});
is $s->patch('/pages/other-page/activate')->{status}, 200, 'pages: the other one is activated';
$now = nearest("session_id=$m&branch_id=main");
is_deeply [ @$now{qw(mood n new seen)} ], ['calm', 1, 'of the other', 'yes'], 'pages: its writes count, those of the first do not; global ones stay';
is $s->patch("/pages/$out->{id}/activate")->{status}, 200, 'pages: and back';
$now = nearest("session_id=$m&branch_id=main");
is_deeply [ @$now{qw(mood n new seen)} ], ['glad', 2, undef, 'yes'], 'pages: as it was';
respond($m);
like sent(), qr/Before: \[glad\|2\|yes\]\. After: \[glad\|3\]\./, 'pages: the next turn goes on from there';

# Names that cannot be stored: the macro is refused, the turn is not.
my $long = 'n' x 1025;
my $odd = session(preset_id => preset('O', "{{setvar::${long}::x}}{{setvar::::x}}{{setvar:: ::x}}{{setvar::" . 'o' x 1024 . '::fits}}'));
$r = respond($odd);
is $r->{status}, 200, 'macros: a name of 1025 bytes does not fail the turn' or diag $r->{raw};
is nearest("session_id=$odd&branch_id=main")->{ 'o' x 1024 }, 'fits', 'macros: one of 1024 is stored';
is nearest("session_id=$odd&branch_id=main")->{$long}, undef, 'macros: the longer one is not';

# The values of clients as macros print them.
my $show = session(preset_id => preset('S', 'Now: [{{getvar::v}}].'));
for my $case ([ '1e3', '1000' ], [ '"007"', '007' ], [ 'true', 'true' ], [ '{"a":1}', '{"a":1}' ]) {
	my ($value, $text) = @$case;
	$s->put('/variables', qq({"scope":"branch","session_id":"$show","branch_id":"main","key":"v","value":$value}));
	my $dry = $s->post("/sessions/$show/respond/dry-run", { message => 'x' })->{json}{data}{messages};
	like join(' ', map { $_->{content} } @$dry), qr/Now: \[(?:\Q$text\E|\Q$value\E)\]\./, "prompt: $value";
}

# ---- floors and pages lock ----

$r = put(scope => 'floor', scope_id => $last->{id}, key => 'k', value => 1);
is $r->{status}, 409, 'a committed floor refuses writes';
is $r->{json}{error}{code}, 'content_target_locked', 'with its code';

# ---- a deleted session takes its variables along ----

is $s->del("/sessions/$m")->{status}, 200, 'the session is deleted';
is $s->get("/variables?session_id=$m")->{json}{meta}{total}, 0, 'its variables are gone';
is $s->get("/variables/resolve?session_id=$m")->{status}, 404, 'nothing resolves in it';
is put(scope => 'chat', scope_id => $m, key => 'k', value => 1)->{status}, 404, 'nor can one be written';
is put(scope => 'page', scope_id => $out->{id}, key => 'k', value => 1)->{status}, 404, 'nor on one of its pages';

is_deeply [$s->invariants], [], 'invariants hold';
done_testing;
