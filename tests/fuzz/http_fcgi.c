/*
 * http_fcgi: answers of any parts and streams of any events, as records. The input says where to
 * cut; lengths are scaled so that records overflow. Read back, the bytes must be the same.
 */
#include "http/fcgi_out.h"
#include "http/sse.h"

#include <stdlib.h>
#include <string.h>

#define LONG_PART 70000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Content of STDOUT; aborts on a malformed record or a wrong end. */
static struct sb
unpack(struct arena *a, struct str wire, uint16_t id, bool last)
{
	struct sb out = sb_new(a);
	bool eof = false, end = false, farewell = false;

	while (wire.n > 0) {
		const uint8_t *h = (const uint8_t *)wire.p;
		size_t n;

		if (wire.n < FCGI_HEAD || h[0] != 1 || (h[2] << 8 | h[3]) != (end ? 0 : id) || h[6] != 0 ||
		    farewell)
			abort();
		n = (size_t)(h[4] << 8 | h[5]);
		if (wire.n < FCGI_HEAD + n || h[1] != (end ? 11 : eof ? 3 : 6))
			abort();
		if (h[1] == 6)
			sb_add(&out, str_sub(wire, FCGI_HEAD, FCGI_HEAD + n));
		farewell = end;
		end = end || eof;
		eof = eof || n == 0;
		wire = str_sub(wire, FCGI_HEAD + n, wire.n);
	}
	if (!eof || !end || farewell != last)
		abort();
	return out;
}

static void
answer(struct arena *a, struct str text, uint16_t id, bool last)
{
	struct fcgi_out o = { .id = id, .last = last };
	struct sb want = sb_new(a), wire = sb_new(a), got;
	struct fcgi_batch b;
	size_t n;

	while (o.n < FCGI_PARTS && text.n > 0) {
		size_t take = ((size_t)(unsigned char)text.p[0] * 1031) % (text.n + 1);
		struct str part = str_sub(text, 0, take);

		if (text.p[0] == 'z') /* longer than a record */
			part = (struct str){ memset(arena_alloc(a, LONG_PART), 'z', LONG_PART),
				LONG_PART - take % LONG_PART };
		o.part[o.n++] = part;
		sb_add(&want, part);
		text = str_sub(text, take > 0 ? take : 1, text.n);
	}
	while ((n = fcgi_out_next(&o, &b)) > 0)
		for (size_t i = 0; i < n; i++)
			sb_add(&wire, (struct str){ b.iov[i].iov_base, b.iov[i].iov_len });
	got = unpack(a, sb_str(&wire), id, last);
	if (!str_eq(sb_str(&got), sb_str(&want)))
		abort();
}

/* An event is one block: a blank line ends it and stands nowhere inside. */
static void
event(struct arena *a, struct str text, uint16_t id)
{
	struct stream_item it = { .kind = text.n % 3, .name = "run", .data = text, .after = { id, id, id } };
	struct sb s = sb_new(a), wire = sb_new(a), got;

	sse_add_item(&s, &it);
	if (str_find(sb_str(&s), STR("\n\n"), 0) != s.n - 2)
		abort();
	fcgi_add_stdout(&wire, id, sb_str(&s));
	fcgi_add_end(&wire, id, text.n & 1);
	got = unpack(a, sb_str(&wire), id, text.n & 1);
	if (!str_eq(sb_str(&got), sb_str(&s)))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_create("fuzz", 0);
	struct str text = { (const char *)data + 3, size > 3 ? size - 3 : 0 };

	if (size > 3) {
		uint16_t id = (uint16_t)(data[0] << 8 | data[1]);

		answer(a, text, id, data[2] & 1);
		event(a, text, id);
	}
	arena_destroy(&a);
	return 0;
}
