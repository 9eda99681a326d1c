/*
 * token: the encodings and which model has which.
 */
#include "token.h"

#include "base/vec.h"
#include "bpe.h"
#include "split.h"

#include <pthread.h>

/* The images that the build made of data/ (mktables.c), inside the program. */
/* clang-format off */
#define EMBED(name, file) \
	__asm__(".section .rodata\n.balign 64\n" \
		"image_" #name ":\n.incbin \"" TOKEN_TABLES_DIR "/" file "\"\n.byte 0\n.previous\n"); \
	extern const struct bpe_image image_##name __attribute__((visibility("hidden")))
EMBED(o200k, "o200k_base.tables");
EMBED(cl100k, "cl100k_base.tables");
/* clang-format on */

static const struct encoding {
	const char *name;
	const struct bpe_image *image;
	split_fn *split;
} encodings[TOKEN__COUNT] = {
	[TOKEN_O200K] = { "o200k_base", &image_o200k, split_o200k },
	[TOKEN_CL100K] = { "cl100k_base", &image_cl100k, split_cl100k },
};

static struct bpe tables[TOKEN__COUNT];

static void
open_all(void)
{
	split_setup();
	for (enum token_encoding e = 0; e < TOKEN__COUNT; e++)
		bpe_open(&tables[e], encodings[e].image);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

void
token_warm(void)
{
	pthread_once(&once, open_all);
}

static struct bpe *
table(enum token_encoding e)
{
	pthread_once(&once, open_all);
	return &tables[e];
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

	return id < b->image->n ? bpe_bytes(b, id) : STR_NULL;
}
