/*
 * excerpt: the part of a text where words of a search stand, cut into pieces that match and pieces that do not. Pure: text in,
 * JSON out.
 */
#ifndef API_EXCERPT_H
#define API_EXCERPT_H

#include "base/sb.h"

#define EXCERPT_BEFORE 60  /* characters in front of the first match */
#define EXCERPT_LENGTH 240 /* characters in all */
#define EXCERPT_READ 262144 /* bytes of a text that are looked at: as far as search reads */

/*
 * Appends [{"text","match"}, …] to `out`. terms: lower case; a term counts where a word begins with it, in scripts without spaces
 * anywhere. Without a match: the beginning of the text. Where something was left out a piece begins or ends with "…".
 */
void excerpt_print(struct arena *a, struct sb *out, struct str text, const struct str *terms, size_t n);

#endif
