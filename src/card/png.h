/*
 * png: the chunk walk, bounded by the bytes given. No pixels are decoded.
 */
#ifndef CARD_PNG_H
#define CARD_PNG_H

#include "receipt.h"

enum png_text_kind { PNG_TEXT, PNG_ITXT, PNG_ZTXT };

/* A text chunk whose keyword is asked for; `data` is still packed. */
struct png_text {
	enum png_text_kind kind;
	struct str keyword; /* as written */
	struct str data;    /* slice of the file */
	bool deflated;
	bool bad_crc;
	size_t offset; /* of the chunk in the file */
};

struct png {
	VEC(struct png_text) texts; /* `chara`, `ccv3`, `naidata` in any case, in file order */
	bool bad_crc;               /* in any chunk */
	bool no_end;                /* the file stops without IEND, but between two chunks */
};

bool png_is(struct str bytes); /* by its signature */
/* 0, or -1: png_signature, png_truncated (a length runs past the file). */
int png_walk(struct arena *a, struct str bytes, struct png *out, struct import_error *err);
/* Text of a chunk, inflated if need be. -1: png_text_broken, too_large (LIM_CARD_JSON). */
int png_text_read(struct arena *a, const struct png_text *t, struct str *out, struct import_error *err);
/* "tEXt:ccv3": kind and keyword in lower case. */
const char *png_text_name(struct arena *a, const struct png_text *t);

struct png_new_text {
	const char *keyword;
	struct str value; /* ASCII */
};
/* The picture without text chunks of these keywords (any case, any kind), and with the new ones as tEXt
 * before IEND. */
int png_rewrite(struct arena *a, struct str picture, const struct png_new_text *texts, size_t n,
    struct str *out, struct import_error *err);
/* A valid picture of one pixel. */
struct str png_blank(void);

#endif
