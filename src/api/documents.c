#include "api/documents.h"

#include "base/limits.h"
#include "base/sb.h"

/* clang-format off */
const struct field document_list_fields[] = {
	DOCUMENT_FIELDS,
	FIELD_END
};
const struct field document_data_fields[] = {
	DOCUMENT_FIELDS,
	{ "data", FT_ANY },
	FIELD_END
};
const struct field document_import_answer[] = {
	{ "id", FT_STRING },
	{ "name", FT_STRING },
	{ "source", FT_STRING },
	{ "receipt", FT_OBJECT, .doc = "what the import kept, normalised, preserved without effect, refused, and what will surprise" },
	FIELD_END
};
const struct field document_guard_query[] = {
	{ "expected_version", FT_INT, .bounded = true, .min = 1, .max = INT64_MAX },
	FIELD_END
};
/* clang-format on */

struct asset_guard
guard_of(const struct json *in)
{
	return (struct asset_guard){ .version = json_get_int(in, "expected_version", -1), .revision = json_get_int(in, "expected_revision", -1),
		.updated_at = json_get_int(in, "expected_updated_at", -1) };
}

int
import_refuse(struct ctx *c, const char *what, const struct import_error *err)
{
	struct sb details = sb_new(c->a);

	fail(c, err->too_large ? ERR_TOO_LARGE : ERR_INVALID, err->too_large ? "payload_too_large" : "import_parse_error", "%s cannot be imported: %s", what,
	    err->message);
	sb_adds(&details, "{\"reason\":");
	sb_add_json(&details, str_c(err->code));
	sb_adds(&details, ",\"path\":");
	sb_add_json(&details, str_c(err->path ? err->path : ""));
	if (err->offset >= 0)
		sb_addf(&details, ",\"offset\":%lld", (long long)err->offset);
	sb_addc(&details, '}');
	return fail_details(c, sb_c(&details));
}

const char *
file_name(struct arena *a, const char *name, const char *suffix)
{
	struct sb sb = sb_new(a);

	for (const char *p = name; *p; p++)
		sb_addc(&sb, (unsigned char)*p < 0x20 || strchr("\"\\/:*?<>|", *p) ? '_' : *p);
	sb_adds(&sb, sb.n ? suffix : "export");
	return sb_c(&sb);
}

/* ---- printing ---- */

void
document_head(struct sb *out, const struct asset *a)
{
	sb_adds(out, "{\"id\":");
	sb_add_json(out, str_c(a->id));
	sb_adds(out, ",\"name\":");
	sb_add_json(out, str_c(a->name));
	sb_adds(out, ",\"source\":");
	sb_add_json(out, str_c(a->source));
	sb_addf(out, ",\"created_at\":%lld,\"updated_at\":%lld,\"version\":%lld", (long long)a->created_at, (long long)a->updated_at, (long long)a->version);
}

static int
document_missing(struct request *r, const struct document_kind *k)
{
	return fail(r->ctx, ERR_NOT_FOUND, "not_found", "%s not found", asset_kinds[k->asset].label);
}

/* ---- reading ---- */

struct load_work {
	const struct document_kind *kind;
	struct str id;
	struct asset asset;
	struct str doc;
};

static int
load_work(struct request *r, void *arg)
{
	struct load_work *w = arg;
	int rc = asset_load(r->ctx, w->kind->asset, w->id, false, &w->asset, &w->doc);

	return rc == 0 ? document_missing(r, w->kind) : rc < 0 ? -1 : 0;
}

int
document_load(struct request *r, const struct document_kind *k, struct str id, struct asset *asset_out, struct str *doc_out)
{
	struct load_work w = { .kind = k, .id = id };

	if (rest_tx(r, DB_READ, load_work, &w) < 0)
		return -1;
	*asset_out = w.asset;
	*doc_out = w.doc;
	return 0;
}

int
documents_get(struct request *r)
{
	const struct document_kind *k = r->route->arg;
	struct asset asset;
	struct str doc;
	struct sb out = sb_new(r->ctx->a);

	if (document_load(r, k, req_param(r, "id"), &asset, &doc) < 0)
		return -1;
	document_head(&out, &asset);
	sb_adds(&out, ",\"data\":");
	sb_add(&out, k->data ? k->data(r->ctx->a, doc) : doc);
	sb_addc(&out, '}');
	return reply_data(r, sb_str(&out));
}

int
documents_export(struct request *r)
{
	const struct document_kind *k = r->route->arg;
	struct asset asset;
	struct str doc;

	if (document_load(r, k, req_param(r, "id"), &asset, &doc) < 0)
		return -1;
	return reply_file(r, "application/json; charset=utf-8", file_name(r->ctx->a, asset.name, ".json"), k->file ? k->file(r->ctx->a, doc) : doc);
}

/* ---- writing ---- */

struct save_work {
	const struct document_kind *kind;
	struct document_file file;
	struct str name;
	struct asset asset;
};

static struct asset_content
content_of(struct ctx *c, const struct document_file *f)
{
	return (struct asset_content){ .doc = f->doc, .raw = f->raw, .receipt = f->receipt ? json_text(c->a, f->receipt) : STR_NULL };
}

static int
create_work(struct request *r, void *arg)
{
	struct save_work *w = arg;
	struct asset_content content = content_of(r->ctx, &w->file);

	if (asset_create(r->ctx, w->kind->asset, w->name, "sillytavern", &content, &w->asset) < 0)
		return -1;
	return w->kind->imported ? w->kind->imported(r, &w->asset) : 0;
}

/* `data` of a JSON body; a text is the text of a file. */
static int
read_file(struct request *r, struct save_work *w, struct str fallback)
{
	struct import_error err = { .offset = -1 };
	const struct json *data = json_get(r->in, "data");
	struct import_file file = { .bytes = json_str(data), .fallback_name = fallback };
	struct document_source src = { .file = json_type(data) == JSON_STRING ? &file : NULL, .doc = data, .text = json_raw(r->body, "data"),
		.fallback_name = fallback };

	if (w->kind->read(r->ctx->a, &src, &w->file, &err) < 0)
		return import_refuse(r->ctx, asset_kinds[w->kind->asset].label, &err);
	return 0;
}

int
import_upload(struct request *r, const struct field *form, struct import_file *file_out, struct json **fields_out)
{
	struct upload up;

	if (req_upload(r, &up) < 0 || field_take(r->ctx, form, up.fields, FIELD_QUERY, fields_out, NULL) < 0)
		return -1;
	*file_out = (struct import_file){ .bytes = up.bytes, .media_type = up.media_type, .file_name = up.file_name,
		.fallback_name = up.file_name.p ? import_stem(up.file_name) : STR_NULL };
	return 0;
}

static int
read_upload(struct request *r, struct save_work *w, struct str *given)
{
	static const struct field form[] = { { "name", FT_STRING }, FIELD_END };
	struct import_error err = { .offset = -1 };
	struct import_file file;
	struct document_source src = { .file = &file };
	struct json *fields;

	if (import_upload(r, form, &file, &fields) < 0)
		return -1;
	*given = json_get_str(fields, "name");
	if (given->n > 0)
		file.fallback_name = *given;
	if (w->kind->read(r->ctx->a, &src, &w->file, &err) < 0)
		return import_refuse(r->ctx, asset_kinds[w->kind->asset].label, &err);
	return 0;
}

int
documents_import(struct request *r)
{
	struct save_work w = { .kind = r->route->arg };
	struct sb out = sb_new(r->ctx->a);
	struct str given = json_get_str(r->in, "name");

	if ((r->in ? read_file(r, &w, given) : read_upload(r, &w, &given)) < 0)
		return -1;
	w.name = given.n > 0 ? given : w.file.name.n > 0 ? w.file.name : str_c(w.kind->placeholder);
	if (rest_tx(r, DB_WRITE, create_work, &w) < 0)
		return -1;
	sb_adds(&out, "{\"id\":");
	sb_add_json(&out, str_c(w.asset.id));
	sb_adds(&out, ",\"name\":");
	sb_add_json(&out, str_c(w.asset.name));
	sb_adds(&out, ",\"source\":\"sillytavern\"");
	if (w.file.extra) {
		struct str members = json_text(r->ctx->a, w.file.extra);

		sb_addc(&out, ',');
		sb_add(&out, str_sub(members, 1, members.n - 1));
	}
	sb_adds(&out, ",\"receipt\":");
	sb_add(&out, json_text(r->ctx->a, w.file.receipt));
	sb_addc(&out, '}');
	return reply_data(r, sb_str(&out));
}

static int
put_work(struct request *r, void *arg)
{
	struct save_work *w = arg;
	struct asset_content content = content_of(r->ctx, &w->file);
	int rc = asset_save(r->ctx, w->kind->asset, req_param(r, "id"), guard_of(r->in), w->name, &content, &w->asset);

	return rc == 0 ? document_missing(r, w->kind) : rc < 0 ? -1 : 0;
}

int
documents_put(struct request *r)
{
	struct save_work w = { .kind = r->route->arg, .name = json_get_str(r->in, "name") };
	struct sb out = sb_new(r->ctx->a);

	if (read_file(r, &w, w.name) < 0 || rest_tx(r, DB_WRITE, put_work, &w) < 0)
		return -1;
	document_head(&out, &w.asset);
	sb_addc(&out, '}');
	return reply_data(r, sb_str(&out));
}

int
document_edit_tx(struct request *r, void *arg)
{
	struct document_edit *e = arg;
	struct json_error err;
	struct asset_content content = { 0 };
	struct str text;
	struct json *doc;
	int rc = asset_hold(r->ctx, e->kind->asset, e->id, e->guard);

	if (rc > 0)
		rc = asset_load(r->ctx, e->kind->asset, e->id, false, &e->asset, &text);
	if (rc <= 0)
		return rc < 0 ? -1 : document_missing(r, e->kind);
	doc = json_read(r->ctx->a, text, LIM_JSON_DEPTH, &err);
	if (doc == NULL)
		return fail(r->ctx, ERR_INTERNAL, "internal_error", "stored document cannot be read");
	if (e->edit(r, &doc, e->arg) < 0)
		return -1;
	content.doc = json_text(r->ctx->a, doc);
	return asset_save(r->ctx, e->kind->asset, e->id, ASSET_NO_GUARD, e->name, &content, &e->asset) < 0 ? -1 : 0;
}

static int
delete_work(struct request *r, void *arg)
{
	const struct document_kind *k = r->route->arg;
	int rc = asset_hold(r->ctx, k->asset, req_param(r, "id"), guard_of(r->query));

	(void)arg;
	if (rc > 0)
		rc = resource_delete(r->ctx, &k->res, req_param(r, "id"));
	if (rc > 0 && k->deleted && k->deleted(r, req_param(r, "id")) < 0)
		return -1;
	return rc == 0 ? document_missing(r, k) : rc < 0 ? -1 : 0;
}

int
documents_delete(struct request *r)
{
	return rest_tx(r, DB_WRITE, delete_work, NULL) < 0 ? -1 : reply_empty(r);
}
