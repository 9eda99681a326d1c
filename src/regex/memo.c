/* memo: see memo.h. */
#include "regex/memo.h"

#include "base/map.h"

#include <pthread.h>
#include <stdlib.h>

enum { BUCKETS = 4096 };

struct entry {
	struct regex_memo_key key;
	struct entry *chain;
	struct entry *older, *newer;
	size_t bytes; /* of the allocation */
	size_t text, parts;
	bool changed;
	/* parts, then the text */
	struct regex_span part[];
};

struct regex_memo {
	pthread_mutex_t lock;
	size_t max, bytes, entries;
	uint64_t hits, misses;
	struct entry *oldest, *newest;
	struct entry *bucket[BUCKETS];
};

static void
memo_free(void *p)
{
	struct regex_memo *m = p;
	struct entry *next;

	for (struct entry *e = m->oldest; e != NULL; e = next) {
		next = e->newer;
		free(e);
	}
	pthread_mutex_destroy(&m->lock);
}

struct regex_memo *
regex_memo_create(struct arena *a, size_t bytes)
{
	struct regex_memo *m = arena_new(a, struct regex_memo);

	m->max = bytes;
	pthread_mutex_init(&m->lock, NULL);
	arena_defer(a, memo_free, m);
	return m;
}

void
regex_memo_stats(struct regex_memo *m, struct regex_memo_stats *out)
{
	pthread_mutex_lock(&m->lock);
	*out = (struct regex_memo_stats){ .entries = m->entries, .bytes = m->bytes, .hits = m->hits, .misses = m->misses };
	pthread_mutex_unlock(&m->lock);
}

/* ---- keys ---- */

struct regex_memo_key
regex_memo_print(struct str s)
{
	uint64_t seed = hash_seed();

	return (struct regex_memo_key){ { hash_bytes(seed, s.p, s.n), hash_bytes(seed ^ 0x9e3779b97f4a7c15u, s.p, s.n) } };
}

void
regex_memo_mix(struct regex_memo_key *k, const struct regex_memo_key *print)
{
	k->v[0] = (k->v[0] ^ print->v[0]) * 0xff51afd7ed558ccdu;
	k->v[1] = (k->v[1] ^ print->v[1]) * 0xc4ceb9fe1a85ec53u;
	k->v[0] ^= k->v[0] >> 32;
	k->v[1] ^= k->v[1] >> 32;
}

/* ---- the table, under the lock ---- */

static struct entry **
slot(struct regex_memo *m, const struct regex_memo_key *k)
{
	struct entry **at = &m->bucket[k->v[0] % BUCKETS];

	while (*at != NULL && ((*at)->key.v[0] != k->v[0] || (*at)->key.v[1] != k->v[1]))
		at = &(*at)->chain;
	return at;
}

static void
age_out(struct regex_memo *m, struct entry *e)
{
	*(e->older ? &e->older->newer : &m->oldest) = e->newer;
	*(e->newer ? &e->newer->older : &m->newest) = e->older;
}

static void
age_in(struct regex_memo *m, struct entry *e)
{
	e->older = m->newest;
	e->newer = NULL;
	*(m->newest ? &m->newest->newer : &m->oldest) = e;
	m->newest = e;
}

static void
drop(struct regex_memo *m, struct entry *e)
{
	*slot(m, &e->key) = e->chain;
	age_out(m, e);
	m->bytes -= e->bytes;
	m->entries--;
	free(e);
}

static const char *
text_of(const struct entry *e)
{
	return (const char *)(e->part + e->parts);
}

bool
regex_memo_get(struct regex_memo *m, const struct regex_memo_key *k, struct arena *a, struct str *text, struct regex_own *own)
{
	struct entry *e;

	pthread_mutex_lock(&m->lock);
	e = *slot(m, k);
	if (e == NULL) {
		m->misses++;
		pthread_mutex_unlock(&m->lock);
		return false;
	}
	m->hits++;
	age_out(m, e);
	age_in(m, e);
	if (e->changed)
		*text = arena_str(a, (struct str){ text_of(e), e->text });
	if (own != NULL) {
		*own = (struct regex_own){ 0 };
		for (size_t i = 0; i < e->parts; i++)
			vec_push(a, &own->part, e->part[i]);
	}
	pthread_mutex_unlock(&m->lock);
	return true;
}

void
regex_memo_put(struct regex_memo *m, const struct regex_memo_key *k, struct str out, const struct regex_own *own)
{
	size_t parts = own != NULL ? own->part.n : 0, bytes = sizeof(struct entry) + parts * sizeof(struct regex_span) + out.n;
	struct entry *e, **at;

	if (bytes > m->max / 8)
		return;
	e = malloc(bytes);
	if (e == NULL)
		return;
	*e = (struct entry){ .key = *k, .bytes = bytes, .text = out.n, .parts = parts, .changed = out.p != NULL };
	if (parts > 0)
		memcpy(e->part, own->part.v, parts * sizeof(struct regex_span));
	if (out.n > 0)
		memcpy(e->part + parts, out.p, out.n);
	pthread_mutex_lock(&m->lock);
	at = slot(m, k);
	if (*at != NULL) {
		free(e); /* another thread was faster */
	} else {
		*at = e;
		age_in(m, e);
		m->bytes += bytes;
		m->entries++;
		while (m->bytes > m->max)
			drop(m, m->oldest);
	}
	pthread_mutex_unlock(&m->lock);
}
