/*
 * What must hold for any text: identity without macros, the same result twice and in any thread, raw fallback
 * to the byte, sides that are not taken write nothing, previews change nothing. And messages, one expansion
 * per field, templates of their own.
 */
#include "macro_scene.h"

#include <pthread.h>

/* A text of random pieces. */
static struct str
random_text(struct rng *r, const char *const *pieces, size_t n)
{
	struct sb sb = sb_new(a);

	for (size_t i = rng_below(r, 12); i > 0; i--)
		sb_adds(&sb, pieces[rng_below(r, n)]);
	return sb_str(&sb);
}

static const char *const plain_pieces[] = { "{", "}", " } }", "< USER>", "\n", "\r\n", "[", "]", "::", "\\",
	"名", "😀", "text", "\"", "{ {", "" };
static const char *const macro_pieces[] = { "{{user}}", "{{setvar::x::{{char}}}}", "{{getvar::x}}",
	"{{if {{flag}}}}", "{{else}}", "{{/if}}", "{{", "}}", "{{nope::{{user}}}}", "{{incvar::x}}",
	"{{if {{getvar::x}} > z}}", "<USER>", "{{#if char}}", "{{trim}}", "\n", "t", "{{//c}}",
	"{{random::a::b}}", "{{if 0 and {{incvar::q}}}}", "{{.x=1}}", "{{o.k}}", "{{getvar::o.k}}" };

static void
test_identity(void **state)
{
	struct rng r = rng_seed(11);

	(void)state;
	for (int i = 0; i < 3000; i++) {
		struct str text =
		    random_text(&r, plain_pieces, sizeof(plain_pieces) / sizeof(plain_pieces[0]));
		struct scene s;

		if (str_find(text, STR("{{"), 0) != STR_NPOS)
			continue;
		scene_init(&s, a);
		for (enum macro_dialect d = MACRO_AUTO; d < MACRO_DIALECT__COUNT; d++) {
			if (d == MACRO_SILLYTAVERN && str_chr(text, '\\', 0) != STR_NPOS)
				continue; /* there \{ is an escape */
			assert_true(str_eq(scene_eval(&s, text, d), text));
			assert_int_equal(s.res->warnings.n + s.res->traces.n + s.res->writes.n, 0);
		}
	}
}

static struct str
summary_of(struct scene *s, struct str out)
{
	struct json *j = macro_result_json(a, s->res, s->env.phase);
	struct sb sb = sb_new(a);

	sb_add(&sb, out);
	sb_add(&sb, json_text(a, j));
	return sb_str(&sb);
}

static void
test_pure(void **state)
{
	struct rng r = rng_seed(12);

	(void)state;
	for (int i = 0; i < 1500; i++) {
		struct str text =
			       random_text(&r, macro_pieces, sizeof(macro_pieces) / sizeof(macro_pieces[0])),
			   one, two, before;
		struct scene s;

		scene_init(&s, a);
		before = json_text(a, s.layers.branch);
		one = summary_of(&s, scene_eval(&s, text, MACRO_AUTO));
		s.rng = rng_seed(3);
		two = summary_of(&s, scene_eval(&s, text, MACRO_AUTO));
		assert_true(str_eq(one, two));
		assert_true(str_eq(before, json_text(a, s.layers.branch)));
	}
}

struct job {
	const struct macro_template *t;
	char out[256];
};

static void *
in_thread(void *arg)
{
	struct job *j = arg;
	struct arena *own = arena_create("thread", 0);
	struct scene s;
	struct str out;

	for (int i = 0; i < 200; i++) {
		scene_init(&s, own);
		out = scene_piece(&s, j->t, MACRO_TEXT);
		snprintf(j->out, sizeof(j->out), "%.*s", STR_ARG(out));
		arena_reset(own);
	}
	arena_destroy(&own);
	return NULL;
}

/* One template, many threads. */
static void
test_threads(void **state)
{
	struct macro_template *t =
	    macro_template_new(STR("{{setvar::x.y::{{char}}}}{{if {{getvar::mood}} == "
				   "calm}}{{getvar::x}}{{/if}} {{pick::a::b}} {{random::a::b}}"),
		MACRO_AUTO);
	struct job jobs[4] = { { .t = t }, { .t = t }, { .t = t }, { .t = t } };
	pthread_t id[4];

	(void)state;
	assert_true(macro_template_bytes(t) > 0 && macro_template_bytes(t) < 64 << 10);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&id[i], NULL, in_thread, &jobs[i]), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(id[i], NULL);
	for (int i = 1; i < 4; i++)
		assert_string_equal(jobs[i].out, jobs[0].out);
	macro_template_free(t);
}

struct fixed {
	const char *text, *want;
};

/* A block that stays raw prints its bytes, whatever they hold. */
// clang-format off
static const struct fixed raw_texts[] = {
	{ "{{if a ++ b}} {{user}}\r\n\t{{setvar::x::1}}{{else}}\xff{{/if}}", NULL },
	{ "{{IF  {{ flag }} >\nx }}  y {{ELSE }}z{{ /IF }}", NULL },
	{ "{{if {{flag}}}}a{{else if 1}}b{{/if}}", NULL },
	{ "{{nope   x  y}}", NULL },
	{ "{{ ::x }}", NULL },
	{ "{{setvar::a..b::  v }}", NULL },
	{ "{{if {{flag}}}} {{user}}", NULL },
};
// clang-format on

static void
test_raw(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(raw_texts) / sizeof(raw_texts[0]); i++) {
		struct scene s;

		scene_init(&s, a);
		assert_text(scene_eval(&s, str_c(raw_texts[i].text), MACRO_AUTO), raw_texts[i].text);
		assert_int_equal(s.res->writes.n, 0);
	}
}

static void
test_sides(void **state)
{
	static const char *const texts[] = { "{{if {{flag}} or {{setvar::x::1}}}}a{{/if}}",
		"{{if 0 and {{setvar::x::1}}}}a{{/if}}", "{{if 1}}a{{else}}{{setvar::x::1}}{{/if}}",
		"{{if 0}}{{setvar::x::1}}{{/if}}", "{{#if 1 || {{setvar::x::1}}}}a{{/if}}",
		"{{#if 0}}{{setvar::x::1}}{{else if 1}}{{else}}{{setvar::x::1}}{{/if}}",
		"{{setvar::x..y::1}}", "{{addvar::o::1}}" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct scene s;

		scene_init(&s, a);
		scene_eval(&s, str_c(texts[i]), MACRO_AUTO);
		assert_int_equal(s.res->writes.n, 0);
	}
}

/* One overlay: a later piece sees what an earlier one wrote; a new run sees nothing. */
static void
test_overlay(void **state)
{
	struct scene s;
	struct macro_run *r;

	(void)state;
	scene_init(&s, a);
	r = macro_run_new(a, &s.env);
	macro_eval(r, &(struct macro_piece){
			  .tpl = macro_compile(a, STR("{{setvar::k::v}}{{setvar::o.k.e::3}}"), MACRO_AUTO) });
	assert_text(
	    macro_eval(r, &(struct macro_piece){ .tpl = macro_compile(
						     a, STR("{{getvar::k}}{{getvar::o}}"), MACRO_AUTO) }),
	    "v{\"k\":{\"d\":2,\"e\":\"3\"}}");
	assert_text(scene_eval(&s, STR("[{{getvar::k}}]"), MACRO_AUTO), "[]");
}

/* ---- messages (decisions 52) ---- */

// clang-format off
static const struct fixed read_texts[] = {
	{ "<USER> says {{getvar::mood}}{{// aside}}.", "Alice says calm." },
	{ "{{if {{getvar::mood}} == calm}}yes{{/if}}", "yes" },
	{ "{{nope}} {{user arg}} {{/if}}", "{{nope}} {{user arg}} {{/if}}" },
	{ "{{setvar::hack::1}}{{user}}", "{{setvar::hack::1}}Alice" },
	{ "{{.hack=1}}{{.a++}}", "{{.hack=1}}{{.a++}}" },
	{ "{{reverse::{{incvar::a}}}}", "{{reverse::{{incvar::a}}}}" },
	{ "{{if 1}}{{user}}{{if 0}}{{setvar::x::1}}{{/if}}{{/if}}", "{{if 1}}{{user}}{{if 0}}{{setvar::x::1}}{{/if}}{{/if}}" },
	{ "{{#if char}}{{user}}{{/if}}", "{{#if char}}{{user}}{{/if}}" },
	{ "{{// dialect: marinara}}{{user}}", "{{// dialect: marinara}}Alice" },
};
// clang-format on

static void
test_messages(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(read_texts) / sizeof(read_texts[0]); i++) {
		struct scene s;

		scene_init(&s, a);
		assert_text(
		    scene_piece(&s, macro_compile_message(a, str_c(read_texts[i].text)), MACRO_MESSAGE_READ),
		    read_texts[i].want);
		assert_int_equal(s.res->writes.n, 0);
		assert_int_equal(s.res->warnings.n, scene_count(&s, MACRO_W_MESSAGE_WRITE));
		assert_true(scene_count(&s, MACRO_W_MESSAGE_WRITE) <= 1);
	}
}

static void
test_message_full(void **state)
{
	struct scene s;

	(void)state;
	scene_init(&s, a);
	assert_text(scene_piece(&s, macro_compile_message(a, STR("{{setvar::x::1}}{{getvar::x}}")),
			MACRO_MESSAGE_FULL),
	    "1");
	assert_int_equal(s.res->writes.n, 1);
}

/* A roll is kept with the message and not made again. */
static void
test_rolls(void **state)
{
	const struct macro_template *t =
	    macro_compile_message(a, STR("<USER>: {{roll::1d1000000}} {{random::a::b::c}}"));
	struct macro_rolls rolls = { 0 };
	struct str one, two;
	struct scene s;

	(void)state;
	scene_init(&s, a);
	one = macro_eval(macro_run_new(a, &s.env),
	    &(struct macro_piece){ .tpl = t, .owner = MACRO_MESSAGE_READ, .rolls = &rolls });
	assert_int_equal(rolls.v.n, 2);
	assert_int_equal(rolls.v.v[0].offset, 8);
	two = macro_eval(macro_run_new(a, &s.env),
	    &(struct macro_piece){ .tpl = t, .owner = MACRO_MESSAGE_READ, .rolls = &rolls });
	assert_int_equal(rolls.v.n, 2);
	assert_true(str_eq(one, two));
}

/* ---- fields (decisions 34) ---- */

static void
test_fields(void **state)
{
	struct macro_run *r;
	struct scene s;

	(void)state;
	scene_init(&s, a);
	s.member.field[MF_DESCRIPTION].text = STR("{{char}}{{incvar::seen}}");
	s.member.field[MF_SCENARIO].text = STR("[{{description}}]");
	r = macro_run_new(a, &s.env);
	assert_text(macro_run_field(r, NULL, MF_DESCRIPTION), "Bob1");
	assert_text(
	    macro_eval(r, &(struct macro_piece){ .tpl = macro_compile(
						     a, STR("{{description}}{{description}}"), MACRO_AUTO) }),
	    "Bob1Bob1");
	assert_int_equal(macro_run_result(r)->writes.n, 1);
	assert_text(macro_run_field(r, NULL, MF_SCENARIO),
	    "[]"); /* a field does not read fields in the compat modes */
	s.env.field_in_field = true;
	assert_text(macro_run_field(macro_run_new(a, &s.env), NULL, MF_SCENARIO), "[Bob1]");
	s.member.field[MF_DESCRIPTION].text = STR("<{{description}}>");
	assert_text(macro_run_field(macro_run_new(a, &s.env), NULL, MF_DESCRIPTION), "<>");
}

static void
test_time_awareness(void **state)
{
	struct scene s;

	(void)state;
	scene_init(&s, a);
	assert_text(scene_eval(&s, STR("{{time}} {{weekday}}"), MACRO_AUTO), "3:04 PM Friday");
	s.env.time_awareness = false;
	assert_text(scene_eval(&s, STR("[{{time}}{{weekday}}{{datetimeformat YYYY}}]"), MACRO_AUTO), "[]");
}

/* The dialect that a pragma names; the pragma's line is gone. */
static void
test_pragma(void **state)
{
	struct scene s;

	(void)state;
	scene_init(&s, a);
	assert_text(scene_eval(&s, STR("{{// dialect: sillytavern}}\n{{if !a}}x{{else}}{{.b ?? c}}{{/if}}"),
			MACRO_AUTO),
	    "c");
	assert_text(
	    scene_eval(&s, STR("{{// dialect: marinara}}{{#if char is \"bob\"}}y{{/if}}"), MACRO_AUTO), "y");
	assert_text(scene_eval(&s, STR("{{// dialect: nothing}}z"), MACRO_AUTO), "z");
	assert_int_equal(macro_dialect_detect(STR("{{#unless a}}b{{/unless}}"), NULL), MACRO_TOMORIBOT);
	assert_int_equal(macro_dialect_detect(STR("{{#if a == 1}}b{{/if}}"), NULL), MACRO_MARINARA);
	assert_int_equal(macro_dialect_detect(STR("{{#if a}}b{{/if}}"), NULL), MACRO_AUTO);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_identity, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pure, setup, teardown),
		cmocka_unit_test_setup_teardown(test_threads, setup, teardown),
		cmocka_unit_test_setup_teardown(test_raw, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sides, setup, teardown),
		cmocka_unit_test_setup_teardown(test_overlay, setup, teardown),
		cmocka_unit_test_setup_teardown(test_messages, setup, teardown),
		cmocka_unit_test_setup_teardown(test_message_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rolls, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fields, setup, teardown),
		cmocka_unit_test_setup_teardown(test_time_awareness, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pragma, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
