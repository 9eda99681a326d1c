/* The cache of compiled assets: held entries stay alive, the oldest go first, threads do not disagree. */
#include "turn/asset_cache.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const void *
add(struct asset_cache *k, struct ctx *c, uint64_t key, size_t bytes)
{
	struct arena *own = arena_create("asset", 4096);
	uint64_t *obj = arena_alloc(own, sizeof(*obj) + bytes);

	*obj = key;
	return asset_cache_add(k, c, CACHED_PRESET, key, own, obj, 0);
}

static void
test_get_and_evict(void **state)
{
	struct arena *process = arena_create("process", 0);
	struct asset_cache *k = asset_cache_create(process, 200000);
	struct ctx held = { .a = arena_create("held", 0) };
	struct asset_cache_stats st;
	const uint64_t *first = add(k, &held, 1, 20000);

	(void)state;
	for (uint64_t key = 2; key < 100; key++) {
		struct ctx c = { .a = arena_create("request", 0) };

		assert_int_equal(*(const uint64_t *)add(k, &c, key, 20000), key);
		assert_ptr_equal(asset_cache_get(k, &c, CACHED_CARD, key), NULL);
		arena_destroy(&c.a);
	}
	asset_cache_stats(k, &st);
	assert_true(st.bytes <= 200000 && st.entries > 2 && st.entries < 11);
	assert_int_equal(*first, 1); /* evicted, but held */
	assert_ptr_equal(asset_cache_get(k, &held, CACHED_PRESET, 1), NULL);
	assert_int_equal(*(const uint64_t *)asset_cache_get(k, &held, CACHED_PRESET, 99), 99);
	arena_destroy(&held.a);
	asset_cache_destroy(k);
	arena_destroy(&process);
}

static void
test_second_add_loses(void **state)
{
	struct arena *process = arena_create("process", 0);
	struct asset_cache *k = asset_cache_create(process, 200000);
	struct ctx c = { .a = arena_create("request", 0) };
	const void *first = add(k, &c, 5, 10);

	(void)state;
	assert_ptr_equal(add(k, &c, 5, 10), first);
	arena_destroy(&c.a);
	asset_cache_destroy(k);
	arena_destroy(&process);
}

static void *
hammer(void *arg)
{
	for (uint64_t i = 0; i < 3000; i++) {
		struct ctx c = { .a = arena_create("request", 0) };
		uint64_t key = 1 + i % 37;
		const uint64_t *v = asset_cache_get(arg, &c, CACHED_PRESET, key);

		if (v == NULL)
			v = add(arg, &c, key, 8000);
		if (*v != key)
			return arg;
		arena_destroy(&c.a);
	}
	return NULL;
}

static void
test_threads(void **state)
{
	struct arena *process = arena_create("process", 0);
	struct asset_cache *k = asset_cache_create(process, 100000);
	pthread_t t[4];
	void *bad;

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&t[i], NULL, hammer, k), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &bad);
		assert_ptr_equal(bad, NULL);
	}
	asset_cache_destroy(k);
	arena_destroy(&process);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_get_and_evict),
		cmocka_unit_test(test_second_add_loses),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
