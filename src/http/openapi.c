/*
 * openapi: the rows as an OpenAPI 3.0.3 document. What a row says is all there is: an operation
 * cannot be documented otherwise than it is routed.
 */
#include "router.h"

#include <ctype.h>
#include <string.h>

#define JSON_TYPE "application/json"
#define REF_ERROR "#/components/schemas/Error"

/* "GET /sessions/{id}/active-run" -> "getSessionsIdActiveRun". */
static const char *
operation_id(struct arena *a, const struct route *r)
{
	struct sb s = sb_new(a);
	bool upper = true;

	for (const char *p = method_names[r->method]; *p != '\0'; p++)
		sb_addc(&s, (char)tolower((unsigned char)*p));
	for (const char *p = r->path; *p != '\0'; p++) {
		if (!isalnum((unsigned char)*p)) {
			upper = true;
			continue;
		}
		sb_addc(&s, upper ? (char)toupper((unsigned char)*p) : *p);
		upper = false;
	}
	return sb_c(&s);
}

static void
add_path_parameters(struct arena *a, const struct route *r, struct json *out)
{
	struct str rest = str_c(r->path), seg;

	while (str_next(&rest, '/', &seg)) {
		struct json *p, *schema;

		if (seg.n < 3 || seg.p[0] != '{')
			continue;
		p = json_push_object(out);
		json_set_str(p, "name", arena_str(a, str_sub(seg, 1, seg.n - 1)));
		json_set_c(p, "in", "path");
		json_set_bool(p, "required", true);
		schema = json_set_object(p, "schema");
		json_set_c(schema, "type", "string");
		json_set_int(schema, "minLength", 1);
	}
}

static void
add_query_parameters(struct arena *a, const struct route *r, struct json *out)
{
	for (const struct field *f = r->query; f != NULL && f->name != NULL; f++) {
		struct json *p = json_push_object(out);

		json_set_c(p, "name", f->name);
		json_set_c(p, "in", "query");
		json_set_bool(p, "required", (f->flags & FF_REQUIRED) != 0);
		if (f->doc != NULL)
			json_set_c(p, "description", f->doc);
		json_set(p, "schema", field_schema_one(a, f, FIELD_QUERY));
	}
}

static bool
needs_body(const struct route *r)
{
	for (const struct field *f = r->body; f != NULL && f->name != NULL; f++)
		if (f->flags & FF_REQUIRED && r->body_mode != FIELD_PATCH)
			return true;
	return (r->flags & ROUTE_BODY_BYTES) && !(r->flags & ROUTE_BODY_OPTIONAL);
}

static void
add_body(struct arena *a, const struct route *r, struct json *op)
{
	struct json *body, *content, *media;

	if (r->body == NULL && !(r->flags & ROUTE_BODY_BYTES))
		return;
	body = json_set_object(op, "requestBody");
	json_set_bool(body, "required", needs_body(r));
	content = json_set_object(body, "content");
	if (r->body != NULL) {
		media = json_set_object(content, JSON_TYPE);
		json_set(media, "schema", field_schema(a, r->body, r->body_mode));
	}
	if (r->flags & ROUTE_BODY_BYTES) {
		media = json_set_object(json_set_object(content, "*/*"), "schema");
		json_set_c(media, "type", "string");
		json_set_c(media, "format", "binary");
	}
}

/* {"type":"object","properties":{},"required":[]}; the caller fills in. */
static struct json *
object_schema(struct json *schema, const char *const *required)
{
	struct json *req;

	json_set_c(schema, "type", "object");
	req = json_set_array(schema, "required");
	for (; *required != NULL; required++)
		json_push_str(req, str_c(*required));
	return json_set_object(schema, "properties");
}

static struct json *
answer_schema(struct arena *a, const struct route *r)
{
	if (r->answer != NULL)
		return field_schema(a, r->answer, FIELD_ANSWER);
	return json_object(a);
}

static void
set_nullable(struct json *schema, const struct route *r)
{
	if (r->flags & ROUTE_ANSWER_NULLABLE)
		json_set_bool(schema, "nullable", true);
}

static void
list_meta(struct arena *a, struct json *props)
{
	static const char *const orders[] = { "asc", "desc", NULL };
	static const struct field meta[] = {
		{ "total", FT_INT, .bounded = true, .max = INT64_MAX },
		{ "limit", FT_INT, .bounded = true, .min = 1, .max = INT64_MAX },
		{ "offset", FT_INT, .bounded = true, .max = INT64_MAX },
		{ "has_more", FT_BOOL },
		{ "sort_by", FT_STRING },
		{ "sort_order", FT_ENUM, .choices = orders },
		FIELD_END,
	};

	json_set(props, "meta", field_schema(a, meta, FIELD_ANSWER));
}

static void
fill_json_answer(struct arena *a, const struct route *r, struct json *schema)
{
	static const char *const data[] = { "data", NULL }, *const data_meta[] = { "data", "meta", NULL },
				 *const deleted[] = { "id", "deleted", NULL };
	struct json *props, *d;

	switch (r->answer_kind) {
	case ANSWER_DATA:
		props = object_schema(schema, data);
		d = answer_schema(a, r);
		set_nullable(d, r);
		json_set(props, "data", d);
		break;
	case ANSWER_LIST:
	case ANSWER_ARRAY:
		props = object_schema(schema, r->answer_kind == ANSWER_LIST ? data_meta : data);
		if (r->flags & ROUTE_LIST_OBJECT)
			json_set(props, "data", answer_schema(a, r));
		else {
			d = json_set_object(props, "data");
			json_set_c(d, "type", "array");
			json_set(d, "items", answer_schema(a, r));
		}
		if (r->answer_kind == ANSWER_LIST)
			list_meta(a, props);
		break;
	case ANSWER_DELETED:
		props = object_schema(schema, data);
		d = object_schema(json_set_object(props, "data"), deleted);
		json_set_c(json_set_object(d, "id"), "type", "string");
		json_set_c(json_set_object(d, "deleted"), "type", "boolean");
		break;
	case ANSWER_BARE:
	case ANSWER_EMPTY:
	case ANSWER_EVENTS:
	case ANSWER_FILE:
		break;
	}
}

static void
add_success(struct arena *a, const struct route *r, struct json *responses)
{
	const char *status = arena_printf(a, "%d",
	    r->status != 0                   ? r->status
	    : r->answer_kind == ANSWER_EMPTY ? 204
					     : 200);
	struct json *answer = json_set_object(responses, status), *content, *schema;

	if (r->answer_kind == ANSWER_EMPTY) {
		json_set_c(answer, "description", "done, no content");
		return;
	}
	json_set_c(answer, "description", r->answer_kind == ANSWER_EVENTS ? "server-sent events" : "success");
	content = json_set_object(answer, "content");
	if (r->answer_kind == ANSWER_EVENTS || r->answer_kind == ANSWER_FILE) {
		schema = json_set_object(
		    json_set_object(content, r->answer_kind == ANSWER_EVENTS ? "text/event-stream" : "*/*"),
		    "schema");
		json_set_c(schema, "type", "string");
		if (r->answer_kind == ANSWER_FILE)
			json_set_c(schema, "format", "binary");
		return;
	}
	if (r->answer_kind == ANSWER_BARE) {
		json_set(json_set_object(content, JSON_TYPE), "schema", answer_schema(a, r));
		return;
	}
	fill_json_answer(a, r, json_set_object(json_set_object(content, JSON_TYPE), "schema"));
}

static const char *
status_text(int status)
{
	static const struct {
		int status;
		const char *text;
	} texts[] = {
		{ 400, "the request is malformed or does not fit" },
		{ 401, "not authenticated" },
		{ 403, "not allowed" },
		{ 404, "no such resource in this account" },
		{ 409, "the state of the resource forbids it" },
		{ 410, "gone" },
		{ 413, "the body is too large" },
		{ 415, "the content type is not supported" },
		{ 429, "too many requests, see Retry-After" },
		{ 499, "cancelled" },
		{ 500, "failed by a fault of the server" },
		{ 502, "the model server failed" },
		{ 503, "not available now, see Retry-After" },
		{ 504, "timed out" },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i].status == status)
			return texts[i].text;
	return "failed";
}

static void
add_error(struct arena *a, int status, struct json *responses)
{
	const char *key = arena_printf(a, "%d", status);
	struct json *answer;

	if (json_has(responses, key))
		return;
	answer = json_set_object(responses, key);
	json_set_c(answer, "description", status_text(status));
	json_set_c(json_set_object(json_set_object(json_set_object(answer, "content"), JSON_TYPE), "schema"),
	    "$ref", REF_ERROR);
}

/* The errors that follow from the row's facts, and those it names. */
static void
add_errors(struct arena *a, const struct route *r, struct json *responses)
{
	bool params = strchr(r->path, '{') != NULL, body = r->body != NULL || r->flags & ROUTE_BODY_BYTES;

	if (params || body || r->query != NULL)
		add_error(a, 400, responses);
	if (r->auth != AUTH_PUBLIC) {
		add_error(a, 401, responses);
		add_error(a, 403, responses);
	}
	if (params)
		add_error(a, 404, responses);
	if (body)
		add_error(a, 413, responses);
	if (r->body != NULL)
		add_error(a, 415, responses);
	for (const int *e = r->errors; e != NULL && *e != 0; e++)
		add_error(a, *e, responses);
	if (r->flags & ROUTE_LONG)
		add_error(a, 503, responses);
}

static void
add_security(const struct route *r, struct json *op)
{
	struct json *any = json_set_array(op, "security");

	if (r->auth == AUTH_PUBLIC)
		return;
	json_set_array(json_push_object(any), "ApiKeyAuth");
	json_set_array(json_push_object(any), "BearerAuth");
}

static void
add_operation(struct arena *a, const struct route *r, struct json *item)
{
	struct sb method = sb_new(a);
	struct json *op, *params, *responses;

	for (const char *p = method_names[r->method]; *p != '\0'; p++)
		sb_addc(&method, (char)tolower((unsigned char)*p));
	op = json_set_object(item, sb_c(&method));
	json_set_c(op, "operationId", operation_id(a, r));
	json_set_c(op, "summary", r->summary);
	json_push_str(json_set_array(op, "tags"), str_c(r->tag));
	add_security(r, op);
	params = json_array(a);
	add_path_parameters(a, r, params);
	add_query_parameters(a, r, params);
	if (json_len(params) > 0)
		json_set(op, "parameters", params);
	add_body(a, r, op);
	responses = json_set_object(op, "responses");
	add_success(a, r, responses);
	add_errors(a, r, responses);
}

static void
add_components(struct json *doc)
{
	static const char *const error[] = { "error", NULL }, *const members[] = { "code", "message", NULL };
	struct json *components = json_set_object(doc, "components"), *schemes, *scheme, *props;

	props = object_schema(json_set_object(json_set_object(components, "schemas"), "Error"), error);
	props = object_schema(json_set_object(props, "error"), members);
	json_set_c(json_set_object(props, "code"), "type", "string");
	json_set_c(json_set_object(props, "message"), "type", "string");
	json_set_c(json_set_object(props, "details"), "description",
	    "of a validation_error: a list of {path, message, code}; else an object");
	schemes = json_set_object(components, "securitySchemes");
	scheme = json_set_object(schemes, "ApiKeyAuth");
	json_set_c(scheme, "type", "apiKey");
	json_set_c(scheme, "in", "header");
	json_set_c(scheme, "name", "x-api-key");
	scheme = json_set_object(schemes, "BearerAuth");
	json_set_c(scheme, "type", "http");
	json_set_c(scheme, "scheme", "bearer");
	json_set_c(scheme, "description", "an API key or a JSON web token");
}

static void
add_tag(struct json *tags, const char *tag)
{
	for (size_t i = 0; i < json_len(tags); i++)
		if (str_is(json_get_str(json_at(tags, i), "name"), tag))
			return;
	json_set_c(json_push_object(tags), "name", tag);
}

static void
add_head(struct json *doc, const char *version)
{
	struct json *info, *license;

	json_set_c(doc, "openapi", "3.0.3");
	info = json_set_object(doc, "info");
	json_set_c(info, "title", "tavernd");
	json_set_c(info, "description",
	    "Sessions, branches, variables, memory and prompt assembly of AI role-play.");
	json_set_c(info, "version", version);
	license = json_set_object(info, "license");
	json_set_c(license, "name", "MIT");
	json_set_c(license, "url", "https://opensource.org/license/mit");
	json_set_c(json_push_object(json_set_array(doc, "servers")), "url", "/");
}

/* See route.h. Rows come by path, so each path's item is the one before or a new one. */
struct str
openapi_document(struct arena *a, const struct router *rt, const char *version)
{
	struct json *doc = json_object(a), *tags, *paths, *item = NULL;
	const char *path = NULL;

	add_head(doc, version);
	tags = json_set_array(doc, "tags");
	paths = json_set_object(doc, "paths");
	for (size_t i = 0; i < router_count(rt); i++) {
		const struct route *r = router_row(rt, i);

		if (r->flags & ROUTE_UNLISTED)
			continue;
		if (path == NULL || strcmp(path, r->path) != 0)
			item = json_set_object(paths, r->path);
		path = r->path;
		add_tag(tags, r->tag);
		add_operation(a, r, item);
	}
	add_components(doc);
	return json_text(a, doc);
}
