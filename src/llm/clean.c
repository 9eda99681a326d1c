/*
 * clean: see clean.h. All passes are linear.
 */
#include "llm/clean.h"

#include "base/utf8.h"

enum { MARK = 0xFDD0, HALF_FIRST = 0xD800, HALF_LAST = 0xDFFF, LOW_FIRST = 0xDC00, MARK_BASE = 0x10F800, BYTE_BASE = 0x10F700 };

static const struct str mark_bytes = { "\xef\xb7\x90", 3 };

/*
 * Length of the UTF-8 sequence at p, or minus the number of bytes that one U+FFFD stands for: the longest
 * beginning of a sequence that could still have become good (as browsers and the vendors' own packages do).
 */
static int
sequence(const unsigned char *p, size_t n)
{
	unsigned char c = p[0], lo = 0x80, hi = 0xbf;
	int len = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
	int i = 1;

	if (len < 2)
		return len ? 1 : -1;
	if (c == 0xe0)
		lo = 0xa0;
	else if (c == 0xed)
		hi = 0x9f;
	else if (c == 0xf0)
		lo = 0x90;
	else if (c == 0xf4)
		hi = 0x8f;
	for (; i < len && (size_t)i < n; i++) {
		if (p[i] < lo || p[i] > hi)
			break;
		lo = 0x80;
		hi = 0xbf;
	}
	return i == len ? len : -i;
}

static int
hex4(struct str s, size_t at, uint32_t *out)
{
	uint32_t v = 0;

	if (at + 4 > s.n)
		return -1;
	for (size_t i = at; i < at + 4; i++) {
		unsigned char c = (unsigned char)s.p[i], lower = c | 0x20;

		if (c >= '0' && c <= '9')
			v = v << 4 | (uint32_t)(c - '0');
		else if (lower >= 'a' && lower <= 'f')
			v = v << 4 | (uint32_t)(lower - 'a' + 10);
		else
			return -1;
	}
	*out = v;
	return 0;
}

/* The backslash at `at`: appends what stands for it, returns the bytes used. */
static size_t
escape(struct sb *out, struct str s, size_t at)
{
	uint32_t unit, low;

	if (at + 1 >= s.n || s.p[at + 1] != 'u' || hex4(s, at + 2, &unit) < 0) {
		size_t n = at + 1 < s.n && (unsigned char)s.p[at + 1] < 0x80 ? 2 : 1;

		sb_add(out, str_sub(s, at, at + n));
		return n;
	}
	if (unit >= HALF_FIRST && unit < LOW_FIRST && at + 7 < s.n && s.p[at + 6] == '\\' &&
	    s.p[at + 7] == 'u' && hex4(s, at + 8, &low) == 0 && low >= LOW_FIRST && low <= HALF_LAST) {
		sb_add(out, str_sub(s, at, at + 12));
		return 12;
	}
	if (unit >= HALF_FIRST && unit <= HALF_LAST) {
		sb_add(out, mark_bytes);
		sb_add_rune(out, MARK_BASE + (unit - HALF_FIRST));
	} else if (unit == 0) {
		sb_add_rune(out, RUNE_BAD);
	} else if (unit == MARK) {
		sb_add(out, mark_bytes);
		sb_add(out, mark_bytes);
	} else {
		sb_add(out, str_sub(s, at, at + 6));
	}
	return 6;
}

static bool
is_mark(struct str s, size_t at)
{
	return at + 3 <= s.n && memcmp(s.p + at, mark_bytes.p, 3) == 0;
}

static bool
is_clean(struct str s)
{
	return utf8_valid(s) && (s.n == 0 || memchr(s.p, '\0', s.n) == NULL) &&
	       str_find(s, STR("\\u"), 0) == STR_NPOS && str_find(s, mark_bytes, 0) == STR_NPOS;
}

struct str
clean_json(struct arena *a, struct str s)
{
	struct sb out;

	if (is_clean(s))
		return s;
	out = sb_new(a);
	sb_reserve(&out, s.n + 16);
	for (size_t at = 0; at < s.n;) {
		int n = sequence((const unsigned char *)s.p + at, s.n - at);

		if (n < 0) {
			for (; n < 0; n++, at++) {
				sb_add(&out, mark_bytes);
				sb_add_rune(&out, BYTE_BASE + (unsigned char)s.p[at]);
			}
		} else if (s.p[at] == '\0') {
			sb_add_rune(&out, RUNE_BAD);
			at++;
		} else if (s.p[at] == '\\') {
			at += escape(&out, s, at);
		} else {
			if (is_mark(s, at))
				sb_add(&out, mark_bytes);
			sb_add(&out, str_sub(s, at, at + (size_t)n));
			at += (size_t)n;
		}
	}
	return sb_str(&out);
}

/* The half or the byte that the mark at `at` stands for, 0 if it stands for itself. */
static uint32_t
marked_at(struct str s, size_t at)
{
	size_t pos = at + 3;
	uint32_t rune;

	if (!is_mark(s, at) || pos >= s.n)
		return 0;
	rune = utf8_next(s, &pos);
	if (rune >= MARK_BASE)
		return HALF_FIRST + (rune - MARK_BASE);
	return rune >= BYTE_BASE + 0x80 && rune <= BYTE_BASE + 0xff ? rune - BYTE_BASE : 0;
}

/* A byte of a character whose others may follow, in this piece or in the next. */
static void
stray(struct clean_join *j, struct sb *out, unsigned char b)
{
	int n;

	if (j->high)
		clean_end(j, out);
	j->bytes[j->n++] = (char)b;
	n = sequence((const unsigned char *)j->bytes, j->n);
	if (n > 0) {
		sb_add(out, (struct str){ j->bytes, j->n });
		j->n = 0;
	} else if (-n < (int)j->n) { /* the last one does not belong to those before it */
		j->n--;
		clean_end(j, out);
		stray(j, out, b);
	} else if ((unsigned char)j->bytes[0] < 0xc2 || (unsigned char)j->bytes[0] > 0xf4)
		clean_end(j, out);
}

static void
half(struct clean_join *j, struct sb *out, uint32_t unit)
{
	if (unit < HALF_FIRST) {
		stray(j, out, (unsigned char)unit);
		return;
	}
	if (j->high && unit >= LOW_FIRST) {
		sb_add_rune(out, 0x10000 + ((j->high - HALF_FIRST) << 10) + (unit - LOW_FIRST));
		j->high = 0;
		return;
	}
	clean_end(j, out);
	if (unit < LOW_FIRST)
		j->high = unit;
	else
		sb_add_rune(out, RUNE_BAD);
}

void
clean_text(struct clean_join *j, struct sb *out, struct str s)
{
	size_t at = 0;

	while (at < s.n) {
		size_t next = str_find(s, mark_bytes, at);
		uint32_t unit;

		if (next == STR_NPOS)
			next = s.n;
		if (next > at) {
			clean_end(j, out);
			sb_add(out, str_sub(s, at, next));
		}
		if (next == s.n)
			return;
		unit = marked_at(s, next);
		if (unit) {
			half(j, out, unit);
			at = next + 7;
		} else {
			clean_end(j, out);
			sb_add(out, mark_bytes);
			at = next + (is_mark(s, next + 3) ? 6 : 3);
		}
	}
}

void
clean_end(struct clean_join *j, struct sb *out)
{
	if (j->high || j->n > 0)
		sb_add_rune(out, RUNE_BAD);
	*j = (struct clean_join){ 0 };
}

struct str
clean_whole(struct arena *a, struct str s)
{
	struct clean_join j = { 0 };
	struct sb out;

	if (!s.p || str_find(s, mark_bytes, 0) == STR_NPOS)
		return arena_str(a, s);
	out = sb_new(a);
	clean_text(&j, &out, s);
	clean_end(&j, &out);
	return sb_str(&out);
}
