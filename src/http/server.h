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
	int threads_max;                 /* request threads in all */
	int threads_reserved;            /* of these only for requests without ROUTE_LONG */
	int streams_max;                 /* ROUTE_LONG requests at once; above: 503 + Retry-After */
	const char *const *cors_origins; /* NULL-terminated; "*" = any */
	const char *version;
	int thread_stack; /* bytes */
};

/* The application's side of a request, on the request thread. */
struct server_app {
	void *state; /* becomes request.app */
	/* Prepares ctx (db, cred) for a matched row; -1 records 401/403. Not called for AUTH_PUBLIC. */
	int (*authenticate)(struct request *r);
	/* Called when a handler failed before entering its account: the credentials' error wins. */
	int (*enter)(struct request *r);
};

/* Aborts if the system gives no epoll; `conf` is copied, its lists are not. */
struct server *server_create(struct arena *a, struct loop *l, const struct router *rt,
    const struct server_conf *conf, const struct server_app *app);
void server_start(struct server *s); /* begins to accept (loop thread or before loop_run) */
/*
 * Drain: stops accepting and closes the listen socket. Requests on parked connections are still
 * answered, in a way that makes the web server drop the connection (fcgi_out.h); after
 * linger_ms (longer than its keepalive time-out on a reload) and when no request and no stream is left,
 * done(arg) is called on the loop. After bound_ms each stream is told `error` and done is called anyway.
 * A second call can only shorten the times. Loop thread.
 */
void server_drain(struct server *s, int64_t linger_ms, int64_t bound_ms, void (*done)(void *), void *arg);
/* Ends the threads and frees what the server holds. False: a handler is still running after wait_ms, nothing
 * was freed. */
bool server_destroy(struct server *s, int wait_ms);

struct server_stats {
	int threads, busy, longs, streams, connections; /* longs: requests that wait for a model */
	uint64_t requests, refused;
};
void server_stats(struct server *s, struct server_stats *out); /* any thread */

/* A connection that another process handed over, its headers out. */
struct server_adopted {
	int fd;
	uint16_t request_id;
	bool keep;
	bool observer; /* a turn that it alone reads is deserted */
	struct stream_pos from;
};
/* Feeds it from st. Loop thread; takes over the descriptor, not a reference of st. Closes it on failure. */
void server_adopt(struct server *s, const struct server_adopted *a, struct stream *st);

#endif
