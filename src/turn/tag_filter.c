#include "turn/tag_filter.h"

#include "base/sb.h"

enum tag { TAG_NONE, TAG_MAYBE, TAG_OPEN, TAG_CLOSE };

static bool
blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Is h (it begins with '<') a tag, the beginning of one, or neither? */
static enum tag
tag_of(const char *h, size_t n)
{
	static const char name[] = "summary";
	size_t i = 1, k = 0;
	bool close = false;

	while (i < n && blank(h[i]))
		i++;
	if (i < n && h[i] == '/') {
		close = true;
		i++;
		while (i < n && blank(h[i]))
			i++;
	}
	while (i < n && k < sizeof(name) - 1 && (h[i] | 0x20) == name[k]) {
		i++;
		k++;
	}
	if (i == n)
		return n < TAG_HOLD ? TAG_MAYBE : TAG_NONE;
	if (k < sizeof(name) - 1)
		return TAG_NONE;
	while (i < n && blank(h[i]))
		i++;
	if (i == n)
		return n < TAG_HOLD ? TAG_MAYBE : TAG_NONE;
	return h[i] != '>' ? TAG_NONE : close ? TAG_CLOSE : TAG_OPEN;
}

static void
show(struct tag_filter *f, const char *p, size_t n, void (*out)(void *, struct str), void *arg)
{
	if (f->inside)
		return;
	while (f->trim && n > 0 && blank(*p)) {
		p++;
		n--;
	}
	if (n == 0)
		return;
	f->trim = false;
	out(arg, (struct str){ p, n });
}

/* The held bytes are no tag: the first is text, the rest is looked at again. */
static void
hold_release(struct tag_filter *f, void (*out)(void *, struct str), void *arg)
{
	size_t from = 1;

	while (from < f->held && f->hold[from] != '<')
		from++;
	show(f, f->hold, from, out, arg);
	memmove(f->hold, f->hold + from, f->held - from);
	f->held -= from;
}

static void
hold_settle(struct tag_filter *f, void (*out)(void *, struct str), void *arg)
{
	while (f->held > 0) {
		enum tag t = tag_of(f->hold, f->held);

		if (t == TAG_MAYBE)
			return;
		if (t == TAG_NONE || (t == TAG_CLOSE && !f->inside)) {
			hold_release(f, out, arg);
			continue;
		}
		f->trim = t == TAG_CLOSE;
		f->inside = t == TAG_OPEN;
		f->held = 0;
	}
}

void
tag_filter_feed(struct tag_filter *f, struct str piece, bool last, void (*out)(void *, struct str), void *arg)
{
	size_t i = 0;

	while (i < piece.n) {
		if (f->held == 0) {
			const char *lt = memchr(piece.p + i, '<', piece.n - i);
			size_t end = lt ? (size_t)(lt - piece.p) : piece.n;

			show(f, piece.p + i, end - i, out, arg);
			i = end;
			if (i == piece.n)
				break;
		}
		f->hold[f->held++] = piece.p[i++];
		hold_settle(f, out, arg);
	}
	if (last)
		while (f->held > 0)
			hold_release(f, out, arg);
}

static void
split_out(void *arg, struct str s)
{
	sb_add(arg, s);
}

struct tagged
tag_split(struct arena *a, struct str text)
{
	struct tagged t = { 0 };
	struct tag_filter f = { 0 };
	struct sb visible = sb_new(a), said = sb_new(a);
	bool inside = false;

	for (size_t i = 0; i < text.n; i++) {
		tag_filter_feed(&f, str_sub(text, i, i + 1), false, split_out, &visible);
		if (f.inside && !inside)
			sb_truncate(&said, 0);
		else if (f.inside)
			sb_addc(&said, text.p[i]);
		else if (inside) {
			/* said ends with the closing tag but for its last byte */
			struct str body = sb_str(&said);
			size_t lt = body.n;

			while (lt > 0 && body.p[lt - 1] != '<')
				lt--;
			body = str_trim(str_sub(body, 0, lt > 0 ? lt - 1 : 0));
			if (body.n > 0)
				vec_push(a, &t.summaries, arena_str(a, body));
		}
		inside = f.inside;
	}
	tag_filter_feed(&f, STR(""), true, split_out, &visible);
	t.visible = str_trim(sb_str(&visible));
	return t;
}
