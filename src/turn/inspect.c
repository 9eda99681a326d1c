/*
 * inspect: a turn as it would be sent, with the reasons for every part of it.
 */
#include "turn/look.h"

#include "turn/explain.h"
#include "turn/turn_private.h"

#include <math.h>

#define COUNT(v) (sizeof(v) / sizeof((v)[0]))

/* ---- the request around the prompt ---- */

static void
param_double(struct json *o, const char *name, double v)
{
	if (!isnan(v))
		json_set_double(o, name, v);
}

static struct json *
generation_params(const struct turn *t)
{
	const struct llm_params *p = &t->llm.params;
	struct json *o = json_object(t->c->a), *stop;

	param_double(o, "temperature", p->temperature);
	param_double(o, "top_p", p->top_p);
	param_double(o, "frequency_penalty", p->frequency_penalty);
	param_double(o, "presence_penalty", p->presence_penalty);
	if (p->top_k > 0)
		json_set_int(o, "top_k", p->top_k);
	if (p->max_tokens > 0)
		json_set_int(o, "max_output_tokens", p->max_tokens);
	if (p->reasoning_effort)
		json_set_c(o, "reasoning_effort", p->reasoning_effort);
	if (p->stop_n > 0) {
		stop = json_set_array(o, "stop_sequences");
		for (size_t i = 0; i < p->stop_n; i++)
			json_push_str(stop, p->stop[i]);
	}
	if (t->llm.stream)
		json_set_bool(o, "stream", true);
	return o;
}

/* `config` of the request in the names of the answer; NULL = none was given. */
static struct json *
turn_config(const struct turn *t)
{
	static const char *const names[][2] = { { "enableDirector", "enable_director" }, { "enableVerifier", "enable_verifier" },
		{ "enableTools", "enable_tools" }, { "enableMemoryConsolidation", "enable_memory_consolidation" }, { "maxRetries", "max_retries" },
		{ "toolMode", "tool_mode" }, { "verifierFailStrategy", "verifier_fail_strategy" } };
	const struct json *config = json_get(t->q.body, "config");
	struct json *o;

	if (config == NULL)
		return NULL;
	o = json_object(t->c->a);
	for (size_t i = 0; i < COUNT(names); i++)
		if (json_get(config, names[i][0]))
			json_set(o, names[i][1], json_get(config, names[i][0]));
	return o;
}

static struct json *
state_writes(const struct turn *t)
{
	const struct json *asked = json_get(t->q.body, "session_state_writes");
	struct json *o = json_object(t->c->a), *list, *w;

	json_set_int(o, "total", (int64_t)json_len(asked));
	list = json_set_array(o, "writes");
	for (size_t i = 0; i < json_len(asked); i++) {
		const struct json *a = json_at(asked, i);

		w = json_push_object(list);
		json_set_str(w, "namespace", json_get_str(a, "namespace"));
		json_set_str(w, "slot", json_get_str(a, "slot"));
		json_set_c(w, "operation", json_get_bool(a, "delete", false) ? "delete" : "set");
	}
	return o;
}

static struct json *
contributors(const struct turn *t)
{
	struct json *list = json_array(t->c->a), *o, *r;

	if (!turn_summary_sent(t))
		return list;
	o = json_push_object(list);
	json_set_c(o, "id", "builtin:session_summary");
	json_set_c(o, "kind", "memory_projection");
	json_set_c(o, "source_kind", "memory");
	json_set_c(o, "mode_scope", t->s.mode == PROMPT_COMPAT_PLUS ? "compat_plus" : "native");
	r = json_set_object(o, "prompt_renderable");
	json_set_c(r, "title", "Memory summary");
	json_set_str(r, "content", t->in.summary);
	json_set_bool(o, "deterministic", true);
	json_set_c(o, "cache_scope", "none");
	return list;
}

static struct json *
phase_push(struct json *list, const char *phase)
{
	struct json *o = json_push_object(list);

	json_set_c(o, "phase", phase);
	return json_set_object(o, "detail");
}

static struct json *
phases(const struct turn *t, const struct json *trace)
{
	const struct json *norm = json_get(trace, "history_normalization"), *delivery = json_get(trace, "delivery");
	struct json *list = json_array(t->c->a), *d;

	d = phase_push(list, "conversation_resolve");
	json_set_int(d, "history_count", (int64_t)t->in.nhistory);
	json_set(d, "selected_turn_count", json_get(norm, "selected_turn_count"));
	json_set(d, "effective_turn_count", json_get(norm, "effective_turn_count"));
	d = phase_push(list, "source_resolve");
	json_set_bool(d, "memory_summary_injected", turn_summary_sent(t));
	json_set_int(d, "history_count", (int64_t)t->in.nhistory);
	d = phase_push(list, "pre_response");
	json_set_int(d, "contributor_count", turn_summary_sent(t) ? 1 : 0);
	d = phase_push(list, "assemble");
	json_set_int(d, "message_count", (int64_t)t->prompt->nmessages);
	json_set_int(d, "token_estimate", t->prompt->tokens);
	d = phase_push(list, "materialize");
	json_set(d, "last_message_role", json_get(delivery, "last_message_role"));
	json_set(d, "degraded", json_get(delivery, "degraded"));
	json_set(json_push_object(list), "phase", json_string(t->c->a, STR("inspect")));
	json_set(json_at(list, json_len(list) - 1), "detail", NULL);
	return list;
}

/* ---- the answer ---- */

/* Members that the explanation of the turn will have, too. */
static const char *const reasons[] = { "trim_reasons", "excluded_sources", "section_stats", "governance", "rows", "blocks", "entries", "lore", "chat",
	"macros" };

static void
member(struct sb *out, struct arena *a, const char *name, const struct json *v)
{
	sb_addf(out, ",\"%s\":", name);
	sb_add(out, json_text(a, v));
}

static void
prepared_turn_print(struct sb *out, const struct turn *t, const struct json *trace)
{
	struct arena *a = t->c->a;

	sb_adds(out, ",\"prepared_turn\":{");
	turn_prepared_print(out, t);
	member(out, a, "preprocessed_user_message", json_get(json_get(trace, "regex"), "preprocessed_user_message"));
	member(out, a, "generation_params", generation_params(t));
	member(out, a, "requested_turn_config", turn_config(t));
	member(out, a, "turn_config", turn_config(t));
	member(out, a, "session_state_writes", state_writes(t));
	member(out, a, "contributors", contributors(t));
	member(out, a, "prepare_phase_trace", phases(t, trace));
	member(out, a, "memory_injection", look_no_injection(a));
	sb_addc(out, '}');
}

int
turn_inspect(struct turns *p, struct ctx *c, const struct turn_request *q, struct sb *out)
{
	struct turn *t = turn_new(p, c, q, true);
	struct json *o, *trace, *why;
	struct sb kept = sb_new(c->a);

	if (db_tx(c, DB_READ, turn_gather, t) < 0 || turn_assemble(t) < 0)
		return -1;
	trace = t->prompt->trace;
	turn_explain_print(&kept, t);
	why = explain_read(c->a, sb_str(&kept));
	o = json_object(c->a);
	turn_look_print(o, t, false);
	json_set(o, "mode", look_mode_json(c->a, t->s.mode));
	json_set(o, "history_normalization", json_get(trace, "history_normalization"));
	for (size_t i = 0; i < COUNT(reasons); i++)
		json_set(o, reasons[i], json_get(why, reasons[i]));
	sb_add(out, json_text(c->a, o));
	sb_truncate(out, out->n - 1); /* the object goes on */
	prepared_turn_print(out, t, trace);
	sb_addc(out, '}');
	return 0;
}
