/*
 * tomori_audit: what an import report says of a node: macros nobody knows, malformed conditionals, HTML.
 */
#include "macro/tomori_private.h"

static void
add_label(struct arena *a, struct macro_tomori_audit *out, struct str name, bool args)
{
	struct str label = str_c(arena_printf(a, args ? "{{%.*s:...}}" : "{{%.*s}}", STR_ARG(name)));

	for (size_t i = 0; i < out->unsupported.n; i++)
		if (str_eq(out->unsupported.v[i], label))
			return;
	vec_push(a, &out->unsupported, label);
}

/* Only comments, {{trim}} and blanks. */
static bool
comment_only(const struct macro_template *t)
{
	uint32_t pos = 0;

	for (uint32_t i = 0; i < t->n_nodes; i = t->nodes[i].skip) {
		const struct node *n = &t->nodes[i];
		bool comment = n->type == N_MACRO && str_is(str_c(row_get(n->row)->name), "//");

		if (!comment && !str_is(str_sub(t->src, n->start, n->end), "{{trim}}"))
			return false;
		if (js_trim(str_sub(t->src, pos, n->start)).n)
			return false;
		pos = n->end;
	}
	return t->n_nodes > 0 && js_trim(str_sub(t->src, pos, t->src.n)).n == 0;
}

/* Bare names of conditions that nobody knows: they are always empty. */
static void
condition_names(struct arena *a, const struct macro_template *t, struct macro_tomori_audit *out)
{
	bool exact;

	for (uint32_t i = 0; i < t->n_operands; i++) {
		struct str name = t->operands[i].text;

		if (t->operands[i].kind == OP_WORD && str_chr(name, ':', 0) == STR_NPOS &&
		    str_chr(name, ' ', 0) == STR_NPOS && !tomori_known(name) &&
		    !row_find(name, MACRO_TOMORIBOT, &exact))
			add_label(a, out, name, false);
	}
}

void
macro_tomori_audit(struct arena *a, struct str content, struct macro_tomori_audit *out)
{
	const struct macro_template *t = macro_compile(a, content, MACRO_TOMORIBOT);
	struct macro_env env = { .phase = MACRO_PREVIEW, .limits = macro_limits_default, .idle_ms = -1 };
	struct macro_run *r = macro_run_new(a, &env);
	struct macro_tomori_node n;
	const struct macro_result *res;

	*out = (struct macro_tomori_audit){ .comment_only = comment_only(t), .html = tomori_html(content) };
	out->time = (t->traits & MACRO_HAS_TIME) != 0;
	for (uint32_t i = 0; i < t->n_nodes; i++) {
		const struct node *v = &t->nodes[i];
		struct str name = t->n_names ? t->names[v->name].s : STR("");

		if (v->type == N_NAME && !tomori_known(name) && !str_is(name, "trim"))
			add_label(a, out, name, (v->flags & NF_WORDS) != 0);
	}
	condition_names(a, t, out);
	macro_tomori_collect(macro_tomori_new(r), content, &n);
	res = macro_run_result(r);
	for (size_t i = 0; i < res->warnings.n; i++)
		vec_push(a, &out->warnings, res->warnings.v[i]);
}
