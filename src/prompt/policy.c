/*
 * policy: what the resolved policy asks of an assembly beyond its assets: which sources take part,
 * which floors are seen, how messages are structured (st-assembly 5).
 */
#include "prompt/prompt_private.h"
#include "prompt/runtime_policy.h"

const struct json *
policy_get(const struct build *b, const char *group, const char *key)
{
	return json_get(json_get(b->in->policy, group), key);
}

bool
policy_takes(const struct build *b, const char *source)
{
	return json_get_bool(policy_get(b, "source_selection", source), "enabled", true);
}

/* Is the message's floor seen? What is said now always is. */
static bool
seen(const struct build *b, const struct prompt_message *m, bool last)
{
	return last || policy_sees_floor(b->in->policy, m->floor_seq, m->floor_id);
}

size_t
policy_history(struct build *b, struct prompt_message *out)
{
	const struct prompt_input *in = b->in;
	const struct json *history = policy_get(b, "source_selection", "history");
	int64_t max = policy_get(b, "source_selection", "history") ? json_get_int(history, "max_messages", 0) : 0;
	size_t n = 0, from = 0;

	for (size_t i = 0; i < in->nhistory; i++) {
		if (seen(b, &in->history[i], i + 1 == in->nhistory))
			out[n++] = in->history[i];
		else if (b->hidden_floors.n == 0 || *vec_last(&b->hidden_floors) != in->history[i].floor_seq)
			vec_push(b->a, &b->hidden_floors, in->history[i].floor_seq);
	}
	if (max > 0 && !str_is(json_get_str(history, "mode"), "full") && n > (size_t)max)
		from = n - (size_t)max;
	b->windowed = from > 0;
	memmove(out, out + from, (n - from) * sizeof(*out));
	return n - from;
}

/* ---- structure ---- */

static struct str
speaker_of(const struct build *b, const struct item *it)
{
	if (str_is(it->role, "user"))
		return b->user;
	return b->in->ncards ? b->members[b->in->speaker].field[MF_CHAR].text : STR("Assistant");
}

/* A message as a line of a transcript. */
static struct str
transcribed(struct build *b, const struct item *it)
{
	struct str name = speaker_of(b, it);

	if (str_is(it->role, "system") || (str_starts(it->content, name) && str_starts(str_sub(it->content, name.n, it->content.n), STR(": "))))
		return it->content;
	return str_c(arena_printf(b->a, "%.*s: %.*s", STR_ARG(name), STR_ARG(it->content)));
}

static void
no_assistant(struct build *b, struct items *list, bool to_system)
{
	for (size_t i = 0; i < list->v.n; i++) {
		struct item *it = &list->v.v[i];

		if (!str_is(it->role, "assistant"))
			continue;
		it->content = transcribed(b, it);
		it->role = to_system ? STR("system") : STR("user");
		it->name = STR_NULL;
		it->tokens = item_tokens(b, it);
		b->rewritten++;
	}
}

/* Everything but leading system messages that are to be kept becomes one user message. */
static void
flatten(struct build *b, struct items *list, bool keep_system)
{
	struct items out = { 0 };
	struct sb text = sb_new(b->a);
	struct item one = { .role = STR("user"), .source = "transcript" };

	for (size_t i = 0; i < list->v.n; i++) {
		const struct item *it = &list->v.v[i];

		if (keep_system && text.n == 0 && str_is(it->role, "system")) {
			vec_push(b->a, &out.v, *it);
			continue;
		}
		sb_adds(&text, text.n > 0 ? "\n\n" : "");
		sb_add(&text, transcribed(b, it));
		b->transcript++;
	}
	if (text.n > 0) {
		one.content = sb_str(&text);
		one.tokens = item_tokens(b, &one);
		vec_push(b->a, &out.v, one);
	}
	*list = out;
}

/* System messages behind the first block speak as the user, so that two roles take turns. */
static void
alternate(struct build *b, struct items *list, bool keep_system)
{
	bool leading = true;

	for (size_t i = 0; i < list->v.n; i++) {
		struct item *it = &list->v.v[i];

		leading &= str_is(it->role, "system");
		if (!leading && !keep_system && str_is(it->role, "system"))
			it->role = STR("user");
	}
	layout_merge(b, list);
}

void
policy_structure(struct build *b, struct items *list)
{
	struct str mode = json_str(policy_get(b, "structure", "mode"));
	struct str rewrite = json_str(policy_get(b, "structure", "assistant_rewrite_strategy"));
	bool keep_system = json_bool(policy_get(b, "structure", "preserve_system_messages"), true);
	bool merge = json_bool(policy_get(b, "structure", "merge_adjacent_same_role"), false);

	b->structure = mode.p ? arena_strdup(b->a, mode) : "default";
	b->rewrite = str_is(rewrite, "to_system") ? "to_system" : "to_user_transcript";
	if (str_is(mode, "no_assistant") || json_bool(policy_get(b, "delivery", "no_assistant"), false))
		no_assistant(b, list, str_is(rewrite, "to_system"));
	if (str_is(mode, "flattened"))
		flatten(b, list, keep_system);
	else if (str_is(mode, "strict_alternating"))
		alternate(b, list, keep_system);
	else if (merge)
		layout_merge(b, list);
	b->merged = merge || str_is(mode, "strict_alternating");
}
