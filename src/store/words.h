/*
 * words: what search reads (message_words). They are filled in behind the turns, in the order of the
 * messages.
 */
#ifndef STORE_WORDS_H
#define STORE_WORDS_H

#include "db/db.h"

enum words_left { WORDS_NONE, WORDS_MORE, WORDS_LATER }; /* later: a transaction must end first */

/*
 * Fills in the words of the entered account's messages, some hundreds in a transaction, until none waits or
 * `until` (ms since 1970) has come; nothing if fewer than `least` wait. Outside of db_tx. -1, or what is
 * left.
 */
int words_fill(struct ctx *c, int64_t least, int64_t until);

#endif
