#!/usr/bin/env perl
# Floors that are made again: regenerate, retry, edit-and-regenerate. Another page of the same floor; the old one counts until the new one is there, and
# comes back with what it wrote; a floor that other branches show is copied first; a failed one is retried in place.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP;
use Tavern::Stack;
use Test::More;
use Time::HiRes qw(sleep time);

my $s = Tavern::Stack->new;
my ($yes, $no) = (JSON::PP::true, JSON::PP::false);

sub refused { my ($label, $r, $status, $code) = @_; is $r->{status}, $status, "$label: $status" or diag $r->{raw}; is $r->{json}{error}{code}, $code, "$label: $code" }
sub ok_data { my ($label, $r) = @_; is $r->{status}, 200, $label or diag $r->{raw}; return $r->{json}{data} }
sub session { my $r = $s->post('/sessions', { title => 'T', @_ }); is $r->{status}, 201, 'session' or diag $r->{raw}; return $r->{json}{data}{id} }
sub respond { my ($id, $text, %more) = @_; return ok_data("turn: $text", $s->post("/sessions/$id/respond", { message => $text, %more })) }
sub regenerate { my ($id, %more) = @_; return ok_data('regenerate', $s->post("/sessions/$id/regenerate", \%more)) }
sub floor_of { return $s->get("/floors/$_[0]")->{json}{data} }
sub pages { return sort { $a->{page_no} <=> $b->{page_no} } grep { $_->{page_kind} ne 'input' } @{ $s->get("/pages?floor_id=$_[0]")->{json}{data} } }
sub active { return join '', map { $_->{is_active} ? 1 : 0 } pages($_[0]) }
sub text_of { return join '|', map { $_->{content} } @{ $s->get("/messages?page_id=$_[0]&sort_by=seq&sort_order=asc")->{json}{data} } }
sub story { my ($id, $branch) = @_; return map { join '|', map { $_->{content} } @{ $_->{messages} } } @{ $s->get("/sessions/$id/timeline?limit=50&branch_id=" . ($branch // 'main'))->{json}{data}{floors} } }
sub sent { return map { "$_->{role}: $_->{content}" } @{ $s->mock_last->{messages} } }
sub var { my ($id, $key, $branch) = @_; return $s->post("/sessions/$id/prompt-runtime/preview", { text => "{{getvar::$key}}", $branch ? (branch_id => $branch) : () })->{json}{data}{text} }
sub one { scalar $s->sql(@_) }
sub model { my ($id, $model) = @_; $s->patch("/sessions/$id", { model_name => $model }) }

my $preset = $s->post('/import/preset', { name => 'P', data => {
	prompts => [ { identifier => 'main', role => 'system', system_prompt => $yes, content => "Last: [{{lastMessage}}] user: [{{lastUserMessage}}] kind: {{runKind}} {{lastGenerationType}}{{incvar::n}}{{setvar::by::{{lastUserMessage}}}}" },
		{ identifier => 'again', role => 'system', system_prompt => $no, content => 'Only when regenerating.', injection_trigger => ['regenerate'] },
		{ identifier => 'chatHistory', marker => $yes, system_prompt => $yes } ],
	prompt_order => [ { character_id => 100001, order => [ map { { identifier => $_, enabled => $yes } } qw(main again chatHistory) ] } ] } })->{json}{data}{id};

# ---- regenerate ----

my $id = session(preset_id => $preset);
refused('nothing to regenerate', $s->post("/sessions/$id/regenerate", {}), 404, 'no_floor_to_regenerate');
refused('no such session', $s->post('/sessions/nosuch/regenerate', {}), 404, 'not_found');
refused('no such branch', $s->post("/sessions/$id/regenerate", { branch_id => 'nosuch' }), 404, 'branch_not_found');
my $u1 = respond($id, 'U1');
my $u2 = respond($id, 'U2', generation_params => { max_output_tokens => 333 });
is var($id, 'n'), 2, 'two turns count two';
my ($old) = pages($u2->{floor_id});
my $r = regenerate($id);
is_deeply [ @$r{qw(floor_id floor_no previous_floor_id final_state branch_id)} ], [ $u2->{floor_id}, 1, $u2->{floor_id}, 'committed', 'main' ], 'the same floor';
ok length $r->{generated_text} && $r->{total_usage}{total_tokens} > 0, 'with text and usage';
is floor_of($u2->{floor_id})->{state}, 'committed', 'it stays committed';
is active($u2->{floor_id}), '01', 'two pages, the new one counts';
is $s->get("/floors/$u2->{floor_id}/run")->{json}{data}{run}{run_type}, 'regenerate_page', 'type of the run';
is var($id, 'n'), 2, 'the replaced page counts no more';
my @sent = sent();
is scalar(grep { $_ eq 'user: U2' } @sent), 1, 'the message is said once';
is $sent[-1], 'user: U2', 'and last';
# B10: what is replaced is nowhere
unlike join("\n", @sent), qr/\Q$u2->{generated_text}\E.*\Q$u2->{generated_text}\E/s, 'B10: the replaced reply is not sent';
like $sent[0], qr/^system: Last: \[U2\] user: \[U2\] kind: regenerate regenerate/, 'B10: the last message is the user\'s';
like join("\n", @sent), qr/Only when regenerating/, 'its trigger holds';
is text_of($old->{id}), $u2->{generated_text}, 'the old page keeps its text';
is ok_data('activate', $s->patch("/pages/$old->{id}/activate", {}))->{is_active}, $yes, 'the old page comes back';
is $s->get("/floors/$u2->{floor_id}/result")->{json}{data}{generated_text}, $u2->{generated_text}, 'with its result';
is var($id, 'n'), 2, 'and with what it wrote, once';
regenerate($id) for 1 .. 2;
is active($u2->{floor_id}), '0001', 'four pages';
is var($id, 'n'), 2, 'still two';
is scalar(() = story($id)), 2, 'still two floors';
$s->put('/variables', { scope => 'branch', scope_id => "branch:$id:main", session_id => $id, branch_id => 'main', key => 'n', value => '10' });
regenerate($id);
is var($id, 'n'), 11, 'what a client wrote since stays';
respond($id, 'U3');
is var($id, 'n'), 12, 'the story goes on';
is scalar(grep { $_ eq 'user: U2' } sent()), 1, 'on the page that counts';

# ---- a regeneration that fails ----

my $f = (sort { $b->{floor_no} <=> $a->{floor_no} } @{ $s->get("/floors?session_id=$id")->{json}{data} })[0]{id};
my ($before) = story($id);
model($id, 'm?n=50&cut=10');
my @events = $s->stream('POST', "/sessions/$id/regenerate/stream", {})->rest;
is $events[0]{event}, 'start', 'streamed: it starts';
is $events[-1]{event}, 'error', 'streamed: it fails';
is floor_of($f)->{state}, 'committed', 'the floor does not';
is_deeply [ map { $_->{is_active} ? 1 : 0 } pages($f) ], [ 1, 0 ], 'nor the page that counts';
is one("SELECT string_agg(p.state, ' ' ORDER BY p.page_seq) FROM tavern.page p JOIN tavern.floor f ON f.no = p.floor_no WHERE f.id = :'id'", id => $f), 'committed committed failed', 'the new page has failed';
ok length one("SELECT m.content FROM tavern.message m JOIN tavern.page p ON p.no = m.page_no JOIN tavern.floor f ON f.no = p.floor_no WHERE f.id = :'id' AND p.state = 'failed'", id => $f), 'what was said is kept there';
is $s->get("/floors/$f/run")->{json}{data}{run}{status}, 'failed', 'the run has failed';
is var($id, 'n'), 12, 'nothing was undone';
model($id, 'mock-1');
@events = $s->stream('POST', "/sessions/$id/regenerate/stream", {})->rest;
is $events[-1]{event}, 'done', 'streamed: done';
is $events[-1]{json}{previous_floor_id}, $f, 'with the old floor\'s id';
is_deeply [ map { $_->{is_active} ? 1 : 0 } pages($f) ], [ 0, 0, 1 ], 'the next one counts';
is var($id, 'n'), 12, 'one turn, one count';
@events = $s->stream('POST', "/sessions/nosuch/regenerate/stream", {})->rest;
is_deeply [ map { "$_->{event} $_->{json}{code}" } @events ], ['error not_found'], 'streamed: a refusal is one event';

# ---- retry ----

$r = ok_data('retry', $s->post("/floors/$f/retry", {}));
is_deeply [ @$r{qw(floor_id previous_floor_id floor_no branch_id)} ], [ $f, $f, 2, 'main' ], 'retry: the same floor';
like ((sent())[0], qr/kind: retry normal/, 'retry: of type normal');
unlike join("\n", sent()), qr/Only when regenerating/, 'retry: without that trigger';
is $s->get("/floors/$f/run")->{json}{data}{run}{run_type}, 'retry_turn', 'retry: type of the run';
is var($id, 'n'), 12, 'retry: one turn, one count';
refused('no such floor', $s->post('/floors/nosuch/retry', {}), 404, 'floor_not_found');
refused('a floor with successors', $s->post("/floors/$u2->{floor_id}/retry", {}), 409, 'content_target_locked');
refused('on a branch that does not end there', $s->post("/floors/$u2->{floor_id}/retry", { branch_id => 'main' }), 409, 'content_target_locked');
my @main = story($id);
my @pages = pages($u2->{floor_id});
$r = ok_data('a branch of its own', $s->post("/floors/$u2->{floor_id}/retry", { branch_id => 'other' }));
is_deeply [ @$r{qw(previous_floor_id floor_no branch_id)} ], [ $u2->{floor_id}, 1, 'other' ], 'new branch: says which floor it was';
isnt $r->{floor_id}, $u2->{floor_id}, 'new branch: a floor of its own';
is scalar(() = story($id, 'other')), 2, 'new branch: it ends there';
is scalar(() = pages($r->{floor_id})), @pages + 1, 'new branch: all pages and the new one';
is_deeply [ story($id) ], \@main, 'new branch: main is what it was';
is_deeply [ pages($u2->{floor_id}) ], \@pages, 'new branch: its pages, too';
is var($id, 'n', 'other'), 11, 'new branch: values as they were there, the new page counted';
is var($id, 'n'), 12, 'new branch: and main\'s own';
refused('no such branch name twice', $s->post("/floors/$u1->{floor_id}/retry", { branch_id => 'other' }), 409, 'content_target_locked');

# ---- edit and regenerate ----

my ($message) = grep { $_->{role} eq 'user' } map { @{ $s->get("/messages?page_id=$_->{id}")->{json}{data} } } @{ $s->get("/pages?floor_id=$u2->{floor_id}&page_kind=input")->{json}{data} };
my ($reply) = @{ $s->get("/messages?page_id=$old->{id}")->{json}{data} };
refused('no such message', $s->post('/messages/nosuch/edit-and-regenerate', { content => 'x' }), 404, 'message_not_found');
refused('a model\'s message', $s->post("/messages/$reply->{id}/edit-and-regenerate", { content => 'x' }), 400, 'invalid_message_role');
refused('a name that is taken', $s->post("/messages/$message->{id}/edit-and-regenerate", { content => 'x', branch_id => 'main' }), 409, 'branch_exists');
is $s->post("/messages/$message->{id}/edit-and-regenerate", {})->{status}, 400, 'content is required';
$r = ok_data('edit', $s->post("/messages/$message->{id}/edit-and-regenerate", { content => 'U2 edited' }));
is_deeply [ @$r{qw(source_floor_id source_message_id floor_no)} ], [ $u2->{floor_id}, $message->{id}, 1 ], 'edit: says what it came from';
like $r->{branch_id}, qr/^branch-.{8}$/, 'edit: in a branch of its own';
is_deeply [ map { /^[^|]*/ ? $& : () } story($id, $r->{branch_id}) ], [ 'U1', 'U2 edited' ], 'edit: the story is told anew';
is_deeply [ story($id) ], \@main, 'edit: main is what it was';
is $s->get("/messages/$message->{id}")->{json}{data}{content}, 'U2', 'edit: the message, too';
is var($id, 'n', $r->{branch_id}), 2, 'edit: values as before the floor';
is $s->get("/floors/$r->{floor_id}/run")->{json}{data}{run}{run_type}, 'edit_and_regenerate', 'edit: type of the run';
my ($first) = grep { $_->{role} eq 'user' } map { @{ $s->get("/messages?page_id=$_->{id}")->{json}{data} } } @{ $s->get("/pages?floor_id=$u1->{floor_id}&page_kind=input")->{json}{data} };
@events = $s->stream('POST', "/messages/$first->{id}/edit-and-regenerate/stream", { content => 'U1 edited', branch_id => 'anew' })->rest;
is $events[-1]{event}, 'done', 'edit of the first message, streamed';
is_deeply [ @{ $events[0]{json} }{qw(floor_no branch_id)} ], [ 0, 'anew' ], 'begins a story';
is_deeply [ map { /^[^|]*/ ? $& : () } story($id, 'anew') ], ['U1 edited'], 'of its own';
is var($id, 'n', 'anew'), 1, 'with nothing written before';
is ok_data('and can be retried', $s->post("/floors/$events[-1]{json}{floor_id}/retry", {}))->{floor_id}, $events[-1]{json}{floor_id}, 'in place';

# ---- a head that other branches show ----

$id = session(preset_id => $preset);
respond($id, 'A');
my $head = respond($id, 'B');
regenerate($id);
is $s->post("/floors/$head->{floor_id}/branch", { branch_id => 'fork' })->{status}, 201, 'a fork at the head';
$s->put('/variables', { scope => 'branch', scope_id => "branch:$id:fork", session_id => $id, branch_id => 'fork', key => 'mood', value => 'grim' });
my %was = map { $_ => [ [ story($id, $_) ], var($id, 'n', $_) ] } qw(main fork);
@pages = pages($head->{floor_id});
$r = regenerate($id, branch_id => 'fork');
isnt $r->{floor_id}, $head->{floor_id}, 'fork: the floor is copied first';
is $r->{previous_floor_id}, $head->{floor_id}, 'fork: and the answer says of which';
is scalar(() = pages($r->{floor_id})), 3, 'fork: with all its pages';
is_deeply [ [ story($id) ], var($id, 'n') ], $was{main}, 'fork: main does not change';
is_deeply [ pages($head->{floor_id}) ], \@pages, 'fork: nor do its pages';
is var($id, 'n', 'fork'), 2, 'fork: one turn, one count';
is var($id, 'mood', 'fork'), 'grim', 'fork: what was written there stays';
my ($copied) = pages($r->{floor_id});
ok_data('fork: the copied page comes back', $s->patch("/pages/$copied->{id}/activate", {}));
is var($id, 'n', 'fork'), 2, 'fork: with what it wrote';
is var($id, 'by', 'fork'), 'B', 'fork: and said';
$was{fork} = [ [ story($id, 'fork') ], var($id, 'n', 'fork') ];
$r = regenerate($id);
is $r->{floor_id}, $head->{floor_id}, 'main: nobody else shows its head any more';
is_deeply [ [ story($id, 'fork') ], var($id, 'n', 'fork') ], $was{fork}, 'main: the fork does not change';
my $again = regenerate($id);
is $again->{floor_id}, $r->{floor_id}, 'main: then it is its own';
my ($a) = map { $_->{id} } grep { $_->{floor_no} == 0 } @{ $s->get("/sessions/$id/timeline")->{json}{data}{floors} };
is $s->post("/floors/$a/branch", { branch_id => 'early' })->{status}, 201, 'a fork below the copied head';
is var($id, 'n', 'early'), 1, 'has the values as they were there';
$r = ok_data('continue on a shared head', $s->post("/sessions/$id/respond", { message => 'x', prompt_intent => 'continue', branch_id => 'early' }));
isnt $r->{floor_id}, $a, 'copies it';
is $r->{previous_floor_id}, $a, 'and says so';
is var($id, 'n', 'early'), 2, 'both writes count';
is var($id, 'n'), 2, 'main is what it was';
respond($id, 'C', branch_id => $_) for qw(main fork early);
is scalar(() = story($id, 'early')), 2, 'all go on';

# ---- failed floors ----

$id = session(preset_id => $preset);
respond($id, 'good');
model($id, 'm?err=500');
is $s->post("/sessions/$id/respond", { message => 'lost' })->{status}, 502, 'a turn fails';
my ($failed) = grep { $_->{state} eq 'failed' } @{ $s->get("/floors?session_id=$id")->{json}{data} };
is $s->post("/floors/$failed->{id}/retry", {})->{status}, 502, 'its retry, too';
is floor_of($failed->{id})->{state}, 'failed', 'it stays failed';
is var($id, 'n'), 1, 'nothing is written';
model($id, 'mock-1');
$r = ok_data('retried in place', $s->post("/floors/$failed->{id}/retry", {}));
is $r->{floor_id}, $failed->{id}, 'the same floor';
is floor_of($failed->{id})->{state}, 'committed', 'is committed now';
is_deeply [ map { /^[^|]*/ ? $& : () } story($id) ], [ 'good', 'lost' ], 'with its message';
is scalar(grep { $_ eq 'user: lost' } sent()), 1, 'that was sent once';
is var($id, 'n'), 2, 'and counts';
respond($id, 'next');
is scalar(grep { $_ eq 'user: lost' } sent()), 1, 'it is history now';
model($id, 'm?err=500');
$s->post("/sessions/$id/respond", { message => 'lost again' });
model($id, 'mock-1');
is regenerate($id)->{floor_no}, 3, 'regenerate makes the failed one again, too';
model($id, 'm?err=500');
$s->post("/sessions/$id/respond", { message => 'left behind' });
model($id, 'mock-1');
is respond($id, 'other words')->{floor_no}, 5, 'and a branch goes on behind a failed one';
is scalar(grep { /left behind/ } sent()), 0, 'whose message was never said';

# ---- B30: floors without a user's message ----

my $card = $s->post('/import/character', { payload => { spec => 'chara_card_v2', spec_version => '2.0', data => { name => 'Maren', first_mes => 'Welcome.' } } })->{json}{data}{character_id};
my $greeted = session(character_id => $card, preset_id => $preset);
$r = regenerate($greeted);
is $r->{floor_no}, 0, 'B30: a greeting can be regenerated';
is scalar(grep { /Welcome/ } sent()), 0, 'B30: without itself';
my ($greeting) = pages($r->{floor_id});
ok_data('B30: and comes back', $s->patch("/pages/$greeting->{id}/activate", {}));
is_deeply [ story($greeted) ], ['Welcome.'], 'B30: as it was';

# ---- branches that do not exist yet ----

my $floor = (map { $_->{id} } grep { $_->{floor_no} == 0 } @{ $s->get("/sessions/$id/timeline")->{json}{data}{floors} })[0];
$r = respond($id, 'from there', branch_id => 'there', source_floor_id => $floor);
is_deeply [ @$r{qw(branch_id floor_no)} ], [ 'there', 1 ], 'a branch is made at the source floor';
is var($id, 'n', 'there'), 2, 'with the values as they were there';
is respond($id, 'more', branch_id => 'there', source_floor_id => $floor)->{floor_no}, 2, 'then it is there, and goes on';
is respond($id, 'behind main', branch_id => 'behind')->{floor_no}, 6, 'without one: behind main';
refused('a source floor that is not there', $s->post("/sessions/$id/respond", { message => 'x', branch_id => 'b', source_floor_id => 'nosuch' }), 404, 'floor_not_found');
refused('one of another session', $s->post("/sessions/$id/respond", { message => 'x', branch_id => 'b', source_floor_id => $head->{floor_id} }), 404, 'floor_not_found');
refused('a name that is too long', $s->post("/sessions/$id/respond", { message => 'x', branch_id => 'b' x 200 }), 400, 'validation_error');
refused('an empty session has nothing to begin at', $s->post('/sessions/' . session() . '/respond', { message => 'x', branch_id => 'b' }), 404, 'branch_not_found');

# ---- archived ----

$s->patch("/sessions/$id", { status => 'archived' });
refused('archived: regenerate', $s->post("/sessions/$id/regenerate", {}), 409, 'session_archived');
refused('archived: retry', $s->post("/floors/$floor/retry", { branch_id => 'z' }), 409, 'session_archived');

is_deeply [ $s->invariants ], [], 'the invariants hold';
done_testing;
