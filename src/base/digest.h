/*
 * digest: SHA-256 and its hex, the name of content everywhere (documents, prompts, request hashes).
 */
#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include "arena.h"

#define DIGEST_BYTES 32

struct digest {
	uint8_t b[DIGEST_BYTES];
};

struct digest digest_sha256(struct str s);
struct str digest_hex(struct arena *a, const struct digest *d); /* 64 lower-case digits */
struct str hex_encode(struct arena *a, const void *p, size_t n);

#define DIGEST_SHA1_BYTES 20
struct digest_sha1 {
	uint8_t b[DIGEST_SHA1_BYTES];
};

/* SHA-1, for protocols that ask for it (WebSocket's handshake); never where security rests on it. */
struct digest_sha1 digest_sha1(struct str s);

#endif
