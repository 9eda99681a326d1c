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
	size_t at;         /* byte of the pattern */
	const char *what;  /* static text: "unterminated group", … */
};

struct regex;

/* Flags as JavaScript's constructor takes them: -1 if a letter is unknown, doubled, or u and v meet. */
int regex_flags(struct str letters);

/*
 * Compiles `pattern` (the source without slashes). Lives as long as `a`. NULL: *err says why.
 * JIT code is made where the system allows it; the interpreter is used where it does not.
 */
struct regex *regex_compile(struct arena *a, struct str pattern, int flags, struct regex_error *err);

size_t regex_bytes(const struct regex *re);                        /* held by the pattern, JIT code included */
int regex_groups(const struct regex *re);                          /* capturing groups, group 0 not counted */
int regex_named(const struct regex *re, struct str name);          /* number of a named group, 0 = none */
bool regex_has_names(const struct regex *re);
int regex_get_flags(const struct regex *re);

enum regex_result {
	REGEX_LIMIT = -1, /* steps, depth or heap used up: unknown whether it matches */
	REGEX_NONE = 0,
	REGEX_MATCH = 1,
};

#define REGEX_UNSET SIZE_MAX

struct regex_span {
	size_t from, to; /* bytes of the text; both REGEX_UNSET if the group took no part */
};

/* Work left for one text; counts down over several calls. Start with regex_budget(). */
struct regex_budget {
	int64_t steps;
};
struct regex_budget regex_budget(void); /* the default for one pattern over one text */

/*
 * A text prepared for searching with one pattern, many times. `a` holds what is derived from it.
 * The text must be valid UTF-8 and outlive the search.
 */
struct regex_search {
	struct arena *a;
	const struct regex *re;
	struct str text;             /* as given */
	struct str units;            /* as searched: the same, or with pairs written as two halves */
	struct regex_budget *budget; /* NULL = the default for each match */
	struct str reversed;         /* made at need, for look-behind of open length */
	struct regex_span *span;     /* [regex_groups + 1], of `text`, filled by a match */
	size_t next;                 /* where in `units` the next search starts */
	size_t mark;                 /* pairs of units and text met so far: */
	size_t mark_text;
	bool done;
};

struct regex_search regex_search(struct arena *a, const struct regex *re, struct str text, struct regex_budget *budget);

/*
 * Next match from where the last one ended; without flag g there is one at most. After an empty
 * match the search goes on at the next character, as String.replace does. After REGEX_NONE and
 * REGEX_LIMIT it is over.
 */
enum regex_result regex_next(struct regex_search *s);

/* Does it match anywhere? (flag y: at the start) */
enum regex_result regex_test(const struct regex *re, struct str text);

/*
 * False only if the pattern surely matches nowhere in a text with this fingerprint: a cheap
 * filter to run many patterns over many texts.
 */
struct regex_print {
	uint64_t pairs[64]; /* hashed pairs of neighbouring bytes, ASCII letters folded */
};
void regex_print_text(struct regex_print *out, struct str text);
bool regex_may_match(const struct regex *re, const struct regex_print *print);

#endif
