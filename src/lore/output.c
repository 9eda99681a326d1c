/*
 * output: what is printed of the activated entries, in SillyTavern's order: a higher order stands
 * lower, of equals the later activated stands higher; outlets run the other way.
 */
#include "lore/run.h"

#include <stdlib.h>

static const char *const why_names[LORE_WHY__COUNT] = {
	[LORE_BY_KEY] = "key",
	[LORE_BY_CONSTANT] = "constant",
	[LORE_BY_STICKY] = "sticky",
	[LORE_BY_DECORATOR] = "decorator",
	[LORE_BY_FORCE] = "forced",
	[LORE_BY_DECISION] = "decision",
	[LORE_NOT_DISABLED] = "not_enabled",
	[LORE_NOT_TRIGGER] = "not_trigger",
	[LORE_NOT_CHARACTER] = "not_character",
	[LORE_NOT_TAG] = "not_tag",
	[LORE_NOT_DELAY] = "not_delay",
	[LORE_NOT_COOLDOWN] = "not_cooldown",
	[LORE_NOT_RECURSED] = "not_recursed",
	[LORE_NOT_IN_RECURSION] = "not_in_recursion",
	[LORE_NOT_DECORATOR] = "not_decorator",
	[LORE_NOT_KEYLESS] = "not_keyless",
	[LORE_NOT_KEY] = "not_key",
	[LORE_NOT_LOGIC] = "not_logic",
	[LORE_NOT_DECISION] = "not_decision",
	[LORE_NOT_ANSWERED] = "not_answered",
	[LORE_NOT_GROUP] = "not_group",
	[LORE_NOT_PROBABILITY] = "not_probability",
	[LORE_NOT_BUDGET] = "not_budget",
	[LORE_NOT_DUPLICATE] = "not_duplicate",
};

const char *
lore_why_name(enum lore_why w)
{
	return why_names[w];
}

bool
lore_why_is_on(enum lore_why w)
{
	return w <= LORE_BY_DECISION;
}

const char *
lore_place_name(enum lore_place p)
{
	static const char *const names[] = { "nothing", "message", "source", "injected", "recursion" };

	return names[p];
}

static int
printed_cmp(const void *x, const void *y, void *arg)
{
	const struct lore_active *active = arg;
	size_t i = *(const size_t *)x, j = *(const size_t *)y;
	double p = active[i].entry->order, q = active[j].entry->order;

	return p < q ? -1 : p > q ? 1 : i > j ? -1 : i < j;
}

static int32_t
depth_of(const struct lore_entry *e)
{
	return e->position == LORE_DEPTH ? e->depth : 0;
}

static void
texts_make(struct run *r)
{
	struct lore_result *out = r->out;

	out->printed = arena_array(r->a, size_t, out->nactive + 1);
	for (size_t i = 0; i < out->nactive; i++)
		out->printed[i] = i;
	qsort_r(out->printed, out->nactive, sizeof *out->printed, printed_cmp, out->active);
	for (size_t i = out->nactive; i > 0; i--) { /* scripts ran in this order, high order first */
		struct lore_active *act = &out->active[out->printed[i - 1]];
		bool deep = act->entry->position == LORE_DEPTH;

		act->text = act->content;
		if (r->in->calls.rewrite != NULL)
			act->text =
			    r->in->calls.rewrite(r->in->calls.arg, act->content, deep, depth_of(act->entry));
	}
}

/* Every printed text of a position, low order first. */
static struct lore_strs
list_of(const struct run *r, enum lore_position position)
{
	VEC(struct str) list = { 0 };

	for (size_t i = 0; i < r->out->nactive; i++) {
		const struct lore_active *act = &r->out->active[r->out->printed[i]];

		if (act->entry->position == position && act->text.n > 0)
			vec_push(r->a, &list, act->text);
	}
	return (struct lore_strs){ list.v, list.n };
}

static struct str
join(struct arena *a, struct lore_strs v, bool backwards)
{
	struct sb out = sb_new(a);

	for (size_t i = 0; i < v.n; i++) {
		if (i > 0)
			sb_addc(&out, '\n');
		sb_add(&out, v.v[backwards ? v.n - 1 - i : i]);
	}
	return sb_str(&out);
}

/* Texts that belong together: of one depth and role, or of one outlet. */
struct pile {
	const struct lore_entry *of;
	VEC(struct str) text;
};

struct piles {
	VEC(struct pile) v;
};

static bool
same_pile(const struct lore_entry *x, const struct lore_entry *y)
{
	if (x->position == LORE_OUTLET)
		return str_eq(x->outlet, y->outlet);
	return x->depth == y->depth && x->role == y->role;
}

/* In the order in which they come up, from high order to low; so are their texts. */
static struct piles
piles_of(struct run *r, enum lore_position position)
{
	struct piles piles = { 0 };

	for (size_t i = r->out->nactive; i > 0; i--) {
		const struct lore_active *act = &r->out->active[r->out->printed[i - 1]];
		size_t j = 0;

		if (act->entry->position != position || act->text.n == 0)
			continue;
		while (j < piles.v.n && !same_pile(piles.v.v[j].of, act->entry))
			j++;
		if (j == piles.v.n)
			vec_push(r->a, &piles.v, ((struct pile){ .of = act->entry }));
		vec_push(r->a, &piles.v.v[j].text, act->text);
	}
	return piles;
}

static void
depths_make(struct run *r)
{
	struct piles p = piles_of(r, LORE_DEPTH);

	r->out->depths = arena_array(r->a, struct lore_depth, p.v.n + 1);
	for (size_t i = 0; i < p.v.n; i++) {
		struct lore_strs texts = { p.v.v[i].text.v, p.v.v[i].text.n };

		r->out->depths[r->out->ndepths++] =
		    (struct lore_depth){ p.v.v[i].of->depth, p.v.v[i].of->role, join(r->a, texts, true) };
	}
}

/* An outlet without a name is never printed. */
static void
outlets_make(struct run *r)
{
	struct piles p = piles_of(r, LORE_OUTLET);

	r->out->outlets = arena_array(r->a, struct lore_outlet, p.v.n + 1);
	for (size_t i = 0; i < p.v.n; i++) {
		struct lore_strs texts = { p.v.v[i].text.v, p.v.v[i].text.n };

		if (p.v.v[i].of->outlet.n > 0)
			r->out->outlets[r->out->noutlets++] =
			    (struct lore_outlet){ p.v.v[i].of->outlet, join(r->a, texts, false) };
	}
}

void
output_make(struct run *r)
{
	struct lore_result *out = r->out;

	texts_make(r);
	out->before = join(r->a, list_of(r, LORE_BEFORE), false);
	out->after = join(r->a, list_of(r, LORE_AFTER), false);
	out->note_top = list_of(r, LORE_NOTE_TOP);
	out->note_bottom = list_of(r, LORE_NOTE_BOTTOM);
	out->example_top = list_of(r, LORE_EXAMPLE_TOP);
	out->example_bottom = list_of(r, LORE_EXAMPLE_BOTTOM);
	depths_make(r);
	outlets_make(r);
}

struct str
lore_note(struct arena *a, const struct lore_result *r, struct str note)
{
	struct sb out = sb_new(a);
	struct str s;

	sb_add(&out, join(a, r->note_top, false));
	sb_addc(&out, '\n');
	sb_add(&out, note);
	sb_addc(&out, '\n');
	sb_add(&out, join(a, r->note_bottom, false));
	s = sb_str(&out);
	if (s.p[0] == '\n')
		s = str_sub(s, 1, s.n);
	if (s.n > 0 && s.p[s.n - 1] == '\n')
		s.n--;
	return s;
}

struct lore_past
lore_commit(struct arena *a, const struct lore_result *r, int64_t messages)
{
	struct lore_past_entry *v = arena_array(a, struct lore_past_entry, r->nactive + 1);

	for (size_t i = 0; i < r->nactive; i++) {
		const struct lore_active *act = &r->active[i];

		v[i] = (struct lore_past_entry){ .book = lore_book_name(act->book),
			.uid = act->entry->uid,
			.hash = act->hash,
			.sticky_began = act->sticky_began,
			.cooldown_began = act->cooldown_began };
	}
	return (struct lore_past){ messages, v, r->nactive };
}
