/*
 * eval_block: blocks: which branch is taken, what of its layout stands, and what stays raw.
 */
#include "macro/eval_private.h"

static bool
writes_inside(const struct ev *ev, uint32_t i, uint32_t end)
{
	const struct node *v = ev->t->nodes;

	if (!(ev->t->traits & MACRO_HAS_WRITE))
		return false;
	for (; i < end; i++)
		if ((v[i].type == N_MACRO && row_get(v[i].row)->flags & ROW_WRITE) || v[i].type == N_SHORT)
			return true;
	return false;
}

/* A message keeps what writes as text, with one warning. */
bool
kept_in_message(struct ev *ev, uint32_t i, uint32_t end)
{
	if (ev->piece->owner != MACRO_MESSAGE_READ || !writes_inside(ev, i, end))
		return false;
	if (!ev->kept_warned)
		eval_warn(ev, MACRO_W_MESSAGE_WRITE, &ev->t->nodes[i], STR_NULL,
		    "a message may not write variables: the macro stays as text");
	ev->kept_warned = true;
	return true;
}

/* Which branch is taken: the tag that begins it, or UINT32_MAX for none; an error keeps the block raw. */
static enum tri
choose(struct ev *ev, const struct node *open, uint32_t i, uint32_t *tag_out, enum macro_code *code)
{
	const struct node *v = ev->t->nodes;
	uint32_t tag = i;

	for (;;) {
		enum tri t;

		if (v[tag].type == N_ELSE)
			break;
		t = cond_eval(ev, open, v[tag].arg, code);
		if (t == TRI_ERROR || t == TRI_HALT)
			return t;
		if (open->flags & NF_UNLESS)
			t = t == TRI_YES ? TRI_NO : TRI_YES;
		if (t == TRI_YES)
			break;
		tag = v[tag].next;
		if (v[tag].type == N_CLOSE) {
			*tag_out = UINT32_MAX;
			return TRI_NO;
		}
	}
	*tag_out = tag;
	return tag == i ? TRI_YES : TRI_NO;
}

/* Marinara: what of a branch stands, when its block's tags stand alone on their lines. */
static void
trim_lines(const struct ev *ev, const struct node *open, uint32_t *s, uint32_t *e)
{
	const struct node *close = &ev->t->nodes[open->close];
	struct str src = ev->t->src;
	uint32_t k;

	if (open->flags & NF_ALONE) {
		for (k = *s; k < *e && (src.p[k] == ' ' || src.p[k] == '\t'); k++)
			;
		if (k < *e && src.p[k] == '\n')
			*s = k + 1;
	}
	if (close->flags & NF_ALONE) {
		for (k = *e; k > *s && (src.p[k - 1] == ' ' || src.p[k - 1] == '\t'); k--)
			;
		*e = k;
	}
}

void
take_branch(struct ev *ev, const struct node *open, uint32_t tag)
{
	const struct node *v = ev->t->nodes;
	uint32_t s = v[tag].end, next = v[tag].next, e = v[next].start, indent = ev->indent;

	if (open->dialect == MACRO_MARINARA)
		trim_lines(ev, open, &s, &e);
	else if (open->dialect == MACRO_SILLYTAVERN && !(open->flags & NF_KEEP))
		ev->indent = eval_dedent(ev->t->src, &s, &e);
	if (eval_too_deep(ev)) {
		eval_deep(ev, open);
		eval_gap(ev, s, e);
	} else if (!eval_step(ev, open)) {
		eval_gap(ev, s, e);
	} else {
		ev->depth++;
		eval_list(ev, s, e, node_from(v, v[tag].skip, next, s), next);
		ev->depth--;
	}
	ev->indent = indent;
}

// clang-format off
static const char *const cond_faults[MACRO_W__COUNT] = {
	[MACRO_W_PARSE] = "the condition is not well formed: the block stays as written",
	[MACRO_W_UNSUPPORTED] = "the condition uses what this dialect does not have: the block stays as written",
	[MACRO_W_TYPE] = "the condition compares the size of something that is no number: the block stays as written",
	[MACRO_W_DEPTH] = "the condition is nested too deep: the block stays as written",
};
// clang-format on

static void
raw_block(struct ev *ev, const struct node *open, enum macro_code code, bool traced)
{
	struct str raw = eval_src(ev, open->start, ev->t->nodes[open->close].end);

	if (code < MACRO_W__COUNT)
		eval_warn(ev, code, open, STR("if"), "%s",
		    cond_faults[code] ? cond_faults[code] : "the block stays as written");
	eval_gap(ev, open->start, ev->t->nodes[open->close].end);
	if (traced)
		eval_trace(ev, STR("if"), raw, raw, MACRO_SRC_IF, MACRO_BRANCH_RAW);
}

/* A block in a list; *pos is the byte from which on the list goes on. Returns false if it stays raw. */
bool
run_block(struct ev *ev, uint32_t i, uint32_t *pos)
{
	const struct node *open = &ev->t->nodes[i], *close = &ev->t->nodes[open->close];
	const struct header *h = &ev->t->headers[open->arg];
	enum macro_code code = MACRO_W__COUNT;
	size_t mark = ev->text->sb.n;
	struct str src = ev->t->src;
	uint32_t tag, after = close->end;
	enum tri t;

	*pos = close->end;
	if (ev->silent && (open->dialect == MACRO_MARINARA || kept_in_message(ev, i, open->close))) {
		raw_block(ev, open, MACRO_W__COUNT, false);
		return false;
	}
	eval_used(ev, open->name);
	if (ev->r->plan && open->dialect == MACRO_MARINARA) {
		plan_block(ev, i);
		return true;
	}
	if (h->empty &&
	    open->dialect == MACRO_SILLYTAVERN) { /* no condition: stays as written (decisions 33) */
		raw_block(ev, open, MACRO_W_PARSE, true);
		return false;
	}
	if (open->flags & NF_ELSEIF || h->error) {
		raw_block(ev, open,
		    open->flags & NF_ELSEIF ? MACRO_W_UNSUPPORTED : (enum macro_code)(h->error - 1), true);
		return false;
	}
	t = choose(ev, open, i, &tag, &code);
	if (t == TRI_ERROR || t == TRI_HALT) {
		raw_block(ev, open, code, t == TRI_ERROR && code != MACRO_W_DEPTH);
		return false;
	}
	if (close->flags & NF_ALONE) {
		while (after < src.n && (src.p[after] == ' ' || src.p[after] == '\t'))
			after++;
		*pos = after + 1;
	}
	if (tag != UINT32_MAX)
		take_branch(ev, open, tag);
	if (ev->r->env->trace || ev->r->env->trace_ifs) {
		const struct sb *sb = &ev->text->sb;
		size_t from = mark < sb->n ? mark : sb->n;

		eval_trace(ev, STR("if"), eval_src(ev, open->start, close->end),
		    (struct str){ sb->p + from, sb->n - from }, MACRO_SRC_IF,
		    t == TRI_YES ? MACRO_BRANCH_THEN : MACRO_BRANCH_ELSE);
	}
	return true;
}
