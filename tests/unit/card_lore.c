/* lore files: three shapes and two spellings (case B03), numbers, other programs, exports. */
#include "card_help.h"

#include "card/lore_file.h"

static struct lore_file
book_ok(struct str text)
{
	struct import_file f = { .bytes = text, .fallback_name = STR("file") };
	struct import_error err = { 0 };
	struct lore_file b;

	if (lore_file_read(a, &f, &b, &err) < 0)
		fail_msg("refused: %s: %s", err.code, err.message);
	return b;
}

static void
book_bad(struct str text, const char *code)
{
	struct import_file f = { .bytes = text };
	struct import_error err = { 0 };
	struct lore_file b;

	assert_int_equal(lore_file_read(a, &f, &b, &err), -1);
	assert_string_equal(err.code, code);
	assert_non_null(err.message);
}

static struct json *
entry(const struct json *doc, const char *uid)
{
	struct json *e = json_get(json_get(doc, "entries"), uid);

	if (e == NULL)
		fail_msg("no entry %s in %s", uid, json_text(a, doc).p);
	return e;
}

/* Entry 0, one that is disabled, a repeated number, both recursion flags. */
static const char native[] =
    "{\"entries\":{\"0\":{\"uid\":0,\"key\":[\"a\"],\"keysecondary\":[],\"content\":\"A\",\"order\":5,"
    "\"position\":1,"
    "\"excludeRecursion\":true,\"delayUntilRecursion\":true,\"selective\":false,\"disable\":false},"
    "\"1\":{\"uid\":3,\"key\":[\"b\"],\"content\":\"B\",\"order\":1,\"position\":0,\"disable\":true,"
    "\"selective\":false},"
    "\"2\":{\"uid\":3,\"key\":[\"c\"],\"content\":\"C\",\"order\":2,\"position\":4,\"depth\":2,\"role\":1,"
    "\"disable\":false,"
    "\"selective\":false}}}";
#define CARD_ENTRIES                                                                                         \
	"[{\"id\":0,\"keys\":[\"a\"],\"secondary_keys\":[],\"content\":\"A\",\"insertion_order\":5,"         \
	"\"position\":\"after_char\","                                                                       \
	"\"enabled\":true,\"extensions\":{\"exclude_recursion\":true,\"delay_until_recursion\":true}},"      \
	"{\"id\":3,\"keys\":[\"b\"],\"content\":\"B\",\"insertion_order\":1,\"position\":\"before_char\","   \
	"\"enabled\":false},"                                                                                \
	"{\"id\":3,\"keys\":[\"c\"],\"content\":\"C\",\"insertion_order\":2,\"enabled\":true,"               \
	"\"extensions\":{\"position\":4,\"depth\":2,"                                                        \
	"\"role\":1}}]"

static void
test_three_shapes(void **state)
{
	struct lore_file x = book_ok(str_c(native)), y = book_ok(STR("{\"entries\":" CARD_ENTRIES "}"));
	struct card c = card_ok(STR(V2("\"name\":\"A\",\"character_book\":{\"entries\":" CARD_ENTRIES "}")));

	(void)state;
	assert_int_equal(x.shape, LORE_ST);
	assert_int_equal(y.shape, LORE_CARD_BOOK);
	assert_int_equal(x.entries, 3);
	same_json(lore_complete(a, y.doc), lore_complete(a, x.doc));
	same_json(json_get(c.book, "entries"), json_get(y.doc, "entries"));
	assert_true(json_get_bool(entry(x.doc, "3"), "disable", false));
	same_str(json_get_str(entry(x.doc, "4"), "content"),
	    "C"); /* the number was taken, the entry is not lost */
	assert_true(receipt_has(&x.receipt, "uid_repeated"));
}

/* Each flag in the other program's spelling. */
static void
test_other_spelling(void **state)
{
	struct lore_file x = book_ok(STR("{\"entries\":[{\"key\":[\"a\"],\"exclude_recursion\":true,"
					 "\"extensions\":{\"prevent_recursion\":true,"
					 "\"keep\":1}}]}"));
	struct lore_file y = book_ok(
	    STR("{\"entries\":[{\"keys\":[\"a\"],\"enabled\":true,\"preventRecursion\":true,\"extensions\":{"
		"\"excludeRecursion\":true,\"keep\":1}}]}"));

	(void)state;
	for (int i = 0; i < 2; i++) {
		const struct json *e = entry(i ? y.doc : x.doc, "0");

		assert_true(json_get_bool(e, "excludeRecursion", false));
		assert_true(json_get_bool(e, "preventRecursion", false));
		same_json(json_get(e, "extensions"), JSON("{\"keep\":1}"));
		assert_false(json_has(e, "exclude_recursion"));
	}
	assert_true(receipt_has(&x.receipt, "other_spelling"));
}

static void
test_tolerance(void **state)
{
	struct lore_file b = book_ok(STR(
	    "{\"name\":null,\"entries\":{\"10\":{\"key\":\"one, "
	    "two\",\"order\":\"7\",\"position\":\"after_char\","
	    "\"role\":null,\"sticky\":\"\",\"cooldown\":\"3\",\"disable\":\"false\",\"probability\":\"50\"},"
	    "\"9\":{\"uid\":\"2\",\"key\":null,\"keysecondary\":[null,5],\"content\":7},\"x\":null,\"y\":"
	    "\"text\"}}"));
	const struct json *ten = entry(b.doc, "10"), *two = entry(b.doc, "2");
	struct json_iter it = { 0 };
	struct json *v;
	struct str key;

	(void)state;
	same_json(json_get(ten, "key"), JSON("[\"one, two\"]"));
	assert_int_equal(json_get_int(ten, "order", 0), 7);
	assert_int_equal(json_get_int(ten, "position", 0), 1);
	assert_false(json_has(ten, "role"));
	assert_int_equal(json_get_int(ten, "cooldown", 0), 3);
	assert_int_equal(json_get_int(ten, "probability", 0), 50);
	assert_false(json_has(ten, "sticky"));
	assert_false(json_has(ten, "selective"));
	assert_false(json_get_bool(ten, "disable", true));
	ten = entry(lore_complete(a, b.doc), "10");
	assert_int_equal(json_get_int(ten, "role", 9), 0);
	assert_true(json_has(ten, "sticky"));
	assert_null(json_get(ten, "sticky"));
	assert_true(json_get_bool(ten, "selective", false));
	same_json(json_get(two, "keysecondary"), JSON("[\"5\"]"));
	same_str(json_get_str(two, "content"), "7");
	same_str(b.name, "file");
	assert_true(json_next(json_get(b.doc, "entries"), &it, &key, &v));
	same_str(key, "2"); /* by number, not by text or place */
	assert_int_equal(b.entries, 2);
	assert_true(receipt_has(&b.receipt, "row_skipped"));
}

/* Numbers that are none, negative or huge: the place in the list. */
static void
test_odd_numbers(void **state)
{
	struct lore_file b = book_ok(STR("{\"entries\":[{\"keys\":[],\"id\":\"abc\",\"content\":\"0\"},{"
					 "\"keys\":[],\"id\":-4,\"content\":\"1\"},"
					 "{\"keys\":[],\"id\":9007199254740993,\"content\":\"2\"},{\"keys\":["
					 "],\"id\":1,\"content\":\"3\"}]}"));

	(void)state;
	assert_int_equal(b.entries, 4);
	same_str(json_get_str(entry(b.doc, "0"), "content"), "0");
	same_str(json_get_str(entry(b.doc, "1"), "content"), "3");
	same_str(json_get_str(entry(b.doc, "2"), "content"), "2");
	same_str(json_get_str(entry(b.doc, "3"), "content"), "1");
}

/* Marinara's own form: words become numbers, patterns are written as such, and the dialect is kept with the book. */
static void
test_marinara(void **state)
{
	struct lore_file m = book_ok(
	    STR("{\"type\":\"marinara_lorebook\",\"version\":1,\"data\":{\"lorebook\":{\"name\":\"M\"},\"entries\":[{\"name\":\"D\",\"content\":\"T\",\"keys\":"
		"[\"k\"],\"secondaryKeys\":[\"s\"],\"selective\":true,\"selectiveLogic\":\"not\",\"position\":2,\"depth\":3,\"role\":\"assistant\","
		"\"probability\":null,\"enabled\":false},{\"content\":\"U\",\"keys\":[\"a+\",\"b/c\\\\/d\"],\"useRegex\":true}],\"folders\":[]}}"));
	struct json *e = entry(m.doc, "0");
	struct lore_file again = book_ok(json_text(a, m.doc));

	(void)state;
	assert_int_equal(m.shape, LORE_MARINARA);
	same_str(m.name, "M");
	same_str(json_get_str(m.doc, "conditional_dialect"), "marinara");
	same_str(json_get_str(e, "comment"), "D");
	assert_int_equal(json_get_int(e, "selectiveLogic", 0), 2);
	assert_int_equal(json_get_int(e, "position", 0), 4);
	assert_int_equal(json_get_int(e, "role", 0), 2);
	assert_true(json_get_bool(e, "disable", false));
	same_str(json_str(json_at(json_get(entry(m.doc, "1"), "key"), 0)), "/a+/i");
	same_str(json_str(json_at(json_get(entry(m.doc, "1"), "key"), 1)), "/b\\/c\\/d/i");
	assert_true(json_equal(again.doc, m.doc));
	book_bad(STR("{\"type\":\"marinara_lorebook\",\"version\":1,\"data\":{\"name\":\"no entries\",\"entries\":7}}"), "not_a_worldbook");
}

static void
test_others(void **state)
{
	struct lore_file n = book_ok(
	    STR("{\"lorebookVersion\":5,\"entries\":[{\"text\":\"T\",\"displayName\":\"D\",\"keys\":[\"k\"],"
		"\"enabled\":false,\"contextConfig\":{\"budgetPriority\":400}}]}"));
	struct lore_file g = book_ok(STR("{\"kind\":\"memory\",\"name\":\"G\",\"entries\":[{\"name\":\"D\","
					 "\"entry\":\"T\",\"keywords\":[\"k\"],"
					 "\"weight\":3,\"enabled\":true}]}"));
	struct lore_file r = book_ok(STR(
	    "{\"type\":\"risu\",\"ver\":1,\"data\":[{\"key\":\"k, l\",\"secondkey\":\"\",\"comment\":\"D\","
	    "\"content\":\"T\",\"alwaysActive\":true,\"insertorder\":9}]}"));
	const struct lore_file *all[] = { &n, &g, &r };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		same_str(json_get_str(entry(all[i]->doc, "0"), "content"), "T");
		same_str(json_get_str(entry(all[i]->doc, "0"), "comment"), "D");
		same_str(json_str(json_at(json_get(entry(all[i]->doc, "0"), "key"), 0)), "k");
	}
	assert_int_equal(n.shape, LORE_NOVELAI);
	assert_int_equal(json_get_int(entry(n.doc, "0"), "order", 0), 400);
	assert_true(json_get_bool(entry(n.doc, "0"), "disable", false));
	same_str(g.name, "G");
	assert_true(json_get_bool(entry(r.doc, "0"), "constant", false));
	assert_int_equal(json_len(json_get(entry(r.doc, "0"), "key")), 2);
	n = book_ok(png_with("naidata",
	    base64_encode(a, STR("{\"lorebookVersion\":5,\"entries\":[{\"text\":\"P\",\"keys\":[]}]}"))));
	same_str(json_get_str(entry(n.doc, "0"), "content"), "P");
}

static void
test_refused(void **state)
{
	(void)state;
	book_bad(STR("{\"entries\":"), "invalid_json");
	book_bad(STR("{\"entries\":5}"), "not_a_worldbook");
	book_bad(STR("{\"x\":5}"), "not_a_worldbook");
	book_bad(STR("[]"), "not_a_worldbook");
	book_bad(STR("{\"prompts\":[]}"), "not_a_worldbook");
	book_bad(STR(V2("\"name\":\"A\",\"character_book\":{\"entries\":[]}")), "not_a_worldbook");
	book_bad(png_blank(), "no_metadata");
}

static void
test_fixed_point(void **state)
{
	struct lore_file b = book_ok(STR(
	    "{\"name\":\"N\",\"odd\":[9007199254740993],\"scan_depth\":3,\"extensions\":{\"v\":1},"
	    "\"entries\":["
	    "{\"keys\":[\"k\"],\"content\":\"c\",\"name\":\"title\",\"priority\":10,\"case_sensitive\":true,"
	    "\"use_regex\":true,\"enabled\":true,\"insertion_order\":4,\"extensions\":{\"odd\":{\"x\":1},"
	    "\"position\":2,\"sticky\":3}}]}"));
	struct json *st = lore_export_st(a, b.doc), *book = lore_export_card_book(a, b.doc);

	(void)state;
	same_json(book_ok(json_text(a, st)).doc, b.doc);
	same_json(lore_complete(a, book_ok(json_text(a, book)).doc), lore_complete(a, b.doc));
	same_json(lore_export_card_book(a, book_ok(json_text(a, book)).doc), book);
	book = json_at(json_get(book, "entries"), 0);
	same_json(json_get(json_get(book, "extensions"), "odd"), JSON("{\"x\":1}"));
	assert_int_equal(json_get_int(json_get(book, "extensions"), "position", 0), 2);
	assert_int_equal(json_get_int(book, "priority", 0), 10);
	assert_true(json_get_bool(book, "use_regex", false));
	assert_null(json_get(json_get(book, "extensions"), "case_sensitive"));
}

static void
test_many_entries(void **state)
{
	struct sb s = sb_new(a);
	struct lore_file b;

	(void)state;
	sb_adds(&s, "{\"entries\":{");
	for (int i = 5000; i-- > 0;)
		sb_addf(&s, "\"%d\":{\"uid\":%d,\"key\":[\"k%d\"],\"content\":\"text\",\"comment\":null}%s",
		    i, i, i, i ? "," : "}}");
	b = book_ok(sb_str(&s));
	assert_int_equal(b.entries, 5000);
	same_str(json_str(json_at(json_get(entry(b.doc, "4999"), "key"), 0)), "k4999");
	assert_true(b.receipt.items.n <= 2 * LIM_RECEIPT_CODE);
}

/* What is no value of its field decides nothing: neither which spelling an entry has nor where a field is taken from. */
static void
test_unusable_decides_nothing(void **state)
{
	static const char *const books[] = {
		"{\"entries\":[{\"keys\":[\"a\"],\"insertion_order\":7,\"enabled\":false,\"disable\":\"c\"}]}",
		"{\"entries\":[{\"keys\":[\"a\"],\"insertion_order\":7,\"enabled\":false,\"key\":{}}]}",
		"{\"entries\":[{\"keys\":[\"a\"],\"insertion_order\":7,\"enabled\":false,\"order\":null}]}",
		"{\"entries\":[{\"keys\":[\"a\"],\"insertion_order\":7,\"enabled\":false,\"keysecondary\":{\"x\":1}}]}",
	};
	struct lore_file x;
	const struct json *e;

	(void)state;
	for (size_t i = 0; i < sizeof(books) / sizeof(books[0]); i++) {
		x = book_ok(str_c(books[i]));
		e = entry(x.doc, "0");
		same_json(json_get(e, "key"), JSON("[\"a\"]"));
		assert_int_equal(json_get_int(e, "order", 0), 7);
		assert_true(json_get_bool(e, "disable", false));
		assert_int_equal(json_get_int(e, "position", 0), 1); /* as card books without a position mean it */
		assert_true(str_eq(json_text(a, lore_normalise(a, x.doc, "", NULL)), json_text(a, x.doc)));
	}
	x = book_ok(STR("{\"entries\":[{\"key\":[\"a\"],\"groupOverride\":\"?\",\"group_override\":{},\"comment\":5,\"name\":\"n\","
			"\"extensions\":{\"group_override\":[],\"groupOverride\":\"yes\"}}]}"));
	e = entry(x.doc, "0");
	assert_true(json_get_bool(e, "groupOverride", false));
	same_str(json_get_str(e, "comment"), "5");
	assert_true(receipt_has(&x.receipt, "wrong_type"));
	assert_true(str_eq(json_text(a, lore_normalise(a, x.doc, "", NULL)), json_text(a, x.doc)));
	x = book_ok(STR("{\"entries\":[{\"keys\":[\"a\"],\"position\":\"before_char\",\"selective\":\"?\",\"extensions\":{\"position\":\"far\"}}]}"));
	assert_int_equal(json_get_int(entry(x.doc, "0"), "position", 9), 0);
	assert_false(json_get_bool(entry(x.doc, "0"), "selective", true));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_three_shapes),
		cmocka_unit_test(test_other_spelling),
		cmocka_unit_test(test_tolerance),
		cmocka_unit_test(test_unusable_decides_nothing),
		cmocka_unit_test(test_odd_numbers),
		cmocka_unit_test(test_marinara),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_fixed_point),
		cmocka_unit_test(test_many_entries),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
