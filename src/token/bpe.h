/*
 * bpe: one encoding's ranks and the merge. Private to src/token.
 */
#ifndef TOKEN_BPE_H
#define TOKEN_BPE_H

#include "base/arena.h"

#define BPE_NONE INT32_MAX  /* above every rank, also for signed vectors */
#define BPE_MERGE_SMALL 128 /* bytes: up to here scanning for the least rank beats a heap */
#define BPE_MAYBE_BITS 21
#define BPE_CACHE_BITS 14 /* pieces whose count is remembered: 16,384 */
#define BPE_CACHE_PIECE 1024
#define BPE_STEP 64 /* tokens between two marks */

struct bpe_slot {
	uint64_t head; /* first eight bytes, zero-padded */
	uint32_t id;
	uint32_t at_len; /* offset in the ranks file, length << 24; 0 = empty */
};

struct bpe {
	const uint8_t *file; /* length byte, bytes; in rank order */
	uint32_t n;
	uint32_t *marks; /* where each BPE_STEP-th token stands in the file: an id leads to its bytes by a short walk */
	uint32_t one[256];
	uint32_t *two;   /* by the two bytes */
	uint32_t *three; /* by the 16 free bits of a three-byte UTF-8 sequence */
	struct bpe_slot *slots;
	unsigned shift;  /* slots: 2^(64 - shift) */
	uint64_t *maybe; /* one bit per hash: no bit, no token. Small enough for the CPU's second cache */
	_Atomic uint64_t
	    cache[1u << BPE_CACHE_BITS]; /* hash of the piece, its low bits replaced by the count */
};

/* Builds the tables over a ranks file of `size` bytes that stays where it is. */
struct bpe *bpe_build(struct arena *a, const uint8_t *file, size_t size);

/* The bytes of token id < n; they belong to the ranks file. */
struct str bpe_bytes(const struct bpe *b, uint32_t id);

/* Rank (= id) of these bytes; `room` ≥ len bytes may be read. BPE_NONE if they are no token. */
uint32_t bpe_rank(const struct bpe *b, const uint8_t *p, size_t len, size_t room);

/* Tokens of one piece; `ids` (room for len) may be NULL to count only. `room` as above. */
size_t bpe_piece(const struct bpe *b, const uint8_t *p, size_t len, size_t room, uint32_t *ids);
/* The number alone, through the cache. */
size_t bpe_piece_count(struct bpe *b, const uint8_t *p, size_t len, size_t room);

#endif
