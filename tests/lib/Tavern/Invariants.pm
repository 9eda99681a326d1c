# Tavern::Invariants: what holds of every database whatever happened to it; each row is a fault. Run it at the end of a test
# that writes a story by unusual ways, when nothing runs any more.
package Tavern::Invariants;

use strict;
use warnings;

use Exporter qw(import);

our @EXPORT_OK = qw(invariants);

# name => query whose every row names something that must not be
my @queries = (
	'a run that nobody ends' => q{SELECT id FROM tavern.run WHERE state = 'running'},
	'a floor that is generating without a run' =>
		q{SELECT f.id FROM tavern.floor f WHERE f.state = 'generating' AND NOT EXISTS (SELECT FROM tavern.run r WHERE r.account_no = f.account_no AND r.floor_no = f.no AND r.state = 'running')},
	'a generated committed floor without a reply that counts' =>
		q{SELECT f.id FROM tavern.floor f WHERE f.state = 'committed' AND EXISTS (SELECT FROM tavern.run r WHERE r.account_no = f.account_no AND r.floor_no = f.no)
		     AND NOT EXISTS (SELECT FROM tavern.page p WHERE p.account_no = f.account_no AND p.floor_no = f.no AND p.kind = 'output' AND p.active)},
	'a page that counts and has failed' => q{SELECT id FROM tavern.page WHERE active AND state <> 'committed'},
	'a message that counts otherwise than its page' =>
		q{SELECT m.id FROM tavern.message m JOIN tavern.page p ON p.account_no = m.account_no AND p.no = m.page_no JOIN tavern.floor f ON f.account_no = p.account_no AND f.no = p.floor_no
		   WHERE m.active <> p.active AND f.state <> 'failed'},
	'a message of a failed floor that counts' =>
		q{SELECT m.id FROM tavern.message m JOIN tavern.page p ON p.account_no = m.account_no AND p.no = m.page_no JOIN tavern.floor f ON f.account_no = p.account_no AND f.no = p.floor_no
		   WHERE m.active AND f.state = 'failed' AND p.kind = 'output'},
	'a message at another place than its floor' =>
		q{SELECT m.id FROM tavern.message m JOIN tavern.page p ON p.account_no = m.account_no AND p.no = m.page_no JOIN tavern.floor f ON f.account_no = p.account_no AND f.no = p.floor_no
		   WHERE m.segment_no <> f.segment_no OR m.floor_seq <> f.floor_seq},
	'a write of a page that counts otherwise than the page' =>
		q{SELECT c.id FROM tavern.var_change c JOIN tavern.page p ON p.account_no = c.account_no AND p.no = c.page_no WHERE c.active <> p.active},
	'a write at another place than its page' =>
		q{SELECT c.id FROM tavern.var_change c JOIN tavern.page p ON p.account_no = c.account_no AND p.no = c.page_no JOIN tavern.floor f ON f.account_no = p.account_no AND f.no = p.floor_no
		   WHERE c.segment_no <> f.segment_no OR c.floor_seq <> f.floor_seq},
	'a branch whose head is not where its ranges end' => q{SELECT id FROM tavern.branch WHERE his[cardinality(his)] <> head_seq},
	'a branch whose ranges go back' =>
		q{SELECT b.id FROM tavern.branch b, generate_subscripts(b.his, 1) i WHERE i > 1 AND b.his[i] < b.his[i - 1]},
	'a branch with a floor missing' =>
		q{SELECT b.id, n FROM tavern.branch b, generate_series(0, b.head_seq) n
		   WHERE NOT EXISTS (SELECT FROM unnest(b.segs, b.his) WITH ORDINALITY r (seg, hi, i) JOIN tavern.floor f ON f.account_no = b.account_no AND f.segment_no = r.seg AND f.floor_seq = n
		                      WHERE r.hi >= n AND (r.i = 1 OR b.his[r.i - 1] < n))},
	'a floor that two branches show and one may change' =>
		q{SELECT b.id, r.hi FROM tavern.branch b CROSS JOIN unnest(b.segs, b.his) r (seg, hi) JOIN tavern.segment g ON g.account_no = b.account_no AND g.no = r.seg
		    JOIN tavern.branch o ON o.account_no = b.account_no AND o.session_no = b.session_no AND o.no <> b.no AND o.segs[cardinality(o.segs)] = r.seg
		   WHERE g.shared_upto < r.hi},
	'a value of a branch that is not the newest of its log' =>
		q{SELECT b.id, k.key FROM tavern.branch b
		   CROSS JOIN LATERAL (SELECT DISTINCT ON (c.key) c.key, c.new_value FROM tavern.var_change c
		                        WHERE c.account_no = b.account_no AND c.segment_no = b.segs[cardinality(b.segs)] AND c.active AND c.scope = 'branch' ORDER BY c.key, c.floor_seq DESC, c.no DESC) k
		    LEFT JOIN tavern.variable v ON v.account_no = b.account_no AND v.scope = 'branch' AND v.scope_no = b.no AND v.key = k.key
		   WHERE v.value IS DISTINCT FROM k.new_value},
	'text of a run that has ended' =>
		q{SELECT t.run_no FROM tavern.run_text t JOIN tavern.run r ON r.account_no = t.account_no AND r.no = t.run_no WHERE r.state <> 'running'},
);

# invariants(STACK): a line for each fault, none if all is well.
sub invariants {
	my ($stack) = @_;
	my @faults;

	for (my $i = 0; $i < @queries; $i += 2) {
		my ($name, $query) = @queries[$i, $i + 1];

		push @faults, map { "$name: @$_" } $stack->sql($query);
	}
	return @faults;
}

1;
