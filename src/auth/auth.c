/*
 * auth: see auth.h. Keys and tokens; what they say about an account is looked up when it is entered.
 */
#include "auth/auth.h"

#include "auth/keyring.h"
#include "auth/token_cache.h"

#include "base/digest.h"
#include "base/limits.h"
#include "base/rng.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>

enum { PROCESS_KEY = 32, PREFIX_CHARS = 8, RANDOM_CHARS = 43 /* of 62: 256 bits */, KEY_MAX = 512 };

struct static_key {
	struct digest mac; /* of the key under the process's own secret: all are equally long */
	struct str account;
};

struct auth {
	struct auth_conf conf;
	uint8_t process_key[PROCESS_KEY];
	VEC(struct static_key) keys;
	struct keyring *ring;
	struct token_cache *tokens;
};

static struct digest
hmac(const void *key, size_t key_n, struct str text)
{
	struct digest d;
	unsigned n = 0;

	if (!HMAC(EVP_sha256(), key, (int)key_n, (const unsigned char *)text.p, text.n, d.b, &n) ||
	    n != DIGEST_BYTES)
		abort(); /* out of memory inside the library */
	return d;
}

struct str
auth_key_hash(struct arena *a, const char *pepper, struct str key)
{
	struct digest d = hmac(pepper, strlen(pepper), key);

	return digest_hex(a, &d);
}

static void
random_chars(struct sb *s, size_t n)
{
	static const char letters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	uint8_t byte;

	while (n > 0) {
		rng_system(&byte, 1);
		if (byte >= 4 * 62) /* or the first letters would come more often */
			continue;
		sb_addc(s, letters[byte % 62]);
		n--;
	}
}

struct str
auth_key_new(struct arena *a, struct str *prefix_out)
{
	struct sb s = sb_new(a);

	sb_adds(&s, "tvk_");
	random_chars(&s, PREFIX_CHARS);
	*prefix_out = arena_str(a, sb_str(&s));
	sb_addc(&s, '_');
	random_chars(&s, RANDOM_CHARS);
	return sb_str(&s);
}

/* "key" or "key:account", comma separated. */
static void
keys_read(struct auth *auth, struct arena *a, const char *list)
{
	struct str rest = str_c(list), item;

	while (list && str_next(&rest, ',', &item)) {
		size_t colon;

		item = str_trim(item);
		if (item.n == 0)
			continue;
		colon = str_chr(item, ':', 0);
		vec_push(a, &auth->keys,
		    ((struct static_key){ hmac(auth->process_key, PROCESS_KEY, str_sub(item, 0, colon)),
			colon == STR_NPOS ? STR(AUTH_DEFAULT_ACCOUNT) : str_sub(item, colon + 1, item.n) }));
	}
}

struct auth *
auth_create(struct arena *a, const struct auth_conf *conf, const char **why)
{
	struct auth *auth = arena_new(a, struct auth);

	auth->conf = *conf;
	rng_system(auth->process_key, PROCESS_KEY);
	keys_read(auth, a, conf->api_keys);
	keys_read(auth, a, conf->admin_keys);
	if (conf->kind == AUTH_API_KEY && auth->keys.n == 0 && conf->pepper == NULL) {
		*why = "auth_mode = api_key needs api_keys, or api_key_pepper for stored keys";
		return NULL;
	}
	if (conf->kind == AUTH_JWT) {
		auth->tokens = token_cache_create(a);
		auth->ring = keyring_create(a, &auth->conf, why);
		if (auth->ring == NULL)
			return NULL;
	}
	return auth;
}

static int
enter_account(struct ctx *c, struct str account)
{
	struct credential *cred = arena_new(c->a, struct credential);

	cred->kind = CRED_ACCOUNT_ID;
	cred->value = arena_strdup(c->a, account);
	c->cred = cred;
	return 0;
}

bool
auth_is_loopback(struct str text)
{
	char addr[INET6_ADDRSTRLEN];
	struct in_addr v4;
	struct in6_addr v6;

	if (text.n == 0 || str_starts(text, STR("unix:")))
		return true;
	if (text.n >= sizeof addr)
		return false;
	memcpy(addr, text.p, text.n);
	addr[text.n] = '\0';
	if (inet_pton(AF_INET, addr, &v4) == 1)
		return ntohl(v4.s_addr) >> 24 == 127;
	return inet_pton(AF_INET6, addr, &v6) == 1 &&
	       (IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127));
}

/* Both ends: nginx on loopback in front of us says where the client came from and where it arrived. */
static int
auth_off(struct auth *auth, struct ctx *c, const struct auth_input *in)
{
	if (!auth->conf.off_allow_remote && (!auth_is_loopback(in->remote_addr) || !auth_is_loopback(in->server_addr)))
		return fail(c, ERR_FORBIDDEN, "auth_off_remote",
		    "authentication is off, so only requests on a loopback address are answered; set "
		    "auth_mode, or auth_off_allow_remote = yes");
	return enter_account(c, STR(AUTH_DEFAULT_ACCOUNT));
}

static struct str
bearer(struct str authorization)
{
	if (authorization.n > 7 && str_ieq(str_sub(authorization, 0, 7), STR("bearer ")))
		return str_trim(str_sub(authorization, 7, authorization.n));
	return STR_NULL;
}

static int
nothing_sent(struct ctx *c)
{
	return fail(c, ERR_UNAUTHENTICATED, "auth_required", "Authentication required");
}

static int
auth_api_key(struct auth *auth, struct ctx *c, const struct auth_input *in)
{
	struct str sent = in->api_key.n > 0 ? in->api_key : bearer(in->authorization);
	const struct static_key *hit = NULL;
	struct credential *cred;
	struct digest mac;

	if (sent.n == 0)
		return nothing_sent(c);
	mac = hmac(auth->process_key, PROCESS_KEY, sent);
	for (size_t i = 0; i < auth->keys.n; i++) /* all of them: the time says nothing about which fits */
		if (CRYPTO_memcmp(auth->keys.v[i].mac.b, mac.b, DIGEST_BYTES) == 0)
			hit = &auth->keys.v[i];
	if (hit)
		return enter_account(c, auth->conf.multi ? hit->account : STR(AUTH_DEFAULT_ACCOUNT));
	if (auth->conf.pepper == NULL || sent.n > KEY_MAX)
		return fail(c, ERR_FORBIDDEN, "auth_invalid_credentials", "Invalid API key");
	cred = arena_new(c->a, struct credential);
	cred->kind = CRED_API_KEY;
	cred->value = arena_strdup(c->a, auth_key_hash(c->a, auth->conf.pepper, sent));
	c->cred = cred;
	return 0;
}

static int
bad_token(struct ctx *c, const char *why)
{
	fail(c, ERR_FORBIDDEN, "auth_invalid_token", "Invalid JWT token");
	return fail_log(c, "token refused: %s", why);
}

static int
auth_jwt(struct auth *auth, struct ctx *c, const struct auth_input *in)
{
	struct str token = bearer(in->authorization), account = STR_NULL;
	struct jwt_claims claims;
	struct digest d;
	const char *why = "";
	bool renewed;
	int64_t expires = 0;
	int good;

	if (token.n == 0)
		return nothing_sent(c);
	if (token.n > LIM_JWT)
		return bad_token(c, "too long");
	d = digest_sha256(token);
	if (!token_cache_get(auth->tokens, c->a, &d, c->now, &account, &expires)) {
		good = keyring_check(auth->ring, c, token, &claims, &renewed, &why);
		if (renewed)
			token_cache_clear(auth->tokens);
		if (good < 0) {
			c->err.retry_after = 60;
			return fail(c, ERR_UNAVAILABLE, "auth_keys_unavailable",
			    "the keys for tokens cannot be had now");
		}
		if (good == 0)
			return bad_token(c, why);
		account = claims.account;
		expires = claims.expires;
		token_cache_put(auth->tokens, &d, claims.expires, account);
	}
	enter_account(c, auth->conf.multi ? account : STR(AUTH_DEFAULT_ACCOUNT));
	((struct credential *)c->cred)->expires = expires;
	return 0;
}

int
auth_credential(struct auth *auth, struct ctx *c, const struct auth_input *in)
{
	switch (auth->conf.kind) {
	case AUTH_OFF:
		return auth_off(auth, c, in);
	case AUTH_API_KEY:
		return auth_api_key(auth, c, in);
	case AUTH_JWT:
		break;
	}
	return auth_jwt(auth, c, in);
}
