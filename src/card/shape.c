/*
 * shape: see shape.h.
 */
#include "shape.h"

#include "base/limits.h"
#include "base/sb.h"
#include "base/utf8.h"

#include <stdio.h>

static const char *const shape_names[] = {
	[SHAPE_TEXT] = "a text",
	[SHAPE_INT] = "an integer",
	[SHAPE_NUMBER] = "a number",
	[SHAPE_BOOL] = "true or false",
	[SHAPE_TEXTS] = "a list of texts",
	[SHAPE_TAGS] = "a list of texts",
	[SHAPE_LIST] = "a list",
	[SHAPE_OBJECT] = "an object",
	[SHAPE_LEVEL] = "true, false or a level",
	[SHAPE_ANY] = "anything",
};

const char *
shape_path(struct arena *a, const char *path, struct str key)
{
	struct sb s = sb_new(a);

	sb_adds(&s, path);
	sb_addc(&s, '/');
	for (size_t i = 0; i < key.n; i++)
		if (key.p[i] == '~')
			sb_adds(&s, "~0");
		else if (key.p[i] == '/')
			sb_adds(&s, "~1");
		else
			sb_addc(&s, key.p[i]);
	return sb_c(&s);
}

const char *
shape_path_at(struct arena *a, const char *path, size_t i)
{
	return arena_printf(a, "%s/%zu", path, i);
}

static void
note(const struct shaper *s, enum receipt_kind kind, const char *code, const char *key, const char *reason)
{
	if (s->receipt)
		receipt_add(s->receipt, kind, code, shape_path(s->a, s->path, str_c(key)), "%s", reason);
}

/* A root of one value, through a box: json.h makes numbers and booleans only as members. */
static struct json *
make_int(struct arena *a, int64_t v)
{
	struct json *box = json_object(a);

	json_set_int(box, "v", v);
	return json_get(box, "v");
}

static struct json *
make_double(struct arena *a, double v)
{
	struct json *box = json_object(a);

	json_set_double(box, "v", v);
	return json_get(box, "v");
}

static struct json *
make_bool(struct arena *a, bool v)
{
	struct json *box = json_object(a);

	json_set_bool(box, "v", v);
	return json_get(box, "v");
}

static bool
is_number(enum json_type t)
{
	return t == JSON_INT || t == JSON_DOUBLE;
}

/* A number, as text or not, as text of the document. */
static struct json *
to_text(const struct shaper *s, const struct json *v, const struct shape_field *f)
{
	char buf[DOUBLE_TEXT];

	if (is_number(json_type(v))) {
		note(s, RECEIPT_NORMALISED, "number_as_text", f->key,
		    "a number where a text belongs, read as text");
		return json_string(s->a, json_number(v, buf));
	}
	if (json_type(v) == JSON_BOOL) {
		note(s, RECEIPT_NORMALISED, "bool_as_text", f->key,
		    "true or false where a text belongs, read as text");
		return json_string(s->a, json_bool(v, false) ? STR("true") : STR("false"));
	}
	if (json_type(v) == JSON_ARRAY && json_len(v) == 1 && json_type(json_at(v, 0)) == JSON_STRING) {
		note(
		    s, RECEIPT_NORMALISED, "list_as_text", f->key, "a list of one text where a text belongs");
		return json_string(s->a, json_str(json_at(v, 0)));
	}
	return NULL;
}

static struct json *
to_number(const struct shaper *s, const struct json *v, const struct shape_field *f)
{
	struct str text = str_trim(json_str(v));
	int64_t i;
	double d;

	if (json_type(v) == JSON_DOUBLE) { /* only asked for integers */
		d = json_double(v, 0);
		if (!(d > -9e15 && d < 9e15))
			return NULL;
		if (d != (double)(int64_t)d)
			note(s, RECEIPT_NORMALISED, "number_truncated", f->key,
			    "a fraction where an integer belongs");
		return make_int(s->a, json_int(v, 0));
	}
	if (json_type(v) == JSON_BOOL) {
		note(s, RECEIPT_NORMALISED, "bool_as_number", f->key, "true or false where a number belongs");
		return make_int(s->a, json_bool(v, false));
	}
	if (text.n == 0)
		return NULL;
	if (str_int(text, &i)) {
		note(s, RECEIPT_NORMALISED, "text_number", f->key, "a number written as text");
		return make_int(s->a, i);
	}
	if (!str_double(text, &d))
		return NULL;
	note(s, RECEIPT_NORMALISED, "text_number", f->key, "a number written as text");
	if (f->shape == SHAPE_NUMBER)
		return make_double(s->a, d);
	return d > -9e15 && d < 9e15 ? make_int(s->a, (int64_t)d) : NULL;
}

static struct json *
to_bool(const struct shaper *s, const struct json *v, const struct shape_field *f)
{
	struct str text = str_trim(json_str(v));
	int yes = -1;

	if (is_number(json_type(v)))
		yes = json_double(v, 0) != 0;
	else if (str_ieq(text, STR("true")) || str_is(text, "1") || str_ieq(text, STR("yes")))
		yes = 1;
	else if (str_ieq(text, STR("false")) || str_is(text, "0") || str_ieq(text, STR("no")))
		yes = 0;
	if (yes < 0)
		return NULL;
	note(s, RECEIPT_NORMALISED, "text_bool", f->key, "true or false written as text or number");
	return make_bool(s->a, yes == 1);
}

static void
push_tags(struct json *out, struct str text)
{
	struct str piece;

	while (str_next(&text, ',', &piece)) {
		piece = str_trim(piece);
		if (piece.n > 0)
			json_push_str(out, piece);
	}
}

static struct json *
to_list(const struct shaper *s, const struct json *v, const struct shape_field *f)
{
	struct json *out;

	if (f->shape == SHAPE_TAGS && json_type(v) == JSON_STRING) {
		out = json_array(s->a);
		push_tags(out, json_str(v));
		note(s, RECEIPT_NORMALISED, "text_list", f->key,
		    "a text where a list belongs, split at commas");
		return out;
	}
	if (f->shape != SHAPE_LIST && json_type(v) == JSON_OBJECT)
		return NULL;
	out = json_array(s->a);
	if (f->shape == SHAPE_TEXTS && json_type(v) == JSON_STRING && json_str(v).n == 0)
		return out; /* an empty text is an empty list */
	json_push(out, v);
	note(s, RECEIPT_NORMALISED, "single_value", f->key,
	    "one value where a list belongs, read as a list of one");
	return out;
}

static bool
all_texts(const struct json *list)
{
	for (size_t i = 0; i < json_len(list); i++)
		if (json_type(json_at(list, i)) != JSON_STRING)
			return false;
	return true;
}

/* The texts of a list: nulls are skipped, numbers read as text, anything else refused. */
static struct json *
texts_of(const struct shaper *s, const struct json *list, const struct shape_field *f)
{
	struct json *out = json_array(s->a);
	struct shaper inner = {
		.a = s->a, .receipt = s->receipt, .path = shape_path(s->a, s->path, str_c(f->key))
	};

	for (size_t i = 0; i < json_len(list); i++) {
		const struct json *v = json_at(list, i);
		struct shape_field at = { .key = arena_printf(s->a, "%zu", i), .shape = SHAPE_TEXT };

		if (v == NULL) {
			note(&inner, RECEIPT_NORMALISED, "null_ignored", at.key,
			    "null in a list of texts, skipped");
			continue;
		}
		/* Chub writes objects with the text in `message`. */
		if (json_type(v) == JSON_OBJECT && json_get_str(v, "message").p)
			v = json_get(v, "message");
		if (json_type(v) != JSON_STRING)
			v = to_text(&inner, v, &at);
		if (v)
			json_push_str(out, json_str(v));
		else
			note(&inner, RECEIPT_REFUSED, "wrong_type", at.key, "no text, left out");
	}
	return out;
}

static bool
fits(enum shape shape, const struct json *v)
{
	enum json_type t = json_type(v);

	switch (shape) {
	case SHAPE_TEXT:
		return t == JSON_STRING;
	case SHAPE_INT:
		return t == JSON_INT;
	case SHAPE_NUMBER:
		return is_number(t);
	case SHAPE_BOOL:
		return t == JSON_BOOL;
	case SHAPE_LEVEL:
		return t == JSON_BOOL || t == JSON_INT;
	case SHAPE_TEXTS:
	case SHAPE_TAGS:
		return t == JSON_ARRAY && all_texts(v);
	case SHAPE_LIST:
		return t == JSON_ARRAY;
	case SHAPE_OBJECT:
		return t == JSON_OBJECT;
	case SHAPE_ANY:
		break;
	}
	return true;
}

struct json *
shape_value(const struct shaper *s, struct json *v, const struct shape_field *f)
{
	struct json *out;

	if (v == NULL || fits(f->shape, v))
		return v;
	switch (f->shape) {
	case SHAPE_TEXT:
		return to_text(s, v, f);
	case SHAPE_INT:
	case SHAPE_NUMBER:
		return to_number(s, v, f);
	case SHAPE_BOOL:
		return to_bool(s, v, f);
	case SHAPE_LEVEL:
		out = json_type(v) == JSON_STRING ? to_bool(s, v, f) : NULL;
		return out ? out : to_number(s, v, f);
	case SHAPE_TEXTS:
	case SHAPE_TAGS:
		out = json_type(v) == JSON_ARRAY ? v : to_list(s, v, f);
		return out && !all_texts(out) ? texts_of(s, out, f) : out;
	case SHAPE_LIST:
		return to_list(s, v, f);
	case SHAPE_OBJECT:
	case SHAPE_ANY:
		break;
	}
	return NULL;
}

static void
put_default(struct json *o, const struct shape_field *f)
{
	switch (f->dflt) {
	case SHAPE_ABSENT:
		json_del(o, f->key);
		return;
	case SHAPE_NULL:
		json_set(o, f->key, NULL);
		return;
	case SHAPE_EMPTY:
		if (f->shape == SHAPE_TEXT)
			json_set_c(o, f->key, "");
		else if (f->shape == SHAPE_OBJECT)
			json_set_object(o, f->key);
		else
			json_set_array(o, f->key);
		return;
	case SHAPE_VALUE:
		break;
	}
	if (f->shape == SHAPE_BOOL || (f->shape == SHAPE_LEVEL && f->value == 0))
		json_set_bool(o, f->key, f->value != 0);
	else
		json_set_int(o, f->key, f->value);
}

/* What an unusable member becomes. */
static void
put_absent(const struct shaper *s, struct json *o, const struct shape_field *f)
{
	if (s->sparse)
		json_del(o, f->key);
	else
		put_default(o, f);
}

static void
fix_one(const struct shaper *s, struct json *o, const struct shape_field *f)
{
	struct json *v = json_get(o, f->key), *fixed;

	if (v == NULL) {
		if (s->sparse && (f->dflt == SHAPE_NULL || !json_has(o, f->key)))
			return;
		if (json_has(o, f->key) && f->dflt != SHAPE_NULL)
			note(s, RECEIPT_NORMALISED, "null_ignored", f->key, "null, read as absent");
		put_absent(s, o, f);
		return;
	}
	fixed = shape_value(s, v, f);
	if (fixed == NULL) {
		/* Blank texts are how forms write "nothing". */
		if (json_type(v) == JSON_STRING && str_trim(json_str(v)).n == 0)
			note(s, RECEIPT_NORMALISED, "blank_ignored", f->key, "a blank text, read as absent");
		else if (s->receipt)
			receipt_add(s->receipt, RECEIPT_REFUSED, "wrong_type",
			    shape_path(s->a, s->path, str_c(f->key)), "expected %s, found %s; left out",
			    shape_names[f->shape], json_type_name(json_type(v)));
		put_absent(s, o, f);
	} else if (fixed != v)
		json_set(o, f->key, fixed);
	else if (s->receipt)
		s->receipt->kept++;
}

void
shape_fix(const struct shaper *s, struct json *o, const struct shape_field *fields, size_t n)
{
	for (size_t i = 0; i < n; i++)
		fix_one(s, o, &fields[i]);
}

const struct shape_field *
shape_find(const struct shape_field *fields, size_t n, struct str key)
{
	for (size_t i = 0; i < n; i++)
		if (str_is(key, fields[i].key))
			return &fields[i];
	return NULL;
}

void
shape_unknown(const struct shaper *s, const struct json *o, const struct shape_field *fields, size_t n,
    const char *const *more)
{
	struct json_iter it = { 0 };
	struct json *v;
	struct str key;

	while (json_next(o, &it, &key, &v)) {
		bool known = shape_find(fields, n, key) != NULL;

		for (size_t i = 0; !known && more && more[i]; i++)
			known = str_is(key, more[i]);
		if (!known)
			receipt_add(s->receipt, RECEIPT_UNSUPPORTED, "unknown_field",
			    shape_path(s->a, s->path, key), "has no effect here, kept for export");
	}
}

struct str
shape_text(struct arena *a, struct str bytes, struct receipt *r)
{
	struct str clean;

	if (str_starts(bytes, STR("\xef\xbb\xbf")))
		bytes = str_sub(bytes, 3, bytes.n);
	clean = utf8_clean(a, bytes);
	if (clean.p != bytes.p)
		receipt_add(r, RECEIPT_NORMALISED, "text_cleaned", "",
		    "NUL bytes removed, bad UTF-8 replaced by U+FFFD");
	return clean;
}

struct json *
shape_read(struct arena *a, struct str text, const char *path, struct import_error *err)
{
	struct json_error bad = { 0 };
	struct json *doc;

	if (text.n > LIM_CARD_JSON) {
		import_fail(a, err, "too_large", path, "the JSON text has %zu bytes, at most %u are read",
		    text.n, LIM_CARD_JSON);
		if (err)
			err->too_large = true;
		return NULL;
	}
	doc = json_read(a, text, LIM_JSON_DEPTH, &bad);
	if (doc)
		return doc;
	if (bad.what)
		import_fail(a, err, "invalid_json", path, "not valid JSON: %s in line %d, column %d",
		    bad.what, bad.line, bad.column);
	else
		import_fail(a, err, "invalid_json", path, "the JSON text is null, an object is expected");
	if (err)
		err->offset = (int64_t)bad.offset;
	return NULL;
}
