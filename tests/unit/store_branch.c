/* Branch ranges: windows cut out of a list of segments. */
#include "store/branch.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void
test_read(void **state)
{
	struct arena *a = arena_create("test", 0);
	struct branch b = { 0 };

	(void)state;
	assert_int_equal(branch_read(a, &b, STR("{7,9}"), STR("{4,12}")), 0);
	assert_int_equal(b.n, 2);
	assert_int_equal(branch_own_segment(&b), 9);
	assert_int_equal(b.his[0], 4);
	assert_int_equal(branch_read(a, &b, STR("{7}"), STR("{4,12}")), -1);
	assert_int_equal(branch_read(a, &b, STR("{}"), STR("{}")), -1);
	assert_int_equal(branch_read(a, &b, STR("{x}"), STR("{1}")), -1);
	assert_int_equal(branch_read(a, &b, STR(""), STR("")), -1);
	arena_destroy(&a);
}

/* Every window of a branch, against a walk over its floors one by one. */
static void
test_windows(void **state)
{
	struct arena *a = arena_create("test", 0);
	struct branch b = { 0 };

	(void)state;
	assert_int_equal(branch_read(a, &b, STR("{10,11,12,13}"), STR("{2,2,5,9}")), 0);
	for (int from = 0; from <= 11; from++)
		for (int to = from - 1; to <= 11; to++) {
			size_t n;
			struct branch_range *r = branch_window(a, &b, from, to, &n);
			int seen = 0, next = to < 9 ? to : 9;

			for (size_t i = 0; i < n; i++)
				for (int f = r[i].hi; f > r[i].lo; f--, seen++) {
					int64_t owner = f <= 2 ? 10 : f <= 5 ? 12 : 13;

					assert_int_equal(f, next--);
					assert_int_equal(r[i].segment, owner);
				}
			assert_int_equal(seen, from <= 9 && to >= from ? (to < 9 ? to : 9) - from + 1 : 0);
		}
	arena_destroy(&a);
}

static int32_t
common(struct arena *a, const char *segs, const char *his, const char *segs2, const char *his2)
{
	struct branch x = { 0 }, y = { 0 };

	assert_int_equal(branch_read(a, &x, str_c(segs), str_c(his)), 0);
	assert_int_equal(branch_read(a, &y, str_c(segs2), str_c(his2)), 0);
	assert_int_equal(branch_common(&x, &y), branch_common(&y, &x));
	return branch_common(&x, &y);
}

static void
test_common(void **state)
{
	struct arena *a = arena_create("test", 0);

	(void)state;
	assert_int_equal(common(a, "{1}", "{9}", "{1}", "{9}"), 9);
	assert_int_equal(common(a, "{1}", "{9}", "{1,2}", "{4,6}"), 4);
	assert_int_equal(common(a, "{1,2}", "{4,6}", "{1,3}", "{7,8}"), 4);
	assert_int_equal(common(a, "{1,2}", "{4,6}", "{1,2,3}", "{4,5,5}"), 5);
	assert_int_equal(common(a, "{1,2}", "{4,4}", "{1,3}", "{4,9}"), 4);
	assert_int_equal(common(a, "{1}", "{-1}", "{1}", "{-1}"), -1);
	assert_int_equal(common(a, "{1}", "{9}", "{2}", "{9}"), -1);
	arena_destroy(&a);
}

/* One segment holds the variables as of a floor. */
static void
test_log_range(void **state)
{
	struct arena *a = arena_create("test", 0);
	struct branch b = { 0 };
	const size_t want[] = { 0, 0, 0, 0, 1, 1, 2, 2 }; /* as of -1 … 6 */

	(void)state;
	assert_int_equal(branch_read(a, &b, STR("{10,11,12}"), STR("{3,5,8}")), 0);
	for (int32_t at = -1; at <= 6; at++)
		assert_int_equal(branch_log_range(&b, at), want[at + 1]);
	assert_int_equal(branch_read(a, &b, STR("{10,11}"), STR("{3,3}")), 0);
	assert_int_equal(branch_log_range(&b, 3), 1); /* the fork's own values, not what its origin wrote there later */
	assert_int_equal(branch_log_range(&b, 2), 0);
	arena_destroy(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_common),
		cmocka_unit_test(test_log_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
