/*
 * shape: tolerance (decision 18) in one place: known fields of an object are brought to the
 * type they should have. null means absent, numbers may be written as text, one value stands
 * for a list of one. What cannot be understood is taken out with a receipt; the raw file keeps it.
 * Private to src/card.
 */
#ifndef CARD_SHAPE_H
#define CARD_SHAPE_H

#include "receipt.h"

enum shape {
	SHAPE_TEXT,
	SHAPE_INT,
	SHAPE_NUMBER,
	SHAPE_BOOL,
	SHAPE_TEXTS, /* list of texts */
	SHAPE_TAGS,  /* the same; one text is split at commas */
	SHAPE_LIST,
	SHAPE_OBJECT,
	SHAPE_LEVEL, /* bool or integer */
	SHAPE_ANY
};

enum shape_default {
	SHAPE_ABSENT,
	SHAPE_NULL,
	SHAPE_EMPTY /* "", [], {} */,
	SHAPE_VALUE /* .value, as the shape says */
};

struct shape_field {
	const char *key;
	enum shape shape;
	enum shape_default dflt;
	int value;
};

struct shaper {
	struct arena *a;
	struct receipt *receipt; /* may be NULL */
	const char *path;        /* of the object, "" = the root */
	bool sparse;             /* absent members stay absent, whatever their default */
};

/* Brings the fields of `o` into shape in place, those that are absent to their default. */
void shape_fix(const struct shaper *s, struct json *o, const struct shape_field *fields, size_t n);
/* One value: the value itself if it has the shape, a new root if it could be understood, NULL if not (or
 * null). */
struct json *shape_value(const struct shaper *s, struct json *v, const struct shape_field *f);
/* Reports every member of `o` that is in none of the tables as unsupported but preserved. */
void shape_unknown(const struct shaper *s, const struct json *o, const struct shape_field *fields, size_t n,
    const char *const *more);
const struct shape_field *shape_find(const struct shape_field *fields, size_t n, struct str key);
/* Path of a member (its name escaped as in JSON pointers) or of an element. */
const char *shape_path(struct arena *a, const char *path, struct str key);
const char *shape_path_at(struct arena *a, const char *path, size_t i);

/* Text of a JSON document from outside: BOM cut, NUL and bad UTF-8 cleaned, with receipts. */
struct str shape_text(struct arena *a, struct str bytes, struct receipt *r);
/* Parses such a text. NULL and *err ("invalid_json", with place) if it is none, or too long. `path` names it.
 */
struct json *shape_read(struct arena *a, struct str text, const char *path, struct import_error *err);

#endif
