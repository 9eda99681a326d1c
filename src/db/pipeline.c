/*
 * pipeline: sends commands without waiting and reads their answers in order. Everything up to a
 * Sync is one transaction unless BEGIN opened a longer one. Sending never blocks on a server that
 * blocks on us: the socket is non-blocking, and while it is full we read (conn_flush).
 * It must not know accounts or retries.
 */
#include "base/map.h"
#include "base/tm.h"
#include "db_private.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>

/* What libpq wants to know of the parameters; in a scratch part of the arena, gone after sending. */
struct wire_params {
	const char **values;
	int *lengths, *formats;
	int n;
};

static const char *
param_text(struct arena *a, const struct param *p)
{
	switch (p->kind) {
	case PARAM_NULL:
		return NULL;
	case PARAM_STR:
		return p->s.p == NULL ? NULL : arena_strdup(a, p->s);
	case PARAM_INT:
		return arena_printf(a, "%" PRId64, p->i);
	case PARAM_BOOL:
		return p->i ? "t" : "f";
	case PARAM_DOUBLE:
		return arena_printf(a, "%.17g", p->d);
	case PARAM_BYTES:
		return p->s.p == NULL && p->s.n == 0 ? NULL : p->s.p;
	}
	return NULL;
}

/* -1: a text holds a NUL, which would be cut off on the way. */
static int
params_wire(struct ctx *c, const struct param *params, size_t n, struct wire_params *out)
{
	out->values = arena_array(c->a, const char *, n + 1);
	out->lengths = arena_array(c->a, int, n + 1);
	out->formats = arena_array(c->a, int, n + 1);
	out->n = (int)n;
	for (size_t i = 0; i < n; i++) {
		const struct param *p = &params[i];

		if (p->kind == PARAM_STR && p->s.n > 0 && memchr(p->s.p, 0, p->s.n) != NULL)
			return fail(
			    c, ERR_INVALID, "invalid_value", "text with a NUL character cannot be stored");
		out->values[i] = param_text(c->a, p);
		out->lengths[i] = (int)p->s.n;
		out->formats[i] = p->kind == PARAM_BYTES;
	}
	return 0;
}

/* A new item of the queue. It is answered by conn_sync, or at once if nothing could be sent. `what` is
 * static. */
static struct rows *
item_new(struct ctx *c, enum item_kind kind, const char *what)
{
	struct rows *rs = arena_new(c->a, struct rows);

	rs->c = c;
	rs->a = c->a;
	rs->kind = kind;
	rs->what = what;
	rs->at = -1;
	return rs;
}

static struct rows *
item_bad(struct rows *rs)
{
	rs->answered = rs->bad = true;
	return rs;
}

static void
item_queue(struct db_conn *k, struct rows *rs)
{
	rs->next = NULL;
	*k->tail = rs;
	k->tail = &rs->next;
	k->in_pipeline = true;
}

/* Nothing could be sent: the connection is gone, or the last Sync is not read yet (our fault). */
static struct rows *
item_unsent(struct db_conn *k, struct rows *rs)
{
	if (conn_lost(k) && k->unit == UNIT_FINE)
		k->unit = UNIT_STALE;
	conn_down(rs->c, PQerrorMessage(k->pg));
	return item_bad(rs);
}

/* Sends the prepare of a statement; its answer decides *state. */
static bool
prepare_send(struct db_conn *k, struct ctx *c, const char *name, const char *sql, unsigned char *state)
{
	struct rows *rs;

	if (!PQsendPrepare(k->pg, name, sql, 0, NULL))
		return false;
	rs = item_new(c, ITEM_PREPARE, "prepare");
	rs->state = state;
	*state = PREP_SENT;
	item_queue(k, rs);
	return true;
}

struct rows *
conn_send(struct db_conn *k, struct ctx *c, enum item_kind kind, enum stmt_id id, const struct param *params,
    size_t n)
{
	struct rows *rs = item_new(c, kind, stmt_name[id]);
	struct arena_mark mark;
	struct wire_params w;
	int sent;

	if (k->db->conf.prepare && k->prepared[id] == PREP_NO &&
	    !prepare_send(k, c, stmt_name[id], stmt_sql[id], &k->prepared[id]))
		return item_unsent(k, rs);
	mark = arena_mark(c->a);
	if (params_wire(c, params, n, &w) < 0) {
		k->unit = UNIT_FAILED;
		return item_bad(rs);
	}
	if (k->db->conf.prepare)
		sent = PQsendQueryPrepared(k->pg, stmt_name[id], w.n, w.values, w.lengths, w.formats, 0);
	else
		sent = PQsendQueryParams(k->pg, stmt_sql[id], w.n, NULL, w.values, w.lengths, w.formats, 0);
	arena_rewind(c->a, mark);
	if (!sent)
		return item_unsent(k, rs);
	item_queue(k, rs);
	return rs;
}

/*
 * The slot of a generated text; a new text takes the place of the one used longest ago. A slot whose
 * prepare is still under way is not taken.
 */
static struct text_slot *
text_slot(struct db_conn *k, struct str sql)
{
	uint64_t seed = hash_seed();
	uint64_t hash[2] = { hash_bytes(seed, sql.p, sql.n), hash_bytes(~seed, sql.p, sql.n) };
	struct text_slot *oldest = &k->texts[0];

	for (size_t i = 0; i < CONN_TEXTS; i++) {
		struct text_slot *s = &k->texts[i];

		if (s->hash[0] == hash[0] && s->hash[1] == hash[1] && s->used_at != 0)
			return s;
		if (s->used_at < oldest->used_at && s->state != PREP_SENT)
			oldest = s;
	}
	if (oldest->state == PREP_SENT)
		return NULL;
	oldest->hash[0] = hash[0];
	oldest->hash[1] = hash[1];
	oldest->used_at = 0;
	return oldest;
}

/* Frees the statement that had this slot before. */
static bool
text_drop(struct db_conn *k, struct ctx *c, struct text_slot *s)
{
	char sql[48];

	if (s->state != PREP_YES)
		return true;
	snprintf(sql, sizeof(sql), "DEALLOCATE g%u", s->serial);
	if (!PQsendQueryParams(k->pg, sql, 0, NULL, NULL, NULL, NULL, 0))
		return false;
	s->state = PREP_NO;
	item_queue(k, item_new(c, ITEM_DROP, "drop"));
	return true;
}

/* Serial of the prepared statement of this text; 0: send it whole; -1: sending failed. */
static int64_t
text_prepare(struct db_conn *k, struct ctx *c, const char *sql)
{
	struct text_slot *s = k->db->conf.prepare ? text_slot(k, str_c(sql)) : NULL;
	bool first;
	char name[16];

	if (s == NULL)
		return 0;
	first = s->used_at == 0;
	s->used_at = ++k->clock;
	if (first) /* worth preparing only if it comes again */
		return text_drop(k, c, s) ? 0 : -1;
	if (s->state == PREP_NO) {
		s->serial = ++k->serial;
		snprintf(name, sizeof(name), "g%u", s->serial);
		if (!prepare_send(k, c, name, sql, &s->state))
			return -1;
	}
	return s->serial;
}

struct rows *
conn_send_text(struct db_conn *k, struct ctx *c, const char *sql, const struct param *params, size_t n)
{
	struct rows *rs = item_new(c, ITEM_QUERY, "generated");
	struct arena_mark mark;
	struct wire_params w;
	int64_t serial = text_prepare(k, c, sql);
	char name[16];
	int sent;

	if (serial < 0)
		return item_unsent(k, rs);
	mark = arena_mark(c->a);
	if (params_wire(c, params, n, &w) < 0) {
		k->unit = UNIT_FAILED;
		return item_bad(rs);
	}
	snprintf(name, sizeof(name), "g%u", (unsigned)serial);
	if (serial > 0)
		sent = PQsendQueryPrepared(k->pg, name, w.n, w.values, w.lengths, w.formats, 0);
	else
		sent = PQsendQueryParams(k->pg, sql, w.n, NULL, w.values, w.lengths, w.formats, 0);
	arena_rewind(c->a, mark);
	if (!sent)
		return item_unsent(k, rs);
	item_queue(k, rs);
	return rs;
}

/*
 * Waits until the socket is ready. Only a server (or a network) that is silent for longer than any
 * statement may take makes it false; statement_timeout answers before.
 */
static bool
conn_wait(struct db_conn *k, short events)
{
	struct pollfd p = { .fd = PQsocket(k->pg), .events = events };
	int limit = k->db->conf.statement_ms > 0 ? k->db->conf.statement_ms + SPARE_MS : -1;
	int rc;

	do
		rc = poll(&p, 1, limit);
	while (rc < 0 && errno == EINTR);
	if (rc > 0 && (p.revents & (POLLIN | POLLHUP | POLLERR)))
		return PQconsumeInput(k->pg);
	return rc > 0;
}

/*
 * Everything onto the wire. While the server does not take our bytes it may be waiting for us to
 * read: both directions are watched, so neither side can block the other.
 */
static bool
conn_flush(struct db_conn *k)
{
	int rc;

	while ((rc = PQflush(k->pg)) == 1)
		if (!conn_wait(k, POLLIN | POLLOUT))
			return false;
	return rc == 0;
}

static bool
conn_result(struct db_conn *k, PGresult **out)
{
	while (PQisBusy(k->pg))
		if (!conn_wait(k, POLLIN))
			return false;
	*out = PQgetResult(k->pg);
	return true;
}

/* Files an answer with its item. The first bad one is recorded in the ctx and decides the unit. */
static void
item_answer(struct db_conn *k, struct rows *rs, PGresult *res)
{
	ExecStatusType st = PQresultStatus(res);
	bool good = st == PGRES_TUPLES_OK || st == PGRES_COMMAND_OK;

	rows_take(rs, res);
	rs->answered = true;
	rs->bad = !good;
	if (rs->kind == ITEM_PREPARE)
		*rs->state = good ? PREP_YES : PREP_NO;
	else if (rs->kind == ITEM_DROP && !good)
		k->recycle = true;
	if (!good && k->unit == UNIT_FINE && st != PGRES_PIPELINE_ABORTED)
		k->unit = error_record(rs->c, rs, PQerrorMessage(k->pg));
	if (good && rs->kind == ITEM_QUERY)
		k->answers++;
	if (good && rs->kind == ITEM_ENTER)
		tx_entered(rs->c, k, rs);
}

/* The connection ended before the answers: whatever waits has failed. */
static void
conn_abandon(struct db_conn *k)
{
	for (struct rows *rs = k->head; rs != NULL; rs = rs->next) {
		if (k->unit == UNIT_FINE) {
			k->unit = UNIT_STALE;
			conn_down(rs->c, PQerrorMessage(k->pg));
		}
		rs->answered = rs->bad = true;
	}
	k->head = NULL;
	k->tail = &k->head;
	k->recycle = true;
}

/* The answers of one pipeline, up to and with its Sync. */
static bool
conn_drain(struct db_conn *k)
{
	PGresult *res;
	bool sync;

	for (struct rows *rs = k->head; rs != NULL; rs = k->head = rs->next) {
		if (!conn_result(k, &res) || res == NULL)
			return false;
		item_answer(k, rs, res);
		if (!conn_result(k, &res) || res != NULL) { /* NULL ends each command */
			PQclear(res);
			return false;
		}
		if (conn_lost(k)) {
			k->head = rs->next;
			return false;
		}
	}
	k->tail = &k->head;
	if (!conn_result(k, &res))
		return false;
	sync = res != NULL && PQresultStatus(res) == PGRES_PIPELINE_SYNC;
	PQclear(res);
	return sync;
}

void
conn_sync(struct db_conn *k)
{
	if (!k->in_pipeline)
		return;
	k->in_pipeline = k->entered = false;
	k->trips++;
	if (conn_lost(k) || !PQpipelineSync(k->pg) || !conn_flush(k) || !conn_drain(k)) {
		conn_abandon(k); /* tells those who wait why; before the unit is marked, which says that it was told */
		if (k->unit == UNIT_FINE)
			k->unit = UNIT_STALE;
		return;
	}
	atomic_store(&k->db->ok_at, tm_mono());
}
