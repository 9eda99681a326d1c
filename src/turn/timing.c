/*
 * timing: where the time of a turn goes: a mark at the end of each stage, which becomes a number of /metrics
 * and a bar of the waterfall in the trace.
 */
#include "turn/turn_private.h"

#include "base/metric.h"

static const struct {
	const char *name;
	enum metric_time time;
} stages[MARK__COUNT] = {
	[MARK_ADMITTED] = { "wait", METRIC_TIME_TURN_WAIT },
	[MARK_GATHERED] = { "gather", METRIC_TIME_GATHER },
	[MARK_ASSEMBLED] = { "assemble", METRIC_TIME_ASSEMBLY },
	[MARK_OPENED] = { "open", METRIC_TIME_OPEN },
	[MARK_HEARD] = { "first_text", METRIC_TIME_FIRST_TOKEN },
	[MARK_SAID] = { "model", METRIC_TIME_MODEL },
	[MARK_COMMITTED] = { "commit", METRIC_TIME_COMMIT },
};

/* Where the stage began: the stages follow each other, but the model is asked at the same time as its first text is waited for. */
static int64_t
began_us(const struct turn *t, enum turn_mark m)
{
	for (int i = (int)(m == MARK_SAID ? MARK_HEARD : m) - 1; i >= 0; i--)
		if (t->mark_us[i] != 0)
			return t->mark_us[i];
	return t->began_us;
}

void
turn_mark(struct turn *t, enum turn_mark m)
{
	int64_t now = tm_mono_us();

	t->mark_us[m] = now;
	if (t->dry)
		return;
	metric_time(stages[m].time, now - (m == MARK_HEARD ? t->began_us : began_us(t, m)));
	if (m == MARK_ASSEMBLED) {
		metric_time(METRIC_TIME_LORE, t->prompt->spent.lore_us);
		metric_time(METRIC_TIME_REGEX, t->prompt->spent.regex_us);
	}
	if (m == MARK_COMMITTED)
		metric_time(METRIC_TIME_TURN, now - t->began_us);
}

static void
bar_push(struct json *list, const char *stage, int64_t start_us, int64_t us)
{
	struct json *o = json_push_object(list);

	json_set_c(o, "stage", stage);
	json_set_double(o, "start_ms", (double)start_us / 1000);
	json_set_double(o, "ms", (double)us / 1000);
}

struct json *
turn_timing_json(const struct turn *t)
{
	struct json *o = json_object(t->c->a), *list;

	if (t->c->trace)
		json_set_c(o, "traceparent", t->c->trace);
	list = json_set_array(o, "stages");
	for (enum turn_mark m = 0; m < MARK__COUNT; m++) {
		int64_t from = began_us(t, m);

		if (t->mark_us[m] == 0)
			continue;
		bar_push(list, stages[m].name, from - t->began_us, t->mark_us[m] - from);
		if (m != MARK_ASSEMBLED)
			continue;
		bar_push(list, "assemble.lore", from - t->began_us, t->prompt->spent.lore_us);
		bar_push(list, "assemble.regex", from - t->began_us, t->prompt->spent.regex_us);
	}
	return o;
}
