/*
 * ctl_replay: `tavernctl replay --verify`: makes the requests of committed turns again and says which would be others now: after
 * an upgrade, before it is trusted. Reads only; asks no model. Works as the application role, account by account.
 */
#include "auth/auth.h"
#include "ctl.h"
#include "turn/replay.h"

#include <stdio.h>
#include <stdlib.h>

enum { PAGES_AT_ONCE = 200 };

struct verify {
	struct ctl *ctl;
	struct turns *turns;
	struct str account, session;  /* absent = all */
	bool quiet;
	int64_t equal, other, without;
};

struct account_names {
	VEC(const char *) v;
};

static int
accounts_list(struct ctx *c, void *arg)
{
	struct account_names *names = arg;
	struct rows *rs = db_query0(c, STMT_account_list);
	int rc;

	names->v.n = 0;
	while ((rc = rows_next(rs)) > 0)
		vec_push(c->a, &names->v, arena_strdup(c->a, row_str(rs, 0)));
	return rc;
}

/* Pages behind one, in the order in which they were made. */
struct batch {
	struct str session;
	int64_t behind;
	struct {
		struct str floor, page, session;
	} v[PAGES_AT_ONCE];
	size_t n;
};

static int
batch_read(struct ctx *c, void *arg)
{
	struct batch *b = arg;
	struct rows *rs = db_query(c, STMT_replay_pages, P_INT(b->behind), P_STR(b->session), P_INT(PAGES_AT_ONCE));
	int64_t last = b->behind;
	int rc;

	b->n = 0;
	while ((rc = rows_next(rs)) > 0) {
		last = row_int(rs, 0);
		b->v[b->n].floor = row_str(rs, 1);
		b->v[b->n].page = row_str(rs, 2);
		b->v[b->n++].session = row_str(rs, 3);
	}
	b->behind = last;
	return rc;
}

static void
difference_say(const char *account, const struct replayed *p)
{
	printf("%s\t%.*s\t%.*s\t%.*s\tfloor %lld: %.*s", account, STR_ARG(p->session_id), STR_ARG(p->floor_id), STR_ARG(p->page_id), (long long)p->floor_no,
	    STR_ARG(json_get_str(p->difference, "path")));
	if (json_get_str(p->difference, "source").p)
		printf(" (%.*s)", STR_ARG(json_get_str(p->difference, "source")));
	for (size_t i = 0; i < json_len(p->notes); i++)
		printf("%s%.*s", i ? ", " : "; ", STR_ARG(json_str(json_at(p->notes, i))));
	putchar('\n');
}

/* -1: the error is recorded and nothing more can be done. */
static int
page_verify(struct verify *w, struct ctx *c, const char *account, struct str floor, struct str page)
{
	struct replayed p;

	if (turn_replay(w->turns, c, &(struct replay_request){ .floor_id = floor, .page_id = page }, &p) < 0) {
		if (c->err.kind != ERR_CONFLICT && c->err.kind != ERR_NOT_FOUND)
			return -1;
		w->without++; /* too old, or gone meanwhile */
		err_clear(c);
		return 0;
	}
	w->equal += p.equal;
	w->other += !p.equal;
	if (!p.equal && !w->quiet)
		difference_say(account, &p);
	return 0;
}

static int
account_verify(struct verify *w, const char *account)
{
	struct credential as = { .kind = CRED_ACCOUNT_ID, .value = account };
	struct arena *a = arena_create("batch", 0), *one = arena_create("replay", 0);
	struct batch *b = calloc(1, sizeof *b);
	int rc = 0;

	if (b == NULL)
		abort();
	b->session = w->session;
	do {
		struct ctx list = *w->ctl->ctx;

		arena_reset(a);
		list.a = a;
		list.cred = &as;
		rc = db_tx(&list, DB_READ, batch_read, b);
		for (size_t i = 0; rc == 0 && i < b->n; i++) {
			struct ctx c = *w->ctl->ctx;

			arena_reset(one);
			c.a = one;
			c.cred = &as;
			rc = page_verify(w, &c, account, b->v[i].floor, b->v[i].page);
			if (rc < 0)
				list.err = c.err;
		}
		if (rc < 0)
			fail(w->ctl->ctx, list.err.kind, "replay_failed", "account \"%s\": %s", account, list.err.msg);
	} while (rc == 0 && b->n == PAGES_AT_ONCE);
	free(b);
	arena_destroy(&one);
	arena_destroy(&a);
	return rc;
}

static int
all_verify(struct verify *w)
{
	struct account_names names = { 0 };

	if (w->account.p)
		return account_verify(w, arena_strdup(w->ctl->a, w->account));
	if (db_tx(w->ctl->ctx, DB_READ, accounts_list, &names) < 0)
		return -1;
	for (size_t i = 0; i < names.v.n; i++) {
		if (account_verify(w, names.v.v[i]) == 0)
			continue;
		if (w->ctl->ctx->err.kind != ERR_FORBIDDEN)
			return -1;
		fprintf(stderr, "tavernctl: %s: left out\n", w->ctl->ctx->err.msg); /* a disabled account cannot be entered */
		err_clear(w->ctl->ctx);
	}
	return 0;
}

static bool
options(struct verify *w, int argc, char **argv)
{
	bool verify = false;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--verify") == 0)
			verify = true;
		else if (strcmp(argv[i], "--quiet") == 0)
			w->quiet = true;
		else if (strcmp(argv[i], "--account") == 0 && i + 1 < argc)
			w->account = str_c(argv[++i]);
		else if (strcmp(argv[i], "--session") == 0 && i + 1 < argc)
			w->session = str_c(argv[++i]);
		else
			return false;
	}
	return verify;
}

static int
run(struct ctl *ctl, int argc, char **argv)
{
	static struct credential as_default = { .kind = CRED_ACCOUNT_ID, .value = AUTH_DEFAULT_ACCOUNT };
	const struct settings *s = ctl->set;
	const struct db_conf conf = settings_db(s, DB_APP, 1);
	const struct turns_conf turns = { .provider = s->llm_provider, .model = "", .context_tokens = s->context_tokens, .reply_tokens = s->reply_tokens,
		.cache_bytes = (size_t)s->asset_cache_bytes };
	struct verify w = { .ctl = ctl };
	int rc;

	if (!options(&w, argc, argv))
		return ctl_usage(&ctl_replay);
	ctl->ctx->db = db_create(&conf, DB_APP);
	ctl->ctx->cred = &as_default;
	w.turns = turns_create(ctl->a, &turns);
	rc = all_verify(&w);
	turns_stop(w.turns);
	db_destroy(&ctl->ctx->db);
	if (rc < 0)
		return ctl_failed(ctl);
	printf("%lld verified, %lld differ, %lld without a record\n", (long long)(w.equal + w.other), (long long)w.other, (long long)w.without);
	return w.other > 0;
}

const struct ctl_command ctl_replay = { "replay", "--verify [--account ID] [--session ID] [--quiet]",
	"make the requests of committed turns again, without a model; names those that would be others now, exit status 1 if any", run };
