#!/usr/bin/env perl
# An error is not an empty chat, and a stale copy is not the truth (B37); text that PostgreSQL refuses (B38).
use strict;
use warnings;
use utf8;
use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP;
use Tavern::Stack;
use Test::More;

my $json = JSON::PP->new->utf8->canonical;
my $s = Tavern::Stack->new;

sub session { my $r = $s->post('/sessions', { title => 'T', @_ }); return $r->{json}{data} }
sub get { return $s->get($_[0])->{json}{data} }
sub one { scalar $s->sql(@_) }
sub refused { my ($label, $r, $status, $code) = @_; is $r->{status}, $status, "$label: $status" or diag $r->{raw}; is $r->{json}{error}{code}, $code, "$label: $code"; return $r->{json}{error}{details} }
# Every row of what is not addressed, as one digest.
sub digest { my ($but) = @_; return join ' ', map { one("SELECT md5(coalesce(string_agg(t::text, ',' ORDER BY no), '')) FROM tavern.$_ t WHERE id <> :'but'", but => $but // '') } qw(session branch floor page message variable) }

# ---- B37: two clients, one thing: who has not read the other's change is told, and loses nothing ----

my $chat = session(metadata => { keep => [1, 2] }, model_name => 'm', model_params => { temperature => 0.5 });
is $chat->{revision}, 0, 'a session counts its changes';
my $first = $s->patch("/sessions/$chat->{id}", { title => 'first', expected_revision => $chat->{revision} });
is $first->{status}, 200, 'B37: who has read it changes it' or diag $first->{raw};
is_deeply refused('B37: who has not', $s->patch("/sessions/$chat->{id}", { title => 'second', expected_revision => $chat->{revision} }), 409, 'conflict'),
	{ path => '/expected_revision', current_revision => 1 }, 'B37: is told the current one';
is get("/sessions/$chat->{id}")->{title}, 'first', 'B37: and changes nothing';
$s->post("/sessions/$chat->{id}/respond", { message => "turn $_" }) for 1 .. 3;
is get("/sessions/$chat->{id}")->{revision}, 1, 'turns are no changes of it';
is $s->patch('/sessions/nosuch', { title => 'x', expected_revision => 0 })->{status}, 404, 'nor is one changed that is not there';

my $draft = $s->post('/floors', { session_id => session()->{id}, branch_id => 'main', floor_no => 0 })->{json}{data}{id};
my $page = $s->post('/pages', { floor_id => $draft, page_kind => 'input', page_no => 0 })->{json}{data}{id};
my @m = map { $s->post('/messages', { page_id => $page, seq => $_, role => 'user', content => "line $_" })->{json}{data} } 0, 1;
is $s->patch("/messages/$m[0]{id}", { content => 'mine', expected_content => 'line 0' })->{status}, 200, 'B37: a message, by the text that was read';
my $rows = digest();
is_deeply refused('B37: by another', $s->patch("/messages/$m[0]{id}", { content => 'theirs', expected_content => 'line 0' }), 409, 'conflict'),
	{ path => '/expected_content', current_content => 'mine' }, 'B37: the current one is told';
is digest(), $rows, 'B37: no row is changed';
is $s->patch("/messages/$m[1]{id}", { is_hidden => JSON::PP::true, expected_content => '' })->{status}, 409, 'B37: no text is not any text';

# ---- B37: absent members stay, and a change touches its own row ----

my $before = get("/sessions/$chat->{id}");
my $others = digest($chat->{id});
for my $change ({ metadata => { keep => [3] } }, { title => 'again' }, { status => 'archived' }, { status => 'active' }, { model_params => undef }) {
	my ($member) = keys %$change;
	my $old = get("/sessions/$chat->{id}");
	is $s->patch("/sessions/$chat->{id}", $change)->{status}, 200, "B37: only $member";
	my $new = get("/sessions/$chat->{id}");
	is_deeply [ grep { $json->encode([$old->{$_}]) ne $json->encode([$new->{$_}]) && $_ ne $member && $_ !~ /^(?:revision|updated_at)$/ } sort keys %$old ], [], "B37: $member and nothing else";
}
is digest($chat->{id}), $others, 'B37: no other row was touched';
my $empty = $s->patch("/sessions/$chat->{id}", {});
is get("/sessions/$chat->{id}")->{title}, 'again', 'B37: an empty change changes nothing' or diag $empty->{raw};

# ---- B37: no route writes a whole story over another ----

my $paths = $s->get('/openapi.json')->{json}{paths};
my @bulk;
for my $path (grep { m{^/(?:sessions|floors|pages|messages|branches)} } sort keys %$paths) {
	for my $method (grep { /^(?:put|patch)$/ } sort keys %{ $paths->{$path} }) {
		my $members = $paths->{$path}{$method}{requestBody}{content}{'application/json'}{schema}{properties} // {};
		push @bulk, "$method $path" if grep { /^(?:messages|floors|pages|branches|history|items)$/ } keys %$members;
	}
}
is_deeply \@bulk, [], 'B37: floors and messages are written one by one';
my @floors = map { $_->{id} } @{ get("/sessions/$chat->{id}/timeline?limit=50")->{floors} };
is scalar @floors, 3, 'the story is there';
$s->patch("/sessions/$chat->{id}", { messages => [], floors => [], title => 'cut' });
is_deeply [ map { $_->{id} } @{ get("/sessions/$chat->{id}/timeline?limit=50")->{floors} } ], \@floors, 'B37: who has loaded nothing of it takes nothing away';

# ---- B38: text that the database refuses ----

my @bad = (
	['U+0000', '"a\u0000b"', "ab"], ['a lone half of a pair', '"a\ud800b"', "a\x{fffd}b"], ['a pair', '"a\ud83d\ude00b"', "a\x{1f600}b"], ['a noncharacter', '"a\ufffeb"', "a\x{fffe}b"],
);
for my $case (@bad) {
	my ($name, $text, $kept) = @$case;
	my $id = session(model_name => 'm')->{id};
	my $r = $s->post("/sessions/$id/respond", qq({"message":$text}), type => 'application/json');
	is $r->{status}, 200, "B38: $name in a message" or diag $r->{raw};
	my ($floor) = @{ get("/sessions/$id/timeline")->{floors} };
	is $floor->{messages}[0]{content}, $kept, "B38: $name: kept or replaced" if $floor;
	$r = $s->put('/variables', qq({"scope":"chat","scope_id":"$id","key":$text,"value":{$text:[$text]}}), type => 'application/json');
	cmp_ok $r->{status}, '<', 500, "B38: $name in a variable's name and value" or diag $r->{raw};
	is $s->patch("/sessions/$id", qq({"title":$text,"metadata":{"x":$text}}), type => 'application/json')->{status}, 200, "B38: $name in a title";
	$r = $s->post('/import/character', qq({"payload":{"name":$text,"description":$text,"scenario":$text,"x":{"y":$text}}}), type => 'application/json');
	cmp_ok $r->{status}, '<', 300, "B38: $name in a card" or diag $r->{raw};
}
for my $case (['a number of 100 kB', '{"message":' . '9' x 100_000 . '}'], ['10,000 levels', '{"message":"x","config":' . '[' x 10_000 . ']' x 10_000 . '}'], ['bytes that are no text', "{\"message\":\"\xff\xfe\"}"]) {
	my ($name, $body) = @$case;
	my $id = session()->{id};
	my $r = $s->post("/sessions/$id/respond", $body, type => 'application/json');
	cmp_ok $r->{status}, '<', 500, "B38: $name: no fault";
}
{
	my $id = session(model_name => 'm?text=a%00b')->{id};
	is $s->post("/sessions/$id/respond", { message => 'x' })->{status}, 200, 'the service is well';
}

is_deeply [$s->invariants], [], 'invariants hold';
done_testing;
