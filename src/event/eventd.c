/* eventd: see eventd.h. */
#include "event/eventd_private.h"

#include "base/log.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#define TICK_MS 1000

static void
tick(void *arg)
{
	struct eventd *e = arg;

	e->tick++;
	clients_tick(e);
	hub_tick(e);
	live_tick(e);
	loop_timer(e->loop, TICK_MS, tick, e);
}

struct eventd *
eventd_create(struct arena *a, struct loop *l, const struct eventd_conf *conf)
{
	struct eventd *e = arena_new(a, struct eventd);

	e->arena = a;
	e->loop = l;
	e->conf = *conf;
	e->wake_fd = -1;
	e->scratch = arena_create("scratch", 0);
	if (helpers_start(&e->reader, e, 1) < 0 || helpers_start(&e->others, e, 2) < 0)
		return NULL;
	if (loop_watch(l, conf->listen_fd, EPOLLIN, clients_accept, e) < 0)
		return NULL;
	loop_timer(l, TICK_MS, tick, e);
	return e;
}

static void
drain_over(void *arg)
{
	struct eventd *e = arg;
	void (*done)(void *) = e->drained;

	e->drain_timer = 0;
	e->drained = NULL;
	while (e->clients)
		client_close(e->clients);
	if (done)
		done(e->drained_arg);
}

void
eventd_drain(struct eventd *e, enum ws_code code, int max_ms, void (*done)(void *), void *arg)
{
	struct client *next;

	if (e->draining)
		return;
	e->draining = true;
	e->drained = done;
	e->drained_arg = arg;
	loop_unwatch(e->loop, e->conf.listen_fd);
	log_info("event.drain", "listeners=%d", e->n_open);
	e->drain_timer = loop_timer(e->loop, e->n_clients > 0 ? max_ms : 0, drain_over, e);
	for (struct client *c = e->clients; c; c = next) {
		next = c->next;
		client_bye(c, code, code == WS_RESTART ? "the server starts anew: come back" : "the server is stopping");
	}
}

void
eventd_destroy(struct eventd *e)
{
	live_stop(e);
	helpers_stop(&e->reader);
	helpers_stop(&e->others);
	loop_flush(e->loop);
	arena_destroy(&e->scratch);
}
