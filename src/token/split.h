/*
 * split: cuts a text into the pieces that are encoded one by one, as the encodings' regular
 * expressions do, written by hand: linear time, no allocation. Private to src/token.
 */
#ifndef TOKEN_SPLIT_H
#define TOKEN_SPLIT_H

#include "base/str.h"

enum split_class {
	CLASS_OTHER,
	CLASS_UPPER,  /* Lu, Lt */
	CLASS_LOWER,  /* Ll */
	CLASS_BOTH,   /* Lm, Lo: counts as upper and lower */
	CLASS_MARK,   /* M: as BOTH in a word of o200k, but no letter */
	CLASS_NUMBER, /* N */
	CLASS_SPACE,  /* white space except the next */
	CLASS_BREAK,  /* CR, LF */
	CLASS_END
};

/* Fills the class tables from classes.inc; idempotent, to be called once before the others. */
void split_setup(void);
enum split_class split_class_of(uint32_t rune);

/* End of the piece that starts at p < end. */
typedef const uint8_t *split_fn(const uint8_t *p, const uint8_t *end);
split_fn split_o200k;
split_fn split_cl100k;

#endif
