/* regex files: shapes, types, placements that no longer exist, counts of the import answer. */
#include "card_help.h"

#include "card/regex_file.h"

static struct regex_file
scripts_ok(struct str text)
{
	struct import_file f = { .bytes = text, .fallback_name = STR("file") };
	struct import_error err = { 0 };
	struct regex_file r;

	if (regex_file_read(a, &f, &r, &err) < 0)
		fail_msg("refused: %s: %s", err.code, err.message);
	return r;
}

static void
scripts_bad(struct str text, const char *code)
{
	struct import_file f = { .bytes = text };
	struct import_error err = { 0 };
	struct regex_file r;

	assert_int_equal(regex_file_read(a, &f, &r, &err), -1);
	assert_string_equal(err.code, code);
}

static void
test_shapes(void **state)
{
	struct regex_file r =
	    scripts_ok(STR("{\"scriptName\":\"one\",\"findRegex\":\"/x/g\",\"odd\":9007199254740993}"));

	(void)state;
	assert_true(r.single);
	same_str(r.name, "one");
	same_json(regex_export(a, r.scripts, r.single), json_at(r.scripts, 0));
	assert_non_null(strstr(json_text(a, r.scripts).p, "9007199254740993"));
	r = scripts_ok(STR("[{\"findRegex\":\"a\"},null,{\"findRegex\":\"b\",\"scriptName\":null}]"));
	assert_false(r.single);
	same_str(r.name, "file");
	assert_int_equal(json_len(r.scripts), 2);
	same_str(json_get_str(json_at(r.scripts, 1), "scriptName"), "Script 3");
	assert_true(receipt_has(&r.receipt, "row_skipped"));
	assert_true(receipt_has(&r.receipt, "name_placeholder"));
	assert_int_equal(json_len(scripts_ok(STR("{\"regex_scripts\":[{\"findRegex\":\"a\"}]}")).scripts), 1);
	assert_int_equal(
	    json_len(scripts_ok(STR("{\"extensions\":{\"regex_scripts\":[{\"findRegex\":\"a\"}]}}")).scripts),
	    1);
	assert_int_equal(json_len(scripts_ok(STR("[]")).scripts), 0);
}

static void
test_refused(void **state)
{
	(void)state;
	scripts_bad(STR("[1,2]"), "not_regex_scripts");
	scripts_bad(STR("\"text\""), "not_regex_scripts");
	scripts_bad(STR("{\"entries\":{}}"), "not_regex_scripts");
	scripts_bad(STR("[{]"), "invalid_json");
	scripts_bad(STR(""), "invalid_json");
}

static void
test_types(void **state)
{
	struct regex_file r = scripts_ok(STR("[{\"scriptName\":\"s\",\"findRegex\":\"x\",\"replaceString\":"
					     "null,\"trimStrings\":\"t\",\"placement\":2,"
					     "\"disabled\":\"true\",\"markdownOnly\":1,\"substituteRegex\":"
					     "\"2\",\"minDepth\":\"\",\"maxDepth\":\"4\"}]"));
	struct regex_file b = scripts_ok(
	    STR("[{\"scriptName\":\"s\",\"findRegex\":\"x\",\"substituteRegex\":true,\"minDepth\":null}]"));

	(void)state;
	same_json(
	    json_at(r.scripts, 0), JSON("{\"scriptName\":\"s\",\"findRegex\":\"x\",\"replaceString\":\"\","
					"\"trimStrings\":[\"t\"],\"placement\":[2],\"disabled\":true,"
					"\"markdownOnly\":true,\"substituteRegex\":2,\"minDepth\":null,"
					"\"maxDepth\":4,\"promptOnly\":false,\"runOnEdit\":false}"));
	assert_int_equal(json_get_int(json_at(b.scripts, 0), "substituteRegex", 0), 1);
	assert_true(json_has(json_at(b.scripts, 0), "minDepth"));
	same_json(regex_normalise(a, r.scripts, "", NULL), r.scripts);
	b = scripts_ok(STR("[{\"scriptName\":\"s\",\"findRegex\":\"x\",\"substituteRegex\":\"true\"}]"));
	assert_int_equal(json_get_int(json_at(b.scripts, 0), "substituteRegex", 0), 1);
}

static void
test_placements(void **state)
{
	static const struct {
		const char *from, *to;
		bool flags;
	} rows[] = {
		{ "[1,2]", "[1,2]", false },
		{ "[0]", "[1,2,3,5,6]", true },
		{ "[0,2]", "[2]", true },
		{ "[4]", "[3]", false },
		{ "[4,1]", "[1]", false },
		{ "[\"1\",\"2\"]", "[1,2]", false },
		{ "[]", "[]", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct regex_file r = scripts_ok(str_c(arena_printf(
		    a, "[{\"scriptName\":\"s\",\"findRegex\":\"x\",\"placement\":%s}]", rows[i].from)));
		const struct json *s = json_at(r.scripts, 0);

		same_json(json_get(s, "placement"), json_of(str_c(rows[i].to)));
		assert_int_equal(json_get_bool(s, "markdownOnly", false), rows[i].flags);
		assert_int_equal(json_get_bool(s, "promptOnly", false), rows[i].flags);
		same_json(regex_normalise(a, r.scripts, "", NULL), r.scripts);
	}
}

/* The reference's answer for its own example, and each count once. */
static void
test_counts(void **state)
{
	struct regex_file r = scripts_ok(STR("[{\"scriptName\":\"shout\",\"findRegex\":\"/hello/"
					     "gi\",\"replaceString\":\"AHOY\",\"trimStrings\":[],"
					     "\"placement\":[1,2],\"disabled\":false,\"markdownOnly\":false,"
					     "\"promptOnly\":false,\"runOnEdit\":true}]"));

	(void)state;
	same_json(
	    regex_counts_json(a, &r.counts), JSON("{\"stored_count\":1,\"prompt_executable_count\":1,"
						  "\"persist_executable_count\":1,\"display_only_count\":0,"
						  "\"retained_non_executable_count\":0,\"reserved_world_info_"
						  "count\":0,\"unsupported_runtime_count\":0,"
						  "\"contains_prompt_only\":0,\"contains_run_on_edit\":1,"
						  "\"contains_reasoning\":0,\"contains_slash_command\":0}"));
	r = scripts_ok(
	    STR("[{\"findRegex\":\"x\",\"placement\":[2],\"markdownOnly\":true},{\"findRegex\":\"x\","
		"\"placement\":[2],\"promptOnly\":true},"
		"{\"findRegex\":\"x\",\"placement\":[3]},{\"findRegex\":\"\",\"placement\":[6]}]"));
	assert_int_equal(r.counts.stored, 4);
	assert_int_equal(r.counts.display_only, 1);
	assert_int_equal(r.counts.prompt_executable, 1);
	assert_int_equal(r.counts.persist_executable, 0);
	assert_int_equal(r.counts.unsupported_runtime, 1);
	assert_int_equal(r.counts.retained_non_executable, 2);
	assert_int_equal(r.counts.reasoning, 1);
	assert_int_equal(r.counts.slash_command, 1);
	assert_true(receipt_has(&r.receipt, "find_empty"));
}

/* An 81 KB replacement, catastrophic patterns and patterns that are none: imported as they are. */
static void
test_extremes(void **state)
{
	struct json *script = json_object(a), *list = json_array(a);
	static const char *const patterns[] = { "(a|a)+$", "/(a+)+$/g", "(.*)*x", "^(\\w+\\s?)*$",
		"/(unclosed/", "(?<=a+)b", "[" };

	(void)state;
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		struct json *s = json_push_object(list);

		json_set_c(s, "scriptName", "s");
		json_set_c(s, "findRegex", patterns[i]);
	}
	json_set_c(script, "scriptName", "s");
	json_set_c(script, "findRegex", "x");
	json_set_str(script, "replaceString", times("<b>$1</b>", 9000));
	json_push(list, script);
	list = scripts_ok(json_text(a, list)).scripts;
	assert_int_equal(json_len(list), 8);
	same_str(json_get_str(json_at(list, 3), "findRegex"), patterns[3]);
	assert_int_equal(json_get_str(json_at(list, 7), "replaceString").n, 81000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_placements),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_extremes),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
