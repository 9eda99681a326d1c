/*
 * db: the process's connections to PostgreSQL and what a request does with them. A connection is
 * checked out for one unit of database work (db_tx) and given back before anything slow happens,
 * above all before a model call. libpq is known here and nowhere else.
 *
 * Every statement is named, lives in sql/queries/<topic>.sql and is prepared on first use per
 * connection. Queries are sent in a pipeline and their results are read on demand: write the
 * db_query calls of independent reads first, then consume them; they share a round trip.
 */
#ifndef DB_DB_H
#define DB_DB_H

#include "base/ctx.h"

enum stmt_id {
#define STMT(name, guarded, sql) STMT_##name,
#include "db/stmt.def"
#undef STMT
	STMT__COUNT
};

enum db_role { DB_APP, DB_SYS, DB_OWNER };

struct db_conf {
	const char *conninfo;       /* libpq connection string of the role */
	const char *password;       /* from a secret file; NULL = in conninfo or none needed */
	int connections;            /* per process */
	int checkout_ms;            /* wait for a free connection, then ERR_UNAVAILABLE */
	int statement_ms, lock_ms;
	bool prepare;               /* off behind a transaction pooler */
};

struct db *db_create(const struct db_conf *conf, enum db_role role); /* after fork; connects lazily */
void db_destroy(struct db **db);
/* Readiness: one `SELECT 1`, answered from memory for max_age_ms. */
bool db_alive(struct db *db, int max_age_ms);
/*
 * Asks before serving. -1 with the reason in c->err: ERR_UNAVAILABLE = no answer, try again later;
 * ERR_INTERNAL `database_refused` = a login that row-level security does not hold (superuser,
 * BYPASSRLS, owner), a schema of another version, a table without a policy: do not start.
 */
int db_startup_check(struct ctx *c);

/* How this request enters its account (ctx.cred). Entering is the first statement of every pipeline. */
enum cred_kind { CRED_ACCOUNT_ID, CRED_API_KEY };
struct credential {
	enum cred_kind kind;
	const char *value;          /* account id, or hex of the key's HMAC */
	int64_t expires;            /* ms; 0 = nobody said when */
};

enum db_mode {
	DB_READ,  /* one implicit transaction per pipeline, no BEGIN */
	DB_WRITE, /* BEGIN … COMMIT */
	DB_SYSTEM /* BEGIN … COMMIT without an account: only on a DB_SYS or DB_OWNER pool */
};

/*
 * Checks a connection out, enters the account of c->cred, runs fn, commits (fn 0) or rolls back
 * (fn -1), gives the connection back. fn NULL: nothing between. Nested calls join the outer unit.
 * Fills c->who (when the first answer has been read). fn may run more than once: on a deadlock, and
 * when the connection was lost (a read only if it has seen no answer yet, a write if COMMIT was not
 * sent). So fn sets its outputs from the start (sb_truncate) and has no effect but in the database.
 * Errors: ERR_UNAUTHENTICATED/ERR_FORBIDDEN from entering, ERR_UNAVAILABLE (no database, no free
 * connection, time-outs), ERR_CONFLICT (constraint, by the table in db/errors.c), ERR_INTERNAL.
 */
int db_tx(struct ctx *c, enum db_mode mode, int (*fn)(struct ctx *, void *), void *arg);
/* Only enters: fills c->who (used when a request fails before it touched the database). */
int db_enter(struct ctx *c);

/* Parameters. All values travel as text, typed by the statement. */
enum param_kind { PARAM_NULL, PARAM_STR, PARAM_INT, PARAM_BOOL, PARAM_BYTES, PARAM_DOUBLE };
struct param {
	enum param_kind kind;
	struct str s;
	int64_t i;
	double d;
};
#define P_NULL ((struct param){ .kind = PARAM_NULL })
#define P_STR(v) ((struct param){ .kind = PARAM_STR, .s = (v) })          /* absent slice = NULL */
#define P_C(v) ((struct param){ .kind = PARAM_STR, .s = str_c(v) })       /* NULL = NULL */
#define P_INT(v) ((struct param){ .kind = PARAM_INT, .i = (v) })
#define P_BOOL(v) ((struct param){ .kind = PARAM_BOOL, .i = (v) })
#define P_DOUBLE(v) ((struct param){ .kind = PARAM_DOUBLE, .d = (v) })
#define P_BYTES(v) ((struct param){ .kind = PARAM_BYTES, .s = (v) })      /* bytea, sent binary */

/* The registered name and text, for tools and tests. */
const char *db_stmt_name(enum stmt_id id);
const char *db_stmt_sql(enum stmt_id id);

/* Sends a statement inside db_tx; the result is fetched when first read. Never NULL (errors show in rows_next). */
struct rows *db_send(struct ctx *c, enum stmt_id id, const struct param *params, size_t n);
/* db_query(c, STMT_x, P_STR(id), P_INT(n)); without parameters: db_query0(c, STMT_x) */
#define db_query(c, id, ...) \
	db_send((c), (id), (const struct param[]){ __VA_ARGS__ }, \
	    sizeof((const struct param[]){ __VA_ARGS__ }) / sizeof(struct param))
#define db_query0(c, id) db_send((c), (id), NULL, 0)
/* For commands: sends, reads, returns rows affected or -1. */
#define db_exec(c, id, ...) rows_affected(db_query((c), (id), __VA_ARGS__))
/* Generated text of db/resource; prepared on second use, bounded LRU per connection. */
struct rows *db_send_text(struct ctx *c, const char *sql, const struct param *params, size_t n);

int rows_next(struct rows *rs);                        /* 1 row, 0 end, -1 error (recorded) */
int64_t rows_affected(struct rows *rs);                /* of a command; -1 error */
int64_t rows_count(struct rows *rs);                   /* rows in all; -1 error */
struct str row_str(const struct rows *rs, int col);    /* absent for NULL; lives as long as the ctx's arena */
bool row_null(const struct rows *rs, int col);
int64_t row_int(const struct rows *rs, int col);       /* 0 for NULL */
bool row_bool(const struct rows *rs, int col);
double row_double(const struct rows *rs, int col);
struct str row_bytes(const struct rows *rs, int col, struct arena *a); /* bytea decoded */

#endif
