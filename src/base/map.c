/*
 * map: entries in an array in insertion order, and an open-addressed index of their
 * numbers. Deleted entries stay as holes until the next rebuild.
 */
#include "base/map.h"

#include "base/rng.h"
#include "base/vec.h"

#include <pthread.h>

struct entry {
	struct str key;
	void *value;
	uint64_t hash;
	bool live;
};

struct map {
	struct arena *a;
	VEC(struct entry) entries;
	size_t live;
	uint32_t *slots; /* entry number + 1; 0 = free */
	size_t mask;     /* slots - 1 */
};

#define SLOTS_FIRST 16

static uint64_t
rotl(uint64_t x, int k)
{
	return x << k | x >> (64 - k);
}

static void
sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = rotl(v[1], 13) ^ v[0];
	v[0] = rotl(v[0], 32);
	v[2] += v[3];
	v[3] = rotl(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = rotl(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = rotl(v[1], 17) ^ v[2];
	v[2] = rotl(v[2], 32);
}

static uint64_t
load_le(const unsigned char *p, size_t n)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

uint64_t
hash_bytes(uint64_t seed, const void *data, size_t n)
{
	struct rng keys = rng_seed(seed);
	uint64_t k0 = keys.s[0], k1 = keys.s[1], m;
	uint64_t v[4] = { k0 ^ 0x736f6d6570736575u, k1 ^ 0x646f72616e646f6du, k0 ^ 0x6c7967656e657261u,
		k1 ^ 0x7465646279746573u };
	const unsigned char *p = data;

	for (size_t left = n; left >= 8; left -= 8, p += 8) {
		m = load_le(p, 8);
		v[3] ^= m;
		sip_round(v);
		v[0] ^= m;
	}
	m = (uint64_t)n << 56 | load_le(p, n % 8);
	v[3] ^= m;
	sip_round(v);
	v[0] ^= m;
	v[2] ^= 0xff;
	for (int i = 0; i < 3; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static uint64_t process_seed;

static void
make_seed(void)
{
	rng_system(&process_seed, sizeof(process_seed));
}

uint64_t
hash_seed(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_seed);
	return process_seed;
}

struct map *
map_create(struct arena *a)
{
	struct map *m = arena_new(a, struct map);

	m->a = a;
	return m;
}

/* Slot of the key, or the free slot where it belongs. */
static size_t
find_slot(const struct map *m, struct str key, uint64_t hash)
{
	size_t i = hash & m->mask;

	for (; m->slots[i]; i = (i + 1) & m->mask) {
		const struct entry *e = &m->entries.v[m->slots[i] - 1];

		/* A hole keeps its slot, so that chains through it hold; it matches nothing. */
		if (e->live && e->hash == hash && str_eq(e->key, key))
			break;
	}
	return i;
}

static void
rebuild(struct map *m)
{
	size_t n = 0, slots = SLOTS_FIRST;

	for (size_t i = 0; i < m->entries.n; i++)
		if (m->entries.v[i].live)
			m->entries.v[n++] = m->entries.v[i];
	m->entries.n = n;
	while (slots < n * 4)
		slots *= 2;
	if (m->slots && slots <= m->mask + 1) {
		slots = m->mask + 1;
		memset(m->slots, 0, slots * sizeof(*m->slots));
	} else {
		m->slots = arena_array(m->a, uint32_t, slots);
	}
	m->mask = slots - 1;
	for (size_t i = 0; i < n; i++) {
		size_t at = m->entries.v[i].hash & m->mask;

		while (m->slots[at])
			at = (at + 1) & m->mask;
		m->slots[at] = (uint32_t)i + 1;
	}
}

static struct entry *
find(const struct map *m, struct str key)
{
	size_t at;

	if (!m->slots)
		return NULL;
	at = find_slot(m, key, hash_bytes(hash_seed(), key.p, key.n));
	return m->slots[at] ? &m->entries.v[m->slots[at] - 1] : NULL;
}

void
map_set(struct map *m, struct str key, void *value)
{
	uint64_t hash = hash_bytes(hash_seed(), key.p, key.n);
	struct entry e = { .value = value, .hash = hash, .live = true };
	size_t at;

	/* Half full at most, holes counted. */
	if (!m->slots || (m->entries.n + 1) * 2 > m->mask + 1)
		rebuild(m);
	at = find_slot(m, key, hash);
	if (m->slots[at]) {
		m->entries.v[m->slots[at] - 1].value = value;
		return;
	}
	e.key = (struct str){ arena_strdup(m->a, key), key.n };
	vec_push(m->a, &m->entries, e);
	m->slots[at] = (uint32_t)m->entries.n;
	m->live++;
}

void *
map_get(const struct map *m, struct str key)
{
	const struct entry *e = find(m, key);

	return e ? e->value : NULL;
}

bool
map_has(const struct map *m, struct str key)
{
	return find(m, key) != NULL;
}

bool
map_del(struct map *m, struct str key)
{
	struct entry *e = find(m, key);

	if (!e)
		return false;
	e->live = false;
	e->value = NULL;
	m->live--;
	return true;
}

size_t
map_count(const struct map *m)
{
	return m->live;
}

bool
map_next(const struct map *m, struct map_iter *it, struct str *key_out, void **value_out)
{
	while (it->at < m->entries.n) {
		const struct entry *e = &m->entries.v[it->at++];

		if (!e->live)
			continue;
		if (key_out)
			*key_out = e->key;
		if (value_out)
			*value_out = e->value;
		return true;
	}
	return false;
}
