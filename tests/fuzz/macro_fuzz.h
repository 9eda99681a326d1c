/*
 * macro_fuzz: what the fuzz targets of the macro dialects share: a scene with names, variables and two
 * characters, and the properties that hold for any text: the same result twice, stored variables untouched,
 * text without macros unchanged, output bounded by what the limits allow.
 */
#ifndef TESTS_FUZZ_MACRO_FUZZ_H
#define TESTS_FUZZ_MACRO_FUZZ_H

#include "macro/catalogue.h"
#include "macro/decide.h"
#include "macro/tomori.h"

#include "base/rng.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz_scene {
	struct macro_env env;
	struct macro_member members[2];
	struct macro_layers layers;
	struct rng rng;
};

static inline void
fuzz_need(bool ok)
{
	if (!ok)
		abort();
}

/* One arena for all inputs, empty at the start of each: much faster than a new one. */
static inline struct arena *
fuzz_arena(void)
{
	static struct arena *a;

	if (!a)
		a = arena_create("fuzz", 256u << 10);
	arena_reset(a);
	return a;
}

static double
fuzz_chance(void *ctx)
{
	return rng_unit(ctx);
}

static bool
fuzz_preset(void *ctx, struct str name, struct str *out)
{
	(void)ctx;
	if (name.n != 4)
		return false;
	*out = STR("{{#if char}}soft{{/if}} {{tone}}");
	return true;
}

static int
fuzz_capability(void *ctx, struct str name)
{
	(void)ctx;
	return (int)(name.n % 3) - 1;
}

static struct macro_answer
fuzz_answer(void *ctx, bool choice, struct str text)
{
	(void)ctx;
	if (choice)
		return (struct macro_answer){ MACRO_OPTION, STR("angry") };
	return (struct macro_answer){ .kind = (enum macro_answer_kind)(text.n % 3) };
}

static inline void
fuzz_scene_init(struct arena *a, struct fuzz_scene *s, uint8_t options)
{
	static const char local[] =
	    "{\"a\":1,\"b\":\"x\",\"o\":{\"k\":{\"d\":[1,2]}},\"l\":[1],\"t\":\"[1]\",\"z\":null,\"\":\"e\"}";
	struct json_error err;

	*s = (struct fuzz_scene){ .rng = rng_seed(7) };
	s->layers.branch = json_read(a, str_c(local), 16, &err);
	s->layers.global = json_read(a, STR("{\"g\":true,\"a\":\"{{a}}\"}"), 16, &err);
	for (int i = 0; i < 2; i++) {
		s->members[i].field[MF_CHAR].text = i ? STR("Bob") : STR("Ann");
		s->members[i].field[MF_DESCRIPTION].text =
		    STR("{{char}} of {{user}} {{description}}{{incvar::n}}");
		s->members[i].field[MF_FIRST_MESSAGE].text = STR("hi");
	}
	s->env = (struct macro_env){
		.phase = (enum macro_phase)(options % MACRO_PHASE__COUNT),
		.limits = { .depth = options & 8 ? 200 : 6,
		    .steps = options & 16 ? 4000 : 40,
		    .length = options & 32 ? 20000 : 60,
		    .writes = 20,
		    .warnings = 10 },
		.trace = (options & 64) != 0,
		.time_awareness = true,
		.field_in_field = (options & 128) != 0,
		.now = 1707491045000,
		.idle_ms = 3600000,
		.members = s->members,
		.n_members = 1 + (options & 1),
		.group = options & 1,
		.vars = macro_vars_layers(&s->layers),
		.chance = fuzz_chance,
		.chance_ctx = &s->rng,
		.answer = fuzz_answer,
		.preset_var = fuzz_preset,
		.capability = fuzz_capability,
	};
	s->env.field[MF_USER].text = STR("{{user}}");
	s->env.field[MF_LAST_USER_MESSAGE].text = STR("say {{setvar::hack::1}} }} {{#if a}}");
	s->env.field[MF_CHAT_ID].text = STR("chat-1");
}

static inline struct str
fuzz_eval(
    struct arena *a, const struct macro_template *t, uint8_t options, enum macro_owner owner, size_t *writes)
{
	struct fuzz_scene s;
	struct macro_run *r;
	struct str out, before, after;

	fuzz_scene_init(a, &s, options);
	before = json_text(a, s.layers.branch);
	r = macro_run_new(a, &s.env);
	out = macro_eval(r, &(struct macro_piece){ .tpl = t, .owner = owner, .original = STR("orig") });
	after = json_text(a, s.layers.branch);
	fuzz_need(str_eq(before, after));
	*writes = macro_run_result(r)->writes.n;
	if (owner == MACRO_MESSAGE_READ)
		fuzz_need(*writes == 0);
	macro_result_json(a, macro_run_result(r), s.env.phase);
	return out;
}

/* The properties of any dialect. */
static inline void
fuzz_dialect(const uint8_t *data, size_t size, enum macro_dialect d)
{
	struct arena *a = fuzz_arena();
	uint8_t options = size ? data[0] : 0;
	struct str text = { (const char *)data + (size > 0), size - (size > 0) }, one, two;
	const struct macro_template *t = macro_compile(a, text, d);
	size_t w1, w2;

	one = fuzz_eval(a, t, options, MACRO_TEXT, &w1);
	two = fuzz_eval(a, macro_compile(a, text, d), options, MACRO_TEXT, &w2);
	fuzz_need(str_eq(one, two) && w1 == w2);
	if (!(macro_template_traits(t) & MACRO_HAS_MACRO) && d != MACRO_SILLYTAVERN)
		fuzz_need(str_eq(one, text));
	fuzz_need(one.n <= (text.n + 1) * 3 + 100000u * 4);
	macro_template_bytes(t);
}

#endif
