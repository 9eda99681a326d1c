/*
 * time_format: dates as SillyTavern's library prints them: format tokens, and spans in words.
 * English names whatever the locale; the zone is given.
 */
#include "macro/time_format.h"

#include "base/sb.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define DAY_MS 86400000.0

// clang-format off
static const char *const months[] = {
	"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"
};
static const char *const days[] = { "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday" };
// clang-format on

static void
ordinal(struct sb *sb, int n)
{
	int tens = n % 100 / 10, ones = n % 10;
	const char *suffix = tens == 1 ? "th" : ones == 1 ? "st" : ones == 2 ? "nd" : ones == 3 ? "rd" : "th";

	sb_addf(sb, "%d%s", n, suffix);
}

static bool
leap(int year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* Week of the year and its year. US rule: weeks begin on Sunday, the first holds January 1; ISO: Monday,
 * January 4. */
static int
week_of(const struct tm_civil *c, bool iso, int *year)
{
	int wday = iso ? (c->weekday + 6) % 7 : c->weekday, anchor = iso ? 4 : 1;
	int first, week, length;

	/* day of the year (from 1) on which this day's week begins, then the one on which week 1 begins */
	first = c->yearday - wday;
	length = leap(c->year) ? 366 : 365;
	*year = c->year;
	if (first + 6 >= length + anchor) { /* the week holds next year's anchor day */
		*year = c->year + 1;
		return 1;
	}
	week = (first + 6 - anchor) / 7 + 1;
	if (first + 6 < anchor) {
		struct tm_civil last = { .year = c->year - 1, .month = 12, .day = 31 };

		last.yearday = leap(c->year - 1) ? 366 : 365;
		last.weekday = ((c->weekday - c->yearday) % 7 + 7) % 7;
		return week_of(&last, iso, year);
	}
	return week;
}

static void
offset(struct sb *sb, int minutes, bool colon)
{
	int m = abs(minutes);

	sb_addf(sb, colon ? "%c%02d:%02d" : "%c%02d%02d", minutes < 0 ? '-' : '+', m / 60, m % 60);
}

static void add_part(struct sb *sb, struct str t, const struct tm_civil *c, int64_t ms);

/* A token, longest first; the ones that stand for a format come last. */
struct token {
	const char *text;
	int what;
};

enum what {
	T_YEAR4,
	T_YEAR2,
	T_MONTH_NAME,
	T_MONTH_SHORT,
	T_MONTH2,
	T_MONTH_ORD,
	T_MONTH,
	T_YDAY3,
	T_YDAY_ORD,
	T_YDAY,
	T_DAY_ORD,
	T_DAY2,
	T_DAY,
	T_WDAY_NAME,
	T_WDAY_SHORT,
	T_WDAY_MIN,
	T_WDAY_ORD,
	T_WDAY,
	T_WDAY_LOCALE,
	T_WDAY_ISO,
	T_WEEK2,
	T_WEEK_ORD,
	T_WEEK,
	T_ISO_WEEK2,
	T_ISO_WEEK_ORD,
	T_ISO_WEEK,
	T_QUARTER_ORD,
	T_QUARTER,
	T_WEEK_YEAR4,
	T_WEEK_YEAR2,
	T_ISO_YEAR4,
	T_ISO_YEAR2,
	T_HOUR2,
	T_HOUR,
	T_HOUR12_2,
	T_HOUR12,
	T_HOUR24_2,
	T_HOUR24,
	T_MINUTE2,
	T_MINUTE,
	T_SECOND2,
	T_SECOND,
	T_FRACTION,
	T_UPPER_AMPM,
	T_LOWER_AMPM,
	T_OFFSET_PLAIN,
	T_OFFSET,
	T_UNIX,
	T_UNIX_MS,
	T_ZONE,
	T_FORMAT
};

// clang-format off
static const struct token tokens[] = {
	{ "YYYYYY", T_YEAR4 }, { "YYYYY", T_YEAR4 }, { "YYYY", T_YEAR4 }, { "YY", T_YEAR2 }, { "Y", T_YEAR4 },
	{ "MMMM", T_MONTH_NAME }, { "MMM", T_MONTH_SHORT }, { "MM", T_MONTH2 }, { "Mo", T_MONTH_ORD }, { "M", T_MONTH },
	{ "DDDD", T_YDAY3 }, { "DDDo", T_YDAY_ORD }, { "DDD", T_YDAY }, { "Do", T_DAY_ORD }, { "DD", T_DAY2 }, { "D", T_DAY },
	{ "dddd", T_WDAY_NAME }, { "ddd", T_WDAY_SHORT }, { "dd", T_WDAY_MIN }, { "do", T_WDAY_ORD }, { "d", T_WDAY },
	{ "e", T_WDAY_LOCALE }, { "E", T_WDAY_ISO },
	{ "ww", T_WEEK2 }, { "wo", T_WEEK_ORD }, { "w", T_WEEK },
	{ "WW", T_ISO_WEEK2 }, { "Wo", T_ISO_WEEK_ORD }, { "W", T_ISO_WEEK },
	{ "Qo", T_QUARTER_ORD }, { "Q", T_QUARTER },
	{ "gggg", T_WEEK_YEAR4 }, { "gg", T_WEEK_YEAR2 }, { "GGGG", T_ISO_YEAR4 }, { "GG", T_ISO_YEAR2 },
	{ "HH", T_HOUR2 }, { "H", T_HOUR }, { "hh", T_HOUR12_2 }, { "h", T_HOUR12 }, { "kk", T_HOUR24_2 }, { "k", T_HOUR24 },
	{ "mm", T_MINUTE2 }, { "m", T_MINUTE }, { "ss", T_SECOND2 }, { "s", T_SECOND },
	{ "SSSSSSSSS", T_FRACTION }, { "SSSSSSSS", T_FRACTION }, { "SSSSSSS", T_FRACTION }, { "SSSSSS", T_FRACTION },
	{ "SSSSS", T_FRACTION }, { "SSSS", T_FRACTION }, { "SSS", T_FRACTION }, { "SS", T_FRACTION }, { "S", T_FRACTION },
	{ "A", T_UPPER_AMPM }, { "a", T_LOWER_AMPM },
	{ "ZZ", T_OFFSET_PLAIN }, { "Z", T_OFFSET }, { "X", T_UNIX }, { "x", T_UNIX_MS }, { "zz", T_ZONE }, { "z", T_ZONE },
	{ "LTS", T_FORMAT }, { "LT", T_FORMAT }, { "LLLL", T_FORMAT }, { "LLL", T_FORMAT }, { "LL", T_FORMAT }, { "L", T_FORMAT },
	{ "llll", T_FORMAT }, { "lll", T_FORMAT }, { "ll", T_FORMAT }, { "l", T_FORMAT },
};

static const struct { const char *token, *format; } long_formats[] = {
	{ "LTS", "h:mm:ss A" }, { "LT", "h:mm A" }, { "LLLL", "dddd, MMMM D, YYYY h:mm A" }, { "LLL", "MMMM D, YYYY h:mm A" },
	{ "LL", "MMMM D, YYYY" }, { "L", "MM/DD/YYYY" }, { "llll", "ddd, MMM D, YYYY h:mm A" }, { "lll", "MMM D, YYYY h:mm A" },
	{ "ll", "MMM D, YYYY" }, { "l", "M/D/YYYY" },
};
// clang-format on

static void
add_date(struct sb *sb, int what, const struct tm_civil *c)
{
	int year;

	switch (what) {
	case T_YEAR4:
		sb_addf(sb, "%04d", c->year);
		break;
	case T_YEAR2:
		sb_addf(sb, "%02d", c->year % 100);
		break;
	case T_MONTH_NAME:
		sb_adds(sb, months[c->month - 1]);
		break;
	case T_MONTH_SHORT:
		sb_addf(sb, "%.3s", months[c->month - 1]);
		break;
	case T_MONTH2:
		sb_addf(sb, "%02d", c->month);
		break;
	case T_MONTH_ORD:
		ordinal(sb, c->month);
		break;
	case T_MONTH:
		sb_addf(sb, "%d", c->month);
		break;
	case T_YDAY3:
		sb_addf(sb, "%03d", c->yearday);
		break;
	case T_YDAY_ORD:
		ordinal(sb, c->yearday);
		break;
	case T_YDAY:
		sb_addf(sb, "%d", c->yearday);
		break;
	case T_DAY_ORD:
		ordinal(sb, c->day);
		break;
	case T_DAY2:
		sb_addf(sb, "%02d", c->day);
		break;
	case T_DAY:
		sb_addf(sb, "%d", c->day);
		break;
	case T_WDAY_NAME:
		sb_adds(sb, days[c->weekday]);
		break;
	case T_WDAY_SHORT:
		sb_addf(sb, "%.3s", days[c->weekday]);
		break;
	case T_WDAY_MIN:
		sb_addf(sb, "%.2s", days[c->weekday]);
		break;
	case T_WDAY_ORD:
		ordinal(sb, c->weekday);
		break;
	case T_WDAY:
	case T_WDAY_LOCALE:
		sb_addf(sb, "%d", c->weekday);
		break;
	case T_WDAY_ISO:
		sb_addf(sb, "%d", c->weekday ? c->weekday : 7);
		break;
	case T_WEEK2:
		sb_addf(sb, "%02d", week_of(c, false, &year));
		break;
	case T_WEEK_ORD:
		ordinal(sb, week_of(c, false, &year));
		break;
	case T_WEEK:
		sb_addf(sb, "%d", week_of(c, false, &year));
		break;
	case T_ISO_WEEK2:
		sb_addf(sb, "%02d", week_of(c, true, &year));
		break;
	case T_ISO_WEEK_ORD:
		ordinal(sb, week_of(c, true, &year));
		break;
	case T_ISO_WEEK:
		sb_addf(sb, "%d", week_of(c, true, &year));
		break;
	case T_QUARTER_ORD:
		ordinal(sb, (c->month + 2) / 3);
		break;
	case T_QUARTER:
		sb_addf(sb, "%d", (c->month + 2) / 3);
		break;
	case T_WEEK_YEAR4:
	case T_WEEK_YEAR2:
	case T_ISO_YEAR4:
	case T_ISO_YEAR2:
		week_of(c, what >= T_ISO_YEAR4, &year);
		if (what == T_WEEK_YEAR4 || what == T_ISO_YEAR4)
			sb_addf(sb, "%04d", year);
		else
			sb_addf(sb, "%02d", year % 100);
		break;
	default:
		break;
	}
}

static void
add_clock(struct sb *sb, int what, struct str token, const struct tm_civil *c, int64_t ms)
{
	int h12 = c->hour % 12 ? c->hour % 12 : 12, h24 = c->hour ? c->hour : 24;
	char digits[16];

	switch (what) {
	case T_HOUR2:
		sb_addf(sb, "%02d", c->hour);
		break;
	case T_HOUR:
		sb_addf(sb, "%d", c->hour);
		break;
	case T_HOUR12_2:
		sb_addf(sb, "%02d", h12);
		break;
	case T_HOUR12:
		sb_addf(sb, "%d", h12);
		break;
	case T_HOUR24_2:
		sb_addf(sb, "%02d", h24);
		break;
	case T_HOUR24:
		sb_addf(sb, "%d", h24);
		break;
	case T_MINUTE2:
		sb_addf(sb, "%02d", c->minute);
		break;
	case T_MINUTE:
		sb_addf(sb, "%d", c->minute);
		break;
	case T_SECOND2:
		sb_addf(sb, "%02d", c->second);
		break;
	case T_SECOND:
		sb_addf(sb, "%d", c->second);
		break;
	case T_FRACTION:
		snprintf(digits, sizeof(digits), "%03d000000", c->ms % 1000);
		sb_add(sb, (struct str){ digits, token.n });
		break;
	case T_UPPER_AMPM:
		sb_adds(sb, c->hour < 12 ? "AM" : "PM");
		break;
	case T_LOWER_AMPM:
		sb_adds(sb, c->hour < 12 ? "am" : "pm");
		break;
	case T_OFFSET_PLAIN:
		offset(sb, c->offset, false);
		break;
	case T_OFFSET:
		offset(sb, c->offset, true);
		break;
	case T_UNIX:
		sb_add_int(sb, ms >= 0 ? ms / 1000 : -((-ms + 999) / 1000));
		break;
	case T_UNIX_MS:
		sb_add_int(sb, ms);
		break;
	case T_ZONE:
		sb_adds(sb, c->abbrev);
		break;
	default:
		break;
	}
}

static void
add_part(struct sb *sb, struct str t, const struct tm_civil *c, int64_t ms)
{
	for (size_t i = 0; i < t.n;) {
		size_t k, end;

		if (t.p[i] == '[' && (end = str_chr(t, ']', i)) != STR_NPOS) {
			sb_add(sb, str_sub(t, i + 1, end));
			i = end + 1;
			continue;
		}
		if (t.p[i] == '\\' && i + 1 < t.n) {
			sb_addc(sb, t.p[i + 1]);
			i += 2;
			continue;
		}
		for (k = 0; k < sizeof(tokens) / sizeof(tokens[0]); k++)
			if (str_starts(str_sub(t, i, t.n), str_c(tokens[k].text)))
				break;
		if (k == sizeof(tokens) / sizeof(tokens[0])) {
			sb_addc(sb, t.p[i++]);
			continue;
		}
		if (tokens[k].what == T_FORMAT) {
			for (size_t f = 0; f < sizeof(long_formats) / sizeof(long_formats[0]); f++)
				if (strcmp(long_formats[f].token, tokens[k].text) == 0)
					add_part(sb, str_c(long_formats[f].format), c,
					    ms); /* holds no long format itself */
		} else if (tokens[k].what >= T_HOUR2) {
			add_clock(sb, tokens[k].what, str_c(tokens[k].text), c, ms);
		} else {
			add_date(sb, tokens[k].what, c);
		}
		i += strlen(tokens[k].text);
	}
}

struct str
time_format(struct arena *a, const struct tm_zone *zone, int64_t ms, struct str format)
{
	struct tm_civil c = tm_civil(zone ? zone : tm_zone_utc(), ms);
	struct sb sb = sb_new(a);

	add_part(&sb, format, &c, ms);
	return sb_str(&sb);
}

struct str
time_span(struct arena *a, double ms)
{
	double v = fabs(ms), s = round(v / 1000), m = round(v / 60000), h = round(v / 3600000),
	       d = round(v / DAY_MS);
	double exact_months = v / DAY_MS * 4800 / 146097, mo = round(exact_months),
	       y = round(exact_months / 12);

	if (s <= 44)
		return STR("a few seconds");
	if (m <= 1)
		return STR("a minute");
	if (m < 45)
		return str_c(arena_printf(a, "%.0f minutes", m));
	if (h <= 1)
		return STR("an hour");
	if (h < 22)
		return str_c(arena_printf(a, "%.0f hours", h));
	if (d <= 1)
		return STR("a day");
	if (d < 26)
		return str_c(arena_printf(a, "%.0f days", d));
	if (mo <= 1)
		return STR("a month");
	if (mo < 11)
		return str_c(arena_printf(a, "%.0f months", mo));
	if (y <= 1)
		return STR("a year");
	return str_c(arena_printf(a, "%.0f years", y));
}

/* `digits` decimal digits at *at into *out. */
static bool
number(struct str s, size_t *at, size_t digits, int *out)
{
	int v = 0;

	for (size_t i = 0; i < digits; i++, ++*at) {
		if (*at >= s.n || s.p[*at] < '0' || s.p[*at] > '9')
			return false;
		v = v * 10 + (s.p[*at] - '0');
	}
	*out = v;
	return true;
}

static bool
zone_suffix(struct str s, size_t at, int *minutes)
{
	int sign, h, m = 0;

	if (at + 1 == s.n && (s.p[at] == 'Z' || s.p[at] == 'z')) {
		*minutes = 0;
		return true;
	}
	if (s.p[at] != '+' && s.p[at] != '-')
		return false;
	sign = s.p[at++] == '-' ? -1 : 1;
	if (!number(s, &at, 2, &h))
		return false;
	if (at < s.n && s.p[at] == ':')
		at++;
	if (at < s.n && !number(s, &at, 2, &m))
		return false;
	*minutes = sign * (h * 60 + m);
	return at == s.n;
}

bool
time_parse(const struct tm_zone *zone, struct str s, int64_t *out)
{
	struct tm_civil c = { .month = 1, .day = 1 };
	size_t at = 0;
	int minutes;

	if (!number(s, &at, 4, &c.year))
		return false;
	if (at < s.n && s.p[at] == '-') {
		at++;
		if (!number(s, &at, 2, &c.month))
			return false;
		if (at < s.n && s.p[at] == '-') {
			at++;
			if (!number(s, &at, 2, &c.day))
				return false;
		}
	}
	if (at < s.n && (s.p[at] == 'T' || s.p[at] == ' ')) {
		at++;
		if (!number(s, &at, 2, &c.hour) || at >= s.n || s.p[at++] != ':' ||
		    !number(s, &at, 2, &c.minute))
			return false;
		if (at < s.n && s.p[at] == ':') {
			at++;
			if (!number(s, &at, 2, &c.second))
				return false;
			if (at < s.n && s.p[at] == '.') {
				int scale = 100;

				for (at++; at < s.n && s.p[at] >= '0' && s.p[at] <= '9'; at++, scale /= 10)
					c.ms += (s.p[at] - '0') * scale;
			}
		}
	}
	if (c.month < 1 || c.month > 12 || c.day < 1 || c.day > 31 || c.hour > 24 || c.minute > 59 ||
	    c.second > 59)
		return false;
	if (at == s.n) {
		*out = tm_from_civil(zone ? zone : tm_zone_utc(), &c);
		return true;
	}
	if (!zone_suffix(s, at, &minutes))
		return false;
	*out = tm_from_civil(tm_zone_utc(), &c) - (int64_t)minutes * 60000;
	return true;
}
