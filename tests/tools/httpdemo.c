/*
 * httpdemo: the smallest application on the real master, worker and server: what the tests of the
 * HTTP side run behind nginx. It has no database and no model; its "generations" are timers on the
 * loop, as a relayed model reply is.
 */
#include "base/log.h"
#include "base/tm.h"
#include "master.h"
#include "worker.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

struct demo {
	struct worker *w;
	const struct router *router;
	struct str openapi;
	atomic_int deserted, cancelled;
	atomic_llong deserted_at; /* wall clock, ms */
	atomic_bool cancel;
};

static const struct field ping_fields[] = {
	{ .name = "pong", .type = FT_BOOL, .doc = "always true" },
	FIELD_END,
};

static int
ping(struct request *r)
{
	return reply_data(r, STR("{\"pong\":true}"));
}

static const struct field echo_fields[] = {
	{ .name = "text",
	    .type = FT_STRING,
	    .flags = FF_REQUIRED,
	    .min = 1,
	    .max = 100000,
	    .doc = "comes back" },
	{ .name = "times", .type = FT_INT, .min = 1, .max = 1000, .dflt = "1", .doc = "how often" },
	FIELD_END,
};

static int
echo(struct request *r)
{
	struct json *o = json_object(r->ctx->a);

	json_set_str(o, "text", json_get_str(r->in, "text"));
	json_set_int(o, "times", json_get_int(r->in, "times", 0));
	return reply_data(r, json_text(r->ctx->a, o));
}

/* Length and a sum of the bytes that came, so that a test sees whether all of them did. */
static int
bytes(struct request *r)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < r->body.n; i++)
		sum = sum * 31 + (unsigned char)r->body.p[i];
	return reply_data(r, str_c(arena_printf(r->ctx->a, "{\"bytes\":%zu,\"sum\":%u}", r->body.n, sum)));
}

static const struct field big_query[] = {
	{ .name = "bytes", .type = FT_INT, .bounded = true, .max = 100000000, .dflt = "1000" },
	FIELD_END,
};

static int
big(struct request *r)
{
	size_t n = (size_t)req_query_int(r, "bytes", 1000);
	char *p = arena_alloc(r->ctx->a, n + 1);

	for (size_t i = 0; i < n; i++)
		p[i] = (char)('a' + i % 26);
	return reply_file(r, "application/octet-stream", "big \xC3\xA9.bin", (struct str){ p, n });
}

static int
item(struct request *r)
{
	struct json *o = json_object(r->ctx->a);

	json_set_str(o, "id", req_param(r, "id"));
	json_set_c(o, "rid", r->ctx->rid);
	json_set_str(o, "remote", r->remote_addr);
	return reply_data(r, json_text(r->ctx->a, o));
}

static int
empty(struct request *r)
{
	return reply_empty(r);
}

static const struct field refuse_query[] = {
	{ .name = "kind", .type = FT_INT, .min = 1, .max = ERR__COUNT - 1, .dflt = "1" },
	FIELD_END,
};

static int
refuse(struct request *r)
{
	fail(r->ctx, (enum err_kind)req_query_int(r, "kind", 1), "demo_refused", "refused as asked");
	return fail_details(r->ctx, "{\"why\":\"demo\"}");
}

static int
crash(struct request *r)
{
	log_error("demo.crash", "pid=%d", (int)getpid());
	kill(getpid(), SIGKILL);
	return reply_empty(r);
}

static int
silent(struct request *r)
{
	return r->ctx->a != NULL ? 0 : -1; /* a handler that forgets to answer */
}

static int
stats(struct request *r)
{
	struct demo *d = r->app;
	struct server_stats st;

	server_stats(d->w->server, &st);
	return reply_data(r,
	    str_c(arena_printf(r->ctx->a,
		"{\"pid\":%d,\"generation\":%d,\"threads\":%d,\"busy\":%d,\"longs\":%d,\"streams\":%d,"
		"\"connections\":%d,"
		"\"requests\":%llu,\"refused\":%llu,\"deserted\":%d,\"deserted_at\":%lld,\"cancelled\":%d}",
		(int)getpid(), d->w->generation, st.threads, st.busy, st.longs, st.streams, st.connections,
		(unsigned long long)st.requests, (unsigned long long)st.refused, atomic_load(&d->deserted),
		(long long)atomic_load(&d->deserted_at), atomic_load(&d->cancelled))));
}

/* A wait that the client's leaving ends. */
struct sleeper {
	struct demo *d;
	sem_t done;
};

static void
woken(void *arg)
{
	struct sleeper *s = arg;

	atomic_fetch_add(&s->d->deserted, 1);
	atomic_store(&s->d->deserted_at, (long long)tm_now());
	sem_post(&s->done);
}

static const struct field slow_query[] = {
	{ .name = "ms", .type = FT_INT, .bounded = true, .max = 60000, .dflt = "100" },
	FIELD_END,
};

static int
slow(struct request *r)
{
	struct sleeper s = { .d = r->app };
	int64_t ms = req_query_int(r, "ms", 100);
	struct timespec until;

	sem_init(&s.done, 0, 0);
	request_on_deserted(r, woken, &s);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000L;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000L;
	}
	while (sem_timedwait(&s.done, &until) < 0 && errno == EINTR)
		;
	request_on_deserted(r, NULL, NULL);
	return reply_data(r, request_deserted(r) ? STR("{\"deserted\":true}") : STR("{\"deserted\":false}"));
}

/* One "generation": pieces said by a timer on the loop while the thread sleeps. */
struct turn {
	struct demo *d;
	struct stream *s;
	int64_t chunks, ms, size, said;
	uint64_t timer;    /* of the next piece; loop thread only, as `said` */
	bool gone, ended;  /* nobody reads; the thread has been woken, which happens once, by turn_tick */
	sem_t done;
};

static void turn_tick(void *arg);

static void
turn_deserted(void *arg)
{
	struct turn *t = arg;

	atomic_fetch_add(&t->d->deserted, 1);
	atomic_store(&t->d->deserted_at, (long long)tm_now());
	t->gone = true;
	if (t->timer == 0 || t->ended)
		return; /* the first tick is on its way; or it is over */
	loop_timer_cancel(t->d->w->loop, t->timer);
	loop_post(t->d->w->loop, turn_tick, t);
}

static void
turn_tick(void *arg)
{
	struct turn *t = arg;
	char text[4096];
	size_t n;

	if (t->gone || atomic_load(&t->d->cancel) || t->said == t->chunks) {
		t->ended = true;
		sem_post(&t->done);
		return;
	}
	n = (size_t)snprintf(text, sizeof(text), "[t=%lld]", (long long)tm_mono_us() * 1000);
	while (n + 3 < sizeof(text) && n < (size_t)t->size) {
		memcpy(text + n, "\xE6\xBC\xA2", 3);
		n += 3;
	}
	t->said++;
	/* Cut where a model's reply is cut: anywhere. */
	stream_text(t->s, false, (struct str){ text, n - 1 });
	stream_text(t->s, false, (struct str){ text + n - 1, 1 });
	t->timer = loop_timer(t->d->w->loop, t->ms, turn_tick, t);
}

static const struct field stream_query[] = {
	{ .name = "chunks", .type = FT_INT, .bounded = true, .max = 1000000, .dflt = "5" },
	{ .name = "ms", .type = FT_INT, .bounded = true, .max = 60000, .dflt = "10" },
	{ .name = "size", .type = FT_INT, .bounded = true, .max = 4000, .dflt = "20" },
	{ .name = "run", .type = FT_INT, .bounded = true, .max = 1000000, .dflt = "0" },
	{ .name = "keep", .type = FT_BOOL, .dflt = "false" },
	FIELD_END,
};

static int
stream(struct request *r)
{
	struct demo *d = r->app;
	struct turn t = {
		.d = d,
		.chunks = req_query_int(r, "chunks", 5),
		.ms = req_query_int(r, "ms", 10),
		.size = req_query_int(r, "size", 20),
	};

	sem_init(&t.done, 0, 0);
	t.s = stream_create(d->w->loop, req_query_int(r, "run", 0), 2000);
	if (!req_query_bool(r, "keep", false))
		stream_on_deserted(t.s, turn_deserted, &t);
	stream_event(t.s, "start", STR("{\"floor_no\":1}"));
	stream_text(t.s, true, STR("thinking"));
	reply_stream(r, t.s, (struct stream_pos){ 0 });
	loop_post(d->w->loop, turn_tick, &t);
	while (sem_wait(&t.done) < 0)
		;
	if (atomic_load(&d->cancel))
		atomic_fetch_add(&d->cancelled, 1);
	stream_finish(t.s, t.gone ? "error" : "done", STR("{\"final_state\":\"committed\"}"));
	return 0;
}

static const struct field resume_query[] = {
	{ .name = "run", .type = FT_INT, .flags = FF_REQUIRED, .min = 1, .max = 1000000 },
	FIELD_END,
};

static int
resume(struct request *r)
{
	struct stream *s = stream_find(req_query_int(r, "run", 0));

	if (s == NULL) {
		fail(r->ctx, ERR_NOT_FOUND, "not_found", "no such run");
		return reply_stream_error(r, &r->ctx->err);
	}
	reply_stream(r, s, req_last_event(r, STR_NULL));
	stream_release(s);
	return 0;
}

static int
openapi(struct request *r)
{
	struct demo *d = r->app;

	return reply_bare(r, 200, "application/json; charset=utf-8", d->openapi);
}

static int
authenticate(struct request *r)
{
	struct str key = req_header(r, "x-api-key");

	if (key.n == 0)
		return fail(r->ctx, ERR_UNAUTHENTICATED, "auth_required", "Authentication required");
	if (str_is(key, "unknown"))
		return 0; /* found out only by `enter` */
	if (!str_is(key, "k"))
		return fail(r->ctx, ERR_FORBIDDEN, "auth_invalid_credentials", "Invalid API key");
	return 0;
}

static int
enter(struct request *r)
{
	if (str_is(req_header(r, "x-api-key"), "unknown"))
		return fail(r->ctx, ERR_UNAUTHENTICATED, "auth_account_not_found",
		    "Authenticated account does not exist");
	r->ctx->who.account_no = 1;
	return 0;
}

#define DEMO .auth = AUTH_PUBLIC, .tag = "demo"
static const struct route rows[] = {
	{ METHOD_GET, "/ping", ping, DEMO, .summary = "answers", .answer = ping_fields },
	{ METHOD_GET, "/health", ping, DEMO, .summary = "is alive" },
	{ METHOD_POST, "/echo", echo, DEMO, .body = echo_fields, .answer = echo_fields, .status = 201,
	    .summary = "says it again" },
	{ METHOD_POST, "/private/echo", echo, .auth = AUTH_ACCOUNT, .tag = "demo", .body = echo_fields,
	    .answer = echo_fields, .summary = "says it again to those it knows" },
	{ METHOD_PATCH, "/private/{id}", item, .auth = AUTH_ADMIN, .tag = "demo", .body = echo_fields,
	    .summary = "for administrators" },
	{ METHOD_POST, "/bytes", bytes, DEMO, .flags = ROUTE_BODY_BYTES, .max_body = 32u << 20,
	    .summary = "counts bytes" },
	{ METHOD_GET, "/big", big, DEMO, .query = big_query, .answer_kind = ANSWER_FILE,
	    .summary = "a file" },
	{ METHOD_GET, "/items/{id}", item, DEMO, .summary = "names itself" },
	{ METHOD_POST, "/items/{id}/touch", empty, DEMO, .answer_kind = ANSWER_EMPTY, .status = 204,
	    .summary = "does nothing" },
	{ METHOD_GET, "/refuse", refuse, DEMO, .query = refuse_query, .summary = "fails as asked" },
	{ METHOD_POST, "/crash", crash, DEMO, .summary = "kills the worker" },
	{ METHOD_GET, "/silent", silent, DEMO, .summary = "forgets to answer" },
	{ METHOD_GET, "/stats", stats, DEMO, .summary = "counters of the worker that answers" },
	{ METHOD_GET, "/slow", slow, DEMO, .query = slow_query, .flags = ROUTE_LONG, .summary = "waits" },
	{ METHOD_GET, "/stream", stream, DEMO, .query = stream_query, .flags = ROUTE_LONG,
	    .answer_kind = ANSWER_EVENTS, .summary = "speaks" },
	{ METHOD_GET, "/resume", resume, DEMO, .query = resume_query, .answer_kind = ANSWER_EVENTS,
	    .summary = "listens again" },
	{ METHOD_GET, "/openapi.json", openapi, DEMO, .answer_kind = ANSWER_BARE,
	    .summary = "this document" },
	{ .path = NULL },
};

int
app_prepare(void)
{
	return 0;
}

int
app_start(struct worker *w)
{
	const struct route_table table = { rows };
	struct demo *d = arena_new(w->arena, struct demo);
	struct server_app app = { .state = d, .authenticate = authenticate, .enter = enter };
	const char *why;

	d->w = w;
	w->app = d;
	d->router = router_create(w->arena, &table, 1, &why);
	if (d->router == NULL) {
		log_error("demo.routes", "%s", why);
		return -1;
	}
	d->openapi = openapi_document(w->arena, d->router, "0");
	w->server_conf.version = "0";
	w->server = server_create(w->arena, w->loop, d->router, &w->server_conf, &app);
	return 0;
}

void
app_cancel(struct worker *w)
{
	struct demo *d = w->app;

	atomic_store(&d->cancel, true);
}

void
app_stop(struct worker *w)
{
	w->app = NULL;
}

int
main(int argc, char **argv)
{
	return master_main(argc, argv);
}
