/*
 * base64: as pictures carry it: both alphabets, white space anywhere, padding or not. Private to src/card.
 */
#ifndef CARD_BASE64_H
#define CARD_BASE64_H

#include "base/arena.h"

/* STR_NULL if a byte is not of the alphabet or the length is impossible. */
struct str base64_decode(struct arena *a, struct str text);
struct str base64_encode(struct arena *a, struct str bytes);

#endif
