/*
 * prep: what happens to a text before it is scanned: the pragma that chooses its dialect is cut
 * off, legacy markers such as <USER> become macros, marinara's comments vanish. Keeps the map
 * from prepared bytes to given ones. Knows nothing of what macros mean.
 */
#include "macro/macro_private.h"

struct alias {
	const char *mark, *page, *st; /* st: in the sillytavern dialect, where marks match in any case */
};

// clang-format off
static const struct alias aliases[] = {
	{ "<USER>",           "{{user}}", "{{user}}" },
	{ "<BOT>",            "{{char}}", "{{char}}" },
	{ "<CHAR>",           "{{char}}", "{{char}}" },
	{ "<CHARIFNOTGROUP>", "{{char}}", "{{group}}" },
	{ "<GROUP>",          "",         "{{group}}" },
};
// clang-format on

/* The marker at `at`, or NULL. */
static const struct alias *
alias_at(struct str s, size_t at, bool any_case)
{
	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
		struct str m = str_c(aliases[i].mark), here = str_sub(s, at, at + m.n);

		if (any_case ? str_ieq(here, m) : str_eq(here, m))
			return &aliases[i];
	}
	return NULL;
}

/* Bytes of a pragma at the start of the text with its line break, 0 if there is none. */
static size_t
pragma(struct str s, enum macro_dialect *out)
{
	struct str rest = s, name;
	size_t end, at;

	while (rest.n && strchr(" \t\r\n", rest.p[0]))
		rest = str_sub(rest, 1, rest.n);
	if (!str_starts(rest, STR("{{//")) || (end = str_find(rest, STR("}}"), 0)) == STR_NPOS)
		return 0;
	name = str_trim(str_sub(rest, 4, end));
	if (!str_ieq(str_sub(name, 0, 8), STR("dialect:")) ||
	    !macro_dialect_parse(str_trim(str_sub(name, 8, name.n)), out))
		return 0;
	at = s.n - rest.n + end + 2;
	if (at < s.n && s.p[at] == '\r')
		at++;
	if (at < s.n && s.p[at] == '\n')
		at++;
	return at;
}

static void
add_edit(struct compile *c, size_t prepared, size_t given)
{
	struct edit e = { .at = (uint32_t)prepared, .delta = (int32_t)((int64_t)given - (int64_t)prepared) };

	vec_push(c->a, &c->edits, e);
}

/* The next byte from `at` on where something may have to be replaced. */
static size_t
next_mark(struct str s, size_t at, bool comments)
{
	const char *p = at < s.n ? memchr(s.p + at, '<', s.n - at) : NULL;
	size_t mark = p ? (size_t)(p - s.p) : s.n, comment;

	if (!comments)
		return mark;
	comment = str_find(str_sub(s, 0, mark), STR("{{//"), at);
	return comment < mark ? comment : mark;
}

/* One pass: copies only if something changes. */
static void
replace(struct compile *c, struct str s, size_t from)
{
	bool st = c->dialect == MACRO_SILLYTAVERN, comments = c->dialect == MACRO_MARINARA;
	struct sb out = sb_new(c->a);
	size_t done = from, at = from;

	while ((at = next_mark(s, at, comments)) < s.n) {
		struct str put = STR("");
		const struct alias *al;
		size_t next;

		if (s.p[at] == '<') {
			if ((al = alias_at(s, at, st)) == NULL) {
				at++;
				continue;
			}
			put = str_c(st ? al->st : al->page);
			next = at + strlen(al->mark);
		} else {
			size_t end = str_find(s, STR("}}"), at);

			if (end == STR_NPOS) {
				comments = false; /* nor has any later one an end */
				at++;
				continue;
			}
			next = end + 2;
		}
		sb_add(&out, str_sub(s, done, at));
		if (put.n)
			add_edit(c, out.n, at);
		sb_add(&out, put);
		add_edit(c, out.n, next);
		done = at = next;
	}
	if (done == from) {
		c->src = str_sub(s, from, s.n);
		return;
	}
	sb_add(&out, str_sub(s, done, s.n));
	c->src = sb_str(&out);
}

void
prep(struct compile *c, struct str text)
{
	enum macro_dialect named;
	size_t from = pragma(text, &named);

	if (from && c->message) {
		c->kept_pragma = true;
		from = 0;
	}
	if (from) {
		c->dialect = named;
		add_edit(c, 0, from);
	}
	if (c->dialect == MACRO_TOMORIBOT)
		c->src = str_sub(text, from, text.n); /* its passes know their own markers */
	else
		replace(c, text, from);
	if (!c->src.p)
		c->src = STR("");
}

/* The marker that became a macro maps to its own start: an edit stands before and after it. */
uint32_t
prep_given(const struct macro_template *t, uint32_t at)
{
	uint32_t lo = 0, hi = t->n_edits;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (t->edits[mid].at <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? (uint32_t)((int64_t)at + t->edits[lo - 1].delta) : at;
}
