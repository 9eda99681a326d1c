#!/usr/bin/env perl
# The invariant query finds what it says it looks for: each kind of damage, done and taken back in one transaction, gives a row of
# its name. Otherwise "no rows" at the end of a test of faults would say nothing.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP;
use Tavern::Stack;
use Test::More;

my $s = Tavern::Stack->new(workers => 1);
my %prompt = map { $_->{identifier} => $_ } (
	{ identifier => 'main', role => 'system', system_prompt => JSON::PP::true, content => 'Be calm.{{setvar::turns::{{lastMessageId}}}}' },
	{ identifier => 'chatHistory', marker => JSON::PP::true, system_prompt => JSON::PP::true },
);
my $preset = $s->post('/import/preset', { name => 'Counts', data => { prompts => [ @prompt{qw(main chatHistory)} ], openai_max_context => 4000, openai_max_tokens => 300,
	prompt_order => [ { character_id => 100001, order => [ map { { identifier => $_, enabled => JSON::PP::true } } qw(main chatHistory) ] } ] } })->{json}{data}{id};
my $id = $s->post('/sessions', { title => 'T', preset_id => $preset })->{json}{data}{id};
my $text = do { open my $fh, '<', "$FindBin::Bin/../lib/invariants.sql" or die; local $/; <$fh> };

sub turn { my ($message, %more) = @_; return $s->post("/sessions/$id/respond", { message => $message, %more }) }

is turn('One.')->{status}, 200, 'a floor';
is turn('Two.')->{status}, 200, 'another';
is turn('Three.')->{status}, 200, 'a third';
my @floors = @{ $s->get("/floors?session_id=$id&sort_by=floor_no&sort_order=asc")->{json}{data} };
my $fork = $s->post("/floors/$floors[1]{id}/branch", { branch_id => 'other' });
is $fork->{status}, 201, 'a branch' or diag $fork->{raw};
is turn('Else.', branch_id => 'other')->{status}, 200, 'that goes on';
$s->patch("/sessions/$id", { model_name => 'm?err=500' });
is turn('Never.')->{status}, 502, 'a failed one';
is_deeply [$s->invariants], [], 'nothing is wrong before';

# Damage as the superuser, without triggers: foreign keys hold else.
sub found {
	my ($damage) = @_;
	my @rows = $s->sql("BEGIN; SET LOCAL session_replication_role = replica; SET LOCAL search_path = tavern;\n$damage;\n$text\nROLLBACK;", grace => 10_000);

	return { map { $_->[0] => 1 } @rows };
}

my $last = "(SELECT max(no) FROM floor WHERE state = 'committed')";
my $run = "(SELECT max(no) FROM run WHERE state = 'completed')";
my %damage = (
	'floor generates without a run' => "UPDATE floor SET state = 'generating' WHERE no = $last",
	'floor committed by no run' => "UPDATE run SET state = 'failed', error = '{}' WHERE no = $run",
	'floor failed although its last run did not' => "UPDATE floor SET state = 'failed' WHERE no = $last",
	'floor committed without one reply' => "DELETE FROM message WHERE no = (SELECT max(no) FROM message WHERE active AND role = 'assistant')",
	'floor without one input' => "UPDATE page SET active = false WHERE kind = 'input' AND floor_no = $last",
	'floor committed at no time' => "UPDATE floor SET committed_at = NULL WHERE no = $last",
	'page counts although it failed' => "UPDATE page SET state = 'failed' WHERE kind = 'output' AND floor_no = $last",
	'message counts and its page does not, or the other way' => "UPDATE message SET active = false WHERE no = (SELECT max(no) FROM message WHERE active)",
	'message of a failed floor counts' => "UPDATE message SET active = true",
	'message is not where its floor is' => "UPDATE message SET floor_seq = 7 WHERE no = (SELECT max(no) FROM message)",
	'message that counts was not counted' => "UPDATE message SET token_count = 0 WHERE no = (SELECT max(no) FROM message WHERE active)",
	'reply without a record' => "DELETE FROM turn_record WHERE page_no = (SELECT max(page_no) FROM turn_record)",
	'run is stuck' => "UPDATE run SET state = 'running', lease_until = now_ms() - 11000, completed_at = NULL WHERE no = $run",
	'run runs on a floor that is not its branch\'s head' => "UPDATE run SET state = 'running', completed_at = NULL WHERE no = (SELECT min(no) FROM run)",
	'run runs on a failed floor' => "UPDATE run SET state = 'running', completed_at = NULL WHERE state = 'failed' AND no = (SELECT max(no) FROM run)",
	'run completed and its floor is not committed' => "UPDATE floor SET state = 'draft' WHERE no = $last",
	'run ended at no time' => "UPDATE run SET completed_at = NULL WHERE no = $run",
	'run failed for no reason' => "UPDATE run SET error = NULL",
	'text of an ended run is left' => "INSERT INTO run_text (account_no, run_no, at, text) SELECT account_no, no, 0, 'x' FROM run WHERE no = $run",
	'run was not told once' => "DELETE FROM event WHERE no = (SELECT max(no) FROM event WHERE name = 'floor.failed')",
	'session without a branch' => "DELETE FROM branch WHERE id = 'main'",
	'branch does not end at its head' => "UPDATE branch SET head_seq = head_seq + 1 WHERE id = 'main'",
	'range goes backwards' => "UPDATE branch SET his = ARRAY[1, 0], head_seq = 0 WHERE id = 'other'",
	'range over a segment that is not there' => "UPDATE branch SET segs[1] = 0 WHERE id = 'other'",
	'range with holes' => "UPDATE floor SET floor_seq = 9 WHERE no = $last",
	'segment is the own one of two branches' => "UPDATE branch SET segs[2] = (SELECT segs[1] FROM branch WHERE id = 'main') WHERE id = 'other'",
	'segment shared without its knowledge' => "UPDATE segment SET shared_upto = -1",
	'floor that no branch shows' => "DELETE FROM branch WHERE id = 'other'",
	'segment that no branch names' => "INSERT INTO segment (account_no, session_no) SELECT account_no, no FROM session LIMIT 1",
	'variable differs from its log' => "UPDATE variable SET value = '\"grim\"' WHERE no = (SELECT max(no) FROM variable)",
	'variable of nothing' => "UPDATE variable SET scope_no = 0 WHERE no = (SELECT max(no) FROM variable)",
	'write counts and its page does not, or the other way' => "UPDATE var_change SET active = false WHERE no = (SELECT max(no) FROM var_change WHERE page_no IS NOT NULL)",
	'job is stuck' => "INSERT INTO job (account_no, id, kind, state, available_at, lease_until, created_at, updated_at) VALUES (1, 'j', 'x', 'running', 0, 0, 0, 0)",
	'job ended at no time' => "INSERT INTO job (account_no, id, kind, state, available_at, created_at, updated_at) VALUES (1, 'j', 'x', 'done', 0, 0, 0)",
);

for my $name (sort keys %damage) {
	my $found = found($damage{$name});
	ok $found->{$name}, $name or diag join '; ', sort keys %$found;
}
my %known = map { $_ => 1 } map { s/''/'/gr } $text =~ /^SELECT '((?:[^']|'')+)', /mg;
is_deeply [sort keys %known], [sort keys %damage], 'every question of the query is tried here';
is_deeply [$s->invariants], [], 'nothing is left of it';

done_testing;
