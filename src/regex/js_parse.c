/*
 * js_parse: reads a JavaScript pattern into a tree, with Annex B's leniency when flag u is off,
 * and refuses what JavaScript refuses. Recursion is bounded by JS_DEPTH_MAX. Classes and escapes
 * are in js_escape.c.
 */
#include "regex/js_parse.h"

#include "base/utf8.h"

#include <ctype.h>

static struct js_node *parse_alternatives(struct js_parser *p, int depth);

int
js_fail(struct js_parser *p, enum regex_fault fault, size_t at, const char *what)
{
	if (p->err->fault == REGEX_OK)
		*p->err = (struct regex_error){ .fault = fault, .at = at, .what = what };
	return -1;
}

bool
js_at(const struct js_parser *p, const char *word)
{
	size_t n = strlen(word);

	return p->src.n - p->pos >= n && memcmp(p->src.p + p->pos, word, n) == 0;
}

bool
js_take(struct js_parser *p, const char *word)
{
	if (!js_at(p, word))
		return false;
	p->pos += strlen(word);
	return true;
}

struct js_node *
js_node_new(struct js_parser *p, enum js_type type)
{
	struct js_node *n = arena_new(p->a, struct js_node);

	if (++p->nodes > JS_NODES_MAX)
		js_fail(p, REGEX_TOO_BIG, p->pos, "pattern too long");
	n->type = type;
	n->icase = (p->flags & REGEX_I) != 0;
	n->dotall = (p->flags & REGEX_S) != 0;
	n->multiline = (p->flags & REGEX_M) != 0;
	return n;
}

/* The groups of the whole pattern must be known before its first \1 or \k is read. */
static void
count_groups(struct js_parser *p)
{
	bool in_class = false;

	for (size_t i = 0; i < p->src.n; i++) {
		char c = p->src.p[i];
		struct str rest = str_sub(p->src, i, p->src.n);

		if (c == '\\')
			i++;
		else if (in_class)
			in_class = c != ']';
		else if (c == '[')
			in_class = true;
		else if (c == '(' && !str_starts(rest, STR("(?")))
			p->groups++;
		else if (str_starts(rest, STR("(?<")) && !str_starts(rest, STR("(?<=")) &&
			 !str_starts(rest, STR("(?<!"))) {
			p->groups++;
			p->has_names = true;
		}
	}
}

static bool
name_rune(uint32_t r, bool first)
{
	if (r == '$' || r == '_' || rune_is_letter(r))
		return true;
	return !first && (rune_is_word(r) || r == 0x200c || r == 0x200d);
}

/* After "(?<" or "\k<": a name up to '>'. */
int
js_group_name(struct js_parser *p, struct str *out)
{
	struct sb name = sb_new(p->a);
	size_t start = p->pos;

	while (p->pos < p->src.n && p->src.p[p->pos] != '>') {
		uint32_t r;

		if (js_take(p, "\\u")) {
			if (!js_unicode_escape(p, true, &r))
				return js_fail(p, REGEX_SYNTAX, p->pos, "bad group name");
		} else {
			r = utf8_next(p->src, &p->pos);
		}
		if (!name_rune(r, name.n == 0))
			return js_fail(p, REGEX_SYNTAX, start, "bad group name");
		sb_add_rune(&name, r);
	}
	if (!js_take(p, ">") || name.n == 0)
		return js_fail(p, REGEX_SYNTAX, start, "bad group name");
	*out = sb_str(&name);
	return 0;
}

/* Two groups may share a name only if they stand in different alternatives of one group. */
static bool
names_exclude(const struct js_name_path *x, const struct js_name_path *y)
{
	for (size_t i = 0; i < x->n && i < y->n && x->at[i].group == y->at[i].group; i++)
		if (x->at[i].alternative != y->at[i].alternative)
			return true;
	return false;
}

static int
name_add(struct js_parser *p, struct str name, int group)
{
	struct js_name_path path = { .n = p->path.n };

	path.at = arena_copy(p->a, p->path.v, p->path.n * sizeof path.at[0]);
	for (size_t i = 0; i < p->out->names.n; i++)
		if (str_eq(p->out->names.v[i].name, name) && !names_exclude(&p->paths.v[i], &path))
			return js_fail(p, REGEX_SYNTAX, p->pos, "group name used twice");
	if (p->out->names.n >= JS_NAMES_MAX)
		return js_fail(p, REGEX_TOO_BIG, p->pos, "too many group names");
	vec_push(p->a, &p->out->names, ((struct js_name){ name, group }));
	vec_push(p->a, &p->paths, path);
	return 0;
}

/* "(?ims-ims:": each letter once; the flags that hold inside, or -1. */
static int
modifiers(struct js_parser *p)
{
	static const char letters[] = "ims";
	static const int bits[] = { REGEX_I, REGEX_M, REGEX_S };
	int flags = p->flags, seen = 0;
	bool off = false;

	for (; p->pos < p->src.n && p->src.p[p->pos] != ':'; p->pos++) {
		char c = p->src.p[p->pos];
		const char *at = c ? strchr(letters, c) : NULL;

		if (c == '-' && !off) {
			off = true;
			continue;
		}
		if (at == NULL || (seen & bits[at - letters]))
			return -1;
		seen |= bits[at - letters];
		flags = off ? flags & ~bits[at - letters] : flags | bits[at - letters];
	}
	return js_take(p, ":") && seen ? flags : -1;
}

static struct js_node *
close_group(struct js_parser *p, struct js_node *n, int depth, size_t start)
{
	if (depth >= JS_DEPTH_MAX) {
		js_fail(p, REGEX_TOO_BIG, start, "groups nested too deep");
		return n;
	}
	n->child = parse_alternatives(p, depth + 1);
	if (p->err->fault == REGEX_OK && !js_take(p, ")"))
		js_fail(p, REGEX_SYNTAX, start, "unterminated group");
	return n;
}

/* At "(": any kind of group. */
static struct js_node *
parse_group(struct js_parser *p, int depth)
{
	size_t start = p->pos;
	int saved = p->flags, flags;
	struct js_node *n;
	struct str name;

	if (js_take(p, "(?<=") || js_take(p, "(?<!") || js_take(p, "(?=") || js_take(p, "(?!")) {
		n = js_node_new(p, JS_LOOK);
		n->negative = p->src.p[p->pos - 1] == '!';
		n->behind = p->src.p[p->pos - 2] == '<';
		return close_group(p, n, depth, start);
	}
	n = js_node_new(p, JS_GROUP);
	if (js_take(p, "(?<")) {
		n->group = ++p->opened;
		if (js_group_name(p, &name) < 0 || name_add(p, name, n->group) < 0)
			return n;
	} else if (js_take(p, "(?")) {
		flags = js_take(p, ":") ? saved : modifiers(p);
		if (flags < 0) {
			js_fail(p, REGEX_SYNTAX, start, "invalid group");
			return n;
		}
		p->flags = flags;
	} else {
		p->pos++;
		n->group = ++p->opened;
	}
	close_group(p, n, depth, start);
	p->flags = saved;
	return n;
}

/* One term without its repeat; NULL at the end of the alternative. */
static struct js_node *
parse_atom(struct js_parser *p, int depth)
{
	size_t start = p->pos;
	struct js_node *n;
	uint32_t r;
	int min, max;

	switch (p->src.p[p->pos]) {
	case '(':
		return parse_group(p, depth);
	case '[':
		return js_parse_class(p);
	case '\\':
		return js_parse_escape(p);
	case '.':
		p->pos++;
		return js_node_new(p, JS_ANY);
	case '^':
		p->pos++;
		return js_node_new(p, JS_START);
	case '$':
		p->pos++;
		return js_node_new(p, JS_END);
	case '*':
	case '+':
	case '?':
		js_fail(p, REGEX_SYNTAX, start, "nothing to repeat");
		return NULL;
	case '{':
		if (p->out->unicode || js_counts(p, &min, &max)) {
			js_fail(p, REGEX_SYNTAX, start, "nothing to repeat");
			return NULL;
		}
		break;
	case ']':
	case '}':
		if (p->out->unicode) {
			js_fail(p, REGEX_SYNTAX, start, "lone bracket");
			return NULL;
		}
		break;
	default:
		break;
	}
	n = js_node_new(p, JS_CHAR);
	r = utf8_next(p->src, &p->pos);
	n->rune = r;
	return n;
}

static int
number(struct js_parser *p)
{
	int v = 0;

	while (p->pos < p->src.n && isdigit((unsigned char)p->src.p[p->pos])) {
		if (v <= JS_REPEAT_MAX)
			v = v * 10 + (p->src.p[p->pos] - '0');
		p->pos++;
	}
	return v;
}

/* "{n}", "{n,}" or "{n,m}" at the position: taken if it is one, else nothing moves. */
bool
js_counts(struct js_parser *p, int *min, int *max)
{
	size_t start = p->pos, digits;

	if (!js_take(p, "{"))
		return false;
	digits = p->pos;
	*min = *max = number(p);
	if (p->pos > digits && js_take(p, ",")) {
		digits = p->pos;
		*max = number(p);
		if (p->pos == digits)
			*max = JS_INF;
	} else if (p->pos == digits) {
		p->pos = start;
		return false;
	}
	if (!js_take(p, "}")) {
		p->pos = start;
		return false;
	}
	return true;
}

static bool
repeat_counts(struct js_parser *p, int *min, int *max)
{
	*min = 0;
	*max = JS_INF;
	if (js_take(p, "*"))
		return true;
	if (js_take(p, "+")) {
		*min = 1;
		return true;
	}
	if (js_take(p, "?")) {
		*max = 1;
		return true;
	}
	return js_counts(p, min, max);
}

static bool
repeatable(const struct js_parser *p, const struct js_node *atom)
{
	if (atom->type == JS_LOOK)
		return !atom->behind && !p->out->unicode;
	return atom->type != JS_START && atom->type != JS_END && atom->type != JS_WORD &&
	       atom->type != JS_NOT_WORD;
}

static struct js_node *
parse_repeat(struct js_parser *p, struct js_node *atom)
{
	size_t start = p->pos;
	struct js_node *n;
	int min, max;

	if (p->pos >= p->src.n || !repeat_counts(p, &min, &max))
		return atom;
	if (!repeatable(p, atom))
		js_fail(p, REGEX_SYNTAX, start, "nothing to repeat");
	else if (max != JS_INF && max < min)
		js_fail(p, REGEX_SYNTAX, start, "counts out of order");
	else if (min > JS_REPEAT_MAX)
		js_fail(p, REGEX_UNSUPPORTED, start, "repeat count over 65535");
	n = js_node_new(p, JS_REPEAT);
	n->child = atom;
	n->min = min;
	n->max = max > JS_REPEAT_MAX ? JS_INF : max;
	n->lazy = js_take(p, "?");
	return n;
}

static struct js_node *
parse_sequence(struct js_parser *p, int depth)
{
	struct js_node *cat = js_node_new(p, JS_CAT), **tail = &cat->child;

	while (p->err->fault == REGEX_OK && p->pos < p->src.n && p->src.p[p->pos] != '|' &&
	       p->src.p[p->pos] != ')') {
		struct js_node *atom = parse_atom(p, depth);

		if (atom == NULL || p->err->fault != REGEX_OK)
			return cat;
		*tail = parse_repeat(p, atom);
		tail = &(*tail)->next;
	}
	return cat;
}

static struct js_node *
parse_alternatives(struct js_parser *p, int depth)
{
	struct js_node *first, *alt, **tail;
	size_t at = p->path.n;

	vec_push(p->a, &p->path, ((struct js_step){ .group = ++p->disjunctions, .alternative = 0 }));
	first = parse_sequence(p, depth);
	if (!js_at(p, "|")) {
		p->path.n = at;
		return first;
	}
	alt = js_node_new(p, JS_ALT);
	alt->child = first;
	tail = &first->next;
	while (p->err->fault == REGEX_OK && js_take(p, "|")) {
		p->path.v[at].alternative++;
		*tail = parse_sequence(p, depth);
		tail = &(*tail)->next;
	}
	p->path.n = at;
	return alt;
}

static int
check_backrefs(struct js_parser *p)
{
	for (size_t i = 0; i < p->named_refs.n; i++) {
		bool found = false;

		for (size_t j = 0; j < p->out->names.n; j++)
			found = found || str_eq(p->out->names.v[j].name, p->named_refs.v[i]);
		if (!found)
			return js_fail(p, REGEX_SYNTAX, p->pos, "no such named group");
	}
	return 0;
}

int
js_parse(struct arena *a, struct str src, int flags, struct js_pattern *out, struct regex_error *err)
{
	struct js_parser p = { .a = a, .src = src, .flags = flags, .out = out, .err = err };

	*err = (struct regex_error){ 0 };
	*out = (struct js_pattern){ .unicode = (flags & REGEX_U) != 0 };
	if (src.n > JS_PATTERN_MAX)
		return js_fail(&p, REGEX_TOO_BIG, 0, "pattern too long");
	count_groups(&p);
	if (p.groups > JS_GROUPS_MAX)
		return js_fail(&p, REGEX_TOO_BIG, 0, "too many groups");
	out->groups = p.groups;
	out->root = parse_alternatives(&p, 0);
	if (err->fault == REGEX_OK && p.pos < src.n)
		return js_fail(&p, REGEX_SYNTAX, p.pos, "unmatched ')'");
	if (err->fault != REGEX_OK)
		return -1;
	return check_backrefs(&p);
}
