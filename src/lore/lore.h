/*
 * lore: SillyTavern's world-info engine (spec st-assembly 2; decisions 16, 35). Books are
 * compiled once per version; the books bound to a session are compiled into a set whose plain
 * keys form one multi-pattern automaton, so a scan costs little more for 2,000 entries than
 * for 20. Scanning is a pure function: texts, settings, chance, past activations and answers
 * in; activated entries in order, the texts to print, and a verdict for every entry out.
 *
 * Books, sets and what they hold are immutable and shared by threads. Knows no prompt, no
 * storage, no tokenizer and no macro language: those are functions of the caller.
 */
#ifndef LORE_LORE_H
#define LORE_LORE_H

#include "base/vec.h"

/* ---- entries and books ---- */

enum lore_logic { LORE_AND_ANY, LORE_NOT_ALL, LORE_NOT_ANY, LORE_AND_ALL };

enum lore_position {
	LORE_BEFORE, /* of the character's description */
	LORE_AFTER,
	LORE_NOTE_TOP, /* glued to the author's note */
	LORE_NOTE_BOTTOM,
	LORE_DEPTH, /* in the chat, `depth` messages up, as `role` */
	LORE_EXAMPLE_TOP,
	LORE_EXAMPLE_BOTTOM,
	LORE_OUTLET, /* read by {{outlet::name}} only */
	LORE_POSITION__COUNT
};

enum lore_role { LORE_SYSTEM, LORE_USER, LORE_ASSISTANT };

enum lore_tri { LORE_UNSET, LORE_NO, LORE_YES }; /* unset = as the settings say */

/* Further texts that an entry may look into. */
enum lore_source {
	LORE_PERSONA,
	LORE_DESCRIPTION,
	LORE_PERSONALITY,
	LORE_DEPTH_PROMPT,
	LORE_SCENARIO,
	LORE_CREATOR_NOTES,
	LORE_SOURCE__COUNT
};

struct lore_strs {
	const struct str *v;
	size_t n;
};

struct lore_entry {
	int64_t uid;
	struct lore_strs keys, secondary;
	struct str comment; /* title */
	struct str content; /* leading @@ lines included */
	bool disabled, constant, selective, vectorized;
	enum lore_logic logic;
	double order;
	enum lore_position position;
	int32_t depth; /* LORE_DEPTH */
	enum lore_role role;
	struct str outlet; /* LORE_OUTLET; empty = never printed */
	bool ignore_budget, exclude_recursion, prevent_recursion;
	int32_t delay_until_recursion; /* 0 = no, else the level */
	double probability;            /* percent */
	bool use_probability;
	struct str group; /* names, comma separated */
	bool group_override;
	double group_weight;
	enum lore_tri group_scoring, case_sensitive, whole_words;
	bool has_scan_depth;
	int32_t scan_depth;
	int32_t sticky, cooldown, delay; /* messages; 0 = none */
	unsigned sources;                /* 1 << enum lore_source */
	struct lore_strs triggers;       /* generation types; empty = all */
	bool filter_exclude;
	struct lore_strs filter_names, filter_tags;
	/*
	 * A statement that a decision model answers (spec marinara-conditionals 8). It gates the
	 * entry: yes = on if its keys match or it has none; no = off; unanswered = the keys alone
	 * decide. The entry's own sticky and cooldown are the statement's.
	 */
	struct str decision;
	struct str dialect; /* of its texts' conditionals, as stored with it or its book: for calls.expand; empty = not said */
};

/* The values of a file that says nothing. */
struct lore_entry lore_entry_defaults(void);

struct lore_book;

/*
 * Compiles the entries of one book; texts are copied. `name` identifies the book in results
 * and past activations. Entries keep their order; a repeated uid gets the next free number.
 */
struct lore_book *lore_book_compile(struct arena *a, struct str name, const struct lore_entry *v, size_t n);
size_t lore_book_count(const struct lore_book *b);
struct str lore_book_name(const struct lore_book *b);
const struct lore_entry *lore_book_entry(const struct lore_book *b, size_t i);
uint64_t lore_book_hash(
    const struct lore_book *b, size_t i);          /* of the entry's meaning: changes when it is edited */
size_t lore_book_bytes(const struct lore_book *b); /* outside the arena: compiled regex keys */

/* ---- the bound books ---- */

/* Where a book is bound. A name bound twice counts once, at its strongest place (global > chat > persona >
 * character). */
enum lore_scope { LORE_GLOBAL, LORE_CHARACTER, LORE_CHAT, LORE_PERSONA_BOOK };

struct lore_bound {
	const struct lore_book *book; /* must outlive the set */
	enum lore_scope scope;
};

enum lore_strategy { LORE_EVENLY, LORE_CHARACTER_FIRST, LORE_GLOBAL_FIRST };

/* What the automaton depends on: part of a set's cache key. */
struct lore_binding {
	const struct lore_bound *books;
	size_t nbooks;
	enum lore_strategy strategy;
	bool case_sensitive, whole_words; /* for entries that leave it open */
	bool unicode_words; /* whole words end at any Unicode word character (native), not only ASCII ones */
};

struct lore_set;

struct lore_set *lore_set_compile(struct arena *a, const struct lore_binding *b);
size_t lore_set_count(const struct lore_set *s);    /* entries, in candidate order */
size_t lore_set_bytes(const struct lore_set *s);    /* outside the arena */
int32_t lore_set_horizon(const struct lore_set *s); /* floors of past activations that can still matter */

/* ---- timed effects ---- */

enum lore_effect { LORE_STICKY, LORE_COOLDOWN };

/* An effect that runs. Units: number of messages in the chat. */
struct lore_timer {
	struct str book;
	int64_t uid;
	uint64_t hash; /* lore_book_hash: an edited entry loses its effect */
	enum lore_effect effect;
	int64_t start, end;
	bool is_protected; /* survives a chat that did not advance */
};

struct lore_timers {
	const struct lore_timer *v;
	size_t n;
};

/* What one committed floor activated: stored with the floor, given back to lore_timers_replay. */
struct lore_past_entry {
	struct str book;
	int64_t uid;
	uint64_t hash;
	bool sticky_began, cooldown_began; /* the activation started the effect (it did not run already) */
};

struct lore_past {
	int64_t messages; /* chat length of that scan */
	const struct lore_past_entry *v;
	size_t n;
};

/*
 * The running effects after these floors (oldest first; the last lore_set_horizon() are enough):
 * what a scan takes as `timers`. A floor that was replaced, deleted or forked away is simply not in the list.
 */
struct lore_timers lore_timers_replay(
    struct arena *a, const struct lore_set *s, const struct lore_past *floors, size_t n);

/* ---- scanning ---- */

struct lore_settings {
	int32_t scan_depth;    /* messages; 2 */
	double budget_percent; /* of max_context; 25 */
	int64_t budget_cap;    /* tokens; 0 = none */
	bool include_names;    /* `Name: text`; true */
	bool recursive;
	int32_t max_steps; /* passes; 0 = no limit */
	int32_t min_activations, min_activations_depth_max;
	bool group_scoring;
};
struct lore_settings lore_settings_defaults(void);

struct lore_text {
	struct str name, text;
};

enum lore_answer { LORE_UNANSWERED, LORE_ANSWER_NO, LORE_ANSWER_YES };

/* What is wanted of the caller. `arg` comes first; results must live as long as the scan's arena. */
struct lore_calls {
	void *arg;
	/* Macros of a key or of an entry's content; called once per text, in SillyTavern's order. NULL =
	 * none. */
	struct str (*expand)(void *arg, struct str dialect, struct str text);
	/* Size of a text in tokens. NULL = UTF-16 units / 4, rounded up. */
	size_t (*count)(void *arg, struct str text);
	/* Chance in [0, 1). NULL = from `seed`. */
	double (*roll)(void *arg);
	/* What is printed of an activated entry (regex scripts of place 5, prompt channel). Depth: has_depth
	 * only for LORE_DEPTH. NULL = the content. */
	struct str (*rewrite)(void *arg, struct str content, bool has_depth, int32_t depth);
	/* Answer to a decision statement. NULL = unanswered. */
	enum lore_answer (*decide)(void *arg, struct str statement);
};

struct lore_scan {
	const struct lore_text *messages; /* newest first, hidden ones left out */
	size_t nmessages;
	int64_t chat_length; /* messages of the whole chat, also those not given; 0 = nmessages */
	struct str sources[LORE_SOURCE__COUNT];
	const struct str *injected; /* texts with the scan flag: author's note, … */
	size_t ninjected;
	struct str trigger;    /* normal, continue, impersonate, swipe, regenerate, quiet */
	struct str character;  /* its name, for name filters */
	struct str character_file; /* what SillyTavern calls its file, without suffix: the other name a filter may use; absent = none */
	struct lore_strs tags; /* of the active character: names, compared in any case */
	bool has_tags;         /* false = unknown: tag filters do not apply */
	const int64_t *forced; /* entries switched on from outside: indexes in candidate order */
	size_t nforced;
	int64_t max_context; /* tokens without the reply: base of the budget */
	uint64_t seed;
	struct lore_timers timers;
	bool dry_run; /* preview: timers are neither looked at nor written (delay is) */
	struct lore_settings settings;
	struct lore_calls calls;
};

/* Why an entry is in, or why not. The last reason that held when the scan ended. */
enum lore_why {
	LORE_BY_KEY,
	LORE_BY_CONSTANT,
	LORE_BY_STICKY,
	LORE_BY_DECORATOR, /* @@activate */
	LORE_BY_FORCE,
	LORE_BY_DECISION,
	LORE_NOT_DISABLED,  /* switched off */
	LORE_NOT_TRIGGER,   /* other generation type */
	LORE_NOT_CHARACTER, /* name filter */
	LORE_NOT_TAG,
	LORE_NOT_DELAY, /* chat still too short */
	LORE_NOT_COOLDOWN,
	LORE_NOT_RECURSED,     /* waits for a recursion pass of its level */
	LORE_NOT_IN_RECURSION, /* a key was found only where recursion looks, and the entry excludes that */
	LORE_NOT_DECORATOR,    /* @@dont_activate */
	LORE_NOT_KEYLESS,      /* no keys and nothing else to switch it on */
	LORE_NOT_KEY,          /* no primary key found */
	LORE_NOT_LOGIC,        /* primary found, secondaries say no */
	LORE_NOT_DECISION,     /* answered no */
	LORE_NOT_ANSWERED,     /* no keys, and the decision has no answer yet */
	LORE_NOT_GROUP,        /* lost its inclusion group */
	LORE_NOT_PROBABILITY,
	LORE_NOT_BUDGET,
	LORE_NOT_DUPLICATE, /* the same book is bound at a stronger place */
	LORE_WHY__COUNT
};
const char *lore_why_name(enum lore_why w); /* "key", "constant", …, "not_budget" */
bool lore_why_is_on(enum lore_why w);

enum lore_place { LORE_IN_NOTHING, LORE_IN_MESSAGE, LORE_IN_SOURCE, LORE_IN_INJECTED, LORE_IN_RECURSION };
/* As the trace spells it. */
const char *lore_place_name(enum lore_place p);

/* One per entry of the set, in candidate order. */
struct lore_verdict {
	const struct lore_book *book;
	size_t entry; /* index in the book */
	enum lore_why why;
	struct str key;        /* the primary key that was found, macros expanded; absent = none */
	struct str secondary;  /* the secondary key that decided, if one did */
	enum lore_place place; /* where `key` stands */
	int32_t place_index;   /* message (0 = newest), enum lore_source, injected text, or pass whose entries
				  wrote it */
	int32_t pass;          /* pass that decided, from 1 */
	int32_t recursion;     /* recursion passes up to it: 0 = found in the chat itself */
	double roll;           /* probability: percent rolled, -1 = not rolled */
	int32_t score;         /* group score, -1 = not scored */
	bool key_limited;      /* a regex key of it hit the match limit and counted as not found */
};

struct lore_active {
	const struct lore_book *book;
	const struct lore_entry *entry;
	size_t candidate; /* index of the verdict */
	uint64_t hash;
	struct str content; /* @@ lines cut, macros expanded */
	struct str text;    /* what is printed: after `rewrite`; may be empty */
	size_t tokens;      /* of content */
	bool sticky_began, cooldown_began;
};

/* Printed texts of one depth and role, joined by a newline. */
struct lore_depth {
	int32_t depth;
	enum lore_role role;
	struct str text;
};

struct lore_outlet {
	struct str name, text;
};

struct lore_result {
	/* Activated entries in the order they were accepted (macros ran in this order). */
	struct lore_active *active;
	size_t nactive;
	/* The same entries as they are printed: order low to high, the later activated first among equals.
	 * Indexes into active. */
	size_t *printed;
	/* Joined as SillyTavern joins them; "" if there is nothing. */
	struct str before, after;
	struct lore_strs note_top, note_bottom;
	struct lore_strs example_top, example_bottom;
	struct lore_depth *depths; /* in the order in which the groups came up */
	size_t ndepths;
	struct lore_outlet *outlets;
	size_t noutlets;
	struct lore_verdict *verdicts; /* [lore_set_count] */
	size_t nverdicts;
	struct lore_timers timers;   /* running effects after this scan (a dry run: as given) */
	struct lore_strs unanswered; /* decision statements that would have mattered */
	int64_t budget, tokens;      /* tokens allowed and used */
	bool overflowed;
	int32_t passes;
	uint32_t rolls; /* times chance was asked */
};

/* Scans. Results live in `a`; the set, its books and the scan's texts must outlive them. */
struct lore_result *lore_run(struct arena *a, const struct lore_set *s, const struct lore_scan *in);

/* An author's note with its entries glued on: top lines, note, bottom lines; no empty first or last line. */
struct str lore_note(struct arena *a, const struct lore_result *r, struct str note);

/* What to store with the floor that commits this scan. */
struct lore_past lore_commit(struct arena *a, const struct lore_result *r, int64_t messages);

#endif
