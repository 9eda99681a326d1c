/*
 * utf8_case: case mapping and character classes. utf8proc has the simple mappings and the
 * categories; the mappings to several characters (Unicode SpecialCasing, unconditional) and
 * the final sigma are here, as ECMAScript's toUpperCase and toLowerCase want them.
 */
#include "base/sb.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <utf8proc.h>

struct special {
	uint32_t rune;
	uint32_t upper[3];
};

/* Sorted by rune. */
/* clang-format off */
static const struct special specials[] = {
	{ 0x00DF, { 0x0053, 0x0053 } }, { 0x0149, { 0x02BC, 0x004E } }, { 0x01F0, { 0x004A, 0x030C } },
	{ 0x0390, { 0x0399, 0x0308, 0x0301 } }, { 0x03B0, { 0x03A5, 0x0308, 0x0301 } },
	{ 0x0587, { 0x0535, 0x0552 } }, { 0x1E96, { 0x0048, 0x0331 } }, { 0x1E97, { 0x0054, 0x0308 } },
	{ 0x1E98, { 0x0057, 0x030A } }, { 0x1E99, { 0x0059, 0x030A } }, { 0x1E9A, { 0x0041, 0x02BE } },
	{ 0x1F50, { 0x03A5, 0x0313 } }, { 0x1F52, { 0x03A5, 0x0313, 0x0300 } },
	{ 0x1F54, { 0x03A5, 0x0313, 0x0301 } }, { 0x1F56, { 0x03A5, 0x0313, 0x0342 } },
	{ 0x1F80, { 0x1F08, 0x0399 } }, { 0x1F81, { 0x1F09, 0x0399 } }, { 0x1F82, { 0x1F0A, 0x0399 } },
	{ 0x1F83, { 0x1F0B, 0x0399 } }, { 0x1F84, { 0x1F0C, 0x0399 } }, { 0x1F85, { 0x1F0D, 0x0399 } },
	{ 0x1F86, { 0x1F0E, 0x0399 } }, { 0x1F87, { 0x1F0F, 0x0399 } }, { 0x1F88, { 0x1F08, 0x0399 } },
	{ 0x1F89, { 0x1F09, 0x0399 } }, { 0x1F8A, { 0x1F0A, 0x0399 } }, { 0x1F8B, { 0x1F0B, 0x0399 } },
	{ 0x1F8C, { 0x1F0C, 0x0399 } }, { 0x1F8D, { 0x1F0D, 0x0399 } }, { 0x1F8E, { 0x1F0E, 0x0399 } },
	{ 0x1F8F, { 0x1F0F, 0x0399 } }, { 0x1F90, { 0x1F28, 0x0399 } }, { 0x1F91, { 0x1F29, 0x0399 } },
	{ 0x1F92, { 0x1F2A, 0x0399 } }, { 0x1F93, { 0x1F2B, 0x0399 } }, { 0x1F94, { 0x1F2C, 0x0399 } },
	{ 0x1F95, { 0x1F2D, 0x0399 } }, { 0x1F96, { 0x1F2E, 0x0399 } }, { 0x1F97, { 0x1F2F, 0x0399 } },
	{ 0x1F98, { 0x1F28, 0x0399 } }, { 0x1F99, { 0x1F29, 0x0399 } }, { 0x1F9A, { 0x1F2A, 0x0399 } },
	{ 0x1F9B, { 0x1F2B, 0x0399 } }, { 0x1F9C, { 0x1F2C, 0x0399 } }, { 0x1F9D, { 0x1F2D, 0x0399 } },
	{ 0x1F9E, { 0x1F2E, 0x0399 } }, { 0x1F9F, { 0x1F2F, 0x0399 } }, { 0x1FA0, { 0x1F68, 0x0399 } },
	{ 0x1FA1, { 0x1F69, 0x0399 } }, { 0x1FA2, { 0x1F6A, 0x0399 } }, { 0x1FA3, { 0x1F6B, 0x0399 } },
	{ 0x1FA4, { 0x1F6C, 0x0399 } }, { 0x1FA5, { 0x1F6D, 0x0399 } }, { 0x1FA6, { 0x1F6E, 0x0399 } },
	{ 0x1FA7, { 0x1F6F, 0x0399 } }, { 0x1FA8, { 0x1F68, 0x0399 } }, { 0x1FA9, { 0x1F69, 0x0399 } },
	{ 0x1FAA, { 0x1F6A, 0x0399 } }, { 0x1FAB, { 0x1F6B, 0x0399 } }, { 0x1FAC, { 0x1F6C, 0x0399 } },
	{ 0x1FAD, { 0x1F6D, 0x0399 } }, { 0x1FAE, { 0x1F6E, 0x0399 } }, { 0x1FAF, { 0x1F6F, 0x0399 } },
	{ 0x1FB2, { 0x1FBA, 0x0399 } }, { 0x1FB3, { 0x0391, 0x0399 } }, { 0x1FB4, { 0x0386, 0x0399 } },
	{ 0x1FB6, { 0x0391, 0x0342 } }, { 0x1FB7, { 0x0391, 0x0342, 0x0399 } },
	{ 0x1FBC, { 0x0391, 0x0399 } }, { 0x1FC2, { 0x1FCA, 0x0399 } }, { 0x1FC3, { 0x0397, 0x0399 } },
	{ 0x1FC4, { 0x0389, 0x0399 } }, { 0x1FC6, { 0x0397, 0x0342 } },
	{ 0x1FC7, { 0x0397, 0x0342, 0x0399 } }, { 0x1FCC, { 0x0397, 0x0399 } },
	{ 0x1FD2, { 0x0399, 0x0308, 0x0300 } }, { 0x1FD3, { 0x0399, 0x0308, 0x0301 } },
	{ 0x1FD6, { 0x0399, 0x0342 } }, { 0x1FD7, { 0x0399, 0x0308, 0x0342 } },
	{ 0x1FE2, { 0x03A5, 0x0308, 0x0300 } }, { 0x1FE3, { 0x03A5, 0x0308, 0x0301 } },
	{ 0x1FE4, { 0x03A1, 0x0313 } }, { 0x1FE6, { 0x03A5, 0x0342 } },
	{ 0x1FE7, { 0x03A5, 0x0308, 0x0342 } }, { 0x1FF2, { 0x1FFA, 0x0399 } },
	{ 0x1FF3, { 0x03A9, 0x0399 } }, { 0x1FF4, { 0x038F, 0x0399 } }, { 0x1FF6, { 0x03A9, 0x0342 } },
	{ 0x1FF7, { 0x03A9, 0x0342, 0x0399 } }, { 0x1FFC, { 0x03A9, 0x0399 } },
	{ 0xFB00, { 0x0046, 0x0046 } }, { 0xFB01, { 0x0046, 0x0049 } }, { 0xFB02, { 0x0046, 0x004C } },
	{ 0xFB03, { 0x0046, 0x0046, 0x0049 } }, { 0xFB04, { 0x0046, 0x0046, 0x004C } },
	{ 0xFB05, { 0x0053, 0x0054 } }, { 0xFB06, { 0x0053, 0x0054 } }, { 0xFB13, { 0x0544, 0x0546 } },
	{ 0xFB14, { 0x0544, 0x0535 } }, { 0xFB15, { 0x0544, 0x053B } }, { 0xFB16, { 0x054E, 0x0546 } },
	{ 0xFB17, { 0x0544, 0x053D } },
};
/* clang-format on */

static int
special_cmp(const void *key, const void *row)
{
	uint32_t k = *(const uint32_t *)key, r = ((const struct special *)row)->rune;

	return (k > r) - (k < r);
}

static utf8proc_category_t
category(uint32_t r)
{
	return utf8proc_category((utf8proc_int32_t)r);
}

static void
add_upper(struct sb *out, uint32_t r)
{
	const struct special *sp =
	    bsearch(&r, specials, sizeof(specials) / sizeof(specials[0]), sizeof(specials[0]), special_cmp);

	if (!sp) {
		sb_add_rune(out, (uint32_t)utf8proc_toupper((utf8proc_int32_t)r));
		return;
	}
	for (int i = 0; i < 3 && sp->upper[i]; i++)
		sb_add_rune(out, sp->upper[i]);
}

struct str
utf8_upper(struct arena *a, struct str s)
{
	struct sb out = sb_new(a);

	sb_reserve(&out, s.n);
	for (size_t pos = 0; pos < s.n;) {
		unsigned char c = (unsigned char)s.p[pos];

		if (c < 0x80) {
			sb_addc(&out, (char)(c >= 'a' && c <= 'z' ? c - 32 : c));
			pos++;
		} else {
			add_upper(&out, utf8_next(s, &pos));
		}
	}
	return sb_str(&out);
}

enum sigma_class { SIGMA_OTHER, SIGMA_CASED, SIGMA_IGNORABLE };

/* Letters outside the categories Lu, Ll, Lt that Unicode calls cased (Other_Uppercase, Other_Lowercase). */
static bool
is_other_cased(uint32_t r)
{
	return r == 0xaa || r == 0xba || (r >= 0x2160 && r <= 0x217f) || (r >= 0x24b6 && r <= 0x24e9) ||
	    (r >= 0x1f130 && r <= 0x1f149) || (r >= 0x1f150 && r <= 0x1f169) || (r >= 0x1f170 && r <= 0x1f189);
}

/* Word_Break MidLetter, MidNumLet and Single_Quote are case-ignorable besides the categories below. */
static bool
is_word_middle(uint32_t r)
{
	static const uint32_t middle[] = { 0x27, 0x2e, 0x3a, 0xb7, 0x387, 0x55f, 0x5f4, 0x2018, 0x2019, 0x2024,
		0x2027, 0xfe13, 0xfe52, 0xfe55, 0xff07, 0xff0e, 0xff1a };

	for (size_t i = 0; i < sizeof(middle) / sizeof(middle[0]); i++)
		if (middle[i] == r)
			return true;
	return false;
}

static enum sigma_class
sigma_class(uint32_t r)
{
	utf8proc_category_t cat = category(r);

	if (cat == UTF8PROC_CATEGORY_MN || cat == UTF8PROC_CATEGORY_ME || cat == UTF8PROC_CATEGORY_CF ||
	    cat == UTF8PROC_CATEGORY_LM || cat == UTF8PROC_CATEGORY_SK || is_word_middle(r))
		return SIGMA_IGNORABLE;
	if (cat == UTF8PROC_CATEGORY_LU || cat == UTF8PROC_CATEGORY_LL || cat == UTF8PROC_CATEGORY_LT ||
	    is_other_cased(r))
		return SIGMA_CASED;
	return SIGMA_OTHER;
}

static bool
cased_follows(struct str s, size_t pos)
{
	while (pos < s.n) {
		enum sigma_class k = sigma_class(utf8_next(s, &pos));

		if (k != SIGMA_IGNORABLE)
			return k == SIGMA_CASED;
	}
	return false;
}

#define CAPITAL_SIGMA 0x3a3u
#define SMALL_SIGMA 0x3c3u
#define FINAL_SIGMA 0x3c2u
#define CAPITAL_I_DOT 0x130u

struct str
utf8_lower(struct arena *a, struct str s)
{
	struct sb out = sb_new(a);
	bool cased = false; /* a cased letter stands before, ignorables aside */

	sb_reserve(&out, s.n);
	for (size_t pos = 0; pos < s.n;) {
		uint32_t r = utf8_next(s, &pos);
		enum sigma_class k;

		if (r < 0x80)
			sb_addc(&out, (char)(r >= 'A' && r <= 'Z' ? r + 32 : r));
		else if (r == CAPITAL_SIGMA)
			sb_add_rune(&out, cased && !cased_follows(s, pos) ? FINAL_SIGMA : SMALL_SIGMA);
		else if (r == CAPITAL_I_DOT)
			sb_adds(&out, "i\xcc\x87");
		else
			sb_add_rune(&out, (uint32_t)utf8proc_tolower((utf8proc_int32_t)r));
		k = sigma_class(r);
		if (k != SIGMA_IGNORABLE)
			cased = k == SIGMA_CASED;
	}
	return sb_str(&out);
}

struct str
utf8_fold(struct arena *a, struct str s)
{
	struct sb out = sb_new(a);

	sb_reserve(&out, s.n);
	for (size_t pos = 0; pos < s.n;) {
		uint32_t r = utf8_next(s, &pos);
		utf8proc_int32_t to[8];
		utf8proc_ssize_t n;
		int boundary = 0;

		if (r < 0x80) {
			sb_addc(&out, (char)(r >= 'A' && r <= 'Z' ? r + 32 : r));
			continue;
		}
		n = utf8proc_decompose_char((utf8proc_int32_t)r, to, 8, UTF8PROC_CASEFOLD, &boundary);
		if (n < 0 || n > 8) {
			sb_add_rune(&out, r);
			continue;
		}
		for (utf8proc_ssize_t i = 0; i < n; i++)
			sb_add_rune(&out, (uint32_t)to[i]);
	}
	return sb_str(&out);
}

static bool
in_categories(uint32_t r, unsigned mask)
{
	return mask >> category(r) & 1u;
}

#define CAT(name) (1u << UTF8PROC_CATEGORY_##name)
#define LETTERS (CAT(LU) | CAT(LL) | CAT(LT) | CAT(LM) | CAT(LO))
#define NUMBERS (CAT(ND) | CAT(NL) | CAT(NO))
#define MARKS (CAT(MN) | CAT(MC) | CAT(ME))

bool
rune_is_letter(uint32_t r)
{
	return in_categories(r, LETTERS);
}

bool
rune_is_digit(uint32_t r)
{
	return in_categories(r, NUMBERS);
}

bool
rune_is_space(uint32_t r)
{
	return (r >= '\t' && r <= '\r') || r == 0xfeff || r == 0x2028 || r == 0x2029 || in_categories(r, CAT(ZS));
}

bool
rune_is_word(uint32_t r)
{
	return in_categories(r, LETTERS | NUMBERS | MARKS | CAT(PC));
}
