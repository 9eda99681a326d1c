#!/usr/bin/env perl
# prompt_intent continue: the model goes on with its last reply. The joined text is another page of the same floor; the
# message that the protocol asks for is not said; the old page keeps its text and what it wrote.
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
sub floors { return sort { $a->{floor_no} <=> $b->{floor_no} } @{ $s->get("/floors?session_id=$_[0]&limit=50")->{json}{data} } }
sub pages { return sort { $a->{page_no} <=> $b->{page_no} } grep { $_->{page_kind} eq 'output' } @{ $s->get("/pages?floor_id=$_[0]")->{json}{data} } }
sub said { my ($floor) = grep { $_->{floor_no} == $_[1] } @{ $s->get("/sessions/$_[0]/timeline?limit=50")->{json}{data}{floors} }; return join '|', map { $_->{content} } @{ $floor->{messages} } }
sub count { my ($id) = @_; return $s->post("/sessions/$id/prompt-runtime/preview", { text => '{{getvar::n}}' })->{json}{data}{text} }

my $preset = $s->post('/import/preset', { name => 'P', data => { continue_nudge_prompt => '[Carry on.]', continue_postfix => "\n",
	prompts => [ { identifier => 'main', role => 'system', system_prompt => $yes, content => 'Be.{{incvar::n}}' }, { identifier => 'chatHistory', marker => $yes, system_prompt => $yes } ],
	prompt_order => [ { character_id => 100001, order => [ map { { identifier => $_, enabled => $yes } } qw(main chatHistory) ] } ] } })->{json}{data}{id};
my $id = $s->post('/sessions', { title => 'T', preset_id => $preset })->{json}{data}{id};

# ---- nothing to go on with ----

my $r = $s->post("/sessions/$id/respond", { message => 'x', prompt_intent => 'continue' });
is $r->{status}, 404, 'an empty branch has nothing to go on with';
is $r->{json}{error}{code}, 'no_floor_to_continue', 'with its code';
is scalar(() = floors($id)), 0, 'and nothing is written';

# ---- going on ----

$r = $s->post("/sessions/$id/respond", { message => 'Hello.' });
my $first = $r->{json}{data}{generated_text};
is $r->{status}, 200, 'a turn';
is count($id), 1, 'its preset counts';
my $dry = $s->post("/sessions/$id/respond/dry-run", { message => 'unsaid', prompt_intent => 'continue' })->{json}{data}{messages};
is_deeply [ map { $_->{content} } @$dry[-2, -1] ], [ $first, '[Carry on.]' ], 'dry run: the reply and the nudge stand last';
unlike join('', map { $_->{content} } @$dry), qr/unsaid/, 'dry run: the message is not said';
$r = $s->post("/sessions/$id/respond", { message => 'unsaid', prompt_intent => 'continue' });
is $r->{status}, 200, 'continue' or diag $r->{raw};
my $d = $r->{json}{data};
my @f = floors($id);
is scalar(@f), 1, 'no new floor';
is $d->{floor_id}, $f[0]{id}, 'the same floor';
is $d->{floor_no}, 0, 'its number';
like $d->{generated_text}, qr/^\Q$first\E\n./, 'the reply goes on behind the preset\'s postfix';
is said($id, 0), "Hello.|$d->{generated_text}", 'timeline: the joined text';
my @p = pages($f[0]{id});
is_deeply [ map { $_->{is_active} ? 1 : 0 } @p ], [ 0, 1 ], 'another page, and it is the active one';
is $f[0]{state}, 'committed', 'the floor stays committed';
is count($id), 2, 'what both pages wrote counts';
is $s->get("/floors/$f[0]{id}/run")->{json}{data}{run}{run_type}, 'regenerate_page', 'the run says what it made';
is $s->get("/floors/$f[0]{id}/result")->{json}{data}{generated_text}, $d->{generated_text}, 'the result is the joined text';

# ---- once more, streamed, and then the story goes on ----

my $stream = $s->stream('POST', "/sessions/$id/respond/stream", { message => 'unsaid', prompt_intent => 'continue' });
my @events = $stream->rest;
is $events[-1]{event}, 'done', 'streamed: done';
is $events[0]{json}{floor_id}, $f[0]{id}, 'streamed: the same floor';
like $events[-1]{json}{generated_text}, qr/^\Q$d->{generated_text}\E\n./, 'streamed: joined';
my $chunks = join '', map { $_->{json}{chunk} } grep { $_->{event} eq 'chunk' } @events;
unlike $chunks, qr/\Q$first\E\n/, 'streamed: only what is new';
is scalar(() = pages($f[0]{id})), 3, 'three pages';
is count($id), 3, 'three writes';
is $s->post("/sessions/$id/respond", { message => 'Next.' })->{json}{data}{floor_no}, 1, 'the next turn is the next floor';
my $sent = $s->post("/sessions/$id/respond/dry-run", { message => 'x' })->{json}{data}{messages};
is scalar(grep { $_->{content} =~ /^\Q$first\E/ } @$sent), 1, 'the first reply is sent once, as it was joined';

# ---- the old page is as it was ----

my $again = $s->post('/sessions', { title => 'A', preset_id => $preset })->{json}{data}{id};
my $was = $s->post("/sessions/$again/respond", { message => 'Hello.' })->{json}{data}{generated_text};
$s->post("/sessions/$again/respond", { message => 'x', prompt_intent => 'continue' });
my ($floor) = floors($again);
@p = pages($floor->{id});
is $s->patch("/pages/$p[0]{id}/activate", {})->{status}, 200, 'the old page is activated' or diag $s->patch("/pages/$p[0]{id}/activate", {})->{raw};
is said($again, 0), "Hello.|$was", 'its text is what it was';
is count($again), 1, 'and what it wrote';
is $s->patch("/pages/$p[1]{id}/activate", {})->{status}, 200, 'and the new one';
is count($again), 2, 'with both writes';

# ---- a head that others see is copied first ----

my $fork = $s->post("/floors/$floor->{id}/branch", { branch_id => 'fork' });
is $fork->{status}, 201, 'a fork';
for my $branch (qw(main fork)) {
	$r = $s->post("/sessions/$again/respond", { message => 'x', prompt_intent => 'continue', branch_id => $branch });
	is $r->{status}, 200, "$branch: a shared head goes on" or diag $r->{raw};
	isnt $r->{json}{data}{floor_id}, $floor->{id}, "$branch: as a floor of its own";
	is $r->{json}{data}{previous_floor_id}, $floor->{id}, "$branch: and the answer says what it was";
	is scalar(() = pages($r->{json}{data}{floor_id})), 3, "$branch: with the pages of the old one";
}
is $s->get("/floors/$floor->{id}")->{status}, 404, 'what nobody shows any more is gone';
# ---- a hidden last word does not go on ----

my $shy = $s->post('/sessions', { title => 'S', preset_id => $preset })->{json}{data}{id};
$s->post("/sessions/$shy/respond", { message => 'Hello.' });
my ($reply) = grep { $_->{role} eq 'assistant' } @{ $s->get("/messages?session_id=$shy")->{json}{data} };
sub asked { return $s->post("/sessions/$shy/$_[0]", { message => 'x', prompt_intent => 'continue' }) }
is $s->patch("/messages/$reply->{id}", { is_hidden => $yes })->{status}, 200, 'the reply is hidden';
is asked('respond')->{json}{error}{code}, 'no_floor_to_continue', 'nothing goes on behind a line that nobody reads';
is $s->patch("/messages/$reply->{id}", { is_hidden => $no })->{status}, 200, 'it is shown again';
$s->sql(qq{INSERT INTO tavern.message (account_no, id, page_no, segment_no, floor_seq, side, seq, active, is_hidden, role, content, content_format, source, token_count, created_at)
	SELECT account_no, 'aside-behind-a-reply1', page_no, segment_no, floor_seq, side, seq + 1, active, true, role, 'An aside.', content_format, source, 3, created_at
	  FROM tavern.message WHERE id = '$reply->{id}'});
is asked('respond')->{json}{error}{code}, 'no_floor_to_continue', 'nor a reply before a hidden line of the same floor';
is scalar(() = pages((floors($shy))[0]{id})), 1, 'nothing is written';
is $s->patch('/messages/aside-behind-a-reply1', { is_hidden => $yes })->{json}{data}{content}, 'An aside.', 'and the hidden line is there';
$s->sql(q{DELETE FROM tavern.message WHERE id = 'aside-behind-a-reply1'});
is asked('respond')->{status}, 200, 'without it the reply goes on';

is one("SELECT count(*) FROM tavern.run WHERE state = 'running'"), 0, 'no run is left';

is_deeply [$s->invariants], [], 'invariants hold';
done_testing;
