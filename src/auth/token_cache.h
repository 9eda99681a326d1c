/*
 * token_cache: tokens that were good, by their digest, until they expire. Small, of fixed size, shared by the threads of
 * a process; forgetting changes nothing but time.
 */
#ifndef AUTH_TOKEN_CACHE_H
#define AUTH_TOKEN_CACHE_H

#include "base/digest.h"

struct token_cache;

struct token_cache *token_cache_create(struct arena *a);
/* The account that the token named ("" = none was read), in a. False if it is not known or has expired at `now` (ms). */
bool token_cache_get(struct token_cache *t, struct arena *a, const struct digest *d, int64_t now, struct str *account_out,
    int64_t *expires_out);
void token_cache_put(struct token_cache *t, const struct digest *d, int64_t expires, struct str account);
void token_cache_clear(struct token_cache *t);

#endif
