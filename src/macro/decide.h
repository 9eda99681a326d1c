/*
 * decide: decision statements of the marinara dialect (spec marinara-conditionals 8): which ones a
 * turn must ask, what timers hold, and what the answers mean. The model call itself is the caller's:
 *
 *	turn = macro_turn_begin(a, &state, key, config)	new key: the turn counter moves
 *	macro_turn_plan(turn, env, texts, n, limit)	-> turn->ask: the batch to send
 *	macro_turn_answer(turn, i, …)			for each that came back; silence = no answer
 *	macro_turn_end(turn)				timers move, answers are kept
 *	env.answer = macro_turn_lookup, env.answer_ctx = turn		for the evaluation
 *
 * A preview plans and looks up, but never answers nor ends. Texts that come up later (entries of lore) are
 * planned, answered and ended in the same way: what was looked at before is not asked again, and only what
 * is left of the limit can be. State is data that the caller stores per branch (macro_decisions_json and
 * back): answers of at most 200 turns, failures never.
 */
#ifndef MACRO_DECIDE_H
#define MACRO_DECIDE_H

#include "macro.h"

#define MACRO_DECISION_LIMIT 32  /* statements per turn unless set; 1..255 */
#define MACRO_DECISION_TURNS 200 /* turns whose answers are kept */
#define MACRO_DECISION_IDLE 1000 /* turns after which an open timer is dropped */
#define MACRO_NONE_OF_THESE "none of these"

enum macro_priority { MACRO_PRIORITY_LOW = -1, MACRO_PRIORITY_MEDIUM, MACRO_PRIORITY_HIGH };
enum macro_lasts { MACRO_LASTS_NONE, MACRO_LASTS_UNTIL, MACRO_LASTS_WHILE };

struct macro_option {
	struct str name, criteria; /* criteria absent: undescribed */
};

struct macro_statement {
	bool choice;
	struct str text;                  /* macros filled, blanks collapsed: the key */
	unsigned sticky, cooldown, every; /* turns; 0 = none */
	enum macro_priority priority;
	enum macro_lasts lasts;
	struct str lasts_text;
	bool lasts_or;
	VEC(struct macro_option) options;
};
struct macro_statements {
	VEC(struct macro_statement) v;
};

/* Every statement of a text as written, one per place, reachable or not, macros not filled. For imports and
 * editors. */
void macro_statements_collect(struct arena *a, const struct macro_template *t, struct macro_statements *out);

/*
 * Planning pass over one text: appends the statements whose answer could change the outcome, macros filled,
 * one per place and, in a group, one per character if they name one. `env.answer` settles what is known.
 * Changes nothing. Returns the text as far as it is settled: undecided blocks take their first branch, or are
 * dropped with `settled_only`.
 */
struct str macro_statements_reach(struct arena *a, const struct macro_env *env,
    const struct macro_template *t, bool settled_only, struct macro_statements *out);

/* Merges equal statements (longest timers, highest priority, first until/while, union of options), drops
 * choices without options, sorts by priority (stable), cuts at `limit`; the rest goes to `dropped` (may be
 * NULL). */
void macro_statements_plan(struct arena *a, const struct macro_statements *in, unsigned limit,
    struct macro_statements *ask, struct macro_statements *dropped);

/* Equal statements as one, in order of their first place. */
void statements_merge(struct arena *a, const struct macro_statements *in, struct macro_statements *out);

struct macro_decisions; /* timers and answers of one branch */
struct macro_decisions *macro_decisions_new(struct arena *a, const struct json *stored); /* NULL = none yet */
struct json *macro_decisions_json(struct arena *a, const struct macro_decisions *d);
/* As the story was `turns` turns ago: what began since is forgotten. For forks. */
void macro_decisions_rewind(struct macro_decisions *d, int64_t turns);

struct macro_held {
	bool choice;
	struct str text;
	struct macro_answer answer;
};

struct macro_turn {
	struct macro_decisions *state;
	int64_t number;              /* of the turn, from 1 */
	struct macro_statements ask; /* in request order */
	struct macro_statements dropped;
	VEC(struct str) unanswered; /* after macro_turn_end: looked at, no answer */
	VEC(struct macro_held) held;
	struct macro_turn_private *p;
};

/* `key`: newest message id and a hash of its text; `model`: id of the decision model, empty = none
 * configured. */
struct macro_turn *macro_turn_begin(
    struct arena *a, struct macro_decisions *state, struct str key, struct str model);
void macro_turn_plan(struct macro_turn *t, const struct macro_env *env,
    const struct macro_template *const *texts, size_t n, unsigned limit);
/* One statement that is not written in a text (an entry's): its text is keyed here. As macro_turn_plan. */
void macro_turn_want(struct macro_turn *t, const struct macro_statement *s, unsigned limit);
/* A statement as lookups know it: blanks collapsed, trimmed. */
struct str macro_statement_key(struct arena *a, struct str text);
/* Answer to t->ask.v[i]: MACRO_YES or MACRO_NO, for a choice MACRO_OPTION; that it was offered is the
 * caller's to check. */
void macro_turn_answer(struct macro_turn *t, size_t i, struct macro_answer answer);
void macro_turn_end(struct macro_turn *t);
struct macro_answer macro_turn_lookup(void *turn, bool choice, struct str statement);

/* ---- reading a chat model's one-token answer ---- */

struct macro_token_odds {
	struct str token; /* absent: not a text */
	double logprob;
	bool bad; /* logprob was no number */
};
struct macro_reading {
	double probability, share; /* of yes among yes and no; of both in the listed mass */
	bool answered, yes;        /* answered only if share >= 0.5; yes if probability >= threshold */
};
struct macro_reading macro_decision_read(const struct macro_token_odds *v, size_t n, double threshold);

/* ---- preset variables (choice blocks) ---- */

struct macro_choice_block {
	const struct str *options; /* values, in order */
	size_t n_options;
	bool multi, random;
	struct str separator; /* absent = ", " */
};
/* The value for a session's selection: a text, a list, or NULL with `has` false = nothing chosen. `unit` in
 * [0,1) for a random pick. */
struct str macro_choice_value(
    struct arena *a, const struct macro_choice_block *b, const struct json *selected, bool has, double unit);

#endif
