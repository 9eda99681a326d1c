/* keys: see keys.h. */
#include "lore/keys.h"

#include "base/utf8.h"

#include <stdlib.h>

#define NONE UINT32_MAX /* no such state */

/*
 * A state's children are the states first … first + count - 1, their bytes lie at the same places in
 * `label`. State 0 is the root. `hit` is the nearest state on the way of failures, itself
 * included, where a pattern ends (0 = none).
 */
struct state {
	uint32_t first, fail, hit;
	uint32_t patterns; /* first + 1 into `order`, 0 = no pattern ends here */
	uint16_t count;
	bool whole; /* a pattern with word borders ends here or further along `hit` */
};

struct keys {
	struct state *state;
	unsigned char *label;
	uint32_t nstates;
	uint32_t root[256];
	uint64_t pair[65536 / 64]; /* first two bytes with which some pattern can begin */
	const struct keys_pattern *pattern;
	uint32_t *order; /* patterns, sorted by text */
	size_t n;
	bool unicode_words;
};

static int
pattern_cmp(const void *x, const void *y, void *arg)
{
	const struct keys_pattern *p = arg;
	uint32_t i = *(const uint32_t *)x, j = *(const uint32_t *)y;
	int c = str_cmp(p[i].text, p[j].text);

	return c != 0 ? c : i < j ? -1 : i > j;
}

/* The sorted patterns [lo, hi) share `depth` bytes, which lead to `state`. */
struct todo {
	uint32_t state;
	uint32_t lo, hi;
	size_t depth;
};

struct builder {
	struct arena *a;
	struct keys *k;
	VEC(struct state) state;
	VEC(unsigned char) label;
	VEC(struct todo) todo; /* a queue: states are made in breadth-first order */
};

static const struct keys_pattern *
sorted(const struct keys *k, uint32_t i)
{
	return &k->pattern[k->order[i]];
}

/* Child of a state that is not the root. */
static inline uint32_t
child_of(const struct keys *k, const struct state *s, unsigned char c)
{
	const unsigned char *label = k->label + s->first, *at;

	if (s->count > 8) {
		at = memchr(label, c, s->count);
		return at != NULL ? s->first + (uint32_t)(at - label) : NONE;
	}
	for (uint32_t i = 0; i < s->count; i++)
		if (label[i] == c)
			return s->first + i;
	return NONE;
}

static inline uint32_t
child(const struct keys *k, uint32_t state, unsigned char c)
{
	return state == 0 ? k->root[c] : child_of(k, &k->state[state], c);
}

static void
add_children(struct builder *b, struct todo t)
{
	struct keys *k = b->k;
	uint32_t lo = t.lo;

	if (sorted(k, lo)->text.n == t.depth) {
		b->state.v[t.state].patterns = lo + 1;
		while (lo < t.hi && sorted(k, lo)->text.n == t.depth)
			lo++;
	}
	b->state.v[t.state].first = (uint32_t)b->state.n;
	for (uint32_t hi; lo < t.hi; lo = hi) {
		unsigned char c = (unsigned char)sorted(k, lo)->text.p[t.depth];

		for (hi = lo; hi < t.hi && (unsigned char)sorted(k, hi)->text.p[t.depth] == c;)
			hi++;
		vec_push(b->a, &b->todo, ((struct todo){ (uint32_t)b->state.n, lo, hi, t.depth + 1 }));
		vec_push(b->a, &b->label, c);
		vec_push(b->a, &b->state, ((struct state){ 0 }));
		b->state.v[t.state].count++;
	}
}

static bool
ends_whole(const struct keys *k, const struct state *s, size_t depth)
{
	if (s->patterns == 0)
		return false;
	for (uint32_t i = s->patterns - 1; i < k->n && sorted(k, i)->text.n == depth; i++) {
		if (i > s->patterns - 1 && !str_eq(sorted(k, i)->text, sorted(k, s->patterns - 1)->text))
			break;
		if (sorted(k, i)->whole)
			return true;
	}
	return false;
}

/* States come in breadth-first order, so what a failure leads to is always ready. */
static void
add_failures(struct keys *k, const uint32_t *parent, const size_t *depth)
{
	for (uint32_t s = 1; s < k->nstates; s++) {
		struct state *st = &k->state[s];
		uint32_t f = parent[s], t = NONE;

		while (f != 0 && t == NONE) {
			f = k->state[f].fail;
			t = child(k, f, k->label[s]);
		}
		st->fail = t == NONE || t == s ? 0 : t;
		st->hit = st->patterns > 0 ? s : k->state[st->fail].hit;
		st->whole = ends_whole(k, st, depth[s]) || (st->fail != 0 && k->state[st->fail].whole);
	}
}

/* The root's children and theirs: most places of a text are told by two bytes to begin no pattern. */
static void
add_pairs(struct keys *k)
{
	for (unsigned c = 0; c < 256; c++) {
		const struct state *s = k->root[c] != NONE ? &k->state[k->root[c]] : NULL;

		for (unsigned d = 0; s != NULL && d < 256; d++)
			if (s->patterns > 0 || child(k, k->root[c], (unsigned char)d) != NONE)
				k->pair[(c << 8 | d) / 64] |= UINT64_C(1) << (d & 63);
	}
}

static void
finish(struct builder *b)
{
	struct arena_mark m;
	struct keys *k = b->k;
	uint32_t *parent;
	size_t *depth;

	k->nstates = (uint32_t)b->state.n;
	k->state = arena_copy(b->a, b->state.v, b->state.n * sizeof *k->state);
	k->label = arena_copy(b->a, b->label.v, b->label.n);
	for (int c = 0; c < 256; c++)
		k->root[c] = NONE;
	for (uint32_t i = 0; i < k->state[0].count; i++)
		k->root[k->label[k->state[0].first + i]] = k->state[0].first + i;
	add_pairs(k);
	m = arena_mark(b->a);
	parent = arena_array(b->a, uint32_t, k->nstates);
	depth = arena_array(b->a, size_t, k->nstates);
	for (uint32_t s = 0; s < k->nstates; s++)
		for (uint32_t i = 0; i < k->state[s].count; i++) {
			parent[k->state[s].first + i] = s;
			depth[k->state[s].first + i] = depth[s] + 1;
		}
	add_failures(k, parent, depth);
	arena_rewind(b->a, m);
}

struct keys *
keys_build(struct arena *a, const struct keys_pattern *v, size_t n, bool unicode_words)
{
	struct keys *k = arena_new(a, struct keys);
	struct arena *scratch = arena_create("keys", 1 << 16);
	struct builder b = { .a = scratch, .k = k };

	k->pattern = arena_copy(a, v, n * sizeof *v);
	k->n = n;
	k->unicode_words = unicode_words;
	k->order = arena_array(a, uint32_t, n + 1);
	for (uint32_t i = 0; i < n; i++)
		k->order[i] = i;
	qsort_r(k->order, n, sizeof *k->order, pattern_cmp, (void *)(uintptr_t)k->pattern);
	vec_push(scratch, &b.state, ((struct state){ 0 }));
	vec_push(scratch, &b.label, 0);
	if (n > 0)
		vec_push(scratch, &b.todo, ((struct todo){ 0, 0, (uint32_t)n, 0 }));
	for (size_t i = 0; i < b.todo.n; i++)
		add_children(&b, b.todo.v[i]);
	b.a = a;
	finish(&b);
	arena_destroy(&scratch);
	return k;
}

size_t
keys_count(const struct keys *k)
{
	return k->n;
}

struct keys_scan
keys_scan_new(struct arena *a, const struct keys *k)
{
	return (struct keys_scan){ .k = k, .stamp = arena_array(a, uint32_t, k->n + 1) };
}

/* ---- borders of words ---- */

static bool
ascii_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool
word_before(struct str text, size_t pos, bool unicode)
{
	size_t at;

	if (pos == 0)
		return false;
	if (!unicode || (unsigned char)text.p[pos - 1] < 0x80)
		return ascii_word(text.p[pos - 1]);
	at = utf8_prev(text, pos);
	return rune_is_word(utf8_next(text, &at));
}

static bool
word_after(struct str text, size_t pos, bool unicode)
{
	if (pos >= text.n)
		return false;
	if (!unicode || (unsigned char)text.p[pos] < 0x80)
		return ascii_word(text.p[pos]);
	return rune_is_word(utf8_next(text, &pos));
}

/* ---- finding ---- */

struct finder {
	struct keys_scan *s;
	struct str text;
	void (*found)(void *arg, size_t pattern);
	void *arg;
};

/* The patterns of one state, which end at `end`. */
static void
report(const struct finder *f, const struct state *st, size_t end, bool border)
{
	const struct keys *k = f->s->k;
	struct str text = sorted(k, st->patterns - 1)->text;

	for (uint32_t i = st->patterns - 1; i < k->n && str_eq(sorted(k, i)->text, text); i++)
		if (!sorted(k, i)->whole || (border && !word_before(f->text, end - text.n, k->unicode_words)))
			f->found(f->arg, k->order[i]);
}

/* All patterns that end at `end`. A chain of plain ones that was walked in this text is not walked again. */
static void
report_chain(const struct finder *f, uint32_t state, size_t end)
{
	const struct keys *k = f->s->k;
	bool border = !word_after(f->text, end, k->unicode_words);

	for (uint32_t s = k->state[state].hit; s != 0; s = k->state[k->state[s].fail].hit) {
		const struct state *st = &k->state[s];

		if (f->s->stamp[st->patterns] == f->s->text && (!st->whole || !border))
			return;
		f->s->stamp[st->patterns] = f->s->text;
		report(f, st, end, border);
	}
}

/* The next place where a pattern may begin; the last byte always may. */
static inline size_t
skip(const struct keys *k, struct str text, size_t i)
{
	const unsigned char *p = (const unsigned char *)text.p + i,
			    *end = (const unsigned char *)text.p + text.n;
	unsigned two = p < end ? *p : 0;

	for (; p + 1 < end; p++) {
		two = (two << 8 | p[1]) & 0xffff;
		if (k->pair[two / 64] >> (two & 63) & 1)
			break;
	}
	return (size_t)(p - (const unsigned char *)text.p);
}

void
keys_find(struct keys_scan *s, struct str text, void (*found)(void *arg, size_t pattern), void *arg)
{
	const struct keys *k = s->k;
	struct finder f = { s, text, found, arg };
	uint32_t state = 0;

	s->text++;
	if (k->n == 0)
		return;
	for (size_t i = 0; (i = state == 0 ? skip(k, text, i) : i) < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];
		uint32_t next = child(k, state, c);

		while (next == NONE && state != 0) {
			state = k->state[state].fail;
			next = child(k, state, c);
		}
		state = next == NONE ? 0 : next;
		if (state != 0 && k->state[state].hit != 0)
			report_chain(&f, state, i + 1);
	}
}

bool
keys_in(struct str text, struct keys_pattern p, bool unicode_words)
{
	if (p.text.n == 0)
		return true;
	for (size_t at = 0; (at = str_find(text, p.text, at)) != STR_NPOS; at++)
		if (!p.whole || (!word_before(text, at, unicode_words) &&
				    !word_after(text, at + p.text.n, unicode_words)))
			return true;
	return false;
}
