/*
 * bench: the macro engine. A template of 100 KB with 2,000 macros and 200 if blocks, and one forty times as
 * long: compile and evaluate, evaluate alone, with traces on; text without macros; one line as cards hold it.
 * Limits are raised: the product's own would stop at 8,192 steps. Processor time; prints the best and the
 * median of the rounds.
 */
#include "macro/macro.h"

#include "base/sb.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 500

struct scene {
	struct macro_env env;
	struct macro_member member;
	struct macro_layers layers;
};

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* `size` bytes with ten macros to a block, each block one if: names, reads, a write, a nested macro. */
static struct str
make_template(struct arena *a, size_t size, size_t macros, size_t blocks)
{
	static const char *const kinds[] = { "{{user}}", "{{char}}", "{{getvar::mood}}",
		"{{setvar::place::the old mill}}", "{{getvar::角色.力量}}", "{{description}}",
		"{{addvar::turns::1}}", "{{getglobalvar::world}}" };
	size_t each = macros / blocks - 2; /* the condition and the branch hold the others */
	size_t fill = size / macros;
	struct sb sb = sb_new(a);

	for (size_t b = 0; b < blocks; b++) {
		for (size_t m = 0; m < each; m++) {
			size_t start = sb.n;

			sb_adds(&sb, kinds[(b + m) % (sizeof(kinds) / sizeof(kinds[0]))]);
			while (sb.n - start < fill)
				sb_adds(&sb, "She looked up from the map. ");
			sb_truncate(&sb, start + fill);
		}
		sb_adds(&sb, "{{if {{getvar::mood}} == calm and 3 > 2}}\n{{char}} smiles.\n{{else}}\nA "
			     "frown.\n{{/if}}");
	}
	return sb_str(&sb);
}

static void
scene_init(struct arena *a, struct scene *s, bool trace)
{
	static const char local[] = "{\"mood\":\"calm\",\"turns\":\"3\",\"角色\":{\"力量\":9}}";
	struct json_error err;

	*s = (struct scene){ 0 };
	s->layers.branch = json_read(a, str_c(local), 16, &err);
	s->layers.global = json_read(a, STR("{\"world\":\"earth\"}"), 16, &err);
	s->member.field[MF_CHAR].text = STR("Seraphina");
	s->member.field[MF_DESCRIPTION].text = STR("A guardian of the forest, patient and kind.");
	s->env = (struct macro_env){
		.phase = MACRO_ASSEMBLE,
		.limits = { .depth = 64,
		    .steps = 1u << 30,
		    .length = 1u << 30,
		    .writes = 1u << 30,
		    .warnings = 100 },
		.trace = trace,
		.time_awareness = true,
		.members = &s->member,
		.n_members = 1,
		.vars = macro_vars_layers(&s->layers),
	};
	s->env.field[MF_USER].text = STR("Alice");
}

enum what { COMPILE_AND_EVALUATE, EVALUATE, COMPILE };

static double
round_us(
    enum what what, struct str text, const struct macro_template *t, const struct scene *s, struct arena *a)
{
	struct timespec t0, t1;

	arena_reset(a);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t0);
	if (what != EVALUATE)
		t = macro_compile(a, text, MACRO_AUTO);
	if (what != COMPILE)
		macro_eval(macro_run_new(a, &s->env), &(struct macro_piece){ .tpl = t });
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t1);
	return (double)(t1.tv_sec - t0.tv_sec) * 1e6 + (double)(t1.tv_nsec - t0.tv_nsec) / 1e3;
}

static const char *only; /* of the command line: part of the names of what is run */

static void
measure(const char *name, enum what what, struct str text, bool trace, size_t macros)
{
	struct arena *keep = arena_create("bench", 0), *a = arena_create("round", 8u << 20);
	const struct macro_template *t = macro_compile(keep, text, MACRO_AUTO);
	size_t rounds = text.n > (1u << 20) ? ROUNDS / 10 : ROUNDS;
	double *us = arena_array(keep, double, rounds);
	struct scene s;

	if (only && !strstr(name, only)) {
		arena_destroy(&a);
		arena_destroy(&keep);
		return;
	}
	scene_init(keep, &s, trace);
	for (int i = 0; i < 3; i++)
		round_us(what, text, t, &s, a);
	for (size_t i = 0; i < rounds; i++)
		us[i] = round_us(what, text, t, &s, a);
	qsort(us, rounds, sizeof(*us), by_value);
	printf("%-34s best %9.1f us  median %9.1f us  %7.1f MB/s", name, us[0], us[rounds / 2],
	    (double)text.n / us[0]);
	if (macros)
		printf("  %6.1f ns/macro", us[0] * 1000 / (double)macros);
	printf("\n");
	arena_destroy(&a);
	arena_destroy(&keep);
}

int
main(int argc, char **argv)
{
	struct arena *a = arena_create("bench", 0);
	struct str text = make_template(a, 100000, 2000, 200), big = make_template(a, 4000000, 80000, 8000);
	struct str line = STR("{{char}} greets {{user}}: {{if {{getvar::mood}} == "
			      "calm}}softly{{else}}loudly{{/if}}, as she always did before.");
	struct sb plain = sb_new(a);

	mallopt(M_MMAP_THRESHOLD, 1 << 20); /* as the daemon has it: memory given back is taken again */
	mallopt(M_TRIM_THRESHOLD, 4 << 20);
	only = argc > 1 ? argv[1] : NULL;
	while (plain.n < 4000000)
		sb_adds(&plain,
		    "A long evening passed; <i>nobody</i> spoke {not a word}, and the fire burned low. ");
	printf("template: %zu bytes, 2000 macros, 200 ifs\n", text.n);
	measure("compile + evaluate, 100 KB", COMPILE_AND_EVALUATE, text, false, 2000);
	measure("evaluate, 100 KB", EVALUATE, text, false, 2000);
	measure("compile, 100 KB", COMPILE, text, false, 2000);
	measure("evaluate with traces, 100 KB", EVALUATE, text, true, 2000);
	measure("compile + evaluate, 4 MB", COMPILE_AND_EVALUATE, big, false, 80000);
	measure("evaluate, 4 MB", EVALUATE, big, false, 80000);
	measure("text without macros, 4 MB", COMPILE_AND_EVALUATE, sb_str(&plain), false, 0);
	measure("one line with a block", COMPILE_AND_EVALUATE, line, false, 4);
	arena_destroy(&a);
	return 0;
}
