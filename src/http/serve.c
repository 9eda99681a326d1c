/*
 * serve: one request from a readable connection, on a request thread: read, match, authenticate,
 * validate, handle, answer, log. The order of refusals is that of this file: whoever has not
 * proved who he is learns of his request only what the route table says.
 */
#include "base/id.h"
#include "base/limits.h"
#include "base/metric.h"
#include "base/tm.h"
#include "base/trace.h"
#include "exchange.h"
#include "router.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define RID_MAX 64

/* Writes everything, blocking; the socket's send time-out bounds it. -1: the peer is gone or too slow. */
int
conn_write(struct http_conn *c, struct fcgi_out *o)
{
	struct fcgi_batch b;
	size_t n;

	while ((n = fcgi_out_next(o, &b)) > 0) {
		struct msghdr m = { .msg_iov = b.iov, .msg_iovlen = n };

		while (m.msg_iovlen > 0) {
			ssize_t k = sendmsg(c->fd, &m, MSG_NOSIGNAL);

			if (k < 0 && errno == EINTR)
				continue;
			if (k < 0)
				return -1;
			for (; m.msg_iovlen > 0 && (size_t)k >= m.msg_iov->iov_len;
			     m.msg_iov++, m.msg_iovlen--)
				k -= (ssize_t)m.msg_iov->iov_len;
			if (m.msg_iovlen > 0) {
				m.msg_iov->iov_base = (char *)m.msg_iov->iov_base + k;
				m.msg_iov->iov_len -= (size_t)k;
			}
		}
	}
	return 0;
}

/* A client may name its request, within reason. */
static const char *
request_id(struct arena *a, struct str given, int64_t now)
{
	struct id id;

	if (given.n >= 1 && given.n <= RID_MAX) {
		size_t i = 0;

		while (i < given.n && (given.p[i] == '-' || given.p[i] == '_' || given.p[i] == '.' ||
					  (given.p[i] >= '0' && given.p[i] <= '9') ||
					  ((given.p[i] | 32) >= 'a' && (given.p[i] | 32) <= 'z')))
			i++;
		if (i == given.n)
			return arena_strdup(a, given);
	}
	id = id_new(now);
	return arena_strdup(a, str_c(id.s));
}

static void
exchange_init(struct exchange *x, struct http_conn *c, struct arena *a)
{
	struct request *r = &x->r;
	const struct fcgi_in *in = &x->in;
	struct str uri = fcgi_in_param(in, STR("REQUEST_URI"));

	x->conn = c;
	x->began_us = tm_mono_us();
	x->ctx.a = a;
	x->ctx.now = tm_now();
	x->headers = sb_new(a);
	atomic_init(&x->deserted, false);
	r->ctx = &x->ctx;
	r->exchange = x;
	r->app = c->server->app.state;
	r->method = method_parse(fcgi_in_param(in, STR("REQUEST_METHOD")));
	r->path = str_sub(uri, 0, str_chr(uri, '?', 0));
	r->content_type = fcgi_in_param(in, STR("CONTENT_TYPE"));
	r->remote_addr = fcgi_in_param(in, STR("REMOTE_ADDR"));
	r->server_addr = fcgi_in_param(in, STR("SERVER_ADDR"));
	x->ctx.rid = request_id(a, req_header(r, "x-request-id"), x->ctx.now);
	x->ctx.trace = trace_parent(a, req_header(r, "traceparent"));
	x->ctx.tracestate = req_header(r, "tracestate");
	log_request(x->ctx.rid);
	add_common_headers(x);
}

static const char *
allow_list(struct arena *a, unsigned allow)
{
	struct sb s = sb_new(a);

	for (int m = 0; m < METHOD__COUNT; m++)
		if (allow & 1u << m)
			sb_addf(&s, "%s, ", method_names[m]);
	if (allow & 1u << METHOD_GET)
		sb_adds(&s, "HEAD, ");
	sb_adds(&s, "OPTIONS");
	return sb_c(&s);
}

/* OPTIONS, for browsers (CORS) and others. */
static int
answer_options(struct exchange *x, unsigned allow)
{
	struct request *r = &x->r;
	struct str want = req_header(r, "access-control-request-headers");
	const char *list = allow_list(x->ctx.a, allow);

	reply_header(r, "Allow", list);
	if (req_header(r, "access-control-request-method").n > 0) {
		reply_header(r, "Access-Control-Allow-Methods", list);
		if (want.n > 0)
			add_header(&x->headers, "Access-Control-Allow-Headers", want);
		reply_header(r, "Access-Control-Max-Age", "600");
	}
	return reply_empty(r);
}

/* 1 there is a row, 0 answered, -1 failed. */
static int
match(struct exchange *x)
{
	struct request *r = &x->r;
	int rc = router_match(x->conn->server->router, x->ctx.a, r->method, r->path, &r->match);

	if (r->method == METHOD_OPTIONS && rc == -1)
		return answer_options(x, r->match.allow);
	r->route = r->match.row;
	if (rc == 1)
		return 1;
	if (rc == -2)
		return fail(&x->ctx, ERR_INVALID, "invalid_path",
		    "path is too long or not percent-encoded UTF-8, or an id is not 1 to 128 bytes");
	if (rc == 0)
		return fail(&x->ctx, ERR_NOT_FOUND, "not_found", "no such route: %.*s",
		    STR_ARG(str_sub(r->path, 0, 200)));
	reply_header(r, "Allow", allow_list(x->ctx.a, r->match.allow));
	return fail(&x->ctx, ERR_METHOD, "method_not_allowed", "%.*s does not take this method",
	    STR_ARG(str_sub(r->path, 0, 200)));
}

static int
read_body(struct exchange *x)
{
	const struct route *row = x->r.route;
	size_t max = row->max_body != 0 ? row->max_body : LIM_BODY;
	struct str length = fcgi_in_param(&x->in, STR("CONTENT_LENGTH"));
	int64_t n = 0;
	int rc;

	if (length.n > 0 && (!str_int(length, &n) || n < 0))
		return fail(&x->ctx, ERR_INVALID, "invalid_content_length", "content length is not a number");
	rc = (uint64_t)n > max ? 1 : fcgi_in_body(&x->in, x->ctx.a, max, (size_t)n, &x->r.body);
	if (rc > 0)
		return fail(&x->ctx, ERR_TOO_LARGE, "payload_too_large",
		    "request body is larger than %zu bytes", max);
	if (rc < 0 || (length.n > 0 && x->r.body.n != (size_t)n))
		return fail(&x->ctx, ERR_INVALID, "incomplete_body", "request body broke off");
	return 0;
}

static bool
is_json_type(struct str type)
{
	type = str_trim(str_sub(type, 0, str_chr(type, ';', 0)));
	return str_ieq(type, STR("application/json")) ||
	       (type.n > 17 && str_ieq(str_sub(type, 0, 12), STR("application/")) &&
		   str_ieq(str_sub(type, type.n - 5, type.n), STR("+json")));
}

/* The body of a row with fields: type, text, members. */
static int
take_json_body(struct exchange *x)
{
	struct request *r = &x->r;
	struct json *body = NULL;

	if (r->body.n == 0 && r->content_type.n > 0 && !(r->route->flags & ROUTE_BODY_OPTIONAL) &&
	    is_json_type(r->content_type))
		return fail(&x->ctx, ERR_INVALID, "invalid_json", "request body is empty");
	if (r->body.n > 0 && !is_json_type(r->content_type))
		return fail(&x->ctx, ERR_MEDIA_TYPE, "unsupported_media_type",
		    "content type must be application/json");
	if (r->body.n > 0 && json_body(&x->ctx, r->body, &body) < 0)
		return -1;
	if (r->body.n > 0 && json_type(body) != JSON_OBJECT)
		return fail_field(&x->ctx, "", "type", "must be object");
	return field_take(&x->ctx, r->route->body, body, r->route->body_mode, &r->in, &r->ignored);
}

static int
take_body(struct exchange *x)
{
	const struct route *row = x->r.route;

	if (row->body == NULL && !(row->flags & ROUTE_BODY_BYTES))
		return 0; /* what may come is dropped */
	if (read_body(x) < 0)
		return -1;
	if (row->body == NULL || (row->flags & ROUTE_BODY_BYTES && x->r.content_type.n > 0 && !is_json_type(x->r.content_type)))
		return 0;
	return take_json_body(x);
}

/* Loop thread: the client of a long plain request has left. */
static void
client_left(void *arg, uint32_t events)
{
	struct http_conn *c = arg;
	void (*fn)(void *) = NULL;
	void *fn_arg = NULL;

	(void)events;
	loop_unwatch(c->server->loop, c->fd);
	pthread_mutex_lock(&c->lock);
	if (c->watched != NULL) {
		atomic_store(&c->watched->deserted, true);
		fn = c->watched->on_deserted;
		fn_arg = c->watched->on_deserted_arg;
		c->watched->on_deserted = NULL;
		c->calling = fn != NULL;
	}
	pthread_mutex_unlock(&c->lock);
	if (fn == NULL)
		return;
	fn(fn_arg);
	pthread_mutex_lock(&c->lock);
	c->calling = false;
	pthread_cond_broadcast(&c->quiet);
	pthread_mutex_unlock(&c->lock);
}

static void
watch_begin(void *arg)
{
	struct http_conn *c = arg;

	loop_watch(c->server->loop, c->fd, EPOLLRDHUP, client_left, c);
}

/* The loop has let go of the connection; now it may be parked or closed. */
static void
watch_end_park(void *arg)
{
	struct http_conn *c = arg;

	loop_unwatch(c->server->loop, c->fd);
	conn_park(c);
}

static void
watch_end_close(void *arg)
{
	struct http_conn *c = arg;

	loop_unwatch(c->server->loop, c->fd);
	conn_close(c);
}

/* See exchange.h. */
void
exchange_unwatch(struct exchange *x)
{
	struct http_conn *c = x->conn;

	pthread_mutex_lock(&c->lock);
	c->watched = NULL;
	while (c->calling)
		pthread_cond_wait(&c->quiet, &c->lock);
	pthread_mutex_unlock(&c->lock);
}

/* See request.h. */
bool
request_deserted(const struct request *r)
{
	return atomic_load(&r->exchange->deserted);
}

static void
tell_at_once(void *arg)
{
	client_left(arg, 0);
}

/* See request.h. */
void
request_on_deserted(struct request *r, void (*fn)(void *), void *arg)
{
	struct exchange *x = r->exchange;

	if (x->conn == NULL)
		return; /* a stream has its own */
	pthread_mutex_lock(&x->conn->lock);
	x->on_deserted = fn;
	x->on_deserted_arg = arg;
	pthread_mutex_unlock(&x->conn->lock);
	if (atomic_load(&x->deserted))
		loop_post(x->conn->server->loop, tell_at_once, x->conn);
}

/* From the matched row to the handler's return. */
static int
handle(struct exchange *x)
{
	struct request *r = &x->r;
	struct server *s = x->conn->server;

	if (r->route->flags & ROUTE_LONG) {
		if (!server_take_long(s))
			return fail(&x->ctx, ERR_UNAVAILABLE, "overloaded",
			    "too many generations at once, try again soon");
		x->long_slot = true;
	}
	if (r->route->auth != AUTH_PUBLIC && s->app.authenticate != NULL && s->app.authenticate(r) < 0)
		return -1;
	x->let_in = true;
	if (parse_query(x, fcgi_in_param(&x->in, STR("QUERY_STRING"))) < 0 || take_body(x) < 0)
		return -1;
	if (fcgi_in_close(&x->in) < 0)
		return fail(&x->ctx, ERR_INVALID, "incomplete_body", "request body broke off");
	if (x->long_slot && r->route->answer_kind != ANSWER_EVENTS) {
		x->conn->watched = x;
		loop_post(s->loop, watch_begin, x->conn);
	}
	return r->route->fn(r);
}

/* A request that failed before it entered its account: what is wrong with the credentials is said first. */
static void
credentials_first(struct exchange *x)
{
	const struct server *s = x->conn->server;
	struct err first = x->ctx.err;

	if (!x->let_in || x->r.route->auth == AUTH_PUBLIC || x->ctx.who.account_no != 0 ||
	    s->app.enter == NULL)
		return;
	if (first.kind == ERR_UNAUTHENTICATED || first.kind == ERR_FORBIDDEN)
		return;
	err_clear(&x->ctx);
	if (s->app.enter(&x->r) == 0)
		x->ctx.err = first;
}

static int
write_answer(struct exchange *x)
{
	struct fcgi_out o = { .id = x->in.id, .last = atomic_load(&x->conn->server->draining) };

	if (!x->begun)
		o.part[o.n++] = answer_head(x);
	for (size_t i = 0; i < x->n_parts && x->r.method != METHOD_HEAD; i++)
		o.part[o.n++] = x->part[i];
	return conn_write(x->conn, &o) < 0 || o.last ? -1 : 0;
}

static void
count_request(const struct exchange *x)
{
	int status = x->status > 0 ? x->status : 200; /* a stream: it began, or it would have one */

	metric_add(METRIC_REQUESTS_ACTIVE, -1);
	metric_add(METRIC_REQUESTS_2XX + (status < 300 ? 0 : status < 400 ? 1 : status < 500 ? 2 : 3), 1);
	metric_time(METRIC_TIME_REQUEST, tm_mono_us() - x->began_us);
}

static void
log_access(const struct exchange *x)
{
	const struct request *r = &x->r;
	const struct err *e = &x->ctx.err;
	size_t n = 0;

	for (size_t i = 0; i < x->n_parts; i++)
		n += x->part[i].n;
	if (x->status == 500 || (x->status > 500 && e->log != NULL))
		log_write(x->status == 500 ? LOG_ERROR_ : LOG_WARN_, "request.failed",
		    "code=%s message=\"%s\" reason=\"%s\"", e->code ? e->code : "", e->msg ? e->msg : "",
		    e->log ? e->log : "");
	log_info("request", "method=%s path=%.*s status=%d us=%lld bytes=%zu account=%d trace=%.*s%s%s",
	    method_names[r->method] ? method_names[r->method] : "?", STR_ARG(str_sub(r->path, 0, 200)),
	    x->status, (long long)(tm_mono_us() - x->began_us), n, (int)x->ctx.who.account_no,
	    STR_ARG(trace_id(x->ctx.trace)), e->code ? " code=" : "", e->code ? e->code : "");
}

/* After the handler: the answer, and what becomes of the connection. */
static enum served
finish(struct exchange *x, bool failed)
{
	struct http_conn *c = x->conn;
	bool usable = fcgi_in_close(&x->in) == 0,
	     watched = x->long_slot && x->r.route->answer_kind != ANSWER_EVENTS;

	if (c == NULL)
		return SERVED_GONE;
	if (watched)
		exchange_unwatch(x);
	usable = !(failed && x->begun) && write_answer(x) == 0 && usable && x->in.keep;
	if (!watched)
		return usable ? SERVED_KEEP : SERVED_CLOSE;
	loop_post(c->server->loop, usable ? watch_end_park : watch_end_close, c);
	return SERVED_GONE;
}

static void
release_long(struct server *s)
{
	pthread_mutex_lock(&s->lock);
	s->longs--;
	pthread_mutex_unlock(&s->lock);
}

/* Serves the request that waits in c. Everything about it lives in `a`. */
enum served
serve(struct http_conn *c, struct arena *a)
{
	struct exchange *x = arena_new(a, struct exchange);
	struct server *s = c->server;
	enum served out;
	int rc;

	if (fcgi_in_open(c->fd, a, &x->in) < 0) {
		c->fd = -1; /* libfcgi closed it */
		return SERVED_CLOSE;
	}
	exchange_init(x, c, a);
	metric_add(METRIC_REQUESTS_ACTIVE, 1);
	rc = x->in.responder
		 ? match(x)
		 : fail(&x->ctx, ERR_INVALID, "invalid_request", "not a FastCGI responder request");
	if (rc > 0)
		rc = handle(x);
	if (rc < 0 && x->ctx.err.kind == ERR_NONE)
		fail(&x->ctx, ERR_INTERNAL, "internal_error", "Internal server error");
	if (rc < 0 && x->conn != NULL && !x->begun)
		credentials_first(x);
	if (rc < 0 && x->conn != NULL && !x->begun)
		reply_error(x);
	else if (x->status == 0 && x->conn != NULL) {
		fail(&x->ctx, ERR_INTERNAL, "internal_error", "Internal server error");
		fail_log(&x->ctx, "the handler gave no answer");
		reply_error(x);
	}
	out = finish(x, rc < 0);
	if (x->long_slot)
		release_long(s);
	count_request(x);
	log_access(x);
	log_request(NULL);
	return out;
}
