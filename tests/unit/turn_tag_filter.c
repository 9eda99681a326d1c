/* The summary filter: whatever the cuts, readers never see a tag or what it holds. */
#include "turn/tag_filter.h"

#include "base/rng.h"
#include "base/sb.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void
collect(void *arg, struct str s)
{
	sb_add(arg, s);
}

static struct str
fed(struct arena *a, struct str text, size_t step)
{
	struct tag_filter f = { 0 };
	struct sb sb = sb_new(a);

	for (size_t at = 0; at < text.n; at += step)
		tag_filter_feed(&f, str_sub(text, at, at + step), false, collect, &sb);
	tag_filter_feed(&f, STR(""), true, collect, &sb);
	return sb_str(&sb);
}

static const struct {
	const char *in, *out;
} cases[] = {
	{ "plain", "plain" },
	{ "", "" },
	{ "a<summary>secret</summary>b", "ab" },
	{ "a <Summary >s</ SUMMARY > b", "a b" },
	{ "a<summary>one</summary>\n\n<summary>two</summary>\nb", "ab" },
	{ "1 < 2 and <b>bold</b>", "1 < 2 and <b>bold</b>" },
	{ "<<summary>x</summary>>", "<>" },
	{ "</summary>stray", "</summary>stray" },
	{ "open <summary>never closed", "open " },
	{ "ends with <summ", "ends with <summ" },
	{ "<summaryx>kept</summaryx>", "<summaryx>kept</summaryx>" },
	{ "<summary>a < b <i>c</i></summary>d", "d" },
	{ "<                                      summary>far</summary>", "<                                      summary>far</summary>" },
};

static void
test_every_cut(void **state)
{
	struct arena *a = arena_create("test", 0);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (size_t step = 1; step <= 20; step++) {
			struct str out = fed(a, str_c(cases[i].in), step);

			assert_int_equal(out.n, strlen(cases[i].out));
			assert_memory_equal(out.p, cases[i].out, out.n);
		}
	arena_destroy(&a);
}

static void
test_split(void **state)
{
	struct arena *a = arena_create("test", 0);
	struct tagged t = tag_split(a, STR("  Hello.<summary> one </summary> there <summary></summary><summary>two</summary>\n"));

	(void)state;
	assert_true(str_is(t.visible, "Hello.there"));
	assert_int_equal(t.summaries.n, 2);
	assert_true(str_is(t.summaries.v[0], "one"));
	assert_true(str_is(t.summaries.v[1], "two"));
	arena_destroy(&a);
}

/* Text of random pieces of tags: the cuts must not change the result. */
static void
test_cuts_do_not_matter(void **state)
{
	static const char *const bits[] = { "<", "<summary>", "</summary>", "summary", "/", ">", " ", "x", "<sum", "mary>", "\n" };
	struct rng rng = rng_seed(7);

	(void)state;
	for (int round = 0; round < 2000; round++) {
		struct arena *a = arena_create("test", 0);
		struct sb sb = sb_new(a);
		struct str whole;

		for (int k = 0; k < 12; k++)
			sb_adds(&sb, bits[rng_below(&rng, sizeof(bits) / sizeof(*bits))]);
		whole = fed(a, sb_str(&sb), SIZE_MAX / 2);
		for (size_t step = 1; step < 8; step++) {
			struct str cut = fed(a, sb_str(&sb), step);

			assert_true(str_eq(cut, whole));
		}
		arena_destroy(&a);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_cut),
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_cuts_do_not_matter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
