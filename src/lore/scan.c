/* scan: see scan.h. */
#include "base/utf8.h"
#include "lore/scan.h"

#define JOINER "\n\x01"

/* ---- pieces ---- */

static void
piece_add(struct scan *s, struct str text, enum lore_place place, int32_t index)
{
	vec_push(s->a, &s->pieces, ((struct piece){ .text = text, .place = place, .index = index }));
}

static struct str
piece_lower(struct scan *s, struct piece *p)
{
	if (!p->lowered)
		p->lower = lore_lower(s->a, p->text);
	p->lowered = true;
	return p->lower;
}

static struct str
named(struct arena *a, const struct lore_text *m)
{
	struct sb out = sb_new(a);

	sb_reserve(&out, m->name.n + 2 + m->text.n);
	sb_add(&out, m->name);
	sb_adds(&out, ": ");
	sb_add(&out, m->text);
	return sb_str(&out);
}

void
scan_deepen(struct scan *s, int32_t depth)
{
	const struct lore_scan *in = s->in;

	for (; s->messages < depth && (size_t)s->messages < in->nmessages && s->messages < DEPTH_MAX;
	     s->messages++) {
		const struct lore_text *m = &in->messages[s->messages];
		struct str text = m->text;

		if (in->settings.include_names && m->name.p != NULL)
			text = named(s->a, m);
		piece_add(s, utf8_trim(text), LORE_IN_MESSAGE, s->messages);
	}
}

void
scan_add_recursion(struct scan *s, struct str text, int32_t pass)
{
	if (text.n == 0)
		return;
	piece_add(s, text, LORE_IN_RECURSION, pass);
	s->recursions++;
}

static void
joins_free(void *scan)
{
	struct scan *s = scan;

	arena_destroy(&s->joins);
}

void
scan_begin(struct scan *s, struct arena *a, const struct lore_set *set, const struct lore_scan *in)
{
	*s = (struct scan){ .a = a, .set = set, .in = in, .budget = { 2 * REGEX_BUDGET_US } };
	for (int i = 0; i < LORE_SOURCE__COUNT; i++)
		if (in->sources[i].n > 0)
			piece_add(s, in->sources[i], LORE_IN_SOURCE, i);
	for (size_t i = 0; i < in->ninjected; i++)
		if (in->injected[i].n > 0)
			piece_add(s, in->injected[i], LORE_IN_INJECTED, (int32_t)i);
	s->joins = arena_create("lore joins", 0);
	arena_defer(a, joins_free, s);
	scan_add_matcher(s, set->keys[MATCH_EXACT], set->keys[MATCH_LOWER]);
}

/* ---- automata ---- */

const struct matcher *
scan_add_matcher(struct scan *s, const struct keys *exact, const struct keys *in_lower)
{
	const struct keys *keys[MATCH__COUNT] = { [MATCH_EXACT] = exact, [MATCH_LOWER] = in_lower };
	struct matcher *m = arena_new(s->a, struct matcher);

	for (int i = 0; i < MATCH__COUNT; i++) {
		m->scan[i] = keys_scan_new(s->a, keys[i]);
		m->hits[i] = arena_array(s->a, struct hit, keys_count(keys[i]) + 1);
		memset(m->hits[i], 0x7f, keys_count(keys[i]) * sizeof *m->hits[i]); /* NOT_FOUND throughout */
		for (size_t j = 0; j < keys_count(keys[i]); j++)
			m->hits[i][j].sources = 0;
	}
	vec_push(s->a, &s->matchers, m);
	return m;
}

struct marking {
	struct hit *hits;
	const struct piece *piece;
};

static void
mark(void *arg, size_t pattern)
{
	const struct marking *m = arg;
	struct hit *h = &m->hits[pattern];
	int16_t *first = m->piece->place == LORE_IN_MESSAGE    ? &h->message
			 : m->piece->place == LORE_IN_INJECTED ? &h->injected
							       : &h->recursion;

	if (m->piece->place == LORE_IN_SOURCE)
		h->sources |= (uint8_t)(1u << m->piece->index);
	else if (m->piece->index < *first)
		*first = (int16_t)m->piece->index;
	else if (*first == NOT_FOUND)
		*first = NOT_FOUND - 1;
}

static void
search(struct scan *s, struct matcher *m)
{
	for (; m->searched < s->pieces.n; m->searched++) {
		struct piece *p = &s->pieces.v[m->searched];

		for (int i = 0; i < MATCH__COUNT; i++) {
			struct marking marking = { m->hits[i], p };

			if (keys_count(m->scan[i].k) > 0)
				keys_find(&m->scan[i], i == MATCH_LOWER ? piece_lower(s, p) : p->text, mark,
				    &marking);
		}
	}
}

static struct found
look_up(const struct hit *h, struct view v)
{
	if (h->message < v.depth)
		return (struct found){ true, LORE_IN_MESSAGE, h->message, false };
	for (int i = 0; i < LORE_SOURCE__COUNT; i++)
		if (h->sources & v.sources & 1u << i)
			return (struct found){ true, LORE_IN_SOURCE, i, false };
	if (h->injected != NOT_FOUND)
		return (struct found){ true, LORE_IN_INJECTED, h->injected, false };
	if (v.recursion && h->recursion != NOT_FOUND)
		return (struct found){ true, LORE_IN_RECURSION, h->recursion, false };
	return (struct found){ false, LORE_IN_NOTHING, 0, false };
}

/* ---- joined texts ---- */

/* Pieces in SillyTavern's order: messages, sources, injected texts, recursion. */
static bool
in_view(const struct piece *p, struct view v)
{
	switch (p->place) {
	case LORE_IN_MESSAGE:
		return p->index < v.depth;
	case LORE_IN_SOURCE:
		return (v.sources & 1u << p->index) != 0;
	case LORE_IN_RECURSION:
		return v.recursion;
	case LORE_IN_INJECTED:
	case LORE_IN_NOTHING:
		break;
	}
	return true;
}

static struct str
join(struct scan *s, struct view v)
{
	static const enum lore_place order[] = { LORE_IN_MESSAGE, LORE_IN_SOURCE, LORE_IN_INJECTED,
		LORE_IN_RECURSION };
	struct sb out = sb_new(s->joins);

	sb_addc(&out, '\x01');
	for (size_t o = 0; o < 4; o++)
		for (size_t i = 0; i < s->pieces.n; i++) {
			const struct piece *p = &s->pieces.v[i];

			if (p->place != order[o] || !in_view(p, v))
				continue;
			if (p->place != LORE_IN_MESSAGE || p->index > 0)
				sb_adds(&out, JOINER);
			sb_add(&out, p->text);
		}
	return sb_str(&out);
}

static struct joined *
joined_of(struct scan *s, struct view v)
{
	struct joined *j;

	if (v.depth > s->messages)
		v.depth = s->messages;
	for (size_t i = s->joined.n; i > 0; i--) {
		j = s->joined.v[i - 1];
		if (j->view.depth == v.depth && j->view.sources == v.sources &&
		    j->view.recursion == v.recursion && (!v.recursion || j->pieces == s->recursions))
			return j;
	}
	if (s->joined.n == JOINED_MAX) {
		arena_reset(s->joins);
		s->joined.n = 0;
	}
	j = arena_new(s->joins, struct joined);
	j->view = v;
	j->pieces = s->recursions;
	j->text = join(s, v);
	regex_print_text(&j->print, j->text);
	vec_push(s->a, &s->joined, j);
	return j;
}

static struct str
joined_text(struct scan *s, const struct candidate *c, struct view v)
{
	struct joined *j = joined_of(s, v);

	if (c->case_sensitive)
		return j->text;
	if (!j->lowered)
		j->lower = lore_lower(s->joins, j->text);
	j->lowered = true;
	return j->lower;
}

static bool
in_joined(struct scan *s, const struct candidate *c, struct str key, bool spaced, struct view v)
{
	struct keys_pattern p = { c->case_sensitive ? key : lore_lower(s->a, key),
		c->whole_words && !spaced };

	return keys_in(joined_text(s, c, v), p, s->set->unicode_words);
}

/* A regex key is searched in the whole view; where it stands is told by the piece that matches alone, if one
 * does. */
static struct found
test_regex(struct scan *s, const struct regex *re, struct view v)
{
	struct found f = { .limited = re == NULL };
	struct joined *j = joined_of(s, v);
	enum regex_result r;

	if (re == NULL || !regex_may_match(re, &j->print))
		return f;
	r = regex_test(s->a, re, j->text, &s->budget);
	f.limited = r == REGEX_LIMIT;
	f.is = r == REGEX_MATCH;
	for (size_t i = 0; f.is && i < s->pieces.n && f.place == LORE_IN_NOTHING; i++)
		if (in_view(&s->pieces.v[i], v) &&
		    regex_test(s->a, re, s->pieces.v[i].text, &s->budget) == REGEX_MATCH) {
			f.place = s->pieces.v[i].place;
			f.index = s->pieces.v[i].index;
		}
	return f;
}

/* ---- tests ---- */

struct found
scan_test(struct scan *s, const struct candidate *c, const struct test_key *k, struct view v)
{
	struct found f = { 0 };

	if (v.depth <= 0)
		return f;
	for (size_t i = 0; i < s->matchers.n; i++)
		search(s, s->matchers.v[i]);
	if (k->key.kind == KEY_REGEX)
		return test_regex(s, k->key.re, v);
	if (k->key.kind != KEY_PLAIN)
		return f;
	if (k->matcher != NULL)
		return look_up(
		    &k->matcher->hits[c->case_sensitive ? MATCH_EXACT : MATCH_LOWER][k->pattern], v);
	f.is = in_joined(s, c, k->key.text, k->key.spaced, v);
	return f;
}

bool
scan_score(struct scan *s, const struct candidate *c, const struct book_key *raw, const struct test_key *k,
    struct view v)
{
	if (raw->raw.n == 0)
		return true; /* an empty text is found in any */
	if (!raw->edged && raw->kind != KEY_DYNAMIC)
		return scan_test(s, c, k, v).is;
	return v.depth > 0 && in_joined(s, c, raw->raw, raw->spaced || raw->edged, v);
}
