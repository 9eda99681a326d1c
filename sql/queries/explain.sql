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
       (SELECT d.body FROM document d WHERE d.account_no = acct() AND d.no = t.character_doc)
  FROM floor f
  JOIN session s ON s.account_no = acct() AND s.no = f.session_no AND s.deleted_at IS NULL AND ($3::text IS NULL OR s.id = $3)
  LEFT JOIN page p ON p.account_no = acct() AND p.floor_no = f.no AND p.kind = 'output' AND CASE WHEN $2::text IS NULL THEN p.active ELSE p.id = $2 END
  LEFT JOIN message m ON m.account_no = acct() AND m.page_no = p.no AND m.seq = 0
  LEFT JOIN turn_record t ON t.account_no = acct() AND t.page_no = p.no
 WHERE f.account_no = acct() AND f.id = $1;
