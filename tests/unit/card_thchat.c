/* .thchat and SillyTavern's lines as floors: what is read, what is refused, what is written again. */
#include "card_help.h"

#include "card/chat.h"

#define WRAP(floors)                                                                                         \
	"{\"spec\":\"tavern_headless_chat\",\"spec_version\":\"1.1.0\",\"data\":{\"title\":\"T\","           \
	"\"floors\":" floors ",\"odd\":[1]}}"

static const char floor_text[] =
    "{\"floor_no\":0,\"branch_id\":\"main\",\"parent_floor_id_ref\":null,\"state\":\"committed\",\"token_"
    "in\":1,\"token_out\":2,"
    "\"superseded_at\":null,\"superseded_by_floor_id_ref\":null,\"created_at\":5,\"updated_at\":6,\"_"
    "original_id\":\"f\",\"pages\":["
    "{\"page_no\":0,\"page_kind\":\"output\",\"is_active\":true,\"version\":1,\"checksum\":null,\"created_"
    "at\":5,\"updated_at\":6,\"_original_id\":\"p\","
    "\"messages\":[{\"seq\":0,\"role\":\"assistant\",\"content\":\"a "
    "\\\"b\\\"\",\"content_format\":\"text\",\"is_hidden\":false,\"source\":\"greeting\","
    "\"created_at\":7,\"_original_id\":\"m\",\"new\\\"key\":1.50,\"tavernd\":{\"name\":\"N\",\"sent\":\"S\","
    "\"origin\":{\"raw\":\"R\"}}}],"
    "\"extra\":{\"x\":1},\"tavernd\":{\"state\":\"failed\",\"reasoning\":\"hm\",\"usage\":{\"in\":1}}}],"
    "\"metadata\":{\"k\":1},\"tavernd\":{\"segment\":3}}";

static void
test_fixed_point(void **state)
{
	struct import_error err = { 0 };
	struct thchat t;
	struct chat_floor f;
	struct sb out = sb_new(a);

	(void)state;
	assert_int_equal(thchat_open_text(a, str_c(arena_printf(a, WRAP("[%s]"), floor_text)), &t, &err), 0);
	same_str(json_get_str(t.data, "title"), "T");
	assert_null(t.own);
	assert_int_equal(thchat_next(a, &t, &f, &err), 1);
	assert_int_equal(f.segment, 3);
	assert_int_equal(f.superseded_at, CHAT_NO_DATE);
	same_str(f.pages[0].reasoning, "hm");
	same_str(f.pages[0].said[0].sent, "S");
	thchat_write_floor(&out, a, &f);
	assert_string_equal(sb_c(&out), floor_text);
	assert_int_equal(thchat_next(a, &t, &f, &err), 0);
}

static void
test_refused(void **state)
{
	static const struct {
		const char *text, *code;
	} rows[] = {
		{ "", "invalid_json" },
		{ "{\"spec\":\"tavern_headless_chat\",\"spec_version\":\"1.0.0\",\"data\":{\"floors\":[]}",
		    "invalid_json" },
		{ "{\"spec\":\"tavern_headless_chat\",\"spec_version\":\"1.0.0\",\"data\":{\"floors\":[]}}}",
		    "invalid_json" },
		{ "{\"spec\":\"tavern_headless_chat\",\"spec_version\":\"2.0.0\",\"data\":{\"floors\":[]}}",
		    "import_unsupported_version" },
		{ "{\"spec\":\"tavern_headless_chat\",\"spec_version\":\"1.0.0\",\"data\":{}}",
		    "not_a_chat" },
		{ "{\"spec\":\"tavern_headless_chat\",\"spec_version\":\"1.0.0\"}", "invalid_json" },
		{ "{\"spec\":\"other\",\"spec_version\":\"1.0.0\",\"data\":{\"floors\":[]}}", "not_a_chat" },
		{ "{\"spec\":\"tavern_headless_chat\",\"spec_version\":\"1.0.0\",\"data\":{\"floors\":[],"
		  "\"title\":tru}}",
		    "invalid_json" },
	};
	struct import_error err;
	struct thchat t;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		err = (struct import_error){ 0 };
		assert_int_equal(thchat_open_text(a, str_c(rows[i].text), &t, &err), -1);
		assert_string_equal(err.code, rows[i].code);
	}
}

static void
test_bad_floor(void **state)
{
	static const char *const bad[] = { WRAP("[7]"), WRAP("[{\"a\":}]"), WRAP("[{}{}]") };
	struct chat_floor f;
	struct thchat t;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct import_error err = { 0 };
		int rc;

		assert_int_equal(thchat_open_text(a, str_c(bad[i]), &t, &err), 0);
		while ((rc = thchat_next(a, &t, &f, &err)) > 0)
			;
		assert_int_equal(rc, -1);
		assert_non_null(err.code);
	}
}

static void
test_lines(void **state)
{
	struct str text =
	    STR("{\"user_name\":\"unused\",\"character_name\":\"unused\",\"chat_metadata\":{}}\n"
		"{\"name\":\"B\",\"is_user\":false,\"is_system\":false,\"mes\":\"g1\",\"swipes\":[\"g1\","
		"\"g2\"],\"swipe_id\":0}\n"
		"{\"name\":\"A\",\"is_user\":true,\"is_system\":false,\"mes\":\"u\",\"x\":1}\n"
		"{\"name\":\"B\",\"is_user\":false,\"is_system\":false,\"mes\":\"r\",\"send_date\":\"old\"}\n"
		"{\"name\":\"C\",\"is_user\":false,\"is_system\":true,\"mes\":\"h\"}\n"
		"{\"name\":\"A\",\"is_user\":true,\"is_system\":false,\"mes\":\"last\"}\n");
	static const size_t pages[] = { 2, 2, 1, 1 };
	struct import_error err = { 0 };
	struct chat_reader r;
	struct chat_names names;
	struct chat_floor f;
	struct sb out = sb_new(a);
	size_t n = 0;

	(void)state;
	assert_int_equal(chat_open_text(a, text, NULL, &r, &err), 0);
	names = chat_names(a, &r);
	same_str(names.user, "A");
	same_str(names.character, "B");
	chat_write_header(&out, a, &r.header);
	while (chat_next_floor(&r, a, &f) > 0) {
		assert_int_equal(f.n, pages[n++]);
		chat_write_floor(&out, a, &f, &names);
	}
	assert_int_equal(n, 4);
	assert_int_equal(r.messages, 5);
	assert_string_equal(sb_c(&out), text.p);
}

/* A text that comes in pieces of a few bytes. */
struct dripping {
	struct str text;
	size_t drop;
	int64_t fails_at; /* -1 = never */
};

static int64_t
drip(void *arg, int64_t at, char *to)
{
	const struct dripping *d = arg;
	struct str s = str_sub(d->text, (size_t)at, (size_t)at + d->drop);

	if (d->fails_at >= 0 && at >= d->fails_at)
		return -1;
	memcpy(to, s.p, s.n);
	return (int64_t)s.n;
}

static struct pieces
dripping(struct dripping *d)
{
	return (struct pieces){ .size = (int64_t)d->text.n, .fetch = drip, .arg = d, .keep = a };
}

static struct str
floors_again(struct pieces *text, size_t *n)
{
	struct import_error err = { 0 };
	struct sb out = sb_new(a);
	struct chat_floor f;
	struct thchat t;

	*n = 0;
	if (thchat_open(a, text, &t, &err) < 0)
		return STR_NULL;
	while (thchat_next(a, &t, &f, &err) > 0) {
		thchat_write_floor(&out, a, &f);
		++*n;
	}
	return sb_str(&out);
}

static void
test_pieces(void **state)
{
	struct sb floors = sb_new(a), lines = sb_new(a);
	size_t n;

	(void)state;
	for (int i = 0; i < 40; i++) {
		sb_addf(&floors, "%s%s", i ? " ,\n" : "", floor_text);
		sb_addf(&lines, "{\"name\":\"B\",\"is_user\":%s,\"mes\":\"%d\"}\n%s",
		    i % 2 ? "true" : "false", i, i % 3 ? "" : "\n");
	}
	for (size_t drop = 1; drop < 5000; drop = drop * 3 + 1) {
		struct dripping d = { str_c(arena_printf(a, " " WRAP("[%s]"), sb_c(&floors))), drop, -1 };
		struct pieces whole = pieces_of(d.text), text = dripping(&d);
		struct import_error err = { 0 };
		struct chat_reader r;
		struct chat_floor f;
		struct str want = floors_again(&whole, &n), got = floors_again(&text, &n);

		assert_int_equal(n, 40);
		assert_true(str_eq(got, want));
		d.fails_at = (int64_t)d.text.n / 2;
		text = dripping(&d);
		assert_null(floors_again(&text, &n).p);
		assert_true(text.failed);
		d = (struct dripping){ sb_str(&lines), drop, -1 };
		text = dripping(&d);
		assert_int_equal(chat_open(a, &text, NULL, &r, &err), 0);
		for (n = 0; chat_next_floor(&r, a, &f) > 0; n++)
			continue;
		assert_int_equal(n, 21); /* a first line of the character's, a last one of the user's */
		assert_int_equal(r.messages, 40);
		assert_int_equal(r.line, 54);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fixed_point),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_bad_floor),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_pieces),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
