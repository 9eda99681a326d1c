/*
 * str: a slice of bytes somebody else owns. Never NUL-terminated by promise;
 * a finished C string is `const char *`. Text is UTF-8 without NUL once it has
 * passed the door (json.h, http); slices themselves do not check.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

struct str {
	const char *p;
	size_t n; /* bytes */
};

#define STR(literal) ((struct str){ "" literal "", sizeof(literal) - 1 })
#define STR_NULL ((struct str){ NULL, 0 }) /* "absent", where a caller must tell it from "" */
/* for printf: "%.*s", STR_ARG(s) */
#define STR_ARG(s) ((int)(s).n), ((s).p ? (s).p : "")

/* Slice of a C string; NULL gives STR_NULL. */
static inline struct str
str_c(const char *s)
{
	return s ? (struct str){ s, strlen(s) } : STR_NULL;
}

static inline struct str
str_sub(struct str s, size_t from, size_t to) /* [from, to), both clamped to the slice */
{
	if (to > s.n)
		to = s.n;
	if (from > to)
		from = to;
	return (struct str){ s.p ? s.p + from : NULL, to - from };
}

static inline bool
str_eq(struct str a, struct str b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool
str_is(struct str a, const char *b)
{
	return str_eq(a, str_c(b));
}

bool str_ieq(struct str a, struct str b); /* ASCII case-insensitive */
int str_cmp(struct str a, struct str b);  /* bytewise order: <0, 0, >0 */
bool str_starts(struct str s, struct str prefix);
bool str_ends(struct str s, struct str suffix);

#define STR_NPOS SIZE_MAX
size_t str_find(struct str s, struct str needle, size_t from); /* STR_NPOS if absent */
size_t str_chr(struct str s, char c, size_t from);

struct str str_trim(struct str s); /* ASCII blanks and line breaks at both ends */

/* Next piece of `rest` up to `sep` (one byte); false when nothing is left. `rest` starts as the whole. */
bool str_next(struct str *rest, char sep, struct str *piece_out);

/* Whole slice as a decimal number; false (out untouched) if it is not one or overflows. */
bool str_int(struct str s, int64_t *out);
bool str_double(struct str s, double *out); /* locale-independent, finite only */

#endif
