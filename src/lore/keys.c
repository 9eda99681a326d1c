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
	uint32_t *end;   /* [n + 1], by a state's `patterns`: where those of its text end in `order` */
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

/* While it is built, a state stands for the sorted patterns [lo, hi), which share the bytes that lead to it.
 */
struct span {
	uint32_t lo, hi, parent;
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

/* Makes the children of a state; `depth` bytes lead to it. */
static void
add_children(struct keys *k, struct span *span, uint32_t state, size_t depth)
{
	struct state *s = &k->state[state];
	uint32_t lo = span[state].lo, end = span[state].hi;

	if (sorted(k, lo)->text.n == depth) {
		s->patterns = lo + 1;
		while (lo < end && sorted(k, lo)->text.n == depth)
			lo++;
		k->end[s->patterns] = lo;
	}
	s->first = k->nstates;
	for (uint32_t hi; lo < end; lo = hi) {
		unsigned char c = (unsigned char)sorted(k, lo)->text.p[depth];

		for (hi = lo; hi < end && (unsigned char)sorted(k, hi)->text.p[depth] == c;)
			hi++;
		span[k->nstates] = (struct span){ lo, hi, state };
		k->label[k->nstates++] = c;
		s->count++;
	}
}

static bool
ends_whole(const struct keys *k, uint32_t lo, uint32_t hi, size_t depth)
{
	for (; lo < hi && sorted(k, lo)->text.n == depth; lo++)
		if (sorted(k, lo)->whole)
			return true;
	return false;
}

/* Ready for a state when it is for all that fewer bytes lead to. */
static void
add_failure(struct keys *k, const struct span *span, uint32_t state, size_t depth)
{
	struct state *s = &k->state[state];
	uint32_t f = span[state].parent, t = NONE;

	while (f != 0 && t == NONE) {
		f = k->state[f].fail;
		t = child(k, f, k->label[state]);
	}
	s->fail = t == NONE ? 0 : t;
	s->hit = s->patterns > 0 ? state : k->state[s->fail].hit;
	s->whole =
	    ends_whole(k, span[state].lo, span[state].hi, depth) || (s->fail != 0 && k->state[s->fail].whole);
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
add_root(struct keys *k)
{
	for (int c = 0; c < 256; c++)
		k->root[c] = NONE;
	for (uint32_t i = 0; i < k->state[0].count; i++)
		k->root[k->label[k->state[0].first + i]] = k->state[0].first + i;
}

/* A state for every prefix that no earlier pattern has, and the root. */
static size_t
states_of(const struct keys *k)
{
	size_t n = 1;

	for (uint32_t i = 0; i < k->n; i++) {
		struct str text = sorted(k, i)->text, last = i > 0 ? sorted(k, i - 1)->text : STR("");
		size_t same = 0;

		while (same < text.n && same < last.n && text.p[same] == last.p[same])
			same++;
		n += text.n - same;
	}
	return n;
}

/* Level by level, so that failures lead to what is ready. */
static void
build_states(struct keys *k, struct span *span)
{
	size_t depth = 0;

	span[0] = (struct span){ 0, (uint32_t)k->n, 0 };
	k->nstates = 1;
	for (uint32_t from = 0, to = 1; from < to; from = to, to = k->nstates, depth++) {
		for (uint32_t s = from; s < to; s++)
			add_children(k, span, s, depth);
		if (depth == 0)
			add_root(k);
		for (uint32_t s = from; s < to && depth > 0; s++)
			add_failure(k, span, s, depth);
	}
}

struct keys *
keys_build(struct arena *a, const struct keys_pattern *v, size_t n, bool unicode_words)
{
	struct keys *k = arena_new(a, struct keys);
	struct arena *scratch;
	size_t states;

	k->pattern = arena_copy(a, v, n * sizeof *v);
	k->n = n;
	k->unicode_words = unicode_words;
	if (n == 0)
		return k;
	k->order = arena_array(a, uint32_t, n);
	k->end = arena_array(a, uint32_t, n + 1);
	for (uint32_t i = 0; i < n; i++)
		k->order[i] = i;
	qsort_r(k->order, n, sizeof *k->order, pattern_cmp, (void *)(uintptr_t)k->pattern);
	states = states_of(k);
	k->state = arena_array(a, struct state, states);
	k->label = arena_alloc(a, states);
	scratch = arena_create("keys", states * sizeof(struct span) + 64);
	build_states(k, arena_array(scratch, struct span, states));
	add_pairs(k);
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
	return (struct keys_scan){ .k = k, .stamp = arena_array(a, uint32_t, 2 * (k->n + 1)) };
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

/*
 * The patterns of one state, which end at `end`: those without word borders once in a text, those
 * with them once they have some.
 */
static void
report(const struct finder *f, const struct state *st, size_t end, bool border)
{
	const struct keys *k = f->s->k;
	size_t size = sorted(k, st->patterns - 1)->text.n;
	uint32_t *plain = &f->s->stamp[2 * st->patterns], *whole = plain + 1;
	bool add_plain = *plain != f->s->text, add_whole = border && *whole != f->s->text;

	add_whole = add_whole && !word_before(f->text, end - size, k->unicode_words);
	*plain = f->s->text;
	if (add_whole)
		*whole = f->s->text;
	for (uint32_t i = st->patterns - 1; (add_plain || add_whole) && i < k->end[st->patterns]; i++)
		if (sorted(k, i)->whole ? add_whole : add_plain)
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

		if (f->s->stamp[2 * st->patterns] == f->s->text && (!st->whole || !border))
			return;
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
