/* regex: a case has `scripts`, `text`, `placement`, `channel`, `depth`?, `user`?, `char`? and the text that
 * comes out. */
#include "vectors.h"

#include "regex/script_file.h"

struct names {
	struct arena *a;
	struct str user, chr;
	bool escape;
};

/* The two macros that the cases use. */
static struct str
expand(void *arg, struct str text)
{
	struct names *n = arg;
	struct sb out = sb_new(n->a);

	for (size_t i = 0; i < text.n;) {
		bool user = str_starts(str_sub(text, i, text.n), STR("{{user}}"));
		bool chr = str_starts(str_sub(text, i, text.n), STR("{{char}}"));
		struct str value = user ? n->user : n->chr;

		if (user || chr)
			sb_add(&out, n->escape ? regex_escape(n->a, value) : value);
		else
			sb_addc(&out, text.p[i]);
		i += user || chr ? 8 : 1;
	}
	return sb_str(&out);
}

static struct str
expand_escaped(void *arg, struct str text)
{
	struct names n = *(struct names *)arg;

	n.escape = true;
	return expand(&n, text);
}

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

static struct str
or_else(struct str s, struct str dflt)
{
	return s.p != NULL ? s : dflt;
}

static int
run_case(struct ctx *c, const struct json *file, const struct json *case_, struct sb *why)
{
	const struct json *in = json_get(case_, "input");
	struct names names = { .a = c->a,
		.user = or_else(json_get_str(in, "user"), STR("User")),
		.chr = or_else(json_get_str(in, "char"), STR("Char")) };
	struct regex_call call = { .place = (enum regex_place)json_get_int(in, "placement", 0),
		.expand = expand,
		.expand_escaped = expand_escaped,
		.arg = &names };
	const struct regex_script *scripts;
	size_t n = regex_scripts_read(c->a, json_get(in, "scripts"), REGEX_SOURCE_GLOBAL, &scripts);

	(void)file;
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
