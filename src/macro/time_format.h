/*
 * time_format: dates and spans as SillyTavern prints them.
 */
#ifndef MACRO_TIME_FORMAT_H
#define MACRO_TIME_FORMAT_H

#include "base/tm.h"

/* `ms` in the zone (NULL = UTC) by format tokens: YYYY, MMMM, Do, h:mm A, [text] … */
struct str time_format(struct arena *a, const struct tm_zone *zone, int64_t ms, struct str format);
/* A span in words, without direction: "a few seconds", "an hour", "2 months". */
struct str time_span(struct arena *a, double ms);
/* An ISO date with or without time and offset; without offset it is local time of the zone. False: not a
 * date. */
bool time_parse(const struct tm_zone *zone, struct str s, int64_t *out);

#endif
