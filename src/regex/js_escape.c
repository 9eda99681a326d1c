/*
 * js_escape: what a backslash means, and classes. Without flag u an unknown escape is the letter
 * itself; with it most are errors. Halves of surrogate pairs: two escapes that make a pair are one
 * character outside classes (decisions 40), inside them each is a member.
 */
#include "regex/js_parse.h"

#include "base/utf8.h"

#include <ctype.h>

static int
hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Exactly n hex digits; moves only if they are there. */
static bool
hex_digits(struct js_parser *p, size_t n, uint32_t *out)
{
	uint32_t v = 0;

	if (p->src.n - p->pos < n)
		return false;
	for (size_t i = 0; i < n; i++) {
		int d = hex_value(p->src.p[p->pos + i]);

		if (d < 0)
			return false;
		v = v << 4 | (uint32_t)d;
	}
	p->pos += n;
	*out = v;
	return true;
}

static bool
is_high(uint32_t r)
{
	return r >= 0xd800 && r <= 0xdbff;
}

static bool
is_low(uint32_t r)
{
	return r >= 0xdc00 && r <= 0xdfff;
}

bool
js_unicode_escape(struct js_parser *p, bool braces, uint32_t *rune)
{
	size_t start = p->pos;
	uint32_t low, v = 0;
	int d;

	if (braces && js_take(p, "{")) {
		size_t digits = p->pos;

		for (; p->pos < p->src.n && (d = hex_value(p->src.p[p->pos])) >= 0 && v <= RUNE_MAX; p->pos++)
			v = v << 4 | (uint32_t)d;
		if (p->pos > digits && v <= RUNE_MAX && js_take(p, "}")) {
			*rune = v;
			return true;
		}
		p->pos = start;
		return false;
	}
	if (!hex_digits(p, 4, rune))
		return false;
	if (braces && is_high(*rune) && js_at(p, "\\u")) {
		size_t back = p->pos;

		p->pos += 2;
		if (hex_digits(p, 4, &low) && is_low(low))
			*rune = 0x10000 + ((*rune - 0xd800) << 10) + (low - 0xdc00);
		else
			p->pos = back;
	}
	return true;
}

/* Old octal escapes: up to three digits, 377 at most. */
static uint32_t
octal(struct js_parser *p)
{
	uint32_t v = 0;

	for (int i = 0; i < 3 && p->pos < p->src.n; i++) {
		char c = p->src.p[p->pos];

		if (c < '0' || c > '7' || v * 8 + (uint32_t)(c - '0') > 0377)
			break;
		v = v * 8 + (uint32_t)(c - '0');
		p->pos++;
	}
	return v;
}

static bool
control_escape(struct js_parser *p, bool in_class, uint32_t *rune)
{
	char c = p->pos < p->src.n ? p->src.p[p->pos] : '\0';

	if (isalpha((unsigned char)c) ||
	    (in_class && !p->out->unicode && (isdigit((unsigned char)c) || c == '_'))) {
		*rune = (uint32_t)c & 31;
		p->pos++;
		return true;
	}
	if (p->out->unicode)
		return js_fail(p, REGEX_SYNTAX, p->pos, "bad escape"), false;
	p->pos--; /* a backslash by itself, and the letter c after it */
	*rune = '\\';
	return true;
}

/*
 * An escape that stands for one character; p->pos is behind the backslash. False with an error
 * recorded if it is none. \b and class letters are not looked at here.
 */
static bool
char_escape(struct js_parser *p, bool in_class, uint32_t *rune)
{
	static const char controls[] = "f\fn\nr\rt\tv\v";
	bool u = p->out->unicode;
	size_t start = p->pos;
	uint32_t r;

	if (p->pos >= p->src.n)
		return js_fail(p, REGEX_SYNTAX, start, "\\ at end of pattern"), false;
	r = utf8_next(p->src, &p->pos);
	for (size_t i = 0; controls[i] != '\0'; i += 2)
		if (r == (uint32_t)controls[i]) {
			*rune = (uint32_t)controls[i + 1];
			return true;
		}
	if (r == 'c')
		return control_escape(p, in_class, rune);
	if (r == 'x' && hex_digits(p, 2, rune))
		return true;
	if (r == 'u' && js_unicode_escape(p, u, rune))
		return true;
	if (r >= '0' && r <= '9') {
		bool more = p->pos < p->src.n && isdigit((unsigned char)p->src.p[p->pos]);

		if (u && (r != '0' || more))
			return js_fail(p, REGEX_SYNTAX, start, "bad escape"), false;
		*rune = r;
		if (r <= '7') {
			p->pos = start;
			*rune = octal(p);
		}
		return true;
	}
	if (u && (r > 127 || strchr("^$\\.*+?()[]{}|/", (int)r) == NULL) && !(in_class && r == '-'))
		return js_fail(p, REGEX_SYNTAX, start, "bad escape"), false;
	*rune = r;
	return true;
}

/* \p{…} or \P{…} with flag u; p->pos is behind the letter. */
static bool
property(struct js_parser *p, bool inverted, struct js_property_item *out)
{
	size_t start = p->pos, end = str_chr(p->src, '}', p->pos);

	if (!js_at(p, "{") || end == STR_NPOS)
		return js_fail(p, REGEX_SYNTAX, start, "bad property name"), false;
	out->name = js_property(p->a, str_sub(p->src, start + 1, end), &out->invert);
	if (out->name.p == NULL)
		return js_fail(p, REGEX_SYNTAX, start, "bad property name"), false;
	out->invert = out->invert != inverted;
	p->pos = end + 1;
	return true;
}

/* \d \D \s \S \w \W and \p \P at the letter: added to the class; false if it is none of them. */
static bool
class_escape(struct js_parser *p, struct js_class *cls)
{
	char c = p->pos < p->src.n ? p->src.p[p->pos] : '\0';
	bool fold = p->out->unicode && (p->flags & REGEX_I);
	struct js_property_item item;

	if (c != '\0' && strchr("dDsSwW", c) != NULL) {
		p->pos++;
		js_set_escape(p->a, &cls->set, c, fold);
		return true;
	}
	if (!p->out->unicode || (c | 0x20) != 'p')
		return false;
	p->pos++;
	if (property(p, c == 'P', &item))
		vec_push(p->a, &cls->properties, item);
	return true;
}

static void
char_node(struct js_parser *p, struct js_node *n, uint32_t rune)
{
	uint32_t low;
	size_t back = p->pos;

	if (!p->out->unicode && is_high(rune) && js_take(p, "\\u")) {
		if (hex_digits(p, 4, &low) && is_low(low))
			rune = 0x10000 + ((rune - 0xd800) << 10) + (low - 0xdc00);
		else
			p->pos = back;
	}
	n->type = JS_CHAR;
	n->rune = rune;
	if (is_high(rune) || is_low(rune))
		n->escaped_half = p->out->halves = true;
}

/* \1 …: a group if the pattern has that many, else an old octal or the digit itself. */
static bool
back_reference(struct js_parser *p, struct js_node *n)
{
	size_t start = p->pos;
	long v = 0;

	while (p->pos < p->src.n && isdigit((unsigned char)p->src.p[p->pos])) {
		if (v <= JS_GROUPS_MAX)
			v = v * 10 + (p->src.p[p->pos] - '0');
		p->pos++;
	}
	if (v <= p->groups) {
		n->type = JS_BACKREF;
		n->group = (int)v;
		return true;
	}
	p->pos = start;
	if (p->out->unicode)
		js_fail(p, REGEX_SYNTAX, start, "no such group");
	return false;
}

/* At a backslash outside a class. */
struct js_node *
js_parse_escape(struct js_parser *p)
{
	struct js_node *n = js_node_new(p, JS_CHAR);
	struct js_class cls = { 0 };
	char c = ++p->pos < p->src.n ? p->src.p[p->pos] : '\0';
	uint32_t rune;

	if (c == 'b' || c == 'B') {
		p->pos++;
		n->type = c == 'b' ? JS_WORD : JS_NOT_WORD;
		return n;
	}
	if (c >= '1' && c <= '9' && back_reference(p, n))
		return n;
	if (c == 'k' && (p->has_names || p->out->unicode)) {
		p->pos++;
		n->type = JS_BACKREF;
		if (!js_take(p, "<"))
			js_fail(p, REGEX_SYNTAX, p->pos, "bad named reference");
		else if (js_group_name(p, &n->name) == 0)
			vec_push(p->a, &p->named_refs, n->name);
		return n;
	}
	if (class_escape(p, &cls)) {
		n->type = JS_CLASS;
		n->cls = arena_copy(p->a, &cls, sizeof cls);
		return n;
	}
	if (p->err->fault == REGEX_OK && char_escape(p, false, &rune))
		char_node(p, n, rune);
	return n;
}

/* One member of a class. 1: a character in *rune, 0: a set that was added, -1: error. */
static int
class_atom(struct js_parser *p, struct js_class *cls, uint32_t *rune)
{
	if (!js_take(p, "\\")) {
		*rune = utf8_next(p->src, &p->pos);
		return 1;
	}
	if (js_take(p, "b")) {
		*rune = '\b';
		return 1;
	}
	if (class_escape(p, cls))
		return p->err->fault == REGEX_OK ? 0 : -1;
	if (!char_escape(p, true, rune))
		return -1;
	if (is_high(*rune) || is_low(*rune))
		p->out->halves = true;
	return 1;
}

static int
class_range(struct js_parser *p, struct js_class *cls, uint32_t lo, uint32_t hi, size_t at)
{
	/* without flag u an astral end is its two halves, and such a range always runs backwards */
	if (hi < lo || (!p->out->unicode && (lo > 0xffff || hi > 0xffff)))
		return js_fail(p, REGEX_SYNTAX, at, "range out of order");
	js_set_add(p->a, &cls->set, lo, hi);
	return 0;
}

static int
class_member(struct js_parser *p, struct js_class *cls)
{
	size_t start = p->pos;
	uint32_t lo, hi;
	int first = class_atom(p, cls, &lo), second;

	if (first < 0)
		return -1;
	if (!js_at(p, "-") || p->pos + 1 >= p->src.n || p->src.p[p->pos + 1] == ']') {
		if (first == 1)
			js_set_add(p->a, &cls->set, lo, lo);
		return 0;
	}
	p->pos++;
	second = class_atom(p, cls, &hi);
	if (second < 0)
		return -1;
	if (first == 1 && second == 1)
		return class_range(p, cls, lo, hi, start);
	if (p->out->unicode)
		return js_fail(p, REGEX_SYNTAX, start, "bad range");
	js_set_add(p->a, &cls->set, '-', '-'); /* next to a set the dash is a member */
	if (first == 1)
		js_set_add(p->a, &cls->set, lo, lo);
	if (second == 1)
		js_set_add(p->a, &cls->set, hi, hi);
	return 0;
}

/* At "[". */
struct js_node *
js_parse_class(struct js_parser *p)
{
	struct js_node *n = js_node_new(p, JS_CLASS);
	size_t start = p->pos++, members = 0;

	n->cls = arena_new(p->a, struct js_class);
	n->cls->negated = js_take(p, "^");
	while (p->err->fault == REGEX_OK) {
		if (p->pos >= p->src.n)
			js_fail(p, REGEX_SYNTAX, start, "unterminated class");
		else if (js_take(p, "]"))
			break;
		else if (++members > JS_CLASS_MAX)
			js_fail(p, REGEX_TOO_BIG, start, "class too big");
		else
			class_member(p, n->cls);
	}
	return n;
}
