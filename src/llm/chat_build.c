/*
 * chat_build: writes requests for OpenAI's chat completions and the servers that speak it (models.md A3,
 * A10). Works on a list of turns first (prefill, results that are missing, roles), then prints it; members
 * always in the same order.
 */
#include "llm/dialect.h"

#include "base/map.h"
#include "base/vec.h"

#define ROLE_FILLER "[Start a new chat]"
#define PREFILL_WORDS "Begin your reply with exactly this text and carry on from it:\n"
#define NO_RESULT "{\"error\":\"no result\"}"

enum { NAME_MAX_CHARS = 64, MISTRAL_ID = 9 };

/* A message on its way to the wire. */
struct turn {
	const char *role;
	struct str content, name, reasoning, call_id;
	const struct json *calls, *extra;
	bool prefill;
};

struct build {
	struct arena *a;
	const struct llm_request *q;
	const struct llm_caps *caps;
	struct llm_warnings *w;
	struct json *body;
	VEC(struct turn) turns;
	bool continue_final; /* vLLM's switches for a prefill */
};

static bool
is_role(const struct turn *t, const char *role)
{
	return strcmp(t->role, role) == 0;
}

static void
warn(struct build *b, const char *code)
{
	llm_warn(b->a, b->w, code);
}

static void
dropped(struct build *b, const char *param)
{
	warn(b, arena_printf(b->a, "param_dropped:%s", param));
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
			.call_id = r->tool_call_id,
			.extra = r->extra }));
	}
	for (size_t i = 0; i < json_len(m->tool_calls); i++) {
		struct str id = json_get_str(json_at(m->tool_calls, i), "id");

		if (has_result(b->q, after, id))
			continue;
		vec_push(b->a, &b->turns,
		    ((struct turn){ .role = "tool", .content = STR(NO_RESULT), .call_id = id }));
		warn(b, "tool_result_missing");
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
			.prefill = m->prefill && i + 1 == b->q->message_n }));
		behind_calls = json_len(m->tool_calls) > 0;
		if (behind_calls)
			results_fill(b, m, i + 1);
	}
}

static struct str
trim_end(struct str s)
{
	while (s.n > 0 && (s.p[s.n - 1] == ' ' || (s.p[s.n - 1] >= '\t' && s.p[s.n - 1] <= '\r')))
		s.n--;
	return s;
}

/* The beginning of the reply: as it stands, with a flag, with two switches, or as an instruction. */
static void
prefill_settle(struct build *b)
{
	struct turn *last = b->turns.n > 0 ? vec_last(&b->turns) : NULL;
	const struct json *mode = caps_get(b->caps, "prefill");

	if (!last || !last->prefill)
		return;
	last->prefill = false;
	if (json_len(b->q->tools) == 0) {
		if (str_is(json_str(mode), "prefix_flag")) {
			last->prefill = true;
			last->content = trim_end(last->content);
			return;
		}
		b->continue_final = str_is(json_str(mode), "vllm");
		if (b->continue_final || !mode || !str_is(json_str(mode), "none"))
			return;
	}
	last->role = "user";
	last->content = str_c(arena_printf(b->a, PREFILL_WORDS "%.*s", STR_ARG(last->content)));
	warn(b, "prefill_converted");
}

static bool
plain(const struct turn *t)
{
	return !is_role(t, "tool") && json_len(t->calls) == 0 && !t->extra;
}

static struct str
joined(struct arena *a, struct str x, struct str y)
{
	struct sb s = sb_new(a);

	sb_add(&s, x);
	if (x.n > 0 && y.n > 0)
		sb_adds(&s, "\n\n");
	sb_add(&s, y);
	return sb_str(&s);
}

/* Templates that refuse anything but: one leading system text, then user and assistant by turns. */
static void
roles_strict(struct build *b)
{
	VEC(struct turn) out = { 0 };
	bool leading = true;

	for (size_t i = 0; i < b->turns.n; i++) {
		struct turn t = b->turns.v[i], *prev = out.n > 0 ? vec_last(&out) : NULL;

		if (is_role(&t, "system") && !leading) {
			t.role = "user";
			warn(b, "role_changed");
		}
		if (!is_role(&t, "system")) {
			if (leading && !is_role(&t, "user")) {
				vec_push(b->a, &out,
				    ((struct turn){ .role = "user", .content = STR(ROLE_FILLER) }));
				warn(b, "role_filler");
			}
			prev = leading ? NULL : prev;
			leading = false;
		}
		if (prev && is_role(prev, t.role) && plain(prev) && plain(&t)) {
			prev->content = joined(b->a, prev->content, t.content);
			prev->prefill |= t.prefill;
			warn(b, "role_merged");
		} else {
			vec_push(b->a, &out, t);
		}
	}
	if (leading && out.n > 0) {
		vec_push(b->a, &out, ((struct turn){ .role = "user", .content = STR(ROLE_FILLER) }));
		warn(b, "role_filler");
	}
	b->turns.v = out.v;
	b->turns.n = out.n;
	b->turns.cap = out.cap;
}

static void
roles_settle(struct build *b)
{
	bool mistral = caps_is(b->caps, "roles", "mistral");

	if (caps_is(b->caps, "system", "as_user")) {
		for (size_t i = 0; i < b->turns.n; i++) {
			if (!is_role(&b->turns.v[i], "system"))
				continue;
			b->turns.v[i].role = "user";
			warn(b, "role_changed");
		}
	}
	if (mistral || caps_is(b->caps, "roles", "strict"))
		roles_strict(b);
	if (mistral && b->turns.n > 0 && is_role(vec_last(&b->turns), "assistant") &&
	    plain(vec_last(&b->turns)))
		vec_last(&b->turns)->prefill = true; /* the only way an assistant message may come last */
}

/* Mistral takes ids of exactly nine letters and digits; the same id always becomes the same. */
static struct str
call_id(struct build *b, struct str id)
{
	static const char letters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	uint64_t h = hash_bytes(0, id.p, id.n);
	char *out;
	bool fits = id.n == MISTRAL_ID;

	if (!caps_is(b->caps, "tool_id", "mistral9"))
		return id;
	for (size_t i = 0; i < id.n && fits; i++)
		fits = memchr(letters, id.p[i], sizeof letters - 1) != NULL;
	if (fits)
		return id;
	out = arena_alloc(b->a, MISTRAL_ID + 1);
	for (size_t i = 0; i < MISTRAL_ID; i++, h /= 62)
		out[i] = letters[h % 62];
	return (struct str){ out, MISTRAL_ID };
}

/* [A-Za-z0-9_-]{1,64}; other characters are replaced, one each. Absent if nothing is left. */
static struct str
wire_name(struct arena *a, struct str name)
{
	struct sb s = sb_new(a);

	for (size_t i = 0; i < name.n && s.n < NAME_MAX_CHARS; i++) {
		unsigned char c = (unsigned char)name.p[i], lower = c | 0x20;

		if ((lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-')
			sb_addc(&s, (char)c);
		else if ((c & 0xc0) != 0x80)
			sb_addc(&s, '_');
	}
	return s.n > 0 ? sb_str(&s) : STR_NULL;
}

static void
calls_write(struct build *b, struct json *m, const struct turn *t)
{
	struct json *list = json_set_array(m, "tool_calls");

	for (size_t i = 0; i < json_len(t->calls); i++) {
		const struct json *call = json_at(t->calls, i);
		struct json *o = json_push_object(list), *f;

		json_set_str(o, "id", call_id(b, json_get_str(call, "id")));
		json_set_c(o, "type", "function");
		f = json_set_object(o, "function");
		json_set_str(f, "name", json_get_str(call, "name"));
		json_set_str(f, "arguments", json_get_str(call, "arguments"));
	}
}

static void
members_add(struct build *b, struct json *o, const struct json *extra)
{
	struct json_iter it = { 0 };
	struct json *value;
	struct str key;

	while (extra && json_next(extra, &it, &key, &value))
		json_set_s(o, key, value ? json_copy(b->a, value) : NULL);
}

static void
turn_write(struct build *b, struct json *list, const struct turn *t)
{
	struct json *m = json_push_object(list);
	bool calls = json_len(t->calls) > 0;
	struct str name = is_role(t, "tool") ? STR_NULL : wire_name(b->a, t->name);

	json_set_c(m, "role", t->role);
	json_set_str(m, "content",
	    calls && t->content.n == 0 ? STR_NULL
	    : t->content.p             ? t->content
				       : STR(""));
	if (name.p)
		json_set_str(m, "name", name);
	if (is_role(t, "tool"))
		json_set_str(m, "tool_call_id", call_id(b, t->call_id));
	if (calls && caps_is(b->caps, "reasoning_replay", "with_tools"))
		json_set_str(m, "reasoning_content", t->reasoning.p ? t->reasoning : STR(""));
	if (calls)
		calls_write(b, m, t);
	if (t->prefill)
		json_set_bool(m, "prefix", true);
	members_add(b, m, t->extra);
}

enum sampling { S_TEMPERATURE, S_TOP_P, S_PENALTY, S_TOP_K, S_EXTENDED };

/* What the model's row says about a sampling value. */
static bool
sampling_allowed(struct build *b, enum sampling s)
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

static void
sampling_write(struct build *b)
{
	const struct llm_params *p = &b->q->params;
	/* clang-format off */
	const struct { const char *name; double value; enum sampling sort; } rows[] = {
		{ "temperature",        p->temperature,        S_TEMPERATURE },
		{ "top_p",              p->top_p,              S_TOP_P },
		{ "top_k",              p->top_k >= 0 ? (double)p->top_k : LLM_UNSET, S_TOP_K },
		{ "min_p",              p->min_p,              S_EXTENDED },
		{ "top_a",              p->top_a,              S_EXTENDED },
		{ "repetition_penalty", p->repetition_penalty, S_EXTENDED },
		{ "presence_penalty",   p->presence_penalty,   S_PENALTY },
		{ "frequency_penalty",  p->frequency_penalty,  S_PENALTY },
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (isnan(rows[i].value))
			continue;
		if (!sampling_allowed(b, rows[i].sort))
			dropped(b, rows[i].name);
		else if (rows[i].value == floor(rows[i].value) && fabs(rows[i].value) < 1e15)
			json_set_int(b->body, rows[i].name, (int64_t)rows[i].value);
		else
			json_set_double(b->body, rows[i].name, rows[i].value);
	}
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

static void
stop_write(struct build *b)
{
	int64_t max = stop_max(b->caps), n = 0;
	struct json *list = NULL;

	for (size_t i = 0; i < b->q->params.stop_n; i++) {
		struct str s = b->q->params.stop[i];

		if (s.n == 0)
			continue;
		if (max == 0) {
			dropped(b, "stop");
			return;
		}
		if (n++ >= max) {
			warn(b, "stop_truncated");
			return;
		}
		if (!list)
			list = json_set_array(b->body, "stop");
		json_push_str(list, s);
	}
}

static bool
effort_allowed(const struct llm_caps *caps, const char *effort)
{
	const struct json *words = caps_get(caps, "effort");

	if (json_type(words) != JSON_ARRAY)
		return !words && !caps_is(caps, "thinking", "none");
	for (size_t i = 0; i < json_len(words); i++)
		if (str_is(json_str(json_at(words, i)), effort))
			return true;
	return false;
}

static void
limits_write(struct build *b)
{
	const struct llm_params *p = &b->q->params;

	if (p->max_tokens >= 0)
		json_set_int(b->body,
		    caps_is(b->caps, "max_tokens_field", "max_completion_tokens") ? "max_completion_tokens"
										  : "max_tokens",
		    p->max_tokens);
	stop_write(b);
	if (p->seed >= 0)
		json_set_int(b->body, "seed", p->seed);
	if (p->reasoning_effort && effort_allowed(b->caps, p->reasoning_effort))
		json_set_c(b->body, "reasoning_effort", p->reasoning_effort);
	else if (p->reasoning_effort)
		dropped(b, "reasoning_effort");
}

static void
tools_write(struct build *b)
{
	struct json *list;

	if (json_len(b->q->tools) == 0)
		return;
	if (!caps_bool(b->caps, "tools", true)) {
		dropped(b, "tools");
		return;
	}
	list = json_set_array(b->body, "tools");
	for (size_t i = 0; i < json_len(b->q->tools); i++) {
		struct json *o = json_push_object(list), *f;

		json_set_c(o, "type", "function");
		f = json_set_object(o, "function");
		members_add(b, f, json_at(b->q->tools, i));
	}
}

struct json *
chat_build(struct arena *a, const struct llm_request *q, const struct llm_caps *caps, struct llm_warnings *w)
{
	struct build b = { .a = a, .q = q, .caps = caps, .w = w, .body = json_object(a) };
	struct json *list;

	turns_load(&b);
	prefill_settle(&b);
	roles_settle(&b);
	json_set_c(b.body, "model", q->model);
	list = json_set_array(b.body, "messages");
	for (size_t i = 0; i < b.turns.n; i++)
		turn_write(&b, list, &b.turns.v[i]);
	if (q->stream) {
		json_set_bool(b.body, "stream", true);
		json_set_bool(json_set_object(b.body, "stream_options"), "include_usage", true);
	}
	sampling_write(&b);
	limits_write(&b);
	tools_write(&b);
	if (b.continue_final) {
		json_set_bool(b.body, "continue_final_message", true);
		json_set_bool(b.body, "add_generation_prompt", false);
	}
	members_add(&b, b.body, q->params.extra);
	return b.body;
}
