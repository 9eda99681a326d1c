/*
 * The queue and its runner against a real server: claim, retry, dead letter, cancel, scopes, leases, giving
 * back, files, sweeping.
 */
#include "../lib/pg.h"
#include "base/tm.h"
#include "job/runner.h"
#include "job/sweep.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>
#undef fail /* ours, not cmocka's */

static struct arena *a;
static struct db *app, *sys;
static atomic_int runs, now_running, most_at_once;

static void
nap(int ms)
{
	usleep((useconds_t)ms * 1000);
}

static int
done_tx(struct ctx *c, void *arg)
{
	struct job *j = arg;

	(void)c;
	return job_done(j, STR("{\"ok\":true}"), 0);
}

static int
kind_fine(struct job *j)
{
	atomic_fetch_add(&runs, 1);
	return db_tx(j->c, DB_WRITE, done_tx, j);
}

/* Fails until its third try, as the database might. */
static int
kind_flaky(struct job *j)
{
	if (j->attempt < 3)
		return fail(j->c, ERR_UNAVAILABLE, "not_yet", "not yet");
	return 0;
}

static int
kind_broken(struct job *j)
{
	return fail(j->c, ERR_UNAVAILABLE, "never", "never");
}

static int
kind_wrong(struct job *j)
{
	return fail(j->c, ERR_INVALID, "bad_file", "bad file");
}

/* Works until somebody says that it should not. */
static int
kind_long(struct job *j)
{
	int n = 1 + atomic_fetch_add(&now_running, 1), rc = 0;

	if (n > atomic_load(&most_at_once))
		atomic_store(&most_at_once, n);
	for (int i = 0; i < (int)json_get_int(j->args, "steps", 1000) && rc == 0; i++) {
		rc = job_progress(j, "working", i, 1000);
		nap(5);
	}
	atomic_fetch_sub(&now_running, 1);
	return rc < 0 ? -1 : db_tx(j->c, DB_WRITE, done_tx, j);
}

/* Works and says nothing. */
static int
kind_silent(struct job *j)
{
	(void)j;
	nap(500);
	return 0;
}

static const struct job_kind kinds[] = {
	{ "silent", kind_silent, 2, 5000, 10 },
	{ "fine", kind_fine, 3, 5000, 10 },
	{ "flaky", kind_flaky, 5, 5000, 10 },
	{ "broken", kind_broken, 3, 5000, 10 },
	{ "wrong", kind_wrong, 5, 5000, 10 },
	{ "long", kind_long, 2, 5000, 10 },
	{ .name = NULL },
};

static struct runner *
start(int threads)
{
	struct runner_conf conf = { .kinds = kinds,
		.db = app,
		.db_sys = sys,
		.worker = "test/1",
		.threads = threads,
		.poll_ms = 20 };

	atomic_store(&runs, 0);
	atomic_store(&most_at_once, 0);
	return runner_start(a, &conf);
}

static void
stop(struct runner *r)
{
	runner_stop(r, true);
	runner_join(r);
}

struct queued {
	struct job_new n;
	int64_t no;
};

static int
queue_tx(struct ctx *c, void *arg)
{
	struct queued *q = arg;

	return job_enqueue(c, &q->n, &q->no);
}

static int64_t
queue(const char *kind, const char *id, const char *scope, int attempts, const char *args)
{
	struct ctx *c = pg_ctx(app, "alice");
	struct queued q = { .n = { kind, id, scope, str_c(args), attempts } };

	c->now = tm_now();
	assert_int_equal(db_tx(c, DB_WRITE, queue_tx, &q), 0);
	pg_ctx_free(&c);
	return q.no;
}

static const char *
look(const char *what, const char *id)
{
	return pg_value(a, arena_printf(a, "SELECT %s FROM job WHERE id = '%s'", what, id));
}

static void
wait_state(const char *id, const char *state)
{
	for (int i = 0; i < 400 && strcmp(look("state", id), state) != 0; i++)
		nap(10);
	assert_string_equal(look("state", id), state);
}

static void
test_done(void **state)
{
	struct runner *r = start(2);

	(void)state;
	queue("fine", "f1", NULL, 3, "{}");
	runner_wake(r);
	wait_state("f1", "done");
	assert_string_equal(look("phase", "f1"), "completed");
	assert_string_equal(look("result->>'ok'", "f1"), "true");
	assert_string_equal(look("attempts", "f1"), "1");
	assert_string_equal(look("(lease_until IS NULL AND completed_at IS NOT NULL)::text", "f1"), "true");
	assert_int_equal(atomic_load(&runs), 1);
	stop(r);
}

static void
test_retry_and_death(void **state)
{
	struct runner *r = start(2);

	(void)state;
	queue("flaky", "y1", NULL, 5, "{}");
	queue("broken", "b1", NULL, 3, "{}");
	queue("wrong", "w1", NULL, 5, "{}");
	wait_state("y1", "done");
	assert_string_equal(look("attempts", "y1"), "3");
	wait_state("b1", "dead");
	assert_string_equal(look("attempts", "b1"), "3");
	assert_string_equal(look("error->>'code'", "b1"), "never");
	wait_state("w1", "dead"); /* at once: the file stays bad */
	assert_string_equal(look("attempts", "w1"), "1");
	stop(r);
}

static void
test_cancel(void **state)
{
	struct runner *r = start(1);

	(void)state;
	queue("long", "l1", NULL, 2, "{}");
	wait_state("l1", "running");
	for (int i = 0; i < 200 && strcmp(look("phase", "l1"), "working") != 0; i++)
		nap(10);
	pg_sql("UPDATE job SET state = 'cancelled', completed_at = 1 WHERE id = 'l1'");
	for (int i = 0; i < 200 && runner_busy(r) > 0; i++)
		nap(10);
	assert_int_equal(runner_busy(r), 0);
	assert_string_equal(look("state", "l1"), "cancelled");
	assert_string_equal(look("coalesce(result::text, 'none')", "l1"), "none");
	stop(r);
}

static void
test_scope(void **state)
{
	struct runner *r = start(4);

	(void)state;
	for (int i = 0; i < 6; i++)
		queue("long", arena_printf(a, "s%d", i), "one", 2, "{\"steps\":10}");
	for (int i = 0; i < 6; i++)
		wait_state(arena_printf(a, "s%d", i), "done");
	assert_int_equal(atomic_load(&most_at_once), 1);
	for (int i = 0; i < 4; i++)
		queue("long", arena_printf(a, "t%d", i), NULL, 2, "{\"steps\":60}");
	for (int i = 0; i < 4; i++)
		wait_state(arena_printf(a, "t%d", i), "done");
	assert_true(atomic_load(&most_at_once) > 1); /* without a scope: as many as there are threads */
	stop(r);
}

/* A worker that is gone: after the lease the job is another's; what the old one says then counts no more. */
static void
test_lease(void **state)
{
	struct runner *r;

	(void)state;
	queue("fine", "e1", NULL, 3, "{}");
	pg_sql("UPDATE job SET state = 'running', attempts = 1, worker = 'gone', lease_until = 5 WHERE id = "
	       "'e1'");
	queue("fine", "e2", NULL, 1, "{}");
	pg_sql("UPDATE job SET state = 'running', attempts = 1, worker = 'gone', lease_until = 5 WHERE id = "
	       "'e2'");
	queue("fine", "e3", NULL, 3, "{}");
	pg_sql("UPDATE job SET state = 'running', attempts = 1, worker = 'alive', lease_until = "
	       "9999999999999 WHERE id = 'e3'");
	r = start(1);
	runner_tick(r);
	wait_state("e1", "done");
	assert_string_equal(look("attempts", "e1"), "2");
	assert_string_equal(look("state", "e2"), "dead");
	assert_string_equal(look("error->>'code'", "e2"), "worker_lost");
	assert_string_equal(look("state", "e3"), "running");
	stop(r);
}

/* The tick keeps the lease of a job that says nothing. */
static void
test_renewal(void **state)
{
	struct runner *r = start(1);

	(void)state;
	queue("silent", "n1", NULL, 2, "{}");
	wait_state("n1", "running");
	pg_sql("UPDATE job SET lease_until = 77 WHERE id = 'n1'");
	runner_tick(r);
	assert_string_equal(look("(lease_until > now_ms() + 3000)::text", "n1"), "true");
	wait_state("n1", "done");
	assert_string_equal(look("attempts", "n1"), "1");
	stop(r);
}

static void
test_give_back(void **state)
{
	struct runner *r = start(1);

	(void)state;
	queue("long", "g1", NULL, 2, "{}");
	wait_state("g1", "running");
	stop(r);
	assert_string_equal(look("state", "g1"), "queued");
	assert_string_equal(look("attempts", "g1"), "0");
	pg_sql("DELETE FROM job WHERE id = 'g1'");
}

/* A result of somebody who lost the job is rolled back. */
static void
test_zombie(void **state)
{
	struct ctx *c = pg_ctx(app, "alice");
	int64_t no = queue("fine", "z1", NULL, 3, "{}");
	struct job j = { .c = c, .kind = &kinds[1], .no = no, .worker = "old", .attempt = 1 };

	(void)state;
	pg_sql("UPDATE job SET state = 'running', attempts = 2, worker = 'new', lease_until = 9999999999999 "
	       "WHERE id = 'z1'");
	assert_int_equal(job_progress(&j, "working", 1, 2), -1);
	assert_string_equal(c->err.code, "job_cancelled");
	err_clear(c);
	assert_int_equal(db_tx(c, DB_WRITE, done_tx, &j), -1);
	assert_string_equal(look("state", "z1"), "running");
	pg_sql("DELETE FROM job WHERE id = 'z1'");
	pg_ctx_free(&c);
}

struct file {
	int64_t no;
	struct str bytes;
};

static int
file_tx(struct ctx *c, void *arg)
{
	struct file *f = arg;

	return job_file_write(c, f->no, JOB_OUTPUT, 0, f->bytes);
}

static int
read_tx(struct ctx *c, void *arg)
{
	struct file *f = arg;
	struct sb out = sb_new(c->a);
	struct str piece;
	int rc;

	while ((rc = job_file_read(c, f->no, JOB_OUTPUT, (int64_t)out.n, &piece)) > 0)
		sb_add(&out, piece);
	f->bytes = sb_str(&out);
	return rc;
}

/* Pieces, and what the sweeper takes: outputs when their time is over, jobs when they are old. */
static void
test_files_and_age(void **state)
{
	struct ctx *c = pg_ctx(app, "alice"),
		   s = { .a = arena_create("sweep", 0), .db = sys, .now = tm_now() };
	int64_t no = queue("fine", "p1", NULL, 3, "{}");
	char *big = arena_alloc(c->a, JOB_PIECE * 2 + 100);
	struct file f = { no, { big, JOB_PIECE * 2 + 100 } }, g = { .no = no };
	const struct sweep_keep keep = { 3600000, 3600000 };

	(void)state;
	for (size_t i = 0; i < f.bytes.n; i++)
		big[i] = (char)(i * 31 + i / 1000);
	assert_int_equal(db_tx(c, DB_WRITE, file_tx, &f), 0);
	assert_int_equal(db_tx(c, DB_READ, read_tx, &g), 0);
	assert_true(str_eq(f.bytes, g.bytes));
	assert_string_equal(pg_value(a, "SELECT count(*) FROM job_file"), "3");
	pg_sql("UPDATE job SET state = 'done', completed_at = now_ms(), file_until = now_ms() + 100000 WHERE "
	       "id = 'p1'");
	pg_sql("INSERT INTO event (account_no, name, data, created_at) SELECT no, 'x', '{}', t FROM account, "
	       "(VALUES (1::bigint), (now_ms())) v (t) "
	       "WHERE id = 'alice'");
	assert_true(sweep_round(&s, &keep) >= 1);
	assert_string_equal(pg_value(a, "SELECT count(*) FROM job_file"), "3");
	assert_string_equal(pg_value(a, "SELECT string_agg(name, ' ' ORDER BY xid, no) FROM event"), "swept x");
	pg_sql("UPDATE job SET file_until = 5 WHERE id = 'p1'");
	assert_int_equal(sweep_round(&s, &keep), 3);
	assert_string_equal(pg_value(a, "SELECT count(*) FROM job_file"), "0");
	pg_sql("UPDATE job SET completed_at = 5 WHERE state <> 'queued' AND state <> 'running'");
	assert_true(sweep_round(&s, &keep) > 0);
	assert_string_equal(pg_value(a, "SELECT count(*) FROM job WHERE completed_at IS NOT NULL"), "0");
	arena_destroy(&s.a);
	pg_ctx_free(&c);
}

/* The account's policy holds for jobs and their files. */
static void
test_accounts(void **state)
{
	struct ctx *bob = pg_ctx(app, "bob");
	int64_t no = queue("fine", "i1", NULL, 3, "{}");
	struct file f = { no, STR("x") };

	(void)state;
	assert_int_equal(db_tx(bob, DB_WRITE, file_tx, &f), 0); /* finds no job of his: writes nothing */
	assert_string_equal(pg_value(a, "SELECT count(*) FROM job_file"), "0");
	pg_sql("DELETE FROM job WHERE id = 'i1'");
	pg_ctx_free(&bob);
}

static void
test_wake(void **state)
{
	char dir[] = "/tmp/jobwakeXXXXXX", buf[8];
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	job_wake(dir); /* nobody is there */
	fd = job_wake_listen(dir);
	assert_true(fd >= 0);
	job_wake(dir);
	assert_int_equal(read(fd, buf, sizeof(buf)), 1);
	close(fd);
	job_wake(dir);
	fd = job_wake_listen(dir); /* an old socket is replaced */
	assert_true(fd >= 0);
	close(fd);
	unlink(arena_printf(a, "%s/jobd.sock", dir));
	rmdir(dir);
}

static int
setup(void **state)
{
	(void)state;
	a = arena_create("jobs", 0);
	pg_migrate();
	pg_sql("INSERT INTO account (id, name, created_at, updated_at) VALUES ('alice', 'A', 1, 1), ('bob', "
	       "'B', 1, 1)");
	app = pg_pool(DB_APP, 6);
	sys = pg_pool(DB_SYS, 6);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	db_destroy(&app);
	db_destroy(&sys);
	arena_destroy(&a);
	return 0;
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_done),
		cmocka_unit_test(test_retry_and_death),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_scope),
		cmocka_unit_test(test_lease),
		cmocka_unit_test(test_renewal),
		cmocka_unit_test(test_give_back),
		cmocka_unit_test(test_zombie),
		cmocka_unit_test(test_files_and_age),
		cmocka_unit_test(test_accounts),
		cmocka_unit_test(test_wake),
	};

	(void)argc;
	pg_main(argv);
	return cmocka_run_group_tests(tests, setup, teardown);
}
