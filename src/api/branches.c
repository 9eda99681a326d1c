/*
 * branches: forks, lists, comparison, delete. Which floors a branch shows is ranges over segments
 * (store/branch); what a fork copies is turn/fork's. No text of the story passes through here.
 */
#include "api/rest.h"
#include "api/tables.h"
#include "base/limits.h"
#include "turn/fork.h"

/* clang-format off */
#define LATEST(column) \
	"(SELECT f." column " FROM unnest(t.segs, t.his) r (seg, hi) JOIN floor f ON f.account_no = acct() AND f.segment_no = r.seg" \
	" AND f.floor_seq = t.head_seq WHERE r.hi >= t.head_seq ORDER BY r.hi LIMIT 1)"
#define OWN_FLOORS "(t.head_seq - coalesce(t.forked_at, -1))"
static const struct field branch_fields[] = {
	{ "branch_id", FT_STRING, .column = "id" },
	{ "floor_count", FT_INT, .bounded = true, .max = INT64_MAX, .expr = OWN_FLOORS, .doc = "floors that are the branch's own; its story is latest_floor_no + 1 long" },
	{ "latest_floor_no", FT_INT, FF_NULLABLE, .bounded = true, .max = INT64_MAX, .expr = "CASE WHEN t.head_seq >= 0 THEN t.head_seq END" },
	{ "latest_floor_id", FT_STRING, FF_NULLABLE, .expr = LATEST("id") },
	{ "latest_state", FT_STRING, FF_NULLABLE, .expr = LATEST("state") },
	{ "forked_from_branch_id", FT_STRING, FF_NULLABLE, .column = "forked_from" },
	{ "forked_at_floor_no", FT_INT, FF_NULLABLE, .min = -1, .column = "forked_at", .doc = "-1: before the first floor" },
	{ "created_at", FT_TIME },
	{ "updated_at", FT_TIME },
	FIELD_END
};
static const struct field of_session = { "session_id", FT_STRING, FF_READONLY };
static const struct filter filters[] = {
	{ &of_session, FILTER_WHERE, "t.session_no = (SELECT s.no FROM session s WHERE s.account_no = acct() AND s.id = $? AND s.deleted_at IS NULL)" },
	{ NULL }
};
static const struct sort_key sorts[] = {
	{ "updated_at", "t.updated_at" }, { "branch_id", "t.id" }, { "floor_count", OWN_FLOORS }, { "latest_floor_no", "t.head_seq" }, { NULL }
};
static const struct resource res_branch = { .name = "branch", .table = "branch", .fields = branch_fields, .filters = filters, .sorts = sorts };
/* clang-format on */

static int
session_not_found(struct ctx *c, int rc)
{
	return rc < 0 ? -1 : fail(c, ERR_NOT_FOUND, "not_found", "session not found");
}

static int
branch_not_found(struct ctx *c, struct str id)
{
	return fail(c, ERR_NOT_FOUND, "branch_not_found", "branch \"%.*s\" does not exist in this session",
	    STR_ARG(id));
}

/* ---- list ---- */

struct list_work {
	struct list_query query;
	struct sb out;
	int64_t total;
};

static int
list_work(struct request *r, void *arg)
{
	struct list_work *w = arg;
	struct rows *rs = db_query(r->ctx, STMT_branch_session, P_STR(req_param(r, "id")));

	sb_truncate(&w->out, 0);
	if (resource_list(r->ctx, &res_branch, &w->query, &w->out, &w->total) < 0)
		return -1;
	return w->total > 0 ? 0 : rows_next(rs) > 0 ? 0 : session_not_found(r->ctx, failed(r->ctx) ? -1 : 0);
}

static int
branch_list(struct request *r)
{
	struct list_work w = { .out = sb_new(r->ctx->a) };

	json_set_str(r->query, "session_id", req_param(r, "id"));
	if (resource_list_query(r->ctx, &res_branch, r->query, &w.query) < 0 ||
	    rest_tx(r, DB_READ, list_work, &w) < 0)
		return -1;
	return reply_list(r, sb_str(&w.out), rest_list_meta(r->ctx->a, &w.query, w.total));
}

/* ---- diff ---- */

struct diff_side {
	struct str id;
	struct branch b;
	struct rows **floors; /* of each range above the fork, lowest first */
	size_t n;
};

static int
side_read(struct ctx *c, struct diff_side *s, struct rows *rs, int column)
{
	if (row_null(rs, column))
		return branch_not_found(c, s->id);
	s->b.head = (int32_t)row_int(rs, column + 3);
	return branch_read(c->a, &s->b, row_str(rs, column + 1), row_str(rs, column + 2)) < 0
		   ? fail(c, ERR_INTERNAL, "internal_error", "stored branch ranges do not fit")
		   : 0;
}

/* Asks for the floors that only this side has. */
static void
side_send(struct ctx *c, struct diff_side *s, int32_t common)
{
	int32_t to = s->b.head - common > LIM_BRANCH_DIFF ? common + LIM_BRANCH_DIFF : s->b.head;
	struct branch_range *v = branch_window(c->a, &s->b, common + 1, to, &s->n);

	s->floors = arena_array(c->a, struct rows *, s->n);
	for (size_t i = 0; i < s->n; i++) {
		const struct branch_range *at = &v[s->n - 1 - i];

		s->floors[i] =
		    db_query(c, STMT_branch_floors, P_INT(at->segment), P_INT(at->lo), P_INT(at->hi));
	}
}

static int
side_print(struct sb *out, const char *name, const struct diff_side *s, int32_t common)
{
	bool first = true;
	int rc = 0;

	sb_addf(out, ",\"%s_only_count\":%d,\"%s_only_floors\":[", name, s->b.head - common, name);
	for (size_t i = 0; i < s->n; i++)
		while ((rc = rows_next(s->floors[i])) > 0) {
			struct rows *rs = s->floors[i];

			sb_adds(out, first ? "{\"id\":" : ",{\"id\":");
			first = false;
			sb_add_json(out, row_str(rs, 0));
			sb_adds(out, ",\"branchId\":");
			sb_add_json(out, row_str(rs, 1));
			sb_addf(out, ",\"floorNo\":%lld,\"state\":\"%.*s\"}", (long long)row_int(rs, 2),
			    STR_ARG(row_str(rs, 3)));
		}
	sb_addc(out, ']');
	return rc;
}

static int
diff_work(struct request *r, void *arg)
{
	struct ctx *c = r->ctx;
	struct sb *out = arg;
	struct diff_side base = { .id = req_query(r, "base_branch_id") },
			 target = { .id = req_query(r, "target_branch_id") };
	struct rows *rs;
	int32_t common;
	int rc;

	if (!base.id.p)
		base.id = STR("main");
	rs = db_query(c, STMT_branch_pair, P_STR(req_param(r, "id")), P_STR(base.id), P_STR(target.id));
	if ((rc = rows_next(rs)) <= 0)
		return session_not_found(c, rc);
	if (side_read(c, &base, rs, 1) < 0 || side_read(c, &target, rs, 5) < 0)
		return -1;
	common = branch_common(&base.b, &target.b);
	side_send(c, &base, common);
	side_send(c, &target, common);
	sb_truncate(out, 0);
	sb_adds(out, "{\"session_id\":");
	sb_add_json(out, req_param(r, "id"));
	sb_adds(out, ",\"base_branch_id\":");
	sb_add_json(out, base.id);
	sb_adds(out, ",\"target_branch_id\":");
	sb_add_json(out, target.id);
	sb_addf(out, ",\"fork_floor_no\":%s,\"shared_floor_nos\":[",
	    common < 0 ? "null" : arena_printf(c->a, "%d", common));
	for (int32_t i = 0; i <= common; i++)
		sb_addf(out, "%s%d", i ? "," : "", i);
	sb_addc(out, ']');
	if (side_print(out, "base", &base, common) < 0 || side_print(out, "target", &target, common) < 0)
		return -1;
	sb_addc(out, '}');
	return 0;
}

static int
branch_diff(struct request *r)
{
	struct sb out = sb_new(r->ctx->a);

	return rest_tx(r, DB_READ, diff_work, &out) < 0 ? -1 : reply_data(r, sb_str(&out));
}

/* ---- fork ---- */

static int
fork_work(struct request *r, void *arg)
{
	struct fork *f = arg;

	*f = (struct fork){ .floor_id = req_param(r, "id"), .branch_id = json_get_str(r->in, "branch_id") };
	return fork_at(r->ctx, f);
}

static int
floor_fork(struct request *r)
{
	struct sb out = sb_new(r->ctx->a);
	struct fork f;

	if (rest_tx(r, DB_WRITE, fork_work, &f) < 0)
		return -1;
	sb_adds(&out, "{\"branch_id\":");
	sb_add_json(&out, f.branch_id);
	sb_adds(&out, ",\"source_floor_id\":");
	sb_add_json(&out, f.floor_id);
	sb_addf(&out, ",\"source_floor_no\":%d,\"session_id\":", f.branch.head);
	sb_add_json(&out, f.session_id);
	sb_addc(&out, '}');
	return reply_data(r, sb_str(&out));
}

/* ---- delete ---- */

struct delete_work {
	struct str session_id;
	int64_t floors;
};

/* The session of the branch: the one that was named, or the only one that has a branch of this name. */
static int
delete_find(struct request *r, struct delete_work *w)
{
	struct ctx *c = r->ctx;
	struct rows *rs =
	    db_query(c, STMT_branch_find, P_STR(req_param(r, "id")), P_STR(req_query(r, "session_id")));
	int64_t n = rows_count(rs);

	if (n < 0)
		return -1;
	if (n == 0)
		return fail(c, ERR_NOT_FOUND, "not_found", "branch not found");
	if (n > 1)
		return fail(c, ERR_CONFLICT, "branch_ambiguous",
		    "several sessions have a branch \"%.*s\": say which in session_id",
		    STR_ARG(req_param(r, "id")));
	rows_next(rs);
	w->session_id = row_str(rs, 0);
	return 0;
}

static int
delete_work(struct request *r, void *arg)
{
	struct delete_work *w = arg;
	struct ctx *c = r->ctx;
	struct rows *rs, *gone;
	int64_t session_no;
	int rc;

	if (str_is(req_param(r, "id"), "main"))
		return fail(c, ERR_CONFLICT, "branch_protected",
		    "main cannot be deleted; delete its session instead");
	if (delete_find(r, w) < 0)
		return -1;
	db_query(c, STMT_branch_hold, P_STR(w->session_id),
	    P_STR(req_param(r, "id"))); /* waits for a turn that opens; read when held */
	if ((rc = fork_hold(c, w->session_id, &session_no)) <= 0)
		return session_not_found(c, rc);
	rs = db_query(c, STMT_branch_hold, P_STR(w->session_id), P_STR(req_param(r, "id")));
	if ((rc = rows_next(rs)) <= 0)
		return rc < 0 ? -1 : fail(c, ERR_NOT_FOUND, "not_found", "branch not found");
	if (row_bool(rs, 5))
		return fail(c, ERR_CONFLICT, "generation_conflict",
		    "a generation is running on this branch; cancel it first");
	db_query(c, STMT_branch_drop, P_INT(row_int(rs, 1)), P_STR(w->session_id), P_INT(c->now));
	gone = db_query(c, STMT_branch_floors_drop, P_INT(session_no), P_STR(row_str(rs, 2)));
	if (rows_next(gone) <= 0)
		return -1;
	w->floors = row_int(gone, 0);
	return db_exec(c, STMT_branch_segments_drop, P_INT(session_no), P_STR(row_str(rs, 2))) < 0 ? -1 : 0;
}

static int
branch_delete(struct request *r)
{
	struct delete_work w;
	struct sb out = sb_new(r->ctx->a);

	if (rest_tx(r, DB_WRITE, delete_work, &w) < 0)
		return -1;
	sb_adds(&out, "{\"branch_id\":");
	sb_add_json(&out, req_param(r, "id"));
	sb_adds(&out, ",\"session_id\":");
	sb_add_json(&out, w.session_id);
	sb_addf(&out, ",\"deleted_floor_count\":%lld}", (long long)w.floors);
	return reply_data(r, sb_str(&out));
}

/* clang-format off */
static const struct field fork_body[] = {
	{ "branch_id", FT_STRING, .min = 1, .max = LIM_BRANCH_ID, .doc = "absent = a generated name" },
	FIELD_END
};
static const struct field fork_answer[] = {
	{ "branch_id", FT_STRING },
	{ "session_id", FT_STRING },
	{ "source_floor_id", FT_STRING },
	{ "source_floor_no", FT_INT, .bounded = true, .max = INT64_MAX },
	FIELD_END
};
static const struct field delete_query[] = {
	{ "session_id", FT_STRING, .min = 1, .doc = "needed where several sessions have a branch of this name" },
	FIELD_END
};
static const struct field delete_answer[] = {
	{ "branch_id", FT_STRING },
	{ "session_id", FT_STRING },
	{ "deleted_floor_count", FT_INT, .bounded = true, .max = INT64_MAX, .doc = "floors that other branches show stay" },
	FIELD_END
};
static const struct field diff_query[] = {
	{ "base_branch_id", FT_STRING, .min = 1, .doc = "absent = main" },
	{ "target_branch_id", FT_STRING, FF_REQUIRED, .min = 1 },
	FIELD_END
};
/* Inside, the protocol says it in camel case. */
static const struct field diff_floor[] = {
	{ "id", FT_STRING },
	{ "branchId", FT_STRING },
	{ "floorNo", FT_INT, .bounded = true, .max = INT64_MAX },
	{ "state", FT_STRING },
	FIELD_END
};
static const struct field diff_item = { "floor", FT_OBJECT, .fields = diff_floor };
static const struct field diff_no = { "floor_no", FT_INT, .bounded = true, .max = INT64_MAX };
static const struct field diff_answer[] = {
	{ "session_id", FT_STRING },
	{ "base_branch_id", FT_STRING },
	{ "target_branch_id", FT_STRING },
	{ "fork_floor_no", FT_INT, FF_NULLABLE, .bounded = true, .max = INT64_MAX },
	{ "shared_floor_nos", FT_ARRAY, .items = &diff_no },
	{ "base_only_count", FT_INT, .bounded = true, .max = INT64_MAX },
	{ "base_only_floors", FT_ARRAY, .items = &diff_item, .doc = "lowest first, at most 10000" },
	{ "target_only_count", FT_INT, .bounded = true, .max = INT64_MAX },
	{ "target_only_floors", FT_ARRAY, .items = &diff_item },
	FIELD_END
};
static const int errors_read[] = { 404, 0 };
static const int errors_write[] = { 404, 409, 0 };

const struct route api_branches_routes[] = {
	{ METHOD_GET, "/sessions/{id}/branches", branch_list, AUTH_ACCOUNT, .answer_kind = ANSWER_LIST, .answer = branch_fields, .errors = errors_read,
	  .arg = &res_branch, .tag = "branches", .summary = "Branches of a session, with head and size" },
	{ METHOD_GET, "/sessions/{id}/branches/diff", branch_diff, AUTH_ACCOUNT, .query = diff_query, .answer = diff_answer, .errors = errors_read,
	  .tag = "branches", .summary = "Compare two branches: what they share, and what each has alone" },
	{ METHOD_POST, "/floors/{id}/branch", floor_fork, AUTH_ACCOUNT, .body = fork_body, .answer = fork_answer, .status = 201,
	  .flags = ROUTE_BODY_OPTIONAL, .errors = errors_write, .tag = "floors", .summary = "Start a branch at a committed floor" },
	{ METHOD_DELETE, "/branches/{id}", branch_delete, AUTH_ACCOUNT, .query = delete_query, .answer = delete_answer, .errors = errors_write,
	  .tag = "branches", .summary = "Delete a branch; floors that other branches show stay" },
	{ .path = NULL }
};
/* clang-format on */
