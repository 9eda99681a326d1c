/*
 * tm_private: what tm.c (calendar) and tm_zone.c (zones) tell each other.
 */
#ifndef BASE_TM_PRIVATE_H
#define BASE_TM_PRIVATE_H

#include "tm.h"

/* One kind of local time of a zone. */
struct tm_type {
	int32_t offset; /* seconds east of UTC */
	const char *abbrev;
};

/* What holds in a zone at a second since 1970. Never NULL. */
const struct tm_type *tm_zone_type(const struct tm_zone *zone, int64_t s);

/* A zone from the text of a TZif file; NULL if it is none. Keeps nothing of the text. */
struct tm_zone *tm_zone_read(struct arena *a, struct str s);

int64_t floor_div(int64_t n, int64_t by); /* by > 0 */
bool year_is_leap(int64_t y);
int64_t days_from_civil(int64_t y, int64_t m, int64_t d); /* days since 1970-01-01 */
void civil_from_days(int64_t days, struct tm_civil *c);   /* sets the members of the date */

#endif
