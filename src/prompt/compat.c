/*
 * compat: SillyTavern's prompt, message for message; compat_plus adds what the product declares
 * (decisions 15). The steps run in SillyTavern's order of evaluation (decisions 35).
 */
#include "prompt/prompt_private.h"

// clang-format off
/* Prompts of the list that the engine knows: sent whatever their system_prompt says. */
static const char *const listed[] = {
	"worldInfoBefore", "main", "worldInfoAfter", "charDescription", "charPersonality", "scenario", "personaDescription",
	"nsfw", "jailbreak", "enhanceDefinitions",
};
// clang-format on

static bool
is_listed(const struct slot *s)
{
	for (size_t i = 0; i < COUNT(listed); i++)
		if (str_is(s->identifier, listed[i]))
			return true;
	return s->custom;
}

static struct item
slot_item(struct build *b, const struct slot *s, const char *source)
{
	struct item it = { .role = s->role.n ? s->role : STR("system"), .content = s->content, .source = source };

	it.tokens = item_tokens(b, &it);
	return it;
}

static const char *
why_out(const struct build *b, const struct slot *s, size_t i)
{
	const char *id = arena_strdup(b->a, s->identifier);

	if (order_off(b, id) && !str_is(s->identifier, "main"))
		return "disabled";
	if (s->in_chat)
		return "in_chat";
	if (order_index(b, id) != i)
		return "duplicate";
	return is_listed(s) ? NULL : "not_sent";
}

/* One section for each slot, so that places in the list are places in the prompt. */
static void
sections_make(struct build *b)
{
	for (size_t i = 0; i < b->slots.v.n; i++) {
		const struct slot *s = &b->slots.v.v[i];
		struct section *sec = vec_add(b->a, &b->sections);

		sec->identifier = s->identifier;
		sec->source = arena_strdup(b->a, s->identifier);
		sec->reason = why_out(b, s, i);
		if (sec->reason == NULL) {
			vec_push(b->a, &sec->items.v, slot_item(b, s, sec->source));
			budget_must(b, sec->items.v.v[0].tokens);
		}
	}
}

/* The author's note beside a main that stands in the list. */
static void
note_attach(struct build *b)
{
	const struct slot *note = order_slot(b, "authorsNote");
	size_t at = order_index(b, "main");
	struct items *main_items, out = { 0 };
	struct item it;

	if (note == NULL || !note->attached || at == SIZE_MAX || b->slots.v.v[at].in_chat)
		return;
	it = slot_item(b, note, "authorsNote");
	main_items = &b->sections.v[at].items;
	if (note->place == PROMPT_BEFORE_MAIN)
		vec_push(b->a, &out.v, it);
	for (size_t i = 0; i < main_items->v.n; i++)
		vec_push(b->a, &out.v, main_items->v.v[i]);
	if (note->place != PROMPT_BEFORE_MAIN)
		vec_push(b->a, &out.v, it);
	*main_items = out;
	budget_must(b, it.tokens);
}

static struct item
control_item(struct build *b, struct str role, struct str text, const char *source)
{
	struct item it = { .role = role, .content = text, .source = source };

	it.tokens = item_tokens(b, &it);
	return it;
}

/* With continue_prefill the last message stands at the very end, to be gone on with. */
static void
continue_prefill(struct build *b, struct lines *chat, struct items *end)
{
	const struct told *t = b->continued;
	struct str prefix = STR(""), text;
	struct items one = { 0 };
	struct lines last = { 0 };

	if (t == NULL || !b->preset->continue_prefill || chat->v.n == 0)
		return;
	vec_push(b->a, &last.v, chat->v.v[0]);
	memmove(chat->v.v, chat->v.v + 1, (chat->v.n - 1) * sizeof(*chat->v.v));
	chat->v.n--;
	if (t->role == PROMPT_ASSISTANT && str_is(b->preset->source, "claude"))
		prefix = text_eval(b, b->preset->prefill);
	history_take_one(b, &last.v.v[0], &one);
	text = one.v.v[0].content;
	if (prefix.n > 0)
		text = text.n > 0 ? str_c(arena_printf(b->a, "%.*s\n\n%.*s", STR_ARG(prefix), STR_ARG(text))) : prefix;
	vec_push(b->a, &end->v, control_item(b, one.v.v[0].role, text, "continuePrefill"));
	vec_last(&end->v)->name = last.v.v[0].name;
	vec_last(&end->v)->message_no = t->m->no;
}

/* What always stands last: impersonation, quiet prompt, the message to go on with. */
static void
control_make(struct build *b, struct lines *chat, struct items *end)
{
	if (b->impersonation.n > 0)
		vec_push(b->a, &end->v,
		    control_item(b, STR("system"), b->impersonation, b->in->type == PROMPT_QUIET ? "quietPrompt" : "impersonate"));
	continue_prefill(b, chat, end);
	for (size_t i = 0; i < end->v.n; i++)
		budget_must(b, end->v.v[i].tokens);
}

/* compat_plus: the summary stands before the chat. */
static void
memory_add(struct build *b)
{
	size_t at = order_index(b, "chatHistory");
	struct section sec = { .identifier = STR("memorySummary"), .source = "memorySummary" };

	if (b->in->mode != PROMPT_COMPAT_PLUS || b->in->summary.n == 0 || !policy_takes(b, "memory"))
		return;
	vec_push(b->a, &sec.items.v, control_item(b, STR("system"), b->in->summary, "memorySummary"));
	budget_must(b, sec.items.v.v[0].tokens);
	at = at == SIZE_MAX ? b->sections.n : at;
	vec_push(b->a, &b->sections, sec);
	memmove(&b->sections.v[at + 1], &b->sections.v[at], (b->sections.n - at - 1) * sizeof(sec));
	b->sections.v[at] = sec;
}

void
compat_build(struct build *b)
{
	struct lines chat = { 0 };
	struct items end = { 0 };

	marker_fields(b);
	world_scan(b);
	marker_formats(b);
	order_rows(b);
	marker_late(b);
	order_blocks(b);
	sections_make(b);
	note_attach(b);
	history_lines(b, &chat);
	control_make(b, &chat, &end);
	inject_depth(b, &chat);
	if (b->in->pin_examples)
		example_section(b);
	history_section(b, &chat);
	if (!b->in->pin_examples)
		example_section(b);
	for (size_t i = 0; i < end.v.n; i++)
		vec_push(b->a, &b->control.v, end.v.v[i]);
	memory_add(b);
}
