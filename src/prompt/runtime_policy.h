/*
 * runtime_policy: the prompt-runtime policy of a turn: what session, branch and request ask of an
 * assembly beyond its assets (which sources take part, which floors are seen, how messages are
 * structured and delivered, how many tokens there are). One table says which members exist and
 * what holds where nobody says anything; the routes print it and the turn runs by it. Pure.
 */
#ifndef PROMPT_RUNTIME_POLICY_H
#define PROMPT_RUNTIME_POLICY_H

#include "base/json.h"

/* Who says something, weakest first. */
enum policy_layer { POLICY_SESSION, POLICY_BRANCH, POLICY_REQUEST, POLICY_LAYER__COUNT };

struct policy_layers {
	const struct json *v[POLICY_LAYER__COUNT]; /* NULL = says nothing; the request's is its body */
};

struct policy_resolved {
	struct json *policy;  /* every group, with the members that somebody or the default says */
	struct json *said;    /* the members that somebody says, for the record of a turn */
	struct policy_layers layers;
};

/* Member by member the strongest layer wins. Lives in `a`; values are shared with the layers, so do not change them. */
struct policy_resolved policy_resolve(struct arena *a, const struct policy_layers *in);

/* Who said each member: system_default, session_policy, branch_policy, request_override. For people: a turn does not ask. */
struct json *policy_sources(struct arena *a, const struct policy_resolved *p);

/*
 * The same to be kept: {"group.member":"session_policy",…} of those that somebody says, and read again with the defaults
 * for the others. NULL who = nobody says anything.
 */
void policy_who_print(struct sb *out, const struct policy_resolved *p);
struct json *policy_who_read(struct arena *a, const struct json *who);

/* What holds where nobody says anything. */
struct json *policy_defaults(struct arena *a);

/*
 * A stored policy (NULL = none) with a change merged in member by member; a null takes its member away, and groups that
 * nothing is left of go too. Lives in `a`.
 */
struct json *policy_patch(struct arena *a, const struct json *stored, const struct json *change);

/* Is a floor seen? id: may be absent. */
bool policy_sees_floor(const struct json *policy, int32_t floor_no, struct str floor_id);
/* Does the policy hide any floor at all? */
bool policy_hides(const struct json *policy);

/* Tokens that the policy leaves to an assembly: what a model takes, cut to budget.max_input_tokens. */
struct policy_budget {
	int64_t context, reply; /* tokens; 0 = not said */
};
struct policy_budget policy_budget(const struct json *policy, struct policy_budget without);

#endif
