/*
 * png: the chunk walk, bounded by the bytes given. No pixels are decoded.
 */
#ifndef CARD_PNG_H
#define CARD_PNG_H

#include "receipt.h"

bool png_is(struct str bytes);

enum png_text_kind { PNG_TEXT, PNG_ITXT, PNG_ZTXT };

/* A text chunk whose keyword the caller wants; `data` is still packed. */
struct png_text {
	enum png_text_kind kind;
	struct str keyword; /* as written */
	struct str data;    /* slice of the file */
	bool deflated;
	size_t offset; /* of the chunk */
	bool crc_ok;
};

struct png {
	VEC(struct png_text) texts; /* chara, ccv3, naidata in any case, file order */
	bool bad_crc;               /* somewhere else */
	size_t end;                 /* bytes up to and with IEND */
};

/* 0, or -1: png_signature, png_truncated (a length runs past the file), png_no_end. */
int png_walk(struct arena *a, struct str bytes, struct png *out, struct import_error *err);
/* Text of a chunk: inflated up to LIM_CARD_JSON if deflated. -1: png_text_broken, png_text_too_large. */
int png_text_read(struct arena *a, const struct png_text *t, struct str *out, struct import_error *err);

struct png_new_text {
	const char *keyword;
	struct str value; /* Latin-1 safe (base64) */
};
/* The picture without text chunks of these keywords (any case, any kind), and with the new ones as tEXt
 * before IEND. */
int png_rewrite(struct arena *a, struct str picture, const struct png_new_text *texts, size_t n,
    struct str *out, struct import_error *err);
/* A valid one-pixel picture. */
struct str png_blank(void);

#endif
