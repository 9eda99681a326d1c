/*
 * gather: the session, its branch, bound assets, history and variables, loaded for one assembly.
 */
#include "lore/book_file.h"
#include "regex/script_file.h"
#include "store/asset.h"
#include "turn/turn_private.h"

#include "base/digest.h"
#include "base/limits.h"
#include "base/map.h"

/* NULL for an empty object too: most columns say nothing, and an object takes 800 bytes for as long as the model writes. */
const struct json *
turn_column(struct turn *t, const struct rows *rs, int col)
{
	struct json_error err;
	struct str text = row_str(rs, col);

	return text.p && !str_is(text, "{}") ? json_read(t->c->a, text, LIM_JSON_DEPTH, &err) : NULL;
}

static void
raw_columns(struct turn_session *s, const struct rows *rs)
{
	static const int columns[RAW__COUNT] = { [RAW_MODEL_PARAMS] = 5, [RAW_SETTINGS] = 6, [RAW_POLICY] = 7, [RAW_PRESET_CHOICES] = 8, [RAW_METADATA] = 21,
		[RAW_BRANCH_POLICY] = 26, [RAW_ACCOUNT_SETTINGS] = 27 };

	for (int i = 0; i < RAW__COUNT; i++)
		s->raw[i] = row_str(rs, columns[i]);
}

static int
session_read(struct turn *t, struct rows *rs)
{
	struct turn_session *s = &t->s;
	struct str mode;
	int rc = rows_next(rs);

	if (rc <= 0)
		return rc < 0 ? -1 : fail(t->c, ERR_NOT_FOUND, "not_found", "session not found");
	raw_columns(s, rs);
	s->context_tokens = t->p->conf.context_tokens;
	s->reply_tokens = t->p->conf.reply_tokens;
	s->no = row_int(rs, 0);
	s->status = row_str(rs, 1);
	mode = row_str(rs, 2);
	if (!prompt_mode_parse(mode, &s->mode))
		return fail(t->c, ERR_INTERNAL, "internal_error", "stored prompt mode is unknown");
	s->provider = row_str(rs, 3);
	s->model = row_str(rs, 4);
	s->model_params = turn_column(t, rs, 5);
	s->settings = turn_column(t, rs, 6);
	s->policy = json_get(turn_column(t, rs, 7), "value");
	s->preset_choices = turn_column(t, rs, 8);
	s->preset.id = row_str(rs, 9);
	s->preset_pin = row_str(rs, 10);
	if (t->layout)
		s->mode = PROMPT_REARRANGE;
	if (!s->preset.id.p && s->mode == PROMPT_REARRANGE)
		s->preset.id = row_str(rs, 31); /* the account's active one */
	s->worldbook.id = row_str(rs, 11);
	s->worldbook_pin = row_str(rs, 12);
	s->regex.id = row_str(rs, 13);
	s->regex_pin = row_str(rs, 14);
	s->deep_binding = row_bool(rs, 15);
	s->character_id = row_str(rs, 16);
	s->character_version_id = row_str(rs, 17);
	s->character_doc = row_int(rs, 18);
	s->user_doc = row_int(rs, 19);
	s->user_name = row_str(rs, 20);
	s->metadata = turn_column(t, rs, 21);
	s->branch_policy = json_get(turn_column(t, rs, 26), "value");
	s->account_settings = turn_column(t, rs, 27);
	s->running = row_int(rs, 28);
	s->busy = row_bool(rs, 29);
	s->has_decisions = !row_null(rs, 30);
	s->history_floors = (int32_t)row_int(rs, 32);
	s->decisions = macro_decisions_new(t->c->a, turn_column(t, rs, 30));
	s->branch.id = t->q.branch_id;
	if (row_null(rs, 22))
		return t->q.anywhere || (t->q.type != TURN_REGENERATE && !t->dry) ?
			   0 :
				       fail(t->c, ERR_NOT_FOUND, "branch_not_found", "branch \"%.*s\" does not exist in this session",
					   STR_ARG(t->q.branch_id));
	s->branch_no = row_int(rs, 22);
	s->branch.no = s->branch_no;
	s->branch.head = (int32_t)row_int(rs, 25);
	if (branch_read(t->c->a, &s->branch, row_str(rs, 23), row_str(rs, 24)) < 0)
		return fail(t->c, ERR_INTERNAL, "internal_error", "stored branch ranges do not fit");
	return 0;
}

/* ---- bound assets ---- */

static struct rows *
asset_ask(struct turn *t, const char *kind, struct str id, struct str pin)
{
	return id.p ? db_query(t->c, STMT_asset_resolve, P_C(kind), P_STR(id), P_STR(pin)) : NULL;
}

/* A missing or deleted asset never breaks a turn: it leaves row 0 and is traced. */
static int
asset_take(struct rows *rs, struct bound_asset *b)
{
	int rc;

	if (rs == NULL)
		return 0;
	rc = rows_next(rs);
	if (rc <= 0)
		return rc;
	if (!row_null(rs, 3))
		return 0;
	b->name = row_str(rs, 1);
	b->updated_at = row_int(rs, 2);
	b->row = row_int(rs, 4);
	b->version_id = row_str(rs, 5);
	b->version_no = row_int(rs, 6);
	b->content_hash = row_str(rs, 7);
	return 0;
}

/* Parsed document of a version or of a snapshot document, in `tmp`; NULL if it cannot be read. */
static struct json *
version_json(struct turn *t, struct arena *tmp, int64_t row, enum asset_kind kind)
{
	struct rows *rs = db_query(t->c, STMT_asset_version_doc, P_INT(row));
	struct json_error err;

	if (rows_next(rs) <= 0)
		return NULL;
	return json_read(tmp, asset_join(tmp, kind, row_str(rs, 0), row_str(rs, 1)), LIM_JSON_DEPTH, &err);
}

static struct json *
document_json(struct turn *t, struct arena *tmp, int64_t no, struct str *text_out)
{
	struct rows *rs = db_query(t->c, STMT_document_get, P_INT(no));
	struct json_error err;

	if (rows_next(rs) <= 0)
		return NULL;
	*text_out = row_str(rs, 0);
	return json_read(tmp, *text_out, LIM_JSON_DEPTH, &err);
}

/* How each kind of cached asset is compiled from its document. */
static const void *
compile_preset(struct arena *own, const struct json *doc, struct str text, size_t *outside)
{
	struct prompt_preset *p = prompt_preset_compile(own, doc);

	(void)text;
	*outside = prompt_preset_bytes(p);
	return p;
}

static const void *
compile_card(struct arena *own, const struct json *doc, struct str text, size_t *outside)
{
	struct cached_card *k = arena_new(own, struct cached_card);
	struct digest d = digest_sha256(text);

	k->card = prompt_card_compile(own, doc);
	k->hash = digest_hex(own, &d);
	k->format = prompt_card_format(doc);
	*outside = prompt_card_bytes(k->card);
	return k;
}

static const void *
compile_persona(struct arena *own, const struct json *doc, struct str text, size_t *outside)
{
	(void)text;
	*outside = 0;
	return prompt_persona_compile(own, doc);
}

static const void *
compile_scripts(struct arena *own, const struct json *doc, struct str text, size_t *outside)
{
	const struct regex_script *scripts;
	size_t n = regex_scripts_read(own, doc, REGEX_SOURCE_GLOBAL, &scripts);
	struct regex_set *s = regex_set_compile(own, scripts, n);

	(void)text;
	*outside = regex_set_bytes(s);
	return s;
}

struct compiler {
	const void *(*compile)(struct arena *own, const struct json *doc, struct str text, size_t *outside);
	bool is_document;    /* the key is a document, not a version */
	enum asset_kind kind;
};
static const struct compiler compilers[CACHED__COUNT] = {
	[CACHED_PRESET] = { compile_preset, false, ASSET_PRESET },
	[CACHED_CARD] = { compile_card, true, ASSET_CHARACTER },
	[CACHED_PERSONA] = { compile_persona, true, ASSET_USER },
	[CACHED_SCRIPTS] = { compile_scripts, false, ASSET_REGEX },
};

/* The compiled form of a version or document, from the cache or made now; NULL if key is 0 or the text is unreadable. */
static const void *
compiled(struct turn *t, enum cached_kind kind, int64_t key)
{
	const struct compiler *k = &compilers[kind];
	const void *obj;
	struct arena *own, *tmp;
	struct str text = STR_NULL;
	struct json *doc;
	size_t outside = 0;

	if (key == 0)
		return NULL;
	obj = asset_cache_get(t->p->cache, t->c, kind, (uint64_t)key);
	if (obj)
		return obj;
	tmp = arena_create("document", 0);
	doc = k->is_document ? document_json(t, tmp, key, &text) : version_json(t, tmp, key, k->kind);
	if (doc) {
		own = arena_create("asset", 0);
		obj = k->compile(own, doc, text, &outside);
		obj = asset_cache_add(t->p->cache, t->c, kind, (uint64_t)key, own, obj, outside);
	}
	arena_destroy(&tmp);
	return obj;
}

/* The books of a session compiled as one set, with books of its own so that it can outlive other entries. */
struct cached_lore {
	struct lore_set *set;
	struct lore_bound bound[2];
	size_t n;
	bool has_worldbook;
};

/* Timed effects are remembered by a book's name: names of people may repeat, so books go by ids. */
static struct cached_lore *
lore_compile(struct turn *t, struct arena *own, struct arena *tmp, size_t *outside)
{
	struct cached_lore *l = arena_new(own, struct cached_lore);
	struct json *doc = t->s.worldbook.row ? version_json(t, tmp, t->s.worldbook.row, ASSET_WORLDBOOK) : NULL;
	struct str text;

	if (doc) {
		l->bound[l->n++] = (struct lore_bound){ lore_book_read(own, t->s.worldbook.id, doc), LORE_CHAT };
		l->has_worldbook = true;
	}
	doc = t->s.character_doc ? document_json(t, tmp, t->s.character_doc, &text) : NULL;
	if (json_get(json_get(doc, "data"), "character_book"))
		l->bound[l->n++] = (struct lore_bound){ lore_book_read(own, STR(":character"), json_get(json_get(doc, "data"), "character_book")),
			LORE_CHARACTER };
	for (size_t i = 0; i < l->n; i++)
		*outside += lore_book_bytes(l->bound[i].book);
	if (l->n > 0) {
		l->set = lore_set_compile(own,
		    &(struct lore_binding){ .books = l->bound, .nbooks = l->n, .strategy = t->in.lore_strategy,
			.case_sensitive = t->in.lore_case, .whole_words = t->in.lore_words, .unicode_words = t->s.mode == PROMPT_NATIVE });
		*outside += lore_set_bytes(l->set);
	}
	return l;
}

static const struct cached_lore *
lore_compiled(struct turn *t)
{
	uint64_t parts[3] = { (uint64_t)t->s.worldbook.row, (uint64_t)t->s.character_doc,
		(uint64_t)t->in.lore_strategy << 3 | (uint64_t)t->in.lore_case << 2 | (uint64_t)t->in.lore_words << 1 | (t->s.mode == PROMPT_NATIVE) };
	uint64_t key = hash_bytes(0, parts, sizeof(parts));
	const struct cached_lore *l = asset_cache_get(t->p->cache, t->c, CACHED_LORE_SET, key);
	struct arena *own, *tmp;
	size_t outside = 0;

	if (l || (parts[0] | parts[1]) == 0)
		return l;
	tmp = arena_create("document", 0);
	own = arena_create("lore", 0);
	l = lore_compile(t, own, tmp, &outside);
	l = asset_cache_add(t->p->cache, t->c, CACHED_LORE_SET, key, own, l, outside);
	arena_destroy(&tmp);
	return l;
}

static int
assets_load(struct turn *t)
{
	const struct regex_set *sets[3];
	const struct cached_lore *lore;
	size_t n = 0;

	t->in.preset = compiled(t, CACHED_PRESET, t->s.preset.row);
	t->card_file = compiled(t, CACHED_CARD, t->s.character_doc);
	t->card = t->card_file ? t->card_file->card : NULL;
	t->in.persona = compiled(t, CACHED_PERSONA, t->s.user_doc);
	sets[n] = compiled(t, CACHED_SCRIPTS, t->s.regex.row);
	n += sets[n] != NULL;
	sets[n] = t->in.preset ? prompt_preset_scripts(t->in.preset) : NULL;
	n += sets[n] != NULL;
	sets[n] = t->card ? prompt_card_scripts(t->card) : NULL;
	n += sets[n] != NULL;
	if (n > 0)
		t->in.scripts = regex_set_join(t->c->a, sets, n);
	turn_lore_settle(t);
	lore = lore_compiled(t);
	if (lore) {
		t->in.lore = lore->set;
		t->in.books = lore->bound;
		t->in.nbooks = lore->has_worldbook ? 1 : 0;
		t->card_book = lore->n > t->in.nbooks ? lore->bound[t->in.nbooks].book : NULL;
	}
	if (t->card) {
		t->in.cards = arena_copy(t->c->a, &t->card, sizeof(t->card));
		t->in.ncards = 1;
	}
	return failed(t->c) ? -1 : 0;
}

/* ---- variables ---- */

/* A value of a layer, which is made with its first. */
static void
layer_put(struct turn *t, struct json **layer, struct rows *rs, int col)
{
	struct json_error err;

	if (*layer == NULL)
		*layer = json_object(t->c->a);
	json_set_s(*layer, row_str(rs, col), json_read(t->c->a, row_str(rs, col + 1), LIM_JSON_DEPTH, &err));
}

/* What the branch's variables were at a floor of the past (as_of), or without the floor that is made again (undone: also keys that were not there). */
static int
variables_take(struct turn *t, struct rows *rs, struct rows *as_of, struct rows *undone)
{
	struct json *branch = NULL, *chat = NULL, *global = NULL;
	int rc;

	while ((rc = rows_next(rs)) > 0) {
		struct str scope = row_str(rs, 0);

		layer_put(t, str_is(scope, "branch") ? &branch : str_is(scope, "chat") ? &chat : &global, rs, 1);
	}
	if (rc < 0)
		return -1;
	for (rc = 0; as_of && (rc = rows_next(as_of)) > 0;)
		layer_put(t, &branch, as_of, 0);
	if (rc < 0)
		return -1;
	for (; undone && (rc = rows_next(undone)) > 0;)
		if (!row_null(undone, 1))
			layer_put(t, &branch, undone, 0);
		else if (branch)
			json_del(branch, arena_strdup(t->c->a, row_str(undone, 0)));
	t->layers = (struct macro_layers){ .branch = branch, .chat = chat, .global = global };
	t->in.vars = macro_vars_layers(&t->layers);
	return rc;
}

/* ---- timed lore ---- */

/* What a scan activated, from what commit stored: [{book, uid, hash, sticky, cooldown}], messages. */
static struct lore_past
past_read(struct arena *a, const struct json *j)
{
	const struct json *list = json_get(j, "entries");
	size_t n = json_len(list);
	struct lore_past_entry *v = arena_array(a, struct lore_past_entry, n);

	for (size_t i = 0; i < n; i++) {
		const struct json *e = json_at(list, i);

		v[i] = (struct lore_past_entry){ .book = json_get_str(e, "book"), .uid = json_get_int(e, "uid", 0),
			.hash = (uint64_t)json_get_int(e, "hash", 0), .sticky_began = json_get_bool(e, "sticky", false),
			.cooldown_began = json_get_bool(e, "cooldown", false) };
	}
	return (struct lore_past){ .messages = json_get_int(j, "messages", 0), .v = v, .n = n };
}

static int
timers_load(struct turn *t)
{
	int32_t horizon = t->in.lore ? lore_set_horizon(t->in.lore) : 0;
	VEC(struct lore_past) newest_first = { 0 };
	const struct json *activated, *before;
	struct branch_range *r;
	struct lore_past *floors;
	struct rows **rs;
	size_t n;

	if (horizon <= 0)
		return 0;
	r = branch_window(t->c->a, &t->s.branch, t->s.branch.head - horizon + 1, t->s.branch.head, &n);
	rs = arena_array(t->c->a, struct rows *, n + 1);
	for (size_t i = 0; i < n; i++)
		rs[i] = db_query(t->c, STMT_lore_past_range, P_INT(r[i].segment), P_INT(r[i].lo), P_INT(r[i].hi));
	for (size_t i = 0; i < n; i++) {
		int rc;

		while ((rc = rows_next(rs[i])) > 0) {
			activated = turn_column(t, rs[i], 1);
			before = json_get(activated, "before"); /* of a reply that went on */
			if (row_int(rs[i], 0) == t->s.branch.head)
				t->head_activated = activated;
			vec_push(t->c->a, &newest_first, past_read(t->c->a, activated));
			for (size_t k = json_len(before); k-- > 0;)
				vec_push(t->c->a, &newest_first, past_read(t->c->a, json_at(before, k)));
		}
		if (rc < 0)
			return -1;
	}
	floors = arena_array(t->c->a, struct lore_past, newest_first.n);
	for (size_t i = 0; i < newest_first.n; i++)
		floors[i] = newest_first.v[newest_first.n - 1 - i];
	t->in.lore_timers = lore_timers_replay(t->c->a, t->in.lore, floors, newest_first.n);
	return 0;
}

int
turn_gather(struct ctx *c, void *arg)
{
	struct turn *t = arg;
	struct turn_session *s = &t->s;
	struct rows *preset, *worldbook, *regex, *vars, *as_of = NULL, *undone = NULL, *said = NULL;
	struct turn_history h = { 0 };

	t->hidden.n = 0; /* a unit may run twice */
	t->in.hidden = t->in.users_before = 0;
	if (turn_find(t) < 0 || session_read(t, db_query(c, STMT_turn_session, P_STR(t->q.session_id), P_STR(t->q.branch_id), P_BOOL(t->p->conf.account_streams_max > 0))) < 0 ||
	    turn_scope(t) < 0)
		return -1;
	t->policy = policy_resolve(t->work, &(struct policy_layers){ { s->policy, s->branch_policy, t->q.body } });
	h.hides = policy_hides(t->policy.policy);
	preset = asset_ask(t, "preset", s->preset.id, s->preset_pin);
	worldbook = asset_ask(t, "worldbook", s->worldbook.id, s->worldbook_pin);
	regex = asset_ask(t, "regex_profile", s->regex.id, s->regex_pin);
	vars = db_query(c, STMT_turn_variables, P_INT(s->no), P_INT(s->as_of_segment ? 0 : s->branch_no));
	if (s->as_of_segment)
		as_of = db_query(c, STMT_branch_vars_as_of, P_INT(s->as_of_segment), P_INT(s->as_of));
	if (t->target.again) {
		undone = db_query(c, STMT_floor_vars_before, P_INT(t->target.floor_no), P_INT(t->target.segment), P_INT(t->target.seq),
		    P_INT(t->segment), P_INT(s->branch_no));
		said = db_query(c, STMT_floor_said, P_INT(t->target.floor_no));
	}
	turn_history_ask(t, &h);
	if (asset_take(preset, &s->preset) < 0 || asset_take(worldbook, &s->worldbook) < 0 || asset_take(regex, &s->regex) < 0 ||
	    variables_take(t, vars, as_of, undone) < 0 || (said && turn_history_take(t, &h, said) < 0))
		return -1;
	if (assets_load(t) < 0 || turn_history_read(t, &h) < 0 || timers_load(t) < 0)
		return -1;
	turn_history_settle(t, &h);
	return 0;
}

/* ---- from a record ---- */

/* Settings as they were; what the record does not say was not said. */
static void
past_session(struct turn *t)
{
	const struct json *f = t->past->frame;
	struct turn_session *s = &t->s;

	s->provider = json_get_str(f, "provider");
	s->model = json_get_str(f, "model");
	s->context_tokens = json_get_int(f, "context", 0);
	s->reply_tokens = json_get_int(f, "reply", 0);
	s->user_name = json_get_str(f, "user_name");
	s->model_params = json_get(f, "model_params");
	s->settings = json_get(f, "settings");
	s->account_settings = json_get(f, "account_settings");
	s->policy = json_get(json_get(f, "policy"), "value");
	s->branch_policy = json_get(json_get(f, "branch_policy"), "value");
	s->preset_choices = json_get(f, "preset_choices");
	s->metadata = json_get(f, "metadata");
	s->has_decisions = json_has(json_get(t->past->inputs, "decisions"), "state");
	s->decisions = macro_decisions_new(t->c->a, json_get(json_get(t->past->inputs, "decisions"), "state"));
}

static int
past_ranges(struct turn *t)
{
	const struct json *segs = json_get(t->past->inputs, "segs"), *his = json_get(t->past->inputs, "his");
	struct branch *b = &t->s.branch;
	int32_t below = t->past->floor - 1;

	b->n = json_len(segs);
	if (b->n == 0 || json_len(his) != b->n)
		return fail(t->c, ERR_CONFLICT, "replay_not_available", "the record of this turn cannot be read");
	b->segs = arena_array(t->c->a, int64_t, b->n);
	b->his = arena_array(t->c->a, int32_t, b->n);
	for (size_t i = 0; i < b->n; i++) {
		b->segs[i] = json_int(json_at(segs, i), 0);
		b->his[i] = (int32_t)json_int(json_at(his, i), 0);
		if (b->his[i] > below) /* its own floor comes by names: its pages may have changed since */
			b->his[i] = below;
	}
	b->head = below;
	return 0;
}

static int
past_asset(struct turn *t, struct bound_asset *b, int64_t version)
{
	struct rows *rs;
	int rc;

	if (version == 0)
		return 0;
	rs = db_query(t->c, STMT_replay_asset, P_INT(version));
	rc = rows_next(rs);
	if (rc < 0)
		return -1;
	if (rc == 0) {
		json_push_str(t->past->notes, str_c(arena_printf(t->c->a, "version %lld of an asset is gone", (long long)version)));
		return 0;
	}
	b->id = row_str(rs, 0);
	b->name = row_str(rs, 1);
	b->row = version;
	b->version_id = row_str(rs, 2);
	b->version_no = row_int(rs, 3);
	b->content_hash = row_str(rs, 4);
	return 0;
}

/* Messages that the record names: newest first. */
static int
past_own(struct turn *t, struct turn_history *h)
{
	const struct json *own = json_get(t->past->inputs, "own");
	struct str new_id = json_get_str(t->past->inputs, "new");
	struct sb ids = sb_new(t->c->a);
	struct rows *rs;
	size_t had = h->v.n;

	if (json_len(own) > 0) {
		sb_add(&ids, json_text(t->c->a, own));
		if (turn_history_take(t, h, db_query(t->c, STMT_replay_messages, P_STR(sb_str(&ids)))) < 0)
			return -1;
		if (h->v.n - had != json_len(own))
			json_push_str(t->past->notes, STR("messages of the floor are gone"));
	}
	if (!new_id.p)
		return 0;
	rs = db_query(t->c, STMT_replay_message, P_STR(new_id));
	if (rows_next(rs) > 0) {
		t->q.message = row_str(rs, 0);
		memcpy(t->message_id.s, new_id.p, new_id.n < ID_LEN ? new_id.n : ID_LEN);
	} else
		json_push_str(t->past->notes, STR("the user's message is gone"));
	return failed(t->c) ? -1 : 0;
}

int
turn_gather_past(struct turn *t)
{
	const struct past *p = t->past;
	struct turn_session *s = &t->s;
	struct rows *vars, *as_of;
	struct turn_history h = { 0 };

	past_session(t);
	t->policy = policy_resolve(t->work, &(struct policy_layers){ { s->policy, s->branch_policy, t->q.body } });
	h.hides = policy_hides(t->policy.policy);
	if (past_ranges(t) < 0 || past_asset(t, &s->preset, s->preset.row) < 0 || past_asset(t, &s->worldbook, s->worldbook.row) < 0 ||
	    past_asset(t, &s->regex, s->regex.row) < 0)
		return -1;
	vars = db_query(t->c, STMT_turn_variables, P_INT(s->no), P_INT(0));
	as_of = db_query(t->c, STMT_branch_vars_as_of, P_INT(p->segment), P_INT(s->branch.head));
	turn_history_ask(t, &h);
	if (variables_take(t, vars, as_of, NULL) < 0 || past_own(t, &h) < 0)
		return -1;
	if (assets_load(t) < 0 || turn_history_read(t, &h) < 0)
		return -1;
	s->branch.head = (int32_t)json_get_int(p->inputs, "head", s->branch.head);
	turn_history_settle(t, &h);
	return 0;
}
