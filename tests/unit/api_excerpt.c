/* excerpt: where words of a search stand in a text, and how much of it around them is shown. */
#include "api/excerpt.h"
#include "base/json.h"
#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The pieces as one text, those that match in brackets. */
static const char *
shown(struct arena *a, struct str text, const char *const *terms)
{
	struct str t[8];
	size_t n = 0;
	struct sb json = sb_new(a), out = sb_new(a);
	struct json_error err;
	const struct json *list;

	while (terms[n] != NULL) {
		t[n] = str_c(terms[n]);
		n++;
	}
	excerpt_print(a, &json, text, t, n);
	list = json_read(a, sb_str(&json), 4, &err);
	assert_non_null(list);
	for (size_t i = 0; i < json_len(list); i++) {
		bool match = json_get_bool(json_at(list, i), "match", false);

		assert_true(json_get_str(json_at(list, i), "text").n > 0);
		sb_adds(&out, match ? "[" : "");
		sb_add(&out, json_get_str(json_at(list, i), "text"));
		sb_adds(&out, match ? "]" : "");
	}
	return sb_c(&out);
}

static void
matches(void **state)
{
	static const struct {
		const char *text, *terms[4], *shown;
	} cases[] = {
		{ "The old harbour sleeps.", { "harbour" }, "The old [harbour] sleeps." },
		{ "The old harbour sleeps.", { "har" }, "The old [har]bour sleeps." },
		{ "The old harbour sleeps.", { "bour" }, "The old harbour sleeps." }, /* no word begins so */
		{ "Harbour, HARBOUR, harbour.", { "harbour" }, "[Harbour], [HARBOUR], [harbour]." },
		{ "one two three", { "three", "one" }, "[one] two [three]" },
		{ "overture over", { "over", "overt" }, "[overt]ure [over]" }, /* the longest where several begin */
		{ "\xc3\x89lan, \xc3\xa9lan", { "\xc3\xa9lan" }, "[\xc3\x89lan], [\xc3\xa9lan]" },
		{ "\xe4\xbb\x8a\xe5\xa4\xa9\xe5\xa4\xa9\xe6\xb0\x94", { "\xe5\xa4\xa9\xe6\xb0\x94" }, "\xe4\xbb\x8a\xe5\xa4\xa9[\xe5\xa4\xa9\xe6\xb0\x94]" }, /* anywhere */
		{ "a\"b\\c \n d", { "d" }, "a\"b\\c \n [d]" },
		{ "nothing here", { "x" }, "nothing here" },
		{ "nothing here", { NULL }, "nothing here" },
	};
	struct arena *a = arena_create("test", 0);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_string_equal(shown(a, str_c(cases[i].text), cases[i].terms), cases[i].shown);
	arena_destroy(&a);
}

static size_t
runes(struct str s)
{
	size_t n = 0;

	for (size_t pos = 0; pos < s.n; n++)
		utf8_next(s, &pos);
	return n;
}

/* A long text is shown around the first match, whole characters only, with a sign where something is left out. */
static void
long_texts(void **state)
{
	static const char *const fox[] = { "fox", NULL };
	struct arena *a = arena_create("test", 0);

	(void)state;
	for (size_t before = 0; before < 900; before += 299) {
		struct sb text = sb_new(a);
		struct str got;

		for (size_t i = 0; i < before; i++)
			sb_adds(&text, "\xe4\xbd\xa0");
		sb_adds(&text, " fox ");
		for (size_t i = 0; i < 900; i++)
			sb_adds(&text, "\xf0\x9f\x98\x80");
		got = str_c(shown(a, sb_str(&text), fox));
		assert_true(utf8_valid(got));
		assert_true(str_find(got, STR("[fox]"), 0) != STR_NPOS);
		assert_true(runes(got) <= EXCERPT_LENGTH + 4); /* brackets and signs are not counted */
		assert_int_equal(str_starts(got, STR("\xe2\x80\xa6")), before > EXCERPT_BEFORE);
		assert_true(str_ends(got, STR("\xe2\x80\xa6")));
	}
	arena_destroy(&a);
}

/* Whatever the bytes: what is not left out is the text itself. */
static void
short_texts_stay_whole(void **state)
{
	static const char *const texts[] = { "", " ", "a", "\xc4\xb0stanbul", "\xc7\x85", "\xe2\x80\xa6", "\xef\xbc\xa1\xef\xbc\xa2" };
	static const char *const terms[] = { "a", "i", "\xef\xbc\xa1", NULL };
	struct arena *a = arena_create("test", 0);

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		const char *got = shown(a, str_c(texts[i]), terms);
		struct sb plain = sb_new(a);

		for (const char *p = got; *p; p++)
			if (*p != '[' && *p != ']')
				sb_addc(&plain, *p);
		assert_string_equal(sb_c(&plain), texts[i]);
	}
	arena_destroy(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matches),
		cmocka_unit_test(long_texts),
		cmocka_unit_test(short_texts_stay_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
