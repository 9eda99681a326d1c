/*
 * st-real: turns as the real page sent them. A case is a chat that goes on: each step says
 * something, the model answers, and what is stored is what the next step finds.
 */
#include "fixture.h"
#include "vectors.h"

#include "lore/book_file.h"

#define DEFAULT_REPLY STR("Understood.")

/* The story of a case while it is told. */
struct story {
	struct fixture f;
	const struct json *input;
	struct json *branch, *global;
	VEC(struct prompt_message) chat;
	VEC(struct lore_past) past;
	struct lore_set *set;
	struct prompt *last;
	struct json *before;      /* the last request without the provider's post-processing */
	struct json *turns;       /* [{requests: [messages…]}] */
	int64_t greeting;         /* which one the chat began with */
	bool pristine;            /* the chat began with a greeting of its one card */
};

static struct str
or_else(struct str s, struct str dflt)
{
	return s.p != NULL ? s : dflt;
}

static void
writes_apply(struct story *s, const struct macro_result *m)
{
	macro_writes_apply(s->f.a, m->writes.v, m->writes.n, s->branch, s->global);
}

static struct str
speaker_name(const struct story *s)
{
	return prompt_card_name(s->f.in.cards[s->f.in.speaker]);
}

static void
say(struct story *s, enum prompt_role role, struct str name, struct str text)
{
	int64_t no = (int64_t)s->chat.n + 1;

	vec_push(s->f.a, &s->chat,
	    ((struct prompt_message){ .no = no, .role = role, .name = name, .text = text, .tokens = -1 }));
}

static void
greet(struct story *s)
{
	const struct macro_result *m;

	for (size_t i = 0; i < s->f.in.ncards; i++) {
		struct str text = prompt_greeting(s->f.a, &s->f.in, i, s->greeting, &m);

		writes_apply(s, m);
		if (text.n > 0)
			say(s, PROMPT_ASSISTANT, prompt_card_name(s->f.in.cards[i]), text);
	}
	s->pristine = s->f.in.ncards == 1;
}

/* The chat as it was: greetings in it are authors' texts that are expanded when it begins. */
static void
begin(struct story *s, const struct json *list)
{
	const struct macro_result *m;

	if (list == NULL) {
		s->greeting = json_get_int(s->input, "greeting", 0);
		greet(s);
		return;
	}
	fixture_history(&s->f, list, true);
	for (size_t i = 0; i < s->f.history.n; i++) {
		struct prompt_message msg = s->f.history.v[i];

		if (msg.greeting) {
			msg.text = prompt_expand(s->f.a, &s->f.in, s->f.in.speaker, msg.text, &m);
			msg.greeting = false;
			writes_apply(s, m);
		}
		vec_push(s->f.a, &s->chat, msg);
	}
}

static void
timers_set(struct story *s)
{
	struct lore_binding b = { .books = s->f.in.books, .nbooks = s->f.in.nbooks, .strategy = s->f.in.lore_strategy,
		.case_sensitive = s->f.in.lore_case, .whole_words = s->f.in.lore_words };

	if (b.nbooks == 0)
		return;
	s->set = s->set ? s->set : lore_set_compile(s->f.a, &b);
	s->f.in.lore = s->set;
	s->f.in.lore_timers = lore_timers_replay(s->f.a, s->set, s->past.v, s->past.n);
}

static void
assemble(struct story *s, struct json *requests)
{
	s->f.in.history = s->chat.v;
	s->f.in.nhistory = s->chat.n;
	s->f.in.chat_length = (int64_t)s->chat.n;
	/* recorded without the assemblies that the page makes by itself, unless the case asks for them */
	s->f.in.persona_unseen = s->last == NULL && !json_get_bool(s->input, "dry_runs", false);
	timers_set(s);
	if (json_get_str(s->input, "post_processing").n > 0) {
		struct prompt_input in = s->f.in;

		in.post_processing = STR("");
		prompt_assemble(s->f.a, &in, &s->last);
		s->before = fixture_messages(s->f.a, s->last);
	}
	prompt_assemble(s->f.a, &s->f.in, &s->last);
	writes_apply(s, s->last->macros);
	json_push(requests, fixture_messages(s->f.a, s->last));
	for (size_t i = 0; i < s->last->nstored; i++)
		for (size_t k = 0; k < s->chat.n; k++) {
			const struct prompt_stored *st = &s->last->stored[i];

			if (s->chat.v[k].no != st->no)
				continue;
			if (st->text.p)
				s->chat.v[k].stored = st->text;
			if (st->rolls)
				s->chat.v[k].rolls = st->rolls;
		}
}

/* What the answer does to the chat. */
static void
answer(struct story *s, struct str reply)
{
	enum prompt_type type = s->f.in.type;
	struct prompt_message *last = s->chat.n ? vec_last(&s->chat) : NULL;
	struct str text;

	if (type == PROMPT_IMPERSONATE || type == PROMPT_QUIET)
		return;
	vec_push(s->f.a, &s->past, s->last->lore_past);
	if (type == PROMPT_CONTINUE && last) {
		last->text = prompt_reply(s->f.a, &s->f.in, prompt_go_on(s->f.a, s->f.in.preset, s->last->continued, reply), NULL);
		return;
	}
	text = prompt_reply(s->f.a, &s->f.in, reply, NULL);
	if (type == PROMPT_SWIPE && last)
		last->text = text;
	else
		say(s, PROMPT_ASSISTANT, speaker_name(s), text);
}

static void
edits(struct story *s, const struct json *step)
{
	struct json_iter it = { 0 };
	struct str key;
	struct json *value;
	int64_t at;

	while (json_next(json_get(step, "edit"), &it, &key, &value))
		if (str_int(key, &at) && at >= 0 && (size_t)at < s->chat.n)
			s->chat.v[at].text = json_str(value);
	for (size_t i = 0; i < json_len(json_get(step, "push_history")); i++) {
		const struct json *m = json_at(json_get(step, "push_history"), i);
		struct str role = json_get_str(m, "role");

		say(s, str_is(role, "user") ? PROMPT_USER : str_is(role, "assistant") ? PROMPT_ASSISTANT : PROMPT_NARRATOR, json_get_str(m, "name"),
		    json_get_str(m, "content"));
	}
}

/* Who answers: the one that is asked, or in list order everybody. */
static void
speak(struct story *s, const struct json *step, struct json *requests)
{
	const struct json *g = json_get(s->input, "group");
	struct str respond = or_else(json_get_str(step, "respond"), json_get_str(g, "respond"));
	bool all = str_is(json_get_str(g, "strategy"), "list") && respond.p == NULL && s->f.in.type != PROMPT_SWIPE && s->f.in.type != PROMPT_CONTINUE;

	/* what is replaced or goes on is its author's */
	for (size_t i = 0; !all && respond.p == NULL && s->f.in.group && s->chat.n > 0 && i < s->f.in.ncards; i++)
		if (str_eq(prompt_card_name(s->f.in.cards[i]), vec_last(&s->chat)->name))
			s->f.in.speaker = i;

	for (size_t i = 0; i < s->f.in.ncards; i++) {
		struct str name = prompt_card_name(s->f.in.cards[i]);

		if (respond.p ? !str_eq(name, respond) : (!all && i != s->f.in.speaker))
			continue;
		if (all && s->f.in.muted && s->f.in.muted[i])
			continue;
		s->f.in.speaker = i;
		assemble(s, requests);
		answer(s, or_else(json_get_str(step, "reply"), or_else(json_get_str(s->input, "reply"), DEFAULT_REPLY)));
		if (!all)
			break;
	}
}

static void
step_run(struct story *s, const struct json *step)
{
	struct json *turn = json_push_object(s->turns);
	struct str typed = json_get_str(step, "user_message");

	s->f.in.type = PROMPT_NORMAL;
	prompt_type_parse(json_get_str(step, "type"), &s->f.in.type);
	s->f.in.quiet_prompt = or_else(json_get_str(step, "quiet_prompt"), json_get_str(s->input, "quiet_prompt"));
	edits(s, step);
	json_set_array(turn, "requests");
	if (prompt_greeting_swipes(s->f.in.type, s->f.in.ncards ? s->f.in.cards[0] : NULL, s->chat.n, s->pristine, &s->greeting)) {
		s->chat.n = 0;
		greet(s);
		return;
	}
	if (prompt_says(s->f.in.type, s->f.in.preset, typed))
		say(s, PROMPT_USER, s->f.in.user_name, typed);
	if (s->f.in.type == PROMPT_REGENERATE && s->chat.n > 0 && vec_last(&s->chat)->role != PROMPT_USER)
		s->chat.n--;
	if (s->f.in.type == PROMPT_REGENERATE || s->f.in.type == PROMPT_SWIPE)
		s->past.n -= s->past.n > 0; /* the replaced answer's scan never happened */
	speak(s, step, json_get(turn, "requests"));
}

/* Cases whose texts are in SillyTavern's dialect say so. */
static const struct json *
input_of(struct arena *a, const struct json *case_)
{
	struct json *in = json_copy(a, json_get(case_, "input"));

	if (str_starts(json_get_str(case_, "decide"), STR("12:")))
		json_set_c(json_get(in, "preset"), "conditional_dialect", "sillytavern");
	return in;
}

static void
story_tell(struct story *s, struct arena *a, const struct json *case_)
{
	const struct json *steps;

	s->input = input_of(a, case_);
	fixture_read(&s->f, a, s->input);
	s->branch = json_get(json_get(s->input, "variables"), "local") ? json_copy(a, json_get(json_get(s->input, "variables"), "local")) : json_object(a);
	s->global = json_get(json_get(s->input, "variables"), "global") ? json_copy(a, json_get(json_get(s->input, "variables"), "global")) :
									    json_object(a);
	s->f.layers.branch = s->branch;
	s->f.layers.global = s->global;
	s->f.in.model = STR("oracle");
	s->turns = json_array(a);
	begin(s, json_get(s->input, "history"));
	steps = json_get(s->input, "steps");
	if (steps == NULL)
		step_run(s, s->input);
	for (size_t i = 0; i < json_len(steps); i++)
		step_run(s, json_at(steps, i));
}

/* ---- comparing ---- */

/* The part of the expectation that binds: ours if the project decided otherwise; NULL if this part is not scored. */
static const struct json *
part(const struct json *case_, const char *name)
{
	const struct json *score = json_get(case_, "score"), *ours = json_get(json_get(case_, "ours"), name);
	bool scored = score == NULL;

	for (size_t i = 0; i < json_len(score); i++)
		scored |= str_is(json_str(json_at(score, i)), name);
	if (ours)
		return ours;
	if (json_get(case_, "ours") && str_is(STR("turns"), name))
		return NULL;
	return scored ? json_get(json_get(case_, "expected"), name) : NULL;
}

static int
check_variables(struct sb *why, const struct json *expected, const struct story *s)
{
	struct json *want = json_object(why->a), *got = json_object(why->a);
	struct json_iter it = { 0 };
	struct str key;
	struct json *value;

	while (json_next(expected, &it, &key, &value))
		json_set_s(want, key, json_string(why->a, macro_value_text(why->a, &(struct macro_value){ .json = value })));
	it = (struct json_iter){ 0 };
	while (json_next(s->branch, &it, &key, &value))
		json_set_s(got, key, json_string(why->a, macro_value_text(why->a, &(struct macro_value){ .json = value })));
	return vector_check_json(why, "variables", want, got);
}

static int
check_activated(struct sb *why, const struct json *expected, const struct lore_result *r)
{
	struct json *got = json_array(why->a);

	for (size_t i = 0; r && i < r->nactive; i++)
		json_push_str(got, str_c(arena_printf(why->a, "%.*s#%lld", STR_ARG(lore_book_name(r->active[i].book)),
				     (long long)r->active[i].entry->uid)));
	return vector_check_json(why, "activated", expected, got);
}

/* Texts with macros are stored as typed here and expanded there (decisions 52): they are not compared. */
static int
check_chat(struct sb *why, const struct json *expected, const struct story *s)
{
	struct json *want = json_array(why->a), *got = json_array(why->a);
	const struct prompt_message none = { .text = STR("(no message)") };

	for (size_t i = 0, k = 0; i < json_len(expected); i++) {
		const struct prompt_message *m;
		struct str mes;

		if (json_get_bool(json_at(json_get(s->input, "history"), i), "hidden", false))
			continue;
		m = k < s->chat.n ? &s->chat.v[k++] : &none;
		mes = json_get_str(json_at(expected, i), "mes");
		if (str_find(m->text, STR("{{"), 0) != STR_NPOS || str_find(mes, STR("{{"), 0) != STR_NPOS)
			continue;
		json_push_str(want, mes);
		json_push_str(got, m->stored.p ? m->stored : m->text);
	}
	return vector_check_json(why, "chat", want, got);
}

static int
check_params(struct sb *why, const struct json *expected, const struct prompt_sampling *got)
{
	const struct {
		const char *name;
		double value, dflt;
	} rows[] = { { "temperature", got->temperature, 1 }, { "top_p", got->top_p, 1 }, { "frequency_penalty", got->frequency_penalty, 0 },
		{ "presence_penalty", got->presence_penalty, 0 }, { "max_tokens", (double)got->max_tokens, 300 } };
	int rc = VECTOR_PASS;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		double v = rows[i].value == rows[i].value && rows[i].value != -1 ? rows[i].value : rows[i].dflt;

		if (json_get(expected, rows[i].name) && json_get_double(expected, rows[i].name, -1) != v) {
			sb_addf(why, "%s: got %g ", rows[i].name, v);
			rc = VECTOR_FAIL;
		}
	}
	return rc;
}

static int
run_case(struct ctx *c, const struct json *file, const struct json *case_, struct sb *why)
{
	struct story s = { 0 };
	const struct json *e;
	int rc = VECTOR_PASS;

	(void)file;
	if (json_get(json_get(case_, "input"), "extension_prompts")) {
		sb_adds(why, "texts of browser extensions have no counterpart (decisions 56)");
		return VECTOR_SKIP;
	}
	story_tell(&s, c->a, case_);
	if ((e = part(case_, "messages")) != NULL) {
		const struct json *turn = json_at(s.turns, json_len(s.turns) - 1), *requests = json_get(turn, "requests");

		rc |= vector_check_json(why, "messages", e, json_at(requests, json_len(requests) - 1));
	}
	if ((e = part(case_, "turns")) != NULL)
		for (size_t i = 0; i < json_len(e); i++)
			rc |= vector_check_json(why, arena_printf(c->a, "turn %zu", i), json_get(json_at(e, i), "requests"),
			    json_get(json_at(s.turns, i), "requests"));
	if ((e = part(case_, "variables")) != NULL)
		rc |= check_variables(why, e, &s);
	if ((e = part(case_, "activated")) != NULL)
		rc |= check_activated(why, e, s.last ? s.last->lore : NULL);
	if (s.last && (e = part(case_, "params")) != NULL)
		rc |= check_params(why, e, &s.last->sampling);
	if ((e = part(case_, "chat_after")) != NULL && json_get(case_, "ours") == NULL)
		rc |= check_chat(why, e, &s);
	if ((e = part(case_, "before_post_processing")) != NULL)
		rc |= vector_check_json(why, "before post-processing", e, s.before);
	return rc ? VECTOR_FAIL : VECTOR_PASS;
}

const struct vector_kind vectors_st_real = { .name = "st-real", .run_case = run_case };
