/*
 * http_router: any path, query value and event id. The first byte is the method. Beyond not
 * crashing: what comes out is UTF-8 without NUL, of the promised length, and belongs to the row.
 */
#include "base/id.h"
#include "base/utf8.h"
#include "http/router.h"
#include "http/sse.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int
handler(struct request *r)
{
	return r == NULL ? -1 : 0;
}

#define ROW(m, p)                                                                                            \
	{                                                                                                    \
		.method = METHOD_##m, .path = (p), .fn = handler, .auth = AUTH_PUBLIC,                       \
		.flags = ROUTE_UNLISTED                                                                      \
	}
static const struct route rows[] = {
	ROW(GET, "/a"),
	ROW(POST, "/a/{x}"),
	ROW(GET, "/a/{x}/b/{y}"),
	ROW(PATCH, "/a/batch"),
	ROW(GET, "/a/batch/b/c/{z}"),
	ROW(DELETE, "/{p}/{q}/{r}/{s}/{t}/{u}"),
	{ .path = NULL },
};

static void
check_match(const struct route_match *m)
{
	size_t params = 0;

	for (const char *p = m->row->path; *p != '\0'; p++)
		params += *p == '{';
	if (m->n != params)
		abort();
	for (size_t i = 0; i < m->n; i++)
		if (!id_valid(m->value[i]) || !utf8_valid(m->value[i]) ||
		    memchr(m->value[i].p, '\0', m->value[i].n) != NULL)
			abort();
}

/* An id that is read is the one that would be printed. */
static void
check_id(struct arena *a, struct str text, struct stream_pos pos)
{
	if (!str_is(text, arena_printf(a, "%u.%u.%u", pos.event, pos.text, pos.reasoning)))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct arena *process;
	static struct router *rt;
	const struct route_table table = { rows };
	struct str text = { (const char *)data + 1, size > 0 ? size - 1 : 0 }, out;
	struct arena *a = arena_create("fuzz", 0);
	struct route_match m;
	struct stream_pos pos;
	const char *why;

	if (rt == NULL) {
		process = arena_create("process", 0);
		rt = router_create(process, &table, 1, &why);
	}
	if (size > 0 && router_match(rt, a, (enum method)(data[0] % METHOD__COUNT), text, &m) == 1)
		check_match(&m);
	if (size > 0 && url_decode(a, text, data[0] & 1, &out) == 0 && (!utf8_valid(out) || out.n > text.n))
		abort();
	if (size > 0 && sse_parse_id(text, &pos))
		check_id(a, text, pos);
	arena_destroy(&a);
	return 0;
}
