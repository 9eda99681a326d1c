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
       CASE WHEN s.preset_id IS NULL THEN (SELECT p.preset_id FROM active_preset p WHERE p.account_no = acct()) END, b.history_floors
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

-- name: turn_floor
-- A floor that a turn or a look names, and the branch that shows it, as a fork would find it. $1 floor id
SELECT f.no, f.id, f.state, f.floor_seq, f.segment_no, g.shared_upto, s.no, s.id, b.no, b.id, b.segs, b.his, b.head_seq, b.decisions
  FROM floor f
  JOIN segment g ON g.account_no = acct() AND g.no = f.segment_no
  JOIN session s ON s.account_no = acct() AND s.no = f.session_no AND s.deleted_at IS NULL
  CROSS JOIN LATERAL (
	SELECT b.* FROM branch b
	 WHERE b.account_no = acct() AND b.session_no = s.no
	   AND EXISTS (SELECT FROM unnest(b.segs, b.his) r (seg, hi) WHERE r.seg = f.segment_no AND r.hi >= f.floor_seq)
	 ORDER BY b.segs[cardinality(b.segs)] = f.segment_no DESC, b.no LIMIT 1) b
 WHERE f.account_no = acct() AND f.id = $1;

-- name: turn_message
-- A message that is said anew, and its floor. One step after the other: without statistics, as behind a long import, the planner takes a join of
-- them from the wrong end and walks every page of the account. $1 message id
WITH m AS MATERIALIZED (
	SELECT m.role, m.page_no FROM message m WHERE m.account_no = acct() AND m.id = $1
), p AS MATERIALIZED (
	SELECT p.kind, p.active, p.floor_no FROM page p WHERE p.account_no = acct() AND p.no = (SELECT m.page_no FROM m)
), f AS MATERIALIZED (
	SELECT f.id, f.session_no FROM floor f WHERE f.account_no = acct() AND f.no = (SELECT p.floor_no FROM p)
)
SELECT m.role, p.kind, p.active, f.id
  FROM m, p, f
 WHERE EXISTS (SELECT FROM session s WHERE s.account_no = acct() AND s.no = f.session_no AND s.deleted_at IS NULL);

-- name: turn_main_floor
-- The last committed floor of a session's main branch. $1 session no
SELECT f.id
  FROM branch b CROSS JOIN unnest(b.segs, b.his) r (seg, hi)
  CROSS JOIN LATERAL (
	SELECT f.id, f.floor_seq FROM floor f
	 WHERE f.account_no = acct() AND f.segment_no = r.seg AND f.floor_seq <= r.hi AND f.state = 'committed' ORDER BY f.floor_seq DESC LIMIT 1) f
 WHERE b.account_no = acct() AND b.session_no = $1 AND b.id = 'main' ORDER BY f.floor_seq DESC LIMIT 1;

-- name: floor_said
-- What a floor says without its replies, newest first, whether it counts now or failed. $1 floor no
SELECT m.no, m.floor_seq, m.role, m.name, m.content, m.sent, m.token_count, m.id, m.rolls, m.is_hidden
  FROM page p JOIN message m ON m.account_no = acct() AND m.page_no = p.no
 WHERE p.account_no = acct() AND p.floor_no = $1 AND p.active AND p.kind <> 'output'
 ORDER BY m.side DESC, m.page_no DESC, m.seq DESC;

-- name: floor_vars_before
-- What the branch's variables would be had the active pages of its head floor written nothing; of the keys that they wrote. What was written to another
-- branch's segment since this one forked from it does not count. $1 floor no, $2 its segment, $3 floor number, $4 the branch's own segment, $5 branch no
WITH mine AS (
	SELECT DISTINCT c.key FROM page p JOIN var_change c ON c.account_no = acct() AND c.page_no = p.no AND c.active AND c.scope = 'branch'
	 WHERE p.account_no = acct() AND p.floor_no = $1
)
SELECT mine.key, v.new_value
  FROM mine LEFT JOIN LATERAL (
	SELECT c.new_value FROM var_change c
	 WHERE c.account_no = acct() AND c.segment_no IN ($2, $4) AND c.active AND c.scope = 'branch' AND c.key = mine.key
	   AND CASE WHEN c.segment_no <> $2 THEN c.source <> 'fork'
	            WHEN c.floor_seq = $3 THEN $2 = $4 OR c.created_at <= coalesce((SELECT b.created_at FROM branch b WHERE b.account_no = acct() AND b.no = $5), c.created_at)
	            ELSE c.floor_seq < $3 END
	   AND (c.page_no IS NULL OR c.page_no NOT IN (SELECT p.no FROM page p WHERE p.account_no = acct() AND p.floor_no = $1))
	 ORDER BY c.segment_no = $2, c.floor_seq DESC, c.no DESC LIMIT 1) v ON true;

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
-- $19 what the prompt made of the message or null, $20 results of its chance macros or null, $21 floors that filled the context
WITH b AS (
	UPDATE branch SET head_seq = $4, his[cardinality(his)] = $4, history_floors = $21, revision = revision + 1, updated_at = $18
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
-- All of it or nothing, with the record of how the page came about. No row: the run was ended by somebody else (its floor with it) or the head has
-- moved, nothing is written. Of a floor that is made again, turn_switch stands in front.
-- $1 branch no, $2 floor number, $3 run no, $4 floor no, $5 page id, $6 segment, $7 message id, $8 text,
-- $9 persisted text or null, $10 tokens, $11 reasoning, $12 summaries, $13 usage, $14 finish reason, $15 model, $16 token_in, $17 token_out,
-- $18 now, $19 phase_seq, $20 session id, $21 page number, $22 preset version, $23 worldbook versions, $24 regex versions, $25 character document,
-- $26 user document, $27 seed, $28 clock, $29 prompt mode, $30 policy, $31 activated, $32 digest, $33 token estimate, $34 snapshot, $35 explain,
-- $36 digest of the frame, $37 frame, $38 inputs, $39 digest of the request, $40 session no, $41 the request if it is kept
WITH r AS (
	UPDATE run SET state = 'completed', phase = 'transaction_committed', phase_seq = $19, updated_at = $18, completed_at = $18
	 WHERE account_no = acct() AND no = $3 AND state = 'running'
	   AND EXISTS (SELECT FROM branch b WHERE b.account_no = acct() AND b.no = $1 AND b.head_seq = $2) RETURNING no
), f AS (
	UPDATE floor SET state = 'committed', token_in = $16, token_out = $17, committed_at = coalesce(committed_at, $18), updated_at = $18
	  FROM r WHERE account_no = acct() AND floor.no = $4 RETURNING floor.no
), p AS (
	INSERT INTO page (id, floor_no, kind, page_seq, active, reasoning, summaries, usage, finish_reason, model, run_no, created_at, updated_at)
	SELECT $5, f.no, 'output', $21, true, $11, $12, $13, $14, $15, $3, $18, $18 FROM f RETURNING no
), m AS (
	INSERT INTO message (id, page_no, segment_no, floor_seq, side, seq, active, role, content, sent, source, token_count, created_at)
	SELECT $7, p.no, $6, $2, 2, 0, true, 'assistant', $8, $9, 'model', $10, $18 FROM p
), fr AS (
	INSERT INTO turn_frame (session_no, digest, body) SELECT $40, decode($36, 'hex'), $37 FROM p
	 WHERE NOT EXISTS (SELECT FROM turn_frame o WHERE o.account_no = acct() AND o.session_no = $40 AND o.digest = decode($36, 'hex'))
	    ON CONFLICT ON CONSTRAINT turn_frame_key DO UPDATE SET digest = EXCLUDED.digest RETURNING no
), t AS (
	INSERT INTO turn_record (page_no, preset_version, worldbook_versions, regex_versions, character_doc, user_doc, seed, clock, prompt_mode,
		policy, activated, prompt_digest, token_estimate, snapshot, explain, frame_no, inputs, request_digest, request, created_at)
	SELECT p.no, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35,
	       coalesce((SELECT fr.no FROM fr),
	                (SELECT o.no FROM turn_frame o WHERE o.account_no = acct() AND o.session_no = $40 AND o.digest = decode($36, 'hex'))),
	       $38, $39, $41, $18 FROM p
), e AS (
	INSERT INTO event (session_id, name, data, created_at)
	SELECT $20, 'floor.committed', json_build_object('runNo', $3, 'pageNo', p.no), $18 FROM p
)
SELECT p.no FROM p;

-- name: turn_again
-- A run that makes another output page of the branch's head floor. The floor stays what it is, committed or failed, until the page is there.
-- No row: the head moved, another branch sees it by now, or it is not done. Holds the segment: whoever forks waits, and then sees the run.
-- $1 session no, $2 branch no, $3 segment, $4 floor number, $5 run id, $6 type, $7 lease until, $8 worker, $9 on_disconnect, $10 config, $11 now,
-- $12 bytes of the reply that goes on
INSERT INTO run (id, session_no, branch_no, floor_no, type, state, phase, lease_until, worker, on_disconnect, config, said_from, started_at, updated_at)
SELECT $5, $1, b.no, f.no, $6, 'running', 'input_recorded', $7, $8, $9, $10, $12, $11, $11
  FROM branch b
  JOIN segment g ON g.account_no = acct() AND g.no = $3 AND g.shared_upto < $4
  JOIN floor f ON f.account_no = acct() AND f.segment_no = $3 AND f.floor_seq = $4 AND f.state IN ('committed', 'failed')
 WHERE b.account_no = acct() AND b.no = $2 AND b.head_seq = $4 FOR SHARE OF g
RETURNING no, floor_no, (SELECT f.id FROM floor f WHERE f.account_no = acct() AND f.no = run.floor_no),
          (SELECT 1 + coalesce(max(p.page_seq), 0) FROM page p WHERE p.account_no = acct() AND p.floor_no = run.floor_no),
          (SELECT p.no FROM page p WHERE p.account_no = acct() AND p.floor_no = run.floor_no AND p.kind = 'output' AND p.active);

-- name: turn_switch
-- In front of turn_commit, when a floor is made again: the page that counted counts no more, and what a failed floor said counts again. Holds run and
-- branch, so that turn_commit decides as this does. $1 run no, $2 branch no, $3 floor number, $4 floor no
WITH r AS (
	SELECT no FROM run WHERE account_no = acct() AND no = $1 AND state = 'running' FOR UPDATE
), b AS (
	SELECT branch.no FROM branch, r WHERE branch.account_no = acct() AND branch.no = $2 AND branch.head_seq = $3 FOR UPDATE OF branch
), old AS (
	UPDATE page SET active = false FROM b WHERE account_no = acct() AND floor_no = $4 AND kind = 'output' AND active RETURNING page.no
), om AS (
	UPDATE message SET active = false FROM old WHERE account_no = acct() AND page_no = old.no AND message.active
), ov AS (
	UPDATE var_change SET active = false FROM old WHERE account_no = acct() AND page_no = old.no AND var_change.active
)
UPDATE message SET active = true FROM b, page p
 WHERE p.account_no = acct() AND p.floor_no = $4 AND p.kind <> 'output' AND p.active
   AND message.account_no = acct() AND message.page_no = p.no AND NOT message.active;

-- name: page_vars_carry
-- Behind turn_commit, when a reply goes on: what the page before it wrote counts for this one too; copied, so that the old page keeps its own.
-- $1 old page no, $2 new page id
INSERT INTO var_change (id, session_no, segment_no, floor_seq, page_no, scope, scope_no, key, path, new_value, source, detail, created_at)
SELECT c.id, c.session_no, c.segment_no, c.floor_seq, p.no, c.scope, c.scope_no, c.key, c.path, c.new_value, c.source, c.detail, c.created_at
  FROM page p JOIN var_change c ON c.account_no = acct() AND c.page_no = $1 WHERE p.account_no = acct() AND p.id = $2 ORDER BY c.no;

-- name: floor_copy
-- The head of a branch that other branches show, as a floor of its own: in a new segment, with pages, messages and what they wrote
-- (dryrun 3.2 rule 4). The branch's values stay as they are; the segment's log begins with what they were before the floor. No row: the head has moved.
-- $1 branch no, $2 floor no, $3 id of the copy, $4 beginning of the other ids, $5 now
WITH s AS (
	SELECT f.*, b.id AS of_branch FROM floor f JOIN branch b ON b.account_no = acct() AND b.no = $1 AND b.head_seq = f.floor_seq
	 WHERE f.account_no = acct() AND f.no = $2
), g AS (
	INSERT INTO segment (session_no) SELECT s.session_no FROM s RETURNING no
), kept AS (
	SELECT array_agg(u.seg ORDER BY u.i) AS segs, array_agg(least(u.hi, s.floor_seq - 1) ORDER BY u.i) AS his
	  FROM s, branch b CROSS JOIN unnest(b.segs, b.his) WITH ORDINALITY u (seg, hi, i)
	 WHERE b.account_no = acct() AND b.no = $1 AND coalesce(b.his[u.i - 1], -1) < least(u.hi, s.floor_seq - 1)
), b AS (
	UPDATE branch SET segs = coalesce(kept.segs, '{}') || g.no, his = coalesce(kept.his, '{}') || s.floor_seq, revision = branch.revision + 1, updated_at = $5
	  FROM s, g, kept WHERE branch.account_no = acct() AND branch.no = $1 AND branch.head_seq = s.floor_seq RETURNING branch.no
), f AS (
	INSERT INTO floor (id, session_no, segment_no, floor_seq, branch_id, parent_id, state, token_in, token_out, committed_at, created_at, updated_at)
	SELECT $3, s.session_no, g.no, s.floor_seq, s.of_branch, s.parent_id, s.state, s.token_in, s.token_out, s.committed_at, s.created_at, $5 FROM s, g, b
	RETURNING no, segment_no, floor_seq, session_no
), op AS (
	SELECT p.*, $4 || lpad(to_hex(row_number() OVER (ORDER BY p.no)), 4, '0') AS new_id FROM page p WHERE p.account_no = acct() AND p.floor_no = $2
), p AS (
	INSERT INTO page (id, floor_no, kind, page_seq, version, active, state, checksum, reasoning, summaries, usage, finish_reason, model, error, created_at, updated_at)
	SELECT op.new_id, f.no, op.kind, op.page_seq, op.version, op.active, op.state, op.checksum, op.reasoning, op.summaries, op.usage, op.finish_reason, op.model,
	       op.error, op.created_at, op.updated_at FROM op, f ORDER BY op.no RETURNING no, id
), pair AS (
	SELECT op.no AS old, p.no AS new, p.id FROM op JOIN p ON p.id = op.new_id
), m AS (
	INSERT INTO message (id, page_no, segment_no, floor_seq, side, seq, active, is_hidden, role, name, content, sent, rolls, content_format, source, token_count, created_at)
	SELECT $4 || lpad(to_hex(row_number() OVER (ORDER BY m.no)), 4, '0'), pair.new, f.segment_no, m.floor_seq, m.side, m.seq, m.active, m.is_hidden, m.role, m.name,
	       m.content, m.sent, m.rolls, m.content_format, m.source, m.token_count, m.created_at
	  FROM f, pair JOIN message m ON m.account_no = acct() AND m.page_no = pair.old ORDER BY m.no
), own AS (
	INSERT INTO variable (id, scope, scope_no, scope_id, session_no, key, value, updated_at)
	SELECT $4 || lpad(to_hex(row_number() OVER (ORDER BY v.no)), 4, '0'), v.scope, v.new_no, v.new_id, v.session_no, v.key, v.value, v.updated_at
	  FROM (SELECT v.*, f.no AS new_no, $3 AS new_id FROM f, variable v WHERE v.account_no = acct() AND v.scope = 'floor' AND v.scope_no = $2
	        UNION ALL
	        SELECT v.*, pair.new, pair.id FROM pair JOIN variable v ON v.account_no = acct() AND v.scope = 'page' AND v.scope_no = pair.old) v
)
SELECT f.no, f.segment_no FROM f;

-- name: floor_copy_records
-- Behind floor_copy: how the pages came about. What was recorded names the copied messages from now on, so that it can be made again when the old floor
-- is gone. A row for each message: its number, then number and id of its copy. $1 floor no, $2 of the copy
WITH RECURSIVE pair AS (
	SELECT p.no AS old, n.no AS new FROM page p
	  JOIN page n ON n.account_no = acct() AND n.floor_no = $2 AND n.kind = p.kind AND n.page_seq = p.page_seq AND n.version = p.version
	 WHERE p.account_no = acct() AND p.floor_no = $1
), twin AS (
	SELECT row_number() OVER (ORDER BY m.no) AS i, m.no, m.id, n.no AS new_no, n.id AS new_id
	  FROM pair
	  JOIN message m ON m.account_no = acct() AND m.page_no = pair.old
	  JOIN message n ON n.account_no = acct() AND n.page_no = pair.new AND n.seq = m.seq
), named (page_no, i, inputs) AS (
	SELECT t.page_no, 0::bigint, t.inputs COLLATE "C" FROM pair JOIN turn_record t ON t.account_no = acct() AND t.page_no = pair.old
	UNION ALL
	SELECT named.page_no, twin.i, regexp_replace(regexp_replace(replace(named.inputs, '"' || twin.id || '"', '"' || twin.new_id || '"'),
	       '("before":[[](?:[[][^]]*[]],)*[[])' || twin.no || ',', chr(92) || '1' || twin.new_no || ','),
	       '("hidden":[[](?:[0-9]+,)*)' || twin.no || '([],])', chr(92) || '1' || twin.new_no || chr(92) || '2')
	  FROM named JOIN twin ON twin.i = named.i + 1
), t AS (
	INSERT INTO turn_record (page_no, preset_version, worldbook_versions, regex_versions, character_doc, user_doc, seed, clock, prompt_mode,
		policy, activated, prompt_digest, token_estimate, snapshot, explain, frame_no, inputs, request_digest, request, created_at)
	SELECT pair.new, t.preset_version, t.worldbook_versions, t.regex_versions, t.character_doc, t.user_doc, t.seed, t.clock, t.prompt_mode,
	       t.policy, t.activated, t.prompt_digest, t.token_estimate, t.snapshot, t.explain, t.frame_no,
	       (SELECT named.inputs FROM named WHERE named.page_no = t.page_no ORDER BY named.i DESC LIMIT 1), t.request_digest, t.request, t.created_at
	  FROM pair JOIN turn_record t ON t.account_no = acct() AND t.page_no = pair.old
)
SELECT twin.no, twin.new_no, twin.new_id FROM twin;

-- name: floor_copy_vars
-- Behind floor_copy: the log of the new segment, in the order in which it counts: what the branch's values were as the floor began, what the pages
-- of the floor wrote, what was written since. The values themselves stay. $1 branch no, $2 floor no, $3 of the copy, $4 beginning of the ids, $5 now,
-- $6 the segment that was the branch's own: what clients wrote in it goes along, if it had no floor
WITH s AS (
	SELECT f.segment_no, f.floor_seq FROM floor f WHERE f.account_no = acct() AND f.no = $2
), f AS (
	SELECT f.no, f.segment_no, f.floor_seq, f.session_no FROM floor f WHERE f.account_no = acct() AND f.no = $3
), pair AS (
	SELECT p.no AS old, n.no AS new FROM page p
	  JOIN page n ON n.account_no = acct() AND n.floor_no = $3 AND n.kind = p.kind AND n.page_seq = p.page_seq AND n.version = p.version
	 WHERE p.account_no = acct() AND p.floor_no = $2
), mine AS (
	SELECT DISTINCT c.key FROM pair JOIN var_change c ON c.account_no = acct() AND c.page_no = pair.old AND c.scope = 'branch'
), at AS (
	SELECT c.no, pair.new, c.active, c.scope, c.scope_no, c.key, c.path, c.new_value, c.source, c.detail, c.created_at
	  FROM pair JOIN var_change c ON c.account_no = acct() AND c.page_no = pair.old
	UNION ALL
	SELECT c.no, NULL, true, c.scope, c.scope_no, c.key, c.path, c.new_value, c.source, c.detail, c.created_at
	  FROM s, mine JOIN var_change c ON c.account_no = acct() AND c.key = mine.key AND c.active AND c.scope = 'branch' AND c.page_no IS NULL
	  JOIN branch b ON b.account_no = acct() AND b.no = $1
	 WHERE c.segment_no = s.segment_no AND c.floor_seq = s.floor_seq AND ($6 = s.segment_no OR c.created_at <= b.created_at)
), wrote AS (
	SELECT mine.key, at.new_value FROM mine LEFT JOIN LATERAL (
		SELECT at.new_value FROM at WHERE at.key = mine.key AND at.scope = 'branch' AND at.active ORDER BY at.no DESC LIMIT 1) at ON true
), cur AS (
	SELECT v.key, v.value FROM variable v WHERE v.account_no = acct() AND v.scope = 'branch' AND v.scope_no = $1
), began AS (
	SELECT wrote.key, v.new_value FROM s, wrote CROSS JOIN LATERAL (
		SELECT c.new_value FROM var_change c
		 WHERE c.account_no = acct() AND c.segment_no = s.segment_no AND c.active AND c.scope = 'branch' AND c.key = wrote.key AND c.floor_seq < s.floor_seq
		 ORDER BY c.floor_seq DESC, c.no DESC LIMIT 1) v WHERE v.new_value IS NOT NULL
	UNION ALL
	SELECT cur.key, cur.value FROM cur WHERE NOT EXISTS (SELECT FROM wrote WHERE wrote.key = cur.key)
), log AS (
	SELECT 0 AS part, 0::bigint AS no, f.floor_seq - 1 AS floor_seq, NULL::bigint AS page_no, true AS active, 'branch' AS scope, $1 AS scope_no, began.key,
	       NULL::text AS path, began.new_value, 'fork' AS source, NULL::json AS detail, $5 AS created_at FROM f, began
	UNION ALL
	SELECT 1, at.no, f.floor_seq, at.new, at.active, at.scope, CASE at.scope WHEN 'branch' THEN $1 WHEN 'floor' THEN f.no WHEN 'page' THEN at.new ELSE at.scope_no END, at.key,
	       at.path, at.new_value, at.source, at.detail, at.created_at FROM f, at
	UNION ALL
	SELECT 2, 0, f.floor_seq, NULL, true, 'branch', $1, wrote.key, NULL, cur.value, 'fork', NULL, $5
	  FROM f, wrote LEFT JOIN cur ON cur.key = wrote.key WHERE cur.value IS DISTINCT FROM wrote.new_value
), moved AS (
	UPDATE var_change SET segment_no = f.segment_no FROM s, f
	 WHERE var_change.account_no = acct() AND var_change.segment_no = $6 AND $6 <> s.segment_no AND var_change.source <> 'fork'
)
INSERT INTO var_change (id, session_no, segment_no, floor_seq, page_no, active, scope, scope_no, key, path, new_value, source, detail, created_at)
SELECT $4 || lpad(to_hex(row_number() OVER (ORDER BY log.part, log.no, log.key)), 4, '0'), f.session_no, f.segment_no, log.floor_seq, log.page_no, log.active, log.scope,
       log.scope_no, log.key, log.path, log.new_value, log.source, log.detail, log.created_at FROM f, log ORDER BY log.part, log.no, log.key;

-- name: turn_decisions
-- Timers and answers of decision statements as this turn leaves them; nothing if the page $3 is not there.
UPDATE branch SET decisions = $2 WHERE account_no = acct() AND no = $1 AND EXISTS (SELECT FROM page p WHERE p.account_no = acct() AND p.id = $3);

-- name: run_text_drop
-- A statement of its own behind the one that ended the run: that one may have waited for the persister, whose text its snapshot does not show.
DELETE FROM run_text WHERE account_no = acct() AND run_no = $1;

-- name: turn_stored
-- What the assembly made of messages when they were first sent, kept beside them; tokens -1 = as they were counted. $1 = [{no,sent,tokens,rolls}].
UPDATE message m SET sent = coalesce(x.sent, m.sent), token_count = CASE WHEN x.tokens >= 0 THEN x.tokens ELSE m.token_count END, rolls = x.rolls
  FROM json_to_recordset($1) AS x (no bigint, sent text, tokens int, rolls json)
 WHERE m.account_no = acct() AND m.no = x.no;

-- name: turn_outcome
SELECT r.state = 'completed' FROM run r WHERE r.account_no = acct() AND r.no = $1;

-- name: turn_fail
-- The run ends; a floor that was being made fails with it, its message no longer counts; what had been said is kept on a failed page.
-- $1 run no, $2 floor no, $3 state (failed | cancelled), $4 error, $5 now, $6 phase_seq, $7 page id, $8 partial text, $9 message id, $10 segment, $11 floor number, $12 session id,
-- $13 partial reasoning or null
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
	INSERT INTO page (id, floor_no, kind, page_seq, active, state, reasoning, error, run_no, created_at, updated_at)
	SELECT $7, $2, 'output', 1 + (SELECT coalesce(max(page_seq), 0) FROM page WHERE account_no = acct() AND floor_no = $2), false, 'failed', $13, $4, $1, $5, $5 FROM r
	 WHERE $8::text <> '' RETURNING no
), m AS (
	INSERT INTO message (id, page_no, segment_no, floor_seq, side, seq, active, role, content, source, created_at)
	SELECT $9, p.no, $10, $11, 2, 0, false, 'assistant', $8, 'model', $5 FROM p
), e AS (
	INSERT INTO event (session_id, name, data, created_at)
	SELECT $12, CASE WHEN f.no IS NULL THEN 'run.failed' ELSE 'floor.failed' END, json_build_object('runNo', $1), $5 FROM r LEFT JOIN f ON true
)
SELECT no FROM r;
