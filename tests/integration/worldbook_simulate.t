#!/usr/bin/env perl
# The lore simulator: what a text or a branch would switch on in a world book, and why not the rest.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP;
use Tavern::Stack;
use Test::More;

my $s = Tavern::Stack->new;
my ($true, $false) = (JSON::PP::true, JSON::PP::false);

sub entry { my ($uid, @keys) = @_; return { uid => $uid, key => \@keys, keysecondary => [], content => "Text $uid." } }

sub book {
	my %entries = map { $_->{uid} => $_ } @_;
	my $r = $s->post('/import/worldbook', { name => 'Harbour', data => { entries => \%entries } });

	is $r->{status}, 201, 'imported' or diag $r->{raw};
	return $r->{json}{data}{id};
}

sub simulate {
	my ($id, %body) = @_;
	my $r = $s->post("/worldbooks/$id/simulate", \%body);

	is $r->{status}, 200, 'simulated' or diag $r->{raw};
	return $r->{json}{data};
}

sub verdicts { my ($d) = @_; return { map { $_->{uid} => $_->{verdict} } @{ $d->{entries} } } }
sub of { my ($d, $uid) = @_; return (grep { $_->{uid} == $uid } @{ $d->{entries} })[0] }

my $id = book(
	entry(0, 'bell'),
	{ %{ entry(1, 'tower') }, content => 'A tower.', order => 200 },
	{ %{ entry(2) }, constant => $true, content => 'It rains near the tower.' },
	{ %{ entry(3, 'bell') }, disable => $true },
	entry(4),
	{ %{ entry(5, 'bell') }, keysecondary => ['whale'], selective => $true },
	{ %{ entry(6, 'bell') }, probability => 0 },
	{ %{ entry(7, 'bell') }, group => 'g', groupOverride => $true, order => 900 },
	{ %{ entry(8, 'bell') }, group => 'g' },
	{ %{ entry(9, 'bell') }, delay => 9 },
	{ %{ entry(10, '/bel+/i') }, position => 4, depth => 2, role => 1 },
	{ %{ entry(11, 'bell') }, triggers => ['continue'] },
	{ %{ entry(12, 'bell') }, content => "\@\@dont_activate\nnever" },
	{ %{ entry(13, '雷') }, position => 7, outletName => 'sky' },
);

# ---- a text ----

my $d = simulate($id, text => 'The BELL rings, 雷 above', seed => 7);
is_deeply verdicts($d), { 0 => 'key', 1 => 'not_key', 2 => 'constant', 3 => 'not_enabled', 4 => 'not_keyless', 5 => 'not_logic', 6 => 'not_probability',
	7 => 'key', 8 => 'not_group', 9 => 'not_delay', 10 => 'key', 11 => 'not_trigger', 12 => 'not_decorator', 13 => 'key' }, 'a verdict for each entry';
is_deeply [@{ of($d, 0) }{qw(key place pass recursion_level activated)}, of($d, 0)->{insertion}{position}],
	['bell', { kind => 'message', index => 0 }, 1, 0, $true, 'before'], 'which key, where, in which pass';
is of($d, 0)->{reason}, 'key "bell" in the newest message', 'as a sentence';
is of($d, 0)->{book}, 'Harbour', 'in which book';
is of($d, 8)->{reason}, 'another entry won the inclusion group "g"', 'why not, as a sentence';
is_deeply of($d, 10)->{insertion}, { position => 'at_depth', depth => 2, role => 'user', order => 100 }, 'where it would stand';
is_deeply [of($d, 13)->{insertion}{outlet_name}, of($d, 13)->{text}, of($d, 13)->{tokens} > 0], ['sky', 'Text 13.', 1], 'what would be printed';
is_deeply [$d->{worldbook_id}, $d->{session_id}, $d->{messages}, $d->{settings}{seed}], [$id, undef, 1, 7], 'what was scanned';
is $d->{activated}, scalar(grep { $_->{activated} } @{ $d->{entries} }), 'the number of activated entries';
is_deeply simulate($id, text => 'The BELL rings, 雷 above', seed => 7), $d, 'the same seed gives the same answer';

# ---- options ----

is_deeply [@{ verdicts(simulate($id, text => 'bell', case_sensitive => $true)) }{0, 1}], [qw(key not_key)], 'case: as written';
is verdicts(simulate($id, text => 'BELL', case_sensitive => $true))->{0}, 'not_key', 'case: other';
is verdicts(simulate($id, text => 'bells', match_whole_words => $true))->{0}, 'not_key', 'whole words';
is verdicts(simulate($id, text => 'bell', scan_depth => 0))->{0}, 'not_key', 'scan depth 0 looks at nothing';
is verdicts(simulate($id, text => 'bell', prompt_intent => 'continue'))->{11}, 'key', 'another type of generation';
$d = simulate($id, text => 'nothing', recursion => $true);
is_deeply [@{ of($d, 1) }{qw(verdict place pass recursion_level)}], ['key', { kind => 'recursion', pass => 1 }, 2, 1], 'recursion: found in what an entry wrote';
is verdicts(simulate($id, text => 'nothing', recursion => $false))->{1}, 'not_key', 'no recursion';
$d = simulate($id, text => 'bell', budget => 1);
is $d->{budget}{overflowed}, $true, 'a budget of one token';
is verdicts($d)->{0}, 'not_budget', 'it does not fit';
my %seen;
my $coin = book({ %{ entry(0, 'x') }, probability => 50 });
$seen{ verdicts(simulate($coin, text => 'x', seed => $_))->{0} }++ for 1 .. 24;
is_deeply [sort keys %seen], [qw(key not_probability)], 'chance follows the seed';
like of(simulate($coin, text => 'x', seed => (grep { verdicts(simulate($coin, text => 'x', seed => $_))->{0} ne 'key' } 1 .. 24)[0]), 0)->{reason},
	qr/^found, but rolled [0-9.]+ against its probability of 50 %$/, 'and the roll is told';

# ---- a branch ----

my $timed = book(
	{ %{ entry(0, 'bell') }, sticky => 9 },
	{ %{ entry(1, 'gong') }, cooldown => 6 },
	entry(2, 'Ada'),
	{ %{ entry(3, '{{getvar::word}}') } },
);
my $session = $s->post('/sessions', { title => 'x', worldbook_profile_id => $timed })->{json}{data}{id};
is $s->post("/sessions/$session/respond", { message => 'A bell and a gong.' })->{status}, 200, 'a turn';
is $s->post("/sessions/$session/respond", { message => 'Quiet now.' })->{status}, 200, 'another';
my $count = $s->sql('SELECT count(*) FROM tavern.floor');
$d = simulate($timed, session_id => $session, text => 'The gong once more.', scan_depth => 1);
is_deeply [@{ verdicts($d) }{0, 1}], [qw(sticky not_cooldown)], 'a branch: running effects count';
is_deeply [$d->{session_id}, $d->{branch_id}, $d->{messages}], [$session, 'main', 5], 'a branch: what was scanned';
is of($d, 0)->{reason}, 'sticky: still on since it was activated', 'sticky, as a sentence';
$d = simulate($timed, session_id => $session, text => 'The gong once more.', scan_depth => 1, time_effects => $false);
is_deeply [@{ verdicts($d) }{0, 1}], [qw(not_key key)], 'without time effects';
$d = simulate($timed, session_id => $session, scan_depth => 10, time_effects => $false);
is_deeply of($d, 0)->{place}, { kind => 'message', index => 3 }, 'the story as it stands: where the key was found';
is of($d, 0)->{reason}, 'key "bell" 3 messages above the newest', 'told for people';
is $s->sql('SELECT count(*) FROM tavern.floor'), $count, 'nothing was written';

my $other = book(entry(0, 'bell'));
is verdicts(simulate($other, session_id => $session, scan_depth => 10))->{0}, 'key', 'a book that the session does not bind';

# The character's own book runs under the name that turns know: what it began goes on.
my $owner = $s->post('/import/character', { payload => { spec => 'chara_card_v2', spec_version => '2.0', data => { name => 'Maren', character_book => { name => 'Own', entries => [
	{ id => 40, keys => ['whale'], content => 'It sings.', enabled => $true, insertion_order => 1, extensions => { sticky => 9 } },
	{ id => 41, keys => ['crab'], content => 'It pinches.', enabled => $true, insertion_order => 2, extensions => { cooldown => 9 } }] } } } })->{json}{data}{character_id};
my $owned = $s->post('/sessions', { title => 'x', character_id => $owner, worldbook_profile_id => $other, settings => { lore => { scan_depth => 1 } } })->{json}{data}{id};
is $s->post("/sessions/$owned/respond", { message => 'A whale and a crab.' })->{status}, 200, 'a turn';
for my $simulated ($other, $timed) {
	$d = simulate($simulated, session_id => $owned, text => 'The crab.');
	is_deeply [@{ verdicts($d) }{40, 41}], [qw(sticky not_cooldown)], 'the character\'s own book: running effects count';
	is of($d, 40)->{book}, 'Maren', 'the character\'s own book: whose it is';
}
is_deeply [@{ $d->{settings} }{qw(scan_depth strategy min_activations_depth_max)}], [1, 'character_first', 0], 'as the session\'s settings say';

# ---- refusals ----

my $r = $s->post("/worldbooks/$id/simulate", {});
is_deeply [$r->{status}, $r->{json}{error}{code}], [400, 'validation_error'], 'neither text nor session';
is $s->post("/worldbooks/$id/simulate", { text => 'x', branch_id => 'main' })->{status}, 400, 'a branch without a session';
is $s->post('/worldbooks/nope/simulate', { text => 'x' })->{status}, 404, 'no such book';
is $s->post("/worldbooks/$id/simulate", { session_id => 'nope' })->{status}, 404, 'no such session';
is $s->post("/worldbooks/$id/simulate", { session_id => $session, branch_id => 'nope' })->{status}, 404, 'no such branch';

# ---- a big book ----

my $big = book(map { { %{ entry($_, "key$_") }, content => "Entry $_." } } 0 .. 4999);
$d = simulate($big, text => 'key17 and key4999', budget_percent => 100);
is_deeply [sort { $a <=> $b } map { $_->{uid} } grep { $_->{activated} } @{ $d->{entries} }], [1, 4, 17, 49, 499, 4999], '5,000 entries';

done_testing;
