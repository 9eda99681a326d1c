/* router: what router.c shares inside http beside route.h. */
#ifndef HTTP_ROUTER_H
#define HTTP_ROUTER_H

#include "route.h"

extern const char *const method_names[METHOD__COUNT + 1];
enum method method_parse(struct str name);
int url_decode(struct arena *a, struct str s, bool plus, struct str *out);

#endif
