/* js_parse (private to regex): the state shared by the two halves of the parser. */
#ifndef REGEX_JS_PARSE_H
#define REGEX_JS_PARSE_H

#include "base/sb.h"
#include "regex/js.h"

enum {
	JS_NAMES_MAX = 200,
	JS_CLASS_MAX = 4096, /* members of one class */
};

/* Where a group stands: the alternative taken in each group around it. */
struct js_step {
	int group, alternative;
};

struct js_name_path {
	struct js_step *at;
	size_t n;
};

struct js_parser {
	struct arena *a;
	struct str src;
	size_t pos;
	int flags; /* that hold here */
	struct js_pattern *out;
	struct regex_error *err;
	int groups;     /* of the whole pattern */
	bool has_names; /* of the whole pattern */
	int opened, disjunctions, nodes;
	VEC(struct js_step) path;
	VEC(struct js_name_path) paths; /* of out->names */
	VEC(struct str) named_refs;
};

int js_fail(
    struct js_parser *p, enum regex_fault fault, size_t at, const char *what); /* -1; the first one stays */
bool js_at(const struct js_parser *p, const char *word);
bool js_take(struct js_parser *p, const char *word);
struct js_node *js_node_new(struct js_parser *p, enum js_type type);
int js_group_name(struct js_parser *p, struct str *out);
bool js_counts(struct js_parser *p, int *min, int *max);

/* js_escape.c */
struct js_node *js_parse_escape(struct js_parser *p);
struct js_node *js_parse_class(struct js_parser *p);
bool js_unicode_escape(struct js_parser *p, bool braces, uint32_t *rune); /* after "\u" */

#endif
