/*
 * arrange: lays native blocks out by the nodes of a preset (spec tomori-presets): markers pull
 * buckets, custom nodes add texts, what nobody names is flushed at anchors or appended, depth nodes
 * go into history items. And the reader that makes nodes of a preset's file, with its report. Pure.
 */
#ifndef PROMPT_ARRANGE_H
#define PROMPT_ARRANGE_H

#include "base/json.h"
#include "macro/macro.h"

#define ARRANGE_NODES 1000 /* of one preset */

enum arrange_tag {
	TAG_NONE,
	TAG_HUMANIZER_RULES,
	TAG_CHANNEL_PROMPT,
	TAG_PERSONA_PROMPT,
	TAG_PERSONALITY,
	TAG_SERVER_INFO,
	TAG_SERVER_MEMORIES,
	TAG_SERVER_EMOJIS,
	TAG_SERVER_STICKERS,
	TAG_USERS,
	TAG_SHORT_TERM_MEMORY,
	TAG_CONDITIONING,
	TAG_LORE_BEFORE,
	TAG_LORE_AFTER,
	TAG_SAMPLE,
	TAG_HISTORY,
	TAG__COUNT
};
const char *arrange_tag_name(enum arrange_tag t); /* "SYSTEM_HUMANIZER_RULES", …; NULL for TAG_NONE */
enum arrange_tag arrange_tag_find(struct str name);

/* A row of a preset. */
struct arrange_node {
	struct str identifier, name, role, content;
	bool is_marker, is_enabled, is_comment;
	int64_t node_order;
	int32_t position, depth, order; /* injection_*: position 1 = depth node */
};

/* An item of the native list or of the result. */
struct arrange_item {
	const char *role;           /* system, user, assistant */
	enum arrange_tag tag;
	struct {
		struct str *v;
		size_t n, cap;
	} parts;
	size_t from;                /* index of the native item; SIZE_MAX = the preset's */
	struct str identifier;      /* of the node; absent = native */
};
struct arrange_items {
	VEC(struct arrange_item) v;
};

enum arrange_state { NODE_EMITTED, NODE_EMPTY, NODE_DISABLED, NODE_COMMENT, NODE_DEPTH, NODE_MARKER, NODE_UNKNOWN_MARKER };
/* As the trace spells it. */
const char *arrange_state_name(enum arrange_state s);

struct arrange_trace {
	struct str identifier;
	enum arrange_state state;
	bool suppressed;            /* a marker whose block a node prints itself */
	unsigned pulled;            /* 1 << enum arrange_tag */
};

/* Resolved text of a depth node, in the order of merging. */
struct arrange_depth {
	int32_t depth;
	struct str text;
};

struct arranged {
	struct arrange_items items;
	VEC(struct arrange_trace) nodes;
	VEC(const char *) warnings; /* marker_unknown, html_content, depth_no_history; the macros' own are in the run */
	unsigned remainder;         /* tags that nothing pulled */
	struct str knowledge_at, participants_at; /* the marker that flushed them; absent = none did, they stand at the end */
	VEC(struct arrange_depth) depth;
};

struct arrange_input {
	const struct arrange_node *nodes; /* by node_order */
	size_t nnodes;
	const struct arrange_item *native;
	size_t nnative;
	struct str separator;       /* after terminal examples; absent = the built-in sentence */
};

/* The walk. Depth texts are resolved but not merged: history may still be cut. */
struct arranged *arrange(struct arena *a, struct macro_run *run, const struct arrange_input *in);
/* Merges the depth texts into the history items that are there now. */
void arrange_merge(struct arena *a, struct arranged *r);

/* ---- import ---- */

enum arrange_status { ARRANGE_OK, ARRANGE_NOT_A_PRESET, ARRANGE_NO_NODES, ARRANGE_INVALID_INTEGER };
/* As the import's answer spells it. */
const char *arrange_status_name(enum arrange_status s);

struct arrange_import {
	enum arrange_status status;
	const char *kind;           /* "modern", "legacy_text_completion" */
	struct str bad_prompt;      /* ARRANGE_INVALID_INTEGER: its name */
	const char *bad_field;
	VEC(struct arrange_node) nodes;
	size_t enabled, comment_only, disabled;
	VEC(struct str) unsupported; /* distinct labels of enabled nodes */
	bool html, time_before_history;
};

/* Nodes of a preset as its file has them. Texts are borrowed from `doc` or made in `a`. */
void arrange_read(struct arena *a, const struct json *doc, struct arrange_import *out);
/*
 * Switches a node on or off in the file's own way: in the order that arrange_read takes, else at the prompt; nodes that
 * stand in no list (post-history texts, old forms) under `node_toggles`. false = the file has no such node.
 */
bool arrange_toggle(struct arena *a, struct json *doc, struct str identifier, bool on);

#endif
