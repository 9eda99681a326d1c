/*
 * js_set: sets of code points as JavaScript's classes make them: ranges, \d \s \w, and what is
 * equal when case is ignored. The whole of \s is here, since no library's is the same.
 */
#include "regex/js.h"

#include "base/utf8.h"

#include <pthread.h>
#include <stdlib.h>

void
js_set_add(struct arena *a, struct js_set *s, uint32_t lo, uint32_t hi)
{
	size_t i = 0, j;

	while (i < s->r.n && s->r.v[i].hi + 1 < lo)
		i++;
	for (j = i; j < s->r.n && s->r.v[j].lo <= hi + 1; j++) {
		lo = s->r.v[j].lo < lo ? s->r.v[j].lo : lo;
		hi = s->r.v[j].hi > hi ? s->r.v[j].hi : hi;
	}
	if (j == i) {
		vec_push(a, &s->r, ((struct js_range){ 0 }));
		memmove(&s->r.v[i + 1], &s->r.v[i], (s->r.n - 1 - i) * sizeof s->r.v[0]);
	} else {
		memmove(&s->r.v[i + 1], &s->r.v[j], (s->r.n - j) * sizeof s->r.v[0]);
		s->r.n -= j - i - 1;
	}
	s->r.v[i] = (struct js_range){ lo, hi };
}

void
js_set_invert(struct arena *a, struct js_set *s)
{
	struct js_set out = { 0 };
	uint32_t from = 0;

	for (size_t i = 0; i < s->r.n; i++) {
		if (s->r.v[i].lo > from)
			vec_push(a, &out.r, ((struct js_range){ from, s->r.v[i].lo - 1 }));
		from = s->r.v[i].hi + 1;
	}
	if (from <= RUNE_MAX)
		vec_push(a, &out.r, ((struct js_range){ from, RUNE_MAX }));
	*s = out;
}

bool
js_set_has(const struct js_set *s, uint32_t rune)
{
	size_t lo = 0, hi = s->r.n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (s->r.v[mid].hi < rune)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < s->r.n && s->r.v[lo].lo <= rune;
}

static const struct js_range digits[] = { { '0', '9' } };
static const struct js_range words[] = { { '0', '9' }, { 'A', 'Z' }, { '_', '_' }, { 'a', 'z' } };
static const struct js_range folded_words[] = { { '0', '9' }, { 'A', 'Z' }, { '_', '_' }, { 'a', 'z' },
	{ 0x17f, 0x17f }, { 0x212a, 0x212a } };
static const struct js_range spaces[] = { { 9, 13 }, { ' ', ' ' }, { 0xa0, 0xa0 }, { 0x1680, 0x1680 },
	{ 0x2000, 0x200a }, { 0x2028, 0x2029 }, { 0x202f, 0x202f }, { 0x205f, 0x205f }, { 0x3000, 0x3000 },
	{ 0xfeff, 0xfeff } };

static void
add_ranges(struct arena *a, struct js_set *s, const struct js_range *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		js_set_add(a, s, v[i].lo, v[i].hi);
}

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

void
js_set_escape(struct arena *a, struct js_set *s, char letter, bool fold_words)
{
	struct js_set own = { 0 };

	switch (letter | 0x20) {
	case 'd':
		add_ranges(a, &own, digits, COUNT(digits));
		break;
	case 's':
		add_ranges(a, &own, spaces, COUNT(spaces));
		break;
	default:
		if (fold_words)
			add_ranges(a, &own, folded_words, COUNT(folded_words));
		else
			add_ranges(a, &own, words, COUNT(words));
	}
	if (!(letter & 0x20))
		js_set_invert(a, &own);
	add_ranges(a, s, own.r.v, own.r.n);
}

/*
 * Case without flag u: two units are equal if their upper cases are; an upper case of several
 * units does not count, nor one that leads from outside ASCII into it. Made from the library's
 * upper case once, since no table of it is at hand: every unit that has a partner.
 */
struct fold_pair {
	uint16_t unit, canon;
};

static struct fold_pair by_canon[4096];
static size_t nfolds;
static pthread_once_t folds_once = PTHREAD_ONCE_INIT;

static uint16_t
canonical(struct arena *a, uint32_t unit)
{
	char buf[4];
	struct str upper = utf8_upper(a, (struct str){ buf, (size_t)utf8_put(buf, unit) });
	size_t pos = 0;
	uint32_t r = upper.n > 0 ? utf8_next(upper, &pos) : unit;

	if (pos != upper.n || r > 0xffff || (unit >= 128 && r < 128))
		return (uint16_t)unit;
	return (uint16_t)r;
}

static int
fold_cmp(const void *x, const void *y)
{
	const struct fold_pair *p = x, *q = y;

	return p->canon != q->canon ? p->canon - q->canon : p->unit - q->unit;
}

static void
folds_make(void)
{
	struct arena *a = arena_create("fold", 1 << 14);
	static uint8_t has_lower[0x10000 / 8];

	for (int pass = 0; pass < 2; pass++)
		for (uint32_t unit = 0; unit <= 0xffff; unit++) {
			struct arena_mark m = arena_mark(a);
			uint16_t c;

			if (unit >= 0x2e80 && unit <= 0xa63f) /* ideographs, syllables: no case */
				continue;
			if (unit >= 0xabc0 && unit <= 0xfaff)
				continue;
			c = canonical(a, unit);
			arena_rewind(a, m);
			if (pass == 0 && c != unit)
				has_lower[c / 8] |= (uint8_t)(1u << c % 8);
			else if (pass == 1 && (c != unit || (has_lower[unit / 8] & 1u << unit % 8)) &&
				 nfolds < COUNT(by_canon))
				by_canon[nfolds++] = (struct fold_pair){ (uint16_t)unit, c };
		}
	qsort(by_canon, nfolds, sizeof by_canon[0], fold_cmp);
	arena_destroy(&a);
}

/* Adds the partners of ASCII letters: within ASCII, by the rule above. */
static void
fold_ascii(struct arena *a, struct js_set *s)
{
	uint8_t in[128] = { 0 };

	for (size_t i = 0; i < s->r.n && s->r.v[i].lo < 128; i++)
		for (uint32_t r = s->r.v[i].lo; r <= s->r.v[i].hi && r < 128; r++)
			in[r] = 1;
	for (uint32_t r = 'a'; r <= 'z'; r++) {
		if (in[r] && !in[r - 32])
			js_set_add(a, s, r - 32, r - 32);
		if (in[r - 32] && !in[r])
			js_set_add(a, s, r, r);
	}
}

void
js_set_fold(struct arena *a, struct js_set *s)
{
	struct js_set before;

	if (s->r.n > 0 && s->r.v[s->r.n - 1].hi >= 128) {
		pthread_once(&folds_once, folds_make);
		before = (struct js_set){ 0 };
		add_ranges(a, &before, s->r.v, s->r.n);
		for (size_t i = 0, j; i < nfolds; i = j) {
			bool any = false;

			for (j = i; j < nfolds && by_canon[j].canon == by_canon[i].canon; j++)
				any = any || js_set_has(&before, by_canon[j].unit);
			for (size_t k = i; any && k < j; k++)
				if (!js_set_has(&before, by_canon[k].unit))
					js_set_add(a, s, by_canon[k].unit, by_canon[k].unit);
		}
		return;
	}
	fold_ascii(a, s);
}

struct js_set
js_set_fold_rune(struct arena *a, uint32_t rune)
{
	struct js_set s = { 0 };

	js_set_add(a, &s, rune, rune);
	if (rune <= 0xffff)
		js_set_fold(a, &s);
	return s;
}
