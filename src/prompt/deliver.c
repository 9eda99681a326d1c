/*
 * deliver: what depends on how the provider takes a prompt: the text a reply must start with.
 */
#include "prompt/prompt_private.h"

/* A source that takes a prefill continues an assistant message that stands last (st-assembly 1.7). */
static bool
takes_prefill(const struct build *b)
{
	return str_is(b->preset->source, "claude");
}

void
deliver_prefill(struct build *b, struct items *list)
{
	const struct text *t = b->in->type == PROMPT_IMPERSONATE ? &b->preset->impersonation_prefill : &b->preset->prefill;

	(void)list;
	b->prefill_strategy = "none";
	if (t->s.n == 0 || !takes_prefill(b) || (b->continued && b->preset->continue_prefill))
		return;
	b->out->prefill = text_eval(b, *t);
	b->prefill_applied = b->out->prefill.n > 0;
	b->prefill_strategy = "provider_native";
}
