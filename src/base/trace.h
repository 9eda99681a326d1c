/*
 * trace: W3C Trace Context, level 1: the `traceparent` that a request brings is continued to whoever is asked on its
 * behalf, so that an operator's tracing sees one story. Nothing is sampled or stored here.
 */
#ifndef BASE_TRACE_H
#define BASE_TRACE_H

#include "arena.h"

/*
 * The traceparent of what this request asks of others: the given one with a span id of our own; a new
 * one, not sampled, if none was given or it is none (absent, malformed, all zeros, version ff). Lives in a.
 */
const char *trace_parent(struct arena *a, struct str given);
/* The trace id in it: 32 hex digits. */
struct str trace_id(const char *traceparent);

#endif
