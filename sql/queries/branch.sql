-- Branches: lists of ranges over segments. What forks, deletes, merges or resets them holds the session first, in a statement of its own: the next
-- one then sees what the holder before has done.

-- name: fork_hold
-- $1 session id
SELECT s.no FROM session s WHERE s.account_no = acct() AND s.id = $1 AND s.deleted_at IS NULL FOR NO KEY UPDATE;

-- name: fork_hold_floor
-- $1 floor id
SELECT s.no FROM floor f JOIN session s ON s.account_no = acct() AND s.no = f.session_no AND s.deleted_at IS NULL
 WHERE f.account_no = acct() AND f.id = $1 FOR NO KEY UPDATE OF s;

-- name: branch_of_floor
-- What a fork needs: the floor, and a branch that shows it with its ranges: the one that made it, or after that one's end any other. $1 floor id
SELECT f.no, f.state, f.floor_seq, s.no, s.id, s.status, b.no, b.segs, b.his, b.id, b.decisions, b.head_seq
  FROM floor f
  JOIN session s ON s.account_no = acct() AND s.no = f.session_no AND s.deleted_at IS NULL
  CROSS JOIN LATERAL (
	SELECT b.* FROM branch b
	 WHERE b.account_no = acct() AND b.session_no = s.no
	   AND EXISTS (SELECT FROM unnest(b.segs, b.his) r (seg, hi) WHERE r.seg = f.segment_no AND r.hi >= f.floor_seq)
	 ORDER BY b.segs[cardinality(b.segs)] = f.segment_no DESC, b.no LIMIT 1) b
 WHERE f.account_no = acct() AND f.id = $1;

-- name: branch_exists
SELECT 1 FROM branch WHERE account_no = acct() AND session_no = $1 AND id = $2;

-- name: branch_fork
-- $1 session no, $2 branch id, $3 segments (array text), $4 ends, $5 head, $6 forked from, $7 now, $8 segment that owns the fork point, $9 decisions, $10 session id
WITH g AS (
	INSERT INTO segment (session_no) SELECT s.no FROM session s WHERE s.account_no = acct() AND s.no = $1 RETURNING no
), shared AS (
	UPDATE segment SET shared_upto = greatest(shared_upto, $5) WHERE account_no = acct() AND no = $8
), e AS (
	INSERT INTO event (session_id, name, data, created_at)
	SELECT $10, 'branch.created', json_build_object('sessionId', $10::text, 'branchId', $2::text, 'forkedFromBranchId', $6::text, 'forkedAtFloorNo', $5::int, 'createdAt', $7::bigint),
	       $7 FROM g
)
INSERT INTO branch (session_no, id, segs, his, head_seq, forked_from, forked_at, decisions, created_at, updated_at)
SELECT $1, $2, $3::bigint[] || g.no, $4::int[] || $5::int, $5, $6, $5, $9, $7, $7 FROM g
RETURNING no, segs, his;

-- name: floor_shown
-- Where a floor is, and whether a branch besides one shows it. $1 floor no, $2 branch no
SELECT f.segment_no, EXISTS (SELECT FROM branch b CROSS JOIN unnest(b.segs, b.his) r (seg, hi)
                              WHERE b.account_no = acct() AND b.session_no = f.session_no AND b.no <> $2 AND r.seg = f.segment_no AND r.hi >= f.floor_seq)
  FROM floor f WHERE f.account_no = acct() AND f.no = $1;

-- name: floor_busy
-- Is another page of the floor being made? In a statement behind branch_fork, which waits for whoever makes it. $1 floor id
SELECT 1 FROM floor f JOIN run r ON r.account_no = acct() AND r.floor_no = f.no AND r.state = 'running' WHERE f.account_no = acct() AND f.id = $1;

-- name: branch_vars_as_of
-- Branch variables as they were at a floor: the newest logged value of each key in the segment that owns the floor. $1 segment, $2 floor number
WITH RECURSIVE k AS (
	(SELECT c.key FROM var_change c WHERE c.account_no = acct() AND c.segment_no = $1 AND c.active AND c.scope = 'branch' ORDER BY c.key LIMIT 1)
	UNION ALL
	SELECT (SELECT c.key FROM var_change c WHERE c.account_no = acct() AND c.segment_no = $1 AND c.active AND c.scope = 'branch' AND c.key > k.key
	         ORDER BY c.key LIMIT 1) FROM k WHERE k.key IS NOT NULL
)
SELECT k.key, v.new_value
  FROM k CROSS JOIN LATERAL (
	SELECT c.new_value FROM var_change c
	 WHERE c.account_no = acct() AND c.segment_no = $1 AND c.active AND c.scope = 'branch' AND c.key = k.key AND c.floor_seq <= $2
	 ORDER BY c.floor_seq DESC, c.no DESC LIMIT 1) v
 WHERE k.key IS NOT NULL AND v.new_value IS NOT NULL;

-- name: branch_session
-- The session of a list of branches. $1 id
SELECT s.no FROM session s WHERE s.account_no = acct() AND s.id = $1 AND s.deleted_at IS NULL;

-- name: branch_pair
-- Two branches of a session. $1 session id, $2 base, $3 target
SELECT s.no, b.no, b.segs, b.his, b.head_seq, t.no, t.segs, t.his, t.head_seq
  FROM session s
  LEFT JOIN branch b ON b.account_no = acct() AND b.session_no = s.no AND b.id = $2
  LEFT JOIN branch t ON t.account_no = acct() AND t.session_no = s.no AND t.id = $3
 WHERE s.account_no = acct() AND s.id = $1 AND s.deleted_at IS NULL;

-- name: branch_floors
-- Floors of one range, lowest first. $1 segment, $2 above, $3 up to
SELECT f.id, f.branch_id, f.floor_seq, f.state, f.parent_id
  FROM floor f WHERE f.account_no = acct() AND f.segment_no = $1 AND f.floor_seq > $2 AND f.floor_seq <= $3 ORDER BY f.floor_seq;

-- name: branch_find
-- Where a branch of that name is, with its session; two rows: in several. $1 branch id, $2 session id or null
SELECT s.id FROM branch b JOIN session s ON s.account_no = acct() AND s.no = b.session_no AND s.deleted_at IS NULL
 WHERE b.account_no = acct() AND b.id = $1 AND ($2::text IS NULL OR s.id = $2) ORDER BY b.no LIMIT 2;

-- name: branch_hold
-- The branch itself, against turns; before the session, as a turn writes them in that order. $1 session id, $2 branch id
SELECT s.no, b.no, b.segs, b.his, b.head_seq, EXISTS (SELECT FROM run r WHERE r.account_no = acct() AND r.branch_no = b.no AND r.state = 'running')
  FROM session s JOIN branch b ON b.account_no = acct() AND b.session_no = s.no
 WHERE s.account_no = acct() AND s.id = $1 AND s.deleted_at IS NULL AND b.id = $2 FOR UPDATE OF b;

-- name: branch_drop
-- The row and its current variables; its floors go behind it (branch_floors_drop). $1 branch no, $2 session id, $3 now
WITH v AS (
	DELETE FROM variable WHERE account_no = acct() AND scope = 'branch' AND scope_no = $1
), b AS (
	DELETE FROM branch WHERE account_no = acct() AND no = $1 RETURNING id
)
INSERT INTO event (session_id, name, data, created_at)
SELECT $2, 'branch.deleted', json_build_object('sessionId', $2::text, 'branchId', b.id), $3 FROM b;

-- name: branch_floors_drop
-- Floors of these segments that no branch shows any more, with what belongs to them; segments that no branch names go whole. Only segments that
-- the branch had are looked at. Answers how many floors went. $1 session no, $2 segments (array text)
WITH kept AS MATERIALIZED (
	SELECT g.no, (SELECT max(r.hi) FROM branch b CROSS JOIN unnest(b.segs, b.his) r (seg, hi)
	               WHERE b.account_no = acct() AND b.session_no = $1 AND r.seg = g.no) AS upto
	  FROM segment g WHERE g.account_no = acct() AND g.no = ANY ($2::bigint[])
), gone AS MATERIALIZED (
	SELECT f.no FROM kept JOIN floor f ON f.account_no = acct() AND f.segment_no = kept.no AND f.floor_seq > coalesce(kept.upto, -1)
), vf AS (
	DELETE FROM variable v USING gone WHERE v.account_no = acct() AND v.scope = 'floor' AND v.scope_no = gone.no
), vp AS (
	DELETE FROM variable v USING gone JOIN page p ON p.account_no = acct() AND p.floor_no = gone.no
	 WHERE v.account_no = acct() AND v.scope = 'page' AND v.scope_no = p.no
), c AS (
	DELETE FROM var_change c USING kept
	 WHERE c.account_no = acct() AND c.session_no = $1 AND c.segment_no = kept.no AND (kept.upto IS NULL OR c.floor_seq > kept.upto)
), f AS (
	DELETE FROM floor f USING gone WHERE f.account_no = acct() AND f.no = gone.no
)
SELECT count(*) FROM gone;

-- name: branch_segments_drop
-- Behind branch_floors_drop: segments that no branch names go; the others know again up to where branches show them whose own they are not.
-- $1 session no, $2 segments (array text)
WITH seen AS MATERIALIZED (
	SELECT g.no, count(b.no) AS branches, max(r.hi) FILTER (WHERE r.seg <> b.segs[cardinality(b.segs)]) AS upto
	  FROM segment g LEFT JOIN (branch b CROSS JOIN unnest(b.segs, b.his) r (seg, hi)) ON b.account_no = acct() AND b.session_no = $1 AND r.seg = g.no
	 WHERE g.account_no = acct() AND g.no = ANY ($2::bigint[]) GROUP BY g.no
), d AS (
	DELETE FROM segment g USING seen WHERE g.account_no = acct() AND g.no = seen.no AND seen.branches = 0
)
UPDATE segment g SET shared_upto = coalesce(seen.upto, -1) FROM seen WHERE g.account_no = acct() AND g.no = seen.no AND seen.branches > 0;
