/* cards: a case holds a card as `json` or as `bytes_base64` of a PNG or CHARX, and the normalised card or an
 * error. */
#include "vectors.h"

#include "card/base64.h"
#include "card/card.h"
#include "card/lore_file.h"

/* SillyTavern's fields of a book entry that the cases list. */
static const char *const entry_keys[] = { "key", "keysecondary", "comment", "content", "constant",
	"vectorized", "selective", "selectiveLogic", "order", "position", "disable", "ignoreBudget",
	"excludeRecursion", "preventRecursion", "matchPersonaDescription", "matchCharacterDescription",
	"matchCharacterPersonality", "matchCharacterDepthPrompt", "matchScenario", "matchCreatorNotes",
	"delayUntilRecursion", "probability", "useProbability", "depth", "outletName", "group",
	"groupOverride", "groupWeight", "scanDepth", "caseSensitive", "matchWholeWords", "useGroupScoring",
	"automationId", "role", "sticky", "cooldown", "delay", "triggers", "uid" };

static void
add_book(struct json *to, const struct json *book)
{
	static const char *const keys[] = { "name", "scan_depth", "token_budget", "recursive_scanning" };
	struct json *out = json_set_object(to, "book"), *entries, *e;
	struct json_iter it = { 0 };
	struct str key;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		json_set(out, keys[i], json_get(book, keys[i]));
	entries = json_set_array(out, "entries");
	while (json_next(json_get(book, "entries"), &it, &key, &e)) {
		struct json *o = json_push_object(entries);

		for (size_t i = 0; i < sizeof(entry_keys) / sizeof(entry_keys[0]); i++)
			json_set(o, entry_keys[i], json_get(e, entry_keys[i]));
	}
}

static struct json *
printed(struct arena *a, const struct card *c)
{
	static const char *const as_they_are[] = { "source", "creation_date", "modification_date" };
	struct json *o = json_object(a);

	json_set_c(o, "format", card_format_name(c->format));
	json_set_str(o, "name", c->name);
	json_set_str(o, "description", c->description);
	json_set_str(o, "personality", c->personality);
	json_set_str(o, "scenario", c->scenario);
	json_set_str(o, "first_mes", c->first_mes);
	json_set_str(o, "mes_example", c->mes_example);
	json_set_str(o, "creator_notes", c->creator_notes);
	json_set_str(o, "system_prompt", c->system_prompt);
	json_set_str(o, "post_history_instructions", c->post_history_instructions);
	json_set(o, "alternate_greetings", c->alternate_greetings);
	json_set(o, "tags", c->tags);
	json_set_str(o, "creator", c->creator);
	json_set_str(o, "character_version", c->character_version);
	if (c->group_only_greetings)
		json_set(o, "group_only_greetings", c->group_only_greetings);
	if (c->nickname.p)
		json_set_str(o, "nickname", c->nickname);
	for (size_t i = 0; i < 3; i++)
		if (json_has(c->data, as_they_are[i]))
			json_set(o, as_they_are[i], json_get(c->data, as_they_are[i]));
	if (json_has(c->data, "assets"))
		json_set_int(o, "assets_count", (int64_t)c->assets_named);
	if (c->depth_prompt)
		json_set(o, "depth_prompt", c->depth_prompt);
	if (c->scripts)
		json_set_int(o, "embedded_regex_scripts", (int64_t)json_len(c->scripts));
	if (c->linked_world.p)
		json_set_str(o, "linked_world", c->linked_world);
	if (c->book)
		add_book(o, lore_complete(a, c->book));
	return o;
}

/* Member by member, so that the report names what differs. */
static int
compare(struct sb *why, const struct json *want, const struct json *got)
{
	struct json_iter it = { 0 };
	struct json *v;
	struct str key;
	int rc = VECTOR_PASS;

	while (json_next(want, &it, &key, &v))
		if (vector_check_json(why, arena_strdup(why->a, key), v, json_get_s(got, key)) != VECTOR_PASS)
			rc = VECTOR_FAIL;
	it = (struct json_iter){ 0 };
	while (json_next(got, &it, &key, &v))
		if (!json_has(want, arena_strdup(why->a, key)))
			rc = vector_check_json(why, arena_strdup(why->a, key), NULL, v);
	return rc;
}

static int
compare_assets(struct sb *why, struct arena *a, const struct json *want, const struct card *c)
{
	struct json *got = json_array(a);

	for (size_t i = 0; i < c->assets.n; i++) {
		struct json *o = json_push_object(got);

		json_set_str(o, "type", c->assets.v[i].type);
		json_set_str(o, "path", c->assets.v[i].path);
	}
	return vector_check_json(why, "assets", want, got);
}

static int
run_case(struct ctx *c, const struct json *file, const struct json *case_, struct sb *why)
{
	struct import_file upload = { 0 };
	struct import_error err = { 0 };
	struct card card;
	int rc;

	(void)file;
	upload.bytes = json_has(case_, "json") ? json_text(c->a, json_get(case_, "json"))
					       : base64_decode(c->a, json_get_str(case_, "bytes_base64"));
	rc = card_read(c->a, &upload, &card, &err);
	if (json_has(case_, "expected_error")) {
		if (rc == 0)
			sb_adds(why, "imported, an error was expected");
		return rc < 0 && err.code && err.message ? VECTOR_PASS : VECTOR_FAIL;
	}
	if (rc < 0) {
		sb_addf(why, "%s: %s", err.code, err.message);
		return VECTOR_FAIL;
	}
	rc = compare(why, json_get(case_, "expected"), printed(c->a, &card));
	if (json_has(case_, "expected_via") &&
	    vector_check_str(why, "via", json_get_str(case_, "expected_via"), str_c(card.via)))
		rc = VECTOR_FAIL;
	if (json_has(case_, "expected_assets") &&
	    compare_assets(why, c->a, json_get(case_, "expected_assets"), &card))
		rc = VECTOR_FAIL;
	return rc;
}

const struct vector_kind vectors_cards = { .name = "cards", .run_case = run_case };
