/*
 * err: records failures in the ctx. Knows no HTTP status and writes no log.
 */
#include "base/err.h"

#include "base/ctx.h"
#include "base/limits.h"

#define VALIDATION_CODE "validation_error"

static const char *const kinds[ERR__COUNT] = {
	[ERR_NONE] = "none",
	[ERR_INVALID] = "invalid",
	[ERR_UNAUTHENTICATED] = "unauthenticated",
	[ERR_FORBIDDEN] = "forbidden",
	[ERR_NOT_FOUND] = "not_found",
	[ERR_METHOD] = "method",
	[ERR_CONFLICT] = "conflict",
	[ERR_GONE] = "gone",
	[ERR_TOO_LARGE] = "too_large",
	[ERR_MEDIA_TYPE] = "media_type",
	[ERR_RATE] = "rate",
	[ERR_CANCELLED] = "cancelled",
	[ERR_INTERNAL] = "internal",
	[ERR_UPSTREAM] = "upstream",
	[ERR_UNAVAILABLE] = "unavailable",
	[ERR_TIMEOUT] = "timeout",
};

const char *
err_kind_name(enum err_kind k)
{
	return kinds[k];
}

enum err_kind
err_kind_of(struct str name)
{
	for (int k = 0; k < ERR__COUNT; k++)
		if (str_is(name, kinds[k]))
			return (enum err_kind)k;
	return ERR_NONE;
}

int
fail(struct ctx *c, enum err_kind k, const char *code, const char *fmt, ...)
{
	va_list ap;

	if (c->err.kind != ERR_NONE)
		return -1;
	c->err.kind = k;
	c->err.code = code;
	va_start(ap, fmt);
	c->err.msg = arena_vprintf(c->a, fmt, ap);
	va_end(ap);
	return -1;
}

int
fail_log(struct ctx *c, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = arena_vprintf(c->a, fmt, ap);
	va_end(ap);
	c->err.log = c->err.log ? arena_printf(c->a, "%s; %s", c->err.log, text) : text;
	return -1;
}

int
fail_details(struct ctx *c, const char *json)
{
	c->err.details = json;
	return -1;
}

int
fail_field(struct ctx *c, const char *path, const char *code, const char *fmt, ...)
{
	struct err_field f = { .path = path, .code = code };
	va_list ap;

	if (c->err.kind == ERR_NONE)
		fail(c, ERR_INVALID, VALIDATION_CODE, "Request validation failed");
	else if (c->err.fields.n == 0)
		return -1; /* something else failed first */
	if (c->err.fields.n >= LIM_FIELD_ERRORS)
		return -1;
	va_start(ap, fmt);
	f.message = arena_vprintf(c->a, fmt, ap);
	va_end(ap);
	vec_push(c->a, &c->err.fields, f);
	return -1;
}

bool
failed(const struct ctx *c)
{
	return c->err.kind != ERR_NONE;
}

void
err_clear(struct ctx *c)
{
	c->err = (struct err){ 0 };
}
