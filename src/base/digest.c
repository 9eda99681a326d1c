#include "base/digest.h"

#include <openssl/evp.h>
#include <stdlib.h>

struct digest
digest_sha256(struct str s)
{
	struct digest d;
	unsigned n = DIGEST_BYTES;

	if (EVP_Digest(s.p ? s.p : "", s.n, d.b, &n, EVP_sha256(), NULL) != 1)
		abort(); /* out of memory inside the library */
	return d;
}

struct digest_sha1
digest_sha1(struct str s)
{
	struct digest_sha1 d;
	unsigned n = DIGEST_SHA1_BYTES;

	if (EVP_Digest(s.p ? s.p : "", s.n, d.b, &n, EVP_sha1(), NULL) != 1)
		abort(); /* out of memory inside the library */
	return d;
}

struct str
hex_encode(struct arena *a, const void *p, size_t n)
{
	static const char hex[] = "0123456789abcdef";
	const uint8_t *b = p;
	char *out = arena_alloc(a, 2 * n + 1);

	for (size_t i = 0; i < n; i++) {
		out[2 * i] = hex[b[i] >> 4];
		out[2 * i + 1] = hex[b[i] & 15];
	}
	return (struct str){ out, 2 * n };
}

struct str
digest_hex(struct arena *a, const struct digest *d)
{
	return hex_encode(a, d->b, DIGEST_BYTES);
}
