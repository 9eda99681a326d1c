-- Variables: where a scope's values stand, and writing one with its log entry.

-- name: variable_place
-- $1 scope, $2 id of session, floor or page, $3 branch id of branch scope. No row: no such place.
SELECT s.no, s.no, s.id, NULL::bigint, NULL::int, NULL::bigint, false
  FROM session s WHERE $1 = 'chat' AND s.account_no = acct() AND s.id = $2 AND s.deleted_at IS NULL
UNION ALL
SELECT b.no, s.no, s.id, b.segs[cardinality(b.segs)], b.head_seq, NULL, false
  FROM session s JOIN branch b ON b.account_no = acct() AND b.session_no = s.no AND b.id = $3
 WHERE $1 = 'branch' AND s.account_no = acct() AND s.id = $2 AND s.deleted_at IS NULL
UNION ALL
SELECT f.no, f.session_no, f.id, f.segment_no, f.floor_seq, NULL, f.state = 'committed'
  FROM floor f JOIN session s ON s.account_no = acct() AND s.no = f.session_no AND s.deleted_at IS NULL
 WHERE $1 = 'floor' AND f.account_no = acct() AND f.id = $2
UNION ALL
SELECT p.no, f.session_no, p.id, f.segment_no, f.floor_seq, p.no, f.state = 'committed'
  FROM page p JOIN floor f ON f.account_no = acct() AND f.no = p.floor_no JOIN session s ON s.account_no = acct() AND s.no = f.session_no AND s.deleted_at IS NULL
 WHERE $1 = 'page' AND p.account_no = acct() AND p.id = $2;

-- name: variable_room
-- What a scope holds already, without the value that would be replaced.
SELECT count(*), coalesce(sum(octet_length(v.value)), 0)
  FROM variable v WHERE v.account_no = acct() AND v.scope = $1 AND v.scope_no = $2 AND v.key <> $3;

-- name: variable_put
-- $1 id, $2 scope, $3 scope no, $4 scope id, $5 session no, $6 branch id, $7 key, $8 value (JSON text), $9 now, $10 log id, $11 segment,
-- $12 floor number, $13 page no
WITH l AS (
	INSERT INTO var_change (id, session_no, segment_no, floor_seq, page_no, scope, scope_no, key, new_value, source, created_at)
	SELECT $10, $5, $11, $12, $13, $2, $3, $7, $8, 'client', $9 WHERE acct() IS NOT NULL
)
INSERT INTO variable AS v (id, scope, scope_no, scope_id, session_no, branch_id, key, value, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
    ON CONFLICT ON CONSTRAINT variable_key DO UPDATE SET value = EXCLUDED.value, revision = v.revision + 1, updated_at = EXCLUDED.updated_at
 WHERE v.account_no = acct()
RETURNING v.id, v.id = $1;

-- name: variable_delete
-- Of a branch's variable the log says where the story was: a later fork reads it. $1 id, $2 log id, $3 now
WITH d AS (
	DELETE FROM variable v WHERE v.account_no = acct() AND v.id = $1 RETURNING v.*
)
INSERT INTO var_change (id, session_no, segment_no, floor_seq, scope, scope_no, key, new_value, source, created_at)
SELECT $2, d.session_no, b.segs[cardinality(b.segs)], b.head_seq, d.scope, d.scope_no, d.key, NULL, 'client', $3
  FROM d LEFT JOIN branch b ON b.account_no = acct() AND d.scope = 'branch' AND b.no = d.scope_no;

-- name: variable_floor_locked
-- Does the variable belong to a committed floor?
SELECT EXISTS (SELECT FROM floor f WHERE f.account_no = acct() AND f.no = v.scope_no AND f.state = 'committed') AND v.scope = 'floor'
  FROM variable v LEFT JOIN session s ON s.account_no = acct() AND s.no = v.session_no
 WHERE v.account_no = acct() AND v.id = $1 AND s.deleted_at IS NULL;

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
SELECT place.scope, v.id, v.scope_id, v.key, v.value, v.updated_at
  FROM place LEFT JOIN variable v ON v.account_no = acct() AND v.scope = place.scope AND v.scope_no = place.scope_no
 ORDER BY v.key, v.no;
