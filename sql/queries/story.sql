-- Floors, pages and messages as clients write them: each keeps what is derived (place, activity, heads).

-- name: floor_branch
-- Where a client's floor would go. $1 session id, $2 branch id
SELECT s.no, s.status, b.no, b.segs[cardinality(b.segs)], b.head_seq,
       (SELECT f.id FROM unnest(b.segs, b.his) r (seg, hi) JOIN floor f ON f.account_no = acct() AND f.segment_no = r.seg AND f.floor_seq = b.head_seq
         WHERE r.hi >= b.head_seq ORDER BY r.hi LIMIT 1)
  FROM session s LEFT JOIN branch b ON b.account_no = acct() AND b.session_no = s.no AND b.id = $2
 WHERE s.account_no = acct() AND s.id = $1 AND s.deleted_at IS NULL;

-- name: floor_insert
-- $1 id, $2 session no, $3 segment, $4 floor number, $5 branch id, $6 parent id, $7 state, $8 token_in, $9 token_out, $10 now, $11 branch no
WITH b AS (
	UPDATE branch SET head_seq = $4, his[cardinality(his)] = $4, updated_at = $10
	 WHERE account_no = acct() AND no = $11 AND head_seq = $4 - 1 RETURNING no
)
INSERT INTO floor (id, session_no, segment_no, floor_seq, branch_id, parent_id, state, token_in, token_out, committed_at, created_at, updated_at)
SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, CASE $7 WHEN 'committed' THEN $10::bigint END, $10, $10 FROM b
RETURNING no;

-- name: floor_place
-- A floor, and whether it is the head of the branch whose own segment owns it. $1 id
SELECT f.no, f.state, f.floor_seq, f.segment_no, b.no, b.head_seq, g.shared_upto, f.session_no, b.id, s.id, f.branch_id,
       EXISTS (SELECT FROM run r WHERE r.account_no = acct() AND r.floor_no = f.no AND r.state = 'running')
  FROM floor f
  JOIN segment g ON g.account_no = acct() AND g.no = f.segment_no
  JOIN session s ON s.account_no = acct() AND s.no = f.session_no AND s.deleted_at IS NULL
  LEFT JOIN branch b ON b.account_no = acct() AND b.session_no = f.session_no AND b.segs[cardinality(b.segs)] = f.segment_no
 WHERE f.account_no = acct() AND f.id = $1 FOR UPDATE OF f;

-- name: floor_set_parent
UPDATE floor SET parent_id = $2, updated_at = $3 WHERE account_no = acct() AND no = $1;

-- name: floor_delete
-- The head floor of a branch, with its variables. $1 floor no, $2 branch no, $3 floor number, $4 now
WITH b AS (
	UPDATE branch SET head_seq = $3 - 1, his[cardinality(his)] = $3 - 1, revision = revision + 1, updated_at = $4
	 WHERE account_no = acct() AND no = $2 AND head_seq = $3 RETURNING no
), v AS (
	DELETE FROM variable USING b WHERE variable.account_no = acct() AND variable.scope = 'floor' AND variable.scope_no = $1
), w AS (
	DELETE FROM variable USING b, page p WHERE p.account_no = acct() AND p.floor_no = $1 AND variable.account_no = acct()
	   AND variable.scope = 'page' AND variable.scope_no = p.no
)
DELETE FROM floor USING b WHERE floor.account_no = acct() AND floor.no = $1;

-- name: floor_undo
-- Takes back what the pages of a floor wrote to the branch: each key has again its newest other value of the log, or none.
-- $1 floor no, $2 branch no, $3 segment, $4 scope id, $5 session no, $6 branch id, $7 now
WITH mine AS (
	DELETE FROM var_change c USING page p
	 WHERE p.account_no = acct() AND p.floor_no = $1 AND c.account_no = acct() AND c.page_no = p.no RETURNING c.no, c.scope, c.key
), k AS (
	SELECT DISTINCT key FROM mine WHERE scope = 'branch'
), was AS (
	SELECT k.key, c.id, c.new_value
	  FROM k LEFT JOIN LATERAL (
		SELECT c.id, c.new_value FROM var_change c
		 WHERE c.account_no = acct() AND c.segment_no = $3 AND c.active AND c.scope = 'branch' AND c.key = k.key
		   AND c.no NOT IN (SELECT no FROM mine)
		 ORDER BY c.floor_seq DESC, c.no DESC LIMIT 1) c ON true
), d AS (
	DELETE FROM variable v USING was WHERE v.account_no = acct() AND v.scope = 'branch' AND v.scope_no = $2 AND v.key = was.key
	   AND was.new_value IS NULL
)
INSERT INTO variable (id, scope, scope_no, scope_id, session_no, branch_id, key, value, updated_at)
SELECT was.id, 'branch', $2, $4, $5, $6, was.key, was.new_value, $7 FROM was WHERE was.new_value IS NOT NULL
    ON CONFLICT ON CONSTRAINT variable_key DO UPDATE SET value = EXCLUDED.value, revision = variable.revision + 1, updated_at = EXCLUDED.updated_at;

-- name: page_place
-- A page, its floor, and the branch that shows it, as a fork would find it. $1 page id
SELECT p.no, p.kind, p.active, f.no, f.state, f.floor_seq, f.segment_no, g.shared_upto, b.no, s.no, f.id, s.id, p.page_seq, p.version, p.state,
       EXISTS (SELECT FROM run r WHERE r.account_no = acct() AND r.floor_no = f.no AND r.state = 'running')
  FROM page p
  JOIN floor f ON f.account_no = acct() AND f.no = p.floor_no
  JOIN session s ON s.account_no = acct() AND s.no = f.session_no AND s.deleted_at IS NULL
  JOIN segment g ON g.account_no = acct() AND g.no = f.segment_no
  LEFT JOIN LATERAL (
	SELECT b.no FROM branch b
	 WHERE b.account_no = acct() AND b.session_no = s.no
	   AND EXISTS (SELECT FROM unnest(b.segs, b.his) r (seg, hi) WHERE r.seg = f.segment_no AND r.hi >= f.floor_seq)
	 ORDER BY b.segs[cardinality(b.segs)] = f.segment_no DESC, b.no LIMIT 1) b ON true
 WHERE p.account_no = acct() AND p.id = $1 FOR NO KEY UPDATE OF p;

-- name: branch_stand
-- A branch by its name or number, held: whoever changes its head waits. $1 session no, $2 name or null, $3 number
SELECT b.no, b.id, b.segs, b.his, b.head_seq FROM branch b
 WHERE b.account_no = acct() AND b.session_no = $1 AND CASE WHEN $2::text IS NULL THEN b.no = $3 ELSE b.id = $2 END FOR NO KEY UPDATE;

-- name: page_now
-- Behind branch_stand: is the page active, is the floor being generated again. $1 page no
SELECT p.active, EXISTS (SELECT FROM run r WHERE r.account_no = acct() AND r.floor_no = p.floor_no AND r.state = 'running')
  FROM page p WHERE p.account_no = acct() AND p.no = $1;

-- name: page_twin
-- The page of a floor's copy. $1 floor no, $2 kind, $3 page number, $4 version
SELECT p.no, p.id FROM page p WHERE p.account_no = acct() AND p.floor_no = $1 AND p.kind = $2 AND p.page_seq = $3 AND p.version = $4;

-- name: page_neighbour
-- Which page takes the place of one that goes: the one before it, else the one behind it. $1 floor no, $2 kind, $3 page no, $4 page number, $5 version
SELECT p.no FROM page p
 WHERE p.account_no = acct() AND p.floor_no = $1 AND p.kind = $2 AND p.no <> $3 AND p.state = 'committed'
 ORDER BY (p.page_seq, p.version) > ($4, $5), abs(p.page_seq - $4), abs(p.version - $5) LIMIT 1;

-- name: page_compare
-- Two pages of one floor, what they say and how they came about. $1 page id, $2 other page id; one row per page, the first first
SELECT p.id, p.kind, p.page_seq, p.active, p.state, f.id, p.reasoning, p.usage, p.finish_reason, p.model, p.created_at,
       (SELECT string_agg(m.content, E'\n' ORDER BY m.seq) FROM message m WHERE m.account_no = acct() AND m.page_no = p.no AND NOT m.is_hidden),
       (SELECT coalesce(sum(m.token_count), 0) FROM message m WHERE m.account_no = acct() AND m.page_no = p.no AND NOT m.is_hidden),
       t.prompt_digest, t.prompt_mode, p.no
  FROM page p
  JOIN floor f ON f.account_no = acct() AND f.no = p.floor_no
  JOIN session s ON s.account_no = acct() AND s.no = f.session_no AND s.deleted_at IS NULL
  LEFT JOIN turn_record t ON t.account_no = acct() AND t.page_no = p.no
 WHERE p.account_no = acct() AND p.id IN ($1, $2) ORDER BY p.id <> $1;

-- name: page_compare_vars
-- The last value that each of two pages wrote, of each key that one of them wrote. $1 page no, $2 other page no
WITH w AS (
	SELECT DISTINCT ON (c.page_no, c.scope, c.key) c.page_no, c.scope, c.key, c.new_value FROM var_change c
	 WHERE c.account_no = acct() AND c.page_no IN ($1, $2) ORDER BY c.page_no, c.scope, c.key, c.no DESC
)
SELECT coalesce(a.scope, b.scope), coalesce(a.key, b.key), a.key IS NOT NULL, a.new_value, b.key IS NOT NULL, b.new_value
  FROM (SELECT * FROM w WHERE w.page_no = $1) a FULL JOIN (SELECT * FROM w WHERE w.page_no = $2) b ON b.scope = a.scope AND b.key = a.key
 ORDER BY 1, 2;

-- name: page_insert
-- $1 id, $2 floor no, $3 kind, $4 page number, $5 version, $6 active, $7 checksum, $8 now, $9 state
INSERT INTO page (id, floor_no, kind, page_seq, version, active, checksum, state, created_at, updated_at)
SELECT $1, f.no, $3, $4, $5, $6, $7, $9, $8, $8 FROM floor f WHERE f.account_no = acct() AND f.no = $2 RETURNING no;

-- name: page_deactivate
-- The other pages of a kind stop counting. $1 floor no, $2 kind, $3 page no that stays; 0 = none
WITH p AS (
	UPDATE page SET active = false WHERE account_no = acct() AND floor_no = $1 AND kind = $2 AND active AND no <> $3 RETURNING no
)
UPDATE message SET active = false FROM p WHERE message.account_no = acct() AND message.page_no = p.no AND message.active;

-- name: page_activate
-- Its messages count, and its usage is the floor's.
WITH p AS (
	UPDATE page SET active = true, updated_at = $2 WHERE account_no = acct() AND no = $1 RETURNING no, floor_no, kind, usage
), f AS (
	UPDATE floor SET token_in = coalesce((p.usage ->> 'prompt_tokens')::int, 0), token_out = coalesce((p.usage ->> 'completion_tokens')::int, 0)
	  FROM p WHERE floor.account_no = acct() AND floor.no = p.floor_no AND floor.state = 'committed' AND p.kind = 'output' AND p.usage IS NOT NULL
)
UPDATE message SET active = true FROM p WHERE message.account_no = acct() AND message.page_no = p.no;

-- name: page_vars_switch
-- Variable writes of a floor's pages count if their page does. $1 floor no
UPDATE var_change c SET active = p.active FROM page p
 WHERE p.account_no = acct() AND p.floor_no = $1 AND c.account_no = acct() AND c.page_no = p.no AND c.active <> p.active;

-- name: page_vars_settle
-- Behind page_vars_switch: each variable of the branch and of the floor that pages of the floor wrote has its newest value that counts, or none.
-- $1 floor no, $2 branch no, $3 segment, $4 scope id of the branch, $5 session no, $6 branch id, $7 now
WITH k AS (
	SELECT DISTINCT c.scope, c.key, CASE c.scope WHEN 'floor' THEN f.no ELSE $2::bigint END AS scope_no, CASE c.scope WHEN 'floor' THEN f.id ELSE $4::text END AS scope_id
	  FROM floor f
	  JOIN page p ON p.account_no = acct() AND p.floor_no = f.no
	  JOIN var_change c ON c.account_no = acct() AND c.page_no = p.no AND c.scope IN ('branch', 'floor')
	 WHERE f.account_no = acct() AND f.no = $1
), was AS (
	SELECT k.*, c.id, c.new_value
	  FROM k LEFT JOIN LATERAL (
		SELECT c.id, c.new_value FROM var_change c
		 WHERE c.account_no = acct() AND c.segment_no = $3 AND c.active AND c.scope = k.scope AND c.key = k.key AND (k.scope = 'branch' OR c.scope_no = $1)
		 ORDER BY c.floor_seq DESC, c.no DESC LIMIT 1) c ON true
), d AS (
	DELETE FROM variable v USING was WHERE v.account_no = acct() AND v.scope = was.scope AND v.scope_no = was.scope_no AND v.key = was.key
	   AND was.new_value IS NULL
)
INSERT INTO variable (id, scope, scope_no, scope_id, session_no, branch_id, key, value, updated_at)
SELECT was.id, was.scope, was.scope_no, was.scope_id, $5, CASE was.scope WHEN 'branch' THEN $6 END, was.key, was.new_value, $7 FROM was WHERE was.new_value IS NOT NULL
    ON CONFLICT ON CONSTRAINT variable_key DO UPDATE SET value = EXCLUDED.value, revision = variable.revision + 1, updated_at = EXCLUDED.updated_at;

-- name: page_update
-- $1 page no, $2 kind, $3 page number, $4 version, $5 checksum, $6 now; null = unchanged
WITH m AS (
	UPDATE message SET side = CASE $2::text WHEN 'input' THEN 0 WHEN 'mixed' THEN 1 ELSE 2 END WHERE $2::text IS NOT NULL AND account_no = acct() AND page_no = $1
)
UPDATE page SET kind = coalesce($2, kind), page_seq = coalesce($3, page_seq), version = coalesce($4, version), checksum = coalesce($5, checksum), updated_at = $6
 WHERE account_no = acct() AND no = $1;

-- name: page_delete
WITH v AS (
	DELETE FROM variable WHERE account_no = acct() AND scope = 'page' AND scope_no = $1
), c AS (
	DELETE FROM var_change WHERE account_no = acct() AND page_no = $1
)
DELETE FROM page WHERE account_no = acct() AND no = $1;

-- name: message_place
SELECT m.no, p.no, f.no, f.state, m.is_hidden, p.id, m.content FROM message m
  JOIN page p ON p.account_no = acct() AND p.no = m.page_no
  JOIN floor f ON f.account_no = acct() AND f.no = p.floor_no
  JOIN session s ON s.account_no = acct() AND s.no = f.session_no AND s.deleted_at IS NULL
 WHERE m.account_no = acct() AND m.id = $1 FOR UPDATE OF m;

-- name: message_insert
-- $1 id, $2 page id, $3 seq, $4 role, $5 content, $6 format, $7 hidden, $8 source, $9 tokens, $10 now
INSERT INTO message (id, page_no, segment_no, floor_seq, side, seq, active, is_hidden, role, content, content_format, source, token_count, created_at)
SELECT $1, p.no, f.segment_no, f.floor_seq, CASE p.kind WHEN 'input' THEN 0 WHEN 'mixed' THEN 1 ELSE 2 END, $3, p.active, $7, $4, $5, $6, $8, $9, $10
  FROM page p JOIN floor f ON f.account_no = acct() AND f.no = p.floor_no
 WHERE p.account_no = acct() AND p.id = $2 RETURNING no;

-- name: message_update
-- $1 message no, $2 role, $3 content, $4 format, $5 hidden, $6 source, $7 tokens, $8 seq; null = unchanged
UPDATE message SET role = coalesce($2, role), content = coalesce($3, content), sent = CASE WHEN $3::text IS NULL THEN sent END,
       rolls = CASE WHEN $3::text IS NULL THEN rolls END, content_format = coalesce($4, content_format), is_hidden = coalesce($5, is_hidden),
       source = coalesce($6, source), token_count = coalesce($7, token_count), seq = coalesce($8, seq)
 WHERE account_no = acct() AND no = $1;

-- name: message_delete
DELETE FROM message WHERE account_no = acct() AND no = $1;

-- name: message_visibility
-- $1 ids, $2 hidden
WITH want AS (
	SELECT min(i) - 1 AS idx, id FROM unnest($1::text[]) WITH ORDINALITY u (id, i) GROUP BY id
), upd AS (
	UPDATE message m SET is_hidden = $2
	  FROM page p JOIN floor f ON f.account_no = acct() AND f.no = p.floor_no
	  JOIN session s ON s.account_no = acct() AND s.no = f.session_no AND s.deleted_at IS NULL
	 WHERE m.account_no = acct() AND m.id = ANY ($1::text[]) AND p.account_no = acct() AND p.no = m.page_no RETURNING m.id
)
SELECT want.idx, want.id, upd.id IS NOT NULL FROM want LEFT JOIN upd USING (id) ORDER BY want.idx;

-- name: page_changes
-- Variable writes that belong to a page. $1 page id
SELECT s.id, f.id, f.branch_id, c.id, c.key, c.new_value, c.scope, c.source, c.created_at, p.active
  FROM page p
  JOIN floor f ON f.account_no = acct() AND f.no = p.floor_no
  JOIN session s ON s.account_no = acct() AND s.no = f.session_no AND s.deleted_at IS NULL
  LEFT JOIN var_change c ON c.account_no = acct() AND c.page_no = p.no
 WHERE p.account_no = acct() AND p.id = $1 ORDER BY c.no;
