/*
 * order: the prompt list of a compat mode, as SillyTavern's prompt manager makes it: rows that run,
 * engine's blocks in their markers or appended, the card's overrides (st-assembly 1.2 to 1.5).
 */
#include "prompt/prompt_private.h"

const struct preset_row *
order_row(const struct prompt_preset *p, struct str identifier)
{
	for (size_t i = 0; i < p->nrows; i++)
		if (str_eq(p->rows[i].identifier, identifier))
			return &p->rows[i];
	return NULL;
}

bool
order_off(const struct build *b, const char *identifier)
{
	const struct preset_row *r = order_row(b->preset, str_c(identifier));

	return r && !r->enabled;
}

bool
order_runs(const struct build *b, const struct preset_row *r)
{
	return r->enabled && (!r->has_triggers || r->triggers & (1u << b->in->type));
}

size_t
order_index(const struct build *b, const char *identifier)
{
	for (size_t i = 0; i < b->slots.v.n; i++)
		if (str_is(b->slots.v.v[i].identifier, identifier))
			return i;
	return SIZE_MAX;
}

struct slot *
order_slot(struct build *b, const char *identifier)
{
	size_t i = order_index(b, identifier);

	return i == SIZE_MAX ? NULL : &b->slots.v.v[i];
}

static struct slot
slot_of(const struct preset_row *r)
{
	return (struct slot){ .identifier = r->identifier, .role = r->role, .row = r, .custom = r->custom, .in_chat = r->in_chat,
		.depth_number = r->depth_number, .depth = r->depth, .order = r->ordered ? r->order : 100 };
}

void
order_rows(struct build *b)
{
	for (size_t i = 0; i < b->preset->nrows; i++) {
		const struct preset_row *r = &b->preset->rows[i];
		struct slot s = slot_of(r);

		if (order_runs(b, r)) {
			explain_ifs_begin(b, r->identifier);
			s.content = text_eval(b, r->content);
			explain_ifs_end(b);
		} else if (r->enabled)
			vec_push(b->a, &b->filtered_ids, r->identifier);
		/* main stays as an anchor that prints nothing */
		if (order_runs(b, r) || str_is(r->identifier, "main"))
			vec_push(b->a, &b->slots.v, s);
	}
}

/* A block goes where the list has its marker, with what the row says about role and place; else to the end. */
static void
block_put(struct build *b, struct slot s)
{
	size_t i = order_index(b, arena_strdup(b->a, s.identifier));
	struct slot *at;

	s.order = 100;
	if (i == SIZE_MAX) {
		vec_push(b->a, &b->slots.v, s);
		return;
	}
	at = &b->slots.v.v[i];
	if (at->row && at->row->role.p)
		s.role = at->row->role;
	if (at->row) {
		s.in_chat = at->row->in_chat;
		s.depth_number = at->row->depth_number;
		s.depth = at->row->depth;
		s.order = at->row->ordered ? at->row->order : 100;
	}
	s.row = at->row;
	*at = s;
}

static void
override_put(struct build *b, const char *identifier, struct str text)
{
	struct slot *s = order_slot(b, identifier);

	if (s && text.n > 0)
		s->content = text_replace(b->a, text, b->original, s->content, true);
}

void
order_blocks(struct build *b)
{
	const struct prompt_persona *p = b->in->persona;
	const struct {
		const char *identifier;
		struct str content;
	} blocks[] = {
		{ "worldInfoBefore", b->world_before },
		{ "worldInfoAfter", b->world_after },
		{ "charDescription", b->description },
		{ "charPersonality", b->personality },
		{ "scenario", b->scenario },
	};

	for (size_t i = 0; i < COUNT(blocks); i++)
		block_put(b, (struct slot){ .identifier = str_c(blocks[i].identifier), .role = STR("system"), .content = blocks[i].content });
	if (b->note.n > 0 && b->note_set.place != PROMPT_IN_CHAT)
		block_put(b, (struct slot){ .identifier = STR("authorsNote"), .role = input_role(b->note_set.role), .content = b->note,
				 .attached = true, .place = b->note_set.place });
	if (b->persona.n > 0 && p->place == PERSONA_IN_PROMPT)
		block_put(b, (struct slot){ .identifier = STR("personaDescription"), .role = STR("system"), .content = b->persona });
	override_put(b, "main", b->card_system);
	override_put(b, "jailbreak", b->card_post_history);
}
