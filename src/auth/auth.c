#include "auth/auth.h"

#include "base/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>

struct static_key {
	struct str key, account;
};

struct auth {
	struct auth_conf conf;
	VEC(struct static_key) keys;
};

struct str
auth_key_hash(struct arena *a, const char *pepper, struct str key)
{
	uint8_t mac[EVP_MAX_MD_SIZE];
	unsigned n = 0;

	if (HMAC(EVP_sha256(), pepper, (int)strlen(pepper), (const unsigned char *)key.p, key.n, mac, &n) == NULL)
		abort(); /* out of memory inside the library */
	return hex_encode(a, mac, n);
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
		    ((struct static_key){ str_sub(item, 0, colon == STR_NPOS ? item.n : colon),
			colon == STR_NPOS ? STR(AUTH_DEFAULT_ACCOUNT) : str_sub(item, colon + 1, item.n) }));
	}
}

struct auth *
auth_create(struct arena *a, const struct auth_conf *conf, const char **why)
{
	struct auth *auth = arena_new(a, struct auth);

	auth->conf = *conf;
	keys_read(auth, a, conf->api_keys);
	keys_read(auth, a, conf->admin_keys);
	if (conf->kind == AUTH_API_KEY && auth->keys.n == 0 && conf->pepper == NULL) {
		*why = "auth_mode = api_key needs api_keys, or api_key_pepper for stored keys";
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

static bool
is_loopback(struct str addr)
{
	return !addr.p || addr.n == 0 || str_starts(addr, STR("127.")) || str_is(addr, "::1") || str_starts(addr, STR("unix:")) ||
	    str_starts(addr, STR("::ffff:127."));
}

/* Both ends: nginx on loopback in front of us says where the client came from and where it arrived. */
static int
auth_off(struct auth *auth, struct ctx *c, const struct auth_input *in)
{
	if (!auth->conf.off_allow_remote && (!is_loopback(in->remote_addr) || !is_loopback(in->server_addr)))
		return fail(c, ERR_FORBIDDEN, "auth_off_remote",
		    "authentication is off, so only requests on a loopback address are answered; set auth_mode, or auth_off_allow_remote = yes");
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
auth_api_key(struct auth *auth, struct ctx *c, const struct auth_input *in)
{
	struct str sent = in->api_key.n > 0 ? in->api_key : bearer(in->authorization);
	const struct static_key *hit = NULL;
	struct credential *cred;

	if (!sent.p || sent.n == 0)
		return fail(c, ERR_UNAUTHENTICATED, "auth_required", "send an API key as x-api-key or as a bearer token");
	for (size_t i = 0; i < auth->keys.n; i++) /* all of them: the time says nothing about which fits */
		if (auth->keys.v[i].key.n == sent.n && CRYPTO_memcmp(auth->keys.v[i].key.p, sent.p, sent.n) == 0)
			hit = &auth->keys.v[i];
	if (hit)
		return enter_account(c, auth->conf.multi ? hit->account : STR(AUTH_DEFAULT_ACCOUNT));
	if (auth->conf.pepper == NULL)
		return fail(c, ERR_FORBIDDEN, "auth_invalid_credentials", "API key is not valid");
	cred = arena_new(c->a, struct credential);
	cred->kind = CRED_API_KEY;
	cred->value = auth_key_hash(c->a, auth->conf.pepper, sent).p;
	c->cred = cred;
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
	return fail(c, ERR_FORBIDDEN, "auth_invalid_token", "token is not valid");
}
