/* head: see head.h. */
#include "event/head.h"

#include "base/utf8.h"

#define AT(member) offsetof(struct head, member)

static const struct {
	const char *name;
	size_t at;
} wanted[] = {
	{ "host", AT(host) },
	{ "origin", AT(origin) },
	{ "upgrade", AT(upgrade) },
	{ "connection", AT(connection) },
	{ "sec-websocket-key", AT(ws_key) },
	{ "sec-websocket-version", AT(ws_version) },
	{ "x-api-key", AT(api_key) },
	{ "authorization", AT(authorization) },
	{ "last-event-id", AT(last_event_id) },
	{ "x-tavernd-remote", AT(remote_addr) },
	{ "x-tavernd-server", AT(server_addr) },
};

static bool
is_token(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] <= ' ' || s.p[i] >= 0x7F || strchr("()<>@,;:\\\"/[]?={}", s.p[i]) != NULL)
			return false;
	return s.n > 0;
}

/* Bytes that a header value or a target may have: none that end a line or a text. */
static bool
is_clean(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (((unsigned char)s.p[i] < ' ' && s.p[i] != '\t') || s.p[i] == 0x7F)
			return false;
	return true;
}

/* "GET /path?query HTTP/1.1" */
static enum head_result
first_line(struct str line, struct head *out)
{
	struct str method, target;
	size_t mark;

	if (!str_next(&line, ' ', &method) || !str_next(&line, ' ', &target) || !is_token(method) || !is_clean(target))
		return HEAD_BAD;
	if (target.n == 0 || target.p[0] != '/' || !(str_is(line, "HTTP/1.1") || str_is(line, "HTTP/1.0")))
		return HEAD_BAD;
	if (!str_is(method, "GET"))
		return HEAD_METHOD;
	mark = str_chr(target, '?', 0);
	out->path = str_sub(target, 0, mark);
	out->query = mark == STR_NPOS ? STR("") : str_sub(target, mark + 1, target.n);
	return HEAD_GOOD;
}

static bool
header_line(struct str line, struct head *out)
{
	size_t colon = str_chr(line, ':', 0);
	struct str name = str_sub(line, 0, colon), value;

	if (colon == STR_NPOS || !is_token(name)) /* also a folded line: it begins with a blank */
		return false;
	value = str_trim(str_sub(line, colon + 1, line.n));
	if (!is_clean(value))
		return false;
	if (str_ieq(name, STR("transfer-encoding")) || (str_ieq(name, STR("content-length")) && !str_is(value, "0")))
		out->has_body = true;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		struct str *to = (struct str *)((char *)out + wanted[i].at);

		if (!str_ieq(name, str_c(wanted[i].name)))
			continue;
		if (to->p != NULL)
			return false; /* twice: which of them counts is a matter of taste */
		*to = value.p != NULL ? value : STR("");
	}
	return true;
}

/* See head.h. */
enum head_result
head_read(struct str in, struct head *out)
{
	size_t end = str_find(in, STR("\r\n\r\n"), 0);
	struct str rest = str_sub(in, 0, end), line;
	enum head_result rc = HEAD_BAD;

	*out = (struct head){ 0 };
	if (end == STR_NPOS)
		return HEAD_MORE;
	for (bool first = true; str_next(&rest, '\n', &line); first = false) {
		if (rest.p != NULL) { /* not the last one: its \r was cut off with the end */
			if (line.n == 0 || line.p[line.n - 1] != '\r')
				return HEAD_BAD;
			line.n--;
		}
		if (first)
			rc = first_line(line, out);
		else if (!header_line(line, out))
			rc = HEAD_BAD;
		if (rc != HEAD_GOOD)
			return rc;
	}
	return rc;
}

static int
hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

static struct str
decoded(struct arena *a, struct str s)
{
	char *out = arena_alloc(a, s.n + 1);
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '%') {
			int hi = i + 2 < s.n ? hex_digit(s.p[i + 1]) : -1, lo = hi < 0 ? -1 : hex_digit(s.p[i + 2]);

			if (hi < 0 || lo < 0)
				return STR_NULL;
			out[n++] = (char)(hi << 4 | lo);
			i += 2;
		} else
			out[n++] = s.p[i] == '+' ? ' ' : s.p[i];
	}
	if (!utf8_valid((struct str){ out, n }) || memchr(out, '\0', n) != NULL)
		return STR_NULL;
	return (struct str){ out, n };
}

/* See head.h. */
struct str
head_param(struct arena *a, struct str query, const char *name)
{
	struct str pair, found = STR_NULL;

	while (str_next(&query, '&', &pair)) {
		size_t eq = str_chr(pair, '=', 0);

		if (str_is(str_sub(pair, 0, eq), name))
			found = eq == STR_NPOS ? STR("") : str_sub(pair, eq + 1, pair.n);
	}
	return found.p == NULL ? STR_NULL : decoded(a, found);
}

/* See head.h. */
bool
head_has(struct str header, const char *word)
{
	struct str item;

	while (str_next(&header, ',', &item))
		if (str_ieq(str_trim(item), str_c(word)))
			return true;
	return false;
}
