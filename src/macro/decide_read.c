/*
 * decide_read: reading what a decision model said, and the values of choice blocks.
 */
#include "macro/decide.h"
#include "macro/macro_private.h"

#include <math.h>

/* 1 yes, -1 no, 0 neither; blanks and marks around the word do not count. */
static int
word_of(struct str s)
{
	static const char *const yes[] = { "yes", "y", "true" }, *const no[] = { "no", "n", "false" };
	size_t b = 0, e = s.n, len;

	while (b < e && (js_blank(s, b, &len) || (strchr(".,!?;:\"'`*()", s.p[b]) && (len = 1))))
		b += len;
	while (e > b && (strchr(" \t\r\n.,!?;:\"'`*()", s.p[e - 1])))
		e--;
	s = str_sub(s, b, e);
	for (int i = 0; i < 3; i++) {
		if (str_ieq(s, str_c(yes[i])))
			return 1;
		if (str_ieq(s, str_c(no[i])))
			return -1;
	}
	return 0;
}

struct macro_reading
macro_decision_read(const struct macro_token_odds *v, size_t n, double threshold)
{
	struct macro_reading r = { 0 };
	double yes = 0, no = 0, all = 0;

	for (size_t i = 0; i < n; i++) {
		double p = exp(v[i].logprob);
		int w;

		if (!v[i].token.p || v[i].bad || !isfinite(p))
			continue;
		w = word_of(v[i].token);
		all += p;
		yes += w > 0 ? p : 0;
		no += w < 0 ? p : 0;
	}
	if (yes + no > 0)
		r.probability = yes / (yes + no);
	if (all > 0)
		r.share = (yes + no) / all;
	r.answered = r.share >= 0.5;
	r.yes = r.answered && r.probability >= threshold;
	return r;
}

static bool
is_option(const struct macro_choice_block *b, struct str s)
{
	for (size_t i = 0; i < b->n_options; i++)
		if (str_eq(b->options[i], s))
			return true;
	return false;
}

struct chosen {
	VEC(struct str) v;
};

static void
choose_value(struct arena *a, const struct macro_choice_block *b, struct str s, struct chosen *c)
{
	for (size_t i = 0; i < c->v.n; i++)
		if (str_eq(c->v.v[i], s))
			return;
	if (is_option(b, s))
		vec_push(a, &c->v, s);
}

struct str
macro_choice_value(
    struct arena *a, const struct macro_choice_block *b, const struct json *selected, bool has, double unit)
{
	struct str first = b->n_options ? b->options[0] : STR(""),
		   sep = b->separator.p ? b->separator : STR(", ");
	bool list = json_type(selected) == JSON_ARRAY;
	struct chosen c = { 0 };
	struct sb sb = sb_new(a);
	size_t i;

	if (!has)
		return first;
	if (list ? json_len(selected) == 0 : json_str(selected).n == 0)
		return STR("");
	for (i = 0; list && i < json_len(selected); i++)
		choose_value(a, b, json_str(json_at(selected, i)), &c);
	if (!list)
		choose_value(a, b, json_str(selected), &c);
	if (!c.v.n)
		return first;
	if (b->random) {
		i = (size_t)(unit * (double)c.v.n);
		return c.v.v[i < c.v.n ? i : c.v.n - 1];
	}
	if (!b->multi)
		return c.v.v[0];
	for (i = 0; i < c.v.n; i++) {
		if (i)
			sb_add(&sb, sep);
		sb_add(&sb, c.v.v[i]);
	}
	return sb_str(&sb);
}
