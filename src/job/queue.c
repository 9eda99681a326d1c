/*
 * queue: what those who queue jobs and those who are one need of the table. Every statement here runs in the
 * job's account.
 */
#include "job/job.h"

#include "base/tm.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKOFF_MAX 600000

int
job_enqueue(struct ctx *c, const struct job_new *n, int64_t *no_out)
{
	struct rows *rs = db_query(c, STMT_job_enqueue, P_C(n->id), P_C(n->kind), P_C(n->scope),
	    P_STR(n->args), P_INT(n->attempts), P_INT(c->now));

	if (rows_next(rs) <= 0)
		return -1;
	*no_out = row_int(rs, 0);
	return 0;
}

static int
wake_address(struct sockaddr_un *sa, const char *run_dir)
{
	int n;

	*sa = (struct sockaddr_un){ .sun_family = AF_UNIX };
	n = snprintf(sa->sun_path, sizeof(sa->sun_path), "%s/jobd.sock", run_dir);
	if (n > 0 && (size_t)n < sizeof(sa->sun_path))
		return 0;
	errno = ENAMETOOLONG;
	return -1;
}

void
job_wake(const char *run_dir)
{
	struct sockaddr_un sa;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return;
	if (wake_address(&sa, run_dir) == 0)
		(void)sendto(fd, "j", 1, MSG_NOSIGNAL, (const struct sockaddr *)&sa, sizeof(sa));
	close(fd);
}

int
job_wake_listen(const char *run_dir)
{
	struct sockaddr_un sa;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	if (wake_address(&sa, run_dir) < 0 || (unlink(sa.sun_path) < 0 && errno != ENOENT) ||
	    bind(fd, (const struct sockaddr *)&sa, sizeof(sa)) < 0 || chmod(sa.sun_path, 0600) < 0) {
		int e = errno;

		close(fd);
		errno = e;
		return -1;
	}
	return fd;
}

struct progress {
	struct job *j;
	const char *phase;
	int64_t done, total;
};

static int
progress_send(struct ctx *c, void *arg)
{
	const struct progress *p = arg;
	const struct job *j = p->j;
	int64_t n = db_exec(c, STMT_job_progress, P_INT(j->no), P_C(j->worker), P_INT(j->attempt),
	    P_C(p->phase), P_INT(p->done), p->total > 0 ? P_INT(p->total) : P_NULL, P_INT(c->now),
	    P_INT(c->now + j->kind->lease_ms));

	if (n == 0)
		fail(c, ERR_CANCELLED, "job_cancelled", "the job was cancelled, or another worker has it");
	return n <= 0 ? -1 : 0;
}

int
job_progress(struct job *j, const char *phase, int64_t done, int64_t total)
{
	struct progress p = { j, phase, done, total };

	j->c->now = tm_now();
	if (j->stopping && j->stopping(j->stopping_arg)) {
		j->given_back = true;
		return fail(j->c, ERR_CANCELLED, "worker_stopping",
		    "the worker is stopping; another one takes the job");
	}
	return db_tx(j->c, DB_WRITE, progress_send, &p);
}

int
job_done(struct job *j, struct str result, int64_t file_until)
{
	int64_t n = db_exec(j->c, STMT_job_done, P_INT(j->no), P_C(j->worker), P_INT(j->attempt),
	    P_STR(result), P_INT(j->c->now), file_until > 0 ? P_INT(file_until) : P_NULL);

	if (n == 0)
		fail(j->c, ERR_CANCELLED, "job_cancelled", "the job was cancelled, or another worker has it");
	j->ended = n > 0;
	return n <= 0 ? -1 : 0;
}

static const char *const parts[] = { [JOB_INPUT] = "input", [JOB_OUTPUT] = "output" };

int
job_file_write(struct ctx *c, int64_t job_no, enum job_part part, int64_t at, struct str bytes)
{
	for (size_t off = 0; off < bytes.n; off += JOB_PIECE)
		if (db_exec(c, STMT_job_file_put, P_INT(job_no), P_C(parts[part]), P_INT(at + (int64_t)off),
			P_BYTES(str_sub(bytes, off, off + JOB_PIECE))) < 0)
			return -1;
	return 0;
}

int
job_file_read(struct ctx *c, int64_t job_no, enum job_part part, int64_t at, struct str *bytes_out)
{
	struct rows *rs = db_query(c, STMT_job_file_piece, P_INT(job_no), P_C(parts[part]), P_INT(at));
	int rc = rows_next(rs);

	if (rc > 0)
		*bytes_out = row_bytes(rs, 0, c->a);
	return rc;
}

int64_t
job_backoff(int64_t first_ms, int attempt, uint64_t chance)
{
	int64_t ms = first_ms;

	for (int i = 1; i < attempt && ms < BACKOFF_MAX; i++)
		ms *= 2;
	if (ms > BACKOFF_MAX)
		ms = BACKOFF_MAX;
	return ms - ms / 4 + (int64_t)(chance % (uint64_t)(ms / 2 + 1));
}

bool
job_worth_retry(enum err_kind kind)
{
	/* What is wrong with the request stays wrong. */
	return kind == ERR_NONE || kind == ERR_RATE || kind == ERR_INTERNAL || kind == ERR_UPSTREAM ||
	       kind == ERR_UNAVAILABLE || kind == ERR_TIMEOUT;
}
