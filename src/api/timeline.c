/*
 * timeline: the floors of a branch with their pages and messages, as people read them.
 */
#include "api/rest.h"
#include "api/tables.h"
#include "api/wire.h"
#include "base/limits.h"
#include "store/branch.h"

struct timeline {
	struct str branch_id;
	int64_t limit, offset, total;
	bool unfinished;
	struct sb out;
};

struct tl_page {
	int64_t floor_no, no, seq, version;
	struct str id, kind;
	bool active;
	size_t from;         /* of its messages in the builder */
	struct str messages; /* joined by commas */
};

static void
page_print(struct sb *out, const struct tl_page *p, bool with_active)
{
	sb_adds(out, "{\"id\":");
	sb_add_json(out, p->id);
	sb_addf(out, ",\"page_no\":%lld,\"page_kind\":\"%.*s\"", (long long)p->seq, STR_ARG(p->kind));
	if (with_active)
		sb_addf(out, ",\"is_active\":%s", p->active ? "true" : "false");
	sb_addf(out, ",\"version\":%lld,\"messages\":[", (long long)p->version);
	sb_add(out, p->messages);
	sb_adds(out, "]}");
}

static void
floor_print(struct sb *out, const struct rows *f, const struct tl_page *pages, size_t n)
{
	const struct tl_page *only = NULL;
	size_t active = 0;
	bool first = true;

	sb_adds(out, "{\"id\":");
	sb_add_json(out, row_str(f, 1));
	sb_addf(out, ",\"floor_no\":%lld,\"state\":\"%.*s\",\"token_in\":%lld,\"token_out\":%lld,\"created_at\":%lld,\"pages\":[",
	    (long long)row_int(f, 2), STR_ARG(row_str(f, 3)), (long long)row_int(f, 4), (long long)row_int(f, 5), (long long)row_int(f, 6));
	for (size_t i = 0; i < n; i++) {
		sb_adds(out, i ? "," : "");
		page_print(out, &pages[i], true);
	}
	sb_adds(out, "],\"active_pages\":[");
	for (size_t i = 0; i < n; i++) {
		if (!pages[i].active)
			continue;
		sb_adds(out, active++ ? "," : "");
		page_print(out, &pages[i], false);
		only = &pages[i];
	}
	/* One active page is "the" active page; a floor with input and output has none in particular. */
	sb_adds(out, "],\"active_page\":");
	if (active == 1)
		page_print(out, only, false);
	else
		sb_adds(out, "null");
	sb_adds(out, ",\"messages\":[");
	for (size_t i = 0; i < n; i++) {
		if (!pages[i].active || pages[i].messages.n == 0)
			continue;
		sb_adds(out, first ? "" : ",");
		sb_add(out, pages[i].messages);
		first = false;
	}
	sb_addf(out, "],\"page_count\":%zu}", n);
}

struct tl_window {
	struct rows *floors, *pages, *messages;
};

static void
messages_join(struct ctx *c, struct rows *rs, struct tl_page *pages, size_t n)
{
	struct sb sb = sb_new(c->a);
	struct tl_page *p = NULL;

	/* Rows of one page are neighbours; pages of a window are few per floor, so a forward search finds each. */
	while (rows_next(rs) > 0) {
		int64_t page_no = row_int(rs, 0);

		if (p == NULL || p->no != page_no) {
			p = NULL;
			for (size_t i = 0; i < n && !p; i++)
				if (pages[i].no == page_no)
					p = &pages[i];
			if (p == NULL)
				continue; /* of a page that is not shown */
			p->from = sb.n;
		} else
			sb_addc(&sb, ',');
		sb_adds(&sb, "{\"id\":");
		sb_add_json(&sb, row_str(rs, 1));
		sb_addf(&sb, ",\"seq\":%lld,\"role\":\"%.*s\",\"content\":", (long long)row_int(rs, 2), STR_ARG(row_str(rs, 3)));
		sb_add_json(&sb, row_str(rs, 4));
		sb_addf(&sb, ",\"content_format\":\"%.*s\"}", STR_ARG(row_str(rs, 5)));
		p->messages.n = sb.n - p->from; /* the builder may move: lengths now, places below */
	}
	for (size_t i = 0; i < n; i++)
		pages[i].messages.p = sb_c(&sb) + pages[i].from;
}

static int
window_print(struct ctx *c, struct timeline *tl, const struct tl_window *w, bool *first)
{
	VEC(struct tl_page) pages = { 0 };
	size_t at = 0;
	int rc;

	while ((rc = rows_next(w->pages)) > 0)
		vec_push(c->a, &pages,
		    ((struct tl_page){ .floor_no = row_int(w->pages, 0), .no = row_int(w->pages, 1), .id = row_str(w->pages, 2), .seq = row_int(w->pages, 3),
			.kind = row_str(w->pages, 4), .active = row_bool(w->pages, 5), .version = row_int(w->pages, 6) }));
	if (rc < 0)
		return -1;
	messages_join(c, w->messages, pages.v, pages.n);
	while ((rc = rows_next(w->floors)) > 0) {
		size_t n = 0;

		while (at + n < pages.n && pages.v[at + n].floor_no == row_int(w->floors, 0))
			n++;
		sb_adds(&tl->out, *first ? "" : ",");
		floor_print(&tl->out, w->floors, pages.v + at, n);
		*first = false;
		at += n;
	}
	return rc;
}

static int
timeline_load(struct request *r, void *arg)
{
	struct timeline *tl = arg;
	struct ctx *c = r->ctx;
	struct branch b = { 0 };
	struct branch_range *ranges;
	struct tl_window *w;
	struct rows *rs = db_query(c, STMT_branch_by_id, P_STR(req_param(r, "id")), P_STR(tl->branch_id));
	bool first = true;
	size_t n;
	int rc = rows_next(rs);

	if (rc <= 0)
		return rc < 0 ? -1 : fail(c, ERR_NOT_FOUND, "not_found", "session not found");
	if (row_null(rs, 0))
		return fail(c, ERR_NOT_FOUND, "branch_not_found", "branch \"%.*s\" does not exist in this session", STR_ARG(tl->branch_id));
	b.head = (int32_t)row_int(rs, 4);
	if (branch_read(c->a, &b, row_str(rs, 2), row_str(rs, 3)) < 0)
		return fail(c, ERR_INTERNAL, "internal_error", "stored branch ranges do not fit");
	tl->total = b.head + 1;
	sb_truncate(&tl->out, 0);
	sb_adds(&tl->out, "{\"session_id\":");
	sb_add_json(&tl->out, req_param(r, "id"));
	sb_adds(&tl->out, ",\"branch_id\":");
	sb_add_json(&tl->out, tl->branch_id);
	sb_adds(&tl->out, ",\"floors\":[");
	/* floor numbers are the offset */
	ranges = branch_window(c->a, &b, (int32_t)(tl->offset < INT32_MAX ? tl->offset : INT32_MAX),
	    (int32_t)(tl->offset + tl->limit - 1 < b.head ? tl->offset + tl->limit - 1 : b.head), &n);
	w = arena_array(c->a, struct tl_window, n + 1);
	for (size_t i = 0; i < n; i++)
		w[i] = (struct tl_window){
			db_query(c, STMT_timeline_floors, P_INT(ranges[i].segment), P_INT(ranges[i].lo), P_INT(ranges[i].hi), P_BOOL(tl->unfinished)),
			db_query(c, STMT_timeline_pages, P_INT(ranges[i].segment), P_INT(ranges[i].lo), P_INT(ranges[i].hi), P_BOOL(tl->unfinished)),
			db_query(c, STMT_timeline_messages, P_INT(ranges[i].segment), P_INT(ranges[i].lo), P_INT(ranges[i].hi)),
		};
	for (size_t i = n; i-- > 0;)
		if (window_print(c, tl, &w[i], &first) < 0)
			return -1;
	sb_adds(&tl->out, "]}");
	return 0;
}

static int
timeline(struct request *r)
{
	static const struct sort_key by_floor = { "floor_no", "floor_seq" };
	struct timeline tl = { .branch_id = req_query(r, "branch_id"), .limit = req_query_int(r, "limit", LIM_PAGE_DEFAULT),
		.offset = req_query_int(r, "offset", 0),
		.unfinished = req_query_bool(r, "unfinished", false), .out = sb_new(r->ctx->a) };
	struct list_query q = { .limit = tl.limit, .offset = tl.offset, .sort = &by_floor, .ascending = true };

	if (!tl.branch_id.p)
		tl.branch_id = STR("main");
	if (rest_tx(r, DB_READ, timeline_load, &tl) < 0)
		return -1;
	return reply_list(r, sb_str(&tl.out), rest_list_meta(r->ctx->a, &q, tl.total));
}

static const int errors_read[] = { 404, 0 };

/* clang-format off */
const struct route api_timeline_routes[] = {
	{ METHOD_GET, "/sessions/{id}/timeline", timeline, AUTH_ACCOUNT, .query = wire_timeline_query, .answer_kind = ANSWER_LIST,
	  .answer = wire_timeline_answer, .flags = ROUTE_LIST_OBJECT, .errors = errors_read, .tag = "sessions",
	  .summary = "Floors of a branch with their pages and messages" },
	{ .path = NULL }
};
/* clang-format on */
