/*
 * lore_file: standalone world books of both spellings (SillyTavern's `entries` object or array
 * with key/order/disable…, card books with keys/insertion_order/enabled…) and books embedded
 * in cards, into one document in SillyTavern's form.
 *
 * Document: {"name"?, "entries": {"<uid>": entry…}, …unknown root fields}. Entries are sorted by
 * uid; their known fields have SillyTavern's names and the right types (st-assembly.md 2.1) and
 * may be absent, which means the default of that table; unknown fields of an entry stay in it, so
 * that the way back to a card book loses nothing.
 */
#ifndef CARD_LORE_FILE_H
#define CARD_LORE_FILE_H

#include "receipt.h"

enum lore_shape { LORE_ST, LORE_ST_ARRAY, LORE_CARD_BOOK, LORE_NOVELAI, LORE_AGNAI, LORE_RISU, LORE_MARINARA };

struct lore_file {
	enum lore_shape shape;
	struct str name; /* of the book; the fallback if it has none; absent if neither */
	struct str raw;  /* as it came */
	struct json *doc;
	size_t entries;
	struct receipt receipt;
};

/* Reads a standalone file. 0, or -1 with *err. */
int lore_file_read(
    struct arena *a, const struct import_file *file, struct lore_file *out, struct import_error *err);
int lore_file_read_json(struct arena *a, const struct json *doc, struct str text, struct str fallback_name,
    struct lore_file *out, struct import_error *err);

/* Converts one book of any shape to the document; `path` is put before receipt paths. NULL = it has no
 * entries list. */
struct json *lore_normalise(struct arena *a, const struct json *book, const char *path, struct receipt *r);

/*
 * A card's own book brought in place to the types that card readers require; order, numbers and
 * unknown fields stay. For cards, whose document keeps its book in the card's form.
 */
void lore_fix_card_book(struct arena *a, struct json *book, const char *path, struct receipt *r);
/* The document with every field of every entry present, for who wants to show them. */
struct json *lore_complete(struct arena *a, const struct json *doc);
/* SillyTavern's world file; fixed point of lore_file_read. */
struct json *lore_export_st(struct arena *a, const struct json *doc);
/* A card's character_book (keys, insertion_order, extensions.*). */
struct json *lore_export_card_book(struct arena *a, const struct json *doc);

#endif
