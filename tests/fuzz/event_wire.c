/*
 * event_wire: what a client of tavern-eventd may send. Frames must be read alike in one piece and byte by byte, and a head
 * that is taken must be one.
 */
#include "event/head.h"
#include "event/outbox.h"
#include "event/ws.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was said, as a number; stops at the end of the conversation. */
static uint64_t
listen_to(const uint8_t *p, size_t n, size_t step)
{
	struct ws_in w = { 0 };
	uint64_t heard = 1;

	for (size_t at = 0; at < n;) {
		size_t used, end = at + step < n ? at + step : n;
		enum ws_code code = WS_NORMAL;
		enum ws_said said = ws_read(&w, p + at, end - at, &used, &code);

		if (used == 0 || used > end - at)
			abort();
		at += used;
		if (said == WS_SAID_NOTHING)
			continue;
		heard = heard * 31 + said * 7 + code + w.n_control;
		if (w.n_control > WS_CONTROL_MAX)
			abort();
		if (said == WS_SAID_CLOSE || said == WS_SAID_FAULT)
			break;
	}
	return heard;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_create("fuzz", 0);
	struct str text = { (const char *)data, size };
	struct event_pos pos;
	struct head h;

	if (head_read(text, &h) == HEAD_GOOD) {
		struct str v = head_param(a, h.query, "session_id");

		if (h.path.n == 0 || h.path.p[0] != '/' || (v.p != NULL && memchr(v.p, '\0', v.n) != NULL))
			abort();
		ws_accept(a, h.ws_key);
		head_has(h.connection, "upgrade");
	}
	if (event_pos_parse(text, &pos)) {
		struct sb sb = sb_new(a);
		struct event_pos again;

		event_pos_add(&sb, pos);
		if (!event_pos_parse(sb_str(&sb), &again) || event_pos_cmp(pos, again) != 0 || pos.part != again.part)
			abort();
	}
	if (listen_to(data, size, size) != listen_to(data, size, 1))
		abort();
	arena_destroy(&a);
	return 0;
}
