/*
 * conditionals: Marinara's conditional prompts: rendering, decision statements over several turns, what a
 * text holds and what of it must be asked, reading of answers, choice blocks.
 */
#include "vectors.h"

#include "macro/decide.h"

#include <math.h>

struct scene {
	struct macro_env env;
	struct macro_layers layers;
	const struct json *presets, *answers;
	struct ctx *c;
};

// clang-format off
static const struct { const char *key; enum macro_field field; } card_names[] = {
	{ "description", MF_DESCRIPTION }, { "personality", MF_PERSONALITY }, { "scenario", MF_SCENARIO },
	{ "backstory", MF_BACKSTORY }, { "appearance", MF_APPEARANCE }, { "example", MF_EXAMPLES_RAW },
	{ "charSysInfo", MF_SYSTEM }, { "charPostHistory", MF_POST_HISTORY },
};

static const struct { const char *key; enum macro_field field; } run_names[] = {
	{ "model", MF_MODEL }, { "input", MF_LAST_USER_MESSAGE }, { "chat_id", MF_CHAT_ID },
	{ "generation_type", MF_GENERATION_TYPE }, { "reasoning", MF_REASONING },
};

static const struct { const char *key; enum macro_field field; } persona_names[] = {
	{ "description", MF_PERSONA }, { "personality", MF_PERSONA_PERSONALITY }, { "backstory", MF_PERSONA_BACKSTORY },
	{ "appearance", MF_PERSONA_APPEARANCE }, { "scenario", MF_PERSONA_SCENARIO },
};
// clang-format on

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- scenes ---- */

static bool
preset_var(void *ctx, struct str name, struct str *out)
{
	const struct scene *s = ctx;

	*out = json_str(json_get_s(s->presets, name));
	return out->p != NULL;
}

static void
card(struct macro_member *m, const struct json *o)
{
	for (size_t i = 0; i < COUNT(card_names); i++)
		if (json_has(o, card_names[i].key))
			m->field[card_names[i].field].text = json_get_str(o, card_names[i].key);
}

/* Everybody in the chat by name; cards where the case gives them. */
static void
members(struct ctx *c, struct scene *s, const struct json *context, struct str name)
{
	const struct json *list = json_get(context, "members"), *profiles = json_get(context, "profiles");
	size_t n = json_len(list);
	struct macro_member *m = arena_array(c->a, struct macro_member, n + 1);
	bool found = false;

	for (size_t i = 0; i < n; i++) {
		m[i].field[MF_CHAR].text = json_str(json_at(list, i));
		for (size_t k = 0; k < json_len(profiles); k++)
			if (str_eq(json_get_str(json_at(profiles, k), "name"), m[i].field[MF_CHAR].text))
				card(&m[i], json_at(profiles, k));
		if (!str_eq(m[i].field[MF_CHAR].text, name))
			continue;
		s->env.speaker = i;
		found = true;
	}
	if (!found) {
		s->env.speaker = n;
		m[n].field[MF_CHAR].text = name;
		m[n].outside = n > 0;
		n++;
	}
	card(&m[s->env.speaker], context);
	s->env.members = m;
	s->env.n_members = n;
	s->env.group = n > 1;
}

static void
scene_init(struct ctx *c, struct scene *s, const struct json *context)
{
	struct str user = json_get_str(context, "user"), name = json_get_str(context, "char");
	const struct json *persona = json_get(context, "persona");

	*s = (struct scene){ .c = c, .presets = json_get(context, "variables") };
	s->env = (struct macro_env){
		.phase = MACRO_ASSEMBLE, .limits = macro_limits_default, .time_awareness = true, .idle_ms = -1
	};
	s->layers.branch = json_get(context, "localVariables");
	s->env.vars = macro_vars_layers(&s->layers);
	s->env.preset_var = preset_var;
	s->env.preset_ctx = s;
	s->env.field[MF_USER].text = user.p ? user : STR("Bob");
	for (size_t i = 0; i < COUNT(run_names); i++)
		s->env.field[run_names[i].field].text = json_get_str(context, run_names[i].key);
	for (size_t i = 0; i < COUNT(persona_names); i++)
		s->env.field[persona_names[i].field].text = json_get_str(persona, persona_names[i].key);
	if (json_type(persona) == JSON_STRING)
		s->env.field[MF_PERSONA].text = json_str(persona);
	members(c, s, context, name.p ? name : STR("Alice"));
}

static const struct macro_template *
template_of(struct ctx *c, struct str text)
{
	return macro_compile(c->a, text, MACRO_MARINARA);
}

/* ---- turns ---- */

static struct macro_answer
given_answer(const struct macro_statement *s, const struct json *answers, const struct json *choices)
{
	struct macro_answer a = { 0 };

	if (s->choice && json_get_s(choices, s->text))
		a = (struct macro_answer){ MACRO_OPTION, json_str(json_get_s(choices, s->text)) };
	else if (!s->choice && json_get_s(answers, s->text))
		a.kind = json_bool(json_get_s(answers, s->text), false) ? MACRO_YES : MACRO_NO;
	return a;
}

static struct json *
texts(struct ctx *c, const struct macro_statements *s)
{
	struct json *list = json_array(c->a);

	for (size_t i = 0; i < s->v.n; i++)
		json_push_str(list, s->v.v[i].text);
	return list;
}

static struct json *
held_answers(struct ctx *c, const struct macro_turn *t)
{
	struct json *o = json_object(c->a);

	for (size_t i = 0; i < t->held.n; i++) {
		const struct macro_held *h = &t->held.v[i];

		if (h->answer.kind == MACRO_OPTION)
			json_set_s(o, h->text, json_string(c->a, h->answer.option));
		else if (h->answer.kind == MACRO_COOLING)
			json_set_s(o, h->text, json_string(c->a, STR(MACRO_NONE_OF_THESE)));
		else
			json_set_bool(o, arena_strdup(c->a, h->text), h->answer.kind == MACRO_YES);
	}
	return o;
}

static struct json *
options_asked(struct ctx *c, const struct macro_statements *s)
{
	struct json *o = json_object(c->a);

	for (size_t i = 0; i < s->v.n; i++) {
		struct json *list;

		if (!s->v.v[i].choice)
			continue;
		list = json_set_array(o, arena_strdup(c->a, s->v.v[i].text));
		for (size_t k = 0; k < s->v.v[i].options.n; k++) {
			struct json *x = json_push_object(list);

			json_set_str(x, "name", s->v.v[i].options.v[k].name);
			if (s->v.v[i].options.v[k].criteria.p)
				json_set_str(x, "criteria", s->v.v[i].options.v[k].criteria);
		}
	}
	return o;
}

static int
check(struct sb *why, const struct json *expect, const char *key, const struct json *got)
{
	return json_has(expect, key) ? vector_check_json(why, key, json_get(expect, key), got) : VECTOR_PASS;
}

/* One turn: plan, answer, render, compare. `o` has the answers and what is expected. */
static int
play(struct ctx *c, struct macro_decisions *state, struct str key, const struct json *context,
    struct str text, const struct json *o, int64_t limit, struct sb *why)
{
	const struct json *expect = json_get(o, "expect"), *answers = json_get(o, "answers"),
			  *choices = json_get(o, "choices");
	const struct macro_template *t = template_of(c, text);
	struct json *unanswered = json_array(c->a);
	bool model =
	    json_get_bool(o, "decision_model", true) && json_get_bool(context, "decision_model", true);
	struct macro_turn *turn = macro_turn_begin(c->a, state, key, model ? STR("model") : STR(""));
	struct scene s;
	struct str out;
	int v;

	scene_init(c, &s, context);
	macro_turn_plan(turn, &s.env, &t, 1, (unsigned)limit);
	for (size_t i = 0; i < turn->ask.v.n; i++)
		macro_turn_answer(turn, i,
		    given_answer(&turn->ask.v.v[i], answers ? answers : json_get(context, "answers"),
			choices ? choices : json_get(context, "choices")));
	macro_turn_end(turn);
	s.env.answer = macro_turn_lookup;
	s.env.answer_ctx = turn;
	out = macro_eval(macro_run_new(c->a, &s.env), &(struct macro_piece){ .tpl = t });
	for (size_t i = 0; i < turn->unanswered.n; i++)
		json_push_str(unanswered, turn->unanswered.v[i]);
	v = vector_check_str(why, "text", json_get_str(expect, "text"), out);
	v |= check(why, expect, "asked", texts(c, &turn->ask));
	v |= check(why, expect, "dropped", texts(c, &turn->dropped));
	v |= check(why, expect, "unanswered", unanswered);
	v |= check(why, expect, "held", held_answers(c, turn));
	v |= check(why, expect, "options", options_asked(c, &turn->ask));
	return v ? VECTOR_FAIL : VECTOR_PASS;
}

static int
run_render(struct ctx *c, const struct json *k, struct sb *why)
{
	return play(c, macro_decisions_new(c->a, NULL), STR("m1"), json_get(k, "context"),
	    json_get_str(k, "template"), k, json_get_int(k, "limit", MACRO_DECISION_LIMIT), why);
}

/* The state travels as JSON between turns, as the server stores it. */
static int
run_turns(struct ctx *c, const struct json *k, struct sb *why)
{
	const struct json *turns = json_get(k, "turns"), *stored = NULL;

	for (size_t i = 0; i < json_len(turns); i++) {
		const struct json *t = json_at(turns, i), *context = json_get(t, "context");
		struct macro_decisions *state = macro_decisions_new(c->a, stored);
		struct str text = json_get_str(t, "template");

		if (play(c, state, json_get_str(t, "turn_id"), context ? context : json_get(k, "context"),
			text.p ? text : json_get_str(k, "template"), t,
			json_get_int(k, "limit", MACRO_DECISION_LIMIT), why)) {
			sb_addf(why, " (turn %zu)", i + 1);
			return VECTOR_FAIL;
		}
		stored = macro_decisions_json(c->a, state);
	}
	return VECTOR_PASS;
}

/* ---- statements ---- */

static struct json *
statement_list(struct ctx *c, const struct macro_statements *s)
{
	struct json *list = json_array(c->a);

	for (size_t i = 0; i < s->v.n; i++) {
		const struct macro_statement *x = &s->v.v[i];
		struct json *o = json_push_object(list), *sub;

		json_set_c(o, "kind", x->choice ? "decision_choice" : "decision");
		json_set_str(o, "statement", x->text);
		if (x->choice) {
			sub = json_set_array(o, "options");
			for (size_t n = 0; n < x->options.n; n++)
				json_push_str(sub, x->options.v[n].name);
		}
		if (x->sticky)
			json_set_int(o, "sticky", x->sticky);
		if (x->cooldown)
			json_set_int(o, "cooldown", x->cooldown);
		if (x->every)
			json_set_int(o, "every", x->every);
		if (x->priority != MACRO_PRIORITY_MEDIUM)
			json_set_c(o, "priority", x->priority == MACRO_PRIORITY_HIGH ? "high" : "low");
		if (x->lasts) {
			sub = json_set_object(o, x->lasts == MACRO_LASTS_UNTIL ? "until" : "while");
			json_set_str(sub, "statement", x->lasts_text);
			json_set_c(sub, "mode", x->lasts_or ? "or" : "and");
		}
	}
	return list;
}

static int
run_collect(struct ctx *c, const struct json *k, struct sb *why)
{
	struct macro_statements s = { 0 };

	macro_statements_collect(c->a, template_of(c, json_get_str(k, "template")), &s);
	return check(why, json_get(k, "expect"), "statements", statement_list(c, &s));
}

static struct macro_answer
scene_answer(void *ctx, bool choice, struct str text)
{
	const struct scene *s = ctx;

	return given_answer(&(struct macro_statement){ .choice = choice, .text = text }, s->answers, NULL);
}

static int
run_reach(struct ctx *c, const struct json *k, struct sb *why)
{
	const struct json *expect = json_get(k, "expect");
	struct macro_statements s = { 0 };
	struct scene scene;
	struct str text;
	int v;

	scene_init(c, &scene, json_get(k, "context"));
	scene.answers = json_get(k, "answers");
	scene.env.answer = scene_answer;
	scene.env.answer_ctx = &scene;
	text = macro_statements_reach(c->a, &scene.env, template_of(c, json_get_str(k, "template")),
	    json_get_bool(k, "settled_only", false), &s);
	v = vector_check_str(why, "text", json_get_str(expect, "text"), text);
	v |= check(why, expect, "reachable", texts(c, &s));
	return v ? VECTOR_FAIL : VECTOR_PASS;
}

static int
run_plan(struct ctx *c, const struct json *k, struct sb *why)
{
	const struct json *sources = json_get(k, "sources"), *expect = json_get(k, "expect");
	struct macro_statements found = { 0 }, ask = { 0 }, dropped = { 0 };
	struct scene scene;
	int v;

	scene_init(c, &scene, json_get(k, "context"));
	for (size_t i = 0; i < json_len(sources); i++)
		macro_statements_reach(
		    c->a, &scene.env, template_of(c, json_str(json_at(sources, i))), false, &found);
	macro_statements_plan(
	    c->a, &found, (unsigned)json_get_int(k, "limit", MACRO_DECISION_LIMIT), &ask, &dropped);
	v = check(why, expect, "decisions", statement_list(c, &ask));
	v |= check(why, expect, "dropped", texts(c, &dropped));
	return v ? VECTOR_FAIL : VECTOR_PASS;
}

/* ---- readings ---- */

static bool
near(double a, double b)
{
	return fabs(a - b) <= 1.01e-6; /* the file gives six decimals */
}

static int
run_logprobs(struct ctx *c, const struct json *k, struct sb *why)
{
	const struct json *list = json_get(k, "top_logprobs"), *expect = json_get(k, "expect");
	struct macro_token_odds *v = arena_array(c->a, struct macro_token_odds, json_len(list) + 1);
	struct macro_reading r;
	const struct json *yes = json_get(expect, "yes");

	for (size_t i = 0; i < json_len(list); i++) {
		const struct json *lp = json_get(json_at(list, i), "logprob");

		v[i].token = json_get_str(json_at(list, i), "token");
		v[i].bad = json_type(lp) != JSON_DOUBLE && json_type(lp) != JSON_INT;
		v[i].logprob = json_double(lp, 0);
	}
	r = macro_decision_read(v, json_len(list), 0.5);
	if (near(json_get_double(expect, "probability", -1), r.probability) &&
	    near(json_get_double(expect, "share", -1), r.share) &&
	    json_get_bool(expect, "answered", !r.answered) == r.answered &&
	    (r.answered ? json_bool(yes, !r.yes) == r.yes : yes == NULL))
		return VECTOR_PASS;
	sb_addf(why, "got probability %g, share %g, answered %d, yes %d", r.probability, r.share, r.answered,
	    r.yes);
	return VECTOR_FAIL;
}

static bool
flag(const struct json *o, const char *key)
{
	const struct json *v = json_get(o, key);

	return json_type(v) == JSON_STRING ? str_is(json_str(v), "true") || str_is(json_str(v), "1")
	       : json_type(v) == JSON_INT  ? json_int(v, 0) == 1
					   : json_bool(v, false);
}

static int
run_preset(struct ctx *c, const struct json *k, struct sb *why)
{
	const struct json *list = json_get(k, "options");
	struct str *options = arena_array(c->a, struct str, json_len(list) + 1);
	struct macro_choice_block b = { .options = options, .n_options = json_len(list) };

	for (size_t i = 0; i < json_len(list); i++)
		options[i] = json_str(json_at(list, i));
	b.multi = flag(k, "multi_select");
	b.random = flag(k, "random_pick");
	b.separator = json_get_str(k, "separator");
	return vector_check_str(why, "value", json_get_str(json_get(k, "expect"), "value"),
	    macro_choice_value(
		c->a, &b, json_get(k, "selected"), json_has(k, "selected"), json_get_double(k, "random", 0)));
}

// clang-format off
static const struct { const char *kind; int (*run)(struct ctx *, const struct json *, struct sb *); } kinds[] = {
	{ "render", run_render }, { "turns", run_turns }, { "collect", run_collect }, { "reach", run_reach },
	{ "plan", run_plan }, { "logprobs", run_logprobs }, { "preset_variable", run_preset },
};
// clang-format on

static int
run_case(struct ctx *c, const struct json *file, const struct json *case_, struct sb *why)
{
	struct str kind = json_get_str(case_, "kind");

	(void)file;
	for (size_t i = 0; i < COUNT(kinds); i++)
		if (str_is(kind, kinds[i].kind))
			return kinds[i].run(c, case_, why);
	sb_addf(why, "unknown kind \"%.*s\"", STR_ARG(kind));
	return VECTOR_FAIL;
}

const struct vector_kind vectors_conditionals = { .name = "conditionals", .run_case = run_case };
