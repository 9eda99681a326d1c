/*
 * server: the worker process's HTTP side. Owns the listen socket, parked keep-alive connections,
 * the on-demand thread pool (platform.md design E) and hands each request to the router.
 */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include "loop/loop.h"
#include "request.h"

struct server_conf {
	int listen_fd;
	int threads_max;             /* request threads in all */
	int threads_reserved;        /* of these only for requests without ROUTE_LONG */
	int streams_max;             /* ROUTE_LONG requests at once; above: 503 + Retry-After */
	const char *const *cors_origins; /* NULL-terminated; "*" = any */
	const char *version;
	int thread_stack;            /* bytes */
};

/* The application's side of a request, on the request thread. */
struct server_app {
	void *state;                 /* becomes request.app */
	/* Prepares ctx (db, cred) for a matched row; -1 records 401/403. Not called for AUTH_PUBLIC. */
	int (*authenticate)(struct request *r);
	/* Called when a handler failed before entering its account: the credentials' error wins. */
	int (*enter)(struct request *r);
};

struct server *server_create(struct arena *a, struct loop *l, const struct router *rt, const struct server_conf *conf,
    const struct server_app *app);
void server_start(struct server *s);             /* begins to accept (loop thread or before loop_run) */
/*
 * Drain: stop accepting, serve parked connections without END_REQUEST so that nginx cannot reuse
 * them, call done(arg) on the loop when nothing is left or after bound_ms (then streams get an
 * `error` event first).
 */
void server_drain(struct server *s, int bound_ms, void (*done)(void *), void *arg);

struct server_stats {
	int threads, busy, streams, parked;
	uint64_t requests, refused;
};
void server_stats(struct server *s, struct server_stats *out); /* any thread */

/* Adopt a connection that another worker handed over (peer ATTACH): loop thread. */
void server_adopt(struct server *s, int fd, uint16_t request_id, bool keep, struct stream *st, struct stream_pos from);

#endif
