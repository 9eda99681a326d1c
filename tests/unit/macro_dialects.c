/*
 * The marinara and the tomoribot dialect beside their pages: layout, trimming, what lint tells, tool blocks,
 * declarations, the limits of a preset's texts, the import audit.
 */
#include "macro_scene.h"

struct pair {
	const char *text, *want;
};

static bool
has_tool(void *ctx, struct str name)
{
	(void)ctx;
	return str_is(name, "web_search");
}

static int
has_capability(void *ctx, struct str name)
{
	(void)ctx;
	return str_is(name, "images") ? 1 : -1;
}

static void
scene_dialects(struct scene *s)
{
	scene_init(s, a);
	s->member.field[MF_DESCRIPTION].text = STR("A knight");
	s->env.tool = has_tool;
	s->env.capability = has_capability;
}

static void
check(const struct pair *v, size_t n, enum macro_dialect d)
{
	for (size_t i = 0; i < n; i++) {
		struct scene s;

		scene_dialects(&s);
		assert_text(scene_eval(&s, str_c(v[i].text), d), v[i].want);
	}
}

// clang-format off
static const struct pair marinara[] = {
	/* a closing tag stands alone only if its line holds no other tag */
	{ "{{#if char}}{{/if}}\nx", "\nx" },
	{ "{{#if none == 1}}a{{else}}{{/if}}\nx", "\nx" },
	{ "{{#if char}}\ny\n{{else}}{{/if}}\nx", "y\n\nx" },
	{ "{{#if char}}\ny\n{{/if}}\nx", "y\nx" },
	{ "{{#if char}}\ny\n  {{/if}}  \nx", "y\nx" },
	{ "{{#if char}}\n{{#if char}}\ny\n{{/if}}{{/if}}\nx", "y\n\nx" },
	{ "{{#if char}}y  {{else}}\n  {{/if}}\nx", "yx" },
	{ "{{#if char}}y{{/if}}{{#if char}}\nz{{/if}}", "yz" },
	/* each marker trims its own side, whatever stands there */
	{ " a {{trimStart}} \n b ", " a b " },
	{ " a \n {{trimEnd}} b ", " a b " },
	{ "a{{trimStart}}{{newline}}{{char}}", "aBob" },
	{ "{{char}}{{newline}}{{trimEnd}}{{user}}", "BobAlice" },
	{ "a{{trimStart}} {{noop}} {{// c}} b", "ab" },
	{ "a {{trimStart}}{{trimEnd}} b", "a b" },
	{ "a{{trimStart}} {{#if char}} b{{/if}}", "ab" },
	{ "{{#if char}}a {{/if}}{{trimEnd}}b", "ab" },
	{ "{{trimEnd}}a{{trimStart}}", "a" },
	/* what has no counterpart here is empty, so false */
	{ "[{{agent::x}}{{persona_about}}]{{#if agent::x || char_about || persona_about}}a{{else}}b{{/if}}", "[]b" },
};

static const struct pair tomoribot[] = {
	{ "{{if TOOL:Web_Search}}a{{else}}b{{/if}}", "a" },
	{ "{{if capability:IMAGES}}a{{else}}b{{/if}}", "a" },
	{ "{{if tool :web_search}}a{{/if}}b", "b" },
	{ "{{if tool_family:web}}a{{else}}b{{/if}}", "b" },
	{ "{{if !tool_family:web}}a{{else}}b{{/if}}", "b" },
	{ "{{if family:web}}a{{else}}b{{/if}}c", "c" },
	/* truth of joined texts */
	{ "{{setvar::a::fal}}{{setvar::b::se}}{{#if {{getvar::a}}{{getvar::b}}}}x{{else}}y{{/if}}", "y" },
	{ "{{setvar::a::fal}}{{setvar::b:: se}}{{#if {{getvar::a}}{{getvar::b}}}}x{{else}}y{{/if}}", "x" },
	{ "{{setvar::a::fal}}{{setvar::b:: }}{{#if {{getvar::a}}{{getvar::b}}se}}x{{else}}y{{/if}}", "x" },
	{ "{{setvar::a::FALSE }}{{#if  {{getvar::a}} }}x{{else}}y{{/if}}", "y" },
	{ "{{setvar::a::falsehood}}{{#if getvar::a}}x{{else}}y{{/if}}", "x" },
	{ "{{setvar::a::0}}{{addvar::a:: }}{{#if getvar::a}}x{{else}}y{{/if}}", "y" },
	{ "{{setvar::a::0}}{{addvar::a::0}}{{#if getvar::a}}x{{else}}y{{/if}}", "x" },
	{ "{{addvar::a::x}}{{addvar::a::y}}{{setvar::a::z}}{{addvar::a::!}}{{getvar::a}}", "z!" },
	/* what is no declaration stays text and writes nothing */
	{ "{{setvar::a:b::c}}", "{{setvar::a:b::c}}" },
	{ "{{setvar k v}}{{addvar::k}}", "{{setvar k v}}{{addvar::k}}" },
};
// clang-format on

#define COUNT(v) (sizeof(v) / sizeof((v)[0]))

static void
test_marinara(void **state)
{
	(void)state;
	check(marinara, COUNT(marinara), MACRO_MARINARA);
}

static void
test_tomoribot(void **state)
{
	struct scene s;

	(void)state;
	check(tomoribot, COUNT(tomoribot), MACRO_TOMORIBOT);
	scene_dialects(&s);
	scene_eval(&s, STR("{{setvar::a::1}}{{setvar::a:b::c}}{{setvar k v}}"), MACRO_TOMORIBOT);
	assert_int_equal(s.res->writes.n, 0);
	scene_eval(&s, STR("{{if !tool_family:x}}a{{/if}}"), MACRO_TOMORIBOT);
	assert_int_equal(scene_count(&s, MACRO_W_COND_UNKNOWN), 1);
}

/* ---- statements ---- */

static const struct {
	const char *operand, *text; /* NULL: none */
	unsigned sticky;
	enum macro_lasts lasts;
	const char *second;
} statements[] = {
	{ "decision:\"a  b\" sticky:3", "a b", 3, MACRO_LASTS_NONE, "" },
	{ "decision : 'the \"old\" man' until:\"x y\":or STICKY: 2", "the \"old\" man", 2, MACRO_LASTS_UNTIL,
	    "x y" },
	{ "decision:\"a \"b\" c\" while:'w'", "a \"b\" c", 0, MACRO_LASTS_WHILE, "w" },
	{ "decision:\"say \\\"hi\\\"\\nnow\"", "say \"hi\" now", 0, MACRO_LASTS_NONE, "" },
	{ "decision:it rains\\n", "it rains\\n", 0, MACRO_LASTS_NONE, "" }, /* no marks, no escapes */
	{ "decision:\"x\"y", "\"x\"y", 0, MACRO_LASTS_NONE, "" },           /* no modifiers: all of it */
	{ "decision:\"x\" sticky:2 y", "\"x\" sticky:2 y", 0, MACRO_LASTS_NONE, "" },
	{ "decision:\"x\" until:\"a\" until:\"b\"c", "x", 0, MACRO_LASTS_UNTIL,
	    "a" }, /* the second is unknown */
	{ "decision:\"x\" until:\"a\"b sticky:4", "x", 4, MACRO_LASTS_NONE, "" },
	{ "decision:\"x\" foo:bar sticky:5000", "x", 1000, MACRO_LASTS_NONE, "" },
	{ "decision:\" \"", NULL, 0, MACRO_LASTS_NONE, "" },
};

static void
test_statements(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(statements); i++) {
		struct str text = str_c(arena_printf(a, "{{#if %s}}x{{/if}}", statements[i].operand));
		struct macro_statements out = { 0 };
		const struct macro_statement *s;

		macro_statements_collect(a, macro_compile(a, text, MACRO_MARINARA), &out);
		assert_int_equal(out.v.n, statements[i].text ? 1 : 0);
		if (!out.v.n)
			continue;
		s = &out.v.v[0];
		assert_text(macro_statement_key(a, s->text), statements[i].text);
		assert_int_equal(s->sticky, statements[i].sticky);
		assert_int_equal(s->lasts, statements[i].lasts);
		assert_text(s->lasts_text, statements[i].second);
	}
}

/* ---- what lint tells of marinara's conditions, where nothing is an error ---- */

struct finding {
	const char *text;
	unsigned n, column; /* of the first */
};

// clang-format off
static const struct finding findings[] = {
	{ "{{#if char == \"a\" || \"b\"}}x{{else if hp > 2 && (char is \"c\")}}{{/if}}", 0, 0 },
	{ "{{#if !char}}x{{/if}}", 1, 7 },
	{ "{{#if not char}}x{{/if}}", 1, 7 },
	{ "{{#if char && !user}}x{{/if}}", 1, 15 },
	{ "{{#if char ==}}x{{/if}}", 1, 7 },
	{ "{{#if == \"a\"}}x{{/if}}", 1, 1 },
	{ "{{#if char is}}x{{/if}}", 1, 7 },
	{ "{{#if char contains || user}}x{{/if}}", 1, 7 },
	{ "{{#if char != \"a\" || \"b\"}}x{{/if}}", 1, 23 },
	{ "{{#if char}}x{{else if \"b\"}}y{{/if}}", 1, 25 },
	{ "{{#if char && }}x{{/if}}", 1, 1 },
	{ "{{#if}}x{{/if}}", 1, 1 },
	{ "a{{#if char}}x{{#if char}}y{{/if}}{{else}}", 1, 2 },
	{ "a{{/if}}{{else}}", 2, 2 },
	{ "{{#if notes}}{{/if}}{{#if isolated}}{{/if}}", 2, 1 }, /* words nobody knows, no operators */
};
// clang-format on

static void
test_lint(void **state)
{
	const struct macro_lint_options o = { .before_history = false };

	(void)state;
	for (size_t i = 0; i < COUNT(findings); i++) {
		struct macro_lints out = { 0 };

		macro_lint(a, macro_compile(a, str_c(findings[i].text), MACRO_MARINARA), &o, &out);
		if (out.v.n != findings[i].n || (out.v.n && out.v.v[0].column != findings[i].column))
			fail_msg("%s: %zu findings, the first at %u", findings[i].text, out.v.n,
			    out.v.n ? out.v.v[0].column : 0);
	}
}

/* ---- a preset's text: bounded whatever it repeats ---- */

static size_t
appended(size_t n)
{
	struct arena *own = arena_create("append", 0);
	struct sb sb = sb_new(own);
	struct scene s;
	size_t bytes;

	for (size_t i = 0; i < n; i++)
		sb_adds(&sb, "{{addvar::a::0123456789}}{{#if {{getvar::a}}x}}y{{/if}}");
	scene_init(&s, own);
	s.env.trace = false;
	bytes = scene_eval(&s, sb_str(&sb), MACRO_TOMORIBOT).n;
	assert_int_equal(bytes, n);
	bytes = arena_bytes(own);
	arena_destroy(&own);
	return bytes;
}

static void
test_append(void **state)
{
	size_t one = appended(4000), two = appended(8000);

	(void)state;
	if ((double)two > 2.5 * (double)one)
		fail_msg("%zu bytes for 4,000 appends, %zu for 8,000", one, two);
}

static void
test_inserted(void **state)
{
	struct sb sb = sb_new(a);
	struct scene s;

	(void)state;
	scene_init(&s, a);
	s.env.limits.length = 25;
	assert_text(
	    scene_eval(&s, STR("{{setvar::a::0123456789}}{{getvar::a}}{{getvar::a}}"), MACRO_TOMORIBOT),
	    "01234567890123456789");
	assert_int_equal(scene_count(&s, MACRO_W_LENGTH), 0);
	assert_text(
	    scene_eval(&s, STR("{{setvar::a::0123456789}}{{getvar::a}}{{getvar::a}}{{getvar::a}}{{user}}"),
		MACRO_TOMORIBOT),
	    "01234567890123456789{{getvar::a}}{{user}}");
	assert_int_equal(scene_count(&s, MACRO_W_LENGTH), 1);
	s.env.limits.length = macro_limits_default.length;
	sb_addf(&sb, "{{setvar::a::%.*s}}", STR_ARG(repeated(a, "x", 100000)));
	sb_add(&sb, repeated(a, "{{getvar::a}}", 10000));
	assert_true(scene_eval(&s, sb_str(&sb), MACRO_TOMORIBOT).n <= macro_limits_default.length + sb.n);
	assert_int_equal(scene_count(&s, MACRO_W_LENGTH), 1);
}

/* ---- the import audit ---- */

static void
test_audit(void **state)
{
	static const struct {
		const char *text;
		bool html;
		unsigned unsupported, warnings;
	} v[] = {
		{ "{{user}} {{#if description}}{{getvar::x}}{{else}}{{summary}}{{/if}}", false, 0, 0 },
		{ "{{#if {{one}}}}{{two}}{{else}}{{three}}{{/if}}{{if tool:x}}{{four}}{{/if}}", false, 4, 0 },
		{ "{{#if nobody}}{{/if}}{{#unless nobody}}{{/unless}}{{#if getvar::x}}{{/if}}{{#if "
		  "time}}{{/if}}",
		    false, 1, 0 },
		{ "{{#if}}a{{/if}}{{/unless}}{{#unless user}}", false, 0, 3 },
		{ "<b>x</b>", true, 0, 0 },
		{ "<PRE class='x'>", true, 0, 0 },
		{ "<br/>", true, 0, 0 },
		{ "</div>", false, 0, 0 },
		{ "a <b and no end", false, 0, 0 },
		{ "<bot> <user> <START> 1 <2> <b1>", false, 0, 0 },
		{ "<font color=red>", false, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(v); i++) {
		struct macro_tomori_audit out;

		macro_tomori_audit(a, str_c(v[i].text), &out);
		if (out.html != v[i].html || out.unsupported.n != v[i].unsupported ||
		    out.warnings.n != v[i].warnings)
			fail_msg("%s: html %d, %zu unsupported, %zu warnings", v[i].text, out.html,
			    out.unsupported.n, out.warnings.n);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_marinara, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tomoribot, setup, teardown),
		cmocka_unit_test_setup_teardown(test_statements, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lint, setup, teardown),
		cmocka_unit_test(test_append),
		cmocka_unit_test_setup_teardown(test_inserted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_audit, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
