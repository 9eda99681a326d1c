-- What must hold of the database at any moment, whatever was killed: one row for each violation: its name, the account, what it
-- is about. Run by a superuser, who sees all accounts: psql -v grace=MS, the time that a lease may be over before it counts as
-- stuck (a sweeper's round and some). Sessions that were deleted are not looked at: their rows go in steps.
-- What a constraint or a unique index forbids already is not asked again.
SET search_path = tavern;
SET jit = off;

CREATE TEMP VIEW live_floor AS
	SELECT f.* FROM floor f JOIN session s ON s.account_no = f.account_no AND s.no = f.session_no AND s.deleted_at IS NULL;

-- Floors that a turn made, of those that clients wrote, imports and greetings: they have runs that say something.
CREATE TEMP VIEW said_floor AS
	SELECT f.* FROM live_floor f
	 WHERE EXISTS (SELECT FROM run r WHERE r.account_no = f.account_no AND r.floor_no = f.no AND r.type IN ('respond', 'edit_and_regenerate'));

CREATE TEMP VIEW range AS
	SELECT b.account_no, b.session_no, b.no AS branch_no, b.id AS branch_id, r.i, r.seg, r.hi,
	       coalesce(b.his[r.i - 1], -1) AS lo, r.i = cardinality(b.segs) AS own
	  FROM branch b JOIN session s ON s.account_no = b.account_no AND s.no = b.session_no AND s.deleted_at IS NULL
	  CROSS JOIN LATERAL unnest(b.segs, b.his) WITH ORDINALITY r (seg, hi, i);

-- ---- floors: committed whole, or failed ----

SELECT 'floor generates without a run', f.account_no, f.id FROM live_floor f
 WHERE f.state = 'generating'
   AND NOT EXISTS (SELECT FROM run r WHERE r.account_no = f.account_no AND r.floor_no = f.no AND r.state = 'running')
UNION ALL
SELECT 'floor committed by no run', f.account_no, f.id FROM said_floor f
 WHERE f.state = 'committed'
   AND NOT EXISTS (SELECT FROM run r WHERE r.account_no = f.account_no AND r.floor_no = f.no AND r.state = 'completed')
UNION ALL
SELECT 'floor failed although its last run did not', f.account_no, f.id FROM said_floor f
 WHERE f.state = 'failed'
   AND (SELECT r.state FROM run r WHERE r.account_no = f.account_no AND r.floor_no = f.no ORDER BY r.no DESC LIMIT 1) NOT IN ('failed', 'cancelled', 'running')
UNION ALL
SELECT 'floor committed without one reply', f.account_no, f.id FROM said_floor f
 WHERE f.state = 'committed'
   AND (SELECT count(*) FROM page p WHERE p.account_no = f.account_no AND p.floor_no = f.no AND p.kind = 'output' AND p.active AND p.state = 'committed'
           AND EXISTS (SELECT FROM message m WHERE m.account_no = p.account_no AND m.page_no = p.no AND m.role = 'assistant')) <> 1
UNION ALL
SELECT 'floor without one input', f.account_no, f.id FROM said_floor f
 WHERE (SELECT count(*) FROM page p WHERE p.account_no = f.account_no AND p.floor_no = f.no AND p.kind = 'input' AND p.active
           AND EXISTS (SELECT FROM message m WHERE m.account_no = p.account_no AND m.page_no = p.no AND m.role = 'user')) <> 1
UNION ALL
SELECT 'floor committed at no time', f.account_no, f.id FROM said_floor f WHERE (f.state = 'committed') <> (f.committed_at IS NOT NULL)
UNION ALL

-- ---- pages and messages ----

SELECT 'page counts although it failed', p.account_no, p.id FROM page p WHERE p.active AND p.state = 'failed'
UNION ALL
SELECT 'message counts and its page does not, or the other way', m.account_no, m.id
  FROM message m JOIN page p ON p.account_no = m.account_no AND p.no = m.page_no JOIN live_floor f ON f.account_no = p.account_no AND f.no = p.floor_no
 WHERE f.state <> 'failed' AND m.active <> p.active
UNION ALL
SELECT 'message of a failed floor counts', m.account_no, m.id
  FROM said_floor f JOIN page p ON p.account_no = f.account_no AND p.floor_no = f.no JOIN message m ON m.account_no = p.account_no AND m.page_no = p.no
 WHERE f.state = 'failed' AND m.active
UNION ALL
SELECT 'message is not where its floor is', m.account_no, m.id
  FROM message m JOIN page p ON p.account_no = m.account_no AND p.no = m.page_no JOIN floor f ON f.account_no = p.account_no AND f.no = p.floor_no
 WHERE m.segment_no <> f.segment_no OR m.floor_seq <> f.floor_seq
    OR m.side <> CASE p.kind WHEN 'input' THEN 0 WHEN 'mixed' THEN 1 ELSE 2 END
UNION ALL
SELECT 'message that counts was not counted', m.account_no, m.id FROM message m
 WHERE m.active AND m.token_count = 0 AND m.content <> '' AND coalesce(m.sent, m.content) <> '' AND m.source IN ('api', 'model', 'greeting')
UNION ALL
SELECT 'reply without a record', p.account_no, p.id FROM page p JOIN said_floor f ON f.account_no = p.account_no AND f.no = p.floor_no
 WHERE p.kind = 'output' AND p.state = 'committed' AND p.model IS NOT NULL
   AND NOT EXISTS (SELECT FROM turn_record t WHERE t.account_no = p.account_no AND t.page_no = p.no)
UNION ALL

-- ---- runs ----

SELECT 'run is stuck', r.account_no, r.id FROM run r WHERE r.state = 'running' AND r.lease_until < now_ms() - :'grace'::bigint
UNION ALL
SELECT 'run runs on a floor that is not its branch''s head', r.account_no, r.id
  FROM run r JOIN live_floor f ON f.account_no = r.account_no AND f.no = r.floor_no
 WHERE r.state = 'running'
   AND NOT EXISTS (SELECT FROM range g WHERE g.account_no = r.account_no AND g.branch_no = r.branch_no AND g.own AND g.hi = f.floor_seq)
UNION ALL
SELECT 'run runs on a failed floor', r.account_no, r.id FROM run r JOIN floor f ON f.account_no = r.account_no AND f.no = r.floor_no
 WHERE r.state = 'running' AND f.state <> 'generating' AND (f.state = 'draft' OR r.type IN ('respond', 'edit_and_regenerate') AND f.state = 'failed')
UNION ALL
SELECT 'run completed and its floor is not committed', r.account_no, r.id FROM run r JOIN floor f ON f.account_no = r.account_no AND f.no = r.floor_no
 WHERE r.state = 'completed' AND f.state <> 'committed'
UNION ALL
SELECT 'run ended at no time', r.account_no, r.id FROM run r WHERE (r.state = 'running') <> (r.completed_at IS NULL)
UNION ALL
SELECT 'run failed for no reason', r.account_no, r.id FROM run r WHERE r.state IN ('failed', 'cancelled') AND r.error IS NULL
UNION ALL
SELECT 'text of an ended run is left', t.account_no, t.run_no::text
  FROM (SELECT DISTINCT account_no, run_no FROM run_text) t JOIN run r ON r.account_no = t.account_no AND r.no = t.run_no AND r.state <> 'running'
UNION ALL
SELECT 'run was not told once', r.account_no, r.id
  FROM run r JOIN live_floor f ON f.account_no = r.account_no AND f.no = r.floor_no
  LEFT JOIN (SELECT e.account_no, (e.data ->> 'runNo')::bigint AS run_no, count(*) AS n, min(e.name) AS name
               FROM event e WHERE e.name IN ('floor.committed', 'floor.failed', 'run.failed') GROUP BY 1, 2) e
    ON e.account_no = r.account_no AND e.run_no = r.no
 WHERE r.state <> 'running' AND NOT EXISTS (SELECT FROM event s WHERE s.name = 'swept')
   AND (e.n IS DISTINCT FROM 1 OR (r.state = 'completed') <> (e.name = 'floor.committed'))
UNION ALL

-- ---- branches ----

SELECT 'session without a branch', s.account_no, s.id FROM session s
 WHERE s.deleted_at IS NULL AND NOT EXISTS (SELECT FROM branch b WHERE b.account_no = s.account_no AND b.session_no = s.no AND b.id = 'main')
UNION ALL
SELECT 'branch does not end at its head', b.account_no, b.id FROM branch b WHERE b.his[cardinality(b.his)] <> b.head_seq
UNION ALL
SELECT 'range goes backwards', r.account_no, r.branch_id FROM range r WHERE r.hi < r.lo OR (r.hi = r.lo AND NOT r.own)
UNION ALL
SELECT 'range over a segment that is not there', r.account_no, r.branch_id FROM range r
 WHERE NOT EXISTS (SELECT FROM segment g WHERE g.account_no = r.account_no AND g.no = r.seg AND g.session_no = r.session_no)
UNION ALL
SELECT 'range with holes', r.account_no, r.branch_id FROM range r
 WHERE r.hi - r.lo <> (SELECT count(*) FROM floor f WHERE f.account_no = r.account_no AND f.segment_no = r.seg AND f.floor_seq > r.lo AND f.floor_seq <= r.hi)
UNION ALL
SELECT 'segment is the own one of two branches', r.account_no, min(r.branch_id) FROM range r WHERE r.own GROUP BY r.account_no, r.seg HAVING count(*) > 1
UNION ALL
SELECT 'segment shared without its knowledge', r.account_no, r.seg::text
  FROM range r JOIN segment g ON g.account_no = r.account_no AND g.no = r.seg
 WHERE NOT r.own AND g.shared_upto < r.hi
   AND EXISTS (SELECT FROM range o WHERE o.account_no = r.account_no AND o.seg = r.seg AND o.branch_no <> r.branch_no)
UNION ALL
SELECT 'floor that no branch shows', f.account_no, f.id FROM live_floor f
 WHERE NOT EXISTS (SELECT FROM range r WHERE r.account_no = f.account_no AND r.seg = f.segment_no AND f.floor_seq <= r.hi)
UNION ALL
SELECT 'segment that no branch names', g.account_no, g.no::text
  FROM segment g JOIN session s ON s.account_no = g.account_no AND s.no = g.session_no AND s.deleted_at IS NULL
 WHERE NOT EXISTS (SELECT FROM range r WHERE r.account_no = g.account_no AND r.seg = g.no)
UNION ALL

-- ---- variables ----

-- The newest write that counts in the branch's own segment is what the branch has now. Not of keys of which parts are written.
SELECT 'variable differs from its log', coalesce(v.account_no, c.account_no), coalesce(v.key, c.key)
  FROM (SELECT DISTINCT ON (c.account_no, c.segment_no, c.key) c.account_no, r.branch_no, c.key, c.new_value
          FROM var_change c JOIN range r ON r.account_no = c.account_no AND r.seg = c.segment_no AND r.own
         WHERE c.active AND c.scope = 'branch' AND c.scope_no = r.branch_no
           AND NOT EXISTS (SELECT FROM var_change x WHERE x.account_no = c.account_no AND x.segment_no = c.segment_no AND x.key = c.key AND x.path IS NOT NULL)
         ORDER BY c.account_no, c.segment_no, c.key, c.floor_seq DESC, c.no DESC) c
  FULL JOIN (SELECT v.* FROM variable v JOIN session s ON s.account_no = v.account_no AND s.no = v.session_no AND s.deleted_at IS NULL
              WHERE v.scope = 'branch'
                AND NOT EXISTS (SELECT FROM var_change x WHERE x.account_no = v.account_no AND x.scope = 'branch' AND x.scope_no = v.scope_no
                                   AND x.key = v.key AND x.path IS NOT NULL)) v
    ON v.account_no = c.account_no AND v.scope_no = c.branch_no AND v.key = c.key
 WHERE v.value IS DISTINCT FROM c.new_value
UNION ALL
SELECT 'variable of nothing', v.account_no, v.id FROM variable v
 WHERE NOT CASE v.scope
	WHEN 'global' THEN v.scope_no = 0
	WHEN 'chat' THEN v.scope_no = v.session_no
	WHEN 'branch' THEN EXISTS (SELECT FROM branch b WHERE b.account_no = v.account_no AND b.no = v.scope_no AND b.session_no = v.session_no)
	WHEN 'floor' THEN EXISTS (SELECT FROM floor f WHERE f.account_no = v.account_no AND f.no = v.scope_no)
	WHEN 'page' THEN EXISTS (SELECT FROM page p WHERE p.account_no = v.account_no AND p.no = v.scope_no) END
   AND NOT EXISTS (SELECT FROM session s WHERE s.account_no = v.account_no AND s.no = v.session_no AND s.deleted_at IS NOT NULL)
UNION ALL
SELECT 'write counts and its page does not, or the other way', c.account_no, c.id
  FROM var_change c JOIN page p ON p.account_no = c.account_no AND p.no = c.page_no JOIN live_floor f ON f.account_no = p.account_no AND f.no = p.floor_no
 WHERE c.active <> p.active AND f.state = 'committed'
UNION ALL

-- ---- jobs ----

SELECT 'job is stuck', j.account_no, j.id FROM job j WHERE j.state = 'running' AND j.lease_until < now_ms() - :'grace'::bigint
UNION ALL
SELECT 'job ended at no time', j.account_no, j.id FROM job j WHERE (j.state IN ('queued', 'running')) <> (j.completed_at IS NULL);
