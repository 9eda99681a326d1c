/*
 * report: a scan as an author reads it: every entry with its verdict as a sentence, the insertions, the
 * budget. What the lore simulator and `tavernctl lore` print.
 */
#include "lore/report.h"

// clang-format off
static const char *const positions[LORE_POSITION__COUNT] = {
	[LORE_BEFORE] = "before", [LORE_AFTER] = "after", [LORE_NOTE_TOP] = "an_top", [LORE_NOTE_BOTTOM] = "an_bottom",
	[LORE_DEPTH] = "at_depth", [LORE_EXAMPLE_TOP] = "em_top", [LORE_EXAMPLE_BOTTOM] = "em_bottom", [LORE_OUTLET] = "outlet",
};
static const char *const sources[LORE_SOURCE__COUNT] = {
	[LORE_PERSONA] = "persona_description", [LORE_DESCRIPTION] = "character_description",
	[LORE_PERSONALITY] = "character_personality", [LORE_DEPTH_PROMPT] = "character_depth_prompt",
	[LORE_SCENARIO] = "scenario", [LORE_CREATOR_NOTES] = "creator_notes",
};
static const char *const source_texts[LORE_SOURCE__COUNT] = {
	[LORE_PERSONA] = "the persona", [LORE_DESCRIPTION] = "the character's description",
	[LORE_PERSONALITY] = "the character's personality", [LORE_DEPTH_PROMPT] = "the character's depth note",
	[LORE_SCENARIO] = "the scenario", [LORE_CREATOR_NOTES] = "the creator's notes",
};
static const char *const roles[] = { [LORE_SYSTEM] = "system", [LORE_USER] = "user", [LORE_ASSISTANT] = "assistant" };
static const char *const logics[] = { [LORE_AND_ANY] = "needs one", [LORE_NOT_ALL] = "must not find all",
	[LORE_NOT_ANY] = "must find none", [LORE_AND_ALL] = "needs all" };
// clang-format on

const char *
lore_position_name(enum lore_position p)
{
	return positions[p];
}

const char *
lore_role_name(enum lore_role r)
{
	return roles[r];
}

const char *
lore_source_name(enum lore_source s)
{
	return sources[s];
}

/* ---- sentences ---- */

static void
say_place(struct sb *s, const struct lore_verdict *v)
{
	switch (v->place) {
	case LORE_IN_MESSAGE:
		if (v->place_index == 0)
			sb_adds(s, " in the newest message");
		else
			sb_addf(s, " %d message%s above the newest", v->place_index, v->place_index == 1 ? "" : "s");
		break;
	case LORE_IN_SOURCE:
		sb_addf(s, " in %s", source_texts[v->place_index]);
		break;
	case LORE_IN_INJECTED:
		sb_adds(s, " in an injected text");
		break;
	case LORE_IN_RECURSION:
		sb_addf(s, " in what entries of pass %d wrote", v->place_index);
		break;
	case LORE_IN_NOTHING:
		break;
	}
}

typedef void say_fn(struct sb *s, const struct lore_verdict *v, const struct lore_entry *e);

static void
say_key(struct sb *s, const struct lore_verdict *v, const struct lore_entry *e)
{
	(void)e;
	sb_addf(s, "key \"%.*s\"", STR_ARG(v->key));
	say_place(s, v);
	if (v->secondary.n > 0 && v->why == LORE_BY_KEY)
		sb_addf(s, ", with \"%.*s\"", STR_ARG(v->secondary));
}

static void
say_no_key(struct sb *s, const struct lore_verdict *v, const struct lore_entry *e)
{
	if (e->keys.n == 1)
		sb_adds(s, "its key was not found");
	else
		sb_addf(s, "none of its %zu keys was found", e->keys.n);
	if (e->has_scan_depth)
		sb_addf(s, " (it looks %d message%s far)", e->scan_depth, e->scan_depth == 1 ? "" : "s");
	if (v->key_limited)
		sb_adds(s, "; a regex key of it hit the match limit");
}

static void
say_logic(struct sb *s, const struct lore_verdict *v, const struct lore_entry *e)
{
	say_key(s, v, e);
	sb_addf(s, ", but of its secondary keys it %s", logics[e->logic]);
	if (v->secondary.n > 0)
		sb_addf(s, " (\"%.*s\" decided)", STR_ARG(v->secondary));
}

static void
say_delay(struct sb *s, const struct lore_verdict *v, const struct lore_entry *e)
{
	(void)v;
	sb_addf(s, "the chat has fewer messages than its delay of %d", e->delay);
}

static void
say_level(struct sb *s, const struct lore_verdict *v, const struct lore_entry *e)
{
	(void)v;
	sb_addf(s, "waits for a recursion pass of level %d", e->delay_until_recursion);
}

static void
say_group(struct sb *s, const struct lore_verdict *v, const struct lore_entry *e)
{
	(void)v;
	sb_addf(s, "another entry won the inclusion group \"%.*s\"", STR_ARG(e->group));
}

static void
say_roll(struct sb *s, const struct lore_verdict *v, const struct lore_entry *e)
{
	sb_addf(s, "found, but rolled %.1f against its probability of %g %%", v->roll, e->probability);
}

/* A verdict is a text, or has something to add. */
static const struct {
	const char *text;
	say_fn *say;
} verdicts[LORE_WHY__COUNT] = {
	// clang-format off
	[LORE_BY_KEY] = { NULL, say_key },
	[LORE_BY_CONSTANT] = { "constant: always on", NULL },
	[LORE_BY_STICKY] = { "sticky: still on since it was activated", NULL },
	[LORE_BY_DECORATOR] = { "its text begins with @@activate", NULL },
	[LORE_BY_FORCE] = { "switched on from outside", NULL },
	[LORE_BY_DECISION] = { "its decision was answered yes", NULL },
	[LORE_NOT_DISABLED] = { "switched off in the book", NULL },
	[LORE_NOT_TRIGGER] = { "only for other types of generation", NULL },
	[LORE_NOT_CHARACTER] = { "its character filter leaves this character out", NULL },
	[LORE_NOT_TAG] = { "its tag filter leaves this character out", NULL },
	[LORE_NOT_DELAY] = { NULL, say_delay },
	[LORE_NOT_COOLDOWN] = { "on cooldown since it was last active", NULL },
	[LORE_NOT_RECURSED] = { NULL, say_level },
	[LORE_NOT_IN_RECURSION] = { "a key stands only in what other entries wrote, and it excludes recursion", NULL },
	[LORE_NOT_DECORATOR] = { "its text begins with @@dont_activate", NULL },
	[LORE_NOT_KEYLESS] = { "it has no keys and is not constant", NULL },
	[LORE_NOT_KEY] = { NULL, say_no_key },
	[LORE_NOT_LOGIC] = { NULL, say_logic },
	[LORE_NOT_DECISION] = { "its decision was answered no", NULL },
	[LORE_NOT_ANSWERED] = { "it has no keys, and nobody has answered its decision yet", NULL },
	[LORE_NOT_GROUP] = { NULL, say_group },
	[LORE_NOT_PROBABILITY] = { NULL, say_roll },
	[LORE_NOT_BUDGET] = { "found, but it does not fit into the budget", NULL },
	[LORE_NOT_DUPLICATE] = { "the same book is bound at a stronger place", NULL },
	// clang-format on
};

struct str
lore_verdict_text(struct arena *a, const struct lore_verdict *v)
{
	struct sb s = sb_new(a);

	if (verdicts[v->why].say)
		verdicts[v->why].say(&s, v, lore_book_entry(v->book, v->entry));
	else
		sb_adds(&s, verdicts[v->why].text);
	return sb_str(&s);
}

/* ---- as JSON ---- */

static void
place_json(struct json *o, const struct lore_verdict *v)
{
	struct json *p;

	if (v->place == LORE_IN_NOTHING) {
		json_set(o, "place", NULL);
		return;
	}
	p = json_set_object(o, "place");
	json_set_c(p, "kind", lore_place_name(v->place));
	if (v->place == LORE_IN_SOURCE)
		json_set_c(p, "source", sources[v->place_index]);
	else
		json_set_int(p, v->place == LORE_IN_RECURSION ? "pass" : "index", v->place_index);
}

static void
insertion_json(struct json *o, const struct lore_entry *e)
{
	struct json *in = json_set_object(o, "insertion");

	json_set_c(in, "position", positions[e->position]);
	if (e->position == LORE_DEPTH) {
		json_set_int(in, "depth", e->depth);
		json_set_c(in, "role", roles[e->role]);
	}
	if (e->position == LORE_OUTLET)
		json_set_str(in, "outlet_name", e->outlet);
	json_set_double(in, "order", e->order);
}

static void
str_or_null(struct json *o, const char *key, struct str v)
{
	if (v.n > 0)
		json_set_str(o, key, v);
	else
		json_set(o, key, NULL);
}

static void
entry_json(struct arena *a, struct json *list, const struct lore_verdict *v, const struct lore_active *active, size_t place)
{
	const struct lore_entry *e = lore_book_entry(v->book, v->entry);
	struct json *o = json_push_object(list);

	json_set_int(o, "uid", e->uid);
	json_set_str(o, "book", lore_book_name(v->book));
	json_set_str(o, "comment", e->comment.p ? e->comment : STR(""));
	json_set_bool(o, "activated", active != NULL);
	json_set_c(o, "verdict", lore_why_name(v->why));
	json_set_str(o, "reason", lore_verdict_text(a, v));
	str_or_null(o, "key", v->key);
	str_or_null(o, "secondary_key", v->secondary);
	place_json(o, v);
	json_set_int(o, "pass", v->pass);
	json_set_int(o, "recursion_level", v->recursion);
	if (v->roll >= 0)
		json_set_double(o, "roll", v->roll);
	if (v->score >= 0)
		json_set_int(o, "score", v->score);
	insertion_json(o, e);
	if (active) {
		json_set_int(o, "tokens", (int64_t)active->tokens);
		json_set_int(o, "activation_index", (int64_t)place);
		json_set_str(o, "text", active->text);
	}
}

struct json *
lore_report(struct arena *a, const struct lore_result *r)
{
	struct json *o = json_object(a), *budget = json_set_object(o, "budget"), *list;
	const struct lore_active **active = arena_array(a, const struct lore_active *, r->nverdicts);

	for (size_t i = 0; i < r->nactive; i++)
		active[r->active[i].candidate] = &r->active[i];
	json_set_int(budget, "tokens", r->budget);
	json_set_int(budget, "used", r->tokens);
	json_set_bool(budget, "overflowed", r->overflowed);
	json_set_int(o, "passes", r->passes);
	json_set_int(o, "activated", (int64_t)r->nactive);
	list = json_set_array(o, "entries");
	for (size_t i = 0; i < r->nverdicts; i++)
		entry_json(a, list, &r->verdicts[i], active[i], active[i] ? (size_t)(active[i] - r->active) : 0);
	list = json_set_array(o, "unanswered");
	for (size_t i = 0; i < r->unanswered.n; i++)
		json_push_str(list, r->unanswered.v[i]);
	return o;
}
