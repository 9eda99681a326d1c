/*
 * floors: read as rows; written only where the story allows it: a new floor goes on top of its
 * branch, only the head may be deleted, states belong to runs.
 */
#include "api/rest.h"
#include "api/tables.h"
#include "base/id.h"

/* clang-format off */
static const char *const states[] = { "draft", "generating", "committed", "failed", NULL };
static const char *const settable[] = { "draft", "generating", "committed", "failed", NULL };

static const struct field floor_fields[] = {
	{ "id", FT_STRING, FF_READONLY },
	{ "session_id", FT_STRING, .expr = "(SELECT s.id FROM session s WHERE s.account_no = acct() AND s.no = t.session_no)" },
	{ "floor_no", FT_INT, .bounded = true, .max = INT64_MAX, .column = "floor_seq" },
	{ "branch_id", FT_STRING },
	{ "parent_floor_id", FT_STRING, FF_NULLABLE, .column = "parent_id" },
	{ "state", FT_ENUM, .choices = states },
	{ "token_in", FT_INT, .bounded = true, .max = INT64_MAX },
	{ "token_out", FT_INT, .bounded = true, .max = INT64_MAX },
	{ "superseded_at", FT_TIME, FF_NULLABLE },
	{ "superseded_by_floor_id", FT_STRING, FF_NULLABLE, .column = "superseded_by" },
	{ "created_at", FT_TIME },
	{ "updated_at", FT_TIME },
	FIELD_END
};
static const struct field by_session = { "session_id", FT_STRING, .min = 1 };
static const struct field by_branch = { "branch_id", FT_STRING, .min = 1 };
static const struct field by_state = { "state", FT_ENUM, .choices = states };
static const struct filter filters[] = {
	{ &by_session, FILTER_WHERE, "t.session_no = (SELECT s.no FROM session s WHERE s.account_no = acct() AND s.id = $?)" },
	{ &by_branch, FILTER_EQ, "t.branch_id" },
	{ &by_state, FILTER_EQ, "t.state" },
	{ NULL }
};
static const struct sort_key sorts[] = { { "created_at", "t.created_at" }, { "updated_at", "t.updated_at" }, { "floor_no", "t.floor_seq" }, { NULL } };
static const struct resource res_floor = {
	.name = "floor", .table = "floor", .where = REST_LIVE_FLOOR, .fields = floor_fields, .filters = filters, .sorts = sorts,
};

static const struct field create_body[] = {
	{ "session_id", FT_STRING, FF_REQUIRED, .min = 1 },
	{ "branch_id", FT_STRING, FF_REQUIRED, .min = 1 },
	{ "floor_no", FT_INT, FF_REQUIRED, .bounded = true, .max = INT32_MAX, .doc = "the next number of the branch" },
	{ "parent_floor_id", FT_STRING, .min = 1 },
	{ "state", FT_ENUM, .choices = settable, .dflt = "\"draft\"", .doc = "generating is refused: it belongs to runs" },
	{ "token_in", FT_INT, .bounded = true, .max = INT32_MAX },
	{ "token_out", FT_INT, .bounded = true, .max = INT32_MAX },
	FIELD_END
};
static const struct field patch_body[] = {
	{ "session_id", FT_STRING, .min = 1 },
	{ "branch_id", FT_STRING, .min = 1 },
	{ "floor_no", FT_INT, .bounded = true, .max = INT32_MAX },
	{ "parent_floor_id", FT_STRING, .min = 1 },
	{ "state", FT_ENUM, .choices = settable },
	{ "token_in", FT_INT, .bounded = true, .max = INT32_MAX },
	{ "token_out", FT_INT, .bounded = true, .max = INT32_MAX },
	FIELD_END
};
/* clang-format on */

struct floor_work {
	struct str id;
	struct sb out;
};

static int
floor_answer(struct request *r, struct floor_work *w)
{
	sb_truncate(&w->out, 0);
	return resource_get(r->ctx, &res_floor, w->id, &w->out) <= 0 ? -1 : 0;
}

/* ---- create ---- */

static int
create_work(struct request *r, void *arg)
{
	struct floor_work *w = arg;
	struct ctx *c = r->ctx;
	struct rows *rs = db_query(c, STMT_floor_branch, P_STR(json_get_str(r->in, "session_id")), P_STR(json_get_str(r->in, "branch_id")));
	int64_t seq = json_get_int(r->in, "floor_no", 0);
	struct str parent = json_get_str(r->in, "parent_floor_id");
	int rc = rows_next(rs);

	if (rc <= 0)
		return rc < 0 ? -1 : fail(c, ERR_NOT_FOUND, "not_found", "session not found");
	if (row_null(rs, 2))
		return fail(c, ERR_NOT_FOUND, "branch_not_found", "branch \"%.*s\" does not exist in this session", STR_ARG(json_get_str(r->in, "branch_id")));
	if (str_is(row_str(rs, 1), "archived"))
		return fail(c, ERR_CONFLICT, "session_archived", "session is archived; set its status to \"active\" first");
	if (seq != row_int(rs, 4) + 1)
		return fail(c, ERR_CONFLICT, "floor_no_conflict", "the next floor of this branch is %lld", (long long)row_int(rs, 4) + 1);
	if (!parent.p)
		parent = row_str(rs, 5);
	rs = db_query(c, STMT_floor_insert, P_STR(w->id), P_INT(row_int(rs, 0)), P_INT(row_int(rs, 3)), P_INT(seq), P_STR(json_get_str(r->in, "branch_id")),
	    P_STR(parent), P_STR(json_get_str(r->in, "state")), P_INT(json_get_int(r->in, "token_in", 0)), P_INT(json_get_int(r->in, "token_out", 0)),
	    P_INT(c->now), P_INT(row_int(rs, 2)));
	rc = rows_next(rs);
	if (rc <= 0)
		return rc < 0 ? -1 : fail(c, ERR_CONFLICT, "floor_no_conflict", "the branch was changed by another request; read its head and try again");
	return floor_answer(r, w);
}

static int
floor_create(struct request *r)
{
	struct id id = id_new(r->ctx->now);
	struct floor_work w = { .id = str_c(id.s), .out = sb_new(r->ctx->a) };

	if (str_is(json_get_str(r->in, "state"), "generating"))
		return fail_field(r->ctx, "/state", "enum", "a floor is only set to generating by a run");
	return rest_tx(r, DB_WRITE, create_work, &w) < 0 ? -1 : reply_data(r, sb_str(&w.out));
}

/* ---- patch, delete ---- */

static int
place(struct request *r, struct rows **rs_out)
{
	struct rows *rs = db_query(r->ctx, STMT_floor_place, P_STR(req_param(r, "id")));
	int rc = rows_next(rs);

	*rs_out = rs;
	return rc <= 0 ? (rc < 0 ? -1 : rest_not_found(r, &res_floor)) : 0;
}

static int
fixed(struct request *r, const char *key, bool same)
{
	return same ? 0
		    : fail(r->ctx, ERR_CONFLICT, "content_target_locked", "%s of a floor cannot be changed: its place follows from the story; fork a branch instead",
			  key);
}

static int
patch_work(struct request *r, void *arg)
{
	struct floor_work *w = arg;
	struct rows *rs;

	if (place(r, &rs) < 0)
		return -1;
	if ((json_has(r->in, "floor_no") && fixed(r, "floor_no", json_get_int(r->in, "floor_no", 0) == row_int(rs, 2)) < 0) ||
	    (json_has(r->in, "branch_id") && fixed(r, "branch_id", str_eq(json_get_str(r->in, "branch_id"), row_str(rs, 10))) < 0) ||
	    (json_has(r->in, "session_id") && fixed(r, "session_id", str_eq(json_get_str(r->in, "session_id"), row_str(rs, 9))) < 0))
		return -1;
	if (json_has(r->in, "parent_floor_id") &&
	    db_exec(r->ctx, STMT_floor_set_parent, P_INT(row_int(rs, 0)), P_STR(json_get_str(r->in, "parent_floor_id")), P_INT(r->ctx->now)) < 0)
		return -1;
	return floor_answer(r, w);
}

static int
floor_patch(struct request *r)
{
	static const char *const restricted[] = { "state", "token_in", "token_out" };
	struct floor_work w = { .id = req_param(r, "id"), .out = sb_new(r->ctx->a) };
	struct sb names = sb_new(r->ctx->a);

	for (size_t i = 0; i < sizeof(restricted) / sizeof(*restricted); i++)
		if (json_has(r->in, restricted[i]))
			sb_addf(&names, "%s%s", names.n ? ", " : "", restricted[i]);
	if (names.n > 0)
		return fail(r->ctx, ERR_INVALID, "floor_patch_restricted_field", "%s cannot be changed here: runs and commits write them", sb_c(&names));
	return rest_tx(r, DB_WRITE, patch_work, &w) < 0 ? -1 : reply_data(r, sb_str(&w.out));
}

static int
delete_work(struct request *r, void *arg)
{
	struct rows *rs;

	(void)arg;
	if (place(r, &rs) < 0)
		return -1;
	if (row_bool(rs, 11))
		return fail(r->ctx, ERR_CONFLICT, "generation_conflict", "a generation is running on this floor");
	if (row_null(rs, 4) || row_int(rs, 2) != row_int(rs, 5) || row_int(rs, 2) <= row_int(rs, 6))
		return fail(r->ctx, ERR_CONFLICT, "content_target_locked", "only the last floor of a branch can be deleted, and only if no other branch shows it");
	if (db_exec(r->ctx, STMT_floor_undo, P_INT(row_int(rs, 0)), P_INT(row_int(rs, 4)), P_INT(row_int(rs, 3)),
		P_C(arena_printf(r->ctx->a, "branch:%.*s:%.*s", STR_ARG(row_str(rs, 9)), STR_ARG(row_str(rs, 8)))), P_INT(row_int(rs, 7)),
		P_STR(row_str(rs, 8)), P_INT(r->ctx->now)) < 0)
		return -1;
	return db_exec(r->ctx, STMT_floor_delete, P_INT(row_int(rs, 0)), P_INT(row_int(rs, 4)), P_INT(row_int(rs, 2)), P_INT(r->ctx->now)) < 0 ? -1 : 0;
}

static int
floor_delete(struct request *r)
{
	return rest_tx(r, DB_WRITE, delete_work, NULL) < 0 ? -1 : rest_deleted_reply(r, req_param(r, "id"));
}

/* clang-format off */
static const int errors_read[] = { 404, 0 };
static const int errors_write[] = { 404, 409, 0 };

const struct route api_floors_routes[] = {
	{ METHOD_GET, "/floors", rest_list, AUTH_ACCOUNT, .answer_kind = ANSWER_LIST, .answer = floor_fields, .arg = &res_floor, .tag = "floors",
	  .summary = "List floors" },
	{ METHOD_POST, "/floors", floor_create, AUTH_ACCOUNT, .body = create_body, .answer = floor_fields, .status = 201, .errors = errors_write,
	  .tag = "floors", .summary = "Put a floor on top of a branch" },
	{ METHOD_GET, "/floors/{id}", rest_get, AUTH_ACCOUNT, .answer = floor_fields, .errors = errors_read, .arg = &res_floor, .tag = "floors",
	  .summary = "Read a floor" },
	{ METHOD_PATCH, "/floors/{id}", floor_patch, AUTH_ACCOUNT, .body = patch_body, .body_mode = FIELD_PATCH, .answer = floor_fields,
	  .errors = errors_write, .tag = "floors", .summary = "Change a floor's parent; its place and state are not for clients" },
	{ METHOD_DELETE, "/floors/{id}", floor_delete, AUTH_ACCOUNT, .answer_kind = ANSWER_DELETED, .errors = errors_write, .tag = "floors",
	  .summary = "Delete the last floor of a branch" },
	{ .path = NULL }
};
/* clang-format on */
