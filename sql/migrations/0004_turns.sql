-- What happens in a session: variables and their log, runs, the record of a turn, events, jobs.

-- Current values. scope_no: branch, floor, page or session number; 0 for global.
CREATE TABLE tavern.variable (
	account_no int NOT NULL DEFAULT tavern.acct() REFERENCES tavern.account (no) ON DELETE CASCADE,
	no bigint GENERATED ALWAYS AS IDENTITY,
	id text COLLATE "C" NOT NULL,
	scope text COLLATE "C" NOT NULL CHECK (scope IN ('global', 'chat', 'branch', 'floor', 'page')),
	scope_no bigint NOT NULL,
	scope_id text COLLATE "C" NOT NULL,     -- as the API shows it: "branch:SESSION:BRANCH" …
	session_no bigint,                      -- NULL for global
	branch_id text COLLATE "C",             -- of branch scope
	key text COLLATE "C" NOT NULL CHECK (octet_length(key) BETWEEN 1 AND 1024),
	value text COMPRESSION lz4 NOT NULL,    -- JSON text
	revision int NOT NULL DEFAULT 0,
	updated_at bigint NOT NULL,
	PRIMARY KEY (account_no, no),
	CONSTRAINT variable_id_key UNIQUE (account_no, id),
	CONSTRAINT variable_key UNIQUE (account_no, scope, scope_no, key),
	FOREIGN KEY (account_no, session_no) REFERENCES tavern.session (account_no, no) ON DELETE CASCADE
);
CREATE INDEX variable_session ON tavern.variable (account_no, session_no);

-- Append-only: every write, with its place in the story. new_value NULL = deleted. Page-scope writes live
-- here only; `active` flips with their page.
CREATE TABLE tavern.var_change (
	account_no int NOT NULL DEFAULT tavern.acct() REFERENCES tavern.account (no) ON DELETE CASCADE,
	no bigint GENERATED ALWAYS AS IDENTITY,
	id text COLLATE "C" NOT NULL,
	session_no bigint,
	segment_no bigint,                      -- NULL: written by a client outside the story
	floor_seq int,
	page_no bigint,
	active boolean NOT NULL DEFAULT true,
	scope text NOT NULL,
	scope_no bigint NOT NULL,
	key text COLLATE "C" NOT NULL,
	path text,                              -- of a write into a structure; new_value is the leaf
	new_value text COMPRESSION lz4,
	source text NOT NULL CHECK (source IN ('client', 'macro', 'tool', 'fork', 'promotion', 'import', 'memory')),
	detail json,
	created_at bigint NOT NULL,
	PRIMARY KEY (account_no, no),
	FOREIGN KEY (account_no, session_no) REFERENCES tavern.session (account_no, no) ON DELETE CASCADE
);
CREATE INDEX var_change_key ON tavern.var_change (account_no, segment_no, key, floor_seq DESC, no DESC) WHERE active;
CREATE INDEX var_change_page ON tavern.var_change (account_no, page_no);
CREATE INDEX var_change_session ON tavern.var_change (account_no, session_no, no);
-- Values of wider scopes as they were; branches have the segment's.
CREATE INDEX var_change_wide ON tavern.var_change (account_no, scope, scope_no, key, no DESC) WHERE scope IN ('global', 'chat');

-- A generation. The floor's own state never goes back; this row carries lease, phase and key.
CREATE TABLE tavern.run (
	account_no int NOT NULL DEFAULT tavern.acct(),
	no bigint GENERATED ALWAYS AS IDENTITY,
	id text COLLATE "C" NOT NULL,
	session_no bigint NOT NULL,
	branch_no bigint NOT NULL,
	floor_no bigint NOT NULL,
	page_no bigint,                         -- the output page being written
	type text NOT NULL CHECK (type IN ('respond', 'regenerate_page', 'retry_turn', 'edit_and_regenerate')),
	state text NOT NULL CHECK (state IN ('running', 'completed', 'failed', 'cancelled')),
	phase text NOT NULL,
	phase_seq int NOT NULL DEFAULT 0,
	attempt_no int NOT NULL DEFAULT 1,
	lease_until bigint NOT NULL,
	worker text NOT NULL,                   -- <host>/<generation>-<slot>
	on_disconnect text NOT NULL DEFAULT 'abort' CHECK (on_disconnect IN ('abort', 'continue')),
	config json NOT NULL DEFAULT '{}',      -- frozen: provider, model, parameters, preset and profile per slot
	said_from int NOT NULL DEFAULT 0,       -- bytes of the page's text that stood there before: a reply that goes on
	error json,
	verifier json,
	started_at bigint NOT NULL,
	updated_at bigint NOT NULL,
	completed_at bigint,
	PRIMARY KEY (account_no, no),
	FOREIGN KEY (account_no, floor_no) REFERENCES tavern.floor (account_no, no) ON DELETE CASCADE
) WITH (fillfactor = 80);
-- The sweeper walks this small index too: with one on lease_until every renewal would write an index entry.
CREATE UNIQUE INDEX run_one_per_branch ON tavern.run (account_no, branch_no) WHERE state = 'running';
CREATE INDEX run_floor ON tavern.run (account_no, floor_no, no DESC);

-- Text of running generations, appended once a second by one persister per process.
CREATE TABLE tavern.run_text (
	account_no int NOT NULL,
	run_no bigint NOT NULL,
	reasoning boolean NOT NULL DEFAULT false,
	at int NOT NULL,                        -- byte offset of this piece in the text, or in the reasoning
	text text NOT NULL,
	PRIMARY KEY (account_no, run_no, reasoning, at),
	FOREIGN KEY (account_no, run_no) REFERENCES tavern.run (account_no, no) ON DELETE CASCADE
);

-- Idempotency keys: account + route, kept 24 hours.
CREATE TABLE tavern.idempotency (
	account_no int NOT NULL DEFAULT tavern.acct(),
	route text COLLATE "C" NOT NULL,
	key text COLLATE "C" NOT NULL CHECK (octet_length(key) BETWEEN 1 AND 255),
	hash bytea NOT NULL,                    -- SHA-256 of the path and the request body as understood
	run_no bigint NOT NULL,
	answer text COMPRESSION lz4,            -- of the committed turn, as the first caller got it
	created_at bigint NOT NULL,
	PRIMARY KEY (account_no, route, key),
	FOREIGN KEY (account_no, run_no) REFERENCES tavern.run (account_no, no) ON DELETE CASCADE
);
CREATE INDEX idempotency_run ON tavern.idempotency (account_no, run_no);
CREATE INDEX idempotency_age ON tavern.idempotency (created_at);               -- the system's: sweeper

-- The settings that turns of a session ran by: one row for all turns that ran by the same.
CREATE TABLE tavern.turn_frame (
	account_no int NOT NULL DEFAULT tavern.acct(),
	no bigint GENERATED ALWAYS AS IDENTITY,
	session_no bigint NOT NULL,
	digest bytea NOT NULL CHECK (octet_length(digest) = 32),  -- SHA-256 of body
	body text COMPRESSION lz4 NOT NULL,     -- JSON
	PRIMARY KEY (account_no, no),
	CONSTRAINT turn_frame_key UNIQUE (account_no, session_no, digest),
	FOREIGN KEY (account_no, session_no) REFERENCES tavern.session (account_no, no) ON DELETE CASCADE
);

-- How an output page came about: enough to rebuild the request, and the verdicts. Never the prompt text.
CREATE TABLE tavern.turn_record (
	account_no int NOT NULL DEFAULT tavern.acct(),
	page_no bigint NOT NULL,
	preset_version bigint,
	worldbook_versions bigint[] NOT NULL DEFAULT '{}',
	regex_versions bigint[] NOT NULL DEFAULT '{}',
	character_doc bigint,
	user_doc bigint,
	seed bigint NOT NULL,
	clock bigint NOT NULL,                  -- ms
	prompt_mode text NOT NULL,
	policy json NOT NULL DEFAULT '{}',
	activated json NOT NULL DEFAULT '[]',   -- lore entries, for timed effects
	prompt_digest text NOT NULL,            -- hex SHA-256 of the outgoing messages
	token_estimate int NOT NULL,
	snapshot json NOT NULL,                 -- prompt_snapshot of the wire
	explain text COMPRESSION lz4,           -- verdicts: references, digests, counts; never the prompt again (docs/explain.md)
	frame_no bigint,                        -- turn_frame
	inputs text COMPRESSION lz4,            -- what else the request is made of (JSON): places, variables that were read, effects that ran
	request_digest text,                    -- hex SHA-256 of the outgoing request's body
	request text COMPRESSION lz4,           -- the body itself, if the session keeps requests
	created_at bigint NOT NULL,
	PRIMARY KEY (account_no, page_no),
	FOREIGN KEY (account_no, page_no) REFERENCES tavern.page (account_no, no) ON DELETE CASCADE
);

-- Outbox. Readers go by (xid, no) below the snapshot's xmin: sequence order is not commit order.
-- One row per change of a floor (floor.committed, floor.failed, run.failed: the run, not its floor), whose data names the run and the page:
-- what clients are told of it is derived by the reader. Other rows hold what is told. No foreign key: rows are swept by age; the newest
-- of those swept stays as a mark named `swept`, so that a reader who was not yet so far knows that it has missed something.
CREATE TABLE tavern.event (
	account_no int NOT NULL DEFAULT tavern.acct(),
	no bigint GENERATED ALWAYS AS IDENTITY,
	xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
	session_id text COLLATE "C",
	name text NOT NULL,
	data json NOT NULL,
	created_at bigint NOT NULL,
	PRIMARY KEY (account_no, xid, no)
);
CREATE INDEX event_order ON tavern.event (xid, no);                            -- the system's: outbox reader

-- What search reads: the words of messages, filled in by tavern-jobd and never by a turn (a GIN index on message would cost every
-- reply more than all its other indexes). Messages above search_mark.upto are not in it yet; search looks at them one by one.
CREATE TABLE tavern.message_words (
	account_no int NOT NULL DEFAULT tavern.acct(),
	message_no bigint NOT NULL,
	zone int NOT NULL,                      -- which 4,096 of the account's messages
	words tsvector COMPRESSION lz4 NOT NULL, -- and where the message stands (search_place)
	PRIMARY KEY (account_no, message_no),
	FOREIGN KEY (account_no, message_no) REFERENCES tavern.message (account_no, no) ON DELETE CASCADE
);
-- Alone: what a search wants is one condition, for which there is one index, whatever is known of the table's contents.
CREATE INDEX message_words_words ON tavern.message_words USING gin (words);
-- A number is given before its row can be seen: a message is only taken when every transaction that ran as a later one was seen is over.
CREATE TABLE tavern.search_mark (
	account_no int PRIMARY KEY DEFAULT tavern.acct() REFERENCES tavern.account (no) ON DELETE CASCADE,
	upto bigint NOT NULL,                   -- message number: up to here all words are there
	filled bigint NOT NULL DEFAULT 0,       -- how many were filled in: zones are counted by it
	seen bigint NOT NULL,                   -- up to here nothing more can come
	seen_xid xid8 NOT NULL                  -- once transactions before this one are over
);

-- Characters of scripts that put no spaces between words.
CREATE FUNCTION tavern.search_dense() RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
	AS $$ SELECT '\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u2E80-\u2FDF\u3005-\u3007\u3021-\u302F\u3031-\u9FFF\uAC00-\uD7AF\uF900-\uFAFF\uFF66-\uFF9F\U00020000-\U0003FFFF' $$;
-- Runs of them, a blank between, and what stands around them. No expression is looked at for a text that is ASCII.
CREATE FUNCTION tavern.search_runs(t text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
	RETURN CASE WHEN octet_length(t) = length(t) THEN '' ELSE btrim(regexp_replace(t, '[^' || tavern.search_dense() || ']+', ' ', 'g')) END;
END $$;
CREATE FUNCTION tavern.search_plain(t text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
	RETURN CASE WHEN octet_length(t) = length(t) THEN t ELSE regexp_replace(t, '[' || tavern.search_dense() || ']+', ' ', 'g') END;
END $$;
-- Words in lower case; of dense scripts every pair of neighbours, and the last of a run alone: pg_trgm has nothing for a word of two
-- characters, and most of theirs are such. Of a very long text the beginning: a tsvector holds a megabyte.
CREATE FUNCTION tavern.search_words(t text) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
	runs text;
BEGIN
	t := left(t, 64000);
	runs := tavern.search_runs(t);
	IF runs = '' THEN
		RETURN to_tsvector('simple', t);
	END IF;
	RETURN to_tsvector('simple', tavern.search_plain(t)) || array_to_tsvector(ARRAY(
		SELECT CASE WHEN u.b <> ' ' THEN u.a || u.b ELSE u.a END
		  FROM unnest(string_to_array(runs, NULL), string_to_array(substr(runs, 2), NULL)) u (a, b) WHERE u.a <> ' '));
END $$;
-- What a person typed: every word must be there, or begin one; of a dense run every pair.
CREATE FUNCTION tavern.search_query(q text) RETURNS tsquery LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
	RETURN coalesce((
		SELECT string_agg('''' || replace(replace(x.term, '\', '\\'), '''', '''''') || x.prefix, ' & ')
		  FROM (
			SELECT w.lexeme AS term, ''':*' AS prefix FROM unnest(to_tsvector('simple', tavern.search_plain(q))) w
			UNION
			SELECT substr(r.run, p.i, 2), CASE WHEN length(r.run) = 1 THEN ''':*' ELSE '''' END
			  FROM unnest(string_to_array(tavern.search_runs(q), ' ')) r (run), generate_series(1, greatest(length(r.run) - 1, 1)) p (i)) x), '')::tsquery;
END $$;
-- Where a message stands, as words that no text has: they begin with a control character.
CREATE FUNCTION tavern.search_place(account int, zone int, session bigint, segment bigint, role text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE
	AS $$ SELECT array_to_tsvector(ARRAY[chr(1) || 'a' || account, chr(1) || 'z' || account || '.' || zone, chr(1) || 's' || session, chr(1) || 'g' || segment,
		chr(1) || 'r' || role]) $$;
-- Any of the places of a kind: 'a', 'z' …; of none nothing is found.
CREATE FUNCTION tavern.search_at(kind text, VARIADIC names text[]) RETURNS tsquery LANGUAGE sql IMMUTABLE PARALLEL SAFE
	AS $$ SELECT coalesce(string_agg('''' || chr(1) || kind || n.name || '''', ' | '), '''' || chr(1) || '''')::tsquery FROM unnest(names) n (name) $$;
-- Numbers of the entered account's messages whose words fit, as the owner, for under row-level security `@@` cannot use an index. Of more than `most` the
-- newest or the oldest, found zone by zone, so that what a frequent word costs does not grow with the account. With the number 0 if not all were looked at.
CREATE FUNCTION tavern.search_hits(wanted tsquery, most int, oldest boolean) RETURNS bigint[] LANGUAGE plpgsql STABLE SECURITY DEFINER
	SET search_path = tavern, pg_catalog SET enable_bitmapscan = on SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
	me int := acct();
	last int := coalesce((SELECT s.filled / 4096 FROM search_mark s WHERE s.account_no = me), 0);
	zone int := 0;
	width int := 1;
	q tsquery := wanted && search_at('a', me::text);
	hits bigint[];
	got bigint[];
BEGIN
	hits := ARRAY(SELECT w.message_no FROM message_words w WHERE w.words @@ q LIMIT most + 1);
	IF cardinality(hits) <= most THEN
		RETURN hits;
	END IF;
	hits := '{}';
	WHILE zone <= last AND cardinality(hits) <= most LOOP -- zone: counted from where it begins
		q := wanted && search_at('z', VARIADIC ARRAY(SELECT me || '.' || CASE WHEN oldest THEN z ELSE last - z END FROM generate_series(zone, zone + width - 1) z));
		got := ARRAY(SELECT w.message_no FROM message_words w WHERE w.words @@ q);
		hits := hits || got;
		zone := zone + width;
		width := CASE WHEN cardinality(got) * 8 > most THEN 1 ELSE least(width * 2, 16) END;
	END LOOP;
	RETURN ARRAY(SELECT h.no FROM unnest(hits) h (no) ORDER BY CASE WHEN oldest THEN h.no END, h.no DESC LIMIT most) || 0::bigint;
END $$;
-- Those sessions of a character: with its id, or with a card of their own that has its name. At most so many, the newest.
CREATE FUNCTION tavern.search_sessions(of_character text, most int) RETURNS bigint[] LANGUAGE sql STABLE SET search_path = tavern, pg_catalog AS $$
	SELECT ARRAY(SELECT s.no FROM session s
		 WHERE s.account_no = acct() AND s.deleted_at IS NULL
		   AND (s.character_id = of_character
		        OR (s.character_id IS NULL AND s.character_name = (SELECT a.name FROM asset a WHERE a.account_no = acct() AND a.kind = 'character' AND a.id = of_character)))
		 ORDER BY s.created_at DESC, s.no DESC LIMIT most)
$$;
-- Messages that hold every word, with their rank. `most` bounds what is looked at: of messages with these words the newest, or the oldest; of those whose
-- words are not filled in, 4,096. A row with the number 0: there may be more.
-- What is found is looked up row by row, whatever a planner believes about how much that is.
CREATE FUNCTION tavern.search_messages(q text, of_session text, of_character text, of_branch text, of_role text, inactive boolean, hidden boolean, oldest boolean, most int)
	RETURNS TABLE (no bigint, rank real) LANGUAGE plpgsql STABLE SECURITY DEFINER
	SET search_path = tavern, pg_catalog SET enable_seqscan = off SET plan_cache_mode = force_custom_plan AS $$
DECLARE
	me int := acct();
	wanted tsquery := search_query(q);
	place tsquery := wanted;
	runs text[] := ARRAY(SELECT lower(r.run) FROM unnest(string_to_array(search_runs(q), ' ')) r (run) WHERE length(r.run) > 2);
	needles text[] := tsvector_to_array(search_words(q)); -- what must stand in a text for its words to be worth looking at
	mark bigint := coalesce((SELECT s.upto FROM search_mark s WHERE s.account_no = me), 0);
	sessions bigint[];
	segs bigint[];
	his int[];
	hits bigint[];
	news bigint[];
BEGIN
	IF of_session IS NOT NULL OR of_character IS NOT NULL THEN
		sessions := CASE WHEN of_character IS NOT NULL THEN search_sessions(of_character, 1000) END;
		IF of_session IS NOT NULL THEN
			sessions := ARRAY(SELECT s.no FROM session s WHERE s.account_no = me AND s.id = of_session AND (of_character IS NULL OR s.no = ANY (sessions)));
		END IF;
		place := place && search_at('s', VARIADIC sessions::text[]);
	END IF;
	IF of_branch IS NOT NULL THEN
		SELECT b.segs, b.his INTO segs, his FROM branch b WHERE b.account_no = me AND b.session_no = sessions[1] AND b.id = of_branch;
		segs := coalesce(segs, '{}');
		place := place && search_at('g', VARIADIC segs::text[]);
	END IF;
	IF of_role IS NOT NULL THEN
		place := place && search_at('r', of_role);
	END IF;
	hits := search_hits(place, most, oldest);
	news := ARRAY(SELECT m.no FROM message m WHERE m.account_no = me AND m.no > mark ORDER BY m.no DESC LIMIT 4096);
	IF hits @> '{0}' OR cardinality(news) = 4096 OR cardinality(sessions) = 1000 THEN
		RETURN QUERY SELECT 0::bigint, NULL::real;
	END IF;
	RETURN QUERY
	WITH hit AS MATERIALIZED (
		SELECT h.m_no, w.words FROM unnest(hits) h (m_no)
		 CROSS JOIN LATERAL (SELECT w.words FROM message_words w WHERE w.account_no = me AND w.message_no = h.m_no OFFSET 0) w
		UNION ALL
		SELECT n.m_no, w.words FROM unnest(news) n (m_no)
		 CROSS JOIN LATERAL (
			SELECT CASE WHEN NOT EXISTS (SELECT FROM unnest(needles) n (needle) WHERE strpos(lower(m.content), n.needle) = 0) THEN search_words(m.content) END AS words
			  FROM message m WHERE m.account_no = me AND m.no = n.m_no
			OFFSET 0) w
		 WHERE w.words @@ wanted
	)
	SELECT hit.m_no, ts_rank(hit.words, wanted, 1)
	  FROM hit
	 CROSS JOIN LATERAL (
		SELECT m.segment_no, m.floor_seq FROM message m
		 WHERE m.account_no = me AND m.no = hit.m_no AND (m.active OR inactive) AND (NOT m.is_hidden OR hidden) AND (of_role IS NULL OR m.role = of_role)
		   AND (runs = '{}' OR NOT EXISTS (SELECT FROM unnest(runs) u (run) WHERE strpos(lower(m.content), u.run) = 0))
		OFFSET 0) m
	 CROSS JOIN LATERAL (
		SELECT s.no FROM segment g JOIN session s ON s.account_no = me AND s.no = g.session_no AND s.deleted_at IS NULL
		 WHERE g.account_no = me AND g.no = m.segment_no AND (sessions IS NULL OR s.no = ANY (sessions))
		OFFSET 0) s
	 WHERE segs IS NULL OR EXISTS (SELECT FROM unnest(segs, his) r (seg, hi) WHERE r.seg = m.segment_no AND r.hi >= m.floor_seq);
END $$;
-- What was filled in waits in a list that every search reads; this sorts it into the index.
CREATE FUNCTION tavern.search_settle() RETURNS bigint LANGUAGE sql SECURITY DEFINER SET search_path = tavern, pg_catalog
	AS $$ SELECT gin_clean_pending_list('tavern.message_words_words') $$;

-- For who is about to write much. A connection keeps its plans; those made while a table was empty believe that an account has no more than a few rows, and
-- a foreign key's check would walk all of them for each row, until the server itself has looked at the table, a minute later.
CREATE FUNCTION tavern.story_analyze() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = tavern, pg_catalog AS $$
DECLARE
	t regclass;
BEGIN
	FOR t IN SELECT c.oid FROM pg_class c WHERE c.relnamespace = 'tavern'::regnamespace AND c.relname IN ('session', 'segment', 'floor', 'page', 'message', 'message_words')
	          AND c.reltuples < 100 ORDER BY c.oid LOOP
		EXECUTE 'ANALYZE ' || t;
	END LOOP;
END $$;

-- Work for later. running: a worker holds the lease; whoever finds it expired queues the job again. dead: no try left, or none would help.
CREATE TABLE tavern.job (
	account_no int NOT NULL DEFAULT tavern.acct() REFERENCES tavern.account (no) ON DELETE CASCADE,
	no bigint GENERATED ALWAYS AS IDENTITY,
	id text COLLATE "C" NOT NULL,
	kind text COLLATE "C" NOT NULL,
	state text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'running', 'done', 'dead', 'cancelled')),
	scope text COLLATE "C",                 -- one job of a scope runs at a time
	args json NOT NULL DEFAULT '{}',
	result json,
	error json,                             -- of the last try
	phase text NOT NULL DEFAULT 'queued',
	progress bigint NOT NULL DEFAULT 0,
	total bigint,                           -- of progress; NULL = not known yet
	attempts int NOT NULL DEFAULT 0,
	max_attempts int NOT NULL DEFAULT 5,
	available_at bigint NOT NULL,
	lease_until bigint,
	worker text,
	file_until bigint,                      -- the output file is kept until then
	created_at bigint NOT NULL,
	updated_at bigint NOT NULL,
	completed_at bigint,
	PRIMARY KEY (account_no, no),
	CONSTRAINT job_id_key UNIQUE (account_no, id)
);
CREATE INDEX job_claim ON tavern.job (available_at) WHERE state = 'queued';    -- the system's: job claim
CREATE INDEX job_lease ON tavern.job (lease_until) WHERE state = 'running';    -- the system's: sweeper
CREATE UNIQUE INDEX job_one_per_scope ON tavern.job (account_no, scope) WHERE state = 'running';
CREATE INDEX job_ended ON tavern.job (completed_at) WHERE completed_at IS NOT NULL; -- the system's: sweeper

-- Files of jobs, in pieces: what an import reads, what an export wrote. In the database because any host may run the job.
CREATE TABLE tavern.job_file (
	account_no int NOT NULL DEFAULT tavern.acct(),
	job_no bigint NOT NULL,
	part text COLLATE "C" NOT NULL CHECK (part IN ('input', 'output')),
	at bigint NOT NULL,                     -- byte offset of this piece
	bytes bytea COMPRESSION lz4 NOT NULL,
	PRIMARY KEY (account_no, job_no, part, at),
	FOREIGN KEY (account_no, job_no) REFERENCES tavern.job (account_no, no) ON DELETE CASCADE
);
