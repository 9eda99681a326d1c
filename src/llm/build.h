/*
 * build: what the writers of all dialects share: the turns of a request with results that are missing filled
 * in, what a model takes of sampling, stop strings and effort, and the words for what it does not take.
 * Private to this directory.
 */
#ifndef LLM_BUILD_H
#define LLM_BUILD_H

#include "llm/dialect.h"

#include "base/vec.h"

#define ROLE_FILLER "[Start a new chat]"
#define PREFILL_WORDS "Begin your reply with exactly this text and carry on from it:\n"
#define CONTINUE_WORDS "Continue your last message from exactly where it stopped. Do not repeat it."
#define NO_RESULT "{\"error\":\"no result\"}"

/* A message on its way to the wire. */
struct turn {
	const char *role;
	struct str content, name, reasoning, call_id, model;
	const struct json *calls, *extra, *blobs;
	bool prefill;
};

struct build {
	struct arena *a;
	const struct llm_request *q;
	const struct llm_caps *caps;
	struct llm_warnings *w;
	struct json *body;
	VEC(struct turn) turns;
	bool continue_final; /* chat: vLLM's switches for a prefill */
	bool thinking;       /* switched on in this request */
};

struct build build_begin(
    struct arena *a, const struct llm_request *q, const struct llm_caps *caps, struct llm_warnings *w);
void build_warn(struct build *b, const char *code);
void build_dropped(struct build *b, const char *param);
bool turn_is(const struct turn *t, const char *role);
struct str turn_trimmed(struct str s); /* without the blanks at its end */
/* The beginning of the reply becomes an instruction; the words for carrying on behind a stored answer. */
void build_prefill_convert(struct build *b, struct turn *last);
void build_continue(struct build *b);
/* Blank texts without calls or items of their own go; true = something was left out. */
void build_drop_empty(struct build *b);

enum sampling { S_TEMPERATURE, S_TOP_P, S_PENALTY, S_TOP_K, S_EXTENDED };
bool build_sampling_allowed(const struct build *b, enum sampling s);
/* The value under `name` of o, or the warning that it was dropped; NAN = not asked for. */
void build_number(struct build *b, struct json *o, const char *name, double value);
/* What the request asks for and this dialect has no member for. */
enum { NO_PENALTIES = 1, NO_TOP_K = 2, NO_EXTENDED = 4, NO_SEED = 8, NO_STOP = 16 };
void build_refused(struct build *b, unsigned what);
void build_stop(struct build *b, struct json *o, const char *name);
bool build_effort_allowed(const struct llm_caps *caps, const char *effort);
void build_members(struct build *b, struct json *o, const struct json *extra);

#endif
