/*
 * users: user cards (personas). A card's snapshot is a versioned document; its name, unique among
 * the living, is a column.
 */
#include "api/assets.h"
#include "api/tables.h"

/* clang-format off */
static const char *const statuses[] = { "active", "disabled", "deleted", NULL };
static const char *const settable[] = { "active", "disabled", NULL };

static const struct field user_fields[] = {
	{ "id", FT_STRING, FF_READONLY },
	{ "name", FT_STRING, FF_READONLY },
	{ "status", FT_ENUM, .choices = statuses },
	{ "snapshot", FT_OBJECT, .expr = ASSET_DOC },
	{ "revision", FT_INT, FF_READONLY, .bounded = true, .max = INT64_MAX },
	{ "created_at", FT_TIME, FF_READONLY },
	{ "updated_at", FT_TIME, FF_READONLY },
	FIELD_END
};
static const struct field by_status = { "status", FT_ENUM, .choices = statuses };
static const struct field by_keyword = { "keyword", FT_STRING, .min = 1, .max = 200, .doc = "part of the name" };
static const struct field with_deleted = { "include_deleted", FT_BOOL, .dflt = "false" };
static const struct filter user_filters[] = {
	{ &by_status, FILTER_EQ, "t.status" },
	{ &by_keyword, FILTER_CONTAINS, "t.name_key" },
	{ &with_deleted, FILTER_FLAG, "t.deleted_at IS NULL" },
	{ NULL }
};
static const struct sort_key sorts[] = { { "created_at", "t.created_at" }, { "updated_at", "t.updated_at" }, { "name", "t.name" }, { NULL } };
static const struct resource res_user = {
	.name = "user", .table = "asset", .where = "t.kind = 'user'", .fields = user_fields, .filters = user_filters, .sorts = sorts, .soft_delete = true,
};
static const struct asset_route users = { .asset = ASSET_USER, .res = &res_user };

static const struct field create_body[] = {
	{ "snapshot", FT_OBJECT, FF_REQUIRED | FF_RAW, .doc = "the card: name (required), description, any further members" },
	FIELD_END
};
static const struct field patch_body[] = {
	{ "snapshot", FT_OBJECT, FF_RAW },
	{ "status", FT_ENUM, .choices = settable },
	{ "expected_revision", FT_INT, .bounded = true, .max = INT64_MAX },
	FIELD_END
};
static const struct field guard_body[] = {
	{ "expected_revision", FT_INT, .bounded = true, .max = INT64_MAX },
	FIELD_END
};
static const struct field deleted_answer[] = {
	{ "id", FT_STRING },
	{ "deleted", FT_BOOL },
	{ "revision", FT_INT, .bounded = true, .max = INT64_MAX },
	FIELD_END
};
/* clang-format on */

/* The card's name and text; a card without a name is refused. */
static int
card_take(struct request *r, struct asset_write *w)
{
	w->name = str_trim(json_get_str(json_get(r->in, "snapshot"), "name"));
	if (w->name.n == 0)
		return fail_field(r->ctx, "/snapshot/name", "required", "a user card needs a name");
	if (utf8_units(w->name) > LIM_NAME)
		return fail_field(r->ctx, "/snapshot/name", "maxLength", "must NOT have more than %d characters", LIM_NAME);
	w->content.doc = json_raw(r->body, "snapshot");
	return 0;
}

static int
create_work(struct request *r, void *arg)
{
	struct asset_write *w = arg;

	if (asset_create(r->ctx, ASSET_USER, w->name, "api", &w->content, &w->asset) < 0)
		return -1;
	return asset_answer(r, &users, str_c(w->asset.id), &w->out);
}

static int
user_create(struct request *r)
{
	struct asset_write w = { .out = sb_new(r->ctx->a) };

	return card_take(r, &w) < 0 || rest_tx(r, DB_WRITE, create_work, &w) < 0 ? -1 : reply_data(r, sb_str(&w.out));
}

static int
patch_work(struct request *r, void *arg)
{
	struct asset_write *w = arg;
	struct str id = req_param(r, "id"), status = json_get_str(r->in, "status");
	struct asset_guard guard = { -1, json_get_int(r->in, "expected_revision", -1), -1 };
	int rc = asset_hold(r->ctx, ASSET_USER, id, guard);

	if (rc > 0 && w->content.doc.p)
		rc = asset_save(r->ctx, ASSET_USER, id, ASSET_NO_GUARD, w->name, &w->content, &w->asset);
	if (rc > 0 && status.p)
		rc = asset_status(r, &users, id, status, -1, NULL);
	if (rc <= 0)
		return rc < 0 ? -1 : rest_not_found(r, &res_user);
	return asset_answer(r, &users, id, &w->out);
}

static int
user_patch(struct request *r)
{
	struct asset_write w = { .out = sb_new(r->ctx->a) };

	if (json_get(r->in, "snapshot") && card_take(r, &w) < 0)
		return -1;
	return rest_tx(r, DB_WRITE, patch_work, &w) < 0 ? -1 : reply_data(r, sb_str(&w.out));
}

static int
delete_work(struct request *r, void *arg)
{
	struct asset_write *w = arg;
	int rc = asset_status(r, &users, req_param(r, "id"), STR("deleted"), json_get_int(r->in, "expected_revision", -1), &w->asset.revision);

	return rc == 0 ? rest_not_found(r, &res_user) : rc < 0 ? -1 : 0;
}

static int
user_delete(struct request *r)
{
	struct asset_write w = { .out = sb_new(r->ctx->a) };

	if (rest_tx(r, DB_WRITE, delete_work, &w) < 0)
		return -1;
	sb_adds(&w.out, "{\"id\":");
	sb_add_json(&w.out, req_param(r, "id"));
	sb_addf(&w.out, ",\"deleted\":true,\"revision\":%lld}", (long long)w.asset.revision);
	return reply_data(r, sb_str(&w.out));
}

/* clang-format off */
static const struct field one_id = { "id", FT_STRING, .min = 1, .max = 128 };
static const struct field batch_ids[] = {
	{ "ids", FT_ARRAY, FF_REQUIRED, .min = 1, .max = 100, .items = &one_id },
	FIELD_END
};
static const struct field batch_status_body[] = {
	{ "ids", FT_ARRAY, FF_REQUIRED, .min = 1, .max = 100, .items = &one_id },
	{ "status", FT_ENUM, FF_REQUIRED, .choices = settable },
	FIELD_END
};
static const int errors_read[] = { 404, 0 };
static const int errors_write[] = { 404, 409, 0 };
static const int errors_create[] = { 409, 0 };

const struct route api_users_routes[] = {
	{ METHOD_GET, "/users", rest_list, AUTH_ACCOUNT, .answer_kind = ANSWER_LIST, .answer = user_fields, .arg = &res_user, .tag = "users",
	  .summary = "List user cards" },
	{ METHOD_POST, "/users", user_create, AUTH_ACCOUNT, .body = create_body, .answer = user_fields, .status = 201, .errors = errors_create, .tag = "users",
	  .summary = "Create a user card" },
	{ METHOD_GET, "/users/{id}", rest_get, AUTH_ACCOUNT, .answer = user_fields, .errors = errors_read, .arg = &res_user, .tag = "users",
	  .summary = "Read a user card" },
	{ METHOD_PATCH, "/users/{id}", user_patch, AUTH_ACCOUNT, .body = patch_body, .body_mode = FIELD_PATCH, .answer = user_fields, .errors = errors_write,
	  .tag = "users", .summary = "Change a user card" },
	{ METHOD_DELETE, "/users/{id}", user_delete, AUTH_ACCOUNT, .body = guard_body, .answer = deleted_answer, .flags = ROUTE_BODY_OPTIONAL,
	  .errors = errors_write, .tag = "users", .summary = "Delete a user card" },
	{ METHOD_POST, "/users/batch/delete", asset_batch_delete, AUTH_ACCOUNT, .body = batch_ids, .answer = rest_batch_answer, .arg = &users, .tag = "users",
	  .summary = "Delete many user cards" },
	{ METHOD_PATCH, "/users/batch/status", asset_batch_status, AUTH_ACCOUNT, .body = batch_status_body, .answer = rest_batch_status_answer, .arg = &users,
	  .tag = "users", .summary = "Set the status of many user cards" },
	{ .path = NULL }
};
/* clang-format on */
