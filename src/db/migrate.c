/*
 * migrate: applies what is pending. Works with plain blocking calls on a connection of its own: a
 * migration is a script of many statements, which the pipeline of the pool cannot carry.
 */
#include "migrate.h"

#include "base/sb.h"
#include "db_private.h"

#include <stdlib.h>

#define LOCK_KEY "7303117225440621" /* any number that nobody else takes for a lock */

#include "db/migrations.def"

static void
result_free(void *res)
{
	PQclear(res);
}

/* One statement (with parameters) or a script (without). NULL: recorded. */
static PGresult *
query(struct ctx *c, PGconn *pg, const char *sql, int n, const char *const *values)
{
	PGresult *res = n > 0 ? PQexecParams(pg, sql, n, NULL, values, NULL, NULL, 0) : PQexec(pg, sql);
	ExecStatusType st = PQresultStatus(res);

	arena_defer(c->a, result_free, res);
	if (st == PGRES_TUPLES_OK || st == PGRES_COMMAND_OK)
		return res;
	fail(c, ERR_UNAVAILABLE, "migration_failed", "%s",
	    str_c(PQerrorMessage(pg)).n ? PQerrorMessage(pg) : "no answer");
	return NULL;
}

static bool
query_bool(struct ctx *c, PGconn *pg, const char *sql)
{
	PGresult *res = query(c, pg, sql, 0, NULL);

	return res != NULL && PQntuples(res) == 1 && PQgetvalue(res, 0, 0)[0] == 't';
}

/* Never NULL; failures are recorded. */
static PGconn *
connect_owner(struct ctx *c, const struct db_conf *conf)
{
	const char *keys[] = { "connect_timeout", "fallback_application_name", "dbname", "client_encoding",
		"password", NULL };
	const char *values[] = { "10", "tavernctl migrate", conf->conninfo, "UTF8", conf->password, NULL };
	PGconn *pg = PQconnectdbParams(keys, values, 1);

	if (PQstatus(pg) != CONNECTION_OK) {
		fail(c, ERR_UNAVAILABLE, "database_unavailable", "%s", PQerrorMessage(pg));
		return pg;
	}
	query(c, pg,
	    "SET client_min_messages = warning; SET ROLE tavern_owner; SET search_path = tavern, public;"
	    " SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0",
	    0, NULL);
	return pg;
}

/* Where `number` stands in the table of applied ones. */
struct applied {
	PGresult *res; /* number, checksum; NULL = no table yet */
};

static int
applied_load(struct ctx *c, PGconn *pg, struct applied *out)
{
	out->res = NULL;
	if (!query_bool(c, pg, "SELECT to_regclass('tavern.migration') IS NOT NULL"))
		return failed(c) ? -1 : 0;
	out->res = query(c, pg,
	    "SELECT number, name, encode(checksum, 'hex') FROM tavern.migration ORDER BY number", 0, NULL);
	return out->res ? 0 : -1;
}

static int
applied_count(const struct applied *ap)
{
	return ap->res ? PQntuples(ap->res) : 0;
}

static const char *
migration_text(struct arena *a, const struct migration *m)
{
	struct sb s = sb_new(a);

	for (const char *const *line = m->lines; *line != NULL; line++) {
		sb_adds(&s, *line);
		sb_addc(&s, '\n');
	}
	return sb_c(&s);
}

/* The applied ones must be the beginning of the list, unchanged. */
static int
applied_check(struct ctx *c, PGconn *pg, const struct applied *ap, const struct migration *list)
{
	for (int i = 0; i < applied_count(ap); i++) {
		const struct migration *m = &list[i];
		const char *name = PQgetvalue(ap->res, i, 1);
		PGresult *sum;

		if (m->number == 0)
			return fail(c, ERR_CONFLICT, "schema_newer",
			    "the database has migration %s, which this program does not know: it is older "
			    "than the schema",
			    name);
		if (strtol(PQgetvalue(ap->res, i, 0), NULL, 10) != m->number)
			return fail(c, ERR_CONFLICT, "schema_gap", "the database has migration %s but not %s",
			    name, m->name);
		sum = query(c, pg, "SELECT encode(sha256(convert_to($1, 'UTF8')), 'hex')", 1,
		    (const char *[]){ migration_text(c->a, m) });
		if (sum == NULL)
			return -1;
		if (strcmp(PQgetvalue(sum, 0, 0), PQgetvalue(ap->res, i, 2)) != 0)
			return fail(c, ERR_CONFLICT, "migration_changed",
			    "migration %s was changed after it had been applied: put its text back and write "
			    "a new migration",
			    m->name);
	}
	return 0;
}

/* Records a migration. The table is made behind the first one, which makes the schema it lies in. */
static int
record(struct ctx *c, PGconn *pg, const struct migration *m)
{
	static const char table[] =
	    "CREATE TABLE IF NOT EXISTS tavern.migration (number int PRIMARY KEY, name text NOT NULL,"
	    " checksum bytea NOT NULL, applied_at timestamptz NOT NULL DEFAULT now());"
	    " GRANT USAGE ON SCHEMA tavern TO tavern_app, tavern_sys;"
	    " GRANT SELECT ON tavern.migration TO tavern_app, tavern_sys";
	const char *values[] = { arena_printf(c->a, "%d", m->number), m->name, migration_text(c->a, m) };

	if (query(c, pg, table, 0, NULL) == NULL)
		return -1;
	return query(c, pg,
		   "INSERT INTO tavern.migration (number, name, checksum) VALUES ($1, $2, "
		   "sha256(convert_to($3, 'UTF8')))",
		   3, values)
		   ? 0
		   : -1;
}

static int
apply(struct ctx *c, PGconn *pg, const struct migration *m, enum migrate_mode mode)
{
	bool own = m->transaction && mode == MIGRATE_APPLY;

	if (own && query(c, pg, "BEGIN", 0, NULL) == NULL)
		return -1;
	if (query(c, pg, migration_text(c->a, m), 0, NULL) == NULL || record(c, pg, m) < 0) {
		fail_log(c, "migration %s", m->name);
		c->err.msg = arena_printf(c->a, "migration %s: %s", m->name, c->err.msg);
		if (own)
			PQclear(PQexec(pg, "ROLLBACK"));
		return -1;
	}
	return !own || query(c, pg, "COMMIT", 0, NULL) ? 0 : -1;
}

static int
apply_pending(struct ctx *c, PGconn *pg, const struct migrate_options *o, int done)
{
	const struct migration *m = &o->list[done];

	if (m->number == 0)
		o->say(o->arg, arena_printf(c->a, "schema is up to date (%d)", done));
	if (o->mode == MIGRATE_DRY_RUN && query(c, pg, "BEGIN", 0, NULL) == NULL)
		return -1;
	for (; m->number != 0; m++) {
		if (o->mode == MIGRATE_DRY_RUN && !m->transaction) {
			o->say(o->arg,
			    arena_printf(c->a, "%s: cannot be tried, runs outside a transaction", m->name));
			break;
		}
		if (apply(c, pg, m, o->mode) < 0)
			return -1;
		o->say(o->arg, arena_printf(c->a, "%s: %s", m->name,
				   o->mode == MIGRATE_APPLY ? "applied" : "would apply"));
	}
	return o->mode != MIGRATE_DRY_RUN || query(c, pg, "ROLLBACK", 0, NULL) ? 0 : -1;
}

static void
say_status(struct ctx *c, const struct migrate_options *o, int done)
{
	for (const struct migration *m = o->list; m->number != 0; m++)
		o->say(
		    o->arg, arena_printf(c->a, "%s: %s", m->name, m->number <= done ? "applied" : "pending"));
}

static int
run(struct ctx *c, PGconn *pg, const struct migrate_options *o)
{
	struct applied ap;

	/* Everything is read under the lock: a second runner waits here and then finds nothing to do. */
	if (failed(c) || query(c, pg, "SELECT pg_advisory_lock(" LOCK_KEY ")", 0, NULL) == NULL)
		return -1;
	if (applied_load(c, pg, &ap) < 0 || applied_check(c, pg, &ap, o->list) < 0)
		return -1;
	if (o->mode == MIGRATE_STATUS) {
		say_status(c, o, applied_count(&ap));
		return 0;
	}
	return apply_pending(c, pg, o, applied_count(&ap));
}

int
migrate_run(struct ctx *c, const struct db_conf *conf, const struct migrate_options *o)
{
	PGconn *pg = connect_owner(c, conf);
	int rc = run(c, pg, o);

	PQfinish(pg); /* and with it the lock */
	return rc;
}
