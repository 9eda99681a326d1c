/* exports: assets as the files that SillyTavern reads; importing one again gives the same asset. */
#include "api/assets.h"
#include "api/documents.h"
#include "api/tables.h"
#include "card/card.h"

/* ---- characters ---- */

enum { AS_JSON, AS_PNG, AS_CHARX };
static const struct character_format {
	const char *name;
	int container;
	enum card_spec spec;
	const char *type, *suffix;
} character_formats[] = {
	{ "v2", AS_JSON, CARD_SPEC_V2, "application/json; charset=utf-8", ".json" },
	{ "v3", AS_JSON, CARD_SPEC_V3, "application/json; charset=utf-8", ".json" },
	{ "png", AS_PNG, CARD_SPEC_V3, "image/png", ".png" },
	{ "charx", AS_CHARX, CARD_SPEC_V3, "application/zip", ".charx" },
};
#define FORMATS (sizeof(character_formats) / sizeof(character_formats[0]))

struct character_work {
	bool with_file;
	struct asset asset;
	struct str doc, raw, stored;
	const char *mime;
};

static int
character_work(struct request *r, void *arg)
{
	struct character_work *w = arg;
	struct str version = req_query(r, "version_id");
	int rc;

	if (version.p) {
		rc = asset_version_load(r->ctx, ASSET_CHARACTER, version, &w->asset, &w->doc);
		if (rc > 0 && !str_is(req_param(r, "id"), w->asset.id))
			rc = 0;
	} else
		rc = asset_load(r->ctx, ASSET_CHARACTER, req_param(r, "id"), false, &w->asset, &w->doc);
	if (rc > 0 && w->with_file && asset_raw(r->ctx, w->asset.version_row, &w->raw, &w->stored, &w->mime) < 0)
		return -1;
	return rc == 0 ? fail(r->ctx, ERR_NOT_FOUND, "not_found", "character%s not found", version.p ? " version" : "") : rc < 0 ? -1 : 0;
}

/* The card in its picture, or in the archive it came in (a new one if it came otherwise). */
static int
character_pack(struct request *r, const struct character_format *f, const struct character_work *w, const struct json *doc, struct str *out)
{
	struct arena *a = r->ctx->a;
	struct import_error err = { .offset = -1 };
	struct str picture = w->stored.p ? asset_picture(a, w->stored, w->mime) : STR_NULL;
	bool archive = w->mime && strcmp(w->mime, ASSET_ARCHIVE) == 0;
	int rc;

	if (f->container == AS_PNG)
		rc = card_export_png(a, doc, picture, out, &err);
	else
		rc = card_export_charx(a, doc, archive ? w->stored : STR_NULL, archive ? STR_NULL : picture, out, &err);
	return rc < 0 ? fail(r->ctx, ERR_INTERNAL, "internal_error", "the card cannot be written as %s: %s", f->name, err.message) : 0;
}

static int
character_export(struct request *r)
{
	struct arena *a = r->ctx->a;
	struct str format = req_query(r, "format"), bytes;
	const struct character_format *f = &character_formats[0];
	struct character_work w = { 0 };
	struct json_error err;
	const struct json *doc;

	for (size_t i = 0; i < FORMATS; i++)
		if (str_is(format, character_formats[i].name))
			f = &character_formats[i];
	w.with_file = f->container != AS_JSON;
	if (rest_tx(r, DB_READ, character_work, &w) < 0)
		return -1;
	doc = json_read(a, w.doc, LIM_JSON_DEPTH, &err);
	if (f->container == AS_JSON)
		bytes = json_text_pretty(a, card_export_json(a, doc, f->spec));
	else if (character_pack(r, f, &w, doc, &bytes) < 0)
		return -1;
	return reply_file(r, f->type, file_name(a, w.asset.name, f->suffix), bytes);
}

/* clang-format off */
static const char *const formats[] = { "v2", "v3", "png", "charx", NULL };
static const struct field character_query[] = {
	{ "format", FT_ENUM, .choices = formats },
	{ "version_id", FT_STRING, .min = 1 },
	FIELD_END
};
static const int errors_read[] = { 404, 0 };

const struct route api_exports_routes[] = {
	{ METHOD_GET, "/export/preset/{id}", documents_export, AUTH_ACCOUNT, .answer_kind = ANSWER_FILE, .errors = errors_read, .arg = &document_preset,
	  .tag = "exports", .summary = "Preset as a SillyTavern file" },
	{ METHOD_GET, "/export/worldbook/{id}", documents_export, AUTH_ACCOUNT, .answer_kind = ANSWER_FILE, .errors = errors_read, .arg = &document_worldbook,
	  .tag = "exports", .summary = "Worldbook as a SillyTavern file" },
	{ METHOD_GET, "/export/regex/{id}", documents_export, AUTH_ACCOUNT, .answer_kind = ANSWER_FILE, .errors = errors_read, .arg = &document_regex,
	  .tag = "exports", .summary = "Regex scripts as a SillyTavern file" },
	{ METHOD_GET, "/export/character/{id}", character_export, AUTH_ACCOUNT, .query = character_query, .answer_kind = ANSWER_FILE, .errors = errors_read,
	  .tag = "exports", .summary = "Character as card JSON (V2 or V3), PNG or CHARX" },
	{ .path = NULL }
};
/* clang-format on */
