/*
 * keyring: the keys that tokens are checked with: those of the configuration, and a set behind a URL that is fetched when
 * it is first needed, again after ten minutes, and when a token names a key that is not there, but never more than once
 * a minute. An old set stays in use while no newer one can be had.
 */
#ifndef AUTH_KEYRING_H
#define AUTH_KEYRING_H

#include "auth/auth.h"
#include "auth/jwt.h"

struct keyring;

/* NULL and *why if the configuration's keys cannot be used or there are none. */
struct keyring *keyring_create(struct arena *a, const struct auth_conf *conf, const char **why);

/* As jwt_check over all keys. 1 = good, 0 = bad, -1 = the set behind the URL has never been had. *renewed: keys were
 * exchanged, so what was remembered about tokens is void. */
int keyring_check(struct keyring *k, struct ctx *c, struct str token, struct jwt_claims *out, bool *renewed, const char **why);

#endif
