/*
 * jwt: see jwt.h. The signature is OpenSSL's business; form, keys and claims are checked here, the form
 * before the signature and the claims after it.
 */
#include "auth/jwt.h"

#include "auth/b64.h"

#include "base/id.h"
#include "base/limits.h"

#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

enum {
	SHA256_BYTES = 32,
	ES256_HALF = 32,
	CLAIMS_DEPTH = 16,
	KEYS_TRIED_MAX = 8 /* keys without a name that one token is tried on */
};

#define SECONDS_MAX 100000000000 /* year 5138: what is later was meant as milliseconds */

/* clang-format off */
static const char *const alg_names[] = { [JWT_HS256] = "HS256", [JWT_RS256] = "RS256", [JWT_ES256] = "ES256" };
/* clang-format on */

struct token {
	struct str signed_part, signature;
	struct json *header, *claims;
	enum jwt_alg alg;
	struct str kid;
};

static enum jwt_verdict
bad(const char **why, const char *what)
{
	*why = what;
	return JWT_BAD;
}

static struct json *
part_read(struct arena *a, struct str text)
{
	struct str raw = b64url_decode(a, text);
	struct json_error err;
	struct json *j = raw.p ? json_read(a, raw, CLAIMS_DEPTH, &err) : NULL;

	return json_type(j) == JSON_OBJECT ? j : NULL;
}

static bool
alg_find(struct str name, enum jwt_alg *out)
{
	for (size_t i = 0; i < sizeof alg_names / sizeof *alg_names; i++) {
		if (str_is(name, alg_names[i])) {
			*out = (enum jwt_alg)i;
			return true;
		}
	}
	return false;
}

static enum jwt_verdict
token_read(struct arena *a, struct str text, struct token *t, const char **why)
{
	size_t dot1 = str_chr(text, '.', 0), dot2 = dot1 == STR_NPOS ? dot1 : str_chr(text, '.', dot1 + 1);

	if (text.n > LIM_JWT)
		return bad(why, "too long");
	if (dot2 == STR_NPOS || str_chr(text, '.', dot2 + 1) != STR_NPOS)
		return bad(why, "not three parts");
	t->signed_part = str_sub(text, 0, dot2);
	t->signature = b64url_decode(a, str_sub(text, dot2 + 1, text.n));
	t->header = part_read(a, str_sub(text, 0, dot1));
	if (!t->header || !t->signature.p || t->signature.n == 0)
		return bad(why, "bad encoding");
	if (!alg_find(json_get_str(t->header, "alg"), &t->alg))
		return bad(why, "algorithm not allowed");
	if (json_has(t->header, "crit"))
		return bad(why, "critical header not understood");
	t->kid = json_get_str(t->header, "kid");
	if (json_has(t->header, "kid") && !t->kid.p)
		return bad(why, "bad key id");
	t->claims = part_read(a, str_sub(text, dot1 + 1, dot2));
	return t->claims ? JWT_GOOD : bad(why, "bad claims");
}

static bool
hmac_fits(const struct jwt_key *k, const struct token *t)
{
	uint8_t mac[EVP_MAX_MD_SIZE];
	unsigned n = 0;

	return t->signature.n == SHA256_BYTES &&
	       HMAC(EVP_sha256(), k->secret.p, (int)k->secret.n, (const unsigned char *)t->signed_part.p,
		   t->signed_part.n, mac, &n) &&
	       n == SHA256_BYTES && CRYPTO_memcmp(mac, t->signature.p, n) == 0;
}

/* The token has r and s side by side; the library wants them in DER. */
static struct str
ecdsa_der(struct arena *a, struct str raw)
{
	const unsigned char *p = (const unsigned char *)raw.p;
	ECDSA_SIG *sig = ECDSA_SIG_new();
	unsigned char *der = NULL;
	struct str out = STR_NULL;
	BIGNUM *r, *s;
	int n;

	if (raw.n != 2 * ES256_HALF || !sig) {
		ECDSA_SIG_free(sig);
		return out;
	}
	r = BN_bin2bn(p, ES256_HALF, NULL);
	s = BN_bin2bn(p + ES256_HALF, ES256_HALF, NULL);
	if (r && s && ECDSA_SIG_set0(sig, r, s) == 1) {
		n = i2d_ECDSA_SIG(sig, &der);
		if (n > 0)
			out = (struct str){ arena_copy(a, der, (size_t)n), (size_t)n };
		OPENSSL_free(der);
	} else {
		BN_free(r);
		BN_free(s);
	}
	ECDSA_SIG_free(sig);
	return out;
}

static bool
pkey_fits(struct arena *a, const struct jwt_key *k, const struct token *t)
{
	struct str sig = k->alg == JWT_ES256 ? ecdsa_der(a, t->signature) : t->signature;
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	bool good;

	good = sig.p && md && EVP_DigestVerifyInit(md, NULL, EVP_sha256(), NULL, k->pkey) == 1 &&
	       EVP_DigestVerify(md, (const unsigned char *)sig.p, sig.n,
		   (const unsigned char *)t->signed_part.p, t->signed_part.n) == 1;
	EVP_MD_CTX_free(md);
	return good;
}

/* A key that the token names must fit; without a name every key of the algorithm that has none either may. */
static enum jwt_verdict
signature_check(struct arena *a, const struct jwt_keys *keys, const struct token *t, const char **why)
{
	int tried = 0;

	for (size_t i = 0; i < keys->list.n && tried < KEYS_TRIED_MAX; i++) {
		const struct jwt_key *k = &keys->list.v[i];
		bool named = t->kid.p && k->kid.p;

		if (named && !str_eq(t->kid, k->kid))
			continue;
		if (k->alg != t->alg) {
			if (named)
				return bad(why, "algorithm is not the key's");
			continue;
		}
		tried++;
		if (k->alg == JWT_HS256 ? hmac_fits(k, t) : pkey_fits(a, k, t))
			return JWT_GOOD;
		if (named)
			break;
	}
	*why = tried > 0 ? "bad signature" : "no such key";
	return tried > 0 ? JWT_BAD : JWT_NO_KEY;
}

/* A NumericDate as milliseconds. 1 = there, 0 = absent, -1 = not one. */
static int
time_read(const struct json *claims, const char *key, int64_t *out)
{
	const struct json *v = json_get(claims, key);
	int64_t seconds = json_int(v, -1);

	if (!json_has(claims, key))
		return 0;
	if (json_type(v) != JSON_INT || seconds < 0 || seconds >= SECONDS_MAX)
		return -1;
	*out = seconds * 1000;
	return 1;
}

static bool
audience_fits(const struct json *aud, const char *wanted)
{
	if (json_type(aud) == JSON_STRING)
		return str_is(json_str(aud), wanted);
	for (size_t i = 0; json_type(aud) == JSON_ARRAY && i < json_len(aud); i++)
		if (str_is(json_str(json_at(aud, i)), wanted))
			return true;
	return false;
}

static enum jwt_verdict
claims_check(struct arena *a, const struct jwt_question *q, const struct json *claims, struct jwt_claims *out,
    const char **why)
{
	const struct jwt_rules *rules = q->rules;
	int64_t expires = 0, not_before = 0, issued = 0;
	struct str account;

	if (time_read(claims, "exp", &expires) != 1)
		return bad(why, "no usable exp");
	if (expires + rules->leeway <= q->now)
		return bad(why, "expired");
	if (time_read(claims, "nbf", &not_before) < 0 || not_before - rules->leeway > q->now)
		return bad(why, "not valid yet");
	if (time_read(claims, "iat", &issued) < 0 || issued - rules->leeway > q->now)
		return bad(why, "issued in the future");
	if (json_has(claims, "sub") && !json_get_str(claims, "sub").p)
		return bad(why, "bad sub");
	if (rules->issuer && !str_is(json_get_str(claims, "iss"), rules->issuer))
		return bad(why, "other issuer");
	if (rules->audience && !audience_fits(json_get(claims, "aud"), rules->audience))
		return bad(why, "other audience");
	out->account = STR_NULL;
	if (rules->account_claim) {
		account = json_get_str(claims, rules->account_claim);
		if (!account.p || !id_valid(account))
			return bad(why, "names no account");
		out->account = arena_str(a, account);
	}
	out->expires = expires + rules->leeway;
	return JWT_GOOD;
}

enum jwt_verdict
jwt_check(struct arena *a, const struct jwt_question *q, struct jwt_claims *out, const char **why)
{
	struct token t = { .kid = STR_NULL };
	enum jwt_verdict v = token_read(a, q->token, &t, why);

	if (v == JWT_GOOD)
		v = signature_check(a, q->keys, &t, why);
	return v == JWT_GOOD ? claims_check(a, q, t.claims, out, why) : v;
}
