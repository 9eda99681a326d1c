-- What authors bring: characters, presets, worldbooks, regex profiles, user cards. One table of
-- assets, one of immutable versions, and texts and pictures stored once by content.

CREATE TABLE tavern.document (
	account_no int NOT NULL DEFAULT tavern.acct() REFERENCES tavern.account (no) ON DELETE CASCADE,
	no bigint GENERATED ALWAYS AS IDENTITY,
	digest bytea NOT NULL CHECK (octet_length(digest) = 32),  -- SHA-256 of body
	body text COMPRESSION lz4 NOT NULL,                       -- byte for byte
	created_at bigint NOT NULL,
	PRIMARY KEY (account_no, no),
	CONSTRAINT document_digest_key UNIQUE (account_no, digest)
);

CREATE TABLE tavern.blob (
	account_no int NOT NULL DEFAULT tavern.acct() REFERENCES tavern.account (no) ON DELETE CASCADE,
	no bigint GENERATED ALWAYS AS IDENTITY,
	digest bytea NOT NULL CHECK (octet_length(digest) = 32),
	mime text NOT NULL,
	bytes bytea NOT NULL,
	created_at bigint NOT NULL,
	PRIMARY KEY (account_no, no),
	CONSTRAINT blob_digest_key UNIQUE (account_no, digest)
);
ALTER TABLE tavern.blob ALTER COLUMN bytes SET STORAGE EXTERNAL; -- pictures are compressed already

CREATE TABLE tavern.asset (
	account_no int NOT NULL DEFAULT tavern.acct() REFERENCES tavern.account (no) ON DELETE CASCADE,
	no bigint GENERATED ALWAYS AS IDENTITY,
	kind text COLLATE "C" NOT NULL CHECK (kind IN ('character', 'preset', 'worldbook', 'regex_profile', 'user')),
	id text COLLATE "C" NOT NULL,
	name text NOT NULL,
	name_key text GENERATED ALWAYS AS (lower(name)) STORED,
	source text NOT NULL,                   -- where it came from: 'sillytavern', 'api' …
	status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled', 'deleted')),
	version int NOT NULL DEFAULT 1,         -- version_no of the head
	revision int NOT NULL DEFAULT 0,        -- counts every change, the head's included
	head_no bigint,                         -- asset_version in force
	created_at bigint NOT NULL,
	updated_at bigint NOT NULL,
	deleted_at bigint,                      -- kept: sessions and floors still point at its versions
	PRIMARY KEY (account_no, no),
	CONSTRAINT asset_id_key UNIQUE (account_no, kind, id)
);
CREATE INDEX asset_list ON tavern.asset (account_no, kind, created_at DESC, no DESC) WHERE deleted_at IS NULL;
-- Names of user cards are unique among the living.
CREATE UNIQUE INDEX asset_user_name_key ON tavern.asset (account_no, name) WHERE kind = 'user' AND deleted_at IS NULL;

-- The preset of sessions in mode rearrange that bind none. One row or none for an account: no two are ever active.
CREATE TABLE tavern.active_preset (
	account_no int NOT NULL DEFAULT tavern.acct() REFERENCES tavern.account (no) ON DELETE CASCADE,
	preset_id text COLLATE "C" NOT NULL,
	activated_at bigint NOT NULL,
	PRIMARY KEY (account_no)
);

-- A version never changes. Its document is `body` with the entries (prompts, lore entries, scripts)
-- taken out; `parts` lists the entries' documents in order, so that an edit of one entry shares all others.
CREATE TABLE tavern.asset_version (
	account_no int NOT NULL DEFAULT tavern.acct(),
	no bigint GENERATED ALWAYS AS IDENTITY,
	id text COLLATE "C" NOT NULL,
	asset_no bigint NOT NULL,
	version_no int NOT NULL,
	content_hash text NOT NULL,             -- hex SHA-256 over the digests of body and parts
	body_no bigint NOT NULL,
	parts bigint[] NOT NULL DEFAULT '{}',
	raw_no bigint,                          -- the file as it came, when this version is an import of text
	picture_no bigint,                      -- avatar, or the whole PNG or CHARX the card came in
	receipt json,                           -- what the import kept, normalised, preserved, refused
	created_at bigint NOT NULL,
	PRIMARY KEY (account_no, no),
	CONSTRAINT asset_version_id_key UNIQUE (account_no, id),
	CONSTRAINT asset_version_no_key UNIQUE (account_no, asset_no, version_no),
	FOREIGN KEY (account_no, asset_no) REFERENCES tavern.asset (account_no, no) ON DELETE CASCADE,
	FOREIGN KEY (account_no, body_no) REFERENCES tavern.document (account_no, no) DEFERRABLE INITIALLY DEFERRED,
	FOREIGN KEY (account_no, raw_no) REFERENCES tavern.document (account_no, no) DEFERRABLE INITIALLY DEFERRED,
	FOREIGN KEY (account_no, picture_no) REFERENCES tavern.blob (account_no, no) DEFERRABLE INITIALLY DEFERRED
);
ALTER TABLE tavern.asset ADD CONSTRAINT asset_head_fkey FOREIGN KEY (account_no, head_no)
	REFERENCES tavern.asset_version (account_no, no) DEFERRABLE INITIALLY DEFERRED;
