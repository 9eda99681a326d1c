/* book_file: see book_file.h. */
#include "lore/book_file.h"

#include "base/json_loose.h"

#include <ctype.h>
#include <stdlib.h>

/* A row and what SillyTavern's own fields are called in it, or in its extensions. */
struct row {
	struct arena *a;
	const struct json *e, *ext;
	bool card; /* a card book's spelling */
};

static const struct json *
field(const struct row *r, const char *keys)
{
	const struct json *v = loose_get(r->e, keys);

	return v != NULL ? v : loose_get(r->ext, keys);
}

static bool
flag(const struct row *r, const char *keys, bool dflt)
{
	return loose_bool(field(r, keys), dflt);
}

static int32_t
number(const struct row *r, const char *keys, int32_t dflt)
{
	int64_t v = loose_int(field(r, keys), dflt);

	return v > INT32_MAX || v < INT32_MIN ? dflt : (int32_t)v;
}

static struct str
text(const struct row *r, const char *keys)
{
	return loose_str(r->a, field(r, keys), STR(""));
}

static struct lore_strs
list(const struct row *r, const struct json *v)
{
	struct lore_strs out;

	out.n = loose_strs(r->a, v, &out.v);
	return out;
}

static enum lore_tri
tri(const struct row *r, const char *keys)
{
	const struct json *v = field(r, keys);

	return v == NULL ? LORE_UNSET : loose_bool(v, false) ? LORE_YES : LORE_NO;
}

/* A number of the extensions wins over the card book's word; a card book without either stands behind the
 * character. */
static enum lore_position
position(const struct row *r)
{
	const struct json *own = json_get(r->e, "position"), *ext = json_get(r->ext, "position");
	int64_t p = loose_int(ext, -1);

	if (p < 0 || p >= LORE_POSITION__COUNT)
		p = loose_int(own, -1);
	if (p >= 0 && p < LORE_POSITION__COUNT)
		return (enum lore_position)p;
	if (json_type(own) == JSON_STRING)
		return str_is(json_str(own), "before_char") ? LORE_BEFORE : LORE_AFTER;
	return r->card ? LORE_AFTER : LORE_BEFORE;
}

static enum lore_role
role(const struct row *r)
{
	static const char *const names[] = { "system", "user", "assistant" };
	const struct json *v = field(r, "role");
	int64_t n = loose_int(v, LORE_SYSTEM);

	for (int i = 0; i < 3; i++)
		if (str_is(json_str(v), names[i]))
			return (enum lore_role)i;
	return n >= 0 && n < 3 ? (enum lore_role)n : LORE_SYSTEM;
}

static unsigned
sources(const struct row *r)
{
	static const char *const keys[LORE_SOURCE__COUNT] = {
		[LORE_PERSONA] = "matchPersonaDescription|match_persona_description",
		[LORE_DESCRIPTION] = "matchCharacterDescription|match_character_description",
		[LORE_PERSONALITY] = "matchCharacterPersonality|match_character_personality",
		[LORE_DEPTH_PROMPT] = "matchCharacterDepthPrompt|match_character_depth_prompt",
		[LORE_SCENARIO] = "matchScenario|match_scenario",
		[LORE_CREATOR_NOTES] = "matchCreatorNotes|match_creator_notes",
	};
	unsigned out = 0;

	for (int i = 0; i < LORE_SOURCE__COUNT; i++)
		out |= flag(r, keys[i], false) ? 1u << i : 0;
	return out;
}

static bool
is_uuid(struct str s)
{
	static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

	if (s.n != sizeof(form) - 1)
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (form[i] == '-' ? s.p[i] != '-' : !isxdigit((unsigned char)s.p[i]))
			return false;
	return true;
}

/*
 * SillyTavern's page writes the ids of its own tags, which stand in no file: what such an id names cannot be
 * known here, and a filter that the page knows nothing about does not apply. A tag's name stays.
 */
static struct lore_strs
named_tags(struct arena *a, struct lore_strs v)
{
	struct str *kept = arena_array(a, struct str, v.n + 1);
	size_t n = 0;

	for (size_t i = 0; i < v.n; i++)
		if (!is_uuid(v.v[i]))
			kept[n++] = v.v[i];
	return (struct lore_strs){ kept, n };
}

static void
read_filters(const struct row *r, struct lore_entry *e)
{
	const struct json *f = field(r, "characterFilter|character_filter");

	e->triggers = list(r, field(r, "triggers"));
	e->filter_exclude = loose_bool(loose_get(f, "isExclude|is_exclude"), false);
	e->filter_names = list(r, json_get(f, "names"));
	e->filter_tags = named_tags(r->a, list(r, json_get(f, "tags")));
}

static void
read_activation(const struct row *r, struct lore_entry *e)
{
	const struct json *depth = field(r, "scanDepth|scan_depth");
	int32_t logic = number(r, "selectiveLogic|selective_logic", LORE_AND_ANY);

	e->disabled = json_get(r->e, "disable") != NULL ? loose_bool(json_get(r->e, "disable"), false)
							: !loose_bool(json_get(r->e, "enabled"), true);
	e->constant = flag(r, "constant", false);
	e->selective = flag(r, "selective", !r->card);
	e->vectorized = flag(r, "vectorized", false);
	e->logic = logic >= 0 && logic <= LORE_AND_ALL ? (enum lore_logic)logic : LORE_AND_ANY;
	e->probability = loose_double(field(r, "probability"), 100);
	e->use_probability = flag(r, "useProbability|use_probability", true);
	e->has_scan_depth = depth != NULL;
	e->scan_depth = number(r, "scanDepth|scan_depth", 0);
	e->case_sensitive = tri(r, "caseSensitive|case_sensitive");
	e->whole_words = tri(r, "matchWholeWords|match_whole_words");
	e->sticky = number(r, "sticky", 0);
	e->cooldown = number(r, "cooldown", 0);
	e->delay = number(r, "delay", 0);
	e->exclude_recursion = flag(r, "excludeRecursion|exclude_recursion", false);
	e->prevent_recursion = flag(r, "preventRecursion|prevent_recursion", false);
	e->delay_until_recursion = number(r, "delayUntilRecursion|delay_until_recursion", 0);
	e->sources = sources(r);
	e->decision = text(r, "decision");
}

/* Of the conditionals in a book's texts (or an entry's own): stored with it. */
static struct str
book_dialect(struct arena *a, const struct json *o)
{
	const struct json *own = json_get(json_get(o, "extensions"), "conditional_dialect");

	return loose_str(a, own ? own : json_get(o, "conditional_dialect"), STR(""));
}

static struct lore_entry
read_entry(struct arena *a, const struct json *j, int64_t number_of)
{
	struct row r = { .a = a,
		.e = j,
		.ext = json_get(j, "extensions"),
		.card = json_has(j, "keys") && !json_has(j, "key") };
	struct lore_entry e = lore_entry_defaults();

	e.uid = loose_int(loose_get(j, "uid|id"), number_of);
	e.keys = list(&r, loose_get(j, "key|keys"));
	e.secondary = list(&r, loose_get(j, "keysecondary|secondary_keys"));
	e.comment = loose_str(a, loose_get(j, "comment|name"), STR(""));
	e.content = loose_str(a, json_get(j, "content"), STR(""));
	e.order = loose_double(loose_get(j, "order|insertion_order"), 100);
	e.position = position(&r);
	e.depth = number(&r, "depth", 4);
	e.role = role(&r);
	e.outlet = text(&r, "outletName|outlet_name");
	e.ignore_budget = flag(&r, "ignoreBudget|ignore_budget", false);
	e.group = text(&r, "group");
	e.group_override = flag(&r, "groupOverride|group_override", false);
	e.group_weight = loose_double(field(&r, "groupWeight|group_weight"), 100);
	e.group_scoring = tri(&r, "useGroupScoring|use_group_scoring");
	e.dialect = book_dialect(a, j);
	read_activation(&r, &e);
	read_filters(&r, &e);
	return e;
}

struct numbered {
	struct lore_entry e;
	size_t at;
};

static int
numbered_cmp(const void *x, const void *y)
{
	const struct numbered *p = x, *q = y;

	return p->e.uid != q->e.uid ? (p->e.uid < q->e.uid ? -1 : 1) : p->at < q->at ? -1 : p->at > q->at;
}

size_t
lore_entries_read(struct arena *a, const struct json *book, const struct lore_entry **out)
{
	const struct json *entries = json_get(book, "entries");
	bool object = json_type(entries) == JSON_OBJECT;
	size_t n = object || json_type(entries) == JSON_ARRAY ? json_len(entries) : 0, count = 0;
	struct numbered *rows = arena_array(a, struct numbered, n + 1);
	struct lore_entry *v = arena_array(a, struct lore_entry, n + 1);
	struct json_iter it = { 0 };
	struct str dialect = book_dialect(a, book);

	for (size_t i = 0; i < n; i++) {
		struct json *row = NULL;
		struct str key = STR_NULL;
		int64_t number_of = (int64_t)i;

		if (!object)
			row = json_at(entries, i);
		else if (json_next(entries, &it, &key, &row))
			str_int(key, &number_of);
		if (json_type(row) != JSON_OBJECT)
			continue;
		rows[count] = (struct numbered){ read_entry(a, row, number_of), count };
		count++;
	}
	qsort(rows, count, sizeof *rows, numbered_cmp);
	for (size_t i = 0; i < count; i++)
		v[i] = rows[i].e;
	for (size_t i = 0; i < count; i++)
		if (v[i].dialect.n == 0)
			v[i].dialect = dialect;
	*out = v;
	return count;
}

struct lore_book *
lore_book_read(struct arena *a, struct str name, const struct json *book)
{
	const struct lore_entry *v;
	size_t n = lore_entries_read(a, book, &v);

	return lore_book_compile(
	    a, name.p != NULL ? name : loose_str(a, json_get(book, "name"), STR("")), v, n);
}
