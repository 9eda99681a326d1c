/*
 * tell: what clients are told. A row of the outbox becomes the events of its table, in a fixed order, so that a client
 * that comes back in the middle gets the rest and nothing twice. Also the events that have no row: those of a running
 * generation. Pure.
 */
#ifndef EVENT_TELL_H
#define EVENT_TELL_H

#include "event/outbox.h"

struct told {
	const char *name;
	struct str data; /* JSON, camelCase */
	int64_t at;      /* ms */
};
struct tale {
	VEC(struct told) v;
};

/* Every event: its name, whether it can be had again by its id, the members of its payload, what it says. docs/events.md has the same. */
struct event_kind {
	const char *name;
	bool kept;
	const char *members; /* separated by blanks; a trailing ? = may be missing */
	const char *says;
};
extern const struct event_kind event_kinds[]; /* ends with .name NULL */

void tell_row(struct arena *a, const struct outbox_row *row, struct tale *out);
/* A generation has begun: as it was then, whatever it is now. */
void tell_started(struct arena *a, const struct outbox_run *run, int64_t now, struct tale *out);
/* The progress record of a stream's `run` event, as clients of sockets know it. False: it is no such record, or the outbox tells it. */
bool tell_progress(struct arena *a, struct str session_id, struct str json, int64_t now, struct told *out);
/* A piece of the reply; units: UTF-16 units told of it so far, this one included. */
void tell_chunk(struct arena *a, const struct outbox_run *run, struct str piece, uint64_t units, struct told *out);

#endif
