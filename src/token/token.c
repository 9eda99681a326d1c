/*
 * token: the encodings and which model has which.
 */
#include "token.h"

#include "base/vec.h"
#include "bpe.h"
#include "split.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

/* The ranks files, unpacked at build time from data/ (scripts/token-data.mjs), inside the program. */
/* clang-format off */
#define EMBED(name, file) \
	__asm__(".section .rodata\n.balign 16\n" \
		"ranks_" #name ":\n.incbin \"" TOKEN_RANKS_DIR "/" file "\"\n" \
		"ranks_" #name "_end:\n.byte 0\n.previous\n"); \
	extern const uint8_t ranks_##name[] __attribute__((visibility("hidden"))); \
	extern const uint8_t ranks_##name##_end[] __attribute__((visibility("hidden")))
EMBED(o200k, "o200k_base.ranks");
EMBED(cl100k, "cl100k_base.ranks");
/* clang-format on */

static const struct encoding {
	const char *name;
	const uint8_t *ranks, *ranks_end;
	split_fn *split;
} encodings[TOKEN__COUNT] = {
	[TOKEN_O200K] = { "o200k_base", ranks_o200k, ranks_o200k_end, split_o200k },
	[TOKEN_CL100K] = { "cl100k_base", ranks_cl100k, ranks_cl100k_end, split_cl100k },
};

/* Built at first use, never freed: they live as long as the process. */
static struct bpe *tables[TOKEN__COUNT];
static pthread_once_t once[TOKEN__COUNT + 1] = { PTHREAD_ONCE_INIT, PTHREAD_ONCE_INIT, PTHREAD_ONCE_INIT };

static void
build(enum token_encoding e)
{
	static struct arena *arenas[TOKEN__COUNT];

	pthread_once(&once[TOKEN__COUNT], split_setup);
	arenas[e] = arena_create("token tables", 0);
	tables[e] =
	    bpe_build(arenas[e], encodings[e].ranks, (size_t)(encodings[e].ranks_end - encodings[e].ranks));
}

static void
build_o200k(void)
{
	build(TOKEN_O200K);
}

static void
build_cl100k(void)
{
	build(TOKEN_CL100K);
}

static struct bpe *
table(enum token_encoding e)
{
	pthread_once(&once[e], e == TOKEN_CL100K ? build_cl100k : build_o200k);
	return tables[e];
}

/* Building has read all of a ranks file, counting needs little of it: its pages come back when they are looked at. */
static void
ranks_forget(const struct encoding *k)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = ((uintptr_t)k->ranks + page - 1) & ~(page - 1), to = (uintptr_t)k->ranks_end & ~(page - 1);

	if (from < to)
		madvise((void *)from, to - from, MADV_DONTNEED);
}

void
token_warm(void)
{
	table(TOKEN_O200K);
	ranks_forget(&encodings[TOKEN_O200K]);
}

const char *
token_encoding_name(enum token_encoding e)
{
	return encodings[e].name;
}

bool
token_encoding_find(struct str name, enum token_encoding *out)
{
	for (enum token_encoding e = 0; e < TOKEN__COUNT; e++)
		if (str_is(name, encodings[e].name)) {
			*out = e;
			return true;
		}
	return false;
}

size_t
token_count(enum token_encoding e, struct str text)
{
	struct bpe *b = table(e);
	split_fn *split = encodings[e].split;
	const uint8_t *p = (const uint8_t *)text.p, *end = p + text.n;
	size_t n = 0;

	while (p < end) {
		const uint8_t *stop = split(p, end);

		n += bpe_piece_count(b, p, (size_t)(stop - p), (size_t)(end - p));
		p = stop;
	}
	return n;
}

size_t
token_encode(struct arena *a, enum token_encoding e, struct str text, uint32_t **ids_out)
{
	const struct bpe *b = table(e);
	split_fn *split = encodings[e].split;
	const uint8_t *p = (const uint8_t *)text.p, *end = p + text.n;
	VEC(uint32_t) ids = { 0 };

	while (p < end) {
		const uint8_t *stop = split(p, end);
		size_t len = (size_t)(stop - p);

		vec_grow(a, (void **)&ids.v, ids.n, &ids.cap, sizeof(*ids.v), len);
		ids.n += bpe_piece(b, p, len, (size_t)(end - p), ids.v + ids.n);
		p = stop;
	}
	*ids_out = ids.v;
	return ids.n;
}

struct str
token_bytes(enum token_encoding e, uint32_t id)
{
	const struct bpe *b = table(e);

	return id < b->n ? bpe_bytes(b, id) : STR_NULL;
}
