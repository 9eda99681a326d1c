/* json_loose: see json_loose.h. */
#include "base/json_loose.h"

#include <math.h>

struct json *
loose_get(const struct json *o, const char *keys)
{
	struct str rest = str_c(keys), key;
	struct json *v;

	while (str_next(&rest, '|', &key))
		if ((v = json_get_s(o, key)) != NULL)
			return v;
	return NULL;
}

double
loose_double(const struct json *v, double dflt)
{
	double d;

	switch (json_type(v)) {
	case JSON_INT:
	case JSON_DOUBLE:
		return json_double(v, dflt);
	case JSON_BOOL:
		return json_bool(v, false) ? 1 : 0;
	case JSON_STRING:
		return str_double(str_trim(json_str(v)), &d) ? d : dflt;
	case JSON_NULL:
	case JSON_ARRAY:
	case JSON_OBJECT:
		break;
	}
	return dflt;
}

int64_t
loose_int(const struct json *v, int64_t dflt)
{
	double d;

	if (json_type(v) == JSON_INT)
		return json_int(v, dflt);
	d = trunc(loose_double(v, (double)dflt));
	return d > -9e15 && d < 9e15 ? (int64_t)d : dflt;
}

bool
loose_bool(const struct json *v, bool dflt)
{
	struct str s;
	double d;

	switch (json_type(v)) {
	case JSON_BOOL:
		return json_bool(v, dflt);
	case JSON_INT:
	case JSON_DOUBLE:
		return json_double(v, 0) != 0;
	case JSON_STRING:
		s = str_trim(json_str(v));
		if (str_ieq(s, STR("true")))
			return true;
		if (str_ieq(s, STR("false")) || s.n == 0)
			return false;
		return str_double(s, &d) ? d != 0 : dflt;
	case JSON_NULL:
	case JSON_ARRAY:
	case JSON_OBJECT:
		break;
	}
	return dflt;
}

struct str
loose_str(struct arena *a, const struct json *v, struct str dflt)
{
	switch (json_type(v)) {
	case JSON_STRING:
		return json_str(v);
	case JSON_BOOL:
	case JSON_INT:
	case JSON_DOUBLE:
		return json_text(a, v);
	case JSON_NULL:
	case JSON_ARRAY:
	case JSON_OBJECT:
		break;
	}
	return dflt;
}

size_t
loose_strs(struct arena *a, const struct json *v, const struct str **out)
{
	size_t n = json_type(v) == JSON_ARRAY ? json_len(v) : v != NULL;
	struct str *list = arena_array(a, struct str, n + 1);
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		struct str s = loose_str(a, json_type(v) == JSON_ARRAY ? json_at(v, i) : v, STR_NULL);

		if (s.p != NULL)
			list[count++] = s;
	}
	*out = list;
	return count;
}
