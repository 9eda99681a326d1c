/*
 * keys (private to lore): many plain texts looked for at once. An Aho-Corasick automaton over
 * bytes, its children side by side so that a step is a look at a few neighbouring bytes. Immutable
 * when built; what was found is kept by the scan (struct keys_scan).
 */
#ifndef LORE_KEYS_H
#define LORE_KEYS_H

#include "base/vec.h"

struct keys_pattern {
	struct str text; /* not empty */
	bool whole;      /* only between characters that are no words' */
};

struct keys;

/* Patterns get their index as number; equal ones may be given twice. Borrowed: the texts must live as long.
 */
struct keys *keys_build(struct arena *a, const struct keys_pattern *v, size_t n, bool unicode_words);
size_t keys_count(const struct keys *k);

/* One scan's memory of the automaton: which ends of patterns were met in the text at hand. */
struct keys_scan {
	const struct keys *k;
	uint32_t *stamp; /* [2 * (patterns + 1)]: plain, with word borders */
	uint32_t text;   /* number of the text at hand, from 1 */
};

/* The working memory of one thread for scans with these keys. */
struct keys_scan keys_scan_new(struct arena *a, const struct keys *k);

/* Calls found(arg, pattern) for every pattern in the text, at least once each. Linear in the text but for
 * whole words. */
void keys_find(struct keys_scan *s, struct str text, void (*found)(void *arg, size_t pattern), void *arg);

/* Is the one text in the other by the same rules? */
bool keys_in(struct str text, struct keys_pattern p, bool unicode_words);

#endif
