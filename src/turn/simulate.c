#include "turn/simulate.h"

#include "lore/book_file.h"
#include "lore/report.h"
#include "turn/turn_private.h"

/* What the request says of the scan. */
static void
settings_take(struct prompt_input *in, const struct json *o)
{
	struct lore_settings *s = &in->lore_settings;

	if (json_has(o, "budget")) {
		s->budget_percent = 100;
		s->budget_cap = json_get_int(o, "budget", 0);
	}
	turn_lore_take(in, o);
	in->seed = (uint64_t)json_get_int(o, "seed", (int64_t)in->seed);
	if (!json_get_bool(o, "time_effects", true))
		in->lore_timers = (struct lore_timers){ 0 };
}

static struct json *
settings_json(struct arena *a, const struct prompt_input *in)
{
	const struct lore_settings *s = &in->lore_settings;
	struct json *o = json_object(a);

	json_set_int(o, "seed", (int64_t)in->seed);
	json_set_int(o, "scan_depth", s->scan_depth);
	json_set_double(o, "budget_percent", s->budget_percent);
	json_set_int(o, "budget_cap", s->budget_cap);
	json_set_bool(o, "recursion", s->recursive);
	json_set_int(o, "max_recursion_steps", s->max_steps);
	json_set_int(o, "min_activations", s->min_activations);
	json_set_int(o, "min_activations_depth_max", s->min_activations_depth_max);
	json_set_bool(o, "include_names", s->include_names);
	json_set_bool(o, "group_scoring", s->group_scoring);
	json_set_bool(o, "case_sensitive", in->lore_case);
	json_set_bool(o, "match_whole_words", in->lore_words);
	json_set_c(o, "strategy", turn_lore_strategies[in->lore_strategy]);
	return o;
}

/*
 * The book in the place of the session's own, whatever the session's policy says of world books; beside it the
 * character's as turns know it, so that its running effects count.
 */
static void
book_bind(struct turn *t, const struct turn_simulation *q)
{
	struct arena *a = t->c->a;
	struct lore_bound *bound = arena_array(a, struct lore_bound, 2);
	size_t n = 0;
	struct json *policy = t->in.policy ? json_copy(a, t->in.policy) : json_object(a), *sources, *worldbook;

	bound[n++] = (struct lore_bound){ lore_book_read(a, q->book_id, q->book), LORE_CHAT };
	if (t->card_book)
		bound[n++] = (struct lore_bound){ t->card_book, LORE_CHARACTER };
	t->in.books = bound;
	t->in.nbooks = 1;
	t->in.lore = lore_set_compile(a,
	    &(struct lore_binding){ .books = bound, .nbooks = n, .strategy = t->in.lore_strategy, .case_sensitive = t->in.lore_case,
		.whole_words = t->in.lore_words, .unicode_words = t->in.mode == PROMPT_NATIVE });
	t->in.nbook_names = 0;
	sources = json_get(policy, "source_selection");
	if (sources == NULL)
		sources = json_set_object(policy, "source_selection");
	worldbook = json_set_object(sources, "worldbook");
	json_set_bool(worldbook, "enabled", true);
	t->in.policy = policy;
}

/* No session: the text as the only message of a chat without characters. */
static void
text_settle(struct turn *t, const struct turn_simulation *q)
{
	struct prompt_message *m = arena_new(t->c->a, struct prompt_message);

	*m = (struct prompt_message){ .role = PROMPT_USER, .text = q->text, .tokens = -1 };
	t->in.history = m;
	t->in.nhistory = 1;
	t->in.chat_length = 1;
	t->in.vars = macro_vars_layers(&t->layers);
	turn_model_choose(t);
	turn_input_settle(t);
	t->in.lore_settings.include_names = false; /* nobody is known to speak */
}

static void
answer_print(struct sb *out, const struct turn *t, const struct turn_simulation *q)
{
	struct arena *a = t->c->a;
	struct json *o = lore_report(a, t->prompt->lore), *entries = json_get(o, "entries");

	for (size_t i = 0; i < json_len(entries); i++)
		if (str_eq(json_get_str(json_at(entries, i), "book"), q->book_id))
			json_set_str(json_at(entries, i), "book", q->book_name);
		else
			json_set_str(json_at(entries, i), "book", t->card ? prompt_card_name(t->card) : STR(""));
	json_set_str(o, "session_id", q->session_id);
	json_set_str(o, "branch_id", q->session_id.p ? t->s.branch.id : STR_NULL);
	json_set_int(o, "messages", (int64_t)t->in.nhistory);
	json_set(o, "settings", settings_json(a, &t->in));
	sb_add(out, json_text(a, o));
}

int
turn_simulate(struct turns *p, struct ctx *c, const struct turn_simulation *q, struct sb *answer)
{
	struct turn_request req = { .type = TURN_RESPOND, .session_id = q->session_id, .branch_id = q->branch_id, .message = q->text,
		.body = q->options };
	struct turn *t = turn_new(p, c, &req, true);

	if (!q->session_id.p)
		text_settle(t, q);
	else if (db_tx(c, DB_READ, turn_gather, t) < 0)
		return -1;
	else {
		turn_model_choose(t);
		turn_input_settle(t);
	}
	t->decisions.ask = NULL;
	settings_take(&t->in, q->options);
	book_bind(t, q);
	prompt_assemble(c->a, &t->in, &t->prompt);
	answer_print(answer, t, q);
	return 0;
}
