/*
 * file: see file.h. Knows nothing of what is in them.
 */
#include "base/file.h"

#include "base/sb.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads to the end, whatever the size was said to be: files of /proc say 0. */
static int
read_all(int fd, struct sb *s, size_t max)
{
	char buf[4096];

	for (;;) {
		ssize_t n = read(fd, buf, sizeof(buf));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		if (n == 0)
			return 0;
		if ((size_t)n > max - s->n)
			return EFBIG;
		sb_add(s, (struct str){ buf, (size_t)n });
	}
}

struct str
file_read(struct arena *a, const char *path, size_t max)
{
	struct sb s = sb_new(a);
	/* O_NONBLOCK: a FIFO must not hold us up before we see that it is one. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), fault;
	struct stat st;

	if (fd < 0)
		return STR_NULL;
	fault = fstat(fd, &st) != 0 ? errno : !S_ISREG(st.st_mode) ? EINVAL : 0;
	if (!fault) {
		sb_reserve(&s, st.st_size > 0 && (size_t)st.st_size <= max ? (size_t)st.st_size : 0);
		fault = read_all(fd, &s, max);
	}
	close(fd);
	errno = fault;
	return fault ? STR_NULL : sb_str(&s);
}

struct str
file_read_fd(struct arena *a, int fd, size_t max)
{
	struct sb s = sb_new(a);
	int fault = read_all(fd, &s, max);

	errno = fault;
	return fault ? STR_NULL : sb_str(&s);
}
