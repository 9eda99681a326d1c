/*
 * eventd: the listeners, and what they are told. One loop thread owns every connection; whatever waits (the database, the
 * workers' sockets) is done by helper threads, whose answers come back as posted calls.
 */
#ifndef EVENT_EVENTD_H
#define EVENT_EVENTD_H

#include "auth/auth.h"
#include "event/ws.h"
#include "loop/loop.h"
#include "peer/peer.h"

struct eventd_conf {
	int listen_fd;
	const char *dir;                  /* of the workers' sockets, and of the one that wakes us */
	const char *const *cors_origins;  /* NULL-terminated; "*" = any */
	struct auth *auth;
	struct db *db, *db_sys;
	struct peer *peer;
	int clients_max;
};

struct eventd;

/* Begins to accept. Lives in the process's arena; NULL with errno if its threads cannot be had. */
struct eventd *eventd_create(struct arena *a, struct loop *l, const struct eventd_conf *conf);
/* Says goodbye to everybody; done(arg) when all have it, after max_ms at the latest. No new ones come. Loop thread. */
void eventd_drain(struct eventd *e, enum ws_code code, int max_ms, void (*done)(void *), void *arg);
void eventd_destroy(struct eventd *e); /* after the loop: ends the helpers */

#endif
