/*
 * tomori: pass 1 of TomoriBot's dialect (spec tomori-presets 5.1, 6): chooses branches, collects declarations
 * and keeps the text. Conditions see only what was declared before them; the choice is never made again.
 */
#include "macro/tomori_private.h"

#define OPEN_BLOCKS_MAX 32

struct macro_tomori *
macro_tomori_new(struct macro_run *r)
{
	struct macro_tomori *t = arena_new(r->a, struct macro_tomori);

	t->r = r;
	t->vars = map_create(r->a);
	r->tomori = t;
	return t;
}

/* ---- names ---- */

// clang-format off
static const struct { const char *name; uint8_t field; bool frozen; const char *clock; } names[] = {
	{ "user", MF_USER, false, NULL }, { "char", MF_CHAR, false, NULL }, { "bot", MF_CHAR, false, NULL },
	{ "personality", MF_PERSONALITY, false, NULL }, { "description", MF_DESCRIPTION, false, NULL },
	{ "scenario", MF_NONE, false, NULL }, /* import folds it into the personality */
	{ "mesExamples", MF_EXAMPLES, false, NULL }, { "lastChatMessage", MF_LAST_USER_MESSAGE, true, NULL },
	{ "model", MF_MODEL, false, NULL }, { "char_version", MF_NONE, false, NULL },
	{ "time", MF_NONE, false, "time" }, { "date", MF_NONE, false, "date" }, { "weekday", MF_NONE, false, "weekday" },
	{ "isotime", MF_NONE, false, "isotime" }, { "isodate", MF_NONE, false, "isodate" },
};
// clang-format on

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static size_t
name_index(struct str name)
{
	size_t i = 0;

	while (i < COUNT(names) && !str_ieq(name, str_c(names[i].name)))
		i++;
	return i;
}

bool
tomori_known(struct str name)
{
	return name_index(js_trim(name)) < COUNT(names);
}

/* A macro of the catalogue that only reads, by the engine. */
static bool
catalogue_value(struct macro_tomori *t, struct str name, struct str *out)
{
	struct macro_piece p = { .owner = MACRO_TEXT };
	struct sb sb = sb_new(t->r->a);
	bool exact;
	unsigned row = row_find(name, MACRO_TOMORIBOT, &exact);

	if (!row || row_get(row - 1)->min > 0 ||
	    row_get(row - 1)->flags & (ROW_WRITE | ROW_CHANCE | ROW_RAW_ARGS))
		return false;
	sb_adds(&sb, "{{");
	sb_adds(&sb, row_get(row - 1)->name);
	sb_adds(&sb, "}}");
	p.tpl = macro_compile(t->r->a, sb_str(&sb), MACRO_AUTO);
	*out = eval_nested(t->r, &p);
	return true;
}

/* The variable that getvar::key names, NULL if it is not set; *is_out: the text is one of these. */
static const struct tomori_var *
variable(const struct macro_tomori *t, struct str name, bool *is_out)
{
	*is_out = name.n >= 8 && str_ieq(str_sub(name, 0, 8), STR("getvar::"));
	return *is_out ? map_get(t->vars, js_trim(str_sub(name, 8, name.n))) : NULL;
}

struct tomori_value
tomori_name(struct macro_tomori *t, struct str name)
{
	struct tomori_value v = { .s = STR(""), .known = true };
	const struct tomori_var *var;
	bool is_var;
	size_t i;

	name = js_trim(name);
	var = variable(t, name, &is_var);
	if (is_var) {
		v.s = var ? var->s : STR("");
		return v;
	}
	i = name_index(name);
	if (i < COUNT(names) && !names[i].clock) {
		if (names[i].field != MF_NONE)
			v.s = macro_run_field(t->r, NULL, (enum macro_field)names[i].field);
		v.frozen = names[i].frozen;
		v.description = names[i].field == MF_DESCRIPTION;
		v.personality = names[i].field == MF_PERSONALITY;
		return v;
	}
	v.known = catalogue_value(t, i < COUNT(names) ? str_c(names[i].clock) : name, &v.s);
	v.frozen = i == COUNT(names);
	return v;
}

/* ---- truth: no condition copies a value, however often it is asked ---- */

static void
squeeze(struct squeezed *q, struct str s)
{
	struct str t = js_trim(s);

	if (!t.n) {
		q->gap |= s.n > 0;
		return;
	}
	if (!q->n)
		q->lead = q->gap || t.p > s.p;
	if (q->n && (q->gap || t.p > s.p))
		q->n = sizeof(q->p); /* blanks inside: no false word */
	for (size_t i = 0; i < t.n && q->n < sizeof(q->p); i++)
		q->p[q->n++] = t.p[i];
	q->gap = t.p + t.n < s.p + s.n;
}

static void
squeeze_more(struct squeezed *q, const struct squeezed *more)
{
	q->gap |= more->lead;
	squeeze(q, (struct str){ more->p, more->n });
	q->gap |= more->gap;
}

static void
squeeze_name(struct macro_tomori *t, struct squeezed *q, struct str name)
{
	bool is_var;
	const struct tomori_var *var = variable(t, js_trim(name), &is_var);

	if (var)
		squeeze_more(q, &var->truth);
	else if (!is_var)
		squeeze(q, tomori_name(t, name).s);
}

/* A condition: a bare name, or text in which each macro is replaced by its value; what nobody knows is empty.
 * Only as much of it as its truth hangs on. */
struct str
tomori_operand(struct ev *ev, const struct operand *o)
{
	const struct node *v = ev->t->nodes;
	struct macro_tomori *t = ev->r->tomori;
	struct squeezed q = { .n = 0 };
	uint32_t pos = o->s;

	if (o->n0 == o->n1)
		squeeze_name(t, &q, o->text);
	for (uint32_t i = o->n0; i < o->n1; i = v[i].skip) {
		if (v[i].type == N_TEXT)
			continue;
		squeeze(&q, eval_src(ev, pos, v[i].start));
		squeeze_name(t, &q, eval_src(ev, v[i].start + 2, v[i].end - 2));
		pos = v[i].end;
	}
	if (o->n0 != o->n1)
		squeeze(&q, eval_src(ev, pos, o->e));
	return arena_str(ev->r->a, (struct str){ q.p, q.n });
}

/* ---- pass 1 ---- */

struct collect {
	struct ev ev;
	struct macro_tomori *t;
	struct sb out;
	bool literal; /* too deep: directives are text */
};

/* {{setvar::key::value}} and {{addvar::…}}: the value is raw. */
static bool
declaration(struct collect *c, const struct node *n)
{
	struct str s = eval_src(&c->ev, n->start + 2, n->end - 2), key, value;
	struct tomori_var *var;
	size_t first, second;
	bool add;

	while (s.n && (s.p[0] == ' ' || s.p[0] == '\t' || s.p[0] == '\n'))
		s = str_sub(s, 1, s.n);
	if (s.n < 8 ||
	    !(str_ieq(str_sub(s, 0, 8), STR("setvar::")) || str_ieq(str_sub(s, 0, 8), STR("addvar::"))))
		return false;
	add = (s.p[0] | 0x20) == 'a';
	first = 8;
	second = str_find(s, STR("::"), first);
	if (second == STR_NPOS || str_chr(str_sub(s, first, second), ':', 0) != STR_NPOS)
		return false;
	key = js_trim(str_sub(s, first, second));
	value = str_sub(s, second + 2, s.n);
	var = map_get(c->t->vars, key);
	if (!var) {
		var = arena_new(c->t->r->a, struct tomori_var);
		map_set(c->t->vars, key, var);
		add = false;
	}
	if (add) {
		if (!var->own) {
			var->grown = sb_new(c->t->r->a);
			sb_add(&var->grown, var->s);
			var->own = true;
		}
		sb_add(&var->grown, value);
		var->s = sb_str(&var->grown);
		squeeze(&var->truth, value);
	} else {
		*var = (struct tomori_var){ .s = value };
		squeeze(&var->truth, value);
	}
	return true;
}

/* Whether more than 32 blocks are open at once. */
static bool
too_deep(const struct macro_template *t)
{
	VEC(uint32_t) open = { 0 };
	struct arena *a = arena_create("macro depth", 0);
	bool deep = false;

	for (uint32_t i = 0; i < t->n_nodes && !deep; i++) {
		while (open.n && *vec_last(&open) <= i)
			open.n--;
		if (t->nodes[i].type != N_OPEN)
			continue;
		vec_push(a, &open, t->nodes[i].close ? t->nodes[i].close : UINT32_MAX);
		deep = open.n > OPEN_BLOCKS_MAX;
	}
	arena_destroy(&a);
	return deep;
}

bool
tomori_is_tool(const struct ev *ev, const struct node *open)
{
	struct str inner = js_trim(eval_src(ev, open->start + 2, open->end - 2));

	return inner.n && inner.p[0] != '#';
}

static void walk(struct collect *c, uint32_t s, uint32_t e, uint32_t n0, uint32_t n1);

/* Where a block that begins at node i ends, in nodes and bytes. */
static void
block_end(const struct collect *c, uint32_t i, uint32_t e, uint32_t n1, uint32_t *node, uint32_t *byte)
{
	const struct node *v = c->ev.t->nodes;

	*node = v[i].close ? v[v[i].close].skip : n1;
	*byte = v[i].close ? v[v[i].close].end : e;
}

/* The range of the branch that begins at tag. */
static void
branch(struct collect *c, uint32_t tag, uint32_t e, uint32_t n1)
{
	const struct node *v = c->ev.t->nodes;
	uint32_t next = v[tag].next;

	walk(c, v[tag].end, next ? v[next].start : e, v[tag].skip, next ? next : n1);
}

static void
emit_tag(struct collect *c, uint32_t tag)
{
	sb_add(&c->out, eval_src(&c->ev, c->ev.t->nodes[tag].start, c->ev.t->nodes[tag].end));
}

static void
block(struct collect *c, uint32_t i, uint32_t e, uint32_t n1)
{
	const struct node *v = c->ev.t->nodes, *n = &v[i];
	const struct header *h = &c->ev.t->headers[n->arg];
	bool tool = tomori_is_tool(&c->ev, n);
	enum macro_code code;
	enum tri t;

	if (n->flags & NF_ELSEIF || h->error || h->empty) {
		eval_warn(
		    &c->ev, MACRO_W_COND_MALFORMED, n, STR_NULL, "the block is not well formed and left out");
		return;
	}
	if (!n->close)
		eval_warn(&c->ev, MACRO_W_COND_UNCLOSED, n, STR_NULL,
		    tool ? "the tool block has no end and is left out"
			 : "the block has no end: it ends with the text");
	if (tool) {
		if (!n->close)
			return;
		for (uint32_t tag = i; tag != n->close;
		     tag = v[tag].next) { /* decided when the text is emitted */
			emit_tag(c, tag);
			branch(c, tag, e, n1);
		}
		emit_tag(c, n->close);
		return;
	}
	t = cond_eval(&c->ev, n, n->arg, &code);
	if ((t == TRI_YES) != ((n->flags & NF_UNLESS) != 0))
		branch(c, i, e, n1);
	else if (n->next && n->next != n->close)
		branch(c, n->next, e, n1);
}

static void
walk(struct collect *c, uint32_t s, uint32_t e, uint32_t n0, uint32_t n1)
{
	const struct node *v = c->ev.t->nodes;
	uint32_t pos = s, i = n0, end;

	while (i < n1) {
		const struct node *n = &v[i];
		bool comment = n->type == N_MACRO && row_get(n->row)->flags & ROW_RAW_ARGS &&
			       str_is(str_c(row_get(n->row)->name), "//");
		bool tag = n->type == N_STRAY && !c->literal;

		if (n->type == N_OPEN && !c->literal) {
			sb_add(&c->out, eval_src(&c->ev, pos, n->start));
			block(c, i, e, n1);
			block_end(c, i, e, n1, &i, &end);
			pos = end;
			continue;
		}
		if (!comment && !tag && !(n->end > n->start && n->type != N_OPEN && declaration(c, n))) {
			i++; /* its bytes are text; declarations may stand inside */
			continue;
		}
		if (tag)
			eval_warn(&c->ev, MACRO_W_COND_STRAY, n, STR_NULL,
			    "nothing is open that this tag could belong to");
		sb_add(&c->out, eval_src(&c->ev, pos, n->start));
		pos = n->end;
		i = n->skip;
	}
	sb_add(&c->out, eval_src(&c->ev, pos, e));
}

void
macro_tomori_collect(struct macro_tomori *t, struct str content, struct macro_tomori_node *n)
{
	const struct macro_template *tpl = macro_compile(t->r->a, content, MACRO_TOMORIBOT);
	struct macro_piece p = { .tpl = tpl };
	struct collect c = { .ev = { .r = t->r, .t = tpl, .piece = &p }, .t = t, .out = sb_new(t->r->a) };

	*n = (struct macro_tomori_node){ .kept = tpl->src };
	if (!tpl->n_nodes)
		return;
	c.literal = n->too_deep = too_deep(tpl);
	if (n->too_deep)
		eval_warn(&c.ev, MACRO_W_COND_DEEP, NULL, STR_NULL,
		    "more than %d blocks are open at once: conditional syntax stays as written",
		    OPEN_BLOCKS_MAX);
	walk(&c, 0, (uint32_t)tpl->src.n, 0, tpl->n_nodes);
	n->kept = sb_str(&c.out);
}

/* A single piece in this dialect, outside of a rearrange build: all passes at once. */
struct str
tomori_piece(struct macro_run *r, const struct macro_piece *p)
{
	struct macro_tomori *t = r->tomori ? r->tomori : macro_tomori_new(r);
	struct macro_tomori_node n;

	macro_tomori_collect(t, p->tpl->src, &n);
	macro_tomori_expand(t, &n);
	if (n.off)
		return STR("");
	macro_tomori_emit(t, &n);
	return n.text;
}
