/* str, sb, utf8: limits on both sides, numbers as JavaScript prints them, case mapping. */
#include "base/rng.h"
#include "base/sb.h"
#include "base/utf8.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(t) (sizeof(t) / sizeof((t)[0]))

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

static void
test_slices(void **state)
{
	struct str s = STR("hello");

	(void)state;
	assert_true(str_is(str_sub(s, 1, 3), "el"));
	assert_true(str_is(str_sub(s, 3, 99), "lo"));
	assert_true(str_is(str_sub(s, 99, 3), ""));
	assert_int_equal(str_sub(STR_NULL, 0, 5).n, 0);
	assert_null(str_c(NULL).p);
	assert_true(str_eq(STR(""), STR_NULL));
	assert_true(str_ieq(STR("aBc1"), STR("AbC1")));
	assert_false(str_ieq(STR("a"), STR("ab")));
	assert_false(str_ieq(STR("@"), STR("`")));
	assert_true(str_cmp(STR("a"), STR("b")) < 0);
	assert_true(str_cmp(STR("ab"), STR("a")) > 0);
	assert_true(str_cmp(STR("\xff"), STR("a")) > 0);
	assert_int_equal(str_cmp(STR_NULL, STR("")), 0);
	assert_true(str_starts(s, STR("he")) && str_starts(s, STR("")) && !str_starts(s, STR("hello!")));
	assert_true(str_ends(s, STR("lo")) && str_ends(s, STR("")) && !str_ends(s, STR("xhello")));
}

static void
test_finding(void **state)
{
	struct str s = STR("abcabc");

	(void)state;
	assert_int_equal(str_find(s, STR("bc"), 0), 1);
	assert_int_equal(str_find(s, STR("bc"), 2), 4);
	assert_true(str_find(s, STR("bc"), 5) == STR_NPOS);
	assert_int_equal(str_find(s, STR(""), 6), 6);
	assert_true(str_find(s, STR(""), 7) == STR_NPOS);
	assert_true(str_find(STR_NULL, STR("x"), 0) == STR_NPOS);
	assert_int_equal(str_find(STR_NULL, STR(""), 0), 0);
	assert_int_equal(str_chr(s, 'c', 3), 5);
	assert_true(str_chr(s, 'c', 6) == STR_NPOS);
	assert_true(str_chr(STR_NULL, 'c', 0) == STR_NPOS);
	assert_true(str_is(str_trim(STR(" \t\r\n\v\f x y \n")), "x y"));
	assert_int_equal(str_trim(STR("  ")).n, 0);
}

static const char *
split(const char *text)
{
	struct str rest = str_c(text), piece;
	struct sb s = sb_new(a);

	while (str_next(&rest, ',', &piece))
		sb_addf(&s, "<%.*s>", STR_ARG(piece));
	return sb_c(&s);
}

static void
test_splitting(void **state)
{
	(void)state;
	assert_string_equal(split("a,b,,c"), "<a><b><><c>");
	assert_string_equal(split("a,"), "<a><>");
	assert_string_equal(split(""), "<>");
	assert_string_equal(split(NULL), "");
}

static void
test_int(void **state)
{
	static const struct {
		const char *text;
		bool ok;
		int64_t v;
	} rows[] = { { "0", true, 0 }, { "-0", true, 0 }, { "007", true, 7 }, { "-12", true, -12 },
		{ "9223372036854775807", true, INT64_MAX }, { "-9223372036854775808", true, INT64_MIN },
		{ "9223372036854775808", false, 0 }, { "-9223372036854775809", false, 0 },
		{ "99999999999999999999", false, 0 }, { "", false, 0 }, { "-", false, 0 }, { "+1", false, 0 },
		{ " 1", false, 0 }, { "1 ", false, 0 }, { "1a", false, 0 }, { "0x1", false, 0 } };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		int64_t v = 77;

		if (str_int(str_c(rows[i].text), &v) != rows[i].ok || v != (rows[i].ok ? rows[i].v : 77))
			fail_msg("%s: %lld", rows[i].text, (long long)v);
	}
}

static void
test_double(void **state)
{
	static const char *const bad[] = { "", "-", ".", "e5", "1e", "1e+", "inf", "nan", "0x1p3", " 1", "1 ", "1..2",
		"1e400", "-1e400", "--1" };
	char digits[1200];
	double v = 77;

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++)
		if (str_double(str_c(bad[i]), &v) || v < 77 || v > 77)
			fail_msg("%s accepted", bad[i]);
	assert_true(str_double(STR("+1.5e-3"), &v) && v == 0.0015);
	assert_true(str_double(STR(".5"), &v) && v == 0.5);
	assert_true(str_double(STR("5."), &v) && v == 5);
	assert_true(str_double(STR("1e-400"), &v) && v == 0);
	assert_true(str_double(str_sub(STR("12345"), 0, 2), &v) && v == 12);
	memset(digits, '1', sizeof(digits));
	digits[1] = '.';
	assert_true(str_double((struct str){ digits, 1024 }, &v));
	assert_false(str_double((struct str){ digits, 1025 }, &v));
}

static void
test_builder(void **state)
{
	struct sb s = sb_new(a);

	(void)state;
	assert_string_equal(sb_c(&s), "");
	assert_int_equal(sb_str(&s).n, 0);
	sb_adds(&s, NULL);
	sb_addf(&s, "%s", "");
	sb_addc(&s, 'x');
	sb_addf(&s, "%d|", 5);
	sb_add_int(&s, INT64_MIN);
	sb_add_int(&s, 0);
	sb_add_int(&s, INT64_MAX);
	sb_add_rune(&s, 0x1f600);
	assert_string_equal(sb_c(&s), "x5|-922337203685477580809223372036854775807\xf0\x9f\x98\x80");
	sb_truncate(&s, 2);
	assert_string_equal(sb_c(&s), "x5");
	sb_truncate(&s, 9);
	assert_int_equal(s.n, 2);
	for (int i = 0; i < 100000; i++)
		sb_addc(&s, (char)('a' + i % 26));
	assert_int_equal(strlen(sb_c(&s)), 100002);
}

static void
test_builder_limit(void **state)
{
	struct sb s = sb_new_max(a, 5);

	(void)state;
	sb_adds(&s, "abc");
	sb_adds(&s, "de");
	assert_false(s.over);
	sb_adds(&s, "f");
	assert_true(s.over);
	assert_string_equal(sb_c(&s), "abcde");
	sb_truncate(&s, 0);
	sb_adds(&s, "x"); /* the breach sticks */
	sb_addf(&s, "%d", 1);
	sb_add_json(&s, STR("y"));
	assert_string_equal(sb_c(&s), "");
}

static void
test_json_escape(void **state)
{
	struct sb s = sb_new(a);

	(void)state;
	sb_add_json(&s, STR("a\"\\/\b\f\n\r\t\x01\x1f\x7f\xc3\xa9"));
	assert_string_equal(sb_c(&s), "\"a\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\xc3\xa9\"");
	sb_truncate(&s, 0);
	sb_add_json(&s, STR_NULL);
	sb_add_json(&s, STR(""));
	assert_string_equal(sb_c(&s), "null\"\"");
}

/* What JavaScript's String(x) gives. */
static const struct {
	double v;
	const char *text;
} numbers[] = {
	{ 0, "0" }, { -0.0, "0" }, { 1, "1" }, { -1.5, "-1.5" }, { 0.1, "0.1" }, { 0.1 + 0.2, "0.30000000000000004" },
	{ 1e20, "100000000000000000000" }, { 1e21, "1e+21" }, { 123456789012345680000.0, "123456789012345680000" },
	{ 1.5e300, "1.5e+300" }, { 1e-6, "0.000001" }, { 1e-7, "1e-7" }, { 1.25e-7, "1.25e-7" }, { -1e-7, "-1e-7" },
	{ 0.000001234, "0.000001234" }, { 5e-324, "5e-324" }, { 2.2250738585072014e-308, "2.2250738585072014e-308" },
	{ 2.225073858507201e-308, "2.225073858507201e-308" }, { 1.7976931348623157e308, "1.7976931348623157e+308" },
	{ 9007199254740993.0, "9007199254740992" }, { 2251799813685248.5, "2251799813685248.5" },
	{ 0x1p-44, "5.684341886080802e-14" }, { 0x1p-1074, "5e-324" }, { 1e23, "1e+23" }, { 9.5, "9.5" },
	{ 99999999999999990.0, "99999999999999980" }, { 0x1p63, "9223372036854776000" }, { 100, "100" },
	{ 1.0 / 3, "0.3333333333333333" }, { 2.0 / 3, "0.6666666666666666" }, { (double)INFINITY, "Infinity" },
	{ -(double)INFINITY, "-Infinity" }, { (double)NAN, "NaN" }, { -1.2345678901234567e-308, "-1.2345678901234567e-308" },
	{ 0x1p-24, "5.960464477539063e-8" }, { 0x1p89, "6.189700196426902e+26" },
};

static void
test_number_text(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(numbers); i++) {
		struct sb s = sb_new(a);

		sb_add_double(&s, numbers[i].v);
		assert_string_equal(sb_c(&s), numbers[i].text);
	}
}

/* Any bits: the text reads back equal, and one digit less does not. */
static void
test_number_round_trip(void **state)
{
	struct rng r = rng_seed(42);

	(void)state;
	for (int i = 0; i < 20000; i++) {
		uint64_t bits = rng_next(&r);
		char text[DOUBLE_TEXT];
		double v, back;
		size_t n;

		if (i % 4 == 0)
			bits &= ~((UINT64_C(1) << 52) - 1); /* powers of two */
		if (i % 5 == 0)
			bits &= (UINT64_C(1) << 53) - 1; /* near and below the smallest normal */
		memcpy(&v, &bits, sizeof(v));
		if (!isfinite(v))
			continue;
		n = sb_print_double(text, v);
		assert_int_equal(n, strlen(text));
		assert_true(n < DOUBLE_TEXT);
		if (!str_double((struct str){ text, n }, &back) || back < v || back > v)
			fail_msg("%a printed as %s", v, text);
	}
}

static void
test_coding(void **state)
{
	static const uint32_t runes[] = { 0, 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xfffd, 0xffff, 0x10000, 0x10ffff };
	static const size_t lengths[] = { 1, 1, 2, 2, 3, 3, 3, 3, 3, 4, 4 };
	char buf[4];

	(void)state;
	for (size_t i = 0; i < COUNT(runes); i++) {
		struct str s = { buf, (size_t)utf8_put(buf, runes[i]) };
		size_t pos = 0;

		assert_int_equal(s.n, lengths[i]);
		assert_true(utf8_valid(s));
		assert_int_equal(utf8_next(s, &pos), runes[i]);
		assert_int_equal(pos, s.n);
		assert_int_equal(utf8_prev(s, s.n), 0);
		if (s.n > 1)
			assert_false(utf8_valid(str_sub(s, 0, s.n - 1)));
	}
	assert_int_equal(utf8_put(buf, 0xd800), 3);
	assert_memory_equal(buf, "\xef\xbf\xbd", 3);
	assert_int_equal(utf8_put(buf, 0x110000), 3);
}

static void
test_bad_sequences(void **state)
{
	static const char *const bad[] = { "\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xe0\x9f\xbf", "\xe0\xa0",
		"\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf0\x90\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
		"\xff", "\xe4\xb8\x41" };

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		size_t pos = 0;

		assert_false(utf8_valid(str_c(bad[i])));
		assert_int_equal(utf8_next(str_c(bad[i]), &pos), RUNE_BAD);
		assert_int_equal(pos, 1);
	}
}

static void
test_measuring(void **state)
{
	struct str s = STR("a\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80z"); /* a é 中 😀 z: 1 2 3 4 1 bytes */
	static const size_t offsets[] = { 0, 1, 3, 6, 6, 10, 11, 11 };
	size_t at = s.n, starts[] = { 10, 6, 3, 1, 0 };

	(void)state;
	assert_int_equal(utf8_runes(s), 5);
	assert_int_equal(utf8_units(s), 6);
	for (size_t u = 0; u < COUNT(offsets); u++)
		assert_int_equal(utf8_offset_of_unit(s, u), offsets[u]);
	for (size_t i = 0; i < COUNT(starts); i++) {
		at = utf8_prev(s, at);
		assert_int_equal(at, starts[i]);
	}
	assert_int_equal(utf8_prev(s, 0), 0);
	assert_int_equal(utf8_prev(STR("\x80\x80"), 2), 1);
	assert_int_equal(utf8_prev(STR("\xc3\xa9\xa9"), 3), 2);
	assert_int_equal(utf8_runes(STR("\xf0\x9f\x98")), 3);
}

static void
test_whole(void **state)
{
	struct str s = STR("a\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80");
	static const size_t whole[] = { 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10 };

	(void)state;
	for (size_t n = 0; n <= s.n; n++)
		assert_int_equal(utf8_whole(str_sub(s, 0, n)), whole[n]);
	/* What can never become a character does not wait. */
	assert_int_equal(utf8_whole(STR("a\xff")), 2);
	assert_int_equal(utf8_whole(STR("a\xc0")), 2);
	assert_int_equal(utf8_whole(STR("a\xed\xa0")), 3);
	assert_int_equal(utf8_whole(STR("a\xf4\x90")), 3);
	assert_int_equal(utf8_whole(STR("\x80\x80\x80\x80")), 4);
	assert_int_equal(utf8_whole(STR("a\xe0")), 1);
	assert_int_equal(utf8_whole(STR("a\xed\x9f")), 1);
	assert_int_equal(utf8_whole(STR("a\xf0\x90")), 1);
}

static void
test_clean(void **state)
{
	struct str ok = STR("fine \xe4\xb8\xad\xef\xbf\xbd"), s;

	(void)state;
	assert_ptr_equal(utf8_clean(a, ok).p, ok.p);
	s = utf8_clean(a, STR("a\0b\xff" "c\xe4\xb8" "d\xef\xbf\xbd\0"));
	assert_string_equal(s.p, "ab\xef\xbf\xbd" "c\xef\xbf\xbd\xef\xbf\xbd" "d\xef\xbf\xbd");
	assert_true(utf8_valid(s));
	assert_int_equal(utf8_clean(a, STR_NULL).n, 0);
}

/* Random bytes: cleaned text is valid, cleaning again changes nothing, counts agree. */
static void
test_random_bytes(void **state)
{
	static const char pool[] = "a\x80\xbf\xc3\xa9\xe4\xb8\xad\xed\xa0\xf0\x9f\x98\x80\xf4\xff";
	struct rng r = rng_seed(3);

	(void)state;
	for (int round = 0; round < 5000; round++) {
		char buf[24];
		struct str s = { buf, rng_below(&r, sizeof(buf)) }, clean;
		size_t back, runes = 0;

		for (size_t i = 0; i < s.n; i++)
			buf[i] = pool[rng_below(&r, sizeof(pool))];
		clean = utf8_clean(a, s);
		assert_true(utf8_valid(clean));
		assert_ptr_equal(utf8_clean(a, clean).p, clean.p);
		for (back = clean.n; back > 0; runes++)
			back = utf8_prev(clean, back);
		assert_int_equal(runes, utf8_runes(clean));
		assert_true(utf8_whole(s) <= s.n && s.n - utf8_whole(s) <= 3);
	}
}

static const struct {
	const char *in, *lower, *upper;
} cases[] = {
	{ "Hello, World 1", "hello, world 1", "HELLO, WORLD 1" },
	{ "stra\xc3\x9f" "e", "stra\xc3\x9f" "e", "STRASSE" },
	{ "\xe1\xba\x9e", "\xc3\x9f", "\xe1\xba\x9e" },			  /* ẞ */
	{ "\xc4\xb0", "i\xcc\x87", "\xc4\xb0" },				  /* İ */
	{ "\xc4\xb1", "\xc4\xb1", "I" },					  /* ı */
	{ "\xef\xac\x80\xef\xac\x83", "\xef\xac\x80\xef\xac\x83", "FFFFI" },	  /* ﬀ ﬃ */
	{ "\xc5\x89", "\xc5\x89", "\xca\xbcN" },				  /* ŉ */
	{ "\xc7\x85", "\xc7\x86", "\xc7\x84" },					  /* ǅ */
	{ "\xd0\x96\xd0\xb6", "\xd0\xb6\xd0\xb6", "\xd0\x96\xd0\x96" },		  /* Жж */
	{ "\xce\x90", "\xce\x90", "\xce\x99\xcc\x88\xcc\x81" },			  /* ΐ */
	{ "\xe1\xbe\xb3\xe1\xbe\xbc", "\xe1\xbe\xb3\xe1\xbe\xb3", "\xce\x91\xce\x99\xce\x91\xce\x99" }, /* ᾳᾼ */
	{ "\xf0\x90\x90\x80", "\xf0\x90\x90\xa8", "\xf0\x90\x90\x80" },		  /* Deseret */
	{ "\xe4\xb8\xad\xe6\x96\x87", "\xe4\xb8\xad\xe6\x96\x87", "\xe4\xb8\xad\xe6\x96\x87" },
	{ "\xff" "A", "\xef\xbf\xbd" "a", "\xef\xbf\xbd" "A" },
	{ "", "", "" },
};

static void
test_case(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_string_equal(arena_strdup(a, utf8_lower(a, str_c(cases[i].in))), cases[i].lower);
		assert_string_equal(arena_strdup(a, utf8_upper(a, str_c(cases[i].in))), cases[i].upper);
	}
}

#define SIGMA "\xce\xa3"
#define MEDIAL "\xcf\x83"
#define FINAL "\xcf\x82"

static void
test_final_sigma(void **state)
{
	static const struct {
		const char *in, *lower;
	} rows[] = {
		{ SIGMA, MEDIAL },
		{ "A" SIGMA, "a" FINAL },
		{ "A" SIGMA "B", "a" MEDIAL "b" },
		{ "A" SIGMA " B", "a" FINAL " b" },
		{ "A" SIGMA "'B", "a" MEDIAL "'b" },
		{ "A" SIGMA "' ", "a" FINAL "' " },
		{ "A." SIGMA, "a." FINAL },
		{ "1" SIGMA, "1" MEDIAL },
		{ SIGMA SIGMA, MEDIAL FINAL },
		{ SIGMA SIGMA SIGMA, MEDIAL MEDIAL FINAL },
		{ "A\xcc\x81" SIGMA "\xcc\x81", "a\xcc\x81" FINAL "\xcc\x81" },
		{ "A\xc2\xad" SIGMA "\xc2\xad" "B", "a\xc2\xad" MEDIAL "\xc2\xad" "b" },
		{ "\xe4\xb8\xad" SIGMA, "\xe4\xb8\xad" MEDIAL },
		{ "A" SIGMA "\xe4\xb8\xad", "a" FINAL "\xe4\xb8\xad" },
		{ "\xe2\x85\xa0" SIGMA, "\xe2\x85\xb0" FINAL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_string_equal(arena_strdup(a, utf8_lower(a, str_c(rows[i].in))), rows[i].lower);
}

static void
test_fold(void **state)
{
	(void)state;
	assert_true(str_eq(utf8_fold(a, STR("STRASSE")), utf8_fold(a, STR("stra\xc3\x9f" "e"))));
	assert_true(str_eq(utf8_fold(a, STR(SIGMA)), utf8_fold(a, STR(FINAL))));
	assert_true(str_eq(utf8_fold(a, STR("\xef\xac\x80")), STR("ff")));
	assert_true(str_eq(utf8_fold(a, STR("\xe4\xb8\xad 1\xff")), STR("\xe4\xb8\xad 1\xef\xbf\xbd")));
}

static void
test_classes(void **state)
{
	static const uint32_t spaces[] = { 9, 10, 11, 12, 13, 32, 0xa0, 0x1680, 0x2000, 0x200a, 0x2028, 0x2029, 0x202f, 0x205f,
		0x3000, 0xfeff };
	size_t n = 0;

	(void)state;
	for (uint32_t r = 0; r <= 0x10ffff; r++)
		n += rune_is_space(r);
	assert_int_equal(n, 25); /* JavaScript's \s has 25 */
	for (size_t i = 0; i < COUNT(spaces); i++)
		assert_true(rune_is_space(spaces[i]));
	assert_true(rune_is_letter('a') && rune_is_letter(0x4e2d) && rune_is_letter(0xe9));
	assert_false(rune_is_letter('1') || rune_is_letter('_') || rune_is_letter(0x301));
	assert_true(rune_is_digit('0') && rune_is_digit(0x660) && rune_is_digit(0x2160) && rune_is_digit(0xbd));
	assert_false(rune_is_digit('a'));
	assert_true(rune_is_word('_') && rune_is_word(0x203f) && rune_is_word(0x301) && rune_is_word('9'));
	assert_false(rune_is_word('-') || rune_is_word(' ') || rune_is_word(0x3002) || rune_is_word(0x110000));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slices),
		cmocka_unit_test(test_finding),
		cmocka_unit_test(test_splitting),
		cmocka_unit_test(test_int),
		cmocka_unit_test(test_double),
		cmocka_unit_test(test_builder),
		cmocka_unit_test(test_builder_limit),
		cmocka_unit_test(test_json_escape),
		cmocka_unit_test(test_number_text),
		cmocka_unit_test(test_number_round_trip),
		cmocka_unit_test(test_coding),
		cmocka_unit_test(test_bad_sequences),
		cmocka_unit_test(test_measuring),
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_clean),
		cmocka_unit_test(test_random_bytes),
		cmocka_unit_test(test_case),
		cmocka_unit_test(test_final_sigma),
		cmocka_unit_test(test_fold),
		cmocka_unit_test(test_classes),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
