/* exports: assets as the files that SillyTavern reads; importing one again gives the same asset. */
#include "api/assets.h"
#include "api/documents.h"
#include "api/tables.h"
#include "card/card.h"

struct character_work {
	struct asset asset;
	struct str doc;
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
	return rc == 0 ? fail(r->ctx, ERR_NOT_FOUND, "not_found", "character%s not found", version.p ? " version" : "") : rc < 0 ? -1 : 0;
}

static int
character_export(struct request *r)
{
	struct character_work w;
	struct json_error err;
	struct json *doc;
	enum card_spec spec = str_is(req_query(r, "format"), "v3") ? CARD_SPEC_V3 : CARD_SPEC_V2;

	if (rest_tx(r, DB_READ, character_work, &w) < 0)
		return -1;
	doc = json_read(r->ctx->a, w.doc, LIM_JSON_DEPTH, &err);
	return reply_file(r, "application/json; charset=utf-8", file_name(r->ctx->a, w.asset.name, ".json"),
	    json_text_pretty(r->ctx->a, card_export_json(r->ctx->a, doc, spec)));
}

/* clang-format off */
static const char *const formats[] = { "v2", "v3", NULL };
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
	  .tag = "exports", .summary = "Character as card JSON, V2 or V3" },
	{ .path = NULL }
};
/* clang-format on */
