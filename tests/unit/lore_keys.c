/* lore_keys: the automaton finds what a plain search finds, in texts and keys that nest and overlap, in
 * linear time. */
#include "lore/lore_private.h"

#include "base/rng.h"
#include "base/sb.h"
#include "base/tm.h"
#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

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

static void
mark(void *arg, size_t pattern)
{
	((bool *)arg)[pattern] = true;
}

static struct str
random_text(struct rng *r, size_t max, const char *const *pieces, size_t n)
{
	struct sb out = sb_new(a);

	for (size_t len = rng_below(r, max) + 1; len > 0; len--)
		sb_adds(&out, pieces[rng_below(r, n)]);
	return sb_str(&out);
}

static void
finds_what_a_search_finds(void **state)
{
	static const char *const pieces[] = { "a", "b", "ab", " ", "_", "9", ",", "\xc3\xa9", "\xe9\xad\x94",
		"\xe6\xb3\x95", "-" };
	struct rng r = rng_seed(7);

	(void)state;
	for (int round = 0; round < 400; round++) {
		bool unicode = rng_below(&r, 2);
		struct arena_mark m = arena_mark(a);
		size_t n = rng_below(&r, 30);
		struct keys_pattern *v = arena_array(a, struct keys_pattern, n + 1);
		struct keys_scan scan;

		for (size_t i = 0; i < n; i++)
			v[i] = (struct keys_pattern){ random_text(&r, 4, pieces, 11), rng_below(&r, 2) };
		scan = keys_scan_new(a, keys_build(a, v, n, unicode));
		for (int t = 0; t < 4; t++) {
			bool *found = arena_array(a, bool, n + 1);
			struct str text = random_text(&r, 60, pieces, 11);

			keys_find(&scan, text, mark, found);
			for (size_t i = 0; i < n; i++)
				if (found[i] != keys_in(text, v[i], unicode))
					fail_msg("%.*s (%d) in %.*s", STR_ARG(v[i].text), v[i].whole,
					    STR_ARG(text));
		}
		arena_rewind(a, m);
	}
}

static void
knows_the_borders_of_words(void **state)
{
	static const struct {
		const char *text, *key;
		bool ascii, unicode;
	} cases[] = {
		{ "a cat.", "cat", true, true },
		{ "cat", "cat", true, true },
		{ "cats", "cat", false, false },
		{ "cat_", "cat", false, false },
		{ "caf\xc3\xa9", "caf", true, false },
		{ "\xe5\xad\xa6\xe9\xad\x94\xe6\xb3\x95", "\xe9\xad\x94", true, false },
		{ "\xe5\xad\xa6 \xe9\xad\x94", "\xe9\xad\x94", true, true },
		{ "cats cat", "cat", true, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct keys_pattern p = { str_c(cases[i].key), true };

		assert_int_equal(keys_in(str_c(cases[i].text), p, false), cases[i].ascii);
		assert_int_equal(keys_in(str_c(cases[i].text), p, true), cases[i].unicode);
	}
}

/* 5,000 keys that are each other's ends, over a text in which every one ends everywhere. */
static void
stays_linear(void **state)
{
	enum { KEYS = 2000, TEXT = 100000 };
	struct keys_pattern *v = arena_array(a, struct keys_pattern, KEYS);
	char *as = arena_alloc(a, TEXT + 1);
	bool *found = arena_array(a, bool, KEYS);
	struct keys_scan scan;
	int64_t began;

	(void)state;
	memset(as, 'a', TEXT);
	for (size_t i = 0; i < KEYS; i++)
		v[i] = (struct keys_pattern){ { as, i + 1 }, i % 2 };
	scan = keys_scan_new(a, keys_build(a, v, KEYS, false));
	began = tm_mono();
	keys_find(&scan, (struct str){ as, TEXT }, mark, found);
	assert_true(tm_mono() - began < 200);
	assert_true(found[0]);
	assert_true(found[KEYS - 2]);
	assert_false(found[1]);
}

/* The fast way and base's agree on everything. */
static void
lowers_as_base_does(void **state)
{
	static const char *const pieces[] = { "A", "Zebra ", "@[`{", "0123456789abcdefgh", "\xc3\x89",
		"\xce\xa3", "\xce\x91", "\xd0\x9f", "\xe9\xad\x94", "\xef\xbc\xa1", "\xe2\x84\xaa",
		"\xe2\x80\x9c", "\xf0\x9f\x98\x80", "\xf0\x90\x90\x80", "\xc4\xb0", "\xea\x99\x80",
		"\xe1\xba\x9e" };
	struct rng r = rng_seed(3);

	(void)state;
	for (int i = 0; i < 3000; i++) {
		struct arena_mark m = arena_mark(a);
		struct str s = random_text(&r, 12, pieces, 17);

		assert_true(str_eq(lore_lower(a, s), utf8_lower(a, s)));
		arena_rewind(a, m);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_what_a_search_finds),
		cmocka_unit_test(knows_the_borders_of_words),
		cmocka_unit_test(stays_linear),
		cmocka_unit_test(lowers_as_base_does),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
