#!/usr/bin/env perl
# More of the cases B01 … B19 (story_files.t has others; tests/README.md says which is where): members that nobody knows, one
# book in three shapes, damaged pictures, clocks that jump, time effects that follow the branch.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP;
use Tavern::Files qw(png);
use Tavern::Stack;
use Test::More;

my $json = JSON::PP->new->utf8->canonical;
my $s = Tavern::Stack->new;
my ($true, $false) = (JSON::PP::true, JSON::PP::false);

sub imported {
	my ($kind, $body, %o) = @_;
	my $r = $s->post("/import/$kind", $body, %o);

	is $r->{status}, 201, "$kind is imported" or diag $r->{raw};
	return $r->{json}{data};
}
sub session { my $r = $s->post('/sessions', { title => 'x', @_ }); is $r->{status}, 201, 'session' or diag $r->{raw}; return $r->{json}{data}{id} }
sub respond { my ($id, $text, %more) = @_; my $r = $s->post("/sessions/$id/respond", { message => $text, %more }); is $r->{status}, 200, "turn: $text" or diag $r->{raw}; return $r->{json}{data} }
sub dry { my ($id, $text, %more) = @_; my $r = $s->post("/sessions/$id/respond/dry-run", { message => $text, %more }); is $r->{status}, 200, 'dry run' or diag $r->{raw}; return $r->{json}{data} }
sub look { my ($id, $text, %more) = @_; my $r = $s->post("/sessions/$id/prompt-runtime/inspect", { message => $text, %more }); is $r->{status}, 200, 'inspected' or diag $r->{raw}; return $r->{json}{data}{prepared_turn} }
sub contents { return join "\n", map { $_->{content} } @{ $_[0]{messages} } }
sub simulate { my ($id, %body) = @_; my $r = $s->post("/worldbooks/$id/simulate", \%body); is $r->{status}, 200, 'simulated' or diag $r->{raw}; return $r->{json}{data} }

# ---- B02: members that nobody knows survive, at their place, numbers to the digit ----

my %odd = ('add.on' => { list => [1, 'two', undef, [], { deep => { er => 9007199254740993 } }], flag => $true }, 'sub_count' => 9223372036854775807);
my $odd = { spec => 'chara_card_v3', spec_version => '3.0', root_only => { %odd }, data => { name => 'Maren', description => 'Keeper.', data_only => { %odd },
	extensions => { 'vendor.key' => 'text', vendor => { %odd }, arr => [{ n => 9007199254740993 }] } } };
my $found = sub { my ($doc) = @_; return $json->encode([$doc->{root_only}, $doc->{data}{data_only}, @{ $doc->{data}{extensions} }{qw(vendor.key vendor arr)}]) };
my $expected = $found->($odd);
for my $way (['json', sub { imported('character', { payload => $_[0] }) }], ['png', sub { imported('character', png($_[0], 2001), type => 'image/png') }]) {
	my $id = $way->[1]->($odd)->{character_id};
	my $raw = $s->get("/export/character/$id?format=v3")->{raw};

	is $found->($json->decode($raw)), $expected, "B02: $way->[0]: out as it came in";
	is(() = $raw =~ /9007199254740993/g, 4, "B02: $way->[0]: no number is rounded");
	for my $format (qw(v2 v3)) {
		my $out = $s->get("/export/character/$id?format=$format")->{raw};
		my $again = imported('character', $out, type => 'application/octet-stream')->{character_id};

		is $found->($json->decode($out)), $expected, "B02: $way->[0]: as $format";
		is $s->get("/export/character/$again?format=$format")->{raw}, $out, "B02: $way->[0]: $format out and in is a fixed point";
	}
}

# ---- B03: one book, three shapes, two spellings ----

my @rows = ([0, 'bell', 'The bell calls the fog.'], [3, 'fog', 'Fog hides the gate.', excludeRecursion => $true], [3, 'gate', 'The gate leads to the harbour.'],
	[5, 'lamp', 'Dark.', disable => $true], [6, 'harbour', 'Ships.', delayUntilRecursion => $true]);
my %native = map { my ($uid, $key, $text, %more) = @{ $rows[$_] }; $_ => { uid => $uid, key => [$key], keysecondary => [], content => $text, order => 10 + $_, position => 0, %more } } 0 .. $#rows;
my @array = map {
	my ($uid, $key, $text, %more) = @{ $rows[$_] };
	{ id => $uid, keys => [$key], secondary_keys => [], content => $text, insertion_order => 10 + $_, position => 'before_char', enabled => $more{disable} ? $false : $true,
		extensions => { exclude_recursion => $more{excludeRecursion} // $false, delay_until_recursion => $more{delayUntilRecursion} // $false } }
} 0 .. $#rows;
my $first = imported('worldbook', { name => 'Native', data => { entries => \%native } })->{id};
my $third = imported('worldbook', { name => 'Array', data => { name => 'Array', entries => \@array } })->{id};
my $owner = imported('character', { payload => { spec => 'chara_card_v2', spec_version => '2.0', data => { name => 'Maren', first_mes => '', character_book => { name => 'Array', entries => \@array } } } })->{character_id};
my $empty = imported('worldbook', { name => 'Empty', data => { entries => {} } })->{id};
my $owned = session(character_id => $owner);
my @texts = (qw(bell fog gate lamp harbour nothing), 'bell and fog', 'fog and gate', 'lamp and gate', 'bell, lamp', 'harbour gate', 'the harbour fog', 'bellfry', 'Fog. Lamp. Bell.', 'gates',
	'no', 'bell bell', 'harbour lamp', 'a gate, a harbour', 'fog lamp harbour');
for my $text (@texts) {
	my @seen = map { join ' ', map { $_->{text} } grep { $_->{activated} } @{ $_->{entries} } }
		simulate($first, text => $text, recursion => $true), simulate($third, text => $text, recursion => $true),
		simulate($empty, session_id => $owned, text => $text, recursion => $true);

	is_deeply [@seen[1, 2]], [@seen[0, 0]], "B03: \"$text\": [$seen[0]]";
}
is $s->get("/export/worldbook/$_")->{raw} =~ /"excludeRecursion":\s*true/ ? 1 : 0, 1, 'B03: a world book is written in its own spelling' for $first, $third;
my $card = $s->get("/export/character/$owner?format=v2")->{raw};
like $card, qr/"exclude_recursion":\s*true/, 'B03: a card in the other';
unlike $card, qr/excludeRecursion/, 'B03: and in no other';

# ---- B05: a wrong checksum of another chunk is named, no more ----

my $picture = png({ spec => 'chara_card_v2', spec_version => '2.0', data => { name => 'Maren', first_mes => 'Hello.' } }, 2001);
substr($picture, index($picture, 'tIME') + 11, 1) ^= "\x01";
like $json->encode(imported('character', $picture, type => 'image/png')->{receipt}), qr/png_bad_crc/, 'B05: imported, and the receipt says so';

# ---- B07: clocks that jump do not reorder a story ----

my $jumps = session();
respond($jumps, "turn $_") for 1 .. 3;
$s->sql("UPDATE tavern.$_ SET created_at = created_at + 25200000") for qw(floor page message); # the clock went seven hours back
$s->sql("UPDATE tavern.floor SET created_at = (SELECT min(created_at) FROM tavern.floor f)"); # and told one time for all
respond($jumps, 'turn 4');
$s->sql("UPDATE tavern.message SET created_at = -created_at");
is join(' ', map { $_->{content} =~ /(turn \d)/ ? $1 : () } grep { $_->{role} eq 'user' } @{ dry($jumps, 'turn 5')->{messages} }), 'turn 1 turn 2 turn 3 turn 4 turn 5',
	'B07: the prompt has the order in which it was said';
is join(' ', map { $_->{messages}[0]{content} } @{ $s->get("/sessions/$jumps/timeline")->{json}{data}{floors} }), 'turn 1 turn 2 turn 3 turn 4', 'B07: so has the story';

# ---- B15: time effects are a function of the floors that the branch has ----

my $timed = imported('worldbook', { name => 'Timed', data => { entries => {
	0 => { uid => 0, key => ['bell'], content => '<sticky>', sticky => 3 }, 1 => { uid => 1, key => ['gong'], content => '<cooldown>', cooldown => 5 },
	2 => { uid => 2, key => ['drum'], content => '<delay>', delay => 5 } } } })->{id};
my $story = session(worldbook_profile_id => $timed, settings => { lore => { scan_depth => 1 } });
my $state = sub { my ($branch) = @_; return join ' ', sort(contents(look($story, 'gong, drum', $branch ? (branch_id => $branch) : ())) =~ /<\w+>/g) };
is $state->(), '<cooldown>', 'B15: the chat is too short for the delay';
respond($story, 'quiet');
is $state->(), '<cooldown>', 'B15: still too short';
my $rings = respond($story, 'bell and gong');
my %matrix = (1 => '<delay> <sticky>');
is $state->(), $matrix{1}, 'B15: sticky goes on, cooldown holds, the delay is over';
for my $n (1 .. 4) {
	is $s->post("/sessions/$story/regenerate", {})->{json}{data}{floor_id}, $rings->{floor_id}, "B15: reroll $n";
	is $state->(), $matrix{1}, "B15: reroll $n of the floor uses nothing up";
}
is respond($story, 'x', prompt_intent => 'continue')->{floor_no}, $rings->{floor_no}, 'B15: the reply goes on';
is $state->(), $matrix{1}, 'B15: another page of the floor moves no counter';
$s->post("/floors/$rings->{floor_id}/branch", { branch_id => 'fork' });
is $state->('fork'), $matrix{1}, 'B15: the fork has the state at the fork';
my $later = respond($story, 'quiet');
is $state->(), $matrix{2} = '<delay>', 'B15: the next floor: sticky is over, the cooldown is not';
is $state->('fork'), $matrix{1}, 'B15: the fork does not see it';
is $s->del("/floors/$later->{floor_id}")->{status}, 200, 'B15: the floor is deleted';
is $state->(), $matrix{1}, 'B15: which rewinds';
respond($story, 'quiet');
is $state->(), $matrix{2}, 'B15: and again';
$later = respond($story, 'quiet');
is $state->(), '<cooldown> <delay>', 'B15: then the cooldown is over, too';
my @before = map { $state->($_) } undef, 'fork';
my %old = map { $_ => 1 } $s->workers;
$s->reload;
$s->wait_for('new workers', sub { my @now = $s->workers; @now >= 2 && !grep { $old{$_} } @now }, 30);
is_deeply [map { $state->($_) } undef, 'fork'], \@before, 'B15: workers that know nothing yet see the same';

# ---- B19: what was recorded of a floor stays as it was, whatever happens later ----

my $record = sub { return join "\n", $s->get("/floors/$rings->{floor_id}/result")->{raw}, $s->get("/floors/$rings->{floor_id}/run")->{raw},
	scalar $s->sql('SELECT md5(string_agg(t::text, chr(10) ORDER BY page_no)) FROM tavern.turn_record t JOIN tavern.page p ON p.no = t.page_no JOIN tavern.floor f ON f.no = p.floor_no WHERE f.id = :\'id\'', id => $rings->{floor_id}) };
my $then = $record->();
for my $n (1 .. 5) {
	is $s->patch("/worldbooks/$timed/entries/0", { content => "Edited $n." })->{status}, 200, 'B19: the book is edited';
	is $s->patch("/sessions/$story", { settings => { lore => { scan_depth => $n } }, prompt_mode => $n % 2 ? 'native' : 'compat_strict' })->{status}, 200, 'B19: settings change';
	respond($story, "later $n");
}
is $s->del("/worldbooks/$timed")->{status}, 204, 'B19: the book is deleted';
is $record->(), $then, 'B19: the record of the floor is what it was';

is_deeply [$s->invariants], [], 'invariants hold';
done_testing;
