/*
 * turns: the routes of a turn and of what can be seen of it: respond, its stream, dry-run,
 * timeline, run, result, active run.
 */
#include "api/app.h"
#include "api/rest.h"
#include "api/tables.h"
#include "api/wire.h"
#include "base/limits.h"
#include "store/branch.h"
#include "turn/look.h"

static struct turn_request
turn_request_of(struct request *r, bool stream)
{
	struct str policy = json_get_str(r->in, "on_disconnect");

	return (struct turn_request){ .type = TURN_RESPOND,
		.session_id = req_param(r, "id"),
		.branch_id = json_get_str(r->in, "branch_id"),
		.message = json_get_str(r->in, "message"),
		.body = r->in,
		.stream = stream,
		.on_disconnect_continue = str_is(policy, "continue") };
}

static int
respond(struct request *r)
{
	struct turn_request q = turn_request_of(r, false);
	struct sb answer = sb_new(r->ctx->a);
	struct turn *t = turn_open(app_of(r)->turns, r->ctx, &q);

	if (t == NULL)
		return -1;
	request_on_deserted(r, turn_reader_left, t);
	if (turn_run(t, &answer) < 0)
		return -1;
	return reply_data(r, sb_str(&answer));
}

/* Refusals by the session's state are an event of a stream that then ends; all others are plain answers (decisions 43). */
static bool
refusal_is_event(const struct err *e)
{
	return e->kind == ERR_NOT_FOUND || e->kind == ERR_CONFLICT;
}

static int
respond_stream(struct request *r)
{
	struct turn_request q = turn_request_of(r, true);
	struct sb answer = sb_new(r->ctx->a);
	struct turn *t = turn_open(app_of(r)->turns, r->ctx, &q);

	if (t == NULL)
		return r->ctx->who.account_no != 0 && refusal_is_event(&r->ctx->err) ? reply_stream_error(r, &r->ctx->err) : -1;
	stream_on_deserted(turn_stream(t), turn_reader_left, t);
	if (reply_stream(r, turn_stream(t), (struct stream_pos){ 0 }) < 0)
		return -1;
	turn_run(t, &answer); /* what went wrong has been said on the stream */
	return 0;
}

static int
dry_run(struct request *r)
{
	struct turn_request q = turn_request_of(r, false);
	struct sb answer = sb_new(r->ctx->a);

	return turn_dry_run(app_of(r)->turns, r->ctx, &q, &answer) < 0 ? -1 : reply_data(r, sb_str(&answer));
}

/* ---- timeline ---- */

struct timeline {
	struct str branch_id;
	int64_t limit, offset, total;
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
			db_query(c, STMT_timeline_floors, P_INT(ranges[i].segment), P_INT(ranges[i].lo), P_INT(ranges[i].hi)),
			db_query(c, STMT_timeline_pages, P_INT(ranges[i].segment), P_INT(ranges[i].lo), P_INT(ranges[i].hi)),
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
		.offset = req_query_int(r, "offset", 0), .out = sb_new(r->ctx->a) };
	struct list_query q = { .limit = tl.limit, .offset = tl.offset, .sort = &by_floor, .ascending = true };

	if (!tl.branch_id.p)
		tl.branch_id = STR("main");
	if (rest_tx(r, DB_READ, timeline_load, &tl) < 0)
		return -1;
	return reply_list(r, sb_str(&tl.out), rest_list_meta(r->ctx->a, &q, tl.total));
}

/* ---- run, result, active run ---- */

static void
add_json_or_null(struct sb *out, const char *key, struct str json)
{
	sb_addf(out, ",\"%s\":", key);
	sb_add(out, json.p ? json : STR("null"));
}

static void
add_ms_or_null(struct sb *out, const char *key, const struct rows *rs, int col)
{
	if (row_null(rs, col))
		sb_addf(out, ",\"%s\":null", key);
	else
		sb_addf(out, ",\"%s\":%lld", key, (long long)row_int(rs, col));
}

/* Columns of run_of_floor from 2 on. */
static void
run_print(struct sb *out, const struct rows *rs)
{
	struct str said = row_str(rs, 13);

	sb_adds(out, "{\"run_id\":");
	sb_add_json(out, row_str(rs, 2));
	sb_addf(out, ",\"run_type\":\"%.*s\",\"status\":\"%.*s\",\"phase\":\"%.*s\",\"public_phase\":\"%s\",\"phase_seq\":%lld,\"attempt_no\":%lld",
	    STR_ARG(row_str(rs, 3)), STR_ARG(row_str(rs, 4)), STR_ARG(row_str(rs, 5)), run_public_phase(row_str(rs, 5)), (long long)row_int(rs, 6),
	    (long long)row_int(rs, 7));
	sb_addf(out, ",\"started_at\":%lld,\"updated_at\":%lld", (long long)row_int(rs, 8), (long long)row_int(rs, 9));
	add_ms_or_null(out, "completed_at", rs, 10);
	sb_adds(out, ",\"pending_output\":");
	if (str_is(row_str(rs, 4), "running")) {
		sb_addf(out, "{\"temp_id\":\"temp-%.*s\",\"attempt_no\":%lld,\"state\":\"%s\",\"text\":", STR_ARG(row_str(rs, 2)),
		    (long long)row_int(rs, 7), said.p ? "streaming" : "draft");
		sb_add_json(out, said.p ? said : STR(""));
		sb_addf(out, ",\"started_at\":%lld,\"updated_at\":%lld,\"error\":null}", (long long)row_int(rs, 8), (long long)row_int(rs, 9));
	} else
		sb_adds(out, "null");
	add_json_or_null(out, "verifier", row_str(rs, 12));
	add_json_or_null(out, "error", row_str(rs, 11));
	sb_addc(out, '}');
}

static int
floor_run_load(struct request *r, void *arg)
{
	struct sb *out = arg;
	struct rows *rs = db_query(r->ctx, STMT_run_of_floor, P_STR(req_param(r, "id")));
	int rc = rows_next(rs);

	if (rc <= 0)
		return rc < 0 ? -1 : fail(r->ctx, ERR_NOT_FOUND, "not_found", "floor not found");
	sb_truncate(out, 0);
	sb_adds(out, "{\"floor_id\":");
	sb_add_json(out, row_str(rs, 0));
	sb_addf(out, ",\"state\":\"%.*s\",\"run\":", STR_ARG(row_str(rs, 1)));
	if (row_null(rs, 2))
		sb_adds(out, "null");
	else
		run_print(out, rs);
	sb_addc(out, '}');
	return 0;
}

static int
floor_run(struct request *r)
{
	struct sb out = sb_new(r->ctx->a);

	return rest_tx(r, DB_READ, floor_run_load, &out) < 0 ? -1 : reply_data(r, sb_str(&out));
}

static int
floor_result_load(struct request *r, void *arg)
{
	struct sb *out = arg;
	struct rows *rs = db_query(r->ctx, STMT_floor_result, P_STR(req_param(r, "id")));
	int rc = rows_next(rs);
	struct str summaries;

	if (rc <= 0)
		return rc < 0 ? -1 : fail(r->ctx, ERR_NOT_FOUND, "not_found", "floor not found");
	if (!str_is(row_str(rs, 1), "committed") || row_null(rs, 3))
		return fail(r->ctx, ERR_CONFLICT, "floor_not_committed", "floor is %.*s; only a committed floor has a result", STR_ARG(row_str(rs, 1)));
	summaries = row_str(rs, 5);
	sb_truncate(out, 0);
	sb_adds(out, "{\"floor_id\":");
	sb_add_json(out, row_str(rs, 0));
	sb_adds(out, ",\"output_page_id\":");
	sb_add_json(out, row_str(rs, 2));
	sb_adds(out, ",\"assistant_message_id\":");
	sb_add_json(out, row_str(rs, 3));
	sb_adds(out, ",\"generated_text\":");
	sb_add_json(out, row_str(rs, 4));
	sb_adds(out, ",\"summaries\":");
	sb_add(out, summaries.p ? summaries : STR("[]"));
	sb_adds(out, ",\"usage\":");
	sb_add(out, row_null(rs, 6) ? STR("{\"prompt_tokens\":0,\"completion_tokens\":0,\"total_tokens\":0}") : row_str(rs, 6));
	add_json_or_null(out, "verifier", row_str(rs, 7));
	sb_addf(out, ",\"committed_at\":%lld}", (long long)row_int(rs, 8));
	return 0;
}

static int
floor_result(struct request *r)
{
	struct sb out = sb_new(r->ctx->a);

	return rest_tx(r, DB_READ, floor_result_load, &out) < 0 ? -1 : reply_data(r, sb_str(&out));
}

static void
active_print(struct sb *out, struct str branch, bool busy, int64_t updated_at, struct str floor)
{
	sb_adds(out, "{\"branch_id\":");
	sb_add_json(out, branch);
	sb_addf(out, ",\"busy\":%s,\"updated_at\":%lld,\"latest_floor_id\":", busy ? "true" : "false", (long long)updated_at);
	sb_add_json(out, floor);
}

static int
active_run_load(struct request *r, void *arg)
{
	struct sb *out = arg;
	struct rows *rs = db_query(r->ctx, STMT_run_active_of_session, P_STR(req_param(r, "id")));
	struct rows *idle = db_query(r->ctx, STMT_run_idle_of_session, P_STR(req_param(r, "id")));
	int rc = rows_next(rs);

	if (rc <= 0)
		return rc < 0 ? -1 : fail(r->ctx, ERR_NOT_FOUND, "not_found", "session not found");
	sb_truncate(out, 0);
	sb_adds(out, "{\"session_id\":");
	sb_add_json(out, row_str(rs, 0));
	sb_adds(out, ",\"active_run\":");
	if (!row_null(rs, 2)) {
		active_print(out, row_str(rs, 1), true, row_int(rs, 5), row_str(rs, 6));
		sb_adds(out, ",\"active_run_id\":");
		sb_add_json(out, row_str(rs, 2));
		sb_addf(out, ",\"active_run_type\":\"%.*s\",\"public_phase\":\"%s\"}", STR_ARG(row_str(rs, 3)), run_public_phase(row_str(rs, 4)));
	} else if (rows_next(idle) > 0) {
		active_print(out, row_str(idle, 0), false, row_int(idle, 1), row_str(idle, 2));
		sb_adds(out, ",\"active_run_id\":null,\"active_run_type\":null,\"public_phase\":null}");
	} else
		sb_adds(out, "null");
	sb_addc(out, '}');
	return failed(r->ctx) ? -1 : 0;
}

static int
active_run(struct request *r)
{
	struct sb out = sb_new(r->ctx->a);

	return rest_tx(r, DB_READ, active_run_load, &out) < 0 ? -1 : reply_data(r, sb_str(&out));
}

static const int errors_turn[] = { 404, 409, 429, 502, 503, 504, 0 };
static const int errors_read[] = { 404, 0 };

/* clang-format off */
const struct route api_turns_routes[] = {
	{ METHOD_POST, "/sessions/{id}/respond", respond, AUTH_ACCOUNT, .body = wire_turn_body, .answer = wire_turn_answer, .errors = errors_turn,
	  .flags = ROUTE_LONG, .tag = "chat", .summary = "One turn: send a message, get the committed reply" },
	{ METHOD_POST, "/sessions/{id}/respond/stream", respond_stream, AUTH_ACCOUNT, .body = wire_turn_body, .answer_kind = ANSWER_EVENTS,
	  .errors = errors_turn, .flags = ROUTE_LONG, .tag = "chat", .summary = "One turn as server-sent events" },
	{ METHOD_POST, "/sessions/{id}/respond/dry-run", dry_run, AUTH_ACCOUNT, .body = wire_dry_body, .answer = wire_dry_answer, .errors = errors_read,
	  .tag = "chat", .summary = "Assemble the prompt of a turn without sending or storing anything" },
	{ METHOD_GET, "/sessions/{id}/timeline", timeline, AUTH_ACCOUNT, .query = wire_timeline_query, .answer_kind = ANSWER_LIST,
	  .answer = wire_timeline_answer, .flags = ROUTE_LIST_OBJECT, .errors = errors_read, .tag = "sessions",
	  .summary = "Floors of a branch with their pages and messages" },
	{ METHOD_GET, "/sessions/{id}/active-run", active_run, AUTH_ACCOUNT, .answer = wire_active_answer, .errors = errors_read, .tag = "sessions",
	  .summary = "What is being generated now" },
	{ METHOD_GET, "/floors/{id}/run", floor_run, AUTH_ACCOUNT, .answer = wire_run_answer, .errors = errors_read, .tag = "floors",
	  .summary = "Progress of the floor's last run" },
	{ METHOD_GET, "/floors/{id}/result", floor_result, AUTH_ACCOUNT, .answer = wire_result_answer, .errors = errors_read, .tag = "floors",
	  .summary = "Result of a committed floor" },
	{ .path = NULL }
};
/* clang-format on */
