/*
 * tm: time as integer milliseconds since 1970 (UTC), the unit of the API. Reading
 * the clock is only for process code; pure cores are given `now`.
 */
#ifndef BASE_TM_H
#define BASE_TM_H

#include "arena.h"

int64_t tm_now(void);      /* wall clock, ms */
int64_t tm_mono(void);     /* monotonic, ms */
int64_t tm_mono_us(void);

struct tm_civil {
	int year, month, day;          /* 1..12, 1..31 */
	int hour, minute, second, ms;
	int weekday;                   /* 0 = Sunday */
	int yearday;                   /* 1..366 */
	int offset;                    /* minutes east of UTC */
	const char *abbrev;            /* "UTC", "CEST", "+02:00" */
};

/* A time zone by IANA name ("Europe/Berlin"), "UTC" or offset ("+02:00"). Immutable after loading. */
struct tm_zone;
const struct tm_zone *tm_zone_utc(void);
struct tm_zone *tm_zone_load(struct arena *a, struct str name); /* NULL: no such zone; reads the system's zone files */

struct tm_civil tm_civil(const struct tm_zone *zone, int64_t ms);
int64_t tm_from_civil(const struct tm_zone *zone, const struct tm_civil *c); /* local time -> ms */
char *tm_iso(struct arena *a, int64_t ms);  /* 2026-11-30T14:20:43.000Z */

#endif
