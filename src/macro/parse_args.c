/*
 * parse_args: names of a template, and where arguments lie. Works on bytes outside of nested macros; the
 * inside of a ['…'] key is never split.
 */
#include "macro/parse_private.h"

#include "base/rng.h"
#include "base/utf8.h"

#define ROW_CACHE_FROM 1024 /* bytes of a text for which names of rows are remembered */

/* ---- names ---- */

static void
grow_names(struct compile *c)
{
	uint32_t size = c->name_mask ? (c->name_mask + 1) * 2 : 64;

	c->name_slots = arena_array(c->a, uint32_t, size);
	c->name_mask = size - 1;
	for (uint32_t i = 0; i < c->names.n; i++) {
		uint32_t at = (uint32_t)c->names.v[i].hash & c->name_mask;

		while (c->name_slots[at])
			at = (at + 1) & c->name_mask;
		c->name_slots[at] = i + 1;
	}
}

uint32_t
name_number(struct compile *c, struct str s)
{
	struct name n = { .s = s, .hash = hash_bytes(hash_seed(), s.p, s.n) };
	uint32_t at;

	if (c->names.n * 2 >= c->name_mask)
		grow_names(c);
	at = (uint32_t)n.hash & c->name_mask;
	while (c->name_slots[at]) {
		const struct name *have = &c->names.v[c->name_slots[at] - 1];

		if (have->hash == n.hash && str_eq(have->s, s))
			return c->name_slots[at] - 1;
		at = (at + 1) & c->name_mask;
	}
	vec_push(c->a, &c->names, n);
	c->name_slots[at] = (uint32_t)c->names.n;
	return (uint32_t)c->names.n - 1;
}

uint32_t
row_name(struct compile *c, unsigned row)
{
	if (!c->row_name && c->src.n < ROW_CACHE_FROM)
		return name_number(c, str_c(row_get(row)->name));
	if (!c->row_name)
		c->row_name = arena_array(c->a, uint32_t, row_count());
	if (!c->row_name[row])
		c->row_name[row] = name_number(c, str_c(row_get(row)->name)) + 1;
	return c->row_name[row] - 1;
}

/* ---- bytes outside of nested macros ---- */

uint32_t
unit_end(const struct node *v, uint32_t i)
{
	return (v[i].type == N_OPEN && v[i].close) || v[i].flags & NF_SCOPED ? v[v[i].close].end : v[i].end;
}

uint32_t
unit_skip(const struct node *v, uint32_t i)
{
	return (v[i].type == N_OPEN && v[i].close) || v[i].flags & NF_SCOPED ? v[v[i].close].skip : v[i].skip;
}

uint32_t
node_from(const struct node *v, uint32_t i, uint32_t limit, uint32_t s)
{
	while (i < limit && v[i].start < s)
		i = v[i].skip;
	return i < limit ? i : limit;
}

struct cursor
cursor_at(const struct compile *c, uint32_t i, uint32_t s, uint32_t e)
{
	const struct node *v = c->nodes.v;

	return (struct cursor){
		.c = c, .at = s, .e = e, .child = node_from(v, i + 1, v[i].skip, s), .last = v[i].skip
	};
}

/* True if a child begins at the cursor; steps over it. Unmatched openers inside are text and no children. */
static bool
cursor_child(struct cursor *k)
{
	const struct node *v = k->c->nodes.v;

	while (k->child < k->last && v[k->child].type == N_TEXT && v[k->child].end == v[k->child].start)
		k->child = v[k->child].skip;
	if (k->child >= k->last || v[k->child].start != k->at)
		return false;
	k->at = unit_end(v, k->child);
	k->child = unit_skip(v, k->child);
	return true;
}

/* Bytes of a ['…'] at the cursor, 0 if there is none. */
static uint32_t
bracket_key(struct cursor *k)
{
	struct str src = k->c->src;
	uint32_t at = k->at + 1;
	size_t len;
	char q;

	if (src.p[k->at] != '[')
		return 0;
	while (at < k->e && js_blank(src, at, &len))
		at += (uint32_t)len;
	if (at >= k->e || (src.p[at] != '\'' && src.p[at] != '"'))
		return 0;
	q = src.p[at++];
	if (k->no_quote[q == '"'])
		return 0;
	while (at < k->e && src.p[at] != q)
		at += src.p[at] == '\\' && at + 1 < k->e ? 2 : 1;
	if (at >= k->e) {
		k->no_quote[q == '"'] = true;
		return 0;
	}
	at++;
	while (at < k->e && js_blank(src, at, &len))
		at += (uint32_t)len;
	return at < k->e && src.p[at] == ']' ? at + 1 - k->at : 0;
}

/* Steps to the next literal byte that may separate; false at the end. *child_out: a nested macro was passed.
 */
bool
cursor_next(struct cursor *k, bool *child_out)
{
	for (;;) {
		uint32_t key;

		if (k->at >= k->e)
			return false;
		if (cursor_child(k)) {
			*child_out = true;
			continue;
		}
		if (k->c->src.p[k->at] != '[' || (key = bracket_key(k)) == 0)
			return true;
		while (k->child < k->last && k->c->nodes.v[k->child].start < k->at + key) {
			*child_out = true; /* a macro inside the brackets */
			k->child = k->c->nodes.v[k->child].skip;
		}
		k->at += key;
	}
}

void
trim_range(const struct compile *c, uint32_t *s, uint32_t *e)
{
	struct str t;

	if (*s < *e && (unsigned char)(c->src.p[*s] - 0x21) < 0x5f &&
	    (unsigned char)(c->src.p[*e - 1] - 0x21) < 0x5f)
		return; /* no blank at either end: the usual case */
	t = js_trim(str_sub(c->src, *s, *e));

	if (*s > *e)
		*s = *e;
	if (t.n == 0) {
		*s = *e;
		return;
	}
	*s = (uint32_t)(t.p - c->src.p);
	*e = *s + (uint32_t)t.n;
}

void
add_arg(struct compile *c, uint32_t i, uint32_t s, uint32_t e)
{
	struct node *n = &c->nodes.v[i];
	struct arg a;

	if (n->argc == UINT16_MAX)
		return;
	trim_range(c, &s, &e);
	a = (struct arg){ .s = s, .e = e };
	a.n0 = node_from(c->nodes.v, i + 1, n->skip, s);
	a.n1 = node_from(c->nodes.v, a.n0, n->skip, e);
	if (a.n0 != a.n1)
		n->flags |= NF_COMPUTED;
	vec_push(c->a, &c->args, a);
	n->argc++;
}

/* Hash of the first argument, if it is a literal key of a variable. */
void
hash_key(struct compile *c, uint32_t i)
{
	const struct node *n = &c->nodes.v[i];
	struct arg *a = n->argc ? &c->args.v[n->arg] : NULL;

	if (a && a->n0 == a->n1)
		a->hash = hash_bytes(hash_seed(), c->src.p + a->s, a->e - a->s);
}

/* Arguments of [s, e) split at ::. */
void
args_list(struct compile *c, uint32_t i, uint32_t s, uint32_t e)
{
	struct cursor k;
	uint32_t from = s;
	bool child = false;

	if (i + 1 == c->nodes.v[i].skip && !memchr(c->src.p + s, '[', e - s)) { /* plain bytes */
		const char *p = c->src.p + s, *end = c->src.p + e;

		while ((p = memchr(p, ':', (size_t)(end - p))) != NULL && p + 1 < end) {
			if (p[1] != ':') {
				p++;
				continue;
			}
			add_arg(c, i, from, (uint32_t)(p - c->src.p));
			p += 2;
			from = (uint32_t)(p - c->src.p);
		}
		add_arg(c, i, from, e);
		return;
	}
	k = cursor_at(c, i, s, e);
	while (cursor_next(&k, &child)) {
		if (c->src.p[k.at] == ':' && k.at + 1 < e && c->src.p[k.at + 1] == ':') {
			add_arg(c, i, from, k.at);
			from = k.at + 2;
			k.at += 2;
		} else {
			k.at++;
		}
	}
	add_arg(c, i, from, e);
}

/* Arguments of [s, e), one per word. */
void
args_words(struct compile *c, uint32_t i, uint32_t s, uint32_t e)
{
	struct cursor k = cursor_at(c, i, s, e);
	uint32_t from = NO_POS, at;
	size_t len;

	while (k.at < e) {
		bool child = false, more;

		at = k.at;
		more = cursor_next(&k, &child);
		if (from == NO_POS && k.at > at)
			from = at;
		if (!more)
			break;
		if (js_blank(c->src, k.at, &len)) {
			if (from != NO_POS)
				add_arg(c, i, from, k.at);
			from = NO_POS;
		} else {
			if (from == NO_POS)
				from = k.at;
			len = 1;
		}
		k.at += (uint32_t)len;
	}
	if (from != NO_POS)
		add_arg(c, i, from, e);
}

/* ---- shapes ---- */

/* Bytes that may end a word or begin what must be looked at closely: : [ blanks, and the first bytes of wide
 * blanks. */
static bool
separates(unsigned char ch)
{
	return ch <= ' ' || ch == ':' || ch == '[' || ch >= 0xc2;
}

struct shape
shape_of(struct compile *c, uint32_t i, uint32_t s, uint32_t e)
{
	struct cursor k;
	struct shape sh = { NO_POS, NO_POS, NO_POS, false };
	uint32_t word = s, first = i + 1 < c->nodes.v[i].skip ? c->nodes.v[i + 1].start : e;
	bool child = false;
	size_t len;

	while (word < e && word < first && !separates((unsigned char)c->src.p[word]))
		word++;
	if (word == e)
		return sh;
	if (word < first && c->src.p[word] == ':' && word + 1 < e && c->src.p[word + 1] == ':') {
		sh.list = word;
		return sh;
	}
	k = cursor_at(c, i, word, e);

	while (cursor_next(&k, &child)) {
		char ch = c->src.p[k.at];

		if (sh.blank == NO_POS && sh.list == NO_POS && child)
			sh.child_in_name = true;
		if (ch == ':') {
			if (k.at + 1 < e && c->src.p[k.at + 1] == ':') {
				sh.list = k.at;
				break;
			}
			if (sh.colon == NO_POS && !child)
				sh.colon = k.at;
		} else if (js_blank(c->src, k.at, &len)) {
			if (sh.blank == NO_POS)
				sh.blank = k.at;
			k.at += (uint32_t)len;
			continue;
		}
		k.at++;
	}
	if (sh.blank == NO_POS && sh.list == NO_POS && child)
		sh.child_in_name = true;
	return sh;
}
