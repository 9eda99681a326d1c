/*
 * example: example dialogues as SillyTavern sends them: blocks of named system messages behind a
 * separator line, as many whole blocks as fit (st-assembly 1.4).
 */
#include "base/utf8.h"
#include "prompt/prompt_private.h"

#define START "<START>"

/* Next <START> of any case at or after `from`. */
static size_t
find_start(struct str s, size_t from)
{
	for (size_t at = str_chr(s, '<', from); at != STR_NPOS; at = str_chr(s, '<', at + 1))
		if (str_ieq(str_sub(s, at, at + strlen(START)), STR(START)))
			return at;
	return STR_NPOS;
}

/* One speaker's lines of a block. */
struct speech {
	struct build *b;
	struct items *out;
	struct sb lines;
	bool user, bot, any;
	struct str own_name, bot_name;
};

static void
speech_end(struct speech *sp, struct str name, const char *as)
{
	struct build *b = sp->b;
	struct str text = arena_str(b->a, sb_str(&sp->lines));

	text = text_replace(b->a, text, str_c(arena_printf(b->a, "%.*s:", STR_ARG(name))), STR(""), false);
	text = utf8_trim(text);
	if (b->in->group)
		text = str_c(arena_printf(b->a, "%.*s: %.*s", STR_ARG(name), STR_ARG(text)));
	vec_push(b->a, &sp->out->v,
	    ((struct item){ .role = STR("system"), .content = text, .name = str_c(as), .flags = ITEM_EXAMPLE, .source = "dialogueExamples" }));
	sb_truncate(&sp->lines, 0);
	sp->any = false;
}

static bool
speaks(struct str line, struct str name)
{
	return str_starts(line, name) && line.n > name.n && line.p[name.n] == ':';
}

/* Is it a line of the character, or of a member of the group? That one's name stays until another of them speaks (as on the page). */
static bool
bot_speaks(struct speech *sp, struct str line)
{
	const struct build *b = sp->b;

	if (speaks(line, sp->own_name))
		return true;
	for (size_t i = 0; b->in->group && i < b->in->ncards; i++)
		if (speaks(line, b->members[i].field[MF_CHAR].text)) {
			sp->bot_name = str_sub(line, 0, str_chr(line, ':', 0));
			return true;
		}
	return false;
}

static void
block_lines(struct speech *sp, struct str block)
{
	struct str line;

	while (str_next(&block, '\n', &line)) {
		if (speaks(line, sp->b->user)) {
			if (sp->bot)
				speech_end(sp, sp->bot_name, "example_assistant");
			sp->user = true;
			sp->bot = false;
		} else if (bot_speaks(sp, line)) {
			if (sp->user)
				speech_end(sp, sp->b->user, "example_user");
			sp->bot = true;
			sp->user = false;
		}
		if (sp->any)
			sb_addc(&sp->lines, '\n');
		sb_add(&sp->lines, line);
		sp->any = true;
	}
	if (sp->user)
		speech_end(sp, sp->b->user, "example_user");
	else if (sp->bot)
		speech_end(sp, sp->bot_name, "example_assistant");
}

/* A block of messages, its tokens counted. */
struct block {
	struct items items;
	int64_t tokens;
};
struct blocks {
	VEC(struct block) v;
};

static void
blocks_read(struct build *b, struct str text, struct blocks *out)
{
	struct str s = utf8_trim(text);
	size_t at, next;

	if (s.n == 0 || str_is(s, START))
		return;
	if (!str_starts(s, STR(START)))
		s = str_c(arena_printf(b->a, START "\n%.*s", STR_ARG(s)));
	for (at = find_start(s, 0); at != STR_NPOS; at = next) {
		struct block *k = vec_add(b->a, &out->v);
		struct str own = b->in->ncards > 0 ? b->members[b->in->speaker].field[MF_CHAR].text : STR_NULL;
		struct speech sp = { .b = b, .out = &k->items, .lines = sb_new(b->a), .own_name = own, .bot_name = own };

		next = find_start(s, at + strlen(START));
		block_lines(&sp, utf8_trim(str_sub(s, at + strlen(START), next == STR_NPOS ? s.n : next)));
	}
}

static void
world_blocks(struct build *b, struct lore_strs texts, struct blocks *out)
{
	for (size_t i = 0; i < texts.n; i++)
		blocks_read(b, texts.v[i], out);
}

/* Entries of position 5 are put in front one by one, so they end up in reverse. */
static void
all_blocks(struct build *b, struct blocks *out)
{
	for (size_t i = b->lore ? b->lore->example_top.n : 0; i > 0; i--)
		blocks_read(b, b->lore->example_top.v[i - 1], out);
	blocks_read(b, b->examples, out);
	if (b->lore)
		world_blocks(b, b->lore->example_bottom, out);
}

void
example_section(struct build *b)
{
	size_t at = order_index(b, "dialogueExamples");
	struct blocks blocks = { 0 };
	struct item line;

	if (at == SIZE_MAX)
		return;
	all_blocks(b, &blocks);
	if (blocks.v.n == 0)
		return;
	line = (struct item){ .role = STR("system"), .content = text_eval(b, b->preset->new_example), .flags = ITEM_ALONE,
		.source = "newExampleChat" };
	line.tokens = item_tokens(b, &line);
	for (size_t i = 0; i < blocks.v.n; i++) {
		struct items *items = &blocks.v.v[i].items;
		int64_t tokens = line.tokens;

		for (size_t k = 0; k < items->v.n; k++)
			tokens += items->v.v[k].tokens = item_tokens(b, &items->v.v[k]);
		if (!budget_takes(b, tokens)) {
			b->examples_left = blocks.v.n - i;
			break;
		}
		vec_push(b->a, &b->sections.v[at].items.v, line);
		for (size_t k = 0; k < items->v.n; k++)
			vec_push(b->a, &b->sections.v[at].items.v, items->v.v[k]);
	}
}
