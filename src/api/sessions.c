/*
 * sessions: list and read are rows; create, patch and sync bind assets and freeze snapshots, so
 * they are handlers over one shared step, session_columns.
 */
#include "api/app.h"
#include "api/rest.h"
#include "api/sessions.h"
#include "api/tables.h"
#include "api/wire.h"
#include "base/id.h"
#include "base/limits.h"
#include "store/asset.h"
#include "turn/greeting.h"

/* clang-format off */
static const char *const statuses[] = { "active", "archived", NULL };
static const char *const modes[] = { "compat_strict", "compat_plus", "native", "rearrange", NULL };
static const char *const sync_policies[] = { "pin", "manual", "force", NULL };

static const struct field character_summary[] = {
	{ "name", FT_STRING, .column = "character_name" },
	{ "has_greeting", FT_BOOL, .column = "character_greeting" },
	FIELD_END
};
static const struct field character_binding[] = {
	{ "character_id", FT_STRING, FF_NULLABLE },
	{ "character_version_id", FT_STRING, FF_NULLABLE },
	{ "sync_policy", FT_ENUM, .choices = sync_policies, .column = "character_sync_policy" },
	{ "snapshot_summary", FT_OBJECT, FF_NULLABLE, .fields = character_summary, .null_when = "character_name" },
	FIELD_END
};
static const struct field user_summary[] = {
	{ "name", FT_STRING, .column = "user_name" },
	FIELD_END
};
static const struct field user_binding[] = {
	{ "user_id", FT_STRING, FF_NULLABLE },
	{ "snapshot_summary", FT_OBJECT, FF_NULLABLE, .fields = user_summary, .null_when = "user_name" },
	FIELD_END
};
static const struct field session_fields[] = {
	{ "id", FT_STRING, FF_READONLY },
	{ "title", FT_STRING, FF_NULLABLE },
	{ "status", FT_ENUM, .choices = statuses },
	{ "character_binding", FT_OBJECT, FF_NULLABLE, .fields = character_binding, .null_when = "character_sync_policy" },
	{ "user_binding", FT_OBJECT, FF_NULLABLE, .fields = user_binding, .null_when = "user_doc" },
	{ "preset_id", FT_STRING, FF_NULLABLE },
	{ "preset_version_id", FT_STRING, FF_NULLABLE },
	{ "regex_profile_id", FT_STRING, FF_NULLABLE },
	{ "regex_profile_version_id", FT_STRING, FF_NULLABLE },
	{ "worldbook_profile_id", FT_STRING, FF_NULLABLE },
	{ "worldbook_version_id", FT_STRING, FF_NULLABLE },
	{ "deep_binding", FT_BOOL },
	{ "model_provider", FT_STRING, FF_NULLABLE },
	{ "model_name", FT_STRING, FF_NULLABLE },
	{ "model_params", FT_ANY, FF_NULLABLE },
	{ "prompt_mode", FT_ENUM, .choices = modes },
	{ "metadata", FT_ANY, FF_NULLABLE },
	{ "settings", FT_ANY, FF_NOLIST | FF_OPTIONAL, .doc = "over the account's" },
	{ "preset_choices", FT_ANY, FF_NULLABLE | FF_NOLIST | FF_OPTIONAL },
	{ "created_at", FT_TIME, FF_READONLY },
	{ "updated_at", FT_TIME, FF_READONLY },
	{ "revision", FT_INT, FF_READONLY | FF_OPTIONAL, .bounded = true, .max = INT64_MAX, .doc = "counts changes by clients, not turns; for expected_revision" },
	FIELD_END
};

/* Bodies of create and patch: what a client may set. */
static const struct field session_body[] = {
	{ "title", FT_STRING, .min = 1, .max = 200 },
	{ "status", FT_ENUM, .choices = statuses },
	{ "character_id", FT_STRING, .min = 1 },
	{ "character_version_id", FT_STRING, .min = 1, .doc = "freeze this version instead of the newest" },
	{ "character_snapshot", FT_OBJECT, .doc = "a card of the session's own, instead of a stored character" },
	{ "character_sync_policy", FT_ENUM, .choices = sync_policies, .doc = "pin: the snapshot never changes; manual: on request; force: sync overrides a pin" },
	{ "user_id", FT_STRING, .min = 1 },
	{ "user_snapshot", FT_OBJECT },
	{ "preset_id", FT_STRING, FF_NULLABLE, .min = 1 },
	{ "preset_version_id", FT_STRING, FF_NULLABLE, .min = 1 },
	{ "worldbook_profile_id", FT_STRING, FF_NULLABLE, .min = 1 },
	{ "worldbook_version_id", FT_STRING, FF_NULLABLE, .min = 1 },
	{ "regex_profile_id", FT_STRING, FF_NULLABLE, .min = 1 },
	{ "regex_profile_version_id", FT_STRING, FF_NULLABLE, .min = 1 },
	{ "deep_binding", FT_BOOL },
	{ "model_provider", FT_STRING, .min = 1 },
	{ "model_name", FT_STRING, .min = 1 },
	{ "model_params", FT_ANY },
	{ "prompt_mode", FT_ENUM, .choices = modes },
	{ "metadata", FT_ANY },
	{ "settings", FT_OBJECT, .fields = wire_session_settings, .doc = "over the account's; instead of what was set before" },
	{ "preset_choices", FT_OBJECT, FF_NULLABLE, .doc = "options of the bound preset's choice blocks, by variable name" },
	{ "expected_revision", FT_INT, FF_PATCH, .bounded = true, .max = INT32_MAX, .doc = "409 with the current one if the session has changed since" },
	{ "project_id", FT_STRING, .min = 1, .doc = "accepted and not stored: projects are not part of this server" },
	FIELD_END
};

static const struct field filter_status = { "status", FT_ENUM, .choices = statuses };
static const struct field filter_keyword = { "keyword", FT_STRING, .min = 1, .max = 200, .doc = "part of the title" };
static const struct filter session_filters[] = {
	{ &filter_status, FILTER_EQ, "t.status" },
	{ &filter_keyword, FILTER_CONTAINS, "t.title_key" },
	{ NULL }
};
static const struct sort_key session_sorts[] = { { "created_at", "t.created_at" }, { "updated_at", "t.updated_at" }, { NULL } };

/* Listeners are told, in the same transaction, without waiting for the answer. */
static void
session_tell(struct ctx *c, struct str id, const char *name)
{
	db_query(c, STMT_session_tell, P_STR(id), P_C(name), P_INT(c->now));
}

/* The hook of the generic verbs, of which sessions use the delete only. */
static int
session_deleted(struct ctx *c, struct str id, const struct json *in)
{
	(void)in;
	session_tell(c, id, "session.deleted");
	return 0;
}

static const struct resource res_session = {
	.name = "session", .table = "session", .where = "t.deleted_at IS NULL", .fields = session_fields, .filters = session_filters,
	.sorts = session_sorts, .soft_delete = true, .after = session_deleted,
};
/* clang-format on */

/* ---- from a body to columns ---- */

/* Members that are columns of the same name. */
static const char *const plain[] = { "title", "status", "prompt_mode", "model_provider", "model_name", "model_params", "metadata", "settings", "preset_choices", "deep_binding",
	"preset_id", "preset_version_id", "worldbook_profile_id", "worldbook_version_id", "regex_profile_id", "regex_profile_version_id" };

/* Assets that a session names and reads anew each turn: they must exist when they are bound. */
static const struct bound {
	const char *kind, *label, *id, *version;
} bound[] = {
	{ "preset", "preset", "preset_id", "preset_version_id" },
	{ "worldbook", "worldbook", "worldbook_profile_id", "worldbook_version_id" },
	{ "regex_profile", "regex profile", "regex_profile_id", "regex_profile_version_id" },
};

/* Assets whose document is frozen into the session. */
static const struct frozen {
	const char *kind, *label, *id, *version, *snapshot, *doc, *name;
} frozen_character = { "character", "character", "character_id", "character_version_id", "character_snapshot", "character_doc", "character_name" },
  frozen_user = { "user", "user", "user_id", NULL, "user_snapshot", "user_doc", "user_name" };

struct session_work {
	struct str id;
	const struct json *in;
	struct json *cols;
	const struct json *card, *user; /* snapshots frozen by this request; NULL = unchanged */
	struct sb out;
	int64_t session_no;
};

static int
bound_check(struct ctx *c, const struct json *in)
{
	struct rows *rs[3] = { NULL };

	for (size_t i = 0; i < 3; i++)
		if (json_get(in, bound[i].id))
			rs[i] = db_query(c, STMT_asset_for_binding, P_C(bound[i].kind), P_STR(json_get_str(in, bound[i].id)), P_STR(json_get_str(in, bound[i].version)));
	for (size_t i = 0; i < 3; i++) {
		int rc = rs[i] ? rows_next(rs[i]) : 1;

		if (rc < 0)
			return -1;
		if (rc == 0 || (rs[i] && !row_null(rs[i], 2)))
			return fail(c, ERR_NOT_FOUND, "not_found", "%s \"%.*s\" not found", bound[i].label, STR_ARG(json_get_str(in, bound[i].id)));
	}
	return 0;
}

/* The card itself: V2/V3 files hold it in `data`. */
static const struct json *
card_data(const struct json *card)
{
	const struct json *data = json_get(card, "data");

	return data ? data : card;
}

static bool
card_greets(const struct json *data)
{
	const struct json *more = json_get(data, "alternate_greetings");

	if (json_get_str(data, "first_mes").n > 0)
		return true;
	for (size_t i = 0; i < json_len(more); i++)
		if (json_str(json_at(more, i)).n > 0)
			return true;
	return false;
}

/* Freezes the named version, or the snapshot that the client sent; *snapshot_out NULL = neither was given. */
static int
freeze(struct ctx *c, const struct frozen *f, struct session_work *w, const struct json **snapshot_out)
{
	const struct json *own = json_get(w->in, f->snapshot);
	struct str id = json_get_str(w->in, f->id), text, name;
	struct json_error err;
	int64_t no;
	struct rows *rs;
	int rc;

	*snapshot_out = NULL;
	if (own) {
		text = json_text(c->a, own);
		if (document_put(c, text, &no) < 0)
			return -1;
		*snapshot_out = own;
		name = json_get_str(card_data(own), "name");
		json_set_str(w->cols, f->id, id);
	} else if (id.p) {
		rs = db_query(c, STMT_asset_for_binding, P_C(f->kind), P_STR(id), f->version ? P_STR(json_get_str(w->in, f->version)) : P_NULL);
		rc = rows_next(rs);
		if (rc < 0)
			return -1;
		if (rc == 0 || !row_null(rs, 2))
			return fail(c, ERR_NOT_FOUND, "not_found", "%s \"%.*s\" not found", f->label, STR_ARG(id));
		no = row_int(rs, 4);
		*snapshot_out = json_read(c->a, row_str(rs, 5), LIM_JSON_DEPTH, &err);
		name = json_get_str(card_data(*snapshot_out), "name"); /* of this version, not of the newest */
		if (!name.p)
			name = row_str(rs, 1);
		json_set_str(w->cols, f->id, id);
		if (f->version)
			json_set_str(w->cols, f->version, row_str(rs, 3));
	} else
		return 0;
	json_set_int(w->cols, f->doc, no);
	json_set_str(w->cols, f->name, name.p ? name : STR(""));
	return 0;
}

/* The preset that the session has after this request, compiled; NULL = none. */
static int
preset_of(struct ctx *c, const struct session_work *w, struct prompt_preset **out)
{
	struct str id = json_get_str(w->in, "preset_id"), pin = json_get_str(w->in, "preset_version_id");
	struct json_error err;
	struct rows *rs;
	int rc;

	*out = NULL;
	if (!json_has(w->in, "preset_id")) { /* as it is bound */
		rs = db_query(c, STMT_runtime_session, P_STR(w->id), P_C("main"));
		rc = rows_next(rs);
		if (rc <= 0)
			return rc;
		id = row_str(rs, 4);
		pin = json_has(w->in, "preset_version_id") ? pin : row_str(rs, 5);
	}
	rs = id.p ? db_query(c, STMT_asset_resolve, P_C("preset"), P_STR(id), P_STR(pin)) : NULL;
	rc = rs ? rows_next(rs) : 0;
	if (rc <= 0)
		return rc;
	rs = db_query(c, STMT_asset_version_doc, P_INT(row_int(rs, 4)));
	rc = rows_next(rs);
	if (rc > 0)
		*out = prompt_preset_compile(c->a,
		    json_read(c->a, asset_join(c->a, ASSET_PRESET, row_str(rs, 0), row_str(rs, 1)), LIM_JSON_DEPTH, &err));
	return rc;
}

static int
choices_check(struct ctx *c, const struct session_work *w)
{
	const struct json *choices = json_get(w->in, "preset_choices");
	struct prompt_preset *preset;
	const char *fault;
	struct str name;

	if (choices == NULL)
		return 0;
	if (preset_of(c, w, &preset) < 0)
		return -1;
	fault = prompt_choices_fault(preset, choices, &name);
	return fault ? fail_field(c, arena_printf(c->a, "/preset_choices/%.*s", STR_ARG(name)), "invalid", "%s", fault) : 0;
}

static int
session_columns(struct ctx *c, struct session_work *w)
{
	w->cols = json_object(c->a);
	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
		if (json_has(w->in, plain[i]))
			json_set(w->cols, plain[i], json_get(w->in, plain[i]));
	if (bound_check(c, w->in) < 0 || choices_check(c, w) < 0 || freeze(c, &frozen_character, w, &w->card) < 0 || freeze(c, &frozen_user, w, &w->user) < 0)
		return -1;
	if (json_get(w->in, "character_sync_policy"))
		json_set(w->cols, "character_sync_policy", json_get(w->in, "character_sync_policy"));
	if (w->card)
		json_set_bool(w->cols, "character_greeting", card_greets(card_data(w->card)));
	json_set_int(w->cols, "updated_at", c->now);
	return 0;
}

/* ---- create ---- */

static int
session_create_tx(struct request *r, void *arg)
{
	struct session_work *w = arg;
	struct ctx *c = r->ctx;
	struct greeting g = { .session_id = w->id };
	struct rows *rs;

	if (session_columns(c, w) < 0)
		return -1;
	json_set_str(w->cols, "id", w->id);
	json_set_int(w->cols, "created_at", c->now);
	if (!json_has(w->cols, "status"))
		json_set_c(w->cols, "status", "active");
	if (!json_has(w->cols, "prompt_mode"))
		json_set_c(w->cols, "prompt_mode", "compat_strict");
	if (!json_has(w->cols, "deep_binding"))
		json_set_bool(w->cols, "deep_binding", false);
	if (!json_has(w->cols, "metadata"))
		json_set_object(w->cols, "metadata");
	if (!json_has(w->cols, "settings"))
		json_set_object(w->cols, "settings");
	if (w->card && !json_has(w->cols, "character_sync_policy"))
		json_set_c(w->cols, "character_sync_policy", "pin");
	rs = db_query(c, STMT_session_insert, P_STR(json_text(c->a, w->cols)));
	if (rows_next(rs) <= 0)
		return -1;
	if (w->card) {
		g.session_no = row_int(rs, 0);
		g.branch_no = row_int(rs, 1);
		g.segment_no = row_int(rs, 2);
		g.card = w->card;
		g.user = w->user;
		g.user_name = json_get_str(w->cols, "user_name");
		g.settings = json_get(w->cols, "settings");
		prompt_mode_parse(json_get_str(w->cols, "prompt_mode"), &g.mode);
		if (greeting_write(app_of(r)->turns, c, &g) < 0)
			return -1;
	}
	sb_truncate(&w->out, 0);
	session_tell(c, w->id, "session.created");
	return resource_get(c, &res_session, w->id, &w->out) <= 0 ? -1 : 0;
}

static int
session_create(struct request *r)
{
	struct id id = id_new(r->ctx->now);
	struct session_work w = { .id = str_c(id.s), .in = r->in, .out = sb_new(r->ctx->a) };

	return rest_tx(r, DB_WRITE, session_create_tx, &w) < 0 ? -1 : reply_data(r, sb_str(&w.out));
}

/* For imports that make a session at once. */
int
session_create_json(struct request *r, const struct json *in, struct sb *out)
{
	struct id id = id_new(r->ctx->now);
	struct session_work w = { .id = str_c(id.s), .in = in, .out = *out };
	int rc = rest_tx(r, DB_WRITE, session_create_tx, &w);

	*out = w.out;
	return rc;
}

/* ---- patch, sync, delete, batch ---- */

static int
session_update_and_get(struct request *r, struct session_work *w)
{
	struct rows *rs = db_query(r->ctx, STMT_session_update, P_STR(w->id), P_STR(json_text(r->ctx->a, w->cols)));
	int64_t n = rows_affected(rs);

	if (n <= 0)
		return n < 0 ? -1 : rest_not_found(r, &res_session);
	sb_truncate(&w->out, 0);
	session_tell(r->ctx, w->id, "session.updated");
	return resource_get(r->ctx, &res_session, w->id, &w->out) <= 0 ? -1 : 0;
}

/* Holds the session, and refuses a change of what the client has not read. */
static int
session_expect(struct request *r, struct str id, int64_t revision)
{
	struct rows *rs = db_query(r->ctx, STMT_session_revision, P_STR(id));
	int rc = rows_next(rs);

	if (rc <= 0)
		return rc < 0 ? -1 : rest_not_found(r, &res_session);
	if (row_int(rs, 0) == revision)
		return 0;
	fail(r->ctx, ERR_CONFLICT, "conflict", "session has changed since it was read: read it again and repeat the change");
	return fail_details(r->ctx, arena_printf(r->ctx->a, "{\"path\":\"/expected_revision\",\"current_revision\":%lld}", (long long)row_int(rs, 0)));
}

static int
session_patch_tx(struct request *r, void *arg)
{
	struct session_work *w = arg;

	if (json_has(r->in, "expected_revision") && session_expect(r, w->id, json_get_int(r->in, "expected_revision", 0)) < 0)
		return -1;
	if (session_columns(r->ctx, w) < 0)
		return -1;
	if (w->card && !json_has(w->cols, "character_sync_policy"))
		json_set_c(w->cols, "character_sync_policy", "pin");
	return session_update_and_get(r, w);
}

static int
session_patch(struct request *r)
{
	struct session_work w = { .id = req_param(r, "id"), .in = r->in, .out = sb_new(r->ctx->a) };

	return rest_tx(r, DB_WRITE, session_patch_tx, &w) < 0 ? -1 : reply_data(r, sb_str(&w.out));
}

/* The newest version of the bound character becomes the session's snapshot; a pin is only left by force. */
static int
session_sync_tx(struct request *r, void *arg)
{
	struct session_work *w = arg;
	struct ctx *c = r->ctx;
	struct rows *rs = db_query(c, STMT_session_bound, P_STR(w->id));
	int rc = rows_next(rs);
	struct json *in;

	if (rc <= 0)
		return rc < 0 ? -1 : rest_not_found(r, &res_session);
	if (row_null(rs, 0))
		return fail(c, ERR_CONFLICT, "character_not_bound", "session has no stored character to sync with");
	if (str_is(row_str(rs, 2), "pin") && !json_get_bool(r->in, "force", false))
		return fail(c, ERR_CONFLICT, "character_pinned", "session pins its character; send \"force\": true to replace the snapshot");
	in = json_object(c->a);
	json_set_str(in, "character_id", row_str(rs, 0));
	w->in = in;
	return session_columns(c, w) < 0 ? -1 : session_update_and_get(r, w);
}

static int
session_sync(struct request *r)
{
	struct session_work w = { .id = req_param(r, "id"), .out = sb_new(r->ctx->a) };

	return rest_tx(r, DB_WRITE, session_sync_tx, &w) < 0 ? -1 : reply_data(r, sb_str(&w.out));
}

struct batch {
	struct sb ids, out;
};

/* Nothing keeps a session from being deleted. */
static int
batch_delete_tx(struct request *r, void *arg)
{
	struct batch *w = arg;

	return rest_batch_print(db_query(r->ctx, STMT_session_batch_delete, P_STR(sb_str(&w->ids)), P_INT(r->ctx->now)), STR_NULL, true, &w->out);
}

static int
batch_delete(struct request *r)
{
	struct batch w = { .ids = sb_new(r->ctx->a), .out = sb_new(r->ctx->a) };

	rest_ids_array(&w.ids, json_get(r->in, "ids"));
	return rest_tx(r, DB_WRITE, batch_delete_tx, &w) < 0 ? -1 : reply_data(r, sb_str(&w.out));
}

static int
batch_status_tx(struct request *r, void *arg)
{
	struct batch *w = arg;

	return rest_batch_print(db_query(r->ctx, STMT_session_batch_status, P_STR(sb_str(&w->ids)), P_STR(json_get_str(r->in, "status")),
				    P_INT(r->ctx->now)),
	    json_get_str(r->in, "status"), false, &w->out);
}

static int
batch_status(struct request *r)
{
	struct batch w = { .ids = sb_new(r->ctx->a), .out = sb_new(r->ctx->a) };

	rest_ids_array(&w.ids, json_get(r->in, "ids"));
	return rest_tx(r, DB_WRITE, batch_status_tx, &w) < 0 ? -1 : reply_data(r, sb_str(&w.out));
}

/* clang-format off */
static const struct field one_id = { "id", FT_STRING, .min = 1, .max = 128 };
static const struct field batch_status_body[] = {
	{ "ids", FT_ARRAY, FF_REQUIRED, .min = 1, .max = 100, .items = &one_id },
	{ "status", FT_ENUM, FF_REQUIRED, .choices = statuses },
	FIELD_END
};
static const struct field sync_body[] = {
	{ "force", FT_BOOL, .doc = "replace the snapshot although the session pins it" },
	FIELD_END
};
static const int errors_read[] = { 404, 0 };
static const int errors_write[] = { 404, 409, 0 };

const struct route api_sessions_routes[] = {
	{ METHOD_GET, "/sessions", rest_list, AUTH_ACCOUNT, .answer_kind = ANSWER_LIST, .answer = session_fields, .arg = &res_session, .tag = "sessions",
	  .summary = "List sessions" },
	{ METHOD_POST, "/sessions", session_create, AUTH_ACCOUNT, .body = session_body, .answer = session_fields, .status = 201, .errors = errors_write,
	  .tag = "sessions", .summary = "Create a session; the character's greeting becomes its first floor" },
	{ METHOD_GET, "/sessions/{id}", rest_get, AUTH_ACCOUNT, .answer = session_fields, .errors = errors_read, .arg = &res_session, .tag = "sessions",
	  .summary = "Read a session" },
	{ METHOD_PATCH, "/sessions/{id}", session_patch, AUTH_ACCOUNT, .body = session_body, .body_mode = FIELD_PATCH, .answer = session_fields,
	  .errors = errors_write, .tag = "sessions", .summary = "Change a session" },
	{ METHOD_DELETE, "/sessions/{id}", rest_delete, AUTH_ACCOUNT, .answer_kind = ANSWER_DELETED, .errors = errors_read, .arg = &res_session,
	  .tag = "sessions", .summary = "Delete a session" },
	{ METHOD_POST, "/sessions/batch/delete", batch_delete, AUTH_ACCOUNT, .body = rest_batch_ids, .answer = rest_batch_answer,
	  .tag = "sessions", .summary = "Delete many sessions" },
	{ METHOD_PATCH, "/sessions/batch/status", batch_status, AUTH_ACCOUNT, .body = batch_status_body, .answer = rest_batch_status_answer, .tag = "sessions",
	  .summary = "Set the status of many sessions" },
	{ METHOD_POST, "/sessions/{id}/character/sync", session_sync, AUTH_ACCOUNT, .body = sync_body, .answer = session_fields, .flags = ROUTE_BODY_OPTIONAL,
	  .errors = errors_write, .tag = "sessions", .summary = "Refresh the frozen character snapshot" },
	{ .path = NULL }
};
/* clang-format on */
