/*
 * builtin_text: macros that shape text: spacing, comments, case, and what stands in other places.
 */
#include "macro/macro_private.h"

#include "base/utf8.h"

#include <math.h>

/* n times a character; more than could be inserted anyway is not made. */
static enum nv
repeat(struct ev *ev, const struct node *n, const struct str *argv, char c, struct str *out)
{
	size_t limit = ev->r->env->limits.length;
	double count = 1;
	char *p;

	if (n->argc && (!js_number(argv[0], &count) || count < 0 || count != floor(count)))
		return eval_refuse(ev, n, argv, MACRO_W_TYPE, out);
	if (count > (double)limit + 1)
		count = (double)limit + 1;
	p = arena_alloc(ev->r->a, (size_t)count + 1);
	memset(p, c, (size_t)count);
	*out = (struct str){ p, (size_t)count };
	return NV_OK;
}

static enum nv
fn_newline(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	return repeat(ev, n, argv, '\n', out);
}

static enum nv
fn_space(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	return repeat(ev, n, argv, ' ', out);
}

/* Removes itself and the line breaks of the author around it; with content: the content, trimmed. */
static enum nv
fn_trim(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	struct text *t = ev->text;

	*out = n->argc ? js_trim(argv[0]) : STR("");
	if (n->argc)
		return NV_OK;
	if (t->run < t->sb.n)
		t->sb.n = t->run;
	t->eat = EAT_BREAKS;
	return NV_OK;
}

/* marinara: removes itself and the white space behind it. */
static enum nv
fn_trim_start(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	(void)n;
	(void)argv;
	ev->text->eat = EAT_BLANKS;
	*out = STR("");
	return NV_OK;
}

/* marinara: removes itself and the white space before it; a {{trimStart}} before it does not look past it. */
static enum nv
fn_trim_end(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	struct text *t = ev->text;

	(void)n;
	(void)argv;
	t->sb.n = js_trim_end(sb_str(&t->sb)).n;
	if (t->run > t->sb.n)
		t->run = t->sb.n;
	t->eat = EAT_NONE;
	*out = STR("");
	return NV_OK;
}

/* Nothing; but trim does not look through it. */
static enum nv
fn_noop(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	(void)n;
	(void)argv;
	ev->text->run = ev->text->sb.n;
	if (ev->text->eat == EAT_BREAKS)
		ev->text->eat = EAT_NONE;
	*out = STR("");
	return NV_OK;
}

static enum nv
fn_nothing(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	(void)ev;
	(void)n;
	(void)argv;
	*out = STR("");
	return NV_OK;
}

static enum nv
fn_reverse(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	struct sb sb = sb_new(ev->r->a);

	(void)n;
	for (size_t e = argv[0].n; e > 0;) {
		size_t s = utf8_prev(argv[0], e);

		sb_add(&sb, str_sub(argv[0], s, e));
		e = s;
	}
	*out = sb_str(&sb);
	return NV_OK;
}

static enum nv
fn_upper(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	(void)n;
	*out = utf8_upper(ev->r->a, argv[0]);
	return NV_OK;
}

static enum nv
fn_lower(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	(void)n;
	*out = utf8_lower(ev->r->a, argv[0]);
	return NV_OK;
}

/* What a card field overrides, at its first use in the text. */
static enum nv
fn_original(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	(void)n;
	(void)argv;
	*out = STR("");
	if (ev->piece->original.p && !ev->original_used)
		*out = ev->piece->original;
	ev->original_used = true;
	return NV_OK;
}

static enum nv
fn_outlet(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	const struct macro_env *env = ev->r->env;
	bool early =
	    ev->piece->owner == MACRO_FIELD || ev->piece->owner == MACRO_LORE; /* the scan is not done yet */

	(void)n;
	*out = STR("");
	if (!early && env->outlet && !env->outlet(env->outlet_ctx, js_trim(argv[0]), out))
		*out = STR("");
	return NV_OK;
}

/* sillytavern: {{if::condition::text}}; the condition was parsed into a header of its own. */
static enum nv
fn_if(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	const struct node open = { .dialect = MACRO_SILLYTAVERN };
	enum macro_code code;
	enum tri t = cond_eval(ev, &open, n->close, &code);

	if (t == TRI_HALT)
		return NV_HALT;
	if (t == TRI_ERROR)
		return eval_refuse(ev, n, NULL, MACRO_W_DEPTH, out);
	*out = STR("");
	(void)argv;
	return t == TRI_YES ? eval_text(ev, &ev->t->args[n->arg + 1], out) : NV_OK;
}

#define PAGE DIALECTS_PAGE
#define ALL DIALECTS_ALL
#define NOT_TOM (DIALECTS_ALL & ~DIALECT_TOM)

// clang-format off
static const struct row rows[] = {
	{ "newline", "", fn_newline, 0, 1, ARGS_REST, MF_NONE, 0, ALL, "[::n]", "spacing", "n line breaks, one if n is left out", NULL },
	{ "\\n", "", fn_newline, 0, 0, ARGS_REST, MF_NONE, 0, DIALECT_MAR, "", "spacing", "a line break", NULL },
	{ "space", "", fn_space, 0, 1, ARGS_REST, MF_NONE, 0, ALL, "[::n]", "spacing", "n blanks, one if n is left out", NULL },
	{ "trim", "", fn_trim, 0, 1, ARGS_REST, MF_NONE, 0, NOT_TOM, "", "spacing",
	    "removes itself and the line breaks around it that the author wrote", NULL },
	{ "trimStart", "", fn_trim_start, 0, 0, ARGS_REST, MF_NONE, 0, DIALECT_MAR, "", "spacing",
	    "removes itself and the white space behind it", NULL },
	{ "trimEnd", "", fn_trim_end, 0, 0, ARGS_REST, MF_NONE, 0, DIALECT_MAR, "", "spacing",
	    "removes itself and the white space before it", NULL },
	{ "noop", "", fn_noop, 0, 0, ARGS_REST, MF_NONE, ROW_STOPS, ALL, "", "spacing", "nothing; trim stops at it", NULL },
	{ "//", "comment", fn_nothing, 0, ARGS_ANY, ARGS_REST, MF_NONE, ROW_RAW_ARGS, ALL, " text", "spacing",
	    "a comment: prints nothing, is never sent", NULL },
	{ "reverse", "", fn_reverse, 1, 1, ARGS_REST, MF_NONE, 0, ALL, "::text", "text", "the text backwards", NULL },
	{ "uppercase", "", fn_upper, 1, 1, ARGS_REST, MF_NONE, ROW_WRAP, DIALECT_MAR, "", "text",
	    "{{uppercase}}text{{/uppercase}}: the text in capitals", NULL },
	{ "lowercase", "", fn_lower, 1, 1, ARGS_REST, MF_NONE, ROW_WRAP, DIALECT_MAR, "", "text",
	    "{{lowercase}}text{{/lowercase}}: the text in small letters", NULL },
	{ "original", "", fn_original, 0, 0, ARGS_REST, MF_NONE, 0, ALL, "", "prompt",
	    "the text that a card field overrides, at its first use", NULL },
	{ "outlet", "", fn_outlet, 1, 1, ARGS_REST, MF_NONE, 0, ALL, "::name", "prompt",
	    "lore of an outlet; empty in card fields and lore", NULL },
	{ "banned", "", fn_nothing, 0, ARGS_ANY, ARGS_REST, MF_NONE, 0, ALL, " \"word\"", "prompt", "accepted, prints nothing", NULL },
	{ "agent", "", fn_nothing, 1, 1, ARGS_REST, MF_NONE, 0, DIALECT_MAR, "::type", "prompt",
	    "what an agent found; there are none here, so empty", NULL },
	{ "char_about", "convo_display convo_behavior", fn_nothing, 0, 0, ARGS_REST, MF_NONE, ROW_CHAR, DIALECT_MAR, "", "prompt",
	    "a field of conversations; there are none here, so empty", NULL },
	{ "persona_about", "", fn_nothing, 0, 0, ARGS_REST, MF_NONE, 0, DIALECT_MAR, "", "prompt",
	    "a field of conversations; there are none here, so empty", NULL },
	{ "if", "", fn_if, 2, 2, ARGS_PAGE, MF_NONE, ROW_LAZY, 1u << MACRO_SILLYTAVERN, "::condition::text", "blocks",
	    "the text if the condition is true", NULL },
};
// clang-format on

const struct row_table builtin_text = { rows, sizeof(rows) / sizeof(rows[0]) };
