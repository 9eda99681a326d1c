/*
 * branch: a branch is a list of ranges over segments (design 4, dryrun 3): range i is
 * (his[i-1], his[i]] of segs[i], before the first -1; the last segment is the branch's own.
 * Pure: reads the two array columns and cuts windows out of the ranges; the scans are queries.
 */
#ifndef STORE_BRANCH_H
#define STORE_BRANCH_H

#include "base/arena.h"

struct branch {
	int64_t no;
	struct str id;
	int64_t *segs;      /* [n] */
	int32_t *his;       /* [n] */
	size_t n;
	int32_t head;       /* floor number of the last floor, -1 = none */
};

/* Part of a branch inside one segment: floors (lo, hi]. */
struct branch_range {
	int64_t segment;
	int32_t lo, hi;
};

/* Reads `{1,2}` array texts of the columns segs and his. -1 if they do not fit each other. */
int branch_read(struct arena *a, struct branch *b, struct str segs, struct str his);

static inline int64_t
branch_own_segment(const struct branch *b)
{
	return b->segs[b->n - 1];
}

/*
 * The range whose segment holds the branch's variables as of floor `at` (-1 = before the first): the last one that
 * begins there or before. A segment's log begins with the values at its beginning, so one segment is enough.
 */
size_t branch_log_range(const struct branch *b, int32_t at);

/* Floor number up to which two branches are the same story; -1 = nothing in common. */
int32_t branch_common(const struct branch *a, const struct branch *b);

/* The ranges that meet floors [from, to], newest first; *n_out of them. */
struct branch_range *branch_window(struct arena *a, const struct branch *b, int32_t from, int32_t to, size_t *n_out);

#endif
