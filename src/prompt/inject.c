/*
 * inject: texts that are put into the chat at a depth: rows of the list, depth notes, author's
 * note, persona, world info (st-assembly 1.6.1).
 */
#include "base/utf8.h"
#include "prompt/prompt_private.h"

#include <stdlib.h>

#define DEPTH_MAX 10000
#define NOTE_ORDER 100 /* of everything that comes from outside the list */

/*
 * How texts of one depth and order follow each other, newest first, and what joins texts of one role: SillyTavern's way,
 * and that of the native pipeline.
 */
static const struct {
	int rank[3];
	const char *between;
} ways[] = { { { 0, 1, 2 }, "\n" }, { { 0, 2, 1 }, "\n\n" } };

/* One text to put in. */
struct put {
	double depth, order;
	int role, rank;             /* 0 system, 1 user, 2 assistant; place among its neighbours */
	int group;                  /* rows of the list first, then the rest by the order of their keys */
	size_t seq;
	struct str text;
};
struct puts {
	VEC(struct put) v;
};

static int
role_number(struct str role)
{
	return str_is(role, "system") ? 0 : str_is(role, "user") ? 1 : str_is(role, "assistant") ? 2 : -1;
}

static bool
is_native(const struct build *b)
{
	return b->in->mode == PROMPT_NATIVE || b->in->mode == PROMPT_REARRANGE;
}

static void
put_add(struct build *b, struct puts *p, struct put one)
{
	one.seq = p->v.n;
	one.rank = one.role >= 0 ? ways[is_native(b)].rank[one.role] : 0;
	if (one.role >= 0 && one.text.n > 0 && one.depth >= 0 && one.depth <= DEPTH_MAX && one.depth == (double)(int)one.depth)
		vec_push(b->a, &p->v, one);
}

/* The rows, with what is attached to a main that stands in the chat around it. */
static void
rows_put(struct build *b, struct puts *p)
{
	const struct slot *note = order_slot(b, "authorsNote");

	for (size_t i = 0; i < b->slots.v.n; i++) {
		const struct slot *s = &b->slots.v.v[i];
		bool around = s->in_chat && note && note->attached && str_is(s->identifier, "main");
		struct put put = { .depth = s->depth_number ? s->depth : -1, .order = s->order, .role = role_number(s->role), .text = s->content };
		struct put beside = put;

		if (!s->in_chat)
			continue;
		if (around)
			beside.text = note->content;
		if (around && note->place == PROMPT_BEFORE_MAIN)
			put_add(b, p, beside);
		if (put.text.n > 0 && put.role >= 0 && put.depth >= 0)
			vec_push(b->a, &b->in_chat_ids, s->identifier);
		put_add(b, p, put);
		if (around && note->place == PROMPT_AFTER_MAIN)
			put_add(b, p, beside);
	}
}

static void
notes_put(struct build *b, struct puts *p)
{
	const struct prompt_persona *persona = b->in->persona;
	struct put put = { .order = NOTE_ORDER, .group = 1 };

	if (b->note_set.place == PROMPT_IN_CHAT) {
		put.depth = b->note_set.depth;
		put.role = role_number(input_role(b->note_set.role));
		put.text = utf8_trim(b->note);
		put_add(b, p, put);
	}
	for (size_t i = 0; i < b->depth_notes.n; i++) {
		put.depth = b->depth_notes.v[i].depth;
		put.role = role_number(b->depth_notes.v[i].role);
		put.role = put.role < 0 ? 0 : put.role;
		put.text = utf8_trim(b->depth_notes.v[i].text);
		put_add(b, p, put);
	}
	if (persona && persona->place == PERSONA_AT_DEPTH) {
		put.depth = persona->depth;
		put.role = role_number(marker_role(persona->role));
		put.role = put.role < 0 ? 0 : put.role;
		put.text = utf8_trim(b->persona);
		put_add(b, p, put);
	}
	for (size_t i = 0; b->lore && i < b->lore->ndepths; i++) {
		const struct lore_depth *d = &b->lore->depths[i];

		put.depth = d->depth;
		put.role = (int)d->role;
		put.text = utf8_trim(d->text);
		put_add(b, p, put);
	}
}

/* By depth; then as the chat is built, newest first: order from high to low, then system, user, assistant. */
static int
put_compare(const void *x, const void *y)
{
	const struct put *a = x, *b = y;

	if (a->depth != b->depth)
		return a->depth < b->depth ? -1 : 1;
	if (a->order != b->order)
		return a->order > b->order ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	return a->seq < b->seq ? -1 : a->seq > b->seq;
}

static bool
same_message(const struct put *a, const struct put *b)
{
	return a->depth == b->depth && a->order == b->order && a->role == b->role;
}

/* The message that texts of one depth, order and role make; *at moves behind them. */
static struct line
put_join(struct build *b, const struct puts *p, size_t *at)
{
	static const char *const roles[] = { "system", "user", "assistant" };
	const struct put *first = &p->v.v[*at];
	const char *between = ways[is_native(b)].between;
	struct sb rows = sb_new(b->a), rest = sb_new(b->a), all = sb_new(b->a);
	struct str head;

	for (; *at < p->v.n && same_message(first, &p->v.v[*at]); (*at)++) {
		struct sb *to = p->v.v[*at].group ? &rest : &rows;

		if (to->n > 0)
			sb_adds(to, between);
		sb_add(to, p->v.v[*at].text);
	}
	head = utf8_trim(sb_str(&rows));
	sb_add(&all, head);
	if (rows.n > 0 && rest.n > 0)
		sb_adds(&all, between);
	sb_add(&all, sb_str(&rest));
	return (struct line){ .role = str_c(roles[first->role]), .content = sb_str(&all) };
}

void
inject_depth(struct build *b, struct lines *chat)
{
	struct puts p = { 0 };
	struct lines out = { 0 };
	size_t at = 0;

	rows_put(b, &p);
	notes_put(b, &p);
	if (p.v.n == 0)
		return;
	qsort(p.v.v, p.v.n, sizeof(*p.v.v), put_compare);
	for (size_t i = 0; i <= chat->v.n; i++) {
		while (at < p.v.n && (p.v.v[at].depth <= (double)i || i == chat->v.n)) {
			struct line l = put_join(b, &p, &at);

			if (l.content.n > 0)
				vec_push(b->a, &out.v, l);
		}
		if (i < chat->v.n)
			vec_push(b->a, &out.v, chat->v.v[i]);
	}
	*chat = out;
}
