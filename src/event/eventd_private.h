/*
 * eventd_private: what the files of the daemon share. Everything is the loop thread's, unless it says otherwise.
 */
#ifndef EVENT_EVENTD_PRIVATE_H
#define EVENT_EVENTD_PRIVATE_H

#include "event/eventd.h"
#include "event/head.h"
#include "event/tell.h"
#include "event/wake.h"

#include <pthread.h>

#define BUCKETS 256

/* ---- jobs.c: what waits, on helper threads ---- */

struct job {
	void (*work)(struct job *, struct ctx *); /* helper thread; c->a is the job's arena, c->db is db_sys */
	void (*done)(struct job *);               /* loop thread; the arena goes afterwards */
	struct eventd *e;
	struct arena *a;
	struct job *next;
	bool stopping; /* the process ends: work was not called */
};

struct helpers {
	struct eventd *e;
	pthread_t threads[2];
	int n;
	pthread_mutex_t lock;
	pthread_cond_t some;
	struct job *first, **last;
	bool stop;
};

/* A job of size bytes (its struct job first) in an arena of its own. */
struct job *job_new(struct eventd *e, size_t size);
void job_start(struct helpers *h, struct job *j);
int helpers_start(struct helpers *h, struct eventd *e, int threads); /* -1 with errno */
void helpers_stop(struct helpers *h);                                /* joins; jobs that wait are done as `stopping` */

/* ---- client.c: connections ---- */

enum client_state { CLIENT_HEAD, CLIENT_CHECK, CLIENT_OPEN, CLIENT_BYE /* what is queued goes out, then the end */, CLIENT_GONE /* a job still knows it */ };

struct client {
	struct eventd *e;
	struct client *prev, *next;             /* all */
	struct client *chain_prev, *chain_next; /* of its account, or of those who hear all */
	int fd;
	uint8_t state;   /* enum client_state */
	uint32_t check;  /* its place in the list that is being checked */
	bool ws, all;    /* all: every account's */
	bool live;       /* has heard everything up to e->pos */
	bool busy;       /* a job is on the way */
	bool blocked;    /* waiting for EPOLLOUT */
	int32_t account_no;
	char *session;   /* NULL = all of the account */
	char *hash;      /* of the API key; NULL = another credential */
	int64_t expires; /* ms; 0 = does not */
	struct event_pos pos; /* of one that is not live */
	char *in;        /* the head, while it comes */
	size_t n_in;
	struct ws_in *frame;
	char *out;       /* what the socket did not take */
	size_t n_out, cap_out, sent;
	int64_t wrote, heard, pinged; /* loop time */
};

void clients_accept(void *e, uint32_t events);
void client_put(struct client *c, struct str bytes);    /* sends or queues; may close it */
void client_close(struct client *c);                    /* at once; its memory stays until the loop's next round, or its job's end */
void client_free(void *client);                         /* by the job of a client that is gone */
void client_bye(struct client *c, enum ws_code code, const char *why);
void clients_tick(struct eventd *e);                    /* once a second: pings, time-outs */
struct client *clients_of(struct eventd *e, int32_t account_no); /* chain; those of other accounts are among them */

/* ---- hub.c: the outbox to the clients ---- */

/* As the client takes it, in the scratch arena; id NULL = it has none. */
struct str hub_text(struct client *c, const struct told *t, const struct event_pos *id);
void hub_join(struct client *c, struct event_pos now, const struct event_pos *from); /* opened; from: it has heard up to there, NULL = it begins now */
void hub_leave(struct client *c);
void hub_drained(struct client *c);                     /* its queue has gone out */
void hub_wake(struct eventd *e, int delay_ms);
void hub_tick(struct eventd *e);
bool hub_wanted(struct eventd *e, int32_t account_no, struct str session_id); /* does anybody who is live listen to it? */
void hub_tell_live(struct eventd *e, int32_t account_no, struct str session_id, const struct told *t); /* an event without id */
void hub_stop(struct eventd *e);

/* ---- live.c: generations that run ---- */

struct live;
void live_seen(struct eventd *e, int32_t account_no, int64_t run_no, struct str session_id); /* session absent: not known yet */
void live_over(struct eventd *e, const struct outbox_row *row); /* the outbox tells its end: what was not told of the text is, before */
void live_tick(struct eventd *e);
void live_stop(struct eventd *e);

struct eventd {
	struct arena *arena;
	struct loop *loop;
	struct eventd_conf conf;
	struct helpers reader;  /* one thread: the outbox, for all */
	struct helpers others;  /* the rest: who is that, what was, attach */
	struct arena *scratch;  /* of one call */

	struct client *clients, *chains[BUCKETS], *everything; /* everything: those who hear all */
	int n_clients, n_open;
	uint64_t tick;

	struct event_pos pos;   /* told up to here; meaningful while somebody listens */
	bool pos_known;
	int64_t since;          /* ms: it has been listened to since then; what began before was told, if at all, by another process */
	int wake_fd;            /* -1 = nobody listens */
	const struct reading *reading; /* on the way */
	bool read_again, read_stale, look_running;
	int read_delay;         /* ms, while rows wait */
	uint64_t read_timer;
	int64_t read_at;        /* loop time of the last one */
	uint64_t allowed_tick;
	bool checking;

	struct live *lives[BUCKETS];

	bool draining;
	uint64_t drain_timer;
	void (*drained)(void *);
	void *drained_arg;
};

#endif
