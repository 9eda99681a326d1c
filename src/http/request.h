/*
 * request: one HTTP request in the hands of a thread, and its answer. Handlers see this and
 * nothing of FastCGI. One reply_* call per request; a handler that returns -1 has recorded an
 * error and the router answers with the envelope.
 */
#ifndef HTTP_REQUEST_H
#define HTTP_REQUEST_H

#include "base/ctx.h"
#include "base/json.h"
#include "base/sb.h"
#include "route.h"
#include "stream/stream.h"

struct request {
	struct ctx *ctx;
	const struct route *route;
	enum method method;
	struct str path; /* raw, without the query */
	struct str body; /* bytes as sent */
	struct str content_type;
	struct str remote_addr, server_addr;
	struct json *in;            /* validated body, known members only; NULL without a body table */
	struct json *query;         /* validated query object */
	struct field_names ignored; /* unknown body members: x-tavern-ignored-fields */
	struct route_match match;
	void *app;                 /* the application's process state (api/app.h) */
	struct exchange *exchange; /* private to http */
};

struct str req_param(const struct request *r, const char *name);  /* path parameter; always there */
struct str req_header(const struct request *r, const char *name); /* lower case name; STR_NULL if absent */
struct str req_query(
    const struct request *r, const char *name); /* validated text value; STR_NULL if absent */
int64_t req_query_int(const struct request *r, const char *name, int64_t dflt);
bool req_query_bool(const struct request *r, const char *name, bool dflt);

/* A file that came as the body, or as the part `file` of a form. Slices of the body. */
struct upload {
	struct str bytes, media_type;
	struct str file_name; /* absent = none was said */
	struct json *fields;  /* the form's other texts, not yet validated (field_take, FIELD_QUERY) */
};
/* For rows with ROUTE_BODY_BYTES. 0, or -1: a form that is broken or has no file (400 invalid_multipart). */
int req_upload(struct request *r, struct upload *out);

/*
 * Answers. Text is JSON without the envelope. It is not copied: it must live until the handler has
 * returned, so in the request's arena (or static). All return 0.
 */
int reply_data(struct request *r, struct str json);               /* {"data":…} with the row's status */
int reply_status(struct request *r, int status, struct str json); /* the same with another status */
int reply_list(struct request *r, struct str array, const char *meta_json); /* meta NULL = none */
int reply_bare(struct request *r, int status, const char *content_type, struct str bytes);
int reply_empty(struct request *r); /* 204 */
int reply_file(struct request *r, const char *content_type, const char *filename, struct str bytes);
/*
 * A download that is written piece by piece, blocking, with no more memory than a piece: begin, write…, and return 0 from the handler. length -1 = unknown. A
 * handler that fails behind begin breaks the connection off, so that nobody takes a part for the whole. -1 with the error recorded: the client has left.
 */
int reply_begin(struct request *r, const char *content_type, const char *filename, int64_t length);
int reply_write(struct request *r, struct str bytes);
void reply_header(
    struct request *r, const char *name, const char *value); /* before reply_stream, else any time */

/*
 * Turns the answer into an event stream fed from `s` and detaches the connection from the
 * request: afterwards the thread never sees it again; headers and events go out on the loop.
 * from: position asked for by Last-Event-ID (zeroed = start).
 */
int reply_stream(struct request *r, struct stream *s, struct stream_pos from);
/* A stream that says one `error` event and ends: refusals of stream routes (decisions 43). */
int reply_stream_error(struct request *r, const struct err *e);
/*
 * As reply_stream, but another process may take the connection over: the headers are written, then
 * offer(arg, fd, …) sends the descriptor away (peer ATTACH). 0: it did, the connection is gone here.
 * -1: it could not; the caller answers by reply_stream after all.
 */
int reply_stream_elsewhere(
    struct request *r, int (*offer)(void *arg, int fd, uint16_t id, bool keep), void *arg);
/*
 * The Last-Event-ID of the request (or the query parameter last_event_id, if the row has one) as a position in the stream
 * with this label; zeroed if there is none or it is of another stream.
 */
struct stream_pos req_last_event(const struct request *r, struct str label);
/* True once the client of a plain (not streamed) request has left; set by the loop. */
bool request_deserted(const struct request *r);
/* Calls fn on the loop thread when the client of this plain request leaves (or at once if it has). */
void request_on_deserted(struct request *r, void (*fn)(void *), void *arg);

#endif
