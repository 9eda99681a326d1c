/* llm: where a base URL may lead: forms of URLs and addresses, the operator's list, what is never allowed. No
 * network. */
#include "llm/addr.h"
#include "llm/dialect.h"
#include "llm/target.h"

#include "base/tm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

static void
classes(void **state)
{
	static const struct {
		const char *text;
		enum addr_class class;
	} rows[] = {
		{ "8.8.8.8", ADDR_PUBLIC },
		{ "1.1.1.1", ADDR_PUBLIC },
		{ "172.15.255.255", ADDR_PUBLIC },
		{ "172.32.0.1", ADDR_PUBLIC },
		{ "100.63.255.255", ADDR_PUBLIC },
		{ "100.128.0.0", ADDR_PUBLIC },
		{ "192.0.1.1", ADDR_PUBLIC },
		{ "223.255.255.255", ADDR_PUBLIC },
		{ "127.0.0.1", ADDR_PRIVATE },
		{ "127.255.255.254", ADDR_PRIVATE },
		{ "10.0.0.1", ADDR_PRIVATE },
		{ "172.16.0.1", ADDR_PRIVATE },
		{ "172.31.255.255", ADDR_PRIVATE },
		{ "192.168.1.1", ADDR_PRIVATE },
		{ "100.64.0.1", ADDR_PRIVATE },
		{ "100.127.255.255", ADDR_PRIVATE },
		{ "198.18.0.1", ADDR_PRIVATE },
		{ "198.19.255.255", ADDR_PRIVATE },
		{ "0.0.0.0", ADDR_NEVER },
		{ "0.1.2.3", ADDR_NEVER },
		{ "169.254.169.254", ADDR_NEVER },
		{ "169.254.0.1", ADDR_NEVER },
		{ "100.100.100.200", ADDR_NEVER },
		{ "168.63.129.16", ADDR_NEVER },
		{ "192.0.0.192", ADDR_NEVER },
		{ "224.0.0.1", ADDR_NEVER },
		{ "239.255.255.255", ADDR_NEVER },
		{ "240.0.0.1", ADDR_NEVER },
		{ "255.255.255.255", ADDR_NEVER },
		{ "192.0.2.1", ADDR_NEVER },
		{ "2606:4700::1111", ADDR_PUBLIC },
		{ "2a00:1450::1", ADDR_PUBLIC },
		{ "2003::1", ADDR_PUBLIC },
		{ "::1", ADDR_PRIVATE },
		{ "fc00::1", ADDR_PRIVATE },
		{ "fdff::1", ADDR_PRIVATE },
		{ "fec0::1", ADDR_PRIVATE },
		{ "::", ADDR_NEVER },
		{ "::2", ADDR_NEVER },
		{ "::127.0.0.1", ADDR_NEVER },
		{ "fe80::1", ADDR_NEVER },
		{ "febf::1", ADDR_NEVER },
		{ "ff02::1", ADDR_NEVER },
		{ "fd00:ec2::254", ADDR_NEVER },
		{ "2001:db8::1", ADDR_NEVER },
		{ "2001::1", ADDR_NEVER },
		{ "100::1", ADDR_NEVER },
		{ "4000::1", ADDR_NEVER },
		{ "64:ff9b:1::1", ADDR_NEVER },
		{ "::ffff:8.8.8.8", ADDR_PUBLIC },
		{ "::ffff:127.0.0.1", ADDR_PRIVATE },
		{ "::ffff:169.254.169.254", ADDR_NEVER },
		{ "::ffff:0:10.0.0.1", ADDR_PRIVATE },
		{ "64:ff9b::8.8.8.8", ADDR_PUBLIC },
		{ "64:ff9b::10.0.0.1", ADDR_PRIVATE },
		{ "64:ff9b::169.254.169.254", ADDR_NEVER },
		{ "2002:0808:0808::1", ADDR_PUBLIC },
		{ "2002:7f00:0001::1", ADDR_PRIVATE },
		{ "2002:a9fe:a9fe::1", ADDR_NEVER },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint8_t b[16];
		const char *what = NULL;
		size_t n = inet_pton(AF_INET, rows[i].text, b) == 1 ? 4 : 16;

		if (n == 16)
			assert_int_equal(inet_pton(AF_INET6, rows[i].text, b), 1);
		if (addr_classify(b, n, &what) != rows[i].class)
			fail_msg("%s is taken for %s", rows[i].text, what);
	}
}

/* The code of the refusal; NULL = allowed. */
static const char *
open_url(const char *url, bool allow_private, const char *const *hosts)
{
	static const char *code;
	struct llm_conf conf = { .allow_private = allow_private, .allow_hosts = hosts };
	struct ctx c = { .a = arena_create("test", 0) };
	struct target t;

	code = NULL;
	if (target_open(&c, &conf, url, "", &t) < 0)
		code = c.err.code; /* a literal */
	arena_destroy(&c.a);
	return code;
}

static void
check(const char *url, bool allow_private, const char *const *hosts, const char *code)
{
	const char *got = open_url(url, allow_private, hosts);

	if ((code == NULL) != (got == NULL) || (code && strcmp(code, got) != 0))
		fail_msg("%s: %s instead of %s", url, got ? got : "allowed", code ? code : "allowed");
}

static void
odd_forms_of_private_addresses(void **state)
{
	static const char *const urls[] = { "http://127.0.0.1/v1", "http://127.1/", "http://0x7f.1/",
		"http://0x7f000001/", "http://2130706433/", "http://0177.0.0.1/", "http://017700000001/",
		"http://127.0.0.1:8080", "https://10.0.0.1/", "http://[::1]/", "http://[::ffff:127.0.0.1]/",
		"http://[::ffff:7f00:1]/", "http://[64:ff9b::a00:1]/", "http://[0:0:0:0:0:0:0:1]/",
		"http://localhost/", "http://LOCALHOST:1/", "http://%31%32%37.0.0.1/", NULL };
	static const char *const never[] = { "http://169.254.169.254/latest", "http://0xa9fea9fe/",
		"http://2852039166/", "http://0.0.0.0/", "http://0/", "http://[::]/", "http://[fe80::1]/",
		"http://[::ffff:169.254.169.254]/", "http://[fe80::1%25eth0]/", "http://255.255.255.255/",
		"http://[fd00:ec2::254]/", "http://224.0.0.1/", NULL };

	(void)state;
	for (size_t i = 0; urls[i]; i++)
		check(urls[i], false, NULL, "ssrf_blocked");
	for (size_t i = 0; never[i]; i++) {
		check(never[i], false, NULL, "ssrf_blocked");
		check(never[i], true, NULL, "ssrf_blocked");
	}
}

static void
allowed(void **state)
{
	static const char *const hosts[] = { "127.0.0.1:8080", "[::1]", "10.0.0.1", "169.254.169.254", NULL };

	(void)state;
	check("https://8.8.8.8/v1", false, NULL, NULL);
	check("https://[2606:4700::1111]:444/v1?api-version=1", false, NULL, NULL);
	check("http://127.0.0.1/", true, NULL, NULL);
	check("http://localhost/", true, NULL, NULL);
	check("http://127.0.0.1:8080/", false, hosts, NULL);
	check("http://0x7f.1:8080/", false, hosts, NULL);
	check("http://127.0.0.1:8081/", false, hosts, "ssrf_blocked");
	check("http://127.0.0.2:8080/", false, hosts, "ssrf_blocked");
	check("http://[::1]:99/", false, hosts, NULL);
	check("http://10.0.0.1/", false, hosts, NULL);
	check("http://169.254.169.254/", false, hosts, "ssrf_blocked"); /* whatever is listed */
}

static void
bad_forms(void **state)
{
	static const char *const invalid[] = { "", "http://", "8.8.8.8/v1", "http://user@8.8.8.8/",
		"http://user:pw@8.8.8.8/", "http://8.8.8.8/#x", "http://8.8.8.8:0/", "http://8.8.8.8:99999/",
		"http://8.8.8.8 /", "http://8.8.8.8/a\nb", "http://[::1", "http://[zz::1]/",
		"http://b\xc3\xbc"
		"cher.example/",
		"http://[::1%25lo", NULL };
	static const char *const schemes[] = { "file:///etc/passwd", "ftp://8.8.8.8/", "gopher://8.8.8.8/",
		"dict://127.0.0.1:11211/", "ws://8.8.8.8/", NULL };
	char *longest = malloc(3000);

	(void)state;
	for (size_t i = 0; invalid[i]; i++)
		check(invalid[i], true, NULL, "invalid_url");
	check(NULL, true, NULL, "invalid_url");
	for (size_t i = 0; schemes[i]; i++)
		check(schemes[i], true, NULL, "ssrf_blocked");
	memset(longest, 'a', 2999);
	memcpy(longest, "http://8.8.8.8/", 15);
	longest[2999] = '\0';
	check(longest, true, NULL, "invalid_url");
	free(longest);
}

static void
paths(void **state)
{
	static const char *const rows[][2] = {
		{ "https://8.8.8.8", "https://8.8.8.8/chat" },
		{ "https://8.8.8.8/", "https://8.8.8.8/chat" },
		{ "https://8.8.8.8/v1", "https://8.8.8.8/v1/chat" },
		{ "https://8.8.8.8/v1//", "https://8.8.8.8/v1/chat" },
		{ "https://8.8.8.8/a?v=1", "https://8.8.8.8/a/chat?v=1" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct llm_conf conf = { .allow_private = false };
		struct ctx c = { .a = arena_create("test", 0) };
		struct target t;
		char *url;

		assert_int_equal(target_open(&c, &conf, rows[i][0], "/chat", &t), 0);
		assert_int_equal(curl_url_get(t.url, CURLUPART_URL, &url, 0), CURLUE_OK);
		assert_string_equal(url, rows[i][1]);
		curl_free(url);
		arena_destroy(&c.a);
	}
}

/* Where the dialects' requests go, at the base URLs that people write. */
static void
dialect_paths(void **state)
{
	static const struct {
		const char *dialect, *base, *model, *url;
		bool stream;
	} rows[] = {
		{ "chat_completions", "https://8.8.8.8/v1/", "m", "https://8.8.8.8/v1/chat/completions",
		    false },
		{ "responses", "https://8.8.8.8/v1", "m", "https://8.8.8.8/v1/responses", true },
		{ "anthropic", "https://8.8.8.8", "m", "https://8.8.8.8/v1/messages", true },
		{ "anthropic", "https://8.8.8.8/v1/", "m", "https://8.8.8.8/v1/messages", false },
		{ "google", "https://8.8.8.8", "models/gemini-3",
		    "https://8.8.8.8/v1beta/models/gemini-3:generateContent", false },
		{ "google", "https://8.8.8.8/v1beta", "a/b?c",
		    "https://8.8.8.8/v1beta/models/a%2fb%3fc:streamGenerateContent?alt=sse", true },
		{ "google", "https://8.8.8.8/x?k=v", "m",
		    "https://8.8.8.8/x/v1beta/models/m:streamGenerateContent?k=v&alt=sse", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct dialect *d = dialect_find(rows[i].dialect);
		struct llm_request q = {
			.base_url = rows[i].base, .model = rows[i].model, .stream = rows[i].stream
		};
		struct llm_conf conf = { .allow_private = false };
		struct ctx c = { .a = arena_create("test", 0) };
		struct target t;
		char *url;

		assert_int_equal(
		    target_open(&c, &conf, rows[i].base, d->path_of ? d->path_of(c.a, &q) : d->path, &t), 0);
		assert_int_equal(curl_url_get(t.url, CURLUPART_URL, &url, 0), CURLUE_OK);
		if (strcasecmp(url, rows[i].url) != 0)
			fail_msg("%s instead of %s", url, rows[i].url);
		curl_free(url);
		arena_destroy(&c.a);
	}
}

/* A resolver that takes its time, and one that knows an address. */
static int
slow_lookup(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **list)
{
	(void)host;
	usleep(400000);
	return getaddrinfo("127.0.0.1", service, hints, list);
}

static int
good_lookup(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **list)
{
	return getaddrinfo(strcmp(host, "model.example") == 0 ? "8.8.8.8" : "10.0.0.1", service, hints, list);
}

static void
names(void **state)
{
	struct llm_conf conf = { .connect_ms = 100, .lookup = slow_lookup };
	struct ctx c = { .a = arena_create("test", 0) };
	int64_t began = tm_mono();
	struct target t;

	(void)state;
	assert_int_equal(target_open(&c, &conf, "http://model.example/v1", "", &t), -1);
	assert_true(tm_mono() - began < 350); /* not as long as the resolver takes */
	assert_string_equal(c.err.code, "upstream_error");
	err_clear(&c);
	usleep(500000); /* the answer that nobody waits for any more */
	conf.lookup = good_lookup;
	assert_int_equal(target_open(&c, &conf, "http://model.example/v1", "", &t), 0);
	assert_string_equal(t.pin, "model.example:80:8.8.8.8");
	assert_int_equal(target_open(&c, &conf, "http://inside.example/v1", "", &t), -1);
	assert_string_equal(c.err.code, "ssrf_blocked");
	arena_destroy(&c.a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classes),
		cmocka_unit_test(odd_forms_of_private_addresses),
		cmocka_unit_test(allowed),
		cmocka_unit_test(bad_forms),
		cmocka_unit_test(paths),
		cmocka_unit_test(names),
		cmocka_unit_test(dialect_paths),
	};

	return cmocka_run_group_tests_name("llm_target", tests, NULL, NULL);
}
