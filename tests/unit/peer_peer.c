/* peer: a connection changes hands, a run is cancelled, and what is not there is said so. */
#include "peer/peer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

struct process {
	struct arena *a;
	struct loop *loop;
	pthread_t th;
	char dir[32];
	struct peer *one, *two;
	atomic_int attached, cancelled;
};

/* Says what it was told into the connection, which it then owns. */
static bool
attach(void *arg, const struct peer_reader *r, int fd)
{
	struct process *p = arg;
	char text[64];
	int n;

	if (r->run_no != 7)
		return false;
	atomic_fetch_add(&p->attached, 1);
	n = snprintf(
	    text, sizeof(text), "%u.%u.%u %u %d", r->event, r->text, r->reasoning, r->request_id, r->keep);
	assert_int_equal(write(fd, text, (size_t)n), n);
	close(fd);
	return true;
}

static bool
cancel(void *arg, int64_t run_no)
{
	struct process *p = arg;

	atomic_fetch_add(&p->cancelled, 1);
	return run_no == 7;
}

static void *
run(void *arg)
{
	struct process *p = arg;

	loop_run(p->loop);
	return NULL;
}

static int
setup(void **state)
{
	static struct process p;
	struct peer_handlers h = { .arg = &p, .attach = attach, .cancel = cancel };
	const char *why = NULL;

	atomic_store(&p.attached, 0);
	atomic_store(&p.cancelled, 0);
	memcpy(p.dir, "/tmp/tavern-peer-XXXXXX", 24);
	assert_non_null(mkdtemp(p.dir));
	p.a = arena_create("test", 0);
	p.loop = loop_create();
	p.one = peer_create(p.a, p.loop, p.dir, "host/1-0", &h, &why);
	p.two = peer_create(p.a, p.loop, p.dir, "host/1-1", &h, &why);
	assert_non_null(p.one);
	assert_non_null(p.two);
	assert_int_equal(pthread_create(&p.th, NULL, run, &p), 0);
	*state = &p;
	return 0;
}

static int
teardown(void **state)
{
	struct process *p = *state;

	loop_stop(p->loop);
	pthread_join(p->th, NULL);
	peer_destroy(p->one);
	peer_destroy(p->two);
	peer_destroy(NULL);
	assert_int_equal(rmdir(p->dir), 0); /* empty again */
	loop_destroy(&p->loop);
	arena_destroy(&p->a);
	return 0;
}

static void
a_connection_changes_hands(void **state)
{
	struct process *p = *state;
	struct peer_reader r = {
		.run_no = 7, .event = 3, .text = 1523, .reasoning = 9, .request_id = 65535, .keep = true
	};
	char got[64] = "";
	int s[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	assert_int_equal(peer_attach(p->one, "host/1-1", &r, s[0]), 0);
	close(s[0]);
	assert_true(read(s[1], got, sizeof(got) - 1) > 0);
	assert_string_equal(got, "3.1523.9 65535 1");
	assert_int_equal(read(s[1], got, 1), 0); /* nobody else holds it */
	assert_int_equal(atomic_load(&p->attached), 1);
	close(s[1]);
}

static void
a_refused_connection_stays_with_us(void **state)
{
	struct process *p = *state;
	struct peer_reader r = { .run_no = 8 };
	char c = 0;
	int s[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	assert_int_equal(peer_attach(p->one, "host/1-1", &r, s[0]), -1);
	assert_int_equal(write(s[0], "x", 1), 1);
	assert_int_equal(read(s[1], &c, 1), 1);
	close(s[0]);
	assert_int_equal(read(s[1], &c, 1), 0); /* the other side has closed its copy */
	close(s[1]);
}

static void
runs_are_cancelled(void **state)
{
	struct process *p = *state;

	assert_int_equal(peer_cancel(p->one, "host/1-1", 7), 0);
	assert_int_equal(peer_cancel(p->two, "host/1-0", 8), -1);
	assert_int_equal(atomic_load(&p->cancelled), 2);
}

static void
another_program_only_asks(void **state)
{
	struct process *p = *state;
	struct peer *asker = peer_asker(p->a, p->dir, "host/eventd");

	assert_int_equal(peer_cancel(asker, "host/1-0", 7), 0);
	assert_int_equal(peer_cancel(asker, "host/eventd", 7), -1);
	assert_int_equal(peer_cancel(asker, "other/1-0", 7), -1);
	peer_destroy(asker);
}

static void
strange_names_reach_nobody(void **state)
{
	static const char *const names[] = { "host/1-7", "other/1-1", "hos/1-1", "host1/1-1", "host/1-1/",
		"host", "", "/1-1", "host/", "host/../x", "host/1-0" /* ourselves */ };
	struct process *p = *state;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(peer_cancel(p->one, names[i], 7), -1);
	assert_int_equal(atomic_load(&p->cancelled), 0);
}

/* A message of another version or size, or with a descriptor where none belongs, is refused and closes what
 * it brought. */
static void
malformed_messages_are_refused(void **state)
{
	struct process *p = *state;
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	char answer = 9, junk[200] = { 0 };
	struct stat st;

	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/peer-1-1.sock", p->dir);
	assert_int_equal(stat(sa.sun_path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	for (size_t n = 1; n < sizeof(junk); n += 13) {
		int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

		assert_int_equal(connect(fd, (const struct sockaddr *)&sa, sizeof(sa)), 0);
		assert_int_equal(send(fd, junk, n, 0), n);
		assert_int_equal(recv(fd, &answer, 1, 0), 1);
		assert_int_equal(answer, 0);
		close(fd);
	}
	assert_int_equal(peer_cancel(p->one, "host/1-1", 7), 0); /* still there */
}

static void
leave_socket(const char *dir, const char *name, time_t age)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	const struct timespec times[2] = { { time(NULL) - age, 0 }, { time(NULL) - age, 0 } };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/%s", dir, name);
	assert_int_equal(bind(fd, (const struct sockaddr *)&sa, sizeof(sa)), 0);
	close(fd);
	assert_int_equal(utimensat(AT_FDCWD, sa.sun_path, times, 0), 0);
}

static bool
is_there(const char *dir, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return access(path, F_OK) == 0;
}

/* A worker that was killed leaves its socket: the next one that starts removes it, and nothing else. */
static void
sockets_of_the_dead_are_removed(void **state)
{
	static const char *const mine[] = { "peer-1-0.sock", "peer-9-9.sock", "w0.sock" };
	struct process *p = *state;
	struct peer_handlers h = { .arg = p, .attach = attach, .cancel = cancel };
	const struct timespec old[2] = { { 1000, 0 }, { 1000, 0 } };
	const char *why = NULL;
	struct loop *own = loop_create(); /* of the next process */
	struct peer *third;

	leave_socket(p->dir, "peer-0-0.sock", 3600);
	leave_socket(p->dir, "peer-9-9.sock", 1); /* perhaps about to listen */
	leave_socket(p->dir, "w0.sock", 3600);    /* the web server's */
	assert_int_equal(utimensat(AT_FDCWD, arena_printf(p->a, "%s/peer-1-0.sock", p->dir), old, 0), 0);
	third = peer_create(p->a, own, p->dir, "host/2-0", &h, &why);
	assert_non_null(third);
	assert_false(is_there(p->dir, "peer-0-0.sock"));
	for (size_t i = 0; i < 3; i++)
		assert_true(is_there(p->dir, mine[i]));
	assert_int_equal(peer_cancel(p->two, "host/1-0", 7), 0); /* who lives still answers */
	for (size_t i = 1; i < 3; i++)
		assert_int_equal(unlink(arena_printf(p->a, "%s/%s", p->dir, mine[i])), 0);
	peer_destroy(third);
	loop_destroy(&own);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_connection_changes_hands, setup, teardown),
		cmocka_unit_test_setup_teardown(a_refused_connection_stays_with_us, setup, teardown),
		cmocka_unit_test_setup_teardown(runs_are_cancelled, setup, teardown),
		cmocka_unit_test_setup_teardown(another_program_only_asks, setup, teardown),
		cmocka_unit_test_setup_teardown(strange_names_reach_nobody, setup, teardown),
		cmocka_unit_test_setup_teardown(sockets_of_the_dead_are_removed, setup, teardown),
		cmocka_unit_test_setup_teardown(malformed_messages_are_refused, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
