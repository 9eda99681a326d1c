/*
 * prompt: any preset, card, persona, book and chat, in every mode. The input is one JSON document
 * with these members. Beyond not crashing: texts stay UTF-8, a prompt that is not refused fits, and
 * the same input makes the same prompt.
 */
#include "base/limits.h"
#include "base/utf8.h"
#include "lore/book_file.h"
#include "prompt/prompt.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(const struct prompt *x, const struct prompt *y)
{
	if (x->nmessages != y->nmessages || (x->error && x->nmessages > 0))
		abort();
	for (size_t i = 0; i < x->nmessages; i++)
		if (!utf8_valid(x->messages[i].content) || !str_eq(x->messages[i].content, y->messages[i].content))
			abort();
}

static void
history(struct arena *a, const struct json *list, struct prompt_input *in)
{
	size_t n = json_len(list) < 50 ? json_len(list) : 50;
	struct prompt_message *v = arena_array(a, struct prompt_message, n + 1);

	for (size_t i = 0; i < n; i++) {
		struct str text = json_str(json_at(list, i));

		v[i] = (struct prompt_message){ .no = (int64_t)i + 1, .role = (enum prompt_role)(i % 4), .text = text.p ? text : STR("x"), .tokens = -1,
			.greeting = i == 0 };
	}
	in->history = v;
	in->nhistory = n;
	in->chat_length = (int64_t)n;
}

static void
assemble(struct arena *a, const struct json *doc)
{
	const struct prompt_card *card = prompt_card_compile(a, json_get(doc, "card"));
	struct macro_layers none = { 0 };
	struct prompt_input in = { .cards = &card, .ncards = 1, .seed = 1, .phase = MACRO_ASSEMBLE, .trace = true, .tokens_reserved = 3,
		.lore_settings = lore_settings_defaults(), .policy = doc, .max_context = 4000, .max_reply = 200 };
	struct lore_bound book = { lore_book_read(a, STR("book"), json_get(doc, "book")), LORE_GLOBAL };
	struct prompt *x, *y;

	in.vars = macro_vars_layers(&none);
	in.preset = json_get(doc, "preset") ? prompt_preset_compile(a, json_get(doc, "preset")) : NULL;
	in.persona = prompt_persona_compile(a, json_get(doc, "persona"));
	in.books = &book;
	in.nbooks = 1;
	in.scripts = prompt_card_scripts(card);
	history(a, json_get(doc, "chat"), &in);
	for (int i = 0; i < PROMPT_MODE__COUNT * PROMPT_TYPE__COUNT; i++) {
		in.mode = (enum prompt_mode)(i % PROMPT_MODE__COUNT);
		in.type = (enum prompt_type)(i / PROMPT_MODE__COUNT);
		prompt_assemble(a, &in, &x);
		prompt_assemble(a, &in, &y);
		check(x, y);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_create("fuzz", 0);
	struct json_error err;
	struct json *doc = json_read(a, utf8_clean(a, (struct str){ (const char *)data, size }), LIM_JSON_DEPTH, &err);

	if (doc)
		assemble(a, doc);
	arena_destroy(&a);
	return 0;
}
