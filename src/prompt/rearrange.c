/*
 * rearrange: native blocks laid out by the nodes of a preset (spec tomori-presets 10): the walk, then
 * the budget over the history, then the depth texts. Without nodes, and when the user is
 * impersonated, it is the native pipeline.
 */
#include "prompt/arrange.h"
#include "prompt/prompt_private.h"

struct blocks {
	VEC(struct arrange_item) v;
	struct items tail;          /* after everything: found lore, the card's last word */
};

static void
block_add(struct build *b, struct blocks *k, enum arrange_tag tag, const char *role, struct str text)
{
	struct arrange_item it = { .role = role, .tag = tag };

	if (text_blank(text))
		return;
	vec_push(b->a, &it.parts, text);
	vec_push(b->a, &k->v, it);
}

static void
tail_add(struct build *b, struct blocks *k, const char *source, struct str text)
{
	struct item it = { .role = STR("system"), .content = text, .source = source };

	if (text_blank(text))
		return;
	it.tokens = item_tokens(b, &it);
	budget_must(b, it.tokens);
	vec_push(b->a, &k->tail.v, it);
}

/* Lore that is always on stands in its group; what the chat brought up goes to the tail. */
static void
lore_add(struct build *b, struct blocks *k)
{
	const struct lore_result *r = b->lore;

	for (size_t i = 0; r && i < r->nactive; i++) {
		const struct lore_active *e = &r->active[r->printed[i]];
		bool always = r->verdicts[e->candidate].why == LORE_BY_CONSTANT;

		if (e->entry->position == LORE_OUTLET)
			continue;
		if (always && e->entry->position == LORE_BEFORE)
			block_add(b, k, TAG_LORE_BEFORE, "system", e->text);
		else if (always && e->entry->position == LORE_AFTER)
			block_add(b, k, TAG_LORE_AFTER, "system", e->text);
		else
			tail_add(b, k, "worldInfo", e->text);
	}
}

/* The session's or card's system prompt and the author's note: one item, since a main marker takes no more. */
static struct str
channel_text(struct build *b)
{
	struct str system = native_block(b, "cardSystemPrompt");

	if (text_blank(system) || text_blank(b->note))
		return text_blank(system) ? b->note : system;
	return str_c(arena_printf(b->a, "%.*s\n\n%.*s", STR_ARG(system), STR_ARG(b->note)));
}

/* The native list, in its own order. */
static void
blocks_make(struct build *b, struct blocks *k)
{
	block_add(b, k, TAG_CHANNEL_PROMPT, "system", channel_text(b));
	block_add(b, k, TAG_PERSONA_PROMPT, "system", native_block(b, "charDescription"));
	block_add(b, k, TAG_PERSONALITY, "system", native_block(b, "charPersonality"));
	block_add(b, k, TAG_PERSONALITY, "system", native_block(b, "scenario"));
	block_add(b, k, TAG_USERS, "system", native_block(b, "personaDescription"));
	block_add(b, k, TAG_SHORT_TERM_MEMORY, "system", native_block(b, "memorySummary"));
	lore_add(b, k);
	block_add(b, k, TAG_SAMPLE, "system", native_block(b, "dialogueExamples"));
	for (size_t i = 0; i < b->depth_notes.n; i++)
		tail_add(b, k, "depthNote", b->depth_notes.v[i].text);
	tail_add(b, k, "postHistoryInstructions", native_block(b, "postHistoryInstructions"));
}

/* The chat, oldest first, behind the other blocks; the index of its first item is returned. */
static size_t
history_add(struct build *b, struct blocks *k, struct items *chat)
{
	struct lines lines = { 0 };
	size_t first = k->v.n;

	history_lines(b, &lines);
	for (size_t i = lines.v.n; i > 0; i--)
		history_take_one(b, &lines.v.v[i - 1], chat);
	for (size_t i = 0; i < chat->v.n; i++) {
		struct arrange_item it = { .role = arena_strdup(b->a, chat->v.v[i].role), .tag = TAG_HISTORY };

		vec_push(b->a, &it.parts, chat->v.v[i].content);
		vec_push(b->a, &k->v, it);
	}
	return first;
}

static struct str
parts_join(struct build *b, const struct arrange_item *it)
{
	struct sb out = sb_new(b->a);

	if (it->parts.n == 1)
		return it->parts.v[0];
	for (size_t i = 0; i < it->parts.n; i++)
		sb_add(&out, it->parts.v[i]);
	return sb_str(&out);
}

/* What must stay is spent first, depth texts too; then the newest history that fits. */
static void
cut(struct build *b, struct arranged *r, const struct items *chat, size_t first)
{
	struct arrange_items kept = { 0 };
	size_t keep_from = SIZE_MAX;

	for (size_t i = 0; i < r->items.v.n; i++)
		if (r->items.v.v[i].tag != TAG_HISTORY)
			budget_must(b, (int64_t)text_tokens(b, parts_join(b, &r->items.v.v[i])) + b->in->tokens_per_message);
	for (size_t i = 0; i < r->depth.n; i++)
		budget_must(b, (int64_t)text_tokens(b, r->depth.v[i].text));
	for (size_t i = chat->v.n; i > 0; i--) {
		if (!budget_takes(b, chat->v.v[i - 1].tokens)) {
			b->refused |= i == chat->v.n;
			break;
		}
		keep_from = first + i - 1;
		b->taken++;
	}
	for (size_t i = 0; i < r->items.v.n; i++)
		if (r->items.v.v[i].tag != TAG_HISTORY || r->items.v.v[i].from >= keep_from)
			vec_push(b->a, &kept.v, r->items.v.v[i]);
	r->items = kept;
}

static void
sections_put(struct build *b, const struct arranged *r, const struct items *chat, size_t first)
{
	for (size_t i = 0; i < r->items.v.n; i++) {
		const struct arrange_item *it = &r->items.v.v[i];
		struct section *s = vec_add(b->a, &b->sections);
		struct item out = { .role = str_c(it->role), .content = parts_join(b, it) };

		s->source = it->identifier.p ? arena_strdup(b->a, it->identifier) : it->tag == TAG_NONE ? "native" : arrange_tag_name(it->tag);
		s->identifier = str_c(s->source);
		out.source = s->source;
		if (it->tag == TAG_HISTORY) {
			out.source = "chatHistory";
			out.name = chat->v.v[it->from - first].name;
			out.message_no = chat->v.v[it->from - first].message_no;
		}
		out.tokens = item_tokens(b, &out);
		vec_push(b->a, &s->items.v, out);
	}
}

void
rearrange_build(struct build *b)
{
	const struct arrange_import *nodes = &b->preset->nodes;
	struct arrange_input in = { .nodes = nodes->nodes.v, .nnodes = nodes->nodes.n };
	struct blocks k = { 0 };
	struct items chat = { 0 };
	size_t first;

	if (b->in->preset == NULL || b->in->type == PROMPT_IMPERSONATE) {
		plain_build(b); /* native order: who speaks as the user is not told by a preset */
		return;
	}
	if (nodes->status != ARRANGE_OK) {
		native_build(b);
		return;
	}
	b->note_due = marker_note_is_due(b);
	marker_depth_notes(b);
	world_scan(b);
	native_note(b);
	blocks_make(b, &k);
	first = history_add(b, &k, &chat);
	in.native = k.v.v;
	in.nnative = k.v.n;
	b->arranged = arrange(b->a, b->run, &in);
	native_control(b);
	cut(b, b->arranged, &chat, first);
	arrange_merge(b->a, b->arranged);
	sections_put(b, b->arranged, &chat, first);
	for (size_t i = 0; i < b->control.v.n; i++)
		vec_push(b->a, &k.tail.v, b->control.v.v[i]);
	b->control = k.tail;
}
