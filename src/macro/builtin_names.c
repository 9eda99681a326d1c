/*
 * builtin_names: macros that read what a name stands for: people, card, persona, chat, model.
 */
#include "macro/macro_private.h"

#include "base/map.h"

#include <math.h>

static enum nv
fn_group(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	(void)n;
	(void)argv;
	*out = ev->r->env->group ? member_names(ev, false) : eval_field(ev, MF_CHAR);
	return NV_OK;
}

static enum nv
fn_group_not_muted(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	const struct macro_env *env = ev->r->env;
	struct sb sb = sb_new(ev->r->a);

	if (!env->group)
		return fn_group(ev, n, argv, out);
	for (size_t i = 0; i < env->n_members; i++) {
		if (env->members[i].muted || env->members[i].outside)
			continue;
		if (sb.n)
			sb_adds(&sb, ", ");
		sb_add(&sb, env->members[i].field[MF_CHAR].text);
	}
	*out = sb_str(&sb);
	return NV_OK;
}

/* Of a group the others who may answer (as on SillyTavern's page); of a chat of two the user. */
static enum nv
fn_not_char(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	const struct macro_env *env = ev->r->env;
	struct str own = eval_field(ev, MF_CHAR);
	struct sb sb = sb_new(ev->r->a);

	(void)n;
	(void)argv;
	for (size_t i = 0; env->group && i < env->n_members; i++) {
		struct str name = env->members[i].field[MF_CHAR].text;

		if (env->members[i].muted || env->members[i].outside || str_eq(name, own))
			continue;
		if (sb.n)
			sb_adds(&sb, ", ");
		sb_add(&sb, name);
	}
	*out = env->group ? sb_str(&sb) : eval_field(ev, MF_USER);
	return NV_OK;
}

static enum nv
fn_others(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	(void)n;
	(void)argv;
	*out = member_names(ev, true);
	return NV_OK;
}

static enum nv
fn_characters(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	(void)n;
	(void)argv;
	*out = member_names(ev, false);
	return NV_OK;
}

static enum nv
fn_persona_mar(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	(void)n;
	(void)argv;
	*out = persona_text(ev, false);
	return NV_OK;
}

/* {{charPhonetic}}, {{userPhonetic}}: the name if there is none. */
static enum nv
fn_phonetic(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	bool user = row_get(n->row)->name[0] == 'u';

	(void)argv;
	*out = eval_field(ev, user ? MF_USER_PHONETIC : MF_CHAR_PHONETIC);
	if (!js_trim(*out).n)
		*out = eval_field(ev, user ? MF_USER : MF_CHAR);
	return NV_OK;
}

/* An alternate greeting, expanded once. */
static struct str
alternate(struct ev *ev, size_t i)
{
	struct macro_run *r = ev->r;
	const char *key = arena_printf(r->a, "greeting %td %zu", ev->member - r->env->members, i);
	struct macro_piece p = { .owner = MACRO_FIELD, .member = ev->member };
	struct str *have;

	if (!r->greetings)
		r->greetings = map_create(r->a);
	have = map_get(r->greetings, str_c(key));
	if (!have) {
		have = arena_new(r->a, struct str);
		*have = STR("");
		map_set(r->greetings, str_c(key), have);
		p.tpl = macro_compile(
		    r->a, ev->member->greetings[i], ev->member->field[MF_FIRST_MESSAGE].dialect);
		*have = eval_nested(r, &p);
	}
	return *have;
}

static enum nv
fn_greeting(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	double i = 0;

	*out = STR("");
	if (ev->piece->owner == MACRO_FIELD && !ev->r->env->field_in_field)
		return NV_OK;
	if (n->argc && (!js_number(argv[0], &i) || i != floor(i)))
		return eval_refuse(ev, n, argv, MACRO_W_TYPE, out);
	if (i == 0)
		*out = eval_field(ev, MF_FIRST_MESSAGE);
	else if (ev->member && i >= 1 && i <= (double)ev->member->n_greetings)
		*out = alternate(ev, (size_t)i - 1);
	return NV_OK;
}

static enum nv
fn_false(struct ev *ev, const struct node *n, const struct str *argv, struct str *out)
{
	(void)ev;
	(void)n;
	(void)argv;
	*out = STR("false");
	return NV_OK;
}

#define NAME(field) NULL, 0, 0, ARGS_PAGE, field
#define PAGE DIALECTS_PAGE
#define ALL DIALECTS_ALL
#define NOT_MAR (DIALECTS_ALL & ~DIALECT_MAR)

// clang-format off
static const struct row rows[] = {
	/* people */
	{ "user", "", NAME(MF_USER), 0, ALL, "", "names", "the user's name", NULL },
	{ "userName", "", NAME(MF_USER), 0, ALL, "", "names", "the user's name", NULL },
	{ "char", "", NAME(MF_CHAR), ROW_CHAR, ALL, "", "names", "the character's name", NULL },
	{ "assistantName", "", NAME(MF_CHAR), ROW_CHAR, ALL, "", "names", "the character's name", NULL },
	{ "charName", "character speaker", NAME(MF_CHAR), ROW_CHAR, DIALECT_MAR, "", "names", "the character's name", NULL },
	{ "charPhonetic", "charNamePhonetic characterPhonetic speakerPhonetic", fn_phonetic, 0, 0, ARGS_PAGE, MF_NONE, ROW_CHAR,
	    DIALECT_MAR, "", "names", "how the character's name is spoken; the name if nothing is set", NULL },
	{ "userPhonetic", "userNamePhonetic", fn_phonetic, 0, 0, ARGS_PAGE, MF_NONE, 0, DIALECT_MAR, "", "names",
	    "how the user's name is spoken; the name if nothing is set", NULL },
	{ "group", "charIfNotGroup", fn_group, 0, 0, ARGS_PAGE, MF_NONE, 0, NOT_MAR, "", "names",
	    "all characters of a group chat; the character's name in a chat with one", NULL },
	{ "group", "", fn_others, 0, 0, ARGS_PAGE, MF_NONE, ROW_CHAR, DIALECT_MAR, "", "names",
	    "the other characters of the chat", NULL },
	{ "characters", "", fn_characters, 0, 0, ARGS_PAGE, MF_NONE, 0, DIALECT_MAR, "", "names", "all characters of the chat", NULL },
	{ "groupNotMuted", "", fn_group_not_muted, 0, 0, ARGS_PAGE, MF_NONE, 0, PAGE, "", "names",
	    "as group, without the muted ones", NULL },
	{ "notChar", "", fn_not_char, 0, 0, ARGS_PAGE, MF_NONE, ROW_CHAR, PAGE, "", "names",
	    "everybody but the current character, the user last", NULL },
	/* card */
	{ "description", "charDescription", NAME(MF_DESCRIPTION), ROW_CHAR, ALL, "", "card", "the card's description", NULL },
	{ "personality", "charPersonality", NAME(MF_PERSONALITY), ROW_CHAR, ALL, "", "card", "the card's personality", NULL },
	{ "scenario", "charScenario", NAME(MF_SCENARIO), ROW_CHAR, ALL, "", "card", "the card's scenario", NULL },
	{ "backstory", "", NAME(MF_BACKSTORY), ROW_CHAR, DIALECT_MAR, "", "card", "the card's backstory", NULL },
	{ "appearance", "", NAME(MF_APPEARANCE), ROW_CHAR, DIALECT_MAR, "", "card", "the card's appearance", NULL },
	{ "charPrompt", "", NAME(MF_SYSTEM), 0, ALL, "", "card", "the card's system prompt", NULL },
	{ "charInstruction", "charJailbreak", NAME(MF_POST_HISTORY), 0, ALL, "", "card", "the card's post-history instructions", NULL },
	{ "charDepthPrompt", "", NAME(MF_DEPTH_NOTE), 0, ALL, "", "card", "the card's depth note, else its post-history instructions", NULL },
	{ "charSysInfo", "", NAME(MF_SYSTEM), ROW_CHAR, DIALECT_MAR, "", "card", "the card's system prompt", NULL },
	{ "charPostHistory", "", NAME(MF_POST_HISTORY), ROW_CHAR, DIALECT_MAR, "", "card", "the card's post-history instructions", NULL },
	{ "mesExamples", "", NAME(MF_EXAMPLES), 0, ALL, "", "card", "the card's example dialogue", NULL },
	{ "mesExamplesRaw", "", NAME(MF_EXAMPLES_RAW), 0, ALL, "", "card", "the card's example dialogue as written", NULL },
	{ "example", "", NAME(MF_EXAMPLES_RAW), ROW_CHAR, DIALECT_MAR, "", "card", "the card's example dialogue", NULL },
	{ "charVersion", "char_version version", NAME(MF_CHAR_VERSION), 0, ALL, "", "card", "the card's version", NULL },
	{ "creatorNotes", "charCreatorNotes", NAME(MF_CREATOR_NOTES), 0, ALL, "", "card", "the card's creator notes", NULL },
	{ "greeting", "charFirstMessage", fn_greeting, 0, 1, ARGS_REST, MF_NONE, 0, ALL, "[::n]", "card",
	    "the first message, or the n-th alternate greeting", NULL },
	/* persona and texts around the chat */
	{ "persona", "", NAME(MF_PERSONA), 0, NOT_MAR, "", "persona", "the persona's description", NULL },
	{ "persona", "", fn_persona_mar, 0, 0, ARGS_PAGE, MF_NONE, 0, DIALECT_MAR, "", "persona",
	    "the persona: its fields, one a line", NULL },
	{ "personaDescription", "", NAME(MF_PERSONA), 0, DIALECT_MAR, "", "persona", "the persona's description", NULL },
	{ "personaPersonality", "", NAME(MF_PERSONA_PERSONALITY), 0, DIALECT_MAR, "", "persona", "the persona's personality", NULL },
	{ "personaBackstory", "", NAME(MF_PERSONA_BACKSTORY), 0, DIALECT_MAR, "", "persona", "the persona's backstory", NULL },
	{ "personaAppearance", "", NAME(MF_PERSONA_APPEARANCE), 0, DIALECT_MAR, "", "persona", "the persona's appearance", NULL },
	{ "personaScenario", "", NAME(MF_PERSONA_SCENARIO), 0, DIALECT_MAR, "", "persona", "the persona's scenario", NULL },
	{ "systemPrompt", "", NAME(MF_SYSTEM_PROMPT), 0, ALL, "", "prompt", "the active system prompt", NULL },
	{ "defaultSystemPrompt", "instructSystem instructSystemPrompt", NAME(MF_DEFAULT_SYSTEM_PROMPT), 0, ALL, "", "prompt",
	    "the default system prompt", NULL },
	{ "authorsNote", "", NAME(MF_AUTHORS_NOTE), 0, ALL, "", "prompt", "the author's note of the session", NULL },
	{ "charAuthorsNote", "", NAME(MF_CREATOR_NOTES), 0, ALL, "", "prompt", "the card's creator notes", NULL },
	{ "defaultAuthorsNote", "", NAME(MF_DEFAULT_AUTHORS_NOTE), 0, ALL, "", "prompt", "the default author's note", NULL },
	{ "summary", "", NAME(MF_SUMMARY), 0, ALL, "", "prompt", "the memory summary; inserted, never expanded",
	    "changes whenever memory is compacted" },
	{ "chatStart", "", NAME(MF_CHAT_START), 0, ALL, "", "prompt", "the line before the chat", NULL },
	{ "exampleSeparator", "chatSeparator", NAME(MF_EXAMPLE_SEPARATOR), 0, ALL, "", "prompt", "the line before an example", NULL },
	{ "reasoningPrefix", "", NAME(MF_REASONING_PREFIX), 0, ALL, "", "prompt", "text before a reasoning block", NULL },
	{ "reasoningSuffix", "", NAME(MF_REASONING_SUFFIX), 0, ALL, "", "prompt", "text after a reasoning block", NULL },
	{ "reasoningSeparator", "", NAME(MF_REASONING_SEPARATOR), 0, ALL, "", "prompt", "text between reasoning and answer", NULL },
	/* run and model */
	{ "model", "", NAME(MF_MODEL), 0, ALL, "", "run", "the model's name", NULL },
	{ "maxPrompt", "maxPromptTokens", NAME(MF_MAX_PROMPT), 0, ALL, "", "run", "tokens that the prompt may hold", NULL },
	{ "maxContext", "maxContextTokens", NAME(MF_MAX_CONTEXT), 0, ALL, "", "run", "tokens of the context", NULL },
	{ "maxResponse", "maxResponseTokens", NAME(MF_MAX_RESPONSE), 0, ALL, "", "run", "tokens kept for the reply", NULL },
	{ "runKind", "", NAME(MF_RUN_KIND), 0, ALL, "", "run", "dry_run, respond, regenerate, retry", NULL },
	{ "lastGenerationType", "", NAME(MF_GENERATION_TYPE), 0, ALL, "", "run",
	    "normal, swipe, continue, impersonate, quiet, regenerate", NULL },
	{ "promptMode", "", NAME(MF_PROMPT_MODE), 0, ALL, "", "run", "the session's prompt mode", NULL },
	{ "reasoning", "", NAME(MF_REASONING), 0, DIALECT_MAR, "", "run", "the reasoning effort, off when disabled", NULL },
	{ "chatId", "", NAME(MF_CHAT_ID), 0, DIALECT_MAR, "", "run", "the session's id", NULL },
	{ "isMobile", "", fn_false, 0, 0, ARGS_PAGE, MF_NONE, 0, PAGE, "", "run", "always false: there is no browser", NULL },
	{ "hasExtension", "", fn_false, 1, 1, ARGS_REST, MF_NONE, 0, PAGE, "::name", "run", "always false: there are no extensions", NULL },
	/* chat */
	{ "lastMessage", "", NAME(MF_LAST_MESSAGE), 0, ALL, "", "chat", "the newest message", "changes every turn" },
	{ "lastUserMessage", "", NAME(MF_LAST_USER_MESSAGE), 0, ALL, "", "chat", "the user's newest message", "changes every turn" },
	{ "lastCharMessage", "", NAME(MF_LAST_CHAR_MESSAGE), 0, ALL, "", "chat", "the character's newest message", "changes every turn" },
	{ "lastMessageId", "", NAME(MF_LAST_MESSAGE_ID), 0, ALL, "", "chat", "number of the newest message, from 0", "changes every turn" },
	{ "firstIncludedMessageId", "", NAME(MF_FIRST_INCLUDED_ID), 0, ALL, "", "chat", "number of the first message that is sent", NULL },
	{ "firstDisplayedMessageId", "", NAME(MF_FIRST_DISPLAYED_ID), 0, ALL, "", "chat", "number of the first message that is shown", NULL },
	{ "allChatRange", "", NAME(MF_ALL_CHAT_RANGE), 0, ALL, "", "chat", "0 to the number of the newest message", "changes every turn" },
	{ "lastSwipeId", "", NAME(MF_LAST_SWIPE_ID), 0, ALL, "", "chat", "number of versions of the newest message", NULL },
	{ "currentSwipeId", "", NAME(MF_CURRENT_SWIPE_ID), 0, ALL, "", "chat", "version of the newest message that is shown, from 1", NULL },
	{ "input", "", NAME(MF_INPUT), 0, NOT_MAR, "", "chat", "the text in the input box of a preview; empty while a turn is assembled", NULL },
	{ "input", "", NAME(MF_LAST_USER_MESSAGE), 0, DIALECT_MAR, "", "chat", "the user's newest message", "changes every turn" },
	{ "lastChatMessage", "", NAME(MF_LAST_USER_MESSAGE), 0, DIALECT_TOM, "", "chat", "the user's newest message", "changes every turn" },
};
// clang-format on

const struct row_table builtin_names = { rows, sizeof(rows) / sizeof(rows[0]) };
