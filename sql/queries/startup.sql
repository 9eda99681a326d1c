-- What a daemon asks before it serves (src/db/startup.c).

-- name: startup_role
-- scope: system
SELECT session_user, bool_or(r.rolsuper OR r.rolbypassrls OR pg_has_role(session_user, 'tavern_owner', 'MEMBER'))
FROM pg_roles r
WHERE r.rolname IN (session_user, current_user);

-- name: startup_version
-- scope: system
SELECT coalesce(max(number), 0) FROM migration;

-- name: startup_unprotected
-- scope: system
SELECT c.relname
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'tavern' AND c.relkind IN ('r', 'p') AND c.relname <> 'migration'
	AND (NOT c.relrowsecurity OR NOT EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid))
ORDER BY 1
LIMIT 1;
