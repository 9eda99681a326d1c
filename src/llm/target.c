/*
 * target: see target.h. The URL is taken apart by the library that will use it, so that both see the same
 * host: odd forms of IPv4 addresses are normalised there.
 */
#include "llm/target.h"

#include "llm/addr.h"
#include "llm/resolve.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>

enum { URL_BYTES_MAX = 2048, PINNED_MAX = 16 };

static void
url_free(void *u)
{
	curl_url_cleanup(u);
}

static void
text_free(void *p)
{
	curl_free(p);
}

/* A part of the URL, in the arena; NULL if absent. */
static const char *
part(struct arena *a, CURLU *u, CURLUPart what, unsigned flags)
{
	char *text = NULL;

	if (curl_url_get(u, what, &text, flags) != CURLUE_OK)
		return NULL;
	return arena_defer(a, text_free, text);
}

static int
blocked(struct ctx *c, const char *why)
{
	return fail(c, ERR_INVALID, "ssrf_blocked",
	    "the base URL leads to %s address, which is not allowed here", why);
}

static int
invalid(struct ctx *c, const char *why)
{
	return fail(c, ERR_INVALID, "invalid_url", "the base URL %s", why);
}

static bool
ascii(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s <= ' ' || (unsigned char)*s >= 0x7f)
			return false;
	return true;
}

static int
path_append(struct ctx *c, CURLU *u, const char *path)
{
	struct str base = str_c(part(c->a, u, CURLUPART_PATH, 0));
	const char *query = strchr(path, '?');

	if (query) {
		path = arena_strdup(c->a, (struct str){ path, (size_t)(query - path) });
		if (curl_url_set(u, CURLUPART_QUERY, query + 1, CURLU_APPENDQUERY) != CURLUE_OK)
			return invalid(c, "has a bad query");
	}
	while (base.n > 0 && base.p[base.n - 1] == '/')
		base.n--;
	if (*path && curl_url_set(u, CURLUPART_PATH, arena_printf(c->a, "%.*s%s", STR_ARG(base), path), 0) !=
			 CURLUE_OK)
		return invalid(c, "has a bad path");
	return 0;
}

static int
parse(struct ctx *c, const char *base, const char *path, struct target *t)
{
	const char *scheme, *port;
	CURLUcode rc;

	t->url = curl_url();
	arena_defer(c->a, url_free, t->url);
	if (!base || !*base)
		return invalid(c, "is missing");
	if (strlen(base) > URL_BYTES_MAX || !ascii(base))
		return invalid(c, "is too long or has characters that no URL has");
	rc = curl_url_set(t->url, CURLUPART_URL, base, CURLU_DISALLOW_USER);
	if (rc == CURLUE_UNSUPPORTED_SCHEME)
		return fail(
		    c, ERR_INVALID, "ssrf_blocked", "the base URL must begin with http:// or https://");
	if (rc == CURLUE_USER_NOT_ALLOWED)
		return invalid(c, "must not hold a user name or password");
	if (rc != CURLUE_OK)
		return invalid(c, "is not a URL");
	scheme = part(c->a, t->url, CURLUPART_SCHEME, 0);
	port = part(c->a, t->url, CURLUPART_PORT, CURLU_DEFAULT_PORT);
	t->host = part(c->a, t->url, CURLUPART_HOST, 0);
	if (!scheme || (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0))
		return fail(
		    c, ERR_INVALID, "ssrf_blocked", "the base URL must begin with http:// or https://");
	if (!t->host || !*t->host || !port || !ascii(t->host))
		return invalid(c, "names no host");
	if (part(c->a, t->url, CURLUPART_FRAGMENT, 0))
		return invalid(c, "must not have a fragment");
	if (part(c->a, t->url, CURLUPART_ZONEID, 0))
		return blocked(c, "a link-local");
	t->port = (int)strtol(port, NULL, 10);
	t->tls = strcmp(scheme, "https") == 0;
	return t->port > 0 ? path_append(c, t->url, path) : invalid(c, "has no port to connect to");
}

/* "host", "host:port", "[::1]:port" of the operator's list against the URL's host and port. */
static bool
is_listed(struct arena *a, const struct llm_conf *conf, const struct target *t)
{
	for (const char *const *h = conf->allow_hosts; h && *h; h++) {
		if (str_ieq(str_c(*h), str_c(t->host)) ||
		    str_ieq(str_c(*h), str_c(arena_printf(a, "%s:%d", t->host, t->port))))
			return true;
	}
	return false;
}

bool
target_allows(const struct llm_conf *conf, bool listed, const struct sockaddr *sa, const char **what)
{
	enum addr_class class = addr_classify_sa(sa, what);

	return class == ADDR_PUBLIC || (class == ADDR_PRIVATE && (listed || conf->allow_private));
}

static int
check(struct ctx *c, const struct llm_conf *conf, const struct target *t, const struct sockaddr *sa)
{
	const char *what;

	if (target_allows(conf, t->listed, sa, &what))
		return 0;
	return blocked(c, arena_printf(c->a, "%s %s", strchr("aeiou", what[0]) ? "an" : "a", what));
}

static const char *
numeric(struct arena *a, const struct sockaddr *sa)
{
	char text[INET6_ADDRSTRLEN];
	struct sockaddr_in in;
	struct sockaddr_in6 in6;

	if (sa->sa_family == AF_INET) {
		memcpy(&in, sa, sizeof in);
		inet_ntop(AF_INET, &in.sin_addr, text, sizeof text);
		return arena_strdup(a, str_c(text));
	}
	memcpy(&in6, sa, sizeof in6);
	inet_ntop(AF_INET6, &in6.sin6_addr, text, sizeof text);
	return arena_printf(a, "[%s]", text);
}

/* A host that is an address itself: 0 = it is none, 1 = checked, -1 = refused. */
static int
literal(struct ctx *c, const struct llm_conf *conf, const struct target *t)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	struct str host = str_c(t->host);
	const struct sockaddr *sa = NULL;

	if (host.p[0] == '[') {
		if (inet_pton(AF_INET6, arena_strdup(c->a, str_sub(host, 1, host.n - 1)), &in6.sin6_addr) !=
		    1)
			return invalid(c, "has a bad IPv6 address");
		sa = (const struct sockaddr *)&in6;
	} else if (inet_pton(AF_INET, t->host, &in.sin_addr) == 1) {
		sa = (const struct sockaddr *)&in;
	}
	if (!sa)
		return 0;
	return check(c, conf, t, sa) < 0 ? -1 : 1;
}

static void
list_free(void *list)
{
	freeaddrinfo(list);
}

static int
resolve(struct ctx *c, const struct llm_conf *conf, struct target *t)
{
	struct addrinfo *list = NULL;
	struct sb pin = sb_new(c->a);
	int rc = resolve_host(conf->lookup, t->host, conf->connect_ms, &list), n = 0;

	if (rc != 0 || !list) {
		fail(c, ERR_UPSTREAM, "upstream_error", "the model server's name cannot be resolved");
		fail_log(c, "host=%s %s", t->host,
		    rc == RESOLVE_LATE ? "the resolver did not answer in time"
		    : rc               ? gai_strerror(rc)
				       : "no address");
		return fail_details(
		    c, "{\"kind\":\"network\",\"code\":\"name_not_resolved\",\"retryable\":true}");
	}
	arena_defer(c->a, list_free, list);
	sb_addf(&pin, "%s:%d:", t->host, t->port);
	for (const struct addrinfo *ai = list; ai; ai = ai->ai_next) {
		if (check(c, conf, t, ai->ai_addr) < 0)
			return -1;
		if (n++ < PINNED_MAX)
			sb_addf(&pin, "%s%s", n > 1 ? "," : "", numeric(c->a, ai->ai_addr));
	}
	t->pin = sb_c(&pin);
	return 0;
}

int
target_open(
    struct ctx *c, const struct llm_conf *conf, const char *base, const char *path, struct target *out)
{
	struct target t = { .port = 0 };
	int rc;

	if (parse(c, base, path, &t) < 0)
		return -1;
	t.listed = is_listed(c->a, conf, &t);
	rc = literal(c, conf, &t);
	if (rc == 0)
		rc = resolve(c, conf, &t);
	if (rc < 0)
		return -1;
	*out = t;
	return 0;
}

int
llm_check_url(struct ctx *c, const struct llm_conf *conf, const char *url)
{
	struct target t;

	return target_open(c, conf, url, "", &t);
}
