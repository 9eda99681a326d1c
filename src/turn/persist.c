/*
 * persist: one thread per process. Every second it writes the new text of all running turns and
 * renews their leases in one transaction; every fifth second it fails the runs whose lease has
 * expired, whoever had them. So nothing is ever stuck, and what a crashed worker's turns had said
 * is at most a second short.
 */
#include "turn/follow.h"
#include "turn/key.h"
#include "turn/turn_private.h"

#include "regex/memo.h"

#include "base/log.h"
#include "base/metric.h"
#include "base/utf8.h"

#include <errno.h>
#include <malloc.h>
#include <time.h>

#define ROUND_MS 1000
#define SWEEP_ROUNDS 5
#define PIECE_MAX (256u << 10) /* bytes of one turn's text per round */

struct round {
	struct turns *p;
	struct sb accounts, runs, offsets, texts, kinds;
	size_t n;
};

void
turns_add(struct turns *p, struct turn *t)
{
	pthread_mutex_lock(&p->lock);
	t->next = p->live;
	if (p->live)
		p->live->prev = t;
	p->live = t;
	pthread_mutex_unlock(&p->lock);
	metric_add(METRIC_TURNS_ACTIVE, 1);
}

void
turns_remove(struct turns *p, struct turn *t)
{
	pthread_mutex_lock(&p->lock);
	if (t->next)
		t->next->prev = t->prev;
	*(t->prev ? &t->prev->next : &p->live) = t->next;
	pthread_mutex_unlock(&p->lock);
	metric_add(METRIC_TURNS_ACTIVE, -1);
}

/* As an element of a PostgreSQL array literal. */
static void
array_text(struct sb *sb, struct str s)
{
	sb_addc(sb, '"');
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '"' || s.p[i] == '\\')
			sb_addc(sb, '\\');
		sb_addc(sb, s.p[i]);
	}
	sb_addc(sb, '"');
}

/* With the lock: what a turn has said since the last round; nothing, too, renews its lease. */
static void
collect(struct round *r, struct arena *a, struct turn *t, bool reasoning)
{
	const char *sep = r->n ? "," : "{";
	size_t said = stream_text_len(t->stream, reasoning), *known = &t->persisted[reasoning], n = 0;
	char *buf = NULL;

	if (said > *known) {
		n = said - *known < PIECE_MAX ? said - *known : PIECE_MAX;
		buf = arena_alloc(a, n);
		n = stream_copy_text(t->stream, reasoning, *known, buf, n);
		n = utf8_whole((struct str){ buf, n });
	}
	if (n == 0 && reasoning)
		return;
	sb_addf(&r->accounts, "%s%d", sep, t->c->who.account_no);
	sb_addf(&r->runs, "%s%lld", sep, (long long)t->run_no);
	sb_addf(&r->offsets, "%s%zu", sep, *known);
	sb_addf(&r->kinds, "%s%s", sep, reasoning ? "t" : "f");
	sb_adds(&r->texts, sep);
	array_text(&r->texts, (struct str){ buf, n });
	t->persisting[reasoning] = n;
	r->n++;
}

static void
round_collect(struct round *r, struct arena *a)
{
	r->n = 0;
	for (struct turn *t = r->p->live; t; t = t->next) {
		t->seen = true;
		collect(r, a, t, false);
		collect(r, a, t, true);
	}
	sb_addc(&r->accounts, '}');
	sb_addc(&r->runs, '}');
	sb_addc(&r->offsets, '}');
	sb_addc(&r->kinds, '}');
	sb_addc(&r->texts, '}');
}

static int
round_write(struct ctx *c, void *arg)
{
	struct round *r = arg;
	struct rows *rs = db_query(c, STMT_run_persist, P_STR(sb_str(&r->accounts)), P_STR(sb_str(&r->runs)), P_STR(sb_str(&r->offsets)),
	    P_STR(sb_str(&r->texts)), P_INT(tm_now() + r->p->conf.lease_ms), P_STR(sb_str(&r->kinds)));
	int rc;

	/* Somebody else has ended it (one that has just committed is not in the list any more): the model need not go on. */
	while ((rc = rows_next(rs)) > 0)
		turns_cancel(r->p, row_int(rs, 0), "the run was ended by another process");
	return rc;
}

/* With the lock: what the round has written is known now; after a failure it comes again, perhaps longer. */
static void
round_settle(struct turns *p, bool written)
{
	for (struct turn *t = p->live; t; t = t->next) {
		for (int i = 0; i < 2; i++) {
			t->persisted[i] += written ? t->persisting[i] : 0;
			t->persisting[i] = 0;
		}
	}
}

static int
sweep(struct ctx *c, void *arg)
{
	struct rows *rs = db_query(c, STMT_run_sweep, P_INT(tm_now()),
	    P_STR(STR("{\"code\":\"worker_lost\",\"message\":\"the process that was generating has ended; retry the floor\"}")));

	(void)arg;
	db_query(c, STMT_key_sweep, P_INT(tm_now() - (int64_t)KEY_HOURS * 3600 * 1000));
	if (rows_next(rs) < 0)
		return -1;
	metric_add(METRIC_TURNS_SWEPT, row_int(rs, 0));
	if (row_int(rs, 0) > 0)
		log_warn("run.swept", "runs=%lld", (long long)row_int(rs, 0));
	return 0;
}

static void
round_run(struct turns *p, struct ctx *c, bool sweeping)
{
	struct round r = { .p = p, .accounts = sb_new(c->a), .runs = sb_new(c->a), .offsets = sb_new(c->a), .texts = sb_new(c->a), .kinds = sb_new(c->a) };

	pthread_mutex_lock(&p->lock);
	round_collect(&r, c->a);
	pthread_mutex_unlock(&p->lock);
	if (r.n > 0) {
		bool written = db_tx(c, DB_SYSTEM, round_write, &r) == 0;

		pthread_mutex_lock(&p->lock);
		round_settle(p, written);
		pthread_mutex_unlock(&p->lock);
	}
	if (failed(c) || (sweeping && db_tx(c, DB_SYSTEM, sweep, NULL) < 0))
		log_warn("persister.round_failed", "code=%s reason=%s", c->err.code ? c->err.code : "", c->err.log ? c->err.log : "");
}

/*
 * What turns needed to begin lies as holes between what they hold while their models write. When a round passes in which none began, the
 * system gets it back.
 */
static void
memory_return(struct turns *p, unsigned *last, unsigned *returned)
{
	unsigned begun = atomic_load(&p->begun);

	if (begun == *last && begun != *returned) {
		malloc_trim(0);
		*returned = begun;
	}
	*last = begun;
}

static void *
persister(void *arg)
{
	struct turns *p = arg;
	unsigned begun = 0, returned = 0;
	struct ctx c = { .a = arena_create("persister", 0), .db = p->conf.db_sys };
	unsigned rounds = 0;
	struct timespec until;

	pthread_mutex_lock(&p->lock);
	while (!p->stop) {
		int64_t at = tm_now() + ROUND_MS;

		until = (struct timespec){ .tv_sec = at / 1000, .tv_nsec = at % 1000 * 1000000 };
		while (!p->stop && pthread_cond_timedwait(&p->wake, &p->lock, &until) != ETIMEDOUT)
			continue;
		pthread_mutex_unlock(&p->lock);
		c.now = tm_now();
		round_run(p, &c, rounds++ % SWEEP_ROUNDS == 0);
		err_clear(&c);
		arena_reset(c.a);
		memory_return(p, &begun, &returned);
		pthread_mutex_lock(&p->lock);
	}
	pthread_mutex_unlock(&p->lock);
	arena_destroy(&c.a);
	return NULL;
}

struct turns *
turns_create(struct arena *a, const struct turns_conf *conf)
{
	struct turns *p = arena_new(a, struct turns);

	p->conf = *conf;
	p->cache = asset_cache_create(a, conf->cache_bytes);
	p->regex_memo = regex_memo_create(a, conf->cache_bytes / 4);
	p->built_in = prompt_preset_compile(a, NULL);
	sem_init(&p->preparing, 0, (unsigned)conf->preparing_max);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->wake, NULL);
	pthread_mutex_init(&p->follow_lock, NULL);
	pthread_cond_init(&p->follow_wake, NULL);
	return p;
}

int
turns_start(struct turns *p)
{
	int rc = pthread_create(&p->persister, NULL, persister, p);

	if (rc != 0) {
		errno = rc;
		return -1;
	}
	p->started = true;
	return 0;
}

void
turns_stop(struct turns *p)
{
	follow_stop(p);
	if (p->started) {
		pthread_mutex_lock(&p->lock);
		p->stop = true;
		pthread_cond_signal(&p->wake);
		pthread_mutex_unlock(&p->lock);
		pthread_join(p->persister, NULL);
	}
	p->started = false;
	asset_cache_destroy(p->cache);
}
