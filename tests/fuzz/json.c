/*
 * libFuzzer: what json_read accepts prints to a text that it accepts again, that is equal and
 * that prints the same; the raw scanner finds the same members as the parser; on texts that
 * are refused it stays inside the bytes.
 */
#include "base/json.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
need(bool ok)
{
	if (!ok)
		abort();
}

static struct json *
read_again(struct arena *a, struct str text)
{
	struct json_error e;
	struct json *j = json_read(a, text, 128, &e);

	need(e.what == NULL);
	return j;
}

static void
check_raw_object(struct arena *a, struct str text, const struct json *j)
{
	struct json *seen = json_object(a);
	struct str k, v;
	size_t pos = 0;

	while (json_raw_member(text, &pos, &k, &v))
		json_set(seen, arena_strdup(a, json_raw_text(a, k)), read_again(a, v));
	need(json_equal(seen, j));
}

static void
check_raw_array(struct arena *a, struct str text, const struct json *j)
{
	struct str v;
	size_t pos = 0, n = 0;

	for (; json_raw_next(text, &pos, &v); n++)
		need(json_equal(read_again(a, v), json_at(j, n)));
	need(n == json_len(j));
}

static void
scan_anything(struct arena *a, struct str text)
{
	struct str k, v;
	size_t pos = 0;

	while (json_raw_member(text, &pos, &k, &v))
		json_raw_text(a, k);
	pos = 0;
	while (json_raw_next(text, &pos, &v))
		json_raw_text(a, v);
	json_raw(text, "key");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_create("fuzz", 0);
	struct str text = { (const char *)data, size }, printed;
	struct json_error e;
	struct json *j = json_read(a, text, 128, &e), *k;

	scan_anything(a, text);
	if (e.what) {
		need(e.offset <= size && e.line > 0 && e.column > 0);
	} else {
		printed = json_text(a, j);
		k = read_again(a, printed);
		need(json_equal(j, k) && json_equal(k, json_copy(a, j)));
		need(str_eq(json_text(a, k), printed));
		need(json_equal(j, read_again(a, json_text_pretty(a, j))));
		if (json_type(j) == JSON_OBJECT)
			check_raw_object(a, text, j);
		if (json_type(j) == JSON_ARRAY)
			check_raw_array(a, text, j);
	}
	arena_destroy(&a);
	return 0;
}
