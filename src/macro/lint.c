/*
 * lint: what a text's author would want to be told before anybody sees the prompt. Reads the compiled
 * template only; nothing is evaluated.
 */
#include "macro/catalogue.h"
#include "macro/macro_private.h"

#include "base/utf8.h"

#define LINTS_MAX 1000

// clang-format off
static const char *const names[MACRO_LINT__COUNT] = {
	[MACRO_LINT_DIALECT] = "macro_dialect_differs",
	[MACRO_LINT_UNKNOWN] = "macro_unknown",
	[MACRO_LINT_WRITE_IN_BRANCH] = "macro_write_in_branch",
	[MACRO_LINT_TIME_BEFORE_HISTORY] = "macro_time_before_history",
	[MACRO_LINT_DECISION_BEFORE_HISTORY] = "macro_decision_before_history",
	[MACRO_LINT_SYNTAX] = "macro_syntax",
};
// clang-format on

const char *
macro_lint_name(enum macro_lint_code c)
{
	return names[c];
}

struct lint {
	struct arena *a;
	const struct macro_template *t;
	const struct macro_lint_options *o;
	struct macro_lints *out;
	uint32_t at, line, column; /* place of the last finding */
	uint32_t block_end;        /* node up to which a block is open */
	const struct node *tag;    /* whose condition is looked at */
	bool loose;                /* marinara: behind an opener without a closer, where tags are text */
};

static void
add(struct lint *l, enum macro_lint_code code, uint32_t s, uint32_t e, const char *message)
{
	struct str given = l->t->given;
	struct macro_lint x = { .code = code, .message = message, .raw = str_sub(l->t->src, s, e) };
	uint32_t at = prep_given(l->t, s);

	if (l->out->v.n >= LINTS_MAX)
		return;
	if (at < l->at || !l->line) {
		l->at = 0;
		l->line = l->column = 1;
	}
	for (; l->at < at && l->at < given.n; l->at++) {
		l->column += ((unsigned char)given.p[l->at] & 0xc0) != 0x80;
		if (given.p[l->at] == '\n') {
			l->line++;
			l->column = 1;
		}
	}
	x.line = l->line;
	x.column = l->column;
	vec_push(l->a, &l->out->v, x);
}

static bool
known(const struct lint *l, struct str name)
{
	return (l->o->known && l->o->known(l->o->ctx, name)) ||
	       (l->t->dialect == MACRO_TOMORIBOT && str_is(name, "trim"));
}

/* ---- marinara: nothing is an error there, so nobody is told but here ---- */

static bool
word_at_end(struct str s, const char *w, bool start)
{
	size_t n = strlen(w), len, prev;

	if (s.n < n || !str_ieq(start ? str_sub(s, 0, n) : str_sub(s, s.n - n, s.n), str_c(w)))
		return false;
	if (s.n == n)
		return true;
	if (start)
		return js_blank(s, n, &len);
	prev = utf8_prev(s, s.n - n);
	return js_blank(s, prev, &len);
}

/* A text that begins or ends with an operator: one whose other side is missing. */
static bool
half_comparison(struct str s)
{
	static const char *const words[] = { "is", "is not", "contains", "includes" };

	if (!s.n)
		return false;
	if (strchr("=<>", s.p[0]) || strchr("=<>", s.p[s.n - 1]) || str_starts(s, STR("!=")))
		return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (word_at_end(s, words[i], true) || word_at_end(s, words[i], false))
			return true;
	return false;
}

/* A word of nothing but signs: what is left of == without a left side. */
static bool
only_signs(const struct operand *o)
{
	size_t i = 0;

	while (i < o->text.n && strchr("=<>!", o->text.p[i]))
		i++;
	return o->kind == OP_WORD && i == o->text.n;
}

static void
lint_truth(struct lint *l, const struct operand *o, bool whole)
{
	struct str s = js_trim(str_sub(l->t->src, o->s, o->e));

	if (o->kind == OP_QUOTED) {
		add(l, MACRO_LINT_SYNTAX, o->s, o->e,
		    "a literal alone is compared only behind ==, = or is of the same || list: here its own "
		    "text "
		    "is tested, which is true");
		return;
	}
	if (o->kind != OP_WORD && o->kind != OP_MIXED)
		return;
	if (half_comparison(s))
		add(l, MACRO_LINT_SYNTAX, o->s, o->e, "an operator without a side is text, and text is true");
	else if (s.n > 1 && (s.p[0] == '!' || word_at_end(s, "not", true)))
		add(l, MACRO_LINT_SYNTAX, o->s, o->e,
		    "the marinara dialect has no negation: this is text, and text is true; use {{else}}");
	else if (whole && o->kind == OP_WORD && !o->plain_number && !keyword_find(o->text))
		add(l, MACRO_LINT_DIALECT, l->tag->start, l->tag->end,
		    "a word that nothing knows is true in the marinara dialect and false in the tomoribot "
		    "dialect");
}

/* The conditions under `at`; `whole`: it is all of its header's. */
static void
lint_marinara(struct lint *l, uint32_t at, bool whole)
{
	const struct cond *c = &l->t->conds[at - 1];

	if (c->kind == C_TRUTH)
		lint_truth(l, &l->t->operands[c->l], whole);
	if (c->kind == C_CMP && only_signs(&l->t->operands[c->l]))
		add(l, MACRO_LINT_SYNTAX, l->tag->start, l->tag->end,
		    "an operator has no left side: its own signs are compared");
	for (uint32_t k = c->child; k; k = l->t->conds[k - 1].next) {
		if (l->t->conds[k - 1].kind == C_FALSE)
			add(l, MACRO_LINT_SYNTAX, l->tag->start, l->tag->end,
			    "nothing stands beside && or ||: that side is false");
		lint_marinara(l, k, false);
	}
}

/* A tag that turned out to be text. */
static void
lint_text(struct lint *l, const struct node *n)
{
	struct str s = js_trim(str_sub(l->t->src, n->start, n->end));

	if (l->loose || s.n < 5)
		return;
	s = js_trim(str_sub(s, 2, s.n - 2));
	if (word_at_end(s, "#if", true)) {
		l->loose = true;
		add(l, MACRO_LINT_SYNTAX, n->start, n->end,
		    "the block has no closing tag: its tags and those behind it stay as written");
	} else if (l->t->dialect == MACRO_MARINARA &&
		   (str_ieq(s, STR("/if")) || str_ieq(s, STR("else")) || word_at_end(s, "else if", true))) {
		add(l, MACRO_LINT_SYNTAX, n->start, n->end, "nothing is open that this tag could belong to");
	}
}

/* What a condition means elsewhere. */
static void
lint_condition(struct lint *l, const struct node *n)
{
	const struct header *h = &l->t->headers[n->arg];
	const struct cond *c = h->root ? &l->t->conds[h->root - 1] : NULL;
	const struct operand *o = c && c->kind == C_TRUTH ? &l->t->operands[c->l] : NULL;

	if (h->error)
		add(l, MACRO_LINT_SYNTAX, n->start, n->end,
		    "the condition cannot be read: the block stays as written, or is left out");
	else if (n->dialect == MACRO_TAVERNHEADLESS && c && c->kind != C_TRUTH && c->kind != C_FALSE)
		add(l, MACRO_LINT_DIALECT, n->start, n->end,
		    "in the sillytavern dialect a condition has no operators: this would be one text, so "
		    "always true");
	else if (h->empty)
		add(l, MACRO_LINT_SYNTAX, n->start, n->end,
		    n->dialect == MACRO_SILLYTAVERN ? "without a condition the block stays as written"
		    : n->dialect == MACRO_TOMORIBOT ? "without a condition the block is left out"
						    : "an empty condition is false");
	else if (n->dialect == MACRO_MARINARA && c) {
		l->tag = n;
		lint_marinara(l, h->root, true);
	} else if (n->dialect == MACRO_TAVERNHEADLESS && o && o->kind == OP_WORD && !known(l, o->text))
		add(l, MACRO_LINT_DIALECT, n->start, n->end,
		    "a bare word that nothing knows is its own text, so true: use {{getvar::name}}");
}

static void
lint_block(struct lint *l, uint32_t i)
{
	const struct node *n = &l->t->nodes[i];

	if (n->flags & NF_ELSEIF)
		add(l, MACRO_LINT_SYNTAX, n->start, n->end,
		    n->dialect == MACRO_TOMORIBOT
			? "the block is not well formed and left out"
			: "{{else if}} belongs to the marinara dialect: the block stays as written");
	if (!n->close)
		add(l, MACRO_LINT_SYNTAX, n->start, n->end, "the block has no closing tag");
	lint_condition(l, n);
	if (n->close > l->block_end)
		l->block_end = n->close;
}

static void
lint_macro(struct lint *l, uint32_t i)
{
	const struct node *n = &l->t->nodes[i];
	const struct row *r = row_get(n->row);

	if (n->argc < r->min || n->argc > r->max)
		add(l, MACRO_LINT_SYNTAX, n->start, n->end,
		    "the macro does not take this number of arguments: it stays as written");
	if (r->flags & ROW_WRITE && i < l->block_end)
		add(l, MACRO_LINT_WRITE_IN_BRANCH, n->start, n->end,
		    "this write runs only when its branch is taken");
	if (r->flags & ROW_TIME && l->o->before_history)
		add(l, MACRO_LINT_TIME_BEFORE_HISTORY, n->start, n->end,
		    "a clock before the history changes the start of the prompt, which then cannot be reused "
		    "from the provider's cache");
}

static void
lint_node(struct lint *l, uint32_t i)
{
	const struct node *n = &l->t->nodes[i];
	struct str name = l->t->n_names ? l->t->names[n->name].s : STR("");

	switch (n->type) {
	case N_OPEN:
		lint_block(l, i);
		break;
	case N_ELIF:
		lint_condition(l, n);
		break;
	case N_TEXT:
		if (n->end > n->start && (l->t->dialect == MACRO_MARINARA || l->t->dialect == MACRO_AUTO))
			lint_text(l, n);
		break;
	case N_MACRO:
		lint_macro(l, i);
		break;
	case N_NAME:
		if (!known(l, name))
			add(l, MACRO_LINT_UNKNOWN, n->start, n->end,
			    "no macro has this name: it stays as written unless a variable has it");
		break;
	case N_BUILT:
		if (name.n && (name.p[0] == '.' || name.p[0] == '$'))
			add(l, MACRO_LINT_DIALECT, n->start, n->end,
			    "an operator of the sillytavern dialect: in this one it stays as written");
		else
			add(l, MACRO_LINT_SYNTAX, n->start, n->end,
			    "a name cannot be made from another macro");
		break;
	case N_SHORT:
		if (i < l->block_end)
			add(l, MACRO_LINT_WRITE_IN_BRANCH, n->start, n->end,
			    "a write here runs only when its branch is taken");
		break;
	case N_STRAY:
		add(l, MACRO_LINT_SYNTAX, n->start, n->end, "nothing is open that this tag could close");
		break;
	case N_BARE:
		add(l, MACRO_LINT_SYNTAX, n->start, n->end, "the block has no closing tag");
		break;
	case N_REST:
		add(l, MACRO_LINT_SYNTAX, n->start, n->end,
		    "the block has no closing tag: the text from here on stays as written");
		break;
	default:
		break;
	}
}

void
macro_lint(struct arena *a, const struct macro_template *t, const struct macro_lint_options *o,
    struct macro_lints *out)
{
	struct lint l = { .a = a, .t = t, .o = o, .out = out };

	for (uint32_t i = 0; i < t->n_nodes; i++)
		lint_node(&l, i);
	for (uint32_t i = 0; o->before_history && i < t->n_operands; i++)
		if (t->operands[i].kind == OP_DECISION || t->operands[i].kind == OP_CHOICE)
			add(&l, MACRO_LINT_DECISION_BEFORE_HISTORY, t->operands[i].s, t->operands[i].e,
			    "a decision before the history changes the start of the prompt whenever its "
			    "answer does");
}

struct json *
macro_lints_json(struct arena *a, const struct macro_lints *l)
{
	struct json *list = json_array(a);

	for (size_t i = 0; i < l->v.n; i++) {
		const struct macro_lint *x = &l->v.v[i];
		struct json *o = json_push_object(list);

		json_set_c(o, "code", macro_lint_name(x->code));
		json_set_c(o, "message", x->message);
		json_set_str(o, "raw_text", x->raw);
		json_set_int(o, "line", x->line);
		json_set_int(o, "column", x->column);
	}
	return list;
}
