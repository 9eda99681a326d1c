/*
 * addr: see addr.h. The first row that fits decides; what no row of IPv6 names is not used on the internet.
 */
#include "llm/addr.h"

#include <netinet/in.h>
#include <string.h>

struct range {
	uint8_t prefix[16];
	unsigned bits;
	enum addr_class class;
	const char *what;
	unsigned v4_at; /* IPv6: the IPv4 address inside begins at this byte; 0 = none */
};

/* clang-format off */
static const struct range ranges4[] = {
	{ { 168, 63, 129, 16 },  32, ADDR_NEVER,   "cloud metadata", 0 },
	{ { 100, 100, 100, 200 }, 32, ADDR_NEVER,  "cloud metadata", 0 },
	{ { 192, 0, 0, 192 },    32, ADDR_NEVER,   "cloud metadata", 0 },
	{ { 0 },                  8, ADDR_NEVER,   "unspecified", 0 },
	{ { 10 },                 8, ADDR_PRIVATE, "private", 0 },
	{ { 100, 64 },           10, ADDR_PRIVATE, "shared (carrier)", 0 },
	{ { 127 },                8, ADDR_PRIVATE, "loopback", 0 },
	{ { 169, 254 },          16, ADDR_NEVER,   "link-local", 0 },
	{ { 172, 16 },           12, ADDR_PRIVATE, "private", 0 },
	{ { 192, 0, 0 },         24, ADDR_NEVER,   "reserved", 0 },
	{ { 192, 0, 2 },         24, ADDR_NEVER,   "documentation", 0 },
	{ { 192, 88, 99 },       24, ADDR_NEVER,   "relay", 0 },
	{ { 192, 168 },          16, ADDR_PRIVATE, "private", 0 },
	{ { 198, 18 },           15, ADDR_PRIVATE, "benchmark", 0 },
	{ { 198, 51, 100 },      24, ADDR_NEVER,   "documentation", 0 },
	{ { 203, 0, 113 },       24, ADDR_NEVER,   "documentation", 0 },
	{ { 224 },                4, ADDR_NEVER,   "multicast", 0 },
	{ { 240 },                4, ADDR_NEVER,   "reserved", 0 },
	{ { 0 },                  0, ADDR_PUBLIC,  "public", 0 },
};

static const struct range ranges6[] = {
	{ { 0 },                                               128, ADDR_NEVER,   "unspecified", 0 },
	{ { [15] = 1 },                                        128, ADDR_PRIVATE, "loopback", 0 },
	{ { [10] = 0xff, [11] = 0xff },                         96, ADDR_PUBLIC,  NULL, 12 },   /* mapped */
	{ { [8] = 0xff, [9] = 0xff },                           96, ADDR_PUBLIC,  NULL, 12 },   /* translated */
	{ { 0x00, 0x64, 0xff, 0x9b },                           96, ADDR_PUBLIC,  NULL, 12 },   /* NAT64 */
	{ { 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01 },               48, ADDR_NEVER,   "local NAT64", 0 },
	{ { 0 },                                                96, ADDR_NEVER,   "reserved", 0 }, /* compatible */
	{ { 0x20, 0x02 },                                       16, ADDR_PUBLIC,  NULL, 2 },    /* 6to4 */
	{ { 0x20, 0x01, 0x00, 0x00 },                           32, ADDR_NEVER,   "tunnel", 0 },
	{ { 0x20, 0x01, 0x0d, 0xb8 },                           32, ADDR_NEVER,   "documentation", 0 },
	{ { 0x20, 0x01 },                                       23, ADDR_NEVER,   "reserved", 0 },
	{ { 0x3f, 0xff },                                       20, ADDR_NEVER,   "documentation", 0 },
	{ { 0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, [15] = 0x54 }, 128, ADDR_NEVER,  "cloud metadata", 0 },
	{ { 0xfd, 0x20, 0x00, 0xce, [14] = 0x02, [15] = 0x54 }, 128, ADDR_NEVER,  "cloud metadata", 0 },
	{ { 0xfc },                                              7, ADDR_PRIVATE, "unique local", 0 },
	{ { 0xfe, 0x80 },                                       10, ADDR_NEVER,   "link-local", 0 },
	{ { 0xfe, 0xc0 },                                       10, ADDR_PRIVATE, "site-local", 0 },
	{ { 0xff },                                              8, ADDR_NEVER,   "multicast", 0 },
	{ { 0x20 },                                              3, ADDR_PUBLIC,  "public", 0 },
	{ { 0 },                                                 0, ADDR_NEVER,   "reserved", 0 },
};
/* clang-format on */

static bool
in_range(const uint8_t *b, const struct range *r)
{
	size_t whole = r->bits / 8;
	unsigned rest = r->bits % 8;

	return memcmp(b, r->prefix, whole) == 0 &&
	       (rest == 0 || (b[whole] ^ r->prefix[whole]) >> (8 - rest) == 0);
}

enum addr_class
addr_classify(const uint8_t *b, size_t n, const char **what)
{
	const struct range *r = n == 4 ? ranges4 : ranges6;

	*what = "unknown";
	if (n != 4 && n != 16)
		return ADDR_NEVER;
	while (!in_range(b, r)) /* the last row fits all */
		r++;
	if (r->v4_at)
		return addr_classify(b + r->v4_at, 4, what);
	*what = r->what;
	return r->class;
}

enum addr_class
addr_classify_sa(const struct sockaddr *sa, const char **what)
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	uint8_t b[16];

	if (sa->sa_family == AF_INET) {
		memcpy(&in, sa, sizeof in);
		memcpy(b, &in.sin_addr, 4);
		return addr_classify(b, 4, what);
	}
	if (sa->sa_family == AF_INET6) {
		memcpy(&in6, sa, sizeof in6);
		memcpy(b, &in6.sin6_addr, 16);
		return addr_classify(b, 16, what);
	}
	*what = "unknown";
	return ADDR_NEVER;
}
