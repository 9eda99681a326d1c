/*
 * preset_entries: the prompts of a preset. Whether one is on stands in the track that runs
 * (decision 38: 100001, else 100000, else the longest other); its id is `default_character_id`.
 */
#include "api/entries.h"
#include "api/preset_view.h"
#include "api/tables.h"
#include "base/limits.h"
#include "base/map.h"
#include "prompt/prompt.h"

#define TRACK_GLOBAL 100001

/* ---- the track ---- */

static int64_t
track_id(const struct json *track)
{
	const struct json *v = json_get(track, "character_id");
	int64_t n = 0;

	return json_type(v) == JSON_STRING ? (str_int(json_str(v), &n) ? n : 0) : json_int(v, 0);
}

static struct json *
track_find(const struct json *doc)
{
	const struct json *tracks = json_get(doc, "prompt_order");
	struct json *best = NULL;
	int best_rank = -1;

	for (size_t i = 0; i < json_len(tracks); i++) {
		struct json *t = json_at(tracks, i);
		int64_t id = track_id(t);
		int rank = id == TRACK_GLOBAL ? 2 : id == 100000 ? 1 : 0;

		if (rank > best_rank || (rank == 0 && best_rank == 0 && json_len(json_get(t, "order")) > json_len(json_get(best, "order")))) {
			best = t;
			best_rank = rank;
		}
	}
	return best;
}

int64_t
preset_default_track(const struct json *doc)
{
	const struct json *track = track_find(doc);

	return track ? track_id(track) : TRACK_GLOBAL;
}

/* The rows that run; where the preset has no track, those of the default order, in a list of their own. */
static struct json *
order_view(struct arena *a, const struct json *doc)
{
	const struct json *track = track_find(doc);
	const char *id;
	struct json *rows;
	bool on;

	if (track)
		return json_get(track, "order");
	rows = json_array(a);
	for (size_t i = 0; (id = prompt_default_row(i, &on)) != NULL; i++) {
		struct json *row = json_push_object(rows);

		json_set_c(row, "identifier", id);
		json_set_bool(row, "enabled", on);
	}
	return rows;
}

/* The same to be written to: a preset without a track is given one that says what ran before. */
static struct json *
order_edit(struct arena *a, struct json *doc)
{
	struct json *track = track_find(doc), *tracks, *rows;

	if (track)
		return json_get(track, "order");
	rows = order_view(a, doc);
	tracks = json_get(doc, "prompt_order");
	if (json_type(tracks) != JSON_ARRAY)
		tracks = json_set_array(doc, "prompt_order");
	track = json_push_object(tracks);
	json_set_int(track, "character_id", TRACK_GLOBAL);
	json_set(track, "order", rows);
	return rows;
}

static struct json *
row_find(const struct json *rows, struct str id)
{
	for (size_t i = 0; i < json_len(rows); i++)
		if (str_eq(json_get_str(json_at(rows, i), "identifier"), id))
			return json_at(rows, i);
	return NULL;
}

static void
row_set(struct json *rows, struct str id, bool on)
{
	struct json *row = row_find(rows, id);

	if (row == NULL) {
		row = json_push_object(rows);
		json_set_str(row, "identifier", id);
	}
	json_set_bool(row, "enabled", on);
}

/* ---- what the map cannot say ---- */

static const struct entry_field map[] = {
	/* clang-format off */
	{ "name",               "name",               "\"\"" },
	{ "role",               "role",               "\"system\"" },
	{ "content",            "content",            "\"\"" },
	{ "system_prompt",      "system_prompt",      "false" },
	{ "marker",             "marker",             "false" },
	{ "injection_position", "injection_position", "0" },
	{ "injection_depth",    "injection_depth",    "4" },
	{ "injection_order",    "injection_order",    "100" },
	{ "injection_trigger",  "injection_trigger",  "[]" },
	{ "forbid_overrides",   "forbid_overrides",   "false" },
	{ NULL }
	/* clang-format on */
};

bool
preset_entry_knows(struct str member)
{
	if (str_is(member, "identifier") || str_is(member, "enabled"))
		return true;
	for (const struct entry_field *f = map; f->api; f++)
		if (str_is(member, f->file))
			return true;
	return false;
}

static void
prompt_show(struct arena *a, const struct asset *asset, const struct json *doc, const struct json *entry, struct json *out)
{
	const struct json *row = row_find(order_view(a, doc), json_get_str(entry, "identifier"));
	struct json *extra = json_set_object(out, "extra"), *v;
	struct json_iter it = { 0 };
	struct str key;

	(void)asset;
	json_set_bool(out, "enabled", row && json_get_bool(row, "enabled", true));
	while (json_next(entry, &it, &key, &v))
		if (!preset_entry_knows(key))
			json_set_s(extra, key, v);
}

static int
prompt_key(struct request *r, const struct json *doc, struct str *key_out)
{
	*key_out = json_get_str(r->in, "identifier");
	if (row_find(json_get(doc, "prompts"), *key_out) == NULL)
		return 0;
	return fail(r->ctx, ERR_CONFLICT, "preset_entry_exists", "the preset has an entry \"%.*s\" already", STR_ARG(*key_out));
}

static int
prompt_joined(struct request *r, struct json *doc, struct str key, struct json *entry)
{
	(void)entry;
	row_set(order_edit(r->ctx->a, doc), key, true);
	return 0;
}

/* `extra` is set as a whole: what it does not name goes. */
static int
extra_write(struct request *r, struct json *entry, const struct json *extra)
{
	struct json *old = json_copy(r->ctx->a, entry), *v;
	struct json_iter it = { 0 };
	struct str key;

	while (json_next(old, &it, &key, &v))
		if (!preset_entry_knows(key) && !json_has(extra, arena_strdup(r->ctx->a, key)))
			json_del(entry, arena_strdup(r->ctx->a, key));
	it = (struct json_iter){ 0 };
	while (json_next(extra, &it, &key, &v)) {
		if (preset_entry_knows(key))
			return fail_field(r->ctx, arena_printf(r->ctx->a, "/extra/%.*s", STR_ARG(key)), "unexpected", "is a field of its own");
		json_set_s(entry, key, v);
	}
	return 0;
}

static int
prompt_written(struct request *r, struct json *doc, struct json *entry, const struct json *in)
{
	if (json_has(in, "enabled"))
		row_set(order_edit(r->ctx->a, doc), json_get_str(entry, "identifier"), json_get_bool(in, "enabled", true));
	return json_has(in, "extra") ? extra_write(r, entry, json_get(in, "extra")) : 0;
}

static void
prompt_left(struct arena *a, struct json *doc, struct str key)
{
	const struct json *tracks = json_get(doc, "prompt_order");

	for (size_t i = 0; i < json_len(tracks); i++) {
		struct json *track = json_at(tracks, i), *rest = json_array(a);
		const struct json *rows = json_get(track, "order");

		if (row_find(rows, key) == NULL)
			continue;
		for (size_t k = 0; k < json_len(rows); k++)
			if (!str_eq(json_get_str(json_at(rows, k), "identifier"), key))
				json_push(rest, json_at(rows, k));
		json_set(track, "order", rest);
	}
}

static const struct entry_kind prompts = {
	.document = &document_preset,
	.label = "preset entry",
	.document_param = "preset_id",
	.key_param = "identifier",
	.list = "identifiers",
	.container = "prompts",
	.member = "identifier",
	.map = map,
	.show = prompt_show,
	.key_new = prompt_key,
	.joined = prompt_joined,
	.written = prompt_written,
	.left = prompt_left,
};

/* ---- the list: the rows that run in their order, then the prompts that no row names ---- */

static void
list_one(struct arena *a, struct json *out, struct map *left, const struct json *doc, struct str id)
{
	const struct json *entry = map_get(left, id);

	if (entry == NULL)
		return;
	json_push(out, entry_show(a, &prompts, NULL, doc, id, entry));
	map_del(left, id);
}

static int
reply_entries(struct request *r, const struct json *doc)
{
	struct arena *a = r->ctx->a;
	struct json *out = json_object(a), *list;
	const struct json *rows = order_view(a, doc), *all = json_get(doc, "prompts");
	struct map *left = map_create(a);

	json_set_str(out, "preset_id", req_param(r, "preset_id"));
	json_set_int(out, "default_character_id", preset_default_track(doc));
	list = json_set_array(out, "entries");
	for (size_t i = 0; i < json_len(all); i++) {
		struct str id = json_get_str(json_at(all, i), "identifier");

		if (id.p && !map_has(left, id))
			map_set(left, id, json_at(all, i));
	}
	for (size_t i = 0; i < json_len(rows); i++)
		list_one(a, list, left, doc, json_get_str(json_at(rows, i), "identifier"));
	for (size_t i = 0; i < json_len(all); i++)
		list_one(a, list, left, doc, json_get_str(json_at(all, i), "identifier"));
	return reply_data(r, json_text(a, out));
}

static int
prompts_list(struct request *r)
{
	struct asset asset;
	struct json_error err;
	struct str text;

	if (document_load(r, &document_preset, req_param(r, "preset_id"), &asset, &text) < 0)
		return -1;
	return reply_entries(r, json_read(r->ctx->a, text, LIM_JSON_DEPTH, &err));
}

/* The rows named come first, in that order; the others follow as they stood. */
static int
reorder_edit(struct request *r, struct json **doc, void *arg)
{
	struct arena *a = r->ctx->a;
	const struct json *ids = json_get(r->in, "identifiers");
	struct json *rows = order_edit(a, *doc), *out = json_array(a), *row;
	struct map *seen = map_create(a);

	for (size_t i = 0; i < json_len(ids); i++) {
		struct str id = json_str(json_at(ids, i));
		const char *path = arena_printf(a, "/identifiers/%zu", i);

		row = row_find(rows, id);
		if (map_has(seen, id))
			return fail_field(r->ctx, path, "uniqueItems", "is named twice");
		if (row == NULL && entry_find(&prompts, *doc, id) == NULL)
			return fail_field(r->ctx, path, "unknown", "the preset has no entry \"%.*s\"", STR_ARG(id));
		map_set(seen, id, rows);
		if (row)
			json_push(out, row);
		else
			row_set(out, id, false);
	}
	for (size_t i = 0; i < json_len(rows); i++)
		if (!map_has(seen, json_get_str(json_at(rows, i), "identifier")))
			json_push(out, json_at(rows, i));
	json_set(track_find(*doc), "order", out);
	*(struct json **)arg = *doc;
	return 0;
}

static int
prompts_reorder(struct request *r)
{
	struct json *doc = NULL;
	struct document_edit e = { .kind = &document_preset, .id = req_param(r, "preset_id"), .guard = guard_of(r->in), .edit = reorder_edit, .arg = &doc };

	return rest_tx(r, DB_WRITE, document_edit_tx, &e) < 0 ? -1 : reply_entries(r, doc);
}

/* ---- routes ---- */

static bool
is_identifier(struct str v)
{
	for (size_t i = 0; i < v.n; i++)
		if (!((v.p[i] >= '0' && v.p[i] <= '9') || ((v.p[i] | 32) >= 'a' && (v.p[i] | 32) <= 'z') || v.p[i] == '_' || v.p[i] == '-'))
			return false;
	return true;
}

/* clang-format off */
static const char *const roles[] = { "system", "user", "assistant", NULL };
#define ENTRY_FIELDS \
	{ "name", FT_STRING }, \
	{ "role", FT_ENUM, .choices = roles }, \
	{ "content", FT_STRING }, \
	{ "system_prompt", FT_BOOL }, \
	{ "marker", FT_BOOL }, \
	{ "enabled", FT_BOOL, .doc = "in the order of default_character_id" }, \
	{ "injection_position", FT_INT }, \
	{ "injection_depth", FT_INT }, \
	{ "injection_order", FT_INT }, \
	{ "injection_trigger", FT_ARRAY }, \
	{ "forbid_overrides", FT_BOOL }, \
	{ "extra", FT_OBJECT, .doc = "members of the file that have no field of their own" }
#define GUARD { "expected_version", FT_INT, .bounded = true, .min = 1, .max = INT64_MAX }

static const struct field entry_answer[] = {
	{ "identifier", FT_STRING },
	ENTRY_FIELDS,
	FIELD_END
};
static const struct field entry_item = { "entry", FT_OBJECT, .fields = entry_answer };
static const struct field list_answer[] = {
	{ "preset_id", FT_STRING },
	{ "default_character_id", FT_INT },
	{ "entries", FT_ARRAY, .items = &entry_item },
	FIELD_END
};
static const struct field create_body[] = {
	{ "identifier", FT_STRING, FF_REQUIRED, .min = 1, .max = 64, .pattern = "^[a-zA-Z0-9_-]+$", .check = is_identifier },
	ENTRY_FIELDS,
	GUARD,
	FIELD_END
};
static const struct field patch_body[] = {
	ENTRY_FIELDS,
	GUARD,
	FIELD_END
};
static const struct field fields_only[] = {
	ENTRY_FIELDS,
	FIELD_END
};
static const struct field identifier_item = { "identifier", FT_STRING };
#define IDENTIFIERS { "identifiers", FT_ARRAY, FF_REQUIRED, .min = 1, .max = LIM_BATCH, .items = &identifier_item, .doc = "each at most once acted on" }
static const struct field update_body[] = {
	IDENTIFIERS,
	{ "fields", FT_OBJECT, FF_REQUIRED, .fields = fields_only },
	GUARD,
	FIELD_END
};
static const struct field keys_body[] = {
	IDENTIFIERS,
	GUARD,
	FIELD_END
};
static const struct field deleted_answer[] = {
	{ "identifier", FT_STRING },
	{ "deleted", FT_BOOL },
	FIELD_END
};
static const struct field batch_answer[] = {
	{ "results", FT_ARRAY },
	{ "meta", FT_OBJECT },
	FIELD_END
};
static const int errors_read[] = { 404, 0 };
static const int errors_write[] = { 404, 409, 0 };

const struct route api_preset_entries_routes[] = {
	{ METHOD_GET, "/presets/{preset_id}/entries", prompts_list, AUTH_ACCOUNT, .answer = list_answer, .errors = errors_read, .arg = &prompts,
	  .tag = "presets", .summary = "List the entries of a preset" },
	{ METHOD_POST, "/presets/{preset_id}/entries", entries_create, AUTH_ACCOUNT, .body = create_body, .answer = entry_answer, .status = 201,
	  .errors = errors_write, .arg = &prompts, .tag = "presets", .summary = "Create an entry" },
	{ METHOD_PUT, "/presets/{preset_id}/entries/reorder", prompts_reorder, AUTH_ACCOUNT, .body = keys_body, .answer = list_answer,
	  .errors = errors_write, .arg = &prompts, .tag = "presets", .summary = "Reorder entries" },
	{ METHOD_PATCH, "/presets/{preset_id}/entries/batch/update", entries_batch_update, AUTH_ACCOUNT, .body = update_body, .answer = batch_answer,
	  .errors = errors_write, .arg = &prompts, .tag = "presets", .summary = "Change many entries" },
	{ METHOD_POST, "/presets/{preset_id}/entries/batch/delete", entries_batch_delete, AUTH_ACCOUNT, .body = keys_body, .answer = batch_answer,
	  .errors = errors_write, .arg = &prompts, .tag = "presets", .summary = "Delete many entries" },
	{ METHOD_GET, "/presets/{preset_id}/entries/{identifier}", entries_get, AUTH_ACCOUNT, .answer = entry_answer, .errors = errors_read,
	  .arg = &prompts, .tag = "presets", .summary = "Read an entry" },
	{ METHOD_PATCH, "/presets/{preset_id}/entries/{identifier}", entries_patch, AUTH_ACCOUNT, .body = patch_body, .body_mode = FIELD_PATCH,
	  .answer = entry_answer, .errors = errors_write, .arg = &prompts, .tag = "presets", .summary = "Change an entry" },
	{ METHOD_DELETE, "/presets/{preset_id}/entries/{identifier}", entries_delete, AUTH_ACCOUNT, .query = document_guard_query,
	  .answer = deleted_answer, .errors = errors_write, .arg = &prompts, .tag = "presets", .summary = "Delete an entry" },
	{ .path = NULL }
};
/* clang-format on */
