/* ws: see ws.h. */
#include "event/ws.h"

#include "base/digest.h"
#include "base/utf8.h"

#define MASK_BYTES 4

static enum ws_said
fault(enum ws_code *code, enum ws_code what)
{
	*code = what;
	return WS_SAID_FAULT;
}

static size_t
head_size(const struct ws_in *w)
{
	unsigned len = w->n_head < 2 ? 0 : w->head[1] & 127u;

	return w->n_head < 2 ? 2 : 2 + MASK_BYTES + (len == 127 ? 8 : len == 126 ? 2 : 0);
}

static uint64_t
head_length(const struct ws_in *w)
{
	unsigned len = w->head[1] & 127u, more = len == 127 ? 8 : len == 126 ? 2 : 0;
	uint64_t n = more ? 0 : len;

	for (unsigned i = 0; i < more; i++)
		n = n << 8 | w->head[2 + i];
	return n;
}

/* The two first bytes tell nearly everything that may be wrong with a frame. */
static bool
head_lawful(const struct ws_in *w)
{
	unsigned op = w->head[0] & 15u;
	bool fin = w->head[0] & 0x80, control = op >= WS_CLOSE;

	if ((w->head[0] & 0x70) || !(w->head[1] & 0x80)) /* no extension was agreed on; clients mask */
		return false;
	if (control)
		return op <= WS_PONG && fin && (w->head[1] & 127u) <= WS_CONTROL_MAX;
	return op <= WS_BINARY && (op == WS_CONT) == w->in_message;
}

static bool
code_lawful(unsigned code)
{
	return (code >= 1000 && code <= 1014 && code != 1004 && code != 1005 && code != 1006) || (code >= 3000 && code <= 4999);
}

static enum ws_said
close_read(const struct ws_in *w, enum ws_code *code)
{
	unsigned said = w->n_control < 2 ? (unsigned)WS_NO_CODE : (unsigned)((uint8_t)w->control[0] << 8 | (uint8_t)w->control[1]);

	if (w->n_control == 1 || (w->n_control >= 2 && !code_lawful(said)))
		return fault(code, WS_PROTOCOL);
	if (w->n_control > 2 && !utf8_valid((struct str){ w->control + 2, w->n_control - 2u }))
		return fault(code, WS_TEXT_BAD);
	*code = (enum ws_code)said;
	return WS_SAID_CLOSE;
}

/* The payload of this frame is complete. */
static enum ws_said
frame_end(struct ws_in *w, enum ws_code *code)
{
	bool fin = w->head[0] & 0x80;

	w->n_head = 0;
	switch (w->opcode) {
	case WS_CLOSE:
		return close_read(w, code);
	case WS_PING:
		return WS_SAID_PING;
	case WS_PONG:
		return WS_SAID_PONG;
	default:
		w->in_message = !fin;
		return WS_SAID_DATA;
	}
}

/* Collects the head; false: more is needed, or *said is a fault. */
static bool
head_take(struct ws_in *w, const uint8_t *p, size_t n, size_t *used, enum ws_said *said, enum ws_code *code)
{
	while (w->n_head < head_size(w)) {
		if (*used == n)
			return false;
		w->head[w->n_head++] = p[(*used)++];
		if (w->n_head == 2 && !head_lawful(w)) {
			*said = fault(code, WS_PROTOCOL);
			return false;
		}
	}
	return true;
}

/* See ws.h. */
enum ws_said
ws_read(struct ws_in *w, const uint8_t *p, size_t n, size_t *used, enum ws_code *code)
{
	enum ws_said said = WS_SAID_NOTHING;
	const uint8_t *mask;

	*used = 0;
	if (w->n_head == 0 || w->n_head < head_size(w)) {
		if (!head_take(w, p, n, used, &said, code))
			return said;
		w->opcode = w->head[0] & 15u;
		w->n_control = 0;
		w->left = w->payload = head_length(w);
		if (w->payload > WS_FRAME_MAX)
			return fault(code, WS_TOO_BIG);
	}
	mask = w->head + head_size(w) - MASK_BYTES;
	while (w->left > 0 && *used < n) {
		uint8_t byte = p[(*used)++];

		if (w->opcode >= WS_CLOSE)
			w->control[w->n_control++] = (char)(byte ^ mask[(w->payload - w->left) % MASK_BYTES]);
		w->left--;
	}
	return w->left > 0 ? WS_SAID_NOTHING : frame_end(w, code);
}

/* See ws.h. */
bool
ws_idle(const struct ws_in *w)
{
	return w->n_head == 0 && !w->in_message;
}

/* See ws.h. */
void
ws_add_frame(struct sb *out, enum ws_opcode op, struct str payload)
{
	sb_addc(out, (char)(0x80 | op));
	if (payload.n <= WS_CONTROL_MAX) {
		sb_addc(out, (char)payload.n);
	} else if (payload.n <= 0xFFFF) {
		sb_addc(out, 126);
		sb_addc(out, (char)(payload.n >> 8));
		sb_addc(out, (char)payload.n);
	} else {
		sb_addc(out, 127);
		for (int shift = 56; shift >= 0; shift -= 8)
			sb_addc(out, (char)((uint64_t)payload.n >> shift));
	}
	sb_add(out, payload);
}

/* See ws.h. */
void
ws_add_close(struct sb *out, enum ws_code code, const char *reason)
{
	struct sb s = sb_new(out->a);

	if (code != WS_NO_CODE) {
		sb_addc(&s, (char)(code >> 8));
		sb_addc(&s, (char)code);
		sb_adds(&s, reason);
	}
	ws_add_frame(out, WS_CLOSE, str_sub(sb_str(&s), 0, WS_CONTROL_MAX));
}

/* See ws.h. */
struct str
ws_accept(struct arena *a, struct str key)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	struct sb text = sb_new(a), out = sb_new(a);
	struct digest_sha1 d;

	if (key.n != 24 || key.p[22] != '=' || key.p[23] != '=')
		return STR_NULL;
	for (size_t i = 0; i < 22; i++)
		if (key.p[i] == '\0' || strchr(letters, key.p[i]) == NULL)
			return STR_NULL;
	sb_add(&text, key);
	sb_adds(&text, "258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
	d = digest_sha1(sb_str(&text));
	for (size_t i = 0; i < DIGEST_SHA1_BYTES; i += 3) {
		bool two = i + 2 == DIGEST_SHA1_BYTES; /* 20 bytes: the last group has two */
		uint32_t v = (uint32_t)d.b[i] << 16 | (uint32_t)d.b[i + 1] << 8 | (two ? 0u : d.b[i + 2]);

		sb_addc(&out, letters[v >> 18]);
		sb_addc(&out, letters[v >> 12 & 63]);
		sb_addc(&out, letters[v >> 6 & 63]);
		sb_addc(&out, two ? '=' : letters[v & 63]);
	}
	return sb_str(&out);
}
