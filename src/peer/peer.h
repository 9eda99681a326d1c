/*
 * peer: what workers of one host tell each other over unix sockets in the runtime directory: take over
 * this reader's connection (the descriptor travels along), cancel this run. One question, one
 * answer, one connection each. It knows neither HTTP nor streams: the application acts.
 *
 * A worker is named <host>/<generation>-<slot>; its socket is <dir>/peer-<generation>-<slot>.sock, mode
 * 0600, and only processes of the same user are listened to.
 */
#ifndef PEER_PEER_H
#define PEER_PEER_H

#include "base/arena.h"
#include "loop/loop.h"

struct peer;

/* A connection from the web server and where its reader stands. */
struct peer_reader {
	int64_t run_no;
	uint32_t event, text, reasoning; /* struct stream_pos */
	uint16_t request_id;
	bool keep;
	bool observer; /* its leaving ends no turn */
};

/* On the loop thread of the worker that is asked. */
struct peer_handlers {
	void *arg;
	bool (*attach)(void *arg, const struct peer_reader *r,
	    int fd);                               /* true: fd is ours now; false: it is closed here */
	bool (*cancel)(void *arg, int64_t run_no); /* true: the run was here */
};

/* Listens for the others, and removes the sockets of those that are no more. NULL with *why: the worker can do without. */
struct peer *peer_create(struct arena *a, struct loop *l, const char *dir, const char *worker,
    const struct peer_handlers *h, const char **why);
/* Only asks, is not asked: another program of this host (the host is that of `worker`). Never NULL. */
struct peer *peer_asker(struct arena *a, const char *dir, const char *worker);
void peer_destroy(struct peer *p); /* loop thread; removes the socket. NULL is fine */

/*
 * Any thread but the loop's (they wait for the answer, at most 2 s). 0: done over there. -1: it is not:
 * another host, no such worker, no such run. After 0 of peer_attach the caller closes its copy of fd and
 * writes nothing more to it.
 */
int peer_attach(const struct peer *p, const char *worker, const struct peer_reader *r, int fd);
int peer_cancel(const struct peer *p, const char *worker, int64_t run_no);

#endif
