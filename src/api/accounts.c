/*
 * accounts: rows for administrators. The default account stays, and at least one active
 * administrator does.
 */
#include "api/app.h"
#include "api/rest.h"
#include "api/tables.h"
#include "api/wire.h"
#include "auth/account.h"
#include "base/id.h"

/* clang-format off */
static const char *const roles[] = { "admin", "user", NULL };
static const char *const statuses[] = { "active", "disabled", NULL };

static const struct field account_fields[] = {
	{ "id", FT_STRING, FF_READONLY },
	{ "name", FT_STRING },
	{ "role", FT_ENUM, .choices = roles },
	{ "status", FT_ENUM, .choices = statuses },
	{ "is_default", FT_BOOL, FF_READONLY, .expr = "t.is_default" },
	{ "settings", FT_ANY, .doc = "of all sessions that say nothing else" },
	{ "created_at", FT_TIME, FF_READONLY },
	{ "updated_at", FT_TIME, FF_READONLY },
	FIELD_END
};
static const struct sort_key sorts[] = { { "created_at", "t.created_at" }, { NULL } };
static const struct resource res_account = {
	.name = "account", .table = "account", .fields = account_fields, .sorts = sorts, .list_plain = true, .ascending = true, .all_accounts = true,
	.not_found = "account_not_found",
};

static bool
id_is_plain(struct str v)
{
	for (size_t i = 0; i < v.n; i++)
		if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.@", v.p[i]) == NULL || v.p[i] == '\0')
			return false;
	return true;
}

static const struct field create_body[] = {
	{ "id", FT_STRING, .min = 1, .max = 120, .check = id_is_plain, .doc = "chosen by the caller; letters, digits and _ - . @" },
	{ "name", FT_STRING, FF_REQUIRED, .min = 1, .max = 120 },
	{ "role", FT_ENUM, .choices = roles, .dflt = "\"user\"" },
	{ "settings", FT_OBJECT, .fields = wire_account_settings, .dflt = "{}" },
	FIELD_END
};
static const struct field patch_body[] = {
	{ "name", FT_STRING, .min = 1, .max = 120 },
	{ "role", FT_ENUM, .choices = roles },
	{ "status", FT_ENUM, .choices = statuses },
	{ "settings", FT_OBJECT, .fields = wire_account_settings, .doc = "instead of what was set before" },
	FIELD_END
};
/* clang-format on */

struct account_work {
	struct str id;
	struct json *in;
	struct sb out;
};

static int
create_work(struct request *r, void *arg)
{
	struct account_work *w = arg;

	sb_truncate(&w->out, 0);
	return resource_create(r->ctx, &res_account, w->id, w->in, &w->out) < 0 ? -1 : 0;
}

static int
account_post(struct request *r)
{
	struct id id = id_new(r->ctx->now);
	struct account_work w = { .id = json_get_str(r->in, "id"), .in = r->in, .out = sb_new(r->ctx->a) };

	if (app_of(r)->set->account_mode == ACCOUNT_MODE_SINGLE)
		return fail(r->ctx, ERR_CONFLICT, "account_mode_restricted", "this server runs one account; set account_mode = multi to add others");
	if (!w.id.p)
		w.id = str_c(id.s);
	json_del(w.in, "id");
	json_set_c(w.in, "status", "active");
	return rest_tx(r, DB_WRITE, create_work, &w) < 0 ? -1 : reply_data(r, sb_str(&w.out));
}

/* The last active administrator cannot be demoted, disabled or deleted. */
static int
admin_kept(struct request *r, struct str id)
{
	struct rows *rs = db_query(r->ctx, STMT_account_admins, P_STR(id));

	if (rows_next(rs) <= 0)
		return -1;
	return row_int(rs, 0) > 0 ? 0 : fail(r->ctx, ERR_CONFLICT, "account_last_admin", "this is the last active administrator; make another one first");
}

static int
patch_work(struct request *r, void *arg)
{
	struct account_work *w = arg;
	struct rows *rs = db_query(r->ctx, STMT_account_role_of, P_STR(w->id));
	struct str role = json_get_str(w->in, "role"), status = json_get_str(w->in, "status");
	int rc = rows_next(rs);

	if (rc <= 0)
		return rc < 0 ? -1 : rest_not_found(r, &res_account);
	if (str_is(row_str(rs, 1), "admin") && ((role.p && !str_is(role, "admin")) || (status.p && !str_is(status, "active"))) && admin_kept(r, w->id) < 0)
		return -1;
	sb_truncate(&w->out, 0);
	rc = resource_patch(r->ctx, &res_account, w->id, w->in, NULL, &w->out);
	return rc == 0 ? rest_not_found(r, &res_account) : rc < 0 ? -1 : 0;
}

static int
account_patch(struct request *r)
{
	struct account_work w = { .id = req_param(r, "id"), .in = r->in, .out = sb_new(r->ctx->a) };

	return rest_tx(r, DB_WRITE, patch_work, &w) < 0 ? -1 : reply_data(r, sb_str(&w.out));
}

static int
delete_work(struct request *r, void *arg)
{
	struct account_work *w = arg;
	struct rows *rs = db_query(r->ctx, STMT_account_role_of, P_STR(w->id));
	int rc = rows_next(rs);

	if (rc <= 0)
		return rc < 0 ? -1 : rest_not_found(r, &res_account);
	if (row_bool(rs, 0))
		return fail(r->ctx, ERR_CONFLICT, "account_default", "the default account cannot be deleted");
	if (str_is(row_str(rs, 1), "admin") && admin_kept(r, w->id) < 0)
		return -1;
	return db_exec(r->ctx, STMT_account_delete, P_STR(w->id)) < 0 ? -1 : 0;
}

static int
account_delete(struct request *r)
{
	struct account_work w = { .id = req_param(r, "id") };

	return rest_tx(r, DB_WRITE, delete_work, &w) < 0 ? -1 : rest_deleted_reply(r, w.id);
}

/* ---- API keys: shown once, stored as a hash ---- */

struct keys_work {
	struct str account;
	int64_t expires_at;
	struct account_key made;
	struct json *list;
};

static int
keys_list_work(struct request *r, void *arg)
{
	struct keys_work *w = arg;
	struct rows *account = db_query(r->ctx, STMT_account_role_of, P_STR(w->account));
	struct rows *rs = db_query(r->ctx, STMT_api_key_list, P_STR(w->account));
	int rc = rows_next(account);

	if (rc <= 0)
		return rc < 0 ? -1 : rest_not_found(r, &res_account);
	w->list = json_array(r->ctx->a);
	while ((rc = rows_next(rs)) > 0) {
		struct json *key = json_push_object(w->list);

		json_set_str(key, "id", row_str(rs, 0));
		json_set_str(key, "name", row_str(rs, 1));
		json_set_str(key, "prefix", row_str(rs, 2));
		json_set_int(key, "created_at", row_int(rs, 3));
		for (int i = 4; i <= 5; i++)
			if (row_null(rs, i))
				json_set(key, i == 4 ? "expires_at" : "revoked_at", NULL);
			else
				json_set_int(key, i == 4 ? "expires_at" : "revoked_at", row_int(rs, i));
	}
	return rc;
}

static int
keys_list(struct request *r)
{
	struct keys_work w = { .account = req_param(r, "id") };

	return rest_tx(r, DB_WRITE, keys_list_work, &w) < 0 ? -1 : reply_list(r, json_text(r->ctx->a, w.list), NULL);
}

static int
key_create_work(struct request *r, void *arg)
{
	struct keys_work *w = arg;
	const struct settings *set = app_of(r)->set;

	return account_key_create(r->ctx, set->api_key_pepper ? set->api_key_pepper : set->secrets_master_key, w->account,
	    json_get_str(r->in, "name"), w->expires_at, &w->made);
}

static int
key_create(struct request *r)
{
	struct keys_work w = { .account = req_param(r, "id"), .expires_at = json_get_int(r->in, "expires_at", 0) };
	struct json *out = json_object(r->ctx->a);

	if (w.expires_at != 0 && w.expires_at <= r->ctx->now)
		return fail_field(r->ctx, "/expires_at", "minimum", "must be in the future");
	if (rest_tx(r, DB_WRITE, key_create_work, &w) < 0)
		return -1;
	json_set_str(out, "id", w.made.id);
	json_set_str(out, "name", json_get_str(r->in, "name"));
	json_set_str(out, "prefix", w.made.prefix);
	json_set_str(out, "key", w.made.key);
	json_set_int(out, "created_at", r->ctx->now);
	if (w.expires_at != 0)
		json_set_int(out, "expires_at", w.expires_at);
	else
		json_set(out, "expires_at", NULL);
	reply_header(r, "Cache-Control", "no-store");
	return reply_data(r, json_text(r->ctx->a, out));
}

static int
key_delete_work(struct request *r, void *arg)
{
	struct keys_work *w = arg;

	return account_key_revoke(r->ctx, w->account, req_param(r, "key_id"));
}

static int
key_delete(struct request *r)
{
	struct keys_work w = { .account = req_param(r, "id") };

	return rest_tx(r, DB_WRITE, key_delete_work, &w) < 0 ? -1 : rest_deleted_reply(r, req_param(r, "key_id"));
}

/* clang-format off */
#define KEY_FIELDS \
	{ "id", FT_STRING }, \
	{ "name", FT_STRING }, \
	{ "prefix", FT_STRING, .doc = "the part that may be shown" }, \
	{ "created_at", FT_TIME }, \
	{ "expires_at", FT_TIME, FF_NULLABLE }
static const struct field key_fields[] = {
	KEY_FIELDS,
	{ "revoked_at", FT_TIME, FF_NULLABLE },
	FIELD_END
};
static const struct field key_made[] = {
	KEY_FIELDS,
	{ "key", FT_STRING, .doc = "the only time that it is shown" },
	FIELD_END
};
static const struct field key_body[] = {
	{ "name", FT_STRING, .min = 1, .max = 120, .dflt = "\"key\"" },
	{ "expires_at", FT_TIME },
	FIELD_END
};
static const int errors_read[] = { 404, 0 };
static const int errors_write[] = { 404, 409, 0 };
static const int errors_create[] = { 409, 0 };

const struct route api_accounts_routes[] = {
	{ METHOD_GET, "/accounts", rest_list, AUTH_ADMIN, .answer_kind = ANSWER_ARRAY, .answer = account_fields, .arg = &res_account, .tag = "accounts",
	  .summary = "List accounts" },
	{ METHOD_POST, "/accounts", account_post, AUTH_ADMIN, .body = create_body, .answer = account_fields, .status = 201, .errors = errors_create,
	  .tag = "accounts", .summary = "Create an account" },
	{ METHOD_GET, "/accounts/{id}", rest_get, AUTH_ADMIN, .answer = account_fields, .errors = errors_read, .arg = &res_account, .tag = "accounts",
	  .summary = "Read an account" },
	{ METHOD_PATCH, "/accounts/{id}", account_patch, AUTH_ADMIN, .body = patch_body, .body_mode = FIELD_PATCH, .answer = account_fields,
	  .errors = errors_write, .tag = "accounts", .summary = "Change an account" },
	{ METHOD_DELETE, "/accounts/{id}", account_delete, AUTH_ADMIN, .answer_kind = ANSWER_DELETED, .errors = errors_write, .tag = "accounts",
	  .summary = "Delete an account with everything it holds" },
	{ METHOD_GET, "/accounts/{id}/api-keys", keys_list, AUTH_ADMIN, .answer_kind = ANSWER_ARRAY, .answer = key_fields, .errors = errors_read,
	  .tag = "accounts", .summary = "List the API keys of an account" },
	{ METHOD_POST, "/accounts/{id}/api-keys", key_create, AUTH_ADMIN, .body = key_body, .answer = key_made, .status = 201, .errors = errors_read,
	  .flags = ROUTE_BODY_OPTIONAL, .tag = "accounts", .summary = "Make an API key; it is shown once" },
	{ METHOD_DELETE, "/accounts/{id}/api-keys/{key_id}", key_delete, AUTH_ADMIN, .answer_kind = ANSWER_DELETED, .errors = errors_read,
	  .tag = "accounts", .summary = "Revoke an API key" },
	{ .path = NULL }
};
/* clang-format on */
