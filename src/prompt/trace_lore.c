/*
 * trace_lore: activated entries as the wire names them: where each came from, why, and where it went.
 */
#include "base/utf8.h"
#include "lore/report.h"
#include "prompt/prompt_private.h"

#define EXCERPT 40  /* bytes around a match */
#define PREVIEW 160 /* bytes of an entry */

/* A cut that leaves characters whole. */
static struct str
cut(struct str s, size_t from, size_t to)
{
	while (from > 0 && from < s.n && ((unsigned char)s.p[from] & 0xc0) == 0x80)
		from--;
	while (to < s.n && ((unsigned char)s.p[to] & 0xc0) == 0x80)
		to++;
	return str_sub(s, from, to);
}

static struct prompt_book_name
book_name(const struct build *b, const struct lore_book *book)
{
	for (size_t i = 0; i < b->in->nbook_names; i++)
		if (b->in->book_names[i].book == book)
			return b->in->book_names[i];
	return (struct prompt_book_name){ .book = book, .name = lore_book_name(book), .scope = lore_book_name(book) };
}

static bool
is_character_book(const struct build *b, const struct lore_book *book)
{
	for (size_t i = 0; i < b->in->nbooks; i++)
		if (b->in->books[i].book == book)
			return b->in->books[i].scope == LORE_CHARACTER;
	return true;
}

static void
entry_names(struct build *b, struct json *o, const struct lore_active *e)
{
	struct prompt_book_name name = book_name(b, e->book);
	struct json *source, *insertion;

	json_set_int(o, "uid", e->entry->uid);
	json_set_str(o, "activation_key", str_c(arena_printf(b->a, "%.*s:entry:%lld", STR_ARG(name.scope), (long long)e->entry->uid)));
	source = json_set_object(o, "source");
	json_set_c(source, "kind", is_character_book(b, e->book) ? "character_book" : "session_worldbook");
	json_set_str(source, "worldbook_id", name.worldbook_id);
	json_set_str(source, "worldbook_name", name.name);
	json_set_str(source, "asset_scope_id", name.scope);
	insertion = json_set_object(o, "insertion");
	json_set_c(insertion, "position", lore_position_name(e->entry->position));
	if (e->entry->position == LORE_DEPTH) {
		json_set_int(insertion, "depth", e->entry->depth);
		json_set_c(insertion, "role", lore_role_name(e->entry->role));
	}
	if (e->entry->position == LORE_OUTLET)
		json_set_str(insertion, "outlet_name", e->entry->outlet);
}

/* The text a key was found in; absent = not kept. */
static struct str
place_text(const struct build *b, const struct lore_verdict *v)
{
	if (v->place == LORE_IN_MESSAGE && v->place_index >= 0 && (size_t)v->place_index < b->ntold)
		return b->told[b->ntold - 1 - (size_t)v->place_index].sent;
	return STR_NULL;
}

static void
place_json(struct json *m, const struct lore_verdict *v)
{
	switch (v->place) {
	case LORE_IN_MESSAGE:
		json_set_c(m, "source_kind", "message");
		json_set_int(m, "message_index_from_latest", v->place_index);
		break;
	case LORE_IN_SOURCE:
		json_set_c(m, "source_kind", lore_source_name((enum lore_source)v->place_index));
		break;
	case LORE_IN_INJECTED:
		json_set_c(m, "source_kind", "injection");
		json_set_int(m, "injection_index", v->place_index);
		break;
	case LORE_IN_RECURSION:
	case LORE_IN_NOTHING:
		json_set_c(m, "source_kind", "recursion_buffer");
		break;
	}
}

static struct json *
first_match(struct build *b, const struct lore_verdict *v)
{
	struct json *m = json_object(b->a);
	struct str text = place_text(b, v), low = utf8_lower(b->a, text), key = utf8_lower(b->a, v->key);
	size_t at = text.p && low.n == text.n && key.n > 0 ? str_find(low, key, 0) : STR_NPOS;
	bool regex = v->key.n > 1 && v->key.p[0] == '/' && str_chr(str_sub(v->key, 1, v->key.n), '/', 0) != STR_NPOS;
	size_t from = at == STR_NPOS ? 0 : at, to = at == STR_NPOS ? 0 : at + key.n;

	place_json(m, v);
	json_set_str(m, "matched_key", v->key);
	json_set_c(m, "matched_key_scope", "primary");
	json_set_c(m, "matched_key_type", regex ? "regex" : "plain");
	json_set_int(m, "char_start", (int64_t)utf8_units(str_sub(text, 0, from)));
	json_set_int(m, "char_end", (int64_t)utf8_units(str_sub(text, 0, to)));
	json_set_str(m, "excerpt", text.p ? cut(text, from > EXCERPT ? from - EXCERPT : 0, to + EXCERPT) : STR(""));
	return m;
}

struct json *
trace_matches(struct build *b)
{
	const struct lore_result *r = b->lore;
	struct json *list = json_array(b->a);

	for (size_t i = 0; r && i < r->nactive; i++) {
		const struct lore_active *e = &r->active[i];
		const struct lore_verdict *v = &r->verdicts[e->candidate];
		struct json *o = json_push_object(list), *activation;

		entry_names(b, o, e);
		json_set_str(o, "asset_scope_id", book_name(b, e->book).scope);
		json_set_str(o, "comment", e->entry->comment);
		json_set_str(o, "content_preview", cut(e->entry->content, 0, PREVIEW));
		json_set_int(o, "order", (int64_t)e->entry->order);
		activation = json_set_object(o, "activation");
		json_set_c(activation, "mode", v->why == LORE_BY_CONSTANT ? "constant" : "triggered");
		json_set_int(activation, "recursion_level", v->recursion);
		json_set(activation, "first_match", v->key.p ? first_match(b, v) : NULL);
	}
	return list;
}

struct json *
trace_activated(struct build *b)
{
	struct json *list = json_array(b->a);

	for (size_t i = 0; b->lore && i < b->lore->nactive; i++)
		entry_names(b, json_push_object(list), &b->lore->active[i]);
	return list;
}
