/*
 * metrics: GET /metrics for the operator's Prometheus: what all programs of this host have counted, and the levels that
 * only the database knows. It names no account and no session; still, only this host and the addresses of
 * `metrics_allow` may read it.
 */
#include "base/metric.h"

#include "api/app.h"
#include "api/tables.h"

enum { LEVEL_QUEUED, LEVEL_RUNNING, LEVEL_JOB_WAIT, LEVEL_RUNS, LEVEL__COUNT };

static bool
may_read(const struct request *r)
{
	const char *const *allow = (const char *const *)app_of(r)->set->metrics_allow;

	for (; allow && *allow; allow++)
		if (str_is(r->remote_addr, *allow))
			return true;
	return auth_is_loopback(r->remote_addr);
}

static int
levels_load(struct ctx *c, void *arg)
{
	struct metric_sample *samples = arg;
	struct rows *rs = db_query(c, STMT_metric_levels, P_INT(c->now));

	if (rows_next(rs) <= 0)
		return -1;
	for (int i = 0; i < LEVEL__COUNT; i++)
		samples[i].value = row_int(rs, i);
	return 0;
}

static int
metrics(struct request *r)
{
	struct metric_sample samples[] = {
		[LEVEL_QUEUED] = { .name = "jobs", .labels = "state=\"queued\"", .help = "Background jobs in the database." },
		[LEVEL_RUNNING] = { .name = "jobs", .labels = "state=\"running\"" },
		[LEVEL_JOB_WAIT] = { .name = "job_wait_seconds", .help = "How long the oldest queued job has been due." },
		[LEVEL_RUNS] = { .name = "runs", .help = "Generations that the database holds for running, on all hosts." },
	};
	struct app *app = app_of(r);
	bool open = str_find(req_header(r, "accept"), STR("application/openmetrics-text"), 0) != STR_NPOS;
	struct ctx sys = { .a = r->ctx->a, .db = app->db_sys, .now = r->ctx->now };
	struct sb out = sb_new(r->ctx->a);
	bool known;

	if (!may_read(r))
		return fail(r->ctx, ERR_FORBIDDEN, "metrics_forbidden", "metrics are for this host; an operator may add addresses to metrics_allow");
	known = db_tx(&sys, DB_SYSTEM, levels_load, samples) == 0; /* without a database the rest is wanted all the more */
	metrics_print(&out, app->set->listen_dir, samples, known ? LEVEL__COUNT : 0, open);
	return reply_bare(r, 200,
	    open ? "application/openmetrics-text; version=1.0.0; charset=utf-8" : "text/plain; version=0.0.4; charset=utf-8", sb_str(&out));
}

static const int errors_metrics[] = { 403, 0 };

/* clang-format off */
const struct route api_metrics_routes[] = {
	{ METHOD_GET, "/metrics", metrics, AUTH_PUBLIC, .answer_kind = ANSWER_FILE, .errors = errors_metrics, .tag = "system",
	  .summary = "Counters and times of this host as OpenMetrics" },
	{ .path = NULL }
};
/* clang-format on */
