/*
 * step: what a turn does to a chat around its prompt, as SillyTavern's page does it (st-assembly 1.7): what is typed, which
 * greeting comes next, how a reply goes on. Knows neither who stores the chat nor how.
 */
#include "prompt/prompt_private.h"

bool
prompt_says(enum prompt_type type, const struct prompt_preset *p, struct str typed)
{
	if (type != PROMPT_NORMAL && type != PROMPT_CONTINUE)
		return false;
	if (typed.n > 0)
		return true;
	return type == PROMPT_NORMAL && typed.p && p && !text_blank(p->send_if_empty);
}

static int64_t
greetings_of(const struct prompt_card *c)
{
	return (int64_t)c->ngreetings + (c->first_mes.n > 0);
}

bool
prompt_greeting_swipes(enum prompt_type type, const struct prompt_card *c, size_t nmessages, bool greeted, int64_t *choice)
{
	int64_t n = c ? greetings_of(c) : 0;

	if (type != PROMPT_SWIPE || !greeted || nmessages != 1 || n == 0)
		return false;
	*choice = (*choice + 1) % n;
	return true;
}

struct str
prompt_go_on(struct arena *a, const struct prompt_preset *p, struct str before, struct str said)
{
	struct str between = p ? p->continue_postfix : STR(" ");

	if (str_ends(before, STR(" ")))
		between = STR("");
	return str_c(arena_printf(a, "%.*s%.*s%.*s", STR_ARG(before), STR_ARG(between), STR_ARG(said)));
}
