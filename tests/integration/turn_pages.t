#!/usr/bin/env perl
# Pages of floors that are there: activated, compared, deleted, on heads of one's own and on those that others show; forks as faithful copies (B29),
# deleting and crashing around alternatives (B30), several writers at once.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP;
use Tavern::Stack;
use Test::More;
use Time::HiRes qw(sleep time);

my $s = Tavern::Stack->new(conf => { run_lease => '3s' });
my ($yes, $no) = (JSON::PP::true, JSON::PP::false);

sub refused { my ($label, $r, $status, $code) = @_; is $r->{status}, $status, "$label: $status" or diag $r->{raw}; is $r->{json}{error}{code}, $code, "$label: $code" }
sub ok_data { my ($label, $r) = @_; is $r->{status}, 200, $label or diag $r->{raw}; return $r->{json}{data} }
sub session { my $r = $s->post('/sessions', { title => 'T', @_ }); is $r->{status}, 201, 'session' or diag $r->{raw}; return $r->{json}{data}{id} }
sub respond { my ($id, $text, %more) = @_; return ok_data("turn: $text", $s->post("/sessions/$id/respond", { message => $text, %more })) }
sub regenerate { my ($id, %more) = @_; return ok_data('regenerate', $s->post("/sessions/$id/regenerate", \%more)) }
sub floor_of { return $s->get("/floors/$_[0]")->{json}{data} }
sub pages { return sort { $a->{page_no} <=> $b->{page_no} } grep { $_->{page_kind} eq 'output' } @{ $s->get("/pages?floor_id=$_[0]")->{json}{data} } }
sub active { return join '', map { $_->{is_active} ? 1 : 0 } pages($_[0]) }
sub var { my ($id, $key, $branch) = @_; return $s->post("/sessions/$id/prompt-runtime/preview", { text => "{{getvar::$key}}", $branch ? (branch_id => $branch) : () })->{json}{data}{text} }
sub story { my ($id, $branch) = @_; return map { join '|', map { $_->{content} } @{ $_->{messages} } } @{ $s->get("/sessions/$id/timeline?limit=50&branch_id=" . ($branch // 'main'))->{json}{data}{floors} } }
sub head { my ($id, $branch) = @_; return (map { $_->{id} } @{ $s->get("/sessions/$id/timeline?limit=50&branch_id=" . ($branch // 'main'))->{json}{data}{floors} })[-1] }
sub look { my ($id, $branch) = @_; my $f = head($id, $branch); return [ [ story($id, $branch) ], [ map { [ @$_{qw(page_no version is_active)} ] } pages($f) ], var($id, 'n', $branch), $s->get("/floors/$f/result")->{json}{data}{generated_text}, @{ floor_of($f) }{qw(token_in token_out)} ] }
sub one { scalar $s->sql(@_) }
sub model { my ($id, $model) = @_; $s->patch("/sessions/$id", { model_name => $model }) }
sub settled { my ($id) = @_; return !$s->get("/sessions/$id/active-run")->{json}{data}{active_run}{busy} }

my $preset = $s->post('/import/preset', { name => 'P', data => { prompts => [ { identifier => 'main', role => 'system', system_prompt => $yes, content => 'Be.{{incvar::n}}' },
	{ identifier => 'chatHistory', marker => $yes, system_prompt => $yes } ],
	prompt_order => [ { character_id => 100001, order => [ map { { identifier => $_, enabled => $yes } } qw(main chatHistory) ] } ] } })->{json}{data}{id};

# ---- compare ----

my $id = session(preset_id => $preset);
my $first = respond($id, 'one');
my $turn = respond($id, 'two');
model($id, 'mock-1?n=7');
regenerate($id);
my @p = pages($turn->{floor_id});
my $c = ok_data('compared', $s->get("/pages/$p[0]{id}/compare?with=$p[1]{id}"));
is $c->{floor_id}, $turn->{floor_id}, 'of one floor';
is_deeply [ map { $c->{$_}{id} } qw(left right) ], [ map { $_->{id} } @p ], 'left and right';
is $c->{left}{text}, $turn->{generated_text}, 'what it said';
isnt $c->{left}{text}, $c->{right}{text}, 'and the other';
ok !$c->{text}{equal} && $c->{text}{common_prefix} >= 1 && $c->{text}{common_prefix} < $c->{left}{characters}, 'how far they agree';
is substr($c->{left}{text}, 0, $c->{text}{common_prefix}), substr($c->{right}{text}, 0, $c->{text}{common_prefix}), 'from the front';
is_deeply [ map { "$_->{scope} $_->{key} $_->{left}{value} $_->{right}{value} " . ($_->{equal} ? 'equal' : 'not') } @{ $c->{variables} } ], ['branch n 2 2 equal'], 'what they wrote';
is $c->{same_prompt}, $yes, 'to the same messages';
is_deeply [ sort keys %{ $c->{left}{usage} } ], [qw(completion_tokens prompt_tokens total_tokens)], 'and what it cost';
is ok_data('with itself', $s->get("/pages/$p[0]{id}/compare?with=$p[0]{id}"))->{text}{equal}, $yes, 'is equal';
refused('with one that is not there', $s->get("/pages/$p[0]{id}/compare?with=nosuch"), 404, 'not_found');
refused('one that is not there', $s->get("/pages/nosuch/compare?with=$p[0]{id}"), 404, 'not_found');
refused('of two floors', $s->get("/pages/$p[0]{id}/compare?with=" . (pages($first->{floor_id}))[0]{id}), 400, 'validation_error');
is $s->get("/pages/$p[0]{id}/compare")->{status}, 400, 'with what must be said';

# ---- activate: everything moves together ----

my $right = look($id);
ok_data('activate', $s->patch("/pages/$p[0]{id}/activate"));
is look($id)->[3], $turn->{generated_text}, 'text';
is_deeply [ @{ look($id) }[4, 5] ], [ map { $c->{left}{usage}{$_} } qw(prompt_tokens completion_tokens) ], 'usage';
ok_data('and back', $s->patch("/pages/$p[1]{id}/activate"));
is_deeply look($id), $right, 'all is as it was';
my ($old) = pages($first->{floor_id});
refused('a floor with successors', $s->patch("/pages/$old->{id}/activate"), 409, 'content_target_locked');
refused('on a branch that ends elsewhere', $s->patch("/pages/$old->{id}/activate", { branch_id => 'main' }), 409, 'content_target_locked');
my $r = ok_data('in a new branch', $s->patch("/pages/$p[0]{id}/activate", { branch_id => 'swiped' }));
is_deeply [ @$r{qw(branch_id previous_page_id previous_floor_id is_active)} ], [ 'swiped', $p[0]{id}, $turn->{floor_id}, $yes ], 'says where it is now';
is head($id, 'swiped'), $r->{floor_id}, 'on a floor of its own';
is look($id, 'swiped')->[3], $turn->{generated_text}, 'that says the other reply';
is_deeply look($id), $right, 'main is what it was';
$r = ok_data('below the head, in a new branch', $s->patch("/pages/$old->{id}/activate", { branch_id => 'short' }));
is scalar(() = story($id, 'short')), 1, 'which ends there';
is $r->{previous_page_id}, undef, 'nothing to switch: nothing is copied';
model($id, 'm?n=50&cut=10');
$s->stream('POST', "/sessions/$id/regenerate/stream", {})->rest;
model($id, 'mock-1');
my $own = head($id);
is $own, $turn->{floor_id}, 'nobody else shows the head: it stays what it is';
my ($failed) = grep { $_->{state} eq 'failed' } pages($own);
refused('a failed page', $s->patch("/pages/$failed->{id}/activate"), 409, 'page_failed');
is_deeply look($id)->[3], $right->[3], 'the old one still counts';

# ---- B30: delete ----

my $calls = $s->mock_stats->{started};
@p = pages($own);
is ok_data('B30: a failed page', $s->del("/pages/$failed->{id}"))->{deleted}, $yes, 'B30: is deleted';
ok_data('B30: the first of two', $s->del("/pages/$p[0]{id}"));
is_deeply [ @{ look($id) }[0, 2, 3, 4, 5] ], [ @$right[0, 2, 3, 4, 5] ], 'B30: the other one is as it was';
refused('B30: the last reply', $s->del("/pages/$p[1]{id}"), 409, 'content_target_locked');
refused('B30: what was said to it', $s->del("/pages/$_->{id}"), 409, 'content_target_locked') for grep { $_->{page_kind} eq 'input' } @{ $s->get("/pages?floor_id=$own")->{json}{data} };
refused('B30: below the head', $s->del("/pages/$old->{id}"), 409, 'content_target_locked');
is $s->mock_stats->{started}, $calls, 'B30: no model was asked';
my %look = (0 => look($id));
regenerate($id);
@p = pages($own);
$look{1} = look($id);
model($id, 'mock-1?n=9');
regenerate($id);
model($id, 'mock-1');
@p = pages($own);
$calls = $s->mock_stats->{started};
ok_data('B30: the active page', $s->del("/pages/$p[2]{id}"));
is active($own), '01', 'B30: the one before it counts';
is_deeply look($id), $look{1}, 'B30: with all that belongs to it';
ok_data('B30: once more', $s->del("/pages/$p[1]{id}"));
is_deeply look($id), $look{0}, 'B30: back to the first';
is $s->mock_stats->{started}, $calls, 'B30: no model was asked';
is one("SELECT count(*) FROM tavern.var_change c WHERE c.page_no IS NOT NULL AND NOT EXISTS (SELECT FROM tavern.page p WHERE p.no = c.page_no)"), 0, 'B30: no write of a page that is gone';

# ---- B29: a fork is a faithful copy ----

my $chat = session(preset_id => $preset);
respond($chat, "turn $_") for 0 .. 3;
my $four = respond($chat, 'turn 4');
for my $n (7, 9) {
	model($chat, "mock-1?n=$n");
	regenerate($chat);
}
model($chat, 'mock-1');
@p = pages($four->{floor_id});
ok_data('B29: the second of three counts', $s->patch("/pages/$p[1]{id}/activate"));
my $main = look($chat);
my @rows = map { one("SELECT count(*) FROM tavern.$_") } qw(floor page message);
is $s->post("/floors/$four->{floor_id}/branch", { branch_id => 'fork' })->{status}, 201, 'B29: fork';
is_deeply [ map { one("SELECT count(*) FROM tavern.$_") } qw(floor page message) ], \@rows, 'B29: shared, not copied';
is_deeply look($chat, 'fork'), $main, 'B29: three pages, the same one active';
$r = ok_data('B29: page 3 in the fork', $s->patch("/pages/$p[2]{id}/activate", { branch_id => 'fork' }));
is $r->{previous_page_id}, $p[2]{id}, 'B29: on a copy';
is_deeply look($chat), $main, 'B29: main does not change';
my $fork = look($chat, 'fork');
is_deeply $fork->[1], [ [ 1, 1, $no ], [ 2, 1, $no ], [ 3, 1, $yes ] ], 'B29: three pages, the third active';
ok_data('B29: page 1 in the origin', $s->del("/pages/$p[0]{id}"));
is scalar(@{ look($chat)->[1] }), 2, 'B29: is gone there';
is_deeply look($chat, 'fork'), $fork, 'B29: not in the fork';
is $s->post("/floors/" . head($chat) . "/branch", { branch_id => 'origin' })->{status}, 201, 'B29: a branch';
my $late = respond($chat, 'later', branch_id => 'origin');
is $s->post("/floors/$late->{floor_id}/branch", { branch_id => 'kept' })->{status}, 201, 'B29: and a fork of it';
my $kept = look($chat, 'kept');
is $s->del("/branches/origin?session_id=$chat")->{status}, 200, 'B29: the origin is deleted';
is_deeply look($chat, 'kept'), $kept, 'B29: the fork does not notice';
is_deeply look($chat, 'fork'), $fork, 'B29: nor the other';
regenerate($chat, branch_id => 'kept');
is var($chat, 'n', 'kept'), $kept->[2], 'B29: and can be made again';

# ---- several writers ----

my $busy = session(preset_id => $preset);
my $floor = respond($busy, 'x')->{floor_id};
regenerate($busy);
@p = pages($floor);
model($busy, 'mock-1?n=100&i=20');
my $stream = $s->stream('POST', "/sessions/$busy/regenerate/stream", {});
$stream->next;
refused('a second regenerate', $s->post("/sessions/$busy/regenerate", {}), 409, 'generation_conflict');
refused('a retry', $s->post("/floors/$floor/retry", {}), 409, 'generation_conflict');
refused('a turn', $s->post("/sessions/$busy/respond", { message => 'y' }), 409, 'generation_conflict');
refused('activating', $s->patch("/pages/$p[0]{id}/activate"), 409, 'generation_conflict');
refused('deleting a page', $s->del("/pages/$p[0]{id}"), 409, 'generation_conflict');
refused('deleting the floor', $s->del("/floors/$floor"), 409, 'generation_conflict');
refused('a fork of what is being made', $s->post("/floors/$floor/branch", { branch_id => 'f' }), 409, 'generation_conflict');
is active($floor), '01', 'meanwhile the old page counts';
is floor_of($floor)->{state}, 'committed', 'and the floor is committed';
is [ $stream->rest ]->[-1]{event}, 'done', 'it comes to its end';
is active($floor), '001', 'then the new one counts';
model($busy, 'mock-1');
{
	my @pids = map {
		my $pid = fork // die "fork: $!";
		if ($pid == 0) { delete $s->{http}; my $st = $s->post("/sessions/$busy/regenerate", {})->{status}; require POSIX; POSIX::_exit($st == 200 ? 0 : $st == 409 ? 1 : 2) }
		$pid
	} 1 .. 6;
	my %exit;
	for (@pids) { waitpid $_, 0; $exit{ $? >> 8 }++ }
	ok !$exit{2}, 'six at once: each is done or refused';
	ok $exit{0}, 'at least one is done';
	is scalar(grep { $_->{state} eq 'committed' } pages($floor)), 3 + $exit{0}, 'a page for each that was done';
	is scalar(grep { $_->{is_active} } pages($floor)), 1, 'one counts';
	is var($busy, 'n'), 1, 'one turn, one count';
}

# ---- B30: the server dies while a page streams ----

model($busy, 'mock-1?n=200&i=20');
my $before = look($busy);
$stream = $s->stream('POST', "/sessions/$busy/regenerate/stream", {});
$stream->next for 1 .. 8;
my $worker = one("SELECT count(*) FROM tavern.run WHERE state = 'running'");
is $worker, 1, 'B30: a page streams';
sleep 1.5;
$s->kill_worker('KILL', $_) for $s->workers;
$stream->close;
is_deeply look($busy), $before, 'B30: the chat opens, and shows what it showed' if $s->wait_for('the stack', sub { $s->get('/health')->{status} == 200 }, 20);
$s->wait_for('the lease to end', sub { settled($busy) }, 15);
is $s->get("/floors/$floor/run")->{json}{data}{run}{status}, 'failed', 'B30: the run has failed';
is floor_of($floor)->{state}, 'committed', 'B30: the floor has not';
is_deeply [ @{ look($busy) }[0, 2, 3] ], [ @$before[0, 2, 3] ], 'B30: nor its page';
model($busy, 'mock-1');
regenerate($busy);
respond($busy, 'on');

is_deeply [ $s->invariants ], [], 'the invariants hold';
done_testing;
