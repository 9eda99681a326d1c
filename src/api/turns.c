/*
 * turns: the routes of a turn: respond, its stream, dry-run. The turn itself is in src/turn.
 */
#include "api/app.h"
#include "api/rest.h"
#include "api/tables.h"
#include "api/wire.h"
#include "turn/look.h"

static struct turn_request
turn_request_of(struct request *r, bool stream)
{
	struct str policy = json_get_str(r->in, "on_disconnect");

	return (struct turn_request){ .type = TURN_RESPOND,
		.session_id = req_param(r, "id"),
		.branch_id = json_get_str(r->in, "branch_id"),
		.message = json_get_str(r->in, "message"),
		.body = r->in,
		.stream = stream,
		.on_disconnect_continue = str_is(policy, "continue") };
}

static int
respond(struct request *r)
{
	struct turn_request q = turn_request_of(r, false);
	struct sb answer = sb_new(r->ctx->a);
	struct turn *t = turn_open(app_of(r)->turns, r->ctx, &q);

	if (t == NULL)
		return -1;
	request_on_deserted(r, turn_reader_left, t);
	if (turn_run(t, &answer) < 0)
		return -1;
	return reply_data(r, sb_str(&answer));
}

/* Refusals by the session's state are an event of a stream that then ends; all others are plain answers (decisions 43). */
static bool
refusal_is_event(const struct err *e)
{
	return e->kind == ERR_NOT_FOUND || e->kind == ERR_CONFLICT;
}

static int
respond_stream(struct request *r)
{
	struct turn_request q = turn_request_of(r, true);
	struct sb answer = sb_new(r->ctx->a);
	struct turn *t = turn_open(app_of(r)->turns, r->ctx, &q);

	if (t == NULL)
		return r->ctx->who.account_no != 0 && refusal_is_event(&r->ctx->err) ? reply_stream_error(r, &r->ctx->err) : -1;
	stream_on_deserted(turn_stream(t), turn_reader_left, t);
	if (reply_stream(r, turn_stream(t), (struct stream_pos){ 0 }) < 0)
		return -1;
	turn_run(t, &answer); /* what went wrong has been said on the stream */
	return 0;
}

static int
dry_run(struct request *r)
{
	struct turn_request q = turn_request_of(r, false);
	struct sb answer = sb_new(r->ctx->a);

	return turn_dry_run(app_of(r)->turns, r->ctx, &q, &answer) < 0 ? -1 : reply_data(r, sb_str(&answer));
}

static const int errors_turn[] = { 404, 409, 429, 502, 503, 504, 0 };
static const int errors_read[] = { 404, 0 };

/* clang-format off */
const struct route api_turns_routes[] = {
	{ METHOD_POST, "/sessions/{id}/respond", respond, AUTH_ACCOUNT, .body = wire_turn_body, .answer = wire_turn_answer, .errors = errors_turn,
	  .flags = ROUTE_LONG, .tag = "chat", .summary = "One turn: send a message, get the committed reply" },
	{ METHOD_POST, "/sessions/{id}/respond/stream", respond_stream, AUTH_ACCOUNT, .body = wire_turn_body, .answer_kind = ANSWER_EVENTS,
	  .errors = errors_turn, .flags = ROUTE_LONG, .tag = "chat", .summary = "One turn as server-sent events" },
	{ METHOD_POST, "/sessions/{id}/respond/dry-run", dry_run, AUTH_ACCOUNT, .body = wire_dry_body, .answer = wire_dry_answer, .errors = errors_read,
	  .tag = "chat", .summary = "Assemble the prompt of a turn without sending or storing anything" },
	{ .path = NULL }
};
/* clang-format on */
