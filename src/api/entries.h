/*
 * entries: what stands inside a document and is edited one by one: prompts of a preset, entries
 * of a worldbook. A row says where they are, what they are known by and how the API's names map
 * to the file's; the handlers are shared. Every edit is a version of the document, and all of
 * them take its guard. route.arg is the row.
 */
#ifndef API_ENTRIES_H
#define API_ENTRIES_H

#include "api/documents.h"

/* A field of the API and the member of the file it stands for. */
struct entry_field {
	const char *api, *file;
	const char *dflt;            /* JSON text shown when the file says nothing */
	bool level;                  /* the file's false, true or level is the API's null, 1 or level */
};

struct entry_kind {
	const struct document_kind *document;
	const char *label;           /* "preset entry" */
	const char *document_param;  /* path parameter of the document */
	const char *key_param;       /* path parameter of the entry, and its name in answers */
	const char *list;            /* member of a batch body: "identifiers" */
	const char *container;       /* member of the document */
	const char *member;          /* of an entry in an array: its key; NULL = the container is an object by key */
	const struct entry_field *map; /* ends with .api NULL */
	/* Adds to the shown entry what the map cannot say. */
	void (*show)(struct arena *a, const struct asset *asset, const struct json *doc, const struct json *entry, struct json *out);
	/* Checks the key of a new entry, or makes it; 0, or -1 with the error recorded. */
	int (*key_new)(struct request *r, const struct json *doc, struct str *key_out);
	/* May be NULL: a new, still empty entry has joined; the body's fields were written, the map's ones already; an entry has left. */
	int (*joined)(struct request *r, struct json *doc, struct str key, struct json *entry);
	int (*written)(struct request *r, struct json *doc, struct json *entry, const struct json *in);
	void (*left)(struct arena *a, struct json *doc, struct str key);
};

int entries_get(struct request *r);          /* GET …/entries/{key} */
int entries_create(struct request *r);       /* POST …/entries: fields, expected_version? */
int entries_patch(struct request *r);        /* PATCH …/entries/{key} */
int entries_delete(struct request *r);       /* DELETE …/entries/{key}?expected_version= */
int entries_batch_update(struct request *r); /* body: keys, fields, expected_version? */
int entries_batch_reorder(struct request *r); /* body: items [{key, …fields}], expected_version? */
int entries_batch_delete(struct request *r); /* body: keys, expected_version? */

/* The entry as the API shows it, as a root of its own. */
struct json *entry_show(struct arena *a, const struct entry_kind *k, const struct asset *asset, const struct json *doc, struct str key,
    const struct json *entry);
/* The first entry of that key; NULL if there is none. */
struct json *entry_find(const struct entry_kind *k, const struct json *doc, struct str key);

#endif
