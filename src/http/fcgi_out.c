/* fcgi_out: see fcgi_out.h. */
#include "fcgi_out.h"

#include <string.h>

enum { END_REQUEST = 3, STDOUT = 6, UNKNOWN_TYPE = 11 };

static void
head(uint8_t out[FCGI_HEAD], int type, uint16_t id, size_t n)
{
	const uint8_t h[FCGI_HEAD] = { 1, (uint8_t)type, (uint8_t)(id >> 8), (uint8_t)id, (uint8_t)(n >> 8),
		(uint8_t)n, 0, 0 };

	memcpy(out, h, FCGI_HEAD);
}

/* The end of an answer; bytes written. */
static size_t
ending(uint8_t out[FCGI_END_MAX], uint16_t id, bool last)
{
	head(out, STDOUT, id, 0);
	head(out + FCGI_HEAD, END_REQUEST, id, 8);
	memset(out + 2 * FCGI_HEAD, 0, 8); /* exit status 0, request complete */
	if (!last)
		return 3 * FCGI_HEAD;
	head(out + 3 * FCGI_HEAD, UNKNOWN_TYPE, 0, 8);
	memset(out + 4 * FCGI_HEAD, 0, 8);
	return 5 * FCGI_HEAD;
}

static void
add_bytes(struct sb *out, const uint8_t *p, size_t n)
{
	sb_add(out, (struct str){ (const char *)p, n });
}

/* See fcgi_out.h. */
void
fcgi_add_stdout(struct sb *out, uint16_t id, struct str text)
{
	uint8_t h[FCGI_HEAD];

	while (text.n > 0) {
		size_t n = text.n < FCGI_CONTENT_MAX ? text.n : FCGI_CONTENT_MAX;

		head(h, STDOUT, id, n);
		add_bytes(out, h, sizeof(h));
		sb_add(out, str_sub(text, 0, n));
		text = str_sub(text, n, text.n);
	}
}

/* See fcgi_out.h. */
void
fcgi_add_end(struct sb *out, uint16_t id, bool last)
{
	uint8_t e[FCGI_END_MAX];

	add_bytes(out, e, ending(e, id, last));
}

/* One record: fills iov entries with up to FCGI_CONTENT_MAX bytes of the parts; bytes taken. */
static size_t
take_record(struct fcgi_out *o, struct iovec *iov, size_t *n_iov)
{
	size_t n = 0;

	while (o->at < o->n && n < FCGI_CONTENT_MAX) {
		struct str left = str_sub(o->part[o->at], o->off, o->part[o->at].n);

		if (left.n > FCGI_CONTENT_MAX - n)
			left.n = FCGI_CONTENT_MAX - n;
		if (left.n > 0)
			iov[(*n_iov)++] = (struct iovec){ (void *)(uintptr_t)left.p, left.n };
		n += left.n;
		o->off += left.n;
		if (o->off == o->part[o->at].n) {
			o->at++;
			o->off = 0;
		}
	}
	return n;
}

/* See fcgi_out.h. */
size_t
fcgi_out_next(struct fcgi_out *o, struct fcgi_batch *b)
{
	size_t n_iov = 0;

	if (o->ended)
		return 0;
	for (size_t i = 0; i < sizeof(b->head) / sizeof(b->head[0]); i++) {
		size_t at = n_iov++, n = take_record(o, b->iov, &n_iov);

		if (n == 0 && o->open) {
			o->ended = true;
			return n_iov - 1;
		}
		if (n == 0) {
			b->iov[at] = (struct iovec){ b->end, ending(b->end, o->id, o->last) };
			o->ended = true;
			return n_iov;
		}
		head(b->head[i], STDOUT, o->id, n);
		b->iov[at] = (struct iovec){ b->head[i], FCGI_HEAD };
	}
	return n_iov;
}
