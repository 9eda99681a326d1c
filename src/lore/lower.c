/*
 * lower: lower case as toLowerCase(), fast for what chats are made of. ASCII and scripts without
 * case are copied, the rest goes through base in runs. A capital sigma depends on what stands
 * around it, so a text that has one goes through base whole.
 */
#include "base/sb.h"
#include "base/utf8.h"
#include "lore/lore_private.h"

/* Bytes of a character that surely has no case, 0 = look closer. */
static size_t
caseless(struct str s, size_t pos)
{
	unsigned char c = (unsigned char)s.p[pos], d = pos + 1 < s.n ? (unsigned char)s.p[pos + 1] : 0;
	size_t n = 0;

	if (c >= 0xe3 && c <= 0xe9) /* U+3000 … U+9FFF */
		n = 3;
	else if (c >= 0xeb && c <= 0xed) /* Hangul */
		n = 3;
	else if (c == 0xe2 && d <= 0x83) /* punctuation */
		n = 3;
	else if (c == 0xef && (d == 0xbb || d == 0xb8)) /* U+FEFF, variation selectors */
		n = 3;
	else if (c == 0xf0 && (d == 0x9f || d >= 0xa0)) /* pictures, rare ideographs */
		n = 4;
	return pos + n <= s.n ? n : 0;
}

static bool
has_sigma(struct str s)
{
	return memchr(s.p, 0xce, s.n) != NULL && str_find(s, STR("\xce\xa3"), 0) != STR_NPOS;
}

/* Is there anything to do? */
static bool
is_lower(struct str s)
{
	unsigned upper = 0, high = 0;

	for (size_t i = 0; i < s.n; i++) {
		upper |= (unsigned)((unsigned char)(s.p[i] - 'A') < 26);
		high |= (unsigned char)s.p[i];
	}
	return !upper && high < 0x80;
}

/* Copies what is ASCII from `from` on, in lower case; returns how many bytes that was. Eight at a time. */
static size_t
lower_ascii(char *to, struct str s, size_t from)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
	size_t i = from;

	for (; i + 8 <= s.n; i += 8) {
		uint64_t w, upper;

		memcpy(&w, s.p + i, 8);
		if (w & tops)
			break;
		upper = ((w + ones * (0x80 - 'A')) ^ (w + ones * (0x7f - 'Z'))) & tops;
		w |= upper >> 2;
		memcpy(to + (i - from), &w, 8);
	}
	for (; i < s.n && (unsigned char)s.p[i] < 0x80; i++)
		to[i - from] = (char)(s.p[i] + (((unsigned char)(s.p[i] - 'A') < 26) << 5));
	return i - from;
}

struct str
lore_lower(struct arena *a, struct str s)
{
	struct arena *scratch = NULL;
	struct sb out;

	if (s.n == 0 || is_lower(s))
		return s;
	if (has_sigma(s))
		return utf8_lower(a, s);
	out = sb_new(a);
	for (size_t i = 0; i < s.n;) {
		size_t from = i, n;

		sb_reserve(&out, s.n - i + 1);
		n = lower_ascii(out.p + out.n, s, i);
		out.n += n;
		from = i += n;
		while (i < s.n && (n = caseless(s, i)) > 0)
			i += n;
		sb_add(&out, str_sub(s, from, i));
		from = i;
		while (i < s.n && (unsigned char)s.p[i] >= 0x80 && caseless(s, i) == 0)
			utf8_next(s, &i);
		if (i > from) {
			scratch = scratch != NULL ? scratch : arena_create("lower", 0);
			sb_add(&out, utf8_lower(scratch, str_sub(s, from, i)));
		}
	}
	if (scratch != NULL)
		arena_destroy(&scratch);
	return sb_str(&out);
}
