/*
 * ctx: the only thing that travels. One per request or job; everything it points to lives
 * in its arena or longer.
 */
#ifndef BASE_CTX_H
#define BASE_CTX_H

#include "arena.h"
#include "err.h"
#include "log.h"

struct db;      /* the process's database pool (db/db.h) */
struct db_conn; /* the connection checked out just now, or NULL */

enum role { ROLE_USER, ROLE_ADMIN };

/* Who asks, as the account row said when this request entered. */
struct who {
	int32_t account_no;      /* 0 = not entered yet */
	const char *account_id;
	enum role role;
	bool disabled;
};

struct ctx {
	struct arena *a;
	struct err err;
	int64_t now;             /* ms, read once when the request began */
	const char *rid;         /* request id */
	const char *trace;       /* traceparent for whoever is asked on its behalf; NULL = none */
	struct str tracestate;   /* as it came, to be passed on; absent = none */
	struct who who;
	struct db *db;
	struct db_conn *conn;    /* owned by db/tx.c */
	void *cred;              /* how to enter: struct credential of auth/, opaque here */
};

#endif
