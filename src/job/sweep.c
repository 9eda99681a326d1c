/*
 * sweep: see sweep.h.
 */
#include "job/sweep.h"

#include "base/tm.h"

#define DAY_MS 86400000
#define ROUNDS_MAX 200 /* of one statement in a round: the rest has time until the next */

struct sweep {
	enum stmt_id stmt;
	int64_t age; /* ms; $1 is now - age */
};

struct step {
	const struct sweep *s;
	int64_t rows;
};

static int
step_send(struct ctx *c, void *arg)
{
	struct step *s = arg;

	s->rows = db_exec(c, s->s->stmt, P_INT(c->now - s->s->age));
	return s->rows < 0 ? -1 : 0;
}

/* ---- deleted sessions ---- */

#define STEP_ROWS 2000

struct doomed {
	int32_t account_no;
	int64_t session_no, before;
	enum stmt_id step;
	int64_t rows;
	bool found;
};

static int
doomed_find(struct ctx *c, void *arg)
{
	struct doomed *d = arg;
	struct rows *rs = db_query(c, STMT_session_remove_next, P_INT(c->now));
	int rc = rows_next(rs);

	d->found = rc > 0;
	if (rc > 0) {
		d->account_no = (int32_t)row_int(rs, 0);
		d->session_no = row_int(rs, 1);
	}
	return rc < 0 ? -1 : 0;
}

static int
doomed_step(struct ctx *c, void *arg)
{
	struct doomed *d = arg;

	if (d->step == STMT_session_remove)
		d->rows = db_exec(c, d->step, P_INT(d->account_no), P_INT(d->session_no));
	else
		d->rows = db_exec(c, d->step, P_INT(d->account_no), P_INT(d->session_no), P_INT(STEP_ROWS));
	return d->rows < 0 ? -1 : 0;
}

/* In bounded steps: a long writing transaction would hold every event back. Rows, 0 = no session is left, -1.
 */
static int64_t
session_remove(struct ctx *c)
{
	static const enum stmt_id steps[] = { STMT_session_remove_floors, STMT_session_remove_log,
		STMT_session_remove_variables, STMT_session_remove };
	struct doomed d = { 0 };
	int64_t all = 0;

	c->now = tm_now();
	if (db_tx(c, DB_SYSTEM, doomed_find, &d) < 0)
		return -1;
	for (size_t i = 0; d.found && i < sizeof(steps) / sizeof(*steps); i++) {
		d.step = steps[i];
		do {
			if (db_tx(c, DB_SYSTEM, doomed_step, &d) < 0)
				return -1;
			all += d.rows;
			arena_reset(c->a);
		} while (d.rows > 0 && d.step != STMT_session_remove);
	}
	return all;
}

static int64_t
by_age(struct ctx *c, const struct sweep_keep *keep)
{
	const struct sweep table[] = {
		{ STMT_sweep_idempotency, DAY_MS },
		{ STMT_sweep_job_files, 0 },
		{ STMT_sweep_jobs, keep->jobs_ms > 0 ? keep->jobs_ms : INT64_MAX / 2 },
		{ STMT_sweep_events, keep->events_ms > 0 ? keep->events_ms : INT64_MAX / 2 },
	};
	int64_t all = 0;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct step s = { &table[i], 1 };

		for (int n = 0; n < ROUNDS_MAX && s.rows > 0; n++) {
			c->now = tm_now();
			if (db_tx(c, DB_SYSTEM, step_send, &s) < 0)
				return -1;
			all += s.rows;
			arena_reset(c->a);
		}
	}
	return all;
}

int64_t
sweep_round(struct ctx *c, const struct sweep_keep *keep)
{
	int64_t all = by_age(c, keep), n = all < 0 ? -1 : 1;

	for (int i = 0; i < ROUNDS_MAX && n > 0; i++) {
		n = session_remove(c);
		all += n;
	}
	return n < 0 ? -1 : all;
}
