/*
 * google_build: writes requests for Google's generateContent (models.md A6): the leading system text apart,
 * user and model by turns, parts, signatures on the parts they came with.
 */
#include "llm/build.h"

#include <ctype.h>

#define NO_SIGNATURE "skip_thought_signature_validator"

const char *
google_path(struct arena *a, const struct llm_request *q)
{
	struct str base = str_c(q->base_url), model = str_c(q->model), cut = STR("models/");
	struct sb s = sb_new(a);

	while (base.n > 0 && base.p[base.n - 1] == '/')
		base.n--;
	if (str_starts(model, cut))
		model = str_sub(model, cut.n, model.n);
	sb_adds(&s,
	    str_ends(base, STR("/v1beta")) || str_ends(base, STR("/v1")) ? "/models/" : "/v1beta/models/");
	for (size_t i = 0; i < model.n; i++) {
		unsigned char c = (unsigned char)model.p[i];

		if (isalnum(c) || strchr("-._~", c))
			sb_addc(&s, (char)c);
		else
			sb_addf(&s, "%%%02X", c);
	}
	sb_adds(&s, q->stream ? ":streamGenerateContent?alt=sse" : ":generateContent");
	return sb_c(&s);
}

/* ---- contents ---- */

static void
text_part(struct json *parts, struct str text)
{
	json_set_str(json_push_object(parts), "text", text);
}

static size_t
system_write(struct build *b)
{
	struct json *parts = NULL;
	size_t n = 0;

	if (caps_is(b->caps, "system", "first_user"))
		return 0;
	for (; n < b->turns.n && turn_is(&b->turns.v[n], "system"); n++) {
		if (!parts)
			parts = json_set_array(json_set_object(b->body, "systemInstruction"), "parts");
		text_part(parts, b->turns.v[n].content);
	}
	return n;
}

/* Calls of the turn that is still open need a signature on the first of each step; those of other models have
 * none. */
static void
calls_write(struct build *b, struct json *parts, const struct turn *t, bool open)
{
	bool ours = !t->model.p || str_is(t->model, b->q->model);
	struct json_error bad;

	for (size_t i = 0; i < json_len(t->calls); i++) {
		const struct json *call = json_at(t->calls, i);
		struct json *part = json_push_object(parts), *o = json_set_object(part, "functionCall"),
			    *args = json_read(b->a, json_get_str(call, "arguments"), 64, &bad);
		struct str signature = ours ? json_get_str(call, "signature") : STR_NULL;

		json_set_str(o, "id", json_get_str(call, "id"));
		json_set_str(o, "name", json_get_str(call, "name"));
		json_set(o, "args", json_type(args) == JSON_OBJECT ? args : json_object(b->a));
		if (signature.n > 0)
			json_set_str(part, "thoughtSignature", signature);
		else if (i == 0 && open && caps_bool(b->caps, "signature_required", false))
			json_set_c(part, "thoughtSignature", NO_SIGNATURE);
	}
}

/* The name of the call that a result answers. */
static struct str
call_name(const struct build *b, const struct turn *result)
{
	for (size_t i = 0; result->name.n == 0 && i < b->turns.n; i++)
		for (size_t k = 0; k < json_len(b->turns.v[i].calls); k++)
			if (str_eq(json_get_str(json_at(b->turns.v[i].calls, k), "id"), result->call_id))
				return json_get_str(json_at(b->turns.v[i].calls, k), "name");
	return result->name;
}

static void
result_write(struct build *b, struct json *parts, const struct turn *t)
{
	struct json *o = json_set_object(json_push_object(parts), "functionResponse"), *value, *wrapped;
	struct json_error bad = { 0 };

	value = json_read(b->a, t->content, 64, &bad);
	json_set_str(o, "id", t->call_id);
	json_set_str(o, "name", call_name(b, t));
	if (json_type(value) == JSON_OBJECT) {
		json_set(o, "response", value);
		return;
	}
	wrapped = json_set_object(o, "response");
	if (bad.what)
		json_set_str(wrapped, "result", t->content);
	else
		json_set(wrapped, "result", value);
}

static const char *
role_of(const struct turn *t)
{
	return turn_is(t, "assistant") ? "model" : "user";
}

static struct json *
content_begin(struct json *list, const char *role)
{
	struct json *o = json_push_object(list);

	json_set_c(o, "role", role);
	return json_set_array(o, "parts");
}

static void
parts_write(struct build *b, struct json *parts, const struct turn *t, bool open)
{
	if (turn_is(t, "tool")) {
		result_write(b, parts, t);
		return;
	}
	if (turn_is(t, "system"))
		build_warn(b, "role_changed");
	if (turn_trimmed(t->content).n > 0)
		text_part(parts, t->content);
	calls_write(b, parts, t, open);
}

static void
contents_write(struct build *b, size_t from)
{
	struct json *list = json_set_array(b->body, "contents"), *parts = NULL;
	const char *role = NULL;
	size_t open = b->turns.n; /* behind the newest words of the user */
	bool results = false;

	while (open > from && !turn_is(&b->turns.v[open - 1], "user") &&
	       !turn_is(&b->turns.v[open - 1], "system"))
		open--;
	if (from == b->turns.n || strcmp(role_of(&b->turns.v[from]), "user") != 0) {
		text_part(content_begin(list, "user"), STR(ROLE_FILLER));
		build_warn(b, "role_filler");
	}
	for (size_t i = from; i < b->turns.n; i++) {
		const struct turn *t = &b->turns.v[i];
		bool result = turn_is(t, "tool");

		if (!role || strcmp(role, role_of(t)) != 0)
			parts = content_begin(list, role_of(t));
		else if (!result && !results)
			build_warn(b, "role_merged");
		role = role_of(t);
		results = result;
		parts_write(b, parts, t, i >= open);
	}
}

static void
end_settle(struct build *b)
{
	struct turn *last = b->turns.n > 0 ? vec_last(&b->turns) : NULL;

	if (!last || !turn_is(last, "assistant") || json_len(last->calls) > 0)
		return;
	if (last->prefill)
		build_prefill_convert(b, last);
	else
		build_continue(b);
}

/* ---- generationConfig ---- */

static void
sampled(struct build *b, struct json *o, const char *name, const char *wire, double value, enum sampling sort)
{
	if (isnan(value))
		return;
	if (build_sampling_allowed(b, sort))
		build_number(b, o, wire, value);
	else
		build_dropped(b, name);
}

static struct json *
thinking_of(struct build *b)
{
	const struct llm_params *p = &b->q->params;
	int64_t budget = p->thinking_budget, min = caps_int(b->caps, "thinking_min", 0),
		max = caps_int(b->caps, "thinking_max", INT64_MAX);
	bool off_refused =
	    caps_is(b->caps, "thinking_off", "refused") || (min > 0 && !caps_get(b->caps, "thinking_off"));
	const char *effort = p->reasoning_effort;
	struct json *o = json_object(b->a);
	struct sb level = sb_new(b->a);

	if (caps_is(b->caps, "thinking", "level") && effort && build_effort_allowed(b->caps, effort)) {
		for (; *effort; effort++)
			sb_addc(&level, (char)toupper((unsigned char)*effort));
		json_set_str(o, "thinkingLevel", sb_str(&level));
		return o;
	}
	if (caps_is(b->caps, "thinking", "budget") && effort && strcmp(effort, "none") == 0 && budget < 0)
		budget = 0;
	else if (effort)
		build_dropped(b, "reasoning_effort");
	if (budget < 0)
		return NULL;
	if (!caps_is(b->caps, "thinking", "budget")) {
		build_dropped(b, "thinking_budget");
		return NULL;
	}
	if ((budget == 0 && off_refused) || (budget > 0 && budget < min) || budget > max) {
		build_warn(b, "thinking_budget_clamped");
		budget = budget > max ? max : min;
	}
	json_set_int(o, "thinkingBudget", budget);
	return o;
}

static void
config_write(struct build *b)
{
	const struct llm_params *p = &b->q->params;
	struct json *o = json_object(b->a), *thinking;

	sampled(b, o, "temperature", "temperature", p->temperature, S_TEMPERATURE);
	sampled(b, o, "top_p", "topP", p->top_p, S_TOP_P);
	sampled(b, o, "top_k", "topK", p->top_k >= 0 ? (double)p->top_k : LLM_UNSET, S_TOP_K);
	if (p->max_tokens >= 0)
		json_set_int(o, "maxOutputTokens", p->max_tokens);
	build_stop(b, o, "stopSequences");
	if (p->seed >= 0)
		json_set_int(o, "seed", p->seed);
	sampled(b, o, "presence_penalty", "presencePenalty", p->presence_penalty, S_PENALTY);
	sampled(b, o, "frequency_penalty", "frequencyPenalty", p->frequency_penalty, S_PENALTY);
	build_refused(b, NO_EXTENDED);
	thinking = thinking_of(b);
	if (thinking)
		json_set(o, "thinkingConfig", thinking);
	if (json_len(o) > 0)
		json_set(b->body, "generationConfig", o);
}

static void
tools_write(struct build *b)
{
	struct json *list;

	if (json_len(b->q->tools) == 0)
		return;
	if (!caps_bool(b->caps, "tools", true)) {
		build_dropped(b, "tools");
		return;
	}
	list = json_set_array(json_push_object(json_set_array(b->body, "tools")), "functionDeclarations");
	for (size_t i = 0; i < json_len(b->q->tools); i++) {
		const struct json *t = json_at(b->q->tools, i);
		struct json *o = json_push_object(list);

		json_set_str(o, "name", json_get_str(t, "name"));
		if (json_get_str(t, "description").p)
			json_set_str(o, "description", json_get_str(t, "description"));
		if (json_get(t, "parameters"))
			json_set(o, "parametersJsonSchema", json_copy(b->a, json_get(t, "parameters")));
	}
}

struct json *
google_build(
    struct arena *a, const struct llm_request *q, const struct llm_caps *caps, struct llm_warnings *w)
{
	struct build b = build_begin(a, q, caps, w);

	build_drop_empty(&b);
	end_settle(&b);
	contents_write(&b, system_write(&b));
	config_write(&b);
	tools_write(&b);
	build_members(&b, b.body, q->params.extra);
	return b.body;
}
