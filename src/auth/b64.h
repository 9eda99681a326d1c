/* b64: base64url without padding (RFC 4648 §5), strict: no other characters, no loose bits at the end. */
#ifndef AUTH_B64_H
#define AUTH_B64_H

#include "base/arena.h"

/* STR_NULL if it is not that. */
struct str b64url_decode(struct arena *a, struct str s);

#endif
