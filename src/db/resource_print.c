/*
 * resource_print: a row as JSON text, and a row as a struct. Both walk the field table as
 * resource_columns does, so column n is what the walk meets n-th.
 */
#include "resource_private.h"

static int print_object(
    struct sb *out, const struct field *fields, const struct rows *rs, int col, bool list);

static void
print_value(struct sb *out, const struct field *f, struct str v)
{
	switch (f->type) {
	case FT_STRING:
	case FT_ENUM:
		sb_add_json(out, v); /* absent: null */
		break;
	case FT_BOOL:
		sb_adds(out, v.p == NULL ? "null" : v.p[0] == 't' ? "true" : "false");
		break;
	case FT_INT:
	case FT_TIME:
	case FT_NUMBER:
	case FT_OBJECT:
	case FT_ARRAY:
	case FT_ANY:
	case FT_ONEOF:
		sb_add(out, v.p == NULL ? STR("null") : v); /* as the column says it */
		break;
	case FT_END:
	case FT__COUNT:
		break;
	}
}

static void
print_name(struct sb *out, size_t from, const char *name)
{
	sb_adds(out, out->n > from ? ",\"" : "\"");
	sb_adds(out, name);
	sb_adds(out, "\":");
}

/* Name and object; `from` is where the members around it begin. Returns the first column behind the field. */
static int
print_nested(struct sb *out, size_t from, const struct field *f, const struct rows *rs, int col, bool list)
{
	size_t before = out->n, value;
	bool null = f->null_when != NULL && row_bool(rs, col);

	print_name(out, from, f->name);
	value = out->n;
	col = print_object(out, f->fields, rs, f->null_when != NULL ? col + 1 : col, list);
	if (null && f->flags & FF_OPTIONAL && !(f->flags & FF_NULLABLE)) {
		sb_truncate(out, before);
	} else if (null) {
		sb_truncate(out, value);
		sb_adds(out, "null");
	}
	return col;
}

static int
print_object(struct sb *out, const struct field *fields, const struct rows *rs, int col, bool list)
{
	size_t from;

	sb_addc(out, '{');
	from = out->n;
	for (const struct field *f = fields; f->name != NULL; f++) {
		if (!field_shown(f, list))
			continue;
		if (field_nested(f)) {
			col = print_nested(out, from, f, rs, col, list);
			continue;
		}
		if (!row_null(rs, col) || !(f->flags & FF_OPTIONAL) || (f->flags & FF_NULLABLE)) {
			print_name(out, from, f->name);
			print_value(out, f, row_str(rs, col));
		}
		col++;
	}
	sb_addc(out, '}');
	return col;
}

void
resource_print_row(struct sb *out, const struct field *fields, const struct rows *rs, bool list)
{
	print_object(out, fields, rs, 0, list);
}

static void
load_value(const struct field *f, const struct rows *rs, int col, char *at)
{
	switch (f->type) {
	case FT_INT:
	case FT_TIME:
		*(int64_t *)(void *)at = row_int(rs, col);
		break;
	case FT_NUMBER:
		*(double *)(void *)at = row_double(rs, col);
		break;
	case FT_BOOL:
		*(bool *)(void *)at = row_bool(rs, col);
		break;
	case FT_STRING:
	case FT_ENUM:
	case FT_OBJECT:
	case FT_ARRAY:
	case FT_ANY:
	case FT_ONEOF:
		*(struct str *)(void *)at = row_str(rs, col);
		break;
	case FT_END:
	case FT__COUNT:
		break;
	}
}

static int
load_object(const struct field *fields, const struct rows *rs, int col, char *obj)
{
	for (const struct field *f = fields; f->name != NULL; f++) {
		if (!field_shown(f, false))
			continue;
		if (field_nested(f)) {
			col = load_object(f->fields, rs, f->null_when != NULL ? col + 1 : col, obj);
			continue;
		}
		if (f->offset != 0)
			load_value(f, rs, col, obj + f->offset - 1);
		col++;
	}
	return col;
}

void
row_load(const struct field *fields, const struct rows *rs, void *obj)
{
	load_object(fields, rs, 0, obj);
}
