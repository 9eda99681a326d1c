/*
 * fork: a branch that begins at a floor. Writes a branch row, a segment row and the branch's variables as
 * they were there, never anything that grows with the chat (design 4). Knows no route and no model.
 */
#ifndef TURN_FORK_H
#define TURN_FORK_H

#include "base/ctx.h"
#include "store/branch.h"

struct fork {
	/* asked */
	struct str floor_id;
	bool before; /* the branch ends below this floor, whose own state does not matter: its words are to be
			said anew */
	struct str branch_id; /* of the new branch; absent = a generated name */

	/* found */
	int64_t session_no;
	struct str session_id, session_status, from_branch;
	struct branch
	    branch; /* the new one, its own segment last; head = the floor that it begins at, -1 = none */
};

/*
 * Makes the branch. Inside db_tx DB_WRITE; holds the session against other forks, deletes and resets until
 * the end. -1: ERR_NOT_FOUND `not_found` (no such floor, or no branch shows it), ERR_CONFLICT
 * `floor_not_committed`, `branch_exists`, or `generation_conflict`: another page of the floor is being made.
 */
int fork_at(struct ctx *c, struct fork *f);

/*
 * A branch's head floor as the branch's own (dryrun 3.2 rule 4): if other branches show it, a copy in a new segment, with pages,
 * messages, records and what they wrote under new ids; the branch's values stay as they are. What nobody shows behind that is
 * removed. Inside db_tx DB_WRITE. -1: ERR_CONFLICT `generation_target_stale`: the head has moved.
 */
struct floor_own {
	int64_t branch_no, session_no, floor_no; /* asked: of which branch, which floor */
	struct str floor_id;
	struct str id;               /* asked: of a copy; in any case the floor's then */
	int64_t no, segment;         /* found or made */
	struct rows *twins;          /* of a copy: a row for each message: its number, number and id of its copy; NULL = nothing was copied */
};
int floor_make_own(struct ctx *c, struct floor_own *f);

/* Holds a session against forks and deletes of branches until the end of the transaction. 1, 0 no such
 * session, -1. */
int fork_hold(struct ctx *c, struct str session_id, int64_t *session_no_out);

/* Segments and ends of the first n ranges as array texts, the last one cut at `last`. For statements. */
struct str branch_segs_text(struct arena *a, const struct branch *b, size_t n);
struct str branch_his_text(struct arena *a, const struct branch *b, size_t n, int32_t last);

#endif
