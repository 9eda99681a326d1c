/* reply: answers and the error envelope. See request.h. Nothing is written here: serve.c writes when the
 * handler is done. */
#include "base/limits.h"
#include "envelope.h"
#include "exchange.h"

#include <assert.h>

#define RETRY_AFTER 2 /* seconds, where the failure names no other */

/* Appends a header line; what could end it early or is no ASCII becomes a blank or `?`. */
void
add_header(struct sb *out, const char *name, struct str value)
{
	sb_adds(out, name);
	sb_adds(out, ": ");
	for (size_t i = 0; i < value.n; i++) {
		unsigned char c = (unsigned char)value.p[i];

		sb_addc(out, c < 0x20 || c == 0x7f ? ' ' : c < 0x80 ? (char)c : '?');
	}
	sb_adds(out, "\r\n");
}

/* See request.h. */
void
reply_header(struct request *r, const char *name, const char *value)
{
	add_header(&r->exchange->headers, name, str_c(value));
}

static bool
origin_allowed(const struct server *s, struct str origin)
{
	for (const char *const *o = s->conf.cors_origins; o != NULL && *o != NULL; o++)
		if (strcmp(*o, "*") == 0 || str_is(origin, *o))
			return true;
	return false;
}

/* What every answer carries. */
void
add_common_headers(struct exchange *x)
{
	struct str origin = req_header(&x->r, "origin");

	add_header(&x->headers, "X-Request-Id", str_c(x->ctx.rid));
	add_header(&x->headers, "Vary", STR("Origin"));
	if (origin.n == 0 || !origin_allowed(x->conn->server, origin))
		return;
	add_header(&x->headers, "Access-Control-Allow-Origin", origin);
	add_header(&x->headers, "Access-Control-Expose-Headers",
	    STR("X-Request-Id, X-Tavern-Ignored-Fields, Idempotent-Replayed, Retry-After, Content-Disposition"));
}

static void
list_ignored(struct exchange *x)
{
	const size_t most = 1000; /* bytes of the header */
	struct sb s = sb_new(x->ctx.a);

	for (size_t i = 0; i < x->r.ignored.v.n && s.n < most; i++) {
		sb_adds(&s, i > 0 ? ", " : "");
		sb_adds(&s, x->r.ignored.v.v[i]);
	}
	if (s.n > 0)
		add_header(&x->headers, "X-Tavern-Ignored-Fields", str_sub(sb_str(&s), 0, most));
}

/* The header block of the answer, in the form a web server takes from FastCGI. */
struct str
answer_head(struct exchange *x)
{
	struct sb h = sb_new(x->ctx.a);
	size_t n = 0;

	for (size_t i = 0; i < x->n_parts; i++)
		n += x->part[i].n;
	sb_addf(&h, "Status: %d %s\r\n", x->status, status_reason(x->status));
	if (x->content_type != NULL)
		add_header(&h, "Content-Type", str_c(x->content_type));
	if (x->streaming)
		sb_adds(&h, "Cache-Control: no-cache, no-transform\r\nX-Accel-Buffering: no\r\n");
	else if (x->begun && x->length >= 0)
		sb_addf(&h, "Content-Length: %lld\r\n", (long long)x->length);
	else if (x->status != 204 && !x->begun)
		sb_addf(&h, "Content-Length: %zu\r\n", n);
	list_ignored(x);
	sb_add(&h, sb_str(&x->headers));
	sb_adds(&h, "\r\n");
	return sb_str(&h);
}

static int
answer(struct request *r, int status, const char *content_type)
{
	struct exchange *x = r->exchange;

	assert(x->status == 0 && x->conn != NULL); /* one reply per request */
	x->status = status;
	x->content_type = content_type;
	return 0;
}

static void
part(struct request *r, struct str text)
{
	struct exchange *x = r->exchange;

	assert(x->n_parts < sizeof(x->part) / sizeof(x->part[0]));
	x->part[x->n_parts++] = text;
}

#define JSON_TYPE "application/json; charset=utf-8"

/* See request.h. */
int
reply_status(struct request *r, int status, struct str json)
{
	part(r, STR("{\"data\":"));
	part(r, json);
	part(r, STR("}"));
	return answer(r, status, JSON_TYPE);
}

/* See request.h. */
int
reply_data(struct request *r, struct str json)
{
	return reply_status(r, r->route->status != 0 ? r->route->status : 200, json);
}

/* See request.h. */
int
reply_list(struct request *r, struct str array, const char *meta_json)
{
	part(r, STR("{\"data\":"));
	part(r, array);
	part(r, meta_json == NULL ? STR("}") : str_c(arena_printf(r->ctx->a, ",\"meta\":%s}", meta_json)));
	return answer(r, r->route->status != 0 ? r->route->status : 200, JSON_TYPE);
}

/* See request.h. */
int
reply_bare(struct request *r, int status, const char *content_type, struct str bytes)
{
	part(r, bytes);
	return answer(r, status, content_type);
}

/* See request.h. */
int
reply_empty(struct request *r)
{
	return answer(r, 204, NULL);
}

/* A download: the name in ASCII, and in full by the extended form (RFC 6266). */
static void
disposition(struct request *r, const char *filename)
{
	struct sb v = sb_new(r->ctx->a);
	struct str name = str_c(filename);

	sb_adds(&v, "attachment; filename=\"");
	for (size_t i = 0; i < name.n; i++) {
		unsigned char c = (unsigned char)name.p[i];

		sb_addc(&v, c < 0x20 || c > 0x7e || c == '"' || c == '\\' || c == '/' ? '_' : (char)c);
	}
	sb_adds(&v, "\"; filename*=UTF-8''");
	for (size_t i = 0; i < name.n; i++) {
		unsigned char c = (unsigned char)name.p[i];
		bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
			     c == '-' || c == '.' || c == '_' || c == '~';

		sb_addf(&v, plain ? "%c" : "%%%02X", c);
	}
	add_header(&r->exchange->headers, "Content-Disposition", sb_str(&v));
}

/* See request.h. */
int
reply_file(struct request *r, const char *content_type, const char *filename, struct str bytes)
{
	disposition(r, filename);
	part(r, bytes);
	return answer(r, r->route->status != 0 ? r->route->status : 200, content_type);
}

static int
write_part(struct exchange *x, struct str bytes)
{
	struct fcgi_out o = { .id = x->in.id, .open = true, .part = { bytes }, .n = 1 };

	if (conn_write(x->conn, &o) == 0)
		return 0;
	return fail(&x->ctx, ERR_CANCELLED, "client_gone", "the client has left");
}

/* See request.h. */
int
reply_begin(struct request *r, const char *content_type, const char *filename, int64_t length)
{
	struct exchange *x = r->exchange;

	disposition(r, filename);
	answer(r, r->route->status != 0 ? r->route->status : 200, content_type);
	x->begun = true;
	x->length = length;
	return write_part(x, answer_head(x));
}

/* See request.h. */
int
reply_write(struct request *r, struct str bytes)
{
	struct exchange *x = r->exchange;

	return bytes.n == 0 || r->method == METHOD_HEAD ? 0 : write_part(x, bytes);
}

/* Answers with the recorded failure. What a handler had prepared is dropped. */
void
reply_error(struct exchange *x)
{
	const struct err *e = &x->ctx.err;
	int after = e->retry_after;

	x->status = 0;
	x->n_parts = 0;
	if (after == 0 && (e->kind == ERR_RATE || e->kind == ERR_UNAVAILABLE))
		after = RETRY_AFTER;
	if (after > 0)
		reply_header(&x->r, "Retry-After", arena_printf(x->ctx.a, "%d", after));
	reply_bare(&x->r, error_status(e->kind), JSON_TYPE, error_envelope(x->ctx.a, e));
}

/* See request.h. */
int
reply_stream(struct request *r, struct stream *s, struct stream_pos from)
{
	struct exchange *x = r->exchange;
	struct http_conn *c = x->conn;

	x->streaming = true;
	answer(r, 200, "text/event-stream; charset=utf-8");
	exchange_unwatch(x);
	x->conn = NULL;
	stream_hold(s);
	events_begin(c, x->in.id, x->in.keep ? EVENTS_KEEP : 0u, x->head_sent ? STR("") : answer_head(x), s, from);
	return 0;
}

/* See request.h. */
int
reply_stream_error(struct request *r, const struct err *e)
{
	struct stream *s = stream_create(r->exchange->conn->server->loop, 0, 0);
	struct sb json = sb_new(r->ctx->a);

	sb_adds(&json, "{\"code\":");
	sb_add_json(&json, str_c(error_code(e)));
	sb_adds(&json, ",\"message\":");
	sb_add_json(&json, str_c(e->msg != NULL ? e->msg : "Internal server error"));
	sb_addc(&json, '}');
	reply_stream(r, s, (struct stream_pos){ 0 });
	stream_finish(s, "error", sb_str(&json));
	return 0;
}

/* See request.h. */
int
reply_stream_elsewhere(struct request *r, int (*offer)(void *arg, int fd, uint16_t id, bool keep), void *arg)
{
	struct exchange *x = r->exchange;
	struct http_conn *c = x->conn;
	struct fcgi_out o = { .id = x->in.id, .open = true };

	x->streaming = true;
	answer(r, 200, "text/event-stream; charset=utf-8");
	o.part[o.n++] = answer_head(x);
	exchange_unwatch(x);
	if (!x->head_sent && conn_write(c, &o) < 0) {
		/* The client is gone; nobody needs the stream. */
		x->conn = NULL;
		conn_close(c);
		return 0;
	}
	x->head_sent = true;
	if (offer(arg, c->fd, x->in.id, x->in.keep) < 0) {
		x->status = 0; /* the next reply goes on behind the headers */
		return -1;
	}
	x->conn = NULL;
	conn_close(c);
	return 0;
}
