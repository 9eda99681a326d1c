/*
 * utf8: reading and writing code points; Unicode properties through utf8proc.
 * Functions that take text accept any bytes; a bad sequence reads as U+FFFD and
 * advances one byte.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include "arena.h"

#define RUNE_BAD 0xFFFDu

uint32_t utf8_next(struct str s, size_t *pos);          /* code point at *pos, advances; s.n must be > *pos */
size_t utf8_prev(struct str s, size_t pos);             /* start of the character that ends before pos */
int utf8_put(char out[4], uint32_t rune);               /* bytes written; surrogates and > 10FFFF write U+FFFD */
bool utf8_valid(struct str s);                          /* strict: no surrogates, overlongs, > 10FFFF */
size_t utf8_runes(struct str s);                        /* code points */
size_t utf8_units(struct str s);                        /* UTF-16 code units, JavaScript's length */
size_t utf8_whole(struct str s);                        /* bytes up to the last complete character */
/* Byte offset of UTF-16 unit `unit` (clamped to the end; inside a pair: its start). */
size_t utf8_offset_of_unit(struct str s, size_t unit);

/* The door's rule for text from outside: NUL removed, bad sequences become U+FFFD. Returns s itself if clean. */
struct str utf8_clean(struct arena *a, struct str s);

struct str utf8_lower(struct arena *a, struct str s);   /* full lower case, locale-independent, as toLowerCase() */
struct str utf8_upper(struct arena *a, struct str s);
struct str utf8_fold(struct arena *a, struct str s);    /* case folding for comparison */
bool rune_is_letter(uint32_t r);
bool rune_is_digit(uint32_t r);                         /* \p{N} */
bool rune_is_space(uint32_t r);                         /* \s of JavaScript */
struct str utf8_trim(struct str s);                     /* without these at both ends, as JavaScript's trim() */
bool rune_is_word(uint32_t r);                          /* letter, number, mark or connector */

#endif
