/*
 * turn_private: what the stages of a turn share. Only for src/turn.
 */
#ifndef TURN_TURN_PRIVATE_H
#define TURN_TURN_PRIVATE_H

#include "base/id.h"
#include "prompt/runtime_policy.h"
#include "store/branch.h"
#include "token/token.h"
#include "turn/asset_cache.h"
#include "turn/tag_filter.h"
#include "turn/turn.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

struct turns {
	struct turns_conf conf;
	struct asset_cache *cache;
	struct regex_memo *regex_memo;
	const struct prompt_preset *built_in; /* of turns without a preset */
	sem_t preparing;              /* places of turns that are gathered and assembled (turn.c) */
	_Atomic unsigned begun;       /* turns, ever */
	pthread_mutex_t lock;         /* of the list and of the persister's state */
	pthread_cond_t wake;
	struct turn *live;
	pthread_t persister;
	bool started, stop;

	pthread_mutex_t follow_lock;  /* of the members below (follow.c) */
	pthread_cond_t follow_wake;
	struct follow *followed;
	pthread_t follower;
	bool follow_started, follow_stopped;
};

/* A session's frozen card, compiled, and what its text says of itself. */
struct cached_card {
	const struct prompt_card *card;
	struct str hash, format;      /* hex SHA-256 of the document; "v1", "v2", "v3" or absent */
};

/* An asset that the session binds, and the version that this turn uses. row 0 = none bound or gone. */
struct bound_asset {
	struct str id, name, version_id, content_hash;
	int64_t row, version_no, updated_at;
};

/* Columns of the session as they are stored; absent = nothing said. For the record of a turn. */
enum raw_column {
	RAW_MODEL_PARAMS,
	RAW_SETTINGS,
	RAW_POLICY,
	RAW_PRESET_CHOICES,
	RAW_METADATA,
	RAW_BRANCH_POLICY,
	RAW_ACCOUNT_SETTINGS,
	RAW__COUNT
};

/* The session as gathered: slices live in the ctx's arena. */
struct turn_session {
	int64_t no, branch_no;
	struct branch branch;
	struct str status, provider, model, character_id, character_version_id, user_name;
	const struct json *model_params, *settings, *policy, *branch_policy, *account_settings, *metadata, *preset_choices;
	bool branch_exists;           /* the branch that was asked for */
	struct rows *source;          /* the floor that the request names, or the head; NULL = none was looked for (scope.c) */
	const char *history_mode;     /* of the wire: whose story is read; NULL = the branch's own */
	int64_t as_of_segment;        /* variables are read from the log of this segment, as they were at … */
	int32_t as_of;                /* … this floor; segment 0 = as they are now */
	enum prompt_mode mode;
	bool deep_binding, busy;
	int64_t running;              /* of the account */
	int32_t history_floors;       /* newest floors that filled the context: of the last turn, and of this one when its story is settled */
	int64_t character_doc, user_doc;
	struct macro_decisions *decisions;
	bool has_decisions;           /* the branch has a state of them */
	struct str preset_pin, worldbook_pin, regex_pin;
	struct bound_asset preset, worldbook, regex;
	int64_t context_tokens, reply_tokens; /* where neither preset nor request says */
	struct str raw[RAW__COUNT];
	struct str decisions_text;    /* the state as it was gathered; absent = there is none */
};

/* A variable that an assembly asked for. */
struct var_read {
	enum macro_view view;
	bool found;
	struct str name;
	struct macro_value value;
};
struct var_reads {
	struct arena *a;
	struct macro_vars under;
	VEC(struct var_read) v;
};

/* A decision statement that was answered. */
struct decided {
	bool choice;
	struct str statement;
	struct macro_answer answer;
};

/* The record of a turn that is made again (replay.c). */
struct past {
	const struct json *frame, *inputs;
	int64_t clock;
	uint64_t seed;
	int64_t segment;              /* of its floor */
	int32_t floor;
	struct json *notes;           /* what is gone */
};

/* Where a turn is written, if not as the next floor of its branch (scope.c). */
struct turn_target {
	bool again;                   /* another output page of a floor that is there */
	bool copies;                  /* which other branches show: it is copied first */
	bool forks, before;           /* a branch is made first, that ends at the floor, or below it */
	int64_t floor_no, segment;    /* the floor; 0 = none */
	int32_t seq;
	struct str floor_id, state;
};

/* A message of the floor before it was copied, and the copy. */
struct turn_twin {
	int64_t no, copy_no;
	struct str copy_id;
};

enum turn_phase {
	PHASE_INPUT_RECORDED,
	PHASE_SEMANTIC_RESOLVED,
	PHASE_PRECHECKED,
	PHASE_PROMPT_ASSEMBLED,
	PHASE_PAGE_GENERATING,
	PHASE_CANDIDATE_GENERATED,
	PHASE_VERIFIER_CHECKED,
	PHASE_TRANSACTION_PREPARED,
	PHASE_TRANSACTION_COMMITTED,
	PHASE_POST_COMMIT_SCHEDULED,
	PHASE__COUNT
};

/* When the stages of a turn ended, for the metrics and the waterfall of the trace. */
enum turn_mark { MARK_ADMITTED, MARK_GATHERED, MARK_ASSEMBLED, MARK_OPENED, MARK_HEARD, MARK_SAID, MARK_COMMITTED, MARK__COUNT };

/*
 * What is written about the assembly, printed as soon as it is there: a turn waits for connections and for its model without it.
 */
struct turn_record {
	struct str sent, rolls;       /* what the prompt made of the new message, and its chance macros; absent = nothing */
	int64_t tokens;               /* of the new message */
	struct str snapshot, explain, frame, frame_digest, inputs, policy, activated;
	struct str stored;            /* older messages that were sent for the first time; absent = none */
	struct str request;           /* the outgoing body, if the session keeps it; else absent */
};

struct turn {
	struct turns *p;
	struct ctx *c;
	struct turn_request q;
	struct turn_session s;        /* its branch is the story that is read: without the floor that is made again */
	struct turn_target target;
	bool dry;
	bool branch_given;            /* the request names one */
	bool goes_on;                 /* intent continue: the reply of the head floor goes on, as another page of it */
	bool layout;                  /* only looks: as mode rearrange would lay it out */

	/* gathered and assembled */
	const struct prompt_card *card;
	const struct lore_book *card_book; /* of the set in in.lore; NULL = none */
	const struct json *head_activated; /* what the head floor activated, as stored; NULL = nothing that lasts */
	const struct cached_card *card_file;
	struct policy_resolved policy; /* of session, branch and request */
	struct macro_layers layers;
	struct prompt_input in;
	struct prompt_decisions decisions;
	VEC(struct decided) answers;
	struct var_reads reads;
	VEC(struct turn_twin) twins;  /* of the floor that was copied when the turn was opened */
	VEC(int64_t) hidden;          /* messages that were loaded and are hidden */
	const struct past *past;      /* a turn made again; NULL = a new one */
	struct macro_vars past_vars;  /* what it falls back to */
	struct arena *work;           /* of the assembly and its messages; NULL once they are dropped */
	struct prompt *prompt;
	struct turn_record record;
	struct token_choice tokens;
	struct llm_request llm;
	struct arena *sending;        /* of llm.body, until something was heard: then it is not sent again; NULL = there is none */
	struct str digest;            /* of the outgoing messages, hex */
	uint64_t *marks;              /* a hash of each message */

	/* recorded by transaction 1 */
	int32_t floor_seq;
	int64_t floor_no, run_no;
	int64_t segment;              /* the branch's own: where the floor is written */
	int64_t page_seq, old_page;   /* number of the output page; the page that counts until it is there, 0 = none */
	struct id floor_id, input_page, message_id, run_id, output_page, output_message;
	int64_t started_at;
	int64_t began_us, heard_us;   /* heard: the newest piece of text; loop thread */
	_Atomic int64_t mark_us[MARK__COUNT]; /* monotonic; 0 = not yet */
	enum turn_phase phase;
	int phase_seq;

	/* while it runs; `lock` guards call and cancelled */
	struct stream *stream;
	struct tag_filter filter;     /* loop thread */
	pthread_mutex_t lock;
	struct llm_call *call;
	pthread_cond_t woken;         /* cancelled, while it waits to ask again */
	const char *cancelled;
	int attempt;                  /* of the model call, from 1 */
	bool continues;               /* goes on without readers */
	size_t persisted[2], persisting[2]; /* [reasoning] bytes in run_text, and on their way; persister */
	bool seen;                    /* by the persister: run_text may hold something */
	struct turn *next, *prev;     /* turns.live */

	/* after the model */
	struct llm_result result;
	struct tagged said;
	struct err why;               /* of a failed turn, while its failure is recorded */
	struct str answer;            /* of the route, printed before the commit: a key keeps it */
	struct str stored_reply;      /* persist rules' result; absent = as said */
	struct rows *written;         /* answer of the statement that decides, while a unit is written */
};

struct turn *turn_new(struct turns *p, struct ctx *c, const struct turn_request *q, bool dry); /* turn.c */
/* gather.c: everything an assembly reads, in at most four round trips. Inside db_tx DB_READ. */
int turn_gather(struct ctx *c, void *turn);
/* The same from a record: t->past. */
int turn_gather_past(struct turn *t);
/* A column of JSON; NULL for an empty object too: most say nothing, and an object takes 800 bytes. In c->a. */
const struct json *turn_column(struct turn *t, const struct rows *rs, int col);
/* history.c: asked together with other things, read behind the assets, which say what the budget is, then put into t->in. */
struct turn_history {
	VEC(struct prompt_message) v; /* newest first */
	int64_t tokens;               /* of those that are seen */
	bool hides;                   /* the policy hides floors */
	bool ends_hidden;             /* the newest message is a hidden one */
	int32_t from;                 /* the oldest floor of the first scan */
	struct rows **asked;          /* its answers, newest first */
	size_t nasked;
};
void turn_history_ask(struct turn *t, struct turn_history *h);
int turn_history_read(struct turn *t, struct turn_history *h);
int turn_history_take(struct turn *t, struct turn_history *h, struct rows *rs); /* messages of which one knows otherwise; newest first */
void turn_history_settle(struct turn *t, struct turn_history *h);     /* oldest first, the new message last */
/* scope.c: whose story is read, and where the turn is written. turn_find before the session is read, by what names it. Inside db_tx DB_READ. */
int turn_find(struct turn *t);
int turn_scope(struct turn *t);
/* again.c: the parts of a unit of work that make a branch or a floor again */
const struct turn_twin *turn_twin_of(const struct turn *t, int64_t message_no); /* NULL = it is no message of a floor that was copied */
int turn_place(struct ctx *c, struct turn *t);      /* in front of what opens a turn: the branch and the floor that it needs */
void again_open_send(struct ctx *c, struct turn *t);
int again_opened(struct turn *t);
/* Behind turn_switch and turn_commit: the branch's values without what the old page wrote; a reply that goes on takes that over. */
void again_values_send(struct ctx *c, struct turn *t);
struct str turn_config_print(struct turn *t);       /* commit.c: frozen configuration of the run */
/* assemble.c */
int turn_assemble(struct turn *t);
/* Zone and awareness of time: the session's, else the account's (decisions 46). */
void turn_clock_settle(struct arena *a, struct prompt_input *in, const struct json *session, const struct json *account);
struct prompt_note turn_note(const struct turn *t);                   /* the session's, else the account's */
/* How lore is scanned: the session's settings over the account's over SillyTavern's defaults. */
void turn_lore_settle(struct turn *t);
void turn_lore_take(struct prompt_input *in, const struct json *said); /* members of settings.lore, or of a simulation */
extern const char *const turn_lore_strategies[];                      /* by enum lore_strategy */
bool turn_asks_to_go_on(const struct turn *t);                        /* prompt_intent continue */
void turn_model_choose(struct turn *t);                               /* the model, and with it the token counter */
void turn_input_settle(struct turn *t);                               /* everything of the assembly's input */
bool turn_debug(const struct turn *t, const char *what);              /* debug_options of the request */
/* timing.c */
void turn_mark(struct turn *t, enum turn_mark m);                     /* the stage ends now; counted */
struct json *turn_timing_json(const struct turn *t);                  /* runtime_trace.timing: the waterfall */
/* report.c */
void turn_snapshot_print(struct sb *out, const struct turn *t);       /* prompt_snapshot of the wire */
void turn_trace_print(struct sb *out, const struct turn *t);          /* runtime_trace of the wire */
struct json *turn_memory_json(const struct turn *t);                  /* memory of the wire */
struct json *turn_memory_base(struct arena *a, bool sent, int64_t tokens); /* what turns and explanations say alike */
bool turn_summary_sent(const struct turn *t);
void turn_assembly_print(struct sb *out, const struct turn *t);       /* assembly of the dry run */
/* explain.c: what is kept of the reasons */
void turn_explain_print(struct sb *out, const struct turn *t);
/* record.c: what is kept to make the request again */
void turn_sent_input(struct turn *t);                                 /* commit.c: of the record, the new message */
void turn_activated_print(struct sb *out, const struct turn *t);       /* commit.c */
void turn_stored_print(struct sb *out, const struct turn *t);
void turn_record_make(struct turn *t);                                /* t->record */
void turn_frame_print(struct sb *out, const struct turn *t);
void turn_inputs_print(struct sb *out, const struct turn *t);
void turn_sent_print(struct sb *out, const struct turn *t);
struct str turn_request_text(struct arena *a, const struct turn *t);
struct str turn_request_digest(const struct turn *t);                 /* of what was sent, hex */
struct macro_vars turn_reads_watch(struct arena *a, struct var_reads *r, struct macro_vars under);
void turn_decide(void *turn, struct macro_turn *m, size_t from);      /* asks, and notes the answers */
void turn_past_settle(struct turn *t);                                /* replay.c: clock, chance and answers of the record */
/* look.c: parts of dry run, inspection and preview */
void turn_prepared_print(struct sb *out, const struct turn *t);       /* members: messages, tokens, memory, snapshot, trace */
void turn_look_print(struct json *o, const struct turn *t, bool of_preview);
struct str turn_joined(const struct turn *t, struct str said);        /* what was said before, with what the model went on to say */
const char *turn_run_type(const struct turn *t);                      /* commit.c */
/* commit.c: each one transaction, one round trip */
int turn_record_open(struct turn *t);
int turn_record_commit(struct turn *t);
/* Whether the run is completed: what a commit whose answer was lost has come to. */
bool turn_record_committed(struct turn *t);
int turn_record_fail(struct turn *t);
/* Where staged writes belong in the story. */
struct write_place {
	struct str session_id, branch_id, page_id;
	int64_t session_no, branch_no, segment_no;
	int32_t floor_seq;
};
void macro_writes_send(struct ctx *c, const struct macro_result *m, const struct write_place *at); /* nothing if the page is not there */
/* key.c: the statements of the turn's Idempotency-Key, inside the unit that opens it and the one that commits it; none without a key */
void turn_key_claim_send(struct ctx *c, const struct turn *t);
void turn_key_answer_send(struct ctx *c, const struct turn *t);
int promotions_send(struct ctx *c, const struct turn *t, const struct write_place *at); /* writes.c; a floor that is committed at its second try */
/* persist.c */
void turns_add(struct turns *p, struct turn *t);
void turns_remove(struct turns *p, struct turn *t);

#endif
