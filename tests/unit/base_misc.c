/* rng, id, err, log, file. */
#include "base/ctx.h"
#include "base/file.h"
#include "base/id.h"
#include "base/limits.h"
#include "base/rng.h"
#include "base/sb.h"
#include "base/stack.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#undef fail /* cmocka's; ours is meant here */

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
test_rng_is_reproducible(void **state)
{
	/* splitmix64 of seed 0 begins with these numbers. */
	struct rng r = rng_seed(0), s = rng_seed(0), t = rng_seed(1);

	(void)state;
	assert_true(r.s[0] == 0xe220a8397b1dcdafu && r.s[1] == 0x6e789e6aa1b965f4u);
	for (int i = 0; i < 1000; i++)
		assert_true(rng_next(&r) == rng_next(&s));
	assert_true(rng_next(&s) != rng_next(&t));
	/* xoshiro256** from the state 1, 2, 3, 4. */
	r = (struct rng){ { 1, 2, 3, 4 } };
	assert_true(rng_next(&r) == 11520);
	assert_true(rng_next(&r) == 0);
	assert_true(rng_next(&r) == 1509978240);
	assert_true(rng_next(&r) == 1215971899390074240);
}

static void
test_rng_ranges(void **state)
{
	struct rng r = rng_seed(99);
	int hits[6] = { 0 };

	(void)state;
	for (int i = 0; i < 60000; i++) {
		double u = rng_unit(&r);

		assert_true(u >= 0 && u < 1);
		hits[rng_below(&r, 6)]++;
	}
	for (int i = 0; i < 6; i++)
		assert_true(hits[i] > 9500 && hits[i] < 10500);
	assert_true(rng_below(&r, 1) == 0);
	for (int i = 0; i < 100; i++)
		assert_true(rng_below(&r, UINT64_MAX) < UINT64_MAX);
}

static void
test_rng_system(void **state)
{
	uint8_t x[32] = { 0 }, y[32] = { 0 };

	(void)state;
	rng_system(x, sizeof(x));
	rng_system(y, sizeof(y));
	assert_memory_not_equal(x, y, sizeof(x));
	rng_system(x, 0);
}

static void
test_id_spelling(void **state)
{
	static const uint8_t none[10] = { 0 };
	uint8_t all[10];

	(void)state;
	memset(all, 0xff, sizeof(all));
	assert_string_equal(id_make(0, none).s, "---------------------");
	assert_string_equal(id_make(-5, none).s, "---------------------");
	assert_string_equal(id_make((INT64_C(1) << 48) - 1, all).s, "zzzzzzzzzzzzzzzzzzzzz");
	assert_string_equal(id_make(INT64_MAX, all).s, "zzzzzzzzzzzzzzzzzzzzz");
	/* 48 bits of time are the first eight characters. */
	assert_string_equal(id_make(1, none).s, "-------0-------------");
	assert_string_equal(id_make(64, none).s, "------0--------------");
	assert_int_equal(strlen(id_make(1, none).s), ID_LEN);
}

static void
test_id_order_is_time_order(void **state)
{
	struct rng r = rng_seed(5);

	(void)state;
	for (int i = 0; i < 10000; i++) {
		uint8_t x[10], y[10];
		int64_t t = (int64_t)(rng_next(&r) >> 17), u = t + 1 + (int64_t)rng_below(&r, 1000);

		for (int k = 0; k < 10; k++) {
			x[k] = (uint8_t)rng_next(&r);
			y[k] = (uint8_t)rng_next(&r);
		}
		assert_true(strcmp(id_make(t, x).s, id_make(u, y).s) < 0);
	}
}

static void
test_ids_of_a_process_ascend(void **state)
{
	struct id last = id_new(1000000000000), next;

	(void)state;
	for (int i = 0; i < 10000; i++) {
		next = id_new(1000000000000 - i % 7); /* the clock may stand or step back */
		assert_true(strcmp(last.s, next.s) < 0);
		assert_true(id_valid(str_c(next.s)));
		last = next;
	}
	assert_memory_equal(next.s, id_make(1000000000000, (uint8_t[10]){ 0 }).s, 7);
}

static void
test_ids_after_fork_differ(void **state)
{
	int ends[2], status;
	struct id mine, theirs;
	pid_t child;

	(void)state;
	id_new(2000000000000);
	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		mine = id_new(2000000000000);
		_exit(write(ends[1], mine.s, sizeof(mine.s)) != sizeof(mine.s));
	}
	mine = id_new(2000000000000);
	assert_int_equal(read(ends[0], theirs.s, sizeof(theirs.s)), sizeof(theirs.s));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_string_not_equal(mine.s, theirs.s);
	close(ends[0]);
	close(ends[1]);
}

static void
test_id_valid(void **state)
{
	char longest[ID_MAX + 1];

	(void)state;
	memset(longest, 'x', sizeof(longest));
	assert_true(id_valid((struct str){ longest, ID_MAX }));
	assert_false(id_valid((struct str){ longest, ID_MAX + 1 }));
	assert_false(id_valid(STR("")));
	assert_false(id_valid(STR_NULL));
	assert_true(id_valid(STR("with space/\xe4\xb8\xad")));
	assert_false(id_valid(STR("a\nb")));
	assert_false(id_valid(STR("a\x7f")));
	assert_false(id_valid(STR("a\0b")));
	assert_false(id_valid(STR("\xff")));
}

static void
test_first_failure_sticks(void **state)
{
	struct ctx c = { .a = a };

	(void)state;
	assert_false(failed(&c));
	assert_int_equal(fail(&c, ERR_NOT_FOUND, "chat_not_found", "no chat \"%s\"", "x"), -1);
	assert_int_equal(fail(&c, ERR_INTERNAL, "later", "later"), -1);
	assert_int_equal(fail_field(&c, "/a", "required", "later"), -1);
	assert_true(failed(&c));
	assert_int_equal(c.err.kind, ERR_NOT_FOUND);
	assert_string_equal(c.err.code, "chat_not_found");
	assert_string_equal(c.err.msg, "no chat \"x\"");
	assert_int_equal(c.err.fields.n, 0);
	assert_int_equal(fail_log(&c, "row %d", 1), -1);
	fail_log(&c, "row %d", 2);
	assert_string_equal(c.err.log, "row 1; row 2");
	assert_int_equal(fail_details(&c, "{}"), -1);
	assert_string_equal(c.err.details, "{}");
	err_clear(&c);
	assert_false(failed(&c));
	assert_null(c.err.log);
}

static void
test_field_failures_collect(void **state)
{
	struct ctx c = { .a = a };

	(void)state;
	for (int i = 0; i < LIM_FIELD_ERRORS + 10; i++)
		assert_int_equal(
		    fail_field(&c, arena_printf(a, "/%d", i), "required", "field %d is required", i), -1);
	assert_int_equal(c.err.kind, ERR_INVALID);
	assert_string_equal(c.err.code, "validation_error");
	assert_int_equal(c.err.fields.n, LIM_FIELD_ERRORS);
	assert_string_equal(c.err.fields.v[3].path, "/3");
	assert_string_equal(c.err.fields.v[3].message, "field 3 is required");
}

/* What log_write puts on stderr. */
static const char *
logged(void (*fn)(void))
{
	int ends[2], saved = dup(STDERR_FILENO);
	static char buf[8192];
	ssize_t n;

	assert_int_equal(pipe(ends), 0);
	dup2(ends[1], STDERR_FILENO);
	fn();
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(ends[1]);
	n = read(ends[0], buf, sizeof(buf) - 1);
	close(ends[0]);
	buf[n > 0 ? n : 0] = '\0';
	return buf;
}

static void
log_controls(void)
{
	log_request("req-1");
	log_warn("some.event", "text=%s n=%d", "a\nb\x01\x7f", 7);
	log_request(NULL);
}

static void
log_below(void)
{
	log_debug("quiet", "%s", "x");
}

static void
log_long(void)
{
	char big[9000];

	memset(big, 'x', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	log_request(big);
	log_info("big", "%s", big);
	log_request(NULL);
}

static void
test_log(void **state)
{
	const char *line = logged(log_controls);

	(void)state;
	assert_true(str_starts(str_c(line), STR("<warn> 2")));
	assert_non_null(strstr(line, " some.event "));
	assert_non_null(strstr(line, " rid=req-1"));
	assert_true(str_ends(str_c(line), STR(" text=a\\nb\\x01\\x7f n=7\n")));
	assert_string_equal(logged(log_below), "");
	line = logged(log_long);
	assert_true(strlen(line) <= 4096);
	assert_true(str_ends(str_c(line), STR("x\n")));
	assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
}

static void
test_file_read(void **state)
{
	char path[] = "/tmp/base_misc_XXXXXX";
	int fd = mkstemp(path);
	struct str s;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "a\0bcd", 5), 5);
	close(fd);
	s = file_read(a, path, 5);
	assert_int_equal(s.n, 5);
	assert_memory_equal(s.p, "a\0bcd", 6);
	assert_null(file_read(a, path, 4).p);
	assert_int_equal(errno, EFBIG);
	assert_int_equal(truncate(path, 0), 0);
	s = file_read(a, path, 0);
	assert_non_null(s.p);
	assert_int_equal(s.n, 0);
	unlink(path);
	assert_null(file_read(a, path, 5).p);
	assert_int_equal(errno, ENOENT);
	assert_null(file_read(a, "/", 5).p);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_null(file_read(a, path, 5).p);
	unlink(path);
	assert_true(file_read(a, "/proc/self/stat", 4096).n > 0);
}

/* ---- stack ---- */

#define DEEP (100u << 10) /* bytes of stack that a call touches once */

/* Pages of the calling thread's stack that are in memory. */
static size_t
stack_resident(void)
{
	size_t size, n = 0, page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char in[256] = { 0 };
	pthread_attr_t attr;
	void *low;

	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstack(&attr, &low, &size);
	pthread_attr_destroy(&attr);
	low = (void *)(((uintptr_t)low + page - 1) & ~(page - 1));
	if (size / page > sizeof(in) || mincore(low, size, in) != 0)
		return 0;
	for (size_t i = 0; i < size / page; i++)
		n += in[i] & 1;
	return n;
}

static __attribute__((noinline)) void
touch_deep(void)
{
	volatile char all[DEEP];

	for (size_t i = 0; i < sizeof(all); i += 1024)
		all[i] = 1;
}

static void *
trim_on_thread(void *arg)
{
	volatile char mine[3000];
	size_t *pages = arg;

	for (size_t i = 0; i < sizeof(mine); i++)
		mine[i] = 'x';
	touch_deep();
	pages[0] = stack_resident();
	stack_trim();
	pages[1] = stack_resident();
	for (size_t i = 0; i < sizeof(mine); i++)
		pages[2] += mine[i] == 'x';
	return NULL;
}

static void
test_stack_trim(void **state)
{
	size_t pages[3] = { 0 };
	pthread_attr_t attr;
	pthread_t th;

	(void)state;
	stack_trim(); /* the first thread: nothing happens */
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 << 10);
	assert_int_equal(pthread_create(&th, &attr, trim_on_thread, pages), 0);
	pthread_attr_destroy(&attr);
	pthread_join(th, NULL);
	assert_int_equal(pages[2], 3000);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
	assert_true(pages[0] >= DEEP / 4096);
	assert_true(pages[1] < 8);
#endif
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rng_is_reproducible),
		cmocka_unit_test(test_rng_ranges),
		cmocka_unit_test(test_rng_system),
		cmocka_unit_test(test_id_spelling),
		cmocka_unit_test(test_id_order_is_time_order),
		cmocka_unit_test(test_ids_of_a_process_ascend),
		cmocka_unit_test(test_ids_after_fork_differ),
		cmocka_unit_test(test_id_valid),
		cmocka_unit_test(test_first_failure_sticks),
		cmocka_unit_test(test_field_failures_collect),
		cmocka_unit_test(test_log),
		cmocka_unit_test(test_file_read),
		cmocka_unit_test(test_stack_trim),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
