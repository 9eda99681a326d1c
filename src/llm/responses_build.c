/*
 * responses_build: writes requests for OpenAI's responses (models.md A4): instructions, items, flat tools;
 * nothing is stored at the vendor's.
 */
#include "llm/build.h"

/* The leading system texts. Returns how many turns they were. */
static size_t
instructions_write(struct build *b)
{
	struct sb s = sb_new(b->a);
	size_t n = 0;

	for (; n < b->turns.n && turn_is(&b->turns.v[n], "system"); n++) {
		if (s.n > 0)
			sb_adds(&s, "\n\n");
		sb_add(&s, b->turns.v[n].content);
	}
	if (s.n > 0)
		json_set_str(b->body, "instructions", sb_str(&s));
	return n;
}

static void
text_item(struct json *input, const char *role, struct str text)
{
	struct json *o = json_push_object(input), *part;

	json_set_c(o, "role", role);
	part = json_push_object(json_set_array(o, "content"));
	json_set_c(part, "type", "input_text");
	json_set_str(part, "text", text);
}

static void
calls_write(struct json *input, const struct turn *t)
{
	for (size_t i = 0; i < json_len(t->calls); i++) {
		const struct json *call = json_at(t->calls, i);
		struct json *o = json_push_object(input);

		json_set_c(o, "type", "function_call");
		json_set_str(o, "call_id", json_get_str(call, "id"));
		json_set_str(o, "name", json_get_str(call, "name"));
		json_set_str(o, "arguments", json_get_str(call, "arguments"));
	}
}

static void
assistant_write(struct build *b, struct json *input, const struct turn *t)
{
	bool ours = !t->model.p || str_is(t->model, b->q->model);
	struct json *o;

	for (size_t i = 0; ours && i < json_len(t->blobs); i++)
		json_push(input, json_copy(b->a, json_at(t->blobs, i)));
	if (!ours && json_len(t->blobs) > 0)
		build_warn(b, "blob_dropped");
	if (t->content.n > 0) {
		o = json_push_object(input);
		json_set_c(o, "role", "assistant");
		json_set_str(o, "content", t->content);
	}
	calls_write(input, t);
}

static void
turn_write(struct build *b, struct json *input, const struct turn *t)
{
	struct json *o;

	if (turn_is(t, "tool")) {
		o = json_push_object(input);
		json_set_c(o, "type", "function_call_output");
		json_set_str(o, "call_id", t->call_id);
		json_set_str(o, "output", t->content);
	} else if (turn_is(t, "assistant")) {
		assistant_write(b, input, t);
	} else {
		text_item(input, turn_is(t, "system") ? "developer" : "user", t->content);
	}
}

static void
params_write(struct build *b)
{
	const struct llm_params *p = &b->q->params;
	bool reasoning = p->reasoning_effort && build_effort_allowed(b->caps, p->reasoning_effort);

	if (p->max_tokens >= 0)
		json_set_int(b->body, "max_output_tokens", p->max_tokens);
	if (!isnan(p->temperature) && build_sampling_allowed(b, S_TEMPERATURE))
		build_number(b, b->body, "temperature", p->temperature);
	else if (!isnan(p->temperature))
		build_dropped(b, "temperature");
	if (!isnan(p->top_p) && build_sampling_allowed(b, S_TOP_P))
		build_number(b, b->body, "top_p", p->top_p);
	else if (!isnan(p->top_p))
		build_dropped(b, "top_p");
	build_refused(b, NO_TOP_K | NO_EXTENDED | NO_PENALTIES | NO_STOP | NO_SEED);
	if (reasoning)
		json_set_c(json_set_object(b->body, "reasoning"), "effort", p->reasoning_effort);
	else if (p->reasoning_effort)
		build_dropped(b, "reasoning_effort");
	if (reasoning && strcmp(p->reasoning_effort, "none") != 0)
		json_push_str(json_set_array(b->body, "include"), STR("reasoning.encrypted_content"));
}

static void
tools_write(struct build *b)
{
	struct json *list;

	if (json_len(b->q->tools) == 0)
		return;
	list = json_set_array(b->body, "tools");
	for (size_t i = 0; i < json_len(b->q->tools); i++) {
		struct json *o = json_push_object(list);

		json_set_c(o, "type", "function");
		build_members(b, o, json_at(b->q->tools, i));
		json_set_bool(o, "strict", false);
	}
}

struct json *
responses_build(
    struct arena *a, const struct llm_request *q, const struct llm_caps *caps, struct llm_warnings *w)
{
	struct build b = build_begin(a, q, caps, w);
	struct turn *last = b.turns.n > 0 ? vec_last(&b.turns) : NULL;
	struct json *input;
	size_t from;

	if (last && last->prefill)
		build_prefill_convert(&b, last);
	json_set_c(b.body, "model", q->model);
	from = instructions_write(&b);
	input = json_set_array(b.body, "input");
	for (size_t i = from; i < b.turns.n; i++)
		turn_write(&b, input, &b.turns.v[i]);
	if (q->stream)
		json_set_bool(b.body, "stream", true);
	params_write(&b);
	tools_write(&b);
	json_set_bool(b.body, "store", false);
	json_set_c(b.body, "truncation", "disabled");
	build_members(&b, b.body, q->params.extra);
	return b.body;
}
