/*
 * regex: JavaScript regular expressions on PCRE2. A pattern is parsed as JavaScript (with the
 * web's leniency when the u flag is off), refused where JavaScript refuses it, and written out
 * again as a PCRE2 pattern that finds the same spans (spec st-assembly 3.1; decisions 40).
 *
 * Text is UTF-8. Without the u flag a character above U+FFFF counts as two for `.` and counted
 * repeats, as in JavaScript; but no match and no capture ever holds half of one: it belongs to
 * whoever takes its first half.
 *
 * A compiled pattern is immutable and may be used by any number of threads; match data and the
 * JIT stack belong to the thread and are made at first use. Every match is bounded (steps, depth,
 * heap); hitting a bound is a result of its own, never a hang. Knows nothing of scripts or macros.
 */
#ifndef REGEX_REGEX_H
#define REGEX_REGEX_H

#include "base/arena.h"

enum regex_flag {
	REGEX_G = 1 << 0,
	REGEX_I = 1 << 1,
	REGEX_M = 1 << 2,
	REGEX_S = 1 << 3,
	REGEX_U = 1 << 4,
	REGEX_Y = 1 << 5, /* matches at the start offset only */
	REGEX_D = 1 << 6, /* no meaning here */
};

enum regex_fault {
	REGEX_OK,
	REGEX_SYNTAX,      /* JavaScript would throw */
	REGEX_UNSUPPORTED, /* JavaScript would not, we do: `what` says what */
	REGEX_TOO_BIG,     /* pattern, nesting or compiled size over the limit */
};

struct regex_error {
	enum regex_fault fault;
	size_t at;        /* byte of the pattern */
	const char *what; /* static text: "unterminated group", … */
};

struct regex;

/* Flags as JavaScript's constructor takes them: -1 if a letter is unknown, doubled, or u and v meet. */
int regex_flags(struct str letters);

/*
 * Compiles `pattern` (the source without slashes). Lives as long as `a`. NULL: *err says why.
 * JIT code is made where the system allows it; the interpreter is used where it does not.
 */
struct regex *regex_compile(struct arena *a, struct str pattern, int flags, struct regex_error *err);

size_t regex_bytes(const struct regex *re); /* held by the pattern, JIT code included */
int regex_groups(const struct regex *re);   /* capturing groups, group 0 not counted */
bool regex_jitted(const struct regex *re);  /* false: the interpreter runs it */

enum regex_result {
	REGEX_LIMIT = -1, /* steps, depth or heap used up: unknown whether it matches */
	REGEX_NONE = 0,
	REGEX_MATCH = 1,
};

#define REGEX_UNSET SIZE_MAX

struct regex_span {
	size_t from, to; /* bytes of the searched text; both REGEX_UNSET if the group took no part */
};

/*
 * CPU time left, in microseconds, for a piece of work with untrusted patterns: one budget may be
 * shared by many searches. Looked at only where steps cannot be counted, so that results do not
 * depend on it unless a pattern is hostile.
 */
struct regex_budget {
	int64_t us;
};
#define REGEX_BUDGET_US 150000 /* of one pattern over one text, if the caller brings none */

/* A search with one pattern through one text. */
struct regex_search {
	const struct regex *re;
	struct arena *a;         /* what is derived from the text */
	struct str units;        /* the text as it is searched; spans point into it */
	struct regex_span *span; /* [regex_groups + 1]: the last match */
	struct regex_budget *budget, own;
	struct str reversed; /* made at need */
	size_t next;         /* where the search goes on */
	bool halves;         /* pairs in units are written as two halves */
	bool done;
};

/*
 * Starts a search; the text must be valid UTF-8 and live as long. Without flag u a text with
 * characters above U+FFFF is searched in a copy that has them as two halves of three bytes each:
 * regex_text() makes a part of `units` UTF-8 again.
 */
void regex_search(struct regex_search *s, struct arena *a, const struct regex *re, struct str text,
    struct regex_budget *budget);
struct str regex_text(struct arena *a, struct str units);

/*
 * Next match from where the last one ended; without flag g there is one at most. After an empty
 * match the search goes on at the next character, as String.replace does. After REGEX_NONE and
 * REGEX_LIMIT it is over.
 */
enum regex_result regex_next(struct regex_search *s);

/* Span of the group of that name that took part in the last match; false = none. */
bool regex_named(const struct regex_search *s, struct str name, struct regex_span *out);

/* Does it match anywhere? (flag y: at the start.) `a` is scratch; budget may be NULL. */
enum regex_result regex_test(
    struct arena *a, const struct regex *re, struct str text, struct regex_budget *budget);

/*
 * False only if the pattern surely matches nowhere in a text with this fingerprint: a cheap
 * filter to run many patterns over many texts.
 */
#define REGEX_PRINT_PAIRS 8192
struct regex_print {
	/* pairs of neighbouring bytes, hashed; then single bytes; ASCII letters folded */
	uint64_t bits[(REGEX_PRINT_PAIRS + 256) / 64];
};
void regex_print_text(struct regex_print *out, struct str text);
bool regex_may_match(const struct regex *re, const struct regex_print *print);

#endif
