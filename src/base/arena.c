/*
 * arena: blocks in a stack, newest first; pieces are cut from the newest block only, so a
 * mark is a position in the stack. Clean-up records live in the arena itself.
 */
#include "base/arena.h"

#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__)
#define ARENA_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_ASAN 1
#endif
#endif

#ifdef ARENA_ASAN
#include <sanitizer/asan_interface.h>
#define poison(p, n) ASAN_POISON_MEMORY_REGION((p), (n))
#define unpoison(p, n) ASAN_UNPOISON_MEMORY_REGION((p), (n))
#define GAP 16
#else
#define poison(p, n) ((void)(p), (void)(n))
#define unpoison(p, n) ((void)(p), (void)(n))
#define GAP 0
#endif

#define ALIGN 16u
#define CHUNK_DEFAULT (16u << 10)
#define PIECE_MAX (SIZE_MAX / 4)

struct chunk {
	struct chunk *older;
	size_t size, used; /* bytes of data */
	_Alignas(ALIGN) unsigned char data[];
};

struct deferred {
	struct deferred *older;
	void (*fn)(void *);
	void *obj;
};

struct arena {
	const char *name;
	size_t chunk_size, held;
	struct chunk *newest;
	struct deferred *defer;
};

_Noreturn static void
out_of_memory(const char *name, size_t n)
{
	log_error("arena.out_of_memory", "arena=%s bytes=%zu", name, n);
	abort();
}

static size_t
round_up(size_t n)
{
	return (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

static void
chunk_push(struct arena *a, size_t size)
{
	struct chunk *c = malloc(sizeof(*c) + size);

	if (!c)
		out_of_memory(a->name, size);
	*c = (struct chunk){ .older = a->newest, .size = size };
	poison(c->data, size);
	a->newest = c;
	a->held += sizeof(*c) + size;
}

static void
chunk_pop(struct arena *a)
{
	struct chunk *c = a->newest;

	a->newest = c->older;
	a->held -= sizeof(*c) + c->size;
	unpoison(c->data, c->size);
	free(c);
}

struct arena *
arena_create(const char *name, size_t chunk)
{
	struct arena *a = malloc(sizeof(*a));

	if (!a)
		out_of_memory(name, sizeof(*a));
	*a = (struct arena){ .name = name, .chunk_size = round_up(chunk ? chunk : CHUNK_DEFAULT) };
	chunk_push(a, a->chunk_size);
	return a;
}

static void
run_deferred(struct arena *a, const struct deferred *stop)
{
	while (a->defer != stop) {
		struct deferred *d = a->defer;

		a->defer = d->older; /* first: fn may register again */
		d->fn(d->obj);
	}
}

void
arena_destroy(struct arena **a)
{
	if (!*a)
		return;
	run_deferred(*a, NULL);
	while ((*a)->newest)
		chunk_pop(*a);
	free(*a);
	*a = NULL;
}

void
arena_reset(struct arena *a)
{
	run_deferred(a, NULL);
	while (a->newest->older)
		chunk_pop(a);
	a->newest->used = 0;
	poison(a->newest->data, a->newest->size);
}

size_t
arena_bytes(const struct arena *a)
{
	return a->held;
}

void *
arena_alloc_raw(struct arena *a, size_t n)
{
	size_t need;
	void *p;

	if (n > PIECE_MAX)
		out_of_memory(a->name, n);
	need = round_up(n ? n : 1) + GAP;
	/* A big piece gets room behind it, so that the small ones that follow share its block. */
	if (a->newest->size - a->newest->used < need)
		chunk_push(a, need > a->chunk_size / 4 ? need + a->chunk_size : a->chunk_size);
	p = a->newest->data + a->newest->used;
	a->newest->used += need;
	unpoison(p, n);
	return p;
}

void *
arena_alloc(struct arena *a, size_t n)
{
	return memset(arena_alloc_raw(a, n), 0, n);
}

bool
arena_extend(struct arena *a, void *p, size_t old, size_t n)
{
	struct chunk *c = a->newest;
	size_t was = round_up(old ? old : 1) + GAP, need;

	if (n > PIECE_MAX || n < old || was > c->used || p != c->data + (c->used - was))
		return false;
	need = round_up(n ? n : 1) + GAP;
	if (c->size - (c->used - was) < need)
		return false;
	c->used += need - was;
	unpoison(p, n);
	return true;
}

void *
arena_alloc_n(struct arena *a, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes))
		out_of_memory(a->name, SIZE_MAX);
	return arena_alloc(a, bytes);
}

void *
arena_copy(struct arena *a, const void *p, size_t n)
{
	void *q = arena_alloc_raw(a, n);

	return n ? memcpy(q, p, n) : q;
}

char *
arena_strdup(struct arena *a, struct str s)
{
	char *q = arena_alloc_raw(a, s.n + 1);

	if (s.n)
		memcpy(q, s.p, s.n);
	q[s.n] = '\0';
	return q;
}

struct str
arena_str(struct arena *a, struct str s)
{
	return s.p ? (struct str){ arena_strdup(a, s), s.n } : STR_NULL;
}

char *
arena_vprintf(struct arena *a, const char *fmt, va_list ap)
{
	va_list again;
	char *q;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n < 0)
		return arena_strdup(a, STR("(unprintable)"));
	q = arena_alloc(a, (size_t)n + 1);
	vsnprintf(q, (size_t)n + 1, fmt, ap);
	return q;
}

char *
arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	char *q;

	va_start(ap, fmt);
	q = arena_vprintf(a, fmt, ap);
	va_end(ap);
	return q;
}

void *
arena_defer(struct arena *a, void (*fn)(void *), void *obj)
{
	struct deferred *d;

	if (!obj)
		return NULL;
	d = arena_new(a, struct deferred);
	*d = (struct deferred){ .older = a->defer, .fn = fn, .obj = obj };
	a->defer = d;
	return obj;
}

struct arena_mark
arena_mark(const struct arena *a)
{
	return (struct arena_mark){ .chunk = a->newest, .used = a->newest->used, .defer = a->defer };
}

void
arena_rewind(struct arena *a, struct arena_mark m)
{
	run_deferred(a, m.defer);
	while (a->newest != m.chunk)
		chunk_pop(a);
	a->newest->used = m.used;
	poison(a->newest->data + m.used, a->newest->size - m.used);
}
