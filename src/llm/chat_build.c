/*
 * chat_build: writes requests for OpenAI's chat completions and the servers that speak it (models.md A3,
 * A10). Works on a list of turns first (prefill, results that are missing, roles), then prints it; members
 * always in the same order.
 */
#include "llm/build.h"

#include "base/map.h"

enum { NAME_MAX_CHARS = 64, MISTRAL_ID = 9 };

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
			last->content = turn_trimmed(last->content);
			return;
		}
		b->continue_final = str_is(json_str(mode), "vllm");
		if (b->continue_final || !mode || !str_is(json_str(mode), "none"))
			return;
	}
	build_prefill_convert(b, last);
}

static bool
plain(const struct turn *t)
{
	return !turn_is(t, "tool") && json_len(t->calls) == 0 && !t->extra;
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

		if (turn_is(&t, "system") && !leading) {
			t.role = "user";
			build_warn(b, "role_changed");
		}
		if (!turn_is(&t, "system")) {
			if (leading && !turn_is(&t, "user")) {
				vec_push(b->a, &out,
				    ((struct turn){ .role = "user", .content = STR(ROLE_FILLER) }));
				build_warn(b, "role_filler");
			}
			prev = leading ? NULL : prev;
			leading = false;
		}
		if (prev && turn_is(prev, t.role) && plain(prev) && plain(&t)) {
			prev->content = joined(b->a, prev->content, t.content);
			prev->prefill |= t.prefill;
			build_warn(b, "role_merged");
		} else {
			vec_push(b->a, &out, t);
		}
	}
	if (leading && out.n > 0) {
		vec_push(b->a, &out, ((struct turn){ .role = "user", .content = STR(ROLE_FILLER) }));
		build_warn(b, "role_filler");
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
			if (!turn_is(&b->turns.v[i], "system"))
				continue;
			b->turns.v[i].role = "user";
			build_warn(b, "role_changed");
		}
	}
	if (mistral || caps_is(b->caps, "roles", "strict"))
		roles_strict(b);
	if (mistral && b->turns.n > 0 && turn_is(vec_last(&b->turns), "assistant") &&
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
turn_write(struct build *b, struct json *list, const struct turn *t)
{
	struct json *m = json_push_object(list);
	bool calls = json_len(t->calls) > 0;
	struct str name = turn_is(t, "tool") ? STR_NULL : wire_name(b->a, t->name);

	json_set_c(m, "role", t->role);
	json_set_str(m, "content",
	    calls && t->content.n == 0 ? STR_NULL
	    : t->content.p             ? t->content
				       : STR(""));
	if (name.p)
		json_set_str(m, "name", name);
	if (turn_is(t, "tool"))
		json_set_str(m, "tool_call_id", call_id(b, t->call_id));
	if (calls && caps_is(b->caps, "reasoning_replay", "with_tools"))
		json_set_str(m, "reasoning_content", t->reasoning.p ? t->reasoning : STR(""));
	if (calls)
		calls_write(b, m, t);
	if (t->prefill)
		json_set_bool(m, "prefix", true);
	build_members(b, m, t->extra);
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
		if (!build_sampling_allowed(b, rows[i].sort))
			build_dropped(b, rows[i].name);
		else if (rows[i].value == floor(rows[i].value) && fabs(rows[i].value) < 1e15)
			json_set_int(b->body, rows[i].name, (int64_t)rows[i].value);
		else
			json_set_double(b->body, rows[i].name, rows[i].value);
	}
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
	build_stop(b, b->body, "stop");
	if (p->seed >= 0)
		json_set_int(b->body, "seed", p->seed);
	if (p->reasoning_effort && build_effort_allowed(b->caps, p->reasoning_effort))
		json_set_c(b->body, "reasoning_effort", p->reasoning_effort);
	else if (p->reasoning_effort)
		build_dropped(b, "reasoning_effort");
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
	list = json_set_array(b->body, "tools");
	for (size_t i = 0; i < json_len(b->q->tools); i++) {
		struct json *o = json_push_object(list), *f;

		json_set_c(o, "type", "function");
		f = json_set_object(o, "function");
		build_members(b, f, json_at(b->q->tools, i));
	}
}

struct json *
chat_build(struct arena *a, const struct llm_request *q, const struct llm_caps *caps, struct llm_warnings *w)
{
	struct build b = build_begin(a, q, caps, w);
	struct json *list;

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
	build_members(&b, b.body, q->params.extra);
	return b.body;
}
