/*
 * arena: the one allocator. A request, a job or a process has an arena; what is
 * allocated lives until the arena is reset or rewound. Allocation never fails
 * (out of memory logs and aborts; the supervisor restarts us). Memory is zeroed.
 * ASan builds poison what is free and leave gaps between pieces, so overflows show.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "str.h"

#include <stdarg.h>

struct arena;
struct arena_mark {
	void *chunk;
	size_t used;
	void *defer;
};

struct arena *arena_create(const char *name, size_t chunk); /* chunk: bytes per block, 0 = 16 KiB */
void arena_destroy(struct arena **a);                       /* runs deferred clean-up, sets *a to NULL */
void arena_reset(struct arena *a);                          /* clean-up, keeps the first block */
size_t arena_bytes(const struct arena *a);                  /* bytes held from the system */

void *arena_alloc(struct arena *a, size_t n); /* zeroed, aligned for any type, never NULL */
void *arena_alloc_raw(struct arena *a, size_t n); /* not zeroed: for bytes that are written at once */
void *arena_copy(struct arena *a, const void *p, size_t n);
#define arena_new(a, T) ((T *)arena_alloc((a), sizeof(T)))
#define arena_array(a, T, n) ((T *)arena_alloc_n((a), (n), sizeof(T)))
void *arena_alloc_n(struct arena *a, size_t n, size_t size); /* checks n * size */
/* Grows a piece in place if it is the newest and its block has room; the new part is not zeroed. For builders. */
bool arena_extend(struct arena *a, void *p, size_t old, size_t n);

/* Copies; all NUL-terminated. */
char *arena_strdup(struct arena *a, struct str s);
struct str arena_str(struct arena *a, struct str s); /* the copy as a slice; absent stays absent */
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF(2, 3);
char *arena_vprintf(struct arena *a, const char *fmt, va_list ap) PRINTF(2, 0);

/*
 * Registers fn(obj) to run when the arena is reset, destroyed or rewound past this
 * point, newest first. For every foreign object, at its birth. Returns obj; a NULL
 * obj registers nothing.
 */
void *arena_defer(struct arena *a, void (*fn)(void *), void *obj);

/* Temporary memory inside loops: everything after the mark is released (clean-up included). */
struct arena_mark arena_mark(const struct arena *a);
void arena_rewind(struct arena *a, struct arena_mark m);

#endif
