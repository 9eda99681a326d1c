/* wake: see wake.h. */
#include "event/wake.h"

#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define VERSION 1

struct waker {
	int fd;
	struct sockaddr_un to;
};

static bool
address(const char *dir, struct sockaddr_un *sa)
{
	int n;

	*sa = (struct sockaddr_un){ .sun_family = AF_UNIX };
	n = snprintf(sa->sun_path, sizeof(sa->sun_path), "%s/eventd-wake.sock", dir);
	return n > 0 && (size_t)n < sizeof(sa->sun_path);
}

static void
waker_close(void *arg)
{
	struct waker *w = arg;

	close(w->fd);
}

/* See wake.h. */
struct waker *
waker_create(struct arena *a, const char *dir)
{
	struct waker *w = arena_new(a, struct waker);

	w->fd = address(dir, &w->to) ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1;
	if (w->fd >= 0)
		arena_defer(a, waker_close, w);
	return w;
}

/* See wake.h. */
void
wake_send(const struct waker *w, enum wake_kind kind, int32_t account_no, int64_t run_no)
{
	const struct wake m = { .version = VERSION, .kind = kind, .account_no = account_no, .run_no = run_no };
	ssize_t n;

	if (w == NULL || w->fd < 0)
		return;
	n = sendto(w->fd, &m, sizeof(m), MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&w->to, sizeof(w->to));
	(void)n; /* nobody is there, or it has enough to read already */
}

/* See wake.h. */
int
wake_listen(const char *dir)
{
	struct sockaddr_un sa;
	mode_t old;
	int fd, rc;

	if (!address(dir, &sa))
		return -1;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	unlink(sa.sun_path);
	old = umask(0177);
	rc = fd < 0 ? -1 : bind(fd, (const struct sockaddr *)&sa, sizeof(sa));
	umask(old);
	if (rc < 0 && fd >= 0)
		close(fd);
	return rc < 0 ? -1 : fd;
}

/* See wake.h. */
void
wake_unlisten(const char *dir, int fd)
{
	struct sockaddr_un sa;

	if (address(dir, &sa))
		unlink(sa.sun_path);
	close(fd);
}

/* See wake.h. */
bool
wake_receive(int fd, struct wake *out)
{
	ssize_t n;

	do
		n = recv(fd, out, sizeof(*out), MSG_DONTWAIT);
	while (n >= 0 && (n != (ssize_t)sizeof(*out) || out->version != VERSION));
	return n >= 0;
}
