/*
 * jwk: keys for tokens out of a secret, a PEM file or a JWK set. What a key is decides what it may verify.
 */
#include "auth/jwt.h"

#include "auth/b64.h"

#include "base/limits.h"

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

enum {
	SECRET_MIN = 32,
	RSA_BITS_MIN = 2048,
	RSA_BITS_MAX = 16384,
	SET_KEYS_MAX = 64,
	POINT_HALF = 32,
	KID_MAX = 256
};

static int
refuse(const char **why, const char *what)
{
	*why = what;
	return -1;
}

int
jwt_key_secret(struct arena *a, struct jwt_keys *keys, const char *secret, const char **why)
{
	struct str s = str_c(secret);

	if (s.n < SECRET_MIN)
		return refuse(why, "the secret for tokens has fewer than 32 bytes");
	if (str_starts(str_trim(s), STR("-----BEGIN")))
		return refuse(
		    why, "the secret for tokens is a key file; a public key must not be used as a secret");
	vec_push(a, &keys->list, ((struct jwt_key){ .alg = JWT_HS256, .secret = arena_str(a, s) }));
	return 0;
}

static void
pkey_free(void *p)
{
	EVP_PKEY_free(p);
}

/* RSA of a good size or P-256; the algorithm follows from it. Takes the key over. */
static int
pkey_add(struct arena *a, struct jwt_keys *keys, EVP_PKEY *pkey, struct str kid, const char **why)
{
	char curve[64] = "";
	enum jwt_alg alg;

	arena_defer(a, pkey_free, pkey);
	if (EVP_PKEY_get_base_id(pkey) == EVP_PKEY_RSA) {
		if (EVP_PKEY_get_bits(pkey) < RSA_BITS_MIN || EVP_PKEY_get_bits(pkey) > RSA_BITS_MAX)
			return refuse(why, "an RSA key for tokens must have 2048 bits or more");
		alg = JWT_RS256;
	} else if (EVP_PKEY_get_base_id(pkey) == EVP_PKEY_EC) {
		if (EVP_PKEY_get_utf8_string_param(
			pkey, OSSL_PKEY_PARAM_GROUP_NAME, curve, sizeof curve, NULL) != 1 ||
		    strcmp(curve, "prime256v1") != 0)
			return refuse(why, "an EC key for tokens must be of the curve P-256");
		alg = JWT_ES256;
	} else {
		return refuse(why, "a key for tokens must be RSA or EC");
	}
	vec_push(a, &keys->list, ((struct jwt_key){ .alg = alg, .kid = arena_str(a, kid), .pkey = pkey }));
	return 0;
}

int
jwt_key_pem(struct arena *a, struct jwt_keys *keys, struct str pem, const char **why)
{
	BIO *bio = BIO_new_mem_buf(pem.p, (int)pem.n);
	EVP_PKEY *pkey = bio ? PEM_read_bio_PUBKEY(bio, NULL, NULL, NULL) : NULL;
	X509 *cert;

	if (bio && !pkey) {
		BIO_reset(bio);
		cert = PEM_read_bio_X509(bio, NULL, NULL, NULL);
		pkey = cert ? X509_get_pubkey(cert) : NULL;
		X509_free(cert);
	}
	BIO_free(bio);
	if (!pkey)
		return refuse(why, "the key file holds no public key in PEM form");
	return pkey_add(a, keys, pkey, STR_NULL, why);
}

static EVP_PKEY *
pkey_build(const char *type, OSSL_PARAM_BLD *bld)
{
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
	OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(bld);
	EVP_PKEY *pkey = NULL;

	if (!ctx || !params || EVP_PKEY_fromdata_init(ctx) != 1 ||
	    EVP_PKEY_fromdata(ctx, &pkey, EVP_PKEY_PUBLIC_KEY, params) != 1)
		pkey = NULL;
	OSSL_PARAM_free(params);
	EVP_PKEY_CTX_free(ctx);
	return pkey;
}

static EVP_PKEY *
rsa_build(struct str n, struct str e)
{
	OSSL_PARAM_BLD *bld = OSSL_PARAM_BLD_new();
	BIGNUM *bn = BN_bin2bn((const unsigned char *)n.p, (int)n.n, NULL);
	BIGNUM *be = BN_bin2bn((const unsigned char *)e.p, (int)e.n, NULL);
	EVP_PKEY *pkey = NULL;

	if (bld && bn && be && OSSL_PARAM_BLD_push_BN(bld, OSSL_PKEY_PARAM_RSA_N, bn) == 1 &&
	    OSSL_PARAM_BLD_push_BN(bld, OSSL_PKEY_PARAM_RSA_E, be) == 1)
		pkey = pkey_build("RSA", bld);
	OSSL_PARAM_BLD_free(bld);
	BN_free(bn);
	BN_free(be);
	return pkey;
}

static EVP_PKEY *
ec_build(struct str x, struct str y)
{
	unsigned char point[1 + 2 * POINT_HALF] = { 4 }; /* uncompressed */
	OSSL_PARAM_BLD *bld = OSSL_PARAM_BLD_new();
	EVP_PKEY *pkey = NULL;

	memcpy(point + 1, x.p, POINT_HALF);
	memcpy(point + 1 + POINT_HALF, y.p, POINT_HALF);
	if (bld && OSSL_PARAM_BLD_push_utf8_string(bld, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) == 1 &&
	    OSSL_PARAM_BLD_push_octet_string(bld, OSSL_PKEY_PARAM_PUB_KEY, point, sizeof point) == 1)
		pkey = pkey_build("EC", bld);
	OSSL_PARAM_BLD_free(bld);
	return pkey;
}

static struct str
member(struct arena *a, const struct json *jwk, const char *key)
{
	struct str s = json_get_str(jwk, key);

	return s.n > 0 && s.n <= RSA_BITS_MAX / 6 + 2 ? b64url_decode(a, s) : STR_NULL;
}

static bool
alg_is(const struct json *jwk, const char *name)
{
	return !json_has(jwk, "alg") || str_is(json_get_str(jwk, "alg"), name);
}

/* For signatures: `use` and `key_ops`, where they are, say so. */
static bool
for_signatures(const struct json *jwk)
{
	const struct json *ops = json_get(jwk, "key_ops");

	if (json_has(jwk, "use") && !str_is(json_get_str(jwk, "use"), "sig"))
		return false;
	for (size_t i = 0; i < json_len(ops); i++)
		if (str_is(json_str(json_at(ops, i)), "verify"))
			return true;
	return !ops;
}

static void
jwk_add(struct arena *a, struct jwt_keys *keys, const struct json *jwk, bool secrets)
{
	struct str kty = json_get_str(jwk, "kty"), kid = json_get_str(jwk, "kid");
	struct str n = member(a, jwk, "n"), e = member(a, jwk, "e"), x = member(a, jwk, "x"),
		   y = member(a, jwk, "y"), k;
	EVP_PKEY *pkey = NULL;
	const char *why;

	if (!for_signatures(jwk) || kid.n > KID_MAX)
		return;
	if (str_is(kty, "RSA") && alg_is(jwk, "RS256") && n.n > 0 && e.n > 0)
		pkey = rsa_build(n, e);
	else if (str_is(kty, "EC") && alg_is(jwk, "ES256") && str_is(json_get_str(jwk, "crv"), "P-256") &&
		 x.n == POINT_HALF && y.n == POINT_HALF)
		pkey = ec_build(x, y);
	if (pkey)
		pkey_add(a, keys, pkey, kid, &why);
	if (secrets && str_is(kty, "oct") && alg_is(jwk, "HS256")) {
		k = member(a, jwk, "k");
		if (k.n >= SECRET_MIN)
			vec_push(a, &keys->list,
			    ((struct jwt_key){ .alg = JWT_HS256, .kid = arena_str(a, kid), .secret = k }));
	}
}

int
jwt_key_set(struct arena *a, struct jwt_keys *keys, struct str jwks, bool secrets, const char **why)
{
	struct json_error bad;
	const struct json *list = json_get(json_read(a, jwks, LIM_JSON_DEPTH, &bad), "keys");
	size_t before = keys->list.n;

	if (json_type(list) != JSON_ARRAY)
		return refuse(why, "this is no JWK set");
	for (size_t i = 0; i < json_len(list) && i < SET_KEYS_MAX; i++)
		jwk_add(a, keys, json_at(list, i), secrets);
	return keys->list.n > before ? 0 : refuse(why, "the JWK set holds no usable key");
}
