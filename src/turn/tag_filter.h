/*
 * tag_filter: takes <summary>…</summary> out of a model's text as it streams. What readers see never
 * holds a tag or its content; a tag cut over any number of pieces is still one. Fixed size, no
 * allocation: it runs on the loop thread. Tag names match in any case, blanks inside the tag are allowed.
 */
#ifndef TURN_TAG_FILTER_H
#define TURN_TAG_FILTER_H

#include "base/vec.h"

#define TAG_HOLD 32 /* longest "<  /  summary  >" that is still a tag */

struct tag_filter {
	bool inside;
	bool trim;           /* the blanks that come next are not shown: behind a summary, and where a reply begins */
	size_t held;
	char hold[TAG_HOLD]; /* what may become a tag */
};

/*
 * Feeds a piece; visible parts go to out(arg, …), zero or more calls. last = true: the text ends,
 * what is held and no tag is shown; an unclosed summary stays hidden.
 */
void tag_filter_feed(struct tag_filter *f, struct str piece, bool last, void (*out)(void *arg, struct str), void *arg);

/* A whole text: the visible part and the summaries, trimmed, empty ones left out. */
struct tagged {
	struct str visible;
	VEC(struct str) summaries;
};
struct tagged tag_split(struct arena *a, struct str text);

#endif
