#!/usr/bin/env perl
# The prompt runtime: mode, policies of session and branch and what they come to, bound assets, preview of one text,
# inspection of a whole turn; that the resolved policy is what a turn runs by; and that looking never writes.
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
sub data { my ($name) = @_; open my $f, '<:raw', "$FindBin::Bin/../data/$name.json" or die $!; local $/; return $json->decode(<$f>) }
# Everything that a look could write.
sub stored { join '|', map { one("SELECT count(*) || ':' || coalesce(md5(string_agg(x::text, ',' ORDER BY x::text)), '') FROM tavern.$_ x") } qw(variable var_change floor page message run turn_record event) }
sub faults { my ($r) = @_; return join ' ', map { "$_->{path}:$_->{code}" } @{ $r->{json}{error}{details} // [] } }

# ---- a session with everything bound ----

my %id;
for my $kind (qw(preset worldbook regex)) {
	$id{$kind} = $s->post("/import/$kind", { name => "My $kind", data => data($kind eq 'worldbook' ? 'book' : $kind) })->{json}{data}{id};
}
my $card = $s->post('/import/character', { payload => data('card') })->{json}{data};
my $user = $s->post('/users', { snapshot => { name => 'Iven', description => '{{user}} is a courier.' } })->{json}{data};
my $sid = $s->post('/sessions', { title => 'Fog', character_id => $card->{character_id}, user_id => $user->{id}, preset_id => $id{preset},
	worldbook_profile_id => $id{worldbook}, regex_profile_id => $id{regex} })->{json}{data}{id};
my $base = "/sessions/$sid/prompt-runtime";
is $s->post("/sessions/$sid/respond", { message => "Turn $_." })->{status}, 200, "turn $_" for 1 .. 3;

# ---- capabilities ----

my $r = $s->get('/prompt-runtime/capabilities');
is $r->{status}, 200, 'capabilities';
my $cap = $r->{json}{data};
is $cap->{default_prompt_mode}, 'compat_strict', 'capabilities: default mode';
is_deeply [ map { $_->{name} } @{ $cap->{prompt_modes} } ], [qw(compat_strict compat_plus native)], 'capabilities: the modes that every client knows';
is_deeply [ map { $_->{name} } @{ $cap->{further_prompt_modes} } ], ['rearrange'], 'capabilities: and ours apart';
is_deeply $cap->{source_selection}{history_modes}, [qw(full windowed)], 'capabilities: choices are listed';
is_deeply $cap->{structure}{defaults}, { mode => 'default', merge_adjacent_same_role => $no, preserve_system_messages => $yes }, 'capabilities: defaults';
is_deeply $cap->{budget}{defaults}, {}, 'capabilities: no budget by default';
ok !$cap->{observability}{preview}{commits_side_effects}, 'capabilities: a preview has no side effects';
ok $cap->{observability}{explain}{enabled}, 'capabilities: turns are explained';

# ---- mode ----

my $mode = $s->get("$base/mode")->{json}{data};
is_deeply $mode, { map({ $_ => 'compat_strict' } qw(prompt_mode session_prompt_mode effective_prompt_mode default_prompt_mode)), legacy_fallback => $no, source => 'session' }, 'mode: default';
is $s->patch("$base/mode", { prompt_mode => 'native' })->{json}{data}{effective_prompt_mode}, 'native', 'mode: set';
is $s->get("/sessions/$sid")->{json}{data}{prompt_mode}, 'native', 'mode: one truth with the session';
is $s->post("/sessions/$sid/respond/dry-run", { message => 'x' })->{json}{data}{prompt_snapshot}{prompt_mode}, 'native', 'mode: turns run in it';
is $s->patch("/sessions/$sid", { prompt_mode => 'compat_plus' })->{status}, 200, 'mode: set on the session';
is $s->get("$base/mode")->{json}{data}{prompt_mode}, 'compat_plus', 'mode: read here';
is $s->patch("$base/mode", { prompt_mode => undef })->{json}{data}{prompt_mode}, 'compat_strict', 'mode: null is the default';
for my $bad ([ { prompt_mode => 'strict' }, '/prompt_mode:enum' ], [ { prompt_mode => 1 }, '/prompt_mode:type' ], [ {}, ':required' ]) {
	$r = $s->patch("$base/mode", $bad->[0]);
	is $r->{status}, 400, 'mode: refused ' . $json->encode($bad->[0]);
	like faults($r), qr/\Q$bad->[1]\E/, 'mode: says where';
}

# ---- policies ----

my %default = (
	structure => { mode => 'default', merge_adjacent_same_role => $no, preserve_system_messages => $yes },
	delivery => { allow_assistant_prefill => $yes, require_last_user => $no, no_assistant => $no }, budget => {},
	visibility => { mode => 'allow_all_except_hidden' },
	source_selection => { history => { mode => 'full' }, map({ $_ => { enabled => $yes } } qw(memory worldbook examples)) },
	debug => { map { $_ => $no } qw(include_prompt_snapshot include_runtime_trace include_worldbook_matches) },
);
$r = $s->get("$base/policy")->{json}{data};
is_deeply $r, { persistent_policy => {}, persistent_policy_envelope => undef, resolved_policy => \%default, warnings => [] }, 'policy: nothing stored';
$r = $s->patch("$base/policy", { budget => { max_input_tokens => 700 }, source_selection => { worldbook => { enabled => $no } } });
is $r->{status}, 200, 'policy: stored' or diag $r->{raw};
my $p = $r->{json}{data};
is_deeply $p->{persistent_policy}, { budget => { max_input_tokens => 700 }, source_selection => { worldbook => { enabled => $no } } }, 'policy: as sent';
is $p->{persistent_policy_envelope}{version}, 1, 'envelope: first version';
is $p->{persistent_policy_envelope}{updated_by}, 'default-admin', 'envelope: by whom';
ok abs($p->{persistent_policy_envelope}{updated_at} / 1000 - time) < 60, 'envelope: when';
is_deeply $p->{resolved_policy}{source_selection}{worldbook}, { enabled => $no }, 'policy: resolved';
$p = $s->patch("$base/policy", { source_selection => { history => { max_messages => 2 } }, delivery => { require_last_user => $yes } })->{json}{data};
is $p->{persistent_policy_envelope}{version}, 2, 'patch: next version';
is_deeply $p->{persistent_policy}{source_selection}, { worldbook => { enabled => $no }, history => { max_messages => 2 } }, 'patch: merges deeply';
is_deeply $p->{resolved_policy}{source_selection}{history}, { mode => 'windowed', max_messages => 2 }, 'resolved: a number of messages is a window';
$p = $s->patch("$base/policy", { budget => undef })->{json}{data};
ok !exists $p->{persistent_policy}{budget}, 'patch: null clears a group';
is_deeply $s->get("$base/policy")->{json}{data}, $p, 'policy: read as answered';

my $branch = "$base/branches/main/policy";
is_deeply $s->get($branch)->{json}{data}{persistent_policy}, {}, 'branch policy: nothing stored';
ok $s->get($branch)->{json}{data}{resolved_policy}{delivery}{require_last_user}, 'branch policy: the session\'s is below it';
$p = $s->patch($branch, { source_selection => { worldbook => { enabled => $yes }, history => { mode => 'full' } } })->{json}{data};
is $p->{persistent_policy_envelope}{version}, 1, 'branch policy: its own envelope';
ok $p->{resolved_policy}{source_selection}{worldbook}{enabled}, 'branch policy: over the session\'s';
ok !$s->get("$base/policy")->{json}{data}{resolved_policy}{source_selection}{worldbook}{enabled}, 'branch policy: not in the session\'s';
for my $path ("$base/branches/none/policy", '/sessions/none/prompt-runtime/policy') {
	is $s->get($path)->{status}, 404, "GET $path: 404";
	is $s->patch($path, { budget => undef })->{status}, 404, "PATCH $path: 404";
}
my $before = $json->encode($s->get("$base/policy")->{json});
for my $bad (
	[ { structure => { mode => 'loose' } } => '/structure/mode:enum' ], [ { delivery => { no_assistant => 'yes' } } => '/delivery/no_assistant:type' ],
	[ { budget => { max_input_tokens => 0 } } => '/budget/max_input_tokens:minimum' ], [ { budget => 5 } => '/budget:type' ],
	[ { visibility => { hidden_floor_ranges => [ { start_floor_no => 1 } ] } } => '/visibility/hidden_floor_ranges/0:required' ],
	[ { visibility => { hidden_floor_ids => [ (1 .. 3) ] } } => '/visibility/hidden_floor_ids/0:type' ],
	[ { visibility => { hidden_floor_ids => [ ('x') x 1001 ] } } => '/visibility/hidden_floor_ids:maxItems' ],
	[ { source_selection => { history => { max_messages => 1.5 } } } => '/source_selection/history/max_messages:type' ],
) {
	$r = $s->patch("$base/policy", $bad->[0]);
	is $r->{status}, 400, "refused: $bad->[1]" or diag $r->{raw};
	is $r->{json}{error}{code}, 'validation_error', "refused: $bad->[1]: code";
	like faults($r), qr/\Q$bad->[1]\E/, "refused: $bad->[1]: says where";
}
is $json->encode($s->get("$base/policy")->{json}), $before, 'what is refused changes nothing';
$r = $s->patch("$base/policy", { structur => {}, budget => { max_tokens => 5, max_input_tokens => 7000 } });
is $r->{status}, 200, 'an unknown member is no error';
like $r->{headers}{'x-tavern-ignored-fields'}, qr/structur.*max_tokens|max_tokens.*structur/, '… but is named';

# ---- the policy is what turns run by ----

sub dry { my ($body) = @_; my $d = $s->post("/sessions/$sid/respond/dry-run", { message => 'Now.', %{ $body // {} } }); is $d->{status}, 200, 'dry run' or diag $d->{raw}; return $d->{json}{data} }
sub texts { return join "\n", map { $_->{content} } @{ $_[0]{messages} } }
$s->patch("$base/policy", { map { $_ => undef } qw(structure delivery budget visibility source_selection) });
$s->patch($branch, { map { $_ => undef } qw(structure delivery budget visibility source_selection) });
my $plain = dry();
like texts($plain), qr/Turn 1\..*Turn 3\./s, 'without a policy: the whole story';
like texts($plain), qr/It always rains/, 'without a policy: lore';
$s->patch("$base/policy", { source_selection => { worldbook => { enabled => $no } } });
unlike texts(dry()), qr/It always rains/, 'session: no lore';
is_deeply [ grep { $_->{source} eq 'worldbook' } @{ dry()->{runtime_trace}{source_selection}{excluded_sources} } ], [ { source => 'worldbook', reason => 'disabled_by_policy' } ], 'session: said in the trace';
$s->patch($branch, { source_selection => { worldbook => { enabled => $yes } } });
like texts(dry()), qr/It always rains/, 'branch: lore again';
unlike texts(dry({ source_selection => { worldbook => { enabled => $no } } })), qr/It always rains/, 'request: over both';
$s->patch($branch, { visibility => { hidden_floor_ranges => [ { start_floor_no => 0, end_floor_no => 2 } ] } });
my $d = dry();
unlike texts($d), qr/Turn [12]\./, 'branch: hidden floors are not sent';
like texts($d), qr/Turn 3\./, 'branch: others are';
is_deeply $d->{runtime_trace}{visibility}{filtered_floor_nos}, [ 0, 1, 2 ], 'branch: hidden floors are named';
my ($third) = map { $_->{id} } grep { $_->{floor_no} == 3 } @{ $s->get("/floors?session_id=$sid")->{json}{data} };
unlike texts(dry({ visibility => { hidden_floor_ranges => [], hidden_floor_ids => [$third] } })), qr/Turn 3\./, 'request: a floor hidden by its id';
like texts(dry({ visibility => { hidden_floor_ranges => [], hidden_floor_ids => [$third] } })), qr/Turn 1\./, 'request: instead of the branch\'s ranges';
$s->patch($branch, { visibility => undef });
$s->patch("$base/policy", { structure => { mode => 'flattened' } });
is_deeply [ grep { $_->{role} eq 'assistant' } @{ dry()->{messages} } ], [], 'session: flattened';
ok((grep { $_->{role} eq 'assistant' } @{ dry({ structure => { mode => 'default' } })->{messages} }), 'request: not flattened');
$s->patch("$base/policy", { structure => undef, budget => { max_input_tokens => 220, reserved_completion_tokens => 100 } });
$d = dry();
ok $d->{token_estimate} <= 220, "budget: $d->{token_estimate} tokens at most";
like texts($d), qr/Now\./, 'budget: the new message stays';
is_deeply [ map { $_->{reason} } @{ $d->{runtime_trace}{budgets}{trim_reasons} } ], ['budget_exceeded'], 'budget: why something is missing';
$r = $s->post("/sessions/$sid/respond/dry-run", { message => 'Now.', budget => { max_input_tokens => 5 } });
is $r->{json}{error}{code}, 'context_budget_exceeded', 'budget: what cannot fit is refused';
is $s->post("/sessions/$sid/respond", { message => 'Kept.' })->{status}, 200, 'a turn by a policy';
is_deeply $json->decode(one('SELECT policy FROM tavern.turn_record ORDER BY page_no DESC LIMIT 1')),
	{ budget => { max_input_tokens => 220, reserved_completion_tokens => 100 }, source_selection => { worldbook => { enabled => $yes } } }, 'a turn keeps the policy that it ran by';
$s->patch("$base/policy", { map { $_ => undef } qw(structure delivery budget visibility source_selection) });
$s->patch($branch, { source_selection => undef });

# ---- overview, assets ----

$r = $s->get("$base/assets")->{json}{data};
is $r->{preset}{id}, $id{preset}, 'assets: preset';
is $r->{preset}{name}, 'My preset', 'assets: its name';
like $r->{preset}{content_hash}, qr/^sha256:[0-9a-f]{64}$/, 'assets: its hash';
is $r->{character_card}{id}, $card->{character_id}, 'assets: the frozen card';
is $r->{character_card}{name}, 'Maren', 'assets: its name';
is $r->{character_card}{version_no}, 1, 'assets: its version';
my $o = $s->get($base)->{json}{data};
is_deeply $o->{assets}, $r, 'overview: the same assets';
is_deeply $o->{policy}, \%default, 'overview: the policy';
is $o->{branch_persistent_policy_envelope}{version}, 6, 'overview: the branch\'s envelope';
is_deeply $o->{source_map}{history}, { source_branch_id => 'main', source_mode => 'existing_branch' }, 'overview: whose story';
is $o->{source_map}{delivery}{no_assistant}, 'system_default', 'overview: who said what';
is_deeply $o->{diagnostics}, [], 'overview: nothing is wrong';
$o = $s->get("$base?branch_id=later")->{json}{data};
is_deeply $o->{scope}, { session_id => $sid, target_branch_id => 'later', branch_exists => $no, source_floor_id => undef, history_source_branch_id => 'main', history_source_mode => 'main_fallback' }, 'overview: of a branch to be';
is $o->{branch_persistent_policy}, undef, 'overview: which has no policy';
my $gone = $s->post('/import/preset', { name => 'Gone', data => data('preset') })->{json}{data}{id};
my $other = $s->post('/sessions', { title => 'O', preset_id => $gone })->{json}{data}{id};
is $s->del("/presets/$gone")->{status}, 204, 'its preset is deleted';
$o = $s->get("/sessions/$other/prompt-runtime")->{json}{data};
is $o->{assets}{preset}, undef, 'overview: a deleted preset is not there';
is_deeply [ map { "$_->{code} $_->{severity} $_->{field_path}" } @{ $o->{diagnostics} } ], ['asset_missing warning preset_id'], 'overview: and said to be missing';
is $s->post("/sessions/$other/prompt-runtime/inspect", { message => 'x' })->{json}{data}{diagnostics}[0]{code}, 'asset_missing', 'inspect: says it too';

# ---- dry run: what is known is said ----

$d = dry({ debug_options => { include_worldbook_matches => $yes } });
my $snap = $d->{prompt_snapshot};
is $snap->{character_imported_format}, 'v2', 'snapshot: format of the card';
is $snap->{character_content_hash}, $s->get("/characters/$card->{character_id}/versions")->{json}{data}[0]{content_hash}, 'snapshot: hash of the card';
like $snap->{asset_manifest_digest}, qr/^[0-9a-f]{64}$/, 'snapshot: digest of all assets';
is $d->{assembly}{mode}, 'preset', 'assembly: mode';
ok @{ $d->{assembly}{worldbook_matches} }, 'matches: asked for';
ok @{ $d->{runtime_trace}{worldbook}{matches} }, 'matches: in the trace too';
$d = dry();
ok !exists $d->{assembly}{worldbook_matches}, 'matches: only if asked for';
ok !exists $d->{runtime_trace}{worldbook}{matches}, 'matches: in the trace neither';
is $d->{prompt_snapshot}{asset_manifest_digest}, $snap->{asset_manifest_digest}, 'snapshot: the same assets, the same digest';
is_deeply $d->{runtime_trace}{memory}, $d->{memory}, 'memory: in the trace';
is $d->{memory}{runtime_mode}, 'disabled', 'memory: not yet';
is $d->{memory_summary}, undef, 'memory: no summary';
is $d->{available_for_reply}, 8192 - $d->{token_estimate}, 'what is left for the reply';
ok @{ $d->{runtime_trace}{history_normalization}{merged_user_groups} } == 0, 'history: turns take turns';
$d = $s->post("/sessions/$other/respond/dry-run", { message => 'x' })->{json}{data};
is $d->{assembly}{mode}, 'fallback', 'assembly: without a preset';
is $d->{prompt_snapshot}{asset_manifest_digest}, undef, 'snapshot: nothing bound, no digest';

# ---- preview ----

$s->put('/variables', { scope => 'branch', session_id => $sid, branch_id => 'main', key => 'mood', value => 'happy' });
$s->put('/variables', { scope => 'chat', scope_id => $sid, key => 'purse', value => { gold => 3 } });
my $was = stored();
sub preview { my ($body) = @_; my $q = $s->post("$base/preview", ref $body ? $body : { text => $body }); is $q->{status}, 200, 'preview' or diag $q->{raw}; return $q->{json}{data} }
my $v = preview('{{user}}/{{char}} {{getvar::mood}} {{getvar::purse.gold}} {{setvar::t::1}}{{getvar::t}} {{if {{getvar::mood}} == happy}}Y{{else}}N{{/if}} {{bogus}}');
is $v->{text}, 'Iven/Maren happy 3 1 Y {{bogus}}', 'preview: expanded';
is_deeply $v->{scope}, { session_id => $sid, target_branch_id => 'main', branch_exists => $yes, source_floor_id => undef, history_source_branch_id => 'main', history_source_mode => 'existing_branch' }, 'preview: scope';
my $m = $v->{runtime_trace}{macro};
is_deeply $m->{mutation_preview}, [ { kind => 'set', scope => 'branch', key => 't', value => '1' } ], 'preview: what it would write';
is_deeply $m->{staged_mutations}, [], 'preview: stages nothing';
is_deeply [ grep { !/^(bogus|if)$/ } @{ $m->{used_names} } ], [qw(user char getvar setvar)], 'preview: names used';
is_deeply [ map { $_->{macro_name} } grep { $_->{code} eq 'macro_unknown' } @{ $m->{warnings} } ], ['bogus'], 'preview: the unknown one is named';
is_deeply [ map { $_->{phase} } grep { $_->{macro_name} eq 'user' } @{ $m->{traces} } ], ['preview'], 'preview: the phase';
is_deeply [ map { $_->{selected_branch} // () } grep { $_->{source_kind} eq 'if' } @{ $m->{traces} } ], ['then'], 'preview: the branch taken';
is_deeply [ sort keys %{ $v->{runtime_trace} } ], [qw(history_normalization macro source_selection visibility)], 'preview: parts of the trace';
is_deeply $v->{policy}, \%default, 'preview: the policy';
is $v->{memory}{summary_injected}, $no, 'preview: memory';
is preview('{{lastUserMessage}}')->{text}, 'Kept.', 'preview: sees the story';
is preview({ text => '[{{input}}]', input => 'typed' })->{text}, '[typed]', 'preview: input';
is preview({ text => '{{lastUserMessage}}', visibility => { hidden_floor_ranges => [ { start_floor_no => 4, end_floor_no => 9 } ] } })->{text}, 'Turn 3.', 'preview: hidden floors are not seen';
is preview({ text => '{{#if 1 > 2}}a{{else}}b{{/if}}' })->{text}, 'b', 'preview: a block of the default dialect';
is preview({ text => '{{#if mood}}a{{else}}b{{/if}}', dialect => 'tomoribot' })->{dialect}, 'tomoribot', 'preview: the dialect asked for';
is preview({ text => '{{if .mood}}a{{/if}}{{.mood ?? x}}', dialect => 'sillytavern' })->{text}, 'ahappy', 'preview: SillyTavern\'s operators';
is preview({ text => '{{addvar::x::1}}' x 3 })->{text}, '', 'preview: writes';
for my $bad ([ {}, ':required' ], [ { text => '' }, '/text:minLength' ], [ { text => 'x', dialect => 'klingon' }, '/dialect:enum' ],
	[ { text => 'x', preset_choices => { nobody => 'a' } }, '/preset_choices/nobody:invalid' ]) {
	$r = $s->post("$base/preview", $bad->[0]);
	is $r->{status}, 400, "preview refused: $bad->[1]";
	like faults($r), qr/\Q$bad->[1]\E/, "preview refused: $bad->[1]: says where";
}

# A branch to be, from a floor of the past: its story and the values that its branch had there.
my @floors = sort { $a->{floor_no} <=> $b->{floor_no} } @{ $s->get("/floors?session_id=$sid&limit=50")->{json}{data} };
my $writer = $s->post('/import/preset', { name => 'Writer', data => { prompts => [
	{ identifier => 'main', role => 'system', system_prompt => $yes, content => '{{incvar::count}}' }, { identifier => 'chatHistory', marker => $yes, system_prompt => $yes } ],
	prompt_order => [ { character_id => 100001, order => [ map { { identifier => $_, enabled => $yes } } qw(main chatHistory) ] } ] } })->{json}{data}{id};
my $w = $s->post('/sessions', { title => 'W', preset_id => $writer, character_id => $card->{character_id} })->{json}{data}{id};
$s->post("/sessions/$w/respond", { message => "Number $_." }) for 1 .. 3;
my @w = sort { $a->{floor_no} <=> $b->{floor_no} } @{ $s->get("/floors?session_id=$w")->{json}{data} };
sub at { my ($body) = @_; return $s->post("/sessions/$w/prompt-runtime/preview", { text => '{{getvar::count}} {{lastUserMessage}}', %$body }) }
is at({})->{json}{data}{text}, '3 Number 3.', 'now';
$r = at({ branch_id => 'later', source_floor_id => $w[2]{id} });
is $r->{json}{data}{text}, '2 Number 2.', 'a branch to be sees the values of its source floor';
is_deeply $r->{json}{data}{scope}, { session_id => $w, target_branch_id => 'later', branch_exists => $no, source_floor_id => $w[2]{id}, history_source_branch_id => 'main', history_source_mode => 'source_floor_branch' }, 'and says so';
is at({ source_floor_id => $w[1]{id} })->{json}{data}{text}, '1 Number 1.', 'a floor of the past without a branch';
is at({ branch_id => 'later' })->{json}{data}{text}, '3 Number 3.', 'a branch to be without a floor sees main';
is at({ branch_id => 'later' })->{json}{data}{scope}{history_source_mode}, 'main_fallback', 'and says so';
is at({ branch_id => 'main', source_floor_id => $w[1]{id} })->{json}{error}{code}, 'branch_exists', 'a source floor is for a new branch';
is at({ source_floor_id => $third })->{status}, 404, 'a floor of another session is not found';
is at({ source_floor_id => 'none' })->{json}{error}{code}, 'floor_not_found', 'with its code';
my $fork = $s->post("/floors/$w[2]{id}/branch", { branch_id => 'fork' });
is $fork->{status}, 201, 'the branch is made' or diag $fork->{raw};
is at({ branch_id => 'fork' })->{json}{data}{text}, '2 Number 2.', 'and has what the preview showed';
$was = stored();

# ---- inspect ----

$s->put('/variables', { scope => 'branch', session_id => $sid, branch_id => 'main', key => 'mood', value => 'happy' });
$was = stored();
sub inspect { my ($body) = @_; my $q = $s->post("$base/inspect", { message => 'Is that the bell?', %{ $body // {} } }); is $q->{status}, 200, 'inspect' or diag $q->{raw}; return $q->{json}{data} }
my $i = inspect();
my $t = $i->{prepared_turn};
is_deeply $t->{messages}, dry({ message => 'Is that the bell?' })->{messages}, 'inspect: the messages of the dry run';
is_deeply $i->{mode}, $s->get("$base/mode")->{json}{data}, 'inspect: mode';
my %tokens = map { $_->{section_name} => $_->{token_count} } @{ $i->{section_stats} };
ok $tokens{main} > 0 && $tokens{chatHistory} > 0 && $tokens{worldInfoBefore} > 0, 'inspect: tokens by section';
is_deeply $t->{prompt_snapshot}{worldbook_activated_entry_uids}, [ 0, 1 ], 'inspect: snapshot';
is $t->{generation_params}{temperature}, 0.8, 'inspect: the preset\'s parameters';
is inspect({ generation_params => { temperature => 0.1 } })->{prepared_turn}{generation_params}{temperature}, 0.1, 'inspect: the request\'s own';
is_deeply [ map { $_->{phase} } @{ $t->{prepare_phase_trace} } ], [qw(conversation_resolve source_resolve pre_response assemble materialize inspect)], 'inspect: phases';
is $t->{requested_turn_config}, undef, 'inspect: no configuration asked';
is_deeply inspect({ config => { enableTools => $yes } })->{prepared_turn}{requested_turn_config}, { enable_tools => $yes }, 'inspect: as asked';
is_deeply inspect({ session_state_writes => [ { namespace => 'a', slot => 's', value => 1 }, { namespace => 'a', slot => 't', delete => $yes } ] })->{prepared_turn}{session_state_writes},
	{ total => 2, writes => [ { namespace => 'a', slot => 's', operation => 'set' }, { namespace => 'a', slot => 't', operation => 'delete' } ] }, 'inspect: state writes';
my %kept = map { $_->{source_kind} => $_->{effective_retention} } @{ $i->{governance}{entries} };
is $kept{history}, 'budget_prunable', 'inspect: the history gives way';
is $kept{worldbook}, 'fixed', 'inspect: lore does not';
is_deeply $i->{trim_reasons}, [], 'inspect: nothing was cut';
$i = inspect({ budget => { max_input_tokens => 250 } });
ok $i->{prepared_turn}{token_estimate} <= 250, 'inspect: by the budget of the request';
is $i->{source_map}{budget}{max_input_tokens}, 'request_override', 'inspect: who said it';
is $i->{trim_reasons}[0]{group}, 'history', 'inspect: what was cut';
my ($entry) = grep { $_->{source_kind} eq 'history' } @{ $i->{governance}{entries} };
ok $entry->{pruned_token_count} > 0, 'inspect: and how much';
$i = inspect({ branch_id => 'later', source_floor_id => $floors[1]{id} });
like texts($i->{prepared_turn}), qr/Turn 1\./, 'inspect: from a floor of the past';
unlike texts($i->{prepared_turn}), qr/Turn 2\./, 'inspect: what came after it is not there';
is inspect({ prompt_intent => 'impersonate' })->{prepared_turn}{messages}[-1]{content}, '[Write as Iven.]', 'inspect: an intent';
is $s->post("$base/inspect", { message => 'x', budget => { max_input_tokens => 3 } })->{json}{error}{code}, 'context_budget_exceeded', 'inspect: what cannot fit is refused';
is $s->post("$base/inspect", {})->{status}, 400, 'inspect: without a message 400';

# ---- none of it wrote anything ----

is $s->post("/sessions/$w/prompt-runtime/inspect", { message => 'x' })->{json}{data}{prepared_turn}{runtime_trace}{macro}{mutation_preview}[0]{key}, 'count', 'inspect: a preset that writes';
is_deeply $s->post("/sessions/$w/prompt-runtime/inspect", { message => 'x' })->{json}{data}{prepared_turn}{runtime_trace}{macro}{staged_mutations}, [], 'inspect: stages nothing';
is $s->post("/sessions/$w/respond/dry-run", { message => '{{setvar::a::b}}' })->{status}, 200, 'a dry run of it';
is stored(), $was, 'looks have written nothing';
done_testing;
