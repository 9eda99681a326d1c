/* fcgi_out: every byte of an answer arrives once, in well-formed records, whatever the parts. */
#include "http/fcgi_out.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

/* Reads records back: content of STDOUT into out. 1: STDOUT ended, 2: END_REQUEST followed, 3: and then the
 * farewell. */
static int
unpack(struct str wire, uint16_t id, struct sb *out)
{
	int end = 0;

	while (wire.n > 0) {
		const unsigned char *h = (const unsigned char *)wire.p;
		size_t n;

		assert_true(wire.n >= FCGI_HEAD);
		assert_int_equal(h[0], 1);
		assert_int_equal(h[2] << 8 | h[3], end == 2 ? 0 : id);
		assert_int_equal(h[6], 0);
		n = (size_t)(h[4] << 8 | h[5]);
		assert_true(wire.n >= FCGI_HEAD + n);
		if (h[1] == 6) {
			assert_int_equal(end, 0);
			end = n == 0;
			sb_add(out, str_sub(wire, FCGI_HEAD, FCGI_HEAD + n));
		} else {
			assert_int_equal(h[1], end == 1 ? 3 : 11);
			assert_int_equal(n, 8);
			assert_true(end == 1 || end == 2);
			end++;
		}
		wire = str_sub(wire, FCGI_HEAD + n, wire.n);
	}
	return end;
}

static struct sb
written(struct arena *a, struct fcgi_out *o)
{
	struct fcgi_batch b;
	struct sb wire = sb_new(a);
	size_t n;

	while ((n = fcgi_out_next(o, &b)) > 0) {
		assert_true(n <= sizeof(b.iov) / sizeof(b.iov[0]));
		for (size_t i = 0; i < n; i++)
			sb_add(&wire, (struct str){ b.iov[i].iov_base, b.iov[i].iov_len });
	}
	assert_int_equal(fcgi_out_next(o, &b), 0);
	return wire;
}

static struct str
noise(struct arena *a, size_t n)
{
	char *p = arena_alloc(a, n + 1);

	for (size_t i = 0; i < n; i++)
		p[i] = (char)(i * 31 + i / 255);
	return (struct str){ p, n };
}

static void
parts_become_records(void **state)
{
	static const size_t sizes[][3] = {
		{ 0, 0, 0 },
		{ 1, 0, 0 },
		{ 40, 9, 1 },
		{ 100, FCGI_CONTENT_MAX - 100, 0 },
		{ 100, FCGI_CONTENT_MAX - 99, 0 },
		{ FCGI_CONTENT_MAX, 0, 1 },
		{ 0, 3 * FCGI_CONTENT_MAX, 2 },
		{ 7, 20 * FCGI_CONTENT_MAX + 5, 3 },
		{ 16 * FCGI_CONTENT_MAX, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (int last = 0; last < 2; last++) {
			struct arena *a = arena_create("test", 0);
			struct fcgi_out o = { .id = 0x1234, .last = last, .n = 3 };
			struct sb want = sb_new(a), got = sb_new(a), wire;

			for (size_t k = 0; k < 3; k++) {
				o.part[k] = noise(a, sizes[i][k]);
				sb_add(&want, o.part[k]);
			}
			wire = written(a, &o);
			assert_int_equal(unpack(sb_str(&wire), 0x1234, &got), last ? 3 : 2);
			assert_true(str_eq(sb_str(&got), sb_str(&want)));
			arena_destroy(&a);
		}
	}
}

static void
stream_pieces_become_records(void **state)
{
	struct arena *a = arena_create("test", 0);
	struct sb wire = sb_new(a), got = sb_new(a);
	struct str big = noise(a, 2 * FCGI_CONTENT_MAX + 1);

	(void)state;
	fcgi_add_stdout(&wire, 1, STR("abc"));
	fcgi_add_stdout(&wire, 1, STR(""));
	fcgi_add_stdout(&wire, 1, big);
	fcgi_add_end(&wire, 1, false);
	assert_int_equal(unpack(sb_str(&wire), 1, &got), 2);
	assert_int_equal(got.n, 3 + big.n);
	assert_memory_equal(got.p + 3, big.p, big.n);
	wire = sb_new(a);
	fcgi_add_end(&wire, 1, true);
	assert_int_equal(unpack(sb_str(&wire), 1, &got), 3);
	arena_destroy(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_become_records),
		cmocka_unit_test(stream_pieces_become_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
