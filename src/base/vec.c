/*
 * vec: growth of the typed arrays of vec.h. Knows bytes only.
 */
#include "base/vec.h"

void
vec_grow(struct arena *a, void **v, size_t n, size_t *cap, size_t size, size_t more)
{
	size_t want, now = *cap;
	void *p;

	if (more <= *cap - n)
		return;
	want = now < 8 ? 8 : now > SIZE_MAX / 2 ? SIZE_MAX : now * 2;
	if (more > SIZE_MAX - n || size == 0)
		want = SIZE_MAX; /* refused by the arena */
	else if (want < n + more)
		want = n + more;
	if (*v && want <= SIZE_MAX / size && arena_extend(a, *v, now * size, want * size)) {
		memset((char *)*v + now * size, 0, (want - now) * size);
		*cap = want;
		return;
	}
	if (want > SIZE_MAX / size)
		arena_alloc_n(a, want, size); /* refuses */
	p = arena_alloc_raw(a, want * size);
	if (n)
		memcpy(p, *v, n * size);
	memset((char *)p + n * size, 0, (want - n) * size);
	*v = p;
	*cap = want;
}
