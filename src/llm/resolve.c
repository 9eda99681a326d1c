#include "llm/resolve.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ASKING_MAX = 64, STACK_BYTES = 256 * 1024 };

/* One question, owned by whoever is the last to leave it: the thread that asks or the one that waits. */
struct question {
	pthread_mutex_t lock;
	pthread_cond_t done_cond;
	resolve_fn *fn;
	char *host;
	struct addrinfo *list;
	int rc;
	bool done, abandoned;
};

static pthread_mutex_t count_lock = PTHREAD_MUTEX_INITIALIZER;
static int asking; /* threads, those nobody waits for included */

static struct question *
question_new(resolve_fn *fn, const char *host)
{
	struct question *q = calloc(1, sizeof *q);
	pthread_condattr_t attr;

	if (!q || !(q->host = strdup(host)))
		abort();
	q->fn = fn ? fn : getaddrinfo;
	pthread_mutex_init(&q->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&q->done_cond, &attr);
	pthread_condattr_destroy(&attr);
	return q;
}

static void
question_free(struct question *q)
{
	pthread_cond_destroy(&q->done_cond);
	pthread_mutex_destroy(&q->lock);
	free(q->host);
	free(q);
}

static bool
count_up(void)
{
	bool room;

	pthread_mutex_lock(&count_lock);
	room = asking < ASKING_MAX;
	asking += room;
	pthread_mutex_unlock(&count_lock);
	return room;
}

static void
count_down(void)
{
	pthread_mutex_lock(&count_lock);
	asking--;
	pthread_mutex_unlock(&count_lock);
}

static void *
ask(void *arg)
{
	struct question *q = arg;
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list = NULL;
	int rc = q->fn(q->host, NULL, &hints, &list);
	bool mine;

	pthread_mutex_lock(&q->lock);
	q->rc = rc;
	q->list = list;
	q->done = true;
	mine = q->abandoned;
	pthread_cond_signal(&q->done_cond);
	pthread_mutex_unlock(&q->lock);
	count_down();
	if (mine) {
		if (rc == 0 && list)
			freeaddrinfo(list);
		question_free(q);
	}
	return NULL;
}

static bool
ask_begin(struct question *q)
{
	pthread_attr_t attr;
	pthread_t thread;
	int rc;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	rc = pthread_create(&thread, &attr, ask, q);
	pthread_attr_destroy(&attr);
	return rc == 0;
}

static void
wait_done(struct question *q, int ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	while (!q->done && pthread_cond_timedwait(&q->done_cond, &q->lock, &until) != ETIMEDOUT)
		;
}

int
resolve_host(resolve_fn *fn, const char *host, int ms, struct addrinfo **list_out)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct question *q;
	bool done;
	int rc;

	if (ms <= 0)
		return (fn ? fn : getaddrinfo)(host, NULL, &hints, list_out);
	if (!count_up())
		return RESOLVE_LATE; /* so many are stuck that this one would be too */
	q = question_new(fn, host);
	if (!ask_begin(q)) {
		count_down();
		question_free(q);
		return EAI_AGAIN;
	}
	pthread_mutex_lock(&q->lock);
	wait_done(q, ms);
	done = q->done;
	q->abandoned = !done;
	rc = done ? q->rc : RESOLVE_LATE;
	if (done && rc == 0)
		*list_out = q->list;
	pthread_mutex_unlock(&q->lock);
	if (done)
		question_free(q);
	return rc;
}
