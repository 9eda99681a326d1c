/*
 * bench lore: CPU of a scan over 100 KB in 1 KB messages: 500 and 5,000 entries with plain keys (three
 * each, English and Chinese), whole words on, regex keys apart. Figures that must hold: 1 ms and 3 ms.
 */
#include "lore/lore.h"
#include "base/rng.h"
#include "base/sb.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MESSAGES = 100, MESSAGE = 1024, ROUNDS = 101, WARM = 10 };

static double
cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static const char *const syllables[] = { "kar", "ron", "mil", "ten", "dra", "vel", "shi", "orm", "und", "lys",
	"bre", "tho", "gan", "eld", "qui", "sar", "nim", "pol", "xen", "wyr", "fal", "gri", "hes", "jor",
	"cad", "bal", "zan", "yth", "pra", "lum", "ost", "vir" };
static const char *const signs[] = { "\xe5\x89\x91", "\xe9\xad\x94", "\xe6\xb3\x95", "\xe5\x9f\x8e",
	"\xe9\xbe\x99", "\xe6\x9c\x88", "\xe9\x9b\xaa", "\xe7\x8e\x8b", "\xe5\xb1\xb1", "\xe6\xb2\xb3",
	"\xe9\xa3\x8e", "\xe4\xba\x91", "\xe6\x98\x9f", "\xe6\x9e\x97", "\xe6\xb5\xb7", "\xe7\x81\xab" };

/* A word as a fantasy world has them; one in four is Chinese, one in eight of two words. */
static void
add_name(struct sb *out, struct rng *r)
{
	size_t n = 2 + rng_below(r, 3);

	if (rng_below(r, 4) == 0) {
		for (size_t i = 0; i < n; i++)
			sb_adds(out, signs[rng_below(r, 16)]);
		return;
	}
	for (size_t i = 0; i < n; i++)
		sb_adds(out, syllables[rng_below(r, 32)]);
	if (rng_below(r, 8) == 0)
		sb_addf(out, " of %s%s", syllables[rng_below(r, 32)], syllables[rng_below(r, 32)]);
}

static struct lore_text *
chat(struct arena *a)
{
	static const char *const common[] = { "the", "of", "and", "she", "looked", "at", "him", "with", "a",
		"smile", "then", "said", "quietly", "I", "do", "not", "know", "door", "rain", "hand" };
	struct lore_text *m = arena_array(a, struct lore_text, MESSAGES);
	struct rng r = rng_seed(3);

	for (size_t i = 0; i < MESSAGES; i++) {
		struct sb s = sb_new(a);

		while (s.n < MESSAGE) {
			if (rng_below(&r, 30) == 0)
				add_name(&s, &r);
			else
				sb_adds(&s, common[rng_below(&r, 20)]);
			sb_adds(&s, rng_below(&r, 9) ? " " : ". ");
		}
		m[i] = (struct lore_text){ STR("Name"), sb_str(&s) };
	}
	return m;
}

static struct lore_book *
book(struct arena *a, size_t n, bool regexes)
{
	struct lore_entry *v = arena_array(a, struct lore_entry, n);
	struct rng r = rng_seed(11);

	for (size_t i = 0; i < n; i++) {
		struct str *keys = arena_array(a, struct str, 3);

		for (size_t k = 0; k < 3; k++) {
			struct sb s = sb_new(a);

			sb_adds(&s, regexes ? "/\\b" : "");
			add_name(&s, &r);
			sb_adds(&s, regexes ? "(?:s|'s)?\\b/i" : "");
			keys[k] = sb_str(&s);
		}
		v[i] = lore_entry_defaults();
		v[i].uid = (int64_t)i;
		v[i].keys = (struct lore_strs){ keys, 3 };
		v[i].content = STR("A short text about a place, a person or a thing of this world.");
	}
	return lore_book_compile(a, STR("bench"), v, n);
}

static int
by_value(const void *x, const void *y)
{
	double p = *(const double *)x, q = *(const double *)y;

	return p < q ? -1 : p > q;
}

static bool
run(const char *what, size_t n, bool regexes, bool whole, double limit)
{
	struct arena *a = arena_create("bench", 1 << 20);
	struct lore_scan in = { .messages = chat(a),
		.nmessages = MESSAGES,
		.max_context = 1000000,
		.settings = lore_settings_defaults() };
	struct lore_bound bound = { book(a, n, regexes), LORE_GLOBAL };
	struct lore_binding b = { .books = &bound, .nbooks = 1, .whole_words = whole };
	double took[ROUNDS], compiled = cpu_ms();
	const struct lore_set *set = lore_set_compile(a, &b);
	size_t active = 0;

	compiled = cpu_ms() - compiled;
	in.settings.scan_depth = MESSAGES;
	for (int i = -WARM; i < ROUNDS; i++) {
		double *t = &took[i < 0 ? 0 : i];
		struct arena_mark m = arena_mark(a);

		*t = cpu_ms();
		active = lore_run(a, set, &in)->nactive;
		*t = cpu_ms() - *t;
		arena_rewind(a, m);
	}
	qsort(took, ROUNDS, sizeof took[0], by_value);
	printf("%-28s %5zu entries: %7.3f ms (best %.3f), %zu active, automata built in %.1f ms%s\n", what, n,
	    took[ROUNDS / 2], took[0], active, compiled,
	    limit > 0 && took[ROUNDS / 2] > limit ? "  TOO SLOW" : "");
	arena_destroy(&a);
	return limit <= 0 || took[ROUNDS / 2] <= limit;
}

/* usage: lore [plain] */
int
main(int argc, char **argv)
{
	bool ok = run("plain keys", 20, false, false, 0);

	ok = run("plain keys", 500, false, false, 1) && ok;
	ok = run("plain keys", 2000, false, false, 0) && ok;
	ok = run("plain keys", 5000, false, false, 3) && ok;
	ok = run("plain keys, whole words", 5000, false, true, 3) && ok;
	(void)argv;
	ok = (argc > 1 || run("regex keys", 100, true, false, 0)) && ok;
	return ok ? 0 : 1;
}
