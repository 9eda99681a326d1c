/*
 * charx: the zip around a card: finding card.json, naming what is inside, one file, a new
 * archive. Nothing is unpacked that is not asked for, and never more than the limits say.
 */
#ifndef CARD_CHARX_H
#define CARD_CHARX_H

#include "receipt.h"

struct charx_entry {
	struct str path; /* normalised, relative */
	int64_t size;    /* as the archive says, -1 = it does not */
};

/* An archive is read by its directory, or, where that is missing or wrong, from front to back. */
enum charx_way { CHARX_DIRECTORY, CHARX_STREAM, CHARX_WAYS };

struct charx {
	enum charx_way way;
	struct str zip;                  /* the archive without what stands before it */
	struct str prefix;               /* that: a JPEG, a program; "" if nothing */
	struct str card;                 /* bytes of card.json */
	VEC(struct charx_entry) entries; /* the other files, in order */
};

/* True if the bytes are a zip, or hold one behind a prefix that is no text. */
bool charx_is(struct str bytes);
/*
 * 0, or -1: not_an_archive, archive_broken, no_card_json, archive_entries, too_large (card.json, or what all
 * entries say they unpack to). Entries with unsafe names and nested archives are named in the receipt.
 */
int charx_open(
    struct arena *a, struct str bytes, struct charx *out, struct receipt *r, struct import_error *err);
/* Bytes of one file by its normalised path, at most `max`. -1: asset_missing, archive_broken, too_large. */
int charx_file(
    struct arena *a, struct str zip, struct str path, size_t max, struct str *out, struct import_error *err);
/* "a/./b" and "a\\b" become "a/b"; STR_NULL for absolute paths, drives, ".." and what is too long or empty.
 */
struct str charx_path(struct arena *a, struct str name);

struct charx_new {
	struct str card_json;
	struct str original;   /* an archive whose other files go over, or absent */
	struct str icon;       /* a picture to add, or absent */
	const char *icon_path; /* where */
};
/* A new archive. -1: archive_write, or what reading `original` gives. */
int charx_write(struct arena *a, const struct charx_new *n, struct str *out, struct import_error *err);

#endif
