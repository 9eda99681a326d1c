/*
 * caps: what a model takes and refuses (models.md C). Rows are data (caps.jsonl, compiled in); the first row whose
 * pattern fits the model's normalised name counts, and a request may override members. Pure.
 */
#ifndef LLM_CAPS_H
#define LLM_CAPS_H

#include "base/json.h"

struct llm_caps {
	const struct json *over, *row;
	const char *match;               /* the pattern that fitted */
};

/* over: members that override the row's; NULL = none. Rows live as long as the process. */
struct llm_caps caps_find(struct str model, const struct json *over);
/* The name that patterns are compared with. */
struct str caps_name(struct arena *a, struct str model);

const struct json *caps_get(const struct llm_caps *c, const char *key); /* NULL = no restriction known */
bool caps_is(const struct llm_caps *c, const char *key, const char *value);
int64_t caps_int(const struct llm_caps *c, const char *key, int64_t dflt);
bool caps_bool(const struct llm_caps *c, const char *key, bool dflt);

#endif
