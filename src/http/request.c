/* request: what a handler reads of its request. See request.h. */
#include "base/limits.h"
#include "base/utf8.h"
#include "exchange.h"
#include "router.h"
#include "sse.h"

#include <assert.h>
#include <ctype.h>

/* See request.h. A name that the row's path does not have is a mistake of the program. */
struct str
req_param(const struct request *r, const char *name)
{
	for (size_t i = 0; i < r->match.n; i++)
		if (str_is(r->match.name[i], name))
			return r->match.value[i];
	assert(false); /* the row has no such parameter */
	return STR_NULL;
}

/* Whether a CGI name ("HTTP_X_API_KEY") is that of a header ("x-api-key"). */
static bool
is_header(struct str cgi, struct str name)
{
	const struct str prefix = STR("HTTP_");

	if (!str_starts(cgi, prefix) || cgi.n - prefix.n != name.n)
		return false;
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i] == '-' ? '_' : (char)toupper((unsigned char)name.p[i]);

		if (cgi.p[prefix.n + i] != c)
			return false;
	}
	return true;
}

/* See request.h. */
struct str
req_header(const struct request *r, const char *name)
{
	const struct fcgi_in *in = &r->exchange->in;

	if (strcmp(name, "content-type") == 0)
		return fcgi_in_param(in, STR("CONTENT_TYPE"));
	for (size_t i = 0; i < in->n; i++)
		if (is_header(in->name[i], str_c(name)))
			return in->value[i];
	return STR_NULL;
}

/* See request.h. */
struct str
req_query(const struct request *r, const char *name)
{
	return json_get_str(r->query, name);
}

/* The validated integer of the query; dflt if it was not given. */
int64_t
req_query_int(const struct request *r, const char *name, int64_t dflt)
{
	return json_get_int(r->query, name, dflt);
}

/* The validated truth value of the query; dflt if it was not given. */
bool
req_query_bool(const struct request *r, const char *name, bool dflt)
{
	return json_get_bool(r->query, name, dflt);
}

/* See request.h. */
struct stream_pos
req_last_event(const struct request *r, struct str label)
{
	struct stream_pos pos = { 0 };
	struct str id = req_header(r, "last-event-id");

	sse_parse_id_of(label, id.n > 0 ? id : req_query(r, "last_event_id"), &pos);
	return pos;
}

/*
 * Reads "a=1&b=%20" into an object of texts; the last of equal names wins. Returns -1 with the error
 * recorded for a bad escape or too many parameters.
 */
static int
split_query(struct ctx *c, struct str text, struct json *out)
{
	struct str pair, key, value;
	size_t n = 0;

	if (text.n > LIM_QUERY)
		return fail(c, ERR_INVALID, "invalid_query", "query string longer than %u bytes", LIM_QUERY);
	while (str_next(&text, '&', &pair)) {
		size_t eq = str_chr(pair, '=', 0);

		if (pair.n == 0)
			continue;
		if (++n > LIM_QUERY_PARAMS)
			return fail(c, ERR_INVALID, "invalid_query", "more than %d query parameters",
			    LIM_QUERY_PARAMS);
		key = eq == STR_NPOS ? pair : str_sub(pair, 0, eq);
		value = eq == STR_NPOS ? STR("") : str_sub(pair, eq + 1, pair.n);
		if (url_decode(c->a, key, true, &key) < 0 || url_decode(c->a, value, true, &value) < 0)
			return fail(c, ERR_INVALID, "invalid_query",
			    "query parameter %zu is not percent-encoded UTF-8", n);
		json_set_s(out, key, json_string(c->a, value));
	}
	return 0;
}

/* Validates the query string against the row; rows without a table ignore it. */
int
parse_query(struct exchange *x, struct str text)
{
	struct request *r = &x->r;
	struct json *raw;

	if (r->route->query == NULL)
		return 0;
	raw = json_object(x->ctx.a);
	if (split_query(&x->ctx, text, raw) < 0)
		return -1;
	return field_take(&x->ctx, r->route->query, raw, FIELD_QUERY, &r->query, NULL);
}
