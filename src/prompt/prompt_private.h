/*
 * prompt_private: what the steps of an assembly share. Only for src/prompt.
 *
 * The intermediate form is a list of sections, each a list of items in the order of the prompt. The
 * modes differ in how they fill it; budget, renderer, delivery and traces are the same for all.
 */
#ifndef PROMPT_PROMPT_PRIVATE_H
#define PROMPT_PROMPT_PRIVATE_H

#include "base/rng.h"
#include "prompt/arrange.h"
#include "prompt/prompt.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- compiled assets ---- */

/* A text of an author with its template; absent text = none. */
struct text {
	struct str s;
	const struct macro_template *tpl;
};

/* A row of the prompt list, with the definition it names. */
struct preset_row {
	struct str identifier, name;
	struct str role;            /* as written; absent = not said */
	struct text content;
	bool enabled, marker, forbid;
	bool custom;                /* system_prompt is exactly false: sent in the list (decisions 53) */
	bool positioned, in_chat;   /* injection_position is said; is the number 1 */
	bool in_chat_loose;         /* … is 1 in any spelling: native */
	bool depth_said, depth_number;
	double depth;
	bool ordered;
	double order;
	unsigned triggers;          /* 1 << enum prompt_type; 0 = all */
	bool has_triggers;
	const struct json *doc;     /* the row as written */
};

struct preset_names {
	VEC(struct str) v;
};

struct choices;

struct prompt_preset {
	const struct json *doc;
	struct preset_row *rows;
	size_t nrows;
	const char *track;          /* "100001", "100000", "longest", "default" */
	struct str track_id;        /* of the track that runs; absent = none */
	struct preset_names other_tracks;
	struct preset_names unsupported, ignored; /* members that do nothing here */
	enum macro_dialect dialect; /* of its texts, as stored with it; AUTO = the mode's */
	struct text new_chat, new_group_chat, new_example, continue_nudge, group_nudge, impersonation;
	struct text wi_format, scenario_format, personality_format, prefill, impersonation_prefill;
	struct str send_if_empty, continue_postfix, post_processing, source;
	int64_t names;              /* -1 none, 0 default, 1 name field, 2 in content */
	bool continue_prefill, squash, use_sysprompt;
	int64_t context, reply;
	struct prompt_sampling sampling;
	struct regex_set *scripts;
	struct choices *choices;    /* NULL = none */
	struct arrange_import nodes; /* the same rows as the rearrange mode wants them */
};

struct prompt_card {
	const struct json *data;
	struct macro_source field[MF_MEMBER__END];
	struct str first_mes;
	enum macro_dialect dialect; /* of its texts, as stored with it; AUTO = the mode's */
	const struct str *greetings; /* alternates */
	size_t ngreetings;
	int32_t depth;              /* of the depth note */
	struct str depth_role;
	struct lore_book *book;
	struct regex_set *scripts;
	const struct str *tags;
	size_t ntags;
};

/* Where the persona stands (st-assembly 1.11). */
enum persona_place { PERSONA_IN_PROMPT = 0, PERSONA_NOTE_TOP = 2, PERSONA_NOTE_BOTTOM = 3, PERSONA_AT_DEPTH = 4, PERSONA_NONE = 9 };

struct prompt_persona {
	struct str name;
	struct macro_source field[MF__COUNT]; /* MF_PERSONA … MF_PERSONA_SCENARIO, MF_USER_PHONETIC */
	int64_t place;
	int32_t depth;
	struct str role;
};

/* ---- the intermediate form ---- */

enum item_flag {
	ITEM_ALONE = 1,             /* never squashed into a neighbour */
	ITEM_INJECTED = 2,          /* put into the chat, not said there */
	ITEM_EXAMPLE = 4,
};

struct item {
	struct str role, content, name;
	int32_t tokens;
	unsigned flags;
	int64_t message_no;
	const char *source;
};

struct items {
	VEC(struct item) v;
};

struct section {
	struct str identifier;
	const char *source;         /* identifier as a C string */
	struct items items;
	int64_t tokens;
	bool wanted;                /* has a place in the prompt */
	const char *reason;         /* why it is not in; NULL = it is */
};

/* ---- one message of the history on its way into the prompt ---- */

struct told {
	const struct prompt_message *m;
	enum prompt_role role;
	struct str name;            /* speaker */
	struct str text;            /* what the scan and the macros see */
	struct str bare;            /* after the prompt rules */
	struct str sent;            /* … with its reasoning, if that goes back in */
	struct str taken;           /* … with its macros run; absent = not taken yet */
	struct regex_own own;       /* parts of `sent` that come from the message, if has_own */
	bool has_own;
	bool expand;                /* a model's message: macros run when it is taken (decisions 52) */
	bool same;                  /* what is sent is what was stored and counted */
	const struct macro_rolls *rolls; /* of a message that is expanded when it is taken */
};

/* A message in the chat as it is sent: said or put in. Newest first while texts are put in. */
struct line {
	struct str role, content, name;
	const struct told *told;    /* NULL: injected */
};

struct lines {
	VEC(struct line) v;
};

/* ---- the prompt list of a compat mode ---- */

/* A prompt that takes part: a row of the list or a block of the engine. */
struct slot {
	struct str identifier;
	struct str role;            /* "" = system */
	struct str content;
	const struct preset_row *row; /* NULL: a block that the list does not name */
	bool custom, in_chat, depth_number;
	double depth, order;
	enum prompt_place place;    /* of a block that is attached to main */
	bool attached;
};

struct slots {
	VEC(struct slot) v;
};

/* A text that is put into the chat at a depth, from outside the list. */
struct depth_note {
	struct str text, role;
	int32_t depth;
};

/* An entry's decision statement: expanded once, though many passes may ask for it. */
struct lore_statement {
	struct str written, key;
};

/* Traces of the run [from, to) that a row's text left. */
struct row_ifs {
	struct str identifier;
	size_t from, to;
};

/* ---- the state of an assembly ---- */

struct build {
	struct arena *a;
	const struct prompt_input *in;
	const struct prompt_preset *preset;
	struct prompt *out;

	struct macro_env env;
	struct macro_member *members;
	struct macro_run *run;
	struct macro_turn *turn;    /* of decision statements; NULL = not needed yet */
	VEC(struct lore_statement) statements; /* of lore entries */
	struct rng rng;
	struct regex_budget regex_budget;
	struct regex_stopped regex_stopped;
	enum message_macros message_macros;
	enum macro_dialect dialect; /* of texts whose owner says nothing: the mode's */
	struct str user;

	struct told *told;          /* what the chat says, oldest first */
	size_t ntold;
	const struct told *continued; /* the message that is continued */
	struct prompt_reasoning *reasoning; /* its texts evaluated; NULL = not needed yet */
	struct regex_trace user_trace; /* of the new message: persist rules, then prompt rules */
	size_t persist_items;          /* of them, of the persist rules */
	struct str typed, stored_user; /* the new message before and after the persist rules; absent = none */
	struct lore_set *own_set;
	struct lore_result *lore;
	struct lore_text *scan_texts;

	/* fields that the members' cards make together, made when they are read; `own`: each member's text stands for itself */
	struct { struct str text; bool made, own; } joined[MF_MEMBER__END];

	/* texts, in the order of evaluation */
	struct str original;        /* mark that stands for it in an override */
	struct str card_system, card_post_history;
	VEC(struct depth_note) depth_notes;
	struct str description, personality, scenario;
	struct str examples;
	size_t examples_left;       /* blocks that did not fit */
	struct str world_before, world_after, persona, note, group_nudge, impersonation, new_chat, continue_nudge;
	struct str quiet;           /* the quiet prompt, once the scan or its place asked for it */
	struct prompt_note note_set;
	bool note_due;

	struct slots slots;
	VEC(struct section) sections;
	struct items control;       /* stands at the very end */
	int64_t context, reply;     /* tokens */
	int64_t budget, left;
	bool over;                  /* what must stay does not fit */
	VEC(struct prompt_stored) stored;
	const char *nudge_applied;
	struct arranged *arranged;  /* mode rearrange */
	size_t taken;               /* messages of the chat that are sent */
	bool refused;
	const char *prefill_strategy;
	bool prefill_requested;
	VEC(const char *) degraded;
	const char *structure, *rewrite;
	bool merged, windowed;
	size_t rewritten, transcript;
	VEC(int32_t) hidden_floors;
	VEC(struct str) in_chat_ids, filtered_ids;
	VEC(struct row_ifs) row_ifs; /* rows that hold conditionals */
};

struct build *build_new(struct arena *a, const struct prompt_input *in); /* assemble.c */

/* text.c: evaluating texts */
bool text_blank(struct str s);
struct str text_no_cr(struct arena *a, struct str s);
struct str text_replace(struct arena *a, struct str s, struct str what, struct str with, bool all);
struct text text_compile(struct arena *a, struct str s, enum macro_dialect d);
struct str text_eval(struct build *b, struct text t);
struct str text_eval_raw(struct build *b, struct str s);
/* A format with a slot: `what` in the source stands for `value`, which is not expanded. */
struct str text_eval_with(struct build *b, struct text t, struct str what, struct str value);
size_t text_tokens(const struct build *b, struct str s);
int32_t item_tokens(const struct build *b, const struct item *it);

static inline int64_t
build_watch(const struct build *b)
{
	return b->in->stopwatch ? b->in->stopwatch() : 0;
}

/* preset_fields.c */
void preset_fields(struct arena *a, struct prompt_preset *p);

/* choice.c */
struct choices *choice_read(struct arena *a, const struct json *doc); /* borrows `doc` */
bool choice_value(void *build, struct str name, struct str *out);

/* card.c */
struct str card_examples(struct arena *a, struct str text); /* as {{mesExamples}} prints them */

/* input.c: the run, its names, and the history's texts */
void input_begin(struct build *b);
void input_history(struct build *b);
void input_names(struct build *b);
int64_t input_length(const struct prompt_input *in);    /* messages of the whole chat, without one that is swiped; 0 = not said */
/* The joined scripts on a text, on the stopwatch. */
struct str scripts_apply(struct build *b, struct str text, const struct regex_call *call, struct regex_trace *trace);
struct str input_apply(struct build *b, const struct told *t, enum regex_channel ch, struct str text, struct regex_own *own,
    struct regex_trace *trace);
struct str input_expand(struct build *b, const struct told *t, struct str text);
struct str input_role(enum prompt_role r);

/* decision.c: decision statements of the texts */
void decision_plan(struct build *b);                    /* before any author's text is evaluated */
void decision_text(struct build *b, const struct macro_template *t); /* a text that came up later */
struct macro_answer decision_of(struct build *b, struct str statement); /* a lore entry's */
struct json *decision_json(struct build *b);            /* for the trace; NULL = nothing to say */

/* world.c: the scan */
void world_scan(struct build *b);

struct str marker_role(struct str written); /* a role's name, also by number; others as they are */

/* marker.c: what the engine fills into the list's markers */
bool marker_joined(void *build, enum macro_field f, struct str *out);  /* macro_env.joined */
void marker_fields(struct build *b);                    /* decisions 35 (2) */
void marker_formats(struct build *b);                   /* (4) */
void marker_late(struct build *b);                      /* (6) to (8) */
void marker_depth_notes(struct build *b);
struct str marker_quiet(struct build *b);               /* type quiet: its prompt; else empty */
bool marker_note_is_due(const struct build *b);
struct str marker_note(struct build *b);                /* the author's note with persona and lore glued on */

/* order.c: the prompt list */
const struct preset_row *order_row(const struct prompt_preset *p, struct str identifier);
bool order_off(const struct build *b, const char *identifier);    /* named by the list and switched off */
bool order_runs(const struct build *b, const struct preset_row *r);
void order_rows(struct build *b);                       /* (5) */
void order_blocks(struct build *b);                     /* engine's blocks and overrides into the list */
struct slot *order_slot(struct build *b, const char *identifier);
size_t order_index(const struct build *b, const char *identifier);

/* example.c */
void example_split(struct build *b, struct str text, struct items *blocks_out);
void example_section(struct build *b);

/* inject.c */
void inject_depth(struct build *b, struct lines *newest_first);

/* history.c */
struct str history_taken(struct build *b, const struct told *t); /* a message as it is sent, without a name in front */
bool history_nudges(const struct build *b);             /* type continue: by the nudge */
void history_take_one(struct build *b, const struct line *l, struct items *out);
void history_lines(struct build *b, struct lines *newest_first);
void history_section(struct build *b, struct lines *newest_first);
void history_plain(struct build *b, struct lines *newest_first, struct items *out); /* what fits, nothing around it */

/* budget.c */
void budget_begin(struct build *b);
bool budget_takes(struct build *b, int64_t tokens);     /* for what may be left out */
void budget_must(struct build *b, int64_t tokens);

/* layout.c: sections to messages */
void layout_render(struct build *b);
void layout_merge(struct build *b, struct items *list);   /* neighbours of one role become one message */

/* reply.c: a reply as later prompts have it, without what is not the speaker's; never empty */
struct str reply_clean(struct build *b, struct str reply);

/* policy.c */
const struct json *policy_get(const struct build *b, const char *group, const char *key);
bool policy_takes(const struct build *b, const char *source);         /* history, memory, worldbook, examples */
size_t policy_history(struct build *b, struct prompt_message *out);   /* the messages that are seen */
void policy_structure(struct build *b, struct items *list);

/* deliver.c */
void deliver(struct build *b, struct items *list);

/* the modes */
void compat_build(struct build *b);
void native_build(struct build *b);
void rearrange_build(struct build *b);
void plain_build(struct build *b);                                   /* no preset bound */
struct str native_eval(struct build *b, struct text t);              /* with {{name:default}} */
struct str native_block(struct build *b, const char *identifier);    /* a block of the engine, labelled */
void native_note(struct build *b);
void native_control(struct build *b);

/* explain.c: around the evaluation of a row's text */
void explain_ifs_begin(struct build *b, struct str identifier);
void explain_ifs_end(struct build *b);

/* trace.c, trace_lore.c, trace_chat.c */
void trace_fill(struct build *b);
int64_t section_tokens(const struct section *s);
bool section_says(const struct section *s);             /* anything at all */
bool section_known(struct str identifier);              /* a place that the engine fills */
int64_t section_pruned(const struct build *b);          /* tokens of the loaded messages that are not sent */
struct json *trace_matches(struct build *b);
struct json *trace_activated(struct build *b);
struct json *trace_normalization(struct build *b);
struct json *trace_sources(struct build *b);
struct json *trace_visibility(struct build *b);

#endif
