/*
 * streams: turns as their callers hear of them. What every turn route has in common is here: the reader that leaves,
 * the key under which a call may be repeated, the stream that may be resumed.
 */
#ifndef API_STREAMS_H
#define API_STREAMS_H

#include "http/request.h"
#include "turn/turn.h"

/*
 * The turn that q describes, as the answer of a route: `on_disconnect` and the header Idempotency-Key are read here. Plain:
 * the answer is the committed reply. Stream: refusals by the session's state are one `error` event (decisions 43). A call
 * with a key that was used before joins that turn or gets its answer.
 */
int turn_reply(struct request *r, struct turn_request *q);
int turn_reply_stream(struct request *r, struct turn_request *q);

#endif
