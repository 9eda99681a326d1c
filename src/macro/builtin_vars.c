/*
 * builtin_vars: macros that read and write variables, and the operators of the sillytavern dialect.
 */
#include "macro/macro_private.h"

static enum macro_view
view_of(const struct row *r)
{
	return r->flags & ROW_GLOBAL ? MACRO_GLOBAL : MACRO_LOCAL;
}

static uint64_t
key_hash(const struct ev *ev, const struct node *n)
{
	const struct arg *a = &ev->t->args[n->arg];

	return a->n0 == a->n1 ? a->hash : 0;
}

static enum nv
fn_get(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	struct macro_value v;
	enum macro_code code;
	bool has;

	if (!var_read(ev, view_of(row_get(n->row)), argv[0], key_hash(ev, n), &v, &has, &code))
		return eval_refuse(ev, n, argv, code, out);
	*out = v.text.p ? v.text : macro_value_text(ev->r->a, &v);
	return NV_OK;
}

static enum nv
fn_has(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	struct macro_value v;
	enum macro_code code;
	bool has;

	if (!var_read(ev, view_of(row_get(n->row)), argv[0], key_hash(ev, n), &v, &has, &code))
		return eval_refuse(ev, n, argv, code, out);
	*out = has ? STR("true") : STR("false");
	return NV_OK;
}

static enum nv
write_with(struct ev *ev, const struct node *n, const struct str *argv, enum var_op op, struct str *out)
{
	const struct row *r = row_get(n->row);
	enum macro_code code = MACRO_W_TYPE;

	if (var_write(ev, n, op, view_of(r), argv[0], n->argc > 1 ? argv[1] : STR(""), r->name, out, &code) ==
	    NV_OK)
		return NV_OK;
	return eval_refuse(ev, n, argv, code, out);
}

static enum nv
fn_set(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	return write_with(ev, n, argv, VAR_PUT, out);
}

static enum nv
fn_add(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	return write_with(ev, n, argv, VAR_ADD, out);
}

static enum nv
fn_inc(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	return write_with(ev, n, argv, VAR_INC, out);
}

static enum nv
fn_dec(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	return write_with(ev, n, argv, VAR_DEC, out);
}

static enum nv
fn_delete(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	return write_with(ev, n, argv, VAR_DEL, out);
}

/* ---- operators of the sillytavern dialect ---- */

enum short_op { /* order of short_ops in parse.c */
	SHORT_SET_MISSING,
	SHORT_SET_FALSE,
	SHORT_INC,
	SHORT_DEC,
	SHORT_ADD,
	SHORT_SUB,
	SHORT_OR_MISSING,
	SHORT_OR_FALSE,
	SHORT_EQ,
	SHORT_NE,
	SHORT_GE,
	SHORT_LE,
	SHORT_GT,
	SHORT_LT,
	SHORT_SET
};

/* The macro whose write it is: the name that the staged list shows. */
static const char *
short_source(enum short_op op, bool global)
{
	switch ((int)op) {
	case SHORT_INC:
		return global ? "incglobalvar" : "incvar";
	case SHORT_DEC:
		return global ? "decglobalvar" : "decvar";
	case SHORT_ADD:
	case SHORT_SUB:
		return global ? "addglobalvar" : "addvar";
	default:
		return global ? "setglobalvar" : "setvar";
	}
}

/* Number() of JavaScript: nothing counts as 0. */
static bool
number_of(struct str s, double *out)
{
	*out = 0;
	return js_trim(s).n == 0 || js_number(s, out);
}

static struct str
short_compare(enum short_op op, struct str a, struct str b)
{
	double x, y;
	bool yes;

	if (op == SHORT_EQ || op == SHORT_NE)
		return str_eq(a, b) == (op == SHORT_EQ) ? STR("true") : STR("false");
	if (!number_of(a, &x) || !number_of(b, &y))
		return STR("false");
	yes = op == SHORT_GE ? x >= y : op == SHORT_LE ? x <= y : op == SHORT_GT ? x > y : x < y;
	return yes ? STR("true") : STR("false");
}

static enum nv
short_write(
    struct ev *ev, const struct node *n, enum var_op op, struct str key, struct str value, struct str *out)
{
	bool global = (n->flags & NF_GLOBAL) != 0;
	enum macro_code code = MACRO_W_TYPE;

	if (var_write(ev, n, op, global ? MACRO_GLOBAL : MACRO_LOCAL, key, value,
		short_source((enum short_op)n->row, global), out, &code) == NV_OK)
		return NV_OK;
	return eval_refuse(ev, n, NULL, code, out);
}

/* The right side is evaluated only when it is needed. */
enum nv
short_run(struct ev *ev, const struct node *n, struct str *out)
{
	const struct arg *args = ev->t->args + n->arg;
	struct str key = eval_src(ev, args[0].s, args[0].e), cur, value = STR("");
	enum short_op op = (enum short_op)n->row;
	struct macro_value v;
	enum macro_code code;
	enum nv st;
	double num;
	bool has, keep;

	if (!var_read(
		ev, n->flags & NF_GLOBAL ? MACRO_GLOBAL : MACRO_LOCAL, key, args[0].hash, &v, &has, &code))
		return eval_refuse(ev, n, NULL, code, out);
	cur = macro_value_text(ev->r->a, &v);
	keep = op == SHORT_OR_MISSING || op == SHORT_SET_MISSING ? has : truth_words(cur, MACRO_SILLYTAVERN);
	if (op == SHORT_INC || op == SHORT_DEC)
		return short_write(ev, n, op == SHORT_INC ? VAR_INC : VAR_DEC, key, value, out);
	if ((op == SHORT_OR_MISSING || op == SHORT_SET_MISSING || op == SHORT_OR_FALSE ||
		op == SHORT_SET_FALSE) &&
	    keep) {
		*out = cur;
		return NV_OK;
	}
	if ((st = eval_text(ev, &args[1], &value)) != NV_OK) {
		if (st == NV_DEPTH)
			eval_warn(ev, MACRO_W_DEPTH, n, STR_NULL, "nested deeper than %u",
			    ev->r->env->limits.depth);
		return st;
	}
	switch ((int)op) {
	case SHORT_OR_MISSING:
	case SHORT_OR_FALSE:
		*out = value;
		return NV_OK;
	case SHORT_SET_MISSING:
	case SHORT_SET_FALSE:
		st = short_write(ev, n, VAR_PUT, key, value, out);
		if (st == NV_OK)
			*out = value;
		return st;
	case SHORT_ADD:
		return short_write(ev, n, VAR_ADD, key, value, out);
	case SHORT_SUB:
		*out = STR("");
		if (!number_of(value, &num))
			return NV_OK;
		return short_write(ev, n, VAR_ADD, key, js_number_text(ev->r->a, -num), out);
	case SHORT_SET:
		return short_write(ev, n, VAR_PUT, key, value, out);
	default:
		*out = short_compare(op, cur, value);
		return NV_OK;
	}
}

#define W ROW_WRITE
#define K ROW_KEY
#define G ROW_GLOBAL
#define ALL DIALECTS_ALL

// clang-format off
static const struct row rows[] = {
	{ "getvar", "", fn_get, 1, 1, ARGS_PAGE, MF_NONE, K, ALL, "::name", "variables",
	    "value of a local variable or of a path in it; nothing if it is not set", NULL },
	{ "getglobalvar", "", fn_get, 1, 1, ARGS_PAGE, MF_NONE, K | G, ALL, "::name", "variables", "value of a global variable", NULL },
	{ "hasvar", "varexists", fn_has, 1, 1, ARGS_PAGE, MF_NONE, K, ALL, "::name", "variables",
	    "true if the local variable exists, even if it is empty; else false", NULL },
	{ "hasglobalvar", "globalvarexists", fn_has, 1, 1, ARGS_PAGE, MF_NONE, K | G, ALL, "::name", "variables",
	    "true if the global variable exists", NULL },
	{ "setvar", "", fn_set, 2, 2, ARGS_PAGE, MF_NONE, W | K, ALL, "::name::value", "variables", "sets a local variable", NULL },
	{ "setglobalvar", "", fn_set, 2, 2, ARGS_PAGE, MF_NONE, W | K | G, ALL, "::name::value", "variables", "sets a global variable", NULL },
	{ "addvar", "addnumvar", fn_add, 2, 2, ARGS_PAGE, MF_NONE, W | K, ALL, "::name::value", "variables",
	    "adds two numbers, appends to a text, pushes onto a list", NULL },
	{ "addglobalvar", "", fn_add, 2, 2, ARGS_PAGE, MF_NONE, W | K | G, ALL, "::name::value", "variables", "the same for a global variable", NULL },
	{ "incvar", "", fn_inc, 1, 1, ARGS_PAGE, MF_NONE, W | K, ALL, "::name", "variables", "counts up and prints the new value", NULL },
	{ "incglobalvar", "", fn_inc, 1, 1, ARGS_PAGE, MF_NONE, W | K | G, ALL, "::name", "variables", "the same for a global variable", NULL },
	{ "decvar", "", fn_dec, 1, 1, ARGS_PAGE, MF_NONE, W | K, ALL, "::name", "variables", "counts down and prints the new value", NULL },
	{ "decglobalvar", "", fn_dec, 1, 1, ARGS_PAGE, MF_NONE, W | K | G, ALL, "::name", "variables", "the same for a global variable", NULL },
	{ "deletevar", "flushvar", fn_delete, 1, 1, ARGS_PAGE, MF_NONE, W | K, ALL, "::name", "variables",
	    "deletes a local variable or a leaf of it", NULL },
	{ "deleteglobalvar", "flushglobalvar", fn_delete, 1, 1, ARGS_PAGE, MF_NONE, W | K | G, ALL, "::name", "variables",
	    "deletes a global variable or a leaf of it", NULL },
};
// clang-format on

const struct row_table builtin_vars = { rows, sizeof(rows) / sizeof(rows[0]) };
