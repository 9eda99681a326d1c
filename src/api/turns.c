/*
 * turns: the routes of a turn: respond, its stream, dry-run. The turn itself is in src/turn.
 */
#include "api/app.h"
#include "api/rest.h"
#include "api/streams.h"
#include "api/tables.h"
#include "api/wire.h"
#include "turn/look.h"

static struct turn_request
turn_request_of(struct request *r)
{
	return (struct turn_request){ .type = TURN_RESPOND,
		.session_id = req_param(r, "id"),
		.branch_id = json_get_str(r->in, "branch_id"),
		.message = json_get_str(r->in, "message"),
		.body = r->in };
}

static int
respond(struct request *r)
{
	struct turn_request q = turn_request_of(r);

	return turn_reply(r, &q);
}

static int
respond_stream(struct request *r)
{
	struct turn_request q = turn_request_of(r);

	return turn_reply_stream(r, &q);
}

static int
dry_run(struct request *r)
{
	struct turn_request q = turn_request_of(r);
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
