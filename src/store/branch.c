#include "store/branch.h"

#include "base/vec.h"

static int
array_read(struct arena *a, struct str text, int64_t **out, size_t *n_out)
{
	VEC(int64_t) v = { 0 };
	struct str rest, piece;
	int64_t i;

	if (text.n < 2 || text.p[0] != '{' || text.p[text.n - 1] != '}')
		return -1;
	rest = str_sub(text, 1, text.n - 1);
	while (str_next(&rest, ',', &piece)) {
		if (!str_int(piece, &i))
			return -1;
		vec_push(a, &v, i);
	}
	*out = v.v;
	*n_out = v.n;
	return 0;
}

int
branch_read(struct arena *a, struct branch *b, struct str segs, struct str his)
{
	int64_t *wide;
	size_t n;

	if (array_read(a, segs, &b->segs, &b->n) < 0 || array_read(a, his, &wide, &n) < 0 || n != b->n || n == 0)
		return -1;
	b->his = arena_array(a, int32_t, n);
	for (size_t i = 0; i < n; i++)
		b->his[i] = (int32_t)wide[i];
	return 0;
}

struct branch_range *
branch_window(struct arena *a, const struct branch *b, int32_t from, int32_t to, size_t *n_out)
{
	struct branch_range *v = arena_array(a, struct branch_range, b->n);
	size_t n = 0;

	for (size_t i = b->n; i-- > 0;) {
		int32_t lo = i > 0 ? b->his[i - 1] : -1, hi = b->his[i];

		if (lo < from - 1)
			lo = from - 1;
		if (hi > to)
			hi = to;
		if (lo < hi)
			v[n++] = (struct branch_range){ b->segs[i], lo, hi };
	}
	*n_out = n;
	return v;
}

size_t
branch_log_range(const struct branch *b, int32_t at)
{
	size_t i = b->n - 1;

	while (i > 0 && b->his[i - 1] > at)
		i--;
	return i;
}

int32_t
branch_common(const struct branch *a, const struct branch *b)
{
	int32_t common = -1;

	for (size_t i = 0; i < a->n && i < b->n && a->segs[i] == b->segs[i]; i++) {
		common = a->his[i] < b->his[i] ? a->his[i] : b->his[i];
		if (a->his[i] != b->his[i])
			break;
	}
	return common;
}
