/*
 * fcgi_in: reads one request from a FastCGI connection that already has bytes waiting. The only
 * file that includes fcgiapp.h. libfcgi parses; it accepts nothing, writes nothing and closes nothing.
 */
#ifndef HTTP_FCGI_IN_H
#define HTTP_FCGI_IN_H

#include "base/sb.h"

struct fcgi_in {
	uint16_t id;
	bool keep;                /* the web server keeps the connection */
	bool responder;           /* the role asked for is the one we have */
	struct str *name, *value; /* parameters, copied into the arena */
	size_t n;
	void *impl; /* libfcgi's request; NULL once closed */
};

void fcgi_setup(void); /* once per process, SIGPIPE already ignored */
/* Reads up to the end of the parameters. -1: no request came (closed, garbage), and fd has been closed by
 * libfcgi. */
int fcgi_in_open(int fd, struct arena *a, struct fcgi_in *in);
struct str fcgi_in_param(const struct fcgi_in *in, struct str name); /* STR_NULL if absent */
/* The body, at most max bytes: 0, or 1 if there is more, -1 if it broke off. hint: expected bytes, 0 =
 * unknown. */
int fcgi_in_body(struct fcgi_in *in, struct arena *a, size_t max, size_t hint, struct str *out);
/*
 * Reads and drops the rest, so that nothing of this request is left in the connection when we answer
 * (a web server that cannot send its body answers 502), and frees libfcgi's memory. -1: the
 * connection is of no further use. Harmless when closed.
 */
int fcgi_in_close(struct fcgi_in *in);

#endif
