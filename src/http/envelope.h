/*
 * envelope: how a failure looks to a client of HTTP, whatever program answers: its status and its body.
 */
#ifndef HTTP_ENVELOPE_H
#define HTTP_ENVELOPE_H

#include "base/ctx.h"
#include "base/sb.h"

/* The recorded error: {"error":{"code","message","details"?}}. */
struct str error_envelope(struct arena *a, const struct err *e);
const char *error_code(const struct err *e); /* of the kind, if the failure has none */
int error_status(enum err_kind k);     /* the one place that maps kinds to statuses */
const char *status_reason(int status); /* of the first line of an answer */

#endif
