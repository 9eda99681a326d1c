/*
 * variable: the one way in which values change, whoever writes: macros and tools of a turn, clients, forks,
 * promotions, imports. Each write is a row of the append-only log and the current value behind it; all of a
 * list go in one statement, in order, the last of a key wins. Who may write what is the callers' business.
 */
#ifndef STORE_VARIABLE_H
#define STORE_VARIABLE_H

#include "base/ctx.h"
#include "base/sb.h"
#include "db/db.h"

struct var_write {
	const char *scope; /* global | chat | branch | floor | page */
	int64_t scope_no;  /* of session, branch, floor or page; 0 = global, or the page of the place */
	struct str scope_id, key; /* as the API shows it; at most LIM_VARIABLE_KEY bytes */
	struct str value;         /* JSON text; absent = deleted */
	const char *source;       /* client | macro | tool | fork | promotion | import | memory */
	struct str detail;        /* JSON text for the log; absent = nothing more to say */
};

/* Where in the story the writes happen. */
struct var_place {
	int64_t session_no;   /* 0 = outside of sessions */
	struct str branch_id; /* of values of branch scope */
	int64_t segment;      /* 0 = outside of the story */
	int32_t floor_seq;    /* -1 = before the first floor */
	struct str page_id; /* the page that writes: without it there nothing is written; absent = no page */
};

/* Appends a write to a list, which begins as sb_new. */
void var_add(struct ctx *c, struct sb *list, const struct var_write *w);

/*
 * Sends the list; inside db_tx DB_WRITE. NULL for an empty one. Rows: id, revision, created — of values that
 * were set, by scope and key; they need not be read.
 */
struct rows *var_send(struct ctx *c, struct sb *list, const struct var_place *at);

/* "branch:SESSION:BRANCH" */
struct str var_branch_scope_id(struct arena *a, struct str session_id, struct str branch_id);

#endif
