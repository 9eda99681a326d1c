/*
 * variables: five scopes, listed and read as rows; writes go through one step that finds the
 * scope's place in the story, checks its room, stores value and log entry. Values are kept as the
 * bytes that the client sent.
 */
#include "api/rest.h"
#include "api/tables.h"
#include "base/id.h"
#include "base/limits.h"
#include "base/map.h"
#include "store/variable.h"

#include <stdlib.h>

/* clang-format off */
static const char *const scopes[] = { "global", "chat", "floor", "branch", "page", NULL };

static const struct field scope_ref[] = {
	{ "session_id", FT_STRING, FF_REQUIRED, .expr = "(SELECT s.id FROM session s WHERE s.account_no = acct() AND s.no = t.session_no)" },
	{ "branch_id", FT_STRING, FF_REQUIRED },
	FIELD_END
};
static const struct field variable_fields[] = {
	{ "id", FT_STRING, FF_READONLY },
	{ "scope", FT_ENUM, FF_READONLY, .choices = scopes },
	{ "scope_id", FT_STRING, FF_READONLY },
	{ "key", FT_STRING, FF_READONLY },
	{ "value", FT_ANY, FF_READONLY },
	{ "updated_at", FT_TIME, FF_READONLY },
	{ "revision", FT_INT, FF_READONLY, .bounded = true, .max = INT64_MAX, .doc = "counts writes; for expected_revision" },
	{ "scope_ref", FT_OBJECT, FF_READONLY | FF_OPTIONAL, .fields = scope_ref, .null_when = "branch_id" },
	FIELD_END
};

static const struct field by_scope = { "scope", FT_ENUM, .choices = scopes };
static const struct field by_scope_id = { "scope_id", FT_STRING, .min = 1 };
static const struct field by_session = { "session_id", FT_STRING, .min = 1 };
static const struct field by_branch = { "branch_id", FT_STRING, .min = 1 };
static const struct field by_key = { "key", FT_STRING, .min = 1 };
static const struct filter variable_filters[] = {
	{ &by_scope, FILTER_EQ, "t.scope" },
	{ &by_scope_id, FILTER_EQ, "t.scope_id" },
	{ &by_session, FILTER_WHERE, "t.session_no = (SELECT s.no FROM session s WHERE s.account_no = acct() AND s.id = $?)" },
	{ &by_branch, FILTER_EQ, "t.branch_id" },
	{ &by_key, FILTER_EQ, "t.key" },
	{ NULL }
};
static const struct sort_key variable_sorts[] = { { "updated_at", "t.updated_at" }, { "key", "t.key" }, { NULL } };
static const struct resource res_variable = {
	.name = "variable", .not_found = "variable_not_found", .table = "variable", .where = REST_LIVE_VARIABLE, .fields = variable_fields, .filters = variable_filters,
	.sorts = variable_sorts,
};

static const struct field put_body[] = {
	{ "scope", FT_ENUM, .choices = scopes, .doc = "absent = page" },
	{ "scope_id", FT_STRING, .min = 1, .doc = "session, floor or page id; \"global\"; \"branch:SESSION:BRANCH\"" },
	{ "session_id", FT_STRING, .min = 1, .doc = "of branch scope, with branch_id; of page scope instead of scope_id: the page that counts of the branch's last floor" },
	{ "branch_id", FT_STRING, .min = 1, .doc = "of page scope absent = main" },
	{ "key", FT_STRING, FF_REQUIRED, .min = 1, .max = LIM_VARIABLE_KEY },
	{ "value", FT_ANY, FF_REQUIRED | FF_NULLABLE | FF_RAW },
	{ "expected_revision", FT_INT, .bounded = true, .max = INT32_MAX, .doc = "409 with the current one if the value has changed since; absent = no check" },
	FIELD_END
};
static const struct field batch_item = { "item", FT_OBJECT, .fields = put_body };
static const struct field batch_body[] = {
	{ "items", FT_ARRAY, FF_REQUIRED, .min = 1, .max = 100, .items = &batch_item },
	FIELD_END
};
static const char *const batch_actions[] = { "created", "updated", NULL };
static const struct field batch_result[] = {
	{ "index", FT_INT, FF_REQUIRED, .bounded = true, .max = INT64_MAX },
	{ "action", FT_ENUM, FF_REQUIRED, .choices = batch_actions },
	{ "data", FT_OBJECT, FF_OPTIONAL, .fields = variable_fields },
	FIELD_END
};
static const struct field batch_result_item = { "result", FT_OBJECT, .fields = batch_result };
static const struct field batch_meta[] = {
	{ "total", FT_INT, FF_REQUIRED, .bounded = true, .min = 1, .max = INT64_MAX },
	{ "created", FT_INT, FF_REQUIRED, .bounded = true, .max = INT64_MAX },
	{ "updated", FT_INT, FF_REQUIRED, .bounded = true, .max = INT64_MAX },
	FIELD_END
};
static const struct field batch_answer[] = {
	{ "results", FT_ARRAY, FF_REQUIRED, .items = &batch_result_item },
	{ "meta", FT_OBJECT, FF_REQUIRED, .fields = batch_meta },
	FIELD_END
};
/* clang-format on */

/* ---- where a value belongs ---- */

struct place {
	const char *path;            /* of the item in the body: "" or "/items/3" */
	struct str scope, scope_id, session_id, branch_id, key; /* session_id and branch_id of branch scope, or of a page that has no scope_id */
	int64_t no, session_no, segment_no;
	int32_t floor_seq;
};

/* "branch:SESSION:BRANCH" apart; false if it is not of that form. */
static bool
branch_scope_id(struct str id, struct str *session, struct str *branch)
{
	size_t colon;

	if (!str_starts(id, STR("branch:")))
		return false;
	id = str_sub(id, 7, id.n);
	colon = str_chr(id, ':', 0);
	if (colon == STR_NPOS || colon == 0 || colon + 1 == id.n)
		return false;
	*session = str_sub(id, 0, colon);
	*branch = str_sub(id, colon + 1, id.n);
	return true;
}

/* Reads scope, ids and key of an item; errors name the item's path. */
static int
place_read(struct ctx *c, const struct json *item, const char *path, struct place *p)
{
	struct str given = json_get_str(item, "scope_id");

	p->path = path;
	p->scope = json_get_str(item, "scope");
	if (!p->scope.p)
		p->scope = STR("page"); /* decisions 41 */
	p->key = json_get_str(item, "key");
	p->scope_id = given;
	if (p->key.n > LIM_VARIABLE_KEY)
		return fail_field(c, arena_printf(c->a, "%s/key", path), "maxLength", "must NOT have more than %d bytes", LIM_VARIABLE_KEY);
	if (str_is(p->scope, "global")) {
		if (!given.p)
			return fail_field(c, arena_printf(c->a, "%s/scope_id", path), "required", "scope_id is required when scope is 'global'");
		p->scope_id = STR("global");
		return 0;
	}
	if (str_is(p->scope, "branch")) {
		p->session_id = json_get_str(item, "session_id");
		p->branch_id = json_get_str(item, "branch_id");
		if (!(p->session_id.p && p->branch_id.p) && !(given.p && branch_scope_id(given, &p->session_id, &p->branch_id)))
			return fail_field(c, arena_printf(c->a, "%s/scope_id", path), "required",
			    "branch scope needs session_id and branch_id, or a scope_id \"branch:SESSION:BRANCH\"");
		p->scope_id = str_c(arena_printf(c->a, "branch:%.*s:%.*s", STR_ARG(p->session_id), STR_ARG(p->branch_id)));
		return 0;
	}
	if (!given.p && str_is(p->scope, "chat"))
		p->scope_id = json_get_str(item, "session_id");
	if (!given.p && str_is(p->scope, "page") && json_has(item, "session_id")) {
		p->session_id = json_get_str(item, "session_id");
		p->branch_id = json_has(item, "branch_id") ? json_get_str(item, "branch_id") : STR("main");
		return 0;
	}
	if (!p->scope_id.p)
		return fail_field(c, arena_printf(c->a, "%s/scope_id", path), "required", "scope_id is required when scope is '%.*s'", STR_ARG(p->scope));
	return 0;
}

/* What a place refuses by the state of its floor. */
static int
place_open(struct ctx *c, struct str scope, struct str state)
{
	if (str_is(scope, "floor") && str_is(state, "committed"))
		return fail(c, ERR_CONFLICT, "content_target_locked", "variables of a committed floor are read-only");
	if (str_is(state, "generating"))
		return fail(c, ERR_CONFLICT, "generation_conflict", "a generation is running on this floor: write when it has ended, or to the branch");
	return 0;
}

static int
head_page_find(struct ctx *c, struct place *p)
{
	struct rows *rs = db_query(c, STMT_variable_head_page, P_STR(p->session_id), P_STR(p->branch_id));
	int rc = rows_next(rs);

	if (rc <= 0)
		return rc < 0 ? -1 : fail(c, ERR_NOT_FOUND, "not_found", "branch \"%.*s\" has no page to write to", STR_ARG(p->branch_id));
	p->scope_id = row_str(rs, 0);
	p->branch_id = STR_NULL;
	return 0;
}

static int
place_find(struct ctx *c, struct place *p)
{
	struct rows *rs;
	int rc;

	if (str_is(p->scope, "global"))
		return 0;
	if (!p->scope_id.p && head_page_find(c, p) < 0)
		return -1;
	rs = db_query(c, STMT_variable_place, P_STR(p->scope), P_STR(str_is(p->scope, "branch") ? p->session_id : p->scope_id), P_STR(p->branch_id));
	rc = rows_next(rs);
	if (rc <= 0)
		return rc < 0 ? -1 : fail(c, ERR_NOT_FOUND, "not_found", "%.*s \"%.*s\" not found", STR_ARG(p->scope), STR_ARG(p->scope_id));
	p->no = row_int(rs, 0);
	p->session_no = row_int(rs, 1);
	p->segment_no = row_int(rs, 3);
	p->floor_seq = (int32_t)row_int(rs, 4);
	return place_open(c, p->scope, row_str(rs, 6));
}

/* A value that cannot be stored: which one (decisions 51). */
static int
no_room(struct ctx *c, const struct place *p, const char *member)
{
	return fail_details(c, arena_printf(c->a, "{\"path\":\"%s/%s\"}", p->path, member));
}

static int
room_check(struct ctx *c, const struct place *p, struct str value)
{
	struct rows *rs = db_query(c, STMT_variable_room, P_STR(p->scope), P_INT(p->no), P_STR(p->key));

	if (rows_next(rs) <= 0)
		return -1;
	if (row_int(rs, 0) >= LIM_VARIABLES) {
		fail(c, ERR_INVALID, "too_many_variables", "this scope holds %d variables already; delete some first", LIM_VARIABLES);
		return no_room(c, p, "key");
	}
	if (row_int(rs, 1) + (int64_t)value.n > LIM_VARIABLE_BYTES) {
		fail(c, ERR_INVALID, "variables_too_big", "the values of this scope would pass %u bytes", LIM_VARIABLE_BYTES);
		return no_room(c, p, "value");
	}
	return 0;
}

/* ---- writing ---- */

struct put_item {
	struct place place;
	struct str value;       /* absent = deleted */
	int64_t expected;       /* revision; -1 = any */
	struct str id;
	int64_t revision;
	bool created;
};

struct put_work {
	struct put_item *items;
	size_t n;
};

/* Nobody wrote since the client read it. */
static int
revision_check(struct ctx *c, const struct put_item *it)
{
	const struct place *p = &it->place;
	struct rows *rs;
	int rc;

	if (it->expected < 0)
		return 0;
	rs = db_query(c, STMT_variable_hold, P_STR(p->scope), P_INT(p->no), P_STR(p->key));
	rc = rows_next(rs);
	if (rc < 0 || (rc > 0 && row_int(rs, 0) == it->expected))
		return rc < 0 ? -1 : 0;
	fail(c, ERR_CONFLICT, "conflict", "variable has changed since it was read: read it again and repeat the change");
	return fail_details(c, arena_printf(c->a, "{\"path\":\"%s/expected_revision\",\"current_revision\":%s}", p->path,
				   rc > 0 ? arena_printf(c->a, "%lld", (long long)row_int(rs, 0)) : "null"));
}

/* What listeners of the outbox are told of a client's write. */
static int
event_send(struct ctx *c, const struct put_item *it, struct str session_id)
{
	const struct place *p = &it->place;
	struct sb data = sb_new(c->a);

	sb_addf(&data, "{\"scope\":\"%.*s\",\"scopeId\":", STR_ARG(p->scope));
	sb_add_json(&data, p->scope_id);
	sb_adds(&data, ",\"key\":");
	sb_add_json(&data, p->key);
	if (it->value.p && it->value.n <= LIM_EVENT_VALUE) {
		sb_adds(&data, ",\"value\":");
		sb_add(&data, it->value);
	}
	sb_adds(&data, ",\"source\":\"client\",\"variableId\":");
	sb_add_json(&data, it->id);
	sb_addc(&data, '}');
	return db_exec(c, STMT_variable_event, P_STR(session_id), P_C(it->value.p ? "variable.set" : "variable.deleted"), P_STR(sb_str(&data)), P_INT(c->now)) < 0 ? -1 : 0;
}

static int
write_one(struct ctx *c, struct put_item *it, struct str session_id)
{
	const struct place *p = &it->place;
	struct sb list = sb_new(c->a);
	struct rows *rs;
	int rc;

	var_add(c, &list, &(struct var_write){ .scope = arena_printf(c->a, "%.*s", STR_ARG(p->scope)), .scope_no = p->no, .scope_id = p->scope_id, .key = p->key, .value = it->value, .source = "client" });
	rs = var_send(c, &list, &(struct var_place){ .session_no = p->session_no, .branch_id = p->branch_id, .segment = p->segment_no, .floor_seq = p->floor_seq, .page_id = str_is(p->scope, "page") ? p->scope_id : STR_NULL });
	rc = rows_next(rs);
	if (rc < 0 || (rc == 0 && it->value.p))
		return -1;
	if (it->value.p) {
		it->id = row_str(rs, 0);
		it->revision = row_int(rs, 1);
		it->created = row_bool(rs, 2);
	}
	return event_send(c, it, session_id);
}

static struct str
session_of(const struct place *p)
{
	return str_is(p->scope, "chat") ? p->scope_id : p->session_id;
}

static int
put_one(struct ctx *c, struct put_item *it)
{
	const struct place *p = &it->place;

	return place_find(c, &it->place) < 0 || revision_check(c, it) < 0 || room_check(c, p, it->value) < 0 ? -1 : write_one(c, it, session_of(p));
}

static int
put_work(struct request *r, void *arg)
{
	struct put_work *w = arg;

	for (size_t i = 0; i < w->n; i++)
		if (put_one(r->ctx, &w->items[i]) < 0)
			return -1;
	return 0;
}

static void
item_print(struct sb *out, const struct put_item *it, int64_t now)
{
	sb_adds(out, "{\"id\":");
	sb_add_json(out, it->id);
	sb_addf(out, ",\"scope\":\"%.*s\",\"scope_id\":", STR_ARG(it->place.scope));
	sb_add_json(out, it->place.scope_id);
	sb_adds(out, ",\"key\":");
	sb_add_json(out, it->place.key);
	sb_adds(out, ",\"value\":");
	sb_add(out, it->value);
	sb_addf(out, ",\"updated_at\":%lld,\"revision\":%lld", (long long)now, (long long)it->revision);
	if (it->place.branch_id.p) {
		sb_adds(out, ",\"scope_ref\":{\"session_id\":");
		sb_add_json(out, it->place.session_id);
		sb_adds(out, ",\"branch_id\":");
		sb_add_json(out, it->place.branch_id);
		sb_addc(out, '}');
	}
	sb_addc(out, '}');
}

static int
variable_put(struct request *r)
{
	struct put_item it = { .value = json_raw(r->body, "value"), .expected = json_get_int(r->in, "expected_revision", -1) };
	struct put_work w = { &it, 1 };
	struct sb out = sb_new(r->ctx->a);

	if (place_read(r->ctx, r->in, "", &it.place) < 0 || rest_tx(r, DB_WRITE, put_work, &w) < 0)
		return -1;
	item_print(&out, &it, r->ctx->now);
	return reply_status(r, it.created ? 201 : 200, sb_str(&out));
}

static int
variable_put_batch(struct request *r)
{
	const struct json *items = json_get(r->in, "items");
	struct str raw = json_raw(r->body, "items"), element;
	struct put_work w = { .n = json_len(items) };
	struct sb out = sb_new(r->ctx->a);
	size_t pos = 0, created = 0;

	w.items = arena_array(r->ctx->a, struct put_item, w.n);
	for (size_t i = 0; i < w.n; i++) {
		place_read(r->ctx, json_at(items, i), arena_printf(r->ctx->a, "/items/%zu", i), &w.items[i].place);
		w.items[i].expected = json_get_int(json_at(items, i), "expected_revision", -1);
		if (json_raw_next(raw, &pos, &element))
			w.items[i].value = json_raw(element, "value");
	}
	if (failed(r->ctx) || rest_tx(r, DB_WRITE, put_work, &w) < 0)
		return -1;
	sb_adds(&out, "{\"results\":[");
	for (size_t i = 0; i < w.n; i++) {
		sb_addf(&out, "%s{\"index\":%zu,\"action\":\"%s\",\"data\":", i ? "," : "", i, w.items[i].created ? "created" : "updated");
		item_print(&out, &w.items[i], r->ctx->now);
		sb_addc(&out, '}');
		created += w.items[i].created;
	}
	sb_addf(&out, "],\"meta\":{\"total\":%zu,\"created\":%zu,\"updated\":%zu}}", w.n, created, w.n - created);
	return reply_data(r, sb_str(&out));
}

static int
delete_work(struct request *r, void *arg)
{
	struct ctx *c = r->ctx;
	struct rows *rs = db_query(c, STMT_variable_take, P_STR(req_param(r, "id")));
	struct put_item it = { .id = req_param(r, "id"), .expected = req_query_int(r, "expected_revision", -1) };
	int rc = rows_next(rs);
	bool branch;

	(void)arg;
	if (rc <= 0)
		return rc < 0 ? -1 : rest_not_found(r, &res_variable);
	branch = str_is(row_str(rs, 0), "branch");
	it.place = (struct place){ .path = "", .scope = row_str(rs, 0), .no = row_int(rs, 1), .scope_id = row_str(rs, 2), .key = row_str(rs, 3), .session_no = row_int(rs, 5),
		.session_id = row_str(rs, 6), .branch_id = row_str(rs, 7), .segment_no = row_int(rs, branch ? 8 : 10), .floor_seq = (int32_t)row_int(rs, branch ? 9 : 11) };
	return place_open(c, it.place.scope, row_str(rs, 12)) < 0 || revision_check(c, &it) < 0 ? -1 : write_one(c, &it, it.place.session_id);
}

static int
variable_delete(struct request *r)
{
	return rest_tx(r, DB_WRITE, delete_work, NULL) < 0 ? -1 : rest_deleted_reply(r, req_param(r, "id"));
}

/* ---- resolve ---- */

/* Nearest first. */
static const char *const cascade[] = { "page", "floor", "branch", "chat", "global" };
#define CASCADE (sizeof(cascade) / sizeof(*cascade))

struct layer_row {
	struct str id, key, value, scope_id;
	int64_t updated_at, revision;
};

struct resolved {
	VEC(struct layer_row) layer[CASCADE];
	bool present[CASCADE];
};

static int
resolve_load(struct request *r, void *arg)
{
	struct resolved *v = arg;
	struct rows *rs = db_query(r->ctx, STMT_variable_layers, P_STR(req_query(r, "session_id")), P_STR(req_query(r, "branch_id")),
	    P_STR(req_query(r, "floor_id")), P_STR(req_query(r, "page_id")));
	int rc;

	*v = (struct resolved){ 0 };
	while ((rc = rows_next(rs)) > 0)
		for (size_t i = 0; i < CASCADE; i++)
			if (str_is(row_str(rs, 0), cascade[i])) {
				v->present[i] = true;
				if (!row_null(rs, 1))
					vec_push(r->ctx->a, &v->layer[i],
					    ((struct layer_row){ row_str(rs, 1), row_str(rs, 3), row_str(rs, 4), row_str(rs, 2), row_int(rs, 5) }));
			}
	if (rc == 0 && !v->present[CASCADE - 1])
		return fail(r->ctx, ERR_NOT_FOUND, "not_found", "session not found");
	return rc;
}

static void
ref_print(struct sb *out, const struct request *r, const char *name, const char *scope)
{
	if (strcmp(scope, "branch") != 0)
		return;
	sb_addf(out, ",\"%s\":{\"session_id\":", name);
	sb_add_json(out, req_query(r, "session_id"));
	sb_adds(out, ",\"branch_id\":");
	sb_add_json(out, req_query(r, "branch_id"));
	sb_addc(out, '}');
}

static void
context_print(struct sb *out, const struct request *r)
{
	static const char *const ids[] = { "branch_id", "floor_id", "page_id" };

	sb_adds(out, "{\"context\":{\"account_id\":");
	sb_add_json(out, str_c(r->ctx->who.account_id));
	sb_adds(out, ",\"session_id\":");
	sb_add_json(out, req_query(r, "session_id"));
	sb_adds(out, ",\"global_scope_id\":\"global\"");
	for (size_t i = 0; i < 3; i++)
		if (req_query(r, ids[i]).p) {
			sb_addf(out, ",\"%s\":", ids[i]);
			sb_add_json(out, req_query(r, ids[i]));
		}
	sb_addc(out, '}');
}

struct nearest {
	const struct layer_row *row;
	const char *scope;
};

static int
nearest_order(const void *a, const void *b)
{
	return str_cmp(((const struct nearest *)a)->row->key, ((const struct nearest *)b)->row->key);
}

/* The nearest value of each key; keys in byte order. */
static void
nearest_print(struct sb *out, const struct request *r, const struct resolved *v)
{
	struct map *seen = map_create(r->ctx->a);
	VEC(struct nearest) all = { 0 };

	for (size_t i = 0; i < CASCADE; i++)
		for (size_t k = 0; k < v->layer[i].n; k++)
			if (!map_has(seen, v->layer[i].v[k].key)) {
				map_set(seen, v->layer[i].v[k].key, out);
				vec_push(r->ctx->a, &all, ((struct nearest){ &v->layer[i].v[k], cascade[i] }));
			}
	if (all.n > 0)
		qsort(all.v, all.n, sizeof(*all.v), nearest_order);
	sb_adds(out, ",\"resolved\":[");
	for (size_t i = 0; i < all.n; i++) {
		const struct layer_row *row = all.v[i].row;

		sb_adds(out, i ? ",{\"key\":" : "{\"key\":");
		sb_add_json(out, row->key);
		sb_adds(out, ",\"value\":");
		sb_add(out, row->value);
		sb_addf(out, ",\"source_scope\":\"%s\",\"source_scope_id\":", all.v[i].scope);
		sb_add_json(out, row->scope_id);
		sb_addf(out, ",\"updated_at\":%lld", (long long)row->updated_at);
		ref_print(out, r, "source_scope_ref", all.v[i].scope);
		sb_addc(out, '}');
	}
	sb_addc(out, ']');
}

static struct str
layer_scope_id(const struct request *r, const char *scope)
{
	if (strcmp(scope, "global") == 0)
		return STR("global");
	if (strcmp(scope, "branch") == 0)
		return str_c(arena_printf(r->ctx->a, "branch:%.*s:%.*s", STR_ARG(req_query(r, "session_id")), STR_ARG(req_query(r, "branch_id"))));
	return req_query(r, strcmp(scope, "chat") == 0 ? "session_id" : strcmp(scope, "floor") == 0 ? "floor_id" : "page_id");
}

static void
layers_print(struct sb *out, const struct request *r, const struct resolved *v)
{
	bool first = true;

	sb_adds(out, ",\"layers\":{");
	for (size_t i = CASCADE; i-- > 0;) {
		struct str scope_id = layer_scope_id(r, cascade[i]);

		if (!v->present[i])
			continue;
		sb_addf(out, "%s\"%s\":{\"scope\":\"%s\",\"scope_id\":", first ? "" : ",", cascade[i], cascade[i]);
		first = false;
		sb_add_json(out, scope_id);
		sb_adds(out, ",\"items\":[");
		for (size_t k = 0; k < v->layer[i].n; k++) {
			const struct layer_row *row = &v->layer[i].v[k];

			sb_adds(out, k ? ",{\"id\":" : "{\"id\":");
			sb_add_json(out, row->id);
			sb_addf(out, ",\"scope\":\"%s\",\"scope_id\":", cascade[i]);
			sb_add_json(out, row->scope_id);
			sb_adds(out, ",\"key\":");
			sb_add_json(out, row->key);
			sb_adds(out, ",\"value\":");
			sb_add(out, row->value);
			sb_addf(out, ",\"updated_at\":%lld,\"revision\":%lld", (long long)row->updated_at, (long long)row->revision);
			ref_print(out, r, "scope_ref", cascade[i]);
			sb_addc(out, '}');
		}
		sb_addc(out, ']');
		ref_print(out, r, "scope_ref", cascade[i]);
		sb_addc(out, '}');
	}
	sb_addc(out, '}');
}

static int
resolve(struct request *r)
{
	struct resolved v;
	struct sb out = sb_new(r->ctx->a);

	if (rest_tx(r, DB_READ, resolve_load, &v) < 0)
		return -1;
	context_print(&out, r);
	nearest_print(&out, r, &v);
	if (req_query_bool(r, "include_layers", false))
		layers_print(&out, r, &v);
	sb_addc(&out, '}');
	return reply_data(r, sb_str(&out));
}

/* clang-format off */
static const struct field resolve_query[] = {
	{ "session_id", FT_STRING, FF_REQUIRED, .min = 1 },
	{ "branch_id", FT_STRING, .min = 1 },
	{ "floor_id", FT_STRING, .min = 1 },
	{ "page_id", FT_STRING, .min = 1 },
	{ "include_layers", FT_BOOL, .dflt = "false" },
	FIELD_END
};
static const struct field resolved_ref[] = {
	{ "session_id", FT_STRING, FF_REQUIRED },
	{ "branch_id", FT_STRING, FF_REQUIRED },
	FIELD_END
};
static const struct field resolved_item[] = {
	{ "key", FT_STRING, FF_REQUIRED },
	{ "value", FT_ANY, FF_REQUIRED },
	{ "source_scope", FT_ENUM, FF_REQUIRED, .choices = scopes },
	{ "source_scope_id", FT_STRING, FF_REQUIRED },
	{ "source_scope_ref", FT_OBJECT, FF_OPTIONAL, .fields = resolved_ref },
	{ "updated_at", FT_TIME, FF_REQUIRED },
	FIELD_END
};
static const struct field resolved_row = { "item", FT_OBJECT, .fields = resolved_item };
static const struct field layer_item = { "item", FT_OBJECT, .fields = variable_fields };
static const struct field layer[] = {
	{ "scope", FT_ENUM, FF_REQUIRED, .choices = scopes },
	{ "scope_id", FT_STRING, FF_REQUIRED },
	{ "scope_ref", FT_OBJECT, FF_OPTIONAL, .fields = resolved_ref },
	{ "items", FT_ARRAY, FF_REQUIRED, .items = &layer_item },
	FIELD_END
};
static const struct field layers[] = {
	{ "global", FT_OBJECT, FF_OPTIONAL, .fields = layer },
	{ "chat", FT_OBJECT, FF_OPTIONAL, .fields = layer },
	{ "branch", FT_OBJECT, FF_OPTIONAL, .fields = layer },
	{ "floor", FT_OBJECT, FF_OPTIONAL, .fields = layer },
	{ "page", FT_OBJECT, FF_OPTIONAL, .fields = layer },
	FIELD_END
};
static const struct field resolve_context[] = {
	{ "account_id", FT_STRING, FF_REQUIRED },
	{ "session_id", FT_STRING, FF_REQUIRED },
	{ "global_scope_id", FT_STRING, FF_REQUIRED },
	{ "branch_id", FT_STRING, FF_OPTIONAL },
	{ "floor_id", FT_STRING, FF_OPTIONAL },
	{ "page_id", FT_STRING, FF_OPTIONAL },
	FIELD_END
};
static const struct field resolve_answer[] = {
	{ "context", FT_OBJECT, FF_REQUIRED, .fields = resolve_context },
	{ "resolved", FT_ARRAY, FF_REQUIRED, .items = &resolved_row },
	{ "layers", FT_OBJECT, FF_OPTIONAL, .fields = layers },
	FIELD_END
};
static const struct field delete_query[] = {
	{ "expected_revision", FT_INT, .bounded = true, .max = INT32_MAX, .doc = "409 with the current one if the value has changed since" },
	FIELD_END
};
static const int errors_read[] = { 404, 0 };
static const int errors_write[] = { 404, 409, 0 };

const struct route api_variables_routes[] = {
	{ METHOD_GET, "/variables", rest_list, AUTH_ACCOUNT, .answer_kind = ANSWER_LIST, .answer = variable_fields, .arg = &res_variable, .tag = "variables",
	  .summary = "List variables" },
	{ METHOD_PUT, "/variables", variable_put, AUTH_ACCOUNT, .body = put_body, .answer = variable_fields, .errors = errors_write, .tag = "variables",
	  .summary = "Create (201) or replace (200) one variable" },
	{ METHOD_PUT, "/variables/batch", variable_put_batch, AUTH_ACCOUNT, .body = batch_body, .answer = batch_answer, .errors = errors_write,
	  .tag = "variables", .summary = "Create or replace many variables: all or none" },
	{ METHOD_GET, "/variables/resolve", resolve, AUTH_ACCOUNT, .query = resolve_query, .answer = resolve_answer, .errors = errors_read,
	  .tag = "variables", .summary = "What a view sees: the nearest value of each key, and the layers" },
	{ METHOD_GET, "/variables/{id}", rest_get, AUTH_ACCOUNT, .answer = variable_fields, .errors = errors_read, .arg = &res_variable, .tag = "variables",
	  .summary = "Read a variable" },
	{ METHOD_DELETE, "/variables/{id}", variable_delete, AUTH_ACCOUNT, .query = delete_query, .answer_kind = ANSWER_DELETED, .errors = errors_write, .tag = "variables",
	  .summary = "Delete a variable" },
	{ .path = NULL }
};
/* clang-format on */
