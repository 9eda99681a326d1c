/* keyring: see keyring.h. A fetched set is counted by its users, so that it can be exchanged under them. */
#include "auth/keyring.h"

#include "base/file.h"
#include "base/log.h"

#include <errno.h>
#include <pthread.h>

enum { KEY_FILE_MAX = 1 << 18, SET_MAX_AGE_MS = 600000, FETCH_PAUSE_MS = 60000 };

struct key_set {
	struct arena *a;
	struct jwt_keys keys;
	int refs;
};

struct keyring {
	const struct auth_conf *conf;
	struct jwt_rules rules;
	struct jwt_keys fixed;
	pthread_mutex_t fetching; /* held while the URL is asked */
	pthread_mutex_t lock;     /* of what follows */
	struct key_set *set;      /* NULL = never had */
	int64_t fetched, tried;   /* ms; 0 = never */
};

static struct key_set *
set_get(struct keyring *k)
{
	struct key_set *s;

	pthread_mutex_lock(&k->lock);
	s = k->set;
	if (s)
		s->refs++;
	pthread_mutex_unlock(&k->lock);
	return s;
}

static void
set_put(struct keyring *k, struct key_set *s)
{
	struct arena *last;

	if (!s)
		return;
	pthread_mutex_lock(&k->lock);
	last = --s->refs == 0 ? s->a : NULL;
	pthread_mutex_unlock(&k->lock);
	arena_destroy(&last); /* s itself lies there */
}

static void
ring_free(void *arg)
{
	struct keyring *k = arg;

	set_put(k, k->set);
	pthread_mutex_destroy(&k->fetching);
	pthread_mutex_destroy(&k->lock);
}

static int
file_keys(struct arena *a, struct keyring *k, const char **why)
{
	const struct auth_conf *conf = k->conf;
	const char *path = conf->jwt_public_key_file, *set = conf->jwt_jwks_file;
	struct str text;

	if (path) {
		text = file_read(a, path, KEY_FILE_MAX);
		if (!text.p || jwt_key_pem(a, &k->fixed, text, why) < 0) {
			*why = arena_printf(a, "%s: %s", path, text.p ? *why : strerror(errno));
			return -1;
		}
	}
	if (set) {
		text = file_read(a, set, KEY_FILE_MAX);
		if (!text.p || jwt_key_set(a, &k->fixed, text, true, why) < 0) {
			*why = arena_printf(a, "%s: %s", set, text.p ? *why : strerror(errno));
			return -1;
		}
	}
	return 0;
}

struct keyring *
keyring_create(struct arena *a, const struct auth_conf *conf, const char **why)
{
	struct keyring *k = arena_new(a, struct keyring);

	k->conf = conf;
	k->rules = (struct jwt_rules){ .issuer = conf->jwt_issuer,
		.audience = conf->jwt_audience,
		.leeway = conf->jwt_leeway,
		.account_claim = conf->multi ? conf->jwt_account_claim : NULL };
	if (conf->jwt_secret && jwt_key_secret(a, &k->fixed, conf->jwt_secret, why) < 0)
		return NULL;
	if (file_keys(a, k, why) < 0)
		return NULL;
	if (k->fixed.list.n == 0 && (!conf->jwt_jwks_url || !conf->fetch)) {
		*why = "auth_mode = jwt needs jwt_secret, jwt_public_key_file, jwt_jwks_file or jwt_jwks_url";
		return NULL;
	}
	pthread_mutex_init(&k->fetching, NULL);
	pthread_mutex_init(&k->lock, NULL);
	arena_defer(a, ring_free, k);
	return k;
}

/* The set behind the URL, read; NULL if it cannot be had. */
static struct key_set *
set_fetch(struct keyring *k, struct ctx *c)
{
	struct ctx f = { .a = c->a, .now = c->now, .rid = c->rid };
	struct arena *a = arena_create("auth.keys", 0);
	struct key_set *s = arena_new(a, struct key_set);
	const char *why = "cannot be fetched";
	struct str text;

	*s = (struct key_set){ .a = a, .refs = 1 };
	if (k->conf->fetch(k->conf->fetch_arg, &f, k->conf->jwt_jwks_url, KEY_FILE_MAX, &text) == 0 &&
	    jwt_key_set(a, &s->keys, text, false, &why) == 0)
		return s;
	log_warn(
	    "auth.jwks_failed", "reason=\"%s\" %s", f.err.msg ? f.err.msg : why, f.err.log ? f.err.log : "");
	arena_destroy(&a);
	return NULL;
}

static bool
due(struct keyring *k, int64_t now, bool wanted)
{
	bool yes;

	pthread_mutex_lock(&k->lock);
	yes = (wanted || k->fetched == 0 || now - k->fetched > SET_MAX_AGE_MS) &&
	      (k->tried == 0 || now - k->tried >= FETCH_PAUSE_MS);
	pthread_mutex_unlock(&k->lock);
	return yes;
}

/* Fetches the set if it is due. One thread asks, the others wait for it. True if there are new keys. */
static bool
renew(struct keyring *k, struct ctx *c, bool wanted)
{
	struct key_set *fresh = NULL, *old;

	if (!k->conf->jwt_jwks_url || !k->conf->fetch || !due(k, c->now, wanted))
		return false;
	pthread_mutex_lock(&k->fetching);
	if (due(k, c->now, wanted)) {
		fresh = set_fetch(k, c);
		pthread_mutex_lock(&k->lock);
		k->tried = c->now;
		old = fresh ? k->set : NULL;
		if (fresh) {
			k->set = fresh;
			k->fetched = c->now;
		}
		pthread_mutex_unlock(&k->lock);
		set_put(k, old);
	}
	pthread_mutex_unlock(&k->fetching);
	return fresh != NULL;
}

static enum jwt_verdict
check_all(struct keyring *k, struct ctx *c, struct str token, struct jwt_claims *out, const char **why)
{
	enum jwt_verdict v = jwt_check(c->a, &(struct jwt_question){ &k->rules, &k->fixed, token, c->now }, out, why);
	struct key_set *s;

	if (v == JWT_GOOD)
		return v;
	s = set_get(k);
	if (s) {
		enum jwt_verdict again = jwt_check(c->a, &(struct jwt_question){ &k->rules, &s->keys, token, c->now }, out, why);

		if (again != JWT_NO_KEY || v == JWT_NO_KEY)
			v = again;
		set_put(k, s);
	}
	return v;
}

int
keyring_check(struct keyring *k, struct ctx *c, struct str token, struct jwt_claims *out, bool *renewed,
    const char **why)
{
	enum jwt_verdict v;
	bool had;

	*renewed = renew(k, c, false);
	v = check_all(k, c, token, out, why);
	if (v == JWT_NO_KEY && renew(k, c, true)) {
		*renewed = true;
		v = check_all(k, c, token, out, why);
	}
	pthread_mutex_lock(&k->lock);
	had = k->set != NULL || !k->conf->jwt_jwks_url;
	pthread_mutex_unlock(&k->lock);
	return v == JWT_GOOD ? 1 : v == JWT_NO_KEY && !had ? -1 : 0;
}
