/*
 * Runs that another process has, followed through the database by several readers at once: between request threads, the
 * follower and the loop.
 */
#include "../lib/pg.h"
#include "base/tm.h"
#include "turn/follow.h"
#include "turn/turn_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>
#undef fail /* ours, not cmocka's */

#define READERS 4

static struct arena *process;
static struct db *app, *sys;
static struct loop *loop;
static struct turns *turns;
static pthread_t loop_thread;

static const char story[] =
    "INSERT INTO tavern.account (id, name, created_at, updated_at) VALUES ('alice', 'Alice', 1, 1);"
    "INSERT INTO tavern.session (account_no, id, created_at, updated_at) SELECT no, 's', 1, 1 FROM tavern.account WHERE id = 'alice';"
    "INSERT INTO tavern.segment (account_no, session_no) SELECT account_no, no FROM tavern.session;"
    "INSERT INTO tavern.branch (account_no, session_no, id, segs, his, head_seq, created_at, updated_at) "
    "SELECT account_no, session_no, 'main', ARRAY[no], ARRAY[0], 0, 1, 1 FROM tavern.segment;"
    "INSERT INTO tavern.floor (account_no, id, session_no, segment_no, floor_seq, branch_id, state, created_at, updated_at) "
    "SELECT account_no, 'f' || i, session_no, no, i, 'main', 'generating', 1, 1 FROM tavern.segment, generate_series(0, 1) i;"
    "INSERT INTO tavern.run (account_no, id, session_no, branch_no, floor_no, type, state, phase, lease_until, worker, started_at, updated_at) "
    "SELECT f.account_no, 'run-' || f.id, f.session_no, b.no + f.floor_seq, f.no, 'respond', 'running', 'input_recorded', 99999999999999, 'another/1-0', 1, 1 "
    "FROM tavern.floor f JOIN tavern.branch b ON b.session_no = f.session_no";

struct reader {
	struct stream_reader r; /* first */
	struct stream *stream;
	struct stream_pos pos;
	char out[400];
	size_t n;
	atomic_bool done, left;
};

static void
put(struct reader *x, const char *p, size_t n)
{
	assert_true(x->n + n < sizeof(x->out));
	memcpy(x->out + x->n, p, n);
	x->n += n;
	x->out[x->n] = '\0';
}

/* Loop thread. */
static void
woken(struct stream_reader *r)
{
	struct reader *x = (struct reader *)r;
	struct stream_item it = { .last = false };

	while (!it.last && stream_next(x->stream, x->pos, 100, &it)) {
		x->pos = it.after;
		if (it.kind == STREAM_EVENT)
			put(x, "|", 1);
		put(x, it.kind == STREAM_EVENT ? it.name : it.data.p, it.kind == STREAM_EVENT ? strlen(it.name) : it.data.n);
		if (it.kind == STREAM_EVENT)
			put(x, "|", 1);
	}
	if (it.last) {
		stream_detach(r);
		atomic_store(&x->done, true);
	}
}

static void
attach(void *arg)
{
	struct reader *x = arg;

	stream_attach(x->stream, &x->r);
}

static void
leave(void *arg)
{
	struct reader *x = arg;

	stream_detach(&x->r);
	atomic_store(&x->left, true);
}

static bool
until(const atomic_bool *flag)
{
	for (int i = 0; i < 2000 && !atomic_load(flag); i++)
		nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
	return atomic_load(flag);
}

/* As a request does it. */
static void
begin(struct reader *x, const char *floor, struct stream_pos from)
{
	struct ctx *c = pg_ctx(app, "alice");
	struct run_view v;

	*x = (struct reader){ .r.wake = woken, .pos = run_stream_from(from) };
	assert_int_equal(run_view_load(c, str_c(floor), 0, &v), 0);
	assert_true(run_runs(&v));
	x->stream = run_stream(turns, c, &v);
	assert_non_null(x->stream);
	loop_post(loop, attach, x);
	pg_ctx_free(&c);
}

static void
said(const char *floor, int at, const char *reasoning, const char *text)
{
	struct arena *a = arena_create("t", 0);

	pg_sql(arena_printf(a, "INSERT INTO tavern.run_text (account_no, run_no, reasoning, at, text) SELECT account_no, no, %s, %d, '%s' FROM tavern.run WHERE id = 'run-%s'",
	    reasoning, at, text, floor));
	arena_destroy(&a);
}

static void
readers_get_what_is_persisted_and_the_end(void **state)
{
	static struct reader x[READERS];

	(void)state;
	said("f0", 0, "false", "One ");
	said("f0", 0, "true", "hm ");
	for (int i = 0; i < READERS; i++) /* the last one has seen more than is persisted by now */
		begin(&x[i], "f0", i == READERS - 1 ? (struct stream_pos){ 5, 6, 3 } : (struct stream_pos){ 0 });
	said("f0", 4, "false", "two ");
	nanosleep(&(struct timespec){ 0, 700000000 }, NULL);
	said("f0", 8, "false", "thr");
	pg_sql("BEGIN; UPDATE tavern.run SET state = 'completed' WHERE id = 'run-f0';"
	       "UPDATE tavern.floor SET state = 'committed' WHERE id = 'f0'; DELETE FROM tavern.run_text;"
	       "INSERT INTO tavern.page (account_no, id, floor_no, kind, page_seq, active, reasoning, run_no, created_at, updated_at) "
	       "SELECT account_no, 'p', floor_no, 'output', 1, true, 'hm so', no, 1, 1 FROM tavern.run WHERE id = 'run-f0';"
	       "INSERT INTO tavern.message (account_no, id, page_no, segment_no, floor_seq, side, seq, active, role, content, source, created_at) "
	       "SELECT p.account_no, 'm', p.no, f.segment_no, 0, 2, 0, true, 'assistant', 'One two three', 'model', 1 "
	       "FROM tavern.page p JOIN tavern.floor f ON f.no = p.floor_no; COMMIT");
	for (int i = 0; i < READERS; i++) {
		assert_true(until(&x[i].done));
		stream_release(x[i].stream);
	}
	for (int i = 0; i < READERS - 1; i++) {
		assert_non_null(strstr(x[i].out, "|start|hm One two"));
		assert_non_null(strstr(x[i].out, "|done|"));
	}
	assert_non_null(strstr(x[READERS - 1].out, "so"));
	assert_non_null(strstr(x[READERS - 1].out, "o ")); /* from byte 6 on */
	assert_non_null(strstr(x[READERS - 1].out, "|done|"));
	assert_null(strstr(x[READERS - 1].out, "One"));
}

static void
one_that_leaves_is_forgotten(void **state)
{
	static struct reader x;

	(void)state;
	said("f1", 0, "false", "A");
	begin(&x, "f1", (struct stream_pos){ 0 });
	loop_post(loop, leave, &x);
	assert_true(until(&x.left));
	for (int i = 0; i < 2000; i++) {
		bool gone;

		pthread_mutex_lock(&turns->follow_lock);
		gone = turns->followed == NULL;
		pthread_mutex_unlock(&turns->follow_lock);
		if (gone)
			break;
		nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
	}
	pthread_mutex_lock(&turns->follow_lock);
	assert_null(turns->followed);
	pthread_mutex_unlock(&turns->follow_lock);
	stream_release(x.stream);
}

static void
the_end_of_the_process_is_said(void **state)
{
	static struct reader x;

	(void)state;
	begin(&x, "f1", (struct stream_pos){ 0 });
	follow_stop(turns);
	assert_true(until(&x.done));
	assert_non_null(strstr(x.out, "A|error|"));
	stream_release(x.stream);
}

static void *
loop_main(void *arg)
{
	loop_run(arg);
	return NULL;
}

static int
setup(void **state)
{
	struct turns_conf conf = { .worker = "here/1-0", .provider = "echo", .model = "echo", .cache_bytes = 1 << 20, .lease_ms = 15000 };

	(void)state;
	pg_migrate();
	pg_sql(story);
	process = arena_create("process", 0);
	loop = loop_create();
	conf.loop = loop;
	conf.db = app = pg_pool(DB_APP, 4);
	conf.db_sys = sys = pg_pool(DB_SYS, 2);
	turns = turns_create(process, &conf);
	return pthread_create(&loop_thread, NULL, loop_main, loop);
}

static int
teardown(void **state)
{
	(void)state;
	loop_stop(loop);
	pthread_join(loop_thread, NULL);
	loop_flush(loop);
	stream_end_all();
	loop_destroy(&loop);
	db_destroy(&app);
	db_destroy(&sys);
	arena_destroy(&process);
	return 0;
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(readers_get_what_is_persisted_and_the_end),
		cmocka_unit_test(one_that_leaves_is_forgotten),
		cmocka_unit_test(the_end_of_the_process_is_said),
	};

	(void)argc;
	pg_main(argv);
	return cmocka_run_group_tests(tests, setup, teardown);
}
