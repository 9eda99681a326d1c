/*
 * runs: what can be seen of a turn besides its answer: the floor's last run, its result, and what
 * a session is generating now.
 */
#include "api/rest.h"
#include "api/tables.h"
#include "api/wire.h"
#include "turn/turn.h"

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

static const int errors_read[] = { 404, 0 };

/* clang-format off */
const struct route api_runs_routes[] = {
	{ METHOD_GET, "/sessions/{id}/active-run", active_run, AUTH_ACCOUNT, .answer = wire_active_answer, .errors = errors_read, .tag = "sessions",
	  .summary = "What is being generated now" },
	{ METHOD_GET, "/floors/{id}/run", floor_run, AUTH_ACCOUNT, .answer = wire_run_answer, .errors = errors_read, .tag = "floors",
	  .summary = "Progress of the floor's last run" },
	{ METHOD_GET, "/floors/{id}/result", floor_result, AUTH_ACCOUNT, .answer = wire_result_answer, .errors = errors_read, .tag = "floors",
	  .summary = "Result of a committed floor" },
	{ .path = NULL }
};
/* clang-format on */
