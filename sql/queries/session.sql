-- Sessions: written through their columns as JSON, so that one statement serves every set of changes.

-- name: session_insert
-- scope: insert
-- The session with its first segment and the branch main. $1 = columns.
WITH s AS (
	INSERT INTO session (id, title, status, prompt_mode, model_provider, model_name, model_params, metadata, settings, preset_choices, preset_id, preset_version_id,
		worldbook_profile_id, worldbook_version_id, regex_profile_id, regex_profile_version_id, deep_binding, character_id, character_version_id,
		character_sync_policy, character_doc, character_name, character_greeting, user_id, user_doc, user_name, created_at, updated_at)
	SELECT x.id, x.title, x.status, x.prompt_mode, x.model_provider, x.model_name, x.model_params, x.metadata, x.settings, x.preset_choices, x.preset_id, x.preset_version_id,
		x.worldbook_profile_id, x.worldbook_version_id, x.regex_profile_id, x.regex_profile_version_id, x.deep_binding, x.character_id,
		x.character_version_id, x.character_sync_policy, x.character_doc, x.character_name, x.character_greeting, x.user_id, x.user_doc, x.user_name,
		x.created_at, x.updated_at
	  FROM json_populate_record(NULL::session, $1) x
	RETURNING no, created_at
), g AS (
	INSERT INTO segment (session_no) SELECT s.no FROM s RETURNING no, session_no
)
INSERT INTO branch (session_no, id, segs, his, created_at, updated_at)
SELECT g.session_no, 'main', ARRAY[g.no], ARRAY[-1], s.created_at, s.created_at FROM g, s
RETURNING session_no, no, segs[1];

-- name: session_revision
-- Held against other writers until the end. $1 id
SELECT s.revision FROM session s WHERE s.account_no = acct() AND s.id = $1 AND s.deleted_at IS NULL FOR NO KEY UPDATE;

-- name: session_update
-- $1 id, $2 = changed columns; absent ones stay.
UPDATE session t SET (title, status, prompt_mode, model_provider, model_name, model_params, metadata, settings, preset_choices, preset_id, preset_version_id,
		worldbook_profile_id, worldbook_version_id, regex_profile_id, regex_profile_version_id, deep_binding, character_id, character_version_id,
		character_sync_policy, character_doc, character_name, character_greeting, user_id, user_doc, user_name, updated_at, revision) =
	(SELECT x.title, x.status, x.prompt_mode, x.model_provider, x.model_name, x.model_params, x.metadata, x.settings, x.preset_choices, x.preset_id, x.preset_version_id,
		x.worldbook_profile_id, x.worldbook_version_id, x.regex_profile_id, x.regex_profile_version_id, x.deep_binding, x.character_id,
		x.character_version_id, x.character_sync_policy, x.character_doc, x.character_name, x.character_greeting, x.user_id, x.user_doc, x.user_name,
		x.updated_at, t.revision + 1
	   FROM json_populate_record(t, $2) x)
 WHERE t.account_no = acct() AND t.id = $1 AND t.deleted_at IS NULL;

-- name: session_tell
-- Listeners are told what was done to a session, in the transaction that did it. $1 id, $2 name of the event, $3 now
INSERT INTO event (session_id, name, data, created_at)
SELECT s.id, $2, json_build_object('sessionId', s.id, 'title', s.title, 'status', s.status, 'updatedAt', s.updated_at), $3
  FROM session s WHERE s.account_no = acct() AND s.id = $1;

-- name: session_batch_status
-- $1 ids, $2 status, $3 now
WITH want AS (
	SELECT min(i) - 1 AS idx, id FROM unnest($1::text[]) WITH ORDINALITY u (id, i) GROUP BY id
), upd AS (
	UPDATE session SET status = $2, updated_at = $3, revision = revision + 1
	 WHERE account_no = acct() AND id = ANY ($1::text[]) AND deleted_at IS NULL RETURNING id, title, status, updated_at
), e AS (
	INSERT INTO event (session_id, name, data, created_at)
	SELECT upd.id, 'session.updated', json_build_object('sessionId', upd.id, 'title', upd.title, 'status', upd.status, 'updatedAt', upd.updated_at), $3
	  FROM want JOIN upd USING (id) ORDER BY want.idx
)
SELECT want.idx, want.id, upd.id IS NOT NULL FROM want LEFT JOIN upd USING (id) ORDER BY want.idx;

-- name: session_batch_delete
-- $1 ids, $2 now
WITH want AS (
	SELECT min(i) - 1 AS idx, id FROM unnest($1::text[]) WITH ORDINALITY u (id, i) GROUP BY id
), gone AS (
	UPDATE session SET deleted_at = $2, updated_at = $2
	 WHERE account_no = acct() AND id = ANY ($1::text[]) AND deleted_at IS NULL RETURNING id, title, status, updated_at
), e AS (
	INSERT INTO event (session_id, name, data, created_at)
	SELECT gone.id, 'session.deleted', json_build_object('sessionId', gone.id, 'title', gone.title, 'status', gone.status, 'updatedAt', gone.updated_at), $2
	  FROM want JOIN gone USING (id) ORDER BY want.idx
)
SELECT want.idx, want.id, gone.id IS NOT NULL FROM want LEFT JOIN gone USING (id) ORDER BY want.idx;

-- name: session_bound
-- What a character sync needs to know.
SELECT s.character_id, s.character_version_id, s.character_sync_policy FROM session s WHERE s.account_no = acct() AND s.id = $1 AND s.deleted_at IS NULL;

-- name: asset_for_binding
-- The version that a session freezes: the pinned one or the head. $1 kind, $2 id, $3 version id or null.
SELECT a.id, a.name, a.deleted_at, v.id, v.body_no, d.body
  FROM asset a
  JOIN asset_version v ON v.account_no = acct() AND v.asset_no = a.no
   AND v.no = CASE WHEN $3::text IS NULL THEN a.head_no ELSE (SELECT p.no FROM asset_version p WHERE p.account_no = acct() AND p.id = $3 AND p.asset_no = a.no) END
  JOIN document d ON d.account_no = acct() AND d.no = v.body_no
 WHERE a.account_no = acct() AND a.kind = $1 AND a.id = $2;

-- name: greeting_insert
-- Floor 0 of a new chat: committed, one output page. $1 session no, $2 branch no, $3 segment, $4 floor id, $5 page id, $6 message id, $7 text,
-- $8 tokens, $9 now
WITH b AS (
	UPDATE branch SET head_seq = 0, his[cardinality(his)] = 0, updated_at = $9 WHERE account_no = acct() AND no = $2 AND head_seq = -1 RETURNING id
), f AS (
	INSERT INTO floor (id, session_no, segment_no, floor_seq, branch_id, state, token_out, committed_at, created_at, updated_at)
	SELECT $4, $1, $3, 0, b.id, 'committed', $8, $9, $9, $9 FROM b RETURNING no
), p AS (
	INSERT INTO page (id, floor_no, kind, page_seq, active, created_at, updated_at)
	SELECT $5, f.no, 'output', 0, true, $9, $9 FROM f RETURNING no
)
INSERT INTO message (id, page_no, segment_no, floor_seq, side, seq, active, role, content, source, token_count, created_at)
SELECT $6, p.no, $3, 0, 2, 0, true, 'assistant', $7, 'greeting', $8, $9 FROM p
RETURNING page_no;

-- name: runtime_session
-- What the prompt-runtime routes show of a session: mode, policies, bindings. $1 id, $2 branch id
SELECT s.prompt_mode, s.policy, b.no, b.policy, s.preset_id, s.preset_version_id, s.worldbook_profile_id, s.worldbook_version_id,
       s.regex_profile_id, s.regex_profile_version_id, s.character_id, s.character_name, s.character_version_id, v.version_no, encode(d.digest, 'hex')
  FROM session s
  LEFT JOIN branch b ON b.account_no = acct() AND b.session_no = s.no AND b.id = $2
  LEFT JOIN asset_version v ON v.account_no = acct() AND v.id = s.character_version_id
  LEFT JOIN document d ON d.account_no = acct() AND d.no = s.character_doc
 WHERE s.account_no = acct() AND s.id = $1 AND s.deleted_at IS NULL;

-- name: policy_hold
-- The stored policies of a session and of one of its branches, held until the end. $1 id, $2 branch id
SELECT s.no, s.policy, b.no, b.policy
  FROM session s LEFT JOIN branch b ON b.account_no = acct() AND b.session_no = s.no AND b.id = $2
 WHERE s.account_no = acct() AND s.id = $1 AND s.deleted_at IS NULL FOR UPDATE OF s;

-- name: session_policy_set
WITH s AS (
	UPDATE session SET policy = $2, updated_at = $3, revision = revision + 1 WHERE account_no = acct() AND no = $1 RETURNING id, title, status, updated_at
)
INSERT INTO event (session_id, name, data, created_at)
SELECT s.id, 'session.updated', json_build_object('sessionId', s.id, 'title', s.title, 'status', s.status, 'updatedAt', s.updated_at), $3 FROM s;

-- name: branch_policy_set
UPDATE branch SET policy = $2, updated_at = $3 WHERE account_no = acct() AND no = $1;

-- name: account_settings
-- scope: system
-- Of the account that was entered; the table itself belongs to nobody.
SELECT a.settings FROM account a WHERE a.no = acct();
