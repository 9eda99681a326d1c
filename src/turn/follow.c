#include "turn/follow.h"

#include "turn/turn_private.h"

#include "base/log.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#define ASK_MS 500 /* with a second for the persister: at most 2 s behind */

struct follow {
	struct follow *next;
	struct stream *stream;
	int32_t account_no;
	int64_t run_no;
	char *account_id, *floor_id;
	atomic_bool deserted;         /* set by the loop */
	bool ended;                   /* the run; what it has said is to be read from its page */
};

/* Loop thread: the last reader has left. */
static void
deserted(void *arg)
{
	struct follow *f = arg;

	atomic_store(&f->deserted, true);
}

static char *
copy(struct str s)
{
	char *p = malloc(s.n + 1);

	if (p == NULL)
		abort();
	memcpy(p, s.p, s.n);
	p[s.n] = '\0';
	return p;
}

static void
follow_free(struct follow *f)
{
	free(f->account_id);
	free(f->floor_id);
	free(f);
}

/* ---- a round ---- */

struct round {
	struct follow **v;
	size_t n;
	struct sb accounts, runs, text, reasoning;
};

/* Pieces lie one behind the other; of what a repeated unit brings again the new end is taken. */
static void
piece_take(struct follow *f, bool reasoning, int64_t at, struct str text)
{
	size_t known = stream_text_len(f->stream, reasoning);

	if ((size_t)at <= known)
		stream_text(f->stream, reasoning, str_sub(text, known - (size_t)at, text.n));
}

static int
round_read(struct ctx *c, void *arg)
{
	struct round *r = arg;
	struct rows *rs;
	int rc;

	rs = db_query(c, STMT_run_follow, P_STR(sb_str(&r->accounts)), P_STR(sb_str(&r->runs)), P_STR(sb_str(&r->text)), P_STR(sb_str(&r->reasoning)));
	while ((rc = rows_next(rs)) > 0) {
		struct follow *f = r->v[row_int(rs, 0) - 1];

		f->ended = !str_is(row_str(rs, 1), "running");
		if (!row_null(rs, 3))
			piece_take(f, row_bool(rs, 2), row_int(rs, 3), row_str(rs, 4));
	}
	return rc;
}

static void
round_ask(struct ctx *c, struct follow **v, size_t n)
{
	struct round r = { .v = v, .n = n, .accounts = sb_new(c->a), .runs = sb_new(c->a), .text = sb_new(c->a), .reasoning = sb_new(c->a) };

	for (size_t i = 0; i < n; i++) {
		const char *sep = i ? "," : "{";

		sb_addf(&r.accounts, "%s%d", sep, v[i]->account_no);
		sb_addf(&r.runs, "%s%lld", sep, (long long)v[i]->run_no);
		sb_addf(&r.text, "%s%zu", sep, stream_text_len(v[i]->stream, false));
		sb_addf(&r.reasoning, "%s%zu", sep, stream_text_len(v[i]->stream, true));
	}
	sb_addc(&r.accounts, '}');
	sb_addc(&r.runs, '}');
	sb_addc(&r.text, '}');
	sb_addc(&r.reasoning, '}');
	if (db_tx(c, DB_SYSTEM, round_read, &r) < 0)
		log_warn("follower.round_failed", "code=%s reason=%s", c->err.code ? c->err.code : "", c->err.log ? c->err.log : "");
	err_clear(c);
}

/* Is it over with this one? Then its stream is finished. */
static bool
follow_over(struct turns *p, struct arena *a, struct follow *f)
{
	struct credential cred = { CRED_ACCOUNT_ID, f->account_id };
	struct ctx c = { .a = a, .db = p->conf.db, .cred = &cred, .now = tm_now() };
	struct run_view v;

	if (atomic_load(&f->deserted)) {
		stream_finish(f->stream, "error", STR("{}")); /* nobody hears it */
		return true;
	}
	if (!f->ended)
		return false;
	if (run_view_load(&c, str_c(f->floor_id), f->run_no, &v) == 0 && v.run_no != 0 && run_stream_end(&c, f->stream, &v) == 0)
		return true;
	if (failed(&c) && c.err.kind != ERR_NOT_FOUND)
		return false; /* the database: again in the next round */
	stream_finish(f->stream, "error", STR("{\"code\":\"not_found\",\"message\":\"the floor has been deleted\"}"));
	return true;
}

static void
round_run(struct turns *p, struct arena *a, struct follow **v, size_t n)
{
	struct ctx c = { .a = a, .db = p->conf.db_sys, .now = tm_now() };

	round_ask(&c, v, n);
	for (size_t i = 0; i < n; i++) {
		if (!follow_over(p, a, v[i]))
			continue;
		pthread_mutex_lock(&p->follow_lock);
		for (struct follow **at = &p->followed; *at; at = &(*at)->next) {
			if (*at == v[i]) {
				*at = v[i]->next;
				break;
			}
		}
		pthread_mutex_unlock(&p->follow_lock);
		follow_free(v[i]);
	}
}

/* Under the lock: what is followed now; only this thread takes something off. */
static size_t
snapshot(struct turns *p, struct arena *a, struct follow ***out)
{
	VEC(struct follow *) v = { 0 };

	for (struct follow *f = p->followed; f; f = f->next)
		vec_push(a, &v, f);
	*out = v.v;
	return v.n;
}

static void *
follower(void *arg)
{
	struct turns *p = arg;
	struct arena *a = arena_create("follower", 0);

	pthread_mutex_lock(&p->follow_lock);
	while (!p->follow_stopped) {
		int64_t at = tm_now() + ASK_MS;
		struct timespec until = { .tv_sec = at / 1000, .tv_nsec = at % 1000 * 1000000 };
		struct follow **v;
		size_t n;

		if (p->followed == NULL)
			pthread_cond_wait(&p->follow_wake, &p->follow_lock);
		else
			pthread_cond_timedwait(&p->follow_wake, &p->follow_lock, &until);
		if (p->follow_stopped)
			break;
		n = snapshot(p, a, &v);
		pthread_mutex_unlock(&p->follow_lock);
		if (n > 0)
			round_run(p, a, v, n);
		arena_reset(a);
		pthread_mutex_lock(&p->follow_lock);
	}
	pthread_mutex_unlock(&p->follow_lock);
	arena_destroy(&a);
	return NULL;
}

/* ---- begin and end ---- */

/* What there is already, so that a reader's position is inside of it as far as can be. */
static int
first_read(struct ctx *c, void *arg)
{
	struct follow *f = arg;
	struct rows *rs = db_query(c, STMT_run_text_of, P_INT(f->run_no), P_INT(0), P_INT(0));
	int rc;

	while ((rc = rows_next(rs)) > 0)
		piece_take(f, row_bool(rs, 0), row_int(rs, 1), row_str(rs, 2));
	return rc;
}

static int
enlist(struct turns *p, struct follow *f)
{
	int rc = 0;

	pthread_mutex_lock(&p->follow_lock);
	if (p->follow_stopped)
		rc = ESHUTDOWN;
	else if (!p->follow_started)
		rc = pthread_create(&p->follower, NULL, follower, p);
	if (rc == 0) {
		p->follow_started = true;
		f->next = p->followed;
		p->followed = f;
		if (f->next == NULL)
			pthread_cond_signal(&p->follow_wake);
	}
	pthread_mutex_unlock(&p->follow_lock);
	return rc;
}

int
follow_begin(struct turns *p, struct ctx *c, struct stream *s, const struct run_view *v)
{
	struct follow *f = calloc(1, sizeof(*f));

	if (f == NULL)
		abort();
	*f = (struct follow){ .stream = s, .run_no = v->run_no, .account_no = c->who.account_no };
	f->account_id = copy(str_c(c->who.account_id));
	f->floor_id = copy(v->floor_id);
	stream_on_deserted(s, deserted, f);
	if (db_tx(c, DB_READ, first_read, f) == 0 && enlist(p, f) != 0)
		fail(c, ERR_UNAVAILABLE, "unavailable", "the server is stopping; come back with the last event's id");
	if (failed(c)) {
		stream_on_deserted(s, NULL, NULL);
		follow_free(f);
		return -1;
	}
	return 0;
}

void
follow_stop(struct turns *p)
{
	pthread_mutex_lock(&p->follow_lock);
	p->follow_stopped = true;
	pthread_cond_signal(&p->follow_wake);
	pthread_mutex_unlock(&p->follow_lock);
	if (p->follow_started)
		pthread_join(p->follower, NULL);
	while (p->followed) {
		struct follow *f = p->followed;

		p->followed = f->next;
		stream_finish(f->stream, "error", STR("{\"code\":\"server_shutdown\",\"message\":\"the server is shutting down\"}"));
		follow_free(f);
	}
}
