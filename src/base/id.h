/*
 * id: the names that the API shows. 21 characters of [-0-9A-Z_a-z] whose byte order is
 * their time order (48 bits of milliseconds, 78 random bits; alphabet in ASCII order).
 */
#ifndef BASE_ID_H
#define BASE_ID_H

#include "str.h"

#define ID_LEN 21
#define ID_MAX 128 /* ids from elsewhere: 1..128 bytes */

struct id {
	char s[ID_LEN + 1];
};

struct id id_new(int64_t now_ms);                 /* random part from the system, monotonic inside a process */
struct id id_make(int64_t now_ms, const uint8_t random[10]); /* pure; 78 bits used */
bool id_valid(struct str s);                      /* acceptable as a path parameter: 1..128 bytes, no controls */

#endif
