-- Jobs: queued and read by the application, claimed and swept by the system.

-- name: job_enqueue
-- scope: insert
-- $1 id, $2 kind, $3 scope, $4 args, $5 most attempts, $6 now
INSERT INTO job (id, kind, scope, args, max_attempts, available_at, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $6, $6) RETURNING no;

-- name: job_claim
-- scope: system
-- The job that has waited longest and whose scope is free. $1 now, $2 lease until, $3 worker, $4 kinds
WITH pick AS (
	SELECT j.account_no, j.no FROM job j
	 WHERE j.state = 'queued' AND j.available_at <= $1 AND j.kind = ANY ($4::text[])
	   AND (j.scope IS NULL OR NOT EXISTS (SELECT FROM job r WHERE r.account_no = j.account_no AND r.scope = j.scope AND r.state = 'running'))
	 ORDER BY j.available_at, j.no LIMIT 1 FOR UPDATE SKIP LOCKED
)
UPDATE job SET state = 'running', attempts = job.attempts + 1, lease_until = $2, worker = $3, phase = 'queued', progress = 0, total = NULL, error = NULL, updated_at = $1
  FROM pick, account a WHERE job.account_no = pick.account_no AND job.no = pick.no AND a.no = job.account_no
RETURNING job.account_no, job.no, a.id, job.id, job.kind, job.args, job.attempts, job.max_attempts;

-- name: job_lease
-- scope: system
-- Lease of a job whose kind has another than the claim gave. $1 account no, $2 job no, $3 worker, $4 attempt, $5 lease until
UPDATE job SET lease_until = $5 WHERE account_no = $1 AND no = $2 AND state = 'running' AND worker = $3 AND attempts = $4;

-- name: job_end
-- scope: system
-- What became of a try. $1 account no, $2 job no, $3 worker, $4 attempt, $5 state (done | dead | queued), $6 error, $7 now, $8 available at,
-- $9 tries that do not count
UPDATE job SET state = $5::text, error = $6, attempts = attempts - $9::int, available_at = $8, lease_until = NULL, worker = NULL, updated_at = $7::bigint,
       phase = CASE $5::text WHEN 'done' THEN 'completed' WHEN 'queued' THEN 'queued' ELSE phase END,
       completed_at = CASE WHEN $5::text <> 'queued' THEN $7::bigint END
 WHERE account_no = $1 AND no = $2 AND state = 'running' AND worker = $3 AND attempts = $4;

-- name: job_expired
-- scope: system
-- Jobs whose worker is gone: queued again, or dead after the last try. $1 now, $2 error
WITH late AS (
	SELECT account_no, no FROM job WHERE state = 'running' AND lease_until < $1 ORDER BY lease_until LIMIT 100 FOR UPDATE SKIP LOCKED
)
UPDATE job SET state = CASE WHEN attempts < max_attempts THEN 'queued' ELSE 'dead' END, error = $2, available_at = $1, lease_until = NULL, worker = NULL,
       completed_at = CASE WHEN attempts < max_attempts THEN NULL ELSE $1::bigint END, updated_at = $1::bigint
  FROM late WHERE job.account_no = late.account_no AND job.no = late.no;

-- name: job_progress
-- Says how far a try is and renews its lease. No row: it was cancelled, or somebody else has the job. $1 job no, $2 worker, $3 attempt, $4 phase, $5 done,
-- $6 of how many, $7 now, $8 lease until
UPDATE job SET phase = $4, progress = $5, total = $6, updated_at = $7, lease_until = $8
 WHERE account_no = acct() AND no = $1 AND state = 'running' AND worker = $2 AND attempts = $3;

-- name: job_done
-- Ends a job in the transaction that made its result. $1 job no, $2 worker, $3 attempt, $4 result, $5 now, $6 output file kept until
UPDATE job SET state = 'done', phase = 'completed', result = $4, file_until = $6, lease_until = NULL, worker = NULL, updated_at = $5, completed_at = $5,
       progress = coalesce(total, progress)
 WHERE account_no = acct() AND no = $1 AND state = 'running' AND worker = $2 AND attempts = $3;

-- name: job_cancel
-- $1 id, $2 now; no row: nothing to cancel
UPDATE job SET state = 'cancelled', lease_until = NULL, updated_at = $2, completed_at = $2 WHERE account_no = acct() AND id = $1 AND state IN ('queued', 'running') RETURNING no;

-- name: job_retry
-- $1 id, $2 now; no row: it is not over, or has succeeded
UPDATE job SET state = 'queued', attempts = 0, error = NULL, phase = 'queued', progress = 0, total = NULL, available_at = $2, completed_at = NULL, updated_at = $2
 WHERE account_no = acct() AND id = $1 AND state IN ('dead', 'cancelled') RETURNING no;

-- name: job_state
-- $1 id
SELECT j.no, j.kind, j.state, j.attempts, j.result, j.file_until FROM job j WHERE j.account_no = acct() AND j.id = $1;

-- name: job_file_put
-- A piece of a job's file. $1 job no, $2 part, $3 offset, $4 bytes
INSERT INTO job_file (job_no, part, at, bytes) SELECT j.no, $2, $3, $4 FROM job j WHERE j.account_no = acct() AND j.no = $1;

-- name: job_file_drop
DELETE FROM job_file WHERE account_no = acct() AND job_no = $1 AND part = $2;

-- name: job_file_piece
-- $1 job no, $2 part, $3 offset
SELECT f.bytes FROM job_file f WHERE f.account_no = acct() AND f.job_no = $1 AND f.part = $2 AND f.at = $3;

-- name: job_file_size
SELECT coalesce(max(f.at + octet_length(f.bytes)), 0) FROM job_file f WHERE f.account_no = acct() AND f.job_no = $1 AND f.part = $2;

-- name: sweep_job_files
-- scope: system
-- Files whose time is over, and what an import read that will never be tried again. $1 now
WITH old AS (
	SELECT f.account_no, f.job_no, f.part, f.at FROM job_file f JOIN job j ON j.account_no = f.account_no AND j.no = f.job_no
	 WHERE (f.part = 'output' AND j.file_until < $1) OR (f.part = 'input' AND j.state = 'done') LIMIT 200
)
DELETE FROM job_file f USING old WHERE f.account_no = old.account_no AND f.job_no = old.job_no AND f.part = old.part AND f.at = old.at;

-- name: sweep_jobs
-- scope: system
-- Jobs that ended long ago, with their files. $1 ended before
WITH old AS (
	SELECT account_no, no FROM job WHERE completed_at < $1 ORDER BY completed_at LIMIT 100
)
DELETE FROM job USING old WHERE job.account_no = old.account_no AND job.no = old.no;

-- name: sweep_idempotency
-- scope: system
-- $1 made before
WITH old AS (
	SELECT account_no, route, key FROM idempotency WHERE created_at < $1 ORDER BY created_at LIMIT 1000
)
DELETE FROM idempotency i USING old WHERE i.account_no = old.account_no AND i.route = old.route AND i.key = old.key;

-- name: sweep_events
-- scope: system
-- In the order of their transactions, which is nearly that of their times: the oldest are looked at, and go if they are old enough. The newest
-- of those stays as a mark named `swept`: a reader that was not yet so far has missed something. $1 made before
WITH old AS (
	SELECT account_no, xid, no, created_at, name FROM event WHERE xid < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY xid, no LIMIT 2000
), gone AS (
	SELECT *, row_number() OVER (ORDER BY xid DESC, no DESC) AS k FROM old WHERE created_at < $1
), mark AS (
	UPDATE event e SET name = 'swept', data = '{}', session_id = NULL FROM gone g
	 WHERE g.k = 1 AND g.name <> 'swept' AND e.account_no = g.account_no AND e.xid = g.xid AND e.no = g.no
)
DELETE FROM event e USING gone g WHERE g.k > 1 AND e.account_no = g.account_no AND e.xid = g.xid AND e.no = g.no;
