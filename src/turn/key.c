#include "turn/key.h"

#include "turn/turn_private.h"

#define KEY_MAX 255
#define KEY_MS ((int64_t)KEY_HOURS * 3600 * 1000)

int
turn_key_read(struct ctx *c, struct str header, struct str path, const struct json *body, struct turn_key *out)
{
	struct sb sb = sb_new(c->a);

	for (size_t i = 0; i < header.n; i++)
		if (header.p[i] < ' ' || header.p[i] > '~')
			return fail(c, ERR_INVALID, "invalid_idempotency_key", "Idempotency-Key may hold printable ASCII characters only");
	if (header.n < 1 || header.n > KEY_MAX)
		return fail(c, ERR_INVALID, "invalid_idempotency_key", "Idempotency-Key must have 1 to %d characters", KEY_MAX);
	sb_add(&sb, path);
	sb_addc(&sb, '\n');
	sb_add(&sb, json_text(c->a, body));
	*out = (struct turn_key){ .route = out->route, .text = header, .hash = digest_sha256(sb_str(&sb)) };
	return 0;
}

struct key_ask {
	struct turn_key *key;
	struct run_ref *out;
	int found;
};

static int
key_load(struct ctx *c, void *arg)
{
	struct key_ask *q = arg;
	struct turn_key *key = q->key;
	struct rows *rs = db_query(c, STMT_key_find, P_STR(key->route), P_STR(key->text));
	struct str state, hash;
	int rc = rows_next(rs);

	q->found = 0;
	key->replaces = 0;
	if (rc <= 0)
		return rc;
	hash = row_bytes(rs, 0, c->a);
	state = row_str(rs, 3);
	*q->out = (struct run_ref){ row_str(rs, 4), row_int(rs, 2) };
	if (row_int(rs, 1) + KEY_MS < c->now && !str_is(state, "running")) {
		key->replaces = q->out->run_no;
		return 0;
	}
	if (hash.n != sizeof(key->hash) || memcmp(hash.p, &key->hash, hash.n) != 0)
		return fail(c, ERR_CONFLICT, "idempotency_key_reused",
		    "this Idempotency-Key was used for another request; take a new key for a new request");
	if (str_is(state, "running") || str_is(state, "completed"))
		q->found = 1;
	else
		key->replaces = q->out->run_no;
	return 0;
}

int
turn_key_find(struct ctx *c, struct turn_key *key, struct run_ref *out)
{
	struct key_ask q = { key, out, 0 };

	return db_tx(c, DB_READ, key_load, &q) < 0 ? -1 : q.found;
}

void
turn_key_claim_send(struct ctx *c, const struct turn *t)
{
	const struct turn_key *key = t->q.key;

	if (key == NULL)
		return;
	if (key->replaces != 0)
		db_query(c, STMT_key_release, P_STR(key->route), P_STR(key->text), P_INT(key->replaces));
	db_query(c, STMT_key_claim, P_STR(key->route), P_STR(key->text), P_BYTES(((struct str){ (const char *)&key->hash, sizeof(key->hash) })),
	    P_INT(t->s.branch_no), P_C(t->run_id.s), P_INT(c->now));
}

void
turn_key_answer_send(struct ctx *c, const struct turn *t)
{
	const struct turn_key *key = t->q.key;

	if (key != NULL)
		db_query(c, STMT_key_answer, P_STR(key->route), P_STR(key->text), P_INT(t->run_no), P_STR(t->answer), P_C(t->output_page.s));
}
