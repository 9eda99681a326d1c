/*
 * catalogue: the table that dispatches is the table that documents: names, arguments, dialects, help
 * and prompt-cache advice of every macro. And lint: what a text's author would want to be told.
 */
#ifndef MACRO_CATALOGUE_H
#define MACRO_CATALOGUE_H

#include "macro.h"

struct macro_entry {
	const char *name;
	const char *aliases;    /* blank-separated, "" = none */
	const char *args;       /* "::name::value", "" = none */
	unsigned dialects;      /* bits 1 << enum macro_dialect */
	unsigned traits;        /* MACRO_HAS_WRITE, _CHANCE, _TIME */
	enum macro_field field; /* that it prints; MF_NONE = it does more than that */
	const char *group;      /* "names", "variables", … */
	const char *help;
	const char *cache; /* advice on where it may stand; NULL = anywhere */
};
size_t macro_catalogue_count(void);
struct macro_entry macro_catalogue_entry(size_t i);
/* Is `name` this entry's name or one of its aliases, in any case? */
bool macro_entry_is(const struct macro_entry *e, struct str name);
/* The catalogue as the answer of GET /prompt-runtime/macros: {"macros":[…],"blocks":[…],"operators":[…]}. */
struct json *macro_catalogue_json(struct arena *a);

enum macro_lint_code {
	MACRO_LINT_DIALECT, /* means something else in another dialect */
	MACRO_LINT_UNKNOWN,
	MACRO_LINT_WRITE_IN_BRANCH,
	MACRO_LINT_TIME_BEFORE_HISTORY,
	MACRO_LINT_DECISION_BEFORE_HISTORY,
	MACRO_LINT_SYNTAX, /* what evaluation would warn of whatever the values: unclosed, unsupported, … */
	MACRO_LINT__COUNT
};
const char *macro_lint_name(enum macro_lint_code c);

struct macro_lint {
	enum macro_lint_code code;
	const char *message;
	struct str raw;
	uint32_t line, column;
};
struct macro_lints {
	VEC(struct macro_lint) v;
};
struct macro_lint_options {
	bool before_history;                       /* the text stands before the chat history */
	bool (*known)(void *ctx, struct str name); /* an ordinary or preset variable; NULL = none */
	void *ctx;
};
void macro_lint(struct arena *a, const struct macro_template *t, const struct macro_lint_options *o,
    struct macro_lints *out);
/* The findings as the wire shows them: [{"code","message","raw_text","line","column"}]. */
struct json *macro_lints_json(struct arena *a, const struct macro_lints *l);

#endif
