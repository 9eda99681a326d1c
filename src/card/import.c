/*
 * import: see import.h.
 */
#include "import.h"

#include "base/limits.h"
#include "charx.h"
#include "chat_file.h"
#include "png.h"
#include "shape.h"

const char *
import_kind_name(enum import_kind k)
{
	static const char *const names[] = {
		[IMPORT_UNKNOWN] = "something unknown",
		[IMPORT_CHARACTER] = "a character card",
		[IMPORT_PRESET] = "a preset",
		[IMPORT_WORLDBOOK] = "a world book",
		[IMPORT_REGEX] = "regex scripts",
		[IMPORT_CHAT] = "a chat",
		[IMPORT_THCHAT] = "a .thchat file",
	};

	return names[k];
}

static char
first_sign(struct str bytes)
{
	size_t i = str_starts(bytes, STR("\xef\xbb\xbf")) ? 3 : 0;

	while (i < bytes.n && (bytes.p[i] == ' ' || (bytes.p[i] >= '\t' && bytes.p[i] <= '\r')))
		i++;
	return i < bytes.n ? bytes.p[i] : '\0';
}

/* Several values, one a line: the first line alone is a whole JSON object, and something follows. */
static bool
is_lines(struct str bytes)
{
	size_t end = str_chr(bytes, '\n', 0);
	struct arena *a;
	struct json_error bad;
	bool whole;

	if (end == STR_NPOS || str_trim(str_sub(bytes, end, bytes.n)).n == 0)
		return false;
	a = arena_create("jsonl", 0);
	whole =
	    json_type(json_read(a, str_trim(str_sub(bytes, 0, end)), LIM_JSON_DEPTH, &bad)) == JSON_OBJECT;
	arena_destroy(&a);
	return whole;
}

enum import_container
import_container(struct str bytes)
{
	if (png_is(bytes))
		return IMPORT_PNG;
	switch (first_sign(bytes)) {
	case '{':
		return is_lines(bytes) ? IMPORT_JSONL : IMPORT_JSON;
	case '[':
		return IMPORT_JSON;
	default:
		return charx_is(bytes) ? IMPORT_ZIP : IMPORT_OTHER;
	}
}

/* What a document is, by members that only that kind has. The first row that fits decides. */
static const struct sign {
	const char *key;
	enum json_type type;
	enum import_kind kind;
} signs[] = {
	/* clang-format off */
	{ "findRegex",              JSON_STRING, IMPORT_REGEX },
	{ "regex_scripts",          JSON_ARRAY,  IMPORT_REGEX },
	{ "prompts",                JSON_ARRAY,  IMPORT_PRESET },
	{ "prompt_order",           JSON_ARRAY,  IMPORT_PRESET },
	{ "char_name",              JSON_STRING, IMPORT_CHARACTER },
	{ "first_mes",              JSON_STRING, IMPORT_CHARACTER },
	{ "mes_example",            JSON_STRING, IMPORT_CHARACTER },
	{ "char_persona",           JSON_STRING, IMPORT_CHARACTER },
	{ "lorebookVersion",        JSON_INT,    IMPORT_WORLDBOOK },
	{ "entries",                JSON_OBJECT, IMPORT_WORLDBOOK },
	{ "entries",                JSON_ARRAY,  IMPORT_WORLDBOOK },
	{ "chat_metadata",          JSON_OBJECT, IMPORT_CHAT },
	{ "mes",                    JSON_STRING, IMPORT_CHAT },
	{ "openai_max_context",     JSON_INT,    IMPORT_PRESET },
	{ "openai_max_context",     JSON_STRING, IMPORT_PRESET },
	{ "openai_max_tokens",      JSON_INT,    IMPORT_PRESET },
	{ "chat_completion_source", JSON_STRING, IMPORT_PRESET },
	{ "main_prompt",            JSON_STRING, IMPORT_PRESET },
	{ "jailbreak_prompt",       JSON_STRING, IMPORT_PRESET },
	{ "impersonation_prompt",   JSON_STRING, IMPORT_PRESET },
	{ "personality",            JSON_STRING, IMPORT_CHARACTER },
	/* clang-format on */
};

/*
 * The oldest cards are a name with something that only cards have. A name and a description are a card if
 * nothing else is there than cards have: themes, templates, manifests of packages and extensions have those
 * two as well.
 */
static bool
is_named_card(const struct json *doc)
{
	static const char *const own[] = { "scenario", "creatorcomment", "creator_notes",
		"alternate_greetings", "character_book", "avatar", "chat", "talkativeness", "personality",
		"first_mes", "mes_example", "char_greeting", "world_scenario", "example_dialogue",
		"system_prompt", "post_history_instructions" };
	static const char *const common[] = { "name", "description", "tags", "creator", "character_version",
		"extensions", "create_date", "fav", "metadata", "nickname" };
	enum json_type name = json_type(json_get(doc, "name"));
	struct json_iter it = { 0 };
	struct json *v;
	struct str key;

	if (name != JSON_STRING && name != JSON_INT)
		return false;
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (json_has(doc, own[i]))
			return true;
	while (json_next(doc, &it, &key, &v)) {
		bool known = false;

		for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
			known |= str_is(key, common[i]);
		if (!known)
			return false;
	}
	return true;
}

enum import_kind
import_marinara(const struct json *doc)
{
	struct str type = json_get_str(doc, "type");

	if (json_type(json_get(doc, "data")) != JSON_OBJECT || !json_has(doc, "version"))
		return IMPORT_UNKNOWN;
	return str_is(type, "marinara_character")  ? IMPORT_CHARACTER
	       : str_is(type, "marinara_lorebook") ? IMPORT_WORLDBOOK
						   : IMPORT_UNKNOWN;
}

enum import_kind
import_kind_of(const struct json *doc)
{
	struct str spec = json_get_str(doc, "spec");

	if (json_type(doc) == JSON_ARRAY)
		return json_has(json_at(doc, 0), "findRegex") || json_has(json_at(doc, 0), "scriptName")
			   ? IMPORT_REGEX
			   : IMPORT_UNKNOWN;
	if (str_is(spec, "tavern_headless_chat"))
		return IMPORT_THCHAT;
	if (import_marinara(doc) != IMPORT_UNKNOWN)
		return import_marinara(doc);
	if (str_starts(spec, STR("chara_card")) || json_get_str(json_get(doc, "data"), "name").p)
		return IMPORT_CHARACTER;
	if (str_is(json_get_str(doc, "type"), "risu") && json_type(json_get(doc, "data")) == JSON_ARRAY)
		return IMPORT_WORLDBOOK;
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		if (json_has(doc, signs[i].key) && json_type(json_get(doc, signs[i].key)) == signs[i].type)
			return signs[i].kind;
	return is_named_card(doc) ? IMPORT_CHARACTER : IMPORT_UNKNOWN;
}

enum import_kind
import_detect(struct arena *a, struct str bytes)
{
	struct receipt notes = { .a = a };
	struct json_error bad;
	struct png png;
	bool lore = false;

	switch (import_container(bytes)) {
	case IMPORT_JSONL:
		return IMPORT_CHAT;
	case IMPORT_ZIP:
		return IMPORT_CHARACTER;
	case IMPORT_JSON:
		return bytes.n <= LIM_CARD_JSON
			   ? import_kind_of(json_read(a, shape_text(a, bytes, &notes), LIM_JSON_DEPTH, &bad))
			   : IMPORT_UNKNOWN;
	case IMPORT_PNG:
		if (png_walk(a, bytes, &png, NULL) < 0)
			return IMPORT_CHARACTER;
		for (size_t i = 0; i < png.texts.n; i++) {
			if (!str_ieq(png.texts.v[i].keyword, STR("naidata")))
				return IMPORT_CHARACTER;
			lore = true;
		}
		return lore ? IMPORT_WORLDBOOK : IMPORT_CHARACTER;
	case IMPORT_OTHER:
		break;
	}
	return IMPORT_UNKNOWN;
}
