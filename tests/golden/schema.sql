CREATE SCHEMA tavern;
CREATE FUNCTION tavern.acct() RETURNS integer
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT current_setting('tavern.account_no')::int $$;
CREATE FUNCTION tavern.now_ms() RETURNS bigint
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;
CREATE FUNCTION tavern.search_at(kind text, VARIADIC names text[]) RETURNS tsquery
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT coalesce(string_agg('''' || chr(1) || kind || n.name || '''', ' | '), '''' || chr(1) || '''')::tsquery FROM unnest(names) n (name) $$;
CREATE FUNCTION tavern.search_dense() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT '\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u2E80-\u2FDF\u3005-\u3007\u3021-\u302F\u3031-\u9FFF\uAC00-\uD7AF\uF900-\uFAFF\uFF66-\uFF9F\U00020000-\U0003FFFF' $$;
CREATE FUNCTION tavern.search_hits(wanted tsquery, most integer, oldest boolean) RETURNS bigint[]
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'tavern', 'pg_catalog'
    SET enable_bitmapscan TO 'on'
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
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
CREATE FUNCTION tavern.search_messages(q text, of_session text, of_character text, of_branch text, of_role text, inactive boolean, hidden boolean, oldest boolean, most integer) RETURNS TABLE(no bigint, rank real)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'tavern', 'pg_catalog'
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
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
CREATE FUNCTION tavern.search_place(account integer, zone integer, session bigint, segment bigint, role text) RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT array_to_tsvector(ARRAY[chr(1) || 'a' || account, chr(1) || 'z' || account || '.' || zone, chr(1) || 's' || session, chr(1) || 'g' || segment,
		chr(1) || 'r' || role]) $$;
CREATE FUNCTION tavern.search_plain(t text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
BEGIN
	RETURN CASE WHEN octet_length(t) = length(t) THEN t ELSE regexp_replace(t, '[' || tavern.search_dense() || ']+', ' ', 'g') END;
END $$;
CREATE FUNCTION tavern.search_query(q text) RETURNS tsquery
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
BEGIN
	RETURN coalesce((
		SELECT string_agg('''' || replace(replace(x.term, '\', '\\'), '''', '''''') || x.prefix, ' & ')
		  FROM (
			SELECT w.lexeme AS term, ''':*' AS prefix FROM unnest(to_tsvector('simple', tavern.search_plain(q))) w
			UNION
			SELECT substr(r.run, p.i, 2), CASE WHEN length(r.run) = 1 THEN ''':*' ELSE '''' END
			  FROM unnest(string_to_array(tavern.search_runs(q), ' ')) r (run), generate_series(1, greatest(length(r.run) - 1, 1)) p (i)) x), '')::tsquery;
END $$;
CREATE FUNCTION tavern.search_runs(t text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
BEGIN
	RETURN CASE WHEN octet_length(t) = length(t) THEN '' ELSE btrim(regexp_replace(t, '[^' || tavern.search_dense() || ']+', ' ', 'g')) END;
END $$;
CREATE FUNCTION tavern.search_sessions(of_character text, most integer) RETURNS bigint[]
    LANGUAGE sql STABLE
    SET search_path TO 'tavern', 'pg_catalog'
    AS $$
	SELECT ARRAY(SELECT s.no FROM session s
		 WHERE s.account_no = acct() AND s.deleted_at IS NULL
		   AND (s.character_id = of_character
		        OR (s.character_id IS NULL AND s.character_name = (SELECT a.name FROM asset a WHERE a.account_no = acct() AND a.kind = 'character' AND a.id = of_character)))
		 ORDER BY s.created_at DESC, s.no DESC LIMIT most)
$$;
CREATE FUNCTION tavern.search_settle() RETURNS bigint
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'tavern', 'pg_catalog'
    AS $$ SELECT gin_clean_pending_list('tavern.message_words_words') $$;
CREATE FUNCTION tavern.search_words(t text) RETURNS tsvector
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
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
CREATE FUNCTION tavern.story_analyze() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'tavern', 'pg_catalog'
    AS $$
DECLARE
	t regclass;
BEGIN
	FOR t IN SELECT c.oid FROM pg_class c WHERE c.relnamespace = 'tavern'::regnamespace AND c.relname IN ('session', 'segment', 'floor', 'page', 'message', 'message_words')
	          AND c.reltuples < 100 ORDER BY c.oid LOOP
		EXECUTE 'ANALYZE ' || t;
	END LOOP;
END $$;
CREATE TABLE tavern.account (
    no integer NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    role text DEFAULT 'user'::text NOT NULL,
    status text DEFAULT 'active'::text NOT NULL,
    is_default boolean DEFAULT false NOT NULL,
    settings json DEFAULT '{}'::json NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    CONSTRAINT account_id_check CHECK (((octet_length(id) >= 1) AND (octet_length(id) <= 128))),
    CONSTRAINT account_role_check CHECK ((role = ANY (ARRAY['user'::text, 'admin'::text]))),
    CONSTRAINT account_status_check CHECK ((status = ANY (ARRAY['active'::text, 'disabled'::text])))
);
ALTER TABLE tavern.account ALTER COLUMN no ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tavern.account_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE tavern.active_preset (
    account_no integer DEFAULT tavern.acct() NOT NULL,
    preset_id text NOT NULL COLLATE pg_catalog."C",
    activated_at bigint NOT NULL
);
CREATE TABLE tavern.api_key (
    account_no integer NOT NULL,
    no bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    prefix text NOT NULL,
    hash text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    expires_at bigint,
    revoked_at bigint,
    last_used_at bigint
);
ALTER TABLE tavern.api_key ALTER COLUMN no ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tavern.api_key_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE tavern.asset (
    account_no integer DEFAULT tavern.acct() NOT NULL,
    no bigint NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    name_key text GENERATED ALWAYS AS (lower(name)) STORED,
    source text NOT NULL,
    status text DEFAULT 'active'::text NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    revision integer DEFAULT 0 NOT NULL,
    head_no bigint,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    deleted_at bigint,
    CONSTRAINT asset_kind_check CHECK ((kind = ANY (ARRAY['character'::text, 'preset'::text, 'worldbook'::text, 'regex_profile'::text, 'user'::text]))),
    CONSTRAINT asset_status_check CHECK ((status = ANY (ARRAY['active'::text, 'disabled'::text, 'deleted'::text])))
);
ALTER TABLE tavern.asset ALTER COLUMN no ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tavern.asset_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE tavern.asset_version (
    account_no integer DEFAULT tavern.acct() NOT NULL,
    no bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    asset_no bigint NOT NULL,
    version_no integer NOT NULL,
    content_hash text NOT NULL,
    body_no bigint NOT NULL,
    parts bigint[] DEFAULT '{}'::bigint[] NOT NULL,
    raw_no bigint,
    picture_no bigint,
    receipt json,
    created_at bigint NOT NULL
);
ALTER TABLE tavern.asset_version ALTER COLUMN no ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tavern.asset_version_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE tavern.blob (
    account_no integer DEFAULT tavern.acct() NOT NULL,
    no bigint NOT NULL,
    digest bytea NOT NULL,
    mime text NOT NULL,
    bytes bytea NOT NULL,
    created_at bigint NOT NULL,
    CONSTRAINT blob_digest_check CHECK ((octet_length(digest) = 32))
);
ALTER TABLE ONLY tavern.blob ALTER COLUMN bytes SET STORAGE EXTERNAL;
ALTER TABLE tavern.blob ALTER COLUMN no ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tavern.blob_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE tavern.branch (
    account_no integer DEFAULT tavern.acct() NOT NULL,
    no bigint NOT NULL,
    session_no bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    segs bigint[] NOT NULL,
    his integer[] NOT NULL,
    head_seq integer DEFAULT '-1'::integer NOT NULL,
    forked_from text COLLATE pg_catalog."C",
    forked_at integer,
    policy json DEFAULT '{}'::json NOT NULL,
    decisions text,
    history_floors integer DEFAULT 0 NOT NULL,
    revision integer DEFAULT 0 NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    CONSTRAINT branch_check CHECK (((cardinality(segs) = cardinality(his)) AND (cardinality(segs) > 0)))
)
WITH (fillfactor='80');
ALTER TABLE ONLY tavern.branch ALTER COLUMN decisions SET COMPRESSION lz4;
ALTER TABLE tavern.branch ALTER COLUMN no ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tavern.branch_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE tavern.document (
    account_no integer DEFAULT tavern.acct() NOT NULL,
    no bigint NOT NULL,
    digest bytea NOT NULL,
    body text NOT NULL,
    created_at bigint NOT NULL,
    CONSTRAINT document_digest_check CHECK ((octet_length(digest) = 32))
);
ALTER TABLE ONLY tavern.document ALTER COLUMN body SET COMPRESSION lz4;
ALTER TABLE tavern.document ALTER COLUMN no ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tavern.document_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE tavern.event (
    account_no integer DEFAULT tavern.acct() NOT NULL,
    no bigint NOT NULL,
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    session_id text COLLATE pg_catalog."C",
    name text NOT NULL,
    data json NOT NULL,
    created_at bigint NOT NULL
);
ALTER TABLE tavern.event ALTER COLUMN no ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tavern.event_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE tavern.floor (
    account_no integer DEFAULT tavern.acct() NOT NULL,
    no bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    session_no bigint NOT NULL,
    segment_no bigint NOT NULL,
    floor_seq integer NOT NULL,
    branch_id text NOT NULL COLLATE pg_catalog."C",
    parent_id text COLLATE pg_catalog."C",
    state text NOT NULL,
    token_in integer DEFAULT 0 NOT NULL,
    token_out integer DEFAULT 0 NOT NULL,
    superseded_at bigint,
    superseded_by text COLLATE pg_catalog."C",
    committed_at bigint,
    origin text,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    CONSTRAINT floor_floor_seq_check CHECK ((floor_seq >= 0)),
    CONSTRAINT floor_state_check CHECK ((state = ANY (ARRAY['draft'::text, 'generating'::text, 'committed'::text, 'failed'::text])))
)
WITH (fillfactor='90');
ALTER TABLE ONLY tavern.floor ALTER COLUMN origin SET COMPRESSION lz4;
ALTER TABLE tavern.floor ALTER COLUMN no ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tavern.floor_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE tavern.idempotency (
    account_no integer DEFAULT tavern.acct() NOT NULL,
    route text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    hash bytea NOT NULL,
    run_no bigint NOT NULL,
    answer text,
    created_at bigint NOT NULL,
    CONSTRAINT idempotency_key_check CHECK (((octet_length(key) >= 1) AND (octet_length(key) <= 255)))
);
ALTER TABLE ONLY tavern.idempotency ALTER COLUMN answer SET COMPRESSION lz4;
CREATE TABLE tavern.job (
    account_no integer DEFAULT tavern.acct() NOT NULL,
    no bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    state text DEFAULT 'queued'::text NOT NULL,
    scope text COLLATE pg_catalog."C",
    args json DEFAULT '{}'::json NOT NULL,
    result json,
    error json,
    phase text DEFAULT 'queued'::text NOT NULL,
    progress bigint DEFAULT 0 NOT NULL,
    total bigint,
    attempts integer DEFAULT 0 NOT NULL,
    max_attempts integer DEFAULT 5 NOT NULL,
    available_at bigint NOT NULL,
    lease_until bigint,
    worker text,
    file_until bigint,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    completed_at bigint,
    CONSTRAINT job_state_check CHECK ((state = ANY (ARRAY['queued'::text, 'running'::text, 'done'::text, 'dead'::text, 'cancelled'::text])))
);
CREATE TABLE tavern.job_file (
    account_no integer DEFAULT tavern.acct() NOT NULL,
    job_no bigint NOT NULL,
    part text NOT NULL COLLATE pg_catalog."C",
    at bigint NOT NULL,
    bytes bytea NOT NULL,
    CONSTRAINT job_file_part_check CHECK ((part = ANY (ARRAY['input'::text, 'output'::text])))
);
ALTER TABLE ONLY tavern.job_file ALTER COLUMN bytes SET COMPRESSION lz4;
ALTER TABLE tavern.job ALTER COLUMN no ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tavern.job_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE tavern.message (
    account_no integer DEFAULT tavern.acct() NOT NULL,
    no bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    page_no bigint NOT NULL,
    segment_no bigint NOT NULL,
    floor_seq integer NOT NULL,
    side smallint NOT NULL,
    seq integer NOT NULL,
    active boolean NOT NULL,
    is_hidden boolean DEFAULT false NOT NULL,
    role text NOT NULL,
    name text,
    content text NOT NULL,
    sent text,
    rolls json,
    content_format text DEFAULT 'text'::text NOT NULL,
    source text,
    token_count integer DEFAULT 0 NOT NULL,
    origin text,
    created_at bigint NOT NULL,
    CONSTRAINT message_content_format_check CHECK ((content_format = ANY (ARRAY['text'::text, 'markdown'::text, 'json'::text]))),
    CONSTRAINT message_role_check CHECK ((role = ANY (ARRAY['user'::text, 'assistant'::text, 'system'::text, 'narrator'::text]))),
    CONSTRAINT message_seq_check CHECK ((seq >= 0))
);
ALTER TABLE ONLY tavern.message ALTER COLUMN content SET COMPRESSION lz4;
ALTER TABLE ONLY tavern.message ALTER COLUMN sent SET COMPRESSION lz4;
ALTER TABLE ONLY tavern.message ALTER COLUMN origin SET COMPRESSION lz4;
ALTER TABLE tavern.message ALTER COLUMN no ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tavern.message_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE tavern.message_words (
    account_no integer DEFAULT tavern.acct() NOT NULL,
    message_no bigint NOT NULL,
    zone integer NOT NULL,
    words tsvector NOT NULL
);
ALTER TABLE ONLY tavern.message_words ALTER COLUMN words SET COMPRESSION lz4;
CREATE TABLE tavern.migration (
    number integer NOT NULL,
    name text NOT NULL,
    checksum bytea NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE tavern.page (
    account_no integer DEFAULT tavern.acct() NOT NULL,
    no bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    floor_no bigint NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    page_seq integer NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    active boolean DEFAULT false NOT NULL,
    state text DEFAULT 'committed'::text NOT NULL,
    checksum text,
    reasoning text,
    summaries json,
    usage json,
    finish_reason text,
    model text,
    error json,
    run_no bigint,
    origin text,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    CONSTRAINT page_kind_check CHECK ((kind = ANY (ARRAY['input'::text, 'output'::text, 'mixed'::text]))),
    CONSTRAINT page_page_seq_check CHECK ((page_seq >= 0)),
    CONSTRAINT page_state_check CHECK ((state = ANY (ARRAY['draft'::text, 'generating'::text, 'committed'::text, 'failed'::text])))
);
ALTER TABLE ONLY tavern.page ALTER COLUMN origin SET COMPRESSION lz4;
ALTER TABLE tavern.page ALTER COLUMN no ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tavern.page_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE tavern.run (
    account_no integer DEFAULT tavern.acct() NOT NULL,
    no bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    session_no bigint NOT NULL,
    branch_no bigint NOT NULL,
    floor_no bigint NOT NULL,
    page_no bigint,
    type text NOT NULL,
    state text NOT NULL,
    phase text NOT NULL,
    phase_seq integer DEFAULT 0 NOT NULL,
    attempt_no integer DEFAULT 1 NOT NULL,
    lease_until bigint NOT NULL,
    worker text NOT NULL,
    on_disconnect text DEFAULT 'abort'::text NOT NULL,
    config json DEFAULT '{}'::json NOT NULL,
    said_from integer DEFAULT 0 NOT NULL,
    error json,
    verifier json,
    started_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    completed_at bigint,
    CONSTRAINT run_on_disconnect_check CHECK ((on_disconnect = ANY (ARRAY['abort'::text, 'continue'::text]))),
    CONSTRAINT run_state_check CHECK ((state = ANY (ARRAY['running'::text, 'completed'::text, 'failed'::text, 'cancelled'::text]))),
    CONSTRAINT run_type_check CHECK ((type = ANY (ARRAY['respond'::text, 'regenerate_page'::text, 'retry_turn'::text, 'edit_and_regenerate'::text])))
)
WITH (fillfactor='80');
ALTER TABLE tavern.run ALTER COLUMN no ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tavern.run_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE tavern.run_text (
    account_no integer NOT NULL,
    run_no bigint NOT NULL,
    reasoning boolean DEFAULT false NOT NULL,
    at integer NOT NULL,
    text text NOT NULL
);
CREATE TABLE tavern.search_mark (
    account_no integer DEFAULT tavern.acct() NOT NULL,
    upto bigint NOT NULL,
    filled bigint DEFAULT 0 NOT NULL,
    seen bigint NOT NULL,
    seen_xid xid8 NOT NULL
);
CREATE TABLE tavern.segment (
    account_no integer DEFAULT tavern.acct() NOT NULL,
    no bigint NOT NULL,
    session_no bigint NOT NULL,
    shared_upto integer DEFAULT '-1'::integer NOT NULL
);
ALTER TABLE tavern.segment ALTER COLUMN no ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tavern.segment_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE tavern.session (
    account_no integer DEFAULT tavern.acct() NOT NULL,
    no bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    title text,
    title_key text GENERATED ALWAYS AS (lower(title)) STORED,
    status text DEFAULT 'active'::text NOT NULL,
    prompt_mode text DEFAULT 'compat_strict'::text NOT NULL,
    model_provider text,
    model_name text,
    model_params json,
    metadata json,
    settings json DEFAULT '{}'::json NOT NULL,
    policy json DEFAULT '{}'::json NOT NULL,
    preset_choices json,
    preset_id text COLLATE pg_catalog."C",
    preset_version_id text COLLATE pg_catalog."C",
    worldbook_profile_id text COLLATE pg_catalog."C",
    worldbook_version_id text COLLATE pg_catalog."C",
    regex_profile_id text COLLATE pg_catalog."C",
    regex_profile_version_id text COLLATE pg_catalog."C",
    deep_binding boolean DEFAULT false NOT NULL,
    character_id text COLLATE pg_catalog."C",
    character_version_id text COLLATE pg_catalog."C",
    character_sync_policy text,
    character_doc bigint,
    character_name text,
    character_greeting boolean,
    user_id text COLLATE pg_catalog."C",
    user_doc bigint,
    user_name text,
    revision integer DEFAULT 0 NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    deleted_at bigint,
    origin text,
    CONSTRAINT session_character_sync_policy_check CHECK ((character_sync_policy = ANY (ARRAY['pin'::text, 'manual'::text, 'force'::text]))),
    CONSTRAINT session_prompt_mode_check CHECK ((prompt_mode = ANY (ARRAY['compat_strict'::text, 'compat_plus'::text, 'native'::text, 'rearrange'::text]))),
    CONSTRAINT session_status_check CHECK ((status = ANY (ARRAY['active'::text, 'archived'::text])))
)
WITH (fillfactor='80');
ALTER TABLE ONLY tavern.session ALTER COLUMN origin SET COMPRESSION lz4;
ALTER TABLE tavern.session ALTER COLUMN no ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tavern.session_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE tavern.turn_frame (
    account_no integer DEFAULT tavern.acct() NOT NULL,
    no bigint NOT NULL,
    session_no bigint NOT NULL,
    digest bytea NOT NULL,
    body text NOT NULL,
    CONSTRAINT turn_frame_digest_check CHECK ((octet_length(digest) = 32))
);
ALTER TABLE ONLY tavern.turn_frame ALTER COLUMN body SET COMPRESSION lz4;
ALTER TABLE tavern.turn_frame ALTER COLUMN no ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tavern.turn_frame_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE tavern.turn_record (
    account_no integer DEFAULT tavern.acct() NOT NULL,
    page_no bigint NOT NULL,
    preset_version bigint,
    worldbook_versions bigint[] DEFAULT '{}'::bigint[] NOT NULL,
    regex_versions bigint[] DEFAULT '{}'::bigint[] NOT NULL,
    character_doc bigint,
    user_doc bigint,
    seed bigint NOT NULL,
    clock bigint NOT NULL,
    prompt_mode text NOT NULL,
    policy json DEFAULT '{}'::json NOT NULL,
    activated json DEFAULT '[]'::json NOT NULL,
    prompt_digest text NOT NULL,
    token_estimate integer NOT NULL,
    snapshot json NOT NULL,
    explain text,
    frame_no bigint,
    inputs text,
    request_digest text,
    request text,
    created_at bigint NOT NULL
);
ALTER TABLE ONLY tavern.turn_record ALTER COLUMN explain SET COMPRESSION lz4;
ALTER TABLE ONLY tavern.turn_record ALTER COLUMN inputs SET COMPRESSION lz4;
ALTER TABLE ONLY tavern.turn_record ALTER COLUMN request SET COMPRESSION lz4;
CREATE TABLE tavern.var_change (
    account_no integer DEFAULT tavern.acct() NOT NULL,
    no bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    session_no bigint,
    segment_no bigint,
    floor_seq integer,
    page_no bigint,
    active boolean DEFAULT true NOT NULL,
    scope text NOT NULL,
    scope_no bigint NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    path text,
    new_value text,
    source text NOT NULL,
    detail json,
    created_at bigint NOT NULL,
    CONSTRAINT var_change_source_check CHECK ((source = ANY (ARRAY['client'::text, 'macro'::text, 'tool'::text, 'fork'::text, 'promotion'::text, 'import'::text, 'memory'::text])))
);
ALTER TABLE ONLY tavern.var_change ALTER COLUMN new_value SET COMPRESSION lz4;
ALTER TABLE tavern.var_change ALTER COLUMN no ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tavern.var_change_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE tavern.variable (
    account_no integer DEFAULT tavern.acct() NOT NULL,
    no bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    scope text NOT NULL COLLATE pg_catalog."C",
    scope_no bigint NOT NULL,
    scope_id text NOT NULL COLLATE pg_catalog."C",
    session_no bigint,
    branch_id text COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL,
    revision integer DEFAULT 0 NOT NULL,
    updated_at bigint NOT NULL,
    CONSTRAINT variable_key_check CHECK (((octet_length(key) >= 1) AND (octet_length(key) <= 1024))),
    CONSTRAINT variable_scope_check CHECK ((scope = ANY (ARRAY['global'::text, 'chat'::text, 'branch'::text, 'floor'::text, 'page'::text])))
);
ALTER TABLE ONLY tavern.variable ALTER COLUMN value SET COMPRESSION lz4;
ALTER TABLE tavern.variable ALTER COLUMN no ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tavern.variable_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
ALTER TABLE ONLY tavern.account
    ADD CONSTRAINT account_id_key UNIQUE (id);
ALTER TABLE ONLY tavern.account
    ADD CONSTRAINT account_pkey PRIMARY KEY (no);
ALTER TABLE ONLY tavern.active_preset
    ADD CONSTRAINT active_preset_pkey PRIMARY KEY (account_no);
ALTER TABLE ONLY tavern.api_key
    ADD CONSTRAINT api_key_account_no_id_key UNIQUE (account_no, id);
ALTER TABLE ONLY tavern.api_key
    ADD CONSTRAINT api_key_hash_key UNIQUE (hash);
ALTER TABLE ONLY tavern.api_key
    ADD CONSTRAINT api_key_pkey PRIMARY KEY (account_no, no);
ALTER TABLE ONLY tavern.asset
    ADD CONSTRAINT asset_id_key UNIQUE (account_no, kind, id);
ALTER TABLE ONLY tavern.asset
    ADD CONSTRAINT asset_pkey PRIMARY KEY (account_no, no);
ALTER TABLE ONLY tavern.asset_version
    ADD CONSTRAINT asset_version_id_key UNIQUE (account_no, id);
ALTER TABLE ONLY tavern.asset_version
    ADD CONSTRAINT asset_version_no_key UNIQUE (account_no, asset_no, version_no);
ALTER TABLE ONLY tavern.asset_version
    ADD CONSTRAINT asset_version_pkey PRIMARY KEY (account_no, no);
ALTER TABLE ONLY tavern.blob
    ADD CONSTRAINT blob_digest_key UNIQUE (account_no, digest);
ALTER TABLE ONLY tavern.blob
    ADD CONSTRAINT blob_pkey PRIMARY KEY (account_no, no);
ALTER TABLE ONLY tavern.branch
    ADD CONSTRAINT branch_id_key UNIQUE (account_no, session_no, id);
ALTER TABLE ONLY tavern.branch
    ADD CONSTRAINT branch_pkey PRIMARY KEY (account_no, no);
ALTER TABLE ONLY tavern.document
    ADD CONSTRAINT document_digest_key UNIQUE (account_no, digest);
ALTER TABLE ONLY tavern.document
    ADD CONSTRAINT document_pkey PRIMARY KEY (account_no, no);
ALTER TABLE ONLY tavern.event
    ADD CONSTRAINT event_pkey PRIMARY KEY (account_no, xid, no);
ALTER TABLE ONLY tavern.floor
    ADD CONSTRAINT floor_id_key UNIQUE (account_no, id);
ALTER TABLE ONLY tavern.floor
    ADD CONSTRAINT floor_pkey PRIMARY KEY (account_no, no);
ALTER TABLE ONLY tavern.floor
    ADD CONSTRAINT floor_seq_key UNIQUE (account_no, segment_no, floor_seq);
ALTER TABLE ONLY tavern.idempotency
    ADD CONSTRAINT idempotency_pkey PRIMARY KEY (account_no, route, key);
ALTER TABLE ONLY tavern.job_file
    ADD CONSTRAINT job_file_pkey PRIMARY KEY (account_no, job_no, part, at);
ALTER TABLE ONLY tavern.job
    ADD CONSTRAINT job_id_key UNIQUE (account_no, id);
ALTER TABLE ONLY tavern.job
    ADD CONSTRAINT job_pkey PRIMARY KEY (account_no, no);
ALTER TABLE ONLY tavern.message
    ADD CONSTRAINT message_id_key UNIQUE (account_no, id);
ALTER TABLE ONLY tavern.message
    ADD CONSTRAINT message_pkey PRIMARY KEY (account_no, no);
ALTER TABLE ONLY tavern.message
    ADD CONSTRAINT message_seq_key UNIQUE (account_no, page_no, seq);
ALTER TABLE ONLY tavern.message_words
    ADD CONSTRAINT message_words_pkey PRIMARY KEY (account_no, message_no);
ALTER TABLE ONLY tavern.migration
    ADD CONSTRAINT migration_pkey PRIMARY KEY (number);
ALTER TABLE ONLY tavern.page
    ADD CONSTRAINT page_id_key UNIQUE (account_no, id);
ALTER TABLE ONLY tavern.page
    ADD CONSTRAINT page_pkey PRIMARY KEY (account_no, no);
ALTER TABLE ONLY tavern.page
    ADD CONSTRAINT page_seq_key UNIQUE (account_no, floor_no, kind, page_seq, version);
ALTER TABLE ONLY tavern.run
    ADD CONSTRAINT run_pkey PRIMARY KEY (account_no, no);
ALTER TABLE ONLY tavern.run_text
    ADD CONSTRAINT run_text_pkey PRIMARY KEY (account_no, run_no, reasoning, at);
ALTER TABLE ONLY tavern.search_mark
    ADD CONSTRAINT search_mark_pkey PRIMARY KEY (account_no);
ALTER TABLE ONLY tavern.segment
    ADD CONSTRAINT segment_pkey PRIMARY KEY (account_no, no);
ALTER TABLE ONLY tavern.session
    ADD CONSTRAINT session_id_key UNIQUE (account_no, id);
ALTER TABLE ONLY tavern.session
    ADD CONSTRAINT session_pkey PRIMARY KEY (account_no, no);
ALTER TABLE ONLY tavern.turn_frame
    ADD CONSTRAINT turn_frame_key UNIQUE (account_no, session_no, digest);
ALTER TABLE ONLY tavern.turn_frame
    ADD CONSTRAINT turn_frame_pkey PRIMARY KEY (account_no, no);
ALTER TABLE ONLY tavern.turn_record
    ADD CONSTRAINT turn_record_pkey PRIMARY KEY (account_no, page_no);
ALTER TABLE ONLY tavern.var_change
    ADD CONSTRAINT var_change_pkey PRIMARY KEY (account_no, no);
ALTER TABLE ONLY tavern.variable
    ADD CONSTRAINT variable_id_key UNIQUE (account_no, id);
ALTER TABLE ONLY tavern.variable
    ADD CONSTRAINT variable_key UNIQUE (account_no, scope, scope_no, key);
ALTER TABLE ONLY tavern.variable
    ADD CONSTRAINT variable_pkey PRIMARY KEY (account_no, no);
CREATE UNIQUE INDEX account_one_default ON tavern.account USING btree (is_default) WHERE is_default;
CREATE INDEX asset_list ON tavern.asset USING btree (account_no, kind, created_at DESC, no DESC) WHERE (deleted_at IS NULL);
CREATE UNIQUE INDEX asset_user_name_key ON tavern.asset USING btree (account_no, name) WHERE ((kind = 'user'::text) AND (deleted_at IS NULL));
CREATE INDEX event_order ON tavern.event USING btree (xid, no);
CREATE INDEX floor_session ON tavern.floor USING btree (account_no, session_no);
CREATE INDEX idempotency_age ON tavern.idempotency USING btree (created_at);
CREATE INDEX idempotency_run ON tavern.idempotency USING btree (account_no, run_no);
CREATE INDEX job_claim ON tavern.job USING btree (available_at) WHERE (state = 'queued'::text);
CREATE INDEX job_ended ON tavern.job USING btree (completed_at) WHERE (completed_at IS NOT NULL);
CREATE INDEX job_lease ON tavern.job USING btree (lease_until) WHERE (state = 'running'::text);
CREATE UNIQUE INDEX job_one_per_scope ON tavern.job USING btree (account_no, scope) WHERE (state = 'running'::text);
CREATE INDEX message_story ON tavern.message USING btree (account_no, segment_no, floor_seq, side, page_no, seq);
CREATE INDEX message_words_words ON tavern.message_words USING gin (words);
CREATE UNIQUE INDEX page_one_active ON tavern.page USING btree (account_no, floor_no, kind) WHERE active;
CREATE INDEX run_floor ON tavern.run USING btree (account_no, floor_no, no DESC);
CREATE UNIQUE INDEX run_one_per_branch ON tavern.run USING btree (account_no, branch_no) WHERE (state = 'running'::text);
CREATE INDEX segment_session ON tavern.segment USING btree (account_no, session_no);
CREATE INDEX session_deleted ON tavern.session USING btree (deleted_at) WHERE (deleted_at IS NOT NULL);
CREATE INDEX session_list ON tavern.session USING btree (account_no, created_at DESC, no DESC) WHERE (deleted_at IS NULL);
CREATE INDEX var_change_key ON tavern.var_change USING btree (account_no, segment_no, key, floor_seq DESC, no DESC) WHERE active;
CREATE INDEX var_change_page ON tavern.var_change USING btree (account_no, page_no);
CREATE INDEX var_change_session ON tavern.var_change USING btree (account_no, session_no, no);
CREATE INDEX var_change_wide ON tavern.var_change USING btree (account_no, scope, scope_no, key, no DESC) WHERE (scope = ANY (ARRAY['global'::text, 'chat'::text]));
CREATE INDEX variable_session ON tavern.variable USING btree (account_no, session_no);
ALTER TABLE ONLY tavern.active_preset
    ADD CONSTRAINT active_preset_account_no_fkey FOREIGN KEY (account_no) REFERENCES tavern.account(no) ON DELETE CASCADE;
ALTER TABLE ONLY tavern.api_key
    ADD CONSTRAINT api_key_account_no_fkey FOREIGN KEY (account_no) REFERENCES tavern.account(no) ON DELETE CASCADE;
ALTER TABLE ONLY tavern.asset
    ADD CONSTRAINT asset_account_no_fkey FOREIGN KEY (account_no) REFERENCES tavern.account(no) ON DELETE CASCADE;
ALTER TABLE ONLY tavern.asset
    ADD CONSTRAINT asset_head_fkey FOREIGN KEY (account_no, head_no) REFERENCES tavern.asset_version(account_no, no) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY tavern.asset_version
    ADD CONSTRAINT asset_version_account_no_asset_no_fkey FOREIGN KEY (account_no, asset_no) REFERENCES tavern.asset(account_no, no) ON DELETE CASCADE;
ALTER TABLE ONLY tavern.asset_version
    ADD CONSTRAINT asset_version_account_no_body_no_fkey FOREIGN KEY (account_no, body_no) REFERENCES tavern.document(account_no, no) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY tavern.asset_version
    ADD CONSTRAINT asset_version_account_no_picture_no_fkey FOREIGN KEY (account_no, picture_no) REFERENCES tavern.blob(account_no, no) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY tavern.asset_version
    ADD CONSTRAINT asset_version_account_no_raw_no_fkey FOREIGN KEY (account_no, raw_no) REFERENCES tavern.document(account_no, no) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY tavern.blob
    ADD CONSTRAINT blob_account_no_fkey FOREIGN KEY (account_no) REFERENCES tavern.account(no) ON DELETE CASCADE;
ALTER TABLE ONLY tavern.branch
    ADD CONSTRAINT branch_account_no_session_no_fkey FOREIGN KEY (account_no, session_no) REFERENCES tavern.session(account_no, no) ON DELETE CASCADE;
ALTER TABLE ONLY tavern.document
    ADD CONSTRAINT document_account_no_fkey FOREIGN KEY (account_no) REFERENCES tavern.account(no) ON DELETE CASCADE;
ALTER TABLE ONLY tavern.floor
    ADD CONSTRAINT floor_account_no_segment_no_fkey FOREIGN KEY (account_no, segment_no) REFERENCES tavern.segment(account_no, no) ON DELETE CASCADE;
ALTER TABLE ONLY tavern.idempotency
    ADD CONSTRAINT idempotency_account_no_run_no_fkey FOREIGN KEY (account_no, run_no) REFERENCES tavern.run(account_no, no) ON DELETE CASCADE;
ALTER TABLE ONLY tavern.job
    ADD CONSTRAINT job_account_no_fkey FOREIGN KEY (account_no) REFERENCES tavern.account(no) ON DELETE CASCADE;
ALTER TABLE ONLY tavern.job_file
    ADD CONSTRAINT job_file_account_no_job_no_fkey FOREIGN KEY (account_no, job_no) REFERENCES tavern.job(account_no, no) ON DELETE CASCADE;
ALTER TABLE ONLY tavern.message
    ADD CONSTRAINT message_account_no_page_no_fkey FOREIGN KEY (account_no, page_no) REFERENCES tavern.page(account_no, no) ON DELETE CASCADE;
ALTER TABLE ONLY tavern.message_words
    ADD CONSTRAINT message_words_account_no_message_no_fkey FOREIGN KEY (account_no, message_no) REFERENCES tavern.message(account_no, no) ON DELETE CASCADE;
ALTER TABLE ONLY tavern.page
    ADD CONSTRAINT page_account_no_floor_no_fkey FOREIGN KEY (account_no, floor_no) REFERENCES tavern.floor(account_no, no) ON DELETE CASCADE;
ALTER TABLE ONLY tavern.run
    ADD CONSTRAINT run_account_no_floor_no_fkey FOREIGN KEY (account_no, floor_no) REFERENCES tavern.floor(account_no, no) ON DELETE CASCADE;
ALTER TABLE ONLY tavern.run_text
    ADD CONSTRAINT run_text_account_no_run_no_fkey FOREIGN KEY (account_no, run_no) REFERENCES tavern.run(account_no, no) ON DELETE CASCADE;
ALTER TABLE ONLY tavern.search_mark
    ADD CONSTRAINT search_mark_account_no_fkey FOREIGN KEY (account_no) REFERENCES tavern.account(no) ON DELETE CASCADE;
ALTER TABLE ONLY tavern.segment
    ADD CONSTRAINT segment_account_no_session_no_fkey FOREIGN KEY (account_no, session_no) REFERENCES tavern.session(account_no, no) ON DELETE CASCADE;
ALTER TABLE ONLY tavern.session
    ADD CONSTRAINT session_account_no_character_doc_fkey FOREIGN KEY (account_no, character_doc) REFERENCES tavern.document(account_no, no) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY tavern.session
    ADD CONSTRAINT session_account_no_fkey FOREIGN KEY (account_no) REFERENCES tavern.account(no) ON DELETE CASCADE;
ALTER TABLE ONLY tavern.session
    ADD CONSTRAINT session_account_no_user_doc_fkey FOREIGN KEY (account_no, user_doc) REFERENCES tavern.document(account_no, no) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY tavern.turn_frame
    ADD CONSTRAINT turn_frame_account_no_session_no_fkey FOREIGN KEY (account_no, session_no) REFERENCES tavern.session(account_no, no) ON DELETE CASCADE;
ALTER TABLE ONLY tavern.turn_record
    ADD CONSTRAINT turn_record_account_no_page_no_fkey FOREIGN KEY (account_no, page_no) REFERENCES tavern.page(account_no, no) ON DELETE CASCADE;
ALTER TABLE ONLY tavern.var_change
    ADD CONSTRAINT var_change_account_no_fkey FOREIGN KEY (account_no) REFERENCES tavern.account(no) ON DELETE CASCADE;
ALTER TABLE ONLY tavern.var_change
    ADD CONSTRAINT var_change_account_no_session_no_fkey FOREIGN KEY (account_no, session_no) REFERENCES tavern.session(account_no, no) ON DELETE CASCADE;
ALTER TABLE ONLY tavern.variable
    ADD CONSTRAINT variable_account_no_fkey FOREIGN KEY (account_no) REFERENCES tavern.account(no) ON DELETE CASCADE;
ALTER TABLE ONLY tavern.variable
    ADD CONSTRAINT variable_account_no_session_no_fkey FOREIGN KEY (account_no, session_no) REFERENCES tavern.session(account_no, no) ON DELETE CASCADE;
ALTER TABLE tavern.account ENABLE ROW LEVEL SECURITY;
ALTER TABLE tavern.active_preset ENABLE ROW LEVEL SECURITY;
ALTER TABLE tavern.api_key ENABLE ROW LEVEL SECURITY;
ALTER TABLE tavern.asset ENABLE ROW LEVEL SECURITY;
ALTER TABLE tavern.asset_version ENABLE ROW LEVEL SECURITY;
ALTER TABLE tavern.blob ENABLE ROW LEVEL SECURITY;
ALTER TABLE tavern.branch ENABLE ROW LEVEL SECURITY;
ALTER TABLE tavern.document ENABLE ROW LEVEL SECURITY;
CREATE POLICY enter ON tavern.account TO tavern_app, tavern_sys USING (true);
CREATE POLICY enter ON tavern.api_key TO tavern_app, tavern_sys USING (true);
ALTER TABLE tavern.event ENABLE ROW LEVEL SECURITY;
ALTER TABLE tavern.floor ENABLE ROW LEVEL SECURITY;
ALTER TABLE tavern.idempotency ENABLE ROW LEVEL SECURITY;
ALTER TABLE tavern.job ENABLE ROW LEVEL SECURITY;
ALTER TABLE tavern.job_file ENABLE ROW LEVEL SECURITY;
ALTER TABLE tavern.message ENABLE ROW LEVEL SECURITY;
ALTER TABLE tavern.message_words ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON tavern.active_preset TO tavern_app USING ((account_no = tavern.acct()));
CREATE POLICY own ON tavern.asset TO tavern_app USING ((account_no = tavern.acct()));
CREATE POLICY own ON tavern.asset_version TO tavern_app USING ((account_no = tavern.acct()));
CREATE POLICY own ON tavern.blob TO tavern_app USING ((account_no = tavern.acct()));
CREATE POLICY own ON tavern.branch TO tavern_app USING ((account_no = tavern.acct()));
CREATE POLICY own ON tavern.document TO tavern_app USING ((account_no = tavern.acct()));
CREATE POLICY own ON tavern.event TO tavern_app USING ((account_no = tavern.acct()));
CREATE POLICY own ON tavern.floor TO tavern_app USING ((account_no = tavern.acct()));
CREATE POLICY own ON tavern.idempotency TO tavern_app USING ((account_no = tavern.acct()));
CREATE POLICY own ON tavern.job TO tavern_app USING ((account_no = tavern.acct()));
CREATE POLICY own ON tavern.job_file TO tavern_app USING ((account_no = tavern.acct()));
CREATE POLICY own ON tavern.message TO tavern_app USING ((account_no = tavern.acct()));
CREATE POLICY own ON tavern.message_words TO tavern_app USING ((account_no = tavern.acct()));
CREATE POLICY own ON tavern.page TO tavern_app USING ((account_no = tavern.acct()));
CREATE POLICY own ON tavern.run TO tavern_app USING ((account_no = tavern.acct()));
CREATE POLICY own ON tavern.run_text TO tavern_app USING ((account_no = tavern.acct()));
CREATE POLICY own ON tavern.search_mark TO tavern_app USING ((account_no = tavern.acct()));
CREATE POLICY own ON tavern.segment TO tavern_app USING ((account_no = tavern.acct()));
CREATE POLICY own ON tavern.session TO tavern_app USING ((account_no = tavern.acct()));
CREATE POLICY own ON tavern.turn_frame TO tavern_app USING ((account_no = tavern.acct()));
CREATE POLICY own ON tavern.turn_record TO tavern_app USING ((account_no = tavern.acct()));
CREATE POLICY own ON tavern.var_change TO tavern_app USING ((account_no = tavern.acct()));
CREATE POLICY own ON tavern.variable TO tavern_app USING ((account_no = tavern.acct()));
ALTER TABLE tavern.page ENABLE ROW LEVEL SECURITY;
ALTER TABLE tavern.run ENABLE ROW LEVEL SECURITY;
ALTER TABLE tavern.run_text ENABLE ROW LEVEL SECURITY;
ALTER TABLE tavern.search_mark ENABLE ROW LEVEL SECURITY;
ALTER TABLE tavern.segment ENABLE ROW LEVEL SECURITY;
ALTER TABLE tavern.session ENABLE ROW LEVEL SECURITY;
CREATE POLICY sys ON tavern.branch TO tavern_sys USING (true);
CREATE POLICY sys ON tavern.document TO tavern_sys USING (true);
CREATE POLICY sys ON tavern.event TO tavern_sys USING (true);
CREATE POLICY sys ON tavern.floor TO tavern_sys USING (true);
CREATE POLICY sys ON tavern.idempotency TO tavern_sys USING (true);
CREATE POLICY sys ON tavern.job TO tavern_sys USING (true);
CREATE POLICY sys ON tavern.job_file TO tavern_sys USING (true);
CREATE POLICY sys ON tavern.message TO tavern_sys USING (true);
CREATE POLICY sys ON tavern.page TO tavern_sys USING (true);
CREATE POLICY sys ON tavern.run TO tavern_sys USING (true);
CREATE POLICY sys ON tavern.run_text TO tavern_sys USING (true);
CREATE POLICY sys ON tavern.search_mark TO tavern_sys USING (true);
CREATE POLICY sys ON tavern.segment TO tavern_sys USING (true);
CREATE POLICY sys ON tavern.session TO tavern_sys USING (true);
CREATE POLICY sys ON tavern.var_change TO tavern_sys USING (true);
CREATE POLICY sys ON tavern.variable TO tavern_sys USING (true);
ALTER TABLE tavern.turn_frame ENABLE ROW LEVEL SECURITY;
ALTER TABLE tavern.turn_record ENABLE ROW LEVEL SECURITY;
ALTER TABLE tavern.var_change ENABLE ROW LEVEL SECURITY;
ALTER TABLE tavern.variable ENABLE ROW LEVEL SECURITY;
GRANT USAGE ON SCHEMA tavern TO tavern_app;
GRANT USAGE ON SCHEMA tavern TO tavern_sys;
GRANT ALL ON FUNCTION tavern.acct() TO tavern_app;
GRANT ALL ON FUNCTION tavern.acct() TO tavern_sys;
GRANT ALL ON FUNCTION tavern.now_ms() TO tavern_app;
GRANT ALL ON FUNCTION tavern.now_ms() TO tavern_sys;
GRANT ALL ON FUNCTION tavern.search_at(kind text, VARIADIC names text[]) TO tavern_app;
GRANT ALL ON FUNCTION tavern.search_at(kind text, VARIADIC names text[]) TO tavern_sys;
GRANT ALL ON FUNCTION tavern.search_dense() TO tavern_app;
GRANT ALL ON FUNCTION tavern.search_dense() TO tavern_sys;
GRANT ALL ON FUNCTION tavern.search_hits(wanted tsquery, most integer, oldest boolean) TO tavern_app;
GRANT ALL ON FUNCTION tavern.search_hits(wanted tsquery, most integer, oldest boolean) TO tavern_sys;
GRANT ALL ON FUNCTION tavern.search_messages(q text, of_session text, of_character text, of_branch text, of_role text, inactive boolean, hidden boolean, oldest boolean, most integer) TO tavern_app;
GRANT ALL ON FUNCTION tavern.search_messages(q text, of_session text, of_character text, of_branch text, of_role text, inactive boolean, hidden boolean, oldest boolean, most integer) TO tavern_sys;
GRANT ALL ON FUNCTION tavern.search_place(account integer, zone integer, session bigint, segment bigint, role text) TO tavern_app;
GRANT ALL ON FUNCTION tavern.search_place(account integer, zone integer, session bigint, segment bigint, role text) TO tavern_sys;
GRANT ALL ON FUNCTION tavern.search_plain(t text) TO tavern_app;
GRANT ALL ON FUNCTION tavern.search_plain(t text) TO tavern_sys;
GRANT ALL ON FUNCTION tavern.search_query(q text) TO tavern_app;
GRANT ALL ON FUNCTION tavern.search_query(q text) TO tavern_sys;
GRANT ALL ON FUNCTION tavern.search_runs(t text) TO tavern_app;
GRANT ALL ON FUNCTION tavern.search_runs(t text) TO tavern_sys;
GRANT ALL ON FUNCTION tavern.search_sessions(of_character text, most integer) TO tavern_app;
GRANT ALL ON FUNCTION tavern.search_sessions(of_character text, most integer) TO tavern_sys;
GRANT ALL ON FUNCTION tavern.search_settle() TO tavern_app;
GRANT ALL ON FUNCTION tavern.search_settle() TO tavern_sys;
GRANT ALL ON FUNCTION tavern.search_words(t text) TO tavern_app;
GRANT ALL ON FUNCTION tavern.search_words(t text) TO tavern_sys;
GRANT ALL ON FUNCTION tavern.story_analyze() TO tavern_app;
GRANT ALL ON FUNCTION tavern.story_analyze() TO tavern_sys;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE tavern.account TO tavern_app;
GRANT SELECT ON TABLE tavern.account TO tavern_sys;
GRANT USAGE ON SEQUENCE tavern.account_no_seq TO tavern_app;
GRANT USAGE ON SEQUENCE tavern.account_no_seq TO tavern_sys;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE tavern.active_preset TO tavern_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE tavern.api_key TO tavern_app;
GRANT SELECT(account_no) ON TABLE tavern.api_key TO tavern_sys;
GRANT SELECT(hash) ON TABLE tavern.api_key TO tavern_sys;
GRANT SELECT(expires_at) ON TABLE tavern.api_key TO tavern_sys;
GRANT SELECT(revoked_at) ON TABLE tavern.api_key TO tavern_sys;
GRANT USAGE ON SEQUENCE tavern.api_key_no_seq TO tavern_app;
GRANT USAGE ON SEQUENCE tavern.api_key_no_seq TO tavern_sys;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE tavern.asset TO tavern_app;
GRANT USAGE ON SEQUENCE tavern.asset_no_seq TO tavern_app;
GRANT USAGE ON SEQUENCE tavern.asset_no_seq TO tavern_sys;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE tavern.asset_version TO tavern_app;
GRANT USAGE ON SEQUENCE tavern.asset_version_no_seq TO tavern_app;
GRANT USAGE ON SEQUENCE tavern.asset_version_no_seq TO tavern_sys;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE tavern.blob TO tavern_app;
GRANT USAGE ON SEQUENCE tavern.blob_no_seq TO tavern_app;
GRANT USAGE ON SEQUENCE tavern.blob_no_seq TO tavern_sys;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE tavern.branch TO tavern_app;
GRANT SELECT ON TABLE tavern.branch TO tavern_sys;
GRANT USAGE ON SEQUENCE tavern.branch_no_seq TO tavern_app;
GRANT USAGE ON SEQUENCE tavern.branch_no_seq TO tavern_sys;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE tavern.document TO tavern_app;
GRANT SELECT ON TABLE tavern.document TO tavern_sys;
GRANT USAGE ON SEQUENCE tavern.document_no_seq TO tavern_app;
GRANT USAGE ON SEQUENCE tavern.document_no_seq TO tavern_sys;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE tavern.event TO tavern_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE tavern.event TO tavern_sys;
GRANT USAGE ON SEQUENCE tavern.event_no_seq TO tavern_app;
GRANT USAGE ON SEQUENCE tavern.event_no_seq TO tavern_sys;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE tavern.floor TO tavern_app;
GRANT SELECT,DELETE,UPDATE ON TABLE tavern.floor TO tavern_sys;
GRANT USAGE ON SEQUENCE tavern.floor_no_seq TO tavern_app;
GRANT USAGE ON SEQUENCE tavern.floor_no_seq TO tavern_sys;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE tavern.idempotency TO tavern_app;
GRANT SELECT,DELETE ON TABLE tavern.idempotency TO tavern_sys;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE tavern.job TO tavern_app;
GRANT SELECT,DELETE,UPDATE ON TABLE tavern.job TO tavern_sys;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE tavern.job_file TO tavern_app;
GRANT SELECT,DELETE ON TABLE tavern.job_file TO tavern_sys;
GRANT USAGE ON SEQUENCE tavern.job_no_seq TO tavern_app;
GRANT USAGE ON SEQUENCE tavern.job_no_seq TO tavern_sys;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE tavern.message TO tavern_app;
GRANT SELECT,INSERT,UPDATE ON TABLE tavern.message TO tavern_sys;
GRANT USAGE ON SEQUENCE tavern.message_no_seq TO tavern_app;
GRANT USAGE ON SEQUENCE tavern.message_no_seq TO tavern_sys;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE tavern.message_words TO tavern_app;
GRANT SELECT ON TABLE tavern.migration TO tavern_app;
GRANT SELECT ON TABLE tavern.migration TO tavern_sys;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE tavern.page TO tavern_app;
GRANT SELECT,INSERT,UPDATE ON TABLE tavern.page TO tavern_sys;
GRANT USAGE ON SEQUENCE tavern.page_no_seq TO tavern_app;
GRANT USAGE ON SEQUENCE tavern.page_no_seq TO tavern_sys;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE tavern.run TO tavern_app;
GRANT SELECT,UPDATE ON TABLE tavern.run TO tavern_sys;
GRANT USAGE ON SEQUENCE tavern.run_no_seq TO tavern_app;
GRANT USAGE ON SEQUENCE tavern.run_no_seq TO tavern_sys;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE tavern.run_text TO tavern_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE tavern.run_text TO tavern_sys;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE tavern.search_mark TO tavern_app;
GRANT SELECT ON TABLE tavern.search_mark TO tavern_sys;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE tavern.segment TO tavern_app;
GRANT SELECT ON TABLE tavern.segment TO tavern_sys;
GRANT USAGE ON SEQUENCE tavern.segment_no_seq TO tavern_app;
GRANT USAGE ON SEQUENCE tavern.segment_no_seq TO tavern_sys;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE tavern.session TO tavern_app;
GRANT SELECT,DELETE ON TABLE tavern.session TO tavern_sys;
GRANT USAGE ON SEQUENCE tavern.session_no_seq TO tavern_app;
GRANT USAGE ON SEQUENCE tavern.session_no_seq TO tavern_sys;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE tavern.turn_frame TO tavern_app;
GRANT USAGE ON SEQUENCE tavern.turn_frame_no_seq TO tavern_app;
GRANT USAGE ON SEQUENCE tavern.turn_frame_no_seq TO tavern_sys;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE tavern.turn_record TO tavern_app;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE tavern.var_change TO tavern_app;
GRANT SELECT,DELETE ON TABLE tavern.var_change TO tavern_sys;
GRANT USAGE ON SEQUENCE tavern.var_change_no_seq TO tavern_app;
GRANT USAGE ON SEQUENCE tavern.var_change_no_seq TO tavern_sys;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE tavern.variable TO tavern_app;
GRANT SELECT,DELETE ON TABLE tavern.variable TO tavern_sys;
GRANT USAGE ON SEQUENCE tavern.variable_no_seq TO tavern_app;
GRANT USAGE ON SEQUENCE tavern.variable_no_seq TO tavern_sys;
