/*
 * loop: epoll, a heap of timers and a queue of posted work, on one thread. See loop.h.
 *
 * A watch is found by its descriptor; the epoll data also carries the watch's serial number,
 * so that an event already fetched for a descriptor which was closed (and perhaps opened again)
 * in the same round reaches nobody.
 *
 * The loop outlives every request and its tables grow and shrink with the connections, so they
 * are plain heap memory, not an arena.
 */
#include "loop.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define EVENTS_PER_ROUND 256
#define POST_SPARE 1024 /* entries a drained queue may keep for the next round */

struct watch {
	void (*fn)(void *, uint32_t);
	void *arg;
	uint32_t serial; /* 0 = not watched */
};

/* A timer's id is its birth number and its slot, so cancelling needs no search. */
#define TIMER_SLOT_BITS 24
struct timer {
	uint64_t id; /* 0 = free slot */
	int64_t due;
	void (*fn)(void *);
	void *arg;
	uint32_t at; /* place in the heap; next free slot while free */
};

struct post {
	void (*fn)(void *);
	void *arg;
};

struct posts {
	struct post *v;
	size_t n, cap;
};

struct loop {
	int epfd, wakefd;
	_Atomic pthread_t thread;
	atomic_bool stopped;
	int64_t now;

	struct watch *watches; /* by descriptor */
	size_t watches_cap;
	uint32_t serial;

	struct timer *timers; /* slots */
	uint32_t *heap;       /* of slots, earliest first */
	uint32_t n_slots, cap_slots, n_heap, free_slot;
	uint64_t births;

	pthread_mutex_t lock; /* of `queue` */
	struct posts queue;
	struct posts batch; /* loop thread: what is being run */
};

static void *
grow(void *p, size_t n, size_t size)
{
	void *q = reallocarray(p, n, size);

	if (q == NULL) {
		fputs("loop: out of memory\n", stderr);
		abort();
	}
	return q;
}

static int64_t
mono_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static uint64_t
watch_data(int fd, uint32_t serial)
{
	return (uint64_t)serial << 32 | (uint32_t)fd;
}

/* An empty loop; the calling thread counts as its thread until loop_run says otherwise. Aborts if the system
 * refuses. */
struct loop *
loop_create(void)
{
	struct loop *l = grow(NULL, 1, sizeof(*l));
	struct epoll_event ev = { .events = EPOLLIN };

	memset(l, 0, sizeof(*l));
	l->epfd = epoll_create1(EPOLL_CLOEXEC);
	l->wakefd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ev.data.u64 = watch_data(l->wakefd, 0); /* serial 0: no watch ever has it */
	if (l->epfd < 0 || l->wakefd < 0 || epoll_ctl(l->epfd, EPOLL_CTL_ADD, l->wakefd, &ev) < 0) {
		perror("loop: epoll");
		abort();
	}
	pthread_mutex_init(&l->lock, NULL);
	atomic_init(&l->thread, pthread_self());
	l->free_slot = UINT32_MAX;
	l->now = mono_ms();
	return l;
}

/* Frees the loop and sets *l to NULL. Watched descriptors stay open; posted work that has not run is dropped.
 */
void
loop_destroy(struct loop **l)
{
	if (*l == NULL)
		return;
	close((*l)->epfd);
	close((*l)->wakefd);
	pthread_mutex_destroy(&(*l)->lock);
	free((*l)->watches);
	free((*l)->timers);
	free((*l)->heap);
	free((*l)->queue.v);
	free((*l)->batch.v);
	free(*l);
	*l = NULL;
}

static void
loop_wake(struct loop *l)
{
	const uint64_t one = 1;
	ssize_t n = write(l->wakefd, &one, sizeof(one));

	(void)n; /* EAGAIN: the counter is full, so the loop is awake already */
}

/* Makes loop_run return after the callbacks of its current round. Any thread, also from a signal handler. */
void
loop_stop(struct loop *l)
{
	atomic_store(&l->stopped, true);
	loop_wake(l);
}

/* Whether the caller runs on the loop's thread. */
bool
loop_on_thread(const struct loop *l)
{
	return pthread_equal(atomic_load(&l->thread), pthread_self()) != 0;
}

/* Monotonic milliseconds, read once per round of the loop. */
int64_t
loop_now(const struct loop *l)
{
	return l->now;
}

/* Queues fn(arg) for the loop thread; it runs in the order of posting, at the latest in the next round. Any
 * thread. */
void
loop_post(struct loop *l, void (*fn)(void *), void *arg)
{
	bool first;

	pthread_mutex_lock(&l->lock);
	if (l->queue.n == l->queue.cap) {
		l->queue.cap = l->queue.cap ? l->queue.cap * 2 : 64;
		l->queue.v = grow(l->queue.v, l->queue.cap, sizeof(*l->queue.v));
	}
	first = l->queue.n == 0;
	l->queue.v[l->queue.n++] = (struct post){ fn, arg };
	pthread_mutex_unlock(&l->lock);
	/* The loop looks at the queue before it sleeps; only others need to wake it, and only once. */
	if (first && !loop_on_thread(l))
		loop_wake(l);
}

/* Runs what was posted before the call; what these post themselves waits for the next round. */
static void
run_posts(struct loop *l)
{
	struct posts spare = l->batch;

	spare.n = 0;
	pthread_mutex_lock(&l->lock);
	l->batch = l->queue;
	l->queue = spare;
	pthread_mutex_unlock(&l->lock);
	for (size_t i = 0; i < l->batch.n; i++)
		l->batch.v[i].fn(l->batch.v[i].arg);
	if (l->batch.cap > POST_SPARE) {
		free(l->batch.v);
		l->batch = (struct posts){ 0 };
	}
}

static bool
posts_waiting(struct loop *l)
{
	bool any;

	pthread_mutex_lock(&l->lock);
	any = l->queue.n > 0;
	pthread_mutex_unlock(&l->lock);
	return any;
}

/* Runs posted work until there is none: for the end of a process, when loop_run has returned. */
void
loop_flush(struct loop *l)
{
	while (posts_waiting(l))
		run_posts(l);
}

/*
 * Calls fn(arg, events) when any of `events` holds for fd. Replaces an earlier watch of fd.
 * With EPOLLONESHOT the watch sleeps after one event until it is replaced.
 * Loop thread. -1 with errno if the descriptor cannot be watched.
 */
int
loop_watch(struct loop *l, int fd, uint32_t events, void (*fn)(void *, uint32_t), void *arg)
{
	struct epoll_event ev = { .events = events };
	struct watch *w;
	bool known;

	assert(fd >= 0);
	if ((size_t)fd >= l->watches_cap) {
		size_t cap = l->watches_cap ? l->watches_cap : 64;

		while (cap <= (size_t)fd)
			cap *= 2;
		l->watches = grow(l->watches, cap, sizeof(*l->watches));
		memset(l->watches + l->watches_cap, 0, (cap - l->watches_cap) * sizeof(*l->watches));
		l->watches_cap = cap;
	}
	w = &l->watches[fd];
	known = w->serial != 0;
	if (!known && ++l->serial == 0)
		l->serial = 1;
	ev.data.u64 = watch_data(fd, known ? w->serial : l->serial);
	if (epoll_ctl(l->epfd, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &ev) < 0)
		return -1;
	*w = (struct watch){ .fn = fn, .arg = arg, .serial = known ? w->serial : l->serial };
	return 0;
}

/* Forgets fd; events of it that were already fetched are dropped. Loop thread; before the descriptor is
 * closed. */
void
loop_unwatch(struct loop *l, int fd)
{
	if (fd < 0 || (size_t)fd >= l->watches_cap || l->watches[fd].serial == 0)
		return;
	epoll_ctl(l->epfd, EPOLL_CTL_DEL, fd, NULL);
	l->watches[fd] = (struct watch){ 0 };
}

static bool
timer_before(const struct loop *l, uint32_t a, uint32_t b)
{
	const struct timer *x = &l->timers[a], *y = &l->timers[b];

	return x->due != y->due ? x->due < y->due : x->id < y->id;
}

static void
heap_put(struct loop *l, uint32_t at, uint32_t slot)
{
	l->heap[at] = slot;
	l->timers[slot].at = at;
}

static void
heap_up(struct loop *l, uint32_t at, uint32_t slot)
{
	while (at > 0 && timer_before(l, slot, l->heap[(at - 1) / 2])) {
		heap_put(l, at, l->heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	heap_put(l, at, slot);
}

static void
heap_down(struct loop *l, uint32_t at, uint32_t slot)
{
	for (;;) {
		uint32_t child = at * 2 + 1;

		if (child >= l->n_heap)
			break;
		if (child + 1 < l->n_heap && timer_before(l, l->heap[child + 1], l->heap[child]))
			child++;
		if (!timer_before(l, l->heap[child], slot))
			break;
		heap_put(l, at, l->heap[child]);
		at = child;
	}
	heap_put(l, at, slot);
}

/* Takes the timer out of the heap and frees its slot. */
static void
timer_remove(struct loop *l, uint32_t slot)
{
	uint32_t at = l->timers[slot].at, last = l->heap[--l->n_heap];

	if (last != slot) {
		heap_up(l, at, last);
		if (l->timers[last].at == at)
			heap_down(l, at, last);
	}
	l->timers[slot] = (struct timer){ .at = l->free_slot };
	l->free_slot = slot;
}

/* Calls fn(arg) once, ms (>= 0) from now. The id is never reused. Loop thread. */
uint64_t
loop_timer(struct loop *l, int64_t ms, void (*fn)(void *), void *arg)
{
	uint32_t slot = l->free_slot;

	if (slot == UINT32_MAX) {
		if (l->n_slots == l->cap_slots) {
			l->cap_slots = l->cap_slots ? l->cap_slots * 2 : 32;
			l->timers = grow(l->timers, l->cap_slots, sizeof(*l->timers));
			l->heap = grow(l->heap, l->cap_slots, sizeof(*l->heap));
		}
		slot = l->n_slots++;
		assert(slot < 1u << TIMER_SLOT_BITS);
	} else {
		l->free_slot = l->timers[slot].at;
	}
	/* From the clock, not from the round's start: a callback may have worked for a while. */
	l->timers[slot] = (struct timer){
		.id = ++l->births << TIMER_SLOT_BITS | slot,
		.due = mono_ms() + (ms > 0 ? ms : 0),
		.fn = fn,
		.arg = arg,
	};
	heap_up(l, l->n_heap++, slot);
	return l->timers[slot].id;
}

/* Forgets the timer; harmless if it has fired, was cancelled or is 0. Loop thread. */
void
loop_timer_cancel(struct loop *l, uint64_t id)
{
	uint32_t slot = (uint32_t)(id & ((1u << TIMER_SLOT_BITS) - 1));

	if (id != 0 && slot < l->n_slots && l->timers[slot].id == id)
		timer_remove(l, slot);
}

static void
run_timers(struct loop *l)
{
	uint64_t newest = l->births; /* timers born in here wait for the next round */

	while (l->n_heap > 0 && l->timers[l->heap[0]].due <= l->now) {
		struct timer t = l->timers[l->heap[0]];

		if (t.id >> TIMER_SLOT_BITS > newest)
			break;
		timer_remove(l, l->heap[0]);
		t.fn(t.arg);
	}
}

static int
wait_ms(struct loop *l)
{
	int64_t ms;

	if (posts_waiting(l))
		return 0;
	if (l->n_heap == 0)
		return -1;
	ms = l->timers[l->heap[0]].due - mono_ms();
	return ms < 0 ? 0 : ms > 60000 ? 60000 : (int)ms;
}

/* Serves until loop_stop; returns 0. The calling thread is the loop thread from here on. */
int
loop_run(struct loop *l)
{
	struct epoll_event events[EVENTS_PER_ROUND];

	atomic_store(&l->thread, pthread_self());
	while (!atomic_load(&l->stopped)) {
		int n = epoll_wait(l->epfd, events, EVENTS_PER_ROUND, wait_ms(l));

		l->now = mono_ms();
		for (int i = 0; i < n; i++) {
			int fd = (int)(uint32_t)events[i].data.u64;
			uint32_t serial = (uint32_t)(events[i].data.u64 >> 32);

			if (serial == 0) {
				uint64_t count;
				ssize_t got = read(l->wakefd, &count, sizeof(count));

				(void)got;
			} else if ((size_t)fd < l->watches_cap && l->watches[fd].serial == serial) {
				l->watches[fd].fn(l->watches[fd].arg, events[i].events);
			}
		}
		run_timers(l);
		run_posts(l);
	}
	atomic_store(&l->stopped, false); /* it may be run again */
	return 0;
}
