/*
 * responses_read: reads answers of OpenAI's responses (models.md A4). Events are known by the type inside
 * them; calls by their item's id, else by its place in the output. Events that are not known are ignored.
 */
#include "llm/dialect.h"

static void
usage_read(struct answer *an, const struct json *usage)
{
	const struct json *in = json_get(usage, "input_tokens_details"),
			  *out = json_get(usage, "output_tokens_details");
	struct llm_usage *u = &an->usage;

	if (json_type(usage) != JSON_OBJECT)
		return;
	u->prompt = json_get_int(usage, "input_tokens", -1);
	u->completion = json_get_int(usage, "output_tokens", -1);
	u->total = json_get_int(usage, "total_tokens", -1);
	u->cached = json_get_int(in, "cached_tokens", -1);
	u->cache_write = json_get_int(in, "cache_write_tokens", -1);
	u->reasoning = json_get_int(out, "reasoning_tokens", -1);
	if (u->total < 0 && u->prompt >= 0 && u->completion >= 0)
		u->total = u->prompt + u->completion;
	an->usage_told = true;
}

static void
head_read(struct answer *an, const struct json *response)
{
	struct str model = json_get_str(response, "model"), id = json_get_str(response, "id");

	if (model.n > 0 && !an->model)
		an->model = arena_strdup(an->a, clean_whole(an->tmp, model));
	if (id.n > 0 && !an->response_id)
		an->response_id = arena_strdup(an->a, clean_whole(an->tmp, id));
	usage_read(an, json_get(response, "usage"));
}

/* ---- items ---- */

static struct tool_slot *
tool_find(struct answer *an, struct str item, int64_t index)
{
	for (size_t i = 0; item.n > 0 && i < an->tools.n; i++)
		if (str_eq(an->tools.v[i].item, item))
			return &an->tools.v[i];
	for (size_t i = an->tools.n; i-- > 0;)
		if (an->tools.v[i].index == index)
			return &an->tools.v[i];
	return NULL;
}

static void
args_set(struct answer *an, struct tool_slot *slot, const struct json *args)
{
	if (!json_str(args).p)
		return;
	sb_truncate(&slot->args, 0);
	slot->join = (struct clean_join){ 0 };
	answer_tool_args(an, slot, args);
}

static struct tool_slot *
call_read(struct answer *an, int64_t index, const struct json *item)
{
	struct tool_slot *slot = tool_find(an, json_get_str(item, "id"), index);

	if (!slot)
		slot = answer_tool(an, index, json_get_str(item, "call_id"), json_get_str(item, "name"));
	if (!slot)
		return NULL;
	if (slot->item.n == 0 && json_get_str(item, "id").n > 0)
		slot->item = clean_whole(an->a, json_get_str(item, "id"));
	if (slot->id.n == 0)
		slot->id = clean_whole(an->a, json_get_str(item, "call_id"));
	if (slot->name.n == 0)
		slot->name = clean_whole(an->a, json_get_str(item, "name"));
	return slot;
}

static void
reasoning_apart(struct answer *an)
{
	if (an->text[CH_REASONING].n > 0)
		answer_text(an, CH_REASONING, STR("\n\n"));
}

static void
refusal_read(struct answer *an, struct str text)
{
	an->refused = true;
	answer_text(an, CH_CONTENT, text);
}

/* An item of a whole answer. */
static void
item_read(struct answer *an, int64_t index, const struct json *item)
{
	struct str type = json_get_str(item, "type");
	const struct json *parts = json_get(item, str_is(type, "reasoning") ? "summary" : "content");
	struct tool_slot *slot;

	if (str_is(type, "reasoning")) {
		if (json_len(parts) == 0)
			parts = json_get(item, "content");
		for (size_t i = 0; i < json_len(parts); i++) {
			reasoning_apart(an);
			answer_text(an, CH_REASONING, json_get_str(json_at(parts, i), "text"));
		}
		answer_blob(an, index, item);
	} else if (str_is(type, "message")) {
		for (size_t i = 0; i < json_len(parts); i++) {
			const struct json *p = json_at(parts, i);

			if (str_is(json_get_str(p, "type"), "refusal"))
				refusal_read(an, json_get_str(p, "refusal"));
			else
				answer_text(an, CH_CONTENT, json_get_str(p, "text"));
		}
	} else if (str_is(type, "function_call")) {
		slot = call_read(an, index, item);
		if (slot)
			args_set(an, slot, json_get(item, "arguments"));
	}
}

static void
item_added(struct answer *an, int64_t index, const struct json *item)
{
	if (str_is(json_get_str(item, "type"), "function_call"))
		call_read(an, index, item);
}

static void
item_done(struct answer *an, int64_t index, const struct json *item)
{
	struct str type = json_get_str(item, "type");

	if (str_is(type, "function_call"))
		item_read(an, index, item);
	else if (str_is(type, "reasoning"))
		answer_blob(an, index, item); /* its text came in pieces */
}

/* ---- the end ---- */

static void
status_read(struct answer *an, const struct json *response)
{
	struct str status = json_get_str(response, "status"),
		   why = json_get_str(json_get(response, "incomplete_details"), "reason");

	head_read(an, response);
	if (str_is(status, "failed")) {
		answer_finish(an, NULL, status);
		answer_error_json(an, json_get(response, "error")
					  ? response
					  : json_string(an->tmp, STR("the response failed")));
	} else if (str_is(status, "incomplete")) {
		answer_finish(an,
		    str_is(why, "max_output_tokens") ? "length"
		    : str_is(why, "content_filter")  ? "content_filter"
						     : "stop",
		    why.n > 0 ? why : status);
	} else if (status.n > 0) {
		answer_finish(an, "stop", status);
	}
}

static void
event_read(struct answer *an, struct str type, const struct json *data)
{
	int64_t index = json_get_int(data, "output_index", -1);
	struct tool_slot *slot = tool_find(an, json_get_str(data, "item_id"), index);
	const struct json *delta = json_get(data, "delta");

	if (str_is(type, "output_item.added"))
		item_added(an, index, json_get(data, "item"));
	else if (str_is(type, "output_item.done"))
		item_done(an, index, json_get(data, "item"));
	else if (str_is(type, "output_text.delta"))
		answer_text(an, CH_CONTENT, json_str(delta));
	else if (str_is(type, "refusal.delta"))
		refusal_read(an, json_str(delta));
	else if (str_is(type, "reasoning_summary_part.added"))
		reasoning_apart(an);
	else if (str_is(type, "reasoning_summary_text.delta") || str_is(type, "reasoning_text.delta"))
		answer_text(an, CH_REASONING, json_str(delta));
	else if (str_is(type, "function_call_arguments.delta") && slot)
		answer_tool_args(an, slot, delta);
	else if (str_is(type, "function_call_arguments.done") && slot)
		args_set(an, slot, json_get(data, "arguments"));
	else if (str_is(type, "created") || str_is(type, "in_progress"))
		head_read(an, json_get(data, "response"));
	else if (str_is(type, "completed") || str_is(type, "incomplete") || str_is(type, "failed")) {
		status_read(an, json_get(data, "response"));
		an->terminal = an->done = true;
	}
}

void
responses_delta(struct answer *an, struct str event, struct str text, const struct json *data)
{
	struct str type = json_get_str(data, "type").p ? json_get_str(data, "type") : event,
		   prefix = STR("response.");

	(void)text;
	if (!data)
		return; /* [DONE] of a proxy */
	if (str_starts(type, prefix))
		event_read(an, str_sub(type, prefix.n, type.n), data);
	else if (str_is(type, "error") || json_get(data, "error"))
		answer_error_json(an, data);
}

void
responses_final(struct answer *an, const struct json *body)
{
	const struct json *output = json_get(body, "output");

	if (json_get(body, "error") && !json_get_str(body, "status").p) {
		answer_error_json(an, body);
		return;
	}
	an->has_choice = json_type(output) == JSON_ARRAY || str_is(json_get_str(body, "status"), "failed");
	for (size_t i = 0; json_type(output) == JSON_ARRAY && i < json_len(output) && !an->done; i++)
		item_read(an, (int64_t)i, json_at(output, i));
	status_read(an, body);
}
