/* preset files: old names, tracks, rows that are never sent (decision 53), secrets, fixed point. */
#include "card_help.h"

#include "card/preset_file.h"

static struct preset_file
preset_ok(struct str text)
{
	struct import_file f = { .bytes = text, .fallback_name = STR("file") };
	struct import_error err = { 0 };
	struct preset_file p;

	if (preset_file_read(a, &f, &p, &err) < 0)
		fail_msg("refused: %s: %s", err.code, err.message);
	return p;
}

static void
preset_bad(struct str text, const char *code)
{
	struct import_file f = { .bytes = text };
	struct import_error err = { 0 };
	struct preset_file p;

	assert_int_equal(preset_file_read(a, &f, &p, &err), -1);
	assert_string_equal(err.code, code);
}

/* Reasons of a code, in order, with their paths. */
static const char *
reasons(const struct receipt *r, const char *code)
{
	struct sb s = sb_new(a);

	for (size_t i = 0; i < r->items.n; i++)
		if (strcmp(r->items.v[i].code, code) == 0)
			sb_addf(&s, "%s%s %s", s.n ? "; " : "", r->items.v[i].path, r->items.v[i].reason);
	return sb_c(&s);
}

static void
test_never_sent(void **state)
{
	struct preset_file p = preset_ok(STR(
	    "{\"prompts\":[{\"identifier\":\"main\",\"system_prompt\":true},{\"identifier\":\"a\"},"
	    "{\"identifier\":\"b\",\"system_prompt\":false},{\"identifier\":\"c\",\"system_prompt\":"
	    "\"false\"},"
	    "{\"identifier\":\"d\",\"injection_position\":1},{\"identifier\":\"e\",\"injection_position\":1,"
	    "\"injection_depth\":\"4\"},{\"identifier\":\"f\",\"injection_position\":1,\"injection_depth\":4}"
	    ","
	    "{\"identifier\":\"g\",\"injection_position\":\"1\",\"injection_depth\":4},null,"
	    "{\"identifier\":\"h\",\"system_prompt\":false,\"role\":\"tool\"}]}"));

	(void)state;
	assert_string_equal(reasons(&p.receipt, "prompt_never_sent"),
	    "/prompts/1 system_prompt_not_false; /prompts/3 system_prompt_not_false; /prompts/4 "
	    "depth_missing; "
	    "/prompts/5 depth_not_a_number; /prompts/7 system_prompt_not_false");
	assert_string_equal(reasons(&p.receipt, "role_unknown"), "/prompts/9/role passed on as it is");
	assert_true(receipt_has(&p.receipt, "row_skipped"));
	assert_int_equal(p.prompts, 9);
	/* the oddities decide what is sent: they stay */
	same_str(json_get_str(json_at(json_get(p.doc, "prompts"), 5), "injection_depth"), "4");
	same_str(json_get_str(json_at(json_get(p.doc, "prompts"), 7), "injection_position"), "1");
	same_str(json_get_str(json_at(json_get(p.doc, "prompts"), 3), "system_prompt"), "false");
}

static void
test_types(void **state)
{
	struct preset_file p =
	    preset_ok(STR("{\"openai_max_context\":\"8192\",\"openai_max_tokens\":\" 300 "
			  "\",\"temperature\":\"0.9\",\"top_p\":null,"
			  "\"stream_openai\":\"true\",\"names_behavior\":\"1\",\"prompts\":[{\"name\":\"n\","
			  "\"content\":null,"
			  "\"injection_trigger\":\"continue\"},{\"identifier\":7,\"content\":8}]}"));
	const struct json *rows = json_get(p.doc, "prompts");

	(void)state;
	assert_int_equal(json_get_int(p.doc, "openai_max_context", 0), 8192);
	assert_int_equal(json_get_int(p.doc, "openai_max_tokens", 0), 300);
	assert_true(json_get_double(p.doc, "temperature", 0) == 0.9);
	assert_false(json_has(p.doc, "top_p"));
	assert_true(json_get_bool(p.doc, "stream_openai", false));
	same_str(json_get_str(json_at(rows, 0), "identifier"), "imported-0");
	same_json(json_get(json_at(rows, 0), "injection_trigger"), JSON("[\"continue\"]"));
	assert_false(json_has(json_at(rows, 0), "content"));
	same_str(json_get_str(json_at(rows, 1), "identifier"), "7");
	same_str(json_get_str(json_at(rows, 1), "content"), "8");
	same_str(p.name, "file");
}

static void
test_tracks(void **state)
{
	static const struct {
		const char *order, *track;
	} rows[] = {
		{ "[{\"character_id\":100000,\"order\":[]},{\"character_id\":100001,\"order\":[]}]",
		    "100001" },
		{ "[{\"character_id\":\"100001\",\"order\":[]}]", "100001" },
		{ "[{\"character_id\":100000,\"order\":[]}]", "100000" },
		{ "[{\"character_id\":5,\"order\":[]}]", "longest" },
		{ "[]", "default" },
		{ "[null]", "default" },
		{ "[{\"identifier\":\"main\",\"enabled\":true}]", "100001" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct preset_file p =
		    preset_ok(str_c(arena_printf(a, "{\"prompts\":[],\"prompt_order\":%s}", rows[i].order)));

		assert_string_equal(p.track, rows[i].track);
	}
	assert_string_equal(preset_ok(STR("{\"temperature\":1}")).track, "default");
}

static void
test_rows(void **state)
{
	struct preset_file p = preset_ok(STR("{\"prompt_order\":[{\"character_id\":100001,\"order\":[null,{"
					     "\"identifier\":\"main\",\"enabled\":true},"
					     "5,{\"identifier\":\"x\"}]}]}"));
	const struct json *order = json_get(json_at(json_get(p.doc, "prompt_order"), 0), "order");

	(void)state;
	assert_int_equal(json_len(order), 2);
	assert_false(json_has(json_at(order, 1), "enabled"));
	assert_string_equal(reasons(&p.receipt, "row_skipped"),
	    "/prompt_order/0/order/0 no row but null, left out; "
	    "/prompt_order/0/order/2 no row but integer, left out");
}

static void
test_old_names(void **state)
{
	struct preset_file p = preset_ok(STR("{\"main_prompt\":\"M\",\"nsfw_prompt\":\"\",\"jailbreak_"
					     "prompt\":\"J\",\"names_in_completion\":true,"
					     "\"claude_use_sysprompt\":true,\"prompts\":[{\"identifier\":"
					     "\"main\",\"content\":\"old\",\"x\":1}]}"));
	const struct json *rows = json_get(p.doc, "prompts");

	(void)state;
	same_str(json_get_str(json_at(rows, 0), "content"), "M");
	assert_int_equal(json_get_int(json_at(rows, 0), "x", 0), 1);
	same_str(json_get_str(json_at(rows, 2), "identifier"), "jailbreak");
	same_str(json_get_str(json_at(rows, 2), "content"), "J");
	assert_int_equal(json_get_int(p.doc, "names_behavior", 0), 1);
	assert_true(json_get_bool(p.doc, "use_sysprompt", false));
	assert_false(json_has(p.doc, "main_prompt"));
	assert_false(receipt_has(&p.receipt, "prompt_never_sent"));
}

static void
test_secrets(void **state)
{
	struct preset_file p = preset_ok(STR(
	    "{\"temperature\":1.0,\"proxy_password\":\"hunter2\",\"reverse_proxy\":\"http://proxy.test\","
	    "\"custom_include_headers\":\"Authorization: canary\",\"big\":9007199254740993,\"prompts\":[]}"));

	(void)state;
	assert_null(strstr(json_text(a, p.doc).p, "hunter2"));
	assert_null(strstr(p.raw.p, "hunter2"));
	assert_null(strstr(p.raw.p, "canary"));
	assert_null(strstr(json_text(a, receipt_json(a, &p.receipt)).p, "canary"));
	assert_true(receipt_has(&p.receipt, "connection_setting"));
	assert_non_null(strstr(p.raw.p, "9007199254740993"));
	assert_non_null(strstr(p.raw.p, "1.0"));
}

static void
test_scripts(void **state)
{
	struct preset_file p = preset_ok(STR(
	    "{\"prompts\":[],\"extensions\":{\"regex_scripts\":[{\"scriptName\":\"s\",\"findRegex\":\"x\","
	    "\"minDepth\":null,\"placement\":[2]}],\"other\":1}}"));

	(void)state;
	assert_int_equal(json_len(p.scripts), 1);
	assert_null(preset_ok(STR("{\"prompts\":[]}")).scripts);
}

static void
test_refused(void **state)
{
	(void)state;
	preset_bad(STR("{\"prompts\":\"x\"}"), "not_a_preset");
	preset_bad(STR("[]"), "not_a_preset");
	preset_bad(STR("{}"), "not_a_preset");
	preset_bad(STR("{\"story_string\":\"x\",\"name\":\"Alpaca\"}"), "not_a_preset");
	preset_bad(STR("{\"entries\":{}}"), "not_a_preset");
	preset_bad(STR(V2("\"name\":\"A\"")), "not_a_preset");
	preset_bad(STR("{\"prompts\":["), "invalid_json");
}

static void
test_fixed_point(void **state)
{
	struct preset_file p = preset_ok(STR("{\"unknown\":{\"n\":123456789012345678901234567890},\"main_"
					     "prompt\":\"M\",\"top_k\":\"5\",\"prompts\":["
					     "{\"identifier\":\"a\",\"odd\":[1.50],\"role\":\"\"},null,{"
					     "\"content\":\"made\"}],\"prompt_order\":["
					     "{\"character_id\":\"100001\",\"order\":[{\"identifier\":\"a\","
					     "\"enabled\":false,\"why\":1}],\"t\":2}]}"));
	struct json *out = preset_export(a, p.doc);
	struct preset_file again = preset_ok(json_text(a, out));

	(void)state;
	assert_string_equal(json_text(a, preset_export(a, again.doc)).p, json_text(a, out).p);
	assert_non_null(strstr(json_text(a, out).p, "123456789012345678901234567890"));
	assert_non_null(strstr(json_text(a, out).p, "1.50"));
	same_str(json_get_str(json_at(json_get(out, "prompts"), 0), "role"), "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_never_sent),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_tracks),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_old_names),
		cmocka_unit_test(test_secrets),
		cmocka_unit_test(test_scripts),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_fixed_point),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
