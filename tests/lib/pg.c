/*
 * pg: a private PostgreSQL for tests, see pg.h. Talks to it as the superuser, whom the server's own
 * code never meets.
 */
#include "pg.h"

#include "db/migrate.h"

#include <libpq-fe.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static char conninfo[256];

static const char *
srcdir(void)
{
	const char *dir = getenv("srcdir");

	return dir ? dir : ".";
}

void
pg_main(char **argv)
{
	const char *socket = getenv("TEST_PG");

	if (socket == NULL) {
		char script[4096];

		snprintf(script, sizeof(script), "%s/tests/lib/with_pg.sh", srcdir());
		execl("/bin/bash", "bash", script, argv[0], (char *)NULL);
		perror(script);
		exit(99);
	}
	snprintf(conninfo, sizeof(conninfo), "host=%s dbname=tavern", socket);
}

static PGresult *
run(const char *sql)
{
	char own[300];
	PGconn *pg;
	PGresult *res;

	snprintf(own, sizeof(own), "%s user=postgres", conninfo);
	pg = PQconnectdb(own);
	PQclear(PQexec(pg, "SET client_min_messages = warning; SET search_path = tavern, public"));
	res = PQexec(pg, sql);
	if (PQresultStatus(res) != PGRES_COMMAND_OK && PQresultStatus(res) != PGRES_TUPLES_OK) {
		fprintf(stderr, "%s\n%s", sql, PQerrorMessage(pg));
		abort();
	}
	PQfinish(pg);
	return res;
}

void
pg_sql(const char *sql)
{
	PQclear(run(sql));
}

const char *
pg_value(struct arena *a, const char *sql)
{
	PGresult *res = run(sql);
	const char *out = arena_strdup(a, PQntuples(res) > 0 ? str_c(PQgetvalue(res, 0, 0)) : STR(""));

	PQclear(res);
	return out;
}

struct db *
pg_pool_conf(enum db_role role, struct db_conf conf)
{
	static const char *const user[] = { "tavern_app", "tavern_sys", "postgres" };
	char own[300];

	snprintf(own, sizeof(own), "%s user=%s", conninfo, user[role]);
	conf.conninfo = own;
	return db_create(&conf, role);
}

struct db *
pg_pool(enum db_role role, int connections)
{
	return pg_pool_conf(role, (struct db_conf){ .connections = connections,
				      .checkout_ms = 5000,
				      .statement_ms = 20000,
				      .lock_ms = 10000,
				      .prepare = true });
}

const char *
pg_login(struct arena *a, const char *user)
{
	return arena_printf(a, "%s user=%s", conninfo, user);
}

static void
say_nothing(void *arg, const char *line)
{
	(void)arg;
	(void)line;
}

void
pg_migrate(void)
{
	struct arena *a = arena_create("migrate", 0);
	struct ctx c = { .a = a };
	const struct db_conf conf = { .conninfo = pg_login(a, "postgres") };
	const struct migrate_options o = { migrations, MIGRATE_APPLY, say_nothing, NULL };

	if (migrate_run(&c, &conf, &o) < 0) {
		fprintf(stderr, "migrate: %s\n", c.err.msg);
		abort();
	}
	arena_destroy(&a);
}

pid_t
pg_pid(void)
{
	return (pid_t)atoi(getenv("TEST_PG_PID"));
}

const char *
pg_file(struct arena *a, const char *name)
{
	const char *path = arena_printf(a, "%s/%s", srcdir(), name);
	FILE *f = fopen(path, "r");
	char *text;
	size_t n;

	if (f == NULL) {
		perror(path);
		abort();
	}
	fseek(f, 0, SEEK_END);
	n = (size_t)ftell(f);
	rewind(f);
	text = arena_alloc(a, n + 1);
	if (fread(text, 1, n, f) != n)
		abort();
	fclose(f);
	return text;
}

void
pg_golden(const char *name, const char *text)
{
	struct arena *a = arena_create("golden", 0);

	if (getenv("UPDATE_GOLDEN") != NULL) {
		FILE *f = fopen(arena_printf(a, "%s/%s", srcdir(), name), "w");

		assert_non_null(f);
		fputs(text, f);
		fclose(f);
	}
	assert_string_equal(text, pg_file(a, name));
	arena_destroy(&a);
}

struct ctx *
pg_ctx(struct db *db, const char *account)
{
	struct arena *a = arena_create("test", 0);
	struct ctx *c = arena_new(a, struct ctx);
	struct credential *cred = arena_new(a, struct credential);

	cred->kind = CRED_ACCOUNT_ID;
	cred->value = account;
	c->a = a;
	c->db = db;
	c->cred = account ? cred : NULL;
	c->now = 1000;
	c->rid = "test";
	return c;
}

void
pg_ctx_free(struct ctx **c)
{
	struct arena *a = (*c)->a;

	arena_destroy(&a);
	*c = NULL;
}
