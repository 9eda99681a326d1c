/*
 * card: a character and a persona as the assembler wants them: a card's texts trimmed and without CR,
 * a persona's as they are, with their templates; depth note, greetings, embedded book and scripts.
 */
#include "base/json_loose.h"
#include "base/utf8.h"
#include "lore/book_file.h"
#include "prompt/prompt_private.h"
#include "regex/script_file.h"

// clang-format off
/* Author's texts of a card and where they stand: in `data`, or in one of its members. */
static const struct {
	enum macro_field field;
	const char *in, *keys;
} card_fields[] = {
	{ MF_SYSTEM, NULL, "system_prompt" },
	{ MF_DESCRIPTION, NULL, "description" },
	{ MF_PERSONALITY, NULL, "personality" },
	{ MF_SCENARIO, NULL, "scenario" },
	{ MF_EXAMPLES_RAW, NULL, "mes_example" },
	{ MF_POST_HISTORY, NULL, "post_history_instructions" },
	{ MF_CREATOR_NOTES, NULL, "creator_notes|creatorcomment" },
	{ MF_BACKSTORY, "extensions", "backstory" },
	{ MF_APPEARANCE, "extensions", "appearance" },
	{ MF_CHAR_PHONETIC, "extensions", "phonetic|phonetic_name" },
	{ MF_CHAR_VERSION, NULL, "character_version" },
};

static const struct {
	enum macro_field field;
	const char *in, *keys;
} persona_fields[] = {
	{ MF_PERSONA, NULL, "description" },
	{ MF_PERSONA_PERSONALITY, NULL, "personality" },
	{ MF_PERSONA_SCENARIO, NULL, "scenario" },
	{ MF_PERSONA_BACKSTORY, "extensions", "backstory" },
	{ MF_PERSONA_APPEARANCE, "extensions", "appearance" },
	{ MF_USER_PHONETIC, "extensions", "phonetic|phonetic_name" },
};
// clang-format on

static struct macro_source
source_read(struct arena *a, const struct json *o, const char *keys, enum macro_dialect d, bool verbatim)
{
	struct str s = loose_str(a, loose_get(o, keys), STR_NULL);

	if (!verbatim)
		s = text_no_cr(a, utf8_trim(s));
	if (s.n == 0)
		return (struct macro_source){ .text = STR_NULL };
	s = arena_str(a, s);
	return (struct macro_source){ .text = s, .tpl = macro_compile(a, s, d), .dialect = d };
}

/* Each block of the dialogue stands behind a line <START>. */
struct str
card_examples(struct arena *a, struct str text)
{
	struct sb out = sb_new(a);
	struct str rest = utf8_trim(text);
	size_t at;

	if (rest.n == 0 || str_is(rest, "<START>"))
		return STR_NULL;
	if (str_starts(rest, STR("<START>")))
		rest = str_sub(rest, 7, rest.n);
	for (bool more = true; more;) {
		for (at = 0; at + 7 <= rest.n && !str_ieq(str_sub(rest, at, at + 7), STR("<START>")); at++)
			;
		more = at + 7 <= rest.n;
		sb_adds(&out, "<START>\n");
		sb_add(&out, utf8_trim(more ? str_sub(rest, 0, at) : rest));
		sb_addc(&out, '\n');
		rest = str_sub(rest, at + 7, rest.n);
	}
	return sb_str(&out);
}

static struct macro_source
examples_format(struct arena *a, struct macro_source raw)
{
	struct str s = card_examples(a, raw.text);

	return (struct macro_source){ .text = s, .tpl = s.p ? macro_compile(a, s, raw.dialect) : NULL, .dialect = raw.dialect };
}

static void
depth_note_read(struct arena *a, struct prompt_card *c, const struct json *ext, enum macro_dialect d)
{
	const struct json *note = json_get(ext, "depth_prompt");

	c->field[MF_DEPTH_NOTE] = source_read(a, note, "prompt", d, false);
	c->depth = (int32_t)loose_int(json_get(note, "depth"), 4);
	c->depth_role = arena_str(a, loose_str(a, json_get(note, "role"), STR("system")));
}

static void
greetings_read(struct arena *a, struct prompt_card *c)
{
	const struct str *v;
	size_t n = loose_strs(a, json_get(c->data, "alternate_greetings"), &v);
	struct str *copy = arena_array(a, struct str, n + 1);

	for (size_t i = 0; i < n; i++)
		copy[i] = arena_str(a, v[i]);
	c->greetings = copy;
	c->ngreetings = n;
	c->first_mes = arena_str(a, loose_str(a, json_get(c->data, "first_mes"), STR("")));
	if (c->first_mes.n > 0)
		c->field[MF_FIRST_MESSAGE] = (struct macro_source){ .text = c->first_mes, .tpl = macro_compile(a, c->first_mes, c->dialect), .dialect = c->dialect };
}

struct prompt_card *
prompt_card_compile(struct arena *a, const struct json *doc)
{
	struct prompt_card *c = arena_new(a, struct prompt_card);
	const struct json *own = doc ? json_copy(a, doc) : json_object(a), *ext;
	const struct regex_script *scripts;
	enum macro_dialect d = MACRO_AUTO;
	size_t n;

	c->data = json_get(own, "data") ? json_get(own, "data") : own;
	ext = json_get(c->data, "extensions");
	macro_dialect_parse(json_get_str(ext, "conditional_dialect"), &d);
	c->dialect = d;
	c->field[MF_CHAR] = (struct macro_source){ .text = loose_str(a, json_get(c->data, "name"), STR("")) };
	for (size_t i = 0; i < COUNT(card_fields); i++)
		c->field[card_fields[i].field] =
		    source_read(a, card_fields[i].in ? json_get(c->data, card_fields[i].in) : c->data, card_fields[i].keys, d, false);
	c->field[MF_EXAMPLES] = examples_format(a, c->field[MF_EXAMPLES_RAW]);
	depth_note_read(a, c, ext, d);
	greetings_read(a, c);
	c->ntags = loose_strs(a, json_get(c->data, "tags"), &c->tags);
	n = regex_scripts_read(a, json_get(ext, "regex_scripts"), REGEX_SOURCE_CARD, &scripts);
	if (json_get(c->data, "character_book"))
		c->book = lore_book_read(a, STR_NULL, json_get(c->data, "character_book"));
	c->scripts = n ? regex_set_compile(a, scripts, n) : NULL;
	return c;
}

struct str
prompt_card_name(const struct prompt_card *c)
{
	return c->field[MF_CHAR].text;
}

struct str
prompt_card_format(const struct json *doc)
{
	struct str spec = json_get_str(doc, "spec");

	return str_is(spec, "chara_card_v3") ? STR("v3") : str_is(spec, "chara_card_v2") ? STR("v2") : STR_NULL;
}

const struct lore_book *
prompt_card_book(const struct prompt_card *c)
{
	return c->book;
}

const struct regex_set *
prompt_card_scripts(const struct prompt_card *c)
{
	return c->scripts;
}

size_t
prompt_card_bytes(const struct prompt_card *c)
{
	return (c->scripts ? regex_set_bytes(c->scripts) : 0) + (c->book ? lore_book_bytes(c->book) : 0);
}

struct prompt_persona *
prompt_persona_compile(struct arena *a, const struct json *snapshot)
{
	struct prompt_persona *p = arena_new(a, struct prompt_persona);
	const struct json *own = snapshot ? json_copy(a, snapshot) : json_object(a), *data;
	enum macro_dialect d = MACRO_AUTO;

	data = json_get(own, "data") ? json_get(own, "data") : own;
	macro_dialect_parse(json_get_str(json_get(data, "extensions"), "conditional_dialect"), &d);
	p->name = loose_str(a, json_get(data, "name"), STR_NULL);
	for (size_t i = 0; i < COUNT(persona_fields); i++)
		p->field[persona_fields[i].field] = source_read(a,
		    persona_fields[i].in ? json_get(data, persona_fields[i].in) : data, persona_fields[i].keys, d, true);
	p->place = loose_int(loose_get(data, "position"), PERSONA_IN_PROMPT);
	p->depth = (int32_t)loose_int(json_get(data, "depth"), 2);
	p->role = loose_str(a, json_get(data, "role"), STR(""));
	return p;
}
