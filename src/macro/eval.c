/*
 * eval: walks lists, runs macros and takes branches. Counts steps, depth, inserted length and
 * writes (decisions 32): a budget that is used up leaves that piece and all after it as written.
 * Literal text is never counted nor cut.
 */
#include "macro/eval_private.h"

#include "base/utf8.h"

#define ARGV_SMALL 8

struct str
eval_src(const struct ev *ev, uint32_t s, uint32_t e)
{
	return (struct str){ ev->t->src.p + s, e - s };
}

double
eval_chance(struct ev *ev)
{
	const struct macro_env *env = ev->r->env;
	double v = env->chance ? env->chance(env->chance_ctx) : 0;

	return v >= 0 && v < 1 ? v : 0;
}

/* ---- diagnostics ---- */

/* Line and column of a byte of the given text; remembered, since places mostly move forward. */
static void
place_of(struct ev *ev, uint32_t at)
{
	struct str s = ev->t->given;

	if (at < ev->place || !ev->line) {
		ev->place = 0;
		ev->line = ev->column = 1;
	}
	if (at > s.n)
		at = (uint32_t)s.n;
	for (const char *nl;
	     at > ev->place && (nl = memchr(s.p + ev->place, '\n', at - ev->place)) != NULL;) {
		ev->place = (uint32_t)(nl - s.p) + 1;
		ev->line++;
		ev->column = 1;
	}
	for (; ev->place < at; ev->place++)
		ev->column += ((unsigned char)s.p[ev->place] & 0xc0) != 0x80;
}

void
run_warn(struct macro_run *r, const struct macro_warning *w)
{
	if (r->code_count[w->code] >= r->env->limits.warnings) {
		if (r->code_count[w->code])
			r->res.warnings.v[r->code_last[w->code]].count++;
		return;
	}
	r->code_count[w->code]++;
	r->code_last[w->code] = (uint32_t)r->res.warnings.n;
	vec_push(r->a, &r->res.warnings, *w);
}

void
eval_warn(struct ev *ev, enum macro_code code, const struct node *n, struct str name, const char *fmt, ...)
{
	struct macro_warning w = { .code = code, .name = name, .count = 1 };
	va_list ap;

	if (ev->silent && code != MACRO_W_MESSAGE_WRITE)
		return;
	if (ev->r->code_count[code] < ev->r->env->limits.warnings) {
		va_start(ap, fmt);
		w.message = strchr(fmt, '%') ? arena_vprintf(ev->r->a, fmt, ap) : fmt;
		va_end(ap);
		if (n) {
			uint32_t end = n->type == N_OPEN && n->close ? ev->t->nodes[n->close].end : n->end;

			w.raw = eval_src(ev, n->start, end);
			place_of(ev, prep_given(ev->t, n->start));
			w.line = ev->line;
			w.column = ev->column;
		}
	}
	run_warn(ev->r, &w);
}

void
eval_trace(struct ev *ev, struct str name, struct str raw, struct str resolved, enum macro_source_kind kind,
    enum macro_branch branch)
{
	struct macro_run *r = ev->r;
	struct macro_trace t = {
		.name = name, .raw = raw, .phase = r->env->phase, .kind = kind, .branch = branch
	};

	if (!(r->env->trace || (r->env->trace_ifs && kind == MACRO_SRC_IF)) || r->res.traces.n >= MACRO_TRACES_MAX)
		return;
	if (r->env->trace)
		t.resolved = arena_str(r->a, resolved.p ? resolved : STR(""));
	vec_push(r->a, &r->res.traces, t);
}

void
eval_used(struct ev *ev, uint32_t name)
{
	uint64_t bit = 1ull << (name & 63);

	if (ev->seen[name >> 6] & bit)
		return;
	ev->seen[name >> 6] |= bit;
	if (map_has(ev->r->used, ev->t->names[name].s))
		return;
	map_set(ev->r->used, ev->t->names[name].s, ev->r);
	vec_push(ev->r->a, &ev->r->res.used_names, ev->t->names[name].s);
}

/* A budget is used up: one warning, and nothing more is evaluated in this piece. */
static enum nv
halt(struct ev *ev, enum macro_code code, const struct node *n)
{
	if (!ev->halted)
		eval_warn(ev, code, n, STR_NULL, "%s; the rest stays as written",
		    code == MACRO_W_STEPS ? "the text needs more evaluation steps than allowed"
					  : "macros put in more text than allowed");
	ev->halted = true;
	return NV_HALT;
}

bool
eval_step(struct ev *ev, const struct node *n)
{
	if (ev->steps >= ev->r->env->limits.steps) {
		halt(ev, MACRO_W_STEPS, n);
		return false;
	}
	ev->steps++;
	return true;
}

bool
eval_too_deep(struct ev *ev)
{
	unsigned limit = ev->r->env->limits.depth;

	return ev->depth + 1 > (limit < MACRO_DEPTH_MAX ? limit : MACRO_DEPTH_MAX);
}

enum nv
eval_deep(struct ev *ev, const struct node *n)
{
	eval_warn(ev, MACRO_W_DEPTH, n, STR_NULL, "nested deeper than %u", ev->r->env->limits.depth);
	return NV_DEPTH;
}

/* ---- putting text together ---- */

static inline void
put(struct sb *sb, const char *p, size_t n)
{
	if (sb->cap - sb->n <= n)
		sb_reserve(sb, n);
	memcpy(sb->p + sb->n, p, n);
	sb->n += n;
}

/* Line breaks that end a text of the author: where its last run of them begins. */
static size_t
trailing_breaks(const char *p, size_t n)
{
	while (n && p[n - 1] == '\n') {
		n--;
		if (n && p[n - 1] == '\r')
			n--;
	}
	return n;
}

/* What the author wrote, between macros. */
void
eval_literal(struct ev *ev, const char *p, size_t n)
{
	struct text *t = ev->text;
	size_t keep;

	if (t->eat == EAT_BLANKS) {
		struct str left = js_trim_start((struct str){ p, n });

		p = left.p;
		n = left.n;
		t->eat = n ? EAT_NONE : EAT_BLANKS;
	} else if (t->eat) {
		size_t skip = 0;

		while (skip < n) {
			size_t cr = p[skip] == '\r' && skip + 1 < n && p[skip + 1] == '\n';

			if (p[skip + cr] != '\n')
				break;
			skip += cr + 1;
		}
		p += skip;
		n -= skip;
		t->eat = n ? EAT_NONE : EAT_BREAKS;
	}
	if (!n)
		return;
	if (p[n - 1] != '\n') {
		put(&t->sb, p, n);
		t->run = t->sb.n;
		return;
	}
	keep = trailing_breaks(p, n);
	put(&t->sb, p, n);
	if (keep)
		t->run = t->sb.n - (n - keep);
}

/* Literal text of dialects that change it: sillytavern's \{ and dedented content, groups without CR. */
static void
literal_special(struct ev *ev, const char *p, size_t n)
{
	bool st = ev->t->dialect == MACRO_SILLYTAVERN;
	size_t from = 0;

	for (size_t i = 0; i < n; i++) {
		if (st && p[i] == '\\' && i + 1 < n && (p[i + 1] == '{' || p[i + 1] == '}')) {
			eval_literal(ev, p + from, i - from);
			from = ++i;
		} else if (ev->drop_cr && p[i] == '\r') {
			eval_literal(ev, p + from, i - from);
			from = i + 1;
		} else if (ev->indent && p[i] == '\n') {
			uint32_t drop = 0;

			while (drop < ev->indent && i + 1 + drop < n &&
			       (p[i + 1 + drop] == ' ' || p[i + 1 + drop] == '\t'))
				drop++;
			eval_literal(ev, p + from, i + 1 - from);
			i += drop;
			from = i + 1;
		}
	}
	eval_literal(ev, p + from, n - from);
}

void
eval_gap(struct ev *ev, uint32_t s, uint32_t e)
{
	if (s >= e)
		return;
	if (ev->indent || ev->drop_cr || ev->t->dialect == MACRO_SILLYTAVERN)
		literal_special(ev, ev->t->src.p + s, e - s);
	else
		eval_literal(ev, ev->t->src.p + s, e - s);
}

static void
insert(struct ev *ev, struct str v)
{
	if (ev->text->eat == EAT_BLANKS)
		v = js_trim_start(v);
	if (!v.n)
		return;
	put(&ev->text->sb, v.p, v.n);
	ev->text->run = ev->text->sb.n;
	ev->text->eat = EAT_NONE;
}

/* UTF-16 units; the texts are short, most of them ASCII. */
static size_t
units(struct str s)
{
	size_t i = 0;

	for (uint64_t eight; i + 8 <= s.n; i += 8) {
		memcpy(&eight, s.p + i, 8);
		if (eight & 0x8080808080808080u)
			return i + utf8_units(str_sub(s, i, s.n));
	}
	for (; i < s.n; i++)
		if ((unsigned char)s.p[i] >= 0x80)
			return i + utf8_units(str_sub(s, i, s.n));
	return s.n;
}

/* ---- macros ---- */

enum nv
eval_text(struct ev *ev, const struct arg *r, struct str *out)
{
	struct text t = { .sb = sb_new(ev->r->a) }, *around = ev->text;
	uint32_t indent = ev->indent;

	if (eval_too_deep(ev))
		return NV_DEPTH;
	if (!eval_step(ev, NULL))
		return NV_HALT;
	if (r->n0 == r->n1 && ev->t->dialect != MACRO_SILLYTAVERN) {
		*out = eval_src(ev, r->s, r->e);
		return NV_OK;
	}
	ev->text = &t;
	ev->depth++;
	ev->indent = 0;
	eval_list(ev, r->s, r->e, r->n0, r->n1);
	ev->indent = indent;
	ev->depth--;
	ev->text = around;
	*out = sb_str(&t.sb);
	return ev->halted ? NV_HALT : NV_OK;
}

/* sillytavern: narrows a range to what stands between its outer blanks; the indentation of its first line. */
uint32_t
eval_dedent(struct str src, uint32_t *s, uint32_t *e)
{
	struct str t = js_trim(str_sub(src, *s, *e));
	uint32_t first, line;

	if (!t.n) {
		*e = *s;
		return 0;
	}
	first = line = (uint32_t)(t.p - src.p);
	while (line > *s && src.p[line - 1] != '\n')
		line--;
	*s = first;
	*e = first + (uint32_t)t.n;
	return first - line;
}

/* sillytavern: content of a scoped macro, without its common indentation and outer blanks. */
static enum nv
scoped_text(struct ev *ev, const struct node *n, const struct arg *r, struct str *out)
{
	struct text t = { .sb = sb_new(ev->r->a) }, *around = ev->text;
	uint32_t s = r->s, e = r->e, indent = ev->indent;
	struct str src = ev->t->src;

	if (eval_too_deep(ev))
		return NV_DEPTH;
	if (!eval_step(ev, NULL))
		return NV_HALT;
	ev->indent = 0;
	if (ev->t->dialect == MACRO_SILLYTAVERN && !(n->flags & NF_KEEP))
		ev->indent = eval_dedent(src, &s, &e);
	ev->text = &t;
	ev->depth++;
	eval_list(ev, s, e, node_from(ev->t->nodes, r->n0, r->n1, s), r->n1);
	ev->depth--;
	ev->text = around;
	ev->indent = indent;
	*out = sb_str(&t.sb);
	return ev->halted ? NV_HALT : NV_OK;
}

static enum nv
eval_args(struct ev *ev, const struct node *n, struct str *argv)
{
	const struct arg *args = ev->t->args + n->arg;
	enum nv st;

	for (unsigned i = 0; i < n->argc; i++) {
		if (n->flags & NF_SCOPED && i + 1u == n->argc)
			st = scoped_text(ev, n, &args[i], &argv[i]);
		else
			st = eval_text(ev, &args[i], &argv[i]);
		if (st == NV_DEPTH)
			return eval_deep(ev, n);
		if (st != NV_OK)
			return st;
	}
	return NV_OK;
}

static uint32_t
node_end(const struct ev *ev, const struct node *n)
{
	return n->flags & NF_SCOPED ? ev->t->nodes[n->close].end : n->end;
}

/* Bytes of the source as they are printed: in the sillytavern dialect without the marks of \{ and \}. */
static struct str
source_text(struct ev *ev, uint32_t s, uint32_t e)
{
	struct text t = { .sb = sb_new(ev->r->a) }, *around = ev->text;
	struct str raw = eval_src(ev, s, e);

	if (ev->t->dialect != MACRO_SILLYTAVERN || str_chr(raw, '\\', 0) == STR_NPOS)
		return raw;
	ev->text = &t;
	eval_gap(ev, s, e);
	ev->text = around;
	return sb_str(&t.sb);
}

/* What a refused macro prints: its source, nested macros replaced by their values (decisions 28). */
static struct str
refused_text(struct ev *ev, const struct node *n, const struct str *argv)
{
	const struct arg *args = ev->t->args + n->arg;
	struct sb sb;
	uint32_t at = n->start;

	if (!(n->flags & NF_COMPUTED) || !argv || ev->silent)
		return source_text(ev, n->start, node_end(ev, n));
	sb = sb_new(ev->r->a);
	for (unsigned i = 0; i < n->argc; i++) {
		sb_add(&sb, eval_src(ev, at, args[i].s));
		sb_add(&sb, argv[i]);
		at = args[i].e;
	}
	sb_add(&sb, eval_src(ev, at, node_end(ev, n)));
	return sb_str(&sb);
}

// clang-format off
static const char *const refusals[MACRO_W__COUNT] = {
	[MACRO_W_UNKNOWN] = "no macro or variable has this name",
	[MACRO_W_ARITY] = "the macro does not take these arguments",
	[MACRO_W_PARSE] = "this is no variable path",
	[MACRO_W_TYPE] = "the value is not of a kind that this works on",
	[MACRO_W_CYCLE] = "the value is the macro itself",
};
// clang-format on

enum nv
eval_refuse(
    struct ev *ev, const struct node *n, const struct str *argv, enum macro_code code, struct str *out)
{
	eval_warn(ev, code, n, ev->t->names[n->name].s, "%s", refusals[code] ? refusals[code] : "refused");
	*out = refused_text(ev, n, argv);
	return NV_REFUSED;
}

bool
eval_ordinary(struct ev *ev, const struct name *name, struct str *out)
{
	const struct var *v = var_find(ev->r, MACRO_ORDINARY, name->s, name->hash);

	if (v->state != VAR_SET)
		return false;
	*out = v->v.text.p ? v->v.text : macro_value_text(ev->r->a, &v->v);
	return true;
}

/* A plain value that is exactly the macro that reads it. */
static enum nv
plain_value(struct ev *ev, const struct node *n, struct str value, struct str *out)
{
	struct str name = ev->t->names[n->name].s;

	*out = value;
	if (value.n != name.n + 4 || memcmp(value.p, "{{", 2) != 0 ||
	    memcmp(value.p + value.n - 2, "}}", 2) != 0 || memcmp(value.p + 2, name.p, name.n) != 0)
		return NV_OK;
	eval_warn(ev, MACRO_W_CYCLE, n, name, "%s", refusals[MACRO_W_CYCLE]);
	return NV_REFUSED;
}

/* A chance macro of a message is rolled once; later the kept result is used (decisions 52). */
static bool
kept_roll(struct ev *ev, const struct node *n, struct str *out)
{
	const struct macro_rolls *r = ev->silent ? ev->piece->rolls : NULL;
	uint32_t at = prep_given(ev->t, n->start);

	for (size_t i = 0; r && i < r->v.n; i++)
		if (r->v.v[i].offset == at) {
			*out = r->v.v[i].text;
			return true;
		}
	return false;
}

static void
keep_roll(struct ev *ev, const struct node *n, struct str text)
{
	struct macro_roll roll = { .offset = prep_given(ev->t, n->start), .text = text };

	if (ev->silent && ev->piece->rolls)
		vec_push(ev->r->a, &ev->piece->rolls->v, roll);
}

static enum nv
run_row(struct ev *ev, const struct node *n, struct str *out)
{
	const struct row *row = row_get(n->row);
	struct str small[ARGV_SMALL], *argv = small;
	enum nv st;

	if (n->flags & NF_INEXACT && n->argc == 0) {
		struct str written = js_trim(eval_src(ev, n->start + 2, n->end - 2));
		struct name own = { .s = written, .hash = hash_bytes(hash_seed(), written.p, written.n) };

		if (eval_ordinary(ev, &own, out))
			return NV_OK;
	}
	if (row->flags & ROW_RAW_ARGS) {
		*out = STR("");
		return NV_OK;
	}
	if (row->flags & ROW_LAZY)
		return n->argc < row->min || n->argc > row->max ? eval_refuse(ev, n, NULL, MACRO_W_ARITY, out)
								: row->fn(ev, n, NULL, out);
	if (row->flags & ROW_CHANCE && kept_roll(ev, n, out))
		return NV_OK;
	if (n->argc > ARGV_SMALL)
		argv = arena_array(ev->r->a, struct str, n->argc);
	if (n->argc && (st = eval_args(ev, n, argv)) != NV_OK)
		return st;
	if (n->argc < row->min || n->argc > row->max)
		return eval_refuse(ev, n, argv, n->argc ? MACRO_W_ARITY : MACRO_W_UNKNOWN, out);
	if (row->flags & ROW_TIME && !ev->r->env->time_awareness) {
		*out = STR("");
		return NV_OK;
	}
	if (!row->fn)
		return plain_value(ev, n, eval_field(ev, (enum macro_field)row->field), out);
	st = row->fn(ev, n, argv, out);
	if (st == NV_OK && row->flags & ROW_CHANCE)
		keep_roll(ev, n, *out);
	return st;
}

/* What a bare name stands for that no macro has: where no dialect is chosen, a preset's choices as in
 * Marinara's. */
static bool
bare_value(struct ev *ev, const struct name *name, struct str *out)
{
	if (ev->t->dialect == MACRO_MARINARA)
		return mar_variable(ev, name->s, out);
	return (ev->t->dialect == MACRO_AUTO && eval_preset(ev, name->s, out)) ||
	       eval_ordinary(ev, name, out);
}

static enum nv
run_name(struct ev *ev, const struct node *n, struct str *out)
{
	const struct name *name = &ev->t->names[n->name];
	struct str small[ARGV_SMALL], *argv = small;
	enum nv st;

	if (!(n->flags & NF_WORDS) && bare_value(ev, name, out))
		return plain_value(ev, n, *out, out);
	if (n->argc > ARGV_SMALL)
		argv = arena_array(ev->r->a, struct str, n->argc);
	if (n->argc && (st = eval_args(ev, n, argv)) != NV_OK)
		return st;
	return eval_refuse(ev, n, argv, n->flags & NF_WORDS ? MACRO_W_ARITY : MACRO_W_UNKNOWN, out);
}

/* Its name holds macros, or it is an operator that the dialect does not have. */
static enum nv
run_built(struct ev *ev, const struct node *n, struct str *out)
{
	struct arg inner = { .s = n->start + 2, .e = n->end - 2 };
	struct sb sb;
	struct str text;
	enum nv st;

	inner.n0 = (uint32_t)(n - ev->t->nodes) + 1;
	inner.n1 = n->skip;
	if (inner.n0 == inner.n1)
		return eval_refuse(ev, n, NULL, n->flags & NF_WORDS ? MACRO_W_ARITY : MACRO_W_UNKNOWN, out);
	if ((st = eval_text(ev, &inner, &text)) != NV_OK)
		return st == NV_DEPTH ? eval_deep(ev, n) : st;
	st = eval_refuse(ev, n, NULL, n->flags & NF_WORDS ? MACRO_W_ARITY : MACRO_W_UNKNOWN, out);
	if (ev->silent)
		return st;
	sb = sb_new(ev->r->a);
	sb_adds(&sb, "{{");
	sb_add(&sb, text);
	sb_adds(&sb, "}}");
	*out = sb_str(&sb);
	return st;
}

static enum nv
run_read(struct ev *ev, const struct node *n, struct str *out)
{
	const struct arg *key = ev->t->args + n->arg;
	struct macro_value v;
	enum macro_code code;
	bool has;

	if (!var_read(ev, n->flags & NF_GLOBAL ? MACRO_GLOBAL : MACRO_LOCAL, eval_src(ev, key->s, key->e),
		key->hash, &v, &has, &code))
		return eval_refuse(ev, n, NULL, code, out);
	*out = v.text.p ? v.text : macro_value_text(ev->r->a, &v);
	return NV_OK;
}

/* One macro: counted, checked, traced. `*out` is what it prints. */
static enum nv
run_macro(struct ev *ev, const struct node *n, struct str *out)
{
	struct str raw = eval_src(ev, n->start, node_end(ev, n));
	size_t len;
	enum nv st;

	*out = raw;
	if (!eval_step(ev, n))
		return NV_HALT;
	eval_used(ev, n->name);
	switch (n->type) {
	case N_MACRO:
		st = run_row(ev, n, out);
		break;
	case N_NAME:
		st = run_name(ev, n, out);
		break;
	case N_READ:
		st = run_read(ev, n, out);
		break;
	case N_SHORT:
		st = short_run(ev, n, out);
		break;
	default:
		st = run_built(ev, n, out);
		break;
	}
	if (st == NV_OK) {
		len = units(*out);
		if (len > ev->r->env->limits.length - ev->text->units ||
		    ev->text->units > ev->r->env->limits.length)
			st = halt(ev, MACRO_W_LENGTH, n);
		else
			ev->text->units += len;
	}
	if (st == NV_HALT || st == NV_DEPTH) {
		*out = raw;
		return st;
	}
	if (ev->r->env->trace)
		eval_trace(ev, ev->t->names[n->name].s, raw, *out, MACRO_SRC_MACRO,
		    st == NV_REFUSED ? MACRO_BRANCH_RAW : MACRO_BRANCH_NONE);
	return st;
}

/* ---- lists ---- */

enum nv
eval_node(struct ev *ev, uint32_t i, struct str *out)
{
	const struct node *n = &ev->t->nodes[i];
	struct text t = { .sb = sb_new(ev->r->a) }, *around = ev->text;
	uint32_t pos, s = n->start, e = n->end, end = n->skip;
	enum nv st = NV_OK;
	size_t warned = ev->r->res.warnings.n;

	if (ev->halted)
		return NV_HALT;
	ev->text = &t;
	if (n->type == N_OPEN && n->close) {
		st = run_block(ev, i, &pos) ? NV_OK : NV_REFUSED;
		*out = sb_str(&t.sb);
	} else if (n->type == N_MACRO || n->type == N_NAME || n->type == N_READ || n->type == N_SHORT ||
		   n->type == N_BUILT) {
		st = run_macro(ev, n, out);
	} else {
		eval_list(ev, s, e, i, end);
		*out = sb_str(&t.sb);
		st = ev->r->res.warnings.n > warned ? NV_REFUSED : NV_OK;
	}
	ev->text = around;
	return ev->halted ? NV_HALT : st;
}

/* Marinara: the lines once per character. */
static void
run_group(struct ev *ev, const struct node *g, uint32_t i)
{
	const struct macro_env *env = ev->r->env;
	const struct macro_member *member = ev->member;

	if (env->n_members < 2) {
		eval_list(ev, g->start, g->end, i + 1, g->skip);
		return;
	}
	for (size_t m = 0; m < env->n_members && !ev->halted; m++) {
		if (m)
			eval_literal(ev, "\n", 1);
		ev->member = &env->members[m];
		eval_list(ev, g->start, g->end, i + 1, g->skip);
	}
	ev->member = member;
}

static void
put_raw(struct ev *ev, const struct node *n, uint32_t end, enum macro_code code, const char *what)
{
	struct str raw = eval_src(ev, n->start, end);

	if (code < MACRO_W__COUNT)
		eval_warn(ev, code, n, STR_NULL, "%s", what);
	eval_gap(ev, n->start, end);
	if (ev->r->env->trace)
		eval_trace(ev, STR("raw"), raw, raw, MACRO_SRC_RAW, MACRO_BRANCH_RAW);
}

/* Values and blocks; returns the node after, *pos the byte after. */
static uint32_t
list_node(struct ev *ev, uint32_t i, uint32_t e, uint32_t n1, uint32_t *pos)
{
	const struct node *n = &ev->t->nodes[i];
	struct str v;
	enum nv st;

	switch (n->type) {
	case N_OPEN:
		run_block(ev, i, pos);
		return ev->t->nodes[n->close].skip;
	case N_GROUP:
		run_group(ev, n, i);
		*pos = n->end;
		return n->skip;
	case N_NOTHING:
		*pos = n->end;
		return n->skip;
	case N_RAW:
		put_raw(ev, n, n->end, MACRO_W__COUNT, NULL);
		*pos = n->end;
		return n->skip;
	case N_STRAY:
		put_raw(ev, n, n->end, MACRO_W_UNMATCHED, "nothing is open that this tag could close");
		*pos = n->end;
		return n->skip;
	case N_BARE:
		if (n->flags & NF_WORDS)
			put_raw(ev, n, n->end, MACRO_W_ARITY, "the macro takes no content");
		else
			put_raw(ev, n, n->end, MACRO_W_UNCLOSED,
			    "the block has no closing tag: the tag stays as written");
		*pos = n->end;
		return n->skip;
	case N_REST:
		put_raw(ev, n, e, MACRO_W_UNCLOSED,
		    "the block has no closing tag: the text from here on stays as written");
		*pos = e;
		return n1;
	default:
		break;
	}
	if (ev->silent && kept_in_message(ev, i, n->skip)) {
		eval_gap(ev, n->start, n->end);
		*pos = n->end;
		return n->skip;
	}
	st = run_macro(ev, n, &v);
	*pos = node_end(ev, n);
	if (st == NV_HALT || st == NV_DEPTH)
		eval_gap(ev, n->start, *pos);
	else
		insert(ev, v);
	return n->flags & NF_SCOPED ? ev->t->nodes[n->close].skip : n->skip;
}

void
eval_list(struct ev *ev, uint32_t s, uint32_t e, uint32_t n0, uint32_t n1)
{
	const struct node *v = ev->t->nodes;
	uint32_t pos = s, i = n0;

	while (i < n1 && !ev->halted) {
		if (v[i].type == N_TEXT) {
			i++;
			continue;
		}
		eval_gap(ev, pos, v[i].start - (v[i].type == N_OPEN && v[i].flags & NF_ALONE ? v[i].aux : 0));
		i = list_node(ev, i, e, n1, &pos);
	}
	eval_gap(ev, pos, e);
}
