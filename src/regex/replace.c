/*
 * replace: what a match becomes. {{match}} and $0 are the match, $1 … groups, $<name> a named
 * one; nothing else is special. Macros of the author run, text that was captured is data: it is
 * put in behind them, or, inside a macro's argument, with its braces hidden.
 */
#include "regex/replace.h"

#include "base/utf8.h"

#include <ctype.h>

/* Code points that no text holds (Unicode noncharacters), as marks inside a text while its macros run. */
#define MARK_OPEN "\xef\xb7\x90" /* U+FDD0 item U+FDD1 */
#define MARK_CLOSE "\xef\xb7\x91"
#define HIDDEN_OPEN "\xef\xb7\x92"  /* { of captured text */
#define HIDDEN_CLOSE "\xef\xb7\x93" /* } */
enum { MARK_SIZE = 3 };

/* ---- compiling ---- */

/* {{match}} in any case becomes $0 first: digits behind it then belong to the number. */
static struct str
match_macros(struct arena *a, struct str s)
{
	struct sb out = sb_new(a);
	size_t from = 0;

	for (size_t at = 0; (at = str_find(s, STR("{{"), at)) != STR_NPOS;) {
		if (!str_ieq(str_sub(s, at, at + 9), STR("{{match}}"))) {
			at++;
			continue;
		}
		sb_add(&out, str_sub(s, from, at));
		sb_adds(&out, "$0");
		from = at += 9;
	}
	if (from == 0)
		return arena_str(a, s);
	sb_add(&out, str_sub(s, from, s.n));
	return sb_str(&out);
}

/* A "$" form at `at`: its size, 0 = none. */
static size_t
dollar(struct str s, size_t at, struct replace_item *out)
{
	size_t end = at + 1, close;

	*out = (struct replace_item){ .kind = REPLACE_GROUP };
	for (; end < s.n && isdigit((unsigned char)s.p[end]); end++)
		if (out->group < 100000)
			out->group = out->group * 10 + (size_t)(s.p[end] - '0');
	if (end > at + 1)
		return end - at;
	close = end < s.n && s.p[end] == '<' ? str_chr(s, '>', end) : STR_NPOS;
	if (close == STR_NPOS || close == end + 1)
		return 0;
	*out = (struct replace_item){ .kind = REPLACE_NAME, .text = str_sub(s, end + 1, close) };
	return close + 1 - at;
}

static int
brace_depth(int depth, struct str text)
{
	for (size_t i = 0; i + 1 < text.n; i++)
		if (text.p[i] == text.p[i + 1] && (text.p[i] == '{' || text.p[i] == '}')) {
			depth += text.p[i] == '{' ? 1 : depth > 0 ? -1 : 0;
			i++;
		}
	return depth;
}

void
replace_compile(struct arena *a, struct str source, struct replace *out)
{
	struct str s = match_macros(a, source);
	struct replace_item item;
	size_t from = 0, size;
	int depth = 0;

	*out = (struct replace){ 0 };
	out->macros = str_find(s, STR("{{"), 0) != STR_NPOS || str_chr(s, '<', 0) != STR_NPOS;
	for (size_t at = 0; (at = str_chr(s, '$', at)) != STR_NPOS;) {
		size = dollar(s, at, &item);
		if (size == 0) {
			at++;
			continue;
		}
		depth = brace_depth(depth, str_sub(s, from, at));
		out->nested = out->nested || depth > 0;
		if (at > from)
			vec_push(a, &out->items,
			    ((struct replace_item){ .kind = REPLACE_TEXT, .text = str_sub(s, from, at) }));
		vec_push(a, &out->items, item);
		from = at += size;
	}
	if (from < s.n)
		vec_push(a, &out->items,
		    ((struct replace_item){ .kind = REPLACE_TEXT, .text = str_sub(s, from, s.n) }));
}

/* ---- macros of the author ---- */

static struct str
expand(const struct replace_run *run, struct str text)
{
	return run->call->expand != NULL ? run->call->expand(run->call->arg, text) : text;
}

/* Runs the macros of the whole replacement once, with marks where groups go, and takes it apart again. */
static void
expand_items(struct replace_run *run)
{
	struct sb sb = sb_new(run->a);
	struct str s;
	size_t from = 0;
	int64_t item;

	for (size_t i = 0; i < run->r->items.n; i++) {
		if (run->r->items.v[i].kind == REPLACE_TEXT)
			sb_add(&sb, run->r->items.v[i].text);
		else
			sb_addf(&sb, MARK_OPEN "%zu" MARK_CLOSE, i);
	}
	s = expand(run, sb_str(&sb));
	for (size_t at = 0; (at = str_find(s, STR(MARK_OPEN), at)) != STR_NPOS;) {
		size_t close = str_find(s, STR(MARK_CLOSE), at);

		if (close == STR_NPOS || !str_int(str_sub(s, at + MARK_SIZE, close), &item) || item < 0 ||
		    (size_t)item >= run->r->items.n) {
			at += MARK_SIZE;
			continue;
		}
		vec_push(run->a, &run->ready.items, ((struct replace_item){ .text = str_sub(s, from, at) }));
		vec_push(run->a, &run->ready.items, run->r->items.v[item]);
		from = at = close + MARK_SIZE;
	}
	vec_push(run->a, &run->ready.items, ((struct replace_item){ .text = str_sub(s, from, s.n) }));
}

static void
prepare(struct replace_run *run)
{
	struct str *trim = arena_array(run->a, struct str, run->script->ntrim + 1);

	run->prepared = true;
	run->ready = *run->r;
	if (run->r->macros && !run->r->nested && run->call->expand != NULL) {
		run->ready = (struct replace){ 0 };
		expand_items(run);
	}
	for (size_t i = 0; i < run->script->ntrim; i++)
		trim[i] = expand(run, run->script->trim[i]);
	run->trim = trim;
}

static struct str
swap_all(struct arena *a, struct str s, struct str from, struct str to)
{
	struct sb out;
	size_t at = 0, hit = from.n > 0 ? str_find(s, from, 0) : STR_NPOS;

	if (hit == STR_NPOS)
		return s;
	out = sb_new(a);
	for (; hit != STR_NPOS; hit = str_find(s, from, at)) {
		sb_add(&out, str_sub(s, at, hit));
		sb_add(&out, to);
		at = hit + from.n;
	}
	sb_add(&out, str_sub(s, at, s.n));
	return sb_str(&out);
}

/* ---- where text comes from ---- */

/* Offset in the text of an offset in the units: they differ by two bytes for each pair before it. */
static size_t
text_offset(struct replace_run *run, size_t pos)
{
	struct str u = run->search->units;

	if (!run->search->halves)
		return pos;
	if (pos < run->mark)
		run->mark = run->mark_text = 0;
	while (run->mark < pos) {
		bool high = (unsigned char)u.p[run->mark] == 0xed && run->mark + 1 < u.n &&
			    ((unsigned char)u.p[run->mark + 1] & 0xf0) == 0xa0;

		run->mark += high ? 6 : 1;
		run->mark_text += high ? 4 : 1;
	}
	return run->mark_text;
}

static void
own_add(struct replace_run *run, size_t from, size_t to)
{
	struct regex_own *own = run->own_out;
	struct regex_span *last = own->part.n > 0 ? vec_last(&own->part) : NULL;

	if (from >= to)
		return;
	if (last != NULL && last->to == from)
		last->to = to;
	else
		vec_push(run->a, &own->part, ((struct regex_span){ from, to }));
}

/* First part that ends behind `pos`. */
static size_t
own_find(const struct regex_own *own, size_t pos)
{
	size_t lo = 0, hi = own->part.n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (own->part.v[mid].to <= pos)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The result has just got [from, to) of the text at `at`: which of it is the message's own? */
static void
own_copy(struct replace_run *run, size_t from, size_t to, size_t at)
{
	const struct regex_own *in = run->own_in;

	if (in == NULL)
		return;
	for (size_t i = own_find(in, from); i < in->part.n && in->part.v[i].from < to; i++) {
		size_t lo = in->part.v[i].from > from ? in->part.v[i].from : from;
		size_t hi = in->part.v[i].to < to ? in->part.v[i].to : to;

		own_add(run, at + lo - from, at + hi - from);
	}
}

void
replace_between(struct replace_run *run, size_t from, size_t to)
{
	size_t text_from = text_offset(run, from), text_to = text_offset(run, to), at = run->out.n;

	sb_add(&run->out, str_sub(run->text, text_from, text_to));
	own_copy(run, text_from, text_to, at);
}

/* ---- one match ---- */

static struct str
trimmed(const struct replace_run *run, struct str s)
{
	for (size_t i = 0; i < run->script->ntrim; i++)
		s = swap_all(run->a, s, run->trim[i], STR(""));
	return s;
}

/* The span of an item; false if it prints nothing. */
static bool
item_span(const struct replace_run *run, const struct replace_item *item, struct regex_span *out)
{
	*out = (struct regex_span){ REGEX_UNSET, REGEX_UNSET };
	if (item->kind == REPLACE_NAME)
		return regex_named(run->search, item->text, out);
	if (item->group <= (size_t)regex_groups(run->search->re))
		*out = run->search->span[item->group];
	return out->from != REGEX_UNSET;
}

static bool
is_offset(const struct replace_run *run, const struct replace_item *item)
{
	return item->kind == REPLACE_GROUP && item->group == (size_t)regex_groups(run->search->re) + 1;
}

/* SillyTavern's argument list goes on behind the groups: the next number is the match's offset in UTF-16
 * units. */
static void
add_offset(struct replace_run *run)
{
	size_t units = utf8_units(str_sub(run->text, 0, text_offset(run, run->search->span[0].from)));

	if (units > 0)
		sb_addf(&run->out, "%zu", units);
}

static void
add_item(struct replace_run *run, const struct replace_item *item)
{
	struct regex_span span;
	struct str part, cut;
	size_t at = run->out.n, from;

	if (item->kind == REPLACE_TEXT) {
		sb_add(&run->out, item->text);
		return;
	}
	if (!item_span(run, item, &span)) {
		if (is_offset(run, item))
			add_offset(run);
		return;
	}
	from = text_offset(run, span.from);
	part = str_sub(run->text, from, text_offset(run, span.to));
	cut = trimmed(run, part);
	sb_add(&run->out, cut);
	if (cut.n == part.n)
		own_copy(run, from, from + part.n, at);
}

/* A group inside a macro's argument: the macros run for this match, the captured text cannot open or close
 * any. */
static void
add_nested(struct replace_run *run)
{
	struct sb whole = run->out;
	const struct regex_own *in = run->own_in;
	struct str s;

	run->own_in = NULL;
	run->out = sb_new(run->a);
	for (size_t i = 0; i < run->ready.items.n; i++) {
		size_t at = run->out.n;
		struct str part;

		add_item(run, &run->ready.items.v[i]);
		if (run->ready.items.v[i].kind == REPLACE_TEXT)
			continue;
		part = arena_str(run->a, str_sub(sb_str(&run->out), at, run->out.n));
		part = swap_all(run->a, part, STR("{"), STR(HIDDEN_OPEN));
		sb_truncate(&run->out, at);
		sb_add(&run->out, swap_all(run->a, part, STR("}"), STR(HIDDEN_CLOSE)));
	}
	s = expand(run, sb_str(&run->out));
	run->out = whole;
	run->own_in = in;
	s = swap_all(run->a, s, STR(HIDDEN_OPEN), STR("{"));
	sb_add(&run->out, swap_all(run->a, s, STR(HIDDEN_CLOSE), STR("}")));
}

void
replace_match(struct replace_run *run)
{
	if (!run->prepared)
		prepare(run);
	if (run->r->nested && run->call->expand != NULL) {
		add_nested(run);
		return;
	}
	for (size_t i = 0; i < run->ready.items.n; i++)
		add_item(run, &run->ready.items.v[i]);
}
