/*
 * js (private to regex): a JavaScript pattern as a tree, the parser that makes it, and the sets
 * of code points its classes are. Knows nothing of PCRE2.
 */
#ifndef REGEX_JS_H
#define REGEX_JS_H

#include "base/vec.h"
#include "regex/regex.h"

enum {
	JS_PATTERN_MAX = 64 << 10, /* bytes of a pattern */
	JS_DEPTH_MAX = 120,        /* groups inside groups */
	JS_GROUPS_MAX = 2000,
	JS_NODES_MAX = 100000,
	JS_REPEAT_MAX = 65535, /* PCRE2's largest counted repeat */
	JS_INF = -1,
	RUNE_MAX = 0x10ffff,
};

/* Sorted ranges that neither overlap nor touch. */
struct js_range {
	uint32_t lo, hi;
};

struct js_set {
	VEC(struct js_range) r;
};

void js_set_add(struct arena *a, struct js_set *s, uint32_t lo, uint32_t hi);
void js_set_invert(struct arena *a, struct js_set *s);
bool js_set_has(const struct js_set *s, uint32_t rune);
/* \d \s \w and, in upper case, what is not in them. `fold_words`: \w under flags i and u. */
void js_set_escape(struct arena *a, struct js_set *s, char letter, bool fold_words);
/* Adds what equals a member when case is ignored without flag u. */
void js_set_fold(struct arena *a, struct js_set *s);
/* The set of one character under the same rule. */
struct js_set js_set_fold_rune(struct arena *a, uint32_t rune);

/* A \p{…} of a JavaScript pattern in PCRE2's spelling (without \p and braces); STR_NULL if JavaScript has no
 * such property. */
struct str js_property(struct arena *a, struct str name, bool *invert_out);

enum js_type {
	JS_CHAR, /* rune */
	JS_ANY,  /* . */
	JS_CLASS,
	JS_START,    /* ^ */
	JS_END,      /* $ */
	JS_WORD,     /* \b */
	JS_NOT_WORD, /* \B */
	JS_GROUP,    /* group > 0: capturing */
	JS_LOOK,     /* behind, negative */
	JS_BACKREF,  /* group, or name */
	JS_REPEAT,   /* min, max, lazy; child */
	JS_CAT,
	JS_ALT,
};

struct js_property_item {
	struct str name;
	bool invert;
};

struct js_class {
	bool negated;
	struct js_set set;
	VEC(struct js_property_item) properties;
};

struct js_node {
	enum js_type type;
	struct js_node *child, *next;
	uint32_t rune;
	int group;    /* GROUP, BACKREF: number in JavaScript's count */
	int min, max; /* REPEAT; max JS_INF = open */
	bool lazy, behind, negative;
	bool icase, dotall, multiline; /* the flags that hold here */
	bool escaped_half;             /* CHAR: a surrogate written by itself */
	struct js_class *cls;
	struct str name; /* BACKREF */
	int marker; /* REPEAT: PCRE2 group that marks where its last turn began, 0 = none (set by the writer)
		     */
};

struct js_name {
	struct str name;
	int group;
};

struct js_pattern {
	struct js_node *root;
	int groups;
	VEC(struct js_name) names;
	bool unicode;
	bool halves; /* some surrogate is written by itself */
};

/* 0, or -1 with *err filled. */
int js_parse(struct arena *a, struct str src, int flags, struct js_pattern *out, struct regex_error *err);

/*
 * What PCRE2 is given. Groups are renumbered, because some are added: a repeat whose groups may be
 * skipped in a turn starts each turn with an empty group, and a group that matched before it is stale.
 */
struct js_group {
	int number; /* PCRE2's; 0 = never set */
	int marker; /* index + 1 into markers, 0 = none */
};

struct js_marker {
	int number;
	int outer; /* index + 1 of the marker of the repeat around it, 0 = none */
};

/* A look-behind of open length: a call-out that matches `pattern` forwards from here in the reversed text. */
struct js_behind {
	struct str pattern;
	bool negative;
};

struct js_program {
	struct str pattern;
	struct js_group *group; /* [groups + 1] of the pattern */
	VEC(struct js_marker) markers;
	VEC(struct js_behind) behinds;
};

/* 0, or -1 with *err filled. Sets the marker of the tree's repeats. */
int js_write(struct arena *a, struct js_pattern *pattern, struct js_program *out, struct regex_error *err);

/*
 * What every matching text must contain: for each of the alternatives of the pattern a list of
 * bits of a regex_print. No alternatives = nothing is known.
 */
struct js_need {
	const uint16_t *bit;
	size_t n;
};

struct js_needs {
	VEC(struct js_need) any;
};

/* Read off the pattern; may know less than there is. */
struct js_needs js_needs(struct arena *a, const struct js_pattern *pattern);

#endif
