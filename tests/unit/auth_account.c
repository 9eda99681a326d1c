/* auth: accounts and keys in a real database, made by `tavernctl account`, and what entering with such a key
 * answers. */
#include "../lib/pg.h"

#include "auth/account.h"
#include "auth/auth.h"
#include "base/tm.h"
#include "ctl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>
#undef fail

#define PEPPER "pepper of the test"

static struct arena *a;
static struct db *db;
static struct settings settings;
static const char *said; /* what the last command printed */

int
ctl_usage(const struct ctl_command *cmd)
{
	return cmd == &ctl_account ? 2 : 99;
}

int
ctl_failed(const struct ctl *ctl)
{
	said = arena_strdup(a, str_c(ctl->ctx->err.code));
	return 1;
}

/* Runs the command with its output caught. */
static int
ctl(const char *words)
{
	struct ctx c = { .a = a, .now = tm_now(), .rid = "ctl" };
	struct ctl x = { a, &settings, &c };
	struct str rest = str_c(words), word;
	FILE *f = tmpfile();
	int old = dup(1), olderr = dup(2), argc = 0, rc;
	char *argv[16], buf[4096];
	size_t n;

	while (str_next(&rest, ' ', &word) && argc < 16)
		argv[argc++] = arena_strdup(a, word);
	said = NULL;
	fflush(stdout);
	dup2(fileno(f), 1);
	dup2(fileno(f), 2);
	rc = ctl_account.fn(&x, argc, argv);
	fflush(stdout);
	dup2(old, 1);
	dup2(olderr, 2);
	close(old);
	close(olderr);
	rewind(f);
	n = fread(buf, 1, sizeof buf - 1, f);
	fclose(f);
	if (!said)
		said = arena_strdup(a, (struct str){ buf, n });
	return rc;
}

/* Enters with a key: "ok ID ROLE" or "KIND code". */
static const char *
enter(struct str key)
{
	const char *why = NULL;
	struct auth_conf conf = { .kind = AUTH_API_KEY, .multi = true, .pepper = PEPPER };
	struct auth *auth = auth_create(a, &conf, &why);
	struct ctx c = { .a = a, .now = tm_now(), .rid = "t", .db = db };
	struct auth_input in = { .api_key = key };

	assert_non_null(auth);
	assert_int_equal(auth_credential(auth, &c, &in), 0);
	if (db_enter(&c) < 0)
		return arena_printf(a, "%d %s", (int)c.err.kind, c.err.code);
	return arena_printf(a, "ok %s %d", c.who.account_id, (int)c.who.role);
}

static struct str
first_line(void)
{
	struct str s = str_c(said);

	return arena_str(a, str_sub(s, 0, str_chr(s, '\n', 0)));
}

static void
life_of_a_key(void **state)
{
	struct str key, other;

	(void)state;
	assert_int_equal(ctl("account create anna --name Anna"), 0);
	assert_int_equal(ctl("account create anna"), 1);
	assert_string_equal(said, "account_exists");
	assert_int_equal(ctl("account key create anna --name laptop"), 0);
	key = first_line();
	assert_true(str_starts(key, STR("tvk_")));
	assert_int_equal(ctl("account key create anna"), 0);
	other = first_line();
	assert_string_equal(enter(key), arena_printf(a, "ok anna %d", ROLE_USER));
	assert_string_equal(
	    enter(STR("tvk_wrong")), arena_printf(a, "%d auth_invalid_credentials", ERR_FORBIDDEN));
	assert_string_equal(
	    pg_value(
		a, arena_printf(a, "SELECT count(*) FROM api_key WHERE hash LIKE '%%%s%%' OR prefix = '%s'",
		       key.p, key.p)),
	    "0");

	assert_int_equal(ctl("account key list anna"), 0);
	assert_non_null(strstr(said, "laptop"));
	assert_non_null(strstr(said, arena_strdup(a, str_sub(key, 0, 12))));
	assert_null(strstr(said, key.p));

	assert_int_equal(ctl(arena_printf(a, "account key revoke anna %.12s", key.p)), 0);
	assert_string_equal(enter(key), arena_printf(a, "%d auth_invalid_credentials", ERR_FORBIDDEN));
	assert_string_equal(enter(other), arena_printf(a, "ok anna %d", ROLE_USER));
	assert_int_equal(ctl("account key revoke anna nothing"), 1);
	assert_string_equal(said, "api_key_not_found");
	assert_int_equal(ctl("account key create nobody"), 1);
	assert_string_equal(said, "account_not_found");

	assert_int_equal(ctl("account disable anna"), 0);
	assert_string_equal(enter(other), arena_printf(a, "%d account_disabled", ERR_FORBIDDEN));
	assert_int_equal(ctl("account enable anna"), 0);
	assert_string_equal(enter(other), arena_printf(a, "ok anna %d", ROLE_USER));
	pg_sql("UPDATE api_key SET expires_at = 1");
	assert_string_equal(enter(other), arena_printf(a, "%d auth_invalid_credentials", ERR_FORBIDDEN));
}

static void
first_admin(void **state)
{
	(void)state;
	assert_int_equal(ctl("account key create default-admin --days 7"), 0);
	assert_string_equal(enter(first_line()), arena_printf(a, "ok default-admin %d", ROLE_ADMIN));
	assert_int_equal(ctl("account disable default-admin"), 1);
	assert_string_equal(said, "account_default");
	assert_int_equal(ctl("account create root --admin"), 0);
	assert_int_equal(ctl("account disable root"), 0); /* another administrator is left */
	assert_int_equal(ctl("account list"), 0);
	assert_non_null(strstr(said, "default-admin\tadmin\tactive\t1 key\t"));
	assert_non_null(strstr(said, "root\tadmin\tdisabled\t0 keys\troot\n"));
}

static void
wrong_use(void **state)
{
	static const char *const bad[] = { "account", "account frob", "account create", "account key",
		"account key create", "account key revoke anna", "account key create anna --days 0",
		"account key create anna --days many", "account list --frob", "account create x --name",
		NULL };

	(void)state;
	for (size_t i = 0; bad[i]; i++)
		assert_int_equal(ctl(bad[i]), 2);
	settings.api_key_pepper = NULL;
	assert_int_equal(ctl("account key create default-admin"), 1);
	assert_string_equal(said, "setting_missing");
	settings.api_key_pepper = PEPPER;
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(life_of_a_key),
		cmocka_unit_test(first_admin),
		cmocka_unit_test(wrong_use),
	};
	int rc;

	(void)argc;
	pg_main(argv);
	pg_migrate();
	a = arena_create("test", 0);
	db = pg_pool(DB_APP, 2);
	settings = (struct settings){ .database = pg_login(a, "tavern_app"),
		.db_checkout_timeout = 5000,
		.db_statement_timeout = 5000,
		.db_lock_timeout = 5000,
		.db_prepare = true,
		.api_key_pepper = PEPPER };
	rc = cmocka_run_group_tests_name("auth_account", tests, NULL, NULL);
	db_destroy(&db);
	arena_destroy(&a);
	return rc;
}
