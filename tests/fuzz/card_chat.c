/* Chats as JSON lines. */
#include "card/chat_file.h"
#include "card_fuzz.h"

/* Reads all and writes it again. */
static struct str
rewritten(struct arena *a, struct chat_reader *r)
{
	struct sb out = sb_new(a);
	struct chat_message m;

	if (r->header.doc)
		chat_write_header(&out, a, &r->header);
	while (chat_next(r, a, &m) > 0) {
		promise(m.n_swipes > 0 && m.active < m.n_swipes, "a message shows one of its swipes");
		promise(str_eq(m.swipes[m.active].text, m.text), "and that is its text");
		chat_write_message(&out, a, &m);
	}
	return sb_str(&out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_create("fuzz", 0);
	struct receipt notes = { .a = a };
	struct import_error err = { 0 };
	struct chat_reader r, again;
	struct str out;

	if (chat_open_text(a, (struct str){ (const char *)data, size }, &notes, &r, &err) < 0) {
		promise_refusal(&err);
	} else if ((out = rewritten(a, &r)).n > 0) {
		promise(chat_open_text(a, out, NULL, &again, &err) == 0, "what was written can be read");
		promise(str_eq(rewritten(a, &again), out), "chat export is a fixed point");
		promise(again.messages == r.messages && again.skipped == 0, "no message is lost");
	}
	arena_destroy(&a);
	return 0;
}
