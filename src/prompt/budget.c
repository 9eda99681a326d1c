/*
 * budget: tokens that messages may use, in SillyTavern's order of spending (st-assembly 1.10).
 * What must be sent and does not fit refuses the whole prompt (decisions 20).
 */
#include "prompt/prompt_private.h"

/* SillyTavern's settings of a preset that says nothing. */
enum { DEFAULT_CONTEXT = 4095, DEFAULT_REPLY = 300 };

void
budget_begin(struct build *b)
{
	b->context = b->in->max_context > 0 ? b->in->max_context : b->preset->context > 0 ? b->preset->context : DEFAULT_CONTEXT;
	b->reply = b->in->max_reply > 0 ? b->in->max_reply : b->preset->reply > 0 ? b->preset->reply : DEFAULT_REPLY;
	b->budget = b->context - b->reply;
	b->left = b->budget - b->in->tokens_reserved;
	b->over = b->left < 0;
	b->out->budget = b->budget;
}

bool
budget_takes(struct build *b, int64_t tokens)
{
	if (tokens > b->left)
		return false;
	b->left -= tokens;
	return true;
}

void
budget_must(struct build *b, int64_t tokens)
{
	b->left -= tokens;
	b->over |= b->left < 0;
}
