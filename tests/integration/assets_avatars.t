#!/usr/bin/env perl
# Pictures of characters: uploaded raw and in a form, kept to the byte, served only as what their bytes are.
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

my $card = { spec => 'chara_card_v2', spec_version => '2.0', data => { name => 'Maren', description => 'Keeper.', first_mes => 'Hello.' } };
my $png = png($card, 2001);
my $jpeg = "\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0" . "\xff\xd9";
my $webp = 'RIFF' . pack('V', 26) . 'WEBPVP8L' . pack('V', 13) . "\x2f\0\0\0\x10\x07\x10\x11\x11\x88\x88\xfe\x07\0";
my $html = '<!DOCTYPE html><html><script>alert(1)</script></html>';
my $svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';

sub charx {
	my ($path, $picture) = @_;

	return archive('card.json' => $json->encode({ spec => 'chara_card_v3', spec_version => '3.0', data => { name => 'Maren',
		assets => [{ type => 'icon', name => 'main', ext => ($path =~ /([^.]+)$/)[0], uri => "embeded://$path" }] } }), $path => $picture);
}

sub imported {
	my ($what, @upload) = @_;
	my $r = $s->post('/import/character', @upload);

	is $r->{status}, 201, "$what: imported" or diag $r->{raw};
	return $r->{json}{data};
}

sub serves {
	my ($what, $id, $type, $bytes) = @_;
	my $r = $s->get("/characters/$id/avatar");

	is_deeply [@{ $r }{qw(status)}, @{ $r->{headers} }{qw(content-type x-content-type-options)}], [200, $type, 'nosniff'], "$what: $type, not to be guessed at";
	like $r->{headers}{'content-security-policy'} // '', qr/default-src 'none'.*sandbox/, "$what: nothing in it may run";
	ok $r->{raw} eq $bytes, "$what: to the byte";
}

# ---- raw body and form, whatever they say they are ----

for my $type ('image/png', 'application/octet-stream', 'image/jpeg', 'text/html') {
	serves("raw as $type", imported("raw as $type", $png, type => $type)->{character_id}, 'image/png', $png);
}
for my $name ('maren.png', 'maren.html', 'maren.svg', '') {
	serves("form \"$name\"", imported("form \"$name\"", form(file => [$name, $png]))->{character_id}, 'image/png', $png);
}
my ($body, %type) = form(file => ['x.html', $png]);
$body =~ s{application/octet-stream}{text/html};
serves('a part that says HTML', imported('a part that says HTML', $body, %type)->{character_id}, 'image/png', $png);

# ---- icons of archives ----

for my $icon (['PNG', 'assets/icon/main.png', png(undef, 2002), 'image/png'], ['JPEG', 'assets/icon/main.jpeg', $jpeg, 'image/jpeg'],
	['WebP', 'assets/icon/main.webp', $webp, 'image/webp'], ['WebP that says PNG', 'assets/icon/main.png', $webp, 'image/webp']) {
	my ($what, $path, $picture, $type) = @$icon;

	serves($what, imported($what, charx($path, $picture), type => 'application/zip')->{character_id}, $type, $picture);
	my $c = imported("$what in a form", form(file => ['maren.charx', charx($path, $picture)]));
	serves("$what in a form", $c->{character_id}, $type, $picture);
	my $again = $s->get("/export/character/$c->{character_id}?format=charx");
	is $again->{status}, 200, "$what: export" or diag $again->{raw};
	serves("$what out and in", imported("$what out and in", $again->{raw}, type => 'application/zip')->{character_id}, $type, $picture);
	is $s->get("/export/character/$c->{character_id}?format=png")->{headers}{'content-type'}, 'image/png', "$what: as a PNG card";
}
serves('an archive behind a JPEG', imported('an archive behind a JPEG', $jpeg . archive('card.json' => $json->encode({ %$card, spec => 'chara_card_v3' })),
	type => 'image/jpeg')->{character_id}, 'image/jpeg', $jpeg);

# ---- pictures that lie ----

for my $lie (['HTML', $html], ['SVG', $svg], ['XML', "<?xml version=\"1.0\"?>$svg"], ['text', 'x' x 100], ['nothing', ''], ['the first bytes of a PNG', "\x89PNG"]) {
	my ($what, $bytes) = @$lie;
	my $c = imported("$what as an icon", charx('assets/icon/main.png', $bytes), type => 'application/zip');
	my $r = $s->get("/characters/$c->{character_id}/avatar");

	is $r->{status}, 404, "$what as an icon: no picture";
	like $r->{headers}{'content-type'}, qr{^application/json}, "$what as an icon: never served";
	ok scalar(grep { $_->{code} eq 'picture_unusable' } map { @{ $c->{receipt}{$_} } } grep { ref $c->{receipt}{$_} eq 'ARRAY' } keys %{ $c->{receipt} }),
		"$what as an icon: the receipt says so" or diag explain $c->{receipt};
	my $before = $s->sql('SELECT count(*) FROM tavern.asset');
	for my $upload ([$bytes, type => 'image/png'], [form(file => ['maren.png', $bytes])]) {
		$r = $s->post('/import/character', @$upload);
		is $r->{status}, 400, "$what named PNG: refused" or diag $r->{raw};
		ok length $r->{json}{error}{message}, "$what named PNG: why";
	}
	is $s->sql('SELECT count(*) FROM tavern.asset'), $before, "$what named PNG: no row";
}
for my $picture (['a JPEG', $jpeg], ['a WebP', $webp]) {
	my $r = $s->post('/import/character', $picture->[1], type => 'image/png');

	is_deeply [$r->{status}, $r->{json}{error}{code}], [400, 'import_parse_error'], "$picture->[0] alone is no card";
	like $r->{raw}, qr/PNG/, "$picture->[0] alone: says what to bring";
}
# Markup behind a picture's first bytes is still a picture to whoever asks.
my $c = imported('markup in a GIF', charx('assets/icon/main.gif', "GIF89a/*$html*/"), type => 'application/zip');
serves('markup in a GIF', $c->{character_id}, 'image/gif', "GIF89a/*$html*/");

done_testing;
