/*
 * mockllm - mock OpenAI-compatible chat-completions server (streaming SSE and
 * non-streaming) for load, latency and fault tests. One epoll thread, no
 * dependencies; holds >10k streams.
 *
 * Build:  gcc -O2 -Wall -o mockllm mockllm.c
 * Usage:  mockllm [-l 127.0.0.1:9100] [-n chunks=100] [-i ms=20] [-f ttft_ms=0]
 *                 [-b bytes_per_chunk=24] [-v]
 *         (binds loopback only; exits on SIGTERM/SIGINT)
 * API:    POST /v1/chat/completions      {"stream":true|false,...}
 *         GET  /v1/models                two models
 *         GET  /stats                    {"active":..,"started":..,"completed":..,"aborted":..,
 *                                         "chunks":..,"last_body_bytes":..}
 *         GET  /calls                    {"NAME":[started, chunks],...}: by the model's name before '?'
 *         GET  /last                     last request body (verbatim; for prompt assertions)
 *         GET  /last-head                the head of that request (request line and header lines, verbatim)
 *         POST /reset                    zero the counters
 * Per-request overrides, in the query string of the URL or (handy when only a
 * model name can be passed through) in the "model" value after '?':
 *         n=CHUNKS i=MS f=TTFT_MS b=BYTES
 *         err=STATUS   answer with this HTTP status and an OpenAI error body
 *         cut=K        close the TCP connection after K chunks, no [DONE]
 *         stall=K      send K chunks, then nothing more (until the peer leaves)
 *         junk=K       chunk K is not JSON
 *         fail=K       after K chunks an error object (code 429) as an event, no [DONE]
 *         mute=1       the head of an answer, then its end; mute=2: only [DONE]; mute=3: not even a head
 *         half=1       the last chunk ends with two of the three bytes of a character
 *         halves=1     text= is cut anywhere, inside its characters too
 *         split=1      every event is sent in two TCP writes, cut inside a UTF-8 char
 *         utf8=1       content is CJK text instead of ASCII
 *         text=...     (percent-encoded) exact full text; n chunks are cut from it
 * Each chunk's delta.content carries "[t=<CLOCK_MONOTONIC ns>]" unless text= is
 * given, so that a client on the same machine (sseload.c) gets the one-way
 * latency of every chunk through whatever sits between.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

typedef struct {
	int n, i, f, b, err, cut, stall, junk, split, utf8, fail, mute, half, halves;
	char text[4096];
} opt_t;
typedef struct conn {
	int fd, st; /* 0 reading, 1 streaming, 2 stalled */
	char *in;
	size_t inlen, incap;
	char *out;
	size_t outlen, outoff, outcap;
	opt_t *o;
	int sent, keep, name; /* name: index of names, or -1 */
	uint64_t due;
	int heap; /* heap index or -1 */
	int closing;
} conn_t;

static opt_t defs = { .n = 100, .i = 20, .f = 0, .b = 24, .cut = -1, .stall = -1, .junk = -1, .fail = -1 };
static int ep, verbose;
static volatile sig_atomic_t quit;
static long st_active, st_started, st_done, st_abort, st_chunks, st_body;
#define NAMES 2048
static struct {
	char text[40];
	long started, chunks;
} names[NAMES]; /* those behind the last one are not counted */
static int nnames;
static char *last, *last_head;
static size_t lastlen, last_head_len;
static conn_t **heap;
static int hn, hcap;

static uint64_t
now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}
static void
hswap(int a, int b)
{
	conn_t *t = heap[a];
	heap[a] = heap[b];
	heap[b] = t;
	heap[a]->heap = a;
	heap[b]->heap = b;
}
static void
hup(int k)
{
	while (k && heap[(k - 1) / 2]->due > heap[k]->due) {
		hswap(k, (k - 1) / 2);
		k = (k - 1) / 2;
	}
}
static void
hdown(int k)
{
	for (;;) {
		int c = 2 * k + 1;
		if (c >= hn)
			return;
		if (c + 1 < hn && heap[c + 1]->due < heap[c]->due)
			c++;
		if (heap[k]->due <= heap[c]->due)
			return;
		hswap(k, c);
		k = c;
	}
}
static void
hpush(conn_t *c)
{
	if (hn == hcap)
		heap = realloc(heap, sizeof *heap * (hcap = hcap ? 2 * hcap : 1024));
	heap[hn] = c;
	c->heap = hn++;
	hup(c->heap);
}
static void
hdel(conn_t *c)
{
	int k = c->heap;
	if (k < 0)
		return;
	hswap(k, --hn);
	c->heap = -1;
	if (k < hn) {
		hup(k);
		hdown(k);
	}
}

static void
put(conn_t *c, const char *s, size_t n)
{
	if (c->outlen + n > c->outcap)
		c->out = realloc(c->out, c->outcap = (c->outlen + n) * 2);
	memcpy(c->out + c->outlen, s, n);
	c->outlen += n;
}
static void
drop(conn_t *c)
{
	if (c->st) {
		st_active--;
		if (c->sent >= 0)
			st_abort++;
	}
	hdel(c);
	close(c->fd);
	free(c->in);
	free(c->out);
	free(c->o);
	free(c);
}
static int
flush(conn_t *c)
{ /* -1: connection gone */
	while (c->outoff < c->outlen) {
		ssize_t k = send(c->fd, c->out + c->outoff, c->outlen - c->outoff, MSG_NOSIGNAL);
		if (k < 0) {
			if (errno == EAGAIN)
				break;
			drop(c);
			return -1;
		}
		c->outoff += k;
	}
	struct epoll_event ev = { .events = EPOLLIN | EPOLLRDHUP | (c->outoff < c->outlen ? EPOLLOUT : 0),
		.data.ptr = c };
	if (c->outoff == c->outlen) {
		c->outoff = c->outlen = 0;
		if (c->closing) {
			drop(c);
			return -1;
		}
	}
	epoll_ctl(ep, EPOLL_CTL_MOD, c->fd, &ev);
	return 0;
}
static void
reply(conn_t *c, int code, const char *ct, const char *body, size_t n)
{
	char h[256];
	int k = snprintf(h, sizeof h, "HTTP/1.1 %d X\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s\r\n",
	    code, ct, n, code == 429 ? "Retry-After: 1\r\n" : "");
	put(c, h, k);
	put(c, body, n);
}
static void
unpct(char *d, const char *s, size_t n, size_t cap)
{
	size_t o = 0;
	for (size_t k = 0; k < n && o + 1 < cap; k++) {
		unsigned v;
		if (s[k] == '%' && k + 2 < n && sscanf(s + k + 1, "%2x", &v) == 1) {
			d[o++] = v;
			k += 2;
		} else
			d[o++] = s[k] == '+' ? ' ' : s[k];
	}
	d[o] = 0;
}
static void
parse_opts(opt_t *o, const char *s, const char *end)
{
	while (s < end) {
		const char *amp = memchr(s, '&', end - s);
		if (!amp)
			amp = end;
		const char *eq = memchr(s, '=', amp - s);
		if (eq) {
			int v = atoi(eq + 1);
			size_t n = eq - s;
#define K(name, fld)                                                                                         \
	if (n == strlen(name) && !memcmp(s, name, n))                                                        \
		o->fld = v;
			K("n", n)
			K("i", i) K("f", f) K("b", b) K("err", err) K("cut", cut) K("stall", stall)
			    K("junk", junk) K("split", split)
				K("fail", fail) K("mute", mute) K("half", half) K("halves", halves) K("utf8", utf8) if (n == 4 && !memcmp(s, "text", 4))
				    unpct(o->text, eq + 1, amp - eq - 1, sizeof o->text);
		}
		s = amp + 1;
	}
}
static size_t
content(conn_t *c, int k, char *d)
{ /* JSON-escaped content of chunk k */
	opt_t *o = c->o;
	size_t n = 0;
	if (o->text[0]) {
		size_t L = strlen(o->text), a = L * k / o->n, b = L * (k + 1) / o->n;
		while (!o->halves && a && ((unsigned char)o->text[a] & 0xc0) == 0x80)
			a--;
		while (!o->halves && b < L && b && ((unsigned char)o->text[b] & 0xc0) == 0x80)
			b--;
		for (; a < b; a++) {
			unsigned char ch = o->text[a];
			if (ch == '"' || ch == '\\') {
				d[n++] = '\\';
				d[n++] = ch;
			} else if (ch < 0x20)
				n += sprintf(d + n, "\\u%04x", ch);
			else
				d[n++] = ch;
		}
		return n;
	}
	n = sprintf(d, "[t=%llu]", (unsigned long long)now());
	for (int b = n; b < o->b; b += 3)
		n += sprintf(d + n, "%s", o->utf8 ? "\xe4\xbd\xa0" : " ab");
	if (o->half && k == o->n - 1)
		n += sprintf(d + n, "\xe4\xbd");
	return n;
}
static void
event(conn_t *c, const char *s, size_t n)
{ /* one HTTP chunk */
	char h[32];
	int k = sprintf(h, "%zx\r\n", n);
	if (c->o->split && n > 3) {
		size_t cut = n / 2;
		for (size_t j = 1; j < n; j++)
			if ((unsigned char)s[j] >= 0xe0) {
				cut = j + 1;
				break;
			}
		int k1 = sprintf(h, "%zx\r\n", cut);
		put(c, h, k1);
		put(c, s, cut);
		put(c, "\r\n", 2);
		size_t l = c->outlen, off = c->outoff;
		ssize_t w = send(c->fd, c->out + off, l - off, MSG_NOSIGNAL);
		if (w > 0)
			c->outoff += w;
		usleep(200);
		k = sprintf(h, "%zx\r\n", n - cut);
		s += cut;
		n -= cut;
	}
	put(c, h, k);
	put(c, s, n);
	put(c, "\r\n", 2);
}
static void
end(conn_t *c)
{ /* the answer is complete */
	st_done++;
	st_active--;
	c->st = 0;
	c->sent = -1;
	free(c->o);
	c->o = NULL;
	flush(c);
}
static void
step(conn_t *c)
{ /* due: emit next chunk, reschedule or finish */
	opt_t *o = c->o;
	char buf[16384], txt[12288];
	if (c->sent == o->cut) {
		c->sent = -1;
		drop(c);
		return;
	}
	if (c->sent == o->stall) {
		c->st = 2;
		return;
	}
	if (c->sent == o->fail || o->mute) {
		static const char *const last_words[] = {
			"data: {\"error\":{\"message\":\"quota exceeded\",\"code\":429}}\n\n", "", "data: [DONE]\n\n"
		};
		const char *s = last_words[o->mute];
		if (*s)
			event(c, s, strlen(s));
		put(c, "0\r\n\r\n", 5);
		end(c);
		return;
	}
	if (c->sent < o->n) {
		size_t n;
		if (c->sent == o->junk)
			n = sprintf(buf, "data: {not json\n\n");
		else {
			size_t l = content(c, c->sent, txt);
			n = sprintf(buf,
			    "data: "
			    "{\"id\":\"chatcmpl-mock\",\"object\":\"chat.completion.chunk\",\"created\":"
			    "1700000000,\"model\":\"mock-1\",\"choices\":[{\"index\":0,\"delta\":{%"
			    "s\"content\":\"%.*s\"},\"finish_reason\":null}]}\n\n",
			    c->sent ? "" : "\"role\":\"assistant\",", (int)l, txt);
		}
		event(c, buf, n);
		c->sent++;
		st_chunks++;
		if (c->name >= 0)
			names[c->name].chunks++;
		c->due += o->i * 1000000ull;
		uint64_t t = now();
		if (c->due + 1000000000ull < t)
			c->due = t;
		hpush(c);
		flush(c);
		return;
	}
	size_t n = sprintf(buf,
	    "data: "
	    "{\"id\":\"chatcmpl-mock\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":"
	    "\"mock-1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
	    "data: "
	    "{\"id\":\"chatcmpl-mock\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":"
	    "\"mock-1\",\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":%d,\"total_"
	    "tokens\":%d}}\n\ndata: [DONE]\n\n",
	    o->n, o->n + 10);
	event(c, buf, n);
	put(c, "0\r\n\r\n", 5);
	end(c);
}
static const char *
hdr(const char *h, const char *end, const char *name)
{
	size_t n = strlen(name);
	for (const char *p = h; p + n < end; p++)
		if (p[-1] == '\n' && !strncasecmp(p, name, n))
			return p + n;
	return NULL;
}
static int
name_of(const char *s, size_t n)
{
	if (n >= sizeof names->text)
		return -1;
	for (int i = 0; i < nnames; i++)
		if (!strncmp(names[i].text, s, n) && names[i].text[n] == 0)
			return i;
	if (nnames == NAMES)
		return -1;
	memcpy(names[nnames].text, s, n);
	return nnames++;
}
static void
calls(conn_t *c)
{
	char *b = malloc(NAMES * 100), *p = b;
	*p++ = '{';
	for (int i = 0; i < nnames; i++)
		p += sprintf(p, "%s\"%s\":[%ld,%ld]", i ? "," : "", names[i].text, names[i].started,
		    names[i].chunks);
	*p++ = '}';
	reply(c, 200, "application/json", b, p - b);
	free(b);
}
static int
request(conn_t *c)
{ /* 1: handled one; 0: need more; -1: gone */
	char *e = memmem(c->in, c->inlen, "\r\n\r\n", 4);
	if (!e)
		return 0;
	const char *cl = hdr(c->in + 1, e + 2, "content-length:");
	size_t bl = cl ? strtoul(cl, 0, 10) : 0, tot = e + 4 - c->in + bl;
	const char *ex = hdr(c->in + 1, e + 2, "expect:");
	if (ex && c->inlen < tot && c->incap != 0 && !(c->keep & 2)) {
		c->keep |= 2;
		put(c, "HTTP/1.1 100 Continue\r\n\r\n", 25);
		if (flush(c))
			return -1;
	}
	if (c->inlen < tot)
		return 0;
	c->keep = 0;
	char *body = e + 4, *sp = memchr(c->in, ' ', c->inlen),
	     *sp2 = sp ? memchr(sp + 1, ' ', e - sp) : NULL;
	if (!sp2) {
		drop(c);
		return -1;
	}
	char *path = sp + 1, *q = memchr(path, '?', sp2 - path);
	size_t pl = (q ? q : sp2) - path;
	int rc = 1;
	if (pl == 6 && !memcmp(path, "/stats", 6)) {
		char b[256];
		int n = sprintf(b,
		    "{\"active\":%ld,\"started\":%ld,\"completed\":%ld,\"aborted\":%ld,\"chunks\":%ld,\"last_"
		    "body_bytes\":%ld}\n",
		    st_active, st_started, st_done, st_abort, st_chunks, st_body);
		reply(c, 200, "application/json", b, n);
	} else if (pl == 6 && !memcmp(path, "/reset", 6)) {
		st_started = st_done = st_abort = st_chunks = 0;
		reply(c, 200, "text/plain", "ok\n", 3);
	} else if (pl == 6 && !memcmp(path, "/calls", 6))
		calls(c);
	else if (pl == 5 && !memcmp(path, "/last", 5))
		reply(c, 200, "application/json", last ? last : "", lastlen);
	else if (pl == 10 && !memcmp(path, "/last-head", 10))
		reply(c, 200, "text/plain", last_head ? last_head : "", last_head_len);
	else if (pl >= 7 && !memcmp(path + pl - 7, "/models", 7)) {
		const char *m = "{\"object\":\"list\",\"data\":[{\"id\":\"mock-1\",\"object\":\"model\"},{"
				"\"id\":\"mock-2\",\"object\":\"model\"}]}";
		reply(c, 200, "application/json", m, strlen(m));
	} else if (pl >= 17 && !memcmp(path + pl - 17, "/chat/completions", 17)) {
		st_body = bl;
		last = realloc(last, bl + 1);
		memcpy(last, body, bl);
		lastlen = bl;
		last_head_len = (size_t)(e - c->in);
		last_head = realloc(last_head, last_head_len + 1);
		memcpy(last_head, c->in, last_head_len);
		opt_t *o = malloc(sizeof *o);
		*o = defs;
		if (q)
			parse_opts(o, q + 1, sp2);
		char *m = memmem(body, bl, "\"model\"", 7);
		c->name = -1;
		if (m) {
			char *qq = m + 7, *be = body + bl;
			while (qq < be && *qq != '"')
				qq++;
			char *ee = qq < be ? memchr(qq + 1, '"', be - qq - 1) : NULL;
			char *qm = ee ? memchr(qq, '?', ee - qq) : NULL;
			if (qm)
				parse_opts(o, qm + 1, ee);
			c->name = ee ? name_of(qq + 1, (qm ? qm : ee) - qq - 1) : -1;
			if (c->name >= 0)
				names[c->name].started++;
		}
		int stream = 0;
		char *s = memmem(body, bl, "\"stream\"", 8);
		if (s) {
			s += 8;
			while (s < body + bl && (isspace((unsigned char)*s) || *s == ':'))
				s++;
			stream = s < body + bl && *s == 't';
		}
		st_started++;
		if (o->n < 1)
			o->n = 1;
		if (o->b > 8000)
			o->b = 8000;
		if (o->mute == 3) {
			free(o);
			drop(c);
			return -1;
		}
		if (o->err) {
			char b[256];
			int n = sprintf(b,
			    "{\"error\":{\"message\":\"mock error %d\",\"type\":\"mock\",\"code\":null}}",
			    o->err);
			reply(c, o->err, "application/json", b, n);
			free(o);
			st_done++;
		} else if (!stream) {
			size_t cap = (size_t)o->n * 8200 + 8192, n;
			char *b = malloc(cap);
			opt_t *so = c->o;
			c->o = o;
			n = sprintf(b, "{\"id\":\"chatcmpl-mock\",\"object\":\"chat.completion\",\"created\":"
				       "1700000000,\"model\":\"mock-1\",\"choices\":[{\"index\":0,"
				       "\"message\":{\"role\":\"assistant\",\"content\":\"");
			for (int k = 0; k < o->n; k++)
				n += content(c, k, b + n);
			n += sprintf(b + n,
			    "\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":10,\"completion_"
			    "tokens\":%d,\"total_tokens\":%d}}",
			    o->n, o->n + 10);
			reply(c, 200, "application/json", b, n);
			free(b);
			c->o = so;
			free(o);
			st_done++;
		} else {
			static const char h[] =
			    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: "
			    "no-cache\r\nTransfer-Encoding: chunked\r\n\r\n";
			put(c, h, sizeof h - 1);
			c->o = o;
			c->st = 1;
			c->sent = 0;
			st_active++;
			c->due = now() + o->f * 1000000ull;
			hpush(c);
		}
		if (verbose)
			fprintf(stderr, "req %.*s body=%zu\n", (int)pl, path, bl);
	} else
		reply(c, 404, "application/json", "{\"error\":{\"message\":\"not found\"}}", 33);
	memmove(c->in, c->in + tot, c->inlen - tot);
	c->inlen -= tot;
	if (c->inlen == 0) {
		free(c->in);
		c->in = NULL;
		c->incap = 0;
	}
	if (flush(c))
		return -1;
	return rc;
}
static void
onsig(int s)
{
	(void)s;
	quit = 1;
}
int
main(int ac, char **av)
{
	char host[64] = "127.0.0.1";
	int port = 9100, ch;
	while ((ch = getopt(ac, av, "l:n:i:f:b:v")) != -1)
		switch (ch) {
		case 'l': {
			char *k = strrchr(optarg, ':');
			if (k) {
				snprintf(host, sizeof host, "%.*s", (int)(k - optarg), optarg);
				port = atoi(k + 1);
			} else
				port = atoi(optarg);
			break;
		}
		case 'n':
			defs.n = atoi(optarg);
			break;
		case 'i':
			defs.i = atoi(optarg);
			break;
		case 'f':
			defs.f = atoi(optarg);
			break;
		case 'b':
			defs.b = atoi(optarg);
			break;
		case 'v':
			verbose = 1;
			break;
		default:
			fprintf(stderr, "see the comment at the top of mockllm.c\n");
			return 2;
		}
	struct rlimit rl;
	getrlimit(RLIMIT_NOFILE, &rl);
	rl.rlim_cur = rl.rlim_max;
	setrlimit(RLIMIT_NOFILE, &rl);
	struct sigaction sa = { .sa_handler = onsig };
	sigaction(SIGTERM, &sa, 0);
	sigaction(SIGINT, &sa, 0);
	signal(SIGPIPE, SIG_IGN);
	int ls = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), one = 1;
	setsockopt(ls, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };
	inet_pton(AF_INET, host, &a.sin_addr);
	if (bind(ls, (void *)&a, sizeof a) || listen(ls, 8192)) {
		perror("bind");
		return 1;
	}
	ep = epoll_create1(0);
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = NULL };
	epoll_ctl(ep, EPOLL_CTL_ADD, ls, &ev);
	struct epoll_event evs[512];
	while (!quit) {
		int to = -1;
		if (hn) {
			uint64_t t = now();
			to = heap[0]->due <= t ? 0 : (int)((heap[0]->due - t + 999999) / 1000000);
		}
		int n = epoll_wait(ep, evs, 512, to);
		for (int k = 0; k < n; k++) {
			conn_t *c = evs[k].data.ptr;
			if (!c) {
				for (;;) {
					int fd = accept4(ls, 0, 0, SOCK_NONBLOCK);
					if (fd < 0)
						break;
					setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
					c = calloc(1, sizeof *c);
					c->fd = fd;
					c->heap = -1;
					c->sent = -1;
					ev.events = EPOLLIN | EPOLLRDHUP;
					ev.data.ptr = c;
					epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev);
				}
				continue;
			}
			if (evs[k].events & (EPOLLHUP | EPOLLERR)) {
				drop(c);
				continue;
			}
			if (evs[k].events & EPOLLIN) {
				if (c->inlen + 16384 > c->incap)
					c->in = realloc(c->in, c->incap = c->inlen + 65536);
				ssize_t r = recv(c->fd, c->in + c->inlen, c->incap - c->inlen, 0);
				if (r == 0 || (r < 0 && errno != EAGAIN)) {
					drop(c);
					continue;
				}
				if (r > 0) {
					c->inlen += r;
					int q = 0;
					while (!c->st && (q = request(c)) == 1 && c->inlen)
						;
					if (q < 0)
						continue;
				}
			} else if (evs[k].events & EPOLLRDHUP) {
				drop(c);
				continue;
			} else if (evs[k].events & EPOLLOUT)
				flush(c);
		}
		uint64_t t = now();
		while (hn && heap[0]->due <= t) {
			conn_t *c = heap[0];
			hdel(c);
			step(c);
		}
	}
	return 0;
}
