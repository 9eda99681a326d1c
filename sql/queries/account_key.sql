-- Accounts and their keys for tavernctl and for administrators. A key is stored as its HMAC only.

-- name: account_list
-- scope: system
SELECT a.id, a.name, a.role, a.status, a.is_default,
	(SELECT count(*) FROM api_key k WHERE k.account_no = a.no AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now_ms()))
FROM account a
ORDER BY a.created_at, a.id COLLATE "C";

-- name: account_insert
-- scope: system
INSERT INTO account (id, name, role, created_at, updated_at) VALUES ($1, $2, $3, $4, $4);

-- name: account_set_status
-- scope: system
UPDATE account SET status = $2, updated_at = $3 WHERE id = $1;

-- name: api_key_insert
-- scope: system
INSERT INTO api_key (account_no, id, name, prefix, hash, created_at, expires_at)
SELECT a.no, $2, $3, $4, $5, $6, $7 FROM account a WHERE a.id = $1;

-- name: api_key_list
-- scope: system
SELECT k.id, k.name, k.prefix, k.created_at, k.expires_at, k.revoked_at
FROM api_key k JOIN account a ON a.no = k.account_no
WHERE a.id = $1
ORDER BY k.created_at, k.no;

-- name: api_key_revoke
-- scope: system
-- By id or by the part that is shown; one that was revoked before keeps its time.
UPDATE api_key k SET revoked_at = coalesce(k.revoked_at, $3)
FROM account a
WHERE a.no = k.account_no AND a.id = $1 AND (k.id = $2 OR k.prefix = $2);
