#include "prompt/runtime_policy.h"

#include <stdio.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define MEMBER_NAME 80 /* bytes of "group.part.key" */

/* clang-format off */
static const struct member {
	const char *group, *part, *key; /* part: an object inside the group; NULL = none */
	const char *dflt;               /* a switch's or a name; NULL = none */
} members[] = {
	{ "structure", NULL, "mode", "default" },
	{ "structure", NULL, "merge_adjacent_same_role", "false" },
	{ "structure", NULL, "preserve_system_messages", "true" },
	{ "structure", NULL, "assistant_rewrite_strategy", NULL },
	{ "delivery", NULL, "allow_assistant_prefill", "true" },
	{ "delivery", NULL, "require_last_user", "false" },
	{ "delivery", NULL, "no_assistant", "false" },
	{ "budget", NULL, "max_input_tokens", NULL },
	{ "budget", NULL, "reserved_completion_tokens", NULL },
	{ "visibility", NULL, "mode", "allow_all_except_hidden" },
	{ "visibility", NULL, "hidden_floor_ids", NULL },
	{ "visibility", NULL, "hidden_floor_ranges", NULL },
	{ "visibility", NULL, "visible_floor_ranges", NULL },
	{ "source_selection", "history", "mode", "full" },
	{ "source_selection", "history", "max_messages", NULL },
	{ "source_selection", "memory", "enabled", "true" },
	{ "source_selection", "worldbook", "enabled", "true" },
	{ "source_selection", "examples", "enabled", "true" },
	{ "debug", NULL, "include_prompt_snapshot", "false" },
	{ "debug", NULL, "include_runtime_trace", "false" },
	{ "debug", NULL, "include_worldbook_matches", "false" },
};
/* clang-format on */

/* debug is asked for by requests only, under another name, and nobody stores it. */
static bool
is_debug(const struct member *m)
{
	return strcmp(m->group, "debug") == 0;
}

static const struct json *
said(const struct json *layer, const struct member *m)
{
	const struct json *group = json_get(layer, is_debug(m) ? "debug_options" : m->group);

	return json_get(m->part ? json_get(group, m->part) : group, m->key);
}

static struct json *
child(struct json *o, const char *key)
{
	struct json *c = json_get(o, key);

	return c ? c : json_set_object(o, key);
}

static struct json *
place(struct json *o, const struct member *m)
{
	struct json *group = child(o, m->group);

	return m->part ? child(group, m->part) : group;
}

/* What the strongest layer says, and who that is. */
static const struct json *
strongest(const struct policy_layers *in, const struct member *m, const char **source_out)
{
	static const char *const names[POLICY_LAYER__COUNT] = { "session_policy", "branch_policy", "request_override" };

	for (int i = POLICY_LAYER__COUNT; i-- > 0;) {
		const struct json *v = said(in->v[i], m);

		if (v) {
			*source_out = names[i];
			return v;
		}
	}
	*source_out = "system_default";
	return NULL;
}

/* A number of messages without a mode means that many and no more. */
static bool
is_window(const struct json *history, const struct json *said_of_it)
{
	return json_get(history, "max_messages") && !json_get(said_of_it, "mode");
}

static struct json *
history_of(const struct json *policy)
{
	return json_get(json_get(policy, "source_selection"), "history");
}

static void
default_set(struct json *o, const struct member *m)
{
	if (m->dflt == NULL)
		return;
	if (strcmp(m->dflt, "true") == 0 || strcmp(m->dflt, "false") == 0)
		json_set_bool(o, m->key, *m->dflt == 't');
	else
		json_set_c(o, m->key, m->dflt);
}

struct policy_resolved
policy_resolve(struct arena *a, const struct policy_layers *in)
{
	struct policy_resolved r = { json_object(a), json_object(a), *in };

	for (size_t i = 0; i < COUNT(members); i++) {
		const struct member *m = &members[i];
		const char *source;
		const struct json *v = strongest(in, m, &source);

		if (v)
			json_set(place(r.policy, m), m->key, v);
		else
			default_set(place(r.policy, m), m);
		if (v && !is_debug(m))
			json_set(place(r.said, m), m->key, v);
	}
	if (is_window(history_of(r.policy), history_of(r.said)))
		json_set_c(history_of(r.policy), "mode", "windowed");
	return r;
}

struct json *
policy_sources(struct arena *a, const struct policy_resolved *p)
{
	struct json *o = json_object(a);

	for (size_t i = 0; i < COUNT(members); i++) {
		const struct member *m = &members[i];
		const char *source;

		if ((strongest(&p->layers, m, &source) || m->dflt) && !is_debug(m))
			json_set_c(place(o, m), m->key, source);
	}
	if (is_window(history_of(p->policy), history_of(p->said)))
		json_set(history_of(o), "mode", json_get(history_of(o), "max_messages"));
	return o;
}

static const char *
member_name(const struct member *m, char *to, size_t n)
{
	snprintf(to, n, "%s%s%s.%s", m->group, m->part ? "." : "", m->part ? m->part : "", m->key);
	return to;
}

void
policy_who_print(struct sb *out, const struct policy_resolved *p)
{
	bool first = true;

	sb_addc(out, '{');
	for (size_t i = 0; json_len(p->said) > 0 && i < COUNT(members); i++) {
		const char *source;
		char name[MEMBER_NAME];

		if (is_debug(&members[i]) || strongest(&p->layers, &members[i], &source) == NULL)
			continue;
		sb_addf(out, "%s\"%s\":\"%s\"", first ? "" : ",", member_name(&members[i], name, sizeof name), source);
		first = false;
	}
	sb_addc(out, '}');
}

struct json *
policy_who_read(struct arena *a, const struct json *who)
{
	struct json *o = json_object(a);
	struct str window = json_get_str(who, "source_selection.history.max_messages");

	for (size_t i = 0; i < COUNT(members); i++) {
		const struct member *m = &members[i];
		char name[MEMBER_NAME];
		struct str said = json_get_str(who, member_name(m, name, sizeof name));

		if (is_debug(m) || (!said.p && !m->dflt))
			continue;
		if (said.p)
			json_set_str(place(o, m), m->key, said);
		else
			json_set_c(place(o, m), m->key, "system_default");
	}
	if (window.p && !json_get(who, "source_selection.history.mode"))
		json_set_str(history_of(o), "mode", window);
	return o;
}

struct json *
policy_defaults(struct arena *a)
{
	return policy_resolve(a, &(struct policy_layers){ 0 }).policy;
}

static void
merge(struct arena *a, struct json *into, const struct json *change, int depth)
{
	struct json_iter it = { 0 };
	struct json *v, *old;
	struct str key;

	while (json_next(change, &it, &key, &v)) {
		old = json_get_s(into, key);
		if (json_type(v) == JSON_OBJECT && depth > 0) {
			if (json_type(old) != JSON_OBJECT)
				old = json_set_object(into, arena_strdup(a, key));
			merge(a, old, v, depth - 1);
		} else
			json_set_s(into, key, v);
		if (v == NULL || (json_type(v) == JSON_OBJECT && json_len(old) == 0))
			json_del(into, arena_strdup(a, key));
	}
}

struct json *
policy_patch(struct arena *a, const struct json *stored, const struct json *change)
{
	struct json *out = stored ? json_copy(a, stored) : json_object(a);

	merge(a, out, change, 3); /* group, part, member */
	return out;
}

static bool
in_ranges(const struct json *ranges, int32_t floor)
{
	for (size_t i = 0; i < json_len(ranges); i++) {
		const struct json *r = json_at(ranges, i);

		if (floor >= json_get_int(r, "start_floor_no", 0) && floor <= json_get_int(r, "end_floor_no", -1))
			return true;
	}
	return false;
}

static bool
in_list(const struct json *ids, struct str id)
{
	for (size_t i = 0; i < json_len(ids); i++)
		if (id.n > 0 && str_eq(json_str(json_at(ids, i)), id))
			return true;
	return false;
}

bool
policy_sees_floor(const struct json *policy, int32_t floor_no, struct str floor_id)
{
	const struct json *v = json_get(policy, "visibility");

	if (in_list(json_get(v, "hidden_floor_ids"), floor_id))
		return false;
	if (str_is(json_get_str(v, "mode"), "deny_all_except_visible"))
		return in_ranges(json_get(v, "visible_floor_ranges"), floor_no);
	return !in_ranges(json_get(v, "hidden_floor_ranges"), floor_no);
}

bool
policy_hides(const struct json *policy)
{
	const struct json *v = json_get(policy, "visibility");

	return str_is(json_get_str(v, "mode"), "deny_all_except_visible") || json_len(json_get(v, "hidden_floor_ids")) > 0 ||
	    json_len(json_get(v, "hidden_floor_ranges")) > 0;
}

struct policy_budget
policy_budget(const struct json *policy, struct policy_budget without)
{
	const struct json *budget = json_get(policy, "budget");
	struct policy_budget b = { without.context, json_get_int(budget, "reserved_completion_tokens", without.reply) };
	int64_t most = json_get_int(budget, "max_input_tokens", 0);

	if (most > 0 && most < INT64_MAX - b.reply && (b.context == 0 || most + b.reply < b.context))
		b.context = most + b.reply;
	return b;
}
