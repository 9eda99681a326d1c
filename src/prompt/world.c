/*
 * world: the world-info scan of an assembly: what is looked at, and the calls it needs.
 */
#include "prompt/prompt_private.h"

#include <string.h>

static struct str
lore_expand(void *arg, struct str dialect, struct str text)
{
	struct build *b = arg;
	enum macro_dialect d = MACRO_AUTO;
	const struct macro_template *t;

	if (str_find(text, STR("{{"), 0) == STR_NPOS && str_chr(text, '<', 0) == STR_NPOS)
		return text;
	macro_dialect_parse(dialect, &d);
	t = macro_compile(b->a, text, d == MACRO_AUTO ? b->dialect : d);
	decision_text(b, t);
	return macro_eval(b->run, &(struct macro_piece){ .tpl = t, .owner = MACRO_LORE });
}

static size_t
lore_count(void *arg, struct str text)
{
	return text_tokens(arg, text);
}

static double
lore_roll(void *arg)
{
	struct build *b = arg;

	return rng_unit(&b->rng);
}

static struct str
regex_expand(void *arg, struct str text)
{
	return text_eval_raw(arg, text);
}

/* Entries go through the scripts of their own place before they are printed. */
static struct str
lore_rewrite(void *arg, struct str content, bool has_depth, int32_t depth)
{
	struct build *b = arg;
	struct regex_call call = { .place = REGEX_PLACE_LORE, .channel = REGEX_PROMPT, .has_depth = has_depth, .depth = depth,
		.expand = regex_expand, .arg = b, .budget = &b->regex_budget, .stopped = &b->regex_stopped, .memo = b->in->regex_memo };

	if (b->in->scripts == NULL || !regex_set_wants(b->in->scripts, REGEX_PLACE_LORE, REGEX_PROMPT))
		return content;
	return scripts_apply(b, content, &call, NULL);
}

static enum lore_answer
lore_decide(void *arg, struct str statement)
{
	struct macro_answer ans = decision_of(arg, statement);

	return ans.kind == MACRO_YES ? LORE_ANSWER_YES : ans.kind == MACRO_NO ? LORE_ANSWER_NO : LORE_UNANSWERED;
}

/* The books bound, and the speaker's own. */
static const struct lore_set *
set_make(struct build *b)
{
	const struct prompt_input *in = b->in;
	struct lore_bound *v = arena_array(b->a, struct lore_bound, in->nbooks + in->ncards + 1);
	size_t n = 0;

	if (!policy_takes(b, "worldbook"))
		return NULL;
	if (in->lore)
		return in->lore;
	for (size_t i = 0; i < in->nbooks; i++)
		v[n++] = in->books[i];
	if (in->speaker < in->ncards && prompt_card_book(in->cards[in->speaker]))
		v[n++] = (struct lore_bound){ prompt_card_book(in->cards[in->speaker]), LORE_CHARACTER };
	if (n == 0)
		return NULL;
	b->own_set = lore_set_compile(b->a,
	    &(struct lore_binding){ .books = v, .nbooks = n, .strategy = in->lore_strategy,
		.case_sensitive = in->lore_case, .whole_words = in->lore_words, .unicode_words = in->mode == PROMPT_NATIVE });
	return b->own_set;
}

static unsigned
sources_asked(const struct prompt_input *in)
{
	unsigned mask = 0;

	for (size_t i = 0; i < in->nbooks; i++)
		for (size_t k = 0; k < lore_book_count(in->books[i].book); k++)
			mask |= lore_book_entry(in->books[i].book, k)->sources;
	for (size_t i = 0; in->speaker < in->ncards && i < 1; i++) {
		const struct lore_book *own = prompt_card_book(in->cards[in->speaker]);

		for (size_t k = 0; own && k < lore_book_count(own); k++)
			mask |= lore_book_entry(own, k)->sources;
	}
	return mask;
}

/* Texts that an entry may ask for are evaluated only if one does (decisions 34). */
static void
sources_fill(struct build *b, struct lore_scan *scan)
{
	static const enum macro_field fields[LORE_SOURCE__COUNT] = {
		[LORE_PERSONA] = MF_PERSONA,
		[LORE_DESCRIPTION] = MF_DESCRIPTION,
		[LORE_PERSONALITY] = MF_PERSONALITY,
		[LORE_DEPTH_PROMPT] = MF_DEPTH_NOTE,
		[LORE_SCENARIO] = MF_SCENARIO,
		[LORE_CREATOR_NOTES] = MF_CREATOR_NOTES,
	};
	unsigned mask = sources_asked(b->in);

	for (int i = 0; i < LORE_SOURCE__COUNT; i++) {
		scan->sources[i] = STR("");
		if (mask & (1u << i) && (i == LORE_PERSONA || b->in->ncards > 0))
			scan->sources[i] = macro_run_field(b->run, NULL, fields[i]);
	}
}

/* Texts that stand in the chat without being messages: a note that is scanned takes the depth notes along. */
static void
injected_fill(struct build *b, struct lore_scan *scan)
{
	const struct prompt_persona *p = b->in->persona;
	struct str *v = arena_array(b->a, struct str, b->depth_notes.n + 3);

	for (size_t i = 0; b->note_set.scan && i < b->depth_notes.n; i++)
		v[scan->ninjected++] = b->depth_notes.v[i].text;
	if (b->note_set.scan && b->note_due && b->note_set.text.n > 0)
		v[scan->ninjected++] = macro_run_field(b->run, NULL, MF_AUTHORS_NOTE);
	if (p && p->place == PERSONA_AT_DEPTH && p->field[MF_PERSONA].text.n > 0 && !b->in->persona_unseen)
		v[scan->ninjected++] = macro_run_field(b->run, NULL, MF_PERSONA);
	if (marker_quiet(b).n > 0)
		v[scan->ninjected++] = b->quiet;
	scan->injected = v;
}

static struct lore_text *
texts_make(struct build *b)
{
	struct lore_text *v = arena_array(b->a, struct lore_text, b->ntold + 1);

	for (size_t i = 0; i < b->ntold; i++) {
		const struct told *t = &b->told[b->ntold - 1 - i];

		v[i] = (struct lore_text){ t->name, t->sent };
	}
	return v;
}

/* What SillyTavern calls the file of a character: its name without what a file's name must not have. */
static struct str
file_name(struct arena *a, struct str name)
{
	struct sb out = sb_new(a);
	struct str s;

	for (size_t i = 0; i < name.n; i++)
		if ((unsigned char)name.p[i] >= ' ' && strchr("/?<>\\:*|\"", name.p[i]) == NULL)
			sb_addc(&out, name.p[i]);
	s = sb_str(&out);
	while (s.n > 0 && (s.p[s.n - 1] == '.' || s.p[s.n - 1] == ' '))
		s.n--;
	return s;
}

/* A dry run scans as the turn would: the effects it finds are only stored by who commits them. */
void
world_scan(struct build *b)
{
	const struct prompt_input *in = b->in;
	const struct lore_set *set = set_make(b);
	const struct prompt_card *card = in->speaker < in->ncards ? in->cards[in->speaker] : NULL;
	struct lore_scan scan = { .nmessages = b->ntold, .chat_length = input_length(in), .trigger = str_c(prompt_type_name(in->type)),
		.max_context = b->budget, .seed = in->seed, .timers = in->lore_timers, .settings = in->lore_settings,
		.calls = { .arg = b, .expand = lore_expand, .count = lore_count, .roll = lore_roll, .rewrite = lore_rewrite, .decide = lore_decide } };
	int64_t began;

	if (set == NULL)
		return;
	scan.messages = texts_make(b);
	scan.character = card ? prompt_card_name(card) : STR("");
	scan.character_file = card ? file_name(b->a, scan.character) : STR_NULL;
	scan.has_tags = card != NULL;
	scan.tags = (struct lore_strs){ card ? card->tags : NULL, card ? card->ntags : 0 };
	sources_fill(b, &scan);
	injected_fill(b, &scan);
	began = build_watch(b);
	b->lore = lore_run(b->a, set, &scan);
	b->out->spent.lore_us += build_watch(b) - began;
	b->out->lore = b->lore;
	b->out->lore_past = lore_commit(b->a, b->lore, scan.chat_length ? scan.chat_length : (int64_t)b->ntold);
}
