/*
 * macro: the {{…}} language of presets, cards, world books and personas. A text is compiled once
 * into an immutable template and evaluated many times inside a run: text in; text, warnings,
 * traces, used names and staged writes out. One engine, four dialects.
 *
 * Pure: no database, network, clock, randomness or environment. Clock, chance, names, variables
 * and answers are inputs. Evaluation is total: nothing fails, unknown and malformed pieces stay as
 * written and leave a warning. A template may be shared by threads; a run belongs to one.
 *
 * Life of an assembly:
 *	run = macro_run_new(a, &env);
 *	text = macro_eval(run, &(struct macro_piece){ .tpl = tpl });	for each text, in order
 *	res = macro_run_result(run);	its writes stand in the order in which commit applies them
 */
#ifndef MACRO_MACRO_H
#define MACRO_MACRO_H

#include "base/json.h"
#include "base/tm.h"
#include "base/vec.h"

/* ---- templates ------------------------------------------------------------------------------ */

/*
 * AUTO is the default of every mode but rearrange: {{if}} as TavernHeadless' page, {{#if}} as
 * Marinara's. The others are chosen by a pragma ({{// dialect: marinara}} at the start of the text)
 * or by the field stored with the text's owner.
 */
enum macro_dialect {
	MACRO_AUTO,
	MACRO_TAVERNHEADLESS,
	MACRO_SILLYTAVERN,
	MACRO_MARINARA,
	MACRO_TOMORIBOT,
	MACRO_DIALECT__COUNT
};

const char *macro_dialect_name(enum macro_dialect d); /* "auto", "tavernheadless", … as stored */
bool macro_dialect_parse(struct str name, enum macro_dialect *out);
/* The dialect that a text itself shows, AUTO if none; *reason_out (may be NULL) says why, for the receipt. */
enum macro_dialect macro_dialect_detect(struct str text, const char **reason_out);

struct macro_template;

/*
 * Compiles a text, in linear time and without recursion. Never NULL, never fails. `text` is
 * borrowed and must live as long as the template, which lives in `a`.
 */
const struct macro_template *macro_compile(struct arena *a, struct str text, enum macro_dialect d);

/* A message (decisions 52): AUTO, but a pragma is text. For the owners MACRO_MESSAGE_READ and _FULL. */
const struct macro_template *macro_compile_message(struct arena *a, struct str text);

/* The same as macro_compile with an arena of its own and a copy of the text: for caches shared by threads. */
struct macro_template *macro_template_new(struct str text, enum macro_dialect d);
void macro_template_free(struct macro_template *t);          /* NULL is fine; only for macro_template_new */
size_t macro_template_bytes(const struct macro_template *t); /* memory held, for the cache's budget */

/* What a text holds, whether or not its branch is taken. */
enum macro_trait {
	MACRO_HAS_MACRO = 1, /* anything that evaluation could change; 0 = the text is returned as it is */
	MACRO_HAS_WRITE = 2,
	MACRO_HAS_CHANCE = 4, /* random, pick, roll */
	MACRO_HAS_TIME = 8,
	MACRO_HAS_DECISION = 16, /* decision: or decision_choice: */
	MACRO_HAS_BLOCK = 32
};
unsigned macro_template_traits(const struct macro_template *t);
enum macro_dialect macro_template_dialect(const struct macro_template *t); /* after the pragma */

/* ---- what names mean -------------------------------------------------------------------------- */

/*
 * Values that names read. A field is either plain (inserted as it is) or an author's text (expanded
 * once per run, writes included, when it is first read or when the caller asks for it; every
 * reader gets that same text; decisions 34). Which is which: macro_field_is_author().
 */
enum macro_field {
	MF_NONE,
	/* of a character: struct macro_member */
	MF_CHAR, /* name */
	MF_CHAR_PHONETIC,
	MF_CHAR_VERSION,
	MF_SYSTEM,        /* author: card system prompt ({{charPrompt}}) */
	MF_EXAMPLES,      /* author: example dialogue as the prompt formats it */
	MF_EXAMPLES_RAW,  /* author */
	MF_DESCRIPTION,   /* author */
	MF_PERSONALITY,   /* author */
	MF_SCENARIO,      /* author */
	MF_POST_HISTORY,  /* author: {{charInstruction}} */
	MF_DEPTH_NOTE,    /* author: {{charDepthPrompt}} */
	MF_CREATOR_NOTES, /* author: {{charAuthorsNote}}, {{creatorNotes}} */
	MF_BACKSTORY,     /* author */
	MF_APPEARANCE,    /* author */
	MF_FIRST_MESSAGE, /* author: {{greeting}} */
	MF_MEMBER__END,
	/* of the run: struct macro_env.field */
	MF_USER = MF_MEMBER__END,
	MF_USER_PHONETIC,
	MF_PERSONA,             /* author: description */
	MF_PERSONA_PERSONALITY, /* author */
	MF_PERSONA_BACKSTORY,   /* author */
	MF_PERSONA_APPEARANCE,  /* author */
	MF_PERSONA_SCENARIO,    /* author */
	MF_SYSTEM_PROMPT,       /* author: session, card, preset main, in that order; see `as` */
	MF_DEFAULT_SYSTEM_PROMPT,
	MF_AUTHORS_NOTE,         /* author */
	MF_DEFAULT_AUTHORS_NOTE, /* author */
	MF_MODEL,
	MF_RUN_KIND,
	MF_GENERATION_TYPE, /* SillyTavern's words */
	MF_PROMPT_MODE,
	MF_SUMMARY,
	MF_LAST_MESSAGE,
	MF_LAST_USER_MESSAGE,
	MF_LAST_CHAR_MESSAGE,
	MF_LAST_MESSAGE_ID, /* decimal text, as the seven below; "" = none */
	MF_FIRST_INCLUDED_ID,
	MF_FIRST_DISPLAYED_ID,
	MF_ALL_CHAT_RANGE,
	MF_LAST_SWIPE_ID,
	MF_CURRENT_SWIPE_ID,
	MF_MAX_PROMPT,
	MF_MAX_CONTEXT,
	MF_MAX_RESPONSE,
	MF_INPUT,     /* text that the client passes to a preview; "" while a turn is assembled */
	MF_CHAT_ID,   /* session id; also seeds {{pick}} */
	MF_REASONING, /* effort, "off" when disabled */
	MF_CHAT_START,
	MF_EXAMPLE_SEPARATOR,
	MF_REASONING_PREFIX,
	MF_REASONING_SUFFIX,
	MF_REASONING_SEPARATOR,
	MF__COUNT
};

/* Is its text an author's (macros run), or a user's or model's? */
bool macro_field_is_author(enum macro_field f);

struct macro_source {
	struct str text; /* absent = empty */
	const struct macro_template
	    *tpl;                   /* of `text`, if the caller has it cached; else compiled when read */
	enum macro_dialect dialect; /* of its owner; used if `tpl` is NULL */
	bool expanded;              /* an author's text that is inserted as it is */
	enum macro_field
	    as; /* not MF_NONE: this field is that field's value (and shares its one expansion) */
};

struct macro_member {
	struct macro_source field[MF_MEMBER__END];
	const struct str *greetings; /* alternates: {{greeting::1}} is greetings[0]; authors' texts */
	size_t n_greetings;
	bool muted;
	bool outside; /* speaks, but is not listed among the group's members */
};

/* ---- variables ---------------------------------------------------------------------------------- */

enum macro_scope { MACRO_SCOPE_BRANCH, MACRO_SCOPE_GLOBAL };

struct macro_value {
	struct str text;         /* absent: the value is json */
	const struct json *json; /* NULL with absent text: JSON null */
};

enum macro_view {
	MACRO_LOCAL,    /* nearest of page, floor, branch, chat */
	MACRO_GLOBAL,   /* the global layer alone */
	MACRO_ORDINARY, /* nearest of all five: bare names */
	MACRO_VIEW__COUNT
};

/*
 * The stored variables, as they were when the run began. Asked at most once per view and name; the
 * answer must live as long as the run. Macro writes never reach it: they live in the run's overlay.
 */
struct macro_vars {
	bool (*get)(
	    void *ctx, enum macro_view view, struct str name, struct macro_value *out); /* false: not set */
	/* The layer that a scope's writes go to, as an object; NULL = none is known, writes have all the room there
	 * is. */
	const struct json *(*layer)(void *ctx, enum macro_scope scope);
	void *ctx;
};

/* Ready-made: layers as JSON objects, nearest first; any of them may be NULL. `l` must outlive the run. */
struct macro_layers {
	const struct json *page, *floor, *branch, *chat, *global;
	const struct json *ordinary; /* not NULL: bare names read this instead of the layers (CLI, tests) */
};
struct macro_vars macro_vars_layers(struct macro_layers *l);

/* ---- the run -------------------------------------------------------------------------------------- */

enum macro_phase {
	MACRO_IMPORT,  /* only the alias pass */
	MACRO_PREVIEW, /* writes stay in the overlay */
	MACRO_DRY_RUN,
	MACRO_ASSEMBLE, /* writes are staged too */
	MACRO_COMMIT,   /* commit_consume: writes refused */
	MACRO_PHASE__COUNT
};
const char *macro_phase_name(enum macro_phase p);

/* Per piece, except warnings (per run). Zero means zero; take one of the two sets below and change it. */
struct macro_limits {
	unsigned depth;    /* nested lists: arguments, operands, branches; at most 200 */
	unsigned steps;    /* lists and macros */
	size_t length;     /* UTF-16 units that macros insert into one text */
	unsigned writes;   /* recorded writes */
	unsigned warnings; /* of one code; later ones raise `count` of the last */
};
extern const struct macro_limits macro_limits_default;   /* the product's: 32, 8192, 1048576, 1024, 100 */
extern const struct macro_limits macro_limits_reference; /* the vectors': 24, 256, 32768, 64, 100 */

/* An answer of the decision model, or of a timer that holds one (decide.h makes them). */
enum macro_answer_kind {
	MACRO_UNANSWERED, /* every comparison with it is false */
	MACRO_NO,
	MACRO_YES,
	MACRO_OPTION, /* decision_choice: `option`, or "none of these" */
	MACRO_COOLING /* decision_choice in cooldown: every comparison is no */
};
struct macro_answer {
	enum macro_answer_kind kind;
	struct str option;
};

struct macro_env {
	enum macro_phase phase;
	struct macro_limits limits;
	bool trace;          /* fill macro_result.traces */
	bool trace_ifs;      /* without `trace`: conditionals alone, and not what they print */
	bool time_awareness; /* false: time macros are empty */
	bool field_in_field; /* false (compat modes): names of card fields and persona are empty inside the
				fields of decisions 35 (2) */
	int64_t now;         /* ms */
	const struct tm_zone *zone; /* NULL = UTC */
	int64_t idle_ms;            /* since the user message before the newest message; -1 = none */

	struct macro_source field[MF__COUNT]; /* from MF_MEMBER__END on */
	const struct macro_member *members;   /* the characters; one in a solo chat */
	size_t n_members;
	size_t speaker; /* index of the one who answers */
	bool group;     /* a group chat (even of one) */
	/* What the speaker's field is where several cards make it together, evaluated; false: the card's own. NULL = never. */
	bool (*joined)(void *ctx, enum macro_field f, struct str *out);
	void *joined_ctx;

	struct macro_vars vars;
	bool (*outlet)(void *ctx, struct str key,
	    struct str *out); /* world-info outlets, already evaluated; NULL = none */
	void *outlet_ctx;

	double (*chance)(void *ctx); /* next uniform number in [0,1); NULL = always 0 */
	void *chance_ctx;

	/* marinara */
	struct macro_answer (*answer)(
	    void *ctx, bool choice, struct str statement); /* NULL = nobody answers */
	void *answer_ctx;
	bool (*preset_var)(void *ctx, struct str name,
	    struct str *out); /* value of a choice block: author's text; NULL = none */
	void *preset_ctx;

	/* tomoribot */
	bool (*tool)(void *ctx, struct str name); /* available to this turn; NULL = no tool is */
	int (*capability)(
	    void *ctx, struct str name); /* 1, 0; -1 = no such capability; NULL = none is known */
	bool (*tool_alias)(
	    void *ctx, struct str name, struct str *tool_out); /* "document_tool" -> tool name; NULL = none */
	void *tool_ctx;
};

struct macro_run;

/* `env` and all it points to must outlive the run, which lives in `a`. */
struct macro_run *macro_run_new(struct arena *a, const struct macro_env *env);

enum macro_owner {   /* who wrote the text: what it may read and do */
	MACRO_TEXT,  /* preset rows, notes, formats, persona, greetings: everything works */
	MACRO_FIELD, /* a card field (decisions 35 (2)): outlets empty, other fields by `field_in_field` */
	MACRO_LORE,  /* keys and content of world info: outlets empty */
	MACRO_MESSAGE_READ, /* a message (decisions 52): reads and chance only; see macro_compile_message */
	MACRO_MESSAGE_FULL  /* the user's message: writes too */
};

/* Results of chance macros of one message, kept beside its text (decisions 52). */
struct macro_roll {
	uint32_t offset; /* byte of the macro in the message as stored */
	struct str text;
};
struct macro_rolls {
	VEC(struct macro_roll) v; /* in: kept results; out: new ones are appended */
};

struct macro_piece {
	const struct macro_template *tpl; /* must outlive the run and its results */
	enum macro_owner owner;
	struct str original;               /* what a card field overrides: {{original}}, first use only */
	const struct macro_member *member; /* NULL = the speaker */
	struct macro_rolls *rolls;         /* messages only; NULL = roll anew */
};

/* Evaluates one piece and appends its diagnostics and writes to the run. The text lives in the run's arena or
 * is the template's own. */
struct str macro_eval(struct macro_run *r, const struct macro_piece *p);

/* The one expansion of a field (decisions 34): evaluated now if nobody has read it yet. `m` for fields of a
 * character, NULL = the speaker. */
struct str macro_run_field(struct macro_run *r, const struct macro_member *m, enum macro_field f);

/* ---- results --------------------------------------------------------------------------------------- */

enum macro_code {
	MACRO_W_UNKNOWN,
	MACRO_W_ARITY,
	MACRO_W_PARSE,
	MACRO_W_UNSUPPORTED,
	MACRO_W_TYPE,
	MACRO_W_CYCLE,
	MACRO_W_DEPTH,
	MACRO_W_STEPS,
	MACRO_W_LENGTH,
	MACRO_W_WRITES,
	MACRO_W_UNCLOSED,
	MACRO_W_UNMATCHED,
	MACRO_W_SIDE_EFFECT,
	MACRO_W_PHASE,
	MACRO_W_VALUE_MISSING,
	MACRO_W_NAME_CONFLICT,
	MACRO_W_MESSAGE_WRITE,
	/* tomoribot */
	MACRO_W_COND_MALFORMED,
	MACRO_W_COND_STRAY,
	MACRO_W_COND_UNCLOSED,
	MACRO_W_COND_DEEP,
	MACRO_W_COND_UNKNOWN,
	MACRO_W__COUNT
};
const char *macro_code_name(enum macro_code c); /* "macro_unknown", … */

struct macro_warning {
	enum macro_code code;
	const char *message;   /* for people */
	struct str name;       /* macro or value name; may be absent */
	struct str raw;        /* source bytes; may be absent */
	uint32_t line, column; /* of the source text, from 1, column in characters; 0 = not about a place */
	unsigned count;        /* from 1 */
};

enum macro_source_kind { MACRO_SRC_MACRO, MACRO_SRC_IF, MACRO_SRC_RAW };
enum macro_branch { MACRO_BRANCH_NONE, MACRO_BRANCH_THEN, MACRO_BRANCH_ELSE, MACRO_BRANCH_RAW };
const char *macro_source_kind_name(enum macro_source_kind k);
const char *macro_branch_name(enum macro_branch b); /* NULL for NONE */

struct macro_trace {
	struct str name, raw, resolved;
	enum macro_phase phase;
	enum macro_source_kind kind;
	enum macro_branch branch;
};

struct macro_write {
	bool del;
	enum macro_scope scope;
	struct str key;
	struct macro_value value; /* of a set */
	const char *source_macro; /* canonical name */
};

struct macro_result {
	VEC(struct macro_warning) warnings; /* in order of evaluation */
	VEC(struct macro_trace) traces;
	VEC(struct str) used_names;     /* distinct, in order of first use */
	VEC(struct macro_write) writes; /* the preview list; staged too if the phase is ASSEMBLE */
};
const struct macro_result *macro_run_result(const struct macro_run *r);

/* `runtime_trace.macro` with the wire's names, as text; false and nothing, if there is nothing to say. */
bool macro_result_print(struct sb *out, const struct macro_result *res, enum macro_phase phase);
/* The same as a tree, in a's life; NULL. */
struct json *macro_result_json(struct arena *a, const struct macro_result *res, enum macro_phase phase);

/* Applies writes in order to the branch and global layers (JSON objects, changed in place). */
void macro_writes_apply(
    struct arena *a, const struct macro_write *w, size_t n, struct json *branch, struct json *global);

/* A variable's value as text, as {{getvar::x}} prints it. */
struct str macro_value_text(struct arena *a, const struct macro_value *v);

#endif
