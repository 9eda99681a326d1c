-- Variables: where a scope's values stand, and writing one with its log entry.

-- name: variable_place
-- $1 scope, $2 id of session, floor or page, $3 branch id of branch scope. No row: no such place.
SELECT s.no, s.no, s.id, NULL::bigint, NULL::int, NULL::bigint, NULL::text
  FROM session s WHERE $1 = 'chat' AND s.account_no = acct() AND s.id = $2 AND s.deleted_at IS NULL
UNION ALL
SELECT b.no, s.no, s.id, b.segs[cardinality(b.segs)], b.head_seq, NULL, NULL
  FROM session s JOIN branch b ON b.account_no = acct() AND b.session_no = s.no AND b.id = $3
 WHERE $1 = 'branch' AND s.account_no = acct() AND s.id = $2 AND s.deleted_at IS NULL
UNION ALL
SELECT f.no, f.session_no, f.id, f.segment_no, f.floor_seq, NULL, f.state
  FROM floor f JOIN session s ON s.account_no = acct() AND s.no = f.session_no AND s.deleted_at IS NULL
 WHERE $1 = 'floor' AND f.account_no = acct() AND f.id = $2
UNION ALL
SELECT p.no, f.session_no, p.id, f.segment_no, f.floor_seq, p.no, f.state
  FROM page p JOIN floor f ON f.account_no = acct() AND f.no = p.floor_no JOIN session s ON s.account_no = acct() AND s.no = f.session_no AND s.deleted_at IS NULL
 WHERE $1 = 'page' AND p.account_no = acct() AND p.id = $2;

-- name: variable_room
-- What a scope holds already, without the value that would be replaced.
SELECT count(*), coalesce(sum(octet_length(v.value)), 0)
  FROM variable v WHERE v.account_no = acct() AND v.scope = $1 AND v.scope_no = $2 AND v.key <> $3;

-- name: variable_write
-- The only statement by which values are written (floor_undo and page_vars_settle take writes back, from the log): in order, each one a row of the log; the last of a key wins. Nothing if the page is not there.
-- $1 = [{id,log,scope,scope_no,scope_id,key,value?,source,detail?}], $2 session no or null, $3 segment or null, $4 floor number or null,
-- $5 page id or null, $6 now, $7 branch id
WITH w AS (
	SELECT x.i, x.id, x.log, x.scope, CASE WHEN x.scope = 'page' AND x.scope_no = 0 THEN p.no ELSE x.scope_no END AS scope_no, x.scope_id, x.key,
	       x.value, x.source, x.detail, p.no AS page_no, p.active
	  FROM ROWS FROM (json_to_recordset($1) AS (id text, log text, scope text, scope_no bigint, scope_id text, key text, value text, source text, detail json))
	       WITH ORDINALITY AS x (id, log, scope, scope_no, scope_id, key, value, source, detail, i)
	  LEFT JOIN page p ON p.account_no = acct() AND p.id = $5
	 WHERE $5::text IS NULL OR p.no IS NOT NULL
), l AS (
	INSERT INTO var_change (id, session_no, segment_no, floor_seq, page_no, active, scope, scope_no, key, new_value, source, detail, created_at)
	SELECT w.log, $2, $3, $4, w.page_no, coalesce(w.active, true), w.scope, w.scope_no, w.key, w.value, w.source, w.detail, $6 FROM w ORDER BY w.i
), final AS (
	SELECT DISTINCT ON (scope, scope_no, key) * FROM w ORDER BY scope, scope_no, key, i DESC
), d AS (
	DELETE FROM variable v USING final WHERE v.account_no = acct() AND v.scope = final.scope AND v.scope_no = final.scope_no
	   AND v.key = final.key AND final.value IS NULL
)
INSERT INTO variable AS v (id, scope, scope_no, scope_id, session_no, branch_id, key, value, updated_at)
SELECT id, scope, scope_no, scope_id, CASE scope WHEN 'global' THEN NULL ELSE $2 END, CASE scope WHEN 'branch' THEN $7 END, key, value, $6
  FROM final WHERE value IS NOT NULL ORDER BY scope, scope_no, key
    ON CONFLICT ON CONSTRAINT variable_key DO UPDATE SET value = EXCLUDED.value, revision = v.revision + 1, updated_at = EXCLUDED.updated_at
RETURNING v.id, v.revision, v.revision = 0;

-- name: variable_hold
-- The value as it is, held against other writers until the end. $1 scope, $2 scope no, $3 key
SELECT v.revision FROM variable v WHERE v.account_no = acct() AND v.scope = $1 AND v.scope_no = $2 AND v.key = $3 FOR UPDATE;

-- name: variable_take
-- A variable to be deleted, held, with the place of its branch's head; its floor's state. $1 id
SELECT v.scope, v.scope_no, v.scope_id, v.key, v.revision, v.session_no, s.id, v.branch_id, b.segs[cardinality(b.segs)], b.head_seq,
       coalesce(f.segment_no, pf.segment_no), coalesce(f.floor_seq, pf.floor_seq), coalesce(f.state, pf.state), p.id
  FROM variable v
  LEFT JOIN session s ON s.account_no = acct() AND s.no = v.session_no
  LEFT JOIN branch b ON v.scope = 'branch' AND b.account_no = acct() AND b.no = v.scope_no
  LEFT JOIN floor f ON v.scope = 'floor' AND f.account_no = acct() AND f.no = v.scope_no
  LEFT JOIN page p ON v.scope = 'page' AND p.account_no = acct() AND p.no = v.scope_no
  LEFT JOIN floor pf ON pf.account_no = acct() AND pf.no = p.floor_no
 WHERE v.account_no = acct() AND v.id = $1 AND s.deleted_at IS NULL FOR UPDATE OF v;

-- name: variable_event
-- scope: insert
-- Tells of a write outside of turns; what turns write is told with them. $1 session id or null, $2 name, $3 data, $4 now
INSERT INTO event (session_id, name, data, created_at) VALUES ($1, $2, $3, $4);

-- name: variable_promoted
-- Behind variable_write: what was promoted belongs to the page that held it, not to the reply with which it was committed: another reply of the floor
-- leaves it. $1 floor no, $2 id of the reply's page
WITH s AS (
	SELECT DISTINCT ON (v.key) v.key, p.no
	  FROM page p JOIN variable v ON v.account_no = acct() AND v.scope = 'page' AND v.scope_no = p.no
	 WHERE p.account_no = acct() AND p.floor_no = $1 AND p.active AND p.id <> $2 ORDER BY v.key, p.kind = 'output' DESC, p.no DESC
)
UPDATE var_change c SET page_no = s.no FROM s, page o
 WHERE o.account_no = acct() AND o.id = $2 AND c.account_no = acct() AND c.page_no = o.no AND c.source = 'promotion' AND c.key = s.key;

-- name: variable_of_pages
-- What the pages of a floor that count hold of their own, input before output. $1 floor no
SELECT v.key, v.value, p.id
  FROM page p JOIN variable v ON v.account_no = acct() AND v.scope = 'page' AND v.scope_no = p.no
 WHERE p.account_no = acct() AND p.floor_no = $1 AND p.active ORDER BY p.kind = 'output', v.no;

-- name: variable_head_page
-- The page that a client means who names none: the one that counts of the branch's head, its reply before its input. $1 session id, $2 branch id
SELECT p.id
  FROM session s
  JOIN branch b ON b.account_no = acct() AND b.session_no = s.no AND b.id = $2
  CROSS JOIN LATERAL (SELECT r.seg FROM unnest(b.segs, b.his) r (seg, hi) WHERE r.hi >= b.head_seq ORDER BY r.hi LIMIT 1) r
  JOIN floor f ON f.account_no = acct() AND f.segment_no = r.seg AND f.floor_seq = b.head_seq
  JOIN page p ON p.account_no = acct() AND p.floor_no = f.no AND p.active
 WHERE s.account_no = acct() AND s.id = $1 AND s.deleted_at IS NULL ORDER BY p.kind = 'output' DESC, p.no DESC LIMIT 1;

-- name: variable_layers
-- Every value that a view of a session sees. $1 session id, $2 branch id, $3 floor id, $4 page id; null = not in the view.
WITH s AS (
	SELECT no FROM session WHERE account_no = acct() AND id = $1 AND deleted_at IS NULL
), place (scope, scope_no) AS (
	SELECT 'global', 0::bigint FROM s
	UNION ALL SELECT 'chat', s.no FROM s
	UNION ALL SELECT 'branch', b.no FROM s JOIN branch b ON b.account_no = acct() AND b.session_no = s.no AND b.id = $2
	UNION ALL SELECT 'floor', f.no FROM floor f JOIN s ON f.session_no = s.no WHERE f.account_no = acct() AND f.id = $3
	UNION ALL SELECT 'page', p.no FROM page p JOIN floor f ON f.account_no = acct() AND f.no = p.floor_no JOIN s ON f.session_no = s.no
	           WHERE p.account_no = acct() AND p.id = $4
)
SELECT place.scope, v.id, v.scope_id, v.key, v.value, v.updated_at, v.revision
  FROM place LEFT JOIN variable v ON v.account_no = acct() AND v.scope = place.scope AND v.scope_no = place.scope_no
 ORDER BY v.key, v.no;

-- name: variable_at
-- Where "as of floor N" is. $1 session id, $2 branch id
SELECT s.no, b.no, b.segs, b.his, b.head_seq
  FROM session s LEFT JOIN branch b ON b.account_no = acct() AND b.session_no = s.no AND b.id = $2
 WHERE s.account_no = acct() AND s.id = $1 AND s.deleted_at IS NULL;

-- name: variable_at_floor
-- $1 segment, $2 floor number
SELECT f.no, f.id, f.state, f.created_at FROM floor f WHERE f.account_no = acct() AND f.segment_no = $1 AND f.floor_seq = $2;

-- name: variable_at_floor_id
-- $1 session no, $2 floor id
SELECT f.segment_no, f.floor_seq FROM floor f WHERE f.account_no = acct() AND f.id = $2 AND f.session_no = $1;

-- name: variable_as_of_branch
-- As branch_vars_as_of, and who wrote it where and when. $1 segment, $2 floor number, $3 key or null = all
WITH RECURSIVE k AS (
	(SELECT c.key FROM var_change c WHERE c.account_no = acct() AND c.segment_no = $1 AND c.active AND c.scope = 'branch'
	    AND ($3::text IS NULL OR c.key = $3) ORDER BY c.key LIMIT 1)
	UNION ALL
	SELECT (SELECT c.key FROM var_change c WHERE c.account_no = acct() AND c.segment_no = $1 AND c.active AND c.scope = 'branch' AND c.key > k.key
	         ORDER BY c.key LIMIT 1) FROM k WHERE k.key IS NOT NULL AND $3::text IS NULL
)
SELECT k.key, v.new_value, v.source, v.floor_seq, v.created_at
  FROM k CROSS JOIN LATERAL (
	SELECT c.new_value, c.source, c.floor_seq, c.created_at FROM var_change c
	 WHERE c.account_no = acct() AND c.segment_no = $1 AND c.active AND c.scope = 'branch' AND c.key = k.key AND c.floor_seq <= $2
	 ORDER BY c.floor_seq DESC, c.no DESC LIMIT 1) v
 WHERE k.key IS NOT NULL AND v.new_value IS NOT NULL;

-- name: variable_as_of_wide
-- Values of a chat or of the account as they were at a moment: not exact for a branch, for others write them too.
-- $1 scope, $2 scope no, $3 before (ms) or null = now, $4 key or null = all
WITH RECURSIVE k AS (
	(SELECT c.key FROM var_change c WHERE c.account_no = acct() AND c.scope IN ('global', 'chat') AND c.scope = $1 AND c.scope_no = $2
	    AND ($4::text IS NULL OR c.key = $4) ORDER BY c.key LIMIT 1)
	UNION ALL
	SELECT (SELECT c.key FROM var_change c WHERE c.account_no = acct() AND c.scope IN ('global', 'chat') AND c.scope = $1 AND c.scope_no = $2 AND c.key > k.key
	         ORDER BY c.key LIMIT 1) FROM k WHERE k.key IS NOT NULL AND $4::text IS NULL
)
SELECT k.key, v.new_value, v.source, v.floor_seq, v.created_at
  FROM k CROSS JOIN LATERAL (
	SELECT c.new_value, c.source, c.floor_seq, c.created_at FROM var_change c
	 WHERE c.account_no = acct() AND c.scope IN ('global', 'chat') AND c.scope = $1 AND c.scope_no = $2 AND c.key = k.key
	   AND ($3::bigint IS NULL OR c.created_at < $3)
	 ORDER BY c.no DESC LIMIT 1) v
 WHERE k.key IS NOT NULL AND v.new_value IS NOT NULL;

-- name: variable_as_of_floor
-- What a floor and its pages that count hold of their own. $1 floor no, $2 key or null = all
SELECT v.scope, v.scope_id, v.key, v.value, v.updated_at
  FROM variable v
 WHERE v.account_no = acct() AND ($2::text IS NULL OR v.key = $2)
   AND ((v.scope = 'floor' AND v.scope_no = $1) OR
        (v.scope = 'page' AND v.scope_no = ANY (ARRAY(SELECT p.no FROM page p WHERE p.account_no = acct() AND p.floor_no = $1 AND p.active))))
 ORDER BY v.key, v.no;
