/*
 * migrate: the schema's way forward. Migrations are the files of sql/migrations, built into the
 * programs, so a daemon knows the version it was made for. Each is applied once, in its own
 * transaction (unless it says `-- no-transaction`, which a single statement may), by tavern_owner,
 * under an advisory lock. Applied ones are recorded with a checksum; a changed file is refused.
 */
#ifndef DB_MIGRATE_H
#define DB_MIGRATE_H

#include "db.h"

struct migration {
	int number;       /* from 1, without gaps */
	const char *name; /* "0001_accounts" */
	const char *const *lines;
	bool transaction;
};
extern const struct migration migrations[]; /* ends with .number 0 */
extern const int migrations_n;

enum migrate_mode {
	MIGRATE_APPLY,
	MIGRATE_DRY_RUN, /* all that is pending in one transaction that is rolled back */
	MIGRATE_STATUS,  /* only says what is applied */
};

struct migrate_options {
	const struct migration *list; /* ends with .number 0 */
	enum migrate_mode mode;
	void (*say)(void *arg, const char *line); /* progress, for people */
	void *arg;
};

/*
 * Connects as conf says (a member of tavern_owner, or a superuser) and works through the list.
 * 0, or -1 with the reason in c->err. Only conf's conninfo and password matter.
 */
int migrate_run(struct ctx *c, const struct db_conf *conf, const struct migrate_options *o);

#endif
