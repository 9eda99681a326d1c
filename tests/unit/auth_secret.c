/* auth: sealed secrets: right key and context only, change of the master key, masks. */
#include "auth/secret.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail

#define KEY1 "the first master key: forty characters.."
#define KEY2 "the second master key: also long enough."

static struct ctx c;

static int
setup(void **state)
{
	(void)state;
	c = (struct ctx){ .a = arena_create("test", 0) };
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	arena_destroy(&c.a);
	return 0;
}

static struct secrets *
box(const char *keys)
{
	const char *why = NULL;
	struct secrets *s = secrets_create(c.a, keys, &why);

	assert_true((s == NULL) == (why != NULL));
	return s;
}

static int
opened(const struct secrets *s, const char *context, struct str sealed, struct str *out)
{
	err_clear(&c);
	return secret_open(&c, s, str_c(context), sealed, out);
}

static void
there_and_back(void **state)
{
	struct secrets *s = box(KEY1);
	struct str one, two, out;

	(void)state;
	assert_int_equal(secret_seal(&c, s, STR("account/7"), STR("sk-1234"), &one), 0);
	assert_int_equal(secret_seal(&c, s, STR("account/7"), STR("sk-1234"), &two), 0);
	assert_false(str_eq(one, two)); /* a nonce of its own each time */
	assert_true(str_find(one, STR("sk-1234"), 0) == STR_NPOS);
	assert_int_equal(opened(s, "account/7", one, &out), 0);
	assert_true(str_is(out, "sk-1234"));
	assert_int_equal(secret_seal(&c, s, STR("x"), STR(""), &one), 0);
	assert_int_equal(opened(s, "x", one, &out), 0);
	assert_int_equal(out.n, 0);
}

static void
nobody_else(void **state)
{
	struct secrets *s = box(KEY1);
	struct str sealed, out;

	(void)state;
	assert_int_equal(secret_seal(&c, s, STR("account/7"), STR("sk-1234"), &sealed), 0);
	assert_int_equal(opened(s, "account/8", sealed, &out), -1);
	assert_int_equal(c.err.kind, ERR_UNAVAILABLE);
	assert_string_equal(c.err.code, "secret_unavailable");
	assert_int_equal(opened(box(KEY2), "account/7", sealed, &out), -1);
	assert_int_equal(opened(box(NULL), "account/7", sealed, &out), -1);
	for (size_t i = 0; i < sealed.n; i++) {
		char *changed = arena_copy(c.a, sealed.p, sealed.n);

		changed[i] ^= 1;
		assert_int_equal(opened(s, "account/7", (struct str){ changed, sealed.n }, &out), -1);
		assert_int_equal(opened(s, "account/7", str_sub(sealed, 0, i), &out), -1);
	}
}

static void
master_key_changes(void **state)
{
	struct secrets *before = box(KEY1), *during = box(KEY2 ", " KEY1), *after = box(KEY2);
	struct str old, new, out;

	(void)state;
	assert_int_equal(secret_seal(&c, before, STR("x"), STR("old"), &old), 0);
	assert_int_equal(secret_seal(&c, during, STR("x"), STR("new"), &new), 0);
	assert_int_equal(opened(during, "x", old, &out), 0);
	assert_true(str_is(out, "old"));
	assert_int_equal(opened(after, "x", new, &out), 0);
	assert_true(str_is(out, "new"));
	assert_int_equal(opened(after, "x", old, &out), -1);
}

static void
no_key(void **state)
{
	struct str out;

	(void)state;
	assert_null(box("too short"));
	assert_null(box(KEY1 ",short"));
	assert_int_equal(secret_seal(&c, box(""), STR("x"), STR("y"), &out), -1);
	assert_string_equal(c.err.code, "secret_unavailable");
}

static void
masks(void **state)
{
	(void)state;
	assert_string_equal(secret_mask(c.a, STR("sk-abcdefghijkl")).p, "sk-a****ijkl");
	assert_string_equal(secret_mask(c.a, STR("short")).p, "****");
	assert_string_equal(secret_mask(c.a, STR("")).p, "****");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(there_and_back),
		TEST(nobody_else),
		TEST(master_key_changes),
		TEST(no_key),
		TEST(masks),
	};

	return cmocka_run_group_tests_name("auth_secret", tests, NULL, NULL);
}
