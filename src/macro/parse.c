/*
 * parse: what one macro between its braces is: a tag, a shorthand, a row of the catalogue, a name,
 * and where its arguments lie (decisions 28 to 30, 33). Works on bytes outside of nested macros;
 * the inside of a ['…'] key is never split.
 */
#include "macro/parse_private.h"

#include "base/rng.h"
#include "base/utf8.h"

#define BUILT_NAME_MAX 256 /* bytes of a name made from macros that reports show */

/* ---- shapes ---- */

static void
set_row(struct compile *c, uint32_t i, unsigned row, bool exact)
{
	struct node *n = &c->nodes.v[i];
	const struct row *r = row_get(row);

	n->type = N_MACRO;
	n->row = (uint16_t)row;
	n->name = row_name(c, row);
	if (!exact)
		n->flags |= NF_INEXACT;
	if (r->flags & ROW_CHAR)
		n->flags |= NF_CHAR;
	if (r->flags & ROW_WRITE)
		c->traits |= MACRO_HAS_WRITE;
	if (r->flags & ROW_CHANCE)
		c->traits |= MACRO_HAS_CHANCE;
	if (r->flags & ROW_TIME)
		c->traits |= MACRO_HAS_TIME;
	if (r->flags & ROW_KEY)
		hash_key(c, i);
}

static void
set_name(struct compile *c, uint32_t i, enum node_type type, uint32_t s, uint32_t e)
{
	trim_range(c, &s, &e);
	if (type == N_BUILT &&
	    e - s > BUILT_NAME_MAX) /* holds macros that hold macros: else the work would be quadratic */
		e = s + (uint32_t)utf8_whole(str_sub(c->src, s, s + BUILT_NAME_MAX));
	c->nodes.v[i].type = (uint8_t)type;
	c->nodes.v[i].name = name_number(c, str_sub(c->src, s, e));
}

/* The UTF-16 offset of a chance macro, counted on from the one before. */
static void
set_offset(struct compile *c, uint32_t i)
{
	struct node *n = &c->nodes.v[i];

	if (n->start < c->pick_at)
		c->pick_at = c->pick_units = 0;
	c->pick_units += (uint32_t)utf8_units(str_sub(c->src, c->pick_at, n->start));
	c->pick_at = n->start;
	n->aux = c->pick_units;
}

/* A macro whose name is the row's: where do its arguments begin, and how are they divided? */
static void
row_args(struct compile *c, uint32_t i, unsigned row, uint32_t word_end, uint32_t e)
{
	const struct row *r = row_get(row);
	struct str src = c->src;
	uint32_t at = word_end;
	size_t len;

	while (at < e && js_blank(src, at, &len))
		at += (uint32_t)len;
	if (at < e && src.p[at] == ':') {
		if (at + 1 < e && src.p[at + 1] == ':') {
			args_list(c, i, at + 2, e);
			return;
		}
		at += r->max > 0;
		if (r->style == ARGS_PAGE && r->max)
			args_list(c, i, at, e);
		else
			add_arg(c, i, at, e);
		return;
	}
	if (at >= e)
		return;
	if (r->style == ARGS_PAGE || r->max == 0)
		args_words(c, i, at, e);
	else
		add_arg(c, i, at, e);
}

/* {{time_UTC+2}}: the offset is part of the name. */
static bool
time_utc(struct compile *c, uint32_t i, uint32_t s, uint32_t e)
{
	struct str t = str_sub(c->src, s, e);
	bool exact;
	unsigned row;

	if (t.n < 10 || !str_ieq(str_sub(t, 0, 8), STR("time_UTC")) || (t.p[8] != '+' && t.p[8] != '-') ||
	    (row = row_find(STR("time"), (enum macro_dialect)c->nodes.v[i].dialect, &exact)) == 0)
		return false;
	for (size_t k = 9; k < t.n; k++)
		if (t.p[k] < '0' || t.p[k] > '9')
			return false;
	set_row(c, i, row - 1, true);
	add_arg(c, i, s + 5, e);
	return true;
}

/* {{getvar a::b}}: the page's macros split at ::, so this is a name with a blank; SillyTavern's take all behind the
 * blank as one argument. */
static bool
mixes_separators(struct str src, unsigned row, struct shape sh)
{
	const struct row *r = row_get(row);

	return r->style == ARGS_PAGE && r->max && sh.list != NO_POS && sh.blank < sh.list &&
	       js_trim(str_sub(src, sh.blank, sh.list)).n > 0;
}

static void
parse_named(struct compile *c, uint32_t i, uint32_t s, uint32_t e)
{
	enum macro_dialect d = (enum macro_dialect)c->nodes.v[i].dialect;
	struct shape sh = shape_of(c, i, s, e);
	uint32_t word = sh.blank < sh.list ? sh.blank : sh.list;
	uint32_t name_end = word;
	bool exact = true, words;
	unsigned row = 0;

	if (word == NO_POS)
		word = name_end = e;
	if (!sh.child_in_name || sh.colon != NO_POS) {
		if (!sh.child_in_name && time_utc(c, i, s, e))
			return;
		row = sh.child_in_name ? 0 : row_find(str_sub(c->src, s, word), d, &exact);
		if (!row && sh.colon < word) {
			row = row_find(str_sub(c->src, s, sh.colon), d, &exact);
			if (row && row_get(row - 1)->max == 0)
				row = 0;
			else if (row)
				word = sh.colon;
		}
		if (row && mixes_separators(c->src, row - 1, sh)) {
			if (d == MACRO_SILLYTAVERN) {
				add_arg(c, i, word, e);
				set_row(c, i, row - 1, exact);
				return;
			}
			row = 0;
		}
		if (row) {
			row_args(c, i, row - 1, word, e);
			set_row(c, i, row - 1, exact);
			if (row_get(row - 1)->flags & ROW_CHANCE)
				set_offset(c, i);
			return;
		}
	}
	words = sh.list != NO_POS || sh.blank != NO_POS;
	if (sh.list != NO_POS) {
		name_end = sh.list;
		args_list(c, i, sh.list + 2, e);
	} else if (sh.blank != NO_POS) {
		args_words(c, i, sh.blank, e);
	}
	set_name(c, i, sh.child_in_name ? N_BUILT : N_NAME, s, name_end);
	if (words)
		c->nodes.v[i].flags |= NF_WORDS;
	if (sh.child_in_name)
		c->nodes.v[i].flags |= NF_COMPUTED;
}

/* ---- shorthand ---- */

/* Not what the page supports: an ordinary name that nobody knows. */
static void
shorthand_unknown(struct compile *c, uint32_t i, uint32_t s, uint32_t e)
{
	struct shape sh = shape_of(c, i, s, e);
	uint32_t end = sh.list != NO_POS ? sh.list : sh.blank != NO_POS ? sh.blank : e;

	if (sh.list != NO_POS)
		args_list(c, i, sh.list + 2, e);
	else if (sh.blank != NO_POS)
		args_words(c, i, sh.blank, e);
	set_name(c, i, N_BUILT, s, end);
	if (end != e)
		c->nodes.v[i].flags |= NF_WORDS;
}

static void
shorthand_write(
    struct compile *c, uint32_t i, const char *name, uint32_t key_s, uint32_t key_e, uint32_t val_s)
{
	bool exact;
	unsigned row = row_find(str_c(name), (enum macro_dialect)c->nodes.v[i].dialect, &exact);

	set_row(c, i, row - 1, true);
	add_arg(c, i, key_s, key_e);
	if (val_s)
		add_arg(c, i, val_s, c->nodes.v[i].end - 2);
	hash_key(c, i);
}

/* The page's set: read, =, local ++ and -- (decisions 29). */
static void
parse_shorthand(struct compile *c, uint32_t i, uint32_t s, uint32_t e)
{
	struct str src = c->src, key;
	bool global = src.p[s] == '$', child = false, bad = false;
	struct cursor k = cursor_at(c, i, s + 1, e);
	uint32_t blank = NO_POS, list = NO_POS, ks = s + 1, ke = e, eq = NO_POS;
	size_t len;

	while (cursor_next(&k, &child)) {
		char ch = src.p[k.at], nx = k.at + 1 < e ? src.p[k.at + 1] : '\0';

		if (ch == '=') {
			eq = k.at;
			bad |= nx == '=' || strchr("+-!<>*/|?", src.p[k.at - 1]) != NULL;
			break;
		}
		if (ch == '<' || ch == '>' || (ch == '?' && nx == '?') || (ch == '|' && nx == '|'))
			bad = true;
		if (ch == ':' && nx == ':' && list == NO_POS)
			list = k.at;
		if (!js_blank(src, k.at, &len))
			len = 1;
		else if (blank == NO_POS)
			blank = k.at;
		k.at += (uint32_t)len;
	}
	if (eq != NO_POS && !bad && !child) {
		ke = eq;
		trim_range(c, &ks, &ke);
		if (ke > ks) {
			shorthand_write(c, i, global ? "setglobalvar" : "setvar", ks, ke, eq + 1);
			return;
		}
		bad = true;
	}
	key = str_sub(src, ks, e);
	if (eq == NO_POS && !bad && !child && (str_ends(key, STR("++")) || str_ends(key, STR("--")))) {
		char sign = src.p[e - 1];

		ke = e - 2;
		trim_range(c, &ks, &ke);
		bad = global || ke == ks || src.p[ke - 1] == '+' || src.p[ke - 1] == '-';
		if (!bad) {
			shorthand_write(c, i, sign == '+' ? "incvar" : "decvar", ks, ke, 0);
			return;
		}
	}
	if (bad || child || eq != NO_POS || blank != NO_POS || list != NO_POS) {
		shorthand_unknown(c, i, s, e);
		return;
	}
	set_name(c, i, N_READ, s, e);
	if (global)
		c->nodes.v[i].flags |= NF_GLOBAL;
	add_arg(c, i, s + 1, e);
	hash_key(c, i);
}

static uint32_t
after_blanks(struct str src, uint32_t at, uint32_t e)
{
	size_t len;

	while (at < e && js_blank(src, at, &len))
		at += (uint32_t)len;
	return at;
}

/* Bytes of a variable name of the sillytavern dialect: a letter, then letters, digits, _ and -, not ending in
 * -. */
uint32_t
short_name(struct str src, uint32_t s, uint32_t e)
{
	size_t at = s, end = s;

	while (at < e) {
		size_t next = at;
		uint32_t r = utf8_next(src, &next);

		if (!(rune_is_letter(r) || (at > s && (rune_is_digit(r) || r == '_' || r == '-'))))
			break;
		at = next;
		if (r != '-')
			end = at;
	}
	return (uint32_t)end;
}

// clang-format off
static const char *const short_ops[] = { /* longest first; the order is enum short_op of builtin_vars.c */
	"?\?=", "||=", "++", "--", "+=", "-=", "??", "||", "==", "!=", ">=", "<=", ">", "<", "=",
};
// clang-format on

static void
parse_short_st(struct compile *c, uint32_t i, uint32_t s, uint32_t e)
{
	struct str src = c->src, rest;
	bool global = src.p[s] == '$';
	uint32_t name = after_blanks(src, s + 1, e), end = short_name(src, name, e), at = after_blanks(src, end, e),
		 child = node_from(c->nodes.v, i + 1, c->nodes.v[i].skip, s);
	size_t len, op;

	if (end == name || (child < c->nodes.v[i].skip && c->nodes.v[child].start < at)) {
		shorthand_unknown(c, i, s, e);
		return;
	}
	if (at == e) {
		set_name(c, i, N_READ, s, e);
		c->nodes.v[i].flags |= global ? NF_GLOBAL : 0;
		add_arg(c, i, name, end);
		hash_key(c, i);
		return;
	}
	rest = str_sub(src, at, e);
	for (op = 0; op < sizeof(short_ops) / sizeof(short_ops[0]); op++)
		if (str_starts(rest, str_c(short_ops[op])))
			break;
	len = op < sizeof(short_ops) / sizeof(short_ops[0]) ? strlen(short_ops[op]) : 0;
	if (!len || ((op == 2 || op == 3) && rest.n != len)) {
		shorthand_unknown(c, i, s, e);
		return;
	}
	set_name(c, i, N_SHORT, s, end);
	c->nodes.v[i].row = (uint16_t)op;
	c->nodes.v[i].flags |= global ? NF_GLOBAL : 0;
	add_arg(c, i, name, end);
	hash_key(c, i);
	if (op != 2 && op != 3)
		add_arg(c, i, at + (uint32_t)len, e);
	if (op <= 5 || op == 14)
		c->traits |= MACRO_HAS_WRITE;
}

/* ---- tags ---- */

bool
name_boundary(struct str src, uint32_t at, uint32_t end)
{
	unsigned char c;

	if (at >= end)
		return true;
	c = (unsigned char)src.p[at];
	return !((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
		 c == '-');
}

/* The word at s (lower case), if a tag may end there. */
static bool
word_at(struct str src, uint32_t s, uint32_t e, const char *word, uint32_t *end_out)
{
	uint32_t n = (uint32_t)strlen(word);

	if (e - s < n || !str_ieq(str_sub(src, s, s + n), (struct str){ word, n }) ||
	    !name_boundary(src, s + n, e))
		return false;
	*end_out = s + n;
	return true;
}

static bool
blank_between(struct str src, uint32_t s, uint32_t e)
{
	return js_trim(str_sub(src, s, e)).n == 0;
}

static void
set_tag(struct compile *c, uint32_t i, enum node_type type, enum macro_dialect d, const char *name)
{
	struct node *n = &c->nodes.v[i];

	n->type = (uint8_t)type;
	n->dialect = (uint8_t)d;
	n->name = name_number(c, str_c(name));
}

static void
set_opener(struct compile *c, uint32_t i, enum macro_dialect d, uint32_t s, uint32_t e)
{
	uint32_t from = node_from(c->nodes.v, i + 1, c->nodes.v[i].skip, s), h;

	set_tag(c, i, N_OPEN, d, "if");
	c->traits |= MACRO_HAS_BLOCK;
	h = cond_parse(c, d, s, e, from, c->nodes.v[i].skip);
	c->nodes.v[i].arg = h;
	if (c->saw_char)
		c->nodes.v[i].flags |= NF_CHAR;
}

/* else and else if. What a dialect makes of them is settled when blocks are paired. */
static bool
parse_else(struct compile *c, uint32_t i, uint32_t s, uint32_t e)
{
	uint32_t end, at, h;

	if (!word_at(c->src, s, e, "else", &end))
		return false;
	set_tag(c, i, N_ELSE, c->dialect, "else");
	at = after_blanks(c->src, end, e);
	if (at == e)
		return true;
	c->nodes.v[i].flags |= NF_EXTRA;
	if (at > end && word_at(c->src, at, e, "if", &end)) {
		c->nodes.v[i].type = N_ELIF;
		h = cond_parse(c, MACRO_MARINARA, end, e,
		    node_from(c->nodes.v, i + 1, c->nodes.v[i].skip, end), c->nodes.v[i].skip);
		c->nodes.v[i].arg = h;
		if (c->saw_char)
			c->nodes.v[i].flags |= NF_CHAR;
	} else {
		set_name(c, i, N_ELSE, s, end);
		args_words(c, i, at, e);
	}
	return true;
}

/* tomoribot: #if, #unless, tool blocks, else, both closers; text after a middle or closing word makes it
 * malformed. */
static bool
parse_tag_tomori(struct compile *c, uint32_t i, uint32_t s, uint32_t e)
{
	struct str src = c->src;
	uint32_t end;

	if (src.p[s] == '#' &&
	    (word_at(src, s + 1, e, "if", &end) || word_at(src, s + 1, e, "unless", &end))) {
		set_opener(c, i, MACRO_TOMORIBOT, end, e);
		if (end - s == 7)
			c->nodes.v[i].flags |= NF_UNLESS;
		return true;
	}
	if (word_at(src, s, e, "if", &end)) {
		set_opener(c, i, MACRO_TOMORIBOT, s, e); /* from its word on: a predicate, not a value */
		return true;
	}
	if (word_at(src, s, e, "else", &end))
		set_tag(c, i, N_ELSE, MACRO_TOMORIBOT, "else");
	else if (src.p[s] == '/' && word_at(src, s + 1, e, "if", &end))
		set_tag(c, i, N_CLOSE, MACRO_TOMORIBOT, "if");
	else if (src.p[s] == '/' && word_at(src, s + 1, e, "unless", &end))
		set_tag(c, i, N_CLOSE, MACRO_TOMORIBOT, "unless");
	else
		return false;
	if (end - s == 7)
		c->nodes.v[i].flags |= NF_UNLESS;
	if (!blank_between(src, end, e))
		c->nodes.v[i].flags |= NF_EXTRA;
	return true;
}

/* A tag of a block, or false. */
static bool
parse_tag(struct compile *c, uint32_t i, uint32_t s, uint32_t e)
{
	enum macro_dialect d = c->dialect;
	struct str src = c->src;
	uint32_t end;
	size_t len;
	bool page = d == MACRO_AUTO || d == MACRO_TAVERNHEADLESS;

	if (d == MACRO_TOMORIBOT)
		return parse_tag_tomori(c, i, s, e);
	if (src.p[s] == 'i' || src.p[s] == 'I') {
		if (page && word_at(src, s, e, "if", &end)) {
			set_opener(c, i, MACRO_TAVERNHEADLESS, end, e);
			return true;
		}
		return false;
	}
	if (src.p[s] == '#' && (d == MACRO_AUTO || d == MACRO_MARINARA)) {
		if (!word_at(src, s + 1, e, "if", &end) || (end < e && !js_blank(src, end, &len)))
			return false;
		set_opener(c, i, MACRO_MARINARA, end, e);
		return true;
	}
	if (src.p[s] == 'e' || src.p[s] == 'E')
		return parse_else(c, i, s, e);
	if (src.p[s] != '/')
		return false;
	if (word_at(src, d == MACRO_SILLYTAVERN ? after_blanks(src, s + 1, e) : s + 1, e, "if", &end)) {
		set_tag(c, i, N_CLOSE, d, "if");
		if (!blank_between(src, end, e))
			c->nodes.v[i].flags |= NF_EXTRA;
		return true;
	}
	return false;
}

/* Scoped closers: {{/name}} in sillytavern, of wrappers in marinara. */
static bool
parse_closer(struct compile *c, uint32_t i, uint32_t s, uint32_t e)
{
	enum macro_dialect d = c->dialect;
	uint32_t ns = s + 1, ne = e;
	bool exact;
	unsigned row;

	if (c->src.p[s] != '/' || (d != MACRO_SILLYTAVERN && d != MACRO_MARINARA))
		return false;
	trim_range(c, &ns, &ne);
	row = row_find(str_sub(c->src, ns, ne), d, &exact);
	if (!row || (d == MACRO_MARINARA && !(row_get(row - 1)->flags & ROW_WRAP)))
		return false;
	c->nodes.v[i].type = N_CLOSE;
	c->nodes.v[i].row = (uint16_t)row;
	c->nodes.v[i].name = row_name(c, row - 1);
	return true;
}

/* sillytavern: `if` is a macro with one value as its condition: {{if x}}…, {{if::x}}…, {{if::x::text}}. */
static bool
parse_if_st(struct compile *c, uint32_t i, uint32_t s, uint32_t e)
{
	uint32_t end;
	struct shape sh;
	bool list;

	if (!word_at(c->src, s, e, "if", &end))
		return false;
	sh = shape_of(c, i, s, e);
	list = sh.list != NO_POS && blank_between(c->src, end, sh.list);
	if (list) {
		uint32_t first = c->nodes.v[i].argc;

		c->nodes.v[i].arg = (uint32_t)c->args.n;
		args_list(c, i, sh.list + 2, e);
		if (c->nodes.v[i].argc - first == 2) { /* inline: content is the second argument */
			bool exact;
			unsigned row = row_find(STR("if"), MACRO_SILLYTAVERN, &exact);

			set_row(c, i, row - 1, true);
			c->nodes.v[i].close = cond_parse(c, MACRO_SILLYTAVERN, c->args.v[c->nodes.v[i].arg].s,
			    c->args.v[c->nodes.v[i].arg].e, c->args.v[c->nodes.v[i].arg].n0,
			    c->args.v[c->nodes.v[i].arg].n1);
			return true;
		}
		c->nodes.v[i].argc = 0;
		end = sh.list + 2;
	} else if (end < e && c->src.p[end] == ':') {
		end++;
	}
	set_opener(c, i, MACRO_SILLYTAVERN, end, e);
	if (list) /* an empty argument is one, and false */
		c->headers.v[c->nodes.v[i].arg].empty = false;
	return true;
}

/* sillytavern's flags before a name; returns where the name begins. */
static uint32_t
parse_flags(struct compile *c, uint32_t i, uint32_t s, uint32_t e)
{
	size_t len;

	while (s < e && (strchr("!?~>#", c->src.p[s]) || js_blank(c->src, s, &len))) {
		if (c->src.p[s] == '#')
			c->nodes.v[i].flags |= NF_KEEP;
		s += strchr("!?~>#", c->src.p[s]) ? 1 : (uint32_t)len;
	}
	return s;
}

void
parse_macro(struct compile *c, uint32_t i)
{
	struct node *n = &c->nodes.v[i];
	uint32_t s = n->start + 2, e = n->end - 2;
	bool st = c->dialect == MACRO_SILLYTAVERN, child_first;
	char ch;

	if (n->skip > i + 1)
		pair_list(c, s, e, i + 1, n->skip);
	n = &c->nodes.v[i];
	n->arg = (uint32_t)c->args.n;
	trim_range(c, &s, &e);
	child_first = i + 1 < n->skip && c->nodes.v[i + 1].start == s && c->nodes.v[i + 1].end > s;
	if (s == e || (!child_first && e - s >= 2 && c->src.p[s] == ':' && c->src.p[s + 1] == ':')) {
		n->type = N_RAW;
		return;
	}
	ch = child_first ? '\0' : c->src.p[s];
	if (st && ch && strchr("!?~>#", ch)) {
		s = parse_flags(c, i, s, e);
		if (s == e) {
			c->nodes.v[i].type = N_RAW;
			return;
		}
		ch = c->src.p[s];
	}
	if (ch == '/' && e - s >= 2 && c->src.p[s + 1] == '/') {
		bool exact;
		unsigned row = row_find(STR("//"), c->dialect, &exact);

		if (st && e - s == 3 && c->src.p[s + 2] == '/') {
			parse_closer(c, i, s, e);
			return;
		}
		set_row(c, i, row - 1, true);
		if (!st || e - s > 2)
			add_arg(c, i, s + 2, e);
		return;
	}
	if ((ch == '.' || ch == '$') && c->dialect != MACRO_MARINARA && c->dialect != MACRO_TOMORIBOT) {
		if (st)
			parse_short_st(c, i, s, e);
		else
			parse_shorthand(c, i, s, e);
		return;
	}
	if (ch && ((st && parse_if_st(c, i, s, e)) || parse_tag(c, i, s, e) || parse_closer(c, i, s, e)))
		return;
	parse_named(c, i, s, e);
}
