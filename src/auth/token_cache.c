/* token_cache: see token_cache.h. Sets of a few places; the one that was used longest ago gives way. */
#include "auth/token_cache.h"

#include "base/id.h"

#include <pthread.h>

enum { SETS = 64, WAYS = 4 };

struct place {
	struct digest d;
	int64_t expires;
	uint64_t used; /* 0 = free */
	uint8_t account_n;
	char account[ID_MAX];
};

struct token_cache {
	pthread_mutex_t lock;
	uint64_t clock;
	struct place sets[SETS][WAYS];
};

static void
lock_free(void *lock)
{
	pthread_mutex_destroy(lock);
}

struct token_cache *
token_cache_create(struct arena *a)
{
	struct token_cache *t = arena_new(a, struct token_cache);

	pthread_mutex_init(&t->lock, NULL);
	arena_defer(a, lock_free, &t->lock);
	return t;
}

bool
token_cache_get(struct token_cache *t, struct arena *a, const struct digest *d, int64_t now, struct str *out,
    int64_t *expires)
{
	struct place *set = t->sets[d->b[0] % SETS];
	bool hit = false;

	pthread_mutex_lock(&t->lock);
	for (int i = 0; i < WAYS && !hit; i++) {
		if (!set[i].used || memcmp(set[i].d.b, d->b, DIGEST_BYTES) != 0 || set[i].expires <= now)
			continue;
		set[i].used = ++t->clock;
		*out = arena_str(a, (struct str){ set[i].account, set[i].account_n });
		*expires = set[i].expires;
		hit = true;
	}
	pthread_mutex_unlock(&t->lock);
	return hit;
}

void
token_cache_put(struct token_cache *t, const struct digest *d, int64_t expires, struct str account)
{
	struct place *set = t->sets[d->b[0] % SETS], *to = &set[0];

	if (account.n > ID_MAX)
		return;
	pthread_mutex_lock(&t->lock);
	for (int i = 1; i < WAYS; i++)
		if (set[i].used < to->used)
			to = &set[i];
	*to = (struct place){
		.d = *d, .expires = expires, .used = ++t->clock, .account_n = (uint8_t)account.n
	};
	if (account.n > 0)
		memcpy(to->account, account.p, account.n);
	pthread_mutex_unlock(&t->lock);
}

void
token_cache_clear(struct token_cache *t)
{
	pthread_mutex_lock(&t->lock);
	memset(t->sets, 0, sizeof t->sets);
	pthread_mutex_unlock(&t->lock);
}
