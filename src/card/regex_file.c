/*
 * regex_file: see regex_file.h; st-assembly.md 3. Types and old placements only: whether a
 * pattern compiles is the regex engine's business, at run time, with a trace.
 */
#include "regex_file.h"

#include "base/limits.h"
#include "import.h"
#include "shape.h"

static const struct shape_field fields[] = {
	/* clang-format off */
	{ "id",              SHAPE_TEXT,  SHAPE_ABSENT, 0 },
	{ "scriptName",      SHAPE_TEXT,  SHAPE_EMPTY,  0 },
	{ "findRegex",       SHAPE_TEXT,  SHAPE_EMPTY,  0 },
	{ "replaceString",   SHAPE_TEXT,  SHAPE_EMPTY,  0 },
	{ "trimStrings",     SHAPE_TEXTS, SHAPE_EMPTY,  0 },
	{ "placement",       SHAPE_LIST,  SHAPE_EMPTY,  0 },
	{ "disabled",        SHAPE_BOOL,  SHAPE_VALUE,  0 },
	{ "markdownOnly",    SHAPE_BOOL,  SHAPE_VALUE,  0 },
	{ "promptOnly",      SHAPE_BOOL,  SHAPE_VALUE,  0 },
	{ "runOnEdit",       SHAPE_BOOL,  SHAPE_VALUE,  0 },
	{ "substituteRegex", SHAPE_INT,   SHAPE_VALUE,  0 },
	{ "minDepth",        SHAPE_INT,   SHAPE_NULL,   0 },
	{ "maxDepth",        SHAPE_INT,   SHAPE_NULL,   0 },
	/* clang-format on */
};
#define FIELDS (sizeof(fields) / sizeof(fields[0]))

enum place {
	PLACE_DISPLAY_OLD,
	PLACE_USER,
	PLACE_AI,
	PLACE_COMMAND,
	PLACE_SEND_AS_OLD,
	PLACE_LORE,
	PLACE_REASONING,
	PLACES
};

/* Set of the placements of a script; values that are none are ignored. */
static unsigned
places_of(const struct json *list)
{
	unsigned set = 0;

	for (size_t i = 0; i < json_len(list); i++) {
		int64_t p = json_int(json_at(list, i), -1);

		if (p < 0 && json_type(json_at(list, i)) == JSON_STRING)
			str_int(str_trim(json_str(json_at(list, i))), &p);
		if (p >= 0 && p < PLACES)
			set |= 1u << p;
	}
	return set;
}

static void
set_places(struct json *script, unsigned set)
{
	struct json *list = json_set_array(script, "placement");

	for (int p = 0; p < PLACES; p++)
		if (set & (1u << p))
			json_push_int(list, p);
}

/*
 * Placements that no longer exist: 0 (display only) became two flags, and every place if it was
 * alone; 4 (send as) became 3 if it was alone.
 */
static void
migrate_places(const struct shaper *s, struct json *script)
{
	const unsigned display = 1u << PLACE_DISPLAY_OLD, send_as = 1u << PLACE_SEND_AS_OLD;
	const unsigned all = (1u << PLACES) - 1 - display - send_as;
	const struct json *list = json_get(script, "placement");
	unsigned set = places_of(list), old = set;
	bool texts = false;

	for (size_t i = 0; i < json_len(list); i++)
		texts |= json_type(json_at(list, i)) != JSON_INT;
	if (set & display) {
		set = set == display ? all : set & ~display;
		json_set_bool(script, "markdownOnly", true);
		json_set_bool(script, "promptOnly", true);
	}
	if (set & send_as)
		set = set == send_as ? 1u << PLACE_COMMAND : set & ~send_as;
	if (set == old && !texts)
		return;
	set_places(script, set);
	receipt_add(s->receipt, RECEIPT_NORMALISED, set == old ? "text_number" : "old_placement",
	    shape_path(s->a, s->path, STR("placement")), "placements written the way they are now");
}

static void
fix_script(const struct shaper *s, struct json *script, size_t i)
{
	const struct json *sub = json_get(script, "substituteRegex");

	if (json_type(sub) == JSON_STRING && !str_is(str_trim(json_str(sub)), "")) {
		bool yes = str_ieq(json_str(sub), STR("true")), no = str_ieq(json_str(sub), STR("false"));

		if (yes || no)
			json_set_int(script, "substituteRegex", yes);
	}
	shape_fix(s, script, fields, FIELDS);
	migrate_places(s, script);
	if (str_trim(json_get_str(script, "scriptName")).n == 0) {
		json_set_str(script, "scriptName", str_c(arena_printf(s->a, "Script %zu", i + 1)));
		receipt_add(s->receipt, RECEIPT_NORMALISED, "name_placeholder",
		    shape_path(s->a, s->path, STR("scriptName")), "the script has no name, one was given");
	}
	if (json_get_str(script, "findRegex").n == 0)
		receipt_add(s->receipt, RECEIPT_WARNING, "find_empty",
		    shape_path(s->a, s->path, STR("findRegex")),
		    "the script has no find pattern and never runs");
	shape_unknown(s, script, fields, FIELDS, NULL);
}

struct json *
regex_normalise(struct arena *a, const struct json *scripts, const char *path, struct receipt *r)
{
	struct json *out;

	if (json_type(scripts) != JSON_ARRAY && json_type(scripts) != JSON_OBJECT)
		return NULL;
	out = json_array(a);
	if (json_type(scripts) == JSON_OBJECT) {
		struct shaper s = { .a = a, .receipt = r, .path = path };
		struct json *script = json_copy(a, scripts);

		fix_script(&s, script, 0);
		json_push(out, script);
		return out;
	}
	for (size_t i = 0; i < json_len(scripts); i++) {
		struct shaper s = { .a = a, .receipt = r, .path = shape_path_at(a, path, i) };
		struct json *script;

		if (json_type(json_at(scripts, i)) != JSON_OBJECT) {
			receipt_add(r, RECEIPT_REFUSED, "row_skipped", s.path, "no script but %s, left out",
			    json_type_name(json_type(json_at(scripts, i))));
			continue;
		}
		script = json_copy(a, json_at(scripts, i));
		fix_script(&s, script, i);
		json_push(out, script);
	}
	return out;
}

struct regex_counts
regex_count(const struct json *scripts)
{
	const unsigned in_chat = 1u << PLACE_USER | 1u << PLACE_AI;
	const unsigned runs = in_chat | 1u << PLACE_LORE | 1u << PLACE_REASONING;
	struct regex_counts c = { .stored = (int)json_len(scripts) };

	for (size_t i = 0; i < json_len(scripts); i++) {
		const struct json *s = json_at(scripts, i);
		unsigned set = places_of(json_get(s, "placement"));
		bool display = json_get_bool(s, "markdownOnly", false),
		     prompt = json_get_bool(s, "promptOnly", false);

		c.prompt_only += prompt;
		c.run_on_edit += json_get_bool(s, "runOnEdit", false);
		c.reasoning += (set & (1u << PLACE_REASONING)) != 0;
		c.slash_command += (set & (1u << PLACE_COMMAND)) != 0;
		c.display_only += display && !prompt;
		/* What is persisted is also what is sent. */
		c.prompt_executable += (!display || prompt) && (set & (in_chat | 1u << PLACE_LORE)) != 0;
		c.persist_executable += !display && !prompt && (set & in_chat) != 0;
		c.unsupported_runtime += (set & runs) == 0;
		c.retained_non_executable += (set & runs) == 0 || json_get_str(s, "findRegex").n == 0;
	}
	return c;
}

struct json *
regex_counts_json(struct arena *a, const struct regex_counts *c)
{
	const struct {
		const char *key;
		int value;
	} rows[] = {
		{ "stored_count", c->stored },
		{ "prompt_executable_count", c->prompt_executable },
		{ "persist_executable_count", c->persist_executable },
		{ "display_only_count", c->display_only },
		{ "retained_non_executable_count", c->retained_non_executable },
		{ "reserved_world_info_count", c->reserved_world_info },
		{ "unsupported_runtime_count", c->unsupported_runtime },
		{ "contains_prompt_only", c->prompt_only },
		{ "contains_run_on_edit", c->run_on_edit },
		{ "contains_reasoning", c->reasoning },
		{ "contains_slash_command", c->slash_command },
	};
	struct json *o = json_object(a);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		json_set_int(o, rows[i].key, rows[i].value);
	return o;
}

int
regex_file_read_json(struct arena *a, const struct json *doc, struct str text, struct str fallback_name,
    struct regex_file *out, struct import_error *err)
{
	const struct json *scripts = doc;
	const char *path = "";

	out->raw = text;
	out->receipt.a = a;
	if (json_type(doc) == JSON_OBJECT && !json_has(doc, "findRegex") && !json_has(doc, "scriptName")) {
		const struct json *ext = json_get(doc, "extensions");

		path = json_has(doc, "regex_scripts") ? "/regex_scripts" : "/extensions/regex_scripts";
		scripts = json_has(doc, "regex_scripts") ? json_get(doc, "regex_scripts")
							 : json_get(ext, "regex_scripts");
		if (json_type(scripts) != JSON_ARRAY)
			return import_fail(a, err, "not_regex_scripts", "",
			    "no regex scripts: expected a script with \"findRegex\" or a list of scripts, "
			    "found %s",
			    import_kind_name(import_kind_of(doc)));
	}
	out->single = scripts == doc && json_type(doc) == JSON_OBJECT;
	out->scripts = regex_normalise(a, scripts, path, &out->receipt);
	if (out->scripts == NULL || (json_len(scripts) > 0 && json_len(out->scripts) == 0))
		return import_fail(a, err, "not_regex_scripts", "", "no regex scripts: the file holds %s",
		    json_type_name(json_type(doc)));
	out->name = out->single ? json_get_str(json_at(out->scripts, 0), "scriptName") : fallback_name;
	out->counts = regex_count(out->scripts);
	return 0;
}

int
regex_file_read(
    struct arena *a, const struct import_file *file, struct regex_file *out, struct import_error *err)
{
	struct json *doc;
	struct str text;

	*out = (struct regex_file){ .receipt = { .a = a } };
	text = shape_text(a, file->bytes, &out->receipt);
	doc = shape_read(a, text, "", err);
	return doc ? regex_file_read_json(a, doc, text, file->fallback_name, out, err) : -1;
}

struct json *
regex_export(struct arena *a, const struct json *scripts, bool single)
{
	return json_copy(a, single && json_len(scripts) == 1 ? json_at(scripts, 0) : scripts);
}
