/*
 * worker: what a worker process is, whatever application it serves: a loop, a listen socket, signals,
 * the end. The application is linked in: app_start and its two companions below.
 */
#ifndef WORKER_H
#define WORKER_H

#include "http/server.h"
#include "settings.h"

#include <sys/types.h>

struct worker {
	struct arena *arena; /* the process's */
	const struct settings *settings;
	struct loop *loop;
	int slot, generation;
	const char *name; /* <host>/<generation>-<slot> */
	int listen_fd;
	struct server *server;          /* made by app_start from server_conf */
	struct server_conf server_conf; /* filled from the settings; `version` is the application's */
	void *app;                      /* the application's own */

	pid_t master;
	int ready_fd; /* to the master; -1 once told */
	int signal_fd;
	bool draining;
};

/* The whole life of a worker process after the fork; its exit status. */
int worker_main(struct worker *w);

/* The application, in the master before the first fork: tables that all workers share. No threads, no descriptors. -1 = logged why. */
int app_prepare(void);
/* The application in a worker. All on the loop thread. */
int app_start(struct worker *w); /* sets w->server; -1 = cannot serve, and has logged why */
void app_cancel(
    struct worker *w);           /* drain_timeout has passed: cancel what still runs, it has 5 s to say so */
void app_stop(struct worker *w); /* after the last request; frees what app_start made */

#endif
