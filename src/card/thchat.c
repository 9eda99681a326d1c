/*
 * thchat: TavernHeadless's chat files. The text is walked by its bytes and only one floor at a time becomes a
 * tree: files of tens of megabytes need no more memory than their largest floor. Unknown members are kept.
 */
#include "chat.h"

#include "base/limits.h"
#include "import.h"
#include "shape.h"

#define SPEC "tavern_headless_chat"

bool
thchat_is(struct str bytes)
{
	struct str spec = json_raw(bytes, "spec");

	return str_is(spec, "\"" SPEC "\"");
}

/* One object from the first to the last byte, by its brackets; what lies between is read piece by piece. */
static bool
balanced(struct str s)
{
	size_t open = 0;

	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '"') {
			for (i++; i < s.n && s.p[i] != '"'; i++)
				if (s.p[i] == '\\')
					i++;
			if (i >= s.n)
				return false;
		} else if (s.p[i] == '{' || s.p[i] == '[')
			open++;
		else if ((s.p[i] == '}' || s.p[i] == ']') && (open == 0 || (--open == 0 && i + 1 < s.n)))
			return false;
	}
	return open == 0 && s.n > 0 && s.p[0] == '{';
}

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
take_data(struct arena *a, struct str raw, struct thchat *t, struct import_error *err)
{
	struct json *data = json_object(a);
	struct str key, value;
	size_t pos = 0;

	while (json_raw_member(raw, &pos, &key, &value)) {
		struct str name = json_raw_text(a, key);

		if (str_is(name, "floors"))
			t->floors = value;
		else if (str_is(name, "variable_log"))
			t->log = value;
		else {
			struct import_error bad = { .offset = -1 };
			struct json *j = piece(a, value, &bad, arena_strdup(a, name));

			if (bad.code) {
				*err = bad;
				return -1;
			}
			json_set_s(data, name, j);
		}
	}
	if (!str_is(str_trim(str_sub(raw, pos ? pos : 1, raw.n)), "}"))
		return import_fail(a, err, "invalid_json", "data", "data is no JSON object");
	t->data = data;
	t->own = json_get(data, "tavernd");
	return 0;
}

int
thchat_open(struct arena *a, struct str bytes, struct thchat *t, struct import_error *err)
{
	struct str version;

	*t = (struct thchat){ 0 };
	if (str_starts(bytes, STR("\xef\xbb\xbf")))
		bytes = str_sub(bytes, 3, bytes.n);
	bytes = str_trim(bytes);
	if (!balanced(bytes))
		return import_fail(
		    a, err, "invalid_json", "", "the file is not one JSON object: it may have been cut off");
	if (!thchat_is(bytes))
		return import_fail(a, err, "not_a_chat", "spec", "no chat: spec is not \"" SPEC "\"");
	version = json_raw_text(a, json_raw(bytes, "spec_version"));
	if (!str_starts(version, STR("1.")))
		return import_fail(a, err, "import_unsupported_version", "spec_version",
		    "version \"%.*s\" is not supported; 1.x is", STR_ARG(version));
	if (take_data(a, json_raw(bytes, "data"), t, err) < 0)
		return -1;
	if (t->floors.n == 0 || t->floors.p[0] != '[')
		return import_fail(a, err, "not_a_chat", "data.floors", "no chat: data.floors is not a list");
	return 0;
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
thchat_next(struct arena *a, struct thchat *t, struct chat_floor *out, struct import_error *err)
{
	static const char *const known[] = { "floor_no", "branch_id", "parent_floor_id_ref", "state",
		"token_in", "token_out", "superseded_at", "superseded_by_floor_id_ref", "created_at",
		"updated_at", "_original_id", "pages", "tavernd", NULL };
	static const char *const states[] = { "draft", "committed", "failed", NULL };
	const struct json *o, *list, *own;
	struct str raw;
	const char *where;

	if (!json_raw_next(t->floors, &t->pos, &raw))
		return str_is(str_trim(str_sub(t->floors, t->pos ? t->pos : 1, t->floors.n)), "]")
			   ? 0
			   : import_fail(
				 a, err, "invalid_json", "data.floors", "data.floors is no JSON list");
	where = arena_printf(a, "data.floors.%zu", t->index++);
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

/* ---- writing ---- */

static void
member(struct sb *out, const char *name, struct str json)
{
	sb_addf(out, "%s\"%s\":", out->n > 0 && out->p[out->n - 1] != '{' ? "," : "", name);
	sb_add(out, json.p ? json : STR("null"));
}

static void
member_text(struct sb *out, const char *name, struct str text)
{
	member(out, name, STR(""));
	sb_add_json(out, text);
}

static void
member_int(struct sb *out, const char *name, int64_t v)
{
	if (v == CHAT_NO_DATE)
		member(out, name, STR_NULL);
	else {
		member(out, name, STR(""));
		sb_add_int(out, v);
	}
}

static void
member_bool(struct sb *out, const char *name, bool v)
{
	member(out, name, v ? STR("true") : STR("false"));
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
	member_int(out, "created_at", m->created_at);
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
	member_int(out, "created_at", p->created_at);
	member_int(out, "updated_at", p->updated_at);
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
	member_int(out, "superseded_at", f->superseded_at);
	member_text(out, "superseded_by_floor_id_ref", f->superseded_by);
	member_int(out, "created_at", f->created_at);
	member_int(out, "updated_at", f->updated_at);
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
