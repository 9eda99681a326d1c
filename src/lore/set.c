/*
 * set: the books of a session as one list of candidates in the order in which SillyTavern tries
 * them, and their plain keys as automata.
 */
#include "lore/lore_private.h"

#include <stdlib.h>

/* Candidate lists in the order in which they come. */
enum part { PART_CHAT, PART_PERSONA, PART_FIRST, PART_SECOND };

struct sorting {
	struct candidate c;
	enum part part;
	size_t at; /* order before sorting */
};

static enum part
part_of(enum lore_scope scope, enum lore_strategy strategy)
{
	if (scope == LORE_CHAT)
		return PART_CHAT;
	if (scope == LORE_PERSONA_BOOK)
		return PART_PERSONA;
	if (strategy == LORE_EVENLY)
		return PART_FIRST;
	return (scope == LORE_CHARACTER) == (strategy == LORE_CHARACTER_FIRST) ? PART_FIRST : PART_SECOND;
}

static int
sorting_cmp(const void *x, const void *y)
{
	const struct sorting *p = x, *q = y;

	if (p->part != q->part)
		return p->part < q->part ? -1 : 1;
	if (p->c.e->src.order > q->c.e->src.order)
		return -1;
	if (p->c.e->src.order < q->c.e->src.order)
		return 1;
	return p->at < q->at ? -1 : p->at > q->at;
}

/* Global beats chat beats persona beats character; among equals the first. */
static bool
stronger_twin(const struct lore_binding *b, size_t i)
{
	static const int rank[] = {
		[LORE_GLOBAL] = 0, [LORE_CHAT] = 1, [LORE_PERSONA_BOOK] = 2, [LORE_CHARACTER] = 3
	};

	for (size_t j = 0; j < b->nbooks; j++)
		if (j != i && str_eq(b->books[j].book->name, b->books[i].book->name) &&
		    (rank[b->books[j].scope] < rank[b->books[i].scope] ||
			(b->books[j].scope == b->books[i].scope && j < i)))
			return true;
	return false;
}

/* Global books come before the character's where both are sorted together. */
static void
collect(const struct lore_binding *b, enum lore_scope scope, struct sorting *out, size_t *n)
{
	for (size_t i = 0; i < b->nbooks; i++) {
		const struct lore_book *book = b->books[i].book;
		bool twin = b->books[i].scope == scope && stronger_twin(b, i);

		for (size_t j = 0; b->books[i].scope == scope && j < book->n; j++) {
			out[*n].c = (struct candidate){
				.book = book, .e = &book->v[j], .index = j, .duplicate = twin
			};
			out[*n].part = part_of(scope, b->strategy);
			out[*n].at = *n;
			++*n;
		}
	}
}

/* ---- patterns ---- */

struct patterns {
	struct arena *a;
	VEC(struct keys_pattern) v[MATCH__COUNT];
};

static uint32_t
pattern_add(struct patterns *p, const struct candidate *c, const struct book_key *k)
{
	int match = c->case_sensitive ? MATCH_EXACT : MATCH_LOWER;
	struct str text = c->case_sensitive ? k->text : lore_lower(p->a, k->text);

	vec_push(p->a, &p->v[match], ((struct keys_pattern){ text, c->whole_words && !k->spaced }));
	return (uint32_t)p->v[match].n - 1;
}

static uint32_t *
patterns_of(struct patterns *p, const struct candidate *c, const struct book_keys *keys)
{
	uint32_t *out = arena_array(p->a, uint32_t, keys->n + 1);

	for (size_t i = 0; i < keys->n; i++)
		out[i] = keys->v[i].kind == KEY_PLAIN && !keys->v[i].odd ? pattern_add(p, c, &keys->v[i])
									 : NO_PATTERN;
	return out;
}

static bool
has_dynamic(const struct book_keys *keys)
{
	for (size_t i = 0; i < keys->n; i++)
		if (keys->v[i].kind == KEY_DYNAMIC)
			return true;
	return false;
}

static bool
tri(enum lore_tri t, bool dflt)
{
	return t == LORE_UNSET ? dflt : t == LORE_YES;
}

static void
prepare(struct lore_set *s, struct candidate *c, const struct lore_binding *b, struct patterns *p)
{
	const struct lore_entry *e = &c->e->src;
	int64_t floors = (int64_t)e->sticky + e->cooldown;

	c->case_sensitive = tri(e->case_sensitive, b->case_sensitive);
	c->whole_words = tri(e->whole_words, b->whole_words);
	c->dynamic = has_dynamic(&c->e->keys) || has_dynamic(&c->e->secondary);
	c->keys = patterns_of(p, c, &c->e->keys);
	c->secondary = patterns_of(p, c, &c->e->secondary);
	if (floors > s->horizon)
		s->horizon = (int32_t)(floors > INT32_MAX ? INT32_MAX : floors);
}

struct lore_set *
lore_set_compile(struct arena *a, const struct lore_binding *b)
{
	struct lore_set *s = arena_new(a, struct lore_set);
	struct arena *scratch = arena_create("lore set", 1 << 16);
	struct patterns p = { .a = a };
	struct sorting *list;
	size_t total = 0, n = 0;

	for (size_t i = 0; i < b->nbooks; i++) {
		total += b->books[i].book->n;
		s->bytes += b->books[i].book->bytes;
	}
	list = arena_array(scratch, struct sorting, total + 1);
	collect(b, LORE_GLOBAL, list, &n);
	collect(b, LORE_CHARACTER, list, &n);
	collect(b, LORE_CHAT, list, &n);
	collect(b, LORE_PERSONA_BOOK, list, &n);
	qsort(list, n, sizeof *list, sorting_cmp);
	s->v = arena_array(a, struct candidate, n + 1);
	s->n = n;
	s->unicode_words = b->unicode_words;
	for (size_t i = 0; i < n; i++) {
		s->v[i] = list[i].c;
		prepare(s, &s->v[i], b, &p);
	}
	for (int match = 0; match < MATCH__COUNT; match++)
		s->keys[match] = keys_build(a, p.v[match].v, p.v[match].n, b->unicode_words);
	arena_destroy(&scratch);
	return s;
}

size_t
lore_set_count(const struct lore_set *s)
{
	return s->n;
}

size_t
lore_set_bytes(const struct lore_set *s)
{
	return s->bytes;
}

int32_t
lore_set_horizon(const struct lore_set *s)
{
	return s->horizon;
}
