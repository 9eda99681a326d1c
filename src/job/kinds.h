/*
 * kinds: the jobs that tavern-jobd can run. A new kind is a function and a row of the table.
 */
#ifndef JOB_KINDS_H
#define JOB_KINDS_H

#include "job/job.h"

struct settings;

/* What the jobs of a process share (job.env). */
struct job_env {
	const struct settings *set;
	struct db *db_sys;
};

extern const struct job_kind job_kinds[]; /* ends with .name NULL */

#endif
