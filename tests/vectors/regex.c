/* regex: a case has `scripts`, `text`, `placement`, `channel`, `depth`?, `user`?, `char`? and the text that
 * comes out. */
#include "names.h"
#include "vectors.h"

#include "regex/script_file.h"

static bool
channel_find(struct str name, enum regex_channel *out)
{
	static const char *const names[] = { "persist", "prompt", "display", "edit" };

	for (int i = 0; i < 4; i++)
		if (str_is(name, names[i])) {
			*out = (enum regex_channel)i;
			return true;
		}
	return false;
}

static int
run_case(struct ctx *c, const struct json *file, const struct json *case_, struct sb *why)
{
	const struct json *in = json_get(case_, "input");
	struct names names;
	struct regex_call call = { .place = (enum regex_place)json_get_int(in, "placement", 0),
		.expand = names_expand,
		.arg = &names };
	const struct regex_script *scripts;
	size_t n = regex_scripts_read(c->a, json_get(in, "scripts"), REGEX_SOURCE_GLOBAL, &scripts);

	(void)file;
	names_begin(&names, c->a, in, MACRO_TEXT);
	call.has_depth = json_get(in, "depth") != NULL;
	call.depth = (int32_t)json_get_int(in, "depth", 0);
	if (!channel_find(json_get_str(in, "channel"), &call.channel)) {
		sb_adds(why, "unknown channel");
		return VECTOR_FAIL;
	}
	return vector_check_str(why, "text", vector_nul(c->a, json_get_str(case_, "expected")),
	    regex_apply(c->a, regex_set_compile(c->a, scripts, n), vector_nul(c->a, json_get_str(in, "text")),
		&call, NULL));
}

const struct vector_kind vectors_regex = { .name = "regex", .run_case = run_case, .keeps_nul = true };
