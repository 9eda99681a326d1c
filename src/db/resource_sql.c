/*
 * resource_sql: the texts of the generic verbs, built from a resource's rows and from nothing a
 * client sent but which members and filters are there. Values are parameters.
 */
#include "resource_private.h"

bool
field_nested(const struct field *f)
{
	return f->type == FT_OBJECT && f->fields != NULL && f->column == NULL && f->expr == NULL;
}

bool
field_shown(const struct field *f, bool list)
{
	if (f->flags & (FF_WRITEONLY | FF_PATCH))
		return false;
	if (list && (f->flags & FF_NOLIST))
		return false;
	return !(f->flags & FF_NOCOLUMN) || f->expr != NULL;
}

bool
field_stored(const struct field *f, enum field_mode mode)
{
	unsigned other = mode == FIELD_CREATE ? FF_PATCH : FF_CREATE;

	return !(f->flags & (FF_READONLY | FF_NOCOLUMN | other)) && f->expr == NULL;
}

const char *
field_column(const struct field *f)
{
	return f->column ? f->column : f->name;
}

static bool
is_name(const char *s)
{
	return s[strspn(s, "abcdefghijklmnopqrstuvwxyz_0123456789")] == '\0';
}

/* Text that starts at `from`: blanks between pieces are put by the pieces that follow another. */
static void
comma(struct sb *s, size_t from)
{
	if (s->n > from)
		sb_adds(s, ", ");
}

static void
columns_add(struct sb *s, size_t from, const struct field *fields, bool list)
{
	for (const struct field *f = fields; f->name != NULL; f++) {
		if (!field_shown(f, list))
			continue;
		if (field_nested(f)) {
			if (f->null_when != NULL) {
				comma(s, from);
				sb_addf(s, "%s%s IS NULL", is_name(f->null_when) ? "t." : "", f->null_when);
			}
			columns_add(s, from, f->fields, list);
			continue;
		}
		comma(s, from);
		if (f->expr != NULL)
			sb_adds(s, f->expr);
		else
			sb_addf(s, "t.%s", field_column(f));
	}
}

void
sql_columns(struct sb *s, const struct field *fields, bool list)
{
	columns_add(s, s->n, fields, list);
}

const char *
resource_columns(struct arena *a, const struct field *fields, bool list)
{
	struct sb s = sb_new(a);

	sql_columns(&s, fields, list);
	return sb_c(&s);
}

/* The rows of this resource that the account may see. A switch of the list (include_deleted) takes over for
 * lists. */
static void
sql_scope(struct sb *s, const struct resource *r, bool list)
{
	bool alive = r->soft_delete;

	for (const struct filter *f = r->filters; list && f != NULL && f->field != NULL; f++)
		alive = alive && f->op != FILTER_FLAG;
	sb_adds(s, r->all_accounts ? " WHERE true" : " WHERE t.account_no = acct()");
	if (r->where != NULL)
		sb_addf(s, " AND %s", r->where);
	if (alive)
		sb_adds(s, " AND t.deleted_at IS NULL");
}

static void
filter_add(struct sb *s, struct params *p, const struct filter *f, const struct json *value)
{
	static const char *const op[] = {
		[FILTER_EQ] = "=", [FILTER_PREFIX] = "^@", [FILTER_MIN] = ">=", [FILTER_MAX] = "<="
	};
	int n;

	if (f->op == FILTER_FLAG) {
		if (!json_bool(value, false))
			sb_addf(s, " AND %s", f->expr);
		return;
	}
	if (value == NULL)
		return;
	n = params_add_json(p, value);
	if (f->op == FILTER_WHERE) {
		size_t mark = str_find(str_c(f->expr), STR("$?"), 0);

		sb_addf(s, " AND %.*s$%d%s", (int)mark, f->expr, n, f->expr + mark + 2);
	} else if (f->op == FILTER_CONTAINS)
		sb_addf(s, " AND strpos(%s, lower($%d)) > 0", f->expr, n);
	else
		sb_addf(s, " AND %s %s $%d", f->expr, op[f->op], n);
}

static void
sql_filters(struct sb *s, struct params *p, const struct resource *r, const struct json *query)
{
	for (const struct filter *f = r->filters; f != NULL && f->field != NULL; f++)
		filter_add(s, p, f, json_get(query, f->field->name));
}

void
sql_list(struct sb *s, struct params *p, const struct resource *r, const struct list_query *q)
{
	const char *way = q->ascending ? "ASC" : "DESC";

	sb_adds(s, "SELECT ");
	sql_columns(s, r->fields, true);
	sb_addf(s, " FROM %s t", r->table);
	sql_scope(s, r, true);
	sql_filters(s, p, r, q->params);
	sb_addf(s, " ORDER BY %s %s, t.no %s", q->sort->expr, way, way);
	if (!r->list_plain) {
		int limit = params_add(p, P_INT(q->limit));

		sb_addf(s, " LIMIT $%d OFFSET $%d", limit, params_add(p, P_INT(q->offset)));
	}
}

void
sql_count(struct sb *s, struct params *p, const struct resource *r, const struct list_query *q)
{
	sb_addf(s, "SELECT count(*) FROM %s t", r->table);
	sql_scope(s, r, true);
	sql_filters(s, p, r, q->params);
}

void
sql_get(struct sb *s, const struct resource *r)
{
	sb_adds(s, "SELECT ");
	sql_columns(s, r->fields, false);
	sb_addf(s, " FROM %s t", r->table);
	sql_scope(s, r, false);
	sb_adds(s, " AND t.id = $1");
}

bool
resource_has(const struct resource *r, const char *column)
{
	for (const struct field *f = r->fields; f->name != NULL; f++)
		if (f->expr == NULL && strcmp(field_column(f), column) == 0)
			return true;
	return r->guard_column != NULL && strcmp(r->guard_column, column) == 0;
}

static void
stored_columns(struct sb *s, const char *prefix, const struct field *fields)
{
	for (const struct field *f = fields; f->name != NULL; f++) {
		if (!field_stored(f, FIELD_CREATE) || strcmp(field_column(f), "id") == 0)
			continue;
		if (field_nested(f))
			stored_columns(s, prefix, f->fields);
		else
			sb_addf(s, ", %s%s", prefix, field_column(f));
	}
}

/* $1 id, $2 the record, $3 now. One text per resource: absent members are NULL, defaults came from the field
 * table. */
void
sql_create(struct sb *s, const struct resource *r)
{
	bool created = resource_has(r, "created_at"), updated = resource_has(r, "updated_at");

	sb_addf(s, "INSERT INTO %s AS t (id", r->table);
	stored_columns(s, "", r->fields);
	sb_addf(s, "%s%s) SELECT $1", created ? ", created_at" : "", updated ? ", updated_at" : "");
	stored_columns(s, "x.", r->fields);
	sb_addf(s, "%s%s FROM json_populate_record(NULL::%s, $2) x RETURNING ", created ? ", $3::bigint" : "",
	    updated ? ", $3::bigint" : "", r->table);
	sql_columns(s, r->fields, false);
}

/* The SET list of the members that are there, `extra` for what every patch sets. */
static void
set_list(struct sb *s, size_t from, const struct field *fields, const struct json *in)
{
	for (const struct field *f = fields; f->name != NULL; f++) {
		if (!field_stored(f, FIELD_PATCH) || (in != NULL && !json_has(in, f->name)))
			continue;
		if (field_nested(f)) {
			set_list(s, from, f->fields, json_get(in, f->name));
			continue;
		}
		comma(s, from);
		sb_addf(s, "%s = x.%s", field_column(f), field_column(f));
	}
}

/*
 * $1 id, $2 the record, $3 now, $4 the guard. Only columns that the body names are set, so a big
 * column that stays is neither read nor written. With a guard the row is looked at first: no row is
 * "not found", a row without an answer is "stale" with the current value.
 */
void
sql_patch(struct sb *s, const struct resource *r, const struct json *in, bool guarded)
{
	const char *guard = r->guard_column;
	bool updated = resource_has(r, "updated_at");
	size_t from;

	if (guarded) {
		sb_addf(s, "WITH cur AS (SELECT t.no, t.%s AS guard FROM %s t", guard, r->table);
		sql_scope(s, r, false);
		sb_adds(s, " AND t.id = $1 FOR UPDATE), upd AS (");
	}
	sb_addf(s, "UPDATE %s t SET ", r->table);
	from = s->n;
	set_list(s, from, r->fields, in);
	if (guard != NULL && strcmp(guard, "updated_at") != 0) {
		comma(s, from);
		sb_addf(s, "%s = t.%s + 1", guard, guard);
	}
	if (updated) {
		comma(s, from);
		sb_adds(s, "updated_at = $3");
	}
	sb_addf(s, " FROM %sjson_populate_record(NULL::%s, $2) x", guarded ? "cur, " : "", r->table);
	sql_scope(s, r, false);
	sb_adds(
	    s, guarded ? " AND t.no = cur.no AND cur.guard = $4 RETURNING " : " AND t.id = $1 RETURNING ");
	sql_columns(s, r->fields, false);
	if (guarded)
		sb_adds(s, ", true AS done) SELECT upd.*, cur.guard FROM cur LEFT JOIN upd ON true");
}

/* $1 id, $2 now where the row is only marked. */
void
sql_delete(struct sb *s, const struct resource *r, const char *which)
{
	if (r->soft_delete)
		sb_addf(s, "UPDATE %s t SET deleted_at = $2%s", r->table,
		    resource_has(r, "updated_at") ? ", updated_at = $2" : "");
	else
		sb_addf(s, "DELETE FROM %s t", r->table);
	sql_scope(s, r, false);
	sb_addf(s, " AND %s", which);
}

/* $1 the ids as a JSON array, $2 now. One row per id, in the order of first mention. */
void
sql_batch_delete(struct sb *s, const struct resource *r)
{
	sb_adds(s, "WITH want AS (SELECT id, min(i) AS i FROM json_array_elements_text($1) WITH ORDINALITY "
		   "AS u(id, i) GROUP BY id), del AS (");
	sql_delete(s, r, "t.id IN (SELECT id FROM want)");
	sb_adds(s, " RETURNING t.id) SELECT want.i - 1, want.id, del.id IS NOT NULL FROM want LEFT JOIN del "
		   "ON del.id = want.id ORDER BY 1");
}
