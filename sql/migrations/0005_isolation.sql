-- Row-level security and grants. Every account-owned table has the policy `own` for the application;
-- tables that the system's daemons work on have `sys` too. account and api_key are read before an account is
-- entered (they decide which one it is), so their rows are open to the application and the statements guard them.
DO $$
DECLARE
	t text;
BEGIN
	FOREACH t IN ARRAY ARRAY['document', 'blob', 'asset', 'asset_version', 'active_preset', 'session', 'segment', 'branch', 'floor', 'page',
		'message', 'message_words', 'search_mark', 'variable', 'var_change', 'run', 'run_text', 'idempotency', 'turn_frame', 'turn_record', 'event', 'job', 'job_file'] LOOP
		EXECUTE format('ALTER TABLE tavern.%I ENABLE ROW LEVEL SECURITY', t);
		EXECUTE format('CREATE POLICY own ON tavern.%I TO tavern_app USING (account_no = tavern.acct())', t);
		EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON tavern.%I TO tavern_app', t);
	END LOOP;
	FOREACH t IN ARRAY ARRAY['run', 'run_text', 'idempotency', 'floor', 'page', 'message', 'session', 'segment', 'branch', 'event', 'job', 'job_file', 'document', 'variable', 'var_change', 'search_mark'] LOOP
		EXECUTE format('CREATE POLICY sys ON tavern.%I TO tavern_sys USING (true)', t);
		EXECUTE format('GRANT SELECT ON tavern.%I TO tavern_sys', t);
	END LOOP;
	FOREACH t IN ARRAY ARRAY['account', 'api_key'] LOOP
		EXECUTE format('ALTER TABLE tavern.%I ENABLE ROW LEVEL SECURITY', t);
		EXECUTE format('CREATE POLICY enter ON tavern.%I TO tavern_app, tavern_sys USING (true)', t);
		EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON tavern.%I TO tavern_app', t);
	END LOOP;
END $$;
GRANT USAGE ON SCHEMA tavern TO tavern_app, tavern_sys;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA tavern TO tavern_app, tavern_sys;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA tavern TO tavern_app, tavern_sys;
GRANT UPDATE ON tavern.run, tavern.floor, tavern.page, tavern.job TO tavern_sys;
GRANT INSERT, UPDATE, DELETE ON tavern.run_text TO tavern_sys;
GRANT INSERT ON tavern.event, tavern.page TO tavern_sys;
GRANT UPDATE ON tavern.event TO tavern_sys;
GRANT INSERT, UPDATE ON tavern.message TO tavern_sys;
GRANT DELETE ON tavern.event, tavern.idempotency, tavern.session, tavern.job, tavern.job_file TO tavern_sys;
GRANT SELECT ON tavern.account TO tavern_sys;
GRANT DELETE ON tavern.floor, tavern.variable, tavern.var_change TO tavern_sys;             -- what belonged to deleted sessions
GRANT SELECT (account_no, hash, revoked_at, expires_at) ON tavern.api_key TO tavern_sys;
