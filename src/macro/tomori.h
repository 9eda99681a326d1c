/*
 * tomori: TomoriBot's preset dialect, for the rearrange layout (spec tomori-presets 5, 6). Two passes
 * over all nodes of a preset, and a third when a node's text is emitted:
 *
 *	for every enabled, non-marker, non-comment node in order: macro_tomori_collect
 *	for each of them, any order but once, the order in which chance is drawn: macro_tomori_expand
 *	when the walk reaches a node: macro_tomori_emit
 *
 * Variables live for one build, never in the session. Needs a run for names, clock, chance, tools and
 * warnings; what is put in from messages and memory is never touched by a later step (decisions 37).
 */
#ifndef MACRO_TOMORI_H
#define MACRO_TOMORI_H

#include "macro.h"

struct macro_tomori; /* the variables of one build */
struct macro_tomori *macro_tomori_new(struct macro_run *r);

struct macro_range {
	size_t s, e;
};

struct macro_tomori_node {
	struct str kept; /* after pass 1: chosen branches, tool blocks still in place */
	struct str text; /* after pass 2 and, finally, after emission */
	struct {
		const struct macro_range *v;
		size_t n;
	} frozen;      /* ranges of `text` that no later step touches */
	size_t units;  /* UTF-16 units that macros put in so far */
	bool full;     /* …which reached the limit: the macros left stay as written */
	bool too_deep; /* conditional syntax stays as written */
	bool off;      /* {{trim}} left nothing */
	bool html;     /* holds an HTML tag */
	bool prints_description,
	    prints_personality; /* expanded to a non-empty value: the native block is suppressed */
};

/* Pass 1: picks branches, collects declarations in reading order, remembers the kept text. */
void macro_tomori_collect(struct macro_tomori *t, struct str content, struct macro_tomori_node *n);
/* Pass 2: values, runtime macros, chance, dice, compatibility placeholders, catalogue, trim. */
void macro_tomori_expand(struct macro_tomori *t, struct macro_tomori_node *n);
/* Pass 3: tool and capability branches, tool-name aliases, identity placeholders. Sets n->text. */
void macro_tomori_emit(struct macro_tomori *t, struct macro_tomori_node *n);

/* What the import report says of one node's text. */
struct macro_tomori_audit {
	VEC(struct str) unsupported;        /* distinct labels: "{{group}}", "{{roll:...}}" */
	VEC(struct macro_warning) warnings; /* conditionals, with their place */
	bool comment_only;                  /* only comments, {{trim}} and blanks */
	bool html, time;
};
void macro_tomori_audit(struct arena *a, struct str content, struct macro_tomori_audit *out);

#endif
