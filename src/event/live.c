/*
 * live: generations that run, for those who listen now. eventd is one more reader of the worker's stream: it hands the
 * worker one end of a socket pair and gets what the web server would get, FastCGI records with server-sent events inside.
 * Pieces of text are told at most 20 times a second, whoever listens. What is told here has no id: it cannot be had again,
 * and what the outbox tells at the end makes it whole. See eventd_private.h.
 */
#include "event/eventd_private.h"

#include "base/json.h"
#include "base/limits.h"
#include "base/tm.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHUNK_MS 50           /* between two pieces */
#define STDOUT 6
#define RECORD_HEAD 8
#define FORGET_MS 120000      /* a run whose end the outbox does not tell */

enum live_state { LIVE_LOOKUP, LIVE_UNWANTED, LIVE_ATTACH, LIVE_ON, LIVE_ENDED /* all is heard, or nothing can be: another host's */ };

struct live {
	struct eventd *e;
	struct live *next;
	enum live_state state;
	int32_t account_no;
	int64_t run_no;
	struct arena *a;              /* of run */
	const struct outbox_run *run; /* NULL = not known yet */
	bool announced;               /* its beginning was told */
	bool busy, gone;              /* gone: the job frees it */
	int fd;
	uint8_t head[RECORD_HEAD], n_head;
	uint32_t content, padding;    /* bytes of the record that have not come */
	char *block;                  /* an event of the stream, while it comes */
	size_t n_block, cap_block;
	char *text;                   /* of the reply so far; [told, n_text) is not told yet */
	size_t n_text, cap_text, told;
	uint64_t units;               /* told, in UTF-16 units */
	int64_t told_at, changed;     /* loop time */
	uint64_t timer;
};

static void
add(char **p, size_t *n, size_t *cap, const char *more, size_t len)
{
	if (*n + len > *cap) {
		*cap = *n + len < 2 * *cap ? 2 * *cap : *n + len + 512;
		*p = realloc(*p, *cap);
		if (*p == NULL) {
			fputs("eventd: out of memory\n", stderr);
			abort();
		}
	}
	memcpy(*p + *n, more, len);
	*n += len;
}

static struct live **
bucket(struct eventd *e, int64_t run_no)
{
	return &e->lives[(uint64_t)run_no % BUCKETS];
}

static void
hang_up(struct live *l)
{
	if (l->timer)
		loop_timer_cancel(l->e->loop, l->timer);
	l->timer = 0;
	if (l->fd < 0)
		return;
	loop_unwatch(l->e->loop, l->fd);
	close(l->fd);
	l->fd = -1;
}

static void
live_free(struct live *l)
{
	hang_up(l);
	free(l->block);
	free(l->text);
	arena_destroy(&l->a);
	free(l);
}

static void
live_drop(struct live *l)
{
	for (struct live **at = bucket(l->e, l->run_no); *at; at = &(*at)->next)
		if (*at == l) {
			*at = l->next;
			break;
		}
	hang_up(l);
	l->gone = true;
	if (!l->busy)
		live_free(l);
}

/* ---- what is told ---- */

static void
tell(struct live *l, const struct told *t)
{
	hub_tell_live(l->e, l->account_no, l->run->session_id, t);
}

static void
chunk_tell(struct live *l)
{
	struct arena *a = l->e->scratch;
	struct arena_mark m = arena_mark(a);
	struct str piece = { l->text + l->told, l->n_text - l->told };
	struct told t;

	if (piece.n == 0)
		return;
	l->told = l->n_text;
	l->units += utf8_units(piece);
	l->told_at = loop_now(l->e->loop);
	tell_chunk(a, l->run, piece, l->units, &t);
	t.at = tm_now();
	tell(l, &t);
	arena_rewind(a, m);
}

static void
chunk_due(void *arg)
{
	struct live *l = arg;

	l->timer = 0;
	chunk_tell(l);
}

static void
text_more(struct live *l, struct str piece)
{
	int64_t since = loop_now(l->e->loop) - l->told_at;

	if (l->n_text + piece.n > LIM_REPLY)
		return;
	add(&l->text, &l->n_text, &l->cap_text, piece.p, piece.n);
	if (l->timer)
		return;
	if (since >= CHUNK_MS)
		chunk_tell(l);
	else
		l->timer = loop_timer(l->e->loop, CHUNK_MS - since, chunk_due, l);
}

/* One event of the stream. False: nothing more is wanted of it. */
static bool
event_heard(struct live *l, struct str block)
{
	struct arena *a = l->e->scratch;
	struct arena_mark m = arena_mark(a);
	struct str line, name = STR_NULL, data = STR_NULL;
	struct json_error err;
	struct told t;

	while (str_next(&block, '\n', &line)) {
		if (str_starts(line, STR("event: ")))
			name = str_sub(line, 7, line.n);
		else if (str_starts(line, STR("data: ")))
			data = str_sub(line, 6, line.n);
	}
	if (str_is(name, "chunk")) {
		struct str piece = json_get_str(json_read(a, data, 8, &err), "chunk");

		if (piece.n > 0)
			text_more(l, piece);
	} else if (str_is(name, "run") && tell_progress(a, l->run->session_id, data, tm_now(), &t)) {
		chunk_tell(l); /* in the order in which it was said */
		tell(l, &t);
	}
	arena_rewind(a, m);
	return !str_is(name, "done") && !str_is(name, "error");
}

/* ---- bytes of the stream ---- */

static bool
content_heard(struct live *l, const char *p, size_t n)
{
	size_t from = l->n_block > 0 ? l->n_block - 1 : 0, at;

	add(&l->block, &l->n_block, &l->cap_block, p, n);
	while ((at = str_find((struct str){ l->block, l->n_block }, STR("\n\n"), from)) != STR_NPOS) {
		bool on = event_heard(l, (struct str){ l->block, at });

		l->n_block -= at + 2;
		memmove(l->block, l->block + at + 2, l->n_block);
		from = 0;
		if (!on)
			return false;
	}
	/* The last event carries the whole answer again: the outbox has it. */
	if (l->n_block > 16 && (memcmp(l->block, "event: done\n", 12) == 0 || memcmp(l->block, "event: error\n", 13) == 0))
		return false;
	return l->n_block <= LIM_REPLY;
}

static bool
bytes_heard(struct live *l, const char *p, size_t n)
{
	while (n > 0) {
		size_t take = n;

		if (l->content == 0 && l->padding == 0) {
			l->head[l->n_head++] = (uint8_t)*p++;
			n--;
			if (l->n_head < RECORD_HEAD)
				continue;
			l->n_head = 0;
			l->content = (uint32_t)(l->head[4] << 8 | l->head[5]);
			l->padding = l->head[6];
			if (l->head[1] != STDOUT)
				return false;
			continue;
		}
		if (l->content > 0) {
			take = n < l->content ? n : l->content;
			l->content -= (uint32_t)take;
			if (!content_heard(l, p, take))
				return false;
		} else {
			take = n < l->padding ? n : l->padding;
			l->padding -= (uint32_t)take;
		}
		p += take;
		n -= take;
	}
	return true;
}

static void
stream_ready(void *arg, uint32_t events)
{
	struct live *l = arg;
	char bytes[16384];
	ssize_t n;

	(void)events;
	while ((n = recv(l->fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
		if (!bytes_heard(l, bytes, (size_t)n)) {
			n = 0;
			break;
		}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	chunk_tell(l);
	hang_up(l);
	l->state = LIVE_ENDED;
	l->changed = loop_now(l->e->loop);
}

/* ---- attaching ---- */

struct live_job {
	struct job j;
	struct live *l;
	int32_t account_no;
	int64_t run_no;
	const struct outbox_run *run; /* found, in l->a */
	const char *worker;
	struct arena *to;
	int fd;
};

static bool
job_over(struct live_job *k)
{
	k->l->busy = false;
	if (!k->l->gone)
		return false;
	live_free(k->l);
	return true;
}

static void
attach_work(struct job *j, struct ctx *c)
{
	struct live_job *k = (struct live_job *)j;
	int fds[2];

	(void)c;
	k->fd = -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
		return;
	if (peer_attach(j->e->conf.peer, k->worker, &(struct peer_reader){ .run_no = k->run_no, .request_id = 1, .observer = true }, fds[1]) == 0)
		k->fd = fds[0];
	else
		close(fds[0]);
	close(fds[1]);
}

static void
attach_done(struct job *j)
{
	struct live_job *k = (struct live_job *)j;
	struct live *l = k->l;

	if (l->gone && k->fd >= 0)
		close(k->fd);
	if (job_over(k))
		return;
	l->state = LIVE_ENDED;
	l->changed = loop_now(l->e->loop);
	if (k->fd < 0 || j->stopping)
		return;
	if (loop_watch(l->e->loop, k->fd, EPOLLIN, stream_ready, l) < 0) {
		close(k->fd);
		return;
	}
	l->fd = k->fd;
	l->state = LIVE_ON;
}

static struct live_job *
live_job(struct live *l, void (*work)(struct job *, struct ctx *), void (*done)(struct job *))
{
	struct live_job *k = (struct live_job *)job_new(l->e, sizeof(*k));

	k->l = l;
	k->j.work = work;
	k->j.done = done;
	k->account_no = l->account_no;
	k->run_no = l->run_no;
	k->to = l->a;
	k->fd = -1;
	l->busy = true;
	return k;
}

/* Who resumes has heard of what began earlier. */
static void
announce(struct eventd *e, int32_t account_no, const struct outbox_run *run)
{
	struct arena_mark m = arena_mark(e->scratch);
	struct tale tale = { 0 };

	if (run->started_at < e->since)
		return;
	tell_started(e->scratch, run, tm_now(), &tale);
	for (size_t i = 0; i < tale.v.n; i++)
		hub_tell_live(e, account_no, run->session_id, &tale.v.v[i]);
	arena_rewind(e->scratch, m);
}

/* Somebody listens: what began is told, and the stream is asked for. */
static void
begin(struct live *l)
{
	struct live_job *k;

	if (!hub_wanted(l->e, l->account_no, l->run->session_id)) {
		l->state = LIVE_UNWANTED;
		return;
	}
	announce(l->e, l->account_no, l->run);
	l->announced = true;
	l->state = LIVE_ATTACH;
	k = live_job(l, attach_work, attach_done);
	k->worker = arena_strdup(k->j.a, l->run->worker);
	job_start(&l->e->others, &k->j);
}

/* The run lives longer than the job: its rows are read into its own arena. */
static void
lookup_work(struct job *j, struct ctx *c)
{
	struct live_job *k = (struct live_job *)j;
	struct ctx own = { .a = k->to, .db = c->db, .now = c->now };

	outbox_run(&own, k->account_no, k->run_no, &k->run);
}

static void
lookup_done(struct job *j)
{
	struct live_job *k = (struct live_job *)j;
	struct live *l = k->l;

	if (job_over(k))
		return;
	if (j->stopping || k->run == NULL || !str_is(k->run->state, "running")) {
		live_drop(l); /* over already, or the database is away: the outbox will tell */
		return;
	}
	l->run = k->run;
	begin(l);
}

void
live_seen(struct eventd *e, int32_t account_no, int64_t run_no, struct str session)
{
	struct live *l;
	struct live_job *k;

	for (l = *bucket(e, run_no); l && l->run_no != run_no; l = l->next)
		;
	if (l) {
		if (l->state == LIVE_UNWANTED && !l->busy)
			begin(l);
		return;
	}
	if (!hub_wanted(e, account_no, session))
		return;
	l = calloc(1, sizeof(*l));
	if (l == NULL)
		return;
	*l = (struct live){ .e = e, .next = *bucket(e, run_no), .account_no = account_no, .run_no = run_no, .fd = -1, .changed = loop_now(e->loop) };
	*bucket(e, run_no) = l;
	l->a = arena_create("live", 4096);
	k = live_job(l, lookup_work, lookup_done);
	job_start(&e->others, &k->j);
}

void
live_over(struct eventd *e, const struct outbox_row *row)
{
	struct live *l;
	struct str text = row->run ? row->run->text : STR_NULL;

	for (l = *bucket(e, row->run_no); l && l->run_no != row->run_no; l = l->next)
		;
	if (row->run && !(l && l->announced)) /* it was over before it was looked at */
		announce(e, row->account_no, row->run);
	if (l == NULL)
		return;
	if (l->state == LIVE_ON)
		stream_ready(l, EPOLLIN); /* what is on the way; the rest is in the row */
	if (l->run && l->n_text > 0) {
		/* Only what goes on from what was heard: a reply that went on with an older one is told as a whole. */
		if (text.n > l->n_text && memcmp(text.p, l->text, l->n_text) == 0)
			add(&l->text, &l->n_text, &l->cap_text, text.p + l->n_text, text.n - l->n_text);
		chunk_tell(l);
	}
	live_drop(l);
}

void
live_tick(struct eventd *e)
{
	int64_t now = loop_now(e->loop);

	for (size_t b = 0; b < BUCKETS; b++)
		for (struct live *l = e->lives[b], *next; l; l = next) {
			next = l->next;
			if ((l->state == LIVE_ENDED || l->state == LIVE_UNWANTED) && now - l->changed > FORGET_MS)
				live_drop(l);
		}
}

void
live_stop(struct eventd *e)
{
	for (size_t b = 0; b < BUCKETS; b++)
		while (e->lives[b])
			live_drop(e->lives[b]);
}
