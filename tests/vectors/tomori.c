/*
 * tomori: the passes of TomoriBot's dialect over the custom nodes of a preset, and the import audit.
 */
#include "vectors.h"

#include "macro/tomori.h"

struct scene {
	struct macro_env env;
	struct macro_member member;
	const struct json *tools, *random;
	size_t next;
	struct ctx *c;
};

static double
chance(void *ctx)
{
	struct scene *s = ctx;

	return json_double(json_at(s->random, s->next++), 0);
}

static bool
tool(void *ctx, struct str name)
{
	const struct json *list = json_get(((struct scene *)ctx)->tools, "available");

	for (size_t i = 0; i < json_len(list); i++)
		if (str_ieq(json_str(json_at(list, i)), name))
			return true;
	return false;
}

static int
capability(void *ctx, struct str name)
{
	const struct json *v = json_get_s(json_get(((struct scene *)ctx)->tools, "capabilities"), name);

	return v ? json_bool(v, false) : -1;
}

static bool
tool_alias(void *ctx, struct str name, struct str *out)
{
	struct scene *s = ctx;
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

static void
scene_init(struct ctx *c, struct scene *s, const struct json *input)
{
	const struct json *m = json_get(input, "macros"), *clock = json_get(input, "clock");
	double hours = json_get_double(clock, "utc_offset_hours", 0);

	*s = (struct scene){ .c = c, .tools = json_get(input, "tools"), .random = json_get(input, "random") };
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

static bool
has_code(const struct json *list, const char *code)
{
	for (size_t i = 0; i < json_len(list); i++)
		if (str_is(json_str(json_at(list, i)), code))
			return true;
	return false;
}

/* The set of codes, as the file compares them. */
static int
check_warnings(struct ctx *c, struct sb *why, const struct json *expect, const struct macro_result *r)
{
	struct json *got = json_array(c->a);
	bool same = true;

	for (size_t i = 0; i < r->warnings.n; i++) {
		const char *code = macro_code_name(r->warnings.v[i].code);

		same &= has_code(expect, code);
		json_push_str(got, str_c(code));
	}
	for (size_t i = 0; i < json_len(expect); i++)
		same &= has_code(got, arena_strdup(c->a, json_str(json_at(expect, i))));
	return same ? VECTOR_PASS : vector_check_json(why, "warnings", expect, got);
}

static int
run_audit(struct ctx *c, const struct json *k, struct sb *why)
{
	const struct json *nodes = json_get(k, "audit"), *expect = json_get(k, "expect");
	struct json *labels = json_array(c->a), *comments = json_array(c->a);
	int v;

	for (size_t i = 0; i < json_len(nodes); i++) {
		struct macro_tomori_audit a;
		struct json *flag = json_object(c->a);

		macro_tomori_audit(c->a, json_str(json_at(nodes, i)), &a);
		for (size_t n = 0; n < a.unsupported.n; n++)
			json_push_str(labels, a.unsupported.v[n]);
		json_set_bool(flag, "v", a.comment_only);
		json_push(comments, json_get(flag, "v"));
	}
	v = vector_check_json(why, "unsupported_macros", json_get(expect, "unsupported_macros"), labels);
	v |= vector_check_json(why, "comment_only", json_get(expect, "comment_only"), comments);
	return v ? VECTOR_FAIL : VECTOR_PASS;
}

static int
run_case(struct ctx *c, const struct json *file, const struct json *k, struct sb *why)
{
	const struct json *input = json_get(k, "input"), *nodes = json_get(input, "nodes"), *expect = json_get(k, "expect");
	struct macro_tomori_node *n = arena_array(c->a, struct macro_tomori_node, json_len(nodes) + 1);
	struct json *texts = json_array(c->a);
	bool description = false, personality = false;
	struct macro_tomori *t;
	struct macro_run *run;
	struct scene s;
	int v;

	(void)file;
	if (json_has(k, "audit"))
		return run_audit(c, k, why);
	scene_init(c, &s, input);
	run = macro_run_new(c->a, &s.env);
	t = macro_tomori_new(run);
	for (size_t i = 0; i < json_len(nodes); i++)
		macro_tomori_collect(t, json_str(json_at(nodes, i)), &n[i]);
	for (size_t i = 0; i < json_len(nodes); i++) {
		macro_tomori_expand(t, &n[i]);
		description |= n[i].prints_description;
		personality |= n[i].prints_personality;
	}
	for (size_t i = 0; i < json_len(nodes); i++) {
		if (n[i].off)
			continue;
		macro_tomori_emit(t, &n[i]);
		if (n[i].text.n)
			json_push_str(texts, n[i].text);
	}
	v = vector_check_json(why, "texts", json_get(expect, "texts"), texts);
	v |= check_warnings(c, why, json_get(expect, "warnings"), macro_run_result(run));
	if (json_get_bool(expect, "prints_description", description) != description ||
	    json_get_bool(expect, "prints_personality", personality) != personality) {
		sb_addf(why, "suppression: description %d, personality %d", description, personality);
		v = VECTOR_FAIL;
	}
	return v ? VECTOR_FAIL : VECTOR_PASS;
}

static const char *const more[] = { "audits", NULL };
const struct vector_kind vectors_tomori = { .name = "tomori", .run_case = run_case, .more_arrays = more };
