/*
 * chat: chats between files and the database (the formats themselves are in card/chat.h). An import writes a
 * hidden session in batches and shows it all at once; what a crash leaves hidden is removed like a deleted
 * session. An export reads a window of floors at a time. Neither holds a connection or memory for longer than
 * one batch.
 */
#ifndef CHAT_CHAT_H
#define CHAT_CHAT_H

#include "base/sb.h"
#include "card/chat.h"
#include "db/db.h"

enum chat_format { CHAT_THCHAT, CHAT_JSONL };

struct chat_import {
	struct pieces text;             /* of the file; its window is made here */
	struct str title, character_id; /* may be absent */
	const char *model;              /* whose tokens are counted */
	/* Between the transactions, with how many bytes of the file are done; -1 ends the import. May be
	 * NULL. */
	int (*step)(void *arg, const char *phase, int64_t done, int64_t total);
	/* Inside the transaction that shows the session, with the result. May be NULL. */
	int (*last)(struct ctx *c, void *arg, struct str result);
	void *arg;
	struct str session_id, result; /* out; result: the wire's answer */
};

/* Outside of db_tx. -1: import_parse_error and others of 400, not_found, job's own. */
int chat_import(struct ctx *c, struct chat_import *w);

struct chat_export {
	struct str session_id;
	enum chat_format format;
	bool variables;
	int64_t floors_max; /* longer ones: ERR_CONFLICT chat_too_large; 0 = any */
	int (*begin)(
	    void *arg, const char *file_name, const char *type); /* before the first write; may be NULL */
	int (*write)(void *arg, struct str bytes); /* outside of db_tx; the bytes live until it returns */
	int (*step)(void *arg, const char *phase, int64_t done, int64_t total);
	void *arg;
	const char *file_name; /* out */
};

/* Outside of db_tx. -1: not_found, chat_too_large, what write said. */
int chat_export(struct ctx *c, struct chat_export *w);

const char *chat_format_type(enum chat_format f); /* media type */

#endif
