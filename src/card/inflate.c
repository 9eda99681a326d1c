/*
 * inflate: see inflate.h.
 */
#include "inflate.h"

#include "base/sb.h"

#include <limits.h>
#define ZLIB_CONST
#include <zlib.h>

static void
end(void *z)
{
	inflateEnd(z);
}

enum inflate_result
inflate_zlib(struct arena *a, struct str packed, size_t max, struct str *out)
{
	z_stream *z = arena_new(a, z_stream);
	struct sb s = sb_new_max(a, max);
	Bytef piece[16384];
	int rc = Z_OK;

	if (packed.n > UINT_MAX || inflateInit(z) != Z_OK)
		return INFLATE_BROKEN;
	arena_defer(a, end, z);
	z->next_in = (const Bytef *)packed.p;
	z->avail_in = (uInt)packed.n;
	while (rc == Z_OK) {
		z->next_out = piece;
		z->avail_out = sizeof(piece);
		rc = inflate(z, Z_NO_FLUSH);
		if (rc != Z_OK && rc != Z_STREAM_END)
			return INFLATE_BROKEN;
		sb_add(&s, (struct str){ (const char *)piece, sizeof(piece) - z->avail_out });
		if (s.over)
			return INFLATE_TOO_LARGE;
		if (rc == Z_OK && z->avail_in == 0 && z->avail_out > 0)
			return INFLATE_BROKEN;
	}
	*out = sb_str(&s);
	return INFLATE_OK;
}
