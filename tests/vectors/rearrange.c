/* rearrange: native blocks laid out by a preset's nodes, and the import of presets into nodes. */
#include "vectors.h"

#include "base/json_loose.h"
#include "prompt/arrange.h"
#include "tomori_scene.h"

#include <stdlib.h>

static struct arrange_node
node_of(struct arena *a, const struct json *j)
{
	return (struct arrange_node){ .identifier = json_get_str(j, "identifier"), .name = json_get_str(j, "name"),
		.role = json_get_str(j, "role"), .content = json_get_str(j, "content"), .is_marker = json_get_bool(j, "is_marker", false),
		.is_enabled = json_get_bool(j, "is_enabled", true), .is_comment = json_get_bool(j, "is_comment", false),
		.node_order = json_get_int(j, "node_order", 0), .position = (int32_t)json_get_int(j, "injection_position", 0),
		.depth = (int32_t)loose_int(json_get(j, "injection_depth"), 4), .order = (int32_t)json_get_int(j, "injection_order", 100) };
	(void)a;
}

static int
by_order(const void *x, const void *y)
{
	const struct arrange_node *a = x, *b = y;

	return a->node_order < b->node_order ? -1 : a->node_order > b->node_order;
}

static struct arrange_item
block_of(struct arena *a, const struct json *j)
{
	struct arrange_item it = { .role = arena_strdup(a, json_get_str(j, "role")), .tag = arrange_tag_find(json_get_str(j, "tag")) };
	const struct json *parts = json_get(j, "parts");

	for (size_t i = 0; i < json_len(parts); i++) {
		const struct json *p = json_at(parts, i);

		vec_push(a, &it.parts, json_type(p) == JSON_STRING ? json_str(p) : json_get_str(p, "text"));
	}
	if (json_get_str(j, "text").p)
		vec_push(a, &it.parts, json_get_str(j, "text"));
	return it;
}

static struct json *
items_json(struct arena *a, const struct arranged *r)
{
	struct json *list = json_array(a);

	for (size_t i = 0; i < r->items.v.n; i++) {
		const struct arrange_item *it = &r->items.v.v[i];
		struct json *o = json_push_object(list), *parts;

		json_set_c(o, "role", it->role);
		json_set_c(o, "tag", arrange_tag_name(it->tag));
		parts = json_set_array(o, "parts");
		for (size_t k = 0; k < it->parts.n; k++)
			json_push_str(parts, it->parts.v[k]);
	}
	return list;
}

static bool
has(const struct json *list, struct str code)
{
	for (size_t i = 0; i < json_len(list); i++)
		if (str_eq(json_str(json_at(list, i)), code))
			return true;
	return false;
}

static int
check_warnings(struct arena *a, struct sb *why, const struct json *expect, const struct arranged *r, const struct macro_result *m)
{
	struct json *got = json_array(a);
	bool same = true;

	for (size_t i = 0; i < r->warnings.n; i++)
		json_push_str(got, str_c(r->warnings.v[i]));
	for (size_t i = 0; i < m->warnings.n; i++)
		json_push_str(got, str_c(macro_code_name(m->warnings.v[i].code)));
	for (size_t i = 0; i < json_len(got); i++)
		same &= has(expect, json_str(json_at(got, i)));
	for (size_t i = 0; i < json_len(expect); i++)
		same &= has(got, json_str(json_at(expect, i)));
	return same ? VECTOR_PASS : vector_check_json(why, "warnings", expect, got);
}

static int
run_import(struct ctx *c, const struct json *case_, struct sb *why)
{
	const struct json *expect = json_get(case_, "expect"), *want = json_get(expect, "nodes");
	struct arrange_import r;
	struct json *labels = json_array(c->a);
	int rc;

	arrange_read(c->a, json_get(json_get(case_, "input"), "preset"), &r);
	rc = vector_check_str(why, "status", json_get_str(expect, "status"), str_c(arrange_status_name(r.status)));
	if (r.status == ARRANGE_INVALID_INTEGER) {
		rc |= vector_check_str(why, "prompt_name", json_get_str(expect, "prompt_name"), r.bad_prompt);
		rc |= vector_check_str(why, "field", json_get_str(expect, "field"), str_c(r.bad_field));
	}
	if (r.status != ARRANGE_OK || rc)
		return rc;
	for (size_t i = 0; i < r.unsupported.n; i++)
		json_push_str(labels, r.unsupported.v[i]);
	rc |= vector_check_str(why, "kind", json_get_str(expect, "source_kind"), str_c(r.kind));
	rc |= vector_check_json(why, "unsupported", json_get(expect, "unsupported_macros"), labels);
	if (r.nodes.n != json_len(want) || r.comment_only != (size_t)json_get_int(expect, "comment_only", 0) ||
	    r.disabled != (size_t)json_get_int(expect, "disabled_by_preset", 0)) {
		sb_addf(why, "nodes %zu, comments %zu, disabled %zu ", r.nodes.n, r.comment_only, r.disabled);
		return VECTOR_FAIL;
	}
	for (size_t i = 0; i < r.nodes.n; i++) {
		const struct arrange_node *n = &r.nodes.v[i], e = node_of(c->a, json_at(want, i));
		const char *what = arena_printf(c->a, "node %zu", i);

		if (!str_is(e.identifier, "@synthetic"))
			rc |= vector_check_str(why, what, e.identifier, n->identifier);
		if (e.name.p)
			rc |= vector_check_str(why, what, e.name, n->name);
		rc |= vector_check_str(why, what, e.role, n->role) | vector_check_str(why, what, e.content, n->content);
		if (e.is_marker != n->is_marker || e.is_enabled != n->is_enabled || e.is_comment != n->is_comment || e.node_order != n->node_order ||
		    e.position != n->position || e.depth != n->depth || e.order != n->order) {
			sb_addf(why, "%s: flags or numbers differ ", what);
			rc = VECTOR_FAIL;
		}
	}
	return rc ? VECTOR_FAIL : VECTOR_PASS;
}

static int
run_case(struct ctx *c, const struct json *file, const struct json *case_, struct sb *why)
{
	const struct json *in = json_get(case_, "input"), *nodes = json_get(in, "nodes"), *blocks = json_get(in, "blocks");
	struct arrange_node *n = arena_array(c->a, struct arrange_node, json_len(nodes) + 1);
	struct arrange_item *native = arena_array(c->a, struct arrange_item, json_len(blocks) + 1);
	struct tomori_scene scene;
	struct macro_run *run;
	struct arranged *r;
	int rc;

	(void)file;
	if (json_get(in, "preset"))
		return run_import(c, case_, why);
	for (size_t i = 0; i < json_len(nodes); i++)
		n[i] = node_of(c->a, json_at(nodes, i));
	if (json_len(nodes) > 1)
		qsort(n, json_len(nodes), sizeof(*n), by_order);
	for (size_t i = 0; i < json_len(blocks); i++)
		native[i] = block_of(c->a, json_at(blocks, i));
	tomori_scene(c, &scene, in);
	run = macro_run_new(c->a, &scene.env);
	r = arrange(c->a, run, &(struct arrange_input){ .nodes = n, .nnodes = json_len(nodes), .native = native, .nnative = json_len(blocks),
				   .separator = STR("@terminal-sample-separator") });
	arrange_merge(c->a, r);
	rc = vector_check_json(why, "items", json_get(json_get(case_, "expect"), "items"), items_json(c->a, r));
	rc |= check_warnings(c->a, why, json_get(json_get(case_, "expect"), "warnings"), r, macro_run_result(run));
	return rc ? VECTOR_FAIL : VECTOR_PASS;
}

static const char *const more[] = { "import_cases", NULL };
const struct vector_kind vectors_rearrange = { .name = "rearrange", .run_case = run_case, .more_arrays = more };
