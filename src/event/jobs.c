/* jobs: helper threads, for everything that the loop must not wait for. */
#include "event/eventd_private.h"

#include "base/tm.h"

#include <errno.h>

struct job *
job_new(struct eventd *e, size_t size)
{
	struct arena *a = arena_create("job", 4096);
	struct job *j = arena_alloc(a, size);

	j->e = e;
	j->a = a;
	return j;
}

static void
job_done(void *arg)
{
	struct job *j = arg;
	struct arena *a = j->a;

	j->done(j);
	arena_destroy(&a);
}

static void *
helper(void *arg)
{
	struct helpers *h = arg;

	pthread_mutex_lock(&h->lock);
	for (;;) {
		struct job *j;

		while (h->first == NULL && !h->stop)
			pthread_cond_wait(&h->some, &h->lock);
		j = h->first;
		if (j == NULL)
			break;
		h->first = j->next;
		if (h->first == NULL)
			h->last = &h->first;
		j->stopping = h->stop;
		pthread_mutex_unlock(&h->lock);
		if (!j->stopping)
			j->work(j, &(struct ctx){ .a = j->a, .db = h->e->conf.db_sys, .now = tm_now() });
		loop_post(h->e->loop, job_done, j);
		pthread_mutex_lock(&h->lock);
	}
	pthread_mutex_unlock(&h->lock);
	return NULL;
}

void
job_start(struct helpers *h, struct job *j)
{
	pthread_mutex_lock(&h->lock);
	*h->last = j;
	h->last = &j->next;
	pthread_cond_signal(&h->some);
	pthread_mutex_unlock(&h->lock);
}

int
helpers_start(struct helpers *h, struct eventd *e, int threads)
{
	pthread_attr_t attr;
	int rc = 0;

	h->e = e;
	h->last = &h->first;
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->some, NULL);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 512 << 10);
	while (rc == 0 && h->n < threads)
		if ((rc = pthread_create(&h->threads[h->n], &attr, helper, h)) == 0)
			h->n++;
	pthread_attr_destroy(&attr);
	errno = rc;
	return rc == 0 ? 0 : -1;
}

void
helpers_stop(struct helpers *h)
{
	pthread_mutex_lock(&h->lock);
	h->stop = true;
	pthread_cond_broadcast(&h->some);
	pthread_mutex_unlock(&h->lock);
	for (int i = 0; i < h->n; i++)
		pthread_join(h->threads[i], NULL);
	h->n = 0;
}
