/*
 * key: a turn that may be asked for twice and happens once. A key belongs to account and route and lives 24 hours; its row
 * is written in the transaction that opens the run, so of two calls at once one opens and the other finds it.
 */
#ifndef TURN_KEY_H
#define TURN_KEY_H

#include "base/digest.h"
#include "turn/run.h"

#define KEY_HOURS 24

struct turn_key {
	struct str route, text;
	struct digest hash;      /* of path and body */
	int64_t replaces;        /* a run that has failed, or whose key is too old: this turn takes its place; 0 = none */
};

/* Reads the header: 1 to 255 printable ASCII characters. body: the validated one, so that its spelling does not matter. */
int turn_key_read(struct ctx *c, struct str header, struct str path, const struct json *body, struct turn_key *out);
/*
 * 1: the key stands for a run that runs or has completed: *out. 0: it is free; key->replaces is set. -1: ERR_CONFLICT
 * idempotency_key_reused, or the database.
 */
int turn_key_find(struct ctx *c, struct turn_key *key, struct run_ref *out);

#endif
