/*
 * run: `run KIND FILE [-v] [ID…]` runs the cases of a vector file, or only those whose id is named.
 * Prints a line for each case that does not pass (with -v for every case) and ends with
 * "N passed, N failed" (", N skipped" if any). Exit status 0 = none failed.
 * Knows no product code: that is the kinds' business.
 */
#include "vectors.h"

#include "base/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CASE_CHUNK = 1 << 16, SHOWN_MAX = 400 };

static const struct vector_kind *const kinds[] = {
#define VECTOR_KIND(id) &vectors_##id,
#include "kinds.def"
#undef VECTOR_KIND
	NULL,
};

struct run {
	const struct vector_kind *kind;
	const struct json *file;
	char *const *only; /* ids, NULL-terminated */
	bool verbose;
	int count[3];      /* by verdict + 1 */
};

/* A text for one line of a report: long ones are cut. */
static void
add_shown(struct sb *out, struct str s)
{
	sb_add_json(out, str_sub(s, 0, SHOWN_MAX));
	if (s.n > SHOWN_MAX)
		sb_addf(out, "... (%zu bytes)", s.n);
}

int
vector_check_str(struct sb *why, const char *what, struct str expected, struct str got)
{
	if (str_eq(expected, got))
		return VECTOR_PASS;
	sb_addf(why, "%s%s: expected ", why->n > 0 ? "; " : "", what);
	add_shown(why, expected);
	sb_adds(why, ", got ");
	add_shown(why, got);
	return VECTOR_FAIL;
}

int
vector_check_json(struct sb *why, const char *what, const struct json *expected, const struct json *got)
{
	if (json_equal(expected, got))
		return VECTOR_PASS;
	return vector_check_str(why, what, json_text(why->a, expected), json_text(why->a, got));
}

/* The escape \u0000 as that of U+FDEF. */
static struct str
mark_nul(struct arena *a, struct str text)
{
	struct sb out = sb_new(a);

	for (size_t i = 0; i < text.n;) {
		bool escape = text.p[i] == '\\', nul = str_starts(str_sub(text, i, text.n), STR("\\u0000"));
		size_t n = nul ? 6 : escape ? 2 : 1;

		if (nul)
			sb_adds(&out, "\\ufdef");
		else
			sb_add(&out, str_sub(text, i, i + n));
		i += n;
	}
	return sb_str(&out);
}

struct str
vector_nul(struct arena *a, struct str s)
{
	struct sb out = sb_new(a);

	for (size_t i = 0; i < s.n;) {
		bool nul = str_starts(str_sub(s, i, s.n), STR(VECTOR_NUL));

		sb_addc(&out, nul ? '\0' : s.p[i]);
		i += nul ? sizeof VECTOR_NUL - 1 : 1;
	}
	return sb_str(&out);
}

static struct str
file_read(struct arena *a, const char *path)
{
	FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
	struct sb sb = sb_new(a);
	char buf[1 << 14];
	size_t n;

	if (f == NULL)
		return STR_NULL;
	while ((n = fread(buf, 1, sizeof buf, f)) > 0)
		sb_add(&sb, (struct str){ buf, n });
	if (f != stdin)
		fclose(f);
	return sb_str(&sb);
}

static bool
wanted(char *const *only, struct str id)
{
	if (*only == NULL)
		return true;
	for (; *only != NULL; only++)
		if (str_eq(str_c(*only), id))
			return true;
	return false;
}

static void
run_one(struct run *run, struct arena *a, const struct json *case_)
{
	static const char *const words[] = { "not ok", "ok", "skip" };
	struct ctx c = { .a = a, .rid = "vector" };
	struct str id = json_get_str(case_, "id");
	struct sb why = sb_new(a);
	int verdict;

	if (!wanted(run->only, id))
		return;
	verdict = run->kind->run_case(&c, run->file, case_, &why);
	run->count[verdict + 1]++;
	if (verdict != VECTOR_PASS || run->verbose)
		printf("%s %s %.*s%s%s\n", words[verdict + 1], run->kind->name, STR_ARG(id), why.n > 0 ? ": " : "",
		    sb_c(&why));
}

static void
run_array(struct run *run, const struct json *cases)
{
	for (size_t i = 0; i < json_len(cases); i++) {
		struct arena *a = arena_create("vector", CASE_CHUNK);

		run_one(run, a, json_at(cases, i));
		arena_destroy(&a);
	}
}

static const struct vector_kind *
kind_find(const char *name)
{
	for (size_t i = 0; kinds[i] != NULL; i++)
		if (strcmp(kinds[i]->name, name) == 0)
			return kinds[i];
	return NULL;
}

static int
usage(void)
{
	fputs("usage: run KIND FILE [-v] [ID...]\nkinds:", stderr);
	for (size_t i = 0; kinds[i] != NULL; i++)
		fprintf(stderr, " %s", kinds[i]->name);
	fputs("\n", stderr);
	return 2;
}

/* The document is a list of cases, or an object with `cases` and what else the kind names. */
static void
run_file(struct run *run)
{
	const char *const *more = run->kind->more_arrays;

	run_array(run, json_type(run->file) == JSON_ARRAY ? run->file : json_get(run->file, "cases"));
	for (; more != NULL && *more != NULL; more++)
		run_array(run, json_get(run->file, *more));
}

int
main(int argc, char **argv)
{
	struct arena *a = arena_create("vectors", 0);
	struct run run = { .only = argv + 3 };
	struct json_error bad = { 0 };
	struct str text;

	if (argc < 3 || (run.kind = kind_find(argv[1])) == NULL)
		return usage();
	if (argc > 3 && strcmp(argv[3], "-v") == 0) {
		run.verbose = true;
		run.only++;
	}
	text = file_read(a, argv[2]);
	if (run.kind->keeps_nul)
		text = mark_nul(a, text);
	run.file = json_read(a, text, LIM_JSON_DEPTH, &bad);
	if (run.file == NULL) {
		fprintf(stderr, "%s:%d:%d: %s\n", argv[2], bad.line, bad.column, bad.what != NULL ? bad.what : "cannot be read");
		return 2;
	}
	run_file(&run);
	printf("%d passed, %d failed", run.count[VECTOR_PASS + 1], run.count[VECTOR_FAIL + 1]);
	if (run.count[VECTOR_SKIP + 1] > 0)
		printf(", %d skipped", run.count[VECTOR_SKIP + 1]);
	printf("\n");
	arena_destroy(&a);
	return run.count[VECTOR_FAIL + 1] > 0 || run.count[VECTOR_PASS + 1] == 0 ? 1 : 0;
}
