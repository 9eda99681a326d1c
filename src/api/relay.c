#include "api/relay.h"

#include "peer/peer.h"
#include "stream/stream.h"
#include "turn/turn.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define AGAIN_MS 500

/* Loop thread: a connection that another worker was asked for becomes a reader here. */
static bool
adopt(void *arg, const struct peer_reader *r, int fd)
{
	struct app *app = arg;
	struct stream *s = stream_find(r->run_no);

	if (s == NULL)
		return false;
	server_adopt(app->server,
	    &(struct server_adopted){ .fd = fd, .request_id = r->request_id, .keep = r->keep, .observer = r->observer, .from = { r->event, r->text, r->reasoning } },
	    s);
	stream_release(s);
	return true;
}

static bool
cancel(void *arg, int64_t run_no)
{
	struct app *app = arg;

	return turns_cancel(app->turns, run_no, TURN_CANCELLED);
}

void
relay_start(struct app *app)
{
	const struct peer_handlers h = { .arg = app, .attach = adopt, .cancel = cancel };
	const char *why = NULL;

	if (app->server == NULL)
		return;
	app->peer = peer_create(app->arena, app->loop, app->set->listen_dir, app->worker, &h, &why);
	if (app->peer == NULL) {
		log_warn("relay.not_started", "reason=\"%s\"", why);
		app->peer = peer_asker(app->arena, app->set->listen_dir, app->worker);
	}
}

void
relay_stop(struct app *app)
{
	peer_destroy(app->peer);
}

/* ---- asking ---- */

bool
relay_near(const struct app *app, struct str worker)
{
	struct str own = str_c(app->worker);
	size_t host = own.n;

	while (host > 0 && own.p[host - 1] != '/')
		host--;
	return worker.n > host && str_starts(worker, str_sub(own, 0, host));
}

struct offer {
	const struct app *app;
	const char *worker;
	struct peer_reader reader;
};

static int
offer(void *arg, int fd, uint16_t id, bool keep)
{
	struct offer *o = arg;

	o->reader.request_id = id;
	o->reader.keep = keep;
	return peer_attach(o->app->peer, o->worker, &o->reader, fd);
}

int
relay_stream(struct request *r, struct str worker, int64_t run_no, struct stream_pos from)
{
	struct app *app = app_of(r);
	struct offer o = { app, arena_strdup(r->ctx->a, worker), { .run_no = run_no, .event = from.event, .text = from.text, .reasoning = from.reasoning } };

	if (!relay_near(app, worker) || str_is(worker, app->worker))
		return -1;
	return reply_stream_elsewhere(r, offer, &o);
}

int
relay_cancel(const struct app *app, struct str worker, int64_t run_no)
{
	char name[256];

	if (worker.n >= sizeof(name))
		return -1;
	memcpy(name, worker.p, worker.n);
	name[worker.n] = '\0';
	return peer_cancel(app->peer, name, run_no);
}

/* ---- waiting: a reader that listens for the end only ---- */

struct waiter {
	pthread_mutex_t lock;
	int fd; /* our end; -1 when the wait is over */
};

/* Loop thread: the client has left. */
static void
wait_ends(void *arg)
{
	struct waiter *w = arg;

	pthread_mutex_lock(&w->lock);
	if (w->fd >= 0)
		shutdown(w->fd, SHUT_RDWR);
	pthread_mutex_unlock(&w->lock);
}

struct adoption {
	struct app *app;
	struct stream *stream;
	int fd;
};

static void
adopt_own(void *arg)
{
	struct adoption *a = arg;

	server_adopt(a->app->server, &(struct server_adopted){ .fd = a->fd, .request_id = 1, .from = STREAM_AT_END }, a->stream);
	stream_release(a->stream);
	free(a);
}

/* Gives the other end to the stream of the run. False: nobody here has it, and the end is still ours. */
static bool
listen_for_end(struct request *r, struct str worker, int64_t run_no, int fd)
{
	const struct peer_reader reader = { .run_no = run_no, .event = UINT32_MAX, .text = UINT32_MAX, .reasoning = UINT32_MAX, .request_id = 1 };
	struct app *app = app_of(r);
	struct stream *s = stream_find(run_no);
	struct adoption *a;

	if (s == NULL) {
		if (peer_attach(app->peer, arena_strdup(r->ctx->a, worker), &reader, fd) < 0)
			return false;
		close(fd);
		return true;
	}
	a = malloc(sizeof(*a));
	if (a == NULL)
		abort();
	*a = (struct adoption){ app, s, fd };
	loop_post(app->loop, adopt_own, a);
	return true;
}

void
relay_wait(struct request *r, struct str worker, int64_t run_no)
{
	struct waiter *w = arena_new(r->ctx->a, struct waiter); /* as long as the request: the loop may still call */
	char drop[4096];
	int fds[2];
	ssize_t n;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0) {
		nanosleep(&(struct timespec){ 0, AGAIN_MS * 1000000L }, NULL);
		return;
	}
	pthread_mutex_init(&w->lock, NULL);
	w->fd = fds[0];
	request_on_deserted(r, wait_ends, w);
	if (listen_for_end(r, worker, run_no, fds[1])) {
		do
			n = read(fds[0], drop, sizeof(drop));
		while (n > 0 || (n < 0 && errno == EINTR));
	} else {
		close(fds[1]);
		nanosleep(&(struct timespec){ 0, AGAIN_MS * 1000000L }, NULL);
	}
	pthread_mutex_lock(&w->lock);
	close(w->fd);
	w->fd = -1;
	pthread_mutex_unlock(&w->lock);
}
