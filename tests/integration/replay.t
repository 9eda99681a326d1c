#!/usr/bin/env perl
# The request of a committed turn made again from its record, byte for byte, whatever was changed since: chance and time in macros,
# lore with chance and timed effects, scripts, variables, edited and deleted assets, settings, hidden messages, branches, all modes,
# replies that went on; kept requests; a record that says something else shows the first difference; and a whole database at once.
use strict;
use warnings;
use Digest::SHA qw(sha256_hex);
use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP;
use Tavern::Stack;
use Test::More;

my $json = JSON::PP->new->utf8->canonical;
my $s = Tavern::Stack->new;
my ($yes, $no) = (JSON::PP::true, JSON::PP::false);

sub one { scalar $s->sql(@_) }
sub said { my ($sid, $text, %more) = @_; my $r = $s->post("/sessions/$sid/respond", { message => $text, %more }); is $r->{status}, 200, "turn: $text" or diag $r->{raw}; return $r->{json}{data}{floor_id} }
sub replayed { my ($floor, $page) = @_; my $r = $s->get("/floors/$floor/replay" . ($page ? "?page_id=$page" : '')); is $r->{status}, 200, 'replayed' or diag $r->{raw}; return $r->{json}{data} }
sub same { my ($floor, $what, $page) = @_; my $d = replayed($floor, $page); ok $d->{equal}, $what or diag $json->encode({ %$d, request => undef }); return $d }
sub sent { my $m = $s->mock_last; return exists $m->{body} ? $m->{body} : $m }

my @rows = (
	{ identifier => 'main', role => 'system', system_prompt => $yes, content => 'Be {{char}}. It is {{time}} on {{date}}. {{random::a::b::c::d::e}} {{roll:1d100}} {{incvar::turns}}{{getvar::turns}}' },
	{ identifier => 'mood', role => 'system', system_prompt => $no, content => '{{if {{getvar::mood}} == "dark"}}Speak low.{{else}}Speak up, {{getglobalvar::title}}.{{/if}} {{pick::x::y::z}}' },
	{ identifier => 'deep', role => 'system', system_prompt => $no, content => 'Deep {{random::1::2::3::4}}.', injection_position => 1, injection_depth => 1 },
	{ identifier => 'worldInfoBefore', marker => $yes, system_prompt => $yes }, { identifier => 'charDescription', marker => $yes, system_prompt => $yes },
	{ identifier => 'dialogueExamples', marker => $yes, system_prompt => $yes }, { identifier => 'chatHistory', marker => $yes, system_prompt => $yes },
);
sub preset { my ($name, %more) = @_; return $s->post('/import/preset', { name => $name, data => { prompts => \@rows, openai_max_context => 4000, openai_max_tokens => 300, temperature => 0.7,
	prompt_order => [ { character_id => 100001, order => [ map { { identifier => $_->{identifier}, enabled => $yes } } @rows ] } ], %more } })->{json}{data}{id} }
my $preset = preset('P');
my %entry = (
	0 => { uid => 0, key => ['fog'], content => 'Fog {{random::thick::thin::cold}}.', sticky => 3, cooldown => 2 }, 1 => { uid => 1, key => [], constant => $yes, content => 'It rains.', probability => 50, useProbability => $yes },
	2 => { uid => 2, key => ['bell'], content => 'The bell.', delay => 3 }, 3 => { uid => 3, key => ['fog'], content => 'Other fog.', group => 'g' }, 4 => { uid => 4, key => ['fog'], content => 'More fog.', group => 'g' },
);
my $book = $s->post('/import/worldbook', { name => 'W', data => { entries => \%entry } })->{json}{data}{id};
my $regex = $s->post('/import/regex', { name => 'R', data => [
	{ scriptName => 'shout', findRegex => '/hello/gi', replaceString => 'HELLO {{random::!::?::.}}', placement => [1] },
	{ scriptName => 'hide', findRegex => '/ab/g', replaceString => 'AB', placement => [2], promptOnly => $yes },
	{ scriptName => 'lore', findRegex => '/rains/g', replaceString => 'pours', placement => [5], promptOnly => $yes } ] })->{json}{data}{id};
my $card = $s->post('/import/character', { payload => { spec => 'chara_card_v2', spec_version => '2.0', data => { name => 'Maren', description => 'A keeper for {{user}}, {{random::old::young}}.', first_mes => 'Hm?',
	mes_example => "<START>\n{{user}}: Hi.\n{{char}}: No." } } })->{json}{data};
my $user = $s->post('/users', { snapshot => { name => 'Iven', description => 'A courier.' } })->{json}{data};
my %bound = (preset_id => $preset, worldbook_profile_id => $book, regex_profile_id => $regex, character_id => $card->{character_id}, user_id => $user->{id});
my @all; # every turn of this test, with a name

# ---- one turn ----

my $sid = $s->post('/sessions', { title => 'S', %bound, settings => { timezone => 'Asia/Tokyo', authors_note => { text => 'Note {{random::1::2::3}}.', interval => 2 } }, model_params => { top_p => 0.9 } })->{json}{data}{id};
$s->put('/variables', { scope => 'global', scope_id => 'global', key => 'title', value => 'sir' });
my $first = said($sid, 'Hello fog {{roll:1d100}} {{random::q::w::e}}', generation_params => { temperature => 0.25, max_output_tokens => 77, stop_sequences => ['###'] });
my $wire = sent();
my $d = same($first, 'a turn with chance, time, lore, scripts and a note');
is $d->{digest}, $d->{expected_digest}, 'one digest';
is_deeply $d->{request}{messages}, $wire->{messages}, 'the request that the model got';
is $d->{request}{temperature}, 0.25, 'with its parameters';
is $d->{difference}, undef, 'no difference';
is $d->{kept_request}, undef, 'requests are not kept unless somebody asks';
push @all, [ $first, 'the first turn' ];

# ---- more of them: chance in older messages, effects that run, hidden messages, another way to ask ----

for my $text ('The bell, hello.', 'Fog again {{random::1::2::3::4::5}}.', 'Nothing.', 'Hello bell and fog.', 'On.') {
	push @all, [ said($sid, $text), "turn: $text" ];
}
my @said = sort { $a->{created_at} <=> $b->{created_at} } map { @{ $s->get("/messages?page_id=$_->{id}")->{json}{data} } } map { @{ $s->get("/pages?floor_id=$_->[0]")->{json}{data} } } @all[0, 1];
is $s->patch("/messages/$said[0]{id}", { is_hidden => $yes })->{status}, 200, 'a message is hidden';
push @all, [ said($sid, 'Without it.'), 'a turn that does not see a message' ];
is $s->patch("/messages/$said[0]{id}", { is_hidden => $no })->{status}, 200, 'and shown';
is $s->patch("/messages/$said[1]{id}", { is_hidden => $yes })->{status}, 200, 'another one is hidden';
my @events = $s->stream('POST', "/sessions/$sid/respond/stream", { message => 'Streamed fog.', delivery => { require_last_user => $yes }, structure => { mode => 'strict_alternating' } })->rest;
is $events[-1]{event}, 'done', 'a stream';
push @all, [ $events[-1]{json}{floor_id}, 'a streamed turn with a policy of its own' ];
my $go = said($sid, 'unsaid', prompt_intent => 'continue');
push @all, [ $go, 'a reply that went on' ];
$go = said($sid, 'unsaid', prompt_intent => 'continue');
push @all, [ $go, 'and on' ];

# ---- everything is changed ----

sub all_same { my ($when) = @_; same($_->[0], "$when: $_->[1]", $_->[2]) for @all }
all_same('at once');
my @pages = sort { $a->{page_no} <=> $b->{page_no} } grep { $_->{page_kind} eq 'output' } @{ $s->get("/pages?floor_id=$go")->{json}{data} };
is scalar(@pages), 3, 'three pages of one floor';
push @all, map { [ $go, "page $_->{page_no}", $_->{id} ] } @pages;
is $s->patch("/pages/$pages[0]{id}/activate", {})->{status}, 200, 'an old page is activated';
all_same('another page counts');
$s->put('/variables', { scope => 'branch', scope_id => "branch:$sid:main", key => 'mood', value => 'dark' });
$s->put('/variables', { scope => 'global', scope_id => 'global', key => 'title', value => 'madam' });
$s->put('/variables', { scope => 'chat', scope_id => $sid, key => 'turns', value => 99 });
all_same('variables changed');
push @all, [ said($sid, 'In the dark.'), 'a turn after that' ];
my %again = %entry;
$again{0} = { %{ $entry{0} }, content => 'No more fog.' };
is $s->put("/worldbooks/$book", { name => 'W', data => { entries => \%again } })->{status}, 200, 'an entry is edited';
is $s->patch("/presets/$preset/entries/main", { content => 'Be somebody else.' })->{status}, 200, 'a row is edited';
$s->put("/regex-profiles/$regex", { name => 'R', data => [ { scriptName => 'none', findRegex => '/zzz/', replaceString => '', placement => [1] } ] });
all_same('assets edited');
push @all, [ said($sid, 'Edited fog.'), 'a turn with the new ones' ];
is $s->patch("/sessions/$sid", { settings => { timezone => 'America/New_York', message_macros => 'off', summary => 'They met.', lore => { scan_depth => 9, recursion => $yes } }, model_params => { top_p => 0.1 },
	prompt_mode => 'compat_plus', metadata => { any => 'thing' } })->{status}, 200, 'settings are changed';
$s->patch("/sessions/$sid/prompt-runtime/policy", { source_selection => { history => { max_messages => 3 } }, delivery => { require_last_user => $yes } });
$s->patch('/account', { settings => { timezone => 'Europe/Rome' } });
all_same('settings changed');
push @all, [ said($sid, 'By other settings, fog.'), 'a turn by the new ones' ];

# ---- branches ----

my $fork = $s->post("/floors/$all[3][0]/branch", { branch_id => 'side' });
is $fork->{status}, 201, 'a fork' or diag $fork->{raw};
$s->patch("/sessions/$sid/prompt-runtime/branches/side/policy", { budget => { max_input_tokens => 600 } });
push @all, map { [ said($sid, "Aside $_, hello fog {{random::1::2::3}}.", branch_id => 'side'), "turn $_ of a fork" ] } 1 .. 3;
push @all, [ said($sid, 'Main goes on.'), 'main goes on' ];
all_same('two branches');

# ---- the same again, in other words ----

my $r = $s->post("/sessions/$sid/regenerate", {});
is $r->{status}, 200, 'regenerated' or diag $r->{raw};
my $floor = $r->{json}{data}{floor_id};
sub outputs { return map { $_->{id} } sort { $a->{page_no} <=> $b->{page_no} } grep { $_->{page_kind} eq 'output' } @{ $s->get("/pages?floor_id=$_[0]")->{json}{data} } }
my @output = outputs($floor);
is scalar(@output), 2, 'two pages';
push @all, map { [ $floor, "regenerated: $_", $_ ] } @output;
$r = $s->post("/floors/$floor/retry", { generation_params => { temperature => 0.33 } });
is $r->{status}, 200, 'retried' or diag $r->{raw};
@output = outputs($r->{json}{data}{floor_id});
push @all, [ $r->{json}{data}{floor_id}, 'retried', $output[-1] ];
my ($asked) = map { $_->{id} } grep { $_->{role} eq 'user' } map { @{ $s->get("/messages?page_id=$_->{id}")->{json}{data} } } @{ $s->get("/pages?floor_id=$all[5][0]")->{json}{data} };
$r = $s->post("/messages/$asked/edit-and-regenerate", { content => 'Said anew, fog.' });
is $r->{status}, 200, 'said anew' or diag $r->{raw};
push @all, [ $r->{json}{data}{floor_id}, 'an edited message in a branch of its own' ];
$r = $s->post("/sessions/$sid/regenerate", { branch_id => $r->{json}{data}{branch_id} });
is $r->{status}, 200, 'regenerated there' or diag $r->{raw};
push @all, [ $r->{json}{data}{floor_id}, 'and that again' ];
is $s->post("/floors/$floor/branch", { branch_id => 'copy' })->{status}, 201, 'a fork at the head';
$r = $s->post("/sessions/$sid/regenerate", { branch_id => 'copy' });
is $r->{status}, 200, 'a head that two branches show is copied' or diag $r->{raw};
push @all, map { [ $r->{json}{data}{floor_id}, "of a copied floor: $_", $_ ] } outputs($r->{json}{data}{floor_id});

# The copy stands by itself: the floor that it was made of goes with the last branch that shows it.
{
	my $begun = said($sid, 'Soon gone, fog.', branch_id => 'brief', source_floor_id => $all[3][0]);
	is $s->post("/sessions/$sid/regenerate", { branch_id => 'brief' })->{status}, 200, 'a head with two pages';
	my ($typed) = map { $_->{id} } grep { $_->{role} eq 'user' } map { @{ $s->get("/messages?page_id=$_->{id}")->{json}{data} } } @{ $s->get("/pages?floor_id=$begun")->{json}{data} };
	$s->patch("/messages/$typed", { is_hidden => $yes });
	is $s->post("/sessions/$sid/regenerate", { branch_id => 'brief' })->{status}, 200, 'a third page, what was said hidden';
	is $s->post("/floors/$begun/branch", { branch_id => 'lasting' })->{status}, 201, 'a second branch shows it';
	$r = $s->post("/sessions/$sid/regenerate", { branch_id => 'lasting' });
	is $r->{status}, 200, 'and copies it' or diag $r->{raw};
	isnt $r->{json}{data}{floor_id}, $begun, 'indeed';
	is $s->del("/branches/brief?session_id=$sid")->{status}, 200, 'the first is deleted';
	is $s->get("/floors/$begun")->{status}, 404, 'and its floor with it';
	my @left = outputs($r->{json}{data}{floor_id});
	is scalar @left, 4, 'the copy has all pages';
	push @all, map { [ $r->{json}{data}{floor_id}, "of a copy whose floor is gone: $_", $_ ] } @left;
}
push @all, [ said($sid, 'After all that.'), 'the next turn' ];
all_same('other pages');

# ---- assets deleted, the other modes ----

for my $mode (qw(native rearrange compat_plus)) {
	my $p = preset($mode);
	my $id = $s->post('/sessions', { title => $mode, %bound, preset_id => $p, prompt_mode => $mode, settings => { summary => 'They met.', keep_request => $yes } })->{json}{data}{id};
	my $f;
	push @all, [ $f = said($id, "Hello fog $_ {{roll:1d20}}."), "$mode, turn $_" ] for 1 .. 3;
	my $d = same($f, "$mode: a kept request");
	is_deeply $d->{kept_request}, $d->{request}, "$mode: is the one that is made again";
	is sha256_hex(one('SELECT request FROM tavern.turn_record ORDER BY page_no DESC LIMIT 1')), $d->{digest}, "$mode: byte for byte";
	is_deeply $s->get("/floors/$f/prompt-runtime/explain")->{json}{data}{kept_request}, $d->{request}, "$mode: explain gives it, too";
	is $s->del("/presets/$p")->{status}, 204, "$mode: its preset is deleted";
}
is $s->del("/worldbooks/$book")->{status}, 204, 'the book is deleted';
is $s->del("/characters/$card->{character_id}")->{status} =~ /^20/ ? 1 : 0, 1, 'the card is deleted';
push @all, [ said($sid, 'Without a book.'), 'a turn without the book' ];
all_same('assets deleted');

# ---- a long chat: the record holds where, not what ----

my $long = $s->post('/sessions', { title => 'long', user_id => $user->{id}, preset_id => preset('long', openai_max_context => 700),
	worldbook_profile_id => $s->post('/import/worldbook', { name => 'W2', data => { entries => \%entry } })->{json}{data}{id} })->{json}{data}{id};
my @long = map { said($long, "Turn $_ about fog and hello {{random::1::2::3::4}}. " . 'words ' x 12) } 1 .. 75;
same($long[$_], "long chat: turn $_") for 0, 20, 40, 74;
ok length(one("SELECT inputs FROM tavern.turn_record ORDER BY page_no DESC LIMIT 1")) < 2000, 'a record is small';
is one("SELECT count(*) FROM tavern.turn_frame f JOIN tavern.session s ON s.no = f.session_no WHERE s.id = '$long'"), 1, 'turns by the same settings share them';

# ---- the record of an old turn stays (B19) ----

my $was = one("SELECT md5(string_agg(t::text, ',' ORDER BY t.page_no)) FROM tavern.turn_record t WHERE t.created_at <= " . (time * 1000));
for my $n (1 .. 20) {
	$s->patch("/sessions/$long", { settings => { summary => "Summary $n." } });
	$s->put('/variables', { scope => 'branch', scope_id => "branch:$long:main", key => "k$n", value => $n });
}
said($long, 'On.');
same($long[74], 'after twenty changes');
my $look = $s->post("/sessions/$long/prompt-runtime/inspect", { message => 'x' })->{json}{data}{prepared_turn};
ok $look->{token_estimate} > 0, 'a look does not change it either';
same($long[74], 'after a look');

# ---- what cannot be replayed ----

my ($greeting) = map { $_->{id} } grep { $_->{floor_no} == 0 } @{ $s->get("/floors?session_id=$sid")->{json}{data} };
for ([ "/floors/$greeting/replay", 404, 'prompt_snapshot_not_found' ], [ '/floors/none/replay', 404, 'not_found' ], [ "/floors/$first/replay?page_id=none", 404, 'page_not_found' ]) {
	my $r = $s->get($_->[0]);
	is $r->{status}, $_->[1], "$_->[2]: status";
	is $r->{json}{error}{code}, $_->[2], 'its code';
}

# ---- a whole database; records that say something else ----

my ($code, $text) = $s->tavernctl('replay', '--verify');
is $code, 0, 'tavernctl replay --verify: all are the same' or diag $text;
my ($verified) = $text =~ /^(\d+) verified, 0 differ, 0 without/m;
cmp_ok $verified, '>=', 100, "$verified turns verified";
($code, $text) = $s->tavernctl('replay', '--verify', '--session', $long);
like $text, qr/^76 verified/m, 'of one session';
my $record = "FROM tavern.page p JOIN tavern.floor f ON f.no = p.floor_no WHERE t.page_no = p.no AND p.active AND f.id = '$long[10]'";
$s->sql("UPDATE tavern.turn_record t SET seed = seed + 1 $record");
$d = replayed($long[10]);
ok !$d->{equal}, 'another seed: another request';
like $d->{difference}{path}, qr/^messages\[\d+\]$/, 'the first difference is a message';
is $d->{difference}{source}, 'main', 'the row with a random word';
$s->sql("UPDATE tavern.turn_record t SET seed = seed - 1 $record");
same($long[10], 'the seed as it was');
$s->sql("UPDATE tavern.turn_record t SET inputs = replace(inputs, '\"body\":{}', '\"body\":{\"generation_params\":{\"temperature\":0.5}}') $record");
$d = replayed($long[10]);
is_deeply $d->{difference}, { path => 'params.temperature', expected => 0.7, actual => 0.5 }, 'another parameter is named with both values';
($code, $text) = $s->tavernctl('replay', '--verify', '--session', $long);
is $code, 1, 'verify: something differs';
like $text, qr/^76 verified, 1 differ/m, 'verify: how many';
like $text, qr/\Q$long[10]\E.*params\.temperature/, 'verify: which, and where';
$s->sql("UPDATE tavern.turn_record t SET preset_version = 999999 FROM tavern.page p JOIN tavern.floor f ON f.no = p.floor_no WHERE t.page_no = p.no AND f.id = '$long[11]'");
$d = replayed($long[11]);
ok !$d->{equal}, 'a version that is gone';
like join(' ', @{ $d->{notes} }), qr/999999.*gone/, 'is named';
$s->sql("UPDATE tavern.turn_record t SET inputs = NULL FROM tavern.page p JOIN tavern.floor f ON f.no = p.floor_no WHERE t.page_no = p.no AND f.id = '$long[12]'");
is $s->get("/floors/$long[12]/replay")->{json}{error}{code}, 'replay_not_available', 'a record that says too little';
($code, $text) = $s->tavernctl('replay', '--verify', '--session', $long);
like $text, qr/^75 verified, 2 differ, 1 without/m, 'verify: counts it apart';
($code) = $s->tavernctl('replay');
is $code, 2, 'usage';
is $s->post('/sessions/batch/delete', { ids => [$long] })->{status}, 200, 'a session is deleted';
is $s->get("/floors/$long[0]/replay")->{status}, 404, 'and so are its records';

done_testing;
