/*
 * account: making, disabling and listing accounts and their keys, for tavernctl and for administrators' routes. Every function
 * runs inside db_tx; whether the caller may do this is the caller's business.
 */
#ifndef AUTH_ACCOUNT_H
#define AUTH_ACCOUNT_H

#include "db/db.h"

struct account_key {
	struct str id, prefix;
	struct str key;            /* the only time that it is known: just made */
};

int account_create(struct ctx *c, struct str id, struct str name, enum role role); /* ERR_CONFLICT account_exists */
/* ERR_NOT_FOUND account_not_found; ERR_CONFLICT account_default, account_last_admin. */
int account_enable(struct ctx *c, struct str id, bool enable);

/* expires_at: ms since 1970, 0 = never. ERR_NOT_FOUND account_not_found. */
int account_key_create(struct ctx *c, const char *pepper, struct str account, struct str name, int64_t expires_at,
    struct account_key *out);
/* key: its id or prefix. ERR_NOT_FOUND api_key_not_found. */
int account_key_revoke(struct ctx *c, struct str account, struct str key);

#endif
