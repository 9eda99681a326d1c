/*
 * import: says what an uploaded file is, by its bytes. The readers of the kinds do the rest;
 * a reader given another kind's file refuses it by name.
 */
#ifndef CARD_IMPORT_H
#define CARD_IMPORT_H

#include "receipt.h"

enum import_kind {
	IMPORT_UNKNOWN,
	IMPORT_CHARACTER,
	IMPORT_PRESET,
	IMPORT_WORLDBOOK,
	IMPORT_REGEX,
	IMPORT_CHAT,
	IMPORT_THCHAT
};
enum import_container { IMPORT_JSON, IMPORT_JSONL, IMPORT_PNG, IMPORT_ZIP, IMPORT_OTHER };

/* Container by signature: PNG, a zip (also behind a prefix), JSON, JSON lines. */
enum import_container import_container(struct str bytes);
/* Kind of a JSON document by its fields. */
enum import_kind import_kind_of(const struct json *doc);
/* Kind of an export of Marinara's own form, {"type":"marinara_…","version","data"}; UNKNOWN if it is none of the two that
 * are read. Its texts' conditionals are Marinara's: the reader stores that with them (spec conditional-dialects 3). */
enum import_kind import_marinara(const struct json *doc);
/* Kind of a whole file; containers are looked into only as far as needed. */
enum import_kind import_detect(struct arena *a, struct str bytes);
const char *import_kind_name(enum import_kind k); /* "character card", "preset", … for messages */

#endif
