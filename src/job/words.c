/*
 * words: see words.h.
 */
#include "job/words.h"

#include "base/tm.h"
#include "store/words.h"

#include <stdlib.h>

#define ACCOUNTS 64  /* looked at in a statement */
#define TURN_MS 2000 /* of one account, before the others have theirs */

struct waiting {
	int64_t behind;
	struct {
		int64_t no;
		char id[129];
	} v[ACCOUNTS];
	size_t n;
};

static int
waiting_tx(struct ctx *c, void *arg)
{
	struct waiting *w = arg;
	struct rows *rs = db_query(c, STMT_search_waiting, P_INT(w->behind), P_INT(ACCOUNTS));
	int rc;

	w->n = 0;
	while ((rc = rows_next(rs)) > 0) {
		struct str id = row_str(rs, 1);

		if (id.n >= sizeof(w->v[0].id))
			continue;
		w->v[w->n].no = row_int(rs, 0);
		memcpy(w->v[w->n].id, id.p, id.n);
		w->v[w->n++].id[id.n] = '\0';
	}
	return rc;
}

static int
settle_tx(struct ctx *c, void *arg)
{
	(void)arg;
	return rows_count(db_query0(c, STMT_search_settle)) < 0 ? -1 : 0;
}

/* 1 some are left, 0, -1. An account that cannot be entered any more is none of our business. */
static int
account_fill(struct ctx *c, const struct words_conf *conf, const char *id)
{
	struct credential as = { .kind = CRED_ACCOUNT_ID, .value = id };
	struct ctx in = { .a = c->a, .db = conf->app, .now = tm_now(), .rid = "words", .cred = &as };
	int rc = words_fill(&in, 1, in.now + TURN_MS);

	if (rc >= 0 || in.err.kind == ERR_FORBIDDEN || in.err.kind == ERR_UNAUTHENTICATED)
		return rc > 0;
	c->err = in.err;
	return -1;
}

int
words_round(struct ctx *c, const struct words_conf *conf)
{
	struct waiting *w = malloc(sizeof(*w));
	bool any = false;
	int left = 0;

	if (w == NULL)
		abort();
	w->behind = 0;
	do {
		c->now = tm_now();
		if (db_tx(c, DB_SYSTEM, waiting_tx, w) < 0)
			left = -1;
		for (size_t i = 0; left >= 0 && i < w->n && !conf->stopping(conf->arg); i++) {
			int rc = account_fill(c, conf, w->v[i].id);

			left = rc < 0 ? -1 : left || rc > 0;
			any = true;
			if (rc >= 0) /* an error's texts live there */
				arena_reset(c->a);
		}
		w->behind = left >= 0 && w->n > 0 ? w->v[w->n - 1].no : 0;
	} while (left >= 0 && w->n == ACCOUNTS && !conf->stopping(conf->arg));
	free(w);
	if (left == 0 && any && db_tx(c, DB_SYSTEM, settle_tx, NULL) < 0)
		left = -1;
	return left;
}
