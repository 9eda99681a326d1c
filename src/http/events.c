/*
 * events: a connection that is fed from a stream, on the loop thread: a cursor, and the bytes that
 * the socket did not take yet. Nothing is queued for a slow reader: the next batch is made from the
 * stream when the previous one has gone out.
 */
#include "base/metric.h"
#include "exchange.h"
#include "sse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define BATCH (16u << 10) /* text of one write, events may exceed it */
#define PIECE (8u << 10)  /* text of one chunk event */
#define PING_MS 15000

struct events {
	struct stream_reader reader; /* first: wake() is given this */
	struct server *server;
	struct http_conn *conn;
	struct events *prev, *next;
	struct stream_pos pos;
	char *left; /* bytes for the socket that it did not take */
	size_t n_left, sent_left;
	int64_t wrote; /* loop_now of the last write */
	uint16_t id;
	bool keep;    /* the web server wants the connection back */
	bool blocked; /* waiting for EPOLLOUT */
	bool ended;   /* the end is said; when `left` is out, so are we */
	bool clean;   /* the connection may be parked afterwards */
};

struct begin {
	struct events *e;
	struct stream *stream;
	size_t n;
	char head[];
};

static void events_pump(struct events *e);

static void
events_free(struct events *e, bool park)
{
	struct server *s = e->server;

	loop_unwatch(s->loop, e->conn->fd);
	stream_detach(&e->reader);
	if (e->prev != NULL)
		e->prev->next = e->next;
	else
		s->events = e->next;
	if (e->next != NULL)
		e->next->prev = e->prev;
	atomic_fetch_sub(&s->n_events, 1);
	metric_add(METRIC_STREAM_READERS, -1);
	if (park)
		conn_park(e->conn);
	else
		conn_close(e->conn);
	free(e->left);
	free(e);
}

static void
events_ready(void *arg, uint32_t events)
{
	struct events *e = arg;

	if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) {
		events_free(e, false);
		return;
	}
	e->blocked = false;
	events_pump(e);
}

static void
events_wake(struct stream_reader *r)
{
	struct events *e = (struct events *)r;

	if (!e->blocked)
		events_pump(e);
}

static int
events_watch(struct events *e, bool out)
{
	e->blocked = out;
	return loop_watch(e->server->loop, e->conn->fd, EPOLLRDHUP | (out ? EPOLLOUT : 0u), events_ready, e);
}

/* 1 all sent, 0 the socket is full, -1 the peer is gone. */
static int
events_send(struct events *e, const char *p, size_t n, size_t *sent)
{
	*sent = 0;
	while (*sent < n) {
		ssize_t k = send(e->conn->fd, p + *sent, n - *sent, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return errno == EAGAIN ? 0 : -1;
		*sent += (size_t)k;
	}
	e->wrote = loop_now(e->server->loop);
	return 1;
}

/* Sends a batch of whole records; what the socket does not take is kept. As events_send. */
static int
events_put(struct events *e, struct str wire)
{
	size_t sent;
	int rc = events_send(e, wire.p, wire.n, &sent);

	if (rc != 0)
		return rc;
	e->n_left = wire.n - sent;
	e->sent_left = 0;
	e->left = malloc(e->n_left);
	if (e->left == NULL) {
		fputs("events: out of memory\n", stderr);
		abort();
	}
	memcpy(e->left, wire.p + sent, e->n_left);
	return 0;
}

/* The rest of the last batch. As events_send. */
static int
events_flush(struct events *e)
{
	size_t sent;
	int rc;

	if (e->left == NULL)
		return 1;
	rc = events_send(e, e->left + e->sent_left, e->n_left - e->sent_left, &sent);
	e->sent_left += sent;
	if (rc == 1) {
		free(e->left);
		e->left = NULL;
	}
	return rc;
}

/* The end of the answer; in drain the last one on this connection. */
static void
events_say_end(struct events *e, struct sb *wire)
{
	bool last = atomic_load(&e->server->draining);

	fcgi_add_end(wire, e->id, last);
	e->ended = true;
	e->clean = !last && e->keep;
}

/* What lies behind the cursor, up to a batch, as records. Empty: nothing yet. */
static struct sb
events_batch(struct events *e)
{
	struct sb text = sb_new(e->server->scratch), wire = sb_new(e->server->scratch);
	struct stream_item it = { .last = false };

	while (text.n < BATCH && stream_next(e->reader.stream, e->pos, PIECE, &it)) {
		sse_add_item(&text, &it);
		e->pos = it.after;
		if (it.last)
			break;
	}
	fcgi_add_stdout(&wire, e->id, sb_str(&text));
	if (it.last)
		events_say_end(e, &wire);
	return wire;
}

/* Writes as much as there is and as the socket takes. May free e. */
static void
events_pump(struct events *e)
{
	int rc = events_flush(e);

	while (rc == 1 && !e->ended) {
		struct sb wire = events_batch(e);

		if (wire.n == 0)
			break;
		rc = events_put(e, sb_str(&wire));
		arena_reset(e->server->scratch);
	}
	arena_reset(e->server->scratch);
	if (rc == 1 && e->ended)
		events_free(e, e->clean);
	else if (rc < 0 || ((rc == 0) != e->blocked && events_watch(e, rc == 0) < 0))
		events_free(e, false);
}

static void
events_attach(void *arg)
{
	struct begin *b = arg;
	struct events *e = b->e;
	struct server *s = e->server;
	struct sb wire = sb_new(s->scratch);
	int rc = 1;

	e->next = s->events;
	if (e->next != NULL)
		e->next->prev = e;
	s->events = e;
	e->wrote = loop_now(s->loop);
	stream_attach(b->stream, &e->reader);
	e->pos = stream_clamp(b->stream, e->pos);
	stream_release(b->stream);
	fcgi_add_stdout(&wire, e->id, (struct str){ b->head, b->n });
	if (wire.n > 0)
		rc = events_put(e, sb_str(&wire));
	arena_reset(s->scratch);
	free(b);
	if (rc < 0 || events_watch(e, rc == 0) < 0)
		events_free(e, false);
	else if (rc == 1)
		events_pump(e); /* at once: the wake-up comes a round later and finds nothing */
}

/*
 * Hands the connection to the loop, which sends `head` (CGI headers; empty if they are out) and then
 * the stream from `from` on. Any thread that holds the connection; takes over a reference of s.
 */
void
events_begin(
    struct http_conn *c, uint16_t id, unsigned how, struct str head, struct stream *s, struct stream_pos from)
{
	struct events *e = calloc(1, sizeof(*e));
	struct begin *b = malloc(sizeof(*b) + head.n);

	if (e == NULL || b == NULL) {
		fputs("events: out of memory\n", stderr);
		abort();
	}
	*e = (struct events){ .reader = { .wake = events_wake, .observer = (how & EVENTS_OBSERVER) != 0 },
		.server = c->server,
		.conn = c,
		.pos = from,
		.id = id,
		.keep = (how & EVENTS_KEEP) != 0 };
	b->e = e;
	b->stream = s;
	b->n = head.n;
	if (head.n > 0)
		memcpy(b->head, head.p, head.n);
	atomic_fetch_add(&c->server->n_events, 1);
	metric_add(METRIC_STREAM_READERS, 1);
	loop_post(c->server->loop, events_attach, b);
}

/* A comment for every connection that has been quiet for 15 s: keeps proxies from giving up. */
void
events_tick(struct server *s)
{
	struct events *e, *next;

	for (e = s->events; e != NULL; e = next) {
		struct sb text = sb_new(s->scratch), wire = sb_new(s->scratch);
		int rc;

		next = e->next;
		if (e->left != NULL || loop_now(s->loop) - e->wrote < PING_MS)
			continue;
		sse_add_ping(&text);
		fcgi_add_stdout(&wire, e->id, sb_str(&text));
		rc = events_put(e, sb_str(&wire));
		arena_reset(s->scratch);
		if (rc < 0 || (rc == 0 && events_watch(e, true) < 0))
			events_free(e, false);
	}
}

/* The process ends: every reader is told so, as far as its socket takes it. */
void
events_abort(struct server *s)
{
	struct events *e, *next;

	for (e = s->events; e != NULL; e = next) {
		struct sb text = sb_new(s->scratch), wire = sb_new(s->scratch);
		struct stream_item it = {
			.kind = STREAM_EVENT,
			.name = "error",
			.data =
			    STR("{\"code\":\"server_shutdown\",\"message\":\"the server is shutting down\"}"),
			.label = stream_label(e->reader.stream),
			.after = e->pos, /* the same place: a client that comes back loses nothing */
		};

		next = e->next;
		sse_add_item(&text, &it);
		fcgi_add_stdout(&wire, e->id, sb_str(&text));
		fcgi_add_end(&wire, e->id, true);
		if (!e->ended && events_flush(e) == 1)
			events_put(e, sb_str(&wire));
		arena_reset(s->scratch);
		events_free(e, false);
	}
}
