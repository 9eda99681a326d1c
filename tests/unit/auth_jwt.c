/* auth: tokens of three algorithms, each attack that is known on them, claims, keys. */
#include "auth/jwt.h"
#include "auth_tokens.h"
#include "base/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#define SECRET "0123456789abcdef0123456789abcdef"
#define NOW 1800000000000
#define CLAIMS "{\"account_id\":\"anna\",\"exp\":1800000100}"
#define HS "{\"alg\":\"HS256\",\"typ\":\"JWT\"}"
#define RS "{\"alg\":\"RS256\",\"kid\":\"r\"}"
#define ES "{\"alg\":\"ES256\",\"kid\":\"e\"}"

static EVP_PKEY *rsa, *other_rsa, *ec, *small_rsa, *p384;
static struct arena *a;
static struct jwt_keys keys; /* secret without a name, RSA "r", EC "e" */
static const struct jwt_rules rules = { .account_claim = "account_id", .leeway = 30000 };

static int
group_setup(void **state)
{
	const char *why;

	(void)state;
	a = arena_create("test", 0);
	rsa = EVP_RSA_gen(2048);
	other_rsa = EVP_RSA_gen(2048);
	small_rsa = EVP_RSA_gen(1024);
	ec = EVP_EC_gen("P-256");
	p384 = EVP_EC_gen("P-384");
	if (jwt_key_secret(a, &keys, SECRET, &why) < 0)
		return -1;
	return jwt_key_set(a, &keys,
	    str_c(arena_printf(a, "{\"keys\":[%s,%s]}", rsa_jwk(a, rsa, "r", ""), ec_jwk(a, ec, "e"))), false,
	    &why);
}

static int
group_teardown(void **state)
{
	(void)state;
	arena_destroy(&a);
	EVP_PKEY_free(rsa);
	EVP_PKEY_free(other_rsa);
	EVP_PKEY_free(small_rsa);
	EVP_PKEY_free(ec);
	EVP_PKEY_free(p384);
	return 0;
}

static enum jwt_verdict
verdict_at(const struct jwt_rules *r, const struct jwt_keys *k, struct str token, int64_t now,
    struct jwt_claims *out)
{
	const char *why = NULL;
	enum jwt_verdict v = jwt_check(a, &(struct jwt_question){ r, k, token, now }, out, &why);

	assert_true(v == JWT_GOOD || why != NULL);
	return v;
}

static void
good(struct str token)
{
	struct jwt_claims c = { .expires = 0 };

	assert_int_equal(verdict_at(&rules, &keys, token, NOW, &c), JWT_GOOD);
	assert_true(str_is(c.account, "anna"));
	assert_true(c.expires == 1800000130000);
}

static void
bad(struct str token)
{
	struct jwt_claims c;

	assert_int_equal(verdict_at(&rules, &keys, token, NOW, &c), JWT_BAD);
}

static void
algorithms(void **state)
{
	(void)state;
	good(token_make(a, HS, CLAIMS, NULL, STR(SECRET)));
	good(token_make(a, RS, CLAIMS, rsa, STR("")));
	good(token_make(a, ES, CLAIMS, ec, STR("")));
	good(token_make(a, "{\"alg\":\"RS256\"}", CLAIMS, rsa, STR("")));
	good(token_make(a, "{\"alg\":\"RS256\",\"typ\":\"at+jwt\",\"kid\":\"r\"}", CLAIMS, rsa, STR("")));
	good(token_make(a, "{\"alg\":\"HS256\",\"kid\":\"any\"}", CLAIMS, NULL,
	    STR(SECRET))); /* the secret has no name */
}

static void
wrong_signatures(void **state)
{
	struct str t = token_make(a, HS, CLAIMS, NULL, STR(SECRET));
	char *flipped = arena_strdup(a, t);

	(void)state;
	bad(token_make(a, HS, CLAIMS, NULL, STR("another secret of thirty-two byte")));
	bad(token_make(a, RS, CLAIMS, other_rsa, STR("")));
	flipped[t.n - 10] = flipped[t.n - 10] == 'A' ? 'B' : 'A';
	bad((struct str){ flipped, t.n });
	bad(str_sub(t, 0, t.n - 4));
	bad(str_sub(t, 0, t.n - 43)); /* no signature */
	/* claims of one, signature of another */
	bad(str_c(arena_printf(a, "%.*s.%.*s%.*s", STR_ARG(b64url(a, STR(HS))),
	    STR_ARG(b64url(a, STR("{\"account_id\":\"root\",\"exp\":1800000100}"))),
	    STR_ARG(str_sub(t, t.n - 44, t.n)))));
	/* an EC signature in DER, and one of zeros */
	bad(str_c(arena_printf(a, "%.*s.%.*s.%.*s", STR_ARG(b64url(a, STR(ES))),
	    STR_ARG(b64url(a, STR(CLAIMS))), STR_ARG(b64url(a, (struct str){ arena_alloc(a, 64), 64 })))));
	bad(str_c(arena_printf(a, "%.*s.%.*s.%.*s", STR_ARG(b64url(a, STR(ES))),
	    STR_ARG(b64url(a, STR(CLAIMS))), STR_ARG(b64url(a, STR("0D"))))));
}

static void
confused_algorithms(void **state)
{
	struct jwt_claims c;

	(void)state;
	/* none, in all its spellings, with and without a signature */
	bad(token_make(a, "{\"alg\":\"none\"}", CLAIMS, NULL, STR(SECRET)));
	bad(token_make(a, "{\"alg\":\"None\"}", CLAIMS, NULL, STR(SECRET)));
	bad(token_make(a, "{\"typ\":\"JWT\"}", CLAIMS, NULL, STR(SECRET)));
	bad(str_c(arena_printf(a, "%.*s.%.*s.", STR_ARG(b64url(a, STR("{\"alg\":\"none\"}"))),
	    STR_ARG(b64url(a, STR(CLAIMS))))));
	bad(token_make(a, "{\"alg\":\"hs256\"}", CLAIMS, NULL, STR(SECRET)));
	bad(token_make(a, "{\"alg\":\"HS512\"}", CLAIMS, NULL, STR(SECRET)));
	bad(token_make(a, "{\"alg\":[\"HS256\"]}", CLAIMS, NULL, STR(SECRET)));
	/* the public key as the secret of HS256 */
	bad(token_make(a, "{\"alg\":\"HS256\",\"kid\":\"r\"}", CLAIMS, NULL, public_pem(a, rsa)));
	bad(token_make(a, HS, CLAIMS, NULL, public_pem(a, rsa)));
	bad(token_make(a, "{\"alg\":\"HS256\",\"kid\":\"e\"}", CLAIMS, NULL, public_pem(a, ec)));
	/* the right key under the name of another algorithm's */
	bad(token_make(a, "{\"alg\":\"RS256\",\"kid\":\"e\"}", CLAIMS, rsa, STR("")));
	/* keys that the token brings along are not looked at */
	bad(token_make(a,
	    arena_printf(a, "{\"alg\":\"RS256\",\"kid\":\"r\",\"jwk\":%s,\"jku\":\"http://127.0.0.1/\"}",
		rsa_jwk(a, other_rsa, "r", "")),
	    CLAIMS, other_rsa, STR("")));
	assert_int_equal(
	    verdict_at(&rules, &keys,
		token_make(a, "{\"alg\":\"RS256\",\"kid\":\"new\"}", CLAIMS, rsa, STR("")), NOW, &c),
	    JWT_NO_KEY);
	bad(token_make(a, "{\"alg\":\"HS256\",\"kid\":7}", CLAIMS, NULL, STR(SECRET)));
}

static void
forms(void **state)
{
	struct str t = token_make(a, HS, CLAIMS, NULL, STR(SECRET));
	char *big = arena_alloc(a, LIM_JWT + 100);

	(void)state;
	bad(STR(""));
	bad(STR(".."));
	bad(STR("a.b"));
	bad(str_c(arena_printf(a, "%.*s.x", STR_ARG(t))));
	bad(str_c(arena_printf(a, "%.*s=", STR_ARG(t))));
	bad(str_c(arena_printf(a, " %.*s", STR_ARG(t))));
	bad(token_make(a, "[\"HS256\"]", CLAIMS, NULL, STR(SECRET)));
	bad(token_make(a, "{\"alg\":\"HS256\"", CLAIMS, NULL, STR(SECRET)));
	bad(token_make(a, HS, "[]", NULL, STR(SECRET)));
	bad(token_make(a, HS, "{\"exp\":1800000100,}", NULL, STR(SECRET)));
	bad(token_make(a, "{\"alg\":\"HS256\",\"crit\":[\"exp\"]}", CLAIMS, NULL, STR(SECRET)));
	bad(token_make(a, "{\"alg\":\"HS256\",\"crit\":[\"b64\"],\"b64\":false}", CLAIMS, NULL, STR(SECRET)));
	memset(big, 'A', LIM_JWT + 99);
	bad(token_make(a, HS,
	    arena_printf(a, "{\"x\":\"%s\",\"account_id\":\"anna\",\"exp\":1800000100}", big), NULL,
	    STR(SECRET)));
}

static void
claims(const char *text, const struct jwt_rules *r, bool is_good)
{
	struct jwt_claims c;
	enum jwt_verdict v = verdict_at(r, &keys, token_make(a, HS, text, NULL, STR(SECRET)), NOW, &c);

	if (v != (is_good ? JWT_GOOD : JWT_BAD))
		fail_msg("%s is taken for %s", text, is_good ? "bad" : "good");
}

static void
times(void **state)
{
	(void)state;
	claims("{\"account_id\":\"anna\"}", &rules, false);
	claims("{\"account_id\":\"anna\",\"exp\":1799999971}", &rules, true); /* leeway of 30 s */
	claims("{\"account_id\":\"anna\",\"exp\":1799999970}", &rules, false);
	claims("{\"account_id\":\"anna\",\"exp\":\"1800000100\"}", &rules, false);
	claims("{\"account_id\":\"anna\",\"exp\":1800000100.5}", &rules, false);
	claims("{\"account_id\":\"anna\",\"exp\":-1}", &rules, false);
	claims("{\"account_id\":\"anna\",\"exp\":null}", &rules, false);
	claims("{\"account_id\":\"anna\",\"exp\":1800000100000}", &rules,
	    false); /* milliseconds: would never end */
	claims("{\"account_id\":\"anna\",\"exp\":99999999999999999999}", &rules, false);
	claims("{\"account_id\":\"anna\",\"exp\":1800000100,\"nbf\":1800000030}", &rules, true);
	claims("{\"account_id\":\"anna\",\"exp\":1800000100,\"nbf\":1800000031}", &rules, false);
	claims("{\"account_id\":\"anna\",\"exp\":1800000100,\"nbf\":\"1\"}", &rules, false);
	claims("{\"account_id\":\"anna\",\"exp\":1800000100,\"iat\":1800000031}", &rules, false);
	claims("{\"account_id\":\"anna\",\"exp\":1800000100,\"iat\":1700000000}", &rules, true);
}

static void
issuer_and_audience(void **state)
{
	const struct jwt_rules r = {
		.account_claim = "account_id", .issuer = "https://id.example", .audience = "tavern"
	};
#define WITH(more) "{\"account_id\":\"anna\",\"exp\":1800000100" more "}"

	(void)state;
	claims(WITH(",\"iss\":\"https://id.example\",\"aud\":\"tavern\""), &r, true);
	claims(WITH(",\"iss\":\"https://id.example\",\"aud\":[\"x\",\"tavern\"]"), &r, true);
	claims(WITH(",\"iss\":\"https://id.example/\",\"aud\":\"tavern\""), &r, false);
	claims(WITH(",\"iss\":[\"https://id.example\"],\"aud\":\"tavern\""), &r, false);
	claims(WITH(",\"aud\":\"tavern\""), &r, false);
	claims(WITH(",\"iss\":\"https://id.example\""), &r, false);
	claims(WITH(",\"iss\":\"https://id.example\",\"aud\":\"tavern2\""), &r, false);
	claims(WITH(",\"iss\":\"https://id.example\",\"aud\":[]"), &r, false);
	claims(WITH(",\"iss\":\"https://id.example\",\"aud\":{\"tavern\":1}"), &r, false);
	claims(WITH(",\"sub\":7"), &rules, false);
}

static void
account_claim(void **state)
{
	const struct jwt_rules single = { .leeway = 0 };

	(void)state;
	claims("{\"exp\":1800000100}", &rules, false);
	claims("{\"account_id\":7,\"exp\":1800000100}", &rules, false);
	claims("{\"account_id\":\"\",\"exp\":1800000100}", &rules, false);
	claims("{\"account_id\":\"a\\nb\",\"exp\":1800000100}", &rules, false);
	claims("{\"exp\":1800000100}", &single, true);
}

static int
try_pem(struct str pem)
{
	struct jwt_keys k = { 0 };
	const char *why = NULL;
	int rc = jwt_key_pem(a, &k, pem, &why);

	assert_true(rc == 0 ? k.list.n == 1 : why != NULL);
	return rc;
}

static void
keys_of_files(void **state)
{
	struct jwt_keys k = { 0 };
	struct jwt_claims c;
	const char *why;

	(void)state;
	assert_int_equal(try_pem(public_pem(a, rsa)), 0);
	assert_int_equal(try_pem(public_pem(a, ec)), 0);
	assert_int_equal(try_pem(public_pem(a, small_rsa)), -1);
	assert_int_equal(try_pem(public_pem(a, p384)), -1);
	assert_int_equal(try_pem(STR("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n")), -1);
	assert_int_equal(try_pem(STR("")), -1);
	assert_int_equal(jwt_key_pem(a, &k, public_pem(a, ec), &why), 0);
	assert_int_equal(verdict_at(&rules, &k, token_make(a, ES, CLAIMS, ec, STR("")), NOW, &c), JWT_GOOD);
	assert_int_equal(
	    verdict_at(&rules, &k, token_make(a, RS, CLAIMS, rsa, STR("")), NOW, &c), JWT_NO_KEY);
	assert_int_equal(
	    verdict_at(&rules, &k, token_make(a, HS, CLAIMS, NULL, public_pem(a, ec)), NOW, &c), JWT_NO_KEY);
}

static void
secrets(void **state)
{
	struct jwt_keys k = { 0 };
	const char *why;

	(void)state;
	assert_int_equal(jwt_key_secret(a, &k, "short", &why), -1);
	assert_int_equal(jwt_key_secret(a, &k, "", &why), -1);
	assert_int_equal(jwt_key_secret(a, &k, arena_strdup(a, public_pem(a, rsa)), &why), -1);
	assert_int_equal(k.list.n, 0);
}

static size_t
set_size(const char *text, bool with_secrets)
{
	struct jwt_keys k = { 0 };
	const char *why = NULL;
	int rc = jwt_key_set(a, &k, str_c(text), with_secrets, &why);

	assert_int_equal(rc, k.list.n > 0 ? 0 : -1);
	assert_true(rc == 0 || why != NULL);
	return k.list.n;
}

static void
sets(void **state)
{
	const char *oct =
	    "{\"kty\":\"oct\",\"kid\":\"s\",\"k\":\"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY\"}";

	(void)state;
	assert_int_equal(set_size("{\"keys\":[]}", true), 0);
	assert_int_equal(set_size("[]", true), 0);
	assert_int_equal(set_size("nonsense", true), 0);
	assert_int_equal(set_size(arena_printf(a, "{\"keys\":[%s]}", oct), true), 1);
	assert_int_equal(
	    set_size(arena_printf(a, "{\"keys\":[%s]}", oct), false), 0); /* no secrets from the network */
	assert_int_equal(
	    set_size(arena_printf(a, "{\"keys\":[{\"kty\":\"oct\",\"k\":\"c2hvcnQ\"},7,null,{}, %s]}",
			 rsa_jwk(a, rsa, "r", "")),
		true),
	    1);
	assert_int_equal(
	    set_size(arena_printf(a, "{\"keys\":[%s]}", rsa_jwk(a, rsa, "r", ",\"use\":\"enc\"")), true), 0);
	assert_int_equal(
	    set_size(arena_printf(a, "{\"keys\":[%s]}", rsa_jwk(a, rsa, "r", ",\"alg\":\"RS512\"")), true),
	    0);
	assert_int_equal(
	    set_size(
		arena_printf(a, "{\"keys\":[%s]}", rsa_jwk(a, rsa, "r", ",\"key_ops\":[\"verify\"]")), true),
	    1);
	assert_int_equal(
	    set_size(
		arena_printf(a, "{\"keys\":[%s]}", rsa_jwk(a, rsa, "r", ",\"key_ops\":[\"encrypt\"]")), true),
	    0);
	assert_int_equal(
	    set_size(arena_printf(a, "{\"keys\":[%s]}", rsa_jwk(a, small_rsa, "r", "")), true), 0);
	/* a point that is not on the curve */
	assert_int_equal(set_size("{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":"
				  "\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE\","
				  "\"y\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE\"}]}",
			     true),
	    0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(algorithms),
		cmocka_unit_test(wrong_signatures),
		cmocka_unit_test(confused_algorithms),
		cmocka_unit_test(forms),
		cmocka_unit_test(times),
		cmocka_unit_test(issuer_and_audience),
		cmocka_unit_test(account_claim),
		cmocka_unit_test(keys_of_files),
		cmocka_unit_test(secrets),
		cmocka_unit_test(sets),
	};

	return cmocka_run_group_tests_name("auth_jwt", tests, group_setup, group_teardown);
}
