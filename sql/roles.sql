-- The three roles, for a superuser (or a role with CREATEROLE) once per cluster; may be run again.
-- psql -v database=NAME -f roles.sql
--   tavern_owner  owns every object, cannot log in; `tavernctl migrate` becomes it
--   tavern_app    workers and jobs, under row-level security
--   tavern_sys    sweeper, job claim, outbox reader, persister
-- Set passwords afterwards where the connection needs them: ALTER ROLE tavern_app PASSWORD '…'.
DO $$
BEGIN
	IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'tavern_owner') THEN
		CREATE ROLE tavern_owner NOLOGIN;
	END IF;
	IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'tavern_app') THEN
		CREATE ROLE tavern_app LOGIN;
	END IF;
	IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'tavern_sys') THEN
		CREATE ROLE tavern_sys LOGIN;
	END IF;
END $$;
-- Statement texts name no schema: the roles look in tavern first.
ALTER ROLE tavern_app SET search_path = tavern, pg_catalog;
ALTER ROLE tavern_sys SET search_path = tavern, pg_catalog;
ALTER ROLE tavern_app SET plan_cache_mode = force_generic_plan;
ALTER ROLE tavern_app SET jit = off;
-- The application never wants rows of all accounts: an index that leads with the account evaluates acct() once,
-- a scan over the table for each row.
ALTER ROLE tavern_app SET enable_seqscan = off;
-- Its ranges are narrow and read in the index's order: a bitmap starts anew for each floor of a timeline and must be sorted
-- afterwards (timeline of 200 floors: half the time without). A search by GIN switches it on in its own function.
ALTER ROLE tavern_app SET enable_bitmapscan = off;
ALTER ROLE tavern_sys SET plan_cache_mode = force_generic_plan;
ALTER ROLE tavern_sys SET jit = off;
GRANT CREATE, CONNECT ON DATABASE :"database" TO tavern_owner;
GRANT CONNECT ON DATABASE :"database" TO tavern_app, tavern_sys;
