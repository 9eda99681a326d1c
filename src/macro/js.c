/*
 * js: what JavaScript means by blanks and numbers, and two generators of its libraries that
 * {{pick}} depends on. Texts of presets were written against these.
 */
#include "macro/macro_private.h"

#include "base/utf8.h"

#include <math.h>

bool
js_blank(struct str s, size_t at, size_t *len_out)
{
	unsigned char c = (unsigned char)s.p[at];
	size_t end = at;

	*len_out = 1;
	if (c < 0x80)
		return c == ' ' || (c >= 9 && c <= 13);
	if (c != 0xc2 && c != 0xe1 && c != 0xe2 && c != 0xe3 && c != 0xef)
		return false;
	if (!rune_is_space(utf8_next(s, &end)))
		return false;
	*len_out = end - at;
	return true;
}

/* A byte that is no blank and part of none. */
static bool
solid(char c)
{
	unsigned char u = (unsigned char)c;

	return u > ' ' && u < 0x80;
}

struct str
js_trim_start(struct str s)
{
	size_t b = 0, len;

	while (b < s.n && js_blank(s, b, &len))
		b += len;
	return str_sub(s, b, s.n);
}

struct str
js_trim_end(struct str s)
{
	size_t e = s.n, len;

	while (e > 0) {
		size_t p = (unsigned char)s.p[e - 1] < 0x80 ? e - 1 : utf8_prev(s, e);

		if (!js_blank(s, p, &len))
			break;
		e = p;
	}
	return str_sub(s, 0, e);
}

struct str
js_trim(struct str s)
{
	if (!s.n || (solid(s.p[0]) && solid(s.p[s.n - 1])))
		return s;
	return js_trim_end(js_trim_start(s));
}

static int
digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 99;
}

/* 0x…, 0o…, 0b… */
static bool
radix_number(struct str s, double *out)
{
	int base = 0;
	double v = 0;

	if (s.n < 3 || s.p[0] != '0')
		return false;
	switch (s.p[1]) {
	case 'x':
	case 'X':
		base = 16;
		break;
	case 'o':
	case 'O':
		base = 8;
		break;
	case 'b':
	case 'B':
		base = 2;
		break;
	default:
		return false;
	}
	for (size_t i = 2; i < s.n; i++) {
		int d = digit_value(s.p[i]);

		if (d >= base)
			return false;
		v = v * base + d;
	}
	*out = v;
	return isfinite(v);
}

static size_t
skip_digits(struct str s, size_t i)
{
	while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9')
		i++;
	return i;
}

bool
js_number(struct str s, double *out)
{
	size_t i = 0, d, f;
	bool minus;
	struct str body;

	s = js_trim(s);
	if (s.n == 0 || (s.p[0] > '9' && s.p[0] != 'I'))
		return false;
	if (s.n == 1 && s.p[0] >= '0') {
		*out = s.p[0] - '0';
		return true;
	}
	if (radix_number(s, out))
		return true;
	minus = s.p[0] == '-';
	if (s.p[0] == '-' || s.p[0] == '+')
		i++;
	body = str_sub(s, i, s.n);
	d = skip_digits(body, 0);
	f = d;
	if (d < body.n && body.p[d] == '.')
		f = skip_digits(body, d + 1);
	if (d == 0 && f <= 1)
		return false;
	if (f < body.n) {
		size_t x = f + 1;

		if (body.p[f] != 'e' && body.p[f] != 'E')
			return false;
		if (x < body.n && (body.p[x] == '+' || body.p[x] == '-'))
			x++;
		if (skip_digits(body, x) != body.n || x == body.n)
			return false;
	}
	if (d == body.n && d <= 15) { /* the usual case, exact */
		double v = 0;

		for (size_t k = 0; k < d; k++)
			v = v * 10 + (body.p[k] - '0');
		*out = minus ? -v : v;
		return true;
	}
	if (d == 0 || f == d + 1) { /* ".5", "5.": forms that a strict reader refuses */
		char buf[64];
		size_t n = 0;
		struct str tail = str_sub(body, f == d + 1 ? f : 0, body.n);

		if (body.n > sizeof(buf) - 4)
			return false;
		if (d == 0) {
			buf[n++] = '0';
		} else {
			memcpy(buf, body.p, d);
			n = d;
		}
		memcpy(buf + n, tail.p, tail.n);
		if (!str_double((struct str){ buf, n + tail.n }, out))
			return false;
	} else if (!str_double(body, out)) {
		return false;
	}
	if (minus)
		*out = -*out;
	return isfinite(*out);
}

struct str
js_number_text(struct arena *a, double v)
{
	struct sb b = sb_new(a);

	if (v == floor(v) && fabs(v) < 1e15)
		sb_add_int(&b, (int64_t)v);
	else
		sb_add_double(&b, v);
	return sb_str(&b);
}

uint64_t
js_hash53(struct str s)
{
	uint32_t h1 = 0xdeadbeef, h2 = 0x41c6ce57;

	for (size_t at = 0; at < s.n;) {
		uint32_t r = utf8_next(s, &at), unit[2] = { r, 0 };
		int n = 1;

		if (r > 0xffff) {
			unit[0] = 0xd7c0 + (r >> 10);
			unit[1] = 0xdc00 + (r & 0x3ff);
			n = 2;
		}
		for (int i = 0; i < n; i++) {
			h1 = (h1 ^ unit[i]) * 2654435761u;
			h2 = (h2 ^ unit[i]) * 1597334677u;
		}
	}
	h1 = (h1 ^ h1 >> 16) * 2246822507u ^ (h2 ^ h2 >> 13) * 3266489909u;
	h2 = (h2 ^ h2 >> 16) * 2246822507u ^ (h1 ^ h1 >> 13) * 3266489909u;
	return ((uint64_t)(h2 & 0x1fffff) << 32) + h1;
}

struct rc4 {
	uint8_t i, j, s[256];
};

static uint8_t
rc4_next(struct rc4 *r)
{
	uint8_t t = r->s[++r->i];

	r->j = (uint8_t)(r->j + t);
	r->s[r->i] = r->s[r->j];
	r->s[r->j] = t;
	return r->s[(uint8_t)(r->s[r->i] + t)];
}

/* ASCII seeds only: that is what {{pick}} makes. */
double
js_seedrandom(struct str seed)
{
	struct rc4 r = { 0 };
	uint8_t key[256] = { 0 };
	size_t keylen = seed.n < 256 ? seed.n : 256;
	uint32_t smear = 0;
	uint8_t j = 0;
	double n = 0, d = 281474976710656.0 /* 256^6 */, x = 0;

	for (size_t i = 0; i < seed.n; i++) {
		smear ^= key[i & 255] * 19u;
		key[i & 255] = (uint8_t)(smear + (unsigned char)seed.p[i]);
	}
	if (!keylen)
		keylen = 1;
	for (int i = 0; i < 256; i++)
		r.s[i] = (uint8_t)i;
	for (int i = 0; i < 256; i++) {
		uint8_t t = r.s[i];

		j = (uint8_t)(j + key[(size_t)i % keylen] + t);
		r.s[i] = r.s[j];
		r.s[j] = t;
	}
	for (int i = 0; i < 256; i++)
		rc4_next(&r);
	for (int i = 0; i < 6; i++)
		n = n * 256 + rc4_next(&r);
	while (n < 4503599627370496.0 /* 2^52 */) {
		n = (n + x) * 256;
		d *= 256;
		x = rc4_next(&r);
	}
	while (n >= 9007199254740992.0 /* 2^53 */) {
		n /= 2;
		d /= 2;
		x = floor(x / 2);
	}
	return (n + x) / d;
}
