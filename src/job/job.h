/*
 * job: work for later. A job is a row that the application queues in its own transaction; workers of
 * tavern-jobd claim rows (SKIP LOCKED), hold them by a lease, and end them as done, dead or queued again. A
 * job runs at least once: its effects are either repeatable or made in the transaction that ends it
 * (job_done). What kinds of jobs there are is a table (kinds.h); what they do is not known here.
 */
#ifndef JOB_JOB_H
#define JOB_JOB_H

#include "base/json.h"
#include "db/db.h"

struct job;

/* The row of a kind of job. */
struct job_kind {
	const char *name;
	int (*fn)(struct job *j); /* 0 done, -1 with the error recorded */
	int attempts;             /* tries in all */
	int64_t lease_ms;         /* a worker that says nothing for so long is gone */
	int64_t backoff_ms;       /* before the second try; doubled for each further one */
};

/* A job in the hands of a worker. */
struct job {
	struct ctx *c; /* enters the job's account; its arena lives as long as the try */
	const struct job_kind *kind;
	void *env; /* what the program gave the runner */
	int32_t account_no;
	int64_t no;
	const char *id;
	const struct json *args;
	int attempt, max_attempts;
	const char *worker;
	bool ended;                  /* job_done was committed */
	bool given_back;             /* stopped by us: the try does not count */
	bool (*stopping)(void *arg); /* should a long job give itself back? NULL = never */
	void *stopping_arg;
};

struct job_new {
	const char *kind, *id, *scope; /* scope NULL = any number at a time */
	struct str args;               /* JSON */
	int attempts;
};

/* Queues a job. Inside db_tx DB_WRITE; after the commit call job_wake. 0 with its number, or -1. */
int job_enqueue(struct ctx *c, const struct job_new *n, int64_t *no_out);
/* Tells the runner of this host that something waits, if there is one: a datagram into the run directory.
 * Never fails. */
void job_wake(const char *run_dir);
/* The receiving side: the bound socket, or -1 with errno. */
int job_wake_listen(const char *run_dir);

/*
 * Between steps of a job, outside of db_tx: says how far it is, keeps the lease. total 0 = not known. -1 with
 * the error recorded when the job was cancelled, belongs to somebody else, or is to be given back: the
 * function then returns -1, too.
 */
int job_progress(struct job *j, const char *phase, int64_t done, int64_t total);
/*
 * Inside db_tx DB_WRITE, last: the job is done with this transaction. result: JSON. file_until: ms until
 * which its output file is kept, 0 = none. -1 if it was cancelled or is somebody else's, so that the
 * transaction is rolled back.
 */
int job_done(struct job *j, struct str result, int64_t file_until);

/* Files of jobs: pieces written in order, inside db_tx. */
#define JOB_PIECE (256u << 10)
enum job_part { JOB_INPUT, JOB_OUTPUT };
int job_file_write(struct ctx *c, int64_t job_no, enum job_part part, int64_t at, struct str bytes);
/* The piece that begins at `at`: 1, 0 no more, -1. */
int job_file_read(struct ctx *c, int64_t job_no, enum job_part part, int64_t at, struct str *bytes_out);

/* Milliseconds before the try after `attempt` (from 1): doubled each time, at most 10 minutes, a quarter more
 * or less by chance. Pure. */
int64_t job_backoff(int64_t first_ms, int attempt, uint64_t chance);
/* Is there hope in trying again after such a failure? Pure. */
bool job_worth_retry(enum err_kind kind);

#endif
