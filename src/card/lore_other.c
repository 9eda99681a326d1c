/*
 * lore_other: NovelAI, Agnai, Risu and Marinara books. A table per program: their name, ours.
 */
#include "lore_other.h"

#include "import.h"

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

static const struct row marinara[] = { { "name", "comment" }, { "content", "content" }, { "enabled", "enabled" }, { "constant", "constant" },
	{ "selective", "selective" }, { "order", "order" }, { "depth", "depth" }, { "probability", "probability" }, { "sticky", "sticky" },
	{ "cooldown", "cooldown" }, { "delay", "delay" }, { "group", "group" }, { "groupWeight", "groupWeight" }, { "scanDepth", "scanDepth" },
	{ "caseSensitive", "caseSensitive" }, { "matchWholeWords", "matchWholeWords" }, { "preventRecursion", "preventRecursion" },
	{ "excludeRecursion", "excludeRecursion" }, { "delayUntilRecursion", "delayUntilRecursion" }, { "decision", "decision" }, { NULL, NULL } };

/* Words and numbers of Marinara that stand for others here. */
static const struct word {
	const char *theirs, *ours, *text;
	int64_t from, to;
} words[] = {
	/* clang-format off */
	{ "selectiveLogic", "selectiveLogic", "and",       0, 0 },
	{ "selectiveLogic", "selectiveLogic", "or",        0, 0 },
	{ "selectiveLogic", "selectiveLogic", "not_all",   0, 1 },
	{ "selectiveLogic", "selectiveLogic", "not",       0, 2 },
	{ "selectiveLogic", "selectiveLogic", "and_all",   0, 3 },
	{ "role",           "role",           "system",    0, 0 },
	{ "role",           "role",           "user",      0, 1 },
	{ "role",           "role",           "assistant", 0, 2 },
	{ "position",       "position",       NULL,        0, 0 },
	{ "position",       "position",       NULL,        1, 1 },
	{ "position",       "position",       NULL,        2, 4 },
	/* clang-format on */
};

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

/* /key/flags; a slash of the key would end it. */
static struct str
pattern(struct arena *a, struct str key, const char *flags)
{
	struct sb out = sb_new(a);

	sb_addc(&out, '/');
	for (size_t i = 0; i < key.n; i++) {
		if (key.p[i] == '/')
			sb_addc(&out, '\\');
		sb_addc(&out, key.p[i]);
		if (key.p[i] == '\\' && i + 1 < key.n)
			sb_addc(&out, key.p[++i]);
	}
	sb_addf(&out, "/%s", flags);
	return sb_str(&out);
}

/* A flag makes every key of an entry a pattern; here it is written as one. */
static void
set_marinara_keys(struct arena *a, struct json *out, const char *ours, const struct json *keys, const struct json *e)
{
	const char *flags = json_get_bool(e, "caseSensitive", false) ? "" : "i";
	struct json *list = json_set_array(out, ours);

	for (size_t i = 0; i < json_len(keys); i++) {
		struct str key = json_str(json_at(keys, i));

		if (key.n == 0)
			continue;
		if (!json_get_bool(e, "useRegex", false)) {
			json_push_str(list, key);
			continue;
		}
		json_push_str(list, pattern(a, key, flags));
	}
}

static void
set_marinara(struct arena *a, struct json *out, const struct json *e)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const struct json *v = json_get(e, words[i].theirs);

		if (words[i].text ? str_is(json_str(v), words[i].text) : json_type(v) == JSON_INT && json_int(v, -1) == words[i].from)
			json_set_int(out, words[i].ours, words[i].to);
	}
	set_marinara_keys(a, out, "key", json_get(e, "keys"), e);
	set_marinara_keys(a, out, "keysecondary", json_get(e, "secondaryKeys"), e);
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
		if (rows == marinara)
			set_marinara(a, to, e);
		if (!json_has(to, "key"))
			json_set_array(to, "key");
		json_push(entries, to);
	}
	return out;
}

static struct json *
marinara_book(struct arena *a, const struct json *data)
{
	const struct json *head = json_get(data, "lorebook");
	struct json *out = book(a, head ? head : data, json_get(data, "entries"), marinara);

	json_set_c(out, "conditional_dialect", "marinara");
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
	if (import_marinara(doc) == IMPORT_WORLDBOOK && json_type(json_get(json_get(doc, "data"), "entries")) == JSON_ARRAY) {
		*shape = LORE_MARINARA;
		return marinara_book(a, json_get(doc, "data"));
	}
	return NULL;
}
