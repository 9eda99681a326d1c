/*
 * loop: one thread per process that waits for everything: epoll, timers, work posted by other
 * threads. It knows no protocol. All callbacks run on the loop thread; only loop_post,
 * loop_stop and loop_on_thread may be called from others. No libpq, no blocking call here.
 */
#ifndef LOOP_LOOP_H
#define LOOP_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct loop;

/* Heap memory of its own: a loop outlives every arena but the process's. */
struct loop *loop_create(void);
void loop_destroy(struct loop **l);
int loop_run(struct loop *l);                     /* until loop_stop; 0 */
void loop_flush(struct loop *l);                  /* runs what is posted until nothing is, without waiting; not inside loop_run */
void loop_stop(struct loop *l);                   /* any thread */
bool loop_on_thread(const struct loop *l);

/* Any thread: fn(arg) soon, in the order of posting. */
void loop_post(struct loop *l, void (*fn)(void *), void *arg);

/* Level-triggered unless EPOLLET is in events. Replaces an earlier watch of fd. -1 with errno. */
int loop_watch(struct loop *l, int fd, uint32_t events, void (*fn)(void *, uint32_t), void *arg);
void loop_unwatch(struct loop *l, int fd);        /* before closing it; pending events of fd are dropped */

/* One shot after ms (>= 0). The id is never reused; cancelling a fired timer is harmless. */
uint64_t loop_timer(struct loop *l, int64_t ms, void (*fn)(void *), void *arg);
void loop_timer_cancel(struct loop *l, uint64_t id);

int64_t loop_now(const struct loop *l);           /* monotonic ms, cached per round */

#endif
