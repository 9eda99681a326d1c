/*
 * memo: what sets of scripts made of texts, so that a turn runs them only over text that is new. Bounded in
 * bytes, shared by threads; dropping it changes nothing. Keys are hashes of text and scripts under seeds of the
 * process: nobody outside can make two of them meet.
 */
#ifndef REGEX_MEMO_H
#define REGEX_MEMO_H

#include "regex/script.h"

struct regex_memo *regex_memo_create(struct arena *a, size_t bytes); /* its contents go with the arena */

struct regex_memo_stats {
	size_t entries, bytes;
	uint64_t hits, misses;
};
void regex_memo_stats(struct regex_memo *m, struct regex_memo_stats *out);

/* ---- private to regex ---- */

struct regex_memo_key {
	uint64_t v[2];
};
struct regex_memo_key regex_memo_print(struct str s);                                        /* of a text */
void regex_memo_mix(struct regex_memo_key *k, const struct regex_memo_key *print);           /* order matters */
/* True: *text is what the scripts made of it (in `a`, or untouched), *own its parts if asked for. */
bool regex_memo_get(struct regex_memo *m, const struct regex_memo_key *k, struct arena *a, struct str *text, struct regex_own *own);
/* `out` absent = the text stays as it is. */
void regex_memo_put(struct regex_memo *m, const struct regex_memo_key *k, struct str out, const struct regex_own *own);

#endif
