/*
 * assemble: from what was gathered to the outgoing request: settings resolved (request, session,
 * account, operator), the pure assembly, the model's parameters.
 */
#include "turn/turn_private.h"

#include "base/digest.h"
#include "base/map.h"
#include "base/rng.h"

#include <math.h>

/* ---- settings: the session's own, else the account's ---- */

static const struct json *
either(const struct json *session, const struct json *account, const char *key)
{
	const struct json *v = json_get(session, key);

	return v ? v : json_get(account, key);
}

static const struct json *
setting(const struct turn *t, const char *key)
{
	return either(t->s.settings, t->s.account_settings, key);
}

struct prompt_note
turn_note(const struct turn *t)
{
	return prompt_note_read(t->c->a, setting(t, "authors_note"), t->s.metadata);
}

void
turn_clock_settle(struct arena *a, struct prompt_input *in, const struct json *session, const struct json *account)
{
	struct str zone = json_str(either(session, account, "timezone"));

	in->zone = zone.p ? tm_zone_load(a, zone) : NULL;
	in->time_awareness = json_bool(either(session, account, "time_awareness"), true);
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

const char *const turn_lore_strategies[] = { [LORE_EVENLY] = "evenly", [LORE_CHARACTER_FIRST] = "character_first", [LORE_GLOBAL_FIRST] = "global_first" };

void
turn_lore_take(struct prompt_input *in, const struct json *o)
{
	struct lore_settings *s = &in->lore_settings;

	s->scan_depth = (int32_t)json_get_int(o, "scan_depth", s->scan_depth);
	s->budget_percent = json_get_double(o, "budget_percent", s->budget_percent);
	s->budget_cap = json_get_int(o, "budget_cap", s->budget_cap);
	s->recursive = json_get_bool(o, "recursion", s->recursive);
	s->max_steps = (int32_t)json_get_int(o, "max_recursion_steps", s->max_steps);
	s->min_activations = (int32_t)json_get_int(o, "min_activations", s->min_activations);
	s->min_activations_depth_max = (int32_t)json_get_int(o, "min_activations_depth_max", s->min_activations_depth_max);
	s->include_names = json_get_bool(o, "include_names", s->include_names);
	s->group_scoring = json_get_bool(o, "group_scoring", s->group_scoring);
	in->lore_case = json_get_bool(o, "case_sensitive", in->lore_case);
	in->lore_words = json_get_bool(o, "match_whole_words", in->lore_words);
	for (int i = LORE_EVENLY; i <= LORE_GLOBAL_FIRST; i++)
		if (str_is(json_get_str(o, "strategy"), turn_lore_strategies[i]))
			in->lore_strategy = (enum lore_strategy)i;
}

void
turn_lore_settle(struct turn *t)
{
	t->in.lore_settings = lore_settings_defaults();
	t->in.lore_case = t->in.lore_words = false;
	t->in.lore_strategy = LORE_CHARACTER_FIRST;
	turn_lore_take(&t->in, json_get(t->s.account_settings, "lore"));
	turn_lore_take(&t->in, json_get(t->s.settings, "lore"));
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

bool
turn_asks_to_go_on(const struct turn *t)
{
	return t->q.type == TURN_RESPOND && str_is(json_get_str(t->q.body, "prompt_intent"), prompt_type_name(PROMPT_CONTINUE));
}

bool
turn_debug(const struct turn *t, const char *what)
{
	return json_get_bool(json_get(t->policy.policy, "debug"), what, false);
}

/* How the books are called in traces; the scope id of the session's worldbook is the wire's: worldbook:ID:VERSION. */
static void
books_name(struct turn *t)
{
	struct prompt_book_name *v = arena_array(t->c->a, struct prompt_book_name, 2);
	struct str card = t->card ? prompt_card_name(t->card) : STR("");
	size_t n = 0;

	if (t->in.nbooks > 0)
		v[n++] = (struct prompt_book_name){ .book = t->in.books[0].book, .worldbook_id = t->s.worldbook.id, .name = t->s.worldbook.name,
			.scope = str_c(arena_printf(t->c->a, "worldbook:%.*s:%lld", STR_ARG(t->s.worldbook.id), (long long)t->s.worldbook.version_no)) };
	if (t->card_book)
		v[n++] = (struct prompt_book_name){ .book = t->card_book, .name = card, .scope = card };
	t->in.book_names = v;
	t->in.nbook_names = n;
}

/* A turn of decision statements is the newest message: another one, or the same edited, is another turn. */
static void
decisions_settle(struct turn *t)
{
	const struct prompt_message *m = t->in.nhistory > 0 ? &t->in.history[t->in.nhistory - 1] : NULL;
	struct digest d = digest_sha256(m ? m->text : STR(""));

	t->decisions = (struct prompt_decisions){ .state = t->s.decisions, .running = t->s.has_decisions,
		.key = str_c(arena_printf(t->c->a, "%.*s:%.*s", STR_ARG(m ? m->id : STR("")), 16, digest_hex(t->c->a, &d).p)),
		.model = str_c(t->p->conf.decision_model), .ask = t->p->conf.decide ? turn_decide : NULL, .ask_arg = t };
	t->in.decisions = &t->decisions;
}

/* The summary that a client keeps with the session. */
static struct str
summary_of(const struct turn *t)
{
	struct str s = json_str(setting(t, "summary"));

	return s.p ? s : json_get_str(t->s.metadata, "summary");
}

/* What the request says of the reply's size, else the preset, else the operator; the policy narrows it. */
static void
budget_settle(struct turn *t)
{
	struct prompt_input *in = &t->in;
	struct policy_budget b = { in->preset ? prompt_preset_context(in->preset) : 0,
		json_get_int(json_get(t->q.body, "generation_params"), "max_output_tokens", in->preset ? prompt_preset_reply(in->preset) : 0) };

	if (b.context == 0)
		b.context = t->s.context_tokens;
	if (b.reply == 0)
		b.reply = t->s.reply_tokens;
	b = policy_budget(t->policy.policy, b);
	in->max_context = b.context;
	in->max_reply = b.reply;
}

/* What kind of generation it is: a retry is a normal one (decisions 34), and so is a message that is said anew. */
static void
type_settle(struct turn *t)
{
	t->in.type = t->q.type == TURN_REGENERATE ? PROMPT_REGENERATE : PROMPT_NORMAL;
	if (t->q.type == TURN_RESPOND)
		prompt_type_parse(json_get_str(t->q.body, "prompt_intent"), &t->in.type);
	if (t->q.type == TURN_RETRY)
		t->in.run_kind = "retry";
	t->in.again = t->target.again && !t->goes_on;
}

void
turn_input_settle(struct turn *t)
{
	struct prompt_input *in = &t->in;
	const struct json *body = t->q.body;

	in->mode = t->s.mode;
	type_settle(t);
	in->user_name = t->s.user_name;
	turn_lore_settle(t);
	in->regex_memo = t->p->regex_memo;
	in->built_in = t->p->built_in;
	in->model = str_c(t->llm.model);
	in->session_id = t->q.session_id;
	in->policy = t->policy.policy;
	in->note = turn_note(t);
	in->summary = summary_of(t);
	in->metadata = t->s.metadata;
	in->scenario = json_get_str(t->s.metadata, "scenario"); /* a chat's own, as SillyTavern keeps them with it */
	in->examples = json_get_str(t->s.metadata, "mes_example");
	in->value_warnings = true;
	in->preset_choices = t->s.preset_choices;
	in->message_macros = message_macros_setting(t);
	in->reasoning_effort = json_get_str(json_get(body, "generation_params"), "reasoning_effort");
	in->system_apart = llm_system_apart(&t->llm);
	in->names_in_messages_supported = !in->system_apart;
	budget_settle(t);
	books_name(t);
	decisions_settle(t);
	in->count = count_tokens;
	in->count_arg = t;
	in->tokens_reserved = 3;
	in->now = t->c->now;
	in->stopwatch = tm_mono_us;
	turn_clock_settle(t->c->a, in, t->s.settings, t->s.account_settings);
	in->seed = seed_new();
	in->phase = t->dry ? MACRO_DRY_RUN : MACRO_ASSEMBLE;
	in->trace = t->dry || t->layout || turn_debug(t, "include_runtime_trace");
}

/* ---- the model and its parameters ---- */

static const char *
text_or(struct turn *t, struct str v, const char *dflt)
{
	return v.p && v.n > 0 ? arena_strdup(t->c->a, v) : dflt;
}

void
turn_model_choose(struct turn *t)
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
	struct llm_message *v = arena_array(t->work, struct llm_message, p->nmessages);
	struct sb all = sb_new(t->work);
	struct digest d;

	t->marks = arena_array(t->work, uint64_t, p->nmessages);
	for (size_t i = 0; i < p->nmessages; i++) {
		size_t from = all.n;

		v[i] = (struct llm_message){ .role = p->messages[i].role, .content = p->messages[i].content, .name = p->messages[i].name };
		sb_adds(&all, v[i].role);
		sb_addc(&all, '\n');
		sb_add(&all, v[i].name);
		sb_addc(&all, '\n');
		sb_add(&all, v[i].content);
		t->marks[i] = hash_bytes(0, all.p + from, all.n - from);
		sb_addc(&all, '\0'); /* is in no text */
	}
	t->llm.messages = v;
	t->llm.message_n = p->nmessages;
	d = digest_sha256(sb_str(&all));
	t->digest = digest_hex(t->c->a, &d);
}

int
turn_assemble(struct turn *t)
{
	turn_model_choose(t);
	turn_input_settle(t);
	if (t->s.has_decisions) /* as they are before the assembly moves them */
		t->s.decisions_text = json_text(t->c->a, macro_decisions_json(t->c->a, t->s.decisions));
	if (t->past)
		turn_past_settle(t);
	t->in.vars = turn_reads_watch(t->c->a, &t->reads, t->in.vars);
	prompt_assemble(t->work, &t->in, &t->prompt);
	if (t->prompt->error)
		return fail(t->c, ERR_INVALID, t->prompt->error, "%s", t->prompt->error_text ? t->prompt->error_text : "the prompt cannot be built");
	t->llm.stream = t->q.stream || json_get_bool(json_get(t->q.body, "generation_params"), "stream", false);
	params_settle(t);
	messages_settle(t);
	return 0;
}
