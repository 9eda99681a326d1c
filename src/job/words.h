/*
 * words: the words of messages that turns and imports have left behind, for all accounts: so that a search
 * rarely has to.
 */
#ifndef JOB_WORDS_H
#define JOB_WORDS_H

#include "db/db.h"

struct words_conf {
	struct db *app;              /* the application's pool: each account is entered */
	bool (*stopping)(void *arg); /* ends a round early */
	void *arg;
};

/* One round with a ctx on the system's pool, whose arena is reset between accounts. 1 = some are left for a
 * round soon, 0, -1 (recorded). */
int words_round(struct ctx *c, const struct words_conf *conf);

#endif
