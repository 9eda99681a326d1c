/*
 * js_need: what a text must contain for a pattern to match it, as bits of a fingerprint of the
 * text: pairs of neighbouring bytes and single bytes, ASCII letters in lower case. Only runs of
 * characters that every match holds are used; everything else says nothing.
 */
#include "regex/js.h"

#include "base/utf8.h"

#include <ctype.h>

enum { NEEDS_MAX = 24, ALTERNATIVES_MAX = 8 };

static unsigned
pair_bit(unsigned char x, unsigned char y)
{
	return (x * 37u + y * 641u) & (REGEX_PRINT_PAIRS - 1);
}

static unsigned char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (unsigned char)(c | 0x20) : (unsigned char)c;
}

void
regex_print_text(struct regex_print *out, struct str text)
{
	unsigned char last = 0;

	memset(out, 0, sizeof *out);
	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = lower(text.p[i]);
		unsigned bit = pair_bit(last, c), one = REGEX_PRINT_PAIRS + c;

		if (i > 0)
			out->bits[bit / 64] |= UINT64_C(1) << bit % 64;
		out->bits[one / 64] |= UINT64_C(1) << one % 64;
		last = c;
	}
}

struct needs {
	struct arena *a;
	bool unicode;
	VEC(uint16_t) bits;
	int last; /* byte of the run, -1 = a new run */
};

static void
need_bit(struct needs *n, unsigned bit)
{
	if (n->bits.n < NEEDS_MAX)
		vec_push(n->a, &n->bits, (uint16_t)bit);
}

static void
need_char(struct needs *n, const struct js_node *c)
{
	char buf[4];
	int len = utf8_put(buf, c->rune);
	bool ascii = c->rune < 128;

	/* other spellings of the character: outside ASCII its case, and under i and u the K and S of Unicode
	 */
	if (c->escaped_half ||
	    (c->icase && (!ascii || (n->unicode && c->rune != 0 && strchr("kKsS", (int)c->rune) != NULL)))) {
		n->last = -1;
		return;
	}
	for (int i = 0; i < len; i++) {
		unsigned char b = lower(buf[i]);

		if (n->last >= 0)
			need_bit(n, pair_bit((unsigned char)n->last, b));
		else if (len == 1)
			need_bit(n, REGEX_PRINT_PAIRS + b);
		n->last = b;
	}
}

static void
need_node(struct needs *n, const struct js_node *node)
{
	switch (node->type) {
	case JS_CHAR:
		need_char(n, node);
		break;
	case JS_GROUP:
	case JS_CAT:
		for (const struct js_node *c = node->child; c != NULL; c = c->next)
			need_node(n, c);
		break;
	case JS_REPEAT:
		n->last = node->min == 1 && node->max == 1 ? n->last : -1;
		if (node->min > 0)
			need_node(n, node->child);
		n->last = -1;
		break;
	case JS_WORD:
	case JS_NOT_WORD:
	case JS_START:
	case JS_END:
		break;
	case JS_ANY:
	case JS_CLASS:
	case JS_LOOK:
	case JS_BACKREF:
	case JS_ALT:
		n->last = -1;
	}
}

static bool
add_alternative(struct arena *a, struct js_needs *out, const struct js_node *node, bool unicode)
{
	struct needs n = { .a = a, .unicode = unicode, .last = -1 };

	need_node(&n, node);
	if (n.bits.n == 0 || out->any.n >= ALTERNATIVES_MAX)
		return false;
	vec_push(a, &out->any, ((struct js_need){ n.bits.v, n.bits.n }));
	return true;
}

struct js_needs
js_needs(struct arena *a, const struct js_pattern *pattern)
{
	const struct js_node *root = pattern->root;
	struct js_needs out = { 0 };
	bool known = true;

	while (root->type == JS_GROUP ||
	       (root->type == JS_CAT && root->child != NULL && root->child->next == NULL))
		root = root->child;
	if (root->type != JS_ALT)
		known = add_alternative(a, &out, root, pattern->unicode);
	for (const struct js_node *c = root->type == JS_ALT ? root->child : NULL; c != NULL && known;
	     c = c->next)
		known = add_alternative(a, &out, c, pattern->unicode);
	if (!known)
		out.any.n = 0;
	return out;
}
