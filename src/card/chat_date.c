/*
 * chat_date: the notations of time that chat files of all ages hold. Without a zone the text
 * is read as UTC: the writer's zone is not in the file, and no order depends on it (case B07).
 */
#include "chat_file.h"

#include "base/tm.h"

#include <ctype.h>

/* A cursor over the text. */
struct scan {
	struct str s;
	size_t at;
};

static bool
number(struct scan *c, size_t min, size_t max, int *out)
{
	size_t n = 0;
	int v = 0;

	while (n < max && c->at + n < c->s.n && isdigit((unsigned char)c->s.p[c->at + n])) {
		v = v * 10 + (c->s.p[c->at + n] - '0');
		n++;
	}
	if (n < min)
		return false;
	c->at += n;
	*out = v;
	return true;
}

static bool
sign(struct scan *c, const char *any)
{
	if (c->at >= c->s.n || strchr(any, c->s.p[c->at]) == NULL || c->s.p[c->at] == '\0')
		return false;
	c->at++;
	return true;
}

static void
blanks(struct scan *c)
{
	while (sign(c, " \t,"))
		;
}

/* A month by its name or first three letters. */
static bool
month_name(struct scan *c, int *out)
{
	static const char *const names[] = { "january", "february", "march", "april", "may", "june", "july",
		"august", "september", "october", "november", "december" };
	size_t n = 0;

	while (c->at + n < c->s.n && isalpha((unsigned char)c->s.p[c->at + n]))
		n++;
	for (int m = 0; m < 12 && n >= 3; m++)
		if (n <= strlen(names[m]) &&
		    str_ieq(str_sub(c->s, c->at, c->at + n), str_sub(str_c(names[m]), 0, n))) {
			c->at += n;
			sign(c, ".");
			*out = m + 1;
			return true;
		}
	return false;
}

/* Digits after the point: milliseconds. */
static void
fraction(struct scan *c, int *ms)
{
	int scale = 100;

	for (*ms = 0; c->at < c->s.n && isdigit((unsigned char)c->s.p[c->at]); c->at++, scale /= 10)
		*ms += (c->s.p[c->at] - '0') * scale;
}

/* Z, +08:00, +0800, -05; nothing is UTC. *minutes east. */
static bool
zone(struct scan *c, int *minutes)
{
	int h, m = 0, east = 1;

	*minutes = 0;
	if (sign(c, "Zz") || c->at == c->s.n)
		return true;
	if (sign(c, "-"))
		east = -1;
	else if (!sign(c, "+"))
		return false;
	if (!number(c, 1, 2, &h))
		return false;
	sign(c, ":");
	number(c, 2, 2, &m);
	*minutes = east * (h * 60 + m);
	return h <= 15 && m < 60;
}

/* 2:20pm, 14:20:30, 14:20:30.123 */
static bool
clock_time(struct scan *c, struct tm_civil *t)
{
	if (!number(c, 1, 2, &t->hour) || !sign(c, ":") || !number(c, 2, 2, &t->minute))
		return false;
	if (sign(c, ":")) {
		if (!number(c, 2, 2, &t->second))
			return false;
		if (sign(c, ".,"))
			fraction(c, &t->ms);
	}
	blanks(c);
	if (sign(c, "pP")) {
		t->hour = t->hour % 12 + 12;
		return sign(c, "mM");
	}
	if (sign(c, "aA")) {
		t->hour %= 12;
		return sign(c, "mM");
	}
	return true;
}

/* 14h20m30s123ms, blanks allowed: the file names of old chats */
static bool
letter_time(struct scan *c, struct tm_civil *t)
{
	int *const to[] = { &t->hour, &t->minute, &t->second };
	const char *const unit[] = { "h", "m", "s" };

	for (int i = 0; i < 3; i++) {
		blanks(c);
		if (!number(c, 1, 2, to[i]) || !sign(c, unit[i]))
			return i > 0 && c->at == c->s.n;
	}
	blanks(c);
	if (number(c, 1, 3, &t->ms))
		return sign(c, "m") && sign(c, "s");
	return true;
}

static bool
valid(const struct tm_civil *t)
{
	static const int days[] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

	return t->year >= 1970 && t->year <= 9999 && t->month >= 1 && t->month <= 12 && t->day >= 1 &&
	       t->day <= days[t->month - 1] && t->hour < 24 && t->minute < 60 && t->second < 61;
}

/* 2023-6-19, then T, blank or @, then a time of either notation; the time may be missing. */
static bool
year_first(struct scan *c, struct tm_civil *t, int *east)
{
	*east = 0;
	if (!number(c, 4, 4, &t->year) || !sign(c, "-/.") || !number(c, 1, 2, &t->month) || !sign(c, "-/.") ||
	    !number(c, 1, 2, &t->day))
		return false;
	if (c->at == c->s.n)
		return true;
	blanks(c);
	if (sign(c, "@"))
		return letter_time(c, t);
	sign(c, "Tt");
	return clock_time(c, t) && zone(c, east);
}

/* June 19, 2023 2:20pm; 19 June 2023 14:20 */
static bool
month_first(struct scan *c, struct tm_civil *t, int *east)
{
	*east = 0;
	if (month_name(c, &t->month)) {
		blanks(c);
		if (!number(c, 1, 2, &t->day))
			return false;
	} else {
		if (!number(c, 1, 2, &t->day))
			return false;
		blanks(c);
		if (!month_name(c, &t->month))
			return false;
	}
	blanks(c);
	if (!number(c, 4, 4, &t->year))
		return false;
	blanks(c);
	return c->at == c->s.n || (clock_time(c, t) && zone(c, east));
}

/* Seconds or milliseconds since 1970, told apart by size; fractions are cut. */
static bool
epoch(struct str text, int64_t *ms)
{
	size_t dot = str_chr(text, '.', 0);
	int64_t v;

	if (!str_int(str_sub(text, 0, dot == STR_NPOS ? text.n : dot), &v) || v <= 0 || v > 253402300799999)
		return false;
	*ms = v < 100000000000 ? v * 1000 : v;
	return true;
}

bool
chat_date(struct str text, int64_t *ms_out)
{
	typedef bool reader(struct scan *, struct tm_civil *, int *);
	static reader *const readers[] = { year_first, month_first };

	text = str_trim(text);
	if (epoch(text, ms_out))
		return true;
	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
		struct scan c = { .s = text };
		struct tm_civil t = { 0 };
		int east;

		if (!readers[i](&c, &t, &east) || c.at != text.n || !valid(&t))
			continue;
		*ms_out = tm_from_civil(tm_zone_utc(), &t) - (int64_t)east * 60000;
		return true;
	}
	return false;
}
