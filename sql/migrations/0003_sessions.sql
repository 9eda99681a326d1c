-- Sessions and their story: branch = list of ranges over segments; a segment owns floors; a floor has
-- pages (input and output versions); a page has messages. Only the head floor of a branch changes.

CREATE TABLE tavern.session (
	account_no int NOT NULL DEFAULT tavern.acct() REFERENCES tavern.account (no) ON DELETE CASCADE,
	no bigint GENERATED ALWAYS AS IDENTITY,
	id text COLLATE "C" NOT NULL,
	title text,
	title_key text GENERATED ALWAYS AS (lower(title)) STORED,
	status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'archived')),
	prompt_mode text NOT NULL DEFAULT 'compat_strict'
		CHECK (prompt_mode IN ('compat_strict', 'compat_plus', 'native', 'rearrange')),
	model_provider text,
	model_name text,
	model_params json,
	metadata json,
	settings json NOT NULL DEFAULT '{}',    -- overrides of account settings: timezone, message_macros …
	policy json NOT NULL DEFAULT '{}',      -- prompt-runtime policy of the session
	preset_choices json,
	-- Bound assets by the ids that the API shows; a version id pins it, else the head is used.
	preset_id text COLLATE "C",
	preset_version_id text COLLATE "C",
	worldbook_profile_id text COLLATE "C",
	worldbook_version_id text COLLATE "C",
	regex_profile_id text COLLATE "C",
	regex_profile_version_id text COLLATE "C",
	deep_binding boolean NOT NULL DEFAULT false,
	character_id text COLLATE "C",
	character_version_id text COLLATE "C",
	character_sync_policy text CHECK (character_sync_policy IN ('pin', 'manual', 'force')),
	character_doc bigint,                   -- the frozen card
	character_name text,
	character_greeting boolean,             -- the frozen card has one
	user_id text COLLATE "C",
	user_doc bigint,                        -- the frozen user card
	user_name text,
	revision int NOT NULL DEFAULT 0,
	created_at bigint NOT NULL,
	updated_at bigint NOT NULL,
	deleted_at bigint,                      -- marked; a job removes the rows. In the future: being imported, hidden until it is complete
	origin text COMPRESSION lz4,            -- what the imported file said besides (JSON): written again by exports
	PRIMARY KEY (account_no, no),
	CONSTRAINT session_id_key UNIQUE (account_no, id),
	FOREIGN KEY (account_no, character_doc) REFERENCES tavern.document (account_no, no) DEFERRABLE INITIALLY DEFERRED,
	FOREIGN KEY (account_no, user_doc) REFERENCES tavern.document (account_no, no) DEFERRABLE INITIALLY DEFERRED
) WITH (fillfactor = 80);
-- None on updated_at: every turn would then write all indexes of the row. A list in that order sorts the account's sessions.
CREATE INDEX session_list ON tavern.session (account_no, created_at DESC, no DESC) WHERE deleted_at IS NULL;
CREATE INDEX session_deleted ON tavern.session (deleted_at) WHERE deleted_at IS NOT NULL; -- the system's: removal

CREATE TABLE tavern.segment (
	account_no int NOT NULL DEFAULT tavern.acct(),
	no bigint GENERATED ALWAYS AS IDENTITY,
	session_no bigint NOT NULL,
	shared_upto int NOT NULL DEFAULT -1,    -- floors up to here are seen by more than one branch
	PRIMARY KEY (account_no, no),
	FOREIGN KEY (account_no, session_no) REFERENCES tavern.session (account_no, no) ON DELETE CASCADE
);
CREATE INDEX segment_session ON tavern.segment (account_no, session_no);

-- Range i is (his[i-1], his[i]] of segs[i]; before the first: -1. The last segment is the branch's own
-- and its range is open: his of the last = head_seq.
CREATE TABLE tavern.branch (
	account_no int NOT NULL DEFAULT tavern.acct(),
	no bigint GENERATED ALWAYS AS IDENTITY,
	session_no bigint NOT NULL,
	id text COLLATE "C" NOT NULL,
	segs bigint[] NOT NULL,
	his int[] NOT NULL,
	head_seq int NOT NULL DEFAULT -1,       -- floor number of the last floor; -1 = none
	forked_from text COLLATE "C",           -- branch id
	forked_at int,                          -- floor number
	policy json NOT NULL DEFAULT '{}',
	decisions text COMPRESSION lz4,         -- timers and answers of decision statements (JSON); NULL = none asked yet
	history_floors int NOT NULL DEFAULT 0,  -- what filled the last turn's context: how far the next one reads at once
	revision int NOT NULL DEFAULT 0,        -- counts changes of the head
	created_at bigint NOT NULL,
	updated_at bigint NOT NULL,
	PRIMARY KEY (account_no, no),
	CONSTRAINT branch_id_key UNIQUE (account_no, session_no, id),
	CHECK (cardinality(segs) = cardinality(his) AND cardinality(segs) > 0),
	FOREIGN KEY (account_no, session_no) REFERENCES tavern.session (account_no, no) ON DELETE CASCADE
) WITH (fillfactor = 80);

CREATE TABLE tavern.floor (
	account_no int NOT NULL DEFAULT tavern.acct(),
	no bigint GENERATED ALWAYS AS IDENTITY,
	id text COLLATE "C" NOT NULL,
	session_no bigint NOT NULL,
	segment_no bigint NOT NULL,
	floor_seq int NOT NULL CHECK (floor_seq >= 0),
	branch_id text COLLATE "C" NOT NULL,    -- the branch that made it
	parent_id text COLLATE "C",
	state text NOT NULL CHECK (state IN ('draft', 'generating', 'committed', 'failed')),
	token_in int NOT NULL DEFAULT 0,
	token_out int NOT NULL DEFAULT 0,
	superseded_at bigint,
	superseded_by text COLLATE "C",
	committed_at bigint,
	origin text COMPRESSION lz4,            -- as session.origin
	created_at bigint NOT NULL,
	updated_at bigint NOT NULL,
	PRIMARY KEY (account_no, no),
	CONSTRAINT floor_id_key UNIQUE (account_no, id),
	CONSTRAINT floor_seq_key UNIQUE (account_no, segment_no, floor_seq),
	FOREIGN KEY (account_no, segment_no) REFERENCES tavern.segment (account_no, no) ON DELETE CASCADE
) WITH (fillfactor = 90); -- room for the change of state
CREATE INDEX floor_session ON tavern.floor (account_no, session_no); -- no floor_seq: it would tempt plans away from floor_seq_key

CREATE TABLE tavern.page (
	account_no int NOT NULL DEFAULT tavern.acct(),
	no bigint GENERATED ALWAYS AS IDENTITY,
	id text COLLATE "C" NOT NULL,
	floor_no bigint NOT NULL,
	kind text COLLATE "C" NOT NULL CHECK (kind IN ('input', 'output', 'mixed')),
	page_seq int NOT NULL CHECK (page_seq >= 0), -- page_no in the API
	version int NOT NULL DEFAULT 1,
	active boolean NOT NULL DEFAULT false,
	state text NOT NULL DEFAULT 'committed' CHECK (state IN ('draft', 'generating', 'committed', 'failed')),
	checksum text,
	-- of a generated output page
	reasoning text,
	summaries json,
	usage json,
	finish_reason text,
	model text,
	error json,
	run_no bigint,                          -- that made it
	origin text COMPRESSION lz4,            -- as session.origin
	created_at bigint NOT NULL,
	updated_at bigint NOT NULL,
	PRIMARY KEY (account_no, no),
	CONSTRAINT page_id_key UNIQUE (account_no, id),
	CONSTRAINT page_seq_key UNIQUE (account_no, floor_no, kind, page_seq, version),
	FOREIGN KEY (account_no, floor_no) REFERENCES tavern.floor (account_no, no) ON DELETE CASCADE
);
CREATE UNIQUE INDEX page_one_active ON tavern.page (account_no, floor_no, kind) WHERE active;

CREATE TABLE tavern.message (
	account_no int NOT NULL DEFAULT tavern.acct(),
	no bigint GENERATED ALWAYS AS IDENTITY,
	id text COLLATE "C" NOT NULL,
	page_no bigint NOT NULL,
	segment_no bigint NOT NULL,             -- copies of the floor's place: one range scan loads a history
	floor_seq int NOT NULL,
	side smallint NOT NULL,                 -- of its page's kind: 0 input, 1 mixed, 2 output; what was said before what was answered
	seq int NOT NULL CHECK (seq >= 0),
	active boolean NOT NULL,                -- of its page
	is_hidden boolean NOT NULL DEFAULT false,
	role text NOT NULL CHECK (role IN ('user', 'assistant', 'system', 'narrator')),
	name text,                              -- who speaks, in group sessions and imported chats
	content text COMPRESSION lz4 NOT NULL,  -- as typed or as the model said it, summary tags taken out
	sent text COMPRESSION lz4,              -- what persist regexes and message macros made of it; NULL = the same
	rolls json,                             -- results of chance macros: rolled once, when first sent
	content_format text NOT NULL DEFAULT 'text' CHECK (content_format IN ('text', 'markdown', 'json')),
	source text,
	token_count int NOT NULL DEFAULT 0,     -- of what is sent
	origin text COMPRESSION lz4,            -- as session.origin
	created_at bigint NOT NULL,
	PRIMARY KEY (account_no, no),
	CONSTRAINT message_id_key UNIQUE (account_no, id),
	CONSTRAINT message_seq_key UNIQUE (account_no, page_no, seq),
	FOREIGN KEY (account_no, page_no) REFERENCES tavern.page (account_no, no) ON DELETE CASCADE
);
CREATE INDEX message_story ON tavern.message (account_no, segment_no, floor_seq, side, page_no, seq);
