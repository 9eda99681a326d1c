/*
 * json: reading texts into json-c's objects, and access to them. The grammar is read here and
 * not by json-c's tokener, whose strict mode still lets NaN and raw control characters through,
 * cuts keys at a NUL and saturates big integers. json-c gives counted nodes and ordered,
 * seeded hash tables. No other file includes its headers.
 */
#include "base/json.h"

#include "base/utf8.h"

#include <assert.h>
#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* json-c uses some of our names as tags and type names. */
#define json_bool jsonc_bool
#define json_object jsonc_object
#define json_type jsonc_type
#include <json-c/json_object.h>
#include <json-c/linkhash.h>
#undef json_bool
#undef json_object
#undef json_type

typedef struct jsonc_object node;

static node *
in(const struct json *j)
{
	return (node *)(uintptr_t)j;
}

static struct json *
out(node *n)
{
	return (struct json *)(void *)n;
}

static node *
must(node *n)
{
	if (!n) {
		log_error("json.out_of_memory", "%s", "");
		abort();
	}
	return n;
}

static void
node_put(void *n)
{
	json_object_put(n);
}

static node *
new_string(struct str v)
{
	assert(v.n <= INT_MAX);
	return must(json_object_new_string_len(v.n ? v.p : "", (int)v.n));
}

/* A double with the text it prints as. */
static node *
new_double(double v)
{
	char text[DOUBLE_TEXT];

	if (!isfinite(v))
		return NULL; /* as JSON.stringify */
	sb_print_double(text, v);
	return must(json_object_new_double_s(v, text));
}

static void
set(node *o, const char *key, node *v)
{
	if (json_object_object_add(o, key, v) != 0)
		must(NULL);
}

static void
push(node *arr, node *v)
{
	if (json_object_array_add(arr, v) != 0)
		must(NULL);
}

/* Reading. */

struct parser {
	struct str s;
	size_t at;
	int depth;         /* containers that may still be opened */
	struct sb scratch; /* a stack: keys of the open objects, the string being read */
	const char *what;  /* of the first fault, which is at `at` */
};

static bool parse_value(struct parser *p, node **v);

static bool
fault(struct parser *p, size_t at, const char *what)
{
	p->at = at;
	p->what = what;
	return false;
}

static bool
unexpected(struct parser *p)
{
	return fault(p, p->at, p->at < p->s.n ? "unexpected character" : "unexpected end");
}

/* The next byte, 0 at the end (a NUL byte is nowhere allowed). */
static char
peek(const struct parser *p)
{
	return p->at < p->s.n ? p->s.p[p->at] : '\0';
}

static char
peek_token(struct parser *p)
{
	while (peek(p) == ' ' || peek(p) == '\t' || peek(p) == '\n' || peek(p) == '\r')
		p->at++;
	return peek(p);
}

static bool
read_hex4(struct parser *p, uint32_t *v)
{
	*v = 0;
	for (int i = 0; i < 4; i++) {
		char c = peek(p);
		int digit = c >= '0' && c <= '9'   ? c - '0'
			    : c >= 'a' && c <= 'f' ? c - 'a' + 10
			    : c >= 'A' && c <= 'F' ? c - 'A' + 10
						   : -1;

		if (digit < 0)
			return fault(p, p->at, "bad \\u escape");
		*v = *v << 4 | (uint32_t)digit;
		p->at++;
	}
	return true;
}

/* After "\u". A surrogate without its other half becomes U+FFFD. */
static bool
read_unicode_escape(struct parser *p, bool key)
{
	size_t from = p->at - 2, second;
	uint32_t r, low;

	if (!read_hex4(p, &r))
		return false;
	if (r == 0)
		return key ? fault(p, from, "NUL in a key") : true;
	second = p->at;
	if (r >= 0xd800 && r < 0xdc00 && p->s.n - second >= 6 && p->s.p[second] == '\\' &&
	    p->s.p[second + 1] == 'u') {
		p->at += 2;
		if (!read_hex4(p, &low))
			return false;
		if (low >= 0xdc00 && low < 0xe000)
			r = 0x10000 + ((r - 0xd800) << 10) + (low - 0xdc00);
		else
			p->at = second; /* an escape of its own */
	}
	sb_add_rune(&p->scratch, r);
	return true;
}

static bool
read_escape(struct parser *p, bool key)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *hit;
	char c;

	p->at++;
	c = peek(p);
	hit = c ? strchr(from, c) : NULL;
	if (hit) {
		sb_addc(&p->scratch, to[hit - from]);
		p->at++;
		return true;
	}
	if (c != 'u')
		return fault(p, p->at, p->at < p->s.n ? "bad escape" : "unexpected end");
	p->at++;
	return read_unicode_escape(p, key);
}

/* At the opening quote; appends the text to the scratch. */
static bool
read_string(struct parser *p, bool key)
{
	size_t from = ++p->at;

	while (p->at < p->s.n) {
		unsigned char c = (unsigned char)p->s.p[p->at];

		if (c >= 0x80) {
			size_t at = p->at;

			if (utf8_next(p->s, &p->at) == RUNE_BAD && p->at - at == 1)
				return fault(p, at, "invalid UTF-8");
		} else if (c == '"' || c == '\\') {
			sb_add(&p->scratch, str_sub(p->s, from, p->at));
			if (c == '"') {
				p->at++;
				return true;
			}
			if (!read_escape(p, key))
				return false;
			from = p->at;
		} else if (c < 0x20) {
			return fault(p, p->at, "control character in a string");
		} else {
			p->at++;
		}
	}
	return fault(p, p->at, "unterminated string");
}

static bool
parse_string(struct parser *p, node **v)
{
	size_t base = p->scratch.n;

	if (!read_string(p, false))
		return false;
	*v = new_string(str_sub(sb_str(&p->scratch), base, p->scratch.n));
	sb_truncate(&p->scratch, base);
	return true;
}

static size_t
skip_digits(struct parser *p)
{
	size_t from = p->at;

	while (peek(p) >= '0' && peek(p) <= '9')
		p->at++;
	return p->at - from;
}

/* Value of a number that is no int64 or uint64. Beyond the doubles: the largest one. */
static double
to_double(const char *text)
{
	double d;

	if (!str_double(str_c(text), &d)) /* overflow, or too many digits for it */
		d = strtod(text, NULL);
	return isfinite(d) ? d : d < 0 ? -DBL_MAX : DBL_MAX;
}

static node *
new_number(struct parser *p, struct str text, bool integer)
{
	size_t base = p->scratch.n;
	struct str z;
	uint64_t u = 0;
	int64_t i;
	node *n;

	if (integer && str_int(text, &i) && !str_is(text, "-0"))
		return must(json_object_new_int64(i));
	sb_add(&p->scratch, text);
	z = str_sub(sb_str(&p->scratch), base, p->scratch.n);
	if (integer && text.p[0] != '-' && text.n <= 20)
		u = strtoull(z.p, NULL, 10); /* saturates at what needs 20 digits: told by printing it */
	n = u > INT64_MAX && u < UINT64_MAX ? json_object_new_uint64(u)
					    : json_object_new_double_s(to_double(z.p), z.p);
	sb_truncate(&p->scratch, base);
	return must(n);
}

static bool
parse_number(struct parser *p, node **v)
{
	size_t from = p->at;
	bool integer = true;

	if (peek(p) == '-')
		p->at++;
	if (peek(p) == '0')
		p->at++;
	else if (!skip_digits(p))
		return unexpected(p);
	if (peek(p) == '.') {
		integer = false;
		p->at++;
		if (!skip_digits(p))
			return unexpected(p);
	}
	if (peek(p) == 'e' || peek(p) == 'E') {
		integer = false;
		p->at++;
		if (peek(p) == '+' || peek(p) == '-')
			p->at++;
		if (!skip_digits(p))
			return unexpected(p);
	}
	*v = new_number(p, str_sub(p->s, from, p->at), integer);
	return true;
}

static bool
parse_word(struct parser *p, const char *word)
{
	struct str w = str_c(word), have = str_sub(p->s, p->at, p->at + w.n);

	if (!str_eq(have, w))
		return unexpected(p);
	p->at += w.n;
	return true;
}

/* After an element: true at a comma (consumed), false at `close` (consumed) or a fault. */
static bool
more(struct parser *p, char close)
{
	char c = peek_token(p);

	if (c != ',' && c != close)
		return unexpected(p);
	p->at++;
	return c == ',';
}

static bool
parse_array(struct parser *p, node *arr)
{
	p->at++;
	if (peek_token(p) == ']') {
		p->at++;
		return true;
	}
	do {
		node *v = NULL;
		bool ok = parse_value(p, &v);

		push(arr, v);
		if (!ok)
			return false;
	} while (more(p, ']'));
	return !p->what;
}

static bool
parse_member(struct parser *p, node *o)
{
	size_t base = p->scratch.n;
	node *v = NULL;
	bool ok;

	if (peek_token(p) != '"')
		return unexpected(p);
	if (!read_string(p, true))
		return false;
	sb_addc(&p->scratch, '\0');
	if (peek_token(p) != ':')
		return unexpected(p);
	p->at++;
	ok = parse_value(p, &v);
	set(o, p->scratch.p + base, v);
	sb_truncate(&p->scratch, base);
	return ok;
}

static bool
parse_object(struct parser *p, node *o)
{
	p->at++;
	if (peek_token(p) == '}') {
		p->at++;
		return true;
	}
	do {
		if (!parse_member(p, o))
			return false;
	} while (more(p, '}'));
	return !p->what;
}

static bool
parse_container(struct parser *p, node **v)
{
	bool array = peek(p) == '[', ok;

	if (p->depth == 0)
		return fault(p, p->at, "nested too deep");
	p->depth--;
	*v = must(array ? json_object_new_array() : json_object_new_object());
	ok = array ? parse_array(p, *v) : parse_object(p, *v);
	p->depth++;
	return ok;
}

static bool
parse_value(struct parser *p, node **v)
{
	switch (peek_token(p)) {
	case '{':
	case '[':
		return parse_container(p, v);
	case '"':
		return parse_string(p, v);
	case 't':
		*v = must(json_object_new_boolean(1));
		return parse_word(p, "true");
	case 'f':
		*v = must(json_object_new_boolean(0));
		return parse_word(p, "false");
	case 'n':
		return parse_word(p, "null");
	default:
		return parse_number(p, v);
	}
}

static struct json_error
locate(const struct parser *p)
{
	struct json_error e = { .offset = p->at, .line = 1, .what = p->what };
	size_t start = 0;

	for (size_t i = 0; i < p->at; i++) {
		if (p->s.p[i] == '\n') {
			e.line++;
			start = i + 1;
		}
	}
	e.column = (int)utf8_runes(str_sub(p->s, start, p->at)) + 1;
	return e;
}

struct json *
json_read(struct arena *a, struct str text, int depth, struct json_error *err)
{
	struct arena_mark mark = arena_mark(a);
	struct parser p = { .s = text, .depth = depth, .scratch = sb_new(a) };
	node *root = NULL;
	bool ok = parse_value(&p, &root);

	if (ok && (peek_token(&p), p.at < text.n))
		ok = unexpected(&p);
	*err = ok ? (struct json_error){ 0 } : locate(&p);
	arena_rewind(a, mark);
	if (!ok) {
		json_object_put(root);
		return NULL;
	}
	return out(arena_defer(a, node_put, root));
}

/* Access. */

enum json_type
json_type(const struct json *j)
{
	switch (json_object_get_type(in(j))) {
	case json_type_boolean:
		return JSON_BOOL;
	case json_type_double:
		return JSON_DOUBLE;
	case json_type_int:
		return JSON_INT;
	case json_type_object:
		return JSON_OBJECT;
	case json_type_array:
		return JSON_ARRAY;
	case json_type_string:
		return JSON_STRING;
	case json_type_null:
		break;
	}
	return JSON_NULL;
}

static bool
lookup(const struct json *o, const char *key, node **v)
{
	*v = NULL;
	return json_type(o) == JSON_OBJECT && json_object_object_get_ex(in(o), key, v);
}

bool
json_has(const struct json *o, const char *key)
{
	node *v;

	return lookup(o, key, &v);
}

struct json *
json_get(const struct json *o, const char *key)
{
	node *v;

	lookup(o, key, &v);
	return out(v);
}

/* NUL-terminated copy of a key, in buf if it is short (most are). */
#define KEY_STACK 256

static char *
key_z(struct str key, char buf[KEY_STACK])
{
	char *z = key.n < KEY_STACK ? buf : malloc(key.n + 1);

	if (!z)
		must(NULL);
	if (key.n)
		memcpy(z, key.p, key.n);
	z[key.n] = '\0';
	return z;
}

struct json *
json_get_s(const struct json *o, struct str key)
{
	char buf[KEY_STACK], *z = key_z(key, buf);
	struct json *v = json_get(o, z);

	if (z != buf)
		free(z);
	return v;
}

struct json *
json_at(const struct json *arr, size_t i)
{
	return json_type(arr) == JSON_ARRAY ? out(json_object_array_get_idx(in(arr), i)) : NULL;
}

size_t
json_len(const struct json *j)
{
	enum json_type t = json_type(j);

	return t == JSON_ARRAY    ? json_object_array_length(in(j))
	       : t == JSON_OBJECT ? (size_t)json_object_object_length(in(j))
				  : 0;
}

bool
json_next(const struct json *o, struct json_iter *it, struct str *key_out, struct json **value_out)
{
	struct lh_entry *e = it->at;

	if (!it->begun) {
		it->begun = true;
		e = json_type(o) == JSON_OBJECT ? json_object_get_object(in(o))->head : NULL;
	}
	if (!e)
		return false;
	it->at = e->next; /* now: the caller may delete this member */
	if (key_out)
		*key_out = str_c(lh_entry_k(e));
	if (value_out)
		*value_out = lh_entry_v(e);
	return true;
}

struct str
json_str(const struct json *j)
{
	if (json_type(j) != JSON_STRING)
		return STR_NULL;
	return (struct str){ json_object_get_string(in(j)), (size_t)json_object_get_string_len(in(j)) };
}

int64_t
json_int(const struct json *j, int64_t dflt)
{
	double d;

	if (json_type(j) == JSON_INT)
		return json_object_get_int64(in(j)); /* saturates above INT64_MAX */
	if (json_type(j) != JSON_DOUBLE)
		return dflt;
	d = json_object_get_double(in(j));
	return d >= 0x1p63 ? INT64_MAX : d < -0x1p63 ? INT64_MIN : (int64_t)d;
}

double
json_double(const struct json *j, double dflt)
{
	enum json_type t = json_type(j);

	return t == JSON_INT || t == JSON_DOUBLE ? json_object_get_double(in(j)) : dflt;
}

bool
json_bool(const struct json *j, bool dflt)
{
	return json_type(j) == JSON_BOOL ? json_object_get_boolean(in(j)) != 0 : dflt;
}

struct str
json_number(const struct json *j, char buf[DOUBLE_TEXT])
{
	int n;

	if (json_type(j) == JSON_DOUBLE)
		return str_c(json_object_get_userdata(in(j)));
	if (json_type(j) != JSON_INT)
		return STR_NULL;
	if (json_object_get_int64(in(j)) == INT64_MAX) /* or more */
		n = snprintf(buf, DOUBLE_TEXT, "%" PRIu64, json_object_get_uint64(in(j)));
	else
		n = snprintf(buf, DOUBLE_TEXT, "%" PRId64, json_object_get_int64(in(j)));
	return (struct str){ buf, (size_t)n };
}

/* Building. Whoever holds a node counts: the arena for roots, a parent for each child. */

static struct json *
root(struct arena *a, node *n)
{
	return out(arena_defer(a, node_put, n));
}

struct json *
json_object(struct arena *a)
{
	return root(a, must(json_object_new_object()));
}

struct json *
json_array(struct arena *a)
{
	return root(a, must(json_object_new_array()));
}

struct json *
json_string(struct arena *a, struct str v)
{
	return v.p ? root(a, new_string(v)) : NULL;
}

struct json *
json_integer(struct arena *a, int64_t v)
{
	return root(a, must(json_object_new_int64(v)));
}

struct json *
json_boolean(struct arena *a, bool v)
{
	return root(a, must(json_object_new_boolean(v)));
}

struct json *
json_copy(struct arena *a, const struct json *j)
{
	node *n = NULL;

	if (!j)
		return NULL;
	if (json_object_deep_copy(in(j), &n, NULL) != 0)
		must(NULL);
	return root(a, n);
}

void
json_set(struct json *o, const char *key, const struct json *v)
{
	set(in(o), key, json_object_get(in(v)));
}

void
json_set_s(struct json *o, struct str key, const struct json *v)
{
	char buf[KEY_STACK], *z = key_z(key, buf);

	json_set(o, z, v);
	if (z != buf)
		free(z);
}

void
json_set_str(struct json *o, const char *key, struct str v)
{
	set(in(o), key, v.p ? new_string(v) : NULL);
}

void
json_set_c(struct json *o, const char *key, const char *v)
{
	json_set_str(o, key, str_c(v));
}

void
json_set_int(struct json *o, const char *key, int64_t v)
{
	set(in(o), key, must(json_object_new_int64(v)));
}

void
json_set_double(struct json *o, const char *key, double v)
{
	set(in(o), key, new_double(v));
}

void
json_set_bool(struct json *o, const char *key, bool v)
{
	set(in(o), key, must(json_object_new_boolean(v)));
}

void
json_del(struct json *o, const char *key)
{
	json_object_object_del(in(o), key);
}

struct json *
json_set_object(struct json *o, const char *key)
{
	node *n = must(json_object_new_object());

	set(in(o), key, n);
	return out(n);
}

struct json *
json_set_array(struct json *o, const char *key)
{
	node *n = must(json_object_new_array());

	set(in(o), key, n);
	return out(n);
}

void
json_push(struct json *arr, const struct json *v)
{
	push(in(arr), json_object_get(in(v)));
}

void
json_push_str(struct json *arr, struct str v)
{
	push(in(arr), v.p ? new_string(v) : NULL);
}

void
json_push_int(struct json *arr, int64_t v)
{
	push(in(arr), must(json_object_new_int64(v)));
}

struct json *
json_push_object(struct json *arr)
{
	node *n = must(json_object_new_object());

	push(in(arr), n);
	return out(n);
}

struct json *
json_push_array(struct json *arr)
{
	node *n = must(json_object_new_array());

	push(in(arr), n);
	return out(n);
}
