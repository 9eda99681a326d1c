/*
 * prompt: from what authors wrote and what was said to the exact messages for a model. PURE: no
 * database, network, clock or randomness; the caller gives texts, settings, clock, seed and the
 * token counter, and gets messages, parameters, staged writes and the reasons for everything.
 * The server, `tavernctl assemble`, the vectors and the fuzzers call the same function.
 *
 * Compiled assets (preset, card, books, regex sets) are immutable and shared by threads; the
 * caller caches them by version. One intermediate form (sections) and one renderer serve all modes.
 */
#ifndef PROMPT_PROMPT_H
#define PROMPT_PROMPT_H

#include "base/json.h"
#include "base/tm.h"
#include "lore/lore.h"
#include "macro/decide.h"
#include "macro/macro.h"
#include "regex/script.h"

enum prompt_mode { PROMPT_COMPAT_STRICT, PROMPT_COMPAT_PLUS, PROMPT_NATIVE, PROMPT_REARRANGE, PROMPT_MODE__COUNT };
enum prompt_type { PROMPT_NORMAL, PROMPT_CONTINUE, PROMPT_SWIPE, PROMPT_REGENERATE, PROMPT_IMPERSONATE, PROMPT_QUIET, PROMPT_TYPE__COUNT };
/* The names that the API and presets use; parsing says false for an unknown one. */
const char *prompt_mode_name(enum prompt_mode m);
bool prompt_mode_parse(struct str name, enum prompt_mode *out);
const char *prompt_type_name(enum prompt_type t);
bool prompt_type_parse(struct str name, enum prompt_type *out);

/* ---- compiled assets --------------------------------------------------------------------------- */

/* A preset as the assembler wants it: rows in the order of its track, formats, nudges, sampling, budget, scripts. */
struct prompt_preset;
/* doc: normalised preset document (card/preset_file.h); NULL = SillyTavern's default preset. Copies what it keeps. */
struct prompt_preset *prompt_preset_compile(struct arena *a, const struct json *doc);
/* The i-th row of the order that runs when a preset has none; NULL past the end. */
const char *prompt_default_row(size_t i, bool *enabled_out);
int64_t prompt_preset_context(const struct prompt_preset *p);   /* openai_max_context; 0 = not said */
int64_t prompt_preset_reply(const struct prompt_preset *p);     /* openai_max_tokens; 0 = not said */
const struct regex_set *prompt_preset_scripts(const struct prompt_preset *p); /* NULL = none */
size_t prompt_preset_bytes(const struct prompt_preset *p);      /* outside the arena */

/* A character: fields with compiled templates, embedded book and scripts. doc: normalised card (card/card.h) or a session's snapshot. */
struct prompt_card;
struct prompt_card *prompt_card_compile(struct arena *a, const struct json *doc);
struct str prompt_card_name(const struct prompt_card *c);
struct str prompt_card_format(const struct json *doc);                        /* "v2", "v3" as the file says; absent = it does not say */
const struct lore_book *prompt_card_book(const struct prompt_card *c);        /* NULL = none */
const struct regex_set *prompt_card_scripts(const struct prompt_card *c);     /* NULL = none */
size_t prompt_card_bytes(const struct prompt_card *c);

/* The user's persona, from a user card's snapshot ({"name","description",…}); unknown members are ignored. */
struct prompt_persona;
struct prompt_persona *prompt_persona_compile(struct arena *a, const struct json *snapshot);

/* ---- input --------------------------------------------------------------------------------------- */

enum prompt_role { PROMPT_SYSTEM, PROMPT_USER, PROMPT_ASSISTANT, PROMPT_NARRATOR };

struct prompt_message {
	int64_t no;                  /* the caller's: comes back in results */
	struct str id, floor_id;
	int32_t floor_seq;
	enum prompt_role role;
	struct str name;             /* speaker; absent = user or character name */
	struct str text;             /* as typed or generated */
	struct str stored;           /* what the persist rules made of it when it was stored; absent = the same */
	int32_t tokens;              /* of what is sent, counted when it was stored; -1 = unknown */
	bool greeting;               /* author's text that nobody has expanded yet (the chat begins here): expanded first of all */
	bool named;                  /* speaks under a name of its own (forced avatar): the name is put in front */
	struct str reasoning;        /* of a model's message; absent = none */
	int64_t sent;                /* ms; 0 = unknown */
	uint32_t swipes, swipe;      /* pages of its floor, 0 = unknown; the active one, from 0 */
	const struct macro_rolls *rolls; /* kept chance results (decisions 52); NULL = none */
};

enum message_macros { MESSAGE_MACROS_DEFAULT, MESSAGE_MACROS_OFF, MESSAGE_MACROS_READ, MESSAGE_MACROS_FULL };

/* Author's note (st-assembly 1.11). */
enum prompt_place { PROMPT_AFTER_MAIN, PROMPT_IN_CHAT, PROMPT_BEFORE_MAIN };
struct prompt_note {
	bool given;                  /* false: as prompt_note_defaults(), without a text */
	struct str text;             /* absent = none; lore may still be glued to it */
	enum prompt_place place;
	int32_t depth;               /* PROMPT_IN_CHAT */
	enum prompt_role role;
	int32_t interval;            /* every N user messages; 0 = off */
	bool scan;                   /* world info looks into it */
};
struct prompt_note prompt_note_defaults(void);  /* in chat, depth 4, system, every time */
/*
 * The note that a session keeps: a text, or {text, position, depth, role, interval, scan}, or SillyTavern's chat metadata
 * (note_prompt, note_position …) among `metadata`. `note` is asked first; both may be NULL. Read as people write.
 */
struct prompt_note prompt_note_read(struct arena *a, const struct json *note, const struct json *metadata);

/* How the wire names a book: worldbook_id absent for a character's own; scope "worldbook:ID:VERSION". */
struct prompt_book_name {
	const struct lore_book *book;
	struct str worldbook_id, name, scope;
};

/* What a group's members' cards make together. */
enum prompt_join { PROMPT_SWAP, PROMPT_APPEND, PROMPT_APPEND_MUTED };

/* Reasoning of the newest model messages, put back into the prompt. */
struct prompt_reasoning {
	bool add;
	int32_t max;                 /* messages */
	struct str prefix, suffix, separator;
};

/*
 * Decision statements of a branch (macro/decide.h): its state, and who answers. The assembly plans what its texts
 * need before it evaluates them; what only activated lore needs is planned when it comes up.
 */
struct prompt_decisions {
	struct macro_decisions *state;        /* changed; the caller stores it if the turn commits */
	struct str key, model;                /* of macro_turn_begin; model absent = none: nothing is asked */
	unsigned limit;                       /* statements per turn; 0 = the default */
	/* Answers t->ask from index `from` on with macro_turn_answer; silence = no answer. NULL = nobody does. Not called
	 * by a dry run or preview. */
	void (*ask)(void *arg, struct macro_turn *t, size_t from);
	void *ask_arg;
	bool running;                         /* the branch has a state: its turns are counted even without statements */
};

struct prompt_input {
	enum prompt_mode mode;
	enum prompt_type type;
	const char *run_kind;                 /* {{runKind}}: "retry", …; NULL = by type and phase */

	const struct prompt_preset *preset;   /* NULL = no preset bound: the mode's own default */
	const struct prompt_preset *built_in; /* that default, prompt_preset_compile(a, NULL), from the caller; NULL = compiled here */
	const struct prompt_card *const *cards; /* members; one in a solo chat; none = no character */
	size_t ncards, speaker;
	const bool *muted;                    /* [ncards]; NULL = nobody */
	bool group;
	enum prompt_join join;
	struct str join_prefix, join_suffix;  /* <FIELDNAME> stands for the field */
	const struct prompt_persona *persona; /* NULL = user without a card */
	/* Nothing was assembled for this chat since it was opened, not even to count it: SillyTavern puts a persona at depth into the
	 * chat behind the scan, so the first scan does not see it. Its page counts each chat as it opens it, so users see it scanned. */
	bool persona_unseen;
	struct str user_name;                 /* without a persona; absent = "User" */

	const struct lore_bound *books;       /* all bound books but the card's own, which is added */
	size_t nbooks;
	const struct prompt_book_name *book_names; /* for the traces, of any of the books; NULL = their own names */
	size_t nbook_names;
	const struct lore_set *lore;          /* compiled set of exactly these books and the card's, from the caller's cache; NULL = compiled here */
	struct lore_settings lore_settings;
	enum lore_strategy lore_strategy;
	bool lore_case, lore_words;           /* case-sensitive, whole words, for entries that leave it open; with `lore` it is in there */
	struct lore_timers lore_timers;
	const struct regex_set *scripts;      /* joined global, preset, card sets; NULL = none */
	struct regex_memo *regex_memo;        /* of the process: what scripts made of texts before; NULL = nothing is kept */

	/* The story, oldest first, the new user message last (type normal); hidden ones left out. `history_cut` says that
	 * older messages exist that were not loaded because they cannot fit. chat_length: all messages of the branch. */
	const struct prompt_message *history;
	size_t nhistory;
	bool history_cut;
	bool again;                           /* its end was said and stored before: another reply to it is made */
	int64_t chat_length;
	int64_t hidden;                       /* further messages among those of `history` that nobody is sent: they have numbers too */
	int64_t users_before;                 /* messages of users that are not in `history`, not loaded or hidden: the note's interval counts them */

	struct macro_vars vars;               /* stored values (page, floor, branch, chat, global) */
	struct macro_limits limits;           /* zeroed = the product's */
	const struct prompt_decisions *decisions; /* NULL = as `answer` says */
	struct macro_answer (*answer)(void *arg, bool choice, struct str statement); /* without `decisions`; NULL = nobody answers */
	void *answer_arg;
	const struct macro_env *tools;        /* its tool, capability and tool_alias functions are used; NULL = none */
	struct str model;
	struct str session_id, chat_system_prompt; /* of the chat, instead of the card's; absent = the card's */
	const struct json *metadata;          /* of the session, for macros; NULL = none */
	struct prompt_note note;
	struct str scenario, examples;        /* of the chat, instead of the cards'; absent = the cards' */
	struct str quiet_prompt;              /* type quiet */
	struct str summary;                   /* of the story so far: {{summary}}; compat_plus, native and rearrange send it */
	struct str input;                     /* {{input}} of a preview */
	struct prompt_reasoning reasoning;
	bool pin_examples;                    /* examples are kept before history */
	struct str post_processing;           /* none, merge, semi, strict, single (+ _tools); absent = the preset's */
	struct str placeholder;               /* user's text where a provider wants one; absent = "[Start a new chat]" */
	const struct json *policy;            /* structure, delivery, source_selection, visibility (runtime_policy.h); NULL = defaults */
	const struct json *preset_choices;    /* NULL = defaults */
	enum message_macros message_macros;
	struct str reasoning_effort;          /* absent = off */
	bool names_in_messages_supported;     /* provider sends `name` */
	bool system_apart;                    /* provider takes system text in a field of its own and no names (decisions 55) */

	int64_t max_context, max_reply;       /* tokens; 0 = the preset's, else the default settings */
	size_t (*count)(void *arg, struct str text); /* tokens of a text; NULL = UTF-16 units / 4, rounded up */
	void *count_arg;
	int32_t tokens_per_message, tokens_reserved; /* 0 and 3 as SillyTavern counts */

	int64_t (*stopwatch)(void);           /* microseconds, for `spent` only; NULL = nothing is timed */
	int64_t now;
	const struct tm_zone *zone;
	bool time_awareness;
	uint64_t seed;
	enum macro_phase phase;               /* ASSEMBLE, DRY_RUN, PREVIEW */
	bool value_warnings;                  /* warn of names without a value, used or not */
	bool trace;                           /* fill the traces (debug_options) */
};

/* ---- result -------------------------------------------------------------------------------------- */

struct prompt_out {
	const char *role;            /* system, user, assistant */
	struct str content, name;    /* name absent = none */
	int32_t tokens;
	const char *source;          /* "main", "worldInfoBefore", "chatHistory", "history" …: section identifier */
	int64_t message_no;          /* of a history message; 0 = none */
};

/* Sampling values that the preset asks for; NAN or -1 = not said. */
struct prompt_sampling {
	double temperature, top_p, top_a, min_p, repetition_penalty, frequency_penalty, presence_penalty;
	int64_t top_k, max_tokens, seed;
	bool stream;
};

/* What a message became when it was first sent: to be stored beside it. */
struct prompt_stored {
	int64_t no;                  /* prompt_message.no */
	struct str text;             /* persist rules' result; absent = unchanged */
	int32_t tokens;
	const struct macro_rolls *rolls; /* new chance results; NULL = none */
};

struct prompt {
	const char *error;           /* NULL, or "context_budget_exceeded": no messages then */
	const char *error_text;

	struct prompt_out *messages;
	size_t nmessages;
	int64_t tokens;              /* of the messages, with what the budget reserves */
	int64_t budget;              /* tokens that messages may use */
	struct prompt_sampling sampling;
	bool use_sysprompt;          /* leading system messages go to the provider's system field (decisions 55) */
	struct str prefill;          /* assistant prefill, where the provider takes it apart; absent = none */

	const struct macro_result *macros;   /* warnings, traces, staged writes in order */
	const struct lore_result *lore;      /* NULL = no books */
	struct lore_past lore_past;          /* to store with the floor */
	const struct macro_turn *decided;    /* the turn of decision statements; NULL = none was needed */
	const struct regex_trace *user_regex; /* what ran on the new message, persist then prompt */
	struct prompt_stored *stored;
	size_t nstored;
	struct str continued;        /* type continue: what the reply is joined to (postfix of the preset between), as SillyTavern takes it */

	const struct build *build;   /* the state that prompt_explain reads */

	/* JSON parts of the wire, in the arena: runtime_trace members but `macro`, `memory`; worldbook_matches; counts by section. */
	struct json *trace;
	struct json *worldbook_matches;      /* array */
	struct json *activated;              /* worldbook_activated_entries of the snapshot */
	struct json *sections;               /* [{identifier, role, tokens, included, reason}] */
	struct prompt_spent { int64_t lore_us, regex_us; } spent; /* by the stopwatch; what scripts did inside the scan counts in both */
};

/*
 * Assembles. Always 0 and *out (a refusal is out->error): missing or broken assets are traced, never fatal. Lives in `a`;
 * the input must outlive the result.
 */
int prompt_assemble(struct arena *a, const struct prompt_input *in, struct prompt **out);

/*
 * The verdicts of an assembly, printed without a tree: members of a JSON object, without its braces: budget, rows, blocks,
 * chat, off, lore, macros … Texts of the prompt are never in it. turn/explain.c reads them back.
 */
void prompt_explain(const struct prompt *p, struct sb *out);

/* One text as it would read now. The history of `in` has no new message; its phase is MACRO_PREVIEW. */
struct prompt_preview {
	struct str text;
	const struct macro_result *macros;
	struct json *normalization, *sources, *visibility; /* members of runtime_trace */
};
void prompt_preview(struct arena *a, const struct prompt_input *in, struct str text, enum macro_dialect d, struct prompt_preview *out);

/* What is wrong with a session's choices for a preset's choice blocks; NULL = nothing. preset NULL = none bound: nothing can be chosen. */
const char *prompt_choices_fault(const struct prompt_preset *p, const struct json *choices, struct str *name_out);

/* Greetings of a new chat: the chosen one of a card (0 = first_mes), macros expanded as at the start of the chat; writes in *macros_out. */
struct str prompt_greeting(struct arena *a, const struct prompt_input *in, size_t member, int64_t choice, const struct macro_result **macros_out);

/* An author's text outside of a prompt, such as the greeting of an imported chat: macros expanded, writes in *macros_out. */
struct str prompt_expand(struct arena *a, const struct prompt_input *in, size_t member, struct str text, const struct macro_result **macros_out);

/*
 * What a turn does to a chat (step.c). Is what was typed said? In a turn of one's own and in a continue; in the others it stays
 * where it was typed. Typing nothing (absent = no turn of the user at all) says something if the preset has a text for that.
 */
bool prompt_says(enum prompt_type type, const struct prompt_preset *p, struct str typed);
/* Does this turn show the card's next greeting, instead of asking a model? A swipe does while the greeting is all that was said; *choice moves on, from the last to the first. */
bool prompt_greeting_swipes(enum prompt_type type, const struct prompt_card *c, size_t nmessages, bool greeted, int64_t *choice);
/* Type continue: prompt.continued and what the model went on to say as one message, the preset's postfix between (NULL = a blank). */
struct str prompt_go_on(struct arena *a, const struct prompt_preset *p, struct str before, struct str said);

/* A model's reply as later prompts have it: through the persist rules and, in the compat modes, cleaned as SillyTavern does (15). */
struct str prompt_reply(struct arena *a, const struct prompt_input *in, struct str reply, struct regex_trace *trace);

#endif
