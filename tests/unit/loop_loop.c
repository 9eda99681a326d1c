/* loop: order, timers, stale events, posts from many threads, one-shot watches. */
#include "loop/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

struct trace {
	struct loop *l;
	char s[64];
	size_t n;
	int fd;
};

static void
note(struct trace *t, char c)
{
	if (t->n < sizeof(t->s) - 1)
		t->s[t->n++] = c;
}

static void
note_a(void *arg)
{
	note(arg, 'a');
}

static void
note_b(void *arg)
{
	note(arg, 'b');
}

static void
note_c(void *arg)
{
	note(arg, 'c');
}

static void
stop(void *arg)
{
	struct trace *t = arg;

	loop_stop(t->l);
}

static void
arm_timers(void *arg)
{
	struct trace *t = arg;
	uint64_t c;

	loop_timer(t->l, 40, stop, t);
	loop_timer(t->l, 20, note_b, t);
	c = loop_timer(t->l, 10, note_c, t);
	loop_timer(t->l, 5, note_a, t);
	loop_timer(t->l, 20, note_a, t);
	loop_timer_cancel(t->l, c);
	loop_timer_cancel(t->l, c);
	loop_timer_cancel(t->l, 0);
}

static void
posts_and_timers_run_in_order(void **state)
{
	struct trace t = { .l = loop_create() };

	(void)state;
	loop_post(t.l, note_c, &t);
	loop_post(t.l, arm_timers, &t);
	loop_post(t.l, note_a, &t);
	assert_int_equal(loop_run(t.l), 0);
	assert_string_equal(t.s, "caaba");
	loop_destroy(&t.l);
	assert_null(t.l);
}

static void
many_timers_fire_once_in_order(void **state)
{
	enum { N = 500 };
	struct trace t = { .l = loop_create() };
	uint64_t id[N];

	(void)state;
	for (int i = 0; i < N; i++)
		id[i] = loop_timer(t.l, (i * 7919) % 50, note_a, &t);
	for (int i = 0; i < N; i++) {
		for (int k = 0; k < i; k += 97)
			assert_true(id[i] != id[k]);
		if (i >= 20)
			loop_timer_cancel(t.l, id[i]);
	}
	loop_timer(t.l, 60, stop, &t);
	loop_run(t.l);
	assert_int_equal(t.n, 20);
	loop_destroy(&t.l);
}

static void
drop_other(void *arg, uint32_t events)
{
	struct trace *t = arg;

	assert_true(events & EPOLLIN);
	note(t, 'x');
	/* Both descriptors are readable in this round: whoever comes first takes the other's watch away. */
	loop_unwatch(t->l, t->fd);
	loop_unwatch(t->l, t->fd + 1000); /* never watched: harmless */
	close(t->fd);
	t->fd = -1;
}

static void
an_unwatched_descriptor_gets_no_stale_event(void **state)
{
	struct trace t = { .l = loop_create() }, u = { .l = t.l };
	int a[2], b[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, a), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, b), 0);
	t.fd = b[0];
	u.fd = a[0];
	assert_int_equal(loop_watch(t.l, a[0], EPOLLIN | EPOLLONESHOT, drop_other, &t), 0);
	assert_int_equal(loop_watch(t.l, b[0], EPOLLIN | EPOLLONESHOT, drop_other, &u), 0);
	assert_int_equal(write(a[1], "x", 1), 1);
	assert_int_equal(write(b[1], "x", 1), 1);
	loop_timer(t.l, 20, stop, &t);
	loop_run(t.l);
	assert_int_equal(t.n + u.n, 1);
	assert_true((t.fd < 0) != (u.fd < 0));
	close(a[1]);
	close(b[1]);
	if (u.fd >= 0)
		close(u.fd);
	if (t.fd >= 0)
		close(t.fd);
	loop_destroy(&t.l);
}

static void
read_once(void *arg, uint32_t events)
{
	struct trace *t = arg;
	char c;

	assert_true(events & EPOLLIN);
	assert_int_equal(read(t->fd, &c, 1), 1);
	note(t, c);
	if (t->n == 2)
		loop_stop(t->l);
}

static void
wake_again(void *arg)
{
	struct trace *t = arg;

	assert_string_equal(t->s, "x"); /* the second byte waits while the watch sleeps */
	assert_int_equal(loop_watch(t->l, t->fd, EPOLLIN | EPOLLONESHOT, read_once, t), 0);
}

static void
a_one_shot_watch_sleeps_until_replaced(void **state)
{
	struct trace t = { .l = loop_create() };
	int a[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, a), 0);
	t.fd = a[0];
	assert_int_equal(loop_watch(t.l, a[0], EPOLLIN | EPOLLONESHOT, read_once, &t), 0);
	assert_int_equal(write(a[1], "xy", 2), 2);
	loop_timer(t.l, 20, wake_again, &t);
	loop_run(t.l);
	assert_string_equal(t.s, "xy");
	loop_unwatch(t.l, a[0]);
	close(a[0]);
	close(a[1]);
	loop_destroy(&t.l);
}

enum { THREADS = 4, POSTS = 2000 };

struct poster {
	struct loop *l;
	int *total; /* loop thread only */
	int seen;   /* loop thread only: posts of this thread so far */
};

static void
count_post(void *arg)
{
	struct poster *p = arg;

	assert_true(loop_on_thread(p->l));
	p->seen++;
	if (++*p->total == THREADS * POSTS)
		loop_stop(p->l);
}

static void *
post_many(void *arg)
{
	struct poster *p = arg;

	assert_false(loop_on_thread(p->l));
	for (int i = 0; i < POSTS; i++)
		loop_post(p->l, count_post, p);
	return NULL;
}

static void
posts_of_many_threads_all_arrive(void **state)
{
	struct loop *l = loop_create();
	struct poster p[THREADS];
	pthread_t th[THREADS];
	int total = 0;

	(void)state;
	for (int i = 0; i < THREADS; i++) {
		p[i] = (struct poster){ .l = l, .total = &total };
		assert_int_equal(pthread_create(&th[i], NULL, post_many, &p[i]), 0);
	}
	loop_run(l);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(th[i], NULL);
		assert_int_equal(p[i].seen, POSTS);
	}
	loop_destroy(&l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(posts_and_timers_run_in_order),
		cmocka_unit_test(many_timers_fire_once_in_order),
		cmocka_unit_test(an_unwatched_descriptor_gets_no_stale_event),
		cmocka_unit_test(a_one_shot_watch_sleeps_until_replaced),
		cmocka_unit_test(posts_of_many_threads_all_arrive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
