/*
 * book_file: a book's entries from JSON in either spelling (SillyTavern's key/order/disable,
 * a card book's keys/insertion_order/enabled and extensions), as they occur: null, numbers as
 * texts, one value for a list. Bad members take their defaults, rows that are no objects are left
 * out; receipts of an import are made elsewhere (card/lore_file.h).
 */
#ifndef LORE_BOOK_FILE_H
#define LORE_BOOK_FILE_H

#include "base/json.h"
#include "lore/lore.h"

/* Entries sorted by number, as SillyTavern walks them. Texts are borrowed from `book`; the list is in `a`. */
size_t lore_entries_read(struct arena *a, const struct json *book, const struct lore_entry **out);

/* The same, compiled. `name` may be absent: the book's own. */
struct lore_book *lore_book_read(struct arena *a, struct str name, const struct json *book);

#endif
