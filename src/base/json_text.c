/*
 * json_text: printing and comparing of trees through json.h alone. Prints as JSON.stringify
 * does, except that numbers keep the spelling they were read with.
 */
#include "base/json.h"

#define COMPACT (-1)

static void print(struct sb *s, const struct json *j, int level);

static void
new_line(struct sb *s, int level)
{
	if (level == COMPACT)
		return;
	sb_addc(s, '\n');
	for (int i = 0; i < level; i++)
		sb_adds(s, "  ");
}

static void
print_array(struct sb *s, const struct json *arr, int level)
{
	int inner = level == COMPACT ? COMPACT : level + 1;
	size_t n = json_len(arr);

	sb_addc(s, '[');
	for (size_t i = 0; i < n; i++) {
		if (i)
			sb_addc(s, ',');
		new_line(s, inner);
		print(s, json_at(arr, i), inner);
	}
	if (n)
		new_line(s, level);
	sb_addc(s, ']');
}

static void
print_object(struct sb *s, const struct json *o, int level)
{
	int inner = level == COMPACT ? COMPACT : level + 1;
	struct json_iter it = { 0 };
	struct json *v;
	struct str key;
	bool first = true;

	sb_addc(s, '{');
	for (; json_next(o, &it, &key, &v); first = false) {
		if (!first)
			sb_addc(s, ',');
		new_line(s, inner);
		sb_add_json(s, key);
		sb_adds(s, level == COMPACT ? ":" : ": ");
		print(s, v, inner);
	}
	if (!first)
		new_line(s, level);
	sb_addc(s, '}');
}

/* Depth: trees come from json_read (limited) or from our own code. */
static void
print(struct sb *s, const struct json *j, int level)
{
	char buf[DOUBLE_TEXT];

	switch (json_type(j)) {
	case JSON_NULL:
		sb_adds(s, "null");
		break;
	case JSON_BOOL:
		sb_adds(s, json_bool(j, false) ? "true" : "false");
		break;
	case JSON_INT:
	case JSON_DOUBLE:
		sb_add(s, json_number(j, buf));
		break;
	case JSON_STRING:
		sb_add_json(s, json_str(j));
		break;
	case JSON_ARRAY:
		print_array(s, j, level);
		break;
	case JSON_OBJECT:
		print_object(s, j, level);
		break;
	}
}

/*
 * About the length of the compact text, a few escapes allowed for. Reserving it spares the copies of
 * a growing buffer, which cost more than the printing where texts have megabytes.
 */
static size_t
estimate(const struct json *j)
{
	struct json_iter it = { 0 };
	struct json *v;
	struct str key;
	size_t n = 2;

	switch (json_type(j)) {
	case JSON_STRING:
		return json_str(j).n + json_str(j).n / 16 + 3;
	case JSON_ARRAY:
		for (size_t i = 0; i < json_len(j); i++)
			n += estimate(json_at(j, i)) + 1;
		return n;
	case JSON_OBJECT:
		while (json_next(j, &it, &key, &v))
			n += key.n + 4 + estimate(v);
		return n;
	case JSON_NULL:
	case JSON_BOOL:
	case JSON_INT:
	case JSON_DOUBLE:
		break;
	}
	return 8;
}

static struct str
text(struct arena *a, const struct json *j, int level)
{
	struct sb s = sb_new(a);

	sb_reserve(&s, estimate(j));
	print(&s, j, level);
	return sb_str(&s);
}

void
json_text_add(struct sb *out, const struct json *j)
{
	print(out, j, COMPACT);
}

struct str
json_text(struct arena *a, const struct json *j)
{
	return text(a, j, COMPACT);
}

struct str
json_text_pretty(struct arena *a, const struct json *j)
{
	return text(a, j, 0);
}

static bool
equal_arrays(const struct json *a, const struct json *b)
{
	size_t n = json_len(a);

	if (n != json_len(b))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!json_equal(json_at(a, i), json_at(b, i)))
			return false;
	return true;
}

static bool
equal_objects(const struct json *a, const struct json *b)
{
	struct json_iter it = { 0 };
	struct json *v;
	struct str key;

	if (json_len(a) != json_len(b))
		return false;
	while (json_next(a, &it, &key, &v))
		if (!json_has(b, key.p) || !json_equal(v, json_get(b, key.p)))
			return false;
	return true;
}

bool
json_equal(const struct json *a, const struct json *b)
{
	char buf_a[DOUBLE_TEXT], buf_b[DOUBLE_TEXT];
	enum json_type ta = json_type(a), tb = json_type(b);

	if (a == b)
		return true;
	if ((ta == JSON_DOUBLE && tb == JSON_INT) || (ta == JSON_INT && tb == JSON_DOUBLE))
		return json_double(a, 0) <= json_double(b, 0) && json_double(a, 0) >= json_double(b, 0);
	if (ta != tb)
		return false;
	switch (ta) {
	case JSON_NULL:
		return true;
	case JSON_BOOL:
		return json_bool(a, false) == json_bool(b, false);
	case JSON_INT:
		return str_eq(json_number(a, buf_a), json_number(b, buf_b));
	case JSON_DOUBLE:
		return json_double(a, 0) <= json_double(b, 0) && json_double(a, 0) >= json_double(b, 0);
	case JSON_STRING:
		return str_eq(json_str(a), json_str(b));
	case JSON_ARRAY:
		return equal_arrays(a, b);
	case JSON_OBJECT:
		return equal_objects(a, b);
	}
	return false;
}
