/* replace (private to regex): SillyTavern's replacement language, compiled. */
#ifndef REGEX_REPLACE_H
#define REGEX_REPLACE_H

#include "base/sb.h"
#include "regex/script.h"

enum replace_kind { REPLACE_TEXT, REPLACE_GROUP, REPLACE_NAME };

struct replace_item {
	enum replace_kind kind;
	struct str text; /* TEXT, NAME */
	size_t group;    /* GROUP; 0 = the match */
};

struct replace {
	VEC(struct replace_item) items;
	bool macros; /* the text may hold some */
	bool nested; /* a group stands inside a macro's braces */
};

/* Compiles a replacement string; texts are copied into `a`. */
void replace_compile(struct arena *a, struct str source, struct replace *out);

/* One script at work on one text. */
struct replace_run {
	struct arena *a;
	const struct replace *r;
	const struct regex_script *script;
	const struct regex_call *call;
	struct regex_search *search;
	struct str text; /* what is searched, as UTF-8 */
	struct sb out;
	const struct regex_own *own_in; /* NULL = not asked for */
	struct regex_own *own_out;
	struct replace ready; /* the items with their macros expanded */
	const struct str *trim;
	bool prepared;
	size_t mark, mark_text; /* a place in search->units and the same in `text` */
};

/* Appends what stands between matches: [from, to) of the searched text. */
void replace_between(struct replace_run *run, size_t from, size_t to);
/* Appends the replacement of the search's last match. */
void replace_match(struct replace_run *run);

#endif
