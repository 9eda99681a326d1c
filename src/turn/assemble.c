/*
 * assemble: from what was gathered to the outgoing request: settings resolved (request, session,
 * account, operator), the pure assembly, the model's parameters, and the wire's snapshot and trace.
 */
#include "turn/turn_private.h"

#include "base/digest.h"
#include "base/rng.h"

#include <math.h>

/* ---- settings: the session's own, else the account's ---- */

static const struct json *
setting(const struct turn *t, const char *key)
{
	const struct json *v = json_get(t->s.settings, key);

	return v ? v : json_get(t->s.account_settings, key);
}

static enum message_macros
message_macros_setting(const struct turn *t)
{
	static const char *const names[] = { "default", "off", "read", "full" };
	struct str v = json_str(setting(t, "message_macros"));

	for (int i = 1; i < 4; i++)
		if (str_is(v, names[i]))
			return (enum message_macros)i;
	return MESSAGE_MACROS_DEFAULT;
}

static size_t
count_tokens(void *arg, struct str text)
{
	const struct turn *t = arg;

	return token_count(t->tokens.encoding, text);
}

static uint64_t
seed_new(void)
{
	uint64_t s;

	rng_system(&s, sizeof(s));
	return s >> 1; /* fits a bigint column */
}

/* How the session's worldbook is called in traces; the scope id is the wire's: worldbook:ID:VERSION. */
static void
books_name(struct turn *t)
{
	struct prompt_book_name *n;

	if (t->in.nbooks == 0)
		return;
	n = arena_new(t->c->a, struct prompt_book_name);
	*n = (struct prompt_book_name){ .book = t->in.books[0].book, .worldbook_id = t->s.worldbook.id, .name = t->s.worldbook.name,
		.scope = str_c(arena_printf(t->c->a, "worldbook:%.*s:%lld", STR_ARG(t->s.worldbook.id), (long long)t->s.worldbook.version_no)) };
	t->in.book_names = n;
	t->in.nbook_names = 1;
}

/* A turn of decision statements is the newest message: another one, or the same edited, is another turn. */
static void
decisions_settle(struct turn *t)
{
	const struct prompt_message *m = t->in.nhistory > 0 ? &t->in.history[t->in.nhistory - 1] : NULL;
	struct digest d = digest_sha256(m ? m->text : STR(""));

	t->decisions = (struct prompt_decisions){ .state = t->s.decisions, .running = t->s.has_decisions,
		.key = str_c(arena_printf(t->c->a, "%.*s:%.*s", STR_ARG(m ? m->id : STR("")), 16, digest_hex(t->c->a, &d).p)),
		.model = str_c(t->p->conf.decision_model), .ask = t->p->conf.decide, .ask_arg = t->p->conf.decide_arg };
	t->in.decisions = &t->decisions;
}

static void
input_settle(struct turn *t)
{
	struct prompt_input *in = &t->in;
	const struct json *body = t->q.body;
	struct str zone = json_str(setting(t, "timezone"));

	in->mode = t->s.mode;
	in->type = PROMPT_NORMAL;
	prompt_type_parse(json_get_str(body, "prompt_intent"), &in->type);
	in->user_name = t->s.user_name;
	in->lore_settings = lore_settings_defaults();
	in->model = str_c(t->llm.model);
	in->session_id = t->q.session_id;
	in->policy = t->s.policy;
	in->structure = json_get(body, "structure");
	in->delivery = json_get(body, "delivery");
	in->request = body;
	in->metadata = t->s.metadata;
	in->value_warnings = true;
	in->preset_choices = t->s.preset_choices;
	in->message_macros = message_macros_setting(t);
	in->reasoning_effort = json_get_str(json_get(body, "generation_params"), "reasoning_effort");
	in->names_in_messages_supported = true;
	if (in->preset == NULL || prompt_preset_context(in->preset) == 0)
		in->max_context = t->p->conf.context_tokens;
	in->max_reply = json_get_int(json_get(body, "generation_params"), "max_output_tokens", 0);
	if (in->max_reply == 0 && (in->preset == NULL || prompt_preset_reply(in->preset) == 0))
		in->max_reply = t->p->conf.reply_tokens;
	books_name(t);
	decisions_settle(t);
	in->count = count_tokens;
	in->count_arg = t;
	in->tokens_reserved = 3;
	in->now = t->c->now;
	in->zone = zone.p ? tm_zone_load(t->c->a, zone) : NULL;
	in->time_awareness = json_bool(setting(t, "time_awareness"), true);
	in->seed = seed_new();
	in->phase = t->dry ? MACRO_DRY_RUN : MACRO_ASSEMBLE;
	in->trace = t->dry || json_get_bool(json_get(body, "debug_options"), "include_runtime_trace", false) ||
	    json_get_bool(json_get(body, "debug_options"), "include_worldbook_matches", false);
}

/* ---- the model and its parameters ---- */

static const char *
text_or(struct turn *t, struct str v, const char *dflt)
{
	return v.p && v.n > 0 ? arena_strdup(t->c->a, v) : dflt;
}

static void
model_choose(struct turn *t)
{
	const struct turns_conf *k = &t->p->conf;

	t->llm.provider = text_or(t, t->s.provider, k->provider);
	t->llm.model = text_or(t, t->s.model, k->model);
	t->llm.base_url = k->base_url;
	t->llm.api_key = k->api_key;
	t->tokens = token_for_model(str_c(t->llm.model));
}

/* One sampling value by its names in a request's generation_params (ours) and in stored parameters. */
#define PARAM_DOUBLES(X) \
	X(temperature) \
	X(top_p) \
	X(frequency_penalty) \
	X(presence_penalty) \
	X(min_p) \
	X(repetition_penalty) \
	X(top_a)

static void
params_overlay(struct llm_params *p, const struct json *j, struct arena *a)
{
	const struct json *stop = json_get(j, "stop_sequences");
	struct str *v;

#define TAKE(name) p->name = json_get_double(j, #name, p->name);
	PARAM_DOUBLES(TAKE)
#undef TAKE
	p->top_k = json_get_int(j, "top_k", p->top_k);
	p->seed = json_get_int(j, "seed", p->seed);
	p->max_tokens = json_get_int(j, "max_output_tokens", p->max_tokens);
	if (json_get_str(j, "reasoning_effort").p)
		p->reasoning_effort = arena_strdup(a, json_get_str(j, "reasoning_effort"));
	if (json_len(stop) > 0) {
		v = arena_array(a, struct str, json_len(stop));
		for (size_t i = 0; i < json_len(stop); i++)
			v[i] = json_str(json_at(stop, i));
		p->stop = v;
		p->stop_n = json_len(stop);
	}
}

/* The preset's values, then what the session stores, then the request's own (decisions 38). */
static void
params_settle(struct turn *t)
{
	const struct prompt_sampling *s = &t->prompt->sampling;
	struct llm_params *p = &t->llm.params;

	*p = LLM_PARAMS_NONE;
#define TAKE(name) p->name = s->name;
	PARAM_DOUBLES(TAKE)
#undef TAKE
	p->top_k = s->top_k;
	p->seed = s->seed;
	p->max_tokens = s->max_tokens;
	params_overlay(p, t->s.model_params, t->c->a);
	params_overlay(p, json_get(t->q.body, "generation_params"), t->c->a);
}

static void
messages_settle(struct turn *t)
{
	const struct prompt *p = t->prompt;
	struct llm_message *v = arena_array(t->c->a, struct llm_message, p->nmessages);
	struct sb all = sb_new(t->c->a);
	struct digest d;

	for (size_t i = 0; i < p->nmessages; i++) {
		v[i] = (struct llm_message){ .role = p->messages[i].role, .content = p->messages[i].content, .name = p->messages[i].name };
		sb_adds(&all, v[i].role);
		sb_addc(&all, '\n');
		sb_add_json(&all, v[i].name);
		sb_add_json(&all, v[i].content);
	}
	t->llm.messages = v;
	t->llm.message_n = p->nmessages;
	d = digest_sha256(sb_str(&all));
	t->digest = digest_hex(t->c->a, &d);
}

int
turn_assemble(struct turn *t)
{
	model_choose(t);
	input_settle(t);
	prompt_assemble(t->c->a, &t->in, &t->prompt);
	if (t->prompt->error)
		return fail(t->c, ERR_INVALID, t->prompt->error, "%s", t->prompt->error_text ? t->prompt->error_text : "the prompt cannot be built");
	t->llm.stream = t->q.stream || json_get_bool(json_get(t->q.body, "generation_params"), "stream", false);
	params_settle(t);
	messages_settle(t);
	return 0;
}

/* ---- the wire's snapshot and trace ---- */

static void
add_text(struct sb *out, const char *key, struct str v)
{
	sb_addf(out, "\"%s\":", key);
	sb_add_json(out, v);
	sb_addc(out, ',');
}

static void
add_int_or_null(struct sb *out, const char *key, bool there, int64_t v)
{
	if (there)
		sb_addf(out, "\"%s\":%lld,", key, (long long)v);
	else
		sb_addf(out, "\"%s\":null,", key);
}

static void
bound_print(struct sb *out, struct arena *a, const char *name, const struct bound_asset *b)
{
	bool there = b->row != 0;

	add_text(out, arena_printf(a, "%s_id", name), there ? b->id : STR_NULL);
	add_int_or_null(out, arena_printf(a, "%s_updated_at", name), there, b->updated_at);
	add_int_or_null(out, arena_printf(a, "%s_version", name), there, b->version_no);
	add_text(out, arena_printf(a, "%s_version_id", name), there ? b->version_id : STR_NULL);
	add_text(out, arena_printf(a, "%s_content_hash", name),
	    there ? str_c(arena_printf(a, "sha256:%.*s", STR_ARG(b->content_hash))) : STR_NULL);
}

static void
rule_names_print(struct sb *out, const struct turn *t, enum regex_place place)
{
	const struct regex_set *set = t->in.scripts;
	bool first = true;

	sb_addc(out, '[');
	for (size_t i = 0; set && i < regex_set_count(set); i++) {
		const struct regex_script *s = regex_set_script(set, i);

		if (s->disabled || !(s->places & REGEX_PLACE_BIT(place)))
			continue;
		sb_adds(out, first ? "" : ",");
		sb_add_json(out, s->name);
		first = false;
	}
	sb_addc(out, ']');
}

void
turn_snapshot_print(struct sb *out, const struct turn *t)
{
	struct arena *a = t->c->a;
	const struct json *uid;

	sb_addc(out, '{');
	bound_print(out, a, "preset", &t->s.preset);
	bound_print(out, a, "worldbook", &t->s.worldbook);
	bound_print(out, a, "regex_profile", &t->s.regex);
	add_text(out, "character_id", t->s.character_id);
	add_text(out, "character_version_id", t->s.character_version_id);
	add_text(out, "character_imported_format", STR_NULL);
	add_text(out, "character_content_hash", STR_NULL);
	sb_adds(out, "\"worldbook_activated_entry_uids\":[");
	for (size_t i = 0; i < json_len(t->prompt->activated); i++) {
		uid = json_at(t->prompt->activated, i);
		sb_addf(out, "%s%lld", i ? "," : "", (long long)json_get_int(uid, "uid", 0));
	}
	sb_adds(out, "],\"worldbook_activated_entries\":");
	sb_add(out, t->prompt->activated ? json_text(a, t->prompt->activated) : STR("[]"));
	sb_adds(out, ",\"regex_pre_rule_names\":");
	rule_names_print(out, t, REGEX_PLACE_USER);
	sb_adds(out, ",\"regex_post_rule_names\":");
	rule_names_print(out, t, REGEX_PLACE_AI);
	sb_addf(out, ",\"prompt_mode\":\"%s\",\"asset_manifest_digest\":null,", prompt_mode_name(t->s.mode));
	add_text(out, "prompt_digest", t->digest);
	sb_addf(out, "\"token_estimate\":%lld}", (long long)t->prompt->tokens);
}

void
turn_trace_print(struct sb *out, const struct turn *t)
{
	struct arena *a = t->c->a;
	struct json *trace = t->prompt->trace ? json_copy(a, t->prompt->trace) : json_object(a);
	struct json *macro = macro_result_json(a, t->prompt->macros, t->in.phase);

	if (macro)
		json_set(trace, "macro", macro);
	sb_add(out, json_text(a, trace));
}

/* Memory is a later stage: its parts of the wire in their final shape, saying that nothing was asked or done. */
void
turn_memory_print(struct sb *out, const struct turn *t)
{
	sb_adds(out, "{\"summary_injected\":false,\"runtime_mode\":\"disabled\",\"requested_write\":false,\"effective_write\":false,"
		     "\"strategy\":\"none\",\"token_stats\":{\"budget\":null,\"used\":0,\"micro_summary\":0,\"macro_summary\":0,\"direct_items\":0},"
		     "\"scope_resolution\":{\"mode\":\"branch_aware\",\"requested_scopes\":[],\"resolved_scopes\":[],\"requested_branch_id\":");
	sb_add_json(out, t->s.branch.id);
	sb_adds(out, ",\"resolved_branch_id\":");
	sb_add_json(out, t->s.branch.id);
	sb_adds(out, ",\"fallback_reason\":null,\"strict\":false}}");
}

static void
add_member(struct sb *out, struct arena *a, const char *key, const struct json *v, const char *dflt)
{
	sb_addf(out, ",\"%s\":", key);
	if (v)
		sb_add(out, json_text(a, v));
	else
		sb_adds(out, dflt);
}

void
turn_assembly_print(struct sb *out, const struct turn *t)
{
	struct arena *a = t->c->a;
	const struct json *preset = json_get(t->prompt->trace, "preset"), *delivery = json_get(t->prompt->trace, "delivery"),
			  *regex = json_get(t->prompt->trace, "regex");
	/* Members of `assembly` that the trace says under its own names. */
	static const struct {
		const char *name, *trace, *dflt;
	} rows[] = {
		{ "selected_prompt_order_character_id", "selected_prompt_order_character_id", "null" },
		{ "ignored_prompt_order_character_ids", "ignored_prompt_order_character_ids", "[]" },
		{ "unsupported_preset_fields", "unsupported_fields", "[]" },
		{ "ignored_preset_fields", "ignored_fields", "[]" },
		{ "unresolved_preset_markers", "unresolved_markers", "[]" },
		{ "preset_warnings", "warnings", "[]" },
		{ "continue_nudge_applied", "continue_nudge_applied", "false" },
		{ "continue_nudge_text", "continue_nudge_text", "null" },
		{ "names_behavior_applied", "names_behavior_applied", "null" },
		{ "trigger_filtered_entry_ids", "trigger_filtered_entry_ids", "[]" },
		{ "in_chat_inserted_entry_ids", "in_chat_inserted_entry_ids", "[]" },
	};

	sb_addf(out, "{\"mode\":\"%s\",\"prompt_intent\":\"%s\"", t->s.preset.row ? "preset" : "default", prompt_type_name(t->in.type));
	add_member(out, a, "assistant_prefill_applied", json_get(delivery, "assistant_prefill_applied"), "false");
	add_member(out, a, "assistant_prefill_strategy", json_get(delivery, "assistant_prefill_strategy"), "\"none\"");
	sb_addf(out, ",\"preset_used\":%s,\"worldbook_hits\":%zu", t->s.preset.row ? "true" : "false", json_len(t->prompt->activated));
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		add_member(out, a, rows[i].name, json_get(preset, rows[i].trace), rows[i].dflt);
	sb_adds(out, ",\"regex_pre_rules\":");
	rule_names_print(out, t, REGEX_PLACE_USER);
	sb_adds(out, ",\"regex_post_rules\":");
	rule_names_print(out, t, REGEX_PLACE_AI);
	sb_adds(out, ",\"memory_summary_injected\":false,\"reserved_variable_collisions\":[]");
	add_member(out, a, "preprocessed_user_message", json_get(regex, "preprocessed_user_message"), "null");
	add_member(out, a, "worldbook_matches", t->prompt->worldbook_matches, "[]");
	sb_addc(out, '}');
}
