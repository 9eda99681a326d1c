/*
 * preset_file: see preset_file.h; st-assembly.md 1.1, decisions 38 and 53. Rows of prompts keep
 * their strangeness where it decides whether SillyTavern sends them; the receipt says so.
 */
#include "preset_file.h"

#include "base/limits.h"
#include "import.h"
#include "regex_file.h"
#include "shape.h"

static const struct shape_field fields[] = {
	/* clang-format off */
	{ "name",                          SHAPE_TEXT,   SHAPE_ABSENT, 0 },
	{ "openai_max_context",            SHAPE_INT,    SHAPE_ABSENT, 0 },
	{ "openai_max_tokens",             SHAPE_INT,    SHAPE_ABSENT, 0 },
	{ "temperature",                   SHAPE_NUMBER, SHAPE_ABSENT, 0 },
	{ "top_p",                         SHAPE_NUMBER, SHAPE_ABSENT, 0 },
	{ "top_k",                         SHAPE_NUMBER, SHAPE_ABSENT, 0 },
	{ "min_p",                         SHAPE_NUMBER, SHAPE_ABSENT, 0 },
	{ "top_a",                         SHAPE_NUMBER, SHAPE_ABSENT, 0 },
	{ "frequency_penalty",             SHAPE_NUMBER, SHAPE_ABSENT, 0 },
	{ "presence_penalty",              SHAPE_NUMBER, SHAPE_ABSENT, 0 },
	{ "repetition_penalty",            SHAPE_NUMBER, SHAPE_ABSENT, 0 },
	{ "seed",                          SHAPE_INT,    SHAPE_ABSENT, 0 },
	{ "n",                             SHAPE_INT,    SHAPE_ABSENT, 0 },
	{ "stream_openai",                 SHAPE_BOOL,   SHAPE_ABSENT, 0 },
	{ "new_chat_prompt",               SHAPE_TEXT,   SHAPE_ABSENT, 0 },
	{ "new_group_chat_prompt",         SHAPE_TEXT,   SHAPE_ABSENT, 0 },
	{ "new_example_chat_prompt",       SHAPE_TEXT,   SHAPE_ABSENT, 0 },
	{ "continue_nudge_prompt",         SHAPE_TEXT,   SHAPE_ABSENT, 0 },
	{ "group_nudge_prompt",            SHAPE_TEXT,   SHAPE_ABSENT, 0 },
	{ "impersonation_prompt",          SHAPE_TEXT,   SHAPE_ABSENT, 0 },
	{ "send_if_empty",                 SHAPE_TEXT,   SHAPE_ABSENT, 0 },
	{ "wi_format",                     SHAPE_TEXT,   SHAPE_ABSENT, 0 },
	{ "scenario_format",               SHAPE_TEXT,   SHAPE_ABSENT, 0 },
	{ "personality_format",            SHAPE_TEXT,   SHAPE_ABSENT, 0 },
	{ "names_behavior",                SHAPE_INT,    SHAPE_ABSENT, 0 },
	{ "assistant_prefill",             SHAPE_TEXT,   SHAPE_ABSENT, 0 },
	{ "assistant_impersonation",       SHAPE_TEXT,   SHAPE_ABSENT, 0 },
	{ "continue_prefill",              SHAPE_BOOL,   SHAPE_ABSENT, 0 },
	{ "continue_postfix",              SHAPE_TEXT,   SHAPE_ABSENT, 0 },
	{ "squash_system_messages",        SHAPE_BOOL,   SHAPE_ABSENT, 0 },
	{ "use_sysprompt",                 SHAPE_BOOL,   SHAPE_ABSENT, 0 },
	{ "custom_prompt_post_processing", SHAPE_TEXT,   SHAPE_ABSENT, 0 },
	{ "reasoning_effort",              SHAPE_TEXT,   SHAPE_ABSENT, 0 },
	{ "extensions",                    SHAPE_OBJECT, SHAPE_ABSENT, 0 },
	{ "prompts",                       SHAPE_LIST,   SHAPE_ABSENT, 0 },
	{ "prompt_order",                  SHAPE_LIST,   SHAPE_ABSENT, 0 },
	/* clang-format on */
};
#define FIELDS (sizeof(fields) / sizeof(fields[0]))

/* Only what cannot change whether and how a row is sent. */
static const struct shape_field row_fields[] = {
	/* clang-format off */
	{ "identifier",        SHAPE_TEXT,  SHAPE_ABSENT, 0 },
	{ "name",              SHAPE_TEXT,  SHAPE_ABSENT, 0 },
	{ "content",           SHAPE_TEXT,  SHAPE_ABSENT, 0 },
	{ "role",              SHAPE_TEXT,  SHAPE_ABSENT, 0 },
	{ "injection_trigger", SHAPE_TEXTS, SHAPE_ABSENT, 0 },
	/* clang-format on */
};

/* Where a preset would connect to and with what: never stored, never exported. */
static const char *const secrets[] = { "reverse_proxy", "proxy_password", "custom_url", "custom_include_body",
	"custom_exclude_body", "custom_include_headers", "azure_base_url", "vertexai_express_project_id",
	"api_key", "api_key_openai", "secrets" };

static const char *const built_in[] = { "main", "nsfw", "jailbreak", "enhanceDefinitions", "worldInfoBefore",
	"personaDescription", "charDescription", "charPersonality", "scenario", "worldInfoAfter",
	"dialogueExamples", "chatHistory" };

/* Old members whose text replaces the content of a built-in prompt. */
static const char *const old_prompts[][2] = { { "main_prompt", "main" }, { "nsfw_prompt", "nsfw" },
	{ "jailbreak_prompt", "jailbreak" } };

static bool
is_built_in(struct str id)
{
	for (size_t i = 0; i < sizeof(built_in) / sizeof(built_in[0]); i++)
		if (str_is(id, built_in[i]))
			return true;
	return false;
}

/* Drops connection settings; true if one held something. */
static bool
drop_secrets(struct arena *a, struct json *doc, struct receipt *r)
{
	bool any = false;

	for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++) {
		const struct json *v = json_get(doc, secrets[i]);

		if (!json_has(doc, secrets[i]))
			continue;
		any = true;
		if (json_type(v) == JSON_STRING && json_str(v).n > 0)
			receipt_add(r, RECEIPT_REFUSED, "connection_setting",
			    arena_printf(a, "/%s", secrets[i]),
			    "says where to connect or with what: not stored; set it in a provider profile");
		json_del(doc, secrets[i]);
	}
	return any;
}

static void
rename_member(struct json *doc, const char *old, const char *now, struct receipt *r)
{
	if (json_get(doc, old) == NULL)
		return;
	if (!json_has(doc, now))
		json_set(doc, now, json_get(doc, old));
	json_del(doc, old);
	receipt_add(r, RECEIPT_NORMALISED, "old_name", now, "written %s in files of that age", old);
}

static struct json *
row_by_id(const struct json *prompts, const char *id)
{
	for (size_t i = 0; i < json_len(prompts); i++)
		if (str_is(json_get_str(json_at(prompts, i), "identifier"), id))
			return json_at(prompts, i);
	return NULL;
}

static void
take_old_prompts(struct json *doc, struct receipt *r)
{
	for (size_t i = 0; i < sizeof(old_prompts) / sizeof(old_prompts[0]); i++) {
		const char *old = old_prompts[i][0], *id = old_prompts[i][1];
		struct json *prompts = json_get(doc, "prompts"), *row;

		if (json_type(json_get(doc, old)) != JSON_STRING)
			continue;
		if (json_type(prompts) != JSON_ARRAY)
			prompts = json_set_array(doc, "prompts");
		row = row_by_id(prompts, id);
		if (row == NULL) {
			row = json_push_object(prompts);
			json_set_c(row, "identifier", id);
			json_set_c(row, "role", "system");
			json_set_bool(row, "system_prompt", true);
		}
		json_set(row, "content", json_get(doc, old));
		json_del(doc, old);
		receipt_add(r, RECEIPT_NORMALISED, "old_name", id, "written %s in files of that age", old);
	}
}

static void
take_old_names(struct json *doc, struct receipt *r)
{
	if (json_has(doc, "names_in_completion")) {
		if (json_get_bool(doc, "names_in_completion", false) && !json_has(doc, "names_behavior"))
			json_set_int(doc, "names_behavior", 1);
		json_del(doc, "names_in_completion");
		receipt_add(r, RECEIPT_NORMALISED, "old_name", "names_behavior",
		    "written names_in_completion in files of that age");
	}
	rename_member(doc, "claude_use_sysprompt", "use_sysprompt", r);
	rename_member(doc, "image_inlining", "media_inlining", r);
	if (str_is(json_get_str(doc, "custom_prompt_post_processing"), "claude"))
		json_set_c(doc, "custom_prompt_post_processing", "merge");
	take_old_prompts(doc, r);
}

/* Decision 53: rows that SillyTavern never sends, and what it does with an odd role. */
static void
note_row(struct arena *a, const struct json *row, const char *path, struct receipt *r)
{
	const struct json *position = json_get(row, "injection_position"),
			  *depth = json_get(row, "injection_depth");
	const struct json *system = json_get(row, "system_prompt");
	struct str role = json_get_str(row, "role");
	bool in_chat = (json_type(position) == JSON_INT || json_type(position) == JSON_DOUBLE) &&
		       json_double(position, 0) == 1;
	const char *why = NULL;

	if (in_chat && depth == NULL)
		why = "depth_missing";
	else if (in_chat && json_type(depth) != JSON_INT && json_type(depth) != JSON_DOUBLE)
		why = "depth_not_a_number";
	else if (!in_chat && !is_built_in(json_get_str(row, "identifier")) &&
		 (json_type(system) != JSON_BOOL || json_bool(system, true)))
		why = "system_prompt_not_false";
	if (why)
		receipt_add(r, RECEIPT_WARNING, "prompt_never_sent", path, "%s", why);
	if (role.n > 0 && !str_is(role, "system") && !str_is(role, "user") && !str_is(role, "assistant"))
		receipt_add(r, RECEIPT_WARNING, "role_unknown", shape_path(a, path, STR("role")), "%s",
		    in_chat ? "in chat, rows of an unknown role are not sent" : "passed on as it is");
}

static void
fix_prompts(struct arena *a, struct json *doc, struct receipt *r)
{
	const struct json *rows = json_get(doc, "prompts");
	struct json *out;

	if (json_type(rows) != JSON_ARRAY)
		return;
	out = json_array(a);
	for (size_t i = 0; i < json_len(rows); i++) {
		struct json *row = json_at(rows, i);
		struct shaper s = { .a = a, .receipt = r, .path = arena_printf(a, "/prompts/%zu", i) };

		if (json_type(row) != JSON_OBJECT) {
			receipt_add(r, row ? RECEIPT_REFUSED : RECEIPT_NORMALISED, "row_skipped", s.path,
			    "no prompt but %s, left out", json_type_name(json_type(row)));
			continue;
		}
		shape_fix(&s, row, row_fields, sizeof(row_fields) / sizeof(row_fields[0]));
		if (json_get_str(row, "identifier").n == 0) {
			json_set_str(row, "identifier", str_c(arena_printf(a, "imported-%zu", i)));
			receipt_add(r, RECEIPT_NORMALISED, "identifier_made", s.path,
			    "the prompt has no identifier, one was made");
		}
		note_row(a, row, s.path, r);
		json_push(out, row);
	}
	json_set(doc, "prompts", out);
}

static struct json *
fix_rows(struct arena *a, const struct json *rows, const char *path, struct receipt *r)
{
	static const struct shape_field id = { "identifier", SHAPE_TEXT, SHAPE_ABSENT, 0 };
	struct json *out = json_array(a);

	for (size_t i = 0; i < json_len(rows); i++) {
		struct json *row = json_at(rows, i);
		struct shaper s = { .a = a, .receipt = r, .path = shape_path_at(a, path, i) };

		if (json_type(row) != JSON_OBJECT) {
			receipt_add(r, row ? RECEIPT_REFUSED : RECEIPT_NORMALISED, "row_skipped", s.path,
			    "no row but %s, left out", json_type_name(json_type(row)));
			continue;
		}
		shape_fix(&s, row, &id, 1);
		json_push(out, row);
	}
	return out;
}

/* A flat list of rows, as some tools write it, is the global track. */
static void
wrap_flat_order(struct arena *a, struct json *doc, struct receipt *r)
{
	const struct json *order = json_get(doc, "prompt_order"), *first = json_at(order, 0);
	struct json *tracks, *track;

	if (json_type(first) != JSON_OBJECT || json_has(first, "order") || !json_has(first, "identifier"))
		return;
	tracks = json_array(a);
	track = json_push_object(tracks);
	json_set_int(track, "character_id", 100001);
	json_set(track, "order", order);
	json_set(doc, "prompt_order", tracks);
	receipt_add(r, RECEIPT_NORMALISED, "order_flat", "/prompt_order",
	    "one list without a track, read as track 100001");
}

static void
fix_order(struct arena *a, struct json *doc, struct receipt *r)
{
	const struct json *tracks;
	struct json *out;

	if (json_type(json_get(doc, "prompt_order")) != JSON_ARRAY)
		return;
	wrap_flat_order(a, doc, r);
	tracks = json_get(doc, "prompt_order");
	out = json_array(a);
	for (size_t i = 0; i < json_len(tracks); i++) {
		struct json *track = json_at(tracks, i);
		const char *path = arena_printf(a, "/prompt_order/%zu", i);

		if (json_type(track) != JSON_OBJECT || json_type(json_get(track, "order")) != JSON_ARRAY) {
			receipt_add(r, track ? RECEIPT_REFUSED : RECEIPT_NORMALISED, "row_skipped", path,
			    "no track with an order list, left out");
			continue;
		}
		json_set(track, "order",
		    fix_rows(a, json_get(track, "order"), shape_path(a, path, STR("order")), r));
		json_push(out, track);
	}
	json_set(doc, "prompt_order", out);
}

static bool
track_is(const struct json *track, const char *id)
{
	char buf[DOUBLE_TEXT];
	const struct json *v = json_get(track, "character_id");

	return json_type(v) == JSON_STRING ? str_is(json_str(v), id) : str_is(json_number(v, buf), id);
}

/* Decision 38. */
static const char *
choose_track(const struct json *doc)
{
	static const char *const ids[] = { "100001", "100000" };
	const struct json *tracks = json_get(doc, "prompt_order");

	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < json_len(tracks); i++)
			if (track_is(json_at(tracks, i), ids[k]))
				return ids[k];
	return json_len(tracks) > 0 ? "longest" : "default";
}

/* The text-completion form that holds a story and a system text: mode rearrange makes nodes of it. */
static bool
is_story(const struct json *doc)
{
	return json_get_str(json_get(doc, "context"), "story_string").p && json_get_str(json_get(doc, "sysprompt"), "content").p;
}

static int
check_kind(struct arena *a, const struct json *doc, struct import_error *err)
{
	enum import_kind kind = import_kind_of(doc);

	if (json_type(doc) != JSON_OBJECT)
		return import_fail(a, err, "not_a_preset", "", "no preset: expected an object, found %s",
		    json_type_name(json_type(doc)));
	if (json_get(doc, "prompts") && json_type(json_get(doc, "prompts")) != JSON_ARRAY)
		return import_fail(a, err, "not_a_preset", "/prompts",
		    "no preset: \"prompts\" is %s, expected a list",
		    json_type_name(json_type(json_get(doc, "prompts"))));
	if (kind == IMPORT_PRESET || is_story(doc))
		return 0;
	for (size_t i = 0; i < FIELDS; i++)
		if (strcmp(fields[i].key, "name") != 0 && strcmp(fields[i].key, "extensions") != 0 &&
		    json_has(doc, fields[i].key) && kind != IMPORT_REGEX && kind != IMPORT_WORLDBOOK)
			return 0;
	if (json_has(doc, "story_string") || json_has(doc, "input_sequence") || json_has(doc, "rep_pen"))
		return import_fail(a, err, "not_a_preset", "",
		    "a template or preset for text completion: only chat-completion presets can be used");
	return import_fail(a, err, "not_a_preset", "", "no preset but %s", import_kind_name(kind));
}

/* As preset_file_read_json, of a document that is ours to change. */
static int
take(struct arena *a, struct json *doc, struct str text, struct str fallback_name, struct preset_file *out,
    struct import_error *err)
{
	struct shaper s = { .a = a, .receipt = &out->receipt, .path = "" };

	out->receipt.a = a;
	out->raw = text;
	if (check_kind(a, doc, err) < 0)
		return -1;
	if (drop_secrets(a, doc, &out->receipt))
		out->raw = json_text_pretty(a, doc);
	take_old_names(doc, &out->receipt);
	shape_fix(&s, doc, fields, FIELDS);
	fix_prompts(a, doc, &out->receipt);
	fix_order(a, doc, &out->receipt);
	shape_unknown(&s, doc, fields, FIELDS, NULL);
	if (json_len(json_get(doc, "prompts")) == 0 && is_story(doc))
		receipt_add(&out->receipt, RECEIPT_WARNING, "text_completion", "/context/story_string",
		    "an old text-completion preset: only mode rearrange uses its story");
	out->doc = doc;
	out->prompts = json_len(json_get(doc, "prompts"));
	out->track = choose_track(doc);
	if (strcmp(out->track, "100001") != 0)
		receipt_add(&out->receipt, RECEIPT_NORMALISED, "track_chosen", "/prompt_order",
		    "no track 100001: the order that runs is %s", out->track);
	out->scripts = regex_normalise(a, json_get(json_get(doc, "extensions"), "regex_scripts"),
	    "/extensions/regex_scripts", &out->receipt);
	out->name = json_get_str(doc, "name");
	if (str_trim(out->name).n == 0)
		out->name = fallback_name;
	return 0;
}

int
preset_file_read_json(struct arena *a, const struct json *doc, struct str text, struct str fallback_name,
    struct preset_file *out, struct import_error *err)
{
	return take(a, json_copy(a, doc), text, fallback_name, out, err);
}

int
preset_file_read(
    struct arena *a, const struct import_file *file, struct preset_file *out, struct import_error *err)
{
	struct json *doc;
	struct str text;

	*out = (struct preset_file){ .receipt = { .a = a } };
	text = shape_text(a, file->bytes, &out->receipt);
	doc = shape_read(a, text, "", err);
	return doc ? take(a, doc, text, file->fallback_name, out, err) : -1;
}

struct json *
preset_export(struct arena *a, const struct json *doc)
{
	return json_copy(a, doc);
}
