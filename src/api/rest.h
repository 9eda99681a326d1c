/*
 * rest: the handlers that a resource row needs no code for, and the macros that put them in a
 * route table. route.arg is the resource.
 */
#ifndef API_REST_H
#define API_REST_H

#include "db/resource.h"
#include "http/request.h"

int rest_list(struct request *r);          /* GET /things */
int rest_get(struct request *r);           /* GET /things/{id} */
int rest_create(struct request *r);        /* POST /things */
int rest_patch(struct request *r);         /* PATCH /things/{id}, guard from the body */
int rest_delete(struct request *r);        /* DELETE /things/{id}, guard from body or query */
int rest_batch_delete(struct request *r);  /* POST /things/batch/delete {"ids":[…]} */

/*
 * The same for things whose delete is a step with rules: one(r, id) is 0 or -1 with the error recorded; a missing one is
 * an action of its own, any other refusal refuses the whole batch.
 */
int rest_batch_delete_each(struct request *r, int (*one)(struct request *r, struct str id));

/* "session" -> error `not_found` "session not found". Returns -1. */
int rest_not_found(struct request *r, const struct resource *res);
/* {total,limit,offset,has_more,sort_by,sort_order} */
const char *rest_list_meta(struct arena *a, const struct list_query *q, int64_t total);

/* 200 {"data":{"id","deleted":true}} */
int rest_deleted_reply(struct request *r, struct str id);

/* A handler's unit of work: request and arguments through db_tx. */
int rest_tx(struct request *r, enum db_mode mode, int (*fn)(struct request *, void *), void *arg);

/*
 * Rows (index, id, changed) as the answer of a batch that sets a status; of one that deletes, without one. `conflicts`: the protocol
 * counts them here, and there are none.
 */
int rest_batch_print(struct rows *rs, struct str status, bool conflicts, struct sb *out);
/* A JSON array of texts as a PostgreSQL array literal. */
void rest_ids_array(struct sb *out, const struct json *ids);

extern const struct field rest_batch_ids[];     /* {"ids": [string, …]} */
extern const struct field rest_batch_answer[];  /* results + meta of a batch delete */
extern const struct field rest_batch_status_answer[]; /* the same of a batch that sets a status */
extern const struct field rest_deleted[];       /* {id, deleted} */

/* What belongs to a deleted session is gone, though a job removes its rows later: conditions of resources. */
#define REST_LIVE_FLOOR "EXISTS (SELECT FROM session s WHERE s.account_no = acct() AND s.no = t.session_no AND s.deleted_at IS NULL)"
#define REST_LIVE_PAGE \
	"EXISTS (SELECT FROM floor f JOIN session s ON s.account_no = acct() AND s.no = f.session_no AND s.deleted_at IS NULL" \
	" WHERE f.account_no = acct() AND f.no = t.floor_no)"
#define REST_LIVE_MESSAGE \
	"EXISTS (SELECT FROM page p JOIN floor f ON f.account_no = acct() AND f.no = p.floor_no" \
	" JOIN session s ON s.account_no = acct() AND s.no = f.session_no AND s.deleted_at IS NULL" \
	" WHERE p.account_no = acct() AND p.no = t.page_no)"
#define REST_LIVE_VARIABLE "(t.session_no IS NULL OR " REST_LIVE_FLOOR ")"

#endif
