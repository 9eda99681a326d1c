/*
 * dialect_marinara: the keywords of Marinara's conditions (spec marinara-conditionals 2) and what they read.
 * A bare keyword of a field reads the card's text as written.
 */
#include "macro/macro_private.h"

#include "base/rng.h"

// clang-format off
static const struct keyword keywords[] = {
	{ "char", MF_CHAR, KW_CHAR }, { "charName", MF_CHAR, KW_CHAR }, { "character", MF_CHAR, KW_CHAR },
	{ "speaker", MF_CHAR, KW_CHAR },
	{ "charPhonetic", MF_CHAR_PHONETIC, KW_CHAR | KW_PHONETIC },
	{ "charNamePhonetic", MF_CHAR_PHONETIC, KW_CHAR | KW_PHONETIC },
	{ "characterPhonetic", MF_CHAR_PHONETIC, KW_CHAR | KW_PHONETIC },
	{ "speakerPhonetic", MF_CHAR_PHONETIC, KW_CHAR | KW_PHONETIC },
	{ "user", MF_USER, 0 }, { "userName", MF_USER, 0 },
	{ "userPhonetic", MF_USER_PHONETIC, KW_PHONETIC }, { "userNamePhonetic", MF_USER_PHONETIC, KW_PHONETIC },
	{ "persona", MF_PERSONA, KW_PERSONA }, { "personaDescription", MF_PERSONA, 0 },
	{ "personaPersonality", MF_PERSONA_PERSONALITY, 0 }, { "personaBackstory", MF_PERSONA_BACKSTORY, 0 },
	{ "personaAppearance", MF_PERSONA_APPEARANCE, 0 }, { "personaScenario", MF_PERSONA_SCENARIO, 0 },
	{ "description", MF_DESCRIPTION, KW_CHAR }, { "personality", MF_PERSONALITY, KW_CHAR },
	{ "backstory", MF_BACKSTORY, KW_CHAR }, { "appearance", MF_APPEARANCE, KW_CHAR },
	{ "scenario", MF_SCENARIO, KW_CHAR }, { "example", MF_EXAMPLES_RAW, KW_CHAR },
	{ "charSysInfo", MF_SYSTEM, KW_CHAR }, { "charPostHistory", MF_POST_HISTORY, KW_CHAR },
	{ "characters", MF_NONE, KW_CHARACTERS }, { "group", MF_NONE, KW_GROUP },
	{ "input", MF_LAST_USER_MESSAGE, 0 }, { "model", MF_MODEL, 0 }, { "chatId", MF_CHAT_ID, 0 },
	{ "reasoning", MF_REASONING, 0 },
	{ "char_about", MF_NONE, KW_CHAR | KW_LATE }, { "convo_display", MF_NONE, KW_CHAR | KW_LATE },
	{ "convo_behavior", MF_NONE, KW_CHAR | KW_LATE },
};
// clang-format on

const struct keyword *
keyword_find(struct str word)
{
	if (word.n && word.p[0] == '@')
		word = str_sub(word, 1, word.n);
	for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++)
		if (str_ieq(word, str_c(keywords[i].name)))
			return &keywords[i];
	return NULL;
}

struct str
member_names(struct ev *ev, bool others)
{
	const struct macro_env *env = ev->r->env;
	struct sb sb = sb_new(ev->r->a);

	for (size_t i = 0; i < env->n_members; i++) {
		if (env->members[i].outside || (others && &env->members[i] == ev->member))
			continue;
		if (sb.n)
			sb_adds(&sb, ", ");
		sb_add(&sb, env->members[i].field[MF_CHAR].text);
	}
	return sb_str(&sb);
}

/* Parts of the persona, blank ones skipped, one a line. */
struct str
persona_text(struct ev *ev, bool raw)
{
	struct sb sb = sb_new(ev->r->a);

	for (enum macro_field f = MF_PERSONA; f <= MF_PERSONA_SCENARIO; f++) {
		struct str part = raw ? eval_field_raw(ev, f) : eval_field(ev, f);

		if (!js_trim(part).n)
			continue;
		if (sb.n)
			sb_addc(&sb, '\n');
		sb_add(&sb, part);
	}
	return sb_str(&sb);
}

struct str
keyword_value(struct ev *ev, const struct keyword *k)
{
	struct str v;

	if (k->flags & KW_CHARACTERS)
		return member_names(ev, false);
	if (k->flags & KW_GROUP)
		return member_names(ev, true);
	if (k->flags & KW_PERSONA)
		return persona_text(ev, true);
	if (k->field == MF_NONE)
		return STR("");
	v = eval_field_raw(ev, (enum macro_field)k->field);
	if (k->flags & KW_PHONETIC && !js_trim(v).n)
		v = eval_field_raw(ev, k->field == MF_CHAR_PHONETIC ? MF_CHAR : MF_USER);
	return v;
}

/* preset variable, then chat variable, writes of this run included */
bool
mar_variable(struct ev *ev, struct str name, struct str *out)
{
	const struct var *v;

	if (eval_preset(ev, name, out))
		return true;
	v = var_find(ev->r, MACRO_LOCAL, name, hash_bytes(hash_seed(), name.p, name.n));
	if (v->state != VAR_SET)
		return false;
	*out = v->v.text.p ? v->v.text : macro_value_text(ev->r->a, &v->v);
	return true;
}

/* Statement with macros filled, blanks collapsed: the key under which it is asked. */
struct str
statement_key(struct arena *a, struct str s)
{
	struct sb sb = sb_new(a);
	bool gap = false;
	size_t len;

	s = js_trim(s);
	for (size_t i = 0; i < s.n; i += len) {
		if (js_blank(s, i, &len)) {
			gap = true;
			continue;
		}
		len = 1;
		if (gap)
			sb_addc(&sb, ' ');
		gap = false;
		sb_addc(&sb, s.p[i]);
	}
	return sb_str(&sb);
}
