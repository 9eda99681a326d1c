/* peer: see peer.h. */
#include "peer.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_SECONDS 2
#define BACKLOG 128
#define STALE_SECONDS 10 /* between bind and listen a living one refuses, too */

enum kind { KIND_ATTACH = 1, KIND_CANCEL = 2 };

/* Both ends are of one build or of two that meet during an upgrade: hence the size and version check. */
struct message {
	uint32_t version, kind;
	struct peer_reader reader; /* cancel: run_no only */
};
#define VERSION 1

struct peer {
	struct loop *loop;
	struct peer_handlers handlers;
	const char *dir, *host; /* host: of our own name */
	const char *path; /* NULL: asks only */
	int fd;
};

struct asked {
	struct peer *p;
	int fd;
};

/* The socket of a worker of this host; -1 if the name is none. */
static int
socket_path(const char *dir, const char *host, const char *worker, struct sockaddr_un *sa)
{
	const char *tail = strrchr(worker, '/');
	int n;

	if (tail == NULL || tail[1] == '\0' || strspn(tail + 1, "0123456789-") != strlen(tail + 1))
		return -1;
	if (strncmp(worker, host, (size_t)(tail - worker)) != 0 || host[tail - worker] != '\0')
		return -1;
	*sa = (struct sockaddr_un){ .sun_family = AF_UNIX };
	n = snprintf(sa->sun_path, sizeof(sa->sun_path), "%s/peer-%s.sock", dir, tail + 1);
	return n > 0 && (size_t)n < sizeof(sa->sun_path) ? 0 : -1;
}

static bool
same_user(int fd)
{
	struct ucred who;
	socklen_t n = sizeof(who);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) == 0 && who.uid == geteuid();
}

/* One message, and the descriptor that came with it (-1 if none; one at most is taken). False if it is
 * malformed. */
static bool
receive(int from, struct message *m, int *fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { m, sizeof(*m) };
	struct msghdr h = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes) };
	ssize_t n = recvmsg(from, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n >= 0 ? CMSG_FIRSTHDR(&h) : NULL;

	*fd = -1;
	if (c != NULL && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(fd, CMSG_DATA(c), sizeof(int));
	return n == (ssize_t)sizeof(*m) && !(h.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) && m->version == VERSION;
}

static bool
act(const struct peer *p, const struct message *m, int *fd)
{
	bool done;

	if (m->kind == KIND_CANCEL && *fd < 0)
		return p->handlers.cancel(p->handlers.arg, m->reader.run_no);
	if (m->kind != KIND_ATTACH || *fd < 0)
		return false;
	done = p->handlers.attach(p->handlers.arg, &m->reader, *fd);
	if (done)
		*fd = -1;
	return done;
}

static void
asked_ready(void *arg, uint32_t events)
{
	struct asked *q = arg;
	struct message m;
	int fd = -1;
	char answer = 0;
	ssize_t n;

	if ((events & EPOLLIN) && same_user(q->fd)) {
		if (receive(q->fd, &m, &fd))
			answer = act(q->p, &m, &fd) ? 1 : 0;
		n = send(q->fd, &answer, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
		(void)n; /* the asker has gone: what was done stays done */
	}
	if (fd >= 0)
		close(fd);
	loop_unwatch(q->p->loop, q->fd);
	close(q->fd);
	free(q);
}

static void
listen_ready(void *arg, uint32_t events)
{
	struct peer *p = arg;
	int fd = accept4(p->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct asked *q;

	(void)events;
	if (fd < 0)
		return;
	q = malloc(sizeof(*q));
	if (q == NULL) {
		close(fd);
		return;
	}
	*q = (struct asked){ p, fd };
	if (loop_watch(p->loop, fd, EPOLLIN, asked_ready, q) < 0) {
		close(fd);
		free(q);
	}
}

/* See peer.h. */
struct peer *
peer_asker(struct arena *a, const char *dir, const char *worker)
{
	struct peer *p = arena_new(a, struct peer);
	const char *slash = strrchr(worker, '/');

	*p = (struct peer){ .dir = arena_strdup(a, str_c(dir)), .fd = -1 };
	p->host = slash == NULL ? "" : arena_strdup(a, (struct str){ worker, (size_t)(slash - worker) });
	return p;
}

/* Does nobody listen there, and not because it has just been made? */
static bool
is_stale(const struct sockaddr_un *sa)
{
	struct stat st;
	bool refused;
	int fd;

	if (lstat(sa->sun_path, &st) < 0 || !S_ISSOCK(st.st_mode) || time(NULL) - st.st_mtime < STALE_SECONDS)
		return false;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return false;
	refused = connect(fd, (const struct sockaddr *)sa, sizeof(*sa)) < 0 && errno == ECONNREFUSED;
	close(fd);
	return refused;
}

/* Sockets that workers left who were killed and whose names nobody bears again. */
static void
sweep(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *e;

	while (d != NULL && (e = readdir(d)) != NULL) {
		struct sockaddr_un sa = { .sun_family = AF_UNIX };
		size_t n = strlen(e->d_name);

		if (strncmp(e->d_name, "peer-", 5) != 0 || n < 10 || strcmp(e->d_name + n - 5, ".sock") != 0)
			continue;
		n = (size_t)snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/%s", dir, e->d_name);
		if (n < sizeof(sa.sun_path) && is_stale(&sa))
			unlink(sa.sun_path);
	}
	if (d != NULL)
		closedir(d);
}

/* See peer.h. */
struct peer *
peer_create(struct arena *a, struct loop *l, const char *dir, const char *worker,
    const struct peer_handlers *h, const char **why)
{
	struct peer *p = peer_asker(a, dir, worker);
	struct sockaddr_un sa;
	mode_t old;
	int rc;

	p->loop = l;
	p->handlers = *h;
	if (socket_path(dir, p->host, worker, &sa) < 0) {
		*why = arena_printf(a, "no socket can be named after worker \"%s\" in \"%s\"", worker, dir);
		return NULL;
	}
	p->path = arena_strdup(a, str_c(sa.sun_path));
	p->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	unlink(p->path);
	sweep(dir);
	old = umask(0177);
	rc = p->fd < 0 ? -1 : bind(p->fd, (const struct sockaddr *)&sa, sizeof(sa));
	umask(old);
	if (rc < 0 || listen(p->fd, BACKLOG) < 0 || loop_watch(l, p->fd, EPOLLIN, listen_ready, p) < 0) {
		*why = arena_printf(a, "cannot listen on \"%s\": %s", p->path, strerror(errno));
		if (p->fd >= 0)
			close(p->fd);
		return NULL;
	}
	return p;
}

/* See peer.h. */
void
peer_destroy(struct peer *p)
{
	if (p == NULL || p->fd < 0)
		return;
	loop_unwatch(p->loop, p->fd);
	close(p->fd);
	unlink(p->path);
}

static int
send_message(int to, const struct message *m, int fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { { 0 } };
	struct message copy = *m;
	struct iovec iov = { &copy, sizeof(copy) };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fd >= 0) {
		struct cmsghdr *c;

		h.msg_control = control.bytes;
		h.msg_controllen = sizeof(control.bytes);
		c = CMSG_FIRSTHDR(&h);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(int));
	}
	return sendmsg(to, &h, MSG_NOSIGNAL) == (ssize_t)sizeof(copy) ? 0 : -1;
}

/*
 * Asks and waits. Once the message is out and no answer comes, an attach counts as done: two processes
 * writing into one connection would be worse than a client that has to come back.
 */
static int
ask(const struct peer *p, const char *worker, const struct message *m, int fd)
{
	const struct timeval wait = { .tv_sec = ANSWER_SECONDS };
	struct sockaddr_un sa;
	char answer = 0;
	ssize_t n;
	int to;

	if (socket_path(p->dir, p->host, worker, &sa) < 0 || (p->path != NULL && strcmp(sa.sun_path, p->path) == 0))
		return -1;
	to = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (to < 0)
		return -1;
	setsockopt(to, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	setsockopt(to, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	if (connect(to, (const struct sockaddr *)&sa, sizeof(sa)) < 0 || !same_user(to) ||
	    send_message(to, m, fd) < 0) {
		close(to);
		return -1;
	}
	do
		n = recv(to, &answer, 1, 0);
	while (n < 0 && errno == EINTR);
	close(to);
	if (n != 1)
		return m->kind == KIND_ATTACH ? 0 : -1;
	return answer == 1 ? 0 : -1;
}

/* See peer.h. */
int
peer_attach(const struct peer *p, const char *worker, const struct peer_reader *r, int fd)
{
	const struct message m = { .version = VERSION, .kind = KIND_ATTACH, .reader = *r };

	return ask(p, worker, &m, fd);
}

/* See peer.h. */
int
peer_cancel(const struct peer *p, const char *worker, int64_t run_no)
{
	const struct message m = { .version = VERSION, .kind = KIND_CANCEL, .reader = { .run_no = run_no } };

	return ask(p, worker, &m, -1);
}
