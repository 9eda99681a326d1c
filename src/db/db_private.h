/*
 * db_private: what the files of src/db share. Nobody else includes it, and libpq ends here.
 *
 * A connection belongs to one thread from conn_checkout to conn_release; only struct db is shared,
 * under its mutex.
 */
#ifndef DB_DB_PRIVATE_H
#define DB_DB_PRIVATE_H

#include "db.h"

#include <libpq-fe.h>
#include <pthread.h>
#include <stdatomic.h>

#define CONN_TEXTS 64 /* generated statements a connection remembers */
#define PING_MS 1000  /* a readiness probe waits no longer for a connection */
#define DOWN_MS 200   /* after a failed connect nobody tries again for so long */
#define TX_TRIES 6    /* runs of one unit that meets deadlocks */
#define SPARE_MS 5000 /* beyond statement_ms before a silent server counts as lost */

/* Whether a statement is prepared on this connection. SENT: its prepare waits in the pipeline. */
enum prep_state { PREP_NO, PREP_SENT, PREP_YES };

/* A generated statement, known by two hashes of its text. */
struct text_slot {
	uint64_t hash[2];
	uint64_t used_at;    /* of conn.clock; 0 = free */
	unsigned serial;     /* name "g<serial>", 0 = not prepared */
	unsigned char state; /* enum prep_state */
};

/* How the unit of work on a connection stands. The first bad answer decides. */
enum unit_state {
	UNIT_FINE,
	UNIT_FAILED, /* an error that another try would meet again */
	UNIT_RETRY,  /* serialization failure, deadlock */
	UNIT_STALE,  /* lost or outdated connection: another one may do */
};

enum item_kind { ITEM_QUERY, ITEM_FRAME /* BEGIN … */, ITEM_ENTER, ITEM_PREPARE, ITEM_DROP };

/* One command in a pipeline and, once answered, its result. */
struct rows {
	struct rows *next;
	struct ctx *c;
	struct arena *a;  /* the ctx's when it was asked: the answer lies there */
	const char *what; /* statement name, for the log */
	PGresult *res;             /* NULL: a small answer, whose cells were copied */
	const struct str *cells;   /* row by row */
	int64_t affected;
	int n, width;              /* rows, columns */
	unsigned char *state; /* ITEM_PREPARE: becomes PREP_YES or PREP_NO */
	enum item_kind kind;
	int at;                    /* current row */
	bool answered, bad;
};

struct db_conn {
	struct db *db;
	PGconn *pg; /* NULL: not connected */
	struct db_conn *idle_next;
	struct rows *head, **tail; /* sent and not answered */
	enum unit_state unit;
	bool entered;     /* this pipeline has begun, with the enter statement */
	bool begun;       /* BEGIN was sent */
	bool in_pipeline; /* something was sent since the last Sync */
	bool commit_sent;
	bool known;     /* the enter statement has answered: the account may work */
	bool unguarded; /* something was sent that would also run without an account */
	bool recycle;   /* registry in doubt: close on release */
	enum db_mode mode;
	unsigned answers; /* results of the unit that fn may have seen */
	unsigned serial;
	unsigned trips;        /* round trips since the connection was made, for tests */
	uint64_t clock;
	unsigned char prepared[STMT__COUNT];
	struct text_slot texts[CONN_TEXTS];
};

struct db {
	struct arena *a;
	struct db_conf conf;
	enum db_role role;
	pthread_mutex_t mu;
	pthread_cond_t freed;
	struct db_conn *conns; /* conf.connections */
	struct db_conn *idle;  /* newest first: the warm ones stay warm */
	int64_t down_until;    /* tm_mono, under mu */
	char down_why[256];
	bool probing;
	_Atomic int64_t ok_at; /* tm_mono of the last answer; 0 = none since the last loss */
};

extern const char *const stmt_name[];
extern const char *const stmt_sql[];
extern const bool stmt_guarded[]; /* fails by itself when no account is set */

/* pool.c */
struct db_conn *conn_checkout(struct ctx *c, struct db *db, int wait_ms); /* NULL: recorded */
void conn_release(struct db_conn *k); /* closes it if it is lost or in doubt */
bool conn_lost(const struct db_conn *k);
int conn_down(struct ctx *c, const char *why); /* 503 database_unavailable; -1 */

/* pipeline.c */
struct rows *conn_send(struct db_conn *k, struct ctx *c, enum item_kind kind, enum stmt_id id,
    const struct param *params, size_t n);
struct rows *conn_send_text(
    struct db_conn *k, struct ctx *c, const char *sql, const struct param *params, size_t n);
void conn_sync(struct db_conn *k); /* ends the pipeline and reads every answer */

/* rows.c: files a good or bad answer, which is its own from now on. */
void rows_take(struct rows *rs, PGresult *res);

/* tx.c: an answer of the enter statement. */
void tx_entered(struct ctx *c, struct db_conn *k, struct rows *rs);

/* errors.c */
enum unit_state error_record(struct ctx *c, const struct rows *rs, const char *connection_text);

#endif
