/* What of a job is arithmetic: waits between tries, and which failures are worth one. */
#include "job/job.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void
test_backoff(void **state)
{
	(void)state;
	/* Three quarters to five quarters of the doubled wait. */
	assert_int_equal(job_backoff(1000, 1, 0), 750);
	assert_int_equal(job_backoff(1000, 1, 500), 1250);
	assert_int_equal(job_backoff(1000, 1, 501), 750);
	assert_int_equal(job_backoff(1000, 3, 0), 3000);
	assert_int_equal(job_backoff(1000, 60, 0), 450000);
	assert_int_equal(job_backoff(2000000, 1, 0), 450000);
	for (uint64_t chance = 0; chance < 10000; chance += 7) {
		int64_t ms = job_backoff(4000, 2, chance);

		assert_in_range(ms, 6000, 10000);
	}
}

static void
test_worth(void **state)
{
	static const enum err_kind yes[] = { ERR_UNAVAILABLE, ERR_INTERNAL, ERR_TIMEOUT, ERR_UPSTREAM,
		ERR_RATE },
				   no[] = { ERR_INVALID, ERR_NOT_FOUND, ERR_CONFLICT, ERR_TOO_LARGE,
					   ERR_FORBIDDEN, ERR_CANCELLED, ERR_GONE };

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(*yes); i++)
		assert_true(job_worth_retry(yes[i]));
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++)
		assert_false(job_worth_retry(no[i]));
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_backoff), cmocka_unit_test(test_worth) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
