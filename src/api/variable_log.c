/*
 * variable_log: what was written to variables, by whom and where, and what they were as of a floor.
 * Reads only; writes are api/variables' and the turn's.
 */
#include "api/rest.h"
#include "api/tables.h"
#include "base/limits.h"
#include "store/branch.h"
#include "store/variable.h"

#include <stdlib.h>

/* clang-format off */
static const char *const scopes[] = { "global", "chat", "floor", "branch", "page", NULL };
static const char *const sources[] = { "client", "macro", "tool", "fork", "promotion", "import", "memory", NULL };
static const char *const ops[] = { "set", "delete", NULL };

/* ---- the log ---- */

#define SESSION "(SELECT s.id FROM session s WHERE s.account_no = acct() AND s.no = t.session_no)"
#define FLOOR(column) \
	"(SELECT f." column " FROM floor f WHERE f.account_no = acct() AND f.segment_no = t.segment_no AND f.floor_seq = t.floor_seq)"
#define BRANCH "(SELECT b.id FROM branch b WHERE b.account_no = acct() AND b.no = t.scope_no)"
static const struct field log_fields[] = {
	{ "id", FT_STRING },
	{ "session_id", FT_STRING, FF_NULLABLE, .expr = SESSION, .doc = "null: a client's write to a global variable" },
	{ "branch_id", FT_STRING, FF_NULLABLE, .expr = "CASE t.scope WHEN 'branch' THEN " BRANCH " ELSE " FLOOR("branch_id") " END" },
	{ "floor_id", FT_STRING, FF_NULLABLE, .expr = FLOOR("id"), .doc = "the branch's last floor at that time" },
	{ "floor_no", FT_INT, FF_NULLABLE, .min = -1, .column = "floor_seq", .doc = "null: outside of the story; -1: before its first floor" },
	{ "page_id", FT_STRING, FF_NULLABLE, .expr = "(SELECT p.id FROM page p WHERE p.account_no = acct() AND p.no = t.page_no)" },
	{ "scope", FT_ENUM, .choices = scopes },
	{ "scope_id", FT_STRING, FF_NULLABLE, .expr =
	  "CASE t.scope WHEN 'global' THEN 'global' WHEN 'chat' THEN " SESSION " WHEN 'branch' THEN 'branch:' || " SESSION " || ':' || " BRANCH
	  " WHEN 'floor' THEN (SELECT f.id FROM floor f WHERE f.account_no = acct() AND f.no = t.scope_no)"
	  " ELSE (SELECT p.id FROM page p WHERE p.account_no = acct() AND p.no = t.scope_no) END", .doc = "null: it is gone" },
	{ "key", FT_STRING },
	{ "op", FT_ENUM, .choices = ops, .expr = "CASE WHEN t.new_value IS NULL THEN 'delete' ELSE 'set' END" },
	{ "value", FT_ANY, FF_NULLABLE, .column = "new_value" },
	{ "source", FT_ENUM, .choices = sources, .doc = "who wrote" },
	{ "detail", FT_ANY, FF_NULLABLE },
	{ "active", FT_BOOL, .doc = "false: its page does not count" },
	{ "created_at", FT_TIME },
	FIELD_END
};
static const struct field by_session = { "session_id", FT_STRING, .min = 1 };
static const struct field by_branch = { "branch_id", FT_STRING, .min = 1, .doc = "variables of branches of this name" };
static const struct field by_floor = { "floor_id", FT_STRING, .min = 1 };
static const struct field by_floor_no = { "floor_no", FT_INT, .min = -1, .max = INT32_MAX };
static const struct field by_page = { "page_id", FT_STRING, .min = 1 };
static const struct field by_scope = { "scope", FT_ENUM, .choices = scopes };
static const struct field by_key = { "key", FT_STRING, .min = 1 };
static const struct field by_source = { "source", FT_ENUM, .choices = sources };
static const struct field by_active = { "active", FT_BOOL };
static const struct filter filters[] = {
	{ &by_session, FILTER_WHERE, "t.session_no = (SELECT s.no FROM session s WHERE s.account_no = acct() AND s.id = $?)" },
	{ &by_branch, FILTER_WHERE, "t.scope = 'branch' AND t.scope_no = ANY (ARRAY(SELECT b.no FROM branch b WHERE b.account_no = acct() AND b.id = $?))" },
	{ &by_floor, FILTER_WHERE, "(t.segment_no, t.floor_seq) = (SELECT f.segment_no, f.floor_seq FROM floor f WHERE f.account_no = acct() AND f.id = $?)" },
	{ &by_floor_no, FILTER_EQ, "t.floor_seq" },
	{ &by_page, FILTER_WHERE, "t.page_no = (SELECT p.no FROM page p WHERE p.account_no = acct() AND p.id = $?)" },
	{ &by_scope, FILTER_EQ, "t.scope" },
	{ &by_key, FILTER_EQ, "t.key" },
	{ &by_source, FILTER_EQ, "t.source" },
	{ &by_active, FILTER_EQ, "t.active" },
	{ NULL }
};
static const struct sort_key sorts[] = { { "created_at", "t.no" }, { NULL } }; /* in the order of writing: clocks may stand still or go back */
static const struct resource res_log = {
	.name = "variable write", .table = "var_change", .where = REST_LIVE_VARIABLE, .fields = log_fields, .filters = filters, .sorts = sorts,
};
/* clang-format on */

/* ---- as of a floor ---- */

/* Nearest first; of page and floor the floor's own, of the branch its log, of wider scopes a moment. */
enum layer { LAYER_PAGE, LAYER_FLOOR, LAYER_BRANCH, LAYER_CHAT, LAYER_GLOBAL, LAYER__COUNT };
static const char *const layer_names[LAYER__COUNT] = { "page", "floor", "branch", "chat", "global" };

struct past_value {
	enum layer layer;
	struct str key, value, scope_id, source;
	bool has_floor;
	int64_t floor_no, changed_at;
};

struct past {
	struct branch b;
	struct str branch_id, floor_id, key;
	int64_t session_no;
	int32_t at; /* floor number; -1 = before the first */
	VEC(struct past_value) v;
	struct sb out;
};

static enum layer
layer_of(struct str scope)
{
	unsigned i = 0;

	while (!str_is(scope, layer_names[i]))
		i++;
	return (enum layer)i;
}

static int
not_in_story(struct ctx *c, struct str branch_id)
{
	return fail(c, ERR_NOT_FOUND, "floor_not_found", "branch \"%.*s\" does not show this floor",
	    STR_ARG(branch_id));
}

/* The floor that is asked for, by its id or its number: the branch must show it. */
static int
past_floor(struct request *r, struct past *p)
{
	struct ctx *c = r->ctx;
	struct str id = req_query(r, "floor_id");
	struct branch_range *at;
	struct rows *rs;
	size_t n;
	int rc;

	p->at = (int32_t)req_query_int(r, "floor_no", p->b.head);
	if (p->at > p->b.head)
		return not_in_story(c, p->branch_id);
	if (!id.p)
		return 0;
	rs = db_query(c, STMT_variable_at_floor_id, P_INT(p->session_no), P_STR(id));
	if ((rc = rows_next(rs)) <= 0)
		return rc < 0 ? -1 : not_in_story(c, p->branch_id);
	p->at = (int32_t)row_int(rs, 1);
	at = branch_window(c->a, &p->b, p->at, p->at, &n);
	return n > 0 && at->segment == row_int(rs, 0) ? 0 : not_in_story(c, p->branch_id);
}

/* The floor's row and the moment when the next one began; *rs NULL where there is no such floor. */
static void
floor_send(struct ctx *c, const struct past *p, int32_t seq, struct rows **rs)
{
	size_t n;
	struct branch_range *at = branch_window(c->a, &p->b, seq, seq, &n);

	*rs = n > 0 && seq >= 0 ? db_query(c, STMT_variable_at_floor, P_INT(at->segment), P_INT(seq)) : NULL;
}

static int
log_take(struct ctx *c, struct past *p, struct rows *rs, enum layer layer, struct str scope_id)
{
	int rc;

	while ((rc = rows_next(rs)) > 0)
		vec_push(c->a, &p->v,
		    ((struct past_value){ .layer = layer,
			.key = row_str(rs, 0),
			.value = row_str(rs, 1),
			.scope_id = scope_id,
			.source = row_str(rs, 2),
			.has_floor = !row_null(rs, 3),
			.floor_no = row_int(rs, 3),
			.changed_at = row_int(rs, 4) }));
	return rc;
}

static int
own_take(struct ctx *c, struct past *p, struct rows *rs)
{
	int rc;

	while (rs && (rc = rows_next(rs)) != 0) {
		if (rc < 0)
			return -1;
		vec_push(c->a, &p->v,
		    ((struct past_value){ .layer = layer_of(row_str(rs, 0)),
			.key = row_str(rs, 2),
			.value = row_str(rs, 3),
			.scope_id = row_str(rs, 1),
			.has_floor = true,
			.floor_no = p->at,
			.changed_at = row_int(rs, 4) }));
	}
	return 0;
}

static int
past_load(struct request *r, struct past *p)
{
	struct ctx *c = r->ctx;
	struct str session_id = req_query(r, "session_id");
	struct rows *here, *next, *branch, *chat, *global, *own = NULL;
	struct param until = P_NULL;
	int rc;

	floor_send(c, p, p->at, &here);
	floor_send(c, p, p->at + 1, &next);
	branch = db_query(c, STMT_variable_as_of_branch, P_INT(p->b.segs[branch_log_range(&p->b, p->at)]),
	    P_INT(p->at), P_STR(p->key));
	if (here) {
		if ((rc = rows_next(here)) <= 0)
			return rc < 0 ? -1 : not_in_story(c, p->branch_id);
		p->floor_id = row_str(here, 1);
		own = db_query(c, STMT_variable_as_of_floor, P_INT(row_int(here, 0)), P_STR(p->key));
	}
	if (next) {
		if (rows_next(next) < 0)
			return -1;
		until = P_INT(row_int(next, 3));
	}
	chat = db_query(c, STMT_variable_as_of_wide, P_C("chat"), P_INT(p->session_no), until, P_STR(p->key));
	global = db_query(c, STMT_variable_as_of_wide, P_C("global"), P_INT(0), until, P_STR(p->key));
	return own_take(c, p, own) < 0 ||
		       log_take(c, p, branch, LAYER_BRANCH,
			   var_branch_scope_id(c->a, session_id, p->branch_id)) < 0 ||
		       log_take(c, p, chat, LAYER_CHAT, session_id) < 0 ||
		       log_take(c, p, global, LAYER_GLOBAL, STR("global")) < 0
		   ? -1
		   : 0;
}

static int
past_order(const void *a, const void *b)
{
	const struct past_value *x = a, *y = b;
	int key = str_cmp(x->key, y->key);

	return key ? key : x->layer < y->layer ? -1 : x->layer > y->layer;
}

static void
past_print(struct past *p, struct str session_id)
{
	struct sb *out = &p->out;

	if (p->v.n > 0)
		qsort(p->v.v, p->v.n, sizeof(*p->v.v), past_order);
	sb_truncate(out, 0);
	sb_adds(out, "{\"session_id\":");
	sb_add_json(out, session_id);
	sb_adds(out, ",\"branch_id\":");
	sb_add_json(out, p->branch_id);
	sb_addf(out, ",\"floor_no\":%d,\"floor_id\":", p->at);
	if (p->floor_id.p)
		sb_add_json(out, p->floor_id);
	else
		sb_adds(out, "null");
	sb_adds(out, ",\"items\":[");
	for (size_t i = 0; i < p->v.n; i++) {
		const struct past_value *v = &p->v.v[i];

		sb_adds(out, i ? ",{\"key\":" : "{\"key\":");
		sb_add_json(out, v->key);
		sb_adds(out, ",\"value\":");
		sb_add(out, v->value);
		sb_addf(out, ",\"scope\":\"%s\",\"scope_id\":", layer_names[v->layer]);
		sb_add_json(out, v->scope_id);
		sb_addf(out, ",\"nearest\":%s,\"exact\":%s,\"source\":",
		    i == 0 || !str_eq(v->key, v[-1].key) ? "true" : "false",
		    v->layer < LAYER_CHAT ? "true" : "false");
		if (v->source.p)
			sb_add_json(out, v->source);
		else
			sb_adds(out, "null");
		if (v->has_floor)
			sb_addf(out, ",\"floor_no\":%lld", (long long)v->floor_no);
		else
			sb_adds(out, ",\"floor_no\":null");
		sb_addf(out, ",\"changed_at\":%lld}", (long long)v->changed_at);
	}
	sb_adds(out, "]}");
}

static int
past_work(struct request *r, void *arg)
{
	struct past *p = arg;
	struct ctx *c = r->ctx;
	struct rows *rs;
	int rc;

	*p = (struct past){
		.out = p->out, .key = req_query(r, "key"), .branch_id = req_query(r, "branch_id")
	};
	if (!p->branch_id.p)
		p->branch_id = STR("main");
	rs = db_query(c, STMT_variable_at, P_STR(req_query(r, "session_id")), P_STR(p->branch_id));
	if ((rc = rows_next(rs)) <= 0)
		return rc < 0 ? -1 : fail(c, ERR_NOT_FOUND, "not_found", "session not found");
	if (row_null(rs, 1))
		return fail(c, ERR_NOT_FOUND, "branch_not_found",
		    "branch \"%.*s\" does not exist in this session", STR_ARG(p->branch_id));
	p->session_no = row_int(rs, 0);
	p->b.head = (int32_t)row_int(rs, 4);
	if (branch_read(c->a, &p->b, row_str(rs, 2), row_str(rs, 3)) < 0)
		return fail(c, ERR_INTERNAL, "internal_error", "stored branch ranges do not fit");
	if (past_floor(r, p) < 0 || past_load(r, p) < 0)
		return -1;
	past_print(p, req_query(r, "session_id"));
	return 0;
}

static int
variables_past(struct request *r)
{
	struct past p = { .out = sb_new(r->ctx->a) };

	return rest_tx(r, DB_READ, past_work, &p) < 0 ? -1 : reply_data(r, sb_str(&p.out));
}

/* clang-format off */
static const struct field past_query[] = {
	{ "session_id", FT_STRING, FF_REQUIRED, .min = 1 },
	{ "branch_id", FT_STRING, .min = 1, .doc = "absent = main" },
	{ "floor_no", FT_INT, .min = -1, .max = INT32_MAX, .doc = "absent = the branch's last floor; -1 = before the first" },
	{ "floor_id", FT_STRING, .min = 1, .doc = "instead of floor_no" },
	{ "key", FT_STRING, .min = 1, .doc = "only this one" },
	FIELD_END
};
static const struct field past_fields[] = {
	{ "key", FT_STRING },
	{ "value", FT_ANY },
	{ "scope", FT_ENUM, .choices = scopes },
	{ "scope_id", FT_STRING },
	{ "nearest", FT_BOOL, .doc = "what a view of that floor resolves the key to" },
	{ "exact", FT_BOOL, .doc = "false: other branches or chats write this scope, too; the value is that of the moment when the next floor began" },
	{ "source", FT_ENUM, FF_NULLABLE, .choices = sources, .doc = "null: the floor's or page's own value" },
	{ "floor_no", FT_INT, FF_NULLABLE, .min = -1 },
	{ "changed_at", FT_TIME },
	FIELD_END
};
static const struct field past_item = { "item", FT_OBJECT, .fields = past_fields };
static const struct field past_answer[] = {
	{ "session_id", FT_STRING },
	{ "branch_id", FT_STRING },
	{ "floor_no", FT_INT, .min = -1 },
	{ "floor_id", FT_STRING, FF_NULLABLE },
	{ "items", FT_ARRAY, .items = &past_item, .doc = "by key, nearest scope first" },
	FIELD_END
};
static const int errors_read[] = { 404, 0 };

const struct route api_variable_log_routes[] = {
	{ METHOD_GET, "/variables/log", rest_list, AUTH_ACCOUNT, .answer_kind = ANSWER_LIST, .answer = log_fields, .arg = &res_log, .tag = "variables",
	  .summary = "What was written to variables, newest first: by whom, where in the story, and what" },
	{ METHOD_GET, "/variables/as-of", variables_past, AUTH_ACCOUNT, .query = past_query, .answer = past_answer, .errors = errors_read,
	  .tag = "variables", .summary = "Values as they were at a floor of a branch" },
	{ .path = NULL }
};
/* clang-format on */
