/*
 * tomori_expand: pass 2 (values, in the page's order of steps) and the pass at emission (tools, identity).
 * Each step is one linear scan over the text that the step before it left; what came from messages
 * or memory is frozen and copied as it is (decisions 37).
 */
#include "macro/tomori_private.h"

#include "base/utf8.h"

#define DICE_MAX 100
#define SIDES_MAX 1000
#define CATALOGUE_PASSES 4 /* nested macros of the catalogue, inside out */

/* ---- rewriting ---- */

struct rewrite {
	struct macro_tomori *t;
	struct macro_tomori_node *n;
	struct str src;
	const struct macro_range *fr;
	size_t n_fr, at_fr;
	struct ftext out;
	size_t done; /* bytes of src already copied */
	bool changed;
};

static struct rewrite
rewrite_begin(struct macro_tomori *t, struct macro_tomori_node *n)
{
	return (struct rewrite){ .t = t,
		.n = n,
		.src = n->text,
		.fr = n->frozen.v,
		.n_fr = n->frozen.n,
		.out.sb = sb_new(t->r->a) };
}

/* Copies what stands before `to`, frozen ranges as such. */
static void
copy_to(struct rewrite *w, size_t to)
{
	size_t shift = w->out.sb.n - w->done;

	for (; w->at_fr < w->n_fr && w->fr[w->at_fr].e <= to; w->at_fr++)
		if (w->fr[w->at_fr].s >= w->done) {
			struct macro_range r = { w->fr[w->at_fr].s + shift, w->fr[w->at_fr].e + shift };

			vec_push(w->t->r->a, &w->out.frozen, r);
		}
	sb_add(&w->out.sb, str_sub(w->src, w->done, to));
	w->done = to;
}

/* Replaces [s, e) by a text. */
static void
replace(struct rewrite *w, size_t s, size_t e, struct str by, bool frozen)
{
	struct macro_range r;

	copy_to(w, s);
	for (size_t i = w->at_fr; i < w->n_fr && w->fr[i].s < e; i++)
		frozen = true; /* made of frozen text */
	r = (struct macro_range){ w->out.sb.n, w->out.sb.n + by.n };
	sb_add(&w->out.sb, by);
	if (frozen && by.n)
		vec_push(w->t->r->a, &w->out.frozen, r);
	w->done = e;
	w->changed = true;
}

static void
rewrite_end(struct rewrite *w)
{
	if (!w->changed)
		return;
	copy_to(w, w->src.n);
	w->n->text = sb_str(&w->out.sb);
	w->n->frozen.v = w->out.frozen.v;
	w->n->frozen.n = w->out.frozen.n;
}

/* The frozen range that holds byte `at`, or NULL; *hint moves forward. */
static const struct macro_range *
frozen_at(const struct rewrite *w, size_t at, size_t *hint)
{
	while (*hint < w->n_fr && w->fr[*hint].e <= at)
		++*hint;
	return *hint < w->n_fr && w->fr[*hint].s <= at ? &w->fr[*hint] : NULL;
}

/* Gives the value of a macro whose inner text is `inner` ([s, e) with its braces); false: not this step's. */
typedef bool step_fn(struct rewrite *w, struct str inner, struct str *out, bool *frozen);

/* Whether the node may still take this much; where not, it takes nothing more (decisions 7). */
static bool
fits(struct rewrite *w, struct str by)
{
	struct macro_tomori_node *n = w->n;

	if (n->full)
		return false;
	n->units += utf8_units(by);
	if (n->units <= w->t->r->env->limits.length)
		return true;
	n->full = true;
	run_warn(w->t->r,
	    &(struct macro_warning){ .code = MACRO_W_LENGTH,
		.message = "the macros of this text put in more than the limit: those left stay as written",
		.count = 1 });
	return false;
}

/* All {{…}} whose inner text holds no }, outside of frozen text; with `single`, {…} as well. */
static void
each_macro(struct macro_tomori *t, struct macro_tomori_node *n, step_fn *fn, bool single)
{
	struct rewrite w = rewrite_begin(t, n);
	size_t at = 0, close = 0, hint = 0, close_hint = 0;

	while (at < w.src.n && !n->full) {
		const struct macro_range *f = frozen_at(&w, at, &hint);
		const char *p;
		struct str out;
		bool frozen = false;
		size_t braces;

		if (f) {
			at = f->e;
			continue;
		}
		p = memchr(w.src.p + at, '{', (hint < w.n_fr ? w.fr[hint].s : w.src.n) - at);
		if (!p) {
			at = hint < w.n_fr ? w.fr[hint].s : w.src.n;
			continue;
		}
		at = (size_t)(p - w.src.p);
		braces = at + 1 < w.src.n && w.src.p[at + 1] == '{' ? 2 : 1;
		if (braces == 1 && !single) {
			at++;
			continue;
		}
		if (close < at + braces)
			close = at + braces;
		for (; close < w.src.n;
		     close++) { /* the next } outside of frozen text; kept for later openers */
			f = frozen_at(&w, close, &close_hint);
			if (f)
				close = f->e - 1;
			else if (w.src.p[close] == '}')
				break;
		}
		if (close >= w.src.n)
			break;
		if ((braces == 1 || (close + 1 < w.src.n && w.src.p[close + 1] == '}')) &&
		    fn(&w, str_sub(w.src, at + braces, close), &out, &frozen) && fits(&w, out)) {
			replace(&w, at, close + braces, out, frozen);
			at = close + braces;
		} else {
			at++;
		}
	}
	rewrite_end(&w);
}

static bool
has_prefix(struct str s, const char *prefix, struct str *rest)
{
	size_t n = strlen(prefix);

	if (!str_ieq(str_sub(s, 0, n), str_c(prefix)))
		return false;
	*rest = str_sub(s, n, s.n);
	return true;
}

/* ---- the steps of pass 2 ---- */

static bool
step_getvar(struct rewrite *w, struct str inner, struct str *out, bool *frozen)
{
	struct str rest;

	(void)frozen;
	if (!has_prefix(js_trim(inner), "getvar::", &rest))
		return false;
	*out = tomori_name(w->t, js_trim(inner)).s;
	return true;
}

/* Content and runtime macros; which come first does not matter, since none is found in another's value. */
static bool
step_names(struct rewrite *w, struct str inner, struct str *out, bool *frozen)
{
	struct str name = js_trim(inner);
	struct tomori_value v;

	if (!tomori_known(name) || str_ieq(name, STR("user")) || str_ieq(name, STR("char")) ||
	    str_ieq(name, STR("bot")))
		return false;
	v = tomori_name(w->t, name);
	w->n->prints_description |= v.description && v.s.n;
	w->n->prints_personality |= v.personality && v.s.n;
	*out = v.s;
	*frozen = v.frozen;
	return true;
}

struct options {
	VEC(struct str) v;
};

static void
add_option(struct arena *a, struct options *o, struct str s)
{
	s = js_trim(s);
	if (s.n)
		vec_push(a, &o->v, s);
}

static struct str
one_of(struct rewrite *w, const struct options *o)
{
	const struct macro_env *env = w->t->r->env;
	double u = env->chance ? env->chance(env->chance_ctx) : 0;
	size_t i;

	if (!o->v.n)
		return STR("");
	i = (size_t)(u * (double)o->v.n);
	return o->v.v[i < o->v.n ? i : o->v.n - 1];
}

static bool
step_random_comma(struct rewrite *w, struct str inner, struct str *out, bool *frozen)
{
	struct options o = { 0 };
	struct str rest, piece;

	(void)frozen;
	if (!has_prefix(js_trim(inner), "random:", &rest) || str_starts(rest, STR(":")))
		return false;
	while (str_next(&rest, ',', &piece))
		add_option(w->t->r->a, &o, piece);
	*out = one_of(w, &o);
	return true;
}

static bool
step_random_list(struct rewrite *w, struct str inner, struct str *out, bool *frozen)
{
	struct options o = { 0 };
	struct str rest;

	(void)frozen;
	if (!has_prefix(js_trim(inner), "random::", &rest))
		return false;
	for (;;) {
		size_t at = str_find(rest, STR("::"), 0);

		add_option(w->t->r->a, &o, str_sub(rest, 0, at));
		if (at == STR_NPOS)
			break;
		rest = str_sub(rest, at + 2, rest.n);
	}
	*out = one_of(w, &o);
	return true;
}

static bool
digits(struct str s, size_t *at, int64_t max, int64_t *out)
{
	size_t from = *at;

	*out = 0;
	for (; *at < s.n && s.p[*at] >= '0' && s.p[*at] <= '9'; ++*at)
		if (*out <= max)
			*out = *out * 10 + (s.p[*at] - '0');
	if (*out > max)
		*out = max;
	return *at > from;
}

static bool
step_roll(struct rewrite *w, struct str inner, struct str *out, bool *frozen)
{
	const struct macro_env *env = w->t->r->env;
	int64_t dice, sides, sum = 0;
	struct str rest;
	size_t at = 0;

	(void)frozen;
	if (!has_prefix(js_trim(inner), "roll:", &rest))
		return false;
	rest = js_trim(rest);
	if (!digits(rest, &at, DICE_MAX, &dice) || at >= rest.n || (rest.p[at] | 0x20) != 'd')
		return false;
	at++;
	if (!digits(rest, &at, SIDES_MAX, &sides) || at != rest.n)
		return false;
	for (int64_t i = 0; sides && i < dice; i++)
		sum += (int64_t)((env->chance ? env->chance(env->chance_ctx) : 0) * (double)sides) + 1;
	*out = str_c(arena_printf(w->t->r->a, "%lld", (long long)sum));
	return true;
}

/* <USER> and <BOT>, upper case only. */
static void
step_angle(struct macro_tomori *t, struct macro_tomori_node *n)
{
	struct rewrite w = rewrite_begin(t, n);
	size_t hint = 0;

	for (size_t at = 0; (at = str_chr(w.src, '<', at)) != STR_NPOS;) {
		const struct macro_range *f = frozen_at(&w, at, &hint);
		bool user = str_eq(str_sub(w.src, at, at + 6), STR("<USER>"));

		if (f) {
			at = f->e;
		} else if (user || str_eq(str_sub(w.src, at, at + 5), STR("<BOT>"))) {
			replace(&w, at, at + (user ? 6 : 5),
			    macro_run_field(t->r, NULL, user ? MF_USER : MF_CHAR), false);
			at = w.done;
		} else {
			at++;
		}
	}
	rewrite_end(&w);
}

static bool
step_trim(struct rewrite *w, struct str inner, struct str *out, bool *frozen)
{
	(void)w;
	(void)frozen;
	*out = STR("");
	return str_is(inner, "trim");
}

/* {{trim}} anywhere: all of them go, and the blanks at both ends; nothing left: the node is off. */
static void
trim(struct macro_tomori *t, struct macro_tomori_node *n)
{
	size_t len = n->text.n;
	struct str s;
	size_t cut;
	struct macro_range *v;

	each_macro(t, n, step_trim, false);
	if (n->text.n == len)
		return;
	s = js_trim(n->text);
	cut = s.n ? (size_t)(s.p - n->text.p) : 0;
	v = arena_array(t->r->a, struct macro_range, n->frozen.n + 1);
	for (size_t i = 0; i < n->frozen.n; i++) {
		v[i].s = n->frozen.v[i].s > cut ? n->frozen.v[i].s - cut : 0;
		v[i].e = n->frozen.v[i].e > cut ? n->frozen.v[i].e - cut : 0;
		if (v[i].e > s.n)
			v[i].e = s.n;
		if (v[i].s > v[i].e)
			v[i].s = v[i].e;
	}
	n->frozen.v = v;
	n->text = s;
	n->off = s.n == 0;
}

/* Macros of the catalogue that the page lacks; their results are never looked into again. */
static bool
step_catalogue(struct rewrite *w, struct str inner, struct str *out, bool *frozen)
{
	struct macro_piece p = { .owner = MACRO_TEXT };
	const struct macro_template *t;
	struct str name = js_trim(inner);
	size_t word = 0, len;
	struct sb sb;
	bool exact;

	while (word < name.n && word < 40 && name.p[word] != ':' && !js_blank(name, word, &len))
		word++;
	if (str_ieq(str_sub(name, 0, word), STR("setvar")) ||
	    str_ieq(str_sub(name, 0, word), STR("addvar")) || str_ieq(str_sub(name, 0, word), STR("getvar")))
		return false; /* what pass 1 could not read as a declaration never reaches the session's
				 variables */
	if (!row_find(str_sub(name, 0, word), MACRO_TAVERNHEADLESS, &exact) && !str_starts(name, STR("//")) &&
	    !str_ieq(str_sub(name, 0, 8), STR("time_UTC")))
		return false;
	if (++w->t->steps > w->t->r->env->limits.steps || tomori_known(name) ||
	    str_find(name, STR("{{"), 0) != STR_NPOS || name.p[0] == '#' || name.p[0] == '/')
		return false;
	sb = sb_new(w->t->r->a);
	sb_adds(&sb, "{{");
	sb_add(&sb, inner);
	sb_adds(&sb, "}}");
	t = macro_compile(w->t->r->a, sb_str(&sb), MACRO_TAVERNHEADLESS);
	if (t->n_nodes != 1 || t->nodes[0].type != N_MACRO ||
	    t->nodes[0].argc < row_get(t->nodes[0].row)->min ||
	    t->nodes[0].argc > row_get(t->nodes[0].row)->max)
		return false;
	p.tpl = t;
	*out = eval_nested(w->t->r, &p);
	*frozen = true;
	return true;
}

/* An opening tag of the page's list, with its end somewhere behind it. */
static bool
has_html(struct str s)
{
	static const char *const tags[] = { "div", "span", "style", "br", "p", "h1", "h2", "h3", "h4", "h5",
		"h6", "table", "tr", "td", "th", "ul", "ol", "li", "details", "summary", "img", "a", "strong",
		"em", "b", "i", "u", "s", "pre", "code" };
	size_t last = s.n;

	while (last > 0 && s.p[last - 1] != '>')
		last--;
	for (size_t at = 0; (at = str_chr(s, '<', at)) < last; at++) {
		size_t b = at + 1, e = b;

		while (e < s.n && (s.p[e] == '_' || (s.p[e] >= '0' && s.p[e] <= '9') ||
				      ((s.p[e] | 0x20) >= 'a' && (s.p[e] | 0x20) <= 'z')))
			e++;
		for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++)
			if (str_ieq(str_sub(s, b, e), str_c(tags[i])))
				return true;
	}
	return false;
}

bool
tomori_html(struct str s)
{
	return has_html(s);
}

void
macro_tomori_expand(struct macro_tomori *t, struct macro_tomori_node *n)
{
	n->text = n->kept;
	n->frozen.n = 0;
	n->units = 0;
	n->full = false;
	t->steps = 0;
	each_macro(t, n, step_getvar, false);
	each_macro(t, n, step_names, false);
	each_macro(t, n, step_random_comma, false);
	each_macro(t, n, step_random_list, false);
	each_macro(t, n, step_roll, false);
	step_angle(t, n);
	trim(t, n);
	for (int i = 0; i < CATALOGUE_PASSES; i++) {
		const char *before = n->text.p;

		each_macro(t, n, step_catalogue, false);
		if (n->text.p == before)
			break;
	}
	n->html = has_html(n->text);
}

/* ---- emission ---- */

/* The text with frozen bytes masked: what is parsed, so that they form no tags. */
static struct str
masked(struct arena *a, const struct macro_tomori_node *n)
{
	char *p;

	if (!n->frozen.n)
		return n->text;
	p = arena_strdup(a, n->text);
	for (size_t i = 0; i < n->frozen.n; i++)
		memset(p + n->frozen.v[i].s, 'x', n->frozen.v[i].e - n->frozen.v[i].s);
	return (struct str){ p, n->text.n };
}

static bool
is_tool(struct ev *ev, const struct node *n)
{
	return n->type == N_OPEN && n->close && tomori_is_tool(ev, n);
}

/* Tool and capability blocks: everything but the chosen branch is cut out. */
static void
tool_blocks(struct macro_tomori *t, struct macro_tomori_node *n)
{
	const struct macro_template *tpl = macro_compile(t->r->a, masked(t->r->a, n), MACRO_TOMORIBOT);
	struct macro_piece p = { .tpl = tpl };
	struct ev ev = { .r = t->r, .t = tpl, .piece = &p };
	const struct node *v = tpl->nodes;
	struct rewrite w = rewrite_begin(t, n);
	VEC(uint32_t) ends = { 0 }; /* tags to cut when the walk comes to them */

	for (uint32_t i = 0; i < tpl->n_nodes;) {
		uint32_t taken, last;
		enum macro_code code = MACRO_W__COUNT;
		enum tri yes;

		if (ends.n && *vec_last(&ends) <= i) { /* the end of a chosen branch: cut up to the closer */
			uint32_t tag = vec_pop(&ends), close = tag;

			while (v[close].type != N_CLOSE)
				close = v[close].next;
			replace(&w, v[tag].start, v[close].end, STR(""), false);
			i = v[close].skip;
			continue;
		}
		if (!is_tool(&ev, &v[i])) {
			i++;
			continue;
		}
		yes = cond_eval(&ev, &v[i], v[i].arg, &code);
		if (yes == TRI_ERROR && code == MACRO_W_COND_UNKNOWN)
			eval_warn(&ev, code, &v[i], STR_NULL, "no such capability: the condition is false");
		taken = yes == TRI_YES ? i : v[i].next;
		last = v[taken].type == N_CLOSE ? taken : v[taken].next;
		replace(&w, v[i].start, v[taken].end, STR(""), false);
		i = v[taken].skip;
		if (v[taken].type != N_CLOSE)
			vec_push(t->r->a, &ends, last);
	}
	rewrite_end(&w);
}

static bool
step_alias(struct rewrite *w, struct str inner, struct str *out, bool *frozen)
{
	const struct macro_env *env = w->t->r->env;
	struct str tool;

	if (!inner.n || inner.n > 64 || !env->tool_alias)
		return false;
	for (size_t i = 0; i < inner.n; i++)
		if (!((inner.p[i] >= 'a' && inner.p[i] <= 'z') || (inner.p[i] >= '0' && inner.p[i] <= '9') ||
			inner.p[i] == '_'))
			return false;
	if (!env->tool_alias(env->tool_ctx, inner, &tool))
		return false;
	*out = str_c(arena_printf(w->t->r->a, "`%.*s`", STR_ARG(tool)));
	*frozen = true;
	return true;
}

/* user, char and bot in double or single braces, any case, blanks inside. */
static bool
step_identity(struct rewrite *w, struct str inner, struct str *out, bool *frozen)
{
	struct str name = js_trim(inner);
	bool user = str_ieq(name, STR("user"));

	(void)frozen;
	if (!user && !str_ieq(name, STR("char")) && !str_ieq(name, STR("bot")))
		return false;
	*out = macro_run_field(w->t->r, NULL, user ? MF_USER : MF_CHAR);
	return true;
}

void
macro_tomori_emit(struct macro_tomori *t, struct macro_tomori_node *n)
{
	if (!n->too_deep && str_find(n->text, STR("{{"), 0) != STR_NPOS)
		tool_blocks(t, n);
	each_macro(t, n, step_alias, true);
	each_macro(t, n, step_random_comma, true);
	each_macro(t, n, step_random_list, true);
	each_macro(t, n, step_identity, true);
}
