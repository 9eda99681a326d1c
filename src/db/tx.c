/*
 * tx: units of database work. Opens and closes transactions, enters the account, runs a unit again
 * where that is safe. It must not know what the statements mean.
 *
 * Entering is one statement, the first of every pipeline: it finds the account (by id or key) and
 * sets tavern.account_no for the transaction. Nothing waits for its answer; what is sent behind it
 * fails by itself if the account was not set, because acct() then is an error. So an unknown or
 * disabled account can neither read nor commit, and the price is no extra round trip.
 */
#include "base/metric.h"
#include "base/rng.h"
#include "base/tm.h"
#include "db_private.h"

#include <time.h>

enum { ENTER_NO, ENTER_ID, ENTER_ROLE, ENTER_STATUS };

/* Begins a pipeline if none is open: a read enters in each, a transaction in its first. */
static void
pipeline_begin(struct ctx *c, struct db_conn *k)
{
	const struct credential *cred = c->cred;

	if (k->entered || k->unit != UNIT_FINE)
		return;
	k->entered = true;
	if (k->mode != DB_READ) {
		if (k->begun)
			return;
		k->begun = true;
		conn_send(k, c, ITEM_FRAME, STMT_tx_begin, NULL, 0);
	}
	if (k->mode != DB_SYSTEM)
		conn_send(k, c, ITEM_ENTER,
		    cred->kind == CRED_API_KEY ? STMT_enter_api_key : STMT_enter_account, &P_C(cred->value),
		    1);
}

static int
cred_unknown(struct ctx *c)
{
	const struct credential *cred = c->cred;

	if (cred->kind == CRED_API_KEY)
		return fail(c, ERR_FORBIDDEN, "auth_invalid_credentials", "invalid API key");
	return fail(c, ERR_UNAUTHENTICATED, "auth_account_not_found", "account not found");
}

void
tx_entered(struct ctx *c, struct db_conn *k, struct rows *rs)
{
	rs->at = 0;
	if (rs->n == 0) {
		c->who = (struct who){ 0 };
		cred_unknown(c);
		k->unit = UNIT_FAILED;
		return;
	}
	c->who = (struct who){
		.account_no = (int32_t)row_int(rs, ENTER_NO),
		.account_id = row_str(rs, ENTER_ID).p,
		.role = str_is(row_str(rs, ENTER_ROLE), "admin") ? ROLE_ADMIN : ROLE_USER,
		.disabled = !str_is(row_str(rs, ENTER_STATUS), "active"),
	};
	if (c->who.disabled) {
		fail(c, ERR_FORBIDDEN, "account_disabled", "account is disabled");
		k->unit = UNIT_FAILED;
		return;
	}
	k->known = true;
}

/* Remembers whether all that was sent fails by itself when the account is not set. */
static void
note_guard(struct db_conn *k, bool guarded)
{
	if (!guarded && !k->known)
		k->unguarded = true;
}

struct rows *
db_send(struct ctx *c, enum stmt_id id, const struct param *params, size_t n)
{
	pipeline_begin(c, c->conn);
	note_guard(c->conn, stmt_guarded[id]);
	return conn_send(c->conn, c, ITEM_QUERY, id, params, n);
}

struct rows *
db_send_text(struct ctx *c, const char *sql, const struct param *params, size_t n)
{
	pipeline_begin(c, c->conn);
	note_guard(c->conn, strstr(sql, "acct()") != NULL);
	return conn_send_text(c->conn, c, sql, params, n);
}

/* Ends the transaction whatever its state; a connection that does not get out of it is closed. */
static void
unit_rollback(struct ctx *c, struct db_conn *k)
{
	enum unit_state unit = k->unit;

	conn_sync(k);
	if (k->begun && !conn_lost(k) && PQtransactionStatus(k->pg) != PQTRANS_IDLE) {
		struct err err = c->err; /* what comes now is no news */

		conn_send(k, c, ITEM_FRAME, STMT_tx_rollback, NULL, 0);
		conn_sync(k);
		c->err = err;
	}
	k->unit = unit != UNIT_FINE ? unit : k->unit;
}

static int
unit_commit(struct ctx *c, struct db_conn *k)
{
	struct rows *rs;

	if (k->mode == DB_READ) {
		conn_sync(k);
		return k->unit == UNIT_FINE ? 0 : -1;
	}
	if (k->mode == DB_WRITE && k->unguarded && !k->known) {
		conn_sync(k); /* who asks must be known before this can be committed */
		if (k->unit != UNIT_FINE)
			return -1;
	}
	rs = conn_send(k, c, ITEM_FRAME, STMT_tx_commit, NULL, 0);
	k->commit_sent = true;
	conn_sync(k);
	if (k->unit == UNIT_FINE && !rs->bad && strcmp(PQcmdStatus(rs->res), "COMMIT") != 0) {
		/* A COMMIT of an aborted transaction answers ROLLBACK: an earlier error was swallowed. */
		fail(c, ERR_INTERNAL, "internal_error", "internal error");
		fail_log(c, "database: commit of an aborted transaction");
		k->unit = UNIT_FAILED;
	}
	return k->unit == UNIT_FINE ? 0 : -1;
}

static int
unit_run(struct ctx *c, struct db_conn *k, int (*fn)(struct ctx *, void *), void *arg)
{
	int rc;

	pipeline_begin(c, k);
	rc = fn ? fn(c, arg) : 0;
	if (rc == 0 && k->unit == UNIT_FINE)
		rc = unit_commit(c, k);
	else
		rc = -1;
	if (rc < 0)
		unit_rollback(c, k);
	return rc;
}

/*
 * May fn run again? A transaction that met a deadlock, or lost its connection before COMMIT was
 * sent, has left nothing behind. A read whose answers fn has already seen is not repeated: it may
 * have passed them on.
 */
static bool
unit_again(const struct db_conn *k, int try)
{
	bool untouched = k->mode == DB_READ ? k->answers == 0 : !k->commit_sent;

	if (k->unit == UNIT_RETRY)
		return try < TX_TRIES && (k->mode != DB_READ || k->answers == 0);
	return k->unit == UNIT_STALE && try < 2 && untouched;
}

/* Two that met in a deadlock should not meet again. */
static void
back_off(int try)
{
	struct timespec ts;
	uint64_t r;

	rng_system(&r, sizeof(r));
	ts.tv_sec = 0;
	ts.tv_nsec = (long)(r % (uint64_t)(4000000L << try));
	nanosleep(&ts, NULL);
}

static int
tx_refuse(struct ctx *c, const char *why)
{
	fail(c, ERR_INTERNAL, "internal_error", "internal error");
	return fail_log(c, "database: %s", why);
}

/* Programming errors that would cross accounts or lose a write. */
static int
tx_check(struct ctx *c, enum db_mode mode)
{
	if (c->db == NULL)
		return tx_refuse(c, "no pool");
	if (c->conn != NULL) {
		if (c->conn->mode == DB_READ && mode != DB_READ)
			return tx_refuse(c, "a write inside a read");
		if ((c->conn->mode == DB_SYSTEM) != (mode == DB_SYSTEM))
			return tx_refuse(c, "a unit with an account and one without are nested");
		return 0;
	}
	if (mode == DB_SYSTEM && c->db->role == DB_APP)
		return tx_refuse(c, "a system unit on the pool of the application");
	if (mode != DB_SYSTEM && c->cred == NULL)
		return tx_refuse(c, "no credential");
	return 0;
}

int
db_tx(struct ctx *c, enum db_mode mode, int (*fn)(struct ctx *, void *), void *arg)
{
	bool again;
	int rc;

	if (failed(c) || tx_check(c, mode) < 0)
		return -1;
	if (c->conn != NULL)
		return fn ? fn(c, arg) : 0;
	for (int try = 1;; try++) {
		int64_t asked = tm_mono_us(), got;
		struct db_conn *k = conn_checkout(c, c->db, c->db->conf.checkout_ms);

		got = tm_mono_us();
		metric_time(METRIC_TIME_DB_WAIT, got - asked);
		if (k == NULL)
			return -1;
		k->mode = mode;
		c->conn = k;
		metric_add(METRIC_DB_BUSY, 1);
		rc = unit_run(c, k, fn, arg);
		metric_add(METRIC_DB_BUSY, -1);
		metric_time(METRIC_TIME_DB, tm_mono_us() - got);
		c->conn = NULL;
		again = rc < 0 && unit_again(k, try);
		metric_add(again ? METRIC_DB_REPEATED : rc < 0 ? METRIC_DB_FAILED : METRIC_DB_UNITS, 1);
		if (again && k->unit == UNIT_RETRY)
			back_off(try);
		if (k->unit == UNIT_STALE)
			k->recycle = true;
		conn_release(k);
		if (!again)
			return rc;
		err_clear(c);
	}
}

int
db_enter(struct ctx *c)
{
	return db_tx(c, DB_READ, NULL, NULL);
}
