/*
 * tavern-jobd: runs the jobs that the application queues, and removes what has become old. Any number of them
 * may run, on any host: they meet in the database only. SIGTERM = no more claims; what runs has a while to
 * end, then gives itself back. A second one = end now: the leases expire and others take over.
 */
#include "config.h"

#include "base/log.h"
#include "base/metric.h"
#include "base/tm.h"
#include "job/kinds.h"
#include "job/runner.h"
#include "job/sweep.h"
#include "job/words.h"
#include "listen.h"
#include "settings.h"
#include "token/token.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define TICK_MS 1000
#define POLL_MS 1000
#define SWEEP_MS 60000
#define WORDS_MS 10000     /* what was said since waits so long for its words */
#define WORDS_SOON_MS 1000 /* if some are left */
#define GRACE_MS 5000 /* after SIGTERM, before long jobs give themselves back */
#define END_MS 20000  /* after which the process ends whatever runs */

struct jobd {
	struct arena *a;
	struct settings set;
	struct db *db, *db_sys;
	struct job_env env;
	struct runner *runner;
	int signal_fd, wake_fd;
	pthread_t sweeper;
	pthread_mutex_t lock;
	pthread_cond_t bell; /* the sweeper's */
	bool stop;
};

/* Not above the application's: what runs here has all the time it needs. */
static struct db *
pool(const struct jobd *d, enum db_role role)
{
	struct db_conf conf = settings_db(&d->set, role, (int)d->set.job_workers + (role == DB_SYS ? 2 : 1));

	return db_create(&conf, role);
}

/* As the workers do: a database that is away comes back, one that must not be used ends the program. */
static int
startup_check(struct jobd *d, struct db *db)
{
	struct ctx c = { .a = d->a, .db = db, .now = tm_now() };

	if (db_startup_check(&c) == 0)
		return 0;
	if (c.err.kind == ERR_UNAVAILABLE) {
		log_warn("database.unavailable", "reason=\"%s\"", c.err.log ? c.err.log : "");
		return 0;
	}
	log_error("database.refused", "code=%s reason=\"%s\"", c.err.code, c.err.msg);
	return -1;
}

static bool
stopping(void *arg)
{
	struct jobd *d = arg;
	bool stop;

	pthread_mutex_lock(&d->lock);
	stop = d->stop;
	pthread_mutex_unlock(&d->lock);
	return stop;
}

/* Rows of a round, or what went wrong. */
static void
report(struct ctx *c, const char *what, int64_t n)
{
	if (n < 0)
		log_warn("sweep.failed", "what=%s code=%s reason=\"%s\"", what, c->err.code ? c->err.code : "",
		    c->err.log ? c->err.log : "");
	else if (n > 0)
		log_info("sweep", "what=%s rows=%lld", what, (long long)n);
	err_clear(c);
	arena_reset(c->a);
}

/* What nobody waits for: the removal of what is old, and the words of what was said. */
static void *
sweeper(void *arg)
{
	struct jobd *d = arg;
	struct ctx c = { .a = arena_create("sweeper", 0), .db = d->db_sys };
	const struct sweep_keep keep = { d->set.event_keep_hours * 3600000, d->set.job_keep_hours * 3600000 };
	const struct words_conf words = { d->db, stopping, d };
	int64_t swept = 0;

	pthread_mutex_lock(&d->lock);
	while (!d->stop) {
		struct timespec until;
		int64_t at;
		int left;

		pthread_mutex_unlock(&d->lock);
		left = words_round(&c, &words);
		report(&c, "words", left < 0 ? -1 : 0);
		if (swept == 0 || tm_mono() - swept >= SWEEP_MS) {
			swept = tm_mono();
			report(&c, "old", sweep_round(&c, &keep));
		}
		at = tm_now() + (left > 0 ? WORDS_SOON_MS : WORDS_MS);
		until = (struct timespec){ .tv_sec = at / 1000, .tv_nsec = at % 1000 * 1000000 };
		pthread_mutex_lock(&d->lock);
		while (!d->stop && pthread_cond_timedwait(&d->bell, &d->lock, &until) != ETIMEDOUT)
			continue;
	}
	pthread_mutex_unlock(&d->lock);
	arena_destroy(&c.a);
	return NULL;
}

static int
watch(struct jobd *d)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	if (pthread_sigmask(SIG_SETMASK, &set, NULL) != 0)
		return -1;
	d->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	d->wake_fd = job_wake_listen(d->set.listen_dir);
	if (d->wake_fd < 0) /* then jobs are found by asking every second */
		log_warn("jobd.no_wake", "dir=%s reason=\"%s\"", d->set.listen_dir, strerror(errno));
	return d->signal_fd < 0 ? -1 : 0;
}

static int
begin(struct jobd *d)
{
	char host[64] = "host";
	struct runner_conf conf;

	metrics_create(d->set.listen_dir, "tavern-jobd", 0); /* else its numbers are not shown */
	gethostname(host, sizeof(host) - 1);
	d->db = pool(d, DB_APP);
	d->db_sys = pool(d, DB_SYS);
	if (startup_check(d, d->db) < 0 || startup_check(d, d->db_sys) < 0)
		return -1;
	token_warm();
	d->env = (struct job_env){ .set = &d->set, .db_sys = d->db_sys };
	conf = (struct runner_conf){ .kinds = job_kinds,
		.db = d->db, .db_sys = d->db_sys,
		.worker = arena_printf(d->a, "%s/jobd-%d-%lld", host, (int)getpid(), (long long)tm_now()),
		.threads = (int)d->set.job_workers,
		.poll_ms = POLL_MS,
		.env = &d->env };
	d->runner = runner_start(d->a, &conf);
	if (d->runner == NULL || pthread_create(&d->sweeper, NULL, sweeper, d) != 0) {
		log_error("jobd.not_started", "reason=\"%s\"", strerror(errno));
		return -1;
	}
	log_info("jobd.started", "worker=%s threads=%d", conf.worker, conf.threads);
	notify("READY=1");
	return 0;
}

/* Signals that came. */
static int
signals(struct jobd *d)
{
	struct signalfd_siginfo si;
	int n = 0;

	while (read(d->signal_fd, &si, sizeof(si)) == (ssize_t)sizeof(si))
		n++;
	return n;
}

static void
wakes(struct jobd *d)
{
	char buf[16];

	while (recv(d->wake_fd, buf, sizeof(buf), MSG_DONTWAIT) >= 0)
		continue;
	runner_wake(d->runner);
}

static void
serve(struct jobd *d)
{
	struct pollfd fds[] = { { .fd = d->signal_fd, .events = POLLIN },
		{ .fd = d->wake_fd, .events = POLLIN } };
	int64_t tick = tm_mono(), stop_at = 0;
	int signalled = 0;

	while (
	    stop_at == 0 || (runner_busy(d->runner) > 0 && signalled < 2 && tm_mono() - stop_at < END_MS)) {
		poll(fds, 2, stop_at ? 50 : TICK_MS);
		signalled += signals(d);
		if (signalled > 0 && stop_at == 0) {
			log_info("jobd.stopping", "busy=%d", runner_busy(d->runner));
			notify("STOPPING=1");
			stop_at = tm_mono();
		}
		if (stop_at)
			runner_stop(d->runner, tm_mono() - stop_at >= GRACE_MS);
		if (fds[1].revents)
			wakes(d);
		if (tm_mono() - tick >= TICK_MS) {
			tick = tm_mono();
			runner_tick(d->runner);
			notify("WATCHDOG=1");
		}
	}
}

/* What still runs is given up with the process: its lease ends, another one takes it. */
static int
end(struct jobd *d)
{
	int busy = runner_busy(d->runner);

	log_info("jobd.ended", "busy=%d", busy);
	if (busy > 0)
		return -1;
	pthread_mutex_lock(&d->lock);
	d->stop = true;
	pthread_cond_signal(&d->bell);
	pthread_mutex_unlock(&d->lock);
	runner_join(d->runner);
	pthread_join(d->sweeper, NULL);
	db_destroy(&d->db);
	db_destroy(&d->db_sys);
	close(d->signal_fd);
	if (d->wake_fd >= 0)
		close(d->wake_fd);
	return 0;
}

int
main(int argc, char **argv)
{
	static struct jobd d = { .lock = PTHREAD_MUTEX_INITIALIZER, .bell = PTHREAD_COND_INITIALIZER };
	struct command command;
	int rc;

	d.a = arena_create("jobd", 0);
	if ((rc = command_read(d.a, "tavern-jobd", argc, argv, &command)) >= 0)
		return rc;
	log_setup("tavern-jobd", LOG_INFO_);
	if (settings_take(d.a, &d.set, &command) < 0)
		return 2;
	if (command.check) {
		puts("tavern-jobd: configuration is fine");
		return 0;
	}
	log_setup("tavern-jobd", (enum log_level)d.set.log_level);
	mallopt(M_ARENA_MAX, 2);
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	if (watch(&d) < 0 || begin(&d) < 0)
		return 1;
	serve(&d);
	if (end(&d) < 0)
		_exit(0); /* a job that would not end: nothing may be freed under it */
	arena_destroy(&d.a);
	return 0;
}
