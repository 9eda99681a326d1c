/*
 * Texts and who they belong to: the dialect of each owner, notes as people keep them, choices, what a preset says that
 * nobody does, and the preview of one text.
 */
#include "base/limits.h"
#include "prompt/prompt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

struct scene {
	struct arena *a;
	struct prompt_input in;
	struct macro_layers layers;
	const struct prompt_card *card;
	struct prompt_message said[2];
};

static struct json *
parse(struct arena *a, const char *text)
{
	struct json_error err;
	struct json *j = json_read(a, str_c(text), LIM_JSON_DEPTH, &err);

	assert_non_null(j);
	return j;
}

static const char preset[] = "{\"prompts\":[{\"identifier\":\"main\",\"content\":\"Be {{char}}.\",\"system_prompt\":true}],\"prompt_order\":[{\"character_id\":"
			     "100001,\"order\":[{\"identifier\":\"main\",\"enabled\":true},{\"identifier\":\"worldInfoBefore\",\"enabled\":true},"
			     "{\"identifier\":\"charDescription\",\"enabled\":true},{\"identifier\":\"chatHistory\",\"enabled\":true}]}]}";

static void
scene_begin(struct scene *s, const char *preset_doc, const char *card)
{
	*s = (struct scene){ .a = arena_create("test", 0) };
	s->layers.branch = parse(s->a, "{\"mood\":\"glad\"}");
	s->in = (struct prompt_input){ .seed = 7, .phase = MACRO_ASSEMBLE, .trace = true, .time_awareness = true, .user_name = STR("Bob"),
		.lore_settings = lore_settings_defaults() };
	s->in.vars = macro_vars_layers(&s->layers);
	s->in.preset = prompt_preset_compile(s->a, parse(s->a, preset_doc));
	s->card = prompt_card_compile(s->a, parse(s->a, card));
	s->in.cards = &s->card;
	s->in.ncards = 1;
	s->said[0] = (struct prompt_message){ .no = 1, .role = PROMPT_ASSISTANT, .text = STR("the bell"), .tokens = -1 };
	s->said[1] = (struct prompt_message){ .no = 2, .role = PROMPT_USER, .text = STR("yes"), .tokens = -1, .floor_seq = 1 };
	s->in.history = s->said;
	s->in.nhistory = 2;
	s->in.chat_length = 2;
}

static bool
sent(struct scene *s, const char *text)
{
	struct prompt *p;

	assert_int_equal(prompt_assemble(s->a, &s->in, &p), 0);
	for (size_t i = 0; i < p->nmessages; i++)
		if (str_find(p->messages[i].content, str_c(text), 0) != STR_NPOS)
			return true;
	return false;
}

/* Only SillyTavern's dialect has `??`: where it runs, the owner's dialect was asked. */
#define PROBE "{{.mood ?? none}}"
#define BOOK(dialect) \
	"{\"data\":{\"name\":\"Lyra\",\"character_book\":{\"name\":\"own\"" dialect \
	",\"entries\":[{\"keys\":[\"bell\"],\"content\":\"Rings " PROBE "\",\"enabled\":true,\"insertion_order\":1,\"position\":\"before_char\"}]}}}"

static void
each_owner_has_a_dialect(void **state)
{
	static const struct {
		const char *preset, *card, *want;
	} rows[] = {
		{ preset, "{\"data\":{\"name\":\"Lyra\",\"description\":\"Card " PROBE "\"}}", "Card " PROBE },
		{ preset, "{\"data\":{\"name\":\"Lyra\",\"description\":\"Card " PROBE "\",\"extensions\":{\"conditional_dialect\":\"sillytavern\"}}}", "Card glad" },
		{ "{\"conditional_dialect\":\"sillytavern\",\"prompts\":[{\"identifier\":\"main\",\"content\":\"Row " PROBE "\",\"system_prompt\":true}]}",
		    "{\"data\":{\"name\":\"Lyra\",\"description\":\"Card " PROBE "\"}}", "Row glad" },
		{ preset, BOOK(""), "Rings " PROBE },
		{ preset, BOOK(",\"extensions\":{\"conditional_dialect\":\"sillytavern\"}"), "Rings glad" },
		{ preset, BOOK(",\"extensions\":{\"conditional_dialect\":\"klingon\"}"), "Rings " PROBE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct scene s;

		scene_begin(&s, rows[i].preset, rows[i].card);
		assert_true(sent(&s, rows[i].want));
		arena_destroy(&s.a);
	}
}

static void
greetings_follow_the_card(void **state)
{
	const struct macro_result *m;
	struct scene s;

	(void)state;
	scene_begin(&s, preset, "{\"data\":{\"name\":\"Lyra\",\"first_mes\":\"Hi " PROBE "\",\"extensions\":{\"conditional_dialect\":\"sillytavern\"}}}");
	assert_true(str_is(prompt_greeting(s.a, &s.in, 0, 0, &m), "Hi glad"));
	arena_destroy(&s.a);
	scene_begin(&s, preset, "{\"data\":{\"name\":\"Lyra\",\"first_mes\":\"Hi " PROBE "\"}}");
	assert_true(str_is(prompt_greeting(s.a, &s.in, 0, 0, &m), "Hi " PROBE));
	arena_destroy(&s.a);
}

/* {{#unless}} is TomoriBot's: it runs where the mode says so and nobody else does. */
static void
rearrange_reads_texts_as_tomoribot(void **state)
{
	struct scene s;

	(void)state;
	scene_begin(&s, preset, "{\"data\":{\"name\":\"Lyra\",\"description\":\"Card {{#unless nothing}}shown{{/unless}}\"}}");
	assert_true(sent(&s, "Card {{#unless nothing}}shown{{/unless}}"));
	s.in.mode = PROMPT_REARRANGE;
	assert_true(sent(&s, "Card shown"));
	arena_destroy(&s.a);
	scene_begin(&s, preset,
	    "{\"data\":{\"name\":\"Lyra\",\"description\":\"Card " PROBE "\",\"extensions\":{\"conditional_dialect\":\"sillytavern\"}}}");
	s.in.mode = PROMPT_REARRANGE;
	assert_true(sent(&s, "Card glad")); /* what is stored wins */
	arena_destroy(&s.a);
}

static void
notes_are_read_as_people_keep_them(void **state)
{
	static const struct {
		const char *note, *metadata, *text;
		enum prompt_place place;
		int32_t depth, interval;
		enum prompt_role role;
	} rows[] = {
		{ NULL, NULL, NULL, PROMPT_IN_CHAT, 4, 1, PROMPT_SYSTEM },
		{ "{\"text\":\"a\",\"position\":\"after_main\",\"depth\":2,\"role\":\"user\",\"interval\":3}", "{\"authors_note\":\"b\"}", "a", PROMPT_AFTER_MAIN, 2, 3,
		    PROMPT_USER },
		{ NULL, "{\"authors_note\":\"b\"}", "b", PROMPT_IN_CHAT, 4, 1, PROMPT_SYSTEM },
		{ NULL, "{\"authorsNote\":{\"text\":\"c\",\"depth\":\"7\",\"role\":2}}", "c", PROMPT_IN_CHAT, 7, 1, PROMPT_ASSISTANT },
		{ NULL, "{\"note_prompt\":\"d\",\"note_position\":2,\"note_depth\":1,\"note_role\":1,\"note_interval\":0}", "d", PROMPT_BEFORE_MAIN, 1, 0, PROMPT_USER },
		{ NULL, "{\"authors_note\":{\"text\":\"e\",\"depth\":-3,\"position\":\"top\",\"role\":9,\"interval\":99999999999}}", "e", PROMPT_IN_CHAT, 4, 1,
		    PROMPT_SYSTEM },
		{ NULL, "{\"authors_note\":[\"f\"]}", NULL, PROMPT_IN_CHAT, 4, 1, PROMPT_SYSTEM },
	};
	struct arena *a = arena_create("test", 0);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct prompt_note n = prompt_note_read(a, rows[i].note ? parse(a, rows[i].note) : NULL, rows[i].metadata ? parse(a, rows[i].metadata) : NULL);

		assert_true(n.given);
		if (rows[i].text)
			assert_string_equal(arena_strdup(a, n.text), rows[i].text);
		else
			assert_null(n.text.p);
		assert_int_equal(n.place, rows[i].place);
		assert_int_equal(n.depth, rows[i].depth);
		assert_int_equal(n.interval, rows[i].interval);
		assert_int_equal(n.role, rows[i].role);
	}
	arena_destroy(&a);
}

static void
choices_must_be_options(void **state)
{
	static const char doc[] = "{\"choice_blocks\":[{\"variable_name\":\"tone\",\"options\":[\"dry\",\"warm\"]},"
				  "{\"variable_name\":\"themes\",\"multi_select\":true,\"options\":\"[\\\"sea\\\",\\\"fog\\\"]\"}]}";
	static const struct {
		const char *choices;
		bool good;
	} rows[] = {
		{ "{}", true },
		{ "{\"tone\":\"warm\",\"themes\":[\"sea\",\"fog\"]}", true },
		{ "{\"tone\":null,\"themes\":[]}", true },
		{ "{\"tone\":\"\"}", true },
		{ "{\"tone\":\"Warm\"}", false },
		{ "{\"tone\":[\"dry\",\"warm\"]}", false },
		{ "{\"themes\":[\"sea\",\"tar\"]}", false },
		{ "{\"other\":\"dry\"}", false },
		{ "{\"tone\":{}}", false },
	};
	struct arena *a = arena_create("test", 0);
	struct prompt_preset *p = prompt_preset_compile(a, parse(a, doc));
	struct str name;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(prompt_choices_fault(p, parse(a, rows[i].choices), &name) == NULL, rows[i].good);
	assert_non_null(prompt_choices_fault(NULL, parse(a, rows[1].choices), &name));
	assert_null(prompt_choices_fault(NULL, NULL, &name));
	arena_destroy(&a);
}

static void
assert_names(const struct json *list, const char *const *want)
{
	size_t n = 0;

	while (want[n])
		n++;
	assert_int_equal(json_len(list), n);
	for (size_t i = 0; i < n; i++)
		assert_true(str_is(json_str(json_at(list, i)), want[i]));
}

static void
presets_say_what_is_not_done(void **state)
{
	static const char doc[] = "{\"temperature\":1,\"n\":1,\"function_calling\":true,\"enable_web_search\":false,\"bias_preset_selected\":\"Default (none)\","
				  "\"verbosity\":\"high\",\"openai_model\":\"x\",\"reverse_proxy_note\":\"\",\"prompts\":[],\"wi_format\":\"{0}\"}";
	static const char *const unsupported[] = { "function_calling", "verbosity", NULL }, *const ignored[] = { "openai_model", "reverse_proxy_note", NULL };
	struct scene s;
	struct prompt *p;

	(void)state;
	scene_begin(&s, doc, "{\"data\":{\"name\":\"Lyra\"}}");
	prompt_assemble(s.a, &s.in, &p);
	assert_names(json_get(json_get(p->trace, "preset"), "unsupported_fields"), unsupported);
	assert_names(json_get(json_get(p->trace, "preset"), "ignored_fields"), ignored);
	arena_destroy(&s.a);
}

static void
a_preview_changes_nothing(void **state)
{
	static const char text[] = "{{getvar::mood}} {{setvar::mood::sad}}{{getvar::mood}} {{lastMessage}} {{input}} {{nobody}}";
	struct prompt_preview v;
	struct scene s;

	(void)state;
	scene_begin(&s, preset, "{\"data\":{\"name\":\"Lyra\"}}");
	s.in.phase = MACRO_PREVIEW;
	s.in.input = STR("typed");
	for (int i = 0; i < 2; i++) { /* the same again: nothing was kept */
		prompt_preview(s.a, &s.in, str_c(text), MACRO_AUTO, &v);
		assert_string_equal(arena_strdup(s.a, v.text), "glad sad yes typed {{nobody}}");
		assert_int_equal(v.macros->writes.n, 1);
		assert_int_equal(json_get_int(v.normalization, "raw_entry_count", 0), 2);
	}
	assert_string_equal(arena_strdup(s.a, json_text(s.a, s.layers.branch)), "{\"mood\":\"glad\"}");
	prompt_preview(s.a, &s.in, STR(""), MACRO_AUTO, &v);
	assert_int_equal(v.text.n, 0);
	arena_destroy(&s.a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_owner_has_a_dialect),
		cmocka_unit_test(greetings_follow_the_card),
		cmocka_unit_test(rearrange_reads_texts_as_tomoribot),
		cmocka_unit_test(notes_are_read_as_people_keep_them),
		cmocka_unit_test(choices_must_be_options),
		cmocka_unit_test(presets_say_what_is_not_done),
		cmocka_unit_test(a_preview_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
