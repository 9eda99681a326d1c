/*
 * script: SillyTavern's regex scripts: which ones run on a text, in which order, and what they
 * make of it (spec st-assembly 3; decisions 17, 40). A set is compiled once per version,
 * immutable, shared by threads. Applying it is a pure function of set, text, place, channel,
 * depth and macro values. Knows no files and no storage; script_file.h reads the JSON.
 */
#ifndef REGEX_SCRIPT_H
#define REGEX_SCRIPT_H

#include "base/vec.h"
#include "regex/regex.h"

/* Where the text comes from; numbers as in the files. */
enum regex_place {
	REGEX_PLACE_USER = 1,
	REGEX_PLACE_AI = 2,
	REGEX_PLACE_COMMAND = 3,
	REGEX_PLACE_LORE = 5,
	REGEX_PLACE_REASONING = 6,
};
#define REGEX_PLACE_BIT(place) (1u << (place))
#define REGEX_PLACE_ALL 0x6eu /* 1 2 3 5 6 */

/* What the result is for. */
enum regex_channel {
	REGEX_PERSIST, /* stored beside what was typed or generated: scripts with neither flag */
	REGEX_PROMPT,  /* sent to the model: promptOnly */
	REGEX_DISPLAY, /* shown: markdownOnly */
	REGEX_EDIT,    /* an edited message: as persist, if the script runs on edits */
};

enum regex_substitute { REGEX_SUBST_NONE, REGEX_SUBST_RAW, REGEX_SUBST_ESCAPED };

/* Which list a script came from; sets are ordered global, preset, card (decisions 17). */
enum regex_source { REGEX_SOURCE_GLOBAL, REGEX_SOURCE_PRESET, REGEX_SOURCE_CARD };

#define REGEX_DEPTH_NONE INT32_MIN
#define REGEX_RESULT_MAX (8u << 20) /* bytes that scripts may make of one text */

struct regex_script {
	struct str id, name;
	struct str find; /* "/body/flags" or a bare pattern */
	struct str replace;
	const struct str *trim; /* cut from what was matched before it is inserted */
	size_t ntrim;
	unsigned places; /* REGEX_PLACE_BIT of each */
	bool disabled, markdown_only, prompt_only, run_on_edit;
	enum regex_substitute substitute; /* macros in `find` */
	int32_t min_depth, max_depth;     /* REGEX_DEPTH_NONE = no limit; also < -1 / < 0 */
	enum regex_source source;
};

struct regex_set;
struct regex_memo; /* memo.h */

/* Compiles scripts in running order. Never fails: a script that cannot run is kept with its reason. */
struct regex_set *regex_set_compile(struct arena *a, const struct regex_script *v, size_t n);
size_t regex_set_bytes(const struct regex_set *set); /* compiled patterns; the rest is in the arena */
size_t regex_set_count(const struct regex_set *set);
const struct regex_script *regex_set_script(const struct regex_set *set, size_t i);
/* Why script i can never run (invalid pattern), or NULL. Scripts with macros in `find` are checked when they
 * run. */
const char *regex_set_fault(const struct regex_set *set, size_t i);
/* The sets one after another, as one: what to apply for a session. Shares the compiled patterns, which must
 * outlive it. */
struct regex_set *regex_set_join(struct arena *a, const struct regex_set *const *sets, size_t n);

enum regex_verdict {
	REGEX_RAN,      /* replaced something: `matches` */
	REGEX_NO_MATCH, /* listed only if the caller asks for everything */
	REGEX_INVALID,  /* pattern is no JavaScript, or not supported: skipped */
	REGEX_BREACH,   /* match, depth or heap limit: skipped for this text, which stays as it was */
	REGEX_OVERSIZE, /* the result would pass the size limit: skipped for this text */
	REGEX_DISABLED, /* the rest: listed only if the caller asks for everything */
	REGEX_OTHER_PLACE,
	REGEX_OTHER_CHANNEL,
	REGEX_OTHER_DEPTH,
	REGEX_VERDICT__COUNT
};
const char *regex_verdict_name(enum regex_verdict v); /* "ran", "no_match", … */

struct regex_trace_item {
	size_t script; /* index in the set */
	enum regex_verdict verdict;
	uint32_t matches;
	const char *detail; /* static text, or NULL */
};

struct regex_trace {
	bool all; /* in: list every script, not only those that ran or failed */
	VEC(struct regex_trace_item) items;
};

/* Scripts that a limit has stopped in a piece of work; see regex_call. */
struct regex_stopped {
	const void *script[32];
	size_t n;
};

struct regex_call {
	enum regex_place place;
	enum regex_channel channel;
	bool has_depth;
	int32_t depth; /* messages behind it: newest 0; -1 for the one that is continued */
	/*
	 * Expands the macros of a text that an author wrote (find, replacement and trim strings);
	 * NULL = macros stay as text. The result must live as long as `a` of regex_apply. For a find string with
	 * substitute = escaped it is asked for each macro by itself, whose value goes through regex_escape.
	 */
	struct str (*expand)(void *arg, struct str text);
	void *arg;
	struct regex_budget
	    *budget; /* CPU time shared by the calls of an assembly; NULL = REGEX_BUDGET_US for each script */
	/* Kept with the budget: when it is gone, scripts that were not stopped still get a little. NULL = none does. */
	struct regex_stopped *stopped;
	/*
	 * If not NULL, filled with the parts of the result that come from `text` (captured text too), in
	 * order: the rest was put in by scripts, and macros in it are never expanded (decisions 52).
	 */
	struct regex_own *own;
	/* What was made of texts before, shared by threads; NULL = nothing is kept. Not looked at with a trace. */
	struct regex_memo *memo;
};

struct regex_own {
	VEC(struct regex_span) part;
};

/*
 * Runs the set over one text (valid UTF-8), script after script on each other's output. Returns
 * the text itself if nothing changed, else a new text in `a`. Macros of a replacement run once for
 * each text, before the first match is put in; only if a match goes into a macro's argument they
 * run for each match. Captured text is never expanded (decisions 40). `trace` may be NULL.
 */
struct str regex_apply(struct arena *a, const struct regex_set *set, struct str text,
    const struct regex_call *call, struct regex_trace *trace);

/* Does any enabled script of the set look at this place and channel? (to skip work) */
bool regex_set_wants(const struct regex_set *set, enum regex_place place, enum regex_channel channel);

/* Splits a find string by SillyTavern's rule: pattern and flag letters. */
void regex_find_split(struct str find, struct str *pattern_out, struct str *flags_out);

/* A macro's value made literal for a pattern (substitute = escaped). */
struct str regex_escape(struct arena *a, struct str value);

#endif
