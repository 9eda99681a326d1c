/* json: what is read, what is refused, what is printed, raw slices, building. */
#include "base/json.h"
#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct arena *a;

static int
setup(void **state)
{
	(void)state;
	a = arena_create("test", 0);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	arena_destroy(&a);
	return 0;
}

static struct json *
read_ok(struct str text)
{
	struct json_error e;
	struct json *j = json_read(a, text, 128, &e);

	if (e.what)
		fail_msg("%.*s refused: %s at %zu", STR_ARG(text), e.what, e.offset);
	return j;
}

static const char *
echo(struct str text)
{
	return json_text(a, read_ok(text)).p;
}

/* Text in, text out; out NULL means the same. */
static const struct {
	const char *in, *out;
} accepted[] = {
	{ "null", NULL },
	{ " \t\r\n true ", "true" },
	{ "false", NULL },
	{ "0", NULL },
	{ "-0", NULL },
	{ "-1", NULL },
	{ "1.0", NULL },
	{ "0.1", NULL },
	{ "1e3", NULL },
	{ "1E+3", NULL },
	{ "1.50e-07", NULL },
	{ "1e400", NULL },
	{ "-1e400", NULL },
	{ "1e-400", NULL },
	{ "9007199254740993", NULL },
	{ "9223372036854775807", NULL },
	{ "-9223372036854775808", NULL },
	{ "9223372036854775808", NULL },
	{ "18446744073709551615", NULL },
	{ "18446744073709551616", NULL },
	{ "123456789012345678901234567890", NULL },
	{ "\"\"", NULL },
	{ "\"a/b\\/c\"", "\"a/b/c\"" },
	{ "\"\\u00e9\\u4e2d\\ud83d\\ude00\"", "\"\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80\"" },
	{ "\"\\ud83d\"", "\"\xef\xbf\xbd\"" },
	{ "\"\\ude00x\"", "\"\xef\xbf\xbdx\"" },
	{ "\"\\ud83d\\ud83d\\ude00\"", "\"\xef\xbf\xbd\xf0\x9f\x98\x80\"" },
	{ "\"\\ud83d\\n\"", "\"\xef\xbf\xbd\\n\"" },
	{ "\"\\ud83d\\u0041\"", "\"\xef\xbf\xbd"
				"A\"" },
	{ "\"a\\u0000b\"", "\"ab\"" },
	{ "\"\\\\u0000\"", NULL },
	{ "\"\\b\\f\\n\\r\\t\\u001f\\\"\\\\\"", NULL },
	{ "\"\x7f\xef\xbf\xbd\"", NULL },
	{ "[]", NULL },
	{ "{}", NULL },
	{ "[ 1 , [ ] , { } ]", "[1,[],{}]" },
	{ "{\"a\":1,\"b\":null,\"a\":2}", "{\"a\":2,\"b\":null}" },
	{ "{\"\":1,\"\\u0061\":2}", "{\"\":1,\"a\":2}" },
	{ "{\"z\":1,\"1\":2,\"a\":3}", NULL },
};

static void
test_accepted(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(accepted) / sizeof(accepted[0]); i++) {
		const char *want = accepted[i].out ? accepted[i].out : accepted[i].in;
		const char *got = echo(str_c(accepted[i].in));

		assert_string_equal(got, want);
		assert_string_equal(echo(str_c(got)), want); /* printing is a fixed point */
	}
}

static const struct {
	const char *in;
	size_t offset;
} refused[] = {
	{ "", 0 },
	{ "  ", 2 },
	{ "NaN", 0 },
	{ "Infinity", 0 },
	{ "-Infinity", 1 },
	{ "-", 1 },
	{ "+1", 0 },
	{ "01", 1 },
	{ "-01", 2 },
	{ "1.", 2 },
	{ ".5", 0 },
	{ "1e", 2 },
	{ "1e+", 3 },
	{ "0x10", 1 },
	{ "tru", 0 },
	{ "TRUE", 0 },
	{ "nullx", 4 },
	{ "1 2", 2 },
	{ "{} x", 3 },
	{ "[1,]", 3 },
	{ "[,1]", 1 },
	{ "[1 2]", 3 },
	{ "[1", 2 },
	{ "[1}", 2 },
	{ "{\"a\":1,}", 7 },
	{ "{\"a\"}", 4 },
	{ "{\"a\" 1}", 5 },
	{ "{a:1}", 1 },
	{ "{'a':1}", 1 },
	{ "{1:1}", 1 },
	{ "{", 1 },
	{ "{\"a\":", 5 },
	{ "'a'", 0 },
	{ "\"a", 2 },
	{ "\"a\nb\"", 2 },
	{ "\"\x1f\"", 1 },
	{ "\"\\x\"", 2 },
	{ "\"\\u12g4\"", 5 },
	{ "\"\\u12", 5 },
	{ "\"\\", 2 },
	{ "\"\\ud83d\\u12g4\"", 11 },
	{ "{\"a\\u0000b\":1}", 3 },
	{ "\"\xff\"", 1 },
	{ "\"\xc0\xaf\"", 1 },
	{ "\"\xed\xa0\x80\"", 1 },
	{ "\"\xf4\x90\x80\x80\"", 1 },
	{ "\"\xe4\xb8\"", 1 },
	{ "\xef\xbb\xbf{}", 0 },
	{ "// c\n1", 0 },
	{ "/* c */1", 0 },
};

static void
test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct json_error e;

		assert_null(json_read(a, str_c(refused[i].in), 128, &e));
		if (!e.what)
			fail_msg("%s accepted", refused[i].in);
		if (e.offset != refused[i].offset)
			fail_msg("%s: fault (%s) at %zu", refused[i].in, e.what, e.offset);
	}
}

static void
test_nul_byte_is_refused(void **state)
{
	const struct str texts[] = { STR("1\0"), STR("\"a\0b\""), STR("\0"), STR("[\0]"), STR("\"\\\0\"") };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct json_error e;

		assert_null(json_read(a, texts[i], 128, &e));
		assert_non_null(e.what);
	}
}

static struct str
nested(int depth, const char *open, const char *inside, const char *close)
{
	struct sb s = sb_new(a);

	for (int i = 0; i < depth; i++)
		sb_adds(&s, open);
	sb_adds(&s, inside);
	for (int i = 0; i < depth; i++)
		sb_adds(&s, close);
	return sb_str(&s);
}

static void
test_depth(void **state)
{
	struct json_error e;

	(void)state;
	assert_non_null(json_read(a, nested(128, "[", "", "]"), 128, &e));
	assert_null(json_read(a, nested(129, "[", "", "]"), 128, &e));
	assert_string_equal(e.what, "nested too deep");
	assert_int_equal(e.offset, 128);
	assert_non_null(json_read(a, nested(128, "{\"a\":", "1", "}"), 128, &e));
	assert_null(json_read(a, nested(129, "{\"a\":", "1", "}"), 128, &e));
	assert_non_null(json_read(a, STR("7"), 0, &e));
	assert_null(json_read(a, STR("[]"), 0, &e));
	assert_null(json_read(a, nested(1000000, "[", "", ""), 128, &e));
}

static void
test_position(void **state)
{
	struct json_error e;

	(void)state;
	json_read(a, STR("{\n \"\xe4\xb8\xad\": x}"), 128, &e);
	assert_int_equal(e.line, 2);
	assert_int_equal(e.column, 7);
	assert_string_equal(e.what, "unexpected character");
}

static void
test_body(void **state)
{
	struct ctx c = { .a = a };
	struct json *j = NULL;

	(void)state;
	assert_int_equal(json_body(&c, STR("{\"a\":1}"), &j), 0);
	assert_int_equal(json_get_int(j, "a", 0), 1);
	assert_int_equal(json_body(&c, STR("{\"a\":}"), &j), -1);
	assert_int_equal(c.err.kind, ERR_INVALID);
	assert_string_equal(c.err.code, "invalid_json");
	assert_non_null(strstr(c.err.msg, "line 1, column 6"));
	assert_int_equal(json_get_int(j, "a", 0), 1); /* output untouched */
	err_clear(&c);
	assert_int_equal(json_body(&c, STR("null"), &j), 0);
	assert_null(j);
}

static void
test_access(void **state)
{
	struct json *j = read_ok(
	    STR("{\"s\":\"x\",\"i\":-7,\"d\":2.9,\"t\":true,\"n\":null,\"l\":[1,null],\"o\":{\"k\":1},"
		"\"u\":18446744073709551615,\"big\":1e300}"));
	char buf[DOUBLE_TEXT];

	(void)state;
	assert_true(json_has(j, "n"));
	assert_false(json_has(j, "m"));
	assert_null(json_get(j, "n"));
	assert_true(str_is(json_get_str(j, "s"), "x"));
	assert_null(json_get_str(j, "i").p);
	assert_int_equal(json_get_int(j, "i", 0), -7);
	assert_int_equal(json_get_int(j, "d", 0), 2);
	assert_int_equal(json_get_int(j, "s", 5), 5);
	assert_int_equal(json_get_int(j, "big", 0), INT64_MAX);
	assert_int_equal(json_get_int(j, "u", 0), INT64_MAX);
	assert_true(json_get_double(j, "u", 0) > 1.8e19);
	assert_true(json_get_double(j, "i", 0) < -6.9);
	assert_true(json_get_bool(j, "t", false));
	assert_true(json_get_bool(j, "s", true));
	assert_int_equal(json_len(json_get(j, "l")), 2);
	assert_int_equal(json_len(j), 9);
	assert_int_equal(json_len(NULL), 0);
	assert_null(json_at(json_get(j, "l"), 1));
	assert_null(json_at(json_get(j, "l"), 2));
	assert_null(json_at(j, 0));
	assert_null(json_get(json_get(j, "l"), "k"));
	assert_int_equal(json_int(json_get_s(json_get_s(j, STR("o")), str_sub(STR("kk"), 0, 1)), 0), 1);
	assert_true(str_is(json_number(json_get(j, "u"), buf), "18446744073709551615"));
	assert_true(str_is(json_number(json_get(j, "big"), buf), "1e300"));
	assert_true(str_is(json_number(json_get(j, "i"), buf), "-7"));
	assert_null(json_number(json_get(j, "s"), buf).p);
	assert_string_equal(json_type_name(json_type(json_get(j, "d"))), "number");
	assert_string_equal(json_type_name(json_type(NULL)), "null");
}

static void
test_iteration_survives_deletion(void **state)
{
	struct json *j = read_ok(STR("{\"a\":1,\"b\":2,\"c\":3}"));
	struct json_iter it = { 0 };
	struct str key;
	int n = 0;

	(void)state;
	while (json_next(j, &it, &key, NULL)) {
		n++;
		if (str_is(key, "b"))
			json_del(j, "b");
	}
	assert_int_equal(n, 3);
	assert_string_equal(json_text(a, j).p, "{\"a\":1,\"c\":3}");
	it = (struct json_iter){ 0 };
	assert_false(json_next(NULL, &it, NULL, NULL));
	it = (struct json_iter){ 0 };
	assert_false(json_next(json_array(a), &it, NULL, NULL));
}

static void
test_building(void **state)
{
	struct json *o = json_object(a), *l, *part = read_ok(STR("{\"x\":[1]}"));
	char longkey[600];

	(void)state;
	json_set_c(o, "s", "q\"");
	json_set_c(o, "none", NULL);
	json_set_str(o, "absent", STR_NULL);
	json_set_int(o, "i", INT64_MIN);
	json_set_double(o, "d", 0.1);
	json_set_double(o, "whole", 100);
	json_set_double(o, "nan", 0.0 / (double)(json_len(NULL)));
	json_set_bool(o, "b", false);
	l = json_set_array(o, "l");
	json_push_str(l, STR("e"));
	json_push_int(l, 3);
	json_push(l, NULL);
	json_set_bool(json_push_object(l), "k", true);
	json_push_array(l);
	json_set(o, "part", json_get(part, "x"));
	json_set(json_set_object(o, "o"), "again", json_get(part, "x"));
	assert_string_equal(json_text(a, o).p, "{\"s\":\"q\\\"\",\"none\":null,\"absent\":null,\"i\":-"
					       "9223372036854775808,\"d\":0.1,\"whole\":100,"
					       "\"nan\":null,\"b\":false,\"l\":[\"e\",3,null,{\"k\":true},[]]"
					       ",\"part\":[1],\"o\":{\"again\":[1]}}");
	json_set_int(o, "s", 1); /* replaces, keeps its place */
	assert_true(str_starts(json_text(a, o), STR("{\"s\":1,\"none\"")));
	memset(longkey, 'k', sizeof(longkey));
	json_set_s(o, (struct str){ longkey, sizeof(longkey) }, json_string(a, STR("v")));
	assert_true(str_is(json_str(json_get_s(o, (struct str){ longkey, sizeof(longkey) })), "v"));
	assert_null(json_string(a, STR_NULL));
}

static void
test_nodes_outlive_a_borrowed_root(void **state)
{
	struct arena *short_lived = arena_create("short", 0);
	struct json_error e;
	struct json *o = json_object(a),
		    *from = json_read(short_lived, STR("{\"deep\":{\"v\":[1,2]}}"), 9, &e);

	(void)state;
	json_set(o, "kept", json_get(from, "deep"));
	arena_destroy(&short_lived);
	assert_string_equal(json_text(a, o).p, "{\"kept\":{\"v\":[1,2]}}");
}

static void
test_copy_is_independent(void **state)
{
	struct json *j = read_ok(STR("{\"a\":[1.50,18446744073709551615],\"n\":null}")), *k = json_copy(a, j);

	(void)state;
	json_push_int(json_get(j, "a"), 1);
	assert_string_equal(json_text(a, k).p, "{\"a\":[1.50,18446744073709551615],\"n\":null}");
	assert_null(json_copy(a, NULL));
}

static void
test_equal(void **state)
{
	static const struct {
		const char *a, *b;
		bool equal;
	} rows[] = {
		{ "1", "1.0", true },
		{ "1", "1.5", false },
		{ "-0", "0", true },
		{ "9007199254740993", "9007199254740992", false },
		{ "{\"a\":1,\"b\":[null]}", "{\"b\":[null],\"a\":1}", true },
		{ "{\"a\":null}", "{\"b\":null}", false },
		{ "{\"a\":1}", "{\"a\":1,\"b\":1}", false },
		{ "[1,2]", "[2,1]", false },
		{ "[1]", "[1,1]", false },
		{ "\"1\"", "1", false },
		{ "null", "false", false },
		{ "true", "false", false },
		{ "null", "null", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct json *x = read_ok(str_c(rows[i].a)), *y = read_ok(str_c(rows[i].b));

		if (json_equal(x, y) != rows[i].equal || json_equal(y, x) != rows[i].equal)
			fail_msg("%s and %s", rows[i].a, rows[i].b);
	}
}

static void
test_pretty(void **state)
{
	struct json *j = read_ok(STR("{\"a\":[1,{\"b\":[]}],\"c\":{},\"d\":\"x\"}"));

	(void)state;
	assert_string_equal(json_text_pretty(a, j).p,
	    "{\n  \"a\": [\n    1,\n    {\n      \"b\": []\n    }\n  ],\n  \"c\": {},\n  \"d\": \"x\"\n}");
	assert_string_equal(json_text_pretty(a, NULL).p, "null");
	assert_string_equal(json_text_pretty(a, read_ok(STR("[]"))).p, "[]");
}

static void
test_raw_member(void **state)
{
	struct str t = STR(" { \"a\" : [ 1, \"]}\\\"\" ] , \"b\\u0062\" : { \"a\": 2 }, \"n\":-1.50 "
			   ",\"a\":\"last\", \"w\": true}");

	(void)state;
	assert_true(str_is(json_raw(t, "a"), "\"last\""));
	assert_true(str_is(json_raw(t, "bb"), "{ \"a\": 2 }"));
	assert_true(str_is(json_raw(json_raw(t, "bb"), "a"), "2"));
	assert_true(str_is(json_raw(t, "n"), "-1.50"));
	assert_true(str_is(json_raw(t, "w"), "true"));
	assert_null(json_raw(t, "b").p);
	assert_null(json_raw(t, "bbb").p);
	assert_null(json_raw(STR("[1]"), "a").p);
	assert_null(json_raw(STR("{}"), "a").p);
	assert_null(json_raw(STR(""), "a").p);
	assert_true(str_is(json_raw(STR("{\"\\ud83d\\ude00\":1}"), "\xf0\x9f\x98\x80"), "1"));
	assert_true(str_is(json_raw(STR("{\"\\ud83dx\":1}"), "\xef\xbf\xbdx"), "1"));
}

static void
test_raw_elements(void **state)
{
	struct str t = STR(" [ 1 , \"a,]\" , [ [ ] , 2 ] ,{\"k\":[]}, null ] "), e;
	static const char *const want[] = { "1", "\"a,]\"", "[ [ ] , 2 ]", "{\"k\":[]}", "null" };
	size_t pos = 0, n = 0;

	(void)state;
	while (json_raw_next(t, &pos, &e))
		assert_true(str_is(e, want[n++]));
	assert_int_equal(n, 5);
	pos = 0;
	assert_false(json_raw_next(STR("[ ]"), &pos, &e));
	pos = 0;
	assert_false(json_raw_next(STR("{\"a\":1}"), &pos, &e));
	pos = 0;
	assert_false(json_raw_next(STR_NULL, &pos, &e));
}

static void
test_raw_text(void **state)
{
	(void)state;
	assert_true(str_is(json_raw_text(a, STR("\"a\\n\\u00e9\\ud83d\\ude00\\u0000\\/\"")),
	    "a\n\xc3\xa9\xf0\x9f\x98\x80/"));
	assert_true(str_is(json_raw_text(a, STR("\"\"")), ""));
	assert_null(json_raw_text(a, STR("12")).p);
}

/* The raw scanner and the parser see the same members. */
static void
test_raw_agrees(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(accepted) / sizeof(accepted[0]); i++) {
		struct str t = str_c(accepted[i].in), k, v;
		struct json *j = read_ok(t), *o = json_object(a);
		size_t pos = 0;

		if (json_type(j) != JSON_OBJECT)
			continue;
		while (json_raw_member(t, &pos, &k, &v))
			json_set_s(o, json_raw_text(a, k), read_ok(v));
		assert_true(json_equal(o, j));
	}
}

static void
test_failed_reading_leaves_the_arena_alone(void **state)
{
	struct json_error e;
	size_t before;

	(void)state;
	before = arena_bytes(a);
	for (int i = 0; i < 100; i++)
		json_read(a, STR("{\"abc\":[\"long enough to need the scratch\",{\"d\":[1,2,3,"), 9, &e);
	assert_int_equal(arena_bytes(a), before);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accepted),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_nul_byte_is_refused),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_position),
		cmocka_unit_test(test_body),
		cmocka_unit_test(test_access),
		cmocka_unit_test(test_iteration_survives_deletion),
		cmocka_unit_test(test_building),
		cmocka_unit_test(test_nodes_outlive_a_borrowed_root),
		cmocka_unit_test(test_copy_is_independent),
		cmocka_unit_test(test_equal),
		cmocka_unit_test(test_pretty),
		cmocka_unit_test(test_raw_member),
		cmocka_unit_test(test_raw_elements),
		cmocka_unit_test(test_raw_text),
		cmocka_unit_test(test_raw_agrees),
		cmocka_unit_test(test_failed_reading_leaves_the_arena_alone),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
