#!/usr/bin/env perl
# Characters through the API: cards as JSON, PNG and CHARX, uploaded raw and in a form; versions, deletes, exports.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP;
use Tavern::Files qw(archive form png);
use Tavern::Stack;
use Test::More;

my $json = JSON::PP->new->utf8->canonical;
my $s = Tavern::Stack->new(mock => 0);
my ($true, $false) = (JSON::PP::true, JSON::PP::false);

sub data { my ($name) = @_; open my $f, '<:raw', "$FindBin::Bin/../data/$name.json" or die $!; local $/; return $json->decode(<$f>) }
sub stored { scalar $s->sql("SELECT count(*) FROM tavern.asset WHERE kind = 'character'") }

my $card = data('card');
my $v3 = { %$card, spec => 'chara_card_v3', spec_version => '3.0',
	data => { %{ $card->{data} }, assets => [{ type => 'icon', name => 'main', ext => 'png', uri => 'embeded://assets/icon/main.png' }] } };

# ---- JSON ----

my $r = $s->post('/import/character', { payload => $card });
is $r->{status}, 201, 'json' or diag $r->{raw};
my $c = $r->{json}{data};
is $c->{create_session}, $false, 'json: no session';
is $c->{character}{name}, 'Maren', 'json: the card';
ok !exists $c->{session}, 'json: none';
my $export = $s->get("/export/character/$c->{character_id}?format=v2");
is $export->{json}{spec}, 'chara_card_v2', 'export: V2';
is $s->get("/export/character/$c->{character_id}?format=v3")->{json}{spec}, 'chara_card_v3', 'export: V3';
my $again = $s->post('/import/character', $export->{raw}, type => 'text/plain');
is $again->{status}, 201, 'the file itself' or diag $again->{raw};
is $s->get("/export/character/$again->{json}{data}{character_id}?format=v2")->{raw}, $export->{raw}, 'export, import, export: the same bytes';
is $s->get("/characters/$c->{character_id}/avatar")->{status}, 404, 'json: no picture';

$r = $s->post('/import/character', { payload => $card, create_session => $true, title => 'Fog' });
is $r->{json}{data}{session}{title}, 'Fog', 'with a session' or diag $r->{raw};

# ---- PNG ----

my $png = png($card, 2001);
$r = $s->post('/import/character', $png, type => 'image/png');
is $r->{status}, 201, 'png' or diag $r->{raw};
my $p = $r->{json}{data}{character_id};
is $s->get("/characters/$p/avatar")->{raw}, $png, 'png: the picture is kept';
is $s->get("/characters/$p/avatar")->{headers}{'content-type'}, 'image/png', 'png: its type';
my $out = $s->get("/export/character/$p?format=png");
is $out->{status}, 200, 'png: export' or diag $out->{raw};
is $out->{headers}{'content-type'}, 'image/png', 'png: export: type';
like $out->{headers}{'content-disposition'}, qr/Maren\.png/, 'png: export: name';
ok index($out->{raw}, pack('n', 2001) . "\x01\x01") > 0, 'png: export: the same picture';
like $out->{raw}, qr/tEXtchara\0.*tEXtccv3\0/s, 'png: export: both chunks';
$r = $s->post('/import/character', $out->{raw}, type => 'image/png');
is $s->get("/export/character/$r->{json}{data}{character_id}?format=png")->{raw}, $out->{raw}, 'png: export, import, export: the same bytes';
is $s->get("/export/character/$c->{character_id}?format=png")->{status}, 200, 'png: of a card without a picture';

# An edit keeps the picture.
$r = $s->post("/characters/$p/versions", { snapshot => { %$card, data => { %{ $card->{data} }, description => 'Edited.' } } });
is $r->{status}, 201, 'a version' or diag $r->{raw};
is $s->get("/characters/$p/avatar")->{raw}, $png, 'a version: the picture stays';

# ---- a form ----

$r = $s->post('/import/character', form(title => 'Harbour', create_session => 'true', file => ['C:\\cards\\"M".png', $png]));
is $r->{status}, 201, 'form' or diag $r->{raw};
is $r->{json}{data}{session}{title}, 'Harbour', 'form: its fields';
is $s->get("/characters/$r->{json}{data}{character_id}/avatar")->{raw}, $png, 'form: the file to the byte';
$r = $s->post('/import/preset', form(file => ['Cosy nights.json', $json->encode({ temperature => 1, prompts => [{ identifier => 'main', content => 'x' }] })]));
is $r->{json}{data}{name}, 'Cosy nights', 'form: a preset, named by its file' or diag $r->{raw};
$r = $s->post('/import/worldbook', form(name => 'Mine', file => ['x.json', $json->encode({ entries => { 0 => { uid => 0, key => ['a'], content => 'b' } } })]));
is $r->{json}{data}{name}, 'Mine', 'form: a worldbook, named by the form' or diag $r->{raw};
$r = $s->post('/import/regex', form(file => ['x.json', $json->encode([{ scriptName => 's', findRegex => '/a/', replaceString => 'b', placement => [1] }])]));
is $r->{json}{data}{script_count}, 1, 'form: regex scripts' or diag $r->{raw};

# ---- CHARX ----

my $icon = png(undef, 2002);
my $charx = archive('card.json' => $json->encode($v3), 'assets/icon/main.png' => $icon, 'notes/a.txt' => 'kept');
$r = $s->post('/import/character', $charx, type => 'application/octet-stream');
is $r->{status}, 201, 'charx' or diag $r->{raw};
my $x = $r->{json}{data}{character_id};
is $s->get("/characters/$x/avatar")->{raw}, $icon, 'charx: its icon is the picture';
$out = $s->get("/export/character/$x?format=charx");
is $out->{status}, 200, 'charx: export' or diag $out->{raw};
like $out->{headers}{'content-disposition'}, qr/Maren\.charx/, 'charx: export: name';
like $out->{raw}, qr{notes/a\.txt}, 'charx: export: the other files go over';
$r = $s->post('/import/character', $out->{raw}, type => 'application/zip');
is_deeply $s->get("/export/character/$r->{json}{data}{character_id}?format=v3")->{json}, $s->get("/export/character/$x?format=v3")->{json},
	'charx: export, import: the same card';
is $s->get("/characters/$r->{json}{data}{character_id}/avatar")->{raw}, $icon, 'charx: and picture';
ok index($s->get("/export/character/$x?format=png")->{raw}, pack('n', 2002) . "\x01\x01") > 0, 'charx: as PNG, with its icon';

# ---- what is none leaves nothing ----

my $before = stored();
my %bad = (
	'a picture without a card' => [$icon, 'image/png'], 'a picture cut off' => [substr($png, 0, 60), 'image/png'],
	'an archive without a card' => [archive('a.txt' => 'x'), 'application/zip'], 'no card' => ['{"a":1}', 'text/plain'],
	'broken text' => ['{"spec":', 'text/plain'], 'nothing known' => ["\0\1\2\3", 'application/octet-stream'], 'nothing' => ['', 'image/png'],
);
for my $name (sort keys %bad) {
	$r = $s->post('/import/character', $bad{$name}[0], type => $bad{$name}[1]);
	is_deeply [$r->{status}, $r->{json}{error}{code}], [400, 'import_parse_error'], $name or diag $r->{raw};
	ok length($r->{json}{error}{details}{reason} // ''), "$name: why";
}
my ($body, %type) = form(title => 'x', file => ['a.png', $png]);
for my $broken ([substr($body, 0, -10), %type], [$body, type => 'multipart/form-data'], [(form(title => 'x'))[0], %type], ['', %type],
	[$body, type => 'multipart/form-data; boundary=other']) {
	is $s->post('/import/character', @$broken)->{json}{error}{code}, 'invalid_multipart', 'a broken form';
}
is $s->post('/import/character', form(create_session => 'perhaps', file => ['a.png', $png]))->{json}{error}{details}[0]{path}, '/create_session', 'form: validated';
is $s->post('/import/character', { payload => { spec => 'x' } })->{status}, 400, 'json: no card';
is $s->post('/import/character', $png, type => 'application/json')->{json}{error}{code}, 'invalid_json', 'a picture that says it is JSON';
is $s->post('/import/character', 'x' x (66 << 20), type => 'image/png')->{status}, 413, 'too large';
is stored(), $before, 'nothing of it is stored';

# ---- versions, deletes ----

my $id = $c->{character_id};
$r = $s->get("/characters/$id");
is $r->{json}{data}{latest_version_no}, 1, 'read';
my $first = $r->{json}{data}{latest_version}{id};
my $new = { %$card, data => { %{ $card->{data} }, name => 'Marena' } };
$r = $s->post("/characters/$id/versions", { snapshot => $new, expected_revision => $r->{json}{data}{revision} });
is $r->{json}{data}{version_no}, 2, 'version 2' or diag $r->{raw};
$r = $s->post("/characters/$id/versions", { snapshot => $new, expected_revision => 99 });
is_deeply [$r->{status}, $r->{json}{error}{code}], [409, 'character_conflict'], 'version: guarded';
is $s->get("/export/character/$id?version_id=$first")->{json}{data}{name}, 'Maren', 'the first version stays readable';
is $s->get("/export/character/$id")->{json}{data}{name}, 'Marena', 'beside the newest';
is $s->get("/export/character/$id?version_id=nope")->{status}, 404, 'unknown version';
is $s->get("/export/character/$p?version_id=$first")->{status}, 404, 'version of another character';
is $s->get("/export/character/$id?format=xml")->{status}, 400, 'unknown format';
$r = $s->post("/characters/$id/versions/$first/rollback", {});
is_deeply [$r->{status}, @{ $r->{json}{data} }{qw(version_no rolled_back_from_version_id)}], [201, 3, $first], 'rollback' or diag $r->{raw};
is $s->get("/characters/$id")->{json}{data}{name}, 'Maren', 'rollback: name';
is_deeply [map { $_->{version_no} } @{ $s->get("/characters/$id/versions?sort_order=asc")->{json}{data} }], [1, 2, 3], 'versions';
$r = $s->del("/characters/$id");
is $r->{json}{data}{status}, 'deleted', 'delete' or diag $r->{raw};
is $s->get("/export/character/$id")->{status}, 404, 'deleted: no export';
is $s->get("/characters/$id/avatar")->{status}, 404, 'deleted: no picture';
is $s->post("/characters/$id/versions", { snapshot => $new })->{status}, 404, 'deleted: no new version';
is scalar(grep { $_->{id} eq $id } @{ $s->get('/characters?limit=200')->{json}{data} }), 0, 'deleted: not in the list';
is scalar(grep { $_->{id} eq $id } @{ $s->get('/characters?limit=200&status=deleted')->{json}{data} }), 1, 'deleted: in the list of those';
is $s->get("/export/character/$id?version_id=$first")->{json}{data}{name}, 'Maren', 'deleted: versions stay readable';
is $s->post("/characters/$id/restore", {})->{json}{data}{status}, 'active', 'restore';
is $s->get("/export/character/$id")->{status}, 200, 'restored';

done_testing;
