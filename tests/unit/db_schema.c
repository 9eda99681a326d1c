/*
 * The real schema: every statement can be prepared on it, the dump is the recorded one, no account sees or
 * reaches another's rows, keys lead with the account.
 */
#include "../lib/pg.h"

#include <libpq-fe.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#undef fail

static PGconn *
login(struct arena *a, const char *user)
{
	PGconn *pg = PQconnectdb(pg_login(a, user));

	assert_int_equal(PQstatus(pg), CONNECTION_OK);
	return pg;
}

static const char *
sqlstate(PGconn *pg, struct arena *a, const char *sql)
{
	PGresult *res = PQexec(pg, sql);
	const char *state = PQresultErrorField(res, PG_DIAG_SQLSTATE);

	state = arena_strdup(a, state ? str_c(state) : STR("ok"));
	PQclear(res);
	return state;
}

static const char *
value(PGconn *pg, struct arena *a, const char *sql)
{
	PGresult *res = PQexec(pg, sql);
	const char *v;

	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		print_message("%s\n%s", sql, PQerrorMessage(pg));
	assert_int_equal(PQresultStatus(res), PGRES_TUPLES_OK);
	v = arena_strdup(a, PQntuples(res) > 0 ? str_c(PQgetvalue(res, 0, 0)) : STR(""));
	PQclear(res);
	return v;
}

static void
every_statement_can_be_prepared(void **state)
{
	struct arena *a = arena_create("t", 0);
	PGconn *pg = login(a, "tavern_app");
	int bad = 0;

	(void)state;
	for (enum stmt_id id = 0; id < STMT__COUNT; id++) {
		PGresult *res = PQprepare(pg, db_stmt_name(id), db_stmt_sql(id), 0, NULL);

		if (PQresultStatus(res) != PGRES_COMMAND_OK) {
			print_message("%s: %s", db_stmt_name(id), PQerrorMessage(pg));
			bad++;
		}
		PQclear(res);
	}
	assert_int_equal(bad, 0);
	PQfinish(pg);
	arena_destroy(&a);
}

/* Without comments, blank lines, and what depends on the client or changes with every run. */
static bool
dump_line_kept(struct str line)
{
	return line.n > 0 && !str_starts(line, STR("--")) && !str_starts(line, STR("SET ")) &&
	       line.p[0] != '\\' && !str_starts(line, STR("SELECT pg_catalog.set_config"));
}

static void
schema_is_as_recorded(void **state)
{
	struct arena *a = arena_create("t", 0);
	const char *command = arena_printf(a, "%s/pg_dump --schema-only --schema=tavern --no-owner -d '%s'",
	    getenv("TEST_PG_BIN"), pg_login(a, "postgres"));
	FILE *f = popen(command, "r");
	struct sb dump = sb_new(a);
	char line[8192];

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL) {
		struct str s = str_sub(str_c(line), 0, strcspn(line, "\n"));

		if (dump_line_kept(s)) {
			sb_add(&dump, s);
			sb_addc(&dump, '\n');
		}
	}
	assert_int_equal(pclose(f), 0);
	pg_golden("tests/golden/schema.sql", sb_c(&dump));
	arena_destroy(&a);
}

/* Tables that an account owns: all of the schema but these. */
#define OWNED                                                                                                \
	"SELECT c.oid, c.relname FROM pg_class c WHERE c.relnamespace = 'tavern'::regnamespace AND "         \
	"c.relkind = 'r'"                                                                                    \
	" AND c.relname NOT IN ('migration', 'account', 'api_key')"

static void
keys_lead_with_the_account(void **state)
{
	struct arena *a = arena_create("t", 0);
	PGconn *pg = login(a, "postgres");

	(void)state;
	/* Primary keys, and foreign keys on both sides, unless the parent is the account itself. */
	assert_string_equal(
	    value(pg, a,
		"WITH t AS (" OWNED ") SELECT coalesce(string_agg(k.conname, ' '), '') FROM pg_constraint k "
				    "JOIN t ON t.oid = k.conrelid"
		" WHERE k.contype IN ('p', 'f') AND k.confrelid <> 'tavern.account'::regclass AND NOT ("
		" (SELECT attname FROM pg_attribute WHERE attrelid = k.conrelid AND attnum = k.conkey[1]) = "
		"'account_no'"
		" AND (k.contype = 'p' OR (SELECT attname FROM pg_attribute WHERE attrelid = k.confrelid AND "
		"attnum = k.confkey[1]) = 'account_no'))"),
	    "");
	/* Only types whose operators are leakproof or that are never compared: no enums. */
	assert_string_equal(
	    value(pg, a,
		"SELECT count(*) FROM pg_type WHERE typnamespace = 'tavern'::regnamespace AND typtype = 'e'"),
	    "0");
	assert_string_equal(value(pg, a,
				"WITH t AS (" OWNED
				") SELECT coalesce(string_agg(relname, ' '), '') FROM t WHERE NOT EXISTS ("
				" SELECT FROM pg_constraint k WHERE k.conrelid = t.oid AND k.contype = 'p')"),
	    "");
	PQfinish(pg);
	arena_destroy(&a);
}

/*
 * One row of every owned table for both accounts. Foreign keys and checks would want sensible rows; they are
 * taken off in this database, policies stay.
 */
static const char fill[] =
    "DO $$ DECLARE t record; k record; cols text; vals text; BEGIN"
    " FOR k IN SELECT conrelid::regclass AS rel, conname FROM pg_constraint WHERE connamespace = "
    "'tavern'::regnamespace AND contype IN ('c', 'f') LOOP"
    "  EXECUTE format('ALTER TABLE %s DROP CONSTRAINT IF EXISTS %I', k.rel, k.conname); END LOOP;"
    " FOR t IN " OWNED " LOOP"
    "  SELECT string_agg(quote_ident(attname), ','), string_agg(CASE"
    "    WHEN attname = 'account_no' THEN 'n'"
    "    WHEN typcategory = 'A' THEN '''{}''' WHEN typname IN ('json', 'jsonb') THEN '''{}'''"
    "    WHEN typcategory = 'N' THEN '1' WHEN typcategory = 'B' THEN 'true' WHEN typname = 'bytea' THEN "
    "'''\\x00'''"
    "    WHEN typname = 'xid8' THEN '''1''' ELSE '''x''' END, ',')"
    "   INTO cols, vals FROM pg_attribute JOIN pg_type ON pg_type.oid = atttypid"
    "   WHERE attrelid = t.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = '' AND attidentity = "
    "'';"
    "  EXECUTE format('INSERT INTO %I (%s) SELECT %s FROM unnest(ARRAY[1,2]) n', t.relname, cols, vals);"
    " END LOOP; END $$";

static void
each_account_sees_its_own(void **state)
{
	static const char *const verbs[] = { "SELECT * FROM %s", "UPDATE %s SET account_no = account_no",
		"DELETE FROM %s" };
	struct arena *a = arena_create("t", 0);
	PGconn *pg = login(a, "tavern_app"), *root = login(a, "postgres");
	PGresult *tables;

	(void)state;
	pg_sql("INSERT INTO account (id, name, created_at, updated_at) VALUES ('alice', 'A', 1, 1), ('bob', "
	       "'B', 1, 1)");
	pg_sql(fill);
	tables = PQexec(root, "SELECT relname FROM (" OWNED ") t ORDER BY 1");
	assert_true(PQntuples(tables) > 10);
	for (int i = 0; i < PQntuples(tables); i++) {
		const char *table = PQgetvalue(tables, i, 0);

		for (size_t v = 0; v < 3; v++) { /* never set, and set by a transaction that has ended */
			const char *sql =
			    v == 0   ? arena_printf(a, "SELECT * FROM %s", table)
			    : v == 1 ? arena_printf(a, "UPDATE %s SET account_no = account_no", table)
				     : arena_printf(a, "DELETE FROM %s", table);
			const char *want = i == 0 ? "42704" : "22P02";

			(void)verbs;
			assert_string_equal(sqlstate(pg, a, sql), want);
		}
		assert_string_equal(
		    sqlstate(pg, a, "BEGIN; SELECT set_config('tavern.account_no', '1', true)"), "ok");
		assert_string_equal(
		    value(pg, a,
			arena_printf(a,
			    "SELECT count(*) || ':' || min(account_no) || max(account_no) FROM %s", table)),
		    "1:11");
		assert_string_equal(
		    sqlstate(pg, a, arena_printf(a, "UPDATE %s SET account_no = account_no", table)), "ok");
		assert_string_equal(
		    sqlstate(pg, a, arena_printf(a, "SAVEPOINT s; UPDATE %s SET account_no = 2", table)),
		    "42501");
		assert_string_equal(
		    sqlstate(pg, a, arena_printf(a, "ROLLBACK TO s; DELETE FROM %s", table)), "ok");
		assert_string_equal(sqlstate(pg, a, "COMMIT"), "ok");
		assert_string_equal(
		    value(root, a,
			arena_printf(a, "SELECT string_agg(account_no::text, ',') FROM tavern.%s", table)),
		    "2");
	}
	PQclear(tables);
	PQfinish(pg);
	PQfinish(root);
	arena_destroy(&a);
}

/* With the constraints in place: a row cannot hang below another account's parent. */
static void
foreign_parents_are_refused(void **state)
{
	struct arena *a = arena_create("t", 0);
	PGconn *pg = login(a, "tavern_app");

	(void)state;
	pg_sql("INSERT INTO account (id, name, created_at, updated_at) VALUES ('one', 'A', 1, 1), ('two', "
	       "'B', 1, 1);"
	       "INSERT INTO session (account_no, id, created_at, updated_at) SELECT no, 's', 1, 1 FROM "
	       "account WHERE id = 'one'");
	assert_string_equal(sqlstate(pg, a,
				"BEGIN; SELECT set_config('tavern.account_no', (SELECT no::text FROM account "
				"WHERE id = 'two'), true);"
				"INSERT INTO segment (session_no) VALUES (1)"),
	    "23503");
	assert_string_equal(sqlstate(pg, a,
				"ROLLBACK; BEGIN; SELECT set_config('tavern.account_no', (SELECT no::text "
				"FROM account WHERE id = 'one'), true);"
				"INSERT INTO segment (session_no) VALUES (1)"),
	    "ok");
	assert_string_equal(
	    sqlstate(pg, a,
		"INSERT INTO segment (account_no, session_no) SELECT no, 1 FROM account WHERE id = 'two'"),
	    "42501");
	sqlstate(pg, a, "ROLLBACK");
	pg_sql("DELETE FROM session; DELETE FROM account");
	PQfinish(pg);
	arena_destroy(&a);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_statement_can_be_prepared), cmocka_unit_test(schema_is_as_recorded),
		cmocka_unit_test(keys_lead_with_the_account), cmocka_unit_test(foreign_parents_are_refused),
		cmocka_unit_test(each_account_sees_its_own), /* takes constraints off: last */
	};

	(void)argc;
	pg_main(argv);
	pg_migrate();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
