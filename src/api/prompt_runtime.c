/*
 * prompt_runtime: how a session's prompts are made: mode, policies, bound assets, and looks at a
 * prompt or at one text without a turn.
 */
#include "api/app.h"
#include "api/rest.h"
#include "api/tables.h"
#include "api/wire.h"
#include "base/limits.h"
#include "turn/look.h"

#define COUNT(v) (sizeof(v) / sizeof((v)[0]))

/* ---- capabilities: the table is the answer ---- */

static struct json *described(struct arena *a, const struct field *table, const struct json *defaults);

static struct json *
choices_json(struct arena *a, const struct field *item)
{
	struct json *list = json_array(a);

	for (size_t i = 0; item && item->choices && item->choices[i]; i++)
		json_push_str(list, str_c(item->choices[i]));
	return list;
}

static struct json *
value_of(struct arena *a, const struct field *f, const struct json *defaults)
{
	struct json_error err;

	if (f->dflt)
		return json_read(a, str_c(f->dflt), LIM_JSON_DEPTH, &err);
	if (f->type == FT_ARRAY)
		return choices_json(a, f->items);
	if (strcmp(f->name, "defaults") == 0)
		return json_copy(a, defaults);
	return described(a, f->fields, json_get(defaults, f->name));
}

static struct json *
described(struct arena *a, const struct field *table, const struct json *defaults)
{
	struct json *o = json_object(a);

	for (const struct field *f = table; f->name; f++)
		json_set(o, f->name, value_of(a, f, defaults));
	return o;
}

static int
capabilities(struct request *r)
{
	struct arena *a = r->ctx->a;

	return reply_data(r, json_text(a, described(a, wire_capabilities_answer, policy_defaults(a))));
}

/* ---- what a session says ---- */

struct runtime {
	struct look_scope scope;
	enum prompt_mode mode;
	const struct json *session, *branch; /* envelopes; NULL = nothing stored */
	struct json *assets, *diagnostics;
};

static const struct json *
envelope_read(struct ctx *c, struct str text)
{
	struct json_error err;
	const struct json *j = json_read(c->a, text, LIM_JSON_DEPTH, &err);

	return json_get(j, "value") ? j : NULL;
}

/* Bound assets that are read anew each turn, by their columns in runtime_session. */
static const struct {
	const char *kind, *member;
	int id, version;
} bound[] = {
	{ "preset", "preset_id", 4, 5 },
	{ "worldbook", "worldbook_profile_id", 6, 7 },
	{ "regex_profile", "regex_profile_id", 8, 9 },
};

static int
asset_set(struct request *r, struct runtime *w, struct rows *rs, const char *name, const char *member)
{
	struct json *o;
	int rc = rs ? rows_next(rs) : 0;

	if (rc < 0)
		return -1;
	if (rc == 0 || !row_null(rs, 3)) {
		json_set(w->assets, name, NULL);
		if (rs)
			look_asset_missing(w->diagnostics, name, member);
		return 0;
	}
	o = json_set_object(w->assets, name);
	json_set_str(o, "id", row_str(rs, 0));
	json_set_str(o, "name", row_str(rs, 1));
	json_set_str(o, "version_id", row_str(rs, 5));
	json_set_int(o, "version_no", row_int(rs, 6));
	json_set_c(o, "content_hash", arena_printf(r->ctx->a, "sha256:%.*s", STR_ARG(row_str(rs, 7))));
	return 0;
}

/* The frozen card: columns 10 to 14. A card of the session's own has no id: nothing to name. */
static void
card_set(struct runtime *w, const struct rows *rs)
{
	struct json *o;

	if (row_null(rs, 10)) {
		json_set(w->assets, "character_card", NULL);
		return;
	}
	o = json_set_object(w->assets, "character_card");
	json_set_str(o, "id", row_str(rs, 10));
	json_set_str(o, "name", row_str(rs, 11));
	json_set_str(o, "version_id", row_str(rs, 12));
	if (row_null(rs, 13))
		json_set(o, "version_no", NULL);
	else
		json_set_int(o, "version_no", row_int(rs, 13));
	json_set_str(o, "content_hash", row_str(rs, 14));
}

static int
assets_load(struct request *r, struct runtime *w, const struct rows *session)
{
	struct rows *rs[COUNT(bound)] = { NULL };

	w->assets = json_object(r->ctx->a);
	w->diagnostics = json_array(r->ctx->a);
	for (size_t i = 0; i < COUNT(bound); i++)
		if (!row_null(session, bound[i].id))
			rs[i] = db_query(r->ctx, STMT_asset_resolve, P_C(bound[i].kind), P_STR(row_str(session, bound[i].id)),
			    P_STR(row_str(session, bound[i].version)));
	for (size_t i = 0; i < COUNT(bound); i++)
		if (asset_set(r, w, rs[i], bound[i].kind, bound[i].member) < 0)
			return -1;
	card_set(w, session);
	return 0;
}

static int
runtime_load(struct request *r, void *arg)
{
	struct runtime *w = arg;
	struct ctx *c = r->ctx;
	struct rows *rs = db_query(c, STMT_runtime_session, P_STR(req_param(r, "id")), P_STR(w->scope.target));
	int rc = rows_next(rs);

	if (rc <= 0)
		return rc < 0 ? -1 : fail(c, ERR_NOT_FOUND, "not_found", "session not found");
	if (!prompt_mode_parse(row_str(rs, 0), &w->mode))
		return fail(c, ERR_INTERNAL, "internal_error", "stored prompt mode is unknown");
	w->session = envelope_read(c, row_str(rs, 1));
	w->scope.session_id = req_param(r, "id");
	w->scope.exists = !row_null(rs, 2);
	w->branch = w->scope.exists ? envelope_read(c, row_str(rs, 3)) : NULL;
	w->scope.history_branch = w->scope.exists ? w->scope.target : STR("main");
	w->scope.history_mode = w->scope.exists ? NULL : "main_fallback";
	return assets_load(r, w, rs);
}

static struct policy_resolved
resolved(struct request *r, const struct runtime *w)
{
	return policy_resolve(r->ctx->a, &(struct policy_layers){ { json_get(w->session, "value"), json_get(w->branch, "value") } });
}

/* ---- overview, assets, mode ---- */

static void
stored_set(struct json *o, const char *name, const char *envelope_name, const struct json *envelope, bool or_null)
{
	if (envelope)
		json_set(o, name, json_get(envelope, "value"));
	else if (or_null)
		json_set(o, name, NULL);
	else
		json_set_object(o, name);
	json_set(o, envelope_name, envelope);
}

static int
overview(struct request *r)
{
	struct arena *a = r->ctx->a;
	struct runtime w = { .scope.target = req_query(r, "branch_id") };
	struct policy_resolved p;
	struct json *o = json_object(a);

	if (!w.scope.target.p)
		w.scope.target = STR("main");
	if (rest_tx(r, DB_READ, runtime_load, &w) < 0)
		return -1;
	p = resolved(r, &w);
	json_set(o, "scope", look_scope_json(a, &w.scope));
	json_set(o, "mode", look_mode_json(a, w.mode));
	json_set(o, "policy", p.policy);
	stored_set(o, "persistent_policy", "persistent_policy_envelope", w.session, false);
	stored_set(o, "branch_persistent_policy", "branch_persistent_policy_envelope", w.branch, true);
	json_set(o, "source_map", look_source_map(a, &p, &w.scope));
	json_set(o, "assets", w.assets);
	json_set(o, "diagnostics", w.diagnostics);
	json_set(o, "limitations", look_limitations(a, false));
	json_set_array(o, "warnings");
	return reply_data(r, json_text(a, o));
}

static int
assets_get(struct request *r)
{
	struct runtime w = { .scope.target = STR("main") };

	return rest_tx(r, DB_READ, runtime_load, &w) < 0 ? -1 : reply_data(r, json_text(r->ctx->a, w.assets));
}

static int
mode_get(struct request *r)
{
	struct runtime w = { .scope.target = STR("main") };

	return rest_tx(r, DB_READ, runtime_load, &w) < 0 ? -1 : reply_data(r, json_text(r->ctx->a, look_mode_json(r->ctx->a, w.mode)));
}

static int
mode_patch_tx(struct request *r, void *arg)
{
	const enum prompt_mode *mode = arg;
	struct json *cols = json_object(r->ctx->a);
	int64_t n;

	json_set_c(cols, "prompt_mode", prompt_mode_name(*mode));
	json_set_int(cols, "updated_at", r->ctx->now);
	n = db_exec(r->ctx, STMT_session_update, P_STR(req_param(r, "id")), P_STR(json_text(r->ctx->a, cols)));
	return n > 0 ? 0 : n < 0 ? -1 : fail(r->ctx, ERR_NOT_FOUND, "not_found", "session not found");
}

static int
mode_patch(struct request *r)
{
	enum prompt_mode mode = PROMPT_COMPAT_STRICT; /* null goes back to the default */

	prompt_mode_parse(json_get_str(r->in, "prompt_mode"), &mode);
	return rest_tx(r, DB_WRITE, mode_patch_tx, &mode) < 0 ? -1 : reply_data(r, json_text(r->ctx->a, look_mode_json(r->ctx->a, mode)));
}

/* ---- policies ---- */

struct policy_work {
	bool of_branch;
	struct str branch_id;
	struct runtime now;           /* what is stored afterwards */
};

static int
branch_must_exist(struct request *r, const struct policy_work *w, bool exists)
{
	return exists || !w->of_branch ?
	    0 :
	    fail(r->ctx, ERR_NOT_FOUND, "branch_not_found", "branch \"%.*s\" does not exist in this session", STR_ARG(w->branch_id));
}

static int
policy_load(struct request *r, void *arg)
{
	struct policy_work *w = arg;

	w->now = (struct runtime){ .scope.target = w->branch_id };
	return runtime_load(r, &w->now) < 0 ? -1 : branch_must_exist(r, w, w->now.scope.exists);
}

/* What is stored, and what it comes to: for a branch with the session's below it. */
static int
policy_reply(struct request *r, const struct policy_work *w)
{
	struct arena *a = r->ctx->a;
	struct runtime seen = w->now;
	struct json *o = json_object(a);

	if (!w->of_branch)
		seen.branch = NULL;
	stored_set(o, "persistent_policy", "persistent_policy_envelope", w->of_branch ? w->now.branch : w->now.session, false);
	json_set(o, "resolved_policy", resolved(r, &seen).policy);
	json_set_array(o, "warnings");
	return reply_data(r, json_text(a, o));
}

static struct policy_work
policy_work_of(const struct request *r)
{
	bool of_branch = r->route->arg != NULL;

	return (struct policy_work){ .of_branch = of_branch, .branch_id = of_branch ? req_param(r, "branchId") : STR("main") };
}

static int
policy_get_one(struct request *r)
{
	struct policy_work w = policy_work_of(r);

	return rest_tx(r, DB_READ, policy_load, &w) < 0 ? -1 : policy_reply(r, &w);
}

static struct json *
envelope_next(struct request *r, const struct json *old)
{
	struct arena *a = r->ctx->a;
	struct json *e = json_object(a);

	json_set(e, "value", policy_patch(a, json_get(old, "value"), r->in));
	json_set_int(e, "version", json_get_int(old, "version", 0) + 1);
	json_set_int(e, "updated_at", r->ctx->now);
	json_set_c(e, "updated_by", r->ctx->who.account_id);
	return e;
}

static int
policy_patch_tx(struct request *r, void *arg)
{
	struct policy_work *w = arg;
	struct ctx *c = r->ctx;
	struct rows *rs = db_query(c, STMT_policy_hold, P_STR(req_param(r, "id")), P_STR(w->branch_id));
	int rc = rows_next(rs), col = w->of_branch ? 3 : 1;
	struct json *next;
	int64_t n;

	if (rc <= 0)
		return rc < 0 ? -1 : fail(c, ERR_NOT_FOUND, "not_found", "session not found");
	if (branch_must_exist(r, w, !row_null(rs, 2)) < 0)
		return -1;
	next = envelope_next(r, envelope_read(c, row_str(rs, col)));
	n = db_exec(c, w->of_branch ? STMT_branch_policy_set : STMT_session_policy_set, P_INT(row_int(rs, col - 1)), P_STR(json_text(c->a, next)), P_INT(c->now));
	return n < 0 ? -1 : policy_load(r, w);
}

static int
policy_patch_one(struct request *r)
{
	struct policy_work w = policy_work_of(r);

	return rest_tx(r, DB_WRITE, policy_patch_tx, &w) < 0 ? -1 : policy_reply(r, &w);
}

/* ---- looks ---- */

static struct turn_request
look_request(struct request *r)
{
	return (struct turn_request){ .type = TURN_RESPOND, .session_id = req_param(r, "id"), .branch_id = json_get_str(r->in, "branch_id"),
		.source_floor_id = json_get_str(r->in, "source_floor_id"), .message = json_get_str(r->in, "message"), .body = r->in, .anywhere = true };
}

static int
preview(struct request *r)
{
	struct turn_request q = look_request(r);
	struct look_text text = { json_get_str(r->in, "text"), json_get_str(r->in, "dialect") };
	struct sb answer = sb_new(r->ctx->a);

	return turn_preview(app_of(r)->turns, r->ctx, &q, &text, &answer) < 0 ? -1 : reply_data(r, sb_str(&answer));
}

static int
inspect(struct request *r)
{
	struct turn_request q = look_request(r);
	struct sb answer = sb_new(r->ctx->a);

	return turn_inspect(app_of(r)->turns, r->ctx, &q, &answer) < 0 ? -1 : reply_data(r, sb_str(&answer));
}

static const int errors_read[] = { 404, 0 };
static const int errors_write[] = { 404, 409, 0 };
static const char of_branch[] = "branch"; /* route.arg of the branch's policy */

/* clang-format off */
const struct route api_prompt_runtime_routes[] = {
	{ METHOD_GET, "/prompt-runtime/capabilities", capabilities, AUTH_ACCOUNT, .answer = wire_capabilities_answer, .tag = "prompt-runtime",
	  .summary = "Modes, policies and limits of the prompt runtime" },
	{ METHOD_GET, "/sessions/{id}/prompt-runtime", overview, AUTH_ACCOUNT, .query = wire_runtime_query, .answer = wire_runtime_answer, .errors = errors_read,
	  .tag = "prompt-runtime", .summary = "Mode, policy and assets of a session, resolved for a branch" },
	{ METHOD_GET, "/sessions/{id}/prompt-runtime/assets", assets_get, AUTH_ACCOUNT, .answer = wire_assets_answer, .errors = errors_read,
	  .tag = "prompt-runtime", .summary = "Assets that the session's prompts are made of" },
	{ METHOD_GET, "/sessions/{id}/prompt-runtime/mode", mode_get, AUTH_ACCOUNT, .answer = wire_mode_answer, .errors = errors_read,
	  .tag = "prompt-runtime", .summary = "Read the prompt mode" },
	{ METHOD_PATCH, "/sessions/{id}/prompt-runtime/mode", mode_patch, AUTH_ACCOUNT, .body = wire_mode_body, .answer = wire_mode_answer,
	  .errors = errors_write, .tag = "prompt-runtime", .summary = "Set the prompt mode" },
	{ METHOD_GET, "/sessions/{id}/prompt-runtime/policy", policy_get_one, AUTH_ACCOUNT, .answer = wire_policy_answer, .errors = errors_read,
	  .tag = "prompt-runtime", .summary = "Session policy, stored and resolved" },
	{ METHOD_PATCH, "/sessions/{id}/prompt-runtime/policy", policy_patch_one, AUTH_ACCOUNT, .body = wire_policy_body, .body_mode = FIELD_PATCH,
	  .answer = wire_policy_answer, .errors = errors_write, .tag = "prompt-runtime", .summary = "Change the session policy member by member" },
	{ METHOD_GET, "/sessions/{id}/prompt-runtime/branches/{branchId}/policy", policy_get_one, AUTH_ACCOUNT, .answer = wire_policy_answer,
	  .errors = errors_read, .arg = of_branch, .tag = "prompt-runtime", .summary = "Branch policy, stored and resolved" },
	{ METHOD_PATCH, "/sessions/{id}/prompt-runtime/branches/{branchId}/policy", policy_patch_one, AUTH_ACCOUNT, .body = wire_policy_body,
	  .body_mode = FIELD_PATCH, .answer = wire_policy_answer, .errors = errors_write, .arg = of_branch, .tag = "prompt-runtime",
	  .summary = "Change the branch policy member by member" },
	{ METHOD_POST, "/sessions/{id}/prompt-runtime/preview", preview, AUTH_ACCOUNT, .body = wire_preview_body, .answer = wire_preview_answer,
	  .errors = errors_write, .tag = "prompt-runtime", .summary = "Expand the macros of one text; nothing is written" },
	{ METHOD_POST, "/sessions/{id}/prompt-runtime/inspect", inspect, AUTH_ACCOUNT, .body = wire_inspect_body, .answer = wire_inspect_answer,
	  .errors = errors_write, .tag = "prompt-runtime", .summary = "A turn as it would be sent, with the reasons for every part; nothing is written" },
	{ .path = NULL }
};
/* clang-format on */
