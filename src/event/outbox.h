/*
 * outbox: rows of table `event`: written in the transaction of what they tell of, read in an order that every reader
 * sees alike: (xid, no), below the oldest transaction that still runs. Knows neither connections nor what is told of a row.
 */
#ifndef EVENT_OUTBOX_H
#define EVENT_OUTBOX_H

#include "base/sb.h"
#include "base/vec.h"
#include "db/db.h"

/* A place between events. Shown as "xid.no": behind a row; "xid.no.part": behind the part-th event told of that row. */
struct event_pos {
	uint64_t xid;
	int64_t no;
	unsigned part; /* 0 = the whole row */
};
#define EVENT_POS_END ((struct event_pos){ UINT64_MAX, INT64_MAX, 0 })

void event_pos_add(struct sb *out, struct event_pos p);
bool event_pos_parse(struct str s, struct event_pos *out);
int event_pos_cmp(struct event_pos a, struct event_pos b); /* by row, not by part */

/* What a run did to its floor, as the database has it now. Absent slices and 0 = null. */
struct outbox_run {
	struct str session_id;
	int64_t no;
	struct str id, type, state, phase;
	int64_t phase_seq, attempt_no, started_at, updated_at, completed_at;
	struct str error, verifier; /* JSON */
	struct str worker, provider, model;
	struct {
		struct str id, branch_id, parent_id, state;
		int64_t seq, token_in, token_out, created_at, updated_at, committed_at;
	} floor;
	/* What it wrote. */
	struct str page_id, text, usage, finish_reason, summaries;
};

/* A change of a variable that a page made. */
struct outbox_change {
	struct str scope, scope_id, id, key, source;
	struct str value; /* JSON; absent = deleted */
	int64_t at;
	bool is_new;
};

struct outbox_row {
	struct event_pos pos;
	int32_t account_no;
	struct str session_id, name, data; /* data: JSON */
	int64_t at;
	int64_t run_no, page_no;
	const struct outbox_run *run; /* NULL = none, or gone */
	VEC(struct outbox_change) changes;
};

struct outbox_query {
	struct event_pos after, until; /* until: EVENT_POS_END, or a place up to which everything could be read once */
	const int32_t *accounts;       /* NULL = all */
	size_t n_accounts;
	struct str session_id;         /* only with one account; absent = all */
	int limit;
};

struct outbox_batch {
	VEC(struct outbox_row) rows; /* in order */
	struct event_pos end;        /* where to go on: everything of the query up to here is in rows */
	bool full;                   /* the limit was reached: there may be more */
	bool waiting;                /* rows behind the end wait for a transaction that still runs */
};

/* In c's arena, on a DB_SYS pool. 0 or -1 with the error recorded. */
int outbox_read(struct ctx *c, const struct outbox_query *q, struct outbox_batch *out);

/* A run that goes on, looked up by its number; *out NULL if it is gone. */
int outbox_run(struct ctx *c, int32_t account_no, int64_t run_no, const struct outbox_run **out);

#endif
