-- What a turn reads and writes. Two units: open (before the model) and commit (after it), or fail.

-- name: turn_session
-- Everything that one row can say: the session, its branch, the account's settings, what runs now. $3: how many turns of the account run is asked.
SELECT s.no, s.status, s.prompt_mode, s.model_provider, s.model_name, s.model_params, s.settings, s.policy, s.preset_choices,
       s.preset_id, s.preset_version_id, s.worldbook_profile_id, s.worldbook_version_id, s.regex_profile_id,
       s.regex_profile_version_id, s.deep_binding, s.character_id, s.character_version_id, s.character_doc, s.user_doc, s.user_name,
       s.metadata, b.no, b.segs, b.his, b.head_seq, b.policy, a.settings,
       CASE WHEN $3 THEN (SELECT count(*) FROM run r WHERE r.account_no = acct() AND r.state = 'running') END,
       EXISTS (SELECT FROM run r WHERE r.account_no = acct() AND r.branch_no = b.no AND r.state = 'running'),
       b.decisions,
       CASE WHEN s.preset_id IS NULL THEN (SELECT p.preset_id FROM active_preset p WHERE p.account_no = acct()) END
  FROM session s
  JOIN account a ON a.no = acct()
  LEFT JOIN branch b ON b.account_no = acct() AND b.session_no = s.no AND b.id = $2
 WHERE s.account_no = acct() AND s.id = $1 AND s.deleted_at IS NULL;

-- name: asset_resolve
-- The version in force of an asset, or the pinned one; deleted assets keep answering (a missing one never breaks a turn).
SELECT a.id, a.name, a.updated_at, a.deleted_at, v.no, v.id, v.version_no, v.content_hash
  FROM asset a
  JOIN asset_version v ON v.account_no = acct() AND v.asset_no = a.no
   AND v.no = coalesce((SELECT p.no FROM asset_version p WHERE p.account_no = acct() AND p.id = $3 AND p.asset_no = a.no), a.head_no)
 WHERE a.account_no = acct() AND a.kind = $1 AND a.id = $2;

-- name: asset_version_doc
-- A version's document: its body, and its entries joined by commas.
SELECT d.body,
       (SELECT string_agg(e.body, ',' ORDER BY u.i)
          FROM unnest(v.parts) WITH ORDINALITY u (no, i)
          JOIN document e ON e.account_no = acct() AND e.no = u.no)
  FROM asset_version v
  JOIN document d ON d.account_no = acct() AND d.no = v.body_no
 WHERE v.account_no = acct() AND v.no = $1;

-- name: message_range
-- Messages that count, newest first, of one range of one segment; of hidden ones only that they are there.
SELECT m.no, m.floor_seq, m.role, m.name, CASE WHEN NOT m.is_hidden THEN m.content END, CASE WHEN NOT m.is_hidden THEN m.sent END,
       m.token_count, m.id, m.rolls, m.is_hidden
  FROM message m
 WHERE m.account_no = acct() AND m.segment_no = $1 AND m.active AND m.floor_seq > $2 AND m.floor_seq <= $3
 ORDER BY m.floor_seq DESC, m.side DESC, m.page_no DESC, m.seq DESC;

-- name: message_users_range
-- How many messages of users are in one range of one segment, of those on floor $4 and later only hidden ones.
SELECT count(*)
  FROM message m
 WHERE m.account_no = acct() AND m.segment_no = $1 AND m.active AND m.floor_seq > $2 AND m.floor_seq <= $3 AND m.role = 'user'
   AND (m.is_hidden OR m.floor_seq < $4);

-- name: floor_ids_range
-- Ids of floors, newest first, of one range of one segment.
SELECT f.floor_seq, f.id FROM floor f
 WHERE f.account_no = acct() AND f.segment_no = $1 AND f.floor_seq > $2 AND f.floor_seq <= $3 ORDER BY f.floor_seq DESC;

-- name: turn_source_floor
-- A floor of the session as the place of a look, and the branch that shows it, as a fork would find it. $1 session no, $2 floor id
SELECT f.floor_seq, f.state, f.segment_no, b.no, b.id, b.segs, b.his
  FROM floor f
  CROSS JOIN LATERAL (
	SELECT b.* FROM branch b
	 WHERE b.account_no = acct() AND b.session_no = $1
	   AND EXISTS (SELECT FROM unnest(b.segs, b.his) r (seg, hi) WHERE r.seg = f.segment_no AND r.hi >= f.floor_seq)
	 ORDER BY b.segs[cardinality(b.segs)] = f.segment_no DESC, b.no LIMIT 1) b
 WHERE f.account_no = acct() AND f.id = $2 AND f.session_no = $1;

-- name: lore_past_range
-- What committed floors activated, newest first: the timed effects of lore are a function of it.
SELECT f.floor_seq, t.activated
  FROM floor f
  JOIN page p ON p.account_no = acct() AND p.floor_no = f.no AND p.kind = 'output' AND p.active
  JOIN turn_record t ON t.account_no = acct() AND t.page_no = p.no
 WHERE f.account_no = acct() AND f.segment_no = $1 AND f.floor_seq > $2 AND f.floor_seq <= $3 AND f.state = 'committed'
 ORDER BY f.floor_seq DESC;

-- name: turn_variables
-- All values that an assembly may read: global, of the chat, of the branch.
SELECT v.scope, v.key, v.value
  FROM variable v
 WHERE v.account_no = acct()
   AND ((v.scope = 'global' AND v.scope_no = 0) OR (v.scope = 'chat' AND v.scope_no = $1) OR (v.scope = 'branch' AND v.scope_no = $2));

-- name: turn_open
-- Floor, input page, the user's message as typed, the run; the branch's head moves to the new floor. No row: the head had moved, nothing is written.
-- $1 session no, $2 branch no, $3 segment, $4 floor number, $5 floor id, $6 branch id, $7 segment of the floor before, $8 page id,
-- $9 message id, $10 text, $11 tokens, $12 run id, $13 type, $14 lease until, $15 worker, $16 on_disconnect, $17 config, $18 now,
-- $19 what the prompt made of the message or null, $20 results of its chance macros or null
WITH b AS (
	UPDATE branch SET head_seq = $4, his[cardinality(his)] = $4, revision = revision + 1, updated_at = $18
	 WHERE account_no = acct() AND no = $2 AND head_seq = $4 - 1 RETURNING no
), f AS (
	INSERT INTO floor (id, session_no, segment_no, floor_seq, branch_id, parent_id, state, created_at, updated_at)
	SELECT $5, $1, $3, $4, $6, (SELECT p.id FROM floor p WHERE p.account_no = acct() AND p.segment_no = $7 AND p.floor_seq = $4 - 1),
	       'generating', $18, $18 FROM b RETURNING no
), p AS (
	INSERT INTO page (id, floor_no, kind, page_seq, active, created_at, updated_at)
	SELECT $8, f.no, 'input', 0, true, $18, $18 FROM f RETURNING no
), m AS (
	INSERT INTO message (id, page_no, segment_no, floor_seq, side, seq, active, role, content, sent, rolls, source, token_count, created_at)
	SELECT $9, p.no, $3, $4, 0, 0, true, 'user', $10, $19, $20, 'api', $11, $18 FROM p RETURNING no
), s AS (
	UPDATE session SET updated_at = $18 FROM b WHERE account_no = acct() AND session.no = $1
)
INSERT INTO run (id, session_no, branch_no, floor_no, type, state, phase, lease_until, worker, on_disconnect, config, started_at, updated_at)
SELECT $12, $1, $2, f.no, $13, 'running', 'input_recorded', $14, $15, $16, $17, $18, $18 FROM f, m
RETURNING no, floor_no;

-- name: turn_commit
-- All of it or nothing, with the record of how the page came about. No row: the run or the floor was ended by somebody else, nothing is written.
-- $1 branch no, $2 floor number, $3 run no, $4 floor no, $5 page id, $6 segment, $7 message id, $8 text,
-- $9 persisted text or null, $10 tokens, $11 reasoning, $12 summaries, $13 usage, $14 finish reason, $15 model, $16 token_in, $17 token_out,
-- $18 now, $19 phase_seq, $20 session id, $21 page number, $22 preset version, $23 worldbook versions, $24 regex versions, $25 character document,
-- $26 user document, $27 seed, $28 clock, $29 prompt mode, $30 policy, $31 activated, $32 digest, $33 token estimate, $34 snapshot, $35 explain
WITH r AS (
	UPDATE run SET state = 'completed', phase = 'transaction_committed', phase_seq = $19, updated_at = $18, completed_at = $18
	 WHERE account_no = acct() AND no = $3 AND state = 'running'
	   AND EXISTS (SELECT FROM branch b WHERE b.account_no = acct() AND b.no = $1 AND b.head_seq = $2)
	   AND EXISTS (SELECT FROM floor f WHERE f.account_no = acct() AND f.no = $4 AND f.state = 'generating') RETURNING no
), f AS (
	UPDATE floor SET state = 'committed', token_in = $16, token_out = $17, committed_at = $18, updated_at = $18
	  FROM r WHERE account_no = acct() AND floor.no = $4 AND state = 'generating' RETURNING floor.no, floor.id
), p AS (
	INSERT INTO page (id, floor_no, kind, page_seq, active, reasoning, summaries, usage, finish_reason, model, created_at, updated_at)
	SELECT $5, f.no, 'output', $21, true, $11, $12, $13, $14, $15, $18, $18 FROM f RETURNING no
), m AS (
	INSERT INTO message (id, page_no, segment_no, floor_seq, side, seq, active, role, content, sent, source, token_count, created_at)
	SELECT $7, p.no, $6, $2, 2, 0, true, 'assistant', $8, $9, 'model', $10, $18 FROM p
), t AS (
	INSERT INTO turn_record (page_no, preset_version, worldbook_versions, regex_versions, character_doc, user_doc, seed, clock, prompt_mode,
		policy, activated, prompt_digest, token_estimate, snapshot, explain, created_at)
	SELECT p.no, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $18 FROM p
), e AS (
	INSERT INTO event (session_id, name, data, created_at)
	SELECT $20, 'floor.committed', json_build_object('runNo', $3, 'pageNo', p.no), $18 FROM p
)
SELECT p.no FROM p;

-- name: turn_go_on
-- A run that goes on with the reply of the branch's head floor. No row: the head moved, is not committed, or other branches see it.
-- $1 session no, $2 branch no, $3 segment, $4 floor number, $5 run id, $6 type, $7 lease until, $8 worker, $9 on_disconnect, $10 config, $11 now
INSERT INTO run (id, session_no, branch_no, floor_no, type, state, phase, lease_until, worker, on_disconnect, config, started_at, updated_at)
SELECT $5, $1, b.no, f.no, $6, 'running', 'input_recorded', $7, $8, $9, $10, $11, $11
  FROM branch b
  JOIN segment g ON g.account_no = acct() AND g.no = $3 AND g.shared_upto < $4
  JOIN floor f ON f.account_no = acct() AND f.segment_no = $3 AND f.floor_seq = $4 AND f.state = 'committed'
 WHERE b.account_no = acct() AND b.no = $2 AND b.head_seq = $4
RETURNING no, floor_no, (SELECT f.id FROM floor f WHERE f.account_no = acct() AND f.segment_no = $3 AND f.floor_seq = $4);

-- name: turn_go_on_commit
-- The joined reply as another page of its floor, with the parameters of turn_commit. What the page before it wrote counts for this one too;
-- it is copied, so that the old page keeps its own.
WITH r AS (
	UPDATE run SET state = 'completed', phase = 'transaction_committed', phase_seq = $19, updated_at = $18, completed_at = $18
	 WHERE account_no = acct() AND no = $3 AND state = 'running'
	   AND EXISTS (SELECT FROM branch b WHERE b.account_no = acct() AND b.no = $1 AND b.head_seq = $2)
	   AND EXISTS (SELECT FROM floor f WHERE f.account_no = acct() AND f.no = $4 AND f.state = 'committed') RETURNING no
), f AS (
	UPDATE floor SET token_in = $16, token_out = $17, updated_at = $18 FROM r WHERE account_no = acct() AND floor.no = $4 RETURNING floor.no, floor.id
), old AS (
	UPDATE page SET active = false FROM f WHERE account_no = acct() AND floor_no = f.no AND kind = 'output' AND active RETURNING page.no
), om AS (
	UPDATE message SET active = false FROM old WHERE account_no = acct() AND page_no = old.no AND active RETURNING message.no
), ov AS (
	UPDATE var_change SET active = false FROM old WHERE account_no = acct() AND page_no = old.no AND active
), p AS (
	INSERT INTO page (id, floor_no, kind, page_seq, active, reasoning, summaries, usage, finish_reason, model, created_at, updated_at)
	SELECT $5, f.no, 'output', greatest($21, 1 + (SELECT max(x.page_seq) FROM page x WHERE x.account_no = acct() AND x.floor_no = f.no)), true,
	       $11, $12, $13, $14, $15, $18, $18 FROM f, (SELECT count(*) FROM old) o, (SELECT count(*) FROM om) n RETURNING no
), m AS (
	INSERT INTO message (id, page_no, segment_no, floor_seq, side, seq, active, role, content, sent, source, token_count, created_at)
	SELECT $7, p.no, $6, $2, 2, 0, true, 'assistant', $8, $9, 'model', $10, $18 FROM p
), v AS (
	INSERT INTO var_change (id, session_no, segment_no, floor_seq, page_no, scope, scope_no, key, path, new_value, source, detail, created_at)
	SELECT c.id, c.session_no, c.segment_no, c.floor_seq, p.no, c.scope, c.scope_no, c.key, c.path, c.new_value, c.source, c.detail, c.created_at
	  FROM p, old JOIN var_change c ON c.account_no = acct() AND c.page_no = old.no AND c.active ORDER BY c.no
), t AS (
	INSERT INTO turn_record (page_no, preset_version, worldbook_versions, regex_versions, character_doc, user_doc, seed, clock, prompt_mode,
		policy, activated, prompt_digest, token_estimate, snapshot, explain, created_at)
	SELECT p.no, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $18 FROM p
), e AS (
	INSERT INTO event (session_id, name, data, created_at)
	SELECT $20, 'floor.committed', json_build_object('runNo', $3, 'pageNo', p.no), $18 FROM p
)
SELECT p.no FROM p;

-- name: turn_decisions
-- Timers and answers of decision statements as this turn leaves them; nothing if the page $3 is not there.
UPDATE branch SET decisions = $2 WHERE account_no = acct() AND no = $1 AND EXISTS (SELECT FROM page p WHERE p.account_no = acct() AND p.id = $3);

-- name: run_text_drop
-- A statement of its own behind the one that ended the run: that one may have waited for the persister, whose text its snapshot does not show.
DELETE FROM run_text WHERE account_no = acct() AND run_no = $1;

-- name: turn_stored
-- What the assembly made of messages when they were first sent, kept beside them. $1 = [{no,sent,tokens,rolls}].
UPDATE message m SET sent = x.sent, token_count = x.tokens, rolls = x.rolls
  FROM json_to_recordset($1) AS x (no bigint, sent text, tokens int, rolls json)
 WHERE m.account_no = acct() AND m.no = x.no;

-- name: turn_fail
-- The run ends; a floor that was being made fails with it, its message no longer counts; what had been said is kept on a failed page.
-- $1 run no, $2 floor no, $3 state (failed | cancelled), $4 error, $5 now, $6 phase_seq, $7 page id, $8 partial text, $9 message id, $10 segment, $11 floor number, $12 session id
WITH r AS (
	UPDATE run SET state = $3, error = $4, phase_seq = $6, updated_at = $5, completed_at = $5
	 WHERE account_no = acct() AND no = $1 AND state = 'running' RETURNING no
), f AS (
	UPDATE floor SET state = 'failed', updated_at = $5 FROM r
	 WHERE account_no = acct() AND floor.no = $2 AND state = 'generating' RETURNING floor.no, floor.id
), u AS (
	UPDATE message SET active = false FROM f, page
	 WHERE message.account_no = acct() AND page.account_no = acct() AND page.floor_no = f.no AND message.page_no = page.no AND message.active
), p AS (
	INSERT INTO page (id, floor_no, kind, page_seq, active, state, error, created_at, updated_at)
	SELECT $7, $2, 'output', 1 + (SELECT coalesce(max(page_seq), 0) FROM page WHERE account_no = acct() AND floor_no = $2), false, 'failed', $4, $5, $5 FROM r
	 WHERE $8::text <> '' RETURNING no
), m AS (
	INSERT INTO message (id, page_no, segment_no, floor_seq, side, seq, active, role, content, source, created_at)
	SELECT $9, p.no, $10, $11, 2, 0, false, 'assistant', $8, 'model', $5 FROM p
), e AS (
	INSERT INTO event (session_id, name, data, created_at)
	SELECT $12, CASE WHEN f.no IS NULL THEN 'run.failed' ELSE 'floor.failed' END, json_build_object('runNo', $1), $5 FROM r LEFT JOIN f ON true
)
SELECT no FROM r;
