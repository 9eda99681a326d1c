/*
 * transfer: HTTP on the loop, one curl multi handle per process. Sockets and curl's timer are watched by the
 * loop; each transfer has one timer of ours for first byte, silence and total time. Nothing here blocks: the
 * host was resolved before (target.c), and only checked addresses are connected to.
 */
#include "llm/call.h"
#include "llm/dialect.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/tm.h"

#include "config.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	RECEIVE_BUFFER = 2048, /* pieces of a reply are smaller, and thousands may be open */
	UPLOAD_BUFFER = 16384, /* the least that curl takes */
	READ_PIECE = 4096,     /* so that little of it is ever touched */
	SMALL_BODY = 48 << 10, /* curl sends it with the head and needs no buffer for it */
	IDLE_CONNECTIONS = 64,
	LINGER_MS = 1000 /* after the end of the answer, so that the connection can be used again */
};

struct sock {
	struct llm *m;
	curl_socket_t fd;
};

static void finished_take(struct llm *m);
static void deadline_set(struct llm_call *call);
static void on_deadline(void *arg);

static void
on_socket(void *arg, uint32_t events)
{
	struct sock *s = arg;
	struct llm *m = s->m;
	int running, what = 0;

	if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP))
		what |= CURL_CSELECT_IN;
	if (events & EPOLLOUT)
		what |= CURL_CSELECT_OUT;
	if (events & EPOLLERR)
		what |= CURL_CSELECT_ERR;
	curl_multi_socket_action(m->multi, s->fd, what, &running); /* s may be gone now */
	finished_take(m);
}

static int
watch_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *known)
{
	struct llm *m = arg;
	struct sock *s = known;
	uint32_t events = 0;

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		loop_unwatch(m->loop, fd);
		curl_multi_assign(m->multi, fd, NULL);
		free(s);
		return 0;
	}
	if (!s) {
		s = calloc(1, sizeof *s);
		if (!s)
			abort();
		*s = (struct sock){ .m = m, .fd = fd };
		curl_multi_assign(m->multi, fd, s);
	}
	if (what & CURL_POLL_IN)
		events |= EPOLLIN;
	if (what & CURL_POLL_OUT)
		events |= EPOLLOUT;
	if (loop_watch(m->loop, fd, events, on_socket, s) < 0)
		log_error("llm.watch_failed", "fd=%d", (int)fd);
	return 0;
}

static void
on_curl_timer(void *arg)
{
	struct llm *m = arg;
	int running;

	m->timer = 0;
	curl_multi_socket_action(m->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	finished_take(m);
}

static int
set_timer(CURLM *multi, long ms, void *arg)
{
	struct llm *m = arg;

	(void)multi;
	if (m->timer)
		loop_timer_cancel(m->loop, m->timer);
	m->timer = ms < 0 ? 0 : loop_timer(m->loop, ms, on_curl_timer, m);
	return 0;
}

static void
global_init(void)
{
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		abort();
}

int
transfer_init(struct llm *m)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, global_init);
	m->multi = curl_multi_init();
	if (!m->multi)
		return -1;
	curl_multi_setopt(m->multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
	curl_multi_setopt(m->multi, CURLMOPT_SOCKETDATA, m);
	curl_multi_setopt(m->multi, CURLMOPT_TIMERFUNCTION, set_timer);
	curl_multi_setopt(m->multi, CURLMOPT_TIMERDATA, m);
	curl_multi_setopt(m->multi, CURLMOPT_MAXCONNECTS, (long)IDLE_CONNECTIONS);
	curl_multi_setopt(m->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
	return 0;
}

void
transfer_exit(struct llm *m)
{
	curl_multi_cleanup(m->multi);
	if (m->timer)
		loop_timer_cancel(m->loop, m->timer);
	m->timer = 0;
}

static struct str
header(CURL *easy, const char *name)
{
	struct curl_header *h;

	return curl_easy_header(easy, name, 0, CURLH_HEADER, -1, &h) == CURLHE_OK ? str_c(h->value)
										  : STR_NULL;
}

/* The body is not needed any more, unless the server answered before it had come whole. */
static void
body_drop(struct llm_call *call)
{
	curl_off_t sent = 0;

	if (curl_easy_getinfo(call->easy, CURLINFO_SIZE_UPLOAD_T, &sent) != CURLE_OK ||
	    sent < (curl_off_t)call->body.n)
		return;
	arena_destroy(&call->body_arena);
	call->body = STR_NULL;
	call->sent = 0;
}

/* The status line and the headers are there: what kind of answer is it? */
static void
head_take(struct llm_call *call)
{
	struct answer_begin_head head = { .content_type = header(call->easy, "content-type"),
		.retry_after = header(call->easy, "retry-after"),
		.retry_after_ms = header(call->easy, "retry-after-ms"),
		.should_retry = header(call->easy, "x-should-retry"),
		.now = tm_now() };
	long status = 0;

	if (call->headed)
		return;
	curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status < 200)
		return;
	call->headed = true;
	head.status = (int)status;
	answer_begin_head(&call->an, &head);
	body_drop(call);
	/* From here silence has another limit, which may be the shorter one. */
	call->last = loop_now(call->m->loop);
	if (call->timer)
		loop_timer_cancel(call->m->loop, call->timer);
	deadline_set(call);
}

static void
linger(struct llm_call *call)
{
	call->limit_total = loop_now(call->m->loop) + LINGER_MS;
	if (call->timer)
		loop_timer_cancel(call->m->loop, call->timer);
	call->timer = loop_timer(call->m->loop, LINGER_MS, on_deadline, call);
}

static bool
fetch_take(struct llm_call *call, struct str bytes)
{
	if (call->fetched.n + bytes.n > call->fetch_max) {
		answer_fail(&call->an, LLM_PROTOCOL, "answer_too_large", "");
		return false;
	}
	sb_add(&call->fetched, bytes);
	return true;
}

static size_t
on_bytes(char *p, size_t size, size_t n, void *arg)
{
	struct llm_call *call = arg;
	struct str bytes = { p, size * n };
	bool more;

	if (call->delivered)
		return bytes.n;
	head_take(call);
	call->last = loop_now(call->m->loop);
	if (call->kind == CALL_FETCH && call->an.head.status == 200)
		more = fetch_take(call, bytes);
	else
		more = answer_feed(&call->an, bytes);
	if (more)
		return bytes.n;
	if (call->an.error.kind != LLM_OK)
		return 0; /* curl ends the transfer with a write error, see finished */
	call_deliver(call);
	linger(call);
	return bytes.n;
}

static size_t
on_read(char *p, size_t size, size_t n, void *arg)
{
	struct llm_call *call = arg;
	size_t left = call->body.n - call->sent, take = size * n; /* once the body is dropped both are 0 */

	if (take > READ_PIECE)
		take = READ_PIECE;
	if (take > left)
		take = left;
	if (take > 0)
		memcpy(p, call->body.p + call->sent, take);
	call->sent += take;
	return take;
}

/* A kept connection turned out to be dead: the body is sent again over another. */
static int
on_seek(void *arg, curl_off_t to, int origin)
{
	struct llm_call *call = arg;

	if (origin != SEEK_SET || to != 0 || !call->body.p)
		return CURL_SEEKFUNC_CANTSEEK;
	call->sent = 0;
	return CURL_SEEKFUNC_OK;
}

/* The last word on every address, just before it is connected to. */
static curl_socket_t
on_open(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct llm_call *call = arg;
	const char *what;

	(void)purpose;
	if (!target_allows(&call->m->conf, call->target.listed, &address->addr, &what)) {
		call->refused_addr = true;
		return CURL_SOCKET_BAD;
	}
	return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static void
set_options(struct llm_call *call)
{
	CURL *e = call->easy;

	curl_easy_setopt(e, CURLOPT_CURLU, call->target.url);
	curl_easy_setopt(e, CURLOPT_PRIVATE, call);
	curl_easy_setopt(e, CURLOPT_ERRORBUFFER, call->curl_error);
	curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(e, CURLOPT_PROXY, "");
	curl_easy_setopt(e, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
	if (call->m->conf.ca_file)
		curl_easy_setopt(e, CURLOPT_CAINFO, call->m->conf.ca_file);
	curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
	curl_easy_setopt(e, CURLOPT_PIPEWAIT, call->target.tls ? 1L : 0L);
	curl_easy_setopt(e, CURLOPT_USERAGENT, PACKAGE_NAME "/" PACKAGE_VERSION);
	curl_easy_setopt(e, CURLOPT_HTTPHEADER, call->headers);
	curl_easy_setopt(e, CURLOPT_BUFFERSIZE, (long)RECEIVE_BUFFER);
	curl_easy_setopt(e, CURLOPT_UPLOAD_BUFFERSIZE, (long)UPLOAD_BUFFER);
	curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)call->m->conf.connect_ms);
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_bytes);
	curl_easy_setopt(e, CURLOPT_WRITEDATA, call);
	curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, on_open);
	curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, call);
	if (call->pin)
		curl_easy_setopt(e, CURLOPT_RESOLVE, call->pin);
	if (call->kind == CALL_FETCH)
		return;
	curl_easy_setopt(e, CURLOPT_POST, 1L);
	curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body.n);
	if (call->body.n <= SMALL_BODY) {
		curl_easy_setopt(e, CURLOPT_POSTFIELDS, call->body.p);
		return;
	}
	curl_easy_setopt(e, CURLOPT_READFUNCTION, on_read);
	curl_easy_setopt(e, CURLOPT_READDATA, call);
	curl_easy_setopt(e, CURLOPT_SEEKFUNCTION, on_seek);
	curl_easy_setopt(e, CURLOPT_SEEKDATA, call);
}

/* When to look at the clock again: the nearest of silence and total. */
static void
deadline_set(struct llm_call *call)
{
	int64_t now = loop_now(call->m->loop),
		quiet = call->headed ? call->idle_ms : call->m->conf.first_byte_ms;
	int64_t due = quiet > 0 ? call->last + quiet : INT64_MAX;

	if (call->limit_total > 0 && call->limit_total < due)
		due = call->limit_total;
	if (due != INT64_MAX)
		call->timer = loop_timer(call->m->loop, due > now ? due - now : 0, on_deadline, call);
}

static void
on_deadline(void *arg)
{
	struct llm_call *call = arg;
	int64_t now = loop_now(call->m->loop),
		quiet = call->headed ? call->idle_ms : call->m->conf.first_byte_ms;

	call->timer = 0;
	if (call->delivered)
		transfer_stop(call);
	else if (call->limit_total > 0 && now >= call->limit_total)
		call_fail(call, LLM_TIMEOUT, "total_timeout", "");
	else if (quiet > 0 && now - call->last >= quiet)
		call_fail(call, LLM_TIMEOUT, call->headed ? "idle_timeout" : "first_byte_timeout", "");
	else
		deadline_set(call);
}

void
transfer_start(struct llm_call *call)
{
	struct llm *m = call->m;

	call->easy = curl_easy_init();
	if (!call->easy)
		abort();
	if (call->target.pin)
		call->pin = curl_slist_append(NULL, call->target.pin);
	set_options(call);
	call->last = loop_now(m->loop);
	deadline_set(call);
	curl_multi_add_handle(m->multi, call->easy);
}

void
transfer_stop(struct llm_call *call)
{
	struct llm *m = call->m;

	if (call->timer)
		loop_timer_cancel(m->loop, call->timer);
	call->timer = 0;
	if (call->easy) {
		curl_multi_remove_handle(m->multi, call->easy);
		curl_easy_cleanup(call->easy);
		call->easy = NULL;
	}
	call_release(call);
}

/* clang-format off */
static const struct {
	CURLcode rc;
	enum llm_error_kind kind;
	const char *code;
} failures[] = {
	{ CURLE_COULDNT_RESOLVE_HOST,       LLM_NETWORK,  "name_not_resolved" },
	{ CURLE_COULDNT_CONNECT,            LLM_NETWORK,  "connect_failed" },
	{ CURLE_OPERATION_TIMEDOUT,         LLM_TIMEOUT,  "connect_timeout" },
	{ CURLE_SSL_CONNECT_ERROR,          LLM_NETWORK,  "tls_failed" },
	{ CURLE_PEER_FAILED_VERIFICATION,   LLM_NETWORK,  "tls_failed" },
	{ CURLE_SSL_ISSUER_ERROR,           LLM_NETWORK,  "tls_failed" },
	{ CURLE_SSL_INVALIDCERTSTATUS,      LLM_NETWORK,  "tls_failed" },
	{ CURLE_WEIRD_SERVER_REPLY,         LLM_PROTOCOL, "bad_answer" },
	{ CURLE_UNSUPPORTED_PROTOCOL,       LLM_PROTOCOL, "bad_answer" },
};
/* clang-format on */

static void
curl_failed(struct llm_call *call, CURLcode rc)
{
	for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
		if (failures[i].rc == rc) {
			answer_fail(&call->an, failures[i].kind, failures[i].code, "");
			return;
		}
	}
	/* a stream that breaks off is judged by what came; anything else is incomplete */
	if (!call->headed || call->an.mode == ANSWER_WHOLE)
		answer_fail(&call->an, LLM_NETWORK, "connection_lost", "");
}

static void
finished(struct llm_call *call, CURLcode rc)
{
	if (!call->delivered) {
		head_take(call);
		if (rc != CURLE_OK && call->an.error.kind == LLM_OK)
			curl_failed(call, rc);
		else if (!call->headed)
			answer_fail(&call->an, LLM_PROTOCOL, "bad_answer", "");
		else if (call->kind == CALL_FETCH && call->an.head.status != 200 &&
			 call->an.head.status < 300)
			answer_fail(&call->an, LLM_PROTOCOL, "bad_answer", "");
		call_deliver(call);
	}
	transfer_stop(call);
}

static void
finished_take(struct llm *m)
{
	CURLMsg *msg;
	int left;

	while ((msg = curl_multi_info_read(m->multi, &left))) {
		CURLcode rc = msg->data.result;
		void *call = NULL;

		if (msg->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &call);
		finished(call, rc);
	}
}
