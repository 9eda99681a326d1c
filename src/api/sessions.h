/*
 * sessions: what other files of the API need of session creation.
 */
#ifndef API_SESSIONS_H
#define API_SESSIONS_H

#include "http/request.h"

/* Creates a session from a body of POST /sessions; the session's JSON is appended to out. 0 or -1. */
int session_create_json(struct request *r, const struct json *in, struct sb *out);

#endif
