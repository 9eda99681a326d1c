/*
 * follow: runs of other processes, read from the database into streams of ours. One thread for all of them, started with the
 * first, asks twice a second. Only for src/turn; the thread is that of turns_stop.
 */
#ifndef TURN_FOLLOW_H
#define TURN_FOLLOW_H

#include "turn/run.h"

/*
 * Fills s with what is persisted of the running run and keeps it filled until the run ends or its last reader leaves; then
 * finishes it. 0: the turn's side of s is the follower's now. -1: the error is recorded, s is the caller's.
 */
int follow_begin(struct turns *p, struct ctx *c, struct stream *s, const struct run_view *v);
void follow_stop(struct turns *p);        /* ends the thread; what is still followed gets an error */

/* run.c: says the rest of what the ended run has said, and finishes. -1: the error is recorded, s goes on. */
int run_stream_end(struct ctx *c, struct stream *s, const struct run_view *v);

#endif
