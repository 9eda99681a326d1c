/*
 * resolve: a name's addresses, within a time. The system's resolver cannot be told how long it may take, nor
 * be stopped: it is asked by a thread of its own, which is left alone when the time is up.
 */
#ifndef LLM_RESOLVE_H
#define LLM_RESOLVE_H

#include <netdb.h>

#define RESOLVE_LATE 1 /* no error of getaddrinfo is positive */

typedef int resolve_fn(
    const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **list);

/*
 * 0 and *list_out (freeaddrinfo is the caller's), an error of getaddrinfo, or RESOLVE_LATE after `ms`
 * milliseconds (0 = as long as it takes). fn NULL = getaddrinfo.
 */
int resolve_host(resolve_fn *fn, const char *host, int ms, struct addrinfo **list_out);

#endif
