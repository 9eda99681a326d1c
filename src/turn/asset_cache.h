/*
 * asset_cache: compiled presets, cards, books, scripts and personas of this process, keyed by what never
 * changes (version or document number). Shared by threads, bounded in bytes, least recently used
 * goes first; dropping it changes nothing. Numbers are unique over all accounts.
 */
#ifndef TURN_ASSET_CACHE_H
#define TURN_ASSET_CACHE_H

#include "base/ctx.h"

enum cached_kind { CACHED_PRESET, CACHED_CARD, CACHED_PERSONA, CACHED_BOOK, CACHED_SCRIPTS, CACHED_LORE_SET, CACHED__COUNT };

struct asset_cache;

struct asset_cache *asset_cache_create(struct arena *a, size_t bytes);
void asset_cache_destroy(struct asset_cache *k); /* drops all; nothing may be held */

/* The compiled form, held until c's arena is reset; NULL if it is not there. */
const void *asset_cache_get(struct asset_cache *k, struct ctx *c, enum cached_kind kind, uint64_t key);
/*
 * Adds `obj`, which lives in `own` (taken over, destroyed when the entry goes), with `outside` further bytes.
 * Returns what is in the cache afterwards (another thread may have been faster), held as by get.
 */
const void *asset_cache_add(
    struct asset_cache *k, struct ctx *c, enum cached_kind kind, uint64_t key, struct arena *own, const void *obj, size_t outside);

struct asset_cache_stats {
	size_t entries, bytes;
	uint64_t hits, misses;
};
/* How full it is and how well it serves. */
void asset_cache_stats(struct asset_cache *k, struct asset_cache_stats *out);

#endif
