/*
 * run: a generation as others than its own thread see it: found by its floor, followed while another process has it, read
 * when it has ended, ended from outside. Knows no HTTP.
 */
#ifndef TURN_RUN_H
#define TURN_RUN_H

#include "turn/turn.h"

/* A floor and one run of it, the newest or the one that was asked for. run_no 0: the floor has none (it was imported). */
struct run_view {
	int64_t floor_no, segment_no, run_no;
	int32_t floor_seq;
	struct str floor_id, floor_state, branch_id, session_id;
	struct str run_id, state, worker, error; /* absent without a run */
	int phase_seq;
	size_t said_from;        /* bytes of the page's text that the run did not say */
};
/* run_no 0 = the newest. -1: ERR_NOT_FOUND, or the database. */
int run_view_load(struct ctx *c, struct str floor_id, int64_t run_no, struct run_view *out);
bool run_runs(const struct run_view *v);

/*
 * The answer of the run that has completed: as its first caller got it if it had a key, else from what is stored (without
 * the debugging parts). -1: ERR_CONFLICT if it has not completed.
 */
int run_answer(struct ctx *c, const struct run_view *v, struct sb *out);
/* Records the failure of a run that failed as the failure of this request: same kind, code and message. Returns -1. */
int run_failure(struct ctx *c, const struct run_view *v);

/*
 * A stream of the run out of the database, filled from its beginning: whole if it has ended, else it follows the persisted
 * text (at most 2 s behind) to the end, as long as it has a reader. The caller has one reference. NULL: the error is recorded.
 */
struct stream *run_stream(struct turns *p, struct ctx *c, const struct run_view *v);
/* Where to begin in such a stream: its events are fewer than those of the turn itself. */
struct stream_pos run_stream_from(struct stream_pos pos);

/*
 * Ends a run that no process within reach has: it is recorded as cancelled, with the persisted text. A process that has it
 * after all finds that out with its next persisting, within a second, and stops the model.
 */
int run_cancel_recorded(struct ctx *c, const struct run_view *v);
/* Running runs of a session, or of one branch of it (absent = all): pairs of floor id and run number. -1: ERR_NOT_FOUND. */
struct run_ref {
	struct str floor_id;
	int64_t run_no;
};
struct run_refs {
	VEC(struct run_ref) v;
};
int run_running(struct ctx *c, struct str session_id, struct str branch_id, struct run_refs *out);

#endif
