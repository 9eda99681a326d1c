-- Accounts and their keys, and the function that every policy and every statement names.
CREATE SCHEMA tavern;

-- The account of this transaction. Unset is an error, never an empty answer: no nullif, no second
-- argument. Inlined because it has neither SECURITY DEFINER nor a SET clause.
CREATE FUNCTION tavern.acct() RETURNS int LANGUAGE sql STABLE PARALLEL SAFE
	AS $$ SELECT current_setting('tavern.account_no')::int $$;

-- Milliseconds since 1970, the API's unit of time.
CREATE FUNCTION tavern.now_ms() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
	AS $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

CREATE TABLE tavern.account (
	no int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	id text COLLATE "C" NOT NULL CONSTRAINT account_id_key UNIQUE CHECK (octet_length(id) BETWEEN 1 AND 128),
	name text NOT NULL,
	role text NOT NULL DEFAULT 'user' CHECK (role IN ('user', 'admin')),
	status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled')),
	is_default boolean NOT NULL DEFAULT false,
	settings json NOT NULL DEFAULT '{}',    -- timezone, time_awareness, message_macros, variable_promotion …
	created_at bigint NOT NULL,
	updated_at bigint NOT NULL
);
CREATE UNIQUE INDEX account_one_default ON tavern.account (is_default) WHERE is_default;

CREATE TABLE tavern.api_key (
	account_no int NOT NULL REFERENCES tavern.account (no) ON DELETE CASCADE,
	no bigint GENERATED ALWAYS AS IDENTITY,
	id text COLLATE "C" NOT NULL,
	name text NOT NULL,
	prefix text NOT NULL,                   -- the part that may be shown
	hash text COLLATE "C" NOT NULL CONSTRAINT api_key_hash_key UNIQUE, -- hex HMAC-SHA256 of the key
	created_at bigint NOT NULL,
	expires_at bigint,
	revoked_at bigint,
	last_used_at bigint,
	PRIMARY KEY (account_no, no),
	UNIQUE (account_no, id)
);

-- The first account: what everything belongs to until there are others.
INSERT INTO tavern.account (id, name, role, is_default, created_at, updated_at)
VALUES ('default-admin', 'Administrator', 'admin', true, tavern.now_ms(), tavern.now_ms());
