/* trace: see trace.h. */
#include "trace.h"

#include "rng.h"

#define ID_AT 3
#define ID_LEN 32
#define SPAN_AT (ID_AT + ID_LEN + 1)
#define SPAN_LEN 16
#define FLAGS_AT (SPAN_AT + SPAN_LEN + 1)
#define LEN (FLAGS_AT + 2)

static bool
is_hex(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!(s.p[i] >= '0' && s.p[i] <= '9') && !(s.p[i] >= 'a' && s.p[i] <= 'f'))
			return false;
	return true;
}

static bool
is_zero(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] != '0')
			return false;
	return true;
}

/* A later version may have more behind a dash; what stands before it keeps its meaning (section 3.2.2). */
static bool
is_traceparent(struct str s)
{
	struct str version = str_sub(s, 0, 2), id = str_sub(s, ID_AT, ID_AT + ID_LEN), span = str_sub(s, SPAN_AT, SPAN_AT + SPAN_LEN);

	if (s.n < LEN || s.p[ID_AT - 1] != '-' || s.p[SPAN_AT - 1] != '-' || s.p[FLAGS_AT - 1] != '-')
		return false;
	if (!is_hex(version) || !is_hex(id) || !is_hex(span) || !is_hex(str_sub(s, FLAGS_AT, LEN)) || is_zero(id) || is_zero(span))
		return false;
	return str_is(version, "00") ? s.n == LEN : !str_is(version, "ff") && (s.n == LEN || s.p[LEN] == '-');
}

static uint64_t
chance(void)
{
	uint64_t r;

	do
		rng_system(&r, sizeof(r));
	while (r == 0);
	return r;
}

const char *
trace_parent(struct arena *a, struct str given)
{
	unsigned long long span = chance();

	if (is_traceparent(given))
		return arena_printf(a, "00-%.*s-%016llx-%s", STR_ARG(str_sub(given, ID_AT, ID_AT + ID_LEN)), span,
		    (given.p[LEN - 1] & 1) == (given.p[LEN - 1] >= 'a') ? "00" : "01");
	return arena_printf(a, "00-%016llx%016llx-%016llx-00", (unsigned long long)chance(), (unsigned long long)chance(), span);
}

struct str
trace_id(const char *traceparent)
{
	return (struct str){ traceparent + ID_AT, ID_LEN };
}
