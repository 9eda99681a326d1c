/* lore_scan: what the vectors do not show: verdicts, timers of a branch, decisions, macros, shapes of books,
 * big books. */
#include "base/sb.h"
#include "base/tm.h"
#include "lore/book_file.h"

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

static struct json *
parse(const char *text)
{
	struct json_error err;
	struct json *j = json_read(a, str_c(text), 32, &err);

	if (j == NULL)
		fail_msg("%s: %s", err.what, text);
	return j;
}

/* A set of one global book, from its entries' JSON. */
static struct lore_set *
set_of(const char *entries)
{
	struct lore_bound *bound = arena_new(a, struct lore_bound);
	struct lore_binding b = { .books = bound, .nbooks = 1, .strategy = LORE_CHARACTER_FIRST };

	bound->book = lore_book_read(a, STR("B"), parse(arena_printf(a, "{\"entries\":%s}", entries)));
	return lore_set_compile(a, &b);
}

static struct lore_scan
scan_of(const char *newest)
{
	struct lore_text *m = arena_new(a, struct lore_text);
	struct lore_scan s = { .messages = m,
		.nmessages = 1,
		.max_context = 100000,
		.settings = lore_settings_defaults(),
		.trigger = STR("normal"),
		.character = STR("Lyra") };

	*m = (struct lore_text){ STR("User"), str_c(newest) };
	return s;
}

static const struct lore_verdict *
verdict(const struct lore_result *r, int64_t uid)
{
	for (size_t i = 0; i < r->nverdicts; i++)
		if (lore_book_entry(r->verdicts[i].book, r->verdicts[i].entry)->uid == uid)
			return &r->verdicts[i];
	fail_msg("no entry %lld", (long long)uid);
	return NULL;
}

static void
says_why(void **state)
{
	static const char *const why[] = { "key", "constant", "not_enabled", "not_trigger", "not_character",
		"not_tag", "not_delay", "not_recursed", "not_keyless", "not_key", "not_logic", "decorator",
		"not_decorator", "not_in_recursion", "key", "not_key", "not_key", "key" };
	struct lore_set *s = set_of(
	    "[{\"key\":[\"no\",\"apple\"],\"content\":\"oak\"},{\"constant\":true,\"content\":\"C\"},"
	    "{\"key\":[\"apple\"],\"disable\":true},{\"key\":[\"apple\"],\"triggers\":[\"swipe\"]},"
	    "{\"key\":[\"apple\"],\"characterFilter\":{\"names\":[\"Other\"]}},"
	    "{\"key\":[\"apple\"],\"characterFilter\":{\"isExclude\":true,\"tags\":[\"t\"]}},"
	    "{\"key\":[\"apple\"],\"delay\":2},{\"key\":[\"apple\"],\"delayUntilRecursion\":9},{\"content\":"
	    "\"x\"},"
	    "{\"key\":[\"pear\",\"\"]},{\"key\":[\"apple\"],\"keysecondary\":[\"pear\"]},"
	    "{\"content\":\"@@activate\\nx\"},{\"key\":[\"apple\"],\"content\":\"@@dont_activate\\nx\"},"
	    "{\"key\":[\"oak\"],\"excludeRecursion\":true},{\"key\":[\"oak\"]},{\"key\":[\" "
	    "\"],\"content\":\"e\"},"
	    "{\"key\":[\"/(?<=(a+))p/\"]},{\"key\":[\"hair\"],\"matchCharacterDescription\":true}]");
	struct lore_scan in = scan_of("an apple");
	const struct lore_result *r;
	struct str tag = STR("t");

	(void)state;
	in.settings.recursive = true;
	in.settings.max_steps = 3;
	in.tags = (struct lore_strs){ &tag, 1 };
	in.has_tags = true;
	in.sources[LORE_DESCRIPTION] = STR("Red hair");
	r = lore_run(a, s, &in);
	for (size_t i = 0; i < sizeof why / sizeof why[0]; i++)
		if (i != 7) /* the lowest level counts as reached as soon as recursion runs */
			assert_string_equal(lore_why_name(verdict(r, (int64_t)i)->why), why[i]);
	assert_true(str_is(verdict(r, 0)->key, "apple"));
	assert_int_equal(verdict(r, 0)->place, LORE_IN_MESSAGE);
	assert_int_equal(verdict(r, 0)->recursion, 0);
	assert_int_equal(verdict(r, 14)->place, LORE_IN_RECURSION);
	assert_int_equal(verdict(r, 14)->place_index, 1);
	assert_int_equal(verdict(r, 14)->recursion, 1);
	assert_true(verdict(r, 16)->key_limited);
	assert_int_equal(verdict(r, 17)->place, LORE_IN_SOURCE);
	assert_int_equal(verdict(r, 17)->place_index, LORE_DESCRIPTION);
}

/* Ids of a list that stands in no file say nothing; a name says what it names. */
static void
filters_by_tags_and_names(void **state)
{
	static const struct {
		const char *filter;
		const char *why;
	} rows[] = {
		{ "{\"tags\":[\"0f8fad5b-d9cb-469f-a165-70867728950e\"]}", "key" },
		{ "{\"isExclude\":true,\"tags\":[\"0F8FAD5B-d9cb-469f-a165-70867728950e\"]}", "key" },
		{ "{\"tags\":[\"0f8fad5b-d9cb-469f-a165-70867728950e\",\"other\"]}", "not_tag" },
		{ "{\"tags\":[\"0f8fad5b-d9cb-469f-a165-70867728950\"]}", "not_tag" },
		{ "{\"tags\":[\"\u00c9lfe\"]}", "key" },
		{ "{\"isExclude\":true,\"tags\":[\"\u00c9LFE\"]}", "not_tag" },
		{ "{\"names\":[\"Lyra: a\"]}", "key" },
		{ "{\"names\":[\"Lyra a\"]}", "key" },
		{ "{\"isExclude\":true,\"names\":[\"Lyra a\"]}", "not_character" },
		{ "{\"names\":[\"Lyra\"]}", "not_character" },
	};
	struct str tag = STR("\xc3\xa9lfe");

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct lore_set *s = set_of(arena_printf(a, "[{\"key\":[\"apple\"],\"characterFilter\":%s}]", rows[i].filter));
		struct lore_scan in = scan_of("an apple");

		in.character = STR("Lyra: a");
		in.character_file = STR("Lyra a");
		in.tags = (struct lore_strs){ &tag, 1 };
		in.has_tags = true;
		assert_string_equal(lore_why_name(verdict(lore_run(a, s, &in), 0)->why), rows[i].why);
	}
}

static void
says_why_of_losers(void **state)
{
	struct lore_set *s =
	    set_of("[{\"key\":[\"a\"],\"group\":\"g\",\"groupOverride\":true,\"content\":\"x\"},"
		   "{\"key\":[\"a\"],\"group\":\"g\"},{\"key\":[\"a\"],\"probability\":0},"
		   "{\"key\":[\"a\"],\"content\":\"0123456789012345678901234567890123456789\"},"
		   "{\"key\":[\"z\"],\"content\":\"z\"},{\"key\":[\"0123\"]}]");
	struct lore_scan in = scan_of("a");
	const struct lore_result *r;

	(void)state;
	in.settings.recursive = true;
	in.settings.budget_percent = 100;
	in.max_context = 8;
	r = lore_run(a, s, &in);
	assert_int_equal(verdict(r, 0)->why, LORE_BY_KEY);
	assert_int_equal(verdict(r, 1)->why, LORE_NOT_GROUP);
	assert_int_equal(verdict(r, 2)->why, LORE_NOT_PROBABILITY);
	assert_true(verdict(r, 2)->roll >= 0);
	assert_int_equal(verdict(r, 3)->why, LORE_NOT_BUDGET);
	assert_int_equal(verdict(r, 5)->why, LORE_NOT_KEY); /* what was over budget sets nothing off */
	assert_true(r->overflowed);
	assert_int_equal(r->budget, 8);
}

static void
takes_probability_as_it_is(void **state)
{
	struct lore_set *s =
	    set_of("[{\"constant\":true,\"probability\":0},{\"constant\":true,\"probability\":\"30\"}]");
	int hits = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 10000; seed++) {
		struct arena_mark m = arena_mark(a);
		struct lore_scan in = scan_of("x");
		const struct lore_result *r;

		in.seed = seed;
		r = lore_run(a, s, &in);
		assert_false(lore_why_is_on(verdict(r, 0)->why));
		hits += lore_why_is_on(verdict(r, 1)->why);
		assert_int_equal(r->rolls, 2);
		arena_rewind(a, m);
	}
	assert_in_range(hits, 2800, 3200);
}

/*
 * B14: keys of nothing find nothing; what is over budget is out and sets nothing off. As in SillyTavern an entry fits
 * while what is printed with it stays below the budget (spec 2.4: at it is too much).
 */
static void
losers_have_no_influence(void **state)
{
	struct lore_set *s = set_of("[{\"key\":[\"\"],\"content\":\"never\"},{\"key\":[\" \"],\"content\":\"never\"},"
				    "{\"key\":[\"a\"],\"content\":\"01234567 bell\",\"order\":9},{\"key\":[\"bell\"],\"content\":\"x\",\"ignoreBudget\":true}]");

	(void)state;
	for (int budget = 3; budget <= 5; budget++) { /* the third has 13 units: 4 tokens */
		struct lore_scan in = scan_of("a  b");
		const struct lore_result *r;

		in.settings.recursive = true;
		in.settings.budget_percent = 100;
		in.max_context = budget;
		r = lore_run(a, s, &in);
		assert_false(lore_why_is_on(verdict(r, 0)->why));
		assert_false(lore_why_is_on(verdict(r, 1)->why));
		assert_int_equal(verdict(r, 2)->why, budget == 5 ? LORE_BY_KEY : LORE_NOT_BUDGET);
		assert_int_equal(lore_why_is_on(verdict(r, 3)->why), budget == 5);
	}
}

/* ---- timers ---- */

struct branch {
	const struct lore_set *set;
	struct lore_past past[40];
	size_t n;
};

/* The next turn of a branch: which of the first three entries came up? */
static unsigned
turn(struct branch *b, const char *text, bool commit)
{
	int32_t horizon = lore_set_horizon(b->set);
	size_t from = b->n > (size_t)horizon ? b->n - (size_t)horizon : 0;
	struct lore_scan in = scan_of(text);
	const struct lore_result *r;
	unsigned bits = 0;

	in.chat_length = (int64_t)b->n * 2 + 1;
	in.timers = lore_timers_replay(a, b->set, b->past + from, b->n - from);
	r = lore_run(a, b->set, &in);
	for (size_t i = 0; i < r->nactive; i++)
		bits |= 1u << r->active[i].entry->uid;
	if (commit)
		b->past[b->n++] = lore_commit(a, r, in.chat_length);
	return bits;
}

static void
runs_timers_by_the_branch(void **state)
{
	struct branch b = {
		.set = set_of(
		    "[{\"key\":[\"go\"],\"sticky\":4},{\"key\":[\"go\"],\"cooldown\":4},"
		    "{\"key\":[\"go\"],\"delay\":5},{\"key\":[\"go\"],\"sticky\":2,\"cooldown\":3}]")
	};
	struct branch fork, edited;

	(void)state;
	assert_int_equal(lore_set_horizon(b.set), 5);
	assert_int_equal(turn(&b, "no", true), 0);
	for (int i = 0; i < 4; i++) /* rerolls of one floor use nothing up */
		assert_int_equal(turn(&b, "go", false), 1 | 2 | 8);
	assert_int_equal(turn(&b, "go", true), 1 | 2 | 8); /* length 3: sticky to 7 and to 5, cooldown to 7 */
	fork = edited = b;
	edited.set = set_of("[{\"key\":[\"go\"],\"sticky\":4,\"content\":\"new\"},{\"key\":[\"go\"]},{"
			    "\"key\":[\"no\"]},{\"key\":[\"no\"]}]");
	assert_int_equal(turn(&b, "no", true), 1); /* 5: sticky of the first goes on, the last cools down */
	assert_int_equal(
	    turn(&b, "go", true), 1 | 2 | 4); /* 7: new for the first, cooldown over, delay over; 3 until 8 */
	assert_int_equal(turn(&b, "go", true), 1 | 4 | 8); /* 9: first sticky, second cools down again */
	assert_int_equal(turn(&fork, "no", true), 1);      /* as the branch was at the fork */
	assert_int_equal(turn(&edited, "x", true), 0);     /* an edited entry loses its effect */
	for (int i = 0; i < 12; i++)
		turn(&b, "no", true);
	assert_int_equal(turn(&b, "no", true), 0);
}

static void
previews_without_timers(void **state)
{
	struct lore_set *s = set_of("[{\"key\":[\"go\"],\"sticky\":4}]");
	struct lore_scan in = scan_of("go");
	struct lore_result *r = lore_run(a, s, &in);

	(void)state;
	assert_int_equal(r->timers.n, 1);
	assert_true(r->active[0].sticky_began);
	in = scan_of("no");
	in.chat_length = 2;
	in.timers = r->timers;
	assert_int_equal(lore_run(a, s, &in)->nactive, 1);
	in.dry_run = true;
	r = lore_run(a, s, &in);
	assert_int_equal(r->nactive, 0);
	assert_int_equal(r->timers.n, 1);
}

/* ---- decisions and macros ---- */

static enum lore_answer
decide(void *arg, struct str statement)
{
	(void)arg;
	return str_is(statement, "yes")  ? LORE_ANSWER_YES
	       : str_is(statement, "no") ? LORE_ANSWER_NO
					 : LORE_UNANSWERED;
}

static void
asks_for_decisions(void **state)
{
	struct lore_set *s =
	    set_of("[{\"decision\":\"yes\"},{\"decision\":\"no\"},{\"decision\":\"?\"},{\"key\":[\"a\"],"
		   "\"decision\":\"no\"},"
		   "{\"key\":[\"a\"],\"decision\":\"??\"},{\"key\":[\"b\"],\"decision\":\"yes\"},"
		   "{\"constant\":true,\"decision\":\"no\"},{\"key\":[\"b\"],\"decision\":\"never asked\"}]");
	struct lore_scan in = scan_of("a");
	const struct lore_result *r;

	(void)state;
	in.calls.decide = decide;
	r = lore_run(a, s, &in);
	assert_int_equal(verdict(r, 0)->why, LORE_BY_DECISION);
	assert_int_equal(verdict(r, 1)->why, LORE_NOT_DECISION);
	assert_int_equal(verdict(r, 2)->why, LORE_NOT_ANSWERED);
	assert_int_equal(verdict(r, 3)->why, LORE_NOT_DECISION);
	assert_int_equal(verdict(r, 4)->why, LORE_BY_KEY);
	assert_int_equal(verdict(r, 5)->why, LORE_NOT_KEY);
	assert_int_equal(verdict(r, 6)->why, LORE_NOT_DECISION);
	assert_int_equal(r->unanswered.n, 2);
	assert_true(str_is(r->unanswered.v[0], "?"));
}

static struct sb seen;

static struct str
expand(void *arg, struct str dialect, struct str text)
{
	(void)arg;
	(void)dialect;
	sb_add(&seen, text);
	sb_addc(&seen, ';');
	return str_find(text, STR("{{k}}"), 0) != STR_NPOS ? STR("/ap+le/") : text;
}

static void
expands_once_and_in_order(void **state)
{
	struct lore_set *s =
	    set_of("[{\"key\":[\"{{k}}\",\"<b>\"],\"content\":\"one oak\",\"order\":1},"
		   "{\"key\":[\"oak\"],\"keysecondary\":[\"{{s}}\"],\"selectiveLogic\":2,\"content\":\"two\","
		   "\"order\":2},"
		   "{\"key\":[\"never {{x}}\"],\"disable\":true},{\"constant\":true,\"content\":\"con "
		   "{{c}}\",\"order\":3}]");
	struct lore_scan in = scan_of("an apple");
	const struct lore_result *r;

	(void)state;
	seen = sb_new(a);
	in.calls.expand = expand;
	in.settings.recursive = true;
	r = lore_run(a, s, &in);
	assert_int_equal(r->nactive, 3);
	assert_string_equal(sb_c(&seen), "{{s}};{{k}};<b>;con {{c}};one oak;two;");
	assert_true(str_is(verdict(r, 0)->key, "/ap+le/"));
}

/* ---- books ---- */

static const char st_shape[] =
    "{\"entries\":{\"7\":{\"uid\":7,\"key\":[\"apple\"],\"content\":\"x oak\",\"excludeRecursion\":true},"
    "\"0\":{\"uid\":0,\"key\":[\"oak\"],\"delayUntilRecursion\":true,\"order\":\"50\",\"position\":1},"
    "\"3\":{\"uid\":3,\"key\":\"pear\",\"disable\":true},\"4\":{\"uid\":4,\"key\":[\"moon\"],\"scanDepth\":"
    "null,\"role\":null},"
    "\"5\":{\"uid\":5,\"key\":[\"a\"],\"keysecondary\":[\"b\"],\"selective\":false,\"sticky\":3,"
    "\"probability\":\"40\"}}}";
static const char card_shape[] =
    "{\"name\":\"B\",\"entries\":[{\"id\":7,\"keys\":[\"apple\"],\"content\":\"x "
    "oak\",\"enabled\":true,\"position\":\"before_char\","
    "\"selective\":true,\"extensions\":{\"exclude_recursion\":true}},"
    "{\"id\":0,\"keys\":[\"oak\"],\"insertion_order\":50,\"position\":\"after_char\",\"selective\":true,"
    "\"extensions\":{\"delay_until_recursion\":true}},"
    "{\"id\":3,\"keys\":[\"pear\"],\"enabled\":false,\"position\":\"before_char\",\"selective\":true},null,"
    "{\"id\":4,\"keys\":[\"moon\"],\"position\":\"after_char\",\"selective\":true,\"extensions\":{"
    "\"position\":0,\"scan_depth\":null}},"
    "{\"id\":\"5\",\"keys\":[\"a\"],\"secondary_keys\":[\"b\"],\"position\":\"before_char\",\"extensions\":{"
    "\"sticky\":3,\"probability\":40}}]}";

static void
reads_shapes_alike(void **state)
{
	struct lore_book *st = lore_book_read(a, STR("B"), parse(st_shape)),
			 *card = lore_book_read(a, STR_NULL, parse(card_shape));

	(void)state;
	assert_int_equal(lore_book_count(st), 5);
	assert_int_equal(lore_book_count(card), 5);
	assert_true(str_is(lore_book_name(card), "B"));
	for (size_t i = 0; i < 5; i++) /* every field that matters is in the hash */
		assert_int_equal(lore_book_hash(st, i), lore_book_hash(card, i));
	assert_int_equal(lore_book_entry(st, 0)->uid, 0);
	assert_int_equal(lore_book_entry(st, 0)->order, 50);
	assert_int_equal(lore_book_entry(st, 4)->uid, 7);
	assert_int_equal(lore_book_count(lore_book_read(a, STR("x"), parse("{}"))), 0);
	assert_int_equal(lore_book_count(lore_book_read(a, STR("x"), NULL)), 0);
}

static void
numbers_repeated_entries(void **state)
{
	struct lore_book *b =
	    lore_book_read(a, STR("B"), parse("{\"entries\":[{\"id\":2},{\"id\":2},{\"id\":0},{}]}"));

	(void)state;
	assert_int_equal(lore_book_count(b), 4);
	assert_int_equal(lore_book_entry(b, 0)->uid, 0);
	assert_int_equal(lore_book_entry(b, 1)->uid, 2);
	assert_int_equal(lore_book_entry(b, 2)->uid, 4);
	assert_int_equal(lore_book_entry(b, 3)->uid, 3);
}

static void
binds_a_book_once(void **state)
{
	struct lore_book *b =
	    lore_book_read(a, STR("B"), parse("{\"entries\":[{\"constant\":true,\"content\":\"x\"}]}"));
	struct lore_bound bound[] = { { b, LORE_CHARACTER }, { b, LORE_PERSONA_BOOK }, { b, LORE_GLOBAL },
		{ b, LORE_CHAT } };
	struct lore_binding binding = { .books = bound, .nbooks = 4 };
	struct lore_scan in = scan_of("x");
	const struct lore_result *r = lore_run(a, lore_set_compile(a, &binding), &in);
	int twins = 0;

	(void)state;
	assert_int_equal(r->nactive, 1);
	for (size_t i = 0; i < r->nverdicts; i++)
		twins += r->verdicts[i].why == LORE_NOT_DUPLICATE;
	assert_int_equal(twins, 3);
}

static void
looks_further_back_on_demand(void **state)
{
	struct lore_set *s = set_of("[{\"key\":[\"dragon\"]},{\"key\":[\"/moon/\"]}]");
	struct lore_text m[] = { { STR("A"), STR("m5") }, { STR("A"), STR("m4") },
		{ STR("A"), STR("m3 dragon") }, { STR("A"), STR("moon") } };
	struct lore_scan in = scan_of("");
	const struct lore_result *r;

	(void)state;
	in.messages = m;
	in.nmessages = 4;
	in.settings.scan_depth = 0;
	in.settings.min_activations = 3;
	r = lore_run(a, s, &in);
	assert_int_equal(r->nactive, 2);
	assert_int_equal(verdict(r, 0)->place_index, 2);
	assert_int_equal(verdict(r, 1)->place_index, 3);
}

static void
takes_big_and_odd_books(void **state)
{
	enum { N = 5000 };
	struct lore_entry *v = arena_array(a, struct lore_entry, N);
	struct str *keys = arena_array(a, struct str, N);
	struct lore_bound bound = { .scope = LORE_GLOBAL };
	struct lore_binding b = { .books = &bound, .nbooks = 1, .whole_words = true };
	struct lore_scan in = scan_of("key4999, key12");
	const struct lore_result *r;
	int64_t began = tm_mono();

	(void)state;
	for (size_t i = 0; i < N; i++) {
		keys[i] = str_c(arena_printf(a, "key%zu", i));
		v[i] = lore_entry_defaults();
		v[i].uid = INT64_MAX - (int64_t)i; /* beyond 2^53, and no room above */
		v[i].keys = (struct lore_strs){ &keys[i], 1 };
		v[i].content = STR("a text\x01with {{ odd }} marks");
		v[i].group = i % 2 ? STR("g") : STR("");
		v[i].order = i % 7 ? (double)i : -1e300;
	}
	bound.book = lore_book_compile(a, STR(""), v, N);
	r = lore_run(a, lore_set_compile(a, &b), &in);
	assert_int_equal(r->nactive, 2);
	assert_true(tm_mono() - began < 1000);
	assert_int_equal(lore_commit(a, r, 1).n, 2);
	assert_true(str_is(lore_note(a, r, STR("note")), "note"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_why),
		cmocka_unit_test(filters_by_tags_and_names),
		cmocka_unit_test(says_why_of_losers),
		cmocka_unit_test(takes_probability_as_it_is),
		cmocka_unit_test(losers_have_no_influence),
		cmocka_unit_test(runs_timers_by_the_branch),
		cmocka_unit_test(previews_without_timers),
		cmocka_unit_test(asks_for_decisions),
		cmocka_unit_test(expands_once_and_in_order),
		cmocka_unit_test(reads_shapes_alike),
		cmocka_unit_test(numbers_repeated_entries),
		cmocka_unit_test(binds_a_book_once),
		cmocka_unit_test(looks_further_back_on_demand),
		cmocka_unit_test(takes_big_and_odd_books),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
