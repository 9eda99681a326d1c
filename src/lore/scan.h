/*
 * scan (private to lore): the scanned text, piece by piece, and where which key was found. Pieces
 * are messages, further sources, injected texts and what activated entries wrote; each is searched
 * once. What an entry may look into is decided when it is tested.
 */
#ifndef LORE_SCAN_H
#define LORE_SCAN_H

#include "base/sb.h"
#include "lore/lore_private.h"

enum { DEPTH_MAX = 1000, NOT_FOUND = 0x7f7f, JOINED_MAX = 16 };

/* Where a pattern was found first. */
struct hit {
	int16_t message; /* newest first, NOT_FOUND = in none */
	int16_t injected;
	int16_t recursion; /* pass whose entries wrote it, capped below NOT_FOUND */
	uint8_t sources;   /* 1 << enum lore_source */
};

struct piece {
	struct str text, lower;
	bool lowered;
	enum lore_place place;
	int32_t index;
};

/* One pair of automata at work: the set's, or those of keys that became known in a pass. */
struct matcher {
	struct keys_scan scan[MATCH__COUNT];
	struct hit *hits[MATCH__COUNT];
	size_t searched; /* pieces */
};

/* What an entry looks into. */
struct view {
	int32_t depth; /* messages; 0 or less = nothing at all */
	unsigned sources;
	bool recursion;
};

/* The text of a view as one, for what cannot be looked for piece by piece. */
struct joined {
	struct view view;
	size_t pieces; /* recursion texts in it */
	struct str text, lower;
	bool lowered;
	struct regex_print print;
};

/* A key as it is tested: a book's, or one whose macros were expanded. */
struct test_key {
	struct book_key key;
	const struct matcher *matcher; /* NULL: not looked for by an automaton */
	uint32_t pattern;
};

struct found {
	bool is;
	enum lore_place place;
	int32_t index;
	bool limited; /* a regex key hit its limit */
};

struct scan {
	struct arena *a;
	const struct lore_set *set;
	const struct lore_scan *in;
	VEC(struct piece)
	pieces;           /* messages up to `depth` do not come first: order is the order of arrival */
	int32_t messages; /* messages taken so far */
	VEC(struct matcher *) matchers; /* the first is the set's */
	struct arena *joins;            /* of `joined`, which is emptied when it is full */
	VEC(struct joined *) joined;
	size_t recursions;
	struct regex_budget budget;
};

void scan_begin(struct scan *s, struct arena *a, const struct lore_set *set, const struct lore_scan *in);
/* Takes messages up to that depth into the scanned text. */
void scan_deepen(struct scan *s, int32_t depth);
void scan_add_recursion(struct scan *s, struct str text, int32_t pass);

/* Starts to look for more patterns: exact ones and those in lower case. */
const struct matcher *scan_add_matcher(struct scan *s, const struct keys *exact, const struct keys *lower);

struct found scan_test(struct scan *s, const struct candidate *c, const struct test_key *k, struct view v);
/* Is the key in the text as it was written (not trimmed, no macros run)? Group scores count so. */
bool scan_score(struct scan *s, const struct candidate *c, const struct book_key *raw,
    const struct test_key *k, struct view v);

#endif
