/*
 * bench assemble: CPU of one assembly with a preset of 100 rows, a book of 500 entries and a context of 8,192 tokens
 * that is full, with trace (as a dry run) and without (as a turn). Figure that must hold: 1.5 ms with trace.
 */
#include "base/sb.h"
#include "lore/book_file.h"
#include "prompt/prompt.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROWS = 100, ENTRIES = 500, MESSAGES = 120, ROUNDS = 101, WARM = 10 };

static double
cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static struct json *
preset_make(struct arena *a)
{
	struct json *p = json_object(a), *prompts = json_set_array(p, "prompts"), *track = json_push_object(json_set_array(p, "prompt_order"));
	struct json *order = json_set_array(track, "order");
	static const char *const markers[] = { "main", "worldInfoBefore", "charDescription", "charPersonality", "scenario", "worldInfoAfter",
		"dialogueExamples", "chatHistory", "jailbreak" };

	json_set_int(p, "openai_max_context", 8192);
	json_set_int(p, "openai_max_tokens", 512);
	json_set_int(track, "character_id", 100001);
	for (int i = 0; i < ROWS; i++) {
		bool marker = i < (int)(sizeof(markers) / sizeof(*markers));
		const char *id = marker ? markers[i] : arena_printf(a, "row%d", i);
		struct json *r = json_push_object(prompts), *o = json_push_object(order);

		json_set_c(r, "identifier", id);
		json_set_bool(r, "system_prompt", marker);
		if (!marker)
			json_set_c(r, "content", arena_printf(a, "Rule %d: {{char}} speaks to {{user}}. {{setvar::v%d::%d}}{{getvar::v%d}}", i, i % 10, i, i % 10));
		json_set_c(o, "identifier", id);
		json_set_bool(o, "enabled", true);
	}
	return p;
}

static struct json *
book_make(struct arena *a)
{
	struct json *b = json_object(a), *entries = json_set_array(b, "entries");

	for (int i = 0; i < ENTRIES; i++) {
		struct json *e = json_push_object(entries);

		json_set_int(e, "uid", i);
		json_push_str(json_set_array(e, "key"), str_c(arena_printf(a, "%s%d", i % 50 ? "name" : "word", i)));
		json_set_c(e, "content", "A fact about a place that somebody wrote down for {{char}}.");
	}
	return b;
}

static int
by_value(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

static void
measure(const char *what, struct prompt_input *in)
{
	double v[ROUNDS];
	struct prompt *p = NULL;
	size_t n = 0;
	int64_t tokens = 0;

	for (int i = -WARM; i < ROUNDS; i++) {
		struct arena *a = arena_create("round", 1 << 18);
		double t = cpu_ms();

		prompt_assemble(a, in, &p);
		if (i >= 0)
			v[i] = cpu_ms() - t;
		n = p->nmessages;
		tokens = p->tokens;
		arena_destroy(&a);
	}
	qsort(v, ROUNDS, sizeof(*v), by_value);
	printf("%s: median %.3f ms, worst %.3f ms (%zu messages, %lld tokens)\n", what, v[ROUNDS / 2], v[ROUNDS - 1], n, (long long)tokens);
}

int
main(void)
{
	struct arena *a = arena_create("bench", 0);
	struct json *doc = json_object(a);
	struct macro_layers none = { 0 };
	struct prompt_message *m = arena_array(a, struct prompt_message, MESSAGES);
	struct prompt_input in = { .seed = 1, .phase = MACRO_DRY_RUN, .user_name = STR("Bob"), .ncards = 1, .nbooks = 1, .tokens_reserved = 3,
		.lore_settings = lore_settings_defaults(), .chat_length = MESSAGES, .history = m, .nhistory = MESSAGES };
	struct lore_bound book = { lore_book_read(a, STR("book"), book_make(a)), LORE_GLOBAL };
	const struct prompt_card *card;

	json_set_c(doc, "name", "Lyra");
	json_set_c(doc, "description", "{{char}} is a bard who knows {{user}} and every inn on the road.");
	json_set_c(doc, "mes_example", "<START>\n{{user}}: Sing?\n{{char}}: La la.");
	card = prompt_card_compile(a, doc);
	in.cards = &card;
	in.preset = prompt_preset_compile(a, preset_make(a));
	in.books = &book;
	in.lore = lore_set_compile(a, &(struct lore_binding){ .books = &book, .nbooks = 1 });
	in.vars = macro_vars_layers(&none);
	for (int i = 0; i < MESSAGES; i++) {
		struct sb s = sb_new(a);

		while (s.n < 240)
			sb_addf(&s, "They walk on and talk of word%d and rain. ", (i * 50) % ENTRIES);
		m[i] = (struct prompt_message){ .no = i + 1, .role = i % 2 ? PROMPT_USER : PROMPT_ASSISTANT, .text = sb_str(&s), .tokens = 60 };
	}
	measure("turn", &in);
	in.trace = true;
	measure("dry run", &in);
	in.mode = PROMPT_NATIVE;
	measure("native, dry run", &in);
	in.mode = PROMPT_REARRANGE;
	measure("rearrange, dry run", &in);
	arena_destroy(&a);
	return 0;
}
