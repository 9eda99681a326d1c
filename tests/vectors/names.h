/* names: a macro run that knows a user's and a character's name, for kinds whose texts hold macros. */
#ifndef TESTS_NAMES_H
#define TESTS_NAMES_H

#include "macro/macro.h"

struct names {
	struct arena *a;
	struct macro_env env;
	struct macro_member member;
	struct macro_layers layers;
	struct macro_run *run;
	enum macro_owner owner;
};

/* `input` may have `user` and `char`; else they are User and Char. */
void names_begin(struct names *n, struct arena *a, const struct json *input, enum macro_owner owner);
struct str names_char(const struct names *n);
/* Expands a text; `arg` is the struct names. */
struct str names_expand(void *arg, struct str text);

#endif
