/*
 * imports: files as people have them become assets. A broken file is refused with place and
 * reason and leaves nothing; a strange but usable one is stored with a receipt.
 */
#include "api/app.h"
#include "api/assets.h"
#include "api/documents.h"
#include "api/sessions.h"
#include "api/tables.h"
#include "base/limits.h"
#include "card/card.h"

struct card_work {
	struct card card;
	struct str title;
	bool with_session;
	struct str archive;          /* a CHARX as it came: kept whole, its icon is the picture */
	struct asset asset;
};

static int
card_store(struct request *r, void *arg)
{
	struct card_work *w = arg;
	struct arena *a = r->ctx->a;
	struct asset_content content = { .doc = json_text(a, w->card.doc), .raw = w->card.raw,
		.picture = w->archive.p ? w->archive : w->card.picture, .picture_mime = w->archive.p ? ASSET_ARCHIVE : w->card.picture_type, .receipt = json_text(a, receipt_json(a, &w->card.receipt)) };

	return asset_create(r->ctx, ASSET_CHARACTER, w->card.name, "sillytavern", &content, &w->asset);
}

static int
card_take_json(struct request *r, struct card_work *w, struct import_error *err)
{
	w->title = json_get_str(r->in, "title");
	w->with_session = json_get_bool(r->in, "create_session", false);
	return card_read_json(r->ctx->a, json_get(r->in, "payload"), json_raw(r->body, "payload"), w->title, &w->card, err);
}

static int
card_take_upload(struct request *r, struct card_work *w, struct import_error *err)
{
	static const struct field form[] = {
		{ "create_session", FT_BOOL },
		{ "title", FT_STRING, .min = 1, .max = 200 },
		FIELD_END
	};
	struct import_file file;
	struct json *fields;

	if (import_upload(r, form, &file, &fields) < 0)
		return -1;
	w->title = json_get_str(fields, "title");
	w->with_session = json_get_bool(fields, "create_session", false);
	if (w->title.p)
		file.fallback_name = w->title;
	if (card_read(r->ctx->a, &file, &w->card, err) < 0)
		return -1;
	if (w->card.container == CARD_CHARX)
		w->archive = file.bytes;
	return 0;
}

static int
session_of(struct request *r, const struct card_work *w, struct sb *out)
{
	struct json *in = json_object(r->ctx->a);

	json_set_c(in, "character_id", w->asset.id);
	json_set_str(in, "title", w->title.p ? w->title : w->card.name);
	return session_create_json(r, in, out);
}

static int
character_import(struct request *r)
{
	struct card_work w = { 0 };
	struct import_error err = { .offset = -1 };
	struct arena *a = r->ctx->a;
	struct sb out = sb_new(a), session = sb_new(a);

	if ((r->in ? card_take_json(r, &w, &err) : card_take_upload(r, &w, &err)) < 0)
		return failed(r->ctx) ? -1 : import_refuse(r->ctx, "character card", &err);
	if (rest_tx(r, DB_WRITE, card_store, &w) < 0 || (w.with_session && session_of(r, &w, &session) < 0))
		return -1;
	sb_addf(&out, "{\"create_session\":%s,\"character\":", w.with_session ? "true" : "false");
	sb_add(&out, json_text(a, w.card.data));
	sb_adds(&out, ",\"character_id\":");
	sb_add_json(&out, str_c(w.asset.id));
	sb_adds(&out, ",\"character_version_id\":");
	sb_add_json(&out, str_c(w.asset.version_id));
	if (w.with_session) {
		sb_adds(&out, ",\"session\":");
		sb_add(&out, sb_str(&session));
	}
	sb_adds(&out, ",\"receipt\":");
	sb_add(&out, json_text(a, receipt_json(a, &w.card.receipt)));
	sb_addc(&out, '}');
	return reply_data(r, sb_str(&out));
}

/* clang-format off */
static const struct field object_body[] = {
	{ "name", FT_STRING },
	{ "data", FT_OBJECT, FF_REQUIRED | FF_RAW },
	FIELD_END
};
static const struct field preset_body[] = {
	{ "name", FT_STRING },
	{ "data", FT_OBJECT, FF_REQUIRED | FF_RAW },
	{ "activate", FT_BOOL, .doc = "make it the account's active preset (POST /presets/{id}/activate)" },
	FIELD_END
};
static const struct field regex_body[] = {
	{ "name", FT_STRING, FF_REQUIRED, .min = 1 },
	{ "data", FT_ANY, FF_REQUIRED | FF_RAW, .doc = "array of scripts, one script, or the text of a file" },
	FIELD_END
};
static const struct field character_body[] = {
	{ "payload", FT_OBJECT, FF_REQUIRED | FF_RAW, .doc = "the card: V1, V2 or V3 JSON" },
	{ "create_session", FT_BOOL },
	{ "title", FT_STRING, .min = 1, .max = 200 },
	FIELD_END
};
static const struct field regex_report[] = {
	{ "contains_prompt_only", FT_INT, .bounded = true, .max = INT64_MAX },
	{ "contains_reasoning", FT_INT, .bounded = true, .max = INT64_MAX },
	{ "contains_run_on_edit", FT_INT, .bounded = true, .max = INT64_MAX },
	{ "contains_slash_command", FT_INT, .bounded = true, .max = INT64_MAX },
	{ "display_only_count", FT_INT, .bounded = true, .max = INT64_MAX },
	{ "persist_executable_count", FT_INT, .bounded = true, .max = INT64_MAX },
	{ "prompt_executable_count", FT_INT, .bounded = true, .max = INT64_MAX },
	{ "reserved_world_info_count", FT_INT, .bounded = true, .max = INT64_MAX },
	{ "retained_non_executable_count", FT_INT, .bounded = true, .max = INT64_MAX },
	{ "stored_count", FT_INT, .bounded = true, .max = INT64_MAX },
	{ "unsupported_runtime_count", FT_INT, .bounded = true, .max = INT64_MAX },
	FIELD_END
};
static const struct field regex_answer[] = {
	{ "id", FT_STRING },
	{ "name", FT_STRING },
	{ "source", FT_STRING },
	{ "script_count", FT_INT, .bounded = true, .max = INT64_MAX },
	{ "compat_report", FT_OBJECT, .fields = regex_report },
	{ "receipt", FT_OBJECT },
	FIELD_END
};
static const struct field character_answer[] = {
	{ "create_session", FT_BOOL },
	{ "character", FT_OBJECT },
	{ "character_id", FT_STRING, FF_OPTIONAL },
	{ "character_version_id", FT_STRING, FF_OPTIONAL },
	{ "session", FT_OBJECT, FF_OPTIONAL },
	{ "receipt", FT_OBJECT },
	FIELD_END
};
/* Beside the JSON bodies above: the file itself, or a form with the part `file` and the other members as texts. */
static const int errors_import[] = { 413, 0 };

const struct route api_imports_routes[] = {
	{ METHOD_POST, "/import/preset", documents_import, AUTH_ACCOUNT, .body = preset_body, .answer = document_import_answer, .status = 201,
	  .errors = errors_import, .flags = ROUTE_BODY_BYTES, .max_body = LIM_IMPORT_BODY, .arg = &document_preset, .tag = "imports", .summary = "Import a SillyTavern preset" },
	{ METHOD_POST, "/import/worldbook", documents_import, AUTH_ACCOUNT, .body = object_body, .answer = document_import_answer, .status = 201,
	  .errors = errors_import, .flags = ROUTE_BODY_BYTES, .max_body = LIM_IMPORT_BODY, .arg = &document_worldbook, .tag = "imports", .summary = "Import a worldbook" },
	{ METHOD_POST, "/import/regex", documents_import, AUTH_ACCOUNT, .body = regex_body, .answer = regex_answer, .status = 201,
	  .errors = errors_import, .flags = ROUTE_BODY_BYTES, .max_body = LIM_IMPORT_BODY, .arg = &document_regex, .tag = "imports", .summary = "Import regex scripts" },
	{ METHOD_POST, "/import/character", character_import, AUTH_ACCOUNT, .body = character_body, .answer = character_answer, .status = 201,
	  .errors = errors_import, .flags = ROUTE_BODY_BYTES, .max_body = LIM_IMPORT_BODY, .tag = "imports", .summary = "Import a character card, optionally with a session" },
	{ .path = NULL }
};
/* clang-format on */
