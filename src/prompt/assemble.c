/*
 * assemble: the way in: names of modes and types, the assembly, greeting and reply.
 */
#include "prompt/prompt_private.h"

static const char *const mode_names[PROMPT_MODE__COUNT] = { "compat_strict", "compat_plus", "native", "rearrange" };
static const char *const type_names[PROMPT_TYPE__COUNT] = { "normal", "continue", "swipe", "regenerate", "impersonate", "quiet" };

static void (*const builders[PROMPT_MODE__COUNT])(struct build *b) = { compat_build, compat_build, native_build, rearrange_build };

static bool
name_find(const char *const *names, int n, struct str name, int *out)
{
	for (int i = 0; i < n; i++)
		if (str_is(name, names[i])) {
			*out = i;
			return true;
		}
	return false;
}

const char *
prompt_mode_name(enum prompt_mode m)
{
	return mode_names[m];
}

bool
prompt_mode_parse(struct str name, enum prompt_mode *out)
{
	int i;

	if (!name_find(mode_names, PROMPT_MODE__COUNT, name, &i))
		return false;
	*out = (enum prompt_mode)i;
	return true;
}

const char *
prompt_type_name(enum prompt_type t)
{
	return type_names[t];
}

bool
prompt_type_parse(struct str name, enum prompt_type *out)
{
	int i;

	if (!name_find(type_names, PROMPT_TYPE__COUNT, name, &i))
		return false;
	*out = (enum prompt_type)i;
	return true;
}

struct prompt_note
prompt_note_defaults(void)
{
	return (struct prompt_note){ .given = true, .text = STR_NULL, .place = PROMPT_IN_CHAT, .depth = 4, .role = PROMPT_SYSTEM, .interval = 1 };
}

struct build *
build_new(struct arena *a, const struct prompt_input *in)
{
	struct build *b = arena_new(a, struct build);

	b->a = a;
	b->in = in;
	b->out = arena_new(a, struct prompt);
	input_begin(b);
	budget_begin(b);
	return b;
}

int
prompt_assemble(struct arena *a, const struct prompt_input *in, struct prompt **out)
{
	struct build *b = build_new(a, in);
	struct prompt *p = b->out;

	input_history(b);
	decision_plan(b);
	if (in->preset || in->mode == PROMPT_REARRANGE)
		builders[in->mode](b);
	else
		plain_build(b);
	if (b->over || b->refused) {
		p->error = "context_budget_exceeded";
		p->error_text = "what must be sent does not fit into the model's context";
	} else
		layout_render(b);
	p->sampling = b->preset->sampling;
	p->use_sysprompt = b->preset->use_sysprompt;
	p->macros = macro_run_result(b->run);
	p->build = b;
	p->decided = b->turn;
	p->user_regex = &b->user_trace;
	p->stored = b->stored.v;
	p->nstored = b->stored.n;
	p->continued = b->continued ? b->continued->bare : STR_NULL;
	trace_fill(b);
	*out = p;
	return 0;
}

/* The text of a greeting: 0 = first_mes, then the alternates; without first_mes the alternates come first. */
static struct str
greeting_text(const struct prompt_card *c, int64_t choice)
{
	int64_t i = c->first_mes.n > 0 ? choice - 1 : choice;

	if (i < 0)
		return c->first_mes;
	return (size_t)i < c->ngreetings ? c->greetings[i] : STR("");
}

/* The state for a text outside of a prompt: names and a run, no chat. */
static struct build *
build_bare(struct arena *a, const struct prompt_input *in, size_t speaker)
{
	struct prompt_input *own = arena_copy(a, in, sizeof(*in));
	struct build *b;

	own->speaker = speaker;
	own->nhistory = 0;
	b = build_new(a, own);
	input_history(b);
	return b;
}

struct str
prompt_expand(struct arena *a, const struct prompt_input *in, size_t member, struct str text, const struct macro_result **macros_out)
{
	struct build *b = build_bare(a, in, member);
	struct str out = text_eval_raw(b, text);

	*macros_out = macro_run_result(b->run);
	return out;
}

struct str
prompt_greeting(struct arena *a, const struct prompt_input *in, size_t member, int64_t choice, const struct macro_result **macros_out)
{
	struct prompt_message m = { .role = PROMPT_ASSISTANT, .tokens = -1 };
	struct build *b = build_bare(a, in, member);
	struct str text = member < in->ncards ? greeting_text(in->cards[member], choice) : STR("");
	enum macro_dialect d = member < in->ncards ? in->cards[member]->dialect : MACRO_AUTO;

	text = input_apply(b, &(struct told){ .m = &m, .role = PROMPT_ASSISTANT }, REGEX_PERSIST, text, NULL, NULL);
	text = text_eval(b, text_compile(a, text, d == MACRO_AUTO ? b->dialect : d));
	*macros_out = macro_run_result(b->run);
	return text;
}

struct str
prompt_reply(struct arena *a, const struct prompt_input *in, struct str reply, struct regex_trace *trace)
{
	struct prompt_message m = { .role = in->type == PROMPT_IMPERSONATE ? PROMPT_USER : PROMPT_ASSISTANT, .tokens = -1 };
	struct build *b = build_bare(a, in, in->speaker);

	reply = input_apply(b, &(struct told){ .m = &m, .role = m.role }, REGEX_PERSIST, reply, NULL, trace);
	return in->mode == PROMPT_COMPAT_STRICT || in->mode == PROMPT_COMPAT_PLUS ? reply_clean(b, reply) : reply;
}
