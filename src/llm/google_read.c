/*
 * google_read: reads answers of Google's generateContent and its stream (models.md A6). Every event is a
 * whole answer with what is new; without alt=sse the stream is one list of them.
 */
#include "llm/dialect.h"

/* clang-format off */
static const struct {
	const char *raw;            /* a trailing * takes any rest */
	const char *finish;         /* NULL = an error: the call cannot be read */
} reasons[] = {
	{ "STOP",                    "stop" },
	{ "MAX_TOKENS",              "length" },
	{ "SAFETY",                  "content_filter" },
	{ "RECITATION",              "content_filter" },
	{ "BLOCKLIST",               "content_filter" },
	{ "PROHIBITED_CONTENT",      "content_filter" },
	{ "SPII",                    "content_filter" },
	{ "LANGUAGE",                "content_filter" },
	{ "IMAGE_*",                 "content_filter" },
	{ "MALFORMED_FUNCTION_CALL", NULL },
	{ "UNEXPECTED_TOOL_CALL",    NULL },
	{ "TOO_MANY_TOOL_CALLS",     NULL },
	{ "CONTINUATION",            "pause" },
	{ "*",                       "stop" },
};
/* clang-format on */

static bool
reason_is(struct str raw, const char *pattern)
{
	struct str p = str_c(pattern);

	return p.p[p.n - 1] == '*' ? str_starts(raw, str_sub(p, 0, p.n - 1)) : str_eq(raw, p);
}

static void
finish_read(struct answer *an, const struct json *candidate)
{
	struct str raw = json_get_str(candidate, "finishReason"),
		   message = json_get_str(candidate, "finishMessage");
	size_t i = 0;

	if (raw.n == 0)
		return;
	while (!reason_is(raw, reasons[i].raw))
		i++;
	answer_finish(an, reasons[i].finish, raw);
	if (!reasons[i].finish)
		answer_fail(an, LLM_MALFORMED_TOOL_CALL, arena_strdup(an->a, clean_whole(an->tmp, raw)),
		    arena_strdup(an->a, clean_whole(an->tmp, message.p ? message : STR(""))));
}

/* A signature belongs to the very part that it came with. */
static void
signature_read(struct answer *an, const struct json *part, int64_t call)
{
	struct str data = json_get_str(part, "thoughtSignature");
	struct json *blob;

	if (data.n == 0)
		return;
	blob = json_object(an->tmp);
	json_set_c(blob, "type", "thoughtSignature");
	json_set_c(blob, "part", call >= 0 ? "functionCall" : "text");
	if (call >= 0)
		json_set_int(blob, "call", call);
	json_set_str(blob, "data", clean_whole(an->tmp, data));
	answer_blob(an, -1, blob);
}

static void
part_read(struct answer *an, const struct json *part)
{
	const struct json *call = json_get(part, "functionCall"), *args = json_get(call, "args");
	int64_t index = (int64_t)an->tools.n;
	struct tool_slot *slot;

	if (json_type(call) != JSON_OBJECT) {
		answer_text(an, json_get_bool(part, "thought", false) ? CH_REASONING : CH_CONTENT,
		    json_get_str(part, "text"));
		signature_read(an, part, -1);
		return;
	}
	slot = answer_tool(an, index, json_get_str(call, "id"), json_get_str(call, "name"));
	if (slot && args)
		answer_tool_args(an, slot, args);
	if (slot)
		signature_read(an, part, index);
}

static void
usage_read(struct answer *an, const struct json *usage)
{
	struct llm_usage *u = &an->usage;
	int64_t thoughts = json_get_int(usage, "thoughtsTokenCount", -1),
		total = json_get_int(usage, "totalTokenCount", -1);

	if (json_len(usage) == 0 || json_type(usage) != JSON_OBJECT)
		return;
	u->prompt =
	    json_get_int(usage, "promptTokenCount", 0) + json_get_int(usage, "toolUsePromptTokenCount", 0);
	u->completion = json_get_int(usage, "candidatesTokenCount", 0) + (thoughts > 0 ? thoughts : 0);
	u->total = total >= 0 ? total : u->prompt + u->completion;
	u->cached = json_get_int(usage, "cachedContentTokenCount", -1);
	u->reasoning = thoughts;
	an->usage_told = true;
}

static void
name_take(struct answer *an, const char **slot, struct str value)
{
	if (!*slot && value.n > 0)
		*slot = arena_strdup(an->a, clean_whole(an->tmp, value));
}

static void
answer_read(struct answer *an, const struct json *data)
{
	const struct json *candidates = json_get(data, "candidates");
	struct str blocked = json_get_str(json_get(data, "promptFeedback"), "blockReason");

	if (json_get(data, "error")) {
		answer_error_json(an, data);
		return;
	}
	name_take(an, &an->model, json_get_str(data, "modelVersion"));
	name_take(an, &an->response_id, json_get_str(data, "responseId"));
	usage_read(an, json_get(data, "usageMetadata"));
	an->has_choice |= json_type(candidates) == JSON_ARRAY || blocked.n > 0;
	if (blocked.n > 0 && json_len(candidates) == 0)
		answer_fail(an, LLM_CONTENT_FILTER,
		    arena_printf(an->a, "prompt_blocked:%.*s", STR_ARG(clean_whole(an->tmp, blocked))), "");
	for (size_t i = 0; i < json_len(candidates) && !an->done; i++) {
		const struct json *c = json_at(candidates, i),
				  *parts = json_get(json_get(c, "content"), "parts");

		if (json_type(c) != JSON_OBJECT || json_get_int(c, "index", 0) != 0)
			continue;
		for (size_t k = 0; json_type(parts) == JSON_ARRAY && k < json_len(parts) && !an->done; k++)
			part_read(an, json_at(parts, k));
		finish_read(an, c);
	}
}

void
google_delta(struct answer *an, struct str event, struct str text, const struct json *data)
{
	(void)text;
	if (!data)
		return; /* [DONE] of a proxy */
	if (str_is(event, "error") && !json_get(data, "error"))
		answer_error_json(an, data);
	else
		google_final(an, data);
}

void
google_final(struct answer *an, const struct json *body)
{
	if (json_type(body) != JSON_ARRAY) {
		answer_read(an, body);
		return;
	}
	for (size_t i = 0; i < json_len(body) && !an->done; i++)
		answer_read(an, json_at(body, i));
}
