/*
 * decide_reach: which decision statements a text holds, and which of them can matter now. The
 * planning pass is an evaluation in a run of its own in which unanswered decisions, variables and
 * braced macros are unknown; it follows every branch that is not settled.
 */
#include "macro/decide.h"
#include "macro/macro_private.h"

#define OPTIONS_SCAN 4096 /* comparisons of one condition that are looked through for options */

struct plan {
	struct arena *a;
	struct macro_statements *out;
	bool settled_only;
};

/* ---- statements as written ---- */

static void
add_option(
    struct arena *a, struct macro_statement *s, const struct macro_template *t, const struct operand *o)
{
	struct macro_option opt = { .name = o->text };

	if (o->more)
		opt.criteria = t->operands[o->more - 1].text;
	for (size_t i = 0; i < s->options.n; i++) {
		if (!str_ieq(s->options.v[i].name, opt.name))
			continue;
		if (!s->options.v[i].criteria.p)
			s->options.v[i].criteria = opt.criteria;
		return;
	}
	vec_push(a, &s->options, opt);
}

/* The literals that a choice is compared with at its place. */
static void
options_of(struct arena *a, const struct macro_template *t, uint32_t operand, struct macro_statement *s)
{
	uint32_t first = t->operands[operand].cond;

	for (uint32_t i = first; i < t->n_conds && i - first < OPTIONS_SCAN; i++) {
		const struct cond *c = &t->conds[i];
		uint32_t other = c->l == operand ? c->r : c->l;

		if (c->kind == C_CMP && (c->l == operand || c->r == operand)) {
			if ((c->op == CMP_EQ || c->op == CMP_NE) && t->operands[other].kind == OP_QUOTED)
				add_option(a, s, t, &t->operands[other]);
		} else if (c->kind == C_CMP && t->operands[c->l].header != t->operands[operand].header) {
			break; /* another condition begins */
		}
	}
}

static struct macro_statement
statement_of(struct arena *a, const struct macro_template *t, uint32_t operand, struct str text)
{
	const struct operand *o = &t->operands[operand];
	const struct mods *m = &t->mods[o->more];
	struct macro_statement s = { .choice = o->kind == OP_CHOICE, .text = text };

	s.sticky = m->sticky;
	s.cooldown = m->cooldown;
	s.every = m->every;
	s.priority = (enum macro_priority)m->priority;
	if (!s.choice && m->lasts) {
		s.lasts = (enum macro_lasts)m->lasts;
		s.lasts_or = m->lasts_or;
		s.lasts_text = statement_key(a, str_sub(t->src, m->s, m->e));
	}
	if (s.choice)
		options_of(a, t, operand, &s);
	return s;
}

void
macro_statements_collect(struct arena *a, const struct macro_template *t, struct macro_statements *out)
{
	for (uint32_t i = 0; i < t->n_operands; i++) {
		const struct operand *o = &t->operands[i];

		if (o->kind == OP_DECISION || o->kind == OP_CHOICE)
			vec_push(a, &out->v, statement_of(a, t, i, statement_key(a, o->text)));
	}
}

/* ---- the planning pass ---- */

/* A text between two bytes with its macros filled, for the current character. */
static struct str
filled(struct ev *ev, uint32_t s, uint32_t e, uint32_t n0, uint32_t n1)
{
	struct arg r = { .s = s, .e = e, .n0 = n0, .n1 = n1 };
	struct str out = STR("");

	if (eval_text(ev, &r, &out) != NV_OK)
		return STR("");
	return statement_key(ev->r->a, out);
}

static void
add_statement(struct ev *ev, const struct operand *o, struct str text)
{
	struct plan *p = ev->r->plan;
	const struct mods *m = &ev->t->mods[o->more];
	struct macro_statement s = statement_of(p->a, ev->t, (uint32_t)(o - ev->t->operands), text);

	if (s.lasts)
		s.lasts_text = filled(ev, m->s, m->e, m->n0, m->n1);
	vec_push(p->a, &p->out->v, s);
}

static bool
names_character(const struct macro_template *t, uint32_t n0, uint32_t n1)
{
	for (uint32_t i = n0; i < n1; i++)
		if (t->nodes[i].flags & NF_CHAR)
			return true;
	return false;
}

/* In a group, a statement that names the character is asked for each of them. */
void
plan_statement(struct ev *ev, const struct operand *o, struct str text)
{
	const struct macro_env *env = ev->r->env;
	const struct macro_member *member = ev->member;

	add_statement(ev, o, text);
	if (env->n_members < 2 || !names_character(ev->t, o->n0, o->n1))
		return;
	for (size_t i = 0; i < env->n_members; i++) {
		ev->member = &env->members[i];
		add_statement(ev, o, filled(ev, o->s, o->e, o->n0, o->n1));
	}
	ev->member = member;
}

/* One branch: its text counts if it is the first that is not settled, and not even that with `settled_only`.
 */
static void
walk_branch(struct ev *ev, const struct node *open, uint32_t tag, bool keep)
{
	struct text t = { .sb = sb_new(ev->r->a) }, *around = ev->text;

	if (!keep)
		ev->text = &t;
	take_branch(ev, open, tag);
	ev->text = around;
}

void
plan_block(struct ev *ev, uint32_t i)
{
	const struct node *v = ev->t->nodes, *open = &v[i];
	bool undecided = false;
	enum macro_code code;

	for (uint32_t tag = i; v[tag].type != N_CLOSE; tag = v[tag].next) {
		enum tri t = v[tag].type == N_ELSE ? TRI_YES : cond_eval(ev, open, v[tag].arg, &code);

		if (t == TRI_ERROR || t == TRI_HALT)
			return;
		if (t == TRI_NO)
			continue;
		walk_branch(ev, open, tag, !undecided && (t == TRI_YES || !ev->r->plan->settled_only));
		if (t == TRI_YES)
			return;
		undecided = true;
	}
}

struct str
macro_statements_reach(struct arena *a, const struct macro_env *env, const struct macro_template *t,
    bool settled_only, struct macro_statements *out)
{
	struct macro_env quiet = *env;
	struct plan p = { .a = a, .out = out, .settled_only = settled_only };
	struct macro_run *r;

	quiet.phase = MACRO_PREVIEW;
	quiet.trace = quiet.trace_ifs = false;
	r = macro_run_new(a, &quiet);
	r->plan = &p;
	return macro_eval(r, &(struct macro_piece){ .tpl = t });
}
