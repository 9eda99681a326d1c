/*
 * parse_private: bytes, words and arguments of one macro, for parse.c.
 */
#ifndef MACRO_PARSE_PRIVATE_H
#define MACRO_PARSE_PRIVATE_H

#include "macro/macro_private.h"

#define NO_POS UINT32_MAX

/* Walks the literal bytes of [at, e) of a node's inner text. */
struct cursor {
	const struct compile *c;
	uint32_t at, e;
	uint32_t child, last; /* next direct child, end of children */
	bool no_quote[2];     /* no ' or " closes a bracket from here on */
};

struct shape {
	uint32_t blank, list, colon; /* first of each outside of nested macros; NO_POS = none */
	bool child_in_name;          /* a nested macro before the first separator */
};

uint32_t row_name(struct compile *c, unsigned row); /* number of the name of a catalogue row */
struct cursor cursor_at(const struct compile *c, uint32_t i, uint32_t s, uint32_t e);
/* Steps to the next literal byte that may separate; false at the end. *child_out: a nested macro was passed.
 */
bool cursor_next(struct cursor *k, bool *child_out);
void add_arg(struct compile *c, uint32_t i, uint32_t s, uint32_t e);
void hash_key(struct compile *c, uint32_t i); /* of a first argument that is a literal key */
void args_list(struct compile *c, uint32_t i, uint32_t s, uint32_t e);  /* split at :: */
void args_words(struct compile *c, uint32_t i, uint32_t s, uint32_t e); /* one per word */
struct shape shape_of(struct compile *c, uint32_t i, uint32_t s, uint32_t e);

#endif
