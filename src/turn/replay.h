/*
 * replay: the request of a committed turn made again from what was recorded, without a model: is it the same, byte for byte?
 * If not: what differs first. After an upgrade of the program this says which turns would be assembled differently now.
 */
#ifndef TURN_REPLAY_H
#define TURN_REPLAY_H

#include "turn/turn.h"

#define REPLAY_VERSION 1

struct replay_request {
	struct str floor_id, page_id; /* page absent = the active output page */
};

struct replayed {
	struct str session_id, floor_id, page_id, branch_id;
	int64_t floor_no;
	bool equal;
	struct str expected, actual;  /* SHA-256 of the request's body, hex; actual absent: it cannot be made */
	struct json *difference;      /* {path, expected, actual, source?}; NULL = equal */
	struct json *notes;           /* array of texts: what is gone, and which verdicts are others now */
	struct str request;           /* the body made now; absent = it cannot be made */
	struct str kept;              /* the body that was sent, if it was kept */
};

/*
 * 0, or -1 with the error recorded: ERR_NOT_FOUND floor, page or `prompt_snapshot_not_found` (no turn made it), ERR_CONFLICT
 * `floor_not_committed`, `replay_not_available` (the record says too little). Lives in c->a.
 */
int turn_replay(struct turns *p, struct ctx *c, const struct replay_request *q, struct replayed *out);

#endif
