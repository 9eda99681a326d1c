/*
 * lore_file: see lore_file.h; the two spellings and their defaults: st-assembly.md 2.1. One table
 * says for each field how SillyTavern's files and the extensions of card books spell it.
 */
#include "lore_file.h"

#include "base/limits.h"
#include "base64.h"
#include "import.h"
#include "lore_other.h"
#include "png.h"
#include "shape.h"

#include <stdlib.h>

/* Fields whose card-book spelling stands in `extensions`, in the order in which they are printed. */
static const struct lore_field {
	struct shape_field st;
	const char *ext;
} fields[] = {
	/* clang-format off */
	{ { "vectorized",                SHAPE_BOOL,   SHAPE_VALUE, 0 },   "vectorized" },
	{ { "selectiveLogic",            SHAPE_INT,    SHAPE_VALUE, 0 },   "selectiveLogic" },
	{ { "ignoreBudget",              SHAPE_BOOL,   SHAPE_VALUE, 0 },   "ignore_budget" },
	{ { "excludeRecursion",          SHAPE_BOOL,   SHAPE_VALUE, 0 },   "exclude_recursion" },
	{ { "preventRecursion",          SHAPE_BOOL,   SHAPE_VALUE, 0 },   "prevent_recursion" },
	{ { "matchPersonaDescription",   SHAPE_BOOL,   SHAPE_VALUE, 0 },   "match_persona_description" },
	{ { "matchCharacterDescription", SHAPE_BOOL,   SHAPE_VALUE, 0 },   "match_character_description" },
	{ { "matchCharacterPersonality", SHAPE_BOOL,   SHAPE_VALUE, 0 },   "match_character_personality" },
	{ { "matchCharacterDepthPrompt", SHAPE_BOOL,   SHAPE_VALUE, 0 },   "match_character_depth_prompt" },
	{ { "matchScenario",             SHAPE_BOOL,   SHAPE_VALUE, 0 },   "match_scenario" },
	{ { "matchCreatorNotes",         SHAPE_BOOL,   SHAPE_VALUE, 0 },   "match_creator_notes" },
	{ { "delayUntilRecursion",       SHAPE_LEVEL,  SHAPE_VALUE, 0 },   "delay_until_recursion" },
	{ { "probability",               SHAPE_NUMBER, SHAPE_VALUE, 100 }, "probability" },
	{ { "useProbability",            SHAPE_BOOL,   SHAPE_VALUE, 1 },   "useProbability" },
	{ { "depth",                     SHAPE_INT,    SHAPE_VALUE, 4 },   "depth" },
	{ { "outletName",                SHAPE_TEXT,   SHAPE_EMPTY, 0 },   "outlet_name" },
	{ { "group",                     SHAPE_TEXT,   SHAPE_EMPTY, 0 },   "group" },
	{ { "groupOverride",             SHAPE_BOOL,   SHAPE_VALUE, 0 },   "group_override" },
	{ { "groupWeight",               SHAPE_NUMBER, SHAPE_VALUE, 100 }, "group_weight" },
	{ { "scanDepth",                 SHAPE_INT,    SHAPE_NULL,  0 },   "scan_depth" },
	{ { "caseSensitive",             SHAPE_BOOL,   SHAPE_NULL,  0 },   "case_sensitive" },
	{ { "matchWholeWords",           SHAPE_BOOL,   SHAPE_NULL,  0 },   "match_whole_words" },
	{ { "useGroupScoring",           SHAPE_BOOL,   SHAPE_NULL,  0 },   "use_group_scoring" },
	{ { "automationId",              SHAPE_TEXT,   SHAPE_EMPTY, 0 },   "automation_id" },
	{ { "role",                      SHAPE_INT,    SHAPE_VALUE, 0 },   "role" },
	{ { "sticky",                    SHAPE_INT,    SHAPE_NULL,  0 },   "sticky" },
	{ { "cooldown",                  SHAPE_INT,    SHAPE_NULL,  0 },   "cooldown" },
	{ { "delay",                     SHAPE_INT,    SHAPE_NULL,  0 },   "delay" },
	{ { "triggers",                  SHAPE_TEXTS,  SHAPE_EMPTY, 0 },   "triggers" },
	{ { "displayIndex",              SHAPE_INT,    SHAPE_ABSENT, 0 },  "display_index" },
	{ { "addMemo",                   SHAPE_BOOL,   SHAPE_ABSENT, 0 },  "add_memo" },
	{ { "characterFilter",           SHAPE_OBJECT, SHAPE_ABSENT, 0 },  "character_filter" },
	/* clang-format on */
};
#define FIELDS (sizeof(fields) / sizeof(fields[0]))

/* The rest of an entry: its own spelling in card books, too. */
static const struct shape_field heads[] = {
	/* clang-format off */
	{ "key",          SHAPE_TEXTS, SHAPE_EMPTY, 0 },
	{ "keysecondary", SHAPE_TEXTS, SHAPE_EMPTY, 0 },
	{ "comment",      SHAPE_TEXT,  SHAPE_EMPTY, 0 },
	{ "content",      SHAPE_TEXT,  SHAPE_EMPTY, 0 },
	{ "constant",     SHAPE_BOOL,  SHAPE_VALUE, 0 },
	{ "selective",    SHAPE_BOOL,  SHAPE_VALUE, 1 },
	{ "order",        SHAPE_NUMBER, SHAPE_VALUE, 100 },
	{ "position",     SHAPE_INT,   SHAPE_VALUE, 0 },
	{ "disable",      SHAPE_BOOL,  SHAPE_VALUE, 0 },
	/* clang-format on */
};
#define HEADS (sizeof(heads) / sizeof(heads[0]))

/* Card spelling of the heads that differ. */
static const char *const renamed[][2] = {
	{ "keys", "key" },
	{ "secondary_keys", "keysecondary" },
	{ "insertion_order", "order" },
};

enum { POSITION_BEFORE, POSITION_AFTER };

static bool
is_card_entry(const struct json *e)
{
	return !json_has(e, "key") && !json_has(e, "keysecondary") && !json_has(e, "order") &&
	       !json_has(e, "disable") &&
	       (json_has(e, "keys") || json_has(e, "insertion_order") || json_has(e, "enabled") ||
		   json_has(e, "secondary_keys"));
}

static void
move(struct json *from, const char *name, struct json *to, const char *as)
{
	const struct json *v = json_get(from, name);

	if (v && !json_has(to, as))
		json_set(to, as, v);
	json_del(from, name);
}

/* Takes out what is no value of the field, with its receipt: it must not decide what an entry means, or a second
 * reading, which no longer finds it, would decide otherwise. */
static void
drop_unusable(const struct shaper *s, struct json *e, const struct shape_field *f)
{
	struct shaper quiet = { .a = s->a, .path = s->path };

	if (json_has(e, f->key) && shape_value(&quiet, json_get(e, f->key), f) == NULL)
		shape_fix(s, e, f, 1);
}

static const struct shape_field *
head(const char *name)
{
	return shape_find(heads, HEADS, str_c(name));
}

/* "before_char" and "after_char" as numbers; false if the text is neither. */
static bool
position_text(struct str text, int *out)
{
	if (!str_is(text, "before_char") && !str_is(text, "after_char"))
		return false;
	*out = str_is(text, "before_char") ? POSITION_BEFORE : POSITION_AFTER;
	return true;
}

static void
note_enabled(const struct shaper *s)
{
	receipt_add(s->receipt, RECEIPT_NORMALISED, "enabled_missing",
	    shape_path(s->a, s->path, STR("enabled")), "the entry does not say whether it is enabled; it is");
}

static void
note_no_entry(struct receipt *r, const char *path, const struct json *v)
{
	receipt_add(r, v ? RECEIPT_REFUSED : RECEIPT_NORMALISED, "row_skipped", path,
	    "no entry but %s, left out", json_type_name(json_type(v)));
}

/* A card book's entry: names as SillyTavern's own conversion maps them; what it lacks stays under its own
 * name. */
static void
from_card(const struct shaper *s, struct json *e)
{
	struct json *ext = json_get(e, "extensions");
	int position = POSITION_AFTER;

	for (size_t i = 0; i < sizeof(renamed) / sizeof(renamed[0]); i++)
		move(e, renamed[i][0], e, renamed[i][1]);
	position_text(json_get_str(e, "position"), &position);
	json_del(e, "position");
	if (json_type(ext) == JSON_OBJECT) {
		move(ext, "position", e, "position");
		drop_unusable(s, e, head("position"));
		for (size_t i = 0; i < FIELDS; i++) {
			if (json_has(ext, fields[i].ext) && !json_has(e, fields[i].st.key))
				json_set(e, fields[i].st.key, json_get(ext, fields[i].ext));
			json_del(ext, fields[i].ext);
		}
	}
	if (!json_has(e, "position"))
		json_set_int(e, "position", position);
	drop_unusable(s, e, head("selective"));
	if (!json_get(e, "selective"))
		json_set_bool(e, "selective", false);
	if (json_get(e, "enabled") == NULL)
		note_enabled(s);
	if (!json_get_bool(e, "use_regex", false))
		json_del(e, "use_regex"); /* V3 requires it, false is what SillyTavern does */
}

/* Takes a field from under another name; true if it was there and has a meaning. */
static bool
adopt_from(const struct shaper *s, struct json *e, const struct shape_field *f, struct json *from, const char *name)
{
	if (json_get(from, name) == NULL)
		return false;
	move(from, name, e, f->key);
	drop_unusable(s, e, f);
	if (!json_has(e, f->key))
		return false;
	receipt_add(s->receipt, RECEIPT_NORMALISED, "other_spelling", shape_path(s->a, s->path, str_c(f->key)),
	    "written %s", name);
	return true;
}

/* The other spelling of a field, beside the entry's or in its extensions (case B03). */
static void
adopt_spelling(const struct shaper *s, struct json *e)
{
	struct json *ext = json_get(e, "extensions");

	for (size_t i = 0; i < FIELDS; i++) {
		const struct shape_field *f = &fields[i].st;
		const char *other = fields[i].ext;

		drop_unusable(s, e, f);
		if (json_has(e, f->key))
			continue;
		/* An entry's own `case_sensitive` means nothing to SillyTavern; its `depth` and the like are
		 * spelt alike. */
		if (strcmp(f->key, other) != 0 && strcmp(other, "case_sensitive") != 0 &&
		    adopt_from(s, e, f, e, other))
			continue;
		if (json_type(ext) == JSON_OBJECT && !adopt_from(s, e, f, ext, other))
			adopt_from(s, e, f, ext, f->key);
	}
}

static void
fix_disable(const struct shaper *s, struct json *e)
{
	static const struct shape_field enabled = { "enabled", SHAPE_BOOL, SHAPE_ABSENT, 0 };

	shape_fix(s, e, &enabled, 1);
	if (json_get(e, "enabled") && !json_get(e, "disable"))
		json_set_bool(e, "disable", !json_get_bool(e, "enabled", true));
	json_del(e, "enabled");
}

static void
fix_entry(const struct shaper *s, struct json *e)
{
	static const char *const telling[] = { "key", "keysecondary", "order", "disable", "comment" };
	const struct json *title;
	int position;

	for (size_t i = 0; i < sizeof(telling) / sizeof(telling[0]); i++)
		drop_unusable(s, e, head(telling[i]));
	if (is_card_entry(e))
		from_card(s, e);
	adopt_spelling(s, e);
	fix_disable(s, e);
	title = json_get(e, "comment");
	if ((title == NULL || (json_type(title) == JSON_STRING && json_str(title).n == 0)) &&
	    json_get_str(e, "name").n > 0)
		json_set_str(e, "comment", json_get_str(e, "name"));
	if (position_text(json_get_str(e, "position"), &position))
		json_set_int(e, "position", position);
	shape_fix(s, e, heads, HEADS);
	for (size_t i = 0; i < FIELDS; i++)
		shape_fix(s, e, &fields[i].st, 1);
	if (json_type(json_get(e, "extensions")) == JSON_OBJECT && json_len(json_get(e, "extensions")) == 0)
		json_del(e, "extensions");
}

/* Entries on their way: numbered, then sorted. */
struct numbered {
	int64_t uid;
	bool implied; /* by the place in the list */
	bool again;   /* taken by an earlier one */
	size_t index;
	struct json *entry;
};

struct numbering {
	VEC(struct numbered) v;
	struct receipt *receipt;
	const char *path;
};

/* The entry's own number: uid, else id, else its key in the object; -1 if it has none. */
static int64_t
own_uid(const struct json *e, struct str key)
{
	static const char *const names[] = { "uid", "id" };
	int64_t n;

	for (size_t i = 0; i < 2; i++) {
		const struct json *v = json_get(e, names[i]);

		n = json_int(v, -1);
		if (json_type(v) == JSON_STRING && !str_int(str_trim(json_str(v)), &n))
			n = -1;
		if (n >= 0 && n <= INT32_MAX)
			return n;
	}
	return key.p && str_int(key, &n) && n >= 0 && n <= INT32_MAX ? n : -1;
}

static void
take_entry(struct arena *a, struct numbering *n, struct json *v, struct str key, size_t index)
{
	const char *path = key.p ? shape_path(a, n->path, key) : shape_path_at(a, n->path, index);
	struct shaper s = { .a = a, .receipt = n->receipt, .path = path, .sparse = true };
	struct numbered row = { .index = index };

	if (json_type(v) != JSON_OBJECT) {
		note_no_entry(n->receipt, path, v);
		return;
	}
	row.entry = v;
	row.uid = own_uid(v, key);
	row.implied = row.uid < 0;
	if (row.implied)
		row.uid = (int64_t)index;
	fix_entry(&s, row.entry);
	vec_push(a, &n->v, row);
}

static int
by_uid(const void *x, const void *y)
{
	const struct numbered *a = x, *b = y;

	if (a->uid != b->uid)
		return a->uid < b->uid ? -1 : 1;
	if (a->implied != b->implied)
		return a->implied ? 1 : -1;
	return a->index < b->index ? -1 : 1;
}

static int
by_again(const void *x, const void *y)
{
	const struct numbered *a = x, *b = y;

	if (a->again != b->again)
		return a->again ? 1 : -1;
	return a->again ? (a->index < b->index ? -1 : 1) : by_uid(x, y);
}

/* Sorts by number. One that is used twice stays with the first; the others get new ones above all, in file
 * order. */
static void
number_entries(struct arena *a, struct numbering *n)
{
	struct numbered *v = n->v.v;
	int64_t next;

	if (n->v.n == 0)
		return;
	qsort(v, n->v.n, sizeof(*v), by_uid);
	next = v[n->v.n - 1].uid + 1;
	for (size_t i = 1; i < n->v.n; i++)
		v[i].again = v[i].uid == v[i - 1].uid;
	qsort(v, n->v.n, sizeof(*v), by_again);
	for (size_t i = 0; i < n->v.n; i++) {
		if (!v[i].again)
			continue;
		receipt_add(n->receipt, RECEIPT_NORMALISED, "uid_repeated",
		    shape_path_at(a, n->path, v[i].index), "the number %lld is taken, the entry got %lld",
		    (long long)v[i].uid, (long long)next);
		v[i].uid = next++;
	}
}

static struct json *
entries_of(struct arena *a, const struct json *list, const char *path, struct receipt *r)
{
	struct numbering n = { .receipt = r, .path = path };
	struct json *out = json_object(a);
	struct json_iter it = { 0 };
	struct json *v;
	struct str key;
	size_t i = 0;

	if (json_type(list) == JSON_ARRAY)
		for (; i < json_len(list); i++)
			take_entry(a, &n, json_at(list, i), STR_NULL, i);
	else
		while (json_next(list, &it, &key, &v))
			take_entry(a, &n, v, key, i++);
	number_entries(a, &n);
	for (size_t k = 0; k < n.v.n; k++) {
		struct numbered *row = &n.v.v[k];

		json_del(row->entry, "id");
		json_set_int(row->entry, "uid", row->uid);
		json_set(out, arena_printf(a, "%lld", (long long)row->uid), row->entry);
	}
	return out;
}

/* What the book itself says: SillyTavern stores these of card books and does not use them. */
static const struct shape_field book_fields[] = {
	/* clang-format off */
	{ "name",               SHAPE_TEXT,   SHAPE_ABSENT, 0 },
	{ "description",        SHAPE_TEXT,   SHAPE_ABSENT, 0 },
	{ "scan_depth",         SHAPE_INT,    SHAPE_ABSENT, 0 },
	{ "token_budget",       SHAPE_INT,    SHAPE_ABSENT, 0 },
	{ "recursive_scanning", SHAPE_BOOL,   SHAPE_ABSENT, 0 },
	{ "extensions",         SHAPE_OBJECT, SHAPE_ABSENT, 0 },
	/* clang-format on */
};
#define BOOK_FIELDS (sizeof(book_fields) / sizeof(book_fields[0]))

/* As lore_normalise, of a book that is ours to change; NULL and unchanged if it has no entries. */
static struct json *
normalise(struct arena *a, struct json *book, const char *path, struct receipt *r)
{
	static const char *const others[] = { "entries", "originalData", NULL };
	struct shaper s = { .a = a, .receipt = r, .path = path };
	const struct json *list = json_get(book, "entries");

	if (json_type(list) != JSON_ARRAY && json_type(list) != JSON_OBJECT)
		return NULL;
	shape_fix(&s, book, book_fields, BOOK_FIELDS);
	if (r)
		shape_unknown(&s, book, book_fields, BOOK_FIELDS, others);
	json_set(book, "entries", entries_of(a, list, shape_path(a, path, STR("entries")), r));
	return book;
}

struct json *
lore_normalise(struct arena *a, const struct json *book, const char *path, struct receipt *r)
{
	enum json_type t = json_type(json_get(book, "entries"));

	return t == JSON_ARRAY || t == JSON_OBJECT ? normalise(a, json_copy(a, book), path, r) : NULL;
}

void
lore_fix_card_book(struct arena *a, struct json *book, const char *path, struct receipt *r)
{
	static const struct shape_field entry_fields[] = {
		/* clang-format off */
		{ "keys",            SHAPE_TEXTS,  SHAPE_EMPTY,  0 },
		{ "content",         SHAPE_TEXT,   SHAPE_EMPTY,  0 },
		{ "extensions",      SHAPE_OBJECT, SHAPE_EMPTY,  0 },
		{ "enabled",         SHAPE_BOOL,   SHAPE_VALUE,  1 },
		{ "insertion_order", SHAPE_NUMBER, SHAPE_VALUE,  100 },
		{ "secondary_keys",  SHAPE_TEXTS,  SHAPE_ABSENT, 0 },
		{ "comment",         SHAPE_TEXT,   SHAPE_ABSENT, 0 },
		{ "constant",        SHAPE_BOOL,   SHAPE_ABSENT, 0 },
		{ "selective",       SHAPE_BOOL,   SHAPE_ABSENT, 0 },
		/* clang-format on */
	};
	struct shaper s = { .a = a, .receipt = r, .path = path };
	const struct json *list = json_get(book, "entries");
	struct json *kept;

	if (json_type(list) != JSON_ARRAY)
		return;
	shape_fix(&s, book, book_fields, BOOK_FIELDS);
	kept = json_array(a);
	for (size_t i = 0; i < json_len(list); i++) {
		struct json *e = json_at(list, i);

		s.path = arena_printf(a, "%s/entries/%zu", path, i);
		if (json_type(e) != JSON_OBJECT) {
			note_no_entry(r, s.path, e);
			continue;
		}
		if (json_get(e, "enabled") == NULL && is_card_entry(e))
			note_enabled(&s);
		if (is_card_entry(e) || !json_has(e, "key"))
			shape_fix(&s, e, entry_fields, sizeof(entry_fields) / sizeof(entry_fields[0]));
		json_push(kept, e);
	}
	if (!json_has(book, "extensions"))
		json_set_object(book, "extensions");
	json_set(book, "entries", kept);
}

struct json *
lore_complete(struct arena *a, const struct json *doc)
{
	struct shaper s = { .a = a, .path = "" };
	struct json *out = json_copy(a, doc), *e;
	struct json_iter it = { 0 };
	struct str key;

	while (json_next(json_get(out, "entries"), &it, &key, &e)) {
		shape_fix(&s, e, heads, HEADS);
		for (size_t i = 0; i < FIELDS; i++)
			shape_fix(&s, e, &fields[i].st, 1);
	}
	return out;
}

struct json *
lore_export_st(struct arena *a, const struct json *doc)
{
	return json_copy(a, doc);
}

/* Names that card_entry writes itself. */
static bool
is_written(struct str key)
{
	static const char *const names[] = { "uid", "id", "enabled", "disable", "position", "extensions",
		"content", "selective" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (str_is(key, names[i]))
			return true;
	for (size_t i = 0; i < sizeof(renamed) / sizeof(renamed[0]); i++)
		if (str_is(key, renamed[i][0]) || str_is(key, renamed[i][1]))
			return true;
	return false;
}

static const char *
ext_name(struct str key)
{
	for (size_t i = 0; i < FIELDS; i++)
		if (str_is(key, fields[i].st.key))
			return fields[i].ext;
	return NULL;
}

/* One entry in the card's spelling, with what card readers require; what is not SillyTavern's stays as it is.
 */
static struct json *
card_entry(struct arena *a, const struct json *e)
{
	struct json *out = json_object(a), *ext = json_get(e, "extensions"), *v;
	int64_t position = json_get_int(e, "position", POSITION_BEFORE);
	struct shaper s = { .a = a, .path = "" };
	struct json_iter it = { 0 };
	struct str key;

	json_set_int(out, "id", json_get_int(e, "uid", 0));
	for (size_t i = 0; i < sizeof(renamed) / sizeof(renamed[0]); i++) {
		struct shape_field f = *shape_find(heads, HEADS, str_c(renamed[i][1]));

		f.key = renamed[i][0];
		json_set(out, f.key, json_get(e, renamed[i][1]));
		shape_fix(&s, out, &f, 1);
	}
	json_set_str(out, "content", json_get_str(e, "content").p ? json_get_str(e, "content") : STR(""));
	json_set_bool(out, "enabled", !json_get_bool(e, "disable", false));
	json_set_bool(out, "selective", json_get_bool(e, "selective", true));
	json_set_c(out, "position", position == POSITION_BEFORE ? "before_char" : "after_char");
	ext = json_type(ext) == JSON_OBJECT ? json_copy(a, ext) : json_object(a);
	json_set_int(ext, "position", position);
	while (json_next(e, &it, &key, &v)) {
		const char *name = ext_name(key);

		if (name)
			json_set(ext, name, v);
		else if (!is_written(key))
			json_set_s(out, key, v);
	}
	json_set(out, "extensions", ext);
	return out;
}

struct json *
lore_export_card_book(struct arena *a, const struct json *doc)
{
	struct json *out = json_object(a), *list, *v;
	struct json_iter it = { 0 };
	struct str key;

	while (json_next(doc, &it, &key, &v))
		if (!str_is(key, "entries"))
			json_set_s(out, key, v);
	if (!json_get(out, "extensions"))
		json_set_object(out, "extensions");
	list = json_set_array(out, "entries");
	it = (struct json_iter){ 0 };
	while (json_next(json_get(doc, "entries"), &it, &key, &v))
		json_push(list, card_entry(a, v));
	return out;
}

static enum lore_shape
shape_of(const struct json *book)
{
	const struct json *list = json_get(book, "entries");
	struct json_iter it = { 0 };
	struct json *first = json_type(list) == JSON_ARRAY ? json_at(list, 0) : NULL;
	struct str key;

	if (json_type(list) == JSON_OBJECT && !json_next(list, &it, &key, &first))
		first = NULL;
	if (first && is_card_entry(first))
		return LORE_CARD_BOOK;
	return json_type(list) == JSON_ARRAY ? LORE_ST_ARRAY : LORE_ST;
}

/* As lore_file_read_json, of a document that is ours to change. */
static int
take(struct arena *a, struct json *doc, struct str text, struct str fallback_name, struct lore_file *out,
    struct import_error *err)
{
	enum import_kind kind = import_kind_of(doc);
	struct json *book = lore_from_other(a, doc, &out->shape);

	out->raw = text;
	out->receipt.a = a;
	if (book)
		receipt_add(&out->receipt, RECEIPT_NORMALISED, "other_format", "",
		    "a book of another program, converted");
	else if (kind == IMPORT_CHARACTER)
		return import_fail(a, err, "not_a_worldbook", "",
		    "this is a character card: import it as a character, its embedded book comes with it");
	else if ((book = doc) != NULL)
		out->shape = shape_of(doc);
	out->doc = normalise(a, book, "", &out->receipt);
	if (out->doc == NULL)
		return import_fail(a, err, "not_a_worldbook", "/entries",
		    "no world book: expected \"entries\" as an object or a list, found %s",
		    kind == IMPORT_WORLDBOOK || kind == IMPORT_UNKNOWN
			? json_type_name(json_type(json_get(doc, "entries")))
			: import_kind_name(kind));
	out->entries = json_len(json_get(out->doc, "entries"));
	out->receipt.kept += (int64_t)out->entries;
	out->name = json_get_str(out->doc, "name");
	if (str_trim(out->name).n == 0)
		out->name = fallback_name;
	return 0;
}

int
lore_file_read_json(struct arena *a, const struct json *doc, struct str text, struct str fallback_name,
    struct lore_file *out, struct import_error *err)
{
	return take(a, json_copy(a, doc), text, fallback_name, out, err);
}

/* The book of a PNG: NovelAI's chunk. */
static int
png_book(struct arena *a, struct str bytes, struct str *out, struct import_error *err)
{
	struct png png;
	struct str text;

	if (png_walk(a, bytes, &png, err) < 0)
		return -1;
	for (size_t i = 0; i < png.texts.n; i++)
		if (str_ieq(png.texts.v[i].keyword, STR("naidata"))) {
			if (png_text_read(a, &png.texts.v[i], &text, err) < 0)
				return -1;
			*out = base64_decode(a, text);
			return out->p ? 0
				      : import_fail(a, err, "png_text_broken", "tEXt:naidata",
					    "the chunk is no base64");
		}
	return import_fail(
	    a, err, "no_metadata", "png", "the picture holds no world book (a text chunk naidata)");
}

int
lore_file_read(
    struct arena *a, const struct import_file *file, struct lore_file *out, struct import_error *err)
{
	struct str bytes = file->bytes;
	struct json *doc;

	*out = (struct lore_file){ .receipt = { .a = a } };
	if (png_is(bytes) && png_book(a, file->bytes, &bytes, err) < 0)
		return -1;
	bytes = shape_text(a, bytes, &out->receipt);
	doc = shape_read(a, bytes, "", err);
	return doc ? take(a, doc, bytes, file->fallback_name, out, err) : -1;
}
