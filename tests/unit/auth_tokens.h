/*
 * auth_tokens: keys and tokens for the tests of auth, made by OpenSSL on the spot.
 */
#ifndef TESTS_AUTH_TOKENS_H
#define TESTS_AUTH_TOKENS_H

#include "base/sb.h"

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

static inline struct str
b64url(struct arena *a, struct str s)
{
	char *out = arena_alloc(a, s.n * 2 + 8);
	int n = EVP_EncodeBlock((unsigned char *)out, (const unsigned char *)s.p, (int)s.n);

	while (n > 0 && out[n - 1] == '=')
		n--;
	for (int i = 0; i < n; i++)
		out[i] = out[i] == '+' ? '-' : out[i] == '/' ? '_' : out[i];
	return (struct str){ out, (size_t)n };
}

static inline struct str
hs256(struct arena *a, struct str input, struct str secret)
{
	uint8_t mac[EVP_MAX_MD_SIZE];
	unsigned n = 0;

	HMAC(EVP_sha256(), secret.p, (int)secret.n, (const unsigned char *)input.p, input.n, mac, &n);
	return (struct str){ arena_copy(a, mac, n), n };
}

/* Raw signature: DER for RSA is the signature itself; EC comes as r and s of 32 bytes. */
static inline struct str
pkey_sign(struct arena *a, EVP_PKEY *key, struct str input)
{
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	size_t n = 0;
	unsigned char *sig, *raw;
	const unsigned char *p;
	ECDSA_SIG *ec;

	EVP_DigestSignInit(md, NULL, EVP_sha256(), NULL, key);
	EVP_DigestSign(md, NULL, &n, (const unsigned char *)input.p, input.n);
	sig = arena_alloc(a, n);
	EVP_DigestSign(md, sig, &n, (const unsigned char *)input.p, input.n);
	EVP_MD_CTX_free(md);
	if (EVP_PKEY_get_base_id(key) != EVP_PKEY_EC)
		return (struct str){ (const char *)sig, n };
	p = sig;
	ec = d2i_ECDSA_SIG(NULL, &p, (long)n);
	raw = arena_alloc(a, 64);
	BN_bn2binpad(ECDSA_SIG_get0_r(ec), raw, 32);
	BN_bn2binpad(ECDSA_SIG_get0_s(ec), raw + 32, 32);
	ECDSA_SIG_free(ec);
	return (struct str){ (const char *)raw, 64 };
}

/* A token; key NULL = signed with the secret, both absent = signature `fixed`. */
static inline struct str
token_make(struct arena *a, const char *header, const char *claims, EVP_PKEY *key, struct str secret)
{
	struct sb s = sb_new(a);
	struct str input, sig;

	sb_add(&s, b64url(a, str_c(header)));
	sb_addc(&s, '.');
	sb_add(&s, b64url(a, str_c(claims)));
	input = arena_str(a, sb_str(&s));
	sig = key ? pkey_sign(a, key, input) : hs256(a, input, secret);
	sb_addc(&s, '.');
	sb_add(&s, b64url(a, sig));
	return sb_str(&s);
}

static inline struct str
public_pem(struct arena *a, EVP_PKEY *key)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char *p;
	long n;
	struct str out;

	PEM_write_bio_PUBKEY(bio, key);
	n = BIO_get_mem_data(bio, &p);
	out = arena_str(a, (struct str){ p, (size_t)n });
	BIO_free(bio);
	return out;
}

static inline struct str
bn_member(struct arena *a, EVP_PKEY *key, const char *param, int pad)
{
	BIGNUM *bn = NULL;
	unsigned char *raw = arena_alloc(a, 2048);
	int n;

	EVP_PKEY_get_bn_param(key, param, &bn);
	n = pad ? BN_bn2binpad(bn, raw, pad) : BN_bn2bin(bn, raw);
	BN_free(bn);
	return b64url(a, (struct str){ (const char *)raw, (size_t)n });
}

static inline const char *
rsa_jwk(struct arena *a, EVP_PKEY *key, const char *kid, const char *more)
{
	return arena_printf(a, "{\"kty\":\"RSA\",\"kid\":\"%s\",\"n\":\"%.*s\",\"e\":\"%.*s\"%s}", kid,
	    STR_ARG(bn_member(a, key, OSSL_PKEY_PARAM_RSA_N, 0)), STR_ARG(bn_member(a, key, OSSL_PKEY_PARAM_RSA_E, 0)), more);
}

static inline const char *
ec_jwk(struct arena *a, EVP_PKEY *key, const char *kid)
{
	return arena_printf(a, "{\"kty\":\"EC\",\"crv\":\"P-256\",\"use\":\"sig\",\"alg\":\"ES256\",\"kid\":\"%s\",\"x\":\"%.*s\",\"y\":\"%.*s\"}", kid,
	    STR_ARG(bn_member(a, key, OSSL_PKEY_PARAM_EC_PUB_X, 32)), STR_ARG(bn_member(a, key, OSSL_PKEY_PARAM_EC_PUB_Y, 32)));
}

#endif
