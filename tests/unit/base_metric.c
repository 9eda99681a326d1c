/* metric, trace. */
#include "base/metric.h"
#include "base/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct arena *a;
static char dir[] = "/tmp/tavern-metric-XXXXXX";

static int
setup(void **state)
{
	(void)state;
	a = arena_create("test", 0);
	return mkdtemp(dir) == NULL;
}

static int
teardown(void **state)
{
	(void)state;
	unlink(arena_printf(a, "%s/one.metrics", dir));
	unlink(arena_printf(a, "%s/bad.metrics", dir));
	rmdir(dir);
	arena_destroy(&a);
	return 0;
}

/* The value of a line "NAME VALUE" of the page; -1 = there is none. */
static long long
value(const char *page, const char *name)
{
	const char *at = strstr(page, arena_printf(a, "\n%s ", name));

	return at ? atoll(at + strlen(name) + 2) : -1;
}

static const char *
page(bool open)
{
	struct sb sb = sb_new(a);

	sb_addc(&sb, '\n');
	metrics_print(&sb, dir, NULL, 0, open);
	return sb_c(&sb);
}

static void
numbers_of_processes_are_added_up(void **state)
{
	const char *text;
	unsigned cell;
	pid_t pid;
	FILE *bad;

	(void)state;
	metric_add(METRIC_EVENTS_SENT, 1000); /* before there is a file: nobody's */
	assert_int_equal(metrics_create(dir, "one", 2), 0);
	metric_add(METRIC_TURNS_COMPLETED, 2);
	cell = metrics_reserve();
	assert_int_equal(cell, 1);
	pid = fork();
	if (pid == 0) {
		metrics_join(cell);
		metric_add(METRIC_TURNS_COMPLETED, 3);
		metric_add(METRIC_TURNS_ACTIVE, 1);
		metric_time(METRIC_TIME_TURN, 1000);
		metric_time(METRIC_TIME_TURN, 1001);
		metric_time(METRIC_TIME_TURN, 400000000);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	bad = fopen(arena_printf(a, "%s/bad.metrics", dir), "w"); /* of another version: not read */
	fputs("something else", bad);
	fclose(bad);
	text = page(true);
	assert_int_equal(value(text, "tavernd_turns_total{state=\"completed\"}"), 5);
	assert_int_equal(value(text, "tavernd_turns_active"), 1);
	assert_int_equal(value(text, "tavernd_events_sent_total"), 0);
	assert_int_equal(value(text, "tavernd_turn_seconds_bucket{le=\"0.0005\"}"), 0);
	assert_int_equal(value(text, "tavernd_turn_seconds_bucket{le=\"0.001\"}"), 1);
	assert_int_equal(value(text, "tavernd_turn_seconds_bucket{le=\"0.0025\"}"), 2);
	assert_int_equal(value(text, "tavernd_turn_seconds_bucket{le=\"+Inf\"}"), 3);
	assert_int_equal(value(text, "tavernd_turn_seconds_count"), 3);
	assert_non_null(strstr(text, "\ntavernd_turn_seconds_sum 400.002001\n"));
	assert_non_null(strstr(text, "\n# TYPE tavernd_turns counter\n"));
	assert_string_equal(text + strlen(text) - 6, "# EOF\n");
	metrics_retire(cell); /* counters stay, what was in hand is gone */
	text = page(false);
	assert_int_equal(value(text, "tavernd_turns_total{state=\"completed\"}"), 5);
	assert_int_equal(value(text, "tavernd_turn_seconds_count"), 3);
	assert_int_equal(value(text, "tavernd_turns_active"), 0);
	assert_non_null(strstr(text, "\n# TYPE tavernd_turns_total counter\n"));
	assert_null(strstr(text, "# EOF"));
	assert_int_equal(metrics_reserve(), 1); /* the cell is free again */
	assert_int_equal(metrics_reserve(), 2);
	assert_int_equal(metrics_reserve(), 0); /* none left: the program's own serves */
}

static void
a_trace_is_continued_or_begun(void **state)
{
	static const char *const none[] = { "", "00", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x", "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"00-00000000000000000000000000000000-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
		"00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", "00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"00-0af7651916cd43dd8448eb211c80319g-b7ad6b7169203331-01", "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01x" };
	const char *given = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", *p;

	(void)state;
	p = trace_parent(a, str_c(given));
	assert_int_equal(strlen(p), 55);
	assert_memory_equal(p, given, 36);
	assert_memory_not_equal(p + 36, given + 36, 16); /* a span of our own */
	assert_string_equal(p + 52, "-01");
	assert_true(str_is(trace_id(p), "0af7651916cd43dd8448eb211c80319c"));
	/* Of a later version what is known, of the flags the one that is known. */
	p = trace_parent(a, STR("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-fe-more"));
	assert_memory_equal(p, given, 36);
	assert_string_equal(p + 52, "-00");
	assert_string_equal(trace_parent(a, STR("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0b")) + 52, "-01");
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		p = trace_parent(a, str_c(none[i]));
		assert_int_equal(strlen(p), 55);
		assert_memory_not_equal(p, given, 36);
		assert_string_equal(p + 52, "-00");
		assert_string_not_equal(p, trace_parent(a, str_c(none[i])));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_of_processes_are_added_up),
		cmocka_unit_test(a_trace_is_continued_or_begun),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
