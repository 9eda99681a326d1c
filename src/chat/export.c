/*
 * export: a session as a file, a window of floors at a time: read in one short transaction, written outside
 * of it.
 */
#include "chat/chat.h"

#include "base/limits.h"
#include "base/tm.h"
#include "card/member.h"
#include "store/branch.h"

#define WINDOW 50 /* floors of a window */
#define LOG_WINDOW 1000

enum {
	H_NO,
	H_TITLE,
	H_STATUS,
	H_MODE,
	H_PROVIDER,
	H_MODEL,
	H_PARAMS,
	H_METADATA,
	H_SETTINGS,
	H_POLICY,
	H_CHOICES,
	H_PRESET,
	H_CHARACTER = 18,
	H_CHARACTER_VERSION,
	H_SYNC,
	H_CARD,
	H_CARD_NAME,
	H_USER,
	H_USER_DOC,
	H_USER_NAME,
	H_CREATED,
	H_UPDATED,
	H_ORIGIN,
	H_PRESET_NAME,
	H_LENGTH
};

struct exporter {
	struct ctx *c;
	struct chat_export *w;
	struct rows *head, *branches, *segments;
	int64_t session_no, length, done;
	const struct json *origin;
	struct chat_names names;
	/* a window */
	int64_t segment, log_after;
	size_t ordinal;
	int32_t lo, hi;
	VEC(struct chat_floor) floors;
	struct sb out;
	bool first;
};

const char *
chat_format_type(enum chat_format f)
{
	return f == CHAT_THCHAT ? "application/json; charset=utf-8" : "application/x-ndjson; charset=utf-8";
}

static int
head_tx(struct ctx *c, void *arg)
{
	struct exporter *x = arg;
	struct json_error bad;
	int rc;

	x->head = db_query(c, STMT_chat_head, P_STR(x->w->session_id));
	rc = rows_next(x->head);
	if (rc <= 0)
		return rc < 0 ? -1 : fail(c, ERR_NOT_FOUND, "not_found", "session not found");
	x->session_no = row_int(x->head, H_NO);
	x->length = row_int(x->head, H_LENGTH);
	x->origin = row_null(x->head, H_ORIGIN)
			? NULL
			: json_read(c->a, row_str(x->head, H_ORIGIN), LIM_JSON_DEPTH, &bad);
	x->names = (struct chat_names){ row_str(x->head, H_USER_NAME), row_str(x->head, H_CARD_NAME) };
	if (!x->names.user.p)
		x->names.user = STR("User");
	if (!x->names.character.p)
		x->names.character = STR("Assistant");
	if (x->w->floors_max > 0 && x->length > x->w->floors_max)
		return fail(c, ERR_CONFLICT, "chat_too_large",
		    "the chat has %lld floors, more than the %lld that are exported at once: use POST "
		    "/export/chat/{id}/jobs",
		    (long long)x->length, (long long)x->w->floors_max);
	x->branches = db_query(c, STMT_chat_export_branches, P_INT(x->session_no));
	x->segments = db_query(c, STMT_chat_export_segments, P_INT(x->session_no));
	return rows_count(x->branches) < 0 || rows_count(x->segments) < 0 ? -1 : 0;
}

/* ---- a window ---- */

static int64_t
or_none(const struct rows *rs, int col)
{
	return row_null(rs, col) ? CHAT_NO_DATE : row_int(rs, col);
}

static const struct json *
origin_of(struct arena *a, const struct rows *rs, int col)
{
	struct json_error bad;

	return row_null(rs, col) ? NULL : json_read(a, row_str(rs, col), LIM_JSON_DEPTH, &bad);
}

static void
read_floor(struct exporter *x, const struct rows *f, struct chat_floor *out)
{
	*out = (struct chat_floor){ .id = row_str(f, 1),
		.floor_no = row_int(f, 2),
		.branch_id = row_str(f, 3),
		.parent_id = row_str(f, 4),
		.state = str_is(row_str(f, 5), "generating") ? STR("failed") : row_str(f, 5),
		.token_in = row_int(f, 6),
		.token_out = row_int(f, 7),
		.superseded_at = or_none(f, 8),
		.superseded_by = row_str(f, 9),
		.origin = origin_of(x->c->a, f, 10),
		.created_at = row_int(f, 11),
		.updated_at = row_int(f, 12),
		.segment = (int64_t)x->ordinal };
}

static void
read_page(struct exporter *x, const struct rows *p, struct chat_page *out)
{
	*out = (struct chat_page){ .id = row_str(p, 2),
		.kind = row_str(p, 3),
		.page_no = row_int(p, 4),
		.version = row_int(p, 5),
		.active = row_bool(p, 6),
		.state = str_is(row_str(p, 7), "generating") ? STR("failed") : row_str(p, 7),
		.checksum = row_str(p, 8),
		.reasoning = row_str(p, 9),
		.summaries = row_str(p, 10),
		.usage = row_str(p, 11),
		.finish_reason = row_str(p, 12),
		.model = row_str(p, 13),
		.error = row_str(p, 14),
		.origin = origin_of(x->c->a, p, 15),
		.created_at = row_int(p, 16),
		.updated_at = row_int(p, 17) };
}

static void
read_said(struct exporter *x, const struct rows *m, struct chat_said *out)
{
	*out = (struct chat_said){ .id = row_str(m, 1),
		.role = row_str(m, 2),
		.name = row_str(m, 3),
		.content = row_str(m, 4),
		.sent = row_str(m, 5),
		.rolls = row_str(m, 6),
		.format = row_str(m, 7),
		.source = row_str(m, 8),
		.hidden = row_bool(m, 9),
		.origin = origin_of(x->c->a, m, 10),
		.created_at = row_int(m, 11) };
}

/* All three lists are in one order. */
static int
window_tx(struct ctx *c, void *arg)
{
	struct exporter *x = arg;
	struct rows *f = db_query(c, STMT_chat_export_floors, P_INT(x->segment), P_INT(x->lo), P_INT(x->hi));
	struct rows *p = db_query(c, STMT_chat_export_pages, P_INT(x->segment), P_INT(x->lo), P_INT(x->hi));
	struct rows *m =
	    db_query(c, STMT_chat_export_messages, P_INT(x->segment), P_INT(x->lo), P_INT(x->hi));
	int more_p, more_m;

	x->floors.v = NULL;
	x->floors.n = x->floors.cap = 0;
	if (rows_count(f) < 0 || (more_p = rows_next(p)) < 0 || (more_m = rows_next(m)) < 0)
		return -1;
	while (rows_next(f) > 0) {
		struct chat_floor *to = vec_add(c->a, &x->floors);
		int64_t floor_no = row_int(f, 0);
		VEC(struct chat_page) pages = { 0 };

		read_floor(x, f, to);
		for (; more_p > 0 && row_int(p, 0) == floor_no; more_p = rows_next(p)) {
			struct chat_page *page = vec_add(c->a, &pages);
			int64_t page_no = row_int(p, 1);
			VEC(struct chat_said) said = { 0 };

			read_page(x, p, page);
			for (; more_m > 0 && row_int(m, 0) == page_no; more_m = rows_next(m))
				read_said(x, m, vec_add(c->a, &said));
			page->said = said.v;
			page->n = said.n;
		}
		to->pages = pages.v;
		to->n = pages.n;
	}
	return more_p < 0 || more_m < 0 ? -1 : 0;
}

static int
flush(struct exporter *x)
{
	int rc = x->out.n > 0 ? x->w->write(x->w->arg, sb_str(&x->out)) : 0;

	sb_truncate(&x->out, 0);
	return rc;
}

/* Floors (lo, hi] of a segment. */
static int
range(struct exporter *x, int64_t segment, int32_t lo, int32_t hi)
{
	struct ctx *c = x->c;

	x->segment = segment;
	for (x->lo = lo; x->lo < hi; x->lo = x->hi) {
		struct arena_mark m = arena_mark(c->a);
		int rc;

		x->hi = x->lo + WINDOW < hi ? x->lo + WINDOW : hi;
		if (db_tx(c, DB_READ, window_tx, x) < 0)
			return -1;
		x->out = sb_new(c->a);
		for (size_t i = 0; i < x->floors.n; i++) {
			if (x->w->format == CHAT_THCHAT) {
				sb_adds(&x->out, x->first ? "" : ",");
				thchat_write_floor(&x->out, c->a, &x->floors.v[i]);
			} else
				chat_write_floor(&x->out, c->a, &x->floors.v[i], &x->names);
			x->first = false;
		}
		rc = flush(x);
		x->done += (int64_t)x->floors.n;
		if (rc == 0 && x->w->step)
			rc = x->w->step(
			    x->w->arg, "rendering", x->done, x->done > x->length ? x->done : x->length);
		if (rc < 0)
			return -1;
		arena_rewind(c->a, m);
	}
	return 0;
}

/* ---- .thchat ---- */

/* Numbers of segments mean nothing elsewhere: their places in the list do. */
static void
print_branches(struct exporter *x, struct sb *s, const int64_t *segs, size_t n_segs)
{
	struct rows *rs = x->branches;
	struct arena *a = x->c->a;
	bool first = true;

	sb_addf(s, ",\"segments\":%zu,\"branches\":[", n_segs);
	while (rows_next(rs) > 0) {
		struct branch b;

		if (branch_read(a, &b, row_str(rs, 1), row_str(rs, 2)) < 0)
			continue;
		sb_addf(s, "%s{\"id\":", first ? "" : ",");
		first = false;
		sb_add_json(s, row_str(rs, 0));
		sb_adds(s, ",\"segments\":[");
		for (size_t i = 0; i < b.n; i++) {
			size_t at = 0;

			while (at < n_segs && segs[at] != b.segs[i])
				at++;
			sb_addf(s, "%s%zu", i ? "," : "", at);
		}
		sb_adds(s, "],\"ends\":[");
		for (size_t i = 0; i < b.n; i++)
			sb_addf(s, "%s%d", i ? "," : "", i + 1 < b.n ? b.his[i] : (int)row_int(rs, 3));
		sb_addc(s, ']');
		if (!row_null(rs, 4))
			member_text(s, "forked_from", row_str(rs, 4));
		if (!row_null(rs, 5))
			sb_addf(s, ",\"forked_at\":%lld", (long long)row_int(rs, 5));
		if (!str_is(row_str(rs, 6), "{}"))
			member(s, "policy", row_str(rs, 6));
		if (!row_null(rs, 7))
			member_text(s, "decisions", row_str(rs, 7));
		sb_addc(s, '}');
	}
	sb_addc(s, ']');
}

static void
print_own(struct exporter *x, struct sb *s, const int64_t *segs, size_t n_segs)
{
	static const char *const bindings[] = { "preset_id", "preset_version_id", "worldbook_profile_id",
		"worldbook_version_id", "regex_profile_id", "regex_profile_version_id" };
	static const struct {
		const char *name;
		int col;
		bool json;
	} more[] = { { "character_id", H_CHARACTER, false },
		{ "character_version_id", H_CHARACTER_VERSION, false }, { "user_id", H_USER, false },
		{ "model_params", H_PARAMS, true }, { "settings", H_SETTINGS, true },
		{ "policy", H_POLICY, true }, { "preset_choices", H_CHOICES, true } };
	const struct rows *h = x->head;

	sb_addf(s, ",\"tavernd\":{\"deep_binding\":%s", row_bool(h, 17) ? "true" : "false");
	for (int i = 0; i < 6; i++)
		if (!row_null(h, H_PRESET + i))
			member_text(s, bindings[i], row_str(h, H_PRESET + i));
	for (size_t i = 0; i < sizeof(more) / sizeof(*more); i++) {
		if (row_null(h, more[i].col) || str_is(row_str(h, more[i].col), "{}"))
			continue;
		if (more[i].json)
			member(s, more[i].name, row_str(h, more[i].col));
		else
			member_text(s, more[i].name, row_str(h, more[i].col));
	}
	if (json_get(x->origin, "header"))
		member(s, "header", json_text(x->c->a, json_get(x->origin, "header")));
	if (x->w->variables)
		sb_adds(s, ",\"log\":true");
	print_branches(x, s, segs, n_segs);
	sb_addc(s, '}');
}

static void
print_head(struct exporter *x, struct sb *s, const int64_t *segs, size_t n_segs)
{
	const struct rows *h = x->head;
	const struct json *rest = json_get(x->origin, "rest");
	struct json_iter it = { 0 };
	struct json *value;
	struct str key, preset = row_str(h, H_PRESET_NAME);

	sb_addf(s,
	    "{\"spec\":\"tavern_headless_chat\",\"spec_version\":\"1.1.0\",\"exported_at\":%lld,\"export_"
	    "source\":\"tavernd\",\"data\":{\"title\":",
	    (long long)x->c->now);
	sb_add_json(s, row_str(h, H_TITLE));
	member_text(s, "status", row_str(h, H_STATUS));
	sb_addf(s, ",\"created_at\":%lld,\"updated_at\":%lld", (long long)row_int(h, H_CREATED),
	    (long long)row_int(h, H_UPDATED));
	member(s, "character_snapshot", row_str(h, H_CARD));
	member(s, "user_snapshot", row_str(h, H_USER_DOC));
	member_text(s, "character_sync_policy", row_null(h, H_SYNC) ? STR("pin") : row_str(h, H_SYNC));
	member_text(s, "preset_name", preset.p ? preset : json_get_str(x->origin, "preset_name"));
	member_text(s, "prompt_mode", row_str(h, H_MODE));
	member_text(s, "model_provider", row_str(h, H_PROVIDER));
	member_text(s, "model_name", row_str(h, H_MODEL));
	member(s, "metadata", row_str(h, H_METADATA));
	while (rest && json_next(rest, &it, &key, &value)) {
		sb_addc(s, ',');
		sb_add_json(s, key);
		sb_addc(s, ':');
		sb_add(s, json_text(x->c->a, value));
	}
	print_own(x, s, segs, n_segs);
}

static int
variables_tx(struct ctx *c, void *arg)
{
	struct exporter *x = arg;
	struct rows *rs = db_query(c, STMT_chat_export_variables, P_INT(x->session_no));
	int rc;

	sb_truncate(&x->out, 0);
	sb_adds(&x->out, ",\"variables\":[");
	for (bool first = true; (rc = rows_next(rs)) > 0; first = false) {
		struct str scope = row_str(rs, 0);

		sb_addf(&x->out, "%s{\"scope\":", first ? "" : ",");
		sb_add_json(&x->out, scope);
		member_text(&x->out, "scope_id_ref",
		    str_is(scope, "chat")     ? STR_NULL
		    : str_is(scope, "branch") ? row_str(rs, 1)
					      : row_str(rs, 2));
		member_text(&x->out, "key", row_str(rs, 3));
		member(&x->out, "value", row_str(rs, 4));
		sb_addf(&x->out, ",\"updated_at\":%lld}", (long long)row_int(rs, 5));
	}
	sb_addc(&x->out, ']');
	return rc;
}

struct log_window {
	struct exporter *x;
	const int64_t *segs;
	size_t n_segs, rows;
};

static int
log_tx(struct ctx *c, void *arg)
{
	struct log_window *w = arg;
	struct exporter *x = w->x;
	struct rows *rs =
	    db_query(c, STMT_chat_export_log, P_INT(x->session_no), P_INT(x->log_after), P_INT(LOG_WINDOW));
	struct sb *s = &x->out;
	bool first = x->first;
	int rc;

	sb_truncate(s, 0);
	for (w->rows = 0; (rc = rows_next(rs)) > 0; w->rows++) {
		size_t at = 0;

		sb_addf(s, "%s{\"scope\":", first ? "" : ",");
		first = false;
		sb_add_json(s, row_str(rs, 1));
		if (!row_null(rs, 2))
			member_text(s, "branch", row_str(rs, 2));
		if (!row_null(rs, 3))
			member_text(s, "ref", row_str(rs, 3));
		if (!row_null(rs, 4))
			member_text(s, "page", row_str(rs, 4));
		member_text(s, "key", row_str(rs, 5));
		if (!row_null(rs, 6))
			member_text(s, "path", row_str(rs, 6));
		if (!row_null(rs, 7))
			member_text(s, "value", row_str(rs, 7));
		while (at < w->n_segs && w->segs[at] != row_int(rs, 8))
			at++;
		if (!row_null(rs, 8))
			sb_addf(s, ",\"segment\":%zu,\"floor\":%lld", at, (long long)row_int(rs, 9));
		sb_addf(s, ",\"active\":%s", row_bool(rs, 10) ? "true" : "false");
		member_text(s, "source", row_str(rs, 11));
		if (!row_null(rs, 12))
			member(s, "detail", row_str(rs, 12));
		sb_addf(s, ",\"created_at\":%lld}", (long long)row_int(rs, 13));
		x->log_after = row_int(rs, 0);
	}
	return rc;
}

static int
write_log(struct exporter *x, const int64_t *segs, size_t n_segs)
{
	struct log_window w = { x, segs, n_segs, LOG_WINDOW };

	x->first = true;
	if (x->w->write(x->w->arg, STR(",\"variable_log\":[")) < 0)
		return -1;
	while (w.rows == LOG_WINDOW) {
		struct arena_mark m = arena_mark(x->c->a);

		x->out = sb_new(x->c->a);
		if (db_tx(x->c, DB_READ, log_tx, &w) < 0 || flush(x) < 0)
			return -1;
		x->first = x->first && w.rows == 0;
		arena_rewind(x->c->a, m);
	}
	return x->w->write(x->w->arg, STR("]"));
}

static int
write_thchat(struct exporter *x)
{
	struct ctx *c = x->c;
	size_t n = (size_t)rows_count(x->segments);
	int64_t *segs = arena_array(c->a, int64_t, n);
	int32_t *ends = arena_array(c->a, int32_t, n);

	for (size_t i = 0; i < n && rows_next(x->segments) > 0; i++) {
		segs[i] = row_int(x->segments, 0);
		ends[i] = row_null(x->segments, 1) ? -1 : (int32_t)row_int(x->segments, 1);
	}
	print_head(x, &x->out, segs, n);
	if (flush(x) < 0 || (x->w->variables && (db_tx(c, DB_READ, variables_tx, x) < 0 || flush(x) < 0)))
		return -1;
	if (x->w->write(x->w->arg, STR(",\"floors\":[")) < 0)
		return -1;
	x->first = true;
	for (x->ordinal = 0; x->ordinal < n; x->ordinal++)
		if (range(x, segs[x->ordinal], -1, ends[x->ordinal]) < 0)
			return -1;
	if (x->w->write(x->w->arg, STR("]")) < 0 || (x->w->variables && write_log(x, segs, n) < 0))
		return -1;
	return x->w->write(x->w->arg, STR("}}"));
}

/* ---- SillyTavern ---- */

/* Branch variables of main are SillyTavern's local variables of the chat. */
static int
local_tx(struct ctx *c, void *arg)
{
	struct exporter *x = arg;
	struct rows *rs = db_query(c, STMT_chat_export_variables, P_INT(x->session_no));
	struct json *doc = json_get(x->origin, "header") ? json_copy(c->a, json_get(x->origin, "header"))
							 : json_object(c->a);
	struct chat_header h = {
		.user_name = x->names.user, .character_name = x->names.character, .doc = doc
	};
	struct json *meta, *vars = json_object(c->a);
	struct json_error bad;
	int rc;

	while ((rc = rows_next(rs)) > 0)
		if (x->w->variables && str_is(row_str(rs, 0), "branch") && str_is(row_str(rs, 1), "main"))
			json_set_s(
			    vars, row_str(rs, 3), json_read(c->a, row_str(rs, 4), LIM_JSON_DEPTH, &bad));
	if (json_get(x->origin, "header")) { /* as it was */
		h.user_name = json_get_str(doc, "user_name").p ? json_get_str(doc, "user_name") : STR("");
		h.character_name =
		    json_get_str(doc, "character_name").p ? json_get_str(doc, "character_name") : STR("");
	}
	meta = json_type(json_get(doc, "chat_metadata")) == JSON_OBJECT ? json_get(doc, "chat_metadata")
									: json_object(c->a);
	if (json_len(vars) > 0 || json_has(meta, "variables"))
		json_set(meta, "variables", vars);
	h.metadata = meta;
	sb_truncate(&x->out, 0);
	chat_write_header(&x->out, c->a, &h);
	return rc < 0 ? -1 : 0;
}

static int
write_jsonl(struct exporter *x)
{
	struct ctx *c = x->c;
	struct branch b = { .n = 0 };

	while (rows_next(x->branches) > 0)
		if (str_is(row_str(x->branches, 0), "main") &&
		    branch_read(c->a, &b, row_str(x->branches, 1), row_str(x->branches, 2)) == 0)
			b.head = (int32_t)row_int(x->branches, 3);
	if (db_tx(c, DB_READ, local_tx, x) < 0 || flush(x) < 0)
		return -1;
	for (size_t i = 0; i < b.n; i++)
		if (range(x, b.segs[i], i > 0 ? b.his[i - 1] : -1, i + 1 < b.n ? b.his[i] : b.head) < 0)
			return -1;
	return 0;
}

int
chat_export(struct ctx *c, struct chat_export *w)
{
	struct exporter x = { .c = c, .w = w };
	struct str title;

	c->now = tm_now();
	if (db_tx(c, DB_READ, head_tx, &x) < 0)
		return -1;
	x.out = sb_new(c->a);
	title = row_str(
	    x.head, w->format == CHAT_JSONL && row_str(x.head, H_CARD_NAME).n ? H_CARD_NAME : H_TITLE);
	w->file_name = arena_printf(c->a, "%.*s%s", STR_ARG(title.n ? title : STR("chat")),
	    w->format == CHAT_THCHAT ? ".thchat" : ".jsonl");
	if (w->begin && w->begin(w->arg, w->file_name, chat_format_type(w->format)) < 0)
		return -1;
	return w->format == CHAT_THCHAT ? write_thchat(&x) : write_jsonl(&x);
}
