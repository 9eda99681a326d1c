#!/usr/bin/env perl
# Floors and forks: a story grows and shrinks only at its end, and a branch changes nothing of what it came from.
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
sub session { return $s->post('/sessions', { title => 'T', @_ })->{json}{data}{id} }
sub respond { my ($sid, $text, %more) = @_; my $r = $s->post("/sessions/$sid/respond", { message => $text, %more }); is $r->{status}, 200, "turn: $text" or diag $r->{raw}; return $r->{json}{data} }
sub timeline { my ($sid, $branch) = @_; return @{ $s->get("/sessions/$sid/timeline" . ($branch ? "?branch_id=$branch" : ''))->{json}{data}{floors} } }
sub said { return join ' ', map { $_->{messages}[0]{content} } timeline(@_) }
sub sent { return join ' ', map { $_->{content} } grep { $_->{role} eq 'user' } @{ $s->mock_last->{messages} } }
sub vars { my ($sid, $branch) = @_; return { map { $_->{key} => $_->{value} } @{ $s->get("/variables/resolve?session_id=$sid&branch_id=$branch")->{json}{data}{resolved} } } }
sub put { my ($sid, $branch, $key, $value) = @_; return $s->put('/variables', { scope => 'branch', session_id => $sid, branch_id => $branch, key => $key, value => $value })->{json}{data}{id} }

sub refused {
	my ($label, $r, $status, $code) = @_;

	is $r->{status}, $status, "$label: $status" or diag $r->{raw};
	is $r->{json}{error}{code}, $code, "$label: $code";
}

# ---- a client's own floors ----

my $id = session();
my $r = $s->post('/floors', { session_id => $id, branch_id => 'main', floor_no => 0, token_in => 3 });
is $r->{status}, 201, 'a floor is put on an empty branch' or diag $r->{raw};
my $f0 = $r->{json}{data};
is $f0->{state}, 'draft', 'a draft by default';
is_deeply [ @$f0{qw(session_id branch_id floor_no parent_floor_id token_in token_out superseded_at superseded_by_floor_id)} ],
	[ $id, 'main', 0, undef, 3, 0, undef, undef ], 'its members';
is_deeply $s->get("/floors/$f0->{id}")->{json}{data}, $f0, 'read as it was answered';
refused('the same number again', $s->post('/floors', { session_id => $id, branch_id => 'main', floor_no => 0 }), 409, 'floor_no_conflict');
refused('a number too high', $s->post('/floors', { session_id => $id, branch_id => 'main', floor_no => 2 }), 409, 'floor_no_conflict');
refused('state generating', $s->post('/floors', { session_id => $id, branch_id => 'main', floor_no => 1, state => 'generating' }), 400, 'validation_error');
refused('an unknown branch', $s->post('/floors', { session_id => $id, branch_id => 'nosuch', floor_no => 0 }), 404, 'branch_not_found');
my $f1 = $s->post('/floors', { session_id => $id, branch_id => 'main', floor_no => 1, state => 'committed' })->{json}{data};
is $f1->{parent_floor_id}, $f0->{id}, 'the parent is the floor below';
is $f1->{state}, 'committed', 'a committed one';
for my $field ([ state => 'draft' ], [ token_in => 1 ], [ token_out => 1 ]) {
	refused("patch of $field->[0]", $s->patch("/floors/$f1->{id}", { @$field }), 400, 'floor_patch_restricted_field');
}
for my $field ([ floor_no => 7 ], [ branch_id => 'other' ], [ session_id => 'other' ]) {
	refused("patch of $field->[0]", $s->patch("/floors/$f1->{id}", { @$field }), 409, 'content_target_locked');
}
is $s->patch("/floors/$f1->{id}", { floor_no => 1, branch_id => 'main', session_id => $id })->{status}, 200, 'what is as it was may be said';
is $s->patch("/floors/$f1->{id}", { parent_floor_id => $f0->{id} })->{json}{data}{parent_floor_id}, $f0->{id}, 'the parent may be set';
is_deeply $s->get("/floors/$f1->{id}")->{json}{data}{state}, 'committed', 'refused patches changed nothing';

# ---- lists ----

is $s->get("/floors?session_id=$id")->{json}{meta}{total}, 2, 'list: by session';
is $s->get("/floors?session_id=$id&state=draft")->{json}{meta}{total}, 1, 'list: by state';
is $s->get("/floors?session_id=$id&branch_id=other")->{json}{meta}{total}, 0, 'list: by branch';
is_deeply [ map { $_->{floor_no} } @{ $s->get("/floors?session_id=$id&sort_by=floor_no&sort_order=asc")->{json}{data} } ], [ 0, 1 ], 'list: upwards';
is_deeply [ map { $_->{floor_no} } @{ $s->get("/floors?session_id=$id&sort_by=floor_no&limit=1")->{json}{data} } ], [1], 'list: downwards by default';
is $s->get("/floors?session_id=$id&limit=1")->{json}{meta}{has_more}, $yes, 'list: has more';

# ---- only the end can be deleted ----

refused('delete of a floor with successors', $s->del("/floors/$f0->{id}"), 409, 'content_target_locked');
is $s->del("/floors/$f1->{id}")->{json}{data}{deleted}, $yes, 'the head is deleted';
is $s->get("/floors/$f1->{id}")->{status}, 404, 'and gone';
is $s->del("/floors/$f0->{id}")->{status}, 200, 'then the one below';
is $s->post('/floors', { session_id => $id, branch_id => 'main', floor_no => 0 })->{status}, 201, 'and the numbers begin again';
$s->patch("/sessions/$id", { status => 'archived' });
refused('an archived session', $s->post('/floors', { session_id => $id, branch_id => 'main', floor_no => 1 }), 409, 'session_archived');

# ---- a fork ----

my $preset = $s->post('/import/preset', { name => 'P', data => {
	prompts => [ { identifier => 'main', role => 'system', content => '{{addvar::n::1}}n={{getvar::n}}', system_prompt => $yes }, { identifier => 'chatHistory', marker => $yes, system_prompt => $yes } ],
	prompt_order => [ { character_id => 100001, order => [ map { { identifier => $_, enabled => $yes } } qw(main chatHistory) ] } ] } })->{json}{data}{id};
my $sid = session(preset_id => $preset);
put($sid, 'main', 'early', 'before the first floor');
respond($sid, 'zero');
put($sid, 'main', 'place', 'shore');
put($sid, 'main', 'early', 'after floor 0');
my $gone = put($sid, 'main', 'gone', 'still here');
my $one = respond($sid, 'one');
put($sid, 'main', 'place', 'lighthouse');
put($sid, 'main', 'late', 1);
is $s->del("/variables/$gone")->{status}, 200, 'a variable is deleted after floor 1';
respond($sid, 'two');
is_deeply vars($sid, 'main'), { early => 'after floor 0', place => 'lighthouse', late => 1, n => 3 }, 'main: its variables';
my $before = one("SELECT md5(string_agg(m::text, ',' ORDER BY no)) FROM tavern.message m");

$r = $s->post("/floors/$one->{floor_id}/branch", { branch_id => 'alt' });
is $r->{status}, 201, 'fork at floor 1' or diag $r->{raw};
is_deeply $r->{json}{data}, { branch_id => 'alt', source_floor_id => $one->{floor_id}, source_floor_no => 1, session_id => $sid }, 'fork: the answer';
is said($sid, 'alt'), 'zero one', 'fork: the story up to there';
is said($sid), 'zero one two', 'fork: main has all of it';
is_deeply vars($sid, 'alt'), { early => 'after floor 0', place => 'lighthouse', late => 1, n => 2 }, 'fork: variables as they were when the next floor began';
refused('the name again', $s->post("/floors/$one->{floor_id}/branch", { branch_id => 'alt' }), 409, 'branch_exists');
refused('main again', $s->post("/floors/$one->{floor_id}/branch", { branch_id => 'main' }), 409, 'branch_exists');
refused('a name of 101 characters', $s->post("/floors/$one->{floor_id}/branch", { branch_id => 'b' x 101 }), 400, 'validation_error');
my ($zero) = grep { $_->{floor_no} == 0 } timeline($sid);
$r = $s->post("/floors/$zero->{id}/branch");
is $r->{status}, 201, 'fork at floor 0 without a body or a name' or diag $r->{raw};
my $third = $r->{json}{data}{branch_id};
like $third, qr/^branch-[A-Za-z0-9_-]{8}$/, 'fork: a generated name';
is_deeply vars($sid, $third), { early => 'after floor 0', place => 'shore', gone => 'still here', n => 1 }, 'fork at floor 0: what changed later is as it was then';

my $turn = respond($sid, 'other two', branch_id => 'alt');
is $turn->{floor_no}, 2, 'fork: its first own floor is 2';
is $turn->{branch_id}, 'alt', 'fork: on its branch';
like sent(), qr/zero one other two$/, 'fork: the prompt holds its own story';
is $s->get("/floors/$turn->{floor_id}")->{json}{data}{parent_floor_id}, $one->{floor_id}, 'fork: the parent of its first floor is where it began';
is said($sid, 'alt'), 'zero one other two', 'fork: its story goes on';
is said($sid), 'zero one two', 'fork: main does not change';
is one("SELECT md5(string_agg(m::text, ',' ORDER BY no)) FROM tavern.message m WHERE floor_seq <= 1 OR segment_no = (SELECT min(segment_no) FROM tavern.message x WHERE x.content = 'zero')"), $before,
	'fork: no message of main was touched';
is vars($sid, 'alt')->{n}, 3, 'fork: its variables go on';
put($sid, 'alt', 'place', 'sea');
is vars($sid, 'main')->{place}, 'lighthouse', 'fork: and leave those of main alone';
is vars($sid, 'main')->{n}, 3, 'fork: also those of macros';
respond($sid, 'three');
like sent(), qr/zero one two three$/, 'main: its prompt holds nothing of the fork';
is said($sid, 'alt'), 'zero one other two', 'main: nor does the fork see what main goes on with';
respond($sid, 'other one', branch_id => $third);
like sent(), qr/zero other one$/, 'a second fork: its own story';

# A fork of a fork, also of a floor that the fork only inherited.
$r = $s->post("/floors/$turn->{floor_id}/branch", { branch_id => 'deep' });
is $r->{status}, 201, 'fork of a fork' or diag $r->{raw};
respond($sid, 'deep three', branch_id => 'deep');
like sent(), qr/zero one other two deep three$/, 'fork of a fork: its prompt';
is_deeply vars($sid, 'deep'), { early => 'after floor 0', place => 'sea', late => 1, n => 4 }, 'fork of a fork: its variables';
is $s->get("/sessions/$sid/timeline?branch_id=nosuch")->{status}, 404, 'timeline of an unknown branch: 404';

# ---- deleting the end of a branch ----

refused('delete of a floor that a fork shows', $s->del("/floors/$turn->{floor_id}"), 409, 'content_target_locked');
refused('delete of an inherited floor', $s->del("/floors/$one->{floor_id}"), 409, 'content_target_locked');
my ($three) = grep { $_->{floor_no} == 3 } timeline($sid);
is vars($sid, 'main')->{n}, 4, 'main: before the delete';
is $s->del("/floors/$three->{id}")->{status}, 200, 'the head of main is deleted';
is said($sid), 'zero one two', 'main: is shorter';
is vars($sid, 'main')->{n}, 3, 'main: what its macros wrote is taken back';
is said($sid, 'deep'), 'zero one other two deep three', 'the forks are as they were';
respond($sid, 'three again');
like sent(), qr/zero one two three again$/, 'main: goes on from there';
is vars($sid, 'main')->{n}, 4, 'main: and counts as before';
is one("SELECT count(*) FROM tavern.message WHERE content = 'three'"), 0, 'nothing of the deleted floor is left';
is one('SELECT count(*) FROM tavern.var_change c WHERE page_no IS NOT NULL AND NOT EXISTS (SELECT FROM tavern.page p WHERE p.no = c.page_no)'), 0, 'nor of its log';

# ---- a fork takes along what decision statements have begun, as far as the story had come ----

my $asking = $s->post('/import/preset', { name => 'Asks', data => { prompts => [{ identifier => 'main', role => 'system', system_prompt => $yes,
	content => '{{#if decision:"It rains" sticky:9}}wet{{else}}dry{{/if}}' }, { identifier => 'chatHistory', marker => $yes, system_prompt => $yes }] } })->{json}{data}{id};
my $did = session(preset_id => $asking);
my @turn = map { respond($did, $_) } qw(a b c);
sub decisions { my ($sid, $branch) = @_; return JSON::PP->new->decode(one("SELECT b.decisions FROM tavern.branch b JOIN tavern.session s ON s.no = b.session_no AND s.account_no = b.account_no WHERE s.id = :'sid' AND b.id = :'branch'", sid => $sid, branch => $branch)) }
is decisions($did, 'main')->{turn}, 3, 'decisions: turns are counted in the branch';
like $s->mock_last->{messages}[0]{content}, qr/^dry/, 'decisions: without a model none is true';
$s->post("/sessions/$did/respond/dry-run", { message => 'd' });
is decisions($did, 'main')->{turn}, 3, 'decisions: a dry run counts nothing';
$s->sql("UPDATE tavern.branch b SET decisions = jsonb_set(decisions::jsonb, '{timers}', '[{\"text\":\"It rains\",\"yes\":2,\"sticky_end\":11,\"cooldown_end\":11},{\"text\":\"x\",\"yes\":1,\"sticky_end\":11,\"cooldown_end\":11}]') "
	. "FROM tavern.session s WHERE s.no = b.session_no AND s.account_no = b.account_no AND s.id = :'sid'", sid => $did);
$s->post("/floors/$turn[2]{floor_id}/branch", { branch_id => 'here' });
is_deeply decisions($did, 'here'), decisions($did, 'main'), 'decisions: a fork of the head has the same';
$s->post("/floors/$turn[0]{floor_id}/branch", { branch_id => 'early' });
is_deeply [map { $_->{text} } @{ decisions($did, 'early')->{timers} }], ['x'], 'decisions: an earlier fork has what had begun by then';
is decisions($did, 'early')->{turn}, 1, 'decisions: and its turn';
respond($did, 'd', branch_id => 'early');
like $s->mock_last->{messages}[0]{content}, qr/^dry/, 'decisions: the fork asks for itself';
respond($did, 'd');
like $s->mock_last->{messages}[0]{content}, qr/^wet/, 'decisions: main goes on';
is decisions($did, 'main')->{turn}, 4, 'decisions: and counts on';

# ---- floors that cannot be forked or deleted now ----

$s->patch("/sessions/$sid", { model_name => 'm?err=500' });
is $s->post("/sessions/$sid/respond", { message => 'fails' })->{status}, 502, 'a turn fails';
my ($failed) = @{ $s->get("/floors?session_id=$sid&state=failed")->{json}{data} };
refused('fork at a failed floor', $s->post("/floors/$failed->{id}/branch", {}), 409, 'floor_not_committed');
is $s->del("/floors/$failed->{id}")->{status}, 200, 'a failed head can be deleted';
is vars($sid, 'main')->{n}, 4, 'and took nothing back';
$s->patch("/sessions/$sid", { model_name => 'm?n=200&i=20' });
my $stream = $s->stream('POST', "/sessions/$sid/respond/stream", { message => 'running' });
my $start = $stream->next;
refused('delete of a floor that is being written', $s->del("/floors/$start->{json}{floor_id}"), 409, 'generation_conflict');
refused('a floor on top of it', $s->post("/sessions/$sid/respond", { message => 'x' }), 409, 'generation_conflict');
$s->patch("/sessions/$sid", { model_name => 'm' });
respond($sid, 'meanwhile', branch_id => 'alt');
$stream->close;

# ---- a deleted session takes its floors along ----

is $s->del("/sessions/$sid")->{status}, 200, 'the session is deleted';
is $s->get("/floors/$one->{floor_id}")->{status}, 404, 'its floors are gone';
is $s->get("/floors?session_id=$sid")->{json}{meta}{total}, 0, 'also from the list';
is $s->get("/floors/$one->{floor_id}/run")->{status}, 404, 'also their runs';
is $s->get("/floors/$one->{floor_id}/result")->{status}, 404, 'and results';
is $s->del("/floors/$one->{floor_id}")->{status}, 404, 'nothing can be deleted';
is $s->patch("/floors/$one->{floor_id}", { parent_floor_id => $one->{floor_id} })->{status}, 404, 'nor changed';
is $s->post("/floors/$one->{floor_id}/branch", {})->{status}, 404, 'nor forked';

is_deeply [$s->invariants], [], 'invariants hold';
done_testing;
