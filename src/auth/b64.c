/* b64: see b64.h. */
#include "auth/b64.h"

static int
value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '-' ? 62 : c == '_' ? 63 : -1;
}

struct str
b64url_decode(struct arena *a, struct str s)
{
	char *out = arena_alloc(a, s.n / 4 * 3 + 4);
	uint32_t bits = 0;
	unsigned have = 0;
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++) {
		int v = value(s.p[i]);

		if (v < 0)
			return STR_NULL;
		bits = bits << 6 | (uint32_t)v;
		have += 6;
		if (have >= 8) {
			have -= 8;
			out[n++] = (char)(bits >> have & 0xff);
		}
	}
	if (s.n % 4 == 1 || (bits & ((1u << have) - 1)) != 0)
		return STR_NULL;
	return (struct str){ out, n };
}
