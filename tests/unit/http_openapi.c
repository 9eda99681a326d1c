/* openapi: what the rows say is what the document says. */
#include "base/json.h"
#include "http/router.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static int
handler(struct request *r)
{
	return r == NULL ? -1 : 0;
}

static const struct field item_fields[] = {
	{ .name = "id", .type = FT_STRING, .flags = FF_READONLY },
	{ .name = "name", .type = FT_STRING, .flags = FF_REQUIRED, .min = 1, .max = 10, .doc = "shown name" },
	FIELD_END,
};
static const struct field list_query[] = {
	{ .name = "limit", .type = FT_INT, .min = 1, .max = 200, .dflt = "50", .doc = "rows" },
	{ .name = "session_id", .type = FT_STRING, .flags = FF_REQUIRED },
	FIELD_END,
};
static const int conflict[] = { 409, 404, 0 };

#define COMMON .fn = handler, .tag = "items", .summary = "s", .auth = AUTH_ACCOUNT
static const struct route rows[] = {
	{ METHOD_POST, "/items", COMMON, .body = item_fields, .answer = item_fields, .status = 201,
	    .errors = conflict },
	{ METHOD_GET, "/items", COMMON, .query = list_query, .answer = item_fields,
	    .answer_kind = ANSWER_LIST },
	{ METHOD_GET, "/items/{id}", COMMON, .answer = item_fields, .flags = ROUTE_ANSWER_NULLABLE },
	{ METHOD_DELETE, "/items/{id}", COMMON, .answer_kind = ANSWER_DELETED },
	{ METHOD_PUT, "/items/{id}/file", COMMON, .flags = ROUTE_BODY_BYTES, .answer_kind = ANSWER_EMPTY },
	{ METHOD_GET, "/items/{id}/file", COMMON, .answer_kind = ANSWER_FILE },
	{ METHOD_POST, "/items/{item_id}/say-it/{no}", COMMON, .answer_kind = ANSWER_EVENTS,
	    .flags = ROUTE_LONG },
	{ METHOD_GET, "/health", handler, AUTH_PUBLIC, .answer_kind = ANSWER_BARE, .tag = "system",
	    .summary = "alive" },
	{ METHOD_GET, "/hidden", handler, AUTH_PUBLIC, .flags = ROUTE_UNLISTED },
	{ .path = NULL },
};

struct doc {
	struct arena *a;
	struct json *root;
};

static int
setup(void **state)
{
	static struct doc d;
	const struct route_table table = { rows };
	const char *why = NULL;
	struct router *rt;
	struct json_error err;
	struct str text;

	d.a = arena_create("test", 0);
	rt = router_create(d.a, &table, 1, &why);
	assert_non_null(rt);
	text = openapi_document(d.a, rt, "1.2.3");
	assert_true(str_eq(text, openapi_document(d.a, rt, "1.2.3"))); /* stable */
	d.root = json_read(d.a, text, 64, &err);
	assert_non_null(d.root);
	*state = &d;
	return 0;
}

static int
teardown(void **state)
{
	struct doc *d = *state;

	arena_destroy(&d->a);
	return 0;
}

/* Node at a path of keys, divided by blanks. */
static struct json *
at(void **state, const char *path)
{
	struct doc *d = *state;
	struct json *j = d->root;
	struct str rest = str_c(path), key;

	while (str_next(&rest, ' ', &key)) {
		int64_t i;

		j = json_type(j) == JSON_ARRAY && str_int(key, &i) ? json_at(j, (size_t)i)
								   : json_get_s(j, key);
	}
	return j;
}

static struct str
text(void **state, const char *path)
{
	return json_str(at(state, path));
}

static void
rows_become_operations(void **state)
{
	assert_true(str_is(text(state, "openapi"), "3.0.3"));
	assert_true(str_is(text(state, "info version"), "1.2.3"));
	assert_int_equal(json_len(at(state, "paths")), 5);
	assert_null(at(state, "paths /hidden"));
	assert_true(str_is(text(state, "paths /items get operationId"), "getItems"));
	assert_true(str_is(
	    text(state, "paths /items/{item_id}/say-it/{no} post operationId"), "postItemsItemIdSayItNo"));
	assert_true(str_is(text(state, "paths /items post tags 0"), "items"));
	assert_int_equal(json_len(at(state, "tags")), 2);
	assert_int_equal(json_len(at(state, "paths /health get security")), 0);
	assert_int_equal(json_len(at(state, "paths /items get security")), 2);
	assert_non_null(at(state, "components securitySchemes ApiKeyAuth"));
	assert_non_null(at(state, "components securitySchemes BearerAuth"));
}

static void
parameters_and_bodies_are_declared(void **state)
{
	assert_true(
	    str_is(text(state, "paths /items/{item_id}/say-it/{no} post parameters 0 name"), "item_id"));
	assert_true(str_is(text(state, "paths /items/{item_id}/say-it/{no} post parameters 1 in"), "path"));
	assert_true(str_is(text(state, "paths /items get parameters 0 name"), "limit"));
	assert_true(str_is(text(state, "paths /items get parameters 0 schema type"), "integer"));
	assert_int_equal(json_int(at(state, "paths /items get parameters 0 schema maximum"), 0), 200);
	assert_false(json_bool(at(state, "paths /items get parameters 0 required"), true));
	assert_true(json_bool(at(state, "paths /items get parameters 1 required"), false));
	assert_null(at(state, "paths /items get requestBody"));
	assert_true(json_bool(at(state, "paths /items post requestBody required"), false));
	assert_non_null(
	    at(state, "paths /items post requestBody content application/json schema properties name"));
	assert_null(at(state, "paths /items post requestBody content application/json schema properties id"));
	assert_true(str_is(
	    text(state, "paths /items/{id}/file put requestBody content */* schema format"), "binary"));
}

static void
answers_wear_their_envelope(void **state)
{
	assert_non_null(at(state,
	    "paths /items post responses 201 content application/json schema properties data properties id"));
	assert_true(
	    str_is(text(state,
		       "paths /items get responses 200 content application/json schema properties data type"),
		"array"));
	assert_non_null(at(state, "paths /items get responses 200 content application/json schema properties "
				  "meta properties total"));
	assert_true(json_bool(at(state, "paths /items/{id} get responses 200 content application/json schema "
					"properties data nullable"),
	    false));
	assert_non_null(at(state, "paths /items/{id} delete responses 200 content application/json schema "
				  "properties data properties deleted"));
	assert_non_null(at(state, "paths /items/{id}/file put responses 204"));
	assert_null(at(state, "paths /items/{id}/file put responses 204 content"));
	assert_non_null(at(state, "paths /items/{id}/file get responses 200 content */* schema"));
	assert_non_null(at(
	    state, "paths /items/{item_id}/say-it/{no} post responses 200 content text/event-stream schema"));
	assert_non_null(at(state, "paths /health get responses 200 content application/json"));
}

static void
errors_follow_from_the_row(void **state)
{
	static const struct {
		const char *op;
		const char *statuses;
	} want[] = {
		{ "/items post", "400 401 403 404 409 413 415" },
		{ "/items get", "400 401 403" },
		{ "/items/{id} get", "400 401 403 404" },
		{ "/items/{id}/file put", "400 401 403 404 413" },
		{ "/items/{item_id}/say-it/{no} post", "400 401 403 404 503" },
		{ "/health get", "" },
	};
	struct doc *d = *state;

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		struct json *responses = at(state, arena_printf(d->a, "paths %s responses", want[i].op));
		struct str rest = str_c(want[i].statuses), status;
		size_t n = 1; /* the success */

		while (rest.n > 0 && str_next(&rest, ' ', &status)) {
			struct json *e = json_get_s(responses, status);

			if (e == NULL)
				fail_msg("%s lacks %.*s", want[i].op, STR_ARG(status));
			n++;
		}
		assert_int_equal(json_len(responses), n);
	}
	assert_true(str_is(text(state, "paths /items get responses 400 content application/json schema $ref"),
	    "#/components/schemas/Error"));
	assert_non_null(at(state, "components schemas Error properties error properties code"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_become_operations),
		cmocka_unit_test(parameters_and_bodies_are_declared),
		cmocka_unit_test(answers_wear_their_envelope),
		cmocka_unit_test(errors_follow_from_the_row),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
