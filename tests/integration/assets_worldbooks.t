#!/usr/bin/env perl
# Worldbooks through the API: import and export, replacing, entries one by one and many at once, lists, guards.
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
	my $r = $s->post('/import/worldbook', { name => $name // 'W', data => $data });

	is $r->{status}, 201, 'imported' or diag $r->{raw};
	return $r->{json}{data}{id};
}

sub version { $s->get("/worldbooks/$_[0]")->{json}{data}{version} }

my $file = { entries => {
	0 => { uid => 0, key => ['bell'], keysecondary => [], content => 'The bell is cracked.', comment => 'Bell', order => 100, position => 0, odd => { x => 1 } },
	1 => { uid => 1, key => [], content => 'It always rains.', comment => 'rain', order => 50, constant => $true },
	7 => { uid => 7, key => ['Whale'], content => 'Whales sing.', comment => 'sea', order => 50, position => 4, depth => 2, role => 1, disable => $true,
		delayUntilRecursion => $true, scanDepth => 3 },
} };

# ---- import, export, import ----

my $w = imported($file, 'Harbour');
my $export = $s->get("/export/worldbook/$w");
is_deeply $export->{json}{entries}{0}{odd}, { x => 1 }, 'export: unknown members';
is $s->get('/export/worldbook/' . imported($export->{json}))->{raw}, $export->{raw}, 'export, import, export: the same bytes';
my $first = $s->get('/export/worldbook/' . imported(data('book')));
is $s->get('/export/worldbook/' . imported($first->{json}))->{raw}, $first->{raw}, 'the same for the sample book';
my $r = $s->post('/import/worldbook', { data => { entries => 'x' } });
is_deeply [$r->{status}, $r->{json}{error}{code}], [400, 'import_parse_error'], 'what is no book is refused';
is scalar $s->sql("SELECT count(*) FROM tavern.asset WHERE kind = 'worldbook'"), 4, 'and stored nowhere';

# ---- the list of entries ----

my $list = $s->get("/worldbooks/$w/entries")->{json};
is_deeply [map { $_->{id} } @{ $list->{data} }], [qw(1 7 0)], 'list: by order, then uid';
is_deeply $list->{meta}, { total => 3, limit => 50, offset => 0, has_more => $false, sort_by => 'order', sort_order => 'asc' }, 'list: meta';
my $whale = $list->{data}[1];
my %times = map { $_ => $whale->{$_} } qw(created_at updated_at);
is_deeply $whale, { id => '7', worldbook_id => $w, uid => 7, keys => ['Whale'], keys_secondary => [], content => 'Whales sing.', comment => 'sea',
	constant => $false, selective => $true, selective_logic => 0, position => 4, order => 50, depth => 2, role => 1, disable => $true, scan_depth => 3,
	case_sensitive => undef, match_whole_words => undef, exclude_recursion => $false, prevent_recursion => $false, delay_until_recursion => 1,
	outlet_name => '', %times }, 'list: every field';
ok $times{created_at} > 0, 'list: times';

sub ids { [map { $_->{id} } @{ $s->get("/worldbooks/$w/entries?$_[0]")->{json}{data} }] }
is_deeply ids('sort_by=uid&sort_order=desc'), [qw(7 1 0)], 'sort: uid, falling';
is_deeply ids('sort_by=updated_at'), [qw(0 1 7)], 'sort: time';
is_deeply ids('disable=true'), ['7'], 'filter: disable';
is_deeply ids('disable=false'), [qw(1 0)], 'filter: not disable';
is_deeply ids('constant=true'), ['1'], 'filter: constant';
is_deeply ids('position=4'), ['7'], 'filter: position';
is_deeply ids('q=WHALE'), ['7'], 'filter: keys, in any case';
is_deeply ids('q=RAINS'), ['1'], 'filter: texts';
is_deeply ids('q=bell'), ['0'], 'filter: titles';
is_deeply ids('limit=1&offset=1'), ['7'], 'page';
is $s->get("/worldbooks/$w/entries?limit=2")->{json}{meta}{has_more}, $true, 'page: there is more';
is $s->get("/worldbooks/$w/entries?limit=0")->{status}, 400, 'page: limit';
is $s->get("/worldbooks/$w/entries?sort_by=name")->{status}, 400, 'sort: validated';
is $s->get('/worldbooks/nope/entries')->{status}, 404, 'unknown book';

# ---- one entry ----

is $s->get("/worldbooks/$w/entries/0")->{json}{data}{comment}, 'Bell', 'read';
is $s->get("/worldbooks/$w/entries/99")->{status}, 404, 'read: unknown';
$r = $s->post("/worldbooks/$w/entries", { keys => ['lamp', '/fog/i'], content => 'The lamp turns.', scan_depth => undef, delay_until_recursion => 2,
	expected_version => 1 });
is $r->{status}, 201, 'create' or diag $r->{raw};
is $r->{json}{data}{id}, '8', 'create: the next uid';
is $r->{json}{data}{delay_until_recursion}, 2, 'create: level';
is version($w), 2, 'create: a version';
is_deeply $s->get("/export/worldbook/$w")->{json}{entries}{8},
	{ uid => 8, key => ['lamp', '/fog/i'], content => 'The lamp turns.', scanDepth => undef, delayUntilRecursion => 2 }, 'create: in the file\'s names';
$r = $s->post("/worldbooks/$w/entries", { keys => 'x', role => 3, position => 8 });
is_deeply [sort map { $_->{path} } @{ $r->{json}{error}{details} }], ['', qw(/keys /position /role)], 'create: validated';

$r = $s->patch("/worldbooks/$w/entries/7", { keys_secondary => ['sea'], scan_depth => undef, delay_until_recursion => undef, disable => $false });
is $r->{status}, 200, 'patch' or diag $r->{raw};
is_deeply [@{ $r->{json}{data} }{qw(scan_depth delay_until_recursion disable content)}], [undef, undef, $false, 'Whales sing.'], 'patch: set, unset, kept';
ok $r->{json}{data}{updated_at} >= $times{updated_at}, 'patch: time';
is $s->patch("/worldbooks/$w/entries/7", { comment => undef })->{status}, 400, 'patch: null only where it may be';
$r = $s->patch("/worldbooks/$w/entries/7", { comment => 'x', expected_version => 2 });
is_deeply [$r->{status}, $r->{json}{error}{code}], [409, 'worldbook_conflict'], 'patch: guarded';
is $s->patch("/worldbooks/$w/entries/99", { comment => 'x' })->{status}, 404, 'patch: unknown';
is_deeply $s->get("/export/worldbook/$w")->{json}{entries}{0}{odd}, { x => 1 }, 'patch: the others are as they were';
my $at = version($w);
$s->patch("/worldbooks/$w/entries/7", { content => 'Whales sing.' });
is version($w), $at, 'patch: no change, no version';

# ---- many ----

$r = $s->put("/worldbooks/$w/entries/batch/reorder", { items => [{ id => '0', order => 1 }, { id => '99', order => 2 }, { id => '8', order => 3 }] });
is $r->{status}, 200, 'reorder' or diag $r->{raw};
is_deeply $r->{json}{data}{meta}, { total => 3, updated => 2, not_found => 1 }, 'reorder: counts';
is $r->{json}{data}{results}[2]{data}{order}, 3, 'reorder: the entry';
is_deeply ids('sort_by=order'), [qw(0 8 1 7)], 'reorder: in the list';
$r = $s->patch("/worldbooks/$w/entries/batch/update", { ids => [qw(0 99 1 0)], fields => { constant => $true, keys => ['a'] }, expected_version => $at + 1 });
is $r->{status}, 200, 'batch update' or diag $r->{raw};
is_deeply [map { [@$_{qw(index id action)}] } @{ $r->{json}{data}{results} }], [[0, '0', 'updated'], [1, '99', 'not_found'], [2, '1', 'updated']],
	'batch update: results';
is_deeply $r->{json}{data}{results}[0]{data}{keys}, ['a'], 'batch update: the entry';
ok !exists $r->{json}{data}{results}[1]{data}, 'batch update: none of what is not there';
is version($w), $at + 2, 'batch update: one version';
is $s->patch("/worldbooks/$w/entries/batch/update", { ids => ['0'], fields => { constant => 'x' } })->{status}, 400, 'batch update: validated';
is $s->patch("/worldbooks/$w/entries/batch/update", { ids => [map { "$_" } 0 .. 100], fields => {} })->{status}, 400, 'batch update: at most 100';
is $s->post("/worldbooks/$w/entries/batch/delete", { ids => ['0'], expected_version => 1 })->{status}, 409, 'batch delete: guarded';
$r = $s->post("/worldbooks/$w/entries/batch/delete", { ids => [qw(0 99)] });
is_deeply $r->{json}{data}, { results => [{ index => 0, id => '0', action => 'deleted' }, { index => 1, id => '99', action => 'not_found' }],
	meta => { total => 2, deleted => 1, not_found => 1 } }, 'batch delete';
is $s->del("/worldbooks/$w/entries/1?expected_version=1")->{status}, 409, 'delete: guarded';
is_deeply $s->del("/worldbooks/$w/entries/1")->{json}{data}, { id => '1', deleted => $true }, 'delete';
is $s->del("/worldbooks/$w/entries/1")->{status}, 404, 'delete: once';

# ---- the whole book ----

$r = $s->put("/worldbooks/$w", { name => 'Quay', data => $file, expected_version => 1 });
is_deeply [$r->{status}, $r->{json}{error}{code}], [409, 'worldbook_conflict'], 'replace: guarded';
$r = $s->put("/worldbooks/$w", { name => 'Quay', data => $file, expected_version => version($w) });
is $r->{status}, 200, 'replace' or diag $r->{raw};
is $r->{json}{data}{name}, 'Quay', 'replace: name';
is_deeply ids('sort_by=uid'), [qw(0 1 7)], 'replace: entries';
is $s->put("/worldbooks/$w", { name => 'Quay', data => {} })->{status}, 400, 'replace: no book';
is $s->put("/worldbooks/$w", { name => 'Quay', data => [] })->{status}, 400, 'replace: validated';

# Two that write at once do not lose each other's entry.
my @kids = map {
	my $n = $_;
	my $pid = fork // die;
	if ($pid == 0) {
		my $bad = grep { HTTP::Tiny->new->post($s->url("/worldbooks/$w/entries"), { headers => { 'content-type' => 'application/json' },
			content => $json->encode({ keys => ["k$n.$_"], content => 'x' }) })->{status} != 201 } 1 .. 10;
		POSIX::_exit($bad ? 1 : 0);
	}
	$pid;
} 1 .. 3;
my $bad = 0;
for my $pid (@kids) { waitpid $pid, 0; $bad++ if $? }
is $bad, 0, 'at once: all are taken';
is $s->get("/worldbooks/$w/entries?limit=1")->{json}{meta}{total}, 33, 'at once: none is lost';

$r = $s->del("/worldbooks/$w");
is_deeply [$r->{status}, $r->{raw} // ''], [204, ''], 'delete: no body';
is $s->get("/worldbooks/$w/entries")->{status}, 404, 'deleted: its entries too';
is $s->patch("/worldbooks/$w/entries/0", { comment => 'x' })->{status}, 404, 'deleted: cannot be written';

done_testing;
