#!/usr/bin/env perl
# Settings that reach the prompt: the account's and the session's own (zone, awareness of time, macros of messages), the
# session's note, summary and choices.
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

sub faults { my ($r) = @_; return join ' ', map { "$_->{path}:$_->{code}" } @{ $r->{json}{error}{details} // [] } }
sub session { my $r = $s->post('/sessions', { title => 'T', @_ }); is $r->{status}, 201, 'session' or diag $r->{raw}; return $r->{json}{data}{id} }
sub text { my ($id, $text, %more) = @_; my $r = $s->post("/sessions/$id/prompt-runtime/preview", { text => $text, %more }); return $r->{json}{data}{text} // $r->{raw} }
sub dry { my ($id, $message) = @_; my $r = $s->post("/sessions/$id/respond/dry-run", { message => $message // 'Now.' }); is $r->{status}, 200, 'dry run' or diag $r->{raw}; return $r->{json}{data} }
sub account { my $r = $s->patch('/accounts/default-admin', { settings => shift }); is $r->{status}, 200, 'account settings' or diag $r->{raw}; return $r->{json}{data} }

# ---- the clock ----

my $id = session();
like text($id, '{{isodate}}'), qr/^\d{4}-\d\d-\d\d$/, 'time is told by default';
is_deeply account({ timezone => '+14:00' })->{settings}, { timezone => '+14:00' }, 'the account has a zone';
my $east = text($id, '{{isodate}}');
my $west = session(settings => { timezone => '-12:00' });
is_deeply $s->get("/sessions/$west")->{json}{data}{settings}, { timezone => '-12:00' }, 'a session has its own';
ok text($west, '{{isodate}}') lt $east, 'the session\'s zone wins';
account({ timezone => 'Europe/Berlin', time_awareness => $no });
my $clock = '[{{time}}{{date}}{{weekday}}{{isotime}}{{isodate}}{{datetimeformat::YYYY}}]';
is text($id, $clock), '[]', 'without awareness the time macros are empty';
my $aware = session(settings => { time_awareness => $yes });
unlike text($aware, $clock), qr/^\[\]$/, 'a session may be aware';
unlike dry($aware, 'It is {{isodate}}.')->{messages}[-1]{content}, qr/is \./, 'in a turn too';
like dry($id, 'It is {{isodate}}.')->{messages}[-1]{content}, qr/is \./, 'and a turn without awareness has none';
my $card = { name => 'Maren', first_mes => 'It is [{{isodate}}].' };
my $greeted = session(character_snapshot => $card);
is $s->get("/sessions/$greeted/timeline")->{json}{data}{floors}[0]{messages}[0]{content}, 'It is [].', 'a greeting follows the account';
$greeted = session(character_snapshot => $card, settings => { time_awareness => $yes });
like $s->get("/sessions/$greeted/timeline")->{json}{data}{floors}[0]{messages}[0]{content}, qr/\[\d{4}-/, 'and the session';
is $s->patch("/sessions/$aware", { settings => {} })->{status}, 200, 'settings are set as a whole';
is text($aware, $clock), '[]', 'and then the account\'s hold';
account({});
unlike text($id, $clock), qr/^\[\]$/, 'nobody says anything: time is told';

# ---- macros in messages ----

account({ message_macros => 'off' });
is dry($id, 'I am {{user}}.')->{messages}[-1]{content}, 'I am {{user}}.', 'off: messages are text';
$s->patch("/sessions/$id", { settings => { message_macros => 'read' } });
is dry($id, 'I am {{user}}.')->{messages}[-1]{content}, 'I am User.', 'the session\'s own: read';
account({});
$s->patch("/sessions/$id", { settings => {} });

# ---- bad settings ----

for my $bad ([ { timezone => 'Mars/Olympus' }, '/settings/timezone' ], [ { timezone => '../etc/passwd' }, '/settings/timezone' ], [ { time_awareness => 'no' }, '/settings/time_awareness' ],
	[ { message_macros => 'all' }, '/settings/message_macros' ], [ { authors_note => { text => 'x', position => 'top' } }, '/settings/authors_note/position' ],
	[ { authors_note => { depth => 1 } }, '/settings/authors_note' ], [ { authors_note => { text => 'x', depth => -1 } }, '/settings/authors_note/depth' ], [ 'x', '/settings' ]) {
	my $r = $s->patch("/sessions/$id", { settings => $bad->[0] });
	is $r->{status}, 400, "refused: $bad->[1]";
	like faults($r), qr{^\Q$bad->[1]\E:}, "refused: $bad->[1]: says where";
}
is $s->patch('/accounts/default-admin', { settings => { timezone => 'x' } })->{status}, 400, 'accounts: refused too';
my $r = $s->patch("/sessions/$id", { settings => { colour => 'red' } });
is $r->{status}, 200, 'an unknown member is ignored';
like $r->{headers}{'x-tavern-ignored-fields'}, qr/colour/, 'and named';

# ---- numbers of messages ----

my $numbered = session();
$s->post("/sessions/$numbered/respond", { message => "Turn $_." }) for 1 .. 3;
is dry($numbered, 'I am {{lastMessageId}}.')->{messages}[-1]{content}, 'I am 6.', 'the newest message has the number that it has in SillyTavern';
my $second = $s->get("/sessions/$numbered/timeline")->{json}{data}{floors}[1]{messages};
$s->patch('/messages/batch/visibility', { ids => [ map { $_->{id} } @$second ], is_hidden => $yes });
is dry($numbered, 'I am {{lastMessageId}}.')->{messages}[-1]{content}, 'I am 6.', 'hidden messages keep their numbers';
unlike $json->encode(dry($numbered)->{messages}), qr/Turn 2/, 'though nobody is sent them';

# ---- the author's note ----

my $noted = session(settings => { authors_note => { text => 'Keep {{user}} dry.', depth => 0, role => 'user' } });
is_deeply dry($noted)->{messages}[-1], { role => 'user', content => 'Keep User dry.' }, 'note: in chat, depth and role as said';
is text($noted, '{{authorsNote}}'), 'Keep User dry.', 'note: its macro';
$s->patch("/sessions/$noted", { settings => { authors_note => { text => 'Every third.', depth => 0, interval => 3 } } });
is dry($noted)->{messages}[-1]{content}, 'Now.', 'note: not due yet';
$s->patch("/sessions/$noted", { settings => {}, metadata => { note_prompt => 'From SillyTavern.', note_depth => 0, note_position => 1, note_role => 0, note_interval => 1 } });
is_deeply dry($noted)->{messages}[-1], { role => 'system', content => 'From SillyTavern.' }, 'note: of a chat\'s metadata';
$s->patch("/sessions/$noted", { metadata => { authorsNote => 'A text.' } });
like $json->encode(dry($noted)->{messages}), qr/A text\./, 'note: a plain text in the metadata';
$s->patch("/sessions/$noted", { settings => { authors_note => { text => 'The setting.' } } });
like $json->encode(dry($noted)->{messages}), qr/The setting\./, 'note: the setting wins';

# Of a long story only what fits is loaded; the note counts all that users said.
my $small = $s->post('/import/preset', { name => 'Small', data => { openai_max_context => 1000, openai_max_tokens => 300 } })->{json}{data}{id};
my $long = session(preset_id => $small, settings => { authors_note => { text => 'Due.', depth => 0, interval => 43 } });
$s->post("/sessions/$long/respond", { message => "$_. " . 'word ' x 60 }) for 1 .. 42;
my $last = dry($long)->{messages};
is $last->[-1]{content}, 'Due.', 'note: due with the 43rd message of a user';
unlike $json->encode($last), qr/"1\. word/, 'though the first is not sent';
$s->patch("/sessions/$long", { settings => { authors_note => { text => 'Due.', depth => 0, interval => 41 } } });
is dry($long)->{messages}[-1]{content}, 'Now.', 'note: not by what is loaded';

# ---- the summary ----

my $summed = session(settings => { summary => 'They met in {{char}}.' });
my $d = dry($summed);
unlike $json->encode($d->{messages}), qr/They met/, 'summary: compat_strict does not send it by itself';
is $d->{memory_summary}, undef, 'summary: and says so';
is text($summed, '{{summary}}'), 'They met in {{char}}.', 'summary: its macro, never expanded';
for my $mode (qw(compat_plus native)) {
	$s->patch("/sessions/$summed", { prompt_mode => $mode });
	$d = dry($summed);
	like $json->encode($d->{messages}), qr/They met/, "summary: $mode sends it";
	is $d->{memory_summary}, 'They met in {{char}}.', "summary: $mode says so";
	ok $d->{memory}{summary_injected} && $d->{memory}{token_stats}{used} > 0, "summary: $mode counts it";
	like $d->{memory}{summary_text_hash}, qr/^sha256:/, "summary: $mode: its hash";
}
$s->patch("/sessions/$summed/prompt-runtime/policy", { source_selection => { memory => { enabled => $no } } });
$d = dry($summed);
unlike $json->encode($d->{messages}), qr/They met/, 'summary: not where the policy takes no memory';
ok !$d->{memory}{summary_injected}, 'summary: and says so';

# ---- choices of a preset ----

my $preset = $s->post('/import/preset', { name => 'Choices', data => {
	prompts => [ { identifier => 'main', role => 'system', system_prompt => $yes, content => 'Tone: {{tone}}.' }, { identifier => 'chatHistory', marker => $yes, system_prompt => $yes } ],
	prompt_order => [ { character_id => 100001, order => [ map { { identifier => $_, enabled => $yes } } qw(main chatHistory) ] } ],
	choice_blocks => [ { variable_name => 'tone', options => [ { value => 'dry' }, { value => 'warm' } ] }, { variable_name => 'themes', multi_select => $yes, options => [ 'sea', 'fog', 'bells' ] } ],
	default_choices => { tone => 'dry' } } })->{json}{data}{id};
my $chosen = session(preset_id => $preset);
is dry($chosen)->{messages}[0]{content}, 'Tone: dry.', 'choices: the preset\'s own';
$r = $s->patch("/sessions/$chosen", { preset_choices => { tone => 'warm', themes => [ 'sea', 'fog' ] } });
is $r->{status}, 200, 'choices: set' or diag $r->{raw};
is_deeply $r->{json}{data}{preset_choices}, { tone => 'warm', themes => [ 'sea', 'fog' ] }, 'choices: kept';
is dry($chosen)->{messages}[0]{content}, 'Tone: warm.', 'choices: the session\'s own';
is text($chosen, '{{themes}}'), 'sea, fog', 'choices: several';
is text($chosen, '{{tone}}', preset_choices => { tone => 'dry' }), 'dry', 'choices: a preview\'s own';
for my $bad ([ { tone => 'loud' }, '/preset_choices/tone' ], [ { tone => [ 'dry', 'warm' ] }, '/preset_choices/tone' ], [ { themes => [ 'sea', 'whales' ] }, '/preset_choices/themes' ],
	[ { mood => 'dry' }, '/preset_choices/mood' ], [ { tone => 1 }, '/preset_choices/tone' ], [ 'warm', '/preset_choices' ]) {
	$r = $s->patch("/sessions/$chosen", { preset_choices => $bad->[0] });
	is $r->{status}, 400, "choices: refused $bad->[1]" or diag $r->{raw};
	like faults($r), qr{^\Q$bad->[1]\E:}, "choices: refused $bad->[1]: says where";
}
is $s->post('/sessions', { title => 'T', preset_id => $preset, preset_choices => { tone => 'loud' } })->{status}, 400, 'choices: refused on create';
is $s->post('/sessions', { title => 'T', preset_choices => { tone => 'dry' } })->{status}, 400, 'choices: without a preset there is nothing to choose';
is $s->patch("/sessions/$chosen", { preset_choices => undef })->{json}{data}{preset_choices}, undef, 'choices: taken back';
is dry($chosen)->{messages}[0]{content}, 'Tone: dry.', 'choices: the preset\'s own again';

# ---- world info: how it is scanned, of the account and the session, in everything that scans ----

my $book = $s->post('/import/worldbook', { name => 'B', data => { entries => {
	0 => { uid => 0, key => ['bell'], content => 'It rings in the tower.' }, 1 => { uid => 1, key => ['tower'], content => 'It is old.' },
	2 => { uid => 2, key => ['FOG'], content => 'Grey.' } } } })->{json}{data}{id};
my $lore = session(worldbook_profile_id => $book);
sub lore { my ($set) = @_; my $r = $s->patch("/sessions/$lore", { settings => $set ? { lore => $set } : {} }); is $r->{status}, 200, 'lore settings' or diag $r->{raw}; return $r->{json}{data}{settings} }
sub found { return join ' ', sort { $a cmp $b } map { /^(It rings|It is old|Grey)/gm } map { $_->{content} } @{ $_[0] } }
sub seen {
	my ($text) = @_;
	my $inspected = $s->post("/sessions/$lore/prompt-runtime/inspect", { message => $text });
	my $simulated = $s->post("/worldbooks/$book/simulate", { session_id => $lore, text => $text })->{json}{data};
	my $found = found(dry($lore, $text)->{messages});

	is_deeply [sort map { $_->{uid} } grep { $_->{activated} } @{ $simulated->{entries} }], [grep { $found =~ ('rings', 'old', 'Grey')[$_] } 0 .. 2], "lore: the simulator: $found";
	is found($inspected->{json}{data}{prepared_turn}{messages}), $found, "lore: the inspection: $found" or diag substr($inspected->{raw}, 0, 400);
	return $found;
}
is $s->post("/sessions/$lore/respond", { message => $_ })->{status}, 200, 'a turn' for 'a bell', 'nothing', 'nothing';
is seen('now'), '', 'lore: two messages by default';
is_deeply lore({ scan_depth => 20 }), { lore => { scan_depth => 20 } }, 'lore: kept as said';
is seen('now'), 'It rings', 'lore: a greater depth finds more';
is $s->post("/sessions/$lore/respond", { message => 'now' })->{status}, 200, 'a turn';
is found($s->mock_last->{messages}), 'It rings', 'lore: and it is sent';
account({ lore => { scan_depth => 1, recursion => $yes } });
is seen('and fog'), 'Grey It is old It rings', 'lore: the account adds what the session leaves open';
lore(undef);
is seen('now'), '', 'lore: the account\'s own';
is seen('bell and fog'), 'Grey It is old It rings', 'lore: recursion';
lore({ recursion => $no });
is seen('bell and fog'), 'Grey It rings', 'lore: the session takes it back';
lore({ recursion => $no, case_sensitive => $yes });
is seen('bell and fog'), 'It rings', 'lore: case';
lore({ recursion => $no, match_whole_words => $yes });
is seen('bells and fog'), 'Grey', 'lore: whole words';
lore({ recursion => $yes, max_recursion_steps => 1 });
is seen('bell'), 'It rings', 'lore: steps';
lore({ recursion => $no, min_activations => 1 });
is seen('now'), 'It rings', 'lore: at least one, however far back';
lore({ recursion => $no, min_activations => 1, min_activations_depth_max => 2 });
is seen('now'), '', 'lore: but not too far';
lore({ recursion => $no, scan_depth => 20, budget_cap => 1 });
is seen('now'), '', 'lore: a budget';
lore({ recursion => $no, scan_depth => 20, budget_percent => 0 });
is seen('now'), '', 'lore: a budget in percent';
account({});
for my $names ([ $yes, 'Grey' ], [ $no, '' ]) {
	$lore = session(worldbook_profile_id => $s->post('/import/worldbook', { name => 'N', data => { entries => { 0 => { uid => 2, key => ['User:'], content => 'Grey.' } } } })->{json}{data}{id});
	lore({ include_names => $names->[0] });
	is found(dry($lore, 'now')->{messages}), $names->[1], 'lore: names';
}
for my $bad ([ { scan_depth => -1 }, '/settings/lore/scan_depth' ], [ { scan_depth => 1001 }, '/settings/lore/scan_depth' ], [ { budget_percent => 101 }, '/settings/lore/budget_percent' ],
	[ { recursion => 'yes' }, '/settings/lore/recursion' ], [ { strategy => 'last' }, '/settings/lore/strategy' ], [ 'deep', '/settings/lore' ]) {
	for my $to ("/sessions/$lore", '/accounts/default-admin') {
		$r = $s->patch($to, { settings => { lore => $bad->[0] } });
		is $r->{status}, 400, "lore: refused: $bad->[1]";
		like faults($r), qr{^\Q$bad->[1]\E:}, "lore: refused: $bad->[1]: says where";
	}
}

done_testing;
