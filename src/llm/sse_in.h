/*
 * sse_in: reads a server-sent event stream that arrives in pieces cut anywhere (models.md A2). LF, CR LF and CR end a
 * line; one byte order mark at the start is skipped; comments and events without data are dropped; an old
 * `error:` field counts as an event of that name. Knows nothing of what the events say.
 */
#ifndef LLM_SSE_IN_H
#define LLM_SSE_IN_H

#include "base/sb.h"

struct sse_event {
	struct str name;   /* absent = none given */
	struct str data;   /* lines joined with LF; not blank; bytes as they came */
};

struct sse_in {
	struct arena *a;
	struct sb line, data, name;
	size_t max;        /* of a line, and of the data of one event */
	unsigned bom;      /* bytes of the byte order mark seen, 3 = it is over */
	bool skip_lf;      /* the last byte was a CR */
	bool has_data, stopped;
};

/* Takes one event; false stops the reader. The event's memory is reused afterwards. */
typedef bool sse_fn(void *arg, const struct sse_event *ev);

void sse_in_begin(struct sse_in *s, struct arena *a, size_t max);
/* 0; -1 if a line or an event was longer than max (nothing is read after that). */
int sse_in_feed(struct sse_in *s, struct str bytes, sse_fn *fn, void *arg);
/* The stream is over: a last line without its end and a last event without its blank line still count. */
int sse_in_end(struct sse_in *s, sse_fn *fn, void *arg);

#endif
