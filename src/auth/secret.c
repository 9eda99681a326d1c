/*
 * secret: see secret.h.
 */
#include "auth/secret.h"

#include "base/digest.h"
#include "base/rng.h"
#include "base/vec.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

enum { VERSION = 1, KEY = 32, NONCE = 12, TAG = 16, KEY_TEXT_MIN = 32, HEAD = 2 + NONCE, MASK_MIN = 12 };

struct master {
	uint8_t id; /* first byte of the key's digest: which key opens this */
	uint8_t key[KEY];
};

struct secrets {
	VEC(struct master) keys;
};

/* The text may be of any form, so it is hashed into a key; it has at least 32 characters of the operator's
 * randomness. */
static struct master
master_of(struct arena *a, struct str text)
{
	struct str labelled = str_c(arena_printf(a, "tavernd sealed secrets 1:%.*s", STR_ARG(text)));
	struct digest d = digest_sha256(labelled), id;
	struct master m;

	memcpy(m.key, d.b, KEY);
	id = digest_sha256((struct str){ (const char *)m.key, KEY });
	m.id = id.b[0];
	return m;
}

struct secrets *
secrets_create(struct arena *a, const char *master_keys, const char **why)
{
	struct secrets *s = arena_new(a, struct secrets);
	struct str rest = str_c(master_keys), item;

	while (master_keys && str_next(&rest, ',', &item)) {
		item = str_trim(item);
		if (item.n == 0)
			continue;
		if (item.n < KEY_TEXT_MIN) {
			*why = "a master key for secrets has fewer than 32 characters";
			return NULL;
		}
		vec_push(a, &s->keys, master_of(a, item));
	}
	return s;
}

static int
unavailable(struct ctx *c, const char *log)
{
	fail(c, ERR_UNAVAILABLE, "secret_unavailable",
	    "stored secrets cannot be used now; the operator must look at secrets_master_key");
	return fail_log(c, "%s", log);
}

int
secret_seal(struct ctx *c, const struct secrets *s, struct str context, struct str plain, struct str *out)
{
	uint8_t *box = arena_alloc(c->a, HEAD + plain.n + TAG);
	const struct master *m = s->keys.v;
	EVP_CIPHER_CTX *x;
	int n = 0;
	bool good;

	if (s->keys.n == 0)
		return unavailable(c, "no master key is set");
	box[0] = VERSION;
	box[1] = m->id;
	rng_system(box + 2, NONCE);
	x = EVP_CIPHER_CTX_new();
	good = x && EVP_EncryptInit_ex(x, EVP_aes_256_gcm(), NULL, m->key, box + 2) == 1 &&
	       EVP_EncryptUpdate(x, NULL, &n, (const unsigned char *)context.p, (int)context.n) == 1 &&
	       EVP_EncryptUpdate(x, box + HEAD, &n, (const unsigned char *)plain.p, (int)plain.n) == 1 &&
	       EVP_EncryptFinal_ex(x, box + HEAD + plain.n, &n) == 1 &&
	       EVP_CIPHER_CTX_ctrl(x, EVP_CTRL_GCM_GET_TAG, TAG, box + HEAD + plain.n) == 1;
	EVP_CIPHER_CTX_free(x);
	if (!good)
		return unavailable(c, "sealing failed");
	*out = (struct str){ (const char *)box, HEAD + plain.n + TAG };
	return 0;
}

struct wipe {
	void *p;
	size_t n;
};

static void
wipe(void *arg)
{
	const struct wipe *w = arg;

	OPENSSL_cleanse(w->p, w->n);
}

static bool
open_with(const struct master *m, struct str context, const uint8_t *box, size_t text, uint8_t *out)
{
	EVP_CIPHER_CTX *x = EVP_CIPHER_CTX_new();
	uint8_t tag[TAG];
	int n = 0;
	bool good;

	memcpy(tag, box + HEAD + text, TAG);
	good = x && EVP_DecryptInit_ex(x, EVP_aes_256_gcm(), NULL, m->key, box + 2) == 1 &&
	       EVP_DecryptUpdate(x, NULL, &n, (const unsigned char *)context.p, (int)context.n) == 1 &&
	       EVP_DecryptUpdate(x, out, &n, box + HEAD, (int)text) == 1 &&
	       EVP_CIPHER_CTX_ctrl(x, EVP_CTRL_GCM_SET_TAG, TAG, tag) == 1 &&
	       EVP_DecryptFinal_ex(x, out + text, &n) == 1;
	EVP_CIPHER_CTX_free(x);
	return good;
}

int
secret_open(struct ctx *c, const struct secrets *s, struct str context, struct str sealed, struct str *out)
{
	const uint8_t *box = (const uint8_t *)sealed.p;
	struct wipe *w;
	size_t text;

	if (sealed.n < HEAD + TAG || box[0] != VERSION)
		return unavailable(c, "a sealed text has an unknown form");
	text = sealed.n - HEAD - TAG;
	w = arena_new(c->a, struct wipe);
	*w = (struct wipe){ arena_alloc(c->a, text + TAG), text };
	arena_defer(c->a, wipe, w);
	for (size_t i = 0; i < s->keys.n; i++) {
		if (s->keys.v[i].id == box[1] && open_with(&s->keys.v[i], context, box, text, w->p)) {
			*out = (struct str){ w->p, text };
			return 0;
		}
	}
	return unavailable(c, "a sealed text fits none of the master keys");
}

struct str
secret_mask(struct arena *a, struct str plain)
{
	if (plain.n < MASK_MIN)
		return STR("****");
	return str_c(arena_printf(a, "%.4s****%.4s", plain.p, plain.p + plain.n - 4));
}
