/*
 * thchat: TavernHeadless's chat files. The text is walked by its bytes, through a window, and only one floor
 * at a time becomes a tree: files of any size need no more memory than their largest floor. Unknown members
 * are kept.
 */
#include "chat.h"

#include "base/limits.h"
#include "base/vec.h"
#include "import.h"
#include "member.h"
#include "shape.h"

#define SPEC "tavern_headless_chat"

bool
thchat_is(struct str bytes)
{
	struct str key, value;
	size_t pos = 0;

	if (str_starts(bytes, STR("\xef\xbb\xbf")))
		bytes = str_sub(bytes, 3, bytes.n);
	while (json_raw_member(bytes, &pos, &key, &value))
		if (str_is(key, "\"spec\""))
			return str_is(value, "\"" SPEC "\"");
	return false;
}

/* ---- walking over the text ---- */

/* A place in the text, and the bytes from `hold` on, which stay together while `keeps`. */
struct walk {
	struct pieces *text;
	int64_t at, hold;
	struct str w; /* from hold on */
	bool keeps;
};

/* The byte at the place; -1 behind the end. */
static inline int
peek(struct walk *k)
{
	if ((size_t)(k->at - k->hold) < k->w.n)
		return (unsigned char)k->w.p[k->at - k->hold];
	if (k->at >= k->text->size)
		return -1;
	if (!k->keeps)
		k->hold = k->at;
	if (pieces_at(k->text, k->hold, (size_t)(k->at - k->hold) + 1, &k->w) < 0)
		return -1;
	return (unsigned char)k->w.p[k->at - k->hold];
}

static int
skip_blanks(struct walk *k)
{
	int c;

	while ((c = peek(k)) == ' ' || c == '\t' || c == '\n' || c == '\r')
		k->at++;
	return c;
}

/* At the opening quote: behind the closing one. false at the end of the text. */
static bool
skip_string(struct walk *k)
{
	int c;

	for (k->at++; (c = peek(k)) != '"'; k->at++) {
		if (c == '\\')
			k->at++;
		if (c < 0)
			return false;
	}
	k->at++;
	return true;
}

/* A value, an object or list by its brackets: what lies between is looked at when it is read. */
static bool
skip_value(struct walk *k)
{
	size_t open = 0;
	int c = peek(k);

	if (c == '"')
		return skip_string(k);
	if (c != '{' && c != '[') {
		while (c >= 0 && (c > 127 || strchr(",]}: \t\n\r", c) == NULL)) {
			k->at++;
			c = peek(k);
		}
		return c >= 0;
	}
	do {
		c = peek(k);
		if (c < 0 || (c == '"' && !skip_string(k)))
			return false;
		if (c == '"')
			continue;
		k->at++;
		if (c == '{' || c == '[')
			open++;
		else if (c == '}' || c == ']')
			open--;
	} while (open > 0);
	return true;
}

/* From here on the bytes stay together. */
static void
hold(struct walk *k, bool keeps)
{
	size_t gone = (size_t)(k->at - k->hold);

	k->w = gone < k->w.n ? str_sub(k->w, gone, k->w.n) : STR("");
	k->hold = k->at;
	k->keeps = keeps;
}

struct member {
	struct str key; /* without quotes and escapes */
	int64_t from, to;
};

struct members {
	VEC(struct member) v;
};

/* At '{': the members of the object, and those of its member `inner`, too. The place is behind it then. */
static bool
walk_members(struct arena *a, struct walk *k, const char *inner, struct members *out, struct members *in)
{
	int c;

	for (k->at++; (c = skip_blanks(k)) == '"' || c == ',';) {
		struct member m;

		if (c == ',') {
			k->at++;
			if (out->v.n == 0 || skip_blanks(k) != '"')
				return false;
		} else if (out->v.n > 0)
			return false;
		hold(k, true);
		if (!skip_string(k))
			return false;
		m.key = arena_str(a, json_raw_text(a, str_sub(k->w, 0, (size_t)(k->at - k->hold))));
		hold(k, false);
		if (skip_blanks(k) != ':')
			return false;
		k->at++;
		c = skip_blanks(k);
		m.from = k->at;
		if (inner && c == '{' && str_is(m.key, inner)) {
			*in = (struct members){ .v.n = 0 };
			if (!walk_members(a, k, NULL, in, NULL))
				return false;
		} else if (!skip_value(k))
			return false;
		m.to = k->at;
		vec_push(a, &out->v, m);
	}
	k->at++;
	return c == '}';
}

/* The last of equal names, or NULL. */
static const struct member *
member_find(const struct members *list, const char *key)
{
	for (size_t i = list->v.n; i > 0; i--)
		if (str_is(list->v.v[i - 1].key, key))
			return &list->v.v[i - 1];
	return NULL;
}

/* Its raw text; lives until the text is read again. */
static struct str
member_raw(struct pieces *text, const struct member *m)
{
	struct str s;

	if (m == NULL || pieces_at(text, m->from, (size_t)(m->to - m->from), &s) < 0)
		return STR("");
	return str_sub(s, 0, (size_t)(m->to - m->from));
}

static bool
begins(struct pieces *text, const struct member *m, char c)
{
	struct str s;

	return m && pieces_at(text, m->from, 1, &s) == 0 && s.n > 0 && s.p[0] == c;
}

int
thchat_element(struct pieces *text, int64_t list, int64_t *pos, struct str *out)
{
	struct walk k = { .text = text, .at = *pos ? *pos : list, .hold = *pos ? *pos : list };
	int c = skip_blanks(&k);

	if (c == ']' && *pos)
		return 0;
	if (c != (*pos ? ',' : '['))
		return -1;
	k.at++;
	c = skip_blanks(&k);
	if (c == ']' && *pos == 0)
		return 0;
	hold(&k, true);
	if (c < 0 || c == ']' || c == ',' || !skip_value(&k))
		return -1;
	*out = str_sub(k.w, 0, (size_t)(k.at - k.hold));
	*pos = k.at;
	return 1;
}

/* ---- reading ---- */

static struct json *
piece(struct arena *a, struct str raw, struct import_error *err, const char *what)
{
	struct receipt notes = { .a = a };
	struct json_error bad = { 0 };
	struct json *j = json_read(a, shape_text(a, raw, &notes), LIM_JSON_DEPTH, &bad);

	if (bad.what)
		import_fail(a, err, "invalid_json", what, "%s: %s (line %d of it)", what, bad.what, bad.line);
	return j;
}

/* The members of `data`; floors and the log stay text. */
static int
take_data(struct arena *a, const struct members *list, struct thchat *t, struct import_error *err)
{
	struct json *data = json_object(a);

	for (size_t i = 0; i < list->v.n; i++) {
		const struct member *m = &list->v.v[i];
		struct import_error bad = { .offset = -1 };

		if (str_is(m->key, "floors"))
			t->floors = m->from;
		else if (str_is(m->key, "variable_log"))
			t->log = m->from;
		else {
			struct json *j = piece(a, member_raw(t->text, m), &bad, arena_strdup(a, m->key));

			if (t->text->failed)
				return -1;
			if (bad.code) {
				*err = bad;
				return -1;
			}
			json_set_s(data, m->key, j);
		}
	}
	t->data = data;
	t->own = json_get(data, "tavernd");
	return 0;
}

/* One object from the first to the last byte: ranges of its members. */
static bool
take_apart(struct arena *a, struct pieces *text, struct members *top, struct members *data)
{
	struct walk k = { .text = text };
	struct str head;

	if (pieces_at(text, 0, 3, &head) == 0 && str_starts(head, STR("\xef\xbb\xbf")))
		k.at = k.hold = 3;
	return skip_blanks(&k) == '{' && walk_members(a, &k, "data", top, data) && skip_blanks(&k) < 0;
}

int
thchat_open(struct arena *a, struct pieces *text, struct thchat *t, struct import_error *err)
{
	struct members top = { 0 }, data = { 0 };
	struct str version;

	*t = (struct thchat){ .text = text, .floors = -1, .log = -1 };
	if (!take_apart(a, text, &top, &data) || text->failed)
		return text->failed ? -1
				    : import_fail(a, err, "invalid_json", "",
					  "the file is not one JSON object: it may have been cut off");
	if (!str_is(member_raw(text, member_find(&top, "spec")), "\"" SPEC "\"") && !text->failed)
		return import_fail(a, err, "not_a_chat", "spec", "no chat: spec is not \"" SPEC "\"");
	version = json_raw_text(a, member_raw(text, member_find(&top, "spec_version")));
	if (!str_starts(version, STR("1.")))
		return import_fail(a, err, "import_unsupported_version", "spec_version",
		    "version \"%.*s\" is not supported; 1.x is", STR_ARG(version));
	if (!begins(text, member_find(&top, "data"), '{'))
		return import_fail(a, err, "invalid_json", "data", "data is no JSON object");
	if (take_data(a, &data, t, err) < 0)
		return -1;
	if (!begins(text, member_find(&data, "floors"), '['))
		return import_fail(a, err, "not_a_chat", "data.floors", "no chat: data.floors is not a list");
	return text->failed ? -1 : 0;
}

int
thchat_open_text(struct arena *a, struct str bytes, struct thchat *t, struct import_error *err)
{
	struct pieces *text = arena_new(a, struct pieces);

	*text = pieces_of(bytes);
	return thchat_open(a, text, t, err);
}

/* What is left of an object without the members that we know; NULL if nothing. */
static const struct json *
rest_of(struct arena *a, const struct json *o, const char *const *known)
{
	struct json *rest = json_copy(a, o);

	for (; *known; known++)
		json_del(rest, *known);
	return json_len(rest) > 0 ? rest : NULL;
}

static struct json *
with_rest(struct arena *a, const struct json *origin, const struct json *rest)
{
	struct json *o = NULL;

	if (origin)
		o = json_copy(a, origin);
	if (rest) {
		o = o ? o : json_object(a);
		json_set(o, "rest", rest);
	}
	return o;
}

static struct str
text_of(struct arena *a, const struct json *v)
{
	return v ? json_text(a, v) : STR_NULL;
}

static int64_t
date_of(const struct json *o, const char *key)
{
	int64_t v = json_get_int(o, key, -1);

	return v < 0 ? CHAT_NO_DATE : v;
}

static struct str
word_of(const struct json *o, const char *key, const char *const *words, const char *dflt)
{
	struct str v = json_get_str(o, key);

	for (; *words; words++)
		if (str_is(v, *words))
			return v;
	return str_c(dflt);
}

static void
take_said(struct arena *a, const struct json *o, struct chat_said *m)
{
	static const char *const known[] = { "seq", "role", "content", "content_format", "token_count",
		"is_hidden", "source", "created_at", "_original_id", "tavernd", NULL };
	static const char *const roles[] = { "user", "assistant", "system", "narrator", NULL };
	static const char *const formats[] = { "text", "markdown", "json", NULL };
	const struct json *own = json_get(o, "tavernd");

	*m = (struct chat_said){ .id = json_get_str(o, "_original_id"),
		.role = word_of(o, "role", roles, "assistant"),
		.content = json_get_str(o, "content"),
		.format = word_of(o, "content_format", formats, "text"),
		.source = json_get_str(o, "source"),
		.hidden = json_get_bool(o, "is_hidden", false),
		.created_at = date_of(o, "created_at"),
		.name = json_get_str(own, "name"),
		.sent = json_get_str(own, "sent"),
		.rolls = text_of(a, json_get(own, "rolls")),
		.origin = with_rest(a, json_get(own, "origin"), rest_of(a, o, known)) };
	if (!m->content.p)
		m->content = STR("");
}

static void
take_page(struct arena *a, const struct json *o, struct chat_page *p)
{
	static const char *const known[] = { "page_no", "page_kind", "is_active", "version", "checksum",
		"created_at", "updated_at", "_original_id", "messages", "tavernd", NULL };
	static const char *const kinds[] = { "input", "output", "mixed", NULL };
	static const char *const states[] = { "draft", "committed", "failed", NULL };
	const struct json *own = json_get(o, "tavernd"), *list = json_get(o, "messages");

	*p = (struct chat_page){ .id = json_get_str(o, "_original_id"),
		.kind = word_of(o, "page_kind", kinds, "mixed"),
		.page_no = json_get_int(o, "page_no", 0),
		.version = json_get_int(o, "version", 1),
		.active = json_get_bool(o, "is_active", false),
		.checksum = json_get_str(o, "checksum"),
		.created_at = date_of(o, "created_at"),
		.updated_at = date_of(o, "updated_at"),
		.state = word_of(own, "state", states, "committed"),
		.reasoning = json_get_str(own, "reasoning"),
		.finish_reason = json_get_str(own, "finish_reason"),
		.model = json_get_str(own, "model"),
		.summaries = text_of(a, json_get(own, "summaries")),
		.usage = text_of(a, json_get(own, "usage")),
		.error = text_of(a, json_get(own, "error")),
		.origin = with_rest(a, json_get(own, "origin"), rest_of(a, o, known)),
		.n = json_type(list) == JSON_ARRAY ? json_len(list) : 0 };
	p->said = arena_array(a, struct chat_said, p->n);
	for (size_t i = 0; i < p->n; i++)
		take_said(a, json_at(list, i), &p->said[i]);
}

int
thchat_floor(
    struct arena *a, struct str raw, const char *where, struct chat_floor *out, struct import_error *err)
{
	static const char *const known[] = { "floor_no", "branch_id", "parent_floor_id_ref", "state",
		"token_in", "token_out", "superseded_at", "superseded_by_floor_id_ref", "created_at",
		"updated_at", "_original_id", "pages", "tavernd", NULL };
	static const char *const states[] = { "draft", "committed", "failed", NULL };
	const struct json *o, *list, *own;

	o = piece(a, raw, err, where);
	if (json_type(o) != JSON_OBJECT)
		return err->code ? -1
				 : import_fail(a, err, "invalid_value", where, "a floor must be an object");
	list = json_get(o, "pages");
	own = json_get(o, "tavernd");
	*out = (struct chat_floor){ .id = json_get_str(o, "_original_id"),
		.branch_id = json_get_str(o, "branch_id").n ? json_get_str(o, "branch_id") : STR("main"),
		.parent_id = json_get_str(o, "parent_floor_id_ref"),
		.state = word_of(o, "state", states, "failed"),
		.floor_no = json_get_int(o, "floor_no", 0),
		.token_in = json_get_int(o, "token_in", 0),
		.token_out = json_get_int(o, "token_out", 0),
		.superseded_at = date_of(o, "superseded_at"),
		.superseded_by = json_get_str(o, "superseded_by_floor_id_ref"),
		.created_at = date_of(o, "created_at"),
		.updated_at = date_of(o, "updated_at"),
		.segment = json_get_int(own, "segment", -1),
		.origin = with_rest(a, json_get(own, "origin"), rest_of(a, o, known)),
		.n = json_type(list) == JSON_ARRAY ? json_len(list) : 0 };
	out->pages = arena_array(a, struct chat_page, out->n);
	for (size_t i = 0; i < out->n; i++)
		take_page(a, json_at(list, i), &out->pages[i]);
	return 1;
}

int
thchat_next(struct arena *a, struct thchat *t, struct chat_floor *out, struct import_error *err)
{
	struct str raw;
	int rc = thchat_element(t->text, t->floors, &t->pos, &raw);

	if (rc <= 0)
		return rc == 0 || t->text->failed ? rc
						  : import_fail(a, err, "invalid_json", "data.floors",
							"data.floors is no JSON list");
	return thchat_floor(a, raw, arena_printf(a, "data.floors.%zu", t->index++), out, err);
}

/* ---- writing ---- */

static void
member_date(struct sb *out, const char *name, int64_t v)
{
	if (v == CHAT_NO_DATE)
		member(out, name, STR_NULL);
	else
		member_int(out, name, v);
}

/* Texts and JSON only if they are there. */
static void
maybe_text(struct sb *out, const char *name, struct str text)
{
	if (text.p)
		member_text(out, name, text);
}

static void
maybe(struct sb *out, const char *name, struct str json)
{
	if (json.p)
		member(out, name, json);
}

/* Unknown members of the file that it came from, then what only we know as one member. */
static void
write_more(struct sb *out, struct arena *a, const struct json *origin, struct sb *own)
{
	struct json_iter it = { 0 };
	const struct json *rest = json_get(origin, "rest");
	struct json *value;
	struct str key;

	while (rest && json_next(rest, &it, &key, &value))
		member(out,
		    arena_strdup(a, str_sub(json_text(a, json_string(a, key)), 1,
					json_text(a, json_string(a, key)).n - 1)),
		    json_text(a, value));
	if (origin && json_len(origin) > (rest ? 1u : 0u)) {
		struct json *kept = json_copy(a, origin);

		json_del(kept, "rest");
		member(own, "origin", json_text(a, kept));
	}
	if (own->n > 1) {
		sb_addc(own, '}');
		member(out, "tavernd", sb_str(own));
	}
}

static void
write_said(struct sb *out, struct arena *a, const struct chat_said *m, size_t seq)
{
	struct sb own = sb_new(a);

	sb_addc(out, '{');
	member_int(out, "seq", (int64_t)seq);
	member_text(out, "role", m->role);
	member_text(out, "content", m->content);
	member_text(out, "content_format", m->format);
	member_bool(out, "is_hidden", m->hidden);
	member_text(out, "source", m->source);
	member_date(out, "created_at", m->created_at);
	member_text(out, "_original_id", m->id);
	sb_addc(&own, '{');
	maybe_text(&own, "name", m->name);
	maybe_text(&own, "sent", m->sent);
	maybe(&own, "rolls", m->rolls);
	write_more(out, a, m->origin, &own);
	sb_addc(out, '}');
}

static void
write_page(struct sb *out, struct arena *a, const struct chat_page *p)
{
	struct sb own = sb_new(a);

	sb_addc(out, '{');
	member_int(out, "page_no", p->page_no);
	member_text(out, "page_kind", p->kind);
	member_bool(out, "is_active", p->active);
	member_int(out, "version", p->version);
	member_text(out, "checksum", p->checksum);
	member_date(out, "created_at", p->created_at);
	member_date(out, "updated_at", p->updated_at);
	member_text(out, "_original_id", p->id);
	member(out, "messages", STR("["));
	for (size_t i = 0; i < p->n; i++) {
		sb_adds(out, i > 0 ? "," : "");
		write_said(out, a, &p->said[i], i);
	}
	sb_addc(out, ']');
	sb_addc(&own, '{');
	if (!str_is(p->state, "committed"))
		member_text(&own, "state", p->state);
	maybe_text(&own, "reasoning", p->reasoning);
	maybe(&own, "summaries", p->summaries);
	maybe(&own, "usage", p->usage);
	maybe_text(&own, "finish_reason", p->finish_reason);
	maybe_text(&own, "model", p->model);
	maybe(&own, "error", p->error);
	write_more(out, a, p->origin, &own);
	sb_addc(out, '}');
}

void
thchat_write_floor(struct sb *out, struct arena *a, const struct chat_floor *f)
{
	struct sb own = sb_new(a);

	sb_addc(out, '{');
	member_int(out, "floor_no", f->floor_no);
	member_text(out, "branch_id", f->branch_id);
	member_text(out, "parent_floor_id_ref", f->parent_id);
	member_text(out, "state", f->state);
	member_int(out, "token_in", f->token_in);
	member_int(out, "token_out", f->token_out);
	member_date(out, "superseded_at", f->superseded_at);
	member_text(out, "superseded_by_floor_id_ref", f->superseded_by);
	member_date(out, "created_at", f->created_at);
	member_date(out, "updated_at", f->updated_at);
	member_text(out, "_original_id", f->id);
	member(out, "pages", STR("["));
	for (size_t i = 0; i < f->n; i++) {
		sb_adds(out, i > 0 ? "," : "");
		write_page(out, a, &f->pages[i]);
	}
	sb_addc(out, ']');
	sb_addc(&own, '{');
	if (f->segment >= 0)
		member_int(&own, "segment", f->segment);
	write_more(out, a, f->origin, &own);
	sb_addc(out, '}');
}
