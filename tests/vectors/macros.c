/*
 * macros: the macro language. Kind `macros` (levels eval, preview and commit; the level
 * assemble is in macros_assemble.c) and kind `macros-st`, SillyTavern's catalogue in its own dialect.
 */
#include "macros_assemble.h"
#include "vectors.h"

#include "macro/time_format.h"
#include "macro/values.h"

#include "base/rng.h"

struct scene {
	struct macro_env env;
	struct macro_layers layers;
	struct macro_member *members;
	struct rng rng;
};

static double
chance(void *ctx)
{
	return rng_unit(ctx);
}

static bool
outlet(void *ctx, struct str key, struct str *out)
{
	const struct json *v = json_get_s(ctx, key);

	*out = json_str(v);
	return v != NULL;
}

// clang-format off
static const struct { const char *key; enum macro_field field; } field_names[] = {
	{ "user", MF_USER }, { "userName", MF_USER }, { "char", MF_CHAR }, { "description", MF_DESCRIPTION },
	{ "personality", MF_PERSONALITY }, { "scenario", MF_SCENARIO }, { "persona", MF_PERSONA }, { "model", MF_MODEL },
	{ "summary", MF_SUMMARY }, { "lastMessage", MF_LAST_MESSAGE }, { "lastUserMessage", MF_LAST_USER_MESSAGE },
	{ "lastCharMessage", MF_LAST_CHAR_MESSAGE }, { "authorsNote", MF_AUTHORS_NOTE }, { "charPrompt", MF_SYSTEM },
	{ "charInstruction", MF_POST_HISTORY }, { "systemPrompt", MF_SYSTEM_PROMPT }, { "mesExamples", MF_EXAMPLES },
	{ "maxPrompt", MF_MAX_PROMPT }, { "runKind", MF_RUN_KIND }, { "promptMode", MF_PROMPT_MODE },
};

static const struct { const char *key; enum macro_field field; } card_names[] = {
	{ "name", MF_CHAR }, { "description", MF_DESCRIPTION }, { "personality", MF_PERSONALITY }, { "scenario", MF_SCENARIO },
	{ "exampleDialogue", MF_EXAMPLES }, { "exampleDialogue", MF_EXAMPLES_RAW }, { "systemPrompt", MF_SYSTEM },
	{ "postHistoryInstructions", MF_POST_HISTORY }, { "postHistoryInstructions", MF_DEPTH_NOTE },
	{ "creatorNotes", MF_CREATOR_NOTES }, { "characterVersion", MF_CHAR_VERSION }, { "version", MF_CHAR_VERSION },
	{ "greeting", MF_FIRST_MESSAGE }, { "firstMessage", MF_FIRST_MESSAGE },
};
// clang-format on

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- scenes ---- */

static void
scene_init(struct ctx *c, struct scene *s)
{
	*s = (struct scene){ .members = arena_new(c->a, struct macro_member), .rng = rng_seed(1) };
	s->env = (struct macro_env){
		.limits = macro_limits_reference,
		.trace = true,
		.time_awareness = true,
		.idle_ms = -1,
		.members = s->members,
		.n_members = 1,
		.chance = chance,
		.chance_ctx = &s->rng,
		.vars = macro_vars_layers(&s->layers),
	};
}

/* Names given as they are: fields for the read-only ones, ordinary variables for the others. */
static void
scene_names(struct scene *s, const struct json *names, struct json *ordinary)
{
	struct json_iter it = { 0 };
	struct str key;
	struct json *v;

	while (json_next(names, &it, &key, &v)) {
		struct macro_source src = { .text = json_str(v), .expanded = true };
		size_t i = 0;

		while (i < COUNT(field_names) && !str_is(key, field_names[i].key))
			i++;
		if (i == COUNT(field_names))
			json_set_s(ordinary, key, v);
		else if (field_names[i].field < MF_MEMBER__END)
			s->members[0].field[field_names[i].field] = src;
		else
			s->env.field[field_names[i].field] = src;
	}
}

static void
scene_card(struct ctx *c, struct scene *s, const struct json *card)
{
	const struct json *more = json_get(card, "alternateGreetings");
	struct str *list = arena_array(c->a, struct str, json_len(more) + 1);

	for (size_t i = 0; i < COUNT(card_names); i++)
		if (json_has(card, card_names[i].key))
			s->members[0].field[card_names[i].field].text = json_get_str(card, card_names[i].key);
	for (size_t i = 0; i < json_len(more); i++)
		list[i] = json_str(json_at(more, i));
	s->members[0].greetings = list;
	s->members[0].n_greetings = json_len(more);
}

static int64_t
clock_of(const struct json *context, const char *dflt)
{
	struct str s = json_get_str(context, "now");
	int64_t ms = 0;

	time_parse(NULL, s.p ? s : str_c(dflt), &ms);
	return ms;
}

/* ---- comparing ---- */

static struct json *
warning_codes(struct arena *a, const struct macro_result *r, size_t from, size_t to, bool names)
{
	struct json *list = json_array(a);

	for (size_t i = from; i < to; i++) {
		const struct macro_warning *w = &r->warnings.v[i];

		for (unsigned k = 0; k < w->count; k++)
			json_push_str(list, names ? str_c(arena_printf(a, "%s:%.*s", macro_code_name(w->code),
							STR_ARG(w->name)))
						  : str_c(macro_code_name(w->code)));
	}
	return list;
}

static struct json *
write_list(struct arena *a, const struct macro_result *r, bool as_text, bool source)
{
	struct json *list = json_array(a);

	for (size_t i = 0; i < r->writes.n; i++) {
		const struct macro_write *w = &r->writes.v[i];
		struct json *o = json_push_object(list);

		json_set_c(o, "kind", w->del ? "delete" : "set");
		json_set_c(o, "scope", w->scope == MACRO_SCOPE_GLOBAL ? "global" : "branch");
		json_set_str(o, "key", w->key);
		if (!w->del && (as_text || w->value.text.p))
			json_set_str(o, "value", macro_value_text(a, &w->value));
		else if (!w->del)
			json_set(o, "value", w->value.json);
		if (source)
			json_set_c(o, "source_macro", w->source_macro);
	}
	return list;
}

static struct json *
name_list(struct arena *a, const struct macro_result *r)
{
	struct json *list = json_array(a);

	for (size_t i = 0; i < r->used_names.n; i++)
		json_push_str(list, r->used_names.v[i]);
	return list;
}

static struct json *
trace_list(struct arena *a, const struct macro_result *r, enum macro_phase phase)
{
	const struct json *all = macro_result_json(a, r, phase);

	return all ? json_get(all, "traces") : json_array(a);
}

static int
check_text(struct sb *why, const struct json *expect, struct str got)
{
	const struct json *list = json_get(expect, "one_of");

	if (!list)
		return vector_check_str(why, "text", json_get_str(expect, "text"), got);
	for (size_t i = 0; i < json_len(list); i++)
		if (str_eq(json_str(json_at(list, i)), got))
			return VECTOR_PASS;
	sb_addf(
	    why, "text: expected one of %.*s, got \"%.*s\"", STR_ARG(json_text(why->a, list)), STR_ARG(got));
	return VECTOR_FAIL;
}

/* A member that the case leaves open is not compared. */
static int
check_member(struct sb *why, const struct json *expect, const char *key, const struct json *got)
{
	if (!json_has(expect, key))
		return VECTOR_PASS;
	return vector_check_json(why, key, json_get(expect, key), got);
}

/* ---- levels ---- */

static enum macro_phase
phase_of(struct str name)
{
	for (int p = 0; p < MACRO_PHASE__COUNT; p++)
		if (str_is(name, macro_phase_name((enum macro_phase)p)))
			return (enum macro_phase)p;
	return MACRO_ASSEMBLE;
}

static int
run_eval(struct ctx *c, const struct json *case_, struct sb *why)
{
	const struct json *context = json_get(case_, "context"), *expect = json_get(case_, "expect");
	const struct json *vars = json_get(context, "variables"), *limits = json_get(context, "limits");
	struct json *ordinary = json_object(c->a);
	const struct macro_result *r;
	struct macro_run *run;
	struct scene s;
	struct str text;
	int v;

	scene_init(c, &s);
	s.env.phase = phase_of(json_get_str(context, "phase"));
	s.env.field[MF_USER].text = json_get_str(context, "user");
	s.members[0].field[MF_CHAR].text = json_get_str(context, "char");
	s.env.now = clock_of(context, "2024-02-09T15:04:05Z");
	scene_names(&s, json_get(context, "macros"), ordinary);
	s.layers = (struct macro_layers){
		.branch = json_get(vars, "local"), .global = json_get(vars, "global"), .ordinary = ordinary
	};
	s.env.limits.depth = (unsigned)json_get_int(limits, "max_depth", s.env.limits.depth);
	s.env.limits.steps = (unsigned)json_get_int(limits, "max_steps", s.env.limits.steps);
	s.env.limits.writes = (unsigned)json_get_int(limits, "max_mutation_count", s.env.limits.writes);
	s.env.limits.length =
	    (size_t)json_get_int(limits, "max_expanded_length", (int64_t)s.env.limits.length);
	run = macro_run_new(c->a, &s.env);
	text = macro_eval(run,
	    &(struct macro_piece){ .tpl = macro_compile(c->a, json_get_str(case_, "template"), MACRO_AUTO) });
	r = macro_run_result(run);
	v = check_text(why, expect, text);
	v |= check_member(why, expect, "warnings", warning_codes(c->a, r, 0, r->warnings.n, false));
	v |= check_member(why, expect, "mutations", write_list(c->a, r, false, true));
	v |= check_member(why, expect, "used_names", name_list(c->a, r));
	v |= check_member(why, expect, "traces", trace_list(c->a, r, s.env.phase));
	return v ? VECTOR_FAIL : VECTOR_PASS;
}

static struct macro_message *
messages_of(struct ctx *c, const struct json *list)
{
	struct macro_message *m = arena_array(c->a, struct macro_message, json_len(list) + 1);

	for (size_t i = 0; i < json_len(list); i++) {
		struct str role = json_get_str(json_at(list, i), "role");

		m[i].author = str_is(role, "user")     ? MACRO_BY_USER
			      : str_is(role, "system") ? MACRO_BY_SYSTEM
						       : MACRO_BY_CHAR;
		m[i].text = json_get_str(json_at(list, i), "content");
	}
	return m;
}

/* The ordinary variables that are set, by name. */
static size_t
names_of(struct ctx *c, const struct json *o, struct str **out)
{
	struct json_iter it = { 0 };
	struct str key;
	struct json *v;
	size_t n = 0;

	*out = arena_array(c->a, struct str, json_len(o) + 1);
	while (json_next(o, &it, &key, &v))
		(*out)[n++] = key;
	return n;
}

static int
run_preview(struct ctx *c, const struct json *case_, struct sb *why)
{
	const struct json *context = json_get(case_, "context"), *expect = json_get(case_, "expect");
	const struct json *vars = json_get(context, "variables"), *user = json_get(context, "user");
	const struct json *history = json_get(context, "history"), *ordinary = json_get(vars, "ordinary");
	struct macro_inputs in = { .first_included = -1, .run_kind = "dry_run" };
	const struct macro_result *r;
	struct macro_run *run;
	struct scene s;
	struct str text, *names;
	size_t before, n;
	int v;

	scene_init(c, &s);
	s.env.phase = MACRO_PREVIEW;
	s.env.now = clock_of(context, "2024-01-02T03:04:05Z");
	s.layers = (struct macro_layers){ .branch = json_get(vars, "local"),
		.global = json_get(vars, "global"),
		.ordinary = ordinary ? ordinary : json_object(c->a) };
	scene_card(c, &s, json_get(context, "character"));
	in.metadata = json_get(context, "metadata");
	in.user = json_get_str(user, "name");
	in.persona = json_get_str(user, "description");
	in.summary = json_get_str(context, "memory_summary");
	in.prompt_mode = json_get_str(context, "prompt_mode");
	in.messages = messages_of(c, history);
	in.n_messages = json_len(history);
	macro_values_fill(c->a, &in, &s.env);
	run = macro_run_new(c->a, &s.env);
	n = names_of(c, ordinary, &names);
	macro_values_warn(run, names, n);
	before = macro_run_result(run)->warnings.n;
	text = macro_eval(run,
	    &(struct macro_piece){ .tpl = macro_compile(c->a, json_get_str(case_, "template"), MACRO_AUTO) });
	r = macro_run_result(run);
	v = check_text(why, expect, text);
	v |= check_member(why, expect, "warnings", warning_codes(c->a, r, 0, r->warnings.n, false));
	v |= check_member(why, expect, "value_warnings", warning_codes(c->a, r, 0, before, true));
	v |= check_member(why, expect, "eval_warnings", warning_codes(c->a, r, before, r->warnings.n, false));
	v |= check_member(why, expect, "mutations", write_list(c->a, r, true, false));
	v |= check_member(why, expect, "used_names", name_list(c->a, r));
	v |= check_member(why, expect, "traces", trace_list(c->a, r, MACRO_PREVIEW));
	return v ? VECTOR_FAIL : VECTOR_PASS;
}

static int
run_commit(struct ctx *c, const struct json *case_, struct sb *why)
{
	const struct json *context = json_get(case_, "context"), *vars = json_get(context, "variables");
	const struct json *list = json_get(context, "staged_mutations");
	struct macro_write *w = arena_array(c->a, struct macro_write, json_len(list) + 1);
	struct json *after = json_object(c->a), *branch, *global;

	json_set(after, "branch", json_copy(c->a, json_get(vars, "branch")));
	json_set(after, "global", json_copy(c->a, json_get(vars, "global")));
	branch = json_get(after, "branch");
	global = json_get(after, "global");
	for (size_t i = 0; i < json_len(list); i++) {
		const struct json *m = json_at(list, i);

		w[i].del = str_is(json_get_str(m, "kind"), "delete");
		w[i].scope =
		    str_is(json_get_str(m, "scope"), "global") ? MACRO_SCOPE_GLOBAL : MACRO_SCOPE_BRANCH;
		w[i].key = json_get_str(m, "key");
		w[i].value.json = json_get(m, "value");
	}
	macro_writes_apply(c->a, w, json_len(list), branch, global);
	return check_member(why, json_get(case_, "expect"), "variables_after", after);
}

static int
run_macros(struct ctx *c, const struct json *file, const struct json *case_, struct sb *why)
{
	struct str level = json_get_str(case_, "level");

	(void)file;
	if (str_is(level, "eval"))
		return run_eval(c, case_, why);
	if (str_is(level, "preview"))
		return run_preview(c, case_, why);
	if (str_is(level, "commit"))
		return run_commit(c, case_, why);
	return macros_assemble(c, case_, why);
}

const struct vector_kind vectors_macros = { .name = "macros", .run_case = run_macros };

/* ---- SillyTavern's catalogue ---- */

static void
st_chat(struct ctx *c, const struct json *context, struct macro_inputs *in)
{
	const struct json *chat = json_get(context, "chat");
	struct macro_message *m = arena_array(c->a, struct macro_message, json_len(chat) + 1);

	for (size_t i = 0; i < json_len(chat); i++) {
		const struct json *o = json_at(chat, i);

		m[i].author = json_get_bool(o, "is_user", false) ? MACRO_BY_USER : MACRO_BY_CHAR;
		m[i].hidden = json_get_bool(o, "is_system", false);
		m[i].text = json_get_str(o, "mes");
		m[i].swipes = (unsigned)json_len(json_get(o, "swipes"));
		m[i].swipe = (unsigned)json_get_int(o, "swipe_id", 0);
		time_parse(NULL, json_get_str(o, "send_date"), &m[i].sent);
	}
	in->messages = m;
	in->n_messages = json_len(chat);
	in->first_included = json_get_int(context, "last_in_context", -1);
}

static void
st_group(struct ctx *c, struct scene *s, struct str names)
{
	struct macro_member *m = arena_array(c->a, struct macro_member, names.n + 2);
	struct str rest = names, name;
	size_t n = 0;

	m[n] = s->members[0]; /* the scene's character is named apart from the group's list */
	m[n++].outside = true;
	while (str_next(&rest, ',', &name)) {
		m[n] = s->members[0];
		m[n++].field[MF_CHAR].text = str_trim(name);
	}
	s->env.members = m;
	s->env.n_members = n;
	s->env.group = true;
}

static int
run_st(struct ctx *c, const struct json *file, const struct json *case_, struct sb *why)
{
	const struct json *context = json_get(case_, "context"), *expect = json_get(case_, "expect");
	const struct json *vars = json_get(context, "variables"), *card = json_get(context, "card");
	struct json *ordinary = json_object(c->a), *after;
	struct macro_inputs in = { .run_kind = "respond",
		.model = STR("model-x"),
		.max_context = 8192,
		.max_response = 512,
		.max_prompt = 4096,
		.default_system_prompt = STR("SYS"),
		.preset_main = STR("SYS") };
	struct str text, chat_id = json_get_str(context, "chat_id"), group = json_get_str(context, "group");
	const struct macro_result *r;
	struct macro_run *run;
	struct scene s;
	int v;

	(void)file;
	scene_init(c, &s);
	s.env.phase = MACRO_ASSEMBLE;
	s.env.field_in_field = true;
	s.env.now = clock_of(context, "2024-02-09T15:04:05Z");
	if (json_get_str(context, "tz").p)
		s.env.zone = tm_zone_load(c->a, json_get_str(context, "tz"));
	s.layers = (struct macro_layers){
		.branch = json_get(vars, "local"), .global = json_get(vars, "global"), .ordinary = ordinary
	};
	scene_card(c, &s, card);
	s.members[0].field[MF_CHAR].text = json_get_str(context, "char");
	in.user = json_get_str(context, "user");
	in.persona = json_get_str(card, "persona");
	st_chat(c, context, &in);
	macro_values_fill(c->a, &in, &s.env);
	s.env.field[MF_CHAT_ID].text = chat_id.p ? chat_id : STR("chat-1");
	s.env.field[MF_CHAT_START].text = s.env.field[MF_EXAMPLE_SEPARATOR].text = STR("***");
	scene_names(&s, json_get(context, "macros"), ordinary);
	if (group.p)
		st_group(c, &s, group);
	s.env.outlet = outlet;
	s.env.outlet_ctx = json_get(context, "outlets");
	run = macro_run_new(c->a, &s.env);
	text = macro_eval(
	    run, &(struct macro_piece){ .original = json_get_str(context, "original"),
		     .tpl = macro_compile(c->a, json_get_str(case_, "template"), MACRO_SILLYTAVERN) });
	r = macro_run_result(run);
	v = check_text(why, expect, text);
	after = json_object(c->a);
	json_set(after, "local",
	    json_get(vars, "local") ? json_copy(c->a, json_get(vars, "local")) : json_object(c->a));
	json_set(after, "global",
	    json_get(vars, "global") ? json_copy(c->a, json_get(vars, "global")) : json_object(c->a));
	macro_writes_apply(
	    c->a, r->writes.v, r->writes.n, json_get(after, "local"), json_get(after, "global"));
	v |= check_member(why, expect, "variables_after", after);
	return v ? VECTOR_FAIL : VECTOR_PASS;
}

const struct vector_kind vectors_macros_st = { .name = "macros-st", .run_case = run_st };
