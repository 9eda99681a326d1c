/*
 * Migrations: once each, in order, all or nothing, by one runner at a time; what a daemon refuses at its
 * start.
 */
#include "../lib/pg.h"

#include "db/migrate.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#undef fail

static const char *const first[] = { "CREATE SCHEMA tavern;", "CREATE TABLE tavern.a (n int);", NULL };
static const char *const first_changed[] = { "CREATE SCHEMA tavern;", "CREATE TABLE tavern.a (n bigint);",
	NULL };
static const char *const second[] = { "-- a \"comment\" \\ with ?? and 'quotes'",
	"INSERT INTO tavern.a VALUES (1);", NULL };
static const char *const broken[] = { "INSERT INTO tavern.a VALUES (2);",
	"INSERT INTO tavern.nothing VALUES (1);", NULL };
static const char *const outside[] = { "CREATE INDEX CONCURRENTLY a_n ON tavern.a (n);", NULL };

struct heard {
	struct sb text;
};

static void
hear(void *arg, const char *line)
{
	struct heard *h = arg;

	if (h != NULL)
		sb_addf(&h->text, "%s\n", line);
}

/* Runs a list; the code of the error, or "ok". */
static const char *
migrate(struct arena *a, const struct migration *list, enum migrate_mode mode, struct heard *h)
{
	struct ctx c = { .a = a };
	const struct db_conf conf = { .conninfo = pg_login(a, "postgres") };
	const struct migrate_options o = { list, mode, hear, h };

	return migrate_run(&c, &conf, &o) < 0 ? c.err.code : "ok";
}

static int
fresh(void **state)
{
	(void)state;
	pg_sql("DROP SCHEMA IF EXISTS tavern CASCADE");
	pg_sql("DROP SCHEMA IF EXISTS tavern_ext CASCADE");
	return 0;
}

static void
each_is_applied_once(void **state)
{
	struct arena *a = arena_create("t", 0);
	const struct migration list[] = { { 1, "0001_first", first, true },
		{ 2, "0002_second", second, true }, { 3, "0003_outside", outside, false }, { 0 } };
	const struct migration start[] = { list[0], { 0 } };
	struct heard h = { sb_new(a) };

	(void)state;
	assert_string_equal(migrate(a, start, MIGRATE_APPLY, NULL), "ok");
	assert_string_equal(migrate(a, list, MIGRATE_STATUS, &h), "ok");
	assert_string_equal(
	    sb_c(&h.text), "0001_first: applied\n0002_second: pending\n0003_outside: pending\n");
	assert_string_equal(migrate(a, list, MIGRATE_DRY_RUN, NULL), "ok");
	assert_string_equal(pg_value(a, "SELECT count(*) FROM a"), "0");
	assert_string_equal(migrate(a, list, MIGRATE_APPLY, NULL), "ok");
	sb_truncate(&h.text, 0);
	assert_string_equal(migrate(a, list, MIGRATE_APPLY, &h), "ok");
	assert_string_equal(sb_c(&h.text), "schema is up to date (3)\n");
	assert_string_equal(pg_value(a, "SELECT count(*) FROM a"), "1");
	assert_string_equal(pg_value(a, "SELECT string_agg(name, ',' ORDER BY number) FROM migration"),
	    "0001_first,0002_second,0003_outside");
	assert_string_equal(
	    pg_value(a, "SELECT tableowner FROM pg_tables WHERE tablename = 'a'"), "tavern_owner");
	arena_destroy(&a);
}

static void
changes_and_strangers_are_refused(void **state)
{
	struct arena *a = arena_create("t", 0);
	const struct migration list[] = { { 1, "0001_first", first, true },
		{ 2, "0002_second", second, true }, { 0 } };
	const struct migration changed[] = { { 1, "0001_first", first_changed, true },
		{ 2, "0002_second", second, true }, { 0 } };
	const struct migration older[] = { { 1, "0001_first", first, true }, { 0 } };

	(void)state;
	assert_string_equal(migrate(a, list, MIGRATE_APPLY, NULL), "ok");
	assert_string_equal(migrate(a, changed, MIGRATE_APPLY, NULL), "migration_changed");
	assert_string_equal(migrate(a, older, MIGRATE_APPLY, NULL), "schema_newer");
	pg_sql("DELETE FROM migration WHERE number = 1");
	assert_string_equal(migrate(a, list, MIGRATE_APPLY, NULL), "schema_gap");
	arena_destroy(&a);
}

static void
a_failed_one_leaves_nothing(void **state)
{
	struct arena *a = arena_create("t", 0);
	const struct migration list[] = { { 1, "0001_first", first, true },
		{ 2, "0002_broken", broken, true }, { 0 } };
	const struct migration mended[] = { { 1, "0001_first", first, true },
		{ 2, "0002_second", second, true }, { 0 } };

	(void)state;
	assert_string_equal(migrate(a, list, MIGRATE_APPLY, NULL), "migration_failed");
	assert_string_equal(
	    pg_value(a, "SELECT (SELECT count(*) FROM a) || ',' || (SELECT max(number) FROM migration)"),
	    "0,1");
	assert_string_equal(
	    migrate(a, mended, MIGRATE_APPLY, NULL), "ok"); /* not applied yet, so it may change */
	assert_string_equal(pg_value(a, "SELECT count(*) FROM a"), "1");
	arena_destroy(&a);
}

static void *
run_all(void *arg)
{
	struct arena *a = arena_create("t", 0);
	const char *rc = migrate(a, migrations, MIGRATE_APPLY, NULL);

	(void)arg;
	rc = strcmp(rc, "ok") == 0 ? "ok" : "failed";
	arena_destroy(&a);
	return (void *)(uintptr_t)rc;
}

static void
runners_wait_for_each_other(void **state)
{
	struct arena *a = arena_create("t", 0);
	pthread_t t[4];
	void *rc;

	(void)state;
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, run_all, NULL);
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &rc);
		assert_string_equal(rc, "ok");
	}
	assert_string_equal(
	    pg_value(a, "SELECT count(*) FROM migration"), arena_printf(a, "%d", migrations_n));
	arena_destroy(&a);
}

/* The reason why a daemon would not start, "" if it would. */
static const char *
startup(struct arena *a, const char *user)
{
	struct db_conf conf = {
		.conninfo = pg_login(a, user), .connections = 1, .checkout_ms = 100, .prepare = true
	};
	struct db *db = db_create(&conf, DB_APP);
	struct ctx c = { .a = a, .db = db };
	int rc = db_startup_check(&c);

	db_destroy(&db);
	if (rc == 0)
		return "";
	assert_int_equal(c.err.kind, ERR_INTERNAL);
	assert_string_equal(c.err.code, "database_refused");
	return c.err.msg;
}

static void
daemons_refuse(void **state)
{
	struct arena *a = arena_create("t", 0);

	(void)state;
	assert_non_null(strstr(startup(a, "tavern_app"), "no schema yet"));
	pg_migrate();
	assert_string_equal(startup(a, "tavern_app"), "");
	assert_string_equal(startup(a, "tavern_sys"), "");
	assert_non_null(strstr(startup(a, "postgres"), "bypasses row-level security"));
	pg_sql("CREATE ROLE sneaky LOGIN IN ROLE tavern_owner; CREATE ROLE seer LOGIN BYPASSRLS");
	assert_non_null(strstr(startup(a, "sneaky"), "bypasses row-level security"));
	assert_non_null(strstr(startup(a, "seer"), "bypasses row-level security"));
	pg_sql("INSERT INTO migration VALUES (9999, 'later', '')");
	assert_non_null(strstr(startup(a, "tavern_app"), "older than the schema"));
	pg_sql("DELETE FROM migration WHERE number > 1");
	assert_non_null(strstr(startup(a, "tavern_app"), "tavernctl migrate"));
	fresh(NULL);
	pg_migrate();
	pg_sql("CREATE TABLE tavern.open (account_no int)");
	assert_non_null(strstr(startup(a, "tavern_app"), "\"open\" has no row-level security"));
	pg_sql("ALTER TABLE tavern.open ENABLE ROW LEVEL SECURITY"); /* and no policy */
	assert_non_null(strstr(startup(a, "tavern_app"), "\"open\" has no row-level security"));
	arena_destroy(&a);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_is_applied_once, fresh),
		cmocka_unit_test_setup(changes_and_strangers_are_refused, fresh),
		cmocka_unit_test_setup(a_failed_one_leaves_nothing, fresh),
		cmocka_unit_test_setup(runners_wait_for_each_other, fresh),
		cmocka_unit_test_setup(daemons_refuse, fresh),
	};

	(void)argc;
	pg_main(argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
