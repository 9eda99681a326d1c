/*
 * json_get: conveniences over json.h alone.
 */
#include "base/json.h"
#include "base/limits.h"

int
json_body(struct ctx *c, struct str text, struct json **body_out)
{
	struct json_error e;
	struct json *j = json_read(c->a, text, LIM_JSON_DEPTH, &e);

	if (e.what)
		return fail(c, ERR_INVALID, "invalid_json",
		    "body is not valid JSON: %s at line %d, column %d", e.what, e.line, e.column);
	*body_out = j;
	return 0;
}

const char *
json_type_name(enum json_type t)
{
	static const char *const names[] = { "null", "boolean", "integer", "number", "string", "array",
		"object" };

	return names[t];
}

struct str
json_get_str(const struct json *o, const char *key)
{
	return json_str(json_get(o, key));
}

int64_t
json_get_int(const struct json *o, const char *key, int64_t dflt)
{
	return json_int(json_get(o, key), dflt);
}

double
json_get_double(const struct json *o, const char *key, double dflt)
{
	return json_double(json_get(o, key), dflt);
}

bool
json_get_bool(const struct json *o, const char *key, bool dflt)
{
	return json_bool(json_get(o, key), dflt);
}
