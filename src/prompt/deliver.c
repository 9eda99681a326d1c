/*
 * deliver: what depends on how the provider takes a prompt: the text a reply must start with, and
 * whose message must stand last. What cannot be had is named as a degradation.
 */
#include "prompt/prompt_private.h"

/* A source that takes a prefill continues an assistant message that stands last (st-assembly 1.7). */
static bool
takes_prefill(const struct build *b)
{
	return str_is(b->preset->source, "claude");
}

static void
degrade(struct build *b, const char *reason)
{
	vec_push(b->a, &b->degraded, reason);
}

static bool
flag(const struct build *b, const char *key, bool dflt)
{
	return json_bool(policy_get(b, "delivery", key), dflt);
}

static void
prefill(struct build *b)
{
	const struct text *t = b->in->type == PROMPT_IMPERSONATE ? &b->preset->impersonation_prefill : &b->preset->prefill;

	b->prefill_strategy = "none";
	if (t->s.n == 0 || !takes_prefill(b) || (b->continued && b->preset->continue_prefill))
		return;
	b->prefill_requested = true;
	if (!flag(b, "allow_assistant_prefill", true))
		degrade(b, "assistant_prefill_disabled");
	else if (flag(b, "no_assistant", false))
		degrade(b, "no_assistant_override");
	else if (flag(b, "require_last_user", false))
		degrade(b, "require_last_user");
	else {
		b->out->prefill = text_eval(b, *t);
		b->prefill_strategy = "provider_native";
	}
}

void
deliver(struct build *b, struct items *list)
{
	bool user_last = list->v.n > 0 && str_is(vec_last(&list->v)->role, "user");
	struct item ask = { .role = STR("user"), .source = "placeholder" };

	prefill(b);
	if (user_last || !flag(b, "require_last_user", false))
		return;
	ask.content = b->in->placeholder.p ? b->in->placeholder : STR("[Start a new chat]");
	ask.tokens = item_tokens(b, &ask);
	vec_push(b->a, &list->v, ask);
}
