/*
 * cond_parse: one lexer and one grammar for the conditions of all dialects; a table says what
 * counts as an operator and whether words next to each other join. Or-lists split into and-lists
 * split into terms; matched parentheses are stepped over, so the work is linear, and their
 * nesting is limited. Nothing is evaluated here.
 */
#include "macro/cond_private.h"

#include "base/utf8.h"

// clang-format off
static const struct op_name page_symbols[] = {
	{ "==", CMP_EQ }, { "!=", CMP_NE }, { ">=", CMP_GE }, { "<=", CMP_LE }, { ">", CMP_GT }, { "<", CMP_LT }, { NULL, 0 }
};
static const struct op_name page_words[] = {
	{ "contains", CMP_CONTAINS }, { "startsWith", CMP_STARTS }, { NULL, 0 }
};
static const struct op_name mar_symbols[] = {
	{ ">=", CMP_GE }, { "<=", CMP_LE }, { "==", CMP_EQ }, { "!=", CMP_NE }, { ">", CMP_GT }, { "<", CMP_LT }, { "=", CMP_EQ },
	{ NULL, 0 }
};
static const struct op_name mar_words[] = { /* a blank stands for any blanks */
	{ "is not", CMP_NE }, { "is", CMP_EQ }, { "not contains", CMP_NOT_CONTAINS }, { "not includes", CMP_NOT_CONTAINS },
	{ "contains", CMP_CONTAINS }, { "includes", CMP_CONTAINS }, { NULL, 0 }
};
// clang-format on

static const struct rules page_rules = { .symbols = page_symbols, .words = page_words };
static const struct rules mar_rules = {
	.join = true,
	.symbols = mar_symbols,
	.words = mar_words,
	.and_symbol = "&&",
	.or_symbol = "||",
	.curly = true,
	.or_list = true,
};

uint32_t
parse_fail(struct parser *p, enum macro_code code)
{
	if (!p->failed)
		p->error = code;
	p->failed = true;
	return 0;
}

/* ---- quotes ---- */

uint32_t
quote_mark(struct str s, size_t at, bool curly, int *class_out)
{
	unsigned char c = (unsigned char)s.p[at], d;

	if (c == '"' || c == '\'') {
		*class_out = c == '"' ? 1 : 2;
		return 1;
	}
	if (!curly || c != 0xe2 || at + 2 >= s.n || (unsigned char)s.p[at + 1] != 0x80)
		return 0;
	d = (unsigned char)s.p[at + 2];
	if (d < 0x98 || d > 0x9f) /* U+2018 … U+201F */
		return 0;
	*class_out = d >= 0x9c ? 1 : 2;
	return 3;
}

struct str
unescape_page(struct arena *a, struct str s)
{
	struct sb b = sb_new(a);

	if (str_chr(s, '\\', 0) == STR_NPOS)
		return s;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '\\' && i + 1 < s.n)
			i++;
		sb_addc(&b, s.p[i]);
	}
	return sb_str(&b);
}

struct str
unescape_marinara(struct arena *a, struct str s)
{
	struct sb once = sb_new(a), twice = sb_new(a);
	struct str t;
	int class;

	if (str_chr(s, '\\', 0) == STR_NPOS)
		return s;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '\\' && i + 1 < s.n &&
		    (s.p[i + 1] == '\\' || quote_mark(s, i + 1, true, &class)))
			i++;
		sb_addc(&once, s.p[i]);
	}
	t = sb_str(&once);
	for (size_t i = 0; i < t.n; i++) {
		bool nl = t.p[i] == '\\' && i + 1 < t.n && t.p[i + 1] == 'n';

		sb_addc(&twice, nl ? '\n' : t.p[i]);
		i += nl;
	}
	return sb_str(&twice);
}

/* Steps over a nested macro or block at byte `at`; 0 if none begins there, else the byte after it. *n0, *n1:
 * its nodes. */
uint32_t
step_child(struct parser *p, uint32_t at, uint32_t *n0, uint32_t *n1)
{
	const struct node *v = p->c->nodes.v;
	uint32_t i;

	p->child = node_from(v, p->child, p->last, at);
	i = p->child;
	if (i >= p->last || v[i].start != at)
		return 0;
	*n0 = i;
	*n1 = p->child = unit_skip(v, i);
	return v[i].type == N_TEXT && v[i].end == v[i].start ? 0 : unit_end(v, i);
}

/* The byte after the closing mark of the quotation that begins at `at`, or 0 if it has none. *in_s, *in_e:
 * its inside. */
uint32_t
quoted_run(struct parser *p, uint32_t at, uint32_t *in_s, uint32_t *in_e)
{
	struct str src = p->c->src;
	int class, other;
	uint32_t n = quote_mark(src, at, p->rules->curly, &class), n0, n1, end, k;

	*in_s = at + n;
	for (k = at + n; k < p->e;) {
		if ((end = step_child(p, k, &n0, &n1)) != 0) {
			k = end;
		} else if (src.p[k] == '\\' && k + 1 < p->e) {
			k += 2;
		} else if ((n = quote_mark(src, k, p->rules->curly, &other)) != 0 && other == class) {
			*in_e = k;
			return k + n <= p->e ? k + n : 0;
		} else {
			k++;
		}
	}
	return 0;
}

/* ---- tokens ---- */

static struct token *
push(struct parser *p, enum token_kind kind, uint32_t s, uint32_t e)
{
	struct token t = { .kind = (uint8_t)kind, .s = s, .e = e };

	vec_push(p->c->a, &p->t, t);
	return vec_last(&p->t);
}

/* Characters that no bare word of the page's dialect holds. */
static bool
page_special(unsigned char c)
{
	return c < 0x80 && strchr("()\"'=!<>,+-*/?;:[]{}|&%^~\\", c) != NULL && c != '\0';
}

static uint32_t
page_word_end(const struct parser *p, uint32_t at)
{
	struct str src = p->c->src;
	uint32_t next = p->child < p->last ? p->c->nodes.v[p->child].start : p->e;
	size_t len;

	if (next > p->e)
		next = p->e;
	while (at < next && !page_special((unsigned char)src.p[at]) && !js_blank(src, at, &len))
		at += (uint32_t)len;
	return at;
}

/* -1, 1.5, .5 at `at`: the byte after it, or 0. */
static uint32_t
page_number_end(const struct parser *p, uint32_t at)
{
	struct str src = p->c->src;
	uint32_t k = at, d;
	bool digits;

	if (k < p->e && src.p[k] == '-')
		k++;
	d = k;
	while (k < p->e && src.p[k] >= '0' && src.p[k] <= '9')
		k++;
	digits = k > d;
	if (k + 1 < p->e && src.p[k] == '.' && src.p[k + 1] >= '0' && src.p[k + 1] <= '9') {
		k++;
		while (k < p->e && src.p[k] >= '0' && src.p[k] <= '9')
			k++;
		digits = true;
	}
	return digits ? k : 0;
}

static void
page_word(struct parser *p, uint32_t s, uint32_t e)
{
	struct str w = str_sub(p->c->src, s, e);

	if (str_ieq(w, STR("and"))) {
		push(p, T_AND, s, e);
	} else if (str_ieq(w, STR("or"))) {
		push(p, T_OR, s, e);
	} else if (str_ieq(w, STR("not"))) {
		push(p, T_NOT, s, e);
	} else {
		for (const struct op_name *o = p->rules->words; o->text; o++)
			if ((w.p[0] | 0x20) == o->text[0] && str_ieq(w, str_c(o->text))) {
				push(p, T_OP, s, e)->op = o->op;
				return;
			}
		push(p, T_WORD, s, e);
	}
}

/* One token of the page's dialect at `at`; returns the byte after it, 0 on an error. */
static uint32_t
page_token(struct parser *p, uint32_t at)
{
	struct str src = p->c->src, rest = str_sub(src, at, p->e);
	uint32_t n0, n1, end, in_s, in_e;
	struct token *t;
	int class;

	if ((end = step_child(p, at, &n0, &n1)) != 0) {
		t = push(p, T_MACRO, at, end);
		t->n0 = n0;
		t->n1 = n1;
		return end;
	}
	if (rest.p[0] == '(' || rest.p[0] == ')') {
		push(p, rest.p[0] == '(' ? T_LP : T_RP, at, at + 1);
		return at + 1;
	}
	if (quote_mark(src, at, false, &class)) {
		uint32_t from = p->child;

		if ((end = quoted_run(p, at, &in_s, &in_e)) == 0)
			return parse_fail(p, MACRO_W_PARSE);
		t = push(p, T_QUOTED, in_s, in_e);
		t->n0 = node_from(p->c->nodes.v, from, p->last, in_s);
		t->n1 = node_from(p->c->nodes.v, t->n0, p->last, in_e);
		return end;
	}
	for (const struct op_name *o = p->rules->symbols; o->text; o++)
		if (rest.p[0] == o->text[0] && str_starts(rest, str_c(o->text))) {
			end = at + (uint32_t)strlen(o->text);
			if (end < p->e && src.p[end] == '=')
				return parse_fail(p, MACRO_W_UNSUPPORTED); /* === */
			push(p, T_OP, at, end)->op = o->op;
			return end;
		}
	if ((end = page_number_end(p, at)) != 0) {
		push(p, T_NUMBER, at, end);
		return end;
	}
	end = page_word_end(p, at);
	if (end == at)
		return parse_fail(p, MACRO_W_UNSUPPORTED);
	page_word(p, at, end);
	return end;
}

static void
lex_page(struct parser *p)
{
	uint32_t at = p->s;
	size_t len;

	while (at < p->e && !p->failed) {
		p->child = node_from(p->c->nodes.v, p->child, p->last, at);
		if (js_blank(p->c->src, at, &len))
			at += (uint32_t)len;
		else
			at = page_token(p, at);
	}
}

/* Only what divides: parentheses, && and ||; the rest is text that a term looks into. */
static void
lex_joined(struct parser *p)
{
	struct str src = p->c->src;
	uint32_t at = p->s, from = at, from_child = p->child, end, n0, n1, in_s, in_e;
	int class;

	while (at < p->e) {
		struct str rest = str_sub(src, at, p->e);
		enum token_kind kind = T_TEXT;
		uint32_t len = 1;

		if ((end = step_child(p, at, &n0, &n1)) != 0) {
			at = end;
			continue;
		}
		if (quote_mark(src, at, p->rules->curly, &class)) {
			end = quoted_run(p, at, &in_s, &in_e);
			at = end ? end : p->e;
			continue;
		}
		if (rest.p[0] == '(')
			kind = T_LP;
		else if (rest.p[0] == ')')
			kind = T_RP;
		else if (str_starts(rest, str_c(p->rules->and_symbol)))
			kind = T_AND;
		else if (str_starts(rest, str_c(p->rules->or_symbol)))
			kind = T_OR;
		if (kind == T_AND || kind == T_OR)
			len = 2;
		if (kind != T_TEXT) {
			if (js_trim(str_sub(src, from, at)).n)
				push(p, T_TEXT, from, at)->n0 = from_child;
			push(p, kind, at, at + len)->n0 = p->child;
			from = at + len;
			from_child = p->child;
		}
		at += len;
	}
	if (js_trim(str_sub(src, from, p->e)).n)
		push(p, T_TEXT, from, p->e)->n0 = from_child;
}

static bool
match_parens(struct parser *p)
{
	VEC(uint32_t) open = { 0 };
	bool whole = true;

	for (uint32_t i = 0; i < p->t.n; i++) {
		if (p->t.v[i].kind == T_LP) {
			vec_push(p->c->a, &open, i);
		} else if (p->t.v[i].kind == T_RP) {
			if (!open.n) {
				whole = false;
				continue;
			}
			p->t.v[i].match = *vec_last(&open) + 1;
			p->t.v[*vec_last(&open)].match = i + 1;
			open.n--;
		}
	}
	return whole && !open.n;
}

/* ---- building ---- */

uint32_t
add_cond(struct compile *c, enum cond_kind kind)
{
	struct cond n = { .kind = (uint8_t)kind };

	vec_push(c->a, &c->conds, n);
	return (uint32_t)c->conds.n;
}

uint32_t
add_operand(struct compile *c, struct operand o)
{
	o.header = (uint32_t)c->headers.n;
	o.cond = c->conds.n ? (uint32_t)c->conds.n - 1 : 0; /* a comparison is made before its operands */
	vec_push(c->a, &c->operands, o);
	return (uint32_t)c->operands.n - 1;
}

static uint32_t
page_operand(struct parser *p, const struct token *t)
{
	struct operand o = { .s = t->s, .e = t->e, .n0 = t->n0, .n1 = t->n1 };
	struct str text = str_sub(p->c->src, t->s, t->e);

	switch (t->kind) {
	case T_QUOTED:
		o.kind = OP_QUOTED;
		o.text = t->n0 == t->n1 ? unescape_page(p->c->a, text) : text;
		break;
	case T_MACRO:
		o.kind = OP_MACRO;
		if (p->c->nodes.v[t->n0].type == N_RAW)
			return parse_fail(p, MACRO_W_PARSE);
		break;
	case T_WORD:
		o.kind = OP_WORD;
		o.text = text;
		break;
	default:
		o.kind = OP_QUOTED; /* a number is its own text */
		o.text = text;
		o.plain_number = true;
		break;
	}
	return add_operand(p->c, o);
}

/* An operand, maybe in parentheses. */
static uint32_t
page_primary(struct parser *p, uint32_t lo, uint32_t hi)
{
	while (hi - lo > 2 && p->t.v[lo].kind == T_LP && p->t.v[lo].match == hi) {
		lo++;
		hi--;
	}
	if (hi - lo != 1 || p->t.v[lo].kind < T_QUOTED)
		return parse_fail(p, MACRO_W_PARSE);
	return page_operand(p, &p->t.v[lo]);
}

static uint32_t
page_term(struct parser *p, uint32_t lo, uint32_t hi, unsigned depth)
{
	uint32_t op = hi, n;
	bool negate = false;

	while (lo < hi && p->t.v[lo].kind == T_NOT) {
		negate = !negate;
		lo++;
	}
	if (lo == hi)
		return parse_fail(p, MACRO_W_PARSE);
	for (uint32_t i = lo; i < hi; i++) {
		if (p->t.v[i].kind == T_LP)
			i = p->t.v[i].match - 1;
		else if (p->t.v[i].kind == T_OP && op == hi)
			op = i;
	}
	if (op < hi) {
		uint32_t l = page_primary(p, lo, op), r = p->failed ? 0 : page_primary(p, op + 1, hi);

		n = add_cond(p->c, C_CMP);
		p->c->conds.v[n - 1].op = p->t.v[op].op;
		p->c->conds.v[n - 1].l = l;
		p->c->conds.v[n - 1].r = r;
	} else if (p->t.v[lo].kind == T_LP && p->t.v[lo].match == hi) {
		n = parse_or(p, lo + 1, hi - 1, depth + 1);
	} else {
		uint32_t l = page_primary(p, lo, hi);

		n = add_cond(p->c, C_TRUTH);
		p->c->conds.v[n - 1].l = l;
	}
	if (negate && n) {
		uint32_t not = add_cond(p->c, C_NOT);

		p->c->conds.v[not -1].child = n;
		return not ;
	}
	return n;
}

/* ---- lists ---- */

/* The next token of this kind in [lo, hi) outside of parentheses, or hi. */
static uint32_t
split_at(const struct parser *p, uint32_t lo, uint32_t hi, enum token_kind kind)
{
	for (uint32_t i = lo; i < hi; i++) {
		if (p->t.v[i].kind == kind)
			return i;
		if (p->t.v[i].kind == T_LP) {
			if (!p->t.v[i].match || p->t.v[i].match > hi)
				return hi; /* the rest is one term */
			i = p->t.v[i].match - 1;
		}
	}
	return hi;
}

static uint32_t
parse_and(struct parser *p, uint32_t lo, uint32_t hi, unsigned depth, bool *atom_out)
{
	uint32_t list = 0, last = 0;

	for (;;) {
		uint32_t at = split_at(p, lo, hi, T_AND), n;

		n = p->rules->join ? mar_term(p, lo, at, depth, atom_out) : page_term(p, lo, at, depth);
		if (p->failed)
			return 0;
		if (at == hi && !list)
			return n;
		if (!list) {
			list = add_cond(p->c, C_AND);
			p->c->conds.v[list - 1].child = n;
		} else {
			p->c->conds.v[last - 1].next = n;
		}
		last = n;
		*atom_out = false;
		if (at == hi)
			return list;
		lo = at + 1;
	}
}

/* == "a" || "b": a later lone literal is compared with the left side of the latest equality. */
static void
or_shorthand(struct parser *p, uint32_t n, bool atom, uint32_t *left)
{
	struct cond *k = &p->c->conds.v[n - 1];

	if (!atom)
		return;
	if (k->kind == C_CMP && k->op == CMP_EQ) {
		*left = k->l + 1;
	} else if (k->kind == C_TRUTH && *left && p->c->operands.v[k->l].kind == OP_QUOTED) {
		k->kind = C_CMP;
		k->op = CMP_EQ;
		k->r = k->l;
		k->l = *left - 1;
		settle_criteria(p, k->r, k->l);
	} else if (k->kind == C_TRUTH && p->c->operands.v[k->l].kind == OP_QUOTED) {
		settle_criteria(p, k->l, k->l);
	}
}

uint32_t
parse_or(struct parser *p, uint32_t lo, uint32_t hi, unsigned depth)
{
	uint32_t list = 0, last = 0, left = 0;

	if (depth > MACRO_PAREN_MAX)
		return parse_fail(p, MACRO_W_DEPTH);
	for (;;) {
		uint32_t at = split_at(p, lo, hi, T_OR), n;
		bool atom = false;

		n = parse_and(p, lo, at, depth, &atom);
		if (p->failed)
			return 0;
		if (p->rules->or_list)
			or_shorthand(p, n, atom, &left);
		if (at == hi && !list)
			return n;
		if (!list) {
			list = add_cond(p->c, C_OR);
			p->c->conds.v[list - 1].child = n;
		} else {
			p->c->conds.v[last - 1].next = n;
		}
		last = n;
		if (at == hi)
			return list;
		lo = at + 1;
	}
}

/* ---- single values: sillytavern, tomoribot ---- */

/* Node range and kind of a text that is one operand. */
static struct operand
whole_operand(struct parser *p, uint32_t s, uint32_t e)
{
	const struct node *v = p->c->nodes.v;
	struct operand o = { .kind = OP_WORD, .s = s, .e = e, .text = str_sub(p->c->src, s, e) };

	o.n0 = node_from(v, p->child, p->last, s);
	o.n1 = node_from(v, o.n0, p->last, e);
	if (o.n0 < o.n1)
		o.kind = OP_MIXED;
	return o;
}

static uint32_t
parse_value(struct parser *p)
{
	bool negate = p->d == MACRO_SILLYTAVERN && p->s < p->e && p->c->src.p[p->s] == '!';
	uint32_t s = p->s + negate, e = p->e, n, l;

	trim_range(p->c, &s, &e);
	l = add_operand(p->c, whole_operand(p, s, e));
	n = add_cond(p->c, C_TRUTH);
	p->c->conds.v[n - 1].l = l;
	if (negate) {
		uint32_t not = add_cond(p->c, C_NOT);

		p->c->conds.v[not -1].child = n;
		return not ;
	}
	return n;
}

/* tomoribot: {{if !tool:name}}; s is at the word if. */
static uint32_t
parse_predicate(struct parser *p)
{
	struct str src = p->c->src;
	uint32_t s = p->s + 2, e = p->e, n, at;
	struct operand o = { .kind = OP_TOOL };
	bool negate;

	trim_range(p->c, &s, &e);
	negate = s < e && src.p[s] == '!';
	s += negate;
	at = s;
	while (at < e && at - s < sizeof("tool_family") && src.p[at] != ':')
		at++; /* no further than the longest word: conditions nest */
	if (str_ieq(str_sub(src, s, at), STR("capability")))
		o.kind = OP_CAPABILITY;
	else if (str_ieq(str_sub(src, s, at), STR("tool_family")))
		o.kind = OP_FAMILY;
	else if (!str_ieq(str_sub(src, s, at), STR("tool")))
		return parse_fail(p, MACRO_W_COND_MALFORMED);
	o.text = str_sub(src, at + 1, e);
	for (size_t i = 0; i < o.text.n; i++) {
		char ch = o.text.p[i];
		bool alnum = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9');

		if (!alnum && (i == 0 || !strchr("_.-", ch)))
			return parse_fail(p, MACRO_W_COND_MALFORMED);
	}
	if (!o.text.n)
		return parse_fail(p, MACRO_W_COND_MALFORMED);
	o.text = utf8_lower(p->c->a, o.text);
	n = add_cond(p->c, C_TRUTH);
	p->c->conds.v[n - 1].l = add_operand(p->c, o);
	p->c->conds.v[n - 1].op = negate; /* an unknown capability is false, also inverted */
	return n;
}

uint32_t
cond_parse(struct compile *c, enum macro_dialect d, uint32_t s, uint32_t e, uint32_t n0, uint32_t n1)
{
	struct parser p = { .c = c, .d = d, .last = n1, .child = n0 };
	struct header h = { 0 };
	bool predicate = d == MACRO_TOMORIBOT && s < e && (c->src.p[s] | 0x20) == 'i';

	trim_range(c, &s, &e);
	p.s = s;
	p.e = e;
	p.t.v = c->tokens;
	p.t.cap = c->tokens_cap;
	p.rules = d == MACRO_MARINARA ? &mar_rules : &page_rules;
	c->saw_char = false;
	h.empty = s == e;
	if (h.empty) {
		h.root = add_cond(c, C_FALSE);
	} else if (predicate) {
		h.root = parse_predicate(&p);
	} else if (d == MACRO_SILLYTAVERN || d == MACRO_TOMORIBOT) {
		h.root = parse_value(&p);
	} else {
		if (p.rules->join)
			lex_joined(&p);
		else
			lex_page(&p);
		if (!match_parens(&p) && !p.rules->join)
			parse_fail(&p, MACRO_W_PARSE);
		if (!p.failed)
			h.root = parse_or(&p, 0, (uint32_t)p.t.n, 0);
	}
	if (p.failed) {
		h.root = 0;
		h.error = (uint8_t)(p.error + 1);
	}
	c->tokens = p.t.v;
	c->tokens_cap = p.t.cap;
	vec_push(c->a, &c->headers, h);
	return (uint32_t)c->headers.n - 1;
}
