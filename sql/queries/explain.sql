-- How committed pages came about: explanations and the records that replays start from.

-- name: explain_page
-- One output page of a floor with its record. $1 floor id, $2 page id or null for the active one, $3 session id or null for any
SELECT f.id, s.id, f.floor_seq, f.branch_id, f.parent_id, f.state, f.committed_at,
       p.id, p.summaries, p.usage, p.created_at, m.id, m.content,
       t.snapshot, t.policy, t.explain, t.created_at, t.prompt_mode,
       (SELECT r.verifier FROM run r WHERE r.account_no = acct() AND r.floor_no = f.no AND r.state = 'completed' ORDER BY r.no DESC LIMIT 1),
       (SELECT a.name FROM asset_version v JOIN asset a ON a.account_no = acct() AND a.no = v.asset_no WHERE v.account_no = acct() AND v.no = t.preset_version),
       (SELECT a.name FROM asset_version v JOIN asset a ON a.account_no = acct() AND a.no = v.asset_no WHERE v.account_no = acct() AND v.no = t.worldbook_versions[1]),
       (SELECT a.name FROM asset_version v JOIN asset a ON a.account_no = acct() AND a.no = v.asset_no WHERE v.account_no = acct() AND v.no = t.regex_versions[1]),
       (SELECT d.body FROM document d WHERE d.account_no = acct() AND d.no = t.character_doc),
       t.request_digest, t.request
  FROM floor f
  JOIN session s ON s.account_no = acct() AND s.no = f.session_no AND s.deleted_at IS NULL AND ($3::text IS NULL OR s.id = $3)
  LEFT JOIN page p ON p.account_no = acct() AND p.floor_no = f.no AND p.kind = 'output' AND CASE WHEN $2::text IS NULL THEN p.active ELSE p.id = $2 END
  LEFT JOIN message m ON m.account_no = acct() AND m.page_no = p.no AND m.seq = 0
  LEFT JOIN turn_record t ON t.account_no = acct() AND t.page_no = p.no
 WHERE f.account_no = acct() AND f.id = $1;

-- name: replay_page
-- One output page of a floor with all that its request was made of. $1 floor id, $2 page id or null for the active one
SELECT f.id, s.id, s.no, f.floor_seq, f.branch_id, f.state, f.segment_no, p.id, t.page_no,
       t.preset_version, t.worldbook_versions[1], t.regex_versions[1], t.character_doc, t.user_doc, t.seed, t.clock, t.prompt_mode,
       t.explain, t.inputs, t.request_digest, t.request, fr.body
  FROM floor f
  JOIN session s ON s.account_no = acct() AND s.no = f.session_no AND s.deleted_at IS NULL
  LEFT JOIN page p ON p.account_no = acct() AND p.floor_no = f.no AND p.kind = 'output' AND CASE WHEN $2::text IS NULL THEN p.active ELSE p.id = $2 END
  LEFT JOIN turn_record t ON t.account_no = acct() AND t.page_no = p.no
  LEFT JOIN turn_frame fr ON fr.account_no = acct() AND fr.no = t.frame_no
 WHERE f.account_no = acct() AND f.id = $1;

-- name: replay_pages
-- Pages that turns have made, in the order in which they were made. $1 behind this page number, $2 session id or null for all, $3 at most so many
SELECT t.page_no, f.id, p.id, s.id
  FROM turn_record t
  JOIN page p ON p.account_no = acct() AND p.no = t.page_no
  JOIN floor f ON f.account_no = acct() AND f.no = p.floor_no AND f.state = 'committed'
  JOIN session s ON s.account_no = acct() AND s.no = f.session_no AND s.deleted_at IS NULL AND ($2::text IS NULL OR s.id = $2)
 WHERE t.account_no = acct() AND t.page_no > $1 ORDER BY t.page_no LIMIT $3;

-- name: replay_asset
-- $1 version no
SELECT a.id, a.name, v.id, v.version_no, v.content_hash
  FROM asset_version v JOIN asset a ON a.account_no = acct() AND a.no = v.asset_no
 WHERE v.account_no = acct() AND v.no = $1;

-- name: message_range_all
-- As message_range, hidden ones too: which of them were hidden then, the record of the turn knows.
SELECT m.no, m.floor_seq, m.role, m.name, m.content, m.sent, m.token_count, m.id, m.rolls, false
  FROM message m
 WHERE m.account_no = acct() AND m.segment_no = $1 AND m.active AND m.floor_seq > $2 AND m.floor_seq <= $3
 ORDER BY m.floor_seq DESC, m.side DESC, m.page_no DESC, m.seq DESC;

-- name: replay_messages
-- Messages by their ids, the last first. $1 JSON array of ids
SELECT m.no, m.floor_seq, m.role, m.name, m.content, m.sent, m.token_count, m.id, m.rolls, false
  FROM json_array_elements_text($1::json) WITH ORDINALITY u (id, i)
  JOIN message m ON m.account_no = acct() AND m.id = u.id ORDER BY u.i DESC;

-- name: replay_message
-- What was typed. $1 message id
SELECT m.content FROM message m WHERE m.account_no = acct() AND m.id = $1;
