/*
 * field: validation of bodies and queries by table. Codes and messages are those of the JSON
 * schema validator that clients know from the original server ("minLength", "must be <= 200").
 */
#include "base/field.h"

#include "base/field_private.h"
#include "base/limits.h"
#include "base/utf8.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

#define TIME_MAX INT64_C(8640000000000000) /* what JavaScript's Date holds */
#define IGNORED_NAME_MAX 64                /* bytes of an unknown name that are shown */

/* Where a value stands; the text of the path is made only when somebody asks. */
struct place {
	const struct place *up;
	const char *name; /* NULL: element of an array */
	size_t index;
};

struct take {
	struct ctx *c;
	enum field_mode mode;
	struct field_names *ignored; /* may be NULL */
	bool bad;
};

static bool take_value(struct take *t, const struct field *f, const struct json *v, const struct place *at,
    const struct json **out);

static void
add_path(struct sb *s, const struct place *at)
{
	if (!at)
		return;
	add_path(s, at->up);
	if (at->name)
		sb_addf(s, "/%s", at->name);
	else
		sb_addf(s, "/%zu", at->index);
}

static bool refuse(struct take *t, const struct place *at, const char *code, const char *fmt, ...)
    PRINTF(4, 5);

static bool
refuse(struct take *t, const struct place *at, const char *code, const char *fmt, ...)
{
	struct sb path = sb_new(t->c->a);
	const char *text;
	va_list ap;

	va_start(ap, fmt);
	text = arena_vprintf(t->c->a, fmt, ap);
	va_end(ap);
	add_path(&path, at);
	fail_field(t->c, sb_c(&path), code, "%s", text);
	t->bad = true;
	return false;
}

static bool
refuse_type(struct take *t, const struct field *f, const struct place *at)
{
	static const char *const names[FT__COUNT] = { [FT_STRING] = "string",
		[FT_INT] = "integer",
		[FT_NUMBER] = "number",
		[FT_BOOL] = "boolean",
		[FT_TIME] = "integer",
		[FT_ENUM] = "string",
		[FT_OBJECT] = "object",
		[FT_ARRAY] = "array",
		[FT_ONEOF] = "object" };

	return refuse(t, at, "type", "must be %s", names[f->type]);
}

/* Strings. */

static struct str
trim(struct str s)
{
	size_t pos = 0, end = s.n;

	while (pos < s.n) {
		size_t next = pos;

		if (!rune_is_space(utf8_next(s, &next)))
			break;
		pos = next;
	}
	while (end > pos) {
		size_t last = utf8_prev(s, end), at = last;

		if (!rune_is_space(utf8_next(s, &at)))
			break;
		end = last;
	}
	return str_sub(s, pos, end);
}

static bool
check_string(struct take *t, const struct field *f, struct str s, const struct place *at)
{
	int64_t n = f->min || f->max ? (int64_t)utf8_runes(s) : 0;

	if (f->min && n < f->min)
		return refuse(t, at, "minLength", "must NOT have fewer than %" PRId64 " characters", f->min);
	if (f->max && n > f->max)
		return refuse(t, at, "maxLength", "must NOT have more than %" PRId64 " characters", f->max);
	if (f->flags & FF_NONBLANK && trim(s).n == 0)
		return refuse(t, at, "minLength", "must NOT be blank");
	if (f->check && !f->check(s))
		return f->pattern ? refuse(t, at, "pattern", "must match pattern \"%s\"", f->pattern)
				  : refuse(t, at, "format", "must have the right format");
	return true;
}

static bool
take_string(struct take *t, const struct field *f, const struct json *v, const struct place *at,
    const struct json **out)
{
	struct str s = json_str(v), clean;

	if (!s.p)
		return refuse_type(t, f, at);
	clean = f->flags & FF_TRIM ? trim(s) : s;
	if (t->mode == FIELD_QUERY) /* bodies have been through json_read */
		clean = utf8_clean(t->c->a, clean);
	if (!check_string(t, f, clean, at))
		return false;
	*out = json_string(t->c->a, clean.p ? clean : STR(""));
	return true;
}

static bool
take_enum(struct take *t, const struct field *f, const struct json *v, const struct place *at,
    const struct json **out)
{
	struct str s = json_str(v);

	if (!s.p)
		return refuse_type(t, f, at);
	for (size_t i = 0; f->choices[i]; i++) {
		if (str_is(s, f->choices[i])) {
			*out = json_string(t->c->a, s);
			return true;
		}
	}
	return refuse(t, at, "enum", "must be equal to one of the allowed values");
}

/* Numbers. */

bool
field_has_min(const struct field *f)
{
	return f->type == FT_TIME || ((f->min || f->bounded) && f->min != INT64_MIN);
}

bool
field_has_max(const struct field *f)
{
	return f->type == FT_TIME || ((f->max || f->bounded) && f->max != INT64_MAX);
}

int64_t
field_max(const struct field *f)
{
	return f->type == FT_TIME && !f->max ? TIME_MAX : f->max;
}

static bool
check_range(struct take *t, const struct field *f, double v, const struct place *at)
{
	if (field_has_min(f) && v < (double)f->min)
		return refuse(t, at, "minimum", "must be >= %" PRId64, f->min);
	if (field_has_max(f) && v > (double)field_max(f))
		return refuse(t, at, "maximum", "must be <= %" PRId64, field_max(f));
	return true;
}

/* The number as a node: itself, or read from the text of a query parameter. NULL if it is none. */
static const struct json *
number_node(struct take *t, const struct json *v)
{
	struct json_error e;
	enum json_type type;

	if (t->mode == FIELD_QUERY && json_type(v) == JSON_STRING)
		v = json_read(t->c->a, json_str(v), 0, &e);
	type = json_type(v);
	return type == JSON_INT || type == JSON_DOUBLE ? v : NULL;
}

/* 7, 7.0 and 7e0 are the same integer; beyond 64 bits there is none. */
static bool
to_int(const struct json *v, int64_t *out)
{
	char buf[DOUBLE_TEXT];
	double d = json_double(v, 0);

	if (json_type(v) == JSON_INT)
		return str_int(json_number(v, buf), out);
	if (d > trunc(d) || d < trunc(d) || d >= 0x1p63 || d < -0x1p63)
		return false;
	*out = (int64_t)d;
	return true;
}

static bool
take_number(struct take *t, const struct field *f, const struct json *v, const struct place *at,
    const struct json **out)
{
	const struct json *n = number_node(t, v);
	int64_t i = 0;

	if (!n || (f->type != FT_NUMBER && !to_int(n, &i)))
		return refuse_type(t, f, at);
	if (!check_range(t, f, json_double(n, 0), at))
		return false;
	*out = f->type == FT_NUMBER ? n : json_integer(t->c->a, i);
	return true;
}

static bool
take_bool(struct take *t, const struct field *f, const struct json *v, const struct place *at,
    const struct json **out)
{
	struct str s = json_str(v);
	bool yes = json_bool(v, false), text = t->mode == FIELD_QUERY && s.p;

	if (text)
		yes = str_is(s, "true") || str_is(s, "1");
	if (text ? !yes && !str_is(s, "false") && !str_is(s, "0") : json_type(v) != JSON_BOOL)
		return refuse_type(t, f, at);
	*out = json_boolean(t->c->a, yes);
	return true;
}

/* Objects. */

/* Rows that this kind of body cannot set. */
static bool
in_mode(const struct field *f, enum field_mode mode)
{
	if (f->flags & FF_CREATE && mode != FIELD_CREATE)
		return false;
	return !(f->flags & FF_PATCH) || mode == FIELD_PATCH;
}

static bool
is_readonly(const struct field *f)
{
	return f->flags & FF_READONLY || f->expr;
}

bool
field_writable(const struct field *f, enum field_mode mode)
{
	return !is_readonly(f) && in_mode(f, mode);
}

bool
field_required(const struct field *f, enum field_mode mode)
{
	if (mode == FIELD_ANSWER)
		return !(f->flags & FF_OPTIONAL);
	return f->flags & FF_REQUIRED && (mode != FIELD_PATCH || f->flags & FF_PATCH);
}

/* A name from outside goes into a header: visible ASCII without the list's comma, cut. */
static void
add_ignored(struct take *t, const struct place *parent, struct str name)
{
	struct sb s;

	if (!t->ignored || t->ignored->v.n >= LIM_FIELD_ERRORS)
		return;
	s = sb_new(t->c->a);
	add_path(&s, parent);
	sb_addc(&s, '/');
	for (size_t i = 0; i < name.n && i < IGNORED_NAME_MAX; i++) {
		unsigned char c = (unsigned char)name.p[i];

		if (c > 0x20 && c < 0x7f && c != ',' && c != '%')
			sb_addc(&s, (char)c);
		else
			sb_addf(&s, "%%%02X", c);
	}
	if (name.n > IGNORED_NAME_MAX)
		sb_adds(&s, "...");
	vec_push(t->c->a, &t->ignored->v, sb_c(&s));
}

static void
list_ignored(struct take *t, const struct field *table, const struct json *body, const struct place *at)
{
	struct json_iter it = { 0 };
	struct str name;

	while (json_next(body, &it, &name, NULL)) {
		const struct field *f = field_find(table, name);

		/* What the client got from us it may send back: no complaint about read-only members. */
		if (!f || (!is_readonly(f) && !in_mode(f, t->mode)))
			add_ignored(t, at, name);
	}
}

static void
take_absent(struct take *t, const struct field *f, const struct place *parent, struct json *out)
{
	struct json_error e;
	struct json *v;

	if (field_required(f, t->mode)) {
		refuse(t, parent, "required", "must have required property '%s'", f->name);
	} else if (f->dflt && t->mode != FIELD_PATCH) {
		v = json_read(t->c->a, str_c(f->dflt), LIM_JSON_DEPTH, &e);
		assert(!e.what); /* the table's author wrote no JSON */
		json_set(out, f->name, v);
	}
}

static bool
take_members(struct take *t, const struct field *table, const struct json *body, const struct place *at,
    struct json **out)
{
	struct json *o = json_object(t->c->a);
	bool bad_before = t->bad, ok;

	t->bad = false;
	list_ignored(t, table, body, at);
	for (const struct field *f = table; f && f->name; f++) {
		struct place here = { .up = at, .name = f->name };
		const struct json *v;

		if (!field_writable(f, t->mode))
			continue;
		if (!json_has(body, f->name))
			take_absent(t, f, at, o);
		else if (take_value(t, f, json_get(body, f->name), &here, &v))
			json_set(o, f->name, v);
	}
	ok = !t->bad;
	t->bad |= bad_before;
	if (ok)
		*out = o;
	return ok;
}

/* An object inside a body is set as a whole: its required members must be there in a patch, too. */
static bool
take_inner(struct take *t, const struct field *table, const struct json *v, const struct place *at,
    const struct json **out)
{
	enum field_mode outer = t->mode;
	struct json *o = NULL;
	bool ok;

	t->mode = outer == FIELD_PUT ? FIELD_PUT : FIELD_CREATE;
	ok = take_members(t, table, v, at, &o);
	t->mode = outer;
	*out = o;
	return ok;
}

/* The node, with a query parameter's text read as JSON. */
static const struct json *
structure_node(struct take *t, const struct json *v)
{
	struct json_error e;

	if (t->mode == FIELD_QUERY && json_type(v) == JSON_STRING)
		return json_read(t->c->a, json_str(v), LIM_JSON_DEPTH, &e);
	return v;
}

static bool
take_object(struct take *t, const struct field *f, const struct json *v, const struct place *at,
    const struct json **out)
{
	v = structure_node(t, v);
	if (json_type(v) != JSON_OBJECT)
		return refuse_type(t, f, at);
	if (f->fields)
		return take_inner(t, f->fields, v, at, out);
	*out = v;
	return true;
}

static bool
take_oneof(struct take *t, const struct field *f, const struct json *v, const struct place *at,
    const struct json **out)
{
	v = structure_node(t, v);
	if (json_type(v) != JSON_OBJECT)
		return refuse_type(t, f, at);
	for (const struct field *shape = f->fields; shape && shape->name; shape++) {
		struct ctx trial_ctx = { .a = t->c->a };
		struct field_names ignored = { 0 };
		struct take trial = { .c = &trial_ctx, .mode = t->mode, .ignored = &ignored };

		if (!take_object(&trial, shape, v, at, out))
			continue;
		for (size_t i = 0; t->ignored && i < ignored.v.n && t->ignored->v.n < LIM_FIELD_ERRORS; i++)
			vec_push(t->c->a, &t->ignored->v, ignored.v.v[i]);
		return true;
	}
	return refuse(t, at, "anyOf", "must match a schema in anyOf");
}

/* Arrays. */

/* "a,b" of a query as an array of texts; empty pieces are nothing. */
static const struct json *
split_list(struct take *t, struct str s)
{
	struct json *list = json_array(t->c->a);
	struct str piece;

	while (str_next(&s, ',', &piece))
		if (piece.n)
			json_push_str(list, piece);
	return list;
}

static bool
take_array(struct take *t, const struct field *f, const struct json *v, const struct place *at,
    const struct json **out)
{
	struct json *list;
	int64_t n;
	bool ok = true;

	if (t->mode == FIELD_QUERY && json_type(v) == JSON_STRING)
		v = split_list(t, json_str(v));
	if (json_type(v) != JSON_ARRAY)
		return refuse_type(t, f, at);
	n = (int64_t)json_len(v);
	if (f->min && n < f->min)
		return refuse(t, at, "minItems", "must NOT have fewer than %" PRId64 " items", f->min);
	if (f->max && n > f->max)
		return refuse(t, at, "maxItems", "must NOT have more than %" PRId64 " items", f->max);
	if (!f->items) {
		*out = v;
		return true;
	}
	list = json_array(t->c->a);
	for (size_t i = 0; i < (size_t)n; i++) {
		struct place here = { .up = at, .index = i };
		const struct json *item;

		if (take_value(t, f->items, json_at(v, i), &here, &item))
			json_push(list, item);
		else
			ok = false;
	}
	if (ok)
		*out = list;
	return ok;
}

static bool
take_value(struct take *t, const struct field *f, const struct json *v, const struct place *at,
    const struct json **out)
{
	*out = NULL;
	if (!v && f->type != FT_ANY)
		return f->flags & FF_NULLABLE ? true : refuse_type(t, f, at);
	switch (f->type) {
	case FT_STRING:
		return take_string(t, f, v, at, out);
	case FT_ENUM:
		return take_enum(t, f, v, at, out);
	case FT_INT:
	case FT_NUMBER:
	case FT_TIME:
		return take_number(t, f, v, at, out);
	case FT_BOOL:
		return take_bool(t, f, v, at, out);
	case FT_OBJECT:
		return take_object(t, f, v, at, out);
	case FT_ONEOF:
		return take_oneof(t, f, v, at, out);
	case FT_ARRAY:
		return take_array(t, f, v, at, out);
	case FT_ANY:
		*out = v;
		return true;
	case FT_END:
	case FT__COUNT:
		break;
	}
	assert(f->type != FT_END); /* a row without a type */
	return false;
}

int
field_take(struct ctx *c, const struct field *table, const struct json *body, enum field_mode mode,
    struct json **out, struct field_names *ignored)
{
	struct take t = { .c = c, .mode = mode, .ignored = ignored };
	struct json *o = NULL;

	assert(mode != FIELD_ANSWER);
	if (body && json_type(body) != JSON_OBJECT) {
		refuse(&t, NULL, "type", "must be object");
		return -1;
	}
	if (!take_members(&t, table, body, NULL, &o))
		return -1;
	*out = o;
	return 0;
}

const struct field *
field_find(const struct field *table, struct str name)
{
	for (const struct field *f = table; f && f->name; f++)
		if (str_is(name, f->name))
			return f;
	return NULL;
}
