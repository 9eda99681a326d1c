/*
 * builtin_time: clock macros. The clock is one reading per run; with time awareness off all of
 * them are empty (run_row sees to that).
 */
#include "macro/macro_private.h"
#include "macro/time_format.h"

static struct str
format(struct ev *ev, const char *fmt)
{
	return time_format(ev->r->a, ev->r->env->zone, ev->r->env->now, str_c(fmt));
}

/* UTC+2, UTC-90: below 16 hours, else minutes. */
static bool
utc_offset(struct str s, int64_t *minutes)
{
	int64_t n;
	struct str digits = str_sub(s, 4, s.n);

	s = js_trim(s);
	if (s.n < 5 || !str_ieq(str_sub(s, 0, 3), STR("UTC")) || (s.p[3] != '+' && s.p[3] != '-') ||
	    !str_int(digits, &n) || digits.p[0] == '-' || digits.p[0] == '+' || n > 24 * 60)
		return false;
	*minutes = (n < 16 ? n * 60 : n) * (s.p[3] == '-' ? -1 : 1);
	return true;
}

static enum nv
fn_time(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	int64_t minutes;

	if (n->argc && utc_offset(argv[0], &minutes))
		*out = time_format(ev->r->a, NULL, ev->r->env->now + minutes * 60000, STR("h:mm A"));
	else
		*out = format(ev, "h:mm A");
	return NV_OK;
}

static enum nv
fn_date(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	(void)n;
	(void)argv;
	*out = format(ev, "MMMM D, YYYY");
	return NV_OK;
}

static enum nv
fn_weekday(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	(void)n;
	(void)argv;
	*out = format(ev, "dddd");
	return NV_OK;
}

static enum nv
fn_isotime(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	(void)n;
	(void)argv;
	*out = format(ev, "HH:mm");
	return NV_OK;
}

static enum nv
fn_isodate(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	(void)n;
	(void)argv;
	*out = format(ev, "YYYY-MM-DD");
	return NV_OK;
}

static enum nv
fn_datetime(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	(void)n;
	(void)argv;
	*out = format(ev, "YYYY-MM-DDTHH:mm:ss");
	return NV_OK;
}

static enum nv
fn_timezone(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	(void)n;
	(void)argv;
	*out = format(ev, "z");
	return NV_OK;
}

static enum nv
fn_format(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	(void)n;
	*out = time_format(ev->r->a, ev->r->env->zone, ev->r->env->now, argv[0]);
	return NV_OK;
}

/* How the first date lies to the second: "3 hours ago", "in 2 days". */
static enum nv
fn_diff(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	const struct tm_zone *zone = ev->r->env->zone;
	int64_t a, b;
	struct str span;

	if (!time_parse(zone, js_trim(argv[0]), &a) || !time_parse(zone, js_trim(argv[1]), &b))
		return eval_refuse(ev, n, argv, MACRO_W_TYPE, out);
	span = time_span(ev->r->a, (double)(a - b));
	*out = str_c(arena_printf(ev->r->a, a > b ? "in %.*s" : "%.*s ago", STR_ARG(span)));
	return NV_OK;
}

static enum nv
fn_idle(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	(void)n;
	(void)argv;
	*out = ev->r->env->idle_ms < 0 ? STR("just now") : time_span(ev->r->a, (double)ev->r->env->idle_ms);
	return NV_OK;
}

#define T ROW_TIME
#define ALL DIALECTS_ALL
#define EARLY "changes the prompt every time: put it after the history"

// clang-format off
static const struct row rows[] = {
	{ "time", "", fn_time, 0, 1, ARGS_REST, MF_NONE, T, ALL, "[::UTC+n]", "time", "the time: 3:04 PM; also {{time_UTC+2}}", EARLY },
	{ "date", "", fn_date, 0, 0, ARGS_REST, MF_NONE, T, ALL, "", "time", "the date: February 9, 2024", "changes the prompt every day" },
	{ "weekday", "", fn_weekday, 0, 0, ARGS_REST, MF_NONE, T, ALL, "", "time", "the day: Friday", "changes the prompt every day" },
	{ "isotime", "", fn_isotime, 0, 0, ARGS_REST, MF_NONE, T, ALL, "", "time", "the time: 15:04", EARLY },
	{ "isodate", "", fn_isodate, 0, 0, ARGS_REST, MF_NONE, T, ALL, "", "time", "the date: 2024-02-09", "changes the prompt every day" },
	{ "datetime", "", fn_datetime, 0, 0, ARGS_REST, MF_NONE, T, DIALECT_MAR, "", "time", "date and time: 2024-02-09T15:04:05", EARLY },
	{ "timezone", "", fn_timezone, 0, 0, ARGS_REST, MF_NONE, T, DIALECT_MAR, "", "time", "the time zone", NULL },
	{ "datetimeformat", "", fn_format, 1, 1, ARGS_REST, MF_NONE, T, ALL, " format", "time",
	    "date and time by tokens: YYYY-MM-DD HH:mm, dddd, Do MMMM", EARLY },
	{ "timeDiff", "", fn_diff, 2, 2, ARGS_PAGE, MF_NONE, 0, ALL, "::date::date", "time",
	    "how the first date lies to the second: 3 hours ago", NULL },
	{ "idle_duration", "idleDuration", fn_idle, 0, 0, ARGS_REST, MF_NONE, T, ALL, "", "time",
	    "since the user message before the newest message: an hour", EARLY },
};
// clang-format on

const struct row_table builtin_time = { rows, sizeof(rows) / sizeof(rows[0]) };
