/*
 * fcgi_out: what we say, as FastCGI records (8-byte header, no padding). Pure: bytes in, bytes or
 * an iovec out; whoever holds the descriptor does the writing.
 */
#ifndef HTTP_FCGI_OUT_H
#define HTTP_FCGI_OUT_H

#include "base/sb.h"

#include <sys/uio.h>

#define FCGI_HEAD 8
#define FCGI_CONTENT_MAX 65528 /* per record; the protocol allows 65535, a multiple of 8 spares padding */

/* Appends STDOUT records with `text` (none if it is empty). */
void fcgi_add_stdout(struct sb *out, uint16_t id, struct str text);
/*
 * Appends the end of the answer: end of STDOUT, END_REQUEST. If it is the last one on the connection,
 * which is closed next, a management record follows: a web server that finds bytes behind END_REQUEST
 * keeps the answer and drops the connection, so that it cannot put another request into one that is
 * about to close. (Leaving END_REQUEST out does that too, but then it also drops its client.)
 */
#define FCGI_END_MAX (5 * FCGI_HEAD)
void fcgi_add_end(struct sb *out, uint16_t id, bool last);

/* An answer of several parts, cut into records without copying it. */
#define FCGI_PARTS 5
struct fcgi_out {
	uint16_t id;
	bool last; /* see fcgi_add_end */
	bool open; /* more will follow from elsewhere: no end at all */
	struct str part[FCGI_PARTS];
	size_t n;       /* parts */
	size_t at, off; /* private: part and byte reached */
	bool ended;     /* private */
};
struct fcgi_batch {
	uint8_t head[16][FCGI_HEAD];
	uint8_t end[FCGI_END_MAX];
	struct iovec iov[16 * (FCGI_PARTS + 1) + 1];
};
/* Fills the next whole records into b->iov; number of entries, 0 when all was said. */
size_t fcgi_out_next(struct fcgi_out *o, struct fcgi_batch *b);

#endif
