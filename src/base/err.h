/*
 * err: one way to fail. Functions return 0/-1 (iterators 1/0/-1) or pointer/NULL; the first
 * failure of a request is kept in its ctx with a kind (what the caller can do about it), a
 * code for programs, a message for people, and a text for the log that no client sees.
 * The kind maps to an HTTP status in http/router.c and nowhere else.
 * Messages: lower case, no full stop, user values quoted, say what was tried and what to do.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "vec.h"

enum err_kind {
	ERR_NONE,
	ERR_INVALID,         /* 400 */
	ERR_UNAUTHENTICATED, /* 401 */
	ERR_FORBIDDEN,       /* 403 */
	ERR_NOT_FOUND,       /* 404 */
	ERR_METHOD,          /* 405 */
	ERR_CONFLICT,        /* 409 */
	ERR_GONE,            /* 410 */
	ERR_TOO_LARGE,       /* 413 */
	ERR_MEDIA_TYPE,      /* 415 */
	ERR_RATE,            /* 429 + Retry-After */
	ERR_CANCELLED,       /* 499 */
	ERR_INTERNAL,        /* 500 */
	ERR_UPSTREAM,        /* 502 */
	ERR_UNAVAILABLE,     /* 503 + Retry-After */
	ERR_TIMEOUT,         /* 504 */
	ERR__COUNT
};

const char *err_kind_name(enum err_kind k); /* "conflict": of errors that are kept */
enum err_kind err_kind_of(struct str name); /* ERR_NONE if it is none */

struct err_field {
	const char *path;    /* "/message", "/items/0/name" */
	const char *code;    /* as the original server: "required", "type", "enum", "minimum", "maxLength", … */
	const char *message;
};

struct err {
	enum err_kind kind;
	const char *code, *msg;
	const char *log;         /* for us only */
	const char *details;     /* JSON text of `details`, if not the field list */
	int retry_after;         /* seconds; 0 = none */
	VEC(struct err_field) fields;
};

struct ctx;

/* Records the first error of the request and returns -1; later ones are dropped. */
int fail(struct ctx *c, enum err_kind k, const char *code, const char *fmt, ...) PRINTF(4, 5);
/* Adds a text for the log to the recorded error (or the next one). Returns -1. */
int fail_log(struct ctx *c, const char *fmt, ...) PRINTF(2, 3);
/* Sets JSON `details` on the recorded error. Returns -1. */
int fail_details(struct ctx *c, const char *json);
/* Collects: all bad fields of a body in one 400 `validation_error`. Returns -1. */
int fail_field(struct ctx *c, const char *path, const char *code, const char *fmt, ...) PRINTF(4, 5);
bool failed(const struct ctx *c);
void err_clear(struct ctx *c);

#endif
