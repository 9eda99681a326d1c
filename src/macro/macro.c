/*
 * macro: compiling a text into a template, and the run that templates are evaluated in.
 */
#include "macro/macro_private.h"

#include <stdlib.h>

// clang-format off
static const char *const dialect_names[MACRO_DIALECT__COUNT] = {
	[MACRO_AUTO] = "auto",
	[MACRO_TAVERNHEADLESS] = "tavernheadless",
	[MACRO_SILLYTAVERN] = "sillytavern",
	[MACRO_MARINARA] = "marinara",
	[MACRO_TOMORIBOT] = "tomoribot",
};

static const char *const phase_names[MACRO_PHASE__COUNT] = {
	[MACRO_IMPORT] = "import",
	[MACRO_PREVIEW] = "preview",
	[MACRO_DRY_RUN] = "dry_run",
	[MACRO_ASSEMBLE] = "assemble",
	[MACRO_COMMIT] = "commit_consume",
};

static const char *const code_names[MACRO_W__COUNT] = {
	[MACRO_W_UNKNOWN] = "macro_unknown",
	[MACRO_W_ARITY] = "macro_arg_arity_invalid",
	[MACRO_W_PARSE] = "macro_parse_failed",
	[MACRO_W_UNSUPPORTED] = "macro_condition_unsupported",
	[MACRO_W_TYPE] = "macro_arg_type_invalid",
	[MACRO_W_CYCLE] = "macro_cycle_detected",
	[MACRO_W_DEPTH] = "macro_depth_limit_exceeded",
	[MACRO_W_STEPS] = "macro_step_limit_exceeded",
	[MACRO_W_LENGTH] = "macro_expanded_length_limit_exceeded",
	[MACRO_W_WRITES] = "macro_mutation_limit_exceeded",
	[MACRO_W_UNCLOSED] = "macro_scoped_block_unclosed",
	[MACRO_W_UNMATCHED] = "macro_unmatched_closing_block",
	[MACRO_W_SIDE_EFFECT] = "macro_preview_side_effect_suppressed",
	[MACRO_W_PHASE] = "macro_eval_phase_disallowed",
	[MACRO_W_VALUE_MISSING] = "macro_value_missing",
	[MACRO_W_NAME_CONFLICT] = "macro_readonly_name_conflict",
	[MACRO_W_MESSAGE_WRITE] = "macro_message_write_kept",
	[MACRO_W_COND_MALFORMED] = "conditional_malformed",
	[MACRO_W_COND_STRAY] = "conditional_stray",
	[MACRO_W_COND_UNCLOSED] = "conditional_unclosed",
	[MACRO_W_COND_DEEP] = "conditional_too_deep",
	[MACRO_W_COND_UNKNOWN] = "condition_unknown",
};

const struct macro_limits macro_limits_default = {
	.depth = 32, .steps = 8192, .length = 1u << 20, .writes = 1024, .warnings = 100
};
const struct macro_limits macro_limits_reference = {
	.depth = 24, .steps = 256, .length = 32768, .writes = 64, .warnings = 100
};

static const bool author_fields[MF__COUNT] = {
	[MF_SYSTEM] = true, [MF_EXAMPLES] = true, [MF_EXAMPLES_RAW] = true, [MF_DESCRIPTION] = true,
	[MF_PERSONALITY] = true, [MF_SCENARIO] = true, [MF_POST_HISTORY] = true, [MF_DEPTH_NOTE] = true,
	[MF_CREATOR_NOTES] = true, [MF_BACKSTORY] = true, [MF_APPEARANCE] = true, [MF_FIRST_MESSAGE] = true,
	[MF_PERSONA] = true, [MF_PERSONA_PERSONALITY] = true, [MF_PERSONA_BACKSTORY] = true,
	[MF_PERSONA_APPEARANCE] = true, [MF_PERSONA_SCENARIO] = true, [MF_SYSTEM_PROMPT] = true,
	[MF_AUTHORS_NOTE] = true, [MF_DEFAULT_AUTHORS_NOTE] = true,
};
// clang-format on

const char *
macro_dialect_name(enum macro_dialect d)
{
	return dialect_names[d];
}

bool
macro_dialect_parse(struct str name, enum macro_dialect *out)
{
	for (int i = 0; i < MACRO_DIALECT__COUNT; i++)
		if (str_ieq(name, str_c(dialect_names[i]))) {
			*out = (enum macro_dialect)i;
			return true;
		}
	return false;
}

const char *
macro_phase_name(enum macro_phase p)
{
	return phase_names[p];
}

const char *
macro_code_name(enum macro_code c)
{
	return code_names[c];
}

bool
macro_field_is_author(enum macro_field f)
{
	return author_fields[f];
}

/* ---- templates ---- */

static struct macro_template *
compile(struct arena *a, struct str text, enum macro_dialect d, bool message)
{
	struct macro_template *t = arena_new(a, struct macro_template);
	struct compile *c;

	*t = (struct macro_template){ .given = text, .src = text, .dialect = d, .message = message };
	if (!t->src.p)
		t->src = t->given = STR("");
	if (text.n > MACRO_TEXT_MAX)
		return t;
	if (text.n < 3 || (!memchr(text.p, '{', text.n) && !memchr(text.p, '<', text.n)))
		return t;
	c = arena_new(a, struct compile);
	*c = (struct compile){ .a = a, .dialect = d, .message = message };
	prep(c, text);
	t->dialect = c->dialect;
	if (str_find(c->src, STR("{{"), 0) != STR_NPOS) {
		if (c->dialect == MACRO_TOMORIBOT)
			c->traits |= MACRO_HAS_MACRO;
		scan(c);
		if (c->kept_pragma && c->nodes.n)
			c->nodes.v[0].type = N_TEXT;
	}
	t->src = c->src;
	t->nodes = c->nodes.v;
	t->n_nodes = (uint32_t)c->nodes.n;
	t->args = c->args.v;
	t->n_args = (uint32_t)c->args.n;
	t->names = c->names.v;
	t->n_names = (uint32_t)c->names.n;
	t->headers = c->headers.v;
	t->n_headers = (uint32_t)c->headers.n;
	t->conds = c->conds.v;
	t->n_conds = (uint32_t)c->conds.n;
	t->operands = c->operands.v;
	t->n_operands = (uint32_t)c->operands.n;
	t->mods = c->mods.v;
	t->edits = c->edits.v;
	t->n_edits = (uint32_t)c->edits.n;
	t->groups = c->groups;
	t->pragma = c->src.p != text.p || c->src.n != text.n;
	t->traits =
	    c->traits | (c->nodes.n || t->pragma || c->dialect == MACRO_TOMORIBOT ? MACRO_HAS_MACRO : 0u);
	return t;
}

const struct macro_template *
macro_compile(struct arena *a, struct str text, enum macro_dialect d)
{
	return compile(a, text, d, false);
}

const struct macro_template *
macro_compile_message(struct arena *a, struct str text)
{
	return compile(a, text, MACRO_AUTO, true);
}

struct macro_template *
macro_template_new(struct str text, enum macro_dialect d)
{
	struct arena *a = arena_create("macro template", text.n + 4096);
	struct macro_template *t = compile(a, arena_str(a, text.p ? text : STR("")), d, false);

	t->own = a;
	t->bytes = arena_bytes(a);
	return t;
}

void
macro_template_free(struct macro_template *t)
{
	struct arena *a = t ? t->own : NULL;

	if (a)
		arena_destroy(&a);
}

size_t
macro_template_bytes(const struct macro_template *t)
{
	if (t->own)
		return t->bytes;
	return sizeof(*t) + t->src.n + t->n_nodes * sizeof(struct node) + t->n_args * sizeof(struct arg) +
	       t->n_names * sizeof(struct name) +
	       t->n_operands * (sizeof(struct operand) + sizeof(struct cond));
}

unsigned
macro_template_traits(const struct macro_template *t)
{
	return t->traits;
}

enum macro_dialect
macro_template_dialect(const struct macro_template *t)
{
	return t->dialect;
}

/* ---- runs ---- */

struct macro_run *
macro_run_new(struct arena *a, const struct macro_env *env)
{
	struct macro_run *r = arena_new(a, struct macro_run);

	r->a = a;
	r->env = env;
	r->used = map_create(a);
	if (env->n_members)
		r->member_cell = arena_array(a, struct field_cell, env->n_members * MF_MEMBER__END);
	return r;
}

const struct macro_result *
macro_run_result(const struct macro_run *r)
{
	return &r->res;
}

/* ---- fields ---- */

static const struct macro_member *
speaker_of(const struct macro_run *r)
{
	const struct macro_env *env = r->env;

	if (!env->n_members)
		return NULL;
	return &env->members[env->speaker < env->n_members ? env->speaker : 0];
}

/* Follows `as`; NULL: the field is empty. */
static const struct macro_source *
source_of(const struct macro_run *r, const struct macro_member *m, enum macro_field *f)
{
	for (int hops = 0; hops < 4; hops++) {
		const struct macro_source *s;

		if (*f < MF_MEMBER__END) {
			if (!m)
				return NULL;
			s = &m->field[*f];
		} else {
			s = &r->env->field[*f];
		}
		if (s->as == MF_NONE)
			return s;
		*f = s->as;
	}
	return NULL;
}

static struct field_cell *
cell_of(struct macro_run *r, const struct macro_member *m, enum macro_field f)
{
	if (f >= MF_MEMBER__END)
		return &r->cell[f];
	return &r->member_cell[(size_t)(m - r->env->members) * MF_MEMBER__END + f];
}

/* A card without a name: the ordinary variable of that name serves. */
static struct str
ordinary_char(struct macro_run *r)
{
	struct str name = STR("char");
	const struct var *v = var_find(r, MACRO_ORDINARY, name, hash_bytes(hash_seed(), name.p, name.n));

	return v->state == VAR_SET ? macro_value_text(r->a, &v->v) : STR("");
}

struct str
macro_run_field(struct macro_run *r, const struct macro_member *m, enum macro_field f)
{
	const struct macro_source *s;
	struct field_cell *cell;
	struct macro_piece p = { .owner = MACRO_TEXT };
	struct str joined;

	if (!m)
		m = speaker_of(r);
	s = source_of(r, m, &f);
	if (f == MF_CHAR && (!s || !js_trim(s->text).n))
		return ordinary_char(r);
	if (s && author_fields[f] && f < MF_MEMBER__END && r->env->joined && m == speaker_of(r) && r->env->joined(r->env->joined_ctx, f, &joined))
		return joined;
	if (!s || !s->text.p)
		return STR("");
	if (!author_fields[f] || s->expanded)
		return s->text;
	cell = cell_of(r, m, f);
	if (cell->state == 2)
		return cell->text;
	if (cell->state == 1) {
		run_warn(r, &(struct macro_warning){
				.code = MACRO_W_CYCLE, .message = "a text reads itself", .count = 1 });
		return STR("");
	}
	cell->state = 1;
	p.tpl = s->tpl ? s->tpl : macro_compile(r->a, s->text, s->dialect);
	p.member = m;
	if (f < MF_MEMBER__END)
		p.owner = MACRO_FIELD;
	cell->text = eval_nested(r, &p);
	cell->state = 2;
	return cell->text;
}

/* A persona's text is sent as it was written; a macro prints it as it prints a card's, trimmed and without CR. */
static struct str
tidied(struct arena *a, struct str s)
{
	struct sb out = sb_new(a);

	s = js_trim(s);
	if (str_find(s, STR("\r"), 0) == STR_NPOS)
		return s;
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] != '\r')
			sb_addc(&out, s.p[i]);
	return sb_str(&out);
}

struct str
eval_field(struct ev *ev, enum macro_field f)
{
	enum macro_field real = f;
	struct str text;

	if (ev->piece->owner == MACRO_FIELD && !ev->r->env->field_in_field) {
		source_of(ev->r, ev->member, &real);
		if (author_fields[real] &&
		    (real < MF_MEMBER__END || (real >= MF_PERSONA && real <= MF_PERSONA_SCENARIO)))
			return STR("");
	}
	text = macro_run_field(ev->r, ev->member, f);
	return f == MF_PERSONA ? tidied(ev->r->a, text) : text;
}

struct str
eval_field_raw(struct ev *ev, enum macro_field f)
{
	const struct macro_source *s = source_of(ev->r, ev->member, &f);

	return s && s->text.p ? s->text : STR("");
}

/* ---- what a text itself shows ---- */

static bool
shows(struct str text, const char *sign)
{
	return str_find(text, str_c(sign), 0) != STR_NPOS;
}

enum macro_dialect
macro_dialect_detect(struct str text, const char **reason_out)
{
	const char *why = "nothing in the text decides", *none;
	enum macro_dialect d = MACRO_AUTO;
	struct arena *a = arena_create("macro detect", 0);
	const struct macro_template *t = macro_compile(a, text, MACRO_AUTO);

	if (!reason_out)
		reason_out = &none;
	if (t->dialect != MACRO_AUTO) {
		d = t->dialect;
		why = "a pragma names the dialect";
	} else if (shows(text, "{{#unless")) {
		d = MACRO_TOMORIBOT;
		why = "{{#unless}} is TomoriBot's";
	} else if (shows(text, "{{#if") && (shows(text, "{{else if") || t->traits & MACRO_HAS_DECISION)) {
		d = MACRO_MARINARA;
		why = "else if and decisions are Marinara's";
	} else {
		for (uint32_t i = 0; i < t->n_nodes && d == MACRO_AUTO; i++) {
			const struct node *n = &t->nodes[i];
			const struct header *h =
			    n->type == N_OPEN && n->dialect == MACRO_MARINARA ? &t->headers[n->arg] : NULL;

			if (h && h->root && t->conds[h->root - 1].kind != C_TRUTH &&
			    t->conds[h->root - 1].kind != C_FALSE) {
				d = MACRO_MARINARA;
				why = "{{#if}} with an operator is Marinara's";
			}
		}
	}
	*reason_out = why;
	arena_destroy(&a);
	return d;
}
