/*
 * hub: from the outbox to those who listen. One read serves everybody who is `live`: has heard all there is up to e->pos. Who
 * comes back with an id, or takes too slowly what is sent, reads on its own from its own place until it is live again;
 * so no queue is longer than QUEUE_MAX and one row's events. See eventd_private.h.
 */
#include "event/eventd_private.h"

#include "base/log.h"
#include "base/metric.h"
#include "base/tm.h"

#include <stdlib.h>
#include <sys/epoll.h>

#define POLL_MS 500      /* other hosts' workers wake nobody here */
#define GAP_MS 8         /* between two reads */
#define WAIT_MAX 100     /* while rows wait for a transaction */
#define READ_ROWS 256
#define REPLAY_ROWS 64
#define QUEUE_MAX (256u << 10)
#define CHUNK_QUEUE_MAX (64u << 10) /* pieces of a reply are not queued behind so much */
#define ACCOUNTS_MAX 1024           /* named in one read; more = all are read */
#define CHECK_TICKS 20              /* seconds: are they all still allowed to listen? */

/* ---- what is sent ---- */

/* JSON has line breaks only between its tokens; a line of an event stream has none. */
static void
add_line(struct sb *sb, struct str json)
{
	size_t from = sb->n;

	sb_add(sb, json);
	for (size_t i = from; i < sb->n; i++)
		if (sb->p[i] == '\n' || sb->p[i] == '\r')
			sb->p[i] = ' ';
}

static void
add_message(struct sb *sb, const struct told *t, const struct event_pos *id)
{
	sb_adds(sb, "{\"type\":\"event\",\"event\":");
	sb_add_json(sb, str_c(t->name));
	sb_adds(sb, ",\"data\":");
	add_line(sb, t->data);
	sb_addf(sb, ",\"timestamp\":%lld", (long long)t->at);
	if (id) {
		sb_adds(sb, ",\"id\":\"");
		event_pos_add(sb, *id);
		sb_addc(sb, '"');
	}
	sb_addc(sb, '}');
}

static struct str
framed(struct arena *a, bool ws, const struct told *t, const struct event_pos *id)
{
	struct sb message = sb_new(a), out = sb_new(a);

	add_message(&message, t, id);
	if (ws) {
		ws_add_frame(&out, WS_TEXT, sb_str(&message));
		return sb_str(&out);
	}
	sb_addf(&out, "event: %s\n", t->name);
	if (id) {
		sb_adds(&out, "id: ");
		event_pos_add(&out, *id);
		sb_addc(&out, '\n');
	}
	sb_adds(&out, "data: ");
	sb_add(&out, sb_str(&message));
	sb_adds(&out, "\n\n");
	return sb_str(&out);
}

struct str
hub_text(struct client *c, const struct told *t, const struct event_pos *id)
{
	return framed(c->e->scratch, c->ws, t, id);
}

/* An event in both forms, each made when the first client wants it. */
struct saying {
	const struct told *t;
	const struct event_pos *id;
	struct str text[2]; /* [ws] */
};

static struct str
said_to(struct saying *s, const struct client *c)
{
	metric_add(METRIC_EVENTS_SENT, 1);
	if (s->id && !s->text[0].p && !s->text[1].p)
		metric_time(METRIC_TIME_EVENT_LAG, (tm_now() - s->t->at) * 1000);
	if (s->text[c->ws].p == NULL)
		s->text[c->ws] = framed(c->e->scratch, c->ws, s->t, s->id);
	return s->text[c->ws];
}

/* The id of the k-th of n events of a row. */
static struct event_pos
part_id(struct event_pos row, size_t k, size_t n)
{
	row.part = k + 1 < n ? (unsigned)k + 1 : 0;
	return row;
}

/* ---- who listens ---- */

static bool
listens(const struct client *c, int32_t account_no, struct str session)
{
	return c->live && (c->all || (c->account_no == account_no && (c->session == NULL || str_is(session, c->session))));
}

bool
hub_wanted(struct eventd *e, int32_t account_no, struct str session)
{
	for (struct client *c = e->everything; c; c = c->chain_next)
		if (c->live)
			return true;
	for (struct client *c = clients_of(e, account_no); c; c = c->chain_next)
		if (session.p ? listens(c, account_no, session) : c->live && c->account_no == account_no)
			return true;
	return false;
}

static void
chain_in(struct client *c)
{
	struct client **head = c->all ? &c->e->everything : &c->e->chains[(uint32_t)c->account_no % BUCKETS];

	c->chain_prev = NULL;
	c->chain_next = *head;
	if (*head)
		(*head)->chain_prev = c;
	*head = c;
	c->e->n_open++;
}

void
hub_leave(struct client *c)
{
	struct eventd *e = c->e;
	struct client **head = c->all ? &e->everything : &e->chains[(uint32_t)c->account_no % BUCKETS];

	if (c->chain_prev == NULL && *head != c)
		return;
	*(c->chain_prev ? &c->chain_prev->chain_next : head) = c->chain_next;
	if (c->chain_next)
		c->chain_next->chain_prev = c->chain_prev;
	c->chain_prev = c->chain_next = NULL;
	c->live = false;
	if (--e->n_open > 0)
		return;
	hub_stop(e);
	live_stop(e);
}

/* ---- one client reads on its own ---- */

static bool reads_for(const struct reading *r, const struct client *c);

struct replay {
	struct job j;
	struct client *c;
	struct outbox_query q;
	int32_t account;
	int rc;
	struct outbox_batch batch;
	struct tale *tales; /* of batch.rows */
};

static struct tale *
tell_batch(struct arena *a, const struct outbox_batch *b)
{
	struct tale *tales = arena_array(a, struct tale, b->rows.n + 1);

	for (size_t i = 0; i < b->rows.n; i++)
		tell_row(a, &b->rows.v[i], &tales[i]);
	return tales;
}

static void
replay_work(struct job *j, struct ctx *c)
{
	struct replay *r = (struct replay *)j;

	r->rc = outbox_read(c, &r->q, &r->batch);
	if (r->rc == 0)
		r->tales = tell_batch(j->a, &r->batch);
}

static void replay_next(struct client *c);

static void
replay_later(void *arg)
{
	struct client *c = arg;

	c->busy = false;
	if (c->state == CLIENT_GONE)
		client_free(c);
	else if (c->state == CLIENT_OPEN)
		replay_next(c);
}

static void
replay_say(struct client *c, const struct replay *r)
{
	for (size_t i = 0; i < r->batch.rows.n; i++) {
		const struct outbox_row *row = &r->batch.rows.v[i];
		size_t n = r->tales[i].v.n;
		/* Of the row in which it was left, the rest. */
		size_t k = event_pos_cmp(row->pos, c->pos) == 0 ? c->pos.part : 0;

		for (; k < n; k++) {
			struct event_pos id = part_id(row->pos, k, n);

			client_put(c, framed(c->e->scratch, c->ws, &r->tales[i].v.v[k], &id));
			arena_reset(c->e->scratch);
			if (c->state != CLIENT_OPEN)
				return;
		}
	}
	c->pos = r->batch.end;
}

static void
replay_done(struct job *j)
{
	struct replay *r = (struct replay *)j;
	struct client *c = r->c;

	if (c->state == CLIENT_OPEN && !j->stopping && r->rc < 0) { /* the database is away: the client need not know */
		loop_timer(c->e->loop, POLL_MS, replay_later, c);
		return;
	}
	if (c->state == CLIENT_OPEN && !j->stopping)
		replay_say(c, r);
	replay_later(c);
}

/* It hears what all hear from here on: but not what it has heard before, be it from another eventd that was further. */
static void
live_begin(struct client *c)
{
	struct eventd *e = c->e;

	c->live = true;
	if (e->reading && !reads_for(e->reading, c))
		e->read_stale = true;
	e->look_running = true;
	hub_wake(e, 0);
}

/* As much as is known to be complete; then it is live. */
static void
replay_next(struct client *c)
{
	struct eventd *e = c->e;
	struct replay *r;
	int ahead = event_pos_cmp(c->pos, e->pos);

	if (c->live || c->busy || c->n_out > 0)
		return;
	if (c->pos.part == 0 && ahead >= 0) {
		live_begin(c);
		return;
	}
	if (ahead > 0) { /* in the middle of a row that is still to be read */
		c->busy = true;
		hub_wake(e, 0);
		loop_timer(e->loop, GAP_MS, replay_later, c);
		return;
	}
	r = (struct replay *)job_new(e, sizeof(*r));
	r->c = c;
	r->account = c->account_no;
	r->j.work = replay_work;
	r->j.done = replay_done;
	r->q = (struct outbox_query){ .after = c->pos, .until = e->pos, .limit = REPLAY_ROWS, .session_id = arena_str(r->j.a, str_c(c->session)) };
	if (!c->all) {
		r->q.accounts = &r->account;
		r->q.n_accounts = 1;
	}
	c->busy = true;
	job_start(&e->others, &r->j);
}

void
hub_drained(struct client *c)
{
	replay_next(c);
}

static void
wake_ready(void *arg, uint32_t events)
{
	struct eventd *e = arg;
	struct wake w;

	(void)events;
	while (wake_receive(e->wake_fd, &w)) {
		if (w.kind == WAKE_RUN)
			live_seen(e, w.account_no, w.run_no, STR_NULL);
		else if (hub_wanted(e, w.account_no, STR_NULL))
			hub_wake(e, 0);
	}
}

void
hub_join(struct client *c, struct event_pos now, const struct event_pos *from)
{
	struct eventd *e = c->e;

	chain_in(c);
	if (e->wake_fd < 0) {
		e->wake_fd = wake_listen(e->conf.dir);
		if (e->wake_fd < 0 || loop_watch(e->loop, e->wake_fd, EPOLLIN, wake_ready, e) < 0)
			log_warn("event.not_woken", "dir=%s: events come up to %d ms late", e->conf.dir, POLL_MS);
	}
	if (!e->pos_known) {
		e->pos = now;
		e->pos_known = true;
		e->since = tm_now();
	}
	/* Who begins now may have seen, by other routes, all that is committed before: it wants what comes after. */
	c->pos = from ? *from : now;
	replay_next(c);
}

/* ---- one read for all ---- */

struct reading {
	struct job j;
	struct outbox_query q;
	int rc;
	struct outbox_batch batch;
	struct tale *tales;
	bool look;
	VEC(struct running {
		int32_t account_no;
		int64_t run_no;
		struct str session_id;
	}) running;
};

/* Does a read that is on the way look at what this client wants? */
static bool
reads_for(const struct reading *r, const struct client *c)
{
	for (size_t i = 0; i < r->q.n_accounts; i++)
		if (!c->all && r->q.accounts[i] == c->account_no)
			return true;
	return r->q.accounts == NULL;
}

static int
running_unit(struct ctx *c, void *arg)
{
	struct reading *r = arg;
	struct sb list = sb_new(c->a);
	struct rows *rs;
	int rc;

	for (size_t i = 0; i < r->q.n_accounts; i++)
		sb_addf(&list, "%c%d", i ? ',' : '{', r->q.accounts[i]);
	sb_addc(&list, '}');
	rs = db_query(c, STMT_event_running, r->q.accounts ? P_STR(sb_str(&list)) : P_NULL);
	r->running.n = 0;
	while ((rc = rows_next(rs)) > 0)
		vec_push(c->a, &r->running, ((struct running){ (int32_t)row_int(rs, 0), row_int(rs, 1), row_str(rs, 2) }));
	return rc;
}

static void
reading_work(struct job *j, struct ctx *c)
{
	struct reading *r = (struct reading *)j;

	r->rc = outbox_read(c, &r->q, &r->batch);
	if (r->rc == 0)
		r->tales = tell_batch(j->a, &r->batch);
	if (r->rc == 0 && r->look)
		r->rc = db_tx(c, DB_SYSTEM, running_unit, r);
	if (r->rc < 0)
		log_warn("event.not_read", "code=%s reason=\"%s\"", c->err.code ? c->err.code : "", c->err.log ? c->err.log : "");
}

/* To one chain. Who has too much to take already is left behind before the row, and reads it later on its own. */
static void
say_row(struct client *chain, const struct outbox_row *row, struct saying *sayings, size_t n)
{
	struct client *next;

	for (struct client *c = chain; c; c = next) {
		next = c->chain_next;
		if (!listens(c, row->account_no, row->session_id) || event_pos_cmp(row->pos, c->pos) <= 0)
			continue;
		if (c->n_out - c->sent > QUEUE_MAX) {
			c->live = false;
			c->pos = c->e->pos;
			continue;
		}
		for (size_t k = 0; k < n && c->state == CLIENT_OPEN; k++)
			client_put(c, said_to(&sayings[k], c));
	}
}

static void
row_done(struct eventd *e, const struct outbox_row *row, const struct tale *tale)
{
	size_t n = tale->v.n;
	struct event_pos *ids = arena_array(e->scratch, struct event_pos, n + 1);
	struct saying *sayings = arena_array(e->scratch, struct saying, n + 1);

	if (row->run_no > 0)
		live_over(e, row);
	for (size_t k = 0; k < n; k++) {
		ids[k] = part_id(row->pos, k, n);
		sayings[k] = (struct saying){ .t = &tale->v.v[k], .id = &ids[k] };
	}
	say_row(clients_of(e, row->account_no), row, sayings, n);
	say_row(e->everything, row, sayings, n);
	e->pos = row->pos;
	arena_reset(e->scratch);
}

static void
reading_done(struct job *j)
{
	struct reading *r = (struct reading *)j;
	struct eventd *e = j->e;

	e->reading = NULL;
	e->read_at = loop_now(e->loop);
	if (j->stopping || e->n_open == 0)
		return;
	if (r->rc < 0) {
		hub_wake(e, POLL_MS);
		return;
	}
	if (e->read_stale || event_pos_cmp(r->q.after, e->pos) != 0) {
		hub_wake(e, 0); /* again, with all who listen now */
		return;
	}
	for (size_t i = 0; i < r->batch.rows.n && e->n_open > 0; i++)
		row_done(e, &r->batch.rows.v[i], &r->tales[i]);
	if (e->n_open == 0)
		return;
	e->pos = r->batch.end;
	for (size_t i = 0; i < r->running.n; i++)
		live_seen(e, r->running.v[i].account_no, r->running.v[i].run_no, r->running.v[i].session_id);
	e->read_delay = !r->batch.waiting ? 0 : e->read_delay == 0 ? GAP_MS : e->read_delay * 2 < WAIT_MAX ? e->read_delay * 2 : WAIT_MAX;
	hub_wake(e, r->batch.full || e->read_again ? 0 : e->read_delay > 0 ? e->read_delay : POLL_MS);
}

static int
int32_order(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return x < y ? -1 : x > y;
}

/* The accounts of those who listen; NULL = all. */
static void
accounts_named(struct eventd *e, struct outbox_query *q, struct arena *a)
{
	int32_t *v;
	size_t n = 0;

	if (e->everything || e->n_open > 16 * ACCOUNTS_MAX)
		return;
	v = arena_array(a, int32_t, (size_t)e->n_open + 1);
	for (size_t b = 0; b < BUCKETS; b++)
		for (struct client *c = e->chains[b]; c; c = c->chain_next)
			v[n++] = c->account_no;
	qsort(v, n, sizeof(*v), int32_order);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || v[i] != v[q->n_accounts - 1])
			v[q->n_accounts++] = v[i];
	if (q->n_accounts <= ACCOUNTS_MAX)
		q->accounts = v;
	else
		q->n_accounts = 0;
}

static void
read_now(void *arg)
{
	struct eventd *e = arg;
	struct reading *r;

	e->read_timer = 0;
	if (e->reading || e->n_open == 0)
		return;
	r = (struct reading *)job_new(e, sizeof(*r));
	r->j.work = reading_work;
	r->j.done = reading_done;
	r->q = (struct outbox_query){ .after = e->pos, .until = EVENT_POS_END, .limit = READ_ROWS };
	accounts_named(e, &r->q, r->j.a);
	r->look = e->look_running || loop_now(e->loop) - e->read_at >= POLL_MS;
	e->look_running = e->read_stale = e->read_again = false;
	e->reading = r;
	job_start(&e->reader, &r->j);
}

void
hub_wake(struct eventd *e, int delay)
{
	int64_t since = loop_now(e->loop) - e->read_at;

	if (e->n_open == 0)
		return;
	if (e->reading) {
		e->read_again = e->read_again || delay == 0;
		return;
	}
	if (delay < GAP_MS && since < GAP_MS)
		delay = (int)(GAP_MS - since);
	if (e->read_timer)
		loop_timer_cancel(e->loop, e->read_timer);
	e->read_timer = loop_timer(e->loop, delay, read_now, e);
}

void
hub_tell_live(struct eventd *e, int32_t account_no, struct str session, const struct told *t)
{
	struct saying s = { .t = t };
	struct client *chains[2] = { clients_of(e, account_no), e->everything }, *next;

	for (int i = 0; i < 2; i++)
		for (struct client *c = chains[i]; c; c = next) {
			next = c->chain_next;
			if (listens(c, account_no, session) && c->n_out - c->sent < CHUNK_QUEUE_MAX)
				client_put(c, said_to(&s, c));
		}
}

/* Nobody listens: nothing is read, and no worker has to say anything. */
void
hub_stop(struct eventd *e)
{
	if (e->wake_fd >= 0) {
		loop_unwatch(e->loop, e->wake_fd);
		wake_unlisten(e->conf.dir, e->wake_fd);
		e->wake_fd = -1;
	}
	if (e->read_timer)
		loop_timer_cancel(e->loop, e->read_timer);
	e->read_timer = 0;
	e->pos_known = false;
	e->read_delay = 0;
}

/* ---- are they still allowed? ---- */

struct allowed {
	struct job j;
	VEC(struct client *) clients;
	struct str accounts, hashes, sessions, admins;
	bool *kept;
	int rc;
};

static void
add_array_text(struct sb *sb, const char *s)
{
	if (s == NULL) {
		sb_adds(sb, "NULL");
		return;
	}
	sb_addc(sb, '"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			sb_addc(sb, '\\');
		sb_addc(sb, *s);
	}
	sb_addc(sb, '"');
}

static int
allowed_unit(struct ctx *c, void *arg)
{
	struct allowed *k = arg;
	struct rows *rs = db_query(c, STMT_event_allowed, P_STR(k->accounts), P_STR(k->hashes), P_STR(k->sessions), P_STR(k->admins), P_INT(c->now));
	int rc;

	memset(k->kept, 0, k->clients.n * sizeof(*k->kept));
	while ((rc = rows_next(rs)) > 0)
		k->kept[row_int(rs, 0) - 1] = true;
	return rc;
}

static void
allowed_work(struct job *j, struct ctx *c)
{
	struct allowed *k = (struct allowed *)j;

	k->rc = db_tx(c, DB_SYSTEM, allowed_unit, k);
}

static void
allowed_done(struct job *j)
{
	struct allowed *k = (struct allowed *)j;
	struct eventd *e = j->e;

	e->checking = false;
	/* Clients may have gone meanwhile, and their memory may be another's: only who is still there counts. */
	for (struct client *c = e->clients, *next; c && k->rc == 0 && !j->stopping; c = next) {
		next = c->next;
		if (c->state == CLIENT_OPEN && c->check < k->clients.n && k->clients.v[c->check] == c && !k->kept[c->check])
			client_bye(c, WS_POLICY, "the credential or the session is gone");
	}
}

static void
allowed_start(struct eventd *e)
{
	struct allowed *k = (struct allowed *)job_new(e, sizeof(*k));
	struct arena *a = k->j.a;
	struct sb accounts = sb_new(a), hashes = sb_new(a), sessions = sb_new(a), admins = sb_new(a);

	for (struct client *c = e->clients; c; c = c->next) {
		const char *sep = k->clients.n ? "," : "{";

		c->check = UINT32_MAX;
		if (c->state != CLIENT_OPEN)
			continue;
		c->check = (uint32_t)k->clients.n;
		vec_push(a, &k->clients, c);
		sb_addf(&accounts, "%s%d", sep, c->account_no);
		sb_adds(&hashes, sep);
		add_array_text(&hashes, c->hash);
		sb_adds(&sessions, sep);
		add_array_text(&sessions, c->session);
		sb_addf(&admins, "%s%c", sep, c->all ? 't' : 'f');
	}
	sb_addc(&accounts, '}');
	sb_addc(&hashes, '}');
	sb_addc(&sessions, '}');
	sb_addc(&admins, '}');
	k->accounts = sb_str(&accounts);
	k->hashes = sb_str(&hashes);
	k->sessions = sb_str(&sessions);
	k->admins = sb_str(&admins);
	k->kept = arena_array(a, bool, k->clients.n);
	k->j.work = allowed_work;
	k->j.done = allowed_done;
	e->checking = true;
	job_start(&e->others, &k->j);
}

void
hub_tick(struct eventd *e)
{
	if (e->n_open > 0 && e->tick % CHECK_TICKS == 0 && !e->checking)
		allowed_start(e);
}
