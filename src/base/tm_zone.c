/*
 * tm_zone: time zones from the system's TZif files (RFC 8536) and from offsets. The files are
 * data from elsewhere: every count and index is checked, a bad file is no zone.
 */
#include "base/file.h"
#include "base/tm.h"
#include "base/tm_private.h"

#define ZONE_DIR "/usr/share/zoneinfo/"
#define ZONE_NAME_MAX 64
#define ZONE_FILE_MAX (256u << 10)
#define ABBREV_MAX 16

/* A day of the year by a POSIX TZ rule, and the local second of that day. */
struct day_rule {
	enum { RULE_MONTH, RULE_JULIAN /* 1..365, without February 29 */, RULE_ZERO /* 0..365 */ } kind;
	int month, week, day;
	int32_t time;
};

/* What the footer says about times after the last transition. */
struct tail {
	bool known, has_dst;
	struct tm_type std, dst;
	struct day_rule start, end; /* of daylight saving time */
};

struct tm_zone {
	size_t n;              /* transitions */
	const int64_t *at;     /* seconds, ascending */
	const uint8_t *type;   /* what holds from then on */
	struct tm_type *types; /* types[0] holds before the first */
	struct tail tail;
};

static struct tm_type utc_type = { .offset = 0, .abbrev = "UTC" };
static const struct tm_zone utc = { .types = &utc_type };

const struct tm_zone *
tm_zone_utc(void)
{
	return &utc;
}

/* Local seconds since 1970 at which the rule strikes in a year. */
static int64_t
rule_second(const struct day_rule *r, int64_t year)
{
	int64_t days = days_from_civil(year, 1, 1), first, next;
	struct tm_civil c;

	switch (r->kind) {
	case RULE_JULIAN:
		days += r->day - 1 + (year_is_leap(year) && r->day > 59);
		break;
	case RULE_ZERO:
		days += r->day;
		break;
	case RULE_MONTH:
		first = days_from_civil(year, r->month, 1);
		next = days_from_civil(year, r->month + 1, 1);
		civil_from_days(first, &c);
		days = first + (r->day - c.weekday + 7) % 7 + (int64_t)(r->week - 1) * 7;
		if (days >= next) /* week 5 is the last one */
			days -= 7;
		break;
	}
	return days * 86400 + r->time;
}

static const struct tm_type *
tail_type(const struct tail *t, int64_t s)
{
	struct tm_civil c;
	int64_t start, end;
	bool dst;

	if (!t->has_dst)
		return &t->std;
	civil_from_days(floor_div(s + t->std.offset, 86400), &c);
	start = rule_second(&t->start, c.year) - t->std.offset;
	end = rule_second(&t->end, c.year) - t->dst.offset;
	dst = start < end ? s >= start && s < end : s >= start || s < end;
	return dst ? &t->dst : &t->std;
}

const struct tm_type *
tm_zone_type(const struct tm_zone *z, int64_t s)
{
	size_t lo = 0, hi = z->n;

	if (z->tail.known && (z->n == 0 || s >= z->at[z->n - 1]))
		return tail_type(&z->tail, s);
	while (lo < hi) { /* lo: number of transitions at or before s */
		size_t mid = lo + (hi - lo) / 2;

		if (z->at[mid] <= s)
			lo = mid + 1;
		else
			hi = mid;
	}
	return &z->types[lo ? z->type[lo - 1] : 0];
}

/* The footer: "CET-1CEST,M3.5.0,M10.5.0/3". Each reader moves *s; false = not that. */

static bool
take_char(struct str *s, char c)
{
	if (s->n == 0 || s->p[0] != c)
		return false;
	*s = str_sub(*s, 1, s->n);
	return true;
}

static bool
take_number(struct str *s, int max, int *v)
{
	size_t i = 0;
	int n = 0;

	for (; i < s->n && i < 4 && s->p[i] >= '0' && s->p[i] <= '9'; i++)
		n = n * 10 + (s->p[i] - '0');
	if (i == 0 || n > max)
		return false;
	*s = str_sub(*s, i, s->n);
	*v = n;
	return true;
}

static bool
take_name(struct arena *a, struct str *s, const char **name)
{
	bool quoted = take_char(s, '<');
	size_t i = 0;

	while (i < s->n && i < ABBREV_MAX &&
	       (quoted ? s->p[i] != '>' : (s->p[i] | 0x20) >= 'a' && (s->p[i] | 0x20) <= 'z'))
		i++;
	if (i < 3)
		return false;
	*name = arena_strdup(a, str_sub(*s, 0, i));
	*s = str_sub(*s, i, s->n);
	return !quoted || take_char(s, '>');
}

/* [+-]hh[:mm[:ss]] in seconds. */
static bool
take_time(struct str *s, int32_t *seconds)
{
	bool negative = take_char(s, '-');
	int h, m = 0, sec = 0;

	if (!negative)
		take_char(s, '+');
	if (!take_number(s, 167, &h))
		return false;
	if (take_char(s, ':') &&
	    (!take_number(s, 59, &m) || (take_char(s, ':') && !take_number(s, 59, &sec))))
		return false;
	*seconds = (negative ? -1 : 1) * (h * 3600 + m * 60 + sec);
	return true;
}

static bool
take_rule(struct str *s, struct day_rule *r)
{
	*r = (struct day_rule){ .time = 2 * 3600 };
	if (!take_char(s, ','))
		return false;
	if (take_char(s, 'M')) {
		r->kind = RULE_MONTH;
		if (!take_number(s, 12, &r->month) || !take_char(s, '.') || !take_number(s, 5, &r->week) ||
		    !take_char(s, '.') || !take_number(s, 6, &r->day) || r->month < 1 || r->week < 1)
			return false;
	} else {
		r->kind = take_char(s, 'J') ? RULE_JULIAN : RULE_ZERO;
		if (!take_number(s, 365, &r->day) || (r->kind == RULE_JULIAN && r->day < 1))
			return false;
	}
	return !take_char(s, '/') || take_time(s, &r->time);
}

static bool
read_tail(struct arena *a, struct str s, struct tail *t)
{
	int32_t west;

	*t = (struct tail){ .known = s.n > 0 };
	if (s.n == 0)
		return true;
	if (!take_name(a, &s, &t->std.abbrev) || !take_time(&s, &west))
		return false;
	t->std.offset = -west;
	if (s.n == 0)
		return true;
	t->has_dst = true;
	t->dst.offset = t->std.offset + 3600;
	if (!take_name(a, &s, &t->dst.abbrev))
		return false;
	if (s.n && s.p[0] != ',') {
		if (!take_time(&s, &west))
			return false;
		t->dst.offset = -west;
	}
	return take_rule(&s, &t->start) && take_rule(&s, &t->end) && s.n == 0;
}

/* The binary part. */

struct header {
	uint32_t isut, isstd, leap, time, type, chars;
};

static uint64_t
be(struct str s, size_t at, size_t n)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n; i++)
		v = v << 8 | (unsigned char)s.p[at + i];
	return v;
}

#define HEADER_BYTES 44

#define NO_HEADER UINT64_MAX

/* Bytes of the data block behind the header, whose times have `width` bytes; or NO_HEADER. */
static uint64_t
read_header(struct str s, size_t width, struct header *h)
{
	if (s.n < HEADER_BYTES || !str_starts(s, STR("TZif")) || s.p[4] < '2')
		return NO_HEADER;
	h->isut = (uint32_t)be(s, 20, 4);
	h->isstd = (uint32_t)be(s, 24, 4);
	h->leap = (uint32_t)be(s, 28, 4);
	h->time = (uint32_t)be(s, 32, 4);
	h->type = (uint32_t)be(s, 36, 4);
	h->chars = (uint32_t)be(s, 40, 4);
	return (uint64_t)h->time * (width + 1) + (uint64_t)h->type * 6 + h->chars +
	       (uint64_t)h->leap * (width + 4) + h->isstd + h->isut;
}

static bool
read_types(struct arena *a, struct str s, const struct header *h, struct tm_zone *z)
{
	struct str chars = str_sub(s, (size_t)h->type * 6, (size_t)h->type * 6 + h->chars);

	z->types = arena_array(a, struct tm_type, h->type);
	for (size_t i = 0; i < h->type; i++) {
		size_t at = (unsigned char)s.p[i * 6 + 5], end = str_chr(chars, '\0', at);

		if (end == STR_NPOS)
			return false;
		z->types[i].offset = (int32_t)(uint32_t)be(s, i * 6, 4);
		z->types[i].abbrev = arena_strdup(a, str_sub(chars, at, end));
		if (z->types[i].offset < -93600 || z->types[i].offset > 93600)
			return false;
	}
	return true;
}

static bool
read_transitions(struct arena *a, struct str s, const struct header *h, struct tm_zone *z)
{
	int64_t *at = arena_array(a, int64_t, h->time);
	uint8_t *type = arena_array(a, uint8_t, h->time);

	for (size_t i = 0; i < h->time; i++) {
		at[i] = (int64_t)be(s, i * 8, 8);
		type[i] = (uint8_t)s.p[(size_t)h->time * 8 + i];
		if (type[i] >= h->type || (i && at[i] <= at[i - 1]))
			return false;
	}
	z->n = h->time;
	z->at = at;
	z->type = type;
	return true;
}

struct tm_zone *
tm_zone_read(struct arena *a, struct str s)
{
	struct tm_zone *z = arena_new(a, struct tm_zone);
	struct header h;
	uint64_t skip = read_header(s, 4, &h), body;

	/* The first block repeats the zone with 32-bit times for old readers. */
	if (skip == NO_HEADER || skip > s.n - HEADER_BYTES)
		return NULL;
	s = str_sub(s, HEADER_BYTES + skip, s.n);
	body = read_header(s, 8, &h);
	/* Leap seconds ("right/" zones) would make other seconds than ours. */
	if (body == NO_HEADER || body > s.n - HEADER_BYTES || h.type == 0 || h.leap != 0)
		return NULL;
	s = str_sub(s, HEADER_BYTES, s.n);
	if (!read_transitions(a, s, &h, z) || !read_types(a, str_sub(s, (size_t)h.time * 9, s.n), &h, z))
		return NULL;
	s = str_sub(s, body, s.n);
	if (s.n < 2 || s.p[0] != '\n' || s.p[s.n - 1] != '\n')
		return NULL;
	return read_tail(a, str_sub(s, 1, s.n - 1), &z->tail) ? z : NULL;
}

static struct tm_zone *
zone_fixed(struct arena *a, int32_t offset, const char *abbrev)
{
	struct tm_zone *z = arena_new(a, struct tm_zone);

	z->types = arena_new(a, struct tm_type);
	*z->types = (struct tm_type){ .offset = offset, .abbrev = abbrev };
	return z;
}

/* +hh, +hhmm, +hh:mm */
static struct tm_zone *
zone_from_offset(struct arena *a, struct str s)
{
	char sign = s.p[0], d[4] = "0000";
	size_t n = 0;
	int h, m;

	for (size_t i = 1; i < s.n; i++) {
		if (s.p[i] == ':' && i == 3 && s.n == 6)
			continue;
		if (s.p[i] < '0' || s.p[i] > '9' || n == 4)
			return NULL;
		d[n++] = s.p[i];
	}
	h = (d[0] - '0') * 10 + d[1] - '0';
	m = (d[2] - '0') * 10 + d[3] - '0';
	if ((n != 2 && n != 4) || h > 23 || m > 59)
		return NULL;
	return zone_fixed(
	    a, (sign == '-' ? -1 : 1) * (h * 3600 + m * 60), arena_printf(a, "%c%02d:%02d", sign, h, m));
}

/* Letters, digits, _ + - in components that are not empty: nothing that leads out of the directory. */
static bool
name_is_safe(struct str s)
{
	if (s.n == 0 || s.n > ZONE_NAME_MAX || s.p[0] == '/' || s.p[s.n - 1] == '/')
		return false;
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		bool word = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
			    c == '_' || c == '+' || c == '-';

		if (!word && (c != '/' || s.p[i - 1] == '/'))
			return false;
	}
	return true;
}

struct tm_zone *
tm_zone_load(struct arena *a, struct str name)
{
	struct arena *scratch;
	struct tm_zone *z = NULL;
	struct str text;

	if (str_is(name, "UTC") || str_is(name, "Z"))
		return zone_fixed(a, 0, "UTC");
	if (name.n && (name.p[0] == '+' || name.p[0] == '-'))
		return zone_from_offset(a, name);
	if (!name_is_safe(name))
		return NULL;
	scratch = arena_create("zone file", 0);
	text = file_read(scratch, arena_printf(scratch, ZONE_DIR "%.*s", STR_ARG(name)), ZONE_FILE_MAX);
	if (text.p)
		z = tm_zone_read(a, text);
	arena_destroy(&scratch);
	return z;
}
