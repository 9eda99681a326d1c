/*
 * call: one call to a model server, shared by the thread that waits for it and the loop that makes it. The call has
 * its own arena: the loop's until the call has ended, the waiter's afterwards. Private to this directory.
 */
#ifndef LLM_CALL_H
#define LLM_CALL_H

#include "llm/answer.h"
#include "llm/target.h"

#include <pthread.h>

struct llm {
	struct loop *loop;
	struct llm_conf conf;
	CURLM *multi;
	uint64_t timer;              /* curl's; 0 = none */
	struct arena *tmp;           /* of the event that is read just now; loop thread */
	pthread_mutex_t lock;        /* of `calls` */
	struct llm_call *calls;      /* those the loop has */
};

enum call_kind { CALL_CHAT, CALL_ECHO, CALL_FETCH };

struct llm_call {
	struct llm *m;
	struct llm_call *prev, *next;
	enum call_kind kind;
	struct arena *a;
	struct ctx *c;               /* the waiter's; only llm_begin and llm_wait use it */
	struct err early;            /* why the call could not begin */
	int64_t began;               /* monotonic ms */

	/* between the threads */
	pthread_mutex_t lock;
	pthread_cond_t cond;
	int refs;                    /* waiter, loop while it has the call, cancels under way */
	bool ended;                  /* the waiter may go on: what the loop did is finished */
	char why[64];                /* of a cancel */

	/* the loop's while the call runs */
	struct answer an;
	struct llm_sink sink;        /* the caller's */
	int64_t first_ms;            /* -1 = no text yet */
	uint64_t timer;
	int64_t last, limit_total;   /* when bytes came last; when to give up (0 = never) */
	int idle_ms;
	bool delivered;              /* the waiter has been told: leave `an` and the arena alone */

	/* a transfer (transfer.c) */
	struct target target;
	CURL *easy;
	struct curl_slist *headers, *pin;
	struct arena *body_arena;    /* given back when the answer begins */
	struct str body;
	bool requested;              /* digest is that of the body */
	struct digest digest;
	size_t sent;
	bool headed;                 /* the head of the answer is known */
	bool refused_addr;
	char curl_error[CURL_ERROR_SIZE];
	struct sb fetched;           /* CALL_FETCH */
	size_t fetch_max;

	/* echo.c */
	struct str echo;
	size_t echo_at;
};

/* call.c. On the loop thread: */
void call_deliver(struct llm_call *call);    /* the answer has ended: the waiter goes on */
void call_fail(struct llm_call *call, enum llm_error_kind kind, const char *code, const char *message); /* and deliver */
void call_unref(struct llm_call *call);
void call_ref(struct llm_call *call);
void call_release(struct llm_call *call);    /* the loop is done with it */

/* transfer.c and echo.c: begin on the loop; stop at once (also what has not begun) and release. */
void transfer_start(struct llm_call *call);
void transfer_stop(struct llm_call *call);
int transfer_init(struct llm *m);
void transfer_exit(struct llm *m);
void echo_prepare(struct llm_call *call, const struct llm_request *q);
void echo_start(struct llm_call *call);
void echo_stop(struct llm_call *call);

#endif
