/* conf: precedence of the sources, every type on both sides of its limits, faults with their places. */
#include "base/conf.h"
#include "base/sb.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const levels[] = { "low", "high", NULL };

struct settings {
	const char *name, *token;
	int64_t workers, wait, size;
	bool debug;
	int level;
	const char **hosts;
};

#define AT(m) offsetof(struct settings, m)

static const struct conf_row rows[] = {
	{ "name", CONF_STR, AT(name), "tavern", 0, 0, NULL, "shown name" },
	{ "token", CONF_SECRET, AT(token), NULL, 0, 0, NULL, "key of the door" },
	{ "workers", CONF_INT, AT(workers), "4", 1, 64, NULL, "processes" },
	{ "wait", CONF_MS, AT(wait), "30s", 0, 3600000, NULL, "patience" },
	{ "size", CONF_BYTES, AT(size), "64m", 0, 0, NULL, "room" },
	{ "debug", CONF_BOOL, AT(debug), "false", 0, 0, NULL, "talk more" },
	{ "level", CONF_ENUM, AT(level), "low", 0, 0, levels, "how much" },
	{ "hosts", CONF_LIST, AT(hosts), NULL, 0, 0, NULL, "who" },
	{ .key = NULL },
};

static struct arena *a;
static struct settings s;
static struct conf_error err;
static char path[] = "/tmp/base_conf_XXXXXX";

static int
setup(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	a = arena_create("test", 0);
	return fd < 0 ? -1 : close(fd);
}

static int
teardown(void **state)
{
	(void)state;
	unlink(path);
	arena_destroy(&a);
	return 0;
}

static void
write_file(const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int
load(const char *file_text, char **env, const char *const *args)
{
	s = (struct settings){ 0 };
	if (file_text)
		write_file(file_text);
	return conf_load(a, rows, &s, file_text ? path : NULL, "TAV", env, args, &err);
}

static const char *
faults(void)
{
	struct sb out = sb_new(a);

	for (size_t i = 0; i < err.lines.n; i++)
		sb_addf(&out, "%s\n", err.lines.v[i]);
	return sb_c(&out);
}

static void
test_defaults(void **state)
{
	(void)state;
	assert_int_equal(load(NULL, NULL, NULL), 0);
	assert_string_equal(s.name, "tavern");
	assert_null(s.token);
	assert_int_equal(s.workers, 4);
	assert_int_equal(s.wait, 30000);
	assert_int_equal(s.size, 64 << 20);
	assert_false(s.debug);
	assert_int_equal(s.level, 0);
	assert_non_null(s.hosts);
	assert_null(s.hosts[0]);
}

static void
test_later_source_wins(void **state)
{
	char e1[] = "TAV_NAME=env", e2[] = "TAV_WORKERS=6", e3[] = "TAV_LEVEL=", e4[] = "TAV_NAMES=no", e5[] = "OTHER=x";
	char *env[] = { e1, e2, e3, e4, e5, NULL };
	const char *args[] = { "name=arg = x", NULL };

	(void)state;
	assert_int_equal(load("# comment\n\nname = file\n workers=5\nlevel = high\nhosts = a, b,,c \n", env, args), 0);
	assert_string_equal(s.name, "arg = x");
	assert_int_equal(s.workers, 6);
	assert_int_equal(s.level, 1); /* an empty variable is no value */
	assert_string_equal(s.hosts[0], "a");
	assert_string_equal(s.hosts[1], "b");
	assert_string_equal(s.hosts[2], "c");
	assert_null(s.hosts[3]);
	assert_int_equal(load("name = a # b\r\nname = last", NULL, NULL), 0);
	assert_string_equal(s.name, "last");
}

static void
test_values(void **state)
{
	static const struct {
		const char *arg;
		bool ok;
		int64_t value;
	} cases[] = {
		{ "workers=1", true, 1 }, { "workers=64", true, 64 }, { "workers=0", false, 0 }, { "workers=65", false, 0 },
		{ "workers=x", false, 0 }, { "workers=", false, 0 }, { "wait=500ms", true, 500 }, { "wait=10m", true, 600000 },
		{ "wait=1h", true, 3600000 }, { "wait=61m", false, 0 }, { "wait=30", false, 0 }, { "wait=0", true, 0 },
		{ "wait=1 S", true, 1000 }, { "wait=-1s", false, 0 }, { "wait=s", false, 0 },
		{ "wait=9223372036854775807d", false, 0 }, { "size=512", true, 512 }, { "size=64k", true, 65536 },
		{ "size=2G", true, INT64_C(2) << 30 }, { "size=1t", false, 0 }, { "size=9999999999999g", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *args[] = { cases[i].arg, NULL };
		bool ok = load(NULL, NULL, args) == 0;
		int64_t got = cases[i].arg[0] == 's' ? s.size : cases[i].arg[1] == 'o' ? s.workers : s.wait;

		if (ok != cases[i].ok || (ok && got != cases[i].value))
			fail_msg("%s: %lld %s", cases[i].arg, (long long)got, faults());
	}
}

static void
test_bool(void **state)
{
	static const char *const yes[] = { "debug=true", "debug=YES", "debug=on", "debug=1" };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		const char *args[] = { yes[i], NULL };

		assert_int_equal(load("debug = no", NULL, args), 0);
		assert_true(s.debug);
	}
	assert_int_equal(load("debug = maybe", NULL, NULL), -1);
}

static void
test_faults_name_their_places(void **state)
{
	char e1[] = "TAV_LEVEL=middle";
	char *env[] = { e1, NULL };
	const char *args[] = { "nonsense", "debug=2", NULL };
	const char *text;

	(void)state;
	assert_int_equal(load("name\nbogus = 1\nworkers = 99\n", env, args), -1);
	text = faults();
	assert_int_equal(err.lines.n, 6);
	assert_non_null(strstr(text, arena_printf(a, "%s:1: expected `key = value`", path)));
	assert_non_null(strstr(text, arena_printf(a, "%s:2: unknown setting \"bogus\"", path)));
	assert_non_null(strstr(text, arena_printf(a, "%s:3: workers: 99 is not in the range 1 to 64", path)));
	assert_non_null(strstr(text, "TAV_LEVEL: level: \"middle\" is none of low, high"));
	assert_non_null(strstr(text, "command line: expected key=value, got \"nonsense\""));
	assert_non_null(strstr(text, "command line: debug: \"2\" is not true or false"));
	assert_int_equal(conf_load(a, rows, &s, "/nonexistent/file", "TAV", NULL, NULL, &err), -1);
	assert_non_null(strstr(faults(), "/nonexistent/file: cannot be read: "));
}

static void
test_secret_from_file(void **state)
{
	char secret[] = "/tmp/base_conf_s_XXXXXX", var[64], both[] = "TAV_TOKEN=direct";
	char *env[] = { var, NULL, NULL };
	int fd = mkstemp(secret);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "s3cret\n", 7), 7);
	close(fd);
	assert_int_equal(load(arena_printf(a, "token_file = %s\n", secret), NULL, NULL), 0);
	assert_string_equal(s.token, "s3cret");
	snprintf(var, sizeof(var), "TAV_TOKEN_FILE=%s", secret);
	assert_int_equal(load("token = other", env, NULL), 0);
	assert_string_equal(s.token, "s3cret");
	env[1] = both;
	assert_int_equal(load(NULL, env, NULL), -1); /* which one? */
	unlink(secret);
	env[1] = NULL;
	assert_int_equal(load(NULL, env, NULL), -1);
	assert_non_null(strstr(faults(), "cannot be read"));
	assert_int_equal(load("name_file = x", NULL, NULL), -1); /* secrets only */
}

static const char *
printed(void (*fn)(void))
{
	int saved = dup(STDOUT_FILENO);
	static char buf[4096];
	size_t n;
	FILE *f;

	fflush(stdout);
	assert_non_null(freopen(path, "w", stdout));
	fn();
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	f = fopen(path, "r");
	assert_non_null(f);
	n = fread(buf, 1, sizeof(buf) - 1, f);
	fclose(f);
	buf[n] = '\0';
	return buf;
}

static void
print_values(void)
{
	conf_print_values(rows, &s);
}

static void
print_sample(void)
{
	conf_print_sample(rows, "TAV");
}

static void
test_printing(void **state)
{
	const char *args[] = { "token=hush", "hosts=a,b", "level=high", NULL };

	(void)state;
	assert_int_equal(load(NULL, NULL, args), 0);
	assert_string_equal(printed(print_values),
	    "name = tavern\ntoken = ********\nworkers = 4\nwait = 30000ms\nsize = 67108864\ndebug = false\n"
	    "level = high\nhosts = a,b\n");
	/* The sample is a file that loads, with every value at its default. */
	assert_int_equal(load(arena_strdup(a, str_c(printed(print_sample))), NULL, NULL), 0);
	assert_non_null(strstr(printed(print_sample), "# processes\n# Environment: TAV_WORKERS\n#workers = 4\n"));
	assert_non_null(strstr(printed(print_sample), "# One of low, high.\n"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_later_source_wins),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_bool),
		cmocka_unit_test(test_faults_name_their_places),
		cmocka_unit_test(test_secret_from_file),
		cmocka_unit_test(test_printing),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
