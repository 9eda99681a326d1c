/*
 * asset: what authors bring (characters, presets, worldbooks, regex profiles, user cards) and
 * their immutable versions. A version's document is stored as its body without the entries plus
 * one document per entry, content-addressed: an edit of one entry writes one small row, equal
 * texts exist once. Text comes out byte for byte as it was put in (entries joined by commas).
 * All functions run inside db_tx.
 */
#ifndef STORE_ASSET_H
#define STORE_ASSET_H

#include "base/json.h"
#include "db/db.h"

enum asset_kind { ASSET_CHARACTER, ASSET_PRESET, ASSET_WORLDBOOK, ASSET_REGEX, ASSET_USER, ASSET__COUNT };

/* The row of a kind: how it is named in the table and in messages, where its entries are. */
struct asset_kind_row {
	const char *name;       /* column kind: "preset" */
	const char *label;      /* "preset", "regex profile" */
	const char *entries;    /* member that holds the entries: "prompts", "entries"; "" = the document is the array; NULL = none */
	const char *conflict;   /* code of a stale guard: "preset_conflict" */
};
extern const struct asset_kind_row asset_kinds[ASSET__COUNT];

struct asset {
	int64_t no, head_no;
	const char *id, *name, *source, *status;
	int64_t version, revision, created_at, updated_at, deleted_at; /* deleted_at 0 = alive */
	/* of the version that was loaded or made */
	int64_t version_no;      /* number counted per asset */
	int64_t version_row;     /* asset_version.no: the cache key of compiled forms */
	const char *version_id, *content_hash;
	int64_t version_created_at;
};

/* A new version's content. */
struct asset_content {
	struct str doc;          /* JSON text, valid */
	struct str raw;          /* the file as it came, when it was text; absent = none */
	struct str picture;      /* bytes; absent = keep the head's */
	const char *picture_mime;
	struct str receipt;      /* JSON; absent = none */
};

/* Expected state of a write; -1 = no check. */
struct asset_guard {
	int64_t version, revision, updated_at;
};
#define ASSET_NO_GUARD ((struct asset_guard){ -1, -1, -1 })

int asset_create(struct ctx *c, enum asset_kind kind, struct str name, const char *source, const struct asset_content *content,
    struct asset *out);
/* New version in force; name absent = unchanged. Equal content makes no new version. 1, 0 not found, -1 (stale guard: conflict). */
int asset_save(struct ctx *c, enum asset_kind kind, struct str id, struct asset_guard guard, struct str name,
    const struct asset_content *content, struct asset *out);
/* Holds the head against other writers until the transaction ends, and checks the guard. 1, 0 not found, -1 (stale: conflict). */
int asset_hold(struct ctx *c, enum asset_kind kind, struct str id, struct asset_guard guard);
/* The head, deleted ones too if asked. 1, 0, -1. doc_out may be NULL. */
int asset_load(struct ctx *c, enum asset_kind kind, struct str id, bool deleted_too, struct asset *out, struct str *doc_out);
/* A version by its id (any asset of the kind); readable after edits and deletes. 1, 0, -1. */
int asset_version_load(struct ctx *c, enum asset_kind kind, struct str version_id, struct asset *out, struct str *doc_out);
/* The raw file of the head's first import, the picture and its mime; absent if none. */
int asset_raw(struct ctx *c, int64_t version_row, struct str *raw_out, struct str *picture_out, const char **mime_out);

/* A stored body with its entries (joined by commas) back in their place. */
struct str asset_join(struct arena *a, enum asset_kind kind, struct str body, struct str parts);

/* A text in the document table; its number. Used by frozen snapshots. */
int document_put(struct ctx *c, struct str body, int64_t *no_out);
int document_get(struct ctx *c, int64_t no, struct str *body_out); /* 1, 0, -1 */

#endif
