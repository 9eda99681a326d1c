/*
 * Private to src/card: what reading and writing cards share.
 */
#ifndef CARD_PRIVATE_H
#define CARD_PRIVATE_H

#include "card.h"
#include "charx.h"
#include "shape.h"

/* Picture and assets of a CHARX. */
void card_take_assets(struct arena *a, const struct charx *x, struct card *card);

#endif
