/*
 * turn_private: what the stages of a turn share. Only for src/turn.
 */
#ifndef TURN_TURN_PRIVATE_H
#define TURN_TURN_PRIVATE_H

#include "base/id.h"
#include "store/branch.h"
#include "token/token.h"
#include "turn/asset_cache.h"
#include "turn/tag_filter.h"
#include "turn/turn.h"

#include <pthread.h>

struct turns {
	struct turns_conf conf;
	struct asset_cache *cache;
	pthread_mutex_t lock;         /* of the list and of the persister's state */
	pthread_cond_t wake;
	struct turn *live;
	pthread_t persister;
	bool started, stop;
};

/* An asset that the session binds, and the version that this turn uses. row 0 = none bound or gone. */
struct bound_asset {
	struct str id, name, version_id, content_hash;
	int64_t row, version_no, updated_at;
};

/* The session as gathered: slices live in the ctx's arena. */
struct turn_session {
	int64_t no, branch_no;
	struct branch branch;
	struct str status, provider, model, character_id, character_version_id, user_name, parent_floor_id;
	const struct json *model_params, *settings, *policy, *branch_policy, *account_settings, *metadata, *preset_choices;
	enum prompt_mode mode;
	bool deep_binding, busy;
	int64_t running;              /* of the account */
	int64_t character_doc, user_doc;
	struct macro_decisions *decisions;
	bool has_decisions;           /* the branch has a state of them */
	struct str preset_pin, worldbook_pin, regex_pin;
	struct bound_asset preset, worldbook, regex;
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

struct turn {
	struct turns *p;
	struct ctx *c;
	struct turn_request q;
	struct turn_session s;
	bool dry;

	/* gathered and assembled */
	const struct prompt_card *card;
	struct prompt_input in;
	struct prompt_decisions decisions;
	struct prompt *prompt;
	struct token_choice tokens;
	struct llm_request llm;
	struct str digest;            /* of the outgoing messages, hex */

	/* recorded by transaction 1 */
	int32_t floor_seq;
	int64_t floor_no, run_no, message_no;
	struct id floor_id, input_page, message_id, run_id, output_page, output_message;
	int64_t started_at;
	enum turn_phase phase;
	int phase_seq;

	/* while it runs; `lock` guards call and cancelled */
	struct stream *stream;
	struct tag_filter filter;     /* loop thread */
	pthread_mutex_t lock;
	struct llm_call *call;
	const char *cancelled;
	bool continues;               /* goes on without readers */
	size_t persisted;             /* bytes of text in run_text; persister */
	struct turn *next, *prev;     /* turns.live */

	/* after the model */
	struct llm_result result;
	struct tagged said;
	struct err why;               /* of a failed turn, while its failure is recorded */
	struct str stored_reply;      /* persist rules' result; absent = as said */
};

/* gather.c: everything an assembly reads, in at most four round trips. Inside db_tx DB_READ. */
int turn_gather(struct ctx *c, void *turn);
/* assemble.c */
int turn_assemble(struct turn *t);
void turn_snapshot_print(struct sb *out, const struct turn *t);       /* prompt_snapshot of the wire */
void turn_trace_print(struct sb *out, const struct turn *t);          /* runtime_trace of the wire */
void turn_memory_print(struct sb *out, const struct turn *t);         /* memory of the dry run */
void turn_assembly_print(struct sb *out, const struct turn *t);       /* assembly of the dry run */
/* commit.c */
int turn_record_open(struct ctx *c, void *turn);                      /* inside DB_WRITE */
int turn_record_commit(struct ctx *c, void *turn);
int turn_record_fail(struct ctx *c, void *turn);
/* Where staged writes belong in the story. */
struct write_place {
	struct str session_id, branch_id;
	int64_t session_no, branch_no, segment_no, page_no;
	int32_t floor_seq;
};
struct rows *macro_writes_send(struct ctx *c, const struct macro_result *m, const struct write_place *at); /* NULL = no writes */
/* persist.c */
void turns_add(struct turns *p, struct turn *t);
void turns_remove(struct turns *p, struct turn *t);

#endif
