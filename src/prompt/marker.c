/*
 * marker: what the engine fills into the list: card fields (of one speaker or of a group), world
 * info, persona, author's note, nudges. Each text is evaluated at its place in SillyTavern's order
 * (decisions 35) and only if it is sent (decisions 34).
 */
#include "base/utf8.h"
#include "prompt/prompt_private.h"

struct str
marker_role(struct str written)
{
	static const char *const names[] = { "system", "user", "assistant" };

	if (written.n == 1 && written.p[0] >= '0' && written.p[0] <= '2')
		return str_c(names[written.p[0] - '0']);
	return written;
}

/* ---- card fields ---- */

static bool
joined(const struct build *b)
{
	return b->in->group && b->in->join != PROMPT_SWAP;
}

/* Does this member's card take part? */
static bool
takes_part(const struct build *b, size_t i)
{
	if (!joined(b))
		return i == b->in->speaker;
	return !b->members[i].muted || i == b->in->speaker || b->in->join == PROMPT_APPEND_MUTED;
}

/* The text that stands between members, with the field's name in it. */
static struct str
frame(struct build *b, size_t member, struct str text, const char *field)
{
	struct sb out = sb_new(b->a);
	struct str mark = STR("<FIELDNAME>");

	for (size_t i = 0; i < text.n;) {
		if (str_ieq(str_sub(text, i, i + mark.n), mark)) {
			sb_adds(&out, field);
			i += mark.n;
		} else
			sb_addc(&out, text.p[i++]);
	}
	if (out.n == 0)
		return STR("");
	return text_no_cr(b->a, macro_eval(b->run,
	    &(struct macro_piece){ .tpl = macro_compile(b->a, sb_str(&out), MACRO_AUTO), .owner = MACRO_FIELD, .member = &b->members[member] }));
}

/* The cards' texts line by line; a card without the field takes no part. */
static struct str
field_join(struct build *b, enum macro_field f, const char *name)
{
	struct sb out = sb_new(b->a);
	bool some = false;

	for (size_t i = 0; i < b->in->ncards; i++) {
		struct str prefix, value;

		if (!takes_part(b, i) || text_blank(b->members[i].field[f].text))
			continue;
		if (some)
			sb_addc(&out, '\n');
		some = true;
		prefix = frame(b, i, b->in->join_prefix, name);
		value = macro_run_field(b->run, &b->members[i], f);
		sb_add(&out, prefix);
		if (f == MF_EXAMPLES_RAW && !str_starts(value, STR("<START>")))
			sb_adds(&out, "<START>\n");
		sb_add(&out, text_no_cr(b->a, value));
		sb_add(&out, frame(b, i, b->in->join_suffix, name));
	}
	return sb_str(&out);
}

/* What the prompt and whoever names the field read: made once, when the first of them asks (decisions 34). */
bool
marker_joined(void *build, enum macro_field f, struct str *out)
{
	static const char *const names[MF_MEMBER__END] = { [MF_DESCRIPTION] = "Description", [MF_PERSONALITY] = "Personality",
		[MF_SCENARIO] = "Scenario", [MF_EXAMPLES_RAW] = "Example Messages" };
	struct build *b = build;

	if (!joined(b) || (names[f] == NULL && f != MF_EXAMPLES) || b->joined[f].own)
		return false;
	if (f == MF_EXAMPLES) {
		*out = card_examples(b->a, macro_run_field(b->run, NULL, MF_EXAMPLES_RAW));
		*out = out->p ? *out : STR("");
		return true;
	}
	if (!b->joined[f].made) {
		b->joined[f].own = true;
		b->joined[f].text = field_join(b, f, names[f]);
		b->joined[f].own = false;
		b->joined[f].made = true;
	}
	*out = b->joined[f].text;
	return true;
}

static struct str
field_text(struct build *b, enum macro_field f)
{
	return b->in->ncards ? text_no_cr(b->a, macro_run_field(b->run, NULL, f)) : STR("");
}

/* The dialogues; {{mesExamples}} prints what is sent. */
static void
examples_make(struct build *b)
{
	b->examples = field_text(b, MF_EXAMPLES_RAW);
	if (b->examples.n > 0 && !joined(b))
		b->members[b->in->speaker].field[MF_EXAMPLES] =
		    (struct macro_source){ .text = card_examples(b->a, b->examples), .expanded = true };
}

/* The card's text that replaces a row's; {{original}} becomes a mark that the row's text fills later. */
static struct str
override_text(struct build *b, enum macro_field f)
{
	struct macro_source *s = b->in->speaker < b->in->ncards ? &b->members[b->in->speaker].field[f] : NULL;
	struct str out;

	if (s == NULL || s->text.n == 0)
		return STR_NULL;
	out = macro_eval(b->run, &(struct macro_piece){ .tpl = s->tpl ? s->tpl : macro_compile(b->a, s->text, s->dialect),
	    .owner = MACRO_FIELD, .original = b->original });
	out = text_no_cr(b->a, out);
	*s = (struct macro_source){ .text = text_replace(b->a, out, b->original, STR(""), true), .expanded = true };
	return out;
}

static bool
overrides(const struct build *b, const char *identifier, bool must_run)
{
	const struct preset_row *r = order_row(b->preset, str_c(identifier));

	return r && r->enabled && !r->forbid && (!must_run || order_runs(b, r));
}

/* A muted member's depth note is not sent, even where the rest of the card is. */
void
marker_depth_notes(struct build *b)
{
	for (size_t i = 0; i < b->in->ncards; i++) {
		const struct prompt_card *c = b->in->cards[i];
		bool muted = b->members[i].muted && i != b->in->speaker;

		if (muted || !takes_part(b, i) || c->field[MF_DEPTH_NOTE].text.n == 0)
			continue;
		vec_push(b->a, &b->depth_notes, ((struct depth_note){ .text = text_no_cr(b->a, macro_run_field(b->run, &b->members[i], MF_DEPTH_NOTE)),
						    .role = marker_role(c->depth_role), .depth = c->depth }));
	}
}

struct str
marker_quiet(struct build *b)
{
	if (b->in->type != PROMPT_QUIET || b->in->quiet_prompt.n == 0)
		return STR("");
	if (b->quiet.p == NULL)
		b->quiet = text_eval_raw(b, b->in->quiet_prompt);
	return b->quiet;
}

/* Is the author's note due? Counted in user messages (st-assembly 1.11); every one = even before the first, as on the page. */
bool
marker_note_is_due(const struct build *b)
{
	int64_t users = b->in->users_before, every = b->note_set.interval;

	for (size_t i = 0; i < b->ntold; i++)
		users += b->told[i].role == PROMPT_USER;
	if (every == 1)
		return true;
	if (users == 0 || every <= 0)
		return false;
	return users >= every ? users % every == 0 : users == every;
}

void
marker_fields(struct build *b)
{
	const struct preset_row *examples = order_row(b->preset, STR("dialogueExamples"));

	b->note_due = marker_note_is_due(b);
	b->original = STR("\xef\xb7\x90o\xef\xb7\x91");
	if (overrides(b, "main", false))
		b->card_system = override_text(b, MF_SYSTEM);
	if (examples && order_runs(b, examples) && policy_takes(b, "examples"))
		examples_make(b);
	if (!order_off(b, "charDescription"))
		b->description = field_text(b, MF_DESCRIPTION);
	if (!order_off(b, "charPersonality"))
		b->personality = field_text(b, MF_PERSONALITY);
	if (!order_off(b, "scenario"))
		b->scenario = field_text(b, MF_SCENARIO);
	if (overrides(b, "jailbreak", true))
		b->card_post_history = override_text(b, MF_POST_HISTORY);
	marker_depth_notes(b);
}

/* ---- formats and nudges ---- */

void
marker_formats(struct build *b)
{
	const struct prompt_preset *p = b->preset;

	if (b->scenario.n > 0 && p->scenario_format.s.n > 0)
		b->scenario = text_eval(b, p->scenario_format);
	if (b->personality.n > 0 && p->personality_format.s.n > 0)
		b->personality = text_eval(b, p->personality_format);
	if (b->in->group && b->in->type != PROMPT_IMPERSONATE)
		b->group_nudge = text_eval(b, p->group_nudge);
	if (b->in->type == PROMPT_IMPERSONATE)
		b->impersonation = text_eval(b, p->impersonation);
	else
		b->impersonation = marker_quiet(b);
}

/* ---- what is evaluated after the list ---- */

static struct str
world_block(struct build *b, struct str text)
{
	const struct text *format = &b->preset->wi_format;

	if (text.n == 0 || text_blank(format->s))
		return text;
	return text_eval_with(b, *format, STR("{0}"), text);
}

/* Lore is glued to the note's text, and a persona that stands at the note around both. */
struct str
marker_note(struct build *b)
{
	const struct prompt_persona *p = b->in->persona;
	struct str note = b->note_set.text.n > 0 ? macro_run_field(b->run, NULL, MF_AUTHORS_NOTE) : STR("");

	if (b->lore)
		note = lore_note(b->a, b->lore, note);
	if (p && p->field[MF_PERSONA].text.n > 0 && p->place == PERSONA_NOTE_TOP)
		return str_c(arena_printf(b->a, "%.*s\n%.*s", STR_ARG(b->persona), STR_ARG(note)));
	if (p && p->field[MF_PERSONA].text.n > 0 && p->place == PERSONA_NOTE_BOTTOM)
		return str_c(arena_printf(b->a, "%.*s\n%.*s", STR_ARG(note), STR_ARG(b->persona)));
	return note;
}

void
marker_late(struct build *b)
{
	const struct prompt_persona *p = b->in->persona;
	const struct lore_result *w = b->lore;
	bool at_note = p && (p->place == PERSONA_NOTE_TOP || p->place == PERSONA_NOTE_BOTTOM);

	if (w && !order_off(b, "worldInfoBefore"))
		b->world_before = world_block(b, w->before);
	if (w && !order_off(b, "worldInfoAfter"))
		b->world_after = world_block(b, w->after);
	if (p && p->field[MF_PERSONA].text.n > 0 && p->place != PERSONA_NONE && (!at_note || b->note_due) &&
	    (p->place != PERSONA_IN_PROMPT || !order_off(b, "personaDescription")))
		b->persona = macro_run_field(b->run, NULL, MF_PERSONA);
	if (b->note_due)
		b->note = marker_note(b);
	b->new_chat = text_eval(b, b->in->group ? b->preset->new_group_chat : b->preset->new_chat);
	if (history_nudges(b))
		b->continue_nudge = text_eval_with(b, b->preset->continue_nudge, STR("{{lastChatMessage}}"),
		    b->continued ? utf8_trim(history_taken(b, b->continued)) : STR(""));
}
