/*
 * pieces: see pieces.h. The window begins at what is asked for; it grows only with the longest text that is
 * asked for at once.
 */
#include "pieces.h"

struct pieces
pieces_of(struct str text)
{
	return (struct pieces){ .size = (int64_t)text.n, .p = text.p ? text.p : "", .n = text.n };
}

/* The window begins at `at` and has room for n bytes and a piece behind them. */
static void
slide(struct pieces *p, int64_t at, size_t n)
{
	bool inside = at >= p->at && at <= p->at + (int64_t)p->n;
	size_t off = inside ? (size_t)(at - p->at) : 0, have = inside ? p->n - off : 0;

	if (n + PIECES_ROOM > p->cap) {
		char *old = p->own;

		p->cap = 2 * (n + PIECES_ROOM);
		p->own = arena_alloc_raw(p->keep, p->cap);
		if (have > 0)
			memcpy(p->own, old + off, have);
	} else if (have > 0)
		memmove(p->own, p->own + off, have);
	p->p = p->own;
	p->at = at;
	p->n = have;
}

int
pieces_at(struct pieces *p, int64_t at, size_t want, struct str *out)
{
	int64_t rest = at < p->size ? p->size - at : 0;

	*out = STR("");
	if ((int64_t)want > rest)
		want = (size_t)rest;
	if (p->failed)
		return -1;
	if (want == 0)
		return 0;
	if (at < p->at || at + (int64_t)want > p->at + (int64_t)p->n)
		slide(p, at, want);
	while (p->at + (int64_t)p->n < at + (int64_t)want) {
		int64_t n = p->fetch(p->arg, p->at + (int64_t)p->n, p->own + p->n);

		if (n <= 0) {
			p->failed = true;
			return -1;
		}
		p->n += (size_t)n;
	}
	*out = (struct str){ p->p + (at - p->at), (size_t)(p->at + (int64_t)p->n - at) };
	return 0;
}
