-- The story of one branch, as people read it.

-- name: branch_by_id
SELECT b.no, b.id, b.segs, b.his, b.head_seq, b.revision, b.session_no, s.status
  FROM session s LEFT JOIN branch b ON b.account_no = acct() AND b.session_no = s.no AND b.id = $2
 WHERE s.account_no = acct() AND s.id = $1 AND s.deleted_at IS NULL;

-- name: timeline_floors
-- $4: also those that are being written, or failed.
SELECT f.no, f.id, f.floor_seq, f.state, f.token_in, f.token_out, f.created_at
  FROM floor f WHERE f.account_no = acct() AND f.segment_no = $1 AND f.floor_seq > $2 AND f.floor_seq <= $3
   AND ($4 OR f.state = 'committed')
 ORDER BY f.floor_seq;

-- name: timeline_pages
-- Of the same floors.
SELECT p.floor_no, p.no, p.id, p.page_seq, p.kind, p.active, p.version
  FROM floor f JOIN page p ON p.account_no = acct() AND p.floor_no = f.no
 WHERE f.account_no = acct() AND f.segment_no = $1 AND f.floor_seq > $2 AND f.floor_seq <= $3 AND p.state = 'committed'
   AND ($4 OR f.state = 'committed')
 ORDER BY f.floor_seq, p.page_seq, p.version, p.no;

-- name: timeline_messages
SELECT m.page_no, m.id, m.seq, m.role, m.content, m.content_format
  FROM message m WHERE m.account_no = acct() AND m.segment_no = $1 AND m.floor_seq > $2 AND m.floor_seq <= $3 AND NOT m.is_hidden
 ORDER BY m.floor_seq, m.side, m.page_no, m.seq;
