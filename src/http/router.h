/* router: what router.c shares inside http beside route.h. */
#ifndef HTTP_ROUTER_H
#define HTTP_ROUTER_H

#include "route.h"

/* Names of methods; METHOD__COUNT (none that we know) has no name. */
extern const char *const method_names[METHOD__COUNT + 1];
enum method method_parse(struct str name);
/* Resolves percent-encoding; see router.c. */
int url_decode(struct arena *a, struct str s, bool plus, struct str *out);

#endif
