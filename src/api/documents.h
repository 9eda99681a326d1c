/*
 * documents: presets, worldbooks and regex profiles are one kind of thing: a named file with
 * versions. A row says which, how its file is read, and what its routes answer; the handlers are
 * shared. route.arg is the row.
 */
#ifndef API_DOCUMENTS_H
#define API_DOCUMENTS_H

#include "api/rest.h"
#include "card/receipt.h"
#include "store/asset.h"

/* A file as read: what is stored. */
struct document_file {
	struct str name;             /* the file's own, else the fallback; absent = none */
	struct str doc;              /* normalised JSON text */
	struct str raw;              /* as it came */
	struct json *receipt;
	struct json *extra;          /* further members of the import answer, or NULL */
};

/* What a file is read from: its bytes, or a document that came inside a body. */
struct document_source {
	const struct import_file *file; /* NULL = the members below */
	const struct json *doc;
	struct str text;             /* source bytes of doc */
	struct str fallback_name;
};

struct document_kind {
	enum asset_kind asset;
	struct resource res;         /* of the list */
	const struct field *answer;  /* with `data` */
	/* Reads a file; -1 with *err. */
	int (*read)(struct arena *a, const struct document_source *src, struct document_file *out, struct import_error *err);
	/* The stored document as the wire's `data`; NULL = as stored. */
	struct str (*data)(struct arena *a, struct str doc);
	/* The stored document as a file for export; NULL = as stored. */
	struct str (*file)(struct arena *a, struct str doc);
	const char *placeholder;     /* name of a file that has none */
	/* May be NULL: one was imported (inside its transaction, `in` NULL for an upload) or deleted. 0 or -1. */
	int (*imported)(struct request *r, const struct asset *asset);
	int (*deleted)(struct request *r, struct str id);
};

extern const struct document_kind document_preset, document_worldbook, document_regex;

/* clang-format off */
/* What every answer says of a document. */
#define DOCUMENT_FIELDS \
	{ "id", FT_STRING, FF_READONLY }, \
	{ "name", FT_STRING }, \
	{ "source", FT_STRING, FF_READONLY }, \
	{ "created_at", FT_TIME, FF_READONLY }, \
	{ "updated_at", FT_TIME, FF_READONLY }, \
	{ "version", FT_INT, FF_READONLY, .bounded = true, .min = 1, .max = INT64_MAX }
/* clang-format on */

extern const struct field document_list_fields[], document_data_fields[], document_import_answer[];
extern const struct field document_guard_query[];

int documents_get(struct request *r);     /* GET /x/{id} */
int documents_put(struct request *r);     /* PUT /x/{id}: body name, data, guards */
int documents_delete(struct request *r);  /* DELETE /x/{id}?expected_version= */
int documents_import(struct request *r);  /* POST /import/x: body name?, data; or the file itself, or a form */
int documents_export(struct request *r);  /* GET /export/x/{id} */

/* The head and its document, in a transaction of its own. 0, or -1 (not found). */
int document_load(struct request *r, const struct document_kind *k, struct str id, struct asset *asset_out, struct str *doc_out);
/* The members of a document's answers from `id` to `version`, without the closing brace. */
void document_head(struct sb *out, const struct asset *a);

/* For handlers that change a document: checks the guard, loads it, calls edit, saves the result. */
struct document_edit {
	const struct document_kind *kind;
	struct str id;
	struct asset_guard guard;
	/* Changes *doc, in place or to another one; 0, or -1 with the error recorded. May run twice. */
	int (*edit)(struct request *r, struct json **doc, void *arg);
	void *arg;
	struct str name;             /* new name; absent = unchanged */
	struct asset asset;          /* out: as saved */
};
int document_edit_tx(struct request *r, void *edit); /* for rest_tx, DB_WRITE */

/* expected_version, expected_revision, expected_updated_at of a body or query. */
struct asset_guard guard_of(const struct json *in);
/* Records an import's error as the envelope's 400 import_parse_error (or 413). Returns -1. */
int import_refuse(struct ctx *c, const char *what, const struct import_error *err);
/*
 * The file of an import that is no JSON body, and the fields of its form by their table. 0, or -1. The name to fall back
 * on is that of the file.
 */
int import_upload(struct request *r, const struct field *form, struct import_file *file_out, struct json **fields_out);
/* A file name for content-disposition. */
const char *file_name(struct arena *a, const char *name, const char *suffix);

#endif
