/*
 * turn: one exchange with the model, from the user's message to the committed reply. Straight
 * code on the request thread: open (transaction 1: floor, message, run) → assemble (pure) →
 * model (the loop relays, the thread sleeps) → commit (transaction 2), or fail. No transaction
 * spans the model call and no connection is held across it. Knows no HTTP and no FastCGI: what a
 * turn says goes to its stream; who reads that is not its business.
 */
#ifndef TURN_TURN_H
#define TURN_TURN_H

#include "base/json.h"
#include "base/sb.h"
#include "db/db.h"
#include "llm/llm.h"
#include "prompt/prompt.h"
#include "stream/stream.h"

#define TURN_CANCELLED "cancelled by request" /* why a run ended, for its readers */

struct turn_key;

struct turns_conf {
	struct loop *loop;
	struct db *db;                /* what followers of other processes' runs read */
	struct db *db_sys;            /* persister and sweeper */
	struct llm *llm;
	const struct waker *waker;    /* tavern-eventd, if it listens; NULL = nobody */
	const char *worker;           /* <host>/<generation>-<slot> */
	/* The operator's model, where a session names none. */
	const char *provider, *base_url, *api_key, *model;
	int64_t context_tokens, reply_tokens; /* where neither preset nor request says */
	int retries;                  /* further tries of a model call of which nothing was heard */
	int64_t total_ms;             /* of a turn's model calls together; 0 = none */
	/*
	 * Who answers decision statements (prompt_decisions.ask), and the model's id, with which answers are kept. NULL = nobody:
	 * every comparison with one is false (marinara-conditionals 8.7). Called on the request thread, without a connection, but in the
	 * place of a turn that is prepared (preparing_max): whoever waits long in it must give that place away meanwhile.
	 */
	void (*decide)(void *arg, struct macro_turn *t, size_t from);
	void *decide_arg;
	const char *decision_model;
	int account_streams_max;      /* running turns of one account; 0 = no limit */
	int on_disconnect;            /* enum turn_policy where neither request nor session says */
	int linger_ms;                /* how long the stream of an ended turn waits for late readers */
	size_t cache_bytes;           /* compiled assets of this process */
	int lease_ms;                 /* of a run; renewed every second */
	int preparing_max;            /* turns that are gathered and assembled at once; the others wait; 0 = no limit */
	int preparing_wait_ms;        /* how long, then ERR_UNAVAILABLE */
};

struct turns;

/* The process's side: running turns, persister and sweeper thread, cache of compiled assets. */
struct turns *turns_create(struct arena *a, const struct turns_conf *conf);
int turns_start(struct turns *p);        /* after the fork: starts the persister; -1 with errno */
void turns_stop(struct turns *p);        /* last persisting round, joins the thread if there is one, drops the cache */
/* Drain is over: cancels every running turn (their floors fail with what was said). */
void turns_cancel_all(struct turns *p, const char *why);
/* Somebody wants this run to end: its model call is cancelled. False: it does not run here. Any thread. */
bool turns_cancel(struct turns *p, int64_t run_no, const char *why);

enum turn_type { TURN_RESPOND, TURN_REGENERATE, TURN_RETRY, TURN_EDIT, TURN_TYPE__COUNT };

/* What becomes of a turn when the last of its readers leaves. */
enum turn_policy { POLICY_AUTO, POLICY_ABORT, POLICY_CONTINUE, POLICY__COUNT }; /* auto: continue with a key, else abort */
extern const char *const turn_policies[]; /* their names; NULL-terminated */

struct turn_request {
	enum turn_type type;
	enum turn_type asked;         /* the route that was called: a respond whose first try failed retries its floor, and answers as respond */
	struct str session_id;
	struct str branch_id;         /* absent = main */
	struct str message;
	const struct json *body;      /* validated: generation_params, structure, delivery, debug_options, prompt_intent … */
	struct str floor_id;          /* TURN_RETRY: which floor; session_id is found by it */
	struct str message_id;        /* TURN_EDIT: which message is said anew, as `message`; session_id is found by it */
	struct str source_floor_id;   /* of a look at the story as it was there, or of a new branch; absent = the branch's head */
	bool anywhere;                /* a look: a branch that does not exist yet is no error (source floor, else main) */
	bool stream;                  /* events are read while it runs */
	const struct turn_key *key;   /* Idempotency-Key (turn/key.h); NULL = none */
	enum turn_policy on_disconnect; /* auto: what the session says, else the configuration */
};

struct turn;

/*
 * Transaction 1. NULL with the error recorded: ERR_NOT_FOUND session, branch, floor_not_found, message_not_found,
 * no_floor_to_regenerate, no_floor_to_continue; ERR_CONFLICT session_archived, generation_conflict, generation_target_stale,
 * content_target_locked, floor_not_committed, branch_exists; ERR_RATE account_streams_exceeded; ERR_UNAVAILABLE server_busy; ERR_INVALID.
 * Lives in c->a.
 */
struct turn *turn_open(struct turns *p, struct ctx *c, const struct turn_request *q);
struct stream *turn_stream(struct turn *t);
/* The last reader has left: cancels the model call if the turn's policy says so. Any thread, until turn_run has returned. */
void turn_reader_left(void *turn);
/*
 * To the commit. 0: `answer` is the JSON of the wire's respond answer (and of `done`); -1: the error is recorded, the
 * floor has failed. In both cases the stream has been finished.
 */
int turn_run(struct turn *t, struct sb *answer);

/* What the ids of a run's events begin with (stream_set_label). */
struct str run_label(struct arena *a, struct str floor_id, struct str run_id);
/* The phase that clients see for a stored one. */
const char *run_public_phase(struct str phase);

#endif
