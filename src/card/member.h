/*
 * member: members of a JSON object that is being written: the comma, the name, the value. Absent values are
 * null.
 */
#ifndef CARD_MEMBER_H
#define CARD_MEMBER_H

#include "base/sb.h"

/* `json` is the value's text; an empty one is what the caller appends. */
static inline void
member(struct sb *out, const char *name, struct str json)
{
	sb_addf(out, "%s\"%s\":", out->n > 0 && out->p[out->n - 1] != '{' ? "," : "", name);
	sb_add(out, json.p ? json : STR("null"));
}

static inline void
member_text(struct sb *out, const char *name, struct str text)
{
	member(out, name, STR(""));
	sb_add_json(out, text);
}

static inline void
member_int(struct sb *out, const char *name, int64_t v)
{
	member(out, name, STR(""));
	sb_add_int(out, v);
}

static inline void
member_bool(struct sb *out, const char *name, bool v)
{
	member(out, name, v ? STR("true") : STR("false"));
}

#endif
