/*
 * decide_turn: one turn of the decision machinery: what timers hold, what must be asked, what the
 * answers start or end (spec marinara-conditionals 8.5 and 8.6), and the state between turns.
 */
#include "macro/decide.h"
#include "macro/macro_private.h"

#include "base/utf8.h"

#include <stdlib.h>

struct timer {
	bool choice, open; /* open: until/while keeps it on */
	struct str text, option;
	int64_t yes, sticky_end, cooldown_end, kept;
};

struct check { /* every: when it was last asked */
	bool choice;
	struct str text;
	int64_t turn;
};

struct kept { /* an answer of a turn */
	bool choice;
	struct str text, options; /* options: the sorted set, of a choice */
	struct macro_answer answer;
};

struct kept_turn {
	struct str key, model;
	VEC(struct kept) v;
};

struct macro_decisions {
	struct arena *a;
	int64_t turn;
	struct str key;
	VEC(struct timer) timers;
	VEC(struct check) checks;
	VEC(struct kept_turn) turns; /* oldest first */
};

enum verdict { V_ASK, V_KNOWN, V_HELD, V_SECOND };

struct judged {
	struct macro_statement s;
	enum verdict verdict;
	struct macro_answer answer;
	size_t timer; /* V_SECOND: index */
};

struct reply {
	bool choice;
	struct str text;
	struct macro_answer answer;
};

struct macro_turn_private {
	struct arena *a;
	struct str key, model;
	VEC(struct judged) judged;
	VEC(struct reply) replies;      /* this turn's answers: kept ones and new ones */
	size_t ended_ask, ended_judged; /* what macro_turn_end has dealt with */
};

/* ---- state ---- */

static struct timer *
timer_find(struct macro_decisions *d, bool choice, struct str text)
{
	for (size_t i = 0; i < d->timers.n; i++)
		if (d->timers.v[i].choice == choice && str_eq(d->timers.v[i].text, text))
			return &d->timers.v[i];
	return NULL;
}

static struct check *
check_find(struct macro_decisions *d, bool choice, struct str text)
{
	for (size_t i = 0; i < d->checks.n; i++)
		if (d->checks.v[i].choice == choice && str_eq(d->checks.v[i].text, text))
			return &d->checks.v[i];
	return NULL;
}

static void
load_timers(struct macro_decisions *d, const struct json *list)
{
	for (size_t i = 0; i < json_len(list); i++) {
		const struct json *o = json_at(list, i);
		struct timer t = { .choice = json_get_bool(o, "choice", false),
			.open = json_get_bool(o, "open", false) };

		t.text = json_get_str(o, "text");
		t.option = json_get_str(o, "option");
		t.yes = json_get_int(o, "yes", 0);
		t.sticky_end = json_get_int(o, "sticky_end", 0);
		t.cooldown_end = json_get_int(o, "cooldown_end", 0);
		t.kept = json_get_int(o, "kept", 0);
		vec_push(d->a, &d->timers, t);
	}
}

static struct macro_answer
answer_load(const struct json *o)
{
	struct macro_answer a = { .option = json_get_str(o, "option") };

	a.kind = a.option.p ? MACRO_OPTION : json_get_bool(o, "yes", false) ? MACRO_YES : MACRO_NO;
	return a;
}

static void
load_turns(struct macro_decisions *d, const struct json *list)
{
	for (size_t i = 0; i < json_len(list); i++) {
		const struct json *o = json_at(list, i), *answers = json_get(o, "answers");
		struct kept_turn t = { .key = json_get_str(o, "key"), .model = json_get_str(o, "model") };

		for (size_t k = 0; k < json_len(answers); k++) {
			const struct json *x = json_at(answers, k);
			struct kept a = { .choice = json_get_bool(x, "choice", false),
				.text = json_get_str(x, "text") };

			a.options = json_get_str(x, "options");
			a.answer = answer_load(x);
			vec_push(d->a, &t.v, a);
		}
		vec_push(d->a, &d->turns, t);
	}
}

struct macro_decisions *
macro_decisions_new(struct arena *a, const struct json *stored)
{
	struct macro_decisions *d = arena_new(a, struct macro_decisions);
	const struct json *checks = json_get(stored, "checks");

	d->a = a;
	d->turn = json_get_int(stored, "turn", 0);
	d->key = json_get_str(stored, "key");
	load_timers(d, json_get(stored, "timers"));
	for (size_t i = 0; i < json_len(checks); i++) {
		const struct json *o = json_at(checks, i);
		struct check c = { json_get_bool(o, "choice", false), json_get_str(o, "text"),
			json_get_int(o, "turn", 0) };

		vec_push(a, &d->checks, c);
	}
	load_turns(d, json_get(stored, "turns"));
	return d;
}

static void
save_timers(struct json *list, const struct macro_decisions *d)
{
	for (size_t i = 0; i < d->timers.n; i++) {
		const struct timer *t = &d->timers.v[i];
		struct json *o = json_push_object(list);

		if (t->choice)
			json_set_bool(o, "choice", true);
		json_set_str(o, "text", t->text);
		if (t->option.p)
			json_set_str(o, "option", t->option);
		json_set_int(o, "yes", t->yes);
		json_set_int(o, "sticky_end", t->sticky_end);
		json_set_int(o, "cooldown_end", t->cooldown_end);
		if (t->open)
			json_set_bool(o, "open", true);
		json_set_int(o, "kept", t->kept);
	}
}

static void
save_turn(struct json *o, const struct kept_turn *t)
{
	struct json *answers;

	json_set_str(o, "key", t->key);
	json_set_str(o, "model", t->model);
	answers = json_set_array(o, "answers");
	for (size_t k = 0; k < t->v.n; k++) {
		const struct kept *a = &t->v.v[k];
		struct json *x = json_push_object(answers);

		if (a->choice) {
			json_set_bool(x, "choice", true);
			json_set_str(x, "options", a->options);
			json_set_str(x, "option", a->answer.option);
		} else {
			json_set_bool(x, "yes", a->answer.kind == MACRO_YES);
		}
		json_set_str(x, "text", a->text);
	}
}

struct json *
macro_decisions_json(struct arena *a, const struct macro_decisions *d)
{
	struct json *o = json_object(a), *list;

	json_set_int(o, "turn", d->turn);
	json_set_str(o, "key", d->key);
	save_timers(json_set_array(o, "timers"), d);
	list = json_set_array(o, "checks");
	for (size_t i = 0; i < d->checks.n; i++) {
		struct json *c = json_push_object(list);

		if (d->checks.v[i].choice)
			json_set_bool(c, "choice", true);
		json_set_str(c, "text", d->checks.v[i].text);
		json_set_int(c, "turn", d->checks.v[i].turn);
	}
	list = json_set_array(o, "turns");
	for (size_t i = 0; i < d->turns.n; i++)
		save_turn(json_push_object(list), &d->turns.v[i]);
	return o;
}

/* ---- answers of this turn ---- */

static int
option_order(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* The sorted set of a choice's options: another set is another question. */
static struct str
option_set(struct arena *a, const struct macro_statement *s)
{
	struct str *v = arena_array(a, struct str, s->options.n + 1);
	struct sb sb = sb_new(a);

	for (size_t i = 0; i < s->options.n; i++)
		v[i] = utf8_lower(a, js_trim(s->options.v[i].name));
	qsort(v, s->options.n, sizeof(*v), option_order);
	for (size_t i = 0; i < s->options.n; i++) {
		sb_add_json(&sb, v[i]);
		sb_addc(&sb, ',');
	}
	return sb_str(&sb);
}

static struct kept_turn *
kept_turn(struct macro_decisions *d, struct str key, struct str model)
{
	for (size_t i = d->turns.n; i > 0; i--)
		if (str_eq(d->turns.v[i - 1].key, key) && str_eq(d->turns.v[i - 1].model, model))
			return &d->turns.v[i - 1];
	return NULL;
}

static bool
kept_answer(struct macro_turn *t, const struct macro_statement *s, struct macro_answer *out)
{
	const struct kept_turn *k = kept_turn(t->state, t->p->key, t->p->model);
	struct str set = s->choice ? option_set(t->p->a, s) : STR("");

	for (size_t i = 0; k && i < k->v.n; i++)
		if (k->v.v[i].choice == s->choice && str_eq(k->v.v[i].text, s->text) &&
		    (!s->choice || str_eq(k->v.v[i].options, set))) {
			*out = k->v.v[i].answer;
			return true;
		}
	return false;
}

static struct reply *
reply_find(const struct macro_turn *t, bool choice, struct str text)
{
	for (size_t i = 0; i < t->p->replies.n; i++)
		if (t->p->replies.v[i].choice == choice && str_eq(t->p->replies.v[i].text, text))
			return &t->p->replies.v[i];
	return NULL;
}

static void
reply_set(struct macro_turn *t, bool choice, struct str text, struct macro_answer answer)
{
	struct reply *r = reply_find(t, choice, text);

	if (r)
		r->answer = answer;
	else
		vec_push(t->p->a, &t->p->replies, ((struct reply){ choice, text, answer }));
}

/* ---- the turn ---- */

struct macro_turn *
macro_turn_begin(struct arena *a, struct macro_decisions *state, struct str key, struct str model)
{
	struct macro_turn *t = arena_new(a, struct macro_turn);

	t->state = state;
	t->p = arena_new(a, struct macro_turn_private);
	t->p->a = a;
	t->p->key = arena_str(state->a, key);
	t->p->model = arena_str(state->a, model.p ? model : STR(""));
	if (!str_eq(state->key, key) || state->turn == 0)
		state->turn++;
	state->key = t->p->key;
	t->number = state->turn;
	return t;
}

/* What holds a statement this turn, by the rules of 8.6 in their order. */
static void
judge(struct macro_turn *t, struct judged *j)
{
	const struct macro_statement *s = &j->s;
	const struct timer *e = timer_find(t->state, s->choice, s->text);
	const struct check *c = s->every > 1 ? check_find(t->state, s->choice, s->text) : NULL;
	int64_t now = t->number;
	bool either = s->lasts_or || !s->sticky;

	j->verdict = V_HELD;
	j->answer = (struct macro_answer){ .kind = s->choice ? MACRO_COOLING : MACRO_NO };
	if (e && e->yes != now) {
		bool sticky = now <= e->sticky_end;

		if (s->lasts && (either ? !sticky && e->open : sticky)) {
			j->verdict = V_SECOND;
			j->timer = (size_t)(e - t->state->timers.v);
			j->answer.kind = MACRO_YES;
			return;
		}
		if (sticky) {
			j->answer = (struct macro_answer){ s->choice ? MACRO_OPTION : MACRO_YES, e->option };
			return;
		}
		if (now <= e->cooldown_end)
			return;
	}
	if (!(e && e->yes == now) && c && c->turn < now && now < c->turn + (int64_t)s->every)
		return;
	j->verdict = kept_answer(t, s, &j->answer) ? V_KNOWN : V_ASK;
}

static struct macro_statement
second_of(const struct macro_statement *s)
{
	return (struct macro_statement){ .text = s->lasts_text, .priority = s->priority };
}

/* Answers that are known before anything is asked; the second walk is settled by them. */
static struct macro_answer
known(void *ctx, bool choice, struct str text)
{
	struct macro_turn *t = ctx;

	for (size_t i = 0; i < t->p->judged.n; i++) {
		const struct judged *j = &t->p->judged.v[i];

		if (j->s.choice == choice && str_eq(j->s.text, text))
			return j->verdict == V_ASK || j->verdict == V_SECOND ? (struct macro_answer){ 0 }
									     : j->answer;
	}
	return (struct macro_answer){ 0 };
}

static const struct judged *
judged_find(const struct macro_turn *t, const struct macro_statement *s)
{
	for (size_t i = 0; i < t->p->judged.n; i++)
		if (t->p->judged.v[i].s.choice == s->choice && str_eq(t->p->judged.v[i].s.text, s->text))
			return &t->p->judged.v[i];
	return NULL;
}

static bool
listed(const struct macro_statements *list, const struct macro_statement *s)
{
	for (size_t i = 0; i < list->v.n; i++)
		if (list->v.v[i].choice == s->choice && str_eq(list->v.v[i].text, s->text))
			return true;
	return false;
}

/* Must it be asked, and has no earlier plan of this turn taken or dropped it? */
static bool
wanted(const struct macro_turn *t, const struct macro_statement *s)
{
	const struct judged *j = judged_find(t, s);

	return j && j->verdict == V_ASK && !listed(&t->ask, s) && !listed(&t->dropped, s);
}

static void
judge_all(struct macro_turn *t, const struct macro_statements *found)
{
	struct macro_statements merged = { 0 };

	statements_merge(t->p->a, found, &merged);
	for (size_t i = 0; i < merged.v.n; i++) {
		struct judged j = { .s = merged.v.v[i] };

		if (judged_find(t, &j.s))
			continue; /* of an earlier plan of this turn */
		judge(t, &j);
		vec_push(t->p->a, &t->p->judged, j);
		if (j.verdict == V_KNOWN)
			reply_set(t, j.s.choice, j.s.text, j.answer);
	}
}

/* What is left of the limit is asked, by priority; `planned`: statements that earlier plans have judged. */
static void
ask_add(struct macro_turn *t, struct macro_statements *ask, size_t planned, unsigned limit)
{
	struct arena *a = t->p->a;
	struct macro_statements take = { 0 };

	for (size_t i = planned; i < t->p->judged.n; i++) {
		const struct judged *j = &t->p->judged.v[i];
		struct macro_statement s = second_of(&j->s);
		struct macro_answer answer;

		if (j->verdict != V_SECOND)
			continue;
		if (kept_answer(t, &s, &answer))
			reply_set(t, false, s.text, answer);
		else
			vec_push(a, &ask->v, s);
	}
	if (t->p->model.n)
		macro_statements_plan(
		    a, ask, limit > t->ask.v.n ? limit - (unsigned)t->ask.v.n : 0, &take, &t->dropped);
	for (size_t i = 0; i < take.v.n; i++)
		vec_push(a, &t->ask.v, take.v.v[i]);
}

void
macro_turn_plan(struct macro_turn *t, const struct macro_env *env, const struct macro_template *const *texts,
    size_t n, unsigned limit)
{
	struct arena *a = t->p->a;
	struct macro_env e = *env;
	struct macro_statements all = { 0 }, left = { 0 }, ask = { 0 };
	size_t planned = t->p->judged.n;

	e.answer = NULL;
	for (size_t i = 0; i < n; i++)
		macro_statements_reach(a, &e, texts[i], false, &all);
	judge_all(t, &all);
	e.answer = known;
	e.answer_ctx = t;
	for (size_t i = 0; i < n; i++)
		macro_statements_reach(a, &e, texts[i], false, &left);
	for (size_t i = 0; i < left.v.n; i++)
		if (wanted(t, &left.v.v[i]))
			vec_push(a, &ask.v, left.v.v[i]);
	ask_add(t, &ask, planned, limit);
}

void
macro_turn_want(struct macro_turn *t, const struct macro_statement *s, unsigned limit)
{
	struct macro_statements all = { 0 }, ask = { 0 };
	struct macro_statement own = *s;
	size_t planned = t->p->judged.n;

	own.text = statement_key(t->p->a, s->text);
	vec_push(t->p->a, &all.v, own);
	judge_all(t, &all);
	if (wanted(t, &own))
		vec_push(t->p->a, &ask.v, own);
	ask_add(t, &ask, planned, limit);
}

struct str
macro_statement_key(struct arena *a, struct str text)
{
	return statement_key(a, text);
}

void
macro_turn_answer(struct macro_turn *t, size_t i, struct macro_answer answer)
{
	const struct macro_statement *s = &t->ask.v.v[i];

	if (answer.kind == MACRO_UNANSWERED || answer.kind == MACRO_COOLING ||
	    s->choice != (answer.kind == MACRO_OPTION))
		return;
	answer.option = s->choice ? arena_str(t->state->a, answer.option) : STR_NULL;
	reply_set(t, s->choice, s->text, answer);
}

/* ---- what answers start and end ---- */

static void
keep_answer(struct macro_turn *t, const struct macro_statement *s, struct macro_answer answer)
{
	struct macro_decisions *d = t->state;
	struct kept_turn *k = kept_turn(d, t->p->key, t->p->model);
	struct kept a = { .choice = s->choice, .text = arena_str(d->a, s->text), .answer = answer };

	if (!k) {
		if (d->turns.n >= MACRO_DECISION_TURNS) {
			memmove(d->turns.v, d->turns.v + 1, (d->turns.n - 1) * sizeof(*d->turns.v));
			d->turns.n--;
		}
		k = vec_add(d->a, &d->turns);
		*k = (struct kept_turn){ .key = t->p->key, .model = t->p->model };
	}
	if (s->choice)
		a.options = arena_str(d->a, option_set(t->p->a, s));
	vec_push(d->a, &k->v, a);
}

static bool
is_yes(struct macro_answer a)
{
	return a.kind == MACRO_YES ||
	       (a.kind == MACRO_OPTION && !str_ieq(a.option, STR(MACRO_NONE_OF_THESE)));
}

static void
start_timer(struct macro_turn *t, const struct macro_statement *s, struct macro_answer answer)
{
	struct macro_decisions *d = t->state;
	struct timer *e = timer_find(d, s->choice, s->text);

	if (!s->sticky && !s->cooldown && !s->lasts)
		return;
	if (!e) {
		e = vec_add(d->a, &d->timers);
		*e = (struct timer){ .choice = s->choice, .text = arena_str(d->a, s->text) };
	}
	e->option = answer.kind == MACRO_OPTION ? answer.option : STR_NULL;
	e->yes = e->kept = t->number;
	e->sticky_end = t->number + s->sticky;
	e->cooldown_end = e->sticky_end + s->cooldown;
	e->open = s->lasts != MACRO_LASTS_NONE;
}

static void
note_check(struct macro_turn *t, const struct macro_statement *s)
{
	struct macro_decisions *d = t->state;
	struct check *c = check_find(d, s->choice, s->text);

	if (!s->every)
		return;
	if (!c) {
		c = vec_add(d->a, &d->checks);
		*c = (struct check){ .choice = s->choice, .text = arena_str(d->a, s->text) };
	}
	c->turn = t->number;
}

/* The second statement of an open block was answered, or not. */
static void
second_answered(struct macro_turn *t, struct judged *j)
{
	struct timer *e = &t->state->timers.v[j->timer];
	const struct reply *r = reply_find(t, false, j->s.lasts_text);

	if (!r || r->answer.kind == MACRO_UNANSWERED)
		return;
	if ((j->s.lasts == MACRO_LASTS_UNTIL) != (r->answer.kind == MACRO_YES)) {
		e->kept = t->number;
		return;
	}
	e->open = false;
	e->sticky_end = t->number - 1;
	e->cooldown_end = t->number + j->s.cooldown;
	j->answer.kind = MACRO_NO;
}

static void
drop_old(struct macro_decisions *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->timers.n; i++) {
		const struct timer *e = &d->timers.v[i];
		bool live = e->open ? d->turn - e->kept <= MACRO_DECISION_IDLE || d->turn <= e->cooldown_end
				    : d->turn <= e->cooldown_end;

		if (live)
			d->timers.v[n++] = *e;
	}
	d->timers.n = n;
	n = 0;
	for (size_t i = 0; i < d->checks.n; i++)
		if (d->turn - d->checks.v[i].turn <= MACRO_DECISION_IDLE)
			d->checks.v[n++] = d->checks.v[i];
	d->checks.n = n;
}

void
macro_turn_end(struct macro_turn *t)
{
	for (size_t i = t->p->ended_ask; i < t->ask.v.n; i++) {
		const struct macro_statement *s = &t->ask.v.v[i];
		const struct reply *r = reply_find(t, s->choice, s->text);

		if (!r)
			continue;
		keep_answer(t, s, r->answer);
		note_check(t, s);
		if (is_yes(r->answer))
			start_timer(t, s, r->answer);
	}
	for (size_t i = t->p->ended_judged; i < t->p->judged.n; i++) {
		struct judged *j = &t->p->judged.v[i];
		struct macro_held h = { .choice = j->s.choice, .text = j->s.text };

		if (j->verdict == V_SECOND)
			second_answered(t, j);
		if (j->verdict != V_SECOND && j->verdict != V_HELD)
			continue;
		h.answer = j->answer;
		vec_push(t->p->a, &t->held, h);
	}
	t->p->ended_ask = t->ask.v.n;
	t->p->ended_judged = t->p->judged.n;
	drop_old(t->state);
}

void
macro_decisions_rewind(struct macro_decisions *d, int64_t turns)
{
	size_t n = 0;

	if (turns <= 0)
		return;
	d->turn = d->turn > turns ? d->turn - turns : 0;
	d->key = STR("");
	for (size_t i = 0; i < d->timers.n; i++)
		if (d->timers.v[i].yes <= d->turn)
			d->timers.v[n++] = d->timers.v[i];
	d->timers.n = n;
	for (size_t i = n = 0; i < d->checks.n; i++)
		if (d->checks.v[i].turn <= d->turn)
			d->checks.v[n++] = d->checks.v[i];
	d->checks.n = n;
}

struct macro_answer
macro_turn_lookup(void *turn, bool choice, struct str text)
{
	struct macro_turn *t = turn;
	const struct reply *r;

	for (size_t i = 0; i < t->p->judged.n; i++) {
		const struct judged *j = &t->p->judged.v[i];

		if (j->s.choice == choice && str_eq(j->s.text, text) &&
		    (j->verdict == V_HELD || j->verdict == V_SECOND))
			return j->answer;
	}
	if ((r = reply_find(t, choice, text)) != NULL)
		return r->answer;
	for (size_t i = 0; i < t->unanswered.n; i++)
		if (str_eq(t->unanswered.v[i], text))
			return (struct macro_answer){ 0 };
	vec_push(t->p->a, &t->unanswered, arena_str(t->p->a, text));
	return (struct macro_answer){ 0 };
}
