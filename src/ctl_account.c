/*
 * ctl_account: `tavernctl account`: accounts and API keys. Works as the application role in the name of the
 * default account.
 */
#include "auth/account.h"
#include "auth/auth.h"
#include "base/tm.h"
#include "ctl.h"

#include <stdio.h>
#include <stdlib.h>

enum { DAYS_MAX = 36500 };

struct work {
	struct ctl *ctl;
	struct str id, key, name;
	bool admin;
	int64_t expires_at;
	struct account_key made;
};

struct verb {
	const char *name;
	int words; /* operands */
	int (*fn)(struct ctx *c, void *work);
	void (*done)(const struct work *w); /* after the commit; NULL = nothing to say */
};

static int
list(struct ctx *c, void *arg)
{
	struct rows *rs = db_query0(c, STMT_account_list);
	int rc;

	(void)arg;
	while ((rc = rows_next(rs)) > 0)
		printf("%.*s\t%.*s\t%.*s\t%lld key%s\t%.*s%s\n", STR_ARG(row_str(rs, 0)),
		    STR_ARG(row_str(rs, 2)), STR_ARG(row_str(rs, 3)), (long long)row_int(rs, 5),
		    row_int(rs, 5) == 1 ? "" : "s", STR_ARG(row_str(rs, 1)),
		    row_bool(rs, 4) ? " (default)" : "");
	return rc;
}

static int
create(struct ctx *c, void *arg)
{
	struct work *w = arg;

	return account_create(c, w->id, w->name.p ? w->name : w->id, w->admin ? ROLE_ADMIN : ROLE_USER);
}

static int
disable(struct ctx *c, void *arg)
{
	return account_enable(c, ((struct work *)arg)->id, false);
}

static int
enable(struct ctx *c, void *arg)
{
	return account_enable(c, ((struct work *)arg)->id, true);
}

static int
key_create(struct ctx *c, void *arg)
{
	struct work *w = arg;
	const struct settings *s = w->ctl->set;

	return account_key_create(c, s->api_key_pepper ? s->api_key_pepper : s->secrets_master_key, w->id,
	    w->name.p ? w->name : STR("key"), w->expires_at, &w->made);
}

/* The key alone on stdout, so that a script can take it. */
static void
key_shown(const struct work *w)
{
	printf("%.*s\n", STR_ARG(w->made.key));
	fflush(stdout);
	fputs("This key is shown only now; the database holds a hash of it.\n", stderr);
}

static int
key_list(struct ctx *c, void *arg)
{
	struct rows *rs = db_query(c, STMT_api_key_list, P_STR(((struct work *)arg)->id));
	int rc;

	while ((rc = rows_next(rs)) > 0)
		printf("%.*s\t%.*s…\t%s%s%s\t%.*s\n", STR_ARG(row_str(rs, 0)), STR_ARG(row_str(rs, 2)),
		    !row_null(rs, 5)  ? "revoked "
		    : row_null(rs, 4) ? "valid"
				      : "until ",
		    !row_null(rs, 5) ? tm_iso(c->a, row_int(rs, 5)) : "",
		    row_null(rs, 5) && !row_null(rs, 4) ? tm_iso(c->a, row_int(rs, 4)) : "",
		    STR_ARG(row_str(rs, 1)));
	return rc;
}

static int
key_revoke(struct ctx *c, void *arg)
{
	const struct work *w = arg;

	return account_key_revoke(c, w->id, w->key);
}

/* clang-format off */
static const struct verb verbs[] = {
	{ "list",       0, list,       NULL },
	{ "create",     1, create,     NULL },
	{ "disable",    1, disable,    NULL },
	{ "enable",     1, enable,     NULL },
	{ "key create", 1, key_create, key_shown },
	{ "key list",   1, key_list,   NULL },
	{ "key revoke", 2, key_revoke, NULL },
};
/* clang-format on */

/* Options behind the operands: --admin, --name NAME, --days N. False if there is anything else. */
static bool
options(struct work *w, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		int64_t days;

		if (strcmp(argv[i], "--admin") == 0) {
			w->admin = true;
		} else if (strcmp(argv[i], "--name") == 0 && i + 1 < argc) {
			w->name = str_c(argv[++i]);
		} else if (strcmp(argv[i], "--days") == 0 && i + 1 < argc) {
			if (!str_int(str_c(argv[++i]), &days) || days < 1 || days > DAYS_MAX)
				return false;
			w->expires_at = w->ctl->ctx->now + days * 86400000;
		} else {
			return false;
		}
	}
	return true;
}

static const struct verb *
verb_find(int argc, char **argv, int *used)
{
	bool key = argc > 2 && strcmp(argv[1], "key") == 0;
	char name[32] = "";

	*used = key ? 3 : 2;
	if (argc < 2)
		return NULL;
	snprintf(name, sizeof name, "%s%s", key ? "key " : "", argv[*used - 1]);
	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	return NULL;
}

static int
run(struct ctl *ctl, int argc, char **argv)
{
	static struct credential as_default = { .kind = CRED_ACCOUNT_ID, .value = AUTH_DEFAULT_ACCOUNT };
	const struct settings *s = ctl->set;
	const struct db_conf conf = settings_db(s, DB_APP, 1);
	struct work w = { .ctl = ctl };
	int used, rc;
	const struct verb *v = verb_find(argc, argv, &used);

	if (!v || argc < used + v->words || !options(&w, argc - used - v->words, argv + used + v->words))
		return ctl_usage(&ctl_account);
	w.id = v->words > 0 ? str_c(argv[used]) : STR_NULL;
	w.key = v->words > 1 ? str_c(argv[used + 1]) : STR_NULL;
	ctl->ctx->db = db_create(&conf, DB_APP);
	ctl->ctx->cred = &as_default;
	rc = db_tx(ctl->ctx, DB_WRITE, v->fn, &w);
	db_destroy(&ctl->ctx->db);
	if (rc < 0)
		return ctl_failed(ctl);
	if (v->done)
		v->done(&w);
	return 0;
}

const struct ctl_command ctl_account = { "account",
	"list | create ID [--name NAME] [--admin] | disable ID | enable ID |\n"
	"          key create ID [--name NAME] [--days N] | key list ID | key revoke ID KEY",
	"accounts and their API keys; a new key is printed once", run };
