/*
 * startup: what a daemon asks before it serves. A login that row-level security does not hold, a
 * schema of another version and a table without a policy are refused: each would be found out only
 * when it has done harm.
 */
#include "db_private.h"
#include "migrate.h"

static struct rows *
ask(struct ctx *c, struct db_conn *k, enum stmt_id id)
{
	struct rows *rs = conn_send(k, c, ITEM_QUERY, id, NULL, 0);

	conn_sync(k);
	return rs;
}

static int
refuse(struct ctx *c, const char *why)
{
	err_clear(c);
	return fail(c, ERR_INTERNAL, "database_refused", "%s", why);
}

static int
check_role(struct ctx *c, struct rows *rs)
{
	if (rows_next(rs) <= 0)
		return -1;
	if (row_bool(rs, 1))
		return refuse(c, arena_printf(c->a,
				     "the database login \"%.*s\" bypasses row-level security (superuser, "
				     "BYPASSRLS or owner of the tables): "
				     "log in as tavern_app or tavern_sys (sql/roles.sql)",
				     STR_ARG(row_str(rs, 0))));
	return 0;
}

static int
check_version(struct ctx *c, struct rows *rs)
{
	int64_t have;

	if (rows_next(rs) <= 0)
		return c->err.kind == ERR_INTERNAL
			   ? refuse(c, "the database has no schema yet: run `tavernctl migrate`")
			   : -1;
	have = row_int(rs, 0);
	if (have < migrations_n)
		return refuse(
		    c, arena_printf(c->a,
			   "the schema is at version %lld, this program needs %d: run `tavernctl migrate`",
			   (long long)have, migrations_n));
	if (have > migrations_n)
		return refuse(c, arena_printf(c->a,
				     "the schema is at version %lld, this program knows only %d: it is older "
				     "than the schema",
				     (long long)have, migrations_n));
	return 0;
}

static int
check_policies(struct ctx *c, struct rows *rs)
{
	int more = rows_next(rs);

	if (more > 0)
		return refuse(c,
		    arena_printf(c->a, "table \"%.*s\" has no row-level security", STR_ARG(row_str(rs, 0))));
	return more;
}

int
db_startup_check(struct ctx *c)
{
	static const struct {
		enum stmt_id id;
		int (*check)(struct ctx *, struct rows *);
	} steps[] = {
		{ STMT_startup_role, check_role },
		{ STMT_startup_version, check_version },
		{ STMT_startup_unprotected, check_policies },
	};
	struct db_conn *k = conn_checkout(c, c->db, c->db->conf.checkout_ms);
	int rc = k ? 0 : -1;

	for (size_t i = 0; rc == 0 && i < sizeof(steps) / sizeof(*steps); i++)
		rc = steps[i].check(c, ask(c, k, steps[i].id));
	if (k != NULL)
		conn_release(k);
	return rc;
}
