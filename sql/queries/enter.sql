-- Entering an account: the first statement of every pipeline. The account is set for the transaction
-- only, and not at all for an account that is unknown or not active, so that every statement behind
-- it fails by itself; src/db/tx.c says why.

-- name: enter_account
-- scope: system
SELECT a.no, a.id, a.role, a.status,
	set_config('tavern.account_no', CASE a.status WHEN 'active' THEN a.no::text ELSE '' END, true)
FROM account a
WHERE a.id = $1;

-- name: enter_api_key
-- scope: system
SELECT a.no, a.id, a.role, a.status,
	set_config('tavern.account_no', CASE a.status WHEN 'active' THEN a.no::text ELSE '' END, true)
FROM api_key k JOIN account a ON a.no = k.account_no
WHERE k.hash = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now_ms());
