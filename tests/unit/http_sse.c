/* sse: the text of events, and ids that come back. */
#include "http/sse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct str
text_of(struct arena *a, struct stream_item it)
{
	struct sb s = sb_new(a);

	sse_add_item(&s, &it);
	return sb_str(&s);
}

static void
items_become_events(void **state)
{
	struct arena *a = arena_create("test", 0);
	struct sb ping = sb_new(a);

	(void)state;
	assert_string_equal(text_of(a, (struct stream_item){ .kind = STREAM_TEXT,
					   .data = STR("a\"\n\xE6\xBC\xA2"),
					   .after = { 1, 6, 2 } })
				.p,
	    "event: chunk\nid: 1.6.2\ndata: {\"chunk\":\"a\\\"\\n\xE6\xBC\xA2\"}\n\n");
	assert_string_equal(
	    text_of(
		a, (struct stream_item){ .kind = STREAM_REASONING, .data = STR("hm"), .after = { 0, 0, 2 } })
		.p,
	    "event: reasoning\nid: 0.0.2\ndata: {\"chunk\":\"hm\"}\n\n");
	assert_string_equal(text_of(a, (struct stream_item){ .kind = STREAM_EVENT,
					   .name = "done",
					   .data = STR("{\"a\":1}"),
					   .after = { 4294967295u, 1, 2 } })
				.p,
	    "event: done\nid: 4294967295.1.2\ndata: {\"a\":1}\n\n");
	/* Should an event's JSON have line breaks after all, no line of it can become a field of its own. */
	assert_string_equal(text_of(a, (struct stream_item){ .kind = STREAM_EVENT,
					   .name = "run",
					   .data = STR("{\nevent: x\r}"),
					   .after = { 1, 0, 0 } })
				.p,
	    "event: run\nid: 1.0.0\ndata: {\ndata: event: x\ndata: }\n\n");
	assert_string_equal(
	    text_of(a,
		(struct stream_item){
		    .kind = STREAM_EVENT, .name = "run", .data = STR(""), .after = { 1, 0, 0 } })
		.p,
	    "event: run\nid: 1.0.0\ndata: \n\n");
	/* With the label of its stream; the last event's id says that it was the last. */
	assert_string_equal(text_of(a, (struct stream_item){ .kind = STREAM_TEXT,
					   .data = STR("x"),
					   .label = "F:ab",
					   .after = { 1, 6, 2 } })
				.p,
	    "event: chunk\nid: F:ab.1.6.2\ndata: {\"chunk\":\"x\"}\n\n");
	assert_string_equal(text_of(a, (struct stream_item){ .kind = STREAM_EVENT,
					   .name = "done",
					   .data = STR("{}"),
					   .label = "F:ab",
					   .last = true,
					   .after = { 2, 6, 2 } })
				.p,
	    "event: done\nid: F:ab.end\ndata: {}\n\n");
	sse_add_ping(&ping);
	assert_string_equal(ping.p, ": ping\n\n");
	arena_destroy(&a);
}

static void
ids_are_read_back(void **state)
{
	static const char *const bad[] = { "", "1", "1.2", "1.2.3.4", "1.2.", ".1.2", "a.b.c", "-1.2.3",
		"1.2.4294967296", "1,2,3", "1.2.3 ", "01.2.3", "1.00.3", "99999999999999999999.0.0" };
	struct stream_pos p = { 9, 9, 9 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_false(sse_parse_id(str_c(bad[i]), &p));
		assert_int_equal(p.event, 9);
	}
	assert_false(sse_parse_id(STR_NULL, &p));
	assert_true(sse_parse_id(STR("7.1523.0"), &p));
	assert_int_equal(p.event, 7);
	assert_int_equal(p.text, 1523);
	assert_int_equal(p.reasoning, 0);
	assert_true(sse_parse_id(STR("0.0.4294967295"), &p));
	assert_int_equal(p.reasoning, UINT32_MAX);
}

static void
ids_belong_to_their_stream(void **state)
{
	static const char *const bad[] = { "F:ac.1.2.3", "F:ab", "F:ab.", "F:ab1.2.3", "F:ab.1.2", "F:ab.ended", "end", ".end", "" };
	struct str label = STR("F:ab");
	struct stream_pos p = { 9, 9, 9 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_false(sse_parse_id_of(label, str_c(bad[i]), &p));
		assert_int_equal(p.event, 9);
	}
	assert_false(sse_parse_id_of(STR_NULL, STR(".1.2.3"), &p));
	assert_false(sse_parse_id_of(STR_NULL, STR(".end"), &p));
	assert_true(sse_parse_id_of(label, STR("F:ab.1.2.3"), &p));
	assert_int_equal(p.text, 2);
	assert_true(sse_parse_id_of(label, STR("4.5.6"), &p)); /* a bare position is taken at its word */
	assert_int_equal(p.text, 5);
	assert_true(sse_parse_id_of(label, STR("F:ab.end"), &p));
	assert_int_equal(p.event, UINT32_MAX);
	assert_int_equal(p.reasoning, UINT32_MAX);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_become_events),
		cmocka_unit_test(ids_are_read_back),
		cmocka_unit_test(ids_belong_to_their_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
