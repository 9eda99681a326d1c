/*
 * target: a URL that a transfer may go to: its form checked, its host resolved, every address checked, and the addresses
 * pinned for the transfer (models.md A12). Asks the resolver; blocks up to connect_ms.
 */
#ifndef LLM_TARGET_H
#define LLM_TARGET_H

#include "llm/llm.h"

#include <curl/curl.h>

struct target {
	CURLU *url;            /* what is fetched; deferred in the arena */
	const char *host;      /* as the URL has it, IPv6 in brackets */
	int port;
	const char *pin;       /* "host:port:address,…" for CURLOPT_RESOLVE; NULL = the host is an address */
	bool tls;
	bool listed;           /* named by allow_hosts */
};

/*
 * `path` is appended to the URL's path with one slash between ("" = as it is). -1 records ERR_INVALID
 * `invalid_url` or `ssrf_blocked`, or ERR_UPSTREAM `upstream_error` if the name cannot be resolved.
 */
int target_open(struct ctx *c, const struct llm_conf *conf, const char *base, const char *path, struct target *out);

/* The last check, on the address that is about to be connected to. */
bool target_allows(const struct llm_conf *conf, bool listed, const struct sockaddr *sa, const char **what);

#endif
