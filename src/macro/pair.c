/*
 * pair: finds which tags of a list belong together, with an explicit stack, and settles what the
 * others are. A branch is the range between two tags of the list, so pairing only writes numbers
 * into the tags. The dialect of a block is that of its opener; a {{/if}} closes the innermost
 * block of any dialect (spec conditional-dialects 2).
 */
#include "macro/macro_private.h"

struct level {
	uint32_t open, last; /* opener; last tag of the chain */
	uint32_t prev_head;  /* scoped macros: the open one of the same name below, + 1 */
	bool scoped, has_else;
};

struct pairing {
	struct compile *c;
	VEC(struct level) stack;
	size_t block;       /* 1 + index of the innermost block in the stack; 0 = none */
	VEC(size_t) blocks; /* the values of `block` below */
	uint32_t
	    floor; /* marinara: an opener's line may start here: end of the last tag, start of the list */
	uint32_t s, e;
};

/* ---- marinara's lines ---- */

/* Bytes of spaces and tabs before `at`, if they begin a line (or the floor); UINT32_MAX if not. */
static uint32_t
indent_before(const struct pairing *p, uint32_t at, uint32_t floor)
{
	struct str src = p->c->src;
	uint32_t k = at;

	while (k > floor && (src.p[k - 1] == ' ' || src.p[k - 1] == '\t'))
		k--;
	return k == floor || src.p[k - 1] == '\n' ? at - k : UINT32_MAX;
}

static bool
line_ends_at(const struct pairing *p, uint32_t at)
{
	struct str src = p->c->src;

	while (at < p->e && (src.p[at] == ' ' || src.p[at] == '\t'))
		at++;
	return at < p->e && src.p[at] == '\n';
}

static void
mark_alone(struct pairing *p, uint32_t i, uint32_t floor)
{
	struct node *n = &p->c->nodes.v[i];
	uint32_t indent = indent_before(p, n->start, floor);

	if (indent != UINT32_MAX && line_ends_at(p, n->end)) {
		n->flags |= NF_ALONE;
		n->aux = indent;
	}
}

/* ---- the stack ---- */

static uint32_t *
head_of(struct pairing *p, uint32_t name)
{
	while (p->c->heads.n <= name)
		*vec_add(p->c->a, &p->c->heads) = 0;
	return &p->c->heads.v[name];
}

/* Drops levels above `to`: scoped macros without a closer, which are ordinary macros. */
static void
drop_to(struct pairing *p, size_t to)
{
	while (p->stack.n > to) {
		struct level *l = vec_last(&p->stack);

		if (l->scoped)
			*head_of(p, p->c->nodes.v[l->open].name) = l->prev_head;
		p->stack.n--;
	}
}

static void
push_block(struct pairing *p, uint32_t i)
{
	struct level l = { .open = i, .last = i };

	vec_push(p->c->a, &p->blocks, p->block);
	vec_push(p->c->a, &p->stack, l);
	p->block = p->stack.n;
	if (p->c->nodes.v[i].dialect == MACRO_MARINARA) {
		mark_alone(p, i, p->floor);
		p->floor = p->c->nodes.v[i].end;
	}
}

static void
push_scoped(struct pairing *p, uint32_t i)
{
	uint32_t *head = head_of(p, p->c->nodes.v[i].name);
	struct level l = { .open = i, .last = i, .scoped = true, .prev_head = *head };

	vec_push(p->c->a, &p->stack, l);
	*head = (uint32_t)p->stack.n;
}

static struct level *
innermost(struct pairing *p)
{
	return p->block ? &p->stack.v[p->block - 1] : NULL;
}

static enum macro_dialect
list_dialect(const struct pairing *p)
{
	return p->c->dialect == MACRO_AUTO ? MACRO_TAVERNHEADLESS : p->c->dialect;
}

/* An else or else if that belongs to no block (or comes after its else). */
static void
loose_middle(struct compile *c, uint32_t i, enum macro_dialect d)
{
	struct node *n = &c->nodes.v[i];

	if (d == MACRO_MARINARA) {
		n->type = N_TEXT;
	} else if (d == MACRO_SILLYTAVERN && !(n->flags & NF_EXTRA)) {
		n->type = N_NOTHING;
	} else {
		n->arg = n->type == N_ELIF ? 0 : n->arg;
		n->argc = n->type == N_ELIF ? 0 : n->argc;
		n->flags |= n->flags & NF_EXTRA ? NF_WORDS : 0;
		n->type = N_NAME;
	}
}

static void
chain(struct pairing *p, struct level *l, uint32_t i)
{
	p->c->nodes.v[l->last].next = i;
	l->last = i;
}

static void
on_middle(struct pairing *p, uint32_t i)
{
	struct level *l = innermost(p);
	struct node *n = &p->c->nodes.v[i];
	enum macro_dialect d;

	if (!l) {
		loose_middle(p->c, i, list_dialect(p));
		return;
	}
	d = (enum macro_dialect)p->c->nodes.v[l->open].dialect;
	if (d == MACRO_MARINARA) {
		if (n->type == N_ELSE && n->flags & NF_EXTRA) { /* {{else foo}} is no tag */
			n->type = N_TEXT;
			return;
		}
		drop_to(p, p->block);
		chain(p, l, i);
		p->floor = n->end;
		return;
	}
	if (n->type == N_ELIF && d == MACRO_TAVERNHEADLESS)
		p->c->nodes.v[l->open].flags |= NF_ELSEIF;
	if (l->has_else || n->type == N_ELIF) {
		loose_middle(p->c, i, d);
		return;
	}
	drop_to(p, p->block);
	l->has_else = true;
	chain(p, l, i);
}

static void
on_close(struct pairing *p, uint32_t i)
{
	struct level *l = innermost(p);
	struct node *n = &p->c->nodes.v[i];

	if (!l || (n->flags & NF_EXTRA && p->c->nodes.v[l->open].dialect == MACRO_MARINARA)) {
		enum macro_dialect d = l ? MACRO_MARINARA : list_dialect(p);

		n->type = d == MACRO_MARINARA ? N_TEXT : N_STRAY;
		return;
	}
	drop_to(p, p->block);
	if (p->c->nodes.v[l->open].dialect == MACRO_MARINARA) {
		mark_alone(p, i, p->s); /* its line may hold no other tag */
		p->floor = n->end;
	}
	chain(p, l, i);
	p->c->nodes.v[l->open].close = i;
	p->stack.n--;
	p->block = vec_pop(&p->blocks);
}

/* Whether a macro takes content as one argument more. Lists do not. */
static bool
takes_content(const struct node *n)
{
	const struct row *r = row_get(n->row);

	if (n->argc == UINT16_MAX || (r->max == ARGS_ANY && !(r->flags & ROW_RAW_ARGS)))
		return false;
	return n->argc + 1u >= r->min && n->argc + 1u <= r->max;
}

/* The content becomes the last argument: a copy of the list with one more. */
static void
add_content(struct compile *c, uint32_t i, uint32_t close)
{
	struct node *n = &c->nodes.v[i];
	struct arg content = { .s = n->end, .e = c->nodes.v[close].start, .n0 = n->skip, .n1 = close };
	uint32_t first = (uint32_t)c->args.n;

	for (uint32_t k = 0; k < n->argc; k++) {
		struct arg a = c->args.v[n->arg + k];

		vec_push(c->a, &c->args, a);
	}
	vec_push(c->a, &c->args, content);
	n->arg = first;
	n->argc++;
	n->flags |= NF_SCOPED | NF_COMPUTED;
	n->close = close;
}

static void
on_scoped_close(struct pairing *p, uint32_t i)
{
	struct node *n = &p->c->nodes.v[i];
	uint32_t at = *head_of(p, n->name), open;

	if (!at || at <= p->block) {
		n->type = p->c->dialect == MACRO_MARINARA ? N_TEXT : N_STRAY;
		return;
	}
	open = p->stack.v[at - 1].open;
	drop_to(p, at - 1);
	if (takes_content(&p->c->nodes.v[open])) {
		add_content(p->c, open, i);
	} else { /* both tags stay as written */
		p->c->nodes.v[open].type = N_BARE;
		p->c->nodes.v[open].flags |= NF_WORDS;
		n->type = N_STRAY;
	}
}

/* ---- what has no closer ---- */

static void
make_literal(struct compile *c, uint32_t from, uint32_t n1)
{
	for (uint32_t i = from; i < n1; i = c->nodes.v[i].skip)
		if (c->nodes.v[i].type >= N_OPEN && c->nodes.v[i].type <= N_CLOSE)
			c->nodes.v[i].type = N_TEXT;
}

/* sillytavern: the tag alone stays as written, and its else vanishes. */
static void
unclosed_st(struct compile *c, const struct level *l)
{
	struct node *n = &c->nodes.v[l->open];

	if (n->next)
		c->nodes.v[n->next].type = N_NOTHING;
	n->type = N_BARE;
}

/* Every opener that is left: where the list is one of arguments, none of them reaches into the next. */
static void
unclosed(struct pairing *p, uint32_t n1)
{
	for (size_t i = 0; i < p->stack.n; i++) {
		const struct level *l = &p->stack.v[i];
		struct node *n = &p->c->nodes.v[l->open];

		if (l->scoped)
			continue;
		if (n->dialect == MACRO_MARINARA) {
			make_literal(p->c, l->open, n1);
			return;
		}
		if (n->dialect == MACRO_TAVERNHEADLESS)
			n->type = N_REST;
		else
			unclosed_st(p->c, l);
	}
}

/* tomoribot: one stack for both kinds; a wrong closer closes the innermost block, which is malformed then. */
static void
pair_tomori(struct pairing *p, uint32_t n0, uint32_t n1)
{
	struct node *v = p->c->nodes.v;

	for (uint32_t i = n0; i < n1; i = v[i].skip) {
		struct level *l = innermost(p);

		if (v[i].type == N_OPEN) {
			push_block(p, i);
		} else if (v[i].type == N_ELSE || v[i].type == N_CLOSE) {
			if (!l) {
				v[i].type = N_STRAY;
				continue;
			}
			if (v[i].flags & NF_EXTRA || (v[i].type == N_ELSE && l->has_else) ||
			    (v[i].type == N_CLOSE &&
				(v[i].flags & NF_UNLESS) != (v[l->open].flags & NF_UNLESS)))
				v[l->open].flags |= NF_ELSEIF;
			chain(p, l, i);
			l->has_else = true;
			if (v[i].type == N_CLOSE) {
				v[l->open].close = i;
				p->stack.n--;
				p->block = vec_pop(&p->blocks);
			}
		}
	}
}

void
pair_list(struct compile *c, uint32_t s, uint32_t e, uint32_t n0, uint32_t n1)
{
	struct pairing p = { .c = c, .floor = s, .s = s, .e = e };
	bool scopes = c->dialect == MACRO_SILLYTAVERN || c->dialect == MACRO_MARINARA;
	struct node *v = c->nodes.v;

	if (c->dialect == MACRO_TOMORIBOT) {
		pair_tomori(&p, n0, n1);
		return;
	}
	for (uint32_t i = n0; i < n1; i = v[i].skip) {
		switch (v[i].type) {
		case N_OPEN:
			push_block(&p, i);
			break;
		case N_ELSE:
		case N_ELIF:
			on_middle(&p, i);
			break;
		case N_CLOSE:
			if (v[i].row)
				on_scoped_close(&p, i);
			else
				on_close(&p, i);
			break;
		case N_MACRO:
			if (scopes &&
			    (c->dialect == MACRO_SILLYTAVERN || row_get(v[i].row)->flags & ROW_WRAP))
				push_scoped(&p, i);
			break;
		default:
			break;
		}
	}
	unclosed(&p, n1);
	drop_to(&p, 0);
}
