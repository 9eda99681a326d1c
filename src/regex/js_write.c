/*
 * js_write: writes a JavaScript pattern as a PCRE2 pattern that finds the same spans. Texts are
 * searched as code points with flag u, and as units without it (regex.c prepares the text), so an
 * astral character is written as its two halves there. Never uses PCRE2's own MULTILINE, dot or
 * \s, whose line ends and blanks are others; its case folding only where it is JavaScript's.
 */
#include "regex/js.h"

#include "base/sb.h"

#include <ctype.h>

#define FOLDED_WORD "[\\w\\x{17f}\\x{212a}]"
#define NOT_LINE_END "[^\\n\\r\\x{2028}\\x{2029}]"

enum { BEHINDS_MAX = 200, LENGTH_MAX = 60000, PAIRS_MAX = 400 };

struct writer {
	struct arena *a;
	const struct js_pattern *pat;
	struct js_program *prog;
	struct regex_error *err;
	struct sb out;
	int count;    /* PCRE2 groups so far */
	bool fold_on; /* (?i) holds at this point */
	bool reverse; /* the text runs backwards: the inside of an open look-behind */
	bool *closed; /* [groups + 1]: written to its end */
};

static void
unsupported(struct writer *w, const char *what)
{
	if (w->err->fault == REGEX_OK)
		*w->err = (struct regex_error){ .fault = REGEX_UNSUPPORTED, .what = what };
}

/* ---- lengths ---- */

static int length(const struct writer *w, const struct js_node *n);

static int
length_alt(const struct writer *w, const struct js_node *n)
{
	int len = length(w, n->child);

	for (const struct js_node *c = n->child->next; c != NULL; c = c->next)
		if (length(w, c) != len)
			return -1;
	return len;
}

static int
length_class(const struct writer *w, const struct js_class *c)
{
	uint32_t top = c->set.r.n > 0 ? c->set.r.v[c->set.r.n - 1].hi : 0;

	return w->pat->unicode || top <= 0xffff || js_set_has(&c->set, 0xd800) ? 1 : -1;
}

/* Characters of the searched text that a node matches, -1 if that is open. */
static int
length(const struct writer *w, const struct js_node *n)
{
	int sum = 0, len;

	switch (n->type) {
	case JS_CHAR:
		return !w->pat->unicode && n->rune > 0xffff ? 2 : 1;
	case JS_ANY:
		return 1;
	case JS_CLASS:
		return length_class(w, n->cls);
	case JS_GROUP:
		return length(w, n->child);
	case JS_ALT:
		return length_alt(w, n);
	case JS_REPEAT:
		len = n->min == n->max ? length(w, n->child) : -1;
		return len < 0 || len * (int64_t)n->min > LENGTH_MAX ? -1 : len * n->min;
	case JS_CAT:
		for (const struct js_node *c = n->child; c != NULL; c = c->next) {
			len = length(w, c);
			if (len < 0 || (sum += len) > LENGTH_MAX)
				return -1;
		}
		return sum;
	case JS_BACKREF:
		return -1;
	case JS_START:
	case JS_END:
	case JS_WORD:
	case JS_NOT_WORD:
	case JS_LOOK:
		break;
	}
	return 0;
}

/* PCRE2 wants one length for each alternative of a look-behind. */
static bool
fixed(const struct writer *w, const struct js_node *behind)
{
	const struct js_node *child = behind->child;

	if (child->type != JS_ALT)
		return length(w, child) >= 0;
	for (const struct js_node *c = child->child; c != NULL; c = c->next)
		if (length(w, c) < 0)
			return false;
	return true;
}

/* ---- numbering ---- */

/* Is there a group inside that a turn may leave unset? `sure`: everything down to here takes part in each
 * turn. */
static bool
skippable(const struct js_node *n, bool sure)
{
	if (n->type == JS_GROUP && n->group > 0 && !sure)
		return true;
	if (n->type == JS_ALT || n->type == JS_LOOK || (n->type == JS_REPEAT && n->min == 0))
		sure = false;
	for (const struct js_node *c = n->child; c != NULL; c = c->next)
		if (skippable(c, sure))
			return true;
	return false;
}

static void
assign(struct writer *w, struct js_node *n, int marker)
{
	bool many = n->type == JS_REPEAT && (n->max == JS_INF || n->max > 1);

	if (n->type == JS_LOOK && n->behind && !fixed(w, n))
		return;
	if (many && skippable(n->child, true)) {
		vec_push(
		    w->a, &w->prog->markers, ((struct js_marker){ .number = ++w->count, .outer = marker }));
		marker = (int)w->prog->markers.n;
		n->marker = w->count;
	}
	if (n->type == JS_GROUP && n->group > 0)
		w->prog->group[n->group] = (struct js_group){ .number = ++w->count, .marker = marker };
	for (struct js_node *c = n->child; c != NULL; c = c->next)
		assign(w, c, marker);
}

/* ---- characters and classes ---- */

static void
fold(struct writer *w, bool on)
{
	if (w->fold_on != on)
		sb_adds(&w->out, on ? "(?i)" : "(?-i)");
	w->fold_on = on;
}

/* One character, literal inside and outside of classes. */
static void
literal(struct writer *w, uint32_t r)
{
	if (r < 128 && isalnum((int)r))
		sb_addc(&w->out, (char)r);
	else if (r < 128 && ispunct((int)r))
		sb_addf(&w->out, "\\%c", (char)r);
	else if (r < 128 || (r >= 0xd800 && r <= 0xdfff))
		sb_addf(&w->out, "\\x{%x}", (unsigned)r);
	else
		sb_add_rune(&w->out, r);
}

static void
halves(uint32_t r, uint32_t *high, uint32_t *low)
{
	*high = 0xd800 + ((r - 0x10000) >> 10);
	*low = 0xdc00 + ((r - 0x10000) & 0x3ff);
}

static void
pair(struct writer *w, uint32_t r)
{
	uint32_t high, low;

	halves(r, &high, &low);
	literal(w, w->reverse ? low : high);
	literal(w, w->reverse ? high : low);
}

static void
ranges(struct writer *w, const struct js_set *s, uint32_t max)
{
	for (size_t i = 0; i < s->r.n && s->r.v[i].lo <= max; i++) {
		uint32_t hi = s->r.v[i].hi < max ? s->r.v[i].hi : max;

		literal(w, s->r.v[i].lo);
		if (hi == s->r.v[i].lo)
			continue;
		if (hi > s->r.v[i].lo + 1)
			sb_addc(&w->out, '-');
		literal(w, hi);
	}
}

static bool
set_is(const struct js_set *s, struct js_set of)
{
	return s->r.n == of.r.n && (s->r.n == 0 || memcmp(s->r.v, of.r.v, s->r.n * sizeof s->r.v[0]) == 0);
}

static bool
empty_class(const struct js_class *c)
{
	return !c->negated && c->set.r.n == 0 && c->properties.n == 0;
}

static void
brackets(struct writer *w, const struct js_class *c, const struct js_set *s, uint32_t max)
{
	struct js_set word = { 0 }, digit = { 0 };

	js_set_escape(w->a, &word, 'w', false);
	js_set_escape(w->a, &digit, 'd', false);
	if (c->properties.n == 0 && !w->fold_on && (set_is(s, word) || set_is(s, digit))) {
		sb_adds(
		    &w->out, set_is(s, word) ? (c->negated ? "\\W" : "\\w") : (c->negated ? "\\D" : "\\d"));
		return;
	}
	if (c->properties.n == 0 && !c->negated && s->r.n == 1 && s->r.v[0].lo == 0 &&
	    s->r.v[0].hi == RUNE_MAX) {
		sb_adds(&w->out, "[^]");
		return;
	}
	if (empty_class(c)) { /* PCRE2 forgets a repeat behind "[]" */
		sb_adds(&w->out, "(?!)");
		return;
	}
	sb_adds(&w->out, c->negated ? "[^" : "[");
	ranges(w, s, max);
	for (size_t i = 0; i < c->properties.n; i++)
		sb_addf(&w->out, "\\%c{%.*s}", c->properties.v[i].invert ? 'P' : 'p',
		    STR_ARG(c->properties.v[i].name));
	sb_addc(&w->out, ']');
}

/* Astral members of a class without flag u, as alternatives of two halves. Ranges came from single members.
 */
static void
astral_members(struct writer *w, const struct js_set *s)
{
	int written = 0;

	for (size_t i = 0; i < s->r.n; i++)
		for (uint32_t r = s->r.v[i].lo; r <= s->r.v[i].hi && written < PAIRS_MAX; r++)
			if (r > 0xffff) {
				if (written++ > 0)
					sb_addc(&w->out, '|');
				pair(w, r);
			}
	if (written == PAIRS_MAX)
		unsupported(w, "too many characters above U+FFFF in a class without flag u");
}

/* True if it was written as one item that a repeat can follow. */
static void
write_class(struct writer *w, const struct js_node *n)
{
	const struct js_class *c = n->cls;
	struct js_set set = c->set;
	bool unicode = w->pat->unicode, whole, astral;

	if (n->icase && !unicode) {
		set = (struct js_set){ 0 };
		for (size_t i = 0; i < c->set.r.n; i++)
			js_set_add(w->a, &set, c->set.r.v[i].lo, c->set.r.v[i].hi);
		js_set_fold(w->a, &set);
	}
	fold(w, n->icase && unicode);
	whole = set.r.n > 0 && set.r.v[set.r.n - 1].lo <= 0x10000 && set.r.v[set.r.n - 1].hi == RUNE_MAX;
	astral = !unicode && !whole && set.r.n > 0 && set.r.v[set.r.n - 1].hi > 0xffff;
	if (!astral) {
		brackets(w, c, &set, RUNE_MAX);
		return;
	}
	if (c->negated && w->reverse)
		unsupported(w, "look-behind of open length with such a class");
	sb_adds(&w->out, c->negated ? "(?:(?!" : "(?:");
	astral_members(w, &set);
	sb_addc(&w->out, c->negated ? ')' : '|');
	brackets(w, c, &set, 0xffff);
	sb_addc(&w->out, ')');
}

static bool
caseless_block(uint32_t r) /* ideographs, syllables: no case at all */
{
	return (r >= 0x2e80 && r <= 0xa63f) || (r >= 0xac00 && r <= 0xd7ff) || (r < 128 && !isalpha((int)r));
}

static void
write_char(struct writer *w, const struct js_node *n)
{
	uint32_t r = n->rune;
	struct js_set set;

	if (caseless_block(r)) {
		literal(w, r);
		return;
	}
	if (!w->pat->unicode && n->icase && r <= 0xffff && (r >= 128 || strchr("kKsS", (int)r) != NULL)) {
		set = js_set_fold_rune(w->a, r);
		fold(w, false);
		if (set.r.n == 1 && set.r.v[0].lo == set.r.v[0].hi) {
			literal(w, r);
			return;
		}
		sb_addc(&w->out, '[');
		ranges(w, &set, 0xffff);
		sb_addc(&w->out, ']');
		return;
	}
	fold(w, n->icase && r <= 0xffff);
	if (!w->pat->unicode && r > 0xffff)
		pair(w, r);
	else
		literal(w, r);
}

/* ---- the rest ---- */

static void write_node(struct writer *w, const struct js_node *n);

static void
write_list(struct writer *w, const struct js_node *first, const char *between)
{
	VEC(const struct js_node *) list = { 0 };

	for (const struct js_node *c = first; c != NULL; c = c->next)
		vec_push(w->a, &list, c);
	for (size_t i = 0; i < list.n; i++) {
		if (i > 0)
			sb_adds(&w->out, between);
		write_node(w, list.v[w->reverse && between[0] == '\0' ? list.n - 1 - i : i]);
	}
}

static void
write_inside(struct writer *w, const char *open, const struct js_node *child)
{
	bool saved = w->fold_on;

	sb_adds(&w->out, open);
	write_node(w, child);
	sb_addc(&w->out, ')');
	w->fold_on = saved;
}

static bool
has_group(const struct js_node *n)
{
	if (n->type == JS_GROUP && n->group > 0)
		return true;
	for (const struct js_node *c = n->child; c != NULL; c = c->next)
		if (has_group(c))
			return true;
	return false;
}

/* The inside becomes a pattern of its own that is matched against the text read backwards. */
static void
write_open_behind(struct writer *w, const struct js_node *n)
{
	struct writer inner = *w;

	if (!n->negative && has_group(n->child))
		unsupported(w, "look-behind of open length with groups");
	if (w->prog->behinds.n >= BEHINDS_MAX)
		unsupported(w, "too many look-behinds");
	inner.out = sb_new(w->a);
	inner.reverse = true;
	inner.fold_on = false;
	write_node(&inner, n->child);
	sb_addf(&w->out, "(?C%zu)", w->prog->behinds.n);
	vec_push(w->a, &w->prog->behinds, ((struct js_behind){ sb_str(&inner.out), n->negative }));
}

static void
write_look(struct writer *w, const struct js_node *n)
{
	if (w->reverse)
		unsupported(w, "look-around inside a look-behind of open length");
	else if (!n->behind)
		write_inside(w, n->negative ? "(?!" : "(?=", n->child);
	else if (fixed(w, n))
		write_inside(w, n->negative ? "(?<!" : "(?<=", n->child);
	else
		write_open_behind(w, n);
}

/* A group that is still open, or comes later, is unset in JavaScript: the reference is empty. */
static void
write_reference(struct writer *w, int group)
{
	if (w->closed[group])
		sb_addf(&w->out, "\\g{%d}", w->prog->group[group].number);
}

static void
write_backref(struct writer *w, const struct js_node *n)
{
	if (w->reverse)
		unsupported(w, "reference inside a look-behind of open length");
	fold(w, n->icase);
	sb_adds(&w->out, "(?:");
	for (size_t i = 0; n->name.p != NULL && i < w->pat->names.n; i++)
		if (str_eq(w->pat->names.v[i].name, n->name))
			write_reference(w, w->pat->names.v[i].group);
	if (n->name.p == NULL)
		write_reference(w, n->group);
	sb_addc(&w->out, ')');
}

/* Where \b is with flags i and u: PCRE2's knows ASCII words only. */
static void
write_word_edge(struct writer *w, const struct js_node *n)
{
	bool edge = n->type == JS_WORD;

	if (!n->icase || !w->pat->unicode)
		sb_adds(&w->out, edge ? "\\b" : "\\B");
	else if (edge)
		sb_adds(&w->out,
		    "(?:(?<=" FOLDED_WORD ")(?!" FOLDED_WORD ")|(?<!" FOLDED_WORD ")(?=" FOLDED_WORD "))");
	else
		sb_adds(&w->out,
		    "(?:(?<=" FOLDED_WORD ")(?=" FOLDED_WORD ")|(?<!" FOLDED_WORD ")(?!" FOLDED_WORD "))");
}

/* Can a repeat follow what is written for it? */
static bool
one_item(const struct writer *w, const struct js_node *n)
{
	if (n->type == JS_CHAR)
		return w->pat->unicode || n->rune <= 0xffff;
	return n->type == JS_ANY || (n->type == JS_CLASS && !empty_class(n->cls)) || n->type == JS_GROUP;
}

static void
write_repeat(struct writer *w, const struct js_node *n)
{
	bool wrap = n->marker > 0 || !one_item(w, n->child);

	if (wrap)
		write_inside(w, n->marker > 0 ? "(?:()" : "(?:", n->child);
	else
		write_node(w, n->child);
	if (n->max == JS_INF && n->min <= 1)
		sb_addc(&w->out, n->min == 0 ? '*' : '+');
	else if (n->max == JS_INF)
		sb_addf(&w->out, "{%d,}", n->min);
	else if (n->min == 0 && n->max == 1)
		sb_addc(&w->out, '?');
	else if (n->min == n->max)
		sb_addf(&w->out, "{%d}", n->min);
	else
		sb_addf(&w->out, "{%d,%d}", n->min, n->max);
	if (n->lazy)
		sb_addc(&w->out, '?');
}

static void
write_edge(struct writer *w, const struct js_node *n)
{
	bool start = (n->type == JS_START) != w->reverse;

	if (n->multiline)
		sb_adds(&w->out, start ? "(?<!" NOT_LINE_END ")" : "(?!" NOT_LINE_END ")");
	else
		sb_adds(&w->out, start ? "\\A" : "\\z");
}

static void
write_node(struct writer *w, const struct js_node *n)
{
	switch (n->type) {
	case JS_CHAR:
		write_char(w, n);
		break;
	case JS_ANY:
		sb_adds(&w->out, n->dotall ? "[^]" : NOT_LINE_END);
		break;
	case JS_CLASS:
		write_class(w, n);
		break;
	case JS_START:
	case JS_END:
		write_edge(w, n);
		break;
	case JS_WORD:
	case JS_NOT_WORD:
		write_word_edge(w, n);
		break;
	case JS_GROUP:
		write_inside(w, n->group > 0 && !w->reverse ? "(" : "(?:", n->child);
		w->closed[n->group] = true;
		break;
	case JS_LOOK:
		write_look(w, n);
		break;
	case JS_BACKREF:
		write_backref(w, n);
		break;
	case JS_REPEAT:
		write_repeat(w, n);
		break;
	case JS_CAT:
		write_list(w, n->child, "");
		break;
	case JS_ALT:
		write_list(w, n->child, "|");
		break;
	}
}

/* A reference to a group inside an open look-behind can never be answered. */
static bool
lost_reference(const struct writer *w, const struct js_node *n)
{
	if (n->type == JS_BACKREF && n->name.p == NULL && w->prog->group[n->group].number == 0)
		return true;
	for (size_t i = 0; n->type == JS_BACKREF && n->name.p != NULL && i < w->pat->names.n; i++)
		if (str_eq(w->pat->names.v[i].name, n->name) &&
		    w->prog->group[w->pat->names.v[i].group].number == 0)
			return true;
	for (const struct js_node *c = n->child; c != NULL; c = c->next)
		if (lost_reference(w, c))
			return true;
	return false;
}

int
js_write(struct arena *a, struct js_pattern *pattern, struct js_program *out, struct regex_error *err)
{
	struct writer w = { .a = a, .pat = pattern, .prog = out, .err = err, .out = sb_new(a) };

	*out = (struct js_program){ .group = arena_array(a, struct js_group, (size_t)pattern->groups + 1) };
	w.closed = arena_array(a, bool, (size_t)pattern->groups + 1);
	assign(&w, pattern->root, 0);
	if (lost_reference(&w, pattern->root))
		unsupported(&w, "reference to a group of a look-behind of open length");
	else
		write_node(&w, pattern->root);
	out->pattern = sb_str(&w.out);
	return err->fault == REGEX_OK ? 0 : -1;
}
