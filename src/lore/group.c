/*
 * group: inclusion groups. Of the newcomers of one pass that name the same group one stays: a sticky
 * one, one of a group that nothing was taken from before, the best scored, the one with priority,
 * or the one that chance picks. SillyTavern's removals are copied with their quirk: taking out an
 * entry that is already gone takes out the last of the list instead.
 */
#include "base/utf8.h"
#include "lore/run.h"

#include <stdlib.h>

struct group {
	struct str name;
	VEC(size_t) v; /* candidates */
	bool sticky;
};

struct groups {
	struct run *r;
	struct newcomers *list;
	VEC(struct group) v;
};

static void
take_out(struct groups *g, size_t candidate)
{
	struct newcomers *list = g->list;
	size_t i = 0;

	if (list->n == 0)
		return;
	while (i < list->n && list->v[i] != candidate)
		i++;
	if (i == list->n)
		i--;
	g->r->out->verdicts[list->v[i]].why = LORE_NOT_GROUP;
	memmove(&list->v[i], &list->v[i + 1], (list->n - 1 - i) * sizeof list->v[0]);
	list->n--;
}

/* ---- making the groups ---- */

static struct group *
group_of(struct groups *g, struct str name)
{
	for (size_t i = 0; i < g->v.n; i++)
		if (str_eq(g->v.v[i].name, name))
			return &g->v.v[i];
	vec_push(g->r->a, &g->v, ((struct group){ .name = name }));
	return vec_last(&g->v);
}

/* Names stand between commas; blanks behind a comma do not belong to them. */
static void
add_names(struct groups *g, size_t candidate)
{
	struct str rest = g->r->set->v[candidate].e->src.group;

	while (rest.n > 0) {
		size_t comma = str_chr(rest, ',', 0);
		struct str name = str_sub(rest, 0, comma),
			   after = comma == STR_NPOS ? STR("") : str_sub(rest, comma + 1, rest.n);
		struct group *group;

		if (name.n > 0) {
			group = group_of(g, name);
			vec_push(g->r->a, &group->v, candidate);
		}
		while (after.n > 0 && utf8_trim(str_sub(after, 0, 1)).n == 0)
			after = str_sub(after, 1, after.n);
		rest = after;
	}
}

/* JavaScript walks members with names that are array indexes first, in order of number. */
static bool
array_index(struct str s, int64_t *out)
{
	return s.n > 0 && s.n <= 10 && (s.p[0] != '0' || s.n == 1) && s.p[0] >= '0' && s.p[0] <= '9' &&
	       str_int(s, out) && *out < UINT32_MAX;
}

static void
order_groups(struct groups *g)
{
	int64_t x, y;

	for (size_t i = 1; i < g->v.n; i++)
		for (size_t j = i; j > 0; j--) {
			struct group *p = &g->v.v[j - 1], *q = &g->v.v[j], swap = *p;

			if (!array_index(q->name, &y) || (array_index(p->name, &x) && x <= y))
				break;
			*p = *q;
			*q = swap;
		}
}

/* ---- filters ---- */

static void
by_timers(struct groups *g)
{
	const struct timed *t = &g->r->timed;

	for (size_t i = 0; i < g->v.n; i++) {
		struct group *group = &g->v.v[i];

		for (size_t j = 0; j < group->v.n; j++)
			group->sticky = group->sticky || t->sticky[group->v.v[j]];
		for (size_t j = 0; group->sticky && j < group->v.n; j++)
			if (!t->sticky[group->v.v[j]])
				take_out(g, group->v.v[j]);
		for (size_t j = 0; j < group->v.n; j++)
			if (t->cooldown[group->v.v[j]])
				take_out(g, group->v.v[j]);
	}
}

static int32_t
found_keys(struct run *r, size_t candidate, bool secondary)
{
	const struct candidate *c = &r->set->v[candidate];
	const struct book_keys *keys = secondary ? &c->e->secondary : &c->e->keys;
	int32_t n = 0;

	for (size_t i = 0; i < keys->n; i++) {
		struct test_key k = run_key(r, candidate, secondary, i);

		n += scan_score(&r->scan, c, &keys->v[i], &k, run_view(r, c));
	}
	return n;
}

static int32_t
score(struct run *r, size_t candidate)
{
	const struct candidate *c = &r->set->v[candidate];
	int32_t primary, secondary;

	if (c->e->keys.n == 0)
		return 0;
	primary = found_keys(r, candidate, false);
	if (c->e->secondary.n == 0 || (c->e->src.logic != LORE_AND_ANY && c->e->src.logic != LORE_AND_ALL))
		return primary;
	secondary = found_keys(r, candidate, true);
	if (c->e->src.logic == LORE_AND_ALL && (size_t)secondary < c->e->secondary.n)
		return primary;
	return primary + secondary;
}

static bool
is_scored(const struct run *r, size_t candidate)
{
	enum lore_tri t = r->set->v[candidate].e->src.group_scoring;

	return t == LORE_UNSET ? r->in->settings.group_scoring : t == LORE_YES;
}

static void
by_score(struct groups *g, struct group *group)
{
	struct run *r = g->r;
	bool wanted = r->in->settings.group_scoring;
	int32_t best = INT32_MIN;
	size_t kept = 0;

	for (size_t i = 0; i < group->v.n; i++)
		wanted = wanted || r->set->v[group->v.v[i]].e->src.group_scoring == LORE_YES;
	if (!wanted || group->sticky)
		return;
	for (size_t i = 0; i < group->v.n; i++) {
		int32_t s = score(r, group->v.v[i]);

		r->out->verdicts[group->v.v[i]].score = s;
		best = s > best ? s : best;
	}
	for (size_t i = 0; i < group->v.n; i++) {
		size_t c = group->v.v[i];

		if (is_scored(r, c) && r->out->verdicts[c].score < best)
			take_out(g, c);
		else
			group->v.v[kept++] = c;
	}
	group->v.n = kept;
}

static bool
taken_before(const struct run *r, struct str name)
{
	for (size_t i = 0; i < r->active.n; i++)
		if (str_eq(r->set->v[r->active.v[i]].e->src.group, name))
			return true;
	return false;
}

static void
take_out_all_but(struct groups *g, const struct group *group, size_t chosen)
{
	for (size_t i = 0; i < group->v.n; i++)
		if (group->v.v[i] != chosen)
			take_out(g, group->v.v[i]);
}

/* The first of those with the highest order; SIZE_MAX if none has priority. */
static size_t
with_priority(const struct run *r, const struct group *group)
{
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < group->v.n; i++) {
		const struct lore_entry *e = &r->set->v[group->v.v[i]].e->src;

		if (e->group_override && (best == SIZE_MAX || e->order > r->set->v[best].e->src.order))
			best = group->v.v[i];
	}
	return best;
}

static size_t
by_chance(struct run *r, const struct group *group)
{
	double total = 0, sum = 0, roll;

	for (size_t i = 0; i < group->v.n; i++)
		total += r->set->v[group->v.v[i]].e->src.group_weight;
	roll = run_roll(r) * total;
	for (size_t i = 0; i < group->v.n; i++) {
		sum += r->set->v[group->v.v[i]].e->src.group_weight;
		if (roll <= sum)
			return group->v.v[i];
	}
	return SIZE_MAX;
}

static void
by_choice(struct groups *g, const struct group *group)
{
	size_t chosen;

	if (group->sticky)
		return;
	if (taken_before(g->r, group->name)) {
		take_out_all_but(g, group, SIZE_MAX);
		return;
	}
	if (group->v.n <= 1)
		return;
	chosen = with_priority(g->r, group);
	if (chosen == SIZE_MAX)
		chosen = by_chance(g->r, group);
	if (chosen != SIZE_MAX)
		take_out_all_but(g, group, chosen);
}

void
groups_filter(struct run *r, struct newcomers *list)
{
	struct groups g = { .r = r, .list = list };

	for (size_t i = 0; i < list->n; i++)
		if (r->set->v[list->v[i]].e->src.group.n > 0)
			add_names(&g, list->v[i]);
	order_groups(&g);
	by_timers(&g);
	for (size_t i = 0; i < g.v.n; i++)
		by_score(&g, &g.v.v[i]);
	for (size_t i = 0; i < g.v.n; i++)
		by_choice(&g, &g.v.v[i]);
}
