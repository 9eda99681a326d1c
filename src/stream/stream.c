/*
 * stream: the text and the events of one turn, and its readers. See stream.h.
 *
 * Text lies in blocks that never move and are freed only with the stream, so a reader's slice
 * stays good while the turn appends behind it. No character is split over two blocks. The first
 * block is small because most streams of a busy process are short; later ones double.
 *
 * One mutex per stream guards everything but the reader list, which belongs to the loop thread.
 * Streams outlive the request that made them, hence counted heap memory instead of an arena.
 */
#include "stream.h"

#include "base/limits.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_FIRST 512
#define BLOCK_MAX (64u << 10)
#define RECENT 16       /* pieces whose ends are remembered */
#define TABLE_SIZE 1024 /* chains of running streams; a process has at most a few thousand */

struct block {
	struct block *prev;
	uint32_t start, n, cap; /* offset in the whole text; bytes used and there */
	char p[];
};

struct text {
	struct block *last;
	uint32_t n; /* bytes in blocks */
	uint8_t n_part;
	char part[4];                  /* the beginning of a character whose rest has not come */
	uint32_t n_ends, ends[RECENT]; /* where the last pieces ended: the i-th at i % RECENT */
};

struct event {
	const char *name;
	char *json;
	uint32_t n;
	uint32_t at_text, at_reasoning;
};

struct stream {
	struct loop *loop;
	int64_t run_no;
	int linger_ms;
	char *label;
	struct stream *next; /* in its chain of the table, under table_lock */

	pthread_mutex_t lock;
	pthread_cond_t quiet; /* `deserting` has ended */
	int refs;
	uint64_t linger;     /* timer, loop thread only; 0 = none */
	struct text text[2]; /* [reasoning] */
	struct event *events;
	uint32_t n_events, cap_events;
	bool finished, wake_posted, deserted, deserting;
	void (*on_deserted)(void *);
	void *on_deserted_arg;

	struct stream_reader *readers; /* loop thread only */
};

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct stream *table[TABLE_SIZE];

static void *
must(void *p)
{
	if (p == NULL) {
		fputs("stream: out of memory\n", stderr);
		abort();
	}
	return p;
}

static struct stream **
table_chain(int64_t run_no)
{
	return &table[(uint64_t)run_no % TABLE_SIZE];
}

/* See stream.h. The caller is the turn and owns one reference. */
struct stream *
stream_create(struct loop *l, int64_t run_no, int linger_ms)
{
	struct stream *s = must(calloc(1, sizeof(*s)));

	s->loop = l;
	s->run_no = run_no;
	s->linger_ms = linger_ms;
	s->refs = 2; /* the turn's and the linger's */
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->quiet, NULL);
	if (run_no != 0) {
		pthread_mutex_lock(&table_lock);
		s->next = *table_chain(run_no);
		*table_chain(run_no) = s;
		pthread_mutex_unlock(&table_lock);
	}
	return s;
}

/* The running or lingering stream of a run, held for the caller; NULL if there is none here. */
struct stream *
stream_find(int64_t run_no)
{
	struct stream *s;

	pthread_mutex_lock(&table_lock);
	for (s = *table_chain(run_no); s != NULL && s->run_no != run_no; s = s->next)
		;
	if (s != NULL)
		stream_hold(s); /* the table's own reference is dropped only after leaving the table */
	pthread_mutex_unlock(&table_lock);
	return s;
}

static void
table_remove(struct stream *s)
{
	pthread_mutex_lock(&table_lock);
	for (struct stream **at = table_chain(s->run_no); *at != NULL; at = &(*at)->next) {
		if (*at == s) {
			*at = s->next;
			break;
		}
	}
	pthread_mutex_unlock(&table_lock);
}

/* One more reference. */
void
stream_hold(struct stream *s)
{
	pthread_mutex_lock(&s->lock);
	s->refs++;
	pthread_mutex_unlock(&s->lock);
}

/* See stream.h. */
void
stream_set_label(struct stream *s, struct str label)
{
	char *copy = must(malloc(label.n + 1));

	memcpy(copy, label.p, label.n);
	copy[label.n] = '\0';
	pthread_mutex_lock(&s->lock);
	assert(s->label == NULL);
	s->label = copy;
	pthread_mutex_unlock(&s->lock);
}

/* See stream.h. */
const char *
stream_label(struct stream *s)
{
	const char *label;

	pthread_mutex_lock(&s->lock);
	label = s->label;
	pthread_mutex_unlock(&s->lock);
	return label;
}

static void
text_free(struct text *t)
{
	while (t->last != NULL) {
		struct block *b = t->last;

		t->last = b->prev;
		free(b);
	}
}

/* One reference less; the last one frees the stream. */
void
stream_release(struct stream *s)
{
	bool last;

	pthread_mutex_lock(&s->lock);
	last = --s->refs == 0;
	pthread_mutex_unlock(&s->lock);
	if (!last)
		return;
	assert(s->readers == NULL);
	text_free(&s->text[0]);
	text_free(&s->text[1]);
	for (uint32_t i = 0; i < s->n_events; i++)
		free(s->events[i].json);
	free(s->events);
	free(s->label);
	pthread_cond_destroy(&s->quiet);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* Loop thread: lets every reader look. */
static void
wake_readers(void *arg)
{
	struct stream *s = arg;
	struct stream_reader *r, *next;

	pthread_mutex_lock(&s->lock);
	s->wake_posted = false;
	pthread_mutex_unlock(&s->lock);
	for (r = s->readers; r != NULL; r = next) {
		next = r->next;
		r->wake(r);
	}
	stream_release(s); /* the post's */
}

/* Under the lock: posts one wake-up, however many deltas arrive before the loop gets to it. */
static void
want_wake(struct stream *s)
{
	if (s->wake_posted)
		return;
	s->wake_posted = true;
	s->refs++;
	loop_post(s->loop, wake_readers, s);
}

/* Under the lock: appends whole characters. */
static void
text_put(struct text *t, struct str v)
{
	while (v.n > 0) {
		struct block *b = t->last;
		size_t room = b != NULL ? b->cap - b->n : 0, take = v.n < room ? v.n : room;

		/* Back to the start of a character (invalid bytes: at most three back). */
		for (int i = 0; i < 3 && take < v.n && take > 0 && ((unsigned char)v.p[take] & 0xC0) == 0x80;
		     i++)
			take--;
		if (take == 0) {
			uint32_t cap = b == NULL                ? BLOCK_FIRST
				       : b->cap * 2 < BLOCK_MAX ? b->cap * 2
								: BLOCK_MAX;

			b = must(malloc(sizeof(*b) + cap));
			*b = (struct block){ .prev = t->last, .start = t->n, .cap = cap };
			t->last = b;
			continue;
		}
		memcpy(b->p + b->n, v.p, take);
		b->n += (uint32_t)take;
		t->n += (uint32_t)take;
		v = str_sub(v, take, v.n);
	}
}

/* Length of the character that begins with byte c; 1 for what cannot begin one. */
static size_t
char_len(unsigned char c)
{
	return c >= 0xF0 && c < 0xF8 ? 4 : c >= 0xE0 && c < 0xF0 ? 3 : c >= 0xC2 && c < 0xE0 ? 2 : 1;
}

/* Bytes at the end of v that begin a character without ending it. */
static size_t
open_tail(struct str v)
{
	for (size_t back = 1; back <= 3 && back <= v.n; back++) {
		unsigned char c = (unsigned char)v.p[v.n - back];

		if ((c & 0xC0) != 0x80)
			return char_len(c) > back ? back : 0;
	}
	return 0;
}

static void
text_append(struct text *t, struct str delta)
{
	uint32_t from = t->n;
	size_t open;

	/* A character that began in an earlier delta: complete it byte by byte. */
	while (t->n_part > 0 && delta.n > 0) {
		if (((unsigned char)delta.p[0] & 0xC0) == 0x80) {
			t->part[t->n_part++] = delta.p[0];
			delta = str_sub(delta, 1, delta.n);
			if (t->n_part < char_len((unsigned char)t->part[0]))
				continue;
		}
		if (t->n_part == char_len((unsigned char)t->part[0]))
			text_put(t, (struct str){ t->part, t->n_part });
		else
			text_put(t, STR("\xEF\xBF\xBD")); /* its rest never came */
		t->n_part = 0;
	}
	open = open_tail(delta);
	text_put(t, str_sub(delta, 0, delta.n - open));
	if (open > 0) {
		memcpy(t->part, delta.p + delta.n - open, open);
		t->n_part = (uint8_t)open;
	}
	if (t->n > from && open == 0) /* a piece that ends inside a character goes on with the next */
		t->ends[t->n_ends++ % RECENT] = t->n;
}

/* Adds a piece of the reply (or of the reasoning). What lies past LIM_REPLY is dropped. */
void
stream_text(struct stream *s, bool reasoning, struct str delta)
{
	struct text *t = &s->text[reasoning];

	if (delta.n == 0)
		return;
	pthread_mutex_lock(&s->lock);
	if (!s->finished && t->n + delta.n <= LIM_REPLY) {
		text_append(t, delta);
		want_wake(s);
	}
	pthread_mutex_unlock(&s->lock);
}

/* Under the lock. */
static void
add_event(struct stream *s, const char *name, struct str json)
{
	struct event *e;

	if (s->n_events == s->cap_events) {
		s->cap_events = s->cap_events ? s->cap_events * 2 : 4;
		s->events = must(reallocarray(s->events, s->cap_events, sizeof(*s->events)));
	}
	e = &s->events[s->n_events++];
	*e = (struct event){
		.name = name,
		.json = must(malloc(json.n + 1)),
		.n = (uint32_t)json.n,
		.at_text = s->text[0].n,
		.at_reasoning = s->text[1].n,
	};
	if (json.n > 0)
		memcpy(e->json, json.p, json.n);
	e->json[json.n] = '\0';
}

/* Adds an event; it stands behind all text said before. json is copied. */
void
stream_event(struct stream *s, const char *name, struct str json)
{
	pthread_mutex_lock(&s->lock);
	if (!s->finished) {
		add_event(s, name, json);
		want_wake(s);
	}
	pthread_mutex_unlock(&s->lock);
}

static void
linger_over(void *arg)
{
	struct stream *s = arg;

	if (s->run_no != 0)
		table_remove(s);
	stream_release(s);
}

/* What nobody can find does not linger. */
static void
linger_begin(void *arg)
{
	struct stream *s = arg;

	if (s->linger_ms > 0 && s->run_no != 0)
		s->linger = loop_timer(s->loop, s->linger_ms, linger_over, s);
	else
		linger_over(s);
}

/* See stream.h. A stream whose turn never finished it is left alone. */
void
stream_end_all(void)
{
	for (size_t i = 0; i < TABLE_SIZE; i++) {
		struct stream *s, *next;

		for (s = table[i]; s != NULL; s = next) {
			next = s->next;
			if (s->linger == 0)
				continue;
			loop_timer_cancel(s->loop, s->linger);
			linger_over(s);
		}
	}
}

/*
 * The last event (done or error); the turn's reference ends. A character that never became whole
 * becomes U+FFFD. Waits for a running on_deserted call, so that its arg may go afterwards.
 */
void
stream_finish(struct stream *s, const char *name, struct str json)
{
	pthread_mutex_lock(&s->lock);
	assert(!s->finished);
	for (int i = 0; i < 2; i++) {
		if (s->text[i].n_part > 0)
			text_put(&s->text[i], STR("\xEF\xBF\xBD"));
		s->text[i].n_part = 0;
	}
	add_event(s, name, json);
	s->finished = true;
	want_wake(s);
	while (s->deserting && !loop_on_thread(s->loop))
		pthread_cond_wait(&s->quiet, &s->lock);
	pthread_mutex_unlock(&s->lock);
	loop_post(s->loop, linger_begin, s);
	stream_release(s);
}

/* Loop thread: does anybody read for whom the turn is made? */
static bool
followed(const struct stream *s)
{
	for (const struct stream_reader *r = s->readers; r != NULL; r = r->next)
		if (!r->observer)
			return true;
	return false;
}

/* Loop thread: tells the turn, if it wants to know and is still there. */
static void
tell_deserted(struct stream *s)
{
	void (*fn)(void *) = NULL;

	pthread_mutex_lock(&s->lock);
	if (s->deserted && !s->finished && s->on_deserted != NULL && !followed(s)) {
		fn = s->on_deserted;
		s->on_deserted = NULL;
		s->deserting = true;
	}
	pthread_mutex_unlock(&s->lock);
	if (fn == NULL)
		return;
	fn(s->on_deserted_arg); /* outside the lock: it may say something on this stream */
	pthread_mutex_lock(&s->lock);
	s->deserting = false;
	pthread_cond_broadcast(&s->quiet);
	pthread_mutex_unlock(&s->lock);
}

static void
tell_deserted_posted(void *arg)
{
	tell_deserted(arg);
	stream_release(arg);
}

/* See stream.h. */
void
stream_on_deserted(struct stream *s, void (*fn)(void *), void *arg)
{
	pthread_mutex_lock(&s->lock);
	s->on_deserted_arg = arg;
	s->on_deserted = fn;
	if (s->deserted) {
		s->refs++;
		loop_post(s->loop, tell_deserted_posted, s);
	}
	pthread_mutex_unlock(&s->lock);
}

/* Adds a reader and wakes it soon. */
void
stream_attach(struct stream *s, struct stream_reader *r)
{
	r->stream = s;
	r->next = s->readers;
	s->readers = r;
	pthread_mutex_lock(&s->lock);
	s->refs++; /* the reader's */
	if (!r->observer)
		s->deserted = false;
	want_wake(s);
	pthread_mutex_unlock(&s->lock);
}

/* Takes a reader off; the last one to leave an unfinished stream deserts it. */
void
stream_detach(struct stream_reader *r)
{
	struct stream *s = r->stream;

	if (s == NULL)
		return;
	for (struct stream_reader **at = &s->readers; *at != NULL; at = &(*at)->next) {
		if (*at == r) {
			*at = r->next;
			break;
		}
	}
	r->stream = NULL;
	if (!r->observer && !followed(s)) {
		pthread_mutex_lock(&s->lock);
		s->deserted = true;
		pthread_mutex_unlock(&s->lock);
		tell_deserted(s);
	}
	stream_release(s);
}

/* Under the lock: a piece of the text from `pos` on, at most up to `end` and `max` bytes, whole characters.
 */
static struct str
text_piece(const struct text *t, uint32_t pos, uint32_t end, size_t max)
{
	const struct block *b = t->last;
	size_t n;
	const char *p;

	while (b->start > pos)
		b = b->prev;
	p = b->p + (pos - b->start);
	n = b->n - (pos - b->start);
	if (n > end - pos)
		n = end - pos;
	if (n > max) {
		n = max;
		for (int i = 0; i < 3 && n > 1 && ((unsigned char)p[n] & 0xC0) == 0x80; i++)
			n--;
	}
	return (struct str){ p, n };
}

static bool
inside_character(char c)
{
	return ((unsigned char)c & 0xC0) == 0x80;
}

/* Under the lock: pos at the start of a character; ahead of the text only while more may come. */
static uint32_t
text_clamp(const struct text *t, uint32_t pos, bool finished)
{
	if (pos >= t->n)
		return finished ? t->n : pos;
	while (pos < t->n && inside_character(text_piece(t, pos, t->n, 4).p[0]))
		pos++;
	return pos;
}

/* See stream.h. */
struct stream_pos
stream_clamp(struct stream *s, struct stream_pos pos)
{
	pthread_mutex_lock(&s->lock);
	if (pos.event > s->n_events)
		pos.event = s->n_events;
	pos.text = text_clamp(&s->text[0], pos.text, s->finished);
	pos.reasoning = text_clamp(&s->text[1], pos.reasoning, s->finished);
	pthread_mutex_unlock(&s->lock);
	return pos;
}

/* Under the lock: where the piece at pos ends, as far as that is remembered. */
static uint32_t
piece_end(const struct text *t, uint32_t pos)
{
	uint32_t first = t->n_ends > RECENT ? t->n_ends - RECENT : 0;

	for (uint32_t i = first; i < t->n_ends; i++)
		if (t->ends[i % RECENT] > pos)
			return t->ends[i % RECENT];
	return t->n;
}

/*
 * Under the lock: what the piece behind *pos says up to end; *pos moves behind it. A reader that was ahead
 * may have been inside a character.
 */
static struct str
next_piece(const struct text *t, uint32_t *pos, uint32_t end, size_t max)
{
	struct str v;

	do {
		uint32_t own = piece_end(t, *pos);

		v = text_piece(t, *pos, own < end ? own : end, max);
		*pos += (uint32_t)v.n;
		while (v.n > 0 && inside_character(v.p[0]))
			v = str_sub(v, 1, v.n);
	} while (v.n == 0 && *pos < end);
	return v;
}

/* Under the lock: the next piece of one of the texts, up to where the next event was said. */
static bool
next_text(const struct stream *s, bool reasoning, size_t max, struct stream_item *out)
{
	const struct event *e = out->after.event < s->n_events ? &s->events[out->after.event] : NULL;
	uint32_t *pos = reasoning ? &out->after.reasoning : &out->after.text;
	uint32_t end = e == NULL ? s->text[reasoning].n : reasoning ? e->at_reasoning : e->at_text;

	if (*pos >= end)
		return false;
	out->kind = reasoning ? STREAM_REASONING : STREAM_TEXT;
	out->data = next_piece(&s->text[reasoning], pos, end, max);
	return out->data.n > 0;
}

/* See stream.h. */
bool
stream_next(struct stream *s, struct stream_pos pos, size_t max, struct stream_item *out)
{
	bool any = true;

	pthread_mutex_lock(&s->lock);
	*out = (struct stream_item){ .after = pos, .label = s->label };
	if (!next_text(s, true, max, out) && !next_text(s, false, max, out)) {
		any = out->after.event < s->n_events;
		if (any) {
			const struct event *e = &s->events[out->after.event++];

			out->kind = STREAM_EVENT;
			out->name = e->name;
			out->data = (struct str){ e->json, e->n };
		}
		out->last = s->finished && out->after.event == s->n_events;
	}
	pthread_mutex_unlock(&s->lock);
	return any;
}

/* See stream.h. */
size_t
stream_copy_text(struct stream *s, bool reasoning, size_t from, char *buf, size_t cap)
{
	const struct text *t = &s->text[reasoning];
	size_t done = 0;

	pthread_mutex_lock(&s->lock);
	while (done < cap && from + done < t->n) {
		struct str v = text_piece(t, (uint32_t)(from + done), t->n, cap - done);

		if (v.n == 1 && cap - done < 4 && ((unsigned char)v.p[0] & 0xC0) == 0xC0)
			break; /* a character that does not fit any more */
		memcpy(buf + done, v.p, v.n);
		done += v.n;
	}
	pthread_mutex_unlock(&s->lock);
	return done;
}

/* Bytes of text (or reasoning) that readers may have seen. */
size_t
stream_text_len(struct stream *s, bool reasoning)
{
	size_t n;

	pthread_mutex_lock(&s->lock);
	n = s->text[reasoning].n;
	pthread_mutex_unlock(&s->lock);
	return n;
}
