/*
 * wake: how workers tell tavern-eventd of the same host that there is something to read: a datagram, at best. It may get lost
 * (the reader also looks by itself twice a second), costs about a microsecond, and half of that while nobody listens:
 * the socket exists only then. NOTIFY in every commit would take a lock of the whole cluster and end group commit.
 */
#ifndef EVENT_WAKE_H
#define EVENT_WAKE_H

#include "base/arena.h"

enum wake_kind { WAKE_ROWS = 1 /* rows of the account have been committed */, WAKE_RUN = 2 /* a generation begins */ };

struct wake {
	uint32_t version, kind;
	int32_t account_no, spare;
	int64_t run_no;
};

/* The workers' side. Never NULL: without a socket nothing is sent. */
struct waker;
struct waker *waker_create(struct arena *a, const char *dir);
void wake_send(const struct waker *w, enum wake_kind kind, int32_t account_no, int64_t run_no); /* any thread; NULL is fine */

/* The reader's side: a socket in dir, close-on-exec, non-blocking; -1 with errno. */
int wake_listen(const char *dir);
void wake_unlisten(const char *dir, int fd);
bool wake_receive(int fd, struct wake *out); /* false: nothing more */

#endif
