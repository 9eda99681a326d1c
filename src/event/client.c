/*
 * client: one connection, from its head to its end. Two kinds of listeners, WebSockets and server-sent events, differ in
 * how bytes are framed and in nothing else. See eventd_private.h.
 */
#include "event/eventd_private.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/metric.h"
#include "base/tm.h"
#include "http/envelope.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEAD_MS 10000  /* for the head to come */
#define PING_MS 15000
#define SILENT_MS 60000 /* a WebSocket that answers no ping, a reader that takes nothing */
#define BYE_MS 2000

static void *
must(void *p)
{
	if (p == NULL) {
		fputs("eventd: out of memory\n", stderr);
		abort();
	}
	return p;
}

/* ---- bytes out ---- */

static void client_ready(void *arg, uint32_t events);

void
client_free(void *arg)
{
	struct client *c = arg;

	free(c->in);
	free(c->out);
	free(c->frame);
	free(c->session);
	free(c->hash);
	free(c);
}

void
client_close(struct client *c)
{
	struct eventd *e = c->e;

	if (c->state == CLIENT_GONE)
		return;
	if (c->fd >= 0) {
		loop_unwatch(e->loop, c->fd);
		close(c->fd);
		c->fd = -1;
	}
	if (c->state == CLIENT_OPEN || c->chain_prev || c->chain_next)
		hub_leave(c);
	if (c->prev)
		c->prev->next = c->next;
	else
		e->clients = c->next;
	if (c->next)
		c->next->prev = c->prev;
	e->n_clients--;
	metric_add(METRIC_EVENT_CLIENTS, -1);
	c->state = CLIENT_GONE;
	if (!c->busy)
		loop_post(e->loop, client_free, c); /* whoever called us may still look at it */
	if (e->draining && e->n_clients == 0 && e->drained) {
		void (*done)(void *) = e->drained;

		e->drained = NULL;
		loop_timer_cancel(e->loop, e->drain_timer);
		done(e->drained_arg);
	}
}

static bool
watch(struct client *c, bool out)
{
	c->blocked = out;
	return loop_watch(c->e->loop, c->fd, EPOLLIN | EPOLLRDHUP | (out ? EPOLLOUT : 0u), client_ready, c) == 0;
}

static void
queue(struct client *c, struct str bytes)
{
	if (c->n_out + bytes.n > c->cap_out) {
		c->cap_out = c->n_out + bytes.n < 2 * c->cap_out ? 2 * c->cap_out : c->n_out + bytes.n;
		c->out = must(realloc(c->out, c->cap_out));
	}
	memcpy(c->out + c->n_out, bytes.p, bytes.n);
	c->n_out += bytes.n;
}

/* How many of them the socket took; -1 = it is broken. */
static ssize_t
push(struct client *c, const char *p, size_t n)
{
	size_t sent = 0;

	while (sent < n) {
		ssize_t k = send(c->fd, p + sent, n - sent, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return errno == EAGAIN ? (ssize_t)sent : -1;
		sent += (size_t)k;
		c->wrote = loop_now(c->e->loop);
	}
	return (ssize_t)sent;
}

void
client_put(struct client *c, struct str bytes)
{
	ssize_t n = 0;

	if (c->fd < 0)
		return;
	if (c->n_out == 0) {
		n = push(c, bytes.p, bytes.n);
		if (n < 0) {
			client_close(c);
			return;
		}
	}
	if ((size_t)n == bytes.n)
		return;
	queue(c, str_sub(bytes, (size_t)n, bytes.n));
	if (!c->blocked && !watch(c, true))
		client_close(c);
}

/* The queue goes on. False: the client is gone. */
static bool
flush(struct client *c)
{
	ssize_t n = push(c, c->out + c->sent, c->n_out - c->sent);

	if (n < 0) {
		client_close(c);
		return false;
	}
	c->sent += (size_t)n;
	if (c->sent < c->n_out)
		return true;
	free(c->out); /* an idle listener keeps nothing */
	c->out = NULL;
	c->n_out = c->cap_out = c->sent = 0;
	if (c->state == CLIENT_BYE) {
		shutdown(c->fd, SHUT_WR);
		if (!c->ws) {
			client_close(c);
			return false;
		}
	}
	if (!watch(c, false)) {
		client_close(c);
		return false;
	}
	if (c->state == CLIENT_OPEN)
		hub_drained(c);
	return c->state != CLIENT_GONE;
}

/* The last thing that is sent; the peer closes then, or time ends it. */
static void
put_last(struct client *c, struct str bytes)
{
	if (c->state == CLIENT_OPEN)
		hub_leave(c);
	c->state = CLIENT_BYE;
	c->heard = loop_now(c->e->loop);
	client_put(c, bytes);
	if (c->state == CLIENT_BYE && c->n_out == 0) {
		shutdown(c->fd, SHUT_WR);
		if (!c->ws)
			client_close(c);
	}
}

void
client_bye(struct client *c, enum ws_code code, const char *why)
{
	struct sb sb = sb_new(c->e->scratch);

	if (c->state != CLIENT_OPEN) {
		if (c->state != CLIENT_BYE)
			client_close(c);
		return;
	}
	if (c->ws)
		ws_add_close(&sb, code, why);
	else
		sb_addf(&sb, ": %s\n\n", why);
	put_last(c, sb_str(&sb));
	arena_reset(c->e->scratch);
}

/* ---- answers to the head ---- */

static void
refuse(struct client *c, const struct err *err, int status, const char *header)
{
	struct arena *a = c->e->scratch;
	struct str body = error_envelope(a, err);
	struct sb sb = sb_new(a);

	sb_addf(&sb,
	    "HTTP/1.1 %d %s\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: %zu\r\nCache-Control: no-store\r\n%s"
	    "Connection: close\r\n\r\n",
	    status, status_reason(status), body.n, header);
	sb_add(&sb, body);
	c->ws = false;
	put_last(c, sb_str(&sb));
	arena_reset(a);
}

static void
refuse_plain(struct client *c, int status, const char *code, const char *message, const char *header)
{
	refuse(c, &(struct err){ .kind = ERR_INVALID, .code = code, .msg = message }, status, header);
}

static void
welcome_ws(struct client *c, struct str accept)
{
	struct sb sb = sb_new(c->e->scratch);

	sb_addf(&sb, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %.*s\r\n\r\n",
	    STR_ARG(accept));
	client_put(c, sb_str(&sb));
}

/* The id alone sets what an EventSource comes back with, before there was any event. */
static void
welcome_sse(struct client *c, struct str origin, struct event_pos pos)
{
	struct sb sb = sb_new(c->e->scratch);

	sb_adds(&sb, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nCache-Control: no-cache, no-transform\r\n"
		     "X-Accel-Buffering: no\r\nConnection: close\r\n");
	if (origin.n > 0)
		sb_addf(&sb, "Access-Control-Allow-Origin: %.*s\r\nVary: Origin\r\n", STR_ARG(origin));
	sb_adds(&sb, "\r\nretry: 1000\nid: ");
	event_pos_add(&sb, pos);
	sb_adds(&sb, "\n\n");
	client_put(c, sb_str(&sb));
}

/* ---- who is that ---- */

struct check {
	struct job j;
	struct client *c;
	struct auth_input in;
	struct str session, last_id, origin, accept;
	bool own_account; /* scope=account */
	bool resumes, gap;
	struct event_pos from, now;
	/* the answer */
	struct err err;
	struct who who;
	struct credential cred;
};

static int
check_unit(struct ctx *c, void *arg)
{
	struct check *k = arg;
	struct rows *rs = db_query(c, STMT_event_enter, P_INT(k->who.account_no), P_STR(k->session),
	    P_STR(str_c(arena_printf(c->a, "%llu", (unsigned long long)k->from.xid))), P_INT(k->from.no));
	int64_t now = 0;

	if (rows_next(rs) <= 0)
		return -1;
	if (!row_bool(rs, 0))
		return fail(c, ERR_NOT_FOUND, "not_found", "Session not found");
	str_int(row_str(rs, 1), &now);
	k->now = (struct event_pos){ (uint64_t)now, 0, 0 };
	k->gap = row_bool(rs, 2);
	return 0;
}

/* Helper thread. The caller's own pool for entering, the system's for the rest. */
static void
check_work(struct job *j, struct ctx *c)
{
	struct check *k = (struct check *)j;
	struct db *sys = c->db;

	c->db = j->e->conf.db;
	if (auth_credential(j->e->conf.auth, c, &k->in) == 0 && db_enter(c) == 0) {
		k->who = c->who;
		k->cred = *(struct credential *)c->cred;
		c->db = sys;
		if (k->session.p == NULL && !k->own_account && k->who.role != ROLE_ADMIN)
			fail(c, ERR_FORBIDDEN, "ws_forbidden", "Only admin can open a global subscription; name a session_id, or scope=account");
		else
			db_tx(c, DB_SYSTEM, check_unit, k);
	}
	k->err = c->err;
}

static char *
heap_copy(struct str s)
{
	char *p = must(malloc(s.n + 1));

	memcpy(p, s.p ? s.p : "", s.n);
	p[s.n] = '\0';
	return p;
}

static void
check_done(struct job *j)
{
	struct check *k = (struct check *)j;
	struct client *c = k->c;

	c->busy = false;
	if (c->state == CLIENT_GONE) {
		client_free(c);
		return;
	}
	if (j->stopping || c->state != CLIENT_CHECK) {
		client_close(c);
		return;
	}
	if (k->err.kind != ERR_NONE) {
		if (k->err.kind == ERR_INTERNAL)
			log_error("event.refused", "code=%s reason=\"%s\"", k->err.code, k->err.log ? k->err.log : "");
		refuse(c, &k->err, error_status(k->err.kind), k->err.kind == ERR_UNAVAILABLE ? "Retry-After: 2\r\n" : "");
		return;
	}
	c->account_no = k->who.account_no;
	c->all = k->session.p == NULL && !k->own_account;
	c->session = k->session.p ? heap_copy(k->session) : NULL;
	c->hash = k->cred.kind == CRED_API_KEY ? heap_copy(str_c(k->cred.value)) : NULL;
	c->expires = k->cred.expires;
	c->state = CLIENT_OPEN;
	/* An id of another database, or of the future, is as good as none that is kept. */
	if (k->resumes && event_pos_cmp(k->from, k->now) > 0)
		k->gap = true;
	if (c->ws)
		welcome_ws(c, k->accept);
	else
		welcome_sse(c, k->origin, k->resumes && !k->gap ? k->from : k->now);
	if (c->state == CLIENT_OPEN && k->gap) {
		struct sb sb = sb_new(c->e->scratch);

		sb_adds(&sb, "{\"lastEventId\":");
		sb_add_json(&sb, k->last_id);
		sb_addc(&sb, '}');
		hub_join(c, k->now, NULL);
		client_put(c, hub_text(c, &(struct told){ "gap", sb_str(&sb), tm_now() }, NULL));
	} else if (c->state == CLIENT_OPEN)
		hub_join(c, k->now, k->resumes ? &k->from : NULL);
	arena_reset(c->e->scratch);
}

/* A page of another origin must be allowed: a browser sends the user's address, and no key, with it. */
static bool
origin_allowed(const struct eventd *e, const struct head *h)
{
	size_t scheme = str_find(h->origin, STR("://"), 0);

	if (h->origin.p == NULL || (scheme != STR_NPOS && h->host.n > 0 && str_ieq(str_sub(h->origin, scheme + 3, h->origin.n), h->host)))
		return true;
	for (const char *const *o = e->conf.cors_origins; o && *o; o++)
		if (strcmp(*o, "*") == 0 || str_is(h->origin, *o))
			return true;
	return false;
}

static struct str
first_of(struct arena *a, struct str header, struct str param)
{
	return arena_str(a, header.n > 0 ? header : param);
}

/* The head as a job, in whose arena everything of it lives. */
static struct check *
check_new(struct client *c, const struct head *h)
{
	struct check *k = (struct check *)job_new(c->e, sizeof(*k));
	struct arena *a = k->j.a;
	struct str token = head_param(a, h->query, "token");

	k->c = c;
	k->j.work = check_work;
	k->j.done = check_done;
	k->in = (struct auth_input){ .api_key = first_of(a, h->api_key, head_param(a, h->query, "api_key")),
		.authorization = arena_str(a, h->authorization),
		.remote_addr = arena_str(a, h->remote_addr),
		.server_addr = arena_str(a, h->server_addr) };
	if (k->in.authorization.n == 0 && token.n > 0)
		k->in.authorization = str_c(arena_printf(a, "Bearer %.*s", STR_ARG(token)));
	k->session = str_trim(head_param(a, h->query, "session_id"));
	if (k->session.n == 0)
		k->session = STR_NULL;
	k->own_account = str_is(head_param(a, h->query, "scope"), "account");
	k->last_id = first_of(a, h->last_event_id, head_param(a, h->query, "last_event_id"));
	k->resumes = k->last_id.n > 0;
	k->origin = arena_str(a, h->origin);
	k->accept = c->ws ? ws_accept(a, h->ws_key) : STR_NULL;
	return k;
}

static void
head_taken(struct client *c, const struct head *h)
{
	bool ws = str_is(h->path, "/ws");
	struct check *k;

	if (!ws && !str_is(h->path, "/events")) {
		refuse_plain(c, 404, "not_found", "no such route", "");
		return;
	}
	if (ws && (!head_has(h->upgrade, "websocket") || !head_has(h->connection, "upgrade") || !str_is(h->ws_version, "13"))) {
		refuse_plain(c, 426, "upgrade_required", "this route speaks WebSocket, version 13",
		    "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n");
		return;
	}
	if (!origin_allowed(c->e, h)) {
		refuse_plain(c, 403, "origin_forbidden", "pages of this origin may not listen; see the setting cors_origins", "");
		return;
	}
	c->ws = ws;
	k = check_new(c, h);
	if (h->has_body || (ws && k->accept.p == NULL) || (k->resumes && !event_pos_parse(k->last_id, &k->from))) {
		struct arena *a = k->j.a;
		const char *what = h->has_body		      ? "a request with a body"
				   : ws && k->accept.p == NULL ? "Sec-WebSocket-Key is not 16 bytes in base64"
							      : "the last event id is not one of ours";

		refuse_plain(c, 400, "invalid_request", what, "");
		arena_destroy(&a);
		return;
	}
	c->state = CLIENT_CHECK;
	c->busy = true;
	job_start(&c->e->others, &k->j);
}

/* ---- bytes in ---- */

static void
head_more(struct client *c)
{
	struct head h;
	ssize_t n;

	if (c->in == NULL)
		c->in = must(malloc(LIM_HEADER));
	n = recv(c->fd, c->in + c->n_in, LIM_HEADER - c->n_in, MSG_DONTWAIT);
	if (n <= 0) {
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			client_close(c);
		return;
	}
	c->n_in += (size_t)n;
	switch (head_read((struct str){ c->in, c->n_in }, &h)) {
	case HEAD_MORE:
		if (c->n_in == LIM_HEADER)
			refuse_plain(c, 431, "header_too_large", "the address or the headers are too large", "");
		return;
	case HEAD_BAD:
		refuse_plain(c, 400, "bad_request", "the request is not valid HTTP", "");
		return;
	case HEAD_METHOD:
		refuse_plain(c, 405, "method_not_allowed", "only GET", "Allow: GET\r\n");
		return;
	case HEAD_GOOD:
		break;
	}
	head_taken(c, &h);
	if (c->state == CLIENT_CHECK) {
		free(c->in);
		c->in = NULL;
	}
}

/* One frame was said. False: the conversation is over. */
static bool
frame_said(struct client *c, enum ws_said said, enum ws_code code)
{
	struct sb sb = sb_new(c->e->scratch);

	if (said == WS_SAID_PING) {
		ws_add_frame(&sb, WS_PONG, (struct str){ c->frame->control, c->frame->n_control });
		if (c->n_out < LIM_HEADER) /* who pings and does not read gets no more answers */
			client_put(c, sb_str(&sb));
	} else if (said == WS_SAID_CLOSE || said == WS_SAID_FAULT) {
		if (c->state == CLIENT_BYE) { /* the answer to ours */
			client_close(c);
			return false;
		}
		ws_add_close(&sb, code, "");
		put_last(c, sb_str(&sb));
		return false;
	}
	return c->state != CLIENT_GONE;
}

static void
frames_more(struct client *c)
{
	uint8_t bytes[4096];
	ssize_t n = recv(c->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	size_t used;

	if (n <= 0) {
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			client_close(c);
		return;
	}
	if (c->state == CLIENT_OPEN)
		c->heard = loop_now(c->e->loop);
	if (!c->ws || c->state == CLIENT_CHECK)
		return; /* who listens by SSE has nothing to say; nor has anybody before the answer */
	if (c->frame == NULL)
		c->frame = must(calloc(1, sizeof(*c->frame)));
	for (size_t at = 0; at < (size_t)n; at += used) {
		enum ws_code code = WS_NORMAL;
		enum ws_said said = ws_read(c->frame, bytes + at, (size_t)n - at, &used, &code);

		if (!frame_said(c, said, code))
			return;
	}
	arena_reset(c->e->scratch);
	if (ws_idle(c->frame)) {
		free(c->frame);
		c->frame = NULL;
	}
}

static void
client_ready(void *arg, uint32_t events)
{
	struct client *c = arg;

	if (events & (EPOLLHUP | EPOLLERR)) {
		client_close(c);
		return;
	}
	if ((events & EPOLLOUT) && c->n_out > 0 && !flush(c))
		return;
	if ((events & EPOLLIN) && c->state == CLIENT_HEAD)
		head_more(c);
	else if (events & EPOLLIN)
		frames_more(c);
	else if (events & EPOLLRDHUP)
		client_close(c);
}

/* ---- coming and staying ---- */

void
clients_accept(void *arg, uint32_t events)
{
	struct eventd *e = arg;
	int fd;

	(void)events;
	while ((fd = accept4(e->conf.listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		struct client *c = must(calloc(1, sizeof(*c)));

		*c = (struct client){ .e = e, .fd = fd, .check = UINT32_MAX, .next = e->clients, .wrote = loop_now(e->loop), .heard = loop_now(e->loop), .pinged = loop_now(e->loop) };
		if (c->next)
			c->next->prev = c;
		e->clients = c;
		e->n_clients++;
		metric_add(METRIC_EVENT_CLIENTS, 1);
		if (!watch(c, false))
			client_close(c);
		else if (e->n_clients > e->conf.clients_max)
			refuse_plain(c, 503, "service_unavailable", "too many listeners; try again later", "Retry-After: 5\r\n");
	}
}

static void
add_ping(const struct client *c, struct sb *sb)
{
	if (c->ws) {
		ws_add_frame(sb, WS_PING, STR(""));
		return;
	}
	sb_adds(sb, ": ping\n");
	if (c->live) { /* so that who hears little does not fall behind what is kept */
		sb_adds(sb, "id: ");
		event_pos_add(sb, c->e->pos);
		sb_addc(sb, '\n');
	}
	sb_addc(sb, '\n');
}

static void
client_tick(struct client *c, int64_t now)
{
	struct sb sb = sb_new(c->e->scratch);

	if (c->state == CLIENT_HEAD && now - c->heard > HEAD_MS) {
		client_close(c);
	} else if (c->state == CLIENT_BYE && now - c->heard > BYE_MS && now - c->wrote > BYE_MS) {
		client_close(c);
	} else if (c->state == CLIENT_OPEN && c->expires > 0 && c->expires <= tm_now()) {
		client_bye(c, WS_POLICY, "the token has expired");
	} else if (c->state == CLIENT_OPEN && c->n_out > 0) {
		if (now - c->wrote > SILENT_MS) /* takes nothing: it comes back with its last id */
			client_close(c);
	} else if (c->state == CLIENT_OPEN && c->ws && now - c->heard > SILENT_MS) {
		client_bye(c, WS_AWAY, "no answer to pings");
	} else if (c->state == CLIENT_OPEN && now - (c->ws ? c->pinged : c->wrote) >= PING_MS) {
		add_ping(c, &sb);
		c->pinged = now;
		client_put(c, sb_str(&sb));
	}
}

void
clients_tick(struct eventd *e)
{
	struct client *c, *next;

	for (c = e->clients; c; c = next) {
		next = c->next;
		client_tick(c, loop_now(e->loop));
	}
	arena_reset(e->scratch);
}

struct client *
clients_of(struct eventd *e, int32_t account_no)
{
	return e->chains[(uint32_t)account_no % BUCKETS];
}
