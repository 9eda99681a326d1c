/*
 * stream: what a turn has said so far, and who reads it. A reader is a connection and a cursor,
 * not a queue: the stream keeps the events and the whole text (bounded by the reply limit); a
 * writable reader is sent what lies behind its cursor. Slow, many and late readers are the same
 * code, and the upstream is never paused for one of them. Knows no protocol: http has a reader
 * that writes server-sent events in FastCGI records, eventd will have another.
 *
 * Order for a reader: events interleave with text at the text position where they were said.
 */
#ifndef STREAM_STREAM_H
#define STREAM_STREAM_H

#include "base/str.h"
#include "loop/loop.h"

struct stream;

struct stream_pos {
	uint32_t event, text, reasoning; /* events seen, bytes of text, bytes of reasoning: the SSE id "7.1523.0" */
};
#define STREAM_AT_END ((struct stream_pos){ UINT32_MAX, UINT32_MAX, UINT32_MAX }) /* has seen the last event */

/* What a reader is handed next: an event, or a piece of text that has no event name of its own. */
enum stream_item_kind { STREAM_EVENT, STREAM_TEXT, STREAM_REASONING };
struct stream_item {
	enum stream_item_kind kind;
	const char *name;       /* of an event */
	struct str data;        /* JSON of an event, or raw text (whole UTF-8 characters) */
	struct stream_pos after;/* cursor behind it */
	bool last;              /* nothing will follow */
	const char *label;      /* the stream's; NULL = it has none */
};

/*
 * A reader gets wake() on the loop thread when something may lie behind its cursor. wake() may
 * detach its own reader, but no other one of the same stream.
 */
struct stream_reader {
	void (*wake)(struct stream_reader *);
	bool observer;              /* a turn that only such readers follow counts as deserted */
	struct stream_reader *next; /* private */
	struct stream *stream;      /* private; NULL when detached */
};

/*
 * A stream is counted: the turn holds it until stream_finish, the table of running streams until
 * linger_ms after that, each attached reader while it is attached, others by stream_hold.
 */
struct stream *stream_create(struct loop *l, int64_t run_no, int linger_ms); /* any thread; run_no 0 = not to be found */
void stream_hold(struct stream *s);                                          /* any thread */
void stream_release(struct stream *s);                                       /* any thread */

void stream_end_all(void); /* the process ends: nothing lingers any more; loop thread, after the last turn */

/*
 * What the ids of its events begin with, so that a position of another stream is not taken for one of this. Once, before
 * anything is said; copied. stream_label: NULL = none was set.
 */
void stream_set_label(struct stream *s, struct str label);
const char *stream_label(struct stream *s);

/* The turn's side; any thread. After stream_finish the turn must not touch the stream (unless it holds it). */
void stream_event(struct stream *s, const char *name, struct str json);      /* name is a literal */
void stream_text(struct stream *s, bool reasoning, struct str delta);        /* only whole characters reach readers */
void stream_finish(struct stream *s, const char *name, struct str json);     /* the last event */
/*
 * fn(arg) on the loop thread, once, when the last reader that is no observer has left before the finish (at once if it
 * has left already; never for a stream nobody attached to). Never runs after stream_finish returned.
 */
void stream_on_deserted(struct stream *s, void (*fn)(void *), void *arg);
/* Copy of the text (or reasoning) said so far from byte `from` (for the persister); bytes copied. */
size_t stream_copy_text(struct stream *s, bool reasoning, size_t from, char *buf, size_t cap);
size_t stream_text_len(struct stream *s, bool reasoning);                    /* bytes said so far, whole characters */

/* The reader's side; loop thread. */
struct stream *stream_find(int64_t run_no);                                  /* held for the caller; NULL if unknown or gone */
void stream_attach(struct stream *s, struct stream_reader *r);               /* wakes it soon */
void stream_detach(struct stream_reader *r);                                 /* harmless when detached */
/*
 * A position that a client sent, made safe: between characters and not behind the end. One that is ahead of an unfinished
 * text stays: a stream that is filled from elsewhere may lag, and says such a reader nothing twice. Any thread.
 */
struct stream_pos stream_clamp(struct stream *s, struct stream_pos pos);
/*
 * Next item behind pos, at most max (>= 4) bytes of text. False if there is nothing yet, or nothing
 * any more: out->last then tells which. pos was zero, an earlier `after`, or clamped. The slices live as long as the stream.
 */
bool stream_next(struct stream *s, struct stream_pos pos, size_t max, struct stream_item *out);

#endif
