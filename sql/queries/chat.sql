-- Chats as files: an import writes hidden, in batches, and is seen all at once; an export reads by ranges.

-- name: chat_hide
-- A session that is being imported: hidden until $2; whoever finds that time over removes it. $1 session no, $3 origin, $4 policy, $5 created at
UPDATE session SET deleted_at = $2, origin = $3, policy = coalesce($4, policy), created_at = $5 WHERE account_no = acct() AND no = $1;

-- name: chat_hide_longer
-- Between the batches. No row: it was removed. $1 session no, $2 hidden until
UPDATE session SET deleted_at = $2 WHERE account_no = acct() AND no = $1 AND deleted_at IS NOT NULL;

-- name: chat_publish
-- $1 session no, $2 updated at, $3 now
WITH s AS (
	UPDATE session SET deleted_at = NULL, updated_at = $2 WHERE account_no = acct() AND no = $1 AND deleted_at IS NOT NULL RETURNING id, title, status, updated_at
)
INSERT INTO event (session_id, name, data, created_at)
SELECT s.id, 'session.created', json_build_object('sessionId', s.id, 'title', s.title, 'status', s.status, 'updatedAt', s.updated_at), $3 FROM s;

-- name: chat_segments
-- Further segments, in order. $1 session no, $2 how many
INSERT INTO segment (session_no) SELECT s.no FROM session s, generate_series(1, $2::int) WHERE s.account_no = acct() AND s.no = $1 RETURNING no;

-- name: chat_segments_shared
-- $1 segments, $2 up to which floor more than one branch sees them
UPDATE segment SET shared_upto = x.upto FROM unnest($1::bigint[], $2::int[]) AS x (no, upto) WHERE segment.account_no = acct() AND segment.no = x.no;

-- name: chat_branches
-- $1 = [{id, segs, his, head, forked_from, forked_at, policy, decisions}], $2 session no, $3 now
INSERT INTO branch AS b (session_no, id, segs, his, head_seq, forked_from, forked_at, policy, decisions, created_at, updated_at)
SELECT s.no, x.id, x.segs::bigint[], x.his::int[], x.head, x.forked_from, x.forked_at, coalesce(x.policy, '{}'), x.decisions, $3, $3
  FROM json_to_recordset($1) AS x (id text, segs text, his text, head int, forked_from text, forked_at int, policy json, decisions text), session s
 WHERE s.account_no = acct() AND s.no = $2
    ON CONFLICT ON CONSTRAINT branch_id_key DO UPDATE SET segs = EXCLUDED.segs, his = EXCLUDED.his, head_seq = EXCLUDED.head_seq, policy = EXCLUDED.policy,
       decisions = EXCLUDED.decisions, updated_at = EXCLUDED.updated_at
 WHERE b.account_no = acct();

-- name: chat_ids_taken
-- Which of a batch's ids exist already. $1 floor ids, $2 page ids, $3 message ids; $4 floor ids that are looked for in the session $5: told
SELECT 'f', f.id FROM floor f WHERE f.account_no = acct() AND f.id = ANY ($1::text[])
UNION ALL SELECT 'p', p.id FROM page p WHERE p.account_no = acct() AND p.id = ANY ($2::text[])
UNION ALL SELECT 'm', m.id FROM message m WHERE m.account_no = acct() AND m.id = ANY ($3::text[])
UNION ALL SELECT 'told', f.id FROM floor f WHERE f.account_no = acct() AND f.id = ANY ($4::text[]) AND f.session_no = $5;

-- name: chat_floors
-- A batch. $1 floors, $2 pages with their floor's id, $3 messages with their page's id, $4 session no
WITH f AS (
	INSERT INTO floor (id, session_no, segment_no, floor_seq, branch_id, parent_id, state, token_in, token_out, superseded_at, superseded_by, committed_at, origin,
		created_at, updated_at)
	SELECT x.id, s.no, x.segment_no, x.floor_seq, x.branch_id, x.parent_id, x.state, x.token_in, x.token_out, x.superseded_at, x.superseded_by,
	       CASE x.state WHEN 'committed' THEN x.updated_at END, x.origin, x.created_at, x.updated_at
	  FROM json_populate_recordset(NULL::floor, $1) x, session s WHERE s.account_no = acct() AND s.no = $4
	RETURNING no, id, segment_no, floor_seq
), p AS (
	INSERT INTO page (id, floor_no, kind, page_seq, version, active, state, checksum, reasoning, summaries, usage, finish_reason, model, error, origin, created_at,
		updated_at)
	SELECT x.id, f.no, x.kind, x.page_seq, x.version, x.active, x.state, x.checksum, x.reasoning, x.summaries, x.usage, x.finish_reason, x.model, x.error,
	       x.origin, x.created_at, x.updated_at
	  FROM json_to_recordset($2) AS x (floor text, id text, kind text, page_seq int, version int, active boolean, state text, checksum text, reasoning text,
		summaries json, usage json, finish_reason text, model text, error json, origin text, created_at bigint, updated_at bigint)
	  JOIN f ON f.id = x.floor
	RETURNING no, id, floor_no, kind
)
INSERT INTO message (id, page_no, segment_no, floor_seq, side, seq, active, is_hidden, role, name, content, sent, rolls, content_format, source, token_count,
	origin, created_at)
SELECT x.id, p.no, f.segment_no, f.floor_seq, CASE p.kind WHEN 'input' THEN 0 WHEN 'mixed' THEN 1 ELSE 2 END, x.seq, x.active, x.is_hidden, x.role, x.name,
       x.content, x.sent, x.rolls, x.content_format, x.source, x.token_count, x.origin, x.created_at
  FROM json_to_recordset($3) AS x (page text, id text, seq int, active boolean, is_hidden boolean, role text, name text, content text, sent text, rolls json,
	content_format text, source text, token_count int, origin text, created_at bigint)
  JOIN p ON p.id = x.page JOIN f ON f.no = p.floor_no;

-- name: chat_analyze
-- scope: system
-- Reads no row. Behind the first of many batches.
SELECT story_analyze();

-- name: chat_variables
-- $1 = [{id, log, scope, branch, ref, ref_made, key, value, updated_at}], log null = no entry of the log; a floor or page has the id ref, or ref_made if
-- that was taken. $2 session no, $3 session id
WITH s AS (
	SELECT no FROM session WHERE account_no = acct() AND no = $2
), x AS (
	SELECT x.*, s.no AS session_no, b.segs[cardinality(b.segs)] AS segment_no, b.head_seq,
	       CASE x.scope WHEN 'chat' THEN s.no WHEN 'branch' THEN b.no ELSE t.no END AS scope_no,
	       CASE x.scope WHEN 'chat' THEN $3::text WHEN 'branch' THEN 'branch:' || $3::text || ':' || x.branch ELSE t.id END AS scope_id
	  FROM s CROSS JOIN json_to_recordset($1) AS x (id text, log text, scope text, branch text, ref text, ref_made text, key text, value text, updated_at bigint)
	  LEFT JOIN branch b ON b.account_no = acct() AND b.session_no = $2 AND b.id = x.branch
	  LEFT JOIN LATERAL (
		(SELECT f.no, f.id FROM floor f WHERE x.scope = 'floor' AND f.account_no = acct() AND f.id = ANY (ARRAY[x.ref, x.ref_made]) AND f.session_no = $2
		  ORDER BY f.id = x.ref DESC LIMIT 1)
		UNION ALL
		(SELECT p.no, p.id FROM page p JOIN floor f ON f.account_no = acct() AND f.no = p.floor_no AND f.session_no = $2
		  WHERE x.scope = 'page' AND p.account_no = acct() AND p.id = ANY (ARRAY[x.ref, x.ref_made]) ORDER BY p.id = x.ref DESC LIMIT 1)) t ON true
), l AS (
	INSERT INTO var_change (id, session_no, segment_no, floor_seq, scope, scope_no, key, new_value, source, created_at)
	SELECT x.log, x.session_no, x.segment_no, x.head_seq, x.scope, x.scope_no, x.key, x.value, 'import', x.updated_at FROM x
	 WHERE x.log IS NOT NULL AND x.scope_no IS NOT NULL
)
INSERT INTO variable (id, scope, scope_no, scope_id, session_no, branch_id, key, value, updated_at)
SELECT x.id, x.scope, x.scope_no, x.scope_id, x.session_no, CASE x.scope WHEN 'branch' THEN x.branch END, x.key, x.value, x.updated_at FROM x WHERE x.scope_no IS NOT NULL
    ON CONFLICT ON CONSTRAINT variable_key DO UPDATE SET value = EXCLUDED.value, updated_at = EXCLUDED.updated_at;

-- name: chat_log
-- $1 = [{id, scope, branch, ref, ref_made, page, page_made, key, path, value, segment, floor, active, source, detail, created_at}] as in chat_variables,
-- $2 session no
INSERT INTO var_change (id, session_no, segment_no, floor_seq, page_no, active, scope, scope_no, key, path, new_value, source, detail, created_at)
SELECT y.id, s.no, y.segment, y.floor, y.page_no, y.active, y.scope, y.scope_no, y.key, y.path, y.value, y.source, y.detail, y.created_at
  FROM session s, LATERAL (
	SELECT x.*, (SELECT p.no FROM page p JOIN floor f ON f.account_no = acct() AND f.no = p.floor_no AND f.session_no = $2
	              WHERE p.account_no = acct() AND p.id = ANY (ARRAY[x.page, x.page_made]) ORDER BY p.id = x.page DESC LIMIT 1) AS page_no,
	       CASE x.scope WHEN 'chat' THEN s.no WHEN 'branch' THEN (SELECT b.no FROM branch b WHERE b.account_no = acct() AND b.session_no = s.no AND b.id = x.branch)
	            WHEN 'floor' THEN (SELECT f.no FROM floor f WHERE f.account_no = acct() AND f.id = ANY (ARRAY[x.ref, x.ref_made]) AND f.session_no = $2
	                                ORDER BY f.id = x.ref DESC LIMIT 1)
	            WHEN 'page' THEN (SELECT p.no FROM page p JOIN floor f ON f.account_no = acct() AND f.no = p.floor_no AND f.session_no = $2
	                               WHERE p.account_no = acct() AND p.id = ANY (ARRAY[x.ref, x.ref_made]) ORDER BY p.id = x.ref DESC LIMIT 1) END AS scope_no
	  FROM json_to_recordset($1) AS x (id text, scope text, branch text, ref text, ref_made text, page text, page_made text, key text, path text, value text,
		segment bigint, floor int, active boolean, source text, detail json, created_at bigint)) y
 WHERE s.account_no = acct() AND s.no = $2 AND y.scope_no IS NOT NULL;

-- name: chat_head
-- $1 session id
SELECT s.no, s.title, s.status, s.prompt_mode, s.model_provider, s.model_name, s.model_params, s.metadata, s.settings, s.policy, s.preset_choices,
       s.preset_id, s.preset_version_id, s.worldbook_profile_id, s.worldbook_version_id, s.regex_profile_id, s.regex_profile_version_id, s.deep_binding,
       s.character_id, s.character_version_id, s.character_sync_policy, cd.body, s.character_name, s.user_id, ud.body, s.user_name, s.created_at, s.updated_at,
       s.origin, (SELECT a.name FROM asset a WHERE a.account_no = acct() AND a.kind = 'preset' AND a.id = s.preset_id),
       (SELECT max(b.head_seq) + 1 FROM branch b WHERE b.account_no = acct() AND b.session_no = s.no)
  FROM session s
  LEFT JOIN document cd ON cd.account_no = acct() AND cd.no = s.character_doc
  LEFT JOIN document ud ON ud.account_no = acct() AND ud.no = s.user_doc
 WHERE s.account_no = acct() AND s.id = $1 AND s.deleted_at IS NULL;

-- name: chat_export_branches
SELECT b.id, b.segs, b.his, b.head_seq, b.forked_from, b.forked_at, b.policy, b.decisions
  FROM branch b WHERE b.account_no = acct() AND b.session_no = $1 ORDER BY b.no;

-- name: chat_export_segments
SELECT g.no, (SELECT max(f.floor_seq) FROM floor f WHERE f.account_no = acct() AND f.segment_no = g.no)
  FROM segment g WHERE g.account_no = acct() AND g.session_no = $1 ORDER BY g.no;

-- name: chat_export_floors
SELECT f.no, f.id, f.floor_seq, f.branch_id, f.parent_id, f.state, f.token_in, f.token_out, f.superseded_at, f.superseded_by, f.origin, f.created_at, f.updated_at
  FROM floor f WHERE f.account_no = acct() AND f.segment_no = $1 AND f.floor_seq > $2 AND f.floor_seq <= $3 ORDER BY f.floor_seq;

-- name: chat_export_pages
SELECT p.floor_no, p.no, p.id, p.kind, p.page_seq, p.version, p.active, p.state, p.checksum, p.reasoning, p.summaries, p.usage, p.finish_reason, p.model, p.error,
       p.origin, p.created_at, p.updated_at
  FROM floor f JOIN page p ON p.account_no = acct() AND p.floor_no = f.no
 WHERE f.account_no = acct() AND f.segment_no = $1 AND f.floor_seq > $2 AND f.floor_seq <= $3
 ORDER BY f.floor_seq, CASE p.kind WHEN 'input' THEN 0 WHEN 'mixed' THEN 1 ELSE 2 END, p.page_seq, p.version, p.no;

-- name: chat_export_messages
-- In the order of the pages.
SELECT m.page_no, m.id, m.role, m.name, m.content, m.sent, m.rolls, m.content_format, m.source, m.is_hidden, m.origin, m.created_at
  FROM message m JOIN page p ON p.account_no = acct() AND p.no = m.page_no
 WHERE m.account_no = acct() AND m.segment_no = $1 AND m.floor_seq > $2 AND m.floor_seq <= $3
 ORDER BY m.floor_seq, m.side, p.page_seq, p.version, p.no, m.seq;

-- name: chat_export_variables
SELECT v.scope, v.branch_id, v.scope_id, v.key, v.value, v.updated_at
  FROM variable v WHERE v.account_no = acct() AND v.session_no = $1 ORDER BY v.scope, v.branch_id, v.scope_id, v.key;

-- name: chat_export_log
-- $1 session no, $2 behind this number, $3 at most
SELECT c.no, c.scope, CASE c.scope WHEN 'branch' THEN (SELECT b.id FROM branch b WHERE b.account_no = acct() AND b.no = c.scope_no) END,
       CASE c.scope WHEN 'floor' THEN (SELECT f.id FROM floor f WHERE f.account_no = acct() AND f.no = c.scope_no)
            WHEN 'page' THEN (SELECT p.id FROM page p WHERE p.account_no = acct() AND p.no = c.scope_no) END,
       (SELECT p.id FROM page p WHERE p.account_no = acct() AND p.no = c.page_no), c.key, c.path, c.new_value, c.segment_no, c.floor_seq, c.active, c.source,
       c.detail, c.created_at
  FROM var_change c WHERE c.account_no = acct() AND c.session_no = $1 AND c.no > $2 AND c.scope <> 'global' ORDER BY c.no LIMIT $3;
