/*
 * route: what the server offers, as rows. The router matches, authenticates, reads and validates
 * the body, calls the handler, maps errors to the envelope and logs; a handler is the domain
 * call. /openapi.json is printed from the same rows, so it cannot lie.
 */
#ifndef HTTP_ROUTE_H
#define HTTP_ROUTE_H

#include "base/field.h"

struct request;

enum method { METHOD_GET, METHOD_POST, METHOD_PUT, METHOD_PATCH, METHOD_DELETE, METHOD_HEAD, METHOD_OPTIONS, METHOD__COUNT };

enum route_auth {
	AUTH__UNSET,  /* a row that forgot: start-up failure */
	AUTH_PUBLIC,
	AUTH_ACCOUNT,
	AUTH_ADMIN,
};

enum answer_kind {
	ANSWER_DATA,       /* {"data": <answer>} */
	ANSWER_LIST,       /* {"data": [<answer>], "meta": {…}} */
	ANSWER_ARRAY,      /* {"data": [<answer>]} */
	ANSWER_BARE,       /* <answer> without the envelope */
	ANSWER_EMPTY,      /* 204 */
	ANSWER_EVENTS,     /* text/event-stream */
	ANSWER_FILE,       /* bytes with a content type */
	ANSWER_DELETED,    /* {"data":{"id","deleted":true}} */
};

enum route_flag {
	ROUTE_LONG = 1 << 0,            /* waits for a model: own thread budget, 600 s through nginx */
	ROUTE_BODY_OPTIONAL = 1 << 1,
	ROUTE_BODY_BYTES = 1 << 2,      /* any content type; req->body is the bytes. With `body`: of JSON alone
	                                 * fields are taken, of other types req->in is NULL (req_upload) */
	ROUTE_ANSWER_NULLABLE = 1 << 3, /* data may be null */
	ROUTE_UNLISTED = 1 << 4,        /* not in OpenAPI (docs pages) */
	ROUTE_LIST_OBJECT = 1 << 5,     /* ANSWER_LIST whose data is one object, not an array of them */
};

struct route {
	enum method method;
	const char *path;           /* "/sessions/{id}/respond" */
	int (*fn)(struct request *);
	enum route_auth auth;
	const struct field *query;  /* query parameters */
	const struct field *body;
	enum field_mode body_mode;  /* FIELD_CREATE by default */
	enum answer_kind answer_kind;
	const struct field *answer;
	int status;                 /* success; 0 = 200 */
	const int *errors;          /* documented statuses, 0-terminated; 400/401/403 are added by the row's own facts */
	unsigned flags;
	size_t max_body;            /* 0 = LIM_BODY */
	const void *arg;            /* what a shared handler works on: a struct resource, an entry kind … */
	const char *tag, *summary;
};

struct route_table {
	const struct route *rows;   /* ends with .path NULL */
};

struct router;

/* Builds the tree in the process arena. NULL + *why on a duplicate, a row without auth or summary, or a bad path. */
struct router *router_create(struct arena *a, const struct route_table *tables, size_t n, const char **why);

#define ROUTE_PARAMS_MAX 6
struct route_match {
	const struct route *row;
	unsigned allow;             /* bit per method known for the path (405, Allow) */
	size_t n;
	struct str name[ROUTE_PARAMS_MAX], value[ROUTE_PARAMS_MAX]; /* values percent-decoded, NUL-free, valid UTF-8 */
};
/* 1 match, 0 no such path, -1 known path with other methods, -2 bad escape or too long. */
int router_match(const struct router *rt, struct arena *a, enum method m, struct str path, struct route_match *out);

/* The rows in the order of the document. */
size_t router_count(const struct router *rt);
const struct route *router_row(const struct router *rt, size_t i);

/* The document (OpenAPI 3.0.3), stable order: by path, then method. */
struct str openapi_document(struct arena *a, const struct router *rt, const char *version);

#endif
