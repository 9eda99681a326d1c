/*
 * sb: string builder. Numbers are printed as JavaScript prints them, since the texts of
 * templates and JSON were written against it.
 */
#include "base/sb.h"

#include "base/utf8.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SB_FIRST 64

struct sb
sb_new(struct arena *a)
{
	return (struct sb){ .a = a };
}

struct sb
sb_new_max(struct arena *a, size_t max)
{
	return (struct sb){ .a = a, .max = max };
}

void
sb_reserve(struct sb *s, size_t more)
{
	size_t want, cap;
	char *p;

	if (s->cap > s->n && more < s->cap - s->n)
		return;
	want = more > SIZE_MAX / 4 ? SIZE_MAX : s->n + more + 1;
	cap = s->cap ? s->cap : SB_FIRST;
	while (cap < want && cap < SIZE_MAX / 2)
		cap *= 2;
	if (cap < want)
		cap = want; /* refused by the arena */
	if (s->p && arena_extend(s->a, s->p, s->cap, cap)) {
		s->cap = cap;
		return;
	}
	p = arena_alloc_raw(s->a, cap);
	if (s->n)
		memcpy(p, s->p, s->n);
	p[s->n] = '\0';
	s->p = p;
	s->cap = cap;
}

/* Room for n more bytes and the NUL, or false (and `over`) if the limit forbids them. */
static inline bool
take(struct sb *s, size_t n)
{
	if (!s->max && n < s->cap - s->n)
		return true;
	if (s->over)
		return false;
	if (s->max && n > s->max - s->n) {
		s->over = true;
		return false;
	}
	sb_reserve(s, n);
	return true;
}

static inline void
append(struct sb *s, const char *p, size_t n)
{
	memcpy(s->p + s->n, p, n);
	s->n += n;
	s->p[s->n] = '\0';
}

void
sb_add(struct sb *s, struct str v)
{
	if (v.n && take(s, v.n))
		append(s, v.p, v.n);
}

void
sb_addc(struct sb *s, char c)
{
	if (!take(s, 1))
		return;
	s->p[s->n++] = c;
	s->p[s->n] = '\0';
}

void
sb_adds(struct sb *s, const char *z)
{
	sb_add(s, str_c(z));
}

void
sb_addvf(struct sb *s, const char *fmt, va_list ap)
{
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n <= 0 || !take(s, (size_t)n))
		return;
	vsnprintf(s->p + s->n, (size_t)n + 1, fmt, ap);
	s->n += (size_t)n;
}

void
sb_addf(struct sb *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	sb_addvf(s, fmt, ap);
	va_end(ap);
}

void
sb_add_int(struct sb *s, int64_t v)
{
	char buf[24], *p = buf + sizeof(buf);
	uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;

	do
		*--p = (char)('0' + u % 10);
	while (u /= 10);
	if (v < 0)
		*--p = '-';
	sb_add(s, (struct str){ p, (size_t)(buf + sizeof(buf) - p) });
}

void
sb_add_rune(struct sb *s, uint32_t rune)
{
	char buf[4];
	int n = utf8_put(buf, rune);

	sb_add(s, (struct str){ buf, (size_t)n });
}

static void
add_escape(struct sb *s, unsigned char c)
{
	static const char name[] = { ['\b'] = 'b',
		['\t'] = 't',
		['\n'] = 'n',
		['\f'] = 'f',
		['\r'] = 'r',
		['"'] = '"',
		['\\'] = '\\' };

	if (c < sizeof(name) && name[c]) {
		if (!take(s, 2)) /* both or none */
			return;
		s->p[s->n++] = '\\';
		s->p[s->n++] = name[c];
		s->p[s->n] = '\0';
	} else {
		sb_addf(s, "\\u%04x", c);
	}
}

void
sb_add_json(struct sb *s, struct str v)
{
	size_t from = 0;

	if (!v.p) {
		sb_adds(s, "null");
		return;
	}
	sb_addc(s, '"');
	for (size_t i = 0; i < v.n; i++) {
		unsigned char c = (unsigned char)v.p[i];

		if (c >= 0x20 && c != '"' && c != '\\')
			continue;
		sb_add(s, str_sub(v, from, i));
		add_escape(s, c);
		from = i + 1;
	}
	sb_add(s, str_sub(v, from, v.n));
	sb_addc(s, '"');
}

/* A positive finite number as 0.DIGITS * 10^point. */
struct decimal {
	char digits[20]; /* NUL-terminated, no trailing zeros */
	int n, point;
};

static struct decimal
decimal_round(double v, int precision)
{
	struct decimal d = { 0 };
	char buf[40];
	const char *e;

	snprintf(buf, sizeof(buf), "%.*e", precision - 1, v);
	/* Whatever the locale puts between the digits, it is not one of them. */
	for (e = buf; *e != 'e'; e++)
		if (*e >= '0' && *e <= '9')
			d.digits[d.n++] = *e;
	d.point = (int)strtol(e + 1, NULL, 10) + 1;
	return d;
}

static bool
decimal_is(const struct decimal *d, double v)
{
	char buf[40];
	double back;
	int n = snprintf(buf, sizeof(buf), "%se%d", d->digits, d->point - d->n);

	return str_double((struct str){ buf, (size_t)n }, &back) && back == v;
}

/* One unit up in the last place. */
static void
decimal_up(struct decimal *d)
{
	int i = d->n - 1;

	for (; i >= 0 && d->digits[i] == '9'; i--)
		d->digits[i] = '0';
	if (i >= 0) {
		d->digits[i]++;
		return;
	}
	d->digits[0] = '1'; /* 999 -> 1000 */
	d->point++;
}

/*
 * The fewest digits that read back as v (ECMAScript Number::toString). The nearest decimal
 * of a length is tried first; below a power of two the neighbours lie closer than above, so
 * there the next one up may fit where the nearest does not.
 */
static struct decimal
decimal_shortest(double v)
{
	/* Every decimal of up to 15 digits survives a normal double: one try finds them all. */
	int precision = v < 2.3e-308 ? 1 : 15;
	struct decimal d;

	for (;; precision++) {
		struct decimal up;

		d = decimal_round(v, precision);
		if (precision >= 17 || decimal_is(&d, v))
			break;
		up = d;
		decimal_up(&up);
		if (decimal_is(&up, v)) {
			d = up;
			break;
		}
	}
	while (d.n > 1 && d.digits[d.n - 1] == '0')
		d.digits[--d.n] = '\0';
	return d;
}

/* Writes the digits with the point where Number::toString puts it. */
static size_t
print_decimal(char *to, size_t cap, const struct decimal *d)
{
	static const char zeros[] = "00000000000000000000000";
	int n;

	if (d->point > 21 || d->point < -5)
		n = snprintf(
		    to, cap, "%c%s%se%+d", d->digits[0], d->n > 1 ? "." : "", d->digits + 1, d->point - 1);
	else if (d->point <= 0)
		n = snprintf(to, cap, "0.%.*s%s", -d->point, zeros, d->digits);
	else if (d->n <= d->point)
		n = snprintf(to, cap, "%s%.*s", d->digits, d->point - d->n, zeros);
	else
		n = snprintf(to, cap, "%.*s.%s", d->point, d->digits, d->digits + d->point);
	return (size_t)n;
}

size_t
sb_print_double(char to[DOUBLE_TEXT], double v)
{
	struct decimal d;
	size_t sign = v < 0;

	if (isnan(v) || isinf(v) || v == 0)
		return (size_t)snprintf(to, DOUBLE_TEXT, "%s",
		    isnan(v) ? "NaN"
		    : v == 0 ? "0"
		    : sign   ? "-Infinity"
			     : "Infinity");
	if (sign)
		to[0] = '-';
	d = decimal_shortest(fabs(v));
	return sign + print_decimal(to + sign, DOUBLE_TEXT - sign, &d);
}

void
sb_add_double(struct sb *s, double v)
{
	char text[DOUBLE_TEXT];
	size_t n = sb_print_double(text, v);

	sb_add(s, (struct str){ text, n });
}

void
sb_truncate(struct sb *s, size_t n)
{
	if (n < s->n) {
		s->n = n;
		s->p[n] = '\0';
	}
}
