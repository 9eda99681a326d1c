#include "api/excerpt.h"

#include "base/utf8.h"
#include "base/vec.h"

#include <string.h>

/* Text in lower case, and where each of its bytes came from. */
struct lowered {
	char *p;
	uint32_t *from; /* [n + 1] */
	size_t n;
};

struct span {
	size_t from, to; /* bytes of the text */
};

/* Scripts without spaces begin about here; a word of theirs may begin anywhere. */
static bool
is_dense(uint32_t r)
{
	return (r >= 0x0E00 && r < 0x0F00) || (r >= 0x1000 && r < 0x10A0) || (r >= 0x1780 && r < 0x1800) || r >= 0x2E80;
}

static struct lowered
lower(struct arena *a, struct str text)
{
	struct lowered l = { .p = arena_array(a, char, text.n * 3 + 1), .from = arena_array(a, uint32_t, text.n * 3 + 2) };
	size_t pos = 0;

	while (pos < text.n) {
		size_t begin = pos;
		uint32_t r = utf8_next(text, &pos);
		struct str one = str_sub(text, begin, pos);
		char ascii;

		if (r < 0x80) {
			ascii = (char)(r >= 'A' && r <= 'Z' ? r + 32 : r);
			one = (struct str){ &ascii, 1 };
		} else if (!is_dense(r) || (r >= 0xFF21 && r <= 0xFF3A))
			one = utf8_lower(a, one);
		for (size_t i = 0; i < one.n && l.n < text.n * 3; i++) {
			l.p[l.n] = one.p[i];
			l.from[l.n++] = (uint32_t)begin;
		}
	}
	l.from[l.n] = (uint32_t)text.n;
	return l;
}

/* May a word begin at this byte? */
static bool
begins(struct str text, size_t at)
{
	size_t before, here = at;

	if (at == 0 || is_dense(utf8_next(text, &here)))
		return true;
	before = utf8_prev(text, at);
	here = utf8_next(text, &before);
	return !rune_is_word((uint32_t)here) || is_dense((uint32_t)here);
}

/* The next match at or behind `from`: the earliest, of those the longest. */
static bool
match_next(const struct lowered *l, struct str text, size_t from, const struct str *terms, size_t n, struct span *out)
{
	size_t best = l->n, length = 0;

	for (size_t i = 0; i < n; i++) {
		const char *p = l->p + from, *hit;

		while (terms[i].n > 0 && (hit = memmem(p, (size_t)(l->p + l->n - p), terms[i].p, terms[i].n)) != NULL) {
			size_t at = (size_t)(hit - l->p);

			if (at > best || (at == best && terms[i].n <= length))
				break;
			if ((at == 0 || l->from[at] != l->from[at - 1]) && begins(text, l->from[at])) {
				best = at;
				length = terms[i].n;
				break;
			}
			p = hit + 1;
		}
	}
	if (length == 0)
		return false;
	*out = (struct span){ best, best + length };
	return true;
}

static size_t
runes_back(struct str text, size_t pos, int runes)
{
	while (runes-- > 0 && pos > 0)
		pos = utf8_prev(text, pos);
	return pos;
}

static size_t
runes_on(struct str text, size_t pos, int runes)
{
	while (runes-- > 0 && pos < text.n)
		utf8_next(text, &pos);
	return pos;
}

static void
piece(struct arena *a, struct sb *out, struct str text, bool match, bool more)
{
	struct sb s = sb_new(a);

	if (text.n == 0 && !more)
		return;
	sb_add(&s, text);
	if (more)
		sb_adds(&s, "…");
	sb_adds(out, out->p[out->n - 1] == '[' ? "{\"text\":" : ",{\"text\":");
	sb_add_json(out, sb_str(&s));
	sb_addf(out, ",\"match\":%s}", match ? "true" : "false");
}

void
excerpt_print(struct arena *a, struct sb *out, struct str text, const struct str *terms, size_t n)
{
	struct lowered l;
	struct span m;
	size_t at = 0, begin = 0, end, pos;
	bool any, cut = text.n > EXCERPT_READ;

	if (cut)
		text = str_sub(text, 0, utf8_whole(str_sub(text, 0, EXCERPT_READ)));
	l = lower(a, text);
	any = match_next(&l, text, 0, terms, n, &m);
	if (any)
		begin = runes_back(text, l.from[m.from], EXCERPT_BEFORE);
	end = runes_on(text, begin, EXCERPT_LENGTH);
	pos = begin;
	sb_addc(out, '[');
	if (begin > 0)
		piece(a, out, STR("…"), false, false);
	while (any && l.from[m.from] < end) {
		size_t to = l.from[m.to] < end ? l.from[m.to] : end;

		piece(a, out, str_sub(text, pos, l.from[m.from]), false, false);
		piece(a, out, str_sub(text, l.from[m.from], to), true, false);
		pos = to;
		at = m.to;
		any = match_next(&l, text, at, terms, n, &m);
	}
	piece(a, out, str_sub(text, pos, end), false, cut || end < text.n);
	sb_addc(out, ']');
}
