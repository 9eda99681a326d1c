/*
 * auth: who a request speaks for, by its headers alone. Reads API keys and tokens, checks what can
 * be checked without the account row, and leaves a credential (db/db.h) that entering the account
 * resolves: role and status come from the row, never from a token. Knows no routes.
 */
#ifndef AUTH_AUTH_H
#define AUTH_AUTH_H

#include "db/db.h"

#define AUTH_DEFAULT_ACCOUNT "default-admin"

enum auth_kind { AUTH_OFF, AUTH_API_KEY, AUTH_JWT }; /* same order as the setting auth_mode */

struct auth_conf {
	enum auth_kind kind;
	bool multi;                    /* accounts: each credential names its own; else everything is default-admin */
	bool off_allow_remote;         /* AUTH_OFF answers requests that did not arrive on a loopback address */
	const char *api_keys;          /* static keys: key or key:account, comma separated */
	const char *admin_keys;
	const char *pepper;            /* of stored keys' HMAC */
	const char *jwt_secret, *jwt_public_key_file, *jwt_jwks_file, *jwt_jwks_url;
	const char *jwt_issuer, *jwt_audience, *jwt_account_claim;
	int64_t jwt_leeway;            /* ms */
	/* Fetches jwt_jwks_url, at most max bytes; 0, or -1 with the error in c. NULL where there is no network. */
	int (*fetch)(void *arg, struct ctx *c, const char *url, size_t max, struct str *out);
	void *fetch_arg;
};

/* What a request sent; absent slices = nothing. Addresses as text without port; "unix:" counts as loopback. */
struct auth_input {
	struct str api_key;            /* x-api-key */
	struct str authorization;
	struct str remote_addr, server_addr;
};

struct auth;

/* NULL + *why for a configuration that cannot be used. Lives in the process arena. */
struct auth *auth_create(struct arena *a, const struct auth_conf *conf, const char **why);

/*
 * Sets c->cred, or records exactly: nothing sent ERR_UNAUTHENTICATED auth_required; wrong key ERR_FORBIDDEN
 * auth_invalid_credentials; bad or expired token ERR_FORBIDDEN auth_invalid_token (ERR_UNAVAILABLE while the keys at
 * jwt_jwks_url have never been had); auth off from elsewhere ERR_FORBIDDEN auth_off_remote. That the account exists and is active is found out by entering it (db/tx.c).
 */
int auth_credential(struct auth *auth, struct ctx *c, const struct auth_input *in);

/* Is an address (text without port) of this host? Absent and "unix:" ones are. */
bool auth_is_loopback(struct str address);
/* A new API key "tvk_PREFIX_RANDOM"; *prefix_out is the part that may be shown. Only its hash is stored. */
struct str auth_key_new(struct arena *a, struct str *prefix_out);
/* hex(HMAC-SHA256(pepper, key)): what api_key.hash holds. */
struct str auth_key_hash(struct arena *a, const char *pepper, struct str key);

#endif
