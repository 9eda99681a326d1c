/*
 * trace: the reasons of an assembly as JSON, in the wire's names.
 */
#include "prompt/prompt_private.h"

static void
section_json(struct build *b, const struct section *s)
{
	struct json *o = json_push_object(b->out->sections);
	int64_t tokens = 0;

	for (size_t i = 0; i < s->items.v.n; i++)
		tokens += s->items.v.v[i].tokens;
	json_set_str(o, "identifier", s->identifier);
	json_set_str(o, "role", s->items.v.n ? s->items.v.v[0].role : STR_NULL);
	json_set_int(o, "tokens", tokens);
	json_set_bool(o, "included", s->items.v.n > 0);
	json_set_c(o, "reason", s->reason);
}

static void
lore_json(struct build *b)
{
	const struct lore_result *r = b->lore;

	for (size_t i = 0; r && i < r->nactive; i++) {
		struct json *o = json_push_object(b->out->activated);

		json_set_int(o, "uid", r->active[i].entry->uid);
		json_set_str(o, "worldbook_name", lore_book_name(r->active[i].book));
	}
}

void
trace_fill(struct build *b)
{
	b->out->sections = json_array(b->a);
	b->out->activated = json_array(b->a);
	b->out->worldbook_matches = json_array(b->a);
	b->out->trace = json_object(b->a);
	for (size_t i = 0; i < b->sections.n; i++)
		section_json(b, &b->sections.v[i]);
	lore_json(b);
}
