/*
 * presets: a document with prompt entries (preset_entries.c), and its view for editors: prompts,
 * order contexts and everything else apart. A view that is put back unchanged changes nothing.
 */
#include "api/documents.h"
#include "api/preset_view.h"
#include "api/tables.h"
#include "base/limits.h"
#include "card/preset_file.h"

static int
read_preset(struct arena *a, const struct document_source *src, struct document_file *out, struct import_error *err)
{
	struct preset_file f = { 0 };

	if ((src->file ? preset_file_read(a, src->file, &f, err) : preset_file_read_json(a, src->doc, src->text, src->fallback_name, &f, err)) < 0)
		return -1;
	preset_audit(a, f.doc, &f.receipt);
	*out = (struct document_file){ .name = f.name, .doc = json_text(a, f.doc), .raw = f.raw, .receipt = receipt_json(a, &f.receipt) };
	return 0;
}

static struct str
preset_as_file(struct arena *a, struct str doc)
{
	struct json_error err;

	return json_text_pretty(a, preset_export(a, json_read(a, doc, LIM_JSON_DEPTH, &err)));
}

/* ---- the editor's view ---- */

static void
editor_entry(const struct json *prompt, struct json *out)
{
	struct json *extra = json_set_object(out, "extra"), *v;
	struct json_iter it = { 0 };
	struct str key;

	while (json_next(prompt, &it, &key, &v))
		json_set_s(preset_entry_knows(key) ? out : extra, key, v);
}

static struct json *
editor_show(struct arena *a, const struct json *doc)
{
	struct json *out = json_object(a), *entries = json_set_array(out, "entries"), *top, *v;
	const struct json *prompts = json_get(doc, "prompts"), *tracks = json_get(doc, "prompt_order");
	struct json_iter it = { 0 };
	struct str key;

	for (size_t i = 0; i < json_len(prompts); i++)
		editor_entry(json_at(prompts, i), json_push_object(entries));
	if (json_type(tracks) == JSON_ARRAY)
		json_set(out, "order_contexts", tracks);
	else
		json_set_array(out, "order_contexts");
	top = json_set_object(out, "top_level");
	while (json_next(doc, &it, &key, &v))
		if (!str_is(key, "prompts") && !str_is(key, "prompt_order"))
			json_set_s(top, key, v);
	json_set_int(out, "default_character_id", preset_default_track(doc));
	return out;
}

static int
preset_editor(struct request *r)
{
	struct asset asset;
	struct json_error err;
	struct str text;
	struct sb out = sb_new(r->ctx->a);

	if (document_load(r, &document_preset, req_param(r, "id"), &asset, &text) < 0)
		return -1;
	document_head(&out, &asset);
	sb_adds(&out, ",\"editor\":");
	sb_add(&out, json_text(r->ctx->a, editor_show(r->ctx->a, json_read(r->ctx->a, text, LIM_JSON_DEPTH, &err))));
	sb_addc(&out, '}');
	return reply_data(r, sb_str(&out));
}

/* ---- and back ---- */

/* The members of `fresh`, those that `old` has first and in its order; equal values as they were written. */
static struct json *
in_order_of(struct arena *a, const struct json *old, const struct json *fresh)
{
	struct json *out = json_object(a), *v;
	struct json_iter it = { 0 };
	struct str key;

	while (json_next(old, &it, &key, &v)) {
		const struct json *now = json_get_s(fresh, key);

		if (json_has(fresh, arena_strdup(a, key)))
			json_set_s(out, key, json_equal(v, now) ? v : now);
	}
	it = (struct json_iter){ 0 };
	while (json_next(fresh, &it, &key, &v))
		if (!json_has(old, arena_strdup(a, key)))
			json_set_s(out, key, v);
	return out;
}

static const struct json *
prompt_of(const struct json *doc, struct str id, size_t i)
{
	const struct json *prompts = json_get(doc, "prompts"), *there = json_at(prompts, i);

	if (str_eq(json_get_str(there, "identifier"), id))
		return there;
	for (size_t k = 0; k < json_len(prompts); k++)
		if (str_eq(json_get_str(json_at(prompts, k), "identifier"), id))
			return json_at(prompts, k);
	return NULL;
}

static struct json *
editor_prompt(struct arena *a, const struct json *entry, const struct json *old)
{
	struct json *out = json_object(a), *v;
	struct json_iter it = { 0 };
	struct str key;

	while (json_next(entry, &it, &key, &v))
		if (!str_is(key, "extra"))
			json_set_s(out, key, v);
	it = (struct json_iter){ 0 };
	while (json_next(json_get(entry, "extra"), &it, &key, &v))
		json_set_s(out, key, v);
	return in_order_of(a, old, out);
}

static struct json *
editor_document(struct arena *a, const struct json *editor, const struct json *old)
{
	const struct json *entries = json_get(editor, "entries"), *tracks = json_get(editor, "order_contexts");
	struct json *doc = json_copy(a, json_get(editor, "top_level")), *prompts = json_array(a), *order = json_array(a);

	for (size_t i = 0; i < json_len(entries); i++) {
		const struct json *entry = json_at(entries, i);

		json_push(prompts, editor_prompt(a, entry, prompt_of(old, json_get_str(entry, "identifier"), i)));
	}
	for (size_t i = 0; i < json_len(tracks); i++)
		json_push(order, json_at(tracks, i));
	json_del(doc, "prompts");
	json_del(doc, "prompt_order");
	if (json_len(prompts) > 0 || json_has(old, "prompts"))
		json_set(doc, "prompts", prompts);
	if (json_len(order) > 0 || json_has(old, "prompt_order"))
		json_set(doc, "prompt_order", order);
	return in_order_of(a, old, doc);
}

static int
put_edit(struct request *r, struct json **doc, void *arg)
{
	struct arena *a = r->ctx->a;
	struct json *fresh = editor_document(a, json_get(r->in, "editor"), *doc);
	struct preset_file f = { 0 };
	struct import_error err = { .offset = -1 };

	(void)arg;
	if (preset_file_read_json(a, fresh, json_text(a, fresh), STR_NULL, &f, &err) < 0)
		return import_refuse(r->ctx, "preset", &err);
	*doc = f.doc;
	return 0;
}

static int
preset_put(struct request *r)
{
	struct document_edit e = { .kind = &document_preset, .id = req_param(r, "id"), .guard = guard_of(r->in), .edit = put_edit,
		.name = json_get_str(r->in, "name") };
	struct sb out = sb_new(r->ctx->a);

	if (rest_tx(r, DB_WRITE, document_edit_tx, &e) < 0)
		return -1;
	document_head(&out, &e.asset);
	sb_addc(&out, '}');
	return reply_data(r, sb_str(&out));
}

/* clang-format off */
static const struct sort_key sorts[] = { { "created_at", "t.created_at" }, { NULL } };
const struct document_kind document_preset = {
	.asset = ASSET_PRESET,
	.res = { .name = "preset", .table = "asset", .where = "t.kind = 'preset'", .fields = document_list_fields, .sorts = sorts,
		 .list_plain = true, .soft_delete = true, .delete_answer = DELETE_EMPTY },
	.read = read_preset,
	.file = preset_as_file,
	.imported = preset_imported,
	.deleted = preset_deleted,
	.placeholder = "Preset",
};

static const struct field object_item = { "item", FT_OBJECT };
static const struct field editor_fields[] = {
	{ "entries", FT_ARRAY, FF_REQUIRED, .items = &object_item, .doc = "prompts; members without a field of their own stand in `extra`" },
	{ "order_contexts", FT_ARRAY, FF_REQUIRED, .items = &object_item, .doc = "{character_id, order: [{identifier, enabled}]}" },
	{ "top_level", FT_OBJECT, FF_REQUIRED, .doc = "all other members of the file" },
	{ "default_character_id", FT_INT, FF_REQUIRED, .doc = "of the context that runs; follows from the contexts: 100001, else 100000, else the longest" },
	FIELD_END
};
static const struct field editor_answer[] = {
	DOCUMENT_FIELDS,
	{ "editor", FT_OBJECT, .fields = editor_fields },
	FIELD_END
};
static const struct field put_body[] = {
	{ "name", FT_STRING, FF_REQUIRED, .min = 1 },
	{ "editor", FT_OBJECT, FF_REQUIRED, .fields = editor_fields },
	{ "expected_version", FT_INT, .bounded = true, .min = 1, .max = INT64_MAX },
	{ "expected_updated_at", FT_TIME },
	FIELD_END
};
static const int errors_read[] = { 404, 0 };
static const int errors_write[] = { 404, 409, 0 };

const struct route api_presets_routes[] = {
	{ METHOD_GET, "/presets", rest_list, AUTH_ACCOUNT, .answer_kind = ANSWER_ARRAY, .answer = document_list_fields, .arg = &document_preset.res,
	  .tag = "presets", .summary = "List presets" },
	{ METHOD_GET, "/presets/{id}", documents_get, AUTH_ACCOUNT, .answer = document_data_fields, .errors = errors_read, .arg = &document_preset,
	  .tag = "presets", .summary = "Read a preset" },
	{ METHOD_GET, "/presets/{id}/editor", preset_editor, AUTH_ACCOUNT, .answer = editor_answer, .errors = errors_read, .arg = &document_preset,
	  .tag = "presets", .summary = "Preset as an editor document" },
	{ METHOD_PUT, "/presets/{id}", preset_put, AUTH_ACCOUNT, .body = put_body, .answer = document_list_fields, .errors = errors_write,
	  .max_body = LIM_IMPORT_BODY, .arg = &document_preset, .tag = "presets", .summary = "Replace a preset by its editor document" },
	{ METHOD_DELETE, "/presets/{id}", documents_delete, AUTH_ACCOUNT, .query = document_guard_query, .answer_kind = ANSWER_EMPTY,
	  .errors = errors_write, .arg = &document_preset, .tag = "presets", .summary = "Delete a preset" },
	{ .path = NULL }
};
/* clang-format on */
