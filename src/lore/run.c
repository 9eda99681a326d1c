/*
 * run: the scan. Passes over all candidates until nothing new comes up: first the chat, then what
 * activated entries wrote (recursion), further back in the chat (minimum activations), and the
 * delayed levels. Order of tests, of chance and of macros is SillyTavern's.
 */
#include "lore/run.h"

#include "base/utf8.h"

#include <math.h>

#define UNDECIDED LORE_WHY__COUNT /* by what needs no key */

struct lore_settings
lore_settings_defaults(void)
{
	return (struct lore_settings){ .scan_depth = 2, .budget_percent = 25, .include_names = true };
}

double
run_roll(struct run *r)
{
	r->out->rolls++;
	return r->in->calls.roll != NULL ? r->in->calls.roll(r->in->calls.arg) : rng_unit(&r->rng);
}

/* UTF-16 units of valid UTF-8: a unit for each character, another for those of four bytes. */
static int64_t
units(struct str s)
{
	int64_t n = 0;

	for (size_t i = 0; i < s.n; i++)
		n += (((unsigned char)s.p[i] & 0xc0) != 0x80) + ((unsigned char)s.p[i] >= 0xf0);
	return n;
}

static int64_t
count(const struct run *r, struct str text)
{
	if (r->in->calls.count != NULL)
		return (int64_t)r->in->calls.count(r->in->calls.arg, text);
	return (units(text) + 3) / 4;
}

static struct str
expand(const struct run *r, const struct candidate *c, struct str text)
{
	return r->in->calls.expand != NULL ? r->in->calls.expand(r->in->calls.arg, c->e->src.dialect, text) : text;
}

struct view
run_view(const struct run *r, const struct candidate *c)
{
	int32_t depth = c->e->src.has_scan_depth ? c->e->src.scan_depth : r->depth;

	return (struct view){ .depth = depth > DEPTH_MAX ? DEPTH_MAX : depth,
		.sources = c->e->src.sources,
		.recursion = r->kind != PASS_MIN_ACTIVATIONS };
}

/* ---- keys ---- */

struct test_key
run_key(const struct run *r, size_t candidate, bool secondary, size_t i)
{
	const struct standing *st = &r->standing[candidate];
	const struct candidate *c = &r->set->v[candidate];
	const struct test_key *ready = secondary ? st->secondary : st->keys;
	uint32_t pattern = (secondary ? c->secondary : c->keys)[i];

	if (ready != NULL)
		return ready[i];
	return (struct test_key){ .key = (secondary ? c->e->secondary : c->e->keys).v[i],
		.matcher = pattern != NO_PATTERN ? r->scan.matchers.v[0] : NULL,
		.pattern = pattern };
}

/* Plain keys that became known in this pass, for one more pair of automata. */
struct fresh_keys {
	VEC(struct keys_pattern) pattern[MATCH__COUNT];
	VEC(struct test_key *) waiting;
};

static struct test_key *
expand_keys(struct run *r, const struct candidate *c, bool secondary, struct fresh_keys *fresh)
{
	const struct book_keys *keys = secondary ? &c->e->secondary : &c->e->keys;
	struct test_key *out = arena_array(r->a, struct test_key, keys->n + 1);
	int match = c->case_sensitive ? MATCH_EXACT : MATCH_LOWER;
	size_t bytes = 0;

	for (size_t i = 0; i < keys->n; i++) {
		struct test_key *k = &out[i];

		*k = run_key(r, (size_t)(c - r->set->v), secondary, i);
		if (keys->v[i].kind != KEY_DYNAMIC)
			continue;
		k->key = book_key_make(r->a, expand(r, c, keys->v[i].raw), false, &bytes);
		if (k->key.kind != KEY_PLAIN || k->key.odd)
			continue;
		k->pattern = (uint32_t)fresh->pattern[match].n;
		vec_push(r->a, &fresh->pattern[match],
		    ((struct keys_pattern){ c->case_sensitive ? k->key.text : lore_lower(r->a, k->key.text),
			c->whole_words && !k->key.spaced }));
		vec_push(r->a, &fresh->waiting, k);
	}
	return out;
}

static enum lore_why gate(const struct run *r, size_t candidate);

/* Macros of the keys that this pass tests for the first time, in the order of the tests. */
static void
prepare_keys(struct run *r)
{
	struct fresh_keys fresh = { 0 };
	const struct matcher *m;

	for (size_t i = 0; i < r->set->n; i++) {
		const struct candidate *c = &r->set->v[i];
		struct standing *st = &r->standing[i];

		if (!c->dynamic || st->keys != NULL || !st->eligible || st->active || st->failed ||
		    gate(r, i) != UNDECIDED)
			continue;
		st->keys = expand_keys(r, c, false, &fresh);
		if (c->e->src.selective)
			st->secondary = expand_keys(r, c, true, &fresh);
	}
	if (fresh.waiting.n == 0)
		return;
	m = scan_add_matcher(&r->scan,
	    keys_build(
		r->a, fresh.pattern[MATCH_EXACT].v, fresh.pattern[MATCH_EXACT].n, r->set->unicode_words),
	    keys_build(
		r->a, fresh.pattern[MATCH_LOWER].v, fresh.pattern[MATCH_LOWER].n, r->set->unicode_words));
	for (size_t i = 0; i < fresh.waiting.n; i++)
		fresh.waiting.v[i]->matcher = m;
}

static bool
test_secondary(struct run *r, size_t candidate, struct lore_verdict *v)
{
	const struct candidate *c = &r->set->v[candidate];
	enum lore_logic logic = c->e->src.logic;
	bool any = false, all = true;

	for (size_t i = 0; i < c->e->secondary.n; i++) {
		struct test_key k = run_key(r, candidate, true, i);
		struct found f = scan_test(&r->scan, c, &k, run_view(r, c));

		any = any || f.is;
		all = all && f.is;
		v->key_limited = v->key_limited || f.limited;
		v->secondary = k.key.text;
		if ((logic == LORE_AND_ANY && f.is) || (logic == LORE_NOT_ALL && !f.is))
			return true;
		if ((logic == LORE_NOT_ANY && f.is) || (logic == LORE_AND_ALL && !f.is))
			return false;
	}
	v->secondary = STR_NULL;
	return (logic == LORE_NOT_ANY && !any) || (logic == LORE_AND_ALL && all);
}

static enum lore_why
test_keys(struct run *r, size_t candidate, struct lore_verdict *v)
{
	const struct candidate *c = &r->set->v[candidate];

	v->key_limited = false;
	for (size_t i = 0; i < c->e->keys.n; i++) {
		struct test_key k = run_key(r, candidate, false, i);
		struct found f = scan_test(&r->scan, c, &k, run_view(r, c));

		v->key_limited = v->key_limited || f.limited;
		if (!f.is)
			continue;
		v->key = k.key.text;
		v->place = f.place;
		v->place_index = f.index;
		if (!c->e->src.selective || c->e->secondary.n == 0 || test_secondary(r, candidate, v))
			return LORE_BY_KEY;
		return LORE_NOT_LOGIC;
	}
	v->key = STR_NULL;
	v->place = LORE_IN_NOTHING;
	return LORE_NOT_KEY;
}

/* ---- one candidate ---- */

/* What decides without a look at the text. */
static enum lore_why
gate(const struct run *r, size_t candidate)
{
	const struct book_entry *e = r->set->v[candidate].e;
	bool sticky = r->timed.sticky[candidate];

	if (e->src.delay > 0 && r->messages < e->src.delay)
		return LORE_NOT_DELAY;
	if (r->timed.cooldown[candidate] && !sticky)
		return LORE_NOT_COOLDOWN;
	if (e->src.delay_until_recursion > 0 && !sticky &&
	    (r->kind != PASS_RECURSION || e->src.delay_until_recursion > r->level))
		return LORE_NOT_RECURSED;
	if (r->kind == PASS_RECURSION && r->in->settings.recursive && e->src.exclude_recursion && !sticky)
		return LORE_NOT_IN_RECURSION;
	if (e->activate)
		return LORE_BY_DECORATOR;
	if (e->dont_activate)
		return LORE_NOT_DECORATOR;
	if (r->standing[candidate].forced)
		return LORE_BY_FORCE;
	if (e->src.constant)
		return LORE_BY_CONSTANT;
	if (sticky)
		return LORE_BY_STICKY;
	if (e->keys.n > 0)
		return UNDECIDED;
	return e->src.decision.n > 0 ? LORE_BY_DECISION : LORE_NOT_KEYLESS;
}

/* A decision statement has the last word over keys and constants; unanswered, it leaves it to them. */
static enum lore_why
decide(struct run *r, const struct book_entry *e, enum lore_why why)
{
	enum lore_answer answer = LORE_UNANSWERED;

	if (e->src.decision.n == 0 ||
	    (why != LORE_BY_KEY && why != LORE_BY_CONSTANT && why != LORE_BY_DECISION))
		return why;
	if (r->in->calls.decide != NULL)
		answer = r->in->calls.decide(r->in->calls.arg, e->src.decision);
	if (answer == LORE_ANSWER_NO)
		return LORE_NOT_DECISION;
	if (answer == LORE_UNANSWERED) {
		bool known = false;

		for (size_t i = 0; i < r->unanswered.n; i++)
			known = known || str_eq(r->unanswered.v[i], e->src.decision);
		if (!known)
			vec_push(r->a, &r->unanswered, e->src.decision);
		return why == LORE_BY_DECISION ? LORE_NOT_ANSWERED : why;
	}
	return why;
}

/* An entry that keeps out of recursion: was it only there that its key stood? */
static bool
would_recurse(struct run *r, size_t candidate, const struct lore_verdict *v)
{
	struct lore_verdict probe = *v;

	return v->why == LORE_NOT_KEY && r->set->v[candidate].e->keys.n > 0 &&
	       !r->set->v[candidate].dynamic && test_keys(r, candidate, &probe) == LORE_BY_KEY &&
	       probe.place == LORE_IN_RECURSION;
}

/* True if the candidate comes up in this pass; its verdict is kept. */
static bool
try_candidate(struct run *r, size_t candidate)
{
	struct standing *st = &r->standing[candidate];
	struct lore_verdict *v = &r->out->verdicts[candidate];
	enum lore_why why;

	if (!st->eligible || st->active || st->failed)
		return false;
	why = gate(r, candidate);
	if (why == LORE_NOT_IN_RECURSION && !would_recurse(r, candidate, v))
		return false;
	if (why == UNDECIDED)
		why = test_keys(r, candidate, v);
	why = decide(r, r->set->v[candidate].e, why);
	v->why = why;
	v->pass = r->out->passes;
	v->recursion = r->recursions;
	return lore_why_is_on(why);
}

/* ---- one pass ---- */

/* Sticky ones first, else in candidate order. */
static void
collect(struct run *r, struct newcomers *list)
{
	VEC(size_t) rest = { 0 };

	list->v = arena_array(r->a, size_t, r->set->n + 1);
	for (size_t i = 0; i < r->set->n; i++) {
		if (!try_candidate(r, i))
			continue;
		if (r->timed.sticky[i])
			list->v[list->n++] = i;
		else
			vec_push(r->a, &rest, i);
	}
	if (rest.n > 0)
		memcpy(list->v + list->n, rest.v, rest.n * sizeof rest.v[0]);
	list->n += rest.n;
}

static bool
lucky(struct run *r, size_t candidate)
{
	const struct lore_entry *e = &r->set->v[candidate].e->src;
	double roll;

	if (!e->use_probability || e->probability == 100 || r->timed.sticky[candidate])
		return true;
	roll = run_roll(r) * 100;
	r->out->verdicts[candidate].roll = roll;
	return e->probability > 0 && roll <= e->probability;
}

struct purse {
	struct sb text; /* of this pass */
	int64_t tokens; /* the sum of its parts: never less than the whole's */
};

/* Counting a whole text again for each entry would be quadratic: it is done only where the sum of the parts
 * is too much. */
static bool
over_budget(struct run *r, struct purse *p)
{
	if (r->carried_tokens + p->tokens < r->out->budget)
		return false;
	return count(r, r->carried) + count(r, sb_str(&p->text)) >= r->out->budget;
}

static void
accept(struct run *r, size_t candidate, struct purse *p)
{
	const struct candidate *c = &r->set->v[candidate];
	struct standing *st = &r->standing[candidate];
	struct lore_verdict *v = &r->out->verdicts[candidate];
	size_t at = p->text.n;

	if (r->out->overflowed && !c->e->src.ignore_budget) {
		v->why = LORE_NOT_BUDGET;
		return;
	}
	if (!lucky(r, candidate)) {
		st->failed = true;
		v->why = LORE_NOT_PROBABILITY;
		return;
	}
	if (st->content.p == NULL)
		st->content = expand(r, c, c->e->content);
	if (st->content.p == NULL)
		st->content = STR("");
	sb_add(&p->text, st->content);
	sb_addc(&p->text, '\n');
	st->tokens = (size_t)count(r, str_sub(sb_str(&p->text), at, p->text.n));
	p->tokens += (int64_t)st->tokens;
	if (!c->e->src.ignore_budget && over_budget(r, p)) {
		r->out->overflowed = true;
		v->why = LORE_NOT_BUDGET;
		return;
	}
	st->active = true;
	vec_push(r->a, &r->active, candidate);
}

/* What the pass activated, for recursion: newest text in front. */
static struct str
recursion_text(struct run *r, const struct newcomers *list)
{
	struct sb text = sb_new(r->a);
	bool any = false;

	for (size_t i = 0; i < list->n; i++) {
		const struct standing *st = &r->standing[list->v[i]];

		if (!st->active || r->set->v[list->v[i]].e->src.prevent_recursion)
			continue;
		if (any)
			sb_addc(&text, '\n');
		sb_add(&text, st->content);
		any = true;
	}
	return any ? sb_str(&text) : STR_NULL;
}

static void
carry(struct run *r, struct str text)
{
	if (text.n == 0)
		return;
	r->carried_tokens += count(r, text) + 1;
	r->carried = str_c(arena_printf(r->a, "%.*s\n%.*s", STR_ARG(text), STR_ARG(r->carried)));
	scan_add_recursion(&r->scan, text, r->out->passes);
}

/* ---- from pass to pass ---- */

/* Distinct levels of delayed entries, low to high. */
struct levels {
	VEC(int32_t) v;
	size_t next;
};

static void
levels_make(struct run *r, struct levels *l)
{
	for (size_t i = 0; i < r->set->n; i++) {
		int32_t level = r->set->v[i].e->src.delay_until_recursion;
		size_t at = 0;

		while (at < l->v.n && l->v.v[at] < level)
			at++;
		if (level <= 0 || r->set->v[i].duplicate || (at < l->v.n && l->v.v[at] == level))
			continue;
		vec_push(r->a, &l->v, 0);
		memmove(&l->v.v[at + 1], &l->v.v[at], (l->v.n - 1 - at) * sizeof l->v.v[0]);
		l->v.v[at] = level;
	}
	r->level = l->v.n > 0 ? l->v.v[l->next++] : 0;
}

static bool
deeper(struct run *r)
{
	const struct lore_settings *s = &r->in->settings;
	int64_t end = (int64_t)r->in->nmessages;

	if (s->min_activations <= 0 || r->active.n >= (size_t)s->min_activations || r->out->overflowed)
		return false;
	if ((s->min_activations_depth_max > 0 && r->depth > s->min_activations_depth_max) || r->depth > end ||
	    r->depth > DEPTH_MAX)
		return false;
	r->depth++;
	scan_deepen(&r->scan, r->depth);
	return true;
}

/* Is there another pass, and which? `wrote`: some entry of this pass may set off others. */
static bool
advance(struct run *r, struct levels *levels, bool wrote)
{
	bool recursive = r->in->settings.recursive && !r->out->overflowed;

	if (recursive && (wrote || (r->kind == PASS_MIN_ACTIVATIONS && r->scan.recursions > 0))) {
		r->kind = PASS_RECURSION;
	} else if (deeper(r)) {
		r->kind = PASS_MIN_ACTIVATIONS;
	} else if (levels->next < levels->v.n) {
		r->kind = PASS_RECURSION;
		r->level = levels->v.v[levels->next++];
	} else {
		return false;
	}
	r->recursions += r->kind == PASS_RECURSION;
	return true;
}

static void
passes(struct run *r)
{
	struct levels levels = { 0 };
	bool more = true;

	levels_make(r, &levels);
	while (more && (r->in->settings.max_steps <= 0 || r->out->passes < r->in->settings.max_steps)) {
		struct newcomers list = { 0 };
		struct purse purse = { .text = sb_new(r->a) };
		struct str text;

		r->out->passes++;
		prepare_keys(r);
		collect(r, &list);
		groups_filter(r, &list);
		for (size_t i = 0; i < list.n; i++)
			accept(r, list.v[i], &purse);
		text = recursion_text(r, &list);
		more = advance(r, &levels, text.p != NULL);
		if (more)
			carry(r, text);
	}
}

/* ---- beginning and end ---- */

static bool
strs_have(struct lore_strs v, struct str s)
{
	for (size_t i = 0; i < v.n; i++)
		if (str_eq(v.v[i], s))
			return true;
	return false;
}

/* Names of tags in any case, as SillyTavern finds a tag that a card brings. */
static bool
tags_meet(struct arena *a, struct lore_strs x, struct lore_strs y)
{
	for (size_t i = 0; i < x.n; i++)
		for (size_t k = 0; k < y.n; k++)
			if (str_eq(x.v[i], y.v[k]) || str_eq(utf8_fold(a, x.v[i]), utf8_fold(a, y.v[k])))
				return true;
	return false;
}

static bool
names_character(const struct lore_scan *in, struct lore_strs names)
{
	return strs_have(names, in->character) || (in->character_file.p && strs_have(names, in->character_file));
}

/* What holds for the whole scan. */
static enum lore_why
standing_why(struct arena *a, const struct lore_scan *in, const struct candidate *c)
{
	const struct lore_entry *e = &c->e->src;

	if (c->duplicate)
		return LORE_NOT_DUPLICATE;
	if (e->disabled)
		return LORE_NOT_DISABLED;
	if (e->triggers.n > 0 && !strs_have(e->triggers, in->trigger))
		return LORE_NOT_TRIGGER;
	if (e->filter_names.n > 0 && names_character(in, e->filter_names) == e->filter_exclude)
		return LORE_NOT_CHARACTER;
	if (e->filter_tags.n > 0 && in->has_tags && tags_meet(a, in->tags, e->filter_tags) == e->filter_exclude)
		return LORE_NOT_TAG;
	return UNDECIDED;
}

static void
begin(struct run *r)
{
	const struct lore_scan *in = r->in;
	struct lore_result *out = r->out;
	int32_t depth = r->depth;
	double budget = floor(in->settings.budget_percent * (double)in->max_context / 100 + 0.5);

	out->budget = budget >= 9e15 ? (int64_t)9e15 : budget == 0 || budget != budget ? 1 : (int64_t)budget;
	if (in->settings.budget_cap > 0 && out->budget > in->settings.budget_cap)
		out->budget = in->settings.budget_cap;
	out->nverdicts = r->set->n;
	out->verdicts = arena_array(r->a, struct lore_verdict, r->set->n + 1);
	for (size_t i = 0; i < r->set->n; i++) {
		const struct candidate *c = &r->set->v[i];
		enum lore_why why = standing_why(r->a, in, c);

		r->standing[i].eligible = why == UNDECIDED;
		out->verdicts[i] = (struct lore_verdict){ .book = c->book,
			.entry = c->index,
			.why = why == UNDECIDED ? LORE_NOT_KEY : why,
			.roll = -1,
			.score = -1 };
		if (why == UNDECIDED && c->e->src.has_scan_depth && c->e->src.scan_depth > depth)
			depth = c->e->src.scan_depth;
	}
	for (size_t i = 0; i < in->nforced; i++)
		if (in->forced[i] >= 0 && (size_t)in->forced[i] < r->set->n)
			r->standing[in->forced[i]].forced = true;
	scan_deepen(&r->scan, depth);
	if (!in->dry_run)
		timed_check(&r->timed, r->messages);
}

static void
finish(struct run *r)
{
	struct lore_result *out = r->out;

	out->nactive = r->active.n;
	out->active = arena_array(r->a, struct lore_active, r->active.n + 1);
	for (size_t i = 0; i < r->active.n; i++) {
		const struct candidate *c = &r->set->v[r->active.v[i]];
		const struct standing *st = &r->standing[r->active.v[i]];
		struct lore_active *act = &out->active[i];

		*act = (struct lore_active){ .book = c->book,
			.entry = &c->e->src,
			.candidate = r->active.v[i],
			.hash = c->e->hash,
			.content = st->content,
			.tokens = st->tokens };
		out->tokens += (int64_t)st->tokens;
		if (!r->in->dry_run)
			timed_start(
			    &r->timed, act->candidate, r->messages, &act->sticky_began, &act->cooldown_began);
	}
	out->timers = r->in->dry_run ? r->in->timers : (struct lore_timers){ r->timed.v.v, r->timed.v.n };
	out->unanswered = (struct lore_strs){ r->unanswered.v, r->unanswered.n };
	output_make(r);
}

struct lore_result *
lore_run(struct arena *a, const struct lore_set *s, const struct lore_scan *in)
{
	struct run *r = arena_new(a, struct run);

	*r = (struct run){ .a = a,
		.set = s,
		.in = in,
		.timed = timed_new(a, s, in->timers),
		.rng = rng_seed(in->seed),
		.standing = arena_array(a, struct standing, s->n + 1),
		.out = arena_new(a, struct lore_result),
		.messages = in->chat_length > 0 ? in->chat_length : (int64_t)in->nmessages,
		.depth = in->settings.scan_depth,
		.carried = STR("") };
	scan_begin(&r->scan, a, s, in);
	begin(r);
	passes(r);
	finish(r);
	return r->out;
}
