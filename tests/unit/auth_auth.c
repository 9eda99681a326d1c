/* auth: what each mode makes of what a request sent, in the words of the protocol; key sets behind a URL. */
#include "auth/auth.h"
#include "auth_tokens.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail

#include <pthread.h>

#define SECRET "0123456789abcdef0123456789abcdef"
#define NOW 1800000000000
#define HS "{\"alg\":\"HS256\"}"

static struct arena *a;
static EVP_PKEY *rsa1, *rsa2;

static int
group_setup(void **state)
{
	(void)state;
	a = arena_create("test", 0);
	rsa1 = EVP_RSA_gen(2048);
	rsa2 = EVP_RSA_gen(2048);
	return rsa1 && rsa2 ? 0 : -1;
}

static int
group_teardown(void **state)
{
	(void)state;
	arena_destroy(&a);
	EVP_PKEY_free(rsa1);
	EVP_PKEY_free(rsa2);
	return 0;
}

static struct auth *
auth_of(struct auth_conf conf)
{
	const char *why = NULL;
	struct auth *auth = auth_create(a, &conf, &why);

	assert_true((auth == NULL) == (why != NULL));
	return auth;
}

/* "account X", "key HASH", or "STATUS-KIND code". */
static const char *
answer_at(struct auth *auth, const struct auth_input *in, int64_t now)
{
	struct ctx c = { .a = a, .now = now };
	const struct credential *cred;

	if (auth_credential(auth, &c, in) < 0) {
		assert_null(c.cred);
		return arena_printf(a, "%d %s", (int)c.err.kind, c.err.code);
	}
	assert_int_equal(c.err.kind, ERR_NONE);
	cred = c.cred;
	return arena_printf(a, "%s %s", cred->kind == CRED_API_KEY ? "key" : "account", cred->value);
}

static const char *
answer(struct auth *auth, struct auth_input in)
{
	return answer_at(auth, &in, NOW);
}

#define UNAUTH(code) arena_printf(a, "%d %s", ERR_UNAUTHENTICATED, code)
#define FORBID(code) arena_printf(a, "%d %s", ERR_FORBIDDEN, code)
#define REMOTE(r, s) ((struct auth_input){ .remote_addr = STR(r), .server_addr = STR(s) })

static void
off(void **state)
{
	struct auth *auth = auth_of((struct auth_conf){ .kind = AUTH_OFF }),
		    *open = auth_of((struct auth_conf){ .kind = AUTH_OFF, .off_allow_remote = true });
	const char *me = "account default-admin", *refused = FORBID("auth_off_remote");

	(void)state;
	assert_string_equal(answer(auth, (struct auth_input){ .api_key = STR("x") }), me);
	assert_string_equal(answer(auth, REMOTE("127.0.0.1", "127.0.0.1")), me);
	assert_string_equal(answer(auth, REMOTE("127.8.7.6", "127.0.0.1")), me);
	assert_string_equal(answer(auth, REMOTE("::1", "::1")), me);
	assert_string_equal(answer(auth, REMOTE("::ffff:127.0.0.1", "::1")), me);
	assert_string_equal(answer(auth, REMOTE("unix:", "unix:")), me);
	assert_string_equal(answer(auth, REMOTE("10.0.0.1", "127.0.0.1")), refused);
	assert_string_equal(answer(auth, REMOTE("127.0.0.1", "10.0.0.1")), refused);
	assert_string_equal(answer(auth, REMOTE("127.0.0.1.evil.example", "127.0.0.1")), refused);
	assert_string_equal(answer(auth, REMOTE("127.", "127.0.0.1")), refused);
	assert_string_equal(answer(auth, REMOTE("::ffff:10.0.0.1", "::1")), refused);
	assert_string_equal(answer(open, REMOTE("10.0.0.1", "10.0.0.1")), me);
}

static void
api_key(void **state)
{
	struct auth_conf conf = {
		.kind = AUTH_API_KEY, .multi = true, .api_keys = "k1, k2:anna ,", .admin_keys = "root"
	};
	struct auth *multi = auth_of(conf), *single, *stored;

	(void)state;
	conf.multi = false;
	single = auth_of(conf);
	conf.pepper = "pepper";
	stored = auth_of(conf);
	assert_string_equal(
	    answer(multi, (struct auth_input){ .api_key = STR("k1") }), "account default-admin");
	assert_string_equal(answer(multi, (struct auth_input){ .api_key = STR("k2") }), "account anna");
	assert_string_equal(
	    answer(multi, (struct auth_input){ .authorization = STR("Bearer k2") }), "account anna");
	assert_string_equal(
	    answer(multi, (struct auth_input){ .authorization = STR("bearer  k2 ") }), "account anna");
	assert_string_equal(
	    answer(multi, (struct auth_input){ .api_key = STR("root") }), "account default-admin");
	assert_string_equal(
	    answer(single, (struct auth_input){ .api_key = STR("k2") }), "account default-admin");
	assert_string_equal(
	    answer(multi, (struct auth_input){ .api_key = STR("nope") }), FORBID("auth_invalid_credentials"));
	assert_string_equal(answer(multi, (struct auth_input){ .api_key = STR("k2:anna") }),
	    FORBID("auth_invalid_credentials"));
	assert_string_equal(
	    answer(multi, (struct auth_input){ .api_key = STR("nope"), .authorization = STR("Bearer k1") }),
	    FORBID("auth_invalid_credentials"));
	assert_string_equal(
	    answer(multi, (struct auth_input){ .remote_addr = STR("127.0.0.1") }), UNAUTH("auth_required"));
	assert_string_equal(answer(multi, (struct auth_input){ .authorization = STR("Basic azE6") }),
	    UNAUTH("auth_required"));
	assert_string_equal(
	    answer(multi, (struct auth_input){ .authorization = STR("Bearer ") }), UNAUTH("auth_required"));
	/* printf key | openssl dgst -sha256 -hmac pepper */
	assert_string_equal(answer(stored, (struct auth_input){ .api_key = STR("key") }),
	    "key 23e49db7721548ac8aa1dfcce7a931f57b045fb1b72bf44c1eefa9f60a7bc3f8");
	assert_null(auth_of((struct auth_conf){ .kind = AUTH_API_KEY }));
}

static void
new_keys(void **state)
{
	struct str prefix, again, one = auth_key_new(a, &prefix), two = auth_key_new(a, &again);

	(void)state;
	assert_int_equal(prefix.n, 12);
	assert_true(str_starts(one, prefix) && str_starts(one, STR("tvk_")));
	assert_int_equal(one.n, 12 + 1 + 43);
	assert_int_equal(one.p[12], '_');
	assert_false(str_eq(one, two));
	assert_false(str_eq(auth_key_hash(a, "p", one), auth_key_hash(a, "p", two)));
	assert_false(str_eq(auth_key_hash(a, "p", one), auth_key_hash(a, "q", one)));
}

static struct auth_input
with(struct str token)
{
	return (struct auth_input){ .authorization = str_c(arena_printf(a, "Bearer %.*s", STR_ARG(token))) };
}

static struct str
token(const char *claims)
{
	return token_make(a, HS, claims, NULL, STR(SECRET));
}

static void
jwt(void **state)
{
	struct auth_conf conf = { .kind = AUTH_JWT,
		.multi = true,
		.jwt_secret = SECRET,
		.jwt_account_claim = "acc",
		.jwt_leeway = 1000 };
	struct auth *multi = auth_of(conf), *single;
	struct auth_input in = with(token("{\"acc\":\"anna\",\"exp\":1800000100}"));

	(void)state;
	conf.multi = false;
	single = auth_of(conf);
	assert_string_equal(answer(multi, in), "account anna");
	assert_string_equal(answer(multi, in), "account anna"); /* remembered */
	assert_string_equal(answer_at(multi, &in, NOW + 100999), "account anna");
	assert_string_equal(
	    answer_at(multi, &in, NOW + 101000), FORBID("auth_invalid_token")); /* but not for ever */
	assert_string_equal(answer(single, in), "account default-admin");
	assert_string_equal(answer(single, with(token("{\"exp\":1800000100}"))), "account default-admin");
	assert_string_equal(answer(multi, with(token("{\"exp\":1800000100}"))), FORBID("auth_invalid_token"));
	assert_string_equal(answer(multi, with(token("{\"acc\":\"anna\",\"exp\":1700000000}"))),
	    FORBID("auth_invalid_token"));
	assert_string_equal(answer(multi, with(STR("nonsense"))), FORBID("auth_invalid_token"));
	assert_string_equal(
	    answer(multi, (struct auth_input){ .api_key = STR("k") }), UNAUTH("auth_required"));
	assert_null(auth_of((struct auth_conf){ .kind = AUTH_JWT }));
	assert_null(auth_of((struct auth_conf){ .kind = AUTH_JWT, .jwt_secret = "short" }));
	assert_null(
	    auth_of((struct auth_conf){ .kind = AUTH_JWT, .jwt_public_key_file = "/nowhere/at/all" }));
}

/* Many tokens at once: places give way, verdicts stay. */
static void
many_tokens(void **state)
{
	struct auth *auth = auth_of((struct auth_conf){
	    .kind = AUTH_JWT, .multi = true, .jwt_secret = SECRET, .jwt_account_claim = "acc" });

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 1000; i++) {
			const char *claims = arena_printf(a, "{\"acc\":\"a%d\",\"exp\":1800000100}", i);

			assert_string_equal(
			    answer(auth, with(token(claims))), arena_printf(a, "account a%d", i));
		}
	}
}

static struct {
	int calls, rc;
	const char *set;
	pthread_mutex_t lock;
} server = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int
fetch(void *arg, struct ctx *c, const char *url, size_t max, struct str *out)
{
	assert_ptr_equal(arg, &server);
	assert_string_equal(url, "https://id.example/keys");
	assert_true(max > 1000);
	pthread_mutex_lock(&server.lock);
	server.calls++;
	*out = str_c(server.set);
	pthread_mutex_unlock(&server.lock);
	return server.rc < 0 ? fail(c, ERR_UPSTREAM, "upstream_error", "down") : 0;
}

static const char *
set_of(const char *k1, const char *k2)
{
	return arena_printf(a, "{\"keys\":[%s%s%s]}", k1, *k2 ? "," : "", k2);
}

static struct auth_input
signed_by(EVP_PKEY *key, const char *kid)
{
	return with(token_make(a, arena_printf(a, "{\"alg\":\"RS256\",\"kid\":\"%s\"}", kid),
	    "{\"acc\":\"anna\",\"exp\":1800009000}", key, STR("")));
}

static void
keys_behind_a_url(void **state)
{
	struct auth_conf conf = { .kind = AUTH_JWT,
		.multi = true,
		.jwt_account_claim = "acc",
		.jwt_jwks_url = "https://id.example/keys",
		.fetch = fetch,
		.fetch_arg = &server };
	struct auth *auth = auth_of(conf);
	struct auth_input one = signed_by(rsa1, "one"), two = signed_by(rsa2, "two"),
			  forged = signed_by(rsa2, "one"), three = signed_by(rsa1, "three");
	int64_t t = NOW;

	(void)state;
	server.calls = 0;
	server.rc = -1;
	assert_string_equal(
	    answer_at(auth, &one, t), arena_printf(a, "%d auth_keys_unavailable", ERR_UNAVAILABLE));
	assert_string_equal(
	    answer_at(auth, &one, t + 59999), arena_printf(a, "%d auth_keys_unavailable", ERR_UNAVAILABLE));
	assert_int_equal(server.calls, 1); /* at most once a minute */
	server.rc = 0;
	server.set = set_of(rsa_jwk(a, rsa1, "one", ""), "");
	assert_string_equal(answer_at(auth, &one, t += 60000), "account anna");
	assert_int_equal(server.calls, 2);
	assert_string_equal(answer_at(auth, &forged, t), FORBID("auth_invalid_token"));
	assert_string_equal(answer_at(auth, &two, t), FORBID("auth_invalid_token")); /* asked for just now */
	assert_int_equal(server.calls, 2);
	server.set = set_of(rsa_jwk(a, rsa1, "one", ""), rsa_jwk(a, rsa2, "two", ""));
	assert_string_equal(
	    answer_at(auth, &two, t += 60000), "account anna"); /* an unknown name makes it look again */
	assert_string_equal(answer_at(auth, &three, t), FORBID("auth_invalid_token"));
	assert_string_equal(answer_at(auth, &three, t + 1), FORBID("auth_invalid_token"));
	assert_int_equal(server.calls, 3);
	server.rc = -1;
	assert_string_equal(answer_at(auth, &three, t += 60000), FORBID("auth_invalid_token"));
	assert_int_equal(server.calls, 4);
	assert_string_equal(
	    answer_at(auth, &two, t += 700000), "account anna"); /* remembered, and the old set serves */
	server.rc = 0;
	server.set = set_of(rsa_jwk(a, rsa1, "one", ""), "");
	assert_string_equal(answer_at(auth, &three, t += 60000), FORBID("auth_invalid_token"));
	assert_string_equal(answer_at(auth, &two, t),
	    FORBID("auth_invalid_token")); /* a key that is gone is gone for remembered tokens too */
	assert_string_equal(answer_at(auth, &one, t), "account anna");
}

static void *
ask(void *arg)
{
	struct arena *mine = arena_create("thread", 0);
	struct auth_input in = { .authorization = STR_NULL };
	struct {
		struct auth *auth;
		struct str header;
		int good;
	} *job = arg;

	in.authorization = job->header;
	for (int i = 0; i < 50; i++) {
		struct ctx c = { .a = mine, .now = NOW + i * 60000 };

		job->good += auth_credential(job->auth, &c, &in) == 0;
	}
	arena_destroy(&mine);
	return NULL;
}

static void
threads(void **state)
{
	struct auth_conf conf = { .kind = AUTH_JWT,
		.multi = true,
		.jwt_account_claim = "acc",
		.jwt_jwks_url = "https://id.example/keys",
		.fetch = fetch,
		.fetch_arg = &server };
	struct {
		struct auth *auth;
		struct str header;
		int good;
	} jobs[4];
	pthread_t t[4];

	(void)state;
	server.rc = 0;
	server.set = set_of(rsa_jwk(a, rsa1, "one", ""), "");
	jobs[0].auth = auth_of(conf);
	for (int i = 0; i < 4; i++) {
		jobs[i].auth = jobs[0].auth;
		jobs[i].header =
		    i == 3 ? signed_by(rsa2, "two").authorization : signed_by(rsa1, "one").authorization;
		jobs[i].good = 0;
		assert_int_equal(pthread_create(&t[i], NULL, ask, &jobs[i]), 0);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], NULL);
		assert_int_equal(jobs[i].good, i == 3 ? 0 : 50);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(off),
		cmocka_unit_test(api_key),
		cmocka_unit_test(new_keys),
		cmocka_unit_test(jwt),
		cmocka_unit_test(many_tokens),
		cmocka_unit_test(keys_behind_a_url),
		cmocka_unit_test(threads),
	};

	return cmocka_run_group_tests_name("auth_auth", tests, group_setup, group_teardown);
}
