/*
 * Splitter against a PCRE2 reference: both grammars must cut every text alike. The input picks
 * code points from an alphabet that has the hard ones, so that the two Unicode versions do not matter.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "base/utf8.h"
#include "token/split.h"
#include "token/token.h"

#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>

/* White space as the reference engine has it: with NEL, without U+180E and U+FEFF. */
#define WS "\\t-\\r \\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}"
#define CON "'(?:[sS\\x{17f}]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL][lL]|[dD])"
#define TAIL "[" WS "]*[\\r\\n]+|[" WS "]+(?![^" WS "])|[" WS "]+"

static const char o200k[] =
    "\\G(?:[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?:" CON
    ")?|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?:" CON
    ")?|\\p{N}{1,3}| ?[^" WS "\\p{L}\\p{N}]+[\\r\\n/]*|" TAIL ")";
static const char cl100k[] =
    "\\G(?:" CON "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^" WS "\\p{L}\\p{N}]+[\\r\\n]*|" TAIL ")";

static const uint32_t alphabet[] = { 'a', 'A', 's', 'S', 't', 'r', 'e', 'v', 'l', 'L', 'm', 'd', 'z', 'Z',
	'0', '9', ' ', ' ', '\t', '\n', '\r', '\'', '\'', '/', '.', '!', '<', '|', '_', 0, 0x7f, 0x85, 0xa0,
	0xaa, 0xb2, 0xdf, 0x17f, 0x1c5, 0x2b0, 0x301, 0x345, 0x3b1, 0x391, 0x410, 0x430, 0x5d0, 0x661, 0x93f,
	0x1680, 0x180e, 0x200b, 0x2028, 0x2167, 0x20dd, 0x212a, 0x3000, 0x3042, 0x4e00, 0xac00, 0xfeff,
	0xff11, 0xfffd, 0x1f600, 0x20000, 0x10400, 0x10428 };

static pcre2_code *
compile(const char *pattern)
{
	int code;
	PCRE2_SIZE at;
	pcre2_code *re = pcre2_compile(
	    (PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP, &code, &at, NULL);

	if (!re)
		abort();
	return re;
}

static void
compare(const char *name, const pcre2_code *re, split_fn *split, struct str text)
{
	pcre2_match_data *md = pcre2_match_data_create(1, NULL);
	const uint8_t *start = (const uint8_t *)text.p, *end = start + text.n;

	for (size_t at = 0; at < text.n;) {
		size_t got = (size_t)(split(start + at, end) - start);

		if (pcre2_match(re, start, text.n, at, 0, md, NULL) < 0 ||
		    pcre2_get_ovector_pointer(md)[1] != got) {
			fprintf(stderr, "%s: piece at %zu ends at %zu\n", name, at, got);
			abort();
		}
		at = got;
	}
	pcre2_match_data_free(md);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static pcre2_code *re_o200k, *re_cl100k;
	static char text[4096];
	size_t n = 0;

	if (!re_o200k) {
		token_warm();
		re_o200k = compile(o200k);
		re_cl100k = compile(cl100k);
	}
	for (size_t i = 0; i < size && n + 4 <= sizeof(text); i++)
		n += (size_t)utf8_put(text + n, alphabet[data[i] % (sizeof(alphabet) / sizeof(alphabet[0]))]);
	compare("o200k", re_o200k, split_o200k, (struct str){ text, n });
	compare("cl100k", re_cl100k, split_cl100k, (struct str){ text, n });

	/* Raw bytes: no reference, but progress and no overrun. */
	for (const uint8_t *p = data; p < data + size;) {
		const uint8_t *q = split_o200k(p, data + size);

		if (q <= p || q > data + size)
			abort();
		p = q;
	}
	return 0;
}
