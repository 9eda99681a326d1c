/*
 * input: the macro run with its names, and the texts of the history before the scan sees them:
 * greeting, user messages through persist rules and macros, everything through the prompt rules
 * (decisions 34, 35 (1), 52; st-assembly 1.6).
 */
#include "macro/values.h"
#include "base/utf8.h"
#include "prompt/prompt_private.h"

static double
chance(void *arg)
{
	struct build *b = arg;

	return rng_unit(&b->rng);
}

static bool
outlet(void *arg, struct str key, struct str *out)
{
	const struct build *b = arg;

	for (size_t i = 0; b->lore && i < b->lore->noutlets; i++)
		if (str_eq(b->lore->outlets[i].name, key)) {
			*out = b->lore->outlets[i].text;
			return true;
		}
	return false;
}

static enum message_macros
message_macros(const struct prompt_input *in)
{
	if (in->message_macros != MESSAGE_MACROS_DEFAULT)
		return in->message_macros;
	return in->mode == PROMPT_COMPAT_STRICT || in->mode == PROMPT_COMPAT_PLUS ? MESSAGE_MACROS_READ : MESSAGE_MACROS_OFF;
}

/* Fields of an owner who says no dialect are read in the mode's. */
static void
dialect_settle(const struct build *b, struct macro_source *fields, size_t n)
{
	if (b->dialect == MACRO_AUTO)
		return;
	for (size_t i = 0; i < n; i++)
		if (fields[i].tpl && fields[i].dialect == MACRO_AUTO) {
			fields[i].dialect = b->dialect;
			fields[i].tpl = macro_compile(b->a, fields[i].text, b->dialect);
		}
}

/* What the chat says instead of the cards, for every member; where cards are joined a blank text says nothing. */
static void
overrides_put(struct build *b)
{
	const struct prompt_input *in = b->in;
	const struct {
		enum macro_field field;
		struct str text;
	} rows[] = { { MF_SCENARIO, in->scenario }, { MF_EXAMPLES_RAW, in->examples }, { MF_EXAMPLES, in->examples }, { MF_SYSTEM, in->chat_system_prompt } };

	for (size_t k = 0; k < COUNT(rows); k++) {
		enum macro_field f = rows[k].field;
		struct str text = text_no_cr(b->a, utf8_trim(rows[k].text));

		if (rows[k].text.n == 0 || (text.n == 0 && f != MF_SYSTEM && in->group && in->join != PROMPT_SWAP))
			continue;
		if (f == MF_EXAMPLES)
			text = card_examples(b->a, text);
		for (size_t i = 0; i < in->ncards; i++)
			b->members[i].field[f] = (struct macro_source){ .text = text.p ? text : STR(""), .dialect = b->dialect };
		b->joined[f].own = true;
	}
}

static void
members_make(struct build *b)
{
	const struct prompt_input *in = b->in;

	b->members = arena_array(b->a, struct macro_member, in->ncards + 1);
	for (size_t i = 0; i < in->ncards; i++) {
		const struct prompt_card *c = in->cards[i];

		memcpy(b->members[i].field, c->field, sizeof(c->field));
		dialect_settle(b, b->members[i].field, COUNT(c->field));
		b->members[i].greetings = c->greetings;
		b->members[i].n_greetings = c->ngreetings;
		b->members[i].muted = in->muted && in->muted[i];
	}
	overrides_put(b);
}

static struct str
user_name(const struct prompt_input *in)
{
	if (in->persona && !text_blank(in->persona->name))
		return in->persona->name;
	return in->user_name.n > 0 ? in->user_name : STR("User");
}

static const char *
run_kind(const struct prompt_input *in)
{
	static const char *const words[PROMPT_TYPE__COUNT] = { "respond", "continue", "swipe", "regenerate", "impersonate", "quiet" };

	if (in->run_kind)
		return in->run_kind;
	return in->type == PROMPT_NORMAL && in->phase == MACRO_DRY_RUN ? "dry_run" : words[in->type];
}

/* A swipe makes another of the newest reply, which is not sent; whoever left that out already, or had the user speak, ends with a user. */
static bool
swiped(const struct prompt_input *in, const struct prompt_message *newest, size_t n)
{
	return in->type == PROMPT_SWIPE && n > 0 && newest[n - 1].role != PROMPT_USER;
}

int64_t
input_length(const struct prompt_input *in)
{
	return in->chat_length - (in->chat_length > 0 && swiped(in, in->history, in->nhistory));
}

/* The names of the run; called again when the messages' texts are known. */
void
input_names(struct build *b)
{
	const struct prompt_input *in = b->in;
	const struct preset_row *main_row = order_row(b->preset, STR("main"));
	struct macro_message *msgs = arena_array(b->a, struct macro_message, b->ntold + 1);
	int64_t older = input_length(in) - (int64_t)b->ntold;
	struct macro_inputs names = { .metadata = in->metadata, .user = b->user, .preset_main = main_row ? main_row->content.s : STR(""),
		.forbid_card_system = main_row && main_row->forbid, .model = in->model, .run_kind = run_kind(in),
		.prompt_mode = str_c(prompt_mode_name(in->mode)), .summary = in->summary, .max_context = b->context,
		.max_response = b->reply, .messages = msgs, .n_messages = b->ntold,
		.first_id = (older > 0 ? older : 0) + in->hidden, .first_included = -1 };

	for (size_t i = 0; i < b->ntold; i++)
		msgs[i] = (struct macro_message){ .author = b->told[i].role == PROMPT_USER ? MACRO_BY_USER : MACRO_BY_CHAR, .text = b->told[i].text,
			.sent = b->told[i].m->sent, .swipes = b->told[i].m->swipes, .swipe = b->told[i].m->swipe };
	macro_values_fill(b->a, &names, &b->env);
	if (in->persona)
		for (int f = MF_USER; f <= MF_PERSONA_SCENARIO; f++)
			if (f != MF_USER && in->persona->field[f].text.p)
				b->env.field[f] = in->persona->field[f];
	dialect_settle(b, &b->env.field[MF_USER], MF_PERSONA_SCENARIO - MF_USER + 1);
	if (b->note_set.text.p)
		b->env.field[MF_AUTHORS_NOTE] = (struct macro_source){ .text = b->note_set.text, .dialect = b->dialect };
	if (in->chat_system_prompt.n > 0 && in->ncards > 0)
		b->env.field[MF_SYSTEM_PROMPT] = (struct macro_source){ .as = MF_SYSTEM };
	else if (in->chat_system_prompt.n > 0)
		b->env.field[MF_SYSTEM_PROMPT] = (struct macro_source){ .text = in->chat_system_prompt, .dialect = b->dialect };
	b->env.field[MF_INPUT].text = in->input.p ? in->input : STR("");
	b->env.field[MF_CHAT_ID].text = in->session_id.p ? in->session_id : STR("");
	b->env.field[MF_REASONING].text = in->reasoning_effort.n ? in->reasoning_effort : STR("off");
	b->env.field[MF_CHAT_START].text = b->preset->new_chat.s;
	b->env.field[MF_EXAMPLE_SEPARATOR].text = b->preset->new_example.s;
	b->env.field[MF_REASONING_PREFIX].text = in->reasoning.prefix.p ? in->reasoning.prefix : STR("");
	b->env.field[MF_REASONING_SUFFIX].text = in->reasoning.suffix.p ? in->reasoning.suffix : STR("");
	b->env.field[MF_REASONING_SEPARATOR].text = in->reasoning.separator.p ? in->reasoning.separator : STR("");
}

void
input_begin(struct build *b)
{
	const struct prompt_input *in = b->in;

	b->preset = in->preset ? in->preset : in->built_in ? in->built_in : prompt_preset_compile(b->a, NULL);
	b->user = user_name(in);
	b->note_set = in->note.given ? in->note : prompt_note_defaults();
	b->rng = rng_seed(in->seed);
	b->regex_budget.us = REGEX_BUDGET_US;
	b->message_macros = message_macros(in);
	b->dialect = in->mode == PROMPT_REARRANGE ? MACRO_TOMORIBOT : MACRO_AUTO;
	members_make(b);
	b->env = (struct macro_env){ .phase = in->phase, .limits = in->limits.steps ? in->limits : macro_limits_default, .trace = in->trace, .trace_ifs = true,
		.time_awareness = in->time_awareness, .field_in_field = in->mode == PROMPT_NATIVE || in->mode == PROMPT_REARRANGE,
		.now = in->now, .zone = in->zone, .idle_ms = -1, .members = b->members, .n_members = in->ncards, .speaker = in->speaker,
		.group = in->group, .joined = marker_joined, .joined_ctx = b, .vars = in->vars, .outlet = outlet, .outlet_ctx = b, .chance = chance, .chance_ctx = b,
		.answer = in->answer, .answer_ctx = in->answer_arg };
	if (b->preset->choices) {
		b->env.preset_var = choice_value;
		b->env.preset_ctx = b;
	}
	if (in->tools) {
		b->env.tool = in->tools->tool;
		b->env.capability = in->tools->capability;
		b->env.tool_alias = in->tools->tool_alias;
		b->env.tool_ctx = in->tools->tool_ctx;
	}
}

/* ---- regex scripts on messages ---- */

static struct str
expand(void *arg, struct str text)
{
	return text_eval_raw(arg, text);
}

/* Depth of a message: messages behind it; the one that is continued has -1. */
static int32_t
told_depth(const struct build *b, const struct told *t)
{
	return (int32_t)(b->told + b->ntold - 1 - t) - (b->in->type == PROMPT_CONTINUE ? 1 : 0);
}

struct str
scripts_apply(struct build *b, struct str text, const struct regex_call *call, struct regex_trace *trace)
{
	int64_t began = build_watch(b);
	struct str out = regex_apply(b->a, b->in->scripts, text, call, trace);

	b->out->spent.regex_us += build_watch(b) - began;
	return out;
}

static struct str
apply_at(struct build *b, const struct told *t, enum regex_place place, enum regex_channel ch, struct str text, struct regex_own *own,
    struct regex_trace *trace)
{
	struct regex_call call = { .place = place, .channel = ch,
		.has_depth = ch == REGEX_PROMPT, .depth = ch == REGEX_PROMPT ? told_depth(b, t) : 0, .expand = expand,
		.arg = b, .budget = &b->regex_budget, .stopped = &b->regex_stopped, .own = own, .memo = b->in->regex_memo };

	if (b->in->scripts == NULL || !regex_set_wants(b->in->scripts, call.place, ch))
		return text;
	return scripts_apply(b, text, &call, trace);
}

struct str
input_apply(struct build *b, const struct told *t, enum regex_channel ch, struct str text, struct regex_own *own,
    struct regex_trace *trace)
{
	return apply_at(b, t, t->role == PROMPT_USER ? REGEX_PLACE_USER : REGEX_PLACE_AI, ch, text, own, trace);
}

/* ---- macros of messages (decisions 52) ---- */

/* Could macros or aliases change it? */
static bool
may_hold_macros(struct str s)
{
	return str_find(s, STR("{{"), 0) != STR_NPOS || str_chr(s, '<', 0) != STR_NPOS;
}

static struct macro_rolls *
rolls_copy(struct arena *a, const struct macro_rolls *from)
{
	struct macro_rolls *r = arena_new(a, struct macro_rolls);

	for (size_t i = 0; from && i < from->v.n; i++)
		vec_push(a, &r->v, from->v.v[i]);
	return r;
}

static struct prompt_stored *
stored_of(struct build *b, int64_t no)
{
	struct prompt_stored *s;

	for (size_t i = 0; i < b->stored.n; i++)
		if (b->stored.v[i].no == no)
			return &b->stored.v[i];
	s = vec_add(b->a, &b->stored);
	*s = (struct prompt_stored){ .no = no, .tokens = -1, .text = STR_NULL };
	return s;
}

/* A message's own macros; results of chance are kept and noted for storing. */
struct str
input_expand(struct build *b, const struct told *t, struct str text)
{
	bool full = b->message_macros == MESSAGE_MACROS_FULL && t->role == PROMPT_USER && t == &b->told[b->ntold - 1] &&
	    (b->in->type == PROMPT_NORMAL || b->in->again);
	const struct macro_template *tpl;
	struct macro_rolls *rolls;
	struct str out;

	if (b->message_macros == MESSAGE_MACROS_OFF || !may_hold_macros(text))
		return text;
	tpl = macro_compile(b->a, text, MACRO_AUTO);
	if ((macro_template_traits(tpl) & MACRO_HAS_MACRO) == 0)
		return text;
	rolls = rolls_copy(b->a, t->m->rolls);
	out = macro_eval(b->run,
	    &(struct macro_piece){ .tpl = tpl, .owner = full ? MACRO_MESSAGE_FULL : MACRO_MESSAGE_READ, .rolls = rolls });
	if (rolls->v.n > (t->m->rolls ? t->m->rolls->v.n : 0))
		stored_of(b, t->m->no)->rolls = rolls;
	return out;
}

/* ---- the texts ---- */

struct str
input_role(enum prompt_role r)
{
	return r == PROMPT_USER ? STR("user") : r == PROMPT_ASSISTANT ? STR("assistant") : STR("system");
}

static struct str
speaker_name(const struct build *b, const struct prompt_message *m)
{
	if (m->name.n > 0)
		return m->name;
	if (m->role == PROMPT_USER)
		return b->user;
	if (m->role == PROMPT_NARRATOR || m->role == PROMPT_SYSTEM)
		return STR("System");
	return b->in->speaker < b->in->ncards ? prompt_card_name(b->in->cards[b->in->speaker]) : STR("Assistant");
}

static bool
is_new(const struct build *b, const struct told *t)
{
	return b->in->type == PROMPT_NORMAL && !b->in->again && t == &b->told[b->ntold - 1] && t->role == PROMPT_USER;
}

/* What the new message becomes when it is stored. */
static struct str
persist_new(struct build *b, const struct told *t, struct str text)
{
	struct str stored = input_apply(b, t, REGEX_PERSIST, text, NULL, &b->user_trace);

	b->typed = text;
	b->stored_user = stored;
	b->persist_items = b->user_trace.items.n;
	if (!str_eq(stored, text))
		stored_of(b, t->m->no)->text = stored;
	return stored;
}

/* A new message without a text is the author's one for that case, if the model spoke last. */
static bool
empty_filled(struct build *b, struct told *t)
{
	bool after_model = t > b->told && t[-1].role != PROMPT_USER;

	if (t->text.n > 0 || !after_model || text_blank(b->preset->send_if_empty) || !is_new(b, t))
		return false;
	t->text = text_eval_raw(b, b->preset->send_if_empty);
	t->same = false;
	*stored_of(b, t->m->no) = (struct prompt_stored){ .no = t->m->no, .text = t->text, .tokens = (int32_t)text_tokens(b, t->text) };
	return true;
}

static void
user_text(struct build *b, struct told *t)
{
	struct str stored = t->text;

	if (empty_filled(b, t))
		return;
	if (is_new(b, t))
		stored = persist_new(b, t, stored);
	t->text = input_expand(b, t, stored);
	t->same = t->m->tokens >= 0 && str_eq(t->text, stored);
	if (is_new(b, t))
		stored_of(b, t->m->no)->tokens = (int32_t)text_tokens(b, t->text);
}

static void
prompt_text(struct build *b, struct told *t)
{
	struct str before = t->text;

	t->bare = input_apply(b, t, REGEX_PROMPT, before, t->role == PROMPT_USER ? NULL : &t->own,
	    t == &b->told[b->ntold - 1] ? &b->user_trace : NULL);
	t->sent = t->bare;
	t->has_own = t->role != PROMPT_USER && !str_eq(t->sent, before);
	t->same = t->same && str_eq(t->sent, before);
	t->expand = t->role != PROMPT_USER;
}

/* ---- reasoning that goes back in (SillyTavern's PromptReasoning) ---- */

/* Adds a text of the model to what is sent; `own` are its parts that no script put in, NULL = all of it. */
static void
add_own(struct build *b, struct sb *out, struct str text, const struct regex_own *own, struct regex_own *all)
{
	for (size_t i = 0; own && i < own->part.n; i++)
		vec_push(b->a, &all->part, ((struct regex_span){ out->n + own->part.v[i].from, out->n + own->part.v[i].to }));
	if (own == NULL)
		vec_push(b->a, &all->part, ((struct regex_span){ out->n, out->n + text.n }));
	sb_add(out, text);
}

/* The settings' texts, evaluated when the first message needs them. */
static struct prompt_reasoning *
reasoning_texts(struct build *b)
{
	const struct prompt_reasoning *r = &b->in->reasoning;

	if (b->reasoning == NULL) {
		b->reasoning = arena_copy(b->a, r, sizeof(*r));
		b->reasoning->prefix = text_eval_raw(b, r->prefix);
		b->reasoning->separator = text_eval_raw(b, r->separator);
		b->reasoning->suffix = text_eval_raw(b, r->suffix);
	}
	return b->reasoning;
}

/* In front of the text; a message without a text that is continued goes on with its reasoning. */
static void
reasoning_put(struct build *b, struct told *t, bool continued)
{
	struct regex_own own = { 0 }, all = { 0 };
	struct str text = apply_at(b, t, REGEX_PLACE_REASONING, REGEX_PROMPT, t->m->reasoning, &own, NULL);
	const struct prompt_reasoning *r = reasoning_texts(b);
	struct sb out = sb_new(b->a);

	sb_add(&out, r->prefix);
	add_own(b, &out, text, str_eq(text, t->m->reasoning) ? NULL : &own, &all);
	if (!continued || t->sent.n > 0) {
		sb_add(&out, r->suffix);
		sb_add(&out, r->separator);
		add_own(b, &out, t->sent, t->has_own ? &t->own : NULL, &all);
	}
	t->sent = sb_str(&out);
	t->own = all;
	t->has_own = true;
	t->same = false;
}

/* Of the newest messages, in a group of the speaker's own; a message that is continued keeps its reasoning in any case. */
static void
reasoning_add(struct build *b)
{
	const struct prompt_reasoning *r = &b->in->reasoning;
	struct str name = b->in->speaker < b->in->ncards ? prompt_card_name(b->in->cards[b->in->speaker]) : STR("");
	int32_t added = 0;

	if (r->prefix.p == NULL && r->suffix.p == NULL && !r->add)
		return;
	for (size_t i = b->ntold; i > 0; i--) {
		struct told *t = &b->told[i - 1];
		bool continued = b->in->type == PROMPT_CONTINUE && i == b->ntold;

		if (!continued && (!r->add || added >= r->max))
			return;
		if (t->m->reasoning.n == 0 || (b->in->group && !str_eq(t->name, name)))
			continue;
		reasoning_put(b, t, continued);
		added++;
	}
}

void
input_history(struct build *b)
{
	const struct prompt_input *in = b->in;
	struct prompt_message *seen = arena_array(b->a, struct prompt_message, in->nhistory + 1);

	b->told = arena_array(b->a, struct told, in->nhistory + 1);
	b->ntold = policy_history(b, seen);
	if (swiped(in, seen, b->ntold))
		b->ntold--;
	for (size_t i = 0; i < b->ntold; i++) {
		const struct prompt_message *m = &seen[i];

		b->told[i] = (struct told){ .m = m, .role = m->role, .name = speaker_name(b, m), .text = m->stored.p ? m->stored : m->text,
			.same = m->tokens >= 0 };
	}
	input_names(b);
	b->run = macro_run_new(b->a, &b->env);
	b->user_trace.all = in->trace;
	if (in->value_warnings)
		macro_values_warn(b->run, NULL, 0);
	for (size_t i = 0; i < b->ntold; i++)
		if (b->told[i].m->greeting)
			b->told[i].text = text_eval_raw(b, b->told[i].text);
	for (size_t i = 0; i < b->ntold; i++)
		if (b->told[i].role == PROMPT_USER)
			user_text(b, &b->told[i]);
	input_names(b);
	for (size_t i = 0; i < b->ntold; i++)
		prompt_text(b, &b->told[i]);
	reasoning_add(b);
	if (in->type == PROMPT_CONTINUE && b->ntold > 0)
		b->continued = &b->told[b->ntold - 1];
}
