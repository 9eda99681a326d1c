/*
 * decision: decision statements in what an assembly sends (spec marinara-conditionals 8). Which texts are
 * looked through and when; what must be asked, what timers hold and what an answer starts is macro/decide.h.
 * A dry run or preview looks up what is known, but asks nobody and moves no timer.
 */
#include "prompt/prompt_private.h"

struct templates {
	VEC(const struct macro_template *) v;
};

static void
template_add(struct build *b, struct templates *list, const struct macro_template *t)
{
	if (t && macro_template_traits(t) & MACRO_HAS_DECISION)
		vec_push(b->a, &list->v, t);
}

static void
source_add(struct build *b, struct templates *list, const struct macro_source *s)
{
	const struct macro_template *t = s->tpl;

	if (t == NULL && str_find(s->text, STR("decision"), 0) != STR_NPOS)
		t = macro_compile(b->a, s->text, s->dialect);
	template_add(b, list, t);
}

static bool
off(const struct build *b, const char *marker)
{
	return marker && order_off(b, marker);
}

/* Card fields with the markers that send them. */
static void
fields_add(struct build *b, struct templates *list)
{
	static const struct {
		enum macro_field field;
		const char *marker; /* NULL: it has none */
	} rows[] = {
		{ MF_SYSTEM, NULL },
		{ MF_EXAMPLES_RAW, "dialogueExamples" },
		{ MF_DESCRIPTION, "charDescription" },
		{ MF_PERSONALITY, "charPersonality" },
		{ MF_SCENARIO, "scenario" },
		{ MF_POST_HISTORY, NULL },
		{ MF_DEPTH_NOTE, NULL },
	};
	bool all = b->in->group && b->in->join != PROMPT_SWAP;

	for (size_t m = 0; m < b->in->ncards; m++)
		for (size_t i = 0; (all || m == b->in->speaker) && i < COUNT(rows); i++)
			if (!off(b, rows[i].marker))
				source_add(b, list, &b->members[m].field[rows[i].field]);
	if (!off(b, "personaDescription"))
		source_add(b, list, &b->env.field[MF_PERSONA]);
	source_add(b, list, &b->env.field[MF_AUTHORS_NOTE]);
	if (b->in->chat_system_prompt.n > 0)
		source_add(b, list, &(struct macro_source){ .text = b->in->chat_system_prompt });
}

static void
preset_add(struct build *b, struct templates *list)
{
	const struct prompt_preset *p = b->preset;
	const struct text *const formats[] = { &p->wi_format, &p->scenario_format, &p->personality_format,
		&p->new_chat, &p->group_nudge, &p->continue_nudge, &p->impersonation };

	for (size_t i = 0; i < p->nrows; i++)
		if (order_runs(b, &p->rows[i]))
			template_add(b, list, p->rows[i].content.tpl);
	for (size_t i = 0; i < COUNT(formats); i++)
		template_add(b, list, formats[i]->tpl);
}

/* The turn begins with the first statement, or at once where turns are counted already. */
static void
turn_need(struct build *b)
{
	const struct prompt_decisions *d = b->in->decisions;

	if (b->turn)
		return;
	b->turn = macro_turn_begin(b->a, d->state, d->key, d->model);
	b->env.answer = macro_turn_lookup;
	b->env.answer_ctx = b->turn;
}

static unsigned
limit(const struct build *b)
{
	return b->in->decisions->limit ? b->in->decisions->limit : MACRO_DECISION_LIMIT;
}

/* Asks what was planned from `from` on, and lets the timers move. */
static void
settle(struct build *b, size_t from)
{
	const struct prompt_decisions *d = b->in->decisions;

	if (b->in->phase != MACRO_ASSEMBLE)
		return;
	if (d->ask && b->turn->ask.v.n > from)
		d->ask(d->ask_arg, b->turn, from);
	macro_turn_end(b->turn);
}

void
decision_plan(struct build *b)
{
	struct templates list = { 0 };

	if (b->in->decisions == NULL)
		return;
	preset_add(b, &list);
	fields_add(b, &list);
	if (list.v.n == 0 && !b->in->decisions->running)
		return;
	turn_need(b);
	macro_turn_plan(b->turn, &b->env, list.v.v, list.v.n, limit(b));
	settle(b, 0);
}

void
decision_text(struct build *b, const struct macro_template *t)
{
	size_t from;

	if (b->in->decisions == NULL || (macro_template_traits(t) & MACRO_HAS_DECISION) == 0)
		return;
	turn_need(b);
	from = b->turn->ask.v.n;
	macro_turn_plan(b->turn, &b->env, &t, 1, limit(b));
	settle(b, from);
}

static struct str
statement_key_of(struct build *b, struct str written)
{
	struct lore_statement s = { .written = written };

	for (size_t i = 0; i < b->statements.n; i++)
		if (str_eq(b->statements.v[i].written, written))
			return b->statements.v[i].key;
	s.key = macro_statement_key(b->a, text_eval_raw(b, written));
	vec_push(b->a, &b->statements, s);
	return s.key;
}

struct macro_answer
decision_of(struct build *b, struct str statement)
{
	struct macro_statement s = { .text = statement };
	size_t from;

	if (b->in->decisions == NULL)
		return b->in->answer ? b->in->answer(b->in->answer_arg, false, statement)
				     : (struct macro_answer){ 0 };
	turn_need(b);
	from = b->turn->ask.v.n;
	s.text = statement_key_of(b, statement);
	macro_turn_want(b->turn, &s, limit(b));
	settle(b, from);
	return macro_turn_lookup(b->turn, false, s.text);
}

static void
texts_json(struct json *o, const char *key, const struct macro_statements *list)
{
	struct json *out = json_set_array(o, key);

	for (size_t i = 0; i < list->v.n; i++)
		json_push_str(out, list->v.v[i].text);
}

struct json *
decision_json(struct build *b)
{
	const struct macro_turn *t = b->turn;
	struct json *o = json_object(b->a), *list;

	json_set_int(o, "turn", t->number);
	json_set_bool(o, "model", b->in->decisions->model.n > 0);
	texts_json(o, "asked", &t->ask);
	texts_json(o, "dropped", &t->dropped);
	list = json_set_array(o, "unanswered");
	for (size_t i = 0; i < t->unanswered.n; i++)
		json_push_str(list, t->unanswered.v[i]);
	list = json_set_array(o, "held");
	for (size_t i = 0; i < t->held.n; i++)
		json_push_str(list, t->held.v[i].text);
	return o;
}
