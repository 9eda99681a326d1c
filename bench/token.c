/*
 * bench token: tokens per second of CPU, English and Chinese, cold (each piece merged) and as
 * the server counts (piece cache), and texts made to hurt. usage: token [FILE…]
 */
#include "token/token.h"

#include "base/rng.h"
#include "base/sb.h"
#include "base/utf8.h"

#include <stdio.h>
#include <time.h>

enum { TEXT = 1 << 20, ROUNDS = 9 };

static double
cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static const char words[] =
    "the of and to in a is that he was for it with as his on be at by had not are but from or have an they "
    "which one you were all her she there would their we him been has when who will no more if out so up "
    "said "
    "what its about than into them can only other time new some could these two may first then do any like "
    "my "
    "now over such our man me even most made after also did many off before must well back through years "
    "much "
    "where your way down should because long each just state those people too mr how little good world make "
    "very year still see own work men day get here old between both life being under three never know same "
    "another while last us might great lantern whispered harbour silver thunder forgotten kingdom merchant "
    "crossroads candlelight apprentice remembered northern blacksmith unravelling moonlit";

/* Words by Zipf's law, sentences, dialogue, line breaks. */
static struct str
english(struct arena *a)
{
	struct rng r = rng_seed(7);
	struct sb s = sb_new(a);
	struct str list[256], rest = str_c(words), w;
	size_t n = 0;

	while (str_next(&rest, ' ', &w))
		if (w.n > 0)
			list[n++] = w;
	while (s.n < TEXT) {
		double u = rng_unit(&r);

		w = list[(size_t)(u * u * u * (double)n)];
		sb_add(&s, w);
		u = rng_unit(&r);
		sb_adds(&s, u < 0.84   ? " "
			    : u < 0.91 ? ", "
			    : u < 0.96 ? ". "
			    : u < 0.98 ? ".\n\n\""
				       : "'s ");
	}
	return sb_str(&s);
}

/* Ideographs by a steep distribution, in phrases of 3 to 16. */
static struct str
chinese(struct arena *a)
{
	struct rng r = rng_seed(9);
	struct sb s = sb_new(a);

	while (s.n < TEXT) {
		for (uint64_t i = 3 + rng_below(&r, 14); i > 0; i--) {
			double u = rng_unit(&r);

			sb_add_rune(&s, 0x4e00 + (uint32_t)(u * u * 6000));
		}
		sb_adds(&s, rng_below(&r, 4) ? "\xef\xbc\x8c" : "\xe3\x80\x82\n");
	}
	return sb_str(&s);
}

static void
run(const char *name, enum token_encoding e, struct str text)
{
	double best = 1e9, cold = 0;
	size_t n = 0;

	for (int i = 0; i < ROUNDS; i++) {
		double t = cpu_ms();

		n = token_count(e, text);
		t = cpu_ms() - t;
		if (i == 0)
			cold = t;
		best = t < best ? t : best;
	}
	printf("%-12s %-12s %8zu tokens  first %7.2f ms %6.1f M/s   again %7.2f ms %6.1f M/s\n",
	    token_encoding_name(e), name, n, cold, (double)n / cold / 1e3, best, (double)n / best / 1e3);
}

static struct str
repeat(struct arena *a, const char *unit)
{
	struct sb s = sb_new(a);

	while (s.n < TEXT)
		sb_adds(&s, unit);
	return sb_str(&s);
}

static struct str
file(struct arena *a, const char *path)
{
	struct sb s = sb_new(a);
	FILE *f = fopen(path, "rb");
	char buf[8192];
	size_t n;

	while (f && (n = fread(buf, 1, sizeof(buf), f)) > 0)
		sb_add(&s, (struct str){ buf, n });
	if (f)
		fclose(f);
	return sb_str(&s);
}

int
main(int argc, char **argv)
{
	struct arena *a = arena_create("bench", 0);
	double t = cpu_ms();

	token_warm();
	printf("tables of both encodings: %.1f ms\n", cpu_ms() - t);
	for (enum token_encoding e = 0; e < TOKEN__COUNT; e++) {
		run("english", e, english(a));
		run("chinese", e, chinese(a));
		run("aaaa", e, repeat(a, "a"));
		run("blanks", e, repeat(a, " "));
		run("=-=-", e, repeat(a, "=-"));
		for (int i = 1; i < argc; i++)
			run(argv[i], e, file(a, argv[i]));
	}
	arena_destroy(&a);
	return 0;
}
