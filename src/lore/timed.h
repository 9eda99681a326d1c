/* timed (private to lore): sticky and cooldown of a chat, as they run from scan to scan. */
#ifndef LORE_TIMED_H
#define LORE_TIMED_H

#include "lore/lore_private.h"

struct timed {
	struct arena *a;
	const struct lore_set *set;
	VEC(struct lore_timer) v;
	bool *sticky, *cooldown; /* [candidates]: runs now */
};

struct timed timed_new(struct arena *a, const struct lore_set *set, struct lore_timers from);
/* A scan at that chat length begins: what ended goes, what runs is marked. */
void timed_check(struct timed *t, int64_t messages);
/* The candidate was activated; true in *_began if that started an effect. */
void timed_start(
    struct timed *t, size_t candidate, int64_t messages, bool *sticky_began, bool *cooldown_began);

#endif
