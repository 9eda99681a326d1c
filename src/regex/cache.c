/* cache: see cache.h. Round robin over a fixed number of slots; each slot owns an arena. */
#include "regex/cache.h"

#include "base/map.h"

#include <pthread.h>
#include <stdlib.h>

enum { SLOTS = 64, SLOT_BYTES = 256 << 10 };

struct slot {
	struct arena *a;
	struct str pattern;
	int flags;
	uint64_t hash;
	const struct regex *re;
	const char *what;
};

struct cache {
	struct slot slot[SLOTS];
	size_t next;
};

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
cache_free(void *p)
{
	struct cache *c = p;

	for (size_t i = 0; i < SLOTS; i++)
		if (c->slot[i].a != NULL)
			arena_destroy(&c->slot[i].a);
	free(c);
}

static void
key_make(void)
{
	if (pthread_key_create(&key, cache_free) != 0)
		abort();
}

static struct cache *
cache_get(void)
{
	struct cache *c;

	pthread_once(&once, key_make);
	c = pthread_getspecific(key);
	if (c == NULL) {
		c = calloc(1, sizeof *c);
		if (c == NULL || pthread_setspecific(key, c) != 0)
			abort();
	}
	return c;
}

const struct regex *
regex_cached(struct str pattern, int flags, const char **what)
{
	uint64_t hash = hash_bytes((uint64_t)flags, pattern.p, pattern.n);
	struct cache *c = cache_get();
	struct regex_error err;
	struct slot *s;

	for (size_t i = 0; i < SLOTS; i++) {
		s = &c->slot[i];
		if (s->a != NULL && s->hash == hash && s->flags == flags && str_eq(s->pattern, pattern)) {
			*what = s->what;
			return s->re;
		}
	}
	s = &c->slot[c->next];
	if (s->a != NULL)
		arena_destroy(&s->a);
	*s = (struct slot){ .a = arena_create("regex cache", 4096), .flags = flags, .hash = hash };
	s->pattern = arena_str(s->a, pattern);
	s->re = regex_compile(s->a, pattern, flags, &err);
	s->what = s->re != NULL ? NULL : err.what;
	if (s->re == NULL || regex_bytes(s->re) + arena_bytes(s->a) < SLOT_BYTES)
		c->next = (c->next + 1) % SLOTS; /* a big one gives its slot up first */
	*what = s->what;
	return s->re;
}
