/*
 * memo: what sets of scripts made of texts, so that a turn runs them only over text that is new. Bounded in
 * bytes, shared by threads; dropping it changes nothing. Keys are hashes of text and scripts under seeds of the
 * process: nobody outside can make two of them meet.
 */
#ifndef REGEX_MEMO_H
#define REGEX_MEMO_H

#include "regex/script.h"

/* At most `bytes` of results; they go with the arena. */
struct regex_memo *regex_memo_create(struct arena *a, size_t bytes);

struct regex_memo_stats {
	size_t entries, bytes;
	uint64_t hits, misses;
};
/* How full it is and how well it serves. */
void regex_memo_stats(struct regex_memo *m, struct regex_memo_stats *out);

/* ---- private to regex ---- */

struct regex_memo_key {
	uint64_t v[2];
};
/* The key of a text. */
struct regex_memo_key regex_memo_print(struct str s);
/* Makes `print` part of *k; the order of such parts matters. */
void regex_memo_mix(struct regex_memo_key *k, const struct regex_memo_key *print);
/* True: *text is what the scripts made of it (in `a`, or untouched), *own its parts if asked for. */
bool regex_memo_get(struct regex_memo *m, const struct regex_memo_key *k, struct arena *a, struct str *text, struct regex_own *own);
/* Keeps a result: `out` absent = the text stays as it is. */
void regex_memo_put(struct regex_memo *m, const struct regex_memo_key *k, struct str out, const struct regex_own *own);

#endif
