/* llm: think tags taken out of a reply, whatever the cuts; what is held back; cleaning of text. */
#include "llm/clean.h"
#include "llm/think.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct heard {
	struct sb content, reasoning;
	int retracts;
};

static void
on_text(void *arg, enum think_what what, struct str text)
{
	struct heard *h = arg;

	if (what == THINK_RETRACT) {
		h->retracts++;
		sb_add(&h->reasoning, sb_str(&h->content));
		sb_truncate(&h->content, 0);
	} else {
		assert_true(text.n > 0);
		sb_add(what == THINK_REASONING ? &h->reasoning : &h->content, text);
	}
}

static void
check_open(bool open, const char *text, const char *reasoning, const char *content, bool unclosed)
{
	struct str s = str_c(text);

	for (size_t cut = 1; cut <= s.n; cut++) {
		struct arena *a = arena_create("test", 0);
		struct heard h = { .content = sb_new(a), .reasoning = sb_new(a) };
		struct think t;

		think_begin(&t, a, open);
		for (size_t at = 0, n = cut == s.n ? 1 : cut; at < s.n; at += n, n = cut == s.n ? 1 : s.n)
			think_feed(
			    &t, str_sub(s, at, at + n), on_text, &h); /* in two, and at last byte by byte */
		assert_int_equal(think_end(&t, on_text, &h), unclosed);
		assert_string_equal(sb_c(&h.reasoning), reasoning);
		assert_string_equal(sb_c(&h.content), content);
		arena_destroy(&a);
	}
}

static void
check(const char *text, const char *reasoning, const char *content)
{
	check_open(false, text, reasoning, content, false);
}

static void
leading_blocks(void **state)
{
	(void)state;
	check("<think>a</think>b", "a", "b");
	check("  \n<THINK> a b \n</Thinking>\n\n b ", "a b", "b ");
	check("[THINK]a</think>b[/think] c", "a</think>b", "c");
	check("<thought>a[/THINK]</think>c", "a[/THINK]", "c");
	check("<think>a</think><thinking>b</thought>c", "a\n\nb", "c");
	check("<think> </think>\n<think>b</think>c", "b", "c");
	check("<think>a<think>b</think>c", "a<think>b", "c");
	check("<think>a</think>b <think>c</think>d", "a", "b <think>c</think>d");
	check("<think>a < b <</think>c", "a < b <", "c");
}

static void
not_leading(void **state)
{
	(void)state;
	check("a <think>b</think>", "", "a <think>b</think>");
	check("<thinks>a</thinks>", "", "<thinks>a</thinks>");
	check("<think a=1>b", "", "<think a=1>b");
	check("  hi  ", "", "  hi  ");
	check(" < [ </", "", " < [ </");
	check("<", "", "<");
	check("\n \n", "", "\n \n");
}

static void
lone_closer(void **state)
{
	(void)state;
	check("plan\n</think>\ngo", "plan\n", "go");
	check("plan[/THINK]go", "plan", "go");
	check("say \"</think>\" and go", "", "say \"</think>\" and go");
	check("say `</think>` go", "", "say `</think>` go");
	check("say \xe2\x80\x9c</think>\xe2\x80\x9d go", "", "say \xe2\x80\x9c</think>\xe2\x80\x9d go");
	check("\"</think>\" x</think>go", "\"</think>\" x", "go");
	check("a</think>b</think>c", "a", "b</think>c");
	check("a</think><think>b</think>c", "a\n\nb", "c");
}

static void
opened_by_the_template(void **state)
{
	(void)state;
	check_open(true, "plan</think>go", "plan", "go", false);
	check_open(true, " plan [/THINK] go", "plan", "go", false);
	check_open(true, "<think>plan</think>go", "plan", "go", false);
	check_open(true, "plan only ", "plan only", "", true);
	check_open(false, "<think>never closed </thin", "never closed </thin", "", true);
}

static void
blanks_without_end(void **state)
{
	struct arena *a = arena_create("test", 0);
	struct heard h = { .content = sb_new(a), .reasoning = sb_new(a) };
	struct think t;

	(void)state;
	think_begin(&t, a, false);
	think_feed(&t, STR("<think>x"), on_text, &h);
	for (int i = 0; i < 100000; i++) {
		think_feed(&t, STR(" "), on_text, &h);
		assert_true(t.hold.n < 5000); /* or every blank costs a look at all before it */
	}
	think_begin(&t, a, false);
	for (int i = 0; i < 100000; i++) {
		think_feed(&t, STR("\n"), on_text, &h);
		assert_true(t.hold.n < 5000);
	}
	arena_destroy(&a);
}

static void
clean(const char *json, size_t n, const char *expected)
{
	struct arena *a = arena_create("test", 0);

	assert_string_equal(
	    arena_strdup(a, clean_whole(a, clean_json(a, (struct str){ json, n }))), expected);
	arena_destroy(&a);
}
#define CLEAN(json, expected) clean((json), sizeof(json) - 1, (expected))

static void
bad_text(void **state)
{
	(void)state;
	CLEAN("plain \\n \\u00e9 \\\\u0000", "plain \\n \\u00e9 \\\\u0000");
	CLEAN("a\\u0000b", "a\xef\xbf\xbd"
			   "b");
	CLEAN("a\0b", "a\xef\xbf\xbd"
		      "b");
	CLEAN("a\xff\xe4\xbd"
	      "b",
	    "a\xef\xbf\xbd\xef\xbf\xbd"
	    "b"); /* one for the byte, one for the unfinished character */
	CLEAN("\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	CLEAN("\\ud83d\\ude00", "\\ud83d\\ude00");
	CLEAN("x\\ude00y", "x\xef\xbf\xbdy");
	CLEAN("x\\ud83d", "x\xef\xbf\xbd");
	CLEAN("\\ud83d\\ud83d\\ude00", "\xef\xbf\xbd\\ud83d\\ude00");
	CLEAN("\\ufdd0 \xef\xb7\x90", "\xef\xb7\x90 \xef\xb7\x90"); /* our mark's own character survives */
	CLEAN("\\u12", "\\u12");
	CLEAN("\\", "\\");
	CLEAN("\\\xff", "\\\xef\xbf\xbd");
}

static void
split_pair(void **state)
{
	struct arena *a = arena_create("test", 0);
	struct sb out = sb_new(a);
	struct clean_join j = { 0 };

	(void)state;
	clean_text(&j, &out, clean_json(a, STR("a\\ud83d")));
	assert_string_equal(sb_c(&out), "a");
	clean_text(&j, &out, STR(""));
	clean_text(&j, &out, clean_json(a, STR("\\ude00b\\ud83d")));
	assert_string_equal(sb_c(&out), "a\xf0\x9f\x98\x80"
					"b");
	clean_text(&j, &out, STR("c"));
	clean_end(&j, &out);
	assert_string_equal(sb_c(&out), "a\xf0\x9f\x98\x80"
					"b\xef\xbf\xbd"
					"c");
	arena_destroy(&a);
}

/* B21: a text cut at any two places, each piece a JSON text of its own. */
static void
split_characters(void **state)
{
	const struct str text = STR("\xe4\xbd\xa0 \xf0\x9f\x98\x80"
				    "caf\xc3\xa9");
	struct arena *a = arena_create("test", 0);

	(void)state;
	for (size_t i = 0; i <= text.n; i++)
		for (size_t k = i; k <= text.n; k++) {
			struct sb out = sb_new(a);
			struct clean_join j = { 0 };

			clean_text(&j, &out, clean_json(a, str_sub(text, 0, i)));
			clean_text(&j, &out, clean_json(a, str_sub(text, i, k)));
			clean_text(&j, &out, clean_json(a, str_sub(text, k, text.n)));
			clean_end(&j, &out);
			assert_string_equal(sb_c(&out), text.p);
		}
	arena_destroy(&a);
}

/* What was begun and does not go on is one U+FFFD, wherever the pieces end. */
static void
unfinished_characters(void **state)
{
	static const char *const pieces[][4] = {
		{ "a\xe4\xbd", "b", "", "a\xef\xbf\xbd""b" },
		{ "a\xe4\xbd", "", "", "a\xef\xbf\xbd" },
		{ "\xf0\x9f", "\xe4\xbd", "\xa0", "\xef\xbf\xbd\xe4\xbd\xa0" },
		{ "\xe4", "\xff", "\xa0", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\\ud83d", "\xe4\xbd", "\xa0\\ude00", "\xef\xbf\xbd\xe4\xbd\xa0\xef\xbf\xbd" },
		{ "\xe4\xbd", "\\ud83d", "\\ude00", "\xef\xbf\xbd\xf0\x9f\x98\x80" },
	};
	struct arena *a = arena_create("test", 0);

	(void)state;
	for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
		struct sb out = sb_new(a);
		struct clean_join j = { 0 };

		for (size_t k = 0; k < 3; k++)
			clean_text(&j, &out, clean_json(a, str_c(pieces[i][k])));
		clean_end(&j, &out);
		assert_string_equal(sb_c(&out), pieces[i][3]);
	}
	arena_destroy(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leading_blocks),
		cmocka_unit_test(not_leading),
		cmocka_unit_test(lone_closer),
		cmocka_unit_test(opened_by_the_template),
		cmocka_unit_test(blanks_without_end),
		cmocka_unit_test(bad_text),
		cmocka_unit_test(split_characters),
		cmocka_unit_test(unfinished_characters),
		cmocka_unit_test(split_pair),
	};

	return cmocka_run_group_tests_name("llm_think", tests, NULL, NULL);
}
