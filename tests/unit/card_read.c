/* card: forms, tolerance, receipts, hard names, losslessness of JSON cards. */
#include "card_help.h"

#include "card/import.h"

static void
test_forms(void **state)
{
	static const struct {
		const char *text;
		enum card_format format;
		const char *name;
	} rows[] = {
		{ "{\"name\":\"A\",\"description\":\"d\"}", CARD_V1, "A" },
		{ "{\"name\":\"A\"}", CARD_V1, "A" },
		{ "{\"name\":\"A\",\"description\":\"d\",\"tags\":[],\"create_date\":\"2023\"}", CARD_V1,
		    "A" },
		{ "{\"name\":\"A\",\"personality\":\"p\",\"version\":\"1.0.0\"}", CARD_V1, "A" },
		{ "{\"name\":\"A\",\"first_mes\":\"\",\"license\":\"x\"}", CARD_V1, "A" },
		{ "{\"name\":\"A\",\"mes_example\":\"\",\"author\":\"x\"}", CARD_V1, "A" },
		{ "{\"name\":\"A\",\"scenario\":null,\"keywords\":[]}", CARD_V1, "A" },
		{ "{\"name\":5}", CARD_V1, "5" },
		{ V2("\"name\":\"B\""), CARD_V2, "B" },
		{ V3("\"name\":\"C\""), CARD_V3, "C" },
		{ "{\"spec\":\"chara_card_v9\",\"data\":{\"name\":\"D\"}}", CARD_V2, "D" },
		{ "{\"data\":{\"name\":\"E\"}}", CARD_V2, "E" },
		{ "{\"spec\":\"chara_card_v3\",\"name\":\"F\"}", CARD_V3, "F" },
		{ "{\"char_name\":\"G\",\"char_persona\":\"p\"}", CARD_PYGMALION, "G" },
		{ "{\"spec\":\"chara_card_v2\",\"name\":\"H\",\"data\":{\"name\":null,\"description\":\"x\"}"
		  "}",
		    CARD_V2, "H" },
		{ "\xef\xbb\xbf{\"name\":\"BOM\"}", CARD_V1, "BOM" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct card c = card_ok(str_c(rows[i].text));

		assert_int_equal(c.format, rows[i].format);
		same_str(c.name, rows[i].name);
		assert_int_equal(json_type(json_get(c.data, "extensions")), JSON_OBJECT);
		assert_int_equal(json_type(json_get(c.data, "tags")), JSON_ARRAY);
	}
}

/* A Marinara export says by its form what the conditionals of card and book are; a SillyTavern card says nothing. */
static void
test_dialect_of_the_file(void **state)
{
	static const char *const rows[] = {
		"{\"type\":\"marinara_character\",\"version\":1,\"data\":{\"spec\":\"chara_card_v2\",\"data\":{\"name\":\"M\",\"character_book\":{\"entries\":[]}}}}",
		"{\"type\":\"marinara_character\",\"version\":1,\"data\":{\"id\":\"c\",\"data\":\"{\\\"name\\\":\\\"M\\\",\\\"character_book\\\":{\\\"entries\\\":[]}}\"}}",
		"{\"type\":\"marinara_character\",\"version\":1,\"data\":{\"name\":\"M\",\"first_mes\":\"x\",\"character_book\":{\"entries\":[]}}}",
	};
	struct card plain = card_ok(STR(V2("\"name\":\"B\"")));

	(void)state;
	assert_false(json_has(json_get(plain.data, "extensions"), "conditional_dialect"));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct card c = card_ok(str_c(rows[i]));

		same_str(c.name, "M");
		same_str(json_get_str(json_get(c.data, "extensions"), "conditional_dialect"), "marinara");
		same_str(json_get_str(json_get(json_get(c.data, "character_book"), "extensions"), "conditional_dialect"), "marinara");
		assert_true(receipt_has(&c.receipt, "dialect_stored"));
	}
}

static void
test_refused(void **state)
{
	static const struct {
		const char *text, *code;
	} rows[] = {
		{ "", "empty_file" },
		{ "   ", "unsupported_file" },
		{ "hello", "unsupported_file" },
		{ "{\"name\":\"A\",", "invalid_json" },
		{ "{\"name\":\"A\",\"x\":NaN}", "invalid_json" },
		{ "[1,2]", "not_a_card" },
		{ "{\"hello\":1}", "not_a_card" },
		{ "{\"name\":\"Dark theme\",\"blur_strength\":5}", "not_a_card" },
		{ "{\"name\":\"Alpaca\",\"story_string\":\"x\"}", "not_a_card" },
		{ "{\"name\":\"left-pad\",\"description\":\"Pads\",\"version\":\"1.3.0\"}", "not_a_card" },
		{ "{\"name\":\"x\",\"description\":\"d\",\"scripts\":{\"test\":\"y\"},\"license\":\"MIT\"}",
		    "not_a_card" },
		{ "{\"description\":\"without a name\"}", "not_a_card" },
		{ "{\"entries\":{},\"name\":\"Book\"}", "not_a_card" },
		{ "{\"prompts\":[],\"name\":\"Preset\"}", "not_a_card" },
		{ "{\"scriptName\":\"s\",\"findRegex\":\"x\"}", "not_a_card" },
		{ "{\"user_name\":\"U\",\"character_name\":\"C\"}\n{\"mes\":\"hi\"}", "not_a_card" },
		{ V2("\"name\":\"\""), "name_required" },
		{ V2("\"name\":\" \""), "name_required" },
		{ V2("\"description\":\"nobody\""), "name_required" },
		{ "{\"spec\":\"chara_card_v2\"}", "name_required" },
		{ "GIF89a", "unsupported_picture" },
		{ "\xff\xd8\xff\xe0 renamed.png", "unsupported_picture" },
	};
	struct import_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		card_bad(str_c(rows[i].text), rows[i].code);
	err = card_bad(STR("{\"name\":\"A\",\n  \"tags\": }"), "invalid_json");
	assert_int_equal(err.offset, 23);
	assert_non_null(strstr(err.message, "line 2"));
	err = card_bad(times("[", 200), "invalid_json");
	card_bad((struct str){ times("{\"a\":", 50).p, 250 }, "invalid_json");
	assert_false(err.too_large);
}

static void
test_too_large(void **state)
{
	struct sb s = sb_new(a);

	(void)state;
	sb_adds(&s, "{\"name\":\"");
	sb_add(&s, times("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", LIM_CARD_JSON / 32));
	sb_adds(&s, "\"}");
	assert_true(card_bad(sb_str(&s), "too_large").too_large);
}

static void
test_tolerance(void **state)
{
	struct card c = card_ok(STR(
	    V2("\"name\":\"A\",\"description\":12.50,\"personality\":null,\"scenario\":{\"x\":1},"
	       "\"alternate_greetings\":[\"one\",null,3,{\"a\":1}],\"tags\":\"x, y ,,z\",\"creator\":true,"
	       "\"character_book\":null,\"first_mes\":[\"only\"],\"extensions\":null")));

	(void)state;
	same_str(c.description, "12.50");
	same_str(c.personality, "");
	same_str(c.scenario, "");
	same_str(c.first_mes, "only");
	same_str(c.creator, "true");
	same_json(c.alternate_greetings, JSON("[\"one\",\"3\"]"));
	same_json(c.tags, JSON("[\"x\",\"y\",\"z\"]"));
	assert_null(c.book);
	assert_false(json_has(c.data, "character_book"));
	assert_true(receipt_has(&c.receipt, "number_as_text"));
	assert_true(receipt_has(&c.receipt, "null_ignored"));
	assert_true(receipt_has(&c.receipt, "wrong_type"));
	assert_true(receipt_has(&c.receipt, "text_list"));
}

static void
test_derived(void **state)
{
	struct card c = card_ok(STR(V3(
	    "\"name\":\"A\",\"nickname\":\"Ay\",\"first_mes\":\"\",\"alternate_greetings\":[\"\",\"hi\"],"
	    "\"source\":\"http://x.test\",\"extensions\":{\"world\":\"W\",\"depth_prompt\":{\"prompt\":\"p\","
	    "\"depth\":\"2\"},\"regex_scripts\":{\"findRegex\":\"a\",\"placement\":[\"2\"]}},"
	    "\"character_book\":{\"entries\":[{\"keys\":\"k\",\"content\":\"c\"}]}")));

	(void)state;
	assert_true(c.has_greeting);
	same_str(c.nickname, "Ay");
	same_str(c.linked_world, "W");
	same_json(c.depth_prompt, JSON("{\"prompt\":\"p\",\"depth\":2,\"role\":\"system\"}"));
	same_json(json_get(c.data, "source"), JSON("[\"http://x.test\"]"));
	assert_int_equal(json_len(c.scripts), 1);
	same_json(json_get(json_at(c.scripts, 0), "placement"), JSON("[2]"));
	same_json(json_get(json_get(json_get(c.book, "entries"), "0"), "key"), JSON("[\"k\"]"));
	c = card_ok(STR(V3("\"name\":\"A\",\"nickname\":\"\",\"alternate_greetings\":[\"\"]")));
	assert_false(c.has_greeting);
	assert_null(c.nickname.p);
}

/* Case B06: names in every script, hostile ones, long ones, and the placeholder. */
static void
test_names(void **state)
{
	static const char *const names[] = { "Maya \\ Lisa", "../../etc/passwd", "雷电将军", "测试角色",
		"Élodie", "E\xcc\x81lodie", "👩‍👩‍👧", "CON", "a/b\"c'd<e>", " padded " };
	struct import_file f = { .fallback_name = STR("Unnamed") };
	struct import_error err;
	struct card c;
	struct sb s = sb_new(a);

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct json *doc = json_object(a);

		json_set_c(doc, "name", names[i]);
		c = card_ok(json_text(a, doc));
		same_str(c.name, names[i]);
	}
	sb_adds(&s, "{\"name\":\"");
	sb_add(&s, times("名", 1334));
	sb_adds(&s, "\"}");
	assert_int_equal(card_ok(sb_str(&s)).name.n, 4002);

	f.bytes = STR(V2("\"name\":\"\",\"description\":\"d\""));
	assert_int_equal(card_read(a, &f, &c, &err), 0);
	same_str(c.name, "Unnamed");
	same_str(json_get_str(c.data, "name"), "Unnamed");
	assert_true(receipt_has(&c.receipt, "name_placeholder"));
}

static void
test_stem(void **state)
{
	(void)state;
	same_str(import_stem(STR("C:\\cards\\Lyra v2.card.png")), "Lyra v2.card");
	same_str(import_stem(STR("../../etc/passwd")), "passwd");
	same_str(import_stem(STR(".png")), ".png");
	assert_null(import_stem(STR("")).p);
	assert_null(import_stem(STR("dir/")).p);
}

/* Case B02: members nobody knows, at every level, numbers beyond 2^53, odd keys. */
#define UNKNOWN_ROOT                                                                                         \
	"\"x.root\":{\"n\":9007199254740993,\"list\":[1,2.50,1e400,-0,null],\"\":\"empty "                   \
	"key\"},\"avatar\":\"none\""
#define UNKNOWN_DATA                                                                                         \
	"\"future\":{\"deep\":{\"er\":[123456789012345678901234567890]}},\"a/b~c\":true,\"n\":null"
#define UNKNOWN_EXT "\"vendor.key\":\"s\",\"arr\":[{\"big\":18446744073709551615}]"

static void
check_unknown(const struct json *doc)
{
	const struct json *data = json_get(doc, "data"), *ext = json_get(data, "extensions");
	const struct json *root = JSON("{" UNKNOWN_ROOT "}"), *in_data = JSON("{" UNKNOWN_DATA "}"),
			  *in_ext = JSON("{" UNKNOWN_EXT "}");

	same_json(json_get(doc, "x.root"), json_get(root, "x.root"));
	assert_non_null(strstr(json_text(a, doc).p, "9007199254740993"));
	assert_non_null(strstr(json_text(a, doc).p, "1e400"));
	assert_non_null(strstr(json_text(a, doc).p, "123456789012345678901234567890"));
	same_json(json_get(data, "future"), json_get(in_data, "future"));
	same_json(json_get(data, "a/b~c"), json_get(in_data, "a/b~c"));
	assert_true(json_has(data, "n"));
	same_json(json_get(ext, "vendor.key"), json_get(in_ext, "vendor.key"));
	same_json(json_get(ext, "arr"), json_get(in_ext, "arr"));
}

static void
check_fixed_point(struct str text)
{
	static const enum card_spec specs[] = { CARD_SPEC_V2, CARD_SPEC_V3 };
	struct card c = card_ok(text), again;

	check_unknown(c.doc);
	for (size_t i = 0; i < 2; i++) {
		struct json *out = card_export_json(a, c.doc, specs[i]), *twice;

		check_unknown(out);
		again = card_ok(json_text(a, out));
		same_str(again.description, "  line1\r\nline2  ");
		twice = card_export_json(a, again.doc, specs[i]);
		assert_string_equal(json_text(a, twice).p, json_text(a, out).p);
		same_json(again.book, c.book);
		same_json(again.scripts, c.scripts);
	}
	assert_int_equal(receipt_has(&c.receipt, "unknown_field"), true);
}

static void
test_lossless(void **state)
{
	(void)state;
	check_fixed_point(STR("{\"spec\":\"chara_card_v2\",\"spec_version\":\"2.0\"," UNKNOWN_ROOT
			      ",\"name\":\"old copy\",\"data\":{\"name\":\"A\",\"description\":\"  "
			      "line1\\r\\nline2  \"," UNKNOWN_DATA ",\"extensions\":{" UNKNOWN_EXT
			      ",\"regex_scripts\":[{\"findRegex\":\"x\",\"z\":1}]},"
			      "\"character_book\":{\"x\":1,\"entries\":[{\"keys\":[\"k\"],\"content\":\"c\","
			      "\"id\":7,\"priority\":3,"
			      "\"extensions\":{\"odd\":[1]}}]}}}"));
	check_fixed_point(STR(
	    "{\"spec\":\"chara_card_v3\",\"spec_version\":\"3.7\"," UNKNOWN_ROOT
	    ",\"data\":{\"name\":\"A\",\"description\":\"  line1\\r\\nline2  \"," UNKNOWN_DATA
	    ",\"extensions\":{" UNKNOWN_EXT
	    "},\"assets\":[{\"type\":\"icon\",\"uri\":\"ccdefault:\",\"name\":\"main\",\"ext\":\"png\"}]}}"));
}

/* A flat card keeps what it has beside the fields; the V1 names move. */
static void
test_flat_unknown(void **state)
{
	struct card c = card_ok(STR("{\"name\":\"A\",\"description\":\"d\",\"creatorcomment\":\"cc\","
				    "\"talkativeness\":\"0.7\",\"fav\":true,"
				    "\"mine\":{\"x\":[1]},\"create_date\":\"2023\"}"));
	struct json *out = card_export_json(a, c.doc, CARD_SPEC_V2);

	(void)state;
	same_str(c.creator_notes, "cc");
	same_json(json_get(out, "mine"), JSON("{\"x\":[1]}"));
	same_str(json_get_str(out, "create_date"), "2023");
	same_json(
	    json_get(json_get(out, "data"), "extensions"), JSON("{\"talkativeness\":\"0.7\",\"fav\":true}"));
	same_json(card_export_json(a, card_ok(json_text(a, out)).doc, CARD_SPEC_V2), out);
}

static void
test_long_texts(void **state)
{
	struct sb s = sb_new(a);
	struct card c;

	(void)state;
	sb_adds(&s, "{\"spec\":\"chara_card_v2\",\"data\":{\"name\":\"A\",\"description\":\"");
	sb_add(&s, times("设定", 15000));
	sb_adds(&s, "\"}}");
	c = card_ok(sb_str(&s));
	assert_int_equal(c.description.n, 90000);
}

/* Case B38: NUL, lone surrogates, bad UTF-8: one rule, and the receipt says so. */
static void
test_bad_text(void **state)
{
	struct card c = card_ok(STR("{\"name\":\"A\xff\",\"description\":\"x\\u0000y\\ud800z\"}"));

	(void)state;
	same_str(c.name, "A\xef\xbf\xbd");
	same_str(c.description, "xy\xef\xbf\xbdz");
	assert_true(receipt_has(&c.receipt, "text_cleaned"));
	same_str(card_ok(STR("{\"name\":\"A\",\"name\":\"B\"}")).name, "B");
}

static void
test_receipt_is_bounded(void **state)
{
	struct receipt r = { .a = a };
	struct json *j;

	(void)state;
	for (int i = 0; i < 1000; i++)
		receipt_add(&r, RECEIPT_REFUSED, "x", "/p", "reason %d", i);
	receipt_add(&r, RECEIPT_NORMALISED, "y", "/q", "once");
	assert_int_equal(r.items.n, LIM_RECEIPT_CODE + 1);
	j = receipt_json(a, &r);
	assert_int_equal(json_len(json_get(j, "refused")), LIM_RECEIPT_CODE);
	assert_int_equal(json_get_int(json_at(json_get(j, "refused"), LIM_RECEIPT_CODE - 1), "count", 0),
	    1000 - LIM_RECEIPT_CODE + 1);
	same_json(json_get(j, "normalised"), JSON("[{\"code\":\"y\",\"path\":\"/q\",\"reason\":\"once\"}]"));
}

static void
test_detect(void **state)
{
	static const struct {
		const char *text;
		enum import_kind kind;
	} rows[] = {
		{ V2("\"name\":\"A\""), IMPORT_CHARACTER },
		{ "{\"entries\":{\"0\":{\"key\":[]}}}", IMPORT_WORLDBOOK },
		{ "{\"type\":\"risu\",\"data\":[]}", IMPORT_WORLDBOOK },
		{ "{\"prompts\":[],\"prompt_order\":[]}", IMPORT_PRESET },
		{ "{\"openai_max_context\":\"8192\"}", IMPORT_PRESET },
		{ "[{\"scriptName\":\"s\",\"findRegex\":\"x\"}]", IMPORT_REGEX },
		{ "{\"findRegex\":\"x\"}", IMPORT_REGEX },
		{ "{\"user_name\":\"U\",\"chat_metadata\":{}}\n{\"mes\":\"hi\"}\n", IMPORT_CHAT },
		{ "{\"spec\":\"tavern_headless_chat\",\"data\":{}}", IMPORT_THCHAT },
		{ "{\"x\":1}", IMPORT_UNKNOWN },
		{ "", IMPORT_UNKNOWN },
		{ "%PDF", IMPORT_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (import_detect(a, str_c(rows[i].text)) != rows[i].kind)
			fail_msg(
			    "%s: %s", rows[i].text, import_kind_name(import_detect(a, str_c(rows[i].text))));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_dialect_of_the_file), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_tolerance),
		cmocka_unit_test(test_derived),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_stem),
		cmocka_unit_test(test_lossless),
		cmocka_unit_test(test_flat_unknown),
		cmocka_unit_test(test_long_texts),
		cmocka_unit_test(test_bad_text),
		cmocka_unit_test(test_receipt_is_bounded),
		cmocka_unit_test(test_detect),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
