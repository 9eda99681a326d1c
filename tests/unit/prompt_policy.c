/*
 * The prompt-runtime policy: layers, who said what, patches, budgets.
 */
#include "base/limits.h"
#include "prompt/runtime_policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static struct json *
parse(struct arena *a, const char *text)
{
	struct json_error err;
	struct json *j = json_read(a, str_c(text), LIM_JSON_DEPTH, &err);

	assert_non_null(j);
	return j;
}

static void
assert_text(struct arena *a, const struct json *j, const char *want)
{
	assert_string_equal(arena_strdup(a, json_text(a, j)), want);
}

static void
defaults_hold_where_nobody_speaks(void **state)
{
	struct arena *a = arena_create("test", 0);
	struct policy_resolved r = policy_resolve(a, &(struct policy_layers){ { 0 } });

	(void)state;
	assert_text(a, json_get(r.policy, "structure"), "{\"mode\":\"default\",\"merge_adjacent_same_role\":false,\"preserve_system_messages\":true}");
	assert_text(a, json_get(r.policy, "budget"), "{}");
	assert_text(a, json_get(r.policy, "source_selection"),
	    "{\"history\":{\"mode\":\"full\"},\"memory\":{\"enabled\":true},\"worldbook\":{\"enabled\":true},\"examples\":{\"enabled\":true}}");
	assert_text(a, json_get(r.policy, "debug"),
	    "{\"include_prompt_snapshot\":false,\"include_runtime_trace\":false,\"include_worldbook_matches\":false}");
	assert_text(a, json_get(policy_sources(a, &r), "visibility"), "{\"mode\":\"system_default\"}");
	assert_false(json_has(policy_sources(a, &r), "budget"));
	assert_false(json_has(policy_sources(a, &r), "debug"));
	assert_true(json_equal(r.policy, policy_defaults(a)));
	arena_destroy(&a);
}

/* Each member by itself: the request over the branch over the session. */
static void
the_strongest_layer_wins_each_member(void **state)
{
	struct arena *a = arena_create("test", 0);
	struct policy_layers in = { {
	    parse(a, "{\"delivery\":{\"no_assistant\":true,\"require_last_user\":true},\"budget\":{\"max_input_tokens\":100}}"),
	    parse(a, "{\"delivery\":{\"no_assistant\":false},\"budget\":{\"max_input_tokens\":200},\"visibility\":{\"hidden_floor_ids\":[\"a\"]}}"),
	    parse(a, "{\"message\":\"x\",\"budget\":{\"max_input_tokens\":300},\"debug_options\":{\"include_runtime_trace\":true},\"visibility\":{\"hidden_floor_ids\":null}}"),
	} };
	struct policy_resolved r = policy_resolve(a, &in);

	(void)state;
	assert_text(a, json_get(r.policy, "delivery"), "{\"allow_assistant_prefill\":true,\"require_last_user\":true,\"no_assistant\":false}");
	assert_text(a, json_get(policy_sources(a, &r), "delivery"),
	    "{\"allow_assistant_prefill\":\"system_default\",\"require_last_user\":\"session_policy\",\"no_assistant\":\"branch_policy\"}");
	assert_text(a, json_get(r.policy, "budget"), "{\"max_input_tokens\":300}");
	assert_text(a, json_get(policy_sources(a, &r), "budget"), "{\"max_input_tokens\":\"request_override\"}");
	assert_text(a, json_get(json_get(r.policy, "visibility"), "hidden_floor_ids"), "[\"a\"]");
	assert_true(json_get_bool(json_get(r.policy, "debug"), "include_runtime_trace", false));
	assert_false(json_has(r.policy, "message"));
	arena_destroy(&a);
}

static void
a_number_of_messages_is_a_window(void **state)
{
	struct arena *a = arena_create("test", 0);
	const struct json *five = parse(a, "{\"source_selection\":{\"history\":{\"max_messages\":5}}}");
	const struct json *full = parse(a, "{\"source_selection\":{\"history\":{\"mode\":\"full\"}}}");
	struct policy_resolved r = policy_resolve(a, &(struct policy_layers){ { five } });

	(void)state;
	assert_text(a, json_get(json_get(r.policy, "source_selection"), "history"), "{\"mode\":\"windowed\",\"max_messages\":5}");
	assert_text(a, json_get(json_get(policy_sources(a, &r), "source_selection"), "history"),
	    "{\"mode\":\"session_policy\",\"max_messages\":\"session_policy\"}");
	r = policy_resolve(a, &(struct policy_layers){ { five, NULL, full } });
	assert_string_equal(arena_strdup(a, json_get_str(json_get(json_get(r.policy, "source_selection"), "history"), "mode")), "full");
	arena_destroy(&a);
}

static void
patches_merge_and_nulls_clear(void **state)
{
	static const struct {
		const char *stored, *change, *want;
	} rows[] = {
		{ NULL, "{}", "{}" },
		{ NULL, "{\"budget\":{\"max_input_tokens\":5}}", "{\"budget\":{\"max_input_tokens\":5}}" },
		{ "{\"budget\":{\"max_input_tokens\":5}}", "{\"budget\":{\"reserved_completion_tokens\":6}}",
		    "{\"budget\":{\"max_input_tokens\":5,\"reserved_completion_tokens\":6}}" },
		{ "{\"budget\":{\"max_input_tokens\":5},\"delivery\":{\"no_assistant\":true}}", "{\"budget\":null}", "{\"delivery\":{\"no_assistant\":true}}" },
		{ "{\"budget\":{\"max_input_tokens\":5}}", "{\"budget\":{\"max_input_tokens\":null}}", "{}" },
		{ "{\"source_selection\":{\"history\":{\"mode\":\"full\"}}}", "{\"source_selection\":{\"memory\":{\"enabled\":false}}}",
		    "{\"source_selection\":{\"history\":{\"mode\":\"full\"},\"memory\":{\"enabled\":false}}}" },
		{ "{\"visibility\":{\"hidden_floor_ids\":[\"a\",\"b\"]}}", "{\"visibility\":{\"hidden_floor_ids\":[\"c\"]}}",
		    "{\"visibility\":{\"hidden_floor_ids\":[\"c\"]}}" },
		{ "{}", "{\"delivery\":{}}", "{}" },
	};
	struct arena *a = arena_create("test", 0);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct json *stored = rows[i].stored ? parse(a, rows[i].stored) : NULL;

		assert_text(a, policy_patch(a, stored, parse(a, rows[i].change)), rows[i].want);
		if (stored)
			assert_text(a, stored, rows[i].stored); /* what was stored is not touched */
	}
	arena_destroy(&a);
}

static void
budgets_only_narrow(void **state)
{
	static const struct {
		const char *policy;
		struct policy_budget without, want;
	} rows[] = {
		{ "{}", { 8000, 300 }, { 8000, 300 } },
		{ "{\"budget\":{\"max_input_tokens\":100}}", { 8000, 300 }, { 400, 300 } },
		{ "{\"budget\":{\"max_input_tokens\":100,\"reserved_completion_tokens\":50}}", { 8000, 300 }, { 150, 50 } },
		{ "{\"budget\":{\"max_input_tokens\":100000}}", { 8000, 300 }, { 8000, 300 } },
		{ "{\"budget\":{\"max_input_tokens\":9223372036854775807}}", { 8000, 300 }, { 8000, 300 } },
		{ "{\"budget\":{\"reserved_completion_tokens\":1000}}", { 8000, 300 }, { 8000, 1000 } },
	};
	struct arena *a = arena_create("test", 0);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct policy_budget b = policy_budget(parse(a, rows[i].policy), rows[i].without);

		assert_int_equal(b.context, rows[i].want.context);
		assert_int_equal(b.reply, rows[i].want.reply);
	}
	arena_destroy(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_hold_where_nobody_speaks),
		cmocka_unit_test(the_strongest_layer_wins_each_member),
		cmocka_unit_test(a_number_of_messages_is_a_window),
		cmocka_unit_test(patches_merge_and_nulls_clear),
		cmocka_unit_test(budgets_only_narrow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
