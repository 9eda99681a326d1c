/*
 * json_raw: finds the source bytes of values in a text that json_read accepted, so that they
 * can be kept byte for byte. Builds no tree and checks no grammar; on other texts it stays
 * inside the bytes and finds something or nothing.
 */
#include "base/json.h"
#include "base/utf8.h"

static size_t
skip_blanks(struct str s, size_t at)
{
	while (at < s.n && (s.p[at] == ' ' || s.p[at] == '\t' || s.p[at] == '\n' || s.p[at] == '\r'))
		at++;
	return at;
}

/* At the opening quote: behind the closing one. */
static size_t
skip_string(struct str s, size_t at)
{
	for (at++; at < s.n && s.p[at] != '"'; at++)
		if (s.p[at] == '\\')
			at++;
	return at < s.n ? at + 1 : s.n;
}

/* At a bracket: behind its partner. Needs no stack, since the text is known to be balanced. */
static size_t
skip_container(struct str s, size_t at)
{
	size_t open = 0;

	while (at < s.n) {
		char c = s.p[at];

		if (c == '"') {
			at = skip_string(s, at);
			continue;
		}
		at++;
		if (c == '[' || c == '{')
			open++;
		else if ((c == ']' || c == '}') && --open == 0)
			break;
	}
	return at;
}

static bool
ends_word(char c)
{
	return c == ',' || c == ']' || c == '}' || c == ':' || c == ' ' || c == '\t' || c == '\n' ||
	       c == '\r';
}

/* At the first byte of a value: behind its last. */
static size_t
skip_value(struct str s, size_t at)
{
	if (at < s.n && s.p[at] == '"')
		return skip_string(s, at);
	if (at < s.n && (s.p[at] == '[' || s.p[at] == '{'))
		return skip_container(s, at);
	while (at < s.n && !ends_word(s.p[at]))
		at++;
	return at;
}

/* Moves *pos behind the opening bracket or the comma; false at the end or if s does not begin with `open`. */
static bool
enter(struct str s, size_t *pos, char open)
{
	size_t at = skip_blanks(s, *pos);

	if (at >= s.n || s.p[at] != (*pos == 0 ? open : ','))
		return false;
	at = skip_blanks(s, at + 1);
	if (at >= s.n || s.p[at] == ']' || s.p[at] == '}')
		return false;
	*pos = at;
	return true;
}

bool
json_raw_next(struct str array, size_t *pos, struct str *element_out)
{
	size_t end;

	if (!enter(array, pos, '['))
		return false;
	end = skip_value(array, *pos);
	*element_out = str_sub(array, *pos, end);
	*pos = end;
	return true;
}

bool
json_raw_member(struct str object, size_t *pos, struct str *key_out, struct str *value_out)
{
	size_t at, end;

	if (!enter(object, pos, '{') || object.p[*pos] != '"')
		return false;
	at = skip_string(object, *pos);
	*key_out = str_sub(object, *pos, at);
	at = skip_blanks(object, at);
	if (at >= object.n || object.p[at] != ':')
		return false;
	at = skip_blanks(object, at + 1);
	end = skip_value(object, at);
	*value_out = str_sub(object, at, end);
	*pos = end;
	return true;
}

static uint32_t
hex4(struct str s, size_t at)
{
	uint32_t v = 0;

	for (size_t i = at; i < at + 4 && i < s.n; i++) {
		char c = s.p[i];

		v = v << 4 | (uint32_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
	}
	return v;
}

/* The character at *pos of the inside of a raw string; RUNE_NONE where it stands for nothing. */
#define RUNE_NONE UINT32_MAX

static uint32_t
next_unescaped(struct str s, size_t *pos)
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	const char *hit;
	uint32_t r, low;
	char c;

	if (s.p[*pos] != '\\' || *pos + 1 >= s.n)
		return utf8_next(s, pos);
	c = s.p[*pos + 1];
	*pos += 2;
	if (c != 'u') {
		hit = c ? strchr(from, c) : NULL;
		return (unsigned char)(hit ? to[hit - from] : c);
	}
	r = hex4(s, *pos);
	*pos = *pos + 4 < s.n ? *pos + 4 : s.n;
	if (r >= 0xd800 && r < 0xdc00 && str_starts(str_sub(s, *pos, s.n), STR("\\u"))) {
		low = hex4(s, *pos + 2);
		if (low >= 0xdc00 && low < 0xe000) {
			*pos = *pos + 6 < s.n ? *pos + 6 : s.n;
			return 0x10000 + ((r - 0xd800) << 10) + (low - 0xdc00);
		}
	}
	return r == 0 ? RUNE_NONE : r >= 0xd800 && r < 0xe000 ? RUNE_BAD : r;
}

struct str
json_raw_text(struct arena *a, struct str raw)
{
	struct sb out = sb_new(a);

	if (raw.n < 2 || raw.p[0] != '"')
		return STR_NULL;
	raw = str_sub(raw, 1, raw.n - 1);
	if (str_chr(raw, '\\', 0) == STR_NPOS)
		return raw;
	sb_reserve(&out, raw.n);
	for (size_t pos = 0; pos < raw.n;) {
		uint32_t r = next_unescaped(raw, &pos);

		if (r != RUNE_NONE)
			sb_add_rune(&out, r);
	}
	return sb_str(&out);
}

static bool
key_is(struct str raw, struct str key)
{
	size_t at = 0;

	raw = str_sub(raw, 1, raw.n - 1);
	if (str_chr(raw, '\\', 0) == STR_NPOS)
		return str_eq(raw, key);
	for (size_t pos = 0; pos < raw.n;) {
		char buf[4];
		uint32_t r = next_unescaped(raw, &pos);
		int n = r == RUNE_NONE ? 0 : utf8_put(buf, r);

		if (!str_starts(str_sub(key, at, key.n), (struct str){ buf, (size_t)n }))
			return false;
		at += (size_t)n;
	}
	return at == key.n;
}

struct str
json_raw(struct str text, const char *key)
{
	struct str k, v, found = STR_NULL, want = str_c(key);
	size_t pos = 0;

	while (json_raw_member(text, &pos, &k, &v))
		if (key_is(k, want))
			found = v; /* the last of equal keys wins, as in json_read */
	return found;
}
