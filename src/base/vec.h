/*
 * vec: growing array in an arena. VEC(T) declares one; zero-initialise it.
 *
 *	VEC(struct item) items = { 0 };
 *	vec_push(a, &items, ((struct item){ .id = id }));
 *	for (size_t i = 0; i < items.n; i++) use(&items.v[i]);
 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include "arena.h"

#define VEC(T) \
	struct { \
		T *v; \
		size_t n, cap; \
	}

#define vec_push(a, vec, item) \
	((vec)->n < (vec)->cap \
			? (void)0 \
			: vec_grow((a), (void **)&(vec)->v, (vec)->n, &(vec)->cap, sizeof(*(vec)->v), 1), \
		(vec)->v[(vec)->n++] = (item))
/* Pointer to a new zeroed last element. */
#define vec_add(a, vec) \
	((vec)->n < (vec)->cap \
			? (void)0 \
			: vec_grow((a), (void **)&(vec)->v, (vec)->n, &(vec)->cap, sizeof(*(vec)->v), 1), \
		&(vec)->v[(vec)->n++])
#define vec_last(vec) (&(vec)->v[(vec)->n - 1])
#define vec_pop(vec) ((vec)->v[--(vec)->n])

/* Room for `more` elements behind n; called by vec_push. */
void vec_grow(struct arena *a, void **v, size_t n, size_t *cap, size_t size, size_t more);

#endif
