/*
 * tm: clocks and civil time. Zones are data from tm_zone.c; this file knows calendars only
 * (proleptic Gregorian; days are counted from 1970-01-01, months in years that begin in March).
 */
#include "base/tm.h"

#include "base/tm_private.h"

#include <stdlib.h>
#include <time.h>

#define DAY_SECONDS 86400
#define ERA_DAYS 146097 /* 400 years */

static int64_t
clock_us(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t
tm_now(void)
{
	return clock_us(CLOCK_REALTIME) / 1000;
}

int64_t
tm_mono(void)
{
	return clock_us(CLOCK_MONOTONIC) / 1000;
}

int64_t
tm_mono_us(void)
{
	return clock_us(CLOCK_MONOTONIC);
}

int64_t
floor_div(int64_t n, int64_t by)
{
	return n / by - (n % by < 0);
}

bool
year_is_leap(int64_t y)
{
	return y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
}

/* Months beyond 1..12 carry into the year, days beyond the month into the next ones. */
int64_t
days_from_civil(int64_t y, int64_t m, int64_t d)
{
	int64_t carry = floor_div(m - 1, 12), era, year_of_era, day_of_year;

	y += carry;
	m -= carry * 12;
	if (m <= 2)
		y--;
	era = floor_div(y, 400);
	year_of_era = y - era * 400;
	day_of_year = (153 * (m > 2 ? m - 3 : m + 9) + 2) / 5;
	return era * ERA_DAYS + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year + d -
	       1 - 719468;
}

void
civil_from_days(int64_t days, struct tm_civil *c)
{
	int64_t z = days + 719468, era = floor_div(z, ERA_DAYS), doe = z - era * ERA_DAYS;
	int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;

	c->day = (int)(doy - (153 * mp + 2) / 5 + 1);
	c->month = (int)(mp < 10 ? mp + 3 : mp - 9);
	c->year = (int)(yoe + era * 400 + (c->month <= 2));
	c->weekday = (int)(((days + 4) % 7 + 7) % 7);
	c->yearday = (int)(days - days_from_civil(c->year, 1, 1)) + 1;
}

struct tm_civil
tm_civil(const struct tm_zone *zone, int64_t ms)
{
	int64_t s = floor_div(ms, 1000), local, days;
	const struct tm_type *type = tm_zone_type(zone, s);
	struct tm_civil c = {
		.ms = (int)(ms - s * 1000), .offset = (int)(type->offset / 60), .abbrev = type->abbrev
	};

	local = s + type->offset;
	days = floor_div(local, DAY_SECONDS);
	civil_from_days(days, &c);
	local -= days * DAY_SECONDS;
	c.hour = (int)(local / 3600);
	c.minute = (int)(local / 60 % 60);
	c.second = (int)(local % 60);
	return c;
}

/*
 * A time that occurs twice is the first of the two, a time that is skipped is read with the
 * offset from before the gap: what JavaScript's Date does.
 */
int64_t
tm_from_civil(const struct tm_zone *zone, const struct tm_civil *c)
{
	int64_t local = days_from_civil(c->year, c->month, c->day) * DAY_SECONDS + (int64_t)c->hour * 3600 +
			(int64_t)c->minute * 60 + c->second;
	int64_t before = tm_zone_type(zone, local - DAY_SECONDS)->offset;
	int64_t after = tm_zone_type(zone, local + DAY_SECONDS)->offset;
	int64_t s = local - before;

	if (tm_zone_type(zone, s)->offset != before && tm_zone_type(zone, local - after)->offset == after)
		s = local - after;
	return s * 1000 + c->ms;
}

char *
tm_iso(struct arena *a, int64_t ms)
{
	struct tm_civil c = tm_civil(tm_zone_utc(), ms);
	const char *year = c.year < 0 || c.year > 9999
			       ? arena_printf(a, "%c%06d", c.year < 0 ? '-' : '+', abs(c.year))
			       : arena_printf(a, "%04d", c.year);

	return arena_printf(
	    a, "%s-%02d-%02dT%02d:%02d:%02d.%03dZ", year, c.month, c.day, c.hour, c.minute, c.second, c.ms);
}
