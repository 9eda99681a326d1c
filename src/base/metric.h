/*
 * metric: what the processes of this host count and time, for /metrics. Each program keeps its numbers in a
 * file of cells that it maps shared, a cell for each process, so nobody waits for anybody: counting is one
 * atomic addition, and whoever prints adds up all cells of all files in the directory. Before
 * metrics_join (tools, tests) numbers go to a cell that nobody reads.
 *
 * A new number is a name in an enum here and a row in metric.c.
 */
#ifndef BASE_METRIC_H
#define BASE_METRIC_H

#include "sb.h"

/* Counters, and the few gauges (they go up and down, and go with their process). */
enum metric {
	METRIC_REQUESTS_2XX, METRIC_REQUESTS_3XX, METRIC_REQUESTS_4XX, METRIC_REQUESTS_5XX,
	METRIC_REQUESTS_ACTIVE,
	METRIC_TURNS_COMPLETED, METRIC_TURNS_FAILED, METRIC_TURNS_CANCELLED,
	METRIC_TURNS_ACTIVE, METRIC_TURNS_SWEPT,
	METRIC_TOKENS_PROMPT, METRIC_TOKENS_COMPLETION,
	METRIC_MODEL_OK, METRIC_MODEL_ERROR, METRIC_MODEL_RETRY,
	METRIC_STREAM_READERS, METRIC_STREAM_RESUMED,
	METRIC_DB_UNITS, METRIC_DB_REPEATED, METRIC_DB_FAILED, METRIC_DB_CONNECTS, METRIC_DB_BUSY,
	METRIC_EVENTS_SENT, METRIC_EVENT_CLIENTS,
	METRIC_JOBS_DONE, METRIC_JOBS_FAILED, METRIC_JOBS_DEAD,
	METRIC__COUNT
};

/* Durations, counted in buckets. */
enum metric_time {
	METRIC_TIME_REQUEST, METRIC_TIME_TURN, METRIC_TIME_FIRST_TOKEN, METRIC_TIME_CHUNK_GAP,
	METRIC_TIME_TURN_WAIT, METRIC_TIME_GATHER, METRIC_TIME_ASSEMBLY, METRIC_TIME_LORE, METRIC_TIME_REGEX, METRIC_TIME_OPEN, METRIC_TIME_MODEL, METRIC_TIME_COMMIT,
	METRIC_TIME_DB, METRIC_TIME_DB_WAIT,
	METRIC_TIME_EVENT_LAG, METRIC_TIME_JOB,
	METRIC_TIME__COUNT
};

void metric_add(enum metric m, int64_t n);          /* any thread; n < 0 for gauges only */
void metric_time(enum metric_time m, int64_t us);   /* any thread */

/*
 * Makes <dir>/<program>.metrics with room for `processes` cells besides that of the program itself, which this process
 * takes. -1 with errno: the numbers then stay in memory that only children share.
 */
int metrics_create(const char *dir, const char *program, unsigned processes);
/* A cell for a child that is about to be forked; 0 = none is free, it shares the program's own. */
unsigned metrics_reserve(void);
void metrics_join(unsigned cell);                   /* in the child */
void metrics_retire(unsigned cell);                 /* the child is gone: what it counted stays counted */

/* Numbers that are not counted but looked up when somebody asks. */
struct metric_sample {
	const char *name, *labels, *help;               /* as in the table: "jobs", "state=\"queued\"" */
	int64_t value;
};
/*
 * Everything that the programs of `dir` (those of this version; NULL = this one alone) have counted, with the samples
 * as further gauges, neighbours of one name together. open: OpenMetrics 1.0, else the older text format 0.0.4.
 */
void metrics_print(struct sb *out, const char *dir, const struct metric_sample *samples, size_t n, bool open);

#endif
