/*
 * runner: see runner.h.
 */
#include "job/runner.h"

#include "base/log.h"
#include "base/metric.h"
#include "base/rng.h"
#include "base/sb.h"
#include "base/tm.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#define CLAIM_LEASE_MS 60000 /* until the kind's own lease is set */
#define DOWN_MS 2000         /* after a failed claim, mostly no database */

struct slot {
	struct runner *r;
	pthread_t thread;
	struct job *job; /* under the lock; NULL = idle */
};

struct runner {
	struct runner_conf conf;
	struct str kind_names; /* array literal */
	struct slot *slots;
	int n_slots, busy;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	unsigned wakes; /* counts, so that none is missed */
	bool stop, give_back;
	struct ctx tick; /* of runner_tick */
};

static const struct job_kind *
kind_find(const struct runner *r, struct str name)
{
	const struct job_kind *k = r->conf.kinds;

	while (k->name && !str_is(name, k->name))
		k++;
	return k;
}

static bool
stopping(void *arg)
{
	struct runner *r = arg;
	bool out;

	pthread_mutex_lock(&r->lock);
	out = r->give_back;
	pthread_mutex_unlock(&r->lock);
	return out;
}

/* ---- claim ---- */

struct claim {
	struct runner *r;
	struct job job;
	struct credential cred;
	bool found;
};

static int
claim_send(struct ctx *c, void *arg)
{
	struct claim *w = arg;
	struct job *j = &w->job;
	struct json_error err;
	struct rows *rs = db_query(c, STMT_job_claim, P_INT(c->now), P_INT(c->now + CLAIM_LEASE_MS),
	    P_C(w->r->conf.worker), P_STR(w->r->kind_names));
	int rc = rows_next(rs);

	w->found = rc > 0;
	if (rc <= 0)
		return rc;
	j->account_no = (int32_t)row_int(rs, 0);
	j->no = row_int(rs, 1);
	w->cred = (struct credential){ CRED_ACCOUNT_ID, arena_strdup(c->a, row_str(rs, 2)) };
	j->id = arena_strdup(c->a, row_str(rs, 3));
	j->kind = kind_find(w->r, row_str(rs, 4));
	j->args = json_read(c->a, row_str(rs, 5), 128, &err);
	j->attempt = (int)row_int(rs, 6);
	j->max_attempts = (int)row_int(rs, 7);
	return db_exec(c, STMT_job_lease, P_INT(j->account_no), P_INT(j->no), P_C(w->r->conf.worker),
		   P_INT(j->attempt), P_INT(c->now + j->kind->lease_ms)) < 0
		   ? -1
		   : 0;
}

/* ---- one try ---- */

struct ending {
	const struct job *j;
	const char *state;
	struct str error;
	int64_t available_at;
	int uncounted;
};

static int
ending_send(struct ctx *c, void *arg)
{
	const struct ending *e = arg;

	return db_exec(c, STMT_job_end, P_INT(e->j->account_no), P_INT(e->j->no), P_C(e->j->worker),
		   P_INT(e->j->attempt), P_C(e->state), P_STR(e->error), P_INT(c->now),
		   P_INT(e->available_at), P_INT(e->uncounted)) < 0
		   ? -1
		   : 0;
}

static struct str
error_print(struct arena *a, const struct err *e)
{
	struct sb s = sb_new(a);

	sb_adds(&s, "{\"code\":");
	sb_add_json(&s, str_c(e->code ? e->code : "internal_error"));
	sb_adds(&s, ",\"message\":");
	sb_add_json(&s, str_c(e->msg ? e->msg : "internal error"));
	sb_addc(&s, '}');
	return sb_str(&s);
}

/* The try is over: done, or queued again after a while, or dead. What was cancelled stays so. */
static void
settle(struct runner *r, struct job *j, int rc)
{
	struct ctx sys = { .a = j->c->a, .db = r->conf.db_sys, .now = tm_now() };
	const struct err *err = &j->c->err;
	struct ending e = { .j = j, .state = "done", .available_at = sys.now };
	uint64_t chance;

	if (rc < 0)
		j->ended = false; /* rolled back */
	if (rc == 0)
		metric_add(METRIC_JOBS_DONE, 1);
	else if (!j->given_back)
		metric_add(METRIC_JOBS_FAILED, 1);
	if (rc == 0 && j->ended)
		return;
	if (rc < 0 && j->given_back) {
		e.state = "queued";
		e.uncounted = 1;
	} else if (rc < 0 && job_worth_retry(err->kind) && j->attempt < j->max_attempts) {
		rng_system(&chance, sizeof(chance));
		e.state = "queued";
		e.available_at += job_backoff(j->kind->backoff_ms, j->attempt, chance);
		e.error = error_print(j->c->a, err);
	} else if (rc < 0) {
		metric_add(METRIC_JOBS_DEAD, 1);
		e.state = "dead";
		e.error = error_print(j->c->a, err);
	}
	if (rc < 0 && !j->given_back)
		log_warn("job.failed", "job=%s kind=%s attempt=%d code=%s message=\"%s\" reason=\"%s\"",
		    j->id, j->kind->name, j->attempt, err->code ? err->code : "", err->msg ? err->msg : "",
		    err->log ? err->log : "");
	if (db_tx(&sys, DB_SYSTEM, ending_send, &e) < 0)
		log_warn("job.not_settled", "job=%s reason=\"%s\"", j->id, sys.err.log ? sys.err.log : "");
}

static void
mark(struct slot *s, struct job *j)
{
	pthread_mutex_lock(&s->r->lock);
	s->job = j;
	s->r->busy += j ? 1 : -1;
	pthread_mutex_unlock(&s->r->lock);
}

static void
try_run(struct slot *s, struct claim *w, struct arena *a)
{
	struct runner *r = s->r;
	struct ctx c = { .a = a, .now = tm_now(), .rid = w->job.id, .db = r->conf.db, .cred = &w->cred };
	struct job *j = &w->job;
	int64_t began = tm_mono();
	int rc;

	j->c = &c;
	j->env = r->conf.env;
	j->worker = r->conf.worker;
	j->stopping = stopping;
	j->stopping_arg = r;
	mark(s, j);
	log_request(j->id);
	rc = j->kind->fn(j);
	settle(r, j, rc);
	metric_time(METRIC_TIME_JOB, (tm_mono() - began) * 1000);
	log_info("job", "job=%s kind=%s attempt=%d ok=%d ms=%lld", j->id, j->kind->name, j->attempt, rc == 0,
	    (long long)(tm_mono() - began));
	log_request(NULL);
	mark(s, NULL);
}

/* Claims and runs one. 1 done so, 0 nothing waits, -1 no claim possible now. */
static int
slot_turn(struct slot *s, struct arena *a)
{
	struct ctx sys = { .a = a, .db = s->r->conf.db_sys, .now = tm_now() };
	struct claim w = { .r = s->r };

	if (db_tx(&sys, DB_SYSTEM, claim_send, &w) < 0) {
		/* Two claims of one scope at the same moment: the index has decided. */
		if (sys.err.kind == ERR_CONFLICT)
			return 1;
		log_warn("job.claim_failed", "code=%s reason=\"%s\"", sys.err.code ? sys.err.code : "",
		    sys.err.log ? sys.err.log : "");
		return -1;
	}
	if (w.found)
		try_run(s, &w, a);
	return w.found;
}

/* With the lock held: sleeps until a wake that came after `seen`, or for ms. */
static void
doze(struct runner *r, unsigned seen, int ms)
{
	int64_t at = tm_now() + ms;
	struct timespec until = { .tv_sec = at / 1000, .tv_nsec = at % 1000 * 1000000 };

	while (
	    !r->stop && r->wakes == seen && pthread_cond_timedwait(&r->wake, &r->lock, &until) != ETIMEDOUT)
		continue;
}

static void *
slot_main(void *arg)
{
	struct slot *s = arg;
	struct runner *r = s->r;
	struct arena *a = arena_create("job", 0);

	pthread_mutex_lock(&r->lock);
	while (!r->stop) {
		unsigned seen = r->wakes;
		int rc;

		pthread_mutex_unlock(&r->lock);
		rc = slot_turn(s, a);
		arena_reset(a);
		pthread_mutex_lock(&r->lock);
		if (rc <= 0)
			doze(r, seen, rc < 0 ? DOWN_MS : r->conf.poll_ms);
	}
	pthread_mutex_unlock(&r->lock);
	arena_destroy(&a);
	return NULL;
}

/* ---- the process's side ---- */

struct runner *
runner_start(struct arena *a, const struct runner_conf *conf)
{
	struct runner *r = arena_new(a, struct runner);
	struct sb names = sb_new(a);

	r->conf = *conf;
	for (const struct job_kind *k = conf->kinds; k->name; k++)
		sb_addf(&names, "%s%s", names.n ? "," : "{", k->name);
	sb_addc(&names, '}');
	r->kind_names = sb_str(&names);
	r->slots = arena_array(a, struct slot, (size_t)conf->threads);
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->wake, NULL);
	r->tick = (struct ctx){ .a = arena_create("job tick", 0), .db = conf->db_sys };
	for (int i = 0; i < conf->threads; i++) {
		int rc;

		r->slots[i].r = r;
		rc = pthread_create(&r->slots[i].thread, NULL, slot_main, &r->slots[i]);
		if (rc != 0) {
			runner_stop(r, true);
			runner_join(r);
			errno = rc;
			return NULL;
		}
		r->n_slots++;
	}
	return r;
}

void
runner_wake(struct runner *r)
{
	pthread_mutex_lock(&r->lock);
	r->wakes++;
	pthread_cond_broadcast(&r->wake);
	pthread_mutex_unlock(&r->lock);
}

struct held {
	int32_t account_no;
	int64_t no, lease_ms;
	int attempt;
};

struct tick {
	struct runner *r;
	struct held *held;
	size_t n;
};

static int
tick_send(struct ctx *c, void *arg)
{
	struct tick *t = arg;
	int64_t lost;

	for (size_t i = 0; i < t->n; i++)
		if (db_exec(c, STMT_job_lease, P_INT(t->held[i].account_no), P_INT(t->held[i].no),
			P_C(t->r->conf.worker), P_INT(t->held[i].attempt),
			P_INT(c->now + t->held[i].lease_ms)) < 0)
			return -1;
	lost = db_exec(c, STMT_job_expired, P_INT(c->now),
	    P_STR(STR("{\"code\":\"worker_lost\",\"message\":\"the process that ran the job has ended\"}")));
	if (lost > 0)
		log_warn("job.expired", "jobs=%lld", (long long)lost);
	return lost < 0 ? -1 : 0;
}

void
runner_tick(struct runner *r)
{
	struct ctx *c = &r->tick;
	struct tick t = { .r = r, .held = arena_array(c->a, struct held, (size_t)r->conf.threads) };

	c->now = tm_now();
	pthread_mutex_lock(&r->lock);
	for (int i = 0; i < r->n_slots; i++) {
		const struct job *j = r->slots[i].job;

		if (j)
			t.held[t.n++] = (struct held){ j->account_no, j->no, j->kind->lease_ms, j->attempt };
	}
	pthread_mutex_unlock(&r->lock);
	if (db_tx(c, DB_SYSTEM, tick_send, &t) < 0)
		log_warn("job.tick_failed", "code=%s reason=\"%s\"", c->err.code ? c->err.code : "",
		    c->err.log ? c->err.log : "");
	err_clear(c);
	arena_reset(c->a);
}

void
runner_stop(struct runner *r, bool give_back)
{
	pthread_mutex_lock(&r->lock);
	r->stop = true;
	r->give_back = r->give_back || give_back;
	pthread_cond_broadcast(&r->wake);
	pthread_mutex_unlock(&r->lock);
}

int
runner_busy(struct runner *r)
{
	int n;

	pthread_mutex_lock(&r->lock);
	n = r->busy;
	pthread_mutex_unlock(&r->lock);
	return n;
}

void
runner_join(struct runner *r)
{
	for (int i = 0; i < r->n_slots; i++)
		pthread_join(r->slots[i].thread, NULL);
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->wake);
	arena_destroy(&r->tick.a);
}
