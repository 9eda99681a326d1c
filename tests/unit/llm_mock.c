/*
 * llm: calls against tests/tools/mockllm with all its faults, many streams at once, cancels from other
 * threads. With LLM_MOCK_STREAMS=N in the environment it opens N streams and prints the memory that one
 * takes.
 */
#include "base/limits.h"
#include "base/tm.h"
#include "llm/llm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <malloc.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static struct loop *loop;
static struct llm *m;
static pthread_t loop_thread;
static pid_t mock;
static char url[64];

static void *
loop_main(void *arg)
{
	loop_run(arg);
	return NULL;
}

static int
free_port(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof in;

	if (bind(fd, (struct sockaddr *)&in, sizeof in) < 0 ||
	    getsockname(fd, (struct sockaddr *)&in, &len) < 0)
		abort();
	close(fd);
	return ntohs(in.sin_port);
}

static bool
reachable(int port)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons((uint16_t)port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool ok = connect(fd, (struct sockaddr *)&in, sizeof in) == 0;

	close(fd);
	return ok;
}

static int
group_setup(void **state)
{
	static const struct llm_conf conf = {
		.connect_ms = 5000, .first_byte_ms = 20000, .idle_ms = 20000, .allow_private = true
	};
	const char *dir = getenv("builddir");
	char path[4096], listen[64];
	int port = free_port();

	(void)state;
	snprintf(path, sizeof path, "%s/tests/tools/mockllm", dir ? dir : ".");
	snprintf(listen, sizeof listen, "127.0.0.1:%d", port);
	snprintf(url, sizeof url, "http://127.0.0.1:%d/v1", port);
	mock = fork();
	if (mock == 0) {
		execl(path, path, "-l", listen, "-n", "5", "-i", "1", (char *)NULL);
		perror(path);
		_exit(127);
	}
	for (int i = 0; !reachable(port); i++) {
		if (i == 500 || waitpid(mock, NULL, WNOHANG) != 0)
			return -1;
		usleep(10000);
	}
	loop = loop_create();
	m = llm_create(loop, &conf);
	return pthread_create(&loop_thread, NULL, loop_main, loop);
}

static int
group_teardown(void **state)
{
	(void)state;
	loop_stop(loop);
	pthread_join(loop_thread, NULL);
	llm_destroy(&m);
	loop_destroy(&loop);
	kill(mock, SIGTERM);
	waitpid(mock, NULL, 0);
	return 0;
}

static const struct llm_message hello = { .role = "user", .content = { "Hello", 5 } };

struct one {
	struct ctx c;
	struct llm_result r;
	struct llm_call *lc;
	int rc;
};

static void
begin(struct one *o, const char *model, bool stream, int idle_ms)
{
	struct llm_request q = { .provider = "openai-compatible",
		.base_url = url,
		.model = model,
		.messages = &hello,
		.message_n = 1,
		.params = LLM_PARAMS_NONE,
		.stream = stream,
		.idle_ms = idle_ms };

	*o = (struct one){ .c = { .a = arena_create("one", 2048) } };
	o->lc = llm_begin(m, &o->c, &q, NULL);
}

static void
end(struct one *o)
{
	arena_destroy(&o->c.a);
}

static void
run(struct one *o, const char *model, bool stream)
{
	begin(o, model, stream, 300);
	o->rc = llm_wait(o->lc, &o->r);
}

static void
faults(void **state)
{
	static const struct {
		const char *model;
		bool stream;
		const char *code, *text; /* code NULL = no error */
	} rows[] = {
		{ "m?text=Hello+there&n=3", true, NULL, "Hello there" },
		{ "m?text=Hello+there&n=3", false, NULL, "Hello there" },
		{ "m?text=%E4%BD%A0%E5%A5%BD%EF%BC%8C%22x%22&n=4&split=1", true, NULL,
		    "\xe4\xbd\xa0\xe5\xa5\xbd\xef\xbc\x8c\"x\"" },
		{ "m?text=Hello+there&n=4&cut=2", true, "stream_truncated", "Hello" },
		{ "m?text=Hello+there&n=4&stall=2", true, "idle_timeout", "Hello" },
		{ "m?text=Hello+there&n=4&junk=2", true, "invalid_event", "Hello" },
		{ "m?err=429", true, "mock", "" },
		{ "m?err=500", false, "mock", "" },
		{ "m?cut=0", true, "stream_truncated", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct one o;

		run(&o, rows[i].model, rows[i].stream);
		if (rows[i].code) {
			assert_int_equal(o.rc, -1);
			assert_string_equal(o.r.error.code, rows[i].code);
		} else {
			assert_int_equal(o.rc, 0);
			assert_int_equal(o.r.usage.prompt, 10);
			assert_string_equal(o.r.model, "mock-1");
		}
		assert_string_equal(arena_strdup(o.c.a, o.r.text), rows[i].text);
		end(&o);
	}
}

static void *
stream_main(void *arg)
{
	for (int i = 0; i < 10; i++) {
		struct one o;

		run(&o, "m?n=20&i=2&utf8=1&split=1", true);
		if (o.rc == 0 && o.r.usage.completion == 20)
			atomic_fetch_add((atomic_int *)arg, 1);
		end(&o);
	}
	return NULL;
}

static void
many_at_once(void **state)
{
	pthread_t t[16];
	atomic_int good = 0;

	(void)state;
	for (size_t i = 0; i < 16; i++)
		assert_int_equal(pthread_create(&t[i], NULL, stream_main, &good), 0);
	for (size_t i = 0; i < 16; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(atomic_load(&good), 160);
}

static void *
cancel_main(void *arg)
{
	usleep(500 + (unsigned)rand() % 6000);
	llm_cancel(arg, "enough");
	return NULL;
}

static void
cancels_at_any_moment(void **state)
{
	(void)state;
	for (int i = 0; i < 60; i++) {
		pthread_t t;
		struct one o;

		begin(&o, "m?n=1000&i=1", true, 0);
		assert_int_equal(pthread_create(&t, NULL, cancel_main, o.lc), 0);
		pthread_join(t, NULL); /* a call may only be cancelled while it has not been waited for */
		o.rc = llm_wait(o.lc, &o.r);
		assert_int_equal(o.rc, -1);
		assert_int_equal(o.c.err.kind, ERR_CANCELLED);
		end(&o);
	}
}

/* Proportional set size of this process in KB. */
static long
memory(void)
{
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	char line[256];
	long kb = 0;

	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "Pss: %ld", &kb) == 1)
			break;
	if (f)
		fclose(f);
	return kb;
}

static void
memory_of_streams(void **state)
{
	const char *text = getenv("LLM_MOCK_STREAMS");
	int n = text ? atoi(text) : 4;
	struct one *all = calloc((size_t)n, sizeof *all);
	long before = memory(), grown;

	(void)state;
	for (int i = 0; i < n; i++)
		begin(&all[i], "m?n=20&stall=18&i=1", true, 0);
	usleep(text ? 4000000 : 100000);
	grown = memory() - before;
	if (text)
		printf("# %d streams: %ld KB each, %zu allocated\n", n, grown / n,
		    mallinfo2().uordblks / (size_t)n);
	for (int i = 0; i < n; i++)
		llm_cancel(all[i].lc, "enough");
	for (int i = 0; i < n; i++) {
		assert_int_equal(llm_wait(all[i].lc, &all[i].r), -1);
		assert_int_equal(all[i].c.err.kind, ERR_CANCELLED);
		end(&all[i]);
	}
	free(all);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(faults),
		cmocka_unit_test(many_at_once),
		cmocka_unit_test(cancels_at_any_moment),
		cmocka_unit_test(memory_of_streams),
	};

	return cmocka_run_group_tests_name("llm_mock", tests, group_setup, group_teardown);
}
