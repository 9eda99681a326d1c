/* server: the whole HTTP side in one process, spoken to in FastCGI over a socket: threads, loop and
 * hand-overs. */
#include "base/json.h"
#include "base/tm.h"
#include "http/server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- the application ---- */

static struct loop *loop;
static struct server *server;
static atomic_int deserted;

static int
ping(struct request *r)
{
	return reply_data(r, STR("1"));
}

static int
count(struct request *r)
{
	return reply_data(r, str_c(arena_printf(r->ctx->a, "%zu", r->body.n)));
}

static int
fails(struct request *r)
{
	fail_field(r->ctx, "/a", "required", "must have required property 'a'");
	return fail_field(r->ctx, "/b/0", "type", "must be \"string\"");
}

static void
post_sem(void *arg)
{
	atomic_fetch_add(&deserted, 1);
	sem_post(arg);
}

/* Waits until the client has gone. */
static int
wait_gone(struct request *r)
{
	sem_t gone;

	sem_init(&gone, 0, 0);
	request_on_deserted(r, post_sem, &gone);
	while (sem_wait(&gone) < 0)
		;
	assert_true(request_deserted(r));
	return reply_data(r, STR("null"));
}

/* Says 200 pieces and an event, on this thread. */
static int
talk(struct request *r)
{
	struct stream *s = stream_create(loop, 0, 0);
	char piece[16];

	reply_stream(r, s, (struct stream_pos){ 0 });
	for (int i = 0; i < 200; i++) {
		int n = snprintf(piece, sizeof(piece), "%d,", i);

		stream_text(s, i % 10 == 9, (struct str){ piece, (size_t)n });
	}
	stream_finish(s, "done", STR("{}"));
	return 0;
}

/* A stream that nobody ends until its reader has gone. */
static int
hang(struct request *r)
{
	struct stream *s = stream_create(loop, 0, 0);
	sem_t gone;

	sem_init(&gone, 0, 0);
	stream_on_deserted(s, post_sem, &gone);
	stream_event(s, "start", STR("{}"));
	reply_stream(r, s, (struct stream_pos){ 0 });
	while (sem_wait(&gone) < 0)
		;
	stream_finish(s, "error", STR("{}"));
	return 0;
}

static int
refuse(struct request *r)
{
	(fail)(r->ctx, ERR_CONFLICT, "generation_conflict", "busy");
	return reply_stream_error(r, &r->ctx->err);
}

#define ROW .auth = AUTH_PUBLIC, .tag = "t", .summary = "s"
static const struct route rows[] = {
	{ METHOD_GET, "/ping", ping, ROW },
	{ METHOD_POST, "/count", count, ROW, .flags = ROUTE_BODY_BYTES, .max_body = 3000000 },
	{ METHOD_GET, "/fails", fails, ROW },
	{ METHOD_GET, "/wait", wait_gone, ROW, .flags = ROUTE_LONG },
	{ METHOD_GET, "/talk", talk, ROW, .flags = ROUTE_LONG, .answer_kind = ANSWER_EVENTS },
	{ METHOD_GET, "/hang", hang, ROW, .flags = ROUTE_LONG, .answer_kind = ANSWER_EVENTS },
	{ METHOD_GET, "/refuse", refuse, ROW, .answer_kind = ANSWER_EVENTS },
	{ .path = NULL },
};

/* ---- the process ---- */

struct process {
	struct arena *a;
	pthread_t th;
	char path[64];
	struct router *router;
};

static void *
run(void *arg)
{
	loop_run(loop);
	return arg;
}

static int
setup(void **state)
{
	static struct process p;
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	const struct route_table table = { rows };
	const struct server_app app = { .state = NULL };
	struct server_conf conf = {
		.threads_max = 6, .threads_reserved = 2, .streams_max = 10, .thread_stack = 256 << 10
	};
	const char *why = NULL;

	signal(SIGPIPE, SIG_IGN);
	p.a = arena_create("process", 0);
	snprintf(p.path, sizeof(p.path), "/tmp/tavern-http-server-%d", (int)getpid());
	unlink(p.path);
	memcpy(sa.sun_path, p.path, sizeof(p.path));
	conf.listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(conf.listen_fd, (const struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(listen(conf.listen_fd, 64), 0);
	loop = loop_create();
	p.router = router_create(p.a, &table, 1, &why);
	assert_non_null(p.router);
	server = server_create(p.a, loop, p.router, &conf, &app);
	server_start(server);
	atomic_store(&deserted, 0);
	assert_int_equal(pthread_create(&p.th, NULL, run, NULL), 0);
	*state = &p;
	return 0;
}

static void
stop(void *arg)
{
	(void)arg;
	loop_stop(loop);
}

static int
teardown(void **state)
{
	struct process *p = *state;

	loop_post(loop, stop, NULL);
	pthread_join(p->th, NULL);
	assert_true(server_destroy(server, 2000));
	loop_timer(loop, 1, stop, NULL); /* what the end of the streams has posted */
	loop_run(loop);
	loop_destroy(&loop);
	arena_destroy(&p->a);
	unlink(p->path);
	return 0;
}

/* ---- the web server ---- */

static int
connect_to(void **state)
{
	struct process *p = *state;
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(sa.sun_path, p->path, sizeof(p->path));
	assert_int_equal(connect(fd, (const struct sockaddr *)&sa, sizeof(sa)), 0);
	return fd;
}

static void
record(struct sb *out, int type, struct str content)
{
	const char h[8] = { 1, (char)type, 0, 1, (char)(content.n >> 8), (char)content.n, 0, 0 };

	sb_add(out, (struct str){ h, 8 });
	sb_add(out, content);
}

static void
param(struct sb *out, const char *name, const char *value)
{
	sb_addc(out, (char)strlen(name));
	sb_addc(out, (char)strlen(value));
	sb_adds(out, name);
	sb_adds(out, value);
}

static void
send_request(int fd, const char *method, const char *uri, struct str body)
{
	struct arena *a = arena_create("client", 0);
	struct sb params = sb_new(a), wire = sb_new(a);
	const char begin[8] = { 0, 1, 1, 0, 0, 0, 0, 0 }; /* responder, keep the connection */

	param(&params, "REQUEST_METHOD", method);
	param(&params, "REQUEST_URI", uri);
	param(&params, "CONTENT_LENGTH", body.n > 0 ? arena_printf(a, "%zu", body.n) : "");
	record(&wire, 1, (struct str){ begin, 8 });
	record(&wire, 4, sb_str(&params));
	record(&wire, 4, STR(""));
	for (size_t i = 0; i < body.n; i += 32768)
		record(&wire, 5, str_sub(body, i, i + 32768));
	record(&wire, 5, STR(""));
	for (size_t sent = 0; sent < wire.n;) {
		ssize_t n = send(fd, wire.p + sent, wire.n - sent, MSG_NOSIGNAL);

		assert_true(n > 0);
		sent += (size_t)n;
	}
	arena_destroy(&a);
}

/* Reads exactly n bytes; false at the end of the connection. */
static bool
read_all(int fd, char *p, size_t n)
{
	while (n > 0) {
		ssize_t k = recv(fd, p, n, 0);

		if (k <= 0)
			return false;
		p += k;
		n -= (size_t)k;
	}
	return true;
}

/* The answer's STDOUT; *end: whether END_REQUEST came. Stops after `want` bytes if that is not 0. */
static struct str
read_answer(struct arena *a, int fd, size_t want, bool *end)
{
	struct sb out = sb_new(a);
	unsigned char h[8];

	*end = false;
	while (!*end && (want == 0 || out.n < want) && read_all(fd, (char *)h, 8)) {
		size_t n = (size_t)(h[4] << 8 | h[5]);
		char *p = arena_alloc(a, n + 1);

		assert_true(read_all(fd, p, n));
		if (h[1] == 6)
			sb_add(&out, (struct str){ p, n });
		*end = h[1] == 3;
	}
	return sb_str(&out);
}

static struct str
ask(struct arena *a, int fd, const char *method, const char *uri, struct str body)
{
	struct str s;
	bool end;

	send_request(fd, method, uri, body);
	s = read_answer(a, fd, 0, &end);
	assert_true(end);
	return s;
}

static void
assert_says(struct str answer, const char *text)
{
	if (str_find(answer, str_c(text), 0) == STR_NPOS)
		fail_msg("\"%s\" is not in: %.*s", text, STR_ARG(answer));
}

/* ---- tests ---- */

static void
one_connection_serves_many_requests(void **state)
{
	struct arena *a = arena_create("test", 0);
	int fd = connect_to(state);
	char *big = arena_alloc(a, 3000001);

	for (int i = 0; i < 50; i++) {
		assert_says(ask(a, fd, "GET", "/ping?x=1", STR("")), "{\"data\":1}");
		assert_says(ask(a, fd, "HEAD", "/ping", STR("")), "Content-Length: 10\r\n");
	}
	assert_says(ask(a, fd, "POST", "/count", (struct str){ big, 3000000 }), "{\"data\":3000000}");
	assert_says(ask(a, fd, "POST", "/count", (struct str){ big, 3000001 }), "Status: 413");
	assert_says(ask(a, fd, "POST", "/ping", (struct str){ big, 1000000 }), "Status: 405");
	assert_says(ask(a, fd, "GET", "/ping", (struct str){ big, 1000000 }),
	    "Status: 200"); /* a body nobody wants */
	assert_says(ask(a, fd, "GET", "/fails", STR("")),
	    "{\"error\":{\"code\":\"validation_error\",\"message\":\"Request validation "
	    "failed\",\"details\":["
	    "{\"path\":\"/a\",\"message\":\"must have required property 'a'\",\"code\":\"required\"},"
	    "{\"path\":\"/b/0\",\"message\":\"must be \\\"string\\\"\",\"code\":\"type\"}]}}");
	close(fd);
	arena_destroy(&a);
}

static void
a_stream_is_read_to_its_end_and_the_connection_goes_on(void **state)
{
	struct arena *a = arena_create("test", 0);
	int fd = connect_to(state);
	struct str s;

	for (int i = 0; i < 3; i++) {
		s = ask(a, fd, "GET", "/talk", STR(""));
		assert_says(s, "Content-Type: text/event-stream; charset=utf-8\r\n");
		assert_says(s, "X-Accel-Buffering: no\r\n");
		assert_says(s, "event: chunk\nid: 0.");
		assert_says(s, "event: reasoning\n");
		assert_true(str_ends(s, STR("event: done\nid: 1.621.69\ndata: {}\n\n")));
		assert_says(ask(a, fd, "GET", "/ping", STR("")), "{\"data\":1}");
	}
	s = ask(a, fd, "GET", "/refuse", STR(""));
	assert_says(s, "Status: 200 OK\r\n");
	assert_true(str_ends(s, STR("\r\n\r\nevent: error\nid: 1.0.0\ndata: "
				    "{\"code\":\"generation_conflict\",\"message\":\"busy\"}\n\n")));
	close(fd);
	arena_destroy(&a);
}

static int
wait_deserted(int n)
{
	for (int i = 0; i < 2000 && atomic_load(&deserted) < n; i++)
		usleep(1000);
	return atomic_load(&deserted);
}

static void
leaving_is_noticed(void **state)
{
	struct arena *a = arena_create("test", 0);
	int fd = connect_to(state);
	bool end;

	send_request(fd, "GET", "/hang", STR(""));
	assert_says(read_answer(a, fd, 20, &end), "Status: 200");
	close(fd);
	assert_int_equal(wait_deserted(1), 1);
	fd = connect_to(state);
	send_request(fd, "GET", "/wait", STR(""));
	usleep(20000);
	close(fd);
	assert_int_equal(wait_deserted(2), 2);
	fd = connect_to(state);
	send_request(fd, "GET", "/wait", STR(""));
	close(fd); /* perhaps before it was even read */
	usleep(20000);
	fd = connect_to(state);
	assert_says(ask(a, fd, "GET", "/ping", STR("")), "{\"data\":1}");
	close(fd);
	arena_destroy(&a);
}

static void
long_requests_leave_room_for_short_ones(void **state)
{
	struct arena *a = arena_create("test", 0);
	int fd[4], x;
	bool end;

	for (int i = 0; i < 4; i++) {
		fd[i] = connect_to(state);
		send_request(fd[i], "GET", "/hang", STR(""));
		assert_says(read_answer(a, fd[i], 20, &end), "Status: 200");
	}
	x = connect_to(state);
	assert_says(ask(a, x, "GET", "/hang", STR("")), "Status: 503");
	assert_says(ask(a, x, "GET", "/wait", STR("")), "{\"error\":{\"code\":\"overloaded\"");
	assert_says(ask(a, x, "GET", "/wait", STR("")), "Retry-After: ");
	assert_says(ask(a, x, "GET", "/ping", STR("")), "{\"data\":1}");
	for (int i = 0; i < 4; i++)
		close(fd[i]);
	assert_int_equal(wait_deserted(4), 4);
	assert_says(ask(a, x, "GET", "/talk", STR("")), "event: done");
	close(x);
	arena_destroy(&a);
}

static void *
client(void *state)
{
	struct arena *a = arena_create("client", 0);
	int fd = connect_to(state);

	for (int i = 0; i < 60; i++) {
		assert_says(ask(a, fd, "GET", "/ping", STR("")), "{\"data\":1}");
		if (i % 20 == 0)
			assert_says(ask(a, fd, "POST", "/count", STR("abc")), "{\"data\":3}");
		arena_reset(a);
	}
	close(fd);
	arena_destroy(&a);
	return NULL;
}

static void
many_connections_at_once(void **state)
{
	enum { N = 12 };
	struct server_stats st;
	pthread_t th[N];

	for (int i = 0; i < N; i++)
		assert_int_equal(pthread_create(&th[i], NULL, client, state), 0);
	for (int i = 0; i < N; i++)
		pthread_join(th[i], NULL);
	for (int i = 0; i < 1000; i++) {
		server_stats(server, &st);
		if (st.connections == 0)
			break;
		usleep(1000);
	}
	assert_int_equal(st.connections, 0); /* closed ones are forgotten */
	assert_true(st.threads <= 6);
	assert_true(st.requests >= N * 63);
}

static void
garbage_only_costs_its_connection(void **state)
{
	static const char *const garbage[] = { "GET / HTTP/1.1\r\n\r\n", "\1\1\0\1\0\10\0\0",
		"\1\5\0\1\0\1\0\0x", "" };
	struct arena *a = arena_create("test", 0);
	int fd;

	for (size_t i = 0; i < sizeof(garbage) / sizeof(garbage[0]); i++) {
		fd = connect_to(state);
		assert_true(send(fd, garbage[i], strlen(garbage[i]), MSG_NOSIGNAL) >= 0);
		shutdown(fd, SHUT_WR);
		assert_int_equal(recv(fd, (char[1]){ 0 }, 1, 0), 0);
		close(fd);
	}
	fd = connect_to(state);
	assert_says(ask(a, fd, "GET", "/ping", STR("")), "{\"data\":1}");
	close(fd);
	arena_destroy(&a);
}

/* The farewell follows, and the connection is closed. */
static void
assert_last(int fd, bool end)
{
	char p[16], more;

	assert_true(end);
	assert_true(read_all(fd, p, sizeof(p)));
	assert_int_equal(p[1], 11);
	assert_false(read_all(fd, &more, 1));
}

static sem_t drained;

static void
drain_done(void *arg)
{
	(void)arg;
	sem_post(&drained);
}

static void
begin_drain(void *arg)
{
	const int64_t *ms = arg;

	server_drain(server, ms[0], ms[1], drain_done, NULL);
}

static void
a_draining_answer_is_the_last_on_its_connection(void **state)
{
	static int64_t ms[2] = { 150, 10000 };
	struct arena *a = arena_create("test", 0);
	int parked = connect_to(state), stream = connect_to(state);
	struct timespec now = { 0 };
	struct str s;
	bool end;

	sem_init(&drained, 0, 0);
	assert_says(ask(a, parked, "GET", "/ping", STR("")), "{\"data\":1}");
	send_request(stream, "GET", "/hang", STR(""));
	assert_says(read_answer(a, stream, 20, &end), "Status: 200");
	loop_post(loop, begin_drain, ms);
	usleep(30000);
	send_request(parked, "GET", "/ping", STR(""));
	s = read_answer(a, parked, 0, &end);
	assert_says(s, "{\"data\":1}");
	assert_last(parked, end);
	usleep(250000);
	assert_int_equal(sem_timedwait(&drained, &now), -1); /* a stream is still open */
	close(stream);
	assert_int_equal(sem_wait(&drained), 0);
	close(parked);
	arena_destroy(&a);
}

static void
a_drain_has_a_bound(void **state)
{
	static int64_t ms[2] = { 10, 100 };
	struct arena *a = arena_create("test", 0);
	int fd = connect_to(state);
	struct str s;
	bool end;

	sem_init(&drained, 0, 0);
	send_request(fd, "GET", "/hang", STR(""));
	assert_says(read_answer(a, fd, 20, &end), "Status: 200");
	loop_post(loop, begin_drain, ms);
	s = read_answer(a, fd, 0, &end);
	assert_says(s, "event: error\nid: 1.0.0\ndata: {\"code\":\"server_shutdown\"");
	assert_last(fd, end);
	assert_int_equal(sem_wait(&drained), 0);
	assert_int_equal(wait_deserted(1), 1);
	close(fd);
	arena_destroy(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_connection_serves_many_requests, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    a_stream_is_read_to_its_end_and_the_connection_goes_on, setup, teardown),
		cmocka_unit_test_setup_teardown(leaving_is_noticed, setup, teardown),
		cmocka_unit_test_setup_teardown(long_requests_leave_room_for_short_ones, setup, teardown),
		cmocka_unit_test_setup_teardown(many_connections_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(garbage_only_costs_its_connection, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    a_draining_answer_is_the_last_on_its_connection, setup, teardown),
		cmocka_unit_test_setup_teardown(a_drain_has_a_bound, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
