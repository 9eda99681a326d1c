/*
 * clean: text from a model server made fit for us. Bytes that are not UTF-8, U+0000 and halves of surrogate pairs become
 * U+FFFD (models.md A1); a pair or a character that was split over two events is joined. Knows no dialect.
 *
 * JSON readers lose halves of pairs and refuse stray bytes, so a JSON text is prepared first: each is written as a mark (U+FDD0
 * and a private-use character), a real U+FDD0 is doubled. Every text taken out of it goes through clean_text.
 */
#ifndef LLM_CLEAN_H
#define LLM_CLEAN_H

#include "base/sb.h"

/* A JSON text with no NULs, and marks for bad bytes and lone halves; `text` itself if there is nothing to do. */
struct str clean_json(struct arena *a, struct str text);

/* One channel of text that comes in pieces. Starts zeroed. */
struct clean_join {
	uint32_t high; /* first half of a pair at the end of the last piece; 0 = none */
	char bytes[4]; /* the beginning of a character there */
	uint8_t n;
};

/* Appends a piece taken from a prepared JSON text, marks resolved; a half at its very end waits for the next piece. */
void clean_text(struct clean_join *j, struct sb *out, struct str piece);
/* The channel has ended: a half that still waits becomes U+FFFD. */
void clean_end(struct clean_join *j, struct sb *out);
/* A whole text at once, in the arena. Absent stays absent. */
struct str clean_whole(struct arena *a, struct str text);

#endif
