-- The frame of a unit of work (src/db/tx.c).

-- name: tx_begin
-- scope: system
BEGIN;

-- name: tx_commit
-- scope: system
COMMIT;

-- name: tx_rollback
-- scope: system
ROLLBACK;

-- name: db_ping
-- scope: system
SELECT 1;
