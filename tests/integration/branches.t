#!/usr/bin/env perl
# Branches: listed with head and size, compared, deleted; a fork is a faithful copy that shares its storage (B29), and no
# change in one branch is ever seen in another.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP;
use Tavern::Stack;
use POSIX ();
use Test::More;

my $s = Tavern::Stack->new;
my ($yes, $no) = (JSON::PP::true, JSON::PP::false);

sub one { scalar $s->sql(@_) }
sub session { return $s->post('/sessions', { title => 'T', @_ })->{json}{data}{id} }
sub respond { my ($sid, $text, %more) = @_; my $r = $s->post("/sessions/$sid/respond", { message => $text, %more }); is $r->{status}, 200, "turn: $text" or diag $r->{raw}; return $r->{json}{data} }
sub timeline { my ($sid, $branch) = @_; return $s->get("/sessions/$sid/timeline?branch_id=" . ($branch // 'main'))->{json}{data}{floors} }
sub said { return join ' ', map { $_->{messages}[0]{content} } @{ timeline(@_) } }
sub digest { return JSON::PP->new->canonical->encode(timeline(@_)) }
sub branch_at { my ($floor, $name) = @_; my $r = $s->post("/floors/$floor/branch", { branch_id => $name }); is $r->{status}, 201, "branch $name" or diag $r->{raw}; return $r->{json}{data} }
sub vars { my ($sid, $branch) = @_; return { map { $_->{key} => $_->{value} } @{ $s->get("/variables/resolve?session_id=$sid&branch_id=$branch")->{json}{data}{resolved} } } }
sub put { my ($sid, $branch, $key, $value) = @_; my $r = $s->put('/variables', { scope => 'branch', session_id => $sid, branch_id => $branch, key => $key, value => $value }); ok $r->{status} < 300, "$branch: $key" or diag $r->{raw} }
sub list { my ($sid, $q) = @_; return $s->get("/sessions/$sid/branches" . ($q ? "?$q" : '')) }
sub brief { return map { join ' ', $_->{branch_id}, $_->{floor_count}, $_->{latest_floor_no} // '-' } @{ $_[0]{json}{data} } }
sub rows { return { map { $_ => one("SELECT count(*) FROM tavern.$_") } qw(branch segment floor page message variable var_change run turn_record document) } }

sub refused {
	my ($label, $r, $status, $code) = @_;

	is $r->{status}, $status, "$label: $status" or diag $r->{raw};
	is $r->{json}{error}{code}, $code, "$label: $code";
}

# Whatever the branches say must be there, and nothing that no branch says.
sub sound {
	my ($label) = @_;
	my $seen = 'SELECT b.account_no, b.session_no, r.seg, coalesce(lag(r.hi) OVER (PARTITION BY b.no ORDER BY r.i), -1) AS lo, r.hi FROM tavern.branch b, unnest(b.segs, b.his) WITH ORDINALITY r (seg, hi, i)';

	is one("SELECT count(*) FROM ($seen) r, generate_series(r.lo + 1, r.hi) n WHERE NOT EXISTS (SELECT FROM tavern.floor f WHERE f.segment_no = r.seg AND f.floor_seq = n)"), 0, "$label: every floor of every branch is there";
	is one("SELECT count(*) FROM tavern.floor f WHERE NOT EXISTS (SELECT FROM ($seen) r WHERE r.seg = f.segment_no AND f.floor_seq > r.lo AND f.floor_seq <= r.hi)"), 0, "$label: no floor without a branch";
	is one("SELECT count(*) FROM tavern.segment g WHERE NOT EXISTS (SELECT FROM ($seen) r WHERE r.seg = g.no)"), 0, "$label: no segment without a branch";
	is one("SELECT count(*) FROM tavern.segment g WHERE shared_upto < coalesce((SELECT r.hi FROM ($seen) r WHERE r.seg = g.no ORDER BY r.hi DESC OFFSET 1 LIMIT 1), -1)"), 0, "$label: what two branches show is marked as shared";
	is one("SELECT count(*) FROM tavern.variable v WHERE (scope = 'branch' AND NOT EXISTS (SELECT FROM tavern.branch b WHERE b.no = v.scope_no)) OR (scope = 'floor' AND NOT EXISTS (SELECT FROM tavern.floor f WHERE f.no = v.scope_no)) OR (scope = 'page' AND NOT EXISTS (SELECT FROM tavern.page p WHERE p.no = v.scope_no))"), 0, "$label: no variable without its place";
	is one("SELECT count(*) FROM tavern.var_change c WHERE segment_no IS NOT NULL AND NOT EXISTS (SELECT FROM tavern.segment g WHERE g.no = c.segment_no)"), 0, "$label: no log without its segment";
	is one("SELECT count(*) FROM tavern.message m JOIN tavern.page p ON p.no = m.page_no JOIN tavern.floor f ON f.no = p.floor_no WHERE m.segment_no <> f.segment_no OR m.floor_seq <> f.floor_seq OR m.active <> p.active"), 0, "$label: messages stand where their floors do";
}

# ---- list ----

my $sid = session();
is_deeply [ brief(list($sid)) ], ['main 0 -'], 'list: main is there before the first floor';
my @main = map { respond($sid, "m$_") } 0 .. 4;
my $alt = branch_at($main[2]{floor_id}, 'alt');
respond($sid, 'a3', branch_id => 'alt');
branch_at($main[4]{floor_id}, 'tip');
my $r = list($sid);
is $r->{status}, 200, 'list' or diag $r->{raw};
is_deeply [ sort(brief($r)) ], [ 'alt 1 3', 'main 5 4', 'tip 0 4' ], 'list: own floors and heads';
is_deeply $r->{json}{meta}, { total => 3, limit => 50, offset => 0, has_more => $no, sort_by => 'updated_at', sort_order => 'desc' }, 'list: meta';
my %by = map { $_->{branch_id} => $_ } @{ $r->{json}{data} };
is $by{tip}{latest_floor_id}, $main[4]{floor_id}, 'list: the head of a fresh fork is where it begins';
is $by{tip}{latest_state}, 'committed', 'list: its state';
is_deeply [ @{ $by{alt} }{qw(forked_from_branch_id forked_at_floor_no)} ], [ 'main', 2 ], 'list: where it comes from';
is_deeply [ @{ $by{main} }{qw(forked_from_branch_id forked_at_floor_no)} ], [ undef, undef ], 'list: main comes from nowhere';
is_deeply [ map { (split)[0] } brief(list($sid, 'sort_by=branch_id&sort_order=asc')) ], [qw(alt main tip)], 'list: by name';
is_deeply [ map { (split)[0] } brief(list($sid, 'sort_by=floor_count')) ], [qw(main alt tip)], 'list: by size';
is_deeply [ map { (split)[0] } brief(list($sid, 'sort_by=branch_id&sort_order=asc&limit=1&offset=1')) ], ['main'], 'list: a page of it';
refused('list of an unknown session', list('nosuch'), 404, 'not_found');

# ---- diff ----

sub diff { my ($base, $target) = @_; return $s->get("/sessions/$sid/branches/diff?target_branch_id=$target" . ($base ? "&base_branch_id=$base" : '')) }
$r = diff(undef, 'alt');
is $r->{status}, 200, 'diff' or diag $r->{raw};
my $d = $r->{json}{data};
is_deeply [ @$d{qw(session_id base_branch_id target_branch_id fork_floor_no)} ], [ $sid, 'main', 'alt', 2 ], 'diff: of main, where they part';
is_deeply $d->{shared_floor_nos}, [ 0, 1, 2 ], 'diff: what they share';
is_deeply $d->{base_only_floors}, [ map { { id => $main[$_]{floor_id}, branchId => 'main', floorNo => $_, state => 'committed' } } 3, 4 ], 'diff: what only main has';
is_deeply [ map { "$_->{branchId} $_->{floorNo}" } @{ $d->{target_only_floors} } ], ['alt 3'], 'diff: what only the other has';
$d = diff('alt', 'tip')->{json}{data};
is_deeply [ $d->{fork_floor_no}, map { $_->{floorNo} } @{ $d->{target_only_floors} } ], [ 2, 3, 4 ], 'diff: between two forks, inherited floors count';
$d = diff('main', 'tip')->{json}{data};
is_deeply [ @$d{qw(fork_floor_no base_only_floors target_only_floors)} ], [ 4, [], [] ], 'diff: equal stories';
is_deeply [ @{ diff('main', 'main')->{json}{data} }{qw(fork_floor_no base_only_count)} ], [ 4, 0 ], 'diff: with itself';
refused('diff with an unknown branch', diff('main', 'nosuch'), 404, 'branch_not_found');
refused('diff of an unknown session', $s->get('/sessions/nosuch/branches/diff?target_branch_id=alt'), 404, 'not_found');
is $s->get("/sessions/$sid/branches/diff")->{status}, 400, 'diff: needs a target';
sound('forks');

# ---- delete ----

refused('delete of main', $s->del('/branches/main'), 409, 'branch_protected');
refused('delete of main by its session', $s->del("/branches/main?session_id=$sid"), 409, 'branch_protected');
refused('delete of an unknown branch', $s->del('/branches/nosuch'), 404, 'not_found');
my $twin = session();
my $twin_floor = respond($twin, 't0');
branch_at($twin_floor->{floor_id}, 'alt');
refused('delete of a name that two sessions have', $s->del('/branches/alt'), 409, 'branch_ambiguous');
refused('delete in another session', $s->del("/branches/tip?session_id=$twin"), 404, 'not_found');

# A branch in the middle: what its own fork shows stays, the rest goes.
my @alt = (undef, undef, undef, timeline($sid, 'alt')->[3]{id}, map { respond($sid, "a$_", branch_id => 'alt')->{floor_id} } 4, 5);
put($sid, 'alt', 'k', 'of alt');
branch_at($alt[4], 'deep');
put($sid, 'deep', 'k', 'of deep');
respond($sid, 'd5', branch_id => 'deep');
my %before = map { $_ => digest($sid, $_) } qw(main deep tip);
$r = $s->del("/branches/alt?session_id=$sid");
is $r->{status}, 200, 'delete' or diag $r->{raw};
is_deeply $r->{json}{data}, { branch_id => 'alt', session_id => $sid, deleted_floor_count => 1 }, 'delete: only the floor that nobody else shows';
is $s->get("/sessions/$sid/timeline?branch_id=alt")->{status}, 404, 'delete: the branch is gone';
is $s->get("/floors/$alt[5]")->{status}, 404, 'delete: its own floor is gone';
is $s->get("/floors/$alt[4]")->{status}, 200, 'delete: one that a fork shows is not';
is digest($sid, $_), $before{$_}, "delete: $_ is byte for byte what it was" for qw(main deep tip);
is vars($sid, 'deep')->{k}, 'of deep', 'delete: the fork keeps its variables';
sound('delete in the middle');

# Its floors can still be forked, and played on.
branch_at($alt[4], 'again');
is said($sid, 'again'), 'm0 m1 m2 a3 a4', 'a floor whose branch is gone: forked';
is vars($sid, 'again')->{k}, undef, 'with the values of that floor';
branch_at($main[1]{floor_id}, 'alt');
is said($sid, 'alt'), 'm0 m1', 'the name is free again';
is $s->del('/branches/tip')->{json}{data}{deleted_floor_count}, 0, 'delete of a branch without floors, its name in one session only';
is $s->del("/branches/$_?session_id=$sid")->{status}, 200, "delete $_" for qw(deep again alt);
is one("SELECT count(*) FROM tavern.segment g JOIN tavern.session s ON s.no = g.session_no WHERE s.id = :'s'", s => $sid), 1, 'the last fork takes its segments along';
is one("SELECT shared_upto FROM tavern.segment g JOIN tavern.session s ON s.no = g.session_no WHERE s.id = :'s'", s => $sid), -1, 'and main shares nothing any more';
is digest($sid, 'main'), $before{main}, 'main is byte for byte what it was';
is $s->del("/floors/$main[4]{floor_id}")->{status}, 200, 'its head can be deleted again';
sound('delete of all');

# A branch that is being written cannot be deleted.
branch_at($main[3]{floor_id}, 'busy');
$s->patch("/sessions/$sid", { model_name => 'm?n=200&i=20' });
my $stream = $s->stream('POST', "/sessions/$sid/respond/stream", { message => 'running', branch_id => 'busy' });
$stream->next;
refused('delete while it is written', $s->del("/branches/busy?session_id=$sid"), 409, 'generation_conflict');
$stream->close;
$s->wait_for('the turn to end', sub { $s->del("/branches/busy?session_id=$sid")->{status} == 200 });
$s->patch("/sessions/$sid", { model_name => 'm' });
sound('delete of a busy one');

# ---- B29: a fork is a faithful copy, and shares its storage ----

my $b = session();
my @b = map { respond($b, "b$_") } 0 .. 4;
my $floor = $b[4]{floor_id};
put($b, 'main', "v$_", $_) for 1 .. 5;
# Two more replies of floor 4, the second one counts.
my ($out) = grep { $_->{page_kind} eq 'output' } @{ $s->get("/pages?floor_id=$floor")->{json}{data} };
my ($acct, $floor_no) = split /\|/, one("SELECT account_no || '|' || floor_no FROM tavern.page WHERE id = :'p'", p => $out->{id});
for my $n (2, 3) {
	$s->sql("WITH p AS (INSERT INTO tavern.page (account_no, id, floor_no, kind, page_seq, version, active, reasoning, created_at, updated_at) VALUES ($acct, 'b29-$n', $floor_no, 'output', $n, 1, false, 'thought $n', 1, 1) RETURNING no) "
		. "INSERT INTO tavern.message (account_no, id, page_no, segment_no, floor_seq, side, seq, active, role, content, created_at) SELECT $acct, 'b29m-$n', p.no, f.segment_no, f.floor_seq, 2, 0, false, 'assistant', 'reply $n', 1 FROM p, tavern.floor f WHERE f.no = $floor_no");
}
is $s->patch('/pages/b29-2/activate')->{status}, 200, 'B29: page 2 of 3 is active';
my $rows = rows();
my $story = digest($b, 'main');
branch_at($floor, 'copy');
my $after = rows();
is_deeply { map { $_ => $after->{$_} - $rows->{$_} } keys %$rows },
	{ branch => 1, segment => 1, variable => 5, var_change => 5, map { $_ => 0 } qw(floor page message run turn_record document) }, 'B29: rows: a branch, a segment, its variables, nothing of the story';
is digest($b, 'copy'), $story, 'B29: the same story, three pages, the same one active';
is_deeply vars($b, 'copy'), vars($b, 'main'), 'B29: the same variables';
put($b, 'copy', 'v1', 'changed');
put($b, 'main', 'v2', 'changed');
is vars($b, 'main')->{v1}, 1, 'B29: a change in the fork does not reach the origin';
is vars($b, 'copy')->{v2}, 2, 'B29: nor the other way round';
$s->patch('/pages/b29-3/activate');
is digest($b, 'main') eq $story || digest($b, 'copy') eq $story ? 1 : 0, 1, 'B29: activating a page changes at most one of them';
respond($b, 'c5', branch_id => 'copy');
is said($b, 'copy'), 'b0 b1 b2 b3 b4 c5', 'B29: the fork goes on';
is said($b), 'b0 b1 b2 b3 b4', 'B29: the origin does not';
sound('B29');

# The origin branch of a fork is deleted: the fork has everything.
branch_at($floor, 'origin');
my $o5 = respond($b, 'o5', branch_id => 'origin');
put($b, 'origin', 'v3', 'of origin');
branch_at($o5->{floor_id}, 'heir');
$story = digest($b, 'heir');
is vars($b, 'heir')->{v3}, 'of origin', 'B29: the heir has the values';
is $s->del("/branches/origin?session_id=$b")->{json}{data}{deleted_floor_count}, 0, 'B29: the origin goes, no floor does';
is digest($b, 'heir'), $story, 'B29: the heir is as it was';
is vars($b, 'heir')->{v3}, 'of origin', 'B29: with its values';
respond($b, 'h6', branch_id => 'heir');
branch_at($o5->{floor_id}, 'later');
is_deeply [ @{ vars($b, 'later') }{qw(v1 v3)} ], [ 1, 'of origin' ], 'B29: and can be forked below its own floors, with the values of there';
sound('B29, origin deleted');

# ---- who asks twice at once ----

my @pid;
for my $i (1 .. 4) {
	my $pid = fork // die $!;
	if (!$pid) {
		delete $s->{http};
		for my $n (1 .. 5) {
			$s->post("/floors/$floor/branch", { branch_id => "p$i-$n" })->{status} == 201 or POSIX::_exit(1);
			$s->post("/sessions/$b/respond", { message => "p$i", branch_id => "p$i-$n" })->{status} == 200 or POSIX::_exit(2);
			$s->del("/branches/p$i-$n?session_id=$b")->{status} == 200 or POSIX::_exit(3) if $n % 2;
		}
		POSIX::_exit(0);
	}
	push @pid, $pid;
}
my @bad = grep { waitpid $_, 0; $? != 0 } @pid;
is @bad, 0, 'four at once fork, play and delete';
is list($b, 'limit=200')->{json}{meta}{total}, 4 + 8, 'and each has what it made';
sound('four at once');

is_deeply [$s->invariants], [], 'invariants hold';
done_testing;
