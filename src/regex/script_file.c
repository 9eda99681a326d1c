/* script_file: see script_file.h. */
#include "regex/script_file.h"

#include "base/json_loose.h"

enum { OLD_DISPLAY = 0, OLD_SEND_AS = 4 };

static int32_t
depth(const struct json *v)
{
	struct str s = json_str(v);

	if (v == NULL || (s.p != NULL && str_trim(s).n == 0))
		return REGEX_DEPTH_NONE;
	return (int32_t)loose_int(v, REGEX_DEPTH_NONE);
}

/* The display placement became two flags; "send as" became slash commands. */
static void
places(const struct json *v, struct regex_script *s)
{
	bool list = json_type(v) == JSON_ARRAY, display = false, send_as = false;
	size_t n = list ? json_len(v) : v != NULL;

	for (size_t i = 0; i < n; i++) {
		int64_t place = loose_int(list ? json_at(v, i) : v, -1);

		display = display || place == OLD_DISPLAY;
		send_as = send_as || place == OLD_SEND_AS;
		if (place > 0 && place < 31 && (REGEX_PLACE_ALL & REGEX_PLACE_BIT(place)))
			s->places |= REGEX_PLACE_BIT(place);
	}
	if (display) {
		s->markdown_only = s->prompt_only = true;
		if (s->places == 0)
			s->places = REGEX_PLACE_ALL;
	}
	if (send_as && s->places == 0)
		s->places = REGEX_PLACE_BIT(REGEX_PLACE_COMMAND);
}

static void
script_read(struct arena *a, const struct json *j, struct regex_script *s)
{
	int64_t substitute = loose_int(json_get(j, "substituteRegex"), 0);

	s->id = loose_str(a, json_get(j, "id"), STR(""));
	s->name = loose_str(a, json_get(j, "scriptName"), STR(""));
	s->find = loose_str(a, json_get(j, "findRegex"), STR(""));
	s->replace = loose_str(a, json_get(j, "replaceString"), STR(""));
	s->ntrim = loose_strs(a, json_get(j, "trimStrings"), &s->trim);
	s->disabled = loose_bool(json_get(j, "disabled"), false);
	s->markdown_only = loose_bool(json_get(j, "markdownOnly"), false);
	s->prompt_only = loose_bool(json_get(j, "promptOnly"), false);
	s->run_on_edit = loose_bool(json_get(j, "runOnEdit"), false);
	s->substitute = substitute == 1   ? REGEX_SUBST_RAW
			: substitute == 2 ? REGEX_SUBST_ESCAPED
					  : REGEX_SUBST_NONE;
	s->min_depth = depth(json_get(j, "minDepth"));
	s->max_depth = depth(json_get(j, "maxDepth"));
	places(json_get(j, "placement"), s);
}

size_t
regex_scripts_read(
    struct arena *a, const struct json *scripts, enum regex_source source, const struct regex_script **out)
{
	bool list = json_type(scripts) == JSON_ARRAY;
	size_t n = list ? json_len(scripts) : json_type(scripts) == JSON_OBJECT, count = 0;
	struct regex_script *v = arena_array(a, struct regex_script, n + 1);

	for (size_t i = 0; i < n; i++) {
		const struct json *row = list ? json_at(scripts, i) : scripts;

		if (json_type(row) != JSON_OBJECT)
			continue;
		v[count].source = source;
		script_read(a, row, &v[count++]);
	}
	*out = v;
	return count;
}
