/*
 * str: slices. Knows nothing of Unicode (utf8.h) and nothing of memory (arena.h).
 */
#include "base/str.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>

#define DOUBLE_TEXT_MAX 1024 /* bytes of a number that str_double reads */

static char
ascii_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool
str_ieq(struct str a, struct str b)
{
	if (a.n != b.n)
		return false;
	for (size_t i = 0; i < a.n; i++)
		if (ascii_lower(a.p[i]) != ascii_lower(b.p[i]))
			return false;
	return true;
}

int
str_cmp(struct str a, struct str b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int r = n ? memcmp(a.p, b.p, n) : 0;

	return r ? r : (a.n > b.n) - (a.n < b.n);
}

bool
str_starts(struct str s, struct str prefix)
{
	return s.n >= prefix.n && str_eq(str_sub(s, 0, prefix.n), prefix);
}

bool
str_ends(struct str s, struct str suffix)
{
	return s.n >= suffix.n && str_eq(str_sub(s, s.n - suffix.n, s.n), suffix);
}

size_t
str_find(struct str s, struct str needle, size_t from)
{
	const char *hit;

	if (from > s.n || needle.n > s.n - from)
		return STR_NPOS;
	if (needle.n == 0)
		return from;
	hit = memmem(s.p + from, s.n - from, needle.p, needle.n);
	return hit ? (size_t)(hit - s.p) : STR_NPOS;
}

size_t
str_chr(struct str s, char c, size_t from)
{
	const char *hit;

	if (from >= s.n)
		return STR_NPOS;
	hit = memchr(s.p + from, c, s.n - from);
	return hit ? (size_t)(hit - s.p) : STR_NPOS;
}

static bool
is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

struct str
str_trim(struct str s)
{
	while (s.n && is_blank(s.p[0])) {
		s.p++;
		s.n--;
	}
	while (s.n && is_blank(s.p[s.n - 1]))
		s.n--;
	return s;
}

bool
str_next(struct str *rest, char sep, struct str *piece_out)
{
	size_t at;

	if (!rest->p)
		return false;
	at = str_chr(*rest, sep, 0);
	if (at == STR_NPOS) {
		*piece_out = *rest;
		*rest = STR_NULL;
	} else {
		*piece_out = str_sub(*rest, 0, at);
		*rest = str_sub(*rest, at + 1, rest->n);
	}
	return true;
}

bool
str_int(struct str s, int64_t *out)
{
	bool negative = s.n > 0 && s.p[0] == '-';
	int64_t v = 0;

	if (s.n == (negative ? 1u : 0u))
		return false;
	/* Built downwards: INT64_MIN has no positive twin. */
	for (size_t i = negative; i < s.n; i++)
		if (!is_digit(s.p[i]) || __builtin_mul_overflow(v, 10, &v) ||
		    __builtin_sub_overflow(v, s.p[i] - '0', &v))
			return false;
	if (!negative && __builtin_sub_overflow(0, v, &v))
		return false;
	*out = v;
	return true;
}

static size_t
skip_digits(struct str s, size_t i)
{
	while (i < s.n && is_digit(s.p[i]))
		i++;
	return i;
}

/* [+-] digits [. digits] [e [+-] digits], with a digit on at least one side of the point. */
static bool
is_decimal(struct str s)
{
	size_t i = s.n && (s.p[0] == '-' || s.p[0] == '+'), from = i, digits;

	i = skip_digits(s, i);
	digits = i - from;
	if (i < s.n && s.p[i] == '.') {
		from = ++i;
		i = skip_digits(s, i);
		digits += i - from;
	}
	if (!digits)
		return false;
	if (i < s.n && (s.p[i] == 'e' || s.p[i] == 'E')) {
		i++;
		if (i < s.n && (s.p[i] == '-' || s.p[i] == '+'))
			i++;
		from = i;
		i = skip_digits(s, i);
		if (i == from)
			return false;
	}
	return i == s.n;
}

bool
str_double(struct str s, double *out)
{
	char buf[DOUBLE_TEXT_MAX + 1];
	static locale_t c_locale;
	double v;

	if (s.n > DOUBLE_TEXT_MAX || !is_decimal(s))
		return false;
	if (!c_locale) /* a race makes two equal objects, never a wrong one */
		c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	memcpy(buf, s.p, s.n);
	buf[s.n] = '\0';
	v = c_locale ? strtod_l(buf, NULL, c_locale) : strtod(buf, NULL);
	if (!isfinite(v))
		return false;
	*out = v;
	return true;
}
