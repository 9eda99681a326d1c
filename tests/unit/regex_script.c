/* regex_script: what the vectors do not show: order of sources, traces, own parts, macros, limits, old files.
 */
#include "base/sb.h"
#include "regex/memo.h"
#include "regex/script_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct arena *a;

static int
setup(void **state)
{
	(void)state;
	a = arena_create("test", 0);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	arena_destroy(&a);
	return 0;
}

static struct regex_script
script(const char *find, const char *replace)
{
	return (struct regex_script){ .find = str_c(find),
		.replace = str_c(replace),
		.places = REGEX_PLACE_BIT(REGEX_PLACE_AI),
		.min_depth = REGEX_DEPTH_NONE,
		.max_depth = REGEX_DEPTH_NONE };
}

static int expansions;

/* {{x}} is X, and "{{say::…}}" the argument in brackets. */
static struct str
expand(void *arg, struct str s)
{
	struct sb out = sb_new(a);

	(void)arg;
	expansions++;
	for (size_t i = 0; i < s.n;) {
		struct str rest = str_sub(s, i, s.n);
		size_t close = str_find(rest, STR("}}"), 0);

		if (str_starts(rest, STR("{{x}}"))) {
			sb_adds(&out, "X");
			i += 5;
		} else if (str_starts(rest, STR("{{say::")) && close != STR_NPOS) {
			sb_addf(&out, "[%.*s]", STR_ARG(str_sub(rest, 7, close)));
			i += close + 2;
		} else {
			sb_addc(&out, s.p[i++]);
		}
	}
	return sb_str(&out);
}

static const char *
apply(const struct regex_script *v, size_t n, const char *text, struct regex_call *call,
    struct regex_trace *trace)
{
	call->place = REGEX_PLACE_AI;
	return arena_strdup(a, regex_apply(a, regex_set_compile(a, v, n), str_c(text), call, trace));
}

static const char *
apply_one(const char *find, const char *replace, const char *text)
{
	struct regex_script s = script(find, replace);
	struct regex_call call = { .expand = expand };

	return apply(&s, 1, text, &call, NULL);
}

static void
replaces(void **state)
{
	(void)state;
	assert_string_equal(apply_one("/(?<a1_$>x)/", "[$<a1_$>$1]", "x"), "[xx]");
	assert_string_equal(apply_one("/a/g", "{{MATCH}}$0", "aa"), "aaaa");
	assert_string_equal(apply_one("/a/", "$&$`$'$$", "xay"), "x$&$`$'$$y");
	assert_string_equal(apply_one("/(a)/g", "<$2>", "xaa"), "x<1><2>");
	assert_string_equal(apply_one("/(a)/", "<$2>",
				"\xf0\x9f\x98\x80"
				"a"),
	    "\xf0\x9f\x98\x80<2>");
	assert_string_equal(apply_one("/b/g", "\xf0\x9f\x98\x82",
				"\xf0\x9f\x98\x80"
				"b\xf0\x9f\x98\x80"),
	    "\xf0\x9f\x98\x80\xf0\x9f\x98\x82\xf0\x9f\x98\x80");
	assert_string_equal(apply_one("/\xe2\x80\x9c([^\xe2\x80\x9d]*)\xe2\x80\x9d/g",
				"\xe3\x80\x8c$1\xe3\x80\x8d", "\xe2\x80\x9c\xf0\x9f\x98\x80\xe2\x80\x9d"),
	    "\xe3\x80\x8c\xf0\x9f\x98\x80\xe3\x80\x8d");
}

static void
runs_macros_of_the_author_only(void **state)
{
	(void)state;
	expansions = 0;
	assert_string_equal(apply_one("/<(.*?)>/g", "{{x}}$1;", "<{{x}}><b>"), "X{{x}};Xb;");
	assert_int_equal(expansions, 1);
	assert_string_equal(apply_one("/<(.*?)>/g", "{{say::$1}}", "<p><}}{{x}}>"), "[p][}}{{x}}]");
	expansions = 0;
	assert_string_equal(apply_one("/q/g", "{{x}}", "no such letter"), "no such letter");
	assert_int_equal(expansions, 0);
}

static void
tells_whose_text_it_is(void **state)
{
	struct regex_script v[] = { script("/\\[(.+?)\\]/g", "<$1>"), script("/c/g", "cc") };
	struct regex_own own = { 0 };
	struct regex_call call = { .own = &own };

	(void)state;
	assert_string_equal(apply(v, 2, "ab[x]c[c]", &call, NULL), "ab<x>cc<cc>");
	assert_int_equal(own.part.n, 2); /* "ab" and "x" */
	assert_int_equal(own.part.v[0].from, 0);
	assert_int_equal(own.part.v[0].to, 2);
	assert_int_equal(own.part.v[1].from, 3);
	assert_int_equal(own.part.v[1].to, 4);
	own = (struct regex_own){ 0 };
	assert_string_equal(apply(v, 2, "\xf0\x9f\x98\x80[\xf0\x9f\x98\x80]", &call, NULL),
	    "\xf0\x9f\x98\x80<\xf0\x9f\x98\x80>");
	assert_int_equal(own.part.n, 2);
	assert_int_equal(own.part.v[0].to, 4);
	assert_int_equal(own.part.v[1].from, 5);
	assert_int_equal(own.part.v[1].to, 9);
}

static void
traces(void **state)
{
	struct regex_script v[] = { script("/a/g", "b"), script("/([/", ""), script("/q/", ""),
		script("/(b+)+$/", ""), script("/a/gx", ""), script("/b/g", "c"), script("", "x") };
	struct regex_trace trace = { 0 }, all = { .all = true };
	struct regex_call call = { 0 };
	struct sb text = sb_new(a);

	(void)state;
	for (int i = 0; i < 50; i++)
		sb_adds(&text, "a");
	sb_adds(&text, "!");
	v[2].disabled = true;
	apply(v, 7, sb_c(&text), &call, &trace);
	assert_int_equal(trace.items.n, 6);
	assert_int_equal(trace.items.v[0].verdict, REGEX_RAN);
	assert_int_equal(trace.items.v[0].matches, 50);
	assert_int_equal(trace.items.v[1].verdict, REGEX_INVALID);
	assert_int_equal(trace.items.v[2].script, 3);
	assert_int_equal(trace.items.v[2].verdict, REGEX_BREACH);
	assert_int_equal(trace.items.v[3].verdict, REGEX_INVALID);
	assert_int_equal(trace.items.v[4].verdict, REGEX_RAN);
	assert_string_equal(regex_verdict_name(trace.items.v[2].verdict), "breach");
	apply(v, 7, "zz", &call, &all);
	assert_int_equal(all.items.n, 7);
	assert_int_equal(all.items.v[0].verdict, REGEX_NO_MATCH);
	assert_int_equal(all.items.v[2].verdict, REGEX_DISABLED);
}

static void
bounds_the_result(void **state)
{
	struct sb big = sb_new(a), text = sb_new(a);
	struct regex_script v[2];
	struct regex_trace trace = { 0 };
	struct regex_call call = { 0 };
	const char *out;

	(void)state;
	for (int i = 0; i < 81000; i++)
		sb_addc(&big, 'x');
	for (int i = 0; i < 1000; i++)
		sb_addc(&text, 'a');
	v[0] = script("/a/g", sb_c(&big));
	v[1] = script("/a/", "b");
	out = apply(v, 2, sb_c(&text), &call, &trace);
	assert_int_equal(trace.items.v[0].verdict, REGEX_OVERSIZE);
	assert_int_equal(trace.items.v[1].verdict, REGEX_RAN);
	assert_int_equal(strlen(out), 1000);
	assert_int_equal(strlen(apply(v, 1, "aa", &call, NULL)), 162000);
}

static void
joins_sources_in_order(void **state)
{
	struct regex_script one = script("/a/g", "b"), two = script("/b/g", "c"), three = script("/c/g", "d");
	const struct regex_set *sets[] = { regex_set_compile(a, &one, 1), NULL, regex_set_compile(a, &two, 1),
		regex_set_compile(a, &three, 1) };
	struct regex_set *all = regex_set_join(a, sets, 4);
	struct regex_call call = { .place = REGEX_PLACE_AI };

	(void)state;
	assert_int_equal(regex_set_count(all), 3);
	assert_true(str_is(regex_apply(a, all, STR("abc"), &call, NULL), "ddd"));
	assert_true(regex_set_wants(all, REGEX_PLACE_AI, REGEX_PERSIST));
	assert_false(regex_set_wants(all, REGEX_PLACE_AI, REGEX_PROMPT));
	assert_false(regex_set_wants(all, REGEX_PLACE_USER, REGEX_PERSIST));
	assert_true(regex_set_bytes(sets[0]) > 0);
}

/* Substitute = escaped: each macro's value is a literal, one macro inside another goes with it. */
static void
expands_escaped(void **state)
{
	static const struct {
		const char *find, *text, *want;
	} rows[] = {
		{ "/{{say::a.b}}+/g", "[a.b]] [axb]", "y [axb]" },
		{ "/{{say::a.b}}{{x}}/", "[a.b]X", "y" },
		{ "/{{say::{{x}}}}/", "[{{x]}}", "y" },
		{ "/a{{say::/", "a{{say::", "y" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct regex_script s = script(rows[i].find, "y");
		struct regex_call call = { .expand = expand };

		s.substitute = REGEX_SUBST_ESCAPED;
		assert_string_equal(apply(&s, 1, rows[i].text, &call, NULL), rows[i].want);
	}
}

static void
compiles_found_patterns_once(void **state)
{
	struct regex_script s = script("/{{x}}+/g", "y");
	struct regex_call call = { .expand = expand };

	(void)state;
	s.substitute = REGEX_SUBST_RAW;
	for (int i = 0; i < 300; i++) /* more than the cache holds, the same ones again */
		assert_string_equal(apply(&s, 1, "aXXb", &call, NULL), "ayb");
	for (int i = 0; i < 200; i++) {
		struct regex_script other = script(arena_printf(a, "/{{x}}{%d}/", i + 1), "y");

		other.substitute = REGEX_SUBST_RAW;
		assert_string_equal(apply(&other, 1, "aXb", &call, NULL), i == 0 ? "ayb" : "aXb");
	}
}

static struct json *
parse(const char *text)
{
	struct json_error err;

	return json_read(a, str_c(text), 32, &err);
}

static void
reads_old_and_odd_files(void **state)
{
	const struct regex_script *v;
	size_t n = regex_scripts_read(a,
	    parse("[{\"findRegex\":\"a\",\"placement\":[0]},{\"findRegex\":\"a\",\"placement\":[4]},null,7,"
		  "{\"findRegex\":\"a\",\"placement\":[0,2],\"minDepth\":\"\",\"maxDepth\":\"3\","
		  "\"substituteRegex\":true,"
		  "\"trimStrings\":\"x\",\"disabled\":\"false\",\"runOnEdit\":1},{\"placement\":\"1\","
		  "\"minDepth\":null}]"),
	    REGEX_SOURCE_CARD, &v);

	(void)state;
	assert_int_equal(n, 4);
	assert_int_equal(v[0].places, REGEX_PLACE_ALL);
	assert_true(v[0].markdown_only && v[0].prompt_only);
	assert_int_equal(v[1].places, REGEX_PLACE_BIT(REGEX_PLACE_COMMAND));
	assert_int_equal(v[2].places, REGEX_PLACE_BIT(REGEX_PLACE_AI));
	assert_int_equal(v[2].min_depth, REGEX_DEPTH_NONE);
	assert_int_equal(v[2].max_depth, 3);
	assert_int_equal(v[2].substitute, REGEX_SUBST_RAW);
	assert_int_equal(v[2].ntrim, 1);
	assert_true(v[2].run_on_edit && !v[2].disabled);
	assert_int_equal(v[3].places, REGEX_PLACE_BIT(REGEX_PLACE_USER));
	assert_int_equal(v[0].source, REGEX_SOURCE_CARD);
	assert_int_equal(regex_scripts_read(a, parse("{\"findRegex\":\"a\"}"), REGEX_SOURCE_GLOBAL, &v), 1);
	assert_int_equal(regex_scripts_read(a, NULL, REGEX_SOURCE_GLOBAL, &v), 0);
}

static void
splits_find_strings(void **state)
{
	static const char *const cases[][3] = { { "/a/b/g", "a/b", "g" }, { "a/b", "a/b", "" },
		{ "//g", "//g", "" }, { "/", "/", "" }, { "\n/a/i", "a", "i" }, { "/a\nb/g", "/a", "" },
		{ "/a/g!", "a", "g" }, { "/a/\xe2\x80\xa8", "a", "" } };
	struct str pattern, flags;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		regex_find_split(str_c(cases[i][0]), &pattern, &flags);
		assert_true(str_is(pattern, cases[i][1]));
		assert_true(str_is(flags, cases[i][2]));
	}
	regex_find_split(STR("\n\n"), &pattern, &flags);
	assert_null(pattern.p);
	assert_true(str_is(regex_escape(a, STR("a.b\n/[")), "a\\.b\\n\\/\\["));
}

/* ---- what was made of texts before ---- */

static struct regex_memo *memo;

static struct str
remembered(const struct regex_set *set, const char *text, int32_t depth, struct regex_own *own)
{
	struct regex_call call = { .place = REGEX_PLACE_AI, .channel = REGEX_PERSIST, .has_depth = true, .depth = depth, .expand = expand,
		.memo = memo, .own = own };

	return regex_apply(a, set, str_c(text), &call, NULL);
}

static uint64_t
hits(void)
{
	struct regex_memo_stats s;

	regex_memo_stats(memo, &s);
	return s.hits;
}

static void
remembers_what_depends_on_the_text_alone(void **state)
{
	struct regex_script v[] = { script("/a+/g", "<b>"), script("/z/g", "far") }, other = script("/a+/g", "c"),
			    macro = script("/a/g", "{{x}}"), mark = script("/a/g", "<USER>"), trimmed = script("/a(.)/g", "$1");
	const struct str trim = STR("{{x}}");
	const struct regex_set *set, *changed;
	struct regex_own own = { 0 };

	(void)state;
	memo = regex_memo_create(a, 1 << 20);
	v[1].min_depth = 5;
	set = regex_set_compile(a, v, 2);
	assert_true(str_is(remembered(set, "xaaz", 0, NULL), "x<b>z"));
	assert_int_equal(hits(), 0);
	assert_true(str_is(remembered(set, "xaaz", 4, NULL), "x<b>z"));
	assert_int_equal(hits(), 1); /* the same scripts look at it */
	assert_true(str_is(remembered(set, "xaaz", 5, NULL), "x<b>far"));
	assert_int_equal(hits(), 1); /* another one does */
	assert_true(str_is(remembered(regex_set_compile(a, v, 2), "xaaz", 9, NULL), "x<b>far"));
	assert_int_equal(hits(), 2); /* the same scripts, compiled again */
	changed = regex_set_compile(a, &other, 1);
	assert_true(str_is(remembered(changed, "xaaz", 0, NULL), "xcz"));
	assert_int_equal(hits(), 2);
	for (int i = 0; i < 2; i++) {
		assert_true(str_is(remembered(set, "xaay", 0, &own), "x<b>y"));
		assert_int_equal(own.part.n, 2);
		assert_int_equal(own.part.v[1].from, 4);
	}
	for (int i = 0; i < 2; i++) /* what stays as it is is remembered, too */
		assert_true(str_is(remembered(set, "other", 0, NULL), "other"));
	assert_int_equal(hits(), 4);

	trimmed.trim = &trim;
	trimmed.ntrim = 1;
	expansions = 0;
	for (int i = 0; i < 2; i++) {
		assert_true(str_is(remembered(regex_set_compile(a, &macro, 1), "a", 0, NULL), "X"));
		remembered(regex_set_compile(a, &mark, 1), "a", 0, NULL);
		assert_true(str_is(remembered(regex_set_compile(a, &trimmed, 1), "aXb", 0, NULL), "b"));
	}
	assert_int_equal(expansions, 6); /* macros run each time */
	assert_int_equal(hits(), 4);
}

static void
forgets_what_is_too_much(void **state)
{
	struct regex_script v = script("/a/g", "b");
	const struct regex_set *set = regex_set_compile(a, &v, 1);
	struct regex_memo_stats s;
	char text[64];

	(void)state;
	memo = regex_memo_create(a, 8 << 10);
	for (int i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "a text with number %d", i);
		remembered(set, text, 0, NULL);
		remembered(set, "the first one: a", 0, NULL);
	}
	regex_memo_stats(memo, &s);
	assert_true(s.bytes <= 8 << 10);
	assert_true(s.entries > 10 && s.entries < 200);
	assert_int_equal(s.hits, 999); /* what is in use stays */
}

/* A script that was stopped may run through another time. */
static void
keeps_nothing_that_was_stopped(void **state)
{
	struct regex_script v = script("/(a+)+$/g", "b");
	const struct regex_set *set = regex_set_compile(a, &v, 1);
	struct sb text = sb_new(a);
	struct regex_memo_stats s;

	(void)state;
	memo = regex_memo_create(a, 1 << 20);
	for (int i = 0; i < 200; i++)
		sb_adds(&text, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac ");
	assert_true(remembered(set, sb_c(&text), 0, NULL).n == text.n);
	regex_memo_stats(memo, &s);
	assert_int_equal(s.entries, 0);
}

/* Case B17: hostile patterns share what they may take; what they leave is enough for the others. */
static void
leaves_time_for_others(void **state)
{
	struct regex_script v[26];
	struct regex_budget budget = { REGEX_BUDGET_US };
	struct regex_stopped stopped = { 0 };
	struct regex_call call = { .place = REGEX_PLACE_AI, .channel = REGEX_PERSIST, .budget = &budget, .stopped = &stopped };
	struct sb text = sb_new(a);
	const struct regex_set *set;

	(void)state;
	for (int i = 0; i < 25; i++)
		v[i] = script("/(a|a|b)+$/g", "x");
	v[25] = script("/fox/g", "hare");
	set = regex_set_compile(a, v, 26);
	for (int i = 0; i < 2000; i++)
		sb_adds(&text, "aaaaaaaaaaaaaaaaaaaaa");
	sb_adds(&text, "! the fox");
	for (int i = 0; i < 5; i++)
		assert_true(str_ends(regex_apply(a, set, sb_str(&text), &call, NULL), STR("the hare")));
	assert_true(budget.us < 1000);
	assert_int_equal(stopped.n, 25);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(replaces),
		cmocka_unit_test(runs_macros_of_the_author_only),
		cmocka_unit_test(tells_whose_text_it_is),
		cmocka_unit_test(traces),
		cmocka_unit_test(bounds_the_result),
		cmocka_unit_test(joins_sources_in_order),
		cmocka_unit_test(expands_escaped),
		cmocka_unit_test(compiles_found_patterns_once),
		cmocka_unit_test(reads_old_and_odd_files),
		cmocka_unit_test(splits_find_strings),
		cmocka_unit_test(remembers_what_depends_on_the_text_alone),
		cmocka_unit_test(forgets_what_is_too_much),
		cmocka_unit_test(keeps_nothing_that_was_stopped),
		cmocka_unit_test(leaves_time_for_others),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
