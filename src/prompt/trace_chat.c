/*
 * trace_chat: what became of the history: turns, what was left out and why.
 */
#include "prompt/prompt_private.h"

static bool
is_user(const struct told *t)
{
	return t->role == PROMPT_USER;
}

static void
ids_push(struct build *b, struct json *o, size_t from, size_t to)
{
	struct json *floors = json_set_array(o, "source_floor_ids"), *messages = json_set_array(o, "source_message_ids");

	for (size_t i = from; i < to; i++) {
		if (b->told[i].m->floor_id.n > 0)
			json_push_str(floors, b->told[i].m->floor_id);
		if (b->told[i].m->id.n > 0)
			json_push_str(messages, b->told[i].m->id);
	}
}

/* Messages of one side in a row: users' count as one turn, models' are named. */
static size_t
runs_push(struct build *b, struct json *merged, struct json *violations)
{
	size_t turns = 0, end;

	for (size_t i = 0; i < b->ntold; i = end) {
		struct json *o;

		for (end = i + 1; end < b->ntold && is_user(&b->told[end]) == is_user(&b->told[i]); end++)
			;
		turns += is_user(&b->told[i]) ? 1 : end - i;
		if (end - i < 2)
			continue;
		o = json_push_object(is_user(&b->told[i]) ? merged : violations);
		if (is_user(&b->told[i])) {
			json_set_c(o, "effective_role", "user");
			json_set_bool(o, "includes_current_input", end == b->ntold && b->in->type == PROMPT_NORMAL);
		} else {
			json_set_c(o, "code", "adjacent_assistant_floors");
			json_set_c(o, "message", "replies follow each other without a user message between them");
		}
		ids_push(b, o, i, end);
	}
	return turns;
}

struct json *
trace_normalization(struct build *b)
{
	struct json *o = json_object(b->a), *trailing;
	struct json *merged = json_array(b->a), *violations = json_array(b->a);
	size_t turns = runs_push(b, merged, violations), end = b->ntold;

	json_set_int(o, "raw_entry_count", (int64_t)b->in->nhistory);
	json_set_int(o, "effective_turn_count", (int64_t)turns);
	json_set_int(o, "selected_turn_count", (int64_t)(b->taken < turns ? b->taken : turns));
	trailing = json_set_array(o, "trailing_user_source_floor_ids");
	end -= b->in->type == PROMPT_NORMAL && end > 0 && is_user(&b->told[end - 1]);
	for (size_t i = end; i > 0 && is_user(&b->told[i - 1]); i--)
		if (b->told[i - 1].m->floor_id.n > 0)
			json_push_str(trailing, b->told[i - 1].m->floor_id);
	json_set(o, "merged_user_groups", merged);
	json_set(o, "violations", violations);
	return o;
}

static void
excluded(struct json *list, const char *source, const char *reason, const char *detail)
{
	struct json *o = json_push_object(list);

	json_set_c(o, "source", source);
	json_set_c(o, "reason", reason);
	if (detail)
		json_set_c(o, "detail", detail);
}

struct json *
trace_sources(struct build *b)
{
	static const char *const names[] = { "memory", "worldbook", "examples" };
	struct json *o = json_object(b->a), *list = json_set_array(o, "excluded_sources");

	for (size_t i = 0; i < COUNT(names); i++)
		if (!policy_takes(b, names[i]))
			excluded(list, names[i], "disabled_by_policy", NULL);
	if (b->in->history_cut || b->taken < b->ntold - (b->continued ? 1 : 0))
		excluded(list, "history", "budget_trimmed",
		    arena_printf(b->a, "%zu of %lld messages are sent", b->taken, (long long)(b->in->chat_length ? b->in->chat_length : (int64_t)b->ntold)));
	if (b->windowed)
		excluded(list, "history", "disabled_by_policy", "max_messages");
	if (b->hidden_floors.n > 0)
		excluded(list, "history", "visibility_filtered", NULL);
	if (b->examples_left > 0)
		excluded(list, "examples", "budget_trimmed", arena_printf(b->a, "%zu blocks do not fit", b->examples_left));
	if (b->lore && b->lore->nactive == 0)
		excluded(list, "worldbook", "not_triggered", NULL);
	return o;
}

struct json *
trace_visibility(struct build *b)
{
	struct json *o = json_object(b->a), *list = json_set_array(o, "filtered_floor_nos");
	const struct json *ranges = policy_get(b, "visibility", "hidden_floor_ranges");

	for (size_t i = 0; i < b->hidden_floors.n; i++)
		json_push_int(list, b->hidden_floors.v[i]);
	if (ranges)
		json_set(o, "hidden_floor_ranges", ranges);
	return o;
}
