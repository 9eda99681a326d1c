#include "api/streams.h"

#include "api/app.h"

/* What the request says for itself, whatever route it came by. */
static void
request_settle(struct request *r, struct turn_request *q)
{
	struct str policy = json_get_str(r->in, "on_disconnect");

	q->on_disconnect = str_is(policy, "continue") ? POLICY_CONTINUE : str_is(policy, "abort") ? POLICY_ABORT : POLICY_AUTO;
}

int
turn_reply(struct request *r, struct turn_request *q)
{
	struct sb answer = sb_new(r->ctx->a);
	struct turn *t;

	request_settle(r, q);
	t = turn_open(app_of(r)->turns, r->ctx, q);
	if (t == NULL)
		return -1;
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

	if (r->ctx->who.account_no == 0 || (e->kind != ERR_NOT_FOUND && e->kind != ERR_CONFLICT))
		return -1;
	return reply_stream_error(r, e);
}

int
turn_reply_stream(struct request *r, struct turn_request *q)
{
	struct sb answer = sb_new(r->ctx->a);
	struct turn *t;

	request_settle(r, q);
	q->stream = true;
	t = turn_open(app_of(r)->turns, r->ctx, q);
	if (t == NULL)
		return refused(r);
	stream_on_deserted(turn_stream(t), turn_reader_left, t);
	if (reply_stream(r, turn_stream(t), (struct stream_pos){ 0 }) < 0)
		return -1;
	turn_run(t, &answer); /* what went wrong has been said on the stream */
	return 0;
}
