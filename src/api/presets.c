/* presets: a document with prompt entries. */
#include "api/documents.h"
#include "api/tables.h"
#include "base/limits.h"
#include "card/preset_file.h"

static int
read_preset(struct arena *a, const struct json *doc, struct str text, struct str fallback, struct document_file *out, struct import_error *err)
{
	struct preset_file f = { 0 };

	if (preset_file_read_json(a, doc, text, fallback, &f, err) < 0)
		return -1;
	*out = (struct document_file){ .name = f.name, .doc = json_text(a, f.doc), .raw = f.raw, .receipt = receipt_json(a, &f.receipt) };
	return 0;
}

static struct str
preset_as_file(struct arena *a, struct str doc)
{
	struct json_error err;

	return json_text_pretty(a, preset_export(a, json_read(a, doc, LIM_JSON_DEPTH, &err)));
}

/* clang-format off */
static const struct sort_key sorts[] = { { "created_at", "t.created_at" }, { NULL } };
const struct document_kind document_preset = {
	.asset = ASSET_PRESET,
	.res = { .name = "preset", .table = "asset", .where = "t.kind = 'preset'", .fields = document_list_fields, .sorts = sorts,
		 .list_plain = true, .soft_delete = true, .delete_answer = DELETE_EMPTY },
	.read = read_preset,
	.file = preset_as_file,
	.placeholder = "Preset",
};

static const int errors_read[] = { 404, 0 };
static const int errors_write[] = { 404, 409, 0 };

const struct route api_presets_routes[] = {
	{ METHOD_GET, "/presets", rest_list, AUTH_ACCOUNT, .answer_kind = ANSWER_ARRAY, .answer = document_list_fields, .arg = &document_preset.res,
	  .tag = "presets", .summary = "List presets" },
	{ METHOD_GET, "/presets/{id}", documents_get, AUTH_ACCOUNT, .answer = document_data_fields, .errors = errors_read, .arg = &document_preset,
	  .tag = "presets", .summary = "Read a preset" },
	{ METHOD_DELETE, "/presets/{id}", documents_delete, AUTH_ACCOUNT, .query = document_guard_query, .answer_kind = ANSWER_EMPTY,
	  .errors = errors_write, .arg = &document_preset, .tag = "presets", .summary = "Delete a preset" },
	{ .path = NULL }
};
/* clang-format on */
