/*
 * call: begin, wait, cancel, and what the two threads tell each other. Bytes are moved by transfer.c and
 * echo.c.
 */
#include "llm/call.h"

#include "llm/dialect.h"
#include "llm/upstream_error.h"

#include "base/limits.h"
#include "base/stack.h"
#include "base/tm.h"

#include <errno.h>
#include <stdlib.h>

#define SHORT_MS 100 /* who waits longer gives the memory of his stack back */

static const struct {
	void (*start)(struct llm_call *);
	void (*stop)(struct llm_call *);
} movers[] = {
	[CALL_CHAT] = { transfer_start, transfer_stop },
	[CALL_ECHO] = { echo_start, echo_stop },
	[CALL_FETCH] = { transfer_start, transfer_stop },
};

/* What a failure is called where the server itself said nothing. */
static const struct {
	const char *code, *words;
} phrases[] = {
	{ "stream_truncated", "the model server's stream broke off" },
	{ "answer_too_large", "the model server's answer is too large" },
	{ "invalid_event", "the model server's stream is not readable" },
	{ "invalid_json", "the model server's answer is not JSON" },
	{ "empty_body", "the model server's answer is empty" },
	{ "no_choices", "the model server's answer holds no reply" },
	{ "redirect_refused", "the model server answered with a redirect, which is not followed" },
	{ "empty_reply", "the model's reply is empty" },
	{ "reasoning_only", "the model reasoned but gave no reply" },
	{ "connect_failed", "no connection to the model server" },
	{ "connection_lost", "the connection to the model server was lost" },
	{ "name_not_resolved", "the model server's name cannot be resolved" },
	{ "tls_failed", "no trusted TLS connection to the model server" },
	{ "bad_answer", "what answered is no HTTP server that can be read" },
	{ "connect_timeout", "the model server could not be reached in time" },
	{ "first_byte_timeout", "the model server did not begin to answer in time" },
	{ "idle_timeout", "the model server stopped sending" },
	{ "total_timeout", "the model server did not finish in time" },
};

struct llm *
llm_create(struct loop *l, const struct llm_conf *conf)
{
	struct llm *m = calloc(1, sizeof *m);

	if (!m)
		abort();
	m->loop = l;
	m->conf = *conf;
	if (m->conf.reply_max == 0)
		m->conf.reply_max = LIM_REPLY;
	m->tmp = arena_create("llm.event", 0);
	pthread_mutex_init(&m->lock, NULL);
	if (transfer_init(m) < 0)
		abort();
	return m;
}

void
llm_destroy(struct llm **mp)
{
	struct llm *m = *mp;

	if (!m)
		return;
	while (m->calls) {
		struct llm_call *call = m->calls;

		call_ref(call);
		call_fail(call, LLM_CANCELLED, "cancelled", "");
		call_unref(call);
	}
	transfer_exit(m);
	arena_destroy(&m->tmp);
	pthread_mutex_destroy(&m->lock);
	free(m);
	*mp = NULL;
}

static void
list_add(struct llm_call *call)
{
	struct llm *m = call->m;

	pthread_mutex_lock(&m->lock);
	call->next = m->calls;
	if (m->calls)
		m->calls->prev = call;
	m->calls = call;
	pthread_mutex_unlock(&m->lock);
}

static void
list_del(struct llm_call *call)
{
	struct llm *m = call->m;

	pthread_mutex_lock(&m->lock);
	if (call->prev)
		call->prev->next = call->next;
	else if (m->calls == call)
		m->calls = call->next;
	if (call->next)
		call->next->prev = call->prev;
	call->prev = call->next = NULL;
	pthread_mutex_unlock(&m->lock);
}

void
call_ref(struct llm_call *call)
{
	pthread_mutex_lock(&call->lock);
	call->refs++;
	pthread_mutex_unlock(&call->lock);
}

void
call_unref(struct llm_call *call)
{
	bool last;

	pthread_mutex_lock(&call->lock);
	last = --call->refs == 0;
	pthread_mutex_unlock(&call->lock);
	if (!last)
		return;
	curl_slist_free_all(call->headers);
	curl_slist_free_all(call->pin);
	arena_destroy(&call->body_arena);
	arena_destroy(&call->a);
	pthread_cond_destroy(&call->cond);
	pthread_mutex_destroy(&call->lock);
	free(call);
}

void
call_release(struct llm_call *call)
{
	list_del(call);
	call_unref(call);
}

static void
end(struct llm_call *call)
{
	pthread_mutex_lock(&call->lock);
	call->ended = true;
	pthread_cond_broadcast(&call->cond);
	pthread_mutex_unlock(&call->lock);
}

void
call_deliver(struct llm_call *call)
{
	if (call->delivered)
		return;
	call->delivered = true;
	if (call->kind != CALL_FETCH || call->an.error.kind != LLM_OK || call->an.head.status != 200)
		answer_end(&call->an);
	end(call);
}

void
call_fail(struct llm_call *call, enum llm_error_kind kind, const char *code, const char *message)
{
	if (!call->delivered) {
		answer_fail(&call->an, kind, code, message);
		call_deliver(call);
	}
	movers[call->kind].stop(call);
}

/* The text goes to the caller's sink, and the clock notes the first. */
static void
on_text(void *arg, bool reasoning, struct str delta)
{
	struct llm_call *call = arg;

	if (call->first_ms < 0)
		call->first_ms = tm_mono() - call->began;
	if (call->sink.text)
		call->sink.text(call->sink.arg, reasoning, delta);
}

static void
on_retract(void *arg)
{
	struct llm_call *call = arg;

	if (call->sink.retract)
		call->sink.retract(call->sink.arg);
}

static struct llm_call *
call_create(struct llm *m, struct ctx *c, enum call_kind kind)
{
	struct llm_call *call = calloc(1, sizeof *call);
	pthread_condattr_t attr;

	if (!call)
		abort();
	call->m = m;
	call->c = c;
	call->kind = kind;
	call->a = arena_create("llm.call", 2048);
	call->began = tm_mono();
	call->first_ms = -1;
	call->refs = 1;
	pthread_mutex_init(&call->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&call->cond, &attr);
	pthread_condattr_destroy(&attr);
	return call;
}

static void
answer_prepare(struct llm_call *call, const struct llm_request *q, const struct dialect *d)
{
	struct answer_opts opts = { .dialect = d,
		.stream = q->stream,
		.think = !q->think_off,
		.think_open = q->think_open,
		.text_max = call->m->conf.reply_max,
		.sink = { .text = on_text, .retract = on_retract, .arg = call } };

	if (q->api_key)
		opts.secret = arena_str(call->a, str_c(q->api_key));
	answer_begin(&call->an, call->a, call->m->tmp, &opts);
}

/* A text alone in an arena of its size. */
static struct arena *
body_keep(struct str *body, struct str text)
{
	struct arena *a = arena_create("llm.body", text.n + 64);

	*body = arena_str(a, text);
	return a;
}

/* The body as text, in its own arena; the tree is gone afterwards. */
static void
body_write(struct llm_call *call, const struct llm_request *q)
{
	struct arena *tree = arena_create("llm.build", 0);
	struct llm_warnings w = { 0 };
	struct str text = q->body.p ? q->body : json_text(tree, llm_body(tree, q, &w));

	call->body_arena = body_keep(&call->body, text);
	call->digest = digest_sha256(text);
	call->requested = true;
	for (size_t i = 0; i < w.list.n; i++)
		llm_warn(call->a, &call->an.warnings, w.list.v[i]);
	arena_destroy(&tree);
}

/* Where it goes, if the request does not say: the provider's own. */
static void
base_settle(struct llm_request *q, const struct provider *p)
{
	if (p && p->base && (!q->base_url || !*q->base_url))
		q->base_url = p->base;
}

struct arena *
llm_request_make(struct llm_request *q)
{
	const struct provider *p = provider_find(q->provider);
	struct arena *tree, *own;

	if (!p || !p->dialect)
		return NULL;
	base_settle(q, p);
	tree = arena_create("llm.build", 0);
	own = body_keep(&q->body, json_text(tree, llm_body(tree, q, NULL)));
	arena_destroy(&tree);
	q->messages = NULL;
	q->message_n = 0;
	q->tools = NULL;
	return own;
}

#define TRACESTATE_MAX 512 /* what everybody must be able to pass on (Trace Context 3.3.1.5) */

static void
header_add(struct llm_call *call, const char *line)
{
	struct curl_slist *list = curl_slist_append(call->headers, line);

	if (!list)
		abort();
	call->headers = list;
}

static bool
header_safe(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || (unsigned char)*s == 0x7f)
			return false;
	return true;
}

static int
chat_open(struct llm_call *call, struct ctx *c, const struct llm_request *q, const struct dialect *d)
{
	if (q->api_key && !header_safe(q->api_key))
		return fail(
		    c, ERR_INVALID, "invalid_params", "the API key has characters that no header may have");
	if (target_open(c, &call->m->conf, q->base_url, d->path_of ? d->path_of(c->a, q) : d->path,
		&call->target) < 0)
		return -1;
	if (d->header)
		header_add(call, d->header);
	header_add(call, "Content-Type: application/json");
	header_add(call, q->stream ? "Accept: text/event-stream" : "Accept: application/json");
	header_add(call, "Expect:");
	if (c->trace)
		header_add(call, arena_printf(c->a, "traceparent: %s", c->trace));
	if (c->trace && c->tracestate.n > 0 && c->tracestate.n <= TRACESTATE_MAX) {
		const char *state = arena_printf(c->a, "tracestate: %.*s", STR_ARG(c->tracestate));

		if (header_safe(state))
			header_add(call, state);
	}
	if (q->api_key && *q->api_key)
		header_add(call, arena_printf(c->a, "%s%s", d->key_header, q->api_key));
	return 0;
}

static void
on_start(void *arg)
{
	struct llm_call *call = arg;

	movers[call->kind].start(call);
}

/* Hands the call to the loop, or ends it at once if it could not be prepared. */
static struct llm_call *
launch(struct llm_call *call, const struct ctx *prepared)
{
	call->early = prepared->err;
	if (call->early.kind != ERR_NONE) {
		pthread_mutex_lock(&call->lock);
		call->ended = true;
		pthread_mutex_unlock(&call->lock);
		return call;
	}
	list_add(call);
	call_ref(call);
	loop_post(call->m->loop, on_start, call);
	return call;
}

struct llm_call *
llm_begin(struct llm *m, struct ctx *c, const struct llm_request *q, const struct llm_sink *sink)
{
	const struct provider *p = provider_find(q->provider);
	const struct dialect *d = dialect_find(q->dialect        ? q->dialect
					       : p && p->dialect ? p->dialect
								 : "chat_completions");
	bool echo = p && !p->dialect;
	struct llm_call *call = call_create(m, c, echo ? CALL_ECHO : CALL_CHAT);
	struct ctx prepared = { .a = call->a, .now = c->now, .rid = c->rid, .trace = c->trace, .tracestate = c->tracestate };
	struct llm_request own = *q;
	int64_t total = q->total_ms > 0 ? q->total_ms : m->conf.total_ms;

	base_settle(&own, p);
	q = &own;
	if (sink)
		call->sink = *sink;
	call->idle_ms = q->idle_ms > 0 ? q->idle_ms : m->conf.idle_ms;
	call->limit_total = total > 0 ? call->began + total : 0;
	if (!p || !d)
		fail(&prepared, ERR_INVALID, "invalid_params", "no such %s: \"%s\"",
		    p ? "dialect" : "provider",
		    p             ? q->dialect
		    : q->provider ? q->provider
				  : "");
	else
		answer_prepare(call, q, d);
	if (!failed(&prepared) && echo)
		echo_prepare(call, q);
	else if (!failed(&prepared) && chat_open(call, &prepared, q, d) == 0)
		body_write(call, q);
	return launch(call, &prepared);
}

static void
early_copy(struct ctx *c, const struct err *e)
{
	fail(c, e->kind, e->code, "%s", e->msg);
	if (e->log)
		fail_log(c, "%s", e->log);
	if (e->details)
		fail_details(c, arena_strdup(c->a, str_c(e->details)));
}

static const char *
words_for(struct arena *a, const struct llm_error *e)
{
	for (size_t i = 0; e->code && i < sizeof phrases / sizeof *phrases; i++)
		if (strcmp(phrases[i].code, e->code) == 0)
			return phrases[i].words;
	if (e->kind == LLM_CONTENT_FILTER)
		return "the model server withheld the reply";
	if (e->status > 0)
		return arena_printf(
		    a, "the model server answered %d%s%s", e->status, *e->message ? ": " : "", e->message);
	return arena_printf(a, "the model server reported an error%s%s", *e->message ? ": " : "", e->message);
}

static int
error_record(struct ctx *c, const struct llm_error *e)
{
	struct json *d = json_object(c->a);
	enum err_kind kind = e->kind == LLM_TIMEOUT ? ERR_TIMEOUT : ERR_UPSTREAM;

	json_set_c(d, "kind", llm_error_kind_name(e->kind));
	if (e->status > 0)
		json_set_int(d, "status", e->status);
	if (e->code)
		json_set_c(d, "code", e->code);
	if (*e->message)
		json_set_c(d, "message", e->message);
	json_set_bool(d, "retryable", e->retryable);
	if (e->retry_after_ms >= 0)
		json_set_int(d, "retry_after_ms", e->retry_after_ms);
	fail(c, kind, "upstream_error", "%s", words_for(c->a, e));
	return fail_details(c, arena_strdup(c->a, json_text(c->a, d)));
}

static int
settle(struct llm_call *call, struct llm_result *out)
{
	struct ctx *c = call->c;

	if (call->early.kind != ERR_NONE) {
		early_copy(c, &call->early);
		if (call->early.kind == ERR_UPSTREAM) /* the name, and names come back */
			out->error = (struct llm_error){ .kind = LLM_NETWORK,
				.code = "name_not_resolved",
				.message = "",
				.retryable = true,
				.retry_after_ms = -1 };
		return -1;
	}
	answer_result(&call->an, c->a, out);
	out->requested = call->requested;
	out->request = call->digest;
	out->first_ms = call->first_ms;
	out->total_ms = tm_mono() - call->began;
	if (out->error.kind == LLM_OK)
		return 0;
	if (call->refused_addr)
		return fail(c, ERR_INVALID, "ssrf_blocked",
		    "the base URL leads to an address that is not allowed here");
	if (out->error.kind == LLM_CANCELLED)
		return fail(c, ERR_CANCELLED, "generation_cancelled", "%s",
		    call->why[0] ? call->why : "the call was cancelled");
	error_record(c, &out->error);
	if (call->curl_error[0])
		fail_log(c, "host=%s:%d %s", call->target.host, call->target.port, call->curl_error);
	return -1;
}

static void
sleep_until_ended(struct llm_call *call)
{
	int64_t at = tm_mono() + SHORT_MS;
	struct timespec soon = { .tv_sec = at / 1000, .tv_nsec = (at % 1000) * 1000000 };

	pthread_mutex_lock(&call->lock);
	while (!call->ended && pthread_cond_timedwait(&call->cond, &call->lock, &soon) != ETIMEDOUT)
		;
	if (!call->ended)
		stack_trim();
	while (!call->ended)
		pthread_cond_wait(&call->cond, &call->lock);
	pthread_mutex_unlock(&call->lock);
}

int
llm_wait(struct llm_call *call, struct llm_result *out)
{
	int rc;

	*out = (struct llm_result){ .text = STR(""),
		.reasoning = STR(""),
		.usage = { -1, -1, -1, -1, -1, -1 },
		.first_ms = -1,
		.error = { .message = "", .retry_after_ms = -1 } };
	sleep_until_ended(call);
	rc = settle(call, out);
	call_unref(call);
	return rc;
}

void
llm_hold(struct llm_call *call)
{
	call_ref(call);
}

void
llm_drop(struct llm_call *call)
{
	call_unref(call);
}

static void
on_cancel(void *arg)
{
	struct llm_call *call = arg;

	if (call->early.kind == ERR_NONE && !call->delivered)
		call_fail(call, LLM_CANCELLED, "cancelled", "");
	call_unref(call);
}

void
llm_cancel(struct llm_call *call, const char *why)
{
	pthread_mutex_lock(&call->lock);
	call->refs++;
	if (!call->why[0] && why)
		memccpy(call->why, why, '\0', sizeof call->why - 1);
	pthread_mutex_unlock(&call->lock);
	loop_post(call->m->loop, on_cancel, call);
}

/* Checks the URL, with private addresses allowed if it is the operator's own. */
static void
fetch_open(struct llm_call *call, struct ctx *c, const struct llm_source *from)
{
	struct llm_conf conf = call->m->conf;

	conf.allow_private |= from->own;
	if (from->bearer && !header_safe(from->bearer))
		fail(c, ERR_INVALID, "invalid_params", "the token has characters that no header may have");
	else if (target_open(c, &conf, from->url, "", &call->target) == 0 && from->bearer)
		header_add(call, arena_printf(call->a, "Authorization: Bearer %s", from->bearer));
	call->target.listed |= from->own;
}

int
llm_fetch(struct llm *m, struct ctx *c, const struct llm_source *from, size_t max, struct str *body_out)
{
	struct llm_call *call = call_create(m, c, CALL_FETCH);
	struct ctx prepared = { .a = call->a, .now = c->now, .rid = c->rid, .trace = c->trace, .tracestate = c->tracestate };
	struct llm_request q = { .api_key = from->bearer };
	struct llm_result r = { .truncated = false };

	answer_prepare(call, &q, dialect_find("chat_completions"));
	call->fetched = sb_new(call->a);
	call->fetch_max = max;
	call->limit_total = m->conf.total_ms > 0 ? call->began + m->conf.total_ms : 0;
	call->idle_ms = m->conf.idle_ms;
	fetch_open(call, &prepared, from);
	launch(call, &prepared);
	sleep_until_ended(call);
	if (settle(call, &r) < 0) {
		call_unref(call);
		return -1;
	}
	*body_out = arena_str(c->a, sb_str(&call->fetched));
	call_unref(call);
	return 0;
}
