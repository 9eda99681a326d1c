/* llm: the reader of event streams: line ends, marks, comments, fields, cuts anywhere, limits. */
#include "llm/sse_in.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

struct log {
	struct sb out;
	int events, stop_at;
};

static bool
on_event(void *arg, const struct sse_event *ev)
{
	struct log *l = arg;

	sb_addf(&l->out, "%.*s=%.*s;", STR_ARG(ev->name), STR_ARG(ev->data));
	return ++l->events != l->stop_at;
}

/* Reads `text` in pieces (the first of `first` bytes, then of `step`); the events as one text. */
static const char *
read_events(struct arena *a, struct str text, size_t first, size_t step)
{
	struct log l = { .out = sb_new(a) };
	struct sse_in in;

	sse_in_begin(&in, a, 1000);
	for (size_t at = 0, n = first; at < text.n; at += n, n = step)
		assert_int_equal(sse_in_feed(&in, str_sub(text, at, at + n), on_event, &l), 0);
	assert_int_equal(sse_in_end(&in, on_event, &l), 0);
	return sb_c(&l.out);
}

static void
check(const char *text, size_t n, const char *expected)
{
	struct str s = { text, n };

	for (size_t cut = 1; cut <= n + 1; cut++) {
		struct arena *a = arena_create("test", 0);

		assert_string_equal(read_events(a, s, cut > n ? 1 : cut, cut > n ? 1 : n), expected);
		arena_destroy(&a);
	}
}
#define CHECK(text, expected) check((text), sizeof(text) - 1, (expected))

static void
line_ends(void **state)
{
	(void)state;
	CHECK("data: a\n\ndata: b\n\n", "=a;=b;");
	CHECK("data: a\r\n\r\ndata: b\r\n\r\n", "=a;=b;");
	CHECK("data: a\r\rdata: b\r\r", "=a;=b;");
	CHECK("data: a\r\n\rdata: b\n\r\n", "=a;=b;");
	CHECK("data: a\r\n\n\r\rdata: b", "=a;=b;");
}

static void
fields(void **state)
{
	(void)state;
	CHECK("data:a\n\n", "=a;");
	CHECK("data:  a\n\n", "= a;");
	CHECK("event: x\ndata: a\ndata: b\nid: 7\nretry: 1\n\ndata: c\n\n", "x=a\nb;=c;");
	CHECK("data\ndata: a\n\n", "=\na;");
	CHECK("error: {\"a\":1}\n\n", "error={\"a\":1};");
	CHECK("dat: a\ndataa: b\ndata: c\n\n", "=c;");
	CHECK("data: a:b: c\n\n", "=a:b: c;");
}

static void
dropped(void **state)
{
	(void)state;
	CHECK(": comment\n\n:\n\ndata: a\n\n", "=a;");
	CHECK("event: ping\ndata:\n\ndata: a\n\n", "=a;");
	CHECK("event: ping\n\ndata: a\n\n", "=a;");
	CHECK("data:   \n\n", "");
	CHECK("", "");
	CHECK("\n\n\n", "");
}

static void
order_mark(void **state)
{
	(void)state;
	CHECK("\xef\xbb\xbf"
	      "data: a\n\n",
	    "=a;");
	CHECK("\xef\xbb\xbf\xef\xbb\xbf"
	      "data: a\n\ndata: b\n\n",
	    "=b;");
	CHECK("\xef\xbb"
	      "data: a\n\ndata: b\n\n",
	    "=b;");
	CHECK("data: a\n\n\xef\xbb\xbf"
	      "data: b\n\n",
	    "=a;");
	CHECK("\xef\xbb", "");
}

static void
unfinished(void **state)
{
	(void)state;
	CHECK("data: a", "=a;");
	CHECK("data: a\n", "=a;");
	CHECK("data: a\r", "=a;");
	CHECK("data: a\n\ndata: \xe4\xbd", "=a;=\xe4\xbd;");
}

static void
limits(void **state)
{
	struct arena *a = arena_create("test", 0);
	struct log l = { .out = sb_new(a) };
	struct sse_in in;

	(void)state;
	sse_in_begin(&in, a, 8);
	assert_int_equal(sse_in_feed(&in, STR("data: 12"), on_event, &l), 0);
	assert_int_equal(sse_in_feed(&in, STR("3"), on_event, &l), -1);
	assert_int_equal(sse_in_feed(&in, STR("\n\n"), on_event, &l), 0);
	assert_int_equal(l.events, 0);

	sse_in_begin(&in, a, 8); /* many short lines of one event */
	assert_int_equal(sse_in_feed(&in, STR("data:abc\ndata:def\ndata:ghi\n\n"), on_event, &l), -1);
	assert_int_equal(l.events, 0);
	arena_destroy(&a);
}

static void
stops_when_told(void **state)
{
	struct arena *a = arena_create("test", 0);
	struct log l = { .out = sb_new(a), .stop_at = 1 };
	struct sse_in in;

	(void)state;
	sse_in_begin(&in, a, 100);
	assert_int_equal(sse_in_feed(&in, STR("data: a\n\ndata: b\n\n"), on_event, &l), 0);
	assert_int_equal(sse_in_end(&in, on_event, &l), 0);
	assert_string_equal(sb_c(&l.out), "=a;");
	arena_destroy(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(line_ends),
		cmocka_unit_test(fields),
		cmocka_unit_test(dropped),
		cmocka_unit_test(order_mark),
		cmocka_unit_test(unfinished),
		cmocka_unit_test(limits),
		cmocka_unit_test(stops_when_told),
	};

	return cmocka_run_group_tests_name("llm_sse", tests, NULL, NULL);
}
