#!/usr/bin/env perl
# Regex profiles through the API: every form of a file, export, replacing, guards, deletes.
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
sub stored { scalar $s->sql("SELECT count(*) FROM tavern.asset WHERE kind = 'regex_profile'") }

my $script = { scriptName => 'shout', findRegex => '/hello/gi', replaceString => 'AHOY', trimStrings => [], placement => [1, 2], disabled => $false,
	markdownOnly => $false, promptOnly => $false, runOnEdit => $true, mine => { x => 1 } };
my $quiet = { %$script, scriptName => 'quiet', promptOnly => $true, runOnEdit => $false };

# ---- forms of a file ----

my $r = $s->post('/import/regex', { name => 'R', data => [$script, $quiet] });
is $r->{status}, 201, 'array' or diag $r->{raw};
my $id = $r->{json}{data}{id};
is $r->{json}{data}{script_count}, 2, 'array: counted';
is $r->{json}{data}{compat_report}{contains_run_on_edit}, 1, 'array: report';
is $r->{json}{data}{compat_report}{contains_prompt_only}, 1, 'array: report of the other';
is_deeply $s->get("/regex-profiles/$id")->{json}{data}{data}[0]{mine}, { x => 1 }, 'array: unknown members stay';
my $export = $s->get("/export/regex/$id");
is $export->{status}, 200, 'export';

my %form = (
	'one script' => [{ name => 'R', data => $script }, 1],
	'text of an array' => [{ name => 'R', data => $json->encode([$script, $quiet]) }, 2],
	'text of one script' => [{ name => 'R', data => $json->encode($script) }, 1],
);
for my $name (sort keys %form) {
	my ($body, $count) = @{ $form{$name} };
	$r = $s->post('/import/regex', $body);
	is $r->{status}, 201, $name or diag $r->{raw};
	is $r->{json}{data}{script_count}, $count, "$name: counted";
}
$r = $s->post('/import/regex', $export->{raw}, type => 'application/octet-stream');
is $r->{status}, 201, 'the file itself' or diag $r->{raw};
is $s->get("/export/regex/$r->{json}{data}{id}")->{raw}, $export->{raw}, 'export, import, export: the same bytes';
my $first = $s->get('/export/regex/' . $s->post('/import/regex', { name => 'S', data => data('regex') })->{json}{data}{id});
$r = $s->post('/import/regex', { name => 'S', data => $first->{raw} });
is $s->get("/export/regex/$r->{json}{data}{id}")->{raw}, $first->{raw}, 'the same for the sample file';

# ---- what is none ----

my $before = stored();
for my $bad ('{"a": ', '"text"', '{"prompts": 1}', '') {
	$r = $s->post('/import/regex', { name => 'R', data => $bad });
	is $r->{status}, 400, "refused: $bad";
	is $r->{json}{error}{code}, 'import_parse_error', "refused: $bad: its code";
	ok length $r->{json}{error}{details}{reason}, "refused: $bad: why";
}
is $s->post('/import/regex', { name => 'R', data => '{"a": ' })->{json}{error}{details}{offset} // -1, 6, 'refused: says where';
is $s->post('/import/regex', { data => [$script] })->{status}, 400, 'a name is needed';
is $s->post('/import/regex', '{"name": "R", "data": [', type => 'application/json')->{json}{error}{code}, 'invalid_json', 'a broken body';
is stored(), $before, 'nothing of it is stored';

# ---- replacing ----

$r = $s->put("/regex-profiles/$id", { name => 'New', data => [$quiet], expected_version => 1 });
is $r->{status}, 200, 'replace' or diag $r->{raw};
is_deeply [@{ $r->{json}{data} }{qw(name version)}], ['New', 2], 'replace: name and version';
is scalar @{ $s->get("/regex-profiles/$id")->{json}{data}{data} }, 1, 'replace: scripts';
$r = $s->put("/regex-profiles/$id", { name => 'New', data => [], expected_version => 1 });
is_deeply [$r->{status}, $r->{json}{error}{code}], [409, 'regex_profile_conflict'], 'replace: guarded by the version';
is $s->put("/regex-profiles/$id", { name => 'New', data => [$script], expected_updated_at => 5 })->{status}, 409, 'replace: guarded by the time';
is $s->put('/regex-profiles/nope', { name => 'New', data => [$script] })->{status}, 404, 'replace: unknown';
is $s->put("/regex-profiles/$id", { name => '', data => 'x' })->{status}, 400, 'replace: validated';
$s->put("/regex-profiles/$id", { name => 'New', data => [$quiet] });
is $s->get("/regex-profiles/$id")->{json}{data}{version}, 2, 'replace: no change, no version';

# ---- list, delete ----

is scalar(grep { $_->{id} eq $id && $_->{name} eq 'New' } @{ $s->get('/regex-profiles')->{json}{data} }), 1, 'list';
ok !exists $s->get('/regex-profiles')->{json}{meta}, 'list: a plain array';
is $s->del("/regex-profiles/$id?expected_version=1")->{status}, 409, 'delete: guarded';
is $s->del("/regex-profiles/$id")->{status}, 204, 'delete';
is $s->get("/regex-profiles/$id")->{status}, 404, 'deleted: gone';
is $s->get("/export/regex/$id")->{status}, 404, 'deleted: no export';
is scalar $s->sql(q{SELECT count(*) FROM tavern.asset_version v JOIN tavern.asset a ON a.no = v.asset_no WHERE a.id = :'id'}, id => $id), 2, 'deleted: versions stay';

done_testing;
