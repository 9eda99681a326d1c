/* run (private to lore): one scan under way. */
#ifndef LORE_RUN_H
#define LORE_RUN_H

#include "base/rng.h"
#include "lore/scan.h"
#include "lore/timed.h"

enum pass_kind { PASS_FIRST, PASS_RECURSION, PASS_MIN_ACTIVATIONS };

/* What is known of a candidate. */
struct standing {
	struct test_key *keys, *secondary; /* of entries with macros in their keys, once they are known */
	bool eligible; /* not switched off, filtered out or bound twice: the rest is decided pass by pass */
	bool active, failed, forced;
	struct str content;
	size_t tokens;
};

struct run {
	struct arena *a;
	const struct lore_set *set;
	const struct lore_scan *in;
	struct scan scan;
	struct timed timed;
	struct rng rng;
	struct standing *standing; /* [candidates] */
	struct lore_result *out;
	VEC(size_t) active; /* candidates in the order of activation */
	int64_t messages;
	int32_t depth; /* scan depth with its skew */
	int32_t level; /* delay level that recursion has reached */
	int32_t recursions;
	enum pass_kind kind;
	struct str carried;     /* texts of earlier passes, as the budget counts them */
	int64_t carried_tokens; /* not less than count(carried) */
	VEC(struct str) unanswered;
};

/* The key i of a candidate, ready to be tested. */
struct test_key run_key(const struct run *r, size_t candidate, bool secondary, size_t i);
struct view run_view(const struct run *r, const struct candidate *c);
double run_roll(struct run *r);

/* group.c: takes losers of inclusion groups out of the list of new candidates. */
struct newcomers {
	size_t *v;
	size_t n;
};
void groups_filter(struct run *r, struct newcomers *list);

/* output.c: the texts that are printed. */
void output_make(struct run *r);

#endif
