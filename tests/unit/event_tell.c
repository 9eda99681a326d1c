/* tell: what rows become: names, members and order as the table of events says, which docs/events.md repeats. */
#include "base/json.h"
#include "event/tell.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

static const struct event_kind *
kind_of(const char *name)
{
	for (const struct event_kind *k = event_kinds; k->name; k++)
		if (strcmp(k->name, name) == 0)
			return k;
	fail_msg("%s is not in the table", name);
	return NULL;
}

/* The payload has the members that the table names, in their order. */
static void
assert_told(struct arena *a, const struct told *t)
{
	struct json_error err;
	const struct json *j = json_read(a, t->data, 16, &err);
	struct str members = str_c(kind_of(t->name)->members), member, key;
	struct json_iter it = { 0 };
	struct json *value;
	bool more = false; /* key is of the next member */

	assert_non_null(j);
	while (str_next(&members, ' ', &member)) {
		bool optional = str_ends(member, STR("?"));

		member.n -= optional;
		if (!more)
			more = json_next(j, &it, &key, &value);
		assert_true(optional || (more && str_eq(key, member)));
		if (more && str_eq(key, member))
			more = false;
	}
	assert_false(more || json_next(j, &it, &key, &value));
}

static struct str
names(struct arena *a, const struct tale *t)
{
	struct sb sb = sb_new(a);

	for (size_t i = 0; i < t->v.n; i++) {
		assert_told(a, &t->v.v[i]);
		sb_addf(&sb, "%s%s", i ? " " : "", t->v.v[i].name);
	}
	return sb_str(&sb);
}

static const struct outbox_run done = {
	.session_id = { "S", 1 }, .no = 7, .id = { "R", 1 }, .type = { "respond", 7 }, .state = { "completed", 9 },
	.phase = { "transaction_committed", 21 }, .phase_seq = 6, .attempt_no = 1, .started_at = 10, .updated_at = 30, .completed_at = 30,
	.floor = { .id = { "F", 1 }, .branch_id = { "main", 4 }, .state = { "committed", 9 }, .token_in = 3, .token_out = 4, .created_at = 10,
	    .updated_at = 30, .committed_at = 30 },
	.page_id = { "P", 1 }, .text = { "a \"reply\"", 9 }, .usage = { "{\"prompt_tokens\":3,\"completion_tokens\":4,\"total_tokens\":7}", sizeof("{'prompt_tokens':3,'completion_tokens':4,'total_tokens':7}") - 1 },
	.finish_reason = { "stop", 4 }, .summaries = { "[\"s\"]", 5 },
};

static void
a_turn_is_told_in_order(void **state)
{
	struct arena *a = arena_create("test", 0);
	struct outbox_change changes[] = {
		{ .scope = STR("branch"), .scope_id = STR("branch:S:main"), .id = STR("v1"), .key = STR("k"), .source = STR("macro"), .value = STR("\"1\""), .at = 30, .is_new = true },
		{ .scope = STR("chat"), .scope_id = STR("S"), .id = STR("v2"), .key = STR("p"), .source = STR("promotion"), .value = STR("{\"a\":1}"), .at = 30 },
		{ .scope = STR("branch"), .id = STR("v3"), .key = STR("gone"), .source = STR("macro"), .at = 30 },
	};
	struct outbox_row row = { .name = STR("floor.committed"), .data = STR("{}"), .at = 31, .run_no = 7, .run = &done, .changes = { changes, 3, 3 } };
	struct tale t = { 0 }, begun = { 0 };
	struct json_error err;

	(void)state;
	tell_row(a, &row, &t);
	assert_string_equal(names(a, &t).p, "generation.completed floor.run.updated floor.stateChanged floor.committed variable.set variable.promoted variable.deleted");
	assert_true(str_is(json_get_str(json_read(a, t.v.v[0].data, 8, &err), "text"), "a \"reply\""));
	assert_int_equal(json_get_int(json_get(json_read(a, t.v.v[0].data, 8, &err), "usage"), "totalTokens", 0), 7);
	assert_int_equal(json_len(json_get(json_read(a, t.v.v[3].data, 8, &err), "promotedVariables")), 1);
	assert_true(str_is(json_get_str(json_read(a, t.v.v[5].data, 8, &err), "fromScope"), "branch"));
	/* How it began, although it is over. */
	tell_started(a, &done, 40, &begun);
	assert_string_equal(names(a, &begun).p, "floor.created floor.run.updated floor.stateChanged generation.started");
	assert_true(str_is(json_get_str(json_read(a, begun.v.v[1].data, 8, &err), "status"), "running"));
	arena_destroy(&a);
}

static void
another_page_changes_no_state(void **state)
{
	struct arena *a = arena_create("test", 0);
	struct outbox_run r = done;
	struct outbox_row row = { .name = STR("floor.committed"), .data = STR("{}"), .run_no = 7, .run = &r };
	struct tale t = { 0 }, begun = { 0 };

	(void)state;
	r.floor.committed_at = 20;
	tell_row(a, &row, &t);
	assert_string_equal(names(a, &t).p, "generation.completed floor.run.updated floor.committed");
	tell_started(a, &r, 40, &begun);
	assert_string_equal(names(a, &begun).p, "floor.run.updated generation.started");
	arena_destroy(&a);
}

static void
failures_and_other_rows(void **state)
{
	struct arena *a = arena_create("test", 0);
	struct outbox_run r = done;
	struct outbox_row row = { .name = STR("floor.failed"), .data = STR("{}"), .run_no = 7, .run = &r };
	struct tale failed = { 0 }, run_failed = { 0 }, gone = { 0 }, swept = { 0 }, plain = { 0 }, wrote = { 0 };

	(void)state;
	r.state = STR("failed");
	r.error = STR("{\"code\":\"c\",\"message\":\"m\"}");
	r.floor.state = STR("failed");
	tell_row(a, &row, &failed);
	assert_string_equal(names(a, &failed).p, "generation.failed floor.run.updated floor.stateChanged floor.failed");
	row.name = STR("run.failed");
	tell_row(a, &row, &run_failed);
	assert_string_equal(names(a, &run_failed).p, "generation.failed floor.run.updated");
	row.run = NULL; /* its session is gone */
	tell_row(a, &row, &gone);
	assert_int_equal(gone.v.n, 0);
	row.name = STR("swept");
	tell_row(a, &row, &swept);
	assert_int_equal(swept.v.n, 0);
	row.name = STR("variable.set");
	row.session_id = STR("S");
	row.data = STR("{\"scope\":\"chat\",\"scopeId\":\"S\",\"key\":\"k\",\"value\":{\"a\":1},\"source\":\"client\",\"variableId\":\"V\"}");
	tell_row(a, &row, &wrote);
	assert_true(str_is(wrote.v.v[0].data, "{\"sessionId\":\"S\",\"entry\":{\"id\":\"V\",\"scope\":\"chat\",\"scopeId\":\"S\",\"key\":\"k\",\"value\":{\"a\":1},\"updatedAt\":0}}"));
	row.name = STR("memory.created");
	row.data = STR("{\"a\":1}");
	tell_row(a, &row, &plain);
	assert_int_equal(plain.v.n, 1);
	assert_true(str_is(plain.v.v[0].data, "{\"a\":1}"));
	arena_destroy(&a);
}

static void
progress_of_a_stream(void **state)
{
	struct arena *a = arena_create("test", 0);
	struct told t;

	(void)state;
	assert_true(tell_progress(a, STR("S"), STR("{\"floor_id\":\"F\",\"run_id\":\"R\",\"status\":\"running\",\"completed_at\":null}"), 5, &t));
	assert_told(a, &t);
	assert_false(tell_progress(a, STR("S"), STR("{\"status\":\"completed\"}"), 5, &t)); /* the outbox tells that */
	assert_false(tell_progress(a, STR("S"), STR("broken"), 5, &t));
	tell_chunk(a, &done, STR("piece"), 9, &t);
	assert_told(a, &t);
	arena_destroy(&a);
}

/* The row of the documentation, as the table would print it. */
static void
the_documentation_has_the_table(void **state)
{
	struct arena *a = arena_create("test", 0);
	const char *dir = getenv("srcdir");
	char *text = arena_alloc(a, 1 << 16);
	FILE *f = fopen(arena_printf(a, "%s/docs/events.md", dir ? dir : "."), "r");
	size_t n, rows = 0;

	(void)state;
	assert_non_null(f);
	n = fread(text, 1, (1 << 16) - 1, f);
	fclose(f);
	for (const struct event_kind *k = event_kinds; k->name; k++, rows++) {
		struct sb sb = sb_new(a);
		struct str members = str_c(k->members), member;
		bool more = false;

		sb_addf(&sb, "\n| `%s` | %s | ", k->name, k->kept ? "yes" : "no");
		for (; str_next(&members, ' ', &member); more = true)
			sb_addf(&sb, "%s`%.*s`", more ? ", " : "", STR_ARG(member));
		sb_addf(&sb, " | %s |\n", k->says);
		if (str_find((struct str){ text, n }, sb_str(&sb), 0) == STR_NPOS)
			fail_msg("docs/events.md does not have: %s", sb_c(&sb));
	}
	for (size_t at = 0; (at = str_find((struct str){ text, n }, STR("\n| `"), at)) != STR_NPOS; at++)
		rows -= text[at + 4] != '?'; /* the table of who hears what */
	assert_int_equal(rows, 0);
	arena_destroy(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_turn_is_told_in_order),
		cmocka_unit_test(another_page_changes_no_state),
		cmocka_unit_test(failures_and_other_rows),
		cmocka_unit_test(progress_of_a_stream),
		cmocka_unit_test(the_documentation_has_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
