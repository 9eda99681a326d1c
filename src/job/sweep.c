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

int64_t
sweep_round(struct ctx *c, const struct sweep_keep *keep)
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
