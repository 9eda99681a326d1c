/*
 * plain: a chat without a preset: who the people are in one system message, the card's own system
 * prompt, lore around them, the chat, the card's last word (st-assembly 5; decisions 11).
 */
#include "prompt/prompt_private.h"

static void
section_put(struct build *b, const char *identifier, struct str text)
{
	struct section *s = vec_add(b->a, &b->sections);
	struct item it = { .role = STR("system"), .content = text, .source = identifier };

	s->identifier = str_c(identifier);
	s->source = identifier;
	if (text_blank(text)) {
		s->reason = "empty";
		return;
	}
	it.tokens = item_tokens(b, &it);
	vec_push(b->a, &s->items.v, it);
	budget_must(b, it.tokens);
}

static void
people_add(struct sb *out, struct str text)
{
	if (text_blank(text))
		return;
	sb_adds(out, out->n > 0 ? "\n\n" : "");
	sb_add(out, text);
}

/* The card's and the persona's texts; a chat with nobody in it has a stock sentence. */
static struct str
people_text(struct build *b, struct str description, struct str personality, struct str scenario)
{
	struct sb out = sb_new(b->a);

	people_add(&out, description);
	people_add(&out, personality);
	people_add(&out, scenario);
	if (b->in->persona && b->in->persona->place == PERSONA_IN_PROMPT)
		people_add(&out, macro_run_field(b->run, NULL, MF_PERSONA));
	if (out.n == 0)
		sb_add(&out, macro_run_field(b->run, NULL, MF_DEFAULT_SYSTEM_PROMPT));
	return sb_str(&out);
}

static struct str
field(struct build *b, enum macro_field f)
{
	return b->in->ncards ? text_no_cr(b->a, macro_run_field(b->run, NULL, f)) : STR("");
}

void
plain_build(struct build *b)
{
	struct str system = b->in->chat_system_prompt.n > 0 ? text_eval_raw(b, b->in->chat_system_prompt) : field(b, MF_SYSTEM), description = field(b, MF_DESCRIPTION), personality = field(b, MF_PERSONALITY),
		   scenario = field(b, MF_SCENARIO), last = field(b, MF_POST_HISTORY);
	struct lines chat = { 0 };
	struct section *history;

	marker_depth_notes(b);
	b->note_due = marker_note_is_due(b);
	world_scan(b);
	native_note(b);
	section_put(b, "worldInfoBefore", b->lore ? b->lore->before : STR(""));
	section_put(b, "main", people_text(b, description, personality, scenario));
	section_put(b, "cardSystemPrompt", system);
	section_put(b, "worldInfoAfter", b->lore ? b->lore->after : STR(""));
	if (b->note_set.place != PROMPT_IN_CHAT)
		section_put(b, "authorsNote", b->note);
	if (b->in->mode != PROMPT_COMPAT_STRICT && b->in->summary.n > 0 && policy_takes(b, "memory"))
		section_put(b, "memorySummary", b->in->summary);
	vec_push(b->a, &b->sections, ((struct section){ .identifier = STR("chatHistory"), .source = "chatHistory" }));
	section_put(b, "postHistoryInstructions", last);
	native_control(b);
	history_lines(b, &chat);
	inject_depth(b, &chat);
	for (size_t i = 0; i < b->sections.n; i++) {
		history = &b->sections.v[i];
		if (str_is(history->identifier, "chatHistory"))
			history_plain(b, &chat, &history->items);
	}
}
