/*
 * values: from what a session knows (snapshots, metadata, card, preset, history) to the fields of a
 * macro_env, by the rules of decisions 34: which source wins, what is borrowed and what is not.
 * One place, so that server, command line and tests agree. Knows no storage.
 */
#ifndef MACRO_VALUES_H
#define MACRO_VALUES_H

#include "macro.h"

/* One message of the history that is looked at, oldest first. */
enum macro_author { MACRO_BY_USER, MACRO_BY_CHAR, MACRO_BY_SYSTEM };
struct macro_message {
	enum macro_author author; /* a narrator's message: MACRO_BY_CHAR */
	struct str text;          /* as it is sent (decisions 52) */
	bool hidden;              /* not sent: still the last message, never the last of its author */
	int64_t sent;             /* ms; 0 = unknown */
	unsigned swipes;          /* pages; 0 = unknown */
	unsigned swipe; /* active one, from 0; == swipes: one is being written, the message is skipped */
};

struct macro_inputs {
	const struct json
	    *metadata; /* of the session: persona, systemPrompt, authorsNote, model, … in both spellings */
	struct str user, persona;         /* user snapshot */
	struct str preset_main;           /* content of the preset's main prompt */
	bool forbid_card_system;          /* the preset forbids the override */
	struct str default_system_prompt; /* configured; absent = the page's constant */
	struct str model;                 /* the run's; absent = metadata */
	const char
	    *run_kind; /* "dry_run", "respond", "regenerate", "retry", "continue", "impersonate", "quiet" */
	struct str prompt_mode; /* absent = metadata; unknown = compat_strict */
	struct str summary;
	int64_t max_context, max_response; /* tokens; 0 = unknown */
	int64_t max_prompt;                /* 0 = context minus reply, or 1000 if there is no context */
	const struct macro_message *messages;
	size_t n_messages;
	int64_t first_id;       /* number of messages[0] in the chat, from 0 */
	int64_t first_included; /* number of the first message that is sent; -1 = unknown */
};

/*
 * Fills env->field (from MF_MEMBER__END on) and env->idle_ms. env->members, now, vars and group must be set
 * before; texts are borrowed, made ones live in `a`.
 */
void macro_values_fill(struct arena *a, const struct macro_inputs *in, struct macro_env *env);

/*
 * What the assembly warns of once, whether or not a macro is used: ordinary variables with the name of a
 * read-only macro (`ordinary`: the names that are set, n of them), then values that are missing. Appended to
 * the run.
 */
void macro_values_warn(struct macro_run *r, const struct str *ordinary, size_t n);

/* SillyTavern's word for a run kind: "normal", "regenerate", "swipe", "continue", "impersonate", "quiet". */
const char *macro_generation_type(const char *run_kind);

#endif
