/*
 * resource: the generic verbs, run inside db_tx. It must not know requests or routes.
 */
#include "resource_private.h"

#include "base/limits.h"

int
params_add(struct params *p, struct param v)
{
	vec_push(p->a, &p->list, v);
	return (int)p->list.n;
}

int
params_add_json(struct params *p, const struct json *value)
{
	switch (json_type(value)) {
	case JSON_INT:
		return params_add(p, P_INT(json_int(value, 0)));
	case JSON_BOOL:
		return params_add(p, P_BOOL(json_bool(value, false)));
	case JSON_DOUBLE:
		return params_add(p, P_DOUBLE(json_double(value, 0)));
	case JSON_STRING:
		return params_add(p, P_STR(json_str(value)));
	case JSON_NULL:
	case JSON_ARRAY:
	case JSON_OBJECT:
		break;
	}
	return params_add(p, P_NULL);
}

static struct rows *
params_send(struct ctx *c, const struct sb *sql, const struct params *p)
{
	return db_send_text(c, sb_c(sql), p->list.v, p->list.n);
}

int
resource_list(
    struct ctx *c, const struct resource *r, const struct list_query *q, struct sb *data, int64_t *total_out)
{
	struct sb sql = sb_new(c->a), count = sb_new(c->a);
	struct params p = { .a = c->a }, pc = { .a = c->a };
	struct rows *rs, *rc = NULL;
	int64_t n = 0;
	int more;

	sql_list(&sql, &p, r, q);
	rs = params_send(c, &sql, &p);
	if (!r->list_plain) {
		sql_count(&count, &pc, r, q);
		rc = params_send(c, &count, &pc);
	}
	sb_addc(data, '[');
	while ((more = rows_next(rs)) > 0) {
		if (n++ > 0)
			sb_addc(data, ',');
		resource_print_row(data, r->fields, rs, true);
	}
	sb_addc(data, ']');
	if (more < 0 || (rc != NULL && rows_next(rc) <= 0))
		return -1;
	*total_out = rc != NULL ? row_int(rc, 0) : n;
	return 0;
}

/* Prints the one row of an answer. 1, 0 none, -1. */
static int
print_one(const struct resource *r, struct rows *rs, struct sb *data)
{
	int found = rows_next(rs);

	if (found > 0)
		resource_print_row(data, r->fields, rs, false);
	return found;
}

int
resource_get(struct ctx *c, const struct resource *r, struct str id, struct sb *data)
{
	struct sb sql = sb_new(c->a);

	sql_get(&sql, r);
	return print_one(r, db_send_text(c, sb_c(&sql), &P_STR(id), 1), data);
}

/* The members of a body as an object of columns; members of nested objects are columns too. */
static void
record_add(
    struct ctx *c, struct sb *s, const struct field *fields, const struct json *in, enum field_mode mode)
{
	for (const struct field *f = fields; f->name != NULL; f++) {
		/* Below a nested object that is null (in NULL) every column is null. */
		if (!field_stored(f, mode) || (in != NULL && !json_has(in, f->name)))
			continue;
		if (field_nested(f)) {
			record_add(c, s, f->fields, json_get(in, f->name), mode);
			continue;
		}
		sb_addf(s, "%s\"%s\":", sb_str(s).n > 1 ? "," : "", field_column(f));
		sb_add(s, json_text(c->a, json_get(in, f->name)));
	}
}

static struct str
record(struct ctx *c, const struct resource *r, const struct json *in, enum field_mode mode)
{
	struct sb s = sb_new(c->a);

	sb_addc(&s, '{');
	record_add(c, &s, r->fields, in, mode);
	sb_addc(&s, '}');
	return sb_str(&s);
}

int
resource_create(
    struct ctx *c, const struct resource *r, struct str id, const struct json *in, struct sb *data)
{
	const struct json *body = in ? in : json_object(c->a);
	const struct param params[] = { P_STR(id), P_STR(record(c, r, body, FIELD_CREATE)), P_INT(c->now) };
	bool dated = resource_has(r, "created_at") || resource_has(r, "updated_at");
	struct sb sql = sb_new(c->a);

	sql_create(&sql, r);
	if (print_one(r, db_send_text(c, sb_c(&sql), params, dated ? 3 : 2), data) <= 0)
		return -1;
	return r->after ? r->after(c, id, body) : 0;
}

static int
stale(struct ctx *c, const struct resource *r, int64_t current)
{
	fail(c, ERR_CONFLICT, r->conflict ? r->conflict : "conflict",
	    "%s has changed since it was read: read it again and repeat the change", r->name);
	return fail_details(
	    c, arena_printf(c->a, "{\"current_%s\":%lld}", r->guard_column, (long long)current));
}

/* Columns that the printer reads. */
static int
columns_count(const struct field *fields, bool list)
{
	int n = 0;

	for (const struct field *f = fields; f->name != NULL; f++) {
		if (!field_shown(f, list))
			continue;
		n += field_nested(f) ? columns_count(f->fields, list) + (f->null_when != NULL) : 1;
	}
	return n;
}

int
resource_patch(struct ctx *c, const struct resource *r, struct str id, const struct json *in,
    const struct json *guard, struct sb *data)
{
	bool updated = resource_has(r, "updated_at");
	bool guarded = guard != NULL && r->guard_column != NULL;
	const struct json *body = in ? in : json_object(c->a);
	struct str rec = record(c, r, body, FIELD_PATCH);
	const struct param params[] = { P_STR(id), P_STR(rec), P_INT(c->now), P_INT(json_int(guard, 0)) };
	struct sb sql = sb_new(c->a);
	struct rows *rs;
	int found, done = columns_count(r->fields, false);

	if (rec.n == 2 && !updated && r->guard_column == NULL)
		return resource_get(c, r, id, data); /* nothing to set */
	sql_patch(&sql, r, body, guarded);
	rs = db_send_text(c, sb_c(&sql), params, guarded ? 4 : updated ? 3 : 2);
	found = rows_next(rs);
	if (found <= 0)
		return found;
	if (guarded && row_null(rs, done))
		return stale(c, r, row_int(rs, done + 1));
	resource_print_row(data, r->fields, rs, false);
	return r->after && r->after(c, id, body) < 0 ? -1 : 1;
}

int
resource_delete(struct ctx *c, const struct resource *r, struct str id)
{
	const struct param params[] = { P_STR(id), P_INT(c->now) };
	struct sb sql = sb_new(c->a);
	int64_t n;

	sql_delete(&sql, r, "t.id = $1");
	n = rows_affected(db_send_text(c, sb_c(&sql), params, r->soft_delete ? 2 : 1));
	if (n <= 0)
		return (int)n;
	return r->after && r->after(c, id, NULL) < 0 ? -1 : 1;
}

static struct str
ids_json(struct ctx *c, const struct str *ids, size_t n)
{
	struct sb s = sb_new(c->a);

	sb_addc(&s, '[');
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			sb_addc(&s, ',');
		sb_add_json(&s, ids[i]);
	}
	sb_addc(&s, ']');
	return sb_str(&s);
}

int
resource_batch_delete(
    struct ctx *c, const struct resource *r, const struct str *ids, size_t n, struct sb *data)
{
	const struct param params[] = { P_STR(ids_json(c, ids, n)), P_INT(c->now) };
	struct sb sql = sb_new(c->a);
	struct rows *rs;
	int64_t total = 0, deleted = 0;
	int more;

	sql_batch_delete(&sql, r);
	rs = db_send_text(c, sb_c(&sql), params, r->soft_delete ? 2 : 1);
	sb_adds(data, "{\"results\":[");
	while ((more = rows_next(rs)) > 0) {
		bool gone = row_bool(rs, 2);

		sb_addf(data, "%s{\"index\":%lld,\"id\":", total ? "," : "", (long long)row_int(rs, 0));
		sb_add_json(data, row_str(rs, 1));
		sb_addf(data, ",\"action\":\"%s\"}", gone ? "deleted" : "not_found");
		total++;
		deleted += gone;
		if (gone && r->after && r->after(c, row_str(rs, 1), NULL) < 0)
			return -1;
	}
	sb_addf(data, "],\"meta\":{\"total\":%lld,\"deleted\":%lld,\"not_found\":%lld}}", (long long)total,
	    (long long)deleted, (long long)(total - deleted));
	return more;
}

/* Query parameters of a list. */

static const char *const sort_orders[] = { "asc", "desc", NULL };

const struct field *
resource_query_fields(struct arena *a, const struct resource *r)
{
	VEC(struct field) out = { 0 };
	VEC(const char *) names = { 0 };

	for (const struct sort_key *k = r->sorts; k != NULL && k->name != NULL; k++)
		vec_push(a, &names, k->name);
	vec_push(a, &names, NULL);
	if (!r->list_plain) {
		vec_push(a, &out,
		    ((struct field){ .name = "limit",
			.type = FT_INT,
			.min = 1,
			.max = LIM_PAGE_LIMIT,
			.doc = "rows of a page, 50 if absent" }));
		vec_push(a, &out,
		    ((struct field){ .name = "offset",
			.type = FT_INT,
			.bounded = true,
			.max = INT64_MAX >> 11,
			.doc = "rows to skip" }));
		vec_push(a, &out, ((struct field){ .name = "sort_by", .type = FT_ENUM, .choices = names.v }));
		vec_push(a, &out,
		    ((struct field){ .name = "sort_order", .type = FT_ENUM, .choices = sort_orders }));
	}
	for (const struct filter *f = r->filters; f != NULL && f->field != NULL; f++)
		if (!(f->field->flags & FF_READONLY))
			vec_push(a, &out, *f->field);
	vec_push(a, &out, ((struct field)FIELD_END));
	return out.v;
}

int
resource_list_query(
    struct ctx *c, const struct resource *r, const struct json *params, struct list_query *out)
{
	struct str by = json_get_str(params, "sort_by"), order = json_get_str(params, "sort_order");
	struct list_query q = {
		.limit = json_get_int(params, "limit", LIM_PAGE_DEFAULT),
		.offset = json_get_int(params, "offset", 0),
		.sort = r->sorts,
		.ascending = order.p ? str_is(order, "asc") : r->ascending,
		.params = params,
	};

	while (by.p != NULL && q.sort->name != NULL && !str_is(by, q.sort->name))
		q.sort++;
	if (q.sort->name == NULL)
		return fail_field(c, "/sort_by", "invalid_enum_value", "not a key to sort by");
	*out = q;
	return 0;
}
