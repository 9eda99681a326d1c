/* listen: see listen.h. */
#include "listen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 4096 /* 8 gave 502 for nearly everything under load */
#define FIRST_FD 3   /* of inherited sockets */

/* See listen.h. */
int
listen_open(struct arena *a, const char *path, const char **why)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	mode_t old;
	int fd, rc;

	if (strlen(path) >= sizeof(sa.sun_path)) {
		*why = arena_printf(a,
		    "socket path \"%s\" is longer than %zu bytes: choose a shorter listen_dir", path,
		    sizeof(sa.sun_path) - 1);
		return -1;
	}
	memcpy(sa.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	unlink(path);
	old = umask(0117); /* the directory decides who gets here; 0660 is for the web server's group */
	rc = fd < 0 ? -1 : bind(fd, (const struct sockaddr *)&sa, sizeof(sa));
	umask(old);
	if (rc < 0 || listen(fd, BACKLOG) < 0) {
		*why = arena_printf(a, "cannot listen on \"%s\": %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return fd;
}

/* See listen.h. */
int
listen_inherited(int *first)
{
	const char *pid = getenv("LISTEN_PID"), *n = getenv("LISTEN_FDS");
	long count;

	if (pid == NULL || n == NULL || strtol(pid, NULL, 10) != (long)getpid())
		return 0;
	count = strtol(n, NULL, 10);
	if (count < 1 || count > 256)
		return 0;
	for (int fd = FIRST_FD; fd < FIRST_FD + (int)count; fd++) {
		fcntl(fd, F_SETFD, FD_CLOEXEC);
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	}
	*first = FIRST_FD;
	return (int)count;
}

/* See listen.h. */
int
listen_lock(struct arena *a, const char *dir, const char *program, const char **why)
{
	const char *path = arena_printf(a, "%s/%s.lock", dir, program);
	int fd;

	if (mkdir(dir, 0750) < 0 && errno != EEXIST) {
		*why = arena_printf(a, "cannot make the directory \"%s\": %s", dir, strerror(errno));
		return -1;
	}
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0) {
		*why = arena_printf(a, "cannot write in the directory \"%s\": %s", dir, strerror(errno));
		return -1;
	}
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		*why = arena_printf(a, "another %s serves in \"%s\"", program, dir);
		close(fd);
		return -1;
	}
	return fd;
}

/* See listen.h. */
void
notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	size_t n = path != NULL ? strlen(path) : 0;
	int fd;

	if (n < 2 || n >= sizeof(sa.sun_path) || (path[0] != '/' && path[0] != '@'))
		return;
	memcpy(sa.sun_path, path, n);
	if (path[0] == '@')
		sa.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	/* Not a word waits for a supervisor that does not listen. */
	sendto(fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT, (const struct sockaddr *)&sa,
	    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
	close(fd);
}

/* See listen.h. */
int64_t
notify_watchdog_ms(void)
{
	const char *pid = getenv("WATCHDOG_PID"), *usec = getenv("WATCHDOG_USEC");

	if (usec == NULL || (pid != NULL && strtol(pid, NULL, 10) != (long)getpid()))
		return 0;
	return strtoll(usec, NULL, 10) / 2000;
}
