/*
 * resource: a stored thing that the API lists, reads, patches and deletes, as a row of data. The
 * SQL of the generic verbs is generated from the field table (golden-tested), prepared once per
 * connection, and rows are printed as JSON straight from the result by the same table.
 * Stop line: who needs a third hook, a join that is no expression or a side effect writes a
 * handler with the same helpers (resource_columns, resource_print_row …).
 */
#ifndef DB_RESOURCE_H
#define DB_RESOURCE_H

#include "base/field.h"
#include "base/sb.h"
#include "db.h"

enum filter_op {
	FILTER_EQ,       /* column = value */
	FILTER_CONTAINS, /* case-insensitive substring of a key column (keyword, q) */
	FILTER_PREFIX,
	FILTER_MIN,      /* column >= value */
	FILTER_MAX,
	FILTER_WHERE,    /* `expr` is the whole condition; $? in it is the value (a reference looked up once, not per row) */
	FILTER_FLAG,     /* boolean switch: `expr` is the condition that holds unless the switch is true */
};

struct filter {
	const struct field *field;   /* name, type, limits of the query parameter; FF_READONLY: no parameter, the handler fills it in */
	enum filter_op op;
	const char *expr;            /* column or SQL expression over `t` */
};

struct sort_key {
	const char *name;            /* value of sort_by */
	const char *expr;
};

enum delete_answer { DELETE_ID /* 200 {"data":{"id","deleted":true}} */, DELETE_EMPTY /* 204 */ };

struct resource {
	const char *name;            /* "session": messages ("session not found") */
	const char *table;           /* alias `t` in every expression */
	const char *where;           /* fixed condition, e.g. "t.kind = 'preset' AND t.deleted_at IS NULL"; NULL = none */
	const struct field *fields;  /* of the answer and of the stored columns */
	const struct filter *filters;    /* ends with .field NULL */
	const struct sort_key *sorts;    /* ends with .name NULL; the first is the default */
	bool list_plain;             /* an array without meta */
	bool ascending;              /* default order */
	bool soft_delete;            /* sets deleted_at; such rows are gone but for a list with a FILTER_FLAG */
	enum delete_answer delete_answer;
	const char *guard;           /* "expected_revision" | "expected_version" | "expected_updated_at" */
	const char *guard_column;    /* compared and bumped (revision, version) or only compared (updated_at) */
	const char *not_found;       /* error code, NULL = "not_found" */
	const char *conflict;        /* code of a stale guard, NULL = "conflict" */
	bool all_accounts;           /* the table has no account_no (accounts themselves): only behind an admin route */
	/* Hooks: pure, called by the handler; and inside the transaction, after every write (`in` NULL: a delete). */
	int (*check)(struct ctx *c, const struct json *in);
	int (*after)(struct ctx *c, struct str id, const struct json *in);
};

/* What a list asks for, taken from the validated query. */
struct list_query {
	int64_t limit, offset;
	const struct sort_key *sort;
	bool ascending;
	const struct json *params;   /* the validated query object, for the filters */
};

/*
 * Columns: a member is the column of its name (or .column, or .expr); an FT_OBJECT with .fields and neither
 * is no column but its members are; created_at and updated_at are kept by the verbs; `no` breaks ties of
 * the order. Bodies reach the row through json_populate_record, JSON columns byte for byte as json_text
 * prints; JSON null is SQL NULL.
 */

/*
 * All inside db_tx. JSON is appended as text.
 * list: rows as a JSON array to `data`, *total_out = rows that match. get/patch: the object; 1 found,
 * 0 not found, -1 error. patch: `in` has only writable members; guard NULL = none; a stale guard
 * records ERR_CONFLICT with the current value in details. delete: 1, 0, -1.
 */
int resource_list(struct ctx *c, const struct resource *r, const struct list_query *q, struct sb *data, int64_t *total_out);
int resource_get(struct ctx *c, const struct resource *r, struct str id, struct sb *data);
int resource_create(struct ctx *c, const struct resource *r, struct str id, const struct json *in, struct sb *data);
int resource_patch(struct ctx *c, const struct resource *r, struct str id, const struct json *in,
    const struct json *guard, struct sb *data);
int resource_delete(struct ctx *c, const struct resource *r, struct str id);
/* {"results":[{index,id,action}],"meta":{total,deleted,not_found}}; ids may repeat: one action per id. */
int resource_batch_delete(struct ctx *c, const struct resource *r, const struct str *ids, size_t n, struct sb *data);

/* Query fields of a list route (limit, offset, sort_by, sort_order, filters) for validation and OpenAPI; process arena. */
const struct field *resource_query_fields(struct arena *a, const struct resource *r);
int resource_list_query(struct ctx *c, const struct resource *r, const struct json *params, struct list_query *out);

/* For handlers: the columns of the fields as SQL text, and the printer that reads them from column 0 on. */
const char *resource_columns(struct arena *a, const struct field *fields, bool list);
void resource_print_row(struct sb *out, const struct field *fields, const struct rows *rs, bool list);

/*
 * Third reader: fills members with .offset from a row made by resource_columns (not of a list). Types of
 * the members: int64_t (FT_INT, FT_TIME), double, bool, and struct str for all others (absent for NULL,
 * JSON as text), which live in the ctx's arena. Members of nested objects lie in the same struct.
 */
void row_load(const struct field *fields, const struct rows *rs, void *obj);

#endif
