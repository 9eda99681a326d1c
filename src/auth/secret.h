/*
 * secret: secrets at rest (AES-256-GCM). The master key is a text of the configuration without commas; several may be
 * given, separated by commas: the first seals, all open, so that keys can be changed. Sealed texts are bound to a context.
 */
#ifndef AUTH_SECRET_H
#define AUTH_SECRET_H

#include "base/ctx.h"

struct secrets;

/* NULL and *why if a key is too short (32 characters). A NULL or empty text gives a box that refuses everything. */
struct secrets *secrets_create(struct arena *a, const char *master_keys, const char **why);
/* Sealed bytes: version, key id, nonce, text, tag. -1 records ERR_UNAVAILABLE `secret_unavailable`. */
int secret_seal(struct ctx *c, const struct secrets *s, struct str context, struct str plain, struct str *out);
/* The plain text; it is wiped when the arena is reset. -1 records ERR_UNAVAILABLE `secret_unavailable`. */
int secret_open(struct ctx *c, const struct secrets *s, struct str context, struct str sealed, struct str *out);
/* First 4 + **** + last 4 characters; short ones ****. */
struct str secret_mask(struct arena *a, struct str plain);

#endif
