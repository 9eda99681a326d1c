/*
 * arrange_read: nodes out of a preset's file, and the report of its import (spec tomori-presets 8).
 */
#include "prompt/arrange.h"

#include "base/json_loose.h"
#include "base/map.h"
#include "base/vec.h"
#include "macro/tomori.h"

#include <math.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define POST_HISTORY_ORDER 10000

static const char *const status_names[] = { "ok", "not_a_preset", "no_nodes", "invalid_integer" };

const char *
arrange_status_name(enum arrange_status s)
{
	return status_names[s];
}

/* ---- numbers ---- */

/* A number or a quoted whole number, clamped to 32 bits. false = neither. */
static bool
int_read(const struct json *v, int32_t dflt, int32_t *out)
{
	double d;
	int64_t i;

	*out = dflt;
	if (v == NULL)
		return true;
	if (json_type(v) == JSON_STRING) {
		if (!str_int(str_trim(json_str(v)), &i))
			return false;
		d = (double)i;
	} else if (json_type(v) == JSON_INT || json_type(v) == JSON_DOUBLE)
		d = json_double(v, 0);
	else
		return false;
	if (d != floor(d))
		return false;
	*out = d > INT32_MAX ? INT32_MAX : d < INT32_MIN ? INT32_MIN : (int32_t)d;
	return true;
}

static bool
bad_integer(struct arrange_import *out, const struct arrange_node *n, const char *field)
{
	out->status = ARRANGE_INVALID_INTEGER;
	out->bad_prompt = n->name;
	out->bad_field = field;
	return false;
}

static bool
node_read(struct arena *a, const struct json *p, struct arrange_node *n, struct arrange_import *out)
{
	n->identifier = loose_str(a, json_get(p, "identifier"), STR(""));
	n->name = loose_str(a, json_get(p, "name"), n->identifier);
	n->role = loose_str(a, json_get(p, "role"), STR("system"));
	n->content = loose_str(a, json_get(p, "content"), STR(""));
	n->is_marker = loose_bool(json_get(p, "marker"), false);
	if (!int_read(json_get(p, "injection_position"), 0, &n->position) || (n->position != 0 && n->position != 1))
		return bad_integer(out, n, "injection_position");
	if (!int_read(json_get(p, "injection_depth"), 4, &n->depth))
		return bad_integer(out, n, "injection_depth");
	if (!int_read(json_get(p, "injection_order"), 100, &n->order))
		return bad_integer(out, n, "injection_order");
	return true;
}

static struct arrange_node *
node_push(struct arena *a, struct arrange_import *out, struct arrange_node n)
{
	n.node_order = (int64_t)out->nodes.n;
	if (n.role.p == NULL)
		n.role = STR("system");
	vec_push(a, &out->nodes, n);
	return vec_last(&out->nodes);
}

/* ---- presets of today ---- */

static const struct json *
order_find(struct arena *a, const struct json *doc)
{
	static const char *const ids[] = { "100001", "100000" };
	const struct json *tracks = json_get(doc, "prompt_order");

	for (size_t k = 0; k < COUNT(ids); k++)
		for (size_t i = 0; i < json_len(tracks); i++)
			if (str_is(loose_str(a, json_get(json_at(tracks, i), "character_id"), STR("")), ids[k]))
				return json_get(json_at(tracks, i), "order");
	return NULL;
}

static bool
prompt_take(struct arena *a, const struct json *p, bool enabled, struct arrange_import *out)
{
	struct arrange_node n = { .is_enabled = enabled };

	if (json_type(p) != JSON_OBJECT)
		return true;
	if (!node_read(a, p, &n, out))
		return false;
	if (out->nodes.n < ARRANGE_NODES)
		node_push(a, out, n);
	return true;
}

static void
modern_read(struct arena *a, const struct json *doc, struct arrange_import *out)
{
	const struct json *prompts = json_get(doc, "prompts"), *order = order_find(a, doc);
	struct map *last = map_create(a);
	size_t n = json_len(order ? order : prompts);

	out->kind = "modern";
	for (size_t i = 0; i < json_len(prompts); i++)
		map_set(last, loose_str(a, json_get(json_at(prompts, i), "identifier"), STR("")), json_at(prompts, i));
	for (size_t i = 0; i < n; i++) {
		const struct json *row = json_at(order ? order : prompts, i);
		struct str id = loose_str(a, json_get(row, "identifier"), STR(""));
		const struct json *p = map_get(last, id);

		/* the last prompt of a name wins; listed twice it stands once */
		if (p && !prompt_take(a, p, loose_bool(json_get(row, "enabled"), true), out))
			return;
		map_del(last, id);
	}
}

/* Text that belongs below the chat, once each. */
static void
post_history_add(struct arena *a, struct arrange_import *out, struct str text)
{
	if (str_trim(text).n == 0)
		return;
	for (size_t i = 0; i < out->nodes.n; i++)
		if (out->nodes.v[i].position == 1 && str_eq(out->nodes.v[i].content, text))
			return;
	node_push(a, out, (struct arrange_node){ .identifier = str_c(arena_printf(a, "postHistory%zu", out->nodes.n)), .name = STR("post_history"),
			      .content = text, .is_enabled = true, .position = 1, .depth = 0, .order = POST_HISTORY_ORDER });
}

/* ---- old text-completion presets ---- */

// clang-format off
static const struct { const char *name, *marker; } story_markers[] = {
	{ "system", "main" }, { "wiBefore", "worldInfoBefore" }, { "description", "charDescription" },
	{ "personality", "charPersonality" }, { "mesExamples", "dialogueExamples" }, { "wiAfter", "worldInfoAfter" },
};
static const char *const story_ignored[] = { "persona", "scenario", "anchorBefore", "anchorAfter" };
// clang-format on

static void
marker_add(struct arena *a, struct arrange_import *out, const char *identifier)
{
	node_push(a, out, (struct arrange_node){ .identifier = str_c(identifier), .name = str_c(identifier), .content = STR(""),
			      .is_marker = true, .is_enabled = true, .depth = 4, .order = 100 });
}

static void
literal_add(struct arena *a, struct arrange_import *out, struct str text)
{
	if (str_trim(text).n == 0 || str_is(str_trim(text), "{{trim}}"))
		return;
	node_push(a, out, (struct arrange_node){ .identifier = str_c(arena_printf(a, "story%zu", out->nodes.n)), .name = STR("story"),
			      .content = text, .is_enabled = true, .depth = 4, .order = 100 });
}

/* The text of a block around the value it is about becomes literals around the marker. */
static bool
story_block(struct arena *a, struct arrange_import *out, struct str name, struct str body, struct str system)
{
	struct str value = str_c(arena_printf(a, "{{%.*s}}", STR_ARG(name)));
	size_t at = str_find(body, value, 0);

	for (size_t i = 0; i < COUNT(story_ignored); i++)
		if (str_is(name, story_ignored[i]))
			return true;
	for (size_t i = 0; i < COUNT(story_markers); i++) {
		if (!str_is(name, story_markers[i].name))
			continue;
		literal_add(a, out, at == STR_NPOS ? STR("") : str_sub(body, 0, at));
		marker_add(a, out, story_markers[i].marker);
		if (i == 0)
			literal_add(a, out, system);
		literal_add(a, out, at == STR_NPOS ? body : str_sub(body, at + value.n, body.n));
		return true;
	}
	return false;
}

static void
legacy_read(struct arena *a, struct str story, struct str system, struct arrange_import *out)
{
	struct str open = STR("{{#if "), close = STR("{{/if}}");
	size_t from = 0;

	out->kind = "legacy_text_completion";
	for (size_t at = 0; out->nodes.n < ARRANGE_NODES;) {
		size_t head, end;
		struct str name;

		at = str_find(story, open, at);
		head = at == STR_NPOS ? STR_NPOS : str_find(story, STR("}}"), at);
		end = head == STR_NPOS ? STR_NPOS : str_find(story, close, head);
		if (end == STR_NPOS)
			break;
		name = str_trim(str_sub(story, at + open.n, head));
		literal_add(a, out, str_sub(story, from, at));
		if (!story_block(a, out, name, str_sub(story, head + 2, end), system))
			literal_add(a, out, str_sub(story, at, end + close.n));
		at = from = end + close.n;
	}
	literal_add(a, out, str_sub(story, from, story.n));
	marker_add(a, out, "chatHistory");
}

/* ---- the report ---- */

static void
label_add(struct arena *a, struct arrange_import *out, struct str label)
{
	for (size_t i = 0; i < out->unsupported.n; i++)
		if (str_eq(out->unsupported.v[i], label))
			return;
	vec_push(a, &out->unsupported, label);
}

static void
audit(struct arena *a, struct arrange_import *out)
{
	bool history = false;

	for (size_t i = 0; i < out->nodes.n; i++) {
		struct arrange_node *n = &out->nodes.v[i];
		struct macro_tomori_audit r = { 0 };

		history |= n->is_marker && n->is_enabled && str_is(n->identifier, "chatHistory");
		if (!n->is_marker)
			macro_tomori_audit(a, n->content, &r);
		n->is_comment = r.comment_only;
		out->comment_only += n->is_comment;
		out->disabled += !n->is_enabled;
		out->enabled += n->is_enabled && !n->is_comment;
		if (!n->is_enabled || n->is_marker)
			continue;
		out->html |= r.html;
		out->time_before_history |= r.time && !history;
		for (size_t k = 0; k < r.unsupported.n; k++)
			label_add(a, out, r.unsupported.v[k]);
	}
}

/* Nodes that stand in no list of the file have their switches in a member of ours. */
static void
toggles_apply(const struct json *doc, struct arrange_import *out, size_t from)
{
	const struct json *toggles = json_get(doc, "node_toggles");

	for (size_t i = from; json_type(toggles) == JSON_OBJECT && i < out->nodes.n; i++)
		out->nodes.v[i].is_enabled = json_bool(json_get_s(toggles, out->nodes.v[i].identifier), out->nodes.v[i].is_enabled);
}

void
arrange_read(struct arena *a, const struct json *doc, struct arrange_import *out)
{
	size_t listed = 0;
	const struct json *sysprompt = json_get(doc, "sysprompt"), *context = json_get(doc, "context");
	struct str story = json_get_str(context, "story_string"), system = json_get_str(sysprompt, "content");

	*out = (struct arrange_import){ .status = ARRANGE_OK };
	if (json_len(json_get(doc, "prompts")) > 0 && json_type(json_get(doc, "prompts")) == JSON_ARRAY) {
		modern_read(a, doc, out);
		listed = out->nodes.n;
	} else if (story.p && system.p)
		legacy_read(a, story, system, out);
	else
		out->status = ARRANGE_NOT_A_PRESET;
	if (out->status != ARRANGE_OK)
		return;
	post_history_add(a, out, json_get_str(doc, "post_history"));
	post_history_add(a, out, json_get_str(sysprompt, "post_history"));
	post_history_add(a, out, json_get_str(context, "post_history"));
	if (out->nodes.n == 0)
		out->status = ARRANGE_NO_NODES;
	toggles_apply(doc, out, listed);
	audit(a, out);
}

static struct json *
row_of(struct arena *a, const struct json *list, struct str identifier, bool last)
{
	struct json *found = NULL;

	for (size_t i = 0; i < json_len(list); i++)
		if (str_eq(loose_str(a, json_get(json_at(list, i), "identifier"), STR("")), identifier) && (last || !found))
			found = json_at(list, i);
	return found;
}

bool
arrange_toggle(struct arena *a, struct json *doc, struct str identifier, bool on)
{
	const struct json *order = order_find(a, doc);
	struct json *prompt = row_of(a, json_get(doc, "prompts"), identifier, true), *row = order ? row_of(a, order, identifier, false) : NULL;
	struct json *toggles = json_get(doc, "node_toggles");
	struct arrange_import nodes;

	arrange_read(a, doc, &nodes);
	for (size_t i = 0; i < nodes.nodes.n; i++) {
		if (!str_eq(nodes.nodes.v[i].identifier, identifier))
			continue;
		if (prompt && (row || !order)) {
			/* without an order the first prompt of a name says whether it is on, the last one what it says */
			json_set_bool(row ? row : row_of(a, json_get(doc, "prompts"), identifier, false), "enabled", on);
			return true;
		}
		if (json_type(toggles) != JSON_OBJECT)
			toggles = json_set_object(doc, "node_toggles");
		json_set_bool(toggles, arena_strdup(a, identifier), on);
		return true;
	}
	return false;
}
