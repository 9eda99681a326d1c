/*
 * runner: the process's side of the jobs: threads that claim and run them, leases that are renewed while they
 * do, jobs of dead workers that are queued again. It knows kinds as a table of functions and nothing of what
 * they do.
 */
#ifndef JOB_RUNNER_H
#define JOB_RUNNER_H

#include "job/job.h"

struct runner_conf {
	const struct job_kind *kinds; /* ends with .name NULL */
	struct db *db, *db_sys;       /* of the application, of the system */
	const char *worker;           /* unique among running processes */
	int threads;
	int poll_ms; /* how long an idle thread sleeps when nobody wakes it */
	void *env;   /* for the jobs */
};

struct runner;

/* Starts the threads. NULL with errno. Lives in the arena until runner_stop. */
struct runner *runner_start(struct arena *a, const struct runner_conf *conf);
/* Something was queued. */
void runner_wake(struct runner *r);
/* Once a second or so, from one thread: renews the leases of what runs here, queues again what others have
 * lost. */
void runner_tick(struct runner *r);
/* No more claims; from `give_back` on, long jobs give themselves back at their next step. */
void runner_stop(struct runner *r, bool give_back);
/* Jobs that run just now; 0 after runner_stop means that the threads may be joined at once. */
int runner_busy(struct runner *r);
void runner_join(struct runner *r);

#endif
