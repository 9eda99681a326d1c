/*
 * values: which source a name's value is taken from (spec macros 1.5, decisions 34).
 */
#include "macro/values.h"

#include "macro/macro_private.h"

static const char page_default_prompt[] = "You are a helpful assistant.";

// clang-format off
/* Missing values the assembly warns of, in the order of the warnings. */
static const struct { enum macro_field field; const char *name; } watched[] = {
	{ MF_SYSTEM_PROMPT, "systemPrompt" }, { MF_SYSTEM, "charPrompt" }, { MF_POST_HISTORY, "charInstruction" },
	{ MF_DEPTH_NOTE, "charDepthPrompt" }, { MF_EXAMPLES, "mesExamples" }, { MF_EXAMPLES_RAW, "mesExamplesRaw" },
	{ MF_AUTHORS_NOTE, "authorsNote" }, { MF_DEFAULT_AUTHORS_NOTE, "defaultAuthorsNote" }, { MF_MODEL, "model" },
};

/* Names that an ordinary variable cannot take: the page's read-only macros. */
static const char *const readonly_names[] = {
	"user", "userName", "char", "assistantName", "description", "personality", "scenario", "persona", "systemPrompt",
	"defaultSystemPrompt", "authorsNote", "charAuthorsNote", "defaultAuthorsNote", "charPrompt", "charInstruction",
	"charDepthPrompt", "mesExamples", "mesExamplesRaw", "model", "maxPrompt", "runKind", "promptMode", "isodate", "isotime",
	"summary", "lastMessage", "lastUserMessage", "lastCharMessage", "lastGenerationType",
};

static const struct { const char *run, *word; } generation_words[] = {
	{ "regenerate", "regenerate" }, { "swipe", "swipe" }, { "continue", "continue" }, { "impersonate", "impersonate" },
	{ "quiet", "quiet" },
};

static const char *const modes[] = { "compat_strict", "compat_plus", "native", "rearrange" };
// clang-format on

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

const char *
macro_generation_type(const char *run_kind)
{
	for (size_t i = 0; run_kind && i < COUNT(generation_words); i++)
		if (strcmp(run_kind, generation_words[i].run) == 0)
			return generation_words[i].word;
	return "normal";
}

static bool
blank(struct str s)
{
	return js_trim(s).n == 0;
}

/* The first of two spellings of a metadata member that is not blank, trimmed. */
static struct str
meta(const struct json *m, const char *camel, const char *snake)
{
	struct str s = js_trim(json_get_str(m, camel));

	return s.n ? s : js_trim(json_get_str(m, snake));
}

/* The first member of the session's characters that has the field. */
static bool
card_has(const struct macro_env *env, enum macro_field f)
{
	if (!env->n_members)
		return false;
	return !blank(env->members[env->speaker < env->n_members ? env->speaker : 0].field[f].text);
}

/* An ordinary variable that stands in for a missing name. */
static struct str
ordinary(struct arena *a, const struct macro_env *env, const char *name)
{
	struct macro_value v;

	if (!env->vars.get || !env->vars.get(env->vars.ctx, MACRO_ORDINARY, str_c(name), &v))
		return STR("");
	return macro_value_text(a, &v);
}

static void
plain(struct macro_env *env, enum macro_field f, struct str s)
{
	env->field[f] = (struct macro_source){ .text = s.p ? s : STR("") };
}

static void
number(struct arena *a, struct macro_env *env, enum macro_field f, int64_t n)
{
	plain(env, f, n < 0 ? STR("") : str_c(arena_printf(a, "%lld", (long long)n)));
}

static void
fill_people(struct arena *a, const struct macro_inputs *in, struct macro_env *env)
{
	const struct json *p = json_get(in->metadata, "persona");
	struct str user = in->user, persona = in->persona;

	if (blank(user))
		user = json_get_str(p, "name");
	if (blank(user))
		user = ordinary(a, env, "user");
	if (blank(persona))
		persona = json_get_str(p, "description");
	plain(env, MF_USER, user);
	plain(env, MF_PERSONA, persona);
}

static void
fill_prompts(const struct macro_inputs *in, struct macro_env *env)
{
	struct str system = meta(in->metadata, "systemPrompt", "system_prompt");
	struct str note = meta(in->metadata, "authorsNote", "authors_note");
	struct str dflt = js_trim(in->default_system_prompt);

	plain(env, MF_SYSTEM_PROMPT, system);
	if (!system.n && card_has(env, MF_SYSTEM) && !in->forbid_card_system)
		env->field[MF_SYSTEM_PROMPT].as = MF_SYSTEM;
	else if (!system.n)
		plain(env, MF_SYSTEM_PROMPT, js_trim(in->preset_main));
	plain(env, MF_DEFAULT_SYSTEM_PROMPT, dflt.n ? dflt : str_c(page_default_prompt));
	plain(env, MF_AUTHORS_NOTE, note);
	if (!note.n)
		env->field[MF_AUTHORS_NOTE].as = MF_CREATOR_NOTES;
	plain(env, MF_DEFAULT_AUTHORS_NOTE, meta(in->metadata, "defaultAuthorsNote", "default_authors_note"));
}

static void
fill_run(struct arena *a, const struct macro_inputs *in, struct macro_env *env)
{
	struct str mode = js_trim(in->prompt_mode), model = js_trim(in->model);
	const char *kind = in->run_kind ? in->run_kind : "dry_run";
	int64_t prompt = in->max_prompt;

	if (!mode.n)
		mode = meta(in->metadata, "promptMode", "prompt_mode");
	plain(env, MF_PROMPT_MODE, STR("compat_strict"));
	for (size_t i = 0; i < COUNT(modes); i++)
		if (str_is(mode, modes[i]))
			plain(env, MF_PROMPT_MODE, mode);
	plain(env, MF_MODEL, model.n ? model : meta(in->metadata, "model", "model"));
	plain(env, MF_RUN_KIND, str_c(kind));
	plain(env, MF_GENERATION_TYPE, str_c(macro_generation_type(kind)));
	plain(env, MF_SUMMARY, in->summary);
	if (!prompt)
		prompt = in->max_context ? in->max_context - in->max_response : 1000;
	number(a, env, MF_MAX_PROMPT, prompt < 0 ? 0 : prompt);
	number(a, env, MF_MAX_CONTEXT, in->max_context ? in->max_context : -1);
	number(a, env, MF_MAX_RESPONSE, in->max_response ? in->max_response : -1);
}

/* A message counts as last if it says something and is no version that is just being written. */
static bool
counts(const struct macro_message *m)
{
	return m->author != MACRO_BY_SYSTEM && !blank(m->text) && !(m->swipes && m->swipe >= m->swipes);
}

static void
fill_chat(struct arena *a, const struct macro_inputs *in, struct macro_env *env)
{
	const struct macro_message *m = in->messages, *user = NULL, *character = NULL, *last = NULL;
	size_t n = in->n_messages;

	for (size_t i = n; i > 0; i--) {
		const struct macro_message *at = &m[i - 1];

		if (!counts(at))
			continue;
		if (!last)
			last = at;
		if (!user && at->author == MACRO_BY_USER && !at->hidden)
			user = at;
		if (!character && at->author == MACRO_BY_CHAR && !at->hidden)
			character = at;
	}
	plain(env, MF_LAST_MESSAGE, last ? last->text : STR(""));
	plain(env, MF_LAST_USER_MESSAGE, user ? user->text : STR(""));
	plain(env, MF_LAST_CHAR_MESSAGE, character ? character->text : STR(""));
	number(a, env, MF_LAST_MESSAGE_ID, last ? in->first_id + (last - m) : -1);
	number(a, env, MF_FIRST_INCLUDED_ID, in->first_included);
	number(a, env, MF_FIRST_DISPLAYED_ID, n ? in->first_id : -1);
	plain(env, MF_ALL_CHAT_RANGE,
	    last ? str_c(arena_printf(a, "0-%lld", (long long)(in->first_id + (last - m)))) : STR(""));
	number(a, env, MF_LAST_SWIPE_ID, n && m[n - 1].swipes ? (int64_t)m[n - 1].swipes : -1);
	number(a, env, MF_CURRENT_SWIPE_ID, n && m[n - 1].swipes ? (int64_t)m[n - 1].swipe + 1 : -1);
	env->idle_ms = -1;
	/* since the user message before the newest message of all */
	for (size_t i = n > 1 ? n - 1 : 0; i > 0; i--)
		if (m[i - 1].author == MACRO_BY_USER && !m[i - 1].hidden && m[i - 1].sent) {
			env->idle_ms = env->now - m[i - 1].sent;
			break;
		}
}

void
macro_values_fill(struct arena *a, const struct macro_inputs *in, struct macro_env *env)
{
	fill_people(a, in, env);
	fill_prompts(in, env);
	fill_run(a, in, env);
	fill_chat(a, in, env);
}

/* Whether a field of the run (or of the speaker) holds nothing but blanks, before expansion. */
static bool
missing(const struct macro_run *r, enum macro_field f)
{
	const struct macro_env *env = r->env;

	if (f >= MF_MEMBER__END && env->field[f].as != MF_NONE)
		f = env->field[f].as;
	if (f < MF_MEMBER__END)
		return !card_has(env, f);
	return blank(env->field[f].text);
}

static bool
is_readonly(struct str name)
{
	for (size_t i = 0; i < COUNT(readonly_names); i++)
		if (str_is(name, readonly_names[i]))
			return true;
	return false;
}

/* The first name after `last`, in order of bytes, that a read-only macro has. */
static const struct str *
next_conflict(const struct str *names, size_t n, struct str last)
{
	const struct str *best = NULL;

	for (size_t i = 0; i < n; i++)
		if (str_cmp(names[i], last) > 0 && (!best || str_cmp(names[i], *best) < 0) &&
		    is_readonly(names[i]))
			best = &names[i];
	return best;
}

void
macro_values_warn(struct macro_run *r, const struct str *names, size_t n)
{
	struct str last = STR("");

	for (const struct str *next; (next = next_conflict(names, n, last)) != NULL; last = *next)
		run_warn(r, &(struct macro_warning){ .code = MACRO_W_NAME_CONFLICT,
				.name = *next,
				.count = 1,
				.message = "a variable has the name of a built-in macro, which wins" });
	for (size_t i = 0; i < COUNT(watched); i++)
		if (missing(r, watched[i].field))
			run_warn(r, &(struct macro_warning){ .code = MACRO_W_VALUE_MISSING,
					.name = str_c(watched[i].name),
					.count = 1,
					.message = "nothing gives this name a value" });
}
