/* regex_profiles: a document whose entries are the whole file. */
#include "api/documents.h"
#include "api/tables.h"
#include "base/limits.h"
#include "card/regex_file.h"

static int
read_regex(struct arena *a, const struct document_source *src, struct document_file *out, struct import_error *err)
{
	struct regex_file f = { 0 };

	if ((src->file ? regex_file_read(a, src->file, &f, err) : regex_file_read_json(a, src->doc, src->text, src->fallback_name, &f, err)) < 0)
		return -1;
	*out = (struct document_file){ .name = f.name, .doc = json_text(a, f.scripts), .raw = f.raw, .receipt = receipt_json(a, &f.receipt) };
	out->extra = json_object(a);
	json_set_int(out->extra, "script_count", (int64_t)json_len(f.scripts));
	json_set(out->extra, "compat_report", regex_counts_json(a, &f.counts));
	return 0;
}

/* clang-format off */
static const struct sort_key sorts[] = { { "created_at", "t.created_at" }, { NULL } };
const struct document_kind document_regex = {
	.asset = ASSET_REGEX,
	.res = { .name = "regex profile", .table = "asset", .where = "t.kind = 'regex_profile'", .fields = document_list_fields, .sorts = sorts,
		 .list_plain = true, .soft_delete = true, .delete_answer = DELETE_EMPTY },
	.read = read_regex,
	.placeholder = "Regex scripts",
};

static const struct field put_body[] = {
	{ "name", FT_STRING, FF_REQUIRED, .min = 1 },
	{ "data", FT_ARRAY, FF_REQUIRED | FF_RAW },
	{ "expected_version", FT_INT, .bounded = true, .min = 1, .max = INT64_MAX },
	{ "expected_updated_at", FT_TIME },
	FIELD_END
};
static const int errors_read[] = { 404, 0 };
static const int errors_write[] = { 404, 409, 0 };

const struct route api_regex_profiles_routes[] = {
	{ METHOD_GET, "/regex-profiles", rest_list, AUTH_ACCOUNT, .answer_kind = ANSWER_ARRAY, .answer = document_list_fields, .arg = &document_regex.res,
	  .tag = "regex-profiles", .summary = "List regex profiles" },
	{ METHOD_GET, "/regex-profiles/{id}", documents_get, AUTH_ACCOUNT, .answer = document_data_fields, .errors = errors_read, .arg = &document_regex,
	  .tag = "regex-profiles", .summary = "Read a regex profile" },
	{ METHOD_PUT, "/regex-profiles/{id}", documents_put, AUTH_ACCOUNT, .body = put_body, .answer = document_list_fields, .errors = errors_write,
	  .max_body = LIM_IMPORT_BODY, .arg = &document_regex, .tag = "regex-profiles", .summary = "Replace a regex profile" },
	{ METHOD_DELETE, "/regex-profiles/{id}", documents_delete, AUTH_ACCOUNT, .query = document_guard_query, .answer_kind = ANSWER_EMPTY,
	  .errors = errors_write, .arg = &document_regex, .tag = "regex-profiles", .summary = "Delete a regex profile" },
	{ .path = NULL }
};
/* clang-format on */
