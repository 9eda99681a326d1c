/*
 * pages: versions of a floor's input and output. Pages of a committed floor are read-only but for which of its replies
 * there are and which of them counts, and that only where the floor is the last one of a branch; what other branches show is
 * copied first. Nothing here asks a model.
 */
#include "api/rest.h"
#include "api/tables.h"
#include "api/wire.h"
#include "base/id.h"
#include "base/limits.h"
#include "store/branch.h"
#include "store/variable.h"
#include "turn/fork.h"

/* clang-format off */
static const char *const kinds[] = { "input", "output", "mixed", NULL };
static const char *const states[] = { "draft", "generating", "committed", "failed", NULL };

#define PAGE_FIELDS \
	{ "id", FT_STRING, FF_READONLY }, \
	{ "floor_id", FT_STRING, .expr = "(SELECT f.id FROM floor f WHERE f.account_no = acct() AND f.no = t.floor_no)" }, \
	{ "page_no", FT_INT, .bounded = true, .max = INT64_MAX, .column = "page_seq" }, \
	{ "page_kind", FT_ENUM, .choices = kinds, .column = "kind" }, \
	{ "is_active", FT_BOOL, .column = "active" }, \
	{ "state", FT_ENUM, .choices = states, .doc = "failed: what was said before a generation ended early" }, \
	{ "version", FT_INT, .bounded = true, .min = 1, .max = INT64_MAX }, \
	{ "checksum", FT_STRING, FF_NULLABLE }, \
	{ "created_at", FT_TIME }, \
	{ "updated_at", FT_TIME }
static const struct field page_fields[] = {
	PAGE_FIELDS,
	FIELD_END
};
static const struct field by_floor = { "floor_id", FT_STRING, .min = 1 };
static const struct field by_kind = { "page_kind", FT_ENUM, .choices = kinds };
static const struct field by_active = { "is_active", FT_BOOL };
static const struct filter filters[] = {
	{ &by_floor, FILTER_WHERE, "t.floor_no = (SELECT f.no FROM floor f WHERE f.account_no = acct() AND f.id = $?)" },
	{ &by_kind, FILTER_EQ, "t.kind" },
	{ &by_active, FILTER_EQ, "t.active" },
	{ NULL }
};
static const struct sort_key sorts[] = {
	{ "created_at", "t.created_at" }, { "updated_at", "t.updated_at" }, { "page_no", "t.page_seq" }, { "version", "t.version" }, { NULL }
};
static const struct resource res_page = {
	.name = "page", .table = "page", .where = REST_LIVE_PAGE, .fields = page_fields, .filters = filters, .sorts = sorts,
};

static const struct field create_body[] = {
	{ "floor_id", FT_STRING, FF_REQUIRED, .min = 1 },
	{ "page_kind", FT_ENUM, FF_REQUIRED, .choices = kinds },
	{ "page_no", FT_INT, FF_REQUIRED, .bounded = true, .max = INT32_MAX },
	{ "is_active", FT_BOOL, .dflt = "true" },
	{ "version", FT_INT, .bounded = true, .min = 1, .max = INT32_MAX, .dflt = "1" },
	{ "checksum", FT_STRING, .min = 1, .max = 200 },
	FIELD_END
};
static const struct field patch_body[] = {
	{ "floor_id", FT_STRING, .min = 1 },
	{ "page_kind", FT_ENUM, .choices = kinds },
	{ "page_no", FT_INT, .bounded = true, .max = INT32_MAX },
	{ "is_active", FT_BOOL },
	{ "version", FT_INT, .bounded = true, .min = 1, .max = INT32_MAX },
	{ "checksum", FT_STRING, .min = 1, .max = 200 },
	FIELD_END
};
/* clang-format on */

struct page_work {
	struct str id;
	struct sb out;
};

static int
page_answer(struct request *r, struct page_work *w)
{
	sb_truncate(&w->out, 0);
	return resource_get(r->ctx, &res_page, w->id, &w->out) <= 0 ? -1 : 0;
}

static int
locked(struct request *r)
{
	return fail(r->ctx, ERR_CONFLICT, "content_target_locked", "committed floors are read-only for page updates");
}

static int
busy(struct request *r)
{
	return fail(r->ctx, ERR_CONFLICT, "generation_conflict", "the floor is being generated; wait for it or cancel it");
}

static int
place(struct request *r, struct str id, struct rows **rs_out)
{
	struct rows *rs = db_query(r->ctx, STMT_page_place, P_STR(id));
	int rc = rows_next(rs);

	*rs_out = rs;
	return rc <= 0 ? (rc < 0 ? -1 : rest_not_found(r, &res_page)) : 0;
}

/* The page becomes the active one of its kind; its messages count, those of the others do not. */
static int
activate(struct ctx *c, int64_t floor_no, struct str kind, int64_t page_no)
{
	return db_exec(c, STMT_page_deactivate, P_INT(floor_no), P_STR(kind), P_INT(page_no)) < 0 ||
		db_exec(c, STMT_page_activate, P_INT(page_no), P_INT(c->now)) < 0
	    ? -1
	    : 0;
}

static int
create_work(struct request *r, void *arg)
{
	struct page_work *w = arg;
	struct ctx *c = r->ctx;
	struct rows *rs = db_query(c, STMT_floor_place, P_STR(json_get_str(r->in, "floor_id")));
	int64_t floor_no;
	int rc = rows_next(rs);

	if (rc <= 0)
		return rc < 0 ? -1 : fail(c, ERR_NOT_FOUND, "not_found", "floor not found");
	if (str_is(row_str(rs, 1), "committed"))
		return locked(r);
	if (row_bool(rs, 11))
		return busy(r);
	floor_no = row_int(rs, 0);
	rs = db_query(c, STMT_page_insert, P_STR(w->id), P_INT(floor_no), P_STR(json_get_str(r->in, "page_kind")), P_INT(json_get_int(r->in, "page_no", 0)),
	    P_INT(json_get_int(r->in, "version", 1)), P_BOOL(false), P_STR(json_get_str(r->in, "checksum")), P_INT(c->now), P_C("committed"));
	if (rows_next(rs) <= 0)
		return -1;
	if (json_get_bool(r->in, "is_active", true) && activate(c, floor_no, json_get_str(r->in, "page_kind"), row_int(rs, 0)) < 0)
		return -1;
	return page_answer(r, w);
}

static int
page_create(struct request *r)
{
	struct id id = id_new(r->ctx->now);
	struct page_work w = { .id = str_c(id.s), .out = sb_new(r->ctx->a) };

	return rest_tx(r, DB_WRITE, create_work, &w) < 0 ? -1 : reply_data(r, sb_str(&w.out));
}

static struct param
int_or_null(const struct json *in, const char *key)
{
	return json_has(in, key) ? P_INT(json_get_int(in, key, 0)) : P_NULL;
}

static int
patch_work(struct request *r, void *arg)
{
	struct page_work *w = arg;
	struct ctx *c = r->ctx;
	struct rows *rs;
	struct str kind = json_get_str(r->in, "page_kind");

	if (place(r, w->id, &rs) < 0)
		return -1;
	if (str_is(row_str(rs, 4), "committed"))
		return locked(r);
	if (json_has(r->in, "floor_id") && !str_eq(json_get_str(r->in, "floor_id"), row_str(rs, 10)))
		return fail(c, ERR_CONFLICT, "content_target_locked", "a page stays on its floor; create one on the other floor");
	if (db_exec(c, STMT_page_update, P_INT(row_int(rs, 0)), P_STR(kind), int_or_null(r->in, "page_no"), int_or_null(r->in, "version"),
		P_STR(json_get_str(r->in, "checksum")), P_INT(c->now)) < 0)
		return -1;
	if (json_get_bool(r->in, "is_active", false) && activate(c, row_int(rs, 3), kind.p ? kind : row_str(rs, 1), row_int(rs, 0)) < 0)
		return -1;
	if (json_has(r->in, "is_active") && !json_get_bool(r->in, "is_active", true) && row_bool(rs, 2) &&
	    db_exec(c, STMT_page_deactivate, P_INT(row_int(rs, 3)), P_STR(kind.p ? kind : row_str(rs, 1)), P_INT(0)) < 0)
		return -1;
	return page_answer(r, w);
}

static int
page_patch(struct request *r)
{
	struct page_work w = { .id = req_param(r, "id"), .out = sb_new(r->ctx->a) };

	return rest_tx(r, DB_WRITE, patch_work, &w) < 0 ? -1 : reply_data(r, sb_str(&w.out));
}

/* ---- the pages of a committed floor ---- */

/* Columns of page_place. */
enum { P_NO, P_KIND, P_ACTIVE, P_FLOOR, P_FLOOR_STATE, P_SEQ, P_SEGMENT, P_SHARED, P_BRANCH, P_SESSION, P_FLOOR_ID, P_SESSION_ID, P_PAGE_SEQ, P_VERSION, P_STATE, P_BUSY };

/* A page on the head floor of a branch, which may change. */
struct on_head {
	const struct rows *at;       /* page_place */
	struct branch b;
	int64_t segment, floor_no, page_no; /* of the copy, once there is one */
	struct str page_id, floor_id;
	bool active, shared;         /* shared: other branches show the floor, too */
};

/* The branch by which the page is meant: named, else the one that shows it; a new name is made of it where `makes`. */
static int
stand(struct request *r, struct on_head *h, struct str branch_id, bool makes)
{
	struct ctx *c = r->ctx;
	struct rows *rs = db_query(c, STMT_branch_stand, P_INT(row_int(h->at, P_SESSION)), P_STR(branch_id), P_INT(row_int(h->at, P_BRANCH)));
	struct fork f = { .floor_id = h->floor_id, .branch_id = branch_id };
	int rc = rows_next(rs);

	if (rc < 0)
		return -1;
	if (rc == 0) {
		if (!makes || !branch_id.p)
			return fail(c, ERR_NOT_FOUND, "branch_not_found", "branch \"%.*s\" does not exist in this session", STR_ARG(branch_id));
		if (fork_at(c, &f) < 0)
			return -1;
		h->b = f.branch;
		return 0;
	}
	h->b = (struct branch){ .no = row_int(rs, 0), .id = row_str(rs, 1), .head = (int32_t)row_int(rs, 4) };
	return branch_read(c->a, &h->b, row_str(rs, 2), row_str(rs, 3)) < 0 ? fail(c, ERR_INTERNAL, "internal_error", "stored branch ranges do not fit") : 0;
}

/* Is the page on the head of the branch, and does nobody work on it? */
static int
head_check(struct request *r, struct on_head *h)
{
	struct branch_range *range;
	struct rows *now;
	size_t n;
	int32_t seq = (int32_t)row_int(h->at, P_SEQ);

	range = branch_window(r->ctx->a, &h->b, seq, seq, &n);
	if (n == 0 || range[0].segment != h->segment || seq != h->b.head)
		return fail(r->ctx, ERR_CONFLICT, "content_target_locked",
		    "the floor is not the last one of branch \"%.*s\"; its pages are fixed there. Give branch_id a new name to go on from it", STR_ARG(h->b.id));
	now = db_query(r->ctx, STMT_page_now, P_INT(h->page_no));
	if (rows_next(now) <= 0)
		return failed(r->ctx) ? -1 : rest_not_found(r, &res_page);
	if (row_bool(now, 1))
		return busy(r);
	h->active = row_bool(now, 0);
	h->shared = branch_own_segment(&h->b) != h->segment || seq <= row_int(h->at, P_SHARED);
	return 0;
}

static int
on_head(struct request *r, struct on_head *h, struct str page, struct str branch_id, bool makes)
{
	struct rows *rs;

	if (place(r, page, &rs) < 0)
		return -1;
	if (row_null(rs, P_BRANCH))
		return fail(r->ctx, ERR_CONFLICT, "content_target_locked", "no branch shows the page's floor any more");
	*h = (struct on_head){ .at = rs, .segment = row_int(rs, P_SEGMENT), .floor_no = row_int(rs, P_FLOOR), .page_no = row_int(rs, P_NO), .page_id = page,
		.floor_id = row_str(rs, P_FLOOR_ID) };
	return stand(r, h, branch_id, makes) < 0 ? -1 : head_check(r, h);
}

/* What other branches show stays as it is: the floor is copied, and the page is the one of the copy. */
static int
own(struct request *r, struct on_head *h)
{
	struct id id = id_new(r->ctx->now);
	struct floor_own f = { .branch_no = h->b.no, .session_no = row_int(h->at, P_SESSION), .floor_no = h->floor_no, .floor_id = h->floor_id,
		.id = str_c(arena_strdup(r->ctx->a, str_c(id.s))) };
	struct rows *rs;

	if (!h->shared)
		return 0;
	if (floor_make_own(r->ctx, &f) < 0)
		return -1;
	if (f.no == h->floor_no)
		return 0;
	rs = db_query(r->ctx, STMT_page_twin, P_INT(f.no), P_STR(row_str(h->at, P_KIND)), P_INT(row_int(h->at, P_PAGE_SEQ)), P_INT(row_int(h->at, P_VERSION)));
	if (rows_next(rs) <= 0)
		return failed(r->ctx) ? -1 : fail(r->ctx, ERR_INTERNAL, "internal_error", "a copied floor lacks a page");
	h->floor_no = f.no;
	h->floor_id = f.id;
	h->segment = f.segment;
	h->page_no = row_int(rs, 0);
	h->page_id = row_str(rs, 1);
	return 0;
}

/* Another page counts: its text, its usage, and what it wrote to the branch instead of what the one before it wrote (decisions 41). */
static int
switch_to(struct request *r, const struct on_head *h, int64_t page_no)
{
	struct ctx *c = r->ctx;

	return activate(c, h->floor_no, row_str(h->at, P_KIND), page_no) < 0 || db_exec(c, STMT_page_vars_switch, P_INT(h->floor_no)) < 0 ||
		db_exec(c, STMT_page_vars_settle, P_INT(h->floor_no), P_INT(h->b.no), P_INT(h->segment),
		    P_STR(var_branch_scope_id(c->a, row_str(h->at, P_SESSION_ID), h->b.id)), P_INT(row_int(h->at, P_SESSION)), P_STR(h->b.id), P_INT(c->now)) < 0
	    ? -1
	    : 0;
}

static int
activate_work(struct request *r, void *arg)
{
	struct page_work *w = arg;
	struct on_head h;

	if (on_head(r, &h, req_param(r, "id"), json_get_str(r->in, "branch_id"), true) < 0)
		return -1;
	if (str_is(row_str(h.at, P_STATE), "failed"))
		return fail(r->ctx, ERR_CONFLICT, "page_failed", "the page's generation ended early; it cannot count. Retry the floor instead");
	if (!h.active && (own(r, &h) < 0 || switch_to(r, &h, h.page_no) < 0))
		return -1;
	w->id = h.page_id;
	if (page_answer(r, w) < 0)
		return -1;
	if (str_eq(h.page_id, req_param(r, "id")))
		return 0;
	sb_truncate(&w->out, w->out.n - 1);
	sb_adds(&w->out, ",\"branch_id\":");
	sb_add_json(&w->out, h.b.id);
	sb_adds(&w->out, ",\"previous_page_id\":");
	sb_add_json(&w->out, req_param(r, "id"));
	sb_adds(&w->out, ",\"previous_floor_id\":");
	sb_add_json(&w->out, row_str(h.at, P_FLOOR_ID));
	sb_addc(&w->out, '}');
	return 0;
}

static int
page_activate(struct request *r)
{
	struct page_work w = { .out = sb_new(r->ctx->a) };

	return rest_tx(r, DB_WRITE, activate_work, &w) < 0 ? -1 : reply_data(r, sb_str(&w.out));
}

/* One of the replies of a committed head floor goes; the one before it counts then, or the one behind it. The last one stays. */
static int
delete_reply(struct request *r, struct str id)
{
	struct on_head h;
	struct rows *rs;

	if (on_head(r, &h, id, req_query(r, "branch_id"), false) < 0)
		return -1;
	if (!str_is(row_str(h.at, P_KIND), "output"))
		return locked(r);
	if (h.active) {
		rs = db_query(r->ctx, STMT_page_neighbour, P_INT(h.floor_no), P_C("output"), P_INT(h.page_no), P_INT(row_int(h.at, P_PAGE_SEQ)),
		    P_INT(row_int(h.at, P_VERSION)));
		if (rows_next(rs) <= 0)
			return failed(r->ctx) ? -1 : fail(r->ctx, ERR_CONFLICT, "content_target_locked", "a committed floor keeps its last reply; delete the floor instead");
	}
	if (own(r, &h) < 0)
		return -1;
	if (h.active) {
		rs = db_query(r->ctx, STMT_page_neighbour, P_INT(h.floor_no), P_C("output"), P_INT(h.page_no), P_INT(row_int(h.at, P_PAGE_SEQ)),
		    P_INT(row_int(h.at, P_VERSION)));
		if (rows_next(rs) <= 0 || switch_to(r, &h, row_int(rs, 0)) < 0)
			return -1;
	}
	return db_exec(r->ctx, STMT_page_delete, P_INT(h.page_no)) < 0 ? -1 : 0;
}

static int
delete_one(struct request *r, struct str id)
{
	struct rows *rs;

	if (place(r, id, &rs) < 0)
		return -1;
	if (str_is(row_str(rs, P_FLOOR_STATE), "committed"))
		return delete_reply(r, id);
	if (row_bool(rs, P_BUSY))
		return busy(r);
	return db_exec(r->ctx, STMT_page_delete, P_INT(row_int(rs, P_NO))) < 0 ? -1 : 0;
}

static int
delete_work(struct request *r, void *arg)
{
	(void)arg;
	return delete_one(r, req_param(r, "id"));
}

static int
page_delete(struct request *r)
{
	return rest_tx(r, DB_WRITE, delete_work, NULL) < 0 ? -1 : rest_deleted_reply(r, req_param(r, "id"));
}

static int
page_batch_delete(struct request *r)
{
	return rest_batch_delete_each(r, delete_one);
}

/* ---- variable writes of a page ---- */

struct changes_work {
	bool promotions;
	struct sb out;
};

static void
change_print(struct sb *out, const struct rows *rs, struct str page)
{
	struct str value = row_str(rs, 5);
	bool macro = str_is(row_str(rs, 7), "macro"), tool = str_is(row_str(rs, 7), "tool");

	sb_adds(out, "{\"id\":");
	sb_add_json(out, row_str(rs, 3));
	sb_adds(out, ",\"key\":");
	sb_add_json(out, row_str(rs, 4));
	sb_addf(out, ",\"op\":\"%s\",\"value\":", value.p ? "set" : "delete");
	sb_add(out, value.p ? value : STR("null"));
	sb_addf(out,
	    ",\"intent\":\"page_only\",\"status\":\"%s\",\"reason\":\"\",\"conflict_policy\":\"replace\",\"source_kind\":\"%s\",\"source\":{},"
	    "\"source_json\":{},\"evidence\":{},\"evidence_json\":{},\"actor_client_id\":null,\"created_at\":%lld,\"resolved_at\":%lld}",
	    row_bool(rs, 9) ? "accepted_page_only" : "discarded", macro ? "macro" : tool ? "tool" : "unknown", (long long)row_int(rs, 8),
	    (long long)row_int(rs, 8));
	(void)page;
}

/* A local macro write goes from its page to the branch at commit: that step is its promotion (decisions 41). */
static void
promotion_print(struct sb *out, const struct rows *rs, struct str page)
{
	struct str value = row_str(rs, 5);

	sb_adds(out, "{\"id\":");
	sb_add_json(out, row_str(rs, 3));
	sb_adds(out, ",\"key\":");
	sb_add_json(out, row_str(rs, 4));
	sb_adds(out, ",\"value\":");
	sb_add(out, value.p ? value : STR("null"));
	sb_adds(out, ",\"from_scope\":\"page\",\"from_scope_id\":");
	sb_add_json(out, page);
	sb_addf(out, ",\"to_scope\":\"%.*s\",\"to_scope_id\":", STR_ARG(row_str(rs, 6)));
	sb_add_json(out, str_is(row_str(rs, 6), "global") ? STR("global") : str_is(row_str(rs, 6), "branch") ? row_str(rs, 2) :
			       str_is(row_str(rs, 6), "floor") ? row_str(rs, 1) : row_str(rs, 0));
	sb_addf(out,
	    ",\"staged_write_id\":null,\"conflict_policy\":\"replace\",\"source_kind\":\"%s\",\"source\":{},\"source_json\":{},\"evidence\":{},"
	    "\"evidence_json\":{},\"actor_client_id\":null,\"created_at\":%lld}",
	    str_is(row_str(rs, 7), "macro") ? "macro" : str_is(row_str(rs, 7), "tool") ? "tool" : "unknown", (long long)row_int(rs, 8));
}

static int
changes_work(struct request *r, void *arg)
{
	struct changes_work *w = arg;
	struct rows *rs = db_query(r->ctx, STMT_page_changes, P_STR(req_param(r, "id")));
	bool any = false, items = false;
	int rc;

	sb_truncate(&w->out, 0);
	while ((rc = rows_next(rs)) > 0) {
		bool page_only = str_is(row_str(rs, 6), "page");

		if (!any) {
			sb_adds(&w->out, "{\"page_id\":");
			sb_add_json(&w->out, req_param(r, "id"));
			sb_adds(&w->out, ",\"session_id\":");
			sb_add_json(&w->out, row_str(rs, 0));
			sb_adds(&w->out, ",\"floor_id\":");
			sb_add_json(&w->out, row_str(rs, 1));
			sb_adds(&w->out, ",\"branch_id\":");
			sb_add_json(&w->out, row_str(rs, 2));
			sb_adds(&w->out, ",\"items\":[");
			any = true;
		}
		if (row_null(rs, 3) || page_only == w->promotions)
			continue;
		sb_adds(&w->out, items ? "," : "");
		(w->promotions ? promotion_print : change_print)(&w->out, rs, req_param(r, "id"));
		items = true;
	}
	sb_adds(&w->out, "]}");
	return rc < 0 ? -1 : any ? 0 : rest_not_found(r, &res_page);
}

static int
changes(struct request *r, bool promotions)
{
	struct changes_work w = { .promotions = promotions, .out = sb_new(r->ctx->a) };

	return rest_tx(r, DB_READ, changes_work, &w) < 0 ? -1 : reply_data(r, sb_str(&w.out));
}

static int
page_staged(struct request *r)
{
	return changes(r, false);
}

static int
page_promotions(struct request *r)
{
	return changes(r, true);
}

/* clang-format off */
static const struct field branch_query[] = {
	{ "branch_id", FT_STRING, .min = 1, .doc = "on which branch; absent = the one that made the floor" },
	FIELD_END
};
static const struct field activate_body[] = {
	{ "branch_id", FT_STRING, .min = 1, .max = LIM_BRANCH_ID, .doc = "on which branch; one that does not exist is made at the floor" },
	FIELD_END
};
static const struct field activate_answer[] = {
	PAGE_FIELDS,
	{ "branch_id", FT_STRING, FF_OPTIONAL, .doc = "with previous_page_id" },
	{ "previous_page_id", FT_STRING, FF_OPTIONAL, .doc = "other branches show the floor: it was copied, and this is the page of the copy" },
	{ "previous_floor_id", FT_STRING, FF_OPTIONAL, .doc = "with previous_page_id" },
	FIELD_END
};
static const int errors_read[] = { 404, 0 };
static const int errors_write[] = { 404, 409, 0 };

const struct route api_pages_routes[] = {
	{ METHOD_GET, "/pages", rest_list, AUTH_ACCOUNT, .answer_kind = ANSWER_LIST, .answer = page_fields, .arg = &res_page, .tag = "pages",
	  .summary = "List pages" },
	{ METHOD_POST, "/pages", page_create, AUTH_ACCOUNT, .body = create_body, .answer = page_fields, .status = 201, .errors = errors_write, .tag = "pages",
	  .summary = "Create a page on a floor that is not committed" },
	{ METHOD_POST, "/pages/batch/delete", page_batch_delete, AUTH_ACCOUNT, .body = rest_batch_ids, .answer = rest_batch_answer, .errors = errors_write,
	  .tag = "pages", .summary = "Delete many pages" },
	{ METHOD_GET, "/pages/{id}", rest_get, AUTH_ACCOUNT, .answer = page_fields, .errors = errors_read, .arg = &res_page, .tag = "pages",
	  .summary = "Read a page" },
	{ METHOD_PATCH, "/pages/{id}", page_patch, AUTH_ACCOUNT, .body = patch_body, .body_mode = FIELD_PATCH, .answer = page_fields,
	  .errors = errors_write, .tag = "pages", .summary = "Change a page" },
	{ METHOD_DELETE, "/pages/{id}", page_delete, AUTH_ACCOUNT, .query = branch_query, .answer_kind = ANSWER_DELETED, .errors = errors_write, .tag = "pages",
	  .summary = "Delete a page; of a committed floor one of several replies, and then its neighbour counts" },
	{ METHOD_PATCH, "/pages/{id}/activate", page_activate, AUTH_ACCOUNT, .body = activate_body, .answer = activate_answer, .flags = ROUTE_BODY_OPTIONAL,
	  .errors = errors_write, .tag = "pages", .summary = "Make a page the active one of its floor" },
	{ METHOD_GET, "/pages/{id}/variables/staged", page_staged, AUTH_ACCOUNT, .answer = wire_staged_answer, .errors = errors_read, .tag = "pages",
	  .summary = "Variable writes of the page" },
	{ METHOD_GET, "/pages/{id}/variables/promotions", page_promotions, AUTH_ACCOUNT, .answer = wire_promotions_answer, .errors = errors_read,
	  .tag = "pages", .summary = "Variable writes that went further up at commit" },
	{ .path = NULL }
};
/* clang-format on */
