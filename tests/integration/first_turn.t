#!/usr/bin/env perl
# The main job on real input: a preset, a card, a book and a regex file are imported, a session is made, and a reply is
# streamed from an OpenAI-compatible server, assembled from all four, committed and visible in the timeline.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP;
use Tavern::Stack;
use Test::More;

my $json = JSON::PP->new->utf8->canonical;
my $s = Tavern::Stack->new;

sub data { my ($name) = @_; open my $f, '<:raw', "$FindBin::Bin/../data/$name.json" or die $!; local $/; return $json->decode(<$f>) }

sub one { scalar $s->sql(@_) }

# ---- imports ----

my %id;
for my $kind (qw(preset worldbook regex)) {
	my $r = $s->post("/import/$kind", { name => "My $kind", data => data($kind eq 'worldbook' ? 'book' : $kind) });
	is $r->{status}, 201, "$kind is imported";
	ok ref $r->{json}{data}{receipt} eq 'HASH', "$kind: with a receipt";
	$id{$kind} = $r->{json}{data}{id};
}
my $card = $s->post('/import/character', { payload => data('card') });
is $card->{status}, 201, 'card is imported';
is $card->{json}{data}{character}{name}, 'Maren', 'card: its name';
my $user = $s->post('/users', { snapshot => { name => 'Iven', description => '{{user}} is a courier.' } });
is $user->{status}, 201, 'user card is created';

# ---- session and greeting ----

my $r = $s->post('/sessions', { title => 'Fog', character_id => $card->{json}{data}{character_id}, user_id => $user->{json}{data}{id},
	preset_id => $id{preset}, worldbook_profile_id => $id{worldbook}, regex_profile_id => $id{regex} });
is $r->{status}, 201, 'session is created' or diag $r->{raw};
my $session = $r->{json}{data};
is $session->{prompt_mode}, 'compat_strict', 'default mode';
is $session->{character_binding}{snapshot_summary}{name}, 'Maren', 'character is frozen into it';
is $session->{user_binding}{snapshot_summary}{name}, 'Iven', 'user card too';
my $timeline = $s->get("/sessions/$session->{id}/timeline")->{json};
is scalar @{ $timeline->{data}{floors} }, 1, 'greeting is the first floor';
is $timeline->{data}{floors}[0]{messages}[0]{content}, '*The lamp turns.* You are late, Iven.', 'greeting is expanded';

# ---- one streamed turn ----

my $text = 'The *bell* rings. <summary>Iven came.</summary>';
my $stream = $s->stream('POST', "/sessions/$session->{id}/respond/stream", { message => 'Hello, is that the bell? Read me the ledger.' });
my @events = $stream->rest;
my %seen;
$seen{ $_->{event} }++ for @events;
is $stream->status, 200, 'stream: 200';
is $events[0]{event}, 'start', 'stream: begins with start';
is $events[0]{json}{floor_no}, 1, 'start: floor number';
ok $seen{chunk} > 0, 'stream: has chunks';
ok $seen{run} >= 3, 'stream: has run records';
is $events[-1]{event}, 'done', 'stream: ends with done';
my $done = $events[-1]{json};
is join('', map { $_->{json}{chunk} } grep { $_->{event} eq 'chunk' } @events), $done->{generated_text}, 'chunks are the text';
is $done->{final_state}, 'committed', 'done: committed';
ok $done->{total_usage}{total_tokens} > 0, 'done: usage';
ok !(grep { !defined $_->{id} } @events), 'every event has an id';

# What the model was sent holds something of every asset.
my @sent = @{ $s->mock_last->{messages} };
my $all = join "\n", map { "$_->{role}: $_->{content}" } @sent;
like $all, qr/You are Maren, talking with Iven\./, 'sent: preset, with names';
like $all, qr/Maren keeps the light at Skarholm/, 'sent: card';
like $all, qr/Iven is a courier\./, 'sent: persona';
like $all, qr/The harbour bell is cracked\./, 'sent: lore by key';
like $all, qr/It always rains on Maren\./, 'sent: constant lore, with macros';
like $all, qr/a page that Maren never shows/, 'sent: lore of the card';
unlike $all, qr/whale/, 'sent: not the lore that nothing named';
like $all, qr/user: ahoy, is that the bell\?/, 'sent: regex on the message';
like $all, qr/You are late, Iven\./, 'sent: greeting';
like $all, qr/Salt is on everything\./, 'sent: row at a depth';
is $sent[-1]{content}, 'Two paragraphs at most.', 'sent: post-history instructions come last';
my $last = $s->mock_last;
is $last->{temperature} + 0, 0.8, 'sent: the preset\'s temperature';
is $last->{max_tokens} // $last->{max_completion_tokens}, 300, 'sent: the preset\'s reply size';

# ---- afterwards ----

$timeline = $s->get("/sessions/$session->{id}/timeline")->{json};
is $timeline->{meta}{total}, 2, 'timeline: two floors';
my $floor = $timeline->{data}{floors}[1];
is $floor->{state}, 'committed', 'timeline: committed';
is $floor->{messages}[0]{content}, 'Hello, is that the bell? Read me the ledger.', 'timeline: the message as typed';
is $floor->{messages}[1]{content}, $done->{generated_text}, 'timeline: the reply';
is $s->get("/floors/$floor->{id}/run")->{json}{data}{run}{status}, 'completed', 'run: completed';
my $result = $s->get("/floors/$floor->{id}/result")->{json}{data};
is $result->{generated_text}, $done->{generated_text}, 'result: the text';
is $result->{usage}{total_tokens}, $done->{total_usage}{total_tokens}, 'result: usage';
is $s->get("/sessions/$session->{id}/active-run")->{json}{data}{active_run}{busy}, JSON::PP::false, 'active run: idle';

# ---- plain turn: summary tags, regex on the reply ----

$r = $s->patch("/sessions/$session->{id}", { model_name => 'm?text=' . join('', map { sprintf '%%%02x', ord } split //, $text) });
is $r->{status}, 200, 'session is given another model';
$r = $s->post("/sessions/$session->{id}/respond", { message => 'And then?', debug_options => { include_prompt_snapshot => JSON::PP::true } });
is $r->{status}, 200, 'plain turn' or diag $r->{raw};
is $r->{json}{data}{generated_text}, 'The *bell* rings.', 'summary is stripped from what is shown';
is_deeply $r->{json}{data}{summaries}, ['Iven came.'], 'and returned apart';
is $r->{json}{data}{prompt_snapshot}{preset_id}, $id{preset}, 'snapshot: the preset';
$s->post("/sessions/$session->{id}/respond", { message => 'Go on.' });
$all = join "\n", map { "$_->{role}: $_->{content}" } @{ $s->mock_last->{messages} };
like $all, qr/assistant: The \(bell\) rings\./, 'the next prompt holds the reply as the persist script made it';
unlike $all, qr/summary/, 'and no summary';

# ---- dry run writes nothing and equals what is sent ----

my $before = one('SELECT count(*) FROM tavern.message') . one('SELECT count(*) FROM tavern.run');
my $dry = $s->post("/sessions/$session->{id}/respond/dry-run", { message => 'Once more.' });
is $dry->{status}, 200, 'dry run' or diag $dry->{raw};
is one('SELECT count(*) FROM tavern.message') . one('SELECT count(*) FROM tavern.run'), $before, 'dry run writes nothing';
$s->post("/sessions/$session->{id}/respond", { message => 'Once more.' });
is_deeply [map { [$_->{role}, $_->{content}] } @{ $dry->{json}{data}{messages} }],
	[map { [$_->{role}, $_->{content}] } @{ $s->mock_last->{messages} }], 'dry run shows exactly what the turn sends';

# ---- frozen snapshots: the originals may change or go ----

sub outgoing { $s->post("/sessions/$_[0]/respond/dry-run", { message => 'Same?' })->{json}{data}{messages} }
my $was = outgoing($session->{id});
my $cid = $card->{json}{data}{character_id};
my $other = data('card');
$other->{data}{description} = 'Somebody else.';
is $s->post("/characters/$cid/versions", { snapshot => $other })->{status}, 201, 'the character gets another version';
is $s->patch("/users/$user->{json}{data}{id}", { snapshot => { name => 'Other' } })->{status}, 200, 'the user card changes';
is_deeply outgoing($session->{id}), $was, 'the session sends the same';
is $s->del("/characters/$cid")->{status}, 200, 'the character is deleted';
is $s->del("/users/$user->{json}{data}{id}")->{status}, 200, 'the user card is deleted';
is_deeply outgoing($session->{id}), $was, 'the session still sends the same';
is $s->del("/presets/$id{preset}")->{status}, 204, 'the preset is deleted';
is $s->post("/sessions/$session->{id}/respond", { message => 'Still there?' })->{status}, 200, 'a missing preset does not break a turn';

is_deeply [$s->invariants], [], 'invariants hold';
done_testing;
