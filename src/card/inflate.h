/*
 * inflate: zlib streams, bounded while they unpack. Private to src/card.
 */
#ifndef CARD_INFLATE_H
#define CARD_INFLATE_H

#include "base/arena.h"

enum inflate_result { INFLATE_OK, INFLATE_BROKEN, INFLATE_TOO_LARGE };

/* Unpacks a whole zlib stream; stops as soon as more than `max` bytes come out. */
enum inflate_result inflate_zlib(struct arena *a, struct str packed, size_t max, struct str *out);

#endif
