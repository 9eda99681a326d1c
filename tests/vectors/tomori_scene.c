#include "tomori_scene.h"

static double
chance(void *ctx)
{
	struct tomori_scene *s = ctx;

	return json_double(json_at(s->random, s->next++), 0);
}

static bool
tool(void *ctx, struct str name)
{
	const struct json *list = json_get(((struct tomori_scene *)ctx)->tools, "available");

	for (size_t i = 0; i < json_len(list); i++)
		if (str_ieq(json_str(json_at(list, i)), name))
			return true;
	return false;
}

static int
capability(void *ctx, struct str name)
{
	const struct json *v = json_get_s(json_get(((struct tomori_scene *)ctx)->tools, "capabilities"), name);

	return v ? json_bool(v, false) : -1;
}

static bool
tool_alias(void *ctx, struct str name, struct str *out)
{
	struct tomori_scene *s = ctx;
	const char *key = arena_printf(s->c->a, "{%.*s}", STR_ARG(name));

	*out = json_get_str(json_get(s->tools, "aliases"), key);
	return out->p != NULL;
}

/* Lines of a list of texts. */
static struct str
lines(struct ctx *c, const struct json *list)
{
	struct sb sb = sb_new(c->a);

	for (size_t i = 0; i < json_len(list); i++) {
		if (i)
			sb_addc(&sb, '\n');
		sb_add(&sb, json_str(json_at(list, i)));
	}
	return sb_str(&sb);
}

/* <START>, the user's line, "Char: " and the reply; empty sides are left out. */
static struct str
examples(struct ctx *c, const struct json *m)
{
	const struct json *in = json_get(m, "sample_in"), *out = json_get(m, "sample_out");
	struct sb sb = sb_new(c->a);

	for (size_t i = 0; i < json_len(in) || i < json_len(out); i++) {
		struct str a = json_str(json_at(in, i)), b = json_str(json_at(out, i));

		sb_adds(&sb, sb.n ? "\n<START>" : "<START>");
		if (a.n)
			sb_addf(&sb, "\n%.*s", STR_ARG(a));
		if (b.n)
			sb_addf(&sb, "\n%.*s: %.*s", STR_ARG(json_get_str(m, "char")), STR_ARG(b));
	}
	return sb_str(&sb);
}

void
tomori_scene(struct ctx *c, struct tomori_scene *s, const struct json *input)
{
	const struct json *m = json_get(input, "macros"), *clock = json_get(input, "clock");
	double hours = json_get_double(clock, "utc_offset_hours", 0);

	*s = (struct tomori_scene){ .c = c, .tools = json_get(input, "tools"), .random = json_get(input, "random") };
	s->env = (struct macro_env){ .phase = MACRO_ASSEMBLE, .limits = macro_limits_default, .idle_ms = -1, .members = &s->member, .n_members = 1 };
	s->env.time_awareness = json_get_bool(clock, "time_awareness", true);
	s->env.now = json_get_int(clock, "epoch_ms", 0) + (int64_t)(hours * 3600000);
	s->env.field[MF_USER].text = json_get_str(m, "user");
	s->env.field[MF_MODEL].text = json_get_str(m, "model");
	s->env.field[MF_LAST_USER_MESSAGE].text = json_get_str(m, "last_user_message");
	s->member.field[MF_CHAR].text = json_get_str(m, "char");
	s->member.field[MF_DESCRIPTION].text = json_get_str(m, "description");
	s->member.field[MF_PERSONALITY].text = lines(c, json_get(m, "personality"));
	s->member.field[MF_EXAMPLES].text = examples(c, m);
	s->env.chance = chance;
	s->env.chance_ctx = s;
	s->env.tool = tool;
	s->env.capability = capability;
	s->env.tool_alias = tool_alias;
	s->env.tool_ctx = s;
}
