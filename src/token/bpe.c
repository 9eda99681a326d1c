/*
 * bpe: rank look-up and merging. A piece is looked up whole first; what is no token is merged
 * pair by pair, least rank first, leftmost on a tie: by scanning if it is short, by a heap over a
 * linked list if it is long, so that no text costs more than n log n.
 */
#include "bpe.h"

#include <stdatomic.h>

void
bpe_open(struct bpe *b, const struct bpe_image *image)
{
	b->image = image;
	b->shift = 64 - (unsigned)__builtin_ctz(image->slots_n);
	b->marks = (const uint32_t *)(image->slots + image->slots_n);
	b->ranks = (const uint8_t *)(b->marks + image->marks_n);
}

struct str
bpe_bytes(const struct bpe *b, uint32_t id)
{
	const uint8_t *p = b->ranks + b->marks[id / BPE_STEP];

	for (uint32_t i = id % BPE_STEP; i > 0; i--)
		p += 1 + *p;
	return (struct str){ (const char *)p + 1, *p };
}

uint32_t
bpe_rank(const struct bpe *b, const uint8_t *p, size_t len, size_t room)
{
	size_t mask = (size_t)b->image->slots_n - 1, i;
	uint64_t head, hash;

	if (len == 1)
		return b->image->one[p[0]];
	if (len == 2)
		return b->image->two[p[0] << 8 | p[1]];
	if (len == 3 && bpe_is_three(p))
		return b->image->three[bpe_three(p)];
	if (len > UINT8_MAX)
		return BPE_NONE;
	head = bpe_head(p, len, room);
	hash = bpe_hash(head, p, len);
	if (!(b->image->maybe[bpe_maybe_bit(hash) / 64] >> (bpe_maybe_bit(hash) % 64) & 1))
		return BPE_NONE;
	i = hash >> b->shift;
	for (const struct bpe_slot *s; s = &b->image->slots[i], s->at_len; i = (i + 1) & mask)
		if (s->head == head && s->at_len >> 24 == len &&
		    (len <= 8 || memcmp(b->ranks + (s->at_len & 0xffffff) + 8, p + 8, len - 8) == 0))
			return s->id;
	return BPE_NONE;
}

/* Four ranks at once; unaligned. */
typedef int32_t four __attribute__((vector_size(16)));

static inline four
four_at(const int32_t *p)
{
	four v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline four
four_min(four a, four b)
{
	four less = a < b;

	return (a & less) | (b & ~less);
}

/* Index of the least of n ranks, the first on a tie. Behind them, up to a multiple of eight, stands BPE_NONE.
 */
static inline size_t
least(const int32_t *rank, size_t n)
{
	four a = four_at(rank), b = four_at(rank + 4);
	int32_t m;
	size_t i = 0;

	for (size_t k = 8; k < n; k += 8) {
		a = four_min(a, four_at(rank + k));
		b = four_min(b, four_at(rank + k + 4));
	}
	a = four_min(a, b);
	m = a[0] < a[1] ? a[0] : a[1];
	m = a[2] < m ? a[2] : m;
	m = a[3] < m ? a[3] : m;
	while (rank[i] != m)
		i++;
	return i;
}

static size_t
merge_small(const struct bpe *b, const uint8_t *p, size_t len, size_t room, uint32_t *ids)
{
	uint8_t start[BPE_MERGE_SMALL + 1];
	int32_t rank[BPE_MERGE_SMALL + 8]; /* of the pair (i, i + 1) */
	size_t n = len;                    /* parts */

	for (size_t i = 0; i <= len; i++)
		start[i] = (uint8_t)i;
	for (size_t i = 0; i + 1 < len; i++)
		rank[i] = (int32_t)b->image->two[p[i] << 8 | p[i + 1]];
	for (size_t i = len - 1; i < len + 7; i++)
		rank[i] = BPE_NONE;
	while (n > 1) {
		size_t i = least(rank, n - 1);

		if (rank[i] == BPE_NONE)
			break;
		for (size_t k = i + 1; k < n; k++) {
			start[k] = start[k + 1];
			rank[k] = rank[k + 1];
		}
		n--;
		if (i + 1 < n)
			rank[i] = (int32_t)bpe_rank(
			    b, p + start[i], (size_t)start[i + 2] - start[i], room - start[i]);
		else
			rank[i] = BPE_NONE;
		if (i > 0)
			rank[i - 1] = (int32_t)bpe_rank(
			    b, p + start[i - 1], (size_t)start[i + 1] - start[i - 1], room - start[i - 1]);
	}
	for (size_t i = 0; ids && i < n; i++)
		ids[i] = bpe_rank(b, p + start[i], (size_t)start[i + 1] - start[i], room - start[i]);
	return n;
}

/* A part of a long piece; parts are named by their first byte. */
struct part {
	uint32_t prev, next;
	uint32_t rank; /* with the next part */
};

struct heap {
	uint64_t *v; /* rank << 32 | part; entries go stale when a part's rank changes */
	size_t n;
};

static void
heap_down(struct heap *h, size_t i)
{
	uint64_t v = h->v[i];

	for (size_t kid; (kid = 2 * i + 1) < h->n; i = kid) {
		if (kid + 1 < h->n && h->v[kid + 1] < h->v[kid])
			kid++;
		if (h->v[kid] >= v)
			break;
		h->v[i] = h->v[kid];
	}
	h->v[i] = v;
}

static void
heap_push(struct heap *h, uint64_t v)
{
	size_t i = h->n++;

	for (; i > 0 && h->v[(i - 1) / 2] > v; i = (i - 1) / 2)
		h->v[i] = h->v[(i - 1) / 2];
	h->v[i] = v;
}

static uint64_t
heap_pop(struct heap *h)
{
	uint64_t top = h->v[0];

	h->v[0] = h->v[--h->n];
	if (h->n > 0)
		heap_down(h, 0);
	return top;
}

/* What merge_large works on. */
struct merging {
	const struct bpe *b;
	const uint8_t *p;
	size_t len, room;
	struct part *parts; /* one per byte, and one past the end */
	struct heap heap;
};

/* Ranks the pair that part i begins and enters it. */
static void
pair_rank(struct merging *m, uint32_t i)
{
	uint32_t mid = m->parts[i].next, end;

	m->parts[i].rank = BPE_NONE;
	if (mid >= m->len)
		return;
	end = m->parts[mid].next;
	m->parts[i].rank = bpe_rank(m->b, m->p + i, end - i, m->room - i);
	if (m->parts[i].rank != BPE_NONE)
		heap_push(&m->heap, (uint64_t)m->parts[i].rank << 32 | i);
}

/* Joins part i with the next; the neighbours' pairs change with it. */
static void
pair_join(struct merging *m, uint32_t i)
{
	uint32_t gone = m->parts[i].next, after = m->parts[gone].next;

	m->parts[i].next = after;
	m->parts[after].prev = i;
	m->parts[gone].rank = BPE_NONE;
	pair_rank(m, i);
	if (i > 0)
		pair_rank(m, m->parts[i].prev);
}

static size_t
merge_large(const struct bpe *b, const uint8_t *p, size_t len, size_t room, uint32_t *ids)
{
	struct arena *a = arena_create("token merge", 0);
	struct merging m = { .b = b, .p = p, .len = len, .room = room };
	size_t n = 0;

	m.parts = arena_array(a, struct part, len + 1);
	m.heap.v = arena_array(a, uint64_t, 3 * len); /* one per byte, and two per join */
	for (uint32_t i = 0; i <= len; i++)
		m.parts[i] = (struct part){ .prev = i - 1, .next = i + 1, .rank = BPE_NONE };
	for (uint32_t i = 0; i + 1 < len; i++) {
		m.parts[i].rank = b->image->two[p[i] << 8 | p[i + 1]];
		if (m.parts[i].rank != BPE_NONE)
			m.heap.v[m.heap.n++] = (uint64_t)m.parts[i].rank << 32 | i;
	}
	for (size_t i = m.heap.n / 2; i-- > 0;)
		heap_down(&m.heap, i);
	while (m.heap.n > 0) {
		uint64_t top = heap_pop(&m.heap);
		uint32_t i = (uint32_t)top;

		if (m.parts[i].rank == top >> 32)
			pair_join(&m, i);
	}
	for (uint32_t i = 0; i < len; i = m.parts[i].next, n++)
		if (ids)
			ids[n] = bpe_rank(b, p + i, m.parts[i].next - i, room - i);
	arena_destroy(&a);
	return n;
}

size_t
bpe_piece(const struct bpe *b, const uint8_t *p, size_t len, size_t room, uint32_t *ids)
{
	uint32_t whole = bpe_rank(b, p, len, room);

	if (whole != BPE_NONE) {
		if (ids)
			*ids = whole;
		return 1;
	}
	return len <= BPE_MERGE_SMALL ? merge_small(b, p, len, room, ids) : merge_large(b, p, len, room, ids);
}

static uint64_t
piece_hash(const uint8_t *p, size_t len, size_t room)
{
	uint64_t h = len * bpe_mix_b;

	for (size_t i = 0; i < len; i += 8) {
		h = (h ^ bpe_head(p + i, len - i, room - i)) * bpe_mix_a;
		h ^= h >> 31;
	}
	h *= bpe_mix_b;
	return h ^ (h >> 30);
}

size_t
bpe_piece_count(struct bpe *b, const uint8_t *p, size_t len, size_t room)
{
	const uint64_t low = ((uint64_t)1 << BPE_CACHE_BITS) - 1;
	uint64_t h, seen;
	size_t n;

	if (bpe_rank(b, p, len, room) != BPE_NONE)
		return 1;
	if (len > BPE_CACHE_PIECE)
		return bpe_piece(b, p, len, room, NULL);
	h = piece_hash(p, len, room);
	seen = atomic_load_explicit(&b->cache[h & low], memory_order_relaxed);
	if (seen != 0 && (seen | low) == (h | low))
		return (size_t)(seen & low);
	n = bpe_piece(b, p, len, room, NULL);
	atomic_store_explicit(&b->cache[h & low], (h & ~low) | n, memory_order_relaxed);
	return n;
}
