/*
 * fcgi_in: see fcgi_in.h.
 *
 * libfcgi is led around its own accept: ipcFd is set by us and keepConnection makes the leading
 * Finish of FCGX_Accept_r leave it open; a listen socket of -1 makes it give up where it would
 * accept another connection. `detached` spares the lingering close, which may take two seconds.
 */
#include "fcgi_in.h"

#include <assert.h>
#include <fcgiapp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BODY_FIRST (16u << 10)
#define DROP_MAX (256u << 20) /* of an unwanted body; a web server that sends more loses the connection */

/* See fcgi_in.h. */
void
fcgi_setup(void)
{
	FCGX_Init();
}

static void
impl_free(void *p)
{
	FCGX_Request *q = p;

	if (q->ipcFd >= 0 || q->in != NULL) {
		q->ipcFd = -1;
		FCGX_Free(q, 0);
	}
}

static void
copy_params(struct arena *a, char *const *envp, struct fcgi_in *in)
{
	size_t n = 0;

	while (envp[n] != NULL)
		n++;
	in->name = arena_array(a, struct str, n + 1);
	in->value = arena_array(a, struct str, n + 1);
	for (size_t i = 0; i < n; i++) {
		struct str line = arena_str(a, str_c(envp[i]));
		size_t eq = str_chr(line, '=', 0);

		if (eq == STR_NPOS)
			continue;
		in->name[in->n] = str_sub(line, 0, eq);
		in->value[in->n++] = str_sub(line, eq + 1, line.n);
	}
}

/* See fcgi_in.h. */
int
fcgi_in_open(int fd, struct arena *a, struct fcgi_in *in)
{
	FCGX_Request *q = arena_new(a, FCGX_Request);

	*in = (struct fcgi_in){ .impl = q };
	FCGX_InitRequest(q, -1, 0);
	q->ipcFd = fd;
	q->keepConnection = 1;
	q->detached = 1;
	arena_defer(a, impl_free, q);
	if (FCGX_Accept_r(q) < 0) {
		in->impl = NULL; /* it has closed the descriptor, and then failed to accept another one */
		return -1;
	}
	in->id = (uint16_t)q->requestId;
	in->keep = q->keepConnection != 0;
	copy_params(a, q->envp, in);
	in->responder = str_is(fcgi_in_param(in, STR("FCGI_ROLE")), "RESPONDER");
	return 0;
}

/* See fcgi_in.h. */
struct str
fcgi_in_param(const struct fcgi_in *in, struct str name)
{
	for (size_t i = 0; i < in->n; i++)
		if (str_eq(in->name[i], name))
			return in->value[i];
	return STR_NULL;
}

/* Up to max bytes; fewer only at the end of the body. Bytes read. */
static size_t
body_read(FCGX_Request *q, char *p, size_t max)
{
	size_t n = 0;
	int got;

	do {
		size_t want = max - n < (1u << 30) ? max - n : 1u << 30;

		got = FCGX_GetStr(p + n, (int)want, q->in);
		n += got > 0 ? (size_t)got : 0;
	} while (got > 0 && n < max);
	return n;
}

/* See fcgi_in.h. */
int
fcgi_in_body(struct fcgi_in *in, struct arena *a, size_t max, size_t hint, struct str *out)
{
	FCGX_Request *q = in->impl;
	struct sb text = sb_new(a);
	size_t n, want;
	char more;

	assert(q != NULL);
	for (;;) {
		want = text.n == 0 ? (hint > 0 ? hint : BODY_FIRST) : text.n;
		if (want > max - text.n)
			want = max - text.n;
		if (want == 0)
			break;
		sb_reserve(&text, want);
		n = body_read(q, text.p + text.n, want);
		text.n += n;
		if (n < want || text.n == hint)
			break;
	}
	*out = sb_str(&text);
	if (FCGX_GetError(q->in) != 0)
		return -1;
	return text.n == max && body_read(q, &more, 1) == 1 ? 1 : 0;
}

/* See fcgi_in.h. */
int
fcgi_in_close(struct fcgi_in *in)
{
	FCGX_Request *q = in->impl;
	char drop[4096];
	size_t n, all = 0;
	int rc;

	if (q == NULL)
		return 0;
	do {
		n = body_read(q, drop, sizeof(drop));
		all += n;
	} while (n == sizeof(drop) && all < DROP_MAX);
	rc = FCGX_GetError(q->in) != 0 || all >= DROP_MAX ? -1 : 0;
	impl_free(q);
	in->impl = NULL;
	return rc;
}
