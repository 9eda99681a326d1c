/*
 * mktables: a ranks file (tokens in rank order, each a length byte and its bytes) as the image that token.c embeds (bpe.h).
 * Runs when tavernd is built. usage: mktables <RANKS >IMAGE
 */
#include "base/arena.h"
#include "base/file.h"
#include "bpe.h"

#include <stdio.h>

#define RANKS_MAX (1 << 24) /* bytes: what at_len of a slot can name */

static void
slot_put(struct bpe_image *m, const uint8_t *ranks, uint32_t id, uint32_t at, size_t len)
{
	const uint8_t *p = ranks + at;
	uint64_t head = bpe_head(p, len, len), hash = bpe_hash(head, p, len);
	size_t mask = (size_t)m->slots_n - 1, bit = bpe_maybe_bit(hash);
	size_t i = hash >> (64 - __builtin_ctz(m->slots_n));

	while (m->slots[i].at_len)
		i = (i + 1) & mask;
	m->maybe[bit / 64] |= (uint64_t)1 << (bit % 64);
	m->slots[i] = (struct bpe_slot){ .head = head, .id = id, .at_len = at | (uint32_t)len << 24 };
}

static void
fill(struct bpe_image *m, uint32_t *marks, const uint8_t *ranks)
{
	uint32_t id = 0;

	for (size_t i = 0; i < 256; i++)
		m->one[i] = BPE_NONE;
	for (size_t i = 0; i < 65536; i++)
		m->two[i] = m->three[i] = BPE_NONE;
	for (uint32_t at = 0; at < m->ranks_n; at += 1u + ranks[at], id++) {
		const uint8_t *p = ranks + at + 1;
		size_t len = ranks[at];

		if (id % BPE_STEP == 0)
			marks[id / BPE_STEP] = at;
		if (len == 1)
			m->one[p[0]] = id;
		else if (len == 2)
			m->two[p[0] << 8 | p[1]] = id;
		else if (len == 3 && bpe_is_three(p))
			m->three[bpe_three(p)] = id;
		else
			slot_put(m, ranks, id, at + 1, len);
	}
}

static struct str
image_make(struct arena *a, struct str file)
{
	struct bpe_image head = { .slots_n = 1, .ranks_n = (uint32_t)file.n }, *m;
	const uint8_t *ranks = (const uint8_t *)file.p;
	size_t size;
	uint32_t *marks;

	for (size_t at = 0; at < file.n; at += 1u + ranks[at])
		head.n++;
	while (head.slots_n < head.n + head.n / 4) /* three quarters full */
		head.slots_n *= 2;
	head.marks_n = (head.n + BPE_STEP - 1) / BPE_STEP;
	size = sizeof(head) + head.slots_n * sizeof(*m->slots) + head.marks_n * sizeof(*marks) + file.n;
	m = arena_alloc(a, size);
	*m = head;
	marks = (uint32_t *)(m->slots + m->slots_n);
	memcpy(marks + m->marks_n, file.p, file.n);
	fill(m, marks, (const uint8_t *)(marks + m->marks_n));
	return (struct str){ (const char *)m, size };
}

int
main(void)
{
	struct arena *a = arena_create("tables", 0);
	struct str ranks = file_read_fd(a, 0, RANKS_MAX), image;
	bool good;

	if (!ranks.p)
		perror("mktables: standard input");
	image = ranks.p ? image_make(a, ranks) : STR_NULL;
	good = image.n > 0 && fwrite(image.p, 1, image.n, stdout) == image.n && fflush(stdout) == 0;
	arena_destroy(&a);
	return good ? 0 : 1;
}
