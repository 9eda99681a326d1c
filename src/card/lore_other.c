/*
 * lore_other: NovelAI, Agnai and Risu books. A table per program: their name, ours.
 */
#include "lore_other.h"

struct row {
	const char *theirs, *ours;
};

static const struct row novelai[] = { { "keys", "key" }, { "displayName", "comment" }, { "text", "content" },
	{ "enabled", "enabled" }, { "forceActivation", "constant" }, { NULL, NULL } };
static const struct row agnai[] = { { "keywords", "key" }, { "name", "comment" }, { "entry", "content" },
	{ "weight", "order" }, { "enabled", "enabled" }, { NULL, NULL } };
static const struct row risu[] = { { "comment", "comment" }, { "content", "content" },
	{ "alwaysActive", "constant" }, { "selective", "selective" }, { "insertorder", "order" },
	{ "activationPercent", "probability" }, { NULL, NULL } };

static struct json *
renamed(struct arena *a, const struct json *e, const struct row *rows)
{
	struct json *out = json_object(a);

	json_set_bool(out, "selective", false);
	for (; rows->theirs; rows++)
		if (json_get(e, rows->theirs))
			json_set(out, rows->ours, json_get(e, rows->theirs));
	return out;
}

/* Risu writes keys as one text with commas. */
static void
set_keys(struct json *out, const char *ours, struct str text)
{
	struct json *list = json_set_array(out, ours);
	struct str piece;

	while (str_next(&text, ',', &piece)) {
		piece = str_trim(piece);
		if (piece.n > 0)
			json_push_str(list, piece);
	}
}

static struct json *
book(struct arena *a, const struct json *doc, const struct json *list, const struct row *rows)
{
	struct json *out = json_object(a), *entries = json_set_array(out, "entries");

	if (json_get_str(doc, "name").p)
		json_set_str(out, "name", json_get_str(doc, "name"));
	for (size_t i = 0; i < json_len(list); i++) {
		const struct json *e = json_at(list, i);
		struct json *to;

		if (json_type(e) != JSON_OBJECT)
			continue;
		to = renamed(a, e, rows);
		if (rows == novelai)
			json_set_double(
			    to, "order", json_get_double(json_get(e, "contextConfig"), "budgetPriority", 0));
		if (rows == risu) {
			set_keys(to, "key", json_get_str(e, "key"));
			set_keys(to, "keysecondary", json_get_str(e, "secondkey"));
		}
		if (!json_has(to, "key"))
			json_set_array(to, "key");
		json_push(entries, to);
	}
	return out;
}

struct json *
lore_from_other(struct arena *a, const struct json *doc, enum lore_shape *shape)
{
	if (json_has(doc, "lorebookVersion") && json_type(json_get(doc, "entries")) == JSON_ARRAY) {
		*shape = LORE_NOVELAI;
		return book(a, doc, json_get(doc, "entries"), novelai);
	}
	if (str_is(json_get_str(doc, "kind"), "memory") &&
	    json_type(json_get(doc, "entries")) == JSON_ARRAY) {
		*shape = LORE_AGNAI;
		return book(a, doc, json_get(doc, "entries"), agnai);
	}
	if (str_is(json_get_str(doc, "type"), "risu") && json_type(json_get(doc, "data")) == JSON_ARRAY) {
		*shape = LORE_RISU;
		return book(a, doc, json_get(doc, "data"), risu);
	}
	return NULL;
}
