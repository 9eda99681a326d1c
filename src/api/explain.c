/*
 * explain: how committed turns came about, from what was kept of them. Nothing is assembled again here.
 */
#include "turn/explain.h"

#include "api/app.h"
#include "api/rest.h"
#include "api/tables.h"
#include "api/wire.h"
#include "base/limits.h"
#include "prompt/runtime_policy.h"
#include "turn/look.h"
#include "turn/replay.h"

#define COUNT(v) (sizeof(v) / sizeof((v)[0]))

/* One page and all that is known of it; slices and trees live in the request's arena. */
struct explained {
	struct str floor_id, page_id; /* asked for; page absent = the active one */
	struct str session_id;        /* absent = any */
	struct rows *rs;              /* on its row: the columns of explain_page */
	struct str text;              /* kept */
	struct json *why;             /* explain_read; NULL = nothing is kept */
	const struct json *snapshot, *said;
};

static const struct json *
column_json(struct request *r, const struct rows *rs, int col)
{
	struct json_error err;

	return row_null(rs, col) ? NULL : json_read(r->ctx->a, row_str(rs, col), LIM_JSON_DEPTH, &err);
}

static int
explained_load(struct request *r, struct explained *e)
{
	struct ctx *c = r->ctx;
	struct rows *rs = e->rs = db_query(c, STMT_explain_page, P_STR(e->floor_id), P_STR(e->page_id), P_STR(e->session_id));
	int rc = rows_next(rs);

	if (rc <= 0)
		return rc < 0 ? -1 : fail(c, ERR_NOT_FOUND, "not_found", "floor not found");
	if (!str_is(row_str(rs, 5), "committed"))
		return fail(c, ERR_CONFLICT, "floor_not_committed", "floor is %.*s; only a committed floor is explained", STR_ARG(row_str(rs, 5)));
	if (e->page_id.p && row_null(rs, 7))
		return fail(c, ERR_NOT_FOUND, "page_not_found", "page \"%.*s\" is no output page of this floor", STR_ARG(e->page_id));
	if (row_null(rs, 13))
		return fail(c, ERR_NOT_FOUND, "prompt_snapshot_not_found", "this page was not made by a turn: there is nothing to explain");
	e->text = row_str(rs, 15);
	e->why = explain_read(c->a, e->text);
	e->snapshot = column_json(r, rs, 13);
	e->said = column_json(r, rs, 14);
	return 0;
}

/* ---- parts of the answer ---- */

static struct json *
floor_json(struct arena *a, const struct rows *rs)
{
	struct json *o = json_object(a);

	json_set_str(o, "id", row_str(rs, 0));
	json_set_str(o, "session_id", row_str(rs, 1));
	json_set_int(o, "floor_no", row_int(rs, 2));
	json_set_str(o, "branch_id", row_str(rs, 3));
	json_set_str(o, "parent_floor_id", row_str(rs, 4));
	json_set_str(o, "state", row_str(rs, 5));
	json_set_int(o, "prompt_snapshot_created_at", row_int(rs, 16));
	json_set_int(o, "committed_at", row_int(rs, 6));
	return o;
}

static struct look_scope
scope_of(const struct rows *rs)
{
	return (struct look_scope){ .session_id = row_str(rs, 1), .target = row_str(rs, 3), .source_floor = STR_NULL, .history_branch = row_str(rs, 3), .exists = true };
}

/* An asset as the snapshot names it, by the name that it has now. */
static void
asset_set(struct json *to, const struct json *snapshot, const char *kind, struct str name, struct arena *a)
{
	struct str id = json_get_str(snapshot, arena_printf(a, "%s_id", kind));
	struct json *o;

	if (!id.p) {
		json_set(to, kind, NULL);
		return;
	}
	o = json_set_object(to, kind);
	json_set_str(o, "id", id);
	json_set_str(o, "name", name);
	json_set_str(o, "version_id", json_get_str(snapshot, arena_printf(a, "%s_version_id", kind)));
	json_set(o, "version_no", json_get(snapshot, arena_printf(a, "%s_version", kind)));
	json_set_str(o, "content_hash", json_get_str(snapshot, arena_printf(a, "%s_content_hash", kind)));
}

static struct json *
assets_json(struct request *r, const struct explained *e)
{
	struct arena *a = r->ctx->a;
	struct json *o = json_object(a), *card;
	const struct json *doc = column_json(r, e->rs, 22), *data = json_get(doc, "data");
	struct str id = json_get_str(e->snapshot, "character_id");

	asset_set(o, e->snapshot, "preset", row_str(e->rs, 19), a);
	if (id.p) {
		card = json_set_object(o, "character_card");
		json_set_str(card, "id", id);
		json_set_str(card, "name", json_get_str(data ? data : doc, "name"));
		json_set_str(card, "version_id", json_get_str(e->snapshot, "character_version_id"));
		json_set_str(card, "content_hash", json_get_str(e->snapshot, "character_content_hash"));
	} else
		json_set(o, "character_card", NULL);
	asset_set(o, e->snapshot, "worldbook", row_str(e->rs, 20), a);
	asset_set(o, e->snapshot, "regex_profile", row_str(e->rs, 21), a);
	return o;
}

static struct json *
policy_json(struct request *r, const struct explained *e)
{
	return policy_resolve(r->ctx->a, &(struct policy_layers){ .v = { [POLICY_SESSION] = e->said } }).policy;
}

static struct json *
sources_json(struct request *r, const struct explained *e)
{
	struct json *o = explain_sources(r->ctx->a, e->text), *history = json_set_object(o, "history");

	json_set_str(history, "source_branch_id", row_str(e->rs, 3));
	json_set_c(history, "source_mode", "existing_branch");
	return o;
}

static struct json *
limitations_json(struct arena *a)
{
	struct json *list = look_limitations(a, false);

	json_push_str(list, STR("An explanation is what was kept when the turn was committed: nothing is assembled again for it."));
	return list;
}

static struct json *
result_json(struct request *r, const struct explained *e)
{
	static const char *const counts[] = { "prompt_tokens", "completion_tokens", "total_tokens" };
	struct json *o = json_object(r->ctx->a), *usage;
	const struct json *summaries = column_json(r, e->rs, 8), *used = column_json(r, e->rs, 9);

	json_set_str(o, "output_page_id", row_str(e->rs, 7));
	json_set_str(o, "assistant_message_id", row_str(e->rs, 11));
	json_set_str(o, "generated_text", row_str(e->rs, 12));
	json_set(o, "summaries", summaries ? summaries : json_array(r->ctx->a));
	usage = json_set_object(o, "usage");
	for (size_t i = 0; i < COUNT(counts); i++)
		json_set_int(usage, counts[i], json_get_int(used, counts[i], 0));
	json_set(o, "verifier", column_json(r, e->rs, 18));
	json_set_int(o, "committed_at", row_int(e->rs, 10));
	return o;
}

/* Members that explain_read gives under the names of the wire. */
static const char *const reasons[] = { "governance", "trim_reasons", "excluded_sources", "section_stats", "budget", "rows", "blocks", "entries", "lore", "chat",
	"macros", "messages", "degraded", "decisions" };

static struct json *
explained_json(struct request *r, const struct explained *e)
{
	struct arena *a = r->ctx->a;
	struct json *o = json_object(a), *none = json_array(a);
	struct look_scope scope = scope_of(e->rs);

	json_set(o, "floor", floor_json(a, e->rs));
	json_set_str(o, "page_id", row_str(e->rs, 7));
	json_set(o, "scope", look_scope_json(a, &scope));
	json_set_bool(o, "snapshot_available", e->why != NULL);
	json_set(o, "assets", assets_json(r, e));
	json_set(o, "prompt_snapshot", e->snapshot);
	json_set(o, "resolved_policy", policy_json(r, e));
	json_set(o, "source_map", sources_json(r, e));
	for (size_t i = 0; i < COUNT(reasons); i++)
		json_set(o, reasons[i], json_get(e->why, reasons[i]));
	json_set(o, "diagnostics", e->why ? json_get(e->why, "diagnostics") : none);
	json_set(o, "limitations", limitations_json(a));
	json_set(o, "result", result_json(r, e));
	json_set_str(o, "request_digest", row_str(e->rs, 23));
	json_set(o, "kept_request", column_json(r, e->rs, 24));
	json_set(o, "memory", explain_memory(a, e->text, row_str(e->rs, 7), row_str(e->rs, 3)));
	return o;
}

static int
load_one(struct request *r, void *arg)
{
	return explained_load(r, arg);
}

static int
explain(struct request *r)
{
	struct explained e = { .floor_id = req_param(r, "id"), .page_id = req_query(r, "page_id") };

	return rest_tx(r, DB_READ, load_one, &e) < 0 ? -1 : reply_data(r, json_text(r->ctx->a, explained_json(r, &e)));
}

/* ---- compare ---- */

static void
change_push(struct json *list, const char *path, const struct json *left, const struct json *right)
{
	struct json *o;

	if (json_equal(left, right))
		return;
	o = json_push_object(list);
	json_set_c(o, "path", path);
	json_set_c(o, "change_type", left == NULL ? "added" : right == NULL ? "removed" : "changed");
	if (left)
		json_set(o, "left", left);
	if (right)
		json_set(o, "right", right);
}

/* Objects member by member; anything else is one value. */
static void
differ(struct arena *a, struct json *list, const char *path, const struct json *left, const struct json *right, int depth)
{
	struct json_iter it = { 0 };
	struct json *v;
	struct str key;

	if (depth == 0 || json_type(left) != JSON_OBJECT || json_type(right) != JSON_OBJECT) {
		change_push(list, path, left, right);
		return;
	}
	while (json_next(left, &it, &key, &v))
		differ(a, list, arena_printf(a, "%s.%.*s", path, STR_ARG(key)), v, json_get_s(right, key), depth - 1);
	it = (struct json_iter){ 0 };
	while (json_next(right, &it, &key, &v))
		if (json_get_s(left, key) == NULL)
			change_push(list, arena_printf(a, "%s.%.*s", path, STR_ARG(key)), NULL, v);
}

/* A list as an object by the names of its items, so that each is compared with its like. */
static struct json *
keyed(struct arena *a, const struct json *list, const char *const names[2])
{
	struct json *o = json_object(a);

	for (size_t i = 0; i < json_len(list); i++) {
		const struct json *v = json_at(list, i);
		struct str key = str_c(arena_printf(a, "%.*s", STR_ARG(json_get_str(v, names[0]))));

		if (names[1])
			key = str_c(arena_printf(a, "%.*s:%lld", STR_ARG(key), (long long)json_get_int(v, names[1], 0)));
		if (json_get_s(o, key))
			key = str_c(arena_printf(a, "%.*s#%zu", STR_ARG(key), i));
		json_set_s(o, key, v);
	}
	return o;
}

/* What is compared, under which names. `by`: of lists. */
static const struct compared {
	const char *group, *path, *member;
	int depth;
	const char *by[2];
} compared[] = {
	{ "scope_changes", "scope", "scope", 1, { NULL, NULL } },
	{ "policy_changes", "policy.resolved_policy", "resolved_policy", 4, { NULL, NULL } },
	{ "policy_changes", "policy.source_map", "source_map", 4, { NULL, NULL } },
	{ "asset_changes", "assets", "assets", 2, { NULL, NULL } },
	{ "diagnostics_changes", "diagnostics", "diagnostics", 0, { NULL, NULL } },
	{ "trim_changes", "trim_reasons", "trim_reasons", 0, { NULL, NULL } },
	{ "exclusion_changes", "excluded_sources", "excluded_sources", 0, { NULL, NULL } },
	{ "governance_changes", "governance", "governance", 1, { NULL, NULL } },
	{ "row_changes", "rows", "rows", 1, { "identifier", NULL } },
	{ "row_changes", "blocks", "blocks", 1, { "identifier", NULL } },
	{ "entry_changes", "entries", "entries", 1, { "book", "uid" } },
	{ "budget_changes", "budget", "budget", 1, { NULL, NULL } },
};

struct comparison {
	struct explained left, right;
};

static int
load_both(struct request *r, void *arg)
{
	struct comparison *k = arg;

	return explained_load(r, &k->left) < 0 ? -1 : explained_load(r, &k->right);
}

static void
side_set(struct json *o, const char *name, const struct explained *e)
{
	struct json *side = json_set_object(o, name);

	json_set_str(side, "floor_id", row_str(e->rs, 0));
	json_set_str(side, "page_id", row_str(e->rs, 7));
	json_set_bool(side, "snapshot_available", e->why != NULL);
}

static struct json *
comparison_json(struct request *r, const struct comparison *k)
{
	struct arena *a = r->ctx->a;
	const struct json *left = explained_json(r, &k->left), *right = explained_json(r, &k->right);
	struct json *o = json_object(a);

	side_set(o, "left", &k->left);
	side_set(o, "right", &k->right);
	for (size_t i = 0; i < COUNT(compared); i++) {
		const struct compared *p = &compared[i];
		struct json *list = json_get(o, p->group);
		const struct json *l = json_get(left, p->member), *h = json_get(right, p->member);

		if (list == NULL)
			list = json_set_array(o, p->group);
		if (p->by[0]) {
			l = keyed(a, l, p->by);
			h = keyed(a, h, p->by);
		}
		differ(a, list, p->path, l, h, p->depth);
	}
	json_set(o, "limitations", limitations_json(a));
	return o;
}

static struct explained
side_of(struct request *r, const char *name)
{
	const struct json *side = json_get(r->in, name);

	return (struct explained){ .floor_id = json_get_str(side, "floor_id"), .page_id = json_get_str(side, "page_id"), .session_id = req_param(r, "id") };
}

static int
compare(struct request *r)
{
	struct comparison k = { side_of(r, "left"), side_of(r, "right") };

	return rest_tx(r, DB_READ, load_both, &k) < 0 ? -1 : reply_data(r, json_text(r->ctx->a, comparison_json(r, &k)));
}

/* ---- replay ---- */

/* The bodies are JSON already. */
static int
replay(struct request *r)
{
	struct replayed p;
	struct sb out = sb_new(r->ctx->a);

	if (turn_replay(app_of(r)->turns, r->ctx, &(struct replay_request){ .floor_id = req_param(r, "id"), .page_id = req_query(r, "page_id") }, &p) < 0)
		return -1;
	sb_adds(&out, "{\"floor_id\":");
	sb_add_json(&out, p.floor_id);
	sb_adds(&out, ",\"page_id\":");
	sb_add_json(&out, p.page_id);
	sb_addf(&out, ",\"equal\":%s,\"expected_digest\":", p.equal ? "true" : "false");
	sb_add_json(&out, p.expected);
	sb_adds(&out, ",\"digest\":");
	sb_add_json(&out, p.actual);
	sb_adds(&out, ",\"difference\":");
	sb_add(&out, json_text(r->ctx->a, p.difference));
	sb_adds(&out, ",\"notes\":");
	sb_add(&out, json_text(r->ctx->a, p.notes));
	sb_adds(&out, ",\"request\":");
	sb_add(&out, p.request.p ? p.request : STR("null"));
	sb_adds(&out, ",\"kept_request\":");
	sb_add(&out, p.kept.p ? p.kept : STR("null"));
	sb_addc(&out, '}');
	return reply_data(r, sb_str(&out));
}

/* clang-format off */
static const int errors[] = { 404, 409, 0 };

const struct route api_explain_routes[] = {
	{ METHOD_GET, "/floors/{id}/prompt-runtime/explain", explain, AUTH_ACCOUNT, .query = wire_page_query, .answer = wire_explain_answer, .errors = errors,
	  .tag = "prompt-runtime", .summary = "How the prompt of a committed page came about" },
	{ METHOD_POST, "/sessions/{id}/prompt-runtime/compare", compare, AUTH_ACCOUNT, .body = wire_compare_body, .answer = wire_compare_answer, .errors = errors,
	  .tag = "prompt-runtime", .summary = "Compare how the prompts of two committed pages came about" },
	{ METHOD_GET, "/floors/{id}/replay", replay, AUTH_ACCOUNT, .query = wire_page_query, .answer = wire_replay_answer, .errors = errors,
	  .tag = "prompt-runtime", .summary = "Make the request of a committed page again, without a model, and compare it with what was sent" },
	{ .path = NULL }
};
/* clang-format on */
