/*
 * worldbook_entries: the entries of a worldbook. An entry's id is its uid as text. Times are those
 * of the book: entries have none of their own in the files that people exchange.
 */
#include "api/entries.h"
#include "api/tables.h"
#include "base/limits.h"
#include "base/utf8.h"

#include <stdlib.h>

static const struct entry_field map[] = {
	/* clang-format off */
	{ "keys",                  "key",                 "[]" },
	{ "keys_secondary",        "keysecondary",        "[]" },
	{ "comment",               "comment",             "\"\"" },
	{ "content",               "content",             "\"\"" },
	{ "constant",              "constant",            "false" },
	{ "selective",             "selective",           "true" },
	{ "selective_logic",       "selectiveLogic",      "0" },
	{ "position",              "position",            "0" },
	{ "order",                 "order",               "100" },
	{ "depth",                 "depth",               "4" },
	{ "role",                  "role",                "0" },
	{ "disable",               "disable",             "false" },
	{ "scan_depth",            "scanDepth",           "null" },
	{ "case_sensitive",        "caseSensitive",       "null" },
	{ "match_whole_words",     "matchWholeWords",     "null" },
	{ "exclude_recursion",     "excludeRecursion",    "false" },
	{ "prevent_recursion",     "preventRecursion",    "false" },
	{ "delay_until_recursion", "delayUntilRecursion", "0", .level = true },
	{ "outlet_name",           "outletName",          "\"\"" },
	{ NULL }
	/* clang-format on */
};

static void
lore_show(struct arena *a, const struct asset *asset, const struct json *doc, const struct json *entry, struct json *out)
{
	int64_t uid = 0;

	(void)a;
	(void)doc;
	(void)entry;
	if (str_int(json_get_str(out, "id"), &uid))
		json_set_int(out, "uid", uid);
	json_set_c(out, "worldbook_id", asset->id);
	json_set_int(out, "created_at", asset->created_at);
	json_set_int(out, "updated_at", asset->updated_at);
}

/* The next free uid. */
static int
lore_key(struct request *r, const struct json *doc, struct str *key_out)
{
	struct json_iter it = { 0 };
	struct json *v;
	struct str key;
	int64_t uid, next = 0;

	while (json_next(json_get(doc, "entries"), &it, &key, &v))
		if (str_int(key, &uid) && uid >= next && uid < INT64_MAX)
			next = uid + 1;
	*key_out = str_c(arena_printf(r->ctx->a, "%lld", (long long)next));
	return 0;
}

static int
lore_joined(struct request *r, struct json *doc, struct str key, struct json *entry)
{
	int64_t uid = 0;

	(void)r;
	(void)doc;
	if (str_int(key, &uid))
		json_set_int(entry, "uid", uid);
	return 0;
}

static const struct entry_kind entries = {
	.document = &document_worldbook,
	.label = "worldbook entry",
	.document_param = "worldbook_id",
	.key_param = "id",
	.list = "ids",
	.container = "entries",
	.map = map,
	.show = lore_show,
	.key_new = lore_key,
	.joined = lore_joined,
};

/* ---- the list ---- */

struct row {
	struct str id;
	int64_t uid;
	double order;
	const struct json *entry;
};

struct rows_view {
	VEC(struct row) rows;
};

static bool
has_text(struct arena *a, struct str text, struct str folded)
{
	return str_find(utf8_fold(a, text), folded, 0) != STR_NPOS;
}

/* q is looked for in titles, texts and keys, in any case. */
static bool
mentions(struct arena *a, const struct json *entry, struct str folded)
{
	static const char *const lists[] = { "key", "keysecondary" };

	if (has_text(a, json_get_str(entry, "comment"), folded) || has_text(a, json_get_str(entry, "content"), folded))
		return true;
	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < json_len(json_get(entry, lists[k])); i++)
			if (has_text(a, json_str(json_at(json_get(entry, lists[k]), i)), folded))
				return true;
	return false;
}

static bool
is_wanted(struct arena *a, const struct json *query, const struct json *entry, struct str folded)
{
	static const char *const flags[] = { "disable", "constant" };

	for (size_t i = 0; i < 2; i++)
		if (json_has(query, flags[i]) && json_get_bool(query, flags[i], false) != json_get_bool(entry, flags[i], false))
			return false;
	if (json_has(query, "position") && json_get_int(query, "position", 0) != json_get_int(entry, "position", 0))
		return false;
	return !folded.p || mentions(a, entry, folded);
}

static void
rows_take(struct request *r, const struct json *doc, struct rows_view *v)
{
	struct str q = req_query(r, "q"), folded = q.p ? utf8_fold(r->ctx->a, q) : STR_NULL;
	struct json_iter it = { 0 };
	struct json *entry;
	struct str key;

	while (json_next(json_get(doc, "entries"), &it, &key, &entry)) {
		struct row row = { .id = key, .order = json_get_double(entry, "order", 100), .entry = entry };

		if (is_wanted(r->ctx->a, r->query, entry, folded) && str_int(key, &row.uid))
			vec_push(r->ctx->a, &v->rows, row);
	}
}

static int
by_uid(const void *x, const void *y)
{
	const struct row *a = x, *b = y;

	return (a->uid > b->uid) - (a->uid < b->uid);
}

static int
by_order(const void *x, const void *y)
{
	const struct row *a = x, *b = y;

	return a->order != b->order ? (a->order > b->order) - (a->order < b->order) : by_uid(x, y);
}

/* All entries have the book's time: uid decides. */
static const struct order {
	struct sort_key key;
	int (*compare)(const void *, const void *);
} orders[] = {
	{ { "order", NULL }, by_order },
	{ { "updated_at", NULL }, by_uid },
	{ { "uid", NULL }, by_uid },
};

static const struct order *
order_of(struct str name)
{
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
		if (str_is(name, orders[i].key.name))
			return &orders[i];
	return &orders[0];
}

static int
lore_list(struct request *r)
{
	const struct order *order = order_of(req_query(r, "sort_by"));
	struct list_query q = { .limit = req_query_int(r, "limit", LIM_PAGE_DEFAULT), .offset = req_query_int(r, "offset", 0), .sort = &order->key,
		.ascending = !str_is(req_query(r, "sort_order"), "desc") };
	struct rows_view v = { 0 };
	struct json *out = json_array(r->ctx->a);
	struct asset asset;
	struct json_error err;
	struct json *doc;
	struct str text;

	if (document_load(r, &document_worldbook, req_param(r, "worldbook_id"), &asset, &text) < 0)
		return -1;
	doc = json_read(r->ctx->a, text, LIM_JSON_DEPTH, &err);
	rows_take(r, doc, &v);
	if (v.rows.n > 0)
		qsort(v.rows.v, v.rows.n, sizeof(struct row), order->compare);
	for (int64_t i = q.offset; i < (int64_t)v.rows.n && i - q.offset < q.limit; i++) {
		const struct row *row = &v.rows.v[q.ascending ? (size_t)i : v.rows.n - 1 - (size_t)i];

		json_push(out, entry_show(r->ctx->a, &entries, &asset, doc, row->id, row->entry));
	}
	return reply_list(r, json_text(r->ctx->a, out), rest_list_meta(r->ctx->a, &q, (int64_t)v.rows.n));
}

/* ---- routes ---- */

/* clang-format off */
static const char *const orders_asc[] = { "asc", "desc", NULL };
static const char *const order_names[] = { "order", "updated_at", "uid", NULL };
static const struct field list_query[] = {
	{ "limit", FT_INT, .bounded = true, .min = 1, .max = LIM_PAGE_LIMIT },
	{ "offset", FT_INT, .bounded = true, .max = INT32_MAX },
	{ "sort_by", FT_ENUM, .choices = order_names },
	{ "sort_order", FT_ENUM, .choices = orders_asc },
	{ "disable", FT_BOOL },
	{ "constant", FT_BOOL },
	{ "position", FT_INT },
	{ "q", FT_STRING, .min = 1 },
	FIELD_END
};
static const struct field text_item = { "text", FT_STRING };
/* req: of keys and content, in the body of a new entry; f: of all fields. */
#define ENTRY_FIELDS(req, f) \
	{ "keys", FT_ARRAY, req, .items = &text_item }, \
	{ "content", FT_STRING, req }, \
	{ "keys_secondary", FT_ARRAY, f, .items = &text_item }, \
	{ "comment", FT_STRING, f }, \
	{ "constant", FT_BOOL, f }, \
	{ "selective", FT_BOOL, f }, \
	{ "selective_logic", FT_INT, f, .bounded = true, .max = 3 }, \
	{ "position", FT_INT, f, .bounded = true, .max = 7 }, \
	{ "order", FT_INT, f }, \
	{ "depth", FT_INT, f, .bounded = true, .max = INT64_MAX }, \
	{ "role", FT_INT, f, .bounded = true, .max = 2 }, \
	{ "disable", FT_BOOL, f }, \
	{ "scan_depth", FT_INT, f | FF_NULLABLE, .bounded = true, .max = INT64_MAX }, \
	{ "case_sensitive", FT_BOOL, f | FF_NULLABLE }, \
	{ "match_whole_words", FT_BOOL, f | FF_NULLABLE }, \
	{ "exclude_recursion", FT_BOOL, f }, \
	{ "prevent_recursion", FT_BOOL, f }, \
	{ "delay_until_recursion", FT_INT, f | FF_NULLABLE, .bounded = true, .min = 1, .max = INT64_MAX }, \
	{ "outlet_name", FT_STRING, f }
#define GUARD { "expected_version", FT_INT, .bounded = true, .min = 1, .max = INT64_MAX }
#define ENTRY_LIMIT 100 /* entries of a batch */

static const struct field entry_answer[] = {
	{ "id", FT_STRING, FF_REQUIRED },
	{ "worldbook_id", FT_STRING, FF_REQUIRED },
	{ "uid", FT_INT, FF_REQUIRED, .bounded = true, .max = INT64_MAX },
	ENTRY_FIELDS(FF_REQUIRED, FF_REQUIRED),
	{ "created_at", FT_TIME, FF_REQUIRED },
	{ "updated_at", FT_TIME, FF_REQUIRED },
	FIELD_END
};
static const struct field create_body[] = {
	ENTRY_FIELDS(FF_REQUIRED, 0),
	GUARD,
	FIELD_END
};
static const struct field patch_body[] = {
	ENTRY_FIELDS(0, 0),
	GUARD,
	FIELD_END
};
static const struct field fields_only[] = {
	ENTRY_FIELDS(0, 0),
	FIELD_END
};
static const struct field id_item = { "id", FT_STRING, .min = 1 };
#define IDS { "ids", FT_ARRAY, FF_REQUIRED, .min = 1, .max = ENTRY_LIMIT, .items = &id_item, .doc = "each at most once acted on" }
static const struct field update_body[] = {
	IDS,
	{ "fields", FT_OBJECT, FF_REQUIRED, .fields = fields_only },
	GUARD,
	FIELD_END
};
static const struct field delete_body[] = {
	IDS,
	GUARD,
	FIELD_END
};
static const struct field reorder_fields[] = {
	{ "id", FT_STRING, FF_REQUIRED, .min = 1 },
	{ "order", FT_INT, FF_REQUIRED },
	FIELD_END
};
static const struct field reorder_item = { "item", FT_OBJECT, .fields = reorder_fields };
static const struct field reorder_body[] = {
	{ "items", FT_ARRAY, FF_REQUIRED, .min = 1, .max = ENTRY_LIMIT, .items = &reorder_item },
	GUARD,
	FIELD_END
};
static const char *const updates[] = { "updated", "not_found", NULL };
static const struct field update_result[] = {
	{ "index", FT_INT, FF_REQUIRED, .bounded = true, .max = INT64_MAX },
	{ "id", FT_STRING, FF_REQUIRED },
	{ "action", FT_ENUM, FF_REQUIRED, .choices = updates },
	{ "data", FT_OBJECT, FF_OPTIONAL, .fields = entry_answer },
	FIELD_END
};
static const struct field update_result_item = { "result", FT_OBJECT, .fields = update_result };
static const struct field update_meta[] = {
	{ "total", FT_INT, FF_REQUIRED, .bounded = true, .min = 1, .max = INT64_MAX },
	{ "updated", FT_INT, FF_REQUIRED, .bounded = true, .max = INT64_MAX },
	{ "not_found", FT_INT, FF_REQUIRED, .bounded = true, .max = INT64_MAX },
	FIELD_END
};
static const struct field update_answer[] = {
	{ "results", FT_ARRAY, FF_REQUIRED, .items = &update_result_item },
	{ "meta", FT_OBJECT, FF_REQUIRED, .fields = update_meta },
	FIELD_END
};
static const int errors_read[] = { 404, 0 };
static const int errors_write[] = { 404, 409, 0 };

const struct route api_worldbook_entries_routes[] = {
	{ METHOD_GET, "/worldbooks/{worldbook_id}/entries", lore_list, AUTH_ACCOUNT, .query = list_query, .answer_kind = ANSWER_LIST,
	  .answer = entry_answer, .errors = errors_read, .arg = &entries, .tag = "worldbooks", .summary = "List the entries of a worldbook" },
	{ METHOD_POST, "/worldbooks/{worldbook_id}/entries", entries_create, AUTH_ACCOUNT, .body = create_body, .answer = entry_answer, .status = 201,
	  .errors = errors_write, .arg = &entries, .tag = "worldbooks", .summary = "Create an entry" },
	{ METHOD_PATCH, "/worldbooks/{worldbook_id}/entries/batch/update", entries_batch_update, AUTH_ACCOUNT, .body = update_body,
	  .answer = update_answer, .errors = errors_write, .arg = &entries, .tag = "worldbooks", .summary = "Change many entries" },
	{ METHOD_POST, "/worldbooks/{worldbook_id}/entries/batch/delete", entries_batch_delete, AUTH_ACCOUNT, .body = delete_body,
	  .answer = rest_batch_answer, .errors = errors_write, .arg = &entries, .tag = "worldbooks", .summary = "Delete many entries" },
	{ METHOD_PUT, "/worldbooks/{worldbook_id}/entries/batch/reorder", entries_batch_reorder, AUTH_ACCOUNT, .body = reorder_body,
	  .answer = update_answer, .errors = errors_write, .arg = &entries, .tag = "worldbooks", .summary = "Reorder entries" },
	{ METHOD_GET, "/worldbooks/{worldbook_id}/entries/{id}", entries_get, AUTH_ACCOUNT, .answer = entry_answer, .errors = errors_read,
	  .arg = &entries, .tag = "worldbooks", .summary = "Read an entry" },
	{ METHOD_PATCH, "/worldbooks/{worldbook_id}/entries/{id}", entries_patch, AUTH_ACCOUNT, .body = patch_body, .body_mode = FIELD_PATCH,
	  .answer = entry_answer, .errors = errors_write, .arg = &entries, .tag = "worldbooks", .summary = "Change an entry" },
	{ METHOD_DELETE, "/worldbooks/{worldbook_id}/entries/{id}", entries_delete, AUTH_ACCOUNT, .query = document_guard_query,
	  .answer = rest_deleted, .errors = errors_write, .arg = &entries, .tag = "worldbooks", .summary = "Delete an entry" },
	{ .path = NULL }
};
/* clang-format on */
