/*
 * build: see build.h.
 */
#include "llm/build.h"

bool
turn_is(const struct turn *t, const char *role)
{
	return strcmp(t->role, role) == 0;
}

void
build_warn(struct build *b, const char *code)
{
	llm_warn(b->a, b->w, code);
}

void
build_dropped(struct build *b, const char *param)
{
	build_warn(b, arena_printf(b->a, "param_dropped:%s", param));
}

static bool
has_result(const struct llm_request *q, size_t from, struct str id)
{
	for (size_t i = from; i < q->message_n && strcmp(q->messages[i].role, "tool") == 0; i++)
		if (str_eq(q->messages[i].tool_call_id, id))
			return true;
	return false;
}

/* Every call is followed by its result; results that are missing are made up behind those that are there. */
static void
results_fill(struct build *b, const struct llm_message *m, size_t after)
{
	size_t end = after;

	while (end < b->q->message_n && strcmp(b->q->messages[end].role, "tool") == 0) {
		const struct llm_message *r = &b->q->messages[end++];

		vec_push(b->a, &b->turns,
		    ((struct turn){ .role = "tool",
			.content = r->content,
			.name = r->name,
			.call_id = r->tool_call_id,
			.extra = r->extra }));
	}
	for (size_t i = 0; i < json_len(m->tool_calls); i++) {
		struct str id = json_get_str(json_at(m->tool_calls, i), "id");

		if (has_result(b->q, after, id))
			continue;
		vec_push(b->a, &b->turns,
		    ((struct turn){ .role = "tool", .content = STR(NO_RESULT), .call_id = id }));
		build_warn(b, "tool_result_missing");
	}
}

static void
turns_load(struct build *b)
{
	bool behind_calls = false;

	for (size_t i = 0; i < b->q->message_n; i++) {
		const struct llm_message *m = &b->q->messages[i];
		bool tool = strcmp(m->role, "tool") == 0;

		if (tool && behind_calls)
			continue; /* taken with its call */
		vec_push(b->a, &b->turns,
		    ((struct turn){ .role = m->role,
			.content = m->content,
			.name = m->name,
			.reasoning = m->reasoning,
			.call_id = m->tool_call_id,
			.calls = m->tool_calls,
			.extra = m->extra,
			.blobs = m->blobs,
			.model = m->model,
			.prefill = m->prefill && i + 1 == b->q->message_n }));
		behind_calls = json_len(m->tool_calls) > 0;
		if (behind_calls)
			results_fill(b, m, i + 1);
	}
}

struct str
turn_trimmed(struct str s)
{
	while (s.n > 0 && (s.p[s.n - 1] == ' ' || (s.p[s.n - 1] >= '\t' && s.p[s.n - 1] <= '\r')))
		s.n--;
	return s;
}

static bool
blank(struct str s)
{
	return turn_trimmed(s).n == 0;
}

void
build_prefill_convert(struct build *b, struct turn *last)
{
	last->role = "user";
	last->prefill = false;
	last->content = str_c(arena_printf(b->a, PREFILL_WORDS "%.*s", STR_ARG(last->content)));
	build_warn(b, "prefill_converted");
}

void
build_continue(struct build *b)
{
	vec_push(b->a, &b->turns, ((struct turn){ .role = "user", .content = STR(CONTINUE_WORDS) }));
	build_warn(b, "prefill_converted");
}

void
build_drop_empty(struct build *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->turns.n; i++) {
		const struct turn *t = &b->turns.v[i];

		if (blank(t->content) && !turn_is(t, "tool") && json_len(t->calls) == 0 &&
		    json_len(t->blobs) == 0)
			build_warn(b, "empty_dropped");
		else
			b->turns.v[n++] = *t;
	}
	b->turns.n = n;
}

/* What the model's row says about a sampling value. */
bool
build_sampling_allowed(const struct build *b, enum sampling s)
{
	struct str mode = json_str(caps_get(b->caps, "sampling"));
	const char *effort = b->q->params.reasoning_effort;

	if (s == S_TOP_K && !caps_bool(b->caps, "top_k", true))
		return false;
	if (s == S_EXTENDED && !caps_bool(b->caps, "extended_sampling", false))
		return false;
	if (str_is(mode, "none"))
		return false;
	if (str_is(mode, "effort_none_only"))
		return !effort || strcmp(effort, "none") == 0;
	if (str_is(mode, "temp_top_p"))
		return s != S_PENALTY;
	if (str_is(mode, "temp_or_top_p"))
		return s != S_TOP_P || isnan(b->q->params.temperature);
	return true;
}

void
build_number(struct build *b, struct json *o, const char *name, double value)
{
	(void)b;
	if (value == floor(value) && fabs(value) < 1e15)
		json_set_int(o, name, (int64_t)value);
	else
		json_set_double(o, name, value);
}

void
build_refused(struct build *b, unsigned what)
{
	const struct llm_params *p = &b->q->params;
	/* clang-format off */
	const struct { const char *name; unsigned bit; bool asked; } rows[] = {
		{ "top_k",              NO_TOP_K,     p->top_k >= 0 },
		{ "min_p",              NO_EXTENDED,  !isnan(p->min_p) },
		{ "top_a",              NO_EXTENDED,  !isnan(p->top_a) },
		{ "repetition_penalty", NO_EXTENDED,  !isnan(p->repetition_penalty) },
		{ "presence_penalty",   NO_PENALTIES, !isnan(p->presence_penalty) },
		{ "frequency_penalty",  NO_PENALTIES, !isnan(p->frequency_penalty) },
		{ "stop",               NO_STOP,      p->stop_n > 0 },
		{ "seed",               NO_SEED,      p->seed >= 0 },
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (what & rows[i].bit && rows[i].asked)
			build_dropped(b, rows[i].name);
}

/* How many stop strings the model takes; INT64_MAX = no limit known. */
static int64_t
stop_max(const struct llm_caps *caps)
{
	const struct json *max = caps_get(caps, "max_stop"), *stop = caps_get(caps, "stop");

	if (max)
		return json_int(max, INT64_MAX);
	if (json_type(stop) == JSON_BOOL)
		return json_bool(stop, true) ? INT64_MAX : 0;
	return json_int(stop, INT64_MAX);
}

void
build_stop(struct build *b, struct json *o, const char *name)
{
	int64_t max = stop_max(b->caps), n = 0;
	struct json *list = NULL;

	for (size_t i = 0; i < b->q->params.stop_n; i++) {
		struct str s = b->q->params.stop[i];

		if (s.n == 0)
			continue;
		if (max == 0) {
			build_dropped(b, "stop");
			return;
		}
		if (n++ >= max) {
			build_warn(b, "stop_truncated");
			return;
		}
		if (!list)
			list = json_set_array(o, name);
		json_push_str(list, s);
	}
}

bool
build_effort_allowed(const struct llm_caps *caps, const char *effort)
{
	const struct json *words = caps_get(caps, "effort");

	if (json_type(words) != JSON_ARRAY)
		return !words && !caps_is(caps, "thinking", "none");
	for (size_t i = 0; i < json_len(words); i++)
		if (str_is(json_str(json_at(words, i)), effort))
			return true;
	return false;
}

void
build_members(struct build *b, struct json *o, const struct json *extra)
{
	struct json_iter it = { 0 };
	struct json *value;
	struct str key;

	while (extra && json_next(extra, &it, &key, &value))
		json_set_s(o, key, value ? json_copy(b->a, value) : NULL);
}

struct build
build_begin(struct arena *a, const struct llm_request *q, const struct llm_caps *caps, struct llm_warnings *w)
{
	struct build b = { .a = a, .q = q, .caps = caps, .w = w, .body = json_object(a) };

	turns_load(&b);
	return b;
}
