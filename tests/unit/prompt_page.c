/*
 * Turns as SillyTavern's page makes them: what is typed and said, greetings that are swiped, cards that are
 * joined in a group, texts of the chat instead of the card's, reasoning that goes back in. Each was recorded
 * from the page.
 */
#include "base/limits.h"
#include "lore/book_file.h"
#include "prompt/prompt.h"
#include "regex/script_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define ROWS(...) "{\"prompts\":[" __VA_ARGS__ "],\"prompt_order\":[{\"character_id\":100001,\"order\":["
#define ON(id) "{\"identifier\":\"" id "\",\"enabled\":true}"
#define OFF(id) "{\"identifier\":\"" id "\",\"enabled\":false}"
#define ASKS                                                                                                 \
	"{\"identifier\":\"asks\",\"system_prompt\":false,\"content\":\"EX:{{mesExamples}}|D:{{description}" \
	"}|P:{{personality}}|S:{{scenario}}\"}"
#define END "]}]}"
#define REST ON("worldInfoBefore") "," OFF("charPersonality") "," OFF("scenario") ","

static const char fields_off[] = ROWS(ASKS) ON("asks") "," OFF("charDescription") "," OFF(
    "charPersonality") "," OFF("scenario") "," OFF("dialogueExamples") "," ON("chatHistory") END;
static const char fields_on[] =
    ROWS(ASKS) ON("asks") "," ON("charDescription") "," REST ON("dialogueExamples") "," ON("chatHistory") END;

static const char *const members[] = {
	"{\"name\":\"Ann\",\"description\":\"{{char}} sews.\",\"scenario\":\"A loft.\",\"mes_example\":\"{{user}}: hey\\n{{char}}: ho\"}",
	"{\"name\":\"Bo\",\"personality\":\"calm\",\"mes_example\":\"<START>\\n{{char}}: hum\"}",
	"{\"name\":\"Cy\",\"description\":\"{{char}} is mute.\"}",
};

struct scene {
	struct arena *a;
	struct prompt_input in;
	struct macro_layers layers;
	const struct prompt_card *cards[3];
	struct prompt_message said[3];
	bool muted[3];
	struct prompt *out;
};

static struct json *
parse(struct arena *a, const char *text)
{
	struct json_error err;
	struct json *j = json_read(a, str_c(text), LIM_JSON_DEPTH, &err);

	assert_non_null(j);
	return j;
}

static void
scene_begin(struct scene *s, const char *preset)
{
	*s = (struct scene){ .a = arena_create("test", 0), .muted = { false, false, true } };
	s->in = (struct prompt_input){ .seed = 7,
		.phase = MACRO_ASSEMBLE,
		.trace = true,
		.time_awareness = true,
		.user_name = STR("Zoe"),
		.lore_settings = lore_settings_defaults(),
		.muted = s->muted };
	s->in.vars = macro_vars_layers(&s->layers);
	s->in.preset = prompt_preset_compile(s->a, parse(s->a, preset));
	for (size_t i = 0; i < 3; i++)
		s->cards[i] = prompt_card_compile(s->a, parse(s->a, members[i]));
	s->in.cards = s->cards;
	s->in.ncards = 1;
	s->said[0] =
	    (struct prompt_message){ .no = 1, .role = PROMPT_USER, .text = STR("first"), .tokens = -1 };
	s->said[1] = (struct prompt_message){
		.no = 2, .role = PROMPT_ASSISTANT, .name = STR("Ann"), .text = STR("second"), .tokens = -1
	};
	s->said[2] =
	    (struct prompt_message){ .no = 3, .role = PROMPT_USER, .text = STR("third"), .tokens = -1 };
	s->in.history = s->said;
	s->in.nhistory = 3;
	s->in.chat_length = 3;
}

static void
group(struct scene *s, enum prompt_join join, size_t speaker)
{
	s->in.group = true;
	s->in.ncards = 3;
	s->in.join = join;
	s->in.speaker = speaker;
}

static void
assemble(struct scene *s)
{
	assert_int_equal(prompt_assemble(s->a, &s->in, &s->out), 0);
	assert_null(s->out->error);
}

/* The text of the i-th message from the front; from the end if negative. */
static const char *
text(struct scene *s, int i)
{
	size_t at = i < 0 ? s->out->nmessages - (size_t)-i : (size_t)i;

	assert_true(at < s->out->nmessages);
	return arena_strdup(s->a, s->out->messages[at].content);
}

static bool
on(const struct scene *s, size_t i)
{
	return i < s->out->lore->nactive;
}

/* ---- cards of a group ---- */

static void
joined_fields_are_read_whatever_is_off(void **state)
{
	struct scene s;

	(void)state;
	scene_begin(&s, fields_off);
	group(&s, PROMPT_APPEND, 1);
	s.in.join_prefix = STR("<FIELDNAME> of {{char}}: ");
	assemble(&s);
	assert_string_equal(text(&s, 0),
	    "EX:<START>\nExample Messages of Ann:\n<START>\nZoe: hey\nAnn: ho\nExample Messages of "
	    "Bo:\n<START>\nBo: hum\n"
	    "|D:Description of Ann: Ann sews.|P:Personality of Bo: calm|S:Scenario of Ann: A loft.");
	arena_destroy(&s.a);
}

static void
joined_fields_name_the_muted_if_asked(void **state)
{
	struct scene s;

	(void)state;
	scene_begin(&s, fields_off);
	group(&s, PROMPT_APPEND_MUTED, 0);
	assemble(&s);
	assert_non_null(strstr(text(&s, 0), "|D:Ann sews.\nCy is mute.|P:calm|"));
	group(&s, PROMPT_APPEND, 2); /* who speaks takes part */
	assemble(&s);
	assert_non_null(strstr(text(&s, 0), "|D:Ann sews.\nCy is mute.|P:calm|"));
	group(&s, PROMPT_SWAP, 2);
	assemble(&s);
	assert_string_equal(text(&s, 0), "EX:|D:Cy is mute.|P:|S:");
	arena_destroy(&s.a);
}

static void
joined_fields_are_evaluated_once(void **state)
{
	struct scene s;

	(void)state;
	scene_begin(&s, fields_on);
	s.cards[0] = prompt_card_compile(
	    s.a, parse(s.a, "{\"name\":\"Ann\",\"description\":\"{{incvar::n}}{{getvar::n}}\"}"));
	group(&s, PROMPT_APPEND, 1);
	assemble(&s);
	assert_non_null(strstr(text(&s, 0), "|D:11|"));
	assert_string_equal(text(&s, 1), "11");
	assert_int_equal(s.out->macros->writes.n, 1);
	arena_destroy(&s.a);
}

static void
names_of_a_group(void **state)
{
	struct scene s;

	(void)state;
	scene_begin(&s, "{\"new_group_chat_prompt\":\"{{group}}|{{groupNotMuted}}|{{notChar}}\",\"new_chat_prompt\":\"{{group}}|{{groupNotMuted}}|{{notChar}}\"}");
	group(&s, PROMPT_SWAP, 1);
	assemble(&s);
	assert_string_equal(text(&s, -5), "Ann, Bo, Cy|Ann, Bo|Ann"); /* in front of three messages and the nudge */
	arena_destroy(&s.a);
}

/* An entry that looks into descriptions looks into those of all members, sent or not. */
static void
the_scan_reads_joined_fields(void **state)
{
	struct scene s;
	struct lore_bound book;

	(void)state;
	scene_begin(&s, fields_off);
	book = (struct lore_bound){ lore_book_read(s.a, STR("b"),
					parse(s.a, "{\"entries\":[{\"uid\":0,\"key\":[\"sews\"],\"content\":"
						   "\"Cloth.\",\"matchCharacterDescription\":true}]}")),
		LORE_GLOBAL };
	s.in.books = &book;
	s.in.nbooks = 1;
	group(&s, PROMPT_SWAP, 1);
	assemble(&s);
	assert_false(on(&s, 0));
	group(&s, PROMPT_APPEND, 1);
	assemble(&s);
	assert_true(on(&s, 0));
	arena_destroy(&s.a);
}

/* ---- the chat's own texts ---- */

static void
the_chat_speaks_before_the_card(void **state)
{
	struct scene s;

	(void)state;
	scene_begin(&s, fields_on);
	s.in.scenario = STR("At sea with {{user}}.");
	s.in.examples = STR("{{char}}: ahoy");
	assemble(&s);
	assert_string_equal(text(&s, 0), "EX:<START>\nAnn: ahoy\n|D:Ann sews.|P:|S:At sea with Zoe.");
	assert_string_equal(text(&s, 3), "ahoy");
	s.in.scenario = STR("  "); /* says that there is none */
	s.in.examples = STR(" ");
	assemble(&s);
	assert_string_equal(text(&s, 0), "EX:|D:Ann sews.|P:|S:");
	group(&s, PROMPT_APPEND, 0); /* nothing to say instead of several */
	assemble(&s);
	assert_non_null(strstr(text(&s, 0), "|S:A loft."));
	s.in.examples = STR("{{char}}: ahoy");
	assemble(&s);
	assert_non_null(strstr(text(&s, 0), "EX:<START>\nAnn: ahoy\n|"));
	arena_destroy(&s.a);
}

static void
the_chats_system_prompt_replaces_the_cards(void **state)
{
	struct scene s;

	(void)state;
	scene_begin(&s, ROWS("{\"identifier\":\"main\",\"system_prompt\":true,\"content\":\"MAIN\"}")
			    ON("main") "," OFF("charDescription") "," REST ON("chatHistory") END);
	s.in.chat_system_prompt = STR("CHAT {{original}} {{incvar::n}}");
	assemble(&s);
	assert_string_equal(text(&s, 0), "CHAT MAIN 1");
	assert_int_equal(s.out->macros->writes.n, 1);
	s.in.preset = prompt_preset_compile(s.a,
	    parse(s.a,
		ROWS("{\"identifier\":\"main\",\"system_prompt\":true,\"forbid_overrides\":true,\"content\":"
		     "\"MAIN\"}") ON("main") "," OFF("charDescription") "," REST ON("chatHistory") END));
	assemble(&s);
	assert_string_equal(text(&s, 0), "MAIN");
	assert_int_equal(s.out->macros->writes.n, 0);
	arena_destroy(&s.a);
}

/* ---- persona at depth ---- */

static void
the_scan_sees_a_persona_that_stands_in_the_chat(void **state)
{
	struct scene s;
	struct lore_bound book;

	(void)state;
	scene_begin(&s, fields_on);
	book = (struct lore_bound){
		lore_book_read(s.a, STR("b"),
		    parse(s.a, "{\"entries\":[{\"uid\":0,\"key\":[\"letter\"],\"content\":\"Wax.\"}]}")),
		LORE_GLOBAL
	};
	s.in.books = &book;
	s.in.nbooks = 1;
	s.in.persona = prompt_persona_compile(s.a,
	    parse(s.a, "{\"name\":\"Zoe\",\"description\":\"has a letter\",\"position\":4,\"depth\":1}"));
	assemble(&s);
	assert_true(on(&s, 0));
	s.in.persona_unseen = true; /* nobody assembled the chat before: it is put in behind the scan */
	assemble(&s);
	assert_false(on(&s, 0));
	assert_string_equal(text(&s, -2), "has a letter");
	arena_destroy(&s.a);
}

/* ---- reasoning ---- */

static void
reasoning_goes_back_in(void **state)
{
	struct scene s;
	struct lore_bound book;
	const struct regex_script *scripts;
	size_t n;

	(void)state;
	scene_begin(&s, fields_on);
	n = regex_scripts_read(s.a,
	    parse(s.a, "[{\"scriptName\":\"r\",\"findRegex\":\"/dull/"
		       "\",\"replaceString\":\"bright\",\"placement\":[6],\"promptOnly\":true}]"),
	    REGEX_SOURCE_GLOBAL, &scripts);
	s.in.scripts = regex_set_compile(s.a, scripts, n);
	book = (struct lore_bound){
		lore_book_read(s.a, STR("b"),
		    parse(s.a, "{\"entries\":[{\"uid\":0,\"key\":[\"bright\"],\"content\":\"Sun.\"}]}")),
		LORE_GLOBAL
	};
	s.in.books = &book;
	s.in.nbooks = 1;
	s.said[1].reasoning = STR("a dull {{user}}");
	s.in.reasoning = (struct prompt_reasoning){ .add = true,
		.max = 1,
		.prefix = STR("<{{char}}>"),
		.suffix = STR("</>"),
		.separator = STR("\n") };
	assemble(&s);
	assert_string_equal(text(&s, -2), "<Ann>a bright Zoe</>\nsecond");
	assert_true(on(&s, 0)); /* it is part of the message that is scanned */
	s.in.reasoning.max = 0;
	assemble(&s);
	assert_string_equal(text(&s, -2), "second");
	arena_destroy(&s.a);
}

static void
reasoning_of_others_stays_out(void **state)
{
	struct scene s;

	(void)state;
	scene_begin(&s, fields_on);
	group(&s, PROMPT_SWAP, 1);
	s.said[1].reasoning = STR("hm");
	s.in.reasoning = (struct prompt_reasoning){
		.add = true, .max = 5, .prefix = STR("<"), .suffix = STR(">"), .separator = STR(" ")
	};
	assemble(&s);
	assert_string_equal(text(&s, -3), "Ann: second");
	s.in.speaker = 0;
	assemble(&s);
	assert_string_equal(text(&s, -3), "Ann: <hm> second");
	arena_destroy(&s.a);
}

static void
what_is_continued_keeps_its_reasoning(void **state)
{
	struct scene s;

	(void)state;
	scene_begin(&s, fields_on);
	s.in.type = PROMPT_CONTINUE;
	s.in.nhistory = 2;
	s.said[1].reasoning = STR("hm");
	s.in.reasoning =
	    (struct prompt_reasoning){ .prefix = STR("<"), .suffix = STR(">"), .separator = STR(" ") };
	assemble(&s);
	assert_string_equal(text(&s, -2), "<hm> second");
	assert_true(
	    str_is(s.out->continued, "second")); /* what the reply is joined to is the message alone */
	s.said[1].text = STR("");
	assemble(&s);
	assert_string_equal(text(&s, -2), "<hm"); /* it goes on thinking */
	arena_destroy(&s.a);
}

/* ---- going on ---- */

/* The nudge quotes what is sent: through the scripts, macros run, without a name in front. */
static void
the_nudge_quotes_what_is_sent(void **state)
{
	struct scene s;
	const struct regex_script *scripts;
	size_t n;

	(void)state;
	scene_begin(
	    &s, "{\"continue_nudge_prompt\":\"[{{lastChatMessage}}|{{char}}]\",\"names_behavior\":2}");
	n = regex_scripts_read(s.a,
	    parse(s.a, "[{\"scriptName\":\"r\",\"findRegex\":\"/sec/"
		       "\",\"replaceString\":\"dec\",\"placement\":[2],\"promptOnly\":true}]"),
	    REGEX_SOURCE_GLOBAL, &scripts);
	s.in.scripts = regex_set_compile(s.a, scripts, n);
	s.in.type = PROMPT_CONTINUE;
	s.in.nhistory = 2;
	s.said[1].text = STR("second {{user}} ");
	assemble(&s);
	assert_string_equal(text(&s, -1), "[decond Zoe|Ann]");
	assert_string_equal(text(&s, -2), "Ann: decond Zoe ");
	arena_destroy(&s.a);
}

/* A message without a text is gone on with all the same, unless nothing would stand between. */
static void
nothing_is_gone_on_with(void **state)
{
	struct scene s;

	(void)state;
	scene_begin(&s, "{\"continue_nudge_prompt\":\"[{{lastChatMessage}}]\"}");
	s.in.type = PROMPT_CONTINUE;
	s.in.nhistory = 2;
	s.said[1].text = STR("");
	assemble(&s);
	assert_string_equal(text(&s, -1), "[]");
	s.in.preset = prompt_preset_compile(s.a,
	    parse(s.a, "{\"continue_nudge_prompt\":\"[{{lastChatMessage}}]\",\"continue_postfix\":\"\"}"));
	assemble(&s);
	assert_string_equal(text(&s, -1), "first");
	arena_destroy(&s.a);
}

/* ---- examples ---- */

/* Lines of who answers carry the name of the member who spoke last in the block, if one did. */
static void
the_last_other_member_names_the_examples(void **state)
{
	struct scene s;

	(void)state;
	scene_begin(&s, fields_on);
	s.cards[1] =
	    prompt_card_compile(s.a, parse(s.a, "{\"name\":\"Bo\",\"mes_example\":\"<START>\\nBo: one\\nZoe: "
						"hm\\nAnn: two\\nZoe: so\\nBo: three\"}"));
	group(&s, PROMPT_SWAP, 1);
	assemble(&s);
	assert_string_equal(text(&s, 2), "Bo: one");
	assert_string_equal(text(&s, 4), "Ann: two");
	assert_string_equal(text(&s, 6), "Ann: Bo: three");
	arena_destroy(&s.a);
}

/* ---- what a turn does to the chat ---- */

static void
typed_text_is_said_in_turns_of_ones_own(void **state)
{
	struct arena *a = arena_create("test", 0);
	struct prompt_preset *plain = prompt_preset_compile(a, NULL),
			     *filled = prompt_preset_compile(a, parse(a, "{\"send_if_empty\":\"Go on.\"}"));

	(void)state;
	for (int t = 0; t < PROMPT_TYPE__COUNT; t++) {
		bool own = t == PROMPT_NORMAL || t == PROMPT_CONTINUE;

		assert_int_equal(prompt_says((enum prompt_type)t, plain, STR("Hello.")), own);
		assert_int_equal(prompt_says((enum prompt_type)t, NULL, STR("Hello.")), own);
		assert_false(prompt_says((enum prompt_type)t, plain, STR("")));
		assert_int_equal(prompt_says((enum prompt_type)t, filled, STR("")), t == PROMPT_NORMAL);
		assert_false(prompt_says((enum prompt_type)t, filled, STR_NULL));
	}
	arena_destroy(&a);
}

static void
a_lone_greeting_is_swiped_without_a_model(void **state)
{
	struct arena *a = arena_create("test", 0);
	const struct prompt_card *three = prompt_card_compile(
	    a, parse(a, "{\"name\":\"A\",\"first_mes\":\"1\",\"alternate_greetings\":[\"2\",\"3\"]}"));
	const struct prompt_card *none = prompt_card_compile(a, parse(a, "{\"name\":\"A\"}"));
	int64_t choice = 0;

	(void)state;
	for (int64_t want = 1; want < 7; want++) {
		assert_true(prompt_greeting_swipes(PROMPT_SWIPE, three, 1, true, &choice));
		assert_int_equal(choice, want % 3);
	}
	assert_false(prompt_greeting_swipes(PROMPT_REGENERATE, three, 1, true, &choice));
	assert_false(
	    prompt_greeting_swipes(PROMPT_SWIPE, three, 2, true, &choice)); /* something was answered */
	assert_false(prompt_greeting_swipes(PROMPT_SWIPE, three, 1, false, &choice)); /* not a greeting */
	assert_false(prompt_greeting_swipes(PROMPT_SWIPE, none, 1, true, &choice));
	assert_false(prompt_greeting_swipes(PROMPT_SWIPE, NULL, 1, true, &choice));
	assert_int_equal(choice, 0);
	arena_destroy(&a);
}

static void
a_reply_goes_on_behind_the_postfix(void **state)
{
	struct arena *a = arena_create("test", 0);
	struct prompt_preset *line = prompt_preset_compile(a, parse(a, "{\"continue_postfix\":\"\\n\"}"));

	(void)state;
	assert_true(str_is(prompt_go_on(a, NULL, STR("one"), STR("two")), "one two"));
	assert_true(str_is(prompt_go_on(a, line, STR("one"), STR("two")), "one\ntwo"));
	assert_true(str_is(prompt_go_on(a, line, STR("one "), STR("two")), "one two"));
	assert_true(str_is(prompt_go_on(a, line, STR(""), STR("two")), "\ntwo"));
	arena_destroy(&a);
}

/* ---- rows in the chat ---- */

static void
an_order_that_is_no_number_stands_above(void **state)
{
#define IN_CHAT(id, order)                                                                                   \
	"{\"identifier\":\"" id "\",\"role\":\"system\",\"content\":\"" id                                   \
	"\",\"injection_position\":1,\"injection_depth\":1,\"injection_order\":" order "}"
	struct scene s;

	(void)state;
	scene_begin(&s, ROWS(IN_CHAT("a", "\"x\"") "," IN_CHAT("b", "-5") "," IN_CHAT(
			    "c", "\"50\"") "," IN_CHAT("d", "50") "," IN_CHAT("e", "null"))
			    ON("a") "," ON("b") "," ON("c") "," ON("d") "," ON("e") "," OFF(
				"charDescription") "," REST ON("chatHistory") END);
	assemble(&s);
	assert_string_equal(text(&s, -5), "a");
	assert_string_equal(text(&s, -4), "b");
	assert_string_equal(text(&s, -3), "c\nd");
	assert_string_equal(text(&s, -2), "e");
	arena_destroy(&s.a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(joined_fields_are_read_whatever_is_off),
		cmocka_unit_test(joined_fields_name_the_muted_if_asked),
		cmocka_unit_test(joined_fields_are_evaluated_once),
		cmocka_unit_test(names_of_a_group),
		cmocka_unit_test(the_scan_reads_joined_fields),
		cmocka_unit_test(the_chat_speaks_before_the_card),
		cmocka_unit_test(the_chats_system_prompt_replaces_the_cards),
		cmocka_unit_test(the_scan_sees_a_persona_that_stands_in_the_chat),
		cmocka_unit_test(reasoning_goes_back_in),
		cmocka_unit_test(reasoning_of_others_stays_out),
		cmocka_unit_test(what_is_continued_keeps_its_reasoning),
		cmocka_unit_test(the_nudge_quotes_what_is_sent),
		cmocka_unit_test(nothing_is_gone_on_with),
		cmocka_unit_test(the_last_other_member_names_the_examples),
		cmocka_unit_test(typed_text_is_said_in_turns_of_ones_own),
		cmocka_unit_test(a_lone_greeting_is_swiped_without_a_model),
		cmocka_unit_test(a_reply_goes_on_behind_the_postfix),
		cmocka_unit_test(an_order_that_is_no_number_stands_above),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
