/* prompt_assemble: what vectors do not say: refusals, what is stored, policies, chance, traces, properties. */
#include "base/rng.h"
#include "base/utf8.h"
#include "lore/book_file.h"
#include "prompt/prompt.h"
#include "regex/script_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

struct scene {
	struct arena *a;
	struct prompt_input in;
	struct macro_layers layers;
	const struct prompt_card *card;
	VEC(struct prompt_message) chat;
};

static struct json *
parse(struct arena *a, const char *text)
{
	struct json_error err;
	struct json *j = json_read(a, str_c(text), 64, &err);

	assert_non_null(j);
	return j;
}

static void
say(struct scene *s, enum prompt_role role, const char *text)
{
	size_t n = s->chat.n;

	vec_push(s->a, &s->chat,
	    ((struct prompt_message){ .no = (int64_t)n + 1, .role = role, .text = str_c(text), .tokens = -1, .floor_seq = (int32_t)n }));
	s->in.history = s->chat.v;
	s->in.nhistory = s->chat.n;
	s->in.chat_length = (int64_t)s->chat.n;
}

static void
scene_begin(struct scene *s, const char *preset, const char *card)
{
	*s = (struct scene){ .a = arena_create("test", 0) };
	s->in = (struct prompt_input){ .seed = 7, .phase = MACRO_ASSEMBLE, .trace = true, .tokens_reserved = 3, .time_awareness = true,
		.user_name = STR("Bob"), .lore_settings = lore_settings_defaults(), .names_in_messages_supported = true };
	s->in.vars = macro_vars_layers(&s->layers);
	s->in.preset = preset ? prompt_preset_compile(s->a, parse(s->a, preset)) : NULL;
	s->card = prompt_card_compile(s->a, parse(s->a, card));
	s->in.cards = &s->card;
	s->in.ncards = 1;
}

static struct prompt *
run(struct scene *s)
{
	struct prompt *p;

	assert_int_equal(prompt_assemble(s->a, &s->in, &p), 0);
	return p;
}

static void
scene_end(struct scene *s)
{
	arena_destroy(&s->a);
}

static const char plain_preset[] = "{\"openai_max_context\":1000,\"openai_max_tokens\":100,\"prompts\":["
				   "{\"identifier\":\"main\",\"content\":\"Be {{char}}.\",\"system_prompt\":true}],\"prompt_order\":[{\"character_id\":100001,"
				   "\"order\":[{\"identifier\":\"main\",\"enabled\":true},{\"identifier\":\"charDescription\",\"enabled\":true},"
				   "{\"identifier\":\"chatHistory\",\"enabled\":true}]}]}";
static const char lyra[] = "{\"data\":{\"name\":\"Lyra\",\"description\":\"{{char}} sings.\",\"first_mes\":\"\",\"alternate_greetings\":[\"Hi "
			   "{{user}}\",\"Yo\"]}}";

static bool
holds(const struct prompt *p, const char *text)
{
	for (size_t i = 0; i < p->nmessages; i++)
		if (str_is(p->messages[i].content, text))
			return true;
	return false;
}

/* ---- refusals and budget ---- */

static void
refuses_what_cannot_fit(void **state)
{
	struct scene s;
	struct prompt *p;

	(void)state;
	scene_begin(&s, plain_preset, lyra);
	s.in.max_context = 120;
	s.in.max_reply = 100;
	say(&s, PROMPT_USER, "A message that is by itself too long for the twenty tokens which are left, and so nothing can be sent.");
	p = run(&s);
	assert_string_equal(p->error, "context_budget_exceeded");
	assert_int_equal(p->nmessages, 0);
	scene_end(&s);
}

/* Whatever the sizes: within budget, the newest message in, the rest a suffix of the chat. */
static void
keeps_a_suffix_of_the_chat(void **state)
{
	struct rng r = rng_seed(11);

	(void)state;
	for (int round = 0; round < 200; round++) {
		struct scene s;
		struct prompt *p;
		int64_t last = 0, next;
		size_t n = 1 + rng_below(&r, 30);

		scene_begin(&s, plain_preset, lyra);
		s.in.max_context = 100 + (int64_t)rng_below(&r, 400);
		s.in.max_reply = 20;
		for (size_t i = 0; i < n; i++) {
			struct sb t = sb_new(s.a);

			sb_addf(&t, "%zu", i);
			for (size_t k = rng_below(&r, 200); k > 0; k--)
				sb_addc(&t, 'x');
			say(&s, i % 2 ? PROMPT_ASSISTANT : PROMPT_USER, sb_c(&t));
		}
		p = run(&s);
		next = (int64_t)n;
		for (size_t i = p->nmessages; i > 0; i--) {
			if (p->messages[i - 1].message_no == 0)
				continue;
			assert_int_equal(p->messages[i - 1].message_no, next--);
			last++;
		}
		if (p->error == NULL) {
			assert_true(p->tokens <= p->budget);
			assert_true(last > 0);
		}
		scene_end(&s);
	}
}

static void
stored_counts_stand_for_texts(void **state)
{
	struct scene s;
	struct prompt *p;

	(void)state;
	scene_begin(&s, plain_preset, lyra);
	say(&s, PROMPT_USER, "hello there");
	say(&s, PROMPT_ASSISTANT, "hi");
	say(&s, PROMPT_USER, "go on");
	s.chat.v[1].tokens = 77;
	p = run(&s);
	for (size_t i = 0; i < p->nmessages; i++)
		if (p->messages[i].message_no == 2)
			assert_int_equal(p->messages[i].tokens, 77);
	scene_end(&s);
}

/* ---- what is stored ---- */

static void
persist_rules_are_stored_beside_the_typed_text(void **state)
{
	struct scene s;
	struct prompt *p;
	const struct regex_script *v;
	size_t n;

	(void)state;
	scene_begin(&s, plain_preset, lyra);
	n = regex_scripts_read(s.a, parse(s.a, "[{\"scriptName\":\"a\",\"findRegex\":\"/cat/g\",\"replaceString\":\"{{char}}\",\"placement\":[1,2]},"
					       "{\"scriptName\":\"b\",\"findRegex\":\"/dog/g\",\"replaceString\":\"wolf\",\"placement\":[1],\"promptOnly\":true}]"),
	    REGEX_SOURCE_GLOBAL, &v);
	s.in.scripts = regex_set_compile(s.a, v, n);
	say(&s, PROMPT_USER, "cat and dog");
	p = run(&s);
	assert_true(holds(p, "Lyra and wolf"));
	assert_int_equal(p->nstored, 1);
	assert_true(str_is(p->stored[0].text, "Lyra and dog"));
	assert_true(p->stored[0].tokens > 0);
	assert_true(str_is(prompt_reply(s.a, &s.in, STR("a cat, a dog"), NULL), "a Lyra, a dog"));
	assert_int_equal(json_len(json_get(json_get(p->trace, "regex"), "phases")), 2);
	scene_end(&s);
}

/* As SillyTavern cleans replies; what a user sees is the caller's. */
static void
replies_are_cleaned_for_later_prompts(void **state)
{
	static const struct {
		const char *said, *kept;
	} rows[] = { { "One. \t\nTwo.\xc2\xa0\n\n  Three  ", "One.\nTwo.\n\n  Three" }, { "  a  b \r\nc", "a  b\r\nc" }, { " \n ", " \n " }, { "", "" },
		{ "Lyra: I sing.\nLyra:  And Lyra: dance.", "I sing.\nAnd Lyra: dance." }, { "I sing.\nBob: I listen.", "I sing." },
		{ "Bob: I listen.", "Bob: I listen." }, { "Say Bob: no.\nLyra, Bobby: x", "Say Bob: no.\nLyra, Bobby: x" }, { "Lyra:", "Lyra:" } };
	struct scene s;

	(void)state;
	scene_begin(&s, plain_preset, lyra);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct str kept = prompt_reply(s.a, &s.in, str_c(rows[i].said), NULL);

		assert_true(str_is(kept, rows[i].kept));
	}
	s.in.type = PROMPT_IMPERSONATE;
	assert_true(str_is(prompt_reply(s.a, &s.in, STR("Bob: I go. \nLyra: And I?"), NULL), "I go."));
	s.in.mode = PROMPT_NATIVE;
	assert_true(str_is(prompt_reply(s.a, &s.in, STR(" Bob: I go. "), NULL), " Bob: I go. "));
	scene_end(&s);
}

static void
chance_in_a_message_is_rolled_once(void **state)
{
	struct scene s;
	struct prompt *p;
	struct str first;

	(void)state;
	scene_begin(&s, plain_preset, lyra);
	say(&s, PROMPT_USER, "{{random::a,b,c,d,e,f,g,h}}");
	p = run(&s);
	assert_int_equal(p->nstored, 1);
	assert_non_null(p->stored[0].rolls);
	first = p->messages[p->nmessages - 1].content;
	s.chat.v[0].rolls = p->stored[0].rolls;
	for (uint64_t seed = 1; seed < 20; seed++) {
		s.in.seed = seed;
		p = run(&s);
		assert_true(str_eq(p->messages[p->nmessages - 1].content, first));
	}
	scene_end(&s);
}

static void
messages_never_write(void **state)
{
	struct scene s;
	struct prompt *p;

	(void)state;
	scene_begin(&s, plain_preset, lyra);
	say(&s, PROMPT_ASSISTANT, "{{setvar::gold::99}}mine");
	say(&s, PROMPT_USER, "{{setvar::gold::1}}");
	p = run(&s);
	assert_int_equal(p->macros->writes.n, 0);
	assert_true(holds(p, "{{setvar::gold::99}}mine"));
	s.in.message_macros = MESSAGE_MACROS_FULL;
	p = run(&s);
	assert_int_equal(p->macros->writes.n, 1);
	assert_true(str_is(p->macros->writes.v[0].value.text, "1"));
	scene_end(&s);
}

/* ---- greetings ---- */

static void
greets_with_what_the_card_has(void **state)
{
	const struct macro_result *m;
	struct scene s;

	(void)state;
	scene_begin(&s, plain_preset, lyra);
	assert_true(str_is(prompt_greeting(s.a, &s.in, 0, 0, &m), "Hi Bob"));
	assert_true(str_is(prompt_greeting(s.a, &s.in, 0, 1, &m), "Yo"));
	assert_int_equal(prompt_greeting(s.a, &s.in, 0, 9, &m).n, 0);
	scene_end(&s);
}

/* ---- policies ---- */

static void
structures_as_asked(void **state)
{
	static const struct {
		const char *structure, *last_role;
		size_t n;
	} rows[] = {
		{ "{\"structure\":{\"mode\":\"default\"}}", "user", 6 },
		{ "{\"structure\":{\"mode\":\"strict_alternating\",\"preserve_system_messages\":false}}", "user", 4 },
		{ "{\"structure\":{\"mode\":\"no_assistant\",\"assistant_rewrite_strategy\":\"to_system\"}}", "user", 6 },
		{ "{\"structure\":{\"mode\":\"flattened\",\"preserve_system_messages\":false}}", "user", 1 },
		{ "{\"structure\":{\"mode\":\"flattened\"}}", "user", 4 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct scene s;
		struct prompt *p;

		scene_begin(&s, plain_preset, lyra);
		s.in.policy = parse(s.a, rows[i].structure);
		say(&s, PROMPT_USER, "one");
		say(&s, PROMPT_ASSISTANT, "two");
		say(&s, PROMPT_USER, "three");
		p = run(&s);
		assert_int_equal(p->nmessages, rows[i].n);
		assert_string_equal(p->messages[p->nmessages - 1].role, rows[i].last_role);
		for (size_t k = 0; k < p->nmessages; k++)
			if (strstr(rows[i].structure, "no_assistant"))
				assert_string_not_equal(p->messages[k].role, "assistant");
		scene_end(&s);
	}
}

static void
hides_floors_and_sources(void **state)
{
	struct scene s;
	struct prompt *p;

	(void)state;
	scene_begin(&s, plain_preset, lyra);
	s.in.policy = parse(s.a, "{\"visibility\":{\"hidden_floor_ranges\":[{\"start_floor_no\":0,\"end_floor_no\":1}]}}");
	say(&s, PROMPT_USER, "one");
	say(&s, PROMPT_ASSISTANT, "two");
	say(&s, PROMPT_USER, "three");
	p = run(&s);
	assert_false(holds(p, "one"));
	assert_true(holds(p, "three"));
	assert_int_equal(json_len(json_get(json_get(p->trace, "visibility"), "filtered_floor_nos")), 2);
	s.in.policy = parse(s.a, "{\"source_selection\":{\"history\":{\"mode\":\"windowed\",\"max_messages\":2}}}");
	p = run(&s);
	assert_false(holds(p, "one"));
	assert_true(holds(p, "two"));
	s.in.policy = parse(s.a, "{\"delivery\":{\"require_last_user\":true}}");
	s.in.type = PROMPT_CONTINUE;
	say(&s, PROMPT_ASSISTANT, "four");
	p = run(&s);
	assert_string_equal(p->messages[p->nmessages - 1].role, "user");
	scene_end(&s);
}

/* ---- lore, modes, odd input ---- */

static void
embedded_books_are_scanned(void **state)
{
	struct scene s;
	struct prompt *p;

	(void)state;
	scene_begin(&s, plain_preset,
	    "{\"data\":{\"name\":\"Lyra\",\"character_book\":{\"name\":\"own\",\"entries\":[{\"keys\":[\"bell\"],\"content\":\"It rings for "
	    "{{user}}.\",\"enabled\":true,\"insertion_order\":1,\"position\":\"before_char\"}]}}}");
	say(&s, PROMPT_USER, "the bell");
	p = run(&s);
	assert_true(holds(p, "It rings for Bob."));
	assert_int_equal(json_len(p->worldbook_matches), 1);
	assert_true(str_is(json_get_str(json_get(json_at(p->worldbook_matches, 0), "source"), "kind"), "character_book"));
	assert_int_equal(
	    json_get_int(json_get(json_get(json_at(p->worldbook_matches, 0), "activation"), "first_match"), "char_start", -1), 4);
	scene_end(&s);
}

static void
every_mode_and_type_holds_the_new_message(void **state)
{
	(void)state;
	for (int mode = 0; mode < PROMPT_MODE__COUNT; mode++)
		for (int type = 0; type < PROMPT_TYPE__COUNT; type++)
			for (int bound = 0; bound < 2; bound++) {
				struct scene s;
				struct prompt *p;

				scene_begin(&s, bound ? plain_preset : NULL, lyra);
				s.in.mode = (enum prompt_mode)mode;
				s.in.type = (enum prompt_type)type;
				s.in.quiet_prompt = STR("quiet");
				say(&s, PROMPT_ASSISTANT, "before");
				say(&s, PROMPT_USER, "the new one");
				if (type == PROMPT_SWIPE)
					say(&s, PROMPT_ASSISTANT, "the old answer");
				p = run(&s);
				assert_null(p->error);
				assert_true(holds(p, "the new one"));
				assert_false(type == PROMPT_SWIPE && holds(p, "the old answer"));
				scene_end(&s);
			}
}

static void
rearranges_by_the_nodes(void **state)
{
	struct scene s;
	struct prompt *p;

	(void)state;
	scene_begin(&s,
	    "{\"openai_max_context\":1000,\"openai_max_tokens\":100,\"prompts\":[{\"identifier\":\"a\",\"name\":\"a\",\"content\":\"A {{char}}\"},"
	    "{\"identifier\":\"chatHistory\",\"marker\":true},{\"identifier\":\"charDescription\",\"marker\":true},"
	    "{\"identifier\":\"d\",\"content\":\"deep\",\"injection_position\":1,\"injection_depth\":0}],\"prompt_order\":[{\"character_id\":100001,"
	    "\"order\":[{\"identifier\":\"chatHistory\",\"enabled\":true},{\"identifier\":\"a\",\"enabled\":true},{\"identifier\":\"d\",\"enabled\":true},"
	    "{\"identifier\":\"charDescription\",\"enabled\":true}]}]}",
	    lyra);
	s.in.mode = PROMPT_REARRANGE;
	say(&s, PROMPT_USER, "hello");
	p = run(&s);
	assert_int_equal(p->nmessages, 3);
	assert_true(str_is(p->messages[0].content, "hello\n[System: deep]"));
	assert_true(str_is(p->messages[1].content, "A Lyra"));
	assert_true(str_is(p->messages[2].content, "Lyra sings."));
	assert_non_null(json_get(p->trace, "layout"));
	scene_end(&s);
}

static void
survives_odd_assets(void **state)
{
	static const char *const presets[] = { "{}", "{\"prompts\":null,\"prompt_order\":[null,{\"order\":null}]}",
		"{\"prompts\":[null,3,{}],\"prompt_order\":[{\"character_id\":\"100001\",\"order\":[null,{},{\"identifier\":\"main\"}]}]}",
		"{\"prompts\":\"x\",\"prompt_order\":7,\"openai_max_context\":\"9007199254740993\",\"names_behavior\":\"2\"}",
		"[]" };
	static const char *const cards[] = { "{}", "{\"data\":null}", "{\"name\":\"\"}", "{\"data\":{\"name\":7,\"tags\":\"one\",\"alternate_greetings\":\"x\"}}" };

	(void)state;
	for (size_t i = 0; i < sizeof(presets) / sizeof(*presets); i++)
		for (size_t k = 0; k < sizeof(cards) / sizeof(*cards); k++) {
			struct scene s;

			scene_begin(&s, presets[i], cards[k]);
			s.in.max_context = 4096;
			say(&s, PROMPT_USER, "hello");
			assert_null(run(&s)->error);
			scene_end(&s);
		}
}

static void
takes_long_descriptions(void **state)
{
	struct scene s;
	struct sb card;
	struct prompt *p;

	(void)state;
	scene_begin(&s, plain_preset, "{}");
	card = sb_new(s.a);
	sb_adds(&card, "{\"data\":{\"name\":\"\xe7\x90\xb4\",\"description\":\"");
	for (int i = 0; i < 30000; i++)
		sb_adds(&card, "\xe7\x90\xb4");
	sb_adds(&card, "\"}}");
	s.card = prompt_card_compile(s.a, parse(s.a, sb_c(&card)));
	s.in.max_context = 100000;
	say(&s, PROMPT_USER, "hello");
	p = run(&s);
	assert_null(p->error);
	assert_int_equal(p->messages[1].content.n, 90000);
	assert_true(str_is(p->messages[0].content, "Be \xe7\x90\xb4."));
	scene_end(&s);
}

/* Providers with a system field of their own, in the compat modes (decisions 55). */
static void
system_text_where_the_provider_wants_it(void **state)
{
	static const char with_field[] = "{\"use_sysprompt\":true,\"prompts\":[{\"identifier\":\"main\",\"content\":\"Be {{char}}.\",\"system_prompt\":true},"
					 "{\"identifier\":\"late\",\"content\":\"Late.\",\"system_prompt\":false,\"role\":\"system\"}],\"prompt_order\":[{\"character_id\":100001,"
					 "\"order\":[{\"identifier\":\"main\",\"enabled\":true},{\"identifier\":\"dialogueExamples\",\"enabled\":true},"
					 "{\"identifier\":\"chatHistory\",\"enabled\":true},{\"identifier\":\"late\",\"enabled\":true}]}]}";
	static const char talks[] = "{\"data\":{\"name\":\"Lyra\",\"mes_example\":\"<START>\\n{{user}}: So?\\n{{char}}: La la.\"}}";
	struct scene s;
	struct prompt *p;

	(void)state;
	for (int field = 0; field < 2; field++) {
		char *preset;

		scene_begin(&s, with_field, talks);
		preset = arena_strdup(s.a, str_c(with_field));
		if (!field)
			memcpy(strstr(preset, "true"), "null", 4);
		s.in.preset = prompt_preset_compile(s.a, parse(s.a, preset));
		s.in.system_apart = true;
		say(&s, PROMPT_USER, "hello");
		p = run(&s);
		assert_string_equal(p->messages[0].role, field ? "system" : "user");
		assert_true(holds(p, "Bob: So?") && holds(p, "Lyra: La la.")); /* example lines carry their names */
		assert_string_equal(p->messages[p->nmessages - 1].role, "system"); /* a later one stays: the writer's to place */
		for (size_t i = 0; i < p->nmessages; i++)
			assert_null(p->messages[i].name.p);
		s.in.system_apart = false;
		p = run(&s);
		assert_string_equal(p->messages[0].role, "system");
		assert_true(holds(p, "La la."));
		scene_end(&s);
	}
}

static void
same_input_same_prompt(void **state)
{
	struct scene s;
	struct prompt *x, *y;

	(void)state;
	scene_begin(&s, plain_preset, "{\"data\":{\"name\":\"Lyra\",\"description\":\"{{random::a,b,c}} {{roll::1d20}} {{pick::x,y}}\"}}");
	say(&s, PROMPT_USER, "hello {{roll::1d100}}");
	x = run(&s);
	y = run(&s);
	assert_int_equal(x->nmessages, y->nmessages);
	for (size_t i = 0; i < x->nmessages; i++)
		assert_true(str_eq(x->messages[i].content, y->messages[i].content));
	scene_end(&s);
}

/* The quiet prompt, and with a note that is scanned the depth notes, are read by the scan; each is expanded once. */
static void
scan_reads_what_stands_in_the_chat(void **state)
{
	static const char card[] = "{\"data\":{\"name\":\"Lyra\",\"extensions\":{\"depth_prompt\":{\"prompt\":\"a gull\",\"depth\":1}},"
				   "\"character_book\":{\"entries\":[{\"id\":1,\"keys\":[\"gull\"],\"content\":\"Of gulls.\",\"enabled\":true},"
				   "{\"id\":2,\"keys\":[\"ferry 1\"],\"content\":\"Of ferries.\",\"enabled\":true}]}}}";

	(void)state;
	for (int scan = 0; scan < 2; scan++) {
		struct scene s;
		struct prompt *p;

		scene_begin(&s, plain_preset, card);
		s.in.note = prompt_note_defaults();
		s.in.note.scan = scan;
		say(&s, PROMPT_USER, "hi");
		s.in.type = PROMPT_QUIET;
		s.in.quiet_prompt = STR("The ferry {{incvar::n}}");
		p = run(&s);
		assert_int_equal(p->lore->nactive, 1 + (size_t)scan);
		assert_true(holds(p, "The ferry 1"));
		s.in.type = PROMPT_NORMAL;
		assert_int_equal(run(&s)->lore->nactive, (size_t)scan);
		scene_end(&s);
	}
}

static void
muted_members_keep_their_depth_notes(void **state)
{
	static const char note[] = "{\"data\":{\"name\":\"%s\",\"description\":\"%s is here.\",\"extensions\":{\"depth_prompt\":{\"prompt\":\"%s deep\"}}}}";
	static const bool muted[] = { false, true };
	const struct prompt_card *cards[2];
	const char *const names[] = { "Ann", "Ben" };
	struct scene s;
	struct prompt *p;

	(void)state;
	scene_begin(&s, plain_preset, lyra);
	for (int i = 0; i < 2; i++) {
		struct sb text = sb_new(s.a);

		sb_addf(&text, note, names[i], names[i], names[i]);
		cards[i] = prompt_card_compile(s.a, parse(s.a, sb_c(&text)));
	}
	s.in.cards = cards;
	s.in.ncards = 2;
	s.in.muted = muted;
	s.in.group = true;
	s.in.join = PROMPT_APPEND_MUTED;
	say(&s, PROMPT_USER, "hi");
	p = run(&s);
	assert_true(holds(p, "Ann is here.\nBen is here."));
	assert_true(holds(p, "Ann deep"));
	assert_false(holds(p, "Ben deep"));
	scene_end(&s);
}

/* A persona at the note stands around what lore glues to it, as it was written; its macro prints it tidied. */
static void
personas_stand_around_the_note(void **state)
{
	static const struct {
		int place;
		const char *note;
	} rows[] = { { 2, "I am\r\nBob.\ntop\na note" }, { 3, "top\na note\nI am\r\nBob." } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct scene s;
		struct lore_bound book;

		scene_begin(&s, plain_preset, lyra);
		book = (struct lore_bound){ lore_book_read(s.a, STR("b"), parse(s.a, "{\"entries\":{\"0\":{\"uid\":0,\"key\":[],\"constant\":true,"
										     "\"content\":\"top\",\"position\":2}}}")), LORE_GLOBAL };
		s.in.books = &book;
		s.in.nbooks = 1;
		s.in.persona = prompt_persona_compile(s.a, parse(s.a, arena_printf(s.a, "{\"description\":\"I am\\r\\nBob.\",\"position\":%d}", rows[i].place)));
		s.in.note = prompt_note_defaults();
		s.in.note.given = true;
		s.in.note.text = STR("a note");
		say(&s, PROMPT_USER, "[{{persona}}]");
		assert_true(holds(run(&s), rows[i].note));
		assert_true(holds(run(&s), "[I am\nBob.]"));
		scene_end(&s);
	}
}

/* Squashing: a message of another role stands between system messages even where it turns out empty. */
static void
empty_messages_part_system_messages(void **state)
{
	static const char preset[] = "{\"squash_system_messages\":true,\"prompts\":[{\"identifier\":\"main\",\"content\":\"Main.\",\"system_prompt\":true},"
				     "{\"identifier\":\"x\",\"role\":\"%s\",\"content\":\"{{noop}}\",\"system_prompt\":false}],\"prompt_order\":[{\"character_id\":100001,"
				     "\"order\":[{\"identifier\":\"main\",\"enabled\":true},{\"identifier\":\"x\",\"enabled\":true},"
				     "{\"identifier\":\"charDescription\",\"enabled\":true},{\"identifier\":\"chatHistory\",\"enabled\":true}]}]}";
	static const char *const roles[] = { "system", "user", "assistant" };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct scene s;
		struct sb text;

		scene_begin(&s, NULL, lyra);
		text = sb_new(s.a);
		sb_addf(&text, preset, roles[i]);
		s.in.preset = prompt_preset_compile(s.a, parse(s.a, sb_c(&text)));
		say(&s, PROMPT_USER, "hi");
		assert_int_equal(holds(run(&s), "Main.\nLyra sings."), i == 0);
		assert_false(holds(run(&s), ""));
		scene_end(&s);
	}
}

/* A message that is swiped is not part of the chat: neither its number nor timed lore counts it. */
static void
swiped_messages_do_not_count(void **state)
{
	struct scene s;
	struct prompt *p;

	(void)state;
	scene_begin(&s, plain_preset, "{\"data\":{\"name\":\"Lyra\",\"character_book\":{\"entries\":[{\"id\":1,\"keys\":[\"hi\"],\"content\":\"At "
				      "{{lastMessageId}}.\",\"enabled\":true,\"extensions\":{\"sticky\":2}}]}}}");
	say(&s, PROMPT_ASSISTANT, "hello");
	say(&s, PROMPT_USER, "hi");
	say(&s, PROMPT_ASSISTANT, "no");
	s.in.type = PROMPT_SWIPE;
	p = run(&s);
	assert_int_equal(p->lore_past.messages, 2);
	assert_true(str_is(p->lore->active[0].text, "At 1."));
	say(&s, PROMPT_USER, "go on"); /* a message that came with the intent is no reply that could be swiped */
	p = run(&s);
	assert_int_equal(p->lore_past.messages, 4);
	assert_true(holds(p, "no"));
	assert_true(holds(p, "go on"));
	scene_end(&s);
}

/* The note's interval counts user messages; every one is even before the first of them. */
static void
notes_are_due_by_their_interval(void **state)
{
	static const struct {
		int interval;
		const char *due; /* after 0, 1, 2, … user messages */
	} rows[] = { { 1, "yyyyyyy" }, { 2, "nnynyny" }, { 3, "nnnynny" }, { 0, "nnnnnnn" } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (int users = 0; users < 7; users++) {
			struct scene s;

			scene_begin(&s, plain_preset, lyra);
			s.in.note = prompt_note_defaults();
			s.in.note.given = true;
			s.in.note.text = STR("a note");
			s.in.note.interval = rows[i].interval;
			say(&s, PROMPT_ASSISTANT, "hello");
			for (int k = 0; k < users; k++)
				say(&s, PROMPT_USER, "hi");
			assert_int_equal(holds(run(&s), "a note"), rows[i].due[users] == 'y');
			s.in.users_before = 12; /* older ones that were not loaded count too */
			assert_int_equal(holds(run(&s), "a note"), rows[i].interval > 0 && users % rows[i].interval == 0);
			scene_end(&s);
		}
}

/* ---- cases of the requirements ---- */

/* B10: while a reply is made anew, macros that tell of messages see the history as it is sent. */
static void
b10_the_last_message_of_a_regeneration(void **state)
{
	static const char echo[] = "{\"openai_max_context\":1000,\"openai_max_tokens\":100,\"prompts\":[{\"identifier\":\"main\",\"content\":"
				   "\"Echo: {{lastMessage}}|{{lastUserMessage}}|{{lastCharMessage}}\",\"system_prompt\":true}],\"prompt_order\":["
				   "{\"character_id\":100001,\"order\":[{\"identifier\":\"main\",\"enabled\":true},{\"identifier\":\"chatHistory\",\"enabled\":true}]}]}";
	static const enum prompt_type types[] = { PROMPT_REGENERATE, PROMPT_SWIPE };

	(void)state;
	for (size_t k = 0; k < sizeof(types) / sizeof(*types); k++)
		for (int mode = 0; mode < PROMPT_MODE__COUNT; mode++) {
			struct scene s;
			struct prompt *p;
			int echoes = 0;

			scene_begin(&s, echo, lyra);
			s.in.mode = (enum prompt_mode)mode;
			s.in.type = types[k];
			say(&s, PROMPT_USER, "first question");
			say(&s, PROMPT_ASSISTANT, "first answer");
			say(&s, PROMPT_USER, "second question");
			if (types[k] == PROMPT_SWIPE) /* regenerating took it away before */
				say(&s, PROMPT_ASSISTANT, "the reply that is replaced");
			p = run(&s);
			for (size_t i = 0; i < p->nmessages; i++) {
				echoes += str_find(p->messages[i].content, STR("Echo: second question|second question|first answer"), 0) != STR_NPOS;
				assert_true(str_find(p->messages[i].content, STR("replaced"), 0) == STR_NPOS);
			}
			assert_int_equal(echoes, 1);
			scene_end(&s);
		}
}

/* B13: of the members' own books only the speaker's is scanned, and the trace says whose it is. */
static void
b13_only_the_speakers_book(void **state)
{
	static const char *const texts[] = { "{\"data\":{\"name\":\"Ada\",\"character_book\":{\"name\":\"of Ada\",\"entries\":[{\"keys\":[\"gate\"],\"content\":"
					     "\"Ada has the key.\",\"enabled\":true,\"insertion_order\":1}]}}}",
		"{\"data\":{\"name\":\"Ben\",\"character_book\":{\"name\":\"of Ben\",\"entries\":[{\"keys\":[\"gate\"],\"content\":"
		"\"Ben fears it.\",\"enabled\":true,\"insertion_order\":1}]}}}" };

	(void)state;
	for (size_t speaker = 0; speaker < 2; speaker++) {
		const struct prompt_card *cards[2];
		struct scene s;
		struct prompt *p;

		scene_begin(&s, plain_preset, lyra);
		for (size_t i = 0; i < 2; i++)
			cards[i] = prompt_card_compile(s.a, parse(s.a, texts[i]));
		s.in.cards = cards;
		s.in.ncards = 2;
		s.in.group = true;
		s.in.speaker = speaker;
		say(&s, PROMPT_USER, "the gate");
		p = run(&s);
		assert_int_equal(holds(p, "Ada has the key."), speaker == 0);
		assert_int_equal(holds(p, "Ben fears it."), speaker == 1);
		assert_int_equal(json_len(p->worldbook_matches), 1);
		assert_true(str_find(json_text(s.a, p->worldbook_matches), speaker ? STR("of Ben") : STR("of Ada"), 0) != STR_NPOS);
		scene_end(&s);
	}
}

/* B18: what stands behind the history stays there, and a part that the preset leaves out is not sent. */
static void
b18_what_must_come_last(void **state)
{
	static const char preset[] = "{\"openai_max_context\":1000,\"openai_max_tokens\":100,\"prompts\":[{\"identifier\":\"main\",\"content\":\"Main.\","
				     "\"system_prompt\":true},{\"identifier\":\"jailbreak\",\"content\":\"Preset last.\",\"system_prompt\":true}],\"prompt_order\":["
				     "{\"character_id\":100001,\"order\":[{\"identifier\":\"main\",\"enabled\":true},{\"identifier\":\"charDescription\",\"enabled\":false},"
				     "{\"identifier\":\"chatHistory\",\"enabled\":true},{\"identifier\":\"jailbreak\",\"enabled\":true}]}]}";
	static const char card[] = "{\"data\":{\"name\":\"Lyra\",\"description\":\"She sings.\",\"post_history_instructions\":\"{{original}} Card last.\","
				   "\"extensions\":{\"depth_prompt\":{\"prompt\":\"At depth 4.\",\"depth\":4,\"role\":\"system\"}}}}";
	static const char *const expected[] = { "Main.", "one", "At depth 4.", "two", "three", "four", "five", "Preset last. Card last." };
	struct scene s;
	struct prompt *p;
	size_t k = 0;

	(void)state;
	scene_begin(&s, preset, card);
	for (int i = 0; i < 5; i++)
		say(&s, i % 2 ? PROMPT_ASSISTANT : PROMPT_USER, (const char *[]){ "one", "two", "three", "four", "five" }[i]);
	p = run(&s);
	for (size_t i = 0; i < p->nmessages; i++)
		if (!str_starts(p->messages[i].content, STR("[Start a new Chat]")))
			assert_true(k < 8 && str_is(p->messages[i].content, expected[k++]));
	assert_int_equal(k, 8);
	assert_false(holds(p, "She sings."));
	scene_end(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(notes_are_due_by_their_interval),
		cmocka_unit_test(muted_members_keep_their_depth_notes),
		cmocka_unit_test(swiped_messages_do_not_count),
		cmocka_unit_test(empty_messages_part_system_messages),
		cmocka_unit_test(personas_stand_around_the_note),
		cmocka_unit_test(scan_reads_what_stands_in_the_chat),
		cmocka_unit_test(refuses_what_cannot_fit),
		cmocka_unit_test(keeps_a_suffix_of_the_chat),
		cmocka_unit_test(stored_counts_stand_for_texts),
		cmocka_unit_test(persist_rules_are_stored_beside_the_typed_text),
		cmocka_unit_test(replies_are_cleaned_for_later_prompts),
		cmocka_unit_test(chance_in_a_message_is_rolled_once),
		cmocka_unit_test(messages_never_write),
		cmocka_unit_test(greets_with_what_the_card_has),
		cmocka_unit_test(structures_as_asked),
		cmocka_unit_test(hides_floors_and_sources),
		cmocka_unit_test(embedded_books_are_scanned),
		cmocka_unit_test(every_mode_and_type_holds_the_new_message),
		cmocka_unit_test(rearranges_by_the_nodes),
		cmocka_unit_test(survives_odd_assets),
		cmocka_unit_test(takes_long_descriptions),
		cmocka_unit_test(system_text_where_the_provider_wants_it),
		cmocka_unit_test(same_input_same_prompt),
		cmocka_unit_test(b10_the_last_message_of_a_regeneration),
		cmocka_unit_test(b13_only_the_speakers_book),
		cmocka_unit_test(b18_what_must_come_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
