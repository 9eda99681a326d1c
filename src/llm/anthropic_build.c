/*
 * anthropic_build: writes requests for Anthropic's messages (models.md A5): system blocks apart, two roles by
 * turns, texts and results as blocks, thinking by the model's row.
 */
#include "llm/build.h"

enum { REPLY_TOKENS = 1000, THINKING_MIN = 1024 };

const char *
anthropic_path(struct arena *a, const struct llm_request *q)
{
	struct str base = str_c(q->base_url);

	(void)a;
	while (base.n > 0 && base.p[base.n - 1] == '/')
		base.n--;
	return str_ends(base, STR("/v1")) ? "/messages" : "/v1/messages";
}

/* ---- thinking ---- */

static bool
thinks(const struct build *b, const char *way)
{
	return caps_is(b->caps, "thinking", way) || caps_is(b->caps, "thinking", "both");
}

/* Was the tool loop that is still open begun by another model? Its signed blocks cannot go back. */
static bool
loop_of_another(const struct build *b)
{
	for (size_t i = b->turns.n; i-- > 0;) {
		const struct turn *t = &b->turns.v[i];

		if (turn_is(t, "assistant"))
			return json_len(t->calls) > 0 && t->model.p && !str_is(t->model, b->q->model);
		if (!turn_is(t, "tool"))
			return false;
	}
	return false;
}

static int64_t
reply_tokens(const struct build *b)
{
	return b->q->params.max_tokens >= 0 ? b->q->params.max_tokens : REPLY_TOKENS;
}

static void
thinking_enable(struct build *b, int64_t budget)
{
	int64_t room = reply_tokens(b) - THINKING_MIN;
	struct json *o;

	if (budget > room && room >= THINKING_MIN)
		build_warn(b, "thinking_budget_clamped");
	budget = budget > room ? room : budget;
	if (budget < THINKING_MIN) {
		build_warn(b, "thinking_off_no_room");
		return;
	}
	o = json_set_object(b->body, "thinking");
	json_set_c(o, "type", "enabled");
	json_set_int(o, "budget_tokens", budget);
	b->thinking = true;
}

static void
thinking_adapt(struct build *b)
{
	struct json *o = json_set_object(b->body, "thinking");

	json_set_c(o, "type", "adaptive");
	if (caps_is(b->caps, "thinking_display", "omitted"))
		json_set_c(o, "display", "summarized");
	b->thinking = true;
}

/* Effort "none": off, where the model lets it be. */
static void
thinking_off(struct build *b)
{
	if (caps_is(b->caps, "thinking_off", "refused"))
		build_dropped(b, "reasoning_effort");
	else if (thinks(b, "adaptive"))
		json_set_c(json_set_object(b->body, "thinking"), "type",
		    caps_is(b->caps, "thinking_off", "between_tools") ? "between_tools" : "disabled");
}

static void
thinking_write(struct build *b)
{
	const struct llm_params *p = &b->q->params;
	const char *effort = p->reasoning_effort;
	bool off = (effort && strcmp(effort, "none") == 0) || p->thinking_budget == 0;
	bool wanted = !off && (effort || p->thinking_budget > 0);

	if (off) {
		thinking_off(b);
		return;
	}
	if (wanted && loop_of_another(b)) {
		build_warn(b, "thinking_off_open_tool_loop");
		return;
	}
	if (p->thinking_budget > 0 && thinks(b, "manual"))
		thinking_enable(b, p->thinking_budget);
	else if (wanted && thinks(b, "adaptive"))
		thinking_adapt(b);
	else if (p->thinking_budget > 0)
		build_dropped(b, "thinking_budget");
	if (effort && build_effort_allowed(b->caps, effort))
		json_set_c(json_set_object(b->body, "output_config"), "effort", effort);
	else if (effort)
		build_dropped(b, "reasoning_effort");
}

/* ---- messages ---- */

static void
text_block(struct json *list, struct str text)
{
	struct json *o = json_push_object(list);

	json_set_c(o, "type", "text");
	json_set_str(o, "text", text);
}

/* The leading system texts, one block each; how many turns they were. */
static size_t
system_write(struct build *b)
{
	struct json *list = NULL;
	size_t n = 0;

	for (; n < b->turns.n && turn_is(&b->turns.v[n], "system"); n++) {
		if (!list)
			list = json_set_array(b->body, "system");
		text_block(list, b->turns.v[n].content);
	}
	return n;
}

static void
assistant_blocks(struct build *b, struct json *list, const struct turn *t)
{
	bool ours = !t->model.p || str_is(t->model, b->q->model);
	struct json_error bad;

	if (!ours && json_len(t->blobs) > 0)
		build_warn(b, "blob_dropped");
	for (size_t i = 0; ours && i < json_len(t->blobs); i++)
		json_push(list, json_copy(b->a, json_at(t->blobs, i)));
	if (turn_trimmed(t->content).n > 0)
		text_block(list, t->content);
	for (size_t i = 0; i < json_len(t->calls); i++) {
		const struct json *call = json_at(t->calls, i);
		struct json *o = json_push_object(list),
			    *input = json_read(b->a, json_get_str(call, "arguments"), 64, &bad);

		json_set_c(o, "type", "tool_use");
		json_set_str(o, "id", json_get_str(call, "id"));
		json_set_str(o, "name", json_get_str(call, "name"));
		json_set(o, "input", json_type(input) == JSON_OBJECT ? input : json_object(b->a));
	}
}

static void
blocks_write(struct build *b, struct json *list, const struct turn *t)
{
	struct json *o;

	if (turn_is(t, "tool")) {
		o = json_push_object(list);
		json_set_c(o, "type", "tool_result");
		json_set_str(o, "tool_use_id", t->call_id);
		json_set_str(o, "content", t->content);
	} else if (turn_is(t, "assistant")) {
		assistant_blocks(b, list, t);
	} else {
		if (turn_is(t, "system"))
			build_warn(b, "role_changed");
		text_block(list, t->content);
	}
}

static const char *
role_of(const struct turn *t)
{
	return turn_is(t, "assistant") ? "assistant" : "user";
}

static struct json *
message_begin(struct json *list, const char *role)
{
	struct json *o = json_push_object(list);

	json_set_c(o, "role", role);
	return json_set_array(o, "content");
}

/* Neighbours of one role become blocks of one message; results of tools stand before the texts by themselves.
 */
static void
messages_write(struct build *b, size_t from)
{
	struct json *list = json_set_array(b->body, "messages"), *content = NULL;
	const char *role = NULL;
	bool results = false;

	if (from == b->turns.n || strcmp(role_of(&b->turns.v[from]), "user") != 0) {
		text_block(message_begin(list, role = "user"), STR(ROLE_FILLER));
		build_warn(b, "role_filler");
	}
	for (size_t i = from; i < b->turns.n; i++) {
		const struct turn *t = &b->turns.v[i];
		bool result = turn_is(t, "tool");

		if (!role || strcmp(role, role_of(t)) != 0 || !content) {
			content = message_begin(list, role_of(t));
		} else if (!result && !results) {
			build_warn(b, "role_merged");
		}
		role = role_of(t);
		results = result;
		blocks_write(b, content, t);
	}
}

/* The beginning of a reply, or a stored one to be gone on with, at the end. */
static void
end_settle(struct build *b)
{
	struct turn *last = b->turns.n > 0 ? vec_last(&b->turns) : NULL;
	bool native = caps_is(b->caps, "prefill", "native") && !b->thinking && json_len(b->q->tools) == 0;

	if (!last || !turn_is(last, "assistant") || json_len(last->calls) > 0)
		return;
	if (native)
		last->content = turn_trimmed(last->content);
	else if (last->prefill)
		build_prefill_convert(b, last);
	else
		build_continue(b);
}

/* ---- parameters ---- */

static void
sampling_write(struct build *b)
{
	const struct llm_params *p = &b->q->params;
	double t = p->temperature;

	if (!isnan(t) && (!build_sampling_allowed(b, S_TEMPERATURE) || (b->thinking && t != 1))) {
		build_dropped(b, "temperature");
	} else if (!isnan(t)) {
		if (t > 1)
			build_warn(b, "param_clamped:temperature");
		build_number(b, b->body, "temperature", t > 1 ? 1 : t);
	}
	if (!isnan(p->top_p) && build_sampling_allowed(b, S_TOP_P))
		build_number(b, b->body, "top_p", p->top_p);
	else if (!isnan(p->top_p))
		build_dropped(b, "top_p");
	if (p->top_k >= 0 && !b->thinking && build_sampling_allowed(b, S_TOP_K))
		json_set_int(b->body, "top_k", p->top_k);
	else if (p->top_k >= 0)
		build_dropped(b, "top_k");
	build_refused(b, NO_EXTENDED | NO_PENALTIES | NO_SEED);
	build_stop(b, b->body, "stop_sequences");
}

static void
tools_write(struct build *b)
{
	struct json *list;

	if (json_len(b->q->tools) == 0)
		return;
	list = json_set_array(b->body, "tools");
	for (size_t i = 0; i < json_len(b->q->tools); i++) {
		const struct json *t = json_at(b->q->tools, i), *schema = json_get(t, "parameters");
		struct json *o = json_push_object(list);

		json_set_str(o, "name", json_get_str(t, "name"));
		if (json_get_str(t, "description").p)
			json_set_str(o, "description", json_get_str(t, "description"));
		if (!schema)
			json_set_c(json_set_object(o, "input_schema"), "type", "object");
		else
			json_set(o, "input_schema", json_copy(b->a, schema));
	}
}

struct json *
anthropic_build(
    struct arena *a, const struct llm_request *q, const struct llm_caps *caps, struct llm_warnings *w)
{
	struct build b = build_begin(a, q, caps, w);

	json_set_c(b.body, "model", q->model);
	json_set_int(b.body, "max_tokens", reply_tokens(&b));
	build_drop_empty(&b);
	thinking_write(&b);
	end_settle(&b);
	messages_write(&b, system_write(&b));
	tools_write(&b);
	sampling_write(&b);
	if (q->stream)
		json_set_bool(b.body, "stream", true);
	build_members(&b, b.body, q->params.extra);
	return b.body;
}
