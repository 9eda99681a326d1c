/*
 * head: the head of a request as nginx passes it on: one GET without a body. Strict and small: whatever it does not
 * understand it refuses. Pure; knows no connection and no route.
 */
#ifndef EVENT_HEAD_H
#define EVENT_HEAD_H

#include "base/arena.h"

struct head {
	struct str path, query;
	/* Headers that somebody asks for; absent = not sent. */
	struct str host, origin, upgrade, connection, ws_key, ws_version;
	struct str api_key, authorization, last_event_id;
	struct str remote_addr, server_addr; /* as the web server saw them */
	bool has_body;
};

enum head_result { HEAD_MORE, HEAD_GOOD, HEAD_BAD, HEAD_METHOD /* not GET */ };

/* `in` is what has come so far; slices of *out point into it. */
enum head_result head_read(struct str in, struct head *out);
/* A parameter of a query string, decoded in the arena; STR_NULL if it is not there or not percent-encoded UTF-8. */
struct str head_param(struct arena *a, struct str query, const char *name);
/* Does a comma separated header contain the word, in any case? */
bool head_has(struct str header, const char *word);

#endif
