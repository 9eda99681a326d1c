-- Accounts as an administrator sees them: the table is not account-owned, the routes are for admins only.

-- name: account_role_of
-- scope: system
SELECT a.is_default, a.role, a.status FROM account a WHERE a.id = $1 FOR UPDATE;

-- name: account_delete
-- scope: system
-- Everything of the account goes with it.
DELETE FROM account WHERE id = $1 AND NOT is_default;

-- name: account_admins
-- scope: system
SELECT count(*) FROM account WHERE role = 'admin' AND status = 'active' AND id <> $1;
