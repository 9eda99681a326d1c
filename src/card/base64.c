/*
 * base64: see base64.h.
 */
#include "base64.h"

static int
digit(unsigned char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+' || c == '-')
		return 62;
	return c == '/' || c == '_' ? 63 : -1;
}

struct str
base64_decode(struct arena *a, struct str text)
{
	char *out = arena_alloc(a, text.n / 4 * 3 + 4);
	uint32_t bits = 0;
	size_t have = 0, n = 0;
	bool padded = false;

	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];
		int d = digit(c);

		if (c == ' ' || (c >= '\t' && c <= '\r'))
			continue;
		if (c == '=') {
			padded = true;
			continue;
		}
		if (d < 0 || padded)
			return STR_NULL;
		bits = bits << 6 | (uint32_t)d;
		if (++have == 4) {
			out[n++] = (char)(bits >> 16);
			out[n++] = (char)(bits >> 8);
			out[n++] = (char)bits;
			have = 0;
		}
	}
	if (have == 1)
		return STR_NULL;
	if (have > 1)
		out[n++] = (char)(bits >> (have == 2 ? 4 : 10));
	if (have == 3)
		out[n++] = (char)(bits >> 2);
	return (struct str){ out, n };
}

struct str
base64_encode(struct arena *a, struct str bytes)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *out = arena_alloc(a, (bytes.n + 2) / 3 * 4 + 1);
	size_t n = 0;

	for (size_t i = 0; i < bytes.n; i += 3) {
		size_t left = bytes.n - i;
		uint32_t v = (uint32_t)(unsigned char)bytes.p[i] << 16;

		if (left > 1)
			v |= (uint32_t)(unsigned char)bytes.p[i + 1] << 8;
		if (left > 2)
			v |= (unsigned char)bytes.p[i + 2];
		out[n++] = digits[v >> 18];
		out[n++] = digits[v >> 12 & 63];
		out[n++] = left > 1 ? digits[v >> 6 & 63] : '=';
		out[n++] = left > 2 ? digits[v & 63] : '=';
	}
	return (struct str){ out, n };
}
