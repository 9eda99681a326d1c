/*
 * router: rows to a tree of path segments, and paths to rows. It only looks at text: requests,
 * authentication and answers are the pipeline's business (serve.c).
 *
 * A literal segment wins over a parameter where both lead to a row for the method; otherwise the
 * parameter is tried (GET /characters/batch is a character called `batch` although PATCH
 * /characters/batch exists).
 */
#include "router.h"

#include "base/id.h"
#include "base/limits.h"
#include "base/utf8.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define SEGMENTS_MAX 16

struct node {
	struct str literal;          /* of this segment; STR_NULL for a parameter and the root */
	VEC(struct node *) children; /* literals, sorted by text */
	struct node *param;
	const struct route *rows[METHOD__COUNT];
};

struct router {
	struct node *root;
	VEC(const struct route *) rows; /* by path, then method */
};

const char *const method_names[METHOD__COUNT + 1] = {
	[METHOD_GET] = "GET",
	[METHOD_POST] = "POST",
	[METHOD_PUT] = "PUT",
	[METHOD_PATCH] = "PATCH",
	[METHOD_DELETE] = "DELETE",
	[METHOD_HEAD] = "HEAD",
	[METHOD_OPTIONS] = "OPTIONS",
};

/* The method by its name (case matters, as in HTTP); METHOD__COUNT if we know none. */
enum method
method_parse(struct str name)
{
	int m = 0;

	while (m < METHOD__COUNT && !str_is(name, method_names[m]))
		m++;
	return (enum method)m;
}

/* "{name}" -> name; STR_NULL for a literal. */
static struct str
segment_param(struct str seg)
{
	if (seg.n > 2 && seg.p[0] == '{' && seg.p[seg.n - 1] == '}')
		return str_sub(seg, 1, seg.n - 1);
	return STR_NULL;
}

static struct node *
child_find(const struct node *n, struct str seg)
{
	size_t lo = 0, hi = n->children.n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		int d = str_cmp(n->children.v[mid]->literal, seg);

		if (d == 0)
			return n->children.v[mid];
		if (d < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

static struct node *
child_add(struct arena *a, struct node *n, struct str seg)
{
	struct node *c = child_find(n, seg);
	size_t i;

	if (c != NULL)
		return c;
	c = arena_new(a, struct node);
	c->literal = seg;
	vec_push(a, &n->children, c);
	for (i = n->children.n - 1; i > 0 && str_cmp(n->children.v[i - 1]->literal, seg) > 0; i--)
		n->children.v[i] = n->children.v[i - 1];
	n->children.v[i] = c;
	return c;
}

/* The node of a row's path, made where it is missing; NULL and *why if the path is malformed. */
static struct node *
path_node(struct arena *a, struct node *root, const char *path, const char **why)
{
	struct str rest = str_c(path), seg, name, seen[ROUTE_PARAMS_MAX];
	struct node *n = root;
	size_t params = 0, segments = 0;

	*why = "path must begin with a slash and have no empty segment";
	if (rest.n < 2 || rest.p[0] != '/' || rest.p[rest.n - 1] == '/')
		return NULL;
	rest = str_sub(rest, 1, rest.n);
	while (str_next(&rest, '/', &seg)) {
		if (seg.n == 0)
			return NULL;
		*why = "path has too many segments or parameters, or the same parameter twice";
		if (++segments > SEGMENTS_MAX)
			return NULL;
		name = segment_param(seg);
		if (name.p == NULL) {
			*why = "a parameter must be a whole segment";
			if (memchr(seg.p, '{', seg.n) != NULL || memchr(seg.p, '}', seg.n) != NULL)
				return NULL;
			n = child_add(a, n, seg);
		} else {
			for (size_t i = 0; i < params; i++)
				if (str_eq(seen[i], name))
					return NULL;
			if (params == ROUTE_PARAMS_MAX)
				return NULL;
			seen[params++] = name;
			if (n->param == NULL)
				n->param = arena_new(a, struct node);
			n = n->param;
		}
		*why = "path must begin with a slash and have no empty segment";
	}
	return n;
}

static const char *
row_fault(const struct route *r)
{
	if (r->fn == NULL)
		return "no handler";
	if (r->auth == AUTH__UNSET)
		return "no auth";
	if (!(r->flags & ROUTE_UNLISTED) && (r->summary == NULL || r->tag == NULL))
		return "no summary or tag";
	if (r->method == METHOD_HEAD || r->method == METHOD_OPTIONS || (unsigned)r->method >= METHOD__COUNT)
		return "method is answered by the server itself";
	return NULL;
}

static int
row_order(const void *x, const void *y)
{
	const struct route *a = *(const struct route *const *)x, *b = *(const struct route *const *)y;
	int d = strcmp(a->path, b->path);

	return d != 0 ? d : (int)a->method - (int)b->method;
}

/* See route.h. */
struct router *
router_create(struct arena *a, const struct route_table *tables, size_t n, const char **why)
{
	struct router *rt = arena_new(a, struct router);
	const char *fault;

	rt->root = arena_new(a, struct node);
	for (size_t t = 0; t < n; t++) {
		for (const struct route *r = tables[t].rows; r->path != NULL; r++) {
			struct node *at = NULL;

			fault = row_fault(r);
			if (fault == NULL)
				at = path_node(a, rt->root, r->path, &fault);
			if (at != NULL && at->rows[r->method] != NULL) {
				fault = arena_printf(a, "same as %s", at->rows[r->method]->path);
				at = NULL;
			}
			if (at == NULL) {
				*why = arena_printf(a, "route %s %s: %s",
				    (unsigned)r->method < METHOD__COUNT ? method_names[r->method] : "?",
				    r->path, fault);
				return NULL;
			}
			at->rows[r->method] = r;
			vec_push(a, &rt->rows, r);
		}
	}
	if (rt->rows.n > 0)
		qsort(rt->rows.v, rt->rows.n, sizeof(*rt->rows.v), row_order);
	return rt;
}

/* Number of rows, and the row at i in the order of the document. */
size_t
router_count(const struct router *rt)
{
	return rt->rows.n;
}

const struct route *
router_row(const struct router *rt, size_t i)
{
	assert(i < rt->rows.n);
	return rt->rows.v[i];
}

static int
hex(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/*
 * Resolves %XX (and + as a blank, if `plus`) into the arena. 0, or -1 if an escape is malformed or the
 * result has a NUL or is no UTF-8. *out is the source itself if there is nothing to resolve.
 */
int
url_decode(struct arena *a, struct str s, bool plus, struct str *out)
{
	char *p;
	size_t n = 0;

	if (s.n == 0 || (memchr(s.p, '%', s.n) == NULL && (!plus || memchr(s.p, '+', s.n) == NULL))) {
		*out = s;
		return s.n == 0 || (memchr(s.p, '\0', s.n) == NULL && utf8_valid(s)) ? 0 : -1;
	}
	p = arena_alloc(a, s.n + 1);
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '%') {
			int h = i + 2 < s.n ? hex(s.p[i + 1]) : -1, l = i + 2 < s.n ? hex(s.p[i + 2]) : -1;

			if (h < 0 || l < 0 || (h == 0 && l == 0))
				return -1;
			p[n++] = (char)(h << 4 | l);
			i += 2;
		} else {
			p[n++] = plus && s.p[i] == '+' ? ' ' : s.p[i];
		}
	}
	*out = (struct str){ p, n };
	return memchr(p, '\0', n) == NULL && utf8_valid(*out) ? 0 : -1;
}

struct walk {
	const struct str *segs;
	size_t n;
	enum method method;
	const struct route *found;
	unsigned allow;
};

/* Depth-first, literals first; the depth is the number of segments, which is bounded. */
static bool
walk(struct walk *w, const struct node *n, size_t i)
{
	const struct node *c;

	if (i == w->n) {
		for (int m = 0; m < METHOD__COUNT; m++)
			if (n->rows[m] != NULL)
				w->allow |= 1u << m;
		w->found = (unsigned)w->method < METHOD__COUNT ? n->rows[w->method] : NULL;
		return w->found != NULL;
	}
	c = child_find(n, w->segs[i]);
	if (c != NULL && walk(w, c, i + 1))
		return true;
	return n->param != NULL && w->segs[i].n > 0 && walk(w, n->param, i + 1);
}

/* Names come from the row, values from the path. -1 if a value cannot be an id. */
static int
take_params(const struct walk *w, struct route_match *out)
{
	struct str rest = str_c(w->found->path + 1), seg, name;

	for (size_t i = 0; str_next(&rest, '/', &seg); i++) {
		name = segment_param(seg);
		if (name.p == NULL)
			continue;
		if (!id_valid(w->segs[i]))
			return -1;
		out->name[out->n] = name;
		out->value[out->n++] = w->segs[i];
	}
	return 0;
}

/* See route.h. HEAD is GET here. */
int
router_match(
    const struct router *rt, struct arena *a, enum method m, struct str path, struct route_match *out)
{
	struct str segs[SEGMENTS_MAX], rest, seg;
	struct walk w = { .segs = segs, .method = m == METHOD_HEAD ? METHOD_GET : m };

	*out = (struct route_match){ 0 };
	if (path.n > LIM_PATH)
		return -2;
	if (path.n < 2 || path.p[0] != '/' || path.p[path.n - 1] == '/')
		return 0;
	rest = str_sub(path, 1, path.n);
	while (str_next(&rest, '/', &seg)) {
		if (w.n == SEGMENTS_MAX)
			return 0;
		if (url_decode(a, seg, false, &segs[w.n++]) < 0)
			return -2;
	}
	if (walk(&w, rt->root, 0)) {
		out->allow = w.allow;
		if (take_params(&w, out) < 0)
			return -2;
		out->row = w.found;
		return 1;
	}
	out->allow = w.allow;
	return w.allow != 0 ? -1 : 0;
}
