/*
 * echo: the provider without a model. It says what it is and what reached it, in small pieces like a real
 * stream, and always the same for the same request. Its answer takes the way of a chat-completions server's,
 * without a network.
 */
#include "llm/call.h"

#include "base/limits.h"
#include "base/utf8.h"

enum { PIECE = 12, PIECE_MS = 8, QUOTE_MAX = 600 };

static struct str
last_user_text(const struct llm_request *q)
{
	for (size_t i = q->message_n; i-- > 0;)
		if (strcmp(q->messages[i].role, "user") == 0)
			return str_trim(q->messages[i].content);
	return STR("");
}

void
echo_prepare(struct llm_call *call, const struct llm_request *q)
{
	struct str said = utf8_clean(call->a, last_user_text(q)), shown = str_sub(said, 0, QUOTE_MAX);
	struct sb s = sb_new(call->a);
	size_t chars = 0;

	for (size_t i = 0; i < q->message_n; i++)
		chars += utf8_runes(q->messages[i].content);
	shown = str_sub(shown, 0, utf8_whole(shown));
	if (shown.n > 0)
		sb_addf(&s, "You said: \xe2\x80\x9c%.*s%s\xe2\x80\x9d\n\n", STR_ARG(shown),
		    shown.n < said.n ? "\xe2\x80\xa6" : "");
	sb_addf(&s,
	    "I am the echo: no language model is connected yet, so this is all I can say. Your prompt "
	    "arrived whole, "
	    "%zu message%s with %zu characters. Set llm_provider, llm_base_url and llm_model, and a real "
	    "voice will answer here.",
	    q->message_n, q->message_n == 1 ? "" : "s", chars);
	call->echo = sb_str(&s);
	if (!q->stream)
		call->echo_at = call->echo.n; /* no pieces: all at once */
}

static void
say(struct llm_call *call, struct str text, bool last)
{
	struct sb s = sb_new(call->a);

	sb_adds(&s, "data: {\"model\":\"echo\",\"choices\":[{\"index\":0,\"delta\":{\"content\":");
	sb_add_json(&s, text);
	sb_addf(&s, "},\"finish_reason\":%s}]}\n\n%s", last ? "\"stop\"" : "null",
	    last ? "data: [DONE]\n\n" : "");
	answer_feed(&call->an, sb_str(&s));
}

/* The end of the next piece: at least PIECE bytes, up to a blank, never inside a character. */
static size_t
piece_end(struct str s, size_t from)
{
	size_t at = from + PIECE < s.n ? from + PIECE : s.n;

	while (at < s.n && s.p[at] != ' ' && at < from + 2 * PIECE)
		at++;
	while (at < s.n && ((unsigned char)s.p[at] & 0xc0) == 0x80)
		at++;
	return at;
}

static void
on_tick(void *arg)
{
	struct llm_call *call = arg;
	size_t end = piece_end(call->echo, call->echo_at);
	bool last = end == call->echo.n;

	call->timer = 0;
	say(call, str_sub(call->echo, call->echo_at, end), last);
	call->echo_at = end;
	if (!last && call->an.error.kind == LLM_OK) {
		call->timer = loop_timer(call->m->loop, PIECE_MS, on_tick, call);
		return;
	}
	call_deliver(call);
	echo_stop(call);
}

void
echo_start(struct llm_call *call)
{
	struct answer_begin_head head = { .status = 200, .content_type = STR("text/event-stream") };

	answer_begin_head(&call->an, &head);
	if (call->echo_at > 0) {
		say(call, call->echo, true);
		call_deliver(call);
		echo_stop(call);
	} else {
		on_tick(call);
	}
}

void
echo_stop(struct llm_call *call)
{
	if (call->timer)
		loop_timer_cancel(call->m->loop, call->timer);
	call->timer = 0;
	call_release(call);
}
