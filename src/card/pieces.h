/*
 * pieces: a long text that is read through a window, wherever it lies: in memory, in a database, in a file.
 * Who reads names places in it, as often and in whatever order; going on is cheap, going back costs a piece.
 */
#ifndef CARD_PIECES_H
#define CARD_PIECES_H

#include "base/arena.h"

#define PIECES_ROOM (256u << 10) /* bytes that a fetch may give at once */

struct pieces {
	int64_t size; /* of the whole text */
	/* Copies bytes from `at` on: at least one, at most PIECES_ROOM. How many, or -1; why is known to it.
	 */
	int64_t (*fetch)(void *arg, int64_t at, char *to);
	void *arg;
	struct arena *keep; /* of the window */
	bool failed;        /* out: a fetch did */
	/* the window */
	const char *p;
	char *own; /* the same, where it may be written */
	int64_t at;
	size_t n, cap;
};

/* A text in memory. */
struct pieces pieces_of(struct str text);
/*
 * Bytes from `at` on: at least `want` of them, where the text has so many, and what the window holds behind
 * them. They live until the next call. 0 or -1 (`failed`).
 */
int pieces_at(struct pieces *p, int64_t at, size_t want, struct str *out);

#endif
