/*
 * timed: effects are kept by book and number and carry the entry's hash; one whose entry was edited
 * no longer touches it and goes when its time is over. Units are messages of the chat.
 */
#include "lore/timed.h"

struct timed
timed_new(struct arena *a, const struct lore_set *set, struct lore_timers from)
{
	struct timed t = { .a = a, .set = set };

	t.sticky = arena_array(a, bool, set->n + 1);
	t.cooldown = arena_array(a, bool, set->n + 1);
	for (size_t i = 0; i < from.n; i++)
		vec_push(a, &t.v, from.v[i]);
	return t;
}

static size_t
candidate_of(const struct timed *t, struct str book, int64_t uid, uint64_t hash)
{
	for (size_t i = 0; i < t->set->n; i++)
		if (t->set->v[i].e->hash == hash && t->set->v[i].e->src.uid == uid &&
		    str_eq(t->set->v[i].book->name, book))
			return i;
	return SIZE_MAX;
}

static size_t
timer_of(const struct timed *t, struct str book, int64_t uid, enum lore_effect effect)
{
	for (size_t i = 0; i < t->v.n; i++)
		if (t->v.v[i].effect == effect && t->v.v[i].uid == uid && str_eq(t->v.v[i].book, book))
			return i;
	return SIZE_MAX;
}

static int32_t
length_of(const struct lore_entry *e, enum lore_effect effect)
{
	return effect == LORE_STICKY ? e->sticky : e->cooldown;
}

static void
timer_put(struct timed *t, size_t candidate, enum lore_effect effect, int64_t messages, bool is_protected)
{
	const struct candidate *c = &t->set->v[candidate];
	size_t i = timer_of(t, c->book->name, c->e->src.uid, effect);
	struct lore_timer timer = { .book = c->book->name,
		.uid = c->e->src.uid,
		.hash = c->e->hash,
		.effect = effect,
		.start = messages,
		.end = messages + length_of(&c->e->src, effect),
		.is_protected = is_protected };

	if (i == SIZE_MAX)
		vec_push(t->a, &t->v, timer);
	else
		t->v.v[i] = timer;
}

/* Does the timer stay? Marks the entry if it runs. */
static bool
timer_check(struct timed *t, struct lore_timer timer, int64_t messages)
{
	size_t i = candidate_of(t, timer.book, timer.uid, timer.hash);

	if (messages <= timer.start && !timer.is_protected)
		return false; /* the chat did not advance: the scan that set it is being repeated */
	if (i == SIZE_MAX)
		return messages < timer.end;
	if (length_of(&t->set->v[i].e->src, timer.effect) <= 0)
		return false;
	if (messages < timer.end) {
		(timer.effect == LORE_STICKY ? t->sticky : t->cooldown)[i] = true;
		return true;
	}
	if (timer.effect == LORE_STICKY && t->set->v[i].e->src.cooldown > 0) {
		timer_put(t, i, LORE_COOLDOWN, messages, true);
		t->cooldown[i] = true;
	}
	return false;
}

void
timed_check(struct timed *t, int64_t messages)
{
	memset(t->sticky, 0, t->set->n * sizeof *t->sticky);
	memset(t->cooldown, 0, t->set->n * sizeof *t->cooldown);
	for (int effect = LORE_STICKY; effect <= LORE_COOLDOWN; effect++)
		for (size_t i = 0; i < t->v.n;) {
			struct lore_timer timer = t->v.v[i];

			if ((int)timer.effect != effect || timer_check(t, timer, messages)) {
				i++;
				continue;
			}
			memmove(&t->v.v[i], &t->v.v[i + 1], (t->v.n - 1 - i) * sizeof t->v.v[0]);
			t->v.n--;
		}
}

void
timed_start(struct timed *t, size_t candidate, int64_t messages, bool *sticky_began, bool *cooldown_began)
{
	const struct candidate *c = &t->set->v[candidate];

	*sticky_began =
	    c->e->src.sticky > 0 && timer_of(t, c->book->name, c->e->src.uid, LORE_STICKY) == SIZE_MAX;
	*cooldown_began =
	    c->e->src.cooldown > 0 && timer_of(t, c->book->name, c->e->src.uid, LORE_COOLDOWN) == SIZE_MAX;
	if (*sticky_began)
		timer_put(t, candidate, LORE_STICKY, messages, false);
	if (*cooldown_began)
		timer_put(t, candidate, LORE_COOLDOWN, messages, false);
}

struct lore_timers
lore_timers_replay(struct arena *a, const struct lore_set *s, const struct lore_past *floors, size_t n)
{
	struct timed t = timed_new(a, s, (struct lore_timers){ 0 });

	for (size_t i = 0; i < n; i++) {
		timed_check(&t, floors[i].messages);
		for (size_t j = 0; j < floors[i].n; j++) {
			const struct lore_past_entry *e = &floors[i].v[j];
			size_t c = e->sticky_began || e->cooldown_began
				       ? candidate_of(&t, e->book, e->uid, e->hash)
				       : SIZE_MAX;

			if (c != SIZE_MAX && e->sticky_began && s->v[c].e->src.sticky > 0)
				timer_put(&t, c, LORE_STICKY, floors[i].messages, false);
			if (c != SIZE_MAX && e->cooldown_began && s->v[c].e->src.cooldown > 0)
				timer_put(&t, c, LORE_COOLDOWN, floors[i].messages, false);
		}
	}
	return (struct lore_timers){ t.v.v, t.v.n };
}
