/*
 * eval_piece: one text as a whole: its evaluation state, and texts that are read by others.
 */
#include "macro/eval_private.h"

#include "base/map.h"

/* Marinara: the value of a choice block is preset text, expanded once (decisions 34). */
bool
eval_preset(struct ev *ev, struct str name, struct str *out)
{
	struct macro_run *r = ev->r;
	struct str *have, raw;
	struct macro_piece p = { .owner = MACRO_TEXT, .member = ev->member };

	if (!r->env->preset_var)
		return false;
	if (!r->presets)
		r->presets = map_create(r->a);
	have = map_get(r->presets, name);
	if (have) {
		*out = *have;
		return true;
	}
	if (!r->env->preset_var(r->env->preset_ctx, name, &raw))
		return false;
	have = arena_new(r->a, struct str);
	*have = raw; /* what a value that reads itself finds */
	map_set(r->presets, name, have);
	p.tpl = macro_compile(r->a, raw, ev->t->dialect);
	*have = eval_nested(r, &p);
	*out = *have;
	return true;
}

static struct str
eval_template(struct macro_run *r, const struct macro_piece *p)
{
	const struct macro_template *t = p->tpl;
	struct text text = { .sb = sb_new(r->a) };
	uint64_t small[4] = { 0 };
	struct ev ev = {
		.r = r,
		.t = t,
		.piece = p,
		.text = &text,
		.member = p->member,
		.silent = p->owner == MACRO_MESSAGE_READ || p->owner == MACRO_MESSAGE_FULL,
		.seen = small,
	};

	if (!t->n_nodes && (t->dialect != MACRO_SILLYTAVERN || str_chr(t->src, '\\', 0) == STR_NPOS))
		return t->src;
	if (!ev.member && r->env->n_members)
		ev.member = &r->env->members[r->env->speaker < r->env->n_members ? r->env->speaker : 0];
	if (t->n_names > 256)
		ev.seen = arena_array(r->a, uint64_t, t->n_names / 64 + 1);
	ev.drop_cr = t->groups && r->env->n_members >= 2;
	if (!eval_step(&ev, NULL))
		return t->src;
	sb_reserve(&text.sb, t->src.n + t->src.n / 4);
	eval_list(&ev, 0, (uint32_t)t->src.n, 0, t->n_nodes);
	return sb_str(&text.sb);
}

struct str
eval_nested(struct macro_run *r, const struct macro_piece *p)
{
	struct str out;

	if (r->field_level >= MACRO_FIELD_DEPTH) {
		run_warn(r, &(struct macro_warning){ .code = MACRO_W_DEPTH,
				.message = "texts that read each other are nested too deep",
				.count = 1 });
		return p->tpl->src;
	}
	r->field_level++;
	out = p->tpl->dialect == MACRO_TOMORIBOT ? tomori_piece(r, p) : eval_template(r, p);
	r->field_level--;
	return out;
}

struct str
macro_eval(struct macro_run *r, const struct macro_piece *p)
{
	if (r->env->phase == MACRO_IMPORT) {
		run_warn(r, &(struct macro_warning){ .code = MACRO_W_PHASE,
				.message = "macros are not evaluated while importing",
				.count = 1 });
		return p->tpl->src;
	}
	return eval_nested(r, p);
}
