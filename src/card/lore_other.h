/*
 * lore_other: books of other programs, rewritten as SillyTavern's converters do. Private to src/card.
 */
#ifndef CARD_LORE_OTHER_H
#define CARD_LORE_OTHER_H

#include "lore_file.h"

/* The book in SillyTavern's form and *shape set, or NULL if `doc` is no such file. */
struct json *lore_from_other(struct arena *a, const struct json *doc, enum lore_shape *shape);

#endif
