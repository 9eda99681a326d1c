/*
 * pool: the process's connections of one role. Connects on first need, hands the warmest idle
 * connection out, closes what came back broken. It must not know transactions.
 */
#include "base/metric.h"
#include "base/sb.h"
#include "base/tm.h"
#include "db_private.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

struct db *
db_create(const struct db_conf *conf, enum db_role role)
{
	struct arena *a = arena_create("db", 0);
	struct db *db = arena_new(a, struct db);
	pthread_condattr_t attr;

	assert(conf->connections > 0 && conf->conninfo != NULL);
	db->a = a;
	db->conf = *conf;
	db->conf.conninfo = arena_strdup(a, str_c(conf->conninfo));
	db->conf.password = conf->password ? arena_strdup(a, str_c(conf->password)) : NULL;
	db->role = role;
	pthread_mutex_init(&db->mu, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&db->freed, &attr);
	pthread_condattr_destroy(&attr);
	db->conns = arena_array(a, struct db_conn, (size_t)conf->connections);
	for (int i = conf->connections - 1; i >= 0; i--) {
		db->conns[i].db = db;
		db->conns[i].idle_next = db->idle;
		db->idle = &db->conns[i];
	}
	return db;
}

static void
conn_close(struct db_conn *k)
{
	PQfinish(k->pg);
	k->pg = NULL;
	memset(k->prepared, 0, sizeof(k->prepared));
	memset(k->texts, 0, sizeof(k->texts));
	k->serial = 0;
	k->recycle = false;
}

void
db_destroy(struct db **db)
{
	if (*db == NULL)
		return;
	for (int i = 0; i < (*db)->conf.connections; i++)
		conn_close(&(*db)->conns[i]);
	pthread_cond_destroy(&(*db)->freed);
	pthread_mutex_destroy(&(*db)->mu);
	arena_destroy(&(struct arena *){ (*db)->a });
	*db = NULL;
}

int
conn_down(struct ctx *c, const char *why)
{
	fail(c, ERR_UNAVAILABLE, "database_unavailable", "database is not available, try again");
	if (c->err.kind == ERR_UNAVAILABLE && c->err.retry_after == 0)
		c->err.retry_after = 1;
	return fail_log(c, "database: %s", why);
}

bool
conn_lost(const struct db_conn *k)
{
	return k->pg == NULL || PQstatus(k->pg) != CONNECTION_OK;
}

static void
notice_drop(void *arg, const char *text)
{
	(void)arg;
	(void)text;
}

/* Settings of the session; behind a transaction pooler the roles carry them (sql/roles.sql). */
static const char *
session_options(struct arena *a, const struct db_conf *conf)
{
	PQconninfoOption *all = PQconninfoParse(conf->conninfo, NULL);
	const char *own = NULL;
	struct sb s = sb_new(a);

	for (PQconninfoOption *o = all; o != NULL && o->keyword != NULL; o++)
		if (strcmp(o->keyword, "options") == 0)
			own = o->val;
	sb_adds(&s, own);
	if (conf->prepare)
		sb_addf(&s,
		    " -c statement_timeout=%d -c lock_timeout=%d -c idle_in_transaction_session_timeout=30000"
		    " -c plan_cache_mode=force_generic_plan -c jit=off",
		    conf->statement_ms, conf->lock_ms);
	PQconninfoFree(all);
	return sb_c(&s);
}

static int
conn_open(struct ctx *c, struct db_conn *k)
{
	static const char *const role_name[] = { "tavernd", "tavernd-sys", "tavernd-owner" };
	const struct db_conf *conf = &k->db->conf;
	/* Later keys win over earlier ones; fallback_application_name gives way to the operator's own. */
	const char *keys[] = { "connect_timeout", "keepalives_idle", "tcp_user_timeout",
		"fallback_application_name", "dbname", "client_encoding", "options", "password", NULL };
	const char *values[] = { "5", "30", "15000", role_name[k->db->role], conf->conninfo, "UTF8",
		session_options(c->a, conf), conf->password, NULL };

	k->pg = PQconnectdbParams(keys, values, 1);
	if (PQstatus(k->pg) == CONNECTION_OK && PQenterPipelineMode(k->pg) &&
	    PQsetnonblocking(k->pg, 1) == 0) {
		PQsetNoticeProcessor(k->pg, notice_drop, NULL);
		metric_add(METRIC_DB_CONNECTS, 1);
		return 0;
	}
	pthread_mutex_lock(&k->db->mu);
	k->db->down_until = tm_mono() + DOWN_MS;
	snprintf(k->db->down_why, sizeof(k->db->down_why), "%s", PQerrorMessage(k->pg));
	pthread_mutex_unlock(&k->db->mu);
	atomic_store(&k->db->ok_at, 0);
	conn_down(c, PQerrorMessage(k->pg));
	conn_close(k);
	return -1;
}

/* An idle connection on which something can be read is one that the server has closed, or is about to. */
static bool
conn_silent(struct db_conn *k)
{
	struct pollfd p = { .fd = PQsocket(k->pg), .events = POLLIN };

	if (poll(&p, 1, 0) == 0)
		return true;
	return PQconsumeInput(k->pg) && !conn_lost(k) && poll(&p, 1, 0) == 0;
}

static struct timespec
deadline_after(int ms)
{
	int64_t at = tm_mono() + ms;

	return (struct timespec){ .tv_sec = at / 1000, .tv_nsec = (at % 1000) * 1000000 };
}

static struct db_conn *
idle_take(struct ctx *c, struct db *db, int wait_ms)
{
	struct timespec until = deadline_after(wait_ms);
	struct db_conn *k;
	int rc = 0;

	pthread_mutex_lock(&db->mu);
	while (db->idle == NULL && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&db->freed, &db->mu, &until);
	k = db->idle;
	if (k != NULL)
		db->idle = k->idle_next;
	pthread_mutex_unlock(&db->mu);
	if (k == NULL) {
		fail(c, ERR_UNAVAILABLE, "database_busy", "every database connection is in use, try again");
		c->err.retry_after = c->err.retry_after ? c->err.retry_after : 1;
		fail_log(c, "database: no connection of %d free within %d ms", db->conf.connections, wait_ms);
	}
	return k;
}

static void
idle_put(struct db_conn *k)
{
	struct db *db = k->db;

	pthread_mutex_lock(&db->mu);
	k->idle_next = db->idle;
	db->idle = k;
	pthread_cond_signal(&db->freed);
	pthread_mutex_unlock(&db->mu);
}

/* True while the last connect failed so short ago that the next would only wait again. */
static bool
known_down(struct ctx *c, struct db *db)
{
	char why[sizeof(db->down_why)];
	bool down;

	pthread_mutex_lock(&db->mu);
	down = tm_mono() < db->down_until;
	memcpy(why, db->down_why, sizeof(why));
	pthread_mutex_unlock(&db->mu);
	if (down)
		conn_down(c, why);
	return down;
}

struct db_conn *
conn_checkout(struct ctx *c, struct db *db, int wait_ms)
{
	struct db_conn *k = idle_take(c, db, wait_ms);

	if (k == NULL)
		return NULL;
	if (k->pg != NULL && !conn_silent(k))
		conn_close(k);
	if (k->pg == NULL && (known_down(c, db) || conn_open(c, k) < 0)) {
		idle_put(k);
		return NULL;
	}
	k->head = NULL;
	k->tail = &k->head;
	k->unit = UNIT_FINE;
	k->entered = k->begun = k->in_pipeline = k->commit_sent = k->known = k->unguarded = false;
	k->answers = 0;
	return k;
}

void
conn_release(struct db_conn *k)
{
	if (k->pg != NULL && (k->recycle || conn_lost(k) || PQtransactionStatus(k->pg) != PQTRANS_IDLE)) {
		if (conn_lost(k))
			atomic_store(&k->db->ok_at, 0);
		conn_close(k);
	}
	idle_put(k);
}

static bool
probe(struct db *db)
{
	struct arena *a = arena_create("ping", 0);
	struct ctx c = { .a = a, .db = db };
	struct db_conn *k = conn_checkout(&c, db, PING_MS);
	bool alive = false;

	if (k != NULL) {
		struct rows *rs = conn_send(k, &c, ITEM_QUERY, STMT_db_ping, NULL, 0);

		conn_sync(k);
		alive = rs->answered && !rs->bad;
		conn_release(k);
	}
	arena_destroy(&a);
	return alive;
}

bool
db_alive(struct db *db, int max_age_ms)
{
	int64_t ok_at = atomic_load(&db->ok_at);
	bool mine;

	if (ok_at != 0 && tm_mono() - ok_at <= max_age_ms)
		return true;
	pthread_mutex_lock(&db->mu);
	mine = !db->probing;
	db->probing = true;
	pthread_mutex_unlock(&db->mu);
	if (!mine)
		return ok_at != 0; /* what the last answer said; the probe under way will tell more */
	mine = probe(db);
	pthread_mutex_lock(&db->mu);
	db->probing = false;
	pthread_mutex_unlock(&db->mu);
	return mine;
}
