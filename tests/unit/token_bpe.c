/* token: known ids, losslessness, counting, hostile texts, threads, models. */
#include "token/token.h"

#include "token/split.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

static struct arena *a;

static int
setup(void **state)
{
	(void)state;
	a = arena_create("test", 0);
	token_warm();
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	arena_destroy(&a);
	return 0;
}

static struct str
ids_text(enum token_encoding e, struct str text)
{
	uint32_t *ids;
	size_t n = token_encode(a, e, text, &ids);
	char *s = arena_alloc(a, n * 12 + 1), *p = s;

	for (size_t i = 0; i < n; i++)
		p += sprintf(p, "%s%u", i > 0 ? "," : "", ids[i]);
	assert_int_equal(token_count(e, text), n);
	assert_int_equal(token_count(e, text), n); /* again, from the cache */
	return (struct str){ s, (size_t)(p - s) };
}

#define IDS(e, text, want) assert_string_equal(ids_text((e), STR(text)).p, (want))

static void
test_known_ids(void **state)
{
	(void)state;
	IDS(TOKEN_O200K, "", "");
	IDS(TOKEN_O200K, "a'\xc5\xbf b", "64,6,70067,287");
	IDS(TOKEN_O200K,
	    "\xef\xbb\xbf\xef\xbb\xbf"
	    "b",
	    "135153,65");
	IDS(TOKEN_O200K, "x  \n  \n  y  ", "87,59384,220,342,256");
	IDS(TOKEN_O200K, "<|endoftext|>", "27,91,419,1440,919,91,29");
	IDS(TOKEN_CL100K, "can'LLs", "4919,6,4178,82");
	IDS(TOKEN_CL100K, "x\r\n\r\n  y", "87,881,220,379");
	IDS(TOKEN_CL100K, "<|endoftext|>", "27,91,8862,728,428,91,29");
}

/* The bytes of the tokens are the text again, whatever its bytes. */
static void
check_lossless(enum token_encoding e, struct str text)
{
	uint32_t *ids;
	size_t n = token_encode(a, e, text, &ids), at = 0;

	for (size_t i = 0; i < n; i++) {
		struct str t = token_bytes(e, ids[i]);

		assert_true(t.n > 0 && at + t.n <= text.n);
		assert_memory_equal(t.p, text.p + at, t.n);
		at += t.n;
	}
	assert_int_equal(at, text.n);
	assert_int_equal(token_count(e, text), n);
}

static void
test_lossless(void **state)
{
	uint64_t seed = 1;
	char buf[400];

	(void)state;
	for (int round = 0; round < 4000; round++) {
		size_t n = 0;

		while (n < sizeof(buf) - 4 && n < (size_t)round % 397 + 1) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			buf[n++] = (char)(seed >> 56); /* any byte: mostly bad UTF-8 */
		}
		check_lossless(round % 2 ? TOKEN_O200K : TOKEN_CL100K, (struct str){ buf, n });
	}
	check_lossless(TOKEN_O200K, (struct str){ "\0\0a\0", 4 });
	check_lossless(TOKEN_CL100K, STR("\xe4\xb8"));
	assert_null(token_bytes(TOKEN_O200K, 199998).p);
}

/* Long and short merging agree: the same text as one piece of 128 bytes and of more. */
static void
test_heap_equals_scan(void **state)
{
	char text[1200];

	(void)state;
	for (size_t n = 100; n < sizeof(text); n += 37) {
		for (size_t i = 0; i < n; i++)
			text[i] = "etaoinshrdlu"[(i * i + n) % 12];
		check_lossless(TOKEN_O200K, (struct str){ text, n });
		check_lossless(TOKEN_CL100K, (struct str){ text, n });
	}
}

static double
count_ms(enum token_encoding e, const char *unit, size_t bytes)
{
	size_t len = strlen(unit), n = bytes / len * len;
	char *text = malloc(n);
	struct timespec t0, t1;

	assert_non_null(text);
	for (size_t i = 0; i < n; i += len)
		memcpy(text + i, unit, len);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t0);
	assert_true(token_count(e, (struct str){ text, n }) > 0);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t1);
	free(text);
	return (double)(t1.tv_sec - t0.tv_sec) * 1e3 + (double)(t1.tv_nsec - t0.tv_nsec) / 1e6;
}

/* Ten times the text may cost 10 log n, not 100: quadratic merging of one megabyte takes minutes. */
static void
test_no_quadratic_case(void **state)
{
	static const char *const units[] = { "a", " ", "=-", "\n", "\xe4\xb8\x80",
		("\xe4\xb8\x80"
		 "A"),
		"\xcc\x81", "'s", " \n \n  x", "\xff", "A\xcc\x81", "/", "aB" };

	(void)state;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		for (enum token_encoding e = 0; e < TOKEN__COUNT; e++) {
			double small = count_ms(e, units[i], 100000), large = count_ms(e, units[i], 1000000);

			if (large > 40 * small + 200)
				fail_msg("%s x 1 MB: %.0f ms, 0.1 MB: %.0f ms", units[i], large, small);
		}
}

static void
test_classes(void **state)
{
	static const struct {
		uint32_t rune;
		enum split_class want;
	} rows[] = { { 'A', CLASS_UPPER }, { 'z', CLASS_LOWER }, { '7', CLASS_NUMBER }, { ' ', CLASS_SPACE },
		{ '\n', CLASS_BREAK }, { '\t', CLASS_SPACE }, { 0, CLASS_OTHER }, { 0x85, CLASS_SPACE },
		{ 0xa0, CLASS_SPACE }, { 0x180e, CLASS_OTHER }, { 0xfeff, CLASS_OTHER },
		{ 0x3000, CLASS_SPACE }, { 0x1c5, CLASS_UPPER }, { 0x17f, CLASS_LOWER }, { 0xaa, CLASS_BOTH },
		{ 0x4e00, CLASS_BOTH }, { 0x301, CLASS_MARK }, { 0x2167, CLASS_NUMBER },
		{ 0x1f600, CLASS_OTHER }, { 0x10ffff, CLASS_OTHER }, { 0x110000, CLASS_OTHER },
		{ 0x30000, CLASS_BOTH } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (split_class_of(rows[i].rune) != rows[i].want)
			fail_msg("U+%04X: class %d, not %d", rows[i].rune, split_class_of(rows[i].rune),
			    rows[i].want);
}

/* Texts whose pieces share cache words, counted by several threads: always the number of one. */
static void *
count_thread(void *arg)
{
	size_t bad = 0;
	char text[64];

	(void)arg;
	for (int i = 0; i < 20000; i++) {
		int n = snprintf(text, sizeof(text), "xq%dzz%dkk", i % 977 * 7919, i % 31);
		size_t got = token_count(TOKEN_O200K, (struct str){ text, (size_t)n });
		struct arena *mine = arena_create("thread", 0);
		uint32_t *ids;

		bad += got != token_encode(mine, TOKEN_O200K, (struct str){ text, (size_t)n }, &ids);
		arena_destroy(&mine);
	}
	return (void *)bad;
}

static void
test_threads(void **state)
{
	pthread_t t[4];
	void *bad;

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&t[i], NULL, count_thread, NULL), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &bad);
		assert_null(bad);
	}
}

static void
test_models(void **state)
{
	static const struct {
		const char *model, *encoding, *fallback;
	} rows[] = {
		{ "gpt-4o-2024-08-06", "o200k_base", NULL },
		{ "openai/gpt-4o-mini", "o200k_base", NULL },
		{ "GPT-5.1", "o200k_base", NULL },
		{ "gpt-4-0613", "cl100k_base", NULL },
		{ "gpt-4-turbo", "cl100k_base", NULL },
		{ "gpt-4.1-nano", "o200k_base", NULL },
		{ "gpt-3.5-turbo-16k", "cl100k_base", NULL },
		{ "ft:gpt-3.5-turbo:acme::x", "cl100k_base", NULL },
		{ "o1", "o200k_base", NULL },
		{ "o3-mini", "o200k_base", NULL },
		{ "o1x", "o200k_base", "model_unknown" },
		{ "anthropic/claude-sonnet-4-5", "o200k_base", "model_other_tokenizer" },
		{ "models/gemini-2.5-pro", "o200k_base", "model_other_tokenizer" },
		{ "deepseek-chat", "o200k_base", "model_other_tokenizer" },
		{ "my-own-thing", "o200k_base", "model_unknown" },
		{ "", "o200k_base", "model_unknown" },
	};
	enum token_encoding e;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct token_choice c = token_for_model(str_c(rows[i].model));

		assert_string_equal(c.name, rows[i].encoding);
		assert_string_equal(c.fallback ? c.fallback : "-", rows[i].fallback ? rows[i].fallback : "-");
	}
	assert_true(token_encoding_find(STR("cl100k_base"), &e));
	assert_int_equal(e, TOKEN_CL100K);
	assert_false(token_encoding_find(STR("p50k_base"), &e));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_ids),
		cmocka_unit_test(test_lossless),
		cmocka_unit_test(test_heap_equals_scan),
		cmocka_unit_test(test_no_quadratic_case),
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_models),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
