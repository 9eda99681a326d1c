/*
 * text: evaluating an author's text inside the run, and the small string work of an assembly.
 */
#include "base/utf8.h"
#include "prompt/prompt_private.h"

/* Stands for a value inside a text that is being evaluated: noncharacters, which no text holds. */
#define VALUE_MARK "\xef\xb7\x90v\xef\xb7\x91"

bool
text_blank(struct str s)
{
	return utf8_trim(s).n == 0;
}

struct str
text_replace(struct arena *a, struct str s, struct str what, struct str with, bool all)
{
	size_t at = str_find(s, what, 0), from = 0;
	struct sb out;

	if (at == STR_NPOS || what.n == 0)
		return s;
	out = sb_new(a);
	for (; at != STR_NPOS; at = all ? str_find(s, what, from) : STR_NPOS) {
		sb_add(&out, str_sub(s, from, at));
		sb_add(&out, with);
		from = at + what.n;
	}
	sb_add(&out, str_sub(s, from, s.n));
	return sb_str(&out);
}

struct str
text_no_cr(struct arena *a, struct str s)
{
	return text_replace(a, s, STR("\r"), STR(""), true);
}

struct text
text_compile(struct arena *a, struct str s, enum macro_dialect d)
{
	return (struct text){ .s = s, .tpl = s.p ? macro_compile(a, s, d) : NULL };
}

struct str
text_eval(struct build *b, struct text t)
{
	if (t.tpl == NULL)
		return t.s.p ? t.s : STR("");
	return macro_eval(b->run, &(struct macro_piece){ .tpl = t.tpl });
}

struct str
text_eval_raw(struct build *b, struct str s)
{
	return text_eval(b, text_compile(b->a, s, b->dialect));
}

struct str
text_eval_with(struct build *b, struct text t, struct str what, struct str value)
{
	struct str marked = text_replace(b->a, t.s, what, STR(VALUE_MARK), true);

	if (str_eq(marked, t.s))
		return text_eval(b, t);
	marked = text_eval(b, text_compile(b->a, marked, macro_template_dialect(t.tpl)));
	return text_replace(b->a, marked, STR(VALUE_MARK), value, true);
}

size_t
text_tokens(const struct build *b, struct str s)
{
	if (b->in->count)
		return b->in->count(b->in->count_arg, s);
	return (utf8_units(s) + 3) / 4;
}

int32_t
item_tokens(const struct build *b, const struct item *it)
{
	return (int32_t)text_tokens(b, it->content) + b->in->tokens_per_message;
}
