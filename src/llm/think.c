/*
 * think: see think.h. What is held back is never more than blanks and one unfinished tag, so each byte is
 * looked at a bounded number of times.
 */
#include "llm/think.h"

#define TEXT(s)                                                                                              \
	{                                                                                                    \
		s, sizeof(s) - 1                                                                             \
	}

/* clang-format off */
static const struct tag {
	struct str text;
	bool closer, bracket;
} tags[] = {
	{ TEXT("<think>"),      false, false },
	{ TEXT("<thinking>"),   false, false },
	{ TEXT("<thought>"),    false, false },
	{ TEXT("[THINK]"),      false, true },
	{ TEXT("</think>"),     true,  false },
	{ TEXT("</thinking>"),  true,  false },
	{ TEXT("</thought>"),   true,  false },
	{ TEXT("[/THINK]"),     true,  true },
};
/* clang-format on */

enum {
	TAG_COUNT = sizeof tags / sizeof *tags,
	THINK_HOLD = 4096 /* bytes of blanks that are held back at most */
};

/* Marks behind which a closing tag is a mention, not an end. */
static const char *const quotes[] = { "\"", "'", "`", "\xe2\x80\x9c", "\xe2\x80\x98", "\xe2\x80\x99",
	"\xe2\x80\x9d", "\xc2\xab", "\xe3\x80\x8c", "\xe3\x80\x8e", NULL };

void
think_begin(struct think *t, struct arena *a, bool open)
{
	*t = (struct think){ .open = open, .hold = sb_new(a) };
}

static bool
blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static size_t
blanks(struct str s)
{
	size_t n = 0;

	while (n < s.n && blank(s.p[n]))
		n++;
	return n;
}

/* The tag that s begins with (ASCII case does not matter); *partial: s is the beginning of some tag of this
 * sort. */
static const struct tag *
tag_at(struct str s, bool openers, bool closers, bool *partial)
{
	*partial = false;
	for (size_t i = 0; i < TAG_COUNT; i++) {
		const struct tag *t = &tags[i];
		size_t n = s.n < t->text.n ? s.n : t->text.n;

		if (!(t->closer ? closers : openers) || !str_ieq(str_sub(s, 0, n), str_sub(t->text, 0, n)))
			continue;
		if (n == t->text.n)
			return t;
		*partial = true;
	}
	return NULL;
}

static size_t
bracket_find(struct str s, size_t from)
{
	while (from < s.n && s.p[from] != '<' && s.p[from] != '[')
		from++;
	return from;
}

static bool
closes(const struct think *t, const struct tag *tag)
{
	return t->any_closer || tag->bracket == t->bracket;
}

static void
reasoning(struct think *t, struct str text, think_fn *fn, void *arg)
{
	if (!t->block_text) {
		text = str_sub(text, blanks(text), text.n);
		if (text.n == 0)
			return;
		if (t->said) {
			fn(arg, THINK_REASONING, STR("\n\n"));
			t->emitted += 2;
		}
		t->block_text = true;
	}
	t->emitted += text.n;
	fn(arg, THINK_REASONING, text);
}

static void
content(struct think *t, struct str text, think_fn *fn, void *arg)
{
	if (text.n == 0)
		return;
	for (size_t i = text.n > THINK_TAIL ? text.n - THINK_TAIL : 0; i < text.n; i++) {
		memmove(t->tail, t->tail + 1, THINK_TAIL - 1);
		t->tail[THINK_TAIL - 1] = text.p[i];
	}
	fn(arg, THINK_CONTENT, text);
}

/* Each step takes what it can decide from the front of s and returns how much; the rest is held. */

static size_t
step_lead(struct think *t, struct str s)
{
	size_t n = blanks(s);
	struct str rest = str_sub(s, n, s.n);
	bool partial;
	const struct tag *tag;
	size_t drop = t->state == THINK_AFTER
			  ? n
			  : 0; /* blanks behind a block are dropped, at the start they are text */

	tag = tag_at(rest, true, false, &partial);
	if (n - drop < THINK_HOLD) {
		if (tag) {
			t->state = THINK_INSIDE;
			t->bracket = tag->bracket;
			t->any_closer = t->open;
			return n + tag->text.n;
		}
		if (partial || rest.n == 0)
			return drop;
	}
	t->any_closer = t->open;
	t->state = t->open ? THINK_INSIDE : t->split ? THINK_PASS : THINK_TEXT;
	return drop;
}

static size_t
step_inside(struct think *t, struct str s, think_fn *fn, void *arg)
{
	size_t at, end;
	bool partial = false;
	const struct tag *tag = NULL;

	for (at = bracket_find(s, 0); at < s.n; at = bracket_find(s, at + 1)) {
		tag = tag_at(str_sub(s, at, s.n), false, true, &partial);
		if (partial || (tag && closes(t, tag)))
			break;
		tag = NULL;
	}
	end = at;
	while (end > 0 && blank(s.p[end - 1]))
		end--;
	if (end > 0)
		t->loose = false;
	t->loose |= at - end > THINK_HOLD;
	if (t->loose || (end == 0 && !t->block_text)) /* leading blanks say nothing */
		end = at;
	if (end > 0)
		reasoning(t, str_sub(s, 0, end), fn, arg);
	if (!tag)
		return end;
	t->said |= t->block_text;
	t->closed = t->emitted;
	t->block_text = t->open = t->any_closer = t->loose = false;
	t->split = true;
	t->state = THINK_AFTER;
	return at + tag->text.n;
}

/* A quote mark stands right before s[at]. */
static bool
quoted(const struct think *t, struct str s, size_t at)
{
	char window[2 * THINK_TAIL];
	size_t n = at < THINK_TAIL ? at : THINK_TAIL;

	memcpy(window, t->tail, THINK_TAIL);
	memcpy(window + THINK_TAIL, s.p + at - n, n);
	for (size_t i = 0; quotes[i]; i++)
		if (str_ends((struct str){ window, THINK_TAIL + n }, str_c(quotes[i])))
			return true;
	return false;
}

static size_t
step_text(struct think *t, struct str s, think_fn *fn, void *arg)
{
	bool partial = false;

	for (size_t at = bracket_find(s, 0); at < s.n; at = bracket_find(s, at + 1)) {
		const struct tag *tag = tag_at(str_sub(s, at, s.n), true, true, &partial);

		if (tag && !tag->closer) { /* the reply speaks about tags */
			t->state = THINK_PASS;
			return 0;
		}
		if (tag && !quoted(t, s, at)) {
			content(t, str_sub(s, 0, at), fn, arg);
			fn(arg, THINK_RETRACT, STR(""));
			t->split = t->said = true;
			t->state = THINK_AFTER;
			return at + tag->text.n;
		}
		if (!tag && partial) {
			content(t, str_sub(s, 0, at), fn, arg);
			return at;
		}
	}
	content(t, s, fn, arg);
	return s.n;
}

static size_t
step(struct think *t, struct str s, think_fn *fn, void *arg)
{
	switch (t->state) {
	case THINK_LEAD:
	case THINK_AFTER:
		return step_lead(t, s);
	case THINK_INSIDE:
		return step_inside(t, s, fn, arg);
	case THINK_TEXT:
		return step_text(t, s, fn, arg);
	case THINK_PASS:
		break;
	}
	content(t, s, fn, arg);
	return s.n;
}

void
think_feed(struct think *t, struct str text, think_fn *fn, void *arg)
{
	bool held = t->hold.n > 0;
	enum think_state was;
	struct str s = text;

	if (held) {
		sb_add(&t->hold, text);
		s = sb_str(&t->hold);
	}
	do { /* a step decides all it can in its state */
		was = t->state;
		s = s.n > 0 ? str_sub(s, step(t, s, fn, arg), s.n) : s;
	} while (t->state != was);
	if (held && s.n > 0)
		memmove(t->hold.p, s.p, s.n);
	sb_truncate(&t->hold, held ? s.n : 0);
	if (!held)
		sb_add(&t->hold, s);
}

bool
think_end(struct think *t, think_fn *fn, void *arg)
{
	struct str s = sb_str(&t->hold);

	if (t->state == THINK_LEAD && t->open)
		t->state = THINK_INSIDE;
	if (t->state == THINK_INSIDE) {
		while (s.n > 0 && blank(s.p[s.n - 1]))
			s.n--;
		if (s.n > 0)
			reasoning(t, s, fn, arg);
	} else if (t->state == THINK_AFTER) {
		content(t, str_sub(s, blanks(s), s.n), fn, arg);
	} else {
		content(t, s, fn, arg);
	}
	sb_truncate(&t->hold, 0);
	return t->state == THINK_INSIDE;
}
