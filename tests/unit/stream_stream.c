/* stream: order of text and events, whole characters, cursors, late and slow readers, desertion, lifetime. */
#include "stream/stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	struct stream_reader r; /* first: wake() is given this */
	struct loop *l;
	struct stream_pos pos;
	size_t max;
	char *out; /* what was read, as text */
	size_t n;
	int wakes;
	bool stop_at_last, done;
};

static void
put(struct reader *x, const char *p, size_t n)
{
	x->out = realloc(x->out, x->n + n + 1);
	assert_non_null(x->out);
	memcpy(x->out + x->n, p, n);
	x->n += n;
	x->out[x->n] = '\0';
}

static void
read_all(struct reader *x, struct stream *s)
{
	struct stream_item it;

	while (stream_next(s, x->pos, x->max, &it)) {
		x->pos = it.after;
		if (it.kind == STREAM_EVENT) {
			put(x, "[", 1);
			put(x, it.name, strlen(it.name));
			put(x, " ", 1);
			put(x, it.data.p, it.data.n);
			put(x, it.last ? "!]" : "]", it.last ? 2 : 1);
		} else {
			assert_true(it.data.n > 0 && it.data.n <= x->max);
			assert_false((it.data.p[0] & 0xC0) == 0x80); /* never in the middle of a character */
			put(x, it.kind == STREAM_REASONING ? "<" : "", it.kind == STREAM_REASONING);
			put(x, it.data.p, it.data.n);
			put(x, it.kind == STREAM_REASONING ? ">" : "", it.kind == STREAM_REASONING);
		}
		if (it.last)
			x->done = true;
	}
	if (it.last)
		x->done = true;
}

static void
woken(struct stream_reader *r)
{
	struct reader *x = (struct reader *)r;

	x->wakes++;
	read_all(x, r->stream);
	if (x->done) {
		stream_detach(r);
		if (x->stop_at_last)
			loop_stop(x->l);
	}
}

static struct reader
reader(struct loop *l, size_t max)
{
	return (struct reader){ .r.wake = woken, .l = l, .max = max };
}

static void
stop(void *arg)
{
	loop_stop(arg);
}

/* Lets the loop do what is posted and what is due within ms. */
static void
run_for(struct loop *l, int ms)
{
	loop_timer(l, ms, stop, l);
	loop_run(l);
}

static void
events_stand_where_they_were_said(void **state)
{
	struct loop *l = loop_create();
	struct stream *s = stream_create(l, 0, 0);
	struct reader a = reader(l, 100), b = reader(l, 100);

	(void)state;
	stream_hold(s);
	stream_event(s, "start", STR("{}"));
	stream_text(s, true, STR("hm"));
	stream_text(s, false, STR("Hello "));
	stream_event(s, "tool", STR("1"));
	stream_text(s, false, STR("world"));
	read_all(&a, s);
	assert_string_equal(a.out, "[start {}]<hm>Hello [tool 1]world");
	assert_false(a.done);
	stream_text(s, false, STR("."));
	stream_finish(s, "done", STR("{\"x\":1}"));
	read_all(&a, s);
	assert_string_equal(a.out, "[start {}]<hm>Hello [tool 1]world.[done {\"x\":1}!]");
	assert_true(a.done);
	/* Resuming in the middle of the text gives exactly the rest. */
	b.pos = (struct stream_pos){ .event = 1, .text = 3, .reasoning = 2 };
	read_all(&b, s);
	assert_string_equal(b.out, "lo [tool 1]world.[done {\"x\":1}!]");
	stream_text(s, false, STR("late")); /* after the end: nothing */
	stream_event(s, "late", STR("{}"));
	b.n = 0;
	read_all(&b, s);
	assert_int_equal(b.n, 0);
	run_for(l, 2);
	stream_release(s);
	free(a.out);
	free(b.out);
	loop_destroy(&l);
}

/* The text from pos on as its pieces, each ended with a '|'. */
static void
assert_pieces(struct stream *s, uint32_t from, const char *want)
{
	struct stream_pos pos = { .text = from };
	struct stream_item it;
	char out[512];
	size_t n = 0;

	while (stream_next(s, pos, 100, &it) && it.kind == STREAM_TEXT) {
		n += (size_t)snprintf(out + n, sizeof(out) - n, "%.*s|", STR_ARG(it.data));
		pos = it.after;
	}
	out[n] = '\0';
	assert_string_equal(out, want);
}

static void
recent_text_is_read_in_the_pieces_it_came_in(void **state)
{
	static const char *const said[] = { "The ", "b", "ell", " r", "\xC3", "\xA9", "n", "d." };
	struct loop *l = loop_create();
	struct stream *s = stream_create(l, 0, 0);

	(void)state;
	for (size_t i = 0; i < sizeof(said) / sizeof(*said); i++)
		stream_text(s, false, str_c(said[i]));
	assert_pieces(s, 0, "The |b|ell| r|\xC3\xA9|n|d.|");
	assert_pieces(s, 6, "ll| r|\xC3\xA9|n|d.|"); /* a cursor inside a piece gets its rest */
	for (int i = 0; i < 12; i++)
		stream_text(s, false, STR("x"));
	/* 19 pieces: the ends of the first three are forgotten */
	assert_pieces(s, 0, "The bell r|\xC3\xA9|n|d.|x|x|x|x|x|x|x|x|x|x|x|x|");
	assert_pieces(s, 5, "ell r|\xC3\xA9|n|d.|x|x|x|x|x|x|x|x|x|x|x|x|");
	stream_finish(s, "done", STR("{}"));
	run_for(l, 2);
	loop_destroy(&l);
}

static void
only_whole_characters_are_read(void **state)
{
	/* One byte at a time, cut everywhere; an unfinished character becomes U+FFFD. */
	static const char text[] = "a\xC3\xA9\xE6\xBC\xA2\xF0\x9F\x8D\xB5z";
	struct loop *l = loop_create();

	(void)state;
	for (size_t max = 4; max < 14; max++) {
		struct stream *s = stream_create(l, 0, 0);
		struct reader a = reader(l, max);

		stream_hold(s);
		for (size_t i = 0; i < sizeof(text) - 1; i++) {
			stream_text(s, false, (struct str){ text + i, 1 });
			read_all(&a, s);
		}
		assert_string_equal(a.out, text);
		a.pos = (struct stream_pos){ 0 };
		a.n = 0;
		read_all(&a, s);
		assert_string_equal(a.out, text);
		stream_text(s, false, STR("\xE6\xBC"));
		stream_text(s, false, STR("!\xF0\x9F"));
		stream_finish(s, "done", STR("{}"));
		read_all(&a, s);
		assert_string_equal(
		    a.out, "a\xC3\xA9\xE6\xBC\xA2\xF0\x9F\x8D\xB5z\xEF\xBF\xBD!\xEF\xBF\xBD[done {}!]");
		stream_release(s);
		free(a.out);
	}
	run_for(l, 2);
	loop_destroy(&l);
}

static void
long_text_survives_its_blocks(void **state)
{
	struct loop *l = loop_create();
	struct stream *s = stream_create(l, 0, 0);
	struct reader a = reader(l, 1000), b = reader(l, 4);
	char want[40000], buf[40000];
	size_t n = 0;

	(void)state;
	stream_hold(s);
	while (n + 10 < sizeof(want)) {
		int k = snprintf(want + n, 10, "%zu\xE6\xBC\xA2,", n % 977);

		stream_text(s, false, (struct str){ want + n, (size_t)k });
		n += (size_t)k;
	}
	read_all(&a, s);
	read_all(&b, s);
	assert_int_equal(a.n, n);
	assert_memory_equal(a.out, want, n);
	assert_int_equal(b.n, n);
	assert_memory_equal(b.out, want, n);
	assert_int_equal(stream_copy_text(s, false, 0, buf, sizeof(buf)), n);
	assert_memory_equal(buf, want, n);
	assert_int_equal(stream_copy_text(s, false, n - 4, buf, sizeof(buf)), 4);
	assert_int_equal(stream_copy_text(s, false, n, buf, sizeof(buf)), 0);
	assert_int_equal(stream_copy_text(s, false, 1, buf, 2), 0); /* the character does not fit */
	assert_int_equal(stream_text_len(s, false), n);
	stream_finish(s, "done", STR("{}"));
	run_for(l, 2);
	stream_release(s);
	free(a.out);
	free(b.out);
	loop_destroy(&l);
}

static void
forged_positions_are_made_safe(void **state)
{
	struct loop *l = loop_create();
	struct stream *s = stream_create(l, 0, 0);
	struct stream_pos p;
	struct reader a = reader(l, 100);

	(void)state;
	stream_hold(s);
	p = stream_clamp(s, (struct stream_pos){ 9, 9, 9 });
	assert_int_equal(p.event, 0);
	stream_text(s, false, STR("\xE6\xBC\xA2\xE5\xAD\x97"));
	assert_int_equal(stream_clamp(s, (struct stream_pos){ 9, 1, 9 }).text, 3);
	assert_int_equal(stream_clamp(s, (struct stream_pos){ .text = 5 }).text, 6);
	a.pos = stream_clamp(s, (struct stream_pos){ 9, 1, 0 });
	read_all(&a, s);
	assert_string_equal(a.out, "\xE5\xAD\x97");
	stream_finish(s, "done", STR("{}"));
	p = stream_clamp(s, STREAM_AT_END);
	assert_int_equal(p.event, 1);
	assert_int_equal(p.text, 6);
	assert_int_equal(p.reasoning, 0);
	run_for(l, 2);
	stream_release(s);
	free(a.out);
	loop_destroy(&l);
}

/* A stream that is filled from elsewhere may lag behind what a reader has seen before. */
static void
a_reader_that_is_ahead_waits(void **state)
{
	struct loop *l = loop_create();
	struct stream *s = stream_create(l, 0, 0);
	struct reader a = reader(l, 100), b = reader(l, 100);

	(void)state;
	stream_hold(s);
	stream_set_label(s, STR("F:x"));
	assert_string_equal(stream_label(s), "F:x");
	stream_event(s, "start", STR("{}"));
	a.pos = stream_clamp(s, (struct stream_pos){ 4, 6, 0 });
	b.pos = stream_clamp(s, (struct stream_pos){ 4, 4, 0 }); /* forged: inside a character */
	assert_int_equal(a.pos.event, 1);
	stream_text(s, false, STR("abc"));
	read_all(&a, s);
	read_all(&b, s);
	stream_text(s, false, STR("\xE6\xBC\xA2"));
	read_all(&a, s);
	read_all(&b, s);
	assert_int_equal(a.n + b.n, 0);
	assert_int_equal(b.pos.text, 4);
	stream_text(s, false, STR("def"));
	stream_finish(s, "done", STR("{}"));
	read_all(&a, s);
	read_all(&b, s);
	assert_string_equal(a.out, "def[done {}!]");
	assert_string_equal(b.out, "def[done {}!]");
	run_for(l, 2);
	stream_release(s);
	free(a.out);
	free(b.out);
	loop_destroy(&l);
}

struct say {
	struct stream *s;
	int n;
};

static void *
say_things(void *arg)
{
	struct say *x = arg;
	char t[32];

	for (int i = 0; i < x->n; i++) {
		int k = snprintf(t, sizeof(t), "%d,", i);

		stream_text(x->s, false, (struct str){ t, (size_t)k });
		if (i % 100 == 99)
			stream_event(x->s, "run", STR("{}"));
	}
	stream_finish(x->s, "done", STR("{}"));
	return NULL;
}

static void
a_turn_on_another_thread_is_read_completely(void **state)
{
	struct loop *l = loop_create();
	struct say x = { stream_create(l, 77, 30), 5000 };
	struct reader a = reader(l, 300), b = reader(l, 5);
	pthread_t th;

	(void)state;
	stream_attach(x.s, &a.r);
	stream_attach(x.s, &b.r);
	a.stop_at_last = true;
	assert_int_equal(pthread_create(&th, NULL, say_things, &x), 0);
	loop_run(l);
	pthread_join(th, NULL);
	read_all(&b, x.s); /* still lingering, so still alive */
	assert_true(b.done);
	assert_int_equal(a.n, b.n);
	assert_memory_equal(a.out, b.out, a.n);
	assert_true(a.wakes <= 5100);
	stream_detach(&b.r);
	run_for(l, 50);
	assert_null(stream_find(77));
	/* At the end of a process nothing lingers. */
	x.s = stream_create(l, 78, 60000);
	stream_finish(x.s, "done", STR("{}"));
	loop_flush(l);
	stream_end_all();
	assert_null(stream_find(78));
	loop_destroy(&l);
	free(a.out);
	free(b.out);
}

static void
deserted(void *arg)
{
	(*(int *)arg)++;
}

static void
the_last_reader_to_leave_deserts_the_stream(void **state)
{
	struct loop *l = loop_create();
	struct stream *s = stream_create(l, 5, 0), *t = stream_create(l, 6, 0), *u = stream_create(l, 7, 0);
	struct reader a = reader(l, 100), b = reader(l, 100), c = reader(l, 100);
	int n = 0, m = 0, k = 0;

	(void)state;
	stream_on_deserted(s, deserted, &n);
	stream_attach(s, &a.r);
	stream_attach(s, &b.r);
	stream_detach(&a.r);
	stream_detach(&a.r);
	assert_int_equal(n, 0);
	stream_detach(&b.r);
	assert_int_equal(n, 1);
	stream_attach(s, &a.r);
	stream_detach(&a.r);
	assert_int_equal(n, 1); /* once */
	/* The handler may be set after the fact. */
	stream_attach(t, &a.r);
	stream_detach(&a.r);
	stream_on_deserted(t, deserted, &m);
	/* Leaving after the finish is no desertion. */
	stream_on_deserted(u, deserted, &k);
	stream_attach(u, &c.r);
	stream_hold(u);
	stream_finish(u, "done", STR("{}"));
	stream_detach(&c.r);
	stream_release(u);
	run_for(l, 5);
	assert_int_equal(m, 1);
	assert_int_equal(k, 0);
	assert_null(stream_find(7)); /* no linger: gone */
	assert_non_null(stream_find(5));
	stream_release(s); /* what stream_find held */
	stream_finish(s, "error", STR("{}"));
	stream_finish(t, "error", STR("{}"));
	run_for(l, 2);
	loop_destroy(&l);
	free(a.out);
	free(b.out);
	free(c.out);
}

static void
observers_keep_no_turn_alive(void **state)
{
	struct loop *l = loop_create();
	struct stream *s = stream_create(l, 5, 0);
	struct reader a = reader(l, 100), o = reader(l, 100);
	int n = 0;

	(void)state;
	o.r.observer = true;
	stream_on_deserted(s, deserted, &n);
	stream_attach(s, &o.r);
	stream_detach(&o.r);
	assert_int_equal(n, 0); /* nobody has read it yet */
	stream_attach(s, &a.r);
	stream_attach(s, &o.r);
	stream_detach(&a.r);
	assert_int_equal(n, 1);
	stream_detach(&o.r);
	assert_int_equal(n, 1);
	stream_finish(s, "error", STR("{}"));
	run_for(l, 2);
	loop_destroy(&l);
	free(a.out);
	free(o.out);
}

static void
a_late_reader_gets_everything_while_the_stream_lingers(void **state)
{
	struct loop *l = loop_create();
	struct stream *s = stream_create(l, 42, 10);
	struct reader a = reader(l, 100);

	(void)state;
	stream_text(s, false, STR("all of it"));
	stream_finish(s, "done", STR("{}"));
	s = stream_find(42);
	assert_non_null(s);
	stream_attach(s, &a.r);
	stream_release(s);
	run_for(l, 40);
	assert_string_equal(a.out, "all of it[done {}!]");
	assert_null(stream_find(42));
	free(a.out);
	loop_destroy(&l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_stand_where_they_were_said),
		cmocka_unit_test(recent_text_is_read_in_the_pieces_it_came_in),
		cmocka_unit_test(only_whole_characters_are_read),
		cmocka_unit_test(long_text_survives_its_blocks),
		cmocka_unit_test(forged_positions_are_made_safe),
		cmocka_unit_test(a_reader_that_is_ahead_waits),
		cmocka_unit_test(a_turn_on_another_thread_is_read_completely),
		cmocka_unit_test(the_last_reader_to_leave_deserts_the_stream),
		cmocka_unit_test(observers_keep_no_turn_alive),
		cmocka_unit_test(a_late_reader_gets_everything_while_the_stream_lingers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
