/*
 * greeting: the first floor of a new chat, the character's greeting with its macros expanded once
 * (decisions 11, 35). Runs inside the transaction that makes the session.
 */
#ifndef TURN_GREETING_H
#define TURN_GREETING_H

#include "turn/turn.h"

struct greeting {
	struct str session_id;
	int64_t session_no, branch_no, segment_no;
	enum prompt_mode mode;
	const struct json *card, *user; /* frozen snapshots; user NULL = none */
	struct str user_name;
	const struct json *settings;    /* the session's; the account's are asked for where it says nothing */
	int64_t choice;                 /* 0 = first_mes, n = alternate n */
};

/* Writes floor 0 if the card has a greeting. 0 or -1. Inside db_tx DB_WRITE. */
int greeting_write(struct turns *p, struct ctx *c, const struct greeting *g);

/*
 * For chats that are imported: an author's text as it would have been at the start of the chat, inside db_tx; and what its macros wrote, once the page
 * is there, inside db_tx DB_WRITE. card may be NULL.
 */
int greeting_expand(struct ctx *c, const struct greeting *g, struct str text, struct str *out, const struct macro_result **macros_out);
void greeting_writes(struct ctx *c, const struct greeting *g, const struct macro_result *m, int32_t floor_seq, struct str page_id);

#endif
