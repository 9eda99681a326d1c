/*
 * utf8: coding, measuring and cleaning of UTF-8 text. Knows no properties of characters:
 * those are in utf8_case.c.
 */
#include "base/utf8.h"

#include "base/sb.h"

/*
 * Bytes of the sequence at p (n > 0 available), its code point in *rune; 0 if it is bad.
 * The second byte's range excludes overlongs, surrogates and what lies above 10FFFF.
 */
static int
decode(const char *s, size_t n, uint32_t *rune)
{
	const unsigned char *p = (const unsigned char *)s;
	unsigned char c = p[0], lo = 0x80, hi = 0xbf;
	int len = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
	uint32_t r;

	if (len < 2) {
		*rune = c;
		return len;
	}
	if (n < (size_t)len)
		return 0;
	if (c == 0xe0)
		lo = 0xa0;
	else if (c == 0xed)
		hi = 0x9f;
	else if (c == 0xf0)
		lo = 0x90;
	else if (c == 0xf4)
		hi = 0x8f;
	if (p[1] < lo || p[1] > hi)
		return 0;
	r = c & (0x7fu >> len);
	for (int i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		r = r << 6 | (p[i] & 0x3fu);
	}
	*rune = r;
	return len;
}

uint32_t
utf8_next(struct str s, size_t *pos)
{
	uint32_t r;
	int len = decode(s.p + *pos, s.n - *pos, &r);

	*pos += len ? (size_t)len : 1;
	return len ? r : RUNE_BAD;
}

size_t
utf8_prev(struct str s, size_t pos)
{
	uint32_t r;

	for (size_t back = 1; back <= 4 && back <= pos; back++)
		if (((unsigned char)s.p[pos - back] & 0xc0) != 0x80)
			return decode(s.p + pos - back, back, &r) == (int)back ? pos - back : pos - 1;
	return pos ? pos - 1 : 0;
}

int
utf8_put(char out[4], uint32_t r)
{
	if (r > 0x10ffff || (r >= 0xd800 && r <= 0xdfff))
		r = RUNE_BAD;
	if (r < 0x80) {
		out[0] = (char)r;
		return 1;
	}
	if (r < 0x800) {
		out[0] = (char)(0xc0 | r >> 6);
		out[1] = (char)(0x80 | (r & 0x3f));
		return 2;
	}
	if (r < 0x10000) {
		out[0] = (char)(0xe0 | r >> 12);
		out[1] = (char)(0x80 | (r >> 6 & 0x3f));
		out[2] = (char)(0x80 | (r & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | r >> 18);
	out[1] = (char)(0x80 | (r >> 12 & 0x3f));
	out[2] = (char)(0x80 | (r >> 6 & 0x3f));
	out[3] = (char)(0x80 | (r & 0x3f));
	return 4;
}

/* Offset of the first bad byte at or after pos, or s.n. */
static size_t
first_bad(struct str s, size_t pos)
{
	while (pos < s.n) {
		uint32_t r;
		int len = decode(s.p + pos, s.n - pos, &r);

		if (!len)
			break;
		pos += (size_t)len;
	}
	return pos;
}

bool
utf8_valid(struct str s)
{
	return first_bad(s, 0) == s.n;
}

size_t
utf8_runes(struct str s)
{
	size_t n = 0;

	for (size_t pos = 0; pos < s.n; n++)
		utf8_next(s, &pos);
	return n;
}

size_t
utf8_units(struct str s)
{
	size_t n = 0;

	for (size_t pos = 0; pos < s.n;)
		n += utf8_next(s, &pos) > 0xffff ? 2 : 1;
	return n;
}

size_t
utf8_offset_of_unit(struct str s, size_t unit)
{
	size_t n = 0, pos = 0;

	while (pos < s.n) {
		size_t at = pos;

		n += utf8_next(s, &pos) > 0xffff ? 2 : 1;
		if (n > unit)
			return at;
	}
	return pos;
}

/* Could more bytes make the beginning p[0..n) a character? */
static bool
is_beginning(const char *p, size_t n)
{
	static const char tails[] = "\x80\x90\xa0\xbf"; /* one of each range a second byte may need */
	char buf[4] = { 0 };
	uint32_t r;

	memcpy(buf, p, n);
	for (size_t t = 0; t < sizeof(tails) - 1; t++) {
		memset(buf + n, '\x80', sizeof(buf) - n);
		buf[n] = tails[t];
		if (decode(buf, sizeof(buf), &r) > (int)n)
			return true;
	}
	return false;
}

size_t
utf8_whole(struct str s)
{
	for (size_t back = 1; back <= 3 && back <= s.n; back++) {
		const char *p = s.p + s.n - back;

		if (((unsigned char)*p & 0xc0) != 0x80)
			return is_beginning(p, back) ? s.n - back : s.n;
	}
	return s.n;
}

struct str
utf8_clean(struct arena *a, struct str s)
{
	struct sb out = sb_new(a);
	size_t bad = first_bad(s, 0), from = 0;

	if (bad == s.n && str_chr(s, '\0', 0) == STR_NPOS)
		return s;
	sb_reserve(&out, s.n);
	for (size_t pos = 0; pos < s.n;) {
		size_t at = pos;
		uint32_t r = utf8_next(s, &pos);

		/* A genuine U+FFFD has three bytes. */
		if (r != 0 && (r != RUNE_BAD || pos - at > 1))
			continue;
		sb_add(&out, str_sub(s, from, at));
		if (r != 0)
			sb_add_rune(&out, RUNE_BAD);
		from = pos;
	}
	sb_add(&out, str_sub(s, from, s.n));
	return sb_str(&out);
}

struct str
utf8_trim(struct str s)
{
	size_t from = 0, at;

	while (from < s.n) {
		at = from;
		if (!rune_is_space(utf8_next(s, &at)))
			break;
		from = at;
	}
	while (s.n > from) {
		size_t start = utf8_prev(s, s.n);

		at = start;
		if (!rune_is_space(utf8_next(s, &at)))
			break;
		s.n = start;
	}
	return str_sub(s, from, s.n);
}
