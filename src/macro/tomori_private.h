/*
 * tomori_private: what the passes share: the build's variables, its names, and texts of which
 * parts are frozen: put in from messages or memory, never looked into again.
 */
#ifndef MACRO_TOMORI_PRIVATE_H
#define MACRO_TOMORI_PRIVATE_H

#include "macro/macro_private.h"
#include "macro/tomori.h"

/* What the truth of a text hangs on: its first bytes between outer blanks, one more than the longest false word. */
struct squeezed {
	char p[6];
	unsigned n;
	bool lead, gap; /* blanks before and behind */
};

struct tomori_var {
	struct str s;
	struct sb grown; /* holds s once something was appended */
	bool own;
	struct squeezed truth;
};

struct macro_tomori {
	struct macro_run *r;
	struct map *vars; /* key -> struct tomori_var * */
	unsigned steps;   /* macros of the catalogue run for the node at hand */
};

/* A text being rewritten. */
struct ftext {
	struct sb sb;
	VEC(struct macro_range) frozen;
};

struct tomori_value {
	struct str s;
	bool known, frozen;
	bool description, personality; /* which card text it is */
};

/* What a name stands for in this dialect: content, runtime and identity macros, getvar::key. */
struct tomori_value tomori_name(struct macro_tomori *t, struct str name);
bool tomori_known(struct str name);                                /* whether it is one of these names */
bool tomori_is_tool(const struct ev *ev, const struct node *open); /* {{if tool:x}}, not {{#if}} */
bool tomori_html(struct str s);                                    /* holds an HTML tag */

#endif
