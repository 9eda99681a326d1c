#!/usr/bin/env perl
# What is kept of a turn's reasons: a verdict for every row, entry and message; that a look says before what the explanation says
# afterwards; that it stays what it was, whatever is changed later; pages; and two turns compared.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP;
use Tavern::Stack;
use Test::More;

my $json = JSON::PP->new->utf8->canonical;
my $s = Tavern::Stack->new;
my ($yes, $no) = (JSON::PP::true, JSON::PP::false);

sub one { scalar $s->sql(@_) }
sub said { my ($sid, $text, %more) = @_; my $r = $s->post("/sessions/$sid/respond", { message => $text, %more }); is $r->{status}, 200, "turn: $text" or diag $r->{raw}; return $r->{json}{data} }
sub explained { my ($floor, $page) = @_; my $r = $s->get("/floors/$floor/prompt-runtime/explain" . ($page ? "?page_id=$page" : '')); is $r->{status}, 200, 'explained' or diag $r->{raw}; return $r->{json}{data} }
sub verdicts { my ($rows) = @_; return { map { $_->{identifier} => $_->{verdict} } @$rows } }
sub entries { my ($d) = @_; return { map { $_->{uid} => $_->{verdict} } @{ $d->{entries} } } }

my @rows = (
	{ identifier => 'main', role => 'system', system_prompt => $yes, content => 'Be {{char}}.{{setvar::seen::1}}' },
	{ identifier => 'off', role => 'system', system_prompt => $no, content => 'Never said.' },
	{ identifier => 'cond', role => 'system', system_prompt => $no, content => '{{if {{getvar::mood}} == "dark"}}Speak low.{{else}}Speak up.{{/if}}' },
	{ identifier => 'blank', role => 'system', system_prompt => $no, content => '{{if {{getvar::mood}} == "dark"}}Rain.{{/if}}' },
	{ identifier => 'deep', role => 'system', system_prompt => $no, content => 'Deep note.', injection_position => 1, injection_depth => 1 },
	{ identifier => 'later', role => 'system', system_prompt => $no, content => 'Only when going on.', injection_trigger => ['continue'] },
	{ identifier => 'lost', role => 'system', content => 'System prompt is not said to be false.' },
	{ identifier => 'worldInfoBefore', marker => $yes, system_prompt => $yes }, { identifier => 'charDescription', marker => $yes, system_prompt => $yes },
	{ identifier => 'dialogueExamples', marker => $yes, system_prompt => $yes }, { identifier => 'chatHistory', marker => $yes, system_prompt => $yes },
);
my $preset = $s->post('/import/preset', { name => 'Rows', data => { prompts => \@rows, openai_max_context => 4000, openai_max_tokens => 300,
	prompt_order => [ { character_id => 100001, order => [ map { { identifier => $_->{identifier}, enabled => $_->{identifier} eq 'off' ? $no : $yes } } @rows ] } ] } })->{json}{data}{id};
my %entry = (
	0 => { uid => 0, key => ['fog'], content => 'The fog hides the pier.' }, 1 => { uid => 1, key => [], constant => $yes, content => 'It always rains.' },
	2 => { uid => 2, key => ['sun'], content => 'No sun.' }, 3 => { uid => 3, key => ['fog'], disable => $yes, content => 'Off.' },
	4 => { uid => 4, key => ['fog'], selective => $yes, keysecondary => ['bell'], content => 'The bell in the fog.' }, 5 => { uid => 5, key => ['moon'], content => 'No moon.' },
	6 => { uid => 6, key => ['stars'], content => 'No stars.' },
);
my $book = $s->post('/import/worldbook', { name => 'Harbour', data => { entries => \%entry } })->{json}{data}{id};
my $card = $s->post('/import/character', { payload => { spec => 'chara_card_v2', spec_version => '2.0', data => { name => 'Maren', description => 'A keeper.', first_mes => 'Hm?' } } })->{json}{data};
my $sid = $s->post('/sessions', { title => 'S', preset_id => $preset, worldbook_profile_id => $book, character_id => $card->{character_id} })->{json}{data}{id};

# ---- a look and the turn that it predicts ----

my %body = (message => 'Fog again.');
is $s->patch("/sessions/$sid/prompt-runtime/policy", { budget => { max_input_tokens => 3000 } })->{status}, 200, 'a budget by policy';
my $look = $s->post("/sessions/$sid/prompt-runtime/inspect", \%body);
is $look->{status}, 200, 'inspect' or diag $look->{raw};
$look = $look->{json}{data};
my $turn = said($sid, 'Fog again.');
my $d = explained($turn->{floor_id});
is_deeply $d->{$_}, $look->{$_}, "what inspect said of $_ is what the turn did" for qw(rows blocks entries lore chat macros section_stats governance trim_reasons excluded_sources diagnostics);
is_deeply $d->{resolved_policy}, $look->{policy}, 'the policy, too';
is_deeply $d->{source_map}, $look->{source_map}, 'and who said what of it';

# ---- verdicts ----

my $was = $json->encode($d);
is_deeply verdicts($d->{rows}), { main => 'sent', off => 'disabled', cond => 'sent', blank => 'empty', deep => 'in_chat', later => 'wrong_type', lost => 'never_sent',
	worldInfoBefore => 'sent', charDescription => 'sent', dialogueExamples => 'empty', chatHistory => 'sent' }, 'a verdict for every row';
is_deeply [ map { $_->{identifier} } @{ $d->{rows} } ], [ map { $_->{identifier} } @rows ], 'in the order of the preset';
is_deeply entries($d), { 0 => 'key', 1 => 'constant', 2 => 'not_key', 3 => 'not_enabled', 4 => 'not_logic', 5 => 'not_key', 6 => 'not_key' }, 'a verdict for every entry';
my ($fog) = grep { $_->{uid} == 0 } @{ $d->{entries} };
is_deeply $fog, { book => $book, uid => 0, activated => $yes, verdict => 'key', tokens => $fog->{tokens}, position => 'before', key => 'fog', place => { kind => 'message', index => 0 } }, 'where its key stands';
ok $fog->{tokens} > 0, 'what it costs';
is_deeply [ map { "$_->{row} $_->{branch}" } @{ $d->{macros}{conditions} } ], [ 'cond else', 'blank else' ], 'which branch a condition took, and where it stands';
like $d->{macros}{conditions}[0]{condition}, qr/^\{\{if .*mood/, 'the condition itself';
is $d->{macros}{writes}, 1, 'variables that were set';
is_deeply { map { $_ => $d->{chat}{$_} } qw(loaded sent length from) }, { loaded => 2, sent => 2, length => 2, from => 0 }, 'the whole chat is sent';
is_deeply [ map { $_->{role} } @{ $d->{messages} } ], [ map { $_->{role} } @{ $s->mock_last->{body}{messages} // $s->mock_last->{messages} } ], 'the messages as they were sent';
like $d->{messages}[0]{digest}, qr/^[0-9a-f]{16}$/, 'each with a digest';
is $d->{budget}{used}, $d->{prompt_snapshot}{token_estimate}, 'tokens that were used';
is $d->{budget}{context}, 3300, 'of what the policy left';
is $d->{assets}{preset}{name}, 'Rows', 'assets by name';
is $d->{assets}{character_card}{name}, 'Maren', 'the card, too';
is $d->{result}{generated_text}, $turn->{generated_text}, 'what came of it';
is $d->{memory}{runtime_mode}, 'disabled', 'no memories yet';
my $kept = one('SELECT explain FROM tavern.turn_record ORDER BY page_no DESC LIMIT 1');
unlike $kept, qr/hides the pier|Speak up|Fog again|A keeper/, 'the prompt is not kept again';

# ---- nothing later changes it ----

$s->put("/worldbooks/$book", { name => 'Harbour', data => { entries => { 9 => { uid => 9, key => ['fog'], content => 'New.' } } } });
$s->patch("/sessions/$sid", { prompt_mode => 'native' });
$s->del("/presets/$preset");
$s->patch("/sessions/$sid/prompt-runtime/policy", { budget => undef });
said($sid, 'And the fog?');
is $json->encode(explained($turn->{floor_id})), $was, 'an explanation stays what it was';

# ---- pages ----

my $go = said($sid, 'unsaid', prompt_intent => 'continue');
my @p = sort { $a->{created_at} <=> $b->{created_at} || $a->{page_no} <=> $b->{page_no} } grep { $_->{page_kind} eq 'output' } @{ $s->get("/pages?floor_id=$go->{floor_id}")->{json}{data} };
is scalar(@p), 2, 'a reply that went on: two pages';
is explained($go->{floor_id})->{page_id}, $p[1]{id}, 'without a page: the active one';
my $old = explained($go->{floor_id}, $p[0]{id});
is $old->{page_id}, $p[0]{id}, 'the other page';
isnt $old->{prompt_snapshot}{prompt_digest}, explained($go->{floor_id})->{prompt_snapshot}{prompt_digest}, 'has its own reasons';
is_deeply $old->{diagnostics}[0]{code}, 'asset_missing', 'the deleted preset is said to be missing';

# ---- what cannot be explained ----

my ($greeting) = map { $_->{id} } grep { $_->{floor_no} == 0 } @{ $s->get("/floors?session_id=$sid")->{json}{data} };
for ([ "/floors/$greeting/prompt-runtime/explain", 404, 'prompt_snapshot_not_found' ], [ '/floors/none/prompt-runtime/explain', 404, 'not_found' ],
	[ "/floors/$turn->{floor_id}/prompt-runtime/explain?page_id=none", 404, 'page_not_found' ], [ "/floors/$turn->{floor_id}/prompt-runtime/explain?page_id=$p[0]{id}", 404, 'page_not_found' ]) {
	my $r = $s->get($_->[0]);
	is $r->{status}, $_->[1], "$_->[2]: status" or diag $r->{raw};
	is $r->{json}{error}{code}, $_->[2], 'its code';
}
my $draft = $s->post('/floors', { session_id => $sid, branch_id => 'main', floor_no => 3 })->{json}{data}{id};
my $r = $s->get("/floors/$draft/prompt-runtime/explain");
is $r->{status}, 409, 'a draft is not explained';
is $r->{json}{error}{code}, 'floor_not_committed', 'with its code';

# ---- two turns compared ----

sub compared { my ($l, $h, $session) = @_; return $s->post('/sessions/' . ($session // $sid) . '/prompt-runtime/compare', { left => $l, right => $h }) }
$r = compared({ floor_id => $turn->{floor_id} }, { floor_id => $go->{floor_id}, page_id => $p[0]{id} });
is $r->{status}, 200, 'compared' or diag $r->{raw};
my $c = $r->{json}{data};
is_deeply $c->{left}, { floor_id => $turn->{floor_id}, page_id => $d->{page_id}, snapshot_available => $yes }, 'left';
is $c->{right}{page_id}, $p[0]{id}, 'right: that page';
my %change = map { $_->{path} => $_ } map { @{ $c->{$_} } } grep { /_changes$/ } keys %$c;
is $change{'assets.preset'}{change_type}, 'removed', 'the preset is gone';
is $change{'assets.worldbook.version_no'}{right}, 2, 'the book has another version';
is_deeply [ @{ $change{'policy.resolved_policy.budget.max_input_tokens'} }{qw(change_type left)} ], [ 'removed', 3000 ], 'the policy lost its budget';
is $change{'rows.main'}{change_type}, 'removed', 'rows that are no more';
is_deeply [ map { $_->{verdict} } @{ $change{"entries.$book:9"} }{qw(right)} ], ['key'], 'an entry that is new';
is_deeply $c->{scope_changes}, [], 'the same branch';
$r = compared({ floor_id => $turn->{floor_id} }, { floor_id => $turn->{floor_id} })->{json}{data};
is scalar(map { @{ $r->{$_} } } grep { /_changes$/ } keys %$r), 0, 'a turn does not differ from itself';
my $other = $s->post('/sessions', { title => 'O' })->{json}{data}{id};
is compared({ floor_id => $turn->{floor_id} }, { floor_id => $turn->{floor_id} }, $other)->{status}, 404, 'floors of another session are not there';
is compared({ floor_id => $turn->{floor_id} }, { floor_id => $draft })->{status}, 409, 'a draft is not compared';
is compared({ floor_id => $turn->{floor_id} }, {})->{status}, 400, 'a side without a floor';

# ---- the other modes ----

for my $mode (qw(native rearrange compat_plus)) {
	my $preset = $s->post('/import/preset', { name => "Rows $mode", data => { prompts => \@rows, prompt_order => [ { character_id => 100001, order => [ map { { identifier => $_->{identifier}, enabled => $_->{identifier} eq 'off' ? $no : $yes } } @rows ] } ] } })->{json}{data}{id};
	my $id = $s->post('/sessions', { title => $mode, preset_id => $preset, worldbook_profile_id => $book, character_id => $card->{character_id}, prompt_mode => $mode, settings => { summary => 'They met.' } })->{json}{data}{id};
	my $l = $s->post("/sessions/$id/prompt-runtime/inspect", { message => 'Fog.' })->{json}{data};
	my $d = explained(said($id, 'Fog.')->{floor_id});
	is_deeply $d->{$_}, $l->{$_}, "$mode: inspect said it: $_" for qw(rows blocks entries chat section_stats governance);
	is verdicts($d->{rows})->{off}, 'disabled', "$mode: a row that is off";
	is $d->{memory}{summary_injected}, $yes, "$mode: a summary is sent" or diag $json->encode($d->{memory});
	ok !exists $d->{memory}{summary_text}, "$mode: its text is not kept again";
	my $sent = grep { $_->{verdict} =~ /^(sent|emitted)$/ } @{ $d->{rows} }, @{ $d->{blocks} };
	ok $sent > 1, "$mode: $sent parts are sent";
}

# ---- a benchmark's preset, book and chat: how much is kept ----

my @many = map { { identifier => "node-$_", role => 'system', system_prompt => $no, content => "Rule $_. {{if {{getvar::mood}} == happy}}Light.{{else}}Tense.{{/if}}" } } 1 .. 99;
$preset = $s->post('/import/preset', { name => 'Many', data => { openai_max_context => 8192, openai_max_tokens => 512, prompts => [ @many, { identifier => 'chatHistory', marker => $yes } ],
	prompt_order => [ { character_id => 100001, order => [ map { { identifier => $_->{identifier}, enabled => $yes } } @many, { identifier => 'chatHistory' } ] } ] } })->{json}{data}{id};
$book = $s->post('/import/worldbook', { name => 'Many', data => { entries => { map { $_ => { uid => $_, key => ["beacon$_"], content => "Entry $_." } } 0 .. 499 } } })->{json}{data}{id};
my $full = $s->post('/sessions', { title => 'Full', preset_id => $preset, worldbook_profile_id => $book })->{json}{data}{id};
$s->post("/sessions/$full/respond", { message => 'Short.' }) for 1 .. 149;
$d = explained(said($full, 'And beacon7?')->{floor_id});
cmp_ok length(one('SELECT explain FROM tavern.turn_record ORDER BY page_no DESC LIMIT 1')), '<=', 16 << 10, 'an explanation is at most 16 KB';
is scalar(@{ $d->{rows} }), 100, 'with every row';
is scalar(@{ $d->{entries} }), 500, 'every entry';
my $count = 0;
$count += $_->{count} // 1 for @{ $d->{messages} };
is $count, scalar(@{ ($s->mock_last->{body} // $s->mock_last)->{messages} }), 'and every message, older ones together';
ok((grep { $_->{role} eq 'mixed' } @{ $d->{messages} }), 'sixteen at a time');
ok $s->get("/floors/$d->{floor}{id}/replay")->{json}{data}{equal}, 'and it can be replayed';

done_testing;
