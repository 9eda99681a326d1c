/*
 * json_loose: members of JSON objects read as people write them (decisions 18): null is absent,
 * numbers and switches may be texts, one value stands for a list of one.
 */
#ifndef BASE_JSON_LOOSE_H
#define BASE_JSON_LOOSE_H

#include "base/json.h"

/* The first of the keys (a NULL-terminated list in one string, separated by '|') that is present and not
 * null; NULL = none. */
struct json *loose_get(const struct json *o, const char *keys);

double loose_double(const struct json *v, double dflt); /* number, text of a number, bool */
int64_t loose_int(const struct json *v, int64_t dflt);  /* the same, truncated; out of range = dflt */
bool loose_bool(const struct json *v, bool dflt);       /* bool, number, "true"/"false"/text of a number */
struct str loose_str(
    struct arena *a, const struct json *v, struct str dflt); /* text, or a scalar as it prints */
/* A list of texts, or one text. Elements that are no scalars are left out. */
size_t loose_strs(struct arena *a, const struct json *v, const struct str **out);

#endif
