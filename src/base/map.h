/*
 * map: text -> pointer, seeded hash (a client cannot choose collisions), insertion
 * order kept for iteration. Keys are copied into the arena.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "arena.h"

struct map;

struct map *map_create(struct arena *a);
void map_set(struct map *m, struct str key, void *value);      /* replaces */
void *map_get(const struct map *m, struct str key);            /* NULL if absent */
bool map_has(const struct map *m, struct str key);
bool map_del(struct map *m, struct str key);                   /* true if it was there */
size_t map_count(const struct map *m);

struct map_iter {
	size_t at;
};
/* Insertion order. `it` starts zeroed; false at the end. */
bool map_next(const struct map *m, struct map_iter *it, struct str *key_out, void **value_out);

uint64_t hash_bytes(uint64_t seed, const void *p, size_t n);   /* SipHash-1-3 */
uint64_t hash_seed(void);                                      /* one per process, random */

#endif
