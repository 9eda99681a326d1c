/*
 * history: the chat as it is sent: names, injections, the newest messages that fit, separator and
 * nudges (st-assembly 1.6, 1.7, 1.10; decisions 20, 52).
 */
#include "prompt/prompt_private.h"

#define NAME_MAX_SENT 64

static bool
name_in_front(const struct build *b, const struct told *t)
{
	switch (b->preset->names) {
	case 2:
		return t->role != PROMPT_NARRATOR;
	case 0:
		return (b->in->group && !str_eq(t->name, b->user)) || (t->m->named && !str_eq(t->name, b->user) && t->role != PROMPT_NARRATOR);
	default:
		return false;
	}
}

/* A name as the provider takes it. */
static struct str
name_field(struct arena *a, struct str name)
{
	struct sb out = sb_new(a);
	size_t at = 0;

	while (at < name.n && out.n < NAME_MAX_SENT) {
		char c = name.p[at];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';

		sb_addc(&out, plain ? c : '_');
		/* a pair of UTF-16 halves is two characters there */
		if ((unsigned char)c >= 0xf0 && out.n < NAME_MAX_SENT)
			sb_addc(&out, '_');
		for (at++; at < name.n && ((unsigned char)name.p[at] & 0xc0) == 0x80; at++)
			;
	}
	return sb_str(&out);
}

static struct str
expanded_text(struct build *b, const struct told *t)
{
	struct sb out;
	size_t from = 0;

	if (!t->expand)
		return t->sent;
	if (!t->has_own)
		return input_expand(b, t, t->sent);
	out = sb_new(b->a);
	for (size_t i = 0; i < t->own.part.n; i++) {
		struct regex_span p = t->own.part.v[i];

		sb_add(&out, str_sub(t->sent, from, p.from));
		sb_add(&out, input_expand(b, t, str_sub(t->sent, p.from, p.to)));
		from = p.to;
	}
	sb_add(&out, str_sub(t->sent, from, t->sent.n));
	return sb_str(&out);
}

static struct line
line_of(struct build *b, const struct told *t)
{
	struct line l = { .role = input_role(t->role), .told = t };

	if (b->preset->names == 1 && b->in->names_in_messages_supported)
		l.name = name_field(b->a, t->name);
	return l;
}

/* A model's message with its own macros run, once; what scripts put in stays. */
struct str
history_taken(struct build *b, const struct told *t)
{
	struct told *own = &b->told[t - b->told];

	if (own->taken.p == NULL)
		own->taken = expanded_text(b, t);
	return own->taken;
}

/* What is sent of a message: its text expanded now, its name in front, no CR. */
static struct str
line_text(struct build *b, const struct line *l)
{
	const struct told *t = l->told;
	struct str text;

	if (t == NULL)
		return l->content;
	text = history_taken(b, t);
	if (name_in_front(b, t))
		text = str_c(arena_printf(b->a, "%.*s: %.*s", STR_ARG(t->name), STR_ARG(text)));
	return text_no_cr(b->a, text);
}

static struct item
line_item(struct build *b, const struct line *l)
{
	struct item it = { .role = l->role, .content = line_text(b, l), .name = l->name, .flags = l->told ? 0 : ITEM_INJECTED,
		.message_no = l->told ? l->told->m->no : 0, .source = "chatHistory" };

	/* the count that was stored holds while nothing touched the text */
	if (l->told && l->told->same && str_eq(it.content, l->told->text))
		it.tokens = l->told->m->tokens + b->in->tokens_per_message;
	else
		it.tokens = item_tokens(b, &it);
	return it;
}

void
history_take_one(struct build *b, const struct line *l, struct items *out)
{
	vec_push(b->a, &out->v, line_item(b, l));
}

void
history_lines(struct build *b, struct lines *out)
{
	for (size_t i = b->ntold; i > 0; i--)
		vec_push(b->a, &out->v, line_of(b, &b->told[i - 1]));
}

static struct item
system_line(struct build *b, struct str text, const char *source)
{
	struct item it = { .role = STR("system"), .content = text, .flags = ITEM_ALONE, .source = source };

	it.tokens = item_tokens(b, &it);
	return it;
}

/* Takes the newest lines that fit, newest first; a message that does not fit ends it. */
static void
take(struct build *b, struct lines *chat, struct items *out)
{
	bool newest = true;

	for (size_t i = 0; i < chat->v.n; i++) {
		const struct line *l = &chat->v.v[i];
		struct item it = line_item(b, l);

		if (!budget_takes(b, it.tokens)) {
			b->refused |= newest;
			return;
		}
		newest &= l->told == NULL;
		b->taken += l->told != NULL;
		if (it.content.n > 0)
			vec_push(b->a, &out->v, it);
	}
}

/* Is the model told to go on? Not if nothing stands there, not even what goes between. */
bool
history_nudges(const struct build *b)
{
	return b->in->type == PROMPT_CONTINUE && !b->preset->continue_prefill &&
	    (b->preset->continue_postfix.n > 0 || (b->continued && b->continued->sent.n > 0));
}

/* The message to go on with leaves its place and stands with the nudge at the very end. */
static void
continued_move(struct build *b, struct lines *chat)
{
	for (size_t i = 0; i < chat->v.n; i++) {
		struct item it;

		if (chat->v.v[i].told == NULL)
			continue;
		it = line_item(b, &chat->v.v[i]);
		it.name = STR_NULL;
		it.source = "continueNudge";
		vec_push(b->a, &b->control.v, it);
		memmove(&chat->v.v[i], &chat->v.v[i + 1], (chat->v.n - i - 1) * sizeof(*chat->v.v));
		chat->v.n--;
		break;
	}
	vec_push(b->a, &b->control.v, system_line(b, b->continue_nudge, "continueNudge"));
	vec_last(&b->control.v)->flags = 0;
	b->nudge_applied = arena_strdup(b->a, b->continue_nudge);
	for (size_t i = 0; i < b->control.v.n; i++)
		budget_must(b, b->control.v.v[i].tokens);
}

static void
tail_add(struct build *b, struct lines *chat, struct items *tail)
{
	struct item empty = { .role = STR("user"), .content = b->preset->send_if_empty, .source = "emptyUserMessageReplacement" };

	empty.tokens = item_tokens(b, &empty);
	if (chat->v.n > 0 && str_is(chat->v.v[0].role, "assistant") && empty.content.n > 0 && budget_takes(b, empty.tokens))
		vec_push(b->a, &tail->v, empty);
}

void
history_section(struct build *b, struct lines *chat)
{
	size_t at = order_index(b, "chatHistory");
	struct items newest_first = { 0 }, tail = { 0 };
	struct item head, nudge;
	struct section *s;

	if (at == SIZE_MAX)
		return;
	s = &b->sections.v[at];
	s->items = (struct items){ 0 };
	head = system_line(b, b->new_chat, "newMainChat");
	budget_must(b, head.tokens);
	nudge = system_line(b, b->group_nudge, "groupNudge");
	if (b->group_nudge.n > 0)
		budget_must(b, nudge.tokens);
	if (history_nudges(b))
		continued_move(b, chat);
	tail_add(b, chat, &tail);
	take(b, chat, &newest_first);
	if (head.content.n > 0)
		vec_push(b->a, &s->items.v, head);
	for (size_t i = newest_first.v.n; i > 0; i--)
		vec_push(b->a, &s->items.v, newest_first.v.v[i - 1]);
	for (size_t i = 0; i < tail.v.n; i++)
		vec_push(b->a, &s->items.v, tail.v.v[i]);
	if (nudge.content.n > 0)
		vec_push(b->a, &s->items.v, nudge);
}

void
history_plain(struct build *b, struct lines *chat, struct items *out)
{
	struct items newest_first = { 0 };

	take(b, chat, &newest_first);
	for (size_t i = newest_first.v.n; i > 0; i--)
		vec_push(b->a, &out->v, newest_first.v.v[i - 1]);
}
