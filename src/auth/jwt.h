/*
 * jwt: signed tokens (RFC 7519, compact form) checked against configured keys. Every key has one algorithm, fixed by
 * what it is; a token can only name a key, never how it is used. Pure but for the keys' memory: no clock, no network.
 */
#ifndef AUTH_JWT_H
#define AUTH_JWT_H

#include "base/json.h"
#include "base/vec.h"

#include <openssl/types.h>

enum jwt_alg { JWT_HS256, JWT_RS256, JWT_ES256 };

struct jwt_key {
	enum jwt_alg alg;
	struct str kid;         /* absent = any token of this algorithm may use it */
	struct str secret;      /* HS256 */
	EVP_PKEY *pkey;         /* RS256, ES256 */
};

struct jwt_keys {
	VEC(struct jwt_key) list;
};

struct jwt_rules {
	const char *issuer, *audience;  /* NULL = not checked */
	const char *account_claim;      /* NULL = no account is read */
	int64_t leeway;                 /* ms */
};

struct jwt_claims {
	struct str account;     /* absent without account_claim */
	int64_t expires;        /* ms since 1970 */
};

enum jwt_verdict { JWT_GOOD, JWT_BAD, JWT_NO_KEY /* none of the keys is meant: others may be */ };

struct jwt_question {
	const struct jwt_rules *rules;
	const struct jwt_keys *keys;
	struct str token;       /* at most LIM_JWT bytes */
	int64_t now;            /* ms */
};

/* Checks a token. Anything but JWT_GOOD says why in *why (for the log; never holds parts of the token). Claims live in a. */
enum jwt_verdict jwt_check(struct arena *a, const struct jwt_question *q, struct jwt_claims *out, const char **why);

/* Adding keys: 0, or -1 and *why (lives in a, as the keys do). */
int jwt_key_secret(struct arena *a, struct jwt_keys *keys, const char *secret, const char **why);
int jwt_key_pem(struct arena *a, struct jwt_keys *keys, struct str pem, const char **why);   /* public key or certificate */
/*
 * A JWK set (RFC 7517): RSA of 2048 bits and more, EC P-256, and with `secrets` also oct. Keys of other kinds or uses are
 * passed over. -1 if it is no set or holds no usable key.
 */
int jwt_key_set(struct arena *a, struct jwt_keys *keys, struct str jwks, bool secrets, const char **why);

#endif
