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
	uint32_t at_len; /* offset in the ranks, length << 24; 0 = empty */
};

/*
 * What the build makes of a ranks file (mktables.c) and the program only reads: pages of the file, which all processes share
 * and which count when they are looked at. Behind the slots stand the marks, behind them the ranks: length byte, bytes.
 */
struct bpe_image {
	uint32_t n, slots_n, marks_n, ranks_n; /* tokens; slots, a power of two; marks; bytes of ranks */
	uint32_t one[256];
	uint32_t two[65536];                               /* by the two bytes */
	uint32_t three[65536];                             /* by the 16 free bits of a three-byte UTF-8 sequence */
	uint64_t maybe[((size_t)1 << BPE_MAYBE_BITS) / 64];/* one bit per hash: no bit, no token. Small enough for the CPU's second cache */
	struct bpe_slot slots[];
};

struct bpe {
	const struct bpe_image *image;
	const uint32_t *marks; /* where each BPE_STEP-th token stands in the ranks: an id leads to its bytes by a short walk */
	const uint8_t *ranks;
	unsigned shift;        /* slots: 2^(64 - shift) */
	_Atomic uint64_t cache[1u << BPE_CACHE_BITS]; /* hash of the piece, its low bits replaced by the count */
};

/* An encoding over an image, which stays where it is. */
void bpe_open(struct bpe *b, const struct bpe_image *image);

/* ---- where a token has its slot: for who looks it up and for who makes the image ---- */

static const uint64_t bpe_mix_a = 0x9e3779b97f4a7c15u, bpe_mix_b = 0xd6e8feb86659fd93u;

/* Up to eight bytes, zero-padded, low byte first; `room` >= len bytes may be read. */
static inline uint64_t
bpe_head(const uint8_t *p, size_t len, size_t room)
{
	uint64_t v = 0;

	if (room < 8 || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__) {
		for (size_t i = 0; i < len && i < 8; i++)
			v |= (uint64_t)p[i] << (8 * i);
		return v;
	}
	memcpy(&v, p, 8);
	return len < 8 ? v & (((uint64_t)1 << (8 * len)) - 1) : v;
}

static inline uint64_t
bpe_hash(uint64_t head, const uint8_t *p, size_t len)
{
	uint64_t h = (head ^ (len * bpe_mix_b)) * bpe_mix_a;

	if (len > 8)
		h = (h ^ (h >> 29) ^ bpe_head(p + len - 8, 8, 8)) * bpe_mix_b;
	return (h ^ (h >> 32)) * bpe_mix_a;
}

static inline size_t
bpe_maybe_bit(uint64_t hash)
{
	return (size_t)(hash >> 20) & (((size_t)1 << BPE_MAYBE_BITS) - 1);
}

static inline bool
bpe_is_three(const uint8_t *p)
{
	return (p[0] & 0xf0) == 0xe0 && (p[1] & 0xc0) == 0x80 && (p[2] & 0xc0) == 0x80;
}

static inline uint32_t
bpe_three(const uint8_t *p)
{
	return (uint32_t)(p[0] & 0x0f) << 12 | (uint32_t)(p[1] & 0x3f) << 6 | (p[2] & 0x3f);
}

/* ---- looking up ---- */

/* The bytes of token id < n; they belong to the image. */
struct str bpe_bytes(const struct bpe *b, uint32_t id);

/* Rank (= id) of these bytes; `room` ≥ len bytes may be read. BPE_NONE if they are no token. */
uint32_t bpe_rank(const struct bpe *b, const uint8_t *p, size_t len, size_t room);

/* Tokens of one piece; `ids` (room for len) may be NULL to count only. `room` as above. */
size_t bpe_piece(const struct bpe *b, const uint8_t *p, size_t len, size_t room, uint32_t *ids);
/* The number alone, through the cache. */
size_t bpe_piece_count(struct bpe *b, const uint8_t *p, size_t len, size_t room);

#endif
