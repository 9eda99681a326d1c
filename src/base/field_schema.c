/*
 * field_schema: a table as a JSON schema in the dialect of OpenAPI 3.0.3 (nullable instead of a
 * type "null"). Says the same as field.c checks; their tests hold them together.
 */
#include "base/field_private.h"
#include "base/limits.h"

#include <assert.h>

static void
add_limits(struct json *s, const char *low, const char *high, const struct field *f)
{
	if (f->min)
		json_set_int(s, low, f->min);
	if (f->max)
		json_set_int(s, high, f->max);
}

static void
add_range(struct json *s, const struct field *f)
{
	if (field_has_min(f))
		json_set_int(s, "minimum", f->min);
	if (field_has_max(f) && f->type != FT_TIME)
		json_set_int(s, "maximum", field_max(f));
}

static void
add_choices(struct json *s, const struct field *f)
{
	struct json *list = json_set_array(s, "enum");

	for (size_t i = 0; f->choices[i]; i++)
		json_push_str(list, str_c(f->choices[i]));
	if (f->flags & FF_NULLABLE)
		json_push(list, NULL);
}

static void
add_members(struct arena *a, struct json *s, const struct field *table, enum field_mode mode)
{
	struct json *members = json_set_object(s, "properties"), *required = json_array(a);

	for (const struct field *f = table; f && f->name; f++) {
		if (mode == FIELD_ANSWER ? f->flags & FF_WRITEONLY : !field_writable(f, mode))
			continue;
		json_set(members, f->name, field_schema_one(a, f, mode));
		if (field_required(f, mode))
			json_push_str(required, str_c(f->name));
	}
	if (json_len(required))
		json_set(s, "required", required);
}

/* As validation does: an object inside a patch is a whole one. */
static enum field_mode
inner_mode(enum field_mode mode)
{
	return mode == FIELD_ANSWER || mode == FIELD_PUT ? mode : FIELD_CREATE;
}

static void
add_shapes(struct arena *a, struct json *s, const struct field *f, enum field_mode mode)
{
	struct json *list = json_set_array(s, "anyOf");

	for (const struct field *shape = f->fields; shape && shape->name; shape++)
		json_push(list, field_schema_one(a, shape, mode));
}

static void
add_type(struct arena *a, struct json *s, const struct field *f, enum field_mode mode)
{
	static const char *const types[FT__COUNT] = { [FT_STRING] = "string",
		[FT_INT] = "integer",
		[FT_NUMBER] = "number",
		[FT_BOOL] = "boolean",
		[FT_TIME] = "integer",
		[FT_ENUM] = "string",
		[FT_OBJECT] = "object",
		[FT_ARRAY] = "array" };

	if (types[f->type])
		json_set_c(s, "type", types[f->type]);
	switch (f->type) {
	case FT_STRING:
		add_limits(s, "minLength", "maxLength", f);
		if (f->pattern)
			json_set_c(s, "pattern", f->pattern);
		break;
	case FT_TIME:
		json_set_c(s, "format", "int64");
		add_range(s, f);
		break;
	case FT_INT:
	case FT_NUMBER:
		add_range(s, f);
		break;
	case FT_ENUM:
		add_choices(s, f);
		break;
	case FT_OBJECT:
		if (f->fields)
			add_members(a, s, f->fields, inner_mode(mode));
		else
			json_set_bool(s, "additionalProperties", true);
		break;
	case FT_ARRAY:
		json_set(s, "items", f->items ? field_schema_one(a, f->items, mode) : json_object(a));
		add_limits(s, "minItems", "maxItems", f);
		break;
	case FT_ONEOF:
		add_shapes(a, s, f, mode);
		break;
	case FT_BOOL:
	case FT_ANY:
		break;
	case FT_END:
	case FT__COUNT:
		assert(f->type != FT_END); /* a row without a type */
	}
}

static const char *
description(struct arena *a, const struct field *f)
{
	if (f->type != FT_TIME)
		return f->doc;
	return f->doc ? arena_printf(a, "%s (milliseconds since 1970)", f->doc) : "milliseconds since 1970";
}

struct json *
field_schema_one(struct arena *a, const struct field *f, enum field_mode mode)
{
	struct json *s = json_object(a);
	struct json_error e;
	struct json *dflt;

	add_type(a, s, f, mode);
	if (f->flags & FF_NULLABLE && f->type != FT_ANY)
		json_set_bool(s, "nullable", true);
	if (f->dflt && (mode == FIELD_CREATE || mode == FIELD_PUT || mode == FIELD_QUERY)) {
		dflt = json_read(a, str_c(f->dflt), LIM_JSON_DEPTH, &e);
		assert(!e.what); /* the table's author wrote no JSON */
		if (dflt)
			json_set(s, "default", dflt);
	}
	if (description(a, f))
		json_set_c(s, "description", description(a, f));
	return s;
}

struct json *
field_schema(struct arena *a, const struct field *table, enum field_mode mode)
{
	struct json *s = json_object(a);

	json_set_c(s, "type", "object");
	add_members(a, s, table, mode);
	return s;
}
