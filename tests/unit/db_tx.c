/*
 * Units of work against a real server: entering, pipelines, the statement registry, retries, lost
 * connections, the pool under threads. The schema is a small one of its own; the real one has its
 * tests in db_schema.c.
 */
#include "../lib/pg.h"

#include "../../src/db/db_private.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>
#undef fail /* ours, not cmocka's */

static const char scratch[] =
    "CREATE SCHEMA tavern;"
    "CREATE FUNCTION tavern.acct() RETURNS int LANGUAGE sql STABLE PARALLEL SAFE"
    " AS $$ SELECT current_setting('tavern.account_no')::int $$;"
    "CREATE FUNCTION now_ms() RETURNS bigint LANGUAGE sql STABLE AS $$ SELECT 1000::bigint $$;"
    "CREATE TABLE account (no int PRIMARY KEY, id text UNIQUE, role text, status text);"
    "CREATE TABLE api_key (account_no int, hash text, revoked_at bigint, expires_at bigint);"
    "CREATE TABLE item (account_no int DEFAULT acct(), no int, n int DEFAULT 0, body text, PRIMARY KEY "
    "(account_no, no));"
    "ALTER TABLE item ENABLE ROW LEVEL SECURITY;"
    "CREATE POLICY own ON item TO tavern_app USING (account_no = acct());"
    "GRANT USAGE ON SCHEMA tavern TO tavern_app, tavern_sys;"
    "GRANT ALL ON account, api_key, item TO tavern_app, tavern_sys;"
    "INSERT INTO account VALUES (1, 'alice', 'admin', 'active'), (2, 'bob', 'user', 'active'), (3, 'carl', "
    "'user', 'disabled');"
    "INSERT INTO api_key VALUES (1, 'aa', NULL, 1001), (2, 'bb', 5, NULL), (3, 'cc', NULL, 2000), (1, 'dd', "
    "NULL, 999);"
    "INSERT INTO item (account_no, no, body) SELECT a, n, 'x' || n FROM generate_series(1, 3) a, "
    "generate_series(1, 5) n;"
    "CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER"
    " AS $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(1); RETURN NULL; END $$;"
    "CREATE CONSTRAINT TRIGGER die AFTER INSERT ON item DEFERRABLE INITIALLY DEFERRED FOR EACH ROW"
    " WHEN (NEW.no = 666) EXECUTE FUNCTION die();";

static struct db *app;

#define TEXT(c, sql, ...)                                                                                    \
	db_send_text((c), (sql), (const struct param[]){ __VA_ARGS__ },                                      \
	    sizeof((const struct param[]){ __VA_ARGS__ }) / sizeof(struct param))
#define MUTABLE(literal) ((char[]){ literal })
#define TEXT0(c, sql) db_send_text((c), (sql), NULL, 0)

static const char count_items[] = "SELECT count(*), min(account_no), max(account_no) FROM item";

static int
read_count(struct ctx *c, void *arg)
{
	struct rows *rs = TEXT0(c, count_items);

	if (rows_next(rs) != 1)
		return -1;
	*(int64_t *)arg = row_int(rs, 0) * 100 + row_int(rs, 1) * 10 + row_int(rs, 2);
	return 0;
}

static void
enters_by_id_and_key(void **state)
{
	struct ctx *c = pg_ctx(app, "bob");
	struct credential key = { CRED_API_KEY, "aa" };
	int64_t seen = 0;

	(void)state;
	assert_int_equal(db_tx(c, DB_READ, read_count, &seen), 0);
	assert_int_equal(seen, 522); /* without a WHERE clause: only the own rows */
	assert_int_equal(c->who.account_no, 2);
	assert_string_equal(c->who.account_id, "bob");
	assert_int_equal(c->who.role, ROLE_USER);
	c->cred = &key;
	assert_int_equal(db_tx(c, DB_READ, read_count, &seen), 0);
	assert_int_equal(seen, 511);
	assert_int_equal(c->who.role, ROLE_ADMIN);
	pg_ctx_free(&c);
}

static void
refused(struct credential cred, enum err_kind kind, const char *code)
{
	static const enum db_mode modes[] = { DB_READ, DB_WRITE };
	int64_t seen = 0;

	for (size_t i = 0; i < 2; i++) {
		struct ctx *c = pg_ctx(app, "x");

		c->cred = &cred;
		assert_int_equal(db_tx(c, modes[i], read_count, &seen), -1);
		assert_int_equal(c->err.kind, kind);
		assert_string_equal(c->err.code, code);
		err_clear(c);
		assert_int_equal(db_enter(c), -1);
		assert_string_equal(c->err.code, code);
		pg_ctx_free(&c);
	}
	assert_int_equal(seen, 0);
}

static void
refuses_strangers(void **state)
{
	(void)state;
	refused(
	    (struct credential){ CRED_ACCOUNT_ID, "nobody" }, ERR_UNAUTHENTICATED, "auth_account_not_found");
	refused((struct credential){ CRED_ACCOUNT_ID, "carl" }, ERR_FORBIDDEN, "account_disabled");
	refused((struct credential){ CRED_API_KEY, "zz" }, ERR_FORBIDDEN, "auth_invalid_credentials");
	refused((struct credential){ CRED_API_KEY, "bb" }, ERR_FORBIDDEN, "auth_invalid_credentials");
	refused((struct credential){ CRED_API_KEY, "dd" }, ERR_FORBIDDEN, "auth_invalid_credentials");
	refused((struct credential){ CRED_API_KEY, "cc" }, ERR_FORBIDDEN, "account_disabled");
}

/* Writes without ever looking at an answer: everything travels in one go, COMMIT included. */
static int
write_blind(struct ctx *c, void *arg)
{
	TEXT(c, "UPDATE item SET n = n + 1, body = $1 WHERE account_no = acct()", P_C(arg));
	return 0;
}

static void
disabled_account_cannot_write_blindly(void **state)
{
	struct ctx *c = pg_ctx(app, "carl");

	(void)state;
	assert_int_equal(db_tx(c, DB_WRITE, write_blind, MUTABLE("carl was here")), -1);
	assert_string_equal(c->err.code, "account_disabled");
	assert_string_equal(pg_value(c->a, "SELECT count(*) FROM item WHERE body = 'carl was here'"), "0");
	pg_ctx_free(&c);
	c = pg_ctx(app, "bob");
	assert_int_equal(db_tx(c, DB_WRITE, write_blind, MUTABLE("bob was here")), 0);
	assert_string_equal(
	    pg_value(c->a,
		"SELECT string_agg(DISTINCT account_no::text, ',') FROM item WHERE body = 'bob was here'"),
	    "2");
	pg_ctx_free(&c);
}

/* A statement that does not name the account by itself. */
static int
write_unguarded(struct ctx *c, void *arg)
{
	TEXT(c, "UPDATE account SET role = $1 WHERE no = 2", P_C(arg));
	return 0;
}

static int
write_unguarded_twice(struct ctx *c, void *arg)
{
	TEXT(c, "UPDATE account SET role = $1 WHERE no = 2", P_C(arg));
	TEXT(c, "UPDATE item SET body = $1 WHERE account_no = acct()", P_C(arg));
	return 0;
}

static void
nobody_commits_unguarded_statements(void **state)
{
	static const char *const who[] = { "carl", "nobody" };
	struct arena *a = arena_create("t", 0);
	struct ctx *c;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		c = pg_ctx(app, who[i]);
		assert_int_equal(db_tx(c, DB_WRITE, write_unguarded, MUTABLE("admin")), -1);
		err_clear(c);
		assert_int_equal(db_tx(c, DB_WRITE, write_unguarded_twice, MUTABLE("admin")), -1);
		pg_ctx_free(&c);
	}
	assert_string_equal(pg_value(a, "SELECT role FROM account WHERE no = 2"), "user");
	c = pg_ctx(app, "bob");
	assert_int_equal(db_tx(c, DB_WRITE, write_unguarded, MUTABLE("admin")), 0);
	assert_string_equal(pg_value(a, "SELECT role FROM account WHERE no = 2"), "admin");
	pg_sql("UPDATE account SET role = 'user' WHERE no = 2");
	pg_ctx_free(&c);
	arena_destroy(&a);
}

static int
write_then_fail(struct ctx *c, void *arg)
{
	int64_t n = rows_affected(
	    TEXT(c, "UPDATE item SET body = 'lost' WHERE account_no = acct() AND no = $1", P_INT(1)));

	*(int64_t *)arg = n;
	return fail(c, ERR_NOT_FOUND, "thing_not_found", "no such thing");
}

static int
write_duplicate(struct ctx *c, void *arg)
{
	(void)arg;
	TEXT(c, "UPDATE item SET body = 'lost' WHERE account_no = acct() AND no = $1", P_INT(2));
	TEXT(c, "INSERT INTO item (no) VALUES ($1)", P_INT(3));
	TEXT(c, "INSERT INTO item (no) VALUES ($1)", P_INT(77));
	return 0; /* found out at commit */
}

static int
swallow_error(struct ctx *c, void *arg)
{
	(void)arg;
	assert_int_equal(rows_affected(TEXT(c, "INSERT INTO item (no) VALUES ($1)", P_INT(3))), -1);
	err_clear(c);
	return 0;
}

static void
failures_roll_back(void **state)
{
	struct ctx *c = pg_ctx(app, "alice");
	int64_t n = 0;

	(void)state;
	assert_int_equal(db_tx(c, DB_WRITE, write_then_fail, &n), -1);
	assert_int_equal(n, 1);
	assert_string_equal(c->err.code, "thing_not_found");
	err_clear(c);
	assert_int_equal(db_tx(c, DB_WRITE, write_duplicate, NULL), -1);
	assert_int_equal(c->err.kind, ERR_CONFLICT);
	assert_non_null(strstr(c->err.log, "item_pkey"));
	assert_null(strstr(c->err.msg, "item_pkey"));
	err_clear(c);
	assert_int_equal(db_tx(c, DB_WRITE, swallow_error, NULL), -1); /* never a commit over an error */
	assert_string_equal(pg_value(c->a, "SELECT count(*) FROM item WHERE body = 'lost' OR no = 77"), "0");
	pg_ctx_free(&c);
}

static int
wrong_value(struct ctx *c, void *arg)
{
	return rows_next(TEXT(c, "SELECT $1::int", P_C(arg))) < 0 ? -1 : 0;
}

static void
maps_errors(void **state)
{
	struct ctx *c = pg_ctx(app, "alice");

	(void)state;
	assert_int_equal(db_tx(c, DB_READ, wrong_value, MUTABLE("a-secret")), -1);
	assert_int_equal(c->err.kind, ERR_INVALID);
	assert_null(strstr(c->err.log, "secret"));
	pg_ctx_free(&c);
}

static int
nul_value(struct ctx *c, void *arg)
{
	(void)arg;
	return rows_next(TEXT(c, "SELECT $1", P_STR(STR("a\0b")))) < 0 ? -1 : 0;
}

static int
all_kinds(struct ctx *c, void *arg)
{
	struct rows *rs = TEXT(c,
	    "SELECT $1::text, $2::bigint, $3::bool, $4::float8, $5::bytea, $6::text, $7::text, "
	    "octet_length($5::bytea)",
	    P_STR(str_sub(STR("xyz"), 0, 2)), P_INT(INT64_MIN), P_BOOL(true), P_DOUBLE(0.1),
	    P_BYTES(STR("\0\xff'")), P_NULL, P_STR(STR("")));
	struct str b;

	(void)arg;
	assert_int_equal(rows_next(rs), 1);
	assert_true(str_is(row_str(rs, 0), "xy"));
	assert_true(row_int(rs, 1) == INT64_MIN);
	assert_true(row_bool(rs, 2));
	assert_true(row_double(rs, 3) == 0.1);
	b = row_bytes(rs, 4, c->a);
	assert_true(str_eq(b, STR("\0\xff'")));
	assert_true(row_null(rs, 5) && row_str(rs, 5).p == NULL);
	assert_true(!row_null(rs, 6) && row_str(rs, 6).n == 0);
	assert_int_equal(row_int(rs, 7), 3);
	assert_int_equal(rows_count(rs), 1);
	assert_int_equal(rows_next(rs), 0);
	return 0;
}

static void
carries_values(void **state)
{
	struct ctx *c = pg_ctx(app, "alice");

	(void)state;
	assert_int_equal(db_tx(c, DB_READ, all_kinds, NULL), 0);
	assert_int_equal(db_tx(c, DB_READ, nul_value, NULL), -1);
	assert_int_equal(c->err.kind, ERR_INVALID);
	pg_ctx_free(&c);
}

/* Three pipelines in one unit: a read enters in each. */
static int
several_pipelines(struct ctx *c, void *arg)
{
	struct rows *first = TEXT0(c, count_items);
	int64_t n;

	(void)arg;
	assert_int_equal(rows_next(first), 1);
	assert_int_equal(read_count(c, &n), 0);
	assert_int_equal(read_count(c, &n), 0);
	assert_int_equal(n, 511);
	assert_int_equal(row_int(first, 0), 5); /* still there */
	return 0;
}

static int
nested(struct ctx *c, void *arg)
{
	assert_int_equal(db_tx(c, DB_WRITE, write_blind, arg), 0);
	return db_tx(c, DB_READ, several_pipelines, NULL);
}

static int
write_in_read(struct ctx *c, void *arg)
{
	return db_tx(c, DB_WRITE, write_blind, arg);
}

static void
units_nest(void **state)
{
	struct ctx *c = pg_ctx(app, "alice");

	(void)state;
	assert_int_equal(db_tx(c, DB_READ, several_pipelines, NULL), 0);
	assert_int_equal(db_tx(c, DB_WRITE, nested, MUTABLE("nested")), 0);
	assert_string_equal(pg_value(c->a, "SELECT count(*) FROM item WHERE body = 'nested'"), "5");
	assert_int_equal(db_tx(c, DB_READ, write_in_read, MUTABLE("never")), -1);
	assert_int_equal(c->err.kind, ERR_INTERNAL);
	err_clear(c);
	assert_int_equal(db_tx(c, DB_SYSTEM, nested, MUTABLE("never")), -1);
	assert_int_equal(c->err.kind, ERR_INTERNAL);
	err_clear(c);
	c->cred = NULL;
	assert_int_equal(db_tx(c, DB_READ, several_pipelines, NULL), -1);
	assert_int_equal(c->err.kind, ERR_INTERNAL);
	pg_ctx_free(&c);
}

static int
unset_account(struct ctx *c, void *arg)
{
	(void)arg;
	return rows_next(TEXT0(c, "SELECT no FROM item WHERE account_no = acct()")) < 0 ? -1 : 0;
}

static int
system_work(struct ctx *c, void *arg)
{
	*(int64_t *)arg = rows_affected(TEXT(c, "UPDATE account SET role = role WHERE no < $1", P_INT(3)));
	return 0;
}

static void
system_units_have_no_account(void **state)
{
	struct db *sys = pg_pool(DB_SYS, 1);
	struct ctx *c = pg_ctx(sys, NULL);
	int64_t n = 0;

	(void)state;
	assert_int_equal(db_tx(c, DB_SYSTEM, system_work, &n), 0);
	assert_int_equal(n, 2);
	assert_int_equal(db_tx(c, DB_SYSTEM, unset_account, NULL), -1);
	assert_int_equal(c->err.kind, ERR_INTERNAL);
	pg_ctx_free(&c);
	db_destroy(&sys);
}

/* A statement prepared behind a failure in the same pipeline is not prepared, and must not count as such. */
static int
prepare_behind_failure(struct ctx *c, void *arg)
{
	struct rows *rs;

	TEXT(c, "SELECT 1 / $1::int", P_INT(0));
	TEXT(c, "SELECT $1::text", P_C(arg));
	rs = TEXT(c, "SELECT $1::text", P_C(arg)); /* second use: would be prepared here */
	db_query0(c, STMT_db_ping);
	return rows_next(rs) == 1 ? 0 : -1;
}

static int
use_both(struct ctx *c, void *arg)
{
	struct rows *rs = TEXT(c, "SELECT $1::text", P_C(arg));
	struct rows *ping = db_query0(c, STMT_db_ping);

	return rows_next(rs) == 1 && rows_next(ping) == 1 && row_int(ping, 0) == 1 ? 0 : -1;
}

static int
server_prepared(struct ctx *c, void *arg)
{
	struct rows *rs = TEXT0(c, "SELECT count(*) FROM pg_prepared_statements WHERE name ~ '^g[0-9]+$'");

	if (rows_next(rs) != 1)
		return -1;
	*(int64_t *)arg = row_int(rs, 0);
	return 0;
}

static void
registry_survives_failures(void **state)
{
	struct db *one = pg_pool(DB_APP, 1);
	struct ctx *c = pg_ctx(one, "alice");
	int64_t n;

	(void)state;
	assert_int_equal(db_tx(c, DB_READ, prepare_behind_failure, MUTABLE("x")), -1);
	err_clear(c);
	for (int i = 0; i < 3; i++)
		assert_int_equal(db_tx(c, DB_READ, use_both, MUTABLE("y")), 0);
	assert_int_equal(db_tx(c, DB_READ, server_prepared, &n), 0);
	assert_int_equal(n, 1);
	pg_ctx_free(&c);
	db_destroy(&one);
}

static int
many_texts(struct ctx *c, void *arg)
{
	(void)arg;
	for (int i = 0; i < 200; i++) {
		const char *sql = arena_printf(c->a, "SELECT %d + $1::int", i);
		struct rows *a = TEXT(c, sql, P_INT(1)), *b = TEXT(c, sql, P_INT(2)),
			    *d = TEXT(c, sql, P_INT(3));

		assert_int_equal(rows_next(d), 1);
		assert_int_equal(row_int(d, 0), i + 3);
		assert_true(rows_next(a) == 1 && rows_next(b) == 1);
	}
	return 0;
}

static void
texts_are_bounded(void **state)
{
	struct db *one = pg_pool(DB_APP, 1);
	struct ctx *c = pg_ctx(one, "alice");
	int64_t n;

	(void)state;
	assert_int_equal(db_tx(c, DB_READ, many_texts, NULL), 0);
	assert_int_equal(db_tx(c, DB_WRITE, many_texts, NULL), 0);
	assert_int_equal(db_tx(c, DB_READ, server_prepared, &n), 0);
	assert_in_range(n, 32, 64);
	pg_ctx_free(&c);
	db_destroy(&one);
}

static void
works_without_prepare(void **state)
{
	struct db *plain = pg_pool_conf(DB_APP, (struct db_conf){ .connections = 1, .checkout_ms = 1000 });
	struct ctx *c = pg_ctx(plain, "alice");
	int64_t n;

	(void)state;
	assert_int_equal(db_tx(c, DB_READ, several_pipelines, NULL), 0);
	assert_int_equal(db_tx(c, DB_WRITE, write_blind, MUTABLE("plain")), 0);
	assert_int_equal(db_tx(c, DB_READ, many_texts, NULL), 0);
	assert_int_equal(db_tx(c, DB_READ, server_prepared, &n), 0);
	assert_int_equal(n, 0);
	pg_ctx_free(&c);
	db_destroy(&plain);
}

/* More than both socket buffers hold, in both directions, before anything is read. */
static int
overflow(struct ctx *c, void *arg)
{
	struct rows *rs[200];
	char *big = arena_alloc(c->a, 50001);

	(void)arg;
	memset(big, 'b', 50000);
	for (int i = 0; i < 200; i++)
		rs[i] = TEXT(c, "SELECT $1::text || $2::text, repeat('r', 50000)", P_C(big), P_INT(i));
	for (int i = 0; i < 200; i++) {
		assert_int_equal(rows_next(rs[i]), 1);
		assert_int_equal(row_str(rs[i], 0).n, 50000 + (i < 10 ? 1 : i < 100 ? 2 : 3));
		assert_int_equal(row_str(rs[i], 1).n, 50000);
	}
	return 0;
}

static void
pipelines_cannot_jam(void **state)
{
	struct ctx *c = pg_ctx(app, "alice");

	(void)state;
	assert_int_equal(db_tx(c, DB_READ, overflow, NULL), 0);
	assert_int_equal(db_tx(c, DB_WRITE, overflow, NULL), 0);
	pg_ctx_free(&c);
}

static int
two_queries(struct ctx *c, void *arg)
{
	struct rows *a = TEXT0(c, count_items), *b = db_query0(c, STMT_db_ping);

	(void)arg;
	return rows_next(a) == 1 && rows_next(b) == 1 ? 0 : -1;
}

/* Round trips of one unit, on a pool of one connection that is warm. */
static unsigned
trips(struct db *one, enum db_mode mode, int (*fn)(struct ctx *, void *), void *arg)
{
	struct ctx *c = pg_ctx(one, "alice");
	unsigned before = one->conns[0].trips;

	assert_int_equal(db_tx(c, mode, fn, arg), 0);
	pg_ctx_free(&c);
	return one->conns[0].trips - before;
}

static void
round_trips_are_few(void **state)
{
	struct db *one = pg_pool(DB_APP, 1);

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(trips(one, DB_READ, NULL, NULL), 1);
		assert_int_equal(trips(one, DB_READ, two_queries, NULL), 1);
		assert_int_equal(trips(one, DB_READ, several_pipelines, NULL), 3);
		assert_int_equal(trips(one, DB_WRITE, write_blind, MUTABLE("trip")), 1);
		assert_int_equal(trips(one, DB_WRITE, two_queries, NULL), 2);
		assert_int_equal(trips(one, DB_WRITE, write_unguarded, MUTABLE("user")), 2);
	}
	db_destroy(&one);
}

struct clash {
	pthread_barrier_t *barrier;
	int first, second, runs;
	bool met;
};

static int
lock_two(struct ctx *c, void *arg)
{
	struct clash *x = arg;

	x->runs++;
	if (rows_affected(TEXT(
		c, "UPDATE item SET n = n + 1 WHERE account_no = acct() AND no = $1", P_INT(x->first))) != 1)
		return -1;
	if (!x->met)
		pthread_barrier_wait(x->barrier);
	x->met = true;
	return rows_affected(TEXT(c, "UPDATE item SET n = n + 1 WHERE account_no = acct() AND no = $1",
		   P_INT(x->second))) == 1
		   ? 0
		   : -1;
}

static void *
clash_thread(void *arg)
{
	struct ctx *c = pg_ctx(app, "alice");
	int rc = db_tx(c, DB_WRITE, lock_two, arg);

	pg_ctx_free(&c);
	return (void *)(intptr_t)rc;
}

static void
deadlock_runs_again(void **state)
{
	pthread_barrier_t barrier;
	struct clash x[2] = { { &barrier, 1, 2, 0, false }, { &barrier, 2, 1, 0, false } };
	struct arena *a = arena_create("t", 0);
	pthread_t t[2];
	void *rc[2];

	(void)state;
	pg_sql("UPDATE item SET n = 0");
	pthread_barrier_init(&barrier, NULL, 2);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, clash_thread, &x[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], &rc[i]);
	assert_null(rc[0]);
	assert_null(rc[1]);
	assert_int_equal(x[0].runs + x[1].runs, 3); /* one of the two was the victim, once */
	assert_string_equal(
	    pg_value(a, "SELECT string_agg(n::text, ',') FROM item WHERE account_no = 1 AND no < 3"), "2,2");
	pthread_barrier_destroy(&barrier);
	arena_destroy(&a);
}

struct victim {
	int runs, kill_at; /* kills the own backend in this run */
	bool after_answer;
};

static const char kill_others[] =
    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = 'tavern_app'";

static int
loses_connection(struct ctx *c, void *arg)
{
	struct victim *v = arg;
	int64_t n;

	v->runs++;
	if (v->after_answer && read_count(c, &n) < 0)
		return -1;
	if (v->runs == v->kill_at)
		pg_sql(kill_others);
	return read_count(c, &n);
}

static void
lost_connections(void **state)
{
	struct victim v[] = { { 0, 1, false }, { 0, 1, true }, { 0, 1, true } };
	struct ctx *c = pg_ctx(app, "alice");
	int64_t n;

	(void)state;
	assert_int_equal(db_tx(c, DB_READ, loses_connection, &v[0]), 0); /* nothing seen: once more */
	assert_int_equal(v[0].runs, 2);
	assert_int_equal(db_tx(c, DB_READ, loses_connection, &v[1]), -1);
	assert_int_equal(v[1].runs, 1);
	assert_int_equal(c->err.kind, ERR_UNAVAILABLE);
	assert_string_equal(c->err.code, "database_unavailable");
	assert_int_equal(c->err.retry_after, 1);
	err_clear(c);
	assert_int_equal(
	    db_tx(c, DB_WRITE, loses_connection, &v[2]), 0); /* a transaction leaves nothing behind */
	assert_int_equal(v[2].runs, 2);

	v[0] = (struct victim){ 0 };
	pg_sql(kill_others); /* while idle: noticed before the unit runs */
	assert_int_equal(db_tx(c, DB_WRITE, loses_connection, &v[0]), 0);
	assert_int_equal(v[0].runs, 1);
	assert_int_equal(db_tx(c, DB_READ, read_count, &n), 0);
	pg_ctx_free(&c);
}

static int
dies_in_commit(struct ctx *c, void *arg)
{
	++*(int *)arg;
	return rows_affected(TEXT(c, "INSERT INTO item (no) VALUES ($1)", P_INT(666))) == 1 ? 0 : -1;
}

static void
unknown_commit_is_not_repeated(void **state)
{
	struct ctx *c = pg_ctx(app, "alice");
	int runs = 0;

	(void)state;
	assert_int_equal(db_tx(c, DB_WRITE, dies_in_commit, &runs), -1);
	assert_int_equal(runs, 1);
	assert_string_equal(c->err.code, "database_unavailable");
	pg_ctx_free(&c);
}

static int
hold_connection(struct ctx *c, void *arg)
{
	struct ctx *other = pg_ctx(c->db, "bob");
	int64_t n;

	(void)arg;
	assert_int_equal(db_tx(other, DB_READ, read_count, &n), -1);
	assert_int_equal(other->err.kind, ERR_UNAVAILABLE);
	assert_string_equal(other->err.code, "database_busy");
	assert_int_equal(other->err.retry_after, 1);
	pg_ctx_free(&other);
	return 0;
}

static void
pool_runs_dry(void **state)
{
	struct db *one = pg_pool_conf(DB_APP, (struct db_conf){ .connections = 1,
						  .checkout_ms = 50,
						  .statement_ms = 1000,
						  .lock_ms = 1000,
						  .prepare = true });
	struct ctx *c = pg_ctx(one, "alice");

	(void)state;
	assert_int_equal(db_tx(c, DB_READ, hold_connection, NULL), 0);
	assert_int_equal(db_tx(c, DB_READ, several_pipelines, NULL), 0);
	pg_ctx_free(&c);
	db_destroy(&one);
}

static int
too_slow(struct ctx *c, void *arg)
{
	(void)arg;
	return rows_next(TEXT0(c, "SELECT pg_sleep(30)")) < 0 ? -1 : 0;
}

static void
statements_time_out(void **state)
{
	struct db *one = pg_pool_conf(DB_APP,
	    (struct db_conf){
		.connections = 1, .checkout_ms = 50, .statement_ms = 100, .lock_ms = 1000, .prepare = true });
	struct ctx *c = pg_ctx(one, "alice");

	(void)state;
	assert_int_equal(db_tx(c, DB_WRITE, too_slow, NULL), -1);
	assert_int_equal(c->err.kind, ERR_UNAVAILABLE);
	assert_string_equal(c->err.code, "database_timeout");
	err_clear(c);
	assert_int_equal(db_tx(c, DB_READ, several_pipelines, NULL), 0);
	pg_ctx_free(&c);
	db_destroy(&one);
}

static void
database_down(void **state)
{
	struct db_conf conf = { .conninfo = "host=/nonexistent dbname=x user=y",
		.connections = 2,
		.checkout_ms = 50,
		.statement_ms = 1000,
		.lock_ms = 1000,
		.prepare = true };
	struct db *none = db_create(&conf, DB_APP);
	struct ctx *c = pg_ctx(none, "alice");

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(db_tx(c, DB_READ, several_pipelines, NULL), -1);
		assert_string_equal(c->err.code, "database_unavailable");
		assert_int_equal(c->err.retry_after, 1);
		assert_non_null(strstr(c->err.log, "nonexistent"));
		err_clear(c);
	}
	assert_false(db_alive(none, 1000));
	assert_true(db_alive(app, 1000));
	pg_ctx_free(&c);
	db_destroy(&none);
}

static void *
worker(void *arg)
{
	const char *account = arg;
	int own = strcmp(account, "alice") == 0 ? 511 : 522;

	for (int i = 0; i < 100; i++) {
		struct ctx *c = pg_ctx(app, account);
		int64_t n = 0;

		if (db_tx(c, DB_READ, read_count, &n) < 0 || n != own)
			abort();
		if (i % 4 == 0 && db_tx(c, DB_WRITE, write_blind, (void *)(uintptr_t)account) < 0)
			abort();
		if (!db_alive(app, 0))
			(void)db_alive(app, 1000);
		pg_ctx_free(&c);
	}
	return NULL;
}

static void
threads_share_the_pool(void **state)
{
	pthread_t t[8];
	struct arena *a = arena_create("t", 0);

	(void)state;
	for (int i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, worker, (void *)(uintptr_t)(i % 2 ? "alice" : "bob"));
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	assert_string_equal(pg_value(a, "SELECT string_agg(account_no || body, ',' ORDER BY account_no) FROM "
					"item WHERE no = 1 AND account_no < 3"),
	    "1alice,2bob");
	arena_destroy(&a);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(enters_by_id_and_key),
		cmocka_unit_test(refuses_strangers),
		cmocka_unit_test(disabled_account_cannot_write_blindly),
		cmocka_unit_test(nobody_commits_unguarded_statements),
		cmocka_unit_test(failures_roll_back),
		cmocka_unit_test(maps_errors),
		cmocka_unit_test(carries_values),
		cmocka_unit_test(units_nest),
		cmocka_unit_test(system_units_have_no_account),
		cmocka_unit_test(registry_survives_failures),
		cmocka_unit_test(texts_are_bounded),
		cmocka_unit_test(works_without_prepare),
		cmocka_unit_test(pipelines_cannot_jam),
		cmocka_unit_test(round_trips_are_few),
		cmocka_unit_test(deadlock_runs_again),
		cmocka_unit_test(lost_connections),
		cmocka_unit_test(unknown_commit_is_not_repeated),
		cmocka_unit_test(pool_runs_dry),
		cmocka_unit_test(statements_time_out),
		cmocka_unit_test(database_down),
		cmocka_unit_test(threads_share_the_pool),
	};
	int rc;

	(void)argc;
	pg_main(argv);
	pg_sql(scratch);
	app = pg_pool(DB_APP, 3);
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	db_destroy(&app);
	return rc;
}
