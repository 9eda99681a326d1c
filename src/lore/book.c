/*
 * book: a book's entries, ready to be bound: decorators cut, keys sorted into plain texts, regex
 * keys and keys with macros, and a hash that tells when an entry was edited.
 */
#include "base/map.h"
#include "base/sb.h"
#include "base/utf8.h"
#include "lore/lore_private.h"

#include <string.h>

#define MARK '\x01' /* between the pieces of the scanned text */

struct lore_entry
lore_entry_defaults(void)
{
	return (struct lore_entry){
		.comment = STR(""),
		.content = STR(""),
		.selective = true,
		.order = 100,
		.depth = 4,
		.outlet = STR(""),
		.probability = 100,
		.use_probability = true,
		.group = STR(""),
		.group_weight = 100,
		.decision = STR(""),
		.dialect = STR(""),
	};
}

/* ---- keys ---- */

/*
 * A key of the form /body/flags: the body ends at the first slash behind which only flags stand,
 * and must hold no other slash without a backslash; its first "\/" is a slash.
 */
static bool
regex_form(struct arena *a, struct str key, struct str *body, int *flags)
{
	size_t slash = key.n;
	struct str letters;

	if (key.n < 3 || key.p[0] != '/')
		return false;
	while (slash > 0 && strchr("gimsuy", key.p[slash - 1]) != NULL && key.p[slash - 1] != '\0')
		slash--;
	if (slash < 3 || key.p[--slash] != '/')
		return false;
	*body = str_sub(key, 1, slash);
	letters = str_sub(key, slash + 1, key.n);
	for (size_t i = 0; i < body->n; i++)
		if (body->p[i] == '/' && (i == 0 || body->p[i - 1] != '\\'))
			return false;
	for (size_t i = 0; i + 1 < body->n; i++)
		if (body->p[i] == '\\' && body->p[i + 1] == '/') {
			*body = str_c(arena_printf(
			    a, "%.*s%.*s", (int)i, body->p, (int)(body->n - i - 1), body->p + i + 1));
			break;
		}
	*flags = regex_flags(letters);
	return *flags >= 0;
}

static bool
has_space(struct str s)
{
	for (size_t pos = 0; pos < s.n;)
		if (rune_is_space(utf8_next(s, &pos)))
			return true;
	return false;
}

struct book_key
book_key_make(struct arena *a, struct str raw, bool macros, size_t *bytes)
{
	struct book_key k = { .raw = raw, .text = utf8_trim(raw) };
	struct regex_error err;
	struct regex *re;
	struct str body;
	int flags;

	k.edged = k.text.n != raw.n;
	k.spaced = has_space(k.text);
	if (k.text.n == 0)
		return k; /* KEY_EMPTY */
	if (macros && (str_find(raw, STR("{{"), 0) != STR_NPOS || str_chr(raw, '<', 0) != STR_NPOS)) {
		k.kind = KEY_DYNAMIC;
		return k;
	}
	k.kind = KEY_PLAIN;
	k.odd = str_chr(k.text, MARK, 0) != STR_NPOS;
	if (!regex_form(a, k.text, &body, &flags))
		return k;
	re = regex_compile(a, body, flags, &err);
	if (re != NULL || err.fault != REGEX_SYNTAX) {
		k.kind = KEY_REGEX;
		k.re = re;
		*bytes += re != NULL ? regex_bytes(re) : 0;
	}
	return k;
}

static struct book_keys
keys_make(struct arena *a, struct lore_strs keys, size_t *bytes)
{
	struct book_keys out = { .v = arena_array(a, struct book_key, keys.n + 1), .n = keys.n };

	for (size_t i = 0; i < keys.n; i++)
		out.v[i] = book_key_make(a, keys.v[i], true, bytes);
	return out;
}

/* ---- decorators ---- */

static bool
known_decorator(struct str line, const char *name)
{
	if (str_starts(line, STR("@@@")))
		line = str_sub(line, 1, line.n);
	return str_starts(line, str_c(name));
}

/*
 * Leading lines that begin with @@ are cut. Known ones count; one with @@@ counts only as the
 * fallback right behind an unknown one.
 */
static void
decorators(struct book_entry *e)
{
	struct str rest = e->src.content, line;
	bool fallback = false;

	e->content = e->src.content;
	if (!str_starts(rest, STR("@@")))
		return;
	while (str_starts(rest, STR("@@"))) {
		size_t end = str_chr(rest, '\n', 0);

		line = str_sub(rest, 0, end);
		rest = end == STR_NPOS ? STR("") : str_sub(rest, end + 1, rest.n);
		if (str_starts(line, STR("@@@")) && !fallback)
			continue;
		fallback = !known_decorator(line, "@@activate") && !known_decorator(line, "@@dont_activate");
		if (str_is(line, "@@activate") || str_is(line, "@@@activate"))
			e->activate = true;
		if (str_is(line, "@@dont_activate") || str_is(line, "@@@dont_activate"))
			e->dont_activate = true;
		if (end == STR_NPOS)
			return; /* nothing but decorators: kept as it is */
	}
	e->content = rest;
}

/* ---- hash ---- */

static void
hash_strs(struct sb *s, struct lore_strs v)
{
	sb_addf(s, "%zu:", v.n);
	for (size_t i = 0; i < v.n; i++) {
		sb_addf(s, "%zu:", v.v[i].n);
		sb_add(s, v.v[i]);
	}
}

/* Of everything that the engine reads; the same on every machine. */
static uint64_t
entry_hash(struct arena *a, struct str book, const struct lore_entry *e)
{
	struct arena_mark m = arena_mark(a);
	struct sb s = sb_new(a);
	struct str texts[] = { book, e->comment, e->content, e->outlet, e->group, e->decision };
	uint64_t h;

	hash_strs(&s, (struct lore_strs){ texts, sizeof texts / sizeof texts[0] });
	hash_strs(&s, e->keys);
	hash_strs(&s, e->secondary);
	hash_strs(&s, e->triggers);
	hash_strs(&s, e->filter_names);
	hash_strs(&s, e->filter_tags);
	sb_addf(&s, "%lld,%d%d%d%d%d%d%d%d%d%d,", (long long)e->uid, e->disabled, e->constant, e->selective,
	    e->vectorized, e->ignore_budget, e->exclude_recursion, e->prevent_recursion, e->use_probability,
	    e->group_override, e->filter_exclude);
	sb_addf(&s, "%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%u,", (int)e->logic, (int)e->position, e->depth,
	    (int)e->role, e->delay_until_recursion, (int)e->group_scoring, (int)e->case_sensitive,
	    (int)e->whole_words, e->has_scan_depth ? e->scan_depth : -1, e->sticky, e->cooldown, e->delay,
	    e->sources);
	sb_addf(&s, "%.17g,%.17g,%.17g", e->order, e->probability, e->group_weight);
	h = hash_bytes(0x6c6f7265, s.p, s.n);
	arena_rewind(a, m);
	return h;
}

/* ---- books ---- */

static struct lore_strs
copy_strs(struct arena *a, struct lore_strs v)
{
	struct str *out = arena_array(a, struct str, v.n + 1);

	for (size_t i = 0; i < v.n; i++)
		out[i] = arena_str(a, v.v[i]);
	return (struct lore_strs){ out, v.n };
}

static struct lore_entry
copy_entry(struct arena *a, const struct lore_entry *e)
{
	struct lore_entry out = *e;

	out.keys = copy_strs(a, e->keys);
	out.secondary = copy_strs(a, e->secondary);
	out.triggers = copy_strs(a, e->triggers);
	out.filter_names = copy_strs(a, e->filter_names);
	out.filter_tags = copy_strs(a, e->filter_tags);
	out.comment = arena_str(a, e->comment);
	out.content = arena_str(a, e->content);
	out.outlet = arena_str(a, e->outlet);
	out.group = arena_str(a, e->group);
	out.decision = arena_str(a, e->decision);
	out.dialect = arena_str(a, e->dialect);
	return out;
}

/* A number that came before gets the first one above all that are used. */
static void
unique_uids(struct arena *a, struct lore_book *b)
{
	struct arena_mark m = arena_mark(a);
	struct map *seen = map_create(a);
	int64_t next = 0;

	for (size_t i = 0; i < b->n; i++)
		next = b->v[i].src.uid >= next && b->v[i].src.uid < INT64_MAX ? b->v[i].src.uid + 1 : next;
	for (size_t i = 0; i < b->n; i++) {
		struct str key = { (const char *)&b->v[i].src.uid, sizeof b->v[i].src.uid };

		if (map_has(seen, key))
			b->v[i].src.uid = next++;
		map_set(seen, key, b);
	}
	arena_rewind(a, m);
}

struct lore_book *
lore_book_compile(struct arena *a, struct str name, const struct lore_entry *v, size_t n)
{
	struct lore_book *b = arena_new(a, struct lore_book);

	b->name = arena_str(a, name.p != NULL ? name : STR(""));
	b->v = arena_array(a, struct book_entry, n + 1);
	b->n = n;
	for (size_t i = 0; i < n; i++)
		b->v[i].src = copy_entry(a, &v[i]);
	unique_uids(a, b);
	for (size_t i = 0; i < n; i++) {
		decorators(&b->v[i]);
		b->v[i].keys = keys_make(a, b->v[i].src.keys, &b->bytes);
		b->v[i].secondary = keys_make(a, b->v[i].src.secondary, &b->bytes);
		b->v[i].hash = entry_hash(a, b->name, &b->v[i].src);
	}
	return b;
}

size_t
lore_book_count(const struct lore_book *b)
{
	return b->n;
}

struct str
lore_book_name(const struct lore_book *b)
{
	return b->name;
}

const struct lore_entry *
lore_book_entry(const struct lore_book *b, size_t i)
{
	return &b->v[i].src;
}

uint64_t
lore_book_hash(const struct lore_book *b, size_t i)
{
	return b->v[i].hash;
}

size_t
lore_book_bytes(const struct lore_book *b)
{
	return b->bytes;
}
