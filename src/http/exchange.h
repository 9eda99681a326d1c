/*
 * exchange: what the files of http share: a connection from the web server, and one request with
 * its answer on a request thread. Nothing outside http includes this.
 *
 * A connection has one holder at a time: the set of parked connections, a request thread, or the
 * loop (an event stream). Only the holder touches the descriptor or frees the connection.
 */
#ifndef HTTP_EXCHANGE_H
#define HTTP_EXCHANGE_H

#include "fcgi_in.h"
#include "fcgi_out.h"
#include "request.h"
#include "server.h"

#include <pthread.h>
#include <stdatomic.h>

struct exchange;

struct http_conn {
	struct server *server;
	int fd;
	bool in_park;                  /* known to the park's epoll */
	struct http_conn *prev, *next; /* all connections, under server.lock */
	pthread_mutex_t lock;          /* of the members below: a long plain request watched by the loop */
	pthread_cond_t quiet;
	struct exchange *watched;
	bool calling; /* on_deserted is running */
};

struct exchange {
	struct request r;
	struct ctx ctx;
	struct fcgi_in in;
	struct http_conn *conn; /* NULL once handed to the loop or to another process */
	int64_t began_us;
	bool let_in; /* its credentials have been read */

	/* The answer: texts live in the request's arena. */
	int status;               /* 0 = none yet */
	const char *content_type; /* NULL = no body */
	struct str part[3];
	size_t n_parts;
	struct sb headers; /* "Name: value\r\n" lines beside type and length */
	bool streaming;    /* the body comes from a stream */
	bool begun;        /* head and part of the body are out (reply_begin) */
	int64_t length;    /* of the body of such an answer; -1 = unknown */
	bool head_sent;    /* of an event stream whose connection was offered to another worker */

	bool long_slot; /* counts against the cap of long requests */
	atomic_bool deserted;
	void (*on_deserted)(void *); /* under conn->lock */
	void *on_deserted_arg;
};

struct server {
	struct loop *loop;
	const struct router *router;
	struct server_conf conf;
	struct server_app app;
	int park;    /* epoll of idle connections; the request threads wait on it */
	int stop_fd; /* eventfd in the park: readable = threads go */
	atomic_bool draining;

	pthread_mutex_t lock; /* of the members below */
	pthread_cond_t ended; /* a thread has gone */
	int threads, idle, busy, longs, n_conns;
	bool stopping;
	uint64_t requests, refused;
	struct http_conn *conns;

	/* Loop thread only. */
	struct events *events;
	atomic_int n_events;
	struct arena *scratch;
	uint64_t tick;
	int64_t drain_begin, drain_linger, drain_bound;
	bool bound_passed;
	void (*drain_done)(void *);
	void *drain_arg;
};

/* server.c: any thread, by the holder. */
void conn_park(struct http_conn *c);
void conn_close(struct http_conn *c);
struct http_conn *conn_create(struct server *s, int fd);
bool server_take_long(struct server *s); /* false: at the cap */

/* serve.c: one request of a readable connection, on a request thread. */
enum served { SERVED_KEEP, SERVED_CLOSE, SERVED_GONE /* the connection has another holder, or is closed */ };
enum served serve(struct http_conn *c, struct arena *a);
int conn_write(struct http_conn *c, struct fcgi_out *o); /* blocking; -1 = the peer is gone */
void exchange_unwatch(struct exchange *x); /* no on_deserted call is running or will come afterwards */

/* reply.c */
void add_header(struct sb *out, const char *name, struct str value); /* control characters become blanks */
struct str answer_head(struct exchange *x);                          /* the CGI header block */
void reply_error(struct exchange *x);                                /* from ctx.err */
void add_common_headers(struct exchange *x);                         /* CORS, Vary, request id */

/* request.c */
int parse_query(struct exchange *x, struct str text); /* fills r.query */

/* events.c: an event stream on the loop. */
struct events;
enum events_how { EVENTS_KEEP = 1, EVENTS_OBSERVER = 2 };
void events_begin(
    struct http_conn *c, uint16_t id, unsigned how, struct str head, struct stream *s, struct stream_pos from);
void events_tick(struct server *s);  /* once a second: pings */
void events_abort(struct server *s); /* says `error` to every reader and ends */

#endif
