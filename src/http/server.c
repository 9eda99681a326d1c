/*
 * server: connections and request threads of a worker process. See server.h and exchange.h.
 *
 * Idle connections wait in an epoll set of their own (the park), and the request threads wait on it
 * directly: a short request never passes through the loop. Whoever takes the last idle thread's place
 * starts the next one, up to the cap; idle threads beyond a few leave after a while. Since requests
 * of routes that wait for a model can only take threads_max - threads_reserved threads, there is
 * always one for short requests.
 */
#include "exchange.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define IDLE_MS 10000 /* an idle thread leaves after this … */
#define IDLE_KEEP 4   /* … unless so few are left */
#define TICK_MS 1000
#define DRAIN_TICK_MS 20
#define READ_TIMEOUT 30 /* seconds: the web server sends a whole request at once */
#define WRITE_TIMEOUT 60
#define ARENA_CHUNK (8u << 10)

static void *thread_main(void *arg);

/* Under s->lock: one more idle thread, if the system gives one. */
static void
thread_start(struct server *s)
{
	pthread_attr_t attr;
	pthread_t th;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, (size_t)s->conf.thread_stack);
	if (pthread_create(&th, &attr, thread_main, s) == 0) {
		s->threads++;
		s->idle++;
	} else if (s->threads == 0) {
		fputs("server: no thread can be started\n", stderr);
		abort();
	}
	pthread_attr_destroy(&attr);
}

/* See server.h. */
struct server *
server_create(struct arena *a, struct loop *l, const struct router *rt, const struct server_conf *conf,
    const struct server_app *app)
{
	struct server *s = arena_new(a, struct server);
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = NULL };

	fcgi_setup();
	s->loop = l;
	s->router = rt;
	s->conf = *conf;
	s->app = *app;
	s->scratch = arena_create("events", 64u << 10);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->ended, NULL);
	s->park = epoll_create1(EPOLL_CLOEXEC);
	s->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->park < 0 || s->stop_fd < 0 || epoll_ctl(s->park, EPOLL_CTL_ADD, s->stop_fd, &ev) < 0) {
		perror("server: epoll");
		abort();
	}
	return s;
}

/* A connection whose holder is the caller. */
struct http_conn *
conn_create(struct server *s, int fd)
{
	const struct timeval in = { .tv_sec = READ_TIMEOUT }, out = { .tv_sec = WRITE_TIMEOUT };
	struct http_conn *c = calloc(1, sizeof(*c));

	if (c == NULL) {
		fputs("server: out of memory\n", stderr);
		abort();
	}
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &in, sizeof(in));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &out, sizeof(out));
	c->server = s;
	c->fd = fd;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->quiet, NULL);
	pthread_mutex_lock(&s->lock);
	c->next = s->conns;
	if (c->next != NULL)
		c->next->prev = c;
	s->conns = c;
	s->n_conns++;
	pthread_mutex_unlock(&s->lock);
	return c;
}

/* Ends the connection. By its holder, any thread; the loop does not watch it any more. */
void
conn_close(struct http_conn *c)
{
	struct server *s = c->server;

	if (c->fd >= 0) {
		if (c->in_park) /* another process may share the socket: closing alone would not take it out
				 */
			epoll_ctl(s->park, EPOLL_CTL_DEL, c->fd, NULL);
		close(c->fd);
	}
	pthread_mutex_lock(&s->lock);
	if (c->prev != NULL)
		c->prev->next = c->next;
	else
		s->conns = c->next;
	if (c->next != NULL)
		c->next->prev = c->prev;
	s->n_conns--;
	pthread_mutex_unlock(&s->lock);
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->quiet);
	free(c);
}

/*
 * Under s->lock, which whoever takes the connection next locks too: so all that the holder did to it
 * has happened before. False: it cannot be watched, and is still the caller's.
 */
static bool
park_locked(struct http_conn *c)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT, .data.ptr = c };
	int op = c->in_park ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

	c->in_park = true;
	return epoll_ctl(c->server->park, op, c->fd, &ev) == 0;
}

/* Gives the connection up until its next request. By its holder, who must not touch it afterwards. */
void
conn_park(struct http_conn *c)
{
	struct server *s = c->server;
	bool parked;

	pthread_mutex_lock(&s->lock);
	parked = park_locked(c);
	pthread_mutex_unlock(&s->lock);
	if (!parked)
		conn_close(c);
}

/* Takes one of the places for requests that wait for a model. */
bool
server_take_long(struct server *s)
{
	int most = s->conf.threads_max - s->conf.threads_reserved;
	bool ok;

	pthread_mutex_lock(&s->lock);
	ok = s->longs < (most < s->conf.streams_max ? most : s->conf.streams_max);
	if (ok)
		s->longs++;
	else
		s->refused++;
	pthread_mutex_unlock(&s->lock);
	return ok;
}

/* False if the peer has closed the parked connection. */
static bool
has_request(const struct http_conn *c)
{
	char byte;

	return recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
}

/* Serves the request that has come; then the thread is idle again. */
static void
serve_conn(struct server *s, struct http_conn *c, struct arena *a, uint32_t events)
{
	enum served rc = SERVED_CLOSE;

	if (!(events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) || has_request(c))
		rc = serve(c, a);
	arena_reset(a);
	pthread_mutex_lock(&s->lock);
	if (rc == SERVED_KEEP && !park_locked(c))
		rc = SERVED_CLOSE;
	s->busy--;
	s->idle++;
	pthread_mutex_unlock(&s->lock);
	if (rc == SERVED_CLOSE)
		conn_close(c);
}

/* Under s->lock: what a thread does after waiting. False: it leaves. */
static bool
thread_take(struct server *s, int n)
{
	if (s->stopping || (n == 0 && s->idle > IDLE_KEEP)) {
		s->idle--;
		s->threads--;
		pthread_cond_signal(&s->ended);
		return false;
	}
	if (n <= 0)
		return true;
	s->idle--;
	s->busy++;
	s->requests++;
	if (s->idle == 0 && s->threads < s->conf.threads_max)
		thread_start(s);
	return true;
}

static void *
thread_main(void *arg)
{
	struct server *s = arg;
	struct arena *a = arena_create("request", ARENA_CHUNK);
	bool stay = true;

	while (stay) {
		struct epoll_event ev;
		int n = epoll_wait(s->park, &ev, 1, IDLE_MS);

		if (n == 1 && ev.data.ptr == NULL)
			n = 0; /* the stop signal */
		pthread_mutex_lock(&s->lock);
		stay = thread_take(s, n);
		if (!stay || n <= 0) {
			if (!stay)
				arena_destroy(&a);
			pthread_mutex_unlock(&s->lock);
			continue;
		}
		pthread_mutex_unlock(&s->lock);
		serve_conn(s, ev.data.ptr, a, ev.events);
	}
	return NULL;
}

static void
server_accept(void *arg, uint32_t events)
{
	struct server *s = arg;
	int fd;

	(void)events;
	/* A bounded number at a time: the loop has streams to serve. */
	for (int i = 0; i < 64; i++) {
		fd = accept4(s->conf.listen_fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			return; /* EAGAIN; or no descriptors left: the backlog waits */
		conn_park(conn_create(s, fd));
	}
}

static void
server_tick(void *arg)
{
	struct server *s = arg;

	events_tick(s);
	s->tick = loop_timer(s->loop, TICK_MS, server_tick, s);
}

/* See server.h. */
void
server_start(struct server *s)
{
	pthread_mutex_lock(&s->lock);
	thread_start(s);
	pthread_mutex_unlock(&s->lock);
	if (loop_watch(s->loop, s->conf.listen_fd, EPOLLIN, server_accept, s) < 0) {
		perror("server: listen socket");
		abort();
	}
	s->tick = loop_timer(s->loop, TICK_MS, server_tick, s);
}

/* See server.h. */
void
server_stats(struct server *s, struct server_stats *out)
{
	pthread_mutex_lock(&s->lock);
	*out = (struct server_stats){
		.threads = s->threads,
		.busy = s->busy,
		.longs = s->longs,
		.streams = atomic_load(&s->n_events),
		.connections = s->n_conns,
		.requests = s->requests,
		.refused = s->refused,
	};
	pthread_mutex_unlock(&s->lock);
}

static void
drain_look(void *arg)
{
	struct server *s = arg;
	int64_t passed = loop_now(s->loop) - s->drain_begin;
	struct server_stats st;

	server_stats(s, &st);
	if (passed >= s->drain_bound)
		events_abort(s);
	if (passed >= s->drain_bound || (passed >= s->drain_linger && st.busy == 0 && st.streams == 0))
		s->drain_done(s->drain_arg);
	else
		loop_timer(s->loop, DRAIN_TICK_MS, drain_look, s);
}

/* See server.h. */
void
server_drain(struct server *s, int64_t linger_ms, int64_t bound_ms, void (*done)(void *), void *arg)
{
	if (atomic_exchange(&s->draining, true)) {
		int64_t passed = loop_now(s->loop) - s->drain_begin;

		s->drain_linger = passed + linger_ms < s->drain_linger ? passed + linger_ms : s->drain_linger;
		s->drain_bound = passed + bound_ms < s->drain_bound ? passed + bound_ms : s->drain_bound;
		return;
	}
	loop_unwatch(s->loop, s->conf.listen_fd);
	close(s->conf.listen_fd);
	s->drain_begin = loop_now(s->loop);
	s->drain_linger = linger_ms;
	s->drain_bound = bound_ms;
	s->drain_done = done;
	s->drain_arg = arg;
	drain_look(s);
}

/* See server.h. */
void
server_adopt(struct server *s, const struct server_adopted *a, struct stream *st)
{
	unsigned how = (a->keep ? EVENTS_KEEP : 0u) | (a->observer ? EVENTS_OBSERVER : 0u);

	stream_hold(st);
	events_begin(conn_create(s, a->fd), a->request_id, how, STR(""), st, a->from);
}

static bool
threads_ended(struct server *s, int wait_ms)
{
	const uint64_t one = 1;
	struct timespec until;
	bool ended;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += wait_ms / 1000;
	until.tv_nsec += wait_ms % 1000 * 1000000L;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000L;
	}
	pthread_mutex_lock(&s->lock);
	s->stopping = true;
	if (write(s->stop_fd, &one, sizeof(one)) < 0)
		abort(); /* an eventfd takes one more than nothing */
	while (s->threads > 0 && pthread_cond_timedwait(&s->ended, &s->lock, &until) == 0)
		;
	ended = s->threads == 0;
	pthread_mutex_unlock(&s->lock);
	return ended;
}

/* See server.h. */
bool
server_destroy(struct server *s, int wait_ms)
{
	if (!threads_ended(s, wait_ms))
		return false;
	loop_timer_cancel(s->loop, s->tick);
	events_abort(s);
	while (s->conns != NULL)
		conn_close(s->conns);
	close(s->park);
	close(s->stop_fd);
	arena_destroy(&s->scratch);
	return true;
}
