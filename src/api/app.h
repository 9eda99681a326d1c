/*
 * app: what a worker process has, made once after the fork and reached through request.app.
 * Everything here is shared by the request threads: immutable after start, or with a lock of its own.
 */
#ifndef API_APP_H
#define API_APP_H

#include "auth/auth.h"
#include "db/db.h"
#include "http/request.h"
#include "http/server.h"
#include "llm/llm.h"
#include "settings.h"

struct app {
	struct arena *arena;          /* the process's */
	const struct settings *set;
	struct loop *loop;
	struct db *db;                /* tavern_app, under row-level security */
	struct db *db_sys;            /* tavern_sys: persister, sweeper */
	struct llm *llm;
	struct auth *auth;
	struct router *router;
	struct server *server;
	struct peer *peer;            /* the other workers of this host; asks and is asked */
	struct turns *turns;          /* running turns, compiled asset cache (turn/turn.h) */
	const char *worker;           /* <host>/<generation>-<slot> */
	struct str openapi;           /* printed once */
};

static inline struct app *
app_of(const struct request *r)
{
	return r->app;
}

/* Every route of the program; one table per file, named api_<file>_routes. */
extern const struct route_table api_tables[];
extern const size_t api_tables_n;

#endif
