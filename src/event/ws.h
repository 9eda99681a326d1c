/*
 * ws: WebSocket frames (RFC 6455) of a server that only speaks: what clients send is checked and skipped, except for
 * control frames. Pure. Ours because a listener that says nothing may cost a few bytes only: the library that would fit
 * keeps 8 KB for each.
 */
#ifndef EVENT_WS_H
#define EVENT_WS_H

#include "base/sb.h"

#define WS_CONTROL_MAX 125
#define WS_FRAME_MAX (1u << 20) /* of what a client says, which nobody reads */

enum ws_opcode { WS_CONT = 0, WS_TEXT = 1, WS_BINARY = 2, WS_CLOSE = 8, WS_PING = 9, WS_PONG = 10 };

enum ws_code {
	WS_NORMAL = 1000,
	WS_AWAY = 1001,      /* the server stops */
	WS_PROTOCOL = 1002,
	WS_NO_CODE = 1005,   /* a close without one; never sent */
	WS_TEXT_BAD = 1007,
	WS_POLICY = 1008,    /* may not listen any more */
	WS_TOO_BIG = 1009,
	WS_RESTART = 1012,   /* come back at once */
	WS_AGAIN_LATER = 1013,
};

/* Where the bytes of one client stand. Zeroed = between messages. */
struct ws_in {
	uint8_t head[14], n_head;
	uint8_t n_control, opcode;
	bool in_message;     /* a fragmented message goes on */
	uint64_t left;       /* payload bytes of this frame that have not come */
	uint64_t payload;    /* of this frame in all */
	char control[WS_CONTROL_MAX];
};

enum ws_said { WS_SAID_NOTHING /* the bytes are used up */, WS_SAID_DATA, WS_SAID_PING, WS_SAID_PONG, WS_SAID_CLOSE, WS_SAID_FAULT };

/*
 * Takes bytes to the end of one frame, *used of them. Of a ping, pong or close the payload is in w->control; *code is
 * what to close with, of a close (as the client said) or a fault. After these two nothing may follow.
 */
enum ws_said ws_read(struct ws_in *w, const uint8_t *p, size_t n, size_t *used, enum ws_code *code);
bool ws_idle(const struct ws_in *w); /* between messages: need not be kept */

void ws_add_frame(struct sb *out, enum ws_opcode op, struct str payload);
void ws_add_close(struct sb *out, enum ws_code code, const char *reason); /* reason <= 123 bytes */
/* The answer to Sec-WebSocket-Key; STR_NULL if that is no key. */
struct str ws_accept(struct arena *a, struct str key);

#endif
