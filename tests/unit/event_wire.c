/* event: request heads, WebSocket frames and places as they come from outside; the datagram that wakes. */
#include "event/head.h"
#include "event/outbox.h"
#include "event/wake.h"
#include "event/ws.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static enum head_result
head_of(const char *text, struct head *h)
{
	return head_read(str_c(text), h);
}

static void
a_head_is_read(void **state)
{
	struct arena *a = arena_create("test", 0);
	struct head h;

	(void)state;
	assert_int_equal(head_of("GET /ws?session_id=a%2Fb&x=1+2&session_id=c HTTP/1.1\r\nHost: h\r\nUPGRADE: websocket\r\n"
				 "Connection: keep-alive, Upgrade\r\nSec-WebSocket-Key:  dGhlIHNhbXBsZSBub25jZQ== \r\nLast-Event-ID:\r\n\r\nrest", &h),
	    HEAD_GOOD);
	assert_true(str_is(h.path, "/ws"));
	assert_true(str_is(head_param(a, h.query, "session_id"), "c")); /* the last one, as everywhere */
	assert_true(str_is(head_param(a, h.query, "x"), "1 2"));
	assert_null(head_param(a, h.query, "y").p);
	assert_true(str_is(h.ws_key, "dGhlIHNhbXBsZSBub25jZQ=="));
	assert_true(head_has(h.connection, "upgrade"));
	assert_false(head_has(h.connection, "upgrad"));
	assert_true(h.last_event_id.p != NULL && h.last_event_id.n == 0);
	assert_null(h.origin.p);
	assert_true(str_is(ws_accept(a, h.ws_key), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")); /* RFC 6455 §1.3 */
	assert_null(ws_accept(a, STR("short")).p);
	assert_true(str_is(head_param(a, STR("a=%C3%A9"), "a"), "\xC3\xA9"));
	assert_null(head_param(a, STR("a=%C3"), "a").p);
	assert_null(head_param(a, STR("a=%0"), "a").p);
	assert_null(head_param(a, STR("a=x%00y"), "a").p);
	arena_destroy(&a);
}

static void
a_head_of_another_kind_is_refused(void **state)
{
	static const struct {
		const char *text;
		enum head_result want;
	} cases[] = {
		{ "GET / HTTP/1.1\r\n", HEAD_MORE },
		{ "POST / HTTP/1.1\r\n\r\n", HEAD_METHOD },
		{ "GET / HTTP/2\r\n\r\n", HEAD_BAD },
		{ "GET  / HTTP/1.1\r\n\r\n", HEAD_BAD },
		{ "GET http://h/ HTTP/1.1\r\n\r\n", HEAD_BAD },
		{ "GET / HTTP/1.1\nHost: h\r\n\r\n", HEAD_BAD },
		{ "GET / HTTP/1.1\r\nHost: h\r\n folded\r\n\r\n", HEAD_BAD },
		{ "GET / HTTP/1.1\r\nHost : h\r\n\r\n", HEAD_BAD },
		{ "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", HEAD_BAD },
		{ "GET / HTTP/1.1\r\nOrigin: a\rb\r\n\r\n", HEAD_BAD },
		{ "\r\n\r\n", HEAD_BAD },
	};
	struct head h;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(head_of(cases[i].text, &h), cases[i].want);
	assert_int_equal(head_of("GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\nabcde", &h), HEAD_GOOD);
	assert_true(h.has_body);
	assert_int_equal(head_read((struct str){ "GET /\0 HTTP/1.1\r\n\r\n", 19 }, &h), HEAD_BAD);
}

/* A client's frame. */
static size_t
frame(uint8_t *to, unsigned first, const char *payload, size_t n)
{
	static const uint8_t mask[4] = { 1, 2, 3, 200 };
	size_t at = 2;

	to[0] = (uint8_t)first;
	to[1] = (uint8_t)(0x80 | (n < 126 ? n : 126));
	if (n >= 126) {
		to[at++] = (uint8_t)(n >> 8);
		to[at++] = (uint8_t)n;
	}
	memcpy(to + at, mask, 4);
	at += 4;
	for (size_t i = 0; i < n; i++)
		to[at + i] = (uint8_t)payload[i] ^ mask[i % 4];
	return at + n;
}

static void
frames_come_in_any_pieces(void **state)
{
	static const enum ws_said want[] = { WS_SAID_DATA, WS_SAID_PING, WS_SAID_DATA, WS_SAID_PONG, WS_SAID_CLOSE };
	char text[300];
	uint8_t bytes[1024];
	size_t n = 0;

	(void)state;
	memset(text, 'x', sizeof(text));
	n += frame(bytes + n, 0x01, text, sizeof(text)); /* a message in two frames, a ping between */
	n += frame(bytes + n, 0x89, "hello", 5);
	n += frame(bytes + n, 0x80, "", 0);
	n += frame(bytes + n, 0x8A, text, 125);
	n += frame(bytes + n, 0x88, "\x03\xE9" "bye", 5);
	for (size_t step = 1; step < n; step = step * 2 + 1) {
		struct ws_in w = { 0 };
		enum ws_code code = WS_NORMAL;
		size_t at = 0, seen = 0;

		while (at < n) {
			size_t end = at + step < n ? at + step : n;

			while (at < end) {
				size_t used;
				enum ws_said said = ws_read(&w, bytes + at, end - at, &used, &code);

				at += used;
				if (said == WS_SAID_NOTHING)
					continue;
				assert_int_equal(said, want[seen]);
				if (said == WS_SAID_PING)
					assert_true(str_is((struct str){ w.control, w.n_control }, "hello"));
				assert_int_equal(ws_idle(&w), seen >= 2);
				seen++;
			}
		}
		assert_int_equal(seen, 5);
		assert_int_equal(code, 1001);
	}
}

static void
unlawful_frames_are_faults(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		enum ws_code code;
	} cases[] = {
		{ "\x81\x01x", 3, WS_PROTOCOL },                            /* not masked */
		{ "\xC1\x80", 2, WS_PROTOCOL },                             /* a reserved bit */
		{ "\x83\x80", 2, WS_PROTOCOL },                             /* an unknown opcode */
		{ "\x8B\x80", 2, WS_PROTOCOL },
		{ "\x09\x80", 2, WS_PROTOCOL },                             /* a ping in pieces */
		{ "\x89\xFE", 2, WS_PROTOCOL },                             /* a long ping */
		{ "\x80\x80", 2, WS_PROTOCOL },                             /* goes on with nothing */
		{ "\x01\x80\0\0\0\0\x81\x80", 8, WS_PROTOCOL },             /* a new message inside one */
		{ "\x88\x81\0\0\0\0x", 7, WS_PROTOCOL },                    /* half a code */
		{ "\x88\x82\0\0\0\0\x03\xED", 8, WS_PROTOCOL },             /* 1005 */
		{ "\x88\x83\0\0\0\0\x03\xE8\xFF", 9, WS_TEXT_BAD },
		{ "\x82\xFF\0\0\0\1\0\0\0\0\0\0\0\0", 14, WS_TOO_BIG },
		{ "\x82\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\0\0\0\0", 14, WS_TOO_BIG },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ws_in w = { 0 };
		enum ws_code code = WS_NORMAL;
		enum ws_said said = WS_SAID_NOTHING;
		size_t used;

		for (size_t at = 0; at < cases[i].n && said != WS_SAID_FAULT; at += used)
			said = ws_read(&w, (const uint8_t *)cases[i].bytes + at, cases[i].n - at, &used, &code);
		assert_int_equal(said, WS_SAID_FAULT);
		assert_int_equal(code, cases[i].code);
	}
}

static void
our_frames_have_their_length(void **state)
{
	static const size_t sizes[] = { 0, 125, 126, 65535, 65536 };
	struct arena *a = arena_create("test", 0);

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		struct sb sb = sb_new(a);
		size_t head = sizes[i] < 126 ? 2 : sizes[i] < 65536 ? 4 : 10;

		ws_add_frame(&sb, WS_TEXT, (struct str){ arena_alloc(a, sizes[i] + 1), sizes[i] });
		assert_int_equal(sb.n, head + sizes[i]);
		assert_int_equal((uint8_t)sb.p[0], 0x81);
		assert_int_equal((uint8_t)sb.p[1], sizes[i] < 126 ? sizes[i] : sizes[i] < 65536 ? 126 : 127);
	}
	arena_destroy(&a);
}

static void
places_are_read_as_they_are_shown(void **state)
{
	static const char *const good[] = { "1.2", "18446744073709551615.9223372036854775807", "7.0.3" };
	static const char *const bad[] = { "", "1", "1.", ".1", "-1.2", "1.2.", "1.2.x", "18446744073709551616.1", "1.9223372036854775808", "1.2.70000", "1.2.3.4" };
	struct arena *a = arena_create("test", 0);
	struct event_pos p;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct sb sb = sb_new(a);

		assert_true(event_pos_parse(str_c(good[i]), &p));
		event_pos_add(&sb, p);
		assert_string_equal(sb_c(&sb), good[i]);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(event_pos_parse(str_c(bad[i]), &p));
	assert_true(event_pos_cmp((struct event_pos){ 1, 9, 0 }, (struct event_pos){ 2, 1, 0 }) < 0);
	assert_true(event_pos_cmp((struct event_pos){ 2, 2, 0 }, (struct event_pos){ 2, 1, 0 }) > 0);
	arena_destroy(&a);
}

static void
a_datagram_wakes_who_listens(void **state)
{
	struct arena *a = arena_create("test", 0);
	char dir[] = "/tmp/tavern-wake-XXXXXX";
	struct waker *w;
	struct wake m;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	w = waker_create(a, dir);
	wake_send(w, WAKE_ROWS, 1, 0); /* nobody: nothing happens */
	fd = wake_listen(dir);
	assert_true(fd >= 0);
	assert_false(wake_receive(fd, &m));
	wake_send(w, WAKE_RUN, 7, 1234567890123);
	assert_true(wake_receive(fd, &m));
	assert_int_equal(m.kind, WAKE_RUN);
	assert_int_equal(m.account_no, 7);
	assert_true(m.run_no == 1234567890123);
	for (int i = 0; i < 5000; i++) /* a reader that is busy stops nobody */
		wake_send(w, WAKE_ROWS, i, 0);
	wake_unlisten(dir, fd);
	assert_int_equal(rmdir(dir), 0);
	arena_destroy(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_head_is_read),
		cmocka_unit_test(a_head_of_another_kind_is_refused),
		cmocka_unit_test(frames_come_in_any_pieces),
		cmocka_unit_test(unlawful_frames_are_faults),
		cmocka_unit_test(our_frames_have_their_length),
		cmocka_unit_test(places_are_read_as_they_are_shown),
		cmocka_unit_test(a_datagram_wakes_who_listens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
