/*
 * think: splits think tags out of a reply as it comes (models.md A7). Only leading blocks count; a closing tag without
 * an opener means that the server's prompt template had opened the block, and takes back what was said so far. Pure.
 */
#ifndef LLM_THINK_H
#define LLM_THINK_H

#include "base/sb.h"

enum think_state {
	THINK_LEAD,   /* nothing but blanks so far */
	THINK_INSIDE,
	THINK_AFTER,  /* behind a closing tag: blanks are dropped, another block may follow */
	THINK_TEXT,   /* in the reply, watching for a lone closing tag */
	THINK_PASS    /* nothing more to find: text goes through untouched */
};

enum think_what { THINK_CONTENT, THINK_REASONING, THINK_RETRACT };

/* Takes what has been decided: text for a channel, or (with no text) that all content so far was reasoning. */
typedef void think_fn(void *arg, enum think_what what, struct str text);

enum { THINK_TAIL = 3 };

struct think {
	enum think_state state;
	bool open;         /* start inside: there is no opening tag to wait for */
	bool bracket;      /* the open block is [THINK] … [/THINK] */
	bool any_closer;   /* opened by the template: any closing tag ends it */
	bool block_text;   /* the open block has said something */
	bool loose;        /* more blanks came than are held back: they are no trailing ones */
	bool said;         /* an earlier block has said something */
	bool split;        /* a block has been split off */
	size_t emitted, closed; /* bytes of reasoning passed on; and when the last block was closed */
	char tail[THINK_TAIL];     /* last bytes of content passed on, for quote marks */
	struct sb hold;    /* not decided yet: blanks and the beginning of a possible tag */
};

void think_begin(struct think *t, struct arena *a, bool open);
void think_feed(struct think *t, struct str text, think_fn *fn, void *arg);
/* The reply is over: what was held is let go. True if a block is still open. */
bool think_end(struct think *t, think_fn *fn, void *arg);

#endif
