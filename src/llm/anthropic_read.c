/*
 * anthropic_read: reads answers of Anthropic's messages (models.md A5). The type inside the JSON rules;
 * blocks are known by their index.
 */
#include "llm/dialect.h"

/* clang-format off */
static const struct { const char *raw, *finish; } stops[] = {
	{ "end_turn",                      "stop" },
	{ "stop_sequence",                 "stop" },
	{ "max_tokens",                    "length" },
	{ "model_context_window_exceeded", "length" },
	{ "tool_use",                      "tool_calls" },
	{ "refusal",                       "content_filter" },
	{ "pause_turn",                    "pause" },
};
/* clang-format on */

static void
stop_read(struct answer *an, struct str raw)
{
	const char *finish = "stop";

	if (raw.n == 0)
		return;
	for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
		if (str_is(raw, stops[i].raw))
			finish = stops[i].finish;
	answer_finish(an, finish, raw);
}

static int64_t
told(const struct json *usage, const char *key, int64_t before)
{
	int64_t n = json_get_int(usage, key, -1);

	return n >= 0 ? n : before;
}

static int64_t
or_zero(int64_t n)
{
	return n > 0 ? n : 0;
}

/* Cumulative: what is not said again is as it was. The input is counted without what came from the cache or
 * went there. */
static void
usage_read(struct answer *an, const struct json *usage)
{
	struct llm_usage *u = &an->usage;
	int64_t fresh = u->prompt >= 0 ? u->prompt - or_zero(u->cached) - or_zero(u->cache_write) : -1;

	if (json_type(usage) != JSON_OBJECT)
		return;
	fresh = told(usage, "input_tokens", fresh);
	u->cached = told(usage, "cache_read_input_tokens", u->cached);
	u->cache_write = told(usage, "cache_creation_input_tokens", u->cache_write);
	u->completion = told(usage, "output_tokens", u->completion);
	u->reasoning = told(json_get(usage, "output_tokens_details"), "thinking_tokens", u->reasoning);
	if (fresh >= 0)
		u->prompt = fresh + or_zero(u->cached) + or_zero(u->cache_write);
	if (u->prompt >= 0 && u->completion >= 0)
		u->total = u->prompt + u->completion;
	an->usage_told = true;
}

static void
head_read(struct answer *an, const struct json *message)
{
	struct str model = json_get_str(message, "model"), id = json_get_str(message, "id");

	if (model.n > 0 && !an->model)
		an->model = arena_strdup(an->a, clean_whole(an->tmp, model));
	if (id.n > 0 && !an->response_id)
		an->response_id = arena_strdup(an->a, clean_whole(an->tmp, id));
	usage_read(an, json_get(message, "usage"));
}

static void
thought(struct answer *an, struct detail_slot *slot, struct str text)
{
	answer_blob_text(an, slot, "thinking", text);
	answer_text(an, CH_REASONING, text);
}

/* A block begins; a whole answer has all of it. Thoughts of a second block stand apart. */
static void
block_begin(struct answer *an, int64_t index, const struct json *block)
{
	struct str type = json_get_str(block, "type");
	const struct json *input = json_get(block, "input");
	struct json *item;
	struct detail_slot *slot;
	struct tool_slot *tool;

	if (str_is(type, "text")) {
		answer_text(an, CH_CONTENT, json_get_str(block, "text"));
	} else if (str_is(type, "thinking")) {
		item = json_object(an->tmp);
		json_set_c(item, "type", "thinking");
		json_set_c(item, "thinking", "");
		json_set_str(item, "signature",
		    json_get_str(block, "signature").p ? json_get_str(block, "signature") : STR(""));
		if (an->text[CH_REASONING].n > 0)
			answer_text(an, CH_REASONING, STR("\n\n"));
		slot = answer_blob(an, index, item);
		if (slot)
			thought(an, slot, json_get_str(block, "thinking"));
	} else if (str_is(type, "redacted_thinking")) {
		answer_blob(an, index, block);
	} else if (str_is(type, "tool_use")) {
		tool = answer_tool(an, index, json_get_str(block, "id"), json_get_str(block, "name"));
		if (tool && json_len(input) > 0)
			answer_tool_args(an, tool, input);
	}
}

static struct tool_slot *
tool_at(struct answer *an, int64_t index)
{
	for (size_t i = an->tools.n; i-- > 0;)
		if (an->tools.v[i].index == index)
			return &an->tools.v[i];
	return NULL;
}

static void
block_delta(struct answer *an, int64_t index, const struct json *delta)
{
	struct str type = json_get_str(delta, "type");
	struct detail_slot *slot = answer_blob_find(an, index);
	struct tool_slot *tool = tool_at(an, index);

	if (str_is(type, "text_delta"))
		answer_text(an, CH_CONTENT, json_get_str(delta, "text"));
	else if (str_is(type, "thinking_delta") && slot)
		thought(an, slot, json_get_str(delta, "thinking"));
	else if (str_is(type, "signature_delta") && slot)
		json_set_str(slot->item, "signature", clean_whole(an->a, json_get_str(delta, "signature")));
	else if (str_is(type, "input_json_delta") && tool)
		answer_tool_args(an, tool, json_get(delta, "partial_json"));
}

void
anthropic_delta(struct answer *an, struct str event, struct str text, const struct json *data)
{
	struct str type = json_get_str(data, "type").p ? json_get_str(data, "type") : event;
	int64_t index = json_get_int(data, "index", 0);

	(void)text;
	if (!data)
		return; /* [DONE] of a proxy */
	if (str_is(type, "message_start")) {
		head_read(an, json_get(data, "message"));
	} else if (str_is(type, "content_block_start")) {
		block_begin(an, index, json_get(data, "content_block"));
	} else if (str_is(type, "content_block_delta")) {
		block_delta(an, index, json_get(data, "delta"));
	} else if (str_is(type, "message_delta")) {
		usage_read(an, json_get(data, "usage"));
		stop_read(an, json_get_str(json_get(data, "delta"), "stop_reason"));
	} else if (str_is(type, "message_stop")) {
		an->terminal = an->done = true;
	} else if (str_is(type, "error") || json_type(json_get(data, "error")) == JSON_OBJECT) {
		answer_error_json(an, data);
	}
}

void
anthropic_final(struct answer *an, const struct json *body)
{
	const struct json *content = json_get(body, "content");

	if (str_is(json_get_str(body, "type"), "error") || json_get(body, "error")) {
		answer_error_json(an, body);
		return;
	}
	head_read(an, body);
	an->has_choice = json_type(content) == JSON_ARRAY;
	for (size_t i = 0; i < json_len(content) && !an->done; i++)
		block_begin(an, (int64_t)i, json_at(content, i));
	stop_read(an, json_get_str(body, "stop_reason"));
}
