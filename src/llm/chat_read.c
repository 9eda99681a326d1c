/*
 * chat_read: reads answers of OpenAI's chat completions and of the many servers that speak it in their own
 * way (models.md A3, A8).
 */
#include "llm/dialect.h"

/* clang-format off */
static const struct {
	const char *raw, *finish;
	enum llm_error_kind error;     /* LLM_OK = none */
} finishes[] = {
	{ "stop",           "stop",           LLM_OK },
	{ "eos",            "stop",           LLM_OK },
	{ "end_turn",       "stop",           LLM_OK },
	{ "stop_sequence",  "stop",           LLM_OK },
	{ "length",         "length",         LLM_OK },
	{ "max_tokens",     "length",         LLM_OK },
	{ "model_length",   "length",         LLM_OK },
	{ "tool_calls",     "tool_calls",     LLM_OK },
	{ "function_call",  "tool_calls",     LLM_OK },
	{ "tool_use",       "tool_calls",     LLM_OK },
	{ "content_filter", "content_filter", LLM_OK },
	{ "sensitive",      "content_filter", LLM_OK },
	{ "refusal",        "content_filter", LLM_OK },
	{ "insufficient_system_resource", NULL, LLM_OVERLOADED },
	{ "abort",          NULL,             LLM_SERVER },
	{ "error",          NULL,             LLM_SERVER },
};

/* Names of the reasoning text; the first that is filled counts, never two. */
static const char *const reasoning_keys[] = { "reasoning_content", "reasoning", "thinking" };
/* clang-format on */

#define COUNT(table) (sizeof(table) / sizeof(*(table)))

bool
chat_is_mark(struct str text)
{
	return str_is(str_trim(text), "[DONE]");
}

static void
reasoning_text(struct answer *an, struct str text)
{
	if (text.n == 0)
		return;
	answer_native_reasoning(an);
	answer_text(an, CH_REASONING, text);
}

/* A part of type `thinking`: a text, or a list of texts. */
static void
thinking_part(struct answer *an, const struct json *part)
{
	const struct json *inner = json_get(part, "thinking");

	reasoning_text(an, json_str(inner));
	for (size_t i = 0; json_type(inner) == JSON_ARRAY && i < json_len(inner); i++)
		reasoning_text(an, json_get_str(json_at(inner, i), "text"));
}

static void
content_read(struct answer *an, const struct json *content)
{
	if (json_type(content) == JSON_STRING)
		answer_text(an, CH_CONTENT, json_str(content));
	for (size_t i = 0; json_type(content) == JSON_ARRAY && i < json_len(content); i++) {
		const struct json *part = json_at(content, i);

		if (json_type(part) == JSON_STRING)
			answer_text(an, CH_CONTENT, json_str(part));
		else if (str_is(json_get_str(part, "type"), "thinking"))
			thinking_part(an, part);
		else
			answer_text(an, CH_CONTENT, json_get_str(part, "text"));
	}
}

static void
reasoning_read(struct answer *an, const struct json *o)
{
	const struct json *details = json_get(o, "reasoning_details");
	bool told = false;

	for (size_t i = 0; i < COUNT(reasoning_keys) && !told; i++) {
		struct str text = json_get_str(o, reasoning_keys[i]);

		told = text.n > 0;
		reasoning_text(an, text);
	}
	for (size_t i = 0; json_type(details) == JSON_ARRAY && i < json_len(details); i++) {
		const struct json *d = json_at(details, i);
		struct str text = json_get_str(d, "text");

		answer_detail(an, d);
		if (!told)
			reasoning_text(an, text.n > 0 ? text : json_get_str(d, "summary"));
	}
}

static void
call_read(struct answer *an, const struct json *call, const struct json *function)
{
	const struct json *google = json_get(json_get(call, "extra_content"), "google");
	struct str signature = json_get_str(google, "thought_signature");
	struct tool_slot *slot = answer_tool(
	    an, json_get_int(call, "index", -1), json_get_str(call, "id"), json_get_str(function, "name"));

	if (!slot)
		return;
	answer_tool_args(an, slot, json_get(function, "arguments"));
	if (signature.n > 0)
		slot->signature = clean_whole(an->a, signature);
}

static void
calls_read(struct answer *an, const struct json *o)
{
	const struct json *calls = json_get(o, "tool_calls"), *old = json_get(o, "function_call");

	for (size_t i = 0; json_type(calls) == JSON_ARRAY && i < json_len(calls) && !an->done; i++)
		call_read(an, json_at(calls, i), json_get(json_at(calls, i), "function"));
	if (json_type(old) == JSON_OBJECT)
		call_read(an, NULL, old);
}

/* A delta of a stream or the message of a whole answer. */
static void
message_read(struct answer *an, const struct json *o)
{
	struct str refusal = json_get_str(o, "refusal");

	reasoning_read(an, o);
	content_read(an, json_get(o, "content"));
	if (refusal.n > 0) {
		an->refused = true;
		answer_text(an, CH_CONTENT, refusal);
	}
	calls_read(an, o);
}

static void
finish_read(struct answer *an, struct str raw, bool error_follows)
{
	if (raw.n == 0)
		return;
	for (size_t i = 0; i < COUNT(finishes); i++) {
		if (!str_is(raw, finishes[i].raw))
			continue;
		answer_finish(an, finishes[i].finish, raw);
		if (finishes[i].error != LLM_OK && !error_follows)
			answer_fail(an, finishes[i].error, finishes[i].raw, "");
		return;
	}
	answer_finish(an, "stop", raw);
}

static int64_t
count(const struct json *usage, const char *outer, const char *key)
{
	int64_t n = json_get_int(outer ? json_get(usage, outer) : usage, key, -1);

	return n < 0 ? -1 : n;
}

static int64_t
either(int64_t a, int64_t b)
{
	return a >= 0 ? a : b;
}

static void
usage_read(struct answer *an, const struct json *usage)
{
	struct llm_usage u;

	if (json_type(usage) != JSON_OBJECT || json_len(usage) == 0)
		return;
	u = (struct llm_usage){
		.prompt = count(usage, NULL, "prompt_tokens"),
		.completion = count(usage, NULL, "completion_tokens"),
		.total = count(usage, NULL, "total_tokens"),
		.cached = either(count(usage, "prompt_tokens_details", "cached_tokens"),
		    count(usage, NULL, "prompt_cache_hit_tokens")),
		.cache_write = count(usage, "prompt_tokens_details", "cache_write_tokens"),
		.reasoning = either(count(usage, "completion_tokens_details", "reasoning_tokens"),
		    count(usage, NULL, "reasoning_tokens")),
	};
	if (u.prompt < 0 && u.completion < 0 && u.total < 0)
		return;
	/* xAI counts reasoning beside the completion: only the total shows it */
	if (u.reasoning > 0 && u.prompt >= 0 && u.completion >= 0 &&
	    u.total == u.prompt + u.completion + u.reasoning)
		u.completion += u.reasoning;
	if (u.total < 0 && u.prompt >= 0 && u.completion >= 0)
		u.total = u.prompt + u.completion;
	an->usage = u;
	an->usage_told = true;
}

static bool
is_error(const struct json *data)
{
	const struct json *error = json_get(data, "error");

	return json_type(error) == JSON_OBJECT || json_str(error).n > 0 ||
	       (str_is(json_get_str(data, "object"), "error") && !json_has(data, "choices"));
}

static void
name_take(struct answer *an, const char **slot, struct str value)
{
	if (!*slot && value.n > 0)
		*slot = arena_strdup(an->a, clean_whole(an->tmp, value));
}

static void
choices_read(struct answer *an, const struct json *data, const char *key)
{
	const struct json *choices = json_get(data, "choices");

	for (size_t i = 0; json_type(choices) == JSON_ARRAY && i < json_len(choices) && !an->done; i++) {
		const struct json *choice = json_at(choices, i), *message = json_get(choice, key);

		if (json_type(choice) != JSON_OBJECT || json_get_int(choice, "index", 0) != 0)
			continue;
		an->has_choice = true;
		if (json_type(message) == JSON_OBJECT)
			message_read(an, message);
		else
			content_read(an, json_get(choice, "text"));
		usage_read(an, json_get(choice, "usage"));
		finish_read(an, json_get_str(choice, "finish_reason"), is_error(data) || is_error(choice));
		if (is_error(choice))
			answer_error_json(an, choice);
	}
}

static void
data_read(struct answer *an, const struct json *data, const char *key)
{
	name_take(an, &an->model, json_get_str(data, "model"));
	name_take(an, &an->response_id, json_get_str(data, "id"));
	choices_read(an, data, key);
	usage_read(an, json_get(data, "usage"));
	usage_read(an, json_get(json_get(data, "x_groq"), "usage"));
	if (is_error(data))
		answer_error_json(an, data);
}

void
chat_delta(struct answer *an, struct str event, struct str text, const struct json *data)
{
	(void)text;
	if (!data)
		an->terminal = an->done = true; /* [DONE] */
	else if (str_is(event, "error") && !is_error(data))
		answer_error_json(an, data);
	else
		data_read(an, data, "delta");
}

void
chat_final(struct answer *an, const struct json *body)
{
	data_read(an, body, "message");
}
