/*
 * builtin_chance: random, pick and roll. Numbers come from the run's generator, which the caller
 * seeds and records; pick is SillyTavern's own formula over chat, text and position, so a choice
 * stays the same for a chat.
 */
#include "macro/macro_private.h"

#include "base/utf8.h"

#define DICE_MAX 1000
#define SIDES_MAX 1000000

struct choices {
	VEC(struct str) v;
};

/* One argument is a list with commas (\, is a comma); several are the list. */
static void
choices_of(struct ev *ev, const struct node *n, const struct str *argv, struct choices *c)
{
	struct arena *a = ev->r->a;
	struct sb sb = sb_new(a);

	if (n->argc != 1) {
		for (unsigned i = 0; i < n->argc; i++)
			vec_push(a, &c->v, argv[i]);
		return;
	}
	for (size_t i = 0; i <= argv[0].n; i++) {
		if (i == argv[0].n || argv[0].p[i] == ',') {
			vec_push(a, &c->v, js_trim(sb_str(&sb)));
			sb = sb_new(a);
		} else if (argv[0].p[i] == '\\' && i + 1 < argv[0].n && argv[0].p[i + 1] == ',') {
			sb_addc(&sb, ',');
			i++;
		} else {
			sb_addc(&sb, argv[0].p[i]);
		}
	}
}

/* marinara: {{random}}, {{random:1:6}}: a whole number. */
static bool
random_number(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	size_t colon = n->argc == 1 ? str_chr(argv[0], ':', 0) : STR_NPOS;
	double lo = 0, hi = 100;

	if (ev->t->dialect != MACRO_MARINARA)
		return false;
	if (n->argc &&
	    (colon == STR_NPOS || !js_number(str_sub(argv[0], 0, colon), &lo) ||
		!js_number(str_sub(argv[0], colon + 1, argv[0].n), &hi) || hi < lo || hi - lo > 1e9))
		return false;
	*out = js_number_text(ev->r->a, (double)(int64_t)(lo + eval_chance(ev) * (hi - lo + 1)));
	return true;
}

/* marinara: "A@3" weighs three times as much. Returns the weight and cuts it off. */
static double
weight_of(const struct ev *ev, struct str *s)
{
	double w;

	if (ev->t->dialect != MACRO_MARINARA)
		return 1;
	for (size_t i = s->n; i > 0; i--)
		if (s->p[i - 1] == '@') {
			if (!js_number(str_sub(*s, i, s->n), &w) || w < 0)
				return 1;
			*s = js_trim(str_sub(*s, 0, i - 1));
			return w;
		}
	return 1;
}

static enum nv
fn_random(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	struct choices c = { 0 };
	double total = 0, at;

	*out = STR("");
	if (random_number(ev, n, argv, out))
		return NV_OK;
	choices_of(ev, n, argv, &c);
	if (!c.v.n)
		return NV_OK;
	for (size_t i = 0; i < c.v.n; i++) {
		struct str s = c.v.v[i];

		total += weight_of(ev, &s);
	}
	at = eval_chance(ev) * total;
	for (size_t i = 0; i < c.v.n; i++) {
		double w = weight_of(ev, &c.v.v[i]);

		*out = c.v.v[i];
		if (at < w)
			return NV_OK;
		at -= w;
	}
	return NV_OK;
}

static enum nv
fn_pick(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	struct choices c = { 0 };
	struct str chat = eval_field(ev, MF_CHAT_ID);
	const char *seed;
	size_t offset = n->aux, i;

	*out = STR("");
	choices_of(ev, n, argv, &c);
	if (!c.v.n)
		return NV_OK;
	if (!ev->hashed)
		ev->text_hash = js_hash53(ev->t->given);
	ev->hashed = true;
	if (ev->t->n_edits)
		offset = utf8_units(str_sub(ev->t->given, 0, prep_given(ev->t, n->start)));
	seed = arena_printf(ev->r->a, "%llu-%llu-%zu", (unsigned long long)js_hash53(chat),
	    (unsigned long long)ev->text_hash, offset);
	seed = arena_printf(ev->r->a, "%llu", (unsigned long long)js_hash53(str_c(seed)));
	i = (size_t)(js_seedrandom(str_c(seed)) * (double)c.v.n);
	*out = c.v.v[i < c.v.n ? i : c.v.n - 1];
	return NV_OK;
}

/* Digits without a leading zero, of a number up to max; 0 if there is none. */
static int64_t
dice_number(struct str s, size_t *at, int64_t max)
{
	int64_t v = 0;

	if (*at >= s.n || s.p[*at] < '1' || s.p[*at] > '9')
		return 0;
	for (; *at < s.n && s.p[*at] >= '0' && s.p[*at] <= '9'; ++*at)
		if (v <= max)
			v = v * 10 + (s.p[*at] - '0');
	return v;
}

/* [N]dM[+-K]; digits alone are the sides of one die. */
static bool
dice_parse(struct str s, int64_t *count, int64_t *sides, int64_t *plus)
{
	size_t at = 0;
	int64_t sign;

	*count = dice_number(s, &at, DICE_MAX);
	*plus = 0;
	if (at == s.n && *count) {
		at = 0;
		*sides = dice_number(s, &at, SIDES_MAX);
		*count = 1;
		return true;
	}
	if (at >= s.n || (s.p[at] != 'd' && s.p[at] != 'D') || (at && !*count))
		return false;
	if (!at)
		*count = 1;
	at++;
	if ((*sides = dice_number(s, &at, SIDES_MAX)) == 0)
		return false;
	if (at == s.n)
		return true;
	if (s.p[at] != '+' && s.p[at] != '-')
		return false;
	sign = s.p[at++] == '-' ? -1 : 1;
	*plus = sign * dice_number(s, &at, SIDES_MAX);
	return at == s.n && *plus != 0;
}

static enum nv
fn_roll(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	int64_t count, sides, sum;

	(void)n;
	*out = STR("");
	if (!dice_parse(js_trim(argv[0]), &count, &sides, &sum) || count > DICE_MAX || sides > SIDES_MAX)
		return NV_OK;
	for (int64_t i = 0; i < count; i++)
		sum += (int64_t)(eval_chance(ev) * (double)sides) + 1;
	*out = js_number_text(ev->r->a, (double)sum);
	return NV_OK;
}

#define C ROW_CHANCE
#define ALL DIALECTS_ALL

// clang-format off
static const struct row rows[] = {
	{ "random", "", fn_random, 0, ARGS_ANY, ARGS_REST, MF_NONE, C, ALL, "::a::b…", "chance",
	    "one of the choices, anew every time; also {{random:a,b}}", "changes the prompt every time: put it after the history" },
	{ "pick", "", fn_pick, 0, ARGS_ANY, ARGS_REST, MF_NONE, C, ALL, "::a::b…", "chance",
	    "one of the choices; the same for this chat and place", NULL },
	{ "roll", "", fn_roll, 1, 1, ARGS_REST, MF_NONE, C, ALL, " 2d6+1", "chance",
	    "dice: [count]d(sides)[+-n]; at most 1000 dice of 1,000,000 sides", "changes the prompt every time: put it after the history" },
};
// clang-format on

const struct row_table builtin_chance = { rows, sizeof(rows) / sizeof(rows[0]) };
