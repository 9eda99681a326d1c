/*
 * macro_scene: a small world for the unit tests of the macro engine: Alice talks to Bob; a is 1, name is
 * "Alice", o is an object; {{big}} is ten letters.
 */
#ifndef TESTS_UNIT_MACRO_SCENE_H
#define TESTS_UNIT_MACRO_SCENE_H

#include "macro/catalogue.h"
#include "macro/decide.h"
#include "macro/tomori.h"

#include "base/rng.h"
#include "base/sb.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

struct scene {
	struct arena *a;
	struct macro_env env;
	struct macro_member member;
	struct macro_layers layers;
	struct rng rng;
	const struct macro_result *res;
};

static inline double
scene_chance(void *ctx)
{
	return rng_unit(ctx);
}

static inline void
scene_init(struct scene *s, struct arena *a)
{
	struct json_error err;

	*s = (struct scene){ .a = a, .rng = rng_seed(3) };
	s->layers.branch = json_read(
	    a, STR("{\"a\":1,\"mood\":\"calm\",\"n\":\"5\",\"o\":{\"k\":{\"d\":2}},\"l\":[1]}"), 16, &err);
	s->layers.global = json_read(a, STR("{\"world\":\"earth\"}"), 16, &err);
	s->layers.ordinary =
	    json_read(a, STR("{\"big\":\"0123456789\",\"wide\":\"一二三四五\",\"flag\":\"1\"}"), 16, &err);
	s->member.field[MF_CHAR].text = STR("Bob");
	s->env = (struct macro_env){
		.phase = MACRO_ASSEMBLE,
		.limits = macro_limits_default,
		.trace = true,
		.time_awareness = true,
		.now = 1707491045000, /* 2024-02-09T15:04:05Z */
		.idle_ms = -1,
		.members = &s->member,
		.n_members = 1,
		.vars = macro_vars_layers(&s->layers),
		.chance = scene_chance,
		.chance_ctx = &s->rng,
	};
	s->env.field[MF_USER].text = STR("Alice");
	s->env.field[MF_CHAT_ID].text = STR("chat-1");
}

static inline struct str
scene_piece(struct scene *s, const struct macro_template *t, enum macro_owner owner)
{
	struct macro_run *r = macro_run_new(s->a, &s->env);
	struct str out = macro_eval(r, &(struct macro_piece){ .tpl = t, .owner = owner });

	s->res = macro_run_result(r);
	return out;
}

static inline struct str
scene_eval(struct scene *s, struct str text, enum macro_dialect d)
{
	return scene_piece(s, macro_compile(s->a, text, d), MACRO_TEXT);
}

static inline unsigned
scene_count(const struct scene *s, enum macro_code code)
{
	unsigned n = 0;

	for (size_t i = 0; i < s->res->warnings.n; i++)
		if (s->res->warnings.v[i].code == code)
			n += s->res->warnings.v[i].count;
	return n;
}

static inline void
assert_text(struct str got, const char *want)
{
	if (str_is(got, want))
		return;
	print_error("expected \"%s\", got \"%.*s\"\n", want, STR_ARG(got));
	fail();
}

/* `piece` n times. */
static inline struct str
repeated(struct arena *a, const char *piece, size_t n)
{
	struct sb sb = sb_new(a);

	for (size_t i = 0; i < n; i++)
		sb_adds(&sb, piece);
	return sb_str(&sb);
}

/* The arena of the running test. */
static struct arena *a;

static inline int
setup(void **state)
{
	(void)state;
	a = arena_create("test", 0);
	return 0;
}

static inline int
teardown(void **state)
{
	(void)state;
	arena_destroy(&a);
	return 0;
}

#endif
