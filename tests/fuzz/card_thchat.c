/* .thchat files, and any text as SillyTavern's lines: floors in, floors out. */
#include "card/chat.h"
#include "card_fuzz.h"

static void
thchat(struct arena *a, struct str bytes)
{
	struct import_error err = { 0 };
	struct pieces text;
	struct thchat t, again;
	struct chat_floor f;
	struct sb out = sb_new(a), twice = sb_new(a);
	int rc;

	if (thchat_open_text(a, bytes, &t, &err) < 0) {
		promise_refusal(&err);
		return;
	}
	while ((rc = thchat_next(a, &t, &f, &err)) > 0) {
		sb_addc(&out, out.n ? ',' : '[');
		thchat_write_floor(&out, a, &f);
	}
	if (rc < 0) {
		promise_refusal(&err);
		return;
	}
	sb_adds(&out, out.n ? "]" : "[]");
	text = pieces_of(sb_str(&out));
	again = (struct thchat){ .text = &text };
	while ((rc = thchat_next(a, &again, &f, &err)) > 0) {
		sb_addc(&twice, twice.n ? ',' : '[');
		thchat_write_floor(&twice, a, &f);
	}
	sb_adds(&twice, twice.n ? "]" : "[]");
	promise(rc == 0, "what was written can be read");
	promise(str_eq(sb_str(&out), sb_str(&twice)), "floors are a fixed point");
}

static void
lines(struct arena *a, struct str bytes)
{
	struct import_error err = { 0 };
	struct chat_reader r;
	struct chat_names names;
	struct chat_floor f;
	struct sb out = sb_new(a);
	size_t floors = 0;

	if (chat_open_text(a, bytes, NULL, &r, &err) < 0)
		return;
	names = chat_names(a, &r);
	for (; chat_next_floor(&r, a, &f) > 0; floors++)
		chat_write_floor(&out, a, &f, &names);
	promise(floors <= r.messages && r.messages <= 2 * floors, "a floor is one line or two");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_create("fuzz", 0);
	struct str bytes = { (const char *)data, size };

	thchat(a, bytes);
	lines(a, bytes);
	arena_destroy(&a);
	return 0;
}
