/*
 * turns: the routes of a turn, each plain and as a stream, and its dry run. The turn itself is in src/turn.
 */
#include "api/app.h"
#include "api/rest.h"
#include "api/streams.h"
#include "api/tables.h"
#include "api/wire.h"
#include "turn/look.h"

/* What the path says is {id}: of a session, of a floor that is retried, of a message that is said anew. */
static struct turn_request
request_of(struct request *r, enum turn_type type)
{
	struct turn_request q = { .type = type, .branch_id = json_get_str(r->in, "branch_id"), .body = r->in };
	struct str id = req_param(r, "id");

	if (type == TURN_RETRY)
		q.floor_id = id;
	else if (type == TURN_EDIT)
		q.message_id = id;
	else
		q.session_id = id;
	q.message = json_get_str(r->in, type == TURN_EDIT ? "content" : "message");
	q.source_floor_id = json_get_str(r->in, "source_floor_id");
	return q;
}

/* route->arg is the type. */
static int
turn_plain(struct request *r)
{
	struct turn_request q = request_of(r, *(const enum turn_type *)r->route->arg);

	return turn_reply(r, &q);
}

static int
turn_streamed(struct request *r)
{
	struct turn_request q = request_of(r, *(const enum turn_type *)r->route->arg);

	return turn_reply_stream(r, &q);
}

static int
dry_run(struct request *r)
{
	struct turn_request q = request_of(r, TURN_RESPOND);
	struct sb answer = sb_new(r->ctx->a);

	return turn_dry_run(app_of(r)->turns, r->ctx, &q, &answer) < 0 ? -1 : reply_data(r, sb_str(&answer));
}

static const enum turn_type respond = TURN_RESPOND, regenerate = TURN_REGENERATE, retry = TURN_RETRY, edit = TURN_EDIT;
static const int errors_turn[] = { 404, 409, 429, 502, 503, 504, 0 };
static const int errors_read[] = { 404, 0 };

/* clang-format off */
#define TURN(kind, address, optional, fields, result, about) \
	{ METHOD_POST, address, turn_plain, AUTH_ACCOUNT, .body = fields, .answer = result, .errors = errors_turn, .arg = &(kind), \
	  .flags = ROUTE_LONG | (optional), .tag = "chat", .summary = about }, \
	{ METHOD_POST, address "/stream", turn_streamed, AUTH_ACCOUNT, .body = fields, .answer_kind = ANSWER_EVENTS, .errors = errors_turn, .arg = &(kind), \
	  .flags = ROUTE_LONG | (optional), .tag = "chat", .summary = about ", as server-sent events" }
const struct route api_turns_routes[] = {
	TURN(respond, "/sessions/{id}/respond", 0, wire_turn_body, wire_turn_answer, "One turn: send a message, get the committed reply"),
	TURN(regenerate, "/sessions/{id}/regenerate", ROUTE_BODY_OPTIONAL, wire_regenerate_body, wire_regenerate_answer, "Another reply on the last floor of a branch"),
	TURN(retry, "/floors/{id}/retry", ROUTE_BODY_OPTIONAL, wire_retry_body, wire_retry_answer, "A floor once more: another reply, or the one that failed"),
	TURN(edit, "/messages/{id}/edit-and-regenerate", 0, wire_edit_body, wire_edit_answer, "A user's message said anew, in a branch of its own"),
	{ METHOD_POST, "/sessions/{id}/respond/dry-run", dry_run, AUTH_ACCOUNT, .body = wire_dry_body, .answer = wire_dry_answer, .errors = errors_read,
	  .tag = "chat", .summary = "Assemble the prompt of a turn without sending or storing anything" },
	{ .path = NULL }
};
/* clang-format on */
