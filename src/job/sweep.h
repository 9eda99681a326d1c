/*
 * sweep: what becomes old. A table of statements, each bounded in what it takes at once, repeated until one
 * finds nothing. Any number of processes may do it at the same time.
 */
#ifndef JOB_SWEEP_H
#define JOB_SWEEP_H

#include "db/db.h"

struct sweep_keep {
	int64_t events_ms, jobs_ms; /* 0 = for ever */
};

/* One round over the table with a ctx on the system's pool, which is reset between statements. Rows that
 * went, or -1 (recorded, logged by the caller). */
int64_t sweep_round(struct ctx *c, const struct sweep_keep *keep);

#endif
