/*
 * simulate: which entries of a world book a text or a branch would switch on, and why not the others.
 * Nothing is written.
 */
#ifndef TURN_SIMULATE_H
#define TURN_SIMULATE_H

#include "turn/turn.h"

struct turn_simulation {
	struct str session_id, branch_id; /* absent session: the text alone */
	struct str text;                  /* what the user would say next; absent = the story as it stands */
	struct str book_id, book_name;    /* a turn knows the book by its id */
	const struct json *book;          /* normalised document */
	const struct json *options;       /* validated: scan_depth, budget, budget_percent, seed, recursion, … */
};

/*
 * With a session, everything else is as its next turn would have it: history, regex scripts, names, variables,
 * the character's own book, running time effects; the book stands where the session's worldbook stands.
 * Appends the answer's object: settings and lore_report(). -1: ERR_NOT_FOUND session or branch.
 */
int turn_simulate(struct turns *p, struct ctx *c, const struct turn_simulation *q, struct sb *answer);

#endif
