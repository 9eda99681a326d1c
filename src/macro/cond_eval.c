/*
 * cond_eval: decides conditions; the one evaluator for all dialects. A policy per dialect says how
 * texts compare and which words are false. Lazy: what is not needed is not evaluated, writes
 * nothing and cannot fail. Besides yes and no there is unknown, which only the planning pass meets.
 */
#include "macro/macro_private.h"

#include "base/utf8.h"

struct policy {
	bool fold;           /* texts compare trimmed and without case */
	bool order_is_error; /* < of something that is no number keeps the block raw */
	bool trim_truth;     /* the false words are compared trimmed */
	bool strip_quotes;   /* values lose one pair of quotes */
	bool blank_is_true;  /* only nothing at all is false, blanks are a text */
	const char *const *falsy;
};

// clang-format off
static const char *const falsy_page[] = { "false", "0", "off", NULL };
static const char *const falsy_mar[] = { "false", "0", "no", "off", "null", "undefined", NULL };
static const char *const falsy_tom[] = { "false", "0", NULL };

static const struct policy policies[MACRO_DIALECT__COUNT] = {
	[MACRO_AUTO] = { false, true, true, true, false, falsy_page },
	[MACRO_TAVERNHEADLESS] = { false, true, true, true, false, falsy_page },
	[MACRO_SILLYTAVERN] = { false, false, true, false, true, falsy_page },
	[MACRO_MARINARA] = { true, false, false, false, false, falsy_mar },
	[MACRO_TOMORIBOT] = { false, false, true, false, false, falsy_tom },
};
// clang-format on

/* An operand's value. */
struct val {
	struct str s;
	bool literal;    /* written between quotes: taken as it stands */
	bool unanswered; /* every comparison is false */
	bool known;      /* may settle a condition while planning */
};

enum got { GOT_OK, GOT_HALT, GOT_DEPTH };

bool
truth_words(struct str value, enum macro_dialect d)
{
	const struct policy *p = &policies[d];
	struct str t = js_trim(value);

	if (p->blank_is_true ? !value.n : !t.n)
		return false;
	if (!p->trim_truth)
		t = value;
	for (const char *const *w = p->falsy; *w; w++)
		if (str_ieq(t, str_c(*w)))
			return false;
	return true;
}

static struct str
as_written(struct arena *a, struct str s)
{
	(void)a;
	return s;
}

/* A literal with macros in it: escapes count in its own text only. */
static enum got
quoted_value(struct ev *ev, const struct operand *o, enum macro_dialect d, struct str *out)
{
	const struct node *v = ev->t->nodes;
	struct sb sb = sb_new(ev->r->a);
	uint32_t pos = o->s, i = o->n0;
	struct str (*unescape)(struct arena *, struct str) = o->plain              ? as_written
							     : d == MACRO_MARINARA ? unescape_marinara
										   : unescape_page;

	if (o->n0 == o->n1) {
		*out = o->text;
		return GOT_OK;
	}
	while (i < o->n1) {
		struct arg one = { .s = v[i].start, .n0 = i };
		struct str value;
		enum nv st;

		if (v[i].type == N_TEXT) {
			i++;
			continue;
		}
		one.e = unit_end(v, i);
		one.n1 = unit_skip(v, i);
		sb_add(&sb, unescape(ev->r->a, eval_src(ev, pos, one.s)));
		st = eval_text(ev, &one, &value);
		if (st != NV_OK)
			return st == NV_DEPTH ? GOT_DEPTH : GOT_HALT;
		sb_add(&sb, value);
		pos = one.e;
		i = one.n1;
	}
	sb_add(&sb, unescape(ev->r->a, eval_src(ev, pos, o->e)));
	*out = sb_str(&sb);
	return GOT_OK;
}

/* One macro or block; what it refuses to print is an empty operand (decisions 28). */
static enum got
macro_operand(struct ev *ev, const struct operand *o, struct str *out)
{
	unsigned limit = ev->r->env->limits.depth;
	enum nv st;

	if (ev->depth + 1 > (limit < MACRO_DEPTH_MAX ? limit : MACRO_DEPTH_MAX))
		return GOT_DEPTH;
	if (ev->steps >= ev->r->env->limits.steps) {
		struct arg none = { 0 };

		eval_text(ev, &none, out); /* says so */
		return GOT_HALT;
	}
	ev->steps++;
	ev->depth++;
	st = eval_node(ev, o->n0, out);
	ev->depth--;
	if (st == NV_HALT)
		return GOT_HALT;
	if (st == NV_REFUSED)
		*out = STR("");
	return GOT_OK;
}

/* What a row prints without arguments, into nothing: {{trim}} must not reach the text around the block. */
static bool
row_value(struct ev *ev, const struct node *n, struct str *out)
{
	struct text t = { .sb = sb_new(ev->r->a) }, *around = ev->text;
	enum nv st;

	ev->text = &t;
	st = row_get(n->row)->fn(ev, n, NULL, out);
	ev->text = around;
	return st == NV_OK;
}

/* What a bare word of the page's dialect names when its truth is asked: a variable, a known name, or itself.
 */
static struct str
page_word(struct ev *ev, struct str w)
{
	struct name name = { .s = w };
	struct str out;
	bool exact;
	unsigned row;

	if (w.n > 1 && (w.p[0] == '.' || w.p[0] == '$') &&
	    (ev->t->dialect != MACRO_SILLYTAVERN || short_name(w, 1, (uint32_t)w.n) == w.n)) {
		struct macro_value v;
		enum macro_code code;
		bool has;

		if (!var_read(ev, w.p[0] == '$' ? MACRO_GLOBAL : MACRO_LOCAL, str_sub(w, 1, w.n), 0, &v, &has,
			&code))
			return STR("");
		return macro_value_text(ev->r->a, &v);
	}
	row = row_find(w, ev->t->dialect, &exact);
	name.hash = hash_bytes(hash_seed(), w.p, w.n);
	if ((!row || !exact) && eval_ordinary(ev, &name, &out))
		return out;
	if (row && row_get(row - 1)->min == 0 && !(row_get(row - 1)->flags & (ROW_WRITE | ROW_RAW_ARGS))) {
		const struct row *r = row_get(row - 1);
		struct node n = { .type = N_MACRO, .row = (uint16_t)(row - 1) };

		if (!r->fn)
			return eval_field(ev, (enum macro_field)r->field);
		if (!(r->flags & ROW_CHANCE) && row_value(ev, &n, &out))
			return out;
	}
	return w;
}

/* sillytavern: nested macros first; then .name, $name, or a macro without required arguments. */
static enum got
st_value(struct ev *ev, const struct operand *o, struct str *out)
{
	struct arg whole = { .s = o->s, .e = o->e, .n0 = o->n0, .n1 = o->n1 };
	enum nv st = eval_text(ev, &whole, out);

	if (st != NV_OK)
		return st == NV_DEPTH ? GOT_DEPTH : GOT_HALT;
	if (o->n0 == o->n1) {
		struct str w = js_trim(*out);
		bool exact;

		if ((w.n && (w.p[0] == '.' || w.p[0] == '$')) || row_find(w, MACRO_SILLYTAVERN, &exact))
			*out = page_word(ev, w);
	}
	return GOT_OK;
}

static enum got
operand_text(struct ev *ev, const struct operand *o, enum macro_dialect d, struct str *out)
{
	struct arg whole = { .s = o->s, .e = o->e, .n0 = o->n0, .n1 = o->n1 };
	enum nv st;

	switch (o->kind) {
	case OP_QUOTED:
		return quoted_value(ev, o, d, out);
	case OP_MACRO:
		return macro_operand(ev, o, out);
	default:
		if (o->n0 == o->n1) {
			*out = o->text;
			return GOT_OK;
		}
		st = eval_text(ev, &whole, out);
		return st == NV_OK ? GOT_OK : st == NV_DEPTH ? GOT_DEPTH : GOT_HALT;
	}
}

/* ---- marinara's operands ---- */

/* A bare text that is written like a macro that only reads: getvar::x, lastGenerationType, date. */
static bool
mar_read(struct ev *ev, struct str text, struct str *out)
{
	struct macro_piece p = { .owner = MACRO_TEXT, .member = ev->member };
	const struct macro_template *t;
	const struct node *n;
	struct sb sb;
	size_t sep = str_find(text, STR("::"), 0), blank = str_chr(text, ' ', 0);
	bool exact;
	unsigned row = row_find(str_sub(text, 0, sep < blank ? sep : blank), MACRO_MARINARA, &exact);

	if (!row || row_get(row - 1)->flags & (ROW_WRITE | ROW_RAW_ARGS))
		return false;
	sb = sb_new(ev->r->a);
	sb_adds(&sb, "{{");
	sb_add(&sb, text);
	sb_adds(&sb, "}}");
	t = macro_compile(ev->r->a, sb_str(&sb), MACRO_MARINARA);
	n = t->n_nodes == 1 ? &t->nodes[0] : NULL;
	if (!n || n->type != N_MACRO || n->argc < row_get(n->row)->min || n->argc > row_get(n->row)->max)
		return false;
	p.tpl = t;
	*out = eval_nested(ev->r, &p);
	return true;
}

static void
mar_bare(struct ev *ev, struct str text, struct val *out)
{
	const struct keyword *k = keyword_find(text);

	if (k) {
		out->s = keyword_value(ev, k);
		out->known =
		    !(k->flags & KW_LATE) && !(k->flags & (KW_CHAR | KW_GROUP) && ev->r->env->n_members > 1);
		return;
	}
	if (mar_read(ev, text, &out->s) || mar_variable(ev, text, &out->s))
		return;
	out->s = text;
}

static enum got
mar_decision(struct ev *ev, const struct operand *o, struct val *out)
{
	const struct macro_env *env = ev->r->env;
	bool choice = o->kind == OP_CHOICE;
	struct macro_answer answer = { 0 };
	struct str statement;
	enum got g = quoted_value(ev, o, MACRO_MARINARA, &statement);

	if (g != GOT_OK)
		return g;
	statement = statement_key(ev->r->a, statement);
	if (ev->r->plan)
		plan_statement(ev, o, statement);
	if (env->answer)
		answer = env->answer(env->answer_ctx, choice, statement);
	out->s = STR("");
	out->known = answer.kind != MACRO_UNANSWERED;
	out->unanswered = answer.kind == MACRO_UNANSWERED || answer.kind == MACRO_COOLING;
	if (answer.kind == MACRO_YES)
		out->s = STR("true");
	else if (answer.kind == MACRO_OPTION)
		out->s = answer.option;
	return GOT_OK;
}

static enum got
mar_value(struct ev *ev, const struct operand *o, struct val *out)
{
	enum got g;

	switch (o->kind) {
	case OP_DECISION:
	case OP_CHOICE:
		return mar_decision(ev, o, out);
	case OP_VAR:
		if ((g = operand_text(ev, o, MACRO_MARINARA, &out->s)) != GOT_OK)
			return g;
		if (!mar_variable(ev, js_trim(out->s), &out->s))
			out->s = STR("");
		return GOT_OK;
	case OP_WORD:
		if (o->plain_number) {
			out->s = o->text;
			out->known = true;
		} else {
			mar_bare(ev, o->text, out);
		}
		return GOT_OK;
	case OP_QUOTED:
		out->known = o->n0 == o->n1;
		return operand_text(ev, o, MACRO_MARINARA, &out->s);
	default:
		return operand_text(ev, o, MACRO_MARINARA, &out->s);
	}
}

/* ---- comparing ---- */

static struct str
strip_quotes(struct str s)
{
	s = js_trim(s);
	if (s.n >= 2 && (s.p[0] == '"' || s.p[0] == '\'') && s.p[s.n - 1] == s.p[0])
		return str_sub(s, 1, s.n - 1);
	return s;
}

static bool
contains(struct str hay, struct str needle)
{
	return !needle.n || str_find(hay, needle, 0) != STR_NPOS;
}

static enum tri
tri(bool yes)
{
	return yes ? TRI_YES : TRI_NO;
}

static enum tri
compare(
    struct ev *ev, enum cmp_op op, struct str a, struct str b, const struct policy *p, enum macro_code *code)
{
	struct arena *ar = ev->r->a;
	double x = 0, y = 0;
	bool numbers;

	if (op == CMP_CONTAINS || op == CMP_NOT_CONTAINS || op == CMP_STARTS) {
		if (p->fold) {
			a = utf8_lower(ar, js_trim(a));
			b = utf8_lower(ar, js_trim(b));
		}
		if (op == CMP_STARTS)
			return tri(str_starts(a, b));
		return tri(contains(a, b) == (op == CMP_CONTAINS));
	}
	numbers = js_number(p->strip_quotes ? strip_quotes(a) : a, &x) &&
		  js_number(p->strip_quotes ? strip_quotes(b) : b, &y);
	if (op == CMP_EQ || op == CMP_NE) {
		bool eq;

		if (numbers)
			eq = x == y;
		else if (p->fold)
			eq = str_eq(utf8_lower(ar, js_trim(a)), utf8_lower(ar, js_trim(b)));
		else
			eq = str_eq(a, b);
		return tri(eq == (op == CMP_EQ));
	}
	if (!numbers) {
		*code = MACRO_W_TYPE;
		return p->order_is_error ? TRI_ERROR : TRI_NO;
	}
	return tri(op == CMP_GT ? x > y : op == CMP_LT ? x < y : op == CMP_GE ? x >= y : x <= y);
}

/* ---- walking ---- */

struct walk {
	struct ev *ev;
	enum macro_dialect d;
	const struct policy *p;
	enum macro_code *code;
};

static enum got
value(struct walk *w, uint32_t operand, const struct cond *cmp, struct val *out)
{
	const struct operand *o = &w->ev->t->operands[operand];
	enum got g;

	*out = (struct val){ .s = STR("") };
	if (w->d == MACRO_MARINARA)
		return mar_value(w->ev, o, out);
	out->literal = o->kind == OP_QUOTED && !o->plain_number;
	if (w->d == MACRO_TOMORIBOT) {
		out->s = tomori_operand(w->ev, o);
		return GOT_OK;
	}
	if (w->d == MACRO_SILLYTAVERN)
		return st_value(w->ev, o, &out->s);
	g = operand_text(w->ev, o, w->d, &out->s);
	if (g == GOT_OK && cmp && !out->literal && w->p->strip_quotes)
		out->s = strip_quotes(out->s);
	else if (g == GOT_OK && !cmp && o->kind == OP_WORD)
		out->s = page_word(w->ev, o->text);
	return g;
}

static enum tri
broken(struct walk *w, enum got g)
{
	*w->code = g == GOT_DEPTH ? MACRO_W_DEPTH : MACRO_W__COUNT;
	return g == GOT_DEPTH ? TRI_ERROR : TRI_HALT;
}

static enum tri
leaf(struct walk *w, const struct cond *c)
{
	const struct macro_env *env = w->ev->r->env;
	struct val a, b;
	enum got g;

	if (c->kind == C_FALSE)
		return TRI_NO;
	if (c->kind == C_TRUTH) {
		const struct operand *o = &w->ev->t->operands[c->l];

		if (o->kind == OP_TOOL)
			return tri((env->tool && env->tool(env->tool_ctx, o->text)) != (c->op != 0));
		if (o->kind == OP_CAPABILITY || o->kind == OP_FAMILY) {
			int have = o->kind == OP_CAPABILITY && env->capability
				       ? env->capability(env->tool_ctx, o->text)
				       : -1;

			*w->code = MACRO_W_COND_UNKNOWN;
			return have < 0 ? TRI_ERROR : tri((have != 0) != (c->op != 0));
		}
		if ((g = value(w, c->l, NULL, &a)) != GOT_OK)
			return broken(w, g);
		if (w->ev->r->plan && !a.known)
			return TRI_UNKNOWN;
		return tri(truth_words(a.s, w->d));
	}
	if ((g = value(w, c->l, c, &a)) != GOT_OK || (g = value(w, c->r, c, &b)) != GOT_OK)
		return broken(w, g);
	if (w->ev->r->plan && (!a.known || !b.known))
		return TRI_UNKNOWN;
	if (a.unanswered || b.unanswered)
		return TRI_NO;
	return compare(w->ev, (enum cmp_op)c->op, a.s, b.s, w->p, w->code);
}

static enum tri
walk(struct walk *w, uint32_t at)
{
	const struct cond *c = &w->ev->t->conds[at - 1];
	enum tri all = c->kind == C_AND ? TRI_YES : TRI_NO, t;

	if (c->kind == C_NOT) {
		t = walk(w, c->child);
		return t == TRI_YES ? TRI_NO : t == TRI_NO ? TRI_YES : t;
	}
	if (c->kind != C_AND && c->kind != C_OR)
		return leaf(w, c);
	for (uint32_t k = c->child; k; k = w->ev->t->conds[k - 1].next) {
		t = walk(w, k);
		if (t == TRI_ERROR || t == TRI_HALT)
			return t;
		if (t == (c->kind == C_AND ? TRI_NO : TRI_YES))
			return t;
		if (t == TRI_UNKNOWN)
			all = TRI_UNKNOWN;
	}
	return all;
}

enum tri
cond_eval(struct ev *ev, const struct node *open, uint32_t header, enum macro_code *code_out)
{
	const struct header *h = &ev->t->headers[header];
	struct walk w = { ev, (enum macro_dialect)open->dialect, &policies[open->dialect], code_out };

	if (!h->root) {
		*code_out = (enum macro_code)(h->error - 1);
		return TRI_ERROR;
	}
	return walk(&w, h->root);
}
