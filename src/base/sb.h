/*
 * sb: append-only string builder in an arena. Lives on the caller's stack.
 * Always NUL-terminated. The first growth failure or limit breach sticks.
 */
#ifndef BASE_SB_H
#define BASE_SB_H

#include "arena.h"

struct sb {
	struct arena *a;
	char *p;
	size_t n, cap;
	size_t max;    /* 0 = none; an append that would pass it is dropped and sets `over` */
	bool over;
};

struct sb sb_new(struct arena *a);
struct sb sb_new_max(struct arena *a, size_t max);
void sb_reserve(struct sb *s, size_t more);
void sb_add(struct sb *s, struct str v);
void sb_addc(struct sb *s, char c);
void sb_adds(struct sb *s, const char *z); /* NULL adds nothing */
void sb_addf(struct sb *s, const char *fmt, ...) PRINTF(2, 3);
void sb_addvf(struct sb *s, const char *fmt, va_list ap) PRINTF(2, 0);
void sb_add_int(struct sb *s, int64_t v);
void sb_add_rune(struct sb *s, uint32_t rune);  /* as UTF-8 */
void sb_add_json(struct sb *s, struct str v);   /* quoted and escaped JSON string; absent adds null */
void sb_add_double(struct sb *s, double v);     /* shortest text that reads back equal, as JavaScript prints it */
#define DOUBLE_TEXT 32
size_t sb_print_double(char to[DOUBLE_TEXT], double v); /* the same without a builder; NUL-terminated; returns bytes */
void sb_truncate(struct sb *s, size_t n);

static inline struct str
sb_str(const struct sb *s)
{
	return (struct str){ s->p ? s->p : "", s->n };
}

static inline const char *
sb_c(const struct sb *s)
{
	return s->p ? s->p : "";
}

#endif
