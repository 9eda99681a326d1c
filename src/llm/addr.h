/*
 * addr: which addresses a server of ours may connect to on behalf of a user. Pure.
 */
#ifndef LLM_ADDR_H
#define LLM_ADDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum addr_class {
	ADDR_PUBLIC,
	ADDR_PRIVATE, /* own machine or network: only if the operator allows it */
	ADDR_NEVER    /* link-local, cloud metadata, multicast, reserved: whatever is allowed */
};

/* 4 or 16 bytes in network order. *what names the range ("loopback", …). IPv4 inside IPv6 counts as that IPv4. */
enum addr_class addr_classify(const uint8_t *bytes, size_t n, const char **what);

struct sockaddr;
/* The same for a socket address; other families are ADDR_NEVER. */
enum addr_class addr_classify_sa(const struct sockaddr *sa, const char **what);

#endif
