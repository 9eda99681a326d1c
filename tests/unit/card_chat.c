/* chats: lines, swipes, dates (case B07), exports. */
#include "card_help.h"

#include "card/chat_file.h"

static struct receipt notes;

static struct chat_reader
chat_ok(struct str text)
{
	struct import_error err = { 0 };
	struct chat_reader r;

	notes = (struct receipt){ .a = a };
	if (chat_open_text(a, text, &notes, &r, &err) < 0)
		fail_msg("refused: %s: %s", err.code, err.message);
	return r;
}

#define HEADER                                                                                               \
	"{\"user_name\":\"Al\",\"character_name\":\"Bo\",\"create_date\":\"x\",\"chat_metadata\":{\"note_"   \
	"prompt\":\"n\"}}\n"

static void
test_reading(void **state)
{
	struct chat_reader r = chat_ok(STR(HEADER
	    "{\"name\":\"Al\",\"is_user\":true,\"mes\":\"hi\",\"send_date\":\"2024-01-02T03:04:05Z\"}\r\n\n"
	    "not json\n{\"x\":1}\n[1]\n"
	    "{\"name\":\"Bo\",\"is_user\":false,\"is_system\":true,\"mes\":\"b\",\"swipes\":[\"a\",\"b\"],"
	    "\"swipe_id\":1,"
	    "\"swipe_info\":[{\"send_date\":1700000000000},null],\"extra\":{\"type\":\"narrator\"}}"));
	struct chat_message m;

	(void)state;
	same_str(r.header.user_name, "Al");
	same_str(r.header.character_name, "Bo");
	same_str(json_get_str(r.header.metadata, "note_prompt"), "n");
	assert_int_equal(chat_next(&r, a, &m), 1);
	assert_true(m.is_user && !m.is_hidden);
	assert_int_equal(m.line, 2);
	assert_int_equal(m.date, 1704164645000);
	assert_int_equal(m.n_swipes, 1);
	same_str(m.swipes[0].text, "hi");
	assert_int_equal(chat_next(&r, a, &m), 1);
	assert_true(m.is_hidden && m.is_narrator && !m.is_user);
	assert_int_equal(m.line, 7);
	assert_int_equal(m.active, 1);
	same_str(m.swipes[0].text, "a");
	assert_int_equal(m.swipes[0].date, 1700000000000);
	assert_int_equal(m.swipes[1].date, CHAT_NO_DATE);
	assert_int_equal(chat_next(&r, a, &m), 0);
	assert_int_equal(r.messages, 2);
	assert_int_equal(r.skipped, 3);
	assert_int_equal(r.swipes, 3);
	assert_true(receipt_has(&notes, "line_skipped"));
}

static void
test_swipes(void **state)
{
	static const struct {
		const char *line, *text;
		size_t n, active;
	} rows[] = {
		{ "{\"mes\":\"a\"}", "a", 1, 0 },
		{ "{\"mes\":\"a\",\"swipes\":[]}", "a", 1, 0 },
		{ "{\"mes\":\"edited\",\"swipes\":[\"a\",\"b\"],\"swipe_id\":1}", "edited", 2, 1 },
		{ "{\"mes\":\"b\",\"swipes\":[\"a\",\"b\"],\"swipe_id\":9}", "b", 2, 1 },
		{ "{\"mes\":\"c\",\"swipes\":[\"a\",\"b\"],\"swipe_id\":-1}", "c", 3, 2 },
		{ "{\"swipes\":[\"a\",\"b\"],\"swipe_id\":\"1\"}", "b", 2, 1 },
		{ "{\"mes\":null,\"swipes\":[\"a\"]}", "a", 1, 0 },
		{ "{\"mes\":{\"message\":\"chub\"},\"swipes\":[{\"message\":\"chub\"},{\"message\":\"two\"}]"
		  "}",
		    "chub", 2, 0 },
		{ "{\"mes\":5}", "5", 1, 0 },
		{ "{\"mes\":\"\"}", "", 1, 0 },
		{ "{\"mes\":{}}", "", 1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct chat_reader r = chat_ok(str_c(rows[i].line));
		struct chat_message m;

		assert_int_equal(chat_next(&r, a, &m), 1);
		same_str(m.text, rows[i].text);
		assert_int_equal(m.n_swipes, rows[i].n);
		assert_int_equal(m.active, rows[i].active);
		same_str(m.swipes[m.active].text, rows[i].text);
	}
}

static void
test_dates(void **state)
{
	static const struct {
		const char *text;
		int64_t ms;
	} rows[] = {
		{ "2024-01-02T03:04:05.678Z", 1704164645678 },
		{ "2024-01-02T03:04:05+08:00", 1704135845000 },
		{ "2024-01-02 03:04:05", 1704164645000 },
		{ "2024-01-02", 1704153600000 },
		{ "1700000000000", 1700000000000 },
		{ "1700000000", 1700000000000 },
		{ "1700000000123.5", 1700000000123 },
		{ "June 19, 2023 2:20pm", 1687184400000 },
		{ "Jun 19, 2023 12:05 AM", 1687133100000 },
		{ "19 June 2023 14:20", 1687184400000 },
		{ "2023-6-19@14h20m30s", 1687184430000 },
		{ "2023-6-19 @14h 20m 30s 123ms", 1687184430123 },
		{ "2999-12-31T23:59:59Z", 32503679999000 },
	};
	static const char *const bad[] = { "", "yesterday", "2023-13-01", "2023-02-40", "June 2023", "25:00",
		"2023-6-19@", "-5", "0", "2024-01-02T25:00:00Z", "2024-01-02T03:04:05 and more",
		"99999999999999999999" };
	int64_t ms;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!chat_date(str_c(rows[i].text), &ms) || ms != rows[i].ms)
			fail_msg(
			    "%s: %lld, expected %lld", rows[i].text, (long long)ms, (long long)rows[i].ms);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (chat_date(str_c(bad[i]), &ms))
			fail_msg("%s read as %lld", bad[i], (long long)ms);
}

/* Order is file order whatever the dates say; what cannot be read is kept as written. */
static void
test_order(void **state)
{
	struct chat_reader r = chat_ok(
	    STR("{\"mes\":\"0\",\"send_date\":\"2030-01-01\"}\n{\"mes\":\"1\",\"send_date\":\"in spring\"}\n"
		"{\"mes\":\"2\"}\n{\"mes\":\"3\",\"send_date\":1}\n{\"mes\":\"4\",\"send_date\":1}"));
	struct chat_message m;
	struct sb out = sb_new(a);

	(void)state;
	for (int i = 0; i < 5; i++) {
		assert_int_equal(chat_next(&r, a, &m), 1);
		assert_int_equal(m.text.p[0], '0' + i);
		if (i == 1) {
			same_str(m.raw_date, "in spring");
			assert_int_equal(m.date, CHAT_NO_DATE);
			chat_write_message(&out, a, &m);
			assert_non_null(strstr(sb_c(&out), "in spring"));
		}
	}
	assert_null(r.header.doc);
}

static void
test_refused(void **state)
{
	static const struct {
		const char *text, *code;
	} rows[] = { { "", "chat_empty" }, { " \n\n ", "chat_empty" }, { "hello\nworld", "not_a_chat" },
		{ "{\"entries\":{}}", "not_a_chat" }, { "[{\"mes\":\"x\"}]", "not_a_chat" } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct import_error err = { 0 };
		struct chat_reader r;

		assert_int_equal(chat_open_text(a, str_c(rows[i].text), NULL, &r, &err), -1);
		assert_string_equal(err.code, rows[i].code);
	}
}

/* Out and in again: every line equal, unknown members included. */
static void
test_fixed_point(void **state)
{
	struct str text = STR(HEADER "{\"name\":\"Al\",\"is_user\":true,\"is_system\":false,\"mes\":\"hi\","
				     "\"send_date\":\"June 19, 2023 2:20pm\","
				     "\"odd\":9007199254740993}\n"
				     "{\"name\":\"Bo\",\"is_user\":false,\"is_system\":false,\"mes\":\"b\","
				     "\"swipes\":[\"a\",\"b\"],\"swipe_id\":1,"
				     "\"swipe_info\":[{\"x\":1},{\"y\":2.50}],\"extra\":{\"z\":[]}}\n");
	struct chat_reader r = chat_ok(text);
	struct sb out = sb_new(a);
	struct chat_message m;

	(void)state;
	chat_write_header(&out, a, &r.header);
	while (chat_next(&r, a, &m) > 0)
		chat_write_message(&out, a, &m);
	assert_string_equal(sb_c(&out), text.p);
}

/* Made here, not imported: the reference's line. */
static void
test_new_line(void **state)
{
	struct chat_swipe swipes[] = { { .text = STR("one") }, { .text = STR("two") } };
	struct chat_message m = { .name = STR("greeting"),
		.text = STR("two"),
		.date = 1796041864216,
		.swipes = swipes,
		.n_swipes = 2,
		.active = 1 };
	struct chat_header h = { .user_name = STR("U"), .character_name = STR("K") };
	struct sb out = sb_new(a);

	(void)state;
	chat_write_header(&out, a, &h);
	chat_write_message(&out, a, &m);
	assert_string_equal(sb_c(&out),
	    "{\"user_name\":\"U\",\"character_name\":\"K\",\"chat_metadata\":{}}\n"
	    "{\"name\":\"greeting\",\"is_user\":false,\"is_system\":false,\"mes\":\"two\",\"send_date\":"
	    "1796041864216,"
	    "\"swipes\":[\"one\",\"two\"],\"swipe_id\":1}\n");
}

/* Memory does not grow with the chat when the caller rewinds. */
static void
test_streaming(void **state)
{
	struct str text = times(
	    "{\"name\":\"Al\",\"is_user\":true,\"mes\":\"hello there, this is one line of many\"}\n", 20000);
	struct arena *mine = arena_create("lines", 0);
	struct chat_reader r;
	struct chat_message m;
	size_t n = 0;

	(void)state;
	assert_int_equal(chat_open_text(a, text, NULL, &r, NULL), 0);
	for (;;) {
		struct arena_mark mark = arena_mark(mine);

		if (chat_next(&r, mine, &m) == 0)
			break;
		n++;
		arena_rewind(mine, mark);
	}
	assert_int_equal(n, 20000);
	assert_true(arena_bytes(mine) < 1 << 20);
	arena_destroy(&mine);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reading),
		cmocka_unit_test(test_swipes),
		cmocka_unit_test(test_dates),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_fixed_point),
		cmocka_unit_test(test_new_line),
		cmocka_unit_test(test_streaming),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
