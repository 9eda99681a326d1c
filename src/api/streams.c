#include "api/streams.h"

#include "api/app.h"
#include "api/relay.h"
#include "api/tables.h"
#include "api/wire.h"
#include "turn/key.h"
#include "turn/run.h"

#include <time.h>

#define FIND_TRIES 5     /* a run that has just been opened: its stream comes a moment later */
#define FIND_MS 10
#define ENDED_TRIES 40   /* how long a cancel waits for the run to say that it has ended */
#define ENDED_MS 50

static void
rest_ms(long ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

/* ---- a stream of a run, wherever it is ---- */

/* 0: the connection is fed from the run's own stream, here or in another worker. -1: nobody within reach has it. */
static int
reply_live(struct request *r, const struct run_view *v, struct stream_pos from)
{
	struct stream *s = stream_find(v->run_no);

	if (s == NULL)
		return relay_stream(r, v->worker, v->run_no, from);
	reply_stream(r, s, from);
	stream_release(s);
	return 0;
}

static int
reply_run(struct request *r, struct run_view *v)
{
	struct str label = run_label(r->ctx->a, v->floor_id, v->run_id);
	struct stream_pos from = req_last_event(r, label);
	struct stream *s;

	for (int i = 0; i < FIND_TRIES && run_runs(v); i++) {
		if (reply_live(r, v, from) == 0)
			return 0;
		if (!relay_near(app_of(r), v->worker))
			break;
		rest_ms(FIND_MS);
		if (run_view_load(r->ctx, v->floor_id, v->run_no, v) < 0)
			return -1;
	}
	if (!run_runs(v) && from.event == UINT32_MAX)
		return reply_empty(r); /* it has seen the end: an EventSource stops asking */
	s = run_stream(app_of(r)->turns, r->ctx, v);
	if (s == NULL)
		return -1;
	reply_stream(r, s, run_stream_from(from));
	stream_release(s);
	return 0;
}

static int
floor_stream(struct request *r)
{
	struct run_view v;

	if (run_view_load(r->ctx, req_param(r, "id"), 0, &v) < 0)
		return -1;
	if (r->method == METHOD_HEAD)
		return reply_bare(r, 200, "text/event-stream; charset=utf-8", STR(""));
	return reply_run(r, &v);
}

/* ---- turns ---- */

/* What the request says for itself, whatever route it came by. */
static int
request_settle(struct request *r, struct turn_request *q, struct turn_key *key)
{
	struct str policy = json_get_str(r->in, "on_disconnect"), header = req_header(r, "idempotency-key");

	q->on_disconnect = str_is(policy, "continue") ? POLICY_CONTINUE : str_is(policy, "abort") ? POLICY_ABORT : POLICY_AUTO;
	q->asked = q->type;
	if (header.p == NULL)
		return 0;
	key->route = str_c(r->route->path);
	q->key = key;
	return turn_key_read(r->ctx, header, r->path, r->in, key);
}

/*
 * A message whose first try failed is on a floor already: it is made there, as long as that is the head of its branch.
 * NULL without an error: it has to be said anew.
 */
static struct turn *
open_in_place(struct request *r, const struct turn_request *q, const struct run_ref *first)
{
	struct turn_request again = *q;
	struct turn *t;
	struct run_view v;

	if ((q->type != TURN_RESPOND && q->type != TURN_EDIT) || run_view_load(r->ctx, first->floor_id, first->run_no, &v) < 0 || !str_is(v.floor_state, "failed"))
		return NULL;
	again.type = TURN_RETRY;
	again.floor_id = v.floor_id;
	again.message = again.message_id = again.branch_id = again.source_floor_id = STR_NULL; /* the floor has them */
	t = turn_open(app_of(r)->turns, r->ctx, &again);
	if (t == NULL && str_is(str_c(r->ctx->err.code), "content_target_locked"))
		err_clear(r->ctx);
	return t;
}

/*
 * Opens the turn, unless its key stands for another one: then *v is that. Of two calls at once with a new key the slower one
 * is refused, as by any other writer of the branch, and then finds the faster one's run.
 */
static struct turn *
open_once(struct request *r, struct turn_request *q, struct turn_key *key, struct run_view *v)
{
	struct ctx *c = r->ctx;
	struct run_ref ref;
	struct turn *t = NULL;
	int found = 0;

	*v = (struct run_view){ .run_no = 0 };
	if (request_settle(r, q, key) < 0 || (q->key && (found = turn_key_find(c, key, &ref)) < 0))
		return NULL;
	if (found == 0 && q->key && key->replaces)
		t = open_in_place(r, q, &ref);
	if (found == 0 && t == NULL && !failed(c))
		t = turn_open(app_of(r)->turns, c, q);
	if (t == NULL && found == 0 && q->key && c->err.kind == ERR_CONFLICT) {
		struct err refused = c->err;
		int64_t replaces = key->replaces;

		err_clear(c);
		found = turn_key_find(c, key, &ref);
		if (found == 0 && key->replaces == replaces)
			c->err = refused;
	}
	if (found > 0) {
		reply_header(r, "Idempotent-Replayed", "true");
		run_view_load(c, ref.floor_id, ref.run_no, v);
	}
	return t;
}

/* Waits for a run that another request began; then its end is this request's. */
static int
reply_joined(struct request *r, struct run_view *v)
{
	struct sb answer = sb_new(r->ctx->a);

	while (run_runs(v)) {
		relay_wait(r, v->worker, v->run_no);
		if (request_deserted(r))
			return fail(r->ctx, ERR_CANCELLED, "client_left", "the client has left");
		if (run_view_load(r->ctx, v->floor_id, v->run_no, v) < 0)
			return -1;
	}
	if (!str_is(v->state, "completed"))
		return run_failure(r->ctx, v);
	return run_answer(r->ctx, v, &answer) < 0 ? -1 : reply_data(r, sb_str(&answer));
}

int
turn_reply(struct request *r, struct turn_request *q)
{
	struct sb answer = sb_new(r->ctx->a);
	struct turn_key key;
	struct run_view other;
	struct turn *t = open_once(r, q, &key, &other);

	if (failed(r->ctx))
		return -1;
	if (t == NULL)
		return reply_joined(r, &other);
	request_on_deserted(r, turn_reader_left, t);
	if (turn_run(t, &answer) < 0)
		return -1;
	return reply_data(r, sb_str(&answer));
}

/* Refusals by the session's state are an event of a stream that then ends; all others are plain answers (decisions 43). */
static int
refused(struct request *r)
{
	const struct err *e = &r->ctx->err;

	if (r->ctx->who.account_no == 0 || (e->kind != ERR_NOT_FOUND && e->kind != ERR_CONFLICT) || str_is(str_c(e->code), "idempotency_key_reused"))
		return -1;
	return reply_stream_error(r, e);
}

int
turn_reply_stream(struct request *r, struct turn_request *q)
{
	struct sb answer = sb_new(r->ctx->a);
	struct turn_key key;
	struct run_view other;
	struct turn *t;

	q->stream = true;
	t = open_once(r, q, &key, &other);
	if (failed(r->ctx))
		return refused(r);
	if (t == NULL)
		return reply_run(r, &other);
	stream_on_deserted(turn_stream(t), turn_reader_left, t);
	if (reply_stream(r, turn_stream(t), (struct stream_pos){ 0 }) < 0)
		return -1;
	turn_run(t, &answer); /* what went wrong has been said on the stream */
	return 0;
}

/* ---- cancel ---- */

/* Asks whoever has the run to end it; a run that nobody within reach has is ended in the database. */
static int
run_cancel(struct request *r, const struct run_view *v)
{
	struct app *app = app_of(r);

	if (turns_cancel(app->turns, v->run_no, TURN_CANCELLED) || relay_cancel(app, v->worker, v->run_no) == 0)
		return 0;
	return run_cancel_recorded(r->ctx, v);
}

/* 1: cancelled, its partial text is kept. 0: it had ended, or committed before it could be. */
static int
cancel_one(struct request *r, struct str floor_id, int64_t run_no, struct run_view *v)
{
	if (run_view_load(r->ctx, floor_id, run_no, v) < 0 || (run_runs(v) && run_cancel(r, v) < 0))
		return -1;
	if (!run_runs(v))
		return 0;
	for (int i = 0; i < ENDED_TRIES && run_runs(v); i++) {
		rest_ms(i < 10 ? ENDED_MS / 10 : ENDED_MS);
		if (run_view_load(r->ctx, floor_id, v->run_no, v) < 0)
			return -1;
	}
	return str_is(v->state, "completed") ? 0 : 1;
}

static void
cancelled_print(struct sb *out, const struct run_view *v)
{
	sb_adds(out, "{\"floor_id\":");
	sb_add_json(out, v->floor_id);
	sb_adds(out, ",\"run_id\":");
	sb_add_json(out, v->run_id);
	sb_adds(out, ",\"branch_id\":");
	sb_add_json(out, v->branch_id);
	sb_adds(out, ",\"cancelled\":true}");
}

static int
nothing_runs(struct request *r)
{
	return fail(r->ctx, ERR_CONFLICT, "generation_not_running", "nothing is being generated here; a turn that is committed cannot be cancelled");
}

static int
floor_cancel(struct request *r)
{
	struct sb out = sb_new(r->ctx->a);
	struct run_view v;
	int rc = cancel_one(r, req_param(r, "id"), 0, &v);

	if (rc <= 0)
		return rc < 0 ? -1 : nothing_runs(r);
	cancelled_print(&out, &v);
	return reply_data(r, sb_str(&out));
}

static int
session_cancel(struct request *r)
{
	struct sb out = sb_new(r->ctx->a);
	struct run_refs refs;
	size_t n = 0;

	if (run_running(r->ctx, req_param(r, "id"), json_get_str(r->in, "branch_id"), &refs) < 0)
		return -1;
	sb_adds(&out, "{\"session_id\":");
	sb_add_json(&out, req_param(r, "id"));
	sb_adds(&out, ",\"cancelled\":[");
	for (size_t i = 0; i < refs.v.n; i++) {
		struct run_view v;
		int rc = cancel_one(r, refs.v.v[i].floor_id, refs.v.v[i].run_no, &v);

		if (rc < 0)
			return -1;
		if (rc == 0)
			continue;
		sb_adds(&out, n++ ? "," : "");
		cancelled_print(&out, &v);
	}
	if (n == 0)
		return nothing_runs(r);
	sb_adds(&out, "]}");
	return reply_data(r, sb_str(&out));
}

static const int errors_state[] = { 404, 409, 0 };

/* clang-format off */
static const struct field stream_query[] = {
	{ "last_event_id", FT_STRING, .max = 300, .doc = "as the header Last-Event-ID, for a page that begins anew" },
	FIELD_END
};
static const struct field cancelled[] = {
	{ "branch_id", FT_STRING },
	{ "cancelled", FT_BOOL },
	{ "floor_id", FT_STRING },
	{ "run_id", FT_STRING },
	FIELD_END
};
static const struct field cancelled_item = { "", FT_OBJECT, .fields = cancelled };
static const struct field session_cancelled[] = {
	{ "cancelled", FT_ARRAY, .items = &cancelled_item },
	{ "session_id", FT_STRING },
	FIELD_END
};
static const struct field session_cancel_body[] = {
	{ "branch_id", FT_STRING, .min = 1, .doc = "absent = whatever runs in the session" },
	FIELD_END
};

const struct route api_streams_routes[] = {
	{ METHOD_GET, "/floors/{id}/stream", floor_stream, AUTH_ACCOUNT, .query = stream_query, .answer_kind = ANSWER_EVENTS, .errors = errors_state,
	  .tag = "floors", .summary = "What a turn says, from the beginning or behind Last-Event-ID; live, or what it has said when it has ended" },
	{ METHOD_POST, "/floors/{id}/cancel", floor_cancel, AUTH_ACCOUNT, .answer = cancelled, .errors = errors_state, .tag = "floors",
	  .summary = "Stop the floor's generation; what was said is kept on a failed page" },
	{ METHOD_POST, "/sessions/{id}/cancel", session_cancel, AUTH_ACCOUNT, .body = session_cancel_body, .answer = session_cancelled,
	  .errors = errors_state, .flags = ROUTE_BODY_OPTIONAL, .tag = "sessions", .summary = "Stop what a session is generating" },
	{ .path = NULL }
};
/* clang-format on */
