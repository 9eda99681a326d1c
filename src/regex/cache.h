/*
 * cache (private to regex): patterns whose text is known only when they run, because macros stand
 * in them. Each thread keeps the last few; dropping them changes nothing.
 */
#ifndef REGEX_CACHE_H
#define REGEX_CACHE_H

#include "regex/regex.h"

/* The compiled pattern, or NULL and *what (static text). Valid until the thread's next call. */
const struct regex *regex_cached(struct str pattern, int flags, const char **what);

#endif
