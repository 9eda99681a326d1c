#!/usr/bin/env perl
# The log of variables: who wrote what and where in the story; values as of a floor, exact for a branch; optimistic
# revisions; a write without a scope; values over restarts and away from other sessions (B11).
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP;
use Tavern::Stack;
use POSIX ();
use Test::More;

my $s = Tavern::Stack->new;
my ($yes, $no) = (JSON::PP::true, JSON::PP::false);

sub one { scalar $s->sql(@_) }
sub session { return $s->post('/sessions', { title => 'T', @_ })->{json}{data}{id} }
sub respond { my ($sid, $text, %more) = @_; my $r = $s->post("/sessions/$sid/respond", { message => $text, %more }); is $r->{status}, 200, "turn: $text" or diag $r->{raw}; return $r->{json}{data} }
sub put { return $s->put('/variables', {@_}) }
sub put_branch { my ($sid, $branch, $key, $value) = @_; my $r = put(scope => 'branch', session_id => $sid, branch_id => $branch, key => $key, value => $value); ok $r->{status} < 300, "$branch: $key" or diag $r->{raw}; return $r->{json}{data} }
sub vars { my ($sid, $branch) = @_; return { map { $_->{key} => $_->{value} } @{ $s->get("/variables/resolve?session_id=$sid&branch_id=" . ($branch // 'main'))->{json}{data}{resolved} } } }
sub log_of { my ($q) = @_; return @{ $s->get("/variables/log?sort_order=asc&limit=200&$q")->{json}{data} } }
sub past { my ($q) = @_; my $r = $s->get("/variables/as-of?$q"); is $r->{status}, 200, "as of: $q" or diag $r->{raw}; return $r->{json}{data} }
sub nearest { return { map { $_->{key} => $_->{value} } grep { $_->{nearest} } @{ past(@_)->{items} } } }
sub digest { return one("SELECT md5(coalesce((SELECT string_agg(v::text, ',' ORDER BY no) FROM tavern.variable v), '') || coalesce((SELECT string_agg(c::text, ',' ORDER BY no) FROM tavern.var_change c), '') || (SELECT count(*) FROM tavern.event))") }

sub preset {
	my ($text) = @_;
	return $s->post('/import/preset', { name => 'P', data => {
		prompts => [ { identifier => 'main', role => 'system', content => $text, system_prompt => $yes }, { identifier => 'chatHistory', marker => $yes, system_prompt => $yes } ],
		prompt_order => [ { character_id => 100001, order => [ map { { identifier => $_, enabled => $yes } } qw(main chatHistory) ] } ] } })->{json}{data}{id};
}

# ---- who wrote it ----

my $sid = session(preset_id => preset('{{addvar::n::1}}{{setglobalvar::seen::{{getvar::n}}}}'));
put_branch($sid, 'main', 'early', 'x');
my @turn = map { respond($sid, $_) } qw(zero one two);
put_branch($sid, 'main', 'place', 'shore');
put(scope => 'chat', scope_id => $sid, key => 'mood', value => 'calm');
my ($place) = @{ $s->get("/variables?session_id=$sid&key=place")->{json}{data} };
is $s->del("/variables/$place->{id}")->{status}, 200, 'place is deleted';
my @log = log_of("session_id=$sid");
is_deeply [ map { join " ", map { $_ // "" } @$_{qw(scope key op source floor_no)} } @log ],
	[ 'branch early set client -1', (map { ("branch n set macro $_", "global seen set macro $_") } 0 .. 2), 'branch place set client 2', 'chat mood set client ' , 'branch place delete client 2' ]
	=> 'the log has every write in order, with who and where' or diag explain \@log;
is $log[1]{value}, 1, 'its value';
is $log[-1]{value}, undef, 'of a delete none';
is_deeply [ @{ $log[3] }{qw(session_id branch_id floor_id scope_id active)} ], [ $sid, 'main', $turn[1]{floor_id}, "branch:$sid:main", $yes ], 'its place';
ok $log[3]{page_id}, 'the page that wrote';
is $log[0]{page_id}, undef, 'a client has none';
is_deeply [ @{ $log[-2] }{qw(scope_id floor_no branch_id)} ], [ $sid, undef, undef ], 'a client\'s write to the chat is outside of the story';
is_deeply [ map { $_->{floor_no} } log_of("session_id=$sid&scope=branch&key=n") ], [ 0, 1, 2 ], 'filter: scope and key';
is_deeply [ map { $_->{key} } log_of("floor_id=$turn[1]{floor_id}") ], [qw(n seen)], 'filter: floor';
is_deeply [ map { $_->{key} } log_of("page_id=$log[3]{page_id}") ], [qw(n seen)], 'filter: page';
is_deeply [ map { $_->{key} } log_of("session_id=$sid&source=client&floor_no=2") ], [qw(place place)], 'filter: source and floor number';
is scalar(log_of("session_id=$sid&active=false")), 0, 'filter: active';
my $r = $s->get("/variables/log?session_id=$sid&limit=3&offset=1");
is_deeply [ map { "$_->{key} $_->{op}" } @{ $r->{json}{data} } ], [ 'mood set', 'place set', 'seen set' ], 'newest first, in pages';
is $r->{json}{meta}{total}, scalar @log, 'and counted';

# ---- as of a floor ----

put_branch($sid, 'main', 'late', 'only now');
respond($sid, 'three');
put_branch($sid, 'main', 'n', 40);
is_deeply nearest("session_id=$sid&floor_no=0"), { early => 'x', n => 1, seen => 1 }, 'as of floor 0';
is_deeply nearest("session_id=$sid&floor_id=$turn[1]{floor_id}"), { early => 'x', n => 2, seen => 2 }, 'as of floor 1, by its id';
is_deeply nearest("session_id=$sid&floor_no=2"), { early => 'x', n => 3, seen => 3, mood => 'calm', late => 'only now' }, 'as of floor 2: what was written until floor 3 began';
is_deeply nearest("session_id=$sid"), { early => 'x', n => 40, seen => 4, mood => 'calm', late => 'only now' }, 'as of the last floor';
is_deeply nearest("session_id=$sid&floor_no=-1"), { early => 'x' }, 'as of before the first';
is_deeply nearest("session_id=$sid&floor_no=1&key=n"), { n => 2 }, 'one key';
my %item = map { $_->{key} => $_ } @{ past("session_id=$sid&floor_no=2")->{items} };
is_deeply [ map { $item{$_}{exact} } qw(n mood seen) ], [ $yes, $no, $no ], 'of a branch it is exact, of wider scopes not';
is_deeply [ @{ $item{n} }{qw(scope scope_id source floor_no)} ], [ 'branch', "branch:$sid:main", 'macro', 2 ], 'with who wrote it';
for my $bad ([ 'floor_no=9', 404, 'floor_not_found' ], [ 'floor_id=nosuch', 404, 'floor_not_found' ], [ 'branch_id=nosuch', 404, 'branch_not_found' ], [ 'floor_no=x', 400, 'validation_error' ]) {
	$r = $s->get("/variables/as-of?session_id=$sid&$bad->[0]");
	is_deeply [ $r->{status}, $r->{json}{error}{code} ], [ @$bad[ 1, 2 ] ], "as of: $bad->[0]";
}
is $s->get('/variables/as-of?session_id=nosuch')->{status}, 404, 'as of: an unknown session';

# Forks: each has its own past, and what both have in common.
$s->post("/floors/$turn[1]{floor_id}/branch", { branch_id => 'alt' });
put_branch($sid, 'alt', 'n', 100);
respond($sid, 'other two', branch_id => 'alt');
put_branch($sid, 'alt', 'own', 1);
is_deeply { map { $_ => nearest("session_id=$sid&branch_id=alt&floor_no=2")->{$_} } qw(n early own late) }, { n => 101, early => 'x', own => 1, late => undef }, 'fork: as of its own floor';
is nearest("session_id=$sid&branch_id=alt&floor_no=1&key=n")->{n}, 100, 'fork: as of where it began, with what it wrote there';
is nearest("session_id=$sid&branch_id=alt&floor_no=0&key=n")->{n}, 1, 'fork: as of a floor that it inherited';
is nearest("session_id=$sid&floor_no=1&key=n")->{n}, 2, 'fork: the origin is as it was there';
$s->post("/floors/$turn[1]{floor_id}/branch", { branch_id => 'alt2' });
is vars($sid, 'alt2')->{n}, 2, 'fork: another one takes the origin\'s value, not the first fork\'s';
is_deeply [ map { "$_->{key} $_->{source}" } grep { $_->{source} eq 'fork' } log_of("session_id=$sid&branch_id=alt2") ], [ 'early fork', 'n fork' ], 'fork: logged as such';
is $s->get("/variables/as-of?session_id=$sid&branch_id=main&floor_id=" . (log_of("session_id=$sid&branch_id=alt&source=macro"))[0]{floor_id})->{json}{error}{code},
	'floor_not_found', 'fork: its floor is none of main';

# ---- optimistic revisions ----

my $v = put_branch($sid, 'main', 'guarded', 'a');
is $v->{revision}, 0, 'revision: of a new value';
$r = put(scope => 'branch', session_id => $sid, branch_id => 'main', key => 'guarded', value => 'b', expected_revision => 0);
is_deeply [ $r->{status}, $r->{json}{data}{revision} ], [ 200, 1 ], 'revision: the expected one' or diag $r->{raw};
$r = put(scope => 'branch', session_id => $sid, branch_id => 'main', key => 'guarded', value => 'c', expected_revision => 0);
is_deeply [ $r->{status}, $r->{json}{error}{code}, $r->{json}{error}{details}{current_revision} ], [ 409, 'conflict', 1 ], 'revision: a stale one gets the current' or diag $r->{raw};
$r = put(scope => 'branch', session_id => $sid, branch_id => 'main', key => 'never', value => 'c', expected_revision => 3);
is_deeply [ $r->{status}, $r->{json}{error}{details}{current_revision} ], [ 409, undef ], 'revision: of what is not there';
$r = $s->put('/variables/batch', { items => [ { scope => 'chat', scope_id => $sid, key => 'mood', value => 'wild' }, { scope => 'branch', session_id => $sid, branch_id => 'main', key => 'guarded', value => 'd', expected_revision => 0 } ] });
is_deeply [ $r->{status}, $r->{json}{error}{details}{path} ], [ 409, '/items/1/expected_revision' ], 'revision: in a batch, by its item';
is_deeply [ @{ vars($sid) }{qw(guarded mood)} ], [ 'b', 'calm' ], 'revision: nothing of it was stored';
is $s->del("/variables/$v->{id}?expected_revision=0")->{status}, 409, 'revision: of a delete, stale';
is $s->del("/variables/$v->{id}?expected_revision=1")->{status}, 200, 'revision: of a delete';
is vars($sid)->{guarded}, undef, 'and it is gone';

# Two writers at once: one wins each time.
put(scope => 'chat', scope_id => $sid, key => 'race', value => 0);
my @pid;
for my $i (1 .. 3) {
	my $pid = fork // die $!;
	if (!$pid) {
		delete $s->{http};
		my $done = 0;
		while ($done < 10) {
			my ($now) = @{ $s->get("/variables?session_id=$sid&key=race")->{json}{data} };
			my $r = put(scope => 'chat', scope_id => $sid, key => 'race', value => $now->{value} + 1, expected_revision => $now->{revision});
			$done++ if $r->{status} == 200;
			POSIX::_exit(1) if $r->{status} != 200 && $r->{status} != 409;
		}
		POSIX::_exit(0);
	}
	push @pid, $pid;
}
is scalar(grep { waitpid $_, 0; $? } @pid), 0, 'race: nobody fails otherwise';
is vars($sid)->{race}, 30, 'race: no write is lost';

# ---- a write without a scope is its page's ----

my ($out) = grep { $_->{page_kind} eq 'output' } @{ $s->get("/pages?floor_id=$turn[0]{floor_id}")->{json}{data} };
$r = put(scope_id => $out->{id}, key => 'aside', value => 1);
is_deeply [ $r->{status}, $r->{json}{data}{scope}, $r->{json}{data}{scope_id} ], [ 201, 'page', $out->{id} ], 'without a scope: the page';
$r = put(session_id => $sid, key => 'aside', value => 2);
is $r->{status}, 201, 'without anything but a session' or diag $r->{raw};
my ($head) = grep { $_->{latest_floor_no} == 3 && $_->{branch_id} eq 'main' } @{ $s->get("/sessions/$sid/branches")->{json}{data} };
is $s->get("/pages/$r->{json}{data}{scope_id}")->{json}{data}{floor_id}, $head->{latest_floor_id}, 'the page of the last floor';
is put(key => 'aside', value => 2)->{json}{error}{details}[0]{path}, '/scope_id', 'without anything: refused';
is put(session_id => session(), key => 'aside', value => 2)->{status}, 404, 'in a session without floors: 404';
is_deeply [ map { $_->{key} } @{ $s->get("/pages/$out->{id}/variables/staged")->{json}{data}{items} } ], ['aside'], 'the page shows it';
my $draft = $s->post('/floors', { session_id => session(), branch_id => 'main', floor_no => 0 })->{json}{data}{id};
is put(scope => 'floor', scope_id => $draft, key => 'k', value => 1)->{status}, 201, 'a floor that is not committed takes writes';
is put(scope => 'floor', scope_id => $turn[0]{floor_id}, key => 'k', value => 1)->{json}{error}{code}, 'content_target_locked', 'a committed one does not';

# ---- promotion: what a page holds goes to its floor at commit, further up only by the policy ----

for my $case ([ none => 'page floor' ], [ branch => 'page floor branch' ], [ chat => 'page floor branch chat' ]) {
	my ($policy, $scopes) = @$case;
	my $p = session(settings => { variable_promotion => $policy }, model_name => 'm?err=500');
	is $s->post("/sessions/$p/respond", { message => 'x' })->{status}, 502, "promotion $policy: a turn fails";
	my ($failed) = @{ $s->get("/floors?session_id=$p")->{json}{data} };
	is put(session_id => $p, key => 'mark', value => $policy)->{status}, 201, "promotion $policy: a value on its page";
	$s->patch("/sessions/$p", { model_name => 'm' });
	$r = $s->post("/floors/$failed->{id}/retry", {});
	is $r->{status}, 200, "promotion $policy: the floor is committed" or diag $r->{raw};
	is join(' ', map { $_->{scope} } log_of("session_id=$p&key=mark")), $scopes, "promotion $policy: each step is logged";
	is join(' ', sort map { $_->{scope} } @{ $s->get("/variables?session_id=$p&key=mark")->{json}{data} }), join(' ', sort split / /, $scopes), "promotion $policy: and no further";
	is $s->sql("SELECT count(*) FROM tavern.event WHERE name = 'variable.promoted'"), 0, "promotion $policy: no row of their own: the turn's tells them";
	respond($p, 'next');
	is scalar(log_of("session_id=$p&key=mark")), scalar(split / /, $scopes), "promotion $policy: the next turn promotes nothing";
}

# ---- what was promoted stays with the page that held it: another reply of the floor leaves it, another question does not ----

{
	my $p = session(model_name => 'm?err=500', settings => { variable_promotion => 'branch' });
	$s->post("/sessions/$p/respond", { message => 'x' });
	my ($floor) = map { $_->{id} } @{ $s->get("/floors?session_id=$p")->{json}{data} };
	my $held = sub { return join ' ', map { "$_->{scope}=$_->{value}" } sort { $a->{scope} cmp $b->{scope} } grep { $_->{scope} =~ /floor|branch/ } @{ $s->get("/variables?session_id=$p&key=mark")->{json}{data} } };
	my ($input) = map { $_->{id} } @{ $s->get("/pages?floor_id=$floor")->{json}{data} };
	my $again = $s->post('/pages', { floor_id => $floor, page_kind => 'input', page_no => 0, version => 2 })->{json}{data}{id};
	ok $again, 'two versions of what is asked';
	$s->patch("/pages/$input/activate");
	is put(session_id => $p, key => 'mark', value => 'one')->{status}, 201, 'a value on the first';
	$s->patch("/sessions/$p", { model_name => 'm' });
	is $s->post("/floors/$floor/retry", {})->{status}, 200, 'a reply';
	is $held->(), 'branch=one floor=one', 'takes it to the floor and the branch';
	is join(' ', map { $_->{page_id} eq $input ? 'input' : 'reply' } grep { $_->{source} eq 'promotion' } log_of("session_id=$p&key=mark")), 'input input', 'by the page that held it';
	is $s->post("/sessions/$p/regenerate", {})->{status}, 200, 'another reply';
	is $held->(), 'branch=one floor=one', 'leaves it';
	my @replies = sort { $a->{page_no} <=> $b->{page_no} } grep { $_->{page_kind} eq 'output' } @{ $s->get("/pages?floor_id=$floor")->{json}{data} };
	for my $step ([$replies[0]{id}, 'branch=one floor=one'], [$again, ''], [$replies[1]{id}, ''], [$input, 'branch=one floor=one']) {
		my $r = $s->patch("/pages/$step->[0]/activate");
		is $r->{status}, 200, 'a page counts' or diag $r->{raw};
		is $held->(), $step->[1], 'and what it brought: ' . ($step->[1] || 'nothing');
	}
	is_deeply [ $s->invariants ], [], 'invariants hold';
}

# ---- events of clients' writes ----

my @events = $s->sql("SELECT name, data::json->>'scope', data::json->>'key', data::json->>'value' FROM tavern.event WHERE name LIKE 'variable.%' AND data::json->>'key' IN ('place', 'mood') ORDER BY no");
is_deeply \@events, [ [ 'variable.set', 'branch', 'place', 'shore' ], [ 'variable.set', 'chat', 'mood', 'calm' ], [ 'variable.deleted', 'branch', 'place', '' ] ], 'the outbox tells of them';

# ---- B11: persistence, isolation, purity of previews ----

my $b = session(preset_id => preset('{{addvar::gold::3}}'));
respond($b, 'a {{setvar::gold::999}}');
$s->patch("/sessions/$b", { preset_id => preset('{{addvar::gold::2}}{{addvar::note::x}}') });
respond($b, 'b');
is_deeply vars($b), { gold => 5, note => 'x', seen => vars($sid)->{seen} }, 'B11: numbers add, texts append; what a user typed wrote nothing';
$s->stop_tavernd;
$s->start;
is vars($b)->{gold}, 5, 'B11: there after a restart';
is vars(session())->{gold}, undef, 'B11: not in another session';
$s->patch("/sessions/$b", { preset_id => preset('{{incvar::gold}}{{random::a,b}}') });
my $before = digest();
for (1 .. 5) { is $s->post("/sessions/$b/respond/dry-run", { message => 'x {{setvar::gold::1}}' })->{status}, 200, "B11: dry run $_" }
$s->post("/sessions/$b/prompt-runtime/inspect", { message => 'x' });
$s->post("/sessions/$b/prompt-runtime/preview", { text => '{{setvar::gold::7}}' });
is digest(), $before, 'B11: previews leave every value and the log as they were';

done_testing;
