/*
 * reply: what is kept of a model's reply for later prompts, as SillyTavern cleans it before it stores it: no blanks before
 * a line's end, no lines that speak for somebody else, no own name in front, nothing around it. Knows no prompt.
 */
#include "base/utf8.h"
#include "prompt/prompt_private.h"

static bool
ends_line(struct str s, size_t at)
{
	size_t next = at;
	uint32_t r;

	if (at == s.n)
		return true;
	r = utf8_next(s, &next);
	return r == '\n' || r == '\r' || r == 0x2028 || r == 0x2029;
}

/* Blanks but CR and LF go where a line ends behind them. */
static struct str
lines_trim(struct arena *a, struct str s)
{
	struct sb out = sb_new(a);
	size_t blanks = 0, at = 0; /* where the run of blanks before `at` begins */

	while (at < s.n) {
		size_t from = at;
		uint32_t r = utf8_next(s, &at);

		if (r != '\n' && r != '\r' && rune_is_space(r))
			continue;
		if (!ends_line(s, from))
			sb_add(&out, str_sub(s, blanks, from));
		sb_add(&out, str_sub(s, from, at));
		blanks = at;
	}
	return sb_str(&out);
}

/* Where "name:" stands at the begin of a line, from `from` on; STR_NPOS = nowhere. */
static size_t
speaks(struct str s, struct str name, size_t from)
{
	size_t at = name.n ? str_find(s, name, from) : STR_NPOS;

	while (at != STR_NPOS && !((at == 0 || s.p[at - 1] == '\n') && at + name.n < s.n && s.p[at + name.n] == ':'))
		at = str_find(s, name, at + 1);
	return at;
}

static struct str
cut_speaker(struct str s, struct str name)
{
	size_t at = speaks(s, name, 0);

	return at == STR_NPOS ? s : str_sub(s, 0, at > 0 ? at - 1 : 0);
}

/* Takes the speaker's own name off the lines that begin with it, with the blanks behind it. */
static struct str
name_off(struct arena *a, struct str s, struct str name)
{
	struct sb out = sb_new(a);
	size_t from = 0, at;

	while ((at = speaks(s, name, from)) != STR_NPOS) {
		sb_add(&out, str_sub(s, from, at));
		from = at + name.n + 1;
		for (at = from; at < s.n && rune_is_space(utf8_next(s, &at)); from = at)
			;
	}
	sb_add(&out, str_sub(s, from, s.n));
	return sb_str(&out);
}

struct str
reply_clean(struct build *b, struct str reply)
{
	const struct prompt_input *in = b->in;
	bool as_user = in->type == PROMPT_IMPERSONATE;
	struct str own = in->speaker < in->ncards ? prompt_card_name(in->cards[in->speaker]) : STR("");
	struct str s = cut_speaker(lines_trim(b->a, reply), as_user ? own : b->user);

	for (size_t i = 0; in->group && i < in->ncards; i++)
		if (!str_eq(prompt_card_name(in->cards[i]), own))
			s = cut_speaker(s, prompt_card_name(in->cards[i]));
	s = utf8_trim(name_off(b->a, s, as_user ? b->user : own));
	return s.n > 0 ? s : reply; /* a reply is never lost */
}
