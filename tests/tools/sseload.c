/*
 * sseload - open many concurrent streaming (SSE / chunked) HTTP requests and
 * report per-chunk one-way latency, time to first byte and stream outcomes.
 * One epoll thread, no dependencies; holds >10k streams.
 *
 * Build:  gcc -O2 -Wall -o sseload sseload.c
 * Usage:  sseload [options] http://127.0.0.1:PORT/path | unix:/path/sock:/urlpath
 *   -n N        number of concurrent streams (default 200)
 *   -r MS       spread the starts over MS milliseconds (default 1000)
 *   -d BODY     POST this body ("@file" reads it; "%d" in BODY or the URL path becomes
 *               the stream's number)
 *   -m METHOD   default: POST with -d, else GET
 *   -H HEADER   extra header (repeatable)
 *   -k K        stop each stream after K timestamps by closing the connection (client abort)
 *   -s US       sleep-read: slow client, reads at most 256 bytes per US microseconds
 *   -e TEXT     a stream counts as ok only when TEXT was seen (default "[DONE]")
 *   -t SEC      overall limit (default 120)
 * Prints one JSON line. Latency: every "[t=<ns>]" in the received bytes (mockllm.c puts one in each
 * chunk's content) is compared with CLOCK_MONOTONIC: emitter -> this client.
 * WebSocket clients: pass the upgrade headers with -H (Upgrade, Connection,
 * Sec-WebSocket-Key, Sec-WebSocket-Version) and -t; server text frames are not
 * masked, so the timestamps are found in the raw bytes ("unfinished" is then normal).
 * Exit 0 when all streams were ok (or were aborted on purpose by -k).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

typedef struct {
	int fd, idx, st, status, seen, done;
	uint64_t t0;
	char tail[64];
	int tl;
	size_t bytes;
	char hd[512];
	int hl;
	uint64_t next;
	int chunkend;
} S;
static uint64_t
now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}
static int
cmpu(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}
static uint32_t *lat, *fb;
static size_t nl, cl, nf;
static void
addlat(uint64_t ns)
{
	if (nl == cl)
		lat = realloc(lat, sizeof *lat * (cl = cl ? cl * 2 : 65536));
	lat[nl++] = (uint32_t)(ns / 1000);
}
static const char *endtext = "[DONE]";
static int K = -1, slow;
static void
scan(S *s, char *p, size_t n, uint64_t t)
{ /* p has s->tl bytes of tail in front */
	char *q = p, *e = p + n;
	while ((q = memmem(q, e - q, "[t=", 3))) {
		char *c = memchr(q, ']', e - q);
		if (!c || (K >= 0 && s->seen >= K)) /* what comes behind the last one may repeat them */
			break;
		uint64_t v = strtoull(q + 3, 0, 10);
		if (v && v <= t && t - v < 120000000000ull) {
			addlat(t - v);
			s->seen++;
		}
		q = c + 1;
	}
	if (memmem(p, n, endtext, strlen(endtext)))
		s->done = 1;
	if (n >= 5 && !memcmp(e - 5, "0\r\n\r\n", 5))
		s->chunkend = 1;
	size_t keep = n < 48 ? n : 48;
	char *b = e - keep; /* keep only an unfinished "[t=" or marker */
	char *l = NULL;
	for (char *z = b; z < e; z++)
		if (*z == '[')
			l = z;
	if (l && !memchr(l, ']', e - l)) {
		s->tl = e - l;
		memcpy(s->tail, l, s->tl);
	} else
		s->tl = 0;
}
int
main(int ac, char **av)
{
	int n = 200, ramp = 1000, limit = 120, ch;
	char *body = NULL, *method = NULL, hdrs[4096] = "";
	while ((ch = getopt(ac, av, "n:r:d:m:H:k:s:e:t:")) != -1)
		switch (ch) {
		case 'n':
			n = atoi(optarg);
			break;
		case 'r':
			ramp = atoi(optarg);
			break;
		case 'm':
			method = optarg;
			break;
		case 'd':
			body = optarg;
			break;
		case 'k':
			K = atoi(optarg);
			break;
		case 's':
			slow = atoi(optarg);
			break;
		case 'e':
			endtext = optarg;
			break;
		case 't':
			limit = atoi(optarg);
			break;
		case 'H':
			strncat(hdrs, optarg, sizeof hdrs - strlen(hdrs) - 3);
			strcat(hdrs, "\r\n");
			break;
		default:
			return 2;
		}
	if (optind >= ac) {
		fprintf(stderr, "see the comment at the top of sseload.c\n");
		return 2;
	}
	if (body && body[0] == '@') {
		FILE *f = fopen(body + 1, "rb");
		if (!f) {
			perror(body + 1);
			return 2;
		}
		char *b = malloc(1 << 24);
		size_t k = fread(b, 1, (1 << 24) - 1, f);
		b[k] = 0;
		body = b;
		fclose(f);
	}
	char *url = av[optind], host[64] = "127.0.0.1", *path = "/";
	int port = 80;
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int isun = 0;
	if (!strncmp(url, "unix:", 5)) {
		isun = 1;
		char *c = strchr(url + 5, ':');
		if (c) {
			snprintf(un.sun_path, sizeof un.sun_path, "%.*s", (int)(c - url - 5), url + 5);
			path = c + 1;
		}
	} else {
		char *h = strstr(url, "//");
		h = h ? h + 2 : url;
		char *sl = strchr(h, '/');
		if (sl)
			path = sl;
		size_t L = sl ? (size_t)(sl - h) : strlen(h);
		snprintf(host, sizeof host, "%.*s", (int)L, h);
		char *c = strchr(host, ':');
		if (c) {
			*c = 0;
			port = atoi(c + 1);
		}
		if (!strcmp(host, "localhost"))
			strcpy(host, "127.0.0.1");
	}
	if (!isun && strncmp(host, "127.", 4)) {
		fprintf(stderr, "loopback targets only\n");
		return 2;
	}
	struct rlimit rl;
	getrlimit(RLIMIT_NOFILE, &rl);
	rl.rlim_cur = rl.rlim_max;
	setrlimit(RLIMIT_NOFILE, &rl);
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };
	inet_pton(AF_INET, host, &a.sin_addr);
	S *ss = calloc(n, sizeof *ss);
	fb = malloc(sizeof *fb * n);
	int ep = epoll_create1(0), started = 0, open_ = 0, ok = 0, bad = 0, ab = 0, non200 = 0, connfail = 0,
	    one = 1;
	size_t bytes = 0;
	uint64_t T0 = now(), Tend = T0 + limit * 1000000000ull;
	struct epoll_event evs[512];
	static char buf[70000];
	int maxopen = 0;
	while (started < n || open_) {
		uint64_t t = now();
		if (t > Tend)
			break;
		int should = ramp ? (int)((t - T0) / 1e6 * n / ramp) + 1 : n;
		if (should > n)
			should = n;
		while (started < should) {
			S *s = &ss[started];
			s->idx = started++;
			s->t0 = now();
			s->fd = socket(isun ? AF_UNIX : AF_INET, SOCK_STREAM, 0);
			if (slow) {
				int rb = 4096;
				setsockopt(s->fd, SOL_SOCKET, SO_RCVBUF, &rb, sizeof rb);
			}
			if (connect(s->fd, isun ? (void *)&un : (void *)&a, isun ? sizeof un : sizeof a)) {
				connfail++;
				bad++;
				close(s->fd);
				continue;
			}
			if (!isun)
				setsockopt(s->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
			char *bd = body;
			char tmp[65536];
			if (body && strlen(body) < 60000) {
				char *pc = strstr(body, "%d");
				if (pc) {
					snprintf(tmp, sizeof tmp, "%.*s%d%s", (int)(pc - body), body, s->idx,
					    pc + 2);
					bd = tmp;
				}
			}
			char pth[2048];
			char *pd = strstr(path, "%d");
			if (pd)
				snprintf(pth, sizeof pth, "%.*s%d%s", (int)(pd - path), path, s->idx, pd + 2);
			else
				snprintf(pth, sizeof pth, "%s", path);
			char *rq;
			size_t blen = bd ? strlen(bd) : 0;
			int m = asprintf(&rq,
			    "%s %s HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n%s%s",
			    method ? method
			    : bd   ? "POST"
				   : "GET",
			    pth, hdrs, bd ? "" : "\r\n");
			if (bd) {
				char *r2;
				m = asprintf(&r2,
				    "%sContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s", rq,
				    blen, bd);
				free(rq);
				rq = r2;
			}
			if (send(s->fd, rq, m, MSG_NOSIGNAL) != m) {
				bad++;
				close(s->fd);
				free(rq);
				continue;
			}
			free(rq);
			fcntl(s->fd, F_SETFL, O_NONBLOCK);
			s->st = 1;
			open_++;
			if (open_ > maxopen)
				maxopen = open_;
			struct epoll_event ev = { .events = EPOLLIN, .data.ptr = s };
			if (!slow)
				epoll_ctl(ep, EPOLL_CTL_ADD, s->fd, &ev);
		}
		int k = 0;
		if (slow) {
			usleep(500);
			for (int i = 0; i < started && k < 512; i++)
				if (ss[i].st && ss[i].next <= t) {
					evs[k].data.ptr = &ss[i];
					evs[k++].events = EPOLLIN;
					ss[i].next = t + slow * 1000ull;
				}
		} else
			k = epoll_wait(ep, evs, 512, started < n ? 1 : 100);
		for (int i = 0; i < k; i++) {
			S *s = evs[i].data.ptr;
			memcpy(buf, s->tail, s->tl);
			ssize_t r = recv(s->fd, buf + s->tl, slow ? 256 : 65536, 0);
			int fin = 0;
			t = now();
			if (r < 0 && errno == EAGAIN)
				continue;
			if (r <= 0)
				fin = 1;
			else {
				if (!s->bytes)
					fb[nf++] = (t - s->t0) / 1000;
				s->bytes += r;
				bytes += r;
				if (!s->status) {
					size_t h = r < 32 ? r : 32;
					char tt[40];
					memcpy(tt, buf + s->tl, h);
					tt[h] = 0;
					if (sscanf(tt, "HTTP/1.%*d %d", &s->status) != 1)
						s->status = -1;
				}
				scan(s, buf, r + s->tl, t);
				if (K >= 0 && s->seen >= K) {
					fin = 2;
				} else if (s->chunkend || (s->status >= 300))
					fin = 1;
			}
			if (fin) {
				close(s->fd);
				s->st = 0;
				open_--;
				if (s->status != 200)
					non200++;
				if (fin == 2)
					ab++;
				else if (s->done && s->status == 200)
					ok++;
				else
					bad++;
			}
		}
	}
	double sec = (now() - T0) / 1e9;
	int left = open_ + (n - started);
	if (nl)
		qsort(lat, nl, 4, cmpu);
	if (nf)
		qsort(fb, nf, 4, cmpu);
#define P(a, n, q) ((n) ? (a)[(size_t)((n) * (q)) >= (n) ? (n)-1 : (size_t)((n) * (q))] / 1000.0 : 0.0)
	printf("{\"streams\":%d,\"max_open\":%d,\"ok\":%d,\"bad\":%d,\"aborted\":%d,\"unfinished\":%d,"
	       "\"non200\":%d,\"connfail\":%d,\"sec\":%.2f,\"bytes\":%zu,\"chunks\":%zu,\"ttfb_ms\":{\"p50\":"
	       "%.2f,\"p99\":%.2f,\"max\":%.2f},\"lat_ms\":{\"p50\":%.3f,\"p90\":%.3f,\"p99\":%.3f,\"p999\":%"
	       ".3f,\"max\":%.3f}}\n",
	    n, maxopen, ok, bad, ab, left, non200, connfail, sec, bytes, nl, P(fb, nf, .5), P(fb, nf, .99),
	    P(fb, nf, 1), P(lat, nl, .5), P(lat, nl, .9), P(lat, nl, .99), P(lat, nl, .999), P(lat, nl, 1));
	free(lat);
	free(fb);
	free(ss);
	return !(bad == 0 && left == 0);
}
