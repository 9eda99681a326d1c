/*
 * The sillytavern dialect, rule by rule: separators, shorthand, if, scoped macros, escapes; and what of its
 * catalogue holds in every dialect.
 */
#include "macro_scene.h"

struct fixed {
	const char *text, *want;
};

static void
check(const struct fixed *v, size_t n, enum macro_dialect d)
{
	for (size_t i = 0; i < n; i++) {
		struct json_error err;
		struct scene s;
		struct str got;

		scene_init(&s, a);
		s.layers.branch = json_read(a,
		    STR("{\"x\":\"5\",\"y\":\"abc\",\"l\":\"[1,2]\",\"e\":\"\",\"sp\":\" \",\"名\":\"n\"}"), 8, &err);
		s.layers.global = json_read(a, STR("{\"g\":\"1\"}"), 8, &err);
		s.member.field[MF_DESCRIPTION].text = STR("D");
		s.member.field[MF_FIRST_MESSAGE].text = STR("hello");
		got = scene_eval(&s, str_c(v[i].text), d);
		if (!str_is(got, v[i].want))
			fail_msg("%s: %s\n  expected %s\n  got %.*s", macro_dialect_name(d), v[i].text, v[i].want,
			    STR_ARG(got));
	}
}

#define CHECK(table, d) check(table, sizeof(table) / sizeof((table)[0]), d)

// clang-format off
static const struct fixed everywhere[] = {
	/* one colon, also before a nested macro */
	{ "{{reverse:{{user}}}}", "ecilA" }, { "{{reverse:x{{user}}}}", "ecilAx" }, { "{{reverse: {{user}} }}", "ecilA" },
	{ "[{{reverse:}}]", "[]" }, { "{{reverse:a::b}}", "b::a" }, { "{{nope:{{user}}}}", "{{nope:Alice}}" },
	/* whole numbers only */
	{ "{{newline::1.5}}{{newline::-1}}{{newline::x}}", "{{newline::1.5}}{{newline::-1}}{{newline::x}}" }, { "a{{newline:0}}b", "ab" },
	{ "{{space::2}}|{{space 3}}|", "  |   |" }, { "{{greeting::0}}{{greeting::x}}{{greeting::0.5}}", "hello{{greeting::x}}{{greeting::0.5}}" },
	/* an argument list that holds several blocks without a closer */
	{ "{{nope::{{if a}}::{{if b}}::{{user}}}}", "{{nope::{{if a}}::{{if b}}::Alice}}" },
	{ "{{nope {{if a}} {{#if b}} {{user}}}}", "{{nope {{if a}} {{#if b}} Alice}}" },
};

static const struct fixed page[] = {
	/* the page's macros split at ::, so a blank before it belongs to the name */
	{ "{{getvar a::b}}", "{{getvar a::b}}" }, { "{{setvar x y::z}}{{.x}}", "{{setvar x y::z}}5" }, { "{{ getvar :: x }}{{getvar  ::x}}", "55" },
	{ "a\n{{if trim}}x{{else}}y{{/if}}", "a\ny" },
};

static const struct fixed shorthand[] = {
	{ "{{. x}}{{ . x }}{{$ g}}", "551" }, { "{{. q = 3}}{{.q}}{{.q ++}}", "34" }, { "{{.名}}", "n" },
	{ "{{.x.y}}{{.9}}{{.-}}", "{{.x.y}}{{.9}}{{.-}}" },
	/* subtracting adds the negative: to a text it is appended, to a list pushed; a text is ignored */
	{ "{{.x -= 2}}{{.x}}", "3" }, { "{{.y -= 2}}{{.y}}", "abc-2" }, { "{{.l -= 3}}{{.l}}", "[1,2,\"-3\"]" }, { "{{.q -= 2}}{{.q}}", "-2" },
	{ "{{.x -= a}}{{.x}}", "5" }, { "{{$g -= 1}}{{$g}}", "0" },
	/* order: nothing counts as 0, a text is never smaller nor greater */
	{ "{{.q > -1}}{{.e < 1}}{{.x > }}{{.y > 1}}{{.y < 1}}{{.x >= 5}}", "truetruetruefalsefalsetrue" },
	{ "{{.sp || d}}|{{.e || d}}|{{.q ?? d}}|{{.e ?? d}}|", " |d|d||" },
};

static const struct fixed conditions[] = {
	/* the condition is one text: only a whole name is a variable */
	{ "{{if .x == 5}}a{{else}}b{{/if}}{{if .x.y}}a{{else}}b{{/if}}{{if . x}}a{{/if}}", "aaa" },
	{ "{{if .nope}}a{{else}}b{{/if}}{{if .x}}a{{/if}}{{if !$g}}a{{else}}b{{/if}}", "bab" },
	/* blanks are a text */
	{ "{{if {{.sp}}}}a{{else}}b{{/if}}{{if newline}}a{{else}}b{{/if}}{{if {{.e}}}}a{{else}}b{{/if}}", "aab" },
	/* an empty argument is an argument */
	{ "{{if::}}a{{else}}b{{/if}}{{if}}a{{else}}b{{/if}}", "b{{if}}a{{else}}b{{/if}}" },
	{ "{{if 1}}a{{/ if}}{{if 0}}a{{ else }}b{{ /if }}", "ab" },
	{ "{{else x}}{{else::x}}{{else}}", "{{else x}}{{else::x}}" },
	/* without a closer the tag alone stays, as it was written */
	{ "{{if {{getvar::x}}}}a {{user}}", "{{if {{getvar::x}}}}a Alice" }, { "{{if !{{.x}}}}a{{else}}b", "{{if !{{.x}}}}ab" },
	{ "{{if::0::{{setvar::q::1}}}}[{{.q}}]", "[]" },
};

static const struct fixed scopes[] = {
	{ "{{setvar::q}}\n  a\n    b\n{{/setvar}}{{.q}}", "a\n  b" }, { "{{reverse}} {{user}} {{/reverse}}", "ecilA" },
	/* a macro that takes no content, or a list: both tags stay, what stands between is text */
	{ "{{user}}\n  x {{char}}\n{{/user}}", "{{user}}\n  x Bob\n{{/user}}" }, { "{{setvar::a::b}} c {{/setvar}}{{.a}}", "{{setvar::a::b}} c {{/setvar}}" },
	{ "{{random}} a {{/random}}", "{{random}} a {{/random}}" }, { "{{pick::a}}b{{/pick}}", "{{pick::a}}b{{/pick}}" },
	{ "{{//}}\nlong {{setvar::q::1}}\n{{///}}[{{.q}}]", "[]" }, { "{{user}} {{char}}", "Alice Bob" },
};

static const struct fixed escapes[] = {
	{ "\\{\\{user\\}\\} \\{{user}}", "{{user}} \\Alice" }, { "{{nope::\\{a\\}}}", "{{nope::{a}}}" }, { "{{if \\{}}a", "{{if {}}a" },
	{ "{{user::\\{}}", "{{user::{}}" }, { "a\\b \\n", "a\\b \\n" },
};
// clang-format on

static void
test_everywhere(void **state)
{
	(void)state;
	CHECK(everywhere, MACRO_AUTO);
	CHECK(page, MACRO_AUTO);
	CHECK(page, MACRO_TAVERNHEADLESS);
}

static void
test_dialect(void **state)
{
	(void)state;
	CHECK(shorthand, MACRO_SILLYTAVERN);
	CHECK(conditions, MACRO_SILLYTAVERN);
	CHECK(scopes, MACRO_SILLYTAVERN);
	CHECK(escapes, MACRO_SILLYTAVERN);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_everywhere, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dialect, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
