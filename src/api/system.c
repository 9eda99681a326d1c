/*
 * system: what the server says about itself: health, version, its own description.
 */
#include "config.h"

#include "api/app.h"
#include "api/tables.h"

#define READY_AGE_MS 1000 /* a readiness answer may be this old */

static int
health(struct request *r)
{
	bool ready = db_alive(app_of(r)->db, READY_AGE_MS);

	return reply_bare(r, ready ? 200 : 503, "application/json; charset=utf-8",
	    ready ? STR("{\"ok\":true,\"service\":\"tavernd\",\"database\":\"ready\"}")
		  : STR("{\"ok\":false,\"service\":\"tavernd\",\"database\":\"unavailable\"}"));
}

static int
version(struct request *r)
{
	return reply_bare(r, 200, "application/json; charset=utf-8",
	    str_c(arena_printf(r->ctx->a, "{\"version\":\"%s\",\"service\":\"tavernd\"}", PACKAGE_VERSION)));
}

static int
openapi(struct request *r)
{
	return reply_bare(r, 200, "application/json; charset=utf-8", app_of(r)->openapi);
}

/* Where nginx serves no /docs: a page that needs nothing else. */
static int
docs(struct request *r)
{
	return reply_bare(r, 200, "text/html; charset=utf-8",
	    STR("<!doctype html><meta charset=utf-8><title>tavernd</title><h1>tavernd</h1>"
		"<p>The API is described by <a href=/openapi.json>/openapi.json</a> (OpenAPI 3.0.3).</p>"));
}

/* clang-format off */
static const char *const db_states[] = { "ready", "unavailable", NULL };
static const struct field health_answer[] = {
	{ "ok", FT_BOOL, FF_REQUIRED },
	{ "service", FT_STRING, FF_REQUIRED },
	{ "database", FT_ENUM, FF_REQUIRED, .choices = db_states },
	FIELD_END
};
static const struct field version_answer[] = {
	{ "version", FT_STRING, FF_REQUIRED },
	{ "service", FT_STRING, FF_REQUIRED },
	FIELD_END
};
static const int errors_health[] = { 503, 0 };

const struct route api_system_routes[] = {
	{ METHOD_GET, "/health", health, AUTH_PUBLIC, .answer_kind = ANSWER_BARE, .answer = health_answer, .errors = errors_health, .tag = "system",
	  .summary = "Liveness and database readiness" },
	{ METHOD_GET, "/version", version, AUTH_PUBLIC, .answer_kind = ANSWER_BARE, .answer = version_answer, .tag = "system", .summary = "Name and version" },
	{ METHOD_GET, "/openapi.json", openapi, AUTH_PUBLIC, .flags = ROUTE_UNLISTED, .tag = "system", .summary = "This document" },
	{ METHOD_GET, "/docs", docs, AUTH_PUBLIC, .flags = ROUTE_UNLISTED, .tag = "system", .summary = "Readable description" },
	{ METHOD_GET, "/docs-en", docs, AUTH_PUBLIC, .flags = ROUTE_UNLISTED, .tag = "system", .summary = "Readable description" },
	{ METHOD_GET, "/docs-zh", docs, AUTH_PUBLIC, .flags = ROUTE_UNLISTED, .tag = "system", .summary = "Readable description" },
	{ .path = NULL }
};
/* clang-format on */
