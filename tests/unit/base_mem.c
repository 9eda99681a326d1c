/* arena, vec, map: life times, clean-up order, growth, properties against a plain list. */
#include "base/map.h"
#include "base/rng.h"
#include "base/vec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif
#ifdef WITH_ASAN
#include <sanitizer/asan_interface.h>
#endif

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

static bool
all_zero(const unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

static void
test_alloc_is_zeroed_and_aligned(void **state)
{
	struct arena *t = arena_create("t", 256);

	(void)state;
	for (int round = 0; round < 3; round++) {
		for (size_t n = 0; n < 700; n += 7) {
			unsigned char *p = arena_alloc(t, n);

			assert_non_null(p);
			assert_int_equal((uintptr_t)p % 16, 0);
			assert_true(all_zero(p, n));
			memset(p, 0xaa, n);
		}
		arena_reset(t);
	}
	arena_destroy(&t);
	assert_null(t);
	arena_destroy(&t); /* again is fine */
}

static void
test_pieces_do_not_overlap(void **state)
{
	struct arena *t = arena_create("t", 512);
	unsigned char *p[200];
	size_t n[200];

	(void)state;
	for (size_t i = 0; i < 200; i++) {
		n[i] = i * 37 % 900;
		p[i] = arena_alloc(t, n[i]);
		memset(p[i], (int)i, n[i]);
	}
	for (size_t i = 0; i < 200; i++)
		for (size_t k = 0; k < n[i]; k++)
			assert_int_equal(p[i][k], i);
	arena_destroy(&t);
}

static void
test_reset_keeps_one_block(void **state)
{
	struct arena *t = arena_create("t", 1024);
	size_t first = arena_bytes(t);

	(void)state;
	for (int i = 0; i < 100; i++)
		arena_alloc(t, 1000);
	arena_alloc(t, 1 << 20);
	assert_true(arena_bytes(t) > (1 << 20));
	arena_reset(t);
	assert_int_equal(arena_bytes(t), first);
	arena_destroy(&t);
}

static char trace[64];

static void
note(void *obj)
{
	strncat(trace, obj, sizeof(trace) - strlen(trace) - 1);
}

static char n1[] = "1", n2[] = "2", n3[] = "3", n4[] = "4";

static void
test_deferred_runs_newest_first(void **state)
{
	struct arena *t = arena_create("t", 0);

	(void)state;
	trace[0] = '\0';
	assert_ptr_equal(arena_defer(t, note, n1), n1);
	arena_defer(t, note, n2);
	assert_null(arena_defer(t, note, NULL));
	arena_reset(t);
	assert_string_equal(trace, "21");
	arena_reset(t);
	assert_string_equal(trace, "21"); /* once */
	arena_defer(t, note, n3);
	arena_destroy(&t);
	assert_string_equal(trace, "213");
}

static void
test_rewind_runs_what_came_after(void **state)
{
	struct arena *t = arena_create("t", 256);
	struct arena_mark outer, inner;
	char *before;
	size_t bytes;

	(void)state;
	trace[0] = '\0';
	before = arena_strdup(t, STR("kept"));
	arena_defer(t, note, n1);
	outer = arena_mark(t);
	bytes = arena_bytes(t);
	arena_defer(t, note, n2);
	arena_alloc(t, 5000);
	inner = arena_mark(t);
	arena_defer(t, note, n3);
	arena_rewind(t, inner);
	assert_string_equal(trace, "3");
	arena_defer(t, note, n4);
	arena_rewind(t, outer);
	assert_string_equal(trace, "342");
	assert_int_equal(arena_bytes(t), bytes);
	assert_string_equal(before, "kept");
	arena_destroy(&t);
	assert_string_equal(trace, "3421");
}

static void
test_loop_with_rewind_does_not_grow(void **state)
{
	struct arena *t = arena_create("t", 0);
	size_t held = arena_bytes(t);
	struct arena_mark m = arena_mark(t);

	(void)state;
	for (int i = 0; i < 1000; i++) {
		arena_alloc(t, 9000);
		arena_printf(t, "%d", i);
		arena_rewind(t, m);
	}
	assert_int_equal(arena_bytes(t), held);
	arena_destroy(&t);
}

static void
test_extend(void **state)
{
	struct arena *t = arena_create("t", 1024);
	unsigned char *p = arena_alloc(t, 10), *q;

	(void)state;
	memset(p, 1, 10);
	assert_true(arena_extend(t, p, 10, 100));
	assert_int_equal(p[9], 1);
	memset(p + 10, 2, 90);
	q = arena_alloc(t, 8);
	assert_true(q >= p + 100);
	assert_false(arena_extend(t, p, 100, 200));  /* no longer the newest */
	assert_false(arena_extend(t, q, 8, 100000)); /* no room */
	assert_false(arena_extend(t, q, 8, 4));      /* no shrinking */
	assert_true(arena_extend(t, q, 8, 8));
	arena_destroy(&t);
}

static void
test_copies(void **state)
{
	(void)state;
	assert_string_equal(arena_strdup(a, str_sub(STR("hello"), 1, 3)), "el");
	assert_string_equal(arena_strdup(a, STR_NULL), "");
	assert_null(arena_str(a, STR_NULL).p);
	assert_non_null(arena_str(a, STR("")).p);
	assert_string_equal(arena_printf(a, "%s-%05d", "x", 42), "x-00042");
	assert_memory_equal(arena_copy(a, "a\0b", 4), "a\0b", 4);
	assert_non_null(arena_copy(a, NULL, 0));
}

#ifdef WITH_ASAN
static void
test_poison(void **state)
{
	struct arena *t = arena_create("t", 0);
	struct arena_mark m = arena_mark(t);
	char *p = arena_alloc(t, 13), *q = arena_alloc(t, 13);

	(void)state;
	assert_false(__asan_address_is_poisoned(p + 12));
	for (int i = 13; i < 32; i++)
		assert_true(__asan_address_is_poisoned(p + i));
	assert_true(q >= p + 32);
	arena_rewind(t, m);
	assert_true(__asan_address_is_poisoned(p));
	assert_true(__asan_address_is_poisoned(q));
	p = arena_alloc(t, 8);
	arena_reset(t);
	assert_true(__asan_address_is_poisoned(p));
	arena_destroy(&t);
}
#endif

static void
test_vec(void **state)
{
	VEC(int) v = { 0 };
	VEC(struct { char c[24]; }) w = { 0 };

	(void)state;
	for (int i = 0; i < 1000; i++) {
		vec_push(a, &v, i);
		if (i % 3 == 0)
			vec_add(a, &w)->c[23] = (char)i;
	}
	assert_int_equal(v.n, 1000);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(v.v[i], i);
	assert_int_equal(w.n, 334);
	assert_int_equal(w.v[333].c[23], (char)999);
	assert_true(all_zero((unsigned char *)w.v[333].c, 23));
	assert_int_equal(*vec_last(&v), 999);
	assert_int_equal(vec_pop(&v), 999);
	assert_int_equal(v.n, 999);
}

static void
test_map_basics(void **state)
{
	struct map *m = map_create(a);
	struct map_iter it = { 0 };
	struct str k;
	void *v;
	int x, y;

	(void)state;
	assert_null(map_get(m, STR("none")));
	assert_false(map_has(m, STR("")));
	assert_false(map_del(m, STR("none")));
	assert_false(map_next(m, &it, &k, &v));
	map_set(m, STR(""), &x);
	map_set(m, STR("a"), NULL);
	map_set(m, STR("a\0b"), &y);
	assert_int_equal(map_count(m), 3);
	assert_ptr_equal(map_get(m, STR("")), &x);
	assert_true(map_has(m, STR("a")));
	assert_null(map_get(m, STR("a")));
	assert_ptr_equal(map_get(m, STR("a\0b")), &y);
	map_set(m, STR(""), &y);
	assert_int_equal(map_count(m), 3);
	assert_ptr_equal(map_get(m, STR("")), &y);
	assert_true(map_del(m, STR("a")));
	map_set(m, STR("a"), &x); /* goes to the end */
	it = (struct map_iter){ 0 };
	assert_true(map_next(m, &it, &k, NULL) && k.n == 0);
	assert_true(map_next(m, &it, &k, NULL) && k.n == 3);
	assert_true(map_next(m, &it, &k, &v) && str_is(k, "a") && v == &x);
	assert_false(map_next(m, &it, &k, &v));
}

static void
test_map_copies_keys(void **state)
{
	struct map *m = map_create(a);
	char key[] = "key";

	(void)state;
	map_set(m, str_c(key), key);
	key[0] = 'x';
	assert_true(map_has(m, STR("key")));
	assert_false(map_has(m, STR("xey")));
}

/* Random sets and deletions, checked against an array. */
static void
test_map_against_array(void **state)
{
	enum { KEYS = 300 };
	struct map *m = map_create(a);
	static int values[KEYS];
	bool there[KEYS] = { false };
	struct rng r = rng_seed(7);
	size_t count = 0;

	(void)state;
	for (int step = 0; step < 20000; step++) {
		size_t i = rng_below(&r, KEYS);
		char buf[16];
		struct str key = { buf, (size_t)snprintf(buf, sizeof(buf), "k%zu", i) };

		assert_int_equal(map_has(m, key), there[i]);
		if (rng_below(&r, 2)) {
			map_set(m, key, &values[i]);
			count += !there[i];
			there[i] = true;
		} else {
			assert_int_equal(map_del(m, key), there[i]);
			count -= there[i];
			there[i] = false;
		}
		assert_int_equal(map_count(m), count);
		assert_ptr_equal(map_get(m, key), there[i] ? &values[i] : NULL);
	}
}

static void
test_map_churn_is_bounded(void **state)
{
	struct arena *t = arena_create("t", 0);
	struct map *m = map_create(t);
	size_t held;

	(void)state;
	map_set(m, STR("one"), m);
	held = arena_bytes(t);
	for (int i = 0; i < 1000; i++) {
		map_del(m, STR("one"));
		map_set(m, STR("one"), m);
	}
	/* Holes are reused; each set copies its key (at most 64 bytes with the gap). */
	assert_true(arena_bytes(t) <= held + 1000 * 64 + (64 << 10));
	arena_destroy(&t);
}

/* Every length and every byte counts, and so does the seed. */
static void
test_hash(void **state)
{
	unsigned char p[64];
	uint64_t seen[64];

	(void)state;
	for (size_t i = 0; i < 64; i++)
		p[i] = (unsigned char)i;
	for (size_t n = 0; n < 64; n++) {
		seen[n] = hash_bytes(1, p, n);
		assert_int_equal(seen[n], hash_bytes(1, p, n));
		assert_int_not_equal(seen[n], hash_bytes(2, p, n));
		for (size_t k = 0; k < n; k++)
			assert_int_not_equal(seen[n], seen[k]);
	}
	p[9] ^= 1;
	assert_int_not_equal(hash_bytes(1, p, 10), seen[10]);
	assert_int_equal(hash_seed(), hash_seed());
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alloc_is_zeroed_and_aligned),
		cmocka_unit_test(test_pieces_do_not_overlap),
		cmocka_unit_test(test_reset_keeps_one_block),
		cmocka_unit_test(test_deferred_runs_newest_first),
		cmocka_unit_test(test_rewind_runs_what_came_after),
		cmocka_unit_test(test_loop_with_rewind_does_not_grow),
		cmocka_unit_test(test_extend),
		cmocka_unit_test(test_copies),
#ifdef WITH_ASAN
		cmocka_unit_test(test_poison),
#endif
		cmocka_unit_test(test_vec),
		cmocka_unit_test(test_map_basics),
		cmocka_unit_test(test_map_copies_keys),
		cmocka_unit_test(test_map_against_array),
		cmocka_unit_test(test_map_churn_is_bounded),
		cmocka_unit_test(test_hash),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
