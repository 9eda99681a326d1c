/*
 * vectors: files of expected values under tests/vectors, and the one program that runs them.
 * A kind of vectors is a row: its name (also the file's, KIND.json), and a function that runs one
 * case through the product's public interfaces. A new kind is a file here that defines its row,
 * a line in kinds.def, and a line in module.mk.
 */
#ifndef TESTS_VECTORS_H
#define TESTS_VECTORS_H

#include "base/ctx.h"
#include "base/json.h"
#include "base/sb.h"

enum vector_verdict { VECTOR_FAIL = -1, VECTOR_PASS = 0, VECTOR_SKIP = 1 };

struct vector_kind {
	const char *name;
	/*
	 * Runs one case. `file` is the whole document (conventions, shared data), `case_` the case;
	 * c->a is a fresh arena. Returns a vector_verdict; whatever is not VECTOR_PASS says its reason in `why`.
	 */
	int (*run_case)(struct ctx *c, const struct json *file, const struct json *case_, struct sb *why);
	/* Other arrays of the document that hold cases, besides `cases`; NULL-terminated, NULL = none. */
	const char *const *more_arrays;
	/* NULs of the document's texts, which the reader of JSON drops, arrive as VECTOR_NUL (vector_nul brings them back). */
	bool keeps_nul;
};

#define VECTOR_NUL "\xef\xb7\xaf" /* U+FDEF, which no text holds */
struct str vector_nul(struct arena *a, struct str s);

#define VECTOR_KIND(id) extern const struct vector_kind vectors_##id;
#include "kinds.def"
#undef VECTOR_KIND

/* Adds "WHAT: expected X, got Y" to `why` and returns VECTOR_FAIL when the texts differ; VECTOR_PASS when equal. */
int vector_check_str(struct sb *why, const char *what, struct str expected, struct str got);
/* The same for JSON values, printed compactly. Either may be NULL (JSON null). */
int vector_check_json(struct sb *why, const char *what, const struct json *expected, const struct json *got);

#endif
