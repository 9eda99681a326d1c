-- What belonged to deleted sessions, removed in bounded steps, each a transaction of its own: a long one would hold back the outbox.
-- tavern-jobd takes a session by session_remove_next; session_remove_floors, _log and _variables, again and again until each affects no row;
-- then session_remove, which takes the rest along. Any step may be repeated, also by two at once.

-- name: session_remove_next
-- scope: system
-- The one that was deleted longest ago. $1 deleted before (ms)
SELECT s.account_no, s.no FROM session s WHERE s.deleted_at < $1 ORDER BY s.deleted_at, s.account_no, s.no LIMIT 1;

-- name: session_remove_floors
-- scope: system
-- With their pages, messages, records and runs. $1 account no, $2 session no, $3 at most so many floors
WITH f AS MATERIALIZED (
	SELECT f.no FROM session s JOIN floor f ON f.account_no = s.account_no AND f.session_no = s.no
	 WHERE s.account_no = $1 AND s.no = $2 AND s.deleted_at IS NOT NULL ORDER BY f.no LIMIT $3
)
DELETE FROM floor USING f WHERE floor.account_no = $1 AND floor.no = f.no;

-- name: session_remove_log
-- scope: system
-- $1 account no, $2 session no, $3 at most so many rows
WITH c AS MATERIALIZED (
	SELECT c.no FROM session s JOIN var_change c ON c.account_no = s.account_no AND c.session_no = s.no
	 WHERE s.account_no = $1 AND s.no = $2 AND s.deleted_at IS NOT NULL LIMIT $3
)
DELETE FROM var_change USING c WHERE var_change.account_no = $1 AND var_change.no = c.no;

-- name: session_remove_variables
-- scope: system
-- $1 account no, $2 session no, $3 at most so many rows
WITH v AS MATERIALIZED (
	SELECT v.no FROM session s JOIN variable v ON v.account_no = s.account_no AND v.session_no = s.no
	 WHERE s.account_no = $1 AND s.no = $2 AND s.deleted_at IS NOT NULL LIMIT $3
)
DELETE FROM variable USING v WHERE variable.account_no = $1 AND variable.no = v.no;

-- name: session_remove
-- scope: system
-- $1 account no, $2 session no
DELETE FROM session WHERE account_no = $1 AND no = $2 AND deleted_at IS NOT NULL
   AND NOT EXISTS (SELECT FROM floor f WHERE f.account_no = $1 AND f.session_no = $2);
