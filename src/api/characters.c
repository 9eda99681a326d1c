/*
 * characters: cards with immutable versions; deleting marks, restoring unmarks, rolling back makes
 * a new version of an old text.
 */
#include "api/assets.h"
#include "api/documents.h"
#include "api/tables.h"
#include "card/card.h"

/* clang-format off */
static const char *const statuses[] = { "active", "deleted", NULL };

static const struct field version_fields[] = {
	{ "id", FT_STRING },
	{ "character_id", FT_STRING },
	{ "version_no", FT_INT, .bounded = true, .min = 1, .max = INT64_MAX },
	{ "content_hash", FT_STRING },
	{ "snapshot", FT_ANY },
	{ "created_at", FT_TIME },
	FIELD_END
};
#define CHARACTER_FIELDS \
	{ "id", FT_STRING, FF_READONLY }, \
	{ "name", FT_STRING, FF_READONLY }, \
	{ "source", FT_STRING, FF_READONLY }, \
	{ "status", FT_ENUM, FF_READONLY, .choices = statuses }, \
	{ "revision", FT_INT, FF_READONLY, .bounded = true, .max = INT64_MAX }, \
	{ "latest_version_no", FT_INT, FF_READONLY | FF_NULLABLE, .bounded = true, .min = 1, .max = INT64_MAX, .column = "version" }, \
	{ "created_at", FT_TIME, FF_READONLY }, \
	{ "updated_at", FT_TIME, FF_READONLY }, \
	{ "deleted_at", FT_TIME, FF_READONLY | FF_NULLABLE }
static const struct field list_fields[] = {
	CHARACTER_FIELDS,
	FIELD_END
};
static const struct field get_fields[] = {
	CHARACTER_FIELDS,
	{ "latest_version", FT_OBJECT, FF_NULLABLE, .fields = version_fields },
	FIELD_END
};
static const struct field by_status = { "status", FT_ENUM, .choices = statuses, .dflt = "\"active\"" };
static const struct field by_keyword = { "keyword", FT_STRING, .min = 1, .max = 200, .doc = "part of the name" };
static const struct filter filters[] = {
	{ &by_status, FILTER_EQ, "t.status" },
	{ &by_keyword, FILTER_CONTAINS, "t.name_key" },
	{ NULL }
};
static const struct sort_key sorts[] = { { "created_at", "t.created_at" }, { "updated_at", "t.updated_at" }, { "name", "t.name" }, { NULL } };
static const struct resource res_character = {
	.name = "character", .table = "asset", .where = "t.kind = 'character'", .fields = list_fields, .filters = filters, .sorts = sorts,
};
static const struct asset_route characters = { .asset = ASSET_CHARACTER, .res = &res_character };
/* clang-format on */

static void
version_print(struct sb *out, struct str character, struct str id, int64_t no, struct str hash, struct str doc, int64_t created_at)
{
	sb_adds(out, "{\"id\":");
	sb_add_json(out, id);
	sb_adds(out, ",\"character_id\":");
	sb_add_json(out, character);
	sb_addf(out, ",\"version_no\":%lld,\"content_hash\":", (long long)no);
	sb_add_json(out, hash);
	sb_adds(out, ",\"snapshot\":");
	sb_add(out, doc);
	sb_addf(out, ",\"created_at\":%lld", (long long)created_at);
}

static void
asset_version_print(struct sb *out, const struct asset *a, struct str doc)
{
	version_print(out, str_c(a->id), str_c(a->version_id), a->version_no, str_c(a->content_hash), doc, a->version_created_at);
}

struct get_work {
	struct sb out;
	struct asset asset;
	struct str doc;
};

static int
get_work(struct request *r, void *arg)
{
	struct get_work *w = arg;
	int rc = asset_load(r->ctx, ASSET_CHARACTER, req_param(r, "id"), true, &w->asset, &w->doc);

	return rc <= 0 ? (rc < 0 ? -1 : rest_not_found(r, &res_character)) : 0;
}

static int
character_get(struct request *r)
{
	struct get_work w = { .out = sb_new(r->ctx->a) };
	const struct asset *a = &w.asset;

	if (rest_tx(r, DB_READ, get_work, &w) < 0)
		return -1;
	sb_adds(&w.out, "{\"id\":");
	sb_add_json(&w.out, str_c(a->id));
	sb_adds(&w.out, ",\"name\":");
	sb_add_json(&w.out, str_c(a->name));
	sb_adds(&w.out, ",\"source\":");
	sb_add_json(&w.out, str_c(a->source));
	sb_addf(&w.out, ",\"status\":\"%s\",\"revision\":%lld,\"latest_version_no\":%lld,\"created_at\":%lld,\"updated_at\":%lld,\"deleted_at\":", a->status,
	    (long long)a->revision, (long long)a->version, (long long)a->created_at, (long long)a->updated_at);
	if (a->deleted_at)
		sb_add_int(&w.out, a->deleted_at);
	else
		sb_adds(&w.out, "null");
	sb_adds(&w.out, ",\"latest_version\":");
	asset_version_print(&w.out, a, w.doc);
	sb_adds(&w.out, "}}");
	return reply_data(r, sb_str(&w.out));
}

/* ---- status ---- */

struct status_work {
	struct str status;
	int64_t revision;
};

static int
status_work(struct request *r, void *arg)
{
	struct status_work *w = arg;
	int rc = asset_status(r, &characters, req_param(r, "id"), w->status, json_get_int(r->in, "expected_revision", -1), &w->revision);

	return rc == 0 ? rest_not_found(r, &res_character) : rc < 0 ? -1 : 0;
}

static int
status_change(struct request *r, const char *status)
{
	struct status_work w = { .status = str_c(status) };
	bool deleted = strcmp(status, "deleted") == 0;
	struct sb out = sb_new(r->ctx->a);

	if (rest_tx(r, DB_WRITE, status_work, &w) < 0)
		return -1;
	sb_adds(&out, "{\"id\":");
	sb_add_json(&out, req_param(r, "id"));
	sb_addf(&out, ",\"status\":\"%s\",\"revision\":%lld,\"updated_at\":%lld,\"deleted_at\":", status, (long long)w.revision, (long long)r->ctx->now);
	if (deleted)
		sb_add_int(&out, r->ctx->now);
	else
		sb_adds(&out, "null");
	sb_addc(&out, '}');
	return reply_data(r, sb_str(&out));
}

static int
character_delete(struct request *r)
{
	return status_change(r, "deleted");
}

static int
character_restore(struct request *r)
{
	return status_change(r, "active");
}

/* ---- versions ---- */

struct versions_work {
	struct list_query q;
	int64_t total;
	struct sb out;
};

static int
versions_work(struct request *r, void *arg)
{
	struct versions_work *w = arg;
	struct asset a;
	int rc = asset_load(r->ctx, ASSET_CHARACTER, req_param(r, "id"), true, &a, NULL);
	struct rows *rs;

	if (rc <= 0)
		return rc < 0 ? -1 : rest_not_found(r, &res_character);
	w->total = a.version;
	sb_truncate(&w->out, 0);
	rs = db_query(r->ctx, STMT_asset_versions, P_C("character"), P_STR(req_param(r, "id")), P_INT(w->q.limit), P_INT(w->q.offset),
	    P_BOOL(w->q.ascending));
	while ((rc = rows_next(rs)) > 0) {
		sb_addc(&w->out, w->out.n ? ',' : '[');
		version_print(&w->out, str_c(a.id), row_str(rs, 0), row_int(rs, 1), row_str(rs, 2), row_str(rs, 4), row_int(rs, 3));
		sb_addc(&w->out, '}');
		w->total = row_int(rs, 5);
	}
	sb_adds(&w->out, w->out.n ? "]" : "[]");
	return rc;
}

static int
versions_list(struct request *r)
{
	static const struct sort_key by_no = { "version_no", NULL }, by_time = { "created_at", NULL }; /* the same order */
	struct versions_work w = { .out = sb_new(r->ctx->a) };

	w.q = (struct list_query){ .limit = req_query_int(r, "limit", LIM_PAGE_DEFAULT), .offset = req_query_int(r, "offset", 0),
		.sort = str_is(req_query(r, "sort_by"), "created_at") ? &by_time : &by_no, .ascending = str_is(req_query(r, "sort_order"), "asc") };
	if (rest_tx(r, DB_READ, versions_work, &w) < 0)
		return -1;
	return reply_list(r, sb_str(&w.out), rest_list_meta(r->ctx->a, &w.q, w.total));
}

struct version_write {
	struct asset_content content;
	struct str name;
	struct asset asset;
	struct str doc;
	const char *from; /* version that was rolled back to */
};

static int
version_save(struct request *r, struct version_write *w)
{
	struct asset_guard guard = { -1, json_get_int(r->in, "expected_revision", -1), -1 };
	int rc = asset_save(r->ctx, ASSET_CHARACTER, req_param(r, "id"), guard, w->name, &w->content, &w->asset);

	return rc == 0 ? rest_not_found(r, &res_character) : rc < 0 ? -1 : 0;
}

static int
version_create_work(struct request *r, void *arg)
{
	return version_save(r, arg);
}

static int
version_answer(struct request *r, const struct version_write *w)
{
	struct sb out = sb_new(r->ctx->a);

	asset_version_print(&out, &w->asset, w->content.doc);
	sb_addf(&out, ",\"revision\":%lld", (long long)w->asset.revision);
	if (w->from) {
		sb_adds(&out, ",\"rolled_back_from_version_id\":");
		sb_add_json(&out, str_c(w->from));
	}
	sb_addc(&out, '}');
	return reply_data(r, sb_str(&out));
}

/* A snapshot from a client is a card or the card's `data`: read and normalised as an import is. */
static int
version_create(struct request *r)
{
	struct version_write w = { 0 };
	struct card card = { 0 };
	struct import_error err = { .offset = -1 };

	if (card_read_json(r->ctx->a, json_get(r->in, "snapshot"), json_raw(r->body, "snapshot"), STR_NULL, &card, &err) < 0)
		return import_refuse(r->ctx, "character snapshot", &err);
	w.content.doc = json_text(r->ctx->a, card.doc);
	w.content.raw = card.raw;
	w.name = card.name;
	return rest_tx(r, DB_WRITE, version_create_work, &w) < 0 ? -1 : version_answer(r, &w);
}

static int
rollback_work(struct request *r, void *arg)
{
	struct version_write *w = arg;
	struct asset old;
	struct json_error err;
	const struct json *doc;
	int rc = asset_version_load(r->ctx, ASSET_CHARACTER, req_param(r, "versionId"), &old, &w->content.doc);

	if (rc < 0)
		return -1;
	if (rc == 0 || !str_is(req_param(r, "id"), old.id))
		return fail(r->ctx, ERR_NOT_FOUND, "not_found", "character version not found");
	doc = json_read(r->ctx->a, w->content.doc, LIM_JSON_DEPTH, &err);
	w->name = json_get_str(json_get(doc, "data"), "name");
	w->from = old.version_id;
	return version_save(r, w);
}

static int
version_rollback(struct request *r)
{
	struct version_write w = { 0 };

	return rest_tx(r, DB_WRITE, rollback_work, &w) < 0 ? -1 : version_answer(r, &w);
}

/* ---- the picture ---- */

struct picture {
	struct str raw, bytes;
	const char *mime;
};

static int
picture_work(struct request *r, void *arg)
{
	struct picture *p = arg;
	struct asset a;
	int rc = asset_load(r->ctx, ASSET_CHARACTER, req_param(r, "id"), false, &a, NULL);

	if (rc > 0)
		rc = asset_raw(r->ctx, a.version_row, &p->raw, &p->bytes, &p->mime);
	if (rc < 0)
		return -1;
	return rc == 0 || !p->bytes.p ? fail(r->ctx, ERR_NOT_FOUND, "not_found", "character has no picture") : 0;
}

/* Only what a browser may be given; the type is read from the bytes, not from what was declared. */
static int
character_avatar(struct request *r)
{
	struct picture p = { 0 };
	const char *type;

	if (rest_tx(r, DB_READ, picture_work, &p) < 0)
		return -1;
	p.bytes = asset_picture(r->ctx->a, p.bytes, p.mime);
	if (!p.bytes.p)
		return fail(r->ctx, ERR_NOT_FOUND, "not_found", "character has no picture");
	type = card_picture_type(p.bytes);
	reply_header(r, "x-content-type-options", "nosniff");
	reply_header(r, "content-security-policy", "default-src 'none'; sandbox");
	return reply_bare(r, 200, type ? type : "application/octet-stream", p.bytes);
}

/* clang-format off */
static const char *const orders[] = { "asc", "desc", NULL };
static const char *const version_sorts[] = { "version_no", "created_at", NULL };
static const struct field versions_query[] = {
	{ "limit", FT_INT, .bounded = true, .min = 1, .max = 100 },
	{ "offset", FT_INT, .bounded = true, .max = INT64_MAX },
	{ "sort_order", FT_ENUM, .choices = orders },
	{ "sort_by", FT_ENUM, .choices = version_sorts },
	FIELD_END
};
static const struct field guard_body[] = {
	{ "expected_revision", FT_INT, .bounded = true, .max = INT64_MAX },
	FIELD_END
};
static const struct field version_body[] = {
	{ "snapshot", FT_OBJECT, FF_REQUIRED | FF_RAW, .doc = "a card, or the `data` of one" },
	{ "expected_revision", FT_INT, .bounded = true, .max = INT64_MAX },
	FIELD_END
};
static const struct field version_answer_fields[] = {
	{ "id", FT_STRING },
	{ "character_id", FT_STRING },
	{ "version_no", FT_INT, .bounded = true, .min = 1, .max = INT64_MAX },
	{ "content_hash", FT_STRING },
	{ "snapshot", FT_ANY },
	{ "created_at", FT_TIME },
	{ "revision", FT_INT, .bounded = true, .max = INT64_MAX },
	FIELD_END
};
static const struct field rollback_answer_fields[] = {
	{ "id", FT_STRING },
	{ "character_id", FT_STRING },
	{ "version_no", FT_INT, .bounded = true, .min = 1, .max = INT64_MAX },
	{ "content_hash", FT_STRING },
	{ "snapshot", FT_ANY },
	{ "created_at", FT_TIME },
	{ "revision", FT_INT, .bounded = true, .max = INT64_MAX },
	{ "rolled_back_from_version_id", FT_STRING },
	FIELD_END
};
static const char *const deleted[] = { "deleted", NULL };
static const char *const active[] = { "active", NULL };
static const struct field delete_answer_fields[] = {
	{ "id", FT_STRING },
	{ "status", FT_ENUM, .choices = deleted },
	{ "revision", FT_INT, .bounded = true, .max = INT64_MAX },
	{ "updated_at", FT_TIME },
	{ "deleted_at", FT_TIME },
	FIELD_END
};
static const struct field restore_answer_fields[] = {
	{ "id", FT_STRING },
	{ "status", FT_ENUM, .choices = active },
	{ "revision", FT_INT, .bounded = true, .max = INT64_MAX },
	{ "updated_at", FT_TIME },
	{ "deleted_at", FT_TIME, FF_NULLABLE },
	FIELD_END
};
static const int errors_read[] = { 404, 0 };
static const int errors_write[] = { 404, 409, 0 };

const struct route api_characters_routes[] = {
	{ METHOD_GET, "/characters", rest_list, AUTH_ACCOUNT, .answer_kind = ANSWER_LIST, .answer = list_fields, .arg = &res_character, .tag = "characters",
	  .summary = "List characters" },
	{ METHOD_GET, "/characters/{id}", character_get, AUTH_ACCOUNT, .answer = get_fields, .errors = errors_read, .tag = "characters",
	  .summary = "Read a character with its newest version" },
	{ METHOD_DELETE, "/characters/{id}", character_delete, AUTH_ACCOUNT, .body = guard_body, .answer = delete_answer_fields,
	  .flags = ROUTE_BODY_OPTIONAL, .errors = errors_write, .tag = "characters", .summary = "Delete a character; it can be restored" },
	{ METHOD_POST, "/characters/{id}/restore", character_restore, AUTH_ACCOUNT, .body = guard_body, .answer = restore_answer_fields,
	  .flags = ROUTE_BODY_OPTIONAL, .errors = errors_write, .tag = "characters", .summary = "Undo a delete" },
	{ METHOD_GET, "/characters/{id}/versions", versions_list, AUTH_ACCOUNT, .query = versions_query, .answer_kind = ANSWER_LIST, .answer = version_fields,
	  .errors = errors_read, .tag = "characters", .summary = "Versions of a character" },
	{ METHOD_POST, "/characters/{id}/versions", version_create, AUTH_ACCOUNT, .body = version_body, .answer = version_answer_fields, .status = 201,
	  .errors = errors_write, .max_body = LIM_IMPORT_BODY, .tag = "characters", .summary = "Add a version" },
	{ METHOD_POST, "/characters/{id}/versions/{versionId}/rollback", version_rollback, AUTH_ACCOUNT, .body = guard_body,
	  .answer = rollback_answer_fields, .status = 201, .flags = ROUTE_BODY_OPTIONAL, .errors = errors_write, .tag = "characters",
	  .summary = "Return to an earlier version, as a new one" },
	{ METHOD_GET, "/characters/{id}/avatar", character_avatar, AUTH_ACCOUNT, .answer_kind = ANSWER_FILE, .errors = errors_read, .tag = "characters",
	  .summary = "The picture of the card" },
	{ .path = NULL }
};
/* clang-format on */
