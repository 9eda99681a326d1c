/*
 * llm: calls over the loop against a scripted server on the loopback: streams, time-outs, cancel, errors,
 * what is sent, connections that are used again, addresses that are refused, echo, fetch.
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
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* What the server does with a request: pieces that are sent, with a pause before each. */
struct piece {
	int pause_ms;
	const char *text; /* NULL ends the script */
	size_t n;         /* 0 = strlen */
};

struct env {
	struct arena *a;
	struct ctx c;
	struct loop *loop;
	struct llm *m;
	pthread_t loop_thread, server_thread;
	atomic_int listener, port;
	const struct piece *_Atomic script;
	bool early; /* answer as soon as the head has come, read the rest afterwards */
	bool hang;  /* keep the connection open behind the script until the client closes it */
	atomic_int connections, requests, closed_by_client;
	char request[65536]; /* the last one */
	struct llm_conf conf;
	char url[64];
};

static void *
loop_main(void *arg)
{
	loop_run(arg);
	return NULL;
}

/* Reads one request; false at the end of the connection. */
static bool
read_request(struct env *e, int fd)
{
	size_t n = 0, want = 0;

	for (;;) {
		ssize_t got = recv(fd, e->request + n, sizeof e->request - 1 - n, 0);
		char *end, *length;

		if (got <= 0)
			return false;
		n += (size_t)got;
		e->request[n] = '\0';
		end = strstr(e->request, "\r\n\r\n");
		if (!end)
			continue;
		length = strcasestr(e->request, "content-length:");
		want = (size_t)(end + 4 - e->request) + (length ? strtoul(length + 15, NULL, 10) : 0);
		if (n >= want || e->early)
			return true;
	}
}

static void
serve(struct env *e, int fd)
{
	char byte;

	while (read_request(e, fd)) {
		const struct piece *script = e->script;

		atomic_fetch_add(&e->requests, 1);
		for (const struct piece *p = script; p->text; p++) {
			usleep((unsigned)p->pause_ms * 1000);
			if (send(fd, p->text, p->n ? p->n : strlen(p->text), MSG_NOSIGNAL) < 0)
				break;
		}
		while (e->early && recv(fd, e->request, sizeof e->request, 0) > 0)
			;
		if (!e->hang && !strstr(script[0].text, "keep-alive"))
			return;
		if (e->hang) {
			if (recv(fd, &byte, 1, 0) <= 0)
				atomic_fetch_add(&e->closed_by_client, 1);
			return;
		}
	}
}

static void *
server_main(void *arg)
{
	struct env *e = arg;
	int fd;

	while ((fd = accept(e->listener, NULL, NULL)) >= 0) {
		atomic_fetch_add(&e->connections, 1);
		serve(e, fd);
		close(fd);
	}
	return NULL;
}

static int
setup(void **state)
{
	struct env *e = calloc(1, sizeof *e);
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof in;

	assert_non_null(e);
	e->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(e->listener, (struct sockaddr *)&in, sizeof in), 0);
	assert_int_equal(listen(e->listener, 16), 0);
	assert_int_equal(getsockname(e->listener, (struct sockaddr *)&in, &len), 0);
	e->port = ntohs(in.sin_port);
	snprintf(e->url, sizeof e->url, "http://127.0.0.1:%d/v1/", e->port);
	e->a = arena_create("test", 0);
	e->c = (struct ctx){ .a = e->a, .rid = "test" };
	e->loop = loop_create();
	e->conf = (struct llm_conf){ .connect_ms = 2000,
		.first_byte_ms = 3000,
		.idle_ms = 3000,
		.allow_private = true,
		.reply_max = LIM_REPLY };
	*state = e;
	return 0;
}

static void
start(struct env *e, const struct piece *script)
{
	e->script = script;
	e->m = llm_create(e->loop, &e->conf);
	assert_int_equal(pthread_create(&e->loop_thread, NULL, loop_main, e->loop), 0);
	assert_int_equal(pthread_create(&e->server_thread, NULL, server_main, e), 0);
}

static int
teardown(void **state)
{
	struct env *e = *state;

	if (e->m) {
		loop_stop(e->loop);
		pthread_join(e->loop_thread, NULL);
		llm_destroy(&e->m); /* closes the connections: the server goes on to accept, which fails */
		shutdown(e->listener, SHUT_RDWR);
		pthread_join(e->server_thread, NULL);
	}
	close(e->listener);
	loop_destroy(&e->loop);
	arena_destroy(&e->a);
	free(e);
	return 0;
}

static const struct llm_message hello = { .role = "user",
	.content = { "Hello \xe2\x80\x9cyou\xe2\x80\x9d", 15 } };

static struct llm_request
request(struct env *e)
{
	return (struct llm_request){ .provider = "openai-compatible",
		.base_url = e->url,
		.api_key = "sk-test-secret",
		.model = "m",
		.messages = &hello,
		.message_n = 1,
		.params = LLM_PARAMS_NONE,
		.stream = true };
}

static int
call(struct env *e, const struct llm_request *q, const struct llm_sink *sink, struct llm_result *r)
{
	return llm_wait(llm_begin(e->m, &e->c, q, sink), r);
}

static void
check_failed(struct env *e, enum err_kind kind, const char *code, const char *in_details)
{
	assert_int_equal(e->c.err.kind, kind);
	assert_string_equal(e->c.err.code, code);
	if (in_details) {
		assert_non_null(e->c.err.details);
		assert_non_null(strstr(e->c.err.details, in_details));
	}
	assert_null(strstr(e->c.err.msg, "sk-test-secret"));
	assert_true(!e->c.err.details || !strstr(e->c.err.details, "sk-test-secret"));
	assert_true(!e->c.err.log || !strstr(e->c.err.log, "sk-test-secret"));
}

#define SSE_HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
#define CHUNK(text) "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" text "\"}}]}\n\n"
#define STOP "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
#define DONE "data: [DONE]\n\n"

struct heard {
	struct loop *loop;
	char text[4096];
	int deltas;
	bool other_thread;
};

static void
on_text(void *arg, bool reasoning, struct str delta)
{
	struct heard *h = arg;

	(void)reasoning;
	h->deltas++;
	h->other_thread |= !loop_on_thread(h->loop);
	strncat(h->text, delta.p, delta.n);
}

static void
streams(void **state)
{
	static const struct piece pieces[] = { { 0, SSE_HEAD CHUNK("The "), 0 },
		{ 20, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"d\xc3", 0 },
		{ 20, "\xb6or\"}}]}\r", 0 }, { 10, "\n\r\n" STOP DONE, 0 }, { 0, NULL, 0 } };
	struct env *e = *state;
	struct heard h = { .loop = e->loop };
	struct llm_sink sink = { .text = on_text, .arg = &h };
	struct llm_request q = request(e);
	struct llm_result r;

	start(e, pieces);
	assert_int_equal(call(e, &q, &sink, &r), 0);
	assert_true(str_is(r.text, "The d\xc3\xb6or"));
	assert_string_equal(h.text, "The d\xc3\xb6or");
	assert_int_equal(h.deltas, 2);
	assert_false(h.other_thread);
	assert_string_equal(r.finish_reason, "stop");
	assert_true(r.first_ms >= 0 && r.first_ms <= r.total_ms && r.total_ms >= 30);

	assert_non_null(strstr(e->request, "POST /v1/chat/completions HTTP/1.1\r\n"));
	assert_non_null(strstr(e->request, "\r\nAuthorization: Bearer sk-test-secret\r\n"));
	assert_null(strcasestr(e->request, "expect:"));
	assert_non_null(strstr(e->request, "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":"
					   "\"Hello \xe2\x80\x9cyou\xe2\x80\x9d\"}],"
					   "\"stream\":true,\"stream_options\":{\"include_usage\":true}}"));
}

static void
big_body(void **state)
{
	static const struct piece script[] = { { 0, SSE_HEAD CHUNK("ok") DONE, 0 }, { 0, NULL, 0 } };
	struct env *e = *state;
	struct llm_request q = request(e);
	char *text = malloc(60001);
	struct llm_message m = { .role = "user", .content = { text, 60000 } };
	struct llm_result r;

	memset(text, 'x', 60000);
	text[59999] = 'y';
	q.messages = &m;
	start(e, script);
	assert_int_equal(call(e, &q, NULL, &r), 0);
	assert_non_null(strstr(e->request, "xxy\"}]"));
	free(text);
}

static void
plain(void **state)
{
	static const struct piece script[] = {
		{ 0, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 78\r\n\r\n", 0 },
		{ 10,
		    "{\"choices\":[{\"index\":0,\"message\":{\"content\":\"Hi.\"},\"finish_reason\":"
		    "\"length\"}]} ",
		    78 },
		{ 0, NULL, 0 }
	};
	struct env *e = *state;
	struct llm_request q = request(e);
	struct llm_result r;

	q.stream = false;
	start(e, script);
	assert_int_equal(call(e, &q, NULL, &r), 0);
	assert_true(str_is(r.text, "Hi."));
	assert_string_equal(r.finish_reason, "length");
	assert_null(strstr(e->request, "\"stream\""));
}

static void
connection_is_used_again(void **state)
{
	static const struct piece script[] = {
		{ 0,
		    "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Type: text/event-stream\r\n"
		    "Transfer-Encoding: chunked\r\n\r\n",
		    0 },
		{ 0, "50\r\n" CHUNK("abcdefghij") DONE "\r\n", 0 }, { 300, "0\r\n\r\n", 0 }, { 0, NULL, 0 }
	};
	struct env *e = *state;
	struct llm_request q = request(e);
	struct llm_result r;

	start(e, script);
	for (int i = 1; i <= 3; i++) {
		assert_int_equal(call(e, &q, NULL, &r), 0);
		assert_true(str_is(r.text, "abcdefghij"));
		assert_true(r.total_ms < 250 || i > 1); /* told at [DONE], not at the end of the transfer */
		usleep(400000);
	}
	assert_int_equal(atomic_load(&e->requests), 3);
	assert_int_equal(atomic_load(&e->connections), 1);
}

static void
error_status(void **state)
{
	static const struct piece script[] = {
		{ 0,
		    "HTTP/1.1 429 X\r\nContent-Type: application/json\r\nRetry-After: 7\r\nContent-Length: "
		    "74\r\n\r\n"
		    "{\"error\":{\"message\":\"slow down, "
		    "sk-test-secret\",\"code\":\"rate_limit_exceeded\"}}",
		    0 },
		{ 0, NULL, 0 }
	};
	struct env *e = *state;
	struct llm_request q = request(e);
	struct llm_result r;

	start(e, script);
	assert_int_equal(call(e, &q, NULL, &r), -1);
	check_failed(e, ERR_UPSTREAM, "upstream_error", "\"retry_after_ms\":7000");
	assert_int_equal(r.error.kind, LLM_RATE_LIMIT);
	assert_true(r.error.retryable);
	assert_int_equal(r.error.status, 429);
}

/* The server refuses before it has read the body: its reason arrives all the same. */
static void
refused_while_sending(void **state)
{
	static const struct piece script[] = {
		{ 0, "HTTP/1.1 413 X\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno", 0 }, { 0, NULL, 0 }
	};
	struct env *e = *state;
	struct llm_request q = request(e);
	struct llm_message m = { .role = "user", .content = { calloc(1, 8 << 20), 8 << 20 } };
	struct llm_result r;

	memset((void *)(uintptr_t)m.content.p, 'x', m.content.n);
	q.messages = &m;
	e->early = true;
	start(e, script);
	assert_int_equal(call(e, &q, NULL, &r), -1);
	check_failed(e, ERR_UPSTREAM, "upstream_error", "\"status\":413");
	free((void *)(uintptr_t)m.content.p);
}

static void
redirect(void **state)
{
	static const struct piece script[] = {
		{ 0, "HTTP/1.1 302 X\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", 0 },
		{ 0, NULL, 0 }
	};
	struct env *e = *state;
	struct llm_request q = request(e);
	struct llm_result r;

	start(e, script);
	assert_int_equal(call(e, &q, NULL, &r), -1);
	check_failed(e, ERR_UPSTREAM, "upstream_error", "redirect_refused");
	assert_int_equal(atomic_load(&e->requests), 1);
}

static void
broken_stream(void **state)
{
	static const struct piece script[] = { { 0, SSE_HEAD CHUNK("The door"), 0 }, { 0, NULL, 0 } };
	struct env *e = *state;
	struct llm_request q = request(e);
	struct llm_result r;

	start(e, script);
	assert_int_equal(call(e, &q, NULL, &r), -1);
	check_failed(e, ERR_UPSTREAM, "upstream_error", "stream_truncated");
	assert_true(str_is(r.text, "The door"));
	assert_true(r.truncated);
}

static void
broken_chunked_stream(void **state)
{
	static const struct piece script[] = {
		{ 0,
		    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
		    "ffff\r\n" CHUNK("a") STOP,
		    0 },
		{ 0, NULL, 0 }
	};
	struct env *e = *state;
	struct llm_request q = request(e);
	struct llm_result r;

	start(e, script);
	assert_int_equal(call(e, &q, NULL, &r), 0); /* the finish reason had come */
	assert_true(str_is(r.text, "a"));
}

static void
no_answer(void **state)
{
	static const struct piece script[] = { { 0, "", 0 }, { 0, NULL, 0 } };
	struct env *e = *state;
	struct llm_request q = request(e);
	struct llm_result r;

	start(e, script);
	assert_int_equal(call(e, &q, NULL, &r), -1);
	check_failed(e, ERR_UPSTREAM, "upstream_error", "connection_lost");
}

static void
no_http(void **state)
{
	static const struct piece script[] = { { 0, "SSH-2.0-x\r\n\r\n", 0 }, { 0, NULL, 0 } };
	struct env *e = *state;
	struct llm_request q = request(e);
	struct llm_result r;

	start(e, script);
	assert_int_equal(call(e, &q, NULL, &r), -1);
	check_failed(e, ERR_UPSTREAM, "upstream_error", "bad_answer");
}

static void
no_server(void **state)
{
	static const struct piece script[] = { { 0, "", 0 }, { 0, NULL, 0 } };
	struct env *e = *state;
	struct llm_request q = request(e);
	struct llm_result r;

	start(e, script);
	shutdown(e->listener, SHUT_RDWR); /* nobody listens there any more */
	assert_int_equal(call(e, &q, NULL, &r), -1);
	check_failed(e, ERR_UPSTREAM, "upstream_error", "connect_failed");
	assert_true(r.error.retryable);
}

static void
first_byte_timeout(void **state)
{
	static const struct piece script[] = { { 0, "", 0 }, { 0, NULL, 0 } };
	struct env *e = *state;
	struct llm_request q = request(e);
	struct llm_result r;

	e->hang = true;
	e->conf.first_byte_ms = 80;
	start(e, script);
	assert_int_equal(call(e, &q, NULL, &r), -1);
	check_failed(e, ERR_TIMEOUT, "upstream_error", "first_byte_timeout");
	assert_true(r.total_ms >= 75 && r.total_ms < 1000);
}

static void
idle_timeout(void **state)
{
	static const struct piece script[] = { { 0, SSE_HEAD CHUNK("a"), 0 }, { 60, ": still here\n\n", 0 },
		{ 60, ": yes\n\n", 0 }, { 0, NULL, 0 } };
	struct env *e = *state;
	struct llm_request q = request(e);
	struct llm_result r;

	e->hang = true;
	e->conf.idle_ms = 100;
	start(e, script);
	assert_int_equal(call(e, &q, NULL, &r), -1);
	check_failed(e, ERR_TIMEOUT, "upstream_error", "idle_timeout");
	assert_true(r.total_ms >= 200); /* comments count */
	assert_true(r.total_ms < 2000); /* not the limit before the head, 3 s */
	assert_true(str_is(r.text, "a"));
}

static void
total_timeout(void **state)
{
	static const struct piece script[] = { { 0, SSE_HEAD CHUNK("a"), 0 }, { 0, NULL, 0 } };
	struct env *e = *state;
	struct llm_request q = request(e);
	struct llm_result r;

	e->hang = true;
	q.total_ms = 80;
	start(e, script);
	assert_int_equal(call(e, &q, NULL, &r), -1);
	check_failed(e, ERR_TIMEOUT, "upstream_error", "total_timeout");
	assert_true(r.total_ms < 1000);
}

static void
cancel(void **state)
{
	static const struct piece script[] = { { 0, SSE_HEAD CHUNK("a"), 0 }, { 0, NULL, 0 } };
	struct env *e = *state;
	struct llm_request q = request(e);
	struct llm_result r;
	struct llm_call *lc;
	int64_t began;

	e->hang = true;
	start(e, script);
	lc = llm_begin(e->m, &e->c, &q, NULL);
	usleep(100000);
	began = tm_mono();
	llm_cancel(lc, "the reader left");
	llm_cancel(lc, "again");
	assert_int_equal(llm_wait(lc, &r), -1);
	assert_true(tm_mono() - began < 200);
	check_failed(e, ERR_CANCELLED, "generation_cancelled", NULL);
	assert_string_equal(e->c.err.msg, "the reader left");
	assert_true(str_is(r.text, "a"));
	for (int i = 0; i < 1000 && atomic_load(&e->closed_by_client) == 0; i++)
		usleep(2000);
	assert_int_equal(atomic_load(&e->closed_by_client), 1);
}

static void
cancel_before_anything(void **state)
{
	static const struct piece script[] = { { 0, "", 0 }, { 0, NULL, 0 } };
	struct env *e = *state;
	struct llm_request q = request(e);
	struct llm_result r;
	struct llm_call *lc;

	e->hang = true;
	start(e, script);
	lc = llm_begin(e->m, &e->c, &q, NULL);
	llm_cancel(lc, NULL);
	assert_int_equal(llm_wait(lc, &r), -1);
	check_failed(e, ERR_CANCELLED, "generation_cancelled", NULL);
}

static void
too_large(void **state)
{
	static const struct piece script[] = { { 0, SSE_HEAD CHUNK("abc") CHUNK("def") STOP, 0 },
		{ 0, NULL, 0 } };
	struct env *e = *state;
	struct llm_request q = request(e);
	struct llm_result r;

	e->hang = true;
	e->conf.reply_max = 5;
	start(e, script);
	assert_int_equal(call(e, &q, NULL, &r), -1);
	check_failed(e, ERR_UPSTREAM, "upstream_error", "answer_too_large");
	assert_true(str_is(r.text, "abc"));
}

static void
refused_address(void **state)
{
	static const struct piece script[] = { { 0, "", 0 }, { 0, NULL, 0 } };
	struct env *e = *state;
	struct llm_request q = request(e);
	struct llm_result r;

	e->conf.allow_private = false;
	start(e, script);
	assert_int_equal(call(e, &q, NULL, &r), -1);
	check_failed(e, ERR_INVALID, "ssrf_blocked", NULL);
	err_clear(&e->c);
	q.base_url = arena_printf(e->a, "http://localhost:%d/v1", e->port);
	assert_int_equal(call(e, &q, NULL, &r), -1);
	check_failed(e, ERR_INVALID, "ssrf_blocked", NULL);
	assert_int_equal(atomic_load(&e->connections), 0);
}

static void
listed_host(void **state)
{
	static const struct piece script[] = { { 0, SSE_HEAD CHUNK("a") DONE, 0 }, { 0, NULL, 0 } };
	struct env *e = *state;
	const char *hosts[] = { "other:1", arena_printf(e->a, "localhost:%d", e->port), NULL };
	struct llm_request q = request(e);
	struct llm_result r;

	e->conf.allow_private = false;
	e->conf.allow_hosts = hosts;
	start(e, script);
	q.base_url = arena_printf(e->a, "http://LOCALHOST:%d", e->port);
	assert_int_equal(call(e, &q, NULL, &r), 0);
	assert_non_null(strstr(e->request, "POST /chat/completions HTTP/1.1\r\n"));
}

static void
no_proxy_from_the_environment(void **state)
{
	static const struct piece script[] = { { 0, SSE_HEAD CHUNK("a") DONE, 0 }, { 0, NULL, 0 } };
	struct env *e = *state;
	struct llm_request q = request(e);
	struct llm_result r;
	int rc;

	setenv("http_proxy", "http://127.0.0.1:1", 1);
	setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
	start(e, script);
	rc = call(e, &q, NULL, &r);
	unsetenv("http_proxy");
	unsetenv("ALL_PROXY");
	assert_int_equal(rc, 0);
}

static void
bad_requests(void **state)
{
	static const struct piece script[] = { { 0, "", 0 }, { 0, NULL, 0 } };
	struct env *e = *state;
	struct llm_request q = request(e);
	struct llm_result r;

	start(e, script);
	q.api_key = "sk-test-secret\r\nX-Evil: 1";
	assert_int_equal(call(e, &q, NULL, &r), -1);
	check_failed(e, ERR_INVALID, "invalid_params", NULL);
	err_clear(&e->c);
	q = request(e);
	q.provider = "nobody";
	assert_int_equal(call(e, &q, NULL, &r), -1);
	check_failed(e, ERR_INVALID, "invalid_params", NULL);
	err_clear(&e->c);
	q = request(e);
	q.base_url = "http://no-such-host.invalid/v1";
	assert_int_equal(call(e, &q, NULL, &r), -1);
	check_failed(e, ERR_UPSTREAM, "upstream_error", "name_not_resolved");
	assert_int_equal(atomic_load(&e->connections), 0);
}

static void
echo(void **state)
{
	static const struct piece script[] = { { 0, "", 0 }, { 0, NULL, 0 } };
	struct env *e = *state;
	struct heard h = { .loop = e->loop };
	struct llm_sink sink = { .text = on_text, .arg = &h };
	struct llm_request q = request(e);
	struct llm_result r, again;

	start(e, script);
	q.provider = "echo";
	q.base_url = NULL;
	assert_int_equal(call(e, &q, &sink, &r), 0);
	assert_non_null(strstr(h.text, "Hello \xe2\x80\x9cyou\xe2\x80\x9d"));
	assert_non_null(strstr(h.text, "echo"));
	assert_true(h.deltas > 10);
	assert_string_equal(r.finish_reason, "stop");
	q.stream = false;
	assert_int_equal(call(e, &q, NULL, &again), 0);
	assert_true(str_eq(r.text, again.text));
	q.message_n = 0;
	assert_int_equal(call(e, &q, NULL, &again), 0);
	assert_true(again.text.n > 0);
}

static void
echo_cancelled(void **state)
{
	static const struct piece script[] = { { 0, "", 0 }, { 0, NULL, 0 } };
	struct env *e = *state;
	struct llm_request q = request(e);
	struct llm_result r;
	struct llm_call *lc;

	start(e, script);
	q.provider = "echo";
	lc = llm_begin(e->m, &e->c, &q, NULL);
	usleep(30000);
	llm_cancel(lc, "stop");
	assert_int_equal(llm_wait(lc, &r), -1);
	check_failed(e, ERR_CANCELLED, "generation_cancelled", NULL);
	assert_true(r.text.n > 0 && r.text.n < 200);
}

static void
fetch(void **state)
{
	static const struct piece script[] = { { 0,
						   "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nk\xff"
						   "eys",
						   0 },
		{ 0, NULL, 0 } };
	static const struct piece missing[] = { { 0, "HTTP/1.1 404 X\r\nContent-Length: 2\r\n\r\nno", 0 },
		{ 0, NULL, 0 } };
	struct env *e = *state;
	struct str body;

	start(e, script);
	assert_int_equal(
	    llm_fetch(e->m, &e->c, &(struct llm_source){ .url = e->url, .bearer = "tok" }, 5, &body), 0);
	assert_true(str_is(body, "k\xff"
				 "eys"));
	assert_non_null(strstr(e->request, "GET /v1/ HTTP/1.1\r\n"));
	assert_non_null(strstr(e->request, "\r\nAuthorization: Bearer tok\r\n"));
	assert_int_equal(
	    llm_fetch(e->m, &e->c, &(struct llm_source){ .url = e->url, .bearer = NULL }, 4, &body), -1);
	check_failed(e, ERR_UPSTREAM, "upstream_error", "answer_too_large");
	err_clear(&e->c);
	e->script = missing;
	assert_int_equal(
	    llm_fetch(e->m, &e->c, &(struct llm_source){ .url = e->url, .bearer = NULL }, 100, &body), -1);
	check_failed(e, ERR_UPSTREAM, "upstream_error", "\"status\":404");
	err_clear(&e->c);
	assert_int_equal(llm_fetch(e->m, &e->c,
			     &(struct llm_source){ .url = "ftp://127.0.0.1/", .bearer = NULL }, 100, &body),
	    -1);
	check_failed(e, ERR_INVALID, "ssrf_blocked", NULL);
}

static void
fetch_of_the_operators_own(void **state)
{
	static const struct piece script[] = { { 0, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nkeys", 0 },
		{ 0, NULL, 0 } };
	struct env *e = *state;
	struct str body;

	e->conf.allow_private = false;
	start(e, script);
	assert_int_equal(llm_fetch(e->m, &e->c, &(struct llm_source){ .url = e->url }, 100, &body), -1);
	check_failed(e, ERR_INVALID, "ssrf_blocked", NULL);
	err_clear(&e->c);
	assert_int_equal(
	    llm_fetch(e->m, &e->c, &(struct llm_source){ .url = e->url, .own = true }, 100, &body), 0);
	assert_true(str_is(body, "keys"));
	assert_int_equal(
	    llm_fetch(e->m, &e->c, &(struct llm_source){ .url = "http://169.254.169.254/", .own = true }, 100,
		&body),
	    -1);
	check_failed(e, ERR_INVALID, "ssrf_blocked", NULL);
}

struct waiter {
	struct env *e;
	struct ctx c;
	struct llm_call *lc;
	struct llm_result r;
	int rc;
};

static void *
wait_main(void *arg)
{
	struct waiter *w = arg;

	w->rc = llm_wait(w->lc, &w->r);
	return NULL;
}

static void
destroyed_under_calls(void **state)
{
	static const struct piece script[] = { { 0, SSE_HEAD CHUNK("a"), 0 }, { 0, NULL, 0 } };
	struct env *e = *state;
	struct llm_request q = request(e);
	struct waiter w[4];
	pthread_t threads[4];

	e->hang = true;
	start(e, script);
	for (int i = 0; i < 4; i++) {
		w[i] = (struct waiter){ .e = e, .c = { .a = arena_create("waiter", 0) } };
		q.provider = i == 3 ? "echo" : "openai-compatible";
		w[i].lc = llm_begin(e->m, &w[i].c, &q, NULL);
		assert_int_equal(pthread_create(&threads[i], NULL, wait_main, &w[i]), 0);
	}
	usleep(30000);
	loop_stop(e->loop);
	pthread_join(e->loop_thread, NULL);
	llm_destroy(&e->m);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(w[i].rc, -1);
		assert_int_equal(w[i].c.err.kind, ERR_CANCELLED);
		arena_destroy(&w[i].c.a);
	}
	shutdown(e->listener, SHUT_RDWR);
	pthread_join(e->server_thread, NULL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(streams),
		TEST(big_body),
		TEST(plain),
		TEST(connection_is_used_again),
		TEST(error_status),
		TEST(refused_while_sending),
		TEST(redirect),
		TEST(broken_stream),
		TEST(broken_chunked_stream),
		TEST(no_answer),
		TEST(no_http),
		TEST(no_server),
		TEST(first_byte_timeout),
		TEST(idle_timeout),
		TEST(total_timeout),
		TEST(cancel),
		TEST(cancel_before_anything),
		TEST(too_large),
		TEST(refused_address),
		TEST(listed_host),
		TEST(no_proxy_from_the_environment),
		TEST(bad_requests),
		TEST(echo),
		TEST(echo_cancelled),
		TEST(fetch),
		TEST(fetch_of_the_operators_own),
		TEST(destroyed_under_calls),
	};

	return cmocka_run_group_tests_name("llm_call", tests, NULL, NULL);
}
