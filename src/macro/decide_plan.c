/*
 * decide_plan: merges equal statements of a turn and cuts the list at the budget.
 */
#include "macro/decide.h"
#include "macro/macro_private.h"

#include "base/rng.h"

static uint64_t
key_hash_of(const struct macro_statement *s)
{
	return hash_bytes(hash_seed() ^ s->choice, s->text.p, s->text.n);
}

static void
merge_options(struct arena *a, struct macro_statement *into, const struct macro_statement *from)
{
	for (size_t k = 0; k < from->options.n; k++) {
		const struct macro_option *o = &from->options.v[k];
		size_t i = 0;

		while (i < into->options.n && !str_ieq(into->options.v[i].name, o->name))
			i++;
		if (i == into->options.n)
			vec_push(a, &into->options, *o);
		else if (!into->options.v[i].criteria.p)
			into->options.v[i].criteria = o->criteria;
	}
}

static void
merge(struct arena *a, struct macro_statement *into, const struct macro_statement *from)
{
	if (from->sticky > into->sticky)
		into->sticky = from->sticky;
	if (from->cooldown > into->cooldown)
		into->cooldown = from->cooldown;
	if (from->every && (!into->every || from->every < into->every))
		into->every = from->every;
	if (from->priority > into->priority)
		into->priority = from->priority;
	if (!into->lasts && from->lasts) {
		into->lasts = from->lasts;
		into->lasts_or = from->lasts_or;
		into->lasts_text = from->lasts_text;
	}
	merge_options(a, into, from);
}

/* Equal statements as one, in order of their first place. */
void
statements_merge(struct arena *a, const struct macro_statements *in, struct macro_statements *out)
{
	uint32_t size = 16, *slots;

	while (size < in->v.n * 2)
		size *= 2;
	slots = arena_array(a, uint32_t, size);
	for (size_t i = 0; i < in->v.n; i++) {
		const struct macro_statement *s = &in->v.v[i];
		uint32_t at = (uint32_t)key_hash_of(s) & (size - 1);

		while (slots[at] && !(out->v.v[slots[at] - 1].choice == s->choice &&
					str_eq(out->v.v[slots[at] - 1].text, s->text)))
			at = (at + 1) & (size - 1);
		if (slots[at]) {
			merge(a, &out->v.v[slots[at] - 1], s);
			continue;
		}
		vec_push(a, &out->v, *s);
		vec_last(&out->v)->options.v = NULL;
		vec_last(&out->v)->options.n = vec_last(&out->v)->options.cap = 0;
		merge_options(a, vec_last(&out->v), s);
		slots[at] = (uint32_t)out->v.n;
	}
}

void
macro_statements_plan(struct arena *a, const struct macro_statements *in, unsigned limit,
    struct macro_statements *ask, struct macro_statements *dropped)
{
	struct macro_statements merged = { 0 };

	statements_merge(a, in, &merged);
	for (size_t i = 0; i < merged.v.n; i++)
		if (merged.v.v[i].lasts && !merged.v.v[i].sticky)
			merged.v.v[i].lasts_or = true; /* without sticky the second statement alone decides */
	for (int priority = MACRO_PRIORITY_HIGH; priority >= MACRO_PRIORITY_LOW; priority--)
		for (size_t i = 0; i < merged.v.n; i++) {
			const struct macro_statement *s = &merged.v.v[i];

			if ((int)s->priority != priority || (s->choice && !s->options.n))
				continue;
			if (ask->v.n < limit)
				vec_push(a, &ask->v, *s);
			else if (dropped)
				vec_push(a, &dropped->v, *s);
		}
}
