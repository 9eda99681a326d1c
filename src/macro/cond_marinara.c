/*
 * cond_marinara: terms of marinara's conditions: the first operator of a text, its operands, decision
 * statements with their modifiers and criteria.
 */
#include "macro/cond_private.h"

#include "macro/decide.h"

#include "base/utf8.h"

/* One modifier: NAME : VALUE, the value maybe a quotation with a :mode behind it. */
struct modifier {
	struct str name, value, mode;
	bool quoted;
	uint32_t in_s, in_e; /* inside of the quotation */
};

static uint32_t
skip_blanks(struct str src, uint32_t at, uint32_t e)
{
	size_t len;

	while (at < e && js_blank(src, at, &len))
		at += (uint32_t)len;
	return at;
}

static uint32_t
skip_solid(struct str src, uint32_t at, uint32_t e)
{
	size_t len;

	while (at < e && !js_blank(src, at, &len))
		at += (uint32_t)len;
	return at;
}

/* Reads a modifier at `at`; the byte after it, or 0 if it is none. */
static uint32_t
read_modifier(struct parser *p, uint32_t at, uint32_t e, uint32_t first, struct modifier *x)
{
	struct str src = p->c->src;
	uint32_t from = at;
	int class;

	while (at < e && ((src.p[at] | 0x20) >= 'a' && (src.p[at] | 0x20) <= 'z'))
		at++;
	*x = (struct modifier){ .name = str_sub(src, from, at) };
	at = skip_blanks(src, at, e);
	if (!x->name.n || at >= e || src.p[at] != ':')
		return 0;
	from = at = skip_blanks(src, at + 1, e);
	x->quoted = at < e && quote_mark(src, at, true, &class);
	if (!x->quoted) {
		at = skip_solid(src, at, e);
		x->value = str_sub(src, from, at);
		return at;
	}
	p->child = node_from(p->c->nodes.v, first, p->last, at);
	at = quoted_run(p, at, &x->in_s, &x->in_e);
	if (at == 0 || at > e)
		return 0;
	x->value = str_sub(src, from, at);
	if (at < e && src.p[at] == ':') {
		uint32_t mode = at + 1;

		for (at = mode; at < e && (src.p[at] | 0x20) >= 'a' && (src.p[at] | 0x20) <= 'z';)
			at++;
		x->mode = str_sub(src, mode, at);
	}
	if (at < e && skip_blanks(src, at, e) == at) { /* more behind the marks: a word that nobody knows */
		x->quoted = false;
		at = skip_solid(src, from, e);
		x->value = str_sub(src, from, at);
	}
	return at;
}

/* A number of turns, 1 to 1000 (larger is cut); 0: not one. */
static unsigned
turns(struct str s)
{
	int64_t n;

	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9')
			return 0;
	if (!s.n)
		return 0;
	return !str_int(s, &n) || n > 1000 ? 1000 : (unsigned)n;
}

static void
apply_lasts(struct mods *m, const struct modifier *x, enum macro_lasts lasts)
{
	m->lasts = (uint8_t)lasts;
	m->lasts_or = lasts == MACRO_LASTS_WHILE;
	if (str_ieq(x->mode, STR("and")) || str_ieq(x->mode, STR("restrict")))
		m->lasts_or = false;
	else if (str_ieq(x->mode, STR("or")) || str_ieq(x->mode, STR("extend")))
		m->lasts_or = true;
	m->s = x->in_s;
	m->e = x->in_e;
}

/* The last of a name counts, of until and while the first; unknown ones are ignored. */
static void
apply_modifier(struct parser *p, const struct modifier *x, struct mods *m)
{
	unsigned n = turns(x->value);
	bool until = str_ieq(x->name, STR("until"));

	if (str_ieq(x->name, STR("sticky"))) {
		m->sticky = n ? n : m->sticky;
	} else if (str_ieq(x->name, STR("cooldown"))) {
		m->cooldown = n ? n : m->cooldown;
	} else if (str_ieq(x->name, STR("every"))) {
		m->every = n ? n : m->every;
	} else if (str_ieq(x->name, STR("priority"))) {
		m->priority = MACRO_PRIORITY_MEDIUM;
		if (str_ieq(x->value, STR("high")))
			m->priority = MACRO_PRIORITY_HIGH;
		else if (str_ieq(x->value, STR("low")))
			m->priority = MACRO_PRIORITY_LOW;
	} else if ((until || str_ieq(x->name, STR("while"))) && x->quoted && !m->lasts &&
		   js_trim(str_sub(p->c->src, x->in_s, x->in_e)).n) {
		apply_lasts(m, x, until ? MACRO_LASTS_UNTIL : MACRO_LASTS_WHILE);
	}
}

/* The modifiers after a statement's closing mark; false if the text holds anything else. */
static bool
parse_mods(struct parser *p, uint32_t at, uint32_t e, struct mods *m)
{
	uint32_t first = m->n0;

	for (;;) {
		uint32_t from = at;
		struct modifier x;

		at = skip_blanks(p->c->src, at, e);
		if (at == e)
			return true;
		if (at == from || (at = read_modifier(p, at, e, first, &x)) == 0)
			return false;
		apply_modifier(p, &x, m);
	}
}

#define QUOTE_TRIES 64 /* closing marks that are tried: a statement may hold its own kind of marks */

/* decision:… and decision_choice:… after the colon. False: no statement, so no decision. */
static bool
parse_decision(struct parser *p, uint32_t s, uint32_t e, struct operand *o)
{
	struct str src = p->c->src;
	struct mods m = { 0 };
	int class, other;
	uint32_t n, first = o->n0;
	bool found = false;

	trim_range(p->c, &s, &e);
	if (s == e)
		return false;
	n = quote_mark(src, s, true, &class);
	if (n) {
		unsigned tries = 0;
		uint32_t last = 0;

		p->child = first;
		for (uint32_t k = s + n, n0, n1, end, q; k < e && !found && tries < QUOTE_TRIES;) {
			uint32_t child;

			if ((end = step_child(p, k, &n0, &n1)) != 0) {
				k = end;
			} else if (src.p[k] == '\\' && k + 1 < e) {
				k += 2;
			} else if ((q = quote_mark(src, k, true, &other)) != 0 && other == class) {
				child = p->child;
				m = (struct mods){ .n0 = first };
				tries++;
				last = k;
				found = parse_mods(p, k + q, e, &m);
				p->child = child;
				k += q;
			} else {
				k++;
			}
		}
		if (found) {
			s += n;
			e = last;
		} else {
			/* more than modifiers behind it: all of it is the statement */
			m = (struct mods){ .n0 = first };
		}
	}
	if (js_trim(str_sub(src, s, e)).n == 0)
		return false;
	o->s = s;
	o->e = e;
	o->n0 = node_from(p->c->nodes.v, first, p->last, s);
	o->n1 = node_from(p->c->nodes.v, o->n0, p->last, e);
	o->plain = !found;
	o->text = found ? unescape_marinara(p->c->a, str_sub(src, s, e)) : str_sub(src, s, e);
	m.n0 = node_from(p->c->nodes.v, first, p->last, m.s);
	m.n1 = m.lasts ? node_from(p->c->nodes.v, m.n0, p->last, m.e) : m.n0;
	vec_push(p->c->a, &p->c->mods, m);
	o->more = (uint32_t)p->c->mods.n - 1;
	p->c->traits |= MACRO_HAS_DECISION;
	return true;
}

/* WORD ws* ':' at the start of a text: the byte after the colon, or 0. */
uint32_t
prefix_colon(struct str src, uint32_t s, uint32_t e, const char *word, bool dot)
{
	uint32_t at = s + (uint32_t)strlen(word);
	size_t len;

	if (at > e || !str_ieq(str_sub(src, s, at), str_c(word)))
		return 0;
	if (dot)
		return at < e && (src.p[at] == ':' || src.p[at] == '.') ? at + 1 : 0;
	while (at < e && js_blank(src, at, &len))
		at += (uint32_t)len;
	return at < e && src.p[at] == ':' ? at + 1 : 0;
}

static bool
plain_decimal(struct str s)
{
	double v;

	for (size_t i = 0; i < s.n; i++)
		if (!(s.p[i] >= '0' && s.p[i] <= '9') && s.p[i] != '.' && !(i == 0 && s.p[i] == '-'))
			return false;
	return js_number(s, &v);
}

/* A quoted operand, maybe with criteria: "angry":"shouts". */
static bool
mar_quoted(struct parser *p, uint32_t s, uint32_t e, uint32_t first, struct operand *o)
{
	struct str src = p->c->src;
	int class, other;
	uint32_t in_s, in_e, end;

	if (!quote_mark(src, s, true, &class))
		return false;
	p->child = node_from(p->c->nodes.v, first, p->last, s);
	end = quoted_run(p, s, &in_s, &in_e);
	if (end == 0 || end > e)
		return false;
	if (end < e) { /* criteria: a colon and the same kind of marks up to the end */
		struct operand crit = { .kind = OP_QUOTED }, whole = *o;
		uint32_t cs, ce;

		if (src.p[end] != ':' || end + 1 >= e || !quote_mark(src, end + 1, true, &other) ||
		    other != class || quoted_run(p, end + 1, &cs, &ce) != e)
			return false;
		crit.s = cs;
		crit.e = ce;
		crit.n0 = node_from(p->c->nodes.v, first, p->last, cs);
		crit.n1 = node_from(p->c->nodes.v, crit.n0, p->last, ce);
		crit.text = unescape_marinara(p->c->a, str_sub(src, cs, ce));
		crit.more = add_operand(p->c, whole) + 1;
		o->more = add_operand(p->c, crit) + 1;
	}
	o->kind = OP_QUOTED;
	o->s = in_s;
	o->e = in_e;
	o->n0 = node_from(p->c->nodes.v, first, p->last, in_s);
	o->n1 = node_from(p->c->nodes.v, o->n0, p->last, in_e);
	o->text = unescape_marinara(p->c->a, str_sub(src, in_s, in_e));
	return true;
}

static uint32_t
mar_operand(struct parser *p, uint32_t s, uint32_t e, uint32_t first)
{
	struct str src = p->c->src;
	const struct node *v = p->c->nodes.v;
	struct operand o = { .kind = OP_WORD };
	uint32_t at;

	trim_range(p->c, &s, &e);
	o.s = s;
	o.e = e;
	o.n0 = node_from(v, first, p->last, s);
	o.n1 = node_from(v, o.n0, p->last, e);
	o.text = str_sub(src, s, e);
	if (mar_quoted(p, s, e, o.n0, &o))
		return add_operand(p->c, o);
	if ((at = prefix_colon(src, s, e, "decision", false)) != 0 && parse_decision(p, at, e, &o)) {
		o.kind = OP_DECISION;
	} else if ((at = prefix_colon(src, s, e, "decision_choice", false)) != 0 &&
		   parse_decision(p, at, e, &o)) {
		o.kind = OP_CHOICE;
	} else if ((at = prefix_colon(src, s, e, "var", true)) != 0) {
		o.kind = OP_VAR;
		o.s = at;
		trim_range(p->c, &o.s, &o.e);
		o.text = str_sub(src, o.s, o.e);
	} else if (o.n0 < o.n1) {
		o.kind = v[o.n0].start == s && unit_end(v, o.n0) == e ? OP_MACRO : OP_MIXED;
	} else {
		const struct keyword *k = keyword_find(o.text);

		o.plain_number = plain_decimal(o.text);
		if (k && k->flags & (KW_CHAR | KW_GROUP))
			p->c->saw_char = true;
	}
	return add_operand(p->c, o);
}

/* Length of an operator word at `at`, blanks inside free; 0 = no. */
static uint32_t
op_word_at(struct str src, uint32_t at, uint32_t e, const char *word)
{
	uint32_t k = at;
	size_t len;

	for (const char *w = word; *w; w++) {
		if (*w == ' ') {
			if (k >= e || !js_blank(src, k, &len))
				return 0;
			while (k < e && js_blank(src, k, &len))
				k += (uint32_t)len;
		} else if (k >= e || (src.p[k] | 0x20) != *w) {
			return 0;
		} else {
			k++;
		}
	}
	return k == e || js_blank(src, k, &len) ? k - at : 0;
}

static bool
blank_before(struct str src, uint32_t s, uint32_t at)
{
	size_t len, prev;

	if (at == s)
		return true;
	prev = utf8_prev(src, at);
	return js_blank(src, prev, &len) && prev + len == at;
}

/* The operator at byte `at`: its length, 0 = none. */
static uint32_t
mar_operator(struct parser *p, uint32_t s, uint32_t at, uint32_t e, uint8_t *op_out)
{
	struct str src = p->c->src, rest = str_sub(src, at, e);
	uint32_t len = 0;

	for (const struct op_name *o = p->rules->symbols; o->text && !len; o++)
		if (str_starts(rest, str_c(o->text))) {
			len = (uint32_t)strlen(o->text);
			*op_out = o->op;
		}
	if (!len && strchr("iInNcC", src.p[at]) && blank_before(src, s, at))
		for (const struct op_name *o = p->rules->words; o->text && !len; o++) {
			len = op_word_at(src, at, e, o->text);
			*op_out = o->op;
		}
	if (len && (js_trim(str_sub(src, s, at)).n == 0 || js_trim(str_sub(src, at + len, e)).n == 0))
		return 0;
	return len;
}

/* Criteria belong to choices only; elsewhere the whole is a literal. */
void
settle_criteria(struct parser *p, uint32_t i, uint32_t other)
{
	struct operand *o = &p->c->operands.v[i];

	if (o->kind != OP_QUOTED || !o->more || p->c->operands.v[other].kind == OP_CHOICE)
		return;
	*o = p->c->operands.v[p->c->operands.v[o->more - 1].more - 1];
}

uint32_t
mar_term(struct parser *p, uint32_t lo, uint32_t hi, unsigned depth, bool *atom_out)
{
	uint32_t s, e, at, n, n0, n1, end, in_s, in_e, len = 0, first;
	uint8_t op = 0;
	int class;

	*atom_out = false;
	if (lo == hi)
		return add_cond(p->c, C_FALSE);
	if (p->t.v[lo].kind == T_LP && p->t.v[lo].match == hi && depth < MACRO_PAREN_MAX)
		return parse_or(p, lo + 1, hi - 1, depth + 1);
	*atom_out = true;
	s = p->t.v[lo].s;
	e = p->t.v[hi - 1].e;
	trim_range(p->c, &s, &e);
	p->child = node_from(p->c->nodes.v, p->t.v[lo].n0, p->last, s);
	first = p->child;
	for (at = s; at < e && !len;) {
		if ((end = step_child(p, at, &n0, &n1)) != 0) {
			at = end;
		} else if (quote_mark(p->c->src, at, true, &class)) {
			end = quoted_run(p, at, &in_s, &in_e);
			at = end ? end : e;
		} else if ((len = mar_operator(p, s, at, e, &op)) == 0) {
			at++;
		}
	}
	n = add_cond(p->c, len ? C_CMP : C_TRUTH);
	if (len) {
		uint32_t l = mar_operand(p, s, at, first), r = mar_operand(p, at + len, e, first);

		settle_criteria(p, l, r);
		settle_criteria(p, r, l);
		p->c->conds.v[n - 1].op = op;
		p->c->conds.v[n - 1].l = l;
		p->c->conds.v[n - 1].r = r;
	} else {
		uint32_t l = mar_operand(p, s, e, first);

		p->c->conds.v[n - 1].l = l;
	}
	return n;
}
