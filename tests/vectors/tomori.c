/*
 * tomori: the passes of TomoriBot's dialect over the custom nodes of a preset, and the import audit.
 */
#include "tomori_scene.h"
#include "vectors.h"

#include "macro/tomori.h"

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
	const struct json *input = json_get(k, "input"), *nodes = json_get(input, "nodes"),
			  *expect = json_get(k, "expect");
	struct macro_tomori_node *n = arena_array(c->a, struct macro_tomori_node, json_len(nodes) + 1);
	struct json *texts = json_array(c->a);
	bool description = false, personality = false;
	struct macro_tomori *t;
	struct macro_run *run;
	struct tomori_scene s;
	int v;

	(void)file;
	if (json_has(k, "audit"))
		return run_audit(c, k, why);
	tomori_scene(c, &s, input);
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
