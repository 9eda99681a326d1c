#include "turn/asset_cache.h"

#include "base/map.h"

#include <pthread.h>
#include <stdlib.h>

#define BUCKETS 1024

struct entry {
	enum cached_kind kind;
	uint64_t key;
	struct arena *own;
	const void *obj;
	size_t bytes;
	unsigned held;
	bool gone;               /* out of the table, freed by the last holder */
	struct asset_cache *cache;
	struct entry *chain;     /* same bucket */
	struct entry *older, *newer;
};

struct asset_cache {
	pthread_mutex_t lock;
	size_t max, bytes, entries;
	uint64_t hits, misses;
	struct entry *bucket[BUCKETS];
	struct entry *oldest, *newest;
};

struct asset_cache *
asset_cache_create(struct arena *a, size_t bytes)
{
	struct asset_cache *k = arena_new(a, struct asset_cache);

	pthread_mutex_init(&k->lock, NULL);
	k->max = bytes;
	return k;
}

static struct entry **
slot(struct asset_cache *k, enum cached_kind kind, uint64_t key)
{
	uint64_t parts[2] = { kind, key };
	struct entry **at = &k->bucket[hash_bytes(0, parts, sizeof(parts)) % BUCKETS];

	while (*at && ((*at)->key != key || (*at)->kind != kind))
		at = &(*at)->chain;
	return at;
}

static void
unlink_age(struct asset_cache *k, struct entry *e)
{
	*(e->older ? &e->older->newer : &k->oldest) = e->newer;
	*(e->newer ? &e->newer->older : &k->newest) = e->older;
	e->older = e->newer = NULL;
}

static void
link_newest(struct asset_cache *k, struct entry *e)
{
	e->older = k->newest;
	e->newer = NULL;
	*(k->newest ? &k->newest->newer : &k->oldest) = e;
	k->newest = e;
}

static void
entry_free(struct entry *e)
{
	arena_destroy(&e->own);
	free(e);
}

static void
drop(struct asset_cache *k, struct entry *e)
{
	struct entry **at = slot(k, e->kind, e->key);

	*at = e->chain;
	unlink_age(k, e);
	k->bytes -= e->bytes;
	k->entries--;
	e->gone = true;
	if (e->held == 0)
		entry_free(e);
}

static void
release(void *arg)
{
	struct entry *e = arg;
	struct asset_cache *k = e->cache;

	pthread_mutex_lock(&k->lock);
	if (--e->held == 0 && e->gone)
		entry_free(e);
	pthread_mutex_unlock(&k->lock);
}

/* With the lock. */
static const void *
hold(struct ctx *c, struct entry *e)
{
	e->held++;
	arena_defer(c->a, release, e);
	unlink_age(e->cache, e);
	link_newest(e->cache, e);
	return e->obj;
}

void
asset_cache_destroy(struct asset_cache *k)
{
	while (k->oldest)
		drop(k, k->oldest);
	pthread_mutex_destroy(&k->lock);
}

const void *
asset_cache_get(struct asset_cache *k, struct ctx *c, enum cached_kind kind, uint64_t key)
{
	struct entry *e;
	const void *obj = NULL;

	pthread_mutex_lock(&k->lock);
	e = *slot(k, kind, key);
	if (e) {
		k->hits++;
		obj = hold(c, e);
	} else
		k->misses++;
	pthread_mutex_unlock(&k->lock);
	return obj;
}

const void *
asset_cache_add(
    struct asset_cache *k, struct ctx *c, enum cached_kind kind, uint64_t key, struct arena *own, const void *obj, size_t outside)
{
	struct entry *e, **at;
	const void *kept;

	pthread_mutex_lock(&k->lock);
	at = slot(k, kind, key);
	if (*at) {
		arena_destroy(&own);
		kept = hold(c, *at);
		pthread_mutex_unlock(&k->lock);
		return kept;
	}
	e = calloc(1, sizeof(*e));
	if (e == NULL)
		abort();
	*e = (struct entry){ .kind = kind, .key = key, .own = own, .obj = obj, .cache = k, .bytes = arena_bytes(own) + outside + sizeof(*e) };
	*at = e;
	link_newest(k, e);
	k->bytes += e->bytes;
	k->entries++;
	kept = hold(c, e);
	while (k->bytes > k->max && k->oldest != e)
		drop(k, k->oldest);
	pthread_mutex_unlock(&k->lock);
	return kept;
}

void
asset_cache_stats(struct asset_cache *k, struct asset_cache_stats *out)
{
	pthread_mutex_lock(&k->lock);
	*out = (struct asset_cache_stats){ k->entries, k->bytes, k->hits, k->misses };
	pthread_mutex_unlock(&k->lock);
}
