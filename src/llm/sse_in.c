/*
 * sse_in: see sse_in.h.
 */
#include "llm/sse_in.h"

enum { BOM_DONE = 3 };

static const char bom[BOM_DONE] = { '\xef', '\xbb', '\xbf' };

void
sse_in_begin(struct sse_in *s, struct arena *a, size_t max)
{
	*s = (struct sse_in){ .a = a, .max = max, .line = sb_new(a), .data = sb_new(a), .name = sb_new(a) };
}

static void
event_end(struct sse_in *s, sse_fn *fn, void *arg)
{
	struct sse_event ev = { .data = sb_str(&s->data), .name = s->name.n ? sb_str(&s->name) : STR_NULL };

	if (s->has_data && str_trim(ev.data).n > 0 && !fn(arg, &ev))
		s->stopped = true;
	sb_truncate(&s->data, 0);
	sb_truncate(&s->name, 0);
	s->has_data = false;
}

static int
data_add(struct sse_in *s, struct str value)
{
	if (s->data.n + value.n + 1 > s->max)
		return -1;
	if (s->has_data)
		sb_addc(&s->data, '\n');
	sb_add(&s->data, value);
	s->has_data = true;
	return 0;
}

static int
line_end(struct sse_in *s, sse_fn *fn, void *arg)
{
	struct str line = sb_str(&s->line), field, value = STR("");
	size_t colon = str_chr(line, ':', 0);
	bool error;
	int rc = 0;

	if (line.n == 0) {
		event_end(s, fn, arg);
		return 0;
	}
	field = str_sub(line, 0, colon);
	if (colon != STR_NPOS)
		value = str_sub(line, colon + 1, line.n);
	if (value.n > 0 && value.p[0] == ' ')
		value = str_sub(value, 1, value.n);
	error = str_is(field, "error");
	if (error || str_is(field, "event")) {
		sb_truncate(&s->name, 0);
		sb_add(&s->name, error ? field : value);
	}
	if (error || str_is(field, "data"))
		rc = data_add(s, value);
	sb_truncate(&s->line, 0);
	return rc;
}

/* Skips the byte order mark, piece by piece; gives back what only looked like one. */
static struct str
bom_skip(struct sse_in *s, struct str bytes)
{
	while (s->bom < BOM_DONE && bytes.n > 0) {
		if (bytes.p[0] != bom[s->bom]) {
			sb_add(&s->line, (struct str){ bom, s->bom });
			s->bom = BOM_DONE;
			break;
		}
		s->bom++;
		bytes = str_sub(bytes, 1, bytes.n);
	}
	return bytes;
}

/* Bytes before the first CR or LF; all if there is none. */
static size_t
line_length(struct str s)
{
	const char *lf = memchr(s.p, '\n', s.n);
	size_t n = lf ? (size_t)(lf - s.p) : s.n;
	const char *cr = memchr(s.p, '\r', n);

	return cr ? (size_t)(cr - s.p) : n;
}

int
sse_in_feed(struct sse_in *s, struct str bytes, sse_fn *fn, void *arg)
{
	bytes = bom_skip(s, bytes);
	while (bytes.n > 0 && !s->stopped) {
		size_t n;

		if (s->skip_lf && bytes.p[0] == '\n') {
			s->skip_lf = false;
			bytes = str_sub(bytes, 1, bytes.n);
			continue;
		}
		s->skip_lf = false;
		n = line_length(bytes);
		if (s->line.n + n > s->max) {
			s->stopped = true;
			return -1;
		}
		sb_add(&s->line, str_sub(bytes, 0, n));
		if (n == bytes.n)
			break;
		s->skip_lf = bytes.p[n] == '\r';
		bytes = str_sub(bytes, n + 1, bytes.n);
		if (line_end(s, fn, arg) < 0) {
			s->stopped = true;
			return -1;
		}
	}
	return 0;
}

int
sse_in_end(struct sse_in *s, sse_fn *fn, void *arg)
{
	int rc = 0;

	if (s->stopped)
		return 0;
	if (s->bom < BOM_DONE)
		sb_add(&s->line, (struct str){ bom, s->bom });
	if (s->line.n > 0)
		rc = line_end(s, fn, arg);
	if (rc == 0)
		event_end(s, fn, arg);
	s->stopped = true;
	return rc;
}
