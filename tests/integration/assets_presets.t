#!/usr/bin/env perl
# Presets through the API: import and export, the editor's view, entries one by one and many at once, guards, versions.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP;
use Tavern::Stack;
use Test::More;

my $json = JSON::PP->new->utf8->canonical;
my $s = Tavern::Stack->new(mock => 0);
my ($true, $false) = (JSON::PP::true, JSON::PP::false);

sub data { my ($name) = @_; open my $f, '<:raw', "$FindBin::Bin/../data/$name.json" or die $!; local $/; return $json->decode(<$f>) }

sub imported {
	my ($data, $name) = @_;
	my $r = $s->post('/import/preset', { name => $name // 'P', data => $data });

	is $r->{status}, 201, 'imported' or diag $r->{raw};
	return $r->{json}{data}{id};
}

sub version { $s->get("/presets/$_[0]")->{json}{data}{version} }

my $file = {
	temperature => 0.9, openai_max_tokens => 300, my_own => { kept => [1, 2.50] },
	prompts => [
		{ identifier => 'main', name => 'Main', role => 'system', content => 'You are {{char}}.', system_prompt => $true, custom => 7 },
		{ identifier => 'chatHistory', name => 'History', marker => $true, system_prompt => $true },
		{ identifier => 'spare', name => 'Spare', role => 'user', content => 'Not in the order.' },
	],
	prompt_order => [
		{ character_id => 100000, order => [{ identifier => 'main', enabled => $false }] },
		{ character_id => 100001, order => [{ identifier => 'chatHistory', enabled => $true }, { identifier => 'main', enabled => $true }] },
	],
};

# ---- import, read, export, import: a fixed point ----

my $id = imported($file, 'Mine');
my $got = $s->get("/presets/$id")->{json}{data};
is $got->{name}, 'Mine', 'read: its name';
is $got->{version}, 1, 'read: first version';
is $got->{source}, 'sillytavern', 'read: where it came from';
my $export = $s->get("/export/preset/$id");
is $export->{status}, 200, 'export';
like $export->{headers}{'content-disposition'}, qr/filename="Mine\.json"/, 'export: named as the preset';
is_deeply $export->{json}, $file, 'export gives the file again, unknown members included';
is $s->get('/export/preset/' . imported($export->{json}))->{raw}, $export->{raw}, 'export, import, export: the same bytes';

my $real = data('preset');
my $first = $s->get('/export/preset/' . imported($real));
is $s->get('/export/preset/' . imported($first->{json}))->{raw}, $first->{raw}, 'the same for the sample preset';

is $s->post('/import/preset', { data => { prompts => 'x' } })->{json}{error}{code}, 'import_parse_error', 'what is no preset is refused';
is scalar $s->sql("SELECT count(*) FROM tavern.asset WHERE kind = 'preset'"), 4, 'and stored nowhere';

# ---- the editor's view ----

my $view = $s->get("/presets/$id/editor")->{json}{data};
is_deeply [sort keys %$view], [qw(created_at editor id name source updated_at version)], 'editor: its members';
is $view->{editor}{default_character_id}, 100001, 'editor: the context that runs';
is_deeply $view->{editor}{top_level}, { temperature => 0.9, openai_max_tokens => 300, my_own => { kept => [1, 2.50] } }, 'editor: top level';
is_deeply $view->{editor}{order_contexts}, $file->{prompt_order}, 'editor: contexts';
is_deeply $view->{editor}{entries}[0]{extra}, { custom => 7 }, 'editor: what has no field is extra';
my $r = $s->put("/presets/$id", { name => 'Mine', editor => $view->{editor}, expected_version => 1 });
is $r->{status}, 200, 'editor: put back' or diag $r->{raw};
is $r->{json}{data}{version}, 1, 'editor: unchanged, no new version';
is $s->get("/export/preset/$id")->{raw}, $export->{raw}, 'editor: unchanged to the byte';

$view->{editor}{top_level}{temperature} = 0.5;
$view->{editor}{entries}[0]{extra} = { other => 'x' };
push @{ $view->{editor}{entries} }, { identifier => 'new', name => 'New', content => 'Hello.', role => 'system' };
push @{ $view->{editor}{order_contexts}[1]{order} }, { identifier => 'new', enabled => $true };
$r = $s->put("/presets/$id", { name => 'Renamed', editor => $view->{editor}, expected_updated_at => $view->{updated_at} });
is $r->{status}, 200, 'editor: changed' or diag $r->{raw};
is $r->{json}{data}{version}, 2, 'editor: a new version';
is $r->{json}{data}{name}, 'Renamed', 'editor: a new name';
my $now = $s->get("/export/preset/$id")->{json};
is $now->{temperature}, 0.5, 'editor: top level is written';
is_deeply [map { $_->{identifier} } @{ $now->{prompts} }], [qw(main chatHistory spare new)], 'editor: entries are written';
is $now->{prompts}[0]{other}, 'x', 'editor: extra is written';
ok !exists $now->{prompts}[0]{custom}, 'editor: and what it no longer names is gone';

$r = $s->put("/presets/$id", { name => 'Renamed', editor => $view->{editor}, expected_version => 1 });
is $r->{status}, 409, 'stale version';
is $r->{json}{error}{code}, 'preset_conflict', 'stale version: its code';
is $r->{json}{error}{details}{version}, 2, 'stale version: says the current one';
is $s->put("/presets/$id", { name => 'Renamed', editor => $view->{editor}, expected_updated_at => 1 })->{status}, 409, 'stale time';
is $s->put('/presets/nothing', { name => 'x', editor => $view->{editor} })->{status}, 404, 'unknown preset';
$r = $s->put("/presets/$id", { name => '', editor => { entries => [], order_contexts => [] } });
is $r->{status}, 400, 'editor: validated';
is_deeply [sort map { $_->{path} } @{ $r->{json}{error}{details} }], [qw(/editor /editor /name)], 'editor: every bad field';
is $s->get('/presets/nothing/editor')->{status}, 404, 'editor of nothing';

# ---- entries ----

my $p = imported($file);
my $list = $s->get("/presets/$p/entries")->{json}{data};
is $list->{preset_id}, $p, 'entries: of which preset';
is $list->{default_character_id}, 100001, 'entries: of which context';
is_deeply [map { [$_->{identifier}, $_->{enabled} ? 1 : 0] } @{ $list->{entries} }], [['chatHistory', 1], ['main', 1], ['spare', 0]],
	'entries: as they run, then the others';
is_deeply $s->get("/presets/$p/entries/main")->{json}{data}, { identifier => 'main', name => 'Main', role => 'system', content => 'You are {{char}}.',
	system_prompt => $true, marker => $false, enabled => $true, injection_position => 0, injection_depth => 4, injection_order => 100,
	injection_trigger => [], forbid_overrides => $false, extra => { custom => 7 } }, 'entry: every field';
is $s->get("/presets/$p/entries/nope")->{status}, 404, 'entry: unknown';
is $s->get('/presets/nope/entries')->{status}, 404, 'entries: of an unknown preset';

$r = $s->post("/presets/$p/entries", { identifier => 'jb2', name => 'JB', content => 'Go on.', injection_position => 1, injection_depth => 2,
	extra => { tint => 'red' }, expected_version => 1 });
is $r->{status}, 201, 'create' or diag $r->{raw};
is $r->{json}{data}{enabled}, $true, 'create: on';
is version($p), 2, 'create: a version';
is_deeply $s->get("/export/preset/$p")->{json}{prompts}[3],
	{ identifier => 'jb2', name => 'JB', content => 'Go on.', injection_position => 1, injection_depth => 2, tint => 'red' }, 'create: only what was said';
is_deeply $s->get("/export/preset/$p")->{json}{prompt_order}[1]{order}[2], { identifier => 'jb2', enabled => $true }, 'create: last in the order';
is $s->post("/presets/$p/entries", { identifier => 'jb2' })->{json}{error}{code}, 'preset_entry_exists', 'create: no double';
$r = $s->post("/presets/$p/entries", { identifier => 'a b', role => 'tool', injection_depth => 'x' });
is_deeply [sort map { $_->{path} } @{ $r->{json}{error}{details} }], [qw(/identifier /injection_depth /role)], 'create: validated';
is $s->post("/presets/$p/entries", { identifier => 'x1', extra => { content => 'y' } })->{status}, 400, 'create: extra cannot be a field';
is version($p), 2, 'refusals change nothing';

$r = $s->patch("/presets/$p/entries/jb2", { content => 'Stop.', enabled => $false, extra => {}, expected_version => 2 });
is $r->{status}, 200, 'patch' or diag $r->{raw};
is $r->{json}{data}{content}, 'Stop.', 'patch: text';
is $r->{json}{data}{enabled}, $false, 'patch: off';
is_deeply $r->{json}{data}{extra}, {}, 'patch: extra as a whole';
is $r->{json}{data}{name}, 'JB', 'patch: the rest stays';
$r = $s->patch("/presets/$p/entries/jb2", { content => 'x', expected_version => 2 });
is_deeply [$r->{status}, $r->{json}{error}{code}], [409, 'preset_conflict'], 'patch: guarded';
is $s->patch("/presets/$p/entries/nope", { content => 'x' })->{status}, 404, 'patch: unknown';

$r = $s->put("/presets/$p/entries/reorder", { identifiers => [qw(main spare)], expected_version => 3 });
is $r->{status}, 200, 'reorder' or diag $r->{raw};
is_deeply [map { $_->{identifier} } @{ $r->{json}{data}{entries} }], [qw(main spare chatHistory jb2)], 'reorder: named first, then as before';
is_deeply $s->get("/export/preset/$p")->{json}{prompt_order}[0], $file->{prompt_order}[0], 'reorder: the other context stays';
is $s->put("/presets/$p/entries/reorder", { identifiers => ['main', 'nope'] })->{json}{error}{details}[0]{path}, '/identifiers/1', 'reorder: unknown';
is $s->put("/presets/$p/entries/reorder", { identifiers => ['main', 'main'] })->{status}, 400, 'reorder: twice';
is $s->put("/presets/$p/entries/reorder", { identifiers => ['main'], expected_version => 1 })->{status}, 409, 'reorder: guarded';

$r = $s->patch("/presets/$p/entries/batch/update", { identifiers => [qw(main nope spare main)], fields => { enabled => $false, forbid_overrides => $true } });
is $r->{status}, 200, 'batch update' or diag $r->{raw};
is_deeply $r->{json}{data}{meta}, { total => 3, updated => 2, not_found => 1 }, 'batch update: counts';
is_deeply [map { [@$_{qw(index id action)}] } @{ $r->{json}{data}{results} }], [[0, 'main', 'updated'], [1, 'nope', 'not_found'], [2, 'spare', 'updated']],
	'batch update: results';
is $r->{json}{data}{results}[2]{data}{forbid_overrides}, $true, 'batch update: the entry';
is $s->patch("/presets/$p/entries/batch/update", { identifiers => [], fields => {} })->{status}, 400, 'batch update: at least one';
is version($p), 5, 'batch update: one version';

$r = $s->post("/presets/$p/entries/batch/delete", { identifiers => [qw(jb2 nope)], expected_version => 5 });
is_deeply $r->{json}{data}{meta}, { total => 2, deleted => 1, not_found => 1 }, 'batch delete' or diag $r->{raw};
$r = $s->del("/presets/$p/entries/spare?expected_version=5");
is $r->{status}, 409, 'delete: guarded';
$r = $s->del("/presets/$p/entries/spare?expected_version=6");
is_deeply $r->{json}{data}, { identifier => 'spare', deleted => $true }, 'delete';
is $s->del("/presets/$p/entries/spare")->{status}, 404, 'delete: once';
my $left = $s->get("/export/preset/$p")->{json};
is_deeply [map { $_->{identifier} } @{ $left->{prompts} }], [qw(main chatHistory)], 'delete: gone from the prompts';
is_deeply [map { $_->{identifier} } @{ $left->{prompt_order}[1]{order} }], [qw(main chatHistory)], 'delete: gone from the order';

# A preset without an order runs in the default one: an edit writes it down.
my $bare = imported({ temperature => 1, prompts => [{ identifier => 'main', content => 'Hi.' }, { identifier => 'enhanceDefinitions', content => 'E' }] });
is_deeply [map { [$_->{identifier}, $_->{enabled} ? 1 : 0] } @{ $s->get("/presets/$bare/entries")->{json}{data}{entries} }],
	[['main', 1], ['enhanceDefinitions', 0]], 'no order: the default one';
$s->patch("/presets/$bare/entries/enhanceDefinitions", { enabled => $true });
my ($track) = @{ $s->get("/export/preset/$bare")->{json}{prompt_order} };
is $track->{character_id}, 100001, 'no order: an edit makes a track';
is scalar @{ $track->{order} }, 12, 'no order: with all that ran before';
# Only another context: that one runs.
my $other = imported({ temperature => 1, prompts => [{ identifier => 'main', content => 'Hi.' }],
	prompt_order => [{ character_id => 5, order => [{ identifier => 'main', enabled => $false }] }] });
is $s->get("/presets/$other/entries")->{json}{data}{default_character_id}, 5, 'only another context: it runs';
is $s->get("/presets/$other/entries/main")->{json}{data}{enabled}, $false, 'and says what is on';

# ---- every version stays; deletes ----

is scalar $s->sql(q{SELECT count(*) FROM tavern.asset_version v JOIN tavern.asset a ON a.no = v.asset_no WHERE a.id = :'id'}, id => $p), 7, 'versions stay';
is scalar $s->sql(q{SELECT count(*) FROM tavern.document WHERE body LIKE '%You are {{char}}.%custom%'}), 3, 'an entry that does not change is stored once';
is $s->del("/presets/$p?expected_version=1")->{status}, 409, 'delete of the preset: guarded';
$r = $s->del("/presets/$p?expected_version=7");
is $r->{status}, 204, 'delete of the preset: no body';
ok !length($r->{raw} // ''), 'none at all';
is $s->get("/presets/$p")->{status}, 404, 'deleted: gone';
is $s->get("/presets/$p/entries")->{status}, 404, 'deleted: its entries too';
is $s->post("/presets/$p/entries", { identifier => 'x' })->{status}, 404, 'deleted: cannot be written';
is $s->del("/presets/$p")->{status}, 404, 'deleted: once';
is scalar(grep { $_->{id} eq $p } @{ $s->get('/presets?limit=200')->{json}{data} }), 0, 'deleted: not in the list';
is scalar $s->sql(q{SELECT count(*) FROM tavern.asset_version v JOIN tavern.asset a ON a.no = v.asset_no WHERE a.id = :'id'}, id => $p), 7, 'deleted: versions stay';

done_testing;
