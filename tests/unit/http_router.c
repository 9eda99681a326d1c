/* router: precedence, parameters, escapes, methods, and rows that must not start. */
#include "http/router.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

static int
handler(struct request *r)
{
	return r == NULL ? -1 : 0;
}

#define ROW(m, p)                                                                                            \
	{                                                                                                    \
		.method = METHOD_##m, .path = (p), .fn = handler, .auth = AUTH_PUBLIC, .tag = "t",           \
		.summary = "s"                                                                               \
	}

static const struct route rows_a[] = {
	ROW(GET, "/health"),
	ROW(GET, "/characters"),
	ROW(POST, "/characters"),
	ROW(GET, "/characters/{id}"),
	ROW(DELETE, "/characters/{id}"),
	ROW(PATCH, "/characters/batch"),
	ROW(POST, "/characters/batch/delete"),
	ROW(GET, "/characters/{character_id}/versions/{version}"),
	{ .path = NULL },
};
static const struct route rows_b[] = {
	ROW(GET, "/sessions/{id}/branches/diff"),
	ROW(POST, "/sessions/{id}/branches/{branch_id}/merge"),
	ROW(POST, "/sessions/{id}/branches/{branch_id}/merge/preview"),
	{ .path = NULL },
};

static int
setup(void **state)
{
	const struct route_table tables[] = { { rows_a }, { rows_b } };
	const char *why = NULL;
	struct arena *a = arena_create("test", 0);
	void **two = calloc(2, sizeof(void *));

	two[0] = a;
	two[1] = router_create(a, tables, 2, &why);
	assert_non_null(two[1]);
	assert_null(why);
	*state = two;
	return 0;
}

static int
teardown(void **state)
{
	void **two = *state;
	struct arena *a = two[0];

	arena_destroy(&a);
	free(two);
	return 0;
}

static int
match(void **state, enum method m, const char *path, struct route_match *out)
{
	void **two = *state;

	return router_match(two[1], two[0], m, str_c(path), out);
}

static void
literals_win_where_they_lead_somewhere(void **state)
{
	struct route_match m;

	assert_int_equal(match(state, METHOD_GET, "/characters", &m), 1);
	assert_string_equal(m.row->path, "/characters");
	assert_int_equal(m.n, 0);
	assert_int_equal(match(state, METHOD_PATCH, "/characters/batch", &m), 1);
	assert_string_equal(m.row->path, "/characters/batch");
	assert_int_equal(match(state, METHOD_GET, "/characters/batch", &m), 1);
	assert_string_equal(m.row->path, "/characters/{id}");
	assert_true(str_is(m.value[0], "batch"));
	assert_int_equal(match(state, METHOD_POST, "/characters/batch/delete", &m), 1);
	assert_int_equal(match(state, METHOD_GET, "/characters/batch/versions/2", &m), 1);
	assert_true(str_is(m.name[0], "character_id") && str_is(m.value[0], "batch"));
	assert_true(str_is(m.name[1], "version") && str_is(m.value[1], "2"));
	assert_int_equal(match(state, METHOD_GET, "/sessions/s/branches/diff", &m), 1);
	assert_int_equal(match(state, METHOD_POST, "/sessions/s/branches/diff/merge", &m), 1);
	assert_true(str_is(m.value[1], "diff"));
}

static void
unknown_paths_and_methods_are_told_apart(void **state)
{
	struct route_match m;

	assert_int_equal(match(state, METHOD_GET, "/nope", &m), 0);
	assert_int_equal(match(state, METHOD_GET, "/", &m), 0);
	assert_int_equal(match(state, METHOD_GET, "", &m), 0);
	assert_int_equal(match(state, METHOD_GET, "health", &m), 0);
	assert_int_equal(match(state, METHOD_GET, "/health/", &m), 0);
	assert_int_equal(match(state, METHOD_GET, "//health", &m), 0);
	assert_int_equal(match(state, METHOD_GET, "/characters//versions/1", &m), 0);
	assert_int_equal(match(state, METHOD_GET, "/sessions/x", &m), 0);
	assert_int_equal(match(state, METHOD_PUT, "/characters/x", &m), -1);
	assert_int_equal(m.allow, 1 << METHOD_GET | 1 << METHOD_DELETE);
	/* Both the literal and the parameter would have taken other methods. */
	assert_int_equal(match(state, METHOD_PUT, "/characters/batch", &m), -1);
	assert_int_equal(m.allow, 1 << METHOD_GET | 1 << METHOD_DELETE | 1 << METHOD_PATCH);
	assert_int_equal(match(state, METHOD_HEAD, "/characters/x", &m), 1);
	assert_int_equal(match(state, METHOD_HEAD, "/characters/batch/delete", &m), -1);
	assert_int_equal(match(state, METHOD__COUNT, "/health", &m), -1);
	assert_int_equal(match(state, METHOD__COUNT, "/nope", &m), 0);
}

static void
parameters_are_decoded_and_checked(void **state)
{
	struct route_match m;
	char path[400] = "/characters/";

	assert_int_equal(match(state, METHOD_GET, "/characters/a%2Fb%20c+%C3%A9", &m), 1);
	assert_true(str_is(m.value[0], "a/b c+\xC3\xA9"));
	assert_int_equal(match(state, METHOD_GET, "/%68ealth", &m), 1);
	assert_int_equal(match(state, METHOD_GET, "/characters/a%", &m), -2);
	assert_int_equal(match(state, METHOD_GET, "/characters/a%2", &m), -2);
	assert_int_equal(match(state, METHOD_GET, "/characters/a%zz", &m), -2);
	assert_int_equal(match(state, METHOD_GET, "/characters/a%00", &m), -2);
	assert_int_equal(match(state, METHOD_GET, "/characters/a%0A", &m), -2);
	assert_int_equal(match(state, METHOD_GET, "/characters/%FF", &m), -2);
	assert_int_equal(match(state, METHOD_GET, "/characters/\xFF", &m), -2);
	memset(path + 12, 'x', 128);
	assert_int_equal(match(state, METHOD_GET, path, &m), 1);
	path[12 + 128] = 'x';
	assert_int_equal(match(state, METHOD_GET, path, &m), -2);
}

static void
rows_come_by_path_then_method(void **state)
{
	void **two = *state;

	assert_int_equal(router_count(two[1]), 11);
	for (size_t i = 1; i < router_count(two[1]); i++) {
		const struct route *x = router_row(two[1], i - 1), *y = router_row(two[1], i);
		int d = strcmp(x->path, y->path);

		assert_true(d < 0 || (d == 0 && x->method < y->method));
	}
}

static void
faulty_rows_do_not_start(void **state)
{
	static const struct {
		struct route row;
		const char *why;
	} bad[] = {
		{ { .method = METHOD_GET, .path = "/x", .fn = handler, .tag = "t", .summary = "s" },
		    "no auth" },
		{ { .method = METHOD_GET, .path = "/x", .auth = AUTH_PUBLIC, .tag = "t", .summary = "s" },
		    "no handler" },
		{ { .method = METHOD_GET, .path = "/x", .fn = handler, .auth = AUTH_PUBLIC }, "no summary" },
		{ { .method = METHOD_HEAD,
		      .path = "/x",
		      .fn = handler,
		      .auth = AUTH_PUBLIC,
		      .flags = ROUTE_UNLISTED },
		    "method" },
		{ ROW(GET, "x"), "slash" },
		{ ROW(GET, "/x/"), "slash" },
		{ ROW(GET, "/x//y"), "empty segment" },
		{ ROW(GET, "/x/{a}b"), "whole segment" },
		{ ROW(GET, "/x/{a}/{a}"), "twice" },
		{ ROW(GET, "/{a}/{b}/{c}/{d}/{e}/{f}/{g}"), "too many" },
		{ ROW(GET, "/health"), "same as /health" },
		{ ROW(GET, "/characters/{other}"), "same as /characters/{id}" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct route rows[] = { bad[i].row, { .path = NULL } };
		const struct route_table tables[] = { { rows_a }, { rows } };
		struct arena *a = arena_create("test", 0);
		const char *why = NULL;

		assert_null(router_create(a, tables, 2, &why));
		assert_non_null(why);
		if (strstr(why, bad[i].why) == NULL)
			fail_msg("%s: wanted %s", why, bad[i].why);
		arena_destroy(&a);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(literals_win_where_they_lead_somewhere, setup, teardown),
		cmocka_unit_test_setup_teardown(unknown_paths_and_methods_are_told_apart, setup, teardown),
		cmocka_unit_test_setup_teardown(parameters_are_decoded_and_checked, setup, teardown),
		cmocka_unit_test_setup_teardown(rows_come_by_path_then_method, setup, teardown),
		cmocka_unit_test(faulty_rows_do_not_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
