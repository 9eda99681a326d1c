/* worldbooks: a document with lore entries. */
#include "api/documents.h"
#include "api/tables.h"
#include "base/limits.h"
#include "card/lore_file.h"

static int
read_book(struct arena *a, const struct document_source *src, struct document_file *out, struct import_error *err)
{
	struct lore_file f = { 0 };

	if ((src->file ? lore_file_read(a, src->file, &f, err) : lore_file_read_json(a, src->doc, src->text, src->fallback_name, &f, err)) < 0)
		return -1;
	*out = (struct document_file){ .name = f.name, .doc = json_text(a, f.doc), .raw = f.raw, .receipt = receipt_json(a, &f.receipt) };
	return 0;
}

static struct str
book_file(struct arena *a, struct str doc)
{
	struct json_error err;

	return json_text_pretty(a, lore_export_st(a, json_read(a, doc, LIM_JSON_DEPTH, &err)));
}

/* clang-format off */
static const struct sort_key sorts[] = { { "created_at", "t.created_at" }, { NULL } };
const struct document_kind document_worldbook = {
	.asset = ASSET_WORLDBOOK,
	.res = { .name = "worldbook", .table = "asset", .where = "t.kind = 'worldbook'", .fields = document_list_fields, .sorts = sorts,
		 .list_plain = true, .soft_delete = true, .delete_answer = DELETE_EMPTY },
	.read = read_book,
	.file = book_file,
	.placeholder = "Worldbook",
};

static const struct field put_body[] = {
	{ "name", FT_STRING, FF_REQUIRED, .min = 1 },
	{ "data", FT_OBJECT, FF_REQUIRED | FF_RAW },
	{ "expected_version", FT_INT, .bounded = true, .min = 1, .max = INT64_MAX },
	{ "expected_updated_at", FT_TIME },
	FIELD_END
};
static const int errors_read[] = { 404, 0 };
static const int errors_write[] = { 404, 409, 0 };

const struct route api_worldbooks_routes[] = {
	{ METHOD_GET, "/worldbooks", rest_list, AUTH_ACCOUNT, .answer_kind = ANSWER_ARRAY, .answer = document_list_fields, .arg = &document_worldbook.res,
	  .tag = "worldbooks", .summary = "List worldbooks" },
	{ METHOD_GET, "/worldbooks/{id}", documents_get, AUTH_ACCOUNT, .answer = document_data_fields, .errors = errors_read, .arg = &document_worldbook,
	  .tag = "worldbooks", .summary = "Read a worldbook" },
	{ METHOD_PUT, "/worldbooks/{id}", documents_put, AUTH_ACCOUNT, .body = put_body, .answer = document_list_fields, .errors = errors_write,
	  .max_body = LIM_IMPORT_BODY, .arg = &document_worldbook, .tag = "worldbooks", .summary = "Replace a worldbook" },
	{ METHOD_DELETE, "/worldbooks/{id}", documents_delete, AUTH_ACCOUNT, .query = document_guard_query, .answer_kind = ANSWER_EMPTY,
	  .errors = errors_write, .arg = &document_worldbook, .tag = "worldbooks", .summary = "Delete a worldbook" },
	{ .path = NULL }
};
/* clang-format on */
