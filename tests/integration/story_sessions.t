#!/usr/bin/env perl
# Sessions: made, listed, changed, archived, deleted; what they bind and what they freeze.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP;
use Tavern::Stack;
use Test::More;

my $s = Tavern::Stack->new;
my ($yes, $no) = (JSON::PP::true, JSON::PP::false);

sub refused {
	my ($label, $r, $status, $code) = @_;

	is $r->{status}, $status, "$label: $status" or diag $r->{raw};
	is $r->{json}{error}{code}, $code, "$label: $code";
}
sub make { my (%more) = @_; my $r = $s->post('/sessions', \%more); is $r->{status}, 201, 'session is created' or diag $r->{raw}; return $r->{json}{data} }
sub get { my ($id) = @_; return $s->get("/sessions/$id")->{json}{data} }
sub floors { my ($id) = @_; return @{ $s->get("/sessions/$id/timeline")->{json}{data}{floors} } }

# ---- create ----

my $bare = make();
is_deeply { map { $_ => $bare->{$_} } grep { !/^(?:id|created_at|updated_at)$/ } keys %$bare }, {
	title => undef, status => 'active', character_binding => undef, user_binding => undef, deep_binding => $no, prompt_mode => 'compat_strict', metadata => {}, settings => {}, revision => 0,
	map { $_ => undef } qw(preset_id preset_version_id regex_profile_id regex_profile_version_id worldbook_profile_id worldbook_version_id model_provider model_name model_params preset_choices),
}, 'a bare session has its defaults';
like $bare->{id}, qr/^[A-Za-z0-9_-]{21}$/, 'its id';
is $bare->{created_at}, $bare->{updated_at}, 'its times';
is scalar(floors($bare->{id})), 0, 'no floor';
is_deeply get($bare->{id}), $bare, 'read as it was answered';
my $full = make(title => "F\x{f6}g", status => 'archived', prompt_mode => 'native', model_provider => 'openai-compatible', model_name => 'm', model_params => { temperature => 0.5, stop => [ 'a', 'b' ] },
	metadata => { tags => ['x'], deep => { n => 1 } }, deep_binding => $yes);
is_deeply [ @$full{qw(title status prompt_mode model_provider model_name deep_binding)} ], [ "F\x{f6}g", 'archived', 'native', 'openai-compatible', 'm', $yes ], 'members';
is_deeply $full->{model_params}, { temperature => 0.5, stop => [ 'a', 'b' ] }, 'model_params';
is_deeply $full->{metadata}, { tags => ['x'], deep => { n => 1 } }, 'metadata';
refused('two faults', $s->post('/sessions', { status => 'x', prompt_mode => 'y' }), 400, 'validation_error');

# ---- patch ----

my $r = $s->patch("/sessions/$full->{id}", { title => 'New', status => 'active' });
is $r->{status}, 200, 'patch' or diag $r->{raw};
is_deeply [ @{ $r->{json}{data} }{qw(title status model_name)} ], [ 'New', 'active', 'm' ], 'patch: what is named changes, the rest stays';
ok $r->{json}{data}{updated_at} >= $full->{updated_at}, 'patch: updated_at';
is_deeply $s->patch("/sessions/$full->{id}", { metadata => { only => 1 } })->{json}{data}{metadata}, { only => 1 }, 'patch: metadata is replaced as a whole';
my $before = get($full->{id});
is $s->patch("/sessions/$full->{id}", {})->{status}, 200, 'patch: nothing';
is get($full->{id})->{title}, 'New', 'patch: changes nothing';
refused('patch: one good and one bad member', $s->patch("/sessions/$full->{id}", { title => 'Other', prompt_mode => 'x' }), 400, 'validation_error');
refused('patch: an unknown preset', $s->patch("/sessions/$full->{id}", { title => 'Other', preset_id => 'nosuch' }), 404, 'not_found');
is get($full->{id})->{title}, 'New', 'refused patches change nothing';

# ---- lists ----

my @more = map { make(title => "List 100%_$_") } 1 .. 5;
my $list = $s->get('/sessions?limit=3')->{json};
is_deeply [ map { $_->{id} } @{ $list->{data} } ], [ map { $_->{id} } reverse @more[2 .. 4] ], 'list: newest first';
is_deeply $list->{meta}, { total => 7, limit => 3, offset => 0, has_more => $yes, sort_by => 'created_at', sort_order => 'desc' }, 'list: meta';
is_deeply [ map { $_->{id} } @{ $s->get('/sessions?sort_order=asc&limit=2&offset=1')->{json}{data} } ], [ $full->{id}, $more[0]{id} ], 'list: upwards, from an offset';
is $s->get('/sessions?offset=6')->{json}{meta}{has_more}, $no, 'list: the end';
is_deeply $s->get('/sessions?offset=100')->{json}{data}, [], 'list: behind the end';
is $s->get('/sessions?offset=100')->{json}{meta}{total}, 7, 'list: which still has its total';
is $s->get('/sessions?keyword=lIsT')->{json}{meta}{total}, 5, 'list: a part of the title, in any case';
is $s->get('/sessions?keyword=100%25_3')->{json}{meta}{total}, 1, 'list: signs are taken as they are';
is $s->get('/sessions?keyword=%25_nope')->{json}{meta}{total}, 0, 'list: also where they would fit all';
is $s->get('/sessions?status=archived')->{json}{meta}{total}, 0, 'list: by status';
$s->patch("/sessions/$bare->{id}", { title => 'touched' });
is $s->get('/sessions?sort_by=updated_at&limit=1')->{json}{data}[0]{id}, $bare->{id}, 'list: by the last change';

# ---- batches ----

$r = $s->patch('/sessions/batch/status', { ids => [ $more[0]{id}, 'nosuch', $more[1]{id}, $more[0]{id} ], status => 'archived' });
is_deeply [ map { "$_->{index} $_->{action}" } @{ $r->{json}{data}{results} } ], [ '0 updated', '1 not_found', '2 updated' ], 'batch status: each once';
is_deeply $r->{json}{data}{meta}, { total => 3, updated => 2, not_found => 1, status => 'archived' }, 'batch status: meta';
is $s->get('/sessions?status=archived')->{json}{meta}{total}, 2, 'batch status: done';
$r = $s->post('/sessions/batch/delete', { ids => [ $more[2]{id}, 'nosuch', $more[2]{id} ] });
is_deeply [ map { "$_->{index} $_->{action}" } @{ $r->{json}{data}{results} } ], [ '0 deleted', '1 not_found' ], 'batch delete: each once';
is $s->get("/sessions/$more[2]{id}")->{status}, 404, 'batch delete: done';

# ---- archived ----

refused('archived: a turn', $s->post("/sessions/$more[0]{id}/respond", { message => 'x' }), 409, 'session_archived');
my @events = $s->stream('POST', "/sessions/$more[0]{id}/respond/stream", { message => 'x' })->rest;
is scalar @events, 1, 'archived, stream: one event';
is $events[0]{event}, 'error', 'archived, stream: an error';
is $events[0]{json}{code}, 'session_archived', 'archived, stream: its code';
is scalar(floors($more[0]{id})), 0, 'archived: no floor was made';

# ---- what is frozen, and syncing it ----

sub card { my ($name, %more) = @_; return { spec => 'chara_card_v2', spec_version => '2.0', data => { name => $name, description => "I am $name.", first_mes => "Hello {{user}}, I am $name.", %more } } }
my $card = $s->post('/import/character', { payload => card('Ann') })->{json}{data};
my $user = $s->post('/users', { snapshot => { name => 'Bea' } })->{json}{data}{id};
my $c = make(character_id => $card->{character_id}, user_id => $user);
is_deeply $c->{character_binding}, { character_id => $card->{character_id}, character_version_id => $card->{character_version_id}, sync_policy => 'pin',
	snapshot_summary => { name => 'Ann', has_greeting => $yes } }, 'character binding';
is_deeply $c->{user_binding}, { user_id => $user, snapshot_summary => { name => 'Bea' } }, 'user binding';
my ($greeting) = floors($c->{id});
is $greeting->{messages}[0]{content}, 'Hello Bea, I am Ann.', 'the greeting is its first floor';
is $greeting->{messages}[0]{role}, 'assistant', 'said by the character';
is $greeting->{floor_no}, 0, 'with number 0';
my $version = $s->post("/characters/$card->{character_id}/versions", { snapshot => card('Anna')->{data} });
is $version->{status}, 201, 'the character gets another version' or diag $version->{raw};
refused('sync of a pinned character', $s->post("/sessions/$c->{id}/character/sync", {}), 409, 'character_pinned');
is get($c->{id})->{character_binding}{snapshot_summary}{name}, 'Ann', 'it is as it was';
$r = $s->post("/sessions/$c->{id}/character/sync", { force => $yes });
is $r->{json}{data}{character_binding}{snapshot_summary}{name}, 'Anna', 'by force it is replaced' or diag $r->{raw};
isnt $r->{json}{data}{character_binding}{character_version_id}, $card->{character_version_id}, 'by the newest version';
is scalar(floors($c->{id})), 1, 'the greeting stays as it was said';
is $s->patch("/sessions/$c->{id}", { character_sync_policy => 'manual' })->{json}{data}{character_binding}{sync_policy}, 'manual', 'the policy can be changed';
$s->post("/characters/$card->{character_id}/versions", { snapshot => card('Annabel')->{data} });
is $s->post("/sessions/$c->{id}/character/sync")->{json}{data}{character_binding}{snapshot_summary}{name}, 'Annabel', 'manual: sync on request, without a body';
my $old = make(character_id => $card->{character_id}, character_version_id => $card->{character_version_id});
is $old->{character_binding}{snapshot_summary}{name}, 'Ann', 'an older version can be bound';
refused('sync without a character', $s->post("/sessions/$bare->{id}/character/sync", {}), 409, 'character_not_bound');
my $own = make(character_snapshot => { name => 'Cid', description => 'no greeting' }, user_snapshot => { name => 'Dan' });
is_deeply $own->{character_binding}, { character_id => undef, character_version_id => undef, sync_policy => 'pin', snapshot_summary => { name => 'Cid', has_greeting => $no } },
	'a card of the session\'s own';
is $own->{user_binding}{snapshot_summary}{name}, 'Dan', 'a user card of its own';
is scalar(floors($own->{id})), 0, 'no greeting, no floor';
refused('sync of a card of its own', $s->post("/sessions/$own->{id}/character/sync", { force => $yes }), 409, 'character_not_bound');
$s->post("/sessions/$own->{id}/respond", { message => 'Hi.' });
like join(' ', map { $_->{content} } @{ $s->mock_last->{messages} }), qr/no greeting/, 'its own card is sent';
refused('an unknown version', $s->post('/sessions', { character_id => $card->{character_id}, character_version_id => 'nosuch' }), 404, 'not_found');

# ---- binding presets, books, scripts ----

my $preset = $s->post('/import/preset', { name => 'P', data => { prompts => [ { identifier => 'main', role => 'system', content => 'From the preset.', system_prompt => $yes } ] } })->{json}{data}{id};
$r = $s->patch("/sessions/$own->{id}", { preset_id => $preset });
is $r->{json}{data}{preset_id}, $preset, 'a preset is bound';
$s->post("/sessions/$own->{id}/respond", { message => 'Hi.' });
like join(' ', map { $_->{content} } @{ $s->mock_last->{messages} }), qr/From the preset\./, 'and used';
is $s->patch("/sessions/$own->{id}", { preset_id => undef })->{json}{data}{preset_id}, undef, 'null takes it off';
$s->post("/sessions/$own->{id}/respond", { message => 'Hi.' });
unlike join(' ', map { $_->{content} } @{ $s->mock_last->{messages} }), qr/From the preset\./, 'and it is not used';

# ---- timeline, active run ----

my $t = $s->get("/sessions/$own->{id}/timeline?limit=2&offset=1")->{json};
is_deeply [ map { $_->{floor_no} } @{ $t->{data}{floors} } ], [ 1, 2 ], 'timeline: a part, upwards';
is $t->{meta}{total}, 3, 'timeline: total';
is $t->{meta}{has_more}, $no, 'timeline: the end';
is_deeply $s->get("/sessions/$own->{id}/timeline?offset=50")->{json}{data}{floors}, [], 'timeline: behind the end';
is $s->get("/sessions/$own->{id}/active-run")->{json}{data}{active_run}{busy}, $no, 'nothing runs';
$s->patch("/sessions/$own->{id}", { model_name => 'm?n=300&i=20' });
my $stream = $s->stream('POST', "/sessions/$own->{id}/respond/stream", { message => 'long' });
$stream->next;
is $s->get("/sessions/$own->{id}/active-run")->{json}{data}{active_run}{busy}, $yes, 'now something does';
is_deeply [ map { $_->{state} } floors($own->{id}) ], [ ('committed') x 3 ], 'timeline: what is said';
$t = $s->get("/sessions/$own->{id}/timeline?unfinished=true&offset=2")->{json};
is_deeply [ map { $_->{state} } @{ $t->{data}{floors} } ], [qw(committed generating)], 'timeline: and what is being written, if asked for';
is $t->{meta}{total}, 4, 'timeline: it has its place';

# ---- delete ----

is $s->del("/sessions/$own->{id}")->{json}{data}{deleted}, $yes, 'deleted while something runs';
$stream->close;
for my $path ('', '/timeline', '/active-run') { is $s->get("/sessions/$own->{id}$path")->{status}, 404, "deleted: GET $path" }
is $s->patch("/sessions/$own->{id}", { title => 'x' })->{status}, 404, 'deleted: PATCH';
is $s->del("/sessions/$own->{id}")->{status}, 404, 'deleted: DELETE';
is $s->post("/sessions/$own->{id}/respond", { message => 'x' })->{status}, 404, 'deleted: a turn';
is $s->post("/sessions/$own->{id}/character/sync", {})->{status}, 404, 'deleted: sync';
is scalar(grep { $_->{id} eq $own->{id} } @{ $s->get('/sessions')->{json}{data} }), 0, 'deleted: not listed';
is $s->post('/sessions/batch/delete', { ids => [ $own->{id} ] })->{json}{data}{results}[0]{action}, 'not_found', 'deleted: also for batches';

is_deeply [$s->invariants], [], 'invariants hold';
done_testing;
