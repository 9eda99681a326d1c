/*
 * scan: finds the macros of a text by their braces, in one pass with an explicit stack
 * (decisions 27). An odd run of { starts with a text brace; inside a macro, single braces that
 * were opened close before the macro does, if the run of } is long enough. An opener without a
 * closer is text, and what it held belongs to the list around it.
 */
#include "macro/macro_private.h"

struct pending {
	uint32_t node;
	uint32_t singles; /* { that wait for their } */
};

/* Marinara: lines that are [ … ], in the order of the text. */
struct region {
	uint32_t s, e;
};

struct scan {
	struct compile *c;
	VEC(struct pending) open;
	VEC(struct region) regions;
	size_t region;      /* next one */
	uint32_t group_end; /* of the group that is open; 0 = none */
	uint32_t group;     /* its node */
	bool full;
};

static uint32_t
add_node(struct compile *c, enum node_type type, uint32_t start)
{
	struct node n = {
		.type = (uint8_t)type, .start = start, .end = start, .dialect = (uint8_t)c->dialect
	};

	vec_push(c->a, &c->nodes, n);
	return (uint32_t)c->nodes.n - 1;
}

/* A group whose lines hold whole macros only becomes a list of its own; else its lines are plain text. */
static void
end_group(struct scan *s, bool whole)
{
	struct node *g = &s->c->nodes.v[s->group];
	uint32_t i = s->group, end = (uint32_t)s->c->nodes.n;

	if (whole) {
		g->end = s->group_end;
		g->skip = end;
		for (uint32_t k = i + 1; k < end; k++)
			g->flags |= s->c->nodes.v[k].flags & NF_CHAR;
		if (g->flags & NF_CHAR)
			pair_list(s->c, g->start, g->end, i + 1, end);
		else
			whole = false;
	}
	if (!whole || s->c->nodes.v[i].type != N_GROUP) {
		s->c->nodes.v[i].type = N_TEXT;
		s->c->nodes.v[i].end = s->c->nodes.v[i].start;
		s->c->nodes.v[i].skip = i + 1;
	} else {
		s->c->groups = true;
	}
	s->group_end = 0;
}

/* Opens and closes groups that lie before byte `at`, when no macro is open. */
static void
groups_until(struct scan *s, uint32_t at)
{
	for (;;) {
		if (s->group_end) {
			if (s->group_end > at)
				return;
			end_group(s, true);
		}
		while (s->region < s->regions.n && s->regions.v[s->region].e <= at)
			s->region++; /* nothing in it */
		if (s->region >= s->regions.n || s->regions.v[s->region].s > at)
			return;
		s->group_end = s->regions.v[s->region].e;
		s->group = add_node(s->c, N_GROUP, s->regions.v[s->region].s);
		s->region++;
	}
}

/* A run of braces that opens macros; returns the byte after it. */
static uint32_t
open_run(struct scan *s, uint32_t at)
{
	struct str src = s->c->src;
	uint32_t end = at;

	while (end < src.n && src.p[end] == '{')
		end++;
	if ((end - at) % 2) {
		if (s->open.n)
			vec_last(&s->open)->singles++;
		at++;
	}
	for (; at < end; at += 2) {
		struct pending p = { 0 };

		if (s->c->nodes.n >= MACRO_NODES_MAX) {
			s->full = true;
			return (uint32_t)src.n;
		}
		p.node = add_node(s->c, N_TEXT, at);
		vec_push(s->c->a, &s->open, p);
	}
	return end;
}

/* A run of } inside a macro; returns the byte after what was consumed. */
static uint32_t
close_run(struct scan *s, uint32_t at)
{
	struct str src = s->c->src;
	uint32_t end = at, n;

	while (end < src.n && src.p[end] == '}')
		end++;
	n = end - at;
	while (n && s->open.n) {
		struct pending *p = vec_last(&s->open);

		if (n == 1 || (n >= 3 && p->singles)) {
			p->singles -= p->singles > 0;
			at++;
			n--;
			continue;
		}
		s->c->nodes.v[p->node].end = at + 2;
		s->c->nodes.v[p->node].skip = (uint32_t)s->c->nodes.n;
		parse_macro(s->c, p->node);
		s->open.n--;
		at += 2;
		n -= 2;
	}
	return at;
}

/* The lines of marinara's group blocks: "[" alone up to the first "]" alone. */
static void
find_regions(struct scan *s)
{
	struct str src = s->c->src, rest = src, line;
	uint32_t start = 0;
	bool inside = false;

	if (str_chr(src, '[', 0) == STR_NPOS)
		return;
	while (str_next(&rest, '\n', &line)) {
		struct str t = js_trim(line);
		uint32_t at = (uint32_t)(line.p - src.p);

		if (!inside && t.n == 1 && t.p[0] == '[') {
			start = at;
			inside = true;
		} else if (inside && t.n == 1 && t.p[0] == ']') {
			struct region r = { start, at + (uint32_t)line.n };

			if (line.n && line.p[line.n - 1] == '\r')
				r.e--;
			vec_push(s->c->a, &s->regions, r);
			inside = false;
		}
	}
}

/* Openers of the text at most: room for the nodes is made once. */
static size_t
count_openers(struct str src)
{
	const char *p = src.p, *end = src.p + src.n;
	size_t n = 0;

	while (n < MACRO_NODES_MAX && (p = memchr(p, '{', (size_t)(end - p))) != NULL && p + 1 < end) {
		n += p[1] == '{';
		p += p[1] == '{' ? 2 : 1;
	}
	return n;
}

void
scan(struct compile *c)
{
	struct scan s = { .c = c };
	struct str src = c->src;
	uint32_t at = 0, n = (uint32_t)src.n;
	size_t openers = count_openers(src);

	/* Every element is written whole when it is pushed: no need to clear the room. */
	c->nodes.v = arena_alloc_raw(c->a, openers * sizeof(struct node));
	c->args.v = arena_alloc_raw(c->a, openers * sizeof(struct arg));
	c->nodes.cap = c->args.cap = openers;
	if (c->dialect == MACRO_MARINARA)
		find_regions(&s);
	while (at < n && !s.full) {
		if (!s.open.n) {
			const char *p = memchr(src.p + at, '{', n - at);

			if (!p)
				break;
			at = (uint32_t)(p - src.p);
			if (at + 1 >= n || src.p[at + 1] != '{') {
				at++;
				continue;
			}
			groups_until(&s, at);
			at = open_run(&s, at);
		} else if (src.p[at] == '{') {
			if (at + 1 < n && src.p[at + 1] == '{') {
				at = open_run(&s, at);
			} else {
				vec_last(&s.open)->singles++;
				at++;
			}
		} else if (src.p[at] == '}') {
			at = close_run(&s, at);
		} else {
			do
				at++;
			while (at < n && src.p[at] != '{' && src.p[at] != '}');
		}
		if (s.group_end && at > s.group_end) /* a macro reaches over the group's last line */
			end_group(&s, !s.open.n && c->nodes.v[c->nodes.n - 1].end <= s.group_end);
	}
	for (size_t i = 0; i < s.open.n; i++) {
		struct node *t = &c->nodes.v[s.open.v[i].node];

		t->type = N_TEXT;
		t->end = t->start;
		t->skip = s.open.v[i].node + 1;
	}
	if (s.group_end)
		end_group(&s, !s.open.n);
	pair_list(c, 0, n, 0, (uint32_t)c->nodes.n);
}
