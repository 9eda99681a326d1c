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

/* What a reader is handed next: an event, or a piece of text that has no event name of its own. */
enum stream_item_kind { STREAM_EVENT, STREAM_TEXT, STREAM_REASONING };
struct stream_item {
	enum stream_item_kind kind;
	const char *name;       /* of an event */
	struct str data;        /* JSON of an event, or raw text (whole UTF-8 characters) */
	struct stream_pos after;/* cursor behind it */
	bool last;              /* nothing will follow */
};

/* A reader gets wake() on the loop thread when something lies behind its cursor. */
struct stream_reader {
	void (*wake)(struct stream_reader *);
	struct stream_reader *next; /* private */
	struct stream *stream;      /* private; NULL when detached */
};

struct stream *stream_create(struct loop *l, int64_t run_no, int linger_ms); /* any thread; one reference for the turn */
struct stream *stream_find(int64_t run_no);       /* loop thread; NULL if unknown or gone */
void stream_event(struct stream *s, const char *name, struct str json);      /* any thread; name is a literal */
void stream_text(struct stream *s, bool reasoning, struct str delta);        /* any thread; only whole characters reach readers */
void stream_finish(struct stream *s, const char *name, struct str json);     /* any thread; last event; the turn's reference ends */
void stream_attach(struct stream *s, struct stream_reader *r);               /* loop thread */
void stream_detach(struct stream_reader *r);                                 /* loop thread; may desert the stream */
/* Next item behind pos, at most max bytes of text; false if there is nothing yet. Loop thread; slices valid until it returns to the loop. */
bool stream_next(struct stream *s, struct stream_pos pos, size_t max, struct stream_item *out);
void stream_on_deserted(struct stream *s, void (*fn)(void *), void *arg);    /* last reader left before the finish; any thread, set once */
/* Copy of the text said so far from byte `from` (for the persister); bytes copied. Any thread. */
size_t stream_copy_text(struct stream *s, size_t from, char *buf, size_t cap);

#endif
