/*
 * relay: streams and runs that another worker of this host has. Sends connections there, adopts those that come, passes
 * cancels on, waits for ends. Nothing here knows what a turn is.
 */
#ifndef API_RELAY_H
#define API_RELAY_H

#include "api/app.h"

void relay_start(struct app *app); /* after the server; without its socket a worker still serves, but nobody finds its streams */
void relay_stop(struct app *app);  /* loop thread */

/* All on a request thread. `worker` is the name in the run's row. */
bool relay_near(const struct app *app, struct str worker); /* is it this process, or another one of this host? */
/* Hands the connection to the worker that has the run's stream. 0: it did, the request is answered. -1: it has not. */
int relay_stream(struct request *r, struct str worker, int64_t run_no, struct stream_pos from);
int relay_cancel(const struct app *app, struct str worker, int64_t run_no); /* -1: it is not there */
/*
 * Sleeps until the stream of the run has ended or this request's client has left; for half a second if it is not within reach.
 * The waiting request counts as a reader of the stream.
 */
void relay_wait(struct request *r, struct str worker, int64_t run_no);

#endif
