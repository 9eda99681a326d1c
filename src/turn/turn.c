#include "turn/turn_private.h"

#include "base/log.h"
#include "base/metric.h"
#include "base/rng.h"
#include "event/wake.h"

#include <errno.h>
#include <limits.h>
#include <time.h>

#define SETTLE_MS 250 /* between two tries to commit while the database is away */

static const struct {
	const char *name, *public_name;
} phases[PHASE__COUNT] = {
	[PHASE_INPUT_RECORDED] = { "input_recorded", "preparing" },
	[PHASE_SEMANTIC_RESOLVED] = { "semantic_resolved", "preparing" },
	[PHASE_PRECHECKED] = { "prechecked", "preparing" },
	[PHASE_PROMPT_ASSEMBLED] = { "prompt_assembled", "preparing" },
	[PHASE_PAGE_GENERATING] = { "page_generating", "generating" },
	[PHASE_CANDIDATE_GENERATED] = { "candidate_generated", "generating" },
	[PHASE_VERIFIER_CHECKED] = { "verifier_checked", "verifying" },
	[PHASE_TRANSACTION_PREPARED] = { "transaction_prepared", "committing" },
	[PHASE_TRANSACTION_COMMITTED] = { "transaction_committed", "committing" },
	[PHASE_POST_COMMIT_SCHEDULED] = { "post_commit_scheduled", "post_processing" },
};

const char *
run_public_phase(struct str phase)
{
	for (size_t i = 0; i < PHASE__COUNT; i++)
		if (str_is(phase, phases[i].name))
			return phases[i].public_name;
	return "preparing";
}

/* The floor's id, and enough of the run's that a position in one try is not taken for one in the next. */
struct str
run_label(struct arena *a, struct str floor_id, struct str run_id)
{
	struct sb sb = sb_new(a);
	size_t tail = run_id.n > 4 ? run_id.n - 4 : 0;

	for (size_t i = 0; i < floor_id.n; i++) /* ids of imported floors are their authors' */
		sb_addc(&sb, floor_id.p[i] > ' ' && floor_id.p[i] < 0x7f ? floor_id.p[i] : '_');
	sb_addc(&sb, ':');
	sb_add(&sb, str_sub(run_id, tail, run_id.n));
	return sb_str(&sb);
}

/* ---- what readers are told ---- */

static void
say_run(struct turn *t, enum turn_phase phase, const char *status, const struct err *why)
{
	struct sb sb = sb_new(t->c->a);
	int64_t now = tm_now();

	t->phase = phase;
	t->phase_seq++;
	if (!t->q.stream)
		return;
	sb_addf(&sb,
	    "{\"floor_id\":\"%s\",\"run_id\":\"%s\",\"run_type\":\"%s\",\"status\":\"%s\",\"phase\":\"%s\",\"public_phase\":\"%s\","
	    "\"phase_seq\":%d,\"attempt_no\":%d,\"started_at\":%lld,\"updated_at\":%lld,\"completed_at\":",
	    t->floor_id.s, t->run_id.s, turn_run_type(t), status, phases[phase].name, phases[phase].public_name, t->phase_seq, t->attempt, (long long)t->started_at,
	    (long long)now);
	if (strcmp(status, "running") == 0)
		sb_adds(&sb, "null");
	else
		sb_add_int(&sb, now);
	sb_adds(&sb, ",\"pending_output\":null,\"verifier\":null,\"error\":");
	if (why) {
		sb_adds(&sb, "{\"code\":");
		sb_add_json(&sb, str_c(why->code));
		sb_adds(&sb, ",\"message\":");
		sb_add_json(&sb, str_c(why->msg));
		sb_addc(&sb, '}');
	} else
		sb_adds(&sb, "null");
	sb_addc(&sb, '}');
	stream_event(t->stream, "run", sb_str(&sb));
}

static void
say_start(struct turn *t)
{
	struct sb sb = sb_new(t->c->a);

	sb_addf(&sb, "{\"floor_id\":\"%s\",\"floor_no\":%d,\"branch_id\":", t->floor_id.s, t->floor_seq);
	sb_add_json(&sb, t->s.branch.id);
	sb_addc(&sb, '}');
	stream_event(t->stream, "start", sb_str(&sb));
	say_run(t, PHASE_INPUT_RECORDED, "running", NULL);
	say_run(t, PHASE_PROMPT_ASSEMBLED, "running", NULL);
}

static void
say_summaries(struct turn *t)
{
	struct sb sb = sb_new(t->c->a);

	if (t->said.summaries.n == 0)
		return;
	sb_adds(&sb, "{\"summaries\":[");
	for (size_t i = 0; i < t->said.summaries.n; i++) {
		sb_adds(&sb, i ? "," : "");
		sb_add_json(&sb, t->said.summaries.v[i]);
	}
	sb_adds(&sb, "]}");
	stream_event(t->stream, "summary", sb_str(&sb));
}

/* ---- open ---- */

struct turn *
turn_new(struct turns *p, struct ctx *c, const struct turn_request *q, bool dry)
{
	struct turn *t = arena_new(c->a, struct turn);
	pthread_condattr_t attr;

	t->p = p;
	t->c = c;
	t->work = c->a;
	t->q = *q;
	t->branch_given = q->branch_id.p != NULL;
	if (!t->branch_given)
		t->q.branch_id = STR("main");
	t->dry = dry;
	t->started_at = c->now;
	t->began_us = tm_mono_us();
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&t->woken, &attr);
	pthread_condattr_destroy(&attr);
	t->attempt = 1;
	t->filter.trim = true; /* so that the pieces add up to the stored reply, and positions in them stay good */
	t->floor_id = id_new(c->now);
	t->input_page = id_new(c->now);
	t->message_id = id_new(c->now);
	t->run_id = id_new(c->now);
	t->output_page = id_new(c->now);
	t->output_message = id_new(c->now);
	return t;
}

const char *const turn_policies[] = { "auto", "abort", "continue", NULL };

static enum turn_policy
policy_of(struct str name)
{
	for (int i = 0; i < POLICY__COUNT; i++)
		if (str_is(name, turn_policies[i]))
			return (enum turn_policy)i;
	return POLICY_AUTO;
}

/* The request's policy, else the session's, else the operator's; auto: who gives a key announced that he comes back. */
static bool
goes_on_without_readers(const struct turn *t)
{
	enum turn_policy policy = t->q.on_disconnect;

	if (policy == POLICY_AUTO)
		policy = policy_of(json_get_str(t->s.settings, "on_disconnect"));
	if (policy == POLICY_AUTO)
		policy = (enum turn_policy)t->p->conf.on_disconnect;
	return policy == POLICY_AUTO ? t->q.key != NULL : policy == POLICY_CONTINUE;
}

static int
check_state(struct turn *t)
{
	const struct turns_conf *k = &t->p->conf;

	if (str_is(t->s.status, "archived"))
		return fail(t->c, ERR_CONFLICT, "session_archived", "session is archived; set its status to \"active\" first");
	if (t->s.busy)
		return fail(t->c, ERR_CONFLICT, "generation_conflict", "a generation is already in progress for session \"%.*s\" branch \"%.*s\"",
		    STR_ARG(t->q.session_id), STR_ARG(t->q.branch_id));
	if (k->account_streams_max > 0 && t->s.running >= k->account_streams_max) {
		fail(t->c, ERR_RATE, "account_streams_exceeded", "this account already runs %lld turns; wait for one to end", (long long)t->s.running);
		t->c->err.retry_after = 1;
		return -1;
	}
	if (turn_asks_to_go_on(t) && !t->goes_on)
		return fail(t->c, ERR_NOT_FOUND, "no_floor_to_continue", "the branch does not end with a reply that could go on");
	return 0;
}

static void
arenas_end(void *arg)
{
	struct turn *t = arg;

	arena_destroy(&t->work);
	arena_destroy(&t->sending);
}

/*
 * A turn waits long for its model, and many wait at once: what was only needed to ask goes. It stays where the end of the turn looks
 * into it: traces that the request wants, variables that macros write, decisions.
 */
static void
assembly_drop(struct turn *t)
{
	struct arena *a = t->c->a;
	const struct prompt *p = t->prompt;
	struct prompt *kept;

	if (turn_debug(t, "include_prompt_snapshot") || turn_debug(t, "include_runtime_trace") || (p->macros && p->macros->writes.n > 0) || p->decided ||
	    !(t->sending = llm_request_make(&t->llm)))
		return;
	kept = arena_new(a, struct prompt);
	kept->tokens = p->tokens;
	kept->continued = arena_str(a, p->continued);
	kept->spent = p->spent;
	t->prompt = kept;
	t->policy = (struct policy_resolved){ 0 };
	t->in.policy = NULL;
	t->marks = NULL;
	t->in.history = NULL;
	t->in.nhistory = 0;
	arena_destroy(&t->work);
}

static void
assembly_settle(struct turn *t)
{
	turn_record_make(t);
	assembly_drop(t);
}

/*
 * Between its request and its model a turn holds its history and its assembly, most of the time waiting for a connection. So no more do at
 * once than can have one: a burst of a thousand turns takes the memory of a few, is through no later, and commits need not wait for all of it.
 */
static int
preparing_enter(struct turn *t)
{
	const struct turns_conf *k = &t->p->conf;
	int64_t until_ms = tm_mono() + k->preparing_wait_ms;
	struct timespec until = { .tv_sec = (time_t)(until_ms / 1000), .tv_nsec = (long)(until_ms % 1000) * 1000000 };
	int rc = 0;

	while (k->preparing_max > 0 && (rc = sem_clockwait(&t->p->preparing, CLOCK_MONOTONIC, &until)) < 0 && errno == EINTR)
		;
	atomic_fetch_add(&t->p->begun, 1);
	if (rc == 0)
		return 0;
	fail(t->c, ERR_UNAVAILABLE, "server_busy", "too many turns begin at the same time, try again");
	t->c->err.retry_after = 1;
	return fail_log(t->c, "turn: none of %d places free within %d ms", k->preparing_max, k->preparing_wait_ms);
}

static void
preparing_leave(struct turn *t)
{
	if (t->p->conf.preparing_max > 0)
		sem_post(&t->p->preparing);
}

/* From the request to the recorded run. */
static int
prepare(struct turn *t)
{
	if (db_tx(t->c, DB_READ, turn_gather, t) < 0 || check_state(t) < 0)
		return -1;
	turn_mark(t, MARK_GATHERED);
	if (turn_assemble(t) < 0)
		return -1;
	t->continues = goes_on_without_readers(t);
	t->floor_seq = t->s.branch.head + (t->goes_on ? 0 : 1);
	turn_sent_input(t);
	if (!t->target.copies)
		assembly_settle(t);
	turn_mark(t, MARK_ASSEMBLED);
	if (turn_record_open(t) < 0)
		return -1;
	turn_mark(t, MARK_OPENED);
	if (t->target.copies) /* the record names the copies, which are there now */
		assembly_settle(t);
	return 0;
}

struct turn *
turn_open(struct turns *p, struct ctx *c, const struct turn_request *q)
{
	struct turn *t = turn_new(p, c, q, false);
	int rc;

	if (preparing_enter(t) < 0)
		return NULL;
	turn_mark(t, MARK_ADMITTED);
	t->work = arena_create("turn.work", 0);
	arena_defer(c->a, arenas_end, t);
	rc = prepare(t);
	preparing_leave(t);
	if (rc < 0)
		return NULL;
	t->stream = stream_create(p->conf.loop, t->run_no, q->stream ? p->conf.linger_ms : 0); /* later readers get it from the floor */
	stream_set_label(t->stream, run_label(c->a, str_c(t->floor_id.s), str_c(t->run_id.s)));
	turns_add(p, t);
	say_start(t);
	wake_send(p->conf.waker, WAKE_RUN, c->who.account_no, t->run_no);
	return t;
}

struct stream *
turn_stream(struct turn *t)
{
	return t->stream;
}

/* ---- the model ---- */

static void
visible(void *arg, struct str s)
{
	struct turn *t = arg;

	stream_text(t->stream, false, s);
}

/* Loop thread. */
static void
model_said(void *arg, bool reasoning, struct str delta)
{
	struct turn *t = arg;
	int64_t now = tm_mono_us();

	if (t->heard_us == 0) {
		turn_mark(t, MARK_HEARD);
		t->llm.body = STR_NULL;
		arena_destroy(&t->sending);
	} else
		metric_time(METRIC_TIME_CHUNK_GAP, now - t->heard_us);
	t->heard_us = now;
	if (reasoning)
		stream_text(t->stream, true, delta);
	else
		tag_filter_feed(&t->filter, delta, false, visible, t);
}

static void
turn_cancel(struct turn *t, const char *why)
{
	pthread_mutex_lock(&t->lock);
	if (!t->cancelled) {
		t->cancelled = why;
		pthread_cond_broadcast(&t->woken);
		if (t->call)
			llm_cancel(t->call, why);
	}
	pthread_mutex_unlock(&t->lock);
}

void
turn_reader_left(void *arg)
{
	struct turn *t = arg;

	if (!t->continues)
		turn_cancel(t, "the client has left");
}

void
turns_cancel_all(struct turns *p, const char *why)
{
	pthread_mutex_lock(&p->lock);
	for (struct turn *t = p->live; t; t = t->next)
		turn_cancel(t, why);
	pthread_mutex_unlock(&p->lock);
}

bool
turns_cancel(struct turns *p, int64_t run_no, const char *why)
{
	struct turn *t;

	pthread_mutex_lock(&p->lock);
	for (t = p->live; t && t->run_no != run_no; t = t->next)
		;
	if (t)
		turn_cancel(t, why);
	pthread_mutex_unlock(&p->lock);
	return t != NULL;
}

static int
model_ask(struct turn *t)
{
	struct llm_sink sink = { .text = model_said, .arg = t };
	struct llm_call *call = llm_begin(t->p->conf.llm, t->c, &t->llm, &sink);
	int rc;

	llm_hold(call); /* a reader may leave while llm_wait returns */
	pthread_mutex_lock(&t->lock);
	t->call = call;
	if (t->cancelled)
		llm_cancel(call, t->cancelled);
	pthread_mutex_unlock(&t->lock);
	rc = llm_wait(call, &t->result);
	pthread_mutex_lock(&t->lock);
	t->call = NULL;
	pthread_mutex_unlock(&t->lock);
	llm_drop(call);
	return rc;
}

/* False: cancelled meanwhile. */
static bool
rest(struct turn *t, int64_t ms)
{
	struct timespec until;
	bool on;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)(ms / 1000);
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&t->lock);
	while (!t->cancelled && pthread_cond_timedwait(&t->woken, &t->lock, &until) != ETIMEDOUT)
		;
	on = t->cancelled == NULL;
	pthread_mutex_unlock(&t->lock);
	return on;
}

/* Is the failed call made again? Only while nothing of the reply was heard and there is time (models.md A9); waits. */
static bool
model_again(struct turn *t, int64_t began)
{
	const struct llm_error *e = &t->result.error;
	int64_t ms, left = INT_MAX;
	uint32_t dice;

	rng_system(&dice, sizeof dice);
	ms = llm_retry_ms(e, t->attempt, dice / 4294967296.0);
	if (t->p->conf.total_ms > 0)
		left = t->p->conf.total_ms - (tm_mono() - began) - ms;
	if (t->attempt > t->p->conf.retries || t->result.first_ms >= 0 || ms < 0 || left <= 0 || !rest(t, ms))
		return false;
	metric_add(METRIC_MODEL_RETRY, 1);
	log_info("llm.again", "run=%s attempt=%d after=%s/%s", t->run_id.s, t->attempt + 1, llm_error_kind_name(e->kind), e->code ? e->code : "-");
	err_clear(t->c);
	t->llm.total_ms = (int)left;
	return true;
}

static int
model_run(struct turn *t)
{
	int64_t began = tm_mono();
	int rc;

	while ((rc = model_ask(t)) < 0 && model_again(t, began)) {
		t->attempt++;
		say_run(t, PHASE_PAGE_GENERATING, "running", NULL);
	}
	metric_add(rc < 0 ? METRIC_MODEL_ERROR : METRIC_MODEL_OK, 1);
	turn_mark(t, MARK_SAID);
	tag_filter_feed(&t->filter, STR(""), true, visible, t);
	t->said = tag_split(t->c->a, t->result.text);
	return rc;
}

/* Providers that tell no usage: our own count, so that totals mean something. */
static void
usage_settle(struct turn *t)
{
	struct llm_usage *u = &t->result.usage;

	if (u->prompt < 0)
		u->prompt = t->prompt->tokens;
	if (u->completion < 0)
		u->completion = (int64_t)token_count(t->tokens.encoding, t->result.text);
	if (u->total < 0)
		u->total = u->prompt + u->completion;
}

/* ---- the end ---- */

static void
answer_print(struct turn *t, struct sb *out)
{
	const struct llm_usage *u = &t->result.usage;

	sb_addf(out, "{\"floor_id\":\"%s\",\"floor_no\":%d,\"branch_id\":", t->floor_id.s, t->floor_seq);
	sb_add_json(out, t->s.branch.id);
	sb_adds(out, ",\"generated_text\":");
	sb_add_json(out, t->said.visible);
	sb_adds(out, ",\"summaries\":[");
	for (size_t i = 0; i < t->said.summaries.n; i++) {
		sb_adds(out, i ? "," : "");
		sb_add_json(out, t->said.summaries.v[i]);
	}
	sb_addf(out, "],\"total_usage\":{\"prompt_tokens\":%lld,\"completion_tokens\":%lld,\"total_tokens\":%lld},\"final_state\":\"committed\"",
	    (long long)u->prompt, (long long)u->completion, (long long)u->total);
	if (t->target.again && (t->target.copies || t->q.asked != TURN_RESPOND)) {
		sb_adds(out, ",\"previous_floor_id\":");
		sb_add_json(out, t->target.floor_id);
	}
	if (t->q.asked == TURN_EDIT) {
		sb_adds(out, ",\"source_floor_id\":");
		sb_add_json(out, t->target.floor_id);
		sb_adds(out, ",\"source_message_id\":");
		sb_add_json(out, t->q.message_id);
	}
	if (turn_debug(t, "include_prompt_snapshot")) {
		sb_adds(out, ",\"prompt_snapshot\":");
		turn_snapshot_print(out, t);
	}
	if (turn_debug(t, "include_runtime_trace")) {
		sb_adds(out, ",\"runtime_trace\":");
		turn_trace_print(out, t);
	}
	sb_addc(out, '}');
}

/* Records the failure with what had been said; the recorded error stays the caller's. */
static void
turn_failed(struct turn *t)
{
	struct ctx *c = t->c;
	struct sb sb;

	t->why = c->err;
	if (t->cancelled && t->why.kind == ERR_CANCELLED)
		t->why.code = "generation_cancelled";
	say_run(t, t->phase, t->why.kind == ERR_CANCELLED ? "cancelled" : "failed", &t->why);
	metric_add(t->why.kind == ERR_CANCELLED ? METRIC_TURNS_CANCELLED : METRIC_TURNS_FAILED, 1);
	err_clear(c);
	if (turn_record_fail(t) < 0)
		log_error("turn.fail_not_recorded", "run=%s code=%s", t->run_id.s, c->err.code); /* the sweeper will */
	wake_send(t->p->conf.waker, WAKE_ROWS, c->who.account_no, t->run_no);
	err_clear(c);
	c->err = t->why;
	sb = sb_new(c->a);
	sb_adds(&sb, "{\"code\":");
	sb_add_json(&sb, str_c(t->why.code));
	sb_adds(&sb, ",\"message\":");
	sb_add_json(&sb, str_c(t->why.msg));
	sb_addc(&sb, '}');
	stream_finish(t->stream, "error", sb_str(&sb));
}

/* What was said before with what the model went on to say, as SillyTavern joins them. */
struct str
turn_joined(const struct turn *t, struct str said)
{
	return prompt_go_on(t->c->a, t->in.preset, t->prompt->continued, said);
}

/*
 * Commits. A database that is away for a moment costs no reply: the unit decides by the run's state, so it may be sent again,
 * and what a lost connection left open is known afterwards. No longer than the lease lives, which nobody renews any more.
 */
static int
turn_settle(struct turn *t)
{
	struct ctx *c = t->c;
	int64_t began = tm_mono();
	bool doubt = false;

	while (turn_record_commit(t) < 0) {
		if (doubt && c->err.kind == ERR_CONFLICT) {
			struct err why = c->err;

			err_clear(c);
			if (turn_record_committed(t))
				return 0;
			err_clear(c);
			c->err = why;
			return -1;
		}
		if (c->err.kind != ERR_UNAVAILABLE || tm_mono() - began > t->p->conf.lease_ms / 2 || !rest(t, SETTLE_MS))
			return -1;
		doubt = true;
		log_info("turn.commit_again", "run=%s code=%s", t->run_id.s, c->err.code);
		err_clear(c);
	}
	return 0;
}

int
turn_run(struct turn *t, struct sb *answer)
{
	int rc;

	say_run(t, PHASE_PAGE_GENERATING, "running", NULL);
	rc = model_run(t);
	turns_remove(t->p, t); /* what the persister wrote of it is complete now, and can be dropped */
	if (rc < 0) {
		turn_failed(t);
		return -1;
	}
	usage_settle(t);
	say_run(t, PHASE_CANDIDATE_GENERATED, "running", NULL);
	if (t->goes_on)
		t->said.visible = turn_joined(t, t->said.visible);
	t->stored_reply = prompt_reply(t->c->a, &t->in, t->said.visible, NULL);
	if (str_eq(t->stored_reply, t->said.visible))
		t->stored_reply = STR_NULL;
	answer_print(t, answer);
	t->answer = sb_str(answer);
	say_run(t, PHASE_TRANSACTION_PREPARED, "running", NULL);
	if (turn_settle(t) < 0) {
		turn_failed(t);
		return -1;
	}
	turn_mark(t, MARK_COMMITTED);
	wake_send(t->p->conf.waker, WAKE_ROWS, t->c->who.account_no, t->run_no);
	metric_add(METRIC_TURNS_COMPLETED, 1);
	metric_add(METRIC_TOKENS_PROMPT, t->result.usage.prompt);
	metric_add(METRIC_TOKENS_COMPLETION, t->result.usage.completion);
	say_run(t, PHASE_TRANSACTION_COMMITTED, "completed", NULL);
	say_summaries(t);
	stream_finish(t->stream, "done", t->answer);
	return 0;
}
