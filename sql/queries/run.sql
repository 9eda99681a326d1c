-- Runs as people and the system see them.

-- name: run_of_floor
SELECT f.id, f.state, r.id, r.type, r.state, r.phase, r.phase_seq, r.attempt_no, r.started_at, r.updated_at, r.completed_at, r.error, r.verifier,
       (SELECT string_agg(t.text, '' ORDER BY t.at) FROM run_text t WHERE t.account_no = acct() AND t.run_no = r.no AND NOT t.reasoning)
  FROM floor f
  JOIN session s ON s.account_no = acct() AND s.no = f.session_no AND s.deleted_at IS NULL
  LEFT JOIN LATERAL (SELECT * FROM run r WHERE r.account_no = acct() AND r.floor_no = f.no ORDER BY r.no DESC LIMIT 1) r ON true
 WHERE f.account_no = acct() AND f.id = $1;

-- name: run_active_of_session
SELECT s.id, b.id, r.id, r.type, r.phase, r.updated_at, f.id
  FROM session s
  LEFT JOIN (branch b JOIN run r ON r.account_no = acct() AND r.branch_no = b.no AND r.state = 'running') ON b.account_no = acct() AND b.session_no = s.no
  LEFT JOIN floor f ON f.account_no = acct() AND f.no = r.floor_no
 WHERE s.account_no = acct() AND s.id = $1 AND s.deleted_at IS NULL
 ORDER BY r.no DESC NULLS LAST LIMIT 1;

-- name: run_idle_of_session
-- The branch that was used last, when nothing runs.
SELECT b.id, b.updated_at,
       (SELECT f.id FROM unnest(b.segs, b.his) r (seg, hi) JOIN floor f ON f.account_no = acct() AND f.segment_no = r.seg AND f.floor_seq = b.head_seq
         WHERE r.hi >= b.head_seq ORDER BY r.hi LIMIT 1)
  FROM branch b JOIN session s ON s.account_no = acct() AND s.no = b.session_no
 WHERE b.account_no = acct() AND s.id = $1 ORDER BY b.updated_at DESC, b.no DESC LIMIT 1;

-- name: floor_result
SELECT f.id, f.state, p.id, m.id, m.content, p.summaries, p.usage, r.verifier, f.committed_at
  FROM floor f
  JOIN session s ON s.account_no = acct() AND s.no = f.session_no AND s.deleted_at IS NULL
  LEFT JOIN page p ON p.account_no = acct() AND p.floor_no = f.no AND p.kind = 'output' AND p.active
  LEFT JOIN message m ON m.account_no = acct() AND m.page_no = p.no AND m.seq = 0
  LEFT JOIN LATERAL (SELECT r.verifier FROM run r WHERE r.account_no = acct() AND r.floor_no = f.no AND r.state = 'completed' ORDER BY r.no DESC LIMIT 1) r ON true
 WHERE f.account_no = acct() AND f.id = $1;

-- name: run_view
-- A floor's newest run, or the run $2 of it, for those who follow it or want it to end. $1 floor id, $2 run no or null
SELECT f.no, f.id, f.floor_seq, f.segment_no, f.state, coalesce(b.id, f.branch_id), s.id, r.no, r.id, r.state, r.worker, r.error, r.phase_seq, r.said_from
  FROM floor f
  JOIN session s ON s.account_no = acct() AND s.no = f.session_no AND s.deleted_at IS NULL
  LEFT JOIN LATERAL (SELECT * FROM run r WHERE r.account_no = acct() AND r.floor_no = f.no AND r.no = coalesce($2, r.no) ORDER BY r.no DESC LIMIT 1) r ON true
  LEFT JOIN branch b ON b.account_no = acct() AND b.no = r.branch_no
 WHERE f.account_no = acct() AND f.id = $1;

-- name: run_said
-- What a run has said, when it has ended: its page, or (unless $3) the floor's active one. $1 floor no, $2 run no or null
SELECT m.content, p.reasoning, p.summaries, p.usage,
       (SELECT k.answer FROM idempotency k WHERE k.account_no = acct() AND k.run_no = $2 AND k.answer IS NOT NULL LIMIT 1)
  FROM page p
  LEFT JOIN message m ON m.account_no = acct() AND m.page_no = p.no AND m.seq = 0
 WHERE p.account_no = acct() AND p.floor_no = $1 AND p.kind = 'output' AND (p.run_no = $2 OR (p.active AND NOT $3))
 ORDER BY coalesce(p.run_no = $2, false) DESC LIMIT 1;

-- name: run_text_of
-- What a running generation has said so far, as persisted. $1 run no, $2, $3 bytes of text and reasoning that are known
SELECT t.reasoning, t.at, t.text FROM run_text t
 WHERE t.account_no = acct() AND t.run_no = $1 AND t.at + octet_length(t.text) > CASE WHEN t.reasoning THEN $3 ELSE $2 END::int ORDER BY t.reasoning DESC, t.at;

-- name: run_follow
-- scope: system
-- The same for all runs that a process follows, and whether they still run. $1 account numbers, $2 run numbers, $3 bytes of text, $4 of reasoning
SELECT x.i, r.state, t.reasoning, t.at, t.text
  FROM unnest($1::int[], $2::bigint[], $3::int[], $4::int[]) WITH ORDINALITY AS x (account_no, run_no, text_n, reasoning_n, i)
  LEFT JOIN run r ON r.account_no = x.account_no AND r.no = x.run_no
  LEFT JOIN run_text t ON t.account_no = x.account_no AND t.run_no = x.run_no
   AND t.at + octet_length(t.text) > CASE WHEN t.reasoning THEN x.reasoning_n ELSE x.text_n END
 ORDER BY x.i, t.reasoning DESC, t.at;

-- name: run_running_of_session
-- What runs in a session now, or in its branch $2. $1 session id, $2 branch id or null
SELECT f.id, r.no
  FROM session s
  LEFT JOIN (run r JOIN branch b ON b.account_no = acct() AND b.no = r.branch_no JOIN floor f ON f.account_no = acct() AND f.no = r.floor_no)
    ON r.account_no = acct() AND r.session_no = s.no AND r.state = 'running' AND b.id = coalesce($2, b.id)
 WHERE s.account_no = acct() AND s.id = $1 AND s.deleted_at IS NULL
 ORDER BY r.no;

-- name: key_find
-- What a key was used for. $1 route, $2 key
SELECT k.hash, k.created_at, r.no, r.state, f.id
  FROM idempotency k
  JOIN run r ON r.account_no = acct() AND r.no = k.run_no
  JOIN floor f ON f.account_no = acct() AND f.no = r.floor_no
 WHERE k.account_no = acct() AND k.route = $1 AND k.key = $2;

-- name: key_release
-- Its run has failed, or it is too old: the key may be used again. $1 route, $2 key, $3 run no
DELETE FROM idempotency WHERE account_no = acct() AND route = $1 AND key = $2 AND run_no = $3;

-- name: key_claim
-- In the unit that opens the run; a key that somebody else has claimed meanwhile undoes the unit. $1 route, $2 key, $3 hash, $4 branch no, $5 run id, $6 now
INSERT INTO idempotency (route, key, hash, run_no, created_at)
SELECT $1, $2, $3, r.no, $6 FROM run r WHERE r.account_no = acct() AND r.branch_no = $4 AND r.state = 'running' AND r.id = $5;

-- name: key_answer
-- In the unit that commits the run; nothing if its page $5 is not there. $1 route, $2 key, $3 run no, $4 answer
UPDATE idempotency SET answer = $4 WHERE account_no = acct() AND route = $1 AND key = $2 AND run_no = $3
   AND EXISTS (SELECT FROM page p WHERE p.account_no = acct() AND p.id = $5);

-- name: key_sweep
-- scope: system
-- Keys older than $1, in batches.
DELETE FROM idempotency WHERE ctid = ANY(ARRAY(SELECT k.ctid FROM idempotency k WHERE k.created_at < $1 ORDER BY k.created_at LIMIT 2000));

-- name: run_persist
-- scope: system
-- New text of running generations and their leases, once a second for a whole process. The rows are the runs that run no more: somebody ended them.
-- $1 account numbers, $2 run numbers, $3 offsets, $4 texts, $5 lease until, $6 is it reasoning
WITH live AS (
	SELECT * FROM unnest($1::int[], $2::bigint[], $3::int[], $4::text[], $6::bool[]) AS x (account_no, run_no, at, text, reasoning)
), lease AS (
	UPDATE run SET lease_until = $5 FROM live WHERE run.account_no = live.account_no AND run.no = live.run_no AND run.state = 'running'
	RETURNING run.account_no, run.no
), said AS (
	INSERT INTO run_text (account_no, run_no, reasoning, at, text)
	SELECT live.account_no, live.run_no, live.reasoning, live.at, live.text
	  FROM live JOIN lease ON lease.account_no = live.account_no AND lease.no = live.run_no
	 WHERE live.text <> ''
	    ON CONFLICT (account_no, run_no, reasoning, at) DO UPDATE SET text = EXCLUDED.text WHERE octet_length(EXCLUDED.text) > octet_length(run_text.text)
)
SELECT live.run_no FROM live WHERE NOT EXISTS (SELECT FROM lease WHERE lease.account_no = live.account_no AND lease.no = live.run_no);

-- name: run_sweep
-- scope: system
-- Generations whose worker is gone: the run fails, its floor fails, what had been said is kept on a failed page.
-- $1 now, $2 error
WITH dead AS (
	SELECT r.account_no, r.no, r.floor_no FROM run r WHERE r.state = 'running' AND r.lease_until < $1 ORDER BY r.lease_until LIMIT 200 FOR UPDATE SKIP LOCKED
), r AS (
	UPDATE run SET state = 'failed', error = $2, updated_at = $1, completed_at = $1
	  FROM dead WHERE run.account_no = dead.account_no AND run.no = dead.no RETURNING run.account_no, run.no, run.session_no, run.floor_no, run.id
), f AS (
	UPDATE floor SET state = 'failed', updated_at = $1 FROM r
	 WHERE floor.account_no = r.account_no AND floor.no = r.floor_no AND floor.state = 'generating'
	RETURNING floor.account_no, floor.no, floor.id, floor.session_no, floor.segment_no, floor.floor_seq
), u AS (
	UPDATE message SET active = false FROM f, page
	 WHERE page.account_no = f.account_no AND page.floor_no = f.no AND message.account_no = f.account_no AND message.page_no = page.no AND message.active
), t AS (
	SELECT r.account_no, r.no, r.floor_no, r.id, string_agg(x.text, '' ORDER BY x.at) FILTER (WHERE NOT x.reasoning) AS said,
	       string_agg(x.text, '' ORDER BY x.at) FILTER (WHERE x.reasoning) AS thought
	  FROM r JOIN run_text x ON x.account_no = r.account_no AND x.run_no = r.no GROUP BY 1, 2, 3, 4
), p AS (
	INSERT INTO page (account_no, id, floor_no, kind, page_seq, active, state, reasoning, error, run_no, created_at, updated_at)
	SELECT t.account_no, 'f' || t.id, t.floor_no, 'output',
	       1 + (SELECT coalesce(max(page_seq), 0) FROM page o WHERE o.account_no = t.account_no AND o.floor_no = t.floor_no), false, 'failed',
	       t.thought, $2, t.no, $1, $1
	  FROM t WHERE t.said IS NOT NULL RETURNING account_no, no, floor_no
), m AS (
	INSERT INTO message (account_no, id, page_no, segment_no, floor_seq, side, seq, active, role, content, source, created_at)
	SELECT p.account_no, 'f' || t.id, p.no, f.segment_no, f.floor_seq, 2, 0, false, 'assistant', t.said, 'model', $1
	  FROM p JOIN t ON t.account_no = p.account_no AND t.floor_no = p.floor_no JOIN floor f ON f.account_no = p.account_no AND f.no = p.floor_no
), x AS (
	DELETE FROM run_text USING r WHERE run_text.account_no = r.account_no AND run_text.run_no = r.no
), e AS (
	INSERT INTO event (account_no, session_id, name, data, created_at)
	SELECT r.account_no, s.id, CASE WHEN f.no IS NULL THEN 'run.failed' ELSE 'floor.failed' END, json_build_object('runNo', r.no), $1
	  FROM r JOIN session s ON s.account_no = r.account_no AND s.no = r.session_no LEFT JOIN f ON f.account_no = r.account_no AND f.no = r.floor_no
)
SELECT count(*) FROM r;
