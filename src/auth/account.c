/* account: see account.h. */
#include "auth/account.h"

#include "auth/auth.h"

#include "base/id.h"

static int
not_found(struct ctx *c)
{
	return fail(c, ERR_NOT_FOUND, "account_not_found", "no such account");
}

int
account_create(struct ctx *c, struct str id, struct str name, enum role role)
{
	if (!id_valid(id))
		return fail(c, ERR_INVALID, "invalid_params",
		    "an account id has 1 to 128 bytes and no control characters");
	return db_exec(c, STMT_account_insert, P_STR(id), P_STR(name),
		   P_C(role == ROLE_ADMIN ? "admin" : "user"), P_INT(c->now)) < 0
		   ? -1
		   : 0;
}

/* The default account and the last active administrator stay. */
static int
may_disable(struct ctx *c, struct str id, bool is_default, bool admin)
{
	struct rows *rs;

	if (is_default)
		return fail(c, ERR_CONFLICT, "account_default", "the default account cannot be disabled");
	if (!admin)
		return 0;
	rs = db_query(c, STMT_account_admins, P_STR(id));
	if (rows_next(rs) <= 0)
		return -1;
	return row_int(rs, 0) > 0
		   ? 0
		   : fail(c, ERR_CONFLICT, "account_last_admin", "this is the last active administrator");
}

int
account_enable(struct ctx *c, struct str id, bool enable)
{
	struct rows *rs = db_query(c, STMT_account_role_of, P_STR(id));
	int rc = rows_next(rs);

	if (rc <= 0)
		return rc < 0 ? -1 : not_found(c);
	if (!enable && may_disable(c, id, row_bool(rs, 0), str_is(row_str(rs, 1), "admin")) < 0)
		return -1;
	return db_exec(c, STMT_account_set_status, P_STR(id), P_C(enable ? "active" : "disabled"),
		   P_INT(c->now)) < 0
		   ? -1
		   : 0;
}

int
account_key_create(struct ctx *c, const char *pepper, struct str account, struct str name, int64_t expires_at,
    struct account_key *out)
{
	struct id id = id_new(c->now);
	struct account_key k = { .id = arena_str(c->a, str_c(id.s)) };
	int64_t made;

	if (!pepper || !*pepper)
		return fail(c, ERR_INVALID, "setting_missing",
		    "set api_key_pepper (or secrets_master_key): keys are stored under it");
	k.key = auth_key_new(c->a, &k.prefix);
	made = db_exec(c, STMT_api_key_insert, P_STR(account), P_STR(k.id), P_STR(name), P_STR(k.prefix),
	    P_STR(auth_key_hash(c->a, pepper, k.key)), P_INT(c->now),
	    expires_at > 0 ? P_INT(expires_at) : P_NULL);
	if (made <= 0)
		return made < 0 ? -1 : not_found(c);
	*out = k;
	return 0;
}

int
account_key_revoke(struct ctx *c, struct str account, struct str key)
{
	int64_t n = db_exec(c, STMT_api_key_revoke, P_STR(account), P_STR(key), P_INT(c->now));

	if (n == 0)
		return fail(c, ERR_NOT_FOUND, "api_key_not_found", "no such key of this account");
	return n < 0 ? -1 : 0;
}
