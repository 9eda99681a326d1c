/*
 * field: the declaration of one member of a body, a query string or an answer. A table of
 * fields has four readers: field_take validates what a client sent, db/resource builds SQL and
 * prints rows with it, db/row loads structs through it, http/openapi prints it as a schema.
 * It must not know requests or the database: columns and expressions are only carried.
 */
#ifndef BASE_FIELD_H
#define BASE_FIELD_H

#include "json.h"

enum field_type {
	FT_END, /* a table ends with a zeroed row */
	FT_STRING,
	FT_INT,
	FT_NUMBER,
	FT_BOOL,
	FT_TIME,   /* integer, epoch milliseconds, >= 0 */
	FT_ENUM,   /* string out of .choices */
	FT_OBJECT, /* members in .fields; without .fields any object */
	FT_ARRAY,  /* elements: .items (one row, its name unused); without .items anything */
	FT_ANY,    /* any JSON value */
	FT_ONEOF,  /* one of the object shapes in .fields rows (each an FT_OBJECT row); first that fits */
	FT__COUNT
};

enum field_flag {
	FF_REQUIRED = 1 << 0,  /* body: must be there (create); answer: always there unless FF_OPTIONAL */
	FF_NULLABLE = 1 << 1,
	FF_OPTIONAL = 1 << 2,  /* answer: may be absent */
	FF_READONLY = 1 << 3,  /* in answers only; a client that sends it back is not refused, it is dropped */
	FF_WRITEONLY = 1 << 4, /* in bodies only (secrets) */
	FF_CREATE = 1 << 5,    /* bodies: on create only */
	FF_PATCH = 1 << 6,     /* bodies: on patch only (guards such as expected_revision) */
	FF_NOLIST = 1 << 7,    /* not in list rows */
	FF_BIG = 1 << 8,       /* own statement text when absent: a big column is never detoasted for nothing */
	FF_RAW = 1 << 9,       /* value kept byte for byte (slice of the request) */
	FF_NOCOLUMN = 1 << 10, /* not stored by the generic verbs: a handler or hook takes it */
	FF_TRIM = 1 << 11,     /* blanks at both ends removed before the length check */
	FF_NONBLANK = 1 << 12, /* at least one character that is no blank */
};

struct field {
	const char *name; /* in the API */
	enum field_type type;
	unsigned flags;
	int64_t min, max;             /* FT_INT/FT_NUMBER: value; FT_STRING: characters; FT_ARRAY: elements; 0,0 = none */
	bool bounded;                 /* min/max hold for numbers even where one of them is 0 */
	const char *const *choices;   /* FT_ENUM, NULL-terminated */
	const char *pattern;          /* documentation and check, a PCRE-free subset is not needed: `check` decides */
	bool (*check)(struct str v);  /* FT_STRING: further check, says yes or no */
	const struct field *fields;   /* FT_OBJECT, FT_ONEOF */
	const struct field *items;    /* FT_ARRAY */
	const char *dflt;             /* JSON text used on create when absent */
	const char *column;           /* NULL = same as name */
	const char *expr;             /* SQL expression over `t` for reading; the field is not writable */
	const char *null_when;        /* FT_OBJECT: printed as null when this column is NULL */
	size_t offset;                /* member of the loaded struct + 1; 0 = not loaded */
	const char *doc;
};

#define FIELD_END { .name = NULL }

enum field_mode {
	FIELD_CREATE, /* required fields must be there, defaults are filled in */
	FIELD_PATCH,  /* absent = unchanged */
	FIELD_PUT,    /* as create, but FF_CREATE rows are left out */
	FIELD_QUERY,  /* text values; numbers and booleans are read from text */
	FIELD_ANSWER, /* schema printing only */
};

/*
 * Validates `body` (an object; NULL counts as {}) against the table. Collects every bad field in
 * c->err (code `validation_error`, at most LIM_FIELD_ERRORS, path "/a/0/b") and returns -1.
 * 0: *out is a new object with known, writable members only, defaults filled; names of unknown
 * members, and of those this mode cannot set, go to *ignored as paths of visible ASCII without
 * commas (for the header x-tavern-ignored-fields; may be NULL); read-only ones are dropped in silence.
 * An object inside a body is set as a whole: its required members must be there in a patch, too.
 * Lengths of strings are code points; 7.0 is the integer 7. FF_TRIM and FF_NONBLANK mean Unicode blanks.
 * Query: lists are "a,b", objects are JSON texts. *out shares nodes with body and lives in c->a.
 */
struct field_names {
	VEC(const char *) v;
};
int field_take(struct ctx *c, const struct field *table, const struct json *body, enum field_mode mode, struct json **out,
    struct field_names *ignored);

/* The table as a JSON schema object (OpenAPI 3.0.3) for bodies (CREATE, PATCH, PUT) or answers. */
struct json *field_schema(struct arena *a, const struct field *table, enum field_mode mode);
/* One row as a schema (without its name). */
struct json *field_schema_one(struct arena *a, const struct field *f, enum field_mode mode);

/* The row of that name; NULL if the table has none. */
const struct field *field_find(const struct field *table, struct str name);

#endif
