-- The outbox, read in order; and what its reader asks about those who listen.

-- name: event_read
-- scope: system
-- Rows behind ($1, $2) up to ($3, $4), in an order that nobody who still writes can break. One row without a name if there is none.
-- First columns: up to where everything can be read now, and whether rows wait behind it. $5 accounts or null for all, $6 how many
WITH s AS (
	SELECT pg_snapshot_xmin(pg_current_snapshot()) AS xmin
), e AS (
	SELECT v.xid, v.no, v.account_no, v.session_id, v.name, v.data, v.created_at, (v.data ->> 'runNo')::bigint AS run_no,
	       (v.data ->> 'pageNo')::bigint AS page_no
	  FROM event v
	 WHERE (v.xid, v.no) > ($1::text::xid8, $2) AND (v.xid, v.no) <= ($3::text::xid8, $4) AND v.xid < (SELECT xmin FROM s)
	   AND ($5::int[] IS NULL OR v.account_no = ANY ($5))
	 ORDER BY v.xid, v.no LIMIT $6
)
SELECT s.xmin, EXISTS (SELECT FROM event w WHERE w.xid >= s.xmin), e.* FROM s LEFT JOIN e ON true ORDER BY e.xid, e.no;

-- name: event_read_account
-- scope: system
-- As event_read, of the account $5, and of its session $7 if that is not null.
WITH s AS (
	SELECT pg_snapshot_xmin(pg_current_snapshot()) AS xmin
), e AS (
	SELECT v.xid, v.no, v.account_no, v.session_id, v.name, v.data, v.created_at, (v.data ->> 'runNo')::bigint AS run_no,
	       (v.data ->> 'pageNo')::bigint AS page_no
	  FROM event v
	 WHERE v.account_no = $5 AND (v.xid, v.no) > ($1::text::xid8, $2) AND (v.xid, v.no) <= ($3::text::xid8, $4)
	   AND v.xid < (SELECT xmin FROM s) AND ($7::text IS NULL OR v.session_id = $7)
	 ORDER BY v.xid, v.no LIMIT $6
)
SELECT s.xmin, EXISTS (SELECT FROM event w WHERE w.xid >= s.xmin), e.* FROM s LEFT JOIN e ON true ORDER BY e.xid, e.no;

-- name: event_runs
-- scope: system
-- What rows are about: runs with their floors and what they wrote. $1 accounts, $2 run numbers, $3 page numbers (0 = none).
-- No row for a run that is gone.
SELECT x.i, s.id, r.no, r.id, r.type, r.state, r.phase, r.phase_seq, r.attempt_no, r.started_at, r.updated_at, r.completed_at, r.error, r.verifier,
       r.worker, r.config #>> '{narrator,provider}', r.config #>> '{narrator,model}',
       f.id, f.floor_seq, f.branch_id, f.parent_id, f.state, f.token_in, f.token_out, f.created_at, f.updated_at, f.committed_at,
       p.id, m.content, p.usage, p.finish_reason, p.summaries
  FROM unnest($1::int[], $2::bigint[], $3::bigint[]) WITH ORDINALITY x (account_no, run_no, page_no, i)
  JOIN run r ON r.account_no = x.account_no AND r.no = x.run_no
  JOIN floor f ON f.account_no = x.account_no AND f.no = r.floor_no
  JOIN session s ON s.account_no = x.account_no AND s.no = r.session_no
  LEFT JOIN page p ON p.account_no = x.account_no AND p.no = x.page_no
  LEFT JOIN message m ON m.account_no = x.account_no AND m.page_no = p.no AND m.seq = 0
 ORDER BY x.i;

-- name: event_changes
-- scope: system
-- What pages changed of the variables, in order, and what was promoted when they were committed. $1 accounts, $2 page numbers
SELECT x.i, c.scope, coalesce(v.scope_id, s.id, 'global'), coalesce(v.id, c.id), c.key, c.new_value, c.source, c.created_at, coalesce(v.revision = 0, false)
  FROM unnest($1::int[], $2::bigint[]) WITH ORDINALITY x (account_no, page_no, i)
  JOIN page o ON o.account_no = x.account_no AND o.no = x.page_no
  JOIN page p ON p.account_no = x.account_no AND p.floor_no = o.floor_no
  JOIN var_change c ON c.account_no = x.account_no AND c.page_no = p.no AND c.path IS NULL
   AND (p.no = o.no OR (c.source = 'promotion' AND c.created_at = o.created_at))
  LEFT JOIN variable v ON v.account_no = x.account_no AND v.scope = c.scope AND v.scope_no = c.scope_no AND v.key = c.key
  LEFT JOIN session s ON s.account_no = x.account_no AND s.no = c.session_no
 ORDER BY x.i, c.no;

-- name: event_running
-- scope: system
-- Generations that run now. $1 accounts or null for all
SELECT r.account_no, r.no, s.id
  FROM run r
  JOIN session s ON s.account_no = r.account_no AND s.no = r.session_no
 WHERE r.state = 'running' AND ($1::int[] IS NULL OR r.account_no = ANY ($1)) ORDER BY r.no LIMIT 2000;

-- name: event_enter
-- scope: system
-- Who wants to listen: the session must be the account's; the place where listening begins; whether rows behind the place ($3, $4) are gone.
-- $1 account, $2 session id or null
SELECT ($2::text IS NULL OR EXISTS (SELECT FROM session s WHERE s.account_no = $1 AND s.id = $2 AND s.deleted_at IS NULL)),
       pg_snapshot_xmin(pg_current_snapshot()),
       coalesce((SELECT o.name = 'swept' AND (o.xid, o.no) > ($3::text::xid8, $4) FROM (SELECT xid, no, name FROM event ORDER BY xid, no LIMIT 1) o), false);

-- name: event_allowed
-- scope: system
-- Which of the listeners may go on: the account is active (and still its administrator's), the key holds, the session is there.
-- $1 accounts, $2 hashes of keys, $3 session ids, $4 whether each needs an administrator, $5 now
SELECT x.i
  FROM unnest($1::int[], $2::text[], $3::text[], $4::bool[]) WITH ORDINALITY x (account_no, hash, session_id, admin, i)
  JOIN account a ON a.no = x.account_no AND a.status = 'active' AND (NOT x.admin OR a.role = 'admin')
 WHERE (x.hash IS NULL OR EXISTS (SELECT FROM api_key k WHERE k.hash = x.hash AND k.account_no = x.account_no AND k.revoked_at IS NULL
                                     AND (k.expires_at IS NULL OR k.expires_at > $5)))
   AND (x.session_id IS NULL OR EXISTS (SELECT FROM session s WHERE s.account_no = x.account_no AND s.id = x.session_id AND s.deleted_at IS NULL))
 ORDER BY x.i;
